/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges are adjacent in the address space: the smallest distance between the beginnings of two ranges bounds their size. If they
 * lie anywhere, a range that begins while another one exists ends before that one, or begins behind it. */
#include "cuda_replay/replay/expandable_ranges_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/collections/address_map.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

#define MIB ((uint64_t)1024 * 1024)
#define CARD_MAX_BYTES (UINT64_C(256) * 1024 * MIB)
#define CARD_MIN_BYTES (1024 * MIB)
/* Room for rounding a range up to whole handles. */
#define HANDLE_ROOM_BYTES (64 * MIB)

enum place_kind { PLAIN, SMALL_RANGE, LARGE_RANGE };

/* Something at an address: a mapping of a stream's range, or a plain segment. */
struct place {
  uint64_t address;
  uint64_t stream; /* raw pointer */
  struct wo_pool_id pool;
  enum place_kind kind;
};

struct places {
  struct place *items;
  size_t count, capacity;
};

static enum wo_status add(struct places *places, struct place place) {
  if (!WO_VEC_RESERVE(places, 1, 2 * WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  places->items[places->count++] = place;
  return WO_OK;
}

static enum wo_status collect_segments(const struct wo_start *start, struct places *places) {
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < start->segments.count && status == WO_OK; i++) {
    const struct wo_allocator_segment *const segment = &start->segments.items[i];
    const enum place_kind kind = !segment->is_expandable ? PLAIN : segment->is_small ? SMALL_RANGE : LARGE_RANGE;
    status = add(places, (struct place){segment->address, segment->stream, segment->pool, kind});
  }
  return status;
}

static enum wo_status collect_entries(const struct wo_recording *recording, const struct wo_trace *trace, struct places *places) {
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < trace->entries.count && status == WO_OK; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action != WO_ACTION_SEGMENT_MAP && entry->action != WO_ACTION_SEGMENT_ALLOC) continue;
    const enum place_kind mapped = wo__is_small_map(entry) ? SMALL_RANGE : LARGE_RANGE;
    status =
        add(places, (struct place){entry->address, recording->streams.items[entry->stream], recording->pools.items[entry->pool],
                                   entry->action == WO_ACTION_SEGMENT_MAP ? mapped : PLAIN});
  }
  return status;
}

static int compare_places(const void *a, const void *b) {
  const struct place *const left = a, *const right = b;
  return (left->address > right->address) - (left->address < right->address);
}

static bool is_default(struct wo_pool_id pool) {
  return pool.first == 0 && pool.second == 0;
}

/* Whether two neighbours can be parts of one range. Entries of older versions do not have their pool. */
static bool are_together(const struct place *a, const struct place *b) {
  const bool is_same_pool =
      (a->pool.first == b->pool.first && a->pool.second == b->pool.second) || is_default(a->pool) || is_default(b->pool);
  assert(a->address <= b->address);
  const bool is_near = b->address - a->address < CARD_MAX_BYTES / 8 * 9;
  return a->kind != PLAIN && a->kind == b->kind && a->stream == b->stream && is_same_pool && is_near;
}

/* The least memory that the card can have: the bytes reserved on it at the end. */
static uint64_t least_card(const struct wo_trace *trace) {
  uint64_t reserved = 0;
  for (size_t i = 0; i < trace->segments.count; i++) reserved += trace->segments.items[i].size_bytes;
  return reserved > CARD_MIN_BYTES ? reserved : CARD_MIN_BYTES;
}

/* The smallest distance from the beginning of a range to the next thing after it. Distances below `floor` are between ranges of
 * different times, since addresses are reused. */
static uint64_t least_distance(const struct places *places, uint64_t floor_bytes) {
  uint64_t least = UINT64_MAX;
  size_t first = 0;
  for (size_t i = 1; i < places->count; i++) {
    if (are_together(&places->items[i - 1], &places->items[i])) continue;
    const uint64_t distance = places->items[i].address - places->items[first].address;
    if (places->items[first].kind != PLAIN && distance >= floor_bytes && distance < least) least = distance;
    first = i;
  }
  return least;
}

