/* SPDX-License-Identifier: Apache-2.0 */
/* A measured run: what it says of other settings, and how it binds a reconstructed pattern. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cuda_replay/verify/verify_measured.h"
#include "parsers/base/units.h"

#define GIB(x) ((x)*WO_GIB)

static const struct wo_measured_run linear = {
    .micro_batch = 2, .seq_len = 1024, .peak_bytes = GIB(30.0), .fixed_bytes = GIB(10.0), .is_attention_fused = true};

static void expect(struct wo_measured_run run, double micro_batch, double seq_len, double lo_gib, double hi_gib) {
  const struct wo_interval got = wo_measured_run_predict(&run, micro_batch, seq_len);
  if (got.lo / WO_GIB - lo_gib > 1e-6 || lo_gib - got.lo / WO_GIB > 1e-6 || got.hi / WO_GIB - hi_gib > 1e-6 ||
      hi_gib - got.hi / WO_GIB > 1e-6)
    fail_msg("micro-batch %g, length %g: %g to %g GiB, not %g to %g", micro_batch, seq_len, got.lo / WO_GIB, got.hi / WO_GIB,
             lo_gib, hi_gib);
}

static void test_intervals(void **state) {
  (void)state;
  expect(linear, 2, 1024, 30, 30);
  expect(linear, 4, 1024, 30, 50);
  expect(linear, 1, 1024, 20, 30);
  expect(linear, 2, 2048, 30, 50);
  expect(linear, 4, 512, 30, 30);
  expect(linear, 2, 0, 30, 30); /* without a length it counts as unchanged */
  struct wo_measured_run square = linear;
  square.is_attention_fused = false;
  expect(square, 2, 2048, 30, 90);
  expect(square, 2, 512, 15, 30);
  expect(square, 4, 512, 20, 30); /* what grows with the square is halved, the rest is as it was */
  expect(square, 1, 2048, 30, 50);
  struct wo_measured_run least = linear;
  least.least_bytes_per_token = GIB(20.0) / 4096;
  expect(least, 4, 1024, 30, 50);
  expect(least, 6, 1024, 40, 70);
  struct wo_measured_run lengthless = linear;
  lengthless.seq_len = 0;
  expect(lengthless, 4, 4096, 30, 50);
}

static void test_ends_are_in_order(void **state) {
  (void)state;
  for (unsigned i = 1; i < 2000; i++) {
    const struct wo_measured_run run = {.micro_batch = 1 + i % 7,
                                        .seq_len = i % 3 == 0 ? 0 : 64 * (1 + i % 13),
                                        .peak_bytes = GIB(1.0 + i % 70),
                                        .fixed_bytes = GIB((double)(i % 70) / 2),
                                        .least_bytes_per_token = i % 5 * 1e5,
                                        .is_attention_fused = i % 2 == 0};
    const struct wo_interval got = wo_measured_run_predict(&run, 1 + i % 11, i % 4 == 0 ? 0 : 64 * (1 + i % 17));
    assert_true(got.lo <= got.mid && got.mid <= got.hi && got.lo >= 0 && got.hi >= run.peak_bytes);
  }
}

/* A job of micro-batch 8 and length 2048 on a card that leaves 44 GiB, and a run at 1 x 1024 that held 36 of them, 1 outside. */
static struct wo_job_sizes sizes = {.micro_batch = 8,
                                    .seq_len = 2048,
                                    .non_pytorch_bytes = GIB(1.0),
                                    .measured = {.micro_batch = 1, .seq_len = 1024, .peak_bytes = GIB(36.0)}};
static struct wo_verify_subject subject = {
    .sizes = &sizes, .capacity_bytes = UINT64_C(44) << 30, .uncertainty_bytes = UINT64_C(256) << 20};

static struct wo_verify_result heed(const char *change, enum wo_verify_fit fit, double lo_gib, double hi_gib) {
  struct wo_verify_result result = {
      .fit = fit, .reserved_lo_bytes = (uint64_t)GIB(lo_gib), .reserved_hi_bytes = (uint64_t)GIB(hi_gib), .why = "as before"};
  struct wo_change scaled = {0};
  struct wo_err err;
  result.margin_bytes = (int64_t)subject.capacity_bytes - (int64_t)result.reserved_hi_bytes;
  if (change) assert_int_equal(wo_change_add(&scaled, WO_VIEW("scale"), wo_view_of(change), &err), WO_OK);
  wo_verify_apply_measured(&subject, change ? &scaled : NULL, &result);
  return result;
}

