/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator model under limits: memory fraction, garbage collection, max_split_size, the size of large segments. */
#include "tests/support/replay/allocator_valid.h"
#include "tests/support/replay/allocator_rig.h"

static void set_fraction(struct rig *rig, double fraction) {
  struct wo_alloc_settings settings = *wo_allocator_settings(rig->a);
  settings.memory_fraction = fraction;
  wo_allocator_set(rig->a, &settings);
}

/* ---- Memory fraction ---- */

static void a_fraction_refuses(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  set_fraction(&rig, 0.5);
  rig_malloc(&rig, 80 * MIB);
  rig_refuses(&rig, 22 * MIB);
  assert_true(wo_allocator_last_oom(rig.a)->by_fraction);
  assert_int_equal(wo_allocator_last_oom(rig.a)->device_free_bytes, 120 * MIB);
  rig_malloc(&rig, 20 * MIB);
  set_fraction(&rig, 1.0);
  rig_malloc(&rig, 100 * MIB);
  rig_close(&rig);
}

/* Pitfall 5: the segment is held against the fraction, also when less would be mapped. */
static void a_fraction_counts_segments(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "expandable_segments:True", 200);
  set_fraction(&rig, 0.05);
  rig_refuses(&rig, 2 * MIB);
  rig_malloc(&rig, 512);
  set_fraction(&rig, 0.11);
  rig_malloc(&rig, 2 * MIB);
  rig_close(&rig);
}

/* A full fraction is one up to 2.9, and none from 2.10 on. */
static void a_full_fraction(void **state) {
  (void)state;
  for (uint16_t torch = 209; torch <= 210; torch++) {
    struct rig rig;
    rig_open_sized(&rig, torch, "garbage_collection_threshold:0.1", 200, 100);
    set_fraction(&rig, 1.0);
    rig_free(&rig, rig_malloc(&rig, 40 * MIB));
    rig_forget(&rig);
    rig_malloc(&rig, 50 * MIB);
    rig_expect(&rig, torch == 209 ? "segment_free:40M segment_alloc:50M alloc:50M " : "segment_alloc:50M alloc:50M ");
    rig_close(&rig);
  }
}

static void a_string_leaves_the_fraction(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 211, "per_process_memory_fraction:0.5", 200);
  assert_int_equal(wo_allocator_set_text(rig.a, WO_VIEW("per_process_memory_fraction:1.0"), NULL), WO_OK);
  rig_refuses(&rig, 110 * MIB);
  struct wo_err err = {0};
  assert_int_equal(wo_allocator_set_text(rig.a, WO_VIEW("no_such_key:1"), &err), WO_E_UNKNOWN);
  assert_true(wo_allocator_settings(rig.a)->memory_fraction == 0.5);
  rig_close(&rig);
}

static void a_fraction_of_nothing(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 211, "per_process_memory_fraction:0.0", 200);
  rig_refuses(&rig, 1);
  rig_close(&rig);
}

/* ---- Early rejection ---- */

static void rejects_what_the_card_cannot_hold(void **state) {
  (void)state;
  for (int has_fraction = 0; has_fraction <= 1; has_fraction++) {
    struct rig rig;
    rig_open(&rig, 212, "throw_on_cudamalloc_oom:True", 1000);
    /* A fraction in force refuses first, and then releases are tried. */
    if (has_fraction == 1) set_fraction(&rig, 0.999);
    rig_free(&rig, rig_malloc(&rig, 800 * MIB));
    rig_forget(&rig);
    wo_block_id id = WO_NO_BLOCK;
    const enum wo_status status = wo_allocator_malloc(rig.a, 900 * MIB, 0, &id);
    assert_int_equal(status, has_fraction == 1 ? WO_OK : WO_E_LIMIT);
    rig_expect(&rig, has_fraction == 1 ? "segment_free:800M segment_alloc:900M alloc:900M " : "");
    if (has_fraction == 0) assert_true(wo_allocator_last_oom(rig.a)->is_rejected);
    assert_int_equal(wo_allocator_stats(rig.a)->num_oom_rejections, has_fraction == 1 ? 0 : 1);
    assert_int_equal(wo_allocator_stats(rig.a)->num_ooms, 0);
    rig_close(&rig);
  }
}

