/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of which the end is known: several in a row, cut at an allocation of the last as if it had been refused. What a
 * completion makes of that is held against what was cut off. */
#ifndef WO_TEST_CUT_STEPS_H
#define WO_TEST_CUT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/whatif/steady.h"

/* `passes` times the step `first`; from the one numbered `from` on with the sizes of `other`, which makes the same allocations
 * (NULL: equal steps). Ends the test program when memory is out. Released with wo_alloc_pattern_done. */
struct wo_alloc_pattern wo_cut_steps_make(const struct wo_alloc_pattern *first, const struct wo_alloc_pattern *other,
                                          unsigned from, unsigned passes, struct wo_passes *ret_passes);

/* The pattern up to an allocation, which is refused (recorded, as PyTorch does, with its rounded size), or up to any request. */
struct wo_alloc_pattern wo_cut_at(const struct wo_alloc_pattern *truth, uint32_t request);
struct wo_alloc_pattern wo_cut_before(const struct wo_alloc_pattern *truth, uint32_t request);

struct wo_cut_peaks {
  uint64_t allocated_bytes, reserved_bytes;
};

/* Peaks of a run on the model without a limit, at default settings. */
struct wo_cut_peaks wo_cut_peaks_of(const struct wo_alloc_pattern *pattern);

/* How many requests a completed pattern has in common with the truth, from the beginning, sizes apart; what is freed counts as
 * the same when it is as large. */
uint32_t wo_cut_common(const struct wo_alloc_pattern *truth, const struct wo_alloc_pattern *completed);

/* Whether all requests of a completed pattern are those of the truth, with the same sizes. */
bool wo_cut_is_same(const struct wo_alloc_pattern *truth, const struct wo_alloc_pattern *completed);

#endif
