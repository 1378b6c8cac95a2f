/* SPDX-License-Identifier: Apache-2.0 */
/* What-ifs of a recording. See replay_make_whatif.h.
 *
 * Every run begins with an empty allocator, since the recorded cache would keep segments that the changed run never makes.
 * Allocations alive at the start are made first, and the recorded requests are repeated until no pass reserves more (steady.h).
 */
#include "cuda_replay/command/replay_make_whatif.h"

#include <assert.h>

#include "cuda_replay/device/device_model.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/whatif/steady.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "cuda_replay/recording/trace_anonymous.h"

/* From an empty allocator, with the known capacity of the card. */
static struct wo_whatif_options options_of(const struct wo_replay_report *report, const struct wo_alloc_settings *settings) {
  return (struct wo_whatif_options){
      .settings = *settings, .torch = report->torch, .capacity_bytes = report->capacity.bytes, .shuffles = WO_WHATIF_SHUFFLES};
}

/* The pattern, repeated as often as necessary; released with wo_alloc_pattern_done. */
static enum wo_status repeat(const struct wo_replay_report *report, const struct wo_alloc_pattern *pattern,
                             const struct wo_alloc_settings *settings, struct wo_alloc_pattern *ret_pattern,
                             struct wo_steady_course *ret_course, struct wo_err *err) {
  const struct wo_steady_options options = {
      .settings = *settings, .torch = report->torch, .is_once = report->capacity.oom_entry != UINT32_MAX};
  return wo_steady_pattern_make(pattern, &options, ret_pattern, ret_course, err);
}

/* ---- Single questions ---- */

/* One pattern at one set of settings, at all orders of addresses. */
static enum wo_status run_case(struct wo_replay_report *report, const struct wo_alloc_pattern *pattern,
                               const struct wo_alloc_settings *settings, struct wo_replay_case *ret_case, struct wo_err *err) {
  const struct wo_whatif_options options = options_of(report, settings);
  return wo_whatif_run(pattern, &options, ret_case, &report->operation_count, err);
}

/* Also runs on the card if requested, with the sizes that must fit. */
static enum wo_status run_gpu(const struct wo_replay_args *args, struct wo_replay_report *report,
                              const struct wo_alloc_pattern *pattern, struct wo_err *err) {
  const struct wo_replay_gpu_wish wish = {.pattern = pattern,
                                          .settings = report->settings,
                                          .torch = report->torch,
                                          .capacity_bytes = report->capacity.bytes,
                                          .hooks = args->gpu.hooks};
  return report->is_on_gpu ? wo_replay_gpu_run(&report->gpu, &wish, &report->operation_count, err) : WO_OK;
}

/* The run for comparison with a what-if: the recorded settings and sizes, also from an empty allocator. */
static enum wo_status run_baseline(struct wo_replay_report *report, struct wo_err *err) {
  struct wo_alloc_pattern pattern;
  struct wo_steady_course course;
  enum wo_status status = repeat(report, wo_replay_needed(report), &report->recorded_settings, &pattern, &course, err);
  if (status != WO_OK) return status;
  status = run_case(report, &pattern, &report->recorded_settings, &report->baseline, err);
  report->has_baseline = status == WO_OK;
  wo_alloc_pattern_done(&pattern);
  return status;
}

/* From the recorded start: only a run with the recorded sizes can continue from it. A start that does not fit the settings or
 * exceeds the capacity is skipped, as it answers nothing. */
static enum wo_status run_warm(struct wo_replay_report *report, struct wo_err *err) {
  struct wo_whatif_options options = options_of(report, &report->settings);
  if (report->start.segments.count == 0 || report->has_bounds) return WO_OK;
  options.start = &report->start;
  options.shuffles = 0;
  const enum wo_status status = wo_whatif_run(wo_replay_needed(report), &options, &report->warm, &report->operation_count, err);
  report->has_warm = status == WO_OK;
  return status == WO_E_USAGE || status == WO_E_RANGE ? WO_OK : status;
}

