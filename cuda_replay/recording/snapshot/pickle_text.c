/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol 0: numbers and texts as lines. */
#include "cuda_replay/recording/snapshot/pickle_internal.h"

#include <math.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/base/limits.h"
#include "parsers/base/number.h"

/* A line is read as a whole, so its length has a cap; the other protocols need none. */
enum wo_status wo__pickle_line(struct wo_pickle *pickle, struct wo_view *ret_line) {
  const struct wo_view front = wo_trace_source_peek(pickle->source, WO_LIMIT_PICKLE_TEXT_BYTES);
  const size_t end = wo_view_find_char(front, '\n', 0);
  if (end == WO_NOT_FOUND) {
    if (front.len < WO_LIMIT_PICKLE_TEXT_BYTES) return wo__pickle_cut(pickle);
    return wo_pickle_fail(pickle, WO_E_LIMIT, "holds a line that is too long");
  }
  *ret_line = wo_view_sub(front, 0, end);
  wo_trace_source_skip(pickle->source, end + 1);
  return WO_OK;
}

/* The opcode's name in the message says whether an integer or a float was expected. */
static enum wo_status bad_number(struct wo_pickle *pickle) {
  return wo_pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: expected a number");
}

/* "I42", "L42L", and "I01" and "I00", which are True and False. */
enum wo_status wo__op_int_line(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  struct wo_view line = {0};
  const enum wo_status status = wo__pickle_line(pickle, &line);
  if (status != WO_OK) return status;
  if (wo_view_is(line, "01")) return wo__pickle_push(pickle, wo_value(WO_VALUE_TRUE, 0));
  if (wo_view_is(line, "00")) return wo__pickle_push(pickle, wo_value(WO_VALUE_FALSE, 0));
  if (wo_view_ends(line, "L")) line.len--;
  struct wo_view rest = line;
  struct wo_pickle_number number = {.kind = WO_NUMBER_SIGNED};
  if (wo_number_i64(&rest, INT64_MAX, &number.is.integer) == WO_OK && rest.len == 0)
    return wo__pickle_push_number(pickle, number);
  rest = line;
  number.kind = WO_NUMBER_UNSIGNED;
  if (wo_number_u64(&rest, UINT64_MAX, &number.is.natural) == WO_OK && rest.len == 0)
    return wo__pickle_push_number(pickle, number);
  if (line.len == 0) return bad_number(pickle);
  for (size_t i = line.ptr[0] == '-'; i < line.len; i++) {
    if (!wo_is_digit(line.ptr[i])) return bad_number(pickle);
  }
  return wo__pickle_push_number(pickle, (struct wo_pickle_number){.kind = WO_NUMBER_HUGE});
}

/* A float as repr() prints it. */
enum wo_status wo__op_float_line(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  struct wo_view line = {0};
  struct wo_interval value = {0};
  const enum wo_status status = wo__pickle_line(pickle, &line);
  if (status != WO_OK) return status;
  struct wo_pickle_number number = {.kind = WO_NUMBER_FLOAT};
  if (wo_number_decimal(&line, &value, NULL) == WO_OK && line.len == 0) {
    number.is.real = value.mid;
  } else if (wo_view_is(line, "nan")) {
    number.is.real = (double)NAN;
  } else {
    number.kind = WO_NUMBER_HUGE; /* infinite, or larger than sizes and fractions can be */
  }
  return wo__pickle_push_number(pickle, number);
}

/* ---- Texts ---- */

/* The character at the front of a "raw-unicode-escape" text: \uXXXX, \UXXXXXXXX, or a byte of Latin-1. Advances. */
static uint32_t take_char(struct wo_view *text) {
  const bool is_long = wo_view_starts(*text, "\\U");
  const size_t digits = is_long ? 8 : 4;
  if ((is_long || wo_view_starts(*text, "\\u")) && text->len >= 2 + digits) {
    struct wo_view hex = wo_view_sub(*text, 2, 2 + digits);
    uint64_t code = 0;
    if (wo_number_hex(&hex, 0x10ffff, &code) == WO_OK && hex.len == 0) {
      *text = wo_view_skip(*text, 2 + digits);
      return (uint32_t)code;
    }
  }
  const uint32_t code = (unsigned char)text->ptr[0];
  *text = wo_view_skip(*text, 1);
  return code;
}

/* Latin-1 doubles at most: texts over half of the buffer lose their end. */
enum wo_status wo__op_text_line(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  struct wo_view line = {0};
  const enum wo_status status = wo__pickle_line(pickle, &line);
  if (status != WO_OK) return status;
  char text[4096];
  size_t len = 0;
  if (wo_view_find_char(line, '\\', 0) == WO_NOT_FOUND) {
    bool is_ascii = true;
    for (size_t i = 0; i < line.len; i++) is_ascii = is_ascii && (unsigned char)line.ptr[i] < 0x80;
    if (is_ascii) return wo__pickle_push_text(pickle, line);
  }
  while (line.len > 0 && len + 4 <= sizeof text) len += wo_utf8_write(take_char(&line), text + len);
  return wo__pickle_push_text(pickle, (struct wo_view){text, len});
}

/* 'text' or "text" of Python 2; escapes in it stay as they are. */
enum wo_status wo__op_quoted_line(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  struct wo_view line = {0};
  const enum wo_status status = wo__pickle_line(pickle, &line);
  if (status != WO_OK) return status;
  line = wo_view_trim(line);
  const bool is_quoted = line.len >= 2 && (line.ptr[0] == '\'' || line.ptr[0] == '"') && line.ptr[line.len - 1] == line.ptr[0];
  if (!is_quoted) return wo_pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: expected a text in quotes");
  return wo__pickle_push_text(pickle, wo_view_sub(line, 1, line.len - 1));
}
