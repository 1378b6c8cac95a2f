/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, shelves, captures, and room for blocks. */
#include "cuda_replay/allocator/allocator_internal.h"
#include "parsers/base/vec.h"

/* ---- Pools ---- */

static bool is_same_pool(struct wo_pool_id a, struct wo_pool_id b) {
  return a.first == b.first && a.second == b.second;
}

static struct wo_block_key key_of_pool(struct wo_pool_id id) {
  return (struct wo_block_key){id.first, id.second};
}

/* The pool of an id, or WO__NONE. */
static uint32_t pool_of_id(const struct wo_allocator *a, struct wo_pool_id id) {
  const uint32_t pool = wo_block_order_at_least(&a->pool_ids, key_of_pool(id), NULL);
  return pool != WO_ORDER_NONE && is_same_pool(a->pools.items[pool].id, id) ? pool : WO__NONE;
}

static struct wo__bin empty_bin(void) {
  struct wo__bin bin = {.recent = WO__NONE};
  for (int kind = 0; kind < WO__IDLE_KINDS_; kind++) bin.idle[kind] = (struct wo__idle){.oldest = WO__NONE, .newest = WO__NONE};
  return bin;
}

enum wo_status wo__pool_find(struct wo_allocator *a, struct wo_pool_id id, uint32_t *ret_pool) {
  *ret_pool = pool_of_id(a, id);
  if (*ret_pool != WO__NONE) return WO_OK;
  if (!WO_VEC_RESERVE(&a->pools, 1, WO__NONE)) return WO_E_NOMEM;
  /* Each pool has a place among the suspects. */
  if (!WO_VEC_RESERVE(&a->suspects, a->pools.count + 1 - a->suspects.count, WO__NONE)) return WO_E_NOMEM;
  if (!wo_block_order_reserve(&a->pool_ids, a->pool_ids.count + 1)) return WO_E_NOMEM;
  wo_block_order_insert(&a->pool_ids, key_of_pool(id), (uint32_t)a->pools.count);
  *ret_pool = (uint32_t)a->pools.count;
  a->pools.items[a->pools.count++] = (struct wo__pool){.id = id, .large = empty_bin(), .small = empty_bin()};
  return WO_OK;
}

void wo__pool_forget(struct wo_allocator *a, uint32_t pool) {
  a->pools.items[pool].is_gone = true;
  wo_block_order_erase(&a->pool_ids, key_of_pool(a->pools.items[pool].id));
}

/* A request whose stream no capture accepts goes to the default pool. */
uint32_t wo__pool_of_stream(const struct wo_allocator *a, uint64_t stream) {
  const bool newest_first = wo_torch_has(a->torch, WO_TORCH_NEWEST_CAPTURE_FIRST);
  for (size_t i = 0; i < a->captures.count; i++) {
    const struct wo__capture *const capture = &a->captures.items[newest_first ? a->captures.count - 1 - i : i];
    if (capture->stream == stream) return capture->pool;
  }
  return 0;
}

bool wo__is_captured(const struct wo_allocator *a, uint64_t stream) {
  if (a->captures.count == 0 || !wo_torch_has(a->torch, WO_TORCH_CAPTURE_OF_STREAM)) return a->captures.count > 0;
  for (size_t i = 0; i < a->captures.count; i++) {
    if (a->captures.items[i].is_graph && a->captures.items[i].stream == stream) return true;
  }
  return false;
}

bool wo__has_capture(const struct wo_allocator *a) {
  if (a->captures.count == 0 || !wo_torch_has(a->torch, WO_TORCH_CAPTURE_OF_STREAM)) return a->captures.count > 0;
  for (size_t i = 0; i < a->captures.count; i++) {
    if (a->captures.items[i].is_graph) return true;
  }
  return false;
}

/* The capture into a pool, or WO__NONE. */
static uint32_t capture_of(const struct wo_allocator *a, uint32_t pool) {
  for (uint32_t i = 0; i < a->captures.count; i++) {
    if (a->captures.items[i].pool == pool) return i;
  }
  return WO__NONE;
}

enum wo_status wo_allocator_pool_begin(struct wo_allocator *a, struct wo_pool_id id, uint64_t stream, bool is_capture) {
  if (is_same_pool(id, (struct wo_pool_id){0, 0})) return wo__refuse(a, "the default pool takes no captures");
  uint32_t pool = pool_of_id(a, id);
  if (pool != WO__NONE && a->pools.items[pool].use_count == 0) return wo__refuse(a, "a capture into a pool that was released");
  if (pool != WO__NONE && capture_of(a, pool) != WO__NONE) return wo__refuse(a, "a second capture into the same pool at a time");
  if (!WO_VEC_RESERVE(&a->captures, 1, WO__NONE)) return WO_E_NOMEM;
  if (wo__pool_find(a, id, &pool) != WO_OK) return WO_E_NOMEM;
  a->pools.items[pool].use_count++;
  a->captures.items[a->captures.count++] = (struct wo__capture){pool, stream, is_capture};
  return WO_OK;
}

