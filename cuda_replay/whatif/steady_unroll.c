/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats an iteration as a longer pattern, behind the first step that it does not hold. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/whatif/steady.h"

#define NOT_MADE UINT32_MAX

struct unroll {
  const struct wo_alloc_pattern *from;
  struct wo_alloc_pattern to;
  uint32_t *now;        /* for each instance of `from`: the instance of `to` that represents it in this pass, or NOT_MADE */
  uint32_t *successors; /* instances that replace those alive at the start */
  uint8_t *is_heir;     /* for each instance: whether it replaces one of those */
  uint32_t last_birth;
};

static bool stays(const struct unroll *unroll, uint32_t instance) {
  return wo_alloc_pattern_stays(unroll->from, instance, unroll->last_birth);
}

/* ---- A pass ---- */

/* A request that was refused in the recorded run is tried, and given back, in each pass. */
static bool repeat_alloc(struct unroll *unroll, uint32_t from, uint32_t entry) {
  const struct wo_instance *const instance = &unroll->from->instances.items[from];
  return wo_alloc_pattern_add_again(&unroll->to, instance, entry, &unroll->now[from]);
}

/* What is freed by the end of the program is not freed between two passes. */
static bool is_end_of_program(const struct unroll *unroll, const struct wo_request *request) {
  switch ((enum wo_request_kind)request->kind) {
  case WO_REQUEST_FREE:
  case WO_REQUEST_DEFER:
  case WO_REQUEST_COMPLETE:
    return stays(unroll, request->subject);
  default:
    return false;
  }
}

static bool repeat_request(struct unroll *unroll, const struct wo_request *request) {
  if (request->kind == WO_REQUEST_ALLOC) return repeat_alloc(unroll, request->subject, request->entry);
  struct wo_request repeated = *request;
  if (is_end_of_program(unroll, request)) return true;
  if (wo_request_has_instance(request)) {
    repeated.subject = unroll->now[request->subject];
    if (repeated.subject == NOT_MADE) return true;
  }
  return wo_alloc_pattern_add_request(&unroll->to, repeated);
}

/* Between two passes: survivors become the instances that they replace, other survivors are freed, and an instance that died
 * without a successor is allocated again. */
static bool reset(struct unroll *unroll) {
  const struct wo_alloc_pattern *from = unroll->from;
  for (size_t i = from->start_count; i < from->instances.count; i++) {
    bool is_left = from->instances.items[i].death == WO_NO_REQUEST && unroll->is_heir[i] == 0;
    if (is_left && !wo_alloc_pattern_add_free(&unroll->to, unroll->now[i])) return false;
  }
  for (uint32_t i = 0; i < from->start_count; i++) {
    if (stays(unroll, i)) continue;
    if (unroll->successors[i] != WO_NO_SUCCESSOR)
      unroll->now[i] = unroll->now[unroll->successors[i]];
    else if (!repeat_alloc(unroll, i, WO_NO_ENTRY))
      return false;
  }
  return true;
}

/* ---- What comes before the first pass ---- */

static bool prepare(struct unroll *unroll) {
  const struct wo_alloc_pattern *from = unroll->from;
  const size_t count = from->instances.count + 1;
  unroll->last_birth = wo_alloc_pattern_last_birth(from);
  unroll->now = malloc(count * sizeof *unroll->now);
  unroll->is_heir = calloc(count, 1);
  if (!unroll->now || !unroll->is_heir || !wo_alloc_pattern_successors(from, &unroll->successors)) return false;
  for (size_t i = 0; i < count; i++) unroll->now[i] = NOT_MADE;
  for (uint32_t i = 0; i < from->start_count; i++) {
    if (!stays(unroll, i) && unroll->successors[i] != WO_NO_SUCCESSOR) unroll->is_heir[unroll->successors[i]] = 1;
  }
  return true;
}

static bool add_start(struct unroll *unroll, uint32_t instance) {
  unroll->now[instance] = (uint32_t)unroll->to.instances.count;
  return wo_alloc_pattern_add_start(&unroll->to, unroll->from->instances.items[instance]);
}

/* Every instance alive at the start represents itself. */
static bool begin_at_start(struct unroll *unroll) {
  for (uint32_t i = 0; i < unroll->from->start_count; i++) {
    if (!add_start(unroll, i)) return false;
  }
  return true;
}

static bool make_states(struct unroll *unroll, const struct wo_first_step *step) {
  for (size_t i = 0; i < step->count; i++) {
    if (!repeat_alloc(unroll, step->states[i], WO_NO_ENTRY)) return false;
  }
  return true;
}

