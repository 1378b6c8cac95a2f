/* SPDX-License-Identifier: Apache-2.0 */
/* Exponents read off two recordings of a made step: they must scale the first to the second exactly, also when operators are
 * missing on one side; what does not fit is rejected with its reason. */
#include "cuda_replay/change/scale_from_two.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"

static const struct wo_made_shape shape = {
    .batch = 4, .length = 128, .hidden = 256, .heads = 4, .layers = 4, .vocabulary = 1000, .is_mixed = true};

static struct wo_made_step made_at(uint64_t batch, uint64_t length) {
  struct wo_made_shape other = shape;
  other.batch = batch;
  other.length = length;
  return wo_made_step_make(&other);
}

static void check(uint64_t batch, uint64_t length, enum wo_scale_axis_id axis, uint32_t over, uint32_t under) {
  struct wo_made_step first = wo_made_step_make(&shape), second = made_at(batch, length);
  struct wo_exponents exponents;
  struct wo_scale_from_two pair;
  struct wo_err err = {0};
  struct wo_alloc_pattern scaled;
  enum wo_status status = wo_scale_from_two_infer(&first.pattern, &second.pattern, axis, NULL, &exponents, &pair, &err);
  if (status != WO_OK) fail_msg("%s", err.message);
  assert_int_equal(pair.ratio_over, over);
  assert_int_equal(pair.ratio_under, under);
  assert_int_equal(pair.matched, pair.count);
  assert_int_equal(pair.others, 0);
  struct wo_scale_spec spec = {0};
  spec.axes[axis] = axis == WO_AXIS_SEQ_LEN ? (struct wo_scale_axis){(uint32_t)shape.length, (uint32_t)length}
                                            : (struct wo_scale_axis){(uint32_t)shape.batch, (uint32_t)batch};
  assert_int_equal(wo_scale_apply(&first.pattern, &exponents, &spec, WO_BOUND_LIKELY, &scaled, NULL), WO_OK);
  for (size_t i = first.pattern.start_count; i < scaled.instances.count; i++) {
    assert_int_equal(scaled.instances.items[i].size_bytes, second.pattern.instances.items[i].size_bytes);
  }
  wo_alloc_pattern_done(&scaled);
  wo_exponents_done(&exponents);
  wo_made_step_done(&first);
  wo_made_step_done(&second);
}

static void reads_ratios(void **state) {
  (void)state;
  check(4, 256, WO_AXIS_SEQ_LEN, 2, 1);
  check(4, 64, WO_AXIS_SEQ_LEN, 1, 2);
  check(4, 192, WO_AXIS_SEQ_LEN, 3, 2);
  check(16, 128, WO_AXIS_MICRO_BATCH, 4, 1);
}

/* Copies a pattern without every n-th allocation that was made while recording. */
static struct wo_alloc_pattern without_some(const struct wo_alloc_pattern *from, size_t every) {
  struct wo_alloc_pattern to = {.recording = from->recording};
  static uint32_t now[20000];
  for (size_t i = 0; i < from->start_count; i++) {
    assert_true(wo_alloc_pattern_add_start(&to, from->instances.items[i]));
    now[i] = (uint32_t)i;
  }
  for (size_t r = 0; r < from->requests.count; r++) {
    struct wo_request request = from->requests.items[r];
    bool is_dropped = request.subject >= from->start_count && request.subject % every == 0;
    if (is_dropped) continue;
    if (request.kind == WO_REQUEST_ALLOC) {
      assert_true(wo_alloc_pattern_add_alloc(&to, from->instances.items[request.subject], WO_NO_ENTRY, &now[request.subject]));
    } else {
      request.subject = now[request.subject];
      assert_true(wo_alloc_pattern_add_request(&to, request));
    }
  }
  return to;
}

static void missing_operators_are_bridged(void **state) {
  (void)state;
  struct wo_made_step first = wo_made_step_make(&shape), second = made_at(4, 256);
  struct wo_alloc_pattern fewer = without_some(&second.pattern, 13);
  struct wo_exponents exponents;
  struct wo_scale_from_two pair;
  struct wo_alloc_pattern scaled;
  struct wo_err err = {0};
  struct wo_scale_spec spec = {0};
  spec.axes[WO_AXIS_SEQ_LEN] = (struct wo_scale_axis){128, 256};
  enum wo_status status = wo_scale_from_two_infer(&first.pattern, &fewer, WO_AXIS_SEQ_LEN, NULL, &exponents, &pair, &err);
  if (status != WO_OK) fail_msg("%s", err.message);
  assert_true(pair.matched < pair.count && pair.matched * 100 > pair.count * 90);
  assert_int_equal(wo_scale_apply(&first.pattern, &exponents, &spec, WO_BOUND_LIKELY, &scaled, NULL), WO_OK);
  size_t wrong = 0;
  for (size_t i = first.pattern.start_count; i < scaled.instances.count; i++) {
    wrong += scaled.instances.items[i].size_bytes != second.pattern.instances.items[i].size_bytes;
  }
  /* Siblings stand in for the missing; neighbours of one stack may be taken for each other. */
  assert_true(wrong * 50 < scaled.instances.count);
  wo_alloc_pattern_done(&scaled);
  wo_exponents_done(&exponents);
  wo_alloc_pattern_done(&fewer);
  wo_made_step_done(&first);
  wo_made_step_done(&second);
}

