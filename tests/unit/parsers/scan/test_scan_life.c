/* SPDX-License-Identifier: Apache-2.0 */
/* Words of an end in the records below a failure: each is found anywhere, in capitals too, though a table of letters is asked
 * first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "parsers/scan/scan_internal.h"

static void test_words_of_an_end(void **state) {
  (void)state;
  static const char *const lines[] = {
      "abort",          "Aborting the run", "cleaning up",      "CLOSED",        "engine: closing", "an Error",
      "ERROR",          "exception raised", "RuntimeException", "exit code 1",   "now EXITING",     "failed",
      "it FAILS",       "killed",           "KILL -9",          "shutdown",      "Shutting down",   "stopped",
      "STOP requested", "terminated",       "Terminating",      "wandb: synced", "eerror",          "serror",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    if (!wo__scan_is_about_end(wo_view_of(lines[i]))) fail_msg("not found: %s", lines[i]);
  }
}

static void test_other_words(void **state) {
  (void)state;
  static const char *const lines[] = {"",     "a",   "e",     "loading the weights", "eval of step 12",
                                      "abor", "fai", "wandb", "step 20 loss 2.1",    "tokens: 812",
                                      "sto",  "ex",  "ki ll", "classes: 10",         "saving the tensors"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    if (wo__scan_is_about_end(wo_view_of(lines[i]))) fail_msg("found: %s", lines[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_of_an_end), cmocka_unit_test(test_other_words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
