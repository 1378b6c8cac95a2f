/* SPDX-License-Identifier: Apache-2.0 */
/* Gives memory back to the device: garbage collection, release of oversize blocks, emptying the cache. */
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/allocator/allocator_internal.h"

/* cudaFree of a free block that is a whole segment. */
static enum wo_status release_block(struct wo_allocator *a, uint32_t id) {
  const struct wo__block block = *wo__block(a, id);
  const struct wo__shelf *const shelf = wo__shelf(a, block.shelf);
  if (block.range != WO__NONE) {
    return wo__refuse(a, "this version of torch fails with an internal error here: it frees an expandable block like a segment "
                         "(max_split_size_mb or garbage_collection_threshold together with expandable_segments, before 2.5)");
  }
  if (wo__is_split(&block)) {
    return wo__refuse(a, "torch fails with an internal error here: a part of a segment is larger than max_split_size_mb, and it "
                         "frees that part like a whole segment");
  }
  a->stats.num_device_free++;
  wo__emit(a, WO_ACTION_SEGMENT_FREE, block.address, block.size_bytes, shelf);
  const enum wo_status status = a->device.segment_free(a->device.state, block.address, block.size_bytes);
  if (status != WO_OK) return wo__device_failed(a, status);
  a->pools.items[shelf->pool].segment_count--;
  wo__suspect(a, shelf->pool);
  wo__fall(a->stats.segment, shelf, 1);
  wo__fall(a->stats.reserved_bytes, shelf, block.size_bytes);
  if (block.size_bytes >= a->settings.max_split_bytes) wo__fall_one(&a->stats.oversize_segments, 1);
  wo__free_erase(a, id);
  wo_block_order_erase(&a->chains, wo__address_key(block.address));
  wo__block_drop(a, id);
  return WO_OK;
}

/* ---- Garbage collection ---- */

struct garbage {
  uint64_t age_sum;
  uint64_t block_count;
  uint64_t reclaimed_bytes;
};

/* Searches of the large pool since a block became free. */
static uint64_t age(const struct wo_allocator *a, const struct wo__block *block) {
  return a->pools.items[0].large.call_count - block->calls_at_free;
}

/* Ranges count, even where they cannot be released. */
static struct garbage count_garbage(const struct wo_allocator *a) {
  const struct wo__bin *const bin = &a->pools.items[0].large;
  struct garbage garbage = {0};
  for (enum wo__idle_kind kind = WO__IDLE_SEGMENT; kind <= WO__IDLE_RANGE; kind++) {
    garbage.block_count += bin->idle[kind].count;
    garbage.age_sum += bin->idle[kind].count * bin->call_count - bin->idle[kind].calls_at_free;
  }
  return garbage;
}

/* The most calls at its free that a block of at least the mean age has: the oldest blocks are at the front of the lists. False
 * when no block is that old. */
static bool find_calls_most(const struct wo_allocator *a, double mean_age, uint64_t *ret_calls_most) {
  const uint64_t calls = a->pools.items[0].large.call_count;
  if ((double)calls < mean_age) return false;
  uint64_t youngest = (uint64_t)mean_age;
  if ((double)youngest < mean_age) youngest++;
  *ret_calls_most = calls - youngest;
  return true;
}

