/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every case of tests/golden/ (see tests/support/golden.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/golden.h"

#define GOLDEN_DIR WO_SOURCE_DIR "/tests/golden"

enum { MOST_CASES = 512, NAME_BYTES = 128, COMPLAINT_BYTES = 16 * 1024 };

/* *state is the case's name. */
static void run_case(void **state) {
  static char complaint[COMPLAINT_BYTES];
  const char *name = *state;
  char folder[1024];
  snprintf(folder, sizeof folder, GOLDEN_DIR "/%s", name);
  if (!wo_golden_run(folder, complaint, sizeof complaint)) fail_msg("tests/golden/%s: %s", name, complaint);
}

/* Appends the cases of one family: "replay/replay-at-text". */
static size_t add_family(const char *family, struct CMUnitTest *tests, size_t count) {
  static char cases[MOST_CASES][NAME_BYTES];
  char folder[1024];
  snprintf(folder, sizeof folder, GOLDEN_DIR "/%s", family);
  size_t found = 0;
  char **const names = wo_files_names(folder, "", &found);
  for (size_t i = 0; i < found && count < MOST_CASES; i++, count++) {
    snprintf(cases[count], sizeof cases[count], "%s/%s", family, names[i]);
    tests[count] = (struct CMUnitTest){.name = cases[count], .test_func = run_case, .initial_state = cases[count]};
  }
  wo_files_free_names(names, found);
  return count;
}

int main(void) {
  static struct CMUnitTest tests[MOST_CASES];
  size_t family_count = 0;
  size_t count = 0;
  char **families = wo_files_names(GOLDEN_DIR, "", &family_count);
  for (size_t i = 0; i < family_count; i++) count = add_family(families[i], tests, count);
  wo_files_free_names(families, family_count);
  if (count == 0 || count == MOST_CASES) return 1;
  return _cmocka_run_group_tests("goldens", tests, count, NULL, NULL);
}
