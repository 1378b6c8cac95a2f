/* Ranges are adjacent in the address space: the smallest distance between the beginnings of two ranges bounds their size. */
#include "cuda_replay/replay/expandable_ranges_internal.h"

#include <assert.h>
#include <stdlib.h>

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

enum wo_status wo__card_bytes(const struct wo_recording *recording, const struct wo_trace *trace, const struct wo_start *start,
                              uint64_t *ret_bytes) {
  *ret_bytes = recording->capacity_bytes;
  if (recording->capacity_bytes > 0) return WO_OK;
  struct places places = {0};
  enum wo_status status = start ? collect_segments(start, &places) : WO_OK;
  if (status == WO_OK) status = collect_entries(recording, trace, &places);
  if (places.count > 0) qsort(places.items, places.count, sizeof *places.items, compare_places);
  const uint64_t least = least_distance(&places, least_card(trace) / 8 * 9 + HANDLE_ROOM_BYTES);
  WO_VEC_DONE(&places);
  const uint64_t most = least == UINT64_MAX ? UINT64_MAX : (least - HANDLE_ROOM_BYTES) / 9 * 8;
  *ret_bytes = most < CARD_MAX_BYTES ? most : CARD_MAX_BYTES;
  return status;
}
