/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence, strongest first: the stack of the release names empty_cache; the request that follows failed; memory was mapped
 * before and kept (an expandable attempt that failed half-way); the release has the stack of the allocation; the new segment
 * would not have fitted, or garbage is collected. Without any of them the release counts as empty_cache: then a run without a
 * capacity repeats the recording. */
#include "cuda_replay/pattern/release_cause.h"

#include <assert.h>

/* ---- Capacity ---- */

/* Reserved bytes before the first entry, computed back from the end. Differences are modulo 2^64: a trace that contradicts its
 * segments gives a wrong number, and is refused elsewhere. */
static uint64_t reserved_at_start(const struct wo_trace *trace) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < trace->segments.count; i++) bytes += trace->segments.items[i].size_bytes;
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (wo_entry_is(entry, WO_TRAIT_GROWTH)) bytes -= entry->size_bytes;
    if (wo_entry_is(entry, WO_TRAIT_RELEASE)) bytes += entry->size_bytes;
  }
  return trace->has_segments ? bytes : 0;
}

static void count(struct wo__release_cause *release, const struct wo_trace_entry *entry) {
  if (wo_entry_is(entry, WO_TRAIT_GROWTH)) release->reserved_bytes += entry->size_bytes;
  if (wo_entry_is(entry, WO_TRAIT_RELEASE)) release->reserved_bytes -= entry->size_bytes;
}

enum wo_status wo__release_cause_step(struct wo__release_cause *release, const struct wo_trace_entry *entry) {
  count(release, entry);
  if (!release->repeats_stacks || !wo_entry_is(entry, WO_TRAIT_GROWTH) || entry->stack == WO_NO_STACK) return WO_OK;
  return wo_address_map_put(&release->segment_stacks, entry->address, entry->stack);
}

/* ---- Stacks of frees ---- */

/* Frees that are looked at, and entries before each in which its allocation is searched. */
enum { FREES_SEEN = 64, ALLOCATION_WITHIN = 4096 };

/* The entry that allocated the block which entry `index` frees; NULL: it is not near. */
static const struct wo_trace_entry *allocation_of(const struct wo_trace *trace, size_t index) {
  const uint64_t address = trace->entries.items[index].address;
  for (size_t i = index; i > 0 && index - i < ALLOCATION_WITHIN; i--) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i - 1];
    if (entry->action == WO_ACTION_ALLOC && entry->address == address) return entry;
  }
  return NULL;
}

/* Context "alloc" repeats the allocation's stack where a block is freed (torch/csrc, CUDACachingAllocator.cpp, record_trace in
 * free). */
static bool repeats_stacks(const struct wo_trace *trace) {
  unsigned seen = 0;
  bool does = false;
  for (size_t i = 0; i < trace->entries.count && seen < FREES_SEEN; i++) {
    if (trace->entries.items[i].action != WO_ACTION_FREE_REQUESTED) continue;
    const struct wo_trace_entry *const allocation = allocation_of(trace, i);
    seen++;
    if (allocation && allocation->stack != trace->entries.items[i].stack) return false;
    does = does || (allocation && allocation->stack != WO_NO_STACK);
  }
  return does;
}

struct wo__release_cause wo__release_cause_begin(const struct wo_recording *recording, const struct wo_trace *trace) {
  struct wo__release_cause release = {.recording = recording,
                                      .trace = trace,
                                      .repeats_stacks = repeats_stacks(trace),
                                      .reserved_bytes = reserved_at_start(trace)};
  const uint64_t start_bytes = release.reserved_bytes;
  uint64_t capacity = 0;
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    count(&release, entry);
    if (wo_entry_is(entry, WO_TRAIT_INSTRUCTION)) release.has_instructions = true;
    /* An oom entry's address is the free memory of the device. */
    if (entry->action != WO_ACTION_OOM || entry->address == UINT64_MAX) continue;
    const uint64_t limit = release.reserved_bytes + entry->address;
    if (limit >= entry->address && limit > capacity) capacity = limit;
  }
  if (capacity == 0) capacity = recording->capacity_bytes;
  release.capacity_bytes = capacity > 0 ? capacity : UINT64_MAX;
  release.reserved_bytes = start_bytes;
  return release;
}

void wo__release_cause_done(struct wo__release_cause *release) {
  wo_address_map_done(&release->segment_stacks);
}

/* ---- The decision ---- */

