/* SPDX-License-Identifier: Apache-2.0 */
/* Private pools of the allocator model: graph captures, MemPools, what is released when. */
#include "tests/support/replay/allocator_valid.h"
#include "tests/support/replay/allocator_rig.h"

static const struct wo_pool_id pool_one = {0, 1};
static const struct wo_pool_id pool_two = {0, 2};

/* Pitfall 9: live private pools are never touched, and nothing is released during a capture. */
static void a_capture_has_its_pool(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  rig_free(&rig, rig_malloc(&rig, 22 * MIB));
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_OK);
  rig_forget(&rig);
  const wo_block_id id = rig_malloc(&rig, 22 * MIB);
  rig_expect(&rig, "segment_alloc:22M alloc:22M ");
  /* Another stream is not captured. */
  rig_malloc_on(&rig, 512, 8);
  rig_expect(&rig, "segment_alloc:2M alloc:512 ");
  rig_free(&rig, id);
  rig_forget(&rig);
  rig_refuses(&rig, 170 * MIB);
  rig_expect(&rig, "oom:170M ");
  assert_int_equal(wo_allocator_pool_end(rig.a, pool_one), WO_OK);
  /* The graph lives: its memory stays, that of the default pool goes. */
  rig_refuses(&rig, 190 * MIB);
  rig_expect(&rig, "segment_free:22M oom:190M ");
  assert_int_equal(wo_allocator_pool_release(rig.a, pool_one), WO_OK);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "segment_free:22M ");
  rig_close(&rig);
}

static void released_pools_go_when_empty(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_OK);
  const wo_block_id small = rig_malloc(&rig, 512);
  const wo_block_id large = rig_malloc(&rig, 22 * MIB);
  assert_int_equal(wo_allocator_pool_end(rig.a, pool_one), WO_OK);
  assert_int_equal(wo_allocator_pool_release(rig.a, pool_one), WO_OK);
  rig_free(&rig, large);
  rig_forget(&rig);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "segment_free:22M ");
  /* A tensor still holds it: no new capture may use the pool, and it is not gone. */
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_E_USAGE);
  rig_free(&rig, small);
  rig_forget(&rig);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "segment_free:2M ");
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_OK);
  rig_close(&rig);
}

/* The small half first, unlike the default pool. */
static void private_pools_release_small_first(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, false), WO_OK);
  const wo_block_id small = rig_malloc(&rig, 512);
  const wo_block_id large = rig_malloc(&rig, 22 * MIB);
  assert_int_equal(wo_allocator_pool_end(rig.a, pool_one), WO_OK);
  rig_free(&rig, small);
  rig_free(&rig, large);
  assert_int_equal(wo_allocator_pool_release(rig.a, pool_one), WO_OK);
  rig_forget(&rig);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "segment_free:2M segment_free:22M ");
  rig_close(&rig);
}

static void graphs_share_a_pool(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_OK);
    rig_free(&rig, rig_malloc(&rig, 22 * MIB));
    assert_int_equal(wo_allocator_pool_end(rig.a, pool_one), WO_OK);
  }
  assert_int_equal(rig_reserved_mib(&rig), 22);
  assert_int_equal(wo_allocator_pool_release(rig.a, pool_one), WO_OK);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  assert_int_equal(rig_reserved_mib(&rig), 22);
  assert_int_equal(wo_allocator_pool_release(rig.a, pool_one), WO_OK);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  assert_int_equal(rig_reserved_mib(&rig), 0);
  rig_close(&rig);
}

static void the_newest_capture_serves(void **state) {
  (void)state;
  for (uint16_t torch = 209; torch <= 210; torch++) {
    struct rig rig;
    rig_open(&rig, torch, "", 200);
    assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_OK);
    assert_int_equal(wo_allocator_pool_begin(rig.a, pool_two, 0, true), WO_OK);
    rig_free(&rig, rig_malloc(&rig, 22 * MIB));
    assert_int_equal(wo_allocator_pool_end(rig.a, pool_one), WO_OK);
    rig_forget(&rig);
    rig_free(&rig, rig_malloc(&rig, 22 * MIB));
    rig_expect(&rig, torch == 209 ? "segment_alloc:22M alloc:22M free_requested:22M free_completed:22M "
                                  : "alloc:22M free_requested:22M free_completed:22M ");
    rig_close(&rig);
  }
}

static void refuses_what_torch_refuses(void **state) {
  (void)state;
  struct rig rig;
  const struct wo_pool_id nothing = {0, 0};
  rig_open(&rig, 206, "", 200);
  assert_int_equal(wo_allocator_pool_begin(rig.a, nothing, 0, true), WO_E_USAGE);
  assert_int_equal(wo_allocator_pool_end(rig.a, pool_one), WO_E_USAGE);
  assert_int_equal(wo_allocator_pool_release(rig.a, pool_one), WO_E_USAGE);
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_OK);
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 4, true), WO_E_USAGE);
  assert_int_equal(wo_allocator_pool_release(rig.a, nothing), WO_E_USAGE);
  rig_close(&rig);
}

