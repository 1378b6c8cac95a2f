/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording shows of a job's memory, for writers that draw: how it went, and what lay where when it ran out.
 *
 * The replay makes it, the report's page draws it, and neither knows the other. Everything lives in the arena of whoever asked
 * for it; names without an owner are static. Bytes are those of PyTorch's allocator on one card. */
#ifndef WO_RECORDED_MEMORY_H
#define WO_RECORDED_MEMORY_H

#include "parsers/base/exchange/curve.h"

/* Segments and blocks that are handed over, and lines of code that hold memory: pictures have no room for more. */
enum { WO_RECORDED_SEGMENTS_MAX = 400, WO_RECORDED_BLOCKS_MAX = 4000, WO_RECORDED_HOLDERS_MAX = 12 };

/* Neighbouring bytes of a segment of one sort: what holds them ("parameter", "activation"), "free", or "pending", which the
 * program freed and other streams still use. */
struct wo_recorded_block {
  const char *sort;
  double offset_bytes; /* in the segment */
  double bytes;
};

struct wo_recorded_segment {
  double bytes, used_bytes;
  bool is_small, is_expandable;
  size_t first_block, block_count;
};

/* A line of code with the memory in use then that it asked for. */
struct wo_recorded_holder {
  struct wo_view name; /* "forward attention.py:208"; empty: no stack was recorded */
  struct wo_view user; /* the program's own line where that is another one; or empty */
  const char *sort;    /* that has most of the bytes */
  double bytes;
  size_t count; /* of blocks */
};

struct wo_recorded_memory {
  struct wo_view path;
  bool is_compared; /* the recording has results: where blocks are, which segments there are */
  bool is_exact;    /* and the replay has the same; else places are those of the model */
  size_t requests;
  bool is_state; /* of a snapshot without a history: there are no requests, and the moment is that of the snapshot */
  const struct wo_curve_point *allocated, *reserved; /* along the requests, which are the places, from 1; peaks are kept */
  size_t point_count;                                /* of each */
  double capacity_bytes;                             /* 0: unknown */
  bool has_failed;                                   /* the moment is the first request that failed; else that of most memory */
  size_t moment;                                     /* request, from 1; 0: of a state, or there is nothing below */
  double allocated_bytes, reserved_bytes;            /* at the moment */
  double largest_free_bytes;                         /* block */
  const struct wo_recorded_segment *segments;        /* the largest first */
  size_t segment_count, segments_left_out;
  const struct wo_recorded_block *blocks; /* of segments, by place; they fill them */
  size_t block_count;
  struct wo_recorded_holder holders[WO_RECORDED_HOLDERS_MAX]; /* most first */
  size_t holder_count;
};

#endif
