/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the files of the story share. Which events can be the end of the job: claims.c, consequences.c, tracebacks.c,
 * unknown.c; which of them were survived: survival.c; which was first: choose.c; starts of the program: runs.c, run_ends.c,
 * attempts.c; how far it had come: progress.c, phase.c; who it was: identity.c, file_hosts.c. No other room includes this. */
#ifndef WO_STORY_INTERNAL_H
#define WO_STORY_INTERNAL_H

#include "analyzer/story/story.h"
#include "analyzer/story/timeline.h"

/* A message and its traceback are at most this number of lines and events apart: wrapping and loggers separate them. */
#define WO__TRACEBACK_LINES 6
#define WO__TRACEBACK_EVENTS 256
#define WO__TRACEBACK_NEXT 16
#define WO__TRACEBACK_EMPTY_LINES 60

/* A message of recovery ("skipping batch") within this number of lines belongs to the failure before it. */
#define WO__RECOVERY_LINES 60

/* How strongly an event claims to be the cause of the job's end; the higher claim wins, then the earlier event. */
enum wo__claim {
  WO__CLAIM_NONE,
  WO__CLAIM_CAUGHT,   /* an exception that a server caught: it is what a user asks about if the log has nothing else */
  WO__CLAIM_REACTION, /* what launchers do after any end */
  WO__CLAIM_EXIT,
  WO__CLAIM_UNKNOWN,   /* a line that looks like a failure, which no pattern knows */
  WO__CLAIM_SECONDARY, /* the failure of another process, which is not in the log */
  WO__CLAIM_CRASH,     /* a process was killed, or died of a fault */
  WO__CLAIM_BARE,      /* an exception without its traceback: nothing shows whether the program caught it */
  WO__CLAIM_CANCELLED,
  WO__CLAIM_NCCL,
  WO__CLAIM_PROGRAM,
  WO__CLAIM_ENDING,
  WO__CLAIM_MEMORY
};

/* The claim of an event; WO__CLAIM_NONE for one that ends nothing. */
enum wo__claim wo__claim_of(const struct wo_event *event);

/* The outcome of the job if it died of this event; WO_OUTCOME_UNKNOWN for an event that ends nothing. */
enum wo_outcome wo__outcome_of(const struct wo_event *event);

/* Whether somebody interrupted the program: Python raises KeyboardInterrupt for SIGINT. */
bool wo__is_interrupt(const struct wo_event *event);

/* Whether an event only says that another process failed or ended this one. */
bool wo__is_consequence(const struct wo_event *event);

/* Whether a consequence is only what launchers and drivers do after any end. */
bool wo__is_reaction(const struct wo_event *event);

/* Whether a task was ended by the signals that srun and the kernel send, not by a fault of its own. */
bool wo__is_ended_by_others(const struct wo_event *task);

/* The outcome of a job in whose log a consequence is all that there is. */
enum wo_outcome wo__outcome_of_consequence(const struct wo_event *event);

/* Marks in is_open the events that the job may have died of; is_open has one entry for each event, all false. Failures that
 * were survived get their role and stay unmarked. WO_E_NOMEM. */
enum wo_status wo__claims_open(struct wo_job *job, bool *is_open);

/* Takes the mark off failures that the program caught and survived: it says so, its steps went on, it later died of something
 * else, it went on to answer or to log, or it finished. They get the role of what was recovered from. WO_E_NOMEM. */
enum wo_status wo__survivors_find(struct wo_job *job, bool *is_open);

/* All runs that are diagnosed (wo__is_current). */
#define WO__RUNS_CURRENT (-1)

/* Fills story->files, which the choice walks. WO_E_NOMEM. */
enum wo_status wo__sort_files(struct wo_job *job);

/* The first failure among the open events of a run, or NULL. The order of the files changes nothing. */
const struct wo_event *wo__choose_failure(const struct wo_job *job, const bool *is_open, int32_t run);

/* An open event of another rank that may have come before the failure, because their order is unknown; NULL when the order is
 * clear. */
const struct wo_event *wo__find_rival(const struct wo_job *job, const bool *is_open, const struct wo_event *failure);

/* Sets the host of events without one from the name of their file, if that contains a name that the job's evidence or its list of
 * nodes calls a host. WO_E_NOMEM. */
enum wo_status wo__file_hosts_find(struct wo_job *job);

/* Makes one run for each attempt of a launcher that made several, by the names of the inputs; the last one is current. Needs
 * story->runs allocated. *ret_run_of_file has one entry for each input: the index of its run, or -1. WO_E_NOMEM. */
enum wo_status wo__attempts_find(struct wo_job *job, const int32_t **ret_run_of_file);

/* Fills story->runs and story->run_of. The last run of each file is current. The first line of a table of accounting is no start
 * of a run, and ignored (is_quoted) as one. WO_E_NOMEM. */
enum wo_status wo__runs_find(struct wo_job *job);

/* Fills the failure, the outcome and the steps of each run. */
void wo__runs_judge(struct wo_job *job, const bool *is_open);

/* If the current run of a file has no failure and does not say that it finished, makes the newest failed run before it current.
 * Returns false if there is none. */
bool wo__runs_step_back(struct wo_job *job);

