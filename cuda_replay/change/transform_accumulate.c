/* Gradient accumulation: forward and backward run N times for each step of the optimizer. The first run allocates the gradients;
 * later runs add to them, each through a temporary as large as the gradient. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/change/transform_internal.h"

struct accumulate {
  const struct wo_transform_request *request;
  struct wo_alloc_pattern to;
  uint32_t *now;    /* for each instance: the one that represents it now; GONE before its birth and after its death */
  uint8_t *is_kept; /* gradients of the first run, which stay alive */
  unsigned runs;    /* how many forward-backward runs were found */
};

#define GONE UINT32_MAX

static enum wo_phase phase_of(const struct accumulate *work, uint32_t instance) {
  return (enum wo_phase)work->request->classes->marks.items[instance].phase;
}

/* The end of a range of requests from `first` on, either all with or all without births in the optimizer's step. */
static size_t end_of_run(const struct accumulate *work, size_t first, bool is_step) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  size_t end = first;
  assert(first <= from->requests.count);
  for (size_t r = first; r < from->requests.count; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind == WO_REQUEST_ALLOC && (phase_of(work, request->subject) == WO_PHASE_OPTIMIZER) != is_step) return r;
    end = r + 1;
  }
  return end;
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

/* Frees the instance that represents this one, if it is still alive: a variable of the last run that is set again. */
static bool free_now(struct accumulate *work, uint32_t instance) {
  uint32_t player = work->now[instance];
  work->now[instance] = GONE;
  bool is_alive = player != GONE && work->to.instances.items[player].death == WO_NO_REQUEST;
  return !is_alive || wo_alloc_pattern_add_free(&work->to, player);
}

/* A gradient in a later run: the temporary is made, added to the gradient, and freed; at the low end it is not made at all. */
static bool add_to_gradient(struct accumulate *work, const struct wo_instance *gradient) {
  uint32_t temporary;
  if (work->request->bound == WO_BOUND_LOW) return true;
  struct wo_instance instance = *gradient;
  instance.class_ = WO_CLASS_TEMPORARY;
  return wo_alloc_pattern_add_alloc(&work->to, instance, WO_NO_ENTRY, &temporary) &&
         wo_alloc_pattern_add_free(&work->to, temporary);
}

/* In later runs gradients are temporaries; every other instance replaces the one that the run before left. */
static bool repeat_alloc(struct accumulate *work, const struct wo_request *request, bool is_first) {
  uint32_t i = request->subject;
  const struct wo_instance *instance = &work->request->pattern->instances.items[i];
  if (!is_first && work->is_kept[i] != 0) return add_to_gradient(work, instance);
  if (!is_first && !free_now(work, i)) return false;
  if (instance->death == instance->birth)
    return wo_alloc_pattern_add_refused(&work->to, *instance, request->entry, &work->now[i]);
  if (!wo_alloc_pattern_add_alloc(&work->to, *instance, request->entry, &work->now[i])) return false;
  if (is_first && wo__is_gradient(work->request, i)) work->is_kept[i] = 1;
  return true;
}

/* In later runs, skips frees and similar requests for an instance that the first run has ended already. */
static bool repeat_request(struct accumulate *work, const struct wo_request *request, bool is_first) {
  if (request->kind == WO_REQUEST_ALLOC) return repeat_alloc(work, request, is_first);
  if (!is_first && request->kind == WO_REQUEST_EMPTY_CACHE) return true;
  struct wo_request repeated = *request;
  if (wo_request_has_instance(request)) {
    repeated.subject = work->now[request->subject];
    if (repeated.subject == GONE) return true;
    bool is_dead = work->to.instances.items[repeated.subject].death != WO_NO_REQUEST;
    bool is_free = request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER;
    if (is_dead && is_free) return true;
  }
  if (!wo_alloc_pattern_add_request(&work->to, repeated)) return false;
  if (request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_COMPLETE) work->now[request->subject] = GONE;
  return true;
}

/* Repeats every forward and backward run; the steps between them stay single. */
static bool run(struct accumulate *work) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  for (uint32_t i = 0; i < from->instances.count; i++) work->now[i] = i < from->start_count ? i : GONE;
  for (size_t i = 0; i < from->start_count; i++) {
    if (!wo_alloc_pattern_add_start(&work->to, from->instances.items[i])) return false;
  }
  for (size_t first = 0; first < from->requests.count;) {
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
  size_t count = request->pattern->instances.count;
  size_t most = request->pattern->requests.count;
  if (most >= (size_t)INT32_MAX / 4 / request->amount) {
    return wo_err_set(err, WO_E_LIMIT, "the recording is too long to be repeated %u times", (unsigned)request->amount);
  }
  struct accumulate work = {.request = request, .to = {.recording = request->pattern->recording}};
  work.now = malloc((count + 1) * sizeof work.now[0]);
  work.is_kept = calloc(count + 1, 1);
  bool is_made = work.now != NULL && work.is_kept != NULL && run(&work);
  free(work.now);
  free(work.is_kept);
  if (is_made && work.runs > 0) {
    *ret_pattern = work.to;
    return WO_OK;
  }
  wo_alloc_pattern_done(&work.to);
  if (!is_made) return wo_err_set(err, WO_E_NOMEM, "no memory for the changed recording");
  return wo_err_set(err, WO_E_RANGE, "the recording shows no backward pass, nothing could be accumulated");
}
