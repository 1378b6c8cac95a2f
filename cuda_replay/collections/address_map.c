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
  struct wo_address_item items[RUN_ITEMS];
};

/* The number of runs whose lowest address is at or below `address`. */
static size_t places_below(const struct wo_address_map *map, uint64_t address) {
  size_t low = 0;
  WO_LOWER_BOUND(low, map->places.count, at, map->places.items[at].first <= address);
  return low;
}

/* The number of items of a run at or below `address`. */
static uint32_t items_below(const struct wo__address_run *run, uint64_t address) {
  size_t low = 0;
  WO_LOWER_BOUND(low, run->count, at, run->items[at].address <= address);
  return (uint32_t)low;
}

bool wo_address_map_below(const struct wo_address_map *map, uint64_t address, struct wo_address_item *ret_item) {
  const size_t place = places_below(map, address);
  if (place == 0) return false;
  const struct wo__address_run *const run = map->places.items[place - 1].run;
  const uint32_t at = items_below(run, address);
  assert(at > 0);
  *ret_item = run->items[at - 1];
  return true;
}

bool wo_address_map_above(const struct wo_address_map *map, uint64_t address, struct wo_address_item *ret_item) {
  if (address == 0) {
    if (map->count == 0) return false;
    *ret_item = map->places.items[0].run->items[0];
    return true;
  }
  const size_t place = places_below(map, address - 1);
  if (place > 0) {
    const struct wo__address_run *const run = map->places.items[place - 1].run;
    const uint32_t at = items_below(run, address - 1);
    if (at < run->count) {
      *ret_item = run->items[at];
      return true;
    }
  }
  if (place == map->places.count) return false;
  *ret_item = map->places.items[place].run->items[0];
  return true;
}

bool wo_address_map_find(const struct wo_address_map *map, uint64_t address, uint32_t *ret_value) {
  struct wo_address_item item;
  if (!wo_address_map_below(map, address, &item) || item.address != address) return false;
  if (ret_value) *ret_value = item.value;
  return true;
}

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
  memcpy(upper->items, lower->items + kept, upper->count * sizeof *upper->items);
  lower->count = kept;
  map->places.items[place + 1].first = upper->items[0].address;
  return true;
}

enum wo_status wo_address_map_put(struct wo_address_map *map, uint64_t address, uint32_t value) {
  if (map->places.count == 0 && !add_run(map, 0)) return WO_E_NOMEM;
  size_t place = places_below(map, address);
  if (place > 0) place--;
  struct wo__address_run *run = map->places.items[place].run;
  uint32_t at = items_below(run, address);
  if (at > 0 && run->items[at - 1].address == address) {
    run->items[at - 1].value = value;
    return WO_OK;
  }
  if (run->count == RUN_ITEMS) {
    if (!split(map, place)) return WO_E_NOMEM;
    if (address > map->places.items[place + 1].first) place++;
    run = map->places.items[place].run;
    at = items_below(run, address);
  }
  memmove(run->items + at + 1, run->items + at, (run->count - at) * sizeof *run->items);
  run->items[at] = (struct wo_address_item){address, value};
  run->count++;
  map->places.items[place].first = run->items[0].address;
  map->count++;
  return WO_OK;
}

bool wo_address_map_remove(struct wo_address_map *map, uint64_t address, uint32_t *ret_value) {
  const size_t above = places_below(map, address);
  if (above == 0) return false;
  struct wo__address_place *const place = &map->places.items[above - 1];
  struct wo__address_run *const run = place->run;
  const uint32_t at = items_below(run, address);
  if (at == 0 || run->items[at - 1].address != address) return false;
  if (ret_value) *ret_value = run->items[at - 1].value;
  memmove(run->items + at - 1, run->items + at, (run->count - at) * sizeof *run->items);
  run->count--;
  map->count--;
  if (run->count > 0) {
    place->first = run->items[0].address;
    return true;
  }
  free(run);
  memmove(place, place + 1, (map->places.count - above) * sizeof *place);
  map->places.count--;
  return true;
}

void wo_address_map_done(struct wo_address_map *map) {
  for (size_t i = 0; i < map->places.count; i++) free(map->places.items[i].run);
  WO_VEC_DONE(&map->places);
  map->count = 0;
}
