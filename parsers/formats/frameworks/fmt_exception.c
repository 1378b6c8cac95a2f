/* SPDX-License-Identifier: Apache-2.0 */
/* Exceptions whose traceback was lost: only the last line was pasted, kept by `tail`, or handed to a logger. */
#include "parsers/formats/frameworks/exception_line.h"
#include "parsers/scan/format.h"

/* Whether a traceback that was read just now ends on this line. */
static bool is_read_already(const struct wo_open *open) {
  for (size_t i = open->store->count; i-- > 0;) {
    const struct wo_event *const event = &open->store->items[i];
    if (event->span.file != wo_scan_file(open->scan) || event->span.line != open->line->number) return false;
    if (event->kind == WO_KIND_TRACEBACK) return true;
  }
  return false;
}

/* Warnings are exceptions too, and go on; "Error: 0.31" is a figure. */
static bool is_named(struct wo_view name, struct wo_view message) {
  const size_t dot = wo_view_find_last(name, WO_VIEW("."), name.len);
  const struct wo_view last = wo_view_skip(name, dot == WO_NOT_FOUND ? 0 : dot + 1);
  const bool is_plain = wo_view_is(last, "Error") || wo_view_is(last, "Exception") || wo_view_is(last, "Timeout");
  if (last.len == 0 || last.ptr[0] < 'A' || last.ptr[0] > 'Z' || wo_view_ends(last, "Warning")) return false;
  return !is_plain && wo_exception_has_words(message);
}

/* Whether the message says that the program goes on without. */
static bool is_given_up(struct wo_view message) {
  static const char *const words[] = {"alling back", "skipping", "Skipping", "ignoring", "Ignoring", "ignored", "etrying"};
  return WO_VIEW_ANY(message, wo_view_has, words);
}

/* `AttributeError("'NoneType' object has no attribute 'values'")`: an exception as Python represents it, alone on its line.
 * Returns the length of the class, or 0; *ret_message gets the first argument. */
static size_t read_repr(struct wo_view text, struct wo_view *ret_message) {
  const size_t open_at = wo_view_find_char(text, '(', 0);
  if (open_at == WO_NOT_FOUND || open_at + 3 >= text.len || !wo_view_ends(text, ")")) return 0;
  const char quote = text.ptr[open_at + 1];
  if ((quote != '"' && quote != '\'') || wo_exception_class(wo_view_sub(text, 0, open_at)) != open_at) return 0;
  struct wo_view message = wo_view_sub(text, open_at + 2, text.len - 1);
  while (message.len > 0 && (message.ptr[message.len - 1] == quote || message.ptr[message.len - 1] == ',')) message.len--;
  *ret_message = message;
  return open_at;
}

static enum wo_more begin_exception(struct wo_open *open, const struct wo_match *match) {
  (void)match;
  const struct wo_view text = open->line->text;
  struct wo_view message = {0};
  size_t class_len = read_repr(text, &message);
  if (class_len == 0) {
    class_len = wo_exception_class(text);
    message = wo_view_trim(wo_view_skip(text, class_len + 1));
  }
  const bool is_mild = wo_severity_is_below(open->line->prefix.severity, WO_SEVERITY_ERROR);
  if (class_len == 0 || class_len == text.len || is_mild || is_read_already(open)) return WO_MORE_NO;
  if (!is_named(wo_view_sub(text, 0, class_len), message) || is_given_up(message)) return WO_MORE_NO;
  struct wo_event *const event = wo_open_add(open, WO_KIND_TRACEBACK, text);
  if (!event) return WO_MORE_NO;
  wo_event_set_text(open->store, event, WO_FIELD_EXCEPTION, wo_view_sub(text, 0, class_len));
  wo_exception_set_message(open->store, event, message);
  wo_event_set_exact(open->store, event, WO_FIELD_IS_BARE, 1);
  return WO_MORE_NO;
}

const struct wo_format wo__format_exception = {
    .name = "exception", .is_of_line = true, .is_of_own_kind = true, .begin = begin_exception};
