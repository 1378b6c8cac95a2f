/* SPDX-License-Identifier: Apache-2.0 */
/* Attribution: sorts the blocks of a segment map by the line that requested them, and sums them up. */
#include "cuda_replay/inspect/attribution.h"

#include <assert.h>
#include <stdlib.h>

#include "parsers/base/vec.h"

/* ---- Blocks by stack ---- */

/* A block in use, as an item to sort. */
struct item {
  uint32_t stack;
  struct wo_stack_sites sites;
  enum wo_alloc_class class_;
  struct wo_share share;
};

struct items {
  struct item *items;
  size_t count, capacity;
};

/* Blocks without a known instance count as unknown class without a stack: the sums include everything. */
static struct item item_of(const struct wo_alloc_pattern *pattern, const struct wo_map_block *block) {
  struct item item = {.stack = WO_NO_STACK, .sites = {WO_NO_FRAME, WO_NO_FRAME}, .class_ = WO_CLASS_UNKNOWN};
  item.share = (struct wo_share){block->size_bytes, block->requested_bytes, 1};
  if (block->instance >= pattern->instances.count) return item;
  const struct wo_instance *const instance = &pattern->instances.items[block->instance];
  item.stack = instance->stack;
  if (instance->class_ < WO_CLASS_COUNT_) item.class_ = (enum wo_alloc_class)instance->class_;
  return item;
}

/* Frames repeat in most stacks, and examining a file name costs more than everything else here: the result is kept for the whole
 * pass. */
static bool collect(const struct wo_alloc_pattern *pattern, const struct wo_segment_map *map, struct items *items) {
  uint8_t *const known = calloc(pattern->recording->frames.count + 1, 1);
  if (!known || !WO_VEC_RESERVE(items, map->blocks.count, UINT32_MAX)) {
    free(known);
    return false;
  }
  for (size_t i = 0; i < map->blocks.count; i++) {
    if (map->blocks.items[i].state == WO_BLOCK_FREE) continue;
    struct item *const item = &items->items[items->count++];
    *item = item_of(pattern, &map->blocks.items[i]);
    item->sites = wo_stack_sites(pattern->recording, known, item->stack);
  }
  free(known);
  return true;
}

/* By requesting line, stack, class: equal ones are adjacent. */
static int compare_items(const void *left, const void *right) {
  const struct item *const a = left;
  const struct item *const b = right;
  if (a->sites.asker != b->sites.asker) return a->sites.asker < b->sites.asker ? -1 : 1;
  if (a->stack != b->stack) return a->stack < b->stack ? -1 : 1;
  return a->class_ < b->class_ ? -1 : a->class_ > b->class_;
}

static void add_share(struct wo_share *sum, struct wo_share share) {
  sum->block_bytes += share.block_bytes;
  sum->requested_bytes += share.requested_bytes;
  sum->count += share.count;
}

/* Sums of a run of items. The run's class is the one with most bytes; of equals the first. */
struct run {
  struct wo_share share;
  uint64_t class_bytes[WO_CLASS_COUNT_];
};

static void add_to_run(struct run *run, const struct item *item) {
  add_share(&run->share, item->share);
  run->class_bytes[item->class_] += item->share.block_bytes;
}

/* The colour of a row: usually one line of code allocates one class of memory. */
static enum wo_alloc_class class_of_run(const struct run *run) {
  int best = 0;
  for (int i = 1; i < WO_CLASS_COUNT_; i++) {
    if (run->class_bytes[i] > run->class_bytes[best]) best = i;
  }
  return (enum wo_alloc_class)best;
}

/* Adds the row of the stack that begins at item `first`; returns where the next one begins. */
static size_t add_stack(struct wo_attribution *attribution, const struct items *items, size_t first) {
  const struct item *const head = &items->items[first];
  struct run run = {0};
  size_t i = first;
  for (; i < items->count && items->items[i].stack == head->stack && items->items[i].sites.asker == head->sites.asker; i++) {
    add_to_run(&run, &items->items[i]);
  }
  attribution->stacks.items[attribution->stacks.count++] =
      (struct wo_attribution_stack){.stack = head->stack, .sites = head->sites, .class_ = class_of_run(&run), .share = run.share};
  return i;
}

/* Adds the row of the requesting line that begins at item `first`, and rows of its stacks. */
static size_t add_site(struct wo_attribution *attribution, const struct items *items, size_t first) {
  const uint32_t asker = items->items[first].sites.asker;
  const size_t first_stack = attribution->stacks.count;
  struct run run = {0};
  size_t end = first;
  for (; end < items->count && items->items[end].sites.asker == asker; end++) add_to_run(&run, &items->items[end]);
  for (size_t i = first; i < end;) i = add_stack(attribution, items, i);
  const struct wo_attribution_stack *most = &attribution->stacks.items[first_stack];
  for (size_t i = first_stack; i < attribution->stacks.count; i++) {
    const struct wo_attribution_stack *const stack = &attribution->stacks.items[i];
    if (stack->share.block_bytes > most->share.block_bytes) most = stack;
  }
  attribution->sites.items[attribution->sites.count++] = (struct wo_attribution_site){
      .frame = asker,
      .user = most->sites.user,
      .class_ = class_of_run(&run),
      .stack_count = (uint32_t)(attribution->stacks.count - first_stack),
      .share = run.share,
  };
  return end;
}

