/* SPDX-License-Identifier: Apache-2.0 */
/* The random programs. What the allocator model does comes through its observer, in the order in which torch would record it. */
#include "tests/support/replay/random_program.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/allocator/allocator.h"
#include "parsers/base/limits.h"
#include "cuda_replay/recording/trace_intern.h"
#include "parsers/base/vec.h"

#define MIB ((uint64_t)1024 * 1024)

enum { STREAMS_MAX = 8, POOLS = 3 };

struct held {
  wo_block_id block;
};

struct program {
  const struct wo_random_program *options;
  struct wo_recording *recording;
  struct wo_intern intern; /* of streams and pools */
  struct wo_trace *trace;
  struct wo_allocator *allocator;
  uint64_t random;
  struct {
    struct held *items;
    size_t count, capacity;
  } live, pending;
  uint32_t stack;      /* of what goes on */
  uint32_t capture;    /* index of the pool that is being captured, or 0 */
  bool is_used[POOLS]; /* pools that somebody holds */
  bool is_dead[POOLS]; /* released: their id does not come again */
  uint32_t pools[POOLS];
  uint64_t syncs;
  bool has_failed;
};

uint64_t wo_random_next(uint64_t *state) {
  uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static uint64_t pick(struct program *program, uint64_t count) {
  return wo_random_next(&program->random) % count;
}

/* ---- Recording ---- */

static void record(struct program *program, struct wo_trace_entry entry) {
  entry.stack = program->options->tells_stacks ? program->stack : WO_NO_STACK;
  entry.time_us = WO_NO_TIME;
  if (wo_trace_add(program->trace, entry) != WO_OK) program->has_failed = true;
}

static void instruct(struct program *program, enum wo_action action, uint32_t pool, uint32_t stream) {
  if (!program->options->tells_instructions) return;
  record(program, (struct wo_trace_entry){.action = (unsigned)action & 31, .pool = pool & 0x7fff, .stream = stream & 0xfff});
}

static void on_event(void *state, const struct wo_allocator_event *event) {
  struct program *const program = state;
  uint32_t stream = 0, pool = 0;
  if (wo_intern_stream(&program->intern, event->stream, &stream) != WO_OK ||
      wo_intern_pool(&program->intern, event->pool, &pool) != WO_OK) {
    program->has_failed = true;
    return;
  }
  record(program, (struct wo_trace_entry){.address = event->address,
                                          .size_bytes = event->size_bytes,
                                          .action = (unsigned)event->action & 31,
                                          .stream = stream & 0xfff,
                                          .pool = pool & 0x7fff});
}

/* A stack of one frame. */
static uint32_t add_stack(struct wo_recording *recording, const char *function) {
  const uint32_t stack = (uint32_t)recording->stacks.count;
  const bool has_room = WO_VEC_RESERVE(&recording->frames, 1, 1 << 20) && WO_VEC_RESERVE(&recording->stack_frames, 1, 1 << 20) &&
                        WO_VEC_RESERVE(&recording->stacks, 1, 1 << 20);
  if (!has_room) return WO_NO_STACK;
  recording->stacks.items[recording->stacks.count++] = (struct wo_stack){(uint32_t)recording->stack_frames.count, 1};
  recording->stack_frames.items[recording->stack_frames.count++] = (uint32_t)recording->frames.count;
  recording->frames.items[recording->frames.count++] =
      (struct wo_frame){.function = wo_view_of(function), .file = WO_VIEW("program.py"), .line = stack + 1};
  return stack;
}

static bool save_segment(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                         const wo_block_id *ids, size_t count) {
  struct program *const program = state;
  struct wo_trace *const trace = program->trace;
  uint32_t stream = 0, pool = 0;
  (void)ids;
  const bool has_room = WO_VEC_RESERVE(&trace->segments, 1, 1 << 24) && WO_VEC_RESERVE(&trace->blocks, count, 1 << 24) &&
                        wo_intern_stream(&program->intern, segment->stream, &stream) == WO_OK &&
                        wo_intern_pool(&program->intern, segment->pool, &pool) == WO_OK;
  if (!has_room) {
    program->has_failed = true;
    return false;
  }
  trace->segments.items[trace->segments.count++] = (struct wo_trace_segment){.address = segment->address,
                                                                             .size_bytes = segment->size_bytes,
                                                                             .first_block = (uint32_t)trace->blocks.count,
                                                                             .block_count = (uint32_t)count,
                                                                             .stream = stream,
                                                                             .pool = pool,
                                                                             .stack = WO_NO_STACK,
                                                                             .is_small = segment->is_small,
                                                                             .is_expandable = segment->is_expandable};
  uint64_t at = segment->address;
  for (size_t i = 0; i < count; at += blocks[i++].size_bytes) {
    trace->blocks.items[trace->blocks.count++] = (struct wo_trace_block){.address = at,
                                                                         .size_bytes = blocks[i].size_bytes,
                                                                         .requested_bytes = blocks[i].requested_bytes,
                                                                         .stack = WO_NO_STACK,
                                                                         .state = blocks[i].state};
  }
  return true;
}

/* ---- Steps ---- */

static uint64_t pick_size(struct program *program) {
  const uint64_t small[] = {1, 512, 513, 4096, 100 * 1024, MIB - 512, MIB, 300000};
  switch (pick(program, 8)) {
  case 0:
  case 1:
    return small[pick(program, sizeof small / sizeof *small)];
  case 2:
    return 1 + pick(program, MIB);
  case 3:
    return MIB + 1 + pick(program, 2 * MIB);
  case 4:
    return MIB + pick(program, 9 * MIB);
  case 5:
    return 9 * MIB + 512 * pick(program, 4096);
  case 6:
    return 10 * MIB + pick(program, 30 * MIB);
  default:
    return (1 + pick(program, 24)) * MIB;
  }
}

/* After all streams were waited for, nothing is pending. */
static void drop_pending(struct program *program) {
  const uint64_t syncs = wo_allocator_stats(program->allocator)->num_sync_all_streams;
  if (syncs != program->syncs) program->pending.count = 0;
  program->syncs = syncs;
}

/* Serves a request; now and then from a pool, where captures are not told: then each ends before anything else happens. */
static enum wo_status serve(struct program *program, uint64_t stream, wo_block_id *ret_block) {
  const struct wo_random_program *const options = program->options;
  const uint64_t size = pick_size(program);
  const bool is_private = options->has_pools && !options->tells_instructions && pick(program, 5) == 0;
  if (!is_private) return wo_allocator_malloc(program->allocator, size, stream, ret_block);
  const struct wo_pool_id id = program->recording->pools.items[program->pools[1]];
  if (wo_allocator_pool_begin(program->allocator, id, stream, true) != WO_OK) return WO_E_USAGE;
  const enum wo_status status = wo_allocator_malloc(program->allocator, size, stream, ret_block);
  return wo_allocator_pool_end(program->allocator, id) == WO_OK ? status : WO_E_USAGE;
}

static void step_alloc(struct program *program) {
  wo_block_id block = WO_NO_BLOCK;
  const uint64_t stream = pick(program, program->options->stream_count) * 0x1000;
  const enum wo_status status = serve(program, stream, &block);
  drop_pending(program);
  if (status == WO_E_LIMIT) return;
  if (status != WO_OK || !WO_VEC_RESERVE(&program->live, 1, 1 << 24)) {
    program->has_failed = true;
    return;
  }
  program->live.items[program->live.count++] = (struct held){block};
}

static void step_free(struct program *program) {
  if (program->live.count == 0) return;
  struct held *const chosen = &program->live.items[pick(program, program->live.count)];
  const wo_block_id block = chosen->block;
  *chosen = program->live.items[--program->live.count];
  const bool is_deferred = program->options->has_deferred && pick(program, 3) == 0;
  if (is_deferred && !WO_VEC_RESERVE(&program->pending, 1, 1 << 24)) {
    program->has_failed = true;
    return;
  }
  wo_allocator_free_block(program->allocator, block, is_deferred);
  if (is_deferred) program->pending.items[program->pending.count++] = (struct held){block};
}

static void step_complete(struct program *program) {
  if (program->pending.count == 0 || program->capture != 0) return;
  struct held *const chosen = &program->pending.items[pick(program, program->pending.count)];
  const wo_block_id block = chosen->block;
  *chosen = program->pending.items[--program->pending.count];
  wo_allocator_complete(program->allocator, block);
}

static void step_empty_cache(struct program *program, uint32_t stack) {
  if (!program->options->has_empty_cache || program->capture != 0) return;
  program->stack = stack;
  instruct(program, WO_ACTION_EMPTY_CACHE, 0, 0);
  if (wo_allocator_empty_cache(program->allocator) != WO_OK) program->has_failed = true;
  drop_pending(program);
}

/* Begins or ends a capture, or gives a pool up. */
static void step_pool(struct program *program) {
  if (!program->options->has_pools || !program->options->tells_instructions) return;
  const uint32_t chosen = 1 + (uint32_t)pick(program, POOLS - 1);
  const uint32_t pool = program->pools[chosen];
  const struct wo_pool_id id = program->recording->pools.items[pool];
  enum wo_status status = WO_OK;
  if (program->capture != 0) {
    const uint32_t ended = program->pools[program->capture];
    instruct(program, WO_ACTION_CAPTURE_END, ended, 0);
    status = wo_allocator_pool_end(program->allocator, program->recording->pools.items[ended]);
    program->capture = 0;
  } else if (!program->is_used[chosen] && !program->is_dead[chosen]) {
    instruct(program, WO_ACTION_CAPTURE_BEGIN, pool, 0);
    status = wo_allocator_pool_begin(program->allocator, id, 0, true);
    program->is_used[chosen] = true;
    program->capture = chosen;
  } else if (program->is_used[chosen] && pick(program, 4) == 0) {
    instruct(program, WO_ACTION_POOL_RELEASE, pool, 0);
    status = wo_allocator_pool_release(program->allocator, id);
    program->is_used[chosen] = false;
    program->is_dead[chosen] = true;
  }
  if (status != WO_OK) program->has_failed = true;
}

static void step(struct program *program, const uint32_t *stacks) {
  const uint64_t choice = pick(program, 1000);
  const bool is_full = program->live.count >= program->options->live_max;
  program->stack = stacks[1 + pick(program, 7)];
  if (choice < 3) {
    step_empty_cache(program, stacks[0]);
  } else if (choice < 12) {
    step_pool(program);
  } else if (choice < 150) {
    step_complete(program);
  } else if (choice < 570 && !is_full) {
    step_alloc(program);
  } else {
    step_free(program);
  }
}

/* ---- Whole ---- */

static void cut(struct wo_trace *trace, size_t count) {
  if (count > trace->entries.count) count = trace->entries.count;
  for (size_t i = count; i < trace->entries.count; i++) trace->entries.items[i - count] = trace->entries.items[i];
  trace->entries.count -= count;
}

static void run(struct program *program) {
  uint32_t stacks[8];
  for (size_t i = 0; i < 8; i++) stacks[i] = add_stack(program->recording, i == 0 ? "empty_cache" : "forward");
  for (uint32_t i = 1; i < POOLS && program->options->has_pools; i++) {
    if (wo_intern_pool(&program->intern, (struct wo_pool_id){0, i}, &program->pools[i]) != WO_OK) program->has_failed = true;
  }
  for (size_t i = 0; i < program->options->steps && !program->has_failed; i++) step(program, stacks);
  if (program->capture != 0) {
    program->stack = stacks[1];
    step_pool(program);
  }
  if (!program->has_failed && wo_allocator_walk(program->allocator, save_segment, program) != WO_OK) program->has_failed = true;
  program->trace->has_segments = true;
  cut(program->trace, program->options->cut);
}

static bool begin(struct program *program) {
  const struct wo_random_program *const options = program->options;
  struct wo_recording *const recording = wo_recording_new();
  if (!recording) return false;
  recording->format = WO_TRACE_FORMAT_SNAPSHOT;
  recording->fidelity = WO_TRACE_EXACT;
  recording->torch_from = recording->torch_to = options->torch;
  recording->has_settings = true;
  recording->settings = options->settings;
  program->recording = recording;
  program->trace = wo_recording_trace(recording, 0);
  wo_intern_init(&program->intern, recording);
  return program->trace != NULL;
}

struct wo_recording *wo_random_program_record(const struct wo_random_program *options) {
  struct program program = {.options = options, .random = options->seed};
  struct wo_device device;
  struct wo_err err;
  assert(options->stream_count >= 1 && options->stream_count <= STREAMS_MAX);
  if (!begin(&program)) return wo_recording_free(program.recording);
  const struct wo_device_model_options model_options = {.capacity_bytes = options->capacity_bytes,
                                                        .total_bytes = options->total_bytes,
                                                        .policy = options->policy,
                                                        .seed = options->seed};
  struct wo_device_model *const model = wo_device_model_new(&model_options, &device);
  if (!model) return wo_recording_free(program.recording);
  const struct wo_allocator_options allocator_options = {
      .settings = options->settings, .torch = options->torch, .device = &device, .observer = {&program, on_event}};
  uint64_t free_bytes = 0, total_bytes = 0;
  device.memory_info(device.state, &free_bytes, &total_bytes);
  if (options->tells_card) program.recording->capacity_bytes = total_bytes;
  program.has_failed = wo_allocator_new(&allocator_options, &program.allocator, &err) != WO_OK;
  if (!program.has_failed) run(&program);
  WO_VEC_DONE(&program.live);
  WO_VEC_DONE(&program.pending);
  wo_intern_done(&program.intern);
  wo_allocator_free(program.allocator);
  wo_device_model_free(model);
  return program.has_failed ? wo_recording_free(program.recording) : program.recording;
}

struct wo_random_program wo_random_program_of(uint64_t seed) {
  static const uint16_t versions[] = {200, 201, 204, 205, 206, 208, 209, 210, 211, 213};
  static const uint32_t divisions[] = {0, 0, 0, 0, 2, 4, 8};
  uint64_t random = seed * 977 + 1;
  struct wo_random_program program = {.seed = seed};
  program.torch = versions[wo_random_next(&random) % (sizeof versions / sizeof *versions)];
  program.settings = wo_alloc_settings_default(program.torch);
  program.steps = 50 + wo_random_next(&random) % 3000;
  program.cut = wo_random_next(&random) % 3 == 0 ? 0 : wo_random_next(&random) % program.steps;
  program.settings.expandable_segments = program.torch >= 201 && wo_random_next(&random) % 3 == 0;
  const uint32_t division = divisions[wo_random_next(&random) % 7];
  for (size_t i = 0; i < WO_ROUNDUP_SLOTS; i++) program.settings.roundup_divisions[i] = division;
  if (wo_random_next(&random) % 4 == 0) program.settings.max_split_bytes = (21 + wo_random_next(&random) % 40) * MIB;
  /* Older versions stop with an internal error when they are to release expandable blocks one by one. */
  const bool may_release_one = !program.settings.expandable_segments || program.torch >= 205;
  if (!may_release_one) program.settings.max_split_bytes = WO_SPLIT_UNLIMITED;
  const bool is_bounded = wo_random_next(&random) % 3 != 0;
  program.capacity_bytes = is_bounded ? (64 + wo_random_next(&random) % 800) * MIB : UINT64_MAX;
  program.total_bytes = is_bounded ? program.capacity_bytes + wo_random_next(&random) % 512 * MIB : 16384 * MIB;
  if (wo_random_next(&random) % 5 == 0) {
    program.settings.memory_fraction = 0.3 + 0.1 * (double)(wo_random_next(&random) % 6);
    if (may_release_one && wo_random_next(&random) % 2 == 0) program.settings.garbage_collection_threshold = 0.6;
  }
  program.policy = (enum wo_address_policy)(wo_random_next(&random) % 3);
  program.stream_count = wo_random_next(&random) % 2 == 0 ? 1 : 1 + (unsigned)(wo_random_next(&random) % 4);
  program.live_max = 10 + (unsigned)(wo_random_next(&random) % 120);
  program.has_deferred = wo_random_next(&random) % 2 == 0;
  program.has_pools = wo_random_next(&random) % 4 == 0;
  program.has_empty_cache = wo_random_next(&random) % 2 == 0;
  program.tells_stacks = wo_random_next(&random) % 4 != 0;
  program.tells_instructions = wo_random_next(&random) % 3 == 0;
  program.tells_card = wo_random_next(&random) % 2 == 0 || program.settings.memory_fraction > 0;
  /* How long a range is decides between free blocks where hardly anything of it is left; a guess is always long enough. */
  if (!program.tells_card || program.settings.expandable_segments) {
    const double share = (double)program.total_bytes / (double)(16384 * MIB);
    program.total_bytes = 16384 * MIB;
    program.settings.memory_fraction *= share;
  }
  /* Whether a retry completed frees cannot be told where it released nothing and mapped nothing, nor, without stacks, what
   * garbage collection released before it. */
  const bool may_retry = is_bounded || program.settings.memory_fraction > 0;
  if (program.settings.expandable_segments && may_retry) program.has_deferred = false;
  if (program.settings.garbage_collection_threshold > 0 && !program.tells_stacks) program.has_deferred = false;
  /* torch miscounts the expandable memory of a private pool, and fails once the pool is given up. */
  if (program.settings.expandable_segments && program.tells_instructions) program.has_pools = false;
  /* Since 2.13 it matters whether a pool is captured, which only instructions tell. */
  if (program.torch >= 212) program.has_pools = false;
  /* A capture that began before the start is not known. */
  if (program.has_pools && program.tells_instructions) program.cut = 0;
  /* The ages of free blocks at the start cannot be rebuilt. They decide what garbage collection releases, and ties since 2.12. */
  if (program.settings.garbage_collection_threshold > 0 || program.torch >= 212) program.cut = 0;
  return program;
}
