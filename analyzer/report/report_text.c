/* SPDX-License-Identifier: Apache-2.0 */
/* The report as text for people, like a compiler's diagnostics: the failure, its place, the change to make.
 *
 * In: struct wo_report. Out: lines. The order is that of a reader in a hurry: job, diagnosis with its place, numbers, reasons,
 * fixes, then everything else. No decisions are made here and no number is computed that the report does not hold. */
#include "analyzer/report/report_text_internal.h"
#include "analyzer/report/report_words.h"

#include <assert.h>

#include "parsers/base/units.h"

enum {
  WIDTH_MIN = 40,    /* narrower pages are laid out with this width */
  INPUTS_NAMED = 3,  /* in the first line; more are counted */
  INPUTS_NOTED = 20, /* unreadable ones, and read ones with notes; more are counted */
  NODES_NAMED = 4,
  SURVIVED_NAMED = 2,
  RANKS_COUNTED = 32768
};

/* ---- First line: the job ---- */

/* The first few files by name, then the number of the others: a job of a hundred ranks has a hundred logs. One name fewer is
 * shown when a number follows, so that "and 1 more file" never replaces that file's name. Returns the column after the last
 * item. */
static size_t put_input_items(struct wo__writer *w, size_t column) {
  const struct wo_job *const job = w->report->job;
  const size_t named = job->input_count <= INPUTS_NAMED ? job->input_count : INPUTS_NAMED - 1;
  for (size_t i = 0; i < named; i++) {
    wo__add_path(wo__writer_start(w), job->inputs[i].path);
    column = wo_page_item(&w->page, column, 0, WO_TINT_PLACE, wo__writer_scratch(w));
  }
  if (named < job->input_count + job->left_out_count) {
    wo_text_add(wo__writer_start(w), "and ");
    wo__add_counted(&w->scratch, job->input_count + job->left_out_count - named, "more file", "more files");
    column = wo_page_item(&w->page, column, 0, WO_TINT_PLAIN, wo__writer_scratch(w));
  }
  return column;
}

/* "8 ranks on gpu11, gpu12". Nothing when neither is known: an empty item is left out. */
static void add_ranks(const struct wo__writer *w, struct wo_text *text) {
  const struct wo_story *const story = w->story;
  if (story->rank_count > 0) wo__add_counted(text, (uint64_t)story->rank_count, "rank", "ranks");
  if (story->node_count == 0) return;
  wo_text_add(text, story->rank_count > 0 ? " on " : "on ");
  for (size_t i = 0; i < story->node_count && i < NODES_NAMED; i++) {
    if (i > 0) wo_text_add(text, ", ");
    wo_text_add_view(text, story->nodes[i]);
  }
  if (story->node_count > NODES_NAMED) wo_text_add(text, " and %zu more", story->node_count - NODES_NAMED);
}

/* "out of GPU memory at step 4120 of 5000". The step is the last one that the log shows before the failure, in the words of the
 * program ("iteration", "epoch"); it shows at once whether a job died at its start or after a day. */
static void add_outcome(const struct wo__writer *w, struct wo_text *text) {
  const struct wo_story *const story = w->story;
  const bool is_unknown_failure = story->outcome == WO_OUTCOME_UNKNOWN && story->failure != WO_EVENT_NONE;
  wo_text_add(text, "%s", is_unknown_failure ? "ends with what looks like a failure" : wo_outcome_text(story->outcome));
  if (story->step < 0 || story->outcome == WO_OUTCOME_SUCCESS || !wo_program_has_steps(&w->report->facts.program)) return;
  wo_text_add(text, " at ");
  wo_text_add_view(text, story->step_unit.len > 0 ? story->step_unit : WO_VIEW("step"));
  wo_text_add(text, " %lld", (long long)story->step);
  if (story->step_total >= 0) wo_text_add(text, " of %lld", (long long)story->step_total);
}

