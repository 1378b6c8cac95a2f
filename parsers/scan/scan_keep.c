/* SPDX-License-Identifier: Apache-2.0 */
/* A scan as bytes, to go on another time: everything that lives from one line to the next, but for the evidence.
 *
 * A scan is kept only where little is under way: no construct over lines is open, and no line end was taken out, so that the text
 * in the buffer is that of the input and need not be kept. What a member may hold is checked as far as the scanner relies on it:
 * the bytes may come from anywhere. */
#include <stdlib.h>
#include <string.h>

#include "parsers/scan/scan_internal.h"
#include "parsers/scan/wrap/wrap.h"

/* Nanoseconds whose differences can be taken. */
#define TIME_MOST (INT64_MAX / 4)

/* Lines that a walk may have passed; far more than any does. */
#define WALKED_LINES_MOST 1000000

void wo_scan_keep_pattern(struct wo_scan *scan, struct wo_keep *keep, const struct wo_pattern **pattern) {
  const size_t count = wo_pattern_count(scan->set);
  size_t index = 0;
  while (!wo_keep_is_reading(keep) && index < count && wo_pattern_at(scan->set, index) != *pattern) index++;
  if (count == 0) wo_keep_fail(keep);
  wo_keep_size(keep, &index, count > 0 ? count - 1 : 0);
  if (wo_keep_is_reading(keep)) *pattern = count > 0 ? wo_pattern_at(scan->set, index) : NULL;
}

/* ---- Members ---- */

/* What the scan was told of its input decides about evidence: it must be the same. */
static void keep_options(const struct wo_scan_options *options, struct wo_keep *keep) {
  const uint64_t host = wo_view_hash(WO_HASH_START, options->host);
  struct wo_scan_options own = *options;
  uint64_t own_host = host;
  wo_keep_int(keep, &own.rank, WO_RANK_UNKNOWN, INT32_MAX);
  wo_keep_flag(keep, &own.is_local_rank);
  wo_keep_number(keep, &own.first_line, UINT64_MAX);
  wo_keep_number(keep, &own_host, UINT64_MAX);
  const bool is_same = own.rank == options->rank && own.is_local_rank == options->is_local_rank &&
                       own.first_line == options->first_line && own_host == host;
  if (!is_same) wo_keep_fail(keep);
}

/* Where the scanner is in its buffer and in the input. */
static void keep_place(struct wo_scan *scan, const struct wo_scan_place *place, struct wo_keep *keep) {
  struct wo_scan_place own = *place;
  size_t open = scan->buf_len - scan->pos; /* bytes of a line that has not ended */
  wo_keep_number(keep, &own.next, UINT64_MAX / 4);
  wo_keep_number(keep, &own.before, WO_SCAN_BEFORE_MAX);
  if (own.next != place->next || own.before != place->before || own.before > own.next) wo_keep_fail(keep);
  wo_keep_size(keep, &open, (size_t)place->before);
  wo_keep_number(keep, &scan->line_number, place->next + scan->options.first_line + 1);
  wo_keep_number(keep, &scan->long_lines, place->next);
  wo_keep_number(keep, &scan->open_start, place->next - open);
  wo_keep_flag(keep, &scan->is_in_long_line);
  wo_keep_flag(keep, &scan->has_nul);
  if (!scan->is_in_long_line && place->next - open - scan->open_start > WO_LIMIT_LINE_BYTES) wo_keep_fail(keep);
  if (wo_keep_is_reading(keep)) scan->pos = scan->buf_len - open;
}

static void keep_unwrap(struct wo_unwrap *unwrap, struct wo_keep *keep) {
  wo_keep_flag(keep, &unwrap->is_in_long_line);
  wo_keep_flag(keep, &unwrap->wrap->has_begun);
  wo_keep_size(keep, &unwrap->parts, SIZE_MAX / 2);
}

static void keep_stamp(struct wo_stamp *stamp, struct wo_keep *keep) {
  uint64_t clock = (uint64_t)stamp->clock;
  wo_keep_number(keep, &clock, WO_CLOCK_YEARLESS);
  wo_keep_flag(keep, &stamp->is_inherited);
  wo_keep_signed(keep, &stamp->time_ns, -TIME_MOST, TIME_MOST);
  stamp->clock = (enum wo_clock)clock;
}

