/* SPDX-License-Identifier: Apache-2.0 */
/* Finds why segments were released: the program emptied the cache, or an allocation that found no room tried again.
 *
 * A recording shows the released segments, but not the reason. Both reasons give the same state when everything unused is
 * released and the next allocation needs new memory; they differ when the same program runs on a larger card. */
#ifndef WO_RELEASE_CAUSE_H
#define WO_RELEASE_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/vec.h"

/* Facts about the whole trace, and the memory that is reserved at the present entry. */
struct wo__release_cause {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  bool has_instructions; /* the trace states each empty_cache() itself */
  bool repeats_stacks;   /* frees have the stacks of their allocations (context "alloc"), and so have released segments */
  struct wo_address_map segment_stacks; /* owned: of the segments so far, by address; only if repeats_stacks */
  uint64_t reserved_bytes;              /* before the entry that wo__release_cause_step is called with next */
  uint64_t capacity_bytes;              /* limit of reserved_bytes; UINT64_MAX: not known */
};

/* Reads the facts about the whole trace. Released with wo__release_cause_done. */
struct wo__release_cause wo__release_cause_begin(const struct wo_recording *recording, const struct wo_trace *trace);
void wo__release_cause_done(struct wo__release_cause *release);

/* Counts an entry in reserved_bytes, and keeps the stack of a new segment. WO_E_NOMEM. */
enum wo_status wo__release_cause_step(struct wo__release_cause *release, const struct wo_trace_entry *entry);

/* Whether the run of released segments that begins at entry `first` belongs to the request that follows it. *ret_is_sure: whether
 * the recording proves it; otherwise the answer is the one that fits best. */
bool wo__release_cause_is_retry(const struct wo__release_cause *release, size_t first, bool *ret_is_sure);

/* Whether a function of a stack has a word in its name; WO_NO_STACK: no. */
bool wo__stack_names(const struct wo_recording *recording, uint32_t stack, const char *word);

/* Whether the stack of a release names a call that empties the cache. */
bool wo__release_cause_is_named(const struct wo_recording *recording, uint32_t stack);

/* Whether a request can release memory without waiting for all streams: never, seldom (oversize blocks with max_split_size) or
 * often (garbage collection). */
enum wo__alone { WO__ALONE_NEVER, WO__ALONE_SELDOM, WO__ALONE_OFTEN };
enum wo__alone wo__release_cause_alone(const struct wo__release_cause *release);

/* The segment that an entry allocates, or the request that was refused there, belongs to a private pool that nothing names. Those
 * of one number are in one pool. */
struct wo__hidden {
  size_t entry;
  uint32_t number;
  bool is_named; /* the number is the recording's own of a pool that is left; else it counts those that nothing names */
};

/* How runs whose reason the recording does not show are explained. */
struct wo__readings {
  WO_VEC(size_t) turns;  /* entries, rising: from the run at each one on, unsure runs are read the other way than before */
  WO_VEC(size_t) unsure; /* set by wo__alloc_pattern_read: the first entries of all unsure runs */
  WO_VEC(struct wo__hidden) hidden;
  WO_VEC(size_t) emptied; /* the first entries of runs that release one private pool alone: a MemPool ended there */
};

struct wo_alloc_pattern;

/* wo_alloc_pattern_make with given readings (alloc_pattern.c). */
enum wo_status wo__alloc_pattern_read(const struct wo_recording *recording, const struct wo_trace *trace,
                                      struct wo__readings *readings, struct wo_alloc_pattern *ret_pattern, struct wo_err *err);

#endif
