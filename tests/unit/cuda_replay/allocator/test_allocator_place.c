/* SPDX-License-Identifier: Apache-2.0 */
/* Start states of the allocator model: placed, refused, walked; the way through walk and place gives the same allocator. */
#include "tests/support/replay/allocator_valid.h"
#include "tests/support/replay/allocator_rig.h"

#define BASE UINT64_C(0x700000000000)

static const struct wo_pool_id no_pool = {0, 0};

static struct wo_allocator_segment segment_at(uint64_t address, uint64_t size_bytes) {
  return (struct wo_allocator_segment){.address = address, .size_bytes = size_bytes};
}

static void placed_blocks_work(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  const struct wo_allocator_segment segment = segment_at(BASE, 20 * MIB);
  const struct wo_allocator_block blocks[] = {
      {5 * MIB, 5 * MIB - 10, WO_BLOCK_ALLOCATED},
      {4 * MIB, 0, WO_BLOCK_FREE},
      {3 * MIB, 3 * MIB, WO_BLOCK_PENDING},
      {8 * MIB, 0, WO_BLOCK_FREE},
  };
  wo_block_id ids[4];
  assert_int_equal(wo_device_model_take(rig.model, BASE, 20 * MIB), WO_OK);
  assert_int_equal(wo_allocator_place(rig.a, &segment, blocks, 4, ids), WO_OK);
  rig_expect(&rig, "");
  const struct wo_allocator_stats *const stats = wo_allocator_stats(rig.a);
  assert_int_equal(stats->reserved_bytes[WO_STAT_LARGE].current, 20 * MIB);
  assert_int_equal(stats->active_bytes[WO_STAT_LARGE].current, 8 * MIB);
  assert_int_equal(stats->allocated_bytes[WO_STAT_LARGE].current, 5 * MIB);
  assert_int_equal(stats->requested_bytes[WO_STAT_LARGE].current, 8 * MIB - 10);
  assert_int_equal(stats->inactive_split[WO_STAT_LARGE].current, 2);
  assert_int_equal(stats->segment[WO_STAT_LARGE].current, 1);
  assert_int_equal(wo_allocator_address(rig.a, ids[2]), BASE + 9 * MIB);
  assert_int_equal(wo_allocator_block_bytes(rig.a, ids[0]), 5 * MIB);
  assert_int_equal(rig_address(&rig, rig_malloc(&rig, 4 * MIB)), BASE + 5 * MIB);
  wo_allocator_complete(rig.a, ids[2]);
  rig_free(&rig, ids[0]);
  rig_expect(&rig, "alloc:4M free_completed:3M free_requested:5242870 free_completed:5242870 ");
  rig_close(&rig);
}

struct refusal {
  const char *what;
  struct wo_allocator_segment segment;
  struct wo_allocator_block blocks[2];
  size_t count;
};

static void refuses_hostile_states(void **state) {
  (void)state;
  const struct wo_allocator_block whole = {2 * MIB, 0, WO_BLOCK_FREE};
  const struct wo_allocator_block half = {MIB, MIB, WO_BLOCK_ALLOCATED};
  const struct wo_allocator_block half_free = {MIB, 0, WO_BLOCK_FREE};
  struct wo_allocator_segment run = segment_at(BASE + 100 * MIB, 20 * MIB);
  run.is_expandable = true;
  struct wo_allocator_segment outside = run;
  outside.range_address = BASE + 120 * MIB;
  outside.range_bytes = 40 * MIB;
  struct wo_allocator_segment uneven = run;
  uneven.range_address = BASE + 90 * MIB;
  uneven.range_bytes = 400 * MIB;
  struct wo_allocator_segment endless = run;
  endless.range_address = BASE + 100 * MIB;
  endless.range_bytes = UINT64_MAX - 5;
  const struct wo_allocator_block handle = {20 * MIB, 0, WO_BLOCK_FREE};
  const struct refusal refusals[] = {
      {"no blocks", segment_at(BASE + 10 * MIB, 2 * MIB), {whole, whole}, 0},
      {"no address", segment_at(0, 2 * MIB), {whole, whole}, 1},
      {"too short", segment_at(BASE + 10 * MIB, 4 * MIB), {half, half}, 2},
      {"too long", segment_at(BASE + 10 * MIB, MIB), {half, half}, 2},
      {"free neighbours", segment_at(BASE + 10 * MIB, 2 * MIB), {half_free, half_free}, 2},
      {"empty block", segment_at(BASE + 10 * MIB, 2 * MIB), {{2 * MIB, 0, WO_BLOCK_ALLOCATED}, {0, 0, WO_BLOCK_FREE}}, 2},
      {"sum wraps",
       segment_at(BASE + 10 * MIB, 2 * MIB),
       {{UINT64_MAX, 0, WO_BLOCK_FREE}, {2 * MIB + 1, 0, WO_BLOCK_ALLOCATED}},
       2},
      {"end wraps", segment_at(UINT64_MAX - MIB, 2 * MIB), {whole, whole}, 1},
      {"more requested than there is", segment_at(BASE + 10 * MIB, MIB), {{MIB, MIB + 1, WO_BLOCK_ALLOCATED}, whole}, 1},
      {"no state", segment_at(BASE + 10 * MIB, 2 * MIB), {{2 * MIB, 0, (enum wo_block_state)9}, whole}, 1},
      {"overlap at the end", segment_at(BASE - MIB, 2 * MIB), {whole, whole}, 1},
      {"overlap at the start", segment_at(BASE + MIB, 2 * MIB), {whole, whole}, 1},
      {"overlap inside", segment_at(BASE + MIB, MIB), {half, half}, 1},
      {"overlap around", segment_at(BASE - 2 * MIB, 8 * MIB), {{8 * MIB, 0, WO_BLOCK_FREE}, whole}, 1},
      {"run outside of its range", outside, {handle, whole}, 1},
      {"run off the handles", uneven, {handle, whole}, 1},
      {"range that wraps", endless, {handle, whole}, 1},
  };
  struct rig rig;
  rig_open(&rig, 206, "", 200);
  const struct wo_allocator_segment first = segment_at(BASE, 2 * MIB);
  assert_int_equal(wo_allocator_place(rig.a, &first, &whole, 1, NULL), WO_OK);
  const struct wo_allocator_stats before = *wo_allocator_stats(rig.a);
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    const struct refusal *const refusal = &refusals[i];
    const enum wo_status status = wo_allocator_place(rig.a, &refusal->segment, refusal->blocks, refusal->count, NULL);
    if (status != WO_E_RANGE) fail_msg("%s: %s", refusal->what, wo_status_text(status));
    rig_check(&rig);
  }
  assert_memory_equal(&before, wo_allocator_stats(rig.a), sizeof before);
  rig_close(&rig);
}

