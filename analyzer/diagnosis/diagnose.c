/* Evaluates causes. Scoring is the one formula of rules/load/weights.h; everything else is in the rule files. */
#include "analyzer/diagnosis/diagnose.h"

#include <assert.h>

static const double weights[] = {
#define WO_WEIGHT_VALUE(code, name, value) [code] = value,
    WO_WEIGHT_MAP(WO_WEIGHT_VALUE)
#undef WO_WEIGHT_VALUE
};

double wo_weight_value(enum wo_weight weight) {
  return weights[weight];
}

/* Events that one argument can point to. */
#define EVIDENCE_MAX 8

struct evidence {
  const struct wo_diagnosis *diagnosis;
  wo_event_id ids[EVIDENCE_MAX];
  size_t count;
};

/* Values that are unknown, or that come from no line (the number of ranks), point nowhere. */
static void add_value_evidence(struct evidence *evidence, struct wo_value value) {
  if (value.evidence == WO_EVENT_NONE || (!value.is_known && value.truth == WO_UNDECIDED)) return;
  for (size_t i = 0; i < evidence->count; i++) {
    if (evidence->ids[i] == value.evidence) return;
  }
  if (evidence->count < EVIDENCE_MAX) evidence->ids[evidence->count++] = value.evidence;
}

/* The first row that tells stands for the column. */
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

static enum wo_status keep_evidence(const struct evidence *evidence, const wo_event_id **ret_ids, size_t *ret_count) {
  wo_event_id *ids = wo_arena_array(evidence->diagnosis->arena, evidence->count + 1, sizeof *ids);
  if (!ids) return WO_E_NOMEM;
  memcpy(ids, evidence->ids, evidence->count * sizeof *ids);
  *ret_ids = ids;
  *ret_count = evidence->count;
  return WO_OK;
}

enum wo_status wo_diagnose_evidence(const struct wo_diagnosis *diagnosis, const struct wo_expr *expr, const wo_event_id **ret_ids,
                                    size_t *ret_count) {
  struct evidence evidence = {.diagnosis = diagnosis, .count = 0};
  if (expr) wo_expr_each_fact(expr, add_evidence, &evidence);
  return keep_evidence(&evidence, ret_ids, ret_count);
}

/* The evidence of an argument is that of the figures in its text. A text without figures stands on its condition, and there on
 * the failure itself when that is part of it. */
static enum wo_status argument_evidence(const struct wo_diagnosis *diagnosis, const struct wo_clause *clause,
                                        struct wo_argument *argument) {
  struct evidence evidence = {.diagnosis = diagnosis, .count = 0};
  wo_template_each_fact(clause->say, add_evidence, &evidence);
  if (evidence.count > 0) return keep_evidence(&evidence, &argument->evidence, &argument->evidence_count);
  if (clause->when) wo_expr_each_fact(clause->when, add_evidence, &evidence);
  for (size_t i = 0; i < evidence.count; i++) {
    if (evidence.ids[i] != diagnosis->facts->job->story.failure) continue;
    evidence.ids[0] = evidence.ids[i];
    evidence.count = 1;
  }
  return keep_evidence(&evidence, &argument->evidence, &argument->evidence_count);
}

struct wo_view wo_diagnose_place(const struct wo_diagnosis *diagnosis, const struct wo_event *event) {
  const struct wo_job *job = diagnosis->facts->job;
  if (!event || event->span.file >= job->input_count) return (struct wo_view){0};
  const struct wo_view path = job->inputs[event->span.file].path;
  return wo_arena_format(diagnosis->arena, "%.*s:%llu", (int)path.len, path.ptr, (unsigned long long)event->span.line);
}

/* No condition always holds. One that cannot be decided does not: a rule speaks only of what is known. */
static bool holds(const struct wo_diagnosis *diagnosis, const struct wo_expr *when) {
  return !when || wo_expr_truth(when, &diagnosis->source) == WO_TRUE;
}

/* A cause is ruled out by any of its exceptions, whatever its score would be. */
static bool applies(const struct wo_diagnosis *diagnosis, const struct wo_cause *cause) {
  if (cause->off) return false;
  for (size_t i = 0; i < cause->not_when_count; i++) {
    if (holds(diagnosis, cause->not_when[i].when)) return false;
  }
  return holds(diagnosis, cause->when);
}

/* The clauses that hold, as arguments. */
static enum wo_status make_arguments(const struct wo_diagnosis *diagnosis, const struct wo_clause *clauses, size_t count,
                                     const struct wo_argument **ret_arguments, size_t *ret_count) {
  struct wo_argument *arguments = wo_arena_array(diagnosis->arena, count + 1, sizeof *arguments);
  if (!arguments) return WO_E_NOMEM;
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (!holds(diagnosis, clauses[i].when)) continue;
    struct wo_argument *argument = &arguments[kept++];
    argument->weight = weights[clauses[i].weight];
    argument->text = wo_template_render(clauses[i].say, &diagnosis->source, diagnosis->arena, NULL);
    if (argument_evidence(diagnosis, &clauses[i], argument) != WO_OK) return WO_E_NOMEM;
  }
  *ret_arguments = arguments;
  *ret_count = kept;
  return WO_OK;
}

