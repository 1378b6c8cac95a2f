/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of traces share: cells, units, time stamps, and the sums for each card. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/formats/monitors/monitor.h"
#include "tests/support/job/scan_sample.h"

static void test_cell(void **state) {
  (void)state;
  static const struct {
    const char *cell;
    enum wo_cell kind;
    double number;
    const char *unit;
  } rows[] = {
      {"841 MiB", WO_CELL_NUMBER, 841, "MiB"},
      {" 22 % ", WO_CELL_NUMBER, 22, "%"},
      {"0", WO_CELL_NUMBER, 0, ""},
      {"33.09 W", WO_CELL_NUMBER, 33.09, "W"},
      {"-", WO_CELL_MISSING, -1, ""},
      {"[N/A]", WO_CELL_MISSING, -1, ""},
      {"n/a", WO_CELL_MISSING, -1, ""},
      {"[Not Supported]", WO_CELL_MISSING, -1, ""},
      {"", WO_CELL_BAD, -1, ""},
      {"-5", WO_CELL_BAD, -1, ""},
      {"abc", WO_CELL_BAD, -1, ""},
      {"--", WO_CELL_BAD, -1, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    double number = 7;
    struct wo_view unit = WO_VIEW("x");
    assert_int_equal(wo_monitor_cell(wo_view_of(rows[i].cell), &number, &unit), rows[i].kind);
    assert_true(number == rows[i].number && wo_view_is(unit, rows[i].unit));
  }
}

static void test_unit(void **state) {
  (void)state;
  assert_true(wo_monitor_unit_bytes(WO_VIEW("MiB")) == WO_MIB && wo_monitor_unit_bytes(WO_VIEW("MB")) == WO_MIB);
  assert_true(wo_monitor_unit_bytes(WO_VIEW("gib")) == WO_GIB && wo_monitor_unit_bytes(WO_VIEW("bytes")) == 1);
  assert_true(wo_monitor_unit_bytes(WO_VIEW("%")) == 0 && wo_monitor_unit_bytes(WO_VIEW("")) == 0);
}

static void test_gpu(void **state) {
  (void)state;
  int32_t gpu = -7;
  assert_true(wo_monitor_gpu(WO_VIEW(" 15 "), &gpu) && gpu == 15);
  assert_false(wo_monitor_gpu(WO_VIEW("1024"), &gpu) || wo_monitor_gpu(WO_VIEW("0x"), &gpu) || wo_monitor_gpu(WO_VIEW(""), &gpu));
  assert_int_equal(gpu, 15);
}

/* The spellings of one moment, and what is none. */
static void test_time(void **state) {
  (void)state;
  static const char *const same[] = {"2025-03-30 21:38:15", "2025/03/30 21:38:15", "2025/03/30 21:38:15.000",
                                     "03-30-2025 21:38:15", "30-03-2025 21:38:15", "1743370695"};
  static const char *const none[] = {
      "", "12", "21:38:15", "yesterday", "2025-13-30 21:38:15", "2025/03/30 21:38", "1743370695 s"};
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    if (wo_monitor_time(wo_view_of(same[i])) != 1743370695.0) fail_msg("%s", same[i]);
  }
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) assert_true(wo_monitor_time(wo_view_of(none[i])) < 0);
  assert_true(wo_monitor_time(WO_VIEW("2025/03/30 21:38:15.250")) == 1743370695.25);
}

static void test_date(void **state) {
  (void)state;
  assert_true(wo_monitor_date(WO_VIEW("Sun Mar 30 21:38:15 2025")) == 1743370695.0);
  assert_true(wo_monitor_date(WO_VIEW("Tue Mar  4 21:38:15 2025       ")) > 0);
  static const char *const none[] = {
      "", "Sun", "Sun Mar 30", "Sun anF 30 21:38:15 2025", "Sun Mar 99 21:38:15 2025", "| GPU  Name |"};
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) assert_true(wo_monitor_date(wo_view_of(none[i])) < 0);
}

