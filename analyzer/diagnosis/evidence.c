/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence of a rule's texts and conditions: the lines from which their facts were read. */
#include <string.h>

#include "analyzer/diagnosis/diagnose.h"

/* Limit of events for one argument. */
#define EVIDENCE_MAX 8

struct evidence {
  const struct wo_diagnosis *diagnosis;
  wo_event_id ids[EVIDENCE_MAX];
  size_t count;
};

/* Unknown values, and values that come from no line (the number of ranks), have no evidence. */
static void add_value_evidence(struct evidence *evidence, struct wo_value value) {
  if (value.evidence == WO_EVENT_NONE || (!value.is_known && value.truth == WO_UNDECIDED)) return;
  for (size_t i = 0; i < evidence->count; i++) {
    if (evidence->ids[i] == value.evidence) return;
  }
  if (evidence->count < EVIDENCE_MAX) evidence->ids[evidence->count++] = value.evidence;
}

/* The first row with a value represents the column. */
static void add_row_evidence(struct evidence *evidence, struct wo_view name) {
  const struct wo_facts *facts = evidence->diagnosis->facts;
  const size_t rows = wo_rows_of(name) == WO_ROWS_RANK ? facts->rank_rows.count : facts->card_rows.count;
  for (size_t i = 0; i < rows; i++) {
    const struct wo_value value = wo_facts_get_row(facts, i, name);
    if (value.is_known) {
      add_value_evidence(evidence, value);
      return;
    }
  }
}

/* Called for each fact that a text or condition names. */
static void add_evidence(void *context, struct wo_view name) {
  struct evidence *evidence = context;
  if (wo_rows_of(name) != WO_ROWS_NONE) {
    add_row_evidence(evidence, name);
    return;
  }
  add_value_evidence(evidence, wo_facts_get(evidence->diagnosis->facts, name));
}

static size_t keep_evidence(const struct evidence *evidence, const wo_event_id **ret_ids) {
  wo_event_id *ids = wo_arena_array(evidence->diagnosis->arena, evidence->count + 1, sizeof *ids);
  if (ids) memcpy(ids, evidence->ids, evidence->count * sizeof *ids);
  *ret_ids = ids;
  return ids ? evidence->count : 0;
}

size_t wo_diagnose_evidence(const struct wo_diagnosis *diagnosis, const struct wo_expr *expr, const wo_event_id **ret_ids) {
  struct evidence evidence = {.diagnosis = diagnosis, .count = 0};
  if (expr) wo_expr_each_fact(expr, add_evidence, &evidence);
  return keep_evidence(&evidence, ret_ids);
}

void wo_diagnose_argument(const struct wo_diagnosis *diagnosis, const struct wo_clause *clause, struct wo_argument *argument) {
  struct evidence evidence = {.diagnosis = diagnosis, .count = 0};
  wo_template_each_fact(clause->say, add_evidence, &evidence);
  const bool has_figures = evidence.count > 0;
  if (clause->when && !has_figures) wo_expr_each_fact(clause->when, add_evidence, &evidence);
  for (size_t i = 0; i < evidence.count && !has_figures; i++) {
    if (evidence.ids[i] != diagnosis->facts->job->story.failure) continue;
    evidence.ids[0] = evidence.ids[i];
    evidence.count = 1;
  }
  argument->evidence_count = keep_evidence(&evidence, &argument->evidence);
}

struct wo_view wo_diagnose_place(const struct wo_diagnosis *diagnosis, const struct wo_event *event) {
  const struct wo_job *job = diagnosis->facts->job;
  if (!event || event->span.file >= job->input_count) return (struct wo_view){0};
  const struct wo_view path = job->inputs[event->span.file].path;
  return wo_arena_format(diagnosis->arena, "%.*s:%llu", WO_SHOWN(path), (unsigned long long)event->span.line);
}
