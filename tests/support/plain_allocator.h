/* The allocator's rules once more, in the plainest way: every block in one list, every search a walk over all of them. Slow, and
 * easy to hold against docs/allocator.md; the fast model must agree with it on any sequence of requests (allocator_steps.h).
 *
 * Nothing is shared with the model but the settings, the device and the types of results. Streams are 0 .. PLAIN_STREAMS - 1.
 * Static functions in a header, because unit tests and fuzz targets, which are linked apart, both use them. */
#ifndef WO_TEST_PLAIN_ALLOCATOR_H
#define WO_TEST_PLAIN_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/allocator.h"

enum { PLAIN_STREAMS = 4, PLAIN_POOLS = 8, PLAIN_CAPTURES = 8, PLAIN_EVENTS = 4096 };

#define PLAIN_MIB (UINT64_C(1) << 20)

struct plain_range {
  uint64_t address, size, handle;
};

struct plain_block {
  struct plain_block *list_next; /* all blocks, in no order */
  struct plain_block *prev, *next;
  struct plain_range *range; /* owned by whoever drops the last block */
  uint64_t address, size, requested, stream, calls, freed_at, age, serial;
  int pool; /* index; 0 = default */
  bool is_small, is_allocated, is_pending, is_mapped, waits;
  unsigned uses, capture_uses; /* sets of streams */
};

struct plain_pool {
  struct wo_pool_id id;
  bool exists;
  int64_t users, segments;
  uint64_t calls[2]; /* searches; [is_small] */
};

struct plain {
  struct wo_alloc_settings settings;
  uint16_t torch;
  const struct wo_device *device;
  struct plain_block *blocks;
  struct plain_pool pools[PLAIN_POOLS];
  struct {
    int pool;
    uint64_t stream;
    bool is_graph;
  } captures[PLAIN_CAPTURES];
  int capture_count;
  uint64_t clock, last_age, last_serial;
  bool has_fraction;
  uint64_t allowed;
  struct wo_allocator_stats stats;
  struct wo_allocator_event events[PLAIN_EVENTS];
  int event_count;
};

/* ---- Small things ---- */

static void plain_add(struct wo_stat *stat, int64_t change) {
  stat->current += change;
  if (change > 0) stat->allocated += change;
  if (change < 0) stat->freed -= change;
  if (stat->current > stat->peak) stat->peak = stat->current;
}

static void plain_count(struct wo_stat *stats, const struct plain_block *block, int64_t change) {
  plain_add(&stats[0], change);
  plain_add(&stats[block->is_small ? 1 : 2], change);
}

static void plain_tell(struct plain *p, enum wo_action action, uint64_t address, uint64_t size, uint64_t stream, int pool) {
  if (p->event_count == PLAIN_EVENTS) return;
  p->events[p->event_count++] = (struct wo_allocator_event){action, address, size, stream, p->pools[pool].id};
}

static bool plain_is_free(const struct plain_block *b) {
  return b->is_mapped && !b->is_allocated && !b->is_pending;
}

static bool plain_is_split(const struct plain_block *b) {
  return b->prev != NULL || b->next != NULL;
}

/* By stream, size, address: whether a comes before b. */
static bool plain_is_before(const struct plain_block *a, const struct plain_block *b) {
  if (a->stream != b->stream) return a->stream < b->stream;
  if (a->size != b->size) return a->size < b->size;
  if (a->age != b->age) return a->age < b->age;
  return a->address < b->address;
}

/* The first free block of a pool half that comes after `last` (NULL: the very first). */
static struct plain_block *plain_after(const struct plain *p, int pool, bool is_small, const struct plain_block *last) {
  struct plain_block *best = NULL;
  for (struct plain_block *b = p->blocks; b != NULL; b = b->list_next) {
    if (b->pool != pool || b->is_small != is_small || !plain_is_free(b)) continue;
    if (last != NULL && !plain_is_before(last, b)) continue;
    if (best == NULL || plain_is_before(b, best)) best = b;
  }
  return best;
}

