/* SPDX-License-Identifier: Apache-2.0 */
/* The lines about ranks and runs: one each, however many there are. */
#include <stdio.h>

#include "analyzer/report/report_text_internal.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"

/* The newest runs, each with its end, and ranks by number; more are counted. */
enum { RUNS_NAMED = 5, RANKS_NAMED = 8 };

static size_t count_status(const struct wo_report *report, enum wo_rank_status status) {
  size_t count = 0;
  for (size_t i = 0; i < report->facts.rank_count; i++) count += report->facts.ranks[i].status == status;
  return count;
}

/* Whether the failure has a rank, and the table has more ranks. */
static bool has_first_rank(const struct wo__writer *w) {
  const struct wo_event *const failure = wo_event_get(w->events, w->story->failure);
  return failure != NULL && failure->rank != WO_RANK_UNKNOWN && w->report->facts.rank_count > 1 &&
         count_status(w->report, WO_RANK_FAILED) > 0;
}

/* The runs of the log with the diagnosed failure; they are neighbours in the story. */
static size_t find_runs(const struct wo__writer *w, size_t *ret_first) {
  const struct wo_story *const story = w->story;
  const int32_t own = story->failure == WO_EVENT_NONE || story->run_of == NULL ? -1 : story->run_of[story->failure];
  if (story->run_count == 0) return 0;
  const struct wo_run *const told = &story->runs[own >= 0 ? own : 0];
  size_t count = 0;
  for (size_t i = 0; i < story->run_count; i++) {
    if (!wo_story_is_same_log(&story->runs[i], told)) continue;
    if (count++ == 0) *ret_first = i;
  }
  return count;
}

bool wo__has_ranks_or_runs(const struct wo__writer *w) {
  size_t first = 0;
  return has_first_rank(w) || w->story->is_order_uncertain || find_runs(w, &first) > 1;
}

/* "the first rank is not known: ranks 0 and 4 report within 1.2 s, which clocks of different hosts may differ by". */
static void write_order(struct wo__writer *w) {
  const struct wo_event *const rival = wo_event_get(w->events, w->story->rival);
  const struct wo_event *const failure = wo_event_get(w->events, w->story->failure);
  if (!w->story->is_order_uncertain || rival == NULL || failure == NULL) return;
  struct wo_text *const text = wo__writer_start(w);
  wo_text_add(text, "the first rank is not known: ranks %d and %d report ", (int)failure->rank, (int)rival->rank);
  if (w->story->rival_gap_ns < 0) {
    wo_text_add(text, "in different files, without times that could be compared");
  } else {
    wo_text_add(text, "within %.1f s, which clocks of different hosts may differ by",
                (double)w->story->rival_gap_ns / (double)WO_NS_PER_S);
  }
  wo__put_labelled(w, "order:", wo__writer_scratch(w));
}

/* "; ranks 1, 2, 3 report no failure of their own": a few by number, many as a count. */
static void add_silent(const struct wo_report *report, struct wo_text *text) {
  const size_t silent = count_status(report, WO_RANK_SILENT);
  if (silent == 0) return;
  if (silent > RANKS_NAMED) {
    wo_text_add(text, "; %zu others", silent);
  } else {
    wo_text_add(text, "%s", silent == 1 ? "; rank" : "; ranks");
  }
  size_t named = 0;
  for (size_t i = 0; i < report->facts.rank_count && silent <= RANKS_NAMED; i++) {
    if (report->facts.ranks[i].status != WO_RANK_SILENT) continue;
    wo_text_add(text, "%s%d", named++ > 0 ? ", " : " ", (int)report->facts.ranks[i].rank);
  }
  wo_text_add(text, "%s", silent == 1 ? " reports no failure of its own" : " report no failure of their own");
}

/* "rank 3 of 8 failed first; 2 more failed, 5 followed". */
void wo__write_ranks(struct wo__writer *w) {
  if (has_first_rank(w)) {
    const struct wo_event *const failure = wo_event_get(w->events, w->story->failure);
    const size_t failed = count_status(w->report, WO_RANK_FAILED);
    const size_t followed = count_status(w->report, WO_RANK_FOLLOWED);
    struct wo_text *const text = wo__writer_start(w);
    wo_text_add(text, "rank %d", (int)failure->rank);
    if (w->story->rank_count > 0) wo_text_add(text, " of %d", (int)w->story->rank_count);
    wo_text_add(text, w->story->is_order_uncertain ? " failed" : " failed first");
    if (failed > 1) wo_text_add(text, "; %zu more failed the same way", failed - 1);
    if (followed > 0) wo_text_add(text, "; %zu followed", followed);
    add_silent(w->report, text);
    wo__put_labelled(w, "ranks:", wo__writer_scratch(w));
  }
  write_order(w);
}

/* "1 out of GPU memory at step 149 (line 40)". */
static void add_run(const struct wo__writer *w, struct wo_text *text, const struct wo_run *run, size_t number) {
  const struct wo_event *const failure = wo_event_get(w->events, run->failure);
  wo_text_add(text, "%zu %s", number,
              failure == NULL && run->outcome == WO_OUTCOME_UNKNOWN ? "without an end" : wo_outcome_text(run->outcome));
  if (run->step_last >= 0) wo_text_add(text, " at step %lld", (long long)run->step_last);
  if (failure == NULL) return;
  wo_text_add(text, " (");
  wo__add_short_place(w, text, failure);
  wo_text_add(text, ")");
}

/* Whether all runs fail the same way, and whether they get further. */
static void add_verdict(const struct wo__writer *w, struct wo_text *text) {
  const struct wo_value progress = wo_facts_get(&w->report->facts, WO_VIEW("restart.progress_steps"));
  if (wo_facts_get(&w->report->facts, WO_VIEW("restart.is_same_root")).truth != WO_TRUE) return;
  wo_text_add(text, "; the same failure each time");
  if (!progress.is_known) return;
  if (progress.number.mid <= 0) {
    wo_text_add(text, ", no progress: restarting does not help");
  } else {
    wo_text_add(text, ", %.0f steps further", progress.number.mid);
  }
}

void wo__write_runs(struct wo__writer *w) {
  size_t first = 0;
  const size_t count = find_runs(w, &first);
  if (count < 2) return;
  struct wo_text *const text = wo__writer_start(w);
  wo_text_add(text, w->story->runs[first].attempt == 0 ? "%zu in this log: " : "%zu attempts of the launcher: ", count);
  const size_t skipped = count > RUNS_NAMED ? count - RUNS_NAMED : 0;
  if (skipped > 0) wo_text_add(text, "%zu earlier, ", skipped);
  for (size_t i = skipped; i < count; i++) {
    if (i > skipped) wo_text_add(text, ", ");
    add_run(w, text, &w->story->runs[first + i], i + 1);
  }
  add_verdict(w, text);
  wo__put_labelled(w, "runs:", wo__writer_scratch(w));
}