/* ---- Ranges ---- */

static struct wo_allocator_segment run_at(uint64_t address, uint64_t size_bytes, uint64_t range_address, uint64_t range_bytes) {
  struct wo_allocator_segment run = segment_at(address, size_bytes);
  run.is_expandable = true;
  run.range_address = range_address;
  run.range_bytes = range_bytes;
  return run;
}

static void runs_share_a_range(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "expandable_segments:True", 1000);
  const uint64_t range_bytes = 1140 * MIB;
  const struct wo_allocator_block block = {20 * MIB, 20 * MIB, WO_BLOCK_ALLOCATED};
  const struct wo_allocator_segment low = run_at(BASE + 20 * MIB, 20 * MIB, BASE, range_bytes);
  const struct wo_allocator_segment high = run_at(BASE + 80 * MIB, 20 * MIB, BASE, range_bytes);
  assert_int_equal(wo_allocator_place(rig.a, &high, &block, 1, NULL), WO_OK);
  assert_int_equal(wo_allocator_place(rig.a, &low, &block, 1, NULL), WO_OK);
  assert_int_equal(wo_allocator_place(rig.a, &low, &block, 1, NULL), WO_E_RANGE);
  rig_check(&rig);
  /* The lowest gap with room. */
  assert_int_equal(rig_address(&rig, rig_malloc(&rig, 15 * MIB)), BASE);
  assert_int_equal(rig_address(&rig, rig_malloc(&rig, 30 * MIB)), BASE + 40 * MIB);
  rig_expect(&rig, "segment_map:20M alloc:15M segment_map:40M alloc:30M ");
  rig_close(&rig);
}

/* Without a range: one of torch's size begins at the first run, and takes the later runs of the same stream in. */
static void a_range_is_guessed(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "expandable_segments:True", 1000);
  const struct wo_allocator_block block = {20 * MIB, 20 * MIB, WO_BLOCK_ALLOCATED};
  const struct wo_allocator_segment low = run_at(BASE, 20 * MIB, 0, 0);
  const struct wo_allocator_segment high = run_at(BASE + 60 * MIB, 20 * MIB, 0, 0);
  assert_int_equal(wo_allocator_place(rig.a, &low, &block, 1, NULL), WO_OK);
  assert_int_equal(wo_allocator_place(rig.a, &high, &block, 1, NULL), WO_OK);
  assert_int_equal(rig_address(&rig, rig_malloc(&rig, 22 * MIB)), BASE + 20 * MIB);
  rig_close(&rig);
}

/* A range that was guessed ends before the next segment that is known. */
static void a_guess_gives_way(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "expandable_segments:True", 1000);
  const struct wo_allocator_block block = {20 * MIB, 20 * MIB, WO_BLOCK_ALLOCATED};
  const struct wo_allocator_segment other = segment_at(BASE + 90 * MIB, 20 * MIB);
  const struct wo_allocator_segment run = run_at(BASE, 20 * MIB, 0, 0);
  assert_int_equal(wo_allocator_place(rig.a, &other, &block, 1, NULL), WO_OK);
  assert_int_equal(wo_allocator_place(rig.a, &run, &block, 1, NULL), WO_OK);
  /* Also when it comes later: the part of the range that nothing uses is cut off. */
  const struct wo_allocator_segment later = segment_at(BASE + 50 * MIB, 20 * MIB);
  assert_int_equal(wo_allocator_place(rig.a, &later, &block, 1, NULL), WO_OK);
  rig_check(&rig);
  assert_int_equal(rig_address(&rig, rig_malloc(&rig, 20 * MIB)), BASE + 20 * MIB);
  assert_true(rig_address(&rig, rig_malloc(&rig, 20 * MIB)) != BASE + 40 * MIB);
  rig_close(&rig);
}

