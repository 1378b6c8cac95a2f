/* Runs the scaled pattern at each end of the interval and asks what is alive at the peak. */
#include "cuda_replay/whatif/forecast.h"

#include <assert.h>
#include <string.h>

/* Adds up what is alive right after request `at` of the pattern: its classes, and how their exponents were found. */
static void attribute(const struct wo_alloc_pattern *scaled, const struct wo_exponents *exponents, const struct wo_scale_spec *spec,
                      uint32_t at, struct wo_forecast *forecast) {
  for (size_t i = 0; i < scaled->instances.count; i++) {
    const struct wo_instance *instance = &scaled->instances.items[i];
    const struct wo_exponent *exponent = &exponents->list.items[i];
    bool is_born = instance->birth == WO_NO_REQUEST || instance->birth <= at;
    bool is_dead = instance->death != WO_NO_REQUEST && instance->death <= at;
    if (!is_born || is_dead) continue;
    assert(instance->class_ < WO_CLASS_COUNT_);
    forecast->class_bytes[instance->class_] += instance->size_bytes;
    forecast->reason_bytes[exponent->reason] += instance->size_bytes;
    bool is_sure = true;
    for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++) {
      bool is_asked = spec->axes[id].from != 0;
      if (is_asked && exponent->power[id][WO_BOUND_LOW] != exponent->power[id][WO_BOUND_HIGH]) is_sure = false;
    }
    if (!is_sure) forecast->unsure_bytes += instance->size_bytes;
  }
}

/* Whether any size differs between a bound and the likely value. */
static bool differs(const struct wo_exponents *exponents, const struct wo_scale_spec *spec, enum wo_bound bound) {
  for (size_t i = 0; i < exponents->list.count; i++) {
    for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++) {
      if (spec->axes[id].from == spec->axes[id].to) continue;
      const uint8_t *power = exponents->list.items[i].power[id];
      bool shrinks = spec->axes[id].to < spec->axes[id].from;
      enum wo_bound end = shrinks == (bound == WO_BOUND_LOW) ? WO_BOUND_HIGH : WO_BOUND_LOW;
      if (power[end] != power[WO_BOUND_LIKELY]) return true;
    }
  }
  return false;
}

/* One end of the interval; the likely one also tells what its peak is made of. */
static enum wo_status run_bound(const struct wo_alloc_pattern *pattern, const struct wo_exponents *exponents,
                                const struct wo_scale_spec *spec, const struct wo_steady_options *options, enum wo_bound bound,
                                struct wo_forecast *forecast, struct wo_err *err) {
  struct wo_alloc_pattern scaled;
  enum wo_status status = wo_scale_apply(pattern, exponents, spec, bound, &scaled, err);
  if (status != WO_OK) return status;
  status = wo_steady_run(&scaled, options, &forecast->bounds[bound], err);
  if (status == WO_OK && bound == WO_BOUND_LIKELY) {
    attribute(&scaled, exponents, spec, wo_steady_last(&forecast->bounds[bound])->allocated_at, forecast);
  }
  wo_alloc_pattern_done(&scaled);
  return status;
}

enum wo_status wo_forecast_run(const struct wo_alloc_pattern *pattern, const struct wo_exponents *exponents,
                               const struct wo_scale_spec *spec, const struct wo_steady_options *options,
                               struct wo_forecast *ret_forecast, struct wo_err *err) {
  struct wo_forecast forecast = {0};
  /* Observers see the likely run only. */
  struct wo_steady_options silent = *options;
  silent.on_event = (struct wo_allocator_observer){0};
  silent.on_step = (struct wo_replay_observer){0};
  enum wo_status status = run_bound(pattern, exponents, spec, options, WO_BOUND_LIKELY, &forecast, err);
  for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_ && status == WO_OK; bound++) {
    if (bound == WO_BOUND_LIKELY) continue;
    if (differs(exponents, spec, bound))
      status = run_bound(pattern, exponents, spec, &silent, bound, &forecast, err);
    else
      forecast.bounds[bound] = forecast.bounds[WO_BOUND_LIKELY];
  }
  if (status == WO_OK) *ret_forecast = forecast;
  return status;
}
