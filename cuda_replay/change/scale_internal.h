/* SPDX-License-Identifier: Apache-2.0 */
/* Private to scale_*.c: the state of the inference of exponents. */
#ifndef WO_SCALE_INTERNAL_H
#define WO_SCALE_INTERNAL_H

#include <assert.h>

#include "cuda_replay/change/scale.h"
#include "cuda_replay/collections/size_counts.h"

struct wo__scaling {
  const struct wo_alloc_pattern *pattern;
  const struct wo_classes *classes;
  struct wo_exponent *exponents;   /* one for each instance */
  uint64_t length;                 /* recorded seq_len, 0 = not given */
  uint64_t batch;                  /* recorded micro_batch, 0 = not given */
  struct wo_size_counts lasting;   /* sizes of allocations alive from the start to the end: parameters and states */
  struct wo_size_counts gradients; /* sizes of gradients */
};

#define WO_REASON_OPEN WO_SCALE_REASON_COUNT_

/* Whether an instance has no exponents yet. */
static inline bool wo__scale_is_open(const struct wo__scaling *work, size_t instance) {
  return work->exponents[instance].reason == WO_REASON_OPEN;
}

/* Sets a power (low, likely and high) of an axis, with the reason. */
static inline void wo__exponent_set(struct wo_exponent *exponent, enum wo_scale_axis_id axis, unsigned low, unsigned likely,
                                    unsigned high, enum wo_scale_reason reason) {
  assert(low <= likely && likely <= high && high <= 2);
  exponent->power[axis][WO_BOUND_LOW] = (uint8_t)low;
  exponent->power[axis][WO_BOUND_LIKELY] = (uint8_t)likely;
  exponent->power[axis][WO_BOUND_HIGH] = (uint8_t)high;
  exponent->reason = (uint8_t)reason;
}

/* Sets an instance's power of the length. */
static inline void wo__scale_set(struct wo__scaling *work, size_t instance, unsigned low, unsigned likely, unsigned high,
                                 enum wo_scale_reason reason) {
  assert(low <= likely && likely <= high && high <= 2);
  wo__exponent_set(&work->exponents[instance], WO_AXIS_SEQ_LEN, low, likely, high, reason);
}

/* The facts of an instance's stack. */
static inline struct wo_stack_facts wo__scale_facts(const struct wo__scaling *work, size_t instance) {
  return wo_stack_facts_of(&work->classes->facts, work->pattern->instances.items[instance].stack);
}

/* Whether the rule's size does not depend on the batch; *ret_reason is set then. */
bool wo__scale_is_constant(enum wo_class_rule rule, enum wo_scale_reason *ret_reason);

/* Whether an instance was made by forward code: in forward, or when a checkpointed part ran again. */
static inline bool wo__scale_is_forward(const struct wo__scaling *work, size_t instance) {
  struct wo_class_mark mark = work->classes->marks.items[instance];
  return mark.phase == WO_PHASE_FORWARD || mark.rule == WO_CLASS_RULE_RECOMPUTED;
}

/* Exponents of all open forward instances: finds those that grow with the square of the length. WO_E_NOMEM. */
enum wo_status wo__scale_forward(struct wo__scaling *work);

/* Exponents of the open instances of backward, from the forward ones of the same operator and size. WO_E_NOMEM. */
enum wo_status wo__scale_backward(struct wo__scaling *work);

#endif
