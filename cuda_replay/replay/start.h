/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the allocator before the first entry of a trace, rebuilt backwards from the snapshot at its end.
 *
 * Exact except for the slack of blocks of the large pool whose neighbour is free (0 to 1 MiB, more with max_split_size). Looking
 * ahead finds it: allocations take the front of a free block. A size that stays open is a range, and the check searches it. */
#ifndef WO_START_H
#define WO_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/vec.h"

/* A block whose size stayed open: from min_bytes to max_bytes in steps of 512; the rest belongs to the free block after it. The
 * start holds min_bytes until wo_start_resize changes it. */
struct wo_start_open {
  uint32_t block; /* index into wo_start.blocks */
  uint64_t address;
  uint64_t min_bytes;
  uint64_t max_bytes;
};

/* The most strangers that are tolerated: more are a contradiction. */
enum { WO_START_STRANGERS_MAX = 16 };

/* Blocks of the snapshot that the trace cannot have left there, and blocks of the trace that are gone. PyTorch copies trace and
 * segments under two locks, and another thread may allocate or free a few blocks in between: calls that the trace lacks. An
 * `alloc` is missing for a block that no entry allocates; for one that is gone, the free of the entry (an `alloc` or a
 * `free_requested`) that is kept here. */
struct wo_stranger {
  struct wo_trace_entry entry; /* of the missing `alloc`, or the entry of the trace whose block is gone */
  bool is_gone;
  bool is_pending; /* not gone: its free was requested too */
};

struct wo_strangers {
  struct wo_stranger items[WO_START_STRANGERS_MAX];
  size_t count;
};

/* A start state: segments with their blocks, as wo_allocator_place takes them. */
struct wo_start {
  WO_VEC(struct wo_allocator_segment) segments; /* by rising address */
  WO_VEC(struct wo_allocator_block) blocks;     /* of all segments, in order */
  WO_VEC(uint32_t) block_counts;                /* number of blocks of each segment */
  WO_VEC(struct wo_start_open) open;            /* by rising address */
  struct wo_strangers strangers;
};

/* Rebuilds the state. WO_E_RANGE with the entry's index (also in err->offset) if trace and segments contradict each other, with
 * the reason ("entry 17 frees 0x7f.. which is not live"; a ring that dropped entries; actions that were not recorded).
 * WO_E_NOMEM. No version of torch lays blocks out differently. A trace without segments gives an empty state if its entries allow
 * it. *ret_start can be given to wo_start_done with every result. */
enum wo_status wo_start_rebuild(const struct wo_recording *recording, const struct wo_trace *trace,
                                const struct wo_alloc_settings *settings, struct wo_start *ret_start, struct wo_err *err);

/* A copy, for wo_start_done in either case. WO_E_NOMEM. */
enum wo_status wo_start_copy(const struct wo_start *start, struct wo_start *ret_copy);

/* Gives an open block a size inside its range (a multiple of 512); the free block after it takes the rest. */
void wo_start_resize(struct wo_start *start, const struct wo_start_open *open, uint64_t size_bytes);

/* Releases what it owns; NULL allowed. */
void wo_start_done(struct wo_start *start);

#endif
