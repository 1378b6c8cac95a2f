/* SPDX-License-Identifier: Apache-2.0 */
/* Attribution: the memory at one moment by class, by stack, and by requesting line, and the reserved memory that nothing uses.
 * Made from a segment map; every sum adds up exactly. */
#ifndef WO_ATTRIBUTION_H
#define WO_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/inspect/segment_map.h"
#include "cuda_replay/classes/user_frame.h"
#include "parsers/base/vec.h"

/* A number of blocks and their bytes. block_bytes >= requested_bytes; the difference is slack. */
struct wo_share {
  uint64_t block_bytes;
  uint64_t requested_bytes;
  uint64_t count;
};

/* Blocks of one stack. */
struct wo_attribution_stack {
  uint32_t stack; /* of the recording; WO_NO_STACK: not recorded */
  struct wo_stack_sites sites;
  enum wo_alloc_class class_; /* the class with most of the bytes */
  struct wo_share share;
};

/* Blocks of all stacks whose requesting frame has the same function and line. */
struct wo_attribution_site {
  uint32_t frame; /* the requesting frame: index into recording->frames, or WO_NO_FRAME */
  uint32_t user;  /* the user's line of the stack with most bytes */
  enum wo_alloc_class class_;
  uint32_t stack_count;
  struct wo_share share;
};

/* The parts of reserved bytes: reserved = live + slack + pinned_free + releasable, live including pending. */
struct wo_segment_use {
  uint64_t reserved_bytes;
  uint64_t live_bytes;         /* requested bytes of blocks in use */
  uint64_t pending_bytes;      /* of blocks in use, freed by the program and waiting for other streams (whole blocks) */
  uint64_t slack_bytes;        /* of blocks in use: rounding, and rests too small to be split off */
  uint64_t pinned_free_bytes;  /* free, in units that a block in use keeps from being released */
  uint64_t releasable_bytes;   /* in units without a block in use */
  uint64_t largest_free_bytes; /* largest free block */
};

struct wo_attribution {
  struct wo_share total; /* all blocks in use */
  struct wo_share classes[WO_CLASS_COUNT_];
  WO_VEC(struct wo_attribution_stack) stacks; /* most block bytes first, then by stack index */
  WO_VEC(struct wo_attribution_site) sites;   /* most block bytes first, then by frame index */
  struct wo_segment_use use;
};

/* Makes the attribution of a map. WO_E_NOMEM: *ret is empty. */
enum wo_status wo_attribution_make(const struct wo_alloc_pattern *pattern, const struct wo_segment_map *map,
                                   struct wo_attribution *ret_attribution);

/* Adds a unit to the sums; largest_free_bytes is not one of them. */
void wo_segment_use_add(struct wo_segment_use *use, const struct wo_map_unit *unit);

/* Releases what it owns; NULL allowed. */
void wo_attribution_done(struct wo_attribution *attribution);

/* part of whole in percent, 0 .. 100; 0 of nothing. */
double wo_share_pct(uint64_t part_bytes, uint64_t whole_bytes);

#endif
