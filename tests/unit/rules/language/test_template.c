/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: rendering of every format, and errors with their column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rules/language/template.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/refusal.h"

#define ARENA_BYTES ((size_t)1024 * 1024)

/* The facts are their own names: n12.5 is the number 12.5, b2048 are bytes. */
static enum wo_unit unit_of(void *context, struct wo_view name) {
  (void)context;
  if (wo_view_is(name, "t")) return WO_UNIT_TEXT;
  if (wo_view_is(name, "yes") || wo_view_is(name, "no")) return WO_UNIT_BOOL;
  if (wo_view_is(name, "unknown_number")) return WO_UNIT_NUMBER;
  if (wo_view_starts(name, "n")) return WO_UNIT_NUMBER;
  if (wo_view_starts(name, "b")) return WO_UNIT_BYTES;
  return wo_view_starts(name, "d") ? WO_UNIT_DURATION : WO_UNIT_NONE;
}

static struct wo_value get(void *context, struct wo_view name) {
  const enum wo_unit unit = unit_of(context, name);
  if (wo_view_is(name, "unknown_number")) return wo_value_unknown(unit);
  if (unit == WO_UNIT_TEXT) return wo_value_text(WO_VIEW("some {text}"));
  if (unit == WO_UNIT_BOOL) return wo_value_bool(wo_view_is(name, "yes") ? WO_TRUE : WO_FALSE);
  struct wo_view digits = wo_view_skip(name, 1);
  struct wo_interval number = {0};
  assert_int_equal(wo_number_decimal(&digits, &number, NULL), WO_OK);
  return wo_value_number(unit, number);
}

static const struct wo_names names = {.unit_of = unit_of};
static const struct wo_facts_source source = {.get = get};

static const struct {
  const char *text;
  const char *rendered;
} cases[] = {
    {"", ""},
    {"plain", "plain"},
    {"{b2048} was refused", "2.00 KiB was refused"},
    {"{ b2048 : bytes }", "2.00 KiB"},
    {"{b18962288435:gib} GiB", "17.66 GiB"},
    {"{n0.22:pct} of the card", "22 % of the card"},
    {"{n0.2234:pct1}", "22.3 %"},
    {"{b512 / b1024:pct}", "50 %"},
    {"{n32}{n4:int}", "324"},
    {"{n2.5}", "2.5"},
    {"{n2.25}", "2.25"},
    {"{n2.256}", "2.26"},
    {"{n2.999}", "3"},
    {"{n2.46:x1}", "2.5"},
    {"{n3:x1}", "3.0"},
    {"{n1234567.4:int}", "1234567"},
    {"{-0.4:int}", "0"},
    {"{-0.001}", "-0.001"},
    {"{0.00001}", "1e-05"},
    {"{n1e18 * 10}", "1e+19"},
    {"{n1e18 * 10:pct}", "1e+21 %"},
    {"{yes}/{no}", "yes/no"},
    {"{t}", "some {text}"},
    {"{t:text}", "some {text}"},
    {"{d3661000000000}", "01:01:01"},
    {"{{literal}} {{{n1}}}", "{literal} {1}"},
    {"{if(yes, \"a:b}\", t)}", "a:b}"},
    {"{unknown_number:pct} left", "? left"},
};

static void test_rendering(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct wo_template *template = NULL;
    struct wo_err err = {0};
    if (wo_template_parse(&arena, wo_view_of(cases[i].text), &names, &template, &err) != WO_OK) {
      fail_msg("%s: %u: %s", cases[i].text, err.column, err.message);
    }
    bool has_unknown = false;
    const struct wo_view text = wo_template_render(template, &source, &arena, &has_unknown);
    if (!wo_view_is(text, cases[i].rendered)) fail_msg("%s: got %.*s", cases[i].text, (int)text.len, text.ptr);
    assert_int_equal(has_unknown, strchr(cases[i].rendered, '?') != NULL);
    assert_true(wo_view_is(wo_template_source(template), cases[i].text));
  }
  wo_arena_done(&arena);
}

