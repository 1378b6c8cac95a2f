/* Joins the lines of a wrapped message and matches the pattern on the whole.
 *
 *   ValueError: To serve at least one request with the model's max seq len (300000),
 *   13.53 GiB KV cache is needed, which is larger than the available KV cache
 *   memory (3.74 GiB).
 *
 * A pattern opts in with "reader": "joined". Its expression must match the first line; what may stand on further lines is
 * optional in it. Whether lines are missing is told by partial matching: the match stopped because the text ended, not because
 * other text stood there. A line that makes the match no longer is given back, so that it can begin something else. */
#include "parsers/formats/common/fmt_joined.h"

#include <string.h>

/* Lines behind the first. Consoles of 80 columns wrap the longest of these messages into five. */
#define JOINED_LINES 8

/* A first line that is longer was not wrapped by anybody. */
#define FIRST_BYTES (WO_LIMIT_MESSAGE_BYTES / 2)

/* Slots of struct wo_open: the place of the match in the input, and in the message the start and end of the match, the text that
 * gave it, and the length of the prefix. */
enum number { SPAN_START, SPAN_LENGTH, MATCH_START, MATCH_END, KEPT_LENGTH, PREFIX_LENGTH };

/* The match on the joined text, and what is to be done with it. */
struct rematch {
  struct wo_scan *scan;
  struct wo_open *open;
  wo__joined_fn then;
};

/* The set keeps its patterns in one array, so a pattern's place in it is its index, which partial matching asks for. */
static size_t index_of(struct wo_scan *scan, const struct wo_pattern *pattern) {
  return (size_t)(pattern - wo_pattern_at(wo_scan_patterns(scan), 0));
}

/* Only the first match counts: a message is said once. */
static bool take_place(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  struct wo_open *open = context;
  (void)pattern;
  open->numbers[MATCH_START] = (int64_t)wo_match_start(match);
  open->numbers[MATCH_END] = (int64_t)(wo_match_start(match) + wo_match_text(match).len);
  return false;
}

/* Whether more text could make the match longer. Costs a partial match of the whole message, so it is asked once for each line
 * that is joined, never for lines of other text. */
static bool may_go_on(struct wo_scan *scan, const struct wo_open *open) {
  return wo_pattern_may_go_on(wo_scan_patterns(scan), index_of(scan, open->pattern), wo_open_message(open),
                              (size_t)open->numbers[MATCH_START]);
}

/* Begins the message: prefix and text, without the frame of a box, whose right side would stand between two words. */
static bool keep_first(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  if (line->full.len > FIRST_BYTES || line->own_end != SIZE_MAX) return false;
  const struct wo_view text = wo_prefix_unbox(line->text);
  memcpy(open->message, line->full.ptr, line->prefix.length);
  memcpy(open->message + line->prefix.length, text.ptr, text.len);
  open->message_len = line->prefix.length + text.len;
  const size_t index = index_of(scan, open->pattern);
  if (wo_pattern_match(wo_scan_patterns(scan), index, wo_open_message(open), take_place, open) == 0) return false;
  if (!may_go_on(scan, open)) return false;
  open->numbers[KEPT_LENGTH] = (int64_t)open->message_len;
  open->numbers[PREFIX_LENGTH] = (int64_t)line->prefix.length;
  return true;
}

enum wo_more wo__joined_begin(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                              struct wo_open *open, wo__joined_fn then) {
  const size_t start = wo_match_start(match);
  if (line->full.ptr != NULL && keep_first(scan, line, open)) {
    open->numbers[SPAN_START] = (int64_t)start;
    open->numbers[SPAN_LENGTH] = (int64_t)wo_match_text(match).len;
    return WO_MORE_YES;
  }
  open->message_len = 0;
  struct wo_event *event = wo_scan_add_event(scan, line, open->pattern, open->pattern->kind, start, wo_match_text(match).len);
  if (!event) return WO_MORE_NO;
  wo_match_fill(match, open->pattern, wo_scan_store(scan), event);
  if (then) then(scan, event, match);
  return WO_MORE_NO;
}

