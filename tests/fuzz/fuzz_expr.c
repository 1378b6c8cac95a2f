/* Any text as an expression and as a template, over facts of every unit: parsing is total, the unit is kept, intervals stay
 * ordered, and an expression parsed again from its own source has the same value. */
#include <stddef.h>
#include <stdint.h>

#include "rules/template.h"
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
  /* The parser has let a name through that does not exist. */
  require(false);
  return wo_value_unknown(WO_UNIT_NONE);
}

static const struct wo_names names = {.unit_of = unit_of};
static const struct wo_facts_source source = {.get = get};

static bool is_same(struct wo_value a, struct wo_value b) {
  if (a.unit != b.unit || a.is_known != b.is_known || a.truth != b.truth) return false;
  if (!a.is_known) return true;
  if (a.unit == WO_UNIT_TEXT) return wo_view_equal(a.text, b.text);
  return a.number.lo == b.number.lo && a.number.mid == b.number.mid && a.number.hi == b.number.hi;
}

static void know(void *context, struct wo_view name) {
  require(unit_of(NULL, name) != WO_UNIT_NONE);
  ++*(size_t *)context;
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
  if (wo_expr_parse(arena, wo_expr_source(expr), &names, &again, NULL) == WO_OK) {
    require(is_same(wo_expr_eval(again, &source), value));
  }
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
