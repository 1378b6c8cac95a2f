/* SPDX-License-Identifier: Apache-2.0 */
/* Pins: units of memory that are mostly free and cannot be released because of a few blocks that stay.
 *
 * A segment goes back to the device only as a whole, so one small block that lives long keeps all of it. Made from a segment map.
 */
#ifndef WO_PINS_H
#define WO_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/inspect/memory_over_time.h"
#include "cuda_replay/inspect/segment_map.h"
#include "cuda_replay/classes/user_frame.h"
#include "parsers/base/text.h"
#include "parsers/base/vec.h"

/* A unit is pinned if at least this share of it is free. */
enum { WO_PIN_FREE_PCT = 75 };

/* A block that keeps a unit from being released. */
struct wo_pin_holder {
  uint64_t address;
  uint64_t block_bytes;
  uint64_t requested_bytes;
  uint32_t instance; /* or WO_NO_INSTANCE: then the following fields are not known */
  uint32_t stack;
  struct wo_stack_sites sites;
  enum wo_alloc_class class_;
  bool is_pending;
  uint32_t born_at; /* request, or WO_NO_REQUEST: before the first one */
};

/* A pinned unit. */
struct wo_pin {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t free_bytes; /* bytes that would be released if the holders were elsewhere, less the room that they need there */
  uint64_t held_bytes;
  uint32_t segment;      /* index into the map's segments */
  uint32_t holder_count; /* all */
  /* The one that lives longest, of equals the smallest: the block to examine first. */
  struct wo_pin_holder holder;
};

struct wo_pins {
  WO_VEC(struct wo_pin) pins; /* most free bytes first, then by address */
  uint64_t free_bytes;        /* sum */
  uint64_t held_bytes;        /* sum: parts of blocks inside pinned units */
  uint64_t holder_count;      /* all blocks, each counted once */
};

/* Finds the pins of a map. WO_E_NOMEM: *ret is empty. */
enum wo_status wo_pins_find(const struct wo_alloc_pattern *pattern, const struct wo_segment_map *map, struct wo_pins *ret_pins);

/* Appends one sentence without a full stop: "12 blocks of together 3.10 MiB keep 4.20 GiB from being released"; nothing if there
 * are no pins. */
void wo_pins_sentence(const struct wo_pins *pins, struct wo_text *out);

/* Releases what it owns; NULL allowed. */
void wo_pins_done(struct wo_pins *pins);

#endif
