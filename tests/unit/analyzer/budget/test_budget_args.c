/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `whyoom budget`: what each takes, and what a slip is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/budget/budget_args.h"
#include "analyzer/budget/budget_report.h"
#include "analyzer/command/commands.h"
#include "parsers/base/units.h"
#include "parsers/base/view.h"

static enum wo_status apply(struct wo_budget_input *input, const char *option, const char *value, struct wo_err *err) {
  *err = (struct wo_err){0};
  return wo_command_apply(&wo_command_budget, (struct wo_given){wo_view_of(option), wo_view_of(value)}, input, err);
}

static void test_numbers(void **state) {
  (void)state;
  static const struct {
    const char *option;
    const char *value;
    double number; /* 0: refused */
  } rows[] = {
      {"params", "8499653234", 8499653234},
      {"params", "8,499,653,234", 8499653234},
      {"params", "8.5B", 8.5e9},
      {"params", "512M", 512e6},
      {"params", "7e9", 7e9},
      {"params", "1.5t", 1.5e12},
      {"params", "1e15", 1e15},
      {"params", "1e16", 0},
      {"params", "2000T", 0},
      {"params", "0", 0},
      {"params", "-5", 0},
      {"params", "", 0},
      {"params", "B", 0},
      {"params", "8.5 B", 0},
      {"params", "8.5BB", 0},
      {"params", "nan", 0},
      {"params", "1,2", 0},
      {"params", "99999999999999999999999999999999999999999999", 0},
      {"micro-batch", "16", 16},
      {"micro-batch", "0.2", 0},
      {"micro-batch", "1e10", 0},
      {"capacity", "47.4GiB", 50895362458},
      {"capacity", "80G", 80 * WO_GIB},
      {"capacity", "1024", 1024},
      {"capacity", "many", 0},
      {"capacity", "47.4GiBx", 0},
      {"capacity", "0GiB", 0},
      {"zero", "0", 1},
      {"zero", "3", 4},
      {"zero", "4", 0},
      {"zero", "", 0},
      {"zero", "0|1", 0},
      {"dtype", "bf16", WO_BUDGET_BF16},
      {"dtype", "int4", 0},
      {"optimizer", "adam8bit", WO_BUDGET_ADAM8BIT},
      {"checkpointing", "full", WO_BUDGET_FULL},
      {"attention", "scores", WO_BUDGET_SCORES},
      {"quantize", "4bit", WO_BUDGET_4BIT},
      {"master-weights", "", 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_budget_input input = {.frozen_count = 0};
    struct wo_err err;
    const enum wo_budget_key key = wo_budget_key_find(wo_view_of(rows[i].option));
    assert_true(key != WO_BUDGET_KEY_COUNT_);
    const enum wo_status status = apply(&input, rows[i].option, rows[i].value, &err);
    if (status != (rows[i].number > 0 ? WO_OK : WO_E_USAGE)) fail_msg("--%s '%s'", rows[i].option, rows[i].value);
    if (input.values[key] != rows[i].number) fail_msg("--%s '%s': %.3f", rows[i].option, rows[i].value, input.values[key]);
    if (status != WO_OK) assert_true(wo_view_has(wo_view_of(err.message), rows[i].option));
  }
}

static void test_measured_points(void **state) {
  (void)state;
  static const struct {
    const char *value;
    bool is_read;
    double gib, micro_batch, seq_len;
  } rows[] = {
      {"30GiB@micro_batch=4", true, 30, 4, 0},
      {"30GiB@micro-batch=4,seq-len=2048", true, 30, 4, 2048},
      {"30GiB@seq_len=2048", true, 30, 0, 2048},
      {"30GiB", true, 30, 0, 0},
      {"20-40GiB@micro_batch=4", true, 30, 4, 0},
      {"30GiB@", false, 0, 0, 0},
      {"30GiB@batch=4", false, 0, 0, 0},
      {"30GiB@micro_batch", false, 0, 0, 0},
      {"30GiB@micro_batch=0", false, 0, 0, 0},
      {"@micro_batch=4", false, 0, 0, 0},
      {"30@micro_batch=4@4", false, 0, 0, 0},
      {"-30GiB", false, 0, 0, 0},
      {"40-20GiB", false, 0, 0, 0},
      {"30GiB-", false, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_budget_input input = {.frozen_count = 0};
    struct wo_err err;
    const bool is_read = apply(&input, "activations", rows[i].value, &err) == WO_OK;
    if (is_read != rows[i].is_read) fail_msg("%s", rows[i].value);
    assert_int_equal(input.has_activations, is_read);
    if (!is_read) continue;
    assert_true(input.activations.bytes.mid == rows[i].gib * WO_GIB);
    assert_true(input.activations.micro_batch == rows[i].micro_batch && input.activations.seq_len == rows[i].seq_len);
  }
}

static void test_lists(void **state) {
  (void)state;
  struct wo_budget_input input = {.frozen_count = 0};
  struct wo_err err;
  assert_int_equal(apply(&input, "frozen", "mistral-7b=7.25B:fp16", &err), WO_OK);
  assert_int_equal(apply(&input, "frozen", "b=1M:4bit", &err), WO_OK);
  assert_int_equal(input.frozen_count, 2);
  assert_true(wo_view_is(input.frozen[0].name, "mistral-7b"));
  assert_true(input.frozen[0].parameters == 7.25e9 && input.frozen[0].bytes_per_parameter == 2);
  assert_int_equal(apply(&input, "extra", "rank12=15GiB@micro_batch=4", &err), WO_OK);
  assert_int_equal(input.extras[0].rank, 12);
  assert_int_equal(apply(&input, "stated", "weights=7-8GB", &err), WO_OK);
  assert_true(input.stated[0].bytes.lo == 7 * WO_GIB && input.stated[0].bytes.hi == 8 * WO_GIB);
  static const char *const refused[][2] = {{"frozen", "7B:fp16"},      {"frozen", "=7B:fp16"},   {"frozen", "a=7B"},
                                           {"frozen", "a=7B:int3"},    {"frozen", "a=:fp16"},    {"frozen", "a\x1b[31m=7B:fp16"},
                                           {"extra", "0=15GiB"},       {"extra", "rank=15GiB"},  {"extra", "rank0"},
                                           {"extra", "rank9999999=1"}, {"extra", "rank0=15GX"},  {"stated", "weight=7GB"},
                                           {"stated", "weights"},      {"stated", "weights=7X"}, {"nonsense", "1"}};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    if (apply(&input, refused[i][0], refused[i][1], &err) == WO_OK) fail_msg("--%s %s", refused[i][0], refused[i][1]);
    assert_true(wo_view_has(wo_view_of(err.message), refused[i][0]));
  }
  assert_int_equal(input.frozen_count + input.extra_count + input.stated_count, 4);
}

static void test_lists_end(void **state) {
  (void)state;
  struct wo_budget_input input = {.frozen_count = 0};
  struct wo_err err;
  for (int i = 0; i < WO_LIMIT_BUDGET_ITEMS; i++) assert_int_equal(apply(&input, "frozen", "a=1M:fp16", &err), WO_OK);
  assert_int_equal(apply(&input, "frozen", "a=1M:fp16", &err), WO_E_USAGE);
  assert_true(wo_view_has(wo_view_of(err.message), "16 times"));
}

static void test_combinations(void **state) {
  (void)state;
  static const struct {
    const char *options[4];
    const char *says; /* NULL: fine */
  } rows[] = {{{"params", "10", "trainable", "11"}, "more than --params"},
              {{"params", "10", "trainable", "10"}, NULL},
              {{"trainable", "10", "adapters", "10"}, "--adapters"},
              {{"tensor-parallel", "8", "gpus", "4"}, "more than --gpus 4"},
              {{"context-parallel", "8", "gpus", "4"}, "more than --gpus 4"},
              {{"pipeline", "8", "layers", "4"}, "more than the 4 layers"},
              {{"tensor-parallel", "8", "pipeline", "4"}, NULL},
              {{"zero", "1", "fsdp", "full_shard"}, "--fsdp"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_budget_input input = {.frozen_count = 0};
    struct wo_err err;
    assert_int_equal(apply(&input, rows[i].options[0], rows[i].options[1], &err), WO_OK);
    assert_int_equal(apply(&input, rows[i].options[2], rows[i].options[3], &err), WO_OK);
    assert_int_equal(wo_budget_check(&input, &err), rows[i].says ? WO_E_USAGE : WO_OK);
    if (rows[i].says) assert_true(wo_view_has(wo_view_of(err.message), rows[i].says));
  }
}

/* Every key has an option of its own, and a text that its reader takes. */
static void test_every_key(void **state) {
  (void)state;
  for (int key = 0; key < WO_BUDGET_KEY_COUNT_; key++) {
    const struct wo_option *const option = wo_budget_key_option((enum wo_budget_key)key);
    struct wo_budget_input input = {.frozen_count = 0};
    struct wo_err err = {0};
    char text[64];
    assert_int_equal(wo_budget_key_find(wo_view_of(option->name)), key);
    const double number = key == WO_BUDGET_UTILISATION || key == WO_BUDGET_ROLLOUT ? 0.5 : option->value ? 2 : 1;
    wo_budget_value_text((enum wo_budget_key)key, number, text, sizeof text);
    assert_int_equal(apply(&input, option->name, key == WO_BUDGET_CAPACITY ? "2" : text, &err), WO_OK);
    assert_true(input.values[key] == number);
  }
  assert_int_equal(wo_budget_key_find(WO_VIEW("model")), WO_BUDGET_KEY_COUNT_);
  assert_int_equal(wo_budget_key_find(WO_VIEW("")), WO_BUDGET_KEY_COUNT_);
}

/* Options that change nothing are named, with what they lack; settings of a job are not. */
static void test_unused(void **state) {
  (void)state;
  static const struct {
    const char *options;
    const char *unused; /* "name name" */
  } rows[] = {
      {"kv-dtype:fp8", "kv-dtype"},
      {"kv-dtype:fp8 inference:", ""},
      {"optimizer:adam inference: lora-rank:8", "optimizer"},
      {"grad-accum:1 checkpointing:none inference:", ""},
      {"quantize:4bit lora-dropout:", "lora-dropout quantize"},
      {"quantize:4bit lora-dropout: lora-rank:8", ""},
      {"zero:3", ""},
      {"zero:3 gpus:2 sequence-parallel: interleave:2 pipeline-stage:last", "sequence-parallel interleave pipeline-stage"},
      {"expert-parallel:4 image:224 vae-tiling: offload:model", "expert-parallel image offload vae-tiling"},
      {"galore-rank:4 rollout-stays:", "galore-rank rollout-stays"},
      {"optimizer:galore galore-rank:4 rollout:1GiB rollout-stays:", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_budget_report report = {.figure_count = 0};
    struct wo_budget_unused unused[WO_BUDGET_KEY_COUNT_];
    struct wo_view rest = wo_view_of(rows[i].options);
    while (rest.len > 0) {
      struct wo_view value = wo_view_cut(&rest, ' ');
      const struct wo_view name = wo_view_cut(&value, ':');
      struct wo_err err = {0};
      assert_int_equal(wo_command_apply(&wo_command_budget, (struct wo_given){name, value}, &report.input, &err), WO_OK);
      report.origins[wo_budget_key_find(name)] = WO_VIEW("--it");
    }
    const size_t count = wo_budget_unused(&report, unused);
    struct wo_view expected = wo_view_of(rows[i].unused);
    for (size_t k = 0; k < count; k++) {
      assert_true(unused[k].why[0] != '\0');
      if (!wo_view_has(wo_view_of(rows[i].unused), wo_budget_key_option(unused[k].key)->name))
        fail_msg("%s: --%s", rows[i].options, wo_budget_key_option(unused[k].key)->name);
      wo_view_cut(&expected, ' ');
    }
    if (expected.len > 0) fail_msg("%s: %zu of %s", rows[i].options, count, rows[i].unused);
    for (int key = 0; key < WO_BUDGET_KEY_COUNT_; key++) report.origins[key] = WO_VIEW("train.log:3");
    assert_int_equal(wo_budget_unused(&report, unused), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),   cmocka_unit_test(test_measured_points), cmocka_unit_test(test_lists),
      cmocka_unit_test(test_lists_end), cmocka_unit_test(test_combinations),    cmocka_unit_test(test_every_key),
      cmocka_unit_test(test_unused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
