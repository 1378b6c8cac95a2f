/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept once: texts, frames, stacks, streams and pools, also when there are many, and when memory is out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cuda_replay/recording/trace_intern.h"
#include "parsers/base/vec.h"
#include "tests/support/failing_alloc.h"

enum { MANY = 20000 };

/* A text of its own for each number, of many lengths. */
static struct wo_view text_of(uint32_t number, char *buf, size_t cap) {
  const int len = snprintf(buf, cap, "%*u", (int)(number % 40), number);
  return (struct wo_view){buf, (size_t)len};
}

static void test_texts(void **state) {
  struct wo_recording *const recording = wo_recording_new();
  struct wo_intern intern;
  char buf[64];
  (void)state;
  wo_intern_init(&intern, recording);
  for (int round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < MANY; i++) {
      uint32_t id = UINT32_MAX;
      assert_int_equal(wo_intern_text(&intern, text_of(i, buf, sizeof buf), &id), WO_OK);
      assert_int_equal(id, i);
      assert_true(wo_view_equal(intern.texts.items[id], text_of(i, buf, sizeof buf)));
    }
  }
  uint32_t empty = 0;
  assert_int_equal(wo_intern_text(&intern, (struct wo_view){NULL, 0}, &empty), WO_OK);
  assert_int_equal(empty, MANY);
  wo_intern_done(&intern);
  wo_recording_free(recording);
}

static void test_frames(void **state) {
  struct wo_recording *const recording = wo_recording_new();
  struct wo_intern intern;
  uint32_t function = 0;
  uint32_t file = 0;
  (void)state;
  wo_intern_init(&intern, recording);
  assert_int_equal(wo_intern_text(&intern, WO_VIEW("forward"), &function), WO_OK);
  assert_int_equal(wo_intern_text(&intern, WO_VIEW("model.py"), &file), WO_OK);
  for (int round = 0; round < 2; round++) {
    for (uint32_t line = 0; line < MANY; line++) {
      uint32_t id = UINT32_MAX;
      assert_int_equal(wo_intern_frame(&intern, function, file, line, &id), WO_OK);
      assert_int_equal(id, line);
    }
  }
  uint32_t turned = 0;
  assert_int_equal(wo_intern_frame(&intern, file, function, 3, &turned), WO_OK);
  assert_int_equal(turned, MANY);
  assert_true(wo_view_is(recording->frames.items[turned].function, "model.py"));
  wo_intern_done(&intern);
  wo_recording_free(recording);
}

/* Adds a stack of frames (number, number + 1, ...), as readers do. */
static uint32_t add_stack(struct wo_intern *intern, uint32_t number, uint32_t depth) {
  struct wo_recording *const recording = intern->recording;
  const uint32_t first = (uint32_t)recording->stack_frames.count;
  uint32_t stack = UINT32_MAX;
  assert_true(WO_VEC_RESERVE(&recording->stack_frames, depth, 1 << 24));
  for (uint32_t i = 0; i < depth; i++) recording->stack_frames.items[recording->stack_frames.count++] = number + i;
  assert_int_equal(wo_intern_stack(intern, first, depth, &stack), WO_OK);
  return stack;
}

static void test_stacks(void **state) {
  struct wo_recording *const recording = wo_recording_new();
  struct wo_intern intern;
  (void)state;
  wo_intern_init(&intern, recording);
  for (uint32_t i = 0; i < MANY; i++) assert_int_equal(add_stack(&intern, i, 1 + i % 5), i);
  const size_t frames = recording->stack_frames.count;
  for (uint32_t i = 0; i < MANY; i++) assert_int_equal(add_stack(&intern, i, 1 + i % 5), i);
  assert_int_equal(recording->stack_frames.count, frames); /* known ones leave nothing behind */
  assert_int_equal(recording->stacks.count, MANY);
  wo_intern_done(&intern);
  wo_recording_free(recording);
}

static void test_streams_and_pools(void **state) {
  struct wo_recording *const recording = wo_recording_new();
  struct wo_intern intern;
  uint32_t id = 7;
  (void)state;
  wo_intern_init(&intern, recording);
  for (int round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < WO_TRACE_STREAMS_MAX; i++) {
      assert_int_equal(wo_intern_stream(&intern, UINT64_C(0x5550000) * i, &id), WO_OK);
      assert_int_equal(id, i);
    }
    for (uint32_t i = 0; i < WO_TRACE_POOLS_MAX; i++) {
      assert_int_equal(wo_intern_pool(&intern, (struct wo_pool_id){i % 2, i}, &id), WO_OK);
      assert_int_equal(id, i);
    }
  }
  assert_int_equal(wo_intern_stream(&intern, 1, &id), WO_E_LIMIT);
  assert_int_equal(wo_intern_pool(&intern, (struct wo_pool_id){9, 9}, &id), WO_E_LIMIT);
  wo_intern_done(&intern);
  wo_recording_free(recording);
}

static void test_no_memory(void **state) {
  char buf[64];
  (void)state;
  bool was_hit = true;
  for (long n = 1; was_hit; n++) {
    struct wo_recording *const recording = wo_recording_new();
    struct wo_intern intern;
    wo_intern_init(&intern, recording);
    wo_fail_alloc_at(n);
    size_t failures = 0;
    for (uint32_t i = 0; i < 300; i++) {
      uint32_t id = 0;
      const enum wo_status status = wo_intern_text(&intern, text_of(i, buf, sizeof buf), &id);
      assert_true(status == WO_OK || status == WO_E_NOMEM);
      failures += status != WO_OK;
    }
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    assert_int_equal(failures, was_hit);
    assert_int_equal(intern.texts.count, 300 - failures);
    wo_intern_done(&intern);
    wo_recording_free(recording);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_frames), cmocka_unit_test(test_stacks),
                                     cmocka_unit_test(test_streams_and_pools), cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests_name("trace_intern", tests, NULL, NULL);
}
