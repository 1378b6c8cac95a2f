/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi dmon: columns by name, rows that fit, cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char trace[] = "# gpu   pwr    sm    fb\n"
                            "# Idx     W     %    MB\n"
                            "    0    29    10   100\n"
                            "    0    29    30   300\n";

/* The event stands at the row with the peak, and says what the rows say. */
static void test_trace(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), trace, &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 1);
  const struct wo_event *event = sample_find(&store, WO_KIND_MONITOR, 0);
  assert_int_equal(event->span.line, 4);
  assert_true(wo_view_is(event->text, "    0    29    30   300") && !event->is_quoted);
  sample_expect_number(event, WO_FIELD_SAMPLES, 2);
  sample_expect_number(event, WO_FIELD_FB_PEAK_BYTES, 300 * WO_MIB);
  sample_expect_number(event, WO_FIELD_FB_LAST_BYTES, 300 * WO_MIB);
  sample_expect_number(event, WO_FIELD_FB_SLOPE_BYTES_PER_SAMPLE, 200 * WO_MIB);
  sample_expect_number(event, WO_FIELD_SM_MEAN_PCT, 20);
  wo_event_store_done(&store);
}

/* A row that does not fit the names in every cell is none. */
static void test_rows(void **state) {
  static const char *const rows[] = {
      "    0    29    10",       "    0    29    10   100   1", "    0    29    x   100", "   -1    29    10   100",
      "    -    29    10   100", "    0 29 10 100MB",           "0.5 29 10 100",          "loss 29 10 100"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char log[256];
    struct wo_event_store store;
    snprintf(log, sizeof log, "# gpu   pwr    sm    fb\n%s\n", rows[i]);
    sample_scan_text(set_of(state), log, &store);
    if (sample_count(&store, WO_KIND_MONITOR) != 0) fail_msg("taken for a row: %s", rows[i]);
    wo_event_store_done(&store);
  }
}

/* A trace is over after many lines of something else; a header opens it again and the sums go on. */
static void test_over(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, trace);
  for (size_t i = 0; i <= WO_LIMIT_MONITOR_STRANGE_LINES; i++) sample_say(&log, "step\n");
  sample_say(&log, "    0    29    30   900\n");
  sample_say(&log, trace);
  sample_scan(set_of(state), sample_view(&log), CHUNK_RANDOM, &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 1);
  sample_expect_number(sample_find(&store, WO_KIND_MONITOR, 0), WO_FIELD_SAMPLES, 4);
  sample_expect_number(sample_find(&store, WO_KIND_MONITOR, 0), WO_FIELD_FB_PEAK_BYTES, 300 * WO_MIB);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* The lines of a job between the rows do not end a trace, however long it is. */
static void test_goes_on(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, trace);
  for (size_t i = 0; i <= 3 * WO_LIMIT_MONITOR_STRANGE_LINES; i++) {
    sample_say(&log, i % 1000 == 999 ? "    0    29    30   900\n" : "step\n");
  }
  sample_scan(set_of(state), sample_view(&log), CHUNK_RANDOM, &store);
  sample_expect_number(sample_find(&store, WO_KIND_MONITOR, 0), WO_FIELD_SAMPLES, 8);
  wo_event_store_done(&store);
  sample_free(&log);
}

static void test_cut_anywhere(void **state) {
  sample_cut_monitor(set_of(state), trace, 2, 300 * WO_MIB);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trace),   cmocka_unit_test(test_rows),         cmocka_unit_test(test_over),
      cmocka_unit_test(test_goes_on), cmocka_unit_test(test_cut_anywhere),
  };
  return cmocka_run_group_tests_name("fmt_dmon", tests, sample_setup, sample_teardown);
}
