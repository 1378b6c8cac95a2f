/* The story of a job: which failure came first, what follows from it, what was survived, how the job ended.
 *
 * Goes from events (what lines say) to roles (what part each plays). Makes no diagnosis: why memory ran out is for the rules. */
#ifndef WO_STORY_H
#define WO_STORY_H

#include "analyzer/job.h"

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

/* Whether the innermost frames match the hints of that name ("attention", "logits"). */
bool wo_story_frames_show(const struct wo_pack *pack, struct wo_view frames, const char *name);

#endif
