/* SPDX-License-Identifier: Apache-2.0 */
/* Idle blocks: free blocks that can go back to the device, listed in each bin by the time of their free.
 *
 * A request that finds no room releases all of them, and garbage collection the oldest. Whether a free block is idle does not
 * change while it stays free: its neighbours merge with it, or keep their place. So no walk over all free blocks is needed. */
#include <stdlib.h>

#include "cuda_replay/allocator/allocator_internal.h"

static bool has_whole_handle(const struct wo_allocator *a, const struct wo__block *block) {
  const struct wo__range *const range = &a->ranges.items[block->range];
  if (block->size_bytes < range->handle_bytes) return false;
  const uint64_t offset = block->address - range->address;
  const uint64_t start = (offset + range->handle_bytes - 1) / range->handle_bytes * range->handle_bytes;
  return start + range->handle_bytes <= offset + block->size_bytes;
}

static enum wo__idle_kind kind_of(const struct wo_allocator *a, const struct wo__block *block) {
  const bool is_split = wo__is_split(block);
  if (block->range == WO__NONE) return is_split ? WO__NOT_IDLE : WO__IDLE_SEGMENT;
  if (!is_split) return WO__IDLE_RANGE;
  return has_whole_handle(a, block) ? WO__IDLE_PART : WO__NOT_IDLE;
}

/* The block after which a block of so many calls has its place, or WO__NONE for the front. That is the newest one, but for a
 * block that was free before it became idle. */
static uint32_t place_of(struct wo_allocator *a, const struct wo__idle *idle, uint64_t calls_at_free) {
  uint32_t id = idle->newest;
  for (; id != WO__NONE && wo__block(a, id)->calls_at_free > calls_at_free; a->steps++) id = wo__block(a, id)->older;
  return id;
}

void wo__idle_add(struct wo_allocator *a, uint32_t id) {
  struct wo__block *const block = wo__block(a, id);
  const enum wo__idle_kind kind = kind_of(a, block);
  block->idle_kind = (uint8_t)kind;
  if (kind == WO__NOT_IDLE) return;
  const struct wo__shelf *const shelf = wo__shelf(a, block->shelf);
  struct wo__idle *const idle = &wo__bin(a, shelf)->idle[kind];
  const uint32_t before = place_of(a, idle, block->calls_at_free);
  block->older = before;
  block->newer = before == WO__NONE ? idle->oldest : wo__block(a, before)->newer;
  *(before == WO__NONE ? &idle->oldest : &wo__block(a, before)->newer) = id;
  *(block->newer == WO__NONE ? &idle->newest : &wo__block(a, block->newer)->older) = id;
  idle->count++;
  idle->calls_at_free += block->calls_at_free;
  wo__suspect(a, shelf->pool);
}

void wo__idle_remove(struct wo_allocator *a, uint32_t id) {
  struct wo__block *const block = wo__block(a, id);
  if (block->idle_kind == WO__NOT_IDLE) return;
  struct wo__idle *const idle = &wo__bin(a, wo__shelf(a, block->shelf))->idle[block->idle_kind];
  assert(idle->count > 0);
  *(block->older == WO__NONE ? &idle->oldest : &wo__block(a, block->older)->newer) = block->newer;
  *(block->newer == WO__NONE ? &idle->newest : &wo__block(a, block->newer)->older) = block->older;
  idle->count--;
  idle->calls_at_free -= block->calls_at_free;
  block->idle_kind = WO__NOT_IDLE;
}

/* ---- Lists to release ---- */

enum wo_status wo__idle_list(struct wo_allocator *a, const struct wo__bin *bin, enum wo__idle_kind kind, uint64_t calls_most) {
  const struct wo__idle *const idle = &bin->idle[kind];
  uint32_t id = idle->oldest;
  for (; id != WO__NONE && wo__block(a, id)->calls_at_free <= calls_most; id = wo__block(a, id)->newer) {
    const struct wo__block *const block = wo__block(a, id);
    if (!WO_VEC_RESERVE(&a->going, 1, WO__NONE)) return WO_E_NOMEM;
    a->going.items[a->going.count++] = (struct wo__release){wo__shelf(a, block->shelf)->stream, wo__key(block), id};
    a->steps++;
  }
  return WO_OK;
}

static int compare(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int compare_releases(const void *a, const void *b) {
  const struct wo__release *const left = a;
  const struct wo__release *const right = b;
  const int by_stream = compare(left->stream, right->stream);
  if (by_stream != 0) return by_stream;
  const int by_size = compare(left->key.size_bytes, right->key.size_bytes);
  return by_size != 0 ? by_size : compare(left->key.tie, right->key.tie);
}

void wo__idle_sort(struct wo_allocator *a) {
  if (a->going.count > 1) qsort(a->going.items, a->going.count, sizeof *a->going.items, compare_releases);
}

/* ---- Private pools ---- */

void wo__suspect(struct wo_allocator *a, uint32_t pool) {
  if (pool == 0 || a->pools.items[pool].is_suspect) return;
  assert(a->suspects.count < a->suspects.capacity);
  a->pools.items[pool].is_suspect = true;
  a->suspects.items[a->suspects.count++] = (struct wo__suspect){.pool = pool};
}
