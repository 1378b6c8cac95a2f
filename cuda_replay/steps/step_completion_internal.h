/* SPDX-License-Identifier: Apache-2.0 */
/* Private to step_completion*.c: a step that failed, the whole step that completes it, and the relation of their sizes. */
#ifndef WO_STEP_COMPLETION_INTERNAL_H
#define WO_STEP_COMPLETION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/steps/step_completion.h"
#include "cuda_replay/collections/size_counts.h"

#define WO__NOBODY UINT32_MAX

/* A size of the whole step, and the one or several sizes that it became in the step that failed. */
struct wo__size_pair {
  uint64_t from, to_low, to_high;
  bool is_near; /* in the pass that failed; earlier passes may have had other sizes */
};

/* The ratios of the allocations of one stack in the pass that failed. */
struct wo__stack_ratio {
  uint32_t stack;
  double low, high;
};

/* A ratio of sizes, and the bytes with this ratio. */
struct wo__size_ratio {
  double ratio, bytes;
};

enum { WO__RATIOS_MAX = 16 };

/* How sizes change from the whole step to the one that failed. */
struct wo__size_map {
  struct wo__size_pair *pairs; /* by size, those of the pass that failed first */
  size_t count;
  struct wo__stack_ratio *stacks; /* by stack */
  size_t stack_count;
  struct wo__size_ratio ratios[WO__RATIOS_MAX]; /* of the pass that failed */
  size_t ratio_count;
  double from_bytes, to_bytes;   /* sums of that pass, in the whole step and in the one that failed */
  struct wo_size_counts lasting; /* sizes of parameters, gradients and states: an allocation of this size may be a gradient */
  bool is_equal;                 /* all sizes of that pass are equal to those of the whole step */
};

/* Both ends of a size. */
struct wo__size_span {
  uint64_t low, high;
};

/* All indices are those of the recorded pattern. */
struct wo__continuing {
  const struct wo_alloc_pattern *pattern;
  const struct wo_classes *classes;
  bool has_equal_sizes;   /* the steps are taken to have the same sizes */
  uint32_t refused;       /* request */
  uint32_t step_first;    /* request at which the step that failed begins */
  uint32_t donor_first;   /* the whole step: requests [first, end) */
  uint32_t donor_end;     /* */
  uint32_t donor_at;      /* its request that corresponds to the refused one */
  uint32_t donor_before;  /* the beginning of the whole step before it; donor_first if there is none */
  uint32_t pass_first;    /* request at which the pass that failed begins */
  uint64_t refused_bytes; /* bytes of the refused request, as exactly as its record shows them */
  uint32_t *partners;     /* for each instance of either step: its partner in the other, or WO__NOBODY */
  struct wo__size_map sizes;
};

/* The pattern up to a request; false when memory is out. */
bool wo__cut(const struct wo_alloc_pattern *pattern, uint32_t end, struct wo_alloc_pattern *ret_pattern);

/* Whether a forward pass begins with an allocation. To be called for all in order; *was_backward is false at first. */
bool wo__begins_pass(const struct wo__continuing *work, uint32_t instance, bool *was_backward);

/* Fills work->sizes from partners. WO_E_NOMEM. */
enum wo_status wo__sizes_learn(struct wo__continuing *work);
void wo__sizes_done(struct wo__size_map *sizes);

/* The size of an allocation of the whole step in the one that failed. is_later: it belongs to a pass after the one that failed,
 * whose own length is unknown. */
struct wo__size_span wo__size_of(const struct wo__continuing *work, uint32_t instance, bool is_later);

/* Size ratio, weighted by bytes; 1 if no size changed. */
double wo__sizes_ratio(const struct wo__size_map *sizes);

/* Writes the completed patterns and their classes. WO_E_NOMEM; wo_step_completion_done releases a partial result. */
enum wo_status wo__step_completion_build(const struct wo__continuing *work, const struct wo_trace *trace,
                                         struct wo_step_completion *completion);

#endif
