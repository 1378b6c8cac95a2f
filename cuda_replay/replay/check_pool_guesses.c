/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses of private pools that nothing names: each changes the readings at a divergence, and none knows whether it is right. */
#include <stdlib.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/replay/check_pools_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

#define SMALL_SEGMENT_BYTES ((uint64_t)2 * 1024 * 1024)

/* ---- Hiding ---- */

size_t wo__find_segment(const struct wo_trace *trace, uint64_t address, size_t end) {
  size_t found = SIZE_MAX;
  for (size_t i = end; i > 0 && found == SIZE_MAX; i--) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i - 1];
    const bool is_here =
        entry->action == WO_ACTION_SEGMENT_ALLOC && address >= entry->address && address - entry->address < entry->size_bytes;
    if (is_here) found = i - 1;
  }
  if (found == SIZE_MAX) return SIZE_MAX;
  for (size_t i = found + 1; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action == WO_ACTION_SEGMENT_FREE && entry->address == trace->entries.items[found].address) return found;
  }
  return SIZE_MAX;
}

enum wo__guess wo__hide(struct wo__checker *checker, size_t entry, uint32_t number) {
  struct wo__readings *const readings = &checker->readings;
  for (size_t i = 0; i < readings->hidden.count; i++) {
    struct wo__hidden *const hidden = &readings->hidden.items[i];
    if (hidden->entry != entry) continue;
    if (hidden->is_named) return WO__GUESS_NONE;
    hidden->number = number;
    return WO__GUESS_MADE;
  }
  if (readings->hidden.count == WO__HIDDEN_MAX) return WO__GUESS_NONE;
  if (!WO_VEC_RESERVE(&readings->hidden, 1, WO__HIDDEN_MAX)) return WO__GUESS_NO_MEMORY;
  readings->hidden.items[readings->hidden.count++] = (struct wo__hidden){.entry = entry, .number = number};
  return WO__GUESS_MADE;
}

bool wo__is_hidden(const struct wo__checker *checker, size_t entry) {
  for (size_t i = 0; i < checker->readings.hidden.count; i++) {
    if (checker->readings.hidden.items[i].entry == entry) return true;
  }
  return false;
}

/* ---- One segment or request ---- */

/* The refused request at a divergence (a capture releases nothing first), the new segment of the recording there, or that of the
 * recorded address. */
enum wo__guess wo__guess_suspect(struct wo__checker *checker, const struct wo__start_trial *trial) {
  const struct wo_trace *const trace = checker->trace;
  const struct wo_trace_entry *const expected = &trace->entries.items[trial->cursor];
  size_t entry = trial->cursor;
  if (entry == trace->entries.count || expected->action == WO_ACTION_SEGMENT_FREE) return WO__GUESS_NONE;
  if (expected->action != WO_ACTION_OOM)
    entry = wo__find_segment(trace, expected->address, trial->cursor + (expected->action == WO_ACTION_SEGMENT_ALLOC ? 1 : 0));
  if (entry == SIZE_MAX || wo__is_hidden(checker, entry)) return WO__GUESS_NONE;
  return wo__hide(checker, entry, checker->next_pool++);
}

/* ---- Releases ---- */

/* Whether an entry releases a segment in the same call as another one: calls one after the other differ in their stacks. */
static bool is_of_run(const struct wo_trace *trace, size_t i, size_t other) {
  return i < trace->entries.count && trace->entries.items[i].action == WO_ACTION_SEGMENT_FREE &&
         trace->entries.items[i].stack == trace->entries.items[other].stack;
}

/* Whether a segment is released at an entry; behind the last one nothing is. */
static bool is_released_at(const struct wo_trace *trace, size_t i) {
  return i < trace->entries.count && trace->entries.items[i].action == WO_ACTION_SEGMENT_FREE;
}

static bool is_release(const struct wo__checker *checker, const struct wo__start_trial *trial) {
  return is_released_at(checker->trace, trial->cursor) || trial->released_address > 0;
}

/* Whether a release comes before another one in the order of one pool: small segments first (the default pool: large ones), by
 * stream, size and address. */
