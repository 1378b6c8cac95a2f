/* Profiler traces (torch.profiler with profile_memory=True, Chrome's trace format): the [memory] and [OutOfMemory] events of
 * GPUs.
 *
 * What such a file knows: addresses, block sizes (requests rounded up, so fidelity is WO_TRACE_BLOCK_SIZES), times, and the
 * operators that ran around an event, which become its stack (operators as frames whose file is "op", Python functions with their
 * file and line). What it does not: streams, pools, segments, settings, the version of torch.
 *
 * Blocks that are freed and were never allocated were alive before profiling began: the trace begins with an ALLOC of each, by
 * rising address, with WO_NO_TIME. What was allocated then beyond them (Total Allocated of the first event tells) and stays to
 * the end is one more such block, at an address that nothing else has. The file's figures (Total Allocated, Total Reserved) are
 * checked against what is rebuilt; notes tell where they disagree, and how reserved memory went.
 *
 * Marks that divide a run into steps (ProfilerStep#N, Optimizer.*) become annotations of the first device. The memory of the
 * first card in deviceProperties is the capacity.
 *
 * Facts: torch/csrc/profiler/collection.cpp and kineto_shim.cpp, libkineto/src/output_json.cpp. Memory grows with memory events
 * only; a file that was not closed gives what it holds. */
#ifndef WO_CHROME_TRACE_H
#define WO_CHROME_TRACE_H

#include "cuda_replay/recording/trace_reader.h"

/* The reader. Besides what every reader returns: WO_E_SYNTAX for a trace without memory events of a GPU, with what to record. */
wo_trace_sniff wo_chrome_trace_sniff;
wo_trace_reading wo_chrome_trace_read;

#endif