enum wo_status wo_allocator_pool_end(struct wo_allocator *a, struct wo_pool_id id) {
  const uint32_t pool = pool_of_id(a, id);
  const uint32_t capture = pool == WO__NONE ? WO__NONE : capture_of(a, pool);
  if (capture == WO__NONE) return wo__refuse(a, "the end of a capture that did not begin");
  struct wo__capture *const at = &a->captures.items[capture];
  a->captures.count--;
  memmove(at, at + 1, (a->captures.count - capture) * sizeof *at);
  return WO_OK;
}

enum wo_status wo_allocator_pool_release(struct wo_allocator *a, struct wo_pool_id id) {
  const uint32_t pool = pool_of_id(a, id);
  if (pool == WO__NONE || pool == 0 || a->pools.items[pool].use_count == 0) {
    return wo__refuse(a, "the release of a pool that nobody uses");
  }
  if (--a->pools.items[pool].use_count == 0) wo__suspect(a, pool);
  return WO_OK;
}

void wo_allocator_pool_is_next(struct wo_allocator *a, struct wo_pool_id id) {
  const uint32_t pool = pool_of_id(a, id);
  if (pool != WO__NONE && pool != 0) a->pools.items[pool].place = ++a->last_place;
}

enum wo_status wo_allocator_pool_empty(struct wo_allocator *a, struct wo_pool_id id) {
  const uint32_t pool = pool_of_id(a, id);
  if (pool == WO__NONE || pool == 0 || a->pools.items[pool].use_count > 0) return WO_OK;
  return wo__release_private(a, pool);
}

/* ---- Shelves ---- */

/* Index of the first shelf of a bin whose stream is at least `stream`. */
static size_t shelf_place(const struct wo_allocator *a, const struct wo__bin *bin, uint64_t stream) {
  size_t start = 0;
  for (size_t end = bin->shelves.count; start < end;) {
    const size_t middle = start + (end - start) / 2;
    if (wo__shelf(a, bin->shelves.items[middle])->stream < stream) {
      start = middle + 1;
    } else {
      end = middle;
    }
  }
  return start;
}

static enum wo_status shelf_add(struct wo_allocator *a, struct wo__bin *bin, size_t at, const struct wo__shelf *shelf) {
  if (!WO_VEC_RESERVE(&a->shelves, 1, WO__NONE) || !WO_VEC_RESERVE(&bin->shelves, 1, WO__NONE)) return WO_E_NOMEM;
  uint32_t *const place = &bin->shelves.items[at];
  memmove(place + 1, place, (bin->shelves.count - at) * sizeof *place);
  *place = (uint32_t)a->shelves.count;
  bin->shelves.count++;
  a->shelves.items[a->shelves.count++] = *shelf;
  return WO_OK;
}

/* Most requests come from the same stream as the request before, so the last shelf is tried first. */
enum wo_status wo__shelf_find(struct wo_allocator *a, uint32_t pool, bool is_small, uint64_t stream, uint32_t *ret_shelf) {
  struct wo__bin *const bin = is_small ? &a->pools.items[pool].small : &a->pools.items[pool].large;
  if (bin->recent == WO__NONE || wo__shelf(a, bin->recent)->stream != stream) {
    const size_t at = shelf_place(a, bin, stream);
    if (at == bin->shelves.count || wo__shelf(a, bin->shelves.items[at])->stream != stream) {
      const struct wo__shelf shelf = {.stream = stream, .pool = pool, .is_small = is_small};
      if (shelf_add(a, bin, at, &shelf) != WO_OK) return WO_E_NOMEM;
    }
    bin->recent = bin->shelves.items[at];
  }
  *ret_shelf = bin->recent;
  return WO_OK;
}

/* ---- Room for blocks ---- */

/* Makes `more` block numbers that are not in use. */
static bool reserve_numbers(struct wo_allocator *a, size_t more) {
  if (a->unused_count >= more) return true;
  if (!WO_VEC_RESERVE(&a->blocks, more, WO__NONE)) return false;
  while (a->unused_count < more) {
    const uint32_t id = (uint32_t)a->blocks.count++;
    a->blocks.items[id] = (struct wo__block){.next = a->unused_block, .state = WO__UNUSED};
    a->unused_block = id;
    a->unused_count++;
  }
  return true;
}

/* The orders of a shelf have room for all of its blocks in any state, so that a block that becomes free always has a place. */
enum wo_status wo__reserve_blocks(struct wo_allocator *a, uint32_t shelf, size_t more) {
  struct wo__shelf *const s = wo__shelf(a, shelf);
  if (!reserve_numbers(a, more)) return WO_E_NOMEM;
  if (!wo_block_order_reserve(&s->free, s->block_count + more)) return WO_E_NOMEM;
  if (s->unmapped.room == 0) return WO_OK;
  if (!wo_block_order_reserve(&s->unmapped, s->block_count + more)) return WO_E_NOMEM;
  return wo_room_tree_reserve(&s->runs, s->unmapped.count + more) ? WO_OK : WO_E_NOMEM;
}