/* ---- Changed programs ---- */

/* One end of the interval; the likely one is kept, because the report shows its details. */
static enum wo_status run_bound(const struct wo_replay_args *args, struct wo_replay_report *report,
                                const struct wo_change_basis *basis, enum wo_bound bound, struct wo_err *err) {
  struct wo_alloc_pattern changed, repeated;
  struct wo_steady_course course;
  enum wo_status status = wo_change_apply(&report->change, basis, bound, &changed, err);
  if (status != WO_OK) return status;
  status = repeat(report, &changed, &report->settings, &repeated, &course, err);
  wo_alloc_pattern_done(&changed);
  if (status != WO_OK) return status;
  status = run_case(report, &repeated, &report->settings, &report->bounds[bound], err);
  if (status == WO_OK && bound == WO_BOUND_HIGH) status = run_gpu(args, report, &repeated, err);
  if (status != WO_OK || bound != WO_BOUND_LIKELY) {
    wo_alloc_pattern_done(&repeated);
  } else {
    report->whatif = report->bounds[bound];
    report->whatif_pattern = repeated;
    report->whatif_course = course;
  }
  return status;
}

/* The pattern of a second recording of the same program: of its first device with entries. */
static enum wo_status open_pair(const struct wo_replay_args *args, struct wo_recording **ret_recording,
                                struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  struct wo_recording *recording = NULL;
  struct wo_err reason = {0};
  enum wo_status status = wo_trace_open(args->pair.ptr, &recording, &reason);
  if (status == WO_OK) wo_recording_anonymize(recording, args->pseudonyms);
  if (status == WO_OK && recording->traces.count == 0) status = wo_err_set(&reason, WO_E_USAGE, "has no entries of any device");
  if (status == WO_OK) status = wo_alloc_pattern_make(recording, &recording->traces.items[0], ret_pattern, &reason);
  if (status == WO_OK && !wo_alloc_pattern_drop_probes(ret_pattern)) status = WO_E_NOMEM;
  if (status == WO_OK) {
    *ret_recording = recording;
    return WO_OK;
  }
  wo_alloc_pattern_done(ret_pattern);
  wo_recording_free(recording);
  if (status == WO_E_NOMEM) return wo_err_nomem(err);
  return wo_err_set(err, WO_E_USAGE, "--pair %.*s: %s", (int)args->pair.len, args->pair.ptr, reason.message);
}

/* Only the exponents need the second recording, so it is released before anything runs. */
static enum wo_status prepare_change(const struct wo_replay_args *args, struct wo_replay_report *report,
                                     struct wo_change_basis *ret_basis, struct wo_err *err) {
  struct wo_recording *other = NULL;
  struct wo_alloc_pattern second = {0};
  if (args->pair.len == 0)
    return wo_change_prepare(&report->change, wo_replay_needed(report), wo_replay_needed_classes(report), NULL, ret_basis, err);
  enum wo_status status = open_pair(args, &other, &second, err);
  if (status != WO_OK) return status;
  status =
      wo_change_prepare(&report->change, wo_replay_needed(report), wo_replay_needed_classes(report), &second, ret_basis, err);
  wo_alloc_pattern_done(&second);
  wo_recording_free(other);
  return status;
}

/* The parts of the likely peak: the reasons for the figures. Transforms would make another peak. */
static enum wo_status run_forecast(struct wo_replay_report *report, const struct wo_change_basis *basis, struct wo_err *err) {
  const struct wo_steady_options options = {.settings = report->settings, .torch = report->torch};
  if (!report->change.has_scale || report->change.transform_count > 0) return WO_OK;
  const enum wo_status status =
      wo_forecast_run(wo_replay_needed(report), &basis->exponents, &report->change.scale, &options, &report->forecast, err);
  report->has_forecast = status == WO_OK;
  return status;
}

