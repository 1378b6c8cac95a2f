/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over tables of rows and over the time line; what rounding leaves open; taking conditions apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rules/language/event_fact.h"
#include "rules/language/expr.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/refusal.h"

#define ARENA_BYTES ((size_t)4 * 1024 * 1024)

enum { ROWS = 3 };

/* Facts: those of a table have a value for each of three rows, the others use the first. "" is unknown, "lo:mid:hi" an interval.
 */
static const struct {
  const char *name;
  enum wo_unit unit;
  const char *values[ROWS];
} facts[] = {
    {"rank.n", WO_UNIT_NUMBER, {"1", "2", "3"}},
    {"rank.b", WO_UNIT_BYTES, {"1000", "", "2990:3000:3010"}},
    {"rank.c", WO_UNIT_BYTES, {"100", "200", "95:100:105"}},
    {"rank.none", WO_UNIT_BYTES, {"", "", ""}},
    {"rank.mixed", WO_UNIT_BOOL, {"true", "false", ""}},
    {"rank.yes", WO_UNIT_BOOL, {"true", "true", "true"}},
    {"rank.no", WO_UNIT_BOOL, {"false", "false", "false"}},
    {"rank.open", WO_UNIT_BOOL, {"true", "", "true"}},
    {"rank.part", WO_UNIT_BOOL, {"false", "", "false"}},
    {"rank.host", WO_UNIT_TEXT, {"a", "a", "b"}},
    {"card.n", WO_UNIT_NUMBER, {"1", "1", "1"}},
    {"card.ok", WO_UNIT_BOOL, {"true", "true", "true"}},
    {"exact", WO_UNIT_NUMBER, {"10"}},
    {"fuzzy", WO_UNIT_NUMBER, {"9:10:11"}},
    {"fuzzy_bytes", WO_UNIT_BYTES, {"990:1000:1010"}},
    {"nn", WO_UNIT_NUMBER, {""}},
    {"yes", WO_UNIT_BOOL, {"true"}},
    {"no", WO_UNIT_BOOL, {"false"}},
    {"maybe", WO_UNIT_BOOL, {""}},
    {"oom.kind", WO_UNIT_TEXT, {"cuda_oom"}},
    {"count.cuda_oom", WO_UNIT_NUMBER, {"2"}},
    {"seen(cuda_oom)", WO_UNIT_BOOL, {"true"}},
    {"before(nccl_timeout,cuda_oom)", WO_UNIT_BOOL, {"false"}},
    {"during(backward)", WO_UNIT_BOOL, {"true"}},
    {"slope(allocated)", WO_UNIT_BYTES, {"1000"}},
};
enum { FACTS = sizeof facts / sizeof facts[0] };

static size_t find(struct wo_view name) {
  for (size_t i = 0; i < FACTS; i++) {
    if (wo_view_is(name, facts[i].name)) return i;
  }
  return FACTS;
}

static enum wo_unit unit_of(void *context, struct wo_view name) {
  (void)context;
  const size_t i = find(name);
  return i == FACTS ? WO_UNIT_NONE : facts[i].unit;
}

static struct wo_interval read_interval(struct wo_view text) {
  double bounds[3] = {0, 0, 0};
  for (size_t i = 0; i < 3; i++) {
    struct wo_interval number = {0};
    if (text.len > 0) assert_int_equal(wo_number_decimal(&text, &number, NULL), WO_OK);
    bounds[i] = i > 0 && number.mid == 0 ? bounds[i - 1] : number.mid;
    if (text.len > 0) text = wo_view_skip(text, 1);
  }
  return (struct wo_interval){.lo = bounds[0], .mid = bounds[1], .hi = bounds[2]};
}

