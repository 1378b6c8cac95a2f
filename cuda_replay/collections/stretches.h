/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of addresses that are in use, and the gaps between them.
 *
 * A tree of the stretches that knows the widest gap before one of them, so that the search for a gap visits few. One list is used
 * by one thread. */
#ifndef WO_STRETCHES_H
#define WO_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/collections/room_tree.h"

/* The addresses [start, end). */
struct wo_stretch {
  uint64_t start;
  uint64_t end;
};

/* Where a gap may lie, how long it must be, and the stride that its start is a multiple of: a power of two; the limits are
 * multiples of it, too. */
struct wo_gap_wish {
  uint64_t space_start;
  uint64_t space_end;
  uint64_t size_bytes;
  uint64_t stride_bytes;
};

/* Empty when all is 0. The trees are for stretches.c; each has a room for every stretch: its start, the bytes of the gap before
 * it, and its end as the value. */
struct wo_stretches {
  struct wo_room_tree gaps;
  struct wo_room_tree strided; /* the same, but a gap counts from the first multiple of stride_bytes */
  uint64_t stride_bytes; /* set while the list is empty: a stride of wishes for which many gaps would be tried; 0 for none */
};

/* Adds a stretch, which must not be empty and must not overlap another. False when memory is out: nothing has changed. */
bool wo_stretches_add(struct wo_stretches *list, struct wo_stretch stretch);

/* Removes the stretch that begins at `start`. False when there is none. */
bool wo_stretches_remove(struct wo_stretches *list, uint64_t start);

/* The lowest stretch that ends above `address`. False when there is none. */
bool wo_stretches_above(const struct wo_stretches *list, uint64_t address, struct wo_stretch *ret_stretch);

/* The start of a place in the lowest / in the highest gap that fits the wish, at the gap's lower / upper end; 0 when there is
 * none. */
uint64_t wo_stretches_lowest_gap(const struct wo_stretches *list, const struct wo_gap_wish *wish);
uint64_t wo_stretches_highest_gap(const struct wo_stretches *list, const struct wo_gap_wish *wish);

/* Releases what the list owns and makes it empty; the stride stays. */
void wo_stretches_done(struct wo_stretches *list);

#endif