/* The last one of the same stream that comes before `first`. */
static struct plain_block *plain_before(const struct plain *p, int pool, bool is_small, const struct plain_block *first) {
  struct plain_block *best = NULL;
  for (struct plain_block *b = p->blocks; b != NULL; b = b->list_next) {
    if (b->pool != pool || b->is_small != is_small || b->stream != first->stream || !plain_is_free(b)) continue;
    if (plain_is_before(b, first) && (best == NULL || plain_is_before(best, b))) best = b;
  }
  return best;
}

static struct plain_block *plain_new(struct plain *p, struct plain_block like) {
  struct plain_block *const b = malloc(sizeof *b);
  if (b == NULL) abort();
  *b = like;
  b->list_next = p->blocks;
  p->blocks = b;
  return b;
}

static void plain_drop(struct plain *p, struct plain_block *gone) {
  struct plain_block **link = &p->blocks;
  while (*link != gone) link = &(*link)->list_next;
  *link = gone->list_next;
  free(gone);
}

/* Puts a mapped block among the free ones: nothing but its age changes. */
static void plain_set_free(struct plain *p, struct plain_block *b) {
  b->is_allocated = false;
  b->is_pending = false;
  b->calls = p->pools[b->pool].calls[b->is_small];
}

/* 2.12 counts every block that it makes, later versions every segment and range, earlier ones nothing. */
static uint64_t plain_age(struct plain *p, const struct plain_block *of, bool is_segment) {
  if (p->torch < 212 || (p->torch > 212 && !is_segment)) return of == NULL ? 0 : of->age;
  return ++p->last_age;
}

/* Cuts a block; returns the new right part. */
static struct plain_block *plain_cut(struct plain *p, struct plain_block *b, uint64_t left) {
  struct plain_block like = *b;
  like.address += left;
  like.size -= left;
  like.prev = b;
  struct plain_block *const right = plain_new(p, like);
  if (right->next != NULL) right->next->prev = right;
  b->next = right;
  b->size = left;
  return right;
}

/* Swallows the block behind. */
static void plain_swallow(struct plain *p, struct plain_block *b) {
  struct plain_block *const gone = b->next;
  b->size += gone->size;
  b->next = gone->next;
  if (b->next != NULL) b->next->prev = b;
  plain_drop(p, gone);
}

static bool plain_is_alike(const struct plain_block *a, const struct plain_block *b) {
  return a != NULL && b != NULL && !a->is_allocated && !b->is_allocated && !a->is_pending && !b->is_pending &&
         a->is_mapped == b->is_mapped;
}

/* Merges an open block with open neighbours of its kind. Returns what holds it. */
static struct plain_block *plain_merge(struct plain *p, struct plain_block *b) {
  const uint64_t age = b->age;
  if (plain_is_alike(b->prev, b)) {
    b = b->prev;
    plain_swallow(p, b);
  }
  if (plain_is_alike(b, b->next)) plain_swallow(p, b);
  b->age = age;
  return b;
}

/* Whether a capture is under way; since 2.13 for a request (stream >= 0) only its own stream's, and MemPools are none. */
static bool plain_captures(const struct plain *p, int64_t stream) {
  for (int i = 0; i < p->capture_count; i++) {
    const bool is_own = stream < 0 || p->captures[i].stream == (uint64_t)stream;
    if (p->torch < 213 || (p->captures[i].is_graph && is_own)) return true;
  }
  return false;
}

/* ---- Sizes ---- */

static uint64_t plain_round(const struct plain *p, uint64_t size) {
  if (size < 512) return 512;
  int slot = 0;
  while (slot < 15 && size >> (21 + slot) != 0) slot++;
  const uint64_t divisions = p->settings.roundup_divisions[slot];
  uint64_t multiple = 512;
  if (divisions == 1 && size > 512 && p->torch < 204) return size;
  if (divisions > 1 && size > 512 * divisions) {
    uint64_t power = 1;
    while (2 * power <= size) power *= 2;
    if (power == size) return size;
    uint64_t whole = 1;
    while (2 * whole <= divisions) whole *= 2;
    multiple = power / whole;
    if (multiple == 0) return 2 * power;
  }
  return (size + multiple - 1) / multiple * multiple;
}