/* The evidence of a value is its row. */
static struct wo_value value_at(struct wo_view name, size_t row) {
  const size_t i = find(name);
  assert_true(i < FACTS && row < ROWS);
  const char *const text = facts[i].values[row] ? facts[i].values[row] : "";
  if (text[0] == '\0') return wo_value_unknown(facts[i].unit);
  struct wo_value value = wo_value_text(wo_view_of(text));
  if (facts[i].unit == WO_UNIT_BOOL) value = wo_value_bool(strcmp(text, "true") == 0 ? WO_TRUE : WO_FALSE);
  if (facts[i].unit == WO_UNIT_NUMBER || facts[i].unit == WO_UNIT_BYTES) {
    const struct wo_interval n = read_interval(wo_view_of(text));
    value = wo_value_number(facts[i].unit, n);
  }
  value.evidence = (wo_event_id)row;
  return value;
}

static struct wo_value get(void *context, struct wo_view name) {
  (void)context;
  return value_at(name, 0);
}

static size_t row_count(void *context, enum wo_rows rows) {
  (void)context;
  return rows == WO_ROWS_RANK ? ROWS : 0;
}

static struct wo_value get_row(void *context, size_t row, struct wo_view name) {
  (void)context;
  return value_at(name, row);
}

static void offer(void *context, struct wo_known_names *known) {
  (void)context;
  for (size_t i = 0; i < FACTS; i++) wo_nearest_offer(&known->nearest, wo_view_of(facts[i].name));
}

static const struct wo_names names = {.unit_of = unit_of, .offer = offer};
static const struct wo_facts_source source = {.get = get, .row_count = row_count, .get_row = get_row};

static const struct wo_expr *parse(struct wo_arena *arena, const char *text) {
  const struct wo_expr *expr = NULL;
  struct wo_err err = {0};
  if (wo_expr_parse(arena, wo_view_of(text), &names, &expr, &err) != WO_OK) fail_msg("%s: %u: %s", text, err.column, err.message);
  return expr;
}

static void show(struct wo_value v, char *buf, size_t cap) {
  if (!v.is_known) {
    snprintf(buf, cap, "?");
  } else if (v.unit == WO_UNIT_BOOL) {
    snprintf(buf, cap, "%s", v.truth == WO_TRUE ? "true" : "false");
  } else if (v.unit == WO_UNIT_TEXT) {
    snprintf(buf, cap, "%.*s", (int)v.text.len, v.text.ptr);
  } else if (v.number.lo == v.number.hi) {
    snprintf(buf, cap, "%.10g", v.number.mid);
  } else {
    snprintf(buf, cap, "%.10g:%.10g:%.10g", v.number.lo, v.number.mid, v.number.hi);
  }
}

/* ---- values ---- */

