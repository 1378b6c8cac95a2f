/* SPDX-License-Identifier: Apache-2.0 */
/* Explains how a rule came to its verdict. The diagnosis decides; nothing is decided here. */
#include "analyzer/diagnosis/why.h"

#include <assert.h>

/* Limits for one rule; the rest is left out. No built-in rule comes near them. */
enum { CLAUSES_MAX = 256, FACTS_MAX = 64 };

/* One explanation in the making. */
struct maker {
  const struct wo_diagnosis *diagnosis;
  struct wo_why_clause *clauses;
  size_t clause_count;
  const struct wo_expr **lets; /* that are listed already */
  size_t let_count;
};

/* ---- steps ---- */

/* The first pass counts, the second one fills. */
struct step_list {
  const struct maker *maker;
  struct wo_why_step *steps; /* NULL while counting */
  size_t count;
};

struct fact_list {
  const struct wo_diagnosis *diagnosis;
  struct wo_why_fact facts[FACTS_MAX];
  size_t count;
};

/* Columns are shown once for each row, up to the limit. */
static void add_fact_value(struct fact_list *list, struct wo_view name, struct wo_value value) {
  if (list->count == FACTS_MAX) return;
  const struct wo_event *event = wo_event_get(&list->diagnosis->facts->job->events, value.evidence);
  const struct wo_view place = value.is_known ? wo_diagnose_place(list->diagnosis, event) : (struct wo_view){0};
  list->facts[list->count++] = (struct wo_why_fact){.name = name, .value = value, .place = place};
}

static void add_fact(void *context, struct wo_view name) {
  struct fact_list *list = context;
  const struct wo_facts *facts = list->diagnosis->facts;
  for (size_t i = 0; i < list->count; i++) {
    if (wo_view_equal(list->facts[i].name, name)) return;
  }
  if (wo_rows_of(name) == WO_ROWS_NONE) {
    struct wo_value value = wo_facts_get(facts, name);
    if (value.unit == WO_UNIT_NONE) value = wo_value_unknown(wo_fact_unit(list->diagnosis->pack, name));
    add_fact_value(list, name, value);
    return;
  }
  const size_t rows = wo_rows_of(name) == WO_ROWS_RANK ? facts->rank_rows.count : facts->card_rows.count;
  for (size_t i = 0; i < rows; i++) {
    const struct wo_view label = wo_arena_format(list->diagnosis->arena, "%.*s[%zu]", WO_SHOWN(name), i);
    add_fact_value(list, label, wo_facts_get_row(facts, i, name));
  }
  if (rows == 0) add_fact_value(list, name, wo_value_unknown(wo_fact_unit(list->diagnosis->pack, name)));
}

static void add_step(void *context, const struct wo_expr_step *step) {
  struct step_list *list = context;
  const struct wo_diagnosis *diagnosis = list->maker->diagnosis;
  if (!list->steps) {
    list->count++;
    return;
  }
  struct wo_why_step *out = &list->steps[list->count++];
  *out = (struct wo_why_step){.step = *step};
  out->is_overlap = wo_expr_overlap(&step->expr, &diagnosis->source, NULL);
  if (!step->is_leaf) return;
  struct fact_list list_of_facts = {.diagnosis = diagnosis, .count = 0};
  wo_expr_each_fact(&step->expr, add_fact, &list_of_facts);
  struct wo_why_fact *facts = wo_arena_array(diagnosis->arena, list_of_facts.count + 1, sizeof *facts);
  if (!facts) return;
  memcpy(facts, list_of_facts.facts, list_of_facts.count * sizeof *facts);
  out->facts = facts;
  out->fact_count = list_of_facts.count;
}

/* ---- clauses ---- */

/* Adds a clause with the steps of its expression. NULL is a clause without a condition: it always holds. */
static struct wo_why_clause *add_clause(struct maker *maker, const char *part, const struct wo_expr *expr) {
  const struct wo_diagnosis *diagnosis = maker->diagnosis;
  if (maker->clause_count == CLAUSES_MAX) return NULL;
  struct wo_why_clause *clause = &maker->clauses[maker->clause_count++];
  *clause = (struct wo_why_clause){.part = part, .value = wo_value_bool(WO_TRUE)};
  if (!expr) return clause;
  clause->source = expr->source;
  clause->value = wo_expr_eval(expr, &diagnosis->source);
  clause->is_overlap = wo_expr_overlap(expr, &diagnosis->source, NULL);
  struct step_list list = {.maker = maker};
  wo_expr_explain(expr, &diagnosis->source, add_step, &list);
  list.steps = wo_arena_array(diagnosis->arena, list.count + 1, sizeof *list.steps);
  if (!list.steps) return clause;
  list.count = 0;
  wo_expr_explain(expr, &diagnosis->source, add_step, &list);
  clause->steps = list.steps;
  clause->step_count = list.count;
  return clause;
}

