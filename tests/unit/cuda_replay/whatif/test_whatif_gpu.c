/* SPDX-License-Identifier: Apache-2.0 */
/* Replays on the stand-in card: its log is what the allocator decided call by call, the model agrees, and whatever fails, nothing
 * stays on the card. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_replay/whatif/whatif_gpu.h"
#include "cuda_replay/whatif/device_hooks.h"
#include "cuda_replay/whatif/whatif_gpu_text.h"
#include "parsers/base/text.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/gpu/gpu_watcher.h"
#include "tests/support/process.h"
#include "tests/support/replay/random_program.h"
#include "tests/support/gpu/stand_in_mirror.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define PAGE_BYTES (2 * MIB)

enum { PATH_BYTES = 512, PROGRAMS = 40 };

static char folder[PATH_BYTES];
static char log_path[PATH_BYTES + sizeof "/calls"];

static int make_folder(void **state) {
  (void)state;
  if (!wo_files_scratch(folder, sizeof folder)) return -1;
  snprintf(log_path, sizeof log_path, "%s/calls", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  wo_files_remove_scratch(folder);
  return 0;
}

/* ---- A program and its replay ---- */

struct bench {
  struct wo_recording *recording;
  struct wo_alloc_pattern pattern;
  struct wo_replay_gpu gpu;
  struct wo_capacity capacity;
  struct wo_err err;
  uint64_t operations;
};

static void open_bench(struct bench *bench, const struct wo_random_program *program) {
  *bench = (struct bench){0};
  bench->recording = wo_random_program_record(program);
  assert_non_null(bench->recording);
  assert_true(bench->recording->traces.count > 0);
  assert_int_equal(wo_alloc_pattern_make(bench->recording, &bench->recording->traces.items[0], &bench->pattern, &bench->err),
                   WO_OK);
}

static void close_bench(struct bench *bench) {
  wo_alloc_pattern_done(&bench->pattern);
  wo_recording_free(bench->recording);
}

/* One replay; the libraries are closed, so that the next one finds a new card. */
static enum wo_status replay(struct bench *bench, uint64_t capacity_bytes, const struct wo_alloc_settings *settings,
                             uint16_t torch, const struct wo_replay_hooks *wanted) {
  struct wo_replay_hooks hooks = wanted ? *wanted : (struct wo_replay_hooks){0};
  hooks.cuda_library = WO_STAND_IN_CUDA;
  hooks.nvml_library = WO_STAND_IN_NVML;
  const struct wo_gpu_place place = {.has_reserve = true, .reserve_bytes = GIB, .hooks = &hooks};
  const struct wo_trace *const trace = &bench->recording->traces.items[0];
  setenv("STAND_IN_LOG", log_path, 1);
  remove(log_path);
  bench->capacity = (struct wo_capacity){.from = WO_CAPACITY_OPTION, .bytes = capacity_bytes};
  bench->err = (struct wo_err){0};
  enum wo_status status = wo_replay_gpu_look(&place, bench->recording, trace, &bench->capacity, &bench->gpu, &bench->err);
  const struct wo_replay_gpu_wish wish = {&bench->pattern, *settings, torch, capacity_bytes, &hooks};
  if (status == WO_OK) status = wo_replay_gpu_run(&bench->gpu, &wish, &bench->operations, &bench->err);
  wo_replay_gpu_done(&bench->gpu);
  return status;
}

static char *read_log(void) {
  size_t len = 0;
  char *const text = wo_files_read(log_path, &len);
  assert_non_null(text);
  return text;
}

/* The last thing that the card sees is that its context goes, with nothing held in it. */
static void assert_nothing_left(void) {
  size_t len = 0;
  char *const log = wo_files_read(log_path, &len);
  const char *last = NULL;
  if (!log) return; /* it was over before the card saw anything */
  for (const char *at = log; (at = strstr(at, "cuDevicePrimaryCtxRelease_v2 ")) != NULL; at++) last = at;
  if (strstr(log, "cuDevicePrimaryCtxRetain 0x0 0 0")) {
    assert_non_null(last);
    const char *const line = "cuDevicePrimaryCtxRelease_v2 0x0 0 0\n";
    assert_memory_equal(last, line, strlen(line));
  }
  free(log);
}

/* The log behind the second context is the run; behind what the mirror expects, things are only given back. */
static void assert_log_is(const struct wo_text *expected) {
  char *const log = read_log();
  const char *at = strstr(log, "cuDevicePrimaryCtxRetain");
  assert_non_null(at);
  at = strstr(at + 1, "cuDevicePrimaryCtxRetain");
  assert_non_null(at);
  at = strchr(at, '\n') + 1;
  if (expected->len > 0) assert_memory_equal(at, expected->ptr, expected->len);
  for (at += expected->len; *at != '\0' && strncmp(at, "cuDevicePrimaryCtxRelease", 25) != 0; at = strchr(at, '\n') + 1) {
    const bool is_back = strncmp(at, "cuMemFree ", 10) == 0 || strncmp(at, "cuMemUnmap ", 11) == 0 ||
                         strncmp(at, "cuMemRelease ", 13) == 0 || strncmp(at, "cuMemAddressFree ", 17) == 0;
    assert_true(is_back);
  }
  free(log);
}

