/* SPDX-License-Identifier: Apache-2.0 */
/* Which events can be the end of the job, and which cannot: those that were survived, that another event explains, or after which
 * the job went on. */
#include "analyzer/story/story_internal.h"
#include "parsers/event/signal.h"

/* Lines between the death of a process without a rank and the end of the job, at most, if the job hung in between. */
#define HANG_LINES 40

/* Exit codes up to this one are a program's own; shells use those above for signals. */
#define EXIT_OWN_MAX 128

/* Whether a process ended because it used a wrong address. */
static bool is_wrong_address(const struct wo_event *event) {
  const enum wo_signal signal = wo_signal_of(event);
  return event->kind == WO_KIND_TASK_EXIT && (signal == WO_SIGNAL_SEGV || signal == WO_SIGNAL_BUS);
}

/* Whether NCCL could not do its work, for a reason that PyTorch passes on in its exception. */
static bool is_of_nccl(const struct wo_event *event) {
  return event->kind == WO_KIND_TRACEBACK && wo_view_starts(wo_event_text(event, WO_FIELD_MESSAGE), "NCCL error in: ");
}

enum wo_outcome wo__outcome_of(const struct wo_event *event) {
  if (wo__is_consequence(event)) return wo__outcome_of_consequence(event);
  static const enum wo_outcome of_kinds[WO_KIND_COUNT_] = {
      [WO_KIND_TIME_LIMIT] = WO_OUTCOME_TIME_LIMIT, [WO_KIND_CANCELLED] = WO_OUTCOME_CANCELLED,
      [WO_KIND_PREEMPTED] = WO_OUTCOME_PREEMPTED,   [WO_KIND_NODE_FAIL] = WO_OUTCOME_NODE_FAIL,
      [WO_KIND_LAUNCH_FAIL] = WO_OUTCOME_OTHER,     [WO_KIND_SEGFAULT] = WO_OUTCOME_SEGFAULT,
      [WO_KIND_NCCL_TIMEOUT] = WO_OUTCOME_NCCL,     [WO_KIND_DISK] = WO_OUTCOME_DISK,
      [WO_KIND_XID] = WO_OUTCOME_HARDWARE,          [WO_KIND_HARDWARE] = WO_OUTCOME_HARDWARE};
  static const enum wo_outcome of_classes[WO_CLASS_CONTEXT + 1] = {[WO_CLASS_GPU_MEMORY] = WO_OUTCOME_GPU_OOM,
                                                                   [WO_CLASS_HOST_MEMORY] = WO_OUTCOME_HOST_OOM,
                                                                   [WO_CLASS_PROGRAM] = WO_OUTCOME_PROGRAM_ERROR,
                                                                   [WO_CLASS_EXIT] = WO_OUTCOME_OTHER};
  if (wo__is_interrupt(event) || event->mark == WO_MARK_STOPPED) return WO_OUTCOME_CANCELLED;
  if (is_wrong_address(event)) return WO_OUTCOME_SEGFAULT;
  if (is_of_nccl(event)) return WO_OUTCOME_NCCL;
  const enum wo_outcome of_kind = of_kinds[event->kind];
  return of_kind != WO_OUTCOME_UNKNOWN ? of_kind : of_classes[wo_kind_class(event->kind)];
}

/* A SIGKILL without a word about memory, which a cancellation or a time limit explains as well. */
static bool is_weak_kill(const struct wo_event *event) {
  const bool has_code = wo_event_field(event, WO_FIELD_EXIT_CODE);
  return event->kind == WO_KIND_HOST_OOM && (has_code || wo_signal_of(event) == WO_SIGNAL_KILL);
}

/* Whether the logger that wrote the line calls it no failure. A lost peer is often only a warning: others end the program. A
 * launcher that was stopped by a signal, and a program that was, may say it in any tone. */
