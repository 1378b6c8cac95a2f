/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets from the files of a job: which settings and counts become inputs, and what the log's figures say beside the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/budget/budget_args.h"
#include "analyzer/budget/budget_report.h"
#include "tests/support/job/job_sample.h"

#define COUNT "Model parameters: 1,000,000,000\n"
#define FULL_CARD OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "1.25 GiB", "38.12 GiB", "36.53 GiB", "1.09 GiB")

struct read {
  struct sample_job sample;
  struct wo_budget_report report;
};

static void read_job(const struct wo_pack *pack, const char *log, struct read *read) {
  *read = (struct read){.report = {.figure_count = 0}};
  const struct sample_file file = {"train.log", log};
  sample_read(&read->sample, pack, &file, 1);
  wo_budget_from_facts(&read->sample.facts, &read->sample.arena, &read->report);
  assert_int_equal(wo_budget_make(&read->report.input, &read->sample.arena, &read->report.budget), WO_OK);
  wo_budget_compare(&read->sample.facts, &read->sample.arena, &read->report);
}

static const struct {
  const char *log;
  enum wo_budget_key key;
  double value; /* 0: not given */
} rows[] = {
    {COUNT, WO_BUDGET_PARAMS, 1e9},
    {COUNT, WO_BUDGET_DTYPE, 0},
    {COUNT "micro_batch_size=6,\nseq_length=1500,\n", WO_BUDGET_MICRO_BATCH, 6},
    {COUNT "micro_batch_size=6,\nseq_length=1500,\n", WO_BUDGET_SEQ_LEN, 1500},
    {COUNT "vocab_size=48000,\n", WO_BUDGET_VOCAB, 48000},
    /* a switch for 16 bits is autocast, under DeepSpeed it makes 16-bit weights */
    {COUNT "bf16=True,\n", WO_BUDGET_DTYPE, WO_BUDGET_AMP},
    {COUNT "bf16=True,\nzero_stage=2,\n", WO_BUDGET_DTYPE, WO_BUDGET_BF16},
    {COUNT "zero_stage=2,\n", WO_BUDGET_ZERO, 3},
    {COUNT "torch_dtype=bfloat16,\n", WO_BUDGET_DTYPE, WO_BUDGET_BF16},
    {COUNT "gradient_checkpointing=True,\n", WO_BUDGET_CHECKPOINTING, WO_BUDGET_FULL},
    {COUNT "gradient_checkpointing=False,\n", WO_BUDGET_CHECKPOINTING, WO_BUDGET_NONE},
    {COUNT "optim=paged_adamw_8bit,\n", WO_BUDGET_OPTIMIZER, WO_BUDGET_PAGED_ADAM8BIT},
    {COUNT "optim=adamw_bnb_8bit,\n", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAM8BIT},
    {COUNT "optim=adamw_torch_fused,\n", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAMW_FUSED},
    {COUNT "optim=adamw_torch,\n", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAMW},
    {COUNT "attn_implementation=sdpa,\n", WO_BUDGET_ATTENTION, WO_BUDGET_SDPA},
    {COUNT "optimizer=adafactor,\n", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAFACTOR},
    {COUNT "attn_implementation=flash_attention_2,\n", WO_BUDGET_ATTENTION, WO_BUDGET_FLASH},
    {COUNT "attn_implementation=eager,\n", WO_BUDGET_ATTENTION, WO_BUDGET_SCORES},
    {COUNT "tensor_model_parallel_size=4,\n", WO_BUDGET_TENSOR, 4},
    {COUNT "actor_rollout_ref.rollout.tensor_model_parallel_size=4,\n", WO_BUDGET_TENSOR, 0},
    {COUNT "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8,\n", WO_BUDGET_MICRO_BATCH, 8},
    {COUNT "actor_rollout_ref.rollout.gpu_memory_utilization=0.6,\n", WO_BUDGET_ROLLOUT, 0.6},
    {COUNT "vllm_gpu_memory_utilization=0.3,\n", WO_BUDGET_ROLLOUT, 0.3},
    {COUNT "vllm_gpu_memory_utilization=0.3,\n", WO_BUDGET_ROLLOUT_STAYS, 1},
    {COUNT "gpu_memory_utilization=0.9,\n", WO_BUDGET_ROLLOUT, 0},
    {COUNT "context_parallel_size=2,\nexpert_model_parallel_size=8,\n", WO_BUDGET_CONTEXT, 2},
    {COUNT "context_parallel_size=2,\nexpert_model_parallel_size=8,\n", WO_BUDGET_EXPERT, 8},
    {"trainable params: 20,000,000 || all params: 1,020,000,000 || trainable%: 1.96\n", WO_BUDGET_PARAMS, 1.02e9},
    {"trainable params: 20,000,000 || all params: 1,020,000,000 || trainable%: 1.96\n", WO_BUDGET_TRAINABLE, 2e7},
    {COUNT FULL_CARD, WO_BUDGET_CAPACITY, 42284003000.},
    {FULL_CARD, WO_BUDGET_PARAMS, 0},
};

