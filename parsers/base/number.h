/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded, locale-free readers of numbers. Each reads from the front of *in and advances *in past what it read ONLY on
 * success, so that calls can be chained. None allocates; all are safe to call from any thread. */
#ifndef WO_NUMBER_H
#define WO_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/status.h"
#include "parsers/base/view.h"

/* A printed number with the interval of values that print that way: "17.66" is mid 17.66 in [17.655, 17.665]; an integer is
 * exact (lo == mid == hi). Always lo <= mid <= hi and all three finite. */
struct wo_interval {
  double lo;
  double mid;
  double hi;
};

/* The interval that holds exactly one value. */
struct wo_interval wo_interval_exact(double value);

/* Sum and difference of values that are independent of each other: the ends lie as far apart as they can. */
struct wo_interval wo_interval_plus(struct wo_interval a, struct wo_interval b);
struct wo_interval wo_interval_minus(struct wo_interval a, struct wo_interval b);

/* Reads one or more decimal digits, at most `max`. WO_E_SYNTAX: no digit at the front. WO_E_RANGE: larger than max. */
enum wo_status wo_number_u64(struct wo_view *in, uint64_t max, uint64_t *ret_value);

/* As wo_number_u64, with an optional leading '-' or '+' and the bound |value| <= max (max <= INT64_MAX). */
enum wo_status wo_number_i64(struct wo_view *in, int64_t max, int64_t *ret_value);

/* As wo_number_u64 for hexadecimal digits, with an optional "0x". */
enum wo_status wo_number_hex(struct wo_view *in, uint64_t max, uint64_t *ret_value);

/* As wo_number_u64, allowing "," between groups of three digits ("1,234,567"), as CuPy prints. */
enum wo_status wo_number_grouped(struct wo_view *in, uint64_t max, uint64_t *ret_value);

/* Reads a decimal number: optional sign, digits, optional fraction after '.', optional exponent ("1e-5", only when digits follow
 * the e). `ret` carries the rounding interval: half a unit of the last printed place either way; exact without a fraction.
 * *ret_is_integer (NULL allowed) is true if there was neither fraction nor exponent. At most 40 significant digits are accepted;
 * magnitudes of 2^63 and above give WO_E_RANGE. */
enum wo_status wo_number_decimal(struct wo_view *in, struct wo_interval *ret, bool *ret_is_integer);

#endif
