/* SPDX-License-Identifier: Apache-2.0 */
/* The final layout: segment by segment and block by block, both sides by rising address. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/replay/start_trial_internal.h"

struct compare {
  const struct wo__start_trial_input *input;
  size_t segment; /* the next of the snapshot */
  bool is_equal;
  char *expected;
  char *got;
};

/* ---- Texts ---- */

#define TELL(text, ...) snprintf(text, WO_CHECK_TEXT_BYTES, __VA_ARGS__)

static const char *const state_names[] = {
    [WO_BLOCK_FREE] = "free", [WO_BLOCK_ALLOCATED] = "allocated", [WO_BLOCK_PENDING] = "pending"};

static void tell_segment(char *text, uint64_t address, uint64_t size_bytes, bool is_small) {
  TELL(text, "at the end a segment of the %s pool, %" PRIu64 " bytes at 0x%" PRIx64, is_small ? "small" : "large", size_bytes,
       address);
}

static void tell_block(char *text, uint64_t address, uint64_t size_bytes, uint64_t requested_bytes, enum wo_block_state state) {
  if (state == WO_BLOCK_FREE) {
    TELL(text, "at the end a free block of %" PRIu64 " bytes at 0x%" PRIx64, size_bytes, address);
  } else {
    TELL(text, "at the end an %s block of %" PRIu64 " bytes (%" PRIu64 " requested) at 0x%" PRIx64, state_names[state],
         size_bytes, requested_bytes, address);
  }
}

static bool differ(struct compare *compare) {
  compare->is_equal = false;
  return false;
}

/* ---- Whole layouts ---- */

static bool is_same_block(const struct wo_trace_block *recorded, const struct wo_allocator_block *block) {
  if (recorded->size_bytes != block->size_bytes || recorded->state != block->state) return false;
  return block->state == WO_BLOCK_FREE || recorded->requested_bytes == 0 || recorded->requested_bytes == block->requested_bytes;
}

static bool compare_blocks(struct compare *compare, const struct wo_trace_segment *recorded,
                           const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks, size_t count) {
  uint64_t at = segment->address;
  for (size_t i = 0; i < count; i++) {
    if (i >= recorded->block_count) return differ(compare);
    const struct wo_trace_block *const block = &compare->input->trace->blocks.items[recorded->first_block + i];
    if (!is_same_block(block, &blocks[i])) {
      tell_block(compare->expected, block->address, block->size_bytes, block->requested_bytes, block->state);
      tell_block(compare->got, at, blocks[i].size_bytes, blocks[i].requested_bytes, blocks[i].state);
      return differ(compare);
    }
    at += blocks[i].size_bytes;
  }
  return count == recorded->block_count ? true : differ(compare);
}

static bool compare_segment(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                            const wo_block_id *ids, size_t count) {
  struct compare *const compare = state;
  const struct wo__start_trial_input *const input = compare->input;
  (void)ids;
  const bool is_last = compare->segment >= input->trace->segments.count;
  const struct wo_trace_segment *const recorded = is_last ? NULL : &input->trace->segments.items[compare->segment++];
  const bool is_same = recorded && recorded->address == segment->address && recorded->size_bytes == segment->size_bytes &&
                       recorded->is_small == segment->is_small && recorded->is_expandable == segment->is_expandable &&
                       input->recording->streams.items[recorded->stream] == segment->stream;
  if (is_same) return compare_blocks(compare, recorded, segment, blocks, count);
  if (recorded) {
    tell_segment(compare->expected, recorded->address, recorded->size_bytes, recorded->is_small);
  } else {
    TELL(compare->expected, "no further segment at the end");
  }
  tell_segment(compare->got, segment->address, segment->size_bytes, segment->is_small);
  return differ(compare);
}

enum wo_status wo__start_compare_layout(const struct wo__start_trial_input *input, const struct wo_allocator *allocator,
                                        bool *ret_equal, char *expected, char *got) {
  assert(input->start && input->trace->has_segments);
  struct compare compare = {.input = input, .is_equal = true, .expected = expected, .got = got};
  const enum wo_status status = wo_allocator_walk(allocator, compare_segment, &compare);
  const bool is_left = compare.segment < input->trace->segments.count;
  if (status == WO_OK && compare.is_equal && is_left) {
    TELL(expected, "more segments or blocks at the end");
    TELL(got, "only those that came before them");
    compare.is_equal = false;
  }
  *ret_equal = compare.is_equal;
  return status;
}
