/* SPDX-License-Identifier: Apache-2.0 */
/* Successors, unrolled patterns and the steady state. */
#include "cuda_replay/whatif/steady.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"

#define MIB (UINT64_C(1) << 20)

static const struct wo_made_shape shape = {.batch = 2, .length = 64, .hidden = 64, .heads = 4, .layers = 2, .vocabulary = 512};

static struct wo_steady_options plain(void) {
  return (struct wo_steady_options){.settings = wo_alloc_settings_default(206), .torch = 206};
}

static uint32_t start(struct wo_alloc_pattern *pattern, uint64_t size_bytes) {
  assert_true(wo_alloc_pattern_add_start(pattern, (struct wo_instance){.size_bytes = size_bytes, .stack = WO_NO_STACK}));
  return (uint32_t)pattern->instances.count - 1;
}

static uint32_t make(struct wo_alloc_pattern *pattern, uint64_t size_bytes) {
  uint32_t instance;
  assert_true(wo_alloc_pattern_add_alloc(pattern, (struct wo_instance){.size_bytes = size_bytes, .stack = WO_NO_STACK},
                                         WO_NO_ENTRY, &instance));
  return instance;
}

/* Old values die after the new are born (the last born is the heir), or before (the first born after is). */
static void successors_are_found(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_alloc_pattern pattern = {.recording = recording};
  uint32_t *successors;
  uint32_t old = start(&pattern, 100), gradient = start(&pattern, 100), lonely = start(&pattern, 7), kept = start(&pattern, 100);
  assert_true(wo_alloc_pattern_add_free(&pattern, gradient));
  uint32_t temporary = make(&pattern, 100), first = make(&pattern, 100), second = make(&pattern, 100);
  assert_true(wo_alloc_pattern_add_free(&pattern, temporary));
  assert_true(wo_alloc_pattern_add_free(&pattern, old));
  assert_true(wo_alloc_pattern_add_free(&pattern, lonely));
  make(&pattern, 100);
  assert_true(wo_alloc_pattern_successors(&pattern, &successors));
  assert_int_equal(successors[gradient], first);
  assert_int_equal(successors[old], second);
  assert_int_equal(successors[lonely], WO_NO_SUCCESSOR);
  assert_int_equal(successors[kept], WO_NO_SUCCESSOR);
  free(successors);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static void unrolled_is_whole(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 2; variant++) {
    struct wo_made_shape made = shape;
    made.is_in_place = variant == 1;
    struct wo_made_step step = wo_made_step_make(&made);
    for (unsigned passes = 1; passes <= WO_STEADY_PASSES_MAX; passes++) {
      struct wo_alloc_pattern unrolled;
      struct wo_passes where;
      assert_int_equal(wo_steady_unroll(&step.pattern, NULL, passes, &unrolled, &where), WO_OK);
      assert_true(wo_alloc_pattern_is_valid(&unrolled));
      assert_int_equal(where.count, passes);
      for (unsigned pass = 0; pass < passes; pass++) {
        assert_int_equal(where.ends[pass] - where.begins[pass], step.pattern.requests.count);
        for (size_t r = 0; r < step.pattern.requests.count; r++) {
          const struct wo_request *const asked = &step.pattern.requests.items[r];
          const struct wo_request *const repeated = &unrolled.requests.items[where.begins[pass] + r];
          assert_int_equal(repeated->kind, asked->kind);
          if (!wo_request_has_instance(asked)) continue;
          assert_int_equal(unrolled.instances.items[repeated->subject].size_bytes,
                           step.pattern.instances.items[asked->subject].size_bytes);
        }
      }
      wo_alloc_pattern_done(&unrolled);
    }
    wo_made_step_done(&step);
  }
}

/* Every pass asks for the same, so the peaks of requested bytes are equal, and reserved memory settles. */
static void passes_are_alike(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_steady_options options = plain();
  struct wo_steady steady;
  assert_int_equal(wo_steady_run(&step.pattern, &options, &steady, NULL), WO_OK);
  assert_true(steady.is_stable && steady.count >= 2);
  for (unsigned pass = 1; pass < steady.count; pass++) {
    assert_int_equal(steady.passes[pass].requested_bytes, steady.passes[0].requested_bytes);
  }
  assert_true(wo_steady_last(&steady)->reserved_bytes >= wo_steady_last(&steady)->allocated_bytes);
  assert_int_equal(steady.outcome.peak.requested_bytes, steady.passes[0].requested_bytes);
  wo_made_step_done(&step);
}

/* A pattern with nothing at the start is a program: it runs once. */
static void programs_run_once(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_alloc_pattern pattern = {.recording = recording};
  struct wo_steady_options options = plain();
  struct wo_steady steady;
  make(&pattern, 3 * MIB);
  assert_int_equal(wo_steady_run(&pattern, &options, &steady, NULL), WO_OK);
  assert_int_equal(steady.count, 1);
  assert_true(steady.is_stable);
  assert_int_equal(steady.passes[0].reserved_bytes, 20 * MIB);
  assert_int_equal(steady.passes[0].allocated_bytes, 3 * MIB);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

/* The second pass of this one needs a segment more: what lives on from the first stands in the way. */
static void growth_is_waited_for(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_alloc_pattern pattern = {.recording = recording};
  struct wo_steady_options options = plain();
  struct wo_steady steady;
  uint32_t old = start(&pattern, 12 * MIB);
  make(&pattern, 12 * MIB); /* the heir, before the old one dies */
  assert_true(wo_alloc_pattern_add_free(&pattern, old));
  uint32_t large = make(&pattern, 12 * MIB);
  assert_true(wo_alloc_pattern_add_free(&pattern, large));
  assert_int_equal(wo_steady_run(&pattern, &options, &steady, NULL), WO_OK);
  assert_true(steady.is_stable);
  assert_int_equal(wo_steady_last(&steady)->reserved_bytes, 24 * MIB);
  assert_int_equal(wo_steady_last(&steady)->allocated_bytes, 24 * MIB);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static void memory_out_is_told(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_steady_options options = plain();
  for (long n = 1;; n += n < 40 ? 1 : 7) {
    struct wo_steady steady;
    wo_fail_alloc_at(n);
    enum wo_status status = wo_steady_run(&step.pattern, &options, &steady, NULL);
    wo_fail_alloc_off();
    if (!wo_fail_alloc_hit()) break;
    assert_int_equal(status, WO_E_NOMEM);
  }
  wo_made_step_done(&step);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(successors_are_found), cmocka_unit_test(unrolled_is_whole),    cmocka_unit_test(passes_are_alike),
      cmocka_unit_test(programs_run_once),    cmocka_unit_test(growth_is_waited_for), cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
