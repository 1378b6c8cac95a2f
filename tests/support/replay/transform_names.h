/* SPDX-License-Identifier: Apache-2.0 */
/* All transforms, in the order of their table. */
#ifndef WO_TRANSFORM_NAMES_H
#define WO_TRANSFORM_NAMES_H

#include <stdlib.h>

#include "cuda_replay/change/transforms.h"

static const struct {
  const char *name;
  uint32_t amount;
} wo_transform_names[] = {
#define WO_TRANSFORM(id, name, amount_min, amount_max, above_pct, below_pct, summary, assumption) {name, amount_min},
#include "parsers/base/exchange/transforms.def"
#undef WO_TRANSFORM
};

enum { WO_TRANSFORM_NAMES = sizeof wo_transform_names / sizeof wo_transform_names[0] };

/* The transform with the name at an index. */
static inline const struct wo_transform *wo_transform_named(size_t index) {
  const struct wo_transform *transform = NULL;
  uint32_t amount = wo_transform_names[index].amount;
  struct wo_err err = {0};
  if (wo_transform_choose(wo_view_of(wo_transform_names[index].name), amount > 0, amount, &transform, &amount, &err) != WO_OK)
    abort();
  return transform;
}

#endif
