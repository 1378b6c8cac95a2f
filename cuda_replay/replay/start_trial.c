/* SPDX-License-Identifier: Apache-2.0 */
/* A run: the replay loop on the recorded device, its events compared with the entries in order. */
#include "cuda_replay/replay/start_trial_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/replay/replay.h"

struct memory {
  const struct wo__start_trial_input *input;
  struct wo__start_trial *trial;
  struct wo_device_recorded *device;
  uint32_t request; /* the current one */
  uint64_t placed_address, placed_bytes;
  bool has_placed; /* the difference is an allocation that the model put somewhere else */
  bool is_over;    /* a difference was met */
  enum wo_status status;
};

#define TELL(text, ...) snprintf(text, WO_CHECK_TEXT_BYTES, __VA_ARGS__)

/* ---- Entries ---- */

static bool is_compared(enum wo_action action) {
  return action == WO_ACTION_ALLOC || wo_action_is(action, WO_TRAIT_SEGMENT | WO_TRAIT_REFUSAL);
}

/* The next entry that the model has to produce, or NULL. */
static const struct wo_trace_entry *expected_entry(struct memory *memory) {
  const struct wo_trace *const trace = memory->input->trace;
  for (; memory->trial->cursor < trace->entries.count; memory->trial->cursor++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[memory->trial->cursor];
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

static void tell_expected(struct memory *memory) {
  const struct wo_trace_entry *const entry = expected_entry(memory);
  if (entry) {
    tell(memory->trial->expected, (enum wo_action)entry->action, entry->address, entry->size_bytes);
  } else {
    TELL(memory->trial->expected, "nothing more");
  }
}

/* ---- Observers ---- */

static void count_equal(const struct memory *memory, enum wo_action action) {
  struct wo__start_trial *const trial = memory->trial;
  if (action == WO_ACTION_ALLOC) {
    trial->addresses_equal++;
  } else if (action == WO_ACTION_OOM) {
    trial->refusals_equal++;
  } else {
    trial->segment_events_equal++;
  }
}

static void on_event(void *state, const struct wo_allocator_event *event) {
  struct memory *const memory = state;
  if (memory->is_over || !is_compared(event->action)) return;
  const struct wo_trace_entry *const entry = expected_entry(memory);
  const bool is_oom = event->action == WO_ACTION_OOM;
  const bool is_equal = entry && entry->action == event->action && entry->size_bytes == event->size_bytes &&
                        (is_oom || entry->address == event->address) &&
                        memory->input->recording->streams.items[entry->stream] == event->stream;
  if (is_equal) {
    count_equal(memory, event->action);
    memory->trial->cursor++;
    return;
  }
  memory->is_over = true;
  tell_expected(memory);
  tell(memory->trial->got, event->action, event->address, event->size_bytes);
  if (event->action == WO_ACTION_SEGMENT_FREE) {
    memory->trial->released_address = event->address;
    memory->trial->released_bytes = event->size_bytes;
  }
  memory->has_placed = event->action == WO_ACTION_ALLOC;
  memory->placed_address = event->address;
  memory->placed_bytes = event->size_bytes;
}

/* The free blocks that the model took and that the recording took, as found in the state right after the model's choice. */
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

static void find_misplaced(struct memory *memory, const struct wo_allocator *allocator) {
  struct wo__misplaced *const misplaced = &memory->trial->misplaced;
  const struct wo_trace_entry *const entry = expected_entry(memory);
  struct choice choice = {.placed = memory->placed_address, .recorded_bytes = UINT64_MAX};
  if (entry && entry->action == WO_ACTION_ALLOC) choice.recorded = entry->address;
  memory->status = wo_allocator_walk(allocator, look_for_choice, &choice);
  *misplaced = (struct wo__misplaced){
      .is_known = choice.placed_bytes > 0,
      .address = choice.placed,
      .free_bytes = choice.placed_bytes,
      .rounded_bytes = wo_alloc_round(&memory->input->settings, memory->placed_bytes),
      .recorded_bytes = choice.recorded_bytes,
      .is_lower = choice.placed < choice.recorded,
  };
}

static void finish(struct memory *memory, const struct wo_allocator *allocator) {
  struct wo__start_trial *const trial = memory->trial;
  const struct wo_trace_entry *const left = expected_entry(memory);
  if (left) {
    tell_expected(memory);
    TELL(trial->got, "nothing");
    return;
  }
  memory->status = wo__start_compare_layout(memory->input, allocator, &trial->is_equal, trial->expected, trial->got);
}

/* Before each request, tells the device up to which entry its events can go. */
static void seek(struct memory *memory, uint32_t request) {
  const struct wo_request *const next = &memory->input->pattern->requests.items[request];
  const bool uses_device = next->kind == WO_REQUEST_ALLOC || next->kind == WO_REQUEST_PROBE ||
                           next->kind == WO_REQUEST_EMPTY_CACHE || next->kind == WO_REQUEST_POOL_EMPTY;
  if (uses_device && next->entry != WO_NO_ENTRY) wo_device_recorded_seek(memory->device, next->entry);
}

static void on_step(void *state, size_t request, const struct wo_allocator *allocator) {
  struct memory *const memory = state;
  if (memory->is_over) {
    if (memory->has_placed) find_misplaced(memory, allocator);
    return;
  }
  memory->request = (uint32_t)request + 1;
  if (memory->request < memory->input->pattern->requests.count) {
    seek(memory, memory->request);
  } else {
    memory->is_over = true;
    finish(memory, allocator);
  }
}

/* ---- The run ---- */

/* The run ended in the middle of a request: the device had nothing to return, or torch itself would have stopped. */
static void tell_failure(struct memory *memory, const struct wo_err *err) {
  if (memory->is_over) return;
  memory->is_over = true;
  tell_expected(memory);
  TELL(memory->trial->got, "%.*s", WO_CHECK_TEXT_BYTES - 1, err->message);
}

enum wo_status wo__start_trial_run(const struct wo__start_trial_input *input, struct wo__start_trial *ret_trial,
                                   struct wo_err *err) {
  assert(input->pattern->requests.count > 0);
  *ret_trial = (struct wo__start_trial){0};
  struct wo_device device;
  struct memory memory = {.input = input, .trial = ret_trial};
  memory.device = wo_device_recorded_new(input->recording, input->trace, input->start, &device);
  if (!memory.device) return wo_err_set(err, WO_E_NOMEM, "out of memory while the recording is checked");
  const struct wo_replay_options options = {.settings = input->settings,
                                            .torch = input->torch,
                                            .device = &device,
                                            .start = input->start,
                                            .has_probes = true,
                                            .garbage_limit_bytes = input->garbage_limit_bytes,
                                            .on_event = {&memory, on_event},
                                            .on_step = {&memory, on_step},
                                            .stop = &memory.is_over};
  struct wo_replay_outcome outcome;
  seek(&memory, 0);
  enum wo_status status = wo_replay_run(input->pattern, &options, &outcome, err);
  ret_trial->peak_reserved_bytes = outcome.peak.reserved_bytes;
  ret_trial->peak_allocated_bytes = outcome.peak.allocated_bytes;
  wo_device_recorded_free(memory.device);
  if (status == WO_OK) status = memory.status;
  if (status == WO_E_NOMEM || status == WO_OK) return status;
  const bool is_before = outcome.requests_run == 0 && status == WO_E_USAGE;
  if (is_before) return status;
  tell_failure(&memory, err);
  return WO_OK;
}
