/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, constants and texts of the binary protocols. */
#include "cuda_replay/recording/snapshot/pickle_internal.h"

#include <string.h>
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* ---- Numbers and constants ---- */

/* Numbers that do not fit into a value; in a snapshot this is only the threshold of the garbage collection. */
enum wo_status wo__pickle_push_number(struct wo_pickle *pickle, struct wo_pickle_number number) {
  if (number.kind == WO_NUMBER_SIGNED && wo_value_fits(number.is.integer))
    return wo__pickle_push(pickle, wo_value_int(number.is.integer));
  const enum wo_status status = WO_PICKLE_RESERVE(pickle, &pickle->numbers, 1, WO_LIMIT_PICKLE_NUMBERS,
                                                  "holds more fractions and huge numbers than any snapshot");
  if (status != WO_OK) return status;
  pickle->numbers.items[pickle->numbers.count++] = number;
  return wo__pickle_push(pickle, wo_value(WO_VALUE_NUMBER, pickle->numbers.count - 1));
}

bool wo_pickle_i64(const struct wo_pickle *pickle, struct wo_pickle_value value, int64_t *ret_number) {
  if (wo_value_kind(value) == WO_VALUE_INT) {
    *ret_number = wo_value_get_int(value);
    return true;
  }
  if (wo_value_kind(value) != WO_VALUE_NUMBER) return false;
  const struct wo_pickle_number number = pickle->numbers.items[wo_value_index(value)];
  if (number.kind == WO_NUMBER_SIGNED) *ret_number = number.is.integer;
  return number.kind == WO_NUMBER_SIGNED;
}

/* Numbers above INT64_MAX have their own kind, so that a negative number can never look like a large one. */
bool wo_pickle_u64(const struct wo_pickle *pickle, struct wo_pickle_value value, uint64_t *ret_number) {
  int64_t number = 0;
  if (wo_pickle_i64(pickle, value, &number)) {
    *ret_number = (uint64_t)number;
    return number >= 0;
  }
  if (wo_value_kind(value) != WO_VALUE_NUMBER) return false;
  const struct wo_pickle_number *const wide = &pickle->numbers.items[wo_value_index(value)];
  if (wide->kind == WO_NUMBER_UNSIGNED) *ret_number = wide->is.natural;
  return wide->kind == WO_NUMBER_UNSIGNED;
}

/* An integer is also accepted as a float: Python writes 1 as an integer. */
bool wo_pickle_double(const struct wo_pickle *pickle, struct wo_pickle_value value, double *ret_number) {
  int64_t number = 0;
  if (wo_pickle_i64(pickle, value, &number)) {
    *ret_number = (double)number;
    return true;
  }
  if (wo_value_kind(value) != WO_VALUE_NUMBER) return false;
  const struct wo_pickle_number *const wide = &pickle->numbers.items[wo_value_index(value)];
  if (wide->kind == WO_NUMBER_FLOAT) *ret_number = wide->is.real;
  return wide->kind == WO_NUMBER_FLOAT;
}

/* BININT1 and BININT2 are unsigned, BININT is signed. */
enum wo_status wo__op_int(struct wo_pickle *pickle, uint64_t argument) {
  return wo__pickle_push(pickle, wo_value_int((int64_t)argument));
}

enum wo_status wo__op_int4(struct wo_pickle *pickle, uint64_t argument) {
  return wo__pickle_push(pickle, wo_value_int((int32_t)(uint32_t)argument));
}

/* The one argument that comes with its most significant byte first. */
enum wo_status wo__op_float8(struct wo_pickle *pickle, uint64_t argument) {
  const uint64_t bits = __builtin_bswap64(argument);
  struct wo_pickle_number number = {.kind = WO_NUMBER_FLOAT};
  memcpy(&number.is.real, &bits, sizeof bits);
  return wo__pickle_push_number(pickle, number);
}