uint32_t wo__block_new(struct wo_allocator *a, uint32_t shelf, uint64_t address, uint64_t size_bytes, enum wo__state state) {
  assert(a->unused_count > 0);
  const uint32_t id = a->unused_block;
  struct wo__block *const block = wo__block(a, id);
  assert(block->state == WO__UNUSED);
  a->unused_block = block->next;
  a->unused_count--;
  *block = (struct wo__block){
      .address = address,
      .size_bytes = size_bytes,
      .prev = WO__NONE,
      .next = WO__NONE,
      .shelf = shelf,
      .range = WO__NONE,
      .uses = WO__NONE,
      .older = WO__NONE,
      .newer = WO__NONE,
      .state = (uint8_t)state,
  };
  struct wo__shelf *const s = wo__shelf(a, shelf);
  s->block_count++;
  assert(s->block_count <= s->free.room && (s->unmapped.room == 0 || s->block_count <= s->unmapped.room));
  return id;
}

void wo__block_drop(struct wo_allocator *a, uint32_t id) {
  struct wo__block *const block = wo__block(a, id);
  assert(block->state != WO__UNUSED && block->uses == WO__NONE);
  wo__shelf(a, block->shelf)->block_count--;
  block->state = WO__UNUSED;
  block->next = a->unused_block;
  a->unused_block = id;
  a->unused_count++;
}

/* ---- Pending blocks and uses ---- */

void wo__pending_add(struct wo_allocator *a, uint32_t id) {
  struct wo__block *const block = wo__block(a, id);
  block->state = WO__PENDING;
  block->older = a->newest_pending;
  block->newer = WO__NONE;
  if (a->newest_pending != WO__NONE) wo__block(a, a->newest_pending)->newer = id;
  a->newest_pending = id;
  if (a->oldest_pending == WO__NONE) a->oldest_pending = id;
}

void wo__pending_remove(struct wo_allocator *a, uint32_t id) {
  struct wo__block *const block = wo__block(a, id);
  assert(block->state == WO__PENDING);
  if (block->older == WO__NONE) {
    a->oldest_pending = block->newer;
  } else {
    wo__block(a, block->older)->newer = block->newer;
  }
  if (block->newer == WO__NONE) {
    a->newest_pending = block->older;
  } else {
    wo__block(a, block->newer)->older = block->older;
  }
  if (a->waiting_from == id) a->waiting_from = block->newer;
  if (block->waits_for_capture) a->waiting_count--;
  block->waits_for_capture = false;
}

void wo__uses_drop(struct wo_allocator *a, struct wo__block *block, bool only_in_capture) {
  for (uint32_t *link = &block->uses; *link != WO__NONE;) {
    const uint32_t id = *link;
    struct wo__use *const use = &a->uses.items[id];
    if (only_in_capture && !use->in_capture) {
      link = &use->next;
      continue;
    }
    *link = use->next;
    use->next = a->unused_use;
    a->unused_use = id;
  }
}

/* Each pending block is visited once: those that are newer than the first waiting one were freed after the last settling. */
void wo__settle_waiting(struct wo_allocator *a) {
  for (uint32_t id = a->waiting_from; id != WO__NONE && a->waiting_count > 0; a->steps++) {
    struct wo__block *const block = wo__block(a, id);
    const uint32_t newer = block->newer;
    if (block->waits_for_capture) {
      block->waits_for_capture = false;
      a->waiting_count--;
      if (wo_torch_has(a->torch, WO_TORCH_CAPTURE_USES_END)) wo__uses_drop(a, block, true);
      if (block->uses == WO__NONE) wo_allocator_complete(a, id);
    }
    id = newer;
  }
}

/* The block's own stream does not count as a use: its work runs in order, before anything after the free. */
enum wo_status wo_allocator_record_stream(struct wo_allocator *a, wo_block_id id, uint64_t stream) {
  struct wo__block *const block = wo__block(a, id);
  assert(block->state == WO__ALLOCATED);
  if (stream == wo__shelf(a, block->shelf)->stream) return WO_OK;
  const bool in_capture = wo__has_capture(a);
  for (uint32_t use = block->uses; use != WO__NONE; use = a->uses.items[use].next) {
    if (a->uses.items[use].stream != stream) continue;
    a->uses.items[use].in_capture |= in_capture;
    return WO_OK;
  }
  uint32_t use = a->unused_use;
  if (use != WO__NONE) {
    a->unused_use = a->uses.items[use].next;
  } else {
    if (!WO_VEC_RESERVE(&a->uses, 1, WO__NONE)) return WO_E_NOMEM;
    use = (uint32_t)a->uses.count++;
  }
  a->uses.items[use] = (struct wo__use){stream, block->uses, in_capture};
  block->uses = use;
  return WO_OK;
}
