/* SPDX-License-Identifier: Apache-2.0 */
/* The backwards pass over a trace, private to start.c: from the segments at the end of a recording to those at its start.
 *
 * Segments and live blocks are records in arrays, found by address. A removed record gives its slot to the next, so memory grows
 * with the number of records that are live at once, not with the entries. */
#ifndef WO_START_BACKWARDS_INTERNAL_H
#define WO_START_BACKWARDS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/recording/trace.h"
#include "cuda_replay/replay/start.h"
#include "parsers/base/vec.h"

/* A live block at the present place of the pass. */
struct wo__backwards_block {
  uint64_t address;
  uint64_t requested_bytes;
  uint64_t block_bytes; /* 0 = not known: the block died inside the trace */
  uint32_t entry;       /* the entry that freed it; UINT32_MAX: alive in the snapshot */
  bool is_pending;
};

/* A segment; for expandable ones a contiguous mapped run. */
struct wo__backwards_segment {
  uint64_t address;
  uint64_t size_bytes;
  uint32_t stream;
  uint32_t pool;
  bool is_small;
  bool is_expandable;
  bool is_size_known; /* is_small is known from the snapshot, not from the size */
};

/* Slots of removed records. */
struct wo__slots {
  uint32_t *items;
  size_t count, capacity;
};

struct wo__backwards {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  struct wo_err *err;
  size_t index;                      /* of the entry that is undone */
  bool has_requested, has_completed; /* kinds of frees: skip_actions may have left out one, and the other replaces it */
  WO_VEC(struct wo__backwards_block) blocks;
  WO_VEC(struct wo__backwards_segment) segments;
  struct wo__slots free_blocks, free_segments;
  uint32_t last_block;              /* slot of the block that was added last */
  struct wo_address_map block_at;   /* address -> blocks */
  struct wo_address_map segment_at; /* address -> segments */
  struct wo_strangers strangers;
};

/* Takes the snapshot's segments and goes back over all entries. WO_E_RANGE (the entry's index in err->offset), WO_E_NOMEM.
 * Released with wo__backwards_done in either case. */
enum wo_status wo__backwards_run(struct wo__backwards *pass, const struct wo_recording *recording, const struct wo_trace *trace,
                                 struct wo_err *err);

/* Releases what it owns. */
void wo__backwards_done(struct wo__backwards *pass);

#endif