static bool is_in_order(const struct wo__checker *checker, size_t before, size_t after, bool is_default) {
  const struct wo_trace_entry *const a = &checker->trace->entries.items[before], *const b = &checker->trace->entries.items[after];
  const uint64_t *const streams = checker->recording->streams.items;
  const bool is_a_small = a->size_bytes == SMALL_SEGMENT_BYTES, is_b_small = b->size_bytes == SMALL_SEGMENT_BYTES;
  if (is_a_small != is_b_small) return is_a_small != is_default;
  if (streams[a->stream] != streams[b->stream]) return streams[a->stream] < streams[b->stream];
  return a->size_bytes != b->size_bytes ? a->size_bytes < b->size_bytes : a->address < b->address;
}

/* A MemPool ends at an entry. */
static enum wo__guess empty_at(struct wo__checker *checker, size_t entry) {
  struct wo__readings *const readings = &checker->readings;
  if (readings->emptied.count == WO__HIDDEN_MAX) return WO__GUESS_NONE;
  if (!WO_VEC_RESERVE(&readings->emptied, 1, WO__HIDDEN_MAX)) return WO__GUESS_NO_MEMORY;
  readings->emptied.items[readings->emptied.count++] = entry;
  return WO__GUESS_MADE;
}

/* The run of releases at a divergence ends a MemPool, or several one after the other: all segments of each are in one pool, and
 * no other is released. */
static enum wo__guess guess_emptied(struct wo__checker *checker, const struct wo__start_trial *trial, bool is_each) {
  const struct wo_trace *const trace = checker->trace;
  uint32_t number = 0;
  /* The run, or the last one if the model goes on with it. */
  size_t first = trial->cursor;
  if (!is_release(checker, trial)) return WO__GUESS_NONE;
  while (first > 0 && !is_released_at(trace, first)) first--;
  if (!is_released_at(trace, first)) return WO__GUESS_NONE;
  while (first > 0 && is_of_run(trace, first - 1, first)) first--;
  for (size_t i = first; i == first || is_of_run(trace, i, first); i++) {
    const size_t segment = wo__find_segment(trace, trace->entries.items[i].address, i);
    if (segment == SIZE_MAX) return WO__GUESS_NONE;
    enum wo__guess guess = WO__GUESS_MADE;
    if (i == first || is_each || !is_in_order(checker, i - 1, i, false)) {
      number = checker->next_pool++;
      guess = empty_at(checker, i);
    }
    if (guess == WO__GUESS_MADE) guess = wo__hide(checker, segment, number);
    if (guess != WO__GUESS_MADE) return guess;
  }
  return WO__GUESS_MADE;
}

/* The end of the run of releases at a divergence is of pools without users, which come after the default pool, one after the
 * other: from where the default pool's order ends, else from the divergence. */
static enum wo__guess guess_tail(struct wo__checker *checker, const struct wo__start_trial *trial, bool is_each) {
  const struct wo_trace *const trace = checker->trace;
  enum wo__guess made = WO__GUESS_NONE;
  uint32_t number = checker->next_pool++;
  if (!is_released_at(trace, trial->cursor)) return made;
  size_t first = trial->cursor;
  while (first > 0 && is_of_run(trace, first - 1, first)) first--;
  first++;
  while (is_of_run(trace, first, trial->cursor) && is_in_order(checker, first - 1, first, true)) first++;
  if (!is_of_run(trace, first, trial->cursor)) first = trial->cursor;
  for (size_t i = first; is_of_run(trace, i, trial->cursor); i++) {
    const size_t segment = wo__find_segment(trace, trace->entries.items[i].address, i);
    if (i > first && (is_each || !is_in_order(checker, i - 1, i, false))) number = checker->next_pool++;
    if (segment == SIZE_MAX) continue;
    const enum wo__guess guess = wo__hide(checker, segment, number);
    if (guess == WO__GUESS_NO_MEMORY) return guess;
    if (guess == WO__GUESS_MADE) made = guess;
  }
  return made;
}

enum wo__guess wo__guess_emptied(struct wo__checker *checker, const struct wo__start_trial *trial) {
  return guess_emptied(checker, trial, false);
}

enum wo__guess wo__guess_tail(struct wo__checker *checker, const struct wo__start_trial *trial) {
  return guess_tail(checker, trial, false);
}

/* Where pools follow each other in one order, nothing shows where the next one begins: each segment is in a pool of its own. */
enum wo__guess wo__guess_each_emptied(struct wo__checker *checker, const struct wo__start_trial *trial) {
  return guess_emptied(checker, trial, true);
}

