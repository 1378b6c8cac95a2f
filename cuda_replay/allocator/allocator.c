/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and frees of the caller, with their steps in the order of torch. */
#include "cuda_replay/allocator/allocator.h"

#include "cuda_replay/allocator/allocator_internal.h"
#include "parsers/base/vec.h"

/* ---- Life ---- */

/* The bytes that a share may have, which is no whole number. */
static uint64_t whole_bytes(const struct wo_allocator *a, double bytes) {
  const uint64_t below = (uint64_t)bytes;
  return below + (wo_torch_has(a->torch, WO_TORCH_FRACTION_IS_ROUNDED) && bytes - (double)below >= 0.5);
}

/* Sets the limit of the memory fraction: a share of the card's total memory, in force from this moment. */
static void set_limits(struct wo_allocator *a) {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  a->device.memory_info(a->device.state, &free_bytes, &total_bytes);
  a->card_bytes = total_bytes;
  const bool is_full = a->settings.memory_fraction >= 1 && wo_torch_has(a->torch, WO_TORCH_FULL_FRACTION_IS_NONE);
  const bool has_fraction = a->settings.memory_fraction > 0 && !is_full;
  const double allowed = a->settings.memory_fraction * (double)total_bytes;
  const bool has_limit = has_fraction && total_bytes != UINT64_MAX && allowed < (double)INT64_MAX;
  a->allowed_bytes = has_limit ? whole_bytes(a, allowed) : UINT64_MAX;
  a->collects_garbage = (has_fraction && a->settings.garbage_collection_threshold > 0) || a->garbage_limit_bytes > 0;
}

enum wo_status wo_allocator_new(const struct wo_allocator_options *options, struct wo_allocator **ret_allocator,
                                struct wo_err *err) {
  assert(options->device != NULL);
  if (!options->settings.is_native) {
    return wo_err_set(err, WO_E_USAGE,
                      "backend:cudaMallocAsync cannot be replayed: the driver places its blocks; set backend:native");
  }
  struct wo_allocator *const a = calloc(1, sizeof *a);
  if (a == NULL) return wo_err_set(err, WO_E_NOMEM, "out of memory for the allocator model");
  a->torch = options->torch;
  a->ties = WO__TIES_BY_ADDRESS;
  if (wo_torch_has(a->torch, WO_TORCH_TIES_BY_AGE)) a->ties = WO__TIES_BY_BLOCK;
  if (wo_torch_has(a->torch, WO_TORCH_AGE_OF_SEGMENT)) a->ties = WO__TIES_BY_SEGMENT;
  a->device = *options->device;
  a->observer = options->observer;
  a->garbage_limit_bytes = options->garbage_limit_bytes;
  a->unused_block = WO__NONE;
  a->unused_use = WO__NONE;
  a->oldest_pending = WO__NONE;
  a->newest_pending = WO__NONE;
  a->waiting_from = WO__NONE;
  a->message = "";
  uint32_t pool = WO__NONE;
  if (wo__pool_find(a, (struct wo_pool_id){0, 0}, &pool) != WO_OK) {
    wo_allocator_free(a);
    return wo_err_set(err, WO_E_NOMEM, "out of memory for the allocator model");
  }
  assert(pool == 0);
  wo_allocator_set(a, &options->settings);
  *ret_allocator = a;
  return WO_OK;
}

struct wo_allocator *wo_allocator_free(struct wo_allocator *a) {
  if (a == NULL) return NULL;
  for (size_t i = 0; i < a->shelves.count; i++) {
    wo_block_order_done(&a->shelves.items[i].free);
    wo_block_order_done(&a->shelves.items[i].unmapped);
    wo_room_tree_done(&a->shelves.items[i].runs);
  }
  for (size_t i = 0; i < a->pools.count; i++) {
    WO_VEC_DONE(&a->pools.items[i].large.shelves);
    WO_VEC_DONE(&a->pools.items[i].small.shelves);
  }
  wo_block_order_done(&a->chains);
  wo_block_order_done(&a->pool_ids);
  WO_VEC_DONE(&a->blocks);
  WO_VEC_DONE(&a->shelves);
  WO_VEC_DONE(&a->pools);
  WO_VEC_DONE(&a->captures);
  WO_VEC_DONE(&a->ranges);
  WO_VEC_DONE(&a->uses);
  WO_VEC_DONE(&a->suspects);
  WO_VEC_DONE(&a->going);
  free(a);
  return NULL;
}

void wo_allocator_set(struct wo_allocator *a, const struct wo_alloc_settings *settings) {
  a->settings = *settings;
  a->settings.keeps_odd_sizes = !wo_torch_has(a->torch, WO_TORCH_ROUNDUP_ONE_IS_OFF);
  set_limits(a);
}

enum wo_status wo_allocator_set_text(struct wo_allocator *a, struct wo_view text, struct wo_err *err) {
  struct wo_alloc_settings settings = a->settings;
  const enum wo_status status = wo_alloc_settings_parse(text, a->torch, &settings, err);
  if (status != WO_OK) return status;
  /* A fraction in a string counts only in the environment, which is read before the allocator exists. */
  settings.memory_fraction = a->settings.memory_fraction;
  wo_allocator_set(a, &settings);
  return WO_OK;
}