static const struct {
  const char *text;
  const char *value;
} values[] = {
    /* bounds and sums */
    {"max(rank.n)", "3"},
    {"min(rank.n)", "1"},
    {"sum(rank.n)", "6"},
    {"spread(rank.n)", "2"},
    {"max(rank.b)", "2990:3000:3010"},
    {"min(rank.b)", "1000"},
    {"sum(rank.b)", "?"},
    {"spread(rank.b)", "1990:2000:2010"},
    {"max(rank.c)", "200"},
    {"min(rank.c)", "95:100:100"},
    {"sum(rank.c)", "395:400:405"},
    {"spread(rank.c)", "100:100:105"},
    {"max(rank.none)", "?"},
    {"min(rank.none)", "?"},
    {"spread(rank.none)", "?"},
    {"max(rank.b + rank.c)", "3085:3100:3115"},
    {"max(rank.n * 2)", "6"},
    {"max(-rank.n)", "-1"},
    {"max(max(rank.n, 2))", "3"},
    {"min(max(rank.n, 2))", "2"},
    {"max(rank.n) + min(rank.n)", "4"},
    {"max(rank.n) - exact", "-7"},
    {"max(rank.n + exact)", "13"},
    {"max(otherwise(rank.b, 5000 B))", "5000"},
    {"sum(otherwise(rank.b, 0 B))", "3990:4000:4010"},
    {"max(1, 2)", "2"},
    {"max(2)", "2"},
    /* any and all: Kleene */
    {"any(rank.yes)", "true"},
    {"any(rank.no)", "false"},
    {"any(rank.mixed)", "true"},
    {"any(rank.open)", "true"},
    {"any(rank.part)", "?"},
    {"all(rank.yes)", "true"},
    {"all(rank.no)", "false"},
    {"all(rank.mixed)", "false"},
    {"all(rank.open)", "?"},
    {"all(rank.part)", "false"},
    {"any(not rank.yes)", "false"},
    {"all(not rank.no)", "true"},
    {"not any(rank.part)", "?"},
    {"any(rank.n > 2)", "true"},
    {"any(rank.n > 3)", "false"},
    {"all(rank.n > 0)", "true"},
    {"all(rank.n > 1)", "false"},
    {"any(rank.b > 2000 B)", "true"},
    {"any(rank.b > 3000 B)", "?"},
    {"any(rank.b > 4000 B)", "?"},
    {"all(rank.b > 500 B)", "?"},
    {"all(rank.b > 2000 B)", "false"},
    {"all(rank.c >= 95 B)", "true"},
    {"all(rank.c > 100 B)", "false"},
    {"any(rank.host == \"b\")", "true"},
    {"all(rank.host == \"a\")", "false"},
    {"any(rank.n == 1 and rank.host == \"b\")", "false"},
    {"any(rank.n == 3 and rank.host == \"b\")", "true"},
    {"any(known(rank.b))", "true"},
    {"all(known(rank.b))", "false"},
    {"all(unknown(rank.none))", "true"},
    {"any(rank.n > exact)", "false"},
    {"any(has(rank.host, \"B\"))", "true"},
    /* counts */
    {"count(rank.yes)", "3"},
    {"count(rank.no)", "0"},
    {"count(rank.mixed)", "1:1:2"},
    {"count(rank.open)", "2:2:3"},
    {"count(rank.n >= 2)", "2"},
    {"count(rank.n >= 2) == 2", "true"},
    {"count(rank.mixed) >= 1", "true"},
    {"count(rank.mixed) >= 2", "?"},
    {"count(rank.mixed) > 2", "false"},
    {"count(rank.yes) / 2", "1.5"},
    {"count(known(rank.b))", "2"},
    /* a table without rows tells nothing */
    {"max(card.n)", "?"},
    {"sum(card.n)", "?"},
    {"any(card.ok)", "?"},
    {"all(card.ok)", "?"},
    {"count(card.ok)", "?"},
    {"otherwise(count(card.ok), 0)", "0"},
    {"known(max(card.n))", "false"},
    {"any(rank.yes) and all(card.ok)", "?"},
    {"any(rank.yes) or all(card.ok)", "true"},
    /* the time line */
    {"seen(cuda_oom)", "true"},
    {"seen( cuda_oom )", "true"},
    {"before(nccl_timeout, cuda_oom)", "false"},
    {"before( nccl_timeout ,cuda_oom )", "false"},
    {"not before(nccl_timeout,cuda_oom) and during(backward)", "true"},
    {"slope(allocated) > 500 B", "true"},
    {"slope(allocated) + 1 B", "1001"},
    /* and, or, not: the whole of Kleene's tables */
    {"yes and yes", "true"},
    {"yes and no", "false"},
    {"yes and maybe", "?"},
    {"no and yes", "false"},
    {"no and no", "false"},
    {"no and maybe", "false"},
    {"maybe and yes", "?"},
    {"maybe and no", "false"},
    {"maybe and maybe", "?"},
    {"yes or yes", "true"},
    {"yes or no", "true"},
    {"yes or maybe", "true"},
    {"no or yes", "true"},
    {"no or no", "false"},
    {"no or maybe", "?"},
    {"maybe or yes", "true"},
    {"maybe or no", "?"},
    {"maybe or maybe", "?"},
    {"not yes", "false"},
    {"not no", "true"},
    {"not maybe", "?"},
    /* intervals through arithmetic into comparisons */
    {"fuzzy + 1 < 13", "true"},
    {"fuzzy + 1 < 12", "?"},
    {"fuzzy * 2 >= 18", "true"},
    {"fuzzy * 2 > 18", "?"},
    {"fuzzy - fuzzy == 0", "?"},
    {"max(fuzzy, 11) == 11", "true"},
    {"min(fuzzy, 9) == 9", "true"},
    {"max(fuzzy, 10) > 9", "true"},
    {"10% * fuzzy < 1.2", "true"},
    {"10% * fuzzy < 1", "?"},
    {"fuzzy / exact <= 110%", "true"},
    {"fuzzy / exact < 100%", "?"},
    {"fuzzy_bytes < 1%  * 200000 B", "true"},
    {"fuzzy_bytes >= 1000 B", "?"},
};