static bool is_mild(const struct wo_event *event) {
  if (event->mark == WO_MARK_STOPPED) return false;
  if (event->kind == WO_KIND_SECONDARY && wo_event_field(event, WO_FIELD_SIGNAL)) return false;
  const enum wo_severity least = wo__is_consequence(event) ? WO_SEVERITY_ERROR : WO_SEVERITY_WARNING;
  return wo_severity_is_below(event->severity, least) && wo_kind_class(event->kind) != WO_CLASS_ENDING;
}

/* A job never dies of an event that belongs to another one (`of`), such as progress around a failure. */
static bool is_candidate(const struct wo_event *event) {
  if (event->is_quoted || event->of != WO_EVENT_NONE) return false;
  if (wo__is_consequence(event)) return !is_mild(event) || wo__is_reaction(event);
  if (event->kind == WO_KIND_UNKNOWN_FAILURE) return true;
  return !wo_story_is_suspicion(event) && !is_mild(event) && wo__outcome_of(event) != WO_OUTCOME_UNKNOWN;
}

/* Kinds that say more than the traceback around them. */
static bool is_specific(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY || class == WO_CLASS_HARDWARE ||
         event->kind == WO_KIND_DISK;
}

/* A traceback or error that only frames a more specific message belongs to it, and so does one whose message tells that a worker
 * crashed; steps between the two show that it does not. */
static bool is_frame(const struct wo_job *job, const struct wo_event *event) {
  const bool is_echo = wo__is_consequence(event);
  if (event->kind != WO_KIND_TRACEBACK && event->kind != WO_KIND_PROGRAM_ERROR) return false;
  const size_t first = (size_t)event->id;
  for (size_t i = first; i < job->events.count && i - first <= WO__TRACEBACK_EVENTS; i++) {
    const struct wo_event *other = &job->events.items[i];
    if (other->kind == WO_KIND_PROGRESS && other->of == event->id && other->span.line > event->span.line) return false;
    const bool is_of_worker = other->kind == WO_KIND_SEGFAULT && other->span.line == event->span.line;
    const bool is_better =
        is_specific(other) || is_of_worker || (is_echo && other->kind == WO_KIND_SECONDARY && !wo__is_reaction(other));
    if (!is_better || other->is_quoted) continue;
    if (other->span.file != event->span.file || other->rank != event->rank) continue;
    if (other->span.line >= event->span.line && other->span.line - event->span.line <= WO__TRACEBACK_LINES) return true;
  }
  return false;
}

/* Whether an event says more of an exception than its name does: it is on its line, or in its message. A code does not, nor does
 * what the workload manager did then. */
static bool explains(const struct wo_event *event, const struct wo_event *bare) {
  const enum wo_class class = wo_kind_class(event->kind);
  if (event->is_quoted || event->id == bare->id || class == WO_CLASS_CONTEXT || class == WO_CLASS_EXIT ||
      class == WO_CLASS_ENDING)
    return false;
  return event->span.file == bare->span.file && event->span.line >= bare->span.line &&
         event->span.line - bare->span.line <= (event->kind == WO_KIND_TRACEBACK ? 0 : WO__TRACEBACK_LINES);
}

/* Whether one of the events around the exception in the store, which keeps nearly the order of lines, explains it. */
static bool is_explained(const struct wo_job *job, const struct wo_event *bare) {
  const size_t at = (size_t)bare->id;
  const size_t from = at > WO__TRACEBACK_EVENTS ? at - WO__TRACEBACK_EVENTS : 0;
  for (size_t i = from; i < job->events.count && i <= at + WO__TRACEBACK_EVENTS; i++) {
    if (explains(&job->events.items[i], bare)) return true;
  }
  return false;
}

void wo__set_explained_aside(struct wo_job *job) {
  for (size_t i = 0; i < job->events.count; i++) {
    struct wo_event *const event = &job->events.items[i];
    if (wo_event_field(event, WO_FIELD_IS_BARE) && is_explained(job, event)) event->is_quoted = true;
  }
}

