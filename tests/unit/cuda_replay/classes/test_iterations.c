/* SPDX-License-Identifier: Apache-2.0 */
/* Boundaries of iterations by each of their sources. */
#include "cuda_replay/classes/iterations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/whatif/steady.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"

static const struct wo_made_shape shape = {.batch = 2, .length = 64, .hidden = 64, .heads = 4, .layers = 3, .vocabulary = 512};

static void check_whole(const struct wo_iterations *iterations, const struct wo_alloc_pattern *pattern) {
  uint32_t at = 0;
  for (size_t i = 0; i < iterations->list.count; i++) {
    assert_int_equal(iterations->list.items[i].first, at);
    at = iterations->list.items[i].end;
  }
  assert_int_equal(at, pattern->requests.count);
  assert_true(iterations->tail <= at);
}

/* A step unrolled n times is n iterations: by its optimizer, and without stacks by repetition. */
static void steps_are_counted(void **state) {
  (void)state;
  for (unsigned passes = 1; passes <= 5; passes++) {
    for (unsigned stacks = WO_MADE_BOTH; stacks <= WO_MADE_NONE; stacks++) {
      struct wo_made_shape made = shape;
      made.stacks = (enum wo_made_stacks)stacks;
      struct wo_made_step step = wo_made_step_make(&made);
      struct wo_alloc_pattern unrolled;
      struct wo_passes where;
      struct wo_iterations iterations;
      assert_int_equal(wo_steady_unroll(&step.pattern, NULL, passes, &unrolled, &where), WO_OK);
      assert_int_equal(wo_iterations_find(&unrolled, NULL, &iterations), WO_OK);
      check_whole(&iterations, &unrolled);
      bool has_stacks = stacks != WO_MADE_NONE;
      enum wo_iteration_source source = has_stacks ? WO_ITERATIONS_OPTIMIZER : WO_ITERATIONS_PERIODIC;
      if (passes > 1 || has_stacks) {
        assert_int_equal(iterations.source, source);
        size_t least = has_stacks ? passes : passes - 1;
        if (iterations.list.count < least || iterations.list.count > passes + 1)
          fail_msg("%zu of %u", iterations.list.count, passes);
      } else {
        assert_int_equal(iterations.source, WO_ITERATIONS_WHOLE);
      }
      wo_iterations_done(&iterations);
      wo_alloc_pattern_done(&unrolled);
      wo_made_step_done(&step);
    }
  }
}

/* Behind the last boundary begins what is not whole, also where it is too short for an iteration of its own. */
static void tail_is_what_is_not_whole(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_alloc_pattern unrolled;
  struct wo_passes where;
  struct wo_iterations iterations;
  assert_int_equal(wo_steady_unroll(&step.pattern, NULL, 3, &unrolled, &where), WO_OK);
  for (unsigned part = 1; part < 100; part += 14) {
    const uint32_t count = where.begins[2] + (where.ends[2] - where.begins[2]) * part / 200;
    unrolled.requests.count = count;
    assert_int_equal(wo_iterations_find(&unrolled, NULL, &iterations), WO_OK);
    check_whole(&iterations, &unrolled);
    assert_true(iterations.tail <= count && iterations.tail > where.ends[0]);
    assert_true(iterations.tail >= where.ends[1]);
    wo_iterations_done(&iterations);
  }
  wo_alloc_pattern_done(&unrolled);
  wo_made_step_done(&step);
}

/* A trace of 100 allocations and frees, `pause_us` apart at every 25th. */
static void make_timed(struct wo_recording **ret_recording, struct wo_trace **ret_trace, struct wo_alloc_pattern *ret_pattern,
                       int64_t pause_us) {
  struct wo_recording *recording = wo_recording_new();
  struct wo_trace *trace = wo_recording_trace(recording, 0);
  int64_t time_us = 1000;
  for (unsigned i = 0; i < 100; i++) {
    struct wo_trace_entry entry = {.address = 0x10000, .size_bytes = 512 * (1 + i * i), .stack = WO_NO_STACK};
    time_us += i % 25 == 0 ? pause_us : 1;
    entry.time_us = time_us;
    entry.action = WO_ACTION_ALLOC;
    assert_int_equal(wo_trace_add(trace, entry), WO_OK);
    entry.action = WO_ACTION_FREE_REQUESTED;
    assert_int_equal(wo_trace_add(trace, entry), WO_OK);
    entry.action = WO_ACTION_FREE_COMPLETED;
    assert_int_equal(wo_trace_add(trace, entry), WO_OK);
  }
  assert_int_equal(wo_alloc_pattern_make(recording, trace, ret_pattern, NULL), WO_OK);
  *ret_recording = recording;
  *ret_trace = trace;
}

