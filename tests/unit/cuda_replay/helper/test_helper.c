/* SPDX-License-Identifier: Apache-2.0 */
/* A replay on a GPU through whyoom-gpu, as the static program does it: the stand-in card is in another process. That its reports
 * are those of a replay in one process is held by test_golden, which runs each case of a GPU in both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_replay/helper/helper_client.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

enum { PATH_BYTES = 512 };

static char folder[PATH_BYTES];
static char log_path[PATH_BYTES + sizeof "/calls"];
static char log_variable[PATH_BYTES + sizeof "STAND_IN_LOG=/calls"];

static int make_folder(void **state) {
  (void)state;
  if (!wo_files_scratch(folder, sizeof folder)) return -1;
  snprintf(log_path, sizeof log_path, "%s/calls", folder);
  snprintf(log_variable, sizeof log_variable, "STAND_IN_LOG=%s/calls", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  wo_files_remove_scratch(folder);
  return 0;
}

static const char *const replay[] = {
    "replay", "--on", "gpu", "--no-times", "--capacity", "12GiB", "tests/recordings/fragmented.jsonl", NULL};

/* Through this helper, with one more variable. */
static struct wo_process_result run(const char *helper, const char *variable, void (*on_start)(long, void *), void *context) {
  char named[PATH_BYTES + 32];
  snprintf(named, sizeof named, "WHYOOM_GPU_HELPER=%s", helper);
  const char *const environment[] = {
      "WHYOOM_CUDA_LIBRARY=" WO_STAND_IN_CUDA, "WHYOOM_NVML_LIBRARY=" WO_STAND_IN_NVML, log_variable, named, variable, NULL};
  struct wo_process_result result;
  const struct wo_process_spec spec = {
      .args = replay, .environment = environment, .on_start = on_start, .context = context, .seconds = 60};
  remove(log_path);
  assert_true(wo_process_run(&spec, &result));
  return result;
}

static size_t count_in_log(const char *word) {
  size_t len = 0, count = 0;
  char *const text = wo_files_read(log_path, &len);
  for (const char *at = text; at && (at = strstr(at, word)) != NULL; at++) count++;
  free(text);
  return count;
}