static void test_values(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    const struct wo_expr *const expr = parse(&arena, values[i].text);
    const struct wo_value value = wo_expr_eval(expr, &source);
    char text[128];
    assert_int_equal(value.unit, wo_expr_unit(expr));
    show(value, text, sizeof text);
    if (strcmp(text, values[i].value) != 0) fail_msg("%s: expected %s, got %s", values[i].text, values[i].value, text);
  }
  wo_arena_done(&arena);
}

/* The line that a report points at is that of the row that decided. */
static void test_evidence_is_of_the_deciding_row(void **state) {
  (void)state;
  static const struct {
    const char *text;
    wo_event_id evidence;
  } rows[] = {{"max(rank.n)", 2},       {"min(rank.n)", 0},    {"any(rank.n == 2)", 1},        {"all(rank.n > 1)", 0},
              {"count(rank.n > 1)", 1}, {"spread(rank.c)", 1}, {"max(card.n)", WO_EVENT_NONE}, {"any(rank.part)", WO_EVENT_NONE}};
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_value value = wo_expr_eval(parse(&arena, rows[i].text), &source);
    if (value.evidence != rows[i].evidence) fail_msg("%s: row %d", rows[i].text, (int)value.evidence);
  }
  wo_arena_done(&arena);
}

/* ---- errors ---- */

static const struct refusal errors[] = {
    {"rank.n > 1", WO_E_SYNTAX, 1, "'rank.n' has a value for each row: use it inside max, min, sum, spread, count, any or all"},
    {"1 < rank.n", WO_E_SYNTAX, 5, "'rank.n' has a value for each row: use it inside max, min, sum, spread, count, any or all"},
    {"max(rank.n) > rank.n", WO_E_SYNTAX, 15,
     "'rank.n' has a value for each row: use it inside max, min, sum, spread, count, any or all"},
    {"rank.n > max(rank.n)", WO_E_SYNTAX, 1,
     "'rank.n' has a value for each row: use it inside max, min, sum, spread, count, any or all"},
    {"max(rank.n, 1) > 0", WO_E_SYNTAX, 5,
     "'rank.n' has a value for each row: use it inside max, min, sum, spread, count, any or all"},
    {"known(rank.n)", WO_E_SYNTAX, 7,
     "'rank.n' has a value for each row: use it inside max, min, sum, spread, count, any or all"},
    {"any(rank.yes and card.ok)", WO_E_TYPE, 18,
     "rank.* and card.* cannot stand in one aggregate: their rows do not belong together"},
    {"max(rank.n + card.n)", WO_E_TYPE, 14, "rank.* and card.* cannot stand in one aggregate: their rows do not belong together"},
    {"any(yes)", WO_E_SYNTAX, 5, "any() goes over rank.* or card.*, and neither stands in it"},
    {"sum(exact)", WO_E_SYNTAX, 5, "sum() goes over rank.* or card.*, and neither stands in it"},
    {"any(rank.n < max(rank.n))", WO_E_SYNTAX, 5, "an aggregate inside any(): compare two aggregates instead"},
    {"any(rank.n)", WO_E_TYPE, 5, "expected bool, got number"},
    {"count(rank.b)", WO_E_TYPE, 7, "expected bool, got bytes"},
    {"max(rank.host)", WO_E_TYPE, 5, "expected a quantity, got text"},
    {"sum(rank.yes)", WO_E_TYPE, 5, "expected a quantity, got bool"},
    {"max(rank.b) > 3", WO_E_TYPE, 15, "expected bytes, got number"},
    {"any(rank.b > rank.n)", WO_E_TYPE, 14, "expected bytes, got number"},
    {"all(rank.yes, rank.no)", WO_E_SYNTAX, 14, "all() takes at most 1 argument"},
    {"max(rank.nn)", WO_E_UNKNOWN, 5, "unknown name 'rank.nn' (did you mean 'rank.n'?)"},
    {"mix(1, 2)", WO_E_UNKNOWN, 1, "unknown function 'mix' (did you mean 'min'?)"},
    {"befor(disk, xid)", WO_E_UNKNOWN, 1, "unknown function 'befor' (did you mean 'before'?)"},
    {"seen(cuda_om)", WO_E_UNKNOWN, 6, "unknown kind 'cuda_om' (did you mean 'cuda_oom'?)"},
    {"seen(\"cuda_oom\")", WO_E_SYNTAX, 6, "seen() expects a kind, without quotes"},
    {"seen(cuda_oom, xid)", WO_E_SYNTAX, 14, "expected ')' in the call of seen()"},
    {"before(cuda_oom)", WO_E_SYNTAX, 16, "before() needs 2 words"},
    {"before(cuda_oom, nothing_like_it)", WO_E_UNKNOWN, 18, "unknown kind 'nothing_like_it'"},
    {"during(backwards)", WO_E_UNKNOWN, 8, "unknown phase 'backwards' (did you mean 'backward'?)"},
    {"slope(alocated)", WO_E_UNKNOWN, 7, "unknown figure 'alocated' (did you mean 'allocated'?)"},
    {"slope(allocated) > 3", WO_E_TYPE, 20, "expected bytes, got number"},
    {"during(backward) > 3", WO_E_TYPE, 20, "expected bool, got number"},
    {"during()", WO_E_SYNTAX, 8, "during() expects a phase, without quotes"},
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
  }
  wo_arena_done(&arena);
}

