/* SPDX-License-Identifier: Apache-2.0 */
/* Segments, traces, settings and annotations of made-up snapshots, in the shape of each version. */
#include "tests/support/recording/snapshot_writer.h"

#include <stdlib.h>

#define MIB INT64_C(1048576)

struct state {
  struct wo_pickle_writer *writer;
  const struct wo_snapshot_sample *sample;
  uint32_t *frames; /* memo slots, 0 when not written yet: slot 0 is always the outermost container */
  uint32_t last_stack;
  uint64_t lists; /* written so far */
};

struct wo_snapshot_sample wo_snapshot_sample_small(int torch) {
  return (struct wo_snapshot_sample){
      .torch = torch, .entry_count = 40, .frame_count = 9, .stack_depth = 4, .stack_count = 5, .has_other_devices = true};
}

static void write_frame(struct state *state, uint32_t frame) {
  struct wo_pickle_writer *const writer = state->writer;
  if (state->frames[frame] != 0) {
    wo_pickle_write_ref(writer, state->frames[frame]);
    return;
  }
  char name[64];
  const uint32_t slot = wo_pickle_write_dict(writer, 3);
  snprintf(name, sizeof name, "function_%u<a::b, \\c>", frame);
  wo_pickle_write_text_at(writer, "name", name);
  snprintf(name, sizeof name, "/home/user/train_%u.py", frame % 7);
  wo_pickle_write_text_at(writer, "filename", frame % 3 == 0 ? "??" : name);
  wo_pickle_write_int_at(writer, "line", frame * 3);
  const uint32_t end_slot = wo_pickle_write_end(writer);
  state->frames[frame] = writer->is_cpp ? end_slot : slot;
}

/* A list of its own for most, a reference for the others. */
static void write_stack(struct state *state, uint64_t which) {
  const struct wo_snapshot_sample *const sample = state->sample;
  if (which % 3 == 2 && state->last_stack != 0) {
    wo_pickle_write_ref(state->writer, state->last_stack);
    return;
  }
  const uint32_t slot = wo_pickle_write_list(state->writer, sample->stack_depth);
  const uint64_t stack = which % sample->stack_count;
  for (uint32_t i = 0; i < sample->stack_depth; i++) {
    write_frame(state, (uint32_t)((stack * 7 + i * (1 + stack % 3)) % sample->frame_count));
  }
  const uint32_t end_slot = wo_pickle_write_end(state->writer);
  state->last_stack = state->writer->is_cpp ? end_slot : slot;
}

static void write_stack_at(struct state *state, uint64_t which) {
  wo_pickle_write_text(state->writer, "frames");
  write_stack(state, which);
}

/* ---- Segments ---- */

struct block {
  const char *state;
  int64_t size_bytes, requested_bytes;
};

static void write_history(struct state *state, const struct block *block) {
  struct wo_pickle_writer *const writer = state->writer;
  wo_pickle_write_text(writer, "history");
  wo_pickle_write_list(writer, 2);
  for (uint64_t i = 0; i < 2; i++) {
    wo_pickle_write_dict(writer, 3);
    wo_pickle_write_int_at(writer, "addr", WO_SAMPLE_ADDRESS);
    wo_pickle_write_int_at(writer, "real_size", i == 0 ? block->requested_bytes : 7);
    write_stack_at(state, i);
    wo_pickle_write_end(writer);
  }
  wo_pickle_write_end(writer);
}

static void write_block(struct state *state, const struct block *block, int64_t address, uint64_t number) {
  struct wo_pickle_writer *const writer = state->writer;
  const bool is_old = state->sample->torch == 200;
  const bool has_history = is_old && block->state[0] == 'a';
  wo_pickle_write_dict(writer, is_old ? 3U + has_history : 5);
  if (!is_old) wo_pickle_write_int_at(writer, "address", address);
  wo_pickle_write_int_at(writer, "size", block->size_bytes);
  wo_pickle_write_int_at(writer, "requested_size", block->requested_bytes);
  wo_pickle_write_text_at(writer, "state", block->state);
  if (has_history) write_history(state, block);
  if (!is_old && block->state[0] == 'a') write_stack_at(state, number);
  if (!is_old && block->state[0] != 'a') {
    wo_pickle_write_text(writer, "frames");
    wo_pickle_write_list(writer, 0);
    wo_pickle_write_end(writer);
  }
  wo_pickle_write_end(writer);
}

