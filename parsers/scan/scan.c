/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner's buffer: takes bytes in chunks of any size, finds the lines worth looking at with the prefilter, and hands each to
 * wo__scan_line.
 *
 * Line ends that a terminal put in are taken out first (scan_wrap.c). Lines end at LF or CR (progress bars rewrite their line
 * with CR); only LF counts as a line. A line longer than WO_LIMIT_LINE_BYTES is read in pieces of that length, each starting
 * WO_LIMIT_LINE_OVERLAP_BYTES before the end of the one before; what starts in that overlap belongs to the later piece, so that
 * nothing is found twice. Where lines and pieces begin depends on the content alone, never on how the input was cut into chunks.
 */
#include "parsers/scan/scan.h"

#include <assert.h>

#include "parsers/scan/scan_internal.h"
#include "parsers/scan/wrap/wrap.h"

const char *wo_cap_text(enum wo_cap cap, uint64_t count) {
  static const char *const texts[][2] = {
#define WO_CAP(code, one, several) [code] = {one, several},
#include "parsers/scan/caps.def"
#undef WO_CAP
  };
  assert(cap < WO_CAP_COUNT_);
  return texts[cap][count != 1];
}

const struct wo_format *wo_format_find(const struct wo_formats *formats, struct wo_view name) {
  for (size_t i = 0; i < formats->count; i++) {
    if (wo_view_is(name, formats->items[i]->name)) return formats->items[i];
  }
  return NULL;
}

/* Counting by bytes in blocks of 255 keeps the sums in a byte each, which compilers turn into vector code. */
static uint64_t count_line_feeds(const char *text, size_t len) {
  uint64_t total = 0;
  while (len > 0) {
    const size_t block = len < 255 ? len : 255;
    unsigned char sum = 0;
    for (size_t i = 0; i < block; i++) sum = (unsigned char)(sum + (text[i] == '\n'));
    total += sum;
    text += block;
    len -= block;
  }
  return total;
}

/* Counts lines that are longer than one piece, read or not: between pos and `to`. Jumps by a piece's length and looks back from
 * there, so ordinary lines cost nothing. */
static void count_long_lines(struct wo_scan *scan, size_t to) {
  size_t at = scan->pos;
  const uint64_t base = scan->buf_offset;
  while (at < to) {
    if (scan->is_in_long_line) {
      const size_t end = wo__scan_line_end(scan->buf, at, to);
      if (end == to) return;
      scan->is_in_long_line = false;
      scan->open_start = base + end + 1;
      at = end + 1;
      continue;
    }
    const uint64_t bound = scan->open_start + WO_LIMIT_LINE_BYTES;
    const bool is_far = base + to > bound;
    const size_t stop = is_far ? (size_t)(bound - base) + 1 : to;
    const size_t start = wo__scan_line_start(scan->buf, at, stop);
    const bool has_end = start > at;
    if (has_end) scan->open_start = base + start;
    if (!has_end && is_far) {
      scan->is_in_long_line = true;
      scan->long_lines++;
    }
    at = has_end && is_far ? start : stop;
  }
}

/* Moves pos forward, counting the lines on the way. */
static void advance(struct wo_scan *scan, size_t to) {
  assert(to >= scan->pos && to <= scan->buf_len);
  count_long_lines(scan, to);
  scan->line_number += count_line_feeds(scan->buf + scan->pos, to - scan->pos) + wo__scan_lines_between(scan, scan->pos, to);
  scan->pos = to;
}

/* As advance, past the line that was read at pos, which ends at `end`: most are short, and of an input without seams. */
static void advance_line(struct wo_scan *scan, size_t end) {
  const size_t to = end < scan->buf_len ? end + 1 : end;
  const bool is_plain = !scan->is_in_long_line && scan->unwrap.seams.count == 0 && to > end &&
                        scan->buf_offset + to <= scan->open_start + WO_LIMIT_LINE_BYTES;
  if (!is_plain) {
    advance(scan, to);
    return;
  }
  scan->open_start = scan->buf_offset + to;
  scan->line_number += scan->buf[end] == '\n';
  scan->pos = to;
}

