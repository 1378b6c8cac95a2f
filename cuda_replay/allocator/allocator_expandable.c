/* SPDX-License-Identifier: Apache-2.0 */
/* Expandable segments: reserved ranges of addresses into which memory is mapped handle by handle. */
#include "cuda_replay/allocator/allocator_internal.h"

#include "parsers/base/vec.h"

/* The card's memory if the device does not report it; it only decides how long a range is. */
#define UNKNOWN_TOTAL_BYTES (UINT64_C(256) << 30)

bool wo__is_expandable(const struct wo_allocator *a, const struct wo__shelf *shelf) {
  return a->settings.expandable_segments && (shelf->pool == 0 || wo_torch_has(a->torch, WO_TORCH_PRIVATE_POOLS_EXPAND));
}

/* ---- Ranges ---- */

uint64_t wo__handle_bytes(const struct wo_allocator *a, const struct wo__shelf *shelf) {
  return shelf->is_small ? WO__SMALL_SEGMENT_BYTES : a->settings.large_segment_bytes;
}

uint64_t wo__range_bytes(const struct wo_allocator *a, uint64_t handle_bytes) {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  a->device.memory_info(a->device.state, &free_bytes, &total_bytes);
  /* No card has more; ties need a range to be shorter than 2^45 bytes. */
  if (total_bytes > UINT64_C(1) << 44) total_bytes = UNKNOWN_TOTAL_BYTES;
  const uint64_t wanted = total_bytes + total_bytes / 8;
  return (wanted + handle_bytes - 1) / handle_bytes * handle_bytes;
}

/* An unused number for a range, or WO__NONE when memory is out. */
static uint32_t range_number(struct wo_allocator *a) {
  while (a->used_ranges < a->ranges.count && a->ranges.items[a->used_ranges].handle_bytes != 0) a->used_ranges++;
  if (a->used_ranges < a->ranges.count) return a->used_ranges;
  if (!WO_VEC_RESERVE(&a->ranges, 1, WO__NONE)) return WO__NONE;
  a->ranges.items[a->ranges.count] = (struct wo__range){0};
  return (uint32_t)a->ranges.count++;
}

enum wo_status wo__range_add(struct wo_allocator *a, uint32_t shelf, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes,
                             uint32_t *ret_block) {
  const uint32_t range = range_number(a);
  if (range == WO__NONE || wo__reserve_blocks(a, shelf, 1) != WO_OK) return WO_E_NOMEM;
  struct wo__shelf *const s = wo__shelf(a, shelf);
  if (!wo_block_order_reserve(&s->unmapped, s->free.room) || !wo_room_tree_reserve(&s->runs, s->unmapped.count + 1) ||
      !wo_block_order_reserve(&a->chains, a->chains.count + 1)) {
    return WO_E_NOMEM;
  }
  a->ranges.items[range] = (struct wo__range){.address = address, .size_bytes = size_bytes, .handle_bytes = handle_bytes};
  *ret_block = wo__block_new(a, shelf, address, size_bytes, WO__UNMAPPED);
  wo__block(a, *ret_block)->range = range;
  wo__block(a, *ret_block)->tie = wo__tie_of_segment(a, address);
  wo_block_order_insert(&wo__shelf(a, shelf)->unmapped, wo__address_key(address), *ret_block);
  wo_block_order_insert(&a->chains, wo__address_key(address), *ret_block);
  wo__runs_update(a, *ret_block, address + size_bytes);
  return WO_OK;
}

static enum wo_status range_reserve(struct wo_allocator *a, uint32_t shelf, uint64_t rounded_bytes, uint32_t *ret_block) {
  const uint64_t handle_bytes = wo__handle_bytes(a, wo__shelf(a, shelf));
  const uint64_t size_bytes = wo__range_bytes(a, handle_bytes);
  uint64_t address = 0;
  enum wo_status status = a->device.range_reserve(a->device.state, size_bytes, &address);
  if (status != WO_OK) return wo__device_failed(a, status);
  if (size_bytes < rounded_bytes && wo_torch_has(a->torch, WO_TORCH_SHORT_RANGE_RETURNED)) {
    status = a->device.range_free(a->device.state, address, size_bytes);
    return status == WO_OK ? WO_E_LIMIT : wo__device_failed(a, status);
  }
  status = wo__make_way(a, address, address + size_bytes) ? wo__range_add(a, shelf, address, size_bytes, handle_bytes, ret_block)
                                                          : wo__device_repeats(a);
  if (status != WO_OK) {
    (void)a->device.range_free(a->device.state, address, size_bytes);
    return status;
  }
  /* A recording does not show where its ranges end. */
  a->ranges.items[wo__block(a, *ret_block)->range].is_guess = true;
  return WO_OK;
}

