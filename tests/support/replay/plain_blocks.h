/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of the plain allocator (plain_allocator.h), and what happens to them one by one: cuts, merges, frees. */
#ifndef WO_TEST_PLAIN_BLOCKS_H
#define WO_TEST_PLAIN_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/allocator/allocator.h"

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
  const double allowed = settings->memory_fraction * (double)total + (p->torch >= 213 ? 0.5 : 0);
  p->allowed = p->has_fraction ? (uint64_t)allowed : 0;
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

#endif
