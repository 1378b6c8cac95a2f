/* SPDX-License-Identifier: Apache-2.0 */
/* What the figures rule out, and the commands to go on with. */
#include "analyzer/report/report_words.h"
#include "analyzer/screen/screen_internal.h"

/* ---- Not it ---- */

static bool is_false(const struct wo__screen_maker *m, const char *fact) {
  const struct wo_value value = wo__screen_fact(m, fact);
  return value.is_known && value.truth == WO_FALSE;
}

/* Each is said only where a figure of the log refutes it: idle memory that would not have served the request, a series of
 * prints or samples without a rise, others that hold next to nothing. */
static void make_not_it(struct wo__screen_maker *m) {
  const struct wo_value others = wo__screen_fact(m, "part.other_processes"), total = wo__screen_fact(m, "part.total");
  const struct wo_value printed = wo__screen_fact(m, "steps.late_rise"), sampled = wo__screen_fact(m, "dmon.fb_late_rise");
  struct wo_text *const text = wo__screen_start(m);
  if (is_false(m, "part.idle.would_serve")) wo_text_add(text, "memory in pieces");
  const bool is_flat =
      (printed.is_known && printed.number.hi <= 0) || (!printed.is_known && sampled.is_known && sampled.number.hi <= 0);
  if (is_flat) wo_text_add(text, "%sslow growth", text->len > 0 ? ", " : "");
  const bool is_alone = others.is_known && total.is_known && others.number.hi <= 0.02 * total.number.lo;
  if (is_alone && wo__screen_fact(m, "oom.process").is_known) wo_text_add(text, "%sother processes", text->len > 0 ? ", " : "");
  m->screen->not_it = wo__screen_keep(m);
}

/* ---- Other findings ---- */

/* "the logits over the vocabulary do not fit (likely); max_split_size_mb and ... (certain)": two of them; the report has all. */
static void make_also(struct wo__screen_maker *m) {
  const struct wo_report *const report = m->report;
  struct wo_text *const text = wo__screen_start(m);
  for (size_t i = wo_report_tells_failure(report) ? 1 : 0, shown = 0; i < report->finding_count && shown < 2; i++, shown++) {
    const struct wo_finding *const finding = &report->findings[i];
    const struct wo_view name = finding->headline.len > 0 ? finding->headline : wo__screen_lower(m, finding->title);
    wo_text_add(text, "%s%.*s (%s)", shown > 0 ? "; " : "", WO_SHOWN(name), wo_report_confidence_name(finding->confidence));
  }
  m->screen->also = wo__screen_keep(m);
}

/* ---- Commands ---- */

static void add_next(struct wo__screen_maker *m, const char *label, struct wo_view command, const char *words) {
  if (m->screen->next_count == WO_SCREEN_NEXT_MAX || (command.len == 0 && words == NULL)) return;
  m->screen->next[m->screen->next_count++] = (struct wo_screen_next){wo_view_of(label), command, wo_view_of(words)};
}

static struct wo_view command_of(struct wo__screen_maker *m, const char *start, const char *end) {
  if (m->words.len == 0) return (struct wo_view){0};
  return wo_arena_format(m->arena, "whyoom %s%.*s%s", start, WO_SHOWN(m->words), end);
}

/* Whether a replay can make one of the fixes. */
static bool can_replay(const struct wo_finding *finding) {
  for (size_t i = 0; i < finding->fix_count; i++) {
    if (finding->fixes[i].replay.count > 0) return true;
  }
  return false;
}

/* A proof comes before the next wait in the queue; without a recording it says what it would take. */
void wo__screen_next(struct wo__screen_maker *m) {
  const bool is_gpu = m->story->outcome == WO_OUTCOME_GPU_OOM && wo_report_tells_failure(m->report);
  if (is_gpu) make_not_it(m);
  make_also(m);
  const struct wo_finding_fix *const first = m->report->first_change;
  const bool is_proven = first != NULL && first->proof != NULL && first->proof->fits;
  const bool has_files = m->words.len > 0;
  if (is_gpu && is_proven && has_files) {
    add_next(m, "as a patch", command_of(m, "verify ", " --patch > fix.diff"),
             "whyoom verify, the same files, --patch > fix.diff");
  } else if (is_gpu && has_files && can_replay(&m->report->findings[0])) {
    add_next(m, "check it first", command_of(m, "verify ", ""), "whyoom verify and the same files");
  }
  if (m->screen->first.number > 0) add_next(m, "then submit", m->report->resubmit, NULL);
  add_next(m, "everything", command_of(m, "-v ", ""), has_files ? "whyoom -v and the same files" : "the same command with -v");
}
