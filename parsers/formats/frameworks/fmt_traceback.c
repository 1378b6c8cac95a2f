/* SPDX-License-Identifier: Apache-2.0 */
/* Python tracebacks: frames, and the exception that ends them.
 *
 * Reads tracebacks without their first line (cut logs), of notebooks and of rich, and at any indentation (pytest, loggers,
 * boxes). Chained tracebacks are told apart by the sentence between them. */
#include <stdio.h>

#include "parsers/formats/frameworks/exception_line.h"
#include "parsers/formats/frameworks/traceback.h"

/* A traceback that goes on longer than this is no traceback. */
#define TRACEBACK_LINES 600

/* Lines of other text that may be between two frames before the reader gives up (ranks without prefixes writing at once). */
#define STRAY_LINES 6

/* Lines of srun below a traceback whose exception was lost: of the task, and of the step. */
#define LAUNCHER_LINES 3

/* Lines after an exception's name in which its message may begin. */
#define MESSAGE_LINES 4

#define DEBUGGER_HEADER "Exception has occurred: "

static bool has_header(struct wo_view text) {
  return wo_view_has(text, "Traceback (most recent call last)");
}

/* Sentences right above a traceback that nothing depends on: of a destructor, of a log record that could not be formatted, of a
 * task that nobody waits for, of a callback, below which its handle is named. */
static bool is_containing(struct wo_view line) {
  static const char *const sentences[] = {"Exception ignored in", "--- Logging error ---", "exception was never retrieved",
                                          "Exception in callback"};
  return WO_VIEW_ANY(line, wo_view_has, sentences);
}

/* Sentences with which servers report the exception of a request. */
static bool is_of_request(struct wo_view line) {
  static const char *const sentences[] = {"Exception in ASGI application", "Exception on /", "Error handling request",
                                          "Exception happened during processing of request", "Internal Server Error: /"};
  return WO_VIEW_ANY(line, wo_view_has, sentences);
}

/* Whether the traceback begins in the module that was started: a handler sees the frames below itself only. */
static bool is_from_start(const struct wo_open *open) {
  const struct wo_view frames = wo_open_message(open);
  const size_t end = wo_view_find_char(frames, ';', 1);
  return wo_view_has(wo_view_sub(frames, 0, end == WO_NOT_FOUND ? frames.len : end), "|<module>|");
}

/* Whether the record above the traceback tells of its exception, which was caught then: it has its name or its words. Any other
 * record, also one that tells of another exception, may stand above that of which a program dies. */
static bool is_of_record(const struct wo_open *open, struct wo_view name, struct wo_view message) {
  enum { TELLING_BYTES = 12, COMPARED_BYTES = 40 };
  const struct wo__traceback *const own = open->state;
  const struct wo_view record = wo_view_of(own->record);
  const struct wo_view start = wo_view_sub(message, 0, COMPARED_BYTES);
  if (record.len == 0 || is_from_start(open)) return false;
  if (start.len >= TELLING_BYTES) return wo_view_find(record, start, 0) != WO_NOT_FOUND;
  return name.len > 0 && wo_view_find(record, name, 0) != WO_NOT_FOUND;
}

/* Python prints one of two sentences and an empty line between tracebacks that belong together. */
static void note_what_went_before(struct wo_open *open) {
  struct wo__traceback *const own = open->state;
  char buf[3][512];
  struct wo_view before[3];
  enum wo_severity severity = WO_SEVERITY_NONE; /* of the nearest line */
  const size_t count = wo_open_severe_lines_before(open, 3, before, buf[0], sizeof buf[0], &severity);
  for (size_t i = 0; i < count; i++) {
    if (wo_view_has(before[i], "During handling of the above exception") ||
        wo_view_has(before[i], "direct cause of the following")) {
      own->is_chained = true;
    }
  }
  /* TensorFlow 1 adds to its message where the operation was made. */
  own->is_origin = count > 0 && !own->has_header && wo_view_ends(wo_view_trim(before[0]), "defined at:");
  if (own->is_origin) own->is_chained = true;
  const size_t sentence = count > 1 && wo_view_starts(before[0], "handle: <") ? 1 : 0;
  if (count > 0 && is_containing(before[sentence])) own->is_contained = true;
  if (count > 0 && is_of_request(before[0])) own->is_caught = true;
  if (count > 0 && wo_severity_is_below(severity, WO_SEVERITY_ERROR)) wo_view_copy(before[0], own->record, sizeof own->record);
}

