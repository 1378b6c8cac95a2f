/* SPDX-License-Identifier: Apache-2.0 */
/* The segment map: a copy of an allocator's segments and blocks at one moment, with the allocation of each block.
 *
 * It also has units: memory that the allocator can only give back as a whole. A unit is a segment, or a page of an expandable
 * run; only a unit without a block in use can be released. Attribution, pins and plots all read this one value. */
#ifndef WO_SEGMENT_MAP_H
#define WO_SEGMENT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "parsers/base/vec.h"

#define WO_NO_INSTANCE UINT32_MAX

struct wo_map_segment {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t range_address; /* expandable: the address from which pages are counted */
  uint64_t stream;        /* raw pointer */
  struct wo_pool_id pool;
  uint32_t first_block; /* blocks[first_block .. first_block + block_count) by rising address, without gaps */
  uint32_t block_count;
  bool is_small;
  bool is_expandable;
};

struct wo_map_block {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t requested_bytes; /* of blocks in use; equal to size_bytes if not known; 0 for free ones */
  uint32_t instance;        /* of the pattern, or WO_NO_INSTANCE: free, or not known */
  enum wo_block_state state;
};

struct wo_segment_map {
  uint32_t request; /* taken after this request; WO_NO_REQUEST: at the start */
  uint64_t reserved_bytes;
  uint64_t large_page_bytes;              /* page of expandable runs of the large pool */
  WO_VEC(struct wo_map_segment) segments; /* by rising address */
  WO_VEC(struct wo_map_block) blocks;
};

/* Copies the allocator's segments to an empty map ({0}). Instances are WO_NO_INSTANCE. WO_E_NOMEM: the map is empty then. */
enum wo_status wo_segment_map_take(const struct wo_allocator *allocator, struct wo_segment_map *ret_map);

/* Adds a segment above those in the map, with its blocks by rising address, which fill it. False if memory is out. */
bool wo_segment_map_add(struct wo_segment_map *map, const struct wo_allocator_segment *segment,
                        const struct wo_allocator_block *blocks, size_t count);

/* The place of an allocation. */
struct wo_map_place {
  uint64_t address;
  uint32_t instance;
  uint32_t order; /* used by wo_segment_map_name; need not be set */
};

/* Gives blocks in use the instances of `places` by address; sorts places for that (count at most UINT32_MAX). Places at which no
 * block in use begins are ignored; of several at one address the last one in `places` counts. */
void wo_segment_map_name(struct wo_segment_map *map, struct wo_map_place *places, size_t count);

/* Releases what it owns; NULL allowed. */
void wo_segment_map_done(struct wo_segment_map *map);

/* ---- Units ---- */

/* A unit: addresses [start, end) inside one segment. The first and the last page of a run may be partial. Neighbouring pages that
 * lie in one block are one unit: they are released together. */
struct wo_map_unit {
  uint32_t segment;
  uint64_t start;
  uint64_t end;
  uint64_t used_bytes;    /* of blocks in use, only the part inside the unit */
  uint64_t slack_bytes;   /* the part of used_bytes that was not requested; it is at the end of a block */
  uint64_t pending_bytes; /* the part of used_bytes in blocks that wait for other streams */
  uint32_t first_block;   /* the first block that reaches into it */
  uint32_t block_count;   /* number of blocks that reach into it, free ones included */
};

/* Steps through all units by rising address: {0} at the beginning; returns false at the end. */
struct wo_map_walk {
  uint32_t segment;
  uint32_t block;
  uint64_t at; /* 0: at the segment's start */
};
bool wo_segment_map_next(const struct wo_segment_map *map, struct wo_map_walk *walk, struct wo_map_unit *ret_unit);

#endif
