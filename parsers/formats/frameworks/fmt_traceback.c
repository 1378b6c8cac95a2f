/* Python tracebacks: frames, and the exception that ends them.
 *
 * Keeps the user's own innermost frame (outside installed packages and the interpreter), the innermost frame of all, and a short
 * list of the last frames from which the analyzer finds the phase. Reads tracebacks without their first line (cut logs) and at
 * any indentation (pytest, loggers, boxes). Chained tracebacks are told apart by the sentence between them. */
#include <assert.h>

#include "parsers/formats/common/config_path.h"

/* Bytes that are kept of a file's path and of a function's name. */
enum { NAME_BYTES = 256 };

enum last { LAST_OTHER, LAST_FRAME_USER, LAST_FRAME_PACKAGE };

/* The frames so far; their list is the construct's message. Texts are empty before the first frame. */
struct traceback {
  int64_t frame_indent; /* -1: none yet */
  uint64_t frames;
  int strays;
  enum last last;
  bool is_chained, is_ignored;
  uint64_t user_line;
  char user_file[NAME_BYTES], user_function[NAME_BYTES];
  char inner_file[NAME_BYTES], inner_function[NAME_BYTES];
};

/* A traceback that goes on longer than this is no traceback. */
#define TRACEBACK_LINES 600

/* Lines of other text that may be between two frames before the reader gives up (ranks without prefixes writing at once). */
#define STRAY_LINES 6

struct frame {
  struct wo_view file;
  uint64_t line;
  struct wo_view function;
};

static int64_t indent_of(struct wo_view text) {
  return (int64_t)wo_config_indent(text);
}

/* Reads `File "path", line 12, in function`. */
static bool read_frame(struct wo_view text, struct frame *ret_frame) {
  struct wo_view in = wo_view_trim(text);
  if (!wo_view_starts(in, "File \"")) return false;
  in = wo_view_skip(in, 6);
  const size_t quote = wo_view_find(in, WO_VIEW("\", line "), 0);
  if (quote == WO_NOT_FOUND) return false;
  ret_frame->file = wo_view_sub(in, 0, quote);
  in = wo_view_skip(in, quote + 8);
  if (wo_number_u64(&in, 100000000, &ret_frame->line) != WO_OK) return false;
  ret_frame->function = wo_view_starts(in, ", in ") ? wo_view_trim(wo_view_skip(in, 5)) : WO_VIEW("?");
  return true;
}

