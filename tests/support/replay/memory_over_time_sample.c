/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs for the tests of memory over time, attribution, pins and plots. */
#include "tests/support/replay/memory_over_time_sample.h"

#include <stdlib.h>

#include "parsers/base/vec.h"

static void need(bool is_there) {
  if (!is_there) abort();
}

void memory_sample_init(struct memory_sample *sample) {
  *sample = (struct memory_sample){.settings = wo_alloc_settings_default(WO_TORCH_DEFAULT)};
  sample->device.capacity_bytes = UINT64_MAX;
  sample->recording = wo_recording_new();
  need(sample->recording != NULL);
  sample->trace = wo_recording_trace(sample->recording, 0);
  need(sample->trace != NULL);
  sample->pattern.recording = sample->recording;
}

void memory_sample_done(struct memory_sample *sample) {
  wo_alloc_pattern_done(&sample->pattern);
  wo_recording_free(sample->recording);
  wo_device_model_free(sample->model);
}

uint32_t memory_sample_stack(struct memory_sample *sample, const struct sample_frame *frames, size_t count) {
  struct wo_recording *const recording = sample->recording;
  const struct wo_stack stack = {(uint32_t)recording->stack_frames.count, (uint32_t)count};
  need(WO_VEC_RESERVE(&recording->stacks, 1, UINT32_MAX) && WO_VEC_RESERVE(&recording->frames, count, UINT32_MAX) &&
       WO_VEC_RESERVE(&recording->stack_frames, count, UINT32_MAX));
  for (size_t i = 0; i < count; i++) {
    recording->stack_frames.items[recording->stack_frames.count++] = (uint32_t)recording->frames.count;
    recording->frames.items[recording->frames.count++] =
        (struct wo_frame){wo_view_of(frames[i].function), wo_view_of(frames[i].file), frames[i].line};
  }
  recording->stacks.items[recording->stacks.count] = stack;
  return (uint32_t)recording->stacks.count++;
}

static uint32_t add_instance(struct memory_sample *sample, uint64_t bytes, uint32_t stack, enum wo_alloc_class class_,
                             uint32_t birth) {
  struct wo_alloc_pattern *const pattern = &sample->pattern;
  need(WO_VEC_RESERVE(&pattern->instances, 1, UINT32_MAX));
  pattern->instances.items[pattern->instances.count] = (struct wo_instance){
      .size_bytes = bytes, .birth = birth, .death = WO_NO_REQUEST, .stack = stack, .class_ = (unsigned)class_ & 0x1F};
  return (uint32_t)pattern->instances.count++;
}

uint32_t memory_sample_alive(struct memory_sample *sample, uint64_t bytes, uint32_t stack, enum wo_alloc_class class_) {
  need(sample->pattern.requests.count == 0);
  sample->pattern.start_count++;
  return add_instance(sample, bytes, stack, class_, WO_NO_REQUEST);
}

void memory_sample_request(struct memory_sample *sample, enum wo_request_kind kind, uint32_t instance) {
  struct wo_alloc_pattern *const pattern = &sample->pattern;
  const uint32_t at = (uint32_t)pattern->requests.count;
  need(WO_VEC_RESERVE(&pattern->requests, 1, UINT32_MAX));
  pattern->requests.items[pattern->requests.count++] =
      (struct wo_request){.kind = (unsigned)kind & 0xFF, .subject = instance, .entry = at};
  need(wo_trace_add(sample->trace, (struct wo_trace_entry){.time_us = 1000 * (int64_t)at, .stack = WO_NO_STACK}) == WO_OK);
  if (kind == WO_REQUEST_FREE || kind == WO_REQUEST_DEFER) pattern->instances.items[instance].death = at;
}

uint32_t memory_sample_alloc(struct memory_sample *sample, uint64_t bytes, uint32_t stack, enum wo_alloc_class class_) {
  const uint32_t instance = add_instance(sample, bytes, stack, class_, (uint32_t)sample->pattern.requests.count);
  memory_sample_request(sample, WO_REQUEST_ALLOC, instance);
  return instance;
}

void memory_sample_free(struct memory_sample *sample, uint32_t instance) {
  memory_sample_request(sample, WO_REQUEST_FREE, instance);
}

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

static uint64_t random_bytes(uint64_t *seed) {
  static const uint64_t most[] = {4096, SAMPLE_MIB, 8 * SAMPLE_MIB, 48 * SAMPLE_MIB};
  return 1 + next_random(seed) % most[next_random(seed) % 4];
}

void memory_sample_random(struct memory_sample *sample, uint64_t seed, size_t count) {
  enum { LIVE_MAX = 200, PENDING_MAX = 20 };
  uint32_t live[LIVE_MAX];
  uint32_t pending[PENDING_MAX];
  size_t live_count = 0, pending_count = 0;
  for (size_t i = 0; i < count; i++) {
    const uint64_t choice = next_random(&seed) % 100;
    if (live_count == 0 || (choice < 52 && live_count < LIVE_MAX)) {
      const enum wo_alloc_class class_ = (enum wo_alloc_class)(next_random(&seed) % WO_CLASS_COUNT_);
      live[live_count++] = memory_sample_alloc(sample, random_bytes(&seed), WO_NO_STACK, class_);
    } else if (choice < 90 || (choice < 95 && pending_count == PENDING_MAX)) {
      const size_t k = next_random(&seed) % live_count;
      memory_sample_free(sample, live[k]);
      live[k] = live[--live_count];
    } else if (choice < 95) {
      const size_t k = next_random(&seed) % live_count;
      memory_sample_request(sample, WO_REQUEST_DEFER, live[k]);
      pending[pending_count++] = live[k];
      live[k] = live[--live_count];
    } else if (choice < 99 && pending_count > 0) {
      memory_sample_request(sample, WO_REQUEST_COMPLETE, pending[--pending_count]);
    } else {
      memory_sample_request(sample, WO_REQUEST_EMPTY_CACHE, 0);
      pending_count = 0;
    }
  }
}

static const struct wo_device *fresh_device(void *state) {
  struct memory_sample *const sample = state;
  sample->model = wo_device_model_free(sample->model);
  sample->model = wo_device_model_new(&sample->device, &sample->current);
  return sample->model ? &sample->current : NULL;
}

struct wo_memory_devices memory_sample_devices(struct memory_sample *sample) {
  return (struct wo_memory_devices){.state = sample, .fresh = fresh_device};
}

struct wo_replay_options memory_sample_options(const struct memory_sample *sample) {
  return (struct wo_replay_options){
      .settings = sample->settings, .torch = WO_TORCH_DEFAULT, .start = sample->start, .stops_at_oom = sample->stops_at_oom};
}

enum wo_status memory_sample_record(struct memory_sample *sample, struct wo_memory_over_time *ret_memory) {
  const struct wo_replay_options options = memory_sample_options(sample);
  const struct wo_memory_devices devices = memory_sample_devices(sample);
  return wo_memory_over_time_record(&sample->pattern, sample->trace, &options, &devices, ret_memory, NULL);
}
