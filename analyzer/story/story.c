/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the story: the first failure that was not survived, the roles of the other events, and the outcome.
 *
 * Order of evidence: memory that ran out and was not survived; then reports of the workload manager (time limit, preemption,
 * node); then errors of the program; then collective time-outs; last a plain cancellation, a kill without reason and bad exit
 * codes, because they follow from the others. If a line of a log and a state of accounting say the same, the line counts. */
#include "analyzer/story/story.h"

#include "analyzer/story/rank_infer.h"
#include "analyzer/story/story_internal.h"

/* Roles that are already set stay. Repeats are reports of the same kind, by any rank; all else that looks like an end follows
 * from the failure. */
static void assign_roles(struct wo_job *job, const bool *is_open, const struct wo_event *failure) {
  struct wo_story *story = &job->story;
  wo_each_event (event, &job->events) {
    const bool is_echo = wo__is_consequence(event);
    if (event->is_quoted) continue;
    if (!wo__is_current(job, event)) {
      if (is_echo || is_open[event->id] || story->roles[event->id] != WO_ROLE_NONE) story->roles[event->id] = WO_ROLE_EARLIER;
    } else if (story->roles[event->id] != WO_ROLE_NONE) {
      continue;
    } else if (event == failure) {
      story->roles[event->id] = WO_ROLE_FAILURE;
    } else if (wo_story_is_accounting(event)) {
      continue; /* the same end once more */
    } else if (is_open[event->id] && failure && event->kind == failure->kind && wo_story_is_memory(event)) {
      story->roles[event->id] = WO_ROLE_REPEAT;
    } else if (is_echo || (is_open[event->id] && event->kind != WO_KIND_UNKNOWN_FAILURE)) {
      story->roles[event->id] = WO_ROLE_CONSEQUENCE;
    }
  }
}

/* The failure and its traceback belong to one rank, which no line names. */
static void set_inferred_rank(struct wo_job *job, int32_t rank) {
  struct wo_event *traceback = wo_event_get(&job->events, job->story.traceback);
  if (rank == WO_RANK_UNKNOWN) return;
  job->story.is_rank_inferred = true;
  wo_event_get(&job->events, job->story.failure)->rank = rank;
  if (traceback) traceback->rank = rank;
}

static enum wo_outcome outcome_of(const struct wo_job *job, const bool *is_open, const struct wo_event *failure) {
  if (failure->kind == WO_KIND_UNKNOWN_FAILURE) return wo__unknown_outcome(job, is_open);
  if (failure->kind == WO_KIND_KILLED) return wo__killed_outcome(job, failure);
  /* srun cancels a step because the program failed in one of its tasks: nobody asked for it. */
  const bool is_answer = failure->kind == WO_KIND_CANCELLED && wo_story_failed_task(job, failure);
  return is_answer ? WO_OUTCOME_PROGRAM_ERROR : wo__outcome_of(failure);
}

static void note_failure(struct wo_job *job, const bool *is_open, const struct wo_event *failure) {
  struct wo_story *story = &job->story;
  story->failure = failure->id;
  story->outcome = outcome_of(job, is_open, failure);
  story->outcome_evidence[story->outcome_evidence_count++] = failure->id;
  story->traceback = failure->kind == WO_KIND_TRACEBACK ? failure->id : wo_story_traceback_of(job, failure);
  set_inferred_rank(job, wo_rank_infer(job, failure));
}

/* The failure of the last run, or of the run before it if the last one still goes well: a user who asks about such a job means
 * the earlier failure. */
static const struct wo_event *find_failure(struct wo_job *job, const bool *is_open) {
  const struct wo_event *failure = wo__choose_failure(job, is_open, WO__RUNS_CURRENT);
  if (!failure && wo_story_final_state(job).len == 0 && wo__runs_step_back(job)) {
    failure = wo__choose_failure(job, is_open, WO__RUNS_CURRENT);
  }
  return failure;
}

static void note_rival(struct wo_job *job, const bool *is_open, const struct wo_event *failure) {
  struct wo_story *story = &job->story;
  const struct wo_event *rival = wo__find_rival(job, is_open, failure);
  if (!rival) return;
  story->is_order_uncertain = true;
  story->rival = rival->id;
  story->rival_gap_ns = wo_timeline_gap_ns(story->timeline, failure, rival);
}

enum wo_status wo_story_tell(struct wo_job *job) {
  struct wo_story *story = &job->story;
  const size_t count = job->events.count;
  *story = (struct wo_story){.failure = WO_EVENT_NONE,
                             .traceback = WO_EVENT_NONE,
                             .rival = WO_EVENT_NONE,
                             .rival_gap_ns = -1,
                             .step = -1,
                             .step_total = -1,
                             .array_task = -1};
  story->roles = wo_arena_array(&job->arena, count + 1, sizeof *story->roles);
  bool *is_open = wo_arena_array(&job->arena, count + 1, sizeof *is_open);
  if (!story->roles || !is_open) return WO_E_NOMEM;
  wo_story_choose_accounting(job);
  wo__set_prose_aside(job);
  wo__set_explained_aside(job);
  wo__set_wordless_aside(job);
  wo__lift_what_was_passed_on(job);
  wo__set_caught_chains_aside(job);
  if (wo__sort_files(job) != WO_OK || wo__file_hosts_find(job) != WO_OK) return WO_E_NOMEM;
  if (wo_timeline_make(job, &story->timeline) != WO_OK || wo__runs_find(job) != WO_OK) return WO_E_NOMEM;
  if (wo__claims_open(job, is_open) != WO_OK) return WO_E_NOMEM;
  wo__unknown_drop(job, is_open);
  wo__late_kills_drop(job, is_open);
  wo__runs_judge(job, is_open);
  const struct wo_event *failure = find_failure(job, is_open);
  if (failure) {
    note_failure(job, is_open, failure);
    note_rival(job, is_open, failure);
  }
  assign_roles(job, is_open, failure);
  if (!failure) wo__end_without_failure(job);
  wo__read_progress(job, failure);
  wo__read_identity(job);
  return WO_OK;
}
