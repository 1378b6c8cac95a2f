/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates causes. Scoring is the one formula of rules/load/weights.h; all else is in the rule files. */
#include "analyzer/diagnosis/diagnose.h"
#include "analyzer/diagnosis/localize.h"

#include <assert.h>

/* Needs that were looked at. Causes need the same few, and the texts of those are the same literals, so places in memory tell
 * them apart; where a literal is there twice, it is looked at twice. */
struct seen_needs {
  struct {
    const char *text;
    bool is_met;
  } slots[256];
};

/* Whether a fact is unknown, or another text, without which the cause cannot apply. */
static bool lacks_need(const struct wo_diagnosis *diagnosis, const struct wo_cause *cause, struct seen_needs *seen) {
  for (size_t i = 0; i < cause->need_count; i++) {
    const struct wo_view need = cause->needs[i];
    const size_t at = (uintptr_t)need.ptr / 8 % (sizeof seen->slots / sizeof seen->slots[0]);
    if (seen->slots[at].text != need.ptr) {
      seen->slots[at].text = need.ptr;
      seen->slots[at].is_met = wo_need_is_met(need, &diagnosis->source);
    }
    if (!seen->slots[at].is_met) return true;
  }
  return false;
}

/* Any exception of a cause excludes it, whatever its score is. */
static bool applies(const struct wo_diagnosis *diagnosis, const struct wo_cause *cause) {
  for (size_t i = 0; i < cause->not_when_count; i++) {
    if (wo_diagnosis_holds(diagnosis, cause->not_when[i].when)) return false;
  }
  return wo_diagnosis_holds(diagnosis, cause->when);
}

/* The clauses that hold, as arguments; returns their number. */
static size_t make_arguments(const struct wo_diagnosis *diagnosis, const struct wo_clause *clauses, size_t count,
                             const struct wo_argument **ret_arguments) {
  struct wo_argument *arguments = wo_arena_array(diagnosis->arena, count + 1, sizeof *arguments);
  size_t kept = 0;
  for (size_t i = 0; arguments && i < count; i++) {
    if (!wo_diagnosis_holds(diagnosis, clauses[i].when)) continue;
    struct wo_argument *argument = &arguments[kept++];
    argument->weight = wo_weight_value(clauses[i].weight);
    argument->text = wo_localize_text(diagnosis, wo_template_render(clauses[i].say, &diagnosis->source, diagnosis->arena, NULL));
    wo_diagnose_argument(diagnosis, &clauses[i], argument);
  }
  *ret_arguments = arguments;
  return kept;
}

/* Each argument for a cause adds its share of the rest to 1, so many weak ones never reach certainty; each argument against
 * removes its share of the score. The order only matters for rounding. */
static double score_of(const struct wo_finding *finding) {
  double score = wo_weight_value(finding->cause->prior);
  for (size_t i = 0; i < finding->for_count; i++) score += (1 - score) * finding->for_[i].weight;
  for (size_t i = 0; i < finding->against_count; i++) score *= 1 - finding->against[i].weight;
  return score;
}

/* Some causes can never be more than likely from a log alone, with any number of arguments; the rule says so with at_most. */
static enum wo_confidence confidence_of(const struct wo_finding *finding) {
  enum wo_confidence confidence = WO_CONFIDENCE_POSSIBLE;
  if (finding->score >= WO_SCORE_LIKELY) confidence = WO_CONFIDENCE_LIKELY;
  if (finding->score >= WO_SCORE_CERTAIN) confidence = WO_CONFIDENCE_CERTAIN;
  return confidence < finding->cause->at_most ? confidence : finding->cause->at_most;
}

/* Judges one cause: its arguments, score and confidence; texts are made later, for shown causes only. */
static struct wo_finding judge(const struct wo_diagnosis *diagnosis, const struct wo_cause *cause) {
  struct wo_finding finding = {.cause = cause};
  finding.for_count = make_arguments(diagnosis, cause->for_, cause->for_count, &finding.for_);
  finding.against_count = make_arguments(diagnosis, cause->against, cause->against_count, &finding.against);
  finding.score = score_of(&finding);
  finding.confidence = confidence_of(&finding);
  return finding;
}

/* A note never comes before a failure, whatever their scores: the first finding is the diagnosis. */
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

/* A cause may exclude others: memory of other processes also looks like memory outside PyTorch's pool. */
static bool is_excluded_by(const struct wo_finding *finding, const struct wo_finding *by) {
  for (size_t i = 0; i < by->cause->exclude_count; i++) {
    if (wo_view_equal(by->cause->excludes[i], finding->cause->id)) return true;
  }
  return false;
}

