/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of the five sample jobs: every value that the post-mortems give, so that a fact that gets lost fails here. */
#include "tests/support/job/sample_reports.h"

/* A fact of a post-mortem. */
struct told {
  int sample;
  const char *fact;
  double number;    /* NAN: a text, or a truth value */
  const char *text; /* NULL: a number; "true" and "false" for truth values */
};

#define NUMBER(sample, fact, value)                                                                                              \
  { sample, fact, value, NULL }
#define TEXT(sample, fact, value)                                                                                                \
  { sample, fact, (double)NAN, value }

static const struct told told[] = {
    /* GRPO: launch, Hydra overrides, message */
    NUMBER(GRPO, "slurm.gpus", 4),
    NUMBER(GRPO, "gpu.count", 4),
    NUMBER(GRPO, "config.n_gpus", 4),
    NUMBER(GRPO, "config.n_nodes", 1),
    NUMBER(GRPO, "job.ranks", 4),
    NUMBER(GRPO, "config.global_batch", 1024),
    NUMBER(GRPO, "config.mini_batch", 256),
    NUMBER(GRPO, "config.micro_batch", 32),
    NUMBER(GRPO, "config.log_prob_micro_batch", 32),
    NUMBER(GRPO, "config.gpu_memory_utilization", 0.6),
    NUMBER(GRPO, "config.response_len", 1024),
    NUMBER(GRPO, "config.prompt_len", 512),
    NUMBER(GRPO, "config.num_generations", 5),
    NUMBER(GRPO, "config.tensor_parallel", 2),
    TEXT(GRPO, "config.param_offload", "false"),
    TEXT(GRPO, "config.optimizer_offload", "false"),
    TEXT(GRPO, "config.checkpointing", "full"),
    TEXT(GRPO, "config.dtype", "bf16"),
    TEXT(GRPO, "job.framework", "verl"),
    TEXT(GRPO, "model.is_sharded", "true"),
    NUMBER(GRPO, "model.parameters", 7.62e9),
    TEXT(GRPO, "oom.kind", "cuda_oom"),
    NUMBER(GRPO, "oom.tried", 17.66 * GIB),
    NUMBER(GRPO, "oom.capacity", 79.18 * GIB),
    NUMBER(GRPO, "oom.free", 4.97 * GIB),
    NUMBER(GRPO, "oom.allocated", 100.77 * GIB),
    NUMBER(GRPO, "oom.gpu", 0),
    TEXT(GRPO, "oom.phase", "forward"),
    NUMBER(GRPO, "oom.step", 0),
    TEXT(GRPO, "oom.contradiction", "100.77 GiB allocated cannot fit in a card of 79.18 GiB"),
    /* pretraining: configuration, message, the traced run before */
    NUMBER(PRETRAIN, "config.n_gpus", 4),
    NUMBER(PRETRAIN, "slurm.gpus", 4),
    NUMBER(PRETRAIN, "config.micro_batch", 8),
    NUMBER(PRETRAIN, "config.grad_accum", 8),
    NUMBER(PRETRAIN, "config.seq_len", 2048),
    TEXT(PRETRAIN, "config.checkpointing", "full"),
    TEXT(PRETRAIN, "config.dtype", "bf16"),
    TEXT(PRETRAIN, "config.optimizer", "AdamW"),
    TEXT(PRETRAIN, "config.alloc_conf", "expandable_segments:True"),
    TEXT(PRETRAIN, "config.alloc_expandable_segments", "true"),
    NUMBER(PRETRAIN, "config.sparse_keys", 512),
    NUMBER(PRETRAIN, "config.sparse_keys_max", 1024),
    NUMBER(PRETRAIN, "config.num_layers", 8),
    NUMBER(PRETRAIN, "config.ffn_size", 1536),
    NUMBER(PRETRAIN, "model.layers", 8),
    NUMBER(PRETRAIN, "model.hidden_size", 1536),
    NUMBER(PRETRAIN, "model.parameters", 511354368),
    TEXT(PRETRAIN, "model.dtype", "fp32"),
    NUMBER(PRETRAIN, "model.weights", 7.5 * GIB),
    TEXT(PRETRAIN, "model.contradiction",
         "weights of 7.50 GiB do not follow from 511354368 parameters: 1.90 GiB in fp32, 975.33 MiB in 16 bits"),
    NUMBER(PRETRAIN, "work.batch", 256),
    NUMBER(PRETRAIN, "work.tokens", 8 * 2048),
    NUMBER(PRETRAIN, "trace.micro_batch", 1),
    NUMBER(PRETRAIN, "trace.seq_len", 1024),
    NUMBER(PRETRAIN, "trace.tokens", 1024),
    NUMBER(PRETRAIN, "trace.growth", 16),
    NUMBER(PRETRAIN, "dmon.fb_peak", 35412.0 * 1024 * 1024),
    NUMBER(PRETRAIN, "dmon.sm_active_mean", 0.2125),
    NUMBER(PRETRAIN, "dmon.gpu_count", 4),
    NUMBER(PRETRAIN, "dmon.fb_late_rise", 0),
    NUMBER(PRETRAIN, "oom.tried", 51.19 * GIB),
    NUMBER(PRETRAIN, "oom.capacity", 44.40 * GIB),
    NUMBER(PRETRAIN, "oom.free", 31.25 * GIB),
    NUMBER(PRETRAIN, "oom.allocated", 12.36 * GIB),
    NUMBER(PRETRAIN, "oom.rank", 2),
    TEXT(PRETRAIN, "oom.phase", "forward"),
    NUMBER(PRETRAIN, "ranks.total", 4),
    NUMBER(PRETRAIN, "ranks.failed_count", 4),
    TEXT(PRETRAIN, "ranks.failed", "0, 1, 2, 3"),
    /* LoRA: arguments, model, allocator, message, trace of the failing run */
    TEXT(LORA, "config.model_name", "/data/models/Qwen2.5-7B"),
    TEXT(LORA, "model.table", "table of known shapes: qwen2.5-7b"),
    NUMBER(LORA, "model.parameters", 7854691840),
    NUMBER(LORA, "model.trainable_parameters", 239075328),
    TEXT(LORA, "model.dtype", "float16"),
    NUMBER(LORA, "model.bytes_per_parameter", 2),
    NUMBER(LORA, "config.lora_rank", 128),
    TEXT(LORA, "config.dtype", "fp16"),
    NUMBER(LORA, "config.micro_batch", 2),
    NUMBER(LORA, "config.grad_accum", 8),
    NUMBER(LORA, "config.global_batch", 16),
    NUMBER(LORA, "config.seq_len", 2048),
    TEXT(LORA, "config.checkpointing", "full"),
    TEXT(LORA, "config.alloc_conf", "max_split_size_mb:128,expandable_segments:True"),
    TEXT(LORA, "config.alloc_expandable_segments", "true"),
    NUMBER(LORA, "config.alloc_max_split_size_mb", 128),
    NUMBER(LORA, "gpu.count", 1),
    NUMBER(LORA, "work.batch", 16),
    NUMBER(LORA, "work.tokens", 4096),
    NUMBER(LORA, "oom.tried", 2.32 * GIB),
    NUMBER(LORA, "oom.capacity", 23.64 * GIB),
    NUMBER(LORA, "oom.free", 1.55 * GIB),
    NUMBER(LORA, "oom.allocated", 21.03 * GIB),
    NUMBER(LORA, "oom.other_processes_listed", 0),
    NUMBER(LORA, "oom.step", 41),
    TEXT(LORA, "oom.phase", "forward"),
    TEXT(LORA, "oom.is_logits", "true"),
    NUMBER(LORA, "dmon.fb_peak", 22184.0 * 1024 * 1024),
    NUMBER(LORA, "dmon.sm_active_mean", 0.88563),
    NUMBER(LORA, "dmon.fb_late_rise", 0),
    /* DDP: model, arguments, ranks, message */
    NUMBER(DDP, "model.parameters", 8499653234),
    NUMBER(DDP, "model.trainable_parameters", 8499653234),
    NUMBER(DDP, "model.states", 8499653234.0 * 16),
    TEXT(DDP, "model.is_sharded", "false"),
    NUMBER(DDP, "config.micro_batch", 64),
    NUMBER(DDP, "config.grad_accum", 1),
    NUMBER(DDP, "config.bottleneck", 2048),
    TEXT(DDP, "config.optimizer", "adamw"),
    TEXT(DDP, "config.checkpointing", "none"),
    NUMBER(DDP, "config.n_gpus", 8),
    NUMBER(DDP, "gpu.count", 8),
    NUMBER(DDP, "work.batch", 512),
    NUMBER(DDP, "oom.capacity", 47.41 * GIB),
    NUMBER(DDP, "oom.tried", 256.0 * 1024 * 1024),
    NUMBER(DDP, "oom.rank", 3),
    NUMBER(DDP, "ranks.failed_count", 8),
    TEXT(DDP, "ranks.failed", "0, 1, 2, 3, 4, 5, 6, 7"),
    TEXT(DDP, "ranks.is_only_rank0", "false"),
    /* the bridge: models, arguments, the pass that failed, ranks */
    TEXT(DECODE, "config.other_model_name", "mistralai/Mistral-7B-v0.3"),
    TEXT(DECODE, "config.frozen_dtype", "fp16"),
    NUMBER(DECODE, "model.frozen_parameters", 7248023552.0 + 8030261248.0),
    NUMBER(DECODE, "model.frozen_weights", 2 * (7248023552.0 + 8030261248.0)),
    NUMBER(DECODE, "model.parameters", 1012482048),
    NUMBER(DECODE, "model.trainable_parameters", 1012482048),
    TEXT(DECODE, "model.dtype", "bfloat16"),
    TEXT(DECODE, "config.optimizer", "adamw"),
    NUMBER(DECODE, "config.soft_tokens", 2048),
    NUMBER(DECODE, "config.micro_batch", 4),
    NUMBER(DECODE, "config.decode_samples", 4),
    NUMBER(DECODE, "config.decode_every", 50),
    NUMBER(DECODE, "config.warmup_steps", 0),
    TEXT(DECODE, "config.checkpointing", "none"),
    NUMBER(DECODE, "gpu.count", 4),
    NUMBER(DECODE, "oom.capacity", 79.15 * GIB),
    NUMBER(DECODE, "oom.tried", 1.96 * GIB),
    NUMBER(DECODE, "oom.free", 1.14 * GIB),
    NUMBER(DECODE, "oom.allocated", 76.62 * GIB),
    NUMBER(DECODE, "oom.rank", 0),
    NUMBER(DECODE, "oom.step", 149),
    TEXT(DECODE, "oom.phase", "decode"),
    NUMBER(DECODE, "ranks.total", 4),
    NUMBER(DECODE, "ranks.failed_count", 1),
    TEXT(DECODE, "ranks.failed", "0"),
    TEXT(DECODE, "ranks.not_failed", "1, 2, 3"),
    TEXT(DECODE, "ranks.is_only_rank0", "true"),
};

