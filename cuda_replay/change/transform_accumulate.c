/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient accumulation: forward and backward run N times for each step of the optimizer. The first run allocates the gradients;
 * later runs add to them, each through a temporary as large as the gradient. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/change/transform_internal.h"

struct accumulate {
  const struct wo_transform_request *request;
  struct wo__rewriting pattern;
  uint8_t *is_kept; /* gradients of the first run, which stay alive */
  unsigned runs;    /* how many forward-backward runs were found */
};

static enum wo_phase phase_of(const struct accumulate *work, uint32_t instance) {
  return (enum wo_phase)work->request->classes->marks.items[instance].phase;
}

/* The phase of the next birth from request r on; that of the optimizer's step if there is none. */
static enum wo_phase next_phase(const struct accumulate *work, size_t r) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  for (; r < from->requests.count; r++) {
    if (from->requests.items[r].kind == WO_REQUEST_ALLOC) return phase_of(work, from->requests.items[r].subject);
  }
  return WO_PHASE_OPTIMIZER;
}

/* The end of a range of requests from `first` on, either all with or all without births in the optimizer's step. A step that
 * makes nothing (momentum, in place) shows only by the gradients that are freed between backward and what follows. */
static size_t end_of_run(const struct accumulate *work, size_t first, bool is_step) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  bool is_behind_backward = false;
  assert(first <= from->requests.count);
  for (size_t r = first; r < from->requests.count; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind == WO_REQUEST_ALLOC) {
      const enum wo_phase phase = phase_of(work, request->subject);
      if ((phase == WO_PHASE_OPTIMIZER) != is_step) return r;
      is_behind_backward = phase == WO_PHASE_BACKWARD && next_phase(work, r + 1) != WO_PHASE_BACKWARD;
      continue;
    }
    const bool is_free = request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER;
    if (!is_step && is_behind_backward && is_free && wo__is_gradient(work->request, request->subject)) return r;
  }
  return from->requests.count;
}

/* Whether a range of requests makes gradients: an evaluation between two steps is not repeated. */
static bool has_backward(const struct accumulate *work, size_t first, size_t end) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  for (size_t r = first; r < end; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind == WO_REQUEST_ALLOC && phase_of(work, request->subject) == WO_PHASE_BACKWARD) return true;
  }
  return false;
}

/* Whether the instance that represents this one was freed; something represents it. */
static bool is_freed(const struct accumulate *work, uint32_t instance) {
  return work->pattern.to.instances.items[work->pattern.now[instance]].death != WO_NO_REQUEST;
}

/* A gradient in a later run: the temporary is made, added to the gradient, and freed; at the low end it is not made at all. */
static bool add_to_gradient(struct accumulate *work, const struct wo_instance *gradient) {
  uint32_t temporary;
  if (work->request->bound == WO_BOUND_LOW) return true;
  struct wo_instance instance = *gradient;
  instance.class_ = WO_CLASS_TEMPORARY;
  return wo_alloc_pattern_add_alloc(&work->pattern.to, instance, WO_NO_ENTRY, &temporary) &&
         wo_alloc_pattern_add_free(&work->pattern.to, temporary);
}

/* In later runs gradients are temporaries; every other instance replaces the one that the run before left, such as a variable of
 * that run that is set again. */
static bool repeat_alloc(struct accumulate *work, const struct wo_request *request, bool is_first) {
  const uint32_t i = request->subject;
  const struct wo_instance *const instance = &work->request->pattern->instances.items[i];
  const bool is_left = !is_first && work->pattern.now[i] != WO__GONE && !is_freed(work, i);
  if (!is_first && work->is_kept[i] != 0) return add_to_gradient(work, instance);
  if (is_left && !wo__free_now(&work->pattern, i)) return false;
  if (is_first && instance->death != instance->birth && wo__is_gradient(work->request, i)) work->is_kept[i] = 1;
  return wo__repeat_request(&work->pattern, request);
}

/* In later runs, skips frees and similar requests for an instance that the first run has ended already. */
static bool repeat_request(struct accumulate *work, const struct wo_request *request, bool is_first) {
  const bool is_free = request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER;
  if (request->kind == WO_REQUEST_ALLOC) return repeat_alloc(work, request, is_first);
  if (!is_first && request->kind == WO_REQUEST_EMPTY_CACHE) return true;
  if (is_free && work->pattern.now[request->subject] != WO__GONE && is_freed(work, request->subject)) return true;
  if (!wo__repeat_request(&work->pattern, request)) return false;
  if (request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_COMPLETE) work->pattern.now[request->subject] = WO__GONE;
  return true;
}

/* The first request behind what builds the model. */
static size_t end_of_setup(const struct accumulate *work) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  size_t end = 0;
  for (size_t r = 0; r < from->requests.count; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    if (phase_of(work, request->subject) != WO_PHASE_FORWARD) break;
    if (wo__rule_of(work->request, request->subject) == WO_CLASS_RULE_START_SETUP) end = r + 1;
  }
  return end;
}

/* Repeats every forward and backward run; the steps between them stay single. */
static bool run(struct accumulate *work) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  const size_t setup = end_of_setup(work);
  for (size_t r = 0; r < setup; r++) {
    if (!repeat_request(work, &from->requests.items[r], true)) return false;
  }
  for (size_t first = setup; first < from->requests.count;) {
    size_t end = end_of_run(work, first, false);
    uint32_t times = has_backward(work, first, end) ? work->request->amount : 1;
    work->runs += times > 1;
    for (uint32_t time = 0; time < times; time++) {
      for (size_t r = first; r < end; r++) {
        if (!repeat_request(work, &from->requests.items[r], time == 0)) return false;
      }
    }
    size_t step_end = end_of_run(work, end, true);
    for (size_t r = end; r < step_end; r++) {
      if (!repeat_request(work, &from->requests.items[r], true)) return false;
    }
    first = step_end;
  }
  return true;
}

enum wo_status wo__transform_accumulate(const struct wo_transform_request *request, struct wo_alloc_pattern *ret_pattern,
                                        struct wo_err *err) {
  size_t most = request->pattern->requests.count;
  if (most >= (size_t)INT32_MAX / 4 / request->amount) {
    return wo_err_set(err, WO_E_LIMIT, "the recording is too long to be repeated %u times", (unsigned)request->amount);
  }
  struct accumulate work = {.request = request, .is_kept = calloc(request->pattern->instances.count + 1, 1)};
  const bool is_made = wo__rewriting_begin_alive(&work.pattern, request->pattern) && work.is_kept != NULL && run(&work);
  free(work.is_kept);
  return wo__rewriting_end(&work.pattern, is_made,
                           work.runs > 0 ? NULL : "the recording shows no backward pass, nothing could be accumulated",
                           ret_pattern, err);
}
