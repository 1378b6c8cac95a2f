/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded readers of integers and decimal numbers.
 *
 * Takes a view, gives a value, and moves the view only when it succeeds. Decimal numbers are read as an integer mantissa and a
 * power of ten, never through the C library, so that no locale can change the meaning of a point. A decimal number comes with
 * the interval of values that a printer would have rounded to it. */
#include "parsers/base/number.h"

#include <assert.h>
#include <stddef.h>

/* Digits kept exactly: twice the mantissa plus one must still fit into 64 bits. Further digits only count for the exponent. */
enum { MANTISSA_DIGITS = 18, SIGNIFICANT_DIGITS_MAX = 40 };

/* Beyond this power of ten every number is zero or out of range, so larger exponents need not be
 * told apart. A million digits after an "e" then cost no more than the reading. */
enum { EXPONENT_MAX = 5000 };

/* Largest number that is accepted: the last double below 2^63, so that every size can be counted in 64 bits. Programs print sizes
 * up to there, when a shape was corrupted. */
#define MAGNITUDE_MAX 9223372036854774784.0

struct wo_interval wo_interval_exact(double value) {
  return (struct wo_interval){.lo = value, .mid = value, .hi = value};
}

struct wo_interval wo_interval_plus(struct wo_interval a, struct wo_interval b) {
  return (struct wo_interval){a.lo + b.lo, a.mid + b.mid, a.hi + b.hi};
}

struct wo_interval wo_interval_minus(struct wo_interval a, struct wo_interval b) {
  return (struct wo_interval){a.lo - b.hi, a.mid - b.mid, a.hi - b.lo};
}

/* ---- Integers ---- */

/* The value of a digit in base 16 or below, or 16 when c is none. */
static unsigned digit_value(char c) {
  if (wo_is_digit(c)) return (unsigned)(c - '0');
  const char lower = wo_lower(c);
  return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 16;
}

/* Appends one digit to *value; false when the result would exceed max. Exceeding the 64 bits is the
 * same to callers, who always have a smaller maximum in mind. */
static bool push_digit(uint64_t *value, unsigned base, unsigned digit, uint64_t max) {
  uint64_t next = 0;
  if (__builtin_mul_overflow(*value, (uint64_t)base, &next)) return false;
  if (__builtin_add_overflow(next, (uint64_t)digit, &next) || next > max) return false;
  *value = next;
  return true;
}

/* Reads all digits of the given base at the front of *in. A number that is too large is refused as
 * a whole: its first digits alone would be another number, and a plausible one. */
static enum wo_status read_digits(struct wo_view *in, unsigned base, uint64_t max, uint64_t *ret_value) {
  assert(base == 10 || base == 16);
  uint64_t value = 0;
  size_t len = 0;
  for (; len < in->len && digit_value(in->ptr[len]) < base; len++) {
    if (!push_digit(&value, base, digit_value(in->ptr[len]), max)) return WO_E_RANGE;
  }
  if (len == 0) return WO_E_SYNTAX;
  *in = wo_view_skip(*in, len);
  *ret_value = value;
  return WO_OK;
}

enum wo_status wo_number_u64(struct wo_view *in, uint64_t max, uint64_t *ret_value) {
  assert(in != NULL && ret_value != NULL);
  return read_digits(in, 10, max, ret_value);
}

/* Skips a sign at the front of *in; true for '-'. Moves *in even when no digit follows, so callers
 * work on a copy. */
static bool skip_sign(struct wo_view *in) {
  if (in->len == 0 || (in->ptr[0] != '-' && in->ptr[0] != '+')) return false;
  const bool is_negative = in->ptr[0] == '-';
  *in = wo_view_skip(*in, 1);
  return is_negative;
}

/* The most negative value cannot be read: the range is the same on both sides. */
enum wo_status wo_number_i64(struct wo_view *in, int64_t max, int64_t *ret_value) {
  assert(in != NULL && ret_value != NULL && max >= 0);
  struct wo_view rest = *in;
  const bool is_negative = skip_sign(&rest);
  uint64_t magnitude = 0;
  const enum wo_status status = read_digits(&rest, 10, (uint64_t)max, &magnitude);
  if (status != WO_OK) return status;
  *ret_value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
  *in = rest;
  return WO_OK;
}

