/* SPDX-License-Identifier: Apache-2.0 */
/* The growable array: keeps its elements while growing, stops at its cap, is unchanged by a failure. */
#include "parsers/base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"

struct int_vec {
  int *items;
  size_t count, capacity;
};

static void grows_and_keeps(void **state) {
  (void)state;
  struct int_vec v = {0};
  for (int i = 0; i < 10000; i++) {
    assert_true(WO_VEC_RESERVE(&v, 1, 100000));
    v.items[v.count++] = i;
  }
  assert_true(v.capacity >= 10000 && v.capacity <= 20000);
  for (int i = 0; i < 10000; i++) assert_int_equal(v.items[i], i);
  WO_VEC_DONE(&v);
  assert_true(v.items == NULL && v.count == 0 && v.capacity == 0);
  WO_VEC_DONE(&v);
}

static void stops_at_the_cap(void **state) {
  (void)state;
  struct int_vec v = {0};
  while (WO_VEC_RESERVE(&v, 1, 37)) v.items[v.count++] = 1;
  assert_int_equal(v.count, 37);
  assert_int_equal(v.capacity, 37);
  assert_false(WO_VEC_RESERVE(&v, SIZE_MAX, SIZE_MAX));
  assert_true(WO_VEC_RESERVE(&v, 0, 37));
  WO_VEC_DONE(&v);
  assert_false(WO_VEC_RESERVE(&v, 1, 0));
  assert_true(WO_VEC_RESERVE(&v, 0, 0));
  WO_VEC_DONE(&v);
}

static void many_at_once(void **state) {
  (void)state;
  struct int_vec v = {0};
  assert_true(WO_VEC_RESERVE(&v, 1000, 1000));
  assert_int_equal(v.capacity, 1000);
  assert_false(WO_VEC_RESERVE(&v, 1001, 1000));
  WO_VEC_DONE(&v);
}

static void byte_size_overflow(void **state) {
  (void)state;
  struct int_vec v = {0};
  assert_false(WO_VEC_RESERVE(&v, SIZE_MAX / 2, SIZE_MAX));
  assert_true(v.items == NULL && v.capacity == 0);
}

static void out_of_memory_changes_nothing(void **state) {
  (void)state;
  struct int_vec v = {0};
  wo_fail_alloc_from(2);
  while (WO_VEC_RESERVE(&v, 1, 1000)) {
    v.items[v.count] = (int)v.count;
    v.count++;
  }
  assert_false(WO_VEC_RESERVE(&v, 1, 1000));
  wo_fail_alloc_off();
  assert_true(wo_fail_alloc_hit());
  assert_int_equal(v.count, v.capacity);
  for (size_t i = 0; i < v.count; i++) assert_int_equal(v.items[i], (int)i);
  assert_true(WO_VEC_RESERVE(&v, 1, 1000));
  WO_VEC_DONE(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grows_and_keeps),
      cmocka_unit_test(stops_at_the_cap),
      cmocka_unit_test(many_at_once),
      cmocka_unit_test(byte_size_overflow),
      cmocka_unit_test(out_of_memory_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
