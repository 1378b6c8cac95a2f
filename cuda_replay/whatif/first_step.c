/* SPDX-License-Identifier: Apache-2.0 */
/* See first_step.h. */
#include "cuda_replay/whatif/first_step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "cuda_replay/classes/iterations.h"
#include "cuda_replay/classes/stack_facts.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"

static size_t count_of(const struct wo_alloc_pattern *pattern, enum wo_alloc_class class_) {
  const uint32_t last_birth = wo_alloc_pattern_last_birth(pattern);
  size_t count = 0;
  for (uint32_t i = 0; i < pattern->start_count; i++) {
    count += pattern->instances.items[i].class_ == class_ && wo_alloc_pattern_stays(pattern, i, last_birth);
  }
  return count;
}

/* ---- The step ---- */

/* The second iteration begins behind a step of the optimizer. The first may begin in the middle: it is taken if no other is
 * whole.
 */
static enum wo_status find_step(const struct wo_alloc_pattern *pattern, struct wo_first_step *step) {
  struct wo_iterations iterations;
  const enum wo_status status = wo_iterations_find(pattern, NULL, &iterations);
  if (status != WO_OK) return status;
  if (iterations.source == WO_ITERATIONS_OPTIMIZER) {
    const struct wo_iteration *const list = iterations.list.items;
    const size_t at = iterations.list.count > 1 && list[1].end <= iterations.tail ? 1 : 0;
    step->first = list[at].first;
    step->end = list[at].end;
  }
  wo_iterations_done(&iterations);
  return WO_OK;
}

static enum wo_status find_states_at(const struct wo_alloc_pattern *pattern, struct wo_first_step *step) {
  struct wo_stack_facts_set facts;
  const enum wo_status status = wo_stack_facts_make(pattern->recording, &facts);
  if (status != WO_OK) return status;
  step->states_at = step->end;
  for (uint32_t r = step->first; r < step->end && step->states_at == step->end; r++) {
    const struct wo_request *const request = &pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    const uint32_t stack = pattern->instances.items[request->subject].stack;
    if ((wo_stack_facts_of(&facts, stack).flags & WO_STACK_OPTIMIZER) != 0) step->states_at = r;
  }
  wo_stack_facts_done(&facts);
  return WO_OK;
}

/* ---- The states ---- */

/* Instances of a class by size; those of one size by address. */
static struct wo_sized_instance *gather(const struct wo_alloc_pattern *pattern, enum wo_alloc_class class_, size_t count) {
  const uint32_t last_birth = wo_alloc_pattern_last_birth(pattern);
  struct wo_sized_instance *const list = malloc((count + 1) * sizeof *list);
  size_t n = 0;
  for (uint32_t i = 0; list && i < pattern->start_count; i++) {
    const struct wo_instance *const instance = &pattern->instances.items[i];
    const bool is_one = instance->class_ == class_ && wo_alloc_pattern_stays(pattern, i, last_birth);
    if (is_one) list[n++] = (struct wo_sized_instance){instance->size_bytes, i};
  }
  if (list) qsort(list, count, sizeof *list, wo_sized_instance_compare);
  return list;
}

/* A state that a parameter of its size is the reason for. */
struct turn {
  uint32_t parameter; /* its turn; behind all for a state without one */
  uint32_t state;
};

static int compare_turns(const void *a, const void *b) {
  const struct turn *const left = a, *const right = b;
  if (left->parameter != right->parameter) return left->parameter < right->parameter ? -1 : 1;
  return (left->state > right->state) - (left->state < right->state);
}

/* The n-th of the parameters of a size has the n-th part of the states of that size. */
static void give_turns(const struct wo_sized_instance *parameters, size_t parameter_count, const struct wo_sized_instance *states,
                       size_t count, struct turn *turns) {
  size_t p = 0;
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && states[end].size_bytes == states[first].size_bytes;) end++;
    while (p < parameter_count && parameters[p].size_bytes < states[first].size_bytes) p++;
    size_t last = p;
    while (last < parameter_count && parameters[last].size_bytes == states[first].size_bytes) last++;
    for (size_t i = first; i < end; i++) {
      const size_t at = last > p ? p + (i - first) * (last - p) / (end - first) : 0;
      turns[i] = (struct turn){last > p ? parameters[at].instance : UINT32_MAX, states[i].instance};
    }
  }
}

static bool order_states(const struct wo_alloc_pattern *pattern, struct wo_first_step *step) {
  const size_t parameter_count = count_of(pattern, WO_CLASS_PARAMETER);
  struct wo_sized_instance *const parameters = gather(pattern, WO_CLASS_PARAMETER, parameter_count);
  struct wo_sized_instance *const states = gather(pattern, WO_CLASS_OPTIMIZER, step->count);
  struct turn *const turns = malloc(step->count * sizeof *turns);
  step->states = malloc(step->count * sizeof *step->states);
  const bool is_made = parameters && states && turns && step->states;
  if (is_made) {
    give_turns(parameters, parameter_count, states, step->count, turns);
    qsort(turns, step->count, sizeof *turns, compare_turns);
    for (size_t i = 0; i < step->count; i++) step->states[i] = turns[i].state;
  }
  free(parameters);
  free(states);
  free(turns);
  return is_made;
}

enum wo_status wo_first_step_find(const struct wo_alloc_pattern *pattern, struct wo_first_step *ret_step) {
  struct wo_first_step step = {.count = count_of(pattern, WO_CLASS_OPTIMIZER)};
  *ret_step = (struct wo_first_step){0};
  if (step.count == 0) return WO_OK;
  enum wo_status status = find_step(pattern, &step);
  if (status != WO_OK || step.end == 0) return status;
  status = find_states_at(pattern, &step);
  if (status == WO_OK && !order_states(pattern, &step)) status = WO_E_NOMEM;
  if (status == WO_OK)
    *ret_step = step;
  else
    wo_first_step_done(&step);
  return status;
}

void wo_first_step_done(struct wo_first_step *step) {
  if (step) free(step->states);
}