/* Reads the line or piece at pos, which is complete. Leaves pos at the next one. */
static void read_line_at_pos(struct wo_scan *scan) {
  const size_t start = scan->pos;
  const size_t reach = scan->buf_len - start < WO_LIMIT_LINE_BYTES ? scan->buf_len : start + WO_LIMIT_LINE_BYTES;
  const size_t end = wo__scan_line_end(scan->buf, start, reach);
  const bool is_piece = end == reach && reach - start == WO_LIMIT_LINE_BYTES && !(scan->is_at_end && reach == scan->buf_len);
  /* There is no line between CR and LF. */
  const bool is_crlf = end == start && end < scan->buf_len && scan->buf[end] == '\n' && start > 0 && scan->buf[start - 1] == '\r';
  if (!is_crlf) wo__scan_line(scan, start, end, is_piece);
  if (is_piece) {
    advance(scan, start + WO_SCAN_PIECE_STRIDE);
  } else {
    advance_line(scan, end);
  }
}

/* End of the bytes that can be looked at now, and where the first line or piece starts that must wait for more. */
struct ready {
  size_t end;
  size_t next;
};

/* At the end of the input everything is ready. Before it the last line may go on in the next chunk; of a line that is longer than
 * a piece, the pieces that are whole already are. */
static struct ready find_ready(const struct wo_scan *scan) {
  if (scan->is_at_end) return (struct ready){scan->buf_len, scan->buf_len};
  const size_t last = wo__scan_line_start(scan->buf, scan->pos, scan->buf_len);
  const size_t open = scan->buf_len - last;
  if (open < WO_LIMIT_LINE_BYTES) return (struct ready){last, last};
  const size_t pieces = (open - WO_LIMIT_LINE_BYTES) / WO_SCAN_PIECE_STRIDE + 1;
  return (struct ready){last + (pieces - 1) * WO_SCAN_PIECE_STRIDE + WO_LIMIT_LINE_BYTES, last + pieces * WO_SCAN_PIECE_STRIDE};
}

/* Where the line or piece that holds the byte at `hit` starts, seen from pos. A byte in an overlap belongs to the earlier piece.
 */
static size_t find_piece_start(const struct wo_scan *scan, size_t hit) {
  size_t start = wo__scan_line_start(scan->buf, scan->pos, hit);
  while (hit - start >= WO_LIMIT_LINE_BYTES) start += WO_SCAN_PIECE_STRIDE;
  return start;
}

/* The line that went a short way last, as a place in buf. None when all is 0. */
struct taken {
  const struct wo_short_way *way;
  size_t start;
  size_t end; /* of its bytes; its line end follows */
};

/* Takes the line after the last one that was taken, if it holds `hit` and is like that one: most of a log may be such lines, and
 * so neither their ends are looked for nor their line feeds counted. A line of that form without a literal ("mem +5" has none) is
 * passed over here as it is elsewhere. pos moves to it as by `advance`. */
static bool take_next(struct wo_scan *scan, const struct wo_short_way *way, struct wo_view text, size_t hit, size_t pattern,
                      struct taken *taken) {
  const size_t start = taken->end + 1;
  if (taken->way != way || scan->pos != taken->start || hit < start || scan->is_in_long_line) return false;
  const uint64_t number = scan->line_number + (scan->buf[taken->end] == '\n') + wo__scan_lines_between(scan, scan->pos, start);
  const size_t len = way->take_like(scan, wo_pattern_at(scan->set, pattern), wo_view_skip(text, start), hit - start, number,
                                    wo__scan_offset(scan, scan->buf_offset + start));
  if (len == 0) return false;
  scan->line_number = number;
  scan->open_start = scan->buf_offset + start;
  scan->pos = start;
  *taken = (struct taken){way, start, start + len};
  return true;
}

/* Hands the line at `start` to a short way. pos stays at it: other literals may be in it. */
static void take_line(struct wo_scan *scan, const struct wo_short_way *way, size_t start, size_t pattern, struct taken *taken) {
  advance(scan, start);
  const size_t reach = scan->buf_len - start < WO_LIMIT_LINE_BYTES ? scan->buf_len : start + WO_LIMIT_LINE_BYTES;
  const size_t end = wo__scan_line_end(scan->buf, start, reach);
  const struct wo_view line = {scan->buf + start, end - start};
  way->take(scan, wo_pattern_at(scan->set, pattern), line, scan->line_number, wo__scan_offset(scan, scan->buf_offset + start));
  *taken = end < reach ? (struct taken){way, start, end} : (struct taken){NULL, 0, 0};
}