/* ---- Mapping ---- */

/* The lowest place in the shelf's ranges with room; a new range when there is none. */
static enum wo_status find_place(struct wo_allocator *a, const struct wo__request *request, uint32_t *ret_block) {
  struct wo_room run;
  if (!wo_room_tree_first(&wo__shelf(a, request->shelf)->runs, 0, request->rounded_bytes, &run)) {
    return range_reserve(a, request->shelf, request->rounded_bytes, ret_block);
  }
  *ret_block = (uint32_t)run.value;
  return WO_OK;
}

void wo__map_front(struct wo_allocator *a, uint32_t id, uint64_t size_bytes) {
  struct wo_block_order *const unmapped = &wo__shelf(a, wo__block(a, id)->shelf)->unmapped;
  assert(wo__block(a, id)->state == WO__UNMAPPED && size_bytes <= wo__block(a, id)->size_bytes);
  wo_block_order_erase(unmapped, wo__address_key(wo__block(a, id)->address));
  if (size_bytes < wo__block(a, id)->size_bytes) {
    const uint32_t rest = wo__chain_cut(a, id, size_bytes);
    wo_block_order_insert(unmapped, wo__address_key(wo__block(a, rest)->address), rest);
    wo__tie_of_part(a, rest);
  }
  wo__block(a, id)->state = WO__FREE;
}

/* Maps at least size_bytes of an unmapped block, in whole handles; the mapped part merges with free neighbours. *block becomes
 * the free block that holds it. */
