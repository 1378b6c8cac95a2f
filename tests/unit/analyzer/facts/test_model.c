/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the model: counts of several models, printed shapes and the table of known ones, number formats, weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/facts/model.h"
#include "tests/support/job/job_sample.h"

#define FROZEN_PAIR                                                                                                              \
  "source acme/One: 7,248,023,552 parameters, frozen, torch.float16\n"                                                           \
  "target acme/Two: 8,030,261,248 parameters, frozen, torch.float16\n"                                                           \
  "bridge: 412,553,216 trainable parameters, torch.bfloat16\n"

#define MEGATRON_RANK(t, p, n) " > number of parameters on (tensor, pipeline) model parallel rank (" t ", " p "): " n "\n"

static const struct {
  const char *name;
  const char *log;
  const char *fact;
  double number; /* NAN = unknown */
} number_rows[] = {
    {"frozen models are not the trained one", FROZEN_PAIR, "model.parameters", 412553216},
    {"and are added up, each once", FROZEN_PAIR FROZEN_PAIR, "model.frozen_parameters", 7248023552.0 + 8030261248.0},
    {"weights of the frozen models", FROZEN_PAIR, "model.frozen_weights", 2 * (7248023552.0 + 8030261248.0)},
    {"whose format must be known", FROZEN_PAIR "third: 304,326,632 frozen parameters\n", "model.frozen_weights", (double)NAN},
    {"the base model's format is that of the whole with adapters",
     "base model: /data/m (1,310,984,192 parameters, torch.float16)\ntrainable params: 1,000,000 || all params: 1,311,984,192 || "
     "trainable%: 0.08\n",
     "model.bytes_per_parameter", 2},
    {"but not that of a quantised one",
     "load_in_4bit: True\nbase model: /data/m (1,310,984,192 parameters, torch.float16)\ntrainable params: 1,000,000 || all "
     "params: 1,311,984,192 || trainable%: 0.08\n",
     "model.bytes_per_parameter", (double)NAN},
    {"a part's width is not the model's", "bridge:\n  hidden_size: 1536\n", "model.hidden_size", (double)NAN},
    {"nor is a vision tower's", "vision_config:\n  hidden_size: 1024\nhidden_size: 4096\n", "model.hidden_size", 4096},
    {"the model's own section", "model:\n  hidden_size: 4096\n", "model.hidden_size", 4096},
    {"work of a pass", "micro_batch_size: 8\nmax_seq_len: 2048\n", "work.tokens", 16384},
    {"work without a length", "micro_batch_size: 8\n", "work.tokens", (double)NAN},
    {"work of an update", "micro_batch_size: 8\ngradient_accumulation_steps: 4\n--nproc_per_node=2\n", "work.batch", 64},
    {"cards that share layers are no replicas",
     "micro_batch_size: 8\ngradient_accumulation_steps: 4\n--nproc_per_node=2\ntensor_parallel_size: 2\n", "work.batch",
     (double)NAN},
    {"nothing frozen", "Model parameters: 1,310,984,192\n", "model.frozen_parameters", (double)NAN},
    {"states of the trained part alone: 16-bit weights", FROZEN_PAIR, "model.states", 412553216.0 * 12},
    {"all parts of the grid",
     "  tensor_model_parallel_size ..................... 2\n  pipeline_model_parallel_size ................... 1\n" MEGATRON_RANK(
         "0", "0", "1000000") MEGATRON_RANK("1", "0", "1000000") MEGATRON_RANK("1", "0", "1000000"),
     "model.parameters", 2000000},
    {"a part of the grid is not the model",
     "  tensor_model_parallel_size ..................... 2\n  pipeline_model_parallel_size ................... "
     "1\n" MEGATRON_RANK("0", "0", "1000000"),
     "model.parameters", (double)NAN},
    {"a grid of unknown size", MEGATRON_RANK("0", "0", "1000000"), "model.parameters", (double)NAN},
    {"the format of the line with the count", "model: 355,012,608 parameters (355.0M), fp32 master weights\n",
     "model.bytes_per_parameter", 4},
    {"a printed vocabulary beats the table's", "--model_name_or_path Qwen/Qwen2.5-7B\n\"vocab_size\": 152000,\n",
     "model.vocab_size", 152000},
    {"which gives the rest", "--model_name_or_path Qwen/Qwen2.5-7B\n\"vocab_size\": 152000,\n", "model.layers", 28},
    {"another width is another model", "--model_name_or_path Qwen/Qwen2.5-7B\n\"hidden_size\": 1024,\n", "model.layers",
     (double)NAN},
    {"whose printed width stands", "--model_name_or_path Qwen/Qwen2.5-7B\n\"hidden_size\": 1024,\n", "model.hidden_size", 1024},
    {"of two known models none is the model", "source_model: gpt2\ntarget_model: Qwen/Qwen2.5-7B\n", "model.layers", (double)NAN},
    {"one model under two names", "--model_name_or_path Qwen/Qwen2.5-7B\ntarget_model: Qwen/Qwen2.5-7B-Instruct\n",
     "model.layers", 28},
    {"an unknown name", "--model_name_or_path acme/Base-3B\n", "model.layers", (double)NAN},
    {"the table's count is told apart", "--model_name_or_path Qwen/Qwen2.5-7B\n", "model.table_parameters", 7615616512.0},
    {"and is no printed count", "--model_name_or_path Qwen/Qwen2.5-7B\n", "model.parameters", (double)NAN},
    {"adapters without a count of trainable weights", "--lora_r 16\nModel parameters: 1,310,984,192\n", "model.states",
     (double)NAN},
    {"adapters with one", "--lora_r 16\ntrainable params: 1,000,000 || all params: 1,311,984,192 || trainable%: 0.08\n",
     "model.states", 1310984192.0 * 2 + 1000000.0 * 16},
    {"adapters of rank 0 are none", "lora_rank: 0\nquantization: None\nModel parameters: 1,310,984,192\n", "model.states",
     1310984192.0 * 16},
    {"quantised weights", "load_in_4bit: True\nModel parameters: 1,310,984,192\n", "model.states", (double)NAN},
    {"no adapters", "Model parameters: 1,310,984,192\n", "model.states", 1310984192.0 * 16},
    {"nor gives states", "--model_name_or_path Qwen/Qwen2.5-7B\n", "model.states", (double)NAN},
};

