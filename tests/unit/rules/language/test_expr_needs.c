/* The facts without which a condition cannot hold. Each row is checked twice: the list is the one that is expected, and no
 * condition holds when one of its listed facts is unknown, whatever the others are. */
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
    {"a > b", "ab"},
    {"a > 1 and b > 2", "ab"},
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
    {"p and q", "pq"},
    {"p == (q and a > 1)", "p"},
    {"otherwise(a, b) > 1", ""},
    {"otherwise(a, a) > 1", "a"},
    {"otherwise(a, 0) + b > 1", "b"},
    {"min(a, b) > 1", "ab"},
    {"if(p, a, b) > 1", "p"},
    {"one_of(t, \"x\", \"y\")", "t"},
    {"has(t, \"x\") and unknown(a)", "t"},
    {"abs(a) >= 1 and a / b < 2", "ab"},
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

static void test_needs(void **state) {
  (void)state;
  struct wo_arena arena;
  const struct wo_names names = {.unit_of = unit_of};
  wo_arena_init(&arena, (size_t)1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_expr *expr = NULL;
    struct wo_err err = {0};
    struct wo_view needs[8];
    char got[9] = "";
    if (wo_expr_parse(&arena, wo_view_of(rows[i].text), &names, &expr, &err) != WO_OK)
      fail_msg("%s: %s", rows[i].text, err.message);
    const size_t count = wo_expr_needs(expr, needs, 8);
    for (size_t k = 0; k < count; k++) got[k] = needs[k].ptr[0];
    assert_string_equal(got, rows[i].needs);
    for (size_t k = 0; k < count; k++) {
      for (unsigned bits = 0; bits < 1u << 16; bits += 5) {
        struct world world = {bits, needs[k].ptr[0]};
        const struct wo_facts_source facts = {.get = value_of, .context = &world};
        if (wo_expr_truth(expr, &facts) == WO_TRUE) fail_msg("%s holds without %c", rows[i].text, world.unknown);
      }
    }
  }
  wo_arena_done(&arena);
}

static void test_room_for_fewer(void **state) {
  (void)state;
  struct wo_arena arena;
  const struct wo_names names = {.unit_of = unit_of};
  const struct wo_expr *expr = NULL;
  struct wo_view needs[1];
  wo_arena_init(&arena, (size_t)1 << 20);
  assert_int_equal(wo_expr_parse(&arena, WO_VIEW("a > 1 and b > 1"), &names, &expr, NULL), WO_OK);
  assert_int_equal(wo_expr_needs(expr, needs, 1), 1);
  assert_int_equal(wo_expr_needs(expr, NULL, 0), 0);
  wo_arena_done(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_needs), cmocka_unit_test(test_room_for_fewer)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
