/* SPDX-License-Identifier: Apache-2.0 */
/* What `whyoom verify` says of changes to one recorded job, on its card and on cards of other sizes.
 *
 * usage: trial TRACE CAPACITY UNCERTAINTY MICRO_BATCH STEP STEPS RECORDED_AT LENGTH < changes
 *
 * Bytes; the job's own micro-batch; the step that failed, from 1, of how many; the micro-batch of the run that was recorded, if
 * it is another one (0: not known). A change is a line as in a rule's replays_as, or empty: none.
 *
 * Prints a line of JSON for each change: the verdict at the capacity, and what is needed at the low and the high end. For
 * tests/training/truth.py. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/recording/open/trace_open.h"
#include "cuda_replay/verify/verify.h"
#include "cuda_replay/whatif/whatif.h"
#include "parsers/base/number.h"

enum { LINE_BYTES = 512 };

static const char *const fit_names[] = {
    [WO_VERIFY_YES] = "yes", [WO_VERIFY_UNSURE] = "not sure", [WO_VERIFY_NO] = "no", [WO_VERIFY_UNTRIED] = "untried"};

static void die(const char *what) {
  fprintf(stderr, "trial: %s\n", what);
  exit(1);
}

static uint64_t read_number(const char *text) {
  struct wo_view view = wo_view_of(text);
  uint64_t value = 0;
  if (wo_number_u64(&view, UINT64_MAX, &value) != WO_OK) die("a number of bytes is wanted");
  return value;
}

static struct wo_verify_result try_it(const struct wo_verify_subject *subject, const struct wo_change *change,
                                      unsigned shuffles) {
  struct wo_verify_result result = {0};
  struct wo_err err = {0};
  if (wo_verify_try(subject, change, shuffles, &result, &err) != WO_OK) die(err.message);
  return result;
}

static void answer(const struct wo_verify_subject *subject, const char *line) {
  const struct wo_proposed_change proposed = wo_proposed_change_read(wo_view_of(line)), *const all[] = {&proposed};
  struct wo_change change;
  struct wo_err err = {0};
  if (wo_verify_join_changes(all, 1, &change, &err) != WO_OK) die(err.message);
  const struct wo_verify_result result = try_it(subject, line[0] != '\0' ? &change : NULL, WO_WHATIF_SHUFFLES);
  printf("{\"change\": \"%s\", \"fit\": \"%s\", \"gets_past\": %s, \"why\": \"%s\", \"margin\": %" PRId64 ", \"lo\": %" PRIu64
         ", \"hi\": %" PRIu64,
         line, fit_names[result.fit], result.gets_past ? "true" : "false", result.why, result.margin_bytes,
         result.reserved_lo_bytes, result.reserved_hi_bytes);
  printf("}\n");
}

int main(int argc, char **argv) {
  struct wo_recording *recording = NULL;
  struct wo_verify_subject subject;
  struct wo_err err = {0};
  struct wo_job_sizes sizes = {.capacity_bytes = 0};
  char line[LINE_BYTES];
  if (argc != 9) die("usage: trial TRACE CAPACITY UNCERTAINTY MICRO_BATCH STEP STEPS RECORDED_AT LENGTH < changes");
  sizes.micro_batch = (double)read_number(argv[4]);
  sizes.step = (double)read_number(argv[5]);
  sizes.step_total = (double)read_number(argv[6]);
  sizes.seq_len = (double)read_number(argv[8]);
  if (wo_trace_open(argv[1], &recording, &err) != WO_OK || recording->traces.count != 1) die(err.message);
  if (wo_verify_subject_make(recording, &recording->traces.items[0], wo_view_of(argv[1]), &sizes, read_number(argv[2]), 0,
                             &subject, &err) != WO_OK)
    die(err.message);
  subject.uncertainty_bytes = read_number(argv[3]);
  const uint32_t recorded_at = (uint32_t)read_number(argv[7]), own = (uint32_t)sizes.micro_batch;
  if (recorded_at > 0)
    wo_verify_subject_rescale(&subject, &(struct wo_scale_spec){.axes[WO_AXIS_MICRO_BATCH] = {recorded_at, own}});
  printf("{\"completed\": %s, \"open\": %s, \"not_completed\": \"%s\", \"doubt\": \"%s\", \"added\": %zu, \"of\": %zu, "
         "\"ratio\": %g}\n",
         subject.completed.is_made ? "true" : "false", subject.is_open ? "true" : "false", subject.completed.why,
         subject.why_not_proven, subject.completed.added_count, subject.completed.whole_count, subject.completed.ratio);
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    answer(&subject, line);
  }
  wo_verify_subject_done(&subject);
  wo_recording_free(recording);
  return 0;
}