/* Whether a process was killed, or died of a fault: its peers fail for that, not it for them. */
static bool is_crash(const struct wo_event *event) {
  static const enum wo_signal signals[] = {WO_SIGNAL_ILL, WO_SIGNAL_BUS, WO_SIGNAL_FPE, WO_SIGNAL_KILL, WO_SIGNAL_SEGV};
  if (wo_kind_class(event->kind) != WO_CLASS_EXIT) return false;
  const enum wo_signal signal = wo_signal_of(event);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    if (signal == signals[i]) return true;
  }
  return event->kind == WO_KIND_KILLED;
}

enum wo__claim wo__claim_of(const struct wo_event *event) {
  static const enum wo__claim of_classes[WO_CLASS_CONTEXT + 1] = {
      [WO_CLASS_GPU_MEMORY] = WO__CLAIM_MEMORY, [WO_CLASS_HOST_MEMORY] = WO__CLAIM_MEMORY, [WO_CLASS_ENDING] = WO__CLAIM_ENDING,
      [WO_CLASS_HARDWARE] = WO__CLAIM_ENDING,   [WO_CLASS_PROGRAM] = WO__CLAIM_PROGRAM,    [WO_CLASS_EXIT] = WO__CLAIM_EXIT};
  if (event->kind == WO_KIND_TRACEBACK && wo_event_field(event, WO_FIELD_IS_CAUGHT)) return WO__CLAIM_CAUGHT;
  if (wo__is_consequence(event)) return wo__is_reaction(event) ? WO__CLAIM_REACTION : WO__CLAIM_SECONDARY;
  if (is_weak_kill(event)) return WO__CLAIM_PROGRAM;
  if (event->kind == WO_KIND_UNKNOWN_FAILURE) return WO__CLAIM_UNKNOWN;
  if (is_crash(event)) return WO__CLAIM_CRASH;
  if (wo_event_field(event, WO_FIELD_IS_BARE)) return WO__CLAIM_BARE;
  if (event->kind == WO_KIND_CANCELLED) return WO__CLAIM_CANCELLED;
  return event->kind == WO_KIND_NCCL_TIMEOUT ? WO__CLAIM_NCCL : of_classes[wo_kind_class(event->kind)];
}

/* Whether a task ended by itself, as srun tells it: srun ends the step for that. A kill may be a person's. */
static bool is_task_failure(const struct wo_event *event) {
  static const char *const ends[] = {"Killed", "Terminated"};
  const struct wo_view signal = wo_event_text(event, WO_FIELD_SIGNAL);
  if (event->kind != WO_KIND_TASK_EXIT || wo_story_is_accounting(event)) return false;
  return signal.len > 0 ? !WO_VIEW_ANY(signal, wo_view_starts, ends) : wo_event_number(event, WO_FIELD_EXIT_CODE, 0) > 0;
}

/* Whether the event says why a process ended: more than an exit code of the program's own. Where there are several files, a line
 * that no pattern knows may still be dropped. */
static bool says_why(const struct wo_job *job, const struct wo_event *event) {
  const enum wo__claim claim = wo__claim_of(event);
  if (claim == WO__CLAIM_UNKNOWN && job->story.file_count > 1) return false;
  if (claim <= WO__CLAIM_REACTION || event->kind == WO_KIND_CANCELLED || wo_story_is_accounting(event)) return false;
  if (claim != WO__CLAIM_EXIT || wo_event_field(event, WO_FIELD_SIGNAL)) return true;
  const double code = wo_event_number(event, WO_FIELD_EXIT_CODE, -1);
  return code < 0 || code > EXIT_OWN_MAX;
}

/* By run + 1: the first line that says why a process ended, and the first task that srun reports to have failed after it; 0 for
 * none. */
struct reasons {
  uint64_t why[WO_LIMIT_RUNS + 1];
  uint64_t task[WO_LIMIT_RUNS + 1];
};

