/* SPDX-License-Identifier: Apache-2.0 */
/* See message.h. */
#include "parsers/base/command/message.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 2048 };

void wo_message(struct wo_text *errors, struct wo_view place, const char *format, ...) {
  char text[MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  wo_text_add(errors, "whyoom: ");
  wo_text_add_clean(errors, wo_view_sub(place, 0, MESSAGE_BYTES));
  wo_text_add(errors, place.len > 0 ? ": " : "");
  wo_text_add_clean(errors, wo_view_of(text));
  wo_text_add(errors, "\n");
}

void wo_message_error(struct wo_text *errors, struct wo_view path, const struct wo_err *err) {
  char place[sizeof err->file + 64] = "";
  const char *const message = err->message[0] != '\0' ? err->message : wo_status_text(err->code);
  size_t len = 0;
  if (err->file[0] != '\0') {
    len = (size_t)snprintf(place, sizeof place, "%s", err->file);
    if (err->line > 0) len += (size_t)snprintf(place + len, sizeof place - len, ":%" PRIu64, err->line);
    if (err->column > 0) snprintf(place + len, sizeof place - len, ":%u", err->column);
  }
  wo_message(errors, place[0] != '\0' ? wo_view_of(place) : path, "%s", message);
}
