/* SPDX-License-Identifier: Apache-2.0 */
/* Walks back over the lines that the buffer keeps: lines of the same writer, and the time that the nearest of them shows. */
#include <assert.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/scan/scan_internal.h"

/* Prefixes are at the front of a line. */
#define STAMP_BYTES 256

struct wo_backwards wo__scan_walk_back(struct wo_scan *scan, size_t from, uint64_t number) {
  const size_t floor = from > WO_LIMIT_LOOKBACK_BYTES ? from - WO_LIMIT_LOOKBACK_BYTES : 0;
  return (struct wo_backwards){.scan = scan, .floor = floor, .end = from, .number = number, .base = scan->buf_offset};
}

struct wo_backwards wo__scan_walk_counted(struct wo_scan *scan, uint64_t number) {
  struct wo_backwards walk = wo__scan_walk_back(scan, scan->line_start, number);
  walk.is_counted = true;
  if (scan->walked_bytes / WO_LIMIT_WALKED_PER_BYTE <= WO_LIMIT_WALKED_BYTES / WO_LIMIT_WALKED_PER_BYTE + walk.base + walk.end)
    return walk;
  scan->told.caps[WO_CAP_BEFORE]++;
  walk.end = walk.floor;
  return walk;
}

/* Whether one of the eight bytes of `word` is a line end; also true for most that are below it, tabs among them. */
static bool may_hold_line_end(uint64_t word) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  return ((word - ones * ('\r' + 1)) & ~word & (ones << 7)) != 0;
}

/* Walks pass hundreds of lines for one failure, so whole words are looked at first. */
size_t wo__scan_line_start(const char *buf, size_t floor, size_t end) {
  while (end > floor) {
    uint64_t word = 0;
    for (; end - floor >= sizeof word; end -= sizeof word) {
      memcpy(&word, buf + end - sizeof word, sizeof word);
      if (may_hold_line_end(word)) break;
    }
    const size_t stop = end - floor < sizeof word ? floor : end - sizeof word;
    for (; end > stop; end--) {
      if (wo__scan_is_line_end(buf[end - 1])) return end;
    }
  }
  return end;
}

/* First line end in buf[from, to), or `to`. Two memchr calls beat a byte loop on ordinary lines; in blocks, as a progress bar may
 * go on for megabytes without a line feed. */
size_t wo__scan_line_end(const char *buf, size_t from, size_t to) {
  enum { BLOCK = 1024 };
  while (from < to) {
    const size_t stop = to - from < BLOCK ? to : from + BLOCK;
    const char *feed = memchr(buf + from, '\n', stop - from);
    const size_t end = feed ? (size_t)(feed - buf) : stop;
    const char *back = memchr(buf + from, '\r', end - from);
    if (back) return (size_t)(back - buf);
    if (feed) return end;
    from = stop;
  }
  return to;
}

bool wo__scan_previous_line(struct wo_backwards *walk, struct wo_view *ret_raw, uint64_t *ret_offset) {
  const char *buf = walk->scan->buf;
  while (walk->end > walk->floor) {
    const bool is_ended = wo__scan_is_line_end(buf[walk->end - 1]);
    const size_t stop = walk->end - (is_ended ? 1 : 0);
    if (is_ended && buf[stop] == '\n') walk->number--;
    const size_t start = wo__scan_line_start(buf, walk->floor, stop);
    walk->is_cut = start == walk->floor && walk->base + start > 0;
    if (walk->is_cut && stop - start < WO_SCAN_AROUND_BYTES) return false;
    walk->number -= wo__scan_lines_between(walk->scan, start, walk->end);
    if (walk->is_counted) walk->scan->walked_bytes += walk->end - start;
    walk->end = start;
    if (start == stop) continue;
    *ret_raw = (struct wo_view){buf + start, stop - start};
    *ret_offset = walk->base + start;
    return true;
  }
  return false;
}

size_t wo_open_lines_before(const struct wo_open *open, size_t n, struct wo_view *ret_texts, char *buf, size_t cap) {
  enum wo_severity severity;
  return wo_open_severe_lines_before(open, n, ret_texts, buf, cap, &severity);
}

