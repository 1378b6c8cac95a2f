/* SPDX-License-Identifier: Apache-2.0 */
/* The course of a card: thinned out without a loss, the job's part of it, slopes with their interval. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/formats/common/monitor_trend.h"

static void add(struct wo_trend *trend, double fb, double sm) {
  wo_trend_add(trend, fb, sm, -1, false);
}

/* Noise that is the same on every machine, between -0.5 and 0.5. */
static double noise(uint32_t *seed) {
  *seed = *seed * 1664525U + 1013904223U;
  return (double)(*seed >> 8) / (double)(1U << 24) - 0.5;
}

/* Whatever the length, no sample is lost and the points stay in order. */
static void test_thinning(void **state) {
  (void)state;
  for (size_t samples = 1; samples < 3000; samples += 97) {
    struct wo_trend trend = {.count = 0};
    double fb = 0, count = 0, last = -1;
    for (size_t i = 0; i < samples; i++) add(&trend, (double)i, 50);
    assert_true(trend.count <= WO_TREND_POINTS && trend.samples == (double)samples);
    for (size_t i = 0; i < trend.count; i++) {
      const struct wo_trend_point *const point = &trend.points[i];
      assert_true(point->index_sum / point->samples > last);
      last = point->index_sum / point->samples;
      fb += point->fb_sum;
      count += point->samples;
    }
    assert_true(count == (double)samples && fb == (double)samples * (double)(samples - 1) / 2);
    assert_true(trend.fb_min == 0 && trend.fb_max == (double)(samples - 1));
  }
}

/* Further figures of the last sample do not make a new one. */
static void test_continued(void **state) {
  (void)state;
  struct wo_trend trend = {.count = 0};
  wo_trend_add(&trend, -1, -1, -1, false);
  wo_trend_add(&trend, 7, -1, -1, true);
  wo_trend_add(&trend, -1, 90, -1, true);
  assert_true(trend.count == 1 && trend.samples == 1);
  assert_true(trend.points[0].fb_sum == 7 && trend.points[0].sm_sum == 90 && trend.points[0].samples == 1);
}

static void test_active(void **state) {
  (void)state;
  static const double fb[] = {4, 4, 900, 1000, 4, 1000, 4, 4, 4};
  struct wo_trend trend = {.count = 0};
  for (size_t i = 0; i < sizeof fb / sizeof fb[0]; i++) add(&trend, fb[i], i == 3 ? 80 : 0);
  const struct wo_trend_span span = wo_trend_active(&trend);
  assert_true(span.first == 2 && span.end == 6);
  double mean = -1, idle = -1;
  assert_true(wo_trend_load(&trend, span, &mean, &idle));
  assert_true(mean == 20 && idle == 75);
}

/* A trace that was begun late and ended early is the job's as a whole; so is one without memory. */
static void test_active_all(void **state) {
  (void)state;
  struct wo_trend trend = {.count = 0};
  double mean = 0, idle = 0;
  add(&trend, 600, -1);
  add(&trend, 1000, -1);
  add(&trend, 600, -1);
  struct wo_trend_span span = wo_trend_active(&trend);
  assert_true(span.first == 0 && span.end == 3);
  assert_false(wo_trend_load(&trend, span, &mean, &idle));
  trend = (struct wo_trend){.count = 0};
  add(&trend, -1, 3);
  add(&trend, -1, 97);
  span = wo_trend_active(&trend);
  assert_true(span.first == 0 && span.end == 2 && wo_trend_load(&trend, span, &mean, &idle));
  assert_true(mean == 50 && idle == 50);
}

/* A line without noise has no margin; per second it is the line over the times. */
static void test_line(void **state) {
  (void)state;
  struct wo_trend trend = {.count = 0};
  struct wo_interval slope = {0, 0, 0};
  for (int i = 0; i < 1000; i++) wo_trend_add(&trend, 5000 + 10.0 * i, -1, 1.7e9 + 5.0 * i, false);
  const struct wo_trend_span span = wo_trend_active(&trend);
  assert_true(wo_trend_slope(&trend, span, false, &slope));
  assert_true(fabs(slope.mid - 10) < 1e-6 && fabs(slope.hi - slope.lo) < 1e-6);
  assert_true(wo_trend_slope(&trend, span, true, &slope));
  assert_true(fabs(slope.mid - 2) < 1e-6);
}

