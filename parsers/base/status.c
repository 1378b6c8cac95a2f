/* SPDX-License-Identifier: Apache-2.0 */
/* Status texts and error objects.
 *
 * Owns the table made from WO_STATUS_MAP and the filling of struct wo_err. Never allocates and never prints: an error is a
 * value that travels up to the program's main function. */
#include "parsers/base/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define STATUS_TEXT(code, text) [code] = (text),
static const char *const status_texts[] = {WO_STATUS_MAP(STATUS_TEXT)};
#undef STATUS_TEXT

_Static_assert(sizeof status_texts / sizeof status_texts[0] == WO_STATUS_COUNT_, "one text per status");

/* Stands in front of what is left of a file name that does not fit. */
static const char cut_mark[] = "...";

/* An enum may hold any integer at run time, so the index is checked as an unsigned number. */
const char *wo_status_text(enum wo_status status) {
  return (unsigned)status < (unsigned)WO_STATUS_COUNT_ ? status_texts[status] : "?";
}

/* The place is cleared, or it would be that of an earlier error. A message that is too long is cut: it is for people. */
enum wo_status wo_err_set(struct wo_err *err, enum wo_status code, const char *format, ...) {
  assert(format != NULL);
  if (err == NULL) return code;
  va_list args;
  va_start(args, format);
  const int written = vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  /* A message that cannot be formatted must not leave the text of an earlier error behind. */
  if (written < 0) err->message[0] = '\0';
  err->code = code;
  wo_err_place(err, NULL, 0, 0, 0);
  return code;
}

/* Only the place is changed, so that a caller that knows the file can add it to a message made further down. */
void wo_err_place(struct wo_err *err, const char *file, uint64_t line, uint32_t column, uint64_t offset) {
  if (err == NULL) return;
  const char *const name = file == NULL ? "" : file;
  const size_t len = strlen(name);
  const size_t room = sizeof err->file - 1;
  if (len <= room) {
    memmove(err->file, name, len + 1); /* `file` may be err->file itself */
  } else {
    /* The end of a path is more useful than its start. */
    const size_t mark_len = sizeof cut_mark - 1;
    memmove(err->file + mark_len, name + len - (room - mark_len), room - mark_len + 1);
    memcpy(err->file, cut_mark, mark_len);
  }
  assert(strlen(err->file) <= room);
  err->line = line;
  err->column = column;
  err->offset = offset;
}

enum wo_status wo_err_nomem(struct wo_err *err) {
  return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
}
