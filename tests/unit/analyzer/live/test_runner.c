/* SPDX-License-Identifier: Apache-2.0 */
/* Commands for failed jobs, by a clock that the test sets: analyzer/live/runner.c. */
#include "analyzer/live/runner.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "parsers/base/units.h"

struct bench {
  struct wo_runner *runner;
  struct wo_text errors;
};

static struct bench *start(const char *command) {
  static char *const environment[] = {(char *)(uintptr_t) "WHYOOM_USER=before", (char *)(uintptr_t) "PATH=/usr/bin:/bin", NULL};
  static struct bench bench;
  bench = (struct bench){0};
  assert_int_equal(wo_runner_new(command, environment, &bench.errors, &bench.runner), WO_OK);
  return &bench;
}

static void put(struct wo_runner *runner, struct wo_view input) {
  const struct wo_runner_variable variables[] = {{"WHYOOM_USER", WO_VIEW("a\nda\033[1m")},
                                                 {"WHYOOM_CAUSE", WO_VIEW("$(exit 9)")}};
  wo_runner_put(runner, WO_VIEW("4711"), input, variables, 2, 0);
}

static void run_out(struct wo_runner *runner, int64_t now_ns) {
  for (int i = 0; wo_runner_tick(runner, now_ns); i++) {
    assert_true(i < 2000);
    poll(NULL, 0, 10);
  }
}

static struct wo_runner_account end(struct bench *bench) {
  const struct wo_runner_account account = wo_runner_account(bench->runner);
  wo_runner_free(bench->runner);
  return account;
}

/* Input that no pipe holds at once, and variables without control characters, which are not run. */
static void test_input_and_variables(void **state) {
  (void)state;
  struct bench *const bench =
      start("test \"$(wc -c)\" -eq 300000 && test \"$WHYOOM_CAUSE\" = '$(exit 9)' && "
            "case $WHYOOM_USER in a*da*) test $(printf %s \"$WHYOOM_USER\" | tr -d '[:cntrl:]' | wc -c) -eq "
            "$(printf %s \"$WHYOOM_USER\" | wc -c);; *) exit 4;; esac");
  struct wo_text input = {0};
  wo_text_repeat(&input, 'x', 300000);
  put(bench->runner, (struct wo_view){input.ptr, input.len});
  run_out(bench->runner, 0);
  const struct wo_runner_account account = end(bench);
  assert_int_equal(account.done, 1);
  assert_int_equal(bench->errors.len, 0);
  wo_text_done(&input);
  wo_text_done(&bench->errors);
}

static void test_a_failure_is_said(void **state) {
  (void)state;
  struct bench *const bench = start("exit 3");
  put(bench->runner, WO_VIEW("{}\n"));
  run_out(bench->runner, 0);
  assert_int_equal(end(bench).failed, 1);
  assert_true(wo_view_has((struct wo_view){bench->errors.ptr, bench->errors.len}, "4711 ended with exit code 3"));
  wo_text_done(&bench->errors);
}

/* One that does not even end when it is asked to. */
static void test_a_command_that_hangs_is_killed(void **state) {
  (void)state;
  struct bench *const bench = start("trap '' TERM; sleep 20 & while :; do sleep 0.05; done");
  put(bench->runner, WO_VIEW("{}\n"));
  poll(NULL, 0, 200);
  assert_true(wo_runner_tick(bench->runner, (WO_LIMIT_EXEC_S - 1) * WO_NS_PER_S));
  assert_int_equal(bench->errors.len, 0);
  assert_true(wo_runner_tick(bench->runner, WO_LIMIT_EXEC_S * WO_NS_PER_S));
  assert_true(wo_view_has((struct wo_view){bench->errors.ptr, bench->errors.len}, "takes longer than"));
  poll(NULL, 0, 200);
  assert_true(wo_runner_tick(bench->runner, WO_LIMIT_EXEC_S * WO_NS_PER_S));
  run_out(bench->runner, (WO_LIMIT_EXEC_S + WO_LIMIT_EXEC_KILL_S) * WO_NS_PER_S);
  assert_int_equal(end(bench).failed, 1);
  wo_text_done(&bench->errors);
}

static void test_the_queue_is_bounded(void **state) {
  (void)state;
  struct bench *const bench = start("sleep 20");
  for (size_t i = 0; i < WO_LIMIT_EXEC_QUEUE + WO_LIMIT_EXEC_RUNNING + 5; i++) put(bench->runner, WO_VIEW("{}\n"));
  assert_int_equal(wo_runner_account(bench->runner).left, 5);
  assert_true(wo_view_has((struct wo_view){bench->errors.ptr, bench->errors.len}, "wait already"));
  wo_runner_stop(bench->runner);
  wo_runner_kill(bench->runner);
  const struct wo_runner_account account = end(bench);
  assert_int_equal(account.left, WO_LIMIT_EXEC_QUEUE + 5);
  assert_int_equal(account.failed, WO_LIMIT_EXEC_RUNNING);
  wo_text_done(&bench->errors);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_input_and_variables),
      cmocka_unit_test(test_a_failure_is_said),
      cmocka_unit_test(test_a_command_that_hangs_is_killed),
      cmocka_unit_test(test_the_queue_is_bounded),
  };
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
