/* SPDX-License-Identifier: Apache-2.0 */
/* What the scanner does with the formats that its caller hands to it: readers by name, followers over the whole input, short
 * ways. */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

/* A follower that counts lines. What was released is counted beside it, as its state is gone by then. */
struct tally {
  int lines;
  char *owned;
};

static int released;

static void emit_tally(struct wo_scan *scan, void *state) {
  const struct tally *const tally = state;
  const struct wo_line line = {.number = 1, .prefix = {.rank = WO_RANK_UNKNOWN, .time_ns = WO_TIME_UNKNOWN}};
  struct wo_event *const event = wo_scan_add_event(scan, &line, NULL, WO_KIND_NOTE, 0, 0);
  if (event) wo_event_set_number(wo_scan_store(scan), event, WO_FIELD_COUNT, wo_interval_exact(tally->lines));
}

static void done_tally(void *state) {
  free(((struct tally *)state)->owned);
  released++;
}

static const struct wo_follower tally_follower = {.state_bytes = sizeof(struct tally), .emit = emit_tally, .done = done_tally};

static void count(struct wo_scan *scan, int lines) {
  struct tally *const tally = wo_scan_follow(scan, &tally_follower);
  assert_non_null(tally);
  if (tally->lines == 0) tally->owned = malloc(1);
  tally->lines += lines;
}

/* Two formats share the follower: one counts the lines of a construct, the other one takes its lines by the short way. */
static enum wo_more begin_usual(struct wo_open *open, const struct wo_match *match) {
  (void)match;
  count(open->scan, 1);
  return WO_MORE_NO;
}

static int taken_short;

static void take(struct wo_scan *scan, const struct wo_pattern *pattern, struct wo_view line, uint64_t number, uint64_t offset) {
  assert_true(wo_view_is(pattern->id, "short") && wo_view_starts(line, "SHORTMARK") && number > 1 && offset > 0);
  count(scan, 100);
  taken_short++;
}

static size_t take_like(struct wo_scan *scan, const struct wo_pattern *pattern, struct wo_view text, size_t hit, uint64_t number,
                        uint64_t offset) {
  (void)scan, (void)pattern, (void)text, (void)hit, (void)number, (void)offset;
  return 0;
}

static void match_again(struct wo_scan *scan, const struct wo_pattern *pattern) {
  (void)scan, (void)pattern;
}

static const struct wo_short_way short_way = {.take = take, .take_like = take_like, .match_again = match_again};
static const struct wo_format usual = {.name = "usual", .follower = &tally_follower, .begin = begin_usual};
static const struct wo_format quick = {
    .name = "quick", .follower = &tally_follower, .short_way = &short_way, .begin = begin_usual};

static const struct wo_view usual_literals[] = {WO_VIEW("USUALMARK")};
static const struct wo_view short_literals[] = {WO_VIEW("SHORTMARK")};
static const struct wo_pattern patterns[] = {
    {.id = WO_VIEW("usual"), .kind = WO_KIND_NOTE, .literals = usual_literals, .literal_count = 1, .reader = WO_VIEW("usual")},
    {.id = WO_VIEW("short"), .kind = WO_KIND_NOTE, .literals = short_literals, .literal_count = 1, .reader = WO_VIEW("quick")}};

static void scan_with(const struct wo_formats *formats, struct wo_view log, struct wo_event_store *store) {
  struct wo_pattern_set *set = NULL;
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary;
  wo_event_store_init(store);
  assert_int_equal(wo_pattern_set_new(patterns, 2, NULL, &set), WO_OK);
  assert_int_equal(wo_scan_new(set, formats, store, (struct wo_scan_options){.rank = WO_RANK_UNKNOWN}, &scan), WO_OK);
  assert_int_equal(wo_scan_feed(scan, log.ptr, log.len), WO_OK);
  assert_int_equal(wo_scan_end(scan, &summary), WO_OK);
  wo_scan_free(scan);
  wo_pattern_set_free(set);
}

/* Lines at the start of an input are always read the usual way, later ones by the short one. */
/* The first 32 lines of an input are all read; short ways begin behind them. */
#define EIGHT_LINES "\n\n\n\n\n\n\n\n"

