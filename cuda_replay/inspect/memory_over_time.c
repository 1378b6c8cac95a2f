/* SPDX-License-Identifier: Apache-2.0 */
/* The runs that make memory over time. */
#include "cuda_replay/inspect/memory_over_time_internal.h"

#include <assert.h>

/* The observers of the recorder and of the device. */
struct both {
  struct wo_replay_observer recorder, device;
};

/* The recorder comes first: the step of the device cannot change what it saw. */
static void on_both_steps(void *state, size_t request, const struct wo_allocator *allocator) {
  const struct both *const both = state;
  both->recorder.on_step(both->recorder.state, request, allocator);
  if (both->device.on_step) both->device.on_step(both->device.state, request, allocator);
}

/* The data that all runs share. */
struct recording_run {
  const struct wo_alloc_pattern *pattern;
  const struct wo_trace *trace;
  const struct wo_replay_options *options;
  const struct wo_memory_devices *devices;
};

/* One run with a recorder. */
static enum wo_status run(const struct recording_run *run, const struct wo_alloc_pattern *pattern, uint32_t map_at,
                          struct wo_memory_over_time *ret_memory, struct wo_err *err) {
  struct wo_replay_options options = *run->options;
  struct wo_memory_over_time memory = {0};
  struct wo_replay_outcome outcome = {0};
  options.device = run->devices->fresh(run->devices->state);
  struct wo_memory_recorder *const recorder = wo_memory_recorder_new(pattern, run->trace, options.start, map_at);
  if (!options.device || !recorder) {
    if (recorder) (void)wo_memory_recorder_finish(recorder, &memory);
    wo_memory_over_time_done(&memory);
    return wo_err_set(err, WO_E_NOMEM, "out of memory for the course of the replay");
  }
  struct both both = {wo_memory_recorder_steps(recorder), run->devices->on_step};
  options.on_step = (struct wo_replay_observer){&both, on_both_steps};
  options.on_event = wo_memory_recorder_events(recorder);
  const enum wo_status status = wo_replay_run(pattern, &options, &outcome, err);
  const enum wo_status finished = wo_memory_recorder_finish(recorder, &memory);
  if (status != WO_OK) {
    wo_memory_over_time_done(&memory);
    return status;
  }
  if (finished != WO_OK) return wo_err_set(err, finished, "out of memory for the course of the replay");
  memory.outcome = outcome;
  *ret_memory = memory;
  return WO_OK;
}

/* Runs again, and keeps only the segment map. */
static enum wo_status run_for_map(const struct recording_run *first, const struct wo_alloc_pattern *pattern, uint32_t map_at,
                                  struct wo_segment_map *ret_map, struct wo_err *err) {
  struct wo_memory_over_time memory = {0};
  const enum wo_status status = run(first, pattern, map_at, &memory, err);
  if (status != WO_OK) return status;
  *ret_map = memory.map;
  memory.map = (struct wo_segment_map){0};
  wo_memory_over_time_done(&memory);
  return WO_OK;
}

enum wo_status wo_memory_map_at(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace,
                                const struct wo_replay_options *options, const struct wo_memory_devices *devices, uint32_t map_at,
                                struct wo_segment_map *ret_map, struct wo_err *err) {
  const struct recording_run only = {pattern, trace, options, devices};
  return run_for_map(&only, pattern, map_at, ret_map, err);
}

/* Only up to the moment of the map. */
static enum wo_status take_map(const struct recording_run *first, uint32_t at, struct wo_memory_over_time *memory,
                               struct wo_err *err) {
  struct wo_alloc_pattern part = *first->pattern; /* shares its arrays */
  assert(at == WO_MAP_AT_START || at < part.requests.count);
  part.requests.count = at == WO_MAP_AT_START ? 0 : (size_t)at + 1;
  return run_for_map(first, &part, at, &memory->map, err);
}

/* Chooses the moment of the map; returns the request after which it is taken. */
static uint32_t choose_moment(struct wo_memory_over_time *memory, bool has_start) {
  if (memory->outcome.has_oom && memory->outcome.oom_at == WO_NO_REQUEST) {
    /* The instances alive at the start did not fit: this belongs to no request. */
    memory->has_oom = true;
    memory->oom = memory->outcome.oom;
    memory->oom_count = memory->outcome.oom_count;
    memory->oom_kept = 1;
    memory->ooms[0] = wo_memory_no_place();
  }
  const struct wo_memory_place peak = memory->peak[WO_MEMORY_ALLOCATED];
  memory->moment_at = memory->has_oom ? memory->ooms[0] : peak;
  memory->moment = memory->has_oom ? WO_MOMENT_OOM : peak.bytes > 0 ? WO_MOMENT_PEAK : WO_MOMENT_NONE;
  if (memory->moment_at.request != WO_NO_REQUEST) return memory->moment_at.request;
  if (has_start) return WO_MAP_AT_START;
  /* Without a start the first visible state is the one after the first request. */
  if (memory->request_count == 0) memory->moment = WO_MOMENT_NONE;
  return 0;
}

/* The moment of the map is known only at the end of the run. Copying every new peak on the way would cost the square of the
 * number of blocks in a program that fills memory slowly; running twice costs twice. */
enum wo_status wo_memory_over_time_record(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace,
                                          const struct wo_replay_options *options, const struct wo_memory_devices *devices,
                                          struct wo_memory_over_time *ret_memory, struct wo_err *err) {
  assert(pattern->recording != NULL && devices->fresh != NULL);
  const struct recording_run first = {pattern, trace, options, devices};
  struct wo_memory_over_time memory = {0};
  enum wo_status status = run(&first, pattern, WO_NO_REQUEST, &memory, err);
  if (status != WO_OK) return status;
  const uint32_t at = choose_moment(&memory, options->start != NULL);
  if (memory.moment != WO_MOMENT_NONE) status = take_map(&first, at, &memory, err);
  if (status != WO_OK) {
    wo_memory_over_time_done(&memory);
    return status;
  }
  *ret_memory = memory;
  return WO_OK;
}
