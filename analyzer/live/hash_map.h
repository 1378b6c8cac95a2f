/* SPDX-License-Identifier: Apache-2.0 */
/* A map from hashes to small numbers, whose memory is bounded. Two things of one hash are taken for the same: hashes are of 64
 * bits and mixed here, so that this does not happen by chance. */
#ifndef WO_HASH_MAP_H
#define WO_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WO_HASH_MAP_NONE UINT32_MAX

/* {0} is an empty map. */
struct wo_hash_map {
  struct wo_hash_map_slot *slots;
  size_t capacity; /* a power of two, or 0 */
  size_t count;
};

/* The number of a hash, or WO_HASH_MAP_NONE. */
uint32_t wo_hash_map_get(const struct wo_hash_map *map, uint64_t hash);

/* Sets the number of a hash (less than WO_HASH_MAP_NONE). False, and nothing is changed, when the hash is new and the map holds
 * `most` already, or when memory is out. */
bool wo_hash_map_set(struct wo_hash_map *map, uint64_t hash, uint32_t number, size_t most);

/* Removes a hash, if it is there. */
void wo_hash_map_remove(struct wo_hash_map *map, uint64_t hash);

/* Makes the map empty and releases its memory. */
void wo_hash_map_done(struct wo_hash_map *map);

#endif
