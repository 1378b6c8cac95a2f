/* Tells the story: the first failure that was not survived, the roles of the other events, and the outcome.
 *
 * Order of evidence: memory that ran out and was not survived; then what the workload manager says (time limit, preemption,
 * node); then the program's own errors; then collective time-outs; a plain cancellation, a kill without reason and bad exit codes
 * last, because they follow from the others. Of two that say the same, a line of a log counts more than a state of accounting. */
#include "analyzer/story.h"

#include "analyzer/story_internal.h"

/* Roles that are given already stay. Repeats are reports of the same kind, of other ranks or of the same one; all else that looks
 * like an end follows from the failure. */
static void assign_roles(struct wo_job *job, const bool *is_open, const struct wo_event *failure) {
  struct wo_story *story = &job->story;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    const bool is_echo =
        wo_kind_class(event->kind) == WO_CLASS_CONSEQUENCE || (event->kind == WO_KIND_TRACEBACK && wo_story_is_echo(event));
    if (story->roles[i] != WO_ROLE_NONE || event->is_quoted) continue;
    if (event == failure) {
      story->roles[i] = WO_ROLE_FAILURE;
    } else if (wo_story_is_accounting(event)) {
      continue; /* the same end once more */
    } else if (is_open[i] && failure && event->kind == failure->kind && wo__is_memory_claim(event)) {
      story->roles[i] = WO_ROLE_REPEAT;
    } else if (is_echo || is_open[i]) {
      story->roles[i] = WO_ROLE_CONSEQUENCE;
    }
  }
}

static void note_failure(struct wo_job *job, const struct wo_event *failure) {
  struct wo_story *story = &job->story;
  story->failure = failure->id;
  story->outcome = wo__outcome_of(failure);
  story->outcome_evidence[story->outcome_evidence_count++] = failure->id;
  story->traceback = failure->kind == WO_KIND_TRACEBACK ? failure->id : wo_story_traceback_of(job, failure);
}

enum wo_status wo_story_tell(struct wo_job *job) {
  struct wo_story *story = &job->story;
  const size_t count = job->events.count;
  *story =
      (struct wo_story){.failure = WO_EVENT_NONE, .traceback = WO_EVENT_NONE, .step = -1, .step_total = -1, .array_task = -1};
  story->roles = wo_arena_array(&job->arena, count + 1, sizeof *story->roles);
  bool *is_open = wo_arena_array(&job->arena, count + 1, sizeof *is_open);
  if (!story->roles || !is_open) return WO_E_NOMEM;
  wo_story_choose_accounting(job);
  wo__claims_open(job, is_open);
  const struct wo_event *failure = wo__choose_failure(job, is_open);
  if (failure) note_failure(job, failure);
  assign_roles(job, is_open, failure);
  if (!failure) story->outcome = wo__outcome_without_failure(job);
  wo__read_progress(job, failure);
  wo__read_identity(job);
  return WO_OK;
}
