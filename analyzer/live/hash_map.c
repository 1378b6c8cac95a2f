/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, never more than half full. See hash_map.h. */
#include "analyzer/live/hash_map.h"

#include <stdlib.h>

struct wo_hash_map_slot {
  uint64_t hash;
  uint32_t number; /* WO_HASH_MAP_NONE: the slot is free */
};

enum { FIRST_CAPACITY = 64 };

/* Where a hash belongs. Hashes of short texts differ most in their low bits; numbers of watches follow each other. */
static size_t home_of(const struct wo_hash_map *map, uint64_t hash) {
  hash ^= hash >> 32;
  hash *= UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(hash >> 20) & (map->capacity - 1);
}

/* The slot of the hash, or the free one where it would be. */
static size_t find(const struct wo_hash_map *map, uint64_t hash) {
  size_t at = home_of(map, hash);
  while (map->slots[at].number != WO_HASH_MAP_NONE && map->slots[at].hash != hash) at = (at + 1) & (map->capacity - 1);
  return at;
}

static bool grow(struct wo_hash_map *map) {
  struct wo_hash_map larger = {.capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2, .count = map->count};
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (!larger.slots) return false;
  for (size_t i = 0; i < larger.capacity; i++) larger.slots[i].number = WO_HASH_MAP_NONE;
  for (size_t i = 0; i < map->capacity; i++) {
    if (map->slots[i].number != WO_HASH_MAP_NONE) larger.slots[find(&larger, map->slots[i].hash)] = map->slots[i];
  }
  free(map->slots);
  *map = larger;
  return true;
}

uint32_t wo_hash_map_get(const struct wo_hash_map *map, uint64_t hash) {
  return map->capacity == 0 ? WO_HASH_MAP_NONE : map->slots[find(map, hash)].number;
}

bool wo_hash_map_set(struct wo_hash_map *map, uint64_t hash, uint32_t number, size_t most) {
  if (wo_hash_map_get(map, hash) == WO_HASH_MAP_NONE) {
    if (map->count >= most || (map->count + 1 > map->capacity / 2 && !grow(map))) return false;
    map->count++;
  }
  map->slots[find(map, hash)] = (struct wo_hash_map_slot){hash, number};
  return true;
}

/* Slots behind the one that becomes free move up, so that no search ends too early. */
void wo_hash_map_remove(struct wo_hash_map *map, uint64_t hash) {
  if (wo_hash_map_get(map, hash) == WO_HASH_MAP_NONE) return;
  size_t hole = find(map, hash);
  for (size_t at = hole;;) {
    at = (at + 1) & (map->capacity - 1);
    if (map->slots[at].number == WO_HASH_MAP_NONE) break;
    const size_t home = home_of(map, map->slots[at].hash);
    const bool is_between = hole <= at ? hole < home && home <= at : hole < home || home <= at;
    if (is_between) continue;
    map->slots[hole] = map->slots[at];
    hole = at;
  }
  map->slots[hole].number = WO_HASH_MAP_NONE;
  map->count--;
}

void wo_hash_map_done(struct wo_hash_map *map) {
  free(map->slots);
  *map = (struct wo_hash_map){0};
}
