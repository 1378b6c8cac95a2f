/* The lint's look at conditions: rules that can never be found, and clauses that say nothing.
 *
 * Only what holds whatever the facts are is complained of: constants, and conditions that contradict each other as they are
 * written. A rule that is merely unlikely is not the lint's business. */
#include <assert.h>

#include "rules/language/nearest.h"
#include "rules/check/rule_check.h"

/* The rule being looked at. */
struct rule {
  struct wo_check *check;
  struct wo_rule_place place;
  const char *sort;
  struct wo_view id;
  size_t named;   /* kinds of memory failures that a condition names */
  size_t yielded; /* of them, those that a pattern yields */
};

/* ---- kinds ------------------------------------------------------------------------------------------------------------ */

static bool is_yielded(const struct wo_pack *pack, enum wo_kind kind) {
  for (size_t i = 0; i < pack->pattern_count; i++) {
    if (pack->patterns[i].kind == kind) return true;
  }
  return false;
}

static void complain_unknown_kind(const struct rule *rule, struct wo_view name) {
  struct wo_nearest nearest = {.want = name};
  for (int kind = WO_KIND_UNKNOWN + 1; kind < WO_KIND_COUNT_; kind++) {
    wo_nearest_offer(&nearest, wo_view_of(wo_kind_name((enum wo_kind)kind)));
  }
  char hint[WO_NEAREST_BYTES];
  wo__check_complain(rule->check, rule->place, WO_E_UNKNOWN, "%s %.*s: there is no kind '%.*s'%s", rule->sort, WO_SHOWN(rule->id),
                     WO_SHOWN(name), wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}

/* Counts the kinds of memory failures. What describes a job comes from readers of whole files and not from patterns, and is not
 * counted. */
static void check_kind(void *context, struct wo_view name) {
  struct rule *rule = context;
  const enum wo_kind kind = wo_kind_find(name);
  if (kind == WO_KIND_UNKNOWN) {
    complain_unknown_kind(rule, name);
    return;
  }
  const enum wo_class class = wo_kind_class(kind);
  const bool is_memory = class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
  rule->named += is_memory;
  rule->yielded += is_memory && is_yielded(rule->check->pack, kind);
}

/* A reader can make one kind out of another (PyTorch's message names the maker of the card), so one kind that is yielded is
 * enough. A pack without patterns, as a test or a folder of fixes has it, is not asked. */
static void check_yield(const struct rule *rule) {
  if (rule->named == 0 || rule->yielded > 0 || rule->check->pack->own_pattern_count == 0) return;
  wo__check_complain(rule->check, rule->place, WO_E_UNKNOWN, "%s %.*s: no pattern yields any of the kinds in 'when'", rule->sort,
                     WO_SHOWN(rule->id));
}

/* ---- conditions ------------------------------------------------------------------------------------------------------- */

/* Complains about clauses of a part that never say anything. One that always does is fine in arguments; as an exception or a
 * conflict it silences the rule for good. */
static void check_clauses(struct rule *rule, const char *part, const struct wo_clause *clauses, size_t count, bool is_silencing) {
  for (size_t i = 0; i < count; i++) {
    if (clauses[i].when == NULL) continue;
    wo_expr_each_kind(clauses[i].when, check_kind, rule);
    const enum wo_truth truth = wo_expr_constant(clauses[i].when);
    if (truth == WO_FALSE) {
      wo__check_complain(rule->check, rule->place, WO_E_SYNTAX, "%s %.*s: '%s' %zu never holds", rule->sort, WO_SHOWN(rule->id),
                         part, i + 1);
    } else if (truth == WO_TRUE && is_silencing) {
      wo__check_complain(rule->check, rule->place, WO_E_SYNTAX, "%s %.*s: '%s' %zu always holds, so the rule never does",
                         rule->sort, WO_SHOWN(rule->id), part, i + 1);
    }
  }
}

static void check_when(struct rule *rule, const struct wo_expr *when) {
  if (when == NULL) return;
  rule->named = rule->yielded = 0;
  wo_expr_each_kind(when, check_kind, rule);
  check_yield(rule);
  if (wo_expr_constant(when) != WO_FALSE) return;
  wo__check_complain(rule->check, rule->place, WO_E_SYNTAX, "%s %.*s: 'when' never holds", rule->sort, WO_SHOWN(rule->id));
}

/* An exception that the condition itself asks for. */
static void check_contradiction(struct rule *rule, const struct wo_expr *when, const char *part, const struct wo_clause *clauses,
                                size_t count) {
  for (size_t i = 0; i < count && when != NULL; i++) {
    if (clauses[i].when == NULL || wo_expr_constant(clauses[i].when) != WO_UNDECIDED) continue;
    if (!wo_expr_implies(when, clauses[i].when)) continue;
    wo__check_complain(rule->check, rule->place, WO_E_SYNTAX,
                       "%s %.*s: '%s' %zu holds whenever 'when' does, so the rule never does", rule->sort, WO_SHOWN(rule->id),
                       part, i + 1);
  }
}

void wo__check_cause_logic(struct wo_check *check, const struct wo_cause *cause) {
  assert(cause->when != NULL);
  struct rule rule = {.check = check, .place = cause->place, .sort = "cause", .id = cause->id};
  check_when(&rule, cause->when);
  check_clauses(&rule, "not_when", cause->not_when, cause->not_when_count, true);
  check_clauses(&rule, "for", cause->for_, cause->for_count, false);
  check_clauses(&rule, "against", cause->against, cause->against_count, false);
  check_clauses(&rule, "would_tell", cause->would_tell, cause->would_tell_count, false);
  check_contradiction(&rule, cause->when, "not_when", cause->not_when, cause->not_when_count);
}

void wo__check_fix_logic(struct wo_check *check, const struct wo_fix *fix) {
  struct rule rule = {.check = check, .place = fix->place, .sort = "fix", .id = fix->id};
  check_when(&rule, fix->when);
  check_clauses(&rule, "conflicts", fix->conflicts, fix->conflict_count, true);
  check_clauses(&rule, "notes", fix->notes, fix->note_count, false);
  check_clauses(&rule, "commands", fix->commands, fix->command_count, false);
  check_contradiction(&rule, fix->when, "conflicts", fix->conflicts, fix->conflict_count);
}
