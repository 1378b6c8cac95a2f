/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what becomes of a recording: rebuilding its start, its pattern, its check, and the replay on another device.
 *
 * The input's first eight bytes choose a random program, whose recording the rest changes, four bytes at a time: which entry,
 * what is done to it, with which value. So most recordings are nearly right. Checks: the model's invariants hold after each
 * request, a start fills its segments, a pattern's indices are inside, and the check keeps its promises. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda_replay/replay/check.h"
#include "cuda_replay/inspect/holdings.h"
#include "cuda_replay/replay/replay.h"
#include "tests/support/replay/allocator_valid.h"
#include "tests/fuzz/require.h"
#include "tests/support/replay/random_program.h"
#include "cuda_replay/recording/recording_valid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MAX = 120, HEADER_BYTES = 8, CHANGE_BYTES = 4 };

/* ---- Making a recording ---- */

static void move_entries(struct wo_trace *trace, size_t at, bool is_doubled) {
  if (is_doubled) {
    const struct wo_trace_entry entry = trace->entries.items[at];
    if (wo_trace_add(trace, entry) != WO_OK) return;
    for (size_t i = trace->entries.count - 1; i > at; i--) trace->entries.items[i] = trace->entries.items[i - 1];
    return;
  }
  for (size_t i = at + 1; i < trace->entries.count; i++) trace->entries.items[i - 1] = trace->entries.items[i];
  trace->entries.count--;
}

static void change(struct wo_recording *recording, const uint8_t *bytes) {
  struct wo_trace *const trace = &recording->traces.items[0];
  if (trace->entries.count == 0) return;
  const size_t at = (bytes[0] + 256u * bytes[1]) % trace->entries.count;
  const size_t other = (at + bytes[3]) % trace->entries.count;
  struct wo_trace_entry *const entry = &trace->entries.items[at];
  switch (bytes[2] % 12) {
  case 0:
  case 1:
    move_entries(trace, at, bytes[2] % 12 == 0);
    break;
  case 2:
    entry->size_bytes += 512u * bytes[3];
    break;
  case 3:
    entry->size_bytes = bytes[3] % 4 == 0 ? UINT64_MAX >> (bytes[3] % 64) : bytes[3];
    break;
  case 4:
    entry->address += 512u * bytes[3];
    break;
  case 5:
    entry->address = trace->entries.items[other].address;
    break;
  case 6:
    entry->action = (unsigned)(bytes[3] % WO_ACTION_COUNT_) & 31;
    if (entry->action == WO_ACTION_SETTINGS) entry->action = WO_ACTION_SNAPSHOT;
    break;
  case 7:
    entry->stream = (unsigned)(bytes[3] % recording->streams.count) & 0xfff;
    break;
  case 8:
    entry->pool = (unsigned)(bytes[3] % recording->pools.count) & 0x7fff;
    break;
  case 9: {
    const struct wo_trace_entry kept = *entry;
    *entry = trace->entries.items[other];
    trace->entries.items[other] = kept;
    break;
  }
  case 10:
    recording->torch_from = recording->torch_to = (uint16_t)(200 + bytes[3] % 16);
    break;
  default:
    recording->settings.expandable_segments = bytes[3] & 1;
    recording->capacity_bytes = bytes[3] & 2 ? recording->capacity_bytes : (uint64_t)bytes[3] << 28;
    if (bytes[3] & 4) trace->has_segments = trace->segments.count > 0;
    break;
  }
}

static struct wo_recording *make(const uint8_t *data, size_t size) {
  uint64_t seed = 0;
  for (size_t i = 0; i < HEADER_BYTES - 2; i++) seed = seed << 8 | data[i];
  struct wo_random_program program = wo_random_program_of(seed);
  program.steps = 10 + data[6] % STEPS_MAX;
  if (program.cut > 0) program.cut = data[7];
  struct wo_recording *const recording = wo_random_program_record(&program);
  if (!recording) return NULL;
  for (size_t at = HEADER_BYTES; at + CHANGE_BYTES <= size; at += CHANGE_BYTES) change(recording, data + at);
  return recording;
}

/* ---- Properties ---- */

static void check_start(const struct wo_start *start) {
  size_t block = 0;
  uint64_t end = 0;
  for (size_t i = 0; i < start->segments.count; i++) {
    const struct wo_allocator_segment *const segment = &start->segments.items[i];
    uint64_t sum = 0;
    for (uint32_t k = 0; k < start->block_counts.items[i]; k++) sum += start->blocks.items[block++].size_bytes;
    require(sum == segment->size_bytes && segment->address >= end);
    end = segment->address + segment->size_bytes;
  }
  require(block == start->blocks.count);
}

