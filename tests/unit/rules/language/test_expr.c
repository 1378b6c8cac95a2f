/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: a table of texts with their values, a table of texts with their errors, and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "rules/language/expr.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/refusal.h"

#define ARENA_BYTES ((size_t)4 * 1024 * 1024)

/* ---- facts that the tables speak of ----------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  enum wo_unit unit;
  bool is_known;
  struct wo_interval number;
  enum wo_truth truth;
  const char *text;
} facts[] = {
    {"n", WO_UNIT_NUMBER, true, {12, 12, 12}, WO_UNDECIDED, ""},
    {"fuzzy", WO_UNIT_NUMBER, true, {9, 10, 11}, WO_UNDECIDED, ""},
    {"around0", WO_UNIT_NUMBER, true, {-1, 0.5, 2}, WO_UNDECIDED, ""},
    {"nn", WO_UNIT_NUMBER, false, {0, 0, 0}, WO_UNDECIDED, ""},
    {"b", WO_UNIT_BYTES, true, {1024, 1024, 1024}, WO_UNDECIDED, ""},
    {"bb", WO_UNIT_BYTES, false, {0, 0, 0}, WO_UNDECIDED, ""},
    {"t", WO_UNIT_TEXT, true, {0, 0, 0}, WO_UNDECIDED, "Flash_Attention"},
    {"tt", WO_UNIT_TEXT, false, {0, 0, 0}, WO_UNDECIDED, ""},
    {"yes", WO_UNIT_BOOL, true, {0, 0, 0}, WO_TRUE, ""},
    {"no", WO_UNIT_BOOL, true, {0, 0, 0}, WO_FALSE, ""},
    {"maybe", WO_UNIT_BOOL, false, {0, 0, 0}, WO_UNDECIDED, ""},
    {"d", WO_UNIT_DURATION, true, {5, 5, 5}, WO_UNDECIDED, ""},
    {"config.x", WO_UNIT_NUMBER, true, {7, 7, 7}, WO_UNDECIDED, ""},
    {"wrong_unit", WO_UNIT_NUMBER, true, {0, 0, 0}, WO_UNDECIDED, ""},
};
enum { FACTS = sizeof facts / sizeof facts[0] };

static size_t fact_index(struct wo_view name) {
  for (size_t i = 0; i < FACTS; i++) {
    if (wo_view_is(name, facts[i].name)) return i;
  }
  return FACTS;
}

static enum wo_unit unit_of(void *context, struct wo_view name) {
  (void)context;
  const size_t i = fact_index(name);
  return i == FACTS ? WO_UNIT_NONE : facts[i].unit;
}

/* The evidence of a fact is its row. */
static struct wo_value get(void *context, struct wo_view name) {
  (void)context;
  const size_t i = fact_index(name);
  assert_true(i < FACTS);
  if (wo_view_is(name, "wrong_unit")) return wo_value_text(WO_VIEW("oops"));
  struct wo_value value = wo_value_unknown(facts[i].unit);
  if (!facts[i].is_known) return value;
  if (facts[i].unit == WO_UNIT_TEXT) value = wo_value_text(wo_view_of(facts[i].text));
  if (facts[i].unit == WO_UNIT_BOOL) value = wo_value_bool(facts[i].truth);
  if (facts[i].unit != WO_UNIT_TEXT && facts[i].unit != WO_UNIT_BOOL) value = wo_value_number(facts[i].unit, facts[i].number);
  value.evidence = (wo_event_id)i;
  return value;
}

static const struct wo_facts_source source = {.get = get};
static const struct wo_names names = {.unit_of = unit_of};