/* The job id that a line names, without its step; empty if none. */
struct wo_view wo__job_id_of(const struct wo_event *event);

/* Whether an event belongs to a run that is diagnosed. */
bool wo__is_current(const struct wo_job *job, const struct wo_event *event);

/* Ignores (is_quoted) a MemoryError without words whose message, below, is about a card. */
void wo__set_wordless_aside(struct wo_job *job);

/* Takes the mark off lines that no pattern knows where these are no sign of a failure. */
void wo__unknown_drop(const struct wo_job *job, bool *is_open);

/* Takes the mark off kills that are counted only after somebody had cancelled the job: it had survived them. */
void wo__late_kills_drop(struct wo_job *job, bool *is_open);

/* The outcome of a job whose failure is such a line. */
enum wo_outcome wo__unknown_outcome(const struct wo_job *job, const bool *is_open);

/* The outcome of a job that ends with a kill (WO_KIND_KILLED) of which nobody gives a reason. */
enum wo_outcome wo__killed_outcome(const struct wo_job *job, const struct wo_event *kill);

/* Ignores (is_quoted) the events of prose if another input reports a failure itself. */
void wo__set_prose_aside(struct wo_job *job);

/* The next event after `before` (NULL: the first) that stands in the line of `event`; NULL behind the last. Events of one line
 * are near each other in the store. */
struct wo_event *wo__next_beside(struct wo_job *job, const struct wo_event *event, const struct wo_event *before);

#define wo__each_beside(other, job, event)                                                                                       \
  for (struct wo_event *other = wo__next_beside((job), (event), NULL); other; other = wo__next_beside((job), (event), other))

/* Takes the level away from failures that stand beside a traceback without one: a logger passed on the output of a program. */
void wo__lift_what_was_passed_on(struct wo_job *job);

/* Ignores (is_quoted) the tracebacks of a chain whose last exception is ignored, and marks those of a chain whose last one a
 * server caught (is_caught). */
void wo__set_caught_chains_aside(struct wo_job *job);

/* Whether a traceback belongs to the one above it: its exception was raised while that one was handled, or because of it. */
bool wo__is_chained(const struct wo_event *traceback);

/* Whether the traceback of an event shows that nothing caught the exception: the process ended with it. */
bool wo__is_uncaught(struct wo_job *job, const struct wo_event *event);

/* The file of the outermost frame of the last traceback of a chain: the script, if nothing caught the exception. Empty when
 * unknown. */
struct wo_view wo__script_of(struct wo_job *job, const struct wo_event *traceback);

/* Whether a server caught the exception that an event is or reports: it goes on with the next request. */
bool wo__is_caught(const struct wo_job *job, const struct wo_event *event);

/* Whether somebody caught the exception who imported a module of a package, and printed it. */
bool wo__is_in_import(const struct wo_event *traceback);

/* Bytes that a program has printed, at most, and that are written only at its end. Python's standard output, where it is no
 * terminal, has a buffer of the block size that the file tells (io.open): 4 KiB for a pipe, 4 MiB for a file of Lustre; 128 KiB
 * at least from Python 3.15 on. Standard error, and with it an exception, is written at once. */
#define WO__HELD_BACK_BYTES (UINT64_C(4) << 20)

/* Whether a step that stands below an exception, in the same run, may have been printed before it. */
static inline bool wo__may_be_held_back(const struct wo_event *step, const struct wo_event *exception) {
  return step->mark != WO_MARK_BAR && step->span.byte - exception->span.byte <= WO__HELD_BACK_BYTES;
}

/* The line of an exception that a program caught and printed, or that ended a thread of it and no more: nothing above its frames
 * started a program. That of the last exception of a chain; 0 for any other. */
uint64_t wo__printed_line(struct wo_job *job, const struct wo_event *traceback);

/* Whether the traceback is that of a thread or of a child process, down from its start. */
bool wo__is_started_apart(const struct wo_event *traceback);

/* Whether a traceback only leads to another one below it: it hands on the exception of another process or thread, or it was
 * provoked on purpose. */
bool wo__is_wrapper(struct wo_job *job, const struct wo_event *event);

/* Whether the traceback of `inner` begins right below `outer`, as far as its frames tell. */
bool wo__follows_at_once(const struct wo_event *outer, const struct wo_event *inner);

/* The last `count` frames of "…;path|function|code;path|function|code". */
struct wo_view wo__innermost_frames(struct wo_view frames, size_t count);

/* Ignores (is_quoted) exceptions without a traceback that another pattern knows. */
void wo__set_explained_aside(struct wo_job *job);

/* Fills the phase of the story (NULL: no failure). If only a repeat of the failure has a traceback, or the exception that was
 * raised right below it, that becomes the traceback of the story. */
void wo__read_phase(struct wo_job *job, const struct wo_event *failure);

/* Fills step, unit and phase of the story from the lines before the failure (NULL: no failure). */
void wo__read_progress(struct wo_job *job, const struct wo_event *failure);

/* Fills the outcome of a job without a failure; its evidence is the line by which the log just stops, if there is one. */
void wo__end_without_failure(struct wo_job *job);

/* Fills the job's id, its nodes and the number of its ranks. */
void wo__read_identity(struct wo_job *job);

#endif
