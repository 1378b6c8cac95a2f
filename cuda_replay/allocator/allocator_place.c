/* SPDX-License-Identifier: Apache-2.0 */
/* Places start states, and walks over the present state. */
#include "cuda_replay/allocator/allocator_internal.h"

#include "parsers/base/vec.h"

/* ---- Placing ---- */

static bool is_state(enum wo_block_state state) {
  return state == WO_BLOCK_FREE || state == WO_BLOCK_ALLOCATED || state == WO_BLOCK_PENDING;
}

/* Whether a segment can consist of these blocks: they fill it, and no two free ones are neighbours. */
static bool is_sound(const struct wo_allocator *a, const struct wo_allocator_segment *segment,
                     const struct wo_allocator_block *blocks, size_t count) {
  uint64_t end = 0;
  if (count == 0 || segment->address == 0) return false;
  if (__builtin_add_overflow(segment->address, segment->size_bytes, &end) || end > INT64_MAX) return false;
  uint64_t sum_bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const struct wo_allocator_block *const block = &blocks[i];
    if (!is_state(block->state) || block->size_bytes == 0) return false;
    if (a->ties == WO__TIES_BY_SEGMENT && block->size_bytes % WO__MIN_BLOCK_BYTES != 0) return false;
    if (__builtin_add_overflow(sum_bytes, block->size_bytes, &sum_bytes)) return false;
    if (block->state != WO_BLOCK_FREE && block->requested_bytes > block->size_bytes) return false;
    if (i > 0 && block->state == WO_BLOCK_FREE && blocks[i - 1].state == WO_BLOCK_FREE) return false;
  }
  return sum_bytes == segment->size_bytes;
}

/* The end of the chain that begins with a block. */
static uint64_t chain_end(const struct wo_allocator *a, uint32_t id) {
  const struct wo__block *block = wo__block(a, id);
  if (block->range != WO__NONE) return a->ranges.items[block->range].address + a->ranges.items[block->range].size_bytes;
  while (block->next != WO__NONE) block = wo__block(a, block->next);
  return block->address + block->size_bytes;
}

/* The last chain that has a byte in [address, end), or WO__NONE. */
static uint32_t chain_at(const struct wo_allocator *a, uint64_t address, uint64_t end) {
  const uint32_t id = wo_block_order_below(&a->chains, wo__address_key(end));
  return id != WO_ORDER_NONE && chain_end(a, id) > address ? id : WO__NONE;
}

/* Cuts the unused end off a range whose end was a guess, so that it ends before `address`. False when that is impossible. */
static bool shorten_guess(struct wo_allocator *a, uint32_t chain, uint64_t address) {
  uint32_t last = chain;
  while (wo__block(a, last)->next != WO__NONE) last = wo__block(a, last)->next;
  struct wo__block *const block = wo__block(a, last);
  struct wo__range *const range = &a->ranges.items[block->range];
  if (!range->is_guess || block->state != WO__UNMAPPED || block->prev == WO__NONE || block->address > address) return false;
  const uint64_t end = block->address + block->size_bytes;
  const uint64_t kept_bytes = (address - block->address) / range->handle_bytes * range->handle_bytes;
  range->size_bytes -= block->size_bytes - kept_bytes;
  block->size_bytes = kept_bytes;
  if (kept_bytes > 0) {
    wo__runs_update(a, last, end);
    return true;
  }
  wo_block_order_erase(&wo__shelf(a, block->shelf)->unmapped, wo__address_key(block->address));
  const uint32_t prev = block->prev;
  const bool is_free = wo__block(a, prev)->state == WO__FREE;
  /* The block before it may be a whole range now. */
  if (is_free) wo__idle_remove(a, prev);
  wo__block(a, prev)->next = WO__NONE;
  wo__block_drop(a, last);
  if (is_free) wo__idle_add(a, prev);
  wo__runs_update(a, prev, end);
  return true;
}

bool wo__make_way(struct wo_allocator *a, uint64_t address, uint64_t end) {
  if (end <= address) return false;
  const uint32_t chain = chain_at(a, address, end);
  if (chain == WO__NONE) return true;
  const bool is_range = wo__block(a, chain)->range != WO__NONE;
  return is_range && shorten_guess(a, chain, address) && chain_at(a, address, end) == WO__NONE;
}

