/* Python tracebacks: frames, and the exception that ends them; and exceptions whose traceback was lost.
 *
 * Keeps the user's own innermost frame (outside installed packages and the interpreter), the innermost frame of all, and a short
 * list of the last frames from which the analyzer finds the phase. Reads tracebacks without their first line (cut logs), of
 * notebooks and of rich, and at any indentation (pytest, loggers, boxes). Chained tracebacks are told apart by the sentence
 * between them. */
#include <assert.h>

#include "parsers/formats/common/config_path.h"
#include "parsers/formats/frameworks/traceback_frame.h"

/* Bytes that are kept of a file's path and of a function's name. */
enum { NAME_BYTES = 256 };

enum last { LAST_OTHER, LAST_FRAME_USER, LAST_FRAME_PACKAGE };

/* How frames are written. */
enum style { STYLE_PYTHON, STYLE_NOTEBOOK, STYLE_RICH };

/* The frames so far; their list is the construct's message. Texts are empty before the first frame. */
struct traceback {
  enum style style;
  int64_t frame_indent; /* -1: none yet */
  uint64_t frames;
  int strays;
  enum last last;
  bool has_header;
  bool is_chained;
  bool is_contained; /* the program went on: something above caught it, or nothing depends on it */
  int message_lines; /* after the exception, while its message is missing */
  uint64_t user_line;
  char first[NAME_BYTES]; /* line, without its prefix */
  char user_file[NAME_BYTES], user_function[NAME_BYTES];
  char inner_file[NAME_BYTES], inner_function[NAME_BYTES];
};

/* A traceback that goes on longer than this is no traceback. */
#define TRACEBACK_LINES 600

/* Lines of other text that may be between two frames before the reader gives up (ranks without prefixes writing at once). */
#define STRAY_LINES 6

/* Lines after an exception's name in which its message may begin. */
#define MESSAGE_LINES 4

static int64_t indent_of(struct wo_view text) {
  return (int64_t)wo_config_indent(text);
}

static bool has_header(struct wo_view text) {
  return wo_view_has(text, "Traceback (most recent call last)");
}

/* The end of a long path is kept, where the file's name is. */
static void keep_end(struct wo_view text, char buf[NAME_BYTES]) {
  wo_view_copy(wo_view_skip(text, text.len >= NAME_BYTES ? text.len - NAME_BYTES + 1 : 0), buf, NAME_BYTES);
}

/* The last components of a path distinguish frames; whole paths would fill the room. */
static struct wo_view short_path(struct wo_view path) {
  size_t at = path.len;
  for (int slashes = 0; at > 0; at--) {
    if ((path.ptr[at - 1] == '/' || path.ptr[at - 1] == '\\') && ++slashes == 4) break;
  }
  return wo_view_skip(path, at);
}

/* Frames are kept as "path|function|code;" in the order printed; when room runs out, the oldest half is dropped. */
static void append_frame_text(struct wo_open *open, struct wo_view text) {
  if (text.len > 300) text.len = 300;
  if (open->message_len + text.len + 2 > WO_LIMIT_MESSAGE_BYTES / 2) {
    const size_t half = open->message_len / 2;
    memmove(open->message, open->message + half, open->message_len - half);
    open->message_len -= half;
  }
  memcpy(open->message + open->message_len, text.ptr, text.len);
  open->message_len += text.len;
}

/* Whether a function catches every exception of what it calls, reports it and goes on. */
static bool is_catching_all(const struct wo_traceback_frame *frame) {
  static const char *const functions[] = {"run_asgi", "run_wsgi", "wsgi_app", "handle_one_request"};
  if (WO_VIEW_ANY(frame->function, wo_view_starts, functions)) return true;
  return wo_view_starts(frame->function, "emit") && wo_view_ends(frame->file, "logging/__init__.py");
}

/* Python prints the most recent call last, so each frame replaces the one before as the innermost. The trailing bar waits for the
 * line of code that follows. */
