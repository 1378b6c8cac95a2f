/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of the model: everything that two places know, recounted. */
#include "tests/support/replay/allocator_valid.h"

#include "cuda_replay/allocator/allocator_internal.h"
#include "tests/support/replay/block_order_valid.h"

/* What a walk over all chains adds up. */
struct tally {
  size_t chain_count;
  size_t block_count;
  size_t free_count;
  size_t segment_free_count; /* free blocks that are in no range */
  size_t idle_count;         /* free blocks that can go back to the device */
  size_t unmapped_count;
  size_t pending_count;
  size_t waiting_count;
  size_t use_count;
  struct wo_allocator_stats stats; /* current values only */
};

#define REQUIRE(condition, why)                                                                                                  \
  if (!(condition)) return why

static void add(struct wo_stat stats[WO_STAT_POOL_COUNT_], const struct wo__shelf *shelf, uint64_t amount) {
  stats[WO_STAT_ALL].current += (int64_t)amount;
  stats[shelf->is_small ? WO_STAT_SMALL : WO_STAT_LARGE].current += (int64_t)amount;
}

/* ---- One block ---- */

static void tally_held(const struct wo_allocator *a, const struct wo__shelf *shelf, const struct wo__block *block,
                       struct tally *tally) {
  add(tally->stats.active, shelf, 1);
  add(tally->stats.active_bytes, shelf, block->size_bytes);
  add(tally->stats.requested_bytes, shelf, block->requested_bytes);
  for (uint32_t use = block->uses; use != WO__NONE; use = a->uses.items[use].next) tally->use_count++;
  if (block->state == WO__PENDING) {
    tally->pending_count++;
    tally->waiting_count += block->waits_for_capture;
    return;
  }
  add(tally->stats.allocation, shelf, 1);
  add(tally->stats.allocated_bytes, shelf, block->size_bytes);
}

/* Whether emptying the cache could give a part of a free block back. */
static bool holds_idle_memory(const struct wo_allocator *a, const struct wo__block *block) {
  if (block->range == WO__NONE) return !wo__is_split(block);
  const struct wo__range *const range = &a->ranges.items[block->range];
  const uint64_t end = block->address + block->size_bytes;
  uint64_t handle = range->address;
  while (handle < block->address) handle += range->handle_bytes;
  return handle + range->handle_bytes <= end;
}

static void tally_block(const struct wo_allocator *a, const struct wo__shelf *shelf, const struct wo__block *block,
                        struct tally *tally) {
  tally->block_count++;
  if (block->state == WO__UNMAPPED) {
    tally->unmapped_count++;
    return;
  }
  add(tally->stats.reserved_bytes, shelf, block->size_bytes);
  if (block->state != WO__FREE) {
    tally_held(a, shelf, block, tally);
    return;
  }
  tally->free_count++;
  tally->segment_free_count += block->range == WO__NONE;
  tally->idle_count += holds_idle_memory(a, block);
  if (block->range != WO__NONE || !wo__is_split(block)) return;
  add(tally->stats.inactive_split, shelf, 1);
  add(tally->stats.inactive_split_bytes, shelf, block->size_bytes);
}

static const char *check_block(const struct wo_allocator *a, uint32_t id) {
  const struct wo__block *const block = wo__block(a, id);
  REQUIRE(block->state != WO__UNUSED, "a chain holds a block that is not in use");
  REQUIRE(block->size_bytes > 0, "a block has no bytes");
  REQUIRE(block->shelf < a->shelves.count, "a block is on no shelf");
  const struct wo__shelf *const shelf = wo__shelf(a, block->shelf);
  const struct wo_block_key key = block->state == WO__UNMAPPED ? wo__address_key(block->address) : wo__key(block);
  const struct wo_block_order *const order = block->state == WO__UNMAPPED ? &shelf->unmapped : &shelf->free;
  const bool is_open = block->state == WO__UNMAPPED || block->state == WO__FREE;
  REQUIRE(!is_open || wo_block_order_at_least(order, key, NULL) == id, "an open block is not in its order");
  REQUIRE(!is_open || block->uses == WO__NONE, "an open block is used by a stream");
  REQUIRE(block->state != WO__UNMAPPED || block->range != WO__NONE, "an unmapped block is in no range");
  if (block->range == WO__NONE) return NULL;
  REQUIRE(block->range < a->ranges.count, "a block is in a range that is not there");
  const struct wo__range *const range = &a->ranges.items[block->range];
  const bool is_aligned =
      (block->address - range->address) % range->handle_bytes == 0 && block->size_bytes % range->handle_bytes == 0;
  REQUIRE(block->state != WO__UNMAPPED || is_aligned, "an unmapped block is no multiple of its handles");
  return NULL;
}