/* Low, likely, high: three patterns, each repeated to its own steady state. */
static enum wo_status run_changed(const struct wo_replay_args *args, struct wo_replay_report *report, struct wo_err *err) {
  struct wo_change_basis basis = {0};
  report->change = args->change;
  enum wo_status status = prepare_change(args, report, &basis, err);
  if (status != WO_OK) return status;
  report->has_pair = basis.has_pair;
  report->pair = basis.pair;
  for (int bound = 0; bound < WO_BOUND_COUNT_ && status == WO_OK; bound++)
    status = run_bound(args, report, &basis, (enum wo_bound)bound, err);
  if (status == WO_OK) status = run_forecast(report, &basis, err);
  report->has_bounds = status == WO_OK;
  wo_change_basis_done(&basis);
  return status;
}

/* ---- Where the memory is ---- */

/* Devices for the memory of a what-if: the same device, made again for each run. */
struct fresh_model {
  struct wo_whatif_options options;
  unsigned order;
  struct wo_device_model *model;
  struct wo_device device;
};

/* The order that needed most, so that the map shows the run of the figures. */
static const struct wo_device *make_fresh(void *state) {
  struct fresh_model *const fresh = state;
  wo_device_model_free(fresh->model);
  fresh->model = wo_whatif_device(&fresh->options, fresh->order, &fresh->device);
  return fresh->model ? &fresh->device : NULL;
}

/* Replaces the recorded run: a report shows only one. */
static enum wo_status look(struct wo_replay_report *report, struct wo_err *err) {
  struct fresh_model fresh = {.options = options_of(report, &report->settings), .order = report->whatif.worst_order};
  const struct wo_memory_devices devices = {&fresh, make_fresh, {0}};
  const struct wo_replay_options options = {.settings = report->settings, .torch = report->torch};
  if (report->has_memory) wo_memory_over_time_done(&report->memory);
  report->has_memory = false;
  report->pattern = &report->whatif_pattern;
  assert(report->has_whatif && report->whatif_pattern.recording != NULL);
  const enum wo_status status =
      wo_memory_over_time_record(report->pattern, report->trace, &options, &devices, &report->memory, err);
  wo_device_model_free(fresh.model);
  report->has_memory = status == WO_OK;
  return status;
}

/* ---- All together ---- */

/* The changed run first: its problems are reported before time is spent on comparisons. */
enum wo_status wo_replay_whatif_run(const struct wo_replay_args *args, struct wo_replay_report *report, struct wo_err *err) {
  enum wo_status status;
  if (wo_change_alters_program(&args->change)) {
    status = run_changed(args, report, err);
  } else {
    status = repeat(report, wo_replay_needed(report), &report->settings, &report->whatif_pattern, &report->whatif_course, err);
    if (status == WO_OK) status = run_case(report, &report->whatif_pattern, &report->settings, &report->whatif, err);
    if (status == WO_OK) status = run_gpu(args, report, &report->whatif_pattern, err);
  }
  if (status != WO_OK) return status;
  report->has_whatif = true;
  if (report->is_changed || report->has_bounds) status = run_baseline(report, err);
  if (status == WO_OK) status = run_warm(report, err);
  return status == WO_OK ? look(report, err) : status;
}

/* All rows run the same number of passes: the number that the recorded settings need to be steady. */
enum wo_status wo_replay_sweep_run(struct wo_replay_report *report, struct wo_err *err) {
  struct wo_whatif_options options = options_of(report, &report->recorded_settings);
  struct wo_alloc_pattern pattern;
  struct wo_steady_course course;
  options.shuffles = 1;
  enum wo_status status = repeat(report, wo_replay_needed(report), &report->recorded_settings, &pattern, &course, err);
  if (status != WO_OK) return status;
  status = wo_sweep_run(&pattern, &options, &report->arena, &report->sweep, &report->operation_count, err);
  report->has_sweep = status == WO_OK;
  wo_alloc_pattern_done(&pattern);
  return status;
}
