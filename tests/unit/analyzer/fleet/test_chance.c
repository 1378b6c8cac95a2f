/* SPDX-License-Identifier: Apache-2.0 */
/* Exact tests of counts: analyzer/fleet/chance.c. */
#include "analyzer/fleet/chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Adds up the distribution itself, by its recursion from the probability of none. Small counts only. */
static double tail_by_hand(int population, int marked, int drawn, int found) {
  double total = 0, tail = 0;
  const int most = marked < drawn ? marked : drawn;
  for (int x = 0; x <= most; x++) {
    double ways = 1;
    if (drawn - x > population - marked) continue;
    for (int i = 0; i < x; i++) ways = ways * (marked - i) / (i + 1);
    for (int i = 0; i < drawn - x; i++) ways = ways * (population - marked - i) / (i + 1);
    total += ways;
    if (x >= found) tail += ways;
  }
  return tail / total;
}

static void test_tail_is_the_sum_of_the_distribution(void **state) {
  (void)state;
  for (int population = 1; population <= 14; population++) {
    for (int marked = 0; marked <= population; marked++) {
      for (int drawn = 0; drawn <= population; drawn++) {
        for (int found = 0; found <= drawn + 1; found++) {
          const double is = exp(wo_chance_ln_tail(population, marked, drawn, found));
          const double wanted = tail_by_hand(population, marked, drawn, found);
          if (fabs(is - wanted) > 1e-9)
            fail_msg("%d of %d marked, %d drawn, %d found: %g, not %g", marked, population, drawn, found, is, wanted);
        }
      }
    }
  }
}

static void test_known_values(void **state) {
  (void)state;
  /* the lady tasting tea: 4 of 4 cups right is 1 of 70 */
  assert_true(fabs(wo_chance_ln_tail(8, 4, 4, 4) + log(70)) < 1e-9);
  /* 12 of 12 failed and 0 of 30: 1 of 42 over 12 */
  assert_true(fabs(wo_chance_ln_tail(42, 12, 12, 12) + log(11058116888.0)) < 1e-6);
  assert_true(isinf(wo_chance_ln_tail(10, 2, 3, 3)));
}

static void test_large_counts(void **state) {
  (void)state;
  /* far below the mean the tail is all but certain, whatever the scale of the first term is */
  const double certain = wo_chance_ln_tail(2000000, 1000000, 1000000, 400000);
  assert_true(certain <= 0 && certain > -1e-6);
  const double impossible = wo_chance_ln_tail(2000000, 1000, 1000, 1000);
  assert_true(impossible < -7000 && isfinite(impossible));
}

static void test_any_of_many(void **state) {
  (void)state;
  assert_true(fabs(wo_chance_ln_any(log(0.001), 10) - log(0.01)) < 1e-12);
  assert_true(wo_chance_ln_any(log(0.5), 10) == 0.0);
  assert_true(fabs(wo_chance_ln_any(log(0.5), 0) - log(0.5)) < 1e-12);
}

static void check_words(double chance, const char *expected) {
  struct wo_text text = {0};
  wo_chance_add(&text, log(chance));
  wo_text_add(&text, "%c", '\0');
  assert_string_equal(text.ptr, expected);
  wo_text_done(&text);
}

static void test_words(void **state) {
  (void)state;
  check_words(1.0, "1 of 1");
  check_words(0.01, "1 of 100");
  check_words(1.0 / 49, "1 of 40"); /* never rarer than it is */
  check_words(1.0 / 2000, "1 of 2 thousand");
  check_words(1.0 / 99e6, "1 of 90 million");
  check_words(1.0 / 1e7, "1 of 10 million");
  check_words(1e-11, "1 of 100 billion");
  check_words(1e-12, "less than 1 of a million million");
  check_words(1e-300, "less than 1 of a million million");
  struct wo_text text = {0};
  wo_chance_add(&text, -INFINITY);
  assert_true(wo_view_starts((struct wo_view){text.ptr, text.len}, "less than"));
  wo_text_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tail_is_the_sum_of_the_distribution),
      cmocka_unit_test(test_known_values),
      cmocka_unit_test(test_large_counts),
      cmocka_unit_test(test_any_of_many),
      cmocka_unit_test(test_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
