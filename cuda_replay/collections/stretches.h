/* Stretches of addresses that are taken, and the gaps between them.
 *
 * A sorted list cut into leaves of a few stretches. Each leaf knows the widest gap in front of one of its stretches, so that the
 * search for a gap passes over leaves that cannot have one. One list is used by one thread. */
#ifndef WO_STRETCHES_H
#define WO_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From start up to, and without, end. */
struct wo_stretch {
  uint64_t start;
  uint64_t end;
};

/* Where a gap may lie, how long it must be, and of what its start is a multiple: a power of two, of which the limits are
 * multiples, too. */
struct wo_gap_wish {
  uint64_t space_start;
  uint64_t space_end;
  uint64_t size_bytes;
  uint64_t stride_bytes;
};

struct wo_stretch_leaf;

/* Empty when all is 0. Members are for stretches.c. */
struct wo_stretches {
  struct {
    struct wo_stretch_leaf **items; /* by address; none is empty */
    size_t count, capacity;
  } leaves;
};

/* Adds a stretch, which must not be empty and overlap none. False when memory is out; nothing has changed then. */
bool wo_stretches_add(struct wo_stretches *list, struct wo_stretch stretch);

/* Removes the stretch that begins at `start`. False when there is none. */
bool wo_stretches_remove(struct wo_stretches *list, uint64_t start);

/* The lowest stretch that ends above `address`. False when there is none. */
bool wo_stretches_above(const struct wo_stretches *list, uint64_t address, struct wo_stretch *ret_stretch);

/* The start of the lowest / of the highest gap that is as wished, at the gap's lower / upper end; 0 when there is none. */
uint64_t wo_stretches_lowest_gap(const struct wo_stretches *list, const struct wo_gap_wish *wish);
uint64_t wo_stretches_highest_gap(const struct wo_stretches *list, const struct wo_gap_wish *wish);

/* Whether stretches rise and gaps and leaves are as they must be: for tests. */
bool wo_stretches_is_valid(const struct wo_stretches *list);

/* Releases what the list owns and makes it empty. */
void wo_stretches_done(struct wo_stretches *list);

#endif