/* A value as text: "12", "[9,10,11]", with "B" or "ns" behind it; "true"; "'text'"; "?number". */
static void value_to_text(struct wo_value v, char *buf, size_t cap) {
  const char *const unit = v.unit == WO_UNIT_BYTES ? "B" : v.unit == WO_UNIT_DURATION ? "ns" : "";
  if (!v.is_known) {
    snprintf(buf, cap, "?%s", wo_unit_name(v.unit));
  } else if (v.unit == WO_UNIT_BOOL) {
    snprintf(buf, cap, "%s", v.truth == WO_TRUE ? "true" : "false");
  } else if (v.unit == WO_UNIT_TEXT) {
    snprintf(buf, cap, "'%.*s'", (int)v.text.len, v.text.ptr);
  } else if (v.number.lo == v.number.hi) {
    snprintf(buf, cap, "%.13g%s", v.number.mid, unit);
  } else {
    snprintf(buf, cap, "[%.13g,%.13g,%.13g]%s", v.number.lo, v.number.mid, v.number.hi, unit);
  }
}

/* ---- values ----------------------------------------------------------------------------------------------------------- */

static const struct {
  const char *text;
  const char *value;
} values[] = {
    /* constants */
    {"12", "12"},
    {" 0.5 ", "0.5"},
    {"1e3", "1000"},
    {"10%", "0.1"},
    {"12.5 %", "0.125"},
    {"512MiB", "536870912B"},
    {"2 GiB", "2147483648B"},
    {"1.5KiB", "1536B"},
    {"1 TiB", "1099511627776B"},
    {"7B", "7B"},
    {"true", "true"},
    {"false", "false"},
    {"\"a b\"", "'a b'"},
    {"\"\"", "''"},
    /* names */
    {"n", "12"},
    {"fuzzy", "[9,10,11]"},
    {"config.x", "7"},
    {"nn", "?number"},
    {"bb", "?bytes"},
    {"tt", "?text"},
    {"maybe", "?bool"},
    {"wrong_unit", "?number"},
    /* arithmetic */
    {"1 + 2 * 3", "7"},
    {"(1 + 2) * 3", "9"},
    {"10 - 3 - 2", "5"},
    {"100 / 10 / 5", "2"},
    {"-n", "-12"},
    {"-fuzzy", "[-11,-10,-9]"},
    {"2 - -3", "5"},
    {"- 3 + 5", "2"},
    {"n + nn", "?number"},
    {"b + 1KiB", "2048B"},
    {"b - 24 B", "1000B"},
    {"b * 2", "2048B"},
    {"2 * b", "2048B"},
    {"b / 4", "256B"},
    {"b / 512 B", "2"},
    {"d + d", "10ns"},
    {"d / d", "1"},
    {"fuzzy + fuzzy", "[18,20,22]"},
    {"fuzzy - n", "[-3,-2,-1]"},
    {"fuzzy - fuzzy", "[-2,0,2]"},
    {"fuzzy * 2", "[18,20,22]"},
    {"fuzzy * -1", "[-11,-10,-9]"},
    {"around0 * fuzzy", "[-11,5,22]"},
    {"99 / fuzzy", "[9,9.9,11]"},
    {"n / 0", "?number"},
    {"n / around0", "?number"},
    {"around0 / fuzzy", "[-0.1111111111111,0.05,0.2222222222222]"},
    {"1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * 1e18 * "
     "1e18",
     "?number"},
    /* comparisons */
    {"n == 12", "true"},
    {"n != 12", "false"},
    {"n < 13", "true"},
    {"n < 12", "false"},
    {"n <= 12", "true"},
    {"n > 12", "false"},
    {"n >= 12", "true"},
    {"fuzzy < 12", "true"},
    {"fuzzy < 10", "?bool"},
    {"fuzzy < 9", "false"},
    {"fuzzy <= 11", "true"},
    {"fuzzy <= 10", "?bool"},
    {"fuzzy > 8", "true"},
    {"fuzzy > 11", "false"},
    {"fuzzy >= 9", "true"},
    {"fuzzy == 10", "?bool"},
    {"fuzzy != 10", "?bool"},
    {"fuzzy == 12", "false"},
    {"fuzzy != 12", "true"},
    {"nn == 1", "?bool"},
    {"b > 1000 B", "true"},
    {"b < 10% * 1MiB", "true"},
    {"t == \"Flash_Attention\"", "true"},
    {"t == \"flash_attention\"", "false"},
    {"t != tt", "?bool"},
    {"yes == no", "false"},
    {"yes != maybe", "?bool"},
    /* three-valued logic */
    {"yes and no", "false"},
    {"yes and yes", "true"},
    {"no and maybe", "false"},
    {"maybe and no", "false"},
    {"maybe and yes", "?bool"},
    {"maybe and maybe", "?bool"},
    {"yes or maybe", "true"},
    {"maybe or yes", "true"},
    {"no or maybe", "?bool"},
    {"no or no", "false"},
    {"not yes", "false"},
    {"not no", "true"},
    {"not maybe", "?bool"},
    {"yes or no and no", "true"},
    {"not n == 12", "false"},
    {"not no and yes", "true"},
    {"(yes or no) and (not no)", "true"},
    /* functions */
    {"known(n)", "true"},
    {"known(nn)", "false"},
    {"unknown(nn)", "true"},
    {"known(tt)", "false"},
    {"known(maybe)", "false"},
    {"known(fuzzy < 10)", "false"},
    {"unknown(nn + 1)", "true"},
    {"min(n, fuzzy)", "[9,10,11]"},
    {"max(3, n, 5)", "12"},
    {"min(fuzzy, 10)", "[9,10,10]"},
    {"max(n, nn)", "?number"},
    {"max(b, 1MiB)", "1048576B"},
    {"floor(2.9)", "2"},
    {"floor(-2.1)", "-3"},
    {"ceil(2.1)", "3"},
    {"ceil(-2.9)", "-2"},
    {"round(2.5)", "3"},
    {"round(-2.5)", "-3"},
    {"floor(1e17)", "1e+17"},
    {"floor(fuzzy / 2)", "[4,5,5]"},
    {"abs(-3)", "3"},
    {"abs(around0)", "[0,0.5,2]"},
    {"abs(-fuzzy)", "[9,10,11]"},
    {"if(yes, 1, 2)", "1"},
    {"if(no, 1, 2)", "2"},
    {"if(maybe, 1, 1)", "?number"},
    {"if(n > 1, \"many\", \"one\")", "'many'"},
    {"if(yes, 1, nn)", "1"},
    {"otherwise(nn, 4)", "4"},
    {"otherwise(n, 4)", "12"},
    {"otherwise(maybe, true)", "true"},
    {"otherwise(otherwise(nn, nn), 1)", "1"},
    {"has(t, \"attention\")", "true"},
    {"has(t, \"FLASH\")", "true"},
    {"has(t, \"\")", "true"},
    {"has(t, \"sdpa\")", "false"},
    {"has(t, \"Flash_Attention and more\")", "false"},
    {"has(tt, \"a\")", "?bool"},
    {"one_of(t, \"a\", \"Flash_Attention\")", "true"},
    {"one_of(t, \"a\", \"b\")", "false"},
    {"one_of(t, \"a\", tt)", "?bool"},
    {"one_of(t, tt, \"Flash_Attention\")", "true"},
    {"one_of(tt, \"a\")", "?bool"},
    {"nominal(fuzzy)", "10"},
    {"nominal(fuzzy) == 10", "true"},
    {"divisor_at_most(12, 5)", "4"},
    {"divisor_at_most(12, 12)", "12"},
    {"divisor_at_most(12, 0.5)", "1"},
    {"divisor_at_most(13, 12)", "1"},
    {"divisor_at_most(12, fuzzy / 2)", "4"},
    {"divisor_at_most(12.5, 3)", "?number"},
    {"divisor_at_most(fuzzy, 3)", "?number"},
    {"divisor_at_most(0, 3)", "?number"},
    {"divisor_at_most(1e18, 3)", "?number"},
    {"power_of_two_at_most(5)", "4"},
    {"power_of_two_at_most(8)", "8"},
    {"power_of_two_at_most(1)", "1"},
    {"power_of_two_at_most(0.5)", "?number"},
    {"power_of_two_at_most(3 KiB)", "2048B"},
};