/* The job and how it ended: the line to quote in a mail to the support desk. */
static void write_job(struct wo__writer *w) {
  size_t column = put_input_items(w, 0);
  if (w->story->job_id.len > 0) {
    wo_text_add(wo__writer_start(w), "job %.*s", WO_SHOWN(w->story->job_id));
    if (w->story->array_task >= 0) wo_text_add(&w->scratch, ", array task %lld", (long long)w->story->array_task);
    column = wo_page_item(&w->page, column, 0, WO_TINT_PLAIN, wo__writer_scratch(w));
  }
  add_ranks(w, wo__writer_start(w));
  column = wo_page_item(&w->page, column, 0, WO_TINT_PLAIN, wo__writer_scratch(w));
  add_outcome(w, wo__writer_start(w));
  wo_page_item(&w->page, column, 0, WO_TINT_STRONG, wo__writer_scratch(w));
  wo__end_line(w);
}

/* ---- The diagnosis ---- */

/* Files of which something could be read, and their lines. A file that broke off counts: its first part was read. */
static size_t count_readable(const struct wo_job *job, uint64_t *ret_lines) {
  size_t files = 0;
  *ret_lines = 0;
  for (size_t i = 0; i < job->input_count; i++) {
    files += !job->inputs[i].is_unreadable || job->inputs[i].bytes > 0;
    *ret_lines += job->inputs[i].lines;
  }
  return files;
}

/* The verdict without a finding. It says how much was read, because "nothing found" means less for an empty file than for a
 * thousand lines. */
static void write_no_finding(struct wo__writer *w) {
  uint64_t lines = 0;
  const size_t files = count_readable(w->report->job, &lines);
  const enum wo_outcome outcome = w->story->outcome;
  /* Four cases: a failure that no rule knows; nothing could be read; the log just stops; it shows no failure. */
  const bool has_failed = outcome != WO_OUTCOME_SUCCESS && outcome != WO_OUTCOME_UNKNOWN;
  struct wo_text *const text = wo__writer_start(w);
  const char *tag = "ok:";
  if (has_failed) {
    tag = "error:";
    wo_text_add(text, "%s; no rule knows more about it", wo_outcome_text(outcome));
  } else if (files == 0) {
    tag = "note:";
    wo_text_add(text, "nothing could be read");
  } else {
    wo_text_add(text, "no failure found in ");
    wo__add_counted(text, files, "file", "files");
    wo_text_add(text, ", ");
    wo__add_counted(text, lines, "line", "lines");
    if (outcome == WO_OUTCOME_UNKNOWN) {
      tag = "note:";
      wo_text_add(text, "; %s", wo_outcome_text(outcome));
    }
  }
  const struct wo_view tag_view = wo_view_of(tag);
  wo_page_put(&w->page, has_failed ? WO_TINT_ERROR : WO_TINT_FIX, tag_view);
  wo__indent(w, 1);
  wo_page_flow(&w->page, tag_view.len + 1, WO__INDENT, WO_TINT_STRONG, wo__writer_scratch(w));
  wo__end_line(w);
  if ((has_failed || w->story->outcome_evidence_count > 0) && w->where != NULL) {
    wo__write_location(w, w->where);
    wo__write_quote(w, w->where);
  }
}

/* A finding as a section of its own. */
static void write_in_full(struct wo__writer *w, const char *tag, const struct wo_finding *finding) {
  wo__end_line(w);
  wo__write_title(w, tag, finding);
  wo__put_paragraph(w, finding->summary);
  wo__write_body(w, finding);
}

/* The numbers that the first screen shows of the cause, in the same words. */
static void put_row(struct wo__writer *w, const struct wo_finding_row *row) {
  wo_text_add(wo__writer_start(w), "%.*s: %.*s", WO_SHOWN(row->label), WO_SHOWN(row->text));
  wo__put_lines(w, WO__INDENT, WO__FURTHER, wo__writer_scratch(w));
}

/* "short by 166 to 799 MiB: 2.32 GiB wanted - 1.55 GiB free - 0 to 612.41 MiB idle": what the savings of fixes are compared with.
 */
static void put_shortage(struct wo__writer *w) {
  const struct wo_shortage *const shortage = &w->report->shortage;
  if (!shortage->is_known || shortage->bytes.hi <= 0) return;
  wo_text_add(wo__writer_start(w), "short by ");
  wo_report_add_range(&w->scratch, shortage->bytes);
  if (shortage->formula.len > 0) wo_text_add(&w->scratch, ": %.*s", WO_SHOWN(shortage->formula));
  wo__put_lines(w, WO__INDENT, WO__FURTHER, wo__writer_scratch(w));
}

/* The first finding in full, with the place of the failure and the card. The other findings explain the same failure, so the
 * place and the card are not repeated there. If nothing failed, the first note is written in full. */