/* The pattern says 20 GiB, and less work than that took 35. */
static void test_more_work_needs_more(void **state) {
  (void)state;
  const struct wo_verify_result result = heed("micro_batch=8:2", WO_VERIFY_YES, 20, 20);
  assert_int_equal(result.fit, WO_VERIFY_UNSURE);
  assert_int_equal(result.reserved_lo_bytes, (uint64_t)GIB(35.0));
  assert_int_equal(result.reserved_hi_bytes, (uint64_t)GIB(36.0 * 8 - 1));
  assert_true(result.margin_bytes < 0);
  assert_non_null(strstr(result.why, "36.00 GiB at micro-batch 1"));
  assert_int_equal(heed("micro_batch=8:1,seq_len=2048:1088", WO_VERIFY_YES, 20, 20).fit, WO_VERIFY_YES); /* 36 x 1.0625^2 - 1 */
  assert_int_equal(heed("micro_batch=8:2", WO_VERIFY_NO, 90, 90).reserved_hi_bytes, (uint64_t)GIB(90.0));
}

static void test_measured_work_fits(void **state) {
  (void)state;
  const struct wo_verify_result result = heed("micro_batch=8:1,seq_len=2048:1024", WO_VERIFY_NO, 60, 70);
  assert_int_equal(result.fit, WO_VERIFY_YES);
  assert_int_equal(result.reserved_hi_bytes, (uint64_t)GIB(35.0));
  assert_int_equal(result.margin_bytes, (int64_t)GIB(9.0));
  assert_string_equal(result.why, "");
}

static void test_what_it_does_not_tell(void **state) {
  (void)state;
  struct wo_change settings = {.set_count = 1, .sets = {WO_VIEW("expandable_segments:True")}};
  struct wo_verify_result result = {.fit = WO_VERIFY_YES, .reserved_hi_bytes = 1, .reserved_lo_bytes = 1};
  wo_verify_apply_measured(&subject, &settings, &result); /* the run was made without it */
  assert_int_equal(result.reserved_hi_bytes, 1);
  assert_int_equal(heed(NULL, WO_VERIFY_UNTRIED, 1, 1).fit, WO_VERIFY_UNTRIED);
  struct wo_verify_subject recorded = subject;
  recorded.sizes = NULL;
  wo_verify_apply_measured(&recorded, NULL, &result);
  assert_int_equal(result.reserved_hi_bytes, 1);
  struct wo_verify_subject boundless = subject;
  boundless.capacity_bytes = 0;
  wo_verify_apply_measured(&boundless, NULL, &result);
  assert_int_equal(result.reserved_hi_bytes, 1);
}

/* A log may print any number as its batch: the bytes that come of it are no number of 64 bits. */
static void test_figures_beyond_bytes(void **state) {
  (void)state;
  struct wo_job_sizes huge = sizes;
  struct wo_verify_subject of_huge = subject;
  of_huge.sizes = &huge;
  for (double batch = 1e9; batch < 1e300; batch *= 1e9) {
    struct wo_verify_result result = {.fit = WO_VERIFY_UNSURE, .reserved_lo_bytes = 1, .reserved_hi_bytes = 1};
    huge.micro_batch = batch;
    huge.seq_len = batch;
    wo_verify_apply_measured(&of_huge, NULL, &result);
    assert_int_equal(result.fit, WO_VERIFY_UNSURE);
    assert_true(result.reserved_lo_bytes <= result.reserved_hi_bytes && result.reserved_hi_bytes > of_huge.capacity_bytes);
    assert_int_equal(result.margin_bytes, (int64_t)of_huge.capacity_bytes - (int64_t)result.reserved_hi_bytes);
    assert_true(result.margin_bytes < 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_intervals),
      cmocka_unit_test(test_ends_are_in_order),
      cmocka_unit_test(test_more_work_needs_more),
      cmocka_unit_test(test_measured_work_fits),
      cmocka_unit_test(test_what_it_does_not_tell),
      cmocka_unit_test(test_figures_beyond_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
