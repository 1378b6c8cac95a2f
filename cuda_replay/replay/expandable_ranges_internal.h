/* SPDX-License-Identifier: Apache-2.0 */
/* The possible extent of the reserved ranges of a recording's expandable segments. Private to start.c and device_recorded.c. */
#ifndef WO_EXPANDABLE_RANGES_INTERNAL_H
#define WO_EXPANDABLE_RANGES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/replay/start.h"
#include "cuda_replay/recording/trace.h"

/* The pool of a mapping: small requests map one handle of 2 MiB, others whole handles of at least 10 MiB. */
static inline bool wo__is_small_map(const struct wo_trace_entry *entry) {
  return entry->size_bytes == (uint64_t)2 * 1024 * 1024;
}

/* Whether the start has a mapped run. */
bool wo__start_has_ranges(const struct wo_start *start);

/* The memory of the card: as the recording states it, else the largest size for which no range of torch's size (the card and an
 * eighth) reaches into the next thing in the recording, at most 256 GiB. It only decides the length of ranges. `start`: the
 * segments before the first entry; NULL: none. WO_E_NOMEM. */
enum wo_status wo__card_bytes(const struct wo_recording *recording, const struct wo_trace *trace, const struct wo_start *start,
                              uint64_t *ret_bytes);

#endif
