/* Pins: which blocks keep mostly free memory from being released, and what that costs. */
#include "cuda_replay/inspect/pins.h"

#include <assert.h>
#include <stdlib.h>

#include "parsers/base/units.h"
#include "parsers/base/vec.h"

/* Requests up to this size are served from the small pool (kSmallSize of c10/cuda/CUDACachingAllocator.cpp). */
#define SMALL_REQUEST_BYTES (UINT64_C(1) << 20)

/* What finding works with. */
struct finding {
  const struct wo_alloc_pattern *pattern;
  const struct wo_segment_map *map;
  uint8_t *known;       /* origins of frames */
  uint32_t last_holder; /* block that was counted last: it may reach into the next unit */
  bool has_last;
};

/* ---- Holders ---- */

/* Age counts from the first request for what was there before: how long before is not recorded. */
static struct wo_pin_holder holder_of(const struct finding *finding, const struct wo_map_block *block) {
  struct wo_pin_holder holder = {
      .address = block->address,
      .block_bytes = block->size_bytes,
      .requested_bytes = block->requested_bytes,
      .instance = block->instance,
      .stack = WO_NO_STACK,
      .sites = {WO_NO_FRAME, WO_NO_FRAME},
      .is_pending = block->state == WO_BLOCK_PENDING,
      .born_at = WO_NO_REQUEST,
      .dies_at = WO_NO_REQUEST,
  };
  if (block->instance >= finding->pattern->instances.count) return holder;
  const struct wo_instance *const instance = &finding->pattern->instances.items[block->instance];
  holder.stack = instance->stack;
  holder.sites = wo_stack_sites(finding->pattern->recording, finding->known, instance->stack);
  holder.class_ = instance->class_ < WO_CLASS_COUNT_ ? (enum wo_alloc_class)instance->class_ : WO_CLASS_UNKNOWN;
  holder.born_at = instance->birth;
  holder.dies_at = instance->death;
  const uint64_t from = instance->birth == WO_NO_REQUEST ? 0 : instance->birth;
  const uint64_t now = finding->map->request == WO_NO_REQUEST ? 0 : finding->map->request;
  holder.age_requests = now > from ? now - from : 0;
  return holder;
}

/* When a block dies; those that are not known live to the end. */
static uint32_t death_of(const struct finding *finding, const struct wo_map_block *block) {
  if (block->instance >= finding->pattern->instances.count) return WO_NO_REQUEST;
  return finding->pattern->instances.items[block->instance].death;
}

/* The block of a unit that keeps it longest, of equals the smallest, then the lowest. Counts all of them. */
static const struct wo_map_block *longest_holder(struct finding *finding, const struct wo_map_unit *unit, struct wo_pin *pin,
                                                 uint64_t *holder_count) {
  const struct wo_map_block *best = NULL;
  for (uint32_t i = unit->first_block; i < unit->first_block + unit->block_count; i++) {
    const struct wo_map_block *const block = &finding->map->blocks.items[i];
    if (block->state == WO_BLOCK_FREE) continue;
    pin->holder_count++;
    if (!finding->has_last || finding->last_holder != i) (*holder_count)++;
    finding->last_holder = i;
    finding->has_last = true;
    const uint32_t death = death_of(finding, block);
    const uint32_t best_death = best ? death_of(finding, best) : 0;
    if (!best || death > best_death || (death == best_death && block->size_bytes < best->size_bytes)) best = block;
  }
  return best;
}

/* ---- Units ---- */

/* What is gained is the free part alone: the holders need their own room again elsewhere. */
static bool add_pin(struct finding *finding, const struct wo_map_unit *unit, struct wo_pins *pins) {
  const uint64_t size_bytes = unit->end - unit->start;
  assert(unit->used_bytes > 0 && unit->used_bytes < size_bytes);
  if (!WO_VEC_RESERVE(&pins->pins, 1, UINT32_MAX)) return false;
  struct wo_pin pin = {.address = unit->start,
                       .size_bytes = size_bytes,
                       .free_bytes = size_bytes - unit->used_bytes,
                       .held_bytes = unit->used_bytes,
                       .segment = unit->segment};
  const struct wo_map_block *const block = longest_holder(finding, unit, &pin, &pins->holder_count);
  assert(block != NULL);
  pin.holder = holder_of(finding, block);
  pins->pins.items[pins->pins.count++] = pin;
  pins->free_bytes += pin.free_bytes;
  pins->held_bytes += pin.held_bytes;
  return true;
}