/* Of the intervals of many noisy courses about 95 of 100 hold the true slope, whether that is zero or not. */
static void test_noise(void **state) {
  enum { COURSES = 400 };
  (void)state;
  uint32_t seed = 1;
  int flat_held = 0, rising_held = 0, rising_told = 0;
  for (int course = 0; course < COURSES; course++) {
    struct wo_trend flat = {.count = 0};
    struct wo_trend rising = {.count = 0};
    struct wo_interval slope = {0, 0, 0};
    for (int i = 0; i < 300; i++) {
      const double error = 100 * noise(&seed);
      add(&flat, 10000 + error, -1);
      add(&rising, 10000 + error + i, -1);
    }
    assert_true(wo_trend_slope(&flat, wo_trend_active(&flat), false, &slope));
    flat_held += slope.lo <= 0 && slope.hi >= 0;
    assert_true(wo_trend_slope(&rising, wo_trend_active(&rising), false, &slope));
    rising_held += slope.lo <= 1 && slope.hi >= 1;
    rising_told += slope.lo > 0.8;
  }
  assert_in_range(flat_held, COURSES * 91 / 100, COURSES * 99 / 100);
  assert_in_range(rising_held, COURSES * 91 / 100, COURSES * 99 / 100);
  assert_int_equal(rising_told, COURSES);
}

/* A start-up, and then nothing more: neither the interval nor the second half shows growth. */
static void test_step(void **state) {
  (void)state;
  struct wo_trend trend = {.count = 0};
  struct wo_interval slope = {0, 0, 0};
  double rise = -1;
  for (int i = 0; i < 200; i++) add(&trend, i < 60 ? 5000 + 100.0 * i : 11000, -1);
  const struct wo_trend_span span = wo_trend_active(&trend);
  assert_true(wo_trend_slope(&trend, span, false, &slope));
  assert_true(slope.lo <= 0 && slope.mid > 0);
  assert_true(wo_trend_late_rise(&trend, span, &rise));
  assert_true(rise == 0);
}

static void test_late_rise(void **state) {
  (void)state;
  struct wo_trend trend = {.count = 0};
  double rise = -1;
  for (int i = 0; i < 100; i++) add(&trend, 5000 + 10.0 * i, -1);
  assert_true(wo_trend_late_rise(&trend, wo_trend_active(&trend), &rise));
  assert_true(fabs(rise - 490) < 1);
}

/* Too little to tell. */
static void test_short(void **state) {
  (void)state;
  struct wo_trend trend = {.count = 0};
  struct wo_interval slope = {0, 0, 0};
  double rise = 0;
  assert_false(wo_trend_slope(&trend, wo_trend_active(&trend), false, &slope));
  for (int i = 0; i < 11; i++) {
    assert_false(i < 3 && wo_trend_slope(&trend, wo_trend_active(&trend), false, &slope));
    assert_false(wo_trend_late_rise(&trend, wo_trend_active(&trend), &rise));
    add(&trend, 5000 + 10.0 * i, -1);
  }
  assert_true(wo_trend_slope(&trend, wo_trend_active(&trend), false, &slope));
  assert_false(wo_trend_slope(&trend, wo_trend_active(&trend), true, &slope));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_thinning),   cmocka_unit_test(test_continued), cmocka_unit_test(test_active),
      cmocka_unit_test(test_active_all), cmocka_unit_test(test_line),      cmocka_unit_test(test_noise),
      cmocka_unit_test(test_step),       cmocka_unit_test(test_late_rise), cmocka_unit_test(test_short),
  };
  return cmocka_run_group_tests_name("monitor_trend", tests, NULL, NULL);
}
