/* SPDX-License-Identifier: Apache-2.0 */
/* From the samples' diagnoses to proposals and sizes: figures as they stand in the logs. */
#include "analyzer/verify/verify_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"

#define GIB (1024.0 * 1024 * 1024)
#define SAMPLES WO_SOURCE_DIR "/samples/"

/* Reads a sample; NULL-terminated paths. */
static struct wo_verify_plan read_sample(const char *const *paths) {
  static char texts[8][1024];
  static char *words[8];
  struct wo_verify_plan plan;
  struct wo_text errors = {0};
  struct wo_call call = {.words = words, .errors = &errors};
  for (size_t i = 0; paths[i]; i++) {
    snprintf(texts[i], sizeof texts[i], SAMPLES "%s", paths[i]);
    words[call.word_count++] = texts[i];
  }
  if (!wo_verify_plan_read(&call, &plan)) fail_msg("%s", errors.ptr ? errors.ptr : "");
  wo_text_done(&errors);
  return plan;
}

static const struct wo_proposal *find(const struct wo_verify_plan *plan, const char *id) {
  for (size_t i = 0; i < plan->diagnosed.proposal_count; i++) {
    if (wo_view_is(plan->diagnosed.proposals[i].id, id)) return &plan->diagnosed.proposals[i];
  }
  return NULL;
}

static bool is_near(double value, double expected) {
  return value > expected * 0.995 && value < expected * 1.005;
}

static void test_lora(void **state) {
  (void)state;
  static const char *const paths[] = {"lora-7b-24g/slurm-90817.err", "lora-7b-24g/slurm-90817.out", "lora-7b-24g/run_lora.sh",
                                      NULL};
  struct wo_verify_plan plan = read_sample(paths);
  const struct wo_job_sizes *const sizes = &plan.diagnosed.sizes;
  assert_true(plan.is_complete);
  assert_true(plan.diagnosed.has_gpu_oom);
  assert_true(is_near(sizes->capacity_bytes, 23.64 * GIB));
  assert_true(is_near(sizes->allocated_bytes, 21.03 * GIB));
  assert_true(is_near(sizes->tried_bytes, 2.32 * GIB));
  assert_true(is_near(sizes->unallocated_bytes, 612.41 / 1024 * GIB));
  assert_true(sizes->micro_batch == 2 && sizes->seq_len == 2048);
  assert_true(sizes->trainable == 239075328);
  assert_true(sizes->weights_bytes > 14 * GIB && sizes->weights_bytes < 15 * GIB);
  assert_true(sizes->optimizer_bytes > 0.4 * GIB && sizes->optimizer_bytes < 3 * GIB);
  assert_false(sizes->are_contradicting);
  const struct wo_proposal *const batch = find(&plan, "reduce-micro-batch");
  assert_non_null(batch);
  assert_int_equal(batch->change.count, 2);
  assert_int_equal(batch->change.parts[0].sort, WO_PROPOSED_MICRO_BATCH);
  assert_true(batch->change.parts[0].from == 2 && batch->change.parts[0].to == 1);
  assert_int_equal(batch->change.parts[1].sort, WO_PROPOSED_TRANSFORM);
  assert_true(batch->change.parts[1].from == 8 && batch->change.parts[1].to == 16);
  assert_true(wo_view_is(batch->paste, "--per_device_train_batch_size 1  --gradient_accumulation_steps 16"));
  assert_true(wo_view_ends(plan.diagnosed.resubmit, "run_lora.sh"));
  assert_null(find(&plan, "capture-snapshot"));
  wo_verify_plan_done(&plan);
}

/* The number format is not known: the least size of the states is 16 bits each, 63.33 GiB. */
static void test_ddp(void **state) {
  (void)state;
  static const char *const paths[] = {"ddp-8.5b-too-large/slurm-1553046.err", "ddp-8.5b-too-large/slurm-1553046.out",
                                      "ddp-8.5b-too-large/train_ddp.sbatch", NULL};
  struct wo_verify_plan plan = read_sample(paths);
  const struct wo_job_sizes *const sizes = &plan.diagnosed.sizes;
  assert_true(is_near(sizes->weights_bytes + sizes->gradients_bytes + sizes->optimizer_bytes, 63.33 * GIB));
  assert_true(sizes->micro_batch == 64);
  const struct wo_proposal *const shard = find(&plan, "shard-model-states");
  assert_non_null(shard);
  assert_int_equal(shard->change.parts[0].sort, WO_PROPOSED_TRANSFORM);
  assert_true(wo_view_is(shard->change.parts[0].text, "shard") && shard->change.parts[0].to == 8);
  wo_verify_plan_done(&plan);
}

