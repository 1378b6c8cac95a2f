/* SPDX-License-Identifier: Apache-2.0 */
/* The hash table behind a pack's names: linear probing, at most half full.
 *
 * Why a table of our own: a pack has several hundred names, each condition looks up some of them, and loading is part of every
 * run. Authors of rules are no attackers, so the hash needs no secret. */
#include "rules/load/pack_internal.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* The hash is kept: it rules out nearly every other name before bytes are compared. */
struct slot {
  struct wo_view name;
  enum wo_sort sort; /* WO_SORT_NONE: empty */
  uint32_t hash;
  size_t value;
};

struct wo_pack_index {
  struct slot *slots;
  size_t mask; /* slots less one; a power of two less one */
  size_t used;
};

static uint64_t mix(uint64_t hash, const char *eight) {
  uint64_t word = 0;
  memcpy(&word, eight, sizeof word);
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

/* Eight bytes at a time, the last of them overlapping: conditions look up a thousand names for each job. The sort takes part, so
 * that a cause and a fix may share an id. */
static uint32_t hash_of(enum wo_sort sort, struct wo_view name) {
  enum { STEP = sizeof(uint64_t) };
  uint64_t hash = (uint64_t)sort << 32 ^ name.len;
  if (name.len < STEP) {
    for (size_t i = 0; i < name.len; i++) hash = (hash ^ (unsigned char)name.ptr[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash ^ hash >> 32);
  }
  for (size_t at = 0; at + STEP < name.len; at += STEP) hash = mix(hash, name.ptr + at);
  return (uint32_t)mix(hash, name.ptr + name.len - STEP);
}

/* Slots come zeroed from the arena, which makes them empty. Doubling while half the size is not more than the entries always
 * leaves at least one free slot: searching relies on it. */
struct wo_pack_index *wo_pack_index_new(struct wo_arena *arena, size_t entries) {
  size_t size = 16;
  while (size / 2 <= entries) size *= 2;
  struct wo_pack_index *const index = wo_arena_alloc(arena, sizeof *index);
  struct slot *const slots = wo_arena_array(arena, size, sizeof *slots);
  if (index == NULL || slots == NULL) return NULL;
  *index = (struct wo_pack_index){.slots = slots, .mask = size - 1};
  return index;
}

/* The slot that holds the name, or the empty one where it belongs. Ends, because the table is never full. */
static struct slot *find_slot(const struct wo_pack_index *index, enum wo_sort sort, struct wo_view name, uint32_t hash) {
  for (size_t at = hash & index->mask;; at = (at + 1) & index->mask) {
    struct slot *const slot = &index->slots[at];
    if (slot->sort == WO_SORT_NONE) return slot;
    if (slot->hash == hash && slot->sort == sort && wo_view_equal(slot->name, name)) return slot;
  }
}

/* A name that is already there is a mistake of the caller, who must have looked first: a replaced rule keeps its place in the
 * pack's arrays, so nothing changes here. */
void wo_pack_index_add(struct wo_pack_index *index, enum wo_sort sort, struct wo_view name, size_t value) {
  assert(sort > WO_SORT_NONE && sort < WO_SORT_COUNT_);
  assert(index->used < index->mask);
  const uint32_t hash = hash_of(sort, name);
  struct slot *const slot = find_slot(index, sort, name, hash);
  assert(slot->sort == WO_SORT_NONE);
  *slot = (struct slot){.name = name, .sort = sort, .hash = hash, .value = value};
  index->used++;
}

size_t wo_pack_index_find(const struct wo_pack_index *index, enum wo_sort sort, struct wo_view name) {
  if (index == NULL) return WO_NOT_FOUND;
  const struct slot *const slot = find_slot(index, sort, name, hash_of(sort, name));
  return slot->sort == WO_SORT_NONE ? WO_NOT_FOUND : slot->value;
}