/* A unit that is half full is in good use; one that a crumb holds is not. */
static bool is_pinned(const struct wo_map_unit *unit) {
  const uint64_t size_bytes = unit->end - unit->start;
  return unit->used_bytes > 0 && size_bytes - unit->used_bytes >= size_bytes / 100 * WO_PIN_FREE_PCT;
}

/* What would free most comes first. */
static int compare_pins(const void *left, const void *right) {
  const struct wo_pin *const a = left;
  const struct wo_pin *const b = right;
  if (a->free_bytes != b->free_bytes) return a->free_bytes > b->free_bytes ? -1 : 1;
  return a->address < b->address ? -1 : a->address > b->address;
}

/* ---- Contiguity ---- */

/* Whether the segment is in the pool and stream that serve the request at which the map was taken. */
static bool serves(const struct finding *finding, const struct wo_map_segment *segment, uint64_t request_bytes) {
  const struct wo_alloc_pattern *const pattern = finding->pattern;
  if (segment->is_small != (request_bytes <= SMALL_REQUEST_BYTES)) return false;
  if (finding->map->request >= pattern->requests.count) return true;
  const struct wo_request *const request = &pattern->requests.items[finding->map->request];
  if (request->stream >= pattern->recording->streams.count || request->pool >= pattern->recording->pools.count) return true;
  const struct wo_pool_id pool = pattern->recording->pools.items[request->pool];
  return segment->stream == pattern->recording->streams.items[request->stream] && segment->pool.first == pool.first &&
         segment->pool.second == pool.second;
}

/* Free memory of another pool, stream or graph is of no use to the request that failed, though it counts as free. */
static struct wo_contiguity contiguity_of(const struct finding *finding, const struct wo_allocator_oom *oom) {
  struct wo_contiguity found = {.has_request = oom != NULL, .request_bytes = oom ? oom->rounded_bytes : 0};
  for (size_t i = 0; i < finding->map->segments.count; i++) {
    const struct wo_map_segment *const segment = &finding->map->segments.items[i];
    const bool is_usable = serves(finding, segment, found.request_bytes);
    for (uint32_t k = 0; k < segment->block_count; k++) {
      const struct wo_map_block *const block = &finding->map->blocks.items[segment->first_block + k];
      if (block->state != WO_BLOCK_FREE) continue;
      found.free_bytes += block->size_bytes;
      if (block->size_bytes > found.largest_free_bytes) found.largest_free_bytes = block->size_bytes;
      if (!is_usable || !oom) continue;
      found.usable_free_bytes += block->size_bytes;
      if (block->size_bytes > found.usable_largest_free_bytes) found.usable_largest_free_bytes = block->size_bytes;
    }
  }
  found.is_fragmentation = oom && found.usable_free_bytes >= found.request_bytes;
  return found;
}

/* ---- Together ---- */

/* One pass over the units, by rising address: a block that reaches into the next page is met twice in a row and counted once.
 * */
enum wo_status wo_pins_find(const struct wo_alloc_pattern *pattern, const struct wo_segment_map *map,
                            const struct wo_allocator_oom *oom, struct wo_pins *ret_pins) {
  struct wo_pins pins = {0};
  struct finding finding = {.pattern = pattern, .map = map};
  struct wo_map_walk walk = {0};
  struct wo_map_unit unit;
  finding.known = calloc(pattern->recording->frames.count + 1, 1);
  bool is_whole = finding.known != NULL;
  while (is_whole && wo_segment_map_next(map, &walk, &unit)) {
    if (is_pinned(&unit)) is_whole = add_pin(&finding, &unit, &pins);
  }
  free(finding.known);
  if (pins.pins.count > 0) qsort(pins.pins.items, pins.pins.count, sizeof *pins.pins.items, compare_pins);
  if (is_whole) {
    pins.contiguity = contiguity_of(&finding, oom);
  } else {
    wo_pins_done(&pins);
  }
  *ret_pins = pins;
  return is_whole ? WO_OK : WO_E_NOMEM;
}

void wo_pins_sentence(const struct wo_pins *pins, struct wo_text *out) {
  char held[32];
  char kept[32];
  if (pins->pins.count == 0) return;
  wo_units_bytes_text((double)pins->held_bytes, held, sizeof held);
  wo_units_bytes_text((double)pins->free_bytes, kept, sizeof kept);
  if (pins->holder_count == 1) {
    wo_text_add(out, "1 block of %s keeps %s from being released", held, kept);
  } else {
    wo_text_add(out, "%llu blocks of together %s keep %s from being released", (unsigned long long)pins->holder_count, held,
                kept);
  }
}

void wo_pins_done(struct wo_pins *pins) {
  if (!pins) return;
  WO_VEC_DONE(&pins->pins);
  *pins = (struct wo_pins){0};
}
