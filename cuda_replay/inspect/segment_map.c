/* SPDX-License-Identifier: Apache-2.0 */
/* The segment map: copies an allocator's segments, names their blocks, and divides them into units that can be released. */
#include "cuda_replay/inspect/segment_map.h"

#include <assert.h>
#include <stdlib.h>

#include "parsers/base/vec.h"

/* Page of expandable runs of the small pool: kSmallBuffer of c10/cuda/CUDACachingAllocator.cpp. */
#define SMALL_PAGE_BYTES (UINT64_C(2) * 1024 * 1024)

/* ---- Copying ---- */

/* State of a copy: the map, and whether it could hold everything so far. */
struct taking {
  struct wo_segment_map *map;
  bool is_failed;
};

/* Keeps the requested bytes only if they can be true. */
static void add_block(struct wo_segment_map *map, uint64_t address, const struct wo_allocator_block *block) {
  const bool is_used = block->state != WO_BLOCK_FREE;
  /* Recordings before 2.0 do not have the requested bytes, and hostile ones have too many. */
  const bool is_known = block->requested_bytes > 0 && block->requested_bytes <= block->size_bytes;
  map->blocks.items[map->blocks.count++] = (struct wo_map_block){
      .address = address,
      .size_bytes = block->size_bytes,
      .requested_bytes = !is_used   ? 0
                         : is_known ? block->requested_bytes
                                    : block->size_bytes,
      .instance = WO_NO_INSTANCE,
      .state = block->state,
  };
}

/* Reserves memory before any change, so that a map never has half a segment. */
bool wo_segment_map_add(struct wo_segment_map *map, const struct wo_allocator_segment *segment,
                        const struct wo_allocator_block *blocks, size_t count) {
  if (!WO_VEC_RESERVE(&map->segments, 1, UINT32_MAX) || !WO_VEC_RESERVE(&map->blocks, count, UINT32_MAX)) return false;
  map->segments.items[map->segments.count++] = (struct wo_map_segment){
      .address = segment->address,
      .size_bytes = segment->size_bytes,
      .range_address = segment->range_address > 0 ? segment->range_address : segment->address,
      .stream = segment->stream,
      .pool = segment->pool,
      .first_block = (uint32_t)map->blocks.count,
      .block_count = (uint32_t)count,
      .is_small = segment->is_small,
      .is_expandable = segment->is_expandable,
  };
  uint64_t at = segment->address;
  for (size_t i = 0; i < count; i++) {
    add_block(map, at, &blocks[i]);
    at += blocks[i].size_bytes;
  }
  assert(count > 0 && at == segment->address + segment->size_bytes);
  map->reserved_bytes += segment->size_bytes;
  return true;
}

static bool take_segment(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                         const wo_block_id *ids, size_t count) {
  struct taking *const taking = state;
  (void)ids;
  taking->is_failed = !wo_segment_map_add(taking->map, segment, blocks, count);
  return !taking->is_failed;
}

/* A page of an expandable run has the size that the allocator maps at a time; a setting changes it since 2.11. */
enum wo_status wo_segment_map_take(const struct wo_allocator *allocator, struct wo_segment_map *ret_map) {
  struct wo_segment_map map = {.request = WO_NO_REQUEST};
  struct taking taking = {.map = &map};
  map.large_page_bytes = wo_allocator_settings(allocator)->large_segment_bytes;
  const enum wo_status status = wo_allocator_walk(allocator, take_segment, &taking);
  if (status != WO_OK || taking.is_failed) {
    wo_segment_map_done(&map);
    return status != WO_OK ? status : WO_E_NOMEM;
  }
  *ret_map = map;
  return WO_OK;
}

void wo_segment_map_done(struct wo_segment_map *map) {
  if (!map) return;
  WO_VEC_DONE(&map->segments);
  WO_VEC_DONE(&map->blocks);
  *map = (struct wo_segment_map){0};
}

/* ---- Naming ---- */