static void note_line(uint64_t *line, const struct wo_event *event) {
  if (*line == 0 || event->span.line < *line) *line = event->span.line;
}

/* Readers that wait for the end of a message give their events later than those of the lines below: hence three walks. */
static void drop_answers_of(struct wo_job *job, bool *is_open, const struct wo_file_events *file) {
  struct reasons reasons = {{0}, {0}};
  const int32_t *const run_of = job->story.run_of;
  for (size_t i = file->first; i < file->end; i++) {
    if (is_open[i] && says_why(job, &job->events.items[i])) note_line(&reasons.why[run_of[i] + 1], &job->events.items[i]);
  }
  for (size_t i = file->first; i < file->end; i++) {
    const struct wo_event *const event = &job->events.items[i];
    const uint64_t why = reasons.why[run_of[i] + 1];
    if (why > 0 && event->span.line >= why && !event->is_quoted && is_task_failure(event))
      note_line(&reasons.task[run_of[i] + 1], event);
  }
  for (size_t i = file->first; i < file->end; i++) {
    const struct wo_event *const event = &job->events.items[i];
    const uint64_t task = reasons.task[run_of[i] + 1];
    const bool is_answer = is_open[i] && event->kind == WO_KIND_CANCELLED && wo_event_field(event, WO_FIELD_STEP_ID);
    if (!is_answer || task == 0 || event->span.line < task || wo_story_is_accounting(event)) continue;
    is_open[i] = false;
    job->story.roles[i] = WO_ROLE_CONSEQUENCE;
  }
}

/* srun cancels a step when one of its tasks has failed. Where the log says before why a process ended, that decides, and the
 * cancellation follows from it. */
static void drop_answers(struct wo_job *job, bool *is_open) {
  for (size_t f = 0; f < job->story.file_count; f++) drop_answers_of(job, is_open, &job->story.files[f]);
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

/* Whether a process died of this exception while others waited for it: it is of a rank, or nothing but the end of the job stands
 * below it. */
static bool has_hung_after(struct wo_job *job, const struct wo_event *death, const struct wo_event *limit) {
  if (death->kind != WO_KIND_TRACEBACK || death->span.file != limit->span.file || death->span.line >= limit->span.line)
    return false;
  if (job->story.run_of[death->id] != job->story.run_of[limit->id] || !wo__is_uncaught(job, death)) return false;
  return death->rank != WO_RANK_UNKNOWN || limit->span.line - death->span.line <= HANG_LINES;
}

/* A job that hangs because one of its processes died reaches its time limit: the death decides. Steps after it show that the job
 * went on. */
static void drop_hung_limits(struct wo_job *job, bool *is_open) {
  const struct wo_event *limit = NULL, *last_step = NULL;
  wo_each_event (event, &job->events) {
    if (is_open[event->id] && event->kind == WO_KIND_TIME_LIMIT && !wo_story_is_accounting(event) && !limit) limit = event;
    if (event->kind == WO_KIND_PROGRESS && (!last_step || event->span.line > last_step->span.line)) last_step = event;
  }
  if (!limit) return;
  wo_each_event (event, &job->events) {
    const bool has_gone_on = last_step && last_step->span.file == event->span.file && last_step->span.line > event->span.line;
    if (!is_open[event->id] || has_gone_on || !has_hung_after(job, event, limit)) continue;
    is_open[limit->id] = false;
    job->story.roles[limit->id] = WO_ROLE_CONSEQUENCE;
    return;
  }
}

enum wo_status wo__claims_open(struct wo_job *job, bool *is_open) {
  wo_each_event (event, &job->events)
    is_open[event->id] = is_candidate(event) && !is_frame(job, event) && !wo__is_wrapper(job, event);
  if (wo__survivors_find(job, is_open) != WO_OK) return WO_E_NOMEM;
  drop_answers(job, is_open);
  drop_explained_kills(job, is_open);
  drop_outlived(job, is_open);
  drop_hung_limits(job, is_open);
  return WO_OK;
}
