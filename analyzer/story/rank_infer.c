/* SPDX-License-Identifier: Apache-2.0 */
/* Without labels (srun -l) all tasks write to one file, and a traceback names no rank. srun still reports which task ended by
 * itself: "srun: error: gpu02: task 2: Exited with exit code 1". If every other task was killed after it, the message is from
 * that task. */
#include "analyzer/story/rank_infer.h"

#include <stdio.h>

#include "analyzer/files/names.h"
#include "analyzer/story/story_internal.h"

/* Limits of hosts and tasks, and of the bytes of a name that are compared. */
#define HOSTS_MAX 64
#define TASKS_MAX 4096
#define NAME_BYTES 64

/* Whether the program starts its ranks itself: an exception that repeats the error of a child process, or the frames, show it. */
static bool is_spawned(const struct wo_event *event) {
  const struct wo_view exception = wo_event_text(event, WO_FIELD_EXCEPTION);
  return event->kind == WO_KIND_TRACEBACK &&
         (wo_view_has(exception, "ProcessRaisedException") || wo_view_has(exception, "ProcessExitedException") ||
          wo_view_has(wo_event_text(event, WO_FIELD_FRAMES), "torch/multiprocessing/spawn"));
}

/* Launchers start several ranks within a task, so the number of the task is that of a node. */
static bool has_launcher(const struct wo_job *job) {
  static const char *const launchers[] = {"torchrun", "torch.distributed", "accelerate", "deepspeed"};
  wo_each_event (event, &job->events) {
    if (event->kind == WO_KIND_ELASTIC || is_spawned(event)) return true;
    if (event->kind == WO_KIND_CONFIG && wo_view_is(wo_event_text(event, WO_FIELD_KNOB), "n_gpus")) return true;
    if (WO_VIEW_ANY(wo_event_text(event, WO_FIELD_PROGRAM), wo_view_has, launchers)) return true;
  }
  return false;
}

/* Whether another message about GPU memory is in the job. */
static bool has_other_message(const struct wo_job *job, const struct wo_event *failure) {
  wo_each_event (event, &job->events) {
    if (event != failure && !event->is_quoted && wo_kind_class(event->kind) == WO_CLASS_GPU_MEMORY) return true;
  }
  return false;
}

/* The lines about ends of tasks, counted. */
struct ends {
  size_t by_themselves; /* tasks that ended with a code or a signal; a line about several such tasks counts 2 */
  size_t killed;        /* lines about tasks that were ended from outside */
  uint64_t task;        /* the one that ended by itself */
};

/* A line "tasks 1-3" counts 2: it only matters whether there is more than one. */
static void count_end(struct ends *ends, const struct wo_event *event) {
  struct wo_view tasks = wo_event_text(event, WO_FIELD_TASKS);
  const struct wo_view signal = wo_event_text(event, WO_FIELD_SIGNAL);
  if (wo__is_ended_by_others(event)) {
    ends->killed++;
    return;
  }
  const bool is_one = wo_number_u64(&tasks, 1000000, &ends->task) == WO_OK && tasks.len == 0;
  ends->by_themselves += is_one && signal.len == 0 ? 1 : 2;
}

/* Hosts of the lines about tasks, and how many tasks ran there. */
struct places {
  char hosts[HOSTS_MAX][NAME_BYTES];
  size_t host_count;
  size_t tasks;
  bool is_host_named_twice;
};

static bool add_host(void *context, struct wo_view host) {
  struct places *places = context;
  const struct wo_view name = wo_view_sub(host, 0, host.len < NAME_BYTES ? host.len : NAME_BYTES - 1);
  for (size_t i = 0; i < places->host_count; i++) {
    if (wo_view_is(name, places->hosts[i])) places->is_host_named_twice = true;
  }
  if (places->is_host_named_twice || places->host_count == HOSTS_MAX) return false;
  memcpy(places->hosts[places->host_count], name.ptr, name.len);
  places->hosts[places->host_count++][name.len] = '\0';
  return true;
}

static bool add_task(void *context, struct wo_view task) {
  struct places *places = context;
  (void)task;
  return ++places->tasks < TASKS_MAX;
}

/* Whether each of several tasks had a node to itself: then it has all GPUs of the node, and may run one rank on each. */
static bool is_task_a_node(const struct wo_job *job) {
  struct places places = {.host_count = 0};
  wo_each_event (event, &job->events) {
    const struct wo_view tasks = wo_event_text(event, WO_FIELD_TASKS);
    if (event->kind != WO_KIND_TASK_EXIT || event->is_quoted || tasks.len == 0) continue;
    char list[256];
    const int len = snprintf(list, sizeof list, "[%.*s]", (int)(tasks.len < 200 ? tasks.len : 200), tasks.ptr);
    wo_name_each_host((struct wo_view){list, (size_t)len}, add_task, &places);
    wo_name_each_host(wo_event_text(event, WO_FIELD_HOST), add_host, &places);
  }
  return places.tasks > 1 && !places.is_host_named_twice && places.tasks <= places.host_count;
}

/* A single task decides nothing, because it may have started several ranks. A task with a number above 0 is not the only one. */
int32_t wo_rank_infer(const struct wo_job *job, const struct wo_event *failure) {
  struct ends ends = {0};
  if (failure->rank != WO_RANK_UNKNOWN || wo_kind_class(failure->kind) != WO_CLASS_GPU_MEMORY) return WO_RANK_UNKNOWN;
  wo_each_event (event, &job->events) {
    const bool is_srun = event->kind == WO_KIND_TASK_EXIT && wo_event_field(event, WO_FIELD_TASKS) != NULL;
    if (is_srun && !event->is_quoted) count_end(&ends, event);
  }
  const bool is_several = ends.task > 0 || ends.killed > 0;
  if (ends.by_themselves != 1 || !is_several || has_other_message(job, failure)) return WO_RANK_UNKNOWN;
  if (has_launcher(job) || is_task_a_node(job)) return WO_RANK_UNKNOWN;
  return (int32_t)ends.task;
}