static void test_contradiction(void **state) {
  (void)state;
  static const char *const paths[] = {"grpo-micro-batch/slurm-4471902.err", "grpo-micro-batch/slurm-4471902.out",
                                      "grpo-micro-batch/submit_grpo.slurm", NULL};
  struct wo_verify_plan plan = read_sample(paths);
  assert_true(plan.diagnosed.sizes.are_contradicting);
  wo_verify_plan_done(&plan);
}

/* The JSON report carries a proof at the fix that has one, and the object of the proof. */
static void test_json(void **state) {
  (void)state;
  static const char *const paths[] = {"lora-7b-24g/slurm-90817.err", NULL};
  struct wo_verify_plan plan = read_sample(paths);
  struct wo_text text = {0};
  assert_true(plan.diagnosed.proposal_count > 0);
  plan.proofs[0] = (struct wo_proof){
      .is_tried = true, .on = "model", .pattern = "recorded", .fits = true, .peak_reserved_bytes = 5, .margin_bytes = -7};
  struct wo_report proven = *plan.report;
  const struct wo_choice choice = {.proposal = 0, .micro_batch = 1, .grad_accum = 16};
  assert_true(wo_verify_plan_attach(&plan, &choice, 1, &plan.proofs[0], &proven));
  assert_non_null(proven.first_change);
  assert_true(proven.first_change->proof->fits);
  wo_verify_plan_json(&proven, WO_VIEW("{\"verdict\": \"proven\"}"), WO_VIEW("--- a/f\n"), &text);
  assert_false(text.is_failed);
  assert_non_null(strstr(text.ptr, "\"pattern\": \"recorded\""));
  assert_non_null(strstr(text.ptr, "\"margin_bytes\": -7"));
  assert_non_null(strstr(text.ptr, "\"verdict\": \"proven\""));
  assert_non_null(strstr(text.ptr, "\"patch\": \"--- a/f\\n\""));
  wo_text_done(&text);
  wo_verify_plan_done(&plan);
}

static const struct wo_finding_fix *fix_of(const struct wo_report *report, const char *id) {
  for (size_t i = 0; i < report->findings[0].fix_count; i++) {
    if (wo_view_is(report->findings[0].fixes[i].id, id)) return &report->findings[0].fixes[i];
  }
  fail_msg("no fix %s", id);
  return NULL;
}

/* The recording lacks more than the request that failed: what no replay can make is compared with that. */
static void test_missing_in_the_whole_step(void **state) {
  (void)state;
  static const char *const paths[] = {"lora-7b-24g/slurm-90817.err", "lora-7b-24g/slurm-90817.out", "lora-7b-24g/run_lora.sh",
                                      NULL};
  static const struct {
    double missing; /* 0: no recording */
    enum wo_suffices loss, frozen;
  } rows[] = {{0, WO_SUFFICES_YES, WO_SUFFICES_YES},
              {1 * GIB, WO_SUFFICES_YES, WO_SUFFICES_YES},
              {4 * GIB, WO_SUFFICES_MAYBE, WO_SUFFICES_YES},
              {10 * GIB, WO_SUFFICES_NO, WO_SUFFICES_MAYBE}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_verify_plan plan = read_sample(paths);
    struct wo_report proven = *plan.report;
    const struct wo_proof none = {0};
    plan.as_it_was = (struct wo_proof){
        .is_tried = rows[i].missing > 0, .path = WO_VIEW("runs/trace-1.jsonl"), .margin_bytes = -rows[i].missing};
    assert_true(wo_verify_plan_attach(&plan, NULL, 0, &none, &proven));
    assert_null(proven.first_change);
    const struct wo_finding_fix *const loss = fix_of(&proven, "chunk-vocabulary-loss");
    const struct wo_finding_fix *const frozen = fix_of(&proven, "quantize-frozen-weights");
    assert_int_equal(loss->suffices, rows[i].loss);
    assert_int_equal(frozen->suffices, rows[i].frozen);
    assert_int_equal(loss->support.len > 0, rows[i].missing > 0);
    if (i == 2)
      assert_true(
          wo_view_is(loss->support, "may be enough: frees 1.2 to 4.7 GiB, the whole step on trace-1.jsonl lacks 4.00 GiB"));
    wo_verify_plan_done(&plan);
  }
}