/* ---- One chain ---- */

static const char *check_neighbours(const struct wo__block *block, uint32_t next, const struct wo__block *right) {
  REQUIRE(block->next == next && right->address == block->address + block->size_bytes, "blocks do not meet");
  REQUIRE(right->shelf == block->shelf && right->range == block->range, "neighbours belong to different shelves");
  const bool is_mergeable = block->state == right->state && (block->state == WO__FREE || block->state == WO__UNMAPPED);
  REQUIRE(!is_mergeable, "two neighbours that should have merged");
  return NULL;
}

static const char *check_chain(const struct wo_allocator *a, uint32_t head, struct tally *tally, uint64_t *ret_end) {
  const struct wo__block *block = wo__block(a, head);
  REQUIRE(block->prev == WO__NONE, "the head of a chain has a neighbour before it");
  const struct wo__shelf *const shelf = wo__shelf(a, block->shelf);
  for (uint32_t id = head; id != WO__NONE; id = wo__block(a, id)->next) {
    block = wo__block(a, id);
    const char *why = check_block(a, id);
    REQUIRE(why == NULL, why);
    tally_block(a, shelf, block, tally);
    if (block->next == WO__NONE) break;
    const struct wo__block *const right = wo__block(a, block->next);
    REQUIRE(right->prev == id, "neighbours do not know each other");
    why = check_neighbours(block, block->next, right);
    REQUIRE(why == NULL, why);
    REQUIRE(tally->block_count <= a->blocks.count, "a chain has no end");
  }
  *ret_end = block->address + block->size_bytes;
  const struct wo__block *const first = wo__block(a, head);
  if (first->range == WO__NONE) {
    add(tally->stats.segment, shelf, 1);
    return NULL;
  }
  const struct wo__range *const range = &a->ranges.items[first->range];
  REQUIRE(first->address == range->address && *ret_end == range->address + range->size_bytes, "a range is not filled");
  return NULL;
}

static const char *check_chains(const struct wo_allocator *a, struct tally *tally) {
  uint64_t end = 0;
  uint32_t id = wo_block_order_at_least(&a->chains, wo__address_key(0), NULL);
  for (; id != WO_ORDER_NONE; id = wo_block_order_above(&a->chains, wo__address_key(wo__block(a, id)->address))) {
    REQUIRE(wo__block(a, id)->address >= end, "two segments overlap");
    const char *const why = check_chain(a, id, tally, &end);
    REQUIRE(why == NULL, why);
    tally->chain_count++;
  }
  REQUIRE(tally->chain_count == a->chains.count, "the list of segments is wrong");
  return NULL;
}

/* ---- Lists and sums ---- */

static const char *check_shelves(const struct wo_allocator *a, const struct tally *tally) {
  size_t blocks = 0;
  size_t free_blocks = 0;
  size_t unmapped = 0;
  size_t segment_free = 0;
  for (size_t i = 0; i < a->shelves.count; i++) {
    const struct wo__shelf *const shelf = &a->shelves.items[i];
    REQUIRE(wo_block_order_is_valid(&shelf->free), "an order of free blocks is out of order");
    REQUIRE(wo_block_order_is_valid(&shelf->unmapped), "an order of unmapped blocks is out of order");
    REQUIRE(shelf->block_count <= shelf->free.room, "a shelf has more blocks than room");
    blocks += shelf->block_count;
    free_blocks += shelf->free.count;
    unmapped += shelf->unmapped.count;
    segment_free += shelf->segment_free_count;
  }
  REQUIRE(blocks == tally->block_count, "a shelf miscounts its blocks");
  REQUIRE(free_blocks == tally->free_count, "a free order holds a block that is not free");
  REQUIRE(segment_free == tally->segment_free_count, "a shelf miscounts its free blocks of segments");
  REQUIRE(unmapped == tally->unmapped_count, "an unmapped order holds a block that is mapped");
  return NULL;
}