static void emptying_during_a_capture(void **state) {
  (void)state;
  for (uint16_t torch = 207; torch <= 208; torch++) {
    struct rig rig;
    rig_open(&rig, torch, "", 200);
    rig_free(&rig, rig_malloc(&rig, 22 * MIB));
    assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 3, true), WO_OK);
    rig_forget(&rig);
    assert_int_equal(wo_allocator_empty_cache(rig.a), torch == 207 ? WO_E_USAGE : WO_OK);
    rig_expect(&rig, "");
    rig_close(&rig);
  }
}

/* Blocks that other streams used only during the capture come back at the first request after it, up to 2.3 not before complete.
 */
static void uses_of_a_capture_end_with_it(void **state) {
  (void)state;
  for (uint16_t torch = 203; torch <= 204; torch++) {
    struct rig rig;
    rig_open(&rig, torch, "", 200);
    const wo_block_id id = rig_malloc(&rig, 22 * MIB);
    assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 3, true), WO_OK);
    assert_int_equal(wo_allocator_record_stream(rig.a, id, 3), WO_OK);
    rig_free(&rig, id);
    rig_malloc(&rig, 512);
    rig_forget(&rig);
    assert_int_equal(wo_allocator_pool_end(rig.a, pool_one), WO_OK);
    rig_malloc(&rig, 512);
    rig_expect(&rig, torch == 203 ? "alloc:512 " : "free_completed:22M alloc:512 ");
    if (torch == 203) wo_allocator_complete(rig.a, id);
    rig_close(&rig);
  }
}

/* Since 2.13 a request belongs to a capture when its stream does, and a MemPool is no capture. */
static void a_capture_concerns_its_stream(void **state) {
  (void)state;
  for (uint16_t torch = 212; torch <= 213; torch++) {
    for (int is_graph = 0; is_graph <= 1; is_graph++) {
      struct rig rig;
      rig_open(&rig, torch, "", 100);
      rig_free(&rig, rig_malloc(&rig, 60 * MIB));
      assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 3, is_graph == 1), WO_OK);
      wo_block_id id = WO_NO_BLOCK;
      /* On the default stream: released and served since 2.13. */
      assert_int_equal(wo_allocator_malloc(rig.a, 80 * MIB, 0, &id), torch == 212 ? WO_E_LIMIT : WO_OK);
      if (torch == 213) rig_free(&rig, id);
      /* On the captured stream: only a MemPool releases. */
      const bool is_served = torch == 213 && is_graph == 0;
      assert_int_equal(wo_allocator_malloc(rig.a, 90 * MIB, 3, &id), is_served ? WO_OK : WO_E_LIMIT);
      rig_close(&rig);
    }
  }
}

/* Expandable segments serve private pools since 2.5; before, the split rule changed and no more. */
static void expandable_private_pools(void **state) {
  (void)state;
  for (uint16_t torch = 204; torch <= 205; torch++) {
    struct rig rig;
    rig_open(&rig, torch, "expandable_segments:True", 200);
    assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_OK);
    const wo_block_id id = rig_malloc(&rig, 22 * MIB - 512);
    rig_expect(&rig, torch == 204 ? "segment_alloc:22M alloc:23068160 " : "segment_map:40M alloc:23068160 ");
    assert_int_equal(wo_allocator_block_bytes(rig.a, id), 22 * MIB - 512);
    rig_close(&rig);
  }
}

/* Torch counts one for each request that mapped and takes one off for each run that is unmapped. */
static void torch_miscounts_private_ranges(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "expandable_segments:True", 200);
  assert_int_equal(wo_allocator_pool_begin(rig.a, pool_one, 0, true), WO_OK);
  rig_free(&rig, rig_malloc(&rig, 60 * MIB));
  const wo_block_id id = rig_malloc(&rig, 2 * MIB);
  assert_int_equal(wo_allocator_pool_end(rig.a, pool_one), WO_OK);
  assert_int_equal(wo_allocator_pool_release(rig.a, pool_one), WO_OK);
  /* One request mapped, one run goes, a block is still in use: the pool is forgotten. */
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_E_USAGE);
  assert_non_null(strstr(wo_allocator_message(rig.a), "private pool"));
  rig_free(&rig, id);
  rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_capture_has_its_pool),
      cmocka_unit_test(released_pools_go_when_empty),
      cmocka_unit_test(private_pools_release_small_first),
      cmocka_unit_test(graphs_share_a_pool),
      cmocka_unit_test(the_newest_capture_serves),
      cmocka_unit_test(refuses_what_torch_refuses),
      cmocka_unit_test(emptying_during_a_capture),
      cmocka_unit_test(uses_of_a_capture_end_with_it),
      cmocka_unit_test(a_capture_concerns_its_stream),
      cmocka_unit_test(expandable_private_pools),
      cmocka_unit_test(torch_miscounts_private_ranges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
