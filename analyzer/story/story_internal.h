/* The parts of the story, shared by the files that tell it: claims.c (what an event may be the end of), choose.c (which of them
 * was first), runs.c (starts of the program), run_ends.c, progress.c, identity.c. Nobody else includes this. */
#ifndef WO_STORY_INTERNAL_H
#define WO_STORY_INTERNAL_H

#include "analyzer/story/story.h"
#include "analyzer/story/timeline.h"

/* Strength with which an event claims to be what the job died of; higher wins, then the earlier one. */
enum wo__claim {
  WO__CLAIM_NONE,
  WO__CLAIM_EXIT,
  WO__CLAIM_CANCELLED,
  WO__CLAIM_NCCL,
  WO__CLAIM_PROGRAM,
  WO__CLAIM_ENDING,
  WO__CLAIM_MEMORY
};

/* What an event claims; WO__CLAIM_NONE for one that ends nothing. */
enum wo__claim wo__claim_of(const struct wo_event *event);

/* Outcome that an event stands for, if it is what the job died of; WO_OUTCOME_UNKNOWN for one that ends nothing. */
enum wo_outcome wo__outcome_of(const struct wo_event *event);

/* Whether the event says that memory ran out, of the card or of the host. */
bool wo__is_memory_claim(const struct wo_event *event);

/* Opens the events that the job may have died of; is_open has a place for each event, all false. Survived memory failures get
 * their role and stay closed. */
void wo__claims_open(struct wo_job *job, bool *is_open);

/* Stands for all runs that the diagnosis is about (wo__is_current). */
#define WO__RUNS_CURRENT (-1)

/* The first failure among the open events of a run, or NULL. The same whatever the order of the files. */
const struct wo_event *wo__choose_failure(const struct wo_job *job, const bool *is_open, const struct wo_timeline *timeline,
                                          int32_t run);

/* An open event of another rank that may have come before the failure, as nothing tells which was first; NULL when the order is
 * clear. */
const struct wo_event *wo__find_rival(const struct wo_job *job, const bool *is_open, const struct wo_timeline *timeline,
                                      const struct wo_event *failure);

/* Gives events without a host that of their file's name, where the name holds one that the job's evidence or its list of nodes
 * calls a host. WO_E_NOMEM. */
enum wo_status wo__file_hosts_find(struct wo_job *job);

/* Makes a run of each attempt of a launcher that made several, by the names of the inputs; the last one is current. Needs the
 * room of story->runs. *ret_run_of_file has a place for each input: the index of its run, or -1. WO_E_NOMEM. */
enum wo_status wo__attempts_find(struct wo_job *job, const int32_t **ret_run_of_file);

/* Fills story->runs and story->run_of. The last run of each file is current. WO_E_NOMEM. */
enum wo_status wo__runs_find(struct wo_job *job);

/* Fills the failure, the outcome and the steps of each run. */
void wo__runs_judge(struct wo_job *job, const bool *is_open, const struct wo_timeline *timeline);

/* Where the current run of a file has no failure and does not say that it finished, makes the newest failed one before it
 * current. False when there is none. */
bool wo__runs_step_back(struct wo_job *job);

/* Whether an event is of a run that the diagnosis is about. */
bool wo__is_current(const struct wo_job *job, const struct wo_event *event);

/* Sets what prose says aside as quoted, where another input tells of a failure itself. */
void wo__set_prose_aside(struct wo_job *job);

/* Fills step, unit and phase of the story from what stands before the failure (NULL: nothing). */
void wo__read_progress(struct wo_job *job, const struct wo_event *failure);

/* How a job without a failure ended. */
enum wo_outcome wo__outcome_without_failure(const struct wo_job *job);

/* Fills the job's id, its nodes and the number of its ranks. */
void wo__read_identity(struct wo_job *job);

#endif