/* What the last walks back found. A place to go to is never behind the one that the walk is at. */
static void keep_memos(struct wo_scan *scan, uint64_t next, struct wo_keep *keep) {
  struct wo_walk_memo *const walk = &scan->walk_memo;
  struct wo_stamp_memo *const stamp = &scan->stamp_memo;
  wo_keep_number(keep, &walk->line, UINT64_MAX);
  wo_keep_number(keep, &walk->from, next);
  wo_keep_number(keep, &walk->to, walk->from);
  wo_keep_number(keep, &walk->to_line, UINT64_MAX);
  wo_keep_int(keep, &walk->lines, 0, WALKED_LINES_MOST);
  wo_keep_flag(keep, &stamp->is_set);
  if (!stamp->is_set) return;
  wo_keep_number(keep, &stamp->from, next);
  wo_keep_size(keep, &stamp->source_len, sizeof stamp->source);
  wo_keep_bytes(keep, stamp->source, stamp->source_len);
  keep_stamp(&stamp->stamp, keep);
  wo_keep_number(keep, &stamp->offset, next);
  wo_keep_int(keep, &stamp->lines, 0, WALKED_LINES_MOST);
}

static void keep_setting(struct wo_seen_setting *seen, struct wo_keep *keep) {
  uint64_t changes = seen->changes;
  wo_keep_number(keep, &seen->key, UINT64_MAX);
  wo_keep_number(keep, &seen->value, UINT64_MAX);
  wo_keep_number(keep, &seen->offset, UINT64_MAX);
  wo_keep_number(keep, &changes, UINT32_MAX);
  seen->changes = (uint32_t)changes;
}

/* The places of the table that are taken. */
static void keep_settings(struct wo_scan *scan, struct wo_keep *keep) {
  size_t at = 0;
  wo_keep_size(keep, &scan->setting_count, WO_SCAN_SETTINGS_MAX);
  for (size_t i = 0; i < scan->setting_count && !keep->is_bad; i++, at++) {
    while (!wo_keep_is_reading(keep) && at < WO_SCAN_SETTINGS_MAX && scan->settings[at].changes == 0) at++;
    wo_keep_size(keep, &at, WO_SCAN_SETTINGS_MAX - 1);
    if (!keep->is_bad) keep_setting(&scan->settings[at], keep);
  }
}

/* Patterns that are not looked for any more. */
static void keep_ways(struct wo_scan *scan, struct wo_keep *keep) {
  const size_t total = wo_pattern_count(scan->set);
  size_t count = 0, at = 0;
  for (size_t i = 0; i < total; i++) count += scan->ways[i] != scan->first_ways[i];
  wo_keep_size(keep, &count, total);
  for (size_t i = 0; i < count && !keep->is_bad; i++, at++) {
    while (!wo_keep_is_reading(keep) && scan->ways[at] == scan->first_ways[at]) at++;
    wo_keep_size(keep, &at, total - 1);
    if (scan->first_ways[at] != WO_SCAN_WAY_FIRST) wo_keep_fail(keep);
    if (!keep->is_bad) scan->ways[at] = WO_SCAN_WAY_OVER;
  }
}

static void keep_opening(struct wo_opening *opening, struct wo_keep *keep) {
  uint64_t watched = opening->watched;
  wo_keep_size(keep, &opening->count, WO_SCAN_OPENING_LINES);
  for (size_t i = 0; i < opening->count; i++) {
    wo_keep_number(keep, &opening->lines[i].hash, UINT64_MAX);
    wo_keep_flag(keep, &opening->lines[i].is_repeated);
    wo_keep_size(keep, &opening->signs[i].len, WO_SCAN_SIGN_BYTES);
    wo_keep_bytes(keep, opening->signs[i].text, opening->signs[i].len);
    if (opening->signs[i].len > 0 && opening->signs[i].len < WO_PATTERN_LITERAL_MIN) wo_keep_fail(keep);
  }
  wo_keep_size(keep, &opening->again, WO_SCAN_OPENING_LINES);
  wo_keep_size(keep, &opening->found, WO_SCAN_OPENING_LINES);
  wo_keep_flag(keep, &opening->is_over);
  wo_keep_number(keep, &watched, WO_SCAN_WATCHED_LINES);
  opening->watched = (uint32_t)watched;
}

static void keep_label(struct wo_label *label, struct wo_keep *keep) {
  wo_keep_flag(keep, &label->has_number);
  wo_keep_size(keep, &label->len, sizeof label->form);
  wo_keep_bytes(keep, label->form, label->len);
  wo_keep_size(keep, &label->offered_len, sizeof label->offered);
  wo_keep_bytes(keep, label->offered, label->offered_len);
}