/* A figure that no sample tells is no field; the slope needs two samples. */
static void test_sums(void **state) {
  struct wo_event_store store;
  sample_scan_text(((struct sample_patterns *)*state)->set, "# gpu   fb   sm\n    0     7    -\n    3     -     9\n", &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 2);
  const struct wo_event *event = sample_find(&store, WO_KIND_MONITOR, 0);
  sample_expect_number(event, WO_FIELD_FB_PEAK_BYTES, 7 * WO_MIB);
  assert_null(wo_event_field(event, WO_FIELD_SM_MEAN_PCT));
  assert_null(wo_event_field(event, WO_FIELD_FB_SLOPE_BYTES_PER_SAMPLE));
  event = sample_find(&store, WO_KIND_MONITOR, 1);
  sample_expect_number(event, WO_FIELD_GPU, 3);
  sample_expect_number(event, WO_FIELD_SM_MEAN_PCT, 9);
  assert_null(wo_event_field(event, WO_FIELD_FB_PEAK_BYTES));
  wo_event_store_done(&store);
}

/* More cards than are kept: counted, and the first ones stay. */
static void test_too_many(void **state) {
  static char log[8192] = "# gpu   fb   sm\n";
  struct wo_event_store store;
  size_t len = strlen(log);
  for (int gpu = 0; gpu < WO_LIMIT_MONITORS + 5; gpu++) {
    len += (size_t)snprintf(log + len, sizeof log - len, "%5d  %5d     1\n", gpu, gpu);
  }
  sample_scan_text(((struct sample_patterns *)*state)->set, log, &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), WO_LIMIT_MONITORS);
  assert_int_equal(store.dropped, 5);
  wo_event_store_done(&store);
}

/* The same id with another name is another process; ids and names come back in their own fields. */
static void test_processes(void **state) {
  struct wo_event_store store;
  sample_scan_text(((struct sample_patterns *)*state)->set,
                   "# gpu        pid  type    fb   command\n    0  7  C  10  a\n    0  7  C  30  a\n    0  7  C  20  a\n"
                   "    0  7  C  5  b\n    1  7  C  6  a\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_GPU_PROCESS), 3);
  const struct wo_event *event = sample_find(&store, WO_KIND_GPU_PROCESS, 0);
  sample_expect_number(event, WO_FIELD_SAMPLES, 3);
  sample_expect_number(event, WO_FIELD_PEAK_BYTES, 30 * WO_MIB);
  sample_expect_text(event, WO_FIELD_NAME, "a");
  assert_true(event->span.line == 3 && !event->is_quoted && wo_view_is(event->text, "    0  7  C  30  a"));
  sample_expect_text(sample_find(&store, WO_KIND_GPU_PROCESS, 1), WO_FIELD_NAME, "b");
  sample_expect_number(sample_find(&store, WO_KIND_GPU_PROCESS, 2), WO_FIELD_GPU, 1);
  wo_event_store_done(&store);
}

static void test_too_many_processes(void **state) {
  static char log[16384] = "# gpu        pid  type    fb   command\n";
  struct wo_event_store store;
  size_t len = strlen(log);
  for (int pid = 1; pid <= WO_LIMIT_MONITOR_PROCESSES + 3; pid++) {
    len += (size_t)snprintf(log + len, sizeof log - len, "    0  %5d  C  10  python\n", pid);
  }
  sample_scan_text(((struct sample_patterns *)*state)->set, log, &store);
  assert_int_equal(sample_count(&store, WO_KIND_GPU_PROCESS), WO_LIMIT_MONITOR_PROCESSES);
  assert_int_equal(store.dropped, 3);
  wo_event_store_done(&store);
}

static void test_pid(void **state) {
  (void)state;
  uint64_t pid = 9;
  assert_true(wo_monitor_pid(WO_VIEW(" 4711 "), &pid) && pid == 4711);
  assert_false(wo_monitor_pid(WO_VIEW("-"), &pid) || wo_monitor_pid(WO_VIEW("0"), &pid) || wo_monitor_pid(WO_VIEW("47x"), &pid));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cell),     cmocka_unit_test(test_unit),      cmocka_unit_test(test_gpu),
      cmocka_unit_test(test_time),     cmocka_unit_test(test_date),      cmocka_unit_test(test_sums),
      cmocka_unit_test(test_too_many), cmocka_unit_test(test_processes), cmocka_unit_test(test_too_many_processes),
      cmocka_unit_test(test_pid),
  };
  return cmocka_run_group_tests_name("monitor", tests, sample_setup, sample_teardown);
}