static uint64_t plain_segment(const struct plain *p, uint64_t size) {
  if (size <= PLAIN_MIB) return 2 * PLAIN_MIB;
  if (size < 10 * PLAIN_MIB) return p->settings.large_segment_bytes;
  return (size + 2 * PLAIN_MIB - 1) / (2 * PLAIN_MIB) * (2 * PLAIN_MIB);
}

static void plain_set(struct plain *p, const struct wo_alloc_settings *settings) {
  uint64_t free_bytes = 0;
  uint64_t total = 0;
  p->settings = *settings;
  p->device->memory_info(p->device->state, &free_bytes, &total);
  p->has_fraction = settings->memory_fraction > 0 && (p->torch < 210 || settings->memory_fraction < 1);
  p->allowed = p->has_fraction ? (uint64_t)(settings->memory_fraction * (double)total) : 0;
}

static bool plain_collects(const struct plain *p) {
  return p->has_fraction && p->settings.garbage_collection_threshold > 0;
}

/* ---- Frees ---- */

static void plain_complete(struct plain *p, struct plain_block *b) {
  const struct plain_block was = *b;
  plain_tell(p, WO_ACTION_FREE_COMPLETED, b->address, b->requested, b->stream, b->pool);
  int64_t blocks = 0;
  int64_t bytes = 0;
  if (b->prev != NULL && plain_is_free(b->prev)) {
    blocks--;
    bytes -= (int64_t)b->prev->size;
  }
  if (b->next != NULL && plain_is_free(b->next)) {
    blocks--;
    bytes -= (int64_t)b->next->size;
  }
  b->uses = 0;
  b->capture_uses = 0;
  b->waits = false;
  b->requested = 0;
  plain_set_free(p, b);
  b = plain_merge(p, b);
  plain_set_free(p, b);
  if (plain_is_split(b)) {
    blocks++;
    bytes += (int64_t)b->size;
  }
  if (b->range == NULL) {
    plain_count(p->stats.inactive_split, b, blocks);
    plain_count(p->stats.inactive_split_bytes, b, bytes);
  }
  plain_count(p->stats.active, &was, -1);
  plain_count(p->stats.active_bytes, &was, -(int64_t)was.size);
  plain_count(p->stats.requested_bytes, &was, -(int64_t)was.requested);
}

static void plain_free_block(struct plain *p, struct plain_block *b, bool is_deferred) {
  b->is_allocated = false;
  b->is_pending = true;
  b->freed_at = ++p->clock;
  plain_count(p->stats.allocation, b, -1);
  plain_count(p->stats.allocated_bytes, b, -(int64_t)b->size);
  plain_tell(p, WO_ACTION_FREE_REQUESTED, b->address, b->requested, b->stream, b->pool);
  if (b->size >= p->settings.max_split_bytes) plain_add(&p->stats.oversize_allocations, -1);
  b->waits = b->uses != 0 && plain_captures(p, -1);
  if (b->uses == 0 && !is_deferred) plain_complete(p, b);
}

/* The pending block that was freed first after a time. */
static struct plain_block *plain_pending(const struct plain *p, uint64_t after) {
  struct plain_block *best = NULL;
  for (struct plain_block *b = p->blocks; b != NULL; b = b->list_next) {
    if (b->is_pending && b->freed_at > after && (best == NULL || b->freed_at < best->freed_at)) best = b;
  }
  return best;
}

static void plain_settle(struct plain *p) {
  uint64_t after = 0;
  for (struct plain_block *b = plain_pending(p, after); b != NULL; b = plain_pending(p, after)) {
    after = b->freed_at;
    if (!b->waits) continue;
    b->waits = false;
    if (p->torch >= 204) b->uses &= ~b->capture_uses;
    if (b->uses == 0) plain_complete(p, b);
  }
}

