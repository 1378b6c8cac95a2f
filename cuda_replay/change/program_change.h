/* A changed program: the sizes and transforms that the command line asks for, put on a recorded pattern.
 *
 * How sizes grow and what a transform saves is inferred from one recording and stays an interval: a change has a low, a likely
 * and a high pattern, and is proven only when the high one fits. */
#ifndef WO_PROGRAM_CHANGE_H
#define WO_PROGRAM_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_replay/change/scale_from_two.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/change/scale.h"
#include "cuda_replay/change/transforms.h"

/* Transforms of one call; they are applied in the order given, behind the scaling. */
enum { WO_PROGRAM_CHANGE_TRANSFORMS_MAX = 8 };

struct wo_program_change {
  bool has_scale;
  struct wo_scale_spec scale;
  struct {
    const struct wo_transform *transform;
    uint32_t amount;
  } transforms[WO_PROGRAM_CHANGE_TRANSFORMS_MAX];
  size_t transform_count;
};

/* Whether there is nothing to change. */
bool wo_program_change_is_none(const struct wo_program_change *change);

/* Adds it as people read it: "seq_len 512 -> 1024, shard 8". */
void wo_program_change_text(const struct wo_program_change *change, struct wo_text *out);

/* What the changes of one pattern have in common: its classes, and how its sizes grow. */
struct wo_program_change_basis {
  const struct wo_alloc_pattern *pattern; /* borrowed; classified */
  const struct wo_classes *classes; /* borrowed */
  struct wo_exponents exponents;    /* of has_scale only */
  bool has_pair;
  struct wo_pair pair;
};

/* Infers how sizes grow; `second` is the pattern of a second recording, or NULL. Statuses of wo_scale_infer and wo_pair_infer;
 * WO_E_USAGE when a second recording is given and not exactly one axis changes. */
enum wo_status wo_program_change_prepare(const struct wo_program_change *change, const struct wo_alloc_pattern *pattern,
                                         const struct wo_classes *classes, const struct wo_alloc_pattern *second,
                                         struct wo_program_change_basis *ret_basis, struct wo_err *err);

/* The changed pattern at one end of the interval; released with wo_alloc_pattern_done. Statuses of wo_scale_apply and
 * wo_transform_apply. */
enum wo_status wo_program_change_apply(const struct wo_program_change *change, const struct wo_program_change_basis *basis,
                                       enum wo_bound bound, struct wo_alloc_pattern *ret_pattern, struct wo_err *err);

/* Releases what the basis owns; NULL allowed. */
void wo_program_change_basis_done(struct wo_program_change_basis *basis);

#endif
