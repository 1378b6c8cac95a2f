/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a program that can be applied to a recording: offload, sharding, checkpointing, ... Each is a pure function from a
 * classified pattern to a pattern, with a sentence that states its assumption.
 *
 * All depend on classes (classify.h), so each has an interval: LOW drops everything that the change may save, HIGH keeps
 * everything that it may not save. The command line promises these names. One thread at a time. */
#ifndef WO_TRANSFORMS_H
#define WO_TRANSFORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/classes/classify.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/change/scale.h"
#include "parsers/base/status.h"
#include "parsers/base/text.h"
#include "parsers/base/view.h"

struct wo_transform_request {
  const struct wo_alloc_pattern *pattern; /* classified */
  const struct wo_classes *classes;
  uint32_t amount; /* N of "name=N" */
  enum wo_bound bound;
};

/* Makes the changed pattern. WO_E_RANGE if the recording has nothing to change (with the reason); WO_E_NOMEM. */
typedef enum wo_status wo_transform_apply_one(const struct wo_transform_request *request, struct wo_alloc_pattern *ret_pattern,
                                              struct wo_err *err);

/* One row of the table (transforms.def). */
struct wo_transform {
  const char *name;    /* "shard-optimizer" */
  const char *summary; /* one line for the help text */
  uint32_t amount_min; /* N's range; 0 and 0: it takes no N */
  uint32_t amount_max;
  uint32_t above_pct; /* by how much of the card real programs exceeded the high end, and fell below the low end */
  uint32_t below_pct;
  wo_transform_apply_one *apply;
  const char *assumption; /* the sentence that is printed beside the result */
};

/* Finds the transform of a name and its amount: the given `amount`, which some transforms require. WO_E_UNKNOWN (the message
 * lists the names), WO_E_SYNTAX (a required number is missing, or one is given that is not taken), WO_E_RANGE. */
enum wo_status wo_transform_choose(struct wo_view name, bool has_amount, uint32_t amount,
                                   const struct wo_transform **ret_transform, uint32_t *ret_amount, struct wo_err *err);

/* The same for "name" or "name=N". */
enum wo_status wo_transform_parse(struct wo_view text, const struct wo_transform **ret_transform, uint32_t *ret_amount,
                                  struct wo_err *err);

/* Whether it is the one that repeats forward and backward before the optimizer's step. */
bool wo_transform_is_accumulation(const struct wo_transform *transform);

/* Applies one transform; the result is a pattern of its own, released with wo_alloc_pattern_done. Its classes must be found again
 * (wo_classify) before the next transform. */
enum wo_status wo_transform_apply(const struct wo_transform *transform, const struct wo_transform_request *request,
                                  struct wo_alloc_pattern *ret_pattern, struct wo_err *err);

#endif