/* Moves pos to the next line that is to be read: the next one with a literal. False when no such line is complete. Without the
 * prefilter every line is to be read: the slow way, against which tests compare. */
static bool find_next_line(struct wo_scan *scan, const struct ready *ready) {
  if (scan->options.no_prefilter) return scan->pos < ready->end;
  const struct wo_view text = {scan->buf, ready->end};
  struct wo_prefilter_hit hit;
  struct taken taken = {NULL, 0, 0};
  while (wo__scan_next_hit(scan, scan->pos, &hit)) {
    const struct wo_short_way *const way =
        scan->ways[hit.owner] == WO_SCAN_WAY_SHORT ? scan->readers[hit.owner]->short_way : NULL;
    if (!way && wo__scan_is_flooded(scan, hit.owner)) continue;
    if (way && way == taken.way && hit.start >= taken.start && hit.start < taken.end) {
      way->match_again(scan, wo_pattern_at(scan->set, hit.owner));
      continue;
    }
    if (way && take_next(scan, way, text, hit.start, hit.owner, &taken)) continue;
    const size_t start = find_piece_start(scan, hit.start);
    if (start >= ready->next) return false;
    if (!way) {
      advance(scan, start);
      scan->lookout.has_hit = true; /* it is found again; those before it in the line are done with */
      return true;
    }
    take_line(scan, way, start, hit.owner, &taken);
  }
  return false;
}

/* Learns the label from the head: as much of it as the log has. */
static void look_for_label(struct wo_scan *scan) {
  const bool is_whole = scan->buf_len < WO_SCAN_LABEL_HEAD_BYTES;
  const size_t len = is_whole ? scan->buf_len : wo__scan_line_start(scan->buf, 0, WO_SCAN_LABEL_HEAD_BYTES);
  wo__scan_learn_label(scan, (struct wo_view){scan->buf, len});
}

/* While an opening may follow, passes over the lines that have no literal and are no lines of it. False if there are none.
 * Without a prefilter all are read. */
static bool pass_unopened(struct wo_scan *scan, const struct ready *ready) {
  if (scan->options.no_prefilter || scan->opening.watched == 0 || scan->label.offered_len > 0) return false;
  size_t hit = wo__lookout_peek(scan, scan->prefilter, &scan->lookout, scan->pos);
  while (hit != SIZE_MAX && wo__scan_is_flooded(scan, scan->lookout.hit.owner)) {
    scan->lookout.has_hit = false;
    hit = wo__lookout_peek(scan, scan->prefilter, &scan->lookout, scan->pos);
  }
  const size_t start = hit < ready->next ? find_piece_start(scan, hit) : ready->next;
  const size_t end = start < ready->next ? start : ready->next;
  const size_t to = end > scan->pos ? wo__scan_pass_unopened(scan, end) : scan->pos;
  const bool is_passed = to > scan->pos;
  advance(scan, to);
  return is_passed;
}

/* Reads the next line that is to be read, or passes over some that are not. While a construct is open, and at the start of the
 * input, every line is read; otherwise only lines with a literal. False if there is none any more. */
static bool go_on(struct wo_scan *scan, const struct ready *ready) {
  const bool is_read = scan->open_count > 0 || wo__scan_is_head(scan->line_number, scan->buf_offset + scan->pos);
  if (!is_read && wo__scan_is_opening(scan)) {
    if (pass_unopened(scan, ready)) return true;
  } else if (!is_read && !find_next_line(scan, ready)) {
    return false;
  }
  read_line_at_pos(scan);
  return true;
}

