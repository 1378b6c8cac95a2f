/* SPDX-License-Identifier: Apache-2.0 */
/* The pool comes from the entry itself, else from a capture on its stream, else from the segment that holds its address. */
#include "cuda_replay/pattern/private_pools_internal.h"

#include <assert.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

static struct wo__private_segment *segment_at(const struct wo__private_pools *pools, uint64_t address) {
  size_t low = 0;
  WO_LOWER_BOUND(low, pools->segments.count, at, pools->segments.items[at].address <= address);
  if (low == 0) return NULL;
  struct wo__private_segment *const segment = &pools->segments.items[low - 1];
  return address < segment->end ? segment : NULL;
}

/* Whether entries name their pool: then entries without a name belong to the default pool. */
static bool names_pools(const struct wo_trace *trace) {
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->pool != WO_POOL_DEFAULT && wo_entry_is(entry, WO_TRAIT_RANGE)) return true;
  }
  return false;
}

/* A plain segment belongs to its pool since it was allocated; a mapped run, since its first byte was last unmapped. */
static void date_segment(struct wo__private_pools *pools, const struct wo_trace_entry *entry, size_t index) {
  const bool is_alloc = entry->action == WO_ACTION_SEGMENT_ALLOC;
  if (!is_alloc && entry->action != WO_ACTION_SEGMENT_UNMAP) return;
  struct wo__private_segment *const at = segment_at(pools, entry->address);
  const bool has_begun = at && (is_alloc || at->address >= entry->address);
  if (has_begun) at->since = index;
}

enum wo_status wo__private_pools_find(struct wo__private_pools *pools, const struct wo_recording *recording,
                                      const struct wo_trace *trace) {
  *pools = (struct wo__private_pools){0};
  if (recording->pools.count <= 1 || names_pools(trace)) return WO_OK;
  for (size_t i = 0; i < trace->segments.count; i++) {
    const struct wo_trace_segment *const segment = &trace->segments.items[i];
    if (segment->pool == WO_POOL_DEFAULT) continue;
    if (!WO_VEC_RESERVE(&pools->segments, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
    pools->segments.items[pools->segments.count++] = (struct wo__private_segment){
        .address = segment->address, .end = segment->address + segment->size_bytes, .pool = segment->pool};
  }
  for (size_t i = 0; i < trace->entries.count && pools->segments.count > 0; i++) {
    date_segment(pools, &trace->entries.items[i], i);
  }
  return WO_OK;
}

/* The most captures at a time that are followed, more than any program has: each allocation searches them. */
enum { CAPTURES_MAX = 64 };

enum wo_status wo__private_pools_begin(struct wo__private_pools *pools, uint32_t pool, uint32_t stream) {
  if (pools->captures.count >= CAPTURES_MAX) return WO_OK;
  if (!WO_VEC_RESERVE(&pools->captures, 1, CAPTURES_MAX)) return WO_E_NOMEM;
  pools->captures.items[pools->captures.count++] = (struct wo__pool_capture){pool, stream};
  return WO_OK;
}

void wo__private_pools_end(struct wo__private_pools *pools, uint32_t pool) {
  size_t kept = 0;
  for (size_t i = 0; i < pools->captures.count; i++) {
    if (pools->captures.items[i].pool != pool) pools->captures.items[kept++] = pools->captures.items[i];
  }
  pools->captures.count = kept;
}

/* The entry that releases the segment which entry `index` allocated; the count of entries if it stays. */
static size_t released_at(const struct wo_trace *trace, size_t index) {
  const uint64_t address = trace->entries.items[index].address;
  size_t i = index + 1;
  for (; i < trace->entries.count; i++) {
    if (trace->entries.items[i].action == WO_ACTION_SEGMENT_FREE && trace->entries.items[i].address == address) break;
  }
  return i;
}

enum wo_status wo__private_pools_hide(struct wo__private_pools *pools, const struct wo_trace *trace, size_t index,
                                      uint32_t pool) {
  const struct wo_trace_entry *const entry = &trace->entries.items[index];
  if (!WO_VEC_RESERVE(&pools->hidden, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  struct wo__hidden_segment hidden = {.since = index, .until = index, .pool = pool};
  if (entry->action == WO_ACTION_SEGMENT_ALLOC) {
    hidden.address = entry->address;
    hidden.end = entry->address + entry->size_bytes;
    hidden.until = released_at(trace, index);
  }
  pools->hidden.items[pools->hidden.count++] = hidden;
  return WO_OK;
}

uint32_t wo__hidden_pool_of(const struct wo__private_pools *pools, const struct wo_trace *trace, size_t index) {
  const struct wo_trace_entry *const entry = &trace->entries.items[index];
  const bool is_refused = entry->action == WO_ACTION_OOM;
  for (size_t i = pools->hidden.count; i > 0; i--) {
    const struct wo__hidden_segment *const segment = &pools->hidden.items[i - 1];
    const bool is_inside = entry->address >= segment->address && entry->address < segment->end;
    if ((is_refused || is_inside) && index >= segment->since && index <= segment->until && is_refused == (segment->end == 0))
      return segment->pool;
  }
  return WO_POOL_DEFAULT;
}

uint32_t wo__private_pool_of(const struct wo__private_pools *pools, const struct wo_trace *trace, size_t index) {
  assert(index < trace->entries.count);
  const struct wo_trace_entry *const entry = &trace->entries.items[index];
  if (entry->pool != WO_POOL_DEFAULT) return entry->pool;
  for (size_t i = pools->captures.count; i > 0; i--) {
    if (pools->captures.items[i - 1].stream == entry->stream) return pools->captures.items[i - 1].pool;
  }
  const uint32_t hidden = wo__hidden_pool_of(pools, trace, index);
  if (hidden != WO_POOL_DEFAULT || entry->action != WO_ACTION_ALLOC) return hidden;
  const struct wo__private_segment *const segment = segment_at(pools, entry->address);
  return segment && segment->since <= index ? segment->pool : WO_POOL_DEFAULT;
}

void wo__private_pools_done(struct wo__private_pools *pools) {
  WO_VEC_DONE(&pools->segments);
  WO_VEC_DONE(&pools->captures);
  WO_VEC_DONE(&pools->hidden);
}
