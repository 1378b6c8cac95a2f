/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's part of the card: stated on the command line or in the file, or computed from the recording's own failure.
 *
 * The rest of the card (the CUDA context, NCCL, libraries, other processes) is outside a recording and changes, so the figure has
 * an uncertainty: a result that fits by less is no proof. */
#ifndef WO_CAPACITY_H
#define WO_CAPACITY_H

#include <stdint.h>

#include "cuda_replay/recording/settings.h"
#include "cuda_replay/recording/trace.h"

/* The source of the figure. FRACTION: a recorded request failed although the card had room for it, so a limit of the program
 * (set_per_process_memory_fraction) refused it; the figure is the lowest possible limit. GPU: the free memory of the card of --on
 * gpu, less the reserve. */
enum wo_capacity_from {
  WO_CAPACITY_NONE,
  WO_CAPACITY_OPTION,
  WO_CAPACITY_FILE,
  WO_CAPACITY_OOM_ENTRY,
  WO_CAPACITY_FRACTION,
  WO_CAPACITY_GPU
};

struct wo_capacity {
  enum wo_capacity_from from;
  uint64_t bytes;             /* 0 with NONE */
  uint64_t uncertainty_bytes; /* by how much it can be lower or higher in another run */
  uint32_t oom_entry;         /* of the recording's last failed request, or UINT32_MAX; also if the figure is not from it */
};

/* stated_bytes: from the command line, 0 = none; it wins. Pure. */
struct wo_capacity wo_capacity_find(const struct wo_recording *recording, const struct wo_trace *trace, uint64_t stated_bytes);

#endif
