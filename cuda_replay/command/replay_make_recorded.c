/* SPDX-License-Identifier: Apache-2.0 */
/* The recording as it was. See replay_make_recorded.h. */
#include "cuda_replay/command/replay_make_recorded.h"

#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/device/device_model.h"
#include "cuda_replay/replay/device_recorded.h"

/* A device for one run: with the recorded addresses, or (is_free) with invented ones without a limit. */
struct fresh {
  const struct wo_replay_report *report;
  bool is_free;
  struct wo_device_model *model;
  struct wo_device_recorded *recorded;
  struct wo_device device;
};

/* Frees both kinds of devices; one of them is NULL. */
static void drop(struct fresh *fresh) {
  fresh->model = wo_device_model_free(fresh->model);
  fresh->recorded = wo_device_recorded_free(fresh->recorded);
}

/* Makes a model device that does not give out the segments of the start again. A segment that overlaps another is ignored. */
static bool make_model(struct fresh *fresh) {
  assert(fresh->model == NULL && fresh->recorded == NULL);
  const struct wo_start *const start = &fresh->report->start;
  const struct wo_device_model_options options = {.capacity_bytes = UINT64_MAX};
  fresh->model = wo_device_model_new(&options, &fresh->device);
  for (size_t i = 0; fresh->model && i < start->segments.count; i++) {
    const struct wo_allocator_segment *const segment = &start->segments.items[i];
    if (wo_device_model_take(fresh->model, segment->address, segment->size_bytes) == WO_E_NOMEM) return false;
  }
  return fresh->model != NULL;
}

/* Sets the next request of the recorded device: only segment events around its entry can belong to it. */
static void seek(struct fresh *fresh, size_t request) {
  assert(fresh->report != NULL);
  const struct wo_alloc_pattern *const pattern = &fresh->report->recorded_pattern;
  if (!fresh->recorded || request >= pattern->requests.count) return;
  const struct wo_request *const next = &pattern->requests.items[request];
  const bool is_asked = next->kind == WO_REQUEST_ALLOC || next->kind == WO_REQUEST_PROBE;
  if (is_asked && next->entry != WO_NO_ENTRY) wo_device_recorded_seek(fresh->recorded, next->entry);
}

/* Runs after a request, so it sets the next one. */
static void on_step(void *state, size_t request, const struct wo_allocator *allocator) {
  struct fresh *const fresh = state;
  (void)allocator;
  seek(fresh, request + 1);
}

/* A run that is repeated for its map needs the device in its first state. */
static const struct wo_device *make_fresh(void *state) {
  struct fresh *const fresh = state;
  const struct wo_replay_report *const report = fresh->report;
  drop(fresh);
  if (fresh->is_free) return make_model(fresh) ? &fresh->device : NULL;
  fresh->recorded = wo_device_recorded_new(report->recording, report->trace, &report->start, &fresh->device);
  seek(fresh, 0);
  return fresh->recorded ? &fresh->device : NULL;
}

/* Settings and start as they were recorded. */
static struct wo_replay_options options_of(const struct wo_replay_report *report) {
  return (struct wo_replay_options){
      .settings = report->recorded_settings, .torch = report->torch, .start = &report->start, .has_probes = true};
}

enum wo_status wo_replay_recorded_check(struct wo_replay_report *report, struct wo_err *err) {
  const struct wo_replay_check_options options = {.settings = &report->recorded_settings,
                                                  .torch = report->is_torch_assumed ? 0 : report->torch,
                                                  .start = report->is_start_checked ? &report->start : NULL};
  if (report->recording->fidelity != WO_TRACE_EXACT) return WO_OK;
  if (!report->has_check) {
    const enum wo_status status = wo_replay_check_run(report->recording, report->trace, &options, &report->check, err);
    if (status != WO_OK) return status;
  }
  report->has_check = true;
  if (report->check.verdict == WO_CHECK_REFUSED) return wo_err_set(err, WO_E_RANGE, "%s", report->check.why);
  if (report->is_torch_assumed && report->check.torch != 0) report->torch = report->check.torch;
  return WO_OK;
}

/* Runs the entries twice: the check stops at the first difference, memory is followed to the end. */
enum wo_status wo_replay_recorded_run(struct wo_replay_report *report, struct wo_err *err) {
  assert(report->recording != NULL && report->trace != NULL && !report->has_memory);
  struct fresh fresh = {.report = report};
  const struct wo_memory_devices devices = {&fresh, make_fresh, {&fresh, on_step}};
  enum wo_status status = wo_replay_recorded_check(report, err);
  if (status != WO_OK) return status;
  const struct wo_replay_options options = options_of(report);
  /* If the model differs from the recording, its addresses are used no longer: the figures are those of the model alone. */
  fresh.is_free = !report->has_check || report->check.verdict != WO_CHECK_EQUAL;
  status = wo_memory_over_time_record(&report->recorded_pattern, report->trace, &options, &devices, &report->memory, err);
  if (status != WO_OK && status != WO_E_NOMEM && !fresh.is_free) {
    fresh.is_free = true;
    status = wo_memory_over_time_record(&report->recorded_pattern, report->trace, &options, &devices, &report->memory, err);
  }
  drop(&fresh);
  if (status != WO_OK) return status;
  report->has_memory = true;
  report->recorded.settings = report->recorded_settings;
  wo_replay_case_add(&report->recorded, &report->memory.outcome);
  report->operation_count += report->memory.outcome.requests_run + report->memory.outcome.segment_events;
  report->has_recorded = true;
  return WO_OK;
}

/* The last request of this entry or an earlier one. */
static uint32_t request_before(const struct wo_alloc_pattern *pattern, uint32_t at_entry) {
  uint32_t found = WO_NO_REQUEST;
  for (size_t i = 0; i < pattern->requests.count; i++) {
    const uint32_t entry = pattern->requests.items[i].entry;
    if (entry != WO_NO_ENTRY && entry <= at_entry) found = (uint32_t)i;
  }
  return found;
}

/* Uses the recorded addresses if the check succeeded, else invented ones. */
enum wo_status wo_replay_recorded_state(const struct wo_replay_report *report, uint32_t at_entry, struct wo_segment_map *ret_map,
                                        struct wo_err *err) {
  const uint32_t request = request_before(&report->recorded_pattern, at_entry);
  const uint32_t map_at = request == WO_NO_REQUEST ? WO_MAP_AT_START : request;
  const struct wo_replay_options options = options_of(report);
  struct fresh fresh = {.report = report};
  const struct wo_memory_devices devices = {&fresh, make_fresh, {&fresh, on_step}};
  fresh.is_free = !report->has_check || report->check.verdict != WO_CHECK_EQUAL;
  enum wo_status status = wo_memory_map_at(&report->recorded_pattern, report->trace, &options, &devices, map_at, ret_map, err);
  if (status != WO_OK && status != WO_E_NOMEM && !fresh.is_free) {
    fresh.is_free = true;
    status = wo_memory_map_at(&report->recorded_pattern, report->trace, &options, &devices, map_at, ret_map, err);
  }
  drop(&fresh);
  return status == WO_E_NOMEM ? wo_err_nomem(err) : status;
}
