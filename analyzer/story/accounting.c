/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rows of accounting that are about this job, and its final state in them.
 *
 * sacct prints many jobs, and a requeued job once for each start. The job is the one whose id a log names, in a line or in its
 * file's name; else the last one. Rows of other jobs and of earlier starts are ignored (is_quoted). */
#include "analyzer/files/names.h"
#include "analyzer/story/story_internal.h"

/* The job to look for. */
struct wanted {
  struct wo_view id;  /* empty: none known */
  int64_t array_task; /* or -1 */
};

/* Lines about a model have a state too: frozen or shard. */
bool wo_story_is_accounting(const struct wo_event *event) {
  return event->kind != WO_KIND_MODEL && wo_event_field(event, WO_FIELD_STATE) != NULL;
}

/* A row of the job itself. Rows of steps have states of their own: a job whose first step failed can still complete. */
static bool is_job_row(const struct wo_event *event) {
  return event->kind == WO_KIND_JOB_INFO && wo_story_is_accounting(event) && !wo_event_field(event, WO_FIELD_STEP_ID);
}

/* A task of an array has its own id besides the id of the array. If either side does not name the task, any task matches. */
static bool is_wanted(const struct wo_event *event, struct wanted wanted) {
  const bool is_own = wo_view_equal(wo_event_text(event, WO_FIELD_JOB), wanted.id);
  const bool is_array = wo_view_equal(wo_event_text(event, WO_FIELD_ARRAY_JOB), wanted.id);
  const double task = wo_event_number(event, WO_FIELD_ARRAY_TASK, -1);
  if (!is_own && !is_array) return false;
  return wanted.array_task < 0 || task < 0 || task == (double)wanted.array_task;
}

/* An id without a row is useless: logs also name other jobs, such as those that they wait for (--dependency). */
static bool has_rows(const struct wo_job *job, struct wanted wanted) {
  for (size_t i = 0; i < job->events.count; i++) {
    if (is_job_row(&job->events.items[i]) && is_wanted(&job->events.items[i], wanted)) return true;
  }
  return false;
}

struct wo_view wo__job_id_of(const struct wo_event *event) {
  struct wo_view id = wo_event_text(event, WO_FIELD_JOB);
  if (id.len == 0) id = wo_event_text(event, WO_FIELD_STEP_ID);
  return wo_view_cut(&id, '.');
}

/* The id in lines of a log: "JOB 4711 ON gpu02", "StepId=4711.0". */
static struct wo_view id_in_lines(const struct wo_job *job) {
  wo_each_event (event, &job->events) {
    if (event->is_quoted || wo_story_is_accounting(event)) continue;
    const struct wo_view id = wo__job_id_of(event);
    if (id.len > 0) return id;
  }
  return (struct wo_view){0};
}

/* Lines count more than the name of a file, which may contain the id of the array. The last resort is the last row, because sacct
 * prints the newest job at the end. */
static struct wanted find_wanted(const struct wo_job *job) {
  struct wanted wanted = {.id = id_in_lines(job), .array_task = -1};
  if (wanted.id.len > 0 && has_rows(job, wanted)) return wanted;
  for (size_t i = 0; i < job->input_count; i++) {
    wanted.id = wo_name_job(job->inputs[i].path, &wanted.array_task);
    if (wanted.id.len > 0 && has_rows(job, wanted)) return wanted;
  }
  wanted = (struct wanted){.array_task = -1};
  wo_each_event (event, &job->events) {
    if (!is_job_row(event)) continue;
    wanted.id = wo_event_text(event, WO_FIELD_JOB);
    wanted.array_task = wo_event_whole(event, WO_FIELD_ARRAY_TASK, -1);
  }
  return wanted;
}

/* The last row of the job in an input; steps follow the row of their start. WO_EVENT_NONE without one. */
static wo_event_id last_row(const struct wo_job *job, uint32_t file, struct wanted wanted) {
  wo_event_id last = WO_EVENT_NONE;
  wo_each_event (event, &job->events) {
    if (event->span.file == file && is_job_row(event) && is_wanted(event, wanted)) last = event->id;
  }
  return last;
}

/* Each input is judged alone: the job's last start is at the end of sacct's table, wherever scontrol's text of the same job was
 * given. */
void wo_story_choose_accounting(struct wo_job *job) {
  const struct wanted wanted = find_wanted(job);
  if (wanted.id.len == 0) return;
  uint32_t file = UINT32_MAX;
  wo_event_id last = WO_EVENT_NONE;
  for (size_t i = 0; i < job->events.count; i++) {
    struct wo_event *event = &job->events.items[i];
    if (!wo_story_is_accounting(event)) continue;
    if (event->span.file != file) last = last_row(job, event->span.file, wanted);
    file = event->span.file;
    if (!is_wanted(event, wanted) || event->id < last) event->is_quoted = true;
  }
}

struct wo_view wo_story_final_state(const struct wo_job *job) {
  struct wo_view state = {0};
  wo_each_event (event, &job->events) {
    if (is_job_row(event) && !event->is_quoted) state = wo_event_text(event, WO_FIELD_STATE);
  }
  return state;
}