/* ---- Walking ---- */

struct copy {
  struct wo_allocator *to;
  size_t segments;
  size_t stop_at;
};

static bool copy_segment(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                         const wo_block_id *ids, size_t count) {
  struct copy *const copy = state;
  (void)ids;
  assert_int_equal(wo_allocator_place(copy->to, segment, blocks, count, NULL), WO_OK);
  return ++copy->segments != copy->stop_at;
}

/* A walk into place: the copy has the same state, and serves the same. */
static void a_walk_can_be_placed(void **state) {
  (void)state;
  for (int expandable = 0; expandable <= 1; expandable++) {
    struct rig from;
    struct rig to;
    const char *const text = expandable == 1 ? "expandable_segments:True" : "";
    rig_open(&from, 206, text, 400);
    rig_open(&to, 206, text, 400);
    wo_block_id ids[40];
    for (uint64_t i = 0; i < 40; i++) ids[i] = rig_malloc_on(&from, (i % 7 + 1) * (i % 3 == 0 ? 100000 : 1300000), i % 2);
    for (size_t i = 0; i < 40; i += 3) rig_free(&from, ids[i]);
    wo_allocator_free_block(from.a, ids[1], true);
    assert_int_equal(wo_allocator_empty_cache(from.a), WO_OK);
    struct copy copy = {.to = to.a};
    assert_int_equal(wo_allocator_walk(from.a, copy_segment, &copy), WO_OK);
    rig_check(&to);
    assert_true(copy.segments > 1);
    const struct wo_allocator_stats *const a = wo_allocator_stats(from.a);
    const struct wo_allocator_stats *const b = wo_allocator_stats(to.a);
    assert_int_equal(a->active_bytes[WO_STAT_ALL].current, b->active_bytes[WO_STAT_ALL].current);
    assert_int_equal(a->requested_bytes[WO_STAT_ALL].current, b->requested_bytes[WO_STAT_ALL].current);
    assert_int_equal(a->inactive_split_bytes[WO_STAT_ALL].current, b->inactive_split_bytes[WO_STAT_ALL].current);
    assert_int_equal(a->reserved_bytes[WO_STAT_ALL].current, b->reserved_bytes[WO_STAT_ALL].current);
    assert_int_equal(rig_address(&from, rig_malloc(&from, 99000)), rig_address(&to, rig_malloc(&to, 99000)));
    rig_close(&from);
    rig_close(&to);
  }
}

static bool stop_at_once(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                         const wo_block_id *ids, size_t count) {
  (void)segment;
  (void)blocks;
  (void)ids;
  (void)count;
  ++*(int *)state;
  return false;
}

static void a_walk_can_stop(void **state) {
  (void)state;
  struct rig rig;
  int visits = 0;
  rig_open(&rig, 206, "", 400);
  assert_int_equal(wo_allocator_walk(rig.a, stop_at_once, &visits), WO_OK);
  assert_int_equal(visits, 0);
  rig_malloc(&rig, 100);
  rig_malloc(&rig, 30 * MIB);
  assert_int_equal(wo_allocator_walk(rig.a, stop_at_once, &visits), WO_OK);
  assert_int_equal(visits, 1);
  rig_close(&rig);
}

/* Memory of a private pool that is placed belongs to somebody, until that is taken back. */
static void placed_private_pools_live(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, 206, "", 400);
  struct wo_allocator_segment segment = segment_at(BASE, 2 * MIB);
  const struct wo_allocator_block whole = {2 * MIB, 0, WO_BLOCK_FREE};
  segment.pool = (struct wo_pool_id){0, 5};
  segment.is_small = true;
  assert_int_equal(wo_device_model_take(rig.model, BASE, 2 * MIB), WO_OK);
  assert_int_equal(wo_allocator_place(rig.a, &segment, &whole, 1, NULL), WO_OK);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "");
  assert_int_equal(wo_allocator_pool_release(rig.a, segment.pool), WO_OK);
  assert_int_equal(wo_allocator_empty_cache(rig.a), WO_OK);
  rig_expect(&rig, "segment_free:2M ");
  assert_int_equal(wo_allocator_pool_begin(rig.a, no_pool, 0, false), WO_E_USAGE);
  rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(placed_blocks_work), cmocka_unit_test(refuses_hostile_states),    cmocka_unit_test(runs_share_a_range),
      cmocka_unit_test(a_range_is_guessed), cmocka_unit_test(a_guess_gives_way),         cmocka_unit_test(a_walk_can_be_placed),
      cmocka_unit_test(a_walk_can_stop),    cmocka_unit_test(placed_private_pools_live),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
