/* SPDX-License-Identifier: Apache-2.0 */
/* Figures for pictures, thinned out: parsers/base/exchange/series.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/exchange/curve.h"

static const struct wo_curve_key key = {.name = "used", .card = 0, .rank = -1};

/* Short series are kept as they are. */
static void test_few_figures(void **state) {
  (void)state;
  struct wo_curve_set set;
  struct wo_curve_point points[2 * WO_CURVE_STRETCHES];
  wo_curve_set_init(&set);
  for (int i = 0; i < WO_CURVE_STRETCHES; i++)
    wo_curve_add(&set, key, (struct wo_curve_point){.x = i, .at = 10.0 * i, .bytes = (i * 37) % 101});
  assert_int_equal(set.count, 1);
  assert_int_equal(wo_curve_points(set.first, points), WO_CURVE_STRETCHES);
  for (int i = 0; i < WO_CURVE_STRETCHES; i++) assert_true(points[i].x == i && points[i].bytes == (i * 37) % 101);
  assert_true(set.first->has_places);
  wo_curve_set_done(&set);
}

/* However many there are: in order, bounded, with the ends, the peak and the lowest. */
static void test_many_figures(void **state) {
  (void)state;
  for (int total = WO_CURVE_STRETCHES + 1; total < 300000; total = total * 3 + 1) {
    struct wo_curve_set set;
    struct wo_curve_point points[2 * WO_CURVE_STRETCHES];
    bool has_peak = false, has_low = false;
    wo_curve_set_init(&set);
    for (int i = 0; i < total; i++) {
      const double bytes = i == total / 3 ? 1000 : i == total / 2 ? 1 : 500 + i % 7;
      wo_curve_add(&set, key, (struct wo_curve_point){.x = i, .at = i, .bytes = bytes});
    }
    const size_t count = wo_curve_points(set.first, points);
    assert_in_range(count, WO_CURVE_STRETCHES / 2, 2 * WO_CURVE_STRETCHES);
    for (size_t i = 0; i < count; i++) {
      if (i > 0) assert_true(points[i].x > points[i - 1].x);
      has_peak |= points[i].bytes == 1000 && points[i].x == total / 3;
      has_low |= points[i].bytes == 1 && points[i].x == total / 2;
    }
    assert_true(has_peak && has_low);
    assert_int_equal(set.first->figures, total);
    wo_curve_set_done(&set);
  }
}

static void test_keys_are_apart(void **state) {
  (void)state;
  struct wo_curve_set set;
  wo_curve_set_init(&set);
  for (int32_t card = 0; card < WO_CURVE_MAX + 5; card++)
    wo_curve_add(&set, (struct wo_curve_key){.name = "used", .card = card}, (struct wo_curve_point){.at = WO_CURVE_NO_PLACE});
  assert_int_equal(set.count, WO_CURVE_MAX);
  assert_int_equal(set.left_out, 5);
  assert_false(set.first->has_places);
  wo_curve_set_done(&set);
  wo_curve_set_init(&set);
  wo_curve_add(&set, key, (struct wo_curve_point){.bytes = 1});
  set.file = 1;
  wo_curve_add(&set, key, (struct wo_curve_point){.bytes = 2});
  assert_int_equal(set.count, 2);
  wo_curve_set_done(&set);
}

/* Places that go back are none. */
static void test_places(void **state) {
  (void)state;
  struct wo_curve_set set;
  wo_curve_set_init(&set);
  wo_curve_add(&set, key, (struct wo_curve_point){.x = 0, .at = 5});
  wo_curve_add(&set, key, (struct wo_curve_point){.x = 1, .at = 4});
  assert_false(set.first->has_places);
  wo_curve_restart(&set, key);
  assert_int_equal(set.first->count, 0);
  wo_curve_add(&set, key, (struct wo_curve_point){.x = 0, .at = 1});
  assert_true(set.first->has_places && set.first->figures == 1);
  wo_curve_set_done(&set);
  wo_curve_set_done(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_figures), cmocka_unit_test(test_many_figures),
                                     cmocka_unit_test(test_keys_are_apart), cmocka_unit_test(test_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
