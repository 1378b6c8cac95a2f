/* SPDX-License-Identifier: Apache-2.0 */
/* The first lines: which job, how it ended, and the cause in a few words. */
#include "analyzer/screen/screen.h"

#include <assert.h>

#include "analyzer/files/names.h"
#include "analyzer/report/report_words.h"
#include "analyzer/screen/screen_internal.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"

/* ---- Which job ---- */

/* "job 4711_3", else the name of its first log. */
static void add_name(const struct wo__screen_maker *m, struct wo_text *text) {
  const struct wo_job *const job = m->report->job;
  if (m->story->job_id.len > 0) {
    wo_text_add(text, "job %.*s", WO_SHOWN(m->story->job_id));
    if (m->story->array_task >= 0) wo_text_add(text, ", task %lld", (long long)m->story->array_task);
    return;
  }
  if (job->input_count == 0) {
    wo_text_add(text, "no input");
  } else if (wo_view_is(job->inputs[0].path, "<stdin>")) {
    wo_text_add(text, "standard input");
  } else {
    const uint32_t file = m->where != NULL && m->where->span.file < job->input_count ? m->where->span.file : 0;
    wo_text_add_clean(text, wo_name_base(job->inputs[file].path));
  }
  if (job->input_count > 1) wo_text_add(text, " and %zu more", job->input_count - 1);
}

/* " on gpu11", " on 4 nodes". */
static void add_nodes(const struct wo__screen_maker *m, struct wo_text *text) {
  if (m->story->node_count == 1) wo_text_add(text, " on %.*s", WO_SHOWN(m->story->nodes[0]));
  if (m->story->node_count > 1) wo_text_add(text, " on %zu nodes", m->story->node_count);
}

/* ", 8 ranks" or ", GPU 0 (23.64 GiB)". */
static void add_cards(const struct wo__screen_maker *m, struct wo_text *text) {
  const struct wo_value gpu = wo__screen_fact(m, "oom.gpu"), capacity = wo__screen_fact(m, "gpu.capacity");
  if (m->story->rank_count > 1) {
    wo_text_add(text, ", %lld ranks", (long long)m->story->rank_count);
  } else if (capacity.is_known && m->story->outcome == WO_OUTCOME_GPU_OOM) {
    wo_text_add(text, ", GPU");
    if (gpu.is_known) wo_text_add(text, " %.0f", gpu.number.mid);
    wo_text_add(text, " (%s)", WO_BYTES_TEXT(capacity.number.mid));
  }
}

/* "died", "was cancelled": what became of the job; the verdict names the reason. */
static const char *end_of(const struct wo_story *story, bool has_failure) {
  switch (story->outcome) {
  case WO_OUTCOME_SUCCESS:
    return story->is_good_end_shown ? "ended well" : "shows no failure";
  case WO_OUTCOME_UNKNOWN:
    return has_failure ? "seems to have failed" : "its end is not shown";
  case WO_OUTCOME_TIME_LIMIT:
    return "was stopped";
  case WO_OUTCOME_CANCELLED:
    return "was cancelled";
  case WO_OUTCOME_PREEMPTED:
    return "was preempted";
  default:
    return "died";
  }
}

/* " at step 4120 of 5000": the last step that the log shows before the failure, in the words of the program. */
static void add_step(const struct wo__screen_maker *m, struct wo_text *text) {
  const struct wo_story *const story = m->story;
  if (story->step < 0 || story->outcome == WO_OUTCOME_SUCCESS || !wo_program_has_steps(&m->report->facts.program)) return;
  wo_text_add(text, " at %.*s %lld", WO_SHOWN(story->step_unit.len > 0 ? story->step_unit : WO_VIEW("step")),
              (long long)story->step);
  if (story->step_total >= 0) wo_text_add(text, " of %lld", (long long)story->step_total);
}

static void add_phase(const struct wo__screen_maker *m, struct wo_text *text) {
  static const char *const passes[] = {"forward", "backward", "decode"};
  const struct wo_view phase = m->story->phase;
  if (phase.len == 0 || m->screen->tone != WO_SCREEN_FAILURE) return;
  wo_text_add(text, ", %.*s%s", WO_SHOWN(phase), WO_VIEW_ANY(phase, wo_view_is, passes) ? " pass" : "");
}

static void make_job(struct wo__screen_maker *m) {
  struct wo_text *const text = wo__screen_start(m);
  add_name(m, text);
  add_nodes(m, text);
  add_cards(m, text);
  wo_text_add(text, ": ");
  const struct wo_event *const failure = wo_event_get(m->events, m->story->failure);
  if (failure != NULL && failure->rank != WO_RANK_UNKNOWN && m->story->rank_count > 1)
    wo_text_add(text, "rank %d ", (int)failure->rank);
  wo_text_add(text, "%s", end_of(m->story, m->screen->tone == WO_SCREEN_FAILURE));
  add_step(m, text);
  add_phase(m, text);
  m->screen->job = wo__screen_keep(m);
}

/* ---- The verdict ---- */

/* In the order of enum wo_outcome. */
static const char *const verdicts[WO_OUTCOME_COUNT_] = {
    [WO_OUTCOME_UNKNOWN] = "FAILED",
    [WO_OUTCOME_SUCCESS] = "OK",
    [WO_OUTCOME_GPU_OOM] = "OUT OF GPU MEMORY",
    [WO_OUTCOME_HOST_OOM] = "OUT OF MAIN MEMORY",
    [WO_OUTCOME_TIME_LIMIT] = "TIME LIMIT",
    [WO_OUTCOME_CANCELLED] = "CANCELLED",
    [WO_OUTCOME_PREEMPTED] = "PREEMPTED",
    [WO_OUTCOME_NODE_FAIL] = "NODE FAILURE",
    [WO_OUTCOME_PROGRAM_ERROR] = "PROGRAM ERROR",
    [WO_OUTCOME_NCCL] = "COMMUNICATION FAILED",
    [WO_OUTCOME_SEGFAULT] = "CRASHED",
    [WO_OUTCOME_DISK] = "DISK FULL",
    [WO_OUTCOME_HARDWARE] = "HARDWARE FAULT",
    [WO_OUTCOME_OTHER] = "FAILED",
};

