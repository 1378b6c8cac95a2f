/* SPDX-License-Identifier: Apache-2.0 */
/* Tracebacks on one line. */
#include <string.h>

#include "parsers/formats/frameworks/exception_line.h"
#include "parsers/formats/frameworks/traceback.h"

/* Where a frame begins, with its quotes escaped or not. */
static size_t frame_at(struct wo_view text) {
  const size_t plain = wo_view_find(text, WO_VIEW("File \""), 0);
  return plain != WO_NOT_FOUND ? plain : wo_view_find(text, WO_VIEW("File \\\""), 0);
}

/* Whether a whole traceback is on the line: escaped by a logger, or joined by a script that reports it. */
bool wo__traceback_is_joined(struct wo_view text) {
  const size_t first = wo_view_find(text, WO_VIEW("\", line "), 0);
  if (first == WO_NOT_FOUND || frame_at(text) > first) return false;
  const struct wo_view rest = wo_view_skip(text, first);
  return wo_view_has(rest, "\\n") || wo_view_has(rest, "; ");
}

/* The next line of the traceback, without the escaped line feed or the semicolon behind it. */
static struct wo_view next_part(struct wo_view *rest) {
  size_t end = 0;
  while (end < rest->len && rest->ptr[end] != ';' && !wo_view_starts(wo_view_skip(*rest, end), "\\n")) end++;
  const struct wo_view part = wo_view_sub(*rest, 0, end);
  *rest = wo_view_skip(*rest, end < rest->len && rest->ptr[end] == ';' ? end + 1 : end + 2);
  return wo_view_trim(part);
}

/* The text of a part without the marks of a list of strings, as Python shows it: `', 'KeyError: 3`. */
static struct wo_view without_marks(struct wo_view part) {
  size_t at = 0;
  while (at < part.len && memchr("',\"[ ", part.ptr[at], 5) != NULL) at++;
  return wo_view_skip(part, at);
}

/* The frame that begins somewhere in the part: behind the words of a logger, or behind the header. */
static bool read_joined(struct wo_view part, struct wo_traceback_frame *ret_frame) {
  const size_t at = frame_at(part);
  return at != WO_NOT_FOUND && wo_traceback_read(wo_view_skip(part, at), ret_frame);
}

/* The exception ends the traceback; a line without one is something else. */
enum wo_more wo__traceback_begin_joined(struct wo_open *open) {
  struct wo__traceback *const own = open->state;
  struct wo_view rest = open->line->text;
  while (rest.len > 0) {
    const struct wo_view part = without_marks(next_part(&rest));
    struct wo_traceback_frame frame;
    const size_t class_len = own->frames > 0 ? wo_exception_class(part) : 0;
    if (read_joined(part, &frame)) {
      wo__traceback_take_frame(open, part, &frame);
    } else if (class_len > 0) {
      struct wo_event *const event = wo_open_add(open, WO_KIND_TRACEBACK, part);
      if (!event) return WO_MORE_NO;
      wo_event_set_text(open->store, event, WO_FIELD_EXCEPTION, wo_view_sub(part, 0, class_len));
      wo_exception_set_message(open->store, event, wo_view_trim(wo_view_skip(part, class_len + 1)));
      wo__traceback_add_fields(open, event);
      return WO_MORE_NO;
    } else if (own->last != WO__LAST_OTHER && wo_view_trim(part).len > 0 && wo_exception_has_words(part)) {
      wo__traceback_add_code(open, part);
    }
  }
  return WO_MORE_NO;
}