/* ---- Ranges that are mapped at the same time ---- */

/* More streams with ranges than any program has. */
enum { OWNERS_MAX = 128 };

/* What is mapped of one owner: the ranges of a stream for small or for large blocks. */
struct owner {
  uint64_t stream; /* raw pointer */
  bool is_small;
  uint64_t mapped_bytes;
  uint64_t begin; /* of its range, where its first mapping was; 0: nothing is mapped, or it has several ranges (of pools) */
};

struct mapping {
  uint64_t end;
  uint32_t owner;
};

struct mapped {
  struct wo_address_map places; /* mappings by address -> index in the list */
  WO_VEC(struct mapping) list;  /* those that are gone, too */
  struct owner owners[OWNERS_MAX];
  size_t owner_count;
};

static uint32_t owner_of(struct mapped *mapped, uint64_t stream, bool is_small) {
  for (uint32_t i = 0; i < mapped->owner_count; i++) {
    if (mapped->owners[i].stream == stream && mapped->owners[i].is_small == is_small) return i;
  }
  if (mapped->owner_count == OWNERS_MAX) return OWNERS_MAX;
  mapped->owners[mapped->owner_count] = (struct owner){.stream = stream, .is_small = is_small};
  return (uint32_t)mapped->owner_count++;
}

static enum wo_status put_mapping(struct mapped *mapped, uint64_t address, struct mapping mapping) {
  if (!WO_VEC_RESERVE(&mapped->list, 1, 2 * WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  mapped->list.items[mapped->list.count] = mapping;
  return wo_address_map_put(&mapped->places, address, (uint32_t)mapped->list.count++);
}

/* The distance of a new range to the nearest beginning of another owner's; that may be unmapped by now. */
static uint64_t distance_to_others(const struct mapped *mapped, uint64_t address) {
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < mapped->owner_count; i++) {
    const uint64_t begin = mapped->owners[i].begin;
    const uint64_t distance = begin > address ? begin - address : address - begin;
    if (begin > 0 && mapped->owners[i].mapped_bytes > 0 && distance < least) least = distance;
  }
  return least;
}

static void note_begin(struct owner *owner, uint64_t address) {
  const uint64_t begin = owner->begin, apart = begin > address ? begin - address : address - begin;
  if (owner->mapped_bytes == 0)
    owner->begin = address;
  else if (begin > 0 && apart >= CARD_MAX_BYTES / 8 * 9)
    owner->begin = 0;
  else if (begin > address)
    owner->begin = address;
}

/* Adds a mapping. *ret_distance: to the next mapping above, or to another range, if the owner had none before, so that a range
 * begins here. */
static enum wo_status add_mapping(struct mapped *mapped, uint32_t owner, uint64_t address, uint64_t size_bytes,
                                  uint64_t *ret_distance) {
  struct wo_address_item above;
  *ret_distance = UINT64_MAX;
  if (owner == OWNERS_MAX) return WO_OK;
  if (mapped->owners[owner].mapped_bytes == 0) {
    *ret_distance = distance_to_others(mapped, address);
    const bool has_above = wo_address_map_above(&mapped->places, address, &above);
    if (has_above && above.address - address < *ret_distance) *ret_distance = above.address - address;
  }
  note_begin(&mapped->owners[owner], address);
  mapped->owners[owner].mapped_bytes += size_bytes;
  return put_mapping(mapped, address, (struct mapping){address + size_bytes, owner});
}

/* An unmapping may begin inside of a mapping, go over several, and end inside of one: parts of these two stay. */
static enum wo_status remove_mappings(struct mapped *mapped, uint64_t address, uint64_t size_bytes) {
  const uint64_t end = address + size_bytes;
  struct wo_address_item item;
  uint64_t at = wo_address_map_below(&mapped->places, address, &item) ? item.address : address;
  enum wo_status status = WO_OK;
  while (status == WO_OK && wo_address_map_above(&mapped->places, at, &item) && item.address < end) {
    struct mapping *const mapping = &mapped->list.items[item.value];
    const struct mapping whole = *mapping;
    at = item.address + 1;
    if (whole.end <= address) continue;
    const uint64_t from = item.address > address ? item.address : address, to = whole.end < end ? whole.end : end;
    mapped->owners[whole.owner].mapped_bytes -= to - from;
    mapping->end = from;
    if (from == item.address) wo_address_map_remove(&mapped->places, item.address, NULL);
    if (to < whole.end) status = put_mapping(mapped, to, whole);
  }
  return status;
}

/* The smallest distance of the beginning of a range to other ranges of that time. */
static enum wo_status least_mapped(const struct wo_recording *recording, const struct wo_trace *trace,
                                   const struct wo_start *start, uint64_t floor_bytes, uint64_t *ret_least) {
  struct mapped mapped = {.owner_count = 0};
  enum wo_status status = WO_OK;
  uint64_t distance;
  *ret_least = UINT64_MAX;
  for (size_t i = 0; start && i < start->segments.count && status == WO_OK; i++) {
    const struct wo_allocator_segment *const segment = &start->segments.items[i];
    if (!segment->is_expandable) continue;
    const uint32_t owner = owner_of(&mapped, segment->stream, segment->is_small);
    status = add_mapping(&mapped, owner, segment->address, segment->size_bytes, &distance);
  }
  for (size_t i = 0; i < trace->entries.count && status == WO_OK; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action != WO_ACTION_SEGMENT_MAP && entry->action != WO_ACTION_SEGMENT_UNMAP) continue;
    if (entry->size_bytes > UINT64_MAX - entry->address) continue;
    if (entry->action == WO_ACTION_SEGMENT_UNMAP) {
      status = remove_mappings(&mapped, entry->address, entry->size_bytes);
      continue;
    }
    const uint32_t owner = owner_of(&mapped, recording->streams.items[entry->stream], wo__is_small_map(entry));
    status = add_mapping(&mapped, owner, entry->address, entry->size_bytes, &distance);
    if (distance >= floor_bytes && distance < *ret_least) *ret_least = distance;
  }
  wo_address_map_done(&mapped.places);
  WO_VEC_DONE(&mapped.list);
  return status;
}

