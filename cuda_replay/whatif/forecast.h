/* SPDX-License-Identifier: Apache-2.0 */
/* The forecast: a scaled pattern run to its steady state at the likely sizes, and the parts of its peak.
 *
 * Combines scale.h and steady.h for a command line. Pure; one thread at a time. */
#ifndef WO_FORECAST_H
#define WO_FORECAST_H

#include <stdint.h>

#include "cuda_replay/change/scale.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/whatif/steady.h"

struct wo_forecast {
  struct wo_steady likely;
  /* Requested bytes that are alive at the peak of allocated bytes, in the last pass. */
  uint64_t reason_bytes[WO_SCALE_REASON_COUNT_];
  uint64_t unsure_bytes; /* of those with different low and high exponents */
};

/* Scales `pattern` and runs it. Statuses as wo_scale_apply and wo_steady_run. */
enum wo_status wo_forecast_run(const struct wo_alloc_pattern *pattern, const struct wo_exponents *exponents,
                               const struct wo_scale_spec *spec, const struct wo_steady_options *options,
                               struct wo_forecast *ret_forecast, struct wo_err *err);

#endif