static void take_frame(struct wo_open *open, struct wo_view text, const struct wo_traceback_frame *frame) {
  struct traceback *const own = open->state;
  const bool is_package = wo_traceback_is_package(frame->file);
  own->frame_indent = indent_of(text);
  own->frames++;
  own->strays = 0;
  own->last = is_package ? LAST_FRAME_PACKAGE : LAST_FRAME_USER;
  own->is_contained = own->is_contained || is_catching_all(frame);
  keep_end(frame->file, own->inner_file);
  keep_end(frame->function, own->inner_function);
  if (!is_package) {
    keep_end(frame->file, own->user_file);
    keep_end(frame->function, own->user_function);
    own->user_line = frame->line;
  }
  append_frame_text(open, WO_VIEW(";"));
  append_frame_text(open, short_path(frame->file));
  append_frame_text(open, WO_VIEW("|"));
  append_frame_text(open, frame->function);
  append_frame_text(open, WO_VIEW("|"));
}

/* Sentences right above a traceback that nothing depends on: of a destructor, of a log record that could not be formatted, of a
 * task that nobody waits for. */
static bool is_containing(struct wo_view line) {
  static const char *const sentences[] = {"Exception ignored in", "--- Logging error ---", "exception was never retrieved"};
  return WO_VIEW_ANY(line, wo_view_has, sentences);
}

/* Python prints one of two sentences and an empty line between tracebacks that belong together. */
static void note_what_went_before(struct wo_open *open) {
  struct traceback *const own = open->state;
  char buf[3][512];
  struct wo_view before[3];
  const size_t count = wo_open_lines_before(open, 3, before, buf[0], sizeof buf[0]);
  for (size_t i = 0; i < count; i++) {
    if (wo_view_has(before[i], "During handling of the above exception") ||
        wo_view_has(before[i], "direct cause of the following")) {
      own->is_chained = true;
    }
  }
  if (count > 0 && is_containing(before[0])) own->is_contained = true;
}

/* The forms in which the header is written: alone, behind the exception's class (notebooks), in the frame of a box (rich). */
static enum style style_of(struct wo_view text) {
  const struct wo_view before = wo_view_trim(wo_view_sub(text, 0, wo_view_find(text, WO_VIEW("Traceback"), 0)));
  if (wo_view_has(before, "\xe2\x94\x80")) return STYLE_RICH; /* U+2500 */
  return wo_exception_class(before) == before.len && before.len > 0 ? STYLE_NOTEBOOK : STYLE_PYTHON;
}

/* The line as a reader of frames wants it: without the sides of rich's box. */
static struct wo_view text_of(const struct wo_open *open) {
  const struct traceback *const own = open->state;
  return own->style == STYLE_RICH ? wo_prefix_unbox(open->line->text) : open->line->text;
}

static bool read_frame(const struct traceback *own, struct wo_view text, struct wo_traceback_frame *ret_frame) {
  if (wo_traceback_read(text, ret_frame)) return true;
  if (own->style == STYLE_NOTEBOOK) return wo_traceback_read_notebook(text, ret_frame);
  return own->style == STYLE_RICH && wo_traceback_read_rich(text, ret_frame);
}

/* A frame without a header is the rest of a traceback whose first lines were lost, by `tail` or by a pipe that filled up. */
static enum wo_more begin_traceback(struct wo_open *open, const struct wo_match *match) {
  struct traceback *const own = open->state;
  (void)match;
  struct wo_traceback_frame frame;
  const bool is_frame = wo_traceback_read(open->line->text, &frame);
  own->has_header = has_header(open->line->text);
  if (!is_frame && !own->has_header) return WO_MORE_NO;
  note_what_went_before(open);
  wo_view_copy(open->line->text, own->first, sizeof own->first);
  own->frame_indent = -1;
  const bool is_plain = is_frame || wo_view_starts(open->line->text, "Traceback");
  if (!is_plain) own->style = style_of(open->line->text);
  if (is_frame) take_frame(open, open->line->text, &frame);
  return WO_MORE_YES;
}

/* The message is cut: exceptions of torch.compile and of Ray hold whole programs or other tracebacks. */
static void set_message(const struct wo_open *open, struct wo_event *event, struct wo_view message) {
  wo_event_set_text(open->store, event, WO_FIELD_MESSAGE, wo_view_sub(message, 0, 400));
}