/* ---- Requests ---- */

/* Records the failed request. */
static enum wo_status fail(struct wo_allocator *a, const struct wo__request *request) {
  const struct wo__shelf *const shelf = wo__shelf(a, request->shelf);
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  a->device.memory_info(a->device.state, &free_bytes, &total_bytes);
  const uint32_t largest = wo_block_order_below(&shelf->free, (struct wo_block_key){UINT64_MAX, UINT64_MAX});
  a->oom = (struct wo_allocator_oom){
      .requested_bytes = request->requested_bytes,
      .rounded_bytes = request->rounded_bytes,
      .segment_bytes = request->segment_bytes,
      .device_free_bytes = free_bytes,
      .largest_free_block_bytes = largest == WO_ORDER_NONE ? 0 : wo__block(a, largest)->size_bytes,
      .cached_free_bytes = wo__reserved_bytes(a) - (uint64_t)a->stats.active_bytes[WO_STAT_ALL].current,
      .by_fraction = request->by_fraction,
      .is_rejected = request->is_rejected,
  };
  if (request->is_rejected) {
    a->stats.num_oom_rejections++;
    return WO_E_LIMIT;
  }
  wo__emit(a, WO_ACTION_OOM, free_bytes, request->rounded_bytes, shelf);
  a->stats.num_ooms++;
  return WO_E_LIMIT;
}

enum wo_status wo_allocator_malloc(struct wo_allocator *a, uint64_t size_bytes, uint64_t stream, wo_block_id *ret_block) {
  if (size_bytes == 0 || size_bytes >= WO__REQUEST_LIMIT_BYTES) {
    a->message = "a request of no bytes, or of 2^60 and more";
    return WO_E_RANGE;
  }
  if (a->waiting_count > 0 && !wo__is_captured(a, stream)) wo__settle_waiting(a);
  struct wo__request request = {.requested_bytes = size_bytes, .block = WO__NONE};
  request.rounded_bytes = wo_alloc_round(&a->settings, size_bytes);
  const uint32_t pool = a->captures.count == 0 ? 0 : wo__pool_of_stream(a, stream);
  const bool is_small = request.rounded_bytes <= WO__SMALL_MAX_BYTES;
  if (wo__shelf_find(a, pool, is_small, stream, &request.shelf) != WO_OK) return WO_E_NOMEM;
  /* One block for a new segment and one for the tail of a cut one. */
  if (wo__reserve_blocks(a, request.shelf, 2) != WO_OK) return WO_E_NOMEM;
  if (!wo__take_free_block(a, &request)) {
    request.segment_bytes = wo_alloc_segment_bytes(&a->settings, request.rounded_bytes);
    const enum wo_status status = wo__obtain(a, &request);
    if (status == WO_E_LIMIT) return fail(a, &request);
    if (status != WO_OK) return status;
  }
  *ret_block = wo__hand_out(a, &request);
  return WO_OK;
}

/* ---- Frees ---- */

void wo_allocator_free_block(struct wo_allocator *a, wo_block_id id, bool is_deferred) {
  struct wo__block *const block = wo__block(a, id);
  assert(block->state == WO__ALLOCATED);
  const struct wo__shelf *const shelf = wo__shelf(a, block->shelf);
  wo__fall(a->stats.allocation, shelf, 1);
  wo__fall(a->stats.allocated_bytes, shelf, block->size_bytes);
  wo__emit(a, WO_ACTION_FREE_REQUESTED, block->address, block->requested_bytes, shelf);
  if (block->size_bytes >= a->settings.max_split_bytes) wo__fall_one(&a->stats.oversize_allocations, 1);
  if (block->uses == WO__NONE && !is_deferred) {
    wo__put_back(a, id);
    return;
  }
  wo__pending_add(a, id);
  if (block->uses != WO__NONE && wo__has_capture(a)) {
    block->waits_for_capture = true;
    if (a->waiting_count++ == 0) a->waiting_from = id;
  }
}

void wo_allocator_complete(struct wo_allocator *a, wo_block_id id) {
  wo__pending_remove(a, id);
  wo__uses_drop(a, wo__block(a, id), false);
  wo__put_back(a, id);
}

enum wo_status wo_allocator_empty_cache(struct wo_allocator *a) {
  return wo__release_cached(a, wo__has_capture(a));
}

/* ---- Looking ---- */

const struct wo_allocator_stats *wo_allocator_stats(const struct wo_allocator *a) {
  return &a->stats;
}

const struct wo_allocator_oom *wo_allocator_last_oom(const struct wo_allocator *a) {
  return &a->oom;
}

const struct wo_alloc_settings *wo_allocator_settings(const struct wo_allocator *a) {
  return &a->settings;
}

uint64_t wo_allocator_steps(const struct wo_allocator *a) {
  return a->steps;
}

const char *wo_allocator_message(const struct wo_allocator *a) {
  return a->message;
}
