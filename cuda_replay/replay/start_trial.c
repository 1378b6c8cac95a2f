/* A run: the replay loop on the recorded device, its events compared with the entries in order. */
#include "cuda_replay/replay/start_trial.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/replay/replay.h"

struct course {
  const struct wo__trial_input *input;
  struct wo__trial *trial;
  struct wo_device_recorded *device;
  uint32_t request; /* under way */
  uint64_t placed_address, placed_bytes;
  bool has_placed; /* the difference is an allocation that the model put somewhere else */
  bool is_over;    /* a difference was met */
  enum wo_status status;
};

#define TELL(text, ...) snprintf(text, WO_CHECK_TEXT_BYTES, __VA_ARGS__)

/* ---- Entries ---- */

static bool is_compared(enum wo_action action) {
  return action == WO_ACTION_ALLOC || wo_action_is_of_driver(action);
}

/* The next entry that the model has to bring about, or NULL. */
static const struct wo_trace_entry *expected_entry(struct course *course) {
  const struct wo_trace *const trace = course->input->trace;
  for (; course->trial->cursor < trace->entries.count; course->trial->cursor++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[course->trial->cursor];
    if (is_compared((enum wo_action)entry->action)) return entry;
  }
  return NULL;
}

static void tell(char *text, enum wo_action action, uint64_t address, uint64_t size_bytes) {
  if (action == WO_ACTION_OOM) {
    TELL(text, "oom for %" PRIu64 " bytes", size_bytes);
  } else {
    TELL(text, "%s of %" PRIu64 " bytes at 0x%" PRIx64, wo_action_name(action), size_bytes, address);
  }
}

static void tell_expected(struct course *course) {
  const struct wo_trace_entry *const entry = expected_entry(course);
  if (entry) {
    tell(course->trial->expected, (enum wo_action)entry->action, entry->address, entry->size_bytes);
  } else {
    TELL(course->trial->expected, "nothing more");
  }
}

/* ---- Observers ---- */

/* Whether the device refused although it had as much free as it was asked for. */
static bool had_room(const struct course *course) {
  uint64_t asked_bytes = 0, free_bytes = 0;
  const bool was_refused = wo_device_recorded_refusal(course->device, &asked_bytes, &free_bytes);
  return was_refused && free_bytes != UINT64_MAX && asked_bytes <= free_bytes;
}

static void count_equal(const struct course *course, enum wo_action action) {
  struct wo__trial *const trial = course->trial;
  if (action == WO_ACTION_ALLOC) {
    trial->addresses_equal++;
  } else if (action == WO_ACTION_OOM) {
    trial->refusals_equal++;
    trial->refusals_with_room += had_room(course);
  } else {
    trial->segment_events_equal++;
  }
}

static void on_event(void *state, const struct wo_allocator_event *event) {
  struct course *const course = state;
  if (course->is_over || !is_compared(event->action)) return;
  const struct wo_trace_entry *const entry = expected_entry(course);
  const bool is_oom = event->action == WO_ACTION_OOM;
  const bool is_equal = entry && entry->action == event->action && entry->size_bytes == event->size_bytes &&
                        (is_oom || entry->address == event->address) &&
                        course->input->recording->streams.items[entry->stream] == event->stream;
  if (is_equal) {
    count_equal(course, event->action);
    course->trial->cursor++;
    return;
  }
  course->is_over = true;
  tell_expected(course);
  tell(course->trial->got, event->action, event->address, event->size_bytes);
  course->has_placed = event->action == WO_ACTION_ALLOC;
  course->placed_address = event->address;
  course->placed_bytes = event->size_bytes;
}

/* The free blocks that the model took and that the recording took, found in the state right after the model's choice. */
struct choice {
  uint64_t placed, recorded;
  uint64_t placed_bytes, recorded_bytes;
};

static bool look_for_choice(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                            const wo_block_id *ids, size_t count) {
  struct choice *const choice = state;
  uint64_t at = segment->address;
  (void)ids;
  for (size_t i = 0; i < count; at += blocks[i++].size_bytes) {
    const bool has_rest = i + 1 < count && blocks[i + 1].state == WO_BLOCK_FREE;
    if (at == choice->placed) choice->placed_bytes = blocks[i].size_bytes + (has_rest ? blocks[i + 1].size_bytes : 0);
    if (at == choice->recorded && blocks[i].state == WO_BLOCK_FREE) choice->recorded_bytes = blocks[i].size_bytes;
  }
  return true;
}

