/* SPDX-License-Identifier: Apache-2.0 */
/* Memory timelines of torch.profiler's export_memory_timeline (JSON, plain or gzip).
 *
 * The raw form ([[t_ns, action, bytes, category], ...]) has no addresses: a free is assumed to free the newest live block of its
 * size and category, so the recording is WO_TRACE_APPROXIMATE, and blocks are named by numbers (has_only_ids). Sizes are sizes of
 * tensors. Categories become stacks of one frame ("PARAMETER", in the file "category"); a block that changes its category keeps
 * its first stack. Blocks that existed already are at the front with WO_NO_TIME, in the order of the file if it states them.
 *
 * The drawn form ([times, sizes]) has only sums by category, which cannot be replayed: it is refused, and the message shows its
 * peaks.
 *
 * Facts: torch/profiler/_memory_profiler.py. */
#ifndef WO_MEMORY_TIMELINE_H
#define WO_MEMORY_TIMELINE_H

#include "cuda_replay/recording/trace_reader.h"

/* The reader. */
wo_trace_sniff wo_memory_timeline_sniff;
wo_trace_reading wo_memory_timeline_read;

#endif
