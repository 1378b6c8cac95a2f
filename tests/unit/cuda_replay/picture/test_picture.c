/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings as values that can be drawn: cuda_replay/picture/picture.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/picture/picture.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"
#include "tests/support/failing_alloc.h"

#define SAMPLE WO_SOURCE_DIR "/samples/lora-7b-24g/trace-90817.jsonl"

/* What the message of the sample says: 21.03 GiB + 612.41 MiB + 1.55 GiB. */
#define CAPACITY (21.03 * WO_GIB + 612.41 * WO_MIB + 1.55 * WO_GIB)

/* Blocks fill their segments, and those the reserved memory. */
static void expect_sound(const struct wo_recorded_memory *memory) {
  double reserved = 0;
  for (size_t i = 0; i < memory->segment_count; i++) {
    const struct wo_recorded_segment *const segment = &memory->segments[i];
    double filled = 0;
    if (i > 0) assert_true(segment->bytes <= memory->segments[i - 1].bytes);
    assert_true(segment->first_block + segment->block_count <= memory->block_count);
    for (size_t k = 0; k < segment->block_count; k++) {
      const struct wo_recorded_block *const block = &memory->blocks[segment->first_block + k];
      assert_true(block->offset_bytes == filled && block->bytes > 0);
      filled += block->bytes;
    }
    assert_true(filled == segment->bytes && segment->used_bytes <= segment->bytes);
    reserved += segment->bytes;
  }
  if (memory->segments_left_out == 0) assert_true(reserved == memory->reserved_bytes);
  for (size_t i = 0; i < memory->point_count; i++) {
    assert_true(memory->allocated[i].bytes <= memory->reserved[i].bytes && memory->reserved[i].x == memory->allocated[i].x);
    if (i > 0) assert_true(memory->reserved[i].x >= memory->reserved[i - 1].x);
  }
}

static void test_requests_alone(void **state) {
  (void)state;
  struct wo_arena arena;
  struct wo_recorded_memory memory;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  assert_true(wo_picture_make(SAMPLE, CAPACITY, NULL, &arena, &memory));
  assert_true(memory.has_failed && !memory.is_exact && !memory.is_compared);
  assert_true(memory.allocated_bytes > 21.0 * WO_GIB && memory.allocated_bytes < 21.1 * WO_GIB);
  assert_true(memory.reserved_bytes <= CAPACITY && memory.capacity_bytes <= CAPACITY);
  assert_int_equal(memory.moment, memory.requests);
  assert_in_range(memory.point_count, 100, 2 * WO_CURVE_STRETCHES);
  assert_in_range(memory.holder_count, 5, WO_RECORDED_HOLDERS_MAX);
  assert_true(wo_view_is(memory.holders[0].name, "from_pretrained modeling_utils.py:4224"));
  assert_string_equal(memory.holders[0].sort, "parameter");
  expect_sound(&memory);
  assert_false(wo_arena_is_exhausted(&arena));
  wo_arena_done(&arena);
}

/* Blocks of a recording with addresses are where they were; of a snapshot without a history there is the state alone. */
static void test_addresses_and_states(void **state) {
  (void)state;
  struct wo_arena arena;
  struct wo_recorded_memory memory;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  assert_true(wo_picture_make(WO_SOURCE_DIR "/tests/recordings/small.jsonl", 0, NULL, &arena, &memory));
  assert_true(memory.is_compared && memory.is_exact && !memory.is_state);
  assert_true(memory.requests > 1 && memory.point_count > 1 && memory.segment_count > 0);
  expect_sound(&memory);
  assert_true(wo_picture_make(WO_SOURCE_DIR "/tests/recordings/state.jsonl", 0, NULL, &arena, &memory));
  assert_true(memory.is_state && memory.moment == 0 && memory.point_count == 0 && memory.segment_count > 0);
  expect_sound(&memory);
  wo_arena_done(&arena);
}

/* With pseudonyms no name that was learned is in what is made; packages keep theirs. */
static void test_anonymous(void **state) {
  (void)state;
  struct wo_arena arena;
  struct wo_recorded_memory memory;
  struct wo_pseudonyms *const pseudonyms = wo_pseudonyms_new();
  bool has_package = false;
  assert_non_null(pseudonyms);
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  wo_pseudonyms_learn(pseudonyms, WO_NAME_OF_JOB, WO_VIEW("finetune_lora"));
  assert_true(wo_picture_make(SAMPLE, CAPACITY, pseudonyms, &arena, &memory));
  for (size_t i = 0; i < memory.holder_count; i++) {
    assert_false(wo_view_has(memory.holders[i].name, "finetune_lora") || wo_view_has(memory.holders[i].user, "finetune_lora"));
    has_package |= wo_view_has(memory.holders[i].name, "modeling_qwen2.py");
  }
  assert_true(has_package);
  wo_pseudonyms_free(pseudonyms);
  wo_arena_done(&arena);
}

/* Without a limit the model would reserve more than the card has. */
static void test_nothing_to_show(void **state) {
  (void)state;
  struct wo_arena arena;
  struct wo_recorded_memory memory = {.requests = 42};
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  assert_false(wo_picture_make(SAMPLE, 0, NULL, &arena, &memory));
  assert_false(wo_picture_make(WO_SOURCE_DIR "/README.md", CAPACITY, NULL, &arena, &memory));
  assert_false(wo_picture_make("/nonexistent", CAPACITY, NULL, &arena, &memory));
  assert_int_equal(memory.requests, 42);
  assert_false(wo_arena_is_exhausted(&arena));
  wo_arena_done(&arena);
}

/* A few places among the thousands, since each try replays the recording. */
static void test_failing_allocations(void **state) {
  (void)state;
  size_t failures = 0;
  for (long n = 1; n < 4000; n += 1 + n / 2) {
    struct wo_arena arena;
    struct wo_recorded_memory memory;
    wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
    wo_fail_alloc_from(n);
    const bool is_made = wo_picture_make(SAMPLE, CAPACITY, NULL, &arena, &memory);
    wo_fail_alloc_off();
    if (wo_fail_alloc_hit()) {
      failures++;
      assert_false(is_made);
      assert_true(wo_arena_is_exhausted(&arena));
    }
    wo_arena_done(&arena);
  }
  assert_in_range(failures, 5, 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_requests_alone), cmocka_unit_test(test_addresses_and_states),
                                     cmocka_unit_test(test_anonymous), cmocka_unit_test(test_nothing_to_show),
                                     cmocka_unit_test(test_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