static void find_misplaced(struct course *course, const struct wo_allocator *allocator) {
  struct wo__misplaced *const misplaced = &course->trial->misplaced;
  const struct wo_trace_entry *const entry = expected_entry(course);
  struct choice choice = {.placed = course->placed_address, .recorded_bytes = UINT64_MAX};
  if (entry && entry->action == WO_ACTION_ALLOC) choice.recorded = entry->address;
  course->status = wo_allocator_walk(allocator, look_for_choice, &choice);
  *misplaced = (struct wo__misplaced){
      .is_known = choice.placed_bytes > 0,
      .address = choice.placed,
      .free_bytes = choice.placed_bytes,
      .rounded_bytes = wo_alloc_round(&course->input->settings, course->placed_bytes),
      .recorded_bytes = choice.recorded_bytes,
      .is_lower = choice.placed < choice.recorded,
  };
}

static void finish(struct course *course, const struct wo_allocator *allocator) {
  struct wo__trial *const trial = course->trial;
  const struct wo_trace_entry *const left = expected_entry(course);
  if (left) {
    tell_expected(course);
    TELL(trial->got, "nothing");
    return;
  }
  course->status = wo__compare_layout(course->input, allocator, &trial->is_equal, trial->expected, trial->got);
  trial->is_final = !trial->is_equal;
}

/* Before a request the device is told how far the entries go that can be part of it. */
static void seek(struct course *course, uint32_t request) {
  const struct wo_request *const next = &course->input->pattern->requests.items[request];
  const bool uses_device = next->kind == WO_REQUEST_ALLOC || next->kind == WO_REQUEST_EMPTY_CACHE;
  if (uses_device && next->entry != WO_NO_ENTRY) wo_device_recorded_seek(course->device, next->entry);
}

static void on_step(void *state, size_t request, const struct wo_allocator *allocator) {
  struct course *const course = state;
  if (course->is_over) {
    if (course->has_placed) find_misplaced(course, allocator);
    return;
  }
  course->request = (uint32_t)request + 1;
  if (course->request < course->input->pattern->requests.count) {
    seek(course, course->request);
  } else {
    course->is_over = true;
    finish(course, allocator);
  }
}

/* ---- The run ---- */

/* The run ended in the middle of a request: the device had nothing to give, or torch itself would have stopped. */
static void tell_failure(struct course *course, const struct wo_err *err) {
  if (course->is_over) return;
  course->is_over = true;
  tell_expected(course);
  TELL(course->trial->got, "%.*s", WO_CHECK_TEXT_BYTES - 1, err->message);
}

enum wo_status wo__trial_run(const struct wo__trial_input *input, struct wo__trial *ret_trial, struct wo_err *err) {
  assert(input->pattern->requests.count > 0);
  *ret_trial = (struct wo__trial){0};
  struct wo_device device;
  struct course course = {.input = input, .trial = ret_trial};
  course.device = wo_device_recorded_new(input->recording, input->trace, input->start, &device);
  if (!course.device) return wo_err_set(err, WO_E_NOMEM, "out of memory while the recording is checked");
  const struct wo_replay_options options = {.settings = input->settings,
                                            .torch = input->torch,
                                            .device = &device,
                                            .start = input->start,
                                            .on_event = {&course, on_event},
                                            .on_step = {&course, on_step},
                                            .stop = &course.is_over};
  struct wo_replay_outcome outcome;
  seek(&course, 0);
  enum wo_status status = wo_replay_run(input->pattern, &options, &outcome, err);
  ret_trial->peak_reserved_bytes = outcome.peak.reserved_bytes;
  ret_trial->peak_allocated_bytes = outcome.peak.allocated_bytes;
  wo_device_recorded_free(course.device);
  if (status == WO_OK) status = course.status;
  if (status == WO_E_NOMEM || status == WO_OK) return status;
  const bool is_before = outcome.requests_run == 0 && status == WO_E_USAGE;
  if (is_before) return status;
  tell_failure(&course, err);
  return WO_OK;
}