/* Most bytes first; the index makes the order the same on every machine. */
static int compare_stacks(const void *left, const void *right) {
  const struct wo_attribution_stack *const a = left;
  const struct wo_attribution_stack *const b = right;
  if (a->share.block_bytes != b->share.block_bytes) return a->share.block_bytes > b->share.block_bytes ? -1 : 1;
  return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int compare_sites(const void *left, const void *right) {
  const struct wo_attribution_site *const a = left;
  const struct wo_attribution_site *const b = right;
  if (a->share.block_bytes != b->share.block_bytes) return a->share.block_bytes > b->share.block_bytes ? -1 : 1;
  return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* Sorts once, then sums up in one pass: each site is a range of stacks, each stack a range of items. */
static bool sum_up(struct wo_attribution *attribution, struct items *items) {
  if (items->count == 0) return true;
  qsort(items->items, items->count, sizeof *items->items, compare_items);
  if (!WO_VEC_RESERVE(&attribution->stacks, items->count, UINT32_MAX)) return false;
  if (!WO_VEC_RESERVE(&attribution->sites, items->count, UINT32_MAX)) return false;
  for (size_t i = 0; i < items->count; i++) {
    add_share(&attribution->total, items->items[i].share);
    add_share(&attribution->classes[items->items[i].class_], items->items[i].share);
  }
  for (size_t i = 0; i < items->count;) i = add_site(attribution, items, i);
  assert(attribution->sites.count <= attribution->stacks.count && attribution->stacks.count <= items->count);
  qsort(attribution->stacks.items, attribution->stacks.count, sizeof *attribution->stacks.items, compare_stacks);
  qsort(attribution->sites.items, attribution->sites.count, sizeof *attribution->sites.items, compare_sites);
  return true;
}

/* ---- Segments ---- */

/* A unit with a block in use cannot be given back, so everything that is free in it is pinned. */
void wo_segment_use_add(struct wo_segment_use *use, const struct wo_map_unit *unit) {
  const uint64_t size_bytes = unit->end - unit->start;
  assert(unit->slack_bytes <= unit->used_bytes && unit->used_bytes <= size_bytes);
  use->reserved_bytes += size_bytes;
  use->live_bytes += unit->used_bytes - unit->slack_bytes;
  use->pending_bytes += unit->pending_bytes;
  use->slack_bytes += unit->slack_bytes;
  if (unit->used_bytes == 0) {
    use->releasable_bytes += size_bytes;
  } else {
    use->pinned_free_bytes += size_bytes - unit->used_bytes;
  }
}

/* Every byte of every segment is in exactly one unit; therefore the parts add up to the reserved bytes. The allocator merges free
 * neighbours: the largest free block is the largest request that fits without new memory. */
static void account_segments(struct wo_segment_use *use, const struct wo_segment_map *map) {
  struct wo_map_walk walk = {0};
  struct wo_map_unit unit;
  while (wo_segment_map_next(map, &walk, &unit)) wo_segment_use_add(use, &unit);
  for (size_t i = 0; i < map->blocks.count; i++) {
    const struct wo_map_block *const block = &map->blocks.items[i];
    if (block->state == WO_BLOCK_FREE && block->size_bytes > use->largest_free_bytes) use->largest_free_bytes = block->size_bytes;
  }
  assert(use->reserved_bytes == use->live_bytes + use->slack_bytes + use->pinned_free_bytes + use->releasable_bytes);
}

/* ---- Together ---- */

enum wo_status wo_attribution_make(const struct wo_alloc_pattern *pattern, const struct wo_segment_map *map,
                                   struct wo_attribution *ret_attribution) {
  struct wo_attribution attribution = {0};
  struct items items = {0};
  const bool is_whole = collect(pattern, map, &items) && sum_up(&attribution, &items);
  WO_VEC_DONE(&items);
  if (is_whole) {
    account_segments(&attribution.use, map);
  } else {
    wo_attribution_done(&attribution);
  }
  *ret_attribution = attribution;
  return is_whole ? WO_OK : WO_E_NOMEM;
}

void wo_attribution_done(struct wo_attribution *attribution) {
  if (!attribution) return;
  WO_VEC_DONE(&attribution->stacks);
  WO_VEC_DONE(&attribution->sites);
  *attribution = (struct wo_attribution){0};
}

/* A share of nothing is 0, so that reports need no special case. */
double wo_share_pct(uint64_t part_bytes, uint64_t whole_bytes) {
  assert(part_bytes <= whole_bytes);
  return whole_bytes == 0 ? 0.0 : 100.0 * (double)part_bytes / (double)whole_bytes;
}
