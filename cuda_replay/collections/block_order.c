/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted list in leaves. Two neighbouring leaves always hold more than MERGE_MAX entries together. This limits how many leaves
 * n entries can need, and wo_block_order_reserve allocates that many. */
#include "cuda_replay/collections/block_order.h"

#include <assert.h>

enum { LEAF_MAX = WO_ORDER_LEAF_MAX, MERGE_MAX = WO_ORDER_MERGE_MAX, ROOM_FIRST = 24 /* the smallest room */ };

/* One comparison of 128 bits, which compiles without a branch: the processor cannot predict the outcome of a comparison in a
 * search. */
static bool is_below(struct wo_block_key a, struct wo_block_key b) {
  const unsigned __int128 left = (unsigned __int128)a.size_bytes << 64 | a.tie;
  const unsigned __int128 right = (unsigned __int128)b.size_bytes << 64 | b.tie;
  return left < right;
}

/* All bits set if the condition holds, else 0; written so that no compiler makes a branch of it. */
static size_t all_ones(bool condition) {
  return (size_t)0 - (size_t)condition;
}

static bool is_equal(struct wo_block_key a, struct wo_block_key b) {
  return a.size_bytes == b.size_bytes && a.tie == b.tie;
}

static union wo_order_leaf *leaf_of(const struct wo_block_order *order, size_t entry) {
  assert(entry < order->leaf_count);
  return &order->leaves[order->directory[entry].leaf];
}

/* ---- Storage ---- */

bool wo_block_order_reserve(struct wo_block_order *order, size_t blocks) {
  if (blocks <= order->room) return true;
  if (blocks < order->room + order->room / 2) blocks = order->room + order->room / 2;
  if (blocks < ROOM_FIRST) blocks = ROOM_FIRST;
  /* Pairs of leaves hold MERGE_MAX + 1 at least; one leaf more is in use while a full one is being cut. */
  const size_t needed = 2 * (blocks / (MERGE_MAX + 1)) + 3;
  if (needed >= UINT32_MAX) return false;
  struct wo_order_entry *const directory = realloc(order->directory, needed * sizeof *directory);
  if (directory == NULL) return false;
  order->directory = directory;
  union wo_order_leaf *const leaves = realloc(order->leaves, needed * sizeof *leaves);
  if (leaves == NULL) return false;
  order->leaves = leaves;
  if (order->room == 0) order->spare_leaf = WO_ORDER_NONE;
  for (size_t i = needed; i > order->leaf_capacity; i--) {
    leaves[i - 1].next_spare = order->spare_leaf;
    order->spare_leaf = (uint32_t)(i - 1);
  }
  order->leaf_capacity = needed;
  order->room = blocks;
  return true;
}

void wo_block_order_done(struct wo_block_order *order) {
  free(order->leaves);
  free(order->directory);
  *order = (struct wo_block_order){0};
}

/* ---- Searching ---- */

/* The last leaf whose first key is not above `key`; the first leaf when there is none. The order is not empty. */
static size_t find_leaf(const struct wo_block_order *order, struct wo_block_key key) {
  const struct wo_order_entry *base = order->directory;
  for (size_t left = order->leaf_count; left > 1;) {
    const size_t half = left / 2;
    base += half & all_ones(!is_below(key, base[half].first));
    left -= half;
  }
  return (size_t)(base - order->directory);
}

/* The number of keys of a leaf that are below `key`. */
static size_t find_in_leaf(const struct wo_block_order *order, size_t entry, struct wo_block_key key) {
  const union wo_order_leaf *const leaf = leaf_of(order, entry);
  assert(order->directory[entry].count > 0);
  const struct wo_order_item *base = leaf->items;
  for (size_t left = order->directory[entry].count; left > 1;) {
    const size_t half = left / 2;
    base += half & all_ones(is_below(base[half - 1].key, key));
    left -= half;
  }
  return (size_t)(base - leaf->items) + is_below(base->key, key);
}

/* The place of the first key that is at least `key`, or the place after the last entry of a leaf. */
static struct wo_block_place find(const struct wo_block_order *order, struct wo_block_key key) {
  const size_t entry = find_leaf(order, key);
  return (struct wo_block_place){entry, find_in_leaf(order, entry, key)};
}

/* The block at a place, or the first one after it; *place moves to the block. */
static uint32_t block_at(const struct wo_block_order *order, struct wo_block_place *place) {
  if (place->at == order->directory[place->leaf].count) {
    if (place->leaf + 1 == order->leaf_count) return WO_ORDER_NONE;
    *place = (struct wo_block_place){place->leaf + 1, 0};
  }
  return leaf_of(order, place->leaf)->items[place->at].block;
}

uint32_t wo_block_order_at_least(const struct wo_block_order *order, struct wo_block_key key, struct wo_block_place *ret_place) {
  if (order->count == 0) return WO_ORDER_NONE;
  struct wo_block_place place = find(order, key);
  const uint32_t block = block_at(order, &place);
  if (ret_place != NULL) *ret_place = place;
  return block;
}

