/* SPDX-License-Identifier: Apache-2.0 */
/* The amount of reserved memory beyond which garbage is collected: a share of the memory fraction, which snapshots do not hold.
 * It is only ever compared with amounts that were reserved, so that it is one of these amounts, for all that a recording shows.
 * Each run halves the candidates: a release that only the model makes needs a higher limit, one that it does not make a lower
 * one. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/replay/check_internal.h"
#include "parsers/base/vec.h"

/* Runs of one search: bounds halve the candidates, but a divergence need not give one. */
enum { RUNS_MAX = 128 };

#define SMALL_SEGMENT_BYTES ((uint64_t)2 * 1024 * 1024)

struct search {
  struct wo__checker *checker;
  uint64_t *reserved; /* amounts by rising size, each once */
  bool *is_tried;
  size_t count;
  size_t low, high; /* the limit is one of reserved[low .. high) */
};

bool wo__check_has_unknown_limit(const struct wo__checker *checker) {
  return checker->settings.garbage_collection_threshold > 0 && checker->settings.memory_fraction <= 0;
}

static uint64_t step_of(const struct wo_trace_entry *entry) {
  if (wo_entry_is(entry, WO_TRAIT_GROWTH)) return entry->size_bytes;
  return wo_entry_is(entry, WO_TRAIT_RELEASE) ? -entry->size_bytes : 0;
}

/* Reserved bytes before the first entry. Differences are modulo 2^64, as in release_cause.c. */
static uint64_t reserved_at_start(const struct wo_trace *trace) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < trace->segments.count; i++) bytes += trace->segments.items[i].size_bytes;
  for (size_t i = 0; i < trace->entries.count; i++) bytes -= step_of(&trace->entries.items[i]);
  return bytes;
}

static uint64_t reserved_before(const struct wo_trace *trace, size_t entry) {
  uint64_t bytes = reserved_at_start(trace);
  for (size_t i = 0; i < entry && i < trace->entries.count; i++) bytes += step_of(&trace->entries.items[i]);
  return bytes;
}

static int compare_bytes(const void *a, const void *b) {
  const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

/* All amounts, and one byte: always. */
static enum wo_status collect(struct search *search) {
  const struct wo_trace *const trace = search->checker->trace;
  uint64_t bytes = reserved_at_start(trace);
  size_t count = 0;
  for (size_t i = 0; i < trace->entries.count; i++) count += step_of(&trace->entries.items[i]) != 0;
  search->reserved = malloc((count + 2) * sizeof *search->reserved);
  search->is_tried = calloc(count + 2, sizeof *search->is_tried);
  if (!search->reserved || !search->is_tried) return WO_E_NOMEM;
  search->reserved[search->count++] = 1;
  search->reserved[search->count++] = bytes;
  for (size_t i = 0; i < trace->entries.count; i++) {
    const uint64_t step = step_of(&trace->entries.items[i]);
    bytes += step;
    if (step != 0) search->reserved[search->count++] = bytes;
  }
  qsort(search->reserved, search->count, sizeof *search->reserved, compare_bytes);
  size_t kept = 0;
  for (size_t i = 0; i < search->count; i++) {
    const bool is_new = search->reserved[i] > 0 && (kept == 0 || search->reserved[i] != search->reserved[kept - 1]);
    if (is_new) search->reserved[kept++] = search->reserved[i];
  }
  search->high = search->count = kept;
  return WO_OK;
}

/* The number of amounts below `bytes`. */
static size_t below(const struct search *search, uint64_t bytes) {
  size_t low = 0;
  WO_LOWER_BOUND(low, search->count, at, search->reserved[at] < bytes);
  return low;
}

static bool is_release(const struct search *search, size_t entry) {
  return search->checker->trace->entries.items[entry].action == WO_ACTION_SEGMENT_FREE;
}

/* What the divergence of a run with reserved[tried] (SIZE_MAX: without a limit) says of the limit: a bound, or nothing. Garbage
 * is of the large pool. If the model releases a small segment, it had collected too little before: the device refused it memory,
 * as the recording goes on with a release. Then the first of these releases shows that there was garbage, and the others nothing:
 * one pass collects all that is old. */
static void bound(struct search *search, const struct wo__start_trial *trial, size_t tried) {
  size_t entry = trial->cursor;
  if (entry >= search->checker->trace->entries.count) return;
  const bool is_recorded = is_release(search, entry);
  const bool is_made = trial->released_address > 0 && trial->released_bytes != SMALL_SEGMENT_BYTES;
  const bool is_too_little = trial->released_address > 0 && !is_made && entry > 0 && is_release(search, entry - 1);
  if (is_recorded == is_made && !is_too_little) return;
  while (is_too_little && entry > 0 && is_release(search, entry - 1)) entry--;
  size_t place = below(search, reserved_before(search->checker->trace, entry));
  if (is_too_little && tried < place) place = tried;
  if (is_made && place > search->low) search->low = place;
  if (!is_made && place < search->high) search->high = place;
}

static enum wo_status try_limit(struct search *search, uint16_t torch, size_t place, struct wo__start_trial *best,
                                uint64_t *best_limit) {
  struct wo__checker *const checker = search->checker;
  struct wo__start_trial trial;
  checker->garbage_limit_bytes = search->reserved[place];
  search->is_tried[place] = true;
  const enum wo_status status = wo__check_run(checker, torch, &trial);
  if (status != WO_OK) return status;
  const bool is_better = trial.is_equal || trial.cursor > best->cursor;
  if (is_better) *best = trial;
  if (is_better) *best_limit = checker->garbage_limit_bytes;
  bound(search, &trial, place);
  return WO_OK;
}

/* The candidate nearest to the middle of the bounds; SIZE_MAX: all were tried. */
static size_t next_place(const struct search *search) {
  if (search->low >= search->high) return SIZE_MAX;
  const size_t middle = search->low + (search->high - search->low) / 2;
  for (size_t distance = 0; distance < search->high - search->low; distance++) {
    if (middle + distance < search->high && !search->is_tried[middle + distance]) return middle + distance;
    if (distance <= middle - search->low && !search->is_tried[middle - distance]) return middle - distance;
  }
  return SIZE_MAX;
}

enum wo_status wo__check_find_limit(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial) {
  struct search search = {.checker = checker};
  uint64_t best_limit = checker->garbage_limit_bytes;
  enum wo_status status = collect(&search);
  if (status == WO_OK && best_limit == 0) bound(&search, trial, SIZE_MAX);
  for (unsigned run = 0; run < RUNS_MAX && status == WO_OK && !trial->is_equal && wo__check_can_go_on(checker); run++) {
    const size_t place = next_place(&search);
    if (place == SIZE_MAX) break;
    status = try_limit(&search, torch, place, trial, &best_limit);
  }
  checker->garbage_limit_bytes = best_limit;
  free(search.reserved);
  free(search.is_tried);
  return status;
}
