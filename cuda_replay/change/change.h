/* SPDX-License-Identifier: Apache-2.0 */
/* The change that a what-if tries: allocator settings, sizes, transforms of the program and the card's capacity.
 *
 * The command line and verify fill it, item by item, with the same names and values. How sizes grow and what a transform saves is
 * inferred from one recording and stays an interval: a change has a low, a likely and a high pattern, and is proven only if the
 * high one fits. A value: {0} changes nothing, assignment copies it, and nothing is released. */
#ifndef WO_CHANGE_H
#define WO_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_replay/change/scale_from_two.h"
#include "cuda_replay/change/transforms.h"
#include "cuda_replay/recording/settings.h"
#include "parsers/base/exchange/proposed_change.h"

/* The most settings strings and transforms of one change. Transforms are applied in the order given, after the scaling. */
enum { WO_CHANGE_SETS_MAX = 16, WO_CHANGE_TRANSFORMS_MAX = 8 };

struct wo_change {
  struct wo_view
      sets[WO_CHANGE_SETS_MAX]; /* KEY:VALUE lists as given, borrowed: the meaning of a key depends on the version of torch */
  size_t set_count;
  bool has_scale;
  struct wo_scale_spec scale;
  struct {
    const struct wo_transform *transform;
    uint32_t from; /* the amount that the recorded program has; 0: not stated */
    uint32_t amount;
  } transforms[WO_CHANGE_TRANSFORMS_MAX];
  size_t transform_count;
  uint64_t capacity_bytes; /* what the allocator may take of the card; 0: what the recording shows */
};

/* Whether it changes anything. */
bool wo_change_is_any(const struct wo_change *change);

/* Whether it changes the program: sizes or transforms, not only settings. */
bool wo_change_alters_program(const struct wo_change *change);

/* Whether it changes nothing but sizes: an accumulation that the recorded program has already may be among them. */
bool wo_change_is_of_sizes(const struct wo_change *change);

/* Adds one item: "set", "scale" or "transform" with the value of the option of this name; views point into the value. WO_E_USAGE
 * with a message that names the option and the value that it needs; *change is unchanged then. */
enum wo_status wo_change_add(struct wo_change *change, struct wo_view name, struct wo_view value, struct wo_err *err);

/* Adds the changes that a diagnosis proposes; views point into its texts. WO_E_USAGE with the reason, as for the options; *change
 * may hold a part of it then. */
enum wo_status wo_change_add_proposed(struct wo_change *change, const struct wo_proposed_change *proposed, struct wo_err *err);

/* Sets the new micro-batch of a change that has one; an accumulation whose present amount is stated grows by the factor by which
 * the batch shrinks, so that the effective batch stays. `micro_batch` divides the present one. */
void wo_change_set_micro_batch(struct wo_change *change, uint32_t micro_batch);

/* Takes the accumulation out, if there is one. */
void wo_change_drop_accumulation(struct wo_change *change);

/* The accumulation that the change sets; 0: none. */
uint32_t wo_change_accumulation(const struct wo_change *change);

/* The allocator's settings under the change: its sets replace the recorded ones, as a new PYTORCH_CUDA_ALLOC_CONF would; a memory
 * fraction is set by the program and stays. Without any set, the recorded settings. Statuses of wo_alloc_settings_parse;
 * WO_E_NOMEM. */
enum wo_status wo_change_settings(const struct wo_change *change, const struct wo_alloc_settings *recorded, uint16_t torch,
                                  struct wo_alloc_settings *ret_settings, struct wo_err *err);

/* Adds sizes and transforms in readable form: "seq_len 512 -> 1024, shard 8". */
void wo_change_text(const struct wo_change *change, struct wo_text *out);

/* The data that all changes of one pattern share: its classes, and how its sizes grow. */
struct wo_change_basis {
  const struct wo_alloc_pattern *pattern; /* borrowed; classified */
  const struct wo_classes *classes;       /* borrowed */
  struct wo_exponents exponents;          /* only if has_scale */
  bool has_pair;
  struct wo_scale_from_two pair;
};

/* Infers how sizes grow; `second` is the pattern of a second recording, or NULL. Statuses of wo_scale_infer and
 * wo_scale_from_two_infer; WO_E_USAGE if a second recording is given but not exactly one axis changes. */
enum wo_status wo_change_prepare(const struct wo_change *change, const struct wo_alloc_pattern *pattern,
                                 const struct wo_classes *classes, const struct wo_alloc_pattern *second,
                                 struct wo_change_basis *ret_basis, struct wo_err *err);

/* The changed pattern at one end of the interval; released with wo_alloc_pattern_done. Statuses of wo_scale_apply and
 * wo_transform_apply. */
enum wo_status wo_change_apply(const struct wo_change *change, const struct wo_change_basis *basis, enum wo_bound bound,
                               struct wo_alloc_pattern *ret_pattern, struct wo_err *err);

/* Releases what the basis owns; NULL allowed. */
void wo_change_basis_done(struct wo_change_basis *basis);

#endif
