/* SPDX-License-Identifier: Apache-2.0 */
/* Exponents: a step of known dimensions, scaled, must be the step that is made at the other dimensions, byte for byte. */
#include "cuda_replay/change/scale.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "tests/support/replay/class_rules.h"

struct inferred {
  struct wo_made_step step;
  struct wo_classes classes;
  struct wo_exponents exponents;
};

static struct wo_scale_spec spec_of(const struct wo_made_shape *from, uint64_t batch, uint64_t length) {
  struct wo_scale_spec spec = {0};
  spec.axes[WO_AXIS_MICRO_BATCH] = (struct wo_scale_axis){(uint32_t)from->batch, (uint32_t)batch};
  spec.axes[WO_AXIS_SEQ_LEN] = (struct wo_scale_axis){(uint32_t)from->length, (uint32_t)length};
  return spec;
}

static void infer(struct inferred *inferred, const struct wo_made_shape *shape, const struct wo_scale_spec *spec) {
  struct wo_err err = {0};
  inferred->step = wo_made_step_make(shape);
  assert_true(wo_alloc_pattern_is_valid(&inferred->step.pattern));
  assert_int_equal(wo_classify(&inferred->step.pattern, NULL, &inferred->classes), WO_OK);
  enum wo_status status = wo_scale_infer(&inferred->step.pattern, &inferred->classes, spec, &inferred->exponents, &err);
  if (status != WO_OK) fail_msg("%s", err.message);
}

static void inferred_done(struct inferred *inferred) {
  wo_exponents_done(&inferred->exponents);
  wo_classes_done(&inferred->classes);
  wo_made_step_done(&inferred->step);
}

static uint64_t size_at(const struct wo_alloc_pattern *pattern, size_t i) {
  return pattern->instances.items[i].size_bytes;
}

/* Scales a step to another batch and length and compares every allocation with the step that is made there. */
static void check_exact(const struct wo_made_shape *from, uint64_t batch, uint64_t length) {
  struct wo_scale_spec spec = spec_of(from, batch, length);
  struct inferred inferred;
  infer(&inferred, from, &spec);
  struct wo_made_shape target = *from;
  target.batch = batch;
  target.length = length;
  struct wo_made_step wanted = wo_made_step_make(&target);
  struct wo_alloc_pattern scaled;
  assert_int_equal(wo_scale_apply(&inferred.step.pattern, &inferred.exponents, &spec, WO_BOUND_LIKELY, &scaled, NULL), WO_OK);
  assert_int_equal(scaled.instances.count, wanted.pattern.instances.count);
  for (size_t i = 0; i < scaled.instances.count; i++) {
    if (size_at(&scaled, i) == size_at(&wanted.pattern, i)) continue;
    /* A loss over all but the last position: its size may be a multiple of the length as well, which is wrong by one position. */
    uint64_t off = size_at(&wanted.pattern, i) - size_at(&scaled, i);
    if (from->is_shifted && off <= 2 * size_at(&scaled, i) / from->length) continue;
    fail_msg("b %d s %d h %d mixed %d: allocation %zu of %llu bytes became %llu, not %llu (%s; %s)", (int)from->batch,
             (int)from->length, (int)from->hidden, from->is_mixed, i, (unsigned long long)size_at(&inferred.step.pattern, i),
             (unsigned long long)size_at(&scaled, i), (unsigned long long)size_at(&wanted.pattern, i),
             wo_scale_reason_text(inferred.exponents.list.items[i].reason),
             class_rules[inferred.classes.marks.items[i].rule].text);
  }
  wo_alloc_pattern_done(&scaled);
  wo_made_step_done(&wanted);
  inferred_done(&inferred);
}

