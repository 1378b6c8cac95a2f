/* The rank of a failure that no line names, where the ends of the job's tasks leave only one. */
#ifndef WO_RANK_INFER_H
#define WO_RANK_INFER_H

#include "analyzer/story/job.h"

/* The rank that `failure`, a GPU memory message without a rank, must be of; WO_RANK_UNKNOWN when the job's tasks leave a choice.
 * Told only when srun reports exactly one task that ended by itself with a code, all others were killed or terminated, the
 * message is the only one, and nothing shows ranks within a task: no launcher, no program that spawns them, no task that has a
 * node to itself. */
int32_t wo_rank_infer(const struct wo_job *job, const struct wo_event *failure);

#endif
