/* SPDX-License-Identifier: Apache-2.0 */
/* Exponents from one recording: first of allocations that cannot depend on the batch, then of forward, then of backward, then of
 * those alive at the start. Each step takes the instances that are still open; the most reliable steps come first. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/change/scale_internal.h"
#include "parsers/base/vec.h"

bool wo__scale_is_constant(enum wo_class_rule rule, enum wo_scale_reason *ret_reason) {
  *ret_reason = WO_SCALE_REASON_CLASS;
  switch (rule) {
  case WO_CLASS_RULE_WORKSPACE:
  case WO_CLASS_RULE_COMMUNICATION:
  case WO_CLASS_RULE_OPTIMIZER_STATE:
  case WO_CLASS_RULE_OPTIMIZER_TEMPORARY:
  case WO_CLASS_RULE_GRADIENT:
    return true;
  case WO_CLASS_RULE_GRADIENT_SOURCE:
    *ret_reason = WO_SCALE_REASON_GRADIENT_SOURCE;
    return true;
  case WO_CLASS_RULE_WEIGHT_COPY:
    *ret_reason = WO_SCALE_REASON_WEIGHT_COPY;
    return true;
  case WO_CLASS_RULE_START_SETUP:
  case WO_CLASS_RULE_START_STATE:
  case WO_CLASS_RULE_START_REPLACED_STATE:
  case WO_CLASS_RULE_START_GRADIENT:
  case WO_CLASS_RULE_PERSISTENT:
  case WO_CLASS_RULE_PARAMETER:
    *ret_reason = WO_SCALE_REASON_START;
    return true;
  default:
    return false;
  }
}

/* How far the length is from one that divides a size: 0, -1, +1, or 2 if none does. Neighbours count only for lengths that are
 * not short, where accidents are rare. */
static int shift_of(uint64_t size_bytes, uint64_t length) {
  enum { LENGTH_MIN = 32 };
  if (size_bytes % length == 0) return 0;
  if (length >= LENGTH_MIN && size_bytes % (length - 1) == 0) return -1;
  if (length >= LENGTH_MIN && size_bytes % (length + 1) == 0) return 1;
  return 2;
}

/* A size that is no multiple of the length is constant, unless it is one of a neighbour of the length. */
static void set_indivisible(struct wo__scaling *work, size_t i) {
  if (work->length == 0) return;
  int shift = shift_of(work->pattern->instances.items[i].size_bytes, work->length);
  if (shift == 0) return;
  if (shift == 2) {
    wo__scale_set(work, i, 0, 0, 0, WO_SCALE_REASON_INDIVISIBLE);
    return;
  }
  wo__scale_set(work, i, 1, 1, 1, WO_SCALE_REASON_SHIFTED);
  work->exponents[i].shift = (int8_t)shift;
}

/* Sets all instances that do not depend on the batch, and counts the sizes of parameters and gradients for later steps. */
static bool set_constants(struct wo__scaling *work) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    enum wo_class_rule rule = work->classes->marks.items[i].rule;
    const struct wo_instance *instance = &work->pattern->instances.items[i];
    enum wo_scale_reason reason = WO_SCALE_REASON_CLASS;
    bool is_lasting = rule == WO_CLASS_RULE_PARAMETER || rule == WO_CLASS_RULE_START_STATE || rule == WO_CLASS_RULE_START_SETUP ||
                      rule == WO_CLASS_RULE_PERSISTENT;
    if (is_lasting && !wo_size_counts_add(&work->lasting, instance->size_bytes)) return false;
    bool is_gradient = rule == WO_CLASS_RULE_GRADIENT || rule == WO_CLASS_RULE_START_GRADIENT;
    if (is_gradient && !wo_size_counts_add(&work->gradients, instance->size_bytes)) return false;
    if ((wo__scale_facts(work, i).flags & WO_STACK_PLAN) != 0)
      wo__scale_set(work, i, 0, 1, 1, WO_SCALE_REASON_PLAN);
    else if (wo__scale_is_constant(rule, &reason))
      wo__scale_set(work, i, 0, 0, 0, reason);
    else
      set_indivisible(work, i);
  }
  wo_size_counts_sort(&work->lasting);
  wo_size_counts_sort(&work->gradients);
  return true;
}

