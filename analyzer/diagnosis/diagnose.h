/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnosis: rules over facts -> ranked findings with their arguments and fixes. The last step before the report. */
#ifndef WO_DIAGNOSE_H
#define WO_DIAGNOSE_H

#include "analyzer/diagnosis/finding.h"
#include "analyzer/facts/facts.h"

/* The data that all parts of the diagnosis use. */
struct wo_diagnosis {
  const struct wo_facts *facts;
  const struct wo_pack *pack;
  struct wo_facts_source source;
  struct wo_arena *arena; /* of the report */
  bool is_brief;          /* what would decide between causes is not asked */
};

/* The value of a fact. */
static inline struct wo_value wo_diagnosis_fact(const struct wo_diagnosis *diagnosis, const char *name) {
  return wo_facts_get(diagnosis->facts, wo_view_of(name));
}

/* Whether a condition of a rule holds. No condition (NULL) always holds; an undecided one does not, because a rule applies only
 * to known facts. */
static inline bool wo_diagnosis_holds(const struct wo_diagnosis *diagnosis, const struct wo_expr *when) {
  return !when || wo_expr_truth(when, &diagnosis->source) == WO_TRUE;
}

/* Evaluates all causes: findings best first, without excluded and too weak ones. WO_E_NOMEM.
 *
 * The functions below make parts of that. If memory runs out, the arena is exhausted, which is looked at once at the end. */
enum wo_status wo_diagnose(const struct wo_diagnosis *diagnosis, const struct wo_finding **ret_findings, size_t *ret_count);

/* Makes the fixes of one finding: those that apply, in order, and the reasons against the others. */
void wo_diagnose_fixes(const struct wo_diagnosis *diagnosis, struct wo_finding *finding);

/* How much memory was missing when the failure came (analyzer/diagnosis/suffice.c): the request less free and idle memory, or
 * more if the model's states alone exceed the card. Unknown without the figures. The formula lives in the report's arena. */
struct wo_shortage wo_shortage_find(const struct wo_diagnosis *diagnosis);

/* Computes how much a fix saves and whether that is enough alone: has_saves, saves_bytes (at most what the card can hold),
 * saves_formula, suffices, shortage_bytes and needs of *out. Returns false when the formulas show that it saves nothing at all:
 * then it is no fix. If memory runs out, the arena is exhausted. */
bool wo_suffice_judge(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, const struct wo_shortage *shortage,
                      struct wo_finding_fix *out);

/* Memory that stays free at the refused request with the fix: the saving less the shortage, in bytes, at least 0. Returns false,
 * with *room undefined, if that is unknown, if the fix is not enough, or if a rule and not the two intervals says that it is
 * enough. */
bool wo_suffice_headroom(const struct wo_finding_fix *fix, struct wo_interval *room);

/* Orders fixes: enough alone, maybe, unknown, not enough, no cure; then by cost, except where it is unknown whether they are
 * enough; equal ones keep their order. */
void wo_suffice_order(struct wo_finding_fix *fixes, size_t count);

/* "yes", "maybe", "no" or "unknown". */
const char *wo_suffices_name(enum wo_suffices suffices);

/* Fills would_tell of findings[index], one of `count` that are shown, best first (analyzer/diagnosis/would_tell.c). */
void wo_diagnose_would_tell(const struct wo_diagnosis *diagnosis, struct wo_finding *findings, size_t count, size_t index);

/* "true", "false" or "undecided". */
const char *wo_truth_name(enum wo_truth truth);

/* A value with its interval and unit: "1.055 to 1.065 GiB", "true", "unknown". Lives in the arena; ptr is NULL without memory. */
struct wo_view wo_value_show(struct wo_arena *arena, struct wo_value value);

/* The evidence of an expression: the events from which its known facts were read, each once. Returns their number. */
size_t wo_diagnose_evidence(const struct wo_diagnosis *diagnosis, const struct wo_expr *expr, const wo_event_id **ret_ids);

/* Fills the evidence of an argument: that of the figures in its text. If the text has none, that of its condition; the failure
 * alone if that is part of it. */
void wo_diagnose_argument(const struct wo_diagnosis *diagnosis, const struct wo_clause *clause, struct wo_argument *argument);

/* "file:line" of an event, for texts. */
struct wo_view wo_diagnose_place(const struct wo_diagnosis *diagnosis, const struct wo_event *event);

#endif