/* By address, then in the caller's order. */
static int compare_places(const void *left, const void *right) {
  const struct wo_map_place *const a = left;
  const struct wo_map_place *const b = right;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

/* Both lists are in the order of addresses: one pass over each. Later places at an address overwrite earlier ones, since an
 * address is reused only after its block was freed. */
void wo_segment_map_name(struct wo_segment_map *map, struct wo_map_place *places, size_t count) {
  assert(count <= UINT32_MAX);
  for (size_t i = 0; i < count; i++) places[i].order = (uint32_t)i;
  if (count > 0) qsort(places, count, sizeof *places, compare_places);
  size_t next = 0;
  for (size_t i = 0; i < map->blocks.count; i++) {
    struct wo_map_block *const block = &map->blocks.items[i];
    while (next < count && places[next].address < block->address) next++;
    for (; next < count && places[next].address == block->address; next++) {
      if (block->state != WO_BLOCK_FREE) block->instance = places[next].instance;
    }
  }
}

/* ---- Units ---- */

/* The end of the unit that begins at `at`. */
static uint64_t unit_end(const struct wo_segment_map *map, const struct wo_map_segment *segment, uint64_t at) {
  const uint64_t end = segment->address + segment->size_bytes;
  const uint64_t page_bytes = segment->is_small ? SMALL_PAGE_BYTES : map->large_page_bytes;
  if (!segment->is_expandable || page_bytes == 0) return end;
  assert(at >= segment->range_address);
  const uint64_t rest_bytes = page_bytes - (at - segment->range_address) % page_bytes;
  return rest_bytes < end - at ? at + rest_bytes : end;
}

/* Adds the part of the block that is inside the unit. */
static void add_to_unit(struct wo_map_unit *unit, const struct wo_map_block *block) {
  unit->block_count++;
  if (block->state == WO_BLOCK_FREE) return;
  const uint64_t block_end = block->address + block->size_bytes;
  const uint64_t slack_start = block->address + block->requested_bytes;
  const uint64_t start = block->address > unit->start ? block->address : unit->start;
  const uint64_t end = block_end < unit->end ? block_end : unit->end;
  const uint64_t slack_from = slack_start > start ? slack_start : start;
  assert(start < end);
  unit->used_bytes += end - start;
  if (slack_from < end) unit->slack_bytes += end - slack_from;
  if (block->state == WO_BLOCK_PENDING) unit->pending_bytes += end - start;
}

/* Pages that lie in one block are one unit, so that there are no more units than block boundaries, however long a run is. */
static void widen(struct wo_map_unit *unit, const struct wo_map_segment *segment, const struct wo_map_block *block,
                  uint64_t page_bytes) {
  const uint64_t block_end = block->address + block->size_bytes;
  const bool is_whole = block_end == segment->address + segment->size_bytes;
  if (block->address > unit->start || block_end <= unit->end) return;
  unit->end = is_whole ? block_end : block_end - (block_end - unit->end) % page_bytes;
}

/* Visits each block once, but one that ends inside of a page in both of its units. */
bool wo_segment_map_next(const struct wo_segment_map *map, struct wo_map_walk *walk, struct wo_map_unit *ret_unit) {
  if (walk->segment >= map->segments.count) return false;
  const struct wo_map_segment *const segment = &map->segments.items[walk->segment];
  assert(segment->block_count > 0 && segment->size_bytes > 0);
  const uint32_t block_end = segment->first_block + segment->block_count;
  if (walk->at == 0) {
    walk->at = segment->address;
    walk->block = segment->first_block;
  }
  struct wo_map_unit unit = {
      .segment = walk->segment, .start = walk->at, .end = unit_end(map, segment, walk->at), .first_block = walk->block};
  widen(&unit, segment, &map->blocks.items[walk->block], segment->is_small ? SMALL_PAGE_BYTES : map->large_page_bytes);
  for (uint32_t i = walk->block; i < block_end && map->blocks.items[i].address < unit.end; i++) {
    add_to_unit(&unit, &map->blocks.items[i]);
    walk->block = i;
  }
  /* The next unit begins with the block in which this one ended, unless both end at the same place. */
  const struct wo_map_block *const last = &map->blocks.items[walk->block];
  if (last->address + last->size_bytes <= unit.end) walk->block++;
  walk->at = unit.end;
  if (unit.end == segment->address + segment->size_bytes) *walk = (struct wo_map_walk){.segment = walk->segment + 1};
  *ret_unit = unit;
  return true;
}