/* Each argument for a cause takes its share of what is missing to 1, so many weak ones never reach certainty; each against takes
 * its share of what is there. The order does not matter but for rounding. */
static double score_of(const struct wo_finding *finding) {
  double score = weights[finding->cause->prior];
  for (size_t i = 0; i < finding->for_count; i++) score += (1 - score) * finding->for_[i].weight;
  for (size_t i = 0; i < finding->against_count; i++) score *= 1 - finding->against[i].weight;
  return score;
}

/* Some causes can never be more than likely from a log alone, however much speaks for them; the rule says so with at_most. */
static enum wo_confidence confidence_of(const struct wo_finding *finding) {
  enum wo_confidence confidence = WO_CONFIDENCE_POSSIBLE;
  if (finding->score >= WO_SCORE_LIKELY) confidence = WO_CONFIDENCE_LIKELY;
  if (finding->score >= WO_SCORE_CERTAIN) confidence = WO_CONFIDENCE_CERTAIN;
  return confidence < finding->cause->at_most ? confidence : finding->cause->at_most;
}

/* Judges one cause by itself: its arguments, score and confidence; the texts are made later, for those that are shown. */
static enum wo_status judge(const struct wo_diagnosis *diagnosis, const struct wo_cause *cause, struct wo_finding *finding) {
  *finding = (struct wo_finding){.cause = cause};
  if (make_arguments(diagnosis, cause->for_, cause->for_count, &finding->for_, &finding->for_count) != WO_OK) return WO_E_NOMEM;
  if (make_arguments(diagnosis, cause->against, cause->against_count, &finding->against, &finding->against_count) != WO_OK) {
    return WO_E_NOMEM;
  }
  finding->score = score_of(finding);
  finding->confidence = confidence_of(finding);
  return WO_OK;
}

/* A note never stands before a failure, whatever their scores: the first finding is the diagnosis. */
static bool is_behind(const struct wo_finding *a, const struct wo_finding *b) {
  if (a->cause->is_failure != b->cause->is_failure) return b->cause->is_failure;
  return a->score < b->score;
}

/* Insertion by rank; equal ones keep the order of the packs. */
static void insert_sorted(struct wo_finding *findings, size_t *count, const struct wo_finding *finding) {
  size_t at = *count;
  while (at > 0 && is_behind(&findings[at - 1], finding)) {
    findings[at] = findings[at - 1];
    at--;
  }
  findings[at] = *finding;
  (*count)++;
}

/* A cause may name others that it makes superfluous: memory of other processes also looks like memory outside PyTorch's pool. */
static bool is_excluded_by(const struct wo_finding *finding, const struct wo_finding *by) {
  for (size_t i = 0; i < by->cause->exclude_count; i++) {
    if (wo_view_equal(by->cause->excludes[i], finding->cause->id)) return true;
  }
  return false;
}

/* Only a cause that is kept and stands higher excludes; among two that exclude each other the stronger is shown. */
static void drop_excluded(struct wo_finding *findings, size_t *count) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    bool is_dropped = false;
    for (size_t k = 0; k < kept && !is_dropped; k++) is_dropped = is_excluded_by(&findings[i], &findings[k]);
    if (!is_dropped) findings[kept++] = findings[i];
  }
  *count = kept;
}

/* Templates are filled once for each cause that is shown, with the fixes. */
static enum wo_status write_texts(const struct wo_diagnosis *diagnosis, struct wo_finding *finding) {
  const struct wo_cause *cause = finding->cause;
  finding->title = wo_template_render(cause->title, &diagnosis->source, diagnosis->arena, NULL);
  finding->summary = wo_template_render(cause->summary, &diagnosis->source, diagnosis->arena, NULL);
  return wo_diagnose_fixes(diagnosis, finding);
}

enum wo_status wo_diagnose(const struct wo_diagnosis *diagnosis, const struct wo_finding **ret_findings, size_t *ret_count) {
  const struct wo_pack *pack = diagnosis->pack;
  struct wo_finding *findings = wo_arena_array(diagnosis->arena, pack->cause_count + 1, sizeof *findings);
  if (!findings) return WO_E_NOMEM;
  size_t count = 0;
  for (size_t i = 0; i < pack->cause_count; i++) {
    struct wo_finding finding;
    if (!applies(diagnosis, &pack->causes[i])) continue;
    const struct wo_cause *cause = wo_pack_cause_at(pack, i);
    if (!cause || judge(diagnosis, cause, &finding) != WO_OK) return WO_E_NOMEM;
    if (finding.score >= WO_SCORE_SHOWN) insert_sorted(findings, &count, &finding);
  }
  drop_excluded(findings, &count);
  for (size_t i = 0; i < count; i++) {
    if (write_texts(diagnosis, &findings[i]) != WO_OK) return WO_E_NOMEM;
    if (wo_diagnose_would_tell(diagnosis, findings, count, i) != WO_OK) return WO_E_NOMEM;
  }
  *ret_findings = findings;
  *ret_count = count;
  return wo_arena_is_exhausted(diagnosis->arena) ? WO_E_NOMEM : WO_OK;
}
