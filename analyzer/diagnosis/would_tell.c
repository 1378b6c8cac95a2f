/* SPDX-License-Identifier: Apache-2.0 */
/* Lists information that would decide a finding: hints of its rule, questions that separate it from another finding, and
 * comparisons that rounded figures leave open. */
#include "analyzer/diagnosis/diagnose.h"
#include "analyzer/diagnosis/localize.h"

/* Limit of comparisons for one finding. Exact figures would decide them all at once, so a few are enough. */
#define OPEN_MAX 3

/* The lines of one finding, and the comparisons that are listed already. */
struct tells {
  struct wo_view *lines;
  size_t count;
  struct wo_view told[OPEN_MAX];
  size_t told_count;
};

static bool is_told(const struct tells *tells, struct wo_view source) {
  for (size_t i = 0; i < tells->told_count; i++) {
    if (wo_view_equal(tells->told[i], source)) return true;
  }
  return false;
}

/* Adds a line for a comparison that only more exact figures can decide. `of` names another cause, or is empty. */
static void add_open(const struct wo_diagnosis *diagnosis, const struct wo_expr *when, struct wo_view of, struct tells *tells) {
  struct wo_overlap overlap;
  if (!when || tells->told_count == OPEN_MAX || !wo_expr_overlap(when, &diagnosis->source, &overlap)) return;
  if (is_told(tells, overlap.source)) return;
  tells->told[tells->told_count++] = overlap.source;
  const struct wo_view left = wo_value_show(diagnosis->arena, overlap.left);
  const struct wo_view right = wo_value_show(diagnosis->arena, overlap.right);
  tells->lines[tells->count++] =
      wo_arena_format(diagnosis->arena, "exact figures: %s%.*s%s%.*s cannot be decided from rounded ones, %.*s against %.*s",
                      of.len > 0 ? "whether it is " : "", WO_SHOWN(of), of.len > 0 ? " as well, " : "", WO_SHOWN(overlap.source),
                      WO_SHOWN(left), WO_SHOWN(right));
}

static void add_open_clauses(const struct wo_diagnosis *diagnosis, const struct wo_clause *clauses, size_t count,
                             struct tells *tells) {
  for (size_t i = 0; i < count; i++) add_open(diagnosis, clauses[i].when, (struct wo_view){0}, tells);
}

static bool is_found(const struct wo_finding *findings, size_t count, struct wo_view cause) {
  for (size_t i = 0; i < count; i++) {
    if (wo_view_equal(findings[i].cause->id, cause)) return true;
  }
  return false;
}

/* A question between two causes is only asked if both are found. */
static void add_rule_lines(const struct wo_diagnosis *diagnosis, const struct wo_finding *findings, size_t count,
                           const struct wo_cause *cause, struct tells *tells) {
  for (size_t i = 0; i < cause->would_tell_count; i++) {
    const struct wo_clause *clause = &cause->would_tell[i];
    if (clause->when && wo_expr_truth(clause->when, &diagnosis->source) != WO_TRUE) continue;
    if (clause->between.len > 0 && !is_found(findings, count, clause->between)) continue;
    const struct wo_view line = wo_template_render(clause->say, &diagnosis->source, diagnosis->arena, NULL);
    tells->lines[tells->count++] = wo_localize_text(diagnosis, line);
  }
}

/* Causes that do not hold only because of rounding are listed with the first finding: they would have to beat that one. */
static void add_near_misses(const struct wo_diagnosis *diagnosis, struct tells *tells) {
  const struct wo_pack *pack = diagnosis->pack;
  for (size_t i = 0; i < pack->cause_count; i++) {
    const struct wo_cause *cause = &pack->causes[i];
    bool is_out = cause->off != NULL;
    for (size_t k = 0; k < cause->not_when_count && !is_out; k++) {
      is_out = wo_expr_truth(cause->not_when[k].when, &diagnosis->source) == WO_TRUE;
    }
    if (!is_out) add_open(diagnosis, cause->when, cause->id, tells);
  }
}

void wo_diagnose_would_tell(const struct wo_diagnosis *diagnosis, struct wo_finding *findings, size_t count, size_t index) {
  struct wo_finding *finding = &findings[index];
  const struct wo_cause *cause = finding->cause;
  struct tells tells = {.lines = wo_arena_array(diagnosis->arena, cause->would_tell_count + OPEN_MAX, sizeof *tells.lines)};
  if (!tells.lines) return;
  add_rule_lines(diagnosis, findings, count, cause, &tells);
  add_open_clauses(diagnosis, cause->for_, cause->for_count, &tells);
  add_open_clauses(diagnosis, cause->against, cause->against_count, &tells);
  add_open_clauses(diagnosis, cause->not_when, cause->not_when_count, &tells);
  if (index == 0) add_near_misses(diagnosis, &tells);
  finding->would_tell = tells.lines;
  finding->would_tell_count = tells.count;
}
