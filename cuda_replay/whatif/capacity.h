/* What the allocator may take of the card: said on the command line or in the file, or read off the recording's own failure.
 *
 * Everything else on the card (the CUDA context, NCCL, libraries, other processes) is outside of a recording and changes, so the
 * figure comes with how uncertain it is: a result that fits by less is no proof. */
#ifndef WO_CAPACITY_H
#define WO_CAPACITY_H

#include <stdint.h>

#include "cuda_replay/recording/settings.h"
#include "cuda_replay/recording/trace.h"

/* Where the figure comes from. FRACTION: a recorded request failed while the card had room for it, so that a limit of the program
 * (set_per_process_memory_fraction) refused it; the figure is the least that this limit can be. GPU: what the card of --on gpu
 * has free, less the reserve. */
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
  uint64_t uncertainty_bytes; /* how much less or more it can be in another run */
  uint32_t oom_entry;         /* of the recording's last failed request, or UINT32_MAX; also when the figure is not from it */
};

/* stated_bytes: of the command line, 0 = none; it wins. Pure. */
struct wo_capacity wo_capacity_find(const struct wo_recording *recording, const struct wo_trace *trace, uint64_t stated_bytes);

#endif
