/* SPDX-License-Identifier: Apache-2.0 */
/* Boundaries of iterations. Each source is one function that fills a list of requests at which an iteration ends; the first
 * source that finds any decides. */
#include "cuda_replay/classes/iterations.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/classes/stack_facts.h"
#include "parsers/base/vec.h"

/* The ends of iterations: requests [.., end) belong to the iteration before. */
struct ends {
  uint32_t *items;
  size_t count, capacity;
};

static bool add_end(struct ends *ends, size_t end) {
  if (!WO_VEC_RESERVE(ends, 1, SIZE_MAX)) return false;
  ends->items[ends->count++] = (uint32_t)end;
  return true;
}

/* ---- Annotations ---- */

static int64_t time_of(const struct wo_trace *trace, const struct wo_request *request) {
  if (trace == NULL || request->entry == WO_NO_ENTRY || request->entry >= trace->entries.count) return WO_NO_TIME;
  return trace->entries.items[request->entry].time_us;
}

/* An iteration ends with the step of the optimizer that ends first; a program with several optimizers steps each of them in every
 * iteration. */
static bool by_annotations(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace, struct ends *ends) {
  const struct wo_recording *recording = pattern->recording;
  struct wo_view name = {0};
  size_t r = 0;
  if (trace == NULL) return true;
  for (size_t i = 0; i < recording->annotations.count; i++) {
    const struct wo_annotation *mark = &recording->annotations.items[i];
    if (mark->is_start || mark->device != trace->device || !wo_view_has(mark->name, "Optimizer.step")) continue;
    if (name.len == 0) name = mark->name;
    if (!wo_view_equal(mark->name, name)) continue;
    while (r < pattern->requests.count) {
      int64_t time_us = time_of(trace, &pattern->requests.items[r]);
      if (time_us != WO_NO_TIME && time_us > mark->time_us) break;
      r++;
    }
    if (r > 0 && (ends->count == 0 || ends->items[ends->count - 1] < r) && !add_end(ends, r)) return false;
  }
  return true;
}

/* ---- Stacks of the optimizer ---- */

static enum wo_status by_optimizer(const struct wo_alloc_pattern *pattern, struct ends *ends) {
  struct wo_stack_facts_set facts;
  enum wo_status status = wo_stack_facts_make(pattern->recording, &facts);
  if (status != WO_OK) return status;
  bool was_step = false;
  for (size_t r = 0; r < pattern->requests.count && status == WO_OK; r++) {
    const struct wo_request *request = &pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    uint32_t stack = pattern->instances.items[request->subject].stack;
    bool is_step = (wo_stack_facts_of(&facts, stack).flags & WO_STACK_OPTIMIZER) != 0;
    if (was_step && !is_step && !add_end(ends, r)) status = WO_E_NOMEM;
    was_step = is_step;
  }
  /* A step at the very end also ends an iteration. */
  if (status == WO_OK && was_step && !add_end(ends, pattern->requests.count)) status = WO_E_NOMEM;
  wo_stack_facts_done(&facts);
  return status;
}

/* ---- Repetition ---- */

struct births {
  uint64_t *symbols; /* size and stack of each birth */
  uint32_t *requests;
  size_t count;
};

/* Makes symbols of births: size and stack together identify an allocation. */
static bool births_make(const struct wo_alloc_pattern *pattern, struct births *births) {
  births->symbols = malloc((pattern->requests.count + 1) * sizeof births->symbols[0]);
  births->requests = malloc((pattern->requests.count + 1) * sizeof births->requests[0]);
  births->count = 0;
  if (births->symbols == NULL || births->requests == NULL) return false;
  for (size_t r = 0; r < pattern->requests.count; r++) {
    const struct wo_request *request = &pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    const struct wo_instance *instance = &pattern->instances.items[request->subject];
    births->symbols[births->count] = (instance->size_bytes * UINT64_C(1099511628211)) ^ instance->stack;
    births->requests[births->count++] = (uint32_t)r;
  }
  return true;
}

/* Percent of births that equal the birth one period earlier; if there are three iterations, the first may differ (lazy states,
 * autotuning). */
static unsigned agreement(const struct births *births, size_t period) {
  size_t from = births->count >= 3 * period ? 2 * period : period, equal = 0;
  if (from >= births->count) return 0;
  for (size_t i = from; i < births->count; i++) equal += births->symbols[i] == births->symbols[i - period];
  return (unsigned)(equal * 100 / (births->count - from));
}

/* The shortest period that explains everything; 0 when there is none. Layers repeat as well, but forward and backward differ. */
static size_t find_period(const struct births *births) {
  enum { CANDIDATES = 256, PERIOD_MIN = 8, AGREEMENT_PCT = 97 };
  unsigned tried = 0;
  if (births->count < 4 * PERIOD_MIN) return 0;
  size_t last = births->count - 1;
  for (size_t period = PERIOD_MIN; period <= births->count / 2 && tried < CANDIDATES; period++) {
    if (births->symbols[last - period] != births->symbols[last]) continue;
    tried++;
    if (agreement(births, period) >= AGREEMENT_PCT) return period;
  }
  return 0;
}

/* A size in KiB, capped so that no number of allocations overflows a sum. */
static int64_t kib_of(const struct wo_instance *instance) {
  const uint64_t cap = UINT64_C(1) << 30;
  uint64_t kib = instance->size_bytes / 1024;
  return (int64_t)(kib < cap ? kib : cap);
}

