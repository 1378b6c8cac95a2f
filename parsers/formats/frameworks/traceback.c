/* SPDX-License-Identifier: Apache-2.0 */
/* What a traceback has shown so far: the user's own innermost frame (outside installed packages and the interpreter), the
 * innermost frame of all, and a short list of frames from which the analyzer finds the phase. */
#include "parsers/formats/frameworks/traceback.h"

#include "parsers/formats/common/config_path.h"
#include "parsers/formats/frameworks/exception_line.h"

int64_t wo__traceback_indent(struct wo_view text) {
  return (int64_t)wo_config_indent(text);
}

/* The end of a long path is kept, where the file's name is. */
static void keep_end(struct wo_view text, char buf[WO__TRACEBACK_NAME_BYTES]) {
  wo_view_copy(wo_view_skip(text, text.len >= WO__TRACEBACK_NAME_BYTES ? text.len - WO__TRACEBACK_NAME_BYTES + 1 : 0), buf,
               WO__TRACEBACK_NAME_BYTES);
}

/* Bytes of frames that are kept; those of the outermost ones stay when room runs out. */
enum { FRAMES_BYTES = WO_LIMIT_MESSAGE_BYTES * 3 / 4, OUTER_BYTES = FRAMES_BYTES / 3 };

/* Where the frame begins that holds a byte, or the next one if the text ends there. */
static size_t frame_start(const struct wo_open *open, size_t at) {
  while (at < open->message_len && open->message[at] != ';') at++;
  return at;
}

/* Drops the half of the inner frames that is farther out: the outermost show which part of the run it was, the innermost what it
 * did, and between them are layers that call layers. */
static void drop_middle(struct wo_open *open) {
  struct wo__traceback *const own = open->state;
  if (own->outer_len == 0) own->outer_len = frame_start(open, OUTER_BYTES);
  const size_t from = frame_start(open, own->outer_len + (open->message_len - own->outer_len) / 2);
  memmove(open->message + own->outer_len, open->message + from, open->message_len - from);
  open->message_len -= from - own->outer_len;
}

/* A debugger's frames are kept in the order of Python, too; what finds no room is outermost. */
static void insert_frame_text(struct wo_open *open, struct wo_view text) {
  struct wo__traceback *const own = open->state;
  char *const at = open->message + own->front_len;
  if (open->message_len + text.len + 2 > FRAMES_BYTES) return;
  memmove(at + text.len, at, open->message_len - own->front_len);
  memcpy(at, text.ptr, text.len);
  open->message_len += text.len;
  own->front_len += text.len;
}

/* Frames are kept as ";path|function|code" in the order of Python: the innermost last. */
static void append_frame_text(struct wo_open *open, struct wo_view text) {
  const struct wo__traceback *const own = open->state;
  if (text.len > 300) text.len = 300;
  if (own->style == WO__STYLE_DEBUGGER) {
    insert_frame_text(open, text);
    return;
  }
  if (open->message_len + text.len + 2 > FRAMES_BYTES) drop_middle(open);
  memcpy(open->message + open->message_len, text.ptr, text.len);
  open->message_len += text.len;
}

/* Separators of Windows become those of the others, so that one hint fits both. */
static void append_path(struct wo_open *open, struct wo_view path) {
  const struct wo__traceback *const own = open->state;
  append_frame_text(open, path);
  const size_t end = own->style == WO__STYLE_DEBUGGER ? own->front_len : open->message_len;
  for (size_t i = end; i-- > 0 && open->message[i] != ';';) {
    if (open->message[i] == '\\') open->message[i] = '/';
  }
}

/* Packages are told by the path below their folder, behind "~/"; of other paths, which may begin so in notebooks, the last
 * components distinguish frames, and whole ones would fill the room. */
static void append_file(struct wo_open *open, struct wo_view path, bool is_package) {
  if (is_package) {
    append_frame_text(open, WO_VIEW("~/"));
    append_path(open, wo_traceback_package_path(path));
  } else {
    append_path(open, wo_traceback_short_path(wo_view_skip(path, wo_view_starts(path, "~/") ? 2 : 0)));
  }
}

void wo__traceback_add_code(struct wo_open *open, struct wo_view code) {
  struct wo__traceback *const own = open->state;
  append_frame_text(open, code);
  own->last = WO__LAST_OTHER;
}

/* Whether a function catches every exception of what it calls, reports it and goes on with the next request. */
static bool is_serving(const struct wo_traceback_frame *frame) {
  static const char *const functions[] = {"run_asgi", "run_wsgi", "wsgi_app", "handle_one_request"};
  return WO_VIEW_ANY(frame->function, wo_view_starts, functions);
}

/* Whether a function reports a log record that it could not write. */
static bool is_logging(const struct wo_traceback_frame *frame) {
  return wo_view_starts(frame->function, "emit") && wo_view_ends(frame->file, "logging/__init__.py");
}

/* The user's is the innermost frame of the owner that the user can change most. */
static void keep_user_frame(struct wo__traceback *own, const struct wo_traceback_frame *frame, enum wo_traceback_owner owner) {
  keep_end(frame->file, own->user_file);
  keep_end(frame->function, own->user_function);
  own->user_line = frame->line;
  own->user_owner = owner;
}

