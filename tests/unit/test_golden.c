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

enum { MOST_CASES = 512, COMPLAINT_BYTES = 16 * 1024 };

/* *state is the case's name. */
static void run_case(void **state) {
  static char complaint[COMPLAINT_BYTES];
  const char *name = *state;
  char folder[1024];
  snprintf(folder, sizeof folder, GOLDEN_DIR "/%s", name);
  if (!wo_golden_run(folder, complaint, sizeof complaint)) fail_msg("tests/golden/%s: %s", name, complaint);
}

int main(void) {
  static struct CMUnitTest tests[MOST_CASES];
  size_t count = 0;
  char **names = wo_files_names(GOLDEN_DIR, "", &count);
  if (count == 0 || count > MOST_CASES) return 1;
  for (size_t i = 0; i < count; i++)
    tests[i] = (struct CMUnitTest){.name = names[i], .test_func = run_case, .initial_state = names[i]};
  const int failed = _cmocka_run_group_tests("goldens", tests, count, NULL, NULL);
  wo_files_free_names(names, count);
  return failed;
}
