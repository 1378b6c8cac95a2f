/* SPDX-License-Identifier: Apache-2.0 */
/* Lines longer than the scanner reads in one piece: nothing is lost at the cuts and nothing found twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_own.h"

#define STRIDE (WO_LIMIT_LINE_BYTES - WO_LIMIT_LINE_OVERLAP_BYTES)

/* Places where a piece begins, where two overlap, where one is cut, and where the buffer is full. */
static const size_t places[] = {
    0,
    1,
    STRIDE - 700,
    STRIDE - 11,
    STRIDE - 5,
    STRIDE - 1,
    STRIDE,
    STRIDE + 1,
    STRIDE + 3000,
    WO_LIMIT_LINE_BYTES - 12,
    WO_LIMIT_LINE_BYTES - 5,
    WO_LIMIT_LINE_BYTES - 1,
    WO_LIMIT_LINE_BYTES,
    WO_LIMIT_LINE_BYTES + 1,
    2 * STRIDE - 4,
    2 * STRIDE,
    2 * STRIDE + 100,
    STRIDE + WO_LIMIT_LINE_BYTES - 6,
    STRIDE + WO_LIMIT_LINE_BYTES,
    3 * STRIDE + 17,
    200000,
    WO_LIMIT_READ_BYTES - 8,
    WO_LIMIT_LOOKBACK_BYTES + 2 * WO_LIMIT_LINE_BYTES + WO_LIMIT_READ_BYTES - 6,
};
enum { PLACE_COUNT = sizeof places / sizeof places[0] };

/* One line of 430000 bytes with `text` at a place, between two short ones. */
static void put_long_line(struct sample_log *log, const char *text, size_t place) {
  const size_t total = 430000;
  sample_say(log, "before\n");
  sample_fill(log, 'x', place);
  sample_say(log, text);
  sample_fill(log, 'y', total - place);
  sample_say(log, "\nFAILMARK 2\n");
}

static void test_a_mark_anywhere_in_a_long_line(void **state) {
  (void)state;
  for (size_t i = 0; i < PLACE_COUNT; i++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    put_long_line(&log, " FAILMARK 1 ", places[i]);
    const struct wo_scan_summary summary = sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
    assert_true(summary.lines == 3 && summary.long_lines == 1);
    expect_marks(&store, sample_view(&log));
    expect_stable(own_set, sample_view(&log), &store);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

static void test_a_message_anywhere_in_a_long_line(void **state) {
  (void)state;
  for (size_t i = 0; i < PLACE_COUNT; i++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    put_long_line(&log, torch_message, places[i]);
    sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
    if (sample_count(&store, WO_KIND_CUDA_OOM) != 1) fail_msg("at %zu: %zu events", places[i], store.count);
    const struct wo_event *event = sample_find(&store, WO_KIND_CUDA_OOM, 0);
    expect_torch_message(event);
    assert_true(event->span.line == 2 && event->span.byte <= 7 + places[i] + 14 && event->span.byte + 300 >= 7 + places[i]);
    expect_stable(own_set, sample_view(&log), &store);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* Only the end of the line is an end of line; a cut is none. */
static void test_a_cut_is_no_line_end(void **state) {
  (void)state;
  static const size_t ends[] = {WO_LIMIT_LINE_BYTES, STRIDE + WO_LIMIT_LINE_BYTES, 100000};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    for (int is_end = 0; is_end < 2; is_end++) {
      struct sample_log log = {0};
      struct wo_event_store store;
      sample_fill(&log, 'x', ends[i] - 7);
      sample_say(&log, " Killed");
      if (!is_end) sample_fill(&log, 'y', 300000);
      sample_say(&log, "\r\n");
      sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
      assert_int_equal(sample_count(&store, WO_KIND_KILLED), is_end);
      expect_stable(own_set, sample_view(&log), &store);
      wo_event_store_done(&store);
      sample_free(&log);
    }
  }
}

/* An event keeps a part of its line only: the one with the words by which it was found. */
static void test_the_match_is_kept(void **state) {
  (void)state;
  static const size_t leads[] = {0, 600, WO_LIMIT_EVENT_TEXT_BYTES - 4, WO_LIMIT_EVENT_TEXT_BYTES, 9000};
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    for (size_t k = 0; k < leads[i] / 2; k++) sample_say(&log, "\xC3\xA4"); /* of two bytes each */
    sample_say(&log, " FAILMARK 1 ");
    sample_fill(&log, 'y', 3000);
    sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
    assert_int_equal(store.count, 1);
    assert_true(wo_view_has(store.items[0].text, "FAILMARK 1"));
    if (leads[i] >= WO_LIMIT_EVENT_TEXT_BYTES - 4) assert_true(wo_view_starts(store.items[0].match, "FAILMARK"));
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* Lines around the limit, with every kind of end. */
static void test_lines_of_the_limits_length(void **state) {
  (void)state;
  static const char *const ends[] = {"\n", "\r\n", "\r", ""};
  for (int more = -12; more <= 2; more++) {
    for (size_t end = 0; end < 4; end++) {
      struct sample_log log = {0};
      struct wo_event_store store;
      sample_fill(&log, 'x', (size_t)((int)WO_LIMIT_LINE_BYTES + more) - 11);
      sample_say(&log, " FAILMARK 1");
      sample_say(&log, ends[end]);
      const struct wo_scan_summary summary = sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
      assert_true(summary.lines == 1 && summary.long_lines == (more > 0));
      expect_marks(&store, sample_view(&log));
      expect_stable(own_set, sample_view(&log), &store);
      wo_event_store_done(&store);
      sample_free(&log);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_mark_anywhere_in_a_long_line), cmocka_unit_test(test_a_message_anywhere_in_a_long_line),
      cmocka_unit_test(test_a_cut_is_no_line_end),           cmocka_unit_test(test_the_match_is_kept),
      cmocka_unit_test(test_lines_of_the_limits_length),
  };
  return cmocka_run_group_tests(tests, own_setup, own_teardown);
}
