/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of the job, and its outcome when nothing failed. */
#include <math.h>

#include "analyzer/files/names.h"
#include "analyzer/story/story_internal.h"

/* A share of an epoch, which says less than a step. */
static bool is_share(double step) {
  return step != floor(step);
}

static void take_step(struct wo_story *story, const struct wo_event *step) {
  story->step = wo_event_whole(step, WO_FIELD_STEP, -1);
  story->step_total = wo_event_whole(step, WO_FIELD_STEP_TOTAL, -1);
  story->step_unit = wo_event_text(step, WO_FIELD_NAME);
}

/* Whether a step below the failure was printed before it, by the process that failed. */
static bool was_held_back(const struct wo_job *job, const struct wo_event *step, const struct wo_event *failure) {
  return step->kind == WO_KIND_PROGRESS && !step->is_quoted && step->span.file == failure->span.file &&
         step->span.line > failure->span.line && step->rank == failure->rank &&
         job->story.run_of[step->id] == job->story.run_of[failure->id] && wo__may_be_held_back(step, failure);
}

/* Whether a step is further than what is known, by the same count. */
static bool is_further(const struct wo_story *story, const struct wo_event *step) {
  const bool is_same_count = story->step < 0 || wo_view_equal(story->step_unit, wo_event_text(step, WO_FIELD_NAME));
  return is_same_count && wo_event_number(step, WO_FIELD_STEP, -1) > (double)story->step;
}

/* The last step of what a process printed that ended with an exception stands below that, where a buffer held it back. */
static void read_steps_held_back(struct wo_job *job, const struct wo_event *failure) {
  const struct wo_event *last = NULL;
  if (!wo__is_uncaught(job, failure)) return;
  wo_each_event (event, &job->events) {
    if (was_held_back(job, event, failure) && (!last || event->span.line > last->span.line)) last = event;
  }
  if (last && is_further(&job->story, last)) take_step(&job->story, last);
}

/* Of what stands before the failure the newest is stored first, so the first one counts, and of a share of an epoch and the bar
 * above it the bar. */
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
      take_step(story, event);
    }
    if (story->phase.len == 0) story->phase = wo_event_text(event, WO_FIELD_PHASE);
  }
}

/* Whether a step other than the line is in another file: how these two stand to each other in time is not known. */
static bool has_steps_elsewhere(const struct wo_job *job, const struct wo_event *line) {
  wo_each_event (event, &job->events) {
    if (event->kind == WO_KIND_PROGRESS && event->span.file != line->span.file) return true;
  }
  return false;
}

/* The event by which the log just stops: its last step, which had further to go, or a last line that a program which goes on
 * never leaves as the last one. NULL if there is none. */
static const struct wo_event *find_open_end(const struct wo_job *job) {
  const struct wo_event *step = NULL, *line = NULL;
  wo_each_event (event, &job->events) {
    if (event->kind == WO_KIND_PROGRESS && event->of == WO_EVENT_NONE) step = event;
    if (event->mark == WO_MARK_LAST_LINE) line = event;
  }
  const double total = step ? wo_event_number(step, WO_FIELD_STEP_TOTAL, -1) : -1;
  if (total > 0 && wo_event_number(step, WO_FIELD_STEP, 0) < total) return step;
  return line && !has_steps_elsewhere(job, line) ? line : NULL;
}

static bool has_consequence(const struct wo_job *job) {
  wo_each_event (event, &job->events) {
    if (job->story.roles[event->id] == WO_ROLE_CONSEQUENCE) return true;
  }
  return false;
}

static bool has_success(const struct wo_job *job) {
  wo_each_event (event, &job->events) {
    if (event->kind == WO_KIND_SUCCESS) return true;
  }
  return false;
}

/* States of jobs that wait, run, or will run again. */
static bool is_open_state(struct wo_view state) {
  static const char states[][16] = {"PENDING",  "RUNNING",      "SUSPENDED",   "COMPLETING",   "CONFIGURING",
                                    "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "STAGE_OUT",
                                    "RESIZING", "STOPPED",      "SIGNALING"};
  return WO_VIEW_ANY_ROW(state, wo_view_is, states);
}

bool wo_story_has_ended(const struct wo_job *job) {
  const struct wo_event *const failure = wo_event_get(&job->events, job->story.failure);
  const struct wo_view state = wo_story_final_state(job);
  if (state.len > 0) return !is_open_state(state);
  return failure ? wo_kind_class(failure->kind) == WO_CLASS_ENDING : has_success(job);
}

static uint64_t count_lines(const struct wo_job *job) {
  uint64_t lines = 0;
  for (size_t i = 0; i < job->input_count; i++) lines += job->inputs[i].lines;
  return lines;
}

/* Whether the file holds the standard output of a program, by its name, or what somebody made of it. */
static bool is_stdout_name(struct wo_view path) {
  static const char *const streams[] = {"out", "stdout"};
  struct wo_view rest = wo_name_base(path);
  if (wo_view_is(path, "<stdin>")) return true;
  while (rest.len > 0) {
    if (WO_NAME_IS_ANY(wo_name_word(&rest), streams)) return true;
  }
  return false;
}

/* Whether all logs of the job are standard output: an error that was printed can be in a file that is not here. */
static bool has_stdout_alone(const struct wo_job *job) {
  bool has_any = false;
  if (!job->is_named) return false;
  for (size_t i = 0; i < job->input_count; i++) {
    if (!wo_view_is(job->inputs[i].format, "log")) continue;
    if (!is_stdout_name(job->inputs[i].path)) return false;
    has_any = true;
  }
  return has_any;
}

/* A job without any failure finished, unless accounting or the end of its log shows that it did not, or its standard output is
 * all that there is and shows no end. */
void wo__end_without_failure(struct wo_job *job) {
  struct wo_story *const story = &job->story;
  const struct wo_view state = wo_story_final_state(job);
  story->outcome = WO_OUTCOME_SUCCESS;
  story->is_good_end_shown = has_success(job) || wo_view_is(state, "COMPLETED");
  if (has_success(job)) return;
  if (has_consequence(job)) {
    story->outcome = WO_OUTCOME_OTHER;
  } else if (state.len > 0) {
    if (!wo_view_is(state, "COMPLETED")) story->outcome = WO_OUTCOME_UNKNOWN;
  } else if (count_lines(job) == 0) {
    story->outcome = WO_OUTCOME_UNKNOWN;
  } else {
    const struct wo_event *const end = find_open_end(job);
    if (end || has_stdout_alone(job)) story->outcome = WO_OUTCOME_UNKNOWN;
    if (!end) return;
    story->outcome_evidence[story->outcome_evidence_count++] = end->id;
  }
}

void wo__read_progress(struct wo_job *job, const struct wo_event *failure) {
  wo__read_phase(job, failure);
  read_steps(job, failure);
  if (failure) read_steps_held_back(job, failure);
}
