/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator model under default settings: pools, best fit, splitting, merging, frees, emptying, out of memory. */
#include "tests/support/replay/allocator_valid.h"
#include "tests/support/replay/allocator_rig.h"

/* ---- Sizes ---- */

static void rounds_to_512(void **state) {
  (void)state;
  const struct wo_alloc_settings settings = wo_alloc_settings_default(206);
  static const uint64_t rows[][2] = {{1, 512},           {511, 512},           {512, 512},
                                     {513, 1024},        {1024, 1024},         {1048575, 1048576},
                                     {1048577, 1049088}, {20971519, 20971520}, {4294967297, 4294967808}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(wo_alloc_round(&settings, rows[i][0]), rows[i][1]);
  }
}

static void segments_by_size(void **state) {
  (void)state;
  const struct wo_alloc_settings settings = wo_alloc_settings_default(206);
  static const uint64_t rows[][2] = {
      {512, 2 * MIB},       {MIB, 2 * MIB},       {MIB + 512, 20 * MIB},      {10485248, 20 * MIB},
      {10485760, 10 * MIB}, {10486272, 12 * MIB}, {20 * MIB + 512, 22 * MIB}, {22 * MIB, 22 * MIB},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(wo_alloc_segment_bytes(&settings, rows[i][0]), rows[i][1]);
  }
}

static void rounds_by_divisions(void **state) {
  (void)state;
  struct rig rig;
  static const uint64_t rows[][2] = {
      /* 4 divisions: 1200 KiB lies between 1024 and 2048 in steps of 256. */
      {1200 * 1024, 1280 * 1024},
      {MIB, MIB},
      {MIB + 1, MIB + MIB / 4},
      {2048, 2048},
      {2049, 2560},
      {1023, 1024},
      {5 * MIB + 1, 6 * MIB},
      {7 * MIB + 1, 8 * MIB},
  };
  rig_open(&rig, 206, "roundup_power2_divisions:4", 100);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(wo_alloc_round(wo_allocator_settings(rig.a), rows[i][0]), rows[i][1]);
  }
  rig_close(&rig);
}

/* Pitfall 10: gaps of a list stay off; sizes below 1 MiB use the first slot; '>' overwrites the last key before 2.10. */
static void rounds_by_lists(void **state) {
  (void)state;
  static const char *const text = "roundup_power2_divisions:[4:2,16:4,>:8]";
  for (uint16_t torch = 209; torch <= 210; torch++) {
    struct rig rig;
    rig_open(&rig, torch, text, 100);
    const struct wo_alloc_settings *const settings = wo_allocator_settings(rig.a);
    assert_int_equal(wo_alloc_round(settings, 5000), 6144);       /* first slot, filled by the first key: 2 */
    assert_int_equal(wo_alloc_round(settings, 5 * MIB), 6 * MIB); /* 4: 2 divisions */
    assert_int_equal(wo_alloc_round(settings, 9 * MIB), 9 * MIB); /* 8: no key, off */
    assert_int_equal(wo_alloc_round(settings, 17 * MIB), torch == 209 ? 18 * MIB : 20 * MIB);
    assert_int_equal(wo_alloc_round(settings, 33 * MIB), 36 * MIB); /* the rest: 8 */
    assert_int_equal(wo_alloc_round(settings, UINT64_C(100) << 30), UINT64_C(104) << 30);
    rig_close(&rig);
  }
}

/* One division leaves sizes as they are up to 2.3. */
static void odd_sizes_of_old_versions(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 203, "roundup_power2_divisions:1", 100);
  const wo_block_id odd = rig_malloc(&rig, 9717587);
  assert_int_equal(wo_allocator_block_bytes(rig.a, odd), 9717587);
  assert_int_equal(wo_allocator_block_bytes(rig.a, rig_malloc(&rig, 100)), 512);
  rig_close(&rig);
  rig_open(&rig, 204, "roundup_power2_divisions:1", 100);
  assert_int_equal(wo_allocator_block_bytes(rig.a, rig_malloc(&rig, 9717587)), 9717760);
  rig_close(&rig);
}

static void refuses_impossible_sizes(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  wo_block_id id = 7;
  assert_int_equal(wo_allocator_malloc(rig.a, 0, 0, &id), WO_E_RANGE);
  assert_int_equal(wo_allocator_malloc(rig.a, UINT64_C(1) << 60, 0, &id), WO_E_RANGE);
  assert_int_equal(wo_allocator_malloc(rig.a, UINT64_MAX, 0, &id), WO_E_RANGE);
  assert_int_equal(id, 7);
  assert_true(wo_allocator_message(rig.a)[0] != '\0');
  rig_refuses(&rig, (UINT64_C(1) << 60) - 1);
  rig_close(&rig);
}

