/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered map from device addresses to indices, with searches at, below and above an address.
 *
 * It is a directory of short sorted runs, so that adding and removing stay cheap for any number of addresses in any order. One
 * map is used by one thread. */
#ifndef WO_ADDRESS_MAP_H
#define WO_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"
#include "parsers/base/vec.h"

struct wo__address_run;

struct wo__address_place {
  uint64_t first; /* the lowest address of the run */
  struct wo__address_run *run;
};

/* Empty when all is 0. */
struct wo_address_map {
  WO_VEC(struct wo__address_place) places;
  size_t count; /* addresses in the map */
};

/* An address and its value. */
struct wo_address_item {
  uint64_t address;
  uint32_t value;
};

/* Sets the value of an address; replaces an earlier one. WO_E_NOMEM: the map is unchanged. */
enum wo_status wo_address_map_put(struct wo_address_map *map, uint64_t address, uint32_t value);

/* Finds the value of an address. False when there is none; *ret_value (NULL allowed) is set on true only. */
bool wo_address_map_find(const struct wo_address_map *map, uint64_t address, uint32_t *ret_value);

/* The item of the highest address at or below / of the lowest address at or above `address`. False when there is none. */
bool wo_address_map_below(const struct wo_address_map *map, uint64_t address, struct wo_address_item *ret_item);
bool wo_address_map_above(const struct wo_address_map *map, uint64_t address, struct wo_address_item *ret_item);

/* Removes an address. False when it is not there; *ret_value (NULL allowed) gets its value. */
bool wo_address_map_remove(struct wo_address_map *map, uint64_t address, uint32_t *ret_value);

/* Where an address is in a map, or would be: for callers that need several answers about it, or change the map there, after one
 * search. It holds until the map changes. */
struct wo_address_spot {
  size_t run;  /* of the directory */
  uint32_t at; /* items of the run at or below the address */
};

/* Searches an address. */
struct wo_address_spot wo_address_map_seek(const struct wo_address_map *map, uint64_t address);

/* The item of the highest address at or below / of the lowest address above that of the spot. False when there is none. */
bool wo_address_map_at(const struct wo_address_map *map, struct wo_address_spot spot, struct wo_address_item *ret_item);
bool wo_address_map_after(const struct wo_address_map *map, struct wo_address_spot spot, struct wo_address_item *ret_item);

/* Adds the spot's address, which must not be in the map. WO_E_NOMEM: the map is unchanged. */
enum wo_status wo_address_map_add_at(struct wo_address_map *map, struct wo_address_spot spot, uint64_t address, uint32_t value);

/* Removes the item at or below the spot's address, which must be there. */
void wo_address_map_remove_at(struct wo_address_map *map, struct wo_address_spot spot);

/* Releases what the map owns and makes it empty. */
void wo_address_map_done(struct wo_address_map *map);

#endif