/* Code of installed packages and of the interpreter, which a user does not change. */
static bool is_package_file(struct wo_view file) {
  static const char *const marks[] = {"site-packages", "dist-packages", "/lib/python3",    "\\lib\\python",
                                      "<frozen",       "<string>",      "/torch/",         "<__array_function__",
                                      "\\Lib\\",       "/runpy.py",     "/megatron/core/", "importlib"};
  return WO_VIEW_ANY(file, wo_view_has, marks);
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

/* Python prints the most recent call last, so each frame replaces the one before as the innermost. The trailing bar waits for the
 * line of code that follows. */
static void take_frame(struct wo_open *open, struct wo_view text, const struct frame *frame) {
  struct traceback *const own = open->state;
  const bool is_package = is_package_file(frame->file);
  own->frame_indent = indent_of(text);
  own->frames++;
  own->strays = 0;
  own->last = is_package ? LAST_FRAME_PACKAGE : LAST_FRAME_USER;
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

/* Length of the exception's class at the start of `text` ("torch.OutOfMemoryError"), or 0. A class is a dotted name followed by
 * ':' or the end, whose last part looks like one. */
static size_t read_exception_class(struct wo_view text) {
  size_t at = 0;
  size_t last = 0;
  while (at < text.len && (wo_is_word(text.ptr[at]) || text.ptr[at] == '.')) {
    if (text.ptr[at] == '.') last = at + 1;
    at++;
  }
  if (at == last || (at < text.len && text.ptr[at] != ':')) return 0;
  static const char *const parts[] = {"Error",   "Exception", "Exit",  "Interrupt", "Iteration",
                                      "Warning", "Failure",   "OutOf", "Died",      "Timeout"};
  const struct wo_view name = wo_view_sub(text, last, at);
  if (WO_VIEW_ANY(name, wo_view_has, parts)) return at;
  /* Some libraries name exceptions freely: a dotted name with a capital at the end of the dots. */
  return last > 0 && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z' ? at : 0;
}

/* Python prints one of two sentences and an empty line between tracebacks that belong together, and "Exception ignored in:
 * <function ...>" right above one that it swallowed. */
static void note_what_went_before(struct wo_open *open) {
  struct traceback *const own = open->state;
  char buf[3][512];
  struct wo_view before[3];
  const size_t count = wo_open_lines_before(open, 3, before, buf[0], sizeof buf[0]);
  for (size_t i = 0; i < count; i++) {
    if (wo_view_has(before[i], "During handling of the above exception") ||
        wo_view_has(before[i], "direct cause of the following")) {
      own->is_chained = 1;
    }
  }
  if (count > 0 && wo_view_has(before[0], "Exception ignored in")) own->is_ignored = 1;
}

/* A frame without a header is the rest of a traceback whose first lines were lost, by `tail` or by a pipe that filled up. */
static enum wo_more begin_traceback(struct wo_open *open, const struct wo_match *match) {
  struct traceback *const own = open->state;
  (void)match;
  struct frame frame;
  const bool is_frame = read_frame(open->line->text, &frame);
  if (!is_frame && !wo_view_has(open->line->text, "Traceback (most recent call last)")) return WO_MORE_NO;
  note_what_went_before(open);
  own->frame_indent = -1;
  if (is_frame) take_frame(open, open->line->text, &frame);
  return WO_MORE_YES;
}

/* The message is cut: exceptions of torch.compile and of Ray hold whole programs or other tracebacks. */
static void add_fields(const struct wo_open *open, struct wo_event *event, struct wo_view exception, struct wo_view message) {
  struct traceback *const own = open->state;
  wo_event_set_text(open->store, event, WO_FIELD_EXCEPTION, exception);
  wo_event_set_text(open->store, event, WO_FIELD_MESSAGE, wo_view_sub(message, 0, 400));
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
}

/* The event is at the exception's line, where other patterns find the memory failure that it reports; that line connects the
 * two. */
static void add_traceback(struct wo_open *open, size_t class_len) {
  struct traceback *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  const struct wo_view message = wo_view_trim(wo_view_skip(text, class_len + 1));
  struct wo_event *event = wo_open_add(open, WO_KIND_TRACEBACK, open->line->text);
  if (!event) return;
  if (own->is_ignored) event->is_quoted = true;
  add_fields(open, event, wo_view_sub(text, 0, class_len), message);
}

/* A line that is neither frame nor code: the exception, when its indentation is that of the traceback. */
static enum wo_more take_other(struct wo_open *open) {
  struct traceback *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  const bool is_outside = indent_of(open->line->text) < own->frame_indent || own->frame_indent <= 0;
  if (text.len == 0 || !is_outside) return WO_MORE_YES;
  const size_t class_len = read_exception_class(text);
  if (class_len > 0 && own->frames > 0) {
    add_traceback(open, class_len);
    return WO_MORE_NO;
  }
  return ++own->strays > STRAY_LINES ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* Code comes right after its frame and deeper than it. From Python 3.11 on a line of carets (~~~^^^) follows it, deeper still,
 * and is skipped by its indentation. */
static enum wo_more feed_traceback(struct wo_open *open) {
  struct traceback *const own = open->state;
  if (open->lines > TRACEBACK_LINES) return WO_MORE_NO_UNREAD;
  struct frame frame;
  if (read_frame(open->line->text, &frame)) {
    take_frame(open, open->line->text, &frame);
    return WO_MORE_YES;
  }
  if (wo_view_has(open->line->text, "Traceback (most recent call last)")) {
    /* A header without an exception before it: another traceback starts, this one was cut. */
    return own->frames > 0 ? WO_MORE_NO_UNREAD : WO_MORE_YES;
  }
  const bool is_code = own->last != LAST_OTHER && indent_of(open->line->text) > own->frame_indent;
  if (is_code) {
    append_frame_text(open, wo_view_trim(open->line->text));
    own->last = LAST_OTHER;
    return WO_MORE_YES;
  }
  return take_other(open);
}

const struct wo_format wo__format_traceback = {
    .name = "traceback",
    .state_bytes = sizeof(struct traceback),
    .begin = begin_traceback,
    .feed = feed_traceback,
};
