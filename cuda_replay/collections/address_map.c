/* SPDX-License-Identifier: Apache-2.0 */
/* The ordered address map: runs of at most RUN_ITEMS sorted items; the directory holds each run's lowest address. No run is
 * empty. */
#include "cuda_replay/collections/address_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/vec.h"

enum { RUN_ITEMS = 128 };

#define PLACES_MAX ((size_t)1 << 28)

struct wo__address_run {
  uint32_t count;
  uint64_t addresses[RUN_ITEMS];
  uint32_t values[RUN_ITEMS];
};

/* The number of runs whose lowest address is at or below `address`. Like items_below it has no branch that depends on an address:
 * a processor guesses half of them wrong, and that costs more than all the rest. */
static size_t places_below(const struct wo_address_map *map, uint64_t address) {
  const struct wo__address_place *low = map->places.items;
  size_t left = map->places.count;
  if (left == 0) return 0;
  for (; left > 1; left -= left / 2) low += left / 2 & -(size_t)(low[left / 2].first <= address);
  return (size_t)(low - map->places.items) + (low->first <= address);
}

/* The number of items of a run at or below `address`. No run is empty. */
static uint32_t items_below(const struct wo__address_run *run, uint64_t address) {
  const uint64_t *low = run->addresses;
  for (size_t left = run->count; left > 1; left -= left / 2) low += left / 2 & -(size_t)(low[left / 2] <= address);
  return (uint32_t)(low - run->addresses) + (*low <= address);
}

static struct wo_address_item item_of(const struct wo__address_run *run, size_t at) {
  return (struct wo_address_item){run->addresses[at], run->values[at]};
}

/* Moves the items from `from` on to `to`. */
static void move_items(struct wo__address_run *run, size_t from, size_t to) {
  memmove(run->addresses + to, run->addresses + from, (run->count - from) * sizeof *run->addresses);
  memmove(run->values + to, run->values + from, (run->count - from) * sizeof *run->values);
}

/* ---- Searching ---- */

/* No run is empty, so an address below the first run is the only one with nothing at or below it. */
struct wo_address_spot wo_address_map_seek(const struct wo_address_map *map, uint64_t address) {
  const size_t below = places_below(map, address);
  if (below == 0) return (struct wo_address_spot){0, 0};
  return (struct wo_address_spot){below - 1, items_below(map->places.items[below - 1].run, address)};
}

bool wo_address_map_at(const struct wo_address_map *map, struct wo_address_spot spot, struct wo_address_item *ret_item) {
  if (spot.at == 0) return false;
  *ret_item = item_of(map->places.items[spot.run].run, spot.at - 1);
  return true;
}

bool wo_address_map_after(const struct wo_address_map *map, struct wo_address_spot spot, struct wo_address_item *ret_item) {
  if (map->count == 0) return false;
  if (spot.at == map->places.items[spot.run].run->count) spot = (struct wo_address_spot){spot.run + 1, 0};
  if (spot.run == map->places.count) return false;
  *ret_item = item_of(map->places.items[spot.run].run, spot.at);
  return true;
}

bool wo_address_map_below(const struct wo_address_map *map, uint64_t address, struct wo_address_item *ret_item) {
  return wo_address_map_at(map, wo_address_map_seek(map, address), ret_item);
}

bool wo_address_map_above(const struct wo_address_map *map, uint64_t address, struct wo_address_item *ret_item) {
  const struct wo_address_spot spot = wo_address_map_seek(map, address);
  struct wo_address_item item;
  if (!wo_address_map_at(map, spot, &item) || item.address != address) return wo_address_map_after(map, spot, ret_item);
  *ret_item = item;
  return true;
}

bool wo_address_map_find(const struct wo_address_map *map, uint64_t address, uint32_t *ret_value) {
  struct wo_address_item item;
  if (!wo_address_map_below(map, address, &item) || item.address != address) return false;
  if (ret_value) *ret_value = item.value;
  return true;
}

