/* SPDX-License-Identifier: Apache-2.0 */
/* Reuse of cached memory: finds the best fit, cuts it, and merges freed blocks. */
#include "cuda_replay/allocator/allocator_internal.h"

/* ---- Ties ---- */

uint64_t wo__tie_of_segment(struct wo_allocator *a, uint64_t address) {
  switch (a->ties) {
  case WO__TIES_BY_SEGMENT:
    return ++a->last_age << WO__AGE_SHIFT;
  case WO__TIES_BY_BLOCK:
    return ++a->last_age;
  case WO__TIES_BY_ADDRESS:
  default:
    return address;
  }
}

void wo__tie_of_part(struct wo_allocator *a, uint32_t id) {
  if (a->ties == WO__TIES_BY_BLOCK) wo__block(a, id)->tie = ++a->last_age;
}

/* ---- Chains and orders ---- */

/* The age for garbage collection counts from here, also for the tail of a split and for the parts that unmapping leaves. */
void wo__free_insert(struct wo_allocator *a, uint32_t id) {
  struct wo__block *const block = wo__block(a, id);
  struct wo__shelf *const shelf = wo__shelf(a, block->shelf);
  block->state = WO__FREE;
  block->calls_at_free = wo__bin(a, shelf)->call_count;
  if (block->range == WO__NONE) shelf->segment_free_count++;
  wo_block_order_insert(&shelf->free, wo__key(block), id);
  wo__idle_add(a, id);
}

/* What else to do when a block leaves the free order. */
static void note_not_free(struct wo_allocator *a, uint32_t id) {
  const struct wo__block *const block = wo__block(a, id);
  if (block->range == WO__NONE) wo__shelf(a, block->shelf)->segment_free_count--;
  wo__idle_remove(a, id);
}

void wo__free_erase(struct wo_allocator *a, uint32_t id) {
  const struct wo__block *const block = wo__block(a, id);
  assert(block->state == WO__FREE);
  wo_block_order_erase(&wo__shelf(a, block->shelf)->free, wo__key(block));
  note_not_free(a, id);
}

/* The number of the right block can be reused at once: no caller knows the number of a block that is not handed out. */
void wo__chain_join(struct wo_allocator *a, uint32_t left, uint32_t right) {
  struct wo__block *const block = wo__block(a, left);
  const struct wo__block *const gone = wo__block(a, right);
  assert(block->next == right && gone->prev == left && block->range == gone->range);
  assert(block->address + block->size_bytes == gone->address);
  block->size_bytes += gone->size_bytes;
  block->next = gone->next;
  if (block->next != WO__NONE) wo__block(a, block->next)->prev = left;
  wo__block_drop(a, right);
}

uint32_t wo__chain_cut(struct wo_allocator *a, uint32_t id, uint64_t left_bytes) {
  struct wo__block *const block = wo__block(a, id);
  assert(left_bytes > 0 && left_bytes < block->size_bytes);
  const uint32_t rest =
      wo__block_new(a, block->shelf, block->address + left_bytes, block->size_bytes - left_bytes, (enum wo__state)block->state);
  struct wo__block *const right = wo__block(a, rest);
  right->tie = block->tie + (left_bytes >> a->ties);
  right->range = block->range;
  right->prev = id;
  right->next = block->next;
  if (right->next != WO__NONE) wo__block(a, right->next)->prev = rest;
  block->next = rest;
  block->size_bytes = left_bytes;
  return rest;
}

/* ---- Best fit ---- */

/* The size that a free block can grow to: its own and that of an unmapped neighbour after it. */
static uint64_t reach(const struct wo_allocator *a, const struct wo__block *block) {
  const struct wo__block *const next = block->next == WO__NONE ? NULL : wo__block(a, block->next);
  return block->size_bytes + (next != NULL && next->state == WO__UNMAPPED ? next->size_bytes : 0);
}

/* The next free block of the shelf, or WO_ORDER_NONE. */
static uint32_t next_free(const struct wo_allocator *a, const struct wo__shelf *shelf, uint32_t id) {
  return wo_block_order_above(&shelf->free, wo__key(wo__block(a, id)));
}

