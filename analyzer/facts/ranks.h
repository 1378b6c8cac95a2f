/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a job: which failed, which followed, where they ran. */
#ifndef WO_RANKS_H
#define WO_RANKS_H

#include "analyzer/facts/facts.h"
#include "analyzer/story/job.h"

enum wo_rank_status { WO_RANK_SILENT, WO_RANK_FOLLOWED, WO_RANK_FAILED };

/* One rank that lines name, or, in small jobs, a silent one; at most WO_LIMIT_RANKS of a job. Labels that count the processes of
 * a node are ignored when the job has several nodes. */
struct wo_rank {
  int32_t rank;
  struct wo_view host; /* empty when unknown */
  int32_t gpu;         /* as its process counts, or -1 */
  enum wo_rank_status status;
  bool is_seen;         /* a line names it */
  wo_event_id evidence; /* the event that shows the status, or WO_EVENT_NONE */
};

/* "silent", "followed" or "failed": names of the JSON report. */
const char *wo_rank_status_name(enum wo_rank_status status);

#endif
