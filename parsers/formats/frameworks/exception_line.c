/* SPDX-License-Identifier: Apache-2.0 */
/* Classes and messages of exceptions. */
#include "parsers/formats/frameworks/exception_line.h"

/* Bytes that are kept of a message. */
#define MESSAGE_BYTES 400

size_t wo_exception_class(struct wo_view text) {
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
  static const char *const small[] = {"error", "timeout"}; /* struct.error, cv2.error, socket.timeout */
  if (last > 0 && WO_VIEW_ANY(name, wo_view_is, small)) return at;
  /* Some libraries name exceptions freely: a dotted name with a capital at the end of the dots. */
  return last > 0 && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z' ? at : 0;
}

bool wo_exception_has_words(struct wo_view text) {
  for (size_t i = 0; i < text.len; i++) {
    if (wo_is_alpha(text.ptr[i])) return true;
  }
  return false;
}

void wo_exception_set_message(struct wo_event_store *store, struct wo_event *event, struct wo_view message) {
  wo_event_set_text(store, event, WO_FIELD_MESSAGE, wo_view_sub(message, 0, MESSAGE_BYTES));
}
