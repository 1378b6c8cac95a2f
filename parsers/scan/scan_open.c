/* SPDX-License-Identifier: Apache-2.0 */
/* The services that readers and the scanner share: a line from raw bytes, events, messages that go on over lines, caps. */
#include <assert.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/scan/scan_internal.h"

/* Bytes of a long line that an event keeps before its match. */
#define LEAD_BYTES 512

void wo_scan_make_line(struct wo_scan *scan, struct wo_view raw, uint64_t number, uint64_t offset, struct wo_line *line) {
  const struct wo_view label = wo__scan_cut_label(scan, &raw);
  line->raw = raw;
  line->full = wo_clean_line(raw, scan->clean, WO_LIMIT_LINE_BYTES);
  line->prefix = wo_prefix_read(line->full);
  wo__scan_note_label(scan, label, &line->prefix);
  line->text = wo_view_skip(line->full, line->prefix.length);
  line->number = number;
  line->offset = wo__scan_offset(scan, offset + label.len);
  line->own_end = SIZE_MAX;
  if (line->prefix.host.len == 0) line->prefix.host = scan->options.host;
  if (line->prefix.rank != WO_RANK_UNKNOWN) return;
  line->prefix.rank = scan->options.rank;
  line->prefix.is_local_rank = scan->options.is_local_rank;
}

bool wo_scan_is_at_end(const struct wo_scan *scan) {
  return scan->is_at_end;
}

struct wo_event_store *wo_scan_store(struct wo_scan *scan) {
  return scan->store;
}

struct wo_pattern_set *wo_scan_patterns(struct wo_scan *scan) {
  return scan->set;
}

/* The report of a crash that Java prints has a # before each line. */
static bool is_of_java(struct wo_view body) {
  static const char *const lines[] = {"#  SIG", "#  EXCEPTION_", "#  Internal Error (", "# There is insufficient memory",
                                      "# Native memory allocation ("};
  return WO_VIEW_ANY(body, wo_view_starts, lines);
}

/* Listings and echoes: shell comments, `set -x` traces, quoted mail. Their text did not happen now. */
static bool is_quoting(struct wo_view text) {
  const struct wo_view body = wo_view_trim_start(text);
  if (is_of_java(body)) return false;
  return wo_view_starts(body, "# ") || wo_view_starts(body, "+ ") || wo_view_starts(body, "> ") || wo_view_starts(body, "//") ||
         wo_view_starts(body, "## ");
}

/* Whether the last event is an exception on the same line that Python ignored (in __del__, at shutdown): it ended nothing. Good
 * runs close with a data loader that is "killed by signal". */
static bool is_in_ignored_exception(const struct wo_event_store *store, struct wo_span span) {
  const struct wo_event *last = store->count > 0 ? &store->items[store->count - 1] : NULL;
  return last && last->kind == WO_KIND_TRACEBACK && last->is_quoted && last->span.file == span.file &&
         last->span.line == span.line;
}