static void rest_ms(long ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* The only child of a process; 0: none. */
static pid_t child_of(long pid) {
  char path[64];
  size_t len = 0;
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", pid, pid);
  char *const text = wo_files_read(path, &len);
  long child = 0;
  for (size_t i = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++) child = 10 * child + (text[i] - '0');
  free(text);
  return (pid_t)child;
}

/* It has ended, also if nobody has waited for it yet. */
static bool is_over(pid_t pid) {
  char path[64];
  size_t len = 0;
  snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
  free(wo_files_read(path, &len));
  return len == 0;
}

/* ---- Helpers that are none ---- */

static void check_refusal(const char *helper, const char *words) {
  struct wo_process_result result = run(helper, "STAND_IN_SLOW_US=0", NULL, NULL);
  if (result.exit_code != 2 || wo_process_count_lines(result.err) != 1 || !strstr(result.err, words))
    fail_msg("%s: exit code %d, %s", helper, result.exit_code, result.err);
  assert_string_equal(result.out, "");
  wo_process_done(&result);
}

static void test_no_helper(void **state) {
  char path[PATH_BYTES + 16];
  (void)state;
  check_refusal("/nonexistent/whyoom-gpu",
                "/nonexistent/whyoom-gpu does not start: No such file or directory; or use --on model");
  snprintf(path, sizeof path, "%s/plain", folder);
  assert_true(wo_files_write(path, (struct wo_view){"text", 4}));
  check_refusal(path, "/plain does not start: Permission denied");
  assert_int_equal(chmod(path, 0700), 0);
  check_refusal(path, "/plain does not start: Exec format error");
  check_refusal("/bin/true", "/bin/true is no whyoom-gpu that runs here: it ended with exit code 0");
  check_refusal(WO_OTHER_GPU_HELPER,
                "is of whyoom 0.0.9, and this is whyoom " WHYOOM_VERSION ": take both files from one release");
}

/* One that writes something else, and does not end. */
static void test_other_words(void **state) {
  char path[PATH_BYTES + 16];
  (void)state;
  static const char script[] = "#!/bin/sh\nprintf 'no greeting' >&3\nexec sleep 1000\n";
  snprintf(path, sizeof path, "%s/other", folder);
  assert_true(wo_files_write(path, (struct wo_view){script, sizeof script - 1}));
  assert_int_equal(chmod(path, 0700), 0);
  check_refusal(path, "/other is no whyoom-gpu that runs here: it was ended by signal 9");
}

/* A helper that nobody names is looked for beside the program. */
static void test_beside(void **state) {
  const struct wo_helper_place place = {0};
  const struct wo_elsewhere helper = wo_helper_at(&place);
  struct wo_err err = {0};
  (void)state;
  assert_false(wo_helper_is_needed());
  assert_int_equal(helper.open(helper.state, &err), WO_E_UNKNOWN);
  assert_non_null(strstr(err.message, "put it beside it, into /"));
  helper.close();
}

static void test_one_at_a_time(void **state) {
  const struct wo_helper_place place = {.path = WO_GPU_HELPER};
  const struct wo_elsewhere helper = wo_helper_at(&place);
  struct wo_cuda_driver driver;
  struct wo_err err = {0};
  (void)state;
  assert_int_equal(helper.open(helper.state, &err), WO_OK);
  assert_int_equal(helper.open(helper.state, &err), WO_E_USAGE);
  assert_int_equal(helper.cuda("/nonexistent/libcuda.so.1", &driver, &err), WO_E_UNKNOWN);
  assert_non_null(strstr(err.message, "there is no CUDA driver here (/nonexistent/libcuda.so.1: cannot open"));
  helper.close();
  assert_int_equal(helper.open(helper.state, &err), WO_OK);
  helper.close();
}

/* ---- Ends ---- */

struct ending {
  int number;     /* of the signal */
  bool to_helper; /* else to whyoom */
  bool to_both;
  const char *call; /* which is waited for; NULL: that the card holds something */
  pid_t helper;
};

/* Waits for the calls, for 20 s at the most. */
static void end_in_the_middle(long pid, void *context) {
  struct ending *const ending = context;
  for (int i = 0; i < 2000 && count_in_log(ending->call ? ending->call : "cuMemAlloc ") < (ending->call ? 1 : 3); i++)
    rest_ms(10);
  ending->helper = child_of(pid);
  if (ending->helper > 0 && (ending->to_helper || ending->to_both)) kill(ending->helper, ending->number);
  if (!ending->to_helper) kill((pid_t)pid, ending->number);
}

/* All that it held is the driver's again, and the program says who is gone. */
static void test_helper_killed(void **state) {
  struct ending ending = {.number = SIGKILL, .to_helper = true};
  (void)state;
  struct wo_process_result result = run(WO_GPU_HELPER, "STAND_IN_SLOW_US=20000", end_in_the_middle, &ending);
  assert_true(ending.helper > 0);
  assert_int_equal(result.exit_code, 2);
  assert_int_equal(wo_process_count_lines(result.err), 1);
  assert_non_null(strstr(result.err, "the helper is gone (whyoom-gpu was ended by signal 9)"));
  assert_non_null(strstr(result.err, "; everything that was taken of GPU 0 was given back"));
  assert_string_equal(result.out, "");
  wo_process_done(&result);
}

/* The helper goes with it at once, not when the call of the driver ends that it is in: each takes four seconds here. */
static void test_program_killed(void **state) {
  struct ending ending = {.number = SIGKILL, .call = "cuInit "};
  (void)state;
  struct wo_process_result result = run(WO_GPU_HELPER, "STAND_IN_SLOW_US=4000000", end_in_the_middle, &ending);
  assert_int_equal(result.signal, SIGKILL);
  assert_true(ending.helper > 0);
  bool is_gone = false;
  for (int i = 0; i < 250 && !is_gone; i++) {
    is_gone = is_over(ending.helper);
    rest_ms(10);
  }
  assert_true(is_gone);
  wo_process_done(&result);
}

/* A key on the terminal comes to both: the helper leaves it to the other, which gives everything back. */
static void test_interrupted(void **state) {
  static const int numbers[] = {SIGINT, SIGTERM};
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct ending ending = {.number = numbers[i], .to_both = true};
    struct wo_process_result result = run(WO_GPU_HELPER, "STAND_IN_SLOW_US=20000", end_in_the_middle, &ending);
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(result.err, "interrupted; everything that was taken of GPU 0 was given back"));
    assert_int_equal(count_in_log("cuMemAlloc "), count_in_log("cuMemFree "));
    assert_int_equal(count_in_log("cuDevicePrimaryCtxRetain "), count_in_log("cuDevicePrimaryCtxRelease_v2 "));
    wo_process_done(&result);
  }
}

/* The socket takes the place of no stream that was closed. */
static void test_closed_streams(void **state) {
  (void)state;
  static const char *const closed[] = {"2>&-", "<&-", "<&- 2>&-"};
  struct wo_process_result whole = run(WO_GPU_HELPER, "STAND_IN_SLOW_US=0", NULL, NULL);
  for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
    char command[4 * PATH_BYTES], path[PATH_BYTES + 8];
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(command, sizeof command,
             "cd '" WO_SOURCE_DIR "' && WHYOOM_CUDA_LIBRARY='" WO_STAND_IN_CUDA "' WHYOOM_NVML_LIBRARY='" WO_STAND_IN_NVML
             "' WHYOOM_GPU_HELPER='" WO_GPU_HELPER "' timeout 60 '" WO_BINARY
             "' replay --on gpu --no-times --capacity 12GiB tests/recordings/fragmented.jsonl > '%s' %s",
             path, closed[i]);
    const int status = system(command);
    size_t len = 0;
    char *const out = wo_files_read(path, &len);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != whole.exit_code) fail_msg("%s: status %d", closed[i], status);
    if (len != whole.out_len || memcmp(out, whole.out, len) != 0) fail_msg("%s: %.*s", closed[i], (int)len, out);
    free(out);
  }
  wo_process_done(&whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_streams), cmocka_unit_test(test_no_helper),     cmocka_unit_test(test_other_words),
      cmocka_unit_test(test_beside),         cmocka_unit_test(test_one_at_a_time), cmocka_unit_test(test_helper_killed),
      cmocka_unit_test(test_program_killed), cmocka_unit_test(test_interrupted),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