/* ---- States that are divided over the cards ---- */

#define OOM                                                                                                                      \
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 39.39 GiB of which "    \
  "402.00 MiB is free. Including non-PyTorch memory, this process has 38.98 GiB memory in use. Of the allocated memory "         \
  "37.12 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n"
#define MODEL "model: 8,000,000,000 parameters, torch.bfloat16\nnum_layers=32\n"

/* Eight thousand million parameters in bf16: 16 GB of weights and of gradients, 96 GB of moments and fp32 copies under ZeRO. */
static void test_divided(void **state) {
  (void)state;
  static const struct {
    const char *settings;
    double weights, gradients, optimizer; /* GB; negative: unknown */
    const char *says;
  } rows[] = {
      {"world_size=8\nzero_stage=1\n", 16, 16, 12, "ZeRO stage 1 over 8 cards"},
      {"world_size=8\nzero_stage=2\n", 16, 2, 12, "ZeRO stage 2 over 8 cards"},
      {"world_size=8\nzero_stage=3\n", 2, 2, 12, "ZeRO stage 3 over 8 cards"},
      {"world_size=16\nfsdp: full_shard\n", 1, 1, 2, "FSDP full_shard over 16 cards"},
      {"zero_stage=3\n", -1, -1, -1, "does not show over how many"},
      {"[rank0]: x\n[rank1]: x\nzero_stage=3\n", -1, -1, -1, "does not show over how many"},
      {"world_size=8\nfsdp_sharding_strategy: HYBRID_SHARD\n", -1, -1, -1, "does not show which states"},
      {"world_size=8\n--deepspeed conf/ds.json\n", -1, -1, -1, "may be divided over the cards"},
      {"world_size=8\n", 16, 16, 64, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char folder[512], path[600], text[4096];
    assert_true(wo_files_scratch(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/job.err", folder);
    snprintf(text, sizeof text, "%s" MODEL OOM, rows[i].settings);
    assert_true(wo_files_write(path, wo_view_of(text)));
    char *words[] = {path};
    struct wo_verify_plan plan;
    struct wo_text errors = {0};
    const struct wo_call call = {.words = words, .word_count = 1, .errors = &errors};
    assert_true(wo_verify_plan_read(&call, &plan));
    const struct wo_job_sizes *const sizes = &plan.diagnosed.sizes;
    const double found[] = {sizes->weights_bytes, sizes->gradients_bytes, sizes->optimizer_bytes};
    const double expected[] = {rows[i].weights, rows[i].gradients, rows[i].optimizer};
    for (size_t k = 0; k < 3; k++) {
      const bool is_same = expected[k] < 0 ? found[k] < 0 : is_near(found[k], expected[k] * 1e9);
      if (!is_same) fail_msg("row %zu, number %zu: %g", i, k, found[k]);
    }
    if (!wo_view_has(sizes->states, rows[i].says) || (rows[i].says[0] == '\0' && sizes->states.len > 0))
      fail_msg("row %zu: %.*s", i, (int)sizes->states.len, sizes->states.ptr);
    wo_text_done(&errors);
    wo_verify_plan_done(&plan);
    wo_files_remove_scratch(folder);
  }
}

static void test_failing_allocations(void **state) {
  (void)state;
  static const char *const paths[] = {"lora-7b-24g/slurm-90817.err", NULL};
  struct wo_verify_plan plan = read_sample(paths);
  bool is_through = false;
  for (long n = 1; !is_through && n < 1000; n++) {
    struct wo_verify_plan other = {0};
    wo_arena_init(&other.arena, WO_LIMIT_REPORT_BYTES);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_verify_plan_fill(plan.report, &other);
    wo_fail_alloc_off();
    is_through = !wo_fail_alloc_hit();
    assert_int_equal(status, is_through ? WO_OK : WO_E_NOMEM);
    wo_arena_done(&other.arena);
  }
  assert_true(is_through);
  wo_verify_plan_done(&plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lora),
      cmocka_unit_test(test_ddp),
      cmocka_unit_test(test_contradiction),
      cmocka_unit_test(test_json),
      cmocka_unit_test(test_missing_in_the_whole_step),
      cmocka_unit_test(test_divided),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