/* The value t is the text "some {text}": it is quoted, unless it stands between quotes of the template, which no quoting fits. */
static void test_commands(void **state) {
  (void)state;
  static const struct {
    const char *text, *rendered;
  } rows[] = {{"--x {n4:int} {yes}", "--x 4 yes"},
              {"export X={t},y:1", "export X='some {text}',y:1"},
              {"echo \"{t}\"", ""},
              {"echo '{t}'", ""},
              {"echo `{t}`", ""},
              {"echo \"{n4}\" plain", "echo \"4\" plain"},
              {"{unknown_number:pct} left", "? left"}};
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_template *template = NULL;
    assert_int_equal(wo_template_parse(&arena, wo_view_of(rows[i].text), &names, &template, NULL), WO_OK);
    const struct wo_view line = wo_template_render_command(template, &source, &arena);
    if (!wo_view_is(line, rows[i].rendered)) fail_msg("%s: got %.*s", rows[i].text, WO_SHOWN(line));
  }
  assert_int_equal(wo_template_render_command(NULL, &source, &arena).len, 0);
  wo_arena_done(&arena);
}

static const struct refusal errors[] = {
    {"a {n1", WO_E_SYNTAX, 3, "'{' without '}' (write '{{' for a brace)"},
    {"a } b", WO_E_SYNTAX, 3, "'}' without '{' (write '}}' for a brace)"},
    {"{}", WO_E_SYNTAX, 2, "expected a value, got the end"},
    {"ab {n1 + q}", WO_E_UNKNOWN, 10, "unknown name 'q'"},
    {"ab {b1 + n1}", WO_E_TYPE, 10, "expected bytes, got number"},
    {"{n1:gib}", WO_E_TYPE, 2, "format gib expects bytes, got number"},
    {"{b1:pct}", WO_E_TYPE, 2, "format pct expects number, got bytes"},
    {"{b1:nice}", WO_E_UNKNOWN, 5, "unknown format 'nice'"},
    {"{b1:}", WO_E_UNKNOWN, 5, "unknown format ''"},
};

static void test_errors(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    const struct wo_template *template = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_template_parse(&arena, wo_view_of(errors[i].text), &names, &template, &err);
    assert_refused(&errors[i], status, &err);
    assert_int_equal(wo_template_parse(&arena, wo_view_of(errors[i].text), &names, &template, NULL), status);
    assert_null(template);
  }
  wo_arena_done(&arena);
}

static void test_null_template_is_empty(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  assert_int_equal(wo_template_render(NULL, &source, &arena, NULL).len, 0);
  assert_int_equal(wo_template_source(NULL).len, 0);
  wo_template_each_fact(NULL, NULL, NULL);
  wo_arena_done(&arena);
}

static void append_name(void *context, struct wo_view name) {
  char *const all = context;
  const size_t len = strlen(all);
  snprintf(all + len, 64 - len, "%.*s ", (int)name.len, name.ptr);
}

static void test_each_fact(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  const struct wo_template *template = NULL;
  assert_int_equal(wo_template_parse(&arena, WO_VIEW("{n1 + n2} x {if(yes, t, \"q\")}"), &names, &template, NULL), WO_OK);
  char all[64] = "";
  wo_template_each_fact(template, append_name, all);
  assert_string_equal(all, "n1 n2 yes t ");
  wo_arena_done(&arena);
}

/* Parsing tells that memory is out; rendering gives nothing. */
static void test_out_of_memory(void **state) {
  (void)state;
  for (size_t cap = 0;; cap += 16) {
    struct wo_arena arena;
    wo_arena_init(&arena, cap);
    const struct wo_template *template = NULL;
    const enum wo_status status = wo_template_parse(&arena, WO_VIEW("a {n1} b {n2:pct} c"), &names, &template, NULL);
    const struct wo_view text = wo_template_render(template, &source, &arena, NULL);
    const bool is_done = status == WO_OK && text.len > 0;
    assert_true(status == WO_OK || status == WO_E_NOMEM);
    if (is_done) assert_true(wo_view_is(text, "a 1 b 200 % c"));
    wo_arena_done(&arena);
    if (is_done) break;
  }
  for (long n = 1;; n++) {
    struct wo_arena arena;
    wo_arena_init(&arena, ARENA_BYTES);
    const struct wo_template *template = NULL;
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_template_parse(&arena, WO_VIEW("{n1}"), &names, &template, NULL);
    wo_fail_alloc_off();
    wo_arena_done(&arena);
    if (!wo_fail_alloc_hit()) break;
    assert_int_equal(status, WO_E_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_commands),  cmocka_unit_test(test_rendering),
      cmocka_unit_test(test_errors),    cmocka_unit_test(test_null_template_is_empty),
      cmocka_unit_test(test_each_fact), cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
