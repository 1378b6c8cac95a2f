/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an expression and as a template, over facts of every unit: parsing is total, the unit is kept, intervals stay
 * ordered, and an expression parsed again from its own source has the same value. */
#include <stddef.h>
#include <stdint.h>

#include "rules/language/event_fact.h"
#include "rules/language/template.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ARENA_BYTES ((size_t)4 * 1024 * 1024)

static const struct {
  const char *name;
  enum wo_unit unit;
  bool is_known;
  struct wo_interval number;
} facts[] = {
    {"oom.tried", WO_UNIT_BYTES, true, {1.9e10, 2e10, 2.1e10}},
    {"gpu.capacity", WO_UNIT_BYTES, true, {8e10, 8e10, 8e10}},
    {"oom.free", WO_UNIT_BYTES, false, {0, 0, 0}},
    {"oom.rank", WO_UNIT_NUMBER, true, {-1, 0, 3}},
    {"gpu.count", WO_UNIT_NUMBER, true, {8, 8, 8}},
    {"job.ranks", WO_UNIT_NUMBER, false, {0, 0, 0}},
    {"oom.kind", WO_UNIT_TEXT, true, {0, 0, 0}},
    {"oom.phase", WO_UNIT_TEXT, false, {0, 0, 0}},
    {"oom.first_step", WO_UNIT_BOOL, true, {0, 0, 0}},
    {"oom.is_serving", WO_UNIT_BOOL, false, {0, 0, 0}},
    {"job.time", WO_UNIT_DURATION, true, {1, 2, 3}},
    {"rank.free", WO_UNIT_BYTES, true, {1e9, 1.1e9, 1.2e9}},
    {"rank.step", WO_UNIT_NUMBER, false, {0, 0, 0}},
    {"rank.is_failed", WO_UNIT_BOOL, true, {0, 0, 0}},
    {"card.peak", WO_UNIT_BYTES, true, {2e9, 2e9, 2e9}},
};
enum { FACTS = sizeof facts / sizeof facts[0] };

static enum wo_unit unit_of(void *context, struct wo_view name) {
  (void)context;
  for (size_t i = 0; i < FACTS; i++) {
    if (wo_view_is(name, facts[i].name)) return facts[i].unit;
  }
  return WO_UNIT_NONE;
}

static struct wo_value get(void *context, struct wo_view name) {
  (void)context;
  for (size_t i = 0; i < FACTS; i++) {
    if (!wo_view_is(name, facts[i].name)) continue;
    if (!facts[i].is_known) return wo_value_unknown(facts[i].unit);
    if (facts[i].unit == WO_UNIT_TEXT) return wo_value_text(WO_VIEW("cuda_oom"));
    if (facts[i].unit == WO_UNIT_BOOL) return wo_value_bool(WO_TRUE);
    return wo_value_number(facts[i].unit, facts[i].number);
  }
  /* The parser must not let a name through that does not exist; of the time line there are many. */
  struct wo_view words[WO_EVENT_WORDS];
  const struct wo_event_function *const function = wo_event_fact_split(name, words);
  require(function != NULL);
  if (function->unit == WO_UNIT_BOOL) return wo_value_bool((enum wo_truth)(name.len % 3));
  return wo_value_unknown(WO_UNIT_NONE);
}

/* Three ranks and no card. In the second row nothing is known. */
static size_t row_count(void *context, enum wo_rows rows) {
  (void)context;
  return rows == WO_ROWS_RANK ? 3 : 0;
}

static struct wo_value get_row(void *context, size_t row, struct wo_view name) {
  require(row < 3 && wo_rows_of(name) != WO_ROWS_NONE);
  return row == 1 ? wo_value_unknown(unit_of(context, name)) : get(context, name);
}

static const struct wo_names names = {.unit_of = unit_of};
static const struct wo_facts_source source = {.get = get, .row_count = row_count, .get_row = get_row};

static bool is_same(struct wo_value a, struct wo_value b) {
  if (a.unit != b.unit || a.is_known != b.is_known || a.truth != b.truth) return false;
  if (!a.is_known) return true;
  if (a.unit == WO_UNIT_TEXT) return wo_view_equal(a.text, b.text);
  return a.number.lo == b.number.lo && a.number.mid == b.number.mid && a.number.hi == b.number.hi;
}

static void know(void *context, struct wo_view name) {
  struct wo_view words[WO_EVENT_WORDS];
  require(unit_of(NULL, name) != WO_UNIT_NONE || wo_event_fact_split(name, words) != NULL);
  ++*(size_t *)context;
}

static void take_step(void *context, const struct wo_expr_step *step) {
  require(step->expr.source.len > 0);
  if (step->is_leaf) wo_expr_each_fact(&step->expr, know, context);
}

static void take_kind(void *context, struct wo_view kind) {
  *(size_t *)context += kind.len;
}

/* What is constant has that value over any facts; what overlaps is undecided; every expression asks for itself. */
static void try_questions(const struct wo_expr *expr, enum wo_truth truth) {
  struct wo_overlap overlap;
  size_t count = 0;
  const enum wo_truth constant = wo_expr_constant(expr);
  if (constant != WO_UNDECIDED) require(truth == constant);
  if (wo_expr_overlap(expr, &source, &overlap)) {
    require(truth == WO_UNDECIDED && overlap.left.is_known && overlap.right.is_known && overlap.source.len > 0);
  }
  require(wo_expr_implies(expr, expr));
  wo_expr_explain(expr, &source, take_step, &count);
  wo_expr_each_kind(expr, take_kind, &count);
}

static void try_expr(struct wo_arena *arena, struct wo_view text) {
  const struct wo_expr *expr = NULL;
  struct wo_err err = {0};
  const enum wo_status status = wo_expr_parse(arena, text, &names, &expr, &err);
  if (status != WO_OK) {
    require(err.code == status && err.message[0] != '\0');
    require(status == WO_E_NOMEM || (err.column >= 1 && err.column <= text.len + 1));
    return;
  }
  const struct wo_value value = wo_expr_eval(expr, &source);
  require(value.unit == wo_expr_unit(expr));
  if (value.is_known) require(value.number.lo <= value.number.mid && value.number.mid <= value.number.hi);
  if (value.unit == WO_UNIT_BOOL) require(wo_expr_truth(expr, &source) == value.truth);
  const struct wo_expr *again = NULL;
  if (wo_expr_parse(arena, expr->source, &names, &again, NULL) == WO_OK) {
    require(is_same(wo_expr_eval(again, &source), value));
  }
  try_questions(expr, value.truth);
  size_t used = 0;
  wo_expr_each_fact(expr, know, &used);
}

static void try_template(struct wo_arena *arena, struct wo_view text) {
  const struct wo_template *template = NULL;
  struct wo_err err = {0};
  if (wo_template_parse(arena, text, &names, &template, &err) != WO_OK) {
    require(err.column <= text.len + 1);
    return;
  }
  bool has_unknown = false;
  wo_template_render(template, &source, arena, &has_unknown);
  require(wo_view_equal(wo_template_source(template), text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 16 * 1024) return 0;
  struct wo_arena arena;
  wo_arena_init(&arena, ARENA_BYTES);
  const struct wo_view text = {(const char *)data, size};
  try_expr(&arena, text);
  try_template(&arena, text);
  wo_arena_done(&arena);
  return 0;
}
