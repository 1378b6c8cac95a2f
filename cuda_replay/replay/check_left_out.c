/* SPDX-License-Identifier: Apache-2.0 */
/* What a comparison leaves out, or compares with itself: blocks that changed while the snapshot was taken, and blocks that no
 * entry touches. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/replay/check_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

#define MIB ((uint64_t)1024 * 1024)
#define UNIT_BYTES ((uint64_t)512)

/* ---- Calls between the two copies ---- */

static enum wo_status add(struct wo_trace *trace, struct wo_trace_entry entry, enum wo_action action) {
  entry.action = (unsigned)action & 0x1f;
  return wo_trace_add(trace, entry);
}

/* The free of a block that is gone, in the actions that the recording has. */
static enum wo_status add_free(struct wo_trace *trace, const struct wo_trace_entry *entry, bool has_requested,
                               bool has_completed) {
  enum wo_status status = WO_OK;
  if (has_requested && entry->action == WO_ACTION_ALLOC) status = add(trace, *entry, WO_ACTION_FREE_REQUESTED);
  if (status == WO_OK && has_completed) status = add(trace, *entry, WO_ACTION_FREE_COMPLETED);
  return status;
}

static enum wo_status add_missing(struct wo_trace *trace, const struct wo_stranger *stranger, bool has_requested,
                                  bool has_completed) {
  if (stranger->is_gone) return add_free(trace, &stranger->entry, has_requested, has_completed);
  const enum wo_status status = add(trace, stranger->entry, WO_ACTION_ALLOC);
  return status == WO_OK && stranger->is_pending ? add(trace, stranger->entry, WO_ACTION_FREE_REQUESTED) : status;
}

/* The stranger after `last` (NULL: the first one): of those that are gone, or of the new ones, by falling or rising address. */
static const struct wo_stranger *next_missing(const struct wo_strangers *strangers, bool is_gone, bool is_falling,
                                              const struct wo_stranger *last) {
  const struct wo_stranger *next = NULL;
  for (size_t i = 0; i < strangers->count; i++) {
    const struct wo_stranger *const one = &strangers->items[i];
    const uint64_t address = one->entry.address;
    if (one->is_gone != is_gone) continue;
    if (last && (is_falling ? address >= last->entry.address : address <= last->entry.address)) continue;
    if (!next || (is_falling ? address > next->entry.address : address < next->entry.address)) next = one;
  }
  return next;
}

enum wo_status wo__check_complete(const struct wo_trace *trace, const struct wo_strangers *strangers, unsigned order,
                                  struct wo_trace *ret_trace) {
  assert(order < WO__CHECK_ORDERS);
  const bool has_requested = wo_trace_has(trace, WO_ACTION_FREE_REQUESTED), has_completed = wo_trace_has_completions(trace);
  *ret_trace = *trace;
  ret_trace->entries.items = NULL;
  ret_trace->entries.count = ret_trace->entries.capacity = 0;
  if (!WO_VEC_RESERVE(&ret_trace->entries, trace->entries.count + 3 * WO_START_STRANGERS_MAX, 2 * WO_LIMIT_TRACE_ENTRIES))
    return WO_E_NOMEM;
  memcpy(ret_trace->entries.items, trace->entries.items, trace->entries.count * sizeof *trace->entries.items);
  ret_trace->entries.count = trace->entries.count;
  enum wo_status status = WO_OK;
  for (unsigned part = 0; part < 2; part++) {
    const bool is_gone = (part == 0) == (order % 2 == 0);
    const struct wo_stranger *next = next_missing(strangers, is_gone, order >= 2, NULL);
    for (; next && status == WO_OK; next = next_missing(strangers, is_gone, order >= 2, next))
      status = add_missing(ret_trace, next, has_requested, has_completed);
  }
  return status;
}

/* ---- Blocks that no entry touches ---- */