/* Lines of the same writer only: lines of seven other ranks may come between two lines of one rank. */
size_t wo_open_severe_lines_before(const struct wo_open *open, size_t n, struct wo_view *ret_texts, char *buf, size_t cap,
                                   enum wo_severity *ret_severity) {
  struct wo_backwards walk = wo__scan_walk_counted(open->scan, open->line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  size_t found = 0;
  while (found < n && wo__scan_previous_line(&walk, &raw, &offset) && !walk.is_cut) {
    const struct wo_view label = wo__scan_cut_label(open->scan, &raw);
    const struct wo_view full = wo_clean_line(wo_view_sub(raw, 0, cap), buf + found * cap, cap);
    struct wo_prefix prefix = wo_prefix_read(full);
    wo__scan_note_label(open->scan, label, &prefix);
    if (!wo_view_equal(prefix.source, open->line->prefix.source)) continue;
    if (found == 0) *ret_severity = prefix.severity;
    ret_texts[found++] = wo_view_skip(full, prefix.length);
  }
  return found;
}

/* Lines before one without a time that are looked at for the time of its writer. */
#define STAMP_LINES 200

/* Whether the last search was for a line of this writer. */
static bool knows_source(const struct wo_stamp_memo *memo, struct wo_view source) {
  return memo->is_set && wo_view_equal((struct wo_view){memo->source, memo->source_len}, source);
}

/* A search that has passed `lines` lines and reaches the line of the last search of the same writer finds the same time, unless
 * that is too far back by now. */
static void take_over(const struct wo_stamp_memo *last, const struct wo_backwards *walk, int lines, struct wo_stamp_memo *memo) {
  const uint64_t floor = walk->base + walk->floor;
  const bool is_in_reach = last->offset > floor || floor == 0;
  if (last->stamp.clock == WO_CLOCK_NONE || !is_in_reach || lines + 1 + last->lines >= STAMP_LINES) return;
  memo->stamp = last->stamp;
  memo->offset = last->offset;
  memo->lines = lines + 1 + last->lines;
}

/* Looks for the nearest time of a writer; *memo gets what is found. */
static void find_stamp(struct wo_scan *scan, const struct wo_line *line, struct wo_stamp_memo *memo) {
  const struct wo_stamp_memo *const last = &scan->stamp_memo;
  const bool is_known = knows_source(last, line->prefix.source);
  struct wo_backwards walk = wo__scan_walk_counted(scan, line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  char buf[STAMP_BYTES];
  for (int lines = 0; lines < STAMP_LINES && wo__scan_previous_line(&walk, &raw, &offset) && !walk.is_cut; lines++) {
    if (is_known && offset == last->from) {
      take_over(last, &walk, lines, memo);
      return;
    }
    const struct wo_view label = wo__scan_cut_label(scan, &raw);
    struct wo_prefix prefix = wo_prefix_read(wo_clean_line(wo_view_sub(raw, 0, sizeof buf), buf, sizeof buf));
    wo__scan_note_label(scan, label, &prefix);
    if (prefix.stamp.clock == WO_CLOCK_NONE || !wo_view_equal(prefix.source, line->prefix.source)) continue;
    memo->stamp = prefix.stamp;
    memo->stamp.is_inherited = true;
    memo->offset = offset;
    memo->lines = lines;
    return;
  }
}

/* Only lines without a time of their own get here, so that the line of the last search has none to give. */
struct wo_stamp wo__scan_stamp_before(struct wo_scan *scan, const struct wo_line *line) {
  const struct wo_view source = line->prefix.source;
  struct wo_stamp_memo memo = {.from = scan->buf_offset + scan->line_start, .stamp = {.clock = WO_CLOCK_NONE}};
  assert(line->prefix.stamp.clock == WO_CLOCK_NONE);
  if (knows_source(&scan->stamp_memo, source) && scan->stamp_memo.from == memo.from) return scan->stamp_memo.stamp;
  find_stamp(scan, line, &memo);
  memo.is_set = source.len <= sizeof memo.source;
  if (memo.is_set && source.len > 0) memcpy(memo.source, source.ptr, source.len);
  memo.source_len = source.len;
  scan->stamp_memo = memo;
  return memo.stamp;
}
