/* The ranks of a job: which failed, which followed, where they ran. */
#ifndef WO_RANKS_H
#define WO_RANKS_H

#include "analyzer/facts/facts.h"
#include "analyzer/story/job.h"

enum wo_rank_status { WO_RANK_SILENT, WO_RANK_FOLLOWED, WO_RANK_FAILED };

/* One rank. Labels that count the processes of a node give no rank here when the job has several nodes. */
struct wo_rank {
  int32_t rank;
  struct wo_view host; /* empty when unknown */
  int32_t gpu;         /* as its process counts, or -1 */
  enum wo_rank_status status;
  bool is_seen;         /* a line names it */
  wo_event_id evidence; /* what shows the status, or WO_EVENT_NONE */
};

/* Gathers the ranks that lines name, and of small jobs the silent ones too, in the order of their numbers; at most
 * WO_LIMIT_RANKS. The rows live in `arena`. WO_E_NOMEM. */
enum wo_status wo_ranks_make(const struct wo_job *job, struct wo_arena *arena, const struct wo_rank **ret, size_t *ret_count);

/* "silent", "followed" or "failed": names of the JSON report. */
const char *wo_rank_status_name(enum wo_rank_status status);

#endif