/* Whether the allocator gives a block of that size for the request. */
static bool is_of_request(const struct wo_alloc_settings *settings, const struct wo_allocator_segment *segment,
                          const struct wo_allocator_block *block) {
  const uint64_t least = wo_alloc_round(settings, block->requested_bytes);
  if (block->size_bytes < least) return false;
  const uint64_t more = block->size_bytes - least;
  if (segment->is_small || segment->is_expandable) return more < UNIT_BYTES;
  return more <= MIB || (least >= settings->max_split_bytes && block->size_bytes == segment->size_bytes);
}

/* The number of the segment that an entry names; the count of segments if it is none of them. */
static size_t segment_of(const struct wo_trace *trace, uint64_t address) {
  size_t low = 0;
  WO_LOWER_BOUND(low, trace->segments.count, at, trace->segments.items[at].address <= address);
  const bool is_inside = low > 0 && address - trace->segments.items[low - 1].address < trace->segments.items[low - 1].size_bytes;
  return is_inside ? low - 1 : trace->segments.count;
}

/* Free blocks of segments that no entry names. */
static enum wo_status count_idle(struct wo__checker *checker) {
  const struct wo_trace *const trace = checker->trace;
  bool *const is_touched = calloc(trace->segments.count + 1, sizeof *is_touched);
  if (!is_touched) return WO_E_NOMEM;
  size_t idle = trace->segments.count;
  for (size_t i = 0; i < trace->entries.count && idle > 0; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (wo_trace_completes_at_once(trace, i)) continue; /* its request names the same */
    const size_t segment = wo_entry_is(entry, WO_TRAIT_RANGE) ? segment_of(trace, entry->address) : trace->segments.count;
    idle -= segment < trace->segments.count && !is_touched[segment];
    is_touched[segment] = true;
  }
  for (size_t i = 0; i < trace->segments.count; i++) {
    const struct wo_trace_segment *const segment = &trace->segments.items[i];
    for (uint32_t j = 0; j < segment->block_count && !is_touched[i]; j++)
      checker->check->blocks_untouched += trace->blocks.items[segment->first_block + j].state == WO_BLOCK_FREE;
  }
  free(is_touched);
  return WO_OK;
}

/* Whether an entry names them, for each instance of the start. The caller frees it; NULL: no memory. */
static bool *find_named(const struct wo_alloc_pattern *pattern) {
  bool *const is_named = calloc(pattern->start_count + 1, sizeof *is_named);
  for (size_t i = 0; is_named && i < pattern->requests.count; i++) {
    const struct wo_request *const request = &pattern->requests.items[i];
    const bool is_of_start = wo_request_has_instance(request) && request->subject < pattern->start_count;
    if (is_of_start && request->entry != WO_NO_ENTRY) is_named[request->subject] = true;
  }
  return is_named;
}

static enum wo_status count_live(struct wo__checker *checker) {
  const struct wo_start *const start = &checker->start;
  struct wo_replay_check *const check = checker->check;
  bool *const is_named = find_named(&checker->pattern);
  size_t block = 0, instance = 0;
  if (!is_named) return WO_E_NOMEM;
  for (size_t i = 0; i < start->segments.count; i++) {
    for (size_t end = block + start->block_counts.items[i]; block < end; block++) {
      const struct wo_allocator_block *const present = &start->blocks.items[block];
      const bool is_live = present->state != WO_BLOCK_FREE && instance < checker->pattern.start_count;
      if (!is_live || is_named[instance++]) continue;
      check->blocks_untouched++;
      check->blocks_unexplained += !is_of_request(&checker->settings, &start->segments.items[i], present);
    }
  }
  free(is_named);
  return WO_OK;
}

enum wo_status wo__check_count_left_out(struct wo__checker *checker) {
  struct wo_replay_check *const check = checker->check;
  check->blocks = checker->trace->blocks.count;
  check->blocks_untouched = check->blocks_unexplained = 0;
  const enum wo_status status = count_live(checker);
  return status == WO_OK ? count_idle(checker) : status;
}