static void expect_told(const struct told *row) {
  const cJSON *const value = fact(row->sample, row->fact);
  const char *const name = samples[row->sample].name;
  const char *const found = cJSON_IsBool(value) ? (cJSON_IsTrue(value) ? "true" : "false") : cJSON_GetStringValue(value);
  if (row->text == NULL) {
    const double number = cJSON_GetNumberValue(value);
    if (!(fabs(number - row->number) <= fabs(row->number) * 1e-6)) {
      fail_msg("%s: %s is %.6f, not %.6f", name, row->fact, number, row->number);
    }
  } else if (found == NULL || strcmp(found, row->text) != 0) {
    fail_msg("%s: %s is %s, not %s", name, row->fact, found ? found : "unknown", row->text);
  }
}

static void test_every_fact_is_told(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) expect_told(&told[i]);
}

/* Facts that are no figures of the failure: job, nodes, and by how much it did not fit. */
static void test_jobs_are_told(void **state) {
  (void)state;
  static const struct {
    const char *id, *node;
    int ranks;
  } jobs[SAMPLE_COUNT] = {[GRPO] = {"4471902", "ada-g12", 4},
                          [PRETRAIN] = {"218391", "l40s-07", 4},
                          [LORA] = {"90817", "ws-rtx2", 0},
                          [DDP] = {"1553046", "a6k-node04", 8},
                          [DECODE] = {"667120", "hop-018", 4}};
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    const cJSON *const job = item(reports[i], "job");
    assert_string_equal(text(job, "id"), jobs[i].id);
    expect_words(item(job, "nodes"), jobs[i].node);
    if (jobs[i].ranks > 0) expect_near(number(job, "ranks"), jobs[i].ranks, 0, "ranks");
  }
  const cJSON *const missing = item(item(reports[LORA], "facts"), "oom.short");
  expect_near(number(missing, "lo") / 1048576, 176.07, 0.01, "short by at least, MiB");
  expect_near(number(missing, "hi") / 1048576, 788.48, 0.01, "short by at most, MiB");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_fact_is_told),
      cmocka_unit_test(test_jobs_are_told),
  };
  return cmocka_run_group_tests_name("sample facts", tests, make_reports, drop_reports);
}