/* By sizes alone: an allocation as large as a parameter may be its gradient or a state; every other one may grow with any power.
 */
static void set_without_stacks(struct wo__scaling *work) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    if (!wo__scale_is_open(work, i)) continue;
    uint64_t size_bytes = work->pattern->instances.items[i].size_bytes;
    bool is_parameter_size = wo_size_counts_of(&work->lasting, size_bytes) > 0;
    bool is_square = work->length >= 2 && (size_bytes / work->length) % work->length == 0;
    wo__scale_set(work, i, 0, is_parameter_size ? 0 : 1, is_square && !is_parameter_size ? 2 : 1, WO_SCALE_REASON_NO_STACK);
  }
}

/* An allocation that was alive at the start and dies has the shape of the one that replaces it. */
static bool set_replaced(struct wo__scaling *work) {
  uint32_t *successors;
  if (!wo_alloc_pattern_successors(work->pattern, &successors)) return false;
  for (size_t i = 0; i < work->pattern->start_count; i++) {
    if (!wo__scale_is_open(work, i)) continue;
    uint32_t successor = successors[i];
    if (successor == WO_NO_SUCCESSOR) {
      unsigned high = work->pattern->instances.items[i].death == WO_NO_REQUEST ? 0 : 1;
      wo__scale_set(work, i, 0, 0, high, WO_SCALE_REASON_START);
    } else if (!wo__scale_is_open(work, successor)) {
      const uint8_t *power = work->exponents[successor].power[WO_AXIS_SEQ_LEN];
      wo__scale_set(work, i, power[WO_BOUND_LOW], power[WO_BOUND_LIKELY], power[WO_BOUND_HIGH], WO_SCALE_REASON_REPLACED);
      work->exponents[i].shift = work->exponents[successor].shift;
    }
  }
  free(successors);
  return true;
}

/* ---- The micro-batch ---- */

/* Whether an allocation depends on the length alone (a mask, positions): 1 to 8 bytes for each of length or length^2 elements. */
static bool is_of_length(const struct wo__scaling *work, size_t i, struct wo_stack_facts facts) {
  uint64_t size_bytes = work->pattern->instances.items[i].size_bytes;
  bool is_made = facts.kind == WO_OP_FACTORY || facts.kind == WO_OP_COMPARE || work->exponents[i].reason == WO_SCALE_REASON_MASK;
  if (!is_made || work->length < 2) return false;
  for (uint64_t width = 1; width <= (facts.kind == WO_OP_COMPARE ? 1 : 8); width *= 2) {
    if (size_bytes == width * work->length || size_bytes == width * work->length * work->length) return true;
  }
  return false;
}

/* Everything made from the data has the micro-batch as a factor, except what depends on the length alone. */
static void set_batch(struct wo__scaling *work, size_t i) {
  struct wo_exponent *exponent = &work->exponents[i];
  uint8_t *power = exponent->power[WO_AXIS_MICRO_BATCH];
  struct wo_stack_facts facts = wo__scale_facts(work, i);
  uint64_t size_bytes = work->pattern->instances.items[i].size_bytes;
  bool is_constant = exponent->reason == WO_SCALE_REASON_CLASS || exponent->reason == WO_SCALE_REASON_GRADIENT_SOURCE ||
                     exponent->reason == WO_SCALE_REASON_WEIGHT_COPY;
  if (exponent->reason == WO_SCALE_REASON_PLAN) {
    power[WO_BOUND_LIKELY] = power[WO_BOUND_HIGH] = 1;
    return;
  }
  if (is_constant || (work->batch > 0 && size_bytes % work->batch != 0)) return;
  if (exponent->reason == WO_SCALE_REASON_START) {
    power[WO_BOUND_HIGH] = exponent->power[WO_AXIS_SEQ_LEN][WO_BOUND_HIGH] > 0;
    return;
  }
  power[WO_BOUND_HIGH] = 1;
  /* Nearly everything that has the micro-batch as a factor also has the length. */
  if (exponent->reason == WO_SCALE_REASON_INDIVISIBLE || is_of_length(work, i, facts)) return;
  bool is_unsure = exponent->reason == WO_SCALE_REASON_SCRATCH || exponent->reason == WO_SCALE_REASON_NO_STACK ||
                   exponent->reason == WO_SCALE_REASON_UNDECIDED;
  power[WO_BOUND_LIKELY] =
      exponent->reason == WO_SCALE_REASON_NO_STACK ? exponent->power[WO_AXIS_SEQ_LEN][WO_BOUND_LIKELY] > 0 : 1;
  power[WO_BOUND_LOW] = !is_unsure && power[WO_BOUND_LIKELY] == 1;
}

