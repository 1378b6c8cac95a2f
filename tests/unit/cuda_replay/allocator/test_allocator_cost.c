/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of requests that do not fit: the blocks and pools that they visit (wo_allocator_steps) grow with the number of
 * requests, not with its square. Nothing here looks at a clock. */
#include "cuda_replay/allocator/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cuda_replay/device/device_model.h"
#include "parsers/base/view.h"
#include "tests/support/replay/allocator_valid.h"

#define MIB (UINT64_C(1) << 20)

enum { BLOCKS = 4000, STEPS_PER_REQUEST = 8 };

struct bench {
  struct wo_device_model *model;
  struct wo_device device;
  struct wo_allocator *a;
};

static void open_bench(struct bench *bench, uint16_t torch, const char *text) {
  const struct wo_device_model_options options = {.capacity_bytes = 4096 * MIB};
  bench->model = wo_device_model_new(&options, &bench->device);
  struct wo_allocator_options wanted = {.settings = wo_alloc_settings_default(torch), .torch = torch, .device = &bench->device};
  assert_int_equal(wo_alloc_settings_parse(wo_view_of(text), torch, &wanted.settings, NULL), WO_OK);
  wanted.settings.memory_fraction = 0.9;
  assert_int_equal(wo_allocator_new(&wanted, &bench->a, NULL), WO_OK);
}

static wo_block_id get(struct bench *bench, uint64_t size_bytes, uint64_t stream) {
  wo_block_id id = WO_NO_BLOCK;
  assert_int_equal(wo_allocator_malloc(bench->a, size_bytes, stream, &id), WO_OK);
  return id;
}

static void refuse(struct bench *bench, uint64_t stream) {
  wo_block_id id = WO_NO_BLOCK;
  assert_int_equal(wo_allocator_malloc(bench->a, 8192 * MIB, stream, &id), WO_E_LIMIT);
}

/* Many free blocks beside blocks in use, of several streams, none of which can be released. */
static void fill(struct bench *bench, wo_block_id *ids) {
  for (size_t i = 0; i < BLOCKS; i++) ids[i] = get(bench, i % 3 == 0 ? 300 * 1024 : 1024, i / 2 % 5);
  for (size_t i = 0; i < BLOCKS; i += 2) wo_allocator_free_block(bench->a, ids[i], false);
  for (size_t i = 0; i < 40; i++) ids[2 * i] = get(bench, 12 * MIB, 0);
  for (size_t i = 0; i < 40; i += 2) wo_allocator_free_block(bench->a, ids[2 * i], false);
}

/* Refused requests among requests that are served, and one idle segment before each of them. */
static size_t refuse_many(struct bench *bench) {
  size_t requests = 0;
  for (size_t i = 0; i < BLOCKS; i++) {
    const wo_block_id small = get(bench, 2048, i % 5);
    const wo_block_id large = get(bench, (24 + i % 3) * MIB, i % 5);
    wo_allocator_free_block(bench->a, large, i % 2 == 0);
    refuse(bench, i % 5);
    wo_allocator_free_block(bench->a, small, false);
    requests += 3;
  }
  return requests;
}

static void refusals_visit_what_they_release(void **state) {
  static const char *const settings[] = {"",
                                         "expandable_segments:True",
                                         "max_split_size_mb:32",
                                         "max_split_size_mb:32,expandable_segments:True",
                                         "garbage_collection_threshold:0.1",
                                         "garbage_collection_threshold:0.1,max_split_size_mb:32"};
  static const uint16_t versions[] = {206, 212, 213};
  wo_block_id *const ids = calloc(BLOCKS, sizeof *ids);
  (void)state;
  assert_non_null(ids);
  for (size_t i = 0; i < sizeof settings / sizeof *settings * 3; i++) {
    struct bench bench;
    const char *why = NULL;
    open_bench(&bench, versions[i % 3], settings[i / 3]);
    fill(&bench, ids);
    const uint64_t before = wo_allocator_steps(bench.a);
    const size_t requests = refuse_many(&bench);
    const uint64_t steps = wo_allocator_steps(bench.a) - before;
    assert_true(steps > 0);
    if (steps > STEPS_PER_REQUEST * requests)
      fail_msg("%s, torch %u: %zu requests visit %llu blocks", settings[i / 3], versions[i % 3], requests,
               (unsigned long long)steps);
    if (!wo_allocator_is_valid(bench.a, &why)) fail_msg("%s: %s", settings[i / 3], why);
    wo_allocator_free(bench.a);
    wo_device_model_free(bench.model);
  }
  free(ids);
}

/* Private pools that keep memory although nobody uses them are visited once, not for each refusal. */
static void pools_are_visited_once(void **state) {
  struct bench bench;
  (void)state;
  open_bench(&bench, 206, "");
  for (uint64_t i = 0; i < 300; i++) {
    const struct wo_pool_id pool = {0, i + 1};
    assert_int_equal(wo_allocator_pool_begin(bench.a, pool, 1, true), WO_OK);
    get(&bench, 1024, 1);
    assert_int_equal(wo_allocator_pool_end(bench.a, pool), WO_OK);
    assert_int_equal(wo_allocator_pool_release(bench.a, pool), WO_OK);
  }
  const uint64_t before = wo_allocator_steps(bench.a);
  for (size_t i = 0; i < 300; i++) refuse(&bench, 1);
  assert_in_range(wo_allocator_steps(bench.a) - before, 300, 600);
  wo_allocator_free(bench.a);
  wo_device_model_free(bench.model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refusals_visit_what_they_release),
      cmocka_unit_test(pools_are_visited_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
