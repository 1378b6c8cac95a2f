/* SPDX-License-Identifier: Apache-2.0 */
/* What whole steps keep. See step_growth.h. */
#include "cuda_replay/steps/step_growth.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"

/* The latest steps that are looked at: enough for a median, and sums of few are fast. */
enum { STEPS_MAX = 64 };

static size_t count_whole(const struct wo_iterations *iterations) {
  size_t count = 0;
  while (count < iterations->list.count && iterations->list.items[count].end <= iterations->tail) count++;
  return count;
}

/* The step in which a request lies: the last one that begins at or before it. */
static size_t step_of(const struct wo_iterations *iterations, size_t count, uint32_t request) {
  size_t low = 0, high = count;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (iterations->list.items[middle].first <= request)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The value at a third of the order: a few large events are no growth, and two of three steps must keep something. */
static uint64_t at_third(uint64_t *bytes, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const uint64_t one = bytes[i];
    size_t at = i;
    for (; at > 0 && bytes[at - 1] > one; at--) bytes[at] = bytes[at - 1];
    bytes[at] = one;
  }
  return count > 0 ? bytes[(count - 1) / 3] : 0;
}

/* ---- Whole steps ---- */

static uint64_t kept_by_steps(const struct wo_alloc_pattern *pattern, const struct wo_iterations *iterations, size_t first,
                              size_t whole) {
  uint64_t kept[STEPS_MAX] = {0};
  const size_t begin = whole - 1 - first > STEPS_MAX ? whole - 1 - STEPS_MAX : first;
  const uint32_t last = wo_alloc_pattern_last_birth(pattern), whole_end = iterations->list.items[whole - 1].end;
  const uint32_t end = whole_end > last + 1 ? last + 1 : whole_end; /* frees behind it are the end of the program */
  for (size_t i = pattern->start_count; i < pattern->instances.count; i++) {
    const struct wo_instance *const instance = &pattern->instances.items[i];
    if (instance->birth >= end || instance->death == instance->birth || instance->death < end) continue;
    const size_t step = step_of(iterations, whole, instance->birth);
    if (step >= begin && step < whole - 1) kept[step - begin] += instance->size_bytes;
  }
  return at_third(kept, whole - 1 - begin);
}

/* ---- The step behind the last whole one ---- */

/* Less than this part of what is alive is a few variables that are set anew, or data that are loaded ahead. */
enum { KEPT_MIN_PER_MILLE = 3 };

/* A refused request is recorded in whole units of the allocator, and so are twins compared. */
static uint64_t rounded(uint64_t size_bytes) {
  return (size_bytes + 511) / 512 * 512;
}

/* An allocation that is alive, by its size and its place. */
struct twin {
  uint64_t size_bytes;
  uint32_t stack, is_later;
};

static int compare_twins(const void *a, const void *b) {
  const struct twin *const x = a, *const y = b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes < y->size_bytes ? -1 : 1;
  if (x->stack != y->stack) return x->stack < y->stack ? -1 : 1;
  return 0;
}

/* Bytes of the earlier ones that have a partner among the later ones. */
static uint64_t sum_pairs(struct twin *twins, size_t count) {
  uint64_t bytes = 0;
  qsort(twins, count, sizeof *twins, compare_twins);
  for (size_t i = 0, end = 0; i < count; i = end) {
    size_t later = 0;
    for (end = i; end < count && compare_twins(&twins[i], &twins[end]) == 0; end++) later += twins[end].is_later;
    const size_t earlier = end - i - later;
    bytes += (earlier < later ? earlier : later) * twins[i].size_bytes;
  }
  return bytes;
}

/* A pattern with few whole steps, and what failed behind them. */
struct few {
  const struct wo_alloc_pattern *pattern;
  const struct wo_classes *classes;
  struct wo_iteration last; /* whole step */
  const struct wo_instance *refused;
};

/* The last allocation of backward in the whole step, as a request; WO_NO_REQUEST: it shows none. */
static uint32_t find_backward(const struct few *few) {
  uint32_t found = WO_NO_REQUEST;
  for (size_t i = few->pattern->start_count; i < few->pattern->instances.count; i++) {
    const uint32_t birth = few->pattern->instances.items[i].birth;
    const bool is_inside = birth >= few->last.first && birth < few->last.end;
    if (is_inside && few->classes->marks.items[i].phase == WO_PHASE_BACKWARD) found = birth;
  }
  return found;
}

/* Whether the whole step made it behind its backward pass, outside of the optimizer: it is no gradient and no state. */
static bool is_result(const struct few *few, size_t i, uint32_t backward) {
  const uint32_t birth = few->pattern->instances.items[i].birth;
  const struct wo_class_mark mark = few->classes->marks.items[i];
  return backward != WO_NO_REQUEST && birth > backward && birth < few->last.end && mark.phase == WO_PHASE_FORWARD &&
         mark.rule != WO_CLASS_RULE_COMMUNICATION && mark.rule != WO_CLASS_RULE_WORKSPACE;
}

static enum wo_status find_kept(const struct few *few, uint64_t *ret_bytes) {
  const struct wo_alloc_pattern *const pattern = few->pattern;
  const struct wo_instance *const refused = few->refused;
  const uint32_t backward = find_backward(few);
  struct twin *const twins = malloc((pattern->instances.count + 1) * sizeof *twins);
  uint64_t alive_bytes = 0, result_bytes = 0;
  size_t count = 0;
  if (!twins) return WO_E_NOMEM;
  for (size_t i = 0; i < pattern->instances.count; i++) {
    const struct wo_instance *const instance = &pattern->instances.items[i];
    const bool is_of_steps = i >= pattern->start_count && instance->birth >= few->last.first;
    if (instance->death != WO_NO_REQUEST) continue;
    alive_bytes += instance->size_bytes;
    if (!is_of_steps) continue;
    if (is_result(few, i, backward)) result_bytes += instance->size_bytes;
    if (instance->stack == WO_NO_STACK) continue;
    twins[count++] = (struct twin){rounded(instance->size_bytes), instance->stack, instance->birth >= few->last.end};
  }
  if (refused && refused->stack != WO_NO_STACK) twins[count++] = (struct twin){rounded(refused->size_bytes), refused->stack, 1};
  const uint64_t pair_bytes = sum_pairs(twins, count), bytes = pair_bytes > result_bytes ? pair_bytes : result_bytes;
  free(twins);
  *ret_bytes = bytes >= alive_bytes / 1000 * KEPT_MIN_PER_MILLE ? bytes : 0;
  return WO_OK;
}

enum wo_status wo_step_growth_find(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                   const struct wo_iterations *iterations, const struct wo_instance *refused,
                                   struct wo_step_growth *ret_growth) {
  assert(pattern && classes && classes->marks.count >= pattern->instances.count && iterations && ret_growth);
  const size_t whole = count_whole(iterations), first = pattern->start_count == 0 ? 1 : 0;
  *ret_growth = (struct wo_step_growth){.whole_steps = whole};
  if (iterations->source == WO_ITERATIONS_WHOLE || whole == 0) return WO_OK;
  const struct few few = {pattern, classes, iterations->list.items[whole - 1], refused};
  if (whole < first + 2) return find_kept(&few, &ret_growth->step_bytes);
  ret_growth->is_shown = true;
  ret_growth->step_bytes = kept_by_steps(pattern, iterations, first, whole);
  return WO_OK;
}
