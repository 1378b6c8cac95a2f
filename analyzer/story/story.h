/* SPDX-License-Identifier: Apache-2.0 */
/* The story of a job: which failure came first, what followed from it, which failures were survived, how the job ended.
 *
 * Turns events (the content of lines) into roles (the part of each in the story). Makes no diagnosis: the rules find why memory
 * ran out. */
#ifndef WO_STORY_H
#define WO_STORY_H

#include "analyzer/story/job.h"

/* Fills job->story. WO_E_NOMEM. */
enum wo_status wo_story_tell(struct wo_job *job);

/* Whether the exception of a traceback says only that another process failed or ended this one. */
bool wo_story_is_echo(const struct wo_event *traceback);

/* Finds the traceback that belongs to an event: on its line, or just before it by the same rank; WO_EVENT_NONE without one. */
wo_event_id wo_story_traceback_of(const struct wo_job *job, const struct wo_event *event);

/* Whether the frames match a hint; only the innermost ones count if the hint asks for those. */
bool wo_story_hint_shows(const struct wo_phase_hint *hint, struct wo_view frames);

/* Whether two runs follow each other: parts of one file, or attempts of one launcher. */
bool wo_story_is_same_log(const struct wo_run *a, const struct wo_run *b);

/* Whether an event only gives a possible reason of another one (is_suspected): no job ends with it. */
bool wo_story_is_suspicion(const struct wo_event *event);

/* Whether srun itself may have caused this end: a step that it cancelled, or a task that it ended. / The event that tells of the
 * task whose end it answered (--kill-on-bad-exit, --wait); NULL if none stands above in the same run. */
bool wo_story_may_answer_task(const struct wo_event *failure);
const struct wo_event *wo_story_failed_task(const struct wo_job *job, const struct wo_event *failure);

/* Whether an event says that memory ran out, of the card or of the host. */
bool wo_story_is_memory(const struct wo_event *event);

/* Whether an event comes from the accounting of SLURM, not from a log. */
bool wo_story_is_accounting(const struct wo_event *event);

/* Ignores (is_quoted) rows of accounting about other jobs and about earlier starts of this one. */
void wo_story_choose_accounting(struct wo_job *job);

/* The state of the job as a whole by accounting ("COMPLETED"), from its last row that is not ignored; empty without
 * accounting. */
struct wo_view wo_story_final_state(const struct wo_job *job);

/* Whether the job says that it has ended: a final state in accounting, the workload manager's word for its end, or, where nothing
 * failed, the program's own that it finished. A job that failed may go on, and one that says nothing may still run. */
bool wo_story_has_ended(const struct wo_job *job);

#endif