static void plain_record(struct plain *p, struct plain_block *b, uint64_t stream) {
  if (stream == b->stream) return;
  b->uses |= 1U << stream;
  if (plain_captures(p, -1)) b->capture_uses |= 1U << stream;
}

/* ---- Giving memory back ---- */

static enum wo_status plain_release(struct plain *p, struct plain_block *b) {
  if (b->range != NULL || plain_is_split(b)) return WO_E_USAGE;
  p->stats.num_device_free++;
  plain_tell(p, WO_ACTION_SEGMENT_FREE, b->address, b->size, b->stream, b->pool);
  if (p->device->segment_free(p->device->state, b->address, b->size) != WO_OK) abort();
  p->pools[b->pool].segments--;
  plain_count(p->stats.segment, b, -1);
  plain_count(p->stats.reserved_bytes, b, -(int64_t)b->size);
  if (b->size >= p->settings.max_split_bytes) plain_add(&p->stats.oversize_segments, -1);
  plain_drop(p, b);
  return WO_OK;
}

static enum wo_status plain_unmap(struct plain *p, struct plain_block *b) {
  const struct plain_range range = *b->range;
  const uint64_t start = range.address + (b->address - range.address + range.handle - 1) / range.handle * range.handle;
  const uint64_t end = range.address + (b->address + b->size - range.address) / range.handle * range.handle;
  if (start >= end) return WO_OK;
  const struct plain_block was = *b;
  if (p->device->unmap(p->device->state, start, end - start, range.handle) != WO_OK) abort();
  if (start > b->address) {
    struct plain_block *const front = b;
    b = plain_cut(p, b, start - b->address);
    front->age = plain_age(p, front, false);
    plain_set_free(p, front);
  }
  if (end < b->address + b->size) {
    struct plain_block *const back = plain_cut(p, b, end - b->address);
    back->age = plain_age(p, back, false);
    plain_set_free(p, back);
  }
  b->is_mapped = false;
  b = plain_merge(p, b);
  plain_count(p->stats.reserved_bytes, &was, -(int64_t)(end - start));
  if (was.pool != 0 && p->pools[was.pool].segments == 0) return WO_E_USAGE;
  p->pools[was.pool].segments--;
  p->stats.num_device_free++;
  plain_tell(p, WO_ACTION_SEGMENT_UNMAP, start, end - start, was.stream, was.pool);
  if (plain_is_split(b)) return WO_OK;
  if (p->device->range_free(p->device->state, range.address, range.size) != WO_OK) abort();
  free(b->range);
  plain_drop(p, b);
  return WO_OK;
}

/* All whole segments of a pool half, then all of its ranges, each in order. */
static enum wo_status plain_release_half(struct plain *p, int pool, bool is_small) {
  for (int ranges = 0; ranges < 2; ranges++) {
    struct plain_block last;
    for (struct plain_block *b = plain_after(p, pool, is_small, NULL); b != NULL; b = plain_after(p, pool, is_small, &last)) {
      last = *b;
      enum wo_status status = WO_OK;
      if (ranges == 0 && b->range == NULL && !plain_is_split(b)) status = plain_release(p, b);
      if (ranges == 1 && b->range != NULL) status = plain_unmap(p, b);
      if (status != WO_OK) return status;
    }
  }
  return WO_OK;
}

static enum wo_status plain_empty(struct plain *p, bool in_capture) {
  enum wo_status status = WO_OK;
  if (!in_capture || p->torch < 208) p->stats.num_sync_all_streams++;
  if (in_capture && p->torch < 208) return WO_E_USAGE;
  if (!in_capture) {
    plain_settle(p);
    while (plain_pending(p, 0) != NULL) plain_complete(p, plain_pending(p, 0));
    status = plain_release_half(p, 0, false);
    if (status == WO_OK) status = plain_release_half(p, 0, true);
  }
  for (int i = 1; i < PLAIN_POOLS && status == WO_OK; i++) {
    if (!p->pools[i].exists || p->pools[i].users != 0) continue;
    status = plain_release_half(p, i, true);
    if (status == WO_OK) status = plain_release_half(p, i, false);
    if (status != WO_OK || p->pools[i].segments != 0) continue;
    p->pools[i].exists = false;
    for (struct plain_block *b = p->blocks; b != NULL; b = b->list_next) {
      if (b->pool == i) status = WO_E_USAGE;
    }
  }
  return status;
}

