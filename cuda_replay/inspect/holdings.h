/* Holdings: who holds the memory at the moment of a snapshot, of a recording whose entries cannot be replayed or that has none.
 *
 * A snapshot states every segment and block even where no history was recorded. That is a state and no run: it tells who holds
 * what, what lies idle and what pins it, and nothing about how it came to that or what other settings would give. */
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

/* What the segments of one stream and pool hold. Memory of one stream or pool serves no other. */
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
  uint64_t block_count;        /* in use */
  bool knows_requested;        /* blocks say what was asked for: torch 2.0 and later */
  uint64_t releasable_bytes;   /* what torch.cuda.empty_cache() gives back: free units outside of private pools */
  uint64_t private_idle_bytes; /* free units of private pools: kept for as long as their graph or pool lives */
  bool has_oom;                /* the snapshot was taken right behind a refused request */
  uint64_t oom_bytes;          /* what was asked for, rounded */
  uint64_t oom_free_bytes;     /* what the driver had left then */
  struct {
    struct wo_holdings_place *items; /* most reserved bytes first, then by stream and pool */
    size_t count, capacity;
  } places;
};

/* Makes the holdings of a trace that has segments, and memory over time without steps that holds their segment map
 * (WO_MOMENT_STATE), so that attribution, pins and plots can read it. Classes are judged by stacks alone: a block without one, or
 * one that only its life would tell, stays unknown. WO_E_NOMEM: both are empty. Released with wo_holdings_done and
 * wo_memory_over_time_done. */
enum wo_status wo_holdings_make(const struct wo_recording *recording, const struct wo_trace *trace,
                                struct wo_holdings *ret_holdings, struct wo_memory_over_time *ret_memory);

/* Releases what it owns; NULL and {0} allowed. */
void wo_holdings_done(struct wo_holdings *holdings);

#endif