struct segment {
  int device;
  int64_t address, size_bytes, stream, pool;
  bool is_small, is_expandable;
  struct block blocks[3];
};

static const struct segment segments[] = {
    {0, WO_SAMPLE_ADDRESS, 2 * MIB, 0, 0, true, false, {{"active_allocated", 1024, 1000}, {"inactive", 2 * MIB - 1024, 5}}},
    {0,
     WO_SAMPLE_ADDRESS + 32 * MIB,
     20 * MIB,
     INT64_C(0x55500001000),
     1,
     false,
     false,
     {{"active_pending_free", 3 * MIB, 3 * MIB - 7}, {"active_awaiting_free", MIB, MIB}, {"inactive", 16 * MIB, 0}}},
    {0, WO_SAMPLE_ADDRESS + 64 * MIB, 4 * MIB, 0, 0, false, true, {{"active_allocated", 4 * MIB, 4 * MIB}}},
    {2, WO_SAMPLE_ADDRESS, 2 * MIB, 0, 0, true, false, {{"inactive", 2 * MIB, 0}}},
};

static void write_segment(struct state *state, const struct segment *segment) {
  struct wo_pickle_writer *const writer = state->writer;
  const bool is_old = state->sample->torch == 200;
  uint64_t block_count = 0;
  while (block_count < 3 && segment->blocks[block_count].state != NULL) block_count++;
  wo_pickle_write_dict(writer, is_old ? 6 : 9);
  wo_pickle_write_int_at(writer, "device", segment->device);
  wo_pickle_write_int_at(writer, "address", segment->address);
  wo_pickle_write_int_at(writer, "total_size", segment->size_bytes);
  wo_pickle_write_int_at(writer, "stream", segment->stream);
  wo_pickle_write_text_at(writer, "segment_type", segment->is_small ? "small" : "large");
  if (!is_old) {
    wo_pickle_write_text(writer, "segment_pool_id");
    wo_pickle_write_pair(writer, 0, segment->pool);
    wo_pickle_write_bool_at(writer, "is_expandable", segment->is_expandable);
    write_stack_at(state, 0);
  }
  wo_pickle_write_text(writer, "blocks");
  wo_pickle_write_list(writer, block_count);
  int64_t address = segment->address;
  for (uint64_t i = 0; i < block_count; i++) {
    write_block(state, &segment->blocks[i], address, i + 2);
    address += segment->blocks[i].size_bytes;
  }
  wo_pickle_write_end(writer);
  wo_pickle_write_end(writer);
}

static void write_segments(struct state *state) {
  const uint64_t count = state->sample->has_other_devices ? 4 : 3;
  wo_pickle_write_list(state->writer, count);
  for (uint64_t i = 0; i < count; i++) write_segment(state, &segments[i]);
  wo_pickle_write_end(state->writer);
}

/* ---- Entries ---- */

static void write_entry(struct state *state, uint64_t number, uint64_t count) {
  struct wo_pickle_writer *const writer = state->writer;
  static const char *const actions[] = {"alloc", "free_requested", "free_completed"};
  const int torch = state->sample->torch;
  const bool is_oom = number > 2 && number + 1 == count;
  const char *const action = number == 0 ? "segment_alloc" : is_oom ? "oom" : actions[(number - 1) % 3];
  const uint64_t keys = 5U + (torch >= 206) + 2U * (torch >= 211) + (torch >= 212);
  wo_pickle_write_dict(writer, keys);
  wo_pickle_write_text_at(writer, "action", action);
  if (is_oom) {
    wo_pickle_write_int_at(writer, "device_free", 12345);
  } else {
    wo_pickle_write_int_at(writer, "addr", WO_SAMPLE_ADDRESS + 512 * (int64_t)((number + 2) / 3 % 4096));
  }
  wo_pickle_write_int_at(writer, "size", (int64_t)(1 + (number + 2) / 3 % 100000));
  wo_pickle_write_int_at(writer, "stream", number % 5 == 4 ? INT64_C(0x55500001000) : 0);
  if (torch >= 206) wo_pickle_write_int_at(writer, "time_us", INT64_C(1730000000000000) + (int64_t)number * 17);
  if (torch >= 211) {
    wo_pickle_write_text(writer, "compile_context");
    wo_pickle_write_fresh_text(writer, "N/A");
    wo_pickle_write_text(writer, "user_metadata");
    wo_pickle_write_fresh_text(writer, number % 8 == 1 ? "layer 3" : "");
  }
  if (torch >= 212) {
    wo_pickle_write_text(writer, "pool_id");
    wo_pickle_write_pair(writer, 0, number % 7 == 6);
  }
  write_stack_at(state, number);
  wo_pickle_write_end(writer);
}

