/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions against real pairs of runs: from one recording, and with the pair given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cuda_replay/whatif/forecast.h"
#include "cuda_replay/classes/iterations.h"
#include "cuda_replay/change/scale_from_two.h"
#include "tests/support/recording/shared_traces.h"

/* A recording, what is asked of it, and the real figures of the run that it predicts (its own where nothing is scaled). Bounds in
 * percent: of one recording, and with the other run given as `pair`. */
struct prediction {
  const char *name;
  const char *pair;
  const char *spec;
  uint64_t allocated_bytes, reserved_bytes;
  double allocated_pct, reserved_pct;
};

static const struct prediction predictions[] = {
    {"lm-ctx256-fullstep-torch2.6.pickle", "lm-ctx512-fullstep-torch2.6.pickle", "seq_len=256:512", 55003351552, 62830673920, 1,
     3},
    {"lm-medium512-training-torch2.11.pickle", "lm-medium1024-training-torch2.11.pickle", "seq_len=512:1024", 24213918720,
     25178406912, 1, 3},
    {"lm-ctx512-fullstep-torch2.6.pickle", "lm-ctx256-fullstep-torch2.6.pickle", "seq_len=512:256", 54961465856, 61111009280, 1,
     3},
    {"lm-medium1024-training-torch2.11.pickle", "lm-medium512-training-torch2.11.pickle", "seq_len=1024:512", 12434494464,
     12660506624, 1, 3},
    {"lm-ctx512-fullstep-torch2.6.pickle", NULL, "seq_len=512:512", 55003351552, 62830673920, 0.05, 1},
    {"lm-medium512-training-torch2.11.pickle", NULL, "micro_batch=4:4", 12434494464, 12660506624, 0.05, 1},
    {"trainstep-torch2.1.pickle", NULL, "seq_len=1000:1000", 5914094592, 6471811072, 0.05, 1},
    {"lm-ctx512-forward-mixed-torch2.6.pickle", NULL, "seq_len=512:512", 39996685312, 40514879488, 0.05, 1},
    {"fromempty-torch2.6.pickle", NULL, "seq_len=512:512", 3249144832, 3781165056, 0, 0},
};

enum { PREDICTIONS = sizeof predictions / sizeof predictions[0] };

static void expect_near(const struct prediction *prediction, const char *what, uint64_t predicted, uint64_t real, double pct) {
  double error_pct = 100 * ((double)predicted / (double)real - 1);
  printf("%s %s: %s %llu, real %llu, %+.3f %%\n", prediction->name, prediction->spec, what, (unsigned long long)predicted,
         (unsigned long long)real, error_pct);
  if (error_pct > pct || error_pct < -pct) fail_msg("%s is off by %.3f %%", what, error_pct);
}

static void forecast(const struct wo_shared_trace *trace, const struct wo_exponents *exponents, const struct wo_scale_spec *spec,
                     struct wo_forecast *ret_forecast) {
  struct wo_err err = {0};
  struct wo_steady_options options = {.settings = wo_alloc_settings_default(206), .torch = 206};
  uint64_t last = 0;
  if (wo_forecast_run(&trace->pattern, exponents, spec, &options, ret_forecast, &err) != WO_OK) fail_msg("%s", err.message);
  for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) {
    struct wo_alloc_pattern scaled;
    struct wo_steady steady;
    if (wo_scale_apply(&trace->pattern, exponents, spec, bound, &scaled, &err) != WO_OK) fail_msg("%s", err.message);
    if (wo_steady_run(&scaled, &options, &steady, &err) != WO_OK) fail_msg("%s", err.message);
    assert_true(steady.is_stable && wo_steady_last(&steady)->allocated_bytes >= last);
    last = wo_steady_last(&steady)->allocated_bytes;
    wo_alloc_pattern_done(&scaled);
  }
}