/* Whether a free block would touch a free block of the same range: the caller must place such memory in one piece. */
static bool touches_free(const struct wo_allocator *a, uint32_t neighbour, const struct wo_allocator_block *block) {
  return neighbour != WO__NONE && wo__block(a, neighbour)->state == WO__FREE && block->state == WO_BLOCK_FREE;
}

/* The unmapped block of a range that can take the whole segment, or WO__NONE. */
static uint32_t unmapped_for(const struct wo_allocator *a, uint32_t chain, uint32_t shelf,
                             const struct wo_allocator_segment *segment) {
  const struct wo__block *const head = wo__block(a, chain);
  if (head->range == WO__NONE || head->shelf != shelf) return WO__NONE;
  const struct wo__range *const range = &a->ranges.items[head->range];
  if (segment->range_address != 0 && segment->range_address != range->address) return WO__NONE;
  if (segment->address < range->address || (segment->address - range->address) % range->handle_bytes != 0 ||
      segment->size_bytes % range->handle_bytes != 0) {
    return WO__NONE;
  }
  const uint32_t id = wo_block_order_below(&wo__shelf(a, shelf)->unmapped, wo__address_key(segment->address + 1));
  if (id == WO_ORDER_NONE) return WO__NONE;
  const struct wo__block *const block = wo__block(a, id);
  return block->address + block->size_bytes >= segment->address + segment->size_bytes ? id : WO__NONE;
}

/* Makes the range that begins with a segment. */
static enum wo_status new_range(struct wo_allocator *a, uint32_t shelf, const struct wo_allocator_segment *segment,
                                uint32_t *ret_block) {
  const uint64_t handle_bytes = wo__handle_bytes(a, wo__shelf(a, shelf));
  const uint64_t address = segment->range_address != 0 ? segment->range_address : segment->address;
  uint64_t size_bytes = segment->range_address != 0 ? segment->range_bytes : wo__range_bytes(a, handle_bytes);
  uint64_t end = 0;
  if (__builtin_add_overflow(address, size_bytes, &end) || end > INT64_MAX) return WO_E_RANGE;
  if (segment->range_address == 0) {
    /* The length is a guess: known segments limit it. */
    const uint32_t above = wo_block_order_at_least(&a->chains, wo__address_key(segment->address), NULL);
    if (above != WO_ORDER_NONE && wo__block(a, above)->address < end) {
      size_bytes = (wo__block(a, above)->address - address) / handle_bytes * handle_bytes;
      end = address + size_bytes;
    }
  }
  const bool is_inside = segment->address >= address && segment->address + segment->size_bytes <= end;
  const bool is_aligned = size_bytes % handle_bytes == 0 && (segment->address - address) % handle_bytes == 0 &&
                          segment->size_bytes % handle_bytes == 0;
  if (!is_inside || !is_aligned || chain_at(a, address, end) != WO__NONE) return WO_E_RANGE;
  const enum wo_status status = wo__range_add(a, shelf, address, size_bytes, handle_bytes, ret_block);
  if (status == WO_OK) a->ranges.items[wo__block(a, *ret_block)->range].is_guess = segment->range_address == 0;
  return status;
}

/* Places a mapped run of a range as one free block that is in no order and not yet cut into blocks. */
static enum wo_status place_run(struct wo_allocator *a, uint32_t shelf, const struct wo_allocator_segment *segment,
                                const struct wo_allocator_block *blocks, size_t count, uint32_t *ret_block) {
  const uint64_t end = segment->address + segment->size_bytes;
  const uint32_t chain = chain_at(a, segment->address, end);
  uint32_t id = chain == WO__NONE ? WO__NONE : unmapped_for(a, chain, shelf, segment);
  if (id == WO__NONE) {
    if (!wo__make_way(a, segment->address, end)) return WO_E_RANGE;
    const enum wo_status status = new_range(a, shelf, segment, &id);
    if (status != WO_OK) return status;
  }
  const struct wo__block *const block = wo__block(a, id);
  const bool fits_front = segment->address > block->address || !touches_free(a, block->prev, &blocks[0]);
  const bool fits_back = end < block->address + block->size_bytes || !touches_free(a, block->next, &blocks[count - 1]);
  if (!fits_front || !fits_back) return WO_E_RANGE;
  if (segment->address > block->address) {
    id = wo__chain_cut(a, id, segment->address - block->address);
    wo_block_order_insert(&wo__shelf(a, shelf)->unmapped, wo__address_key(segment->address), id);
  }
  wo__map_front(a, id, segment->size_bytes);
  *ret_block = id;
  return WO_OK;
}