static void write_trace(struct state *state, uint64_t count) {
  wo_pickle_write_list(state->writer, count);
  for (uint64_t i = 0; i < count; i++) write_entry(state, i, count);
  wo_pickle_write_end(state->writer);
}

static void write_traces(struct state *state) {
  const bool has_others = state->sample->has_other_devices;
  wo_pickle_write_list(state->writer, has_others ? 3 : 1);
  write_trace(state, state->sample->entry_count);
  if (has_others) {
    write_trace(state, 0);
    write_trace(state, 3);
  }
  wo_pickle_write_end(state->writer);
}

/* ---- The whole ---- */

static void write_settings(struct wo_pickle_writer *writer, const struct wo_snapshot_sample *sample) {
  wo_pickle_write_dict(writer, 6);
  wo_pickle_write_text_at(writer, "PYTORCH_CUDA_ALLOC_CONF",
                          sample->alloc_conf == NULL ? "max_split_size_mb:64" : sample->alloc_conf);
  wo_pickle_write_int_at(writer, "max_split_size", 64 * MIB);
  wo_pickle_write_text(writer, "garbage_collection_threshold");
  wo_pickle_write_float(writer, 0.75);
  wo_pickle_write_bool_at(writer, "expandable_segments", true);
  wo_pickle_write_bool_at(writer, "release_lock_on_cudamalloc", false);
  wo_pickle_write_text(writer, "roundup_power2_divisions");
  wo_pickle_write_dict(writer, 16);
  for (int i = 0; i < 16; i++) {
    char key[8];
    snprintf(key, sizeof key, "%d", 1 << i);
    wo_pickle_write_int_at(writer, key, i % 4);
  }
  wo_pickle_write_end(writer);
  wo_pickle_write_end(writer);
}

static void write_annotations(struct wo_pickle_writer *writer) {
  wo_pickle_write_list(writer, 2);
  for (int i = 0; i < 2; i++) {
    wo_pickle_write_dict(writer, 4);
    wo_pickle_write_text_at(writer, "stage", i == 0 ? "START" : "END");
    wo_pickle_write_text_at(writer, "name", "Optimizer.step#AdamW.step");
    wo_pickle_write_int_at(writer, "device", 0);
    wo_pickle_write_int_at(writer, "time_us", INT64_C(1730000000000000) + 100 * i);
    wo_pickle_write_end(writer);
  }
  wo_pickle_write_end(writer);
}

void wo_snapshot_write(struct wo_pickle_writer *writer, const struct wo_snapshot_sample *sample) {
  struct state state = {.writer = writer, .sample = sample};
  state.frames = calloc(sample->frame_count, sizeof *state.frames);
  if (state.frames == NULL) abort();
  if (sample->is_segments_only) {
    write_segments(&state);
  } else {
    wo_pickle_write_dict(writer, 2U + 2U * (sample->torch >= 206));
    wo_pickle_write_text(writer, "segments");
    write_segments(&state);
    wo_pickle_write_text(writer, "device_traces");
    write_traces(&state);
    if (sample->torch >= 206) {
      wo_pickle_write_text(writer, "allocator_settings");
      write_settings(writer, sample);
      wo_pickle_write_text(writer, "external_annotations");
      write_annotations(writer);
    }
    wo_pickle_write_end(writer);
  }
  wo_pickle_write_stop(writer);
  free(state.frames);
}