enum wo_status wo_number_hex(struct wo_view *in, uint64_t max, uint64_t *ret_value) {
  assert(in != NULL && ret_value != NULL);
  /* "0x" is a prefix only before a digit; otherwise the number is its "0". */
  struct wo_view rest = *in;
  if (wo_view_starts_nocase(rest, "0x") && rest.len > 2 && digit_value(rest.ptr[2]) < 16) rest = wo_view_skip(rest, 2);
  const enum wo_status status = read_digits(&rest, 16, max, ret_value);
  if (status == WO_OK) *in = rest;
  return status;
}

static size_t count_digits(struct wo_view view) {
  size_t count = 0;
  while (count < view.len && wo_is_digit(view.ptr[count])) count++;
  return count;
}

/* Whether a comma and exactly three digits are at the front: one further group of a grouped
 * number. "12,3456" is a list. */
static bool has_group(struct wo_view view) {
  return view.len > 0 && view.ptr[0] == ',' && count_digits(wo_view_skip(view, 1)) == 3;
}

enum wo_status wo_number_grouped(struct wo_view *in, uint64_t max, uint64_t *ret_value) {
  assert(in != NULL && ret_value != NULL);
  struct wo_view rest = *in;
  uint64_t value = 0;
  /* "1234,567" is two numbers. */
  const bool may_group = count_digits(rest) <= 3;
  const enum wo_status status = read_digits(&rest, 10, max, &value);
  if (status != WO_OK) return status;
  for (; may_group && has_group(rest); rest = wo_view_skip(rest, 4)) {
    for (size_t i = 1; i <= 3; i++) {
      if (!push_digit(&value, 10, digit_value(rest.ptr[i]), max)) return WO_E_RANGE;
    }
  }
  *in = rest;
  *ret_value = value;
  return WO_OK;
}

/* ---- Decimal numbers ---- */

/* A number as written: mantissa times ten to the exponent. `exponent` and `last_place` are the same
 * until digits are left out, and both move with a written exponent: "1.50e3" is known to its tens. */
struct decimal {
  uint64_t mantissa;
  int significant; /* digits from the first that is not zero */
  int exponent;    /* of the last digit kept in the mantissa */
  int last_place;  /* exponent of the last digit printed */
  bool is_negative, has_fraction, has_exponent;
};

/* Ten to the power of a count; infinite when that is too large for a double. Exact up to 10^22, the
 * last power of ten that a double holds. By repeated squaring, as pow() would need the mathematics
 * library. */
static double power_of_ten(int count) {
  assert(count >= 0);
  if (count > 400) count = 400;
  double result = 1.0;
  double factor = 10.0;
  for (int bits = count; bits > 0; bits >>= 1) {
    if (bits & 1) result *= factor;
    factor *= factor;
  }
  return result;
}

/* mantissa * 10^exponent. With up to 53 bits and 22 places the one division rounds correctly. */
static double scale_by_ten(uint64_t mantissa, int exponent) {
  const double value = (double)mantissa;
  if (mantissa == 0) return 0.0;
  return exponent < 0 ? value / power_of_ten(-exponent) : value * power_of_ten(exponent);
}

/* Takes one printed digit into *number. `step` is -1 after the point and 0 before it. */
static void push_decimal_digit(struct decimal *number, unsigned digit, int step) {
  /* Leading zeros carry no information, so they do not count. */
  if (number->significant > 0 || digit != 0) number->significant++;
  if (number->significant <= MANTISSA_DIGITS) {
    number->mantissa = number->mantissa * 10 + digit;
    number->exponent += step;
  } else {
    number->exponent += step + 1;
  }
  number->last_place += step;
}

/* Takes a run of digits. False: more significant digits or places than are accepted. *rest is moved
 * after the whole run or not at all. */