static enum wo_status map(struct wo_allocator *a, uint32_t *block, uint64_t size_bytes) {
  uint32_t id = *block;
  const uint32_t shelf_id = wo__block(a, id)->shelf;
  if (wo__reserve_blocks(a, shelf_id, 2) != WO_OK) return WO_E_NOMEM;
  const uint64_t address = wo__block(a, id)->address;
  const uint64_t handle_bytes = a->ranges.items[wo__block(a, id)->range].handle_bytes;
  const uint64_t mapped_bytes = (size_bytes + handle_bytes - 1) / handle_bytes * handle_bytes;
  const enum wo_status status = a->device.map(a->device.state, address, mapped_bytes, handle_bytes);
  if (status != WO_OK) return status == WO_E_LIMIT ? status : wo__device_failed(a, status);
  wo__map_front(a, id, mapped_bytes);
  const uint64_t tie = wo__block(a, id)->tie;
  const uint32_t next = wo__block(a, id)->next;
  const uint32_t prev = wo__block(a, id)->prev;
  if (next != WO__NONE && wo__block(a, next)->state == WO__FREE) {
    wo__free_erase(a, next);
    wo__chain_join(a, id, next);
  }
  if (prev != WO__NONE && wo__block(a, prev)->state == WO__FREE) {
    wo__free_erase(a, prev);
    wo__chain_join(a, prev, id);
    id = prev;
  }
  if (a->ties == WO__TIES_BY_BLOCK) wo__block(a, id)->tie = tie;
  wo__free_insert(a, id);
  wo__runs_update(a, id, wo__block(a, id)->address + wo__block(a, id)->size_bytes);
  const struct wo__shelf *const shelf = wo__shelf(a, shelf_id);
  wo__rise(a->stats.reserved_bytes, shelf, mapped_bytes);
  a->stats.num_device_alloc++;
  wo__emit(a, WO_ACTION_SEGMENT_MAP, address, mapped_bytes, shelf);
  *block = id;
  return WO_OK;
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* A run of free and unmapped blocks is mapped from its front until it is long enough. Each step maps one gap or a part of it,
 * which merges with the free block before it. */
enum wo_status wo__expand(struct wo_allocator *a, struct wo__request *request) {
  uint32_t id = WO__NONE;
  enum wo_status status = find_place(a, request, &id);
  if (status != WO_OK) return status;
  if (wo__block(a, id)->state == WO__UNMAPPED) {
    status = map(a, &id, least(wo__block(a, id)->size_bytes, request->rounded_bytes));
    if (status != WO_OK) return status;
  }
  while (wo__block(a, id)->size_bytes < request->rounded_bytes) {
    uint32_t next = wo__block(a, id)->next;
    /* Only a range shorter than the request ends here: no card has that much memory. */
    if (next == WO__NONE) return WO_E_LIMIT;
    const uint64_t missing = request->rounded_bytes - wo__block(a, id)->size_bytes;
    status = map(a, &next, least(missing, wo__block(a, next)->size_bytes));
    if (status != WO_OK) return status;
    id = next;
  }
  /* For the tail of the block that will be cut. */
  if (wo__reserve_blocks(a, request->shelf, 1) != WO_OK) return WO_E_NOMEM;
  wo__free_erase(a, id);
  request->block = id;
  return WO_OK;
}

/* ---- Unmapping ---- */

/* Gives back a range in which nothing is mapped. */
static enum wo_status range_drop(struct wo_allocator *a, uint32_t id) {
  const struct wo__block block = *wo__block(a, id);
  struct wo__range *const range = &a->ranges.items[block.range];
  assert(block.state == WO__UNMAPPED && !wo__is_split(&block) && block.size_bytes == range->size_bytes);
  wo_block_order_erase(&wo__shelf(a, block.shelf)->unmapped, wo__address_key(block.address));
  wo_room_tree_remove(&wo__shelf(a, block.shelf)->runs, block.address);
  wo_block_order_erase(&a->chains, wo__address_key(block.address));
  *range = (struct wo__range){0};
  if (block.range < a->used_ranges) a->used_ranges = block.range;
  wo__block_drop(a, id);
  const enum wo_status status = a->device.range_free(a->device.state, block.address, block.size_bytes);
  return status == WO_OK ? status : wo__device_failed(a, status);
}

/* Joins an unmapped block that is in no order with unmapped neighbours. Returns the block that holds it now, which is in the
 * order. */
static uint32_t join_unmapped(struct wo_allocator *a, uint32_t id) {
  struct wo_block_order *const unmapped = &wo__shelf(a, wo__block(a, id)->shelf)->unmapped;
  const uint32_t next = wo__block(a, id)->next;
  const uint32_t prev = wo__block(a, id)->prev;
  if (next != WO__NONE && wo__block(a, next)->state == WO__UNMAPPED) {
    wo_block_order_erase(unmapped, wo__address_key(wo__block(a, next)->address));
    wo__chain_join(a, id, next);
  }
  if (prev != WO__NONE && wo__block(a, prev)->state == WO__UNMAPPED) {
    if (a->ties == WO__TIES_BY_BLOCK) wo__block(a, prev)->tie = wo__block(a, id)->tie;
    wo__chain_join(a, prev, id);
    return prev;
  }
  wo_block_order_insert(unmapped, wo__address_key(wo__block(a, id)->address), id);
  return id;
}

/* A handle that the block covers only in part stays mapped: the rest of it belongs to a neighbour. */
enum wo_status wo__unmap(struct wo_allocator *a, uint32_t id) {
  const struct wo__block before = *wo__block(a, id);
  const struct wo__range range = a->ranges.items[before.range];
  const uint64_t handle_bytes = range.handle_bytes;
  const uint64_t offset = before.address - range.address;
  const uint64_t start = (offset + handle_bytes - 1) / handle_bytes * handle_bytes;
  const uint64_t end = (offset + before.size_bytes) / handle_bytes * handle_bytes;
  if (start >= end) return WO_OK;
  if (wo__reserve_blocks(a, before.shelf, 2) != WO_OK) return WO_E_NOMEM;
  const uint64_t address = range.address + start;
  const enum wo_status status = a->device.unmap(a->device.state, address, end - start, handle_bytes);
  if (status != WO_OK) return wo__device_failed(a, status);
  wo__free_erase(a, id);
  uint32_t middle = id;
  if (start > offset) {
    middle = wo__chain_cut(a, id, start - offset);
    wo__tie_of_part(a, id);
    wo__free_insert(a, id);
  }
  if (end < offset + before.size_bytes) {
    const uint32_t rest = wo__chain_cut(a, middle, end - start);
    wo__tie_of_part(a, rest);
    wo__free_insert(a, rest);
  }
  wo__block(a, middle)->state = WO__UNMAPPED;
  middle = join_unmapped(a, middle);
  wo__runs_update(a, middle, wo__block(a, middle)->address + wo__block(a, middle)->size_bytes);
  const struct wo__shelf *const shelf = wo__shelf(a, before.shelf);
  wo__fall(a->stats.reserved_bytes, shelf, end - start);
  /* A private pool adds one for each request that maps, and subtracts one for each run that is unmapped; these may differ. */
  struct wo__pool *const pool = &a->pools.items[shelf->pool];
  wo__suspect(a, shelf->pool);
  if (shelf->pool != 0 && pool->segment_count == 0) {
    return wo__refuse(a, "torch fails with an internal error here: it miscounts the expandable memory of a private pool");
  }
  pool->segment_count--;
  a->stats.num_device_free++;
  wo__emit(a, WO_ACTION_SEGMENT_UNMAP, address, end - start, shelf);
  return wo__is_split(wo__block(a, middle)) ? WO_OK : range_drop(a, middle);
}