/* The limit of the rejection is the fraction of the last string that had one, whatever the fraction in force. */
static void rejects_by_the_string(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 212, "per_process_memory_fraction:0.7", 1000);
  assert_int_equal(wo_allocator_set_text(rig.a, WO_VIEW("per_process_memory_fraction:0.3,throw_on_cudamalloc_oom:True"), NULL),
                   WO_OK);
  assert_int_equal(wo_allocator_set_text(rig.a, WO_VIEW("expandable_segments:False"), NULL), WO_OK);
  rig_malloc(&rig, 200 * MIB);
  rig_forget(&rig);
  rig_refuses(&rig, 150 * MIB);
  rig_expect(&rig, "");
  /* 0.7 is still in force: it refuses first, and the retry that it would allow is rejected. */
  rig_free(&rig, rig_malloc_on(&rig, 90 * MIB, 5));
  rig_forget(&rig);
  rig_refuses(&rig, 450 * MIB);
  rig_expect(&rig, "segment_free:90M ");
  assert_int_equal(wo_allocator_stats(rig.a)->num_oom_rejections, 2);
  assert_int_equal(wo_allocator_stats(rig.a)->num_alloc_retries, 1);
  rig_refuses(&rig, 600 * MIB);
  rig_expect(&rig, "oom:600M ");
  rig_close(&rig);
}

/* ---- Garbage collection ---- */

/* Pitfall 14: without a fraction it does nothing; it leaves the small pool and split segments alone. */
static void garbage_needs_a_fraction(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "garbage_collection_threshold:0.1", 200);
  rig_free(&rig, rig_malloc(&rig, 60 * MIB));
  rig_forget(&rig);
  rig_malloc(&rig, 70 * MIB);
  rig_expect(&rig, "segment_alloc:70M alloc:70M ");
  rig_close(&rig);
}

static void collects_the_old(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "garbage_collection_threshold:0.4", 200);
  set_fraction(&rig, 1.0);
  const wo_block_id split = rig_malloc(&rig, 5 * MIB);
  const wo_block_id small = rig_malloc(&rig, 512);
  wo_block_id ids[3];
  for (uint64_t i = 0; i < 3; i++) ids[i] = rig_malloc(&rig, (22 + 2 * i) * MIB);
  rig_free(&rig, small);
  rig_free(&rig, ids[0]);
  rig_free(&rig, ids[2]);
  /* One search later the third block becomes free: it is younger than the mean. */
  rig_free(&rig, rig_malloc(&rig, 5 * MIB));
  rig_free(&rig, ids[1]);
  rig_forget(&rig);
  rig_malloc(&rig, 60 * MIB);
  rig_expect(&rig, "segment_free:22M segment_free:26M segment_alloc:60M alloc:60M ");
  rig_free(&rig, split);
  rig_close(&rig);
}

static void collects_until_enough(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "garbage_collection_threshold:0.1", 200);
  set_fraction(&rig, 1.0);
  const wo_block_id first = rig_malloc(&rig, 30 * MIB);
  const wo_block_id second = rig_malloc(&rig, 26 * MIB);
  const wo_block_id third = rig_malloc(&rig, 22 * MIB);
  rig_free(&rig, third);
  rig_free(&rig, first);
  rig_malloc(&rig, 22 * MIB);
  rig_free(&rig, second);
  rig_forget(&rig);
  /* The first pass frees the older one, which is not enough; the next pass frees what is left. */
  rig_malloc(&rig, 50 * MIB);
  rig_expect(&rig, "segment_free:30M segment_free:26M segment_alloc:50M alloc:50M ");
  rig_close(&rig);
}

/* ---- max_split_size ---- */

/* Pitfall 2: the best fit is held against the limits, and no other block is looked for. */
static void large_blocks_stay_whole(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "max_split_size_mb:32", 400);
  rig_free(&rig, rig_malloc(&rig, 40 * MIB));
  rig_forget(&rig);
  /* Below the limit: takes no block of the limit or more. */
  rig_free(&rig, rig_malloc(&rig, 30 * MIB));
  rig_expect(&rig, "segment_alloc:30M alloc:30M free_requested:30M free_completed:30M ");
  /* Above: takes one that is less than 20 MiB too large, unsplit. */
  const wo_block_id id = rig_malloc(&rig, 32 * MIB);
  assert_int_equal(wo_allocator_block_bytes(rig.a, id), 40 * MIB);
  const struct wo_allocator_stats *const stats = wo_allocator_stats(rig.a);
  assert_int_equal(stats->oversize_allocations.current, 1);
  assert_int_equal(stats->oversize_segments.current, 1);
  rig_free(&rig, id);
  rig_free(&rig, rig_malloc(&rig, 60 * MIB));
  rig_forget(&rig);
  rig_free(&rig, rig_malloc(&rig, 40 * MIB + 512)); /* 60 - 40 - 0.0005 < 20 */
  rig_expect(&rig, "alloc:41943552 free_requested:41943552 free_completed:41943552 ");
  rig_close(&rig);
}