/* The first step begins with what it does not make itself and no step before it has left. */
static bool run_first_step(struct unroll *unroll, const struct wo_first_step *step) {
  const struct wo_alloc_pattern *from = unroll->from;
  for (uint32_t i = 0; i < from->start_count; i++) {
    const bool is_there = stays(unroll, i) && from->instances.items[i].class_ != WO_CLASS_OPTIMIZER;
    if (is_there && !add_start(unroll, i)) return false;
  }
  for (uint32_t r = step->first; r < step->end; r++) {
    struct wo_request request = from->requests.items[r];
    if (r == step->states_at && !make_states(unroll, step)) return false;
    if (request.kind == WO_REQUEST_COMPLETE) continue;
    if (request.kind == WO_REQUEST_DEFER) request.kind = WO_REQUEST_FREE; /* it might be completed behind the step only */
    if (!repeat_request(unroll, &request)) return false;
  }
  return step->states_at < step->end || make_states(unroll, step);
}

static bool is_left(const struct unroll *unroll, uint32_t instance) {
  return unroll->now[instance] != NOT_MADE && unroll->to.instances.items[unroll->now[instance]].death == WO_NO_REQUEST;
}

/* Instances first .. end - 1 that are left (or that are missing), by size. */
static struct wo_sized_instance *gather(const struct unroll *unroll, size_t first, size_t end, bool wants_left,
                                        size_t *ret_count) {
  struct wo_sized_instance *const list = malloc((end - first + 1) * sizeof *list);
  *ret_count = 0;
  for (size_t i = first; list && i < end; i++) {
    const bool is_wanted = wants_left ? is_left(unroll, (uint32_t)i) : unroll->now[i] == NOT_MADE;
    if (is_wanted) list[(*ret_count)++] = (struct wo_sized_instance){unroll->from->instances.items[i].size_bytes, (uint32_t)i};
  }
  if (list) qsort(list, *ret_count, sizeof *list, wo_sized_instance_compare);
  return list;
}

/* Behind the first step, what it left becomes what the recording begins with, as far as sizes agree; the rest of it is freed, and
 * what is still missing is made. */
static bool end_first_step(struct unroll *unroll) {
  const size_t start_count = unroll->from->start_count;
  size_t missing_count, left_count, m = 0;
  struct wo_sized_instance *const missing = gather(unroll, 0, start_count, false, &missing_count);
  struct wo_sized_instance *const left = gather(unroll, start_count, unroll->from->instances.count, true, &left_count);
  bool is_made = missing && left;
  for (size_t l = 0; is_made && l < left_count; l++) {
    const uint32_t made = unroll->now[left[l].instance];
    unroll->now[left[l].instance] = NOT_MADE;
    while (m < missing_count && missing[m].size_bytes < left[l].size_bytes) m++;
    if (m < missing_count && missing[m].size_bytes == left[l].size_bytes)
      unroll->now[missing[m++].instance] = made;
    else
      is_made = wo_alloc_pattern_add_free(&unroll->to, made);
  }
  free(missing);
  free(left);
  for (uint32_t i = 0; is_made && i < start_count; i++) {
    if (unroll->now[i] == NOT_MADE) is_made = repeat_alloc(unroll, i, WO_NO_ENTRY);
  }
  return is_made;
}

/* ---- All passes ---- */

static bool begin(struct unroll *unroll, const struct wo_first_step *first) {
  if (!prepare(unroll)) return false;
  if (!first || first->count == 0) return begin_at_start(unroll);
  return run_first_step(unroll, first) && end_first_step(unroll);
}

/* Writes the passes one after the other; before the first there is no reset. */
static bool run_unroll(struct unroll *unroll, const struct wo_first_step *first, unsigned passes, struct wo_passes *ret_passes) {
  if (!begin(unroll, first)) return false;
  *ret_passes = (struct wo_passes){.count = passes};
  for (unsigned pass = 0; pass < passes; pass++) {
    if (pass > 0 && !reset(unroll)) return false;
    ret_passes->begins[pass] = (uint32_t)unroll->to.requests.count;
    for (size_t r = 0; r < unroll->from->requests.count; r++) {
      if (!repeat_request(unroll, &unroll->from->requests.items[r])) return false;
    }
    ret_passes->ends[pass] = (uint32_t)unroll->to.requests.count;
  }
  return true;
}

enum wo_status wo_steady_unroll(const struct wo_alloc_pattern *pattern, const struct wo_first_step *first, unsigned passes,
                                struct wo_alloc_pattern *ret_pattern, struct wo_passes *ret_passes) {
  assert(passes >= 1 && passes <= WO_STEADY_PASSES_MAX);
  /* A pass, and the first step, add at most the requests, and a free and an allocation for each instance. */
  if (pattern->requests.count + pattern->instances.count >= (size_t)INT32_MAX / (passes + 1) / 2) return WO_E_LIMIT;
  struct unroll unroll = {.from = pattern, .to = {.recording = pattern->recording}};
  const bool is_made = run_unroll(&unroll, first, passes, ret_passes);
  free(unroll.now);
  free(unroll.is_heir);
  free(unroll.successors);
  if (!is_made) {
    wo_alloc_pattern_done(&unroll.to);
    return WO_E_NOMEM;
  }
  *ret_pattern = unroll.to;
  return WO_OK;
}