static void test_numbers(void **state) {
  for (size_t i = 0; i < sizeof number_rows / sizeof number_rows[0]; i++)
    sample_expect_number(*state, number_rows[i].log, number_rows[i].fact, number_rows[i].number, 1);
}

static const struct {
  const char *name;
  const char *log;
  const char *fact;
  const char *text; /* NULL = unknown */
} text_rows[] = {
    {"the setting is the name", "--model_name_or_path acme/Base-3B\n", "model.name", "acme/Base-3B"},
    {"an option of an engine", "serve --model acme/Base-3B --port 80\n", "model.name", "acme/Base-3B"},
    {"a part's name is not the model's", "bridge: 412,553,216 trainable parameters\n", "model.name", NULL},
    {"where the shape is from", "--model_name_or_path gpt2-xl\n", "model.table", "table of known shapes: gpt2-xl"},
    {"printed shapes need no table", "\"num_hidden_layers\": 12,\n", "model.table", NULL},
    {"a format", "\"torch_dtype\": \"bfloat16\",\n", "model.dtype", "bf16"},
    {"stated weights that cannot be", "model: 355,012,608 parameters\nmodel weights: 7.50 GiB\n", "model.contradiction",
     "weights of 7.50 GiB do not follow from 355012608 parameters: 1.32 GiB in fp32, 677.13 MiB in 16 bits"},
    {"fp32 weights with buffers can be", "model: 355,012,608 parameters\nmodel weights: 1.40 GiB\n", "model.contradiction", NULL},
    {"quantised weights can be", "model: 355,012,608 parameters\nmodel weights: 0.20 GiB\n", "model.contradiction", NULL},
    {"no count, no contradiction", "model weights: 7.50 GiB\n", "model.contradiction", NULL},
};

static void test_texts(void **state) {
  for (size_t i = 0; i < sizeof text_rows / sizeof text_rows[0]; i++)
    sample_expect_text(*state, text_rows[i].log, text_rows[i].fact, text_rows[i].text);
}

