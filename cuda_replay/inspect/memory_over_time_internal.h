/* SPDX-License-Identifier: Apache-2.0 */
/* Private to memory_over_time*.c: the recorder of one run. */
#ifndef WO_MEMORY_OVER_TIME_INTERNAL_H
#define WO_MEMORY_OVER_TIME_INTERNAL_H

#include "cuda_replay/inspect/memory_over_time.h"

struct wo_memory_recorder;

/* A recorder for one run of the pattern from `start` (as in wo_replay_options; NULL allowed). map_at: the request after which the
 * segment map is taken; WO_NO_REQUEST = none. All is borrowed. NULL if memory is out. */
struct wo_memory_recorder *wo_memory_recorder_new(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace,
                                                  const struct wo_start *start, uint32_t map_at);

/* The observers for the run. Both are needed. */
struct wo_replay_observer wo_memory_recorder_steps(struct wo_memory_recorder *recorder);
struct wo_allocator_observer wo_memory_recorder_events(struct wo_memory_recorder *recorder);

/* Ends the recording: moves the result to the caller (outcome is empty) and frees the recorder. WO_E_NOMEM if memory was out on
 * the way; nothing is returned then. */
enum wo_status wo_memory_recorder_finish(struct wo_memory_recorder *recorder, struct wo_memory_over_time *ret_memory);

#endif