/* Dimensions that share no factor, powers of two that collide in every way, a length that is the hidden size. */
static const struct wo_made_shape shapes[] = {
    {.batch = 3, .length = 100, .hidden = 96, .heads = 4, .layers = 3, .vocabulary = 1000},
    {.batch = 4, .length = 128, .hidden = 256, .heads = 4, .layers = 4, .vocabulary = 1000},
    {.batch = 2, .length = 128, .hidden = 128, .heads = 8, .layers = 2, .vocabulary = 512},
    {.batch = 8, .length = 64, .hidden = 512, .heads = 8, .layers = 2, .vocabulary = 2048},
    {.batch = 1, .length = 77, .hidden = 64, .heads = 2, .layers = 5, .vocabulary = 49408},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void scales_exactly(void **state) {
  (void)state;
  for (size_t i = 0; i < SHAPES; i++) {
    for (unsigned variant = 0; variant < 16; variant++) {
      struct wo_made_shape shape = shapes[i];
      shape.is_shifted = (variant & 8) != 0;
      shape.is_mixed = (variant & 1) != 0;
      shape.is_fused = (variant & 2) != 0;
      shape.is_in_place = (variant & 4) != 0;
      check_exact(&shape, shape.batch, 2 * shape.length);
      check_exact(&shape, 2 * shape.batch, shape.length);
      check_exact(&shape, 5 * shape.batch, 3 * shape.length);
      check_exact(&shape, shape.batch, shape.length);
    }
  }
}

/* Softmax written by hand, and functions whose names say nothing: reductions by the length show the scores. Where the length is a
 * width of the model as well, only names can tell them from norms. */
static void manual_softmax_scales_exactly(void **state) {
  (void)state;
  for (size_t i = 0; i < SHAPES; i++) {
    for (unsigned variant = 0; variant < 4; variant++) {
      struct wo_made_shape shape = shapes[i];
      shape.is_manual = true;
      shape.is_mixed = (variant & 1) != 0;
      shape.is_unnamed = (variant & 2) != 0 && shape.length != shape.hidden;
      check_exact(&shape, shape.batch, 2 * shape.length);
      check_exact(&shape, 3 * shape.batch, shape.length);
      shape.is_manual = false;
      check_exact(&shape, shape.batch, 2 * shape.length);
    }
  }
}

/* With gradient accumulation the later gradients are temporaries: where their sizes occur nowhere in forward they are known for
 * what they are. */
static void accumulation_scales_exactly(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 4; variant++) {
    struct wo_made_shape shape = shapes[0];
    shape.is_mixed = (variant & 1) != 0;
    shape.is_in_place = (variant & 2) != 0;
    shape.is_accumulated = true;
    check_exact(&shape, shape.batch, 2 * shape.length);
    check_exact(&shape, 2 * shape.batch, shape.length);
  }
}

/* The first `count` requests of a step, as a recording that was cut, or of a run that died. */
static void cut(struct wo_made_step *step, size_t count) {
  struct wo_alloc_pattern *pattern = &step->pattern;
  pattern->requests.count = count;
  while (pattern->instances.count > pattern->start_count &&
         pattern->instances.items[pattern->instances.count - 1].birth >= count) {
    pattern->instances.count--;
  }
  for (size_t i = 0; i < pattern->instances.count; i++) {
    struct wo_instance *instance = &pattern->instances.items[i];
    if (instance->death != WO_NO_REQUEST && instance->death >= count) instance->death = WO_NO_REQUEST;
  }
  assert_true(wo_alloc_pattern_is_valid(pattern));
}

/* Jobs that die leave recordings that end anywhere; what they hold must scale as well, or be an interval that holds the truth. */
static void cut_recordings_scale(void **state) {
  (void)state;
  for (unsigned part = 1; part < 40; part++) {
    struct wo_made_shape shape = shapes[0], longer = shapes[0];
    shape.is_mixed = longer.is_mixed = true;
    longer.length *= 2;
    struct wo_scale_spec spec = spec_of(&shape, shape.batch, longer.length);
    struct inferred inferred = {.step = wo_made_step_make(&shape)};
    struct wo_made_step wanted = wo_made_step_make(&longer);
    struct wo_alloc_pattern bounds[WO_BOUND_COUNT_];
    size_t unsure = 0, count = wanted.pattern.requests.count * part / 40;
    cut(&inferred.step, count);
    cut(&wanted, count);
    assert_int_equal(wo_classify(&inferred.step.pattern, NULL, &inferred.classes), WO_OK);
    assert_int_equal(wo_scale_infer(&inferred.step.pattern, &inferred.classes, &spec, &inferred.exponents, NULL), WO_OK);
    for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) {
      assert_int_equal(wo_scale_apply(&inferred.step.pattern, &inferred.exponents, &spec, bound, &bounds[bound], NULL), WO_OK);
    }
    for (size_t i = 0; i < wanted.pattern.instances.count; i++) {
      uint64_t truth = size_at(&wanted.pattern, i);
      if (size_at(&bounds[WO_BOUND_LIKELY], i) == truth) continue;
      unsure++;
      if (size_at(&bounds[WO_BOUND_LOW], i) <= truth && truth <= size_at(&bounds[WO_BOUND_HIGH], i)) continue;
      fail_msg("%u of 40: allocation %zu of %llu bytes (%s; %s)", part, i, (unsigned long long)size_at(&inferred.step.pattern, i),
               wo_scale_reason_text(inferred.exponents.list.items[i].reason),
               class_rules[inferred.classes.marks.items[i].rule].text);
    }
    if (unsure > 4) fail_msg("%u of 40: %zu are unsure", part, unsure);
    for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) wo_alloc_pattern_done(&bounds[bound]);
    wo_made_step_done(&wanted);
    inferred_done(&inferred);
  }
}

