/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the whole step that continues from the place where the failed step ended: boundaries, alignment, the pass. See
 * step_completion.h. */
#include "cuda_replay/steps/step_completion.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/steps/step_completion_internal.h"
#include "cuda_replay/classes/iterations.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/collections/sequence_match.h"
#include "parsers/base/vec.h"

/* The most whole steps that are tried, the latest first. */
enum { DONORS_MAX = 4 };

static bool is_refused(const struct wo_alloc_pattern *pattern, const struct wo_request *request) {
  if (request->kind != WO_REQUEST_ALLOC) return false;
  const struct wo_instance *instance = &pattern->instances.items[request->subject];
  return instance->death == instance->birth;
}

/* ---- The refused request ---- */

static void find_refused(const struct wo_alloc_pattern *pattern, struct wo_step_completion *completion) {
  completion->refused = WO_NO_REQUEST;
  for (size_t r = pattern->requests.count; r-- > 0;) {
    const struct wo_request *request = &pattern->requests.items[r];
    if (is_refused(pattern, request)) {
      completion->refused = (uint32_t)r;
      return;
    }
    if (request->kind == WO_REQUEST_ALLOC) completion->goes_on = true;
  }
  completion->goes_on = false;
}

/* ---- Births ---- */

/* The allocations of a range of requests, as symbols. */
struct births {
  uint64_t *symbols;
  uint32_t *instances;
  size_t count;
};

static void births_done(struct births *births) {
  free(births->symbols);
  free(births->instances);
}

/* By stacks; by sizes in a recording without any. The steps of most programs have the same sizes, and then the allocations
 * without a stack (of backward) are known by theirs: a library's workspace, which only the first step makes, would move them all.
 */
static uint64_t symbol_of(const struct wo__continuing *work, uint32_t instance) {
  const uint64_t is_size = UINT64_C(1) << 63;
  const struct wo_instance *born = &work->pattern->instances.items[instance];
  if (work->classes->facts.all_flags == 0) return born->size_bytes;
  return work->has_equal_sizes && born->stack == WO_NO_STACK ? is_size | born->size_bytes : born->stack;
}

static bool births_make(const struct wo__continuing *work, uint32_t first, uint32_t end, struct births *births) {
  assert(first <= end);
  births->symbols = malloc((end - first + 1) * sizeof births->symbols[0]);
  births->instances = malloc((end - first + 1) * sizeof births->instances[0]);
  births->count = 0;
  if (!births->symbols || !births->instances) return false;
  for (uint32_t r = first; r < end; r++) {
    const struct wo_request *request = &work->pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    births->symbols[births->count] = symbol_of(work, request->subject);
    births->instances[births->count++] = request->subject;
  }
  return true;
}

/* ---- Alignment ---- */

/* Strays: allocations that either side may lack (a cache that was filled, another kernel): a tenth, and a few. */
enum { STRAY_FEW = 8, STRAY_PART = 10 };

/* The birth in the whole step that corresponds to the refused request: the next one with its stack after the aligned part. */
static bool find_refused_in(const struct wo__continuing *work, const struct births *donor, size_t from, size_t *ret_at) {
  const uint32_t refused = work->pattern->requests.items[work->refused].subject;
  const uint64_t symbol = symbol_of(work, refused);
  const bool is_named = work->pattern->instances.items[refused].stack != WO_NO_STACK;
  if (!is_named || work->classes->facts.all_flags == 0) {
    *ret_at = from;
    return from < donor->count;
  }
  for (size_t at = from; at < donor->count && at < from + STRAY_FEW; at++) {
    *ret_at = at;
    if (donor->symbols[at] == symbol) return true;
  }
  return false;
}

/* The requests before the first step may belong to the program's setup: the step begins where its allocations are like the
 * beginning of the failed step, at or behind `at`; count: nowhere. Its passes are alike, so that the first place is the right
 * one, even if a later one is more alike: only a first pass makes a library's workspace. */
static size_t find_beginning(const struct births *step, const struct births *donor, size_t at) {
  enum { ALIKE_MIN = 4 };
  const size_t wanted = step->count < ALIKE_MIN ? step->count : ALIKE_MIN;
  for (; at < donor->count; at++) {
    size_t alike = 0;
    while (alike < wanted && at + alike < donor->count && step->symbols[alike] == donor->symbols[at + alike]) alike++;
    if (alike == wanted) break;
  }
  return at;
}

