/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the lines of a wrapped message and matches the pattern on the whole.
 *
 *   ValueError: To serve at least one request with the model's max seq len (300000),
 *   13.53 GiB KV cache is needed, which is larger than the available KV cache
 *   memory (3.74 GiB).
 *
 * A pattern opts in with "reader": "joined". Its expression must match the first line; what may be on further lines is optional
 * in it. Partial matching shows whether lines are missing: then the match stopped because the text ended, not because other text
 * followed. A line that makes the match no longer is given back, so that it can begin something else. */
#include "parsers/formats/common/fmt_joined.h"

#include <string.h>

/* Lines after the first. Consoles of 80 columns wrap the longest of these messages into five. */
#define JOINED_LINES 8

/* A first line that is longer was not wrapped by anybody. */
#define FIRST_BYTES (WO_LIMIT_MESSAGE_BYTES / 2)

/* The set keeps its patterns in one array, so a pattern's place in it is its index, which partial matching asks for. */
static size_t index_of(struct wo_scan *scan, const struct wo_pattern *pattern) {
  return (size_t)(pattern - wo_pattern_at(wo_scan_patterns(scan), 0));
}

/* Only the first match counts: a message is printed once. */
static bool take_place(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  struct wo_joined *const own = context;
  (void)pattern;
  own->match_start = wo_match_start(match);
  own->match_end = wo_match_start(match) + wo_match_text(match).len;
  return false;
}

/* Whether more text could make the match longer. Costs a partial match of the whole message, so it is asked once for each line
 * that is joined, never for lines of other text. */
static bool may_go_on(const struct wo_open *open) {
  struct wo_joined *const own = open->state;
  return wo_pattern_may_go_on(wo_scan_patterns(open->scan), index_of(open->scan, open->pattern), wo_open_message(open),
                              own->match_start);
}

/* Begins the message: prefix and text, without the frame of a box, whose right side would separate two words. */
static bool keep_first(struct wo_open *open) {
  struct wo_joined *const own = open->state;
  if (open->line->full.len > FIRST_BYTES || open->line->own_end != SIZE_MAX) return false;
  const struct wo_view text = wo_prefix_unbox(open->line->text);
  memcpy(open->message, open->line->full.ptr, open->line->prefix.length);
  memcpy(open->message + open->line->prefix.length, text.ptr, text.len);
  open->message_len = open->line->prefix.length + text.len;
  const size_t index = index_of(open->scan, open->pattern);
  if (wo_pattern_match(wo_scan_patterns(open->scan), index, wo_open_message(open), take_place, own) == 0) return false;
  if (!may_go_on(open)) return false;
  own->kept_length = open->message_len;
  own->prefix_length = open->line->prefix.length;
  return true;
}

/* What the reader does with the event besides. */
static void complete(const struct wo_open *open, struct wo_event *event, const struct wo_match *match) {
  const struct wo_joined_as *const as = open->format->constants;
  if (as) as->complete(open->store, event, match);
}

enum wo_more wo__joined_begin(struct wo_open *open, const struct wo_match *match) {
  struct wo_joined *const own = open->state;
  if (open->line->full.ptr != NULL && keep_first(open)) {
    own->span_start = wo_match_start(match);
    own->span_length = wo_match_text(match).len;
    return WO_MORE_YES;
  }
  open->message_len = 0;
  struct wo_event *const event = wo_open_add_filled(open, open->pattern->kind, match);
  if (event) complete(open, event, match);
  return WO_MORE_NO;
}

/* A line that surely begins something new. A time stamp on a line whose first line had none shows that another logger wrote it;
 * the words are those that launchers and interpreters print in the middle of a dying program's output. */
bool wo__joined_is_foreign(const struct wo_open *open, struct wo_view text) {
  static const char *const starts[] = {
      "Traceback", "File \"", "During handling", "The above exception", "srun:", "slurmstepd", "+ "};
  if (text.len == 0) return true;
  if (open->line->prefix.time_ns != WO_TIME_UNKNOWN && open->first.prefix.time_ns == WO_TIME_UNKNOWN) return true;
  return WO_VIEW_ANY(text, wo_view_starts, starts);
}

/* Whether the joined text has a longer match than before; remembers it. */
static bool has_grown(struct wo_open *open) {
  struct wo_joined *const own = open->state;
  const size_t end = wo_pattern_extent(wo_scan_patterns(open->scan), index_of(open->scan, open->pattern), wo_open_message(open),
                                       own->match_start);
  if (end == WO_NOT_FOUND || end <= own->match_end) return false;
  own->match_end = end;
  own->kept_length = open->message_len;
  return true;
}

enum wo_more wo__joined_feed(struct wo_open *open) {
  const struct wo_view text = wo_prefix_unbox(open->line->text);
  if (open->lines > JOINED_LINES || wo__joined_is_foreign(open, text)) return WO_MORE_NO_UNREAD;
  wo_open_append(open, text);
  const bool is_longer = has_grown(open);
  if (may_go_on(open)) return WO_MORE_YES;
  return is_longer ? WO_MORE_NO : WO_MORE_NO_UNREAD;
}

/* The event is at the first line; its text is the whole message. */
static bool add_event(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  const struct wo_open *const open = context;
  const struct wo_joined *const own = open->state;
  struct wo_line line = open->first;
  line.full = wo_open_message(open);
  line.text = wo_view_skip(line.full, own->prefix_length);
  const struct wo_view host = wo_prefix_read(line.full).host;
  if (host.len > 0) line.prefix.host = host;
  struct wo_event *event = wo_scan_add_event(open->scan, &line, pattern, pattern->kind, own->span_start, own->span_length);
  if (!event) return false;
  const size_t start = wo_match_start(match);
  const bool is_whole = event->text.len == line.full.len;
  event->match = is_whole ? wo_view_sub(event->text, start, start + wo_match_text(match).len) : (struct wo_view){0};
  wo_match_fill(match, pattern, open->store, event);
  complete(open, event, match);
  return false;
}

/* With more text `unless` may apply ("...this is not / a failure"): then the message is no evidence. */
void wo__joined_finish(struct wo_open *open) {
  struct wo_joined *const own = open->state;
  if (open->message_len == 0) return;
  open->message_len = own->kept_length;
  wo_pattern_match(wo_scan_patterns(open->scan), index_of(open->scan, open->pattern), wo_open_message(open), add_event, open);
}

/* The plain reader of the pack's patterns. */
const struct wo_format wo__format_joined = {
    .name = "joined",
    .state_bytes = sizeof(struct wo_joined),
    .begin = wo__joined_begin,
    .feed = wo__joined_feed,
    .finish = wo__joined_finish,
};