bool wo__stack_names(const struct wo_recording *recording, uint32_t index, const char *word) {
  if (index == WO_NO_STACK) return false;
  const struct wo_stack stack = recording->stacks.items[index];
  for (uint32_t i = 0; i < stack.count; i++) {
    if (wo_view_has(recording->frames.items[recording->stack_frames.items[stack.first + i]].function, word)) return true;
  }
  return false;
}

bool wo__release_cause_is_named(const struct wo_recording *recording, uint32_t stack) {
  return wo__stack_names(recording, stack, "empty_cache") || wo__stack_names(recording, stack, "emptyCache");
}

/* Whether the call that holds entry `first` had mapped or allocated memory before. */
static bool has_grown_before(const struct wo_trace *trace, size_t first) {
  for (size_t i = first; i > 0 && wo_entry_is(&trace->entries.items[i - 1], WO_TRAIT_IN_CALL); i--) {
    if (wo_entry_is(&trace->entries.items[i - 1], WO_TRAIT_GROWTH)) return true;
  }
  return false;
}

/* What stacks show. A retry gives all that it releases the stack of its request. A call to empty_cache() has its own, or, where
 * the recording has none for it, each segment has that of its own allocation, which may be the request's by chance. */
enum witness { SHOWS_NOTHING, SHOWS_RETRY, SHOWS_CALL };

static enum witness ask_stacks(const struct wo__release_cause *release, size_t first, size_t end) {
  const struct wo_trace_entry *const entries = release->trace->entries.items;
  const uint32_t asked = entries[end].stack;
  if (asked == WO_NO_STACK) return SHOWS_NOTHING;
  if (entries[first].stack != WO_NO_STACK && entries[first].stack != asked) return SHOWS_CALL;
  if (entries[first].stack == WO_NO_STACK) return SHOWS_NOTHING;
  if (!release->repeats_stacks) return SHOWS_RETRY;
  for (size_t i = first; i < end; i++) {
    uint32_t own = WO_NO_STACK;
    if (!wo_entry_is(&entries[i], WO_TRAIT_RELEASE)) continue;
    if (entries[i].stack != asked) return SHOWS_CALL;
    if (wo_address_map_find(&release->segment_stacks, entries[i].address, &own) && own != asked) return SHOWS_RETRY;
  }
  return SHOWS_NOTHING;
}

bool wo__release_cause_is_retry(const struct wo__release_cause *release, size_t first, bool *ret_is_sure) {
  const struct wo_trace *const trace = release->trace;
  const struct wo_trace_entry *const begin = &trace->entries.items[first];
  assert(wo_entry_is(begin, WO_TRAIT_RELEASE));
  uint64_t grown_bytes = 0;
  bool has_unmapped = false;
  size_t end = first;
  for (; end < trace->entries.count && wo_entry_is(&trace->entries.items[end], WO_TRAIT_IN_CALL); end++) {
    if (wo_entry_is(&trace->entries.items[end], WO_TRAIT_GROWTH)) grown_bytes += trace->entries.items[end].size_bytes;
    if (trace->entries.items[end].action == WO_ACTION_SEGMENT_UNMAP) has_unmapped = true;
  }
  *ret_is_sure = true;
  if (end == trace->entries.count || wo__release_cause_is_named(release->recording, begin->stack)) return false;
  const struct wo_trace_entry *const request = &trace->entries.items[end];
  if (request->action == WO_ACTION_OOM) return true;
  /* Only parts that unmapping leaves can serve the request without growth. */
  if (request->action != WO_ACTION_ALLOC || (grown_bytes == 0 && !has_unmapped)) return false;
  if (release->has_instructions || has_grown_before(trace, first)) return true;
  const enum witness witness = ask_stacks(release, first, end);
  if (witness != SHOWS_NOTHING) return witness == SHOWS_RETRY;
  *ret_is_sure = false;
  if (wo__release_cause_alone(release) == WO__ALONE_OFTEN) return true;
  if (release->capacity_bytes == UINT64_MAX) return false;
  return release->reserved_bytes >= release->capacity_bytes || grown_bytes > release->capacity_bytes - release->reserved_bytes;
}

enum wo__alone wo__release_cause_alone(const struct wo__release_cause *release) {
  const struct wo_alloc_settings *const settings = &release->recording->settings;
  if (settings->garbage_collection_threshold > 0) return WO__ALONE_OFTEN;
  return settings->max_split_bytes != WO_SPLIT_UNLIMITED ? WO__ALONE_SELDOM : WO__ALONE_NEVER;
}
