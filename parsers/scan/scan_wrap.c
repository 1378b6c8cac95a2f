/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the line ends out of the buffer that a terminal or a shell put in, before anything else looks at the text.
 *
 *   buf: [lookback][not yet looked at]   [not yet decided]
 *        0         pos          buf_len   raw_start  raw_end
 *
 * A text is decided when WO_LIMIT_WRAP_BYTES of it are there, so that the result does not depend on how the input was cut into
 * chunks. What was taken out is kept as a list of seams, for as long as the text around them: lines and bytes are those of the
 * input. Of an input without such line ends no byte is moved. */
#include <assert.h>

#include "parsers/scan/scan_internal.h"
#include "parsers/scan/wrap/wrap.h"

/* ---- Places in the input ---- */

struct wo_taken_out wo__scan_taken_out(const struct wo_scan *scan, uint64_t at) {
  const struct wo_unwrap *const unwrap = &scan->unwrap;
  size_t low = 0;
  WO_LOWER_BOUND(low, unwrap->seams.count, i, unwrap->seams.items[i].at <= at);
  return low == 0 ? unwrap->dropped : unwrap->seams.items[low - 1].before;
}

/* The seams of a line that the buffer has left are not known any more; nearly all evidence begins at the start of its line. */
uint64_t wo__scan_place(const struct wo_scan *scan, uint64_t line_offset, size_t start) {
  const struct wo_unwrap *const unwrap = &scan->unwrap;
  size_t low = 0;
  if (unwrap->seams.count == 0) return line_offset + start;
  WO_LOWER_BOUND(low, unwrap->seams.count, i, unwrap->seams.items[i].at + unwrap->seams.items[i].before.bytes <= line_offset);
  const uint64_t before = low == 0 ? unwrap->dropped.bytes : unwrap->seams.items[low - 1].before.bytes;
  const uint64_t at = line_offset - before + start;
  return at + wo__scan_taken_out(scan, at).bytes;
}

void wo__scan_drop_seams(struct wo_scan *scan) {
  struct wo_unwrap *const unwrap = &scan->unwrap;
  size_t drop = 0;
  WO_LOWER_BOUND(drop, unwrap->seams.count, i, unwrap->seams.items[i].at <= scan->buf_offset);
  if (drop == 0) return;
  unwrap->dropped = unwrap->seams.items[drop - 1].before;
  unwrap->seams.count -= drop;
  memmove(unwrap->seams.items, unwrap->seams.items + drop, unwrap->seams.count * sizeof *unwrap->seams.items);
}

/* ---- Moving text ---- */

/* Hands over the next bytes of the text that is not yet decided. */
static void hand_over(struct wo_scan *scan, size_t len) {
  struct wo_unwrap *const unwrap = &scan->unwrap;
  assert(len <= unwrap->raw_end - unwrap->raw_start);
  if (scan->buf_len != unwrap->raw_start) memmove(scan->buf + scan->buf_len, scan->buf + unwrap->raw_start, len);
  scan->buf_len += len;
  unwrap->raw_start += len;
}

/* Takes out the next bytes, which end a line. False without memory. */
static bool take_out(struct wo_scan *scan, size_t len) {
  struct wo_unwrap *const unwrap = &scan->unwrap;
  if (!WO_VEC_RESERVE(&unwrap->seams, 1, scan->buf_cap)) return false;
  unwrap->raw_start += len;
  unwrap->total = (struct wo_taken_out){unwrap->total.bytes + len, unwrap->total.lines + 1};
  unwrap->seams.items[unwrap->seams.count++] = (struct wo_seam){scan->buf_offset + scan->buf_len, unwrap->total};
  return true;
}