/* Only a kept, higher cause excludes others; of two that exclude each other the stronger is shown. */
static void drop_excluded(struct wo_finding *findings, size_t *count) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    bool is_dropped = false;
    for (size_t k = 0; k < kept && !is_dropped; k++) is_dropped = is_excluded_by(&findings[i], &findings[k]);
    if (!is_dropped) findings[kept++] = findings[i];
  }
  *count = kept;
}

/* The places of the causes that apply, in the order of the packs. WO_E_NOMEM. */
static enum wo_status find_causes(const struct wo_diagnosis *diagnosis, size_t **ret_places, size_t *ret_count) {
  const struct wo_pack *const pack = diagnosis->pack;
  size_t *const places = wo_arena_array(diagnosis->arena, pack->cause_count + 1, sizeof *places);
  size_t count = 0;
  struct seen_needs seen = {.slots = {{NULL, false}}};
  for (size_t i = 0; places && i < pack->cause_count; i++) {
    if (pack->causes[i].off || lacks_need(diagnosis, &pack->causes[i], &seen)) continue;
    const struct wo_cause *const cause = wo_pack_cause_head(pack, i);
    if (!cause) return WO_E_NOMEM;
    if (applies(diagnosis, cause)) places[count++] = i;
  }
  *ret_places = places;
  *ret_count = count;
  return places ? WO_OK : WO_E_NOMEM;
}

static struct wo_view render(const struct wo_diagnosis *diagnosis, const struct wo_template *text, bool *has_unknown) {
  return wo_localize_text(diagnosis, wo_template_render(text, &diagnosis->source, diagnosis->arena, has_unknown));
}

/* A row that would have a question mark in it is left out. */
static void make_rows(const struct wo_diagnosis *diagnosis, struct wo_finding *finding) {
  const struct wo_cause *const cause = finding->cause;
  struct wo_finding_row *const rows = wo_arena_array(diagnosis->arena, cause->show_count + 1, sizeof *rows);
  for (size_t i = 0; rows && i < cause->show_count; i++) {
    if (!wo_diagnosis_holds(diagnosis, cause->show[i].when)) continue;
    bool has_unknown = false;
    const struct wo_view text = render(diagnosis, cause->show[i].say, &has_unknown);
    if (!has_unknown) rows[finding->row_count++] = (struct wo_finding_row){cause->show[i].label, text};
  }
  finding->rows = rows;
}

static void make_texts(const struct wo_diagnosis *diagnosis, struct wo_finding *finding) {
  const struct wo_cause *const cause = finding->cause;
  finding->title = render(diagnosis, cause->title, NULL);
  finding->summary = render(diagnosis, cause->summary, NULL);
  if (diagnosis->is_brief) return;
  bool has_unknown = false;
  const struct wo_view headline = render(diagnosis, cause->headline, &has_unknown);
  if (!has_unknown) finding->headline = headline;
  make_rows(diagnosis, finding);
}

enum wo_status wo_diagnose(const struct wo_diagnosis *diagnosis, const struct wo_finding **ret_findings, size_t *ret_count) {
  size_t *places = NULL;
  size_t place_count = 0, count = 0;
  if (find_causes(diagnosis, &places, &place_count) != WO_OK) return WO_E_NOMEM;
  struct wo_finding *findings = wo_arena_array(diagnosis->arena, place_count + 1, sizeof *findings);
  if (!findings) return WO_E_NOMEM;
  for (size_t i = 0; i < place_count; i++) {
    const struct wo_cause *const cause = wo_pack_cause_at(diagnosis->pack, places[i]);
    if (!cause) return WO_E_NOMEM;
    const struct wo_finding finding = judge(diagnosis, cause);
    if (finding.score >= WO_SCORE_SHOWN) insert_sorted(findings, &count, &finding);
  }
  drop_excluded(findings, &count);
  for (size_t i = 0; i < count; i++) { /* texts are made once for each cause that is shown */
    make_texts(diagnosis, &findings[i]);
    wo_diagnose_fixes(diagnosis, &findings[i]);
    if (!diagnosis->is_brief) wo_diagnose_would_tell(diagnosis, findings, count, i);
  }
  *ret_findings = findings;
  *ret_count = count;
  return wo_arena_is_exhausted(diagnosis->arena) ? WO_E_NOMEM : WO_OK;
}