static void add_fields(const struct wo_open *open, struct wo_event *event) {
  const struct traceback *const own = open->state;
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
  event->severity = open->first.prefix.severity;
}

/* Whether the logger calls what the record holds no error: the program chose another way and goes on. */
static bool is_mild(enum wo_severity severity) {
  return severity != WO_SEVERITY_NONE && severity < WO_SEVERITY_ERROR;
}

/* The event is at the exception's line, where other patterns find the memory failure that it reports; that line connects the
 * two. A message may begin below it. */
static enum wo_more add_traceback(struct wo_open *open, size_t class_len) {
  struct traceback *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  const struct wo_view message = wo_view_trim(wo_view_skip(text, class_len + 1));
  struct wo_event *const event = wo_open_add(open, WO_KIND_TRACEBACK, open->line->text);
  if (!event) return WO_MORE_NO;
  if (own->is_contained || is_mild(open->first.prefix.severity)) event->is_quoted = true;
  wo_event_set_text(open->store, event, WO_FIELD_EXCEPTION, wo_view_sub(text, 0, class_len));
  add_fields(open, event);
  open->event = event->id;
  own->message_lines = 1;
  if (message.len == 0 && class_len < text.len) return WO_MORE_YES;
  set_message(open, event, message);
  return WO_MORE_NO;
}

/* Whether the text has a letter: lines of dashes only divide. */
static bool has_letter(struct wo_view text) {
  for (size_t i = 0; i < text.len; i++) {
    if (wo_is_alpha(text.ptr[i])) return true;
  }
  return false;
}