/* The forms in which the header is written: alone, behind the exception's class (notebooks), in the frame of a box (rich). */
static enum wo__traceback_style style_of(struct wo_view text) {
  const struct wo_view before = wo_view_trim(wo_view_sub(text, 0, wo_view_find(text, WO_VIEW("Traceback"), 0)));
  if (wo_view_has(before, "\xe2\x94\x80")) return WO__STYLE_RICH; /* U+2500 */
  return wo_exception_class(before) == before.len && before.len > 0 ? WO__STYLE_NOTEBOOK : WO__STYLE_PYTHON;
}

/* The line as a reader of frames wants it: without the sides of rich's box. */
static struct wo_view text_of(const struct wo_open *open) {
  const struct wo__traceback *const own = open->state;
  return own->style == WO__STYLE_RICH ? wo_prefix_unbox(open->line->text) : open->line->text;
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
  wo__traceback_take_frame(open, joined, &frame);
  return true;
}

static bool read_frame(const struct wo__traceback *own, struct wo_view text, struct wo_traceback_frame *ret_frame) {
  if (wo_traceback_read(text, ret_frame)) return true;
  if (own->style == WO__STYLE_NOTEBOOK) return wo_traceback_read_notebook(text, ret_frame);
  return own->style == WO__STYLE_RICH && wo_traceback_read_rich(text, ret_frame);
}

/* ---- Tracebacks of several lines ---- */

/* A header stands at the front of a line: what is before it is the label of a collector of logs, if the frames have it too. */
static void offer_label(const struct wo_open *open) {
  const struct wo_view full = open->line->full;
  wo_scan_offer_label(open->scan, wo_view_sub(full, 0, wo_view_find(full, WO_VIEW("Traceback (most recent call last)"), 0)));
}

/* A frame without a header is the rest of a traceback whose first lines were lost, by `tail` or by a pipe that filled up. */
static enum wo_more begin_traceback(struct wo_open *open, const struct wo_match *match) {
  struct wo__traceback *const own = open->state;
  (void)match;
  struct wo_traceback_frame frame;
  const bool is_frame = wo_traceback_read(open->line->text, &frame);
  const bool is_debugger = wo_view_starts(open->line->text, DEBUGGER_HEADER);
  if (is_debugger) own->style = WO__STYLE_DEBUGGER;
  own->has_header = is_debugger || has_header(open->line->text);
  own->frame_indent = -1;
  if (wo__traceback_is_joined(open->line->text)) return wo__traceback_begin_joined(open);
  own->is_only_counted = wo_open_is_flooded(open);
  if (!is_frame && !own->has_header) return take_wrapped(open, open->line->text) ? WO_MORE_YES : WO_MORE_NO;
  if (!own->is_only_counted || !own->has_header) note_what_went_before(open); /* frames may be those of an origin */
  wo_view_copy(open->line->text, own->first, sizeof own->first);
  const bool is_plain = is_frame || own->style == WO__STYLE_DEBUGGER || wo_view_starts(open->line->text, "Traceback");
  if (!is_plain) own->style = style_of(open->line->text);
  if (!is_plain && own->style == WO__STYLE_PYTHON) offer_label(open);
  if (is_frame) wo__traceback_take_frame(open, open->line->text, &frame);
  return WO_MORE_YES;
}

/* Whether the traceback was written by another program, whose output a logger passes on line by line and calls information: its
 * level is that of the output. A record of the logger's own would have one prefix for all of its lines. */
static bool is_passed_on(const struct wo_open *open) {
  const enum wo_severity severity = open->first.prefix.severity;
  const struct wo__traceback *const own = open->state;
  return wo_severity_is_below(severity, WO_SEVERITY_WARNING) && own->frames > 0 && open->line->prefix.severity == severity;
}

/* The event is at the exception's line, where other patterns find the memory failure that it reports; that line connects the
 * two. A message may begin below it. */