/* Counts a block that is there from the start. */
static void count_block(struct wo_allocator *a, const struct wo__shelf *shelf, const struct wo__block *block) {
  struct wo_allocator_stats *const stats = &a->stats;
  if (block->state == WO__FREE) {
    if (!wo__is_split(block) || block->range != WO__NONE) return;
    wo__rise(stats->inactive_split, shelf, 1);
    wo__rise(stats->inactive_split_bytes, shelf, block->size_bytes);
    return;
  }
  wo__rise(stats->active, shelf, 1);
  wo__rise(stats->active_bytes, shelf, block->size_bytes);
  wo__rise(stats->requested_bytes, shelf, block->requested_bytes);
  if (block->state != WO__ALLOCATED) return;
  wo__rise(stats->allocation, shelf, 1);
  wo__rise(stats->allocated_bytes, shelf, block->size_bytes);
  if (block->size_bytes >= a->settings.max_split_bytes) wo__rise_one(&stats->oversize_allocations, 1);
}

/* Cuts a free block that is in no order into the given blocks. */
static void place_blocks(struct wo_allocator *a, uint32_t id, const struct wo_allocator_block *blocks, size_t count,
                         wo_block_id *ret_blocks) {
  for (size_t i = 0; i < count; i++) {
    const uint32_t rest = i + 1 < count ? wo__chain_cut(a, id, blocks[i].size_bytes) : WO__NONE;
    wo__tie_of_part(a, id);
    struct wo__block *const block = wo__block(a, id);
    if (blocks[i].state == WO_BLOCK_FREE) {
      wo__free_insert(a, id);
    } else {
      block->requested_bytes = blocks[i].requested_bytes;
      block->state = WO__ALLOCATED;
      if (blocks[i].state == WO_BLOCK_PENDING) wo__pending_add(a, id);
    }
    count_block(a, wo__shelf(a, block->shelf), block);
    if (ret_blocks != NULL) ret_blocks[i] = id;
    id = rest;
  }
}

static void count_segment(struct wo_allocator *a, const struct wo__shelf *shelf, const struct wo_allocator_segment *segment) {
  a->pools.items[shelf->pool].segment_count++;
  wo__rise(a->stats.reserved_bytes, shelf, segment->size_bytes);
  if (segment->is_expandable) return;
  wo__rise(a->stats.segment, shelf, 1);
  if (segment->size_bytes >= a->settings.max_split_bytes) wo__rise_one(&a->stats.oversize_segments, 1);
}

enum wo_status wo_allocator_place(struct wo_allocator *a, const struct wo_allocator_segment *segment,
                                  const struct wo_allocator_block *blocks, size_t count, wo_block_id *ret_blocks) {
  if (!is_sound(a, segment, blocks, count)) return WO_E_RANGE;
  if (!segment->is_expandable && !wo__make_way(a, segment->address, segment->address + segment->size_bytes)) return WO_E_RANGE;
  uint32_t pool = WO__NONE;
  uint32_t shelf = WO__NONE;
  /* A cut before the run, one after it, and its blocks. */
  if (wo__pool_find(a, segment->pool, &pool) != WO_OK ||
      wo__shelf_find(a, pool, segment->is_small, segment->stream, &shelf) != WO_OK ||
      wo__reserve_blocks(a, shelf, count + 3) != WO_OK || !wo_block_order_reserve(&a->chains, a->chains.count + 1)) {
    return WO_E_NOMEM;
  }
  uint32_t id = WO__NONE;
  if (segment->is_expandable) {
    const enum wo_status status = place_run(a, shelf, segment, blocks, count, &id);
    if (status != WO_OK) return status;
  } else {
    id = wo__block_new(a, shelf, segment->address, segment->size_bytes, WO__FREE);
    wo__block(a, id)->tie = wo__tie_of_segment(a, segment->address);
    wo_block_order_insert(&a->chains, wo__address_key(segment->address), id);
  }
  /* Somebody holds a private pool that has memory. */
  if (pool != 0 && a->pools.items[pool].use_count == 0) a->pools.items[pool].use_count = 1;
  count_segment(a, wo__shelf(a, shelf), segment);
  place_blocks(a, id, blocks, count, ret_blocks);
  if (segment->is_expandable) wo__runs_update(a, id, segment->address + segment->size_bytes);
  return WO_OK;
}