/* ---- The card ---- */

bool wo__start_has_ranges(const struct wo_start *start) {
  for (size_t i = 0; i < start->segments.count; i++) {
    if (start->segments.items[i].is_expandable) return true;
  }
  return false;
}

enum wo_status wo__card_bytes(const struct wo_recording *recording, const struct wo_trace *trace, const struct wo_start *start,
                              uint64_t *ret_bytes) {
  *ret_bytes = recording->capacity_bytes;
  if (recording->capacity_bytes > 0) return WO_OK;
  *ret_bytes = CARD_MAX_BYTES;
  const bool has_ranges = (start && wo__start_has_ranges(start)) || wo_trace_has(trace, WO_ACTION_SEGMENT_MAP);
  if (!has_ranges) return WO_OK;
  struct places places = {0};
  enum wo_status status = start ? collect_segments(start, &places) : WO_OK;
  if (status == WO_OK) status = collect_entries(recording, trace, &places);
  if (places.count > 0) qsort(places.items, places.count, sizeof *places.items, compare_places);
  const uint64_t floor_bytes = least_card(trace) / 8 * 9 + HANDLE_ROOM_BYTES;
  const uint64_t apart = least_distance(&places, floor_bytes);
  uint64_t together = UINT64_MAX;
  WO_VEC_DONE(&places);
  if (status == WO_OK) status = least_mapped(recording, trace, start, floor_bytes, &together);
  const uint64_t least = together < apart ? together : apart;
  const uint64_t most = least == UINT64_MAX ? UINT64_MAX : (least - HANDLE_ROOM_BYTES) / 9 * 8;
  *ret_bytes = most < CARD_MAX_BYTES ? most : CARD_MAX_BYTES;
  return status;
}