/* ---- Changing ---- */

/* Makes a run at `place` of the directory. */
static struct wo__address_run *add_run(struct wo_address_map *map, size_t place) {
  if (!WO_VEC_RESERVE(&map->places, 1, PLACES_MAX)) return NULL;
  struct wo__address_run *const run = malloc(sizeof *run);
  if (!run) return NULL;
  struct wo__address_place *const at = map->places.items + place;
  memmove(at + 1, at, (map->places.count - place) * sizeof *at);
  map->places.count++;
  run->count = 0;
  *at = (struct wo__address_place){0, run};
  return run;
}

/* Moves the upper half of a full run into a new one after it. */
static bool split(struct wo_address_map *map, size_t place) {
  struct wo__address_run *const upper = add_run(map, place + 1);
  if (!upper) return false;
  struct wo__address_run *const lower = map->places.items[place].run;
  const uint32_t kept = lower->count / 2;
  upper->count = lower->count - kept;
  memcpy(upper->addresses, lower->addresses + kept, upper->count * sizeof *upper->addresses);
  memcpy(upper->values, lower->values + kept, upper->count * sizeof *upper->values);
  lower->count = kept;
  map->places.items[place + 1].first = upper->addresses[0];
  return true;
}

enum wo_status wo_address_map_add_at(struct wo_address_map *map, struct wo_address_spot spot, uint64_t address, uint32_t value) {
  if (map->count == 0 && !add_run(map, 0)) return WO_E_NOMEM;
  struct wo__address_run *run = map->places.items[spot.run].run;
  if (run->count == RUN_ITEMS) {
    if (!split(map, spot.run)) return WO_E_NOMEM;
    if (spot.at > run->count) spot = (struct wo_address_spot){spot.run + 1, spot.at - run->count};
    run = map->places.items[spot.run].run;
  }
  assert(spot.at == 0 || run->addresses[spot.at - 1] < address);
  assert(spot.at == run->count || run->addresses[spot.at] > address);
  move_items(run, spot.at, spot.at + 1);
  run->addresses[spot.at] = address;
  run->values[spot.at] = value;
  run->count++;
  map->places.items[spot.run].first = run->addresses[0];
  map->count++;
  return WO_OK;
}

void wo_address_map_remove_at(struct wo_address_map *map, struct wo_address_spot spot) {
  struct wo__address_place *const place = &map->places.items[spot.run];
  struct wo__address_run *const run = place->run;
  assert(spot.at > 0 && spot.at <= run->count);
  move_items(run, spot.at, spot.at - 1);
  run->count--;
  map->count--;
  if (run->count > 0) {
    place->first = run->addresses[0];
    return;
  }
  free(run);
  map->places.count--;
  memmove(place, place + 1, (map->places.count - spot.run) * sizeof *place);
}

enum wo_status wo_address_map_put(struct wo_address_map *map, uint64_t address, uint32_t value) {
  const struct wo_address_spot spot = wo_address_map_seek(map, address);
  struct wo_address_item item;
  if (!wo_address_map_at(map, spot, &item) || item.address != address) return wo_address_map_add_at(map, spot, address, value);
  map->places.items[spot.run].run->values[spot.at - 1] = value;
  return WO_OK;
}

bool wo_address_map_remove(struct wo_address_map *map, uint64_t address, uint32_t *ret_value) {
  const struct wo_address_spot spot = wo_address_map_seek(map, address);
  struct wo_address_item item;
  if (!wo_address_map_at(map, spot, &item) || item.address != address) return false;
  if (ret_value) *ret_value = item.value;
  wo_address_map_remove_at(map, spot);
  return true;
}

void wo_address_map_done(struct wo_address_map *map) {
  for (size_t i = 0; i < map->places.count; i++) free(map->places.items[i].run);
  WO_VEC_DONE(&map->places);
  map->count = 0;
}