/* A frozen model has a state, as rows of accounting have: these must not be taken for rows of another job. */
static void test_frozen_beside_accounting(void **state) {
  static const struct sample_file files[] = {
      {"scontrol-667.txt", "JobId=667 JobName=x\n   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)\n"},
      {"slurm-667.out", FROZEN_PAIR}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_true(sample_number(&sample, "model.frozen_parameters") == 7248023552.0 + 8030261248.0);
  sample_done(&sample);
}

#define NOTES "Model parameters: 8,310,984,192 with batch_size: 3\n"

/* Notes beside a log are of other times; alone they may hold the log. */
static void test_prose_beside_a_log(void **state) {
  static const struct sample_file files[] = {{"notes.md", NOTES "batch_size: 3\n" OOM_ON("0")},
                                             {"slurm-667.err", "batch_size: 5\nModel parameters: 1,310,984,192\n" OOM_ON("0")}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_true(sample_number(&sample, "model.parameters") == 1310984192);
  assert_true(sample_number(&sample, "config.micro_batch") == 5);
  assert_int_equal(sample_failure(&sample)->span.file, 1);
  sample_done(&sample);
  sample_read(&sample, *state, files, 1);
  assert_true(sample_number(&sample, "config.micro_batch") == 3);
  assert_int_equal(sample_failure_kind(&sample), WO_KIND_CUDA_OOM);
  sample_done(&sample);
}

#define TRACE                                                                                                                    \
  "# gpu     fb   bar1   ccpm     sm    mem    enc    dec    jpg    ofa \n"                                                      \
  "# Idx     MB     MB     MB      %      %      %      %      %      % \n"                                                      \
  "    0   1024      4      0     20      5      0      0      0      0 \n"                                                      \
  "    0   2048      4      0     22      5      0      0      0      0 \n"
#define SETTINGS "micro_batch_size: 6\nmax_seq_len: 1024\n" OOM_ON("0")

/* What people name a trace after; another trace leaves open which run is meant. */
static void test_traced_run(void **state) {
  static const struct {
    const char *first, *second;
    double growth;
  } rows[] = {{"dmon_mb2_seq512.txt", NULL, 6},
              {"bs4-len1024.dmon", NULL, 1.5},
              {"dmon_mb2.txt", NULL, (double)NAN},
              {"dmon_mb2x_seq512.txt", NULL, (double)NAN},
              {"dmon_mb2_seq512.txt", "dmon_mb1_seq512.txt", (double)NAN}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct sample_file files[] = {{"job.err", SETTINGS}, {rows[i].first, TRACE}, {rows[i].second, TRACE}};
    struct sample_job sample;
    sample_read(&sample, *state, files, rows[i].second ? 3 : 2);
    const double found = sample_number(&sample, "trace.growth");
    if (isnan(rows[i].growth) ? !isnan(found) : found != rows[i].growth) fail_msg("%s: %f", rows[i].first, found);
    sample_done(&sample);
  }
}

/* By how much a request did not fit; gaps that would have been enough give no figure. */
static void test_shortfall(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_SAYS("3.00 GiB", "0", "40.00 GiB", "1.00 GiB", "39.00 GiB", "38.00 GiB", "512.00 MiB"));
  const struct wo_value missing = sample_fact(&sample, "oom.short");
  assert_true(missing.is_known && missing.number.lo == 1.5 * 1073741824 && missing.number.hi == 2.0 * 1073741824);
  sample_done(&sample);
  sample_log(&sample, *state, OOM_SAYS("3.00 GiB", "0", "40.00 GiB", "1.00 GiB", "39.00 GiB", "36.00 GiB", "2.50 GiB"));
  assert_false(sample_fact(&sample, "oom.short").is_known);
  sample_done(&sample);
}

/* The file that is named may shard the model, so it is not known to be unsharded. */
static void test_sharding_of_a_named_file(void **state) {
  static const struct {
    const char *log;
    enum wo_truth truth;
  } rows[] = {{"micro_batch_size: 2\n", WO_FALSE},
              {"deepspeed=None,\n", WO_FALSE},
              {"deepspeed: examples/deepspeed/ds_z3_config.json\n", WO_UNDECIDED},
              {"deepspeed: ds_z3_config.json\nzero_stage: 3\n", WO_TRUE},
              {"fsdp: [full_shard, auto_wrap]\n", WO_TRUE},
              {"fsdp=[],\n", WO_FALSE}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    sample_expect_truth(*state, rows[i].log, "model.is_sharded", rows[i].truth);
}

/* Names beyond the limit are left out, printed dimensions keep their place. */
static void test_many_models(void **state) {
  struct sample_job sample;
  struct wo_job_model models[WO_LIMIT_JOB_MODELS];
  sample_log(
      &sample, *state,
      "\"hidden_size\": 333,\nserve --model gpt2 \nserve --model gpt2-xl \nserve --model phi-2 \nserve --model opt-125m \n");
  assert_int_equal(wo_models_list(&sample.facts, models), WO_LIMIT_JOB_MODELS);
  assert_null(models[0].shape);
  assert_true(models[0].dims[WO_MODEL_HIDDEN].value == 333 && !models[0].dims[WO_MODEL_HIDDEN].is_assumed);
  assert_true(wo_view_is(models[1].shape->id, "gpt2") && models[1].dims[WO_MODEL_VOCAB].is_assumed);
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_frozen_beside_accounting),
      cmocka_unit_test(test_prose_beside_a_log),
      cmocka_unit_test(test_traced_run),
      cmocka_unit_test(test_shortfall),
      cmocka_unit_test(test_sharding_of_a_named_file),
      cmocka_unit_test(test_many_models),
  };
  return cmocka_run_group_tests_name("model", tests, sample_load_all, sample_unload);
}