static void shrinks_exactly(void **state) {
  (void)state;
  for (size_t i = 0; i < SHAPES; i++) {
    struct wo_made_shape shape = shapes[i];
    shape.is_mixed = true;
    if (shape.length % 2 == 0) check_exact(&shape, shape.batch, shape.length / 2);
    if (shape.batch % 2 == 0) check_exact(&shape, shape.batch / 2, shape.length);
  }
}

static void identity_changes_nothing(void **state) {
  (void)state;
  for (unsigned stacks = WO_MADE_BOTH; stacks <= WO_MADE_NONE; stacks++) {
    struct wo_made_shape shape = shapes[1];
    shape.stacks = (enum wo_made_stacks)stacks;
    struct wo_scale_spec spec = spec_of(&shape, shape.batch, shape.length);
    struct inferred inferred;
    infer(&inferred, &shape, &spec);
    for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) {
      struct wo_alloc_pattern scaled;
      assert_int_equal(wo_scale_apply(&inferred.step.pattern, &inferred.exponents, &spec, bound, &scaled, NULL), WO_OK);
      for (size_t i = 0; i < scaled.instances.count; i++) {
        assert_int_equal(size_at(&scaled, i), size_at(&inferred.step.pattern, i));
      }
      wo_alloc_pattern_done(&scaled);
    }
    inferred_done(&inferred);
  }
}

/* With another size the plan of a convolution may need no workspace; with the same it has that of the recording. */
static void another_plan_may_need_no_workspace(void **state) {
  (void)state;
  const struct wo_made_shape *const shape = &shapes[1];
  const struct wo_scale_spec larger = spec_of(shape, 2 * shape->batch, shape->length),
                             same = spec_of(shape, shape->batch, shape->length);
  struct inferred inferred;
  infer(&inferred, shape, &larger);
  const size_t plan = inferred.step.pattern.instances.count / 2;
  const uint64_t size_bytes = size_at(&inferred.step.pattern, plan);
  inferred.exponents.list.items[plan] = (struct wo_exponent){
      .reason = WO_SCALE_REASON_PLAN, .power[WO_AXIS_MICRO_BATCH] = {[WO_BOUND_LIKELY] = 1, [WO_BOUND_HIGH] = 1}};
  for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) {
    struct wo_alloc_pattern scaled;
    assert_int_equal(wo_scale_apply(&inferred.step.pattern, &inferred.exponents, &larger, bound, &scaled, NULL), WO_OK);
    assert_int_equal(size_at(&scaled, plan), bound == WO_BOUND_LOW ? 1 : 2 * size_bytes);
    wo_alloc_pattern_done(&scaled);
    assert_int_equal(wo_scale_apply(&inferred.step.pattern, &inferred.exponents, &same, bound, &scaled, NULL), WO_OK);
    assert_int_equal(size_at(&scaled, plan), size_bytes);
    wo_alloc_pattern_done(&scaled);
  }
  inferred_done(&inferred);
}

/* Bytes of everything made while recording, at one end of the interval. */
static double made_bytes(const struct wo_alloc_pattern *pattern) {
  double bytes = 0;
  for (size_t i = pattern->start_count; i < pattern->instances.count; i++) bytes += (double)size_at(pattern, i);
  return bytes;
}

static double bound_bytes(const struct inferred *inferred, const struct wo_scale_spec *spec, enum wo_bound bound) {
  struct wo_alloc_pattern scaled;
  assert_int_equal(wo_scale_apply(&inferred->step.pattern, &inferred->exponents, spec, bound, &scaled, NULL), WO_OK);
  double bytes = made_bytes(&scaled);
  wo_alloc_pattern_done(&scaled);
  return bytes;
}