static enum wo_status plain_collect(struct plain *p) {
  const uint64_t limit = (uint64_t)(p->settings.garbage_collection_threshold * (double)p->allowed);
  const uint64_t reserved = (uint64_t)p->stats.reserved_bytes[0].current;
  uint64_t freed = 0;
  if (reserved <= limit) return WO_OK;
  for (bool goes_on = true; goes_on && freed < reserved - limit;) {
    uint64_t ages = 0;
    uint64_t count = 0;
    for (struct plain_block *b = p->blocks; b != NULL; b = b->list_next) {
      if (b->pool != 0 || b->is_small || !plain_is_free(b) || plain_is_split(b)) continue;
      ages += p->pools[0].calls[0] - b->calls;
      count++;
    }
    if (count == 0) break;
    const double mean = (double)ages / (double)count;
    goes_on = false;
    struct plain_block last;
    for (struct plain_block *b = plain_after(p, 0, false, NULL); b != NULL; b = plain_after(p, 0, false, &last)) {
      last = *b;
      if (plain_is_split(b) || (double)(p->pools[0].calls[0] - b->calls) < mean) continue;
      if (b->range != NULL && p->torch >= 205) continue;
      goes_on = true;
      freed += b->size;
      const enum wo_status status = plain_release(p, b);
      if (status != WO_OK) return status;
    }
  }
  return WO_OK;
}

/* Releases blocks of at least max_split; whether enough for a request of `size`. */
static enum wo_status plain_release_large(struct plain *p, const struct plain_block *want, bool *ret_enough) {
  const uint64_t max_split = p->settings.max_split_bytes;
  *ret_enough = false;
  if (max_split == WO_SPLIT_UNLIMITED) return WO_OK;
  struct plain_block key = *want;
  key.address = 0;
  key.age = 0;
  if (key.size < max_split) key.size = max_split;
  struct plain_block *b = plain_after(p, key.pool, key.is_small, &key);
  if (b != NULL && b->stream == key.stream && (b->range == NULL || p->torch < 205)) {
    *ret_enough = true;
    return plain_release(p, b);
  }
  uint64_t freed = 0;
  struct plain_block last = key;
  for (b = plain_before(p, key.pool, key.is_small, &last); b != NULL && b->size >= max_split && freed < key.size;
       b = plain_before(p, key.pool, key.is_small, &last)) {
    last = *b;
    if (b->range != NULL && p->torch >= 205) continue;
    freed += b->size;
    const enum wo_status status = plain_release(p, b);
    if (status != WO_OK) return status;
  }
  *ret_enough = freed >= key.size;
  return WO_OK;
}

/* ---- Getting memory ---- */

static enum wo_status plain_map(struct plain *p, struct plain_block **block, uint64_t size) {
  struct plain_block *b = *block;
  const uint64_t handle = b->range->handle;
  const uint64_t mapped = (size + handle - 1) / handle * handle;
  const uint64_t address = b->address;
  const enum wo_status status = p->device->map(p->device->state, address, mapped, handle);
  if (status != WO_OK) return status;
  if (mapped < b->size) {
    struct plain_block *const back = plain_cut(p, b, mapped);
    back->age = plain_age(p, back, false);
  }
  b->is_mapped = true;
  plain_count(p->stats.reserved_bytes, b, (int64_t)mapped);
  p->stats.num_device_alloc++;
  plain_tell(p, WO_ACTION_SEGMENT_MAP, address, mapped, b->stream, b->pool);
  b = plain_merge(p, b);
  plain_set_free(p, b);
  *block = b;
  return WO_OK;
}

static bool plain_has_room(const struct plain_block *b, uint64_t size) {
  uint64_t room = 0;
  for (; b != NULL && !b->is_allocated && !b->is_pending && room < size; b = b->next) room += b->size;
  return room >= size;
}