static bool has_readable(const struct wo_job *job) {
  for (size_t i = 0; i < job->input_count; i++) {
    if (!job->inputs[i].is_unreadable || job->inputs[i].bytes > 0) return true;
  }
  return false;
}

/* No finding is a failure: the job went well, failed in a way that no rule knows, or shows no end. "OK" is said of a good end
 * only. */
static void make_other_verdict(struct wo__screen_maker *m) {
  const enum wo_outcome outcome = m->story->outcome;
  uint64_t lines = 0;
  for (size_t i = 0; i < m->report->job->input_count; i++) lines += m->report->job->inputs[i].lines;
  if (outcome == WO_OUTCOME_SUCCESS) {
    m->screen->verdict = WO_VIEW("OK");
    m->screen->cause =
        wo_arena_format(m->arena, "no failure found in %llu line%s", (unsigned long long)lines, lines == 1 ? "" : "s");
  } else if (outcome != WO_OUTCOME_UNKNOWN) {
    m->screen->verdict = wo_view_of(verdicts[outcome]);
    m->screen->cause = wo_arena_format(m->arena, "%s; no rule knows more about it", wo_outcome_text(outcome));
  } else if (has_readable(m->report->job)) {
    m->screen->verdict = WO_VIEW("NO FAILURE FOUND");
    m->screen->cause = wo_arena_format(m->arena, "in %llu line%s; the log does not show how it ended", (unsigned long long)lines,
                                       lines == 1 ? "" : "s");
  } else {
    m->screen->verdict = WO_VIEW("NOTHING READ");
    m->screen->cause = WO_VIEW("no input could be read");
  }
}

/* The cause of the first finding. Words of the log behind the title's own are left to the quote of the log. */
static struct wo_view cause_of(struct wo__screen_maker *m, const struct wo_finding *finding) {
  if (finding->headline.len > 0) return finding->headline;
  const struct wo_value end = wo__screen_fact(m, "job.end_text");
  struct wo_view title = finding->title;
  const size_t at = end.is_known && end.text.len > 0 ? wo_view_find(title, end.text, 0) : WO_NOT_FOUND;
  if (at != WO_NOT_FOUND && at > 2 && at + end.text.len == title.len && title.ptr[at - 2] == ':')
    title = wo_view_sub(title, 0, at - 2);
  return wo__screen_lower(m, title);
}

/* A job that ended well with a failure in it survived that. */
static void make_verdict(struct wo__screen_maker *m) {
  const struct wo_report *const report = m->report;
  const struct wo_finding *const finding = report->finding_count > 0 ? &report->findings[0] : NULL;
  const bool is_failed = m->story->outcome != WO_OUTCOME_SUCCESS && m->story->outcome != WO_OUTCOME_UNKNOWN;
  if (!wo_report_tells_failure(report)) {
    m->screen->tone = is_failed ? WO_SCREEN_FAILURE : m->story->outcome == WO_OUTCOME_SUCCESS ? WO_SCREEN_GOOD : WO_SCREEN_NOTE;
    make_other_verdict(m);
    return;
  }
  m->screen->tone = m->story->outcome == WO_OUTCOME_SUCCESS ? WO_SCREEN_NOTE : WO_SCREEN_FAILURE;
  m->screen->verdict = wo_view_of(verdicts[m->story->outcome]);
  m->screen->cause = cause_of(m, finding);
  m->screen->confidence = wo_view_of(wo_report_confidence_name(finding->confidence));
}

/* ---- Inputs that were not read as usual ---- */

static void make_notes(struct wo__screen_maker *m) {
  const struct wo_job *const job = m->report->job;
  struct wo_text *const text = wo__screen_start(m);
  size_t count = 0;
  if (job->left_out_count > 0) wo_text_add(text, "%zu files were not read", job->left_out_count);
  for (size_t i = 0; i < job->input_count; i++) {
    const struct wo_job_input *const input = &job->inputs[i];
    if (input->note_count == 0 || input->is_recording || count++ > 0) continue;
    wo_text_add(text, text->len > 0 ? "; " : "");
    wo_text_add_clean(text, wo_name_base(input->path));
    wo_text_add(text, ": %.*s", WO_SHOWN(input->notes[0]));
  }
  if (count > 1) wo_text_add(text, "; %zu more note%s on inputs", count - 1, count == 2 ? "" : "s");
  m->screen->notes = wo__screen_keep(m);
}

enum wo_status wo_screen_make(const struct wo_report *report, struct wo_view words, struct wo_arena *arena,
                              struct wo_screen *ret_screen) {
  assert(report != NULL && report->job != NULL && arena != NULL && ret_screen != NULL);
  *ret_screen = (struct wo_screen){0};
  struct wo__screen_maker m = {.report = report,
                               .story = &report->job->story,
                               .events = &report->job->events,
                               .where = wo_report_where(report),
                               .words = words,
                               .arena = arena,
                               .screen = ret_screen};
  make_verdict(&m);
  make_job(&m);
  wo__screen_rows(&m);
  wo__screen_fixes(&m);
  make_notes(&m);
  wo__screen_next(&m);
  const bool is_failed = m.scratch.is_failed || wo_arena_is_exhausted(arena);
  wo_text_done(&m.scratch);
  return is_failed ? WO_E_NOMEM : WO_OK;
}