static void test_values(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    const struct wo_expr *expr = NULL;
    struct wo_err err = {0};
    if (wo_expr_parse(&arena, wo_view_of(values[i].text), &names, &expr, &err) != WO_OK) {
      fail_msg("%s: %u: %s", values[i].text, err.column, err.message);
    }
    char text[128];
    const struct wo_value value = wo_expr_eval(expr, &source);
    assert_int_equal(value.unit, wo_expr_unit(expr));
    value_to_text(value, text, sizeof text);
    if (strcmp(text, values[i].value) != 0) fail_msg("%s: expected %s, got %s", values[i].text, values[i].value, text);
    assert_true(wo_view_is(expr->source, values[i].text));
  }
  wo_arena_done(&arena);
}

/* ---- errors ----------------------------------------------------------------------------------------------------------- */

static const struct refusal errors[] = {
    {"", WO_E_SYNTAX, 1, "expected a value, got the end"},
    {"  ", WO_E_SYNTAX, 3, "expected a value, got the end"},
    {"n +", WO_E_SYNTAX, 4, "expected a value, got the end"},
    {"n n", WO_E_SYNTAX, 3, "expected an operator or the end, got 'n'"},
    {"n < 1 < 2", WO_E_SYNTAX, 7, "expected an operator or the end, got '<'"},
    {"(n", WO_E_SYNTAX, 3, "expected ')', got the end"},
    {"n)", WO_E_SYNTAX, 2, "expected an operator or the end, got ')'"},
    {"n and and n", WO_E_SYNTAX, 7, "expected a value, got 'and'"},
    {"not not yes", WO_E_SYNTAX, 5, "expected a value, got 'not'"},
    {"--n", WO_E_SYNTAX, 2, "expected a value, got '-'"},
    {"n = 1", WO_E_SYNTAX, 3, "expected an operator or the end, got '='"},
    {"n ; 1", WO_E_SYNTAX, 3, "expected an operator or the end, got ';'"},
    {"\x01", WO_E_SYNTAX, 1, "expected a value, got byte 0x01"},
    {"\"open", WO_E_SYNTAX, 1, "text without a closing quote"},
    {"12MB", WO_E_SYNTAX, 3, "unknown unit 'MB' (B, KiB, MiB, GiB, TiB)"},
    {"1e30", WO_E_RANGE, 1, "number cannot be read"},
    {"nope", WO_E_UNKNOWN, 1, "unknown name 'nope'"},
    {"n + config.nope", WO_E_UNKNOWN, 5, "unknown name 'config.nope'"},
    {"sqrt(n)", WO_E_UNKNOWN, 1, "unknown function 'sqrt'"},
    {"b + 1", WO_E_TYPE, 5, "expected bytes, got number"},
    {"1 + b", WO_E_TYPE, 5, "expected number, got bytes"},
    {"b - d", WO_E_TYPE, 5, "expected bytes, got duration"},
    {"t + t", WO_E_TYPE, 1, "expected a quantity, got text"},
    {"b * b", WO_E_TYPE, 5, "expected number, got bytes"},
    {"1 / b", WO_E_TYPE, 5, "expected number, got bytes"},
    {"b / d", WO_E_TYPE, 5, "expected bytes or number, got duration"},
    {"n * t", WO_E_TYPE, 5, "expected a quantity, got text"},
    {"yes * 2", WO_E_TYPE, 1, "expected a quantity, got bool"},
    {"-t", WO_E_TYPE, 2, "expected a quantity, got text"},
    {"b > 0", WO_E_TYPE, 5, "expected bytes, got number"},
    {"n == \"12\"", WO_E_TYPE, 6, "expected number, got text"},
    {"t < \"a\"", WO_E_TYPE, 1, "expected a quantity, got text"},
    {"yes < no", WO_E_TYPE, 1, "expected a quantity, got bool"},
    {"n and yes", WO_E_TYPE, 1, "expected bool, got number"},
    {"yes or n", WO_E_TYPE, 8, "expected bool, got number"},
    {"not n", WO_E_TYPE, 5, "expected bool, got number"},
    {"known()", WO_E_SYNTAX, 7, "expected a value, got ')'"},
    {"known(n, n)", WO_E_SYNTAX, 9, "known() takes at most 1 argument"},
    {"if(yes, 1)", WO_E_SYNTAX, 1, "if() needs 3 arguments, got 2"},
    {"if(n, 1, 2)", WO_E_TYPE, 4, "expected bool, got number"},
    {"if(yes, 1, b)", WO_E_TYPE, 12, "expected number, got bytes"},
    {"otherwise(b, 1)", WO_E_TYPE, 14, "expected bytes, got number"},
    {"min(n, b)", WO_E_TYPE, 8, "expected number, got bytes"},
    {"max(t)", WO_E_TYPE, 5, "expected a quantity, got text"},
    {"has(n, \"a\")", WO_E_TYPE, 5, "expected text, got number"},
    {"one_of(t, 3)", WO_E_TYPE, 11, "expected text, got number"},
    {"divisor_at_most(b, 2)", WO_E_TYPE, 17, "expected number, got bytes"},
    {"min(n; 2)", WO_E_SYNTAX, 6, "expected ',' or ')' in the call of min()"},
};