static enum wo_status plain_expand(struct plain *p, const struct plain_block *want, struct plain_block **ret_block) {
  struct plain_block *place = NULL;
  uint64_t lowest = UINT64_MAX;
  for (struct plain_block *b = p->blocks; b != NULL; b = b->list_next) {
    if (b->is_mapped || b->pool != want->pool || b->is_small != want->is_small || b->stream != want->stream) continue;
    struct plain_block *const start = b->prev != NULL && plain_is_free(b->prev) ? b->prev : b;
    if (!plain_has_room(start, want->size) || b->address > lowest) continue;
    lowest = b->address;
    place = start;
  }
  if (place == NULL) {
    uint64_t free_bytes = 0;
    uint64_t total = 0;
    struct plain_range *const range = malloc(sizeof *range);
    if (range == NULL) abort();
    p->device->memory_info(p->device->state, &free_bytes, &total);
    range->handle = want->is_small ? 2 * PLAIN_MIB : p->settings.large_segment_bytes;
    range->size = (total + total / 8 + range->handle - 1) / range->handle * range->handle;
    if (p->device->range_reserve(p->device->state, range->size, &range->address) != WO_OK) abort();
    if (range->size < want->size && p->torch >= 215) {
      if (p->device->range_free(p->device->state, range->address, range->size) != WO_OK) abort();
      free(range);
      return WO_E_LIMIT;
    }
    struct plain_block like = *want;
    like.address = range->address;
    like.size = range->size;
    like.range = range;
    like.is_mapped = false;
    like.age = plain_age(p, NULL, true);
    place = plain_new(p, like);
  }
  if (!place->is_mapped) {
    const enum wo_status status = plain_map(p, &place, place->size < want->size ? place->size : want->size);
    if (status != WO_OK) return status;
  }
  while (place->size < want->size) {
    struct plain_block *next = place->next;
    if (next == NULL) return WO_E_LIMIT;
    const uint64_t missing = want->size - place->size;
    const enum wo_status status = plain_map(p, &next, missing < next->size ? missing : next->size);
    if (status != WO_OK) return status;
    place = next;
  }
  *ret_block = place;
  return WO_OK;
}

static enum wo_status plain_try(struct plain *p, const struct plain_block *want, struct plain_block **ret_block) {
  const uint64_t segment = plain_segment(p, want->size);
  if (p->has_fraction && (uint64_t)p->stats.reserved_bytes[0].current + segment > p->allowed) return WO_E_LIMIT;
  if (p->settings.expandable_segments && (want->pool == 0 || p->torch >= 205)) {
    const enum wo_status status = plain_expand(p, want, ret_block);
    if (status == WO_OK) p->pools[want->pool].segments++;
    return status;
  }
  struct plain_block like = *want;
  like.size = segment;
  const enum wo_status status = p->device->segment_alloc(p->device->state, segment, &like.address);
  if (status != WO_OK) return status;
  like.age = plain_age(p, NULL, true);
  *ret_block = plain_new(p, like);
  p->pools[want->pool].segments++;
  plain_count(p->stats.segment, &like, 1);
  plain_count(p->stats.reserved_bytes, &like, (int64_t)segment);
  if (segment >= p->settings.max_split_bytes) plain_add(&p->stats.oversize_segments, 1);
  p->stats.num_device_alloc++;
  plain_tell(p, WO_ACTION_SEGMENT_ALLOC, like.address, segment, like.stream, like.pool);
  return WO_OK;
}

static uint64_t plain_reach(const struct plain_block *b) {
  return b->size + (b->next != NULL && !b->next->is_mapped ? b->next->size : 0);
}