/* ---- The log equals the model's decisions ---- */

/* Runs one program at one capacity on the card and on the mirror. */
static void check_program(struct bench *bench, const struct wo_alloc_settings *settings, uint16_t torch, uint64_t capacity_bytes,
                          bool is_falling) {
  struct wo_mirror mirror = {.capacity_bytes = capacity_bytes, .is_falling = is_falling};
  struct wo_replay_outcome outcome;
  const struct wo_device device = wo_mirror_device(&mirror);
  const struct wo_replay_options options = {.settings = *settings, .torch = torch, .device = &device};
  assert_int_equal(wo_replay_run(&bench->pattern, &options, &outcome, &bench->err), WO_OK);
  if (is_falling) setenv("STAND_IN_DOWN", "1", 1);
  const enum wo_status status = replay(bench, capacity_bytes, settings, torch, NULL);
  unsetenv("STAND_IN_DOWN");
  if (status != WO_OK) fail_msg("%s", bench->err.message);
  assert_true(bench->gpu.agrees);
  assert_string_equal(bench->gpu.difference, "");
  assert_int_equal(bench->gpu.outcome.oom_count, outcome.oom_count);
  assert_int_equal(bench->gpu.outcome.peak.reserved_bytes, outcome.peak.reserved_bytes);
  assert_true(bench->gpu.info.peak_bytes <= capacity_bytes);
  assert_int_equal(bench->gpu.info.refusals, 0);
  assert_int_equal(bench->gpu.left_count, 0);
  assert_int_equal(bench->gpu.info.free_before_bytes - bench->gpu.info.free_lowest_bytes, bench->gpu.info.peak_bytes);
  assert_log_is(&mirror.expected);
  assert_nothing_left();
  wo_mirror_done(&mirror);
}

/* Every program at its own settings with room, then at half of what it needed: failures, releases, retries. */
static void test_calls_of_random_programs(void **state) {
  uint64_t failed = 0;
  uint64_t pools = 0;
  uint64_t expandable = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
    struct bench bench;
    const struct wo_random_program program = wo_random_program_of(seed);
    open_bench(&bench, &program);
    check_program(&bench, &program.settings, program.torch, 20 * GIB, seed % 2 == 0);
    const uint64_t half = bench.gpu.outcome.peak.reserved_bytes / 2 / PAGE_BYTES * PAGE_BYTES;
    if (half > 0) check_program(&bench, &program.settings, program.torch, half, seed % 2 == 1);
    failed += bench.gpu.outcome.oom_count;
    pools += program.has_pools;
    expandable += program.settings.expandable_segments;
    close_bench(&bench);
  }
  assert_true(failed > 0 && pools > 0 && expandable > 0); /* else the programs show less than they should */
}

/* The same program both ways. */
static void test_calls_by_settings(void **state) {
  (void)state;
  for (int is_expandable = 0; is_expandable < 2; is_expandable++) {
    struct bench bench;
    struct wo_random_program program = wo_random_program_of(7);
    program.torch = 206;
    program.settings = wo_alloc_settings_default(program.torch);
    program.settings.expandable_segments = is_expandable == 1;
    open_bench(&bench, &program);
    check_program(&bench, &program.settings, program.torch, 20 * GIB, false);
    char *const log = read_log();
    assert_int_equal(strstr(log, "cuMemMap") != NULL, is_expandable == 1);
    assert_int_equal(strstr(log, "cuMemAlloc") != NULL, is_expandable == 0);
    free(log);
    close_bench(&bench);
  }
}

/* A million requests and segment events, and more time than it takes by far. */
static void test_speed(void **state) {
  struct bench bench;
  struct wo_random_program program = wo_random_program_of(11);
  struct timespec begin, end;
  (void)state;
  program.steps = 1100 * 1000;
  program.cut = 0;
  program.torch = 206;
  program.capacity_bytes = UINT64_MAX;
  program.has_empty_cache = true;
  program.has_pools = false;
  program.settings = wo_alloc_settings_default(program.torch);
  program.settings.expandable_segments = true;
  open_bench(&bench, &program);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  assert_int_equal(replay(&bench, 20 * GIB, &program.settings, program.torch, NULL), WO_OK);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
  const uint64_t events = bench.gpu.outcome.requests_run + bench.gpu.outcome.segment_events;
  print_message("%" PRIu64 " requests and segment events, %" PRIu64 " of segments, in %.2f s\n", events,
                bench.gpu.outcome.segment_events, seconds);
  assert_true(bench.gpu.agrees);
  assert_true(events >= 1000 * 1000);
  if (!wo_process_is_sanitized) assert_true(seconds < 10);
  close_bench(&bench);
}