static void test_inputs(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct read read;
    read_job(*state, rows[i].log, &read);
    const double value = read.report.input.values[rows[i].key];
    if (fabs(value - rows[i].value) > 1e-3 * rows[i].value)
      fail_msg("%s: %s is %.0f", rows[i].log, wo_budget_key_option(rows[i].key)->name, value);
    assert_int_equal(read.report.origins[rows[i].key].len > 0, value > 0);
    if (value > 0) assert_true(wo_view_starts(read.report.origins[rows[i].key], "train.log:"));
    sample_done(&read.sample);
  }
}

static void test_frozen_models(void **state) {
  struct read read;
  read_job(*state,
           "source acme/left-7b: 7,000,000,000 parameters, frozen, torch.float16\n"
           "source acme/left-7b: 7,000,000,000 parameters, frozen, torch.float16\n"
           "target acme/right-8b: 8,000,000,000 parameters, frozen, torch.float32\n" COUNT,
           &read);
  assert_int_equal(read.report.input.frozen_count, 2);
  assert_true(read.report.input.frozen[0].bytes_per_parameter == 2 && read.report.input.frozen[1].bytes_per_parameter == 4);
  sample_done(&read.sample);
}

/* What the message says of the same settings: states that were not there yet, room for activations, and a request that nothing
 * here explains. */
static void test_measured(void **state) {
  static const struct {
    const char *log;
    const char *note; /* of the first figure; NULL: no figure */
    bool is_overruled;
  } cases[] = {
      {"Model parameters: 5,000,000,000\ntorch_dtype=float32,\n" FULL_CARD,
       "36.53 GiB < 74.51 GiB of model states: it failed before the optimizer states existed, with 17.90 GiB beside the weights",
       false},
      {"Model parameters: 5,000,000,000\ntorch_dtype=float32,\nstep 500 loss 2.1\n" FULL_CARD, "less is kept than assumed",
       false},
      {"Model parameters: 20,000,000,000\ntorch_dtype=float32,\n" FULL_CARD, "not all of them were there", false},
      {"Model parameters: 3,000,000,000\n" FULL_CARD, "within the range of the model states, 22.35 GiB to 44.70 GiB", false},
      {COUNT "torch_dtype=float32,\n" FULL_CARD, "36.53 GiB less 14.90 GiB of model states = 21.63 GiB", false},
      {COUNT "torch_dtype=float32,\n" OOM_SAYS("51.00 GiB", "0", "39.38 GiB", "20.00 GiB", "19.38 GiB", "18.00 GiB", "0.50 GiB"),
       "18.00 GiB less 14.90 GiB", true},
      {COUNT "torch_dtype=float32,\n" OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "1.25 GiB", "38.12 GiB", "100.00 GiB", "0.00 GiB"),
       NULL, false},
      {COUNT, NULL, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct read read;
    read_job(*state, cases[i].log, &read);
    if (!cases[i].note) {
      assert_int_equal(read.report.figure_count, 0);
    } else if (read.report.figure_count == 0 || !wo_view_has(read.report.figures[0].note, cases[i].note)) {
      fail_msg("%zu: %.*s", i, (int)read.report.figures[0].note.len, read.report.figures[0].note.ptr);
    }
    assert_int_equal(read.report.budget.seen.mid > 0, cases[i].is_overruled);
    if (cases[i].is_overruled) assert_int_equal(read.report.budget.verdict, WO_BUDGET_NOT_FIT);
    sample_done(&read.sample);
  }
}

