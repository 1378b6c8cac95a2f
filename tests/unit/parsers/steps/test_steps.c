/* SPDX-License-Identifier: Apache-2.0 */
/* Lines with memory beside training steps: their forms, and the course of a figure. What whole logs give stands in
 * tests/table/steps.txt. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/units.h"
#include "parsers/steps/steps_series.h"

/* ---- Forms ---- */

/* Reads a line by the form of another one, from a block of its own size. */
static size_t match(const char *model, const char *line, struct wo_steps_reading *reading) {
  static struct wo_steps_form form;
  const size_t len = strlen(line);
  char *const copy = malloc(len + 1);
  assert_non_null(copy);
  memcpy(copy, line, len);
  char *const exact = realloc(copy, len == 0 ? 1 : len);
  assert_non_null(exact);
  assert_true(wo_steps_form_make(wo_view_of(model), &form));
  const size_t end = wo_steps_form_match(&form, (struct wo_view){exact, len}, reading);
  free(exact);
  return end;
}

static void test_same_text(void **state) {
  (void)state;
  static const char model[] = "step 9 | loss 2.31 | lr 1e-05 | mem 67.02 GiB";
  static const char *const like[] = {
      "step 10 | loss 12.3 | lr 0.001 | mem 7.5 GiB",
      "step 1234567890 | loss -0.5 | lr 1.25E+03 | mem   7.500000 GiB",
      "step \t 3 | loss +3 | lr 0 | mem 7.5 GiB",
  };
  static const char *const unlike[] = {
      "step 10 | loss nan | lr 0.001 | mem 7.5 GiB",  "step 10 | loss 2.1 | lr 0.001 | mem 7.5 MiB",
      "step 10 | loss 2.1 | lr 0.001 | mem 7.5 GiB ", "step 10 | loss 2.1 | lr 0.001 | mem 7.5 Gi",
      "step 10 | loss 2.1 | lr 0.001 | mem",          "",
      "step 10 | loss 2.1 | lr 0.001 | mem x GiB",    "step 10 | loss . | lr 0.001 | mem 7.5 GiB",
  };
  struct wo_steps_reading reading;
  for (size_t i = 0; i < sizeof like / sizeof like[0]; i++) {
    assert_int_equal(match(model, like[i], &reading), strlen(like[i]));
    assert_true(reading.bytes[WO_STEPS_USED] == 7.5 * WO_GIB && reading.step >= 3 && reading.rank == -1);
  }
  for (size_t i = 0; i < sizeof unlike / sizeof unlike[0]; i++) {
    assert_true(match(model, unlike[i], &reading) == WO_NOT_FOUND);
  }
}

/* The line ends where its text ends, at a line end or with the text. */
static void test_line_end(void **state) {
  (void)state;
  struct wo_steps_reading reading;
  static const char model[] = "step 9 loss 1 GPU mem 1.5 GiB";
  assert_int_equal(match(model, "step 1 loss 1 GPU mem 2.5 GiB\nstep 2", &reading), 29);
  assert_int_equal(match(model, "step 1 loss 1 GPU mem 2.5 GiB\r\nstep 2", &reading), 29);
  assert_true(match(model, "step 1 loss 1 GPU\nmem 2.5 GiB", &reading) == WO_NOT_FOUND);
  static const char bar[] = " 1%|## | 1/9 [00:01<00:01, 2.0it/s, GPU mem=1.5G]";
  assert_int_equal(match(bar, " 33%|####9  | 3/9 [00:01<00:01, 2.0it/s, GPU mem=1.5G]\r", &reading), 54);
  assert_true(reading.step == 3);
  assert_true(match(bar, " 33%|##\r  | 3/9 [00:01<00:01, 2.0it/s, GPU mem=1.5G]", &reading) == WO_NOT_FOUND);
}

/* Numbers of every length, and of more digits than are believed. */
static void test_numbers(void **state) {
  (void)state;
  struct wo_steps_reading reading;
  char line[256];
  uint64_t value = 0;
  for (int digits = 1; digits <= 15; digits++) {
    value = value * 10 + (uint64_t)(digits % 10);
    const int len = snprintf(line, sizeof line, "step %llu loss 1 GPU mem 1.5 GiB", (unsigned long long)value);
    assert_int_equal(match("step 9 loss 1 GPU mem 1.5 GiB", line, &reading), len);
    assert_true(reading.step == (double)value);
  }
  assert_true(match("step 9 loss 1 GPU mem 1.5 GiB", "step 1234567890123456 loss 1 GPU mem 1.5 GiB", &reading) != WO_NOT_FOUND);
  assert_true(reading.step < 0 && reading.bytes[WO_STEPS_USED] == 1.5 * WO_GIB);
  assert_true(match("step 9 loss 1 GPU mem 1.5 GiB", "step 12 loss 1 GPU mem 0.0625 GiB", &reading) != WO_NOT_FOUND);
  assert_true(reading.bytes[WO_STEPS_USED] == 0.0625 * WO_GIB && reading.half_bytes[WO_STEPS_USED] == 0.00005 * WO_GIB);
}