static void test_errors(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    const struct wo_expr *expr = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_expr_parse(&arena, wo_view_of(errors[i].text), &names, &expr, &err);
    assert_refused(&errors[i], status, &err);
    assert_null(expr);
    /* Without a place for the message the answer is the same. */
    assert_int_equal(wo_expr_parse(&arena, wo_view_of(errors[i].text), &names, &expr, NULL), status);
  }
  wo_arena_done(&arena);
}

/* ---- limits ----------------------------------------------------------------------------------------------------------- */

/* Parses `count` times `before`, then "1", then `count` times `after`. */
static enum wo_status parse_repeated(const char *before, const char *after, size_t count) {
  static char text[1 << 16];
  size_t len = 0;
  for (size_t i = 0; i < count; i++) len += (size_t)snprintf(text + len, sizeof text - len, "%s", before);
  len += (size_t)snprintf(text + len, sizeof text - len, "1");
  for (size_t i = 0; i < count; i++) len += (size_t)snprintf(text + len, sizeof text - len, "%s", after);
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  const struct wo_expr *expr = NULL;
  const enum wo_status status = wo_expr_parse(&arena, (struct wo_view){text, len}, &names, &expr, NULL);
  if (status == WO_OK) wo_expr_eval(expr, &source);
  wo_arena_done(&arena);
  return status;
}

