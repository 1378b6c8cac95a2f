/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in the order (size, tie). The allocator searches it for the best fit, and walks it when it releases memory.
 *
 * An order is a sorted list cut into leaves of a few entries, with a directory of the first key of each leaf: a search reads the
 * directory and one leaf. Only wo_block_order_reserve allocates, so that inserting and erasing cannot fail. No two keys are
 * equal. One order is used by one thread. */
#ifndef WO_BLOCK_ORDER_H
#define WO_BLOCK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returned when there is no such block. */
#define WO_ORDER_NONE UINT32_MAX

struct wo_block_key {
  uint64_t size_bytes;
  uint64_t tie; /* the address, or another value that decides between equal sizes */
};

/* Where a block is; invalid as soon as the order changes. */
struct wo_block_place {
  size_t leaf; /* index in the directory */
  size_t at;
};

/* Most entries of a leaf; most entries of two leaves that are joined. */
enum { WO_ORDER_LEAF_MAX = 32, WO_ORDER_MERGE_MAX = 24 };

struct wo_order_item {
  struct wo_block_key key;
  uint32_t block;
};

union wo_order_leaf {
  struct wo_order_item items[WO_ORDER_LEAF_MAX];
  uint32_t next_spare; /* of an unused leaf */
};

/* Enough to decide, without reading the leaf, whether to search it and whether to join it with its neighbour. */
struct wo_order_entry {
  struct wo_block_key first;
  uint32_t leaf;
  uint32_t count; /* entries of the leaf */
};

/* {0} is an order without room. Members, leaves and entries are for block_order.c. */
struct wo_block_order {
  union wo_order_leaf *leaves;
  struct wo_order_entry *directory; /* by key; leaf_count of them */
  size_t leaf_count;
  size_t leaf_capacity;
  size_t room;         /* blocks that storage was allocated for */
  size_t count;        /* blocks */
  uint32_t spare_leaf; /* head of the list of unused leaves */
};

/* Makes room for at least `blocks` blocks in total. False when memory is out; the order is unchanged then. */
bool wo_block_order_reserve(struct wo_block_order *order, size_t blocks);

/* Releases the storage; the order is {0} afterwards. */
void wo_block_order_done(struct wo_block_order *order);

/* Adds a block: there must be room, and no block with this key. / Erases the block with this key, which must exist. */
void wo_block_order_insert(struct wo_block_order *order, struct wo_block_key key, uint32_t block);
void wo_block_order_erase(struct wo_block_order *order, struct wo_block_key key);

/* The first block whose key is at least `key`, with its place (NULL allowed), or WO_ORDER_NONE. */
uint32_t wo_block_order_at_least(const struct wo_block_order *order, struct wo_block_key key, struct wo_block_place *ret_place);

/* Erases the block at a place that wo_block_order_at_least gave. */
void wo_block_order_take(struct wo_block_order *order, struct wo_block_place place);

/* The first block whose key is above `key` / the last block whose key is below it; or WO_ORDER_NONE. */
uint32_t wo_block_order_above(const struct wo_block_order *order, struct wo_block_key key);
uint32_t wo_block_order_below(const struct wo_block_order *order, struct wo_block_key key);

#endif
