/* SPDX-License-Identifier: Apache-2.0 */
/* Exponents read off two recordings of the same program at two sizes.
 *
 * A sequence matcher aligns the allocations of both by their stacks, in order (operators may be missing on either side). Then
 * their sizes are divided: each quotient must be 1, r or r^2, where r is the common ratio of the two runs. A pair with more than
 * a few other quotients is rejected with the reason. Pure; one thread at a time. */
#ifndef WO_SCALE_FROM_TWO_H
#define WO_SCALE_FROM_TWO_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/change/scale.h"
#include "parsers/base/status.h"

struct wo_scale_from_two {
  uint32_t ratio_over,
      ratio_under;    /* r as a fraction in lowest terms: the length of the longer run is r times that of the shorter one */
  size_t count;       /* allocations of the first recording */
  size_t matched;     /* those with a partner */
  size_t by_power[3]; /* matched with quotient 1, r, r^2 */
  size_t others;      /* matched with another quotient: the nearest powers below and above it are their interval */
};

/* Aligns `second` to `first` (two recordings; texts are compared) along `axis` and gives the exponents of the first's instances.
 * An allocation without a partner takes those of its group (same stack and size), else those of `inferred` (may be NULL: an
 * interval over all powers). WO_E_RANGE with the reason if the two do not fit (too few partners, too many odd quotients, all
 * sizes equal); WO_E_NOMEM. */
enum wo_status wo_scale_from_two_infer(const struct wo_alloc_pattern *first, const struct wo_alloc_pattern *second,
                                       enum wo_scale_axis_id axis, const struct wo_exponents *inferred,
                                       struct wo_exponents *ret_exponents, struct wo_scale_from_two *ret_pair,
                                       struct wo_err *err);

#endif