/* A failure whose surroundings show how far the job had come. */
static bool wants_context(enum wo_kind kind) {
  const enum wo_class class = wo_kind_class(kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY || kind == WO_KIND_TRACEBACK || kind == WO_KIND_KILLED;
}

/* What may end a run. */
static bool is_end(enum wo_kind kind) {
  const enum wo_class class = wo_kind_class(kind);
  return class != WO_CLASS_CONTEXT && class != WO_CLASS_CONSEQUENCE && class != WO_CLASS_NONE;
}

/* Copies the host's name. A name that is lost because the store is full is no failure; one that is lost for lack of memory is. */
static void keep_host(struct wo_event_store *store, struct wo_event *event, struct wo_view host) {
  if (host.len == 0) return;
  event->host = wo_arena_copy(&store->arena, host);
  if (event->host.ptr == NULL && store->arena.used_bytes < store->arena.cap_bytes / 2) store->is_out_of_memory = true;
}

/* The line's own stamp, or that of an earlier line for what may be an end of the job: most lines are never looked at, so the time
 * is looked for when it is needed. A reader that ends later brings the stamp that its first line was given. */
struct wo_stamp wo__scan_stamp_of(struct wo_scan *scan, const struct wo_line *line, enum wo_kind kind) {
  const bool is_read_now = line->raw.ptr == scan->buf + scan->line_start;
  const bool is_wanted = wo_kind_class(kind) != WO_CLASS_CONTEXT && line->prefix.stamp.clock == WO_CLOCK_NONE;
  return is_wanted && is_read_now ? wo__scan_stamp_before(scan, line) : line->prefix.stamp;
}

/* Where the text of an event begins in a line that is longer than what is kept: so that the match, which decides, is in it.
 * Readers that collected a message give a place outside of it. */
static size_t text_start(struct wo_view full, size_t start, size_t length) {
  const bool is_kept =
      full.len <= WO_LIMIT_EVENT_TEXT_BYTES || start + length <= WO_LIMIT_EVENT_TEXT_BYTES || start + length > full.len;
  size_t at = is_kept || start < LEAD_BYTES ? 0 : start - LEAD_BYTES;
  while (at > 0 && at < start && ((unsigned char)full.ptr[at] & 0xC0) == 0x80) at++; /* not inside of a character */
  return at;
}

/* SLURM's daemon speaks of all tasks of a step on its node, and srun labels that as the output of the first of them; but of one
 * task while it starts that one. */
static int32_t rank_of(const struct wo_line *line) {
  const bool is_of_step = wo_view_starts(line->text, "slurmstepd") && !wo_view_has(line->text, "execve");
  return is_of_step ? WO_RANK_UNKNOWN : line->prefix.rank;
}

struct wo_event *wo_scan_add_event(struct wo_scan *scan, const struct wo_line *line, const struct wo_pattern *pattern,
                                   enum wo_kind kind, size_t start, size_t length) {
  const struct wo_span span = {.file = scan->options.file,
                               .line = line->number,
                               .byte = wo__scan_place(scan, line->offset, start),
                               .length = (uint32_t)length};
  const bool is_ignored = is_in_ignored_exception(scan->store, span);
  const size_t skip = text_start(line->full, start, length);
  struct wo_event *event = wo_event_add(scan->store, kind, span, wo_view_skip(line->full, skip));
  if (!event) return NULL;
  event->rank = rank_of(line);
  event->is_local_rank = line->prefix.is_local_rank;
  event->time_ns = line->prefix.time_ns;
  event->stamp = wo__scan_stamp_of(scan, line, kind);
  event->severity = line->prefix.severity;
  event->is_quoted = is_ignored || is_quoting(line->text);
  if (pattern) {
    event->pattern_id = pattern->id;
    event->mark = pattern->mark;
  }
  const bool is_whole = event->text.len + skip == line->full.len || skip > 0;
  if (is_whole && start >= skip && start - skip + length <= event->text.len) {
    event->match = wo_view_sub(event->text, start - skip, start - skip + length);
  }
  keep_host(scan->store, event, line->prefix.host);
  if (!event->is_quoted && is_end(kind)) wo__scan_watch_for_opening(scan);
  if (wants_context(kind) && !event->is_quoted && scan->pending_count < WO_SCAN_PENDING_MAX) {
    scan->pending[scan->pending_count++] = event->id;
  }
  return event;
}

struct wo_event *wo__scan_add_match(struct wo_scan *scan, const struct wo_line *line, const struct wo_pattern *pattern,
                                    const struct wo_match *match) {
  const size_t length = wo_match_text(match).len;
  struct wo_event *const event = wo_scan_add_event(scan, line, pattern, pattern->kind, wo_match_start(match), length);
  if (event) wo_match_fill(match, pattern, scan->store, event);
  return event;
}

struct wo_event *wo_open_add(const struct wo_open *open, enum wo_kind kind, struct wo_view part) {
  const struct wo_line *const line = open->line;
  const size_t start = (size_t)(part.ptr - line->full.ptr);
  assert(start + part.len <= line->full.len);
  return wo_scan_add_event(open->scan, line, open->pattern, kind, start, part.len);
}

struct wo_event *wo_open_add_filled(const struct wo_open *open, enum wo_kind kind, const struct wo_match *match) {
  struct wo_event *const event = wo_open_add(open, kind, wo_match_text(match));
  if (event) wo_match_fill(match, open->pattern, open->store, event);
  return event;
}

enum wo_more wo_open_begin(struct wo_open *open, const struct wo_match *match) {
  const struct wo_event *const event = wo_open_add_filled(open, open->pattern->kind, match);
  open->event = event ? event->id : WO_EVENT_NONE;
  return event ? WO_MORE_YES : WO_MORE_NO;
}

struct wo_event *wo_open_event(const struct wo_open *open) {
  return wo_event_get(open->store, open->event);
}

void wo_scan_note_cap(struct wo_scan *scan, enum wo_cap cap, uint64_t count) {
  scan->told.caps[cap] += count;
}

/* Several expressions, and pieces of a long line, may reach the limit on one line. */
void wo__scan_note_limits(struct wo_scan *scan, const struct wo_pattern *pattern, uint64_t line) {
  const size_t hits = wo_pattern_limit_hits(scan->set);
  if (hits == scan->limit_hits) return;
  scan->limit_hits = hits;
  struct wo_scan_summary *const told = &scan->told;
  size_t at = 0;
  while (at < told->unsearched_count && told->unsearched[at].pattern != pattern) at++;
  if (at == WO_SCAN_UNSEARCHED_MAX) {
    told->unsearched_others++;
    return;
  }
  struct wo_unsearched *const row = &told->unsearched[at];
  if (at == told->unsearched_count) told->unsearched_count++;
  row->pattern = pattern;
  if (row->last_line != line) row->lines++;
  row->last_line = line;
}

void wo_open_append(struct wo_open *open, struct wo_view text) {
  if (text.len == 0) return;
  if (open->message_len + text.len >= WO_LIMIT_MESSAGE_BYTES) wo_scan_note_cap(open->scan, WO_CAP_MESSAGE, 1);
  if (open->message_len > 0 && open->message_len < WO_LIMIT_MESSAGE_BYTES) open->message[open->message_len++] = ' ';
  const size_t room = WO_LIMIT_MESSAGE_BYTES - open->message_len;
  const size_t part = text.len < room ? text.len : room;
  memcpy(open->message + open->message_len, text.ptr, part);
  open->message_len += part;
}

struct wo_view wo_open_message(const struct wo_open *open) {
  return (struct wo_view){open->message, open->message_len};
}

/* The constructs are in the order in which they were opened; the ones after move up. A reader's end may add events, but opens
 * nothing. */
void wo__scan_finish(struct wo_scan *scan, size_t at) {
  struct wo_open *open = &scan->open[at];
  open->first.prefix.host = wo_view_of(open->host);
  open->line = &open->first;
  if (open->format->finish) open->format->finish(open);
  if (open->pattern) wo__scan_note_limits(scan, open->pattern, open->first.number);
  scan->slot_used[(size_t)(open->message - scan->messages) / WO_LIMIT_MESSAGE_BYTES] = false;
  scan->open_count--;
  memmove(open, open + 1, (scan->open_count - at) * sizeof *open);
}

/* Room for a message and a state. There are as many slots as constructs that may be open, and the caller has made sure that one
 * is free. */
static void take_slot(struct wo_scan *scan, struct wo_open *open) {
  size_t slot = 0;
  while (scan->slot_used[slot]) slot++;
  assert(slot < WO_LIMIT_OPEN_READERS);
  scan->slot_used[slot] = true;
  open->message = scan->messages + slot * WO_LIMIT_MESSAGE_BYTES;
  open->state = scan->states + slot * scan->state_bytes;
  memset(open->state, 0, open->format->state_bytes);
}

uint32_t wo_scan_file(const struct wo_scan *scan) {
  return scan->options.file;
}

bool wo_open_is_flooded(const struct wo_open *open) {
  return open->pattern && wo_event_is_flooded(open->store, open->pattern->kind);
}

bool wo_open_is_one_of_several(const struct wo_open *open) {
  size_t count = 0;
  for (size_t i = 0; i < open->scan->open_count; i++) count += open->scan->open[i].format == open->format;
  return count > 1;
}

struct wo_open *wo__scan_open(struct wo_scan *scan, const struct wo_format *format, const struct wo_pattern *pattern,
                              const struct wo_line *line) {
  if (scan->open_count == WO_LIMIT_OPEN_READERS) {
    wo_scan_note_cap(scan, WO_CAP_OPEN, 1);
    wo__scan_finish(scan, 0);
  }
  struct wo_open *open = &scan->open[scan->open_count];
  *open = (struct wo_open){.format = format,
                           .pattern = pattern,
                           .scan = scan,
                           .store = scan->store,
                           .line = line,
                           .first = *line,
                           .event = WO_EVENT_NONE};
  take_slot(scan, open);
  wo_view_copy(line->prefix.source, open->source, sizeof open->source);
  wo_view_copy(line->prefix.host, open->host, sizeof open->host);
  open->first.raw = open->first.text = open->first.full = (struct wo_view){0};
  open->first.prefix.source = (struct wo_view){0};
  open->first.prefix.host = (struct wo_view){0};
  scan->open_count++;
  return open;
}