/* A period begins at the birth before which the fewest bytes are alive. */
static size_t find_floor(const struct wo_alloc_pattern *pattern, const struct births *births, size_t period) {
  int64_t alive = 0, least = INT64_MAX;
  size_t best = 0, birth = 0;
  for (size_t r = 0; r < pattern->requests.count && birth < births->count; r++) {
    const struct wo_request *request = &pattern->requests.items[r];
    if (births->requests[birth] == r) {
      if (birth + period >= births->count && alive < least) {
        least = alive;
        best = birth;
      }
      birth++;
      alive += kib_of(&pattern->instances.items[request->subject]);
    } else if (request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER) {
      alive -= kib_of(&pattern->instances.items[request->subject]);
    }
  }
  return best;
}

/* Adds an end at every period, counted from the birth before which the fewest bytes are alive. */
static bool by_period(const struct wo_alloc_pattern *pattern, struct ends *ends) {
  struct births births;
  bool is_made = births_make(pattern, &births);
  size_t period = is_made ? find_period(&births) : 0;
  if (period > 0) {
    size_t floor = find_floor(pattern, &births, period);
    for (size_t birth = floor % period; birth < births.count && is_made; birth += period) {
      if (birth > 0) is_made = add_end(ends, births.requests[birth]);
    }
  }
  free(births.symbols);
  free(births.requests);
  return is_made;
}

/* ---- Pauses ---- */

/* A pause is a gap of at least a tenth of the whole time, with a tenth of the requests before it and after it. */
static bool by_pauses(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace, struct ends *ends) {
  int64_t first = WO_NO_TIME, last = WO_NO_TIME, before = WO_NO_TIME;
  for (size_t r = 0; r < pattern->requests.count; r++) {
    int64_t time_us = time_of(trace, &pattern->requests.items[r]);
    if (time_us == WO_NO_TIME) continue;
    if (first == WO_NO_TIME) first = time_us;
    last = time_us;
  }
  int64_t whole;
  if (first == WO_NO_TIME || __builtin_sub_overflow(last, first, &whole) || whole <= 0) return true;
  for (size_t r = 0; r < pattern->requests.count; r++) {
    int64_t time_us = time_of(trace, &pattern->requests.items[r]), gap;
    if (time_us == WO_NO_TIME) continue;
    size_t done = ends->count > 0 ? ends->items[ends->count - 1] : 0, count = pattern->requests.count;
    bool is_long = (r - done) * 10 >= count && (count - r) * 10 >= count;
    bool is_pause = is_long && before != WO_NO_TIME && !__builtin_sub_overflow(time_us, before, &gap) && gap >= whole / 10;
    if (is_pause && !add_end(ends, r)) return false;
    before = time_us;
  }
  return true;
}

/* ---- Whole ---- */

/* Turns ends into iterations that together hold all requests. The requests after the last end are an iteration of their own only
 * if they are more than a tenth of the average one; a few frees at the end of a recording are not. */
static bool fill(const struct wo_alloc_pattern *pattern, const struct ends *ends, struct wo_iterations *iterations) {
  uint32_t count = (uint32_t)pattern->requests.count, first = 0;
  for (size_t i = 0; i < ends->count; i++) {
    if (ends->items[i] <= first) continue;
    if (!WO_VEC_RESERVE(&iterations->list, 1, SIZE_MAX)) return false;
    iterations->list.items[iterations->list.count++] = (struct wo_iteration){first, ends->items[i]};
    first = ends->items[i];
  }
  assert(first <= count);
  iterations->tail = first;
  if (first == count) return true;
  size_t found = iterations->list.count;
  bool is_short = found > 0 && (uint64_t)(count - first) * 10 * found < first;
  if (is_short) {
    iterations->list.items[found - 1].end = count;
    return true;
  }
  if (!WO_VEC_RESERVE(&iterations->list, 1, SIZE_MAX)) return false;
  iterations->list.items[iterations->list.count++] = (struct wo_iteration){first, count};
  return true;
}

/* Tries the sources, the most trusted first. */
static enum wo_status find_ends(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace, struct ends *ends,
                                enum wo_iteration_source *ret_source) {
  *ret_source = WO_ITERATIONS_ANNOTATED;
  if (!by_annotations(pattern, trace, ends)) return WO_E_NOMEM;
  if (ends->count > 0) return WO_OK;
  *ret_source = WO_ITERATIONS_OPTIMIZER;
  enum wo_status status = by_optimizer(pattern, ends);
  if (status != WO_OK || ends->count > 0) return status;
  *ret_source = WO_ITERATIONS_PERIODIC;
  if (!by_period(pattern, ends)) return WO_E_NOMEM;
  if (ends->count > 0) return WO_OK;
  *ret_source = WO_ITERATIONS_PAUSES;
  if (!by_pauses(pattern, trace, ends)) return WO_E_NOMEM;
  if (ends->count == 0) *ret_source = WO_ITERATIONS_WHOLE;
  return WO_OK;
}

enum wo_status wo_iterations_find(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace,
                                  struct wo_iterations *ret_iterations) {
  struct wo_iterations iterations = {0};
  struct ends ends = {0};
  enum wo_status status = find_ends(pattern, trace, &ends, &iterations.source);
  if (status == WO_OK && !fill(pattern, &ends, &iterations)) status = WO_E_NOMEM;
  WO_VEC_DONE(&ends);
  if (status != WO_OK) {
    wo_iterations_done(&iterations);
    return status;
  }
  *ret_iterations = iterations;
  return WO_OK;
}

void wo_iterations_done(struct wo_iterations *iterations) {
  if (iterations == NULL) return;
  WO_VEC_DONE(&iterations->list);
}
