/* SPDX-License-Identifier: Apache-2.0 */
/* Private to classify*.c: the data of the rules while a pattern is classed. */
#ifndef WO_CLASSIFY_INTERNAL_H
#define WO_CLASSIFY_INTERNAL_H

#include "cuda_replay/classes/classify.h"
#include "cuda_replay/collections/size_counts.h"

/* A place in the program that allocates, and a size. */
struct wo__made {
  uint64_t size_bytes;
  uint32_t stack;
};

struct wo__classing {
  struct wo_alloc_pattern *pattern;
  struct wo_classes *classes;
  uint32_t *born_at;         /* instance that each request made, or WO_NO_INSTANCE */
  uint32_t *freed_at;        /* instance that each request freed, or WO_NO_INSTANCE */
  uint8_t *phase_at;         /* phase of the latest birth up to each request */
  uint32_t *pass_end;        /* for each request: the next request that gave birth in another phase */
  uint32_t *pass_last;       /* for each request: the last birth of its pass */
  uint32_t program_end;      /* the request after which an ending program only frees; none: the count of requests */
  uint32_t start_end;        /* the same for what was alive at the start */
  uint32_t last_backward;    /* the request at which the last finished backward pass began; none: 0 */
  uint32_t earlier_backward; /* the same of the one before it */
  bool has_casts;            /* a gradient was cast from one of half its size */
  struct wo__made *remade;   /* made in forward and freed, sorted: variables that are set in each pass */
  size_t remade_count;
  struct wo_size_counts lasting;   /* sizes of instances that never die and were not born in backward or in the optimizer */
  struct wo_size_counts gradients; /* sizes of the gradients found, in all steps */
  struct wo_size_counts trained;   /* of those, how many are alive at once */
};

#define WO_NO_INSTANCE UINT32_MAX

/* A consumed tensor dies at most this many requests after its consumer is born (references in a frame or two are dropped
 * first). */
enum { WO__CONSUMED_WITHIN = 3 };

/* Sets the rule of an instance; it is WO_CLASS_RULE_COUNT_ as long as no rule holds. */
void wo__class_set(struct wo__classing *work, size_t instance, enum wo_class_rule rule);
static inline bool wo__class_is_open(const struct wo__classing *work, size_t instance) {
  return work->classes->marks.items[instance].rule == WO_CLASS_RULE_COUNT_;
}

/* The facts of an instance's stack. */
static inline struct wo_stack_facts wo__class_facts(const struct wo__classing *work, size_t instance) {
  return wo_stack_facts_of(&work->classes->facts, work->pattern->instances.items[instance].stack);
}

/* Workspaces in a recording without operators, by what they come behind. False when memory is out. */
bool wo__class_scratch(struct wo__classing *work);

/* Temporaries that became gradients: walks back from each gradient through copies and casts to the operator that made it. */
void wo__class_gradient_sources(struct wo__classing *work);

/* Copies of parameters in another type, made in forward (autocast, dequantisation). WO_E_NOMEM. */
enum wo_status wo__class_weight_copies(struct wo__classing *work);

#endif
