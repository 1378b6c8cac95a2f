/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator model when its own memory is out: every allocation of a long sequence fails once, then all from one on. The model
 * says WO_E_NOMEM, stays valid, and does the same work when asked again. */
#include "tests/support/replay/allocator_rig.h"
#include "tests/support/failing_alloc.h"

enum { SLOTS = 60, STEPS = 260 };

struct sequence {
  struct rig rig;
  wo_block_id blocks[SLOTS];
  bool is_live[SLOTS];
  size_t refused; /* steps that had to be asked for again */
};

static uint64_t step_size(uint64_t step) {
  const uint64_t sizes[] = {512, 70000, 900000, 3 * MIB, 7 * MIB, 21 * MIB};
  return sizes[step % 6] + step % 5 * 512;
}

/* One step; WO_E_NOMEM when it is to be asked for again. */
static enum wo_status step(struct sequence *s, uint64_t i) {
  const size_t slot = (size_t)(i * 7 % SLOTS);
  const struct wo_pool_id pool = {0, 1};
  if (i == 100) return wo_allocator_pool_begin(s->rig.a, pool, 1, true);
  if (i == 130) return wo_allocator_pool_end(s->rig.a, pool);
  if (i % 50 == 49) return wo_allocator_empty_cache(s->rig.a);
  if (i % 11 == 5 && s->is_live[slot]) return wo_allocator_record_stream(s->rig.a, s->blocks[slot], 40 + i);
  if (s->is_live[slot]) {
    wo_allocator_free_block(s->rig.a, s->blocks[slot], false);
    s->is_live[slot] = false;
    return WO_OK;
  }
  const enum wo_status status = wo_allocator_malloc(s->rig.a, step_size(i), i % 4, &s->blocks[slot]);
  s->is_live[slot] = status == WO_OK;
  return status == WO_E_LIMIT ? WO_OK : status;
}

static void open_sequence(struct sequence *s, bool expandable) {
  memset(s, 0, sizeof *s);
  rig_open(&s->rig, 206, expandable ? "expandable_segments:True" : "max_split_size_mb:21", 260);
}

/* Runs all steps, the n-th allocation failing (0: none). Returns whether there was one to fail. */
static bool run(struct sequence *s, bool expandable, long n) {
  open_sequence(s, expandable);
  if (n > 0) wo_fail_alloc_at(n);
  for (uint64_t i = 0; i < STEPS; i++) {
    s->rig.log_len = 0;
    const enum wo_status status = step(s, i);
    if (status != WO_OK) {
      assert_int_equal(status, WO_E_NOMEM);
      assert_true(wo_fail_alloc_hit());
      rig_check(&s->rig);
      s->refused++;
      assert_int_equal(step(s, i), WO_OK);
    }
    if (n == 0 || s->refused > 0) rig_check(&s->rig);
  }
  wo_fail_alloc_off();
  return n > 0 && wo_fail_alloc_hit();
}

static void every_allocation_fails_once(void **state) {
  (void)state;
  for (int expandable = 0; expandable <= 1; expandable++) {
    static struct sequence plain;
    static struct sequence s;
    run(&plain, expandable == 1, 0);
    long n = 1;
    size_t refused = 0;
    for (; run(&s, expandable == 1, n); n++) {
      const struct wo_stat *const a = wo_allocator_stats(s.rig.a)->allocated_bytes;
      const struct wo_stat *const b = wo_allocator_stats(plain.rig.a)->allocated_bytes;
      assert_int_equal(a[WO_STAT_ALL].current, b[WO_STAT_ALL].current);
      refused += s.refused;
      rig_close(&s.rig);
    }
    rig_close(&s.rig);
    rig_close(&plain.rig);
    assert_true(n > 20 && refused > 10);
  }
}

static void nothing_works_from_one_on(void **state) {
  (void)state;
  for (long n = 1; n < 60; n += 3) {
    static struct sequence s;
    open_sequence(&s, n % 2 == 0);
    wo_fail_alloc_from(n);
    for (uint64_t i = 0; i < STEPS; i++) {
      s.rig.log_len = 0;
      const enum wo_status status = step(&s, i);
      /* A capture that could not begin cannot end. */
      assert_true(status == WO_OK || status == WO_E_NOMEM || (i == 130 && status == WO_E_USAGE));
    }
    wo_fail_alloc_off();
    rig_close(&s.rig);
  }
}

static void an_allocator_that_cannot_be_made(void **state) {
  (void)state;
  struct wo_device device;
  const struct wo_device_model_options options = {.capacity_bytes = 100 * MIB};
  wo_fail_alloc_at(1);
  assert_null(wo_device_model_new(&options, &device));
  wo_fail_alloc_off();
  struct wo_device_model *const model = wo_device_model_new(&options, &device);
  const struct wo_allocator_options how = {.settings = wo_alloc_settings_default(206), .torch = 206, .device = &device};
  for (long n = 1; n <= 2; n++) {
    struct wo_allocator *a = NULL;
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    assert_int_equal(wo_allocator_new(&how, &a, &err), WO_E_NOMEM);
    wo_fail_alloc_off();
    assert_null(a);
    assert_int_equal(err.code, WO_E_NOMEM);
  }
  wo_device_model_free(model);
}

static bool ignore(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                   const wo_block_id *ids, size_t count) {
  (void)state;
  (void)segment;
  (void)blocks;
  (void)ids;
  return count > 0;
}

static void placing_and_walking(void **state) {
  (void)state;
  struct wo_allocator_segment segment = {.address = UINT64_C(0x700000000000), .size_bytes = 20 * MIB, .is_expandable = true};
  const struct wo_allocator_block blocks[] = {{15 * MIB, 15 * MIB, WO_BLOCK_ALLOCATED}, {5 * MIB, 0, WO_BLOCK_FREE}};
  bool was_hit = true;
  for (long n = 1; was_hit; n++) {
    struct rig rig;
    rig_open(&rig, 206, "", 100);
    wo_fail_alloc_at(n);
    const enum wo_status placed = wo_allocator_place(rig.a, &segment, blocks, 2, NULL);
    const enum wo_status walked = wo_allocator_walk(rig.a, ignore, NULL);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    assert_int_equal(placed == WO_E_NOMEM || walked == WO_E_NOMEM, was_hit);
    rig_close(&rig);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_fails_once),
      cmocka_unit_test(nothing_works_from_one_on),
      cmocka_unit_test(an_allocator_that_cannot_be_made),
      cmocka_unit_test(placing_and_walking),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
