/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes every reader of numbers and units over arbitrary bytes. Checks: a reader moves its view forward on success and not at
 * all on failure, results are in bounds and ordered, and what is printed reads back as the same value. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/number.h"
#include "parsers/base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check must stop the fuzzer in every build type, so assert would not do. */
static void require(bool holds) {
  if (!holds) __builtin_trap();
}

/* What holds after any reader: the view is a tail of `whole`, shorter on success and the same on failure. */
static void check_view(struct wo_view whole, struct wo_view rest, enum wo_status status) {
  require((unsigned)status < (unsigned)WO_STATUS_COUNT_);
  if (status == WO_OK) {
    require(rest.len < whole.len && rest.ptr + rest.len == whole.ptr + whole.len);
  } else {
    require(rest.ptr == whole.ptr && rest.len == whole.len);
  }
}

static void check_interval(struct wo_interval interval) {
  require(isfinite(interval.lo) && isfinite(interval.mid) && isfinite(interval.hi));
  require(interval.lo <= interval.mid && interval.mid <= interval.hi);
}

typedef enum wo_status (*u64_reader)(struct wo_view *in, uint64_t max, uint64_t *ret_value);

static void check_integers(struct wo_view whole) {
  static const u64_reader readers[] = {wo_number_u64, wo_number_hex, wo_number_grouped};
  static const uint64_t maxima[] = {0, 9, 1000, UINT32_MAX, UINT64_MAX};
  for (size_t r = 0; r < sizeof readers / sizeof readers[0]; r++) {
    for (size_t m = 0; m < sizeof maxima / sizeof maxima[0]; m++) {
      struct wo_view rest = whole;
      uint64_t value = 0;
      const enum wo_status status = readers[r](&rest, maxima[m], &value);
      check_view(whole, rest, status);
      require(value <= maxima[m]);
    }
  }
  struct wo_view rest = whole;
  int64_t value = 0;
  check_view(whole, rest, wo_number_i64(&rest, 12345, &value) == WO_OK ? WO_OK : WO_E_SYNTAX);
  require(value >= -12345 && value <= 12345);
}

static void check_decimal(struct wo_view whole) {
  struct wo_view rest = whole;
  struct wo_interval interval = {0};
  bool is_integer = false;
  const enum wo_status status = wo_number_decimal(&rest, &interval, &is_integer);
  check_view(whole, rest, status);
  check_interval(interval);
  require(!is_integer || interval.lo == interval.hi);
}

/* Printing a size rounds it; reading the text gives an interval that must hold it, give or take the last bit of a double. */
static void check_bytes_round_trip(double bytes) {
  char text[64];
  struct wo_view in = wo_view_of(wo_units_bytes_text(bytes, text, sizeof text));
  struct wo_interval again = {0};
  require(wo_units_bytes(&in, 0, &again) == WO_OK && in.len == 0);
  const double slack = fabs(bytes) * 1e-15;
  require(again.lo - slack <= bytes && bytes <= again.hi + slack);
}

static void check_bytes(struct wo_view whole, double bare_scale) {
  struct wo_view rest = whole;
  struct wo_interval bytes = {0};
  const enum wo_status status = wo_units_bytes(&rest, bare_scale, &bytes);
  check_view(whole, rest, status);
  check_interval(bytes);
  require(bytes.hi < 9223372036854775808.0 && bytes.lo > -9223372036854775808.0);
  require(bytes.mid == trunc(bytes.mid));
  if (status == WO_OK && fabs(bytes.mid) < 9e18) check_bytes_round_trip(bytes.mid);
}

static void check_duration(struct wo_view whole) {
  struct wo_view rest = whole;
  int64_t ns = 0;
  const enum wo_status status = wo_units_slurm_duration(&rest, &ns);
  check_view(whole, rest, status);
  require(ns >= 0);
  char text[64];
  struct wo_view in = wo_view_of(wo_units_duration_text(ns, text, sizeof text));
  int64_t again = -1;
  require(wo_units_slurm_duration(&in, &again) == WO_OK && in.len == 0 && again == ns);
}

static void check_time(struct wo_view whole) {
  struct wo_view rest = whole;
  int64_t ns = 0;
  const enum wo_status status = wo_units_time(&rest, &ns);
  check_view(whole, rest, status);
  char text[64];
  struct wo_view in = wo_view_of(wo_units_time_text(ns, text, sizeof text));
  int64_t again = -1;
  const enum wo_status again_status = wo_units_time(&in, &again);
  /* A zone can move the first and last days into years that are not read. */
  if (again_status == WO_E_RANGE) return;
  require(again_status == WO_OK && in.len == 0);
  require(again <= ns && ns - again < WO_NS_PER_S);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *const copy = malloc(size == 0 ? 1 : size);
  if (copy == NULL) return 0;
  if (size > 0) memcpy(copy, data, size);
  /* Every start in a short input, so that one seed serves all readers. */
  for (size_t start = 0; start <= size && start < 64; start++) {
    const struct wo_view whole = {copy + start, size - start};
    check_integers(whole);
    check_decimal(whole);
    check_bytes(whole, 0);
    check_bytes(whole, 1024);
    check_duration(whole);
    check_time(whole);
  }
  free(copy);
  return 0;
}
