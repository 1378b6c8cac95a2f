/* SPDX-License-Identifier: Apache-2.0 */
/* The capacity of a recording's card. See capacity.h. */
#include "cuda_replay/whatif/capacity.h"

#include <assert.h>

#include "cuda_replay/allocator/allocator.h"

#define MIB (UINT64_C(1024) * 1024)

/* A stated size is usually the card's, of which a context takes 300 to 600 MiB and libraries more. After a failure the figure
 * already excludes all of this, and only library buffers that are allocated late can change it. */
#define STATED_UNCERTAINTY_BYTES (640 * MIB)
#define SEEN_UNCERTAINTY_BYTES (256 * MIB)

/* What a segment event adds to the reserved bytes, modulo 2^64. */
static uint64_t change_of(const struct wo_trace_entry *entry) {
  switch ((enum wo_action)entry->action) {
  case WO_ACTION_SEGMENT_ALLOC:
  case WO_ACTION_SEGMENT_MAP:
    return entry->size_bytes;
  case WO_ACTION_SEGMENT_FREE:
  case WO_ACTION_SEGMENT_UNMAP:
    return 0 - entry->size_bytes;
  default:
    return 0;
  }
}

/* Reserved bytes before entry `at`: computed backwards from the segments at the end if the file has them, else forwards from 0.
 * Sums are modulo 2^64, so that hostile sizes wrap instead of overflowing; the caller checks whether the result is possible. */
static uint64_t reserved_before(const struct wo_trace *trace, size_t at) {
  assert(at <= trace->entries.count);
  uint64_t sum = 0;
  if (!trace->has_segments) {
    for (size_t i = 0; i < at; i++) sum += change_of(&trace->entries.items[i]);
    return sum;
  }
  for (size_t i = 0; i < trace->segments.count; i++) sum += trace->segments.items[i].size_bytes;
  for (size_t i = trace->entries.count; i > at; i--) sum -= change_of(&trace->entries.items[i - 1]);
  return sum;
}

/* Programs that retry with less memory have several failures; the last one includes most of the other memory on the card. */
static uint32_t last_oom(const struct wo_trace *trace) {
  for (size_t i = trace->entries.count; i > 0; i--) {
    if (trace->entries.items[i - 1].action == WO_ACTION_OOM && i - 1 < UINT32_MAX) return (uint32_t)(i - 1);
  }
  return UINT32_MAX;
}

/* Everything was released before the driver was asked for its free memory, so the allocator can have at most reserved + free. */
static struct wo_capacity from_oom(const struct wo_recording *recording, const struct wo_trace *trace, uint32_t at) {
  const struct wo_trace_entry *const oom = &trace->entries.items[at];
  const uint64_t reserved = reserved_before(trace, at);
  const uint64_t most = UINT64_C(1) << 60;
  struct wo_capacity capacity = {.oom_entry = at};
  if (reserved > most || oom->address > most || oom->size_bytes > most) return capacity;
  const uint64_t segment = wo_alloc_segment_bytes(&recording->settings, oom->size_bytes);
  const bool is_refused = oom->address >= segment + recording->settings.large_segment_bytes;
  capacity.from = is_refused ? WO_CAPACITY_FRACTION : WO_CAPACITY_OOM_ENTRY;
  capacity.bytes = is_refused ? reserved : reserved + oom->address;
  capacity.uncertainty_bytes = is_refused ? segment : SEEN_UNCERTAINTY_BYTES;
  if (capacity.bytes == 0) capacity.from = WO_CAPACITY_NONE;
  return capacity;
}

/* A stated capacity beats an observed one, since the user asks about that card. An observed one beats the file's figure, which is
 * the size of the whole card. */
struct wo_capacity wo_capacity_find(const struct wo_recording *recording, const struct wo_trace *trace, uint64_t stated_bytes) {
  assert(recording != NULL && trace != NULL);
  const uint32_t at = last_oom(trace);
  /* Without segments the bytes reserved then are unknown. */
  const bool is_told = at != UINT32_MAX && !recording->has_only_ids;
  const struct wo_capacity seen = is_told ? from_oom(recording, trace, at) : (struct wo_capacity){.oom_entry = at};
  struct wo_capacity stated = {.uncertainty_bytes = STATED_UNCERTAINTY_BYTES, .oom_entry = at};
  if (stated_bytes > 0) {
    stated.from = WO_CAPACITY_OPTION;
    stated.bytes = stated_bytes;
    return stated;
  }
  if (seen.from != WO_CAPACITY_NONE || recording->capacity_bytes == 0) return seen;
  stated.from = WO_CAPACITY_FILE;
  stated.bytes = recording->capacity_bytes;
  return stated;
}
