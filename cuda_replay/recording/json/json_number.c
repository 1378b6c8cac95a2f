/* SPDX-License-Identifier: Apache-2.0 */
/* The values of JSON numbers: integers without loss, fixed point, and doubles; without the C library, so that no locale can
 * change the meaning of a point.
 *
 * All are read as mantissa * 10^exponent, in which up to 19 digits are exact. Integers without a fraction are exact in any
 * spelling; a number that does not fit is refused and never rounded, because an address that is off by one is another block.
 * Doubles are only for settings (fractions of a card), where the last place does not matter; the writer of the line form prints
 * enough digits to read the same double back. */
#include <assert.h>
#include <math.h>

#include "cuda_replay/recording/json/json_stream.h"
#include "parsers/base/number.h"

/* Digits that always fit into 64 bits; larger exponents give zero or too large a number for any digits. */
enum { MANTISSA_DIGITS = 19, EXPONENT_MAX = 100000 };

/* A number as mantissa * 10^exponent. */
struct decimal {
  uint64_t mantissa;
  int exponent;
  bool is_negative;
  bool is_rounded; /* digits other than 0 were dropped */
};

/* Takes the digits at *at; those after the point lower the exponent. */
static size_t take_digits(struct wo_view text, size_t at, bool is_fraction, struct decimal *decimal) {
  for (; at < text.len && wo_is_digit(text.ptr[at]); at++) {
    const unsigned digit = (unsigned)(text.ptr[at] - '0');
    if (decimal->mantissa < UINT64_C(1000000000000000000)) {
      decimal->mantissa = decimal->mantissa * 10 + digit;
      decimal->exponent -= is_fraction ? 1 : 0;
    } else {
      decimal->is_rounded = decimal->is_rounded || digit != 0;
      decimal->exponent += is_fraction ? 0 : 1;
    }
  }
  return at;
}

/* False for NaN, the infinities and texts that are no number. */
static bool read_decimal(struct wo_view text, struct decimal *ret) {
  struct decimal decimal = {.is_negative = text.len > 0 && text.ptr[0] == '-'};
  const size_t first = decimal.is_negative ? 1 : 0;
  size_t at = take_digits(text, first, false, &decimal);
  if (at == first) return false;
  if (at < text.len && text.ptr[at] == '.') at = take_digits(text, at + 1, true, &decimal);
  if (at < text.len && wo_lower(text.ptr[at]) == 'e') {
    struct wo_view rest = wo_view_skip(text, at + 1);
    int64_t exponent = 0;
    const bool is_down = rest.len > 0 && rest.ptr[0] == '-';
    const enum wo_status status = wo_number_i64(&rest, EXPONENT_MAX, &exponent);
    if (status == WO_E_SYNTAX) return false;
    decimal.exponent += status == WO_OK ? (int)exponent : is_down ? -EXPONENT_MAX : EXPONENT_MAX;
    at = status == WO_OK ? text.len - rest.len : text.len;
  }
  *ret = decimal;
  return at == text.len;
}

/* mantissa * 10^exponent as a whole number, rounded down; *ret_is_whole: whether nothing was lost. */
static bool scale(const struct decimal *decimal, uint64_t *ret, bool *ret_is_whole) {
  uint64_t value = decimal->mantissa;
  bool is_whole = !decimal->is_rounded;
  if (value == 0 && is_whole) return *ret = 0, *ret_is_whole = true, true;
  for (int i = 0; i < decimal->exponent; i++) {
    if (__builtin_mul_overflow(value, UINT64_C(10), &value)) return false;
  }
  for (int i = decimal->exponent; i < 0 && (value > 0 || is_whole); i++) {
    is_whole = is_whole && value % 10 == 0;
    value /= 10;
  }
  *ret = value;
  *ret_is_whole = is_whole;
  return true;
}

/* Reads numbers that are only digits and fit into 64 bits: nearly all of them. */
static bool read_plain(struct wo_view number, uint64_t *ret_value) {
  uint64_t value = 0;
  if (number.len == 0 || number.len > MANTISSA_DIGITS) return false;
  for (size_t i = 0; i < number.len; i++) {
    const unsigned digit = (unsigned char)number.ptr[i] - (unsigned)'0';
    if (digit > 9) return false;
    value = value * 10 + digit;
  }
  *ret_value = value;
  return true;
}

bool wo_json_number_u64(struct wo_view number, uint64_t *ret_value) {
  struct wo_view rest = number;
  struct decimal decimal;
  bool is_whole = false;
  uint64_t value = 0;
  if (read_plain(number, ret_value)) return true;
  if (wo_number_u64(&rest, UINT64_MAX, &value) == WO_OK && rest.len == 0) return *ret_value = value, true;
  if (!read_decimal(number, &decimal) || !scale(&decimal, &value, &is_whole) || !is_whole) return false;
  if (decimal.is_negative && value > 0) return false;
  *ret_value = value;
  return true;
}

bool wo_json_number_i64(struct wo_view number, int64_t *ret_value) {
  const uint64_t lowest = UINT64_C(1) << 63;
  const bool is_negative = number.len > 0 && number.ptr[0] == '-';
  uint64_t magnitude = 0;
  if (!wo_json_number_u64(wo_view_skip(number, is_negative ? 1 : 0), &magnitude)) return false;
  if (magnitude > (is_negative ? lowest : lowest - 1)) return false;
  *ret_value = !is_negative ? (int64_t)magnitude : magnitude == lowest ? INT64_MIN : -(int64_t)magnitude;
  return true;
}

bool wo_json_number_fixed(struct wo_view number, unsigned decimals, int64_t *ret_value) {
  struct decimal decimal;
  bool is_whole = false;
  uint64_t value = 0;
  assert(decimals <= 9);
  if (!read_decimal(number, &decimal)) return false;
  decimal.exponent += (int)decimals;
  if (!scale(&decimal, &value, &is_whole) || value >= (uint64_t)INT64_MAX) return false;
  *ret_value = !decimal.is_negative ? (int64_t)value : -(int64_t)value - (is_whole ? 0 : 1);
  return true;
}

/* Long doubles keep the whole mantissa, and powers of ten up to 10^27 exactly. */
bool wo_json_number_double(struct wo_view number, double *ret_value) {
  struct decimal decimal;
  if (!read_decimal(number, &decimal)) return false;
  const int exponent = decimal.exponent < -5000 ? -5000 : decimal.exponent > 5000 ? 5000 : decimal.exponent;
  long double value = (long double)decimal.mantissa, power = 10, factor = 1;
  for (unsigned left = (unsigned)(exponent < 0 ? -exponent : exponent); left > 0; left /= 2, power *= power) {
    if (left % 2 != 0) factor *= power;
  }
  if (value > 0) value = exponent < 0 ? value / factor : value * factor;
  const double result = (double)value;
  if (!isfinite(result)) return false;
  *ret_value = decimal.is_negative ? -result : result;
  return true;
}
