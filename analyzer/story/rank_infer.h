/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rank of a failure when no line names it but the ends of the job's tasks leave only one. */
#ifndef WO_RANK_INFER_H
#define WO_RANK_INFER_H

#include "analyzer/story/job.h"

/* The rank that must have printed `failure`, a GPU memory message without a rank; WO_RANK_UNKNOWN if several ranks are possible.
 * It is known only if srun reports exactly one task that ended by itself with a code, all others were killed or terminated, the
 * message is the only one, and nothing shows ranks within a task: no launcher, no program that spawns them, no task that has a
 * node to itself. */
int32_t wo_rank_infer(const struct wo_job *job, const struct wo_event *failure);

#endif