/* Enters the pairs; those of the whole step are only its beginning. */
static void enter_partners(struct wo__continuing *work, const struct births *step, const struct births *donor,
                           const uint32_t *matches) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) work->partners[i] = WO__NOBODY;
  for (size_t i = 0; i < step->count; i++) {
    if (matches[i] == WO_NO_MATCH) continue;
    work->partners[step->instances[i]] = donor->instances[matches[i]];
    work->partners[donor->instances[matches[i]]] = step->instances[i];
  }
}

/* Aligns a whole step; *ret_fits is true if it continues from the place where the failed step ended. */
static enum wo_status align(struct wo__continuing *work, const struct births *step, const struct births *donor, bool *ret_fits) {
  uint32_t *matches = malloc((step->count + 1) * sizeof matches[0]);
  size_t used = 0, matched = 0, at = 0;
  *ret_fits = false;
  const size_t strays_max = STRAY_FEW + step->count / STRAY_PART;
  if (!matches) return WO_E_NOMEM;
  const enum wo_status status =
      wo_sequence_match_beginning(step->symbols, step->count, donor->symbols, donor->count, strays_max, matches, &used);
  if (status == WO_OK) {
    for (size_t i = 0; i < step->count; i++) matched += matches[i] != WO_NO_MATCH;
    const size_t strays = (step->count - matched) + (used - matched);
    *ret_fits = strays <= strays_max && (step->count == 0 || matched > 0) && find_refused_in(work, donor, used, &at);
  }
  if (*ret_fits) {
    enter_partners(work, step, donor, matches);
    work->donor_at = work->pattern->instances.items[donor->instances[at]].birth;
  }
  free(matches);
  return status;
}

static bool has_refused(const struct wo_alloc_pattern *pattern, struct wo_iteration iteration) {
  for (uint32_t r = iteration.first; r < iteration.end; r++) {
    if (is_refused(pattern, &pattern->requests.items[r])) return true;
  }
  return false;
}

/* ---- The pass ---- */

/* The beginning of the last forward pass: the passes of one step (accumulation) may each have another length. */
static void find_pass(struct wo__continuing *work) {
  bool was_backward = false;
  work->pass_first = work->step_first;
  for (uint32_t r = work->step_first; r < work->refused; r++) {
    const struct wo_request *request = &work->pattern->requests.items[r];
    if (request->kind == WO_REQUEST_ALLOC && wo__begins_pass(work, request->subject, &was_backward)) work->pass_first = r;
  }
}

/* ---- The whole step ---- */

/* A whole step, or the rest of one from a pass on, and the beginning of the whole step before it (`first` if there is none). */
struct stretch {
  uint32_t before, first, end;
};

/* Aligns the births of a stretch from `at` on. */
static enum wo_status align_from(struct wo__continuing *work, const struct births *step, const struct births *births, size_t at,
                                 bool *ret_fits) {
  const struct births rest = {births->symbols + at, births->instances + at, births->count - at};
  if (at > 0) work->donor_first = work->donor_before = work->pattern->instances.items[rest.instances[0]].birth;
  return align(work, step, &rest, ret_fits);
}

static enum wo_status try_stretch(struct wo__continuing *work, const struct births *step, struct stretch donor, bool *ret_fits) {
  enum { BEGINNINGS_MAX = 16 };
  struct births births = {0};
  enum wo_status status = WO_E_NOMEM;
  const bool has_setup = donor.before == donor.first;
  work->donor_first = donor.first;
  work->donor_before = donor.before;
  work->donor_end = donor.end;
  *ret_fits = false;
  if (births_make(work, donor.first, donor.end, &births)) {
    status = has_setup ? WO_OK : align_from(work, step, &births, 0, ret_fits);
    size_t at = has_setup ? find_beginning(step, &births, 0) : births.count;
    for (unsigned tries = 0; at < births.count && tries < BEGINNINGS_MAX && status == WO_OK && !*ret_fits; tries++) {
      status = align_from(work, step, &births, at, ret_fits);
      at = find_beginning(step, &births, at + 1);
    }
  }
  births_done(&births);
  return status;
}

/* Tries the passes of a whole step, the latest first: a step that failed in a pass that this step does not have continues as this
 * pass does. Gradients, which a first pass leaves, already exist in the later ones, so these are the better evidence. */