static void test_depth_is_limited(void **state) {
  (void)state;
  assert_int_equal(parse_repeated("(", ")", WO_LIMIT_EXPR_DEPTH - 1), WO_OK);
  assert_int_equal(parse_repeated("(", ")", WO_LIMIT_EXPR_DEPTH), WO_E_LIMIT);
  assert_int_equal(parse_repeated("abs(", ")", WO_LIMIT_EXPR_DEPTH), WO_E_LIMIT);
  assert_int_equal(parse_repeated("", "+1", 200), WO_OK);
  assert_int_equal(parse_repeated("", "+1", 5000), WO_E_LIMIT);
  assert_int_equal(parse_repeated("(", "", 20000), WO_E_LIMIT);
  assert_int_equal(parse_repeated("max(", ",1)", 20), WO_OK);
}

/* Definitions: each uses the one before it twice. */
struct chain {
  const struct wo_expr *items[64];
  size_t count;
};

static const struct wo_expr *chain_definition(void *context, struct wo_view name) {
  const struct chain *const chain = context;
  if (name.len < 2 || name.ptr[0] != 'x') return NULL;
  struct wo_view digits = wo_view_skip(name, 1);
  uint64_t i = 0;
  if (wo_number_u64(&digits, 63, &i) != WO_OK) return NULL;
  return i < chain->count ? chain->items[i] : NULL;
}