/* With less evidence the truth must stay inside of the interval, growing and shrinking. */
static void interval_holds_truth(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 8; variant++) {
    struct wo_made_shape shape = shapes[variant % 2];
    shape.is_mixed = (variant & 2) != 0;
    shape.stacks = (variant & 4) != 0 ? WO_MADE_NONE : WO_MADE_PYTHON;
    for (unsigned grows = 0; grows < 2; grows++) {
      uint64_t length = grows ? 4 * shape.length : shape.length / 2;
      struct wo_scale_spec spec = spec_of(&shape, shape.batch, length);
      struct inferred inferred;
      infer(&inferred, &shape, &spec);
      struct wo_made_shape target = shape;
      target.length = length;
      struct wo_made_step wanted = wo_made_step_make(&target);
      double low = bound_bytes(&inferred, &spec, WO_BOUND_LOW), high = bound_bytes(&inferred, &spec, WO_BOUND_HIGH);
      double likely = bound_bytes(&inferred, &spec, WO_BOUND_LIKELY), truth = made_bytes(&wanted.pattern);
      if (low > truth || truth > high || low > likely || likely > high) {
        fail_msg("variant %u grows %u: %.0f <= %.0f (true %.0f) <= %.0f", variant, grows, low, likely, truth, high);
      }
      wo_made_step_done(&wanted);
      inferred_done(&inferred);
    }
  }
}

static void bounds_are_ordered(void **state) {
  (void)state;
  struct wo_made_shape shape = shapes[1];
  struct wo_scale_spec spec = spec_of(&shape, 8, 256);
  for (unsigned stacks = WO_MADE_BOTH; stacks <= WO_MADE_NONE; stacks++) {
    struct inferred inferred;
    shape.stacks = (enum wo_made_stacks)stacks;
    infer(&inferred, &shape, &spec);
    for (size_t i = 0; i < inferred.exponents.list.count; i++) {
      const struct wo_exponent *exponent = &inferred.exponents.list.items[i];
      for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++) {
        assert_true(exponent->power[id][WO_BOUND_LOW] <= exponent->power[id][WO_BOUND_LIKELY]);
        assert_true(exponent->power[id][WO_BOUND_LIKELY] <= exponent->power[id][WO_BOUND_HIGH]);
        assert_true(exponent->power[id][WO_BOUND_HIGH] <= (id == WO_AXIS_SEQ_LEN ? 2 : 1));
      }
      assert_true(exponent->reason < WO_SCALE_REASON_COUNT_);
    }
    inferred_done(&inferred);
  }
}

/* A length that only the requests from the middle on have: these are scaled as ever, those before as by the batch alone. */
static void window_has_the_length(void **state) {
  (void)state;
  const struct wo_made_shape *const shape = &shapes[1];
  struct wo_scale_spec specs[] = {spec_of(shape, 2 * shape->batch, 2 * shape->length), spec_of(shape, 2 * shape->batch, 0),
                                  spec_of(shape, 2 * shape->batch, 2 * shape->length)};
  struct inferred inferred[3];
  struct wo_alloc_pattern scaled[3];
  specs[1].axes[WO_AXIS_SEQ_LEN] = (struct wo_scale_axis){0, 0};
  struct wo_made_step step = wo_made_step_make(shape);
  const uint32_t middle = (uint32_t)step.pattern.requests.count / 2;
  wo_made_step_done(&step);
  specs[2].length_first = middle;
  specs[2].length_end = UINT32_MAX;
  for (size_t k = 0; k < 3; k++) {
    infer(&inferred[k], shape, &specs[k]);
    assert_int_equal(
        wo_scale_apply(&inferred[k].step.pattern, &inferred[k].exponents, &specs[k], WO_BOUND_LIKELY, &scaled[k], NULL), WO_OK);
  }
  size_t longer = 0;
  for (size_t i = 0; i < scaled[2].instances.count; i++) {
    const bool is_inside = i >= scaled[2].start_count && scaled[2].instances.items[i].birth >= middle;
    assert_int_equal(size_at(&scaled[2], i), size_at(&scaled[is_inside ? 0 : 1], i));
    longer += size_at(&scaled[0], i) > size_at(&scaled[1], i) && is_inside;
  }
  assert_true(longer > 10);
  for (size_t k = 0; k < 3; k++) {
    wo_alloc_pattern_done(&scaled[k]);
    inferred_done(&inferred[k]);
  }
}