static void check_pattern(const struct wo_alloc_pattern *pattern) {
  require(pattern->start_count <= pattern->instances.count);
  for (size_t i = 0; i < pattern->instances.count; i++) {
    const struct wo_instance *const instance = &pattern->instances.items[i];
    require((i < pattern->start_count) == (instance->birth == WO_NO_REQUEST));
    require(instance->death == WO_NO_REQUEST || instance->death < pattern->requests.count);
    require(instance->birth == WO_NO_REQUEST || pattern->requests.items[instance->birth].subject == i);
    require(instance->death == WO_NO_REQUEST || pattern->requests.items[instance->death].subject == i);
    require(instance->size_bytes > 0);
  }
}

static void on_step(void *state, size_t request, const struct wo_allocator *allocator) {
  const char *why = NULL;
  (void)state;
  (void)request;
  require(wo_allocator_is_valid(allocator, &why));
}

static void check_replay(const struct wo_recording *recording, const struct wo_alloc_pattern *pattern, uint64_t capacity_bytes) {
  struct wo_device device;
  struct wo_err err = {0};
  struct wo_replay_outcome outcome;
  const struct wo_device_model_options model_options = {.capacity_bytes = capacity_bytes};
  struct wo_device_model *const model = wo_device_model_new(&model_options, &device);
  if (!model) return;
  const struct wo_replay_options options = {
      .settings = recording->settings, .torch = 206, .device = &device, .on_step = {NULL, on_step}};
  const enum wo_status status = wo_replay_run(pattern, &options, &outcome, &err);
  require(status == WO_OK || err.message[0] != '\0');
  require(outcome.peak.allocated_bytes <= outcome.peak.reserved_bytes);
  require(outcome.has_oom == (outcome.oom_count > 0));
  wo_device_model_free(model);
}

static void check_check(const struct wo_recording *recording, const struct wo_trace *trace) {
  const struct wo_replay_check_options options = {0};
  struct wo_replay_check check;
  struct wo_err err = {0};
  if (wo_replay_check_run(recording, trace, &options, &check, &err) != WO_OK) return;
  require(check.addresses_equal <= check.allocations && check.segment_events_equal <= check.segment_events);
  require(check.diverged_at <= trace->entries.count);
  require(check.final_layout_equal == (check.verdict == WO_CHECK_EQUAL));
  require((check.why[0] != '\0') == (check.verdict != WO_CHECK_EQUAL));
  require((check.got[0] != '\0') == (check.verdict == WO_CHECK_DIVERGED));
  if (check.verdict != WO_CHECK_EQUAL) return;
  require(check.addresses_equal == check.allocations && check.refusals_equal == check.refusals);
}

/* What a snapshot holds adds up, whatever its entries are. */
static void check_holdings(const struct wo_recording *recording, const struct wo_trace *trace) {
  struct wo_holdings holdings;
  struct wo_memory_over_time memory;
  uint64_t reserved = 0, free_units = 0;
  size_t blocks = 0;
  if (!trace->has_segments || wo_holdings_make(recording, trace, &holdings, &memory) != WO_OK) return;
  for (size_t i = 0; i < holdings.places.count; i++) {
    reserved += holdings.places.items[i].use.reserved_bytes;
    free_units += holdings.places.items[i].use.releasable_bytes;
    blocks += holdings.places.items[i].block_count;
  }
  require(reserved == memory.map.reserved_bytes && blocks == holdings.block_count);
  require(free_units == holdings.releasable_bytes + holdings.private_idle_bytes);
  require(holdings.pattern.instances.count == holdings.block_count && holdings.pattern.requests.count == 0);
  wo_memory_over_time_done(&memory);
  wo_holdings_done(&holdings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < HEADER_BYTES || size > HEADER_BYTES + 64 * CHANGE_BYTES) return 0;
  struct wo_recording *const recording = make(data, size);
  if (!recording) return 0;
  require(wo_recording_is_valid(recording));
  const struct wo_trace *const trace = &recording->traces.items[0];
  struct wo_start start;
  struct wo_alloc_pattern pattern;
  struct wo_err err = {0};
  if (wo_start_rebuild(recording, trace, &recording->settings, &start, &err) == WO_OK) {
    check_start(&start);
  } else {
    require(err.message[0] != '\0' && err.offset <= trace->entries.count);
  }
  if (wo_alloc_pattern_make(recording, trace, &pattern, &err) == WO_OK) {
    check_pattern(&pattern);
    check_replay(recording, &pattern, (uint64_t)(64 + data[0]) << 22);
  } else {
    require(err.message[0] != '\0' && err.offset <= trace->entries.count);
  }
  check_check(recording, trace);
  check_holdings(recording, trace);
  wo_start_done(&start);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
  return 0;
}
