/* SPDX-License-Identifier: Apache-2.0 */
/* How each run of a log ended, its last step, and which run is diagnosed. */
#include "analyzer/story/story_internal.h"

/* Whether a run says at its end that it finished. */
static bool has_finished(const struct wo_job *job, size_t run) {
  for (size_t i = 0; i < job->events.count; i++) {
    if (job->story.run_of[i] == (int32_t)run && job->events.items[i].kind == WO_KIND_SUCCESS) return true;
  }
  return false;
}

/* The newest run before `run` in its log that failed; `run` itself when none did. */
static size_t failed_before(const struct wo_story *story, size_t run) {
  for (size_t r = run; r-- > 0 && wo_story_is_same_log(&story->runs[r], &story->runs[run]);) {
    if (story->runs[r].failure != WO_EVENT_NONE) return r;
  }
  return run;
}

/* Steps of a run beyond which it has passed a failure before all steps. A bar is often drawn at its first one already. */
#define STEPS_BEYOND_START 2

/* Whether the last run went past the point at which the earlier one failed: by its steps, or else by its lines. Then it speaks
 * for itself; before that, a user who asks means the failure. An exception before any step was passed by a run with steps. */
static bool is_past(const struct wo_run *last, const struct wo_run *failed, const struct wo_event *failure) {
  if (last->step_last >= 0 && failed->step_last >= 0) return last->step_last > failed->step_last;
  if (failure->kind == WO_KIND_TRACEBACK && last->step_last >= STEPS_BEYOND_START) return true;
  const uint64_t failure_line = failure->span.line;
  return last->attempt == 0 && last->last_line - last->first_line > failure_line - failed->first_line;
}

bool wo__runs_step_back(struct wo_job *job) {
  struct wo_story *story = &job->story;
  bool has_stepped = false;
  for (size_t r = 0; r < story->run_count; r++) {
    const struct wo_run *run = &story->runs[r];
    if (!run->is_current || run->failure != WO_EVENT_NONE || has_finished(job, r)) continue;
    const size_t failed = failed_before(story, r);
    const struct wo_event *const failure = wo_event_get(&job->events, story->runs[failed].failure);
    if (failure && failed != r && is_past(run, &story->runs[failed], failure)) continue;
    story->runs[r].is_current = false;
    story->runs[failed].is_current = true;
    has_stepped = has_stepped || failed != r;
  }
  return has_stepped;
}

/* First and last step of each run, from its progress lines. Epochs are too long to show whether a run gets any further. */
static void read_steps(struct wo_job *job) {
  wo_each_event (event, &job->events) {
    const int64_t step = wo_event_whole(event, WO_FIELD_STEP, -1);
    if (event->kind != WO_KIND_PROGRESS || job->story.run_of[event->id] < 0 || step < 0) continue;
    if (wo_view_is(wo_event_text(event, WO_FIELD_NAME), "epoch")) continue;
    struct wo_run *run = &job->story.runs[job->story.run_of[event->id]];
    if (run->step_first < 0 || step < run->step_first) run->step_first = step;
    if (step > run->step_last) run->step_last = step;
  }
}

/* An attempt is the only run of its files. An empty file counts as one line. */
static uint64_t last_line_of(const struct wo_job *job, const struct wo_run *run) {
  const uint64_t lines = job->inputs[run->file].lines;
  return lines > 0 ? lines : 1;
}

/* The last run of a file may still be running: without a message that it finished, its outcome is unknown, not success. */
void wo__runs_judge(struct wo_job *job, const bool *is_open) {
  for (size_t r = 0; r < job->story.run_count; r++) {
    struct wo_run *run = &job->story.runs[r];
    const struct wo_event *failure = wo__choose_failure(job, is_open, (int32_t)r);
    if (failure) {
      run->failure = failure->id;
      if (run->attempt > 0) run->file = failure->span.file;
      run->outcome = wo__outcome_of(failure);
    } else if (has_finished(job, r)) {
      run->outcome = WO_OUTCOME_SUCCESS;
    }
    if (run->attempt > 0) run->last_line = last_line_of(job, run);
  }
  read_steps(job);
}