static void rounding_has_a_limit(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "max_split_size_mb:32", 400);
  rig_free(&rig, rig_malloc(&rig, 60 * MIB));
  rig_forget(&rig);
  rig_malloc(&rig, 40 * MIB);
  rig_expect(&rig, "segment_alloc:40M alloc:40M ");
  rig_close(&rig);
  rig_open(&rig, 206, "max_split_size_mb:32,max_non_split_rounding_mb:21", 400);
  rig_free(&rig, rig_malloc(&rig, 60 * MIB));
  rig_forget(&rig);
  rig_malloc(&rig, 40 * MIB);
  rig_expect(&rig, "alloc:40M ");
  rig_close(&rig);
}

/* Before everything is released: the one block that is large enough, or the largest ones. */
static void releases_large_blocks_first(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "max_split_size_mb:24", 200);
  const wo_block_id first = rig_malloc(&rig, 30 * MIB);
  const wo_block_id second = rig_malloc(&rig, 100 * MIB);
  const wo_block_id third = rig_malloc(&rig, 22 * MIB);
  rig_free(&rig, first);
  rig_free(&rig, second);
  rig_free(&rig, third);
  rig_forget(&rig);
  rig_malloc(&rig, 60 * MIB);
  rig_expect(&rig, "segment_free:100M segment_alloc:60M alloc:60M ");
  assert_int_equal(wo_allocator_stats(rig.a)->num_alloc_retries, 0);
  rig_close(&rig);
  rig_open(&rig, 206, "max_split_size_mb:24", 100);
  const wo_block_id small = rig_malloc(&rig, 26 * MIB);
  const wo_block_id middle = rig_malloc(&rig, 30 * MIB);
  const wo_block_id large = rig_malloc(&rig, 34 * MIB);
  rig_free(&rig, small);
  rig_free(&rig, middle);
  rig_free(&rig, large);
  rig_forget(&rig);
  rig_malloc(&rig, 60 * MIB);
  rig_expect(&rig, "segment_free:34M segment_free:30M segment_alloc:60M alloc:60M ");
  rig_close(&rig);
}

/* Torch hands a part of a segment to cudaFree, which refuses it. */
static void refuses_to_release_a_part(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 211, "large_segment_size_mb:64", 80);
  rig_malloc(&rig, 2 * MIB);
  struct wo_alloc_settings settings = *wo_allocator_settings(rig.a);
  settings.max_split_bytes = 32 * MIB;
  wo_allocator_set(rig.a, &settings);
  wo_block_id id = WO_NO_BLOCK;
  assert_int_equal(wo_allocator_malloc(rig.a, 30 * MIB, 0, &id), WO_E_USAGE);
  assert_non_null(strstr(wo_allocator_message(rig.a), "max_split_size_mb"));
  rig_close(&rig);
}

/* ---- Segments ---- */

static void large_segments_have_a_size(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 211, "large_segment_size_mb:64", 200);
  rig_malloc(&rig, 2 * MIB);
  rig_expect(&rig, "segment_alloc:64M alloc:2M ");
  rig_malloc(&rig, 10 * MIB);
  rig_expect(&rig, "alloc:10M ");
  assert_int_equal(wo_alloc_segment_bytes(wo_allocator_settings(rig.a), 10 * MIB), 10 * MIB);
  rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fraction_refuses),
      cmocka_unit_test(a_fraction_counts_segments),
      cmocka_unit_test(a_full_fraction),
      cmocka_unit_test(a_string_leaves_the_fraction),
      cmocka_unit_test(a_fraction_of_nothing),
      cmocka_unit_test(rejects_what_the_card_cannot_hold),
      cmocka_unit_test(rejects_by_the_string),
      cmocka_unit_test(garbage_needs_a_fraction),
      cmocka_unit_test(collects_the_old),
      cmocka_unit_test(collects_until_enough),
      cmocka_unit_test(large_blocks_stay_whole),
      cmocka_unit_test(rounding_has_a_limit),
      cmocka_unit_test(releases_large_blocks_first),
      cmocka_unit_test(refuses_to_release_a_part),
      cmocka_unit_test(large_segments_have_a_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
