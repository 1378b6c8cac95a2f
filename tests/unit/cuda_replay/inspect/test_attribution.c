/* SPDX-License-Identifier: Apache-2.0 */
/* Segment maps, what fills them by class, stack and line, and the blocks that pin them. */
#include "cuda_replay/inspect/attribution.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/inspect/pins.h"
#include "tests/support/replay/memory_over_time_sample.h"
#include "tests/support/failing_alloc.h"

/* ---- Maps by hand ---- */

/* A block of a map that is made by hand. */
struct made_block {
  uint64_t bytes;
  uint64_t requested;
  enum wo_block_state state;
};

static void add_segment(struct wo_segment_map *map, struct wo_allocator_segment segment, const struct made_block *made,
                        size_t count) {
  struct wo_allocator_block blocks[16];
  assert_true(count <= 16);
  segment.size_bytes = 0;
  for (size_t i = 0; i < count; i++) {
    blocks[i] = (struct wo_allocator_block){made[i].bytes, made[i].requested, made[i].state};
    segment.size_bytes += made[i].bytes;
  }
  assert_true(wo_segment_map_add(map, &segment, blocks, count));
}

static const struct made_block mixed[] = {{4 * SAMPLE_MIB, 4 * SAMPLE_MIB - 12, WO_BLOCK_ALLOCATED},
                                          {8 * SAMPLE_MIB, 999, WO_BLOCK_FREE},
                                          {SAMPLE_MIB, SAMPLE_MIB, WO_BLOCK_PENDING},
                                          {7 * SAMPLE_MIB, 5 * SAMPLE_MIB, WO_BLOCK_ALLOCATED}};

/* ---- Units ---- */

static void a_segment_is_one_unit(void **state) {
  (void)state;
  struct wo_segment_map map = {0};
  struct wo_map_walk walk = {0};
  struct wo_map_unit unit;
  add_segment(&map, (struct wo_allocator_segment){.address = SAMPLE_GIB}, mixed, 4);
  assert_true(wo_segment_map_next(&map, &walk, &unit));
  assert_int_equal(unit.start, SAMPLE_GIB);
  assert_int_equal(unit.end, SAMPLE_GIB + 20 * SAMPLE_MIB);
  assert_int_equal(unit.used_bytes, 12 * SAMPLE_MIB);
  assert_int_equal(unit.slack_bytes, 2 * SAMPLE_MIB + 12);
  assert_int_equal(unit.pending_bytes, SAMPLE_MIB);
  assert_int_equal(unit.block_count, 4);
  assert_false(wo_segment_map_next(&map, &walk, &unit));
  assert_int_equal(map.blocks.items[1].requested_bytes, 0); /* stale in a free block */
  wo_segment_map_done(&map);
}

/* Pages of an expandable run count from its range; blocks may reach over several. */
static void a_run_has_a_unit_for_each_page(void **state) {
  (void)state;
  static const struct made_block blocks[] = {{5 * SAMPLE_MIB, 5 * SAMPLE_MIB, WO_BLOCK_ALLOCATED},
                                             {30 * SAMPLE_MIB, 0, WO_BLOCK_FREE},
                                             {25 * SAMPLE_MIB, 24 * SAMPLE_MIB, WO_BLOCK_ALLOCATED}};
  static const struct wo_map_unit expected[] = {
      {.start = 10, .end = 20, .used_bytes = 5, .block_count = 2, .first_block = 0},
      {.start = 20, .end = 40, .used_bytes = 0, .block_count = 1, .first_block = 1},
      {.start = 40, .end = 60, .used_bytes = 15, .block_count = 2, .first_block = 1},
      {.start = 60, .end = 70, .used_bytes = 10, .slack_bytes = 1, .block_count = 1, .first_block = 2},
  };
  struct wo_segment_map map = {.large_page_bytes = 20 * SAMPLE_MIB};
  struct wo_map_walk walk = {0};
  struct wo_map_unit unit;
  const struct wo_allocator_segment segment = {
      .address = SAMPLE_GIB + 10 * SAMPLE_MIB, .is_expandable = true, .range_address = SAMPLE_GIB, .range_bytes = SAMPLE_GIB};
  add_segment(&map, segment, blocks, 3);
  for (size_t i = 0; i < 4; i++) {
    assert_true(wo_segment_map_next(&map, &walk, &unit));
    assert_int_equal(unit.start, SAMPLE_GIB + expected[i].start * SAMPLE_MIB);
    assert_int_equal(unit.end, SAMPLE_GIB + expected[i].end * SAMPLE_MIB);
    assert_int_equal(unit.used_bytes, expected[i].used_bytes * SAMPLE_MIB);
    assert_int_equal(unit.slack_bytes, expected[i].slack_bytes * SAMPLE_MIB);
    assert_int_equal(unit.block_count, expected[i].block_count);
    assert_int_equal(unit.first_block, expected[i].first_block);
  }
  assert_false(wo_segment_map_next(&map, &walk, &unit));
  wo_segment_map_done(&map);
}

