/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time of a replay: values after each step, bins that widen, peaks and their places, the map of the peak. */
#include "cuda_replay/inspect/memory_over_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/replay/memory_over_time_sample.h"
#include "tests/support/failing_alloc.h"

/* ---- Exact figures ---- */

/* 2 MiB of parameters (a 2 MiB block of a 20 MiB segment), then 1 KiB (a small segment), then 30 MiB that goes again. */
static void tells_what_every_step_left(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  memory_sample_init(&sample);
  memory_sample_alloc(&sample, 2 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_PARAMETER);
  memory_sample_alloc(&sample, 1000, WO_NO_STACK, WO_CLASS_ACTIVATION);
  const uint32_t large = memory_sample_alloc(&sample, 30 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_ACTIVATION);
  memory_sample_free(&sample, large);
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);

  static const uint64_t reserved[] = {20 * SAMPLE_MIB, 22 * SAMPLE_MIB, 52 * SAMPLE_MIB, 52 * SAMPLE_MIB};
  static const uint64_t allocated[] = {2 * SAMPLE_MIB, 2 * SAMPLE_MIB + 1024, 32 * SAMPLE_MIB + 1024, 2 * SAMPLE_MIB + 1024};
  static const uint64_t requested[] = {2 * SAMPLE_MIB, 2 * SAMPLE_MIB + 1000, 32 * SAMPLE_MIB + 1000, 2 * SAMPLE_MIB + 1000};
  assert_int_equal(memory.bin_count, 4);
  assert_int_equal(memory.request_count, 4);
  for (size_t i = 0; i < 4; i++) {
    const struct wo_memory_bin *const bin = &memory.bins[i];
    assert_int_equal(bin->first, i);
    assert_int_equal(bin->count, 1);
    assert_int_equal(bin->last_bytes[WO_MEMORY_RESERVED], reserved[i]);
    assert_int_equal(bin->last_bytes[WO_MEMORY_ALLOCATED], allocated[i]);
    assert_int_equal(bin->last_bytes[WO_MEMORY_ACTIVE], allocated[i]);
    assert_int_equal(bin->last_bytes[WO_MEMORY_REQUESTED], requested[i]);
    assert_int_equal(bin->last_bytes[WO_MEMORY_UNUSED], reserved[i] - allocated[i]);
    assert_true(bin->last_fragmentation == (double)(reserved[i] - allocated[i]) / (double)reserved[i]);
    assert_int_equal(bin->last_class_bytes[WO_CLASS_PARAMETER], 2 * SAMPLE_MIB);
    assert_int_equal(bin->last_class_bytes[WO_CLASS_ACTIVATION], allocated[i] - 2 * SAMPLE_MIB);
    assert_int_equal(bin->first_us, 1000 * (int64_t)i);
  }
  const struct wo_memory_place *const peak = &memory.peak[WO_MEMORY_ALLOCATED];
  assert_int_equal(peak->bytes, allocated[2]);
  assert_int_equal(peak->request, 2);
  assert_int_equal(peak->entry, 2);
  assert_int_equal(peak->time_us, 2000);
  assert_int_equal(memory.class_peak[WO_CLASS_ACTIVATION].bytes, 30 * SAMPLE_MIB + 1024);
  assert_int_equal(memory.class_peak[WO_CLASS_GRADIENT].request, WO_NO_REQUEST);
  assert_int_equal(memory.first_us, 0);
  assert_int_equal(memory.last_us, 3000);

  assert_int_equal(memory.moment, WO_MOMENT_PEAK);
  assert_int_equal(memory.map.request, 2);
  assert_int_equal(memory.map.segments.count, 3);
  assert_int_equal(memory.map.reserved_bytes, 52 * SAMPLE_MIB);
  size_t used = 0;
  for (size_t i = 0; i < memory.map.blocks.count; i++) {
    const struct wo_map_block *const block = &memory.map.blocks.items[i];
    if (block->state == WO_BLOCK_FREE) {
      assert_int_equal(block->instance, WO_NO_INSTANCE);
      continue;
    }
    assert_int_equal(block->requested_bytes, sample.pattern.instances.items[block->instance].size_bytes);
    used++;
  }
  assert_int_equal(used, 3);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