/* ---- Faults ---- */

/* A short program of both kinds of segments that is the same for every fault. */
static struct wo_random_program short_program(bool is_expandable) {
  struct wo_random_program program = wo_random_program_of(3);
  program.steps = 250;
  program.live_max = 200;
  program.torch = 206;
  program.settings = wo_alloc_settings_default(program.torch);
  program.settings.expandable_segments = is_expandable;
  program.capacity_bytes = UINT64_MAX;
  program.cut = 0;
  program.has_pools = false;
  program.has_empty_cache = true;
  return program;
}

/* One function fails at each of its calls in turn. Returns how many replays ended for it. */
static uint64_t fail_each_call(struct bench *bench, const struct wo_random_program *program, uint64_t capacity_bytes,
                               const char *symbol) {
  uint64_t failures = 0;
  for (int n = 1; n <= 12; n++) {
    char fault[96];
    snprintf(fault, sizeof fault, "%s:%d:999", symbol, n);
    setenv("STAND_IN_FAIL", fault, 1);
    const enum wo_status status = replay(bench, capacity_bytes, &program->settings, program->torch, NULL);
    unsetenv("STAND_IN_FAIL");
    if (status != WO_OK) {
      failures++;
      assert_int_equal(status, WO_E_IO);
      assert_true(bench->err.message[0] != '\0');
    }
    assert_int_equal(bench->gpu.left_count, 0);
    assert_nothing_left();
  }
  return failures;
}

/* The n-th call of each function fails, with room and without, where memory is released while the program runs: a clear end or
 * none at all, and an empty card. */
static void test_every_call_fails_once(void **state) {
  (void)state;
  for (int is_expandable = 0; is_expandable < 2; is_expandable++) {
    struct bench bench;
    const struct wo_random_program program = short_program(is_expandable == 1);
    uint64_t failures = 0;
    uint64_t releases = 0;
    open_bench(&bench, &program);
    assert_int_equal(replay(&bench, 4 * GIB, &program.settings, program.torch, NULL), WO_OK);
    const uint64_t less = bench.gpu.outcome.peak.reserved_bytes / 2 / PAGE_BYTES * PAGE_BYTES;
    for (size_t i = 0; i < sizeof gpu_symbols / sizeof gpu_symbols[0]; i++) {
      const uint64_t of_symbol =
          fail_each_call(&bench, &program, 4 * GIB, gpu_symbols[i]) + fail_each_call(&bench, &program, less, gpu_symbols[i]);
      const bool is_release = strcmp(gpu_symbols[i], is_expandable == 1 ? "cuMemUnmap" : "cuMemFree_v2") == 0;
      failures += of_symbol;
      if (is_release) releases = of_symbol;
    }
    assert_true(failures > 20);
    assert_true(releases > 0); /* else nothing was released but at the end */
    close_bench(&bench);
  }
}

/* A refusal below the cap is a result: the first difference is the refused call. */
static void test_card_has_less(void **state) {
  static const char *const faults[][2] = {{"STAND_IN_FAIL", "cuMemAlloc_v2:3:2"}, {"STAND_IN_LATER", "36:25769803776"}};
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    struct bench bench;
    const struct wo_random_program program = short_program(false);
    open_bench(&bench, &program);
    setenv(faults[i][0], faults[i][1], 1);
    const enum wo_status status = replay(&bench, 4 * GIB, &program.settings, program.torch, NULL);
    unsetenv(faults[i][0]);
    assert_int_equal(status, WO_OK);
    if (bench.gpu.agrees) fail_msg("%s: %zu events", faults[i][1], (size_t)bench.gpu.outcome.segment_events);
    assert_false(bench.gpu.agrees);
    assert_true(bench.gpu.info.refusals > 0);
    assert_true(bench.gpu.info.refused_bytes > 0);
    assert_true(bench.gpu.info.used_at_refusal_bytes + bench.gpu.info.refused_bytes <= 4 * GIB);
    assert_non_null(strstr(bench.gpu.difference, ": the GPU refuses a segment of"));
    assert_non_null(strstr(bench.gpu.difference, "the model gives a segment of"));
    assert_nothing_left();
    close_bench(&bench);
  }
}

