/* What earlier runs in the log tell of the failure: whether it is the same each time, and whether the job gets any further. */
#include "analyzer/facts/facts.h"
#include "analyzer/story/story.h"

/* Where in the user's code a failure came from; NULL when its traceback is not in the log. */
static const struct wo_event *place_of(const struct wo_job *job, const struct wo_event *failure) {
  return failure->kind == WO_KIND_TRACEBACK ? failure : wo_event_get(&job->events, wo_story_traceback_of(job, failure));
}

/* Same kind, and the same line of the user's or the same request. Undecided where neither is known on both sides. */
static enum wo_truth is_same_root(const struct wo_job *job, const struct wo_event *a, const struct wo_event *b) {
  if (a->kind != b->kind) return WO_FALSE;
  const struct wo_field *a_tried = wo_event_field(a, WO_FIELD_TRIED_BYTES);
  const struct wo_field *b_tried = wo_event_field(b, WO_FIELD_TRIED_BYTES);
  if (a_tried && b_tried && a_tried->number.mid == b_tried->number.mid) return WO_TRUE;
  const struct wo_event *a_place = place_of(job, a);
  const struct wo_event *b_place = place_of(job, b);
  const struct wo_view a_file = a_place ? wo_event_text(a_place, WO_FIELD_FRAME_FILE) : (struct wo_view){0};
  const struct wo_view b_file = b_place ? wo_event_text(b_place, WO_FIELD_FRAME_FILE) : (struct wo_view){0};
  if (a_file.len == 0 || b_file.len == 0) return a_tried && b_tried ? WO_FALSE : WO_UNDECIDED;
  const bool is_same_line =
      wo_event_number(a_place, WO_FIELD_FRAME_LINE, -1) == wo_event_number(b_place, WO_FIELD_FRAME_LINE, -1);
  const bool is_same_exception =
      wo_view_equal(wo_event_text(a_place, WO_FIELD_EXCEPTION), wo_event_text(b_place, WO_FIELD_EXCEPTION));
  return wo_view_equal(a_file, b_file) && is_same_line && is_same_exception ? WO_TRUE : WO_FALSE;
}

/* Runs of the same log before the one that the diagnosis is about. The weakest answer of all pairs is that of all runs. */
void wo_facts_read_restarts(struct wo_facts *facts) {
  const struct wo_story *story = &facts->job->story;
  const struct wo_event *failure = wo_event_get(&facts->job->events, story->failure);
  const int32_t own = failure ? story->run_of[failure->id] : -1;
  if (own < 0) return;
  size_t count = 0;
  const struct wo_run *first = NULL;
  enum wo_truth truth = WO_TRUE;
  for (int32_t r = 0; r < own; r++) {
    const struct wo_run *run = &story->runs[r];
    const struct wo_event *earlier = wo_event_get(&facts->job->events, run->failure);
    if (!wo_story_is_same_log(run, &story->runs[own]) || !earlier) continue;
    if (!first) first = run;
    count++;
    const enum wo_truth same = is_same_root(facts->job, earlier, failure);
    if (same == WO_FALSE || (same == WO_UNDECIDED && truth == WO_TRUE)) truth = same;
  }
  wo_facts_set(facts, "restart.count", wo_value_exact(WO_UNIT_NUMBER, (double)count), failure->id);
  if (count == 0) return;
  wo_facts_set(facts, "restart.is_same_root", wo_value_bool(truth), failure->id);
  if (first->step_last < 0 || story->runs[own].step_last < 0) return;
  const double steps = (double)(story->runs[own].step_last - first->step_last);
  wo_facts_set(facts, "restart.progress_steps", wo_value_exact(WO_UNIT_NUMBER, steps), failure->id);
}