static void knows_what_was_alive_at_the_start(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  memory_sample_init(&sample);
  const uint32_t first = memory_sample_alive(&sample, 4 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_PARAMETER);
  memory_sample_alive(&sample, 3 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_OPTIMIZER);
  memory_sample_free(&sample, first);
  memory_sample_alloc(&sample, 512, WO_NO_STACK, WO_CLASS_INPUT);
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  assert_int_equal(memory.bins[0].last_class_bytes[WO_CLASS_PARAMETER], 0);
  assert_int_equal(memory.bins[0].last_class_bytes[WO_CLASS_OPTIMIZER], 3 * SAMPLE_MIB);
  assert_int_equal(memory.bins[1].last_class_bytes[WO_CLASS_INPUT], 512);
  /* The first state was higher than any that a request left. */
  assert_int_equal(memory.peak[WO_MEMORY_ALLOCATED].bytes, 7 * SAMPLE_MIB);
  assert_int_equal(memory.bins[0].high_bytes[WO_MEMORY_ALLOCATED], 7 * SAMPLE_MIB);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

/* A start state as it is rebuilt: one segment, a pending and an allocated block. */
static void begins_with_a_start_state(void **state) {
  (void)state;
  struct wo_allocator_segment segment = {.address = SAMPLE_GIB, .size_bytes = 20 * SAMPLE_MIB};
  struct wo_allocator_block blocks[] = {{8 * SAMPLE_MIB, 8 * SAMPLE_MIB - 100, WO_BLOCK_ALLOCATED},
                                        {4 * SAMPLE_MIB, 0, WO_BLOCK_FREE},
                                        {8 * SAMPLE_MIB, 7 * SAMPLE_MIB, WO_BLOCK_ALLOCATED}};
  uint32_t counts[] = {3};
  const struct wo_start start = {.segments = {&segment, 1, 1}, .blocks = {blocks, 3, 3}, .block_counts = {counts, 1, 1}};
  for (int with_requests = 0; with_requests < 2; with_requests++) {
    struct memory_sample sample;
    struct wo_memory_over_time memory;
    memory_sample_init(&sample);
    sample.start = &start;
    memory_sample_alive(&sample, blocks[0].requested_bytes, WO_NO_STACK, WO_CLASS_PARAMETER);
    const uint32_t second = memory_sample_alive(&sample, blocks[2].requested_bytes, WO_NO_STACK, WO_CLASS_ACTIVATION);
    if (with_requests) memory_sample_free(&sample, second);
    assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
    assert_int_equal(memory.bin_count, 1);
    assert_int_equal(memory.peak[WO_MEMORY_ALLOCATED].bytes, 16 * SAMPLE_MIB);
    assert_int_equal(memory.peak[WO_MEMORY_ALLOCATED].request, WO_NO_REQUEST);
    assert_int_equal(memory.bins[0].top_class_bytes[WO_CLASS_ACTIVATION], 8 * SAMPLE_MIB);
    assert_int_equal(memory.bins[0].low_bytes[WO_MEMORY_ALLOCATED], (with_requests ? 8 : 16) * SAMPLE_MIB);
    assert_int_equal(memory.map.request, WO_NO_REQUEST);
    assert_int_equal(memory.map.blocks.count, 3);
    assert_int_equal(memory.map.blocks.items[0].instance, 0);
    assert_int_equal(memory.map.blocks.items[1].instance, WO_NO_INSTANCE);
    assert_int_equal(memory.map.blocks.items[2].instance, 1);
    wo_memory_over_time_done(&memory);
    memory_sample_done(&sample);
  }
}

static void shows_the_first_failure(void **state) {
  (void)state;
  for (int stops = 0; stops < 2; stops++) {
    struct memory_sample sample;
    struct wo_memory_over_time memory;
    memory_sample_init(&sample);
    sample.device.capacity_bytes = 64 * SAMPLE_MIB;
    sample.stops_at_oom = stops;
    const uint32_t first = memory_sample_alloc(&sample, 40 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_UNKNOWN);
    memory_sample_alloc(&sample, 40 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_LOGITS);
    memory_sample_free(&sample, first);
    memory_sample_alloc(&sample, 60 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_LOGITS);
    memory_sample_alloc(&sample, 10 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_LOGITS);
    assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
    assert_true(memory.has_oom);
    assert_int_equal(memory.oom_count, stops ? 1 : 2);
    assert_int_equal(memory.oom_kept, memory.oom_count);
    assert_int_equal(memory.ooms[0].request, 1);
    assert_int_equal(memory.bins[0].oom_count, 0);
    assert_int_equal(memory.bins[1].oom_count, 1);
    if (!stops) assert_int_equal(memory.bins[4].oom_count, 1);
    assert_int_equal(memory.oom.requested_bytes, 40 * SAMPLE_MIB);
    assert_int_equal(memory.moment, WO_MOMENT_OOM);
    assert_int_equal(memory.map.request, 1);
    assert_int_equal(memory.map.blocks.items[0].instance, 0);
    assert_int_equal(memory.request_count, stops ? 2 : 5);
    wo_memory_over_time_done(&memory);
    memory_sample_done(&sample);
  }
}

/* The live set itself does not fit: there is a failure and no request that it belongs to. */
static void tells_a_start_that_does_not_fit(void **state) {
  (void)state;
  for (int stops = 0; stops < 2; stops++) {
    struct memory_sample sample;
    struct wo_memory_over_time memory;
    memory_sample_init(&sample);
    sample.device.capacity_bytes = 64 * SAMPLE_MIB;
    sample.stops_at_oom = stops;
    memory_sample_alive(&sample, 40 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_PARAMETER);
    memory_sample_alive(&sample, 40 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_OPTIMIZER);
    memory_sample_alloc(&sample, 512, WO_NO_STACK, WO_CLASS_INPUT);
    assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
    assert_true(memory.has_oom);
    assert_int_equal(memory.ooms[0].request, WO_NO_REQUEST);
    assert_int_equal(memory.moment, stops ? WO_MOMENT_NONE : WO_MOMENT_OOM);
    assert_int_equal(memory.map.segments.count, stops ? 0 : 2);
    if (!stops) assert_int_equal(memory.bins[0].last_class_bytes[WO_CLASS_PARAMETER], 40 * SAMPLE_MIB);
    wo_memory_over_time_done(&memory);
    memory_sample_done(&sample);
  }
}

/* A block that waits for another stream is active and not allocated; its instance is still known. */
static void follows_pending_blocks(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  memory_sample_init(&sample);
  const uint32_t waits = memory_sample_alloc(&sample, 20 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_COMMUNICATION);
  memory_sample_request(&sample, WO_REQUEST_DEFER, waits);
  memory_sample_alloc(&sample, 30 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_UNKNOWN);
  memory_sample_request(&sample, WO_REQUEST_COMPLETE, waits);
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  assert_int_equal(memory.bins[1].last_bytes[WO_MEMORY_ALLOCATED], 0);
  assert_int_equal(memory.bins[1].last_bytes[WO_MEMORY_ACTIVE], 20 * SAMPLE_MIB);
  assert_int_equal(memory.bins[3].last_bytes[WO_MEMORY_ACTIVE], 30 * SAMPLE_MIB);
  assert_int_equal(memory.map.request, 2);
  bool is_found = false;
  for (size_t i = 0; i < memory.map.blocks.count; i++) {
    const struct wo_map_block *const block = &memory.map.blocks.items[i];
    if (block->state == WO_BLOCK_PENDING) is_found = block->instance == waits;
  }
  assert_true(is_found);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

static void an_empty_program_has_no_course(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  memory_sample_init(&sample);
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  assert_int_equal(memory.bin_count, 0);
  assert_int_equal(memory.moment, WO_MOMENT_NONE);
  assert_int_equal(memory.peak[WO_MEMORY_RESERVED].request, WO_NO_REQUEST);
  struct wo_memory_bin column;
  assert_int_equal(wo_memory_columns(&memory, 1, &column), 0);
  wo_memory_over_time_done(&memory);
  wo_memory_over_time_done(NULL);
  memory_sample_done(&sample);
}

/* ---- Properties ---- */

/* What holds of every run. */
static void assert_sound(const struct wo_memory_over_time *memory, const struct memory_sample *sample) {
  uint32_t next = 0;
  uint64_t highest[WO_MEMORY_SERIES_COUNT_] = {0};
  uint64_t ooms = 0;
  assert_true(memory->bin_count <= WO_MEMORY_BINS_MAX);
  for (size_t i = 0; i < memory->bin_count; i++) {
    const struct wo_memory_bin *const bin = &memory->bins[i];
    uint64_t top = 0, last = 0;
    ooms += bin->oom_count;
    assert_int_equal(bin->first, next);
    if (i + 1 < memory->bin_count) assert_int_equal(bin->count, memory->bin_requests);
    next += bin->count;
    for (int k = 0; k < WO_CLASS_COUNT_; k++) {
      top += bin->top_class_bytes[k];
      last += bin->last_class_bytes[k];
    }
    assert_int_equal(top, bin->high_bytes[WO_MEMORY_ALLOCATED]);
    assert_int_equal(last, bin->last_bytes[WO_MEMORY_ALLOCATED]);
    for (int k = 0; k < WO_MEMORY_SERIES_COUNT_; k++) {
      assert_true(bin->low_bytes[k] <= bin->last_bytes[k] && bin->last_bytes[k] <= bin->high_bytes[k]);
      if (bin->high_bytes[k] > highest[k]) highest[k] = bin->high_bytes[k];
    }
    assert_true(bin->low_fragmentation <= bin->last_fragmentation && bin->last_fragmentation <= bin->high_fragmentation);
  }
  assert_int_equal(next, memory->request_count);
  assert_int_equal(ooms, memory->oom_count);
  assert_int_equal(ooms, memory->outcome.oom_count);
  assert_int_equal(next, sample->pattern.requests.count);
  for (int k = 0; k < WO_MEMORY_SERIES_COUNT_; k++) assert_int_equal(memory->peak[k].bytes, highest[k]);
  assert_int_equal(memory->peak[WO_MEMORY_RESERVED].bytes, memory->outcome.peak.reserved_bytes);
  assert_int_equal(memory->peak[WO_MEMORY_ALLOCATED].bytes, memory->outcome.peak.allocated_bytes);
  assert_int_equal(memory->peak[WO_MEMORY_ALLOCATED].request, memory->outcome.peak.allocated_at);
  assert_int_equal(memory->peak[WO_MEMORY_ACTIVE].bytes, memory->outcome.peak.active_bytes);
  assert_int_equal(memory->peak[WO_MEMORY_REQUESTED].bytes, memory->outcome.peak.requested_bytes);
}

/* Every block in use of the map has an instance of its size that lives at that moment, and no instance has two. */
static void assert_map_named(const struct wo_memory_over_time *memory, const struct memory_sample *sample) {
  uint8_t *const is_seen = calloc(sample->pattern.instances.count + 1, 1);
  uint64_t allocated = 0;
  assert_non_null(is_seen);
  for (size_t i = 0; i < memory->map.blocks.count; i++) {
    const struct wo_map_block *const block = &memory->map.blocks.items[i];
    if (block->state == WO_BLOCK_FREE) continue;
    assert_true(block->instance < sample->pattern.instances.count);
    const struct wo_instance *const instance = &sample->pattern.instances.items[block->instance];
    assert_int_equal(instance->size_bytes, block->requested_bytes);
    assert_true(instance->birth <= memory->map.request && !is_seen[block->instance]);
    if (block->state == WO_BLOCK_ALLOCATED) {
      assert_true(instance->death > memory->map.request);
      allocated += block->size_bytes;
    }
    is_seen[block->instance] = 1;
  }
  assert_int_equal(allocated, memory->moment_at.bytes);
  free(is_seen);
}

static void random_programs_add_up(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct memory_sample sample;
    struct wo_memory_over_time memory;
    memory_sample_init(&sample);
    sample.device.capacity_bytes = seed % 3 == 0 ? 600 * SAMPLE_MIB : UINT64_MAX;
    sample.settings.expandable_segments = seed % 4 == 1;
    memory_sample_random(&sample, seed, 50 + seed * 100);
    assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
    assert_sound(&memory, &sample);
    assert_map_named(&memory, &sample);
    wo_memory_over_time_done(&memory);
    memory_sample_done(&sample);
  }
}

/* A million requests in as many bins as ever, with the highest moment kept; twice the same. */
static void a_million_requests_stay_in_bounds(void **state) {
  (void)state;
  enum { REQUESTS = 1000001 };
  struct memory_sample sample;
  struct wo_memory_over_time memory, again;
  memory_sample_init(&sample);
  const uint32_t kept = memory_sample_alloc(&sample, 1024, WO_NO_STACK, WO_CLASS_PARAMETER);
  for (uint32_t i = 1; i < REQUESTS; i += 2) {
    const uint64_t bytes = i == 654321 ? 5 * SAMPLE_MIB : 512 * (1 + i % 7);
    memory_sample_free(&sample, memory_sample_alloc(&sample, bytes, WO_NO_STACK, WO_CLASS_TEMPORARY));
  }
  (void)kept;
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  assert_int_equal(memory_sample_record(&sample, &again), WO_OK);
  assert_sound(&memory, &sample);
  assert_int_equal(memory.bin_requests, 512);
  assert_true(memory.bin_count > WO_MEMORY_BINS_MAX / 2 - 100);
  assert_int_equal(memory.peak[WO_MEMORY_ALLOCATED].request, 654321);
  assert_int_equal(memory.peak[WO_MEMORY_ALLOCATED].bytes, 5 * SAMPLE_MIB + 1024);
  assert_int_equal(again.bin_count, memory.bin_count);
  assert_memory_equal(again.bins, memory.bins, memory.bin_count * sizeof *memory.bins);

  struct wo_memory_bin columns[100];
  const size_t count = wo_memory_columns(&memory, 100, columns);
  uint32_t requests = 0;
  uint64_t highest = 0;
  assert_true(count > 50 && count <= 100);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(columns[i].first, requests);
    requests += columns[i].count;
    if (columns[i].high_bytes[WO_MEMORY_ALLOCATED] > highest) highest = columns[i].high_bytes[WO_MEMORY_ALLOCATED];
  }
  assert_int_equal(requests, REQUESTS);
  assert_int_equal(highest, memory.peak[WO_MEMORY_ALLOCATED].bytes);
  wo_memory_over_time_done(&memory);
  wo_memory_over_time_done(&again);
  memory_sample_done(&sample);
}

