/* SPDX-License-Identifier: Apache-2.0 */
/* Results and errors, shared by every layer.
 *
 * A function that can fail returns enum wo_status; what it produces goes into trailing `ret_` parameters that are set only on
 * success. If the user must learn where something went wrong, a struct wo_err is filled on failure. Nothing here allocates. All
 * functions are safe to call from any thread. */
#ifndef WO_STATUS_H
#define WO_STATUS_H

#include <stdint.h>

/* One row per result: enumerator, text for people. Numbers are never reused. */
#define WO_STATUS_MAP(X)                                                                                                         \
  X(WO_OK, "no error")                                                                                                           \
  X(WO_E_NOMEM, "out of memory in whyoom itself")                                                                                \
  X(WO_E_IO, "cannot read or write")                                                                                             \
  X(WO_E_KIND, "not a regular file")                                                                                             \
  X(WO_E_SYNTAX, "malformed input")                                                                                              \
  X(WO_E_RANGE, "value out of range")                                                                                            \
  X(WO_E_LIMIT, "a limit was reached")                                                                                           \
  X(WO_E_UNKNOWN, "unknown name")                                                                                                \
  X(WO_E_TYPE, "wrong type or unit")                                                                                             \
  X(WO_E_USAGE, "wrong usage")

enum wo_status {
#define WO_STATUS_ENUM(code, text) code,
  WO_STATUS_MAP(WO_STATUS_ENUM)
#undef WO_STATUS_ENUM
      WO_STATUS_COUNT_
};

/* How much of a call another thread ends while it runs: the values of a number that only grows. */
enum wo_stop {
  WO_STOP_NOTHING,
  WO_STOP_READING, /* logs are read no further, and what was read is reported */
  WO_STOP_ALL      /* there is no report */
};

/* Where and why something failed. `file` is "" when there is none; `line` and `column` count from 1 and are 0 when unknown;
 * `offset` is in bytes from the start of the input. `message` is one sentence without a final full stop. */
struct wo_err {
  enum wo_status code;
  char file[256];
  uint64_t line;
  uint32_t column;
  uint64_t offset;
  char message[320];
};

/* The text for people of a status. Never NULL; "?" for a value outside the list. */
const char *wo_status_text(enum wo_status status);

/* Fills *err (NULL allowed: then nothing is stored) with code and a printf-formatted message, clearing the place, and
 * returns code, so that `return wo_err_set(err, WO_E_IO, ...)` reads well. Over-long messages are cut. */
enum wo_status wo_err_set(struct wo_err *err, enum wo_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* WO_E_NOMEM with its usual message; returned. */
enum wo_status wo_err_nomem(struct wo_err *err);

/* Adds a place to *err (NULL allowed). file NULL means "". Over-long file names keep their end. */
void wo_err_place(struct wo_err *err, const char *file, uint64_t line, uint32_t column, uint64_t offset);

#endif
