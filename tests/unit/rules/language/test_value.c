/* SPDX-License-Identifier: Apache-2.0 */
/* Values: constructors and unit names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rules/language/value.h"

static void test_unknown_knows_its_unit_only(void **state) {
  (void)state;
  const struct wo_value value = wo_value_unknown(WO_UNIT_BYTES);
  assert_int_equal(value.unit, WO_UNIT_BYTES);
  assert_false(value.is_known);
  assert_int_equal(value.truth, WO_UNDECIDED);
  assert_int_equal(value.evidence, WO_EVENT_NONE);
}

static void test_undecided_bool_is_unknown(void **state) {
  (void)state;
  assert_true(wo_value_bool(WO_FALSE).is_known);
  assert_true(wo_value_bool(WO_TRUE).is_known);
  assert_false(wo_value_bool(WO_UNDECIDED).is_known);
}

static void test_numbers_and_texts(void **state) {
  (void)state;
  const struct wo_value exact = wo_value_exact(WO_UNIT_NUMBER, 3);
  assert_true(exact.is_known);
  assert_true(exact.number.lo == 3 && exact.number.mid == 3 && exact.number.hi == 3);
  const struct wo_value range = wo_value_number(WO_UNIT_DURATION, (struct wo_interval){1, 2, 4});
  assert_true(range.number.lo == 1 && range.number.hi == 4);
  assert_true(wo_view_is(wo_value_text(WO_VIEW("bf16")).text, "bf16"));
}

static void test_unit_names_round_trip(void **state) {
  (void)state;
  for (int unit = WO_UNIT_BOOL; unit <= WO_UNIT_TEXT; unit++) {
    assert_int_equal(wo_unit_find(wo_view_of(wo_unit_name((enum wo_unit)unit))), unit);
  }
  assert_int_equal(wo_unit_find(WO_VIEW("BYTES")), WO_UNIT_BYTES);
  assert_int_equal(wo_unit_find(WO_VIEW("nothing")), WO_UNIT_NONE);
  assert_int_equal(wo_unit_find(WO_VIEW("")), WO_UNIT_NONE);
  assert_string_equal(wo_unit_name((enum wo_unit)99), "?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unknown_knows_its_unit_only),
      cmocka_unit_test(test_undecided_bool_is_unknown),
      cmocka_unit_test(test_numbers_and_texts),
      cmocka_unit_test(test_unit_names_round_trip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