/* ---- Splitting ---- */

/* Pitfall 3: the large pool splits when more than 1 MiB is left, the small pool from 512 bytes on. */
static void splits_by_pool(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  assert_int_equal(wo_allocator_block_bytes(rig.a, rig_malloc(&rig, 11 * MIB)), 12 * MIB);
  assert_int_equal(wo_allocator_block_bytes(rig.a, rig_malloc(&rig, 11 * MIB - 512)), 11 * MIB - 512);
  const wo_block_id most = rig_malloc(&rig, MIB);
  const wo_block_id rest = rig_malloc(&rig, MIB - 512);
  assert_int_equal(wo_allocator_block_bytes(rig.a, rest), MIB - 512);
  const wo_block_id last = rig_malloc(&rig, 1);
  assert_int_equal(rig_address(&rig, rest), rig_address(&rig, most) + MIB);
  assert_int_equal(rig_address(&rig, last), rig_address(&rig, most) + 2 * MIB - 512);
  rig_close(&rig);
}

/* Pitfall 1: events carry requested bytes, statistics block bytes, segments segment bytes. */
static void counts_each_size(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  const wo_block_id id = rig_malloc(&rig, 11 * MIB + 100);
  rig_expect(&rig, "segment_alloc:12M alloc:11534436 ");
  const struct wo_allocator_stats *const stats = wo_allocator_stats(rig.a);
  assert_int_equal(stats->allocated_bytes[WO_STAT_LARGE].current, 12 * MIB);
  assert_int_equal(stats->requested_bytes[WO_STAT_ALL].current, 11 * MIB + 100);
  assert_int_equal(stats->reserved_bytes[WO_STAT_ALL].current, 12 * MIB);
  assert_int_equal(stats->allocated_bytes[WO_STAT_SMALL].current, 0);
  rig_free(&rig, id);
  rig_expect(&rig, "free_requested:11534436 free_completed:11534436 ");
  rig_close(&rig);
}

/* ---- Best fit ---- */

static void takes_the_smallest_that_fits(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  const wo_block_id large = rig_malloc(&rig, 30 * MIB);
  const wo_block_id middle = rig_malloc(&rig, 24 * MIB);
  const wo_block_id least = rig_malloc(&rig, 22 * MIB);
  const uint64_t wanted = rig_address(&rig, middle);
  rig_free(&rig, large);
  rig_free(&rig, middle);
  rig_free(&rig, least);
  assert_int_equal(rig_address(&rig, rig_malloc(&rig, 23 * MIB)), wanted);
  rig_close(&rig);
}

/* Pitfall 4: of equal sizes the lowest address up to 2.11, the oldest segment since 2.13. */
static void breaks_ties(void **state) {
  (void)state;
  for (uint16_t torch = 211; torch <= 213; torch++) {
    struct rig rig;
    rig_open(&rig, torch, "", 200);
    const wo_block_id first = rig_malloc(&rig, 22 * MIB);
    const wo_block_id second = rig_malloc(&rig, 24 * MIB);
    const uint64_t low = rig_address(&rig, first);
    const uint64_t high = rig_address(&rig, second);
    assert_true(low < high);
    rig_free(&rig, first);
    assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
    /* Now the younger segment is the lower one. */
    const wo_block_id third = rig_malloc(&rig, 24 * MIB);
    const wo_block_id fourth = rig_malloc(&rig, 22 * MIB);
    const uint64_t low_24 = rig_address(&rig, third) < high ? rig_address(&rig, third) : high;
    rig_free(&rig, third);
    rig_free(&rig, second);
    const uint64_t taken = rig_address(&rig, rig_malloc(&rig, 24 * MIB));
    assert_int_equal(taken, torch < 212 ? low_24 : high);
    rig_free(&rig, fourth);
    rig_close(&rig);
  }
}

static void streams_and_pools_do_not_mix(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  rig_free(&rig, rig_malloc_on(&rig, 22 * MIB, 7));
  rig_forget(&rig);
  rig_free(&rig, rig_malloc_on(&rig, 22 * MIB, 0));
  rig_expect(&rig, "segment_alloc:22M alloc:22M free_requested:22M free_completed:22M ");
  rig_free(&rig, rig_malloc_on(&rig, 22 * MIB, 7));
  rig_expect(&rig, "alloc:22M free_requested:22M free_completed:22M ");
  /* A small request takes no large block. */
  rig_free(&rig, rig_malloc_on(&rig, 512, 7));
  rig_expect(&rig, "segment_alloc:2M alloc:512 free_requested:512 free_completed:512 ");
  rig_close(&rig);
}