uint32_t wo_block_order_above(const struct wo_block_order *order, struct wo_block_key key) {
  if (order->count == 0) return WO_ORDER_NONE;
  struct wo_block_place place = find(order, key);
  const bool is_inside = place.at < order->directory[place.leaf].count;
  if (is_inside && is_equal(leaf_of(order, place.leaf)->items[place.at].key, key)) place.at++;
  return block_at(order, &place);
}

uint32_t wo_block_order_below(const struct wo_block_order *order, struct wo_block_key key) {
  if (order->count == 0) return WO_ORDER_NONE;
  const struct wo_block_place place = find(order, key);
  if (place.at > 0) return leaf_of(order, place.leaf)->items[place.at - 1].block;
  if (place.leaf == 0) return WO_ORDER_NONE;
  return leaf_of(order, place.leaf - 1)->items[order->directory[place.leaf - 1].count - 1].block;
}

/* ---- Changing ---- */

/* Adds a leaf without entries at directory[entry]. */
static void open_leaf(struct wo_block_order *order, size_t entry) {
  assert(order->spare_leaf != WO_ORDER_NONE && entry <= order->leaf_count);
  const uint32_t leaf = order->spare_leaf;
  order->spare_leaf = order->leaves[leaf].next_spare;
  struct wo_order_entry *const at = &order->directory[entry];
  memmove(at + 1, at, (order->leaf_count - entry) * sizeof *at);
  at->leaf = leaf;
  at->count = 0;
  order->leaf_count++;
}

static void close_leaf(struct wo_block_order *order, size_t entry) {
  struct wo_order_entry *const at = &order->directory[entry];
  order->leaves[at->leaf].next_spare = order->spare_leaf;
  order->spare_leaf = at->leaf;
  order->leaf_count--;
  memmove(at, at + 1, (order->leaf_count - entry) * sizeof *at);
}

/* Appends the entries of one leaf from `start` on to those of another. */
static void move_entries(struct wo_block_order *order, size_t from, size_t start, size_t to) {
  const size_t count = order->directory[from].count - start;
  memcpy(&leaf_of(order, to)->items[order->directory[to].count], &leaf_of(order, from)->items[start],
         count * sizeof(struct wo_order_item));
  order->directory[to].count += (uint32_t)count;
  order->directory[from].count = (uint32_t)start;
}

/* Joins leaf `entry` with the next one when both are small. */
static void join(struct wo_block_order *order, size_t entry) {
  if (entry + 1 >= order->leaf_count) return;
  if (order->directory[entry].count + order->directory[entry + 1].count > MERGE_MAX) return;
  move_entries(order, entry + 1, 0, entry);
  close_leaf(order, entry + 1);
}

/* Cuts a full leaf into halves; its neighbours may now be small enough to join with one. */
static void cut(struct wo_block_order *order, size_t entry) {
  open_leaf(order, entry + 1);
  move_entries(order, entry, LEAF_MAX / 2, entry + 1);
  order->directory[entry + 1].first = leaf_of(order, entry + 1)->items[0].key;
  join(order, entry + 1);
  if (entry > 0) join(order, entry - 1);
}

void wo_block_order_insert(struct wo_block_order *order, struct wo_block_key key, uint32_t block) {
  assert(order->count < order->room);
  if (order->leaf_count == 0) open_leaf(order, 0);
  size_t entry = find_leaf(order, key);
  if (order->directory[entry].count == LEAF_MAX) {
    cut(order, entry);
    entry = find_leaf(order, key);
  }
  struct wo_order_entry *const leaf = &order->directory[entry];
  const size_t at = leaf->count == 0 ? 0 : find_in_leaf(order, entry, key);
  struct wo_order_item *const item = &leaf_of(order, entry)->items[at];
  assert(at == leaf->count || !is_equal(item->key, key));
  memmove(item + 1, item, (leaf->count - at) * sizeof *item);
  *item = (struct wo_order_item){key, block};
  leaf->count++;
  order->count++;
  if (at == 0) leaf->first = key;
}

void wo_block_order_take(struct wo_block_order *order, struct wo_block_place place) {
  struct wo_order_entry *const leaf = &order->directory[place.leaf];
  assert(place.at < leaf->count);
  struct wo_order_item *const item = &leaf_of(order, place.leaf)->items[place.at];
  leaf->count--;
  order->count--;
  memmove(item, item + 1, (leaf->count - place.at) * sizeof *item);
  if (leaf->count == 0) {
    close_leaf(order, place.leaf);
  } else {
    if (place.at == 0) leaf->first = leaf_of(order, place.leaf)->items[0].key;
    join(order, place.leaf);
  }
  if (place.leaf > 0) join(order, place.leaf - 1);
}

void wo_block_order_erase(struct wo_block_order *order, struct wo_block_key key) {
  assert(order->count > 0);
  const struct wo_block_place place = find(order, key);
  assert(is_equal(leaf_of(order, place.leaf)->items[place.at].key, key));
  wo_block_order_take(order, place);
}