static enum wo_status try_passes(struct wo__continuing *work, const struct births *pass, struct stretch donor, bool *ret_fits) {
  enum { PASSES_MAX = 8 };
  uint32_t begins[PASSES_MAX] = {donor.first};
  size_t count = 1;
  bool was_backward = false;
  for (uint32_t r = donor.first; r < donor.end; r++) {
    const struct wo_request *request = &work->pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC || !wo__begins_pass(work, request->subject, &was_backward)) continue;
    if (count == PASSES_MAX) memmove(begins, begins + 1, --count * sizeof begins[0]);
    begins[count++] = r;
  }
  enum wo_status status = WO_OK;
  while (count-- > 0 && status == WO_OK && !*ret_fits)
    status = try_stretch(work, pass, (struct stretch){begins[count], begins[count], donor.end}, ret_fits);
  return status;
}

/* Tries the latest whole steps, each from its beginning or from one of its passes. A step that another refusal cut short is not
 * whole. */
static enum wo_status try_all(struct wo__continuing *work, const struct wo_iterations *iterations, const struct births *step,
                              bool is_pass, struct wo_step_completion *completion) {
  const char *why = "no whole step stands before it";
  enum wo_status status = WO_OK;
  unsigned tried = 0;
  for (size_t i = iterations->list.count; i-- > 0 && status == WO_OK && tried < DONORS_MAX && !completion->is_made;) {
    struct wo_iteration whole = iterations->list.items[i];
    if (whole.end > iterations->tail) whole.end = iterations->tail;
    if (whole.first >= whole.end) continue;
    tried++;
    if (has_refused(work->pattern, whole)) {
      why = "the step before it was refused a request as well";
      continue;
    }
    const struct stretch donor = {i == 0 ? whole.first : iterations->list.items[i - 1].first, whole.first, whole.end};
    status = is_pass ? try_passes(work, step, donor, &completion->is_made) : try_stretch(work, step, donor, &completion->is_made);
    if (!completion->is_made) why = "the step before it makes other allocations";
  }
  snprintf(completion->why, sizeof completion->why, "%s", completion->is_made ? "" : why);
  return status;
}

static enum wo_status find_donor(struct wo__continuing *work, const struct wo_iterations *iterations,
                                 struct wo_step_completion *completion) {
  enum wo_status status = WO_OK;
  for (unsigned turn = 0; turn < 4 && status == WO_OK && !completion->is_made; turn++) {
    struct births step = {0};
    const bool is_pass = turn >= 2;
    work->has_equal_sizes = turn % 2 == 0;
    const uint32_t first = is_pass ? work->pass_first : work->step_first;
    status = births_make(work, first, work->refused, &step) ? try_all(work, iterations, &step, is_pass, completion) : WO_E_NOMEM;
    births_done(&step);
  }
  return status;
}

/* ---- All together ---- */

static size_t count_births(const struct wo_alloc_pattern *pattern, uint32_t first, uint32_t end) {
  size_t count = 0;
  for (uint32_t r = first; r < end; r++) count += pattern->requests.items[r].kind == WO_REQUEST_ALLOC;
  return count;
}

static bool is_optimizer(const struct wo__continuing *work, uint32_t instance) {
  return work->classes->marks.items[instance].phase == WO_PHASE_OPTIMIZER;
}

/* A request that is refused inside the optimizer's step ends no step: if its stacks end there, the boundary found is not a real
 * one. */
static void find_step(struct wo__continuing *work, struct wo_iterations *iterations) {
  uint32_t r = work->refused;
  work->step_first = iterations->tail;
  if (iterations->source != WO_ITERATIONS_OPTIMIZER || iterations->tail < work->refused) return;
  while (r > 0 && work->pattern->requests.items[r - 1].kind != WO_REQUEST_ALLOC) r--;
  const bool was_optimizer = r > 0 && is_optimizer(work, work->pattern->requests.items[r - 1].subject);
  if (!was_optimizer || !is_optimizer(work, work->pattern->requests.items[work->refused].subject)) return;
  assert(iterations->list.count > 0);
  work->step_first = iterations->tail = iterations->list.items[--iterations->list.count].first;
}

/* The bytes that backward allocates in a step, without those that are allocated only once. */
static double backward_bytes(const struct wo__continuing *work, struct wo_iteration step) {
  double bytes = 0;
  for (uint32_t r = step.first; r < step.end; r++) {
    const struct wo_request *const request = &work->pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    const struct wo_class_mark mark = work->classes->marks.items[request->subject];
    if (mark.phase == WO_PHASE_BACKWARD && mark.rule != WO_CLASS_RULE_WORKSPACE && mark.rule != WO_CLASS_RULE_COMMUNICATION)
      bytes += (double)work->pattern->instances.items[request->subject].size_bytes;
  }
  return bytes;
}

/* The difference must be larger than mismatches of allocations with the same stack, and than one stray allocation, can make it.
 */