/* A damaged file may hold a run of any length: the units are no more than its blocks make. */
static void a_long_run_has_few_units(void **state) {
  (void)state;
  static const struct made_block blocks[] = {{5 * SAMPLE_MIB, 5 * SAMPLE_MIB, WO_BLOCK_ALLOCATED},
                                             {UINT64_C(1) << 58, 0, WO_BLOCK_FREE},
                                             {UINT64_C(1) << 58, UINT64_C(1) << 58, WO_BLOCK_ALLOCATED},
                                             {7 * SAMPLE_MIB, 0, WO_BLOCK_FREE}};
  struct wo_segment_map map = {.large_page_bytes = 20 * SAMPLE_MIB};
  struct wo_map_walk walk = {0};
  struct wo_map_unit unit;
  uint64_t bytes = 0, used = 0;
  add_segment(&map, (struct wo_allocator_segment){.address = SAMPLE_GIB, .is_expandable = true}, blocks, 4);
  for (size_t i = 0; i < 6; i++) {
    if (!wo_segment_map_next(&map, &walk, &unit)) break;
    bytes += unit.end - unit.start;
    used += unit.used_bytes;
  }
  assert_false(wo_segment_map_next(&map, &walk, &unit));
  assert_int_equal(bytes, (UINT64_C(1) << 59) + 12 * SAMPLE_MIB);
  assert_int_equal(used, (UINT64_C(1) << 58) + 5 * SAMPLE_MIB);
  wo_segment_map_done(&map);
}

static void names_blocks_by_address(void **state) {
  (void)state;
  struct wo_segment_map map = {0};
  add_segment(&map, (struct wo_allocator_segment){.address = SAMPLE_GIB}, mixed, 4);
  /* Out of order, one at a free block, one nowhere, two at one address. */
  struct wo_map_place places[] = {{.address = SAMPLE_GIB + 13 * SAMPLE_MIB, .instance = 5},
                                  {.address = SAMPLE_GIB, .instance = 9},
                                  {.address = SAMPLE_GIB + 4 * SAMPLE_MIB, .instance = 7},
                                  {.address = 3, .instance = 8},
                                  {.address = SAMPLE_GIB, .instance = 2}};
  wo_segment_map_name(&map, places, 5);
  assert_int_equal(map.blocks.items[0].instance, 2);
  assert_int_equal(map.blocks.items[1].instance, WO_NO_INSTANCE);
  assert_int_equal(map.blocks.items[2].instance, WO_NO_INSTANCE);
  assert_int_equal(map.blocks.items[3].instance, 5);
  wo_segment_map_name(&map, NULL, 0);
  wo_segment_map_done(&map);
}

/* ---- Attribution ---- */

static const struct sample_frame model_line[] = {{"at::empty(long)", "??", 0},
                                                 {"linear", "/env/lib/python3.11/site-packages/torch/nn/functional.py", 114},
                                                 {"forward", "/env/lib/python3.11/site-packages/transformers/llama.py", 87},
                                                 {"main", "/home/me/train.py", 12}};
static const struct sample_frame other_line[] = {{"backward", "/home/me/train.py", 14}};

