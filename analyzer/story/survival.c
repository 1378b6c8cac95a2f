/* Which memory failures a program survived, and which exceptions are only echoes of another failure. */
#include "analyzer/story/story_internal.h"

/* A message of recovery ("skipping batch") within this number of lines belongs to the failure before it. */
#define RECOVERY_LINES 60

/* The job must go on by this number of steps after a failure. Ranks that have not noticed it often print one more step. */
#define PROGRESS_STEPS 2

/* Exceptions that report the end of another process. */
static const char *const echo_exceptions[] = {
    "SignalException",  "ChildFailedError",   "ProcessExitedException", "ProcessRaisedException", "RayTaskError",
    "EngineDeadError",  "CalledProcessError", "BrokenPipeError",        "ConnectionResetError",   "ConnectionRefusedError",
    "DistStoreError",   "ActorDiedError",     "RayActorError",          "WorkerCrashedError",     "SystemExit",
    "DistNetworkError", "EOFError",           "AsyncEngineDeadError",
};

/* Parts of messages that report the end of a peer, a child or a server. Their exceptions are RuntimeError and others with many
 * meanings. */
static const char *const echo_messages[] = {
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "closed by remote peer",
    "exited unexpectedly",
    "Engine core initialization failed",
    "See root cause above",
    "Rank 0 is not ready",
    "remote process exited",
    "ncclRemoteError",
    "unhandled system error",
    "Socket Timeout",
    "got signal:",
};

/* A process that cannot open its own port fails by itself, although the exception is the one for lost peers. */
static bool is_port_taken(struct wo_view message) {
  return wo_view_has(message, "failed to listen") || wo_view_has(message, "EADDRINUSE");
}

bool wo_story_is_echo(const struct wo_event *traceback) {
  if (is_port_taken(wo_event_text(traceback, WO_FIELD_MESSAGE))) return false;
  return WO_VIEW_ANY(wo_event_text(traceback, WO_FIELD_EXCEPTION), wo_view_has, echo_exceptions) ||
         WO_VIEW_ANY(wo_event_text(traceback, WO_FIELD_MESSAGE), wo_view_has, echo_messages);
}

/* Only within one run in one file: the order of the files on the command line is not an order in time. */
static bool is_later(const struct wo_job *job, const struct wo_event *a, const struct wo_event *b) {
  const int32_t *run_of = job->story.run_of;
  return a->span.file == b->span.file && a->span.line > b->span.line && run_of[a->id] == run_of[b->id];
}

/* Lines without a rank may be from any. */
static bool is_same_rank(const struct wo_event *a, const struct wo_event *b) {
  return a->rank == b->rank || a->rank == WO_RANK_UNKNOWN || b->rank == WO_RANK_UNKNOWN;
}

bool wo_story_is_memory(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
}

/* Compares the last step before the failure with the steps after it. */
static bool steps_went_on(const struct wo_job *job, const struct wo_event *failure) {
  double before = -1;
  double total = -1;
  wo_each_event (event, &job->events) {
    if (event->kind != WO_KIND_PROGRESS || event->of != failure->id) continue;
    if (job->story.run_of[event->id] != job->story.run_of[failure->id]) continue;
    const double step = wo_event_number(event, WO_FIELD_STEP, -1);
    const double of = wo_event_number(event, WO_FIELD_STEP_TOTAL, -1);
    if (!is_later(job, event, failure)) {
      before = step;
      total = of;
    } else if (before >= 0 && of == total && step >= before + PROGRESS_STEPS) {
      return true;
    }
  }
  return false;
}

/* Whether srun ended the other tasks because one had ended by itself. Without ranks, steps after the failure may come from those
 * others, which ran on for a moment. */
static bool has_one_task_gone(const struct wo_job *job, const struct wo_event *failure) {
  bool has_own_exit = false, has_ended_others = false;
  if (failure->rank != WO_RANK_UNKNOWN) return false;
  wo_each_event (event, &job->events) {
    if (event->kind != WO_KIND_TASK_EXIT || event->is_quoted || !is_later(job, event, failure)) continue;
    if (wo_event_number(event, WO_FIELD_EXIT_CODE, 0) > 0) has_own_exit = true;
    if (wo_event_text(event, WO_FIELD_SIGNAL).len > 0) has_ended_others = true;
  }
  return has_own_exit && has_ended_others;
}

/* Whether a later exception in the same file, by the same rank, shows that the program was still running its own code. */
static bool died_of_something_else(const struct wo_job *job, const struct wo_event *failure) {
  bool is_memory_later = false;
  bool is_other_later = false;
  const wo_event_id own = wo_story_traceback_of(job, failure);
  wo_each_event (event, &job->events) {
    if (event->is_quoted || !is_later(job, event, failure) || !is_same_rank(event, failure)) continue;
    if (wo_story_is_memory(event)) is_memory_later = true;
    const bool is_own = event->kind == WO_KIND_TRACEBACK && !wo_story_is_echo(event) &&
                        wo_event_number(event, WO_FIELD_IS_CHAINED, 0) == 0 && event->id != own;
    /* A traceback about memory is another report of the same failure. */
    if (is_own && !wo_view_has_nocase(wo_event_text(event, WO_FIELD_MESSAGE), "out of memory") &&
        !wo_view_has(wo_event_text(event, WO_FIELD_EXCEPTION), "OutOfMemory")) {
      is_other_later = true;
    }
  }
  return is_other_later && !is_memory_later;
}

/* A message of recovery decides. Without one the job must have gone on: to a good end without a bad one, to further steps, or to
 * an exception that has nothing to do with memory. */
bool wo_story_survived(const struct wo_job *job, size_t failure_index) {
  const struct wo_event *failure = &job->events.items[failure_index];
  bool has_success = false;
  bool has_bad_end = false;
  wo_each_event (event, &job->events) {
    if (event->is_quoted || !is_later(job, event, failure)) continue;
    if (event->kind == WO_KIND_RECOVERY && event->span.line - failure->span.line <= RECOVERY_LINES) return true;
    if (event->kind == WO_KIND_SUCCESS) has_success = true;
    const enum wo_class class = wo_kind_class(event->kind);
    if (class == WO_CLASS_EXIT || class == WO_CLASS_ENDING || event->kind == WO_KIND_ELASTIC) has_bad_end = true;
  }
  if (has_success && !has_bad_end) return true;
  return (steps_went_on(job, failure) && !has_one_task_gone(job, failure)) || died_of_something_else(job, failure);
}
