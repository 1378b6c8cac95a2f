/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of readers after the whole file has been read: adds blocks that were alive before the first entry, if the file does not
 * state them, and sorts annotations. */
#ifndef WO_TRACE_FRONT_H
#define WO_TRACE_FRONT_H

#include <stddef.h>

#include "cuda_replay/recording/trace.h"

/* Allocations that go in front of all entries of a trace. Empty when all is 0; released with WO_VEC_DONE. */
struct wo_trace_front {
  struct wo_trace_entry *items;
  size_t count, capacity;
};

/* Adds a block of the default pool and stream 0, without a time. WO_E_NOMEM, WO_E_LIMIT (WO_LIMIT_TRACE_ENTRIES). */
enum wo_status wo_trace_front_add(struct wo_trace_front *front, uint64_t address, uint64_t size_bytes);

/* Puts the allocations in front, by rising address. WO_E_NOMEM; WO_E_LIMIT when there is no room for them. On either error the
 * trace is unchanged. */
enum wo_status wo_trace_front_put(struct wo_trace_front *front, struct wo_trace *trace);

/* Sorts annotations by time; those of equal time keep their order. False when memory is out. */
bool wo_trace_sort_annotations(struct wo_recording *recording);

#endif