/* A two's complement number of `count` bytes, least significant first. A ninth byte of zero makes an unsigned number of 64
 * bits. */
static enum wo_status push_long(struct wo_pickle *pickle, uint64_t count) {
  if (count > 9) {
    const bool is_there = wo_trace_source_skip(pickle->source, count);
    return is_there ? wo__pickle_push_number(pickle, (struct wo_pickle_number){.kind = WO_NUMBER_HUGE}) : wo__pickle_cut(pickle);
  }
  const struct wo_view front = wo_trace_source_peek(pickle->source, (size_t)count);
  if (front.len < count) return wo__pickle_cut(pickle);
  const unsigned char *const bytes = (const unsigned char *)front.ptr;
  uint64_t bits = count > 0 && bytes[count - 1] >= 0x80 ? UINT64_MAX : 0;
  for (uint64_t i = count < 8 ? count : 8; i > 0; i--) bits = bits << 8 | bytes[i - 1];
  struct wo_pickle_number number = {.kind = WO_NUMBER_SIGNED, .is.integer = (int64_t)bits};
  if (count == 9) {
    number.kind = bytes[8] == 0 ? WO_NUMBER_UNSIGNED : WO_NUMBER_HUGE;
    number.is.natural = bits;
  }
  wo_trace_source_skip(pickle->source, count);
  return wo__pickle_push_number(pickle, number);
}

/* Short numbers seldom come here (run_pushes). */
enum wo_status wo__op_long1(struct wo_pickle *pickle, uint64_t argument) {
  return push_long(pickle, argument);
}

/* The length is signed in the format. A long number that really exists is not needed. */
enum wo_status wo__op_long4(struct wo_pickle *pickle, uint64_t argument) {
  if (argument > INT32_MAX) return wo_pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: a number has a negative length");
  return push_long(pickle, argument);
}

/* Values without content. */
enum wo_status wo__op_constant(struct wo_pickle *pickle, uint64_t kind) {
  return wo__pickle_push(pickle, wo_value((enum wo_value_kind)kind, 0));
}

/* PROTO and FRAME do nothing: the instructions are the same in all protocols, and the length of a frame is only a hint for
 * readers that fetch whole frames, and may be wrong. */
enum wo_status wo__op_nothing(struct wo_pickle *pickle, uint64_t argument) {
  (void)pickle;
  (void)argument;
  return WO_OK;
}

/* ---- Texts ---- */

enum wo_status wo__pickle_push_text(struct wo_pickle *pickle, struct wo_view text) {
  uint32_t id = 0;
  const enum wo_status status = wo_intern_text(pickle->intern, text, &id);
  if (status == WO_E_LIMIT) return wo_pickle_fail(pickle, status, "holds more distinct text than fits");
  return status == WO_OK ? wo__pickle_push(pickle, wo_value(WO_VALUE_TEXT, id)) : status;
}

/* Nothing is allocated for the length, which may be wrong: only the bytes that come count. */
enum wo_status wo__op_text(struct wo_pickle *pickle, uint64_t length) {
  const size_t kept = length < WO_LIMIT_PICKLE_TEXT_BYTES ? (size_t)length : WO_LIMIT_PICKLE_TEXT_BYTES;
  const struct wo_view front = wo_trace_source_peek(pickle->source, kept);
  if (front.len < kept) return wo__pickle_cut(pickle);
  const enum wo_status status = wo__pickle_push_text(pickle, (struct wo_view){front.ptr, kept});
  if (status != WO_OK) return status;
  return wo_trace_source_skip(pickle->source, length) ? WO_OK : wo__pickle_cut(pickle);
}

/* Snapshots do not use byte strings. */
enum wo_status wo__op_bytes(struct wo_pickle *pickle, uint64_t length) {
  if (!wo_trace_source_skip(pickle->source, length)) return wo__pickle_cut(pickle);
  return wo__pickle_push(pickle, wo_value(WO_VALUE_OPAQUE, 0));
}