/* ---- A measured peak ---- */

#define RUN                                                                                                                      \
  "model_name_or_path=meta-llama/Llama-3.2-1B,\ntorch_dtype=bfloat16,\nmicro_batch_size=1,\nseq_length=2048,\n"                  \
  "gradient_accumulation_steps=1,\nattn_implementation=sdpa,\noptim=adamw_torch_fused,\ngradient_checkpointing=False,\n"
#define STEPS(peak)                                                                                                              \
  "step 10 | loss 6.01 | 2.41 s/step | peak " peak " GiB\nstep 20 | loss 5.29 | 2.40 s/step | peak " peak " GiB\n"               \
  "step 30 | loss 4.88 | 2.41 s/step | peak " peak " GiB\n"

/* The computed peak becomes the printed one, at other sizes in proportion; a peak that cannot be of that run is refused. */
static void test_calibrated(void **state) {
  struct read read;
  const char *why = NULL;
  read_job(*state, RUN STEPS("13.90"), &read);
  const double before = read.report.budget.in_use.mid;
  assert_int_equal(wo_budget_calibrate(&read.sample.facts, &read.sample.arena, &read.report, &why), WO_OK);
  assert_null(why);
  assert_true(read.report.calibration.measured_bytes > 13.89 * 1073741824 && read.report.calibration.computed_bytes == before);
  assert_true(wo_view_has(read.report.calibration.origin, "train.log:"));
  assert_int_equal(wo_budget_make(&read.report.input, &read.sample.arena, &read.report.budget), WO_OK);
  assert_true(read.report.budget.in_use.mid / 1073741824 > 13.85 && read.report.budget.in_use.mid / 1073741824 < 13.95);
  const double factor = read.report.input.live_factor;
  read.report.input.values[WO_BUDGET_MICRO_BATCH] = 4;
  assert_int_equal(wo_budget_calibrate(&read.sample.facts, &read.sample.arena, &read.report, &why), WO_OK);
  assert_true(read.report.input.live_factor > 0.999 * factor && read.report.input.live_factor < 1.001 * factor);
  read.report.input.values[WO_BUDGET_CHECKPOINTING] = WO_BUDGET_FULL;
  read.report.input.live_factor = 0;
  assert_int_equal(wo_budget_calibrate(&read.sample.facts, &read.sample.arena, &read.report, &why), WO_OK);
  assert_true(why && strstr(why, "checkpointing") && read.report.input.live_factor == 0);
  sample_done(&read.sample);
  static const struct {
    const char *log;
    const char *why;
  } refused[] = {{RUN STEPS("79.00"), "too far"},
                 {COUNT STEPS("13.90"), "micro-batch"},
                 {COUNT "micro_batch_size=1,\nseq_length=2048,\n" STEPS("13.90"), "not known"},
                 {RUN, NULL}};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    read_job(*state, refused[i].log, &read);
    assert_int_equal(wo_budget_calibrate(&read.sample.facts, &read.sample.arena, &read.report, &why), WO_OK);
    assert_true(read.report.input.live_factor == 0);
    if (refused[i].why ? !why || !strstr(why, refused[i].why) : why != NULL) fail_msg("%zu: %s", i, why ? why : "taken");
    sample_done(&read.sample);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inputs),
      cmocka_unit_test(test_frozen_models),
      cmocka_unit_test(test_measured),
      cmocka_unit_test(test_calibrated),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