static void count_name(void *context, struct wo_view name) {
  assert_true(wo_view_is(name, "n"));
  ++*(size_t *)context;
}

static void test_definitions_do_not_explode(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  struct chain chain = {.count = 0};
  const struct wo_names with_chain = {.unit_of = unit_of, .definition = chain_definition, .context = &chain};
  struct wo_err err = {0};
  enum wo_status status = wo_expr_parse(&arena, WO_VIEW("n"), &with_chain, &chain.items[chain.count++], &err);
  while (status == WO_OK && chain.count < 60) {
    char text[32];
    snprintf(text, sizeof text, "x%zu + x%zu", chain.count - 1, chain.count - 1);
    const struct wo_expr *next = NULL;
    status = wo_expr_parse(&arena, wo_view_of(text), &with_chain, &next, &err);
    if (status == WO_OK) chain.items[chain.count++] = next;
  }
  assert_int_equal(status, WO_E_LIMIT);
  assert_string_equal(err.message, "expression is too large");
  const struct wo_expr *const last = chain.items[chain.count - 1];
  assert_true(wo_expr_eval(last, &source).number.mid > 12);
  size_t visits = 0;
  wo_expr_each_fact(last, count_name, &visits);
  assert_int_equal(visits, 1u << (chain.count - 1));
  assert_int_equal(wo_expr_eval(last, &source).evidence, 0);
  wo_arena_done(&arena);
}

static void test_truth_and_evidence(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  const struct wo_expr *expr = NULL;
  assert_int_equal(wo_expr_parse(&arena, WO_VIEW("nn > 1 or fuzzy > 3 and b > 1B"), &names, &expr, NULL), WO_OK);
  assert_int_equal(wo_expr_truth(expr, &source), WO_TRUE);
  assert_int_equal(wo_expr_eval(expr, &source).evidence, fact_index(WO_VIEW("fuzzy")));
  assert_int_equal(wo_expr_parse(&arena, WO_VIEW("n"), &names, &expr, NULL), WO_OK);
  assert_int_equal(wo_expr_truth(expr, &source), WO_UNDECIDED);
  assert_int_equal(wo_expr_parse(&arena, WO_VIEW("nn == 1"), &names, &expr, NULL), WO_OK);
  assert_int_equal(wo_expr_truth(expr, &source), WO_UNDECIDED);
  wo_arena_done(&arena);
}

static void test_out_of_memory(void **state) {
  (void)state;
  const struct wo_view text = WO_VIEW("if(min(n, fuzzy, 3) > 2 and known(tt), \"a\", otherwise(tt, \"b\"))");
  for (size_t cap = 0;; cap += 16) {
    struct wo_arena arena;
    wo_arena_init(&arena, cap);
    const struct wo_expr *expr = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_expr_parse(&arena, text, &names, &expr, &err);
    wo_arena_done(&arena);
    if (status == WO_OK) break;
    assert_int_equal(status, WO_E_NOMEM);
    assert_int_equal(err.code, WO_E_NOMEM);
  }
  for (long n = 1;; n++) {
    struct wo_arena arena;
    wo_arena_init(&arena, ARENA_BYTES);
    const struct wo_expr *expr = NULL;
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_expr_parse(&arena, text, &names, &expr, NULL);
    wo_fail_alloc_off();
    wo_arena_done(&arena);
    if (!wo_fail_alloc_hit()) break;
    assert_int_equal(status, WO_E_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_depth_is_limited),
      cmocka_unit_test(test_definitions_do_not_explode),
      cmocka_unit_test(test_truth_and_evidence),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