/* Lost at every call in turn: always a clear end. */
static void test_lost_at_every_call(void **state) {
  struct bench bench;
  const struct wo_random_program program = short_program(true);
  bool is_done = false;
  (void)state;
  open_bench(&bench, &program);
  for (int at = 1; !is_done; at++) {
    char count[16];
    snprintf(count, sizeof count, "%d", at);
    setenv("STAND_IN_LOST", count, 1);
    const enum wo_status status = replay(&bench, 4 * GIB, &program.settings, program.torch, NULL);
    unsetenv("STAND_IN_LOST");
    /* What only the giving back meets is told by the pieces that are left, not by a failure. */
    is_done = status == WO_OK && bench.gpu.left_count == 0;
    if (status != WO_OK) assert_non_null(strstr(bench.err.message, "unspecified launch failure"));
    assert_true(at < 5000);
  }
  close_bench(&bench);
}

static void test_memory_runs_out_in_whyoom(void **state) {
  struct bench bench;
  const struct wo_random_program program = short_program(true);
  bool is_done = false;
  (void)state;
  open_bench(&bench, &program);
  for (long n = 1; !is_done; n++) {
    wo_fail_alloc_at(n);
    const enum wo_status status = replay(&bench, 4 * GIB, &program.settings, program.torch, NULL);
    wo_fail_alloc_off();
    is_done = status == WO_OK;
    if (!is_done) assert_int_equal(status, WO_E_NOMEM);
    assert_nothing_left();
    assert_true(n < 2000);
  }
  close_bench(&bench);
}

/* ---- Interrupts and progress ---- */

static void test_progress_and_interrupt(void **state) {
  struct bench bench;
  const struct wo_random_program program = short_program(true);
  (void)state;
  open_bench(&bench, &program);
  for (size_t at = 0; at <= bench.pattern.requests.count; at++) {
    struct gpu_watcher watcher = {.cancel_at = at};
    struct wo_replay_hooks hooks = {0};
    gpu_watcher_attach(&watcher, &hooks);
    const enum wo_status status = replay(&bench, 4 * GIB, &program.settings, program.torch, &hooks);
    assert_int_equal(status, at == 0 ? WO_OK : WO_E_IO);
    if (at > 0) assert_non_null(strstr(bench.err.message, "interrupted; everything that was taken of GPU 0 was given back"));
    if (at > 0) assert_in_range(watcher.steps, at, at + 1);
    assert_int_equal(watcher.guards, 0);
    assert_int_equal(watcher.overs, 1);
    assert_nothing_left();
  }
  close_bench(&bench);
}

/* Before anything was taken. */
static void test_interrupt_while_looking(void **state) {
  struct bench bench;
  const struct wo_random_program program = short_program(false);
  static struct gpu_watcher watcher = {.is_cancelled = 1};
  const struct wo_replay_hooks hooks = {.state = &watcher, .guard = gpu_watcher_guard, .is_cancelled = &watcher.is_cancelled};
  (void)state;
  open_bench(&bench, &program);
  assert_int_equal(replay(&bench, 4 * GIB, &program.settings, program.torch, &hooks), WO_E_IO);
  assert_non_null(strstr(bench.err.message, "nothing was taken"));
  assert_nothing_left();
  close_bench(&bench);
}

/* A name is shown without what a terminal would obey. */
static void test_replaced_libraries_are_named(void **state) {
  (void)state;
  struct wo_text text = {0};
  const struct wo_replay_hooks hooks = {.cuda_library = "/tmp/\x1b[31mlib\ncuda.so"};
  struct wo_gpu_libraries libraries = wo_gpu_libraries_of(&hooks);
  assert_true(wo_gpu_add_libraries(&libraries, &text));
  assert_string_equal(text.ptr, "not a card's result: WHYOOM_CUDA_LIBRARY=/tmp/ [31mlib cuda.so answers in place of the driver");
  text.len = 0;
  libraries = wo_gpu_libraries_of(&(struct wo_replay_hooks){.nvml_library = "n.so"});
  assert_true(wo_gpu_add_libraries(&libraries, &text));
  wo_text_add(&text, "%s", "");
  assert_int_equal(text.len, strlen("WHYOOM_NVML_LIBRARY=n.so answers in place of NVML"));
  libraries = wo_gpu_libraries_of(NULL);
  assert_false(wo_gpu_add_libraries(&libraries, &text));
  wo_text_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_calls_of_random_programs),
      cmocka_unit_test(test_calls_by_settings),
      cmocka_unit_test(test_speed),
      cmocka_unit_test(test_every_call_fails_once),
      cmocka_unit_test(test_card_has_less),
      cmocka_unit_test(test_lost_at_every_call),
      cmocka_unit_test(test_memory_runs_out_in_whyoom),
      cmocka_unit_test(test_progress_and_interrupt),
      cmocka_unit_test(test_interrupt_while_looking),
      cmocka_unit_test(test_replaced_libraries_are_named),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