/* One list of idle blocks; *count grows by them. */
static const char *check_idle(const struct wo_allocator *a, const struct wo__bin *bin, int kind, size_t *count) {
  const struct wo__idle *const idle = &bin->idle[kind];
  struct wo__idle recount = {.newest = WO__NONE};
  for (uint32_t id = idle->oldest; id != WO__NONE; id = wo__block(a, id)->newer) {
    const struct wo__block *const block = wo__block(a, id);
    REQUIRE(block->state == WO__FREE && block->idle_kind == kind, "an idle list holds a block that is not idle");
    REQUIRE(wo__bin(a, wo__shelf(a, block->shelf)) == bin, "an idle block is in the list of another pool");
    REQUIRE(block->older == recount.newest && recount.count <= a->blocks.count, "an idle list is broken");
    const bool is_later = block->older == WO__NONE || wo__block(a, block->older)->calls_at_free <= block->calls_at_free;
    REQUIRE(is_later, "an idle list is out of order");
    REQUIRE((kind == WO__IDLE_SEGMENT) == (block->range == WO__NONE), "an idle block is in the wrong list");
    REQUIRE((kind == WO__IDLE_PART) == wo__is_split(block), "a whole range is no part of one");
    recount.newest = id;
    recount.count++;
    recount.calls_at_free += block->calls_at_free;
  }
  REQUIRE(idle->newest == recount.newest && idle->count == recount.count, "an idle list is wrong");
  REQUIRE(idle->calls_at_free == recount.calls_at_free, "the ages of idle blocks are wrong");
  *count += recount.count;
  return NULL;
}

/* Counts the runs of a chain with an unmapped block, each of which must be in the tree of its shelf. */
static const char *check_runs(const struct wo_allocator *a, uint32_t head, size_t *count) {
  for (uint32_t id = head; id != WO__NONE; id = wo__block(a, id)->next) {
    const uint32_t first = id;
    uint64_t bytes = 0;
    bool has_unmapped = false;
    for (; wo__is_open(a, id); id = wo__block(a, id)->next) {
      bytes += wo__block(a, id)->size_bytes;
      has_unmapped |= wo__is_unmapped(a, id);
    }
    if (has_unmapped) {
      struct wo_room room = {0};
      const struct wo__block *const block = wo__block(a, first);
      const bool is_known = wo_room_tree_below(&wo__shelf(a, block->shelf)->runs, block->address, &room);
      REQUIRE(is_known && room.start == block->address && room.bytes == bytes && room.value == first, "a run is not known");
      ++*count;
    }
    if (id == WO__NONE) break;
  }
  return NULL;
}

static const char *check_all_runs(const struct wo_allocator *a) {
  size_t runs = 0;
  size_t known = 0;
  uint32_t id = wo_block_order_at_least(&a->chains, wo__address_key(0), NULL);
  for (; id != WO_ORDER_NONE; id = wo_block_order_above(&a->chains, wo__address_key(wo__block(a, id)->address))) {
    const char *const why = check_runs(a, id, &runs);
    REQUIRE(why == NULL, why);
  }
  for (size_t i = 0; i < a->shelves.count; i++) known += a->shelves.items[i].runs.count;
  REQUIRE(known == runs, "a run is known that is none");
  return NULL;
}

static const char *check_pools(const struct wo_allocator *a, const struct tally *tally) {
  size_t idle = 0;
  size_t suspects = 0;
  for (size_t i = 0; i < a->pools.count; i++) {
    const struct wo__pool *const pool = &a->pools.items[i];
    const size_t before = idle;
    for (int kind = WO__IDLE_SEGMENT; kind < WO__IDLE_KINDS_; kind++) {
      const char *why = check_idle(a, &pool->small, kind, &idle);
      if (why == NULL) why = check_idle(a, &pool->large, kind, &idle);
      REQUIRE(why == NULL, why);
    }
    const bool has_work = i > 0 && !pool->is_gone && pool->use_count == 0 && (idle > before || pool->segment_count == 0);
    REQUIRE(!has_work || pool->is_suspect, "a pool that can be released is not listed");
    suspects += pool->is_suspect;
  }
  REQUIRE(idle == tally->idle_count, "an idle block is in no list");
  REQUIRE(suspects == a->suspects.count, "the list of pools that may be released is wrong");
  return NULL;
}