static void wrong_length_is_told(void **state) {
  (void)state;
  struct wo_made_shape shape = shapes[1];
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_classes classes;
  struct wo_exponents exponents;
  struct wo_scale_spec spec = spec_of(&shape, shape.batch, 14);
  struct wo_err err = {0};
  spec.axes[WO_AXIS_SEQ_LEN].from = 7;
  assert_int_equal(wo_classify(&step.pattern, NULL, &classes), WO_OK);
  assert_int_equal(wo_scale_infer(&step.pattern, &classes, &spec, &exponents, &err), WO_E_RANGE);
  assert_non_null(strstr(err.message, "seq_len=7 cannot be"));
  wo_classes_done(&classes);
  wo_made_step_done(&step);
}

static void too_large_is_told(void **state) {
  (void)state;
  struct wo_made_shape shape = shapes[1];
  struct wo_scale_spec spec = spec_of(&shape, UINT32_C(1) << 31, UINT32_C(1) << 31);
  struct inferred inferred;
  struct wo_alloc_pattern scaled;
  struct wo_err err = {0};
  infer(&inferred, &shape, &spec);
  assert_int_equal(wo_scale_apply(&inferred.step.pattern, &inferred.exponents, &spec, WO_BOUND_LIKELY, &scaled, &err),
                   WO_E_RANGE);
  assert_non_null(strstr(err.message, "2^60"));
  inferred_done(&inferred);
}

static void empty_pattern_is_fine(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_alloc_pattern pattern = {.recording = recording}, scaled;
  struct wo_classes classes;
  struct wo_exponents exponents;
  struct wo_scale_spec spec = {.axes = {{1, 2}, {1, 2}}};
  assert_int_equal(wo_classify(&pattern, NULL, &classes), WO_OK);
  assert_int_equal(wo_scale_infer(&pattern, &classes, &spec, &exponents, NULL), WO_OK);
  assert_int_equal(wo_scale_apply(&pattern, &exponents, &spec, WO_BOUND_HIGH, &scaled, NULL), WO_OK);
  assert_int_equal(scaled.instances.count, 0);
  wo_alloc_pattern_done(&scaled);
  wo_exponents_done(&exponents);
  wo_classes_done(&classes);
  wo_recording_free(recording);
}

/* Every allocation fails once: the status says so and nothing leaks (the sanitizer build looks). */
static void memory_out_is_told(void **state) {
  (void)state;
  struct wo_made_shape shape = shapes[2];
  shape.is_mixed = true;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_scale_spec spec = spec_of(&shape, 4, 256);
  for (long n = 1;; n++) {
    struct wo_classes classes;
    struct wo_exponents exponents;
    struct wo_alloc_pattern scaled;
    wo_fail_alloc_at(n);
    enum wo_status status = wo_classify(&step.pattern, NULL, &classes);
    if (status == WO_OK) {
      status = wo_scale_infer(&step.pattern, &classes, &spec, &exponents, NULL);
      if (status == WO_OK) {
        status = wo_scale_apply(&step.pattern, &exponents, &spec, WO_BOUND_LIKELY, &scaled, NULL);
        if (status == WO_OK) wo_alloc_pattern_done(&scaled);
        wo_exponents_done(&exponents);
      }
      wo_classes_done(&classes);
    }
    wo_fail_alloc_off();
    if (!wo_fail_alloc_hit()) {
      assert_int_equal(status, WO_OK);
      assert_true(n > 10);
      break;
    }
    assert_int_equal(status, WO_E_NOMEM);
  }
  wo_made_step_done(&step);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scales_exactly),
      cmocka_unit_test(shrinks_exactly),
      cmocka_unit_test(accumulation_scales_exactly),
      cmocka_unit_test(manual_softmax_scales_exactly),
      cmocka_unit_test(cut_recordings_scale),
      cmocka_unit_test(identity_changes_nothing),
      cmocka_unit_test(another_plan_may_need_no_workspace),
      cmocka_unit_test(interval_holds_truth),
      cmocka_unit_test(bounds_are_ordered),
      cmocka_unit_test(window_has_the_length),
      cmocka_unit_test(wrong_length_is_told),
      cmocka_unit_test(too_large_is_told),
      cmocka_unit_test(empty_pattern_is_fine),
      cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