static const char log_text[] =
    "USUALMARK\n" EIGHT_LINES EIGHT_LINES EIGHT_LINES EIGHT_LINES "SHORTMARK 1\nSHORTMARK 2\nno mark\nUSUALMARK\n";

static void test_follower(void **state) {
  static const struct wo_format *const items[] = {&quick, &usual};
  const struct wo_formats formats = {.items = items, .count = 2};
  struct wo_event_store store;
  (void)state;
  for (int again = 0; again < 2; again++) {
    released = taken_short = 0;
    scan_with(&formats, wo_view_of(log_text), &store);
    assert_int_equal(store.count, 1);
    sample_expect_number(sample_find(&store, WO_KIND_NOTE, 0), WO_FIELD_COUNT, 202);
    assert_true(released == 1 && taken_short == 2);
    wo_event_store_done(&store);
  }
}

/* A follower that nothing was told gives nothing, and has no state to release. */
static void test_quiet_follower(void **state) {
  static const struct wo_format *const items[] = {&usual, &quick};
  const struct wo_formats formats = {.items = items, .count = 2};
  struct wo_event_store store;
  (void)state;
  released = 0;
  scan_with(&formats, WO_VIEW("no mark\n"), &store);
  assert_true(store.count == 0 && released == 0);
  wo_event_store_done(&store);
}

/* ---- States ---- */

/* A reader that counts its lines, with a state that wants the strictest alignment and is larger than those of other formats. */
struct counting {
  max_align_t aligned;
  int lines;
  char rest[5000];
};

static enum wo_more begin_counting(struct wo_open *open, const struct wo_match *match) {
  static const struct counting zero;
  struct counting *const own = open->state;
  (void)match;
  assert_int_equal((uintptr_t)own % alignof(max_align_t), 0);
  assert_memory_equal(own, &zero, sizeof zero);
  memset(own->rest, 'x', sizeof own->rest);
  return WO_MORE_YES;
}

static enum wo_more feed_counting(struct wo_open *open) {
  struct counting *const own = open->state;
  if (wo_view_has(open->line->text, "end")) return WO_MORE_NO;
  own->lines++;
  return WO_MORE_YES;
}

static void finish_counting(struct wo_open *open) {
  const struct counting *const own = open->state;
  struct wo_event *const event = wo_open_add(open, WO_KIND_NOTE, wo_view_sub(open->line->full, 0, 0));
  for (size_t i = 0; i < sizeof own->rest; i++) assert_int_equal(own->rest[i], 'x');
  wo_event_set_number(open->store, event, WO_FIELD_COUNT, wo_interval_exact(own->lines));
}

static const struct wo_format counting = {.name = "usual",
                                          .state_bytes = sizeof(struct counting),
                                          .begin = begin_counting,
                                          .feed = feed_counting,
                                          .finish = finish_counting};

/* Each construct has a state of its own, fresh when it begins, also where one that ended lay before, and keeps it when one that
 * was opened earlier ends. */
static void test_states(void **state) {
  static const struct wo_format *const items[] = {&counting};
  static const char log[] = "[rank0]: USUALMARK\n[rank1]: USUALMARK\n[rank0]: a\n[rank1]: a\n[rank1]: b\n[rank0]: end\n"
                            "[rank2]: USUALMARK\n[rank1]: c\n[rank2]: a\n[rank2]: end\n[rank1]: end\n";
  const struct wo_formats formats = {.items = items, .count = 1};
  struct wo_event_store store;
  (void)state;
  scan_with(&formats, wo_view_of(log), &store);
  static const struct { int rank, lines; } ends[] = {{0, 1}, {2, 1}, {1, 3}};
  assert_int_equal(store.count, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(store.items[i].rank, ends[i].rank);
    sample_expect_number(&store.items[i], WO_FIELD_COUNT, ends[i].lines);
  }
  wo_event_store_done(&store);
}

/* The scanner knows no reader that its caller does not. */
static void test_no_formats(void **state) {
  const struct wo_formats none = {.items = NULL, .count = 0};
  struct wo_event_store store;
  (void)state;
  released = 0;
  scan_with(&none, wo_view_of(log_text), &store);
  assert_true(store.count == 0 && released == 0);
  wo_event_store_done(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_follower),
      cmocka_unit_test(test_quiet_follower),
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_no_formats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
