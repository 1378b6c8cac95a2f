/* SPDX-License-Identifier: Apache-2.0 */
/* The budgets of the sample jobs whose owners wrote one: what belongs to which weights, what each card and each rank holds. */
#include "tests/support/job/sample_reports.h"

enum { MOST_OPTIONS = 8 };

/* `whyoom budget` on the files of a sample, with further options. */
static cJSON *budget_on(int sample, const char *const *options) {
  const char *args[MOST_FILES + MOST_OPTIONS + 4] = {"budget", "--format", "json"};
  size_t count = 3;
  for (size_t i = 0; options[i] && i < MOST_OPTIONS; i++) args[count++] = options[i];
  for (size_t i = 0; i < MOST_FILES && samples[sample].files[i]; i++) args[count++] = samples[sample].files[i];
  const struct wo_process_spec spec = {.args = args};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  cJSON *const budget = cJSON_Parse(result.out);
  assert_non_null(budget);
  wo_process_done(&result);
  return budget;
}

#define BUDGET(sample, ...) budget_on(sample, (const char *const[]){__VA_ARGS__, NULL})

/* What is assumed for a component, in GiB. */
static double assumed(const cJSON *budget, const char *id) {
  return number(item(by_id(item(budget, "components"), id), "bytes"), "assumed") / GIB;
}

/* Gradients and moments of the 239 million trained weights, not of the 7.6 billion frozen ones. */
static void test_adapters_alone_are_trained(void **state) {
  (void)state;
  cJSON *const budget = BUDGET(LORA, NULL);
  expect_near(assumed(budget, "weights"), 7615616512.0 * 2 / GIB, 0.01, "frozen weights");
  expect_near(assumed(budget, "adapters"), 0.45, 0.01, "adapters");
  expect_near(assumed(budget, "gradients"), 0.45, 0.01, "gradients");
  expect_near(assumed(budget, "optimizer"), 1.78, 0.01, "fp32 moments");
  expect_words(by_id(item(budget, "components"), "gradients"), "trained weights only");
  assert_string_equal(text(budget, "verdict"), "does_not_fit"); /* as it did */
  cJSON_Delete(budget);
}

/* Batch 1 and length 1536 fit, as they did; not if the loss shifts the logits by a copy, which the log does not show. */
static void test_adapters_after_the_fix(void **state) {
  (void)state;
  cJSON *const before = BUDGET(LORA, NULL), *const after = BUDGET(LORA, "--micro-batch", "1", "--seq-len", "1536");
  expect_near(assumed(after, "activations") / assumed(before, "activations"), 0.5 * 0.75, 0.02, "activations");
  expect_near(assumed(after, "gradients"), assumed(before, "gradients"), 0, "gradients stay");
  assert_string_equal(text(after, "verdict"), "tight");
  cJSON_Delete(before);
  cJSON_Delete(after);
}

static void test_divided_states(void **state) {
  static const double stages[] = {126.65, 71.24, 43.54, 15.83};
  (void)state;
  cJSON *const budget = BUDGET(DDP, NULL);
  for (int i = 0; i < 4; i++) {
    const cJSON *bytes = cJSON_GetArrayItem(item(budget, "states_by_zero_stage"), i);
    expect_near(cJSON_GetNumberValue(bytes) / GIB, stages[i], 0.01, "states of a card");
  }
  assert_string_equal(text(budget, "verdict"), "does_not_fit");
  cJSON_Delete(budget);
}

/* The extra pass stands on rank 0 alone; at half the batch that rank has room as well. */
static void test_ranks(void **state) {
  (void)state;
  cJSON *const budget =
      BUDGET(DECODE, "--activations", "30GB@micro_batch=4", "--extra", "rank0=15GB@micro_batch=4", "--micro-batch", "2");
  expect_near(assumed(budget, "activations"), 15, 0.01, "activations");
  const cJSON *part = NULL;
  int extra = 0;
  cJSON_ArrayForEach(part, item(budget, "components")) {
    if (is_null(part, "rank")) continue;
    expect_near(number(part, "rank"), 0, 0, "rank");
    expect_near(number(item(part, "bytes"), "assumed") / GIB, 7.5, 0.01, "the pass");
    extra++;
  }
  assert_int_equal(extra, 1);
  assert_string_equal(text(budget, "verdict"), "fits");
  cJSON_Delete(budget);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_adapters_alone_are_trained),
      cmocka_unit_test(test_adapters_after_the_fix),
      cmocka_unit_test(test_divided_states),
      cmocka_unit_test(test_ranks),
  };
  return cmocka_run_group_tests_name("sample budgets", tests, make_reports, drop_reports);
}