enum wo__guess wo__guess_each_of_tail(struct wo__checker *checker, const struct wo__start_trial *trial) {
  return guess_tail(checker, trial, true);
}

/* What is released with the default pool was taken for private by a guess before. */
enum wo__guess wo__guess_shown(struct wo__checker *checker, const struct wo__start_trial *trial) {
  const struct wo_trace *const trace = checker->trace;
  struct wo__readings *const readings = &checker->readings;
  enum wo__guess made = WO__GUESS_NONE;
  for (size_t i = trial->cursor; is_released_at(trace, trial->cursor) && is_of_run(trace, i, trial->cursor); i++) {
    const size_t segment = wo__find_segment(trace, trace->entries.items[i].address, i);
    size_t kept = 0;
    for (size_t k = 0; k < readings->hidden.count; k++) {
      const bool is_it = readings->hidden.items[k].entry == segment && !readings->hidden.items[k].is_named;
      if (is_it) made = WO__GUESS_MADE;
      if (!is_it) readings->hidden.items[kept++] = readings->hidden.items[k];
    }
    readings->hidden.count = kept;
  }
  return made;
}

/* A segment of the recording, while it exists. */
struct seen_segment {
  size_t entry;
  uint64_t end;
  size_t live; /* blocks */
};

/* Segments by address as entries show them. */
struct seen {
  struct wo_address_map map; /* address -> index */
  WO_VEC(struct seen_segment) list;
};

static struct seen_segment *seen_at(const struct seen *seen, uint64_t address) {
  struct wo_address_item item;
  if (!wo_address_map_below(&seen->map, address, &item)) return NULL;
  struct seen_segment *const segment = &seen->list.items[item.value];
  return address < segment->end ? segment : NULL;
}

static bool see(struct seen *seen, const struct wo_trace *trace, size_t index) {
  const struct wo_trace_entry *const entry = &trace->entries.items[index];
  struct seen_segment *const segment = seen_at(seen, entry->address);
  switch ((enum wo_action)entry->action) {
  case WO_ACTION_SEGMENT_ALLOC:
    if (!WO_VEC_RESERVE(&seen->list, 1, WO_LIMIT_TRACE_ENTRIES)) return false;
    seen->list.items[seen->list.count++] = (struct seen_segment){index, entry->address + entry->size_bytes, 0};
    return wo_address_map_put(&seen->map, entry->address, (uint32_t)seen->list.count - 1) == WO_OK;
  case WO_ACTION_SEGMENT_FREE:
    wo_address_map_remove(&seen->map, entry->address, NULL);
    return true;
  case WO_ACTION_ALLOC:
    if (segment) segment->live++;
    return true;
  case WO_ACTION_FREE_COMPLETED:
    if (segment && segment->live > 0) segment->live--;
    return true;
  default:
    return true;
  }
}

/* Each segment that has no block and that the release at a divergence left alone, in a pool of its own: its pool has a user. */
enum wo__guess wo__guess_left(struct wo__checker *checker, const struct wo__start_trial *trial) {
  const struct wo_trace *const trace = checker->trace;
  struct seen seen = {.list = {0}};
  size_t end = trial->cursor;
  bool is_done = true;
  enum wo__guess made = WO__GUESS_NONE;
  if (!is_release(checker, trial)) return made;
  while (is_released_at(trace, end)) end++;
  for (size_t i = 0; i < end && is_done; i++) is_done = see(&seen, trace, i);
  struct wo_address_item item;
  for (uint64_t at = 0; is_done && wo_address_map_above(&seen.map, at, &item); at = item.address + 1) {
    const struct seen_segment *const segment = &seen.list.items[item.value];
    const bool is_open = segment->live > 0 || wo__is_hidden(checker, segment->entry);
    if (is_open || wo__find_segment(trace, item.address, end) == SIZE_MAX) continue;
    const enum wo__guess guess = wo__hide(checker, segment->entry, checker->next_pool++);
    is_done = guess != WO__GUESS_NO_MEMORY;
    if (guess == WO__GUESS_MADE) made = guess;
  }
  wo_address_map_done(&seen.map);
  WO_VEC_DONE(&seen.list);
  return is_done ? made : WO__GUESS_NO_MEMORY;
}
