/* The last step of the job, and its outcome when nothing failed. */
#include <math.h>

#include "analyzer/story/story_internal.h"

/* A share of an epoch, which says less than a step. */
static bool is_share(double step) {
  return step != floor(step);
}

/* Only progress before the failure counts; later lines are from ranks that had not noticed it. The newest is stored first, so the
 * first one counts, and of a share of an epoch and the bar above it the bar. */
static void read_steps(struct wo_job *job, const struct wo_event *failure) {
  struct wo_story *story = &job->story;
  bool is_epoch_share = false;
  for (size_t i = 0; failure && i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    const bool is_its_own = event->of == failure->id || (event->of != WO_EVENT_NONE && event->of == story->traceback);
    if (event->kind != WO_KIND_PROGRESS || !is_its_own || event->span.line > failure->span.line) continue;
    const double step = wo_event_number(event, WO_FIELD_STEP, -1);
    if (story->step < 0 || (is_epoch_share && !is_share(step))) {
      is_epoch_share = is_share(step);
      story->step = (int64_t)step;
      story->step_total = (int64_t)wo_event_number(event, WO_FIELD_STEP_TOTAL, -1);
      story->step_unit = wo_event_text(event, WO_FIELD_NAME);
    }
    if (story->phase.len == 0) story->phase = wo_event_text(event, WO_FIELD_PHASE);
  }
}

/* A job without any failure finished, unless accounting or its last progress bar shows that it did not. */
enum wo_outcome wo__outcome_without_failure(const struct wo_job *job) {
  uint64_t lines = 0;
  for (size_t i = 0; i < job->input_count; i++) lines += job->inputs[i].lines;
  const struct wo_event *last = NULL;
  bool has_consequence = false;
  wo_each_event (event, &job->events) {
    if (event->kind == WO_KIND_SUCCESS) return WO_OUTCOME_SUCCESS;
    if (job->story.roles[event->id] == WO_ROLE_CONSEQUENCE) has_consequence = true;
    if (event->kind == WO_KIND_PROGRESS && event->of == WO_EVENT_NONE) last = event;
  }
  if (has_consequence) return WO_OUTCOME_OTHER;
  const struct wo_view state = wo_story_final_state(job);
  if (state.len > 0) return wo_view_is(state, "COMPLETED") ? WO_OUTCOME_SUCCESS : WO_OUTCOME_UNKNOWN;
  if (lines == 0) return WO_OUTCOME_UNKNOWN;
  if (!last) return WO_OUTCOME_SUCCESS;
  const double total = wo_event_number(last, WO_FIELD_STEP_TOTAL, -1);
  return total > 0 && wo_event_number(last, WO_FIELD_STEP, 0) < total ? WO_OUTCOME_UNKNOWN : WO_OUTCOME_SUCCESS;
}

void wo__read_progress(struct wo_job *job, const struct wo_event *failure) {
  wo__read_phase(job, failure);
  read_steps(job, failure);
}
