/* SPDX-License-Identifier: Apache-2.0 */
/* Forecasts: a made step, scaled and run, must need exactly what the step made at the other sizes needs. */
#include "cuda_replay/whatif/forecast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"

static const struct wo_made_shape shape = {
    .batch = 4, .length = 256, .hidden = 320, .heads = 5, .layers = 3, .vocabulary = 1000, .is_mixed = true};

static struct wo_steady_options plain(void) {
  return (struct wo_steady_options){.settings = wo_alloc_settings_default(206), .torch = 206};
}

static enum wo_status forecast(const struct wo_made_shape *made, const struct wo_scale_spec *spec,
                               struct wo_forecast *ret_forecast) {
  struct wo_made_step step = wo_made_step_make(made);
  struct wo_steady_options options = plain();
  struct wo_classes classes;
  struct wo_exponents exponents;
  enum wo_status status = wo_classify(&step.pattern, NULL, &classes);
  if (status == WO_OK) {
    status = wo_scale_infer(&step.pattern, &classes, spec, &exponents, NULL);
    if (status == WO_OK) {
      status = wo_forecast_run(&step.pattern, &exponents, spec, &options, ret_forecast, NULL);
      wo_exponents_done(&exponents);
    }
    wo_classes_done(&classes);
  }
  wo_made_step_done(&step);
  return status;
}

static void forecast_is_the_other_run(void **state) {
  (void)state;
  static const uint32_t targets[][2] = {{4, 512}, {8, 256}, {2, 256}, {4, 128}, {4, 256}, {12, 768}};
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    struct wo_scale_spec spec = {.axes = {{4, targets[i][0]}, {256, targets[i][1]}}};
    struct wo_made_shape target = shape;
    struct wo_steady_options options = plain();
    struct wo_forecast predicted;
    struct wo_steady real;
    target.batch = targets[i][0];
    target.length = targets[i][1];
    struct wo_made_step step = wo_made_step_make(&target);
    assert_int_equal(wo_steady_run(&step.pattern, &options, &real, NULL), WO_OK);
    assert_int_equal(forecast(&shape, &spec, &predicted), WO_OK);
    const struct wo_steady_pass *pass = wo_steady_last(&predicted.likely);
    assert_int_equal(pass->allocated_bytes, wo_steady_last(&real)->allocated_bytes);
    assert_int_equal(pass->reserved_bytes, wo_steady_last(&real)->reserved_bytes);
    assert_int_equal(pass->allocated_at, wo_steady_last(&real)->allocated_at);
    wo_made_step_done(&step);
  }
}

/* The reasons add up to no more than what was requested at the peak. */
static void shares_add_up(void **state) {
  (void)state;
  struct wo_scale_spec spec = {.axes = {{4, 4}, {256, 512}}};
  struct wo_forecast predicted;
  uint64_t by_reason = 0;
  assert_int_equal(forecast(&shape, &spec, &predicted), WO_OK);
  for (int i = 0; i < WO_SCALE_REASON_COUNT_; i++) by_reason += predicted.reason_bytes[i];
  assert_true(by_reason > 0 && by_reason <= wo_steady_last(&predicted.likely)->requested_bytes);
  assert_true(predicted.reason_bytes[WO_SCALE_REASON_SCORES] > 0);
  assert_true(predicted.unsure_bytes <= by_reason / 100);
}

/* The peak of allocated bytes at one end of the interval. */
static uint64_t peak_at(const struct wo_made_shape *made, const struct wo_scale_spec *spec, enum wo_bound bound) {
  struct wo_made_step step = wo_made_step_make(made);
  struct wo_steady_options options = plain();
  struct wo_classes classes;
  struct wo_exponents exponents;
  struct wo_alloc_pattern scaled;
  struct wo_steady steady;
  assert_int_equal(wo_classify(&step.pattern, NULL, &classes), WO_OK);
  assert_int_equal(wo_scale_infer(&step.pattern, &classes, spec, &exponents, NULL), WO_OK);
  assert_int_equal(wo_scale_apply(&step.pattern, &exponents, spec, bound, &scaled, NULL), WO_OK);
  assert_int_equal(wo_steady_run(&scaled, &options, &steady, NULL), WO_OK);
  wo_alloc_pattern_done(&scaled);
  wo_exponents_done(&exponents);
  wo_classes_done(&classes);
  wo_made_step_done(&step);
  return wo_steady_last(&steady)->allocated_bytes;
}

/* The less is known, the wider: operators, then names, then nothing. */
static void evidence_narrows(void **state) {
  (void)state;
  struct wo_scale_spec spec = {.axes = {{4, 4}, {256, 512}}};
  uint64_t last = 0;
  for (unsigned stacks = WO_MADE_BOTH; stacks <= WO_MADE_NONE; stacks++) {
    struct wo_made_shape made = shape;
    made.stacks = (enum wo_made_stacks)stacks;
    const uint64_t low = peak_at(&made, &spec, WO_BOUND_LOW), high = peak_at(&made, &spec, WO_BOUND_HIGH);
    assert_true(low <= high && high - low >= last);
    last = high - low;
  }
  assert_true(last > 0);
}

static void memory_out_is_told(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_steady_options options = plain();
  struct wo_scale_spec spec = {.axes = {{4, 4}, {256, 512}}};
  struct wo_classes classes;
  struct wo_exponents exponents;
  assert_int_equal(wo_classify(&step.pattern, NULL, &classes), WO_OK);
  assert_int_equal(wo_scale_infer(&step.pattern, &classes, &spec, &exponents, NULL), WO_OK);
  for (long n = 1;; n += n < 30 ? 1 : 13) {
    struct wo_forecast predicted;
    wo_fail_alloc_at(n);
    enum wo_status status = wo_forecast_run(&step.pattern, &exponents, &spec, &options, &predicted, NULL);
    wo_fail_alloc_off();
    if (!wo_fail_alloc_hit()) break;
    assert_int_equal(status, WO_E_NOMEM);
  }
  wo_exponents_done(&exponents);
  wo_classes_done(&classes);
  wo_made_step_done(&step);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forecast_is_the_other_run),
      cmocka_unit_test(shares_add_up),
      cmocka_unit_test(evidence_narrows),
      cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
