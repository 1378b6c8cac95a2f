/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings checked part by part: all later code relies on what is checked here. */
#include "cuda_replay/recording/recording_valid.h"

static bool is_stack(const struct wo_recording *recording, uint32_t stack) {
  return stack == WO_NO_STACK || stack < recording->stacks.count;
}

static bool are_entries_valid(const struct wo_recording *recording, const struct wo_trace *trace) {
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->stream >= recording->streams.count || entry->pool >= recording->pools.count) return false;
    if (entry->action >= WO_ACTION_COUNT_ || !is_stack(recording, entry->stack)) return false;
    if (entry->action == WO_ACTION_SETTINGS && entry->size_bytes >= recording->settings_texts.count) return false;
  }
  return true;
}

/* Whether the blocks lie side by side from the segment's first byte to its last. */
static bool is_segment_filled(const struct wo_recording *recording, const struct wo_trace *trace,
                              const struct wo_trace_segment *segment) {
  uint64_t at = segment->address;
  if (segment->first_block > trace->blocks.count || segment->block_count > trace->blocks.count - segment->first_block)
    return false;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const struct wo_trace_block *const block = &trace->blocks.items[segment->first_block + i];
    if (block->address != at || block->size_bytes == 0 || !is_stack(recording, block->stack)) return false;
    if (__builtin_add_overflow(at, block->size_bytes, &at)) return false;
  }
  return at == segment->address + segment->size_bytes;
}

static bool are_segments_valid(const struct wo_recording *recording, const struct wo_trace *trace) {
  uint64_t end = 0;
  for (size_t i = 0; i < trace->segments.count; i++) {
    const struct wo_trace_segment *const segment = &trace->segments.items[i];
    if (segment->stream >= recording->streams.count || segment->pool >= recording->pools.count) return false;
    if (segment->address < end || __builtin_add_overflow(segment->address, segment->size_bytes, &end)) return false;
    if (!is_stack(recording, segment->stack) || !is_segment_filled(recording, trace, segment)) return false;
  }
  return true;
}

static bool is_metadata_valid(const struct wo_trace *trace) {
  for (size_t i = 0; i < trace->metadata.count; i++) {
    const uint32_t entry = trace->metadata.items[i].entry;
    if (entry >= trace->entries.count || (i > 0 && entry <= trace->metadata.items[i - 1].entry)) return false;
  }
  return true;
}

static bool are_stacks_valid(const struct wo_recording *recording) {
  for (size_t i = 0; i < recording->stacks.count; i++) {
    const struct wo_stack stack = recording->stacks.items[i];
    if (stack.first > recording->stack_frames.count || stack.count > recording->stack_frames.count - stack.first) return false;
  }
  for (size_t i = 0; i < recording->stack_frames.count; i++) {
    if (recording->stack_frames.items[i] >= recording->frames.count) return false;
  }
  return true;
}

bool wo_recording_is_valid(const struct wo_recording *recording) {
  if (recording->streams.count == 0 || recording->streams.items[0] != 0 || recording->pools.count == 0) return false;
  if (!are_stacks_valid(recording)) return false;
  for (size_t i = 0; i < recording->traces.count; i++) {
    const struct wo_trace *const trace = &recording->traces.items[i];
    if (i > 0 && trace->device <= recording->traces.items[i - 1].device) return false;
    if (!are_entries_valid(recording, trace) || !is_metadata_valid(trace)) return false;
    if (!are_segments_valid(recording, trace)) return false;
  }
  return true;
}