/* ---- Whether the recorded values can be true ---- */

/* Whether the length of the specification is that of an instance. */
static bool is_of_window(const struct wo_alloc_pattern *pattern, const struct wo_scale_spec *spec, size_t i) {
  const uint32_t birth = pattern->instances.items[i].birth;
  return spec->length_end == 0 || (i >= pattern->start_count && birth >= spec->length_first && birth < spec->length_end);
}

static void measure(const struct wo__scaling *work, const struct wo_scale_spec *spec, struct wo_exponents *exponents) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    if (!is_of_window(work->pattern, spec, i)) continue;
    uint64_t size_bytes = work->pattern->instances.items[i].size_bytes;
    enum wo_scale_reason reason = work->exponents[i].reason;
    bool is_activation = reason >= WO_SCALE_REASON_MASK || reason == WO_SCALE_REASON_INDIVISIBLE;
    if (!is_activation || work->classes->marks.items[i].phase == WO_PHASE_START) continue;
    exponents->activation_bytes += size_bytes;
    if (work->length > 0 && shift_of(size_bytes, work->length) != 2) exponents->divisible_bytes[WO_AXIS_SEQ_LEN] += size_bytes;
    if (work->batch > 0 && size_bytes % work->batch == 0) exponents->divisible_bytes[WO_AXIS_MICRO_BATCH] += size_bytes;
  }
}

/* A recorded value is wrong if less than this part of the activations' bytes are multiples of it. */
enum { DIVISIBLE_MIN_PCT = 20 };

static enum wo_status check_axes(const struct wo_exponents *exponents, const struct wo_scale_spec *spec, struct wo_err *err) {
  for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++) {
    if (spec->axes[id].from == 0 || exponents->activation_bytes == 0) continue;
    double pct = 100.0 * (double)exponents->divisible_bytes[id] / (double)exponents->activation_bytes;
    if (pct >= (double)DIVISIBLE_MIN_PCT) continue;
    return wo_err_set(err, WO_E_RANGE,
                      "%s=%" PRIu32 " cannot be what was recorded: only %.0f %% of the bytes of activations are multiples of it; "
                      "state the recorded value (with padding)",
                      wo_scale_axis_name(id), spec->axes[id].from, pct);
  }
  return WO_OK;
}

/* The steps, the most reliable first. */
static enum wo_status infer(struct wo__scaling *work) {
  if (!set_constants(work)) return WO_E_NOMEM;
  if (work->classes->facts.all_flags == 0) set_without_stacks(work);
  enum wo_status status = WO_OK;
  /* Instances alive at the start wait for their successors: they are set aside, so that backward leaves them open. */
  size_t starts = work->pattern->start_count;
  for (size_t i = 0; i < starts; i++) {
    if (wo__scale_is_open(work, i)) work->exponents[i].reason = WO_REASON_OPEN + 1;
  }
  status = wo__scale_forward(work);
  if (status == WO_OK) status = wo__scale_backward(work);
  if (status != WO_OK) return status;
  for (size_t i = 0; i < starts; i++) {
    if (work->exponents[i].reason == WO_REASON_OPEN + 1) work->exponents[i].reason = WO_REASON_OPEN;
  }
  if (!set_replaced(work)) return WO_E_NOMEM;
  for (size_t i = 0; i < work->pattern->instances.count; i++) set_batch(work, i);
  return WO_OK;
}