static bool read_decimal_digits(struct wo_view *rest, struct decimal *number, int step) {
  const size_t count = count_digits(*rest);
  for (size_t i = 0; i < count; i++) {
    push_decimal_digit(number, digit_value(rest->ptr[i]), step);
    if (number->significant > SIGNIFICANT_DIGITS_MAX || number->last_place < -EXPONENT_MAX) return false;
  }
  *rest = wo_view_skip(*rest, count);
  return true;
}

/* Reads "e-5" when digits follow the letter; anything else is left where it is: "3 epochs" and "2e"
 * are a number and a word. */
static void read_exponent(struct wo_view *rest, struct decimal *number) {
  if (rest->len == 0 || wo_lower(rest->ptr[0]) != 'e') return;
  struct wo_view digits = wo_view_skip(*rest, 1);
  const bool is_negative = skip_sign(&digits);
  const size_t count = count_digits(digits);
  if (count == 0) return;
  /* Stops growing early; the digits that follow are skipped all the same. */
  int value = 0;
  for (size_t i = 0; i < count && value < EXPONENT_MAX; i++) value = value * 10 + (int)digit_value(digits.ptr[i]);
  if (value > EXPONENT_MAX) value = EXPONENT_MAX;
  number->exponent += is_negative ? -value : value;
  number->last_place += is_negative ? -value : value;
  number->has_exponent = true;
  *rest = wo_view_skip(digits, count);
}

/* Reads a number as text, without deciding its value. *rest is moved on failure too: the caller has
 * a copy. */
static enum wo_status read_decimal(struct wo_view *rest, struct decimal *number) {
  number->is_negative = skip_sign(rest);
  if (count_digits(*rest) == 0) return WO_E_SYNTAX;
  if (!read_decimal_digits(rest, number, 0)) return WO_E_RANGE;
  /* A point with no digit after it ends a sentence, not a number. */
  if (rest->len > 1 && rest->ptr[0] == '.' && wo_is_digit(rest->ptr[1])) {
    *rest = wo_view_skip(*rest, 1);
    number->has_fraction = true;
    if (!read_decimal_digits(rest, number, -1)) return WO_E_RANGE;
  }
  read_exponent(rest, number);
  return WO_OK;
}

/* The values that print like the number. Half a unit of the last place is one in twice the mantissa, which keeps 17.655 as exact
 * as a double can hold it; where digits were left out, the last place is finer than a double can show.
 *
 * A number without a fraction is exact: programs print counts that way. For zero the lower end is
 * negative, as "0.00 GiB" can be a difference that came out below it. */
static struct wo_interval decimal_interval(const struct decimal *number) {
  const double mid = scale_by_ten(number->mantissa, number->exponent);
  struct wo_interval interval = wo_interval_exact(mid);
  if (number->has_fraction && number->exponent == number->last_place) {
    const uint64_t twice = number->mantissa * 2;
    interval.hi = scale_by_ten(twice + 1, number->exponent) / 2.0;
    interval.lo = twice == 0 ? -interval.hi : scale_by_ten(twice - 1, number->exponent) / 2.0;
  }
  if (!number->is_negative) return interval;
  return (struct wo_interval){.lo = -interval.hi, .mid = -interval.mid, .hi = -interval.lo};
}

enum wo_status wo_number_decimal(struct wo_view *in, struct wo_interval *ret, bool *ret_is_integer) {
  assert(in != NULL && ret != NULL);
  struct wo_view rest = *in;
  struct decimal number = {0};
  const enum wo_status status = read_decimal(&rest, &number);
  if (status != WO_OK) return status;
  const struct wo_interval interval = decimal_interval(&number);
  if (!(interval.hi <= MAGNITUDE_MAX && interval.lo >= -MAGNITUDE_MAX)) return WO_E_RANGE;
  assert(interval.lo <= interval.mid && interval.mid <= interval.hi);
  *in = rest;
  *ret = interval;
  if (ret_is_integer != NULL) *ret_is_integer = !number.has_fraction && !number.has_exponent;
  return WO_OK;
}
