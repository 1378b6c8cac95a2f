/* The story of a job: which failure came first, what follows from it, what was survived, how the job ended.
 *
 * Goes from events (what lines say) to roles (what part each plays). Makes no diagnosis: why memory ran out is for the rules. */
#ifndef WO_STORY_H
#define WO_STORY_H

#include "analyzer/story/job.h"

/* Fills job->story. WO_E_NOMEM. */
enum wo_status wo_story_tell(struct wo_job *job);

/* Whether a memory failure was caught and survived: the program says so, its steps went on, it later died of something else, or
 * it finished. `failure` is the event's index. */
bool wo_story_survived(const struct wo_job *job, size_t failure);

/* Whether the exception of a traceback says only that another process failed or ended this one. */
bool wo_story_is_echo(const struct wo_event *traceback);

/* Finds the traceback that belongs to an event: on its line, or just before it by the same rank; WO_EVENT_NONE without one. */
wo_event_id wo_story_traceback_of(const struct wo_job *job, const struct wo_event *event);

/* The phase that the frames of a traceback show, by the pack's hints; empty without. */
struct wo_view wo_story_phase(const struct wo_pack *pack, struct wo_view frames);

/* Whether the frames, or the innermost of them where the hint is about those, match a hint. */
bool wo_story_hint_shows(const struct wo_phase_hint *hint, struct wo_view frames);

/* Whether two runs follow each other: parts of one file, or attempts of one launcher. */
bool wo_story_is_same_log(const struct wo_run *a, const struct wo_run *b);

/* Whether an event only says what may lie behind another one (is_suspected): nothing ends by it. */
bool wo_story_is_suspicion(const struct wo_event *event);

/* Whether an event comes from the accounting of SLURM, not from a log. */
bool wo_story_is_accounting(const struct wo_event *event);

/* Sets rows of accounting aside (is_quoted) that are about other jobs or about earlier starts of this one. */
void wo_story_choose_accounting(struct wo_job *job);

/* The state that accounting gives for the job as a whole ("COMPLETED"); empty without accounting. */
struct wo_view wo_story_final_state(const struct wo_job *job);

#endif
