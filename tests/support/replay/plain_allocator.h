/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's rules once more, in the plainest way: every block in one list, every search a walk over all of them. Slow, and
 * easy to hold against docs/allocator.md; the fast model must agree with it on any sequence of requests (allocator_steps.h).
 *
 * Nothing is shared with the model but the settings, the device and the types of results. Streams are 0 .. PLAIN_STREAMS - 1.
 * Static functions in headers, because unit tests and fuzz targets, which are linked apart, both use them. */
#ifndef WO_TEST_PLAIN_ALLOCATOR_H
#define WO_TEST_PLAIN_ALLOCATOR_H

#include "tests/support/replay/plain_blocks.h"

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
      if (b->pool == i && b->is_mapped) status = WO_E_USAGE;
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
  const uint64_t needed = (uint64_t)p->stats.reserved_bytes[0].current + segment;
  const double fraction = p->settings.string_fraction > 0 ? p->settings.string_fraction : 1;
  uint64_t free_bytes = 0;
  uint64_t total = 0;
  p->device->memory_info(p->device->state, &free_bytes, &total);
  if (p->has_fraction && needed > p->allowed) return WO_E_LIMIT;
  if (p->torch >= 212 && p->settings.throw_on_cudamalloc_oom && needed > (uint64_t)(fraction * (double)total)) {
    p->stats.num_oom_rejections++;
    return WO_E_SYNTAX; /* stands for a refusal without an event */
  }
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
  enum wo_status status = plain_collects(p) ? plain_collect(p) : WO_OK;
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
