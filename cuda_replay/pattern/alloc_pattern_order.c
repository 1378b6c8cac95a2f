/* SPDX-License-Identifier: Apache-2.0 */
/* Instances that were alive before the first entry: finds those that only the snapshot shows, and moves all of them to the front
 * by rising address, so that they pair with the blocks of a rebuilt start. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/pattern/alloc_pattern_internal.h"
#include "parsers/base/vec.h"

/* The instance that lives at an address, or NULL. */
struct wo_instance *wo__instance_at(const struct wo__maker *maker, uint64_t address, uint32_t *ret_instance) {
  const bool is_live = wo_address_table_find(&maker->live, address, ret_instance) && *ret_instance != WO__GONE;
  return is_live ? &maker->pattern->instances.items[*ret_instance] : NULL;
}

/* ---- Blocks that only the snapshot shows ---- */

/* Adds the blocks of the snapshot that no entry allocated: alive from the start to the end, unless an entry uses their place (the
 * strangers of struct wo_start). */
static enum wo_status find_untouched(struct wo__maker *maker, struct wo_address_map *untouched) {
  const struct wo_trace *const trace = maker->trace;
  enum wo_status status = WO_OK;
  for (uint32_t i = 0; i < trace->blocks.count && status == WO_OK; i++) {
    const struct wo_trace_block *const block = &trace->blocks.items[i];
    uint32_t instance = 0;
    if (block->state == WO_BLOCK_FREE || wo__instance_at(maker, block->address, &instance)) continue;
    status = wo_address_map_put(untouched, block->address, i);
  }
  for (size_t i = 0; i < trace->entries.count && untouched->count > 0 && status == WO_OK; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    struct wo_address_item item;
    if (!wo_entry_is(entry, WO_TRAIT_RANGE) || entry->size_bytes == 0) continue;
    while (wo_address_map_below(untouched, entry->address + entry->size_bytes - 1, &item)) {
      if (trace->blocks.items[item.value].size_bytes + item.address <= entry->address) break;
      wo_address_map_remove(untouched, item.address, NULL);
    }
  }
  return status;
}

static enum wo_status add_untouched(struct wo__maker *maker, const struct wo_trace_segment *segment, uint32_t block_index) {
  const struct wo_trace_block *const block = &maker->trace->blocks.items[block_index];
  if (!WO_VEC_RESERVE(&maker->pattern->instances, 1, WO__REQUESTS_MAX)) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&maker->early, 1, WO__REQUESTS_MAX)) return WO_E_NOMEM;
  const uint32_t instance = (uint32_t)maker->pattern->instances.count++;
  maker->pattern->instances.items[instance] =
      (struct wo_instance){.size_bytes = block->requested_bytes > 0 ? block->requested_bytes : block->size_bytes,
                           .birth = WO_NO_REQUEST,
                           .death = WO_NO_REQUEST,
                           .stack = block->stack,
                           .stream = segment->stream & 0xfff,
                           .pool = segment->pool & 0x7fff};
  maker->early.items[maker->early.count++] = (struct wo__early){block->address, instance, block->state == WO_BLOCK_PENDING};
  return WO_OK;
}

enum wo_status wo__make_untouched(struct wo__maker *maker) {
  struct wo_address_map untouched = {0};
  enum wo_status status = find_untouched(maker, &untouched);
  for (size_t i = 0; i < maker->trace->segments.count && status == WO_OK; i++) {
    const struct wo_trace_segment *const segment = &maker->trace->segments.items[i];
    for (uint32_t j = 0; j < segment->block_count && status == WO_OK; j++) {
      const uint32_t block = segment->first_block + j;
      const uint64_t address = maker->trace->blocks.items[block].address;
      if (wo_address_map_find(&untouched, address, NULL)) status = add_untouched(maker, segment, block);
    }
  }
  wo_address_map_done(&untouched);
  return status;
}

/* ---- Order ---- */

static int compare_early(const void *a, const void *b) {
  const struct wo__early *const left = a, *const right = b;
  return (left->address > right->address) - (left->address < right->address);
}

/* Moves the early instances to the front: `to[i]` becomes the new place of instance i. */
static enum wo_status order_instances(struct wo__maker *maker, uint32_t *to) {
  struct wo_alloc_pattern *const pattern = maker->pattern;
  const size_t count = pattern->instances.count;
  uint32_t next = 0;
  for (size_t i = 0; i < count; i++) to[i] = WO_NO_REQUEST;
  for (size_t i = 0; i < maker->early.count; i++) to[maker->early.items[i].instance] = next++;
  for (size_t i = 0; i < count; i++) {
    if (to[i] == WO_NO_REQUEST) to[i] = next++;
  }
  assert(next == count);
  struct wo_instance *const ordered = malloc((count + 1) * sizeof *ordered);
  if (!ordered) return WO_E_NOMEM;
  for (size_t i = 0; i < count; i++) ordered[to[i]] = pattern->instances.items[i];
  WO_VEC_DONE(&pattern->instances);
  pattern->instances.items = ordered;
  pattern->instances.count = count;
  pattern->instances.capacity = count + 1;
  for (size_t i = 0; i < pattern->requests.count; i++) {
    struct wo_request *const request = &pattern->requests.items[i];
    if (wo_request_has_instance(request)) request->subject = to[request->subject];
  }
  return WO_OK;
}

/* Puts a DEFER at the front for each instance that is pending at the start, and adjusts all births and deaths. */
static enum wo_status add_early_defers(struct wo__maker *maker) {
  struct wo_alloc_pattern *const pattern = maker->pattern;
  uint32_t pending = 0;
  for (size_t i = 0; i < maker->early.count; i++) pending += maker->early.items[i].is_pending;
  if (pending == 0) return WO_OK;
  if (!WO_VEC_RESERVE(&pattern->requests, pending, WO__REQUESTS_MAX)) return WO_E_NOMEM;
  memmove(pattern->requests.items + pending, pattern->requests.items, pattern->requests.count * sizeof *pattern->requests.items);
  pattern->requests.count += pending;
  for (size_t i = 0; i < pattern->instances.count; i++) {
    struct wo_instance *const instance = &pattern->instances.items[i];
    if (instance->birth != WO_NO_REQUEST) instance->birth += pending;
    if (instance->death != WO_NO_REQUEST) instance->death += pending;
  }
  uint32_t at = 0;
  for (uint32_t i = 0; i < maker->early.count; i++) {
    if (!maker->early.items[i].is_pending) continue;
    struct wo_instance *const instance = &pattern->instances.items[i];
    instance->death = at;
    pattern->requests.items[at++] = (struct wo_request){
        .kind = WO_REQUEST_DEFER, .stream = instance->stream, .pool = instance->pool, .subject = i, .entry = WO_NO_ENTRY};
  }
  return WO_OK;
}

enum wo_status wo__put_in_order(struct wo__maker *maker) {
  maker->pattern->start_count = maker->early.count;
  if (maker->early.count == 0) return WO_OK; /* they are in order */
  qsort(maker->early.items, maker->early.count, sizeof *maker->early.items, compare_early);
  uint32_t *const to = malloc((maker->pattern->instances.count + 1) * sizeof *to);
  if (!to) return WO_E_NOMEM;
  enum wo_status status = order_instances(maker, to);
  if (status == WO_OK) status = add_early_defers(maker);
  free(to);
  return status;
}
