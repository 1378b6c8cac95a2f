/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom replay --on gpu` and `whyoom verify --on gpu` as their users run them, on the stand-in card: signals in the middle,
 * progress on a terminal and nowhere else, exit codes of the samples. What they print stands in tests/golden/replay-gpu-* and
 * verify-on-gpu*. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/files.h"
#include "tests/support/process.h"

enum { PATH_BYTES = 512, TERMINAL_BYTES = 16 * 1024 };

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

static const char *const args[] = {
    "replay", "--on", "gpu", "--no-times", "--capacity", "12GiB", "tests/recordings/fragmented.jsonl", NULL};

static size_t count_of(const char *text, const char *word) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++) count++;
  return count;
}

/* The calls so far; empty before the first one. The caller frees it. */
static char *read_log(void) {
  size_t len = 0;
  char *const text = wo_files_read(log_path, &len);
  return text ? text : calloc(1, 1);
}

static void rest_ms(long ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* What is sent, and after how many calls. */
struct signals {
  const char *call; /* NULL: cuMemAlloc */
  int number;
  size_t count;
  size_t after;
};

/* Waits until the card holds something, for 20 s at the most. */
static void send_signals(long pid, void *context) {
  const struct signals *const signals = context;
  for (int i = 0; i < 2000; i++) {
    char *const log = read_log();
    const size_t count = count_of(log, signals->call ? signals->call : "cuMemAlloc ");
    free(log);
    if (count >= signals->after) break;
    rest_ms(10);
  }
  for (size_t i = 0; i < signals->count; i++) {
    kill((pid_t)pid, signals->number);
    rest_ms(20);
  }
}

static struct wo_process_result run(const char *const *words, const char *slow, struct signals *signals, int stderr_fd) {
  const char *const environment[] = {"WHYOOM_CUDA_LIBRARY=" WO_STAND_IN_CUDA, "WHYOOM_NVML_LIBRARY=" WO_STAND_IN_NVML,
                                     log_variable, slow, NULL};
  struct wo_process_result result;
  const struct wo_process_spec spec = {.args = words,
                                       .environment = environment,
                                       .on_start = signals ? send_signals : NULL,
                                       .context = signals,
                                       .stderr_fd = stderr_fd};
  remove(log_path);
  assert_true(wo_process_run(&spec, &result));
  return result;
}

/* In the middle of a slow driver: the exit code of an error, a line that says so, and an empty card. */
static void test_signal_in_the_middle(void **state) {
  static const int numbers[] = {SIGINT, SIGTERM};
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct signals signals = {.number = numbers[i], .count = 1, .after = 5};
    struct wo_process_result result = run(args, "STAND_IN_SLOW_US=20000", &signals, 0);
    assert_int_equal(result.signal, 0);
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(result.err, "interrupted; everything that was taken of GPU 0 was given back"));
    assert_string_equal(result.out, "");
    char *const log = read_log();
    assert_true(count_of(log, "cuMemAlloc ") >= 5 && count_of(log, "cuMemAlloc ") < 40);
    assert_int_equal(count_of(log, "cuMemAlloc "), count_of(log, "cuMemFree "));
    const char *const end = "cuDevicePrimaryCtxRelease_v2 0x0 0 0\n";
    assert_true(strlen(log) > strlen(end));
    assert_string_equal(log + strlen(log) - strlen(end), end);
    free(log);
    wo_process_done(&result);
  }
}

/* Of several files the rest is not begun. */
static void test_signal_ends_all_files(void **state) {
  static const char *const two_files[] = {
      "replay", "--on", "gpu", "--capacity", "12GiB", "tests/recordings/fragmented.jsonl", "tests/recordings/fragmented.jsonl",
      NULL};
  struct signals signals = {.number = SIGINT, .count = 1, .after = 2};
  (void)state;
  struct wo_process_result result = run(two_files, "STAND_IN_SLOW_US=20000", &signals, 0);
  assert_int_equal(result.exit_code, 2);
  assert_int_equal(wo_process_count_lines(result.err), 1);
  wo_process_done(&result);
}

/* Who is in a hurry sends a second one, which ends the program at once: the driver frees what it held. */
static void test_second_signal(void **state) {
  struct signals signals = {.number = SIGINT, .count = 2, .after = 2};
  (void)state;
  struct wo_process_result result = run(args, "STAND_IN_SLOW_US=100000", &signals, 0);
  assert_int_equal(result.signal, SIGINT);
  wo_process_done(&result);
}

/* Everything that a terminal got. */
static void read_terminal(int master, char *text) {
  size_t len = 0;
  ssize_t got = 0;
  while (len + 1 < TERMINAL_BYTES && (got = read(master, text + len, TERMINAL_BYTES - 1 - len)) > 0) len += (size_t)got;
  text[len] = '\0';
}

/* One line that is written over, ten times a second at the most, and wiped at the end. */
static void test_progress_on_a_terminal(void **state) {
  static char text[TERMINAL_BYTES];
  struct timespec begin, end;
  (void)state;
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) skip();
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  if (terminal < 0) skip();
  clock_gettime(CLOCK_MONOTONIC, &begin);
  struct wo_process_result result = run(args, "STAND_IN_SLOW_US=10000", NULL, terminal);
  clock_gettime(CLOCK_MONOTONIC, &end);
  close(terminal);
  fcntl(master, F_SETFL, O_NONBLOCK);
  read_terminal(master, text);
  close(master);
  const size_t shown = count_of(text, "\rwhyoom: GPU 0: ");
  assert_in_range(shown, 2, (end.tv_sec - begin.tv_sec + 1) * 10 + 1);
  assert_int_equal(count_of(text, "\n"), 0);
  const char *const wiped = "\r\033[K";
  assert_string_equal(text + strlen(text) - strlen(wiped), wiped);
  assert_true(strlen(result.out) > 0);
  wo_process_done(&result);
}

static void test_silent_elsewhere(void **state) {
  (void)state;
  struct wo_process_result result = run(args, "STAND_IN_SLOW_US=3000", NULL, 0);
  assert_string_equal(result.err, "");
  wo_process_done(&result);
}

/* ---- verify ---- */

#define LORA "samples/lora-7b-24g/"
#define DDP "samples/ddp-8.5b-too-large/"

/* The trace of this job has expandable segments: the card sees cuMemCreate and cuMemMap. */
static const char *const lora[] = {"verify",
                                   "--on",
                                   "gpu",
                                   "--no-times",
                                   "--accept-by-hand",
                                   LORA "slurm-90817.err",
                                   LORA "slurm-90817.out",
                                   LORA "run_lora.sh",
                                   "--format",
                                   "text",
                                   "--trace",
                                   LORA "trace-90817.jsonl",
                                   NULL};

/* Every context that was taken went with nothing held in it. */
static void assert_nothing_left(size_t contexts) {
  char *const log = read_log();
  assert_int_equal(count_of(log, "cuDevicePrimaryCtxRetain 0x0 0 0\n"), contexts);
  assert_int_equal(count_of(log, "cuDevicePrimaryCtxRelease_v2 0x0 0 0\n"), contexts);
  assert_int_equal(count_of(log, "cuDevicePrimaryCtxRelease_v2 "), contexts);
  free(log);
}

/* How many handles the job as it was takes: those between the second context and the third. */
static size_t handles_of_failure(void) {
  char *const log = read_log();
  const char *at = log;
  size_t counts[3];
  for (size_t i = 0; i < 3; i++) {
    at = strstr(at + (i > 0), "cuDevicePrimaryCtxRetain ");
    assert_non_null(at);
    counts[i] = count_of(at, "cuMemCreate ");
  }
  free(log);
  return counts[1] - counts[2];
}

/* A job with a recording: proven, and confirmed on the card, which looked, ran the job as it was, and ran the chosen row. Where
 * the card refuses every row from then on, nothing is proven; where it refuses once, the next row is. */
static void test_verify_sample(void **state) {
  char fault[64];
  (void)state;
  struct wo_process_result result = run(lora, "STAND_IN_SLOW_US=0", NULL, 0);
  assert_int_equal(result.exit_code, 0);
  assert_string_equal(result.err, "");
  assert_int_equal(count_of(result.out, "recorded, GPU"), 2);
  assert_true(count_of(result.out, "recorded, model") > 0);
  assert_non_null(strstr(result.out, "confirms it"));
  assert_nothing_left(3);
  /* Whether the model lets another row fit. */
  const bool has_next = strstr(result.out, "yes      recorded, model") != NULL;
  wo_process_done(&result);
  const size_t handles = handles_of_failure();

  snprintf(fault, sizeof fault, "STAND_IN_FAIL=cuMemCreate:%zu+:2", handles + 5);
  result = run(lora, fault, NULL, 0);
  assert_int_equal(result.exit_code, 3);
  assert_non_null(strstr(result.out, "not confirmed on GPU")); /* the number may stand on the next line */
  assert_null(strstr(result.out, "resubmit:"));
  wo_process_done(&result);

  snprintf(fault, sizeof fault, "STAND_IN_FAIL=cuMemCreate:%zu:2", handles + 5);
  result = run(lora, fault, NULL, 0);
  assert_int_equal(result.exit_code, has_next ? 0 : 3);
  assert_int_equal(count_of(result.out, "recorded, GPU"), has_next ? 3 : 2);
  assert_nothing_left(has_next ? 4 : 3);
  wo_process_done(&result);
}

/* The patch of a fix that the card confirms, and none of one that it does not. */
static void test_verify_patch(void **state) {
  const char *patched[sizeof lora / sizeof lora[0] + 1] = {"verify", "--patch"};
  (void)state;
  memcpy(&patched[2], &lora[1], sizeof lora - sizeof lora[0]);
  struct wo_process_result result = run(patched, "STAND_IN_SLOW_US=0", NULL, 0);
  assert_int_equal(result.exit_code, 0); /* the optimizer is the program's, and changed already */
  assert_non_null(strstr(result.out, "+++ "));
  assert_null(strstr(result.err, "is not in the patch"));
  assert_non_null(strstr(result.err, "confirms it"));
  wo_process_done(&result);
  result = run(patched, "STAND_IN_FAIL=cuMemCreate:1+:2", NULL, 0);
  assert_int_not_equal(result.exit_code, 0);
  assert_string_equal(result.out, "");
  wo_process_done(&result);
}

/* A job whose model states exceed the card: that it fails is confirmed, and nothing fits; a smaller card cannot say. */
static void test_verify_without_a_fix(void **state) {
  static const char *const ddp[] = {
      "verify", "--on", "gpu", DDP "slurm-1553046.err", DDP "slurm-1553046.out", DDP "train_ddp.sbatch", NULL};
  (void)state;
  struct wo_process_result result = run(ddp, "STAND_IN_TOTAL=51539607552", NULL, 0);
  assert_int_equal(result.exit_code, 1);
  assert_string_equal(result.err, "");
  assert_int_equal(count_of(result.out, "reconstructed, GPU"), 1);
  assert_nothing_left(2);
  wo_process_done(&result);
  result = run(ddp, "STAND_IN_TOTAL=25769803776", NULL, 0);
  assert_int_equal(result.exit_code, 2);
  assert_int_equal(wo_process_count_lines(result.err), 1);
  assert_non_null(strstr(result.err, "has 24.00 GiB free of 24.00, and the replay wants 46."));
  assert_int_equal(count_of(result.out, "reconstructed, GPU"), 0);
  assert_nothing_left(1);
  wo_process_done(&result);
}

/* What the model says is reported all the same; nothing is proven, and the exit code is that of an error. */
static void test_verify_signal_in_the_middle(void **state) {
  static const int numbers[] = {SIGINT, SIGTERM};
  (void)state;
  const size_t count = wo_process_is_sanitized ? 1 : sizeof numbers / sizeof numbers[0];
  for (size_t i = 0; i < count; i++) {
    struct signals signals = {.number = numbers[i], .count = 1, .after = 20, .call = "cuMemCreate "};
    struct wo_process_result result = run(lora, "STAND_IN_SLOW_US=5000", &signals, 0);
    assert_int_equal(result.signal, 0);
    assert_int_equal(result.exit_code, 2);
    assert_int_equal(wo_process_count_lines(result.err), 1);
    assert_non_null(strstr(result.err, "interrupted; everything that was taken of GPU 0 was given back"));
    assert_non_null(strstr(result.out, "not proven: "));
    assert_null(strstr(result.out, "resubmit:"));
    assert_nothing_left(2);
    wo_process_done(&result);
  }
}

static void test_verify_progress(void **state) {
  static char text[TERMINAL_BYTES];
  (void)state;
  if (wo_process_is_sanitized) skip(); /* test_progress_on_a_terminal runs the same code */
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) skip();
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  if (terminal < 0) skip();
  struct wo_process_result result = run(lora, "STAND_IN_SLOW_US=50", NULL, terminal);
  close(terminal);
  fcntl(master, F_SETFL, O_NONBLOCK);
  read_terminal(master, text);
  close(master);
  assert_true(count_of(text, "\rwhyoom: GPU 0: ") >= 2);
  assert_int_equal(count_of(text, "\n"), 0); /* it is wiped away */
  assert_int_equal(result.exit_code, 0);
  wo_process_done(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_signal_in_the_middle),
      cmocka_unit_test(test_signal_ends_all_files),
      cmocka_unit_test(test_second_signal),
      cmocka_unit_test(test_progress_on_a_terminal),
      cmocka_unit_test(test_silent_elsewhere),
      cmocka_unit_test(test_verify_sample),
      cmocka_unit_test(test_verify_patch),
      cmocka_unit_test(test_verify_without_a_fix),
      cmocka_unit_test(test_verify_signal_in_the_middle),
      cmocka_unit_test(test_verify_progress),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
