/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from another failure: which events these are, and what each of them is by itself, when the log has nothing else.
 *
 * A lost peer, a child that ended, a signal to the launcher: the first failure is elsewhere, often in a log that was not given.
 * Then the job still ended, and the best line of it is the one that says most about the end. */
#include "analyzer/story/story_internal.h"
#include "parsers/event/signal.h"

/* Exceptions that report the end of another process. */
static const char *const echo_exceptions[] = {
    "SignalException",
    "ChildFailedError",
    "ProcessExitedException",
    "ProcessRaisedException",
    "RayTaskError",
    "EngineDeadError",
    "CalledProcessError",
    "BrokenPipeError",
    "ConnectionResetError",
    "ConnectionRefusedError",
    "DistStoreError",
    "ActorDiedError",
    "RayActorError",
    "WorkerCrashedError",
    "SystemExit",
    "DistNetworkError",
    "AsyncEngineDeadError",
    "BrokenProcessPool",
    "TerminatedWorkerError",
    "Joblib",
    "NodeDiedError",
    "OwnerDiedError",
    "TrainingFailedError",
    "TuneError",
    "FailedJobError",
    "UncompletedJobError",
    "CellExecutionError",
    "PapermillExecutionError",
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
    "terminated with the following error",
    "communicator was aborted",
    "Background loop has errored",
    "Engine loop is not running",
    "backend process has shutdown",
};

/* A process that cannot open its own port fails by itself, although the exception is the one for lost peers. */
static bool is_port_taken(struct wo_view message) {
  return wo_view_has(message, "failed to listen") || wo_view_has(message, "EADDRINUSE");
}

/* A pipe whose other end is gone gives no words with the exception; a file that ends too early does. */
static bool is_end_of_pipe(const struct wo_event *traceback) {
  return wo_view_has(wo_event_text(traceback, WO_FIELD_EXCEPTION), "EOFError") &&
         wo_event_text(traceback, WO_FIELD_MESSAGE).len == 0;
}

bool wo_story_is_echo(const struct wo_event *traceback) {
  if (is_port_taken(wo_event_text(traceback, WO_FIELD_MESSAGE))) return false;
  return is_end_of_pipe(traceback) || WO_VIEW_ANY(wo_event_text(traceback, WO_FIELD_EXCEPTION), wo_view_has, echo_exceptions) ||
         WO_VIEW_ANY(wo_event_text(traceback, WO_FIELD_MESSAGE), wo_view_has, echo_messages);
}

/* Events of one line are this near in the store. */
#define BESIDE_EVENTS 4

struct wo_event *wo__next_beside(struct wo_job *job, const struct wo_event *event, const struct wo_event *before) {
  const size_t at = (size_t)event->id;
  for (size_t i = before ? (size_t)before->id + 1 : at > BESIDE_EVENTS ? at - BESIDE_EVENTS : 0; i <= at + BESIDE_EVENTS; i++) {
    if (i >= job->events.count) return NULL;
    struct wo_event *const other = &job->events.items[i];
    if (other->span.file == event->span.file && other->span.line == event->span.line) return other;
  }
  return NULL;
}

bool wo_story_is_suspicion(const struct wo_event *event) {
  return wo_event_field(event, WO_FIELD_IS_SUSPECTED) != NULL;
}

bool wo__is_consequence(const struct wo_event *event) {
  return wo_kind_class(event->kind) == WO_CLASS_CONSEQUENCE || (event->kind == WO_KIND_TRACEBACK && wo_story_is_echo(event));
}

/* Xid lines of this sort only follow from others (parsers/formats/kernel/fmt_xid.c). */
bool wo__is_reaction(const struct wo_event *event) {
  return wo__is_consequence(event) && (wo_story_is_suspicion(event) || wo_event_field(event, WO_FIELD_XID));
}

bool wo__is_ended_by_others(const struct wo_event *task) {
  const enum wo_signal signal = wo_signal_of_text(wo_event_text(task, WO_FIELD_SIGNAL));
  return signal == WO_SIGNAL_KILL || signal == WO_SIGNAL_TERM;
}

bool wo__is_interrupt(const struct wo_event *event) {
  return event->kind == WO_KIND_TRACEBACK && wo_view_ends(wo_event_text(event, WO_FIELD_EXCEPTION), "KeyboardInterrupt");
}

/* ---- srun's answer to a task ---- */

/* Whether a task ended by itself, and was not ended with the others. */
static bool is_task_failure(const struct wo_event *event) {
  if (event->kind == WO_KIND_SECONDARY) return wo_view_has(event->text, "First task exited");
  if (event->kind != WO_KIND_TASK_EXIT || wo_story_is_accounting(event)) return false;
  const enum wo_signal signal = wo_signal_of(event);
  return signal != WO_SIGNAL_KILL && signal != WO_SIGNAL_TERM;
}

bool wo_story_may_answer_task(const struct wo_event *failure) {
  if (wo_story_is_accounting(failure)) return false;
  if (failure->kind == WO_KIND_CANCELLED) return wo_event_field(failure, WO_FIELD_STEP_ID) != NULL;
  return failure->kind == WO_KIND_TASK_EXIT && !is_task_failure(failure);
}

/* Whether the event stands above the failure, in the same run. */
static bool is_above(const struct wo_job *job, const struct wo_event *event, const struct wo_event *failure) {
  return event->span.file == failure->span.file && event->span.line < failure->span.line &&
         job->story.run_of[event->id] == job->story.run_of[failure->id];
}

const struct wo_event *wo_story_failed_task(const struct wo_job *job, const struct wo_event *failure) {
  if (!wo_story_may_answer_task(failure)) return NULL;
  if (wo_view_is(wo_event_text(failure, WO_FIELD_REASON), "TASK FAILURE")) return failure;
  wo_each_event (event, &job->events) {
    if (!event->is_quoted && is_above(job, event, failure) && is_task_failure(event)) return event;
  }
  return NULL;
}

/* ---- By themselves ---- */

/* Whether the words are those of collective communication. */
static bool is_collective(const struct wo_event *event) {
  static const char *const words[] = {"NCCL",     "nccl",       "Socket Timeout", "Dist",          "gloo",
                                      "TCPStore", "store->get", "remote peer",    "closed by peer"};
  return WO_VIEW_ANY(wo_event_text(event, WO_FIELD_EXCEPTION), wo_view_has, words) ||
         WO_VIEW_ANY(wo_event_text(event, WO_FIELD_MESSAGE), wo_view_has, words) ||
         (event->kind == WO_KIND_SECONDARY && WO_VIEW_ANY(event->text, wo_view_has, words));
}

/* Signals that a person or the workload manager sends. */
static bool is_request_to_stop(enum wo_signal signal) {
  return signal == WO_SIGNAL_HUP || signal == WO_SIGNAL_INT || signal == WO_SIGNAL_TERM;
}

/* What the launcher does when one of its processes has ended says nothing of a signal from outside. */
enum wo_outcome wo__outcome_of_consequence(const struct wo_event *event) {
  const struct wo_view signal = wo_event_text(event, WO_FIELD_SIGNAL);
  if (wo__is_reaction(event)) return WO_OUTCOME_OTHER;
  if (signal.len > 0) return is_request_to_stop(wo_signal_of_text(signal)) ? WO_OUTCOME_CANCELLED : WO_OUTCOME_OTHER;
  if (is_collective(event)) return WO_OUTCOME_NCCL;
  const bool is_exception = event->kind == WO_KIND_TRACEBACK || wo_view_has(event->text, "Error");
  return is_exception ? WO_OUTCOME_PROGRAM_ERROR : WO_OUTCOME_OTHER;
}