/* ---- what rounding leaves open ---- */

/* The comparison that is open, or NULL when none is, or when something unknown is in the way. */
static const struct {
  const char *text;
  const char *source;
} overlaps[] = {
    {"fuzzy < 10", "fuzzy < 10"},
    {"fuzzy == 10", "fuzzy == 10"},
    {"not fuzzy < 10", "fuzzy < 10"},
    {"yes and fuzzy < 10", "fuzzy < 10"},
    {"fuzzy < 10 or no", "fuzzy < 10"},
    {"fuzzy < 10 and fuzzy_bytes > 1000 B", "fuzzy < 10"},
    {"(fuzzy + 1) * 2 < 22", "(fuzzy + 1) * 2 < 22"},
    {"any(rank.c > 100 B and rank.n == 3)", "rank.c > 100 B"},
    {"all(rank.c >= 100 B)", "rank.c >= 100 B"},
    {"max(rank.b) > 3000 B", "max(rank.b) > 3000 B"},
    {"fuzzy < 12", NULL},
    {"fuzzy < 9", NULL},
    {"no and fuzzy < 10", NULL},
    {"yes or fuzzy < 10", NULL},
    {"maybe", NULL},
    {"maybe and fuzzy < 10", NULL},
    {"fuzzy < 10 and nn > 1", NULL},
    {"nn < 10", NULL},
    {"count(rank.mixed) >= 2", NULL},
    {"any(rank.b > 3000 B)", NULL},
    {"any(card.ok)", NULL},
    {"exact", NULL},
};

static void test_overlaps(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof overlaps / sizeof overlaps[0]; i++) {
    struct wo_overlap overlap = {.source = {0}};
    const bool is_open = wo_expr_overlap(parse(&arena, overlaps[i].text), &source, &overlap);
    if (is_open != (overlaps[i].source != NULL)) fail_msg("%s: %s", overlaps[i].text, is_open ? "open" : "not open");
    if (is_open && !wo_view_is(overlap.source, overlaps[i].source)) {
      fail_msg("%s: '%.*s'", overlaps[i].text, (int)overlap.source.len, overlap.source.ptr);
    }
    if (is_open) assert_true(overlap.left.is_known && overlap.right.is_known);
  }
  wo_arena_done(&arena);
}

/* ---- constants and contradictions ---- */

