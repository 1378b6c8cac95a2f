/* Without labels (srun -l) lines of all tasks run into one file, and a traceback names no rank. srun then still says which task
 * ended by itself: "srun: error: gpu02: task 2: Exited with exit code 1". With every other task killed in its wake, the message
 * is that task's. */
#include "analyzer/rank_infer.h"

/* Launchers start several ranks within a task, whose number then is a node's. */
static bool has_launcher(const struct wo_job *job) {
  static const char *const launchers[] = {"torchrun", "torch.distributed", "accelerate", "deepspeed"};
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (event->kind == WO_KIND_ELASTIC) return true;
    if (event->kind == WO_KIND_CONFIG && wo_view_is(wo_event_text(event, WO_FIELD_KNOB), "n_gpus")) return true;
    for (size_t k = 0; k < sizeof launchers / sizeof launchers[0]; k++) {
      if (wo_view_has(wo_event_text(event, WO_FIELD_PROGRAM), launchers[k])) return true;
    }
  }
  return false;
}

/* Whether the job holds another message of the card's memory than this one. */
static bool has_other_message(const struct wo_job *job, const struct wo_event *failure) {
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (event != failure && !event->is_quoted && wo_kind_class(event->kind) == WO_CLASS_GPU_MEMORY) return true;
  }
  return false;
}

/* What the lines about tasks say together. */
struct ends {
  size_t by_themselves; /* tasks with a code or a signal of their own, or lines about several such tasks */
  size_t killed;        /* lines about tasks that were ended from outside */
  uint64_t task;        /* the one that ended by itself */
};

/* A line "tasks 1-3" counts twice: more than one is all that matters. */
static void count_end(struct ends *ends, const struct wo_event *event) {
  struct wo_view tasks = wo_event_text(event, WO_FIELD_TASKS);
  const struct wo_view signal = wo_event_text(event, WO_FIELD_SIGNAL);
  if (wo_view_is(signal, "Killed") || wo_view_is(signal, "Terminated")) {
    ends->killed++;
    return;
  }
  const bool is_one = wo_number_u64(&tasks, 1000000, &ends->task) == WO_OK && tasks.len == 0;
  ends->by_themselves += is_one && signal.len == 0 ? 1 : 2;
}

/* A single task says nothing: what it started itself has ranks of its own. Task 2 cannot be alone. */
int32_t wo_rank_infer(const struct wo_job *job, const struct wo_event *failure) {
  struct ends ends = {0};
  if (failure->rank != WO_RANK_UNKNOWN || wo_kind_class(failure->kind) != WO_CLASS_GPU_MEMORY) return WO_RANK_UNKNOWN;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    const bool is_srun = event->kind == WO_KIND_TASK_EXIT && wo_event_field(event, WO_FIELD_TASKS) != NULL;
    if (is_srun && !event->is_quoted) count_end(&ends, event);
  }
  const bool is_several = ends.task > 0 || ends.killed > 0;
  if (ends.by_themselves != 1 || !is_several || has_other_message(job, failure) || has_launcher(job)) return WO_RANK_UNKNOWN;
  return (int32_t)ends.task;
}
