/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job ran out of memory, by libwhyoom: the cause, the first fix, and the shortage. Also a program of C++.
 *
 * cc diagnose.c $(pkg-config --cflags --libs whyoom) -o diagnose && ./diagnose slurm-4711.out */
#include <stdio.h>
#include <whyoom.h>

static const char *text_at(const struct whyoom_result *result, size_t report, const char *pointer) {
  const struct whyoom_value value = whyoom_result_read(result, report, pointer);
  return value.kind == WHYOOM_TEXT ? value.text : "not known";
}

int main(int argc, char **argv) {
  struct whyoom_result *const result = whyoom_diagnose((const char *const *)argv + 1, (size_t)argc - 1, NULL);
  const enum whyoom_code code = whyoom_result_code(result);
  for (size_t i = 0; i < whyoom_result_count(result); i++) {
    const struct whyoom_value shortage = whyoom_result_read(result, i, "/shortage/bytes");
    printf("job %s: %s\n", text_at(result, i, "/job/id"), text_at(result, i, "/findings/0/title"));
    printf("  fix: %s\n", text_at(result, i, "/findings/0/fixes/0/title"));
    if (shortage.kind == WHYOOM_NUMBER) printf("  missing: %.0f MiB\n", shortage.number / 1048576);
  }
  fputs(whyoom_result_messages(result), stderr);
  whyoom_free(result);
  return (int)code;
}