static void test_constants(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum wo_truth truth;
  } rows[] = {
      {"true", WO_TRUE},
      {"false", WO_FALSE},
      {"1 < 2", WO_TRUE},
      {"2 < 1 and yes", WO_FALSE},
      {"yes or 1 < 2", WO_TRUE},
      {"1MiB > 1GiB", WO_FALSE},
      {"yes", WO_UNDECIDED},
      {"known(exact)", WO_UNDECIDED},
      {"unknown(exact)", WO_UNDECIDED},
      {"known(1)", WO_TRUE},
      {"otherwise(exact, 5) > 3", WO_UNDECIDED},
      {"count(rank.yes) >= 0", WO_UNDECIDED},
      {"any(rank.n > 1)", WO_UNDECIDED},
      {"one_of(\"a\", \"b\")", WO_FALSE},
      {"if(yes, 1, 2) > 3", WO_UNDECIDED},
      {"3", WO_UNDECIDED},
  };
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const enum wo_truth truth = wo_expr_constant(parse(&arena, rows[i].text));
    if (truth != rows[i].truth) fail_msg("%s: %d", rows[i].text, (int)truth);
  }
  wo_arena_done(&arena);
}

static void test_implication(void **state) {
  (void)state;
  static const struct {
    const char *whole;
    const char *part;
    bool implies;
  } rows[] = {
      {"yes and exact > 3", "exact > 3", true},
      {"yes and exact > 3", "exact  >  3", true},
      {"yes and exact > 3 and no", "no and yes", true},
      {"yes and exact > 3", "no or exact > 3", true},
      {"yes or exact > 3", "exact > 3", false},
      {"yes or exact > 3", "yes or exact > 3", true},
      {"exact > 4", "exact > 3", false}, /* as written only */
      {"yes", "yes and no", false},
      {"not yes", "yes", false},
  };
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_expr_implies(parse(&arena, rows[i].whole), parse(&arena, rows[i].part)) == rows[i].implies) continue;
    fail_msg("%s / %s", rows[i].whole, rows[i].part);
  }
  wo_arena_done(&arena);
}

/* ---- taking apart ---- */

struct outline {
  char text[512];
};

static void note_fact(void *context, struct wo_view name) {
  struct outline *const outline = context;
  const size_t len = strlen(outline->text);
  snprintf(outline->text + len, sizeof outline->text - len, " %.*s", (int)name.len, name.ptr);
}

static void note_step(void *context, const struct wo_expr_step *step) {
  struct outline *const outline = context;
  const size_t len = strlen(outline->text);
  snprintf(outline->text + len, sizeof outline->text - len, "%u:%.*s=%d", step->depth, (int)step->expr.source.len,
           step->expr.source.ptr, (int)step->value.truth);
  if (step->is_leaf) wo_expr_each_fact(&step->expr, note_fact, outline);
  const size_t end = strlen(outline->text);
  snprintf(outline->text + end, sizeof outline->text - end, ";");
}

static const struct wo_expr *definition_of(void *context, struct wo_view name) {
  return wo_view_is(name, "late") ? context : NULL;
}

