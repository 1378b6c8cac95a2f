/* SPDX-License-Identifier: Apache-2.0 */
/* What a check and a replay are made of: the address map, the start, patterns, the recorded device, the loop. Recordings by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/device/device_model.h"
#include "cuda_replay/replay/device_recorded.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "cuda_replay/replay/expandable_ranges_internal.h"
#include "cuda_replay/replay/replay.h"
#include "cuda_replay/replay/start.h"
#include "parsers/base/vec.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/random_program.h"
#include "cuda_replay/recording/recording_valid.h"

#define MIB ((uint64_t)1024 * 1024)
#define LARGE UINT64_C(0x7f0000000000)
#define SMALL UINT64_C(0x7e0000000000)

/* ---- Recordings by hand ---- */

static struct wo_recording *new_recording(void) {
  struct wo_recording *const recording = wo_recording_new();
  assert_non_null(recording);
  recording->format = WO_TRACE_FORMAT_SNAPSHOT;
  struct wo_trace *const trace = wo_recording_trace(recording, 0);
  assert_non_null(trace);
  trace->has_segments = true;
  return recording;
}

static struct wo_trace *trace_of(struct wo_recording *recording) {
  return &recording->traces.items[0];
}

static void add(struct wo_recording *recording, enum wo_action action, uint64_t address, uint64_t size_bytes, uint32_t stack) {
  const struct wo_trace_entry entry = {
      .action = (unsigned)action & 31, .address = address, .size_bytes = size_bytes, .stack = stack, .time_us = WO_NO_TIME};
  assert_int_equal(wo_trace_add(trace_of(recording), entry), WO_OK);
}

static void add_plain(struct wo_recording *recording, enum wo_action action, uint64_t address, uint64_t size_bytes) {
  add(recording, action, address, size_bytes, WO_NO_STACK);
}

static void add_free(struct wo_recording *recording, uint64_t address, uint64_t size_bytes) {
  add_plain(recording, WO_ACTION_FREE_REQUESTED, address, size_bytes);
  add_plain(recording, WO_ACTION_FREE_COMPLETED, address, size_bytes);
}

static void add_segment(struct wo_recording *recording, uint64_t address, uint64_t size_bytes, bool is_expandable) {
  struct wo_trace *const trace = trace_of(recording);
  assert_true(WO_VEC_RESERVE(&trace->segments, 1, 100));
  trace->segments.items[trace->segments.count++] = (struct wo_trace_segment){.address = address,
                                                                             .size_bytes = size_bytes,
                                                                             .first_block = (uint32_t)trace->blocks.count,
                                                                             .stack = WO_NO_STACK,
                                                                             .is_small = size_bytes == 2 * MIB,
                                                                             .is_expandable = is_expandable};
}

/* Adds a block behind those of the last segment; requested 0 means free. */
static void add_block(struct wo_recording *recording, uint64_t size_bytes, uint64_t requested_bytes) {
  struct wo_trace *const trace = trace_of(recording);
  struct wo_trace_segment *const segment = &trace->segments.items[trace->segments.count - 1];
  uint64_t address = segment->address;
  for (uint32_t i = 0; i < segment->block_count; i++) address += trace->blocks.items[segment->first_block + i].size_bytes;
  assert_true(WO_VEC_RESERVE(&trace->blocks, 1, 100));
  trace->blocks.items[trace->blocks.count++] =
      (struct wo_trace_block){.address = address,
                              .size_bytes = size_bytes,
                              .requested_bytes = requested_bytes,
                              .stack = WO_NO_STACK,
                              .state = requested_bytes > 0 ? WO_BLOCK_ALLOCATED : WO_BLOCK_FREE};
  segment->block_count++;
}

/* A stack of one frame of that name. */
static uint32_t add_stack(struct wo_recording *recording, const char *function) {
  assert_true(WO_VEC_RESERVE(&recording->frames, 1, 100) && WO_VEC_RESERVE(&recording->stack_frames, 1, 100) &&
              WO_VEC_RESERVE(&recording->stacks, 1, 100));
  const uint32_t index = (uint32_t)recording->stacks.count;
  recording->frames.items[recording->frames.count++] = (struct wo_frame){.function = wo_view_of(function)};
  recording->stack_frames.items[recording->stack_frames.count++] = index;
  recording->stacks.items[recording->stacks.count++] = (struct wo_stack){index, 1};
  return index;
}

static struct wo_start start_of(struct wo_recording *recording) {
  struct wo_start start;
  struct wo_err err = {0};
  assert_true(wo_recording_is_valid(recording));
  if (wo_start_rebuild(recording, trace_of(recording), &recording->settings, &start, &err) != WO_OK) fail_msg("%s", err.message);
  return start;
}