/* ---- Walking ---- */

/* A run of mapped blocks, collected for the caller. */
struct run {
  WO_VEC(struct wo_allocator_block) blocks;
  WO_VEC(wo_block_id) ids;
};

static enum wo_block_state shown_state(const struct wo__block *block) {
  if (block->state == WO__ALLOCATED) return WO_BLOCK_ALLOCATED;
  return block->state == WO__PENDING ? WO_BLOCK_PENDING : WO_BLOCK_FREE;
}

/* Collects the mapped blocks from `id` on; returns the block after them. */
static enum wo_status collect(const struct wo_allocator *a, uint32_t id, struct run *run, uint32_t *ret_behind) {
  run->blocks.count = 0;
  run->ids.count = 0;
  for (; id != WO__NONE && wo__block(a, id)->state != WO__UNMAPPED; id = wo__block(a, id)->next) {
    if (!WO_VEC_RESERVE(&run->blocks, 1, WO__NONE) || !WO_VEC_RESERVE(&run->ids, 1, WO__NONE)) return WO_E_NOMEM;
    const struct wo__block *const block = wo__block(a, id);
    const enum wo_block_state state = shown_state(block);
    run->blocks.items[run->blocks.count++] = (struct wo_allocator_block){
        .size_bytes = block->size_bytes,
        .requested_bytes = state == WO_BLOCK_FREE ? 0 : block->requested_bytes,
        .state = state,
    };
    run->ids.items[run->ids.count++] = id;
  }
  *ret_behind = id;
  return WO_OK;
}

/* The segment that begins with a block and ends before another. */
static struct wo_allocator_segment segment_of(const struct wo_allocator *a, uint32_t first, const struct run *run) {
  const struct wo__block *const block = wo__block(a, first);
  const struct wo__shelf *const shelf = wo__shelf(a, block->shelf);
  struct wo_allocator_segment segment = {
      .address = block->address,
      .stream = shelf->stream,
      .pool = a->pools.items[shelf->pool].id,
      .is_small = shelf->is_small,
      .is_expandable = block->range != WO__NONE,
  };
  if (segment.is_expandable) {
    segment.range_address = a->ranges.items[block->range].address;
    segment.range_bytes = a->ranges.items[block->range].size_bytes;
  }
  for (size_t i = 0; i < run->blocks.count; i++) segment.size_bytes += run->blocks.items[i].size_bytes;
  return segment;
}

/* Visits the mapped runs of one chain. *ret_goes_on: whether the callback wants more runs. */
static enum wo_status walk_chain(const struct wo_allocator *a, uint32_t id, struct run *run, wo_allocator_visit *visit,
                                 void *state, bool *ret_goes_on) {
  *ret_goes_on = true;
  while (id != WO__NONE && *ret_goes_on) {
    const uint32_t first = id;
    if (wo__block(a, id)->state == WO__UNMAPPED) {
      id = wo__block(a, id)->next;
      continue;
    }
    if (collect(a, first, run, &id) != WO_OK) return WO_E_NOMEM;
    const struct wo_allocator_segment segment = segment_of(a, first, run);
    *ret_goes_on = visit(state, &segment, run->blocks.items, run->ids.items, run->blocks.count);
  }
  return WO_OK;
}

enum wo_status wo_allocator_walk(const struct wo_allocator *a, wo_allocator_visit *visit, void *state) {
  struct run run = {0};
  bool goes_on = true;
  enum wo_status status = WO_OK;
  uint32_t id = wo_block_order_at_least(&a->chains, wo__address_key(0), NULL);
  while (id != WO_ORDER_NONE && goes_on && status == WO_OK) {
    status = walk_chain(a, id, &run, visit, state, &goes_on);
    id = wo_block_order_above(&a->chains, wo__address_key(wo__block(a, id)->address));
  }
  WO_VEC_DONE(&run.blocks);
  WO_VEC_DONE(&run.ids);
  return status;
}
