/* SPDX-License-Identifier: Apache-2.0 */
/* Expandable segments in the allocator model. */
#include "tests/support/replay/allocator_valid.h"
#include "tests/support/replay/allocator_rig.h"

static const char *const on = "expandable_segments:True";

static void grows_in_handles(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, on, 1000);
  const wo_block_id first = rig_malloc(&rig, 30 * MIB);
  rig_expect(&rig, "segment_map:40M alloc:30M ");
  const wo_block_id second = rig_malloc(&rig, 30 * MIB);
  rig_expect(&rig, "segment_map:20M alloc:30M ");
  assert_int_equal(rig_address(&rig, second), rig_address(&rig, first) + 30 * MIB);
  rig_malloc(&rig, 512);
  rig_expect(&rig, "segment_map:2M alloc:512 ");
  const struct wo_allocator_stats *const stats = wo_allocator_stats(rig.a);
  assert_int_equal(stats->segment[WO_STAT_ALL].current, 0);
  assert_int_equal(stats->reserved_bytes[WO_STAT_LARGE].current, 60 * MIB);
  assert_int_equal(stats->inactive_split[WO_STAT_ALL].current, 0);
  assert_int_equal(stats->num_device_alloc, 3);
  rig_close(&rig);
}

/* There is no slack: the large pool splits from 512 bytes on. */
static void splits_to_the_byte(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, on, 1000);
  assert_int_equal(wo_allocator_block_bytes(rig.a, rig_malloc(&rig, 20 * MIB - 512)), 20 * MIB - 512);
  rig_close(&rig);
}

/* Emission and order of unmapping: whole handles only, the rest stays; a range that is empty goes. */
static void unmaps_the_middle(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, on, 1000);
  const wo_block_id first = rig_malloc(&rig, 10 * MIB);
  const wo_block_id middle = rig_malloc(&rig, 70 * MIB);
  const wo_block_id last = rig_malloc(&rig, 10 * MIB);
  rig_free(&rig, middle);
  rig_forget(&rig);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  /* 10 .. 80 is free and handles are 0-20, 20-40, 40-60, 60-80, 80-100. */
  rig_expect(&rig, "segment_unmap:60M ");
  assert_int_equal(rig_reserved_mib(&rig), 40);
  /* The hole is filled before the end is extended. */
  const wo_block_id again = rig_malloc(&rig, 50 * MIB);
  rig_expect(&rig, "segment_map:40M alloc:50M ");
  assert_int_equal(rig_address(&rig, again), rig_address(&rig, first) + 10 * MIB);
  rig_free(&rig, again);
  rig_free(&rig, first);
  rig_free(&rig, last);
  rig_forget(&rig);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "segment_unmap:20M segment_unmap:60M ");
  assert_int_equal(wo_device_model_used(rig.model), 0);
  rig_close(&rig);
}

static void a_range_is_reserved_again(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, on, 1000);
  const wo_block_id id = rig_malloc(&rig, 30 * MIB);
  const uint64_t address = rig_address(&rig, id);
  rig_free(&rig, id);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  assert_int_equal(rig_address(&rig, rig_malloc(&rig, 30 * MIB)), address);
  rig_close(&rig);
}

/* Pitfall 6: what was mapped before a failure stays. */
static void a_failure_leaves_memory_mapped(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, on, 120);
  wo_block_id ids[6];
  for (int i = 0; i < 6; i++) ids[i] = rig_malloc(&rig, 20 * MIB);
  rig_free(&rig, ids[1]);
  rig_free(&rig, ids[3]);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_free(&rig, ids[2]);
  rig_malloc_on(&rig, 20 * MIB, 3);
  /* Nothing is released while a capture is under way. */
  const struct wo_pool_id pool = {0, 1};
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool, 9, true), WO_OK);
  rig_forget(&rig);
  /* 20 .. 40 and 60 .. 80 are unmapped, 40 .. 60 is free, and the device has 20 MiB left: the first hole is mapped, not the
   * second. */
  rig_refuses(&rig, 60 * MIB);
  rig_expect(&rig, "segment_map:20M oom:60M ");
  assert_int_equal(rig_reserved_mib(&rig), 120);
  assert_int_equal(wo_allocator_last_oom(rig.a)->largest_free_block_bytes, 40 * MIB);
  assert_int_equal(wo_allocator_pool_end(rig.a, pool), WO_OK);
  rig_refuses(&rig, 60 * MIB);
  rig_expect(&rig, "segment_unmap:40M oom:60M ");
  rig_close(&rig);
}