static struct wo_alloc_pattern pattern_of(struct wo_recording *recording) {
  struct wo_alloc_pattern pattern;
  struct wo_err err = {0};
  if (wo_alloc_pattern_make(recording, trace_of(recording), &pattern, &err) != WO_OK) fail_msg("%s", err.message);
  return pattern;
}

/* ---- The address map ---- */

static void map_agrees_with_an_array(void **state) {
  enum { KEYS = 4096, STEPS = 200000 };
  struct wo_address_map map = {0};
  uint32_t *const values = calloc(KEYS, sizeof *values);
  uint64_t random = 1;
  size_t count = 0;
  (void)state;
  for (size_t i = 0; i < STEPS; i++) {
    const uint32_t key = (uint32_t)(wo_random_next(&random) % KEYS);
    const bool puts = wo_random_next(&random) % 100 < (i < STEPS / 2 ? 60 : 40);
    uint32_t value = 0;
    if (puts) {
      count += values[key] == 0;
      values[key] = (uint32_t)i + 1;
      assert_int_equal(wo_address_map_put(&map, key, values[key]), WO_OK);
    } else {
      assert_int_equal(wo_address_map_remove(&map, key, &value), values[key] != 0);
      assert_int_equal(value, values[key]);
      count -= values[key] != 0;
      values[key] = 0;
    }
    assert_int_equal(map.count, count);
    const uint32_t asked = (uint32_t)(wo_random_next(&random) % KEYS);
    struct wo_address_item below = {0}, above = {0};
    int64_t low = asked, high = asked;
    while (low >= 0 && values[low] == 0) low--;
    while (high < KEYS && values[high] == 0) high++;
    assert_int_equal(wo_address_map_below(&map, asked, &below), low >= 0);
    assert_int_equal(wo_address_map_above(&map, asked, &above), high < KEYS);
    if (low >= 0) assert_true(below.address == (uint64_t)low && below.value == values[low]);
    if (high < KEYS) assert_true(above.address == (uint64_t)high && above.value == values[high]);
  }
  wo_address_map_done(&map);
  free(values);
}

/* ---- The start ---- */

/* 30 MiB were alive at the start behind a free block; the segment came before the recording, too. */
static void start_fills_segments(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  add_free(recording, LARGE + 10 * MIB, 30 * MIB);
  add_segment(recording, LARGE, 40 * MIB, false);
  add_block(recording, 40 * MIB, 0);
  struct wo_start start = start_of(recording);
  assert_int_equal(start.segments.count, 1);
  assert_int_equal(start.block_counts.items[0], 2);
  assert_int_equal(start.blocks.items[0].state, WO_BLOCK_FREE);
  assert_int_equal(start.blocks.items[0].size_bytes, 10 * MIB);
  assert_int_equal(start.blocks.items[1].state, WO_BLOCK_ALLOCATED);
  assert_int_equal(start.blocks.items[1].requested_bytes, 30 * MIB);
  assert_int_equal(start.open.count, 0);
  wo_start_done(&start);
  wo_recording_free(recording);
}

/* A free area of at most 1 MiB behind a block of the large pool is part of it. */
static void short_gaps_are_slack(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  add_free(recording, LARGE, 19 * MIB);
  add_segment(recording, LARGE, 20 * MIB, false);
  add_block(recording, 20 * MIB, 0);
  struct wo_start start = start_of(recording);
  assert_int_equal(start.block_counts.items[0], 1);
  assert_int_equal(start.blocks.items[0].size_bytes, 20 * MIB);
  wo_start_done(&start);
  wo_recording_free(recording);
}

/* Behind 5 MiB that die in the trace lie 15 MiB: up to 1 MiB of them may be slack. An allocation at 5.5 MiB tells that 0.5 are.
 */
static void slack_is_found_ahead_or_left_open(void **state) {
  (void)state;
  for (int is_told = 0; is_told < 2; is_told++) {
    struct wo_recording *const recording = new_recording();
    const uint64_t end = LARGE + 5 * MIB + MIB / 2;
    if (is_told) add_plain(recording, WO_ACTION_ALLOC, end, 2 * MIB);
    add_free(recording, LARGE, 5 * MIB);
    if (is_told) add_free(recording, end, 2 * MIB);
    add_segment(recording, LARGE, 20 * MIB, false);
    add_block(recording, 20 * MIB, 0);
    struct wo_start start = start_of(recording);
    assert_int_equal(start.open.count, !is_told);
    assert_int_equal(start.blocks.items[0].size_bytes, is_told ? 5 * MIB + MIB / 2 : 5 * MIB);
    if (!is_told) {
      assert_int_equal(start.open.items[0].min_bytes, 5 * MIB);
      assert_int_equal(start.open.items[0].max_bytes, 6 * MIB);
      wo_start_resize(&start, &start.open.items[0], 6 * MIB);
      assert_int_equal(start.blocks.items[0].size_bytes, 6 * MIB);
      assert_int_equal(start.blocks.items[1].size_bytes, 14 * MIB);
    }
    wo_start_done(&start);
    wo_recording_free(recording);
  }
}

