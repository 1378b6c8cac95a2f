/* SPDX-License-Identifier: Apache-2.0 */
/* Profiler traces (torch.profiler with profile_memory=True, Chrome's trace format): the [memory] and [OutOfMemory] events of
 * GPUs.
 *
 * Such a file has addresses, block sizes (requests rounded up, so fidelity is WO_TRACE_BLOCK_SIZES), times, and the operators
 * that ran around an event, which become its stack (operators as frames whose file is "op", Python functions with their file and
 * line). It has no streams, pools, segments, settings, or version of torch.
 *
 * Blocks that are freed and were never allocated were alive before profiling began: the trace begins with an ALLOC of each, by
 * rising address, with WO_NO_TIME. Further memory that was allocated then (Total Allocated of the first event shows it) and stays
 * to the end is one more such block, at an unused address. The file's sums (Total Allocated, Total Reserved) are compared with
 * the result; notes report where they disagree, and the course of reserved memory.
 *
 * Marks that divide a run into steps (ProfilerStep#N, Optimizer.*) become annotations of the first device. The memory of the
 * first card in deviceProperties is the capacity.
 *
 * Facts: torch/csrc/profiler/collection.cpp and kineto_shim.cpp, libkineto/src/output_json.cpp. Memory grows only with memory
 * events; a file that was not closed gives the events that it has. */
#ifndef WO_CHROME_TRACE_H
#define WO_CHROME_TRACE_H

#include "cuda_replay/recording/trace_reader.h"

/* The reader. In addition to the results of every reader: WO_E_SYNTAX for a trace without memory events of a GPU; the message
 * says what to record. */
wo_trace_sniff wo_chrome_trace_sniff;
wo_trace_reading wo_chrome_trace_read;

#endif
