/* SPDX-License-Identifier: Apache-2.0 */
/* When jobs have ended, by a clock that the test sets: analyzer/live/live_jobs.c, hash_map.c. */
#include "analyzer/live/live_jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "parsers/base/units.h"

#define S WO_NS_PER_S

/* One log, and the clock. */
struct bench {
  struct wo_live_jobs jobs;
  struct wo_walk_file file;
  int64_t now_ns;
  int64_t due_ns; /* INT64_MAX: nothing is open */
};

static int set_up(void **state) {
  static struct bench bench;
  bench = (struct bench){.file = {.path = "a/slurm-4711.out", .device = 1, .inode = 7, .size_bytes = 10, .mtime_ns = 5},
                         .now_ns = 100 * S};
  wo_live_jobs_init(&bench.jobs, 60 * S);
  *state = &bench;
  return 0;
}

static int tear_down(void **state) {
  wo_live_jobs_done(&((struct bench *)*state)->jobs);
  return 0;
}

static bool was_seen(void *context, uint32_t folder) {
  (void)context;
  return folder == 3;
}

static void on_due(void *context, uint32_t folder, int64_t due_ns) {
  assert_int_equal(folder, 3);
  ((struct bench *)context)->due_ns = due_ns;
}

/* A look after so long. Whether the job is to be read. */
static bool look(struct bench *bench, int64_t after_s) {
  const struct wo_walk_job job = {.files = &bench->file, .file_count = 1, .log_count = 1};
  bench->now_ns += after_s * S;
  bench->due_ns = INT64_MAX;
  wo_live_jobs_begin_look(&bench->jobs);
  const bool is_read = wo_live_jobs_see(&bench->jobs, &job, 3, false, false, bench->now_ns);
  wo_live_jobs_end_look(&bench->jobs, was_seen, on_due, bench);
  return is_read;
}

static enum wo_live_verdict judge(struct bench *bench, const char *outcome, bool has_ended) {
  struct wo_row row = wo_row_empty();
  row.path = wo_view_of(bench->file.path);
  row.outcome = wo_view_of(outcome);
  row.is_failed = strcmp(outcome, "success") != 0;
  return wo_live_jobs_judge(&bench->jobs, &row, has_ended, NULL, bench->now_ns);
}

static void test_a_failure_counts_when_it_is_quiet(void **state) {
  struct bench *const bench = *state;
  assert_false(look(bench, 0));
  assert_int_equal(bench->due_ns, 102 * S);
  assert_false(look(bench, 1));
  bench->file.size_bytes++;
  assert_false(look(bench, 1));
  assert_true(look(bench, 2));
  assert_int_equal(judge(bench, "gpu_oom", false), WO_LIVE_WAIT);
  assert_false(look(bench, 57));
  assert_true(look(bench, 1));
  assert_int_equal(judge(bench, "gpu_oom", false), WO_LIVE_REPORT);
  assert_false(look(bench, 1000));
  assert_int_equal(bench->due_ns, INT64_MAX);
}

static void test_a_job_that_says_it_ended_is_believed_soon(void **state) {
  struct bench *const bench = *state;
  look(bench, 0);
  assert_true(look(bench, 2));
  assert_int_equal(judge(bench, "success", true), WO_LIVE_REPORT);
}

/* Silence is no end. */
static void test_a_silent_job_stays_open(void **state) {
  struct bench *const bench = *state;
  look(bench, 0);
  assert_true(look(bench, 2));
  assert_int_equal(judge(bench, "success", false), WO_LIVE_WAIT);
  assert_true(look(bench, 58));
  assert_int_equal(judge(bench, "success", false), WO_LIVE_KEEP);
  assert_false(look(bench, 100000));
  bench->file.size_bytes++;
  assert_false(look(bench, 1));
  assert_true(look(bench, 60));
  assert_int_equal(judge(bench, "gpu_oom", false), WO_LIVE_REPORT);
}