/* What is alive at the peak is all of it. */
static void check_shares(const struct wo_forecast *forecast) {
  uint64_t by_reason = 0;
  for (int i = 0; i < WO_SCALE_REASON_COUNT_; i++) by_reason += forecast->reason_bytes[i];
  const uint64_t allocated = wo_steady_last(&forecast->likely)->allocated_bytes;
  assert_true(by_reason <= allocated && by_reason > allocated / 10 * 9);
}

static void predict_pair(const struct prediction *prediction, const struct wo_shared_trace *trace,
                         const struct wo_exponents *inferred, const struct wo_scale_spec *spec) {
  struct wo_shared_trace other;
  struct wo_exponents exponents;
  struct wo_scale_from_two pair;
  struct wo_err err = {0};
  struct wo_forecast result;
  if (!wo_shared_trace_open(prediction->pair, &other)) return;
  enum wo_status status =
      wo_scale_from_two_infer(&trace->pattern, &other.pattern, WO_AXIS_SEQ_LEN, inferred, &exponents, &pair, &err);
  if (status != WO_OK) fail_msg("%s", err.message);
  assert_int_equal(pair.matched, pair.count);
  assert_true(pair.others <= 2);
  forecast(trace, &exponents, spec, &result);
  const struct wo_steady_pass *last = wo_steady_last(&result.likely);
  expect_near(prediction, "pair allocated", last->allocated_bytes, prediction->allocated_bytes, 0.05);
  expect_near(prediction, "pair reserved", last->reserved_bytes, prediction->reserved_bytes, 2);
  wo_exponents_done(&exponents);
  wo_shared_trace_done(&other);
}

static void predict(const struct prediction *prediction) {
  struct wo_shared_trace trace;
  struct wo_classes classes;
  struct wo_exponents exponents;
  struct wo_scale_spec spec;
  struct wo_forecast result;
  struct wo_err err = {0};
  if (!wo_shared_trace_open(prediction->name, &trace)) return;
  assert_int_equal(wo_scale_parse(wo_view_of(prediction->spec), &spec, &err), WO_OK);
  assert_int_equal(wo_classify(&trace.pattern, trace.trace, &classes), WO_OK);
  enum wo_status status = wo_scale_infer(&trace.pattern, &classes, &spec, &exponents, &err);
  if (status != WO_OK) fail_msg("%s", err.message);
  forecast(&trace, &exponents, &spec, &result);
  check_shares(&result);
  const struct wo_steady_pass *last = wo_steady_last(&result.likely);
  expect_near(prediction, "allocated", last->allocated_bytes, prediction->allocated_bytes, prediction->allocated_pct);
  expect_near(prediction, "reserved", last->reserved_bytes, prediction->reserved_bytes, prediction->reserved_pct);
  if (prediction->pair != NULL) predict_pair(prediction, &trace, &exponents, &spec);
  wo_exponents_done(&exponents);
  wo_classes_done(&classes);
  wo_shared_trace_done(&trace);
}

static void predicts_real_runs(void **state) {
  (void)state;
  for (size_t i = 0; i < PREDICTIONS; i++) predict(&predictions[i]);
}