static void add_let(void *context, struct wo_view name, const struct wo_expr *definition) {
  struct maker *maker = context;
  for (size_t i = 0; i < maker->let_count; i++) {
    if (maker->lets[i] == definition) return;
  }
  if (maker->let_count == CLAUSES_MAX) return;
  maker->lets[maker->let_count++] = definition;
  struct wo_why_clause *clause = add_clause(maker, "let", definition);
  if (clause) clause->name = name;
}

static void add_lets(struct maker *maker, const struct wo_expr *expr) {
  if (expr) wo_expr_each_definition(expr, add_let, maker);
}

static void add_lets_of(struct maker *maker, const struct wo_clause *clauses, size_t count) {
  for (size_t i = 0; i < count; i++) add_lets(maker, clauses[i].when);
}

static void add_says(struct maker *maker, const char *part, const struct wo_clause *clauses, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct wo_why_clause *clause = add_clause(maker, part, clauses[i].when);
    if (clause) clause->say = wo_template_render(clauses[i].say, &maker->diagnosis->source, maker->diagnosis->arena, NULL);
  }
}

/* Arguments move the score one after another, as in the diagnosis. */
static double add_arguments(struct maker *maker, const char *part, const struct wo_clause *clauses, size_t count, double score) {
  const size_t first = maker->clause_count;
  const bool is_for = part[0] == 'f';
  add_says(maker, part, clauses, count);
  for (size_t i = first; i < maker->clause_count; i++) {
    struct wo_why_clause *clause = &maker->clauses[i];
    const double weight = wo_weight_value(clauses[i - first].weight);
    if (clause->value.truth == WO_TRUE) score = is_for ? score + (1 - score) * weight : score * (1 - weight);
    clause->has_weight = true;
    clause->weight = weight;
    clause->score = score;
  }
  return score;
}

static enum wo_status start(const struct wo_diagnosis *diagnosis, struct maker *maker) {
  *maker = (struct maker){.diagnosis = diagnosis};
  maker->clauses = wo_arena_array(diagnosis->arena, CLAUSES_MAX, sizeof *maker->clauses);
  maker->lets = wo_arena_array(diagnosis->arena, CLAUSES_MAX, sizeof(const struct wo_expr *));
  return maker->clauses && maker->lets ? WO_OK : WO_E_NOMEM;
}

/* ---- reasons ---- */

/* The first clause of a part, with must_hold the first that holds; NULL if there is none. */
static const struct wo_why_clause *find_clause(const struct maker *maker, const char *part, bool must_hold) {
  for (size_t i = 0; i < maker->clause_count; i++) {
    const struct wo_why_clause *clause = &maker->clauses[i];
    if (strcmp(clause->part, part) == 0 && (!must_hold || clause->value.truth == WO_TRUE)) return clause;
  }
  return NULL;
}

/* The findings of the same job, best first. */
struct findings {
  const struct wo_finding *items;
  size_t count;
};

/* The finding of a cause that excludes this one, or NULL. */
static const struct wo_cause *find_excluder(const struct findings *found, const struct wo_cause *cause) {
  for (size_t i = 0; i < found->count; i++) {
    const struct wo_cause *other = found->items[i].cause;
    for (size_t k = 0; k < other->exclude_count; k++) {
      if (wo_view_equal(other->excludes[k], cause->id)) return other;
    }
  }
  return NULL;
}

static struct wo_view reason_of_silence(const struct maker *maker, const struct findings *found, const struct wo_cause *cause,
                                        double score) {
  struct wo_arena *arena = maker->diagnosis->arena;
  const struct wo_why_clause *not_when = find_clause(maker, "not_when", true);
  const struct wo_why_clause *when = find_clause(maker, "when", false);
  if (cause->off) return wo_arena_format(arena, "it is turned off: %.*s", WO_SHOWN(cause->off->why));
  if (not_when) return wo_arena_format(arena, "an exception holds: %.*s", WO_SHOWN(not_when->say));
  if (when && when->value.truth != WO_TRUE) return wo_arena_format(arena, "\"when\" is %s", wo_truth_name(when->value.truth));
  if (score < WO_SCORE_SHOWN) return wo_arena_format(arena, "its score of %.2f is below %.2f", score, WO_SCORE_SHOWN);
  const struct wo_cause *other = find_excluder(found, cause);
  if (other) return wo_arena_format(arena, "%.*s is at least as strong and excludes it", WO_SHOWN(other->id));
  return WO_VIEW("it is not among the findings");
}

