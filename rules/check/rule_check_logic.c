/* SPDX-License-Identifier: Apache-2.0 */
/* The lint of conditions: rules that can never be found, and clauses that say nothing.
 *
 * It only reports mistakes that do not depend on the facts: constants, and conditions that contradict each other as they are
 * written. An unlikely rule is no mistake. */
#include "rules/check/rule_check_internal.h"
#include "rules/language/event_fact.h"

/* The kinds of memory failures in a condition. */
struct kinds {
  const struct wo_lint_rule *rule;
  size_t named;
  size_t yielded; /* of them, those that a pattern yields */
};

/* ---- kinds ------------------------------------------------------------------------------------------------------------ */

static bool is_yielded(const struct wo_pack *pack, enum wo_kind kind) {
  for (size_t i = 0; i < pack->pattern_count; i++) {
    if (pack->patterns[i].kind == kind) return true;
  }
  return false;
}

static void complain_unknown_kind(const struct wo_lint_rule *rule, struct wo_view name) {
  struct wo_nearest nearest = {.want = name};
  wo_event_kinds_offer(&nearest);
  char hint[WO_NEAREST_BYTES];
  wo__lint_complain(rule, WO_E_UNKNOWN, "there is no kind '%.*s'%s", WO_SHOWN(name),
                    wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}

/* Counts the kinds of memory failures. Kinds that describe a job come from readers of whole files and not from patterns, so they
 * are not counted. */
static void check_kind(void *context, struct wo_view name) {
  struct kinds *const kinds = context;
  const enum wo_kind kind = wo_kind_find(name);
  if (kind == WO_KIND_UNKNOWN) {
    complain_unknown_kind(kinds->rule, name);
    return;
  }
  const enum wo_class class = wo_kind_class(kind);
  const bool is_memory = class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
  kinds->named += is_memory;
  kinds->yielded += is_memory && is_yielded(kinds->rule->lint->pack, kind);
}

/* ---- conditions ------------------------------------------------------------------------------------------------------- */

/* Clauses of one part of a rule. */
struct part {
  const char *name;
  const struct wo_clause *clauses;
  size_t count;
  bool is_silencing; /* a clause that holds keeps the rule from being found */
};

/* Complains about clauses of a part that never say anything. One that always does is fine in arguments; as an exception or a
 * conflict it silences the rule for good, and so does one that the condition itself asks for. */
static void check_part(const struct wo_lint_rule *rule, const struct wo_expr *when, const struct part *part) {
  for (size_t i = 0; i < part->count; i++) {
    const struct wo_expr *const condition = part->clauses[i].when;
    if (condition == NULL) continue;
    const struct wo_lint_rule at = wo__lint_at(rule, part->name, i + 1);
    wo_expr_each_kind(condition, check_kind, &(struct kinds){.rule = &at});
    const enum wo_truth truth = wo_expr_constant(condition);
    if (truth == WO_FALSE) wo__lint_complain(&at, WO_E_SYNTAX, "'%s' %zu never holds", part->name, i + 1);
    if (!part->is_silencing || truth == WO_FALSE) continue;
    if (truth == WO_TRUE) {
      wo__lint_complain(&at, WO_E_SYNTAX, "'%s' %zu always holds, so the rule never does", part->name, i + 1);
    } else if (when != NULL && wo_expr_implies(when, condition)) {
      wo__lint_complain(&at, WO_E_SYNTAX, "'%s' %zu holds whenever 'when' does, so the rule never does", part->name, i + 1);
    }
  }
}

/* A reader can make one kind out of another (PyTorch's message names the maker of the card), so one kind that is yielded is
 * enough. A pack without patterns, as a test or a folder of fixes has it, is not asked, nor one that lacks mistaken ones. */
static void check_when(const struct wo_lint_rule *rule, const struct wo_expr *when) {
  if (when == NULL) return;
  const struct wo_lint_rule at = wo__lint_at(rule, "when", 0);
  struct kinds kinds = {.rule = &at};
  wo_expr_each_kind(when, check_kind, &kinds);
  if (kinds.named > 0 && kinds.yielded == 0 && rule->lint->pack->own_pattern_count > 0 && rule->lint->pack->mistake_count == 0)
    wo__lint_complain(&at, WO_E_UNKNOWN, "no pattern yields any of the kinds in 'when'");
  if (wo_expr_constant(when) == WO_FALSE) wo__lint_complain(&at, WO_E_SYNTAX, "'when' never holds");
}

void wo__lint_cause_logic(const struct wo_lint_rule *rule, const struct wo_cause *cause) {
  const struct part parts[] = {{"not_when", cause->not_when, cause->not_when_count, true},
                               {"for", cause->for_, cause->for_count, false},
                               {"against", cause->against, cause->against_count, false},
                               {"would_tell", cause->would_tell, cause->would_tell_count, false}};
  check_when(rule, cause->when);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) check_part(rule, cause->when, &parts[i]);
}

void wo__lint_fix_logic(const struct wo_lint_rule *rule, const struct wo_fix *fix) {
  const struct part parts[] = {{"conflicts", fix->conflicts, fix->conflict_count, true},
                               {"notes", fix->notes, fix->note_count, false},
                               {"commands", fix->commands, fix->command_count, false}};
  check_when(rule, fix->when);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) check_part(rule, fix->when, &parts[i]);
}