/* ---- Merging ---- */

static void merges_with_both_neighbours(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  wo_block_id ids[4];
  for (int i = 0; i < 4; i++) ids[i] = rig_malloc(&rig, 5 * MIB);
  const struct wo_allocator_stats *const stats = wo_allocator_stats(rig.a);
  assert_int_equal(stats->segment[WO_STAT_ALL].current, 1);
  rig_free(&rig, ids[0]);
  rig_free(&rig, ids[2]);
  assert_int_equal(stats->inactive_split[WO_STAT_LARGE].current, 2);
  assert_int_equal(stats->inactive_split_bytes[WO_STAT_LARGE].current, 10 * MIB);
  rig_free(&rig, ids[1]);
  assert_int_equal(stats->inactive_split[WO_STAT_LARGE].current, 1);
  assert_int_equal(stats->inactive_split_bytes[WO_STAT_LARGE].current, 15 * MIB);
  rig_free(&rig, ids[3]);
  assert_int_equal(stats->inactive_split[WO_STAT_LARGE].current, 0);
  assert_int_equal(stats->inactive_split_bytes[WO_STAT_LARGE].current, 0);
  assert_int_equal(stats->inactive_split_bytes[WO_STAT_LARGE].peak, 15 * MIB);
  rig_forget(&rig);
  rig_malloc(&rig, 20 * MIB);
  rig_expect(&rig, "alloc:20M ");
  rig_close(&rig);
}

/* Segments that lie side by side stay apart. */
static void segments_never_merge(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  const wo_block_id first = rig_malloc(&rig, 32 * MIB);
  const wo_block_id second = rig_malloc(&rig, 32 * MIB);
  assert_int_equal(rig_address(&rig, second), rig_address(&rig, first) + 32 * MIB);
  rig_free(&rig, first);
  rig_free(&rig, second);
  rig_refuses(&rig, 101 * MIB);
  assert_int_equal(wo_allocator_stats(rig.a)->segment[WO_STAT_ALL].freed, 2);
  rig_close(&rig);
}

/* ---- Deferred frees ---- */

static void other_streams_defer_a_free(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  const wo_block_id id = rig_malloc(&rig, 22 * MIB);
  assert_int_equal(wo_allocator_record_stream(rig.a, id, 0), WO_OK); /* its own: no use */
  assert_int_equal(wo_allocator_record_stream(rig.a, id, 5), WO_OK);
  assert_int_equal(wo_allocator_record_stream(rig.a, id, 5), WO_OK);
  assert_int_equal(wo_allocator_record_stream(rig.a, id, 6), WO_OK);
  rig_forget(&rig);
  rig_free(&rig, id);
  rig_expect(&rig, "free_requested:22M ");
  const struct wo_allocator_stats *const stats = wo_allocator_stats(rig.a);
  assert_int_equal(stats->allocated_bytes[WO_STAT_ALL].current, 0);
  assert_int_equal(stats->active_bytes[WO_STAT_ALL].current, 22 * MIB);
  rig_malloc(&rig, 22 * MIB);
  rig_expect(&rig, "segment_alloc:22M alloc:22M ");
  wo_allocator_complete(rig.a, id);
  rig_expect(&rig, "free_completed:22M ");
  rig_malloc(&rig, 22 * MIB);
  rig_expect(&rig, "alloc:22M ");
  rig_close(&rig);
}

static void a_free_can_be_deferred_without_a_reason(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  const wo_block_id first = rig_malloc(&rig, 512);
  const wo_block_id second = rig_malloc(&rig, 512);
  wo_allocator_free_block(rig.a, second, true);
  wo_allocator_free_block(rig.a, first, true);
  rig_forget(&rig);
  /* In the order of the frees. */
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "free_completed:512 free_completed:512 segment_free:2M ");
  assert_int_equal(wo_allocator_stats(rig.a)->num_sync_all_streams, 1);
  rig_close(&rig);
}

/* ---- Emptying the cache ---- */

/* Pitfall 8: whole segments only, the large pool first, by stream, then by size and address. */
static void empties_in_order(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 300);
  const wo_block_id kept = rig_malloc(&rig, 5 * MIB);
  wo_block_id ids[5];
  ids[0] = rig_malloc_on(&rig, 26 * MIB, 9);
  ids[1] = rig_malloc_on(&rig, 30 * MIB, 0);
  ids[2] = rig_malloc_on(&rig, 24 * MIB, 0);
  ids[3] = rig_malloc_on(&rig, 512, 0);
  ids[4] = rig_malloc_on(&rig, 22 * MIB, 9);
  for (int i = 0; i < 5; i++) rig_free(&rig, ids[i]);
  rig_forget(&rig);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "segment_free:24M segment_free:30M segment_free:22M segment_free:26M segment_free:2M ");
  assert_int_equal(rig_reserved_mib(&rig), 20);
  rig_free(&rig, kept);
  rig_close(&rig);
}