/* Segments that were freed inside the trace are there at its start: 2 MiB are of the small pool. */
static void freed_segments_come_back(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  add_plain(recording, WO_ACTION_SEGMENT_FREE, LARGE, 20 * MIB);
  add_plain(recording, WO_ACTION_SEGMENT_FREE, SMALL, 2 * MIB);
  struct wo_start start = start_of(recording);
  assert_int_equal(start.segments.count, 2);
  assert_true(start.segments.items[0].is_small && start.segments.items[0].address == SMALL);
  assert_false(start.segments.items[1].is_small);
  wo_start_done(&start);
  wo_recording_free(recording);
}

/* Runs of one range: mapped memory is cut out and put back; the range begins where the lowest memory is ever mapped. */
static void mapped_runs_are_rebuilt(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  add_plain(recording, WO_ACTION_SEGMENT_UNMAP, LARGE + 60 * MIB, 20 * MIB);
  add_plain(recording, WO_ACTION_SEGMENT_MAP, LARGE, 20 * MIB);
  add_segment(recording, LARGE, 60 * MIB, true);
  add_block(recording, 60 * MIB, 0);
  struct wo_start start = start_of(recording);
  assert_int_equal(start.segments.count, 1);
  assert_true(start.segments.items[0].address == LARGE + 20 * MIB && start.segments.items[0].size_bytes == 60 * MIB);
  assert_true(start.segments.items[0].range_address == LARGE && start.segments.items[0].range_bytes >= 80 * MIB);
  wo_start_done(&start);
  wo_recording_free(recording);
}

struct contradiction {
  enum wo_action actions[3];
  uint64_t offsets[3], sizes[3];
  size_t count, entry;
  const char *word;
};

