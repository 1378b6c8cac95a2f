/* Which events can be the end of the job, and which cannot: those that were survived, that another event explains, or after which
 * the job went on. */
#include "analyzer/story/story_internal.h"

enum wo_outcome wo__outcome_of(const struct wo_event *event) {
  switch (event->kind) {
  case WO_KIND_TIME_LIMIT:
    return WO_OUTCOME_TIME_LIMIT;
  case WO_KIND_CANCELLED:
    return WO_OUTCOME_CANCELLED;
  case WO_KIND_PREEMPTED:
    return WO_OUTCOME_PREEMPTED;
  case WO_KIND_NODE_FAIL:
    return WO_OUTCOME_NODE_FAIL;
  case WO_KIND_LAUNCH_FAIL:
    return WO_OUTCOME_OTHER;
  case WO_KIND_SEGFAULT:
    return WO_OUTCOME_SEGFAULT;
  case WO_KIND_NCCL_TIMEOUT:
    return WO_OUTCOME_NCCL;
  case WO_KIND_DISK:
    return WO_OUTCOME_DISK;
  case WO_KIND_XID:
  case WO_KIND_HARDWARE:
    return WO_OUTCOME_HARDWARE;
  default:
    break;
  }
  switch (wo_kind_class(event->kind)) {
  case WO_CLASS_GPU_MEMORY:
    return WO_OUTCOME_GPU_OOM;
  case WO_CLASS_HOST_MEMORY:
    return WO_OUTCOME_HOST_OOM;
  case WO_CLASS_PROGRAM:
    return WO_OUTCOME_PROGRAM_ERROR;
  case WO_CLASS_EXIT:
    return WO_OUTCOME_OTHER;
  default:
    return WO_OUTCOME_UNKNOWN;
  }
}

/* A SIGKILL without a word about memory, which a cancellation or a time limit explains as well. */
static bool is_weak_kill(const struct wo_event *event) {
  const struct wo_view signal = wo_event_text(event, WO_FIELD_SIGNAL);
  const bool is_sigkill = wo_view_is(signal, "Killed") || wo_view_is(signal, "9");
  return event->kind == WO_KIND_HOST_OOM && (is_sigkill || wo_event_field(event, WO_FIELD_EXIT_CODE));
}

bool wo_story_is_suspicion(const struct wo_event *event) {
  return wo_event_field(event, WO_FIELD_IS_SUSPECTED) != NULL;
}

/* A job never dies of an event that belongs to another one (`of`), such as progress around a failure. */
static bool is_candidate(const struct wo_event *event) {
  if (event->is_quoted || event->of != WO_EVENT_NONE || wo_story_is_suspicion(event)) return false;
  if (event->kind == WO_KIND_TRACEBACK) return !wo_story_is_echo(event);
  return wo__outcome_of(event) != WO_OUTCOME_UNKNOWN;
}

/* Kinds that say more than the traceback around them. */
static bool is_specific(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY || class == WO_CLASS_HARDWARE ||
         event->kind == WO_KIND_DISK;
}

/* A traceback or error that only frames a more specific message belongs to it. */
static bool is_frame(const struct wo_job *job, const struct wo_event *event) {
  if (event->kind != WO_KIND_TRACEBACK && event->kind != WO_KIND_PROGRAM_ERROR) return false;
  const size_t first = (size_t)event->id;
  for (size_t i = first; i < job->events.count && i - first <= WO__TRACEBACK_EVENTS; i++) {
    const struct wo_event *other = &job->events.items[i];
    if (!is_specific(other) || other->is_quoted) continue;
    if (other->span.file != event->span.file || other->rank != event->rank) continue;
    if (other->span.line >= event->span.line && other->span.line - event->span.line <= WO__TRACEBACK_LINES) return true;
  }
  return false;
}

enum wo__claim wo__claim_of(const struct wo_event *event) {
  switch (wo_kind_class(event->kind)) {
  case WO_CLASS_GPU_MEMORY:
    return WO__CLAIM_MEMORY;
  case WO_CLASS_HOST_MEMORY:
    return is_weak_kill(event) ? WO__CLAIM_PROGRAM : WO__CLAIM_MEMORY;
  case WO_CLASS_ENDING:
    return event->kind == WO_KIND_CANCELLED ? WO__CLAIM_CANCELLED : WO__CLAIM_ENDING;
  case WO_CLASS_HARDWARE:
    return WO__CLAIM_ENDING;
  case WO_CLASS_PROGRAM:
    return event->kind == WO_KIND_NCCL_TIMEOUT ? WO__CLAIM_NCCL : WO__CLAIM_PROGRAM;
  case WO_CLASS_EXIT:
    return WO__CLAIM_EXIT;
  default:
    return WO__CLAIM_NONE;
  }
}

/* Opens the candidates, except memory failures after which the program went on. */
static void assign_recovered(struct wo_job *job, bool *is_open) {
  struct wo_story *story = &job->story;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    is_open[i] = is_candidate(event) && !is_frame(job, event);
    if (!is_open[i] || !wo_story_is_memory(event) || !wo_story_survived(job, i)) continue;
    story->roles[i] = WO_ROLE_RECOVERED;
    is_open[i] = false;
  }
}

/* A kill without a word about memory does not count if the workload manager says that it ended the job. */
static void drop_explained_kills(const struct wo_job *job, bool *is_open) {
  bool is_ended[WO_LIMIT_RUNS + 1] = {false}; /* by run + 1; the first entry is for files with a single run */
  for (size_t i = 0; i < job->events.count; i++) {
    if (is_open[i] && wo_kind_class(job->events.items[i].kind) == WO_CLASS_ENDING) is_ended[job->story.run_of[i] + 1] = true;
  }
  for (size_t i = 0; i < job->events.count; i++) {
    if (is_ended[job->story.run_of[i] + 1] && is_weak_kill(&job->events.items[i])) is_open[i] = false;
  }
}

/* Whether the final state of the job shows that this line of a log was not its end. A log of several starts also shows how the
 * earlier ones ended; and if the job FAILED, a cancelled step was ended by srun, not by a user. */
static bool is_outlived(const struct wo_event *event, struct wo_view state) {
  const bool is_failed = wo_view_is(state, "FAILED");
  const bool is_later =
      is_failed || wo_view_is(state, "COMPLETED") || wo_view_is(state, "OUT_OF_MEMORY") || wo_view_is(state, "TIMEOUT");
  if (wo_story_is_accounting(event)) return false;
  if (event->kind == WO_KIND_CANCELLED) return is_failed && wo_event_field(event, WO_FIELD_STEP_ID);
  return event->kind == WO_KIND_PREEMPTED && is_later;
}

/* The cancellation of a step is still shown, as a consequence of the job's end. */
static void drop_outlived(struct wo_job *job, bool *is_open) {
  const struct wo_view state = wo_story_final_state(job);
  wo_each_event (event, &job->events) {
    if (!is_open[event->id] || !is_outlived(event, state)) continue;
    is_open[event->id] = false;
    if (event->kind == WO_KIND_CANCELLED) job->story.roles[event->id] = WO_ROLE_CONSEQUENCE;
  }
}

void wo__claims_open(struct wo_job *job, bool *is_open) {
  assign_recovered(job, is_open);
  drop_explained_kills(job, is_open);
  drop_outlived(job, is_open);
}