/* Two stacks with the same asker, one of another, and one without a stack. */
static void sums_up_by_class_stack_and_line(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  struct wo_attribution attribution;
  memory_sample_init(&sample);
  const uint32_t model = memory_sample_stack(&sample, model_line, 4);
  const uint32_t again = memory_sample_stack(&sample, model_line, 3);
  const uint32_t other = memory_sample_stack(&sample, other_line, 1);
  /* The same frame is stored once in real recordings. */
  sample.recording->stack_frames.items[sample.recording->stacks.items[again].first + 2] =
      sample.recording->stack_frames.items[sample.recording->stacks.items[model].first + 2];
  memory_sample_alloc(&sample, 30 * SAMPLE_MIB - 5, model, WO_CLASS_ACTIVATION);
  memory_sample_alloc(&sample, 10 * SAMPLE_MIB, model, WO_CLASS_TEMPORARY);
  memory_sample_alloc(&sample, 24 * SAMPLE_MIB, again, WO_CLASS_ACTIVATION);
  memory_sample_alloc(&sample, 12 * SAMPLE_MIB, other, WO_CLASS_GRADIENT);
  memory_sample_alloc(&sample, 100, WO_NO_STACK, WO_CLASS_UNKNOWN);
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  assert_int_equal(wo_attribution_make(&sample.pattern, &memory.map, &attribution), WO_OK);

  assert_int_equal(attribution.total.count, 5);
  assert_int_equal(attribution.total.block_bytes, 76 * SAMPLE_MIB + 512);
  assert_int_equal(attribution.total.requested_bytes, 76 * SAMPLE_MIB - 5 + 100);
  assert_int_equal(attribution.classes[WO_CLASS_ACTIVATION].block_bytes, 54 * SAMPLE_MIB);
  assert_int_equal(attribution.classes[WO_CLASS_UNKNOWN].count, 1);
  assert_int_equal(attribution.stacks.count, 4);
  assert_int_equal(attribution.stacks.items[0].stack, model);
  assert_int_equal(attribution.stacks.items[0].share.block_bytes, 40 * SAMPLE_MIB);
  assert_int_equal(attribution.stacks.items[0].class_, WO_CLASS_ACTIVATION);
  assert_int_equal(attribution.stacks.items[1].stack, again);
  assert_int_equal(attribution.stacks.items[1].sites.user, WO_NO_FRAME);
  assert_int_equal(attribution.stacks.items[3].stack, WO_NO_STACK);

  assert_int_equal(attribution.sites.count, 3);
  const struct wo_attribution_site *const first = &attribution.sites.items[0];
  assert_true(wo_view_is(sample.recording->frames.items[first->frame].function, "forward"));
  assert_true(wo_view_is(sample.recording->frames.items[first->user].function, "main"));
  assert_int_equal(first->stack_count, 2);
  assert_int_equal(first->share.block_bytes, 64 * SAMPLE_MIB);
  assert_int_equal(first->share.count, 3);
  assert_int_equal(attribution.sites.items[1].class_, WO_CLASS_GRADIENT);
  assert_int_equal(attribution.sites.items[2].frame, WO_NO_FRAME);
  assert_true(wo_share_pct(1, 4) == 25.0 && wo_share_pct(0, 0) == 0.0);
  wo_attribution_done(&attribution);
  wo_attribution_done(NULL);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

static void tells_where_reserved_bytes_go(void **state) {
  (void)state;
  static const struct made_block idle[] = {{2 * SAMPLE_MIB, 0, WO_BLOCK_FREE}};
  struct memory_sample sample;
  struct wo_segment_map map = {0};
  struct wo_attribution attribution;
  memory_sample_init(&sample);
  add_segment(&map, (struct wo_allocator_segment){.address = SAMPLE_GIB}, mixed, 4);
  add_segment(&map, (struct wo_allocator_segment){.address = 2 * SAMPLE_GIB, .is_small = true}, idle, 1);
  assert_int_equal(wo_attribution_make(&sample.pattern, &map, &attribution), WO_OK);
  const struct wo_segment_use *const use = &attribution.use;
  assert_int_equal(use->reserved_bytes, 22 * SAMPLE_MIB);
  assert_int_equal(use->live_bytes, 10 * SAMPLE_MIB - 12);
  assert_int_equal(use->pending_bytes, SAMPLE_MIB);
  assert_int_equal(use->slack_bytes, 2 * SAMPLE_MIB + 12);
  assert_int_equal(use->pinned_free_bytes, 8 * SAMPLE_MIB);
  assert_int_equal(use->releasable_bytes, 2 * SAMPLE_MIB);
  assert_int_equal(use->largest_free_bytes, 8 * SAMPLE_MIB);
  wo_attribution_done(&attribution);
  wo_segment_map_done(&map);
  memory_sample_done(&sample);
}

/* ---- Pins ---- */

/* A segment of 20 MiB that a parameter of 1 MiB + 1 KiB holds, and a full one. */
static void finds_the_block_that_keeps_a_segment(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  struct wo_pins pins;
  struct wo_text text = {0};
  memory_sample_init(&sample);
  const uint32_t stack = memory_sample_stack(&sample, other_line, 1);
  const uint32_t first = memory_sample_alloc(&sample, 9 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_ACTIVATION);
  const uint32_t small = memory_sample_alloc(&sample, SAMPLE_MIB + 1024, stack, WO_CLASS_OPTIMIZER);
  const uint32_t brief = memory_sample_alloc(&sample, SAMPLE_MIB + 512, WO_NO_STACK, WO_CLASS_TEMPORARY);
  memory_sample_free(&sample, first);
  memory_sample_alloc(&sample, 40 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_LOGITS);
  memory_sample_free(&sample, brief);
  (void)small;
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  assert_int_equal(memory.map.request, 4);
  assert_int_equal(wo_pins_find(&sample.pattern, &memory.map, &pins), WO_OK);
  assert_int_equal(pins.pins.count, 1);
  const struct wo_pin *const pin = &pins.pins.items[0];
  assert_int_equal(pin->size_bytes, 20 * SAMPLE_MIB);
  assert_int_equal(pin->held_bytes, 2 * SAMPLE_MIB + 1536);
  assert_int_equal(pin->free_bytes, 18 * SAMPLE_MIB - 1536);
  assert_int_equal(pin->holder_count, 2);
  assert_int_equal(pin->holder.instance, small); /* the other one goes away by itself */
  assert_int_equal(pin->holder.stack, stack);
  assert_int_equal(pin->holder.class_, WO_CLASS_OPTIMIZER);
  assert_int_equal(pin->holder.born_at, 1);
  assert_int_equal(pins.holder_count, 2);
  wo_pins_sentence(&pins, &text);
  assert_string_equal(text.ptr, "2 blocks of together 2.00 MiB keep 18.00 MiB from being released");
  wo_text_done(&text);
  wo_pins_done(&pins);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

/* A block over the border of two pages pins both and is one block. */
static void counts_a_block_once(void **state) {
  (void)state;
  static const struct made_block blocks[] = {{19 * SAMPLE_MIB, 0, WO_BLOCK_FREE},
                                             {2 * SAMPLE_MIB, 2 * SAMPLE_MIB, WO_BLOCK_ALLOCATED},
                                             {19 * SAMPLE_MIB, 0, WO_BLOCK_FREE}};
  struct memory_sample sample;
  struct wo_segment_map map = {.large_page_bytes = 20 * SAMPLE_MIB};
  struct wo_pins pins;
  struct wo_text text = {0};
  memory_sample_init(&sample);
  add_segment(&map, (struct wo_allocator_segment){.address = SAMPLE_GIB, .is_expandable = true}, blocks, 3);
  assert_int_equal(wo_pins_find(&sample.pattern, &map, &pins), WO_OK);
  assert_int_equal(pins.pins.count, 2);
  assert_int_equal(pins.holder_count, 1);
  assert_int_equal(pins.pins.items[0].holder.instance, WO_NO_INSTANCE);
  wo_pins_sentence(&pins, &text);
  assert_string_equal(text.ptr, "1 block of 2.00 MiB keeps 38.00 MiB from being released");
  wo_text_done(&text);
  wo_pins_done(&pins);
  wo_segment_map_done(&map);
  memory_sample_done(&sample);
}

/* ---- Properties ---- */

static void assert_use_adds_up(const struct wo_segment_use *use) {
  assert_int_equal(use->reserved_bytes, use->live_bytes + use->slack_bytes + use->pinned_free_bytes + use->releasable_bytes);
}

static void random_maps_add_up(void **state) {
  (void)state;
  for (uint64_t seed = 100; seed < 160; seed++) {
    struct memory_sample sample;
    struct wo_memory_over_time memory;
    struct wo_attribution a;
    struct wo_pins pins;
    memory_sample_init(&sample);
    sample.device.capacity_bytes = seed % 2 ? 500 * SAMPLE_MIB : UINT64_MAX;
    sample.settings.expandable_segments = seed % 3 == 1;
    memory_sample_random(&sample, seed, 4000);
    assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
    assert_int_equal(wo_attribution_make(&sample.pattern, &memory.map, &a), WO_OK);
    assert_int_equal(wo_pins_find(&sample.pattern, &memory.map, &pins), WO_OK);
    assert_use_adds_up(&a.use);
    assert_int_equal(a.use.reserved_bytes, memory.map.reserved_bytes);
    assert_int_equal(a.total.block_bytes, a.use.live_bytes + a.use.slack_bytes);
    assert_int_equal(a.total.requested_bytes, a.use.live_bytes);
    assert_int_equal(a.total.block_bytes, memory.moment_at.bytes + a.use.pending_bytes);
    uint64_t classes = 0, sites = 0, stacks = 0;
    for (int i = 0; i < WO_CLASS_COUNT_; i++) classes += a.classes[i].block_bytes;
    for (size_t i = 0; i < a.sites.count; i++) sites += a.sites.items[i].share.block_bytes;
    for (size_t i = 0; i < a.stacks.count; i++) stacks += a.stacks.items[i].share.block_bytes;
    assert_int_equal(classes, a.total.block_bytes);
    assert_int_equal(sites, a.total.block_bytes);
    assert_int_equal(stacks, a.total.block_bytes);
    assert_true(pins.free_bytes <= a.use.pinned_free_bytes);
    for (size_t i = 1; i < pins.pins.count; i++) {
      assert_true(pins.pins.items[i - 1].free_bytes >= pins.pins.items[i].free_bytes);
    }
    wo_pins_done(&pins);
    wo_attribution_done(&a);
    wo_memory_over_time_done(&memory);
    memory_sample_done(&sample);
  }
}

static void survives_failing_allocations(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  memory_sample_init(&sample);
  memory_sample_random(&sample, 3, 400);
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  long failures = 0;
  for (long n = 1;; n++) {
    struct wo_attribution attribution;
    struct wo_pins pins;
    wo_fail_alloc_at(n);
    const enum wo_status made = wo_attribution_make(&sample.pattern, &memory.map, &attribution);
    const enum wo_status found = wo_pins_find(&sample.pattern, &memory.map, &pins);
    wo_fail_alloc_off();
    assert_int_equal(made != WO_OK || found != WO_OK, wo_fail_alloc_hit());
    wo_attribution_done(&attribution);
    wo_pins_done(&pins);
    if (!wo_fail_alloc_hit()) break;
    failures++;
  }
  assert_true(failures >= 6);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_segment_is_one_unit),
      cmocka_unit_test(a_run_has_a_unit_for_each_page),
      cmocka_unit_test(a_long_run_has_few_units),
      cmocka_unit_test(names_blocks_by_address),
      cmocka_unit_test(sums_up_by_class_stack_and_line),
      cmocka_unit_test(tells_where_reserved_bytes_go),
      cmocka_unit_test(finds_the_block_that_keeps_a_segment),
      cmocka_unit_test(counts_a_block_once),
      cmocka_unit_test(random_maps_add_up),
      cmocka_unit_test(survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