/* Releases all blocks of at least the mean age. *ret_has_freed: whether there were any. */
static enum wo_status collect_pass(struct wo_allocator *a, struct garbage *garbage, bool *ret_has_freed) {
  const double mean_age = (double)garbage->age_sum / (double)garbage->block_count;
  const struct wo__bin *const bin = &a->pools.items[0].large;
  uint64_t calls_most = 0;
  *ret_has_freed = false;
  if (!find_calls_most(a, mean_age, &calls_most)) return WO_OK;
  a->going.count = 0;
  enum wo_status status = wo__idle_list(a, bin, WO__IDLE_SEGMENT, calls_most);
  const bool skips_expandable = wo_torch_has(a->torch, WO_TORCH_RELEASE_SKIPS_EXPANDABLE);
  if (status == WO_OK && !skips_expandable) status = wo__idle_list(a, bin, WO__IDLE_RANGE, calls_most);
  if (status != WO_OK) return status;
  wo__idle_sort(a);
  for (size_t i = 0; i < a->going.count; i++) {
    const struct wo__block *const block = wo__block(a, a->going.items[i].block);
    *ret_has_freed = true;
    garbage->reclaimed_bytes += block->size_bytes;
    garbage->age_sum -= age(a, block);
    garbage->block_count--;
    status = release_block(a, a->going.items[i].block);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

enum wo_status wo__collect_garbage(struct wo_allocator *a) {
  const uint64_t share = (uint64_t)(a->settings.garbage_collection_threshold * (double)a->allowed_bytes);
  const uint64_t limit = a->garbage_limit_bytes > 0 ? a->garbage_limit_bytes : share;
  const uint64_t reserved = wo__reserved_bytes(a);
  if ((a->allowed_bytes == UINT64_MAX && a->garbage_limit_bytes == 0) || reserved <= limit) return WO_OK;
  struct garbage garbage = count_garbage(a);
  bool has_freed = true;
  while (garbage.reclaimed_bytes < reserved - limit && has_freed && garbage.block_count > 0) {
    const enum wo_status status = collect_pass(a, &garbage, &has_freed);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* ---- Oversize blocks ---- */

/* From the largest block below `key` downwards, until `key` has been released or blocks get smaller than max_split. */
static enum wo_status release_downwards(struct wo_allocator *a, const struct wo__shelf *shelf, struct wo_block_key key,
                                        bool *ret_is_enough) {
  const bool skips_expandable = wo_torch_has(a->torch, WO_TORCH_RELEASE_SKIPS_EXPANDABLE);
  uint64_t released_bytes = 0;
  *ret_is_enough = false;
  if (skips_expandable && shelf->segment_free_count == 0) return WO_OK;
  for (struct wo_block_key at = key; released_bytes < key.size_bytes;) {
    const uint32_t id = wo_block_order_below(&shelf->free, at);
    if (id == WO_ORDER_NONE || wo__block(a, id)->size_bytes < a->settings.max_split_bytes) break;
    at = wo__key(wo__block(a, id));
    a->steps++;
    if (wo__block(a, id)->range != WO__NONE && skips_expandable) continue;
    released_bytes += at.size_bytes;
    const enum wo_status status = release_block(a, id);
    if (status != WO_OK) return status;
  }
  *ret_is_enough = released_bytes >= key.size_bytes;
  return WO_OK;
}

enum wo_status wo__release_oversize(struct wo_allocator *a, const struct wo__request *request, bool *ret_is_enough) {
  *ret_is_enough = false;
  const uint64_t max_split = a->settings.max_split_bytes;
  if (max_split == WO_SPLIT_UNLIMITED) return WO_OK;
  const struct wo__shelf *const shelf = wo__shelf(a, request->shelf);
  const struct wo_block_key key = {request->rounded_bytes < max_split ? max_split : request->rounded_bytes, 0};
  const uint32_t id = wo_block_order_at_least(&shelf->free, key, NULL);
  const bool skips_expandable = wo_torch_has(a->torch, WO_TORCH_RELEASE_SKIPS_EXPANDABLE);
  if (id == WO_ORDER_NONE || (wo__block(a, id)->range != WO__NONE && skips_expandable)) {
    return release_downwards(a, shelf, key, ret_is_enough);
  }
  *ret_is_enough = true;
  return release_block(a, id);
}

/* ---- Everything ---- */

/* Releases the idle segments of a bin, or unmaps the idle ranges and parts of ranges. */
static enum wo_status release_idle(struct wo_allocator *a, const struct wo__bin *bin, enum wo__idle_kind first,
                                   enum wo__idle_kind last) {
  a->going.count = 0;
  for (enum wo__idle_kind kind = first; kind <= last; kind++) {
    const enum wo_status status = wo__idle_list(a, bin, kind, UINT64_MAX);
    if (status != WO_OK) return status;
  }
  wo__idle_sort(a);
  for (size_t i = 0; i < a->going.count; i++) {
    const uint32_t id = a->going.items[i].block;
    const enum wo_status status = first == WO__IDLE_SEGMENT ? release_block(a, id) : wo__unmap(a, id);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* Whole segments first, then the ranges. The parts that unmapping leaves are free and hold no whole handle. */
static enum wo_status release_bin(struct wo_allocator *a, const struct wo__bin *bin) {
  const enum wo_status status = release_idle(a, bin, WO__IDLE_SEGMENT, WO__IDLE_SEGMENT);
  return status == WO_OK ? release_idle(a, bin, WO__IDLE_RANGE, WO__IDLE_PART) : status;
}

/* Whether anything in a bin is mapped. */
static bool has_memory(const struct wo_allocator *a, const struct wo__bin *bin) {
  for (size_t i = 0; i < bin->shelves.count; i++) {
    const struct wo__shelf *const shelf = wo__shelf(a, bin->shelves.items[i]);
    if (shelf->block_count > shelf->unmapped.count) return true;
  }
  return false;
}

/* Releases a private pool without users; the pool is gone when it has no memory left. Ranges in which nothing is mapped stay
 * reserved, and nothing finds them any more. */
enum wo_status wo__release_private(struct wo_allocator *a, uint32_t pool) {
  enum wo_status status = release_bin(a, &a->pools.items[pool].small);
  if (status == WO_OK) status = release_bin(a, &a->pools.items[pool].large);
  if (status != WO_OK || a->pools.items[pool].segment_count > 0) return status;
  wo__pool_forget(a, pool);
  if (!has_memory(a, &a->pools.items[pool].small) && !has_memory(a, &a->pools.items[pool].large)) return WO_OK;
  return wo__refuse(a, "torch forgets a private pool here that still holds memory: it miscounts expandable segments");
}

static int compare_suspects(const void *a, const void *b) {
  const struct wo__suspect *const left = a, *const right = b;
  if (left->place != right->place) return left->place < right->place ? -1 : 1;
  return (left->pool > right->pool) - (left->pool < right->pool);
}

/* Torch's order is that of a hash table: the shown one, else that in which the pools were made. */
static void sort_suspects(struct wo_allocator *a) {
  for (size_t i = 0; i < a->suspects.count; i++) a->suspects.items[i].place = a->pools.items[a->suspects.items[i].pool].place;
  if (a->suspects.count > 1) qsort(a->suspects.items, a->suspects.count, sizeof *a->suspects.items, compare_suspects);
}

/* Releases the private pools without users; those that have nothing to release need no visit. A pool with users is listed again
 * when it has lost them. */
static enum wo_status release_suspects(struct wo_allocator *a) {
  enum wo_status status = WO_OK;
  size_t done = 0;
  sort_suspects(a);
  for (; done < a->suspects.count; done++, a->steps++) {
    struct wo__pool *const pool = &a->pools.items[a->suspects.items[done].pool];
    if (!pool->is_gone && pool->use_count == 0) status = wo__release_private(a, a->suspects.items[done].pool);
    if (status != WO_OK) break;
    pool->is_suspect = false;
  }
  a->suspects.count -= done;
  if (done > 0) memmove(a->suspects.items, a->suspects.items + done, a->suspects.count * sizeof *a->suspects.items);
  return status;
}

/* Waits for all streams first, so that nothing is pending any more. */
static enum wo_status release_default(struct wo_allocator *a) {
  a->stats.num_sync_all_streams++;
  wo__settle_waiting(a);
  while (a->oldest_pending != WO__NONE) wo_allocator_complete(a, a->oldest_pending);
  const enum wo_status status = release_bin(a, &a->pools.items[0].large);
  return status == WO_OK ? release_bin(a, &a->pools.items[0].small) : status;
}

enum wo_status wo__release_cached(struct wo_allocator *a, bool in_capture) {
  enum wo_status status = WO_OK;
  if (!in_capture) {
    status = release_default(a);
  } else if (!wo_torch_has(a->torch, WO_TORCH_EMPTY_CACHE_IN_CAPTURE)) {
    a->stats.num_sync_all_streams++;
    return wo__refuse(a, "this version of torch fails with an internal error here: the cache is emptied during a capture");
  }
  return status == WO_OK ? release_suspects(a) : status;
}
