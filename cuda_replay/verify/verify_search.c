/* SPDX-License-Identifier: Apache-2.0 */
/* Bisection over the plausible values. See verify_search.h.
 *
 * Less work needs less memory, so all values below one that fits also fit. The answer itself is tried at all orders of addresses;
 * if these need more than the two of the search, the next smaller value is taken. */
#include "cuda_replay/verify/verify_search.h"

#include <assert.h>

enum { CANDIDATES_MAX = 512, LENGTH_STEP = 64 };

/* Values in rising order, all below the recorded one. */
struct candidates {
  uint32_t values[CANDIDATES_MAX];
  size_t count;
};

enum wo_status wo_verify_search_try(const struct wo_verify_search *search, const struct wo_change *change,
                                    struct wo_verify_result *ret_result, struct wo_err *err) {
  struct wo_verify_result result = WO_VERIFY_BEST;
  assert(search->subject_count > 0);
  for (size_t i = 0; i < search->subject_count; i++) {
    struct wo_verify_result one;
    const enum wo_status status = wo_verify_try(&search->subjects[i], change, search->shuffles, &one, err);
    if (status != WO_OK) return status;
    wo_verify_result_join(&result, &one);
  }
  *ret_result = result;
  return WO_OK;
}

/* Divisors keep the effective batch at a whole number of accumulation steps. */
static void list_batches(uint32_t from, struct candidates *list) {
  for (uint32_t value = 1; value <= from / 2 && value < (1u << 20) && list->count < CANDIDATES_MAX; value++) {
    if (from % value == 0) list->values[list->count++] = value;
  }
}

/* From `least` on; below a quarter of the length it is another job. */
static void list_lengths(uint32_t from, uint32_t least, struct candidates *list) {
  uint32_t step = LENGTH_STEP;
  while (from / step > CANDIDATES_MAX) step *= 2;
  for (uint32_t value = step; value < from && list->count < CANDIDATES_MAX; value += step) {
    if (value >= from / 4 && value >= least) list->values[list->count++] = value;
  }
}

static enum wo_scale_axis_id axis_of(const struct wo_change *change) {
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    const struct wo_scale_axis *const ends = &change->scale.axes[axis];
    if (change->has_scale && ends->to < ends->from) return (enum wo_scale_axis_id)axis;
  }
  return WO_AXIS_COUNT_;
}

struct finder {
  const struct wo_verify_search *search;
  struct wo_change *change;
  enum wo_scale_axis_id axis;
  struct candidates list;
  struct wo_err *err;
};

static enum wo_status try_value(struct finder *finder, size_t index, unsigned shuffles, struct wo_verify_result *ret_result) {
  struct wo_verify_search search = *finder->search;
  assert(index < finder->list.count);
  search.shuffles = shuffles;
  if (finder->axis == WO_AXIS_MICRO_BATCH)
    wo_change_set_micro_batch(finder->change, finder->list.values[index]);
  else
    finder->change->scale.axes[finder->axis].to = finder->list.values[index];
  return wo_verify_search_try(&search, finder->change, ret_result, finder->err);
}

/* The largest index that fits, if the first one does. */
static enum wo_status bisect(struct finder *finder, size_t *ret_index) {
  size_t fits = 0, fails = finder->list.count;
  while (fits + 1 < fails) {
    struct wo_verify_result result;
    const size_t middle = fits + (fails - fits) / 2;
    const enum wo_status status = try_value(finder, middle, WO_VERIFY_YES_ALONE, &result);
    if (status != WO_OK) return status;
    if (result.fit == WO_VERIFY_YES)
      fits = middle;
    else
      fails = middle;
  }
  *ret_index = fits;
  return WO_OK;
}

static enum wo_status find(struct finder *finder, struct wo_verify_result *ret_result) {
  size_t index = 0;
  enum wo_status status = try_value(finder, 0, finder->search->shuffles, ret_result);
  if (status != WO_OK || ret_result->fit != WO_VERIFY_YES || finder->list.count == 1) return status;
  status = bisect(finder, &index);
  for (;; index--) {
    if (status == WO_OK) status = try_value(finder, index, finder->search->shuffles, ret_result);
    if (status != WO_OK || ret_result->fit == WO_VERIFY_YES || index == 0) return status;
  }
}

enum wo_status wo_verify_search_run(const struct wo_verify_search *search, struct wo_change *change,
                                    struct wo_verify_result *ret_result, bool *ret_is_searched, struct wo_err *err) {
  struct finder finder = {.search = search, .change = change, .axis = axis_of(change), .err = err};
  if (finder.axis == WO_AXIS_MICRO_BATCH) list_batches(change->scale.axes[finder.axis].from, &finder.list);
  if (finder.axis == WO_AXIS_SEQ_LEN) {
    const struct wo_scale_axis length = change->scale.axes[finder.axis];
    list_lengths(length.from, search->keeps_length ? length.to : 0, &finder.list);
  }
  *ret_is_searched = finder.list.count > 0;
  if (finder.list.count == 0) return wo_verify_search_try(search, change, ret_result, err);
  return find(&finder, ret_result);
}