/* Against a snapshot of one free segment of 20 MiB. */
static void contradictions_name_their_entry(void **state) {
  static const struct contradiction rows[] = {
      {{WO_ACTION_ALLOC, WO_ACTION_ALLOC, 0}, {0, 0, 0}, {2 * MIB, 2 * MIB, 0}, 2, 1, "free is missing"},
      {{WO_ACTION_FREE_COMPLETED, WO_ACTION_FREE_COMPLETED, 0}, {0, 0, 0}, {2 * MIB, 2 * MIB, 0}, 2, 0, "overlaps"},
      {{WO_ACTION_ALLOC, WO_ACTION_FREE_REQUESTED, WO_ACTION_FREE_COMPLETED},
       {0, 0, 0},
       {3 * MIB, 2 * MIB, 2 * MIB},
       3,
       0,
       "allocates"},
      {{WO_ACTION_ALLOC, 0, 0}, {32 * MIB, 0, 0}, {2 * MIB, 0, 0}, 1, 0, "no segment"},
      {{WO_ACTION_SEGMENT_ALLOC, 0, 0}, {0, 0, 0}, {40 * MIB, 0, 0}, 1, 0, "not there later"},
      {{WO_ACTION_SEGMENT_FREE, 0, 0}, {0, 0, 0}, {20 * MIB, 0, 0}, 1, 0, "still there"},
      {{WO_ACTION_SEGMENT_MAP, 0, 0}, {0, 0, 0}, {20 * MIB, 0, 0}, 1, 0, "not mapped"},
      {{WO_ACTION_SNAPSHOT, WO_ACTION_ALLOC, 0}, {0, 0, 0}, {0, 0, 0}, 2, 1, "impossible size"},
      {{WO_ACTION_SNAPSHOT, WO_ACTION_SEGMENT_FREE, 0}, {0, 0, 0}, {0, UINT64_MAX, 0}, 2, 1, "impossible size"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct wo_recording *const recording = new_recording();
    for (size_t k = 0; k < rows[i].count; k++) {
      add_plain(recording, rows[i].actions[k], LARGE + rows[i].offsets[k], rows[i].sizes[k]);
    }
    add_segment(recording, LARGE, 20 * MIB, false);
    add_block(recording, 20 * MIB, 0);
    struct wo_start start;
    struct wo_err err = {0};
    assert_int_equal(wo_start_rebuild(recording, trace_of(recording), &recording->settings, &start, &err), WO_E_RANGE);
    assert_int_equal(err.offset, rows[i].entry);
    if (!strstr(err.message, rows[i].word)) fail_msg("row %zu: '%s' is not in: %s", i, rows[i].word, err.message);
    wo_start_done(&start);
    wo_recording_free(recording);
  }
}

static void without_segments_only_an_empty_start(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  trace_of(recording)->has_segments = false;
  add_plain(recording, WO_ACTION_ALLOC, SMALL, 512);
  add_free(recording, SMALL, 512);
  struct wo_start start = start_of(recording);
  assert_int_equal(start.segments.count, 0);
  wo_start_done(&start);
  add_free(recording, SMALL, 512);
  struct wo_err err = {0};
  assert_int_equal(wo_start_rebuild(recording, trace_of(recording), &recording->settings, &start, &err), WO_E_RANGE);
  assert_int_equal(err.offset, 3);
  wo_recording_free(recording);
}

/* ---- Patterns ---- */

static void expect_kinds(const struct wo_alloc_pattern *pattern, const enum wo_request_kind *kinds, size_t count) {
  assert_int_equal(pattern->requests.count, count);
  for (size_t i = 0; i < count; i++) assert_int_equal(pattern->requests.items[i].kind, kinds[i]);
}

/* At once, later, never requested inside the trace, and what was alive before it: by rising address. */
static void frees_are_told_apart(void **state) {
  static const enum wo_request_kind kinds[] = {WO_REQUEST_DEFER, WO_REQUEST_COMPLETE, WO_REQUEST_FREE,    WO_REQUEST_ALLOC,
                                               WO_REQUEST_DEFER, WO_REQUEST_ALLOC,    WO_REQUEST_COMPLETE};
  (void)state;
  struct wo_recording *const recording = new_recording();
  trace_of(recording)->has_segments = false;
  add_plain(recording, WO_ACTION_FREE_COMPLETED, SMALL + 4096, 100);
  add_free(recording, SMALL, 200);
  add_plain(recording, WO_ACTION_ALLOC, SMALL + 512, 300);
  add_plain(recording, WO_ACTION_FREE_REQUESTED, SMALL + 512, 300);
  add_plain(recording, WO_ACTION_ALLOC, SMALL + 1024, 400);
  add_plain(recording, WO_ACTION_FREE_COMPLETED, SMALL + 512, 300);
  struct wo_alloc_pattern pattern = pattern_of(recording);
  expect_kinds(&pattern, kinds, sizeof kinds / sizeof *kinds);
  assert_int_equal(pattern.start_count, 2);
  assert_int_equal(pattern.instances.items[0].size_bytes, 200);
  assert_int_equal(pattern.instances.items[1].size_bytes, 100);
  assert_int_equal(pattern.requests.items[0].entry, WO_NO_ENTRY);
  assert_int_equal(pattern.instances.items[1].death, 0);
  assert_int_equal(pattern.instances.items[2].birth, 3);
  assert_int_equal(pattern.instances.items[2].death, 4);
  assert_int_equal(pattern.instances.items[3].death, WO_NO_REQUEST);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

/* Adds a release of 20 MiB, a new segment of 40 and its allocation, with these stacks. */
static void add_release(struct wo_recording *recording, uint32_t release_stack, uint32_t alloc_stack) {
  add(recording, WO_ACTION_SEGMENT_FREE, LARGE, 20 * MIB, release_stack);
  add(recording, WO_ACTION_SEGMENT_ALLOC, LARGE + 100 * MIB, 40 * MIB, alloc_stack);
  add(recording, WO_ACTION_ALLOC, LARGE + 100 * MIB, 40 * MIB, alloc_stack);
}

/* A segment with a block that is freed, by context "alloc"; then the same release. */
static void add_stated(struct wo_recording *recording, uint32_t own_stack, uint32_t release_stack) {
  add(recording, WO_ACTION_SEGMENT_ALLOC, LARGE, 20 * MIB, own_stack);
  add(recording, WO_ACTION_ALLOC, LARGE, 15 * MIB, own_stack);
  add(recording, WO_ACTION_FREE_REQUESTED, LARGE, 15 * MIB, own_stack);
  add(recording, WO_ACTION_FREE_COMPLETED, LARGE, 15 * MIB, own_stack);
  add_release(recording, release_stack, release_stack);
}

static bool empties_cache(struct wo_recording *recording) {
  struct wo_alloc_pattern pattern = pattern_of(recording);
  bool does = false;
  for (size_t i = 0; i < pattern.requests.count; i++) does = does || pattern.requests.items[i].kind == WO_REQUEST_EMPTY_CACHE;
  const size_t frees = pattern.instances.count > 1 ? 1 : 0;
  assert_int_equal(pattern.requests.count, pattern.instances.count + frees + does);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
  return does;
}

static void releases_are_told_apart(void **state) {
  (void)state;
  /* The stack names empty_cache, whatever follows. */
  struct wo_recording *recording = new_recording();
  uint32_t stack = add_stack(recording, "empty_cache");
  add_release(recording, stack, stack);
  assert_true(empties_cache(recording));
  /* The stack is that of the allocation. */
  recording = new_recording();
  stack = add_stack(recording, "forward");
  add_release(recording, stack, stack);
  assert_false(empties_cache(recording));
  /* Frees repeat the stacks of their allocations (context "alloc"), and so does the release: it may be chance. */
  recording = new_recording();
  stack = add_stack(recording, "forward");
  add_stated(recording, stack, stack);
  assert_true(empties_cache(recording));
  /* There the release has the stack of the request, and not that of its segment's allocation. */
  recording = new_recording();
  stack = add_stack(recording, "forward");
  add_stated(recording, add_stack(recording, "load"), stack);
  assert_false(empties_cache(recording));
  /* Nothing is known. */
  recording = new_recording();
  add_release(recording, WO_NO_STACK, WO_NO_STACK);
  assert_true(empties_cache(recording));
  /* The new segment would not have fitted beside the old one. */
  recording = new_recording();
  add_release(recording, WO_NO_STACK, WO_NO_STACK);
  trace_of(recording)->has_segments = true;
  recording->capacity_bytes = 50 * MIB;
  add_segment(recording, LARGE + 100 * MIB, 40 * MIB, false);
  add_block(recording, 40 * MIB, 40 * MIB);
  assert_false(empties_cache(recording));
  /* The request failed although everything was released. */
  recording = new_recording();
  add_plain(recording, WO_ACTION_SEGMENT_FREE, LARGE, 20 * MIB);
  add_plain(recording, WO_ACTION_OOM, 0, 40 * MIB);
  assert_false(empties_cache(recording));
  /* Nothing was allocated behind it. */
  recording = new_recording();
  add_plain(recording, WO_ACTION_SEGMENT_FREE, LARGE, 20 * MIB);
  assert_true(empties_cache(recording));
}

static void refused_requests_are_requests(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  add_plain(recording, WO_ACTION_OOM, 5 * MIB, 40 * MIB);
  struct wo_alloc_pattern pattern = pattern_of(recording);
  assert_int_equal(pattern.requests.count, 1);
  assert_int_equal(pattern.requests.items[0].kind, WO_REQUEST_ALLOC);
  assert_int_equal(pattern.instances.items[0].size_bytes, 40 * MIB);
  assert_int_equal(pattern.instances.items[0].birth, 0);
  assert_int_equal(pattern.instances.items[0].death, 0);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static struct wo_replay_outcome run_on(const struct wo_alloc_pattern *pattern, uint64_t capacity_bytes, bool stops) {
  struct wo_device device;
  struct wo_replay_outcome outcome;
  struct wo_err err = {0};
  const struct wo_device_model_options model_options = {.capacity_bytes = capacity_bytes};
  struct wo_device_model *const model = wo_device_model_new(&model_options, &device);
  const struct wo_replay_options options = {
      .settings = wo_alloc_settings_default(206), .torch = 206, .device = &device, .stops_at_oom = stops};
  if (wo_replay_run(pattern, &options, &outcome, &err) != WO_OK) fail_msg("%s", err.message);
  wo_device_model_free(model);
  return outcome;
}

/* Refused requests in rows that the operator goes on after, one that ends an operator (what it held is freed first), one before
 * another operator's request, and the last. */
static struct wo_recording *new_probing(void) {
  struct wo_recording *const recording = new_recording();
  const uint32_t plan = add_stack(recording, "convolution"), next = add_stack(recording, "batch_norm");
  add(recording, WO_ACTION_ALLOC, LARGE, 30 * MIB, plan);
  add(recording, WO_ACTION_OOM, 0, 400 * MIB, plan);
  add(recording, WO_ACTION_OOM, 0, 300 * MIB, plan); /* the last of its row: the plan that is taken asks for nothing */
  add(recording, WO_ACTION_ALLOC, LARGE + 30 * MIB, 20 * MIB, next);
  add(recording, WO_ACTION_OOM, 0, 200 * MIB, plan);
  add(recording, WO_ACTION_ALLOC, LARGE + 50 * MIB, 10 * MIB, plan); /* the plan that is taken asks for less */
  add_free(recording, LARGE + 50 * MIB, 10 * MIB);
  add(recording, WO_ACTION_OOM, 0, 90 * MIB, plan); /* the program catches it */
  add_free(recording, LARGE + 30 * MIB, 20 * MIB);
  add(recording, WO_ACTION_OOM, 0, 80 * MIB, next);
  add(recording, WO_ACTION_ALLOC, LARGE + 30 * MIB, 15 * MIB, plan);
  add(recording, WO_ACTION_OOM, 0, 70 * MIB, plan);
  return recording;
}

static void refusals_that_are_survived_are_probes(void **state) {
  (void)state;
  struct wo_recording *const recording = new_probing();
  struct wo_alloc_pattern pattern = pattern_of(recording), needed;
  size_t refused = 0;
  assert_int_equal(pattern.probe_count, 3);
  assert_true(wo_alloc_pattern_is_valid(&pattern));
  for (size_t i = 0; i < pattern.requests.count; i++) {
    const struct wo_request *const request = &pattern.requests.items[i];
    if (request->kind != WO_REQUEST_PROBE) continue;
    const uint64_t size_bytes = pattern.instances.items[request->subject].size_bytes;
    assert_true(size_bytes == 400 * MIB || size_bytes == 300 * MIB || size_bytes == 200 * MIB);
  }
  assert_true(wo_alloc_pattern_copy(&pattern, &needed) && wo_alloc_pattern_drop_probes(&needed));
  assert_true(wo_alloc_pattern_is_valid(&needed));
  assert_int_equal(needed.probe_count, 0);
  assert_int_equal(needed.instances.count, pattern.instances.count - 3);
  assert_int_equal(needed.requests.count, pattern.requests.count - 3);
  for (size_t i = 0; i < needed.instances.count; i++)
    refused += needed.instances.items[i].death == needed.instances.items[i].birth;
  assert_int_equal(refused, 3);
  wo_alloc_pattern_done(&needed);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

/* They are tried only where the recording itself is followed, and never fail a run. */
static void probes_fail_no_run(void **state) {
  (void)state;
  struct wo_recording *const recording = new_probing();
  struct wo_alloc_pattern pattern = pattern_of(recording);
  struct wo_device device;
  struct wo_replay_outcome outcome;
  struct wo_err err = {0};
  assert_int_equal(run_on(&pattern, 120 * MIB, false).oom_entry, 8);
  assert_int_equal(run_on(&pattern, UINT64_MAX, false).peak.allocated_bytes, 140 * MIB);
  const struct wo_device_model_options options = {.capacity_bytes = 120 * MIB};
  struct wo_device_model *const model = wo_device_model_new(&options, &device);
  const struct wo_replay_options replay = {
      .settings = wo_alloc_settings_default(206), .torch = 206, .device = &device, .has_probes = true};
  assert_int_equal(wo_replay_run(&pattern, &replay, &outcome, &err), WO_OK);
  assert_int_equal(outcome.stats.num_ooms, 3 + outcome.oom_count);
  assert_int_equal(outcome.oom_entry, 8);
  wo_device_model_free(model);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

/* Another thread that stops all ends a run after the request that it is at; one that stops the reading of logs does not. */
static void runs_can_be_stopped(void **state) {
  (void)state;
  struct wo_recording *const recording = new_probing();
  struct wo_alloc_pattern pattern = pattern_of(recording);
  for (int stop = WO_STOP_NOTHING; stop <= WO_STOP_ALL; stop++) {
    struct wo_device device;
    struct wo_replay_outcome outcome;
    struct wo_err err = {0};
    struct wo_device_model *const model =
        wo_device_model_new(&(struct wo_device_model_options){.capacity_bytes = UINT64_MAX}, &device);
    const struct wo_replay_options replay = {.settings = wo_alloc_settings_default(206), .torch = 206, .device = &device};
    recording->stop = &stop;
    const enum wo_status status = wo_replay_run(&pattern, &replay, &outcome, &err);
    assert_int_equal(status, stop == WO_STOP_ALL ? WO_E_IO : WO_OK);
    assert_int_equal(outcome.requests_run, stop == WO_STOP_ALL ? 1 : pattern.requests.count);
    wo_device_model_free(model);
  }
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static void patterns_refuse_what_cannot_be(void **state) {
  (void)state;
  for (int row = 0; row < 4; row++) {
    struct wo_recording *const recording = new_recording();
    add_plain(recording, WO_ACTION_ALLOC, SMALL, row == 3 ? 0 : 512);
    if (row == 0) add_plain(recording, WO_ACTION_ALLOC, SMALL, 512);
    if (row == 1) add_plain(recording, WO_ACTION_FREE_REQUESTED, SMALL, 512);
    if (row == 1) add_free(recording, SMALL, 512);
    if (row == 2) add_free(recording, SMALL, 512);
    if (row == 2) add_free(recording, SMALL, 512);
    struct wo_alloc_pattern pattern;
    struct wo_err err = {0};
    assert_int_equal(wo_alloc_pattern_make(recording, trace_of(recording), &pattern, &err), WO_E_RANGE);
    const size_t entries[] = {1, 2, 3, 0};
    assert_int_equal(err.offset, entries[row]);
    wo_alloc_pattern_done(&pattern);
    wo_recording_free(recording);
  }
}

/* ---- The loop ---- */

static void peaks_and_failures_are_told(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  add_plain(recording, WO_ACTION_ALLOC, LARGE, 30 * MIB);
  add_plain(recording, WO_ACTION_ALLOC, LARGE + 30 * MIB, 50 * MIB);
  add_free(recording, LARGE, 30 * MIB);
  add_plain(recording, WO_ACTION_ALLOC, LARGE, 40 * MIB);
  add_plain(recording, WO_ACTION_OOM, 0, 60 * MIB);
  add_free(recording, LARGE + 30 * MIB, 50 * MIB);
  struct wo_alloc_pattern pattern = pattern_of(recording);
  struct wo_replay_outcome outcome = run_on(&pattern, UINT64_MAX, false);
  assert_false(outcome.has_oom);
  assert_int_equal(outcome.peak.allocated_bytes, 150 * MIB); /* the refused request fits now, and counts */
  assert_int_equal(outcome.peak.allocated_at, 4);
  assert_int_equal(outcome.peak.reserved_bytes, 180 * MIB);
  assert_int_equal(outcome.segment_events, 4);
  assert_int_equal(outcome.requests_run, 6);
  assert_int_equal(outcome.stats.allocated_bytes[WO_STAT_ALL].current, 40 * MIB);
  outcome = run_on(&pattern, 100 * MIB, false);
  assert_true(outcome.has_oom);
  assert_int_equal(outcome.oom_at, 4);
  assert_int_equal(outcome.oom.rounded_bytes, 60 * MIB);
  assert_int_equal(outcome.requests_run, 6);
  outcome = run_on(&pattern, 60 * MIB, true);
  assert_int_equal(outcome.oom_at, 1);
  assert_int_equal(outcome.requests_run, 2);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

/* What was alive at the start is allocated first; when it does not fit, that is told. */
static void the_live_set_comes_first(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  add_free(recording, LARGE, 30 * MIB);
  struct wo_alloc_pattern pattern = pattern_of(recording);
  assert_int_equal(run_on(&pattern, UINT64_MAX, false).peak.allocated_bytes, 30 * MIB);
  const struct wo_replay_outcome outcome = run_on(&pattern, 10 * MIB, false);
  assert_true(outcome.has_oom);
  assert_int_equal(outcome.oom_at, WO_NO_REQUEST);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

/* Random patterns under small capacities, whatever fails: the loop goes on, and every deferred free finds its end. */
static void loops_survive_small_cards(void **state) {
  uint64_t oom_count = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct wo_random_program program = wo_random_program_of(seed);
    program.has_deferred = true;
    program.steps = 500;
    struct wo_recording *const recording = wo_random_program_record(&program);
    struct wo_alloc_pattern pattern;
    struct wo_err err = {0};
    assert_int_equal(wo_alloc_pattern_make(recording, trace_of(recording), &pattern, &err), WO_OK);
    oom_count += run_on(&pattern, (20 + seed) * MIB, false).oom_count;
    wo_alloc_pattern_done(&pattern);
    wo_recording_free(recording);
  }
  assert_true(oom_count > 300);
}

/* ---- The recorded device ---- */

static void the_device_gives_what_was_recorded(void **state) {
  (void)state;
  struct wo_recording *const recording = new_recording();
  add_plain(recording, WO_ACTION_SEGMENT_ALLOC, LARGE, 20 * MIB);
  add_plain(recording, WO_ACTION_ALLOC, LARGE, 5 * MIB);
  add_plain(recording, WO_ACTION_SEGMENT_FREE, SMALL, 2 * MIB);
  add_plain(recording, WO_ACTION_OOM, 3 * MIB, 64 * MIB);
  add_plain(recording, WO_ACTION_SEGMENT_MAP, LARGE + 200 * MIB, 20 * MIB);
  struct wo_device device;
  struct wo_device_recorded *const recorded = wo_device_recorded_new(recording, trace_of(recording), NULL, &device);
  uint64_t address = 0, free_bytes = 0, total_bytes = 0;
  wo_device_recorded_seek(recorded, 1);
  assert_int_equal(device.segment_alloc(device.state, 20 * MIB, &address), WO_OK);
  assert_int_equal(address, LARGE);
  /* Nothing more belongs to that request. */
  assert_int_equal(device.segment_alloc(device.state, 20 * MIB, &address), WO_E_IO);
  assert_non_null(strstr(device.message(device.state), "segment_alloc"));
  wo_device_recorded_seek(recorded, 3);
  assert_int_equal(device.segment_alloc(device.state, 64 * MIB, &address), WO_E_LIMIT);
  assert_int_equal(device.segment_free(device.state, SMALL, 2 * MIB), WO_OK);
  assert_int_equal(device.segment_alloc(device.state, 64 * MIB, &address), WO_E_LIMIT);
  device.memory_info(device.state, &free_bytes, &total_bytes);
  assert_int_equal(free_bytes, 3 * MIB);
  wo_device_recorded_seek(recorded, 9);
  assert_int_equal(device.range_reserve(device.state, 1024 * MIB, &address), WO_OK);
  assert_int_equal(address, LARGE + 200 * MIB);
  assert_int_equal(device.map(device.state, address, 20 * MIB, 20 * MIB), WO_OK);
  wo_device_recorded_free(recorded);
  wo_recording_free(recording);
}

/* ---- Memory ---- */

static enum wo_status everything(const struct wo_recording *recording) {
  struct wo_start start;
  struct wo_alloc_pattern pattern;
  struct wo_err err = {0};
  const struct wo_trace *const trace = &recording->traces.items[0];
  enum wo_status status = wo_start_rebuild(recording, trace, &recording->settings, &start, &err);
  const enum wo_status made = wo_alloc_pattern_make(recording, trace, &pattern, &err);
  if (status == WO_OK) status = made;
  wo_start_done(&start);
  wo_alloc_pattern_done(&pattern);
  return status;
}

/* A range whose beginning is unmapped still begins there, and bounds the ranges that begin below or above it. */
static void ranges_that_exist_together_bound_each_other(void **state) {
  (void)state;
  static const struct {
    uint64_t first_mib, second_mib, third_mib; /* small ranges, so far below the large one, one after the other */
    uint64_t least_mib;
  } rows[] = {{13000, 12000, 14000, 12000}, {12500, 13000, 14000, 12500}, {14000, 13000, 11000, 11000}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_recording *const recording = new_recording();
    uint64_t card_bytes = 0;
    add_plain(recording, WO_ACTION_SEGMENT_MAP, LARGE - rows[i].first_mib * MIB, 2 * MIB);
    add_plain(recording, WO_ACTION_SEGMENT_MAP, LARGE, 60 * MIB);
    add_plain(recording, WO_ACTION_SEGMENT_MAP, LARGE + 60 * MIB, 40 * MIB);
    add_plain(recording, WO_ACTION_SEGMENT_UNMAP, LARGE + 20 * MIB, 60 * MIB); /* the ends of both stay */
    add_plain(recording, WO_ACTION_SEGMENT_UNMAP, LARGE, 20 * MIB);
    add_plain(recording, WO_ACTION_SEGMENT_UNMAP, LARGE - rows[i].first_mib * MIB, 2 * MIB);
    add_plain(recording, WO_ACTION_SEGMENT_MAP, LARGE - rows[i].second_mib * MIB, 2 * MIB);
    add_plain(recording, WO_ACTION_SEGMENT_UNMAP, LARGE - rows[i].second_mib * MIB, 2 * MIB);
    add_plain(recording, WO_ACTION_SEGMENT_MAP, LARGE - rows[i].third_mib * MIB, 2 * MIB);
    assert_int_equal(wo__card_bytes(recording, trace_of(recording), NULL, &card_bytes), WO_OK);
    assert_int_equal(card_bytes, (rows[i].least_mib - 64) * MIB / 9 * 8);
    wo_recording_free(recording);
  }
}

static void memory_can_run_out_anywhere(void **state) {
  (void)state;
  struct wo_random_program program = wo_random_program_of(6);
  program.steps = 400;
  struct wo_recording *const recording = wo_random_program_record(&program);
  bool was_hit = true;
  for (long n = 1; was_hit; n++) {
    wo_fail_alloc_at(n);
    const enum wo_status status = everything(recording);
    was_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    assert_int_equal(status, was_hit ? WO_E_NOMEM : WO_OK);
  }
  wo_recording_free(recording);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(map_agrees_with_an_array),
      cmocka_unit_test(start_fills_segments),
      cmocka_unit_test(short_gaps_are_slack),
      cmocka_unit_test(slack_is_found_ahead_or_left_open),
      cmocka_unit_test(freed_segments_come_back),
      cmocka_unit_test(mapped_runs_are_rebuilt),
      cmocka_unit_test(contradictions_name_their_entry),
      cmocka_unit_test(without_segments_only_an_empty_start),
      cmocka_unit_test(frees_are_told_apart),
      cmocka_unit_test(releases_are_told_apart),
      cmocka_unit_test(refused_requests_are_requests),
      cmocka_unit_test(refusals_that_are_survived_are_probes),
      cmocka_unit_test(probes_fail_no_run),
      cmocka_unit_test(patterns_refuse_what_cannot_be),
      cmocka_unit_test(peaks_and_failures_are_told),
      cmocka_unit_test(runs_can_be_stopped),
      cmocka_unit_test(the_live_set_comes_first),
      cmocka_unit_test(loops_survive_small_cards),
      cmocka_unit_test(the_device_gives_what_was_recorded),
      cmocka_unit_test(ranges_that_exist_together_bound_each_other),
      cmocka_unit_test(memory_can_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
