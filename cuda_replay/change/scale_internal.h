/* Private to scale_*.c: what the inference of exponents works on. */
#ifndef WO_SCALE_INTERNAL_H
#define WO_SCALE_INTERNAL_H

#include "cuda_replay/change/scale.h"
#include "cuda_replay/collections/size_counts.h"

struct wo__scaling {
  const struct wo_alloc_pattern *pattern;
  const struct wo_classes *classes;
  struct wo_exponent *exponents;   /* one for each instance */
  uint64_t length;                 /* recorded seq_len, 0 = not given */
  uint64_t batch;                  /* recorded micro_batch, 0 = not given */
  struct wo_size_counts lasting;   /* sizes of what is alive from the start to the end: parameters and states */
  struct wo_size_counts gradients; /* sizes of gradients */
};

#define WO_REASON_OPEN WO_SCALE_REASON_COUNT_

/* Whether an instance has no exponents yet. */
bool wo__scale_is_open(const struct wo__scaling *work, size_t instance);

/* Sets the power of the length of an instance, with the reason; low, likely and high. */
void wo__scale_set(struct wo__scaling *work, size_t instance, unsigned low, unsigned likely, unsigned high,
                   enum wo_scale_reason reason);

/* The facts of an instance's stack. */
struct wo_stack_facts wo__scale_facts(const struct wo__scaling *work, size_t instance);

/* Whether an instance was made by forward code: in forward, or when a checkpointed part ran again. */
bool wo__scale_is_forward(const struct wo__scaling *work, size_t instance);

/* Exponents of all open forward instances: which grow with the square of the length. WO_E_NOMEM. */
enum wo_status wo__scale_forward(struct wo__scaling *work);

/* Exponents of the open instances of backward, from the forward ones of the same operator and size. WO_E_NOMEM. */
enum wo_status wo__scale_backward(struct wo__scaling *work);

#endif