static bool do_differ(double a, double b) {
  return a > 1.005 * b || b > 1.005 * a;
}

/* Whether whole steps after the first (which may try kernels) differ, or the failed one differs from the one that completes it.
 * Wrong pairs differ too, but not in their sum. */
static bool do_steps_differ(const struct wo__continuing *work, const struct wo_iterations *iterations) {
  double first = 0;
  if (do_differ(work->sizes.from_bytes, work->sizes.to_bytes)) return true;
  for (size_t i = 1; i < iterations->list.count && iterations->list.items[i].end <= iterations->tail; i++) {
    const double bytes = backward_bytes(work, iterations->list.items[i]);
    if (i == 1) first = bytes;
    if (do_differ(bytes, first)) return true;
  }
  return false;
}

static enum wo_status complete(struct wo__continuing *work, struct wo_iterations *iterations, const struct wo_trace *trace,
                               struct wo_step_completion *completion) {
  find_step(work, iterations);
  find_pass(work);
  completion->pass_first = work->pass_first;
  enum wo_status status = find_donor(work, iterations, completion);
  if (status != WO_OK || !completion->is_made) return status;
  status = wo__sizes_learn(work);
  if (status == WO_OK) {
    completion->whole_count = count_births(work->pattern, work->donor_first, work->donor_end);
    completion->ratio = wo__sizes_ratio(&work->sizes);
    completion->varies = do_steps_differ(work, iterations);
    status = wo__step_completion_build(work, trace, completion);
  }
  wo__sizes_done(&work->sizes);
  return status;
}

/* Finds iterations before the refused request only: the program's reaction to a failure is not a step. */
static enum wo_status make(struct wo__continuing *work, const struct wo_trace *trace, struct wo_step_completion *completion) {
  struct wo_alloc_pattern before;
  struct wo_iterations iterations;
  if (!wo__cut(work->pattern, work->refused, &before)) return WO_E_NOMEM;
  enum wo_status status = wo_iterations_find(&before, trace, &iterations);
  if (status != WO_OK) {
    wo_alloc_pattern_done(&before);
    return status;
  }
  const struct wo_instance *const refused = &work->pattern->instances.items[work->pattern->requests.items[work->refused].subject];
  status = wo_step_growth_find(&before, work->classes, &iterations, refused, &completion->growth);
  wo_alloc_pattern_done(&before);
  work->partners = malloc((work->pattern->instances.count + 1) * sizeof work->partners[0]);
  if (!work->partners) status = WO_E_NOMEM;
  if (status == WO_OK) status = complete(work, &iterations, trace, completion);
  free(work->partners);
  wo_iterations_done(&iterations);
  return status;
}

/* A recording without a refusal, as of a smaller run that went through, still shows whether the program grows and whether its
 * steps differ. */
static enum wo_status find_growth(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                  const struct wo_trace *trace, struct wo_step_completion *completion) {
  struct wo_iterations iterations;
  enum wo_status status = wo_iterations_find(pattern, trace, &iterations);
  if (status != WO_OK) return status;
  const struct wo__continuing work = {.pattern = pattern, .classes = classes};
  completion->varies = do_steps_differ(&work, &iterations);
  status = wo_step_growth_find(pattern, classes, &iterations, NULL, &completion->growth);
  wo_iterations_done(&iterations);
  return status;
}

enum wo_status wo_step_completion_make(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                       const struct wo_trace *trace, struct wo_step_completion *ret_completion) {
  assert(pattern && classes && ret_completion && classes->marks.count == pattern->instances.count);
  struct wo_step_completion completion = {.ratio = 1};
  enum wo_status status = WO_OK;
  find_refused(pattern, &completion);
  if (completion.refused != WO_NO_REQUEST) {
    struct wo__continuing work = {.pattern = pattern, .classes = classes, .refused = completion.refused};
    status = make(&work, trace, &completion);
  } else {
    status = find_growth(pattern, classes, trace, &completion);
  }
  if (status != WO_OK) {
    wo_step_completion_done(&completion);
    return status;
  }
  *ret_completion = completion;
  return WO_OK;
}

void wo_step_completion_done(struct wo_step_completion *completion) {
  if (!completion) return;
  wo_alloc_pattern_done(&completion->low);
  wo_alloc_pattern_done(&completion->high);
  wo_classes_done(&completion->low_classes);
  wo_classes_done(&completion->high_classes);
  *completion = (struct wo_step_completion){.refused = WO_NO_REQUEST, .ratio = 1};
}