/* Hands over a line, and what ends it if that is its own. A line that becomes too long ends where it was cut. */
static void hand_over_line(struct wo_scan *scan, const struct wo_wrap_line *line) {
  struct wo_unwrap *const unwrap = &scan->unwrap;
  const size_t end_bytes = line->next - line->end;
  hand_over(scan, line->end - line->start);
  unwrap->line_bytes += line->end - line->start;
  if (line->width > 0 && unwrap->line_bytes >= WO_LIMIT_UNWRAPPED_BYTES) scan->told.caps[WO_CAP_WRAPPED]++;
  if (line->width > 0 && unwrap->line_bytes < WO_LIMIT_UNWRAPPED_BYTES) {
    unwrap->width = line->width;
    if (take_out(scan, end_bytes)) return;
    scan->store->is_out_of_memory = true;
  }
  hand_over(scan, end_bytes);
  unwrap->line_bytes = 0;
}

/* ---- Deciding ---- */

/* So few of the parts are looked at where most are passed over. */
enum { PARTS_PER_LOOK = 8 };

/* A line that is longer than what is looked at in one piece is no part of a wrapped text. */
static void pass_long_line(struct wo_scan *scan) {
  struct wo_unwrap *const unwrap = &scan->unwrap;
  const size_t len = unwrap->raw_end - unwrap->raw_start;
  const char *const feed = len > 0 ? memchr(scan->buf + unwrap->raw_start, '\n', len) : NULL;
  if (!feed) {
    hand_over(scan, len);
    return;
  }
  hand_over(scan, (size_t)(feed - (scan->buf + unwrap->raw_start)) + 1);
  unwrap->is_in_long_line = false;
  unwrap->line_bytes = 0;
}

/* How many of the lines are decided: the others are looked at once more with what follows them. */
static size_t count_decided(const struct wo_wrap *wrap, bool is_whole) {
  const size_t kept = wrap->count / 8 > 0 ? wrap->count / 8 : 1;
  return is_whole || wrap->count <= 1 ? wrap->count : wrap->count - kept;
}

static void decide(struct wo_scan *scan, bool is_last) {
  struct wo_unwrap *const unwrap = &scan->unwrap;
  struct wo_wrap *const wrap = unwrap->wrap;
  const size_t len = unwrap->raw_end - unwrap->raw_start;
  const struct wo_view text = {scan->buf + unwrap->raw_start, len < WO_LIMIT_WRAP_BYTES ? len : WO_LIMIT_WRAP_BYTES};
  wo_wrap_find(wrap, scan->prefilter, text, is_last);
  const size_t read = wrap->count > 0 ? wrap->lines[wrap->count - 1].next : 0;
  const bool is_full = wrap->count == WO_LIMIT_WRAP_LINES;
  unwrap->is_in_long_line = !is_full && text.len - read > WO_WRAP_BYTES_MAX;
  const size_t decided = count_decided(wrap, unwrap->is_in_long_line || (is_last && read == len));
  for (size_t i = 0; i < decided; i++) hand_over_line(scan, &wrap->lines[i]);
}

/* Whether the next part is not looked at: in a long input that has shown no wrapped line so far, most are not. */
static bool is_passed_over(struct wo_unwrap *unwrap) {
  const size_t part = unwrap->parts++;
  return unwrap->width == 0 && part >= WO_LIMIT_WRAP_PARTS && part % PARTS_PER_LOOK != 0;
}

/* The next part starts with a line. */
static void pass_over(struct wo_scan *scan) {
  hand_over(scan, WO_LIMIT_WRAP_BYTES);
  scan->unwrap.is_in_long_line = true;
}

/* The last parts of an input are all looked at: failures stand there. */
void wo__scan_unwrap(struct wo_scan *scan, bool is_last) {
  struct wo_unwrap *const unwrap = &scan->unwrap;
  while (unwrap->raw_start < unwrap->raw_end) {
    const bool is_enough = unwrap->raw_end - unwrap->raw_start >= WO_LIMIT_WRAP_LAST_BYTES;
    if (unwrap->is_in_long_line) {
      pass_long_line(scan);
    } else if (!is_enough && !is_last) {
      return;
    } else if (!is_last && is_passed_over(unwrap)) {
      pass_over(scan);
    } else {
      decide(scan, is_last);
    }
  }
}