static void prefers_what_cannot_grow(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, on, 1000);
  const wo_block_id hole = rig_malloc(&rig, 40 * MIB);
  const wo_block_id wall = rig_malloc(&rig, 20 * MIB);
  const wo_block_id end = rig_malloc(&rig, 20 * MIB);
  const uint64_t wanted = rig_address(&rig, hole);
  rig_free(&rig, hole);
  rig_free(&rig, end);
  /* The end fits better, and could grow to the end of the range: its reach is larger. */
  assert_int_equal(rig_address(&rig, rig_malloc(&rig, 15 * MIB)), wanted);
  rig_free(&rig, wall);
  rig_close(&rig);
}

static void switched_off_later(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, on, 1000);
  rig_free(&rig, rig_malloc(&rig, 40 * MIB));
  assert_int_equal(wo_allocator_set_text(rig.a, WO_VIEW("expandable_segments:False"), NULL), WO_OK);
  rig_forget(&rig);
  const wo_block_id id = rig_malloc(&rig, 22 * MIB);
  rig_expect(&rig, "segment_alloc:22M alloc:22M ");
  rig_free(&rig, id);
  rig_forget(&rig);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  /* Segments before ranges. */
  rig_expect(&rig, "segment_free:22M segment_unmap:40M ");
  rig_close(&rig);
}

/* Blocks of cudaMalloc are split like expandable ones while the setting is on. */
static void switched_on_later(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 1000);
  rig_free(&rig, rig_malloc(&rig, 22 * MIB));
  assert_int_equal(wo_allocator_set_text(rig.a, WO_VIEW("expandable_segments:True"), NULL), WO_OK);
  const wo_block_id id = rig_malloc(&rig, 22 * MIB - 512);
  assert_int_equal(wo_allocator_block_bytes(rig.a, id), 22 * MIB - 512);
  assert_int_equal(wo_allocator_stats(rig.a)->inactive_split_bytes[WO_STAT_LARGE].current, 512);
  rig_close(&rig);
}

/* Streams have ranges of their own, and so have pools. */
static void streams_have_their_ranges(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, on, 1000);
  const uint64_t first = rig_address(&rig, rig_malloc_on(&rig, 5 * MIB, 0));
  const uint64_t second = rig_address(&rig, rig_malloc_on(&rig, 5 * MIB, 4));
  assert_true(second >= first + 1000 * MIB + 125 * MIB);
  rig_expect(&rig, "segment_map:20M alloc:5M segment_map:20M alloc:5M ");
  rig_close(&rig);
}

/* A request longer than a range: maps until it fails, and since 2.15 gives the range back at once. */
static void a_range_may_be_too_short(void **state) {
  (void)state;
  for (uint16_t torch = 214; torch <= 215; torch++) {
    struct rig rig;
    rig_open(&rig, torch, on, 100);
    rig_refuses(&rig, 256 * MIB);
    rig_expect(&rig, "oom:256M ");
    assert_int_equal(rig_reserved_mib(&rig), 0);
    rig_close(&rig);
  }
}

static void odd_handles_are_refused(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 211, "large_segment_size_mb:11,expandable_segments:True", 100);
  wo_block_id id = WO_NO_BLOCK;
  assert_int_equal(wo_allocator_malloc(rig.a, 5 * MIB, 0, &id), WO_E_RANGE);
  assert_non_null(strstr(wo_allocator_message(rig.a), "large_segment_size_mb"));
  rig_close(&rig);
}

/* Before 2.5 the release of large blocks meets expandable ones and ends in an assertion. */
static void old_versions_stop(void **state) {
  (void)state;
  for (uint16_t torch = 204; torch <= 205; torch++) {
    struct rig rig;
    rig_open(&rig, torch, "expandable_segments:True,max_split_size_mb:24", 100);
    rig_free(&rig, rig_malloc(&rig, 60 * MIB));
    rig_forget(&rig);
    wo_block_id id = WO_NO_BLOCK;
    const enum wo_status status = wo_allocator_malloc(rig.a, 30 * MIB, 0, &id);
    /* The free block is 30 MiB too large; new memory is taken while there is some. */
    assert_int_equal(status, WO_OK);
    const enum wo_status next = wo_allocator_malloc(rig.a, 80 * MIB, 0, &id);
    assert_int_equal(next, torch == 204 ? WO_E_USAGE : WO_E_LIMIT);
    rig_close(&rig);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grows_in_handles),
      cmocka_unit_test(splits_to_the_byte),
      cmocka_unit_test(unmaps_the_middle),
      cmocka_unit_test(a_range_is_reserved_again),
      cmocka_unit_test(a_failure_leaves_memory_mapped),
      cmocka_unit_test(prefers_what_cannot_grow),
      cmocka_unit_test(switched_off_later),
      cmocka_unit_test(switched_on_later),
      cmocka_unit_test(streams_have_their_ranges),
      cmocka_unit_test(a_range_may_be_too_short),
      cmocka_unit_test(odd_handles_are_refused),
      cmocka_unit_test(old_versions_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