static const char *check_lists(const struct wo_allocator *a, const struct tally *tally) {
  size_t unused = 0;
  for (uint32_t id = a->unused_block; id != WO__NONE && unused <= a->blocks.count; id = wo__block(a, id)->next) unused++;
  REQUIRE(unused == a->unused_count && unused + tally->block_count == a->blocks.count, "a block number was lost");
  size_t pending = 0;
  uint32_t older = WO__NONE;
  for (uint32_t id = a->oldest_pending; id != WO__NONE && pending <= a->blocks.count; id = wo__block(a, id)->newer) {
    REQUIRE(wo__block(a, id)->state == WO__PENDING && wo__block(a, id)->older == older, "the pending list is broken");
    older = id;
    pending++;
  }
  REQUIRE(pending == tally->pending_count && older == a->newest_pending, "the pending list is wrong");
  REQUIRE(tally->waiting_count == a->waiting_count, "the count of blocks that wait for a capture is wrong");
  size_t unused_uses = 0;
  for (uint32_t use = a->unused_use; use != WO__NONE && unused_uses <= a->uses.count; use = a->uses.items[use].next)
    unused_uses++;
  REQUIRE(unused_uses + tally->use_count == a->uses.count, "a use by a stream was lost");
  return NULL;
}

static bool agrees(const struct wo_stat stats[WO_STAT_POOL_COUNT_], const struct wo_stat recount[WO_STAT_POOL_COUNT_]) {
  for (int i = 0; i < WO_STAT_POOL_COUNT_; i++) {
    const struct wo_stat *const stat = &stats[i];
    if (stat->current != recount[i].current || stat->peak < stat->current) return false;
    if (stat->allocated - stat->freed != stat->current || stat->freed < 0) return false;
  }
  return true;
}

static const char *check_stats(const struct wo_allocator *a, const struct tally *tally) {
  const struct wo_allocator_stats *const stats = &a->stats;
  const struct wo_allocator_stats *const recount = &tally->stats;
  REQUIRE(agrees(stats->allocation, recount->allocation), "statistic allocation");
  REQUIRE(agrees(stats->segment, recount->segment), "statistic segment");
  REQUIRE(agrees(stats->active, recount->active), "statistic active");
  REQUIRE(agrees(stats->inactive_split, recount->inactive_split), "statistic inactive_split");
  REQUIRE(agrees(stats->allocated_bytes, recount->allocated_bytes), "statistic allocated_bytes");
  REQUIRE(agrees(stats->reserved_bytes, recount->reserved_bytes), "statistic reserved_bytes");
  REQUIRE(agrees(stats->active_bytes, recount->active_bytes), "statistic active_bytes");
  REQUIRE(agrees(stats->inactive_split_bytes, recount->inactive_split_bytes), "statistic inactive_split_bytes");
  REQUIRE(agrees(stats->requested_bytes, recount->requested_bytes), "statistic requested_bytes");
  return NULL;
}

bool wo_allocator_is_valid(const struct wo_allocator *a, const char **ret_why) {
  struct tally tally = {0};
  const char *why = wo_block_order_is_valid(&a->chains) ? NULL : "the order of segments is out of order";
  if (why == NULL) why = check_chains(a, &tally);
  if (why == NULL) why = check_shelves(a, &tally);
  if (why == NULL) why = check_lists(a, &tally);
  if (why == NULL) why = check_pools(a, &tally);
  if (why == NULL) why = check_all_runs(a);
  if (why == NULL) why = check_stats(a, &tally);
  if (ret_why != NULL) *ret_why = why;
  return why == NULL;
}

/* ---- One block from outside ---- */

uint64_t wo_allocator_address(const struct wo_allocator *a, wo_block_id block) {
  return wo__block(a, block)->address;
}

uint64_t wo_allocator_block_bytes(const struct wo_allocator *a, wo_block_id block) {
  return wo__block(a, block)->size_bytes;
}