static void fail_once(struct bench *bench, const char *outcome, enum wo_live_verdict wanted) {
  look(bench, 1);
  assert_true(look(bench, 60));
  assert_int_equal(judge(bench, outcome, false), wanted);
}

static void test_only_another_answer_is_news(void **state) {
  struct bench *const bench = *state;
  fail_once(bench, "gpu_oom", WO_LIVE_REPORT);
  bench->file.size_bytes += 100;
  fail_once(bench, "gpu_oom", WO_LIVE_KEEP);
  bench->file.size_bytes += 100;
  fail_once(bench, "disk", WO_LIVE_REPORT);
}

/* A log that begins again is another job, and so is one of another inode; one that is renamed is the same. */
static void test_a_replaced_log_is_another_job(void **state) {
  struct bench *const bench = *state;
  fail_once(bench, "gpu_oom", WO_LIVE_REPORT);
  bench->file.size_bytes = 5;
  fail_once(bench, "gpu_oom", WO_LIVE_REPORT);
  bench->file.inode = 8;
  fail_once(bench, "gpu_oom", WO_LIVE_REPORT);
  bench->file.path = "a/slurm-4711.out.1";
  assert_false(look(bench, 1));
  assert_false(look(bench, 100));
}

/* Times of files may be anything: in the future, or going back. */
static void test_times_of_files_are_only_compared(void **state) {
  struct bench *const bench = *state;
  bench->file.mtime_ns = INT64_MAX;
  look(bench, 1);
  bench->file.mtime_ns = -5;
  assert_false(look(bench, 60));
  assert_true(look(bench, 2));
}

static void test_a_job_that_is_gone_is_forgotten(void **state) {
  struct bench *const bench = *state;
  look(bench, 0);
  assert_int_equal(bench->jobs.open, 1);
  wo_live_jobs_begin_look(&bench->jobs);
  wo_live_jobs_end_look(&bench->jobs, was_seen, on_due, bench);
  assert_int_equal(bench->jobs.open, 0);
}

static void test_memory_is_bounded(void **state) {
  struct bench *const bench = *state;
  char path[40];
  const struct wo_walk_job job = {.files = &bench->file, .file_count = 1, .log_count = 1};
  bench->file.path = path;
  wo_live_jobs_begin_look(&bench->jobs);
  for (size_t i = 0; i < WO_LIMIT_LIVE_JOBS + 10; i++) {
    snprintf(path, sizeof path, "a/slurm-%zu.out", 10000 + i);
    bench->file.inode = 100 + i;
    assert_false(wo_live_jobs_see(&bench->jobs, &job, 3, false, false, 0));
  }
  assert_int_equal(bench->jobs.count, WO_LIMIT_LIVE_JOBS);
  assert_int_equal(bench->jobs.waiting, 10);
}

static void test_a_map_finds_what_it_has(void **state) {
  (void)state;
  struct wo_hash_map map = {0};
  for (uint32_t i = 0; i < 5000; i++) assert_true(wo_hash_map_set(&map, i * UINT64_C(4096), i, 5000));
  assert_false(wo_hash_map_set(&map, 1, 1, 5000));
  for (uint32_t i = 0; i < 5000; i += 3) wo_hash_map_remove(&map, i * UINT64_C(4096));
  for (uint32_t i = 0; i < 5000; i++)
    assert_int_equal(wo_hash_map_get(&map, i * UINT64_C(4096)), i % 3 == 0 ? WO_HASH_MAP_NONE : i);
  wo_hash_map_done(&map);
  assert_int_equal(wo_hash_map_get(&map, 0), WO_HASH_MAP_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_failure_counts_when_it_is_quiet, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_job_that_says_it_ended_is_believed_soon, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_silent_job_stays_open, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_only_another_answer_is_news, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_replaced_log_is_another_job, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_times_of_files_are_only_compared, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_job_that_is_gone_is_forgotten, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_memory_is_bounded, set_up, tear_down),
      cmocka_unit_test(test_a_map_finds_what_it_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