static void keep_unsearched(struct wo_scan *scan, struct wo_unsearched *one, struct wo_keep *keep) {
  wo_scan_keep_pattern(scan, keep, &one->pattern);
  wo_keep_number(keep, &one->lines, UINT64_MAX);
  wo_keep_number(keep, &one->last_line, UINT64_MAX);
}

/* What is told of the input in the end. */
static void keep_told(struct wo_scan *scan, struct wo_keep *keep) {
  struct wo_scan_summary *const told = &scan->told;
  for (size_t i = 0; i < WO_CAP_COUNT_; i++) wo_keep_number(keep, &told->caps[i], UINT64_MAX);
  wo_keep_size(keep, &told->unsearched_count, WO_SCAN_UNSEARCHED_MAX);
  for (size_t i = 0; i < told->unsearched_count; i++) keep_unsearched(scan, &told->unsearched[i], keep);
  wo_keep_number(keep, &told->unsearched_others, UINT64_MAX);
}

/* States that are there and have no way to be kept make the whole one that cannot be. */
static void keep_followed(struct wo_scan *scan, struct wo_keep *keep) {
  for (size_t i = 0; i < scan->followed_count && !keep->is_bad; i++) {
    const struct wo_follower *const follower = scan->followed[i].follower;
    bool is_there = scan->followed[i].state != NULL;
    wo_keep_flag(keep, &is_there);
    if (!is_there) continue;
    if (!follower->keep) {
      wo_keep_fail(keep);
      return;
    }
    void *const state = wo_scan_follow(scan, follower);
    if (state) follower->keep(scan, state, keep);
  }
}

static void keep_all(struct wo_scan *scan, const struct wo_scan_place *place, struct wo_keep *keep) {
  keep_options(&scan->options, keep);
  keep_place(scan, place, keep);
  keep_unwrap(&scan->unwrap, keep);
  keep_memos(scan, place->next, keep);
  wo_keep_size(keep, &scan->context_count, WO_SCAN_CONTEXT_MAX);
  wo_keep_number(keep, &scan->walked_bytes, UINT64_MAX / 2);
  wo_keep_number(keep, &scan->looked_back_bytes, UINT64_MAX / 2);
  keep_settings(scan, keep);
  keep_ways(scan, keep);
  keep_opening(&scan->opening, keep);
  keep_label(&scan->label, keep);
  keep_told(scan, keep);
  keep_followed(scan, keep);
}

/* ---- Both ways ---- */

static bool is_wrapped(const struct wo_unwrap *unwrap) {
  return unwrap->width > 0 || unwrap->wrap->width > 0 || unwrap->seams.count > 0 || unwrap->total.bytes > 0 ||
         unwrap->line_bytes > 0;
}

bool wo_scan_keep(struct wo_scan *scan, struct wo_text *out, struct wo_scan_place *ret_place, struct wo_view *ret_before) {
  const bool is_at_rest = scan->open_count == 0 && scan->pending_count == 0 && scan->label.is_looked_for && !scan->is_at_end;
  if (!is_at_rest || is_wrapped(&scan->unwrap) || scan->store->is_out_of_memory) return false;
  const size_t back = scan->pos < 2 * WO_LIMIT_LOOKBACK_BYTES ? scan->pos : 2 * WO_LIMIT_LOOKBACK_BYTES;
  *ret_before = (struct wo_view){scan->buf + scan->pos - back, back + scan->buf_len - scan->pos};
  *ret_place = (struct wo_scan_place){.next = scan->buf_offset + scan->buf_len, .before = ret_before->len};
  struct wo_keep keep = {.out = out};
  keep_all(scan, ret_place, &keep);
  return !keep.is_bad;
}

bool wo_scan_go_on(struct wo_scan *scan, struct wo_view kept, const struct wo_scan_place *place, struct wo_view before) {
  struct wo_keep keep = {.in = kept};
  if (before.len != place->before || before.len > WO_SCAN_BEFORE_MAX || before.len > place->next) return false;
  if (before.len > 0) memcpy(scan->buf, before.ptr, before.len);
  scan->buf_len = scan->pos = before.len;
  scan->buf_offset = place->next - before.len;
  scan->unwrap.raw_start = scan->unwrap.raw_end = before.len;
  scan->label.is_looked_for = true;
  keep_all(scan, place, &keep);
  return wo_keep_is_whole(&keep) && !scan->store->is_out_of_memory;
}
