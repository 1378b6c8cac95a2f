/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one line: it is cleaned, its prefix is read, it is fed to the open constructs of its writer, and matched by the
 * patterns whose literals are in it. */
#include <assert.h>

#include "parsers/base/clean.h"
#include "parsers/scan/scan_internal.h"

/* One pattern's matches on one line. */
struct match_context {
  struct wo_scan *scan;
  const struct wo_line *line;
  const struct wo_format *format; /* the pattern's reader, or NULL */
};

/* Readers that took the line as part of what they read: they do not start again on it. */
struct takers {
  const struct wo_format *formats[WO_LIMIT_OPEN_READERS];
  size_t count;
};

void wo__scan_close_all(struct wo_scan *scan) {
  scan->line_start = scan->buf_len;
  while (scan->open_count > 0) wo__scan_finish(scan, 0);
  const struct wo_line end = {.number = scan->line_number, .prefix.time_ns = WO_TIME_UNKNOWN, .prefix.rank = WO_RANK_UNKNOWN};
  wo__scan_contexts(scan, &end);
}

/* Whether evidence of that kind says what a line about memory means: a failure, a remark, or that the program goes on. */
static bool is_about_memory(enum wo_kind kind) {
  const enum wo_class class = wo_kind_class(kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY || kind == WO_KIND_NOTE || kind == WO_KIND_RECOVERY;
}

/* A construct goes on in lines of the same writer, and in bare lines (wrapped by a console). */
static bool is_same_writer(const struct wo_open *open, const struct wo_line *line) {
  const struct wo_view source = wo_view_sub(line->prefix.source, 0, sizeof open->source - 1);
  return source.len == 0 || wo_view_is(source, open->source);
}

/* Feeds the line to all open constructs of its writer. A construct whose writer has been silent for long is closed. */
static void feed_open(struct wo_scan *scan, const struct wo_line *line, struct takers *takers) {
  for (size_t i = 0; i < scan->open_count;) {
    struct wo_open *open = &scan->open[i];
    bool is_over = false;
    if (is_same_writer(open, line)) {
      open->lines++;
      open->first.prefix.host = wo_view_of(open->host);
      open->line = line;
      const enum wo_more more = open->format->feed(open);
      if (open->pattern) wo__scan_note_limits(scan, open->pattern, line->number);
      if (more != WO_MORE_NO_UNREAD) {
        takers->formats[takers->count++] = open->format;
        if (open->pattern && is_about_memory(open->pattern->kind)) scan->is_about_memory = true;
      }
      is_over = more != WO_MORE_YES;
    } else {
      is_over = ++open->skipped > WO_OPEN_SKIP_MAX;
    }
    if (is_over) {
      wo__scan_finish(scan, i);
    } else {
      i++;
    }
  }
}

/* A frame of a traceback that is being read matches the pattern that begins one; without this each frame would open another
 * reader. */
static bool is_taken(const struct takers *takers, const struct wo_format *format) {
  for (size_t i = 0; i < takers->count; i++) {
    if (takers->formats[i] == format) return true;
  }
  return false;
}

/* Whether the line belongs to a message over several lines, such as a traceback, which any run may print. */
static bool is_part_of_message(const struct wo_scan *scan, const struct takers *takers) {
  for (size_t i = 0; i < takers->count; i++) {
    if (takers->formats[i] != &wo__format_aftermath) return true;
  }
  for (size_t i = 0; i < scan->open_count; i++) {
    if (scan->open[i].format != &wo__format_aftermath) return true;
  }
  return false;
}

/* Readers of a single line are finished at once, so that all take the same way. Without room for what it finds a reader has no
 * use for the time of its first line. */
static void begin_reader(struct wo_scan *scan, const struct wo_line *line, const struct wo_pattern *pattern,
                         const struct wo_format *format, const struct wo_match *match) {
  struct wo_open *open = wo__scan_open(scan, format, pattern, line);
  if (!format->is_of_own_kind || !wo_event_is_flooded(scan->store, pattern->kind))
    open->first.prefix.stamp = wo__scan_stamp_of(scan, line, pattern->kind);
  const enum wo_more more = format->begin(open, match);
  assert(more != WO_MORE_YES || open->format->feed);
  if (more == WO_MORE_YES && open->format->feed) return;
  wo__scan_finish(scan, scan->open_count - 1);
}

/* Matches that begin in the overlap are left to the next piece. A pattern with a reader is asked only once per line: the reader
 * goes on by itself. */
static bool on_match(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  const struct match_context *c = context;
  if (match && wo_match_start(match) >= c->line->own_end) return false;
  if (is_about_memory(pattern->kind)) c->scan->is_about_memory = true;
  if (pattern->reader.len > 0) {
    if (c->format) begin_reader(c->scan, c->line, pattern, c->format, match);
    return false;
  }
  wo__scan_add_match(c->scan, c->line, pattern, match);
  return pattern->is_every_match;
}

bool wo__scan_is_flooded(const struct wo_scan *scan, size_t pattern) {
  if (scan->ways[pattern] != WO_SCAN_WAY_FLOOD) return scan->ways[pattern] == WO_SCAN_WAY_OVER;
  const enum wo_kind kind = wo_pattern_at(scan->set, pattern)->kind;
  return scan->store->per_kind[kind] > (kind == WO_KIND_RUN_START ? WO_LIMIT_RUNS : WO_LIMIT_EVENTS_PER_KIND);
}

static void match_pattern(struct wo_scan *scan, const struct wo_line *line, const struct takers *takers, size_t index) {
  struct match_context context = {.scan = scan, .line = line, .format = scan->readers[index]};
  if (context.format && is_taken(takers, context.format)) return;
  const struct wo_pattern *const pattern = wo_pattern_at(scan->set, index);
  if (context.format && context.format->is_of_line && line->own_end == SIZE_MAX && wo_pattern_is_literal(pattern)) {
    on_match(&context, pattern, NULL); /* where the literal is does not matter */
    return;
  }
  const size_t matches = wo_pattern_match(scan->set, index, line->full, on_match, &context);
  if (matches == WO_LIMIT_MATCHES_PER_LINE) wo_scan_note_cap(scan, WO_CAP_MATCHES, 1);
  if (matches > 0 && scan->ways[index] == WO_SCAN_WAY_FIRST) scan->ways[index] = WO_SCAN_WAY_OVER;
  wo__scan_note_limits(scan, pattern, line->number);
}

/* Asks the patterns whose literals are in the line; those for lines that no other pattern understood are asked after the rest.
 * Returns whether such patterns were left out. */
static bool match_owners(struct wo_scan *scan, const struct wo_line *line, const struct takers *takers, bool is_fallback) {
  bool are_left = false;
  for (size_t word = 0; word < scan->owner_words; word++) {
    for (uint64_t bits = scan->owners[word]; bits != 0; bits &= bits - 1) {
      const size_t index = word * 64 + (size_t)__builtin_ctzll(bits);
      if (wo_pattern_at(scan->set, index)->is_fallback != is_fallback) {
        are_left = true;
      } else if (!wo__scan_is_flooded(scan, index) && !(is_fallback && scan->is_about_memory)) {
        match_pattern(scan, line, takers, index);
      }
    }
  }
  return are_left;
}

/* Files of numbers have no word to look for: their first lines are checked for their form.
 *
 * The prefilter marks the patterns whose literals are in the raw line; expressions run for those only. */
static void match_patterns(struct wo_scan *scan, const struct wo_line *line, const struct takers *takers) {
  const size_t head_count = wo__scan_is_head(line->number, line->offset) ? scan->head.count : 0;
  for (size_t i = 0; i < head_count; i++) match_pattern(scan, line, takers, scan->head.items[i]);
  if (!scan->has_owners) return;
  if (match_owners(scan, line, takers, false)) match_owners(scan, line, takers, true);
}

/* Where in the cleaned text of a piece the next piece of the same line begins. */
static size_t find_own_end(struct wo_scan *scan, struct wo_view raw) {
  assert(raw.len > WO_SCAN_PIECE_STRIDE);
  return wo_clean_line(wo_view_sub(raw, 0, WO_SCAN_PIECE_STRIDE), scan->clean, WO_LIMIT_LINE_BYTES).len;
}

/* Hands the line to the short ways of the patterns whose literals are in it, if it has no others. */
static bool take_short(struct wo_scan *scan, struct wo_view raw, uint64_t offset) {
  for (size_t word = 0; word < scan->owner_words; word++) {
    for (uint64_t bits = scan->owners[word]; bits != 0; bits &= bits - 1) {
      const size_t index = word * 64 + (size_t)__builtin_ctzll(bits);
      if (scan->ways[index] != WO_SCAN_WAY_SHORT && !wo__scan_is_flooded(scan, index)) return false;
    }
  }
  for (size_t word = 0; word < scan->owner_words; word++) {
    for (uint64_t bits = scan->owners[word]; bits != 0; bits &= bits - 1) {
      const size_t index = word * 64 + (size_t)__builtin_ctzll(bits);
      if (scan->ways[index] != WO_SCAN_WAY_SHORT) continue;
      scan->readers[index]->short_way->take(scan, wo_pattern_at(scan->set, index), raw, scan->line_number,
                                            wo__scan_offset(scan, offset));
    }
  }
  return true;
}

/* A line that is looked at although nothing is open, because it may belong to an opening: most of these hold no literal, or one
 * of a short way. Otherwise false. */
static bool take_quietly(struct wo_scan *scan, struct wo_view raw, size_t start) {
  struct wo_view text = raw;
  const struct wo_view label = wo__scan_cut_label(scan, &text);
  const uint64_t offset = scan->buf_offset + start;
  wo__scan_mark_owners(scan, text, start + label.len, false);
  if (scan->has_owners && !take_short(scan, text, offset + label.len)) return false;
  if (wo__scan_is_opening(scan)) {
    struct wo_line line;
    wo_scan_make_line(scan, raw, scan->line_number, offset, &line);
    wo__scan_opening(scan, &line);
  }
  return true;
}

void wo__scan_line(struct wo_scan *scan, size_t start, size_t end, bool is_piece) {
  const struct wo_view raw = {scan->buf + start, end - start};
  if (!scan->has_nul && raw.len > 0 && memchr(raw.ptr, '\0', raw.len)) scan->has_nul = true;
  struct wo_line line;
  if (scan->label.offered_len > 0) wo__scan_confirm_label(scan, raw);
  scan->line_start = start;
  const bool is_quiet = scan->open_count == 0 && !is_piece && !wo__scan_is_head(scan->line_number, scan->buf_offset + start);
  if (is_quiet && take_quietly(scan, raw, start)) return;
  const size_t own_end = is_piece ? find_own_end(scan, raw) : SIZE_MAX;
  wo_scan_make_line(scan, raw, scan->line_number, scan->buf_offset + start, &line);
  line.own_end = own_end;
  wo_pattern_begin_line(scan->set, line.full.len);
  struct takers takers = {.count = 0};
  scan->is_about_memory = false;
  if (scan->open_count > 0) feed_open(scan, &line, &takers);
  if (!is_quiet) wo__scan_mark_owners(scan, line.raw, (size_t)(line.raw.ptr - scan->buf), is_piece);
  match_patterns(scan, &line, &takers);
  if (wo__scan_is_opening(scan) && !is_part_of_message(scan, &takers)) wo__scan_opening(scan, &line);
  wo__scan_contexts(scan, &line);
}
