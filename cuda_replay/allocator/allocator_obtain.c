/* SPDX-License-Identifier: Apache-2.0 */
/* New memory for a request that the cache cannot serve: one try, then a try after each way of making room. */
#include "cuda_replay/allocator/allocator_internal.h"

/* Allocates a segment (cudaMalloc) as one block that is in no order. */
static enum wo_status add_segment(struct wo_allocator *a, struct wo__request *request) {
  const uint64_t size_bytes = request->segment_bytes;
  uint64_t address = 0;
  /* Room first, so that memory that the device gives is never lost. */
  if (!wo_block_order_reserve(&a->chains, a->chains.count + 1)) return WO_E_NOMEM;
  const enum wo_status status = a->device.segment_alloc(a->device.state, size_bytes, &address);
  if (status != WO_OK) return status == WO_E_LIMIT ? status : wo__device_failed(a, status);
  if (!wo__make_way(a, address, address + size_bytes)) return wo__device_repeats(a);
  const struct wo__shelf *const shelf = wo__shelf(a, request->shelf);
  request->block = wo__block_new(a, request->shelf, address, size_bytes, WO__FREE);
  wo__block(a, request->block)->tie = wo__tie_of_segment(a, address);
  wo_block_order_insert(&a->chains, wo__address_key(address), request->block);
  a->pools.items[shelf->pool].segment_count++;
  wo__rise(a->stats.segment, shelf, 1);
  wo__rise(a->stats.reserved_bytes, shelf, size_bytes);
  if (size_bytes >= a->settings.max_split_bytes) wo__rise_one(&a->stats.oversize_segments, 1);
  a->stats.num_device_alloc++;
  wo__emit(a, WO_ACTION_SEGMENT_ALLOC, address, size_bytes, shelf);
  return WO_OK;
}

/* Whether the memory fraction refuses. It is compared with the segment, even if less would be mapped. */
static bool exceeds_fraction(const struct wo_allocator *a, const struct wo__request *request) {
  return a->allowed_bytes != UINT64_MAX && wo__reserved_bytes(a) + request->segment_bytes > a->allowed_bytes;
}

/* Whether a try is refused for good, without an event. The limit is the fraction of the settings string, not the fraction in
 * force; the fraction in force refuses first, and then releases are tried. */
static bool must_reject(const struct wo_allocator *a, const struct wo__request *request) {
  if (!a->settings.throw_on_cudamalloc_oom || !wo_torch_has(a->torch, WO_TORCH_EARLY_REJECTION)) return false;
  if (a->card_bytes == UINT64_MAX) return false;
  const double fraction = a->settings.string_fraction > 0 ? a->settings.string_fraction : 1;
  return wo__reserved_bytes(a) + request->segment_bytes > (uint64_t)(fraction * (double)a->card_bytes);
}

/* One try. */
static enum wo_status try_once(struct wo_allocator *a, struct wo__request *request) {
  request->by_fraction = exceeds_fraction(a, request);
  if (request->by_fraction) return WO_E_LIMIT;
  request->is_rejected = must_reject(a, request);
  if (request->is_rejected) return WO_E_LIMIT;
  if (wo__reserve_blocks(a, request->shelf, 2) != WO_OK) return WO_E_NOMEM;
  if (!wo__is_expandable(a, wo__shelf(a, request->shelf))) return add_segment(a, request);
  const enum wo_status status = wo__expand(a, request);
  if (status == WO_OK) a->pools.items[wo__shelf(a, request->shelf)->pool].segment_count++;
  return status;
}

/* Each way of making room gives back more than the one before; torch counts only the last try as a retry. A rejection of the
 * first try ends the request; a rejection of the second does not. */
enum wo_status wo__obtain(struct wo_allocator *a, struct wo__request *request) {
  enum wo_status status = a->collects_garbage ? wo__collect_garbage(a) : WO_OK;
  if (status != WO_OK) return status;
  status = try_once(a, request);
  if (status != WO_E_LIMIT || request->is_rejected) return status;
  bool is_enough = false;
  status = wo__release_oversize(a, request, &is_enough);
  if (status != WO_OK) return status;
  status = is_enough ? try_once(a, request) : WO_E_LIMIT;
  if (status != WO_E_LIMIT || wo__is_captured(a, wo__shelf(a, request->shelf)->stream)) return status;
  status = wo__release_cached(a, false);
  if (status != WO_OK) return status;
  a->stats.num_alloc_retries++;
  return try_once(a, request);
}