static void test_steps(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  const struct wo_expr *const late = parse(&arena, "exact > 3 and yes");
  const struct wo_names with_late = {.unit_of = unit_of, .definition = definition_of, .context = (void *)(uintptr_t)late};
  static const struct {
    const char *text;
    const char *steps;
  } rows[] = {
      {"yes", "0:yes=1 yes;"},
      {"true", "0:true=1;"},
      {"exact > 3", "0:exact > 3=1 exact;"},
      {"yes and no and maybe", "0:yes=1 yes;0:no=0 no;0:maybe=2 maybe;"},
      {"yes and (no or maybe)", "0:yes=1 yes;0:no or maybe=2;1:no=0 no;1:maybe=2 maybe;"},
      {"not (yes and no)", "0:not (yes and no)=1;1:yes and no=0;2:yes=1 yes;2:no=0 no;"},
      {"no or late", "0:no=0 no;0:late=1;1:exact > 3=1 exact;1:yes=1 yes;"},
      {"late", "0:late=1;1:exact > 3=1 exact;1:yes=1 yes;"},
      {"any(rank.n > exact)", "0:any(rank.n > exact)=0 rank.n exact;"},
      {"exact + 1", "0:exact + 1=2 exact;"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_expr *expr = NULL;
    struct outline outline = {.text = ""};
    assert_int_equal(wo_expr_parse(&arena, wo_view_of(rows[i].text), &with_late, &expr, NULL), WO_OK);
    wo_expr_explain(expr, &source, note_step, &outline);
    if (strcmp(outline.text, rows[i].steps) != 0) fail_msg("%s:\n%s\nexpected\n%s", rows[i].text, outline.text, rows[i].steps);
  }
  wo_arena_done(&arena);
}

static void test_kinds(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  struct outline outline = {.text = ""};
  wo_expr_each_kind(parse(&arena,
                          "one_of(oom.kind, \"a\", \"b\") or oom.kind == \"c\" or count.cuda_oom > 1 or seen(cuda_oom) or "
                          "before(nccl_timeout, cuda_oom) or exact > 3"),
                    note_fact, &outline);
  assert_string_equal(outline.text, " a b c cuda_oom cuda_oom nccl_timeout cuda_oom");
  wo_arena_done(&arena);
}

/* ---- names ---- */

static void test_nearest(void **state) {
  (void)state;
  static const struct {
    const char *want;
    const char *best; /* of "allocated", "reserved" and "free" */
  } rows[] = {{"alocated", "allocated"}, {"reserve", "reserved"}, {"fre", "free"}, {"frxx", ""}, {"x", ""}, {"", ""},
              {"allocated", "allocated"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_nearest search = {.want = wo_view_of(rows[i].want)};
    wo_nearest_offer(&search, WO_VIEW("allocated"));
    wo_nearest_offer(&search, WO_VIEW("reserved"));
    wo_nearest_offer(&search, WO_VIEW("free"));
    assert_true(wo_view_is(wo_nearest_best(&search), rows[i].best));
  }
  char long_name[200];
  memset(long_name, 'a', sizeof long_name);
  struct wo_nearest search = {.want = {long_name, sizeof long_name}};
  wo_nearest_offer(&search, WO_VIEW("allocated"));
  assert_int_equal(wo_nearest_best(&search).len, 0);
}

static void test_event_names(void **state) {
  (void)state;
  struct wo_view words[WO_EVENT_WORDS];
  const struct wo_event_function *const function = wo_event_fact_split(WO_VIEW("before(disk,xid)"), words);
  assert_non_null(function);
  assert_int_equal(function->fn, WO_EVENT_BEFORE);
  assert_true(wo_view_is(words[0], "disk") && wo_view_is(words[1], "xid"));
  assert_non_null(wo_event_fact_split(WO_VIEW("seen(disk)"), words));
  assert_true(wo_view_is(words[0], "disk") && words[1].len == 0);
  static const char *const others[] = {"", "oom.tried", "seen", "seen(disk", "known(x)", ")", "()"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) assert_null(wo_event_fact_split(wo_view_of(others[i]), words));
}

/* ---- memory ---- */

static void test_out_of_memory(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    struct wo_arena arena;
    wo_arena_init(&arena, ARENA_BYTES);
    const struct wo_expr *expr = NULL;
    wo_fail_alloc_at(n);
    const enum wo_status status =
        wo_expr_parse(&arena, WO_VIEW("any(rank.n > 1) and before(nccl_timeout, cuda_oom)"), &names, &expr, NULL);
    wo_fail_alloc_off();
    const bool has_failed = wo_fail_alloc_hit();
    wo_arena_done(&arena);
    if (!has_failed) {
      assert_int_equal(status, WO_OK);
      break;
    }
    assert_int_equal(status, WO_E_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),        cmocka_unit_test(test_evidence_is_of_the_deciding_row),
      cmocka_unit_test(test_errors),        cmocka_unit_test(test_overlaps),
      cmocka_unit_test(test_constants),     cmocka_unit_test(test_implication),
      cmocka_unit_test(test_steps),         cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_nearest),       cmocka_unit_test(test_event_names),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
