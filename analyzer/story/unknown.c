/* SPDX-License-Identifier: Apache-2.0 */
/* Failures that say little by themselves: lines that only look like one (unknown_failure), a MemoryError without words, and kills
 * that are counted after the job had ended otherwise. */
#include "analyzer/story/story_internal.h"

/* Whether another file of the job says that the program finished. */
static bool has_finished_elsewhere(const struct wo_job *job, const struct wo_event *event) {
  wo_each_event (other, &job->events) {
    if (other->kind == WO_KIND_SUCCESS && other->span.file != event->span.file) return true;
  }
  return false;
}

/* Whether the name is that of a program's source, which speaks of failures, too. */
static bool is_source(struct wo_view path) {
  static const char ends[][8] = {".py", ".c",    ".cc", ".cpp", ".cu", ".h", ".hpp", ".js",
                                 ".ts", ".java", ".go", ".rs",  ".jl", ".R", ".pl",  ".sh"};
  return WO_VIEW_ANY_ROW(path, wo_view_ends, ends);
}

/* A line that no pattern knows counts only in a log: scripts and notes speak of failures too. */
void wo__unknown_drop(const struct wo_job *job, bool *is_open) {
  wo_each_event (event, &job->events) {
    if (event->kind != WO_KIND_UNKNOWN_FAILURE || !is_open[event->id]) continue;
    const struct wo_job_input *const input = &job->inputs[event->span.file];
    const bool is_log = wo_view_is(input->format, "log") && !is_source(input->path);
    is_open[event->id] = is_log && !has_finished_elsewhere(job, event);
  }
}

/* Beside an exit that was bad the line is the program's own word for it: the program failed. Alone it only looks like that. */
enum wo_outcome wo__unknown_outcome(const struct wo_job *job, const bool *is_open) {
  wo_each_event (event, &job->events) {
    if (is_open[event->id] && wo__claim_of(event) == WO__CLAIM_EXIT && wo__is_current(job, event))
      return WO_OUTCOME_PROGRAM_ERROR;
  }
  return WO_OUTCOME_UNKNOWN;
}

/* Whether a workload manager ran the job: a line names the job, the manager's programs, or the script that it copied. */
static bool has_manager(const struct wo_job *job) {
  static const char *const words[] = {"slurm", "srun: ", ".lsbatch", "/mom_priv/", "PBS"};
  wo_each_event (event, &job->events) {
    if (wo__job_id_of(event).len > 0 || WO_VIEW_ANY(event->text, wo_view_has, words)) return true;
  }
  return false;
}

/* Lines between a warning of much main memory and the kill that follows from it, and bytes that are much on any node. */
#define WANTED_LINES 10
#define WANTED_BYTES (4.0 * 1024 * 1024 * 1024)

/* Whether the program had just taken much of the main memory that was free. */
static bool has_wanted_memory(const struct wo_job *job, const struct wo_event *kill) {
  wo_each_event (event, &job->events) {
    if (event->mark != WO_MARK_HOST_WANTED || event->span.file != kill->span.file || event->span.line > kill->span.line) continue;
    const bool is_large = wo_event_number(event, WO_FIELD_TRIED_BYTES, 0) >= WANTED_BYTES;
    if (is_large && kill->span.line - event->span.line <= WANTED_LINES) return true;
  }
  return false;
}

/* A workload manager tells of kills for memory, and sends many others. Where none is, or the program had just taken much memory,
 * the kernel is left as the usual sender. */
enum wo_outcome wo__killed_outcome(const struct wo_job *job, const struct wo_event *kill) {
  const bool is_alone = kill->rank == WO_RANK_UNKNOWN; /* launchers of ranks kill, too */
  if (!is_alone || kill->mark != WO_MARK_TOLD_BY_SHELL) return wo__outcome_of(kill);
  return !has_manager(job) || has_wanted_memory(job, kill) ? WO_OUTCOME_HOST_OOM : wo__outcome_of(kill);
}

/* Lines after a MemoryError without words in which its message may stand: Paddle prints the calls of C++ between. */
#define MESSAGE_LINES 60

/* Whether the exception has no message: Python raises it so for main memory, but others do for a card, and say so below. */
static bool is_wordless(const struct wo_event *event) {
  const struct wo_view text = wo_view_trim(event->text);
  return event->kind == WO_KIND_HOST_OOM && wo_view_ends(text, "MemoryError:");
}

static bool has_card_below(const struct wo_job *job, const struct wo_event *event) {
  wo_each_event (other, &job->events) {
    const bool is_of_card = wo_kind_class(other->kind) == WO_CLASS_GPU_MEMORY && !other->is_quoted;
    const bool is_below = other->span.file == event->span.file && other->span.line > event->span.line;
    if (is_of_card && is_below && other->span.line - event->span.line <= MESSAGE_LINES) return true;
  }
  return false;
}

void wo__set_wordless_aside(struct wo_job *job) {
  for (size_t i = 0; i < job->events.count; i++) {
    struct wo_event *const event = &job->events.items[i];
    if (is_wordless(event) && has_card_below(job, event)) event->is_quoted = true;
  }
}

/* ---- Kills that are told late ---- */

/* Whether the event counts the kills of a whole step, which the step daemon does when the step ends. */
static bool is_count_of_kills(const struct wo_event *event) {
  return event->kind == WO_KIND_CGROUP_OOM && wo_event_field(event, WO_FIELD_COUNT) && wo_event_field(event, WO_FIELD_STEP_ID);
}

/* Whether somebody cancelled the whole job, as opposed to srun, which cancels a step of which a task has failed. */
static bool is_cancelled_job(const struct wo_event *event) {
  return event->kind == WO_KIND_CANCELLED && wo_event_field(event, WO_FIELD_JOB) && !wo_story_is_accounting(event) &&
         wo_event_text(event, WO_FIELD_REASON).len == 0;
}

/* The cancellation of the whole job above the line, if nothing else in the job claims to be its end; else NULL. */
static const struct wo_event *find_cancellation(const struct wo_job *job, const bool *is_open, const struct wo_event *count) {
  const struct wo_event *found = NULL;
  wo_each_event (event, &job->events) {
    if (!is_open[event->id] || !wo__is_current(job, event) || is_count_of_kills(event)) continue;
    if (!is_cancelled_job(event)) return NULL;
    if (event->span.file == count->span.file && event->span.line < count->span.line) found = event;
  }
  return found;
}

/* A job that was cancelled, and whose kills are counted only after that, had lived on: a kernel of a notebook was started again.
 */
void wo__late_kills_drop(struct wo_job *job, bool *is_open) {
  const struct wo_view state = wo_story_final_state(job);
  if (state.len > 0 && !wo_view_starts(state, "CANCELLED")) return;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *const event = &job->events.items[i];
    if (!is_open[i] || !is_count_of_kills(event) || !find_cancellation(job, is_open, event)) continue;
    job->story.roles[i] = WO_ROLE_RECOVERED;
    is_open[i] = false;
  }
}
