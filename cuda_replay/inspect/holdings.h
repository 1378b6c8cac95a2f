/* SPDX-License-Identifier: Apache-2.0 */
/* Holdings: the holders of the memory at the moment of a snapshot, for a recording without entries or with entries that cannot be
 * replayed.
 *
 * A snapshot states every segment and block even if no history was recorded. This is a state and not a run: it shows who holds
 * memory, which memory is idle and which blocks pin it, but not how it came to that or what other settings would change. */
#ifndef WO_HOLDINGS_H
#define WO_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/inspect/attribution.h"
#include "cuda_replay/inspect/memory_over_time.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/status.h"
#include "parsers/base/vec.h"

/* The memory in segments of one stream and pool. It serves no other stream or pool. */
struct wo_holdings_place {
  uint64_t stream;        /* raw pointer; 0: the default stream */
  struct wo_pool_id pool; /* {0, 0}: the default pool; others belong to a CUDA graph or a torch.cuda.MemPool */
  uint64_t segment_count;
  uint64_t block_count; /* in use */
  uint64_t block_bytes; /* in use, slack included */
  struct wo_segment_use use;
};

struct wo_holdings {
  struct wo_alloc_pattern pattern; /* one instance for each block in use, none of which is born or dies */
  uint64_t segment_count;
  uint64_t block_count;                    /* in use */
  bool knows_requested;                    /* blocks have their requested bytes: torch 2.0 and later */
  uint64_t releasable_bytes;               /* bytes that torch.cuda.empty_cache() gives back: free units outside private pools */
  uint64_t private_idle_bytes;             /* free units of private pools: kept for as long as their graph or pool lives */
  bool has_oom;                            /* the snapshot was taken immediately after a refused request */
  uint64_t oom_bytes;                      /* its bytes, rounded */
  uint64_t oom_free_bytes;                 /* bytes that the driver had left then */
  WO_VEC(struct wo_holdings_place) places; /* most reserved bytes first, then by stream and pool */
};

/* Makes the holdings of a trace that has segments, and memory over time without steps that holds their segment map
 * (WO_MOMENT_STATE), so that attribution, pins and plots can read it. Classes come from stacks alone: a block without a stack, or
 * one whose class depends on its life, stays unknown. WO_E_NOMEM: both are empty. Released with wo_holdings_done and
 * wo_memory_over_time_done. */
enum wo_status wo_holdings_make(const struct wo_recording *recording, const struct wo_trace *trace,
                                struct wo_holdings *ret_holdings, struct wo_memory_over_time *ret_memory);

/* Releases what it owns; NULL and {0} allowed. */
void wo_holdings_done(struct wo_holdings *holdings);

#endif