/* The inferred exponents against those of the pair, allocation by allocation. */
static void exponents_agree_with_pairs(void **state) {
  (void)state;
  for (size_t i = 0; i < PREDICTIONS; i++) {
    const struct prediction *prediction = &predictions[i];
    struct wo_shared_trace trace, other;
    if (prediction->pair == NULL || !wo_shared_trace_open(prediction->name, &trace)) continue;
    if (wo_shared_trace_open(prediction->pair, &other)) {
      struct wo_classes classes;
      struct wo_exponents inferred, read;
      struct wo_scale_spec spec;
      struct wo_scale_from_two pair;
      size_t wrong = 0, wrong_bytes = 0, bytes = 0;
      assert_int_equal(wo_scale_parse(wo_view_of(prediction->spec), &spec, NULL), WO_OK);
      assert_int_equal(wo_classify(&trace.pattern, trace.trace, &classes), WO_OK);
      assert_int_equal(wo_scale_infer(&trace.pattern, &classes, &spec, &inferred, NULL), WO_OK);
      assert_int_equal(wo_scale_from_two_infer(&trace.pattern, &other.pattern, WO_AXIS_SEQ_LEN, &inferred, &read, &pair, NULL),
                       WO_OK);
      for (size_t at = trace.pattern.start_count; at < trace.pattern.instances.count; at++) {
        const uint8_t *a = inferred.list.items[at].power[WO_AXIS_SEQ_LEN], *b = read.list.items[at].power[WO_AXIS_SEQ_LEN];
        bytes += trace.pattern.instances.items[at].size_bytes;
        if (a[WO_BOUND_LIKELY] == b[WO_BOUND_LIKELY]) continue;
        wrong++;
        wrong_bytes += trace.pattern.instances.items[at].size_bytes;
      }
      printf("%s: %zu exponents of %zu differ, %zu of %zu bytes\n", prediction->name, wrong, pair.count, wrong_bytes, bytes);
      assert_true(wrong * 50 < pair.count && wrong_bytes < bytes / 100);
      wo_exponents_done(&inferred);
      wo_exponents_done(&read);
      wo_classes_done(&classes);
      wo_shared_trace_done(&other);
    }
    wo_shared_trace_done(&trace);
  }
}

static void classes_of_real_runs(void **state) {
  (void)state;
  struct wo_shared_trace trace;
  struct wo_classes classes;
  uint64_t bytes[WO_CLASS_COUNT_] = {0};
  if (!wo_shared_trace_open("lm-medium512-training-torch2.11.pickle", &trace)) return;
  assert_int_equal(wo_classify(&trace.pattern, trace.trace, &classes), WO_OK);
  for (size_t i = 0; i < trace.pattern.instances.count; i++) {
    const struct wo_instance *instance = &trace.pattern.instances.items[i];
    if (instance->birth == WO_NO_REQUEST || classes.marks.items[i].rule == WO_CLASS_RULE_GRADIENT) {
      bytes[instance->class_] += instance->size_bytes;
    }
  }
  /* 219 parameters with as many gradients and twice as many states. */
  assert_int_equal(bytes[WO_CLASS_GRADIENT], 1692733440);
  assert_int_equal(bytes[WO_CLASS_OPTIMIZER], 2 * bytes[WO_CLASS_GRADIENT]);
  assert_true(bytes[WO_CLASS_PARAMETER] >= bytes[WO_CLASS_GRADIENT]);
  struct wo_iterations iterations;
  assert_int_equal(wo_iterations_find(&trace.pattern, trace.trace, &iterations), WO_OK);
  assert_int_equal(iterations.source, WO_ITERATIONS_ANNOTATED);
  assert_int_equal(iterations.list.count, 1);
  wo_iterations_done(&iterations);
  wo_classes_done(&classes);
  wo_shared_trace_done(&trace);
}

static void strangers_are_rejected(void **state) {
  (void)state;
  struct wo_shared_trace a, b;
  struct wo_exponents exponents;
  struct wo_scale_from_two pair;
  struct wo_err err = {0};
  if (!wo_shared_trace_open("lm-medium512-training-torch2.11.pickle", &a)) return;
  if (wo_shared_trace_open("lm-ctx256-fullstep-torch2.6.pickle", &b)) {
    assert_int_equal(wo_scale_from_two_infer(&a.pattern, &b.pattern, WO_AXIS_SEQ_LEN, NULL, &exponents, &pair, &err), WO_E_RANGE);
    wo_shared_trace_done(&b);
  }
  assert_int_equal(wo_scale_from_two_infer(&a.pattern, &a.pattern, WO_AXIS_SEQ_LEN, NULL, &exponents, &pair, &err), WO_E_RANGE);
  wo_shared_trace_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(predicts_real_runs),
      cmocka_unit_test(exponents_agree_with_pairs),
      cmocka_unit_test(classes_of_real_runs),
      cmocka_unit_test(strangers_are_rejected),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