/* If the best fit is an expandable block, the search goes on while the next block has a smaller reach; if expandable segments
 * were turned off meanwhile, it goes on to the first block that is not expandable. */
static uint32_t choose_expandable(struct wo_allocator *a, const struct wo__shelf *shelf, uint32_t id) {
  uint32_t next = next_free(a, shelf, id);
  if (!a->settings.expandable_segments) {
    if (shelf->segment_free_count == 0) return WO_ORDER_NONE;
    for (; next != WO_ORDER_NONE && wo__block(a, next)->range != WO__NONE; a->steps++) next = next_free(a, shelf, next);
    return next;
  }
  while (next != WO_ORDER_NONE && wo__block(a, id)->range != WO__NONE &&
         reach(a, wo__block(a, next)) < reach(a, wo__block(a, id))) {
    id = next;
    next = next_free(a, shelf, id);
    a->steps++;
  }
  return id;
}

/* A search without a result also counts for the ages of garbage collection. */
bool wo__take_free_block(struct wo_allocator *a, struct wo__request *request) {
  struct wo__shelf *const shelf = wo__shelf(a, request->shelf);
  if (a->collects_garbage) wo__bin(a, shelf)->call_count++;
  struct wo_block_place place = {0};
  const uint32_t best = wo_block_order_at_least(&shelf->free, (struct wo_block_key){request->rounded_bytes, 0}, &place);
  uint32_t id = best;
  if (id == WO_ORDER_NONE) return false;
  if (wo__block(a, id)->range != WO__NONE) {
    id = choose_expandable(a, shelf, id);
    if (id == WO_ORDER_NONE) return false;
  }
  /* Only this block is checked against the limits, as in torch, although a later block may fit. */
  const uint64_t max_split = a->settings.max_split_bytes;
  const uint64_t size_bytes = wo__block(a, id)->size_bytes;
  if (request->rounded_bytes < max_split && size_bytes >= max_split) return false;
  if (request->rounded_bytes >= max_split && size_bytes - request->rounded_bytes >= a->settings.max_non_split_rounding_bytes) {
    return false;
  }
  request->block = id;
  if (id == best) {
    wo_block_order_take(&shelf->free, place);
    note_not_free(a, id);
  } else {
    wo__free_erase(a, id);
  }
  return true;
}

/* ---- Handing out ---- */

/* Expandable segments change the rule for every block while they are on, also for those of cudaMalloc. */
static bool must_split(const struct wo_allocator *a, const struct wo__request *request) {
  const struct wo__shelf *const shelf = wo__shelf(a, request->shelf);
  const uint64_t remaining = wo__block(a, request->block)->size_bytes - request->rounded_bytes;
  if (shelf->is_small || a->settings.expandable_segments) return remaining >= WO__MIN_BLOCK_BYTES;
  return request->rounded_bytes < a->settings.max_split_bytes && remaining > WO__SMALL_MAX_BYTES;
}

/* The tail of a cut block stays free. Torch calls free blocks with a neighbour "inactive split", but not expandable ones. */
static void split(struct wo_allocator *a, const struct wo__request *request) {
  const struct wo__shelf *const shelf = wo__shelf(a, request->shelf);
  const bool was_split = wo__is_split(wo__block(a, request->block));
  const uint32_t rest = wo__chain_cut(a, request->block, request->rounded_bytes);
  wo__free_insert(a, rest);
  /* The part handed out is the new object. */
  wo__tie_of_part(a, request->block);
  const struct wo__block *const tail = wo__block(a, rest);
  if (tail->range != WO__NONE) return;
  if (was_split) {
    wo__fall(a->stats.inactive_split_bytes, shelf, request->rounded_bytes);
  } else {
    wo__rise(a->stats.inactive_split_bytes, shelf, tail->size_bytes);
    wo__rise(a->stats.inactive_split, shelf, 1);
  }
}