static void write_diagnosis(struct wo__writer *w) {
  const struct wo_report *const report = w->report;
  if (!wo_report_tells_failure(report)) {
    write_no_finding(w);
    if (report->finding_count > 0) write_in_full(w, "note", &report->findings[0]);
    return;
  }
  const struct wo_finding *const finding = &report->findings[0];
  assert(finding->cause != NULL);
  wo__write_title(w, w->story->outcome == WO_OUTCOME_SUCCESS ? "note" : "error", finding);
  if (w->where != NULL) {
    wo__write_location(w, w->where);
    wo__write_quote(w, w->where);
  }
  wo__put_paragraph(w, finding->summary);
  if (finding->row_count > 0) wo__end_line(w);
  for (size_t i = 0; i < finding->row_count; i++) put_row(w, &finding->rows[i]);
  if (report->has_memory) {
    wo__end_line(w);
    wo__page_memory(&w->page, &report->memory);
  }
  if (report->request != NULL) wo__page_request(&w->page, report->request);
  put_shortage(w);
  wo__write_body(w, finding);
}

/* ---- The rest ----
 *
 * The report should fit one screen, so other findings and consequences are named or counted; --verbose shows them in full. */

/* The other findings: a line each, or in full if verbose. */
static void write_others(struct wo__writer *w) {
  for (size_t i = 1; i < w->report->finding_count; i++) {
    const struct wo_finding *const finding = &w->report->findings[i];
    if (w->page.style.is_verbose) {
      write_in_full(w, finding->cause->is_failure ? "also" : "note", finding);
      continue;
    }
    wo_text_add(wo__writer_start(w), "%.*s (%.*s, %s)", WO_SHOWN(finding->title), WO_SHOWN(finding->cause->id),
                wo_report_confidence_name(finding->confidence));
    wo__put_labelled(w, finding->cause->is_failure ? "also possible:" : "also note:", wo__writer_scratch(w));
  }
}

/* Whether an event has a role. A job that was never closed has no roles: every event is then plain evidence. */
static bool has_role(const struct wo__writer *w, size_t event_index, enum wo_role role) {
  return w->story->roles != NULL && w->story->roles[event_index] == role;
}

/* Different ranks among the consequences. Ranks from RANKS_COUNTED on are not counted; no known job has so many. */
static size_t count_consequence_ranks(const struct wo__writer *w) {
  unsigned char is_seen[RANKS_COUNTED / 8] = {0}; /* one bit for each rank */
  size_t count = 0;
  for (size_t i = 0; i < w->events->count; i++) {
    const int32_t rank = w->events->items[i].rank;
    if (!has_role(w, i, WO_ROLE_CONSEQUENCE) || rank < 0 || rank >= RANKS_COUNTED) continue;
    const unsigned char bit = (unsigned char)(1U << (rank % 8));
    count += (is_seen[rank / 8] & bit) == 0;
    is_seen[rank / 8] |= bit;
  }
  return count;
}

/* "  folded: 7 consequences on 7 ranks (NCCL watchdog 5, connection closed 2)". When one rank fails, srun and NCCL make every
 * other one report its end: most error lines of a log, and none of them is the cause. */
static void write_folds(struct wo__writer *w) {
  const struct wo_report *const report = w->report;
  struct wo_text *const text = wo__writer_start(w);
  const size_t ranks = count_consequence_ranks(w);
  size_t total = 0;
  for (size_t i = 0; i < report->fold_count; i++) total += report->folds[i].count;
  if (total == 0) return;
  wo__add_counted(text, total, "consequence", "consequences");
  if (ranks > 0) {
    wo_text_add(text, " on ");
    wo__add_counted(text, ranks, "rank", "ranks");
  }
  for (size_t i = 0; i < report->fold_count; i++) {
    wo_text_add(text, i == 0 ? " (" : ", ");
    wo_text_add(text, "%.*s %zu", WO_SHOWN(report->folds[i].what), report->folds[i].count);
  }
  wo_text_add(text, ")");
  if (!w->page.style.is_verbose) wo_text_add(text, "; --verbose shows them");
  wo__put_labelled(w, "folded:", wo__writer_scratch(w));
}