static enum wo_more add_traceback(struct wo_open *open, size_t class_len) {
  struct wo__traceback *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  const struct wo_view message = wo_view_trim(wo_view_skip(text, class_len > 0 ? class_len + 1 : 0));
  struct wo_event *const event = wo_open_add(open, WO_KIND_TRACEBACK, open->line->text);
  if (!event) return WO_MORE_NO;
  if (is_passed_on(open)) event->severity = WO_SEVERITY_NONE;
  if (own->is_contained || wo_severity_is_below(event->severity, WO_SEVERITY_ERROR)) event->is_quoted = true;
  own->is_recorded = is_of_record(open, wo_view_sub(text, 0, class_len), message);
  if (class_len > 0) wo_event_set_text(open->store, event, WO_FIELD_EXCEPTION, wo_view_sub(text, 0, class_len));
  wo__traceback_add_fields(open, event);
  open->event = event->id;
  own->message_lines = 1;
  if (message.len == 0 && class_len < text.len) return WO_MORE_YES;
  if (wo_view_ends(message, ":") && message.len < WO__TRACEBACK_NAME_BYTES) {
    wo_view_copy(message, own->lead, sizeof own->lead);
    return WO_MORE_YES;
  }
  wo_exception_set_message(open->store, event, message);
  return WO_MORE_NO;
}

/* The message, from its first line if that was not all. */
static void set_whole_message(const struct wo_open *open, struct wo_view rest) {
  const struct wo__traceback *const own = open->state;
  char whole[2 * WO__TRACEBACK_NAME_BYTES];
  snprintf(whole, sizeof whole, "%s%s%.*s", own->lead, own->lead[0] != '\0' && rest.len > 0 ? " " : "",
           (int)wo_view_sub(rest, 0, WO__TRACEBACK_NAME_BYTES - 2).len, rest.ptr ? rest.ptr : "");
  struct wo_event *const event = wo_open_event(open);
  if (event) wo_exception_set_message(open->store, event, wo_view_of(whole));
}