static void count_handed_out(struct wo_allocator *a, const struct wo__shelf *shelf, const struct wo__block *block) {
  struct wo_allocator_stats *const stats = &a->stats;
  wo__rise(stats->allocation, shelf, 1);
  wo__rise(stats->allocated_bytes, shelf, block->size_bytes);
  wo__rise(stats->active, shelf, 1);
  wo__rise(stats->active_bytes, shelf, block->size_bytes);
  wo__rise(stats->requested_bytes, shelf, block->requested_bytes);
  if (block->size_bytes >= a->settings.max_split_bytes) wo__rise_one(&stats->oversize_allocations, 1);
}

/* Order matters for the peaks of the statistics: the split first, then the event, then the counts, as torch does. */
uint32_t wo__hand_out(struct wo_allocator *a, const struct wo__request *request) {
  const struct wo__shelf *const shelf = wo__shelf(a, request->shelf);
  if (must_split(a, request)) {
    split(a, request);
  } else {
    const struct wo__block *const whole = wo__block(a, request->block);
    if (wo__is_split(whole) && whole->range == WO__NONE) {
      wo__fall(a->stats.inactive_split_bytes, shelf, whole->size_bytes);
      wo__fall(a->stats.inactive_split, shelf, 1);
    }
  }
  struct wo__block *const block = wo__block(a, request->block);
  block->state = WO__ALLOCATED;
  if (block->range != WO__NONE) wo__runs_note(a, request->block);
  block->requested_bytes = request->requested_bytes;
  wo__emit(a, WO_ACTION_ALLOC, block->address, block->requested_bytes, shelf);
  count_handed_out(a, shelf, block);
  return request->block;
}

/* ---- Back into the pool ---- */

/* Adds a change that may have either sign. */
static void shift(struct wo_stat stats[WO_STAT_POOL_COUNT_], const struct wo__shelf *shelf, int64_t change) {
  if (change > 0) {
    wo__rise(stats, shelf, (uint64_t)change);
  } else if (change < 0) {
    wo__fall(stats, shelf, (uint64_t)-change);
  }
}

/* The event comes before the merge and shows the block as it was. The inactive statistics change once, by the sum of all merged
 * blocks, so that their peak does not see the steps between. */
void wo__put_back(struct wo_allocator *a, uint32_t id) {
  const struct wo__block before = *wo__block(a, id);
  assert(before.state == WO__ALLOCATED || before.state == WO__PENDING);
  const struct wo__shelf *const shelf = wo__shelf(a, before.shelf);
  wo__emit(a, WO_ACTION_FREE_COMPLETED, before.address, before.requested_bytes, shelf);
  int64_t inactive_count = 0;
  int64_t inactive_bytes = 0;
  if (before.prev != WO__NONE && wo__block(a, before.prev)->state == WO__FREE) {
    inactive_count--;
    inactive_bytes -= (int64_t)wo__block(a, before.prev)->size_bytes;
    wo__free_erase(a, before.prev);
    wo__chain_join(a, before.prev, id);
    id = before.prev;
  }
  if (before.next != WO__NONE && wo__block(a, before.next)->state == WO__FREE) {
    inactive_count--;
    inactive_bytes -= (int64_t)wo__block(a, before.next)->size_bytes;
    wo__free_erase(a, before.next);
    wo__chain_join(a, id, before.next);
  }
  if (a->ties == WO__TIES_BY_BLOCK) wo__block(a, id)->tie = before.tie;
  wo__free_insert(a, id);
  const struct wo__block *const block = wo__block(a, id);
  if (wo__is_split(block)) {
    inactive_count++;
    inactive_bytes += (int64_t)block->size_bytes;
  }
  if (block->range != WO__NONE) {
    wo__runs_note(a, id);
  } else {
    shift(a->stats.inactive_split, shelf, inactive_count);
    shift(a->stats.inactive_split_bytes, shelf, inactive_bytes);
  }
  wo__fall(a->stats.active, shelf, 1);
  wo__fall(a->stats.active_bytes, shelf, before.size_bytes);
  wo__fall(a->stats.requested_bytes, shelf, before.requested_bytes);
}
