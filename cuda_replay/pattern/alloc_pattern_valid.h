/* SPDX-License-Identifier: Apache-2.0 */
/* What everything that makes or changes a pattern guarantees. */
#ifndef WO_ALLOC_PATTERN_VALID_H
#define WO_ALLOC_PATTERN_VALID_H

#include "cuda_replay/pattern/alloc_pattern.h"

/* Whether a pattern is whole: births and deaths name requests that name them back, nobody dies before birth. */
bool wo_alloc_pattern_is_valid(const struct wo_alloc_pattern *pattern);

#endif