/* ---- Failures ---- */

struct counted {
  size_t steps;
};

static void count_step(void *state, size_t request, const struct wo_allocator *allocator) {
  (void)request;
  assert_non_null(allocator);
  ((struct counted *)state)->steps++;
}

/* The observer of the device sees both runs. */
static void calls_the_devices_observer(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  struct counted device = {0};
  memory_sample_init(&sample);
  memory_sample_alloc(&sample, 1000, WO_NO_STACK, WO_CLASS_UNKNOWN);
  memory_sample_free(&sample, memory_sample_alloc(&sample, 1000, WO_NO_STACK, WO_CLASS_UNKNOWN));
  const struct wo_replay_options options = memory_sample_options(&sample);
  struct wo_memory_devices devices = memory_sample_devices(&sample);
  devices.on_step = (struct wo_replay_observer){&device, count_step};
  assert_int_equal(wo_memory_over_time_record(&sample.pattern, NULL, &options, &devices, &memory, NULL), WO_OK);
  assert_int_equal(device.steps, 3 + 2); /* the peak is after the second request */
  assert_int_equal(memory.first_us, WO_NO_TIME);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

static void survives_failing_allocations(void **state) {
  (void)state;
  struct memory_sample sample;
  memory_sample_init(&sample);
  memory_sample_alive(&sample, 100, WO_NO_STACK, WO_CLASS_PARAMETER);
  memory_sample_random(&sample, 7, 60);
  long failures = 0;
  for (long n = 1;; n++) {
    struct wo_memory_over_time memory;
    wo_fail_alloc_at(n);
    const enum wo_status status = memory_sample_record(&sample, &memory);
    wo_fail_alloc_off();
    if (!wo_fail_alloc_hit()) {
      assert_int_equal(status, WO_OK);
      wo_memory_over_time_done(&memory);
      break;
    }
    assert_int_equal(status, WO_E_NOMEM);
    failures++;
  }
  assert_true(failures > 10);
  memory_sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_what_every_step_left),        cmocka_unit_test(knows_what_was_alive_at_the_start),
      cmocka_unit_test(begins_with_a_start_state),         cmocka_unit_test(shows_the_first_failure),
      cmocka_unit_test(tells_a_start_that_does_not_fit),   cmocka_unit_test(follows_pending_blocks),
      cmocka_unit_test(an_empty_program_has_no_course),    cmocka_unit_test(random_programs_add_up),
      cmocka_unit_test(a_million_requests_stay_in_bounds), cmocka_unit_test(calls_the_devices_observer),
      cmocka_unit_test(survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