/* The events of a role, a paragraph each. */
static void write_events(struct wo__writer *w, enum wo_role role) {
  for (size_t i = 0; i < w->events->count; i++) {
    const struct wo_event *const event = &w->events->items[i];
    if (!has_role(w, i, role)) continue;
    wo__add_place(w, wo__writer_start(w), event);
    if (event->rank != WO_RANK_UNKNOWN) wo_text_add(&w->scratch, "  rank %d", (int)event->rank);
    wo_text_add(&w->scratch, "  ");
    wo_text_add_view(&w->scratch, wo_view_trim(event->text));
    wo__put_lines(w, WO__FURTHER, WO__FURTHER + 2, wo__writer_scratch(w));
  }
}

/* "  survived: 2 memory failures that the program caught (line 12, line 40)". */
static void write_survived(struct wo__writer *w, enum wo_role role, const char *one, const char *several) {
  struct wo_text *const text = wo__writer_start(w);
  size_t count = 0;
  for (size_t i = 0; i < w->events->count; i++) count += has_role(w, i, role);
  if (count == 0) return;
  wo__add_counted(text, count, one, several);
  wo_text_add(text, " that the program caught");
  size_t named = 0;
  for (size_t i = 0; i < w->events->count && named < SURVIVED_NAMED; i++) {
    if (!has_role(w, i, role)) continue;
    wo_text_add(text, named++ == 0 ? " (" : ", ");
    wo__add_short_place(w, text, &w->events->items[i]);
  }
  wo_text_add(text, named < count ? ", ...)" : ")");
  wo__put_labelled(w, "survived:", wo__writer_scratch(w));
}

/* Batch-size finders provoke memory failures on purpose, and some engines retry. They are named because they show how near the
 * limit the job ran; other errors because a reader who looks for errors finds them in the log. */
static void write_recovered(struct wo__writer *w) {
  write_survived(w, WO_ROLE_RECOVERED, "memory failure", "memory failures");
  write_survived(w, WO_ROLE_SURVIVED, "error", "errors");
}

/* The line to paste; below its label if both do not fit one line. It is never wrapped: a shell would run its first half. */
static void write_resubmit(const struct wo__writer *w) {
  const struct wo_view line = w->report->resubmit;
  if (line.len == 0) return;
  const size_t column = wo__put_label(w, WO_TINT_FAINT, "resubmit with:", 0);
  if (column + wo_text_columns(line) > w->page.style.width) wo_page_break(&w->page, WO__FURTHER);
  wo_page_put(&w->page, WO_TINT_FIX, line);
  wo__end_line(w);
}

/* A note about the inputs, at the left margin: it is not a part of the diagnosis. */
static void put_note(const struct wo__writer *w, struct wo_view text) {
  wo_page_put(&w->page, WO_TINT_STRONG, WO_VIEW("note:"));
  wo__indent(w, 1);
  wo_page_flow(&w->page, sizeof "note:", WO__INDENT, WO_TINT_PLAIN, text);
  wo__end_line(w);
}

/* The notes on one input: each for itself. */
static void put_input_notes(struct wo__writer *w, const struct wo_job_input *input) {
  for (size_t n = 0; n < input->note_count; n++) {
    wo__add_path(wo__writer_start(w), input->path);
    wo_text_add(&w->scratch, ": %.*s", WO_SHOWN(input->notes[n]));
    put_note(w, wo__writer_scratch(w));
  }
  if (!input->is_unreadable || input->note_count > 0) return;
  wo__add_path(wo__writer_start(w), input->path);
  wo_text_add(&w->scratch, ": could not be read");
  put_note(w, wo__writer_scratch(w));
}

/* "N more inputs could not be read". Nothing for none. */
static void put_more(struct wo__writer *w, size_t count, const char *one, const char *many) {
  if (count == 0) return;
  wo__add_counted(wo__writer_start(w), count, one, many);
  put_note(w, wo__writer_scratch(w));
}

/* Inputs that could not be read or were cut, and evidence that was left out. Always written: a diagnosis from half of the logs
 * must say so. A folder of unreadable files must not hide the diagnosis, so the first ones are named and the others counted. */
