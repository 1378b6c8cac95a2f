/* Memory timelines, as torch.profiler's export_memory_timeline writes them (JSON, plain or gzip).
 *
 * The raw form ([[t_ns, action, bytes, category], ...]) has no addresses: a block that goes is taken for the newest one alive of
 * its size and category, so the recording is WO_TRACE_APPROXIMATE, and blocks are named by numbers (has_only_ids). Sizes are
 * those of tensors. Categories become stacks of one frame ("PARAMETER", in the file "category"); the stack of a block that
 * changes its category is the first one. Blocks that existed already stand at the front with WO_NO_TIME, in the order of the file
 * where it states them.
 *
 * The drawn form ([times, sizes]) holds sums by category only, which no replay can be made of: it is refused, with the peaks that
 * it states.
 *
 * Facts: torch/profiler/_memory_profiler.py. */
#ifndef WO_MEMORY_TIMELINE_H
#define WO_MEMORY_TIMELINE_H

#include "cuda_replay/recording/trace_reader.h"

/* The reader. */
wo_trace_sniff wo_memory_timeline_sniff;
wo_trace_reading wo_memory_timeline_read;

#endif