/* The inference with one length for all, or with none. */
static enum wo_status infer_alike(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                  const struct wo_scale_spec *spec, struct wo_exponents *ret_exponents, struct wo_err *err) {
  assert(classes->marks.count == pattern->instances.count);
  struct wo_exponents exponents = {0};
  size_t count = pattern->instances.count;
  if (count > 0 && !WO_VEC_RESERVE(&exponents.list, count, SIZE_MAX))
    return wo_err_set(err, WO_E_NOMEM, "no memory for exponents");
  for (; exponents.list.count < count; exponents.list.count++) {
    exponents.list.items[exponents.list.count] = (struct wo_exponent){.reason = WO_REASON_OPEN};
  }
  struct wo__scaling work = {.pattern = pattern,
                             .classes = classes,
                             .exponents = exponents.list.items,
                             .length = spec->axes[WO_AXIS_SEQ_LEN].from,
                             .batch = spec->axes[WO_AXIS_MICRO_BATCH].from};
  enum wo_status status = infer(&work);
  if (status == WO_OK) {
    measure(&work, spec, &exponents);
    status = check_axes(&exponents, spec, err);
  } else {
    wo_err_set(err, status, "no memory for exponents");
  }
  wo_size_counts_done(&work.lasting);
  wo_size_counts_done(&work.gradients);
  if (status != WO_OK) {
    wo_exponents_done(&exponents);
    return status;
  }
  *ret_exponents = exponents;
  return WO_OK;
}

/* Outside of the window no length is known, and none is changed. */
static void leave_lengths(const struct wo_alloc_pattern *pattern, const struct wo_scale_spec *spec,
                          const struct wo_exponents *without, struct wo_exponents *exponents) {
  for (size_t i = 0; i < pattern->instances.count; i++) {
    if (is_of_window(pattern, spec, i)) continue;
    struct wo_exponent one = without->list.items[i];
    memset(one.power[WO_AXIS_SEQ_LEN], 0, sizeof one.power[WO_AXIS_SEQ_LEN]);
    one.shift = 0;
    exponents->list.items[i] = one;
  }
}

enum wo_status wo_scale_infer(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                              const struct wo_scale_spec *spec, struct wo_exponents *ret_exponents, struct wo_err *err) {
  assert(pattern && classes && spec && ret_exponents);
  struct wo_exponents exponents, without;
  enum wo_status status = infer_alike(pattern, classes, spec, &exponents, err);
  if (status != WO_OK) return status;
  if (spec->length_end > 0) {
    const struct wo_scale_spec batch = {.axes[WO_AXIS_MICRO_BATCH] = spec->axes[WO_AXIS_MICRO_BATCH]};
    status = infer_alike(pattern, classes, &batch, &without, err);
    if (status != WO_OK) {
      wo_exponents_done(&exponents);
      return status;
    }
    leave_lengths(pattern, spec, &without, &exponents);
    wo_exponents_done(&without);
  }
  for (size_t i = pattern->start_count; i < pattern->instances.count && spec->batch_end > 0; i++) {
    struct wo_exponent *const one = &exponents.list.items[i];
    if (pattern->instances.items[i].birth >= spec->batch_end)
      memset(one->power[WO_AXIS_MICRO_BATCH], 0, sizeof one->power[WO_AXIS_MICRO_BATCH]);
  }
  *ret_exponents = exponents;
  return WO_OK;
}

void wo_exponents_done(struct wo_exponents *exponents) {
  if (exponents == NULL) return;
  WO_VEC_DONE(&exponents->list);
}