enum wo_status wo_why_cause(const struct wo_diagnosis *diagnosis, const struct wo_cause *cause, struct wo_why *ret_why) {
  struct maker maker;
  struct findings found;
  if (wo_diagnose(diagnosis, &found.items, &found.count) != WO_OK || start(diagnosis, &maker) != WO_OK) return WO_E_NOMEM;
  add_lets(&maker, cause->when);
  add_lets_of(&maker, cause->not_when, cause->not_when_count);
  add_lets_of(&maker, cause->for_, cause->for_count);
  add_lets_of(&maker, cause->against, cause->against_count);
  add_clause(&maker, "when", cause->when);
  add_says(&maker, "not_when", cause->not_when, cause->not_when_count);
  const double prior = wo_weight_value(cause->prior);
  double score = add_arguments(&maker, "for", cause->for_, cause->for_count, prior);
  score = add_arguments(&maker, "against", cause->against, cause->against_count, score);
  *ret_why = (struct wo_why){.sort = "cause",
                             .id = cause->id,
                             .place = cause->place,
                             .has_score = true,
                             .prior = prior,
                             .score = score,
                             .clauses = maker.clauses,
                             .clause_count = maker.clause_count};
  for (size_t i = 0; i < found.count; i++) {
    if (found.items[i].cause != cause) continue;
    ret_why->is_fired = true;
    ret_why->reason = wo_arena_format(diagnosis->arena, "finding %zu of %zu", i + 1, found.count);
  }
  wo__why_divide(diagnosis, &ret_why->division);
  if (!ret_why->is_fired) ret_why->reason = reason_of_silence(&maker, &found, cause, score);
  return wo_arena_is_exhausted(diagnosis->arena) ? WO_E_NOMEM : WO_OK;
}

/* ---- fixes ---- */

static void add_changes(struct maker *maker, const struct wo_fix *fix) {
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_knob_change *change = &fix->changes[i];
    struct wo_why_clause *clause = change->when ? add_clause(maker, "changes.if", change->when) : NULL;
    if (clause) clause->name = change->knob;
    clause = add_clause(maker, "changes.to", change->to);
    if (clause) clause->name = change->knob;
  }
}

static bool names_fix(const struct wo_cause *cause, struct wo_view id) {
  for (size_t i = 0; i < cause->fix_count; i++) {
    if (wo_view_equal(cause->fixes[i], id)) return true;
  }
  return false;
}

/* Fills is_fired and the reason. A fix is only considered if a finding names it. */
static void judge_fix(const struct maker *maker, const struct findings *found, const struct wo_fix *fix, struct wo_why *why) {
  struct wo_arena *arena = maker->diagnosis->arena;
  const struct wo_why_clause *when = find_clause(maker, "when", false);
  const struct wo_why_clause *conflict = find_clause(maker, "conflicts", true);
  bool is_named = false;
  for (size_t i = 0; i < found->count; i++) {
    const struct wo_finding *finding = &found->items[i];
    is_named = is_named || names_fix(finding->cause, fix->id);
    for (size_t k = 0; k < finding->fix_count && !why->is_fired; k++) {
      if (!wo_view_equal(finding->fixes[k].id, fix->id)) continue;
      why->is_fired = true;
      why->reason = wo_arena_format(arena, "fix %zu of %.*s", k + 1, WO_SHOWN(finding->cause->id));
    }
  }
  if (why->is_fired) return;
  why->reason = WO_VIEW("it has nothing to change");
  if (when && when->value.truth != WO_TRUE)
    why->reason = wo_arena_format(arena, "\"when\" is %s", wo_truth_name(when->value.truth));
  if (conflict) why->reason = wo_arena_format(arena, "a conflict: %.*s", WO_SHOWN(conflict->say));
  if (find_clause(maker, "already", true)) why->reason = WO_VIEW("it is in force already");
  if (!is_named) why->reason = WO_VIEW("no finding names it");
  if (fix->off) why->reason = wo_arena_format(arena, "it is turned off: %.*s", WO_SHOWN(fix->off->why));
}

enum wo_status wo_why_fix(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, struct wo_why *ret_why) {
  struct maker maker;
  struct findings found;
  if (wo_diagnose(diagnosis, &found.items, &found.count) != WO_OK || start(diagnosis, &maker) != WO_OK) return WO_E_NOMEM;
  add_lets(&maker, fix->when);
  add_lets(&maker, fix->already);
  add_lets_of(&maker, fix->conflicts, fix->conflict_count);
  for (size_t i = 0; i < fix->change_count; i++) add_lets(&maker, fix->changes[i].to);
  add_lets(&maker, fix->saves_lo);
  add_lets(&maker, fix->saves_hi);
  add_clause(&maker, "when", fix->when);
  if (fix->already) add_clause(&maker, "already", fix->already);
  add_says(&maker, "conflicts", fix->conflicts, fix->conflict_count);
  add_changes(&maker, fix);
  if (fix->saves_lo) add_clause(&maker, "saves.lo", fix->saves_lo);
  if (fix->saves_hi) add_clause(&maker, "saves.hi", fix->saves_hi);
  *ret_why = (struct wo_why){
      .sort = "fix", .id = fix->id, .place = fix->place, .clauses = maker.clauses, .clause_count = maker.clause_count};
  wo__why_divide(diagnosis, &ret_why->division);
  judge_fix(&maker, &found, fix, ret_why);
  return wo_arena_is_exhausted(diagnosis->arena) ? WO_E_NOMEM : WO_OK;
}
