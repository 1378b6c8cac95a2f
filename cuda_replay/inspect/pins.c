/* SPDX-License-Identifier: Apache-2.0 */
/* Pins: finds the blocks that keep mostly free memory from being released, and how much they keep. */
#include "cuda_replay/inspect/pins.h"

#include <assert.h>
#include <stdlib.h>

#include "parsers/base/units.h"
#include "parsers/base/vec.h"

/* The state of the search. */
struct finding {
  const struct wo_alloc_pattern *pattern;
  const struct wo_segment_map *map;
  uint8_t *known;       /* origins of frames */
  uint32_t last_holder; /* the block that was counted last: it may reach into the next unit */
  bool has_last;
};

/* ---- Holders ---- */

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
  };
  if (block->instance >= finding->pattern->instances.count) return holder;
  const struct wo_instance *const instance = &finding->pattern->instances.items[block->instance];
  holder.stack = instance->stack;
  holder.sites = wo_stack_sites(finding->pattern->recording, finding->known, instance->stack);
  holder.class_ = instance->class_ < WO_CLASS_COUNT_ ? (enum wo_alloc_class)instance->class_ : WO_CLASS_UNKNOWN;
  holder.born_at = instance->birth;
  return holder;
}

/* The death of a block; a block without an instance lives to the end. */
static uint32_t death_of(const struct finding *finding, const struct wo_map_block *block) {
  if (block->instance >= finding->pattern->instances.count) return WO_NO_REQUEST;
  return finding->pattern->instances.items[block->instance].death;
}

/* The block of a unit that keeps it longest; of equals the smallest, then the lowest. Counts all of them. */
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

/* Only the free part is gained: the holders need the rest again elsewhere. */
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

/* A half-full unit is well used; one with a tiny block is not. */
static bool is_pinned(const struct wo_map_unit *unit) {
  const uint64_t size_bytes = unit->end - unit->start;
  return unit->used_bytes > 0 && unit->used_bytes < size_bytes &&
         size_bytes - unit->used_bytes >= size_bytes / 100 * WO_PIN_FREE_PCT;
}

/* The pin that would free most comes first. */
static int compare_pins(const void *left, const void *right) {
  const struct wo_pin *const a = left;
  const struct wo_pin *const b = right;
  if (a->free_bytes != b->free_bytes) return a->free_bytes > b->free_bytes ? -1 : 1;
  return a->address < b->address ? -1 : a->address > b->address;
}

/* ---- Together ---- */

/* One pass over the units, by rising address: a block that reaches into the next page is met twice in a row and counted once. */
enum wo_status wo_pins_find(const struct wo_alloc_pattern *pattern, const struct wo_segment_map *map, struct wo_pins *ret_pins) {
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
  if (!is_whole) wo_pins_done(&pins);
  *ret_pins = pins;
  return is_whole ? WO_OK : WO_E_NOMEM;
}

void wo_pins_sentence(const struct wo_pins *pins, struct wo_text *out) {
  const char *const held = WO_BYTES_TEXT(pins->held_bytes), *const kept = WO_BYTES_TEXT(pins->free_bytes);
  if (pins->pins.count == 0) return;
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