static void write_notes(struct wo__writer *w) {
  const struct wo_job *const job = w->report->job;
  const size_t most = w->page.style.is_verbose ? SIZE_MAX : INPUTS_NOTED;
  size_t unread = 0, noted = 0, hidden_unread = job->left_out_count, hidden_noted = 0;
  for (size_t i = 0; i < job->input_count; i++) {
    const struct wo_job_input *const input = &job->inputs[i];
    const bool is_hidden = input->is_unreadable ? unread++ >= most : input->note_count > 0 && noted++ >= most;
    if (!is_hidden) put_input_notes(w, input);
    if (is_hidden) ++*(input->is_unreadable ? &hidden_unread : &hidden_noted);
  }
  put_more(w, hidden_unread, "more input could not be read", "more inputs could not be read");
  put_more(w, hidden_noted, "more input has notes: --verbose shows them", "more inputs have notes: --verbose shows them");
  if (job->events.dropped == 0) return;
  wo__add_counted(wo__writer_start(w), job->events.dropped, "piece of evidence", "pieces of evidence");
  wo_text_add(&w->scratch, " beyond the limits: counted, not kept");
  put_note(w, wo__writer_scratch(w));
}

/* Whether anything follows the diagnosis: an empty line then separates it. */
static bool has_rest(const struct wo__writer *w) {
  const struct wo_report *const report = w->report;
  const struct wo_facts *const facts = &report->facts;
  bool has_some = report->finding_count > 1 || report->fold_count > 0 || report->resubmit.len > 0 || w->events->dropped > 0 ||
                  report->job->left_out_count > 0;
  has_some = has_some || wo__has_settings(w);
  for (size_t i = 0; i < report->job->input_count; i++)
    has_some = has_some || report->job->inputs[i].note_count > 0 || report->job->inputs[i].is_unreadable;
  for (size_t i = 0; i < w->events->count && !has_some; i++)
    has_some = has_role(w, i, WO_ROLE_RECOVERED) || has_role(w, i, WO_ROLE_SURVIVED);
  for (size_t i = 0; i < facts->monitor_count && !has_some; i++) has_some = wo__is_monitor_shown(w, &facts->monitors[i]);
  has_some = has_some || facts->process_count > 0 || facts->step_count > 0 || report->ladder != NULL;
  return has_some || wo__has_ranks_or_runs(w);
}

static void write_rest(struct wo__writer *w) {
  if (has_rest(w)) wo__end_line(w);
  write_others(w);
  wo__write_ranks(w);
  wo__write_runs(w);
  write_folds(w);
  if (w->page.style.is_verbose) write_events(w, WO_ROLE_CONSEQUENCE);
  write_recovered(w);
  if (w->page.style.is_verbose) write_events(w, WO_ROLE_RECOVERED);
  wo__write_monitors(w);
  wo__write_steps(w);
  wo__write_ladder(w);
  wo__write_settings(w);
  write_resubmit(w);
  write_notes(w);
}

bool wo_report_statements(const struct wo_report *report, enum wo_report_part part, wo_report_statement_fn say, void *context) {
  struct wo__writer w = {.page.style = {.width = WIDTH_MIN, .is_verbose = true},
                         .report = report,
                         .story = &report->job->story,
                         .events = &report->job->events,
                         .where = wo_report_where(report),
                         .say = say,
                         .context = context};
  if (part == WO_REPORT_PART_COURSE) {
    wo__write_ranks(&w);
    wo__write_runs(&w);
    write_folds(&w);
    write_recovered(&w);
  } else if (part == WO_REPORT_PART_MEMORY) {
    wo__write_monitors(&w);
    wo__write_steps(&w);
  } else {
    wo__write_ladder(&w);
  }
  const bool is_failed = w.scratch.is_failed;
  wo_text_done(&w.scratch);
  return !is_failed;
}

/* Only the scratch text is allocated here; if it failed, the report has holes and has failed too. */
void wo_report_text(const struct wo_report *report, struct wo_text_style style, struct wo_text *out) {
  assert(report != NULL && report->job != NULL && out != NULL);
  if (style.width < WIDTH_MIN) style.width = WIDTH_MIN;
  struct wo__writer w = {
      .page = {.out = out, .style = style},
      .report = report,
      .story = &report->job->story,
      .events = &report->job->events,
      .where = wo_report_where(report),
  };
  write_job(&w);
  wo__end_line(&w);
  write_diagnosis(&w);
  write_rest(&w);
  out->is_failed = out->is_failed || w.scratch.is_failed;
  wo_text_done(&w.scratch);
}