/* A line after an exception whose message is missing. */
static enum wo_more take_message(struct wo_open *open) {
  struct wo__traceback *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  struct wo_traceback_frame frame;
  if (read_frame(own, open->line->text, &frame) || has_header(text)) return WO_MORE_NO_UNREAD;
  if (wo_exception_has_words(text)) {
    if (own->lead[0] == '\0') wo_exception_set_message(open->store, wo_open_event(open), text);
    if (own->lead[0] != '\0') set_whole_message(open, text);
    return WO_MORE_NO;
  }
  return ++own->message_lines > MESSAGE_LINES ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* Code around a frame: with numbers before it, or an arrow. */
static bool take_numbered_code(struct wo_open *open, struct wo_view text) {
  struct wo__traceback *const own = open->state;
  uint64_t line = 0;
  struct wo_view code;
  if (own->style == WO__STYLE_PYTHON || own->style == WO__STYLE_DEBUGGER || own->frames == 0) return false;
  if (wo_traceback_read_arrow(text, &line, &code)) {
    if (own->last == WO__LAST_FRAME_USER && own->user_line == 0) own->user_line = line;
    wo__traceback_add_code(open, code);
    return true;
  }
  return own->style == WO__STYLE_RICH ? text.ptr != open->line->text.ptr
                                      : wo__traceback_indent(text) > 0 || wo_is_digit(text.ptr[0]);
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
  const struct wo__traceback *const own = open->state;
  struct wo_line line = open->first;
  line.full = WO_VIEW("Exception has occurred");
  struct wo_event *const event = wo_scan_add_event(open->scan, &line, open->pattern, WO_KIND_TRACEBACK, 0, line.full.len);
  if (event && own->frames > 0) wo__traceback_add_fields(open, event);
}

/* Whether srun tells of the end of the process, in no more than a few lines: nothing of the traceback follows then, unless others
 * write as well. */
static bool is_of_launcher(struct wo__traceback *own, struct wo_view text) {
  static const char *const starts[] = {"srun: ", "slurmstepd: "};
  return WO_VIEW_ANY(text, wo_view_starts, starts) && ++own->launcher_lines <= LAUNCHER_LINES;
}

/* A line that is neither frame nor code: the exception, when its indentation is that of the traceback. */
static enum wo_more take_other(struct wo_open *open, struct wo_view text) {
  struct wo__traceback *const own = open->state;
  const bool is_outside = wo__traceback_indent(open->line->text) < own->frame_indent || own->frame_indent <= 0;
  if (wo_view_trim(text).len == 0 || !is_outside || is_of_launcher(own, text)) return WO_MORE_YES;
  const size_t class_len = wo_exception_class(wo_view_trim(text));
  if (own->frames > 0 && (class_len > 0 || is_message_alone(wo_view_trim(text)))) return add_traceback(open, class_len);
  if (own->style == WO__STYLE_DEBUGGER && own->frames > 0) {
    add_inverted(open);
    return WO_MORE_NO_UNREAD;
  }
  return ++own->strays > STRAY_LINES ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* Code comes right after its frame and deeper than it. From Python 3.11 on a line of carets (~~~^^^) follows it, deeper still,
 * and is skipped by its indentation. */
static enum wo_more feed_traceback(struct wo_open *open) {
  struct wo__traceback *const own = open->state;
  const struct wo_view text = text_of(open);
  struct wo_traceback_frame frame;
  if (open->lines > TRACEBACK_LINES) return WO_MORE_NO_UNREAD;
  if (own->message_lines > 0) return take_message(open);
  if (read_frame(own, text, &frame)) {
    wo__traceback_take_frame(open, text, &frame);
    return WO_MORE_YES;
  }
  if (has_header(text)) {
    /* MXNet: the message of the exception is the traceback of another layer. */
    const size_t class_len = wo__traceback_indent(text) == 0 ? wo_exception_class(text) : 0;
    if (own->frames > 0 && class_len > 0) (void)add_traceback(open, class_len);
    /* A header without an exception before it: another traceback starts, this one was cut. */
    return own->frames > 0 || wo__traceback_is_joined(text) ? WO_MORE_NO_UNREAD : WO_MORE_YES;
  }
  if (text.len > 0 && take_numbered_code(open, text)) return WO_MORE_YES;
  if (take_wrapped(open, text) || wo__traceback_take_rest_of_name(open, text)) return WO_MORE_YES;
  const bool is_code = own->last != WO__LAST_OTHER && wo__traceback_indent(text) > own->frame_indent;
  if (is_code) {
    wo__traceback_add_code(open, wo_view_trim(text));
    return WO_MORE_YES;
  }
  return take_other(open, text);
}

/* Whether enough of a traceback was there: its header, right at the end or with a frame, or two frames without one. */
static bool is_traceback(const struct wo__traceback *own, uint32_t lines) {
  return own->has_header ? own->frames > 0 || lines == 0 : own->frames > 1;
}

/* Whether the innermost frame raises the exception. */
static bool is_raising(struct wo_view frames) {
  const size_t code = wo_view_find_last(frames, WO_VIEW("|"), frames.len);
  return code != WO_NOT_FOUND && wo_view_starts(wo_view_skip(frames, code + 1), "raise ");
}

/* Whether a pattern knew a line of the traceback, or the one below it, as a failure. */
static bool is_explained(const struct wo_open *open) {
  for (size_t i = open->store->count; i-- > 0;) {
    const struct wo_event *const event = &open->store->items[i];
    if (event->span.file != wo_scan_file(open->scan) || event->span.line < open->first.number) return false;
    const enum wo_class class = wo_kind_class(event->kind);
    if (class != WO_CLASS_CONTEXT && class != WO_CLASS_NONE) return true;
  }
  return false;
}

/* The input ends inside of the traceback: which exception it was is lost, that there was one is not. Behind other text the
 * exception may be among that. */
static void finish_traceback(struct wo_open *open) {
  struct wo__traceback *const own = open->state;
  if (own->message_lines > 0 && own->lead[0] != '\0') set_whole_message(open, (struct wo_view){0});
  if (own->message_lines > 0 || !is_traceback(own, open->lines) || own->is_origin || !wo_scan_is_at_end(open->scan)) return;
  /* What stands below may be its message, without the class, where no pattern knows better. */
  const bool is_bare = own->strays == 1 && is_raising(wo_open_message(open)) && !is_explained(open);
  if (own->strays > 0 && !is_bare) return;
  if (own->style == WO__STYLE_DEBUGGER) {
    add_inverted(open);
    return;
  }
  struct wo_line line = open->first;
  line.full = wo_view_of(own->first);
  struct wo_event *const event =
      wo_scan_add_event(open->scan, &line, open->pattern, WO_KIND_TRACEBACK, line.prefix.length, line.full.len);
  if (!event) return;
  if (own->is_contained || wo_severity_is_below(open->first.prefix.severity, WO_SEVERITY_ERROR)) event->is_quoted = true;
  wo__traceback_add_fields(open, event);
}

const struct wo_format wo__format_traceback = {
    .name = "traceback",
    .state_bytes = sizeof(struct wo__traceback),
    .is_of_line = true,
    .is_of_own_kind = true,
    .begin = begin_traceback,
    .feed = feed_traceback,
    .finish = finish_traceback,
};
