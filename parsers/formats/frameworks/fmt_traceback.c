/* Python tracebacks: frames, and the exception that ends them; and exceptions whose traceback was lost.
 *
 * Keeps the user's own innermost frame (outside installed packages and the interpreter), the innermost frame of all, and a short
 * list of the last frames from which the analyzer finds the phase. Reads tracebacks without their first line (cut logs), of
 * notebooks and of rich, and at any indentation (pytest, loggers, boxes). Chained tracebacks are told apart by the sentence
 * between them. */
#include <assert.h>
#include <stdio.h>

#include "parsers/formats/common/config_path.h"
#include "parsers/formats/frameworks/traceback_frame.h"

/* Bytes that are kept of a file's path and of a function's name. */
enum { NAME_BYTES = 256 };

enum last { LAST_OTHER, LAST_FRAME_USER, LAST_FRAME_PACKAGE };

/* How frames are written. Debuggers show the innermost frame first, below the exception. */
enum style { STYLE_PYTHON, STYLE_NOTEBOOK, STYLE_RICH, STYLE_DEBUGGER };

/* The frames so far; their list is the construct's message. Texts are empty before the first frame. */
struct traceback {
  enum style style;
  int64_t frame_indent; /* -1: none yet */
  uint64_t frames;
  int strays;
  enum last last;
  bool has_header;
  bool is_chained;
  bool is_contained;                  /* nothing depends on it: the program went on */
  bool is_caught;                     /* by a server, which goes on with the next request */
  int message_lines;                  /* after the exception, while its message is missing or goes on */
  char lead[NAME_BYTES];              /* a message that ends in a colon: the next line says what it is about */
  size_t frame_width;                 /* bytes of the newest frame's line */
  size_t front_len;                   /* of the message: the newest frame of a debugger, which stands in front */
  size_t outer_len;                   /* of the message: the outermost frames, which stay; 0 while all fit */
  enum wo_traceback_owner user_owner; /* of the frame that is kept as the user's */
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

#define DEBUGGER_HEADER "Exception has occurred: "

static bool has_header(struct wo_view text) {
  return wo_view_has(text, "Traceback (most recent call last)");
}

/* The end of a long path is kept, where the file's name is. */
static void keep_end(struct wo_view text, char buf[NAME_BYTES]) {
  wo_view_copy(wo_view_skip(text, text.len >= NAME_BYTES ? text.len - NAME_BYTES + 1 : 0), buf, NAME_BYTES);
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
  struct traceback *const own = open->state;
  if (own->outer_len == 0) own->outer_len = frame_start(open, OUTER_BYTES);
  const size_t from = frame_start(open, own->outer_len + (open->message_len - own->outer_len) / 2);
  memmove(open->message + own->outer_len, open->message + from, open->message_len - from);
  open->message_len -= from - own->outer_len;
}

/* A debugger's frames are kept in the order of Python, too; what finds no room is outermost. */
static void insert_frame_text(struct wo_open *open, struct wo_view text) {
  struct traceback *const own = open->state;
  char *const at = open->message + own->front_len;
  if (open->message_len + text.len + 2 > FRAMES_BYTES) return;
  memmove(at + text.len, at, open->message_len - own->front_len);
  memcpy(at, text.ptr, text.len);
  open->message_len += text.len;
  own->front_len += text.len;
}

/* Frames are kept as ";path|function|code" in the order of Python: the innermost last. */
static void append_frame_text(struct wo_open *open, struct wo_view text) {
  const struct traceback *const own = open->state;
  if (text.len > 300) text.len = 300;
  if (own->style == STYLE_DEBUGGER) {
    insert_frame_text(open, text);
    return;
  }
  if (open->message_len + text.len + 2 > FRAMES_BYTES) drop_middle(open);
  memcpy(open->message + open->message_len, text.ptr, text.len);
  open->message_len += text.len;
}

/* Separators of Windows become those of the others, so that one hint fits both. */
static void append_path(struct wo_open *open, struct wo_view path) {
  const struct traceback *const own = open->state;
  append_frame_text(open, path);
  const size_t end = own->style == STYLE_DEBUGGER ? own->front_len : open->message_len;
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
static void keep_user_frame(struct traceback *own, const struct wo_traceback_frame *frame, enum wo_traceback_owner owner) {
  keep_end(frame->file, own->user_file);
  keep_end(frame->function, own->user_function);
  own->user_line = frame->line;
  own->user_owner = owner;
}

/* Python prints the most recent call last, so each frame replaces the one before as the innermost. The trailing bar waits for the
 * line of code that follows. */
static void take_frame(struct wo_open *open, struct wo_view text, const struct wo_traceback_frame *frame) {
  struct traceback *const own = open->state;
  const enum wo_traceback_owner owner = wo_traceback_owner_of(frame->file);
  const bool is_package = owner == WO_TRACEBACK_LIBRARY || wo_traceback_is_package(frame->file);
  const bool is_inner = own->style != STYLE_DEBUGGER || own->frames == 0;
  const bool is_kept = owner > WO_TRACEBACK_LIBRARY && (owner > own->user_owner || (owner == own->user_owner && is_inner));
  own->frame_indent = indent_of(text);
  own->frames++;
  own->strays = 0;
  own->last = is_kept ? LAST_FRAME_USER : LAST_FRAME_PACKAGE;
  own->is_contained = own->is_contained || is_logging(frame);
  own->is_caught = own->is_caught || is_serving(frame);
  if (is_inner) keep_end(frame->file, own->inner_file);
  if (is_inner) keep_end(frame->function, own->inner_function);
  own->front_len = 0;
  own->frame_width = text.len;
  if (is_kept) keep_user_frame(own, frame, owner);
  append_frame_text(open, WO_VIEW(";"));
  append_file(open, frame->file, is_package);
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

/* Sentences with which servers report the exception of a request. */
static bool is_of_request(struct wo_view line) {
  static const char *const sentences[] = {"Exception in ASGI application", "Exception on /", "Error handling request",
                                          "Exception happened during processing of request", "Internal Server Error: /"};
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
  if (count > 0 && is_of_request(before[0])) own->is_caught = true;
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

/* Bytes of a frame that a terminal broke into lines. */
enum { WRAPPED_BYTES = 1024 };

/* The rest of a frame that a terminal broke at its right side, joined with the line before. False for anything else: the rest
 * begins at the left side, and the line before is no frame yet. */
static bool join_wrapped(const struct wo_open *open, struct wo_view text, char buf[WRAPPED_BYTES], struct wo_view *ret_joined) {
  char lines[WRAPPED_BYTES];
  struct wo_view before;
  if (text.len == 0 || wo_is_space(text.ptr[0]) || wo_view_starts(text, "File \"")) return false;
  if (wo_open_lines_before(open, 1, &before, lines, sizeof lines) != 1) return false;
  if (!wo_view_starts(wo_view_trim(before), "File \"") || before.len + text.len > WRAPPED_BYTES) return false;
  if (wo_view_has(before, "\", line ") && wo_view_has(before, ", in ")) return false;
  memcpy(buf, before.ptr, before.len);
  memcpy(buf + before.len, text.ptr, text.len);
  *ret_joined = (struct wo_view){buf, before.len + text.len};
  return true;
}

/* Takes the line as the end of a wrapped frame; false if it is none. */
static bool take_wrapped(struct wo_open *open, struct wo_view text) {
  char buf[WRAPPED_BYTES];
  struct wo_view joined;
  struct wo_traceback_frame frame;
  if (!join_wrapped(open, text, buf, &joined) || !wo_traceback_read(joined, &frame)) return false;
  take_frame(open, joined, &frame);
  return true;
}

/* Bytes that a name holds before its NUL, with more behind them if there is room. */
static void lengthen(char name[NAME_BYTES], struct wo_view rest) {
  const size_t len = strlen(name);
  if (len + rest.len < NAME_BYTES) wo_view_copy(rest, name + len, NAME_BYTES - len);
}

/* Takes a word at the left side as the end of the function's name that a terminal broke. Terminals are at least this wide. */
static bool take_rest_of_name(struct wo_open *open, struct wo_view text) {
  enum { WIDTH_MIN = 60 };
  struct traceback *const own = open->state;
  const bool is_frame_open =
      open->message_len > 0 && open->message[open->message_len - 1] == '|' && own->frame_width >= WIDTH_MIN;
  size_t word = 0;
  while (word < text.len && wo_is_word(text.ptr[word])) word++;
  if (own->style != STYLE_PYTHON || own->last == LAST_OTHER || !is_frame_open || word == 0 || word < text.len) return false;
  if (wo_exception_class(text) > 0) return false;
  open->message_len--;
  append_frame_text(open, text);
  append_frame_text(open, WO_VIEW("|"));
  lengthen(own->inner_function, text);
  if (own->last == LAST_FRAME_USER) lengthen(own->user_function, text);
  own->frame_width = 0;
  return true;
}

static bool read_frame(const struct traceback *own, struct wo_view text, struct wo_traceback_frame *ret_frame) {
  if (wo_traceback_read(text, ret_frame)) return true;
  if (own->style == STYLE_NOTEBOOK) return wo_traceback_read_notebook(text, ret_frame);
  return own->style == STYLE_RICH && wo_traceback_read_rich(text, ret_frame);
}

/* Whether the text has a letter: lines of dashes only divide. */
static bool has_letter(struct wo_view text) {
  for (size_t i = 0; i < text.len; i++) {
    if (wo_is_alpha(text.ptr[i])) return true;
  }
  return false;
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
  if (own->is_caught) wo_event_set_exact(open->store, event, WO_FIELD_IS_CAUGHT, 1);
  event->severity = open->first.prefix.severity;
}

/* ---- Tracebacks on one line ---- */

/* Where a frame begins, with its quotes escaped or not. */
static size_t frame_at(struct wo_view text) {
  const size_t plain = wo_view_find(text, WO_VIEW("File \""), 0);
  return plain != WO_NOT_FOUND ? plain : wo_view_find(text, WO_VIEW("File \\\""), 0);
}

/* Whether a whole traceback is on the line: escaped by a logger, or joined by a script that reports it. */
static bool is_joined(struct wo_view text) {
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

/* The frame that begins somewhere in the part: behind the words of a logger, or behind the header. */
static bool read_joined(struct wo_view part, struct wo_traceback_frame *ret_frame) {
  const size_t at = frame_at(part);
  return at != WO_NOT_FOUND && wo_traceback_read(wo_view_skip(part, at), ret_frame);
}

/* The exception ends the traceback; a line without one is something else. */
static enum wo_more begin_joined(struct wo_open *open) {
  struct traceback *const own = open->state;
  struct wo_view rest = open->line->text;
  while (rest.len > 0) {
    const struct wo_view part = next_part(&rest);
    struct wo_traceback_frame frame;
    const size_t class_len = own->frames > 0 ? wo_exception_class(part) : 0;
    if (read_joined(part, &frame)) {
      take_frame(open, part, &frame);
    } else if (class_len > 0) {
      struct wo_event *const event = wo_open_add(open, WO_KIND_TRACEBACK, part);
      if (!event) return WO_MORE_NO;
      wo_event_set_text(open->store, event, WO_FIELD_EXCEPTION, wo_view_sub(part, 0, class_len));
      set_message(open, event, wo_view_trim(wo_view_skip(part, class_len + 1)));
      add_fields(open, event);
      return WO_MORE_NO;
    } else if (own->last != LAST_OTHER && wo_view_trim(part).len > 0 && has_letter(part)) {
      append_frame_text(open, part);
      own->last = LAST_OTHER;
    }
  }
  return WO_MORE_NO;
}

/* ---- Tracebacks of several lines ---- */

/* A frame without a header is the rest of a traceback whose first lines were lost, by `tail` or by a pipe that filled up. */
static enum wo_more begin_traceback(struct wo_open *open, const struct wo_match *match) {
  struct traceback *const own = open->state;
  (void)match;
  struct wo_traceback_frame frame;
  const bool is_frame = wo_traceback_read(open->line->text, &frame);
  const bool is_debugger = wo_view_starts(open->line->text, DEBUGGER_HEADER);
  if (is_debugger) own->style = STYLE_DEBUGGER;
  own->has_header = is_debugger || has_header(open->line->text);
  own->frame_indent = -1;
  if (is_joined(open->line->text)) return begin_joined(open);
  if (!is_frame && !own->has_header) return take_wrapped(open, open->line->text) ? WO_MORE_YES : WO_MORE_NO;
  note_what_went_before(open);
  wo_view_copy(open->line->text, own->first, sizeof own->first);
  const bool is_plain = is_frame || own->style == STYLE_DEBUGGER || wo_view_starts(open->line->text, "Traceback");
  if (!is_plain) own->style = style_of(open->line->text);
  if (is_frame) take_frame(open, open->line->text, &frame);
  return WO_MORE_YES;
}

/* Whether the logger calls what the record holds no error: the program chose another way and goes on. */
static bool is_mild(enum wo_severity severity) {
  return wo_severity_is_below(severity, WO_SEVERITY_ERROR);
}

/* The event is at the exception's line, where other patterns find the memory failure that it reports; that line connects the
 * two. A message may begin below it. */
static enum wo_more add_traceback(struct wo_open *open, size_t class_len) {
  struct traceback *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  const struct wo_view message = wo_view_trim(wo_view_skip(text, class_len > 0 ? class_len + 1 : 0));
  struct wo_event *const event = wo_open_add(open, WO_KIND_TRACEBACK, open->line->text);
  if (!event) return WO_MORE_NO;
  if (own->is_contained || is_mild(open->first.prefix.severity)) event->is_quoted = true;
  if (class_len > 0) wo_event_set_text(open->store, event, WO_FIELD_EXCEPTION, wo_view_sub(text, 0, class_len));
  add_fields(open, event);
  open->event = event->id;
  own->message_lines = 1;
  if (message.len == 0 && class_len < text.len) return WO_MORE_YES;
  if (wo_view_ends(message, ":") && message.len < NAME_BYTES) {
    wo_view_copy(message, own->lead, sizeof own->lead);
    return WO_MORE_YES;
  }
  set_message(open, event, message);
  return WO_MORE_NO;
}

/* The message, from its first line if that was not all. */
static void set_whole_message(const struct wo_open *open, struct wo_view rest) {
  const struct traceback *const own = open->state;
  char whole[2 * NAME_BYTES];
  snprintf(whole, sizeof whole, "%s%s%.*s", own->lead, own->lead[0] != '\0' && rest.len > 0 ? " " : "",
           (int)wo_view_sub(rest, 0, NAME_BYTES - 2).len, rest.ptr ? rest.ptr : "");
  struct wo_event *const event = wo_open_event(open);
  if (event) set_message(open, event, wo_view_of(whole));
}

/* A line after an exception whose message is missing. */
static enum wo_more take_message(struct wo_open *open) {
  struct traceback *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  struct wo_traceback_frame frame;
  if (read_frame(own, open->line->text, &frame) || has_header(text)) return WO_MORE_NO_UNREAD;
  if (has_letter(text)) {
    if (own->lead[0] == '\0') set_message(open, wo_open_event(open), text);
    if (own->lead[0] != '\0') set_whole_message(open, text);
    return WO_MORE_NO;
  }
  return ++own->message_lines > MESSAGE_LINES ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* Code around a frame: with numbers before it, or an arrow. */
static bool take_numbered_code(struct wo_open *open, struct wo_view text) {
  struct traceback *const own = open->state;
  uint64_t line = 0;
  struct wo_view code;
  if (own->style == STYLE_PYTHON || own->style == STYLE_DEBUGGER || own->frames == 0) return false;
  if (wo_traceback_read_arrow(text, &line, &code)) {
    if (own->last == LAST_FRAME_USER && own->user_line == 0) own->user_line = line;
    append_frame_text(open, code);
    own->last = LAST_OTHER;
    return true;
  }
  return own->style == STYLE_RICH ? text.ptr != open->line->text.ptr : indent_of(text) > 0 || wo_is_digit(text.ptr[0]);
}

/* A program that prints the stack and then str(exception) leaves out the class. */
static bool is_message_alone(struct wo_view text) {
  static const char *const messages[] = {"CUDA out of memory",  "HIP out of memory",         "XPU out of memory",
                                         "NPU out of memory",   "MPS backend out of memory", "CUDA error: out of memory",
                                         "Allocation on device"};
  return WO_VIEW_ANY(text, wo_view_starts, messages);
}

/* The exception of a debugger stands on the first line, which is gone from the buffer. */
static void add_inverted(struct wo_open *open) {
  const struct traceback *const own = open->state;
  struct wo_line line = open->first;
  line.full = WO_VIEW("Exception has occurred");
  struct wo_event *const event = wo_scan_add_event(open->scan, &line, open->pattern, WO_KIND_TRACEBACK, 0, line.full.len);
  if (event && own->frames > 0) add_fields(open, event);
}

/* A line that is neither frame nor code: the exception, when its indentation is that of the traceback. */
static enum wo_more take_other(struct wo_open *open, struct wo_view text) {
  struct traceback *const own = open->state;
  const bool is_outside = indent_of(open->line->text) < own->frame_indent || own->frame_indent <= 0;
  if (wo_view_trim(text).len == 0 || !is_outside) return WO_MORE_YES;
  const size_t class_len = wo_exception_class(wo_view_trim(text));
  if (own->frames > 0 && (class_len > 0 || is_message_alone(wo_view_trim(text)))) return add_traceback(open, class_len);
  if (own->style == STYLE_DEBUGGER && own->frames > 0) {
    add_inverted(open);
    return WO_MORE_NO_UNREAD;
  }
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
  if (take_wrapped(open, text) || take_rest_of_name(open, text)) return WO_MORE_YES;
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
  if (own->message_lines > 0 && own->lead[0] != '\0') set_whole_message(open, (struct wo_view){0});
  if (own->message_lines > 0 || !is_traceback(own, open->lines) || own->strays > 0 || !wo_scan_is_at_end(open->scan)) return;
  if (own->style == STYLE_DEBUGGER) {
    add_inverted(open);
    return;
  }
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
