/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a line that bears none: that of the nearest line of its writer that has one. A search remembers the one before it;
 * here each event's time is held against a scan of the same log in which no other event is searched for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_own.h"

enum { LINES = 420, LINE_BYTES = 64 };

/* A line of 63 bytes of some rank: now and then with a time, a mark or both, sometimes blank, sometimes of nobody. */
static void put_line(struct sample_log *log, uint64_t *seed, size_t number, size_t stamps_in) {
  char line[LINE_BYTES + 1];
  const bool has_stamp = stamps_in > 0 && sample_below(seed, stamps_in) == 0;
  const bool has_mark = sample_below(seed, 6) == 0;
  const size_t rank = sample_below(seed, 3);
  char label[16] = "";
  if (rank > 0) snprintf(label, sizeof label, "[rank%zu]: ", rank);
  char stamp[32] = "";
  if (has_stamp) snprintf(stamp, sizeof stamp, "2025-01-06 15:%02zu:%02zu ", number / 60, number % 60);
  char text[LINE_BYTES];
  snprintf(text, sizeof text, "%s%s%s %zu", label, stamp, has_mark ? "FAILMARK" : "nothing", number);
  if (sample_below(seed, 9) == 0) text[0] = '\0';
  snprintf(line, sizeof line, "%-63s\n", text);
  sample_put(log, text[0] == '\0' ? "\n" : line, text[0] == '\0' ? 1 : LINE_BYTES);
}

/* The stamp of the event at `byte` when it is the only one. */
static struct wo_stamp stamp_alone(struct wo_view log, uint64_t byte) {
  char *const copy = malloc(log.len);
  assert_non_null(copy);
  memcpy(copy, log.ptr, log.len);
  for (size_t at = wo_view_find(log, WO_VIEW("FAILMARK"), 0); at != WO_NOT_FOUND;
       at = wo_view_find(log, WO_VIEW("FAILMARK"), at + 1)) {
    if (at != byte) memcpy(copy + at, "failmark", 8);
  }
  struct wo_event_store store;
  sample_scan(own_set, (struct wo_view){copy, log.len}, CHUNK_WHOLE, &store);
  assert_int_equal(sample_count(&store, WO_KIND_PROGRAM_ERROR), 1);
  const struct wo_stamp stamp = sample_find(&store, WO_KIND_PROGRAM_ERROR, 0)->stamp;
  wo_event_store_done(&store);
  free(copy);
  return stamp;
}

static void check_log(struct wo_view log, int chunk) {
  struct wo_event_store store;
  sample_scan(own_set, log, chunk, &store);
  const size_t count = sample_count(&store, WO_KIND_PROGRAM_ERROR);
  for (size_t i = 0; i < count; i++) {
    const struct wo_event *const event = sample_find(&store, WO_KIND_PROGRAM_ERROR, i);
    const struct wo_stamp alone = stamp_alone(log, event->span.byte);
    assert_int_equal(event->stamp.clock, alone.clock);
    assert_int_equal(event->stamp.is_inherited, alone.is_inherited);
    assert_true(event->stamp.time_ns == alone.time_ns);
  }
  wo_event_store_done(&store);
}

static void searches_know_nothing_wrong(void **state) {
  (void)state;
  const size_t stamps_in[] = {3, 40, 150, 400, 0};
  uint64_t seed = 20250106;
  for (size_t i = 0; i < 2 * sizeof stamps_in / sizeof stamps_in[0]; i++) {
    struct sample_log log = {0};
    for (size_t number = 0; number < LINES; number++) put_line(&log, &seed, number, stamps_in[i / 2]);
    check_log(sample_view(&log), CHUNK_WHOLE);
    check_log(sample_view(&log), CHUNK_RANDOM);
    sample_free(&log);
  }
}

/* A time is found over 199 lines, not over 200, whether a search on the way has found it or not. */
static void times_lie_within_reach(void **state) {
  (void)state;
  for (size_t between = 197; between < 202; between++) {
    struct sample_log log = {0};
    sample_say(&log, "2025-01-06 15:00:00 begin\n");
    for (size_t i = 0; i < between; i++) sample_say(&log, i == 100 ? "FAILMARK 1\n" : "nothing\n");
    sample_say(&log, "FAILMARK 2\n");
    struct wo_event_store store;
    sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
    assert_true(sample_find(&store, WO_KIND_PROGRAM_ERROR, 0)->stamp.clock == WO_CLOCK_LOCAL);
    const struct wo_stamp last = sample_find(&store, WO_KIND_PROGRAM_ERROR, 1)->stamp;
    assert_int_equal(last.clock, between < 200 ? WO_CLOCK_LOCAL : WO_CLOCK_NONE);
    assert_int_equal(last.is_inherited, between < 200);
    check_log(sample_view(&log), CHUNK_WHOLE);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(searches_know_nothing_wrong),
      cmocka_unit_test(times_lie_within_reach),
  };
  return cmocka_run_group_tests(tests, own_setup, own_teardown);
}