/* A frame of a traceback whose event finds no room: what the next lines are depends on its place, and on its line of code. */
static void pass_frame(struct wo_open *open, struct wo_view text) {
  struct wo__traceback *const own = open->state;
  own->frame_indent = wo__traceback_indent(text);
  own->frames++;
  own->strays = own->launcher_lines = 0;
  own->last = WO__LAST_FRAME_PACKAGE;
  own->front_len = 0;
  own->frame_width = text.len;
  open->message_len = 0;
  append_frame_text(open, WO_VIEW("|"));
}

/* Python prints the most recent call last, so each frame replaces the one before as the innermost. The trailing bar waits for the
 * line of code that follows. */
void wo__traceback_take_frame(struct wo_open *open, struct wo_view text, const struct wo_traceback_frame *frame) {
  struct wo__traceback *const own = open->state;
  if (own->is_only_counted) {
    pass_frame(open, text);
    return;
  }
  const struct wo_traceback_home home = wo_traceback_home_of(frame->file);
  const enum wo_traceback_owner owner = home.owner;
  const bool is_inner = own->style != WO__STYLE_DEBUGGER || own->frames == 0;
  const bool is_kept = owner > WO_TRACEBACK_LIBRARY && (owner > own->user_owner || (owner == own->user_owner && is_inner));
  own->frame_indent = wo__traceback_indent(text);
  own->frames++;
  own->strays = own->launcher_lines = 0;
  own->last = is_kept ? WO__LAST_FRAME_USER : WO__LAST_FRAME_PACKAGE;
  own->is_contained = own->is_contained || is_logging(frame);
  own->is_caught = own->is_caught || is_serving(frame);
  if (is_inner) keep_end(frame->file, own->inner_file);
  if (is_inner) keep_end(frame->function, own->inner_function);
  own->front_len = 0;
  own->frame_width = text.len;
  if (is_kept) keep_user_frame(own, frame, owner);
  append_frame_text(open, WO_VIEW(";"));
  append_file(open, frame->file, home.is_package);
  append_frame_text(open, WO_VIEW("|"));
  append_frame_text(open, frame->function);
  append_frame_text(open, WO_VIEW("|"));
}

/* Bytes that a name holds before its NUL, with more behind them if there is room. */
static void lengthen(char name[WO__TRACEBACK_NAME_BYTES], struct wo_view rest) {
  const size_t len = strlen(name);
  if (len + rest.len < WO__TRACEBACK_NAME_BYTES) wo_view_copy(rest, name + len, WO__TRACEBACK_NAME_BYTES - len);
}

/* Takes a word at the left side as the end of the function's name that a terminal broke. Terminals are at least this wide. */
bool wo__traceback_take_rest_of_name(struct wo_open *open, struct wo_view text) {
  enum { WIDTH_MIN = 60 };
  struct wo__traceback *const own = open->state;
  const bool is_frame_open =
      open->message_len > 0 && open->message[open->message_len - 1] == '|' && own->frame_width >= WIDTH_MIN;
  size_t word = 0;
  while (word < text.len && wo_is_word(text.ptr[word])) word++;
  if (own->style != WO__STYLE_PYTHON || own->last == WO__LAST_OTHER || !is_frame_open || word == 0 || word < text.len)
    return false;
  if (wo_exception_class(text) > 0) return false;
  open->message_len--;
  append_frame_text(open, text);
  append_frame_text(open, WO_VIEW("|"));
  lengthen(own->inner_function, text);
  if (own->last == WO__LAST_FRAME_USER) lengthen(own->user_function, text);
  own->frame_width = 0;
  return true;
}

void wo__traceback_add_fields(const struct wo_open *open, struct wo_event *event) {
  const struct wo__traceback *const own = open->state;
  if (own->user_file[0] != '\0') {
    wo_event_set_text(open->store, event, WO_FIELD_FRAME_FILE, wo_view_of(own->user_file));
    wo_event_set_text(open->store, event, WO_FIELD_FRAME_FUNCTION, wo_view_of(own->user_function));
    wo_event_set_exact(open->store, event, WO_FIELD_FRAME_LINE, (double)own->user_line);
  }
  if (own->inner_file[0] != '\0') {
    wo_event_set_text(open->store, event, WO_FIELD_INNER_FILE, wo_view_of(own->inner_file));
    wo_event_set_text(open->store, event, WO_FIELD_INNER_FUNCTION, wo_view_of(own->inner_function));
  }
  if (open->message_len > 0) wo_event_set_text(open->store, event, WO_FIELD_FRAMES, wo_open_message(open));
  if (own->is_chained) wo_event_set_exact(open->store, event, WO_FIELD_IS_CHAINED, 1);
  if (own->is_caught || own->is_recorded)
    wo_event_set_exact(open->store, event, WO_FIELD_IS_CAUGHT, own->is_recorded ? WO_CAUGHT_RECORDED : 1);
  event->severity = open->first.prefix.severity;
}
