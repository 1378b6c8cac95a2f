/* SPDX-License-Identifier: Apache-2.0 */
/* torchelastic's block about the first failure, row by row and cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char block[] = "Root Cause (first observed failure):\n"
                            "[0]:\n"
                            "  time      : 2025-08-25_17:31:27\n"
                            "  host      : node07\n"
                            "  rank      : 10 (local_rank: 2)\n"
                            "  exitcode  : -9 (pid: 9124)\n"
                            "  error_file: <N/A>\n"
                            "  traceback : Signal 9 (SIGKILL) received by PID 9124\n"
                            "============================================================\n";

/* The event belongs to the rank and host that failed, at the time when they did, not to the line that tells it. */
static void test_block(void **state) {
  struct wo_event_store store;
  struct wo_view time = WO_VIEW("2025-08-25T17:31:27");
  int64_t time_ns = 0;
  assert_int_equal(wo_units_time(&time, &time_ns), WO_OK);
  sample_scan_text(set_of(state), block, &store);
  assert_int_equal(sample_count(&store, WO_KIND_ELASTIC), 1);
  const struct wo_event *event = sample_find(&store, WO_KIND_ELASTIC, 0);
  assert_int_equal(event->rank, 10);
  assert_true(wo_view_is(event->host, "node07") && event->time_ns == time_ns);
  sample_expect_number(event, WO_FIELD_LOCAL_RANK, 2);
  sample_expect_number(event, WO_FIELD_PID, 9124);
  assert_true(wo_event_number(event, WO_FIELD_EXIT_CODE, 0) == -9);
  sample_expect_text(event, WO_FIELD_TIME, "2025-08-25_17:31:27");
  sample_expect_text(event, WO_FIELD_SIGNAL, "Signal 9 (SIGKILL) received by PID 9124");
  wo_event_store_done(&store);
}

/* SIGKILL is evidence for the host's memory, with the same rank, host and time. */
static void test_kill(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), block, &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_ELASTIC, 0);
  const struct wo_event *kill = NULL;
  for (size_t i = 0; i < store.count; i++) {
    if (store.items[i].kind == WO_KIND_HOST_OOM && store.items[i].span.line == 1) kill = &store.items[i];
  }
  assert_non_null(kill);
  assert_true(kill->rank == 10 && wo_view_is(kill->host, "node07") && kill->time_ns == event->time_ns);
  assert_true(kill->span.byte == event->span.byte && kill->span.length == event->span.length);
  wo_event_store_done(&store);
}

/* Cut anywhere: one event, with what was there. */
static void test_cut_anywhere(void **state) {
  const size_t title = strlen("Root Cause (first observed failure)");
  for (size_t cut = 0; cut < sizeof block; cut++) {
    struct wo_event_store store;
    sample_scan(set_of(state), (struct wo_view){block, cut}, CHUNK_WHOLE, &store);
    assert_int_equal(sample_count(&store, WO_KIND_ELASTIC), cut >= title);
    for (size_t i = 0; i < store.count; i++) assert_true(store.items[i].span.byte + store.items[i].span.length <= cut);
    wo_event_store_done(&store);
  }
}

/* Rows behind the frame's end belong to nothing. */
static void test_end_of_the_block(void **state) {
  struct wo_event_store store;
  sample_scan_text(
      set_of(state),
      "Root Cause (first observed failure):\n[0]:\n  exitcode  : 1 (pid: 5)\n====\n  host      : later\n  rank      : 3\n",
      &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_ELASTIC, 0);
  sample_expect_number(event, WO_FIELD_EXIT_CODE, 1);
  sample_expect_text(event, WO_FIELD_HOST, NULL);
  assert_int_equal(event->rank, WO_RANK_UNKNOWN);
  assert_int_equal(sample_count(&store, WO_KIND_HOST_OOM), 0);
  wo_event_store_done(&store);
}

/* Numbers that are none, or too large, stay unknown. */
static void test_odd_rows(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "Root Cause (first observed failure):\n  rank      : many (local_rank: 99999999999999999999)\n  exitcode  :\n"
                   "  time      : yesterday\n  host      :\n  traceback : To enable traceback see: https://pytorch.org\n",
                   &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_ELASTIC, 0);
  assert_true(event->rank == WO_RANK_UNKNOWN && event->time_ns == WO_TIME_UNKNOWN);
  assert_null(wo_event_field(event, WO_FIELD_RANK));
  assert_null(wo_event_field(event, WO_FIELD_LOCAL_RANK));
  assert_null(wo_event_field(event, WO_FIELD_EXIT_CODE));
  assert_null(wo_event_field(event, WO_FIELD_SIGNAL));
  sample_expect_text(event, WO_FIELD_TIME, "yesterday");
  wo_event_store_done(&store);
}

/* A block of each of two nodes, line by line. */
static void test_two_writers(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "node01: Root Cause (first observed failure):\nnode02: Root Cause (first observed failure):\n"
                   "node01:   rank      : 1 (local_rank: 1)\nnode02:   rank      : 9 (local_rank: 1)\n"
                   "node02:   exitcode  : 2 (pid: 22)\nnode01:   exitcode  : 1 (pid: 11)\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_ELASTIC), 2);
  sample_expect_number(sample_find(&store, WO_KIND_ELASTIC, 0), WO_FIELD_PID, 11);
  sample_expect_number(sample_find(&store, WO_KIND_ELASTIC, 1), WO_FIELD_PID, 22);
  assert_true(wo_view_is(sample_find(&store, WO_KIND_ELASTIC, 1)->host, "node02"));
  wo_event_store_done(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_block),        cmocka_unit_test(test_kill),
      cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_end_of_the_block),
      cmocka_unit_test(test_odd_rows),     cmocka_unit_test(test_two_writers),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
