/* SPDX-License-Identifier: Apache-2.0 */
/* Which job this is: its id, its nodes, the number of its ranks. */
#include "analyzer/files/names.h"
#include "analyzer/story/story_internal.h"

/* Adds each name once. The list is short: for a job on more nodes it holds the first ones. */
static void add_node(struct wo_story *story, struct wo_view node) {
  if (node.len == 0 || story->node_count == sizeof story->nodes / sizeof story->nodes[0]) return;
  for (size_t i = 0; i < story->node_count; i++) {
    if (wo_view_equal(story->nodes[i], node)) return;
  }
  story->nodes[story->node_count++] = node;
}

/* Ranks that the launch line starts: processes per node times nodes; 0 when the line does not say. */
static int32_t ranks_launched(const struct wo_job *job) {
  double per_node = 0;
  double nodes = 1;
  wo_each_event (event, &job->events) {
    struct wo_view value = wo_event_text(event, event->kind == WO_KIND_SBATCH ? WO_FIELD_NODES : WO_FIELD_VALUE);
    uint64_t number = 0;
    if (wo_number_u64(&value, 100000, &number) != WO_OK || value.len > 0 || number == 0) continue;
    if (event->kind == WO_KIND_SBATCH) nodes = (double)number;
    if (event->kind == WO_KIND_CONFIG && wo_view_is(wo_event_text(event, WO_FIELD_KNOB), "n_gpus")) per_node = (double)number;
  }
  const double ranks = per_node * nodes;
  return ranks < 1e6 ? (int32_t)ranks : 0;
}

/* The highest number of srun's list "0-3,7" of tasks that ended; -1 without one. A task runs one rank, or several. */
static int32_t highest_task(const struct wo_event *event) {
  struct wo_view list = wo_event_text(event, WO_FIELD_TASKS);
  int32_t highest = -1;
  if (event->kind != WO_KIND_TASK_EXIT || event->is_quoted || wo_story_is_accounting(event)) return -1;
  while (list.len > 0) {
    struct wo_view last = wo_view_cut(&list, ',');
    const struct wo_view first = wo_view_cut(&last, '-');
    uint64_t task = 0;
    if (last.len == 0) last = first;
    if (wo_number_u64(&last, 1000000, &task) == WO_OK && last.len == 0 && (int32_t)task > highest) highest = (int32_t)task;
  }
  return highest;
}

/* Called for each name of SLURM's list "gpu[01-04]". The name is in a buffer of the caller, so a new one is copied. False stops
 * the walk when the list is full. */
static bool add_listed_node(void *context, struct wo_view node) {
  struct wo_job *job = context;
  struct wo_story *story = &job->story;
  const size_t before = story->node_count;
  add_node(story, node);
  if (story->node_count > before) story->nodes[before] = wo_arena_copy(&job->arena, node);
  return story->node_count < sizeof story->nodes / sizeof story->nodes[0];
}

/* Nodes that were allocated, and tasks that were started. A single task may start several ranks, so that number is ignored. */
static void read_allocation(struct wo_job *job, const struct wo_event *event) {
  struct wo_story *story = &job->story;
  if (event->kind != WO_KIND_JOB_INFO || wo_event_field(event, WO_FIELD_STEP_ID)) return;
  wo_name_each_host(wo_event_text(event, WO_FIELD_NODES), add_listed_node, job);
  struct wo_view tasks = wo_event_text(event, WO_FIELD_TASKS);
  uint64_t number = 0;
  if (story->rank_count < 0 && wo_number_u64(&tasks, 1000000, &number) == WO_OK && number > 1)
    story->rank_count = (int32_t)number;
  const double task = wo_event_number(event, WO_FIELD_ARRAY_TASK, -1);
  if (story->array_task < 0 && task >= 0) story->array_task = (int64_t)task;
}

/* Reads id and task from the names of logs. Lines name a task of an array by its own id, so often only the file name has its
 * number. */
static void read_names(struct wo_job *job) {
  struct wo_story *story = &job->story;
  for (size_t i = 0; i < job->input_count; i++) {
    int64_t task = -1;
    const struct wo_view id = wo_name_job(job->inputs[i].path, &task);
    if (id.len == 0) continue;
    if (story->job_id.len == 0) story->job_id = id;
    if (story->array_task < 0) story->array_task = task;
  }
}

/* The run that the report is about: that of the failure, else the last one; NULL where there is one only. */
static const struct wo_run *told_run(const struct wo_story *story) {
  if (story->failure == WO_EVENT_NONE) return story->run_count > 0 ? &story->runs[story->run_count - 1] : NULL;
  const int32_t run = story->run_of[story->failure];
  return run < 0 ? NULL : &story->runs[run];
}

void wo__read_identity(struct wo_job *job) {
  struct wo_story *story = &job->story;
  int32_t highest = -1, task = -1;
  wo_each_event (event, &job->events) {
    if (event->is_quoted && wo_story_is_accounting(event)) continue;
    if (story->job_id.len == 0) story->job_id = wo__job_id_of(event);
    if (event->rank > highest) highest = event->rank;
    const int32_t ended = highest_task(event);
    if (ended > task) task = ended;
    if (wo_kind_class(event->kind) != WO_CLASS_CONTEXT || event->kind == WO_KIND_ELASTIC) {
      add_node(story, event->host.len > 0 ? event->host : wo_event_text(event, WO_FIELD_HOST));
    }
  }
  if (highest >= 0 && task > highest) highest = task;
  const int32_t launched = ranks_launched(job);
  story->rank_count = highest + 1 > launched ? highest + 1 : launched;
  if (story->rank_count == 0) story->rank_count = -1;
  const struct wo_run *const run = told_run(story);
  if (run && run->job_id.len > 0) story->job_id = run->job_id;
  for (size_t i = 0; i < job->events.count; i++) {
    if (!job->events.items[i].is_quoted) read_allocation(job, &job->events.items[i]);
  }
  read_names(job);
}