static void expect_rejected(const struct wo_alloc_pattern *first, const struct wo_alloc_pattern *second, const char *says) {
  struct wo_exponents exponents;
  struct wo_scale_from_two pair;
  struct wo_err err = {0};
  assert_int_equal(wo_scale_from_two_infer(first, second, WO_AXIS_SEQ_LEN, NULL, &exponents, &pair, &err), WO_E_RANGE);
  if (strstr(err.message, says) == NULL) fail_msg("%s", err.message);
}

static void misfits_are_rejected(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape), longer = made_at(4, 256), both = made_at(28, 1280);
  struct wo_alloc_pattern half = without_some(&longer.pattern, 2);
  struct wo_recording *recording = wo_recording_new();
  struct wo_alloc_pattern empty = {.recording = recording};
  expect_rejected(&step.pattern, &step.pattern, "no ratio of sizes is common");
  expect_rejected(&step.pattern, &half, "same stack in the same order");
  expect_rejected(&step.pattern, &empty, "same stack in the same order");
  expect_rejected(&step.pattern, &both.pattern, "other ratios");
  wo_recording_free(recording);
  wo_alloc_pattern_done(&half);
  wo_made_step_done(&step);
  wo_made_step_done(&longer);
  wo_made_step_done(&both);
}

/* A model of twice the width has the same stacks in the same order, and parameters of other sizes. */
static void other_models_are_rejected(void **state) {
  (void)state;
  struct wo_made_shape wide = shape;
  wide.hidden *= 2;
  struct wo_made_step first = wo_made_step_make(&shape), second = wo_made_step_make(&wide);
  struct wo_scale_spec spec = {0};
  spec.axes[WO_AXIS_MICRO_BATCH] = (struct wo_scale_axis){(uint32_t)shape.batch, 2 * (uint32_t)shape.batch};
  spec.axes[WO_AXIS_SEQ_LEN] = (struct wo_scale_axis){(uint32_t)shape.length, (uint32_t)shape.length};
  struct wo_classes classes;
  struct wo_exponents inferred, exponents;
  struct wo_scale_from_two pair;
  struct wo_err err = {0};
  assert_int_equal(wo_classify(&first.pattern, NULL, &classes), WO_OK);
  assert_int_equal(wo_scale_infer(&first.pattern, &classes, &spec, &inferred, &err), WO_OK);
  assert_int_equal(
      wo_scale_from_two_infer(&first.pattern, &second.pattern, WO_AXIS_MICRO_BATCH, &inferred, &exponents, &pair, &err),
      WO_E_RANGE);
  if (strstr(err.message, "of another model") == NULL) fail_msg("%s", err.message);
  wo_exponents_done(&inferred);
  wo_classes_done(&classes);
  wo_made_step_done(&first);
  wo_made_step_done(&second);
}

/* A few odd sizes (scratch of a kernel) stay between the powers that they lie between. */
static void odd_sizes_are_intervals(void **state) {
  (void)state;
  struct wo_made_step first = wo_made_step_make(&shape), second = made_at(4, 256);
  struct wo_exponents exponents;
  struct wo_scale_from_two pair;
  size_t at = first.pattern.instances.count - 1;
  first.pattern.instances.items[at].size_bytes = 1000000;
  second.pattern.instances.items[at].size_bytes = 1680000;
  assert_int_equal(wo_scale_from_two_infer(&first.pattern, &second.pattern, WO_AXIS_SEQ_LEN, NULL, &exponents, &pair, NULL),
                   WO_OK);
  assert_int_equal(pair.others, 1);
  const uint8_t *power = exponents.list.items[at].power[WO_AXIS_SEQ_LEN];
  assert_int_equal(power[WO_BOUND_LOW], 0);
  assert_int_equal(power[WO_BOUND_LIKELY], 1);
  assert_int_equal(power[WO_BOUND_HIGH], 1);
  assert_int_equal(exponents.list.items[at].reason, WO_SCALE_REASON_PAIR_ODD);
  wo_exponents_done(&exponents);
  wo_made_step_done(&first);
  wo_made_step_done(&second);
}

static void memory_out_is_told(void **state) {
  (void)state;
  struct wo_made_step first = wo_made_step_make(&shape), second = made_at(4, 256);
  for (long n = 1;; n++) {
    struct wo_exponents exponents;
    struct wo_scale_from_two pair;
    wo_fail_alloc_at(n);
    enum wo_status status =
        wo_scale_from_two_infer(&first.pattern, &second.pattern, WO_AXIS_SEQ_LEN, NULL, &exponents, &pair, NULL);
    wo_fail_alloc_off();
    if (status == WO_OK) wo_exponents_done(&exponents);
    if (!wo_fail_alloc_hit()) break;
    assert_int_equal(status, WO_E_NOMEM);
  }
  wo_made_step_done(&first);
  wo_made_step_done(&second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_ratios),
      cmocka_unit_test(missing_operators_are_bridged),
      cmocka_unit_test(misfits_are_rejected),
      cmocka_unit_test(other_models_are_rejected),
      cmocka_unit_test(odd_sizes_are_intervals),
      cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