/* The best fit, or NULL. */
static struct plain_block *plain_find(struct plain *p, const struct plain_block *want) {
  struct plain_block key = *want;
  key.address = 0;
  if (plain_collects(p)) p->pools[want->pool].calls[want->is_small]++;
  struct plain_block *b = plain_after(p, want->pool, want->is_small, &key);
  if (b == NULL || b->stream != want->stream) return NULL;
  if (b->range != NULL && p->settings.expandable_segments) {
    for (;;) {
      struct plain_block *const next = plain_after(p, want->pool, want->is_small, b);
      if (b->range == NULL || next == NULL || next->stream != want->stream || plain_reach(next) >= plain_reach(b)) break;
      b = next;
    }
  }
  while (b != NULL && b->stream == want->stream && b->range != NULL && !p->settings.expandable_segments) {
    b = plain_after(p, want->pool, want->is_small, b);
  }
  if (b == NULL || b->stream != want->stream) return NULL;
  const uint64_t max_split = p->settings.max_split_bytes;
  if (want->size < max_split && b->size >= max_split) return NULL;
  if (want->size >= max_split && b->size >= want->size + p->settings.max_non_split_rounding_bytes) return NULL;
  return b;
}

static enum wo_status plain_obtain(struct plain *p, const struct plain_block *want, struct plain_block **ret_block) {
  bool is_enough = false;
  uint64_t free_bytes = 0;
  uint64_t total = 0;
  enum wo_status status = plain_collects(p) ? plain_collect(p) : WO_OK;
  p->device->memory_info(p->device->state, &free_bytes, &total);
  const uint64_t needed = (uint64_t)p->stats.reserved_bytes[0].current + plain_segment(p, want->size);
  const double fraction = p->settings.string_fraction > 0 ? p->settings.string_fraction : 1;
  const bool is_allowed = !p->has_fraction || needed <= p->allowed;
  if (status == WO_OK && p->torch >= 212 && p->settings.throw_on_cudamalloc_oom && is_allowed &&
      needed > (uint64_t)(fraction * (double)total)) {
    p->stats.num_oom_rejections++;
    return WO_E_SYNTAX; /* stands for a refusal without an event */
  }
  if (status == WO_OK) status = plain_try(p, want, ret_block);
  if (status != WO_E_LIMIT) return status;
  status = plain_release_large(p, want, &is_enough);
  if (status != WO_OK) return status;
  status = is_enough ? plain_try(p, want, ret_block) : WO_E_LIMIT;
  if (status != WO_E_LIMIT || plain_captures(p, (int64_t)want->stream)) return status;
  status = plain_empty(p, false);
  if (status != WO_OK) return status;
  p->stats.num_alloc_retries++;
  return plain_try(p, want, ret_block);
}

static void plain_hand_out(struct plain *p, struct plain_block *b, uint64_t rounded, uint64_t requested) {
  const uint64_t rest = b->size - rounded;
  const bool was_split = plain_is_split(b);
  bool splits = rest > PLAIN_MIB && rounded < p->settings.max_split_bytes;
  if (b->is_small || p->settings.expandable_segments) splits = rest >= 512;
  if (splits) {
    struct plain_block *const tail = plain_cut(p, b, rounded);
    plain_set_free(p, tail);
    b->age = plain_age(p, b, false);
    if (b->range == NULL && was_split) plain_count(p->stats.inactive_split_bytes, b, -(int64_t)rounded);
    if (b->range == NULL && !was_split) plain_count(p->stats.inactive_split_bytes, b, (int64_t)rest);
    if (b->range == NULL && !was_split) plain_count(p->stats.inactive_split, b, 1);
  } else if (was_split && b->range == NULL) {
    plain_count(p->stats.inactive_split_bytes, b, -(int64_t)b->size);
    plain_count(p->stats.inactive_split, b, -1);
  }
  b->is_allocated = true;
  b->requested = requested;
  b->serial = ++p->last_serial;
  b->uses = 0;
  b->capture_uses = 0;
  plain_tell(p, WO_ACTION_ALLOC, b->address, requested, b->stream, b->pool);
  plain_count(p->stats.allocation, b, 1);
  plain_count(p->stats.allocated_bytes, b, (int64_t)b->size);
  plain_count(p->stats.active, b, 1);
  plain_count(p->stats.active_bytes, b, (int64_t)b->size);
  plain_count(p->stats.requested_bytes, b, (int64_t)requested);
  if (b->size >= p->settings.max_split_bytes) plain_add(&p->stats.oversize_allocations, 1);
}

