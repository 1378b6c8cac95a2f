/* SPDX-License-Identifier: Apache-2.0 */
/* What is left out of a line or of an input is said: limits of matching, and the other caps of one input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "tests/support/job/scan_sample.h"

static const struct wo_view literals[] = {WO_VIEW("TOOKMARK")};

static const struct wo_pattern patterns[] = {{.id = WO_VIEW("first"),
                                              .kind = WO_KIND_NOTE,
                                              .literals = literals,
                                              .literal_count = 1,
                                              .regex = WO_VIEW("TOOKMARK (?<count>\\d+)")},
                                             {.id = WO_VIEW("each"),
                                              .kind = WO_KIND_PROGRESS,
                                              .literals = literals,
                                              .literal_count = 1,
                                              .is_every_match = true,
                                              .regex = WO_VIEW("TOOKMARK (?<count>\\d+)")},
                                             {.id = WO_VIEW("slow"),
                                              .kind = WO_KIND_CUDA_OOM,
                                              .literals = literals,
                                              .literal_count = 1,
                                              .regex = WO_VIEW("(?:a+)+b.*TOOKMARK")}};

static struct wo_scan_summary scan(const struct sample_log *log, struct wo_event_store *store) {
  struct wo_pattern_set *set = NULL;
  assert_int_equal(wo_pattern_set_new(patterns, sizeof patterns / sizeof patterns[0], NULL, &set), WO_OK);
  const struct wo_scan_summary summary = sample_scan(set, sample_view(log), CHUNK_WHOLE, store);
  wo_pattern_set_free(set);
  return summary;
}

/* The same pattern finds a short line and gives up a long one, which is said with the pattern and the number of lines. */
static void test_match_limit(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  (void)state;
  sample_say(&log, "aab TOOKMARK\n");
  struct wo_scan_summary summary = scan(&log, &store);
  assert_true(sample_count(&store, WO_KIND_CUDA_OOM) == 1 && summary.unsearched_count == 0);
  wo_event_store_done(&store);
  for (int line = 0; line < 3; line++) {
    sample_fill(&log, 'a', 200);
    sample_say(&log, " TOOKMARK\n");
  }
  summary = scan(&log, &store);
  assert_int_equal(sample_count(&store, WO_KIND_CUDA_OOM), 1);
  assert_int_equal(summary.unsearched_count, 1);
  assert_true(wo_view_is(summary.unsearched[0].pattern->id, "slow") && summary.unsearched[0].lines == 3);
  assert_true(summary.unsearched[0].last_line == 4 && summary.unsearched_others == 0);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* A pattern gives its first match in a line, or each of them; more than are read are said. */
static void test_every_match(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  (void)state;
  sample_say(&log, "TOOKMARK 1 TOOKMARK 2 TOOKMARK 3\n");
  struct wo_scan_summary summary = scan(&log, &store);
  assert_int_equal(sample_count(&store, WO_KIND_NOTE), 1);
  assert_int_equal(sample_count(&store, WO_KIND_PROGRESS), 3);
  for (size_t i = 0; i < 3; i++) {
    const struct wo_event *const event = sample_find(&store, WO_KIND_PROGRESS, i);
    sample_expect_number(event, WO_FIELD_COUNT, (double)i + 1);
    assert_int_equal(event->span.byte, 11 * i);
  }
  assert_int_equal(summary.caps[WO_CAP_MATCHES], 0);
  wo_event_store_done(&store);
  for (int i = 0; i < WO_LIMIT_MATCHES_PER_LINE + 4; i++) sample_say(&log, "TOOKMARK 7 ");
  summary = scan(&log, &store);
  assert_int_equal(sample_count(&store, WO_KIND_PROGRESS), 3 + WO_LIMIT_MATCHES_PER_LINE);
  assert_int_equal(summary.caps[WO_CAP_MATCHES], 1);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* A fallback stands before the others in the pack, is asked after them, and only where none of them found memory; what another
 * fallback found counts too. */
static void test_fallback(void **state) {
  static const struct wo_view words[] = {WO_VIEW("out of memory")};
  static const struct wo_view known[] = {WO_VIEW("pool: out of memory")};
  static const struct wo_pattern rows[] = {
      {.id = WO_VIEW("any"), .kind = WO_KIND_CUDA_OOM, .literals = words, .literal_count = 1, .is_fallback = true},
      {.id = WO_VIEW("any-host"), .kind = WO_KIND_HOST_OOM, .literals = words, .literal_count = 1, .is_fallback = true},
      {.id = WO_VIEW("pool"), .kind = WO_KIND_TF_OOM, .literals = known, .literal_count = 1},
      {.id = WO_VIEW("line"), .kind = WO_KIND_PROGRESS, .literals = words, .literal_count = 1}};
  (void)state;
  struct wo_event_store store;
  struct wo_pattern_set *set = NULL;
  assert_int_equal(wo_pattern_set_new(rows, sizeof rows / sizeof rows[0], NULL, &set), WO_OK);
  sample_scan_text(set, "pool: out of memory\nGPU: out of memory\n", &store);
  assert_int_equal(sample_count(&store, WO_KIND_TF_OOM), 1);
  assert_int_equal(sample_count(&store, WO_KIND_CUDA_OOM), 1);
  assert_int_equal(sample_find(&store, WO_KIND_CUDA_OOM, 0)->span.line, 2);
  assert_int_equal(sample_count(&store, WO_KIND_HOST_OOM), 0);
  assert_int_equal(sample_count(&store, WO_KIND_PROGRESS), 2);
  wo_event_store_done(&store);
  wo_pattern_set_free(set);
}

/* Two tasks of SLURM write at once, without a line end between. */
static void test_glued_lines(void **state) {
  struct wo_event_store store;
  sample_scan_text(((struct sample_patterns *)*state)->set,
                   "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed."
                   "slurmstepd: error: Detected 2 oom_kill events in StepId=7.1. Some of the step tasks have been OOM Killed.\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_CGROUP_OOM), 2);
  sample_expect_text(sample_find(&store, WO_KIND_CGROUP_OOM, 0), WO_FIELD_STEP_ID, "7.0");
  sample_expect_text(sample_find(&store, WO_KIND_CGROUP_OOM, 1), WO_FIELD_STEP_ID, "7.1");
  wo_event_store_done(&store);
}

static uint64_t cap_of(void **state, const struct sample_log *log, enum wo_cap cap) {
  struct wo_event_store store;
  const struct wo_scan_summary summary =
      sample_scan(((struct sample_patterns *)*state)->set, sample_view(log), CHUNK_RANDOM, &store);
  wo_event_store_done(&store);
  return summary.caps[cap];
}

/* A setting that changes at each step. */
static void test_changes(void **state) {
  struct sample_log log = {0};
  for (int i = 0; i < WO_LIMIT_SETTING_CHANGES; i++) {
    char line[80];
    snprintf(line, sizeof line, "per_device_train_batch_size: %d\n", i + 1);
    sample_say(&log, line);
  }
  assert_int_equal(cap_of(state, &log, WO_CAP_CHANGES), 0);
  sample_say(&log, "per_device_train_batch_size: 97\nper_device_train_batch_size: 98\n");
  assert_int_equal(cap_of(state, &log, WO_CAP_CHANGES), 2);
  sample_free(&log);
}

/* More tracebacks at once than are read. */
static void test_open(void **state) {
  struct sample_log log = {0};
  for (int rank = 0; rank < WO_LIMIT_OPEN_READERS + 3; rank++) {
    char line[80];
    if (rank == WO_LIMIT_OPEN_READERS) assert_int_equal(cap_of(state, &log, WO_CAP_OPEN), 0);
    snprintf(line, sizeof line, "[rank%d]: Traceback (most recent call last):\n", rank);
    sample_say(&log, line);
  }
  assert_int_equal(cap_of(state, &log, WO_CAP_OPEN), 3);
  sample_free(&log);
}

/* A flood of tracebacks, each of another writer, so that each looks in vain for lines of its own. */
static void test_before(void **state) {
  struct sample_log log = {0};
  for (int rank = 0; rank < 4000; rank++) {
    char line[80];
    snprintf(line, sizeof line, "[rank%d]: Traceback (most recent call last):\n", rank);
    sample_say(&log, line);
    if (rank == 400) assert_int_equal(cap_of(state, &log, WO_CAP_BEFORE), 0);
  }
  assert_in_range(cap_of(state, &log, WO_CAP_BEFORE), 1000, 8000);
  sample_free(&log);
}

/* A block of settings, the columns of a monitor's table, and a line beside a step, each longer than is read. */
static void test_long_constructs(void **state) {
  struct sample_log log = {0};
  sample_say(&log, "zero_optimization:\n");
  for (int i = 0; i < WO_LIMIT_BLOCK_LINES + 9; i++) sample_say(&log, "  other: 1\n");
  assert_int_equal(cap_of(state, &log, WO_CAP_BLOCK), 1);
  log.len = 0;
  sample_say(&log, "# gpu   fb");
  for (int i = 0; i < WO_LIMIT_MONITOR_COLUMNS; i++) sample_say(&log, " sm");
  sample_say(&log, "\n");
  assert_int_equal(cap_of(state, &log, WO_CAP_COLUMNS), 1);
  log.len = 0;
  sample_say(&log, "step 1 | mem 67.02 GiB | ");
  sample_fill(&log, 'x', WO_LIMIT_STEPS_LINE_BYTES);
  assert_int_equal(cap_of(state, &log, WO_CAP_STEPS), 1);
  sample_free(&log);
}

/* Each cap has words for one and for several. */
static void test_texts(void **state) {
  (void)state;
  for (enum wo_cap cap = 0; cap < WO_CAP_COUNT_; cap++) {
    assert_true(strlen(wo_cap_text(cap, 1)) > 20);
    assert_string_not_equal(wo_cap_text(cap, 1), wo_cap_text(cap, 2));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_match_limit), cmocka_unit_test(test_every_match), cmocka_unit_test(test_glued_lines),
      cmocka_unit_test(test_changes),     cmocka_unit_test(test_open),        cmocka_unit_test(test_long_constructs),
      cmocka_unit_test(test_texts),       cmocka_unit_test(test_before),      cmocka_unit_test(test_fallback),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