/* A line after an exception whose message is missing. */
static enum wo_more take_message(struct wo_open *open) {
  struct traceback *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  struct wo_traceback_frame frame;
  if (read_frame(own, open->line->text, &frame) || has_header(text)) return WO_MORE_NO_UNREAD;
  if (has_letter(text)) {
    set_message(open, wo_open_event(open), text);
    return WO_MORE_NO;
  }
  return ++own->message_lines > MESSAGE_LINES ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* Code around a frame: with numbers before it, or an arrow. */
static bool take_numbered_code(struct wo_open *open, struct wo_view text) {
  struct traceback *const own = open->state;
  uint64_t line = 0;
  struct wo_view code;
  if (own->style == STYLE_PYTHON || own->frames == 0) return false;
  if (wo_traceback_read_arrow(text, &line, &code)) {
    if (own->last == LAST_FRAME_USER && own->user_line == 0) own->user_line = line;
    append_frame_text(open, code);
    own->last = LAST_OTHER;
    return true;
  }
  return own->style == STYLE_RICH ? text.ptr != open->line->text.ptr : indent_of(text) > 0 || wo_is_digit(text.ptr[0]);
}

/* A line that is neither frame nor code: the exception, when its indentation is that of the traceback. */
static enum wo_more take_other(struct wo_open *open, struct wo_view text) {
  struct traceback *const own = open->state;
  const bool is_outside = indent_of(open->line->text) < own->frame_indent || own->frame_indent <= 0;
  if (wo_view_trim(text).len == 0 || !is_outside) return WO_MORE_YES;
  const size_t class_len = wo_exception_class(wo_view_trim(text));
  if (class_len > 0 && own->frames > 0) return add_traceback(open, class_len);
  return ++own->strays > STRAY_LINES ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* Code comes right after its frame and deeper than it. From Python 3.11 on a line of carets (~~~^^^) follows it, deeper still,
 * and is skipped by its indentation. */
static enum wo_more feed_traceback(struct wo_open *open) {
  struct traceback *const own = open->state;
  const struct wo_view text = text_of(open);
  struct wo_traceback_frame frame;
  if (open->lines > TRACEBACK_LINES) return WO_MORE_NO_UNREAD;
  if (own->message_lines > 0) return take_message(open);
  if (read_frame(own, text, &frame)) {
    take_frame(open, text, &frame);
    return WO_MORE_YES;
  }
  if (has_header(text)) {
    /* A header without an exception before it: another traceback starts, this one was cut. */
    return own->frames > 0 ? WO_MORE_NO_UNREAD : WO_MORE_YES;
  }
  if (text.len > 0 && take_numbered_code(open, text)) return WO_MORE_YES;
  const bool is_code = own->last != LAST_OTHER && indent_of(text) > own->frame_indent;
  if (is_code) {
    append_frame_text(open, wo_view_trim(text));
    own->last = LAST_OTHER;
    return WO_MORE_YES;
  }
  return take_other(open, text);
}

/* Whether enough of a traceback was there: its header, right at the end or with a frame, or two frames without one. */
static bool is_traceback(const struct traceback *own, uint32_t lines) {
  return own->has_header ? own->frames > 0 || lines == 0 : own->frames > 1;
}

/* The input ends inside of the traceback: which exception it was is lost, that there was one is not. Behind other text the
 * exception may be among that. */
static void finish_traceback(struct wo_open *open) {
  struct traceback *const own = open->state;
  if (own->message_lines > 0 || !is_traceback(own, open->lines) || own->strays > 0 || !wo_scan_is_at_end(open->scan)) return;
  struct wo_line line = open->first;
  line.full = wo_view_of(own->first);
  struct wo_event *const event =
      wo_scan_add_event(open->scan, &line, open->pattern, WO_KIND_TRACEBACK, line.prefix.length, line.full.len);
  if (!event) return;
  if (own->is_contained || is_mild(open->first.prefix.severity)) event->is_quoted = true;
  add_fields(open, event);
}

const struct wo_format wo__format_traceback = {
    .name = "traceback",
    .state_bytes = sizeof(struct traceback),
    .begin = begin_traceback,
    .feed = feed_traceback,
    .finish = finish_traceback,
};

/* ---- Exceptions without a traceback ---- */

/* Whether a traceback that was read just now ends on this line. */
static bool is_read_already(const struct wo_open *open) {
  for (size_t i = open->store->count; i-- > 0 && open->store->items[i].span.line == open->line->number;) {
    if (open->store->items[i].kind == WO_KIND_TRACEBACK) return true;
  }
  return false;
}

/* Warnings are exceptions too, and go on; "Error: 0.31" is a figure. */
static bool is_named(struct wo_view name, struct wo_view message) {
  const size_t dot = wo_view_find_last(name, WO_VIEW("."), name.len);
  const struct wo_view last = wo_view_skip(name, dot == WO_NOT_FOUND ? 0 : dot + 1);
  const bool is_plain = wo_view_is(last, "Error") || wo_view_is(last, "Exception") || wo_view_is(last, "Timeout");
  if (last.len == 0 || last.ptr[0] < 'A' || last.ptr[0] > 'Z' || wo_view_ends(last, "Warning")) return false;
  return !is_plain && has_letter(message);
}

/* Whether the message says that the program goes on without. */
static bool is_given_up(struct wo_view message) {
  static const char *const words[] = {"alling back", "skipping", "Skipping", "ignoring", "Ignoring", "ignored", "etrying"};
  return WO_VIEW_ANY(message, wo_view_has, words);
}

/* What is left of a failure when only its last line was pasted, kept by `tail`, or handed to a logger. */
static enum wo_more begin_exception(struct wo_open *open, const struct wo_match *match) {
  (void)match;
  const struct wo_view text = open->line->text;
  const size_t class_len = wo_exception_class(text);
  if (class_len == 0 || class_len == text.len || is_mild(open->line->prefix.severity) || is_read_already(open)) return WO_MORE_NO;
  const struct wo_view message = wo_view_trim(wo_view_skip(text, class_len + 1));
  if (!is_named(wo_view_sub(text, 0, class_len), message) || is_given_up(message)) return WO_MORE_NO;
  struct wo_event *const event = wo_open_add(open, WO_KIND_TRACEBACK, text);
  if (!event) return WO_MORE_NO;
  wo_event_set_text(open->store, event, WO_FIELD_EXCEPTION, wo_view_sub(text, 0, class_len));
  set_message(open, event, message);
  wo_event_set_exact(open->store, event, WO_FIELD_IS_BARE, 1);
  return WO_MORE_NO;
}

const struct wo_format wo__format_exception = {.name = "exception", .begin = begin_exception};
