/* SPDX-License-Identifier: Apache-2.0 */
/* The facts without which a condition cannot hold, and the texts that they must have. Each row is checked twice: the list is the
 * one that is expected, and no condition holds where one of its needs is not met, whatever the other facts are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rules/language/expr.h"

static enum wo_unit unit_of(void *context, struct wo_view name) {
  (void)context;
  if (name.len != 1) return WO_UNIT_NONE;
  if (name.ptr[0] == 't') return WO_UNIT_TEXT;
  return name.ptr[0] == 'p' || name.ptr[0] == 'q' ? WO_UNIT_BOOL : WO_UNIT_NUMBER;
}

static const struct row {
  const char *text;
  const char *needs;
} rows[] = {
    {"true", ""},
    {"a > 1", "a"},
    {"a > b", "a b"},
    {"a > 1 and b > 2", "a b"},
    {"a > 1 or b > 2", ""},
    {"a > 1 or a < b", "a"},
    {"(a > 1 and b > 1) or (b > 2 and c > 1)", "b"},
    {"known(a)", "a"},
    {"unknown(a)", ""},
    {"not known(a)", ""},
    {"not (a > 1)", "a"},
    {"not (a > 1 and b > 1)", ""},
    {"not p", "p"},
    {"p", "p"},
    {"p and q", "p q"},
    {"p == (q and a > 1)", "p"},
    {"otherwise(a, b) > 1", ""},
    {"otherwise(a, a) > 1", "a"},
    {"otherwise(a, 0) + b > 1", "b"},
    {"min(a, b) > 1", "a b"},
    {"if(p, a, b) > 1", "p"},
    {"one_of(t, \"x\", \"y\")", "t=x|y"},
    {"has(t, \"x\") and unknown(a)", "t"},
    {"abs(a) >= 1 and a / b < 2", "a b"},
    {"t == \"x\"", "t=x"},
    {"t != \"x\"", "t"},
    {"not (t == \"x\")", "t"},
    {"not one_of(t, \"x\")", "t"},
    {"a > 1 and t == \"y\" and b > 2", "a t=y b"},
    {"(t == \"x\" and a > 1) or (t == \"y\" and a > 2)", "t=x|y a"},
    {"t == \"x\" or has(t, \"z\")", "t"},
    {"t == \"x\" or p", ""},
    {"one_of(otherwise(t, \"\"), \"x\")", ""},
    {"(t == \"x\" or has(t, \"z\")) and one_of(t, \"x\", \"z\")", "t=x|z"},
    {"t == \"\"", "t="},
};

/* Values of facts by the bits of a number: each name is unknown, small or large. */
struct world {
  unsigned bits;
  char unknown;
};

static struct wo_value value_of(void *context, struct wo_view name) {
  const struct world *const world = context;
  const char c = name.ptr[0];
  const unsigned which = world->bits >> (2 * ((unsigned)c % 8)) & 3;
  const enum wo_unit unit = unit_of(NULL, name);
  if (c == world->unknown || which == 0) return wo_value_unknown(unit);
  if (unit == WO_UNIT_TEXT) return wo_value_text(which == 1 ? WO_VIEW("x") : WO_VIEW("z"));
  if (unit == WO_UNIT_BOOL) return wo_value_bool(which == 1 ? WO_TRUE : WO_FALSE);
  return wo_value_exact(unit, which == 1 ? 0.5 : which == 2 ? 1.5 : 9);
}

/* No truth of the condition where the need is not met. */
static void check_need(const struct row *row, const struct wo_expr *expr, struct wo_view need) {
  for (unsigned bits = 0; bits < 1u << 16; bits++) {
    for (int is_hidden = 0; is_hidden < 2; is_hidden++) {
      struct world world = {bits, is_hidden ? need.ptr[0] : 0};
      const struct wo_facts_source facts = {.get = value_of, .context = &world};
      if (!wo_need_is_met(need, &facts) && wo_expr_truth(expr, &facts) == WO_TRUE)
        fail_msg("%s holds without %.*s", row->text, (int)need.len, need.ptr);
    }
  }
}

static void check_row(const struct row *row, const struct wo_expr *expr) {
  struct wo_need needs[8];
  char got[64] = "";
  size_t len = 0;
  const size_t count = wo_expr_needs(expr, needs, 8);
  for (size_t k = 0; k < count; k++) {
    if (k > 0) got[len++] = ' ';
    const struct wo_view need = {got + len, wo_need_text(&needs[k], got + len, sizeof got - len)};
    len += need.len;
    check_need(row, expr, need);
  }
  assert_string_equal(got, row->needs);
}

static void test_needs(void **state) {
  (void)state;
  struct wo_arena arena;
  const struct wo_names names = {.unit_of = unit_of};
  wo_arena_init(&arena, (size_t)1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_expr *expr = NULL;
    struct wo_err err = {0};
    if (wo_expr_parse(&arena, wo_view_of(rows[i].text), &names, &expr, &err) != WO_OK)
      fail_msg("%s: %s", rows[i].text, err.message);
    check_row(&rows[i], expr);
  }
  wo_arena_done(&arena);
}

static void test_values_without_room(void **state) {
  (void)state;
  const struct wo_need need = {.name = WO_VIEW("end.kind"), .values = {WO_VIEW("traceback"), WO_VIEW("segfault")}, .value_count = 2};
  char buf[40];
  for (size_t cap = 27; cap > 0; cap--) {
    const size_t len = wo_need_text(&need, buf, cap);
    assert_int_equal(len, strlen(buf));
    assert_memory_equal(buf, "end.kind", len);
  }
  assert_int_equal(wo_need_text(&need, buf, 28), 27);
  assert_string_equal(buf, "end.kind=traceback|segfault");
}

static void test_room_for_fewer(void **state) {
  (void)state;
  struct wo_arena arena;
  const struct wo_names names = {.unit_of = unit_of};
  const struct wo_expr *expr = NULL;
  struct wo_need needs[1];
  wo_arena_init(&arena, (size_t)1 << 20);
  assert_int_equal(wo_expr_parse(&arena, WO_VIEW("a > 1 and b > 1"), &names, &expr, NULL), WO_OK);
  assert_int_equal(wo_expr_needs(expr, needs, 1), 1);
  assert_int_equal(wo_expr_needs(expr, NULL, 0), 0);
  wo_arena_done(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_needs), cmocka_unit_test(test_room_for_fewer),
                                     cmocka_unit_test(test_values_without_room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
