/* The state of the allocator before the first entry of a trace, rebuilt backwards from the snapshot at its end.
 *
 * Exact but for the slack of blocks of the large pool whose neighbour is free (0 to 1 MiB, more with max_split_size), which is
 * resolved by looking ahead: allocations take the front of a free block. What stays open is a range that the check branches over.
 */
#ifndef WO_START_H
#define WO_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/allocator.h"
#include "cuda_replay/trace.h"

/* A start state: segments with their blocks, as wo_allocator_place takes them. */
struct wo_start {
  struct {
    struct wo_allocator_segment *items; /* by rising address */
    size_t count, capacity;
  } segments;
  struct {
    struct wo_allocator_block *items; /* of all segments, in order */
    size_t count, capacity;
  } blocks;
  struct {
    uint32_t *items; /* number of blocks of each segment */
    size_t count, capacity;
  } block_counts;
  struct {
    uint32_t *items; /* stack of each block, or WO_NO_STACK */
    size_t count, capacity;
  } stacks;
  size_t ambiguous_count; /* blocks whose slack stayed open */
};

/* Rebuilds the state. WO_E_RANGE with the entry's index when trace and segments contradict each other, with the reason
 * ("entry 17 frees 0x7f.. which is not live"; a ring that dropped entries; actions that were not recorded). WO_E_NOMEM. A trace
 * without segments gives an empty state when its entries allow it. */
enum wo_status wo_start_rebuild(const struct wo_recording *recording, const struct wo_trace *trace,
                                const struct wo_alloc_settings *settings, uint16_t torch, struct wo_start *ret_start,
                                struct wo_err *err);

/* Releases what it owns; NULL allowed. */
void wo_start_done(struct wo_start *start);

#endif