/* Looks at everything that is complete. */
static void process(struct wo_scan *scan) {
  const struct ready ready = find_ready(scan);
  scan->lookout.end = scan->opening_out.end = ready.end;
  scan->lookout.passed = scan->opening_out.passed = SIZE_MAX;
  wo_prefilter_begin(&scan->lookout.cursor, SIZE_MAX); /* the text has moved, or grown */
  wo_prefilter_begin(&scan->opening_out.cursor, SIZE_MAX);
  while (scan->pos < ready.next && go_on(scan, &ready)) continue;
  if (scan->pos < ready.next) advance(scan, ready.next);
}

/* Makes room at the end of the buffer, keeping the lookback: from a line that was looked back at, too. */
static void compact(struct wo_scan *scan) {
  const size_t keep = scan->pos < 2 * WO_LIMIT_LOOKBACK_BYTES ? 0 : scan->pos - 2 * WO_LIMIT_LOOKBACK_BYTES;
  struct wo_unwrap *const unwrap = &scan->unwrap;
  const size_t raw_len = unwrap->raw_end - unwrap->raw_start;
  memmove(scan->buf, scan->buf + keep, scan->buf_len - keep);
  scan->buf_len -= keep;
  scan->pos -= keep;
  scan->buf_offset += keep;
  memmove(scan->buf + scan->buf_len, scan->buf + unwrap->raw_start, raw_len);
  unwrap->raw_start = scan->buf_len;
  unwrap->raw_end = scan->buf_len + raw_len;
  wo__scan_drop_seams(scan);
}

void *wo_scan_follow(struct wo_scan *scan, const struct wo_follower *follower) {
  for (size_t i = 0; i < scan->followed_count; i++) {
    struct wo_followed *const followed = &scan->followed[i];
    if (followed->follower != follower) continue;
    if (!followed->state) followed->state = calloc(1, follower->state_bytes);
    if (!followed->state) scan->store->is_out_of_memory = true;
    return followed->state;
  }
  assert(false && "a format that asks for a follower names it");
  return NULL;
}

static void emit_followed(struct wo_scan *scan) {
  for (size_t i = 0; i < scan->followed_count; i++) {
    if (scan->followed[i].state) scan->followed[i].follower->emit(scan, scan->followed[i].state);
  }
}

enum wo_status wo_scan_feed(struct wo_scan *scan, const char *bytes, size_t len) {
  while (len > 0) {
    if (scan->unwrap.raw_end == scan->buf_cap) compact(scan);
    const size_t room = scan->buf_cap - scan->unwrap.raw_end;
    assert(room > 0);
    const size_t part = len < room ? len : room;
    memcpy(scan->buf + scan->unwrap.raw_end, bytes, part);
    scan->unwrap.raw_end += part;
    bytes += part;
    len -= part;
    wo__scan_unwrap(scan, false);
    if (!scan->label.is_looked_for && scan->buf_len >= WO_SCAN_LABEL_HEAD_BYTES) look_for_label(scan);
    if (scan->label.is_looked_for && (scan->unwrap.raw_end == scan->buf_cap || len == 0)) process(scan);
  }
  return scan->store->is_out_of_memory ? WO_E_NOMEM : WO_OK;
}

enum wo_status wo_scan_end(struct wo_scan *scan, struct wo_scan_summary *ret_summary) {
  wo__scan_unwrap(scan, true);
  if (!scan->label.is_looked_for) look_for_label(scan);
  process(scan); /* so that the last lines are read like those before them */
  scan->is_at_end = true;
  process(scan);
  wo__scan_close_all(scan);
  emit_followed(scan);
  wo__scan_tail(scan);
  wo__scan_close_all(scan);
  const uint64_t bytes = scan->buf_offset + scan->buf_len + scan->unwrap.total.bytes;
  const bool has_open_line = scan->buf_len > 0 && scan->buf[scan->buf_len - 1] != '\n';
  *ret_summary = scan->told;
  ret_summary->bytes = bytes;
  ret_summary->lines = scan->line_number - 1 + (has_open_line ? 1 : 0);
  ret_summary->long_lines = scan->long_lines;
  ret_summary->joined_lines = scan->unwrap.total.lines;
  ret_summary->joined_width = scan->unwrap.width;
  ret_summary->has_nul = scan->has_nul;
  return scan->store->is_out_of_memory ? WO_E_NOMEM : WO_OK;
}
