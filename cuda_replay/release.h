/* Why segments were released: the program emptied the cache, or an allocation that found no room tried again. Private to
 * pattern.c.
 *
 * A recording shows the released segments and not the reason. Both leave the same state when everything unused is released and
 * the next allocation needs new memory; they differ when the same program runs on a larger card. */
#ifndef WO_RELEASE_H
#define WO_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/trace.h"

/* What stays the same for all runs of a trace, and the memory in use at the place of the walk. */
struct wo__release {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  bool has_instructions;   /* the trace tells each empty_cache() itself */
  uint64_t reserved_bytes; /* before the entry that wo__release_step is called with next */
  uint64_t capacity_bytes; /* what reserved_bytes cannot exceed, as far as known; UINT64_MAX: not known */
};

/* Looks over the trace once. */
struct wo__release wo__release_begin(const struct wo_recording *recording, const struct wo_trace *trace);

/* Counts an entry in reserved_bytes. */
void wo__release_step(struct wo__release *release, const struct wo_trace_entry *entry);

/* Whether the run of released segments that begins at entry `first` belongs to the request that follows it. */
bool wo__release_is_retry(const struct wo__release *release, size_t first);

#endif