/* ---- Out of memory ---- */

static void releases_and_retries(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  rig_free(&rig, rig_malloc(&rig, 60 * MIB));
  rig_forget(&rig);
  rig_malloc(&rig, 80 * MIB);
  rig_expect(&rig, "segment_free:60M segment_alloc:80M alloc:80M ");
  const struct wo_allocator_stats *const stats = wo_allocator_stats(rig.a);
  assert_int_equal(stats->num_alloc_retries, 1);
  assert_int_equal(stats->num_ooms, 0);
  assert_int_equal(stats->num_device_alloc, 2);
  assert_int_equal(stats->num_device_free, 1);
  rig_close(&rig);
}

static void tells_of_a_failure(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  const wo_block_id first = rig_malloc(&rig, 30 * MIB);
  const wo_block_id second = rig_malloc(&rig, 10 * MIB);
  rig_malloc(&rig, 40 * MIB);
  const wo_block_id small = rig_malloc(&rig, 2 * MIB);
  rig_free(&rig, first);
  rig_free(&rig, rig_malloc(&rig, 25 * MIB));
  rig_forget(&rig);
  rig_refuses(&rig, 60 * MIB - 100);
  /* The event has the rounded size; the device's free bytes are those after all releases. */
  rig_expect(&rig, "segment_free:30M oom:60M ");
  const struct wo_allocator_oom *const oom = wo_allocator_last_oom(rig.a);
  assert_int_equal(oom->requested_bytes, 60 * MIB - 100);
  assert_int_equal(oom->rounded_bytes, 60 * MIB);
  assert_int_equal(oom->segment_bytes, 60 * MIB);
  assert_int_equal(oom->device_free_bytes, 30 * MIB);
  assert_int_equal(oom->largest_free_block_bytes, 18 * MIB);
  assert_int_equal(oom->cached_free_bytes, 18 * MIB);
  assert_false(oom->by_fraction);
  assert_int_equal(wo_allocator_stats(rig.a)->num_ooms, 1);
  rig_free(&rig, small);
  rig_free(&rig, second);
  rig_malloc(&rig, 20 * MIB);
  rig_close(&rig);
}

/* The retry waits for all streams: what was pending comes back first. */
static void a_retry_completes_what_is_pending(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 100);
  const wo_block_id id = rig_malloc(&rig, 60 * MIB);
  wo_allocator_free_block(rig.a, id, true);
  rig_forget(&rig);
  rig_malloc(&rig, 80 * MIB);
  rig_expect(&rig, "free_completed:60M segment_free:60M segment_alloc:80M alloc:80M ");
  rig_close(&rig);
}

static void refuses_a_foreign_backend(void **state) {
  (void)state;
  struct wo_device device = {0};
  struct wo_allocator_options options = {.settings = wo_alloc_settings_default(206), .torch = 206, .device = &device};
  struct wo_allocator *a = NULL;
  struct wo_err err = {0};
  options.settings.is_native = false;
  assert_int_equal(wo_allocator_new(&options, &a, &err), WO_E_USAGE);
  assert_null(a);
  assert_non_null(strstr(err.message, "cudaMallocAsync"));
  assert_null(wo_allocator_free(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_to_512),
      cmocka_unit_test(segments_by_size),
      cmocka_unit_test(rounds_by_divisions),
      cmocka_unit_test(rounds_by_lists),
      cmocka_unit_test(odd_sizes_of_old_versions),
      cmocka_unit_test(refuses_impossible_sizes),
      cmocka_unit_test(splits_by_pool),
      cmocka_unit_test(counts_each_size),
      cmocka_unit_test(takes_the_smallest_that_fits),
      cmocka_unit_test(breaks_ties),
      cmocka_unit_test(streams_and_pools_do_not_mix),
      cmocka_unit_test(merges_with_both_neighbours),
      cmocka_unit_test(segments_never_merge),
      cmocka_unit_test(other_streams_defer_a_free),
      cmocka_unit_test(a_free_can_be_deferred_without_a_reason),
      cmocka_unit_test(empties_in_order),
      cmocka_unit_test(releases_and_retries),
      cmocka_unit_test(tells_of_a_failure),
      cmocka_unit_test(a_retry_completes_what_is_pending),
      cmocka_unit_test(refuses_a_foreign_backend),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
