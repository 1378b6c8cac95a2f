/* SPDX-License-Identifier: Apache-2.0 */
/* A depth-first search over ranges of sizes. Each divergence splits the range of one block in two: sizes that leave too little
 * free memory after the block for the request, and sizes that leave so much that the recorded choice fits better. */
#include "cuda_replay/replay/start_trial_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_BYTES ((uint64_t)512)

/* A start with more open blocks is run once, without a search. */
enum { OPEN_MAX = 4096 };

struct size_range {
  uint64_t min_bytes, max_bytes;
  uint64_t now_bytes;
};

struct settle {
  const struct wo__start_trial_input *input;
  struct wo_start *start;
  size_t open_count;
  struct size_range *ranges; /* ranges of the current run; then the postponed choices, open_count each */
  size_t waiting;
};

static struct size_range *waiting_ranges(const struct settle *settle, size_t index) {
  return settle->ranges + (index + 1) * settle->open_count;
}

static void apply(const struct settle *settle) {
  for (size_t i = 0; i < settle->open_count; i++) {
    wo_start_resize(settle->start, &settle->start->open.items[i], settle->ranges[i].now_bytes);
  }
}

/* The open block after which the model took memory that the recording did not take. */
static struct size_range *find_range(const struct settle *settle, uint64_t address) {
  for (size_t i = 0; i < settle->open_count; i++) {
    if (settle->start->open.items[i].address + settle->ranges[i].now_bytes == address) return &settle->ranges[i];
  }
  return NULL;
}

/* Postpones the present ranges with one of them changed. */
static void put_off(struct settle *settle, const struct size_range *range, struct size_range changed) {
  assert(changed.min_bytes <= changed.now_bytes && changed.now_bytes <= changed.max_bytes);
  if (settle->waiting >= WO_START_SEARCH_RUNS_MAX) return;
  struct size_range *const copy = waiting_ranges(settle, settle->waiting++);
  memcpy(copy, settle->ranges, settle->open_count * sizeof *copy);
  copy[range - settle->ranges] = changed;
}

static void branch(struct settle *settle, const struct wo__misplaced *misplaced) {
  const struct size_range *const range = misplaced->is_known ? find_range(settle, misplaced->address) : NULL;
  if (!range) return;
  /* The block and the free block after it together. */
  const uint64_t both = misplaced->free_bytes + range->now_bytes;
  const uint64_t less = both - misplaced->rounded_bytes + UNIT_BYTES;
  if (misplaced->rounded_bytes <= both && less <= range->max_bytes && less > range->now_bytes) {
    put_off(settle, range, (struct size_range){less, range->max_bytes, less});
  }
  const uint64_t tie = misplaced->is_lower ? UNIT_BYTES : 0;
  if (misplaced->recorded_bytes == UINT64_MAX || misplaced->recorded_bytes + tie > both) return;
  const uint64_t more = both - misplaced->recorded_bytes - tie;
  if (more >= range->min_bytes && more < range->now_bytes) {
    put_off(settle, range, (struct size_range){range->min_bytes, more, more});
  }
}

static bool next_choice(struct settle *settle) {
  if (settle->waiting == 0) return false;
  memcpy(settle->ranges, waiting_ranges(settle, --settle->waiting), settle->open_count * sizeof *settle->ranges);
  return true;
}

static enum wo_status search(struct settle *settle, struct wo__start_trial *best, size_t *runs, struct wo_err *err) {
  do {
    struct wo__start_trial trial;
    apply(settle);
    const enum wo_status status = wo__start_trial_run(settle->input, &trial, err);
    if (status != WO_OK) return status;
    const bool is_best = (*runs)++ == 0 || trial.is_equal || trial.cursor > best->cursor;
    if (is_best) *best = trial;
    if (trial.is_equal) return WO_OK;
    branch(settle, &trial.misplaced);
  } while (*runs < WO_START_SEARCH_RUNS_MAX && next_choice(settle));
  return WO_OK;
}

enum wo_status wo__start_search(const struct wo__start_trial_input *input, struct wo_start *start,
                                struct wo__start_trial *ret_trial, size_t *ret_runs, struct wo_err *err) {
  assert(input->start == start);
  struct settle settle = {.input = input, .start = start, .open_count = start->open.count};
  *ret_runs = 0;
  if (settle.open_count > OPEN_MAX) settle.open_count = 0;
  settle.ranges = calloc((WO_START_SEARCH_RUNS_MAX + 1) * (settle.open_count + 1), sizeof *settle.ranges);
  if (!settle.ranges) return wo_err_set(err, WO_E_NOMEM, "out of memory while the recording is checked");
  for (size_t i = 0; i < settle.open_count; i++) {
    const struct wo_start_open *const open = &start->open.items[i];
    settle.ranges[i] = (struct size_range){open->min_bytes, open->max_bytes, open->min_bytes};
  }
  const enum wo_status status = search(&settle, ret_trial, ret_runs, err);
  free(settle.ranges);
  return status;
}
