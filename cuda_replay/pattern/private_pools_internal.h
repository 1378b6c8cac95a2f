/* SPDX-License-Identifier: Apache-2.0 */
/* The private pools of a trace: finds the pool of an allocation. Private to alloc_pattern.c.
 *
 * Newer recordings state it in each entry. Others only name the pool of the segments that exist at the end, and the line form may
 * state captures. Allocations in private segments that were freed inside the trace look like any others. */
#ifndef WO_PRIVATE_POOLS_INTERNAL_H
#define WO_PRIVATE_POOLS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/trace.h"
#include "parsers/base/vec.h"

struct wo__private_segment {
  uint64_t address;
  uint64_t end;
  size_t since; /* the first entry at which it belonged to its pool; 0: from the start */
  uint32_t pool;
};

struct wo__pool_capture {
  uint32_t pool;
  uint32_t stream;
};

/* A segment of a pool that nothing names, from the entry that allocated it to the one that released it; or, with end 0, a refused
 * request into such a pool. */
struct wo__hidden_segment {
  uint64_t address, end;
  size_t since, until;
  uint32_t pool;
};

struct wo__private_pools {
  WO_VEC(struct wo__private_segment) segments; /* by rising address */
  WO_VEC(struct wo__pool_capture) captures;    /* in progress, the latest last */
  WO_VEC(struct wo__hidden_segment) hidden;    /* by rising entry */
};

/* Finds the private segments of a trace. WO_E_NOMEM. Released with wo__private_pools_done in either case. */
enum wo_status wo__private_pools_find(struct wo__private_pools *pools, const struct wo_recording *recording,
                                      const struct wo_trace *trace);

/* A capture begins / ends. WO_E_NOMEM. */
enum wo_status wo__private_pools_begin(struct wo__private_pools *pools, uint32_t pool, uint32_t stream);
void wo__private_pools_end(struct wo__private_pools *pools, uint32_t pool);

/* Takes the segment that entry `index` allocated for one of a pool of its own, numbered `pool`; or the request that was refused
 * there for one into such a pool. WO_E_NOMEM. */
enum wo_status wo__private_pools_hide(struct wo__private_pools *pools, const struct wo_trace *trace, size_t index, uint32_t pool);

/* The pool that nothing names of the allocation, the refused request or the released segment that is entry `index`; else
 * WO_POOL_DEFAULT. */
uint32_t wo__hidden_pool_of(const struct wo__private_pools *pools, const struct wo_trace *trace, size_t index);

/* The pool of the allocation that is entry `index`. */
uint32_t wo__private_pool_of(const struct wo__private_pools *pools, const struct wo_trace *trace, size_t index);

/* Releases what it owns. */
void wo__private_pools_done(struct wo__private_pools *pools);

#endif