static void pauses_part(void **state) {
  (void)state;
  struct wo_recording *recording;
  struct wo_trace *trace;
  struct wo_alloc_pattern pattern;
  struct wo_iterations iterations;
  make_timed(&recording, &trace, &pattern, 1000);
  assert_int_equal(wo_iterations_find(&pattern, trace, &iterations), WO_OK);
  assert_int_equal(iterations.source, WO_ITERATIONS_PAUSES);
  assert_int_equal(iterations.list.count, 4);
  check_whole(&iterations, &pattern);
  wo_iterations_done(&iterations);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
  make_timed(&recording, &trace, &pattern, 1);
  assert_int_equal(wo_iterations_find(&pattern, trace, &iterations), WO_OK);
  assert_int_equal(iterations.source, WO_ITERATIONS_WHOLE);
  assert_int_equal(iterations.list.count, 1);
  wo_iterations_done(&iterations);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

/* Two optimizers step in each iteration; the first that ends is the one that counts. */
static void annotations_part(void **state) {
  (void)state;
  static struct wo_annotation marks[] = {
      {WO_VIEW("Optimizer.zero_grad#Adam.zero_grad"), 1010, 0, false},
      {WO_VIEW("Optimizer.step#Adam.step"), 1025, 0, false},
      {WO_VIEW("Optimizer.step#SGD.step"), 1030, 0, false},
      {WO_VIEW("Optimizer.step#Adam.step"), 1050, 0, false},
      {WO_VIEW("Optimizer.step#Adam.step"), 1060, 1, false},
      {WO_VIEW("Optimizer.step#SGD.step"), 1062, 0, false},
  };
  struct wo_recording *recording;
  struct wo_trace *trace;
  struct wo_alloc_pattern pattern;
  struct wo_iterations iterations;
  make_timed(&recording, &trace, &pattern, 1);
  recording->annotations.items = marks;
  recording->annotations.count = sizeof marks / sizeof marks[0];
  assert_int_equal(wo_iterations_find(&pattern, trace, &iterations), WO_OK);
  assert_int_equal(iterations.source, WO_ITERATIONS_ANNOTATED);
  assert_int_equal(iterations.list.count, 3);
  assert_int_equal(iterations.list.items[0].end, 50); /* requests at 1001 .. 1025, two each */
  assert_int_equal(iterations.list.items[1].end, 100);
  check_whole(&iterations, &pattern);
  wo_iterations_done(&iterations);
  recording->annotations.items = NULL;
  recording->annotations.count = 0;
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static void memory_out_is_told(void **state) {
  (void)state;
  struct wo_made_shape made = shape;
  made.stacks = WO_MADE_NONE;
  struct wo_made_step step = wo_made_step_make(&made);
  struct wo_alloc_pattern unrolled;
  struct wo_passes where;
  assert_int_equal(wo_steady_unroll(&step.pattern, NULL, 3, &unrolled, &where), WO_OK);
  for (long n = 1;; n++) {
    struct wo_iterations iterations;
    wo_fail_alloc_at(n);
    enum wo_status status = wo_iterations_find(&unrolled, NULL, &iterations);
    wo_fail_alloc_off();
    if (status == WO_OK) wo_iterations_done(&iterations);
    if (!wo_fail_alloc_hit()) break;
    assert_int_equal(status, WO_E_NOMEM);
  }
  wo_alloc_pattern_done(&unrolled);
  wo_made_step_done(&step);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_are_counted), cmocka_unit_test(tail_is_what_is_not_whole), cmocka_unit_test(pauses_part),
      cmocka_unit_test(annotations_part),  cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
