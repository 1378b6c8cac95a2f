/* Changes of a program that a recording can be put through: offload, sharding, checkpointing, ... each a pure function from a
 * classified pattern to a pattern, with the sentence that says what was assumed.
 *
 * All rest on classes (classify.h), so each knows an interval: LOW leaves out what the change may save, HIGH keeps what it may
 * not save. Names are promises of the command line. One thread at a time. */
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

/* Makes the changed pattern. WO_E_RANGE when the recording has nothing to change (with the reason); WO_E_NOMEM. */
typedef enum wo_status wo_transform_apply_one(const struct wo_transform_request *request, struct wo_alloc_pattern *ret_pattern,
                                              struct wo_err *err);

/* One row of the table (transforms.def). */
struct wo_transform {
  const char *name;    /* "shard-optimizer" */
  const char *summary; /* one line for the help text */
  uint32_t amount_min; /* N's range; 0 and 0: it takes no N */
  uint32_t amount_max;
  wo_transform_apply_one *apply;
  const char *assumption; /* the sentence that stands beside the result */
};

/* The table, in the order of the help text: its rows, and one of them. */
size_t wo_transform_count(void);
const struct wo_transform *wo_transform_at(size_t index);

/* The transform of a name and its amount: `amount` where it is given, which it must be for some. WO_E_UNKNOWN (the message lists
 * the names), WO_E_SYNTAX (without a number, or with one that is not taken), WO_E_RANGE. */
enum wo_status wo_transform_choose(struct wo_view name, bool has_amount, uint32_t amount,
                                   const struct wo_transform **ret_transform, uint32_t *ret_amount, struct wo_err *err);

/* The same for "name" or "name=N". */
enum wo_status wo_transform_parse(struct wo_view text, const struct wo_transform **ret_transform, uint32_t *ret_amount,
                                  struct wo_err *err);

/* Applies one; the result is a pattern of its own, released with wo_alloc_pattern_done, whose classes must be found anew
 * (wo_classify) before the next transform. */
enum wo_status wo_transform_apply(const struct wo_transform *transform, const struct wo_transform_request *request,
                                  struct wo_alloc_pattern *ret_pattern, struct wo_err *err);

#endif