static enum wo_status plain_malloc(struct plain *p, uint64_t size, uint64_t stream, struct plain_block **ret_block) {
  if (!plain_captures(p, (int64_t)stream)) plain_settle(p);
  struct plain_block want = {.size = plain_round(p, size), .stream = stream, .is_mapped = true};
  want.is_small = want.size <= PLAIN_MIB;
  for (int i = 0; i < p->capture_count; i++) {
    const int at = p->torch >= 210 ? p->capture_count - 1 - i : i;
    if (want.pool == 0 && p->captures[at].stream == stream) want.pool = p->captures[at].pool;
  }
  struct plain_block *block = plain_find(p, &want);
  if (block == NULL) {
    const enum wo_status status = plain_obtain(p, &want, &block);
    if (status == WO_E_LIMIT) {
      uint64_t free_bytes = 0;
      uint64_t total = 0;
      p->device->memory_info(p->device->state, &free_bytes, &total);
      plain_tell(p, WO_ACTION_OOM, free_bytes, want.size, stream, want.pool);
      p->stats.num_ooms++;
    }
    if (status != WO_OK) return status == WO_E_SYNTAX ? WO_E_LIMIT : status;
  }
  plain_hand_out(p, block, want.size, size);
  *ret_block = block;
  return WO_OK;
}

/* ---- Private pools ---- */

static int plain_pool(const struct plain *p, struct wo_pool_id id) {
  for (int i = 0; i < PLAIN_POOLS; i++) {
    if (p->pools[i].exists && p->pools[i].id.first == id.first && p->pools[i].id.second == id.second) return i;
  }
  return -1;
}

static enum wo_status plain_pool_begin(struct plain *p, struct wo_pool_id id, uint64_t stream, bool is_graph) {
  int pool = plain_pool(p, id);
  if (pool == 0 || (pool > 0 && p->pools[pool].users == 0)) return WO_E_USAGE;
  for (int i = 0; i < p->capture_count; i++) {
    if (p->captures[i].pool == pool) return WO_E_USAGE;
  }
  if (pool < 0) {
    /* A pool that is gone may still have blocks; its place is not used again. */
    for (pool = 1; pool < PLAIN_POOLS && (p->pools[pool].exists || p->pools[pool].id.second != 0); pool++) continue;
    if (pool == PLAIN_POOLS) return WO_E_LIMIT;
    p->pools[pool] = (struct plain_pool){.id = id, .exists = true};
  }
  p->pools[pool].users++;
  p->captures[p->capture_count].pool = pool;
  p->captures[p->capture_count].is_graph = is_graph;
  p->captures[p->capture_count++].stream = stream;
  return WO_OK;
}

static enum wo_status plain_pool_end(struct plain *p, struct wo_pool_id id) {
  const int pool = plain_pool(p, id);
  for (int i = 0; i < p->capture_count; i++) {
    if (pool < 0 || p->captures[i].pool != pool) continue;
    p->capture_count--;
    for (; i < p->capture_count; i++) p->captures[i] = p->captures[i + 1];
    return WO_OK;
  }
  return WO_E_USAGE;
}

static enum wo_status plain_pool_release(struct plain *p, struct wo_pool_id id) {
  const int pool = plain_pool(p, id);
  if (pool <= 0 || p->pools[pool].users == 0) return WO_E_USAGE;
  p->pools[pool].users--;
  return WO_OK;
}

/* ---- Life ---- */

static void plain_init(struct plain *p, const struct wo_alloc_settings *settings, uint16_t torch,
                       const struct wo_device *device) {
  memset(p, 0, sizeof *p);
  p->torch = torch;
  p->device = device;
  p->pools[0].exists = true;
  plain_set(p, settings);
}

static void plain_done(struct plain *p) {
  while (p->blocks != NULL) {
    struct plain_block *const b = p->blocks;
    p->blocks = b->list_next;
    if (b->prev == NULL) free(b->range);
    free(b);
  }
}

#endif