/* Too many numbers, too long, none. */
static void test_limits(void **state) {
  (void)state;
  static struct wo_steps_form form;
  static char line[WO_LIMIT_STEPS_LINE_BYTES + 1];
  for (size_t i = 0; i < sizeof line; i++) line[i] = i % 2 ? '1' : 'x';
  assert_false(wo_steps_form_make((struct wo_view){line, sizeof line}, &form));
  assert_true(wo_steps_form_make((struct wo_view){line, 2 * WO_LIMIT_STEPS_NUMBERS}, &form));
  assert_false(wo_steps_form_make((struct wo_view){line, 2 * WO_LIMIT_STEPS_NUMBERS + 2}, &form));
  assert_false(wo_steps_form_make(WO_VIEW("memory: no number"), &form));
  assert_false(wo_steps_form_make((struct wo_view){NULL, 0}, &form));
}

static void test_yolo(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "", "1/", "1/100", "1/100 12.3", "1/100 12.3G", "1/100 12.3T x", "1 /100 12.3G x", "a/b 1G x", "1/100 99999G x"};
  struct wo_steps_reading reading;
  assert_true(wo_steps_read_yolo(WO_VIEW("      7/100      12.3G     0.0412      0.1"), &reading));
  assert_true(reading.step == 7 && fabs(reading.bytes[WO_STEPS_RESERVED] - 12.3 * WO_GIB) < 1);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_false(wo_steps_read_yolo(wo_view_of(wrong[i]), &reading));
}

/* ---- Courses ---- */

static void add(struct wo_steps_series *series, double step, double gib) {
  struct wo_steps_reading reading = {.step = step, .epoch = WO_STEPS_UNKNOWN, .rank = -1, .gpu = -1};
  reading.bytes[series->role] = gib * WO_GIB;
  reading.half_bytes[series->role] = 0.005 * WO_GIB;
  const struct wo_steps_place place = {.line = series->line_last + 1, .byte = 7, .text = WO_VIEW("a line")};
  wo_steps_series_add(series, &reading, &place);
}

static void test_slope(void **state) {
  (void)state;
  struct wo_steps_series series = {.role = WO_STEPS_ALLOCATED};
  struct wo_interval slope;
  double rise = 0;
  for (int i = 0; i < 5000; i++) add(&series, 10 * i, 10 + 0.01 * i + (i % 7) * 0.003);
  assert_true(wo_steps_series_slope(&series, &slope) && wo_steps_series_late_rise(&series, &rise));
  assert_true(slope.lo > 0.00099 * WO_GIB && slope.hi < 0.00101 * WO_GIB);
  assert_true(rise > 20 * WO_GIB && rise < 25.5 * WO_GIB);
  assert_true(series.count == 5000 && series.step_first == 0 && series.step_last == 49990 && series.falls == 0);
}

/* A start that rises and then stays is no growth. */
static void test_start(void **state) {
  (void)state;
  struct wo_steps_series series = {.role = WO_STEPS_ALLOCATED};
  double rise = 1;
  for (int i = 0; i < 200; i++) add(&series, i, i < 20 ? i : 20);
  assert_true(wo_steps_series_late_rise(&series, &rise) && rise == 0);
}

static void test_sawtooth(void **state) {
  (void)state;
  struct wo_steps_series series = {.role = WO_STEPS_ALLOCATED};
  double rise = 1;
  for (int i = 0; i < 400; i++) add(&series, i, 10 + i % 20);
  assert_true(series.falls == 19 && fabs(series.fall.bytes - 19 * WO_GIB) < 1);
  assert_true(wo_steps_series_late_rise(&series, &rise) && rise < 5 * WO_GIB);
}

static void test_restart(void **state) {
  (void)state;
  struct wo_steps_series series = {.role = WO_STEPS_USED};
  for (int i = 0; i < 100; i++) add(&series, i, 10 + i);
  for (int i = 50; i < 60; i++) add(&series, i, 12 + i - 50);
  assert_true(series.restarts == 1 && series.count == 10 && series.first == 12 * WO_GIB && series.step_first == 50);
  assert_true(series.line_first == 101 && series.line_last == 110 && series.highest == 21 * WO_GIB);
}

/* Steps that begin anew, and ranks that are a little behind, are no restart. */
static void test_wrap(void **state) {
  (void)state;
  struct wo_steps_series series = {.role = WO_STEPS_USED};
  for (int epoch = 0; epoch < 3; epoch++) {
    for (int i = 0; i < 10; i++) add(&series, i, 10 + epoch);
  }
  assert_true(series.restarts == 0 && series.wraps == 2 && series.count == 30 && series.x == 30);
  series = (struct wo_steps_series){.role = WO_STEPS_USED};
  for (int i = 0; i < 20; i++) add(&series, i % 2 ? i - 2 : i, 10);
  assert_true(series.restarts == 0 && series.wraps == 0 && series.step_last == 18 && series.x <= 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_text), cmocka_unit_test(test_line_end), cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_limits),    cmocka_unit_test(test_yolo),     cmocka_unit_test(test_slope),
      cmocka_unit_test(test_start),     cmocka_unit_test(test_sawtooth), cmocka_unit_test(test_restart),
      cmocka_unit_test(test_wrap),
  };
  return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
