/* The recording as it was. See replay_recorded.h. */
#include "cuda_replay/replay_recorded.h"

#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/device_model.h"

/* A device for one run: the recorded addresses, or invented ones. */
struct fresh {
  const struct wo_replay_report *report;
  struct wo_device_model *model;
  struct wo_device device;
};

static const struct wo_device *make_fresh(void *state) {
  struct fresh *const fresh = state;
  const struct wo_start *const start = &fresh->report->start;
  const struct wo_device_model_options options = {.capacity_bytes = UINT64_MAX};
  wo_device_model_free(fresh->model);
  fresh->model = wo_device_model_new(&options, &fresh->device);
  for (size_t i = 0; fresh->model && i < start->segments.count; i++) {
    const struct wo_allocator_segment *const segment = &start->segments.items[i];
    wo_device_model_take(fresh->model, segment->address, segment->size_bytes);
  }
  return fresh->model ? &fresh->device : NULL;
}

static struct wo_replay_options options_of(const struct wo_recording *recording, const struct wo_replay_report *report) {
  return (struct wo_replay_options){.settings = recording->settings, .torch = report->torch, .start = &report->start};
}

enum wo_status wo_replay_recorded_run(const struct wo_recording *recording, const struct wo_trace *trace,
                                      struct wo_replay_report *report, struct wo_err *err) {
  struct fresh fresh = {.report = report};
  const struct wo_course_devices devices = {&fresh, make_fresh};
  const struct wo_replay_options options = options_of(recording, report);
  const enum wo_status status = wo_course_record(&report->recorded_pattern, trace, &options, &devices, &report->course, err);
  wo_device_model_free(fresh.model);
  if (status != WO_OK) return status;
  report->has_course = true;
  report->recorded.settings = recording->settings;
  wo_replay_case_add(&report->recorded, &report->recorded_pattern, &report->course.outcome);
  report->operation_count += report->course.outcome.requests_run + report->course.outcome.segment_events;
  report->has_recorded = true;
  return WO_OK;
}

/* The last request that this entry or an earlier one made. */
static uint32_t request_before(const struct wo_pattern *pattern, uint32_t at_entry) {
  uint32_t found = WO_NO_REQUEST;
  for (size_t i = 0; i < pattern->requests.count; i++) {
    const uint32_t entry = pattern->requests.items[i].entry;
    if (entry != WO_NO_ENTRY && entry <= at_entry) found = (uint32_t)i;
  }
  return found;
}

enum wo_status wo_replay_recorded_state(const struct wo_recording *recording, const struct wo_trace *trace,
                                        const struct wo_replay_report *report, uint32_t at_entry, struct wo_segment_map *ret_map,
                                        struct wo_err *err) {
  const uint32_t request = request_before(&report->recorded_pattern, at_entry);
  const uint32_t map_at = request == WO_NO_REQUEST ? WO_MAP_AT_START : request;
  struct fresh fresh = {.report = report};
  struct wo_replay_options options = options_of(recording, report);
  struct wo_replay_outcome outcome;
  struct wo_course course = {0};
  struct wo_course_recorder *const recorder = wo_course_recorder_new(&report->recorded_pattern, trace, options.start, map_at);
  options.device = make_fresh(&fresh);
  enum wo_status status = WO_E_NOMEM;
  if (recorder && options.device) {
    options.on_step = wo_course_recorder_steps(recorder);
    options.on_event = wo_course_recorder_events(recorder);
    status = wo_replay_run(&report->recorded_pattern, &options, &outcome, err);
  }
  if (recorder) {
    const enum wo_status finish = wo_course_recorder_finish(recorder, &course);
    if (status == WO_OK) status = finish;
  }
  wo_device_model_free(fresh.model);
  if (status == WO_OK) {
    *ret_map = course.map;
    course.map = (struct wo_segment_map){0};
  } else if (status == WO_E_NOMEM) {
    wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  }
  wo_course_done(&course);
  return status;
}
