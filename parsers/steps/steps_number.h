/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in lines of training steps, read eight digits at a time: most of such a line is digits. Inline, as that is where the
 * time goes; only parsers/steps/steps_form.c includes this. */
#ifndef WO_STEPS_NUMBER_H
#define WO_STEPS_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "parsers/base/view.h"

/* Digits that a double holds. */
#define WO_STEPS_DIGITS_MAX 15

static inline bool wo__steps_is_digit(char c) {
  return (unsigned char)(c - '0') < 10;
}

/* A number as printed. */
struct wo__steps_number {
  double value;
  double half; /* of its last digit */
  bool is_integer;
  bool is_negative;
  bool is_exact; /* few enough digits, and no exponent that is out of reason */
};

static const double wo__steps_powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* The eight bytes at ptr, the first one in the lowest bits. Bytes beyond `room` are 0. */
static inline uint64_t wo__steps_load_bytes(const char *ptr, size_t room) {
  uint64_t word = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (room >= sizeof word) {
    memcpy(&word, ptr, sizeof word);
    return word;
  }
#endif
  for (size_t i = 0; i < sizeof word && i < room; i++) word |= (uint64_t)(unsigned char)ptr[i] << (8 * i);
  return word;
}

/* How many of the eight bytes, from the first one on, are digits. A byte less '0' is below 10 for those alone, and adding 0x76
 * sets the highest bit of all others; what a carry does to bytes after the first other one does not matter. */
static inline size_t wo__steps_count_digits(uint64_t word) {
  const uint64_t values = word ^ UINT64_C(0x3030303030303030);
  const uint64_t others = ((values + UINT64_C(0x7676767676767676)) | values) & UINT64_C(0x8080808080808080);
  return others == 0 ? sizeof word : (size_t)__builtin_ctzll(others) / 8;
}

/* The number that the first `count` bytes, all digits, stand for: two neighbours become one number, three times over. */
static inline uint64_t wo__steps_digits_value(uint64_t word, size_t count) {
  if (count == 0) return 0;
  uint64_t v = (word ^ UINT64_C(0x3030303030303030)) << (8 * (sizeof word - count));
  v = (v * 10 + (v >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
  v = (v * 100 + (v >> 16)) & UINT64_C(0x0000ffff0000ffff);
  return (v * 10000 + (v >> 32)) & UINT64_C(0xffffffff);
}

static const uint64_t wo__steps_whole_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* End of the digits from `at` on; adds them to *mantissa. */
static inline size_t wo__steps_take_digits(struct wo_view line, size_t at, uint64_t *mantissa) {
  for (;;) {
    const uint64_t word = wo__steps_load_bytes(line.ptr + at, line.len - at);
    const size_t count = wo__steps_count_digits(word);
    *mantissa = *mantissa * wo__steps_whole_powers[count] + wo__steps_digits_value(word, count);
    at += count;
    if (count < sizeof word) return at;
  }
}

static inline size_t wo__steps_skip_digits(struct wo_view line, size_t at) {
  for (;;) {
    const size_t count = wo__steps_count_digits(wo__steps_load_bytes(line.ptr + at, line.len - at));
    at += count;
    if (count < sizeof(uint64_t)) return at;
  }
}

/* End of an exponent at `at`, or `at`. "12e" and "3each" have none. */
static inline size_t wo__steps_skip_exponent(struct wo_view line, size_t at) {
  if (at + 1 >= line.len || (line.ptr[at] != 'e' && line.ptr[at] != 'E')) return at;
  size_t end = at + 1;
  if (line.ptr[end] == '-' || line.ptr[end] == '+') end++;
  if (end >= line.len || !wo__steps_is_digit(line.ptr[end])) return at;
  while (end < line.len && wo__steps_is_digit(line.ptr[end])) end++;
  return end;
}

/* The power of ten that the exponent in [at, end) stands for: "e+04". 0 for one that is negative or out of reason. */
static inline double wo__steps_exponent(struct wo_view line, size_t at, size_t end) {
  size_t from = at + 1;
  if (line.ptr[from] == '+') from++;
  if (line.ptr[from] == '-' || end - from > 2) return 0;
  size_t exponent = 0;
  for (size_t i = from; i < end; i++) exponent = exponent * 10 + (size_t)(line.ptr[i] - '0');
  return exponent <= WO_STEPS_DIGITS_MAX ? wo__steps_powers[exponent] : 0;
}

/* Reads the number at `at`, which must be a digit, and returns its end. Figures of memory and steps have no negative exponent: a
 * number with one is passed over. */
static inline size_t wo__steps_read_number(struct wo_view line, size_t at, struct wo__steps_number *ret) {
  uint64_t mantissa = 0;
  size_t end = wo__steps_take_digits(line, at, &mantissa);
  size_t digits = end - at;
  size_t decimals = 0;
  if (end + 1 < line.len && line.ptr[end] == '.' && wo__steps_is_digit(line.ptr[end + 1])) {
    const size_t point = end;
    end = wo__steps_take_digits(line, point + 1, &mantissa);
    decimals = end - point - 1;
    digits += decimals;
  }
  const size_t behind = wo__steps_skip_exponent(line, end);
  const double power = behind == end ? 1 : wo__steps_exponent(line, end, behind);
  ret->is_integer = decimals == 0 && behind == end;
  ret->is_exact = digits <= WO_STEPS_DIGITS_MAX && power > 0;
  ret->value = ret->is_exact ? (double)mantissa / wo__steps_powers[decimals] * power : 0;
  ret->half = ret->is_exact && decimals > 0 ? 0.5 / wo__steps_powers[decimals] * power : 0;
  return behind;
}

/* As read_number, for a number that is not needed. */
static inline size_t wo__steps_skip_number(struct wo_view line, size_t at) {
  at = wo__steps_skip_digits(line, at);
  if (at + 1 < line.len && line.ptr[at] == '.' && wo__steps_is_digit(line.ptr[at + 1])) at = wo__steps_skip_digits(line, at + 1);
  return at < line.len && (line.ptr[at] == 'e' || line.ptr[at] == 'E') ? wo__steps_skip_exponent(line, at) : at;
}

static inline bool wo__steps_is_blank(char c) {
  return c == ' ' || c == '\t';
}

#endif