/* A line that surely begins something new. A time stamp on a line whose first line had none shows that another logger wrote it;
 * the words are those that launchers and interpreters print in the middle of a dying program's output. */
bool wo__joined_is_foreign(struct wo_view text, const struct wo_line *line, const struct wo_open *open) {
  static const char *const starts[] = {
      "Traceback", "File \"", "During handling", "The above exception", "srun:", "slurmstepd", "+ "};
  if (text.len == 0) return true;
  if (line->prefix.time_ns != WO_TIME_UNKNOWN && open->first.prefix.time_ns == WO_TIME_UNKNOWN) return true;
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    if (wo_view_starts(text, starts[i])) return true;
  }
  return false;
}

/* Whether the joined text has a longer match than before; remembers it. */
static bool has_grown(struct wo_scan *scan, struct wo_open *open) {
  const size_t end = wo_pattern_extent(wo_scan_patterns(scan), index_of(scan, open->pattern), wo_open_message(open),
                                       (size_t)open->numbers[MATCH_START]);
  if (end == WO_NOT_FOUND || (int64_t)end <= open->numbers[MATCH_END]) return false;
  open->numbers[MATCH_END] = (int64_t)end;
  open->numbers[KEPT_LENGTH] = (int64_t)open->message_len;
  return true;
}

enum wo_more wo__joined_feed(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  const struct wo_view text = wo_prefix_unbox(line->text);
  if (open->lines > JOINED_LINES || wo__joined_is_foreign(text, line, open)) return WO_MORE_NO_UNREAD;
  wo_open_append(open, text);
  const bool is_longer = has_grown(scan, open);
  if (may_go_on(scan, open)) return WO_MORE_YES;
  return is_longer ? WO_MORE_NO : WO_MORE_NO_UNREAD;
}

/* The event stands at the first line; its text is the whole message. */
static bool add_event(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  const struct rematch *again = context;
  const struct wo_open *open = again->open;
  struct wo_line line = open->first;
  line.full = wo_open_message(open);
  line.text = wo_view_skip(line.full, (size_t)open->numbers[PREFIX_LENGTH]);
  const struct wo_view host = wo_prefix_read(line.full).host;
  if (host.len > 0) line.prefix.host = host;
  struct wo_event *event = wo_scan_add_event(again->scan, &line, pattern, pattern->kind, (size_t)open->numbers[SPAN_START],
                                             (size_t)open->numbers[SPAN_LENGTH]);
  if (!event) return false;
  const size_t start = wo_match_start(match);
  const bool is_whole = event->text.len == line.full.len;
  event->match = is_whole ? wo_view_sub(event->text, start, start + wo_match_text(match).len) : (struct wo_view){0};
  wo_match_fill(match, pattern, wo_scan_store(again->scan), event);
  if (again->then) again->then(again->scan, event, match);
  return false;
}

/* With more text `unless` may apply ("...this is not / a failure"): then the message is nothing. */
void wo__joined_finish(struct wo_scan *scan, struct wo_open *open, wo__joined_fn then) {
  if (open->message_len == 0) return;
  open->message_len = (size_t)open->numbers[KEPT_LENGTH];
  struct rematch again = {.scan = scan, .open = open, .then = then};
  wo_pattern_match(wo_scan_patterns(scan), index_of(scan, open->pattern), wo_open_message(open), add_event, &again);
}

/* The plain reader of the pack's patterns; readers that work on the match afterwards call wo__joined_begin themselves. */
static enum wo_more begin_joined(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                 struct wo_open *open) {
  return wo__joined_begin(scan, line, match, open, NULL);
}

static void finish_joined(struct wo_scan *scan, struct wo_open *open) {
  wo__joined_finish(scan, open, NULL);
}

const struct wo_format wo__format_joined = {
    .name = "joined",
    .begin = begin_joined,
    .feed = wo__joined_feed,
    .finish = finish_joined,
};
