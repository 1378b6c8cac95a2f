/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the scaled pattern and examines the allocations that are alive at the peak. */
#include "cuda_replay/whatif/forecast.h"

/* Sums up the instances that are alive immediately after request `at` of the pattern, by the reason of their exponents. */
static void attribute(const struct wo_alloc_pattern *scaled, const struct wo_exponents *exponents,
                      const struct wo_scale_spec *spec, uint32_t at, struct wo_forecast *forecast) {
  for (size_t i = 0; i < scaled->instances.count; i++) {
    const struct wo_instance *instance = &scaled->instances.items[i];
    const struct wo_exponent *exponent = &exponents->list.items[i];
    bool is_born = instance->birth == WO_NO_REQUEST || instance->birth <= at;
    bool is_dead = instance->death != WO_NO_REQUEST && instance->death <= at;
    if (!is_born || is_dead) continue;
    forecast->reason_bytes[exponent->reason] += instance->size_bytes;
    bool is_sure = true;
    for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++) {
      bool is_asked = spec->axes[id].from != 0;
      if (is_asked && exponent->power[id][WO_BOUND_LOW] != exponent->power[id][WO_BOUND_HIGH]) is_sure = false;
    }
    if (!is_sure) forecast->unsure_bytes += instance->size_bytes;
  }
}

enum wo_status wo_forecast_run(const struct wo_alloc_pattern *pattern, const struct wo_exponents *exponents,
                               const struct wo_scale_spec *spec, const struct wo_steady_options *options,
                               struct wo_forecast *ret_forecast, struct wo_err *err) {
  struct wo_forecast forecast = {0};
  struct wo_alloc_pattern scaled;
  enum wo_status status = wo_scale_apply(pattern, exponents, spec, WO_BOUND_LIKELY, &scaled, err);
  if (status != WO_OK) return status;
  status = wo_steady_run(&scaled, options, &forecast.likely, err);
  if (status == WO_OK) {
    attribute(&scaled, exponents, spec, wo_steady_last(&forecast.likely)->allocated_at, &forecast);
    *ret_forecast = forecast;
  }
  wo_alloc_pattern_done(&scaled);
  return status;
}
