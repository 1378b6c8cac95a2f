/* SPDX-License-Identifier: Apache-2.0 */
/* The budget's arithmetic: every component by itself, and published cases with their sources. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/budget/budget_args.h"
#include "analyzer/budget/budget_layer.h"
#include "analyzer/command/commands.h"
#include "parsers/base/units.h"
#include "parsers/base/view.h"
#include "tests/support/failing_alloc.h"

struct sheet {
  struct wo_arena arena;
  struct wo_budget_input input;
  struct wo_budget budget;
};

/* Reads "params=8e9 dtype=bf16 master-weights ..." and makes the table. */
static void make(struct sheet *sheet, const char *options) {
  struct wo_view rest = wo_view_of(options);
  struct wo_err err = {0};
  *sheet = (struct sheet){.input = {.frozen_count = 0}};
  wo_arena_init(&sheet->arena, 1024 * 1024);
  while (rest.len > 0) {
    struct wo_view value = wo_view_cut(&rest, ' ');
    const struct wo_view name = wo_view_cut(&value, ':');
    if (wo_command_apply(&wo_command_budget, (struct wo_given){name, value}, &sheet->input, &err) != WO_OK)
      fail_msg("%s: %s", options, err.message);
  }
  if (wo_budget_check(&sheet->input, &err) != WO_OK) fail_msg("%s: %s", options, err.message);
  assert_int_equal(wo_budget_make(&sheet->input, &sheet->arena, &sheet->budget), WO_OK);
}

static void done(struct sheet *sheet) {
  wo_arena_done(&sheet->arena);
}

static const struct wo_budget_row *find_row(const struct wo_budget *budget, const char *id) {
  for (size_t i = 0; i < budget->row_count; i++) {
    if (wo_view_is(budget->rows[i].id, id)) return &budget->rows[i];
  }
  return NULL;
}

static void assert_near(const char *what, double is, double should) {
  if (fabs(is - should) > 1e-9 * fabs(should) + 1e-6) fail_msg("%s: %.6f, expected %.6f", what, is, should);
}

/* ---- Components ---- */

/* One component of one set-up. `row` "=" is the model states, "host" what is on the host. NAN: no such row; < 0: unknown. */
static const struct {
  const char *options;
  const char *row;
  double lo;
  double mid;
  double hi;
} components[] = {
    {"params:1000 dtype:fp32", "weights", 4000, 4000, 4000},
    {"params:1000 dtype:bf16", "weights", 2000, 2000, 2000},
    {"params:1000 dtype:amp", "weights", 4000, 4000, 4000},
    {"params:1000 dtype:fp8", "weights", 1000, 1000, 1000},
    {"params:1000", "weights", 2000, 4000, 4000},
    {"dtype:fp32", "weights", -1, -1, -1},
    {"params:1000 dtype:fp32", "gradients", 4000, 4000, 4000},
    {"params:1000 dtype:bf16 grad-dtype:fp32", "gradients", 4000, 4000, 4000},
    {"params:1000 dtype:fp32", "optimizer", 8000, 8000, 8000},
    {"params:1000 dtype:bf16", "optimizer", 4000, 4000, 8000},
    {"params:1000 dtype:bf16", "master", 0, 0, 4000},
    {"params:1000 dtype:bf16 master-weights", "master", 4000, 4000, 4000},
    {"params:1000 dtype:bf16 master-weights", "optimizer", 8000, 8000, 8000},
    {"params:1000 dtype:fp32", "master", NAN, NAN, NAN},
    {"params:1000 dtype:bf16 optimizer-dtype:fp32", "=", 12000, 12000, 12000},
    {"params:256000 dtype:bf16 optimizer:adam8bit", "optimizer", 513000, 520000, 520000},
    {"params:1000 dtype:fp32 optimizer:sgd", "optimizer", 0, 0, 0},
    {"params:1000 dtype:fp32 optimizer:sgd-momentum", "optimizer", 4000, 4000, 4000},
    {"params:1000 dtype:fp32 optimizer:lion", "optimizer", 4000, 4000, 4000},
    {"params:1000 dtype:fp32 optimizer:none", "optimizer", 0, 0, 0},
    {"params:1000000 dtype:fp32 optimizer:adafactor hidden:1000", "optimizer", 4000, 8000, 8000},
    /* division */
    {"params:8000 dtype:fp32 gpus:8 zero:1", "=", 72000, 72000, 72000},
    {"params:8000 dtype:fp32 gpus:8 zero:2", "=", 44000, 44000, 44000},
    {"params:8000 dtype:fp32 gpus:8 zero:3", "=", 16000, 16000, 16000},
    {"params:8000 dtype:fp32 gpus:8 fsdp:full_shard", "=", 16000, 16000, 16000},
    {"params:8000 dtype:fp32 gpus:8 fsdp:shard_grad_op", "=", 16000, 16000, 16000},
    {"params:8000 dtype:fp32 gpus:8 fsdp:shard_grad_op", "buffers", 32000, 32000, 32000},
    {"params:8000 dtype:fp32 gpus:8 fsdp:no_shard", "=", 128000, 128000, 128000},
    {"params:8000 dtype:fp32 gpus:8 tensor-parallel:2 pipeline:2", "weights", 8000, 8000, 8000},
    {"params:8000 dtype:fp32 gpus:8 tensor-parallel:2 pipeline:2 zero:1", "optimizer", 8000, 8000, 8000},
    /* adapters */
    {"params:1000 trainable:100 dtype:fp16", "weights", 1800, 1800, 1800},
    {"params:1000 trainable:100 dtype:fp16", "gradients", 200, 200, 400},
    {"params:1000 trainable:100 dtype:fp16", "optimizer", 400, 800, 800},
    {"params:1000 adapters:100 dtype:fp16", "weights", 2000, 2000, 2000},
    {"params:1000 adapters:100 dtype:fp16", "adapters", 200, 400, 400},
    {"params:1000 adapters:100 dtype:bf16 quantize:4bit", "weights", 516, 550, 750},
    {"params:1000 adapters:100 dtype:bf16 quantize:8bit", "weights", 1000, 1000, 1100},
    /* embeddings of 10 x 20, in one table or in two */
    {"params:1000 adapters:100 quantize:4bit vocab:10 hidden:20", "weights", 600 * 0.516, 600 * 0.54, 800 * 0.5625},
    {"params:1000 adapters:100 quantize:4bit vocab:10 hidden:20", "embeddings", 400, 1600, 1600},
    {"params:1000 inference:1 quantize:8bit vocab:10 hidden:20", "weights", 600, 600, 800 * 1.02},
    {"params:1000 inference:1 quantize:8bit vocab:10 hidden:20", "embeddings", 400, 800, 800},
    {"params:300 adapters:100 quantize:8bit vocab:10 hidden:20", "weights", 300, 300, 330},
    {"params:1000 lora-rank:2 layers:3 hidden:10 intermediate:40 dtype:fp32", "gradients", 960, 5520, 5520},
    /* frozen models and the host */
    {"params:1000 dtype:fp32 frozen:a=500:fp16 gpus:4 zero:3", "frozen", 1000, 1000, 1000},
    {"params:1000 dtype:fp32 frozen:a=500:4bit", "frozen", 275, 275, 275},
    {"params:1000 dtype:fp32 offload-optimizer", "optimizer", 0, 0, 0},
    {"params:1000 dtype:fp32 offload-optimizer", "host", 8000, 8000, 8000},
    {"params:1000 dtype:fp32 offload-optimizer gpus:4 zero:2", "host", 3000, 3000, 3000},
    {"params:1000 dtype:fp32 offload-params gpus:4 zero:3 largest-layer:10", "host", 1000, 1000, 1000},
    /* buffers */
    {"params:1000 dtype:fp32 gpus:2", "buffers", 0, 4000, 4000},
    {"params:1000 dtype:fp32 optimizer:sgd", "buffers", NAN, NAN, NAN},
    {"params:1000 dtype:fp32 gpus:2 zero:2", "buffers", 4000, 4000, 8000},
    {"params:1e12 dtype:fp32 gpus:2 zero:2", "buffers", 2e9, 2e9, 4e9},
    {"params:1000 dtype:bf16 gpus:2 zero:3 largest-layer:100", "buffers", 400, 400, 800},
    {"params:1000 dtype:bf16 gpus:2 zero:3", "buffers", 1800, 2000, 2200},
    {"params:1e12 dtype:bf16 gpus:2 zero:3", "buffers", 1.8e9, 2e9, 2.2e9},
    {"params:1000 dtype:bf16 gpus:2 fsdp:full_shard layers:10", "buffers", 400, 400, 800},
    {"params:1000 dtype:bf16 gpus:2 fsdp:full_shard", "buffers", -1, -1, -1},
    {"params:1000 adapters:100 quantize:4bit hidden:20 intermediate:50", "buffers", 2000, 2000, 4000},
    {"params:1000 adapters:100 quantize:4bit hidden:20 intermediate:50 tensor-parallel:2", "buffers", 1000, 1000, 2000},
    {"params:1000 adapters:100 hidden:20 intermediate:50 optimizer:sgd", "buffers", NAN, NAN, NAN},
    {"params:1000 inference:1 quantize:4bit hidden:20 intermediate:50", "buffers", NAN, NAN, NAN},
    /* two tables of 100 x 5 have two moments, the rest one; no tables known: one or two */
    {"params:2000 dtype:fp32 optimizer:muon hidden:5 vocab:100", "optimizer", 12000, 12000, 12000},
    {"params:2000 dtype:fp32 optimizer:muon", "optimizer", 8000, 8000, 16000},
    /* one layer of 4 x 10 x 10 and 3 x 10 x 20: 2 x (10 + 20) and 2 x (10 + 40) numbers each, and 1000 others */
    {"params:2000 dtype:bf16 optimizer-dtype:bf16 optimizer:galore galore-rank:2 layers:1 hidden:10 heads:2 intermediate:20",
     "optimizer", 2 * (4 * 60 + 3 * 100 + 2000), 2 * (4 * 60 + 3 * 100 + 2000), 2 * (4 * 60 + 3 * 100 + 2000)},
    {"params:2000 dtype:fp32 optimizer:galore galore-rank:2 layers:1 hidden:10 heads:2 intermediate:20", "optimizer",
     4 * (4 * 140 + 3 * 180 + 2000), 4 * (4 * 140 + 3 * 180 + 2000), 4 * (4 * 140 + 3 * 180 + 2000)},
    {"params:2000 dtype:fp32 optimizer:galore", "optimizer", 0, 8000, 16000},
    {"params:1000 lora-rank:2 lora-targets:all-linear layers:1 hidden:10 heads:2 intermediate:20 dora dtype:bf16", "adapters",
     2 * 430, 4 * 430, 4 * 430},
    {"params:1000 dtype:bf16 master-weights gpus:4 fsdp:full_shard critic:500", "critic", 500 * 16 / 4, 500 * 16 / 4,
     500 * 16 / 4},
    {"params:1000 dtype:bf16 gpus:8 tensor-parallel:8 zero:2 offload-optimizer critic:800", "critic", 200, 200, 200},
    {"params:1000 rollout:40GiB", "rollout", 40 * WO_GIB, 40 * WO_GIB, 40 * WO_GIB},
    {"params:1000 rollout:0.5 capacity:80GiB", "rollout", 40 * WO_GIB, 40 * WO_GIB, 40 * WO_GIB},
    {"params:1000 rollout:0.5", "rollout", -1, -1, -1},
    /* activations that go to the host: two of ten layers stay, 1 to 3 */
    {"micro-batch:2 seq-len:10 hidden:20 layers:10 attention:flash activation-offload", "activations", 13600, 27200, 40800},
    {"micro-batch:2 seq-len:10 hidden:20 layers:10 attention:flash activation-offload", "host", 136000, 136000, 136000},
    /* activations: b 2, s 10, h 20, a 4, 3 layers; 34 sbh = 13600, 5 a s / h = 10 */
    {"micro-batch:2 seq-len:10 hidden:20 heads:4 layers:3 attention:scores", "activations", 52800, 52800, 52800},
    {"micro-batch:2 seq-len:10 hidden:20 layers:3 attention:flash", "activations", 40800, 40800, 40800},
    {"micro-batch:2 seq-len:10 hidden:20 layers:3 checkpointing:selective", "activations", 40800, 40800, 40800},
    {"micro-batch:2 seq-len:10 hidden:20 heads:4 layers:3", "activations", 40800, 40800, 52800},
    {"micro-batch:2 seq-len:10 hidden:20 layers:3 checkpointing:full attention:flash", "activations", 16000, 16000, 16000},
    {"micro-batch:2 seq-len:10 hidden:20 layers:3 attention:flash intermediate:60", "activations", 36000, 43200, 50400},
    {"micro-batch:2 seq-len:10 hidden:20 layers:3 attention:flash intermediate:80 dtype:fp32", "activations", 79200, 79200,
     79200},
    {"micro-batch:2 seq-len:10 hidden:20 layers:4 attention:flash pipeline:4 grad-accum:2", "activations", 27200, 27200, 27200},
    {"micro-batch:2 seq-len:10 hidden:20 layers:4 attention:flash pipeline:4 grad-accum:9", "activations", 54400, 54400, 54400},
    {"micro-batch:2 seq-len:10 hidden:20 layers:4 attention:flash pipeline:4", "activations", 13600, 54400, 54400},
    {"micro-batch:2 seq-len:10 hidden:20 layers:4 attention:flash pipeline:4 checkpointing:full", "activations", 14400, 16800,
     16800},
    {"micro-batch:2 seq-len:10 hidden:20 layers:3 checkpointing:full attention:flash tensor-parallel:4 sequence-parallel:1",
     "activations", 4000, 4000, 4000},
    {"micro-batch:2 seq-len:10 hidden:20 layers:3 checkpointing:full attention:flash quantize:4bit adapters:1", "activations",
     16000, 16000, 18400},
    {"micro-batch:2 seq-len:10 hidden:20 layers:3 attention:flash context-parallel:2", "activations", 20400, 20400, 20400},
    {"micro-batch:2 seq-len:10 hidden:20 heads:4 kv-heads:1 layers:3 attention:flash", "activations", 37200, 37200, 37200},
    /* two pieces on each of four stages: (2 x 4 + 3) / 8 of the layers; 2 passes: 4 pieces */
    {"micro-batch:2 seq-len:10 hidden:20 layers:8 attention:flash pipeline:4 interleave:2", "activations", 27200, 149600, 149600},
    {"micro-batch:2 seq-len:10 hidden:20 layers:8 attention:flash pipeline:4 interleave:2 grad-accum:2", "activations", 54400,
     54400, 54400},
    {"micro-batch:2 seq-len:10 layers:3", "activations", -1, -1, -1},
    {"activations:30GiB@micro_batch=4 micro-batch:2", "activations", 15 * WO_GIB, 15 * WO_GIB, 15 * WO_GIB},
    {"activations:8GiB@micro_batch=4,seq_len=1000 micro-batch:4 seq-len:2000 attention:flash", "activations", 16 * WO_GIB,
     16 * WO_GIB, 16 * WO_GIB},
    {"activations:8GiB@micro_batch=4,seq_len=1000 micro-batch:4 seq-len:2000", "activations", 16 * WO_GIB, 16 * WO_GIB,
     32 * WO_GIB},
    {"activations:8GiB@micro_batch=4,seq_len=1000 micro-batch:4 seq-len:500", "activations", 2 * WO_GIB, 4 * WO_GIB, 4 * WO_GIB},
    /* logits */
    {"micro-batch:2 seq-len:10 vocab:1000 dtype:bf16", "logits", 200000, 280000, 360000},
    {"micro-batch:2 seq-len:10 vocab:1000 dtype:fp32", "logits", 160000, 240000, 400000},
    {"micro-batch:2 seq-len:10 vocab:1000 dtype:bf16 tensor-parallel:4", "logits", 50000, 70000, 90000},
    {"micro-batch:2 seq-len:10 vocab:1000 dtype:bf16 fused-loss", "logits", 0, 0, 45000},
    {"micro-batch:2 seq-len:10 vocab:1000 dtype:bf16 context-parallel:2", "logits", 100000, 140000, 180000},
    /* the last stage has them, and needs more for that; with more layers the first needs more */
    {"micro-batch:2 seq-len:10 vocab:1000 hidden:20 heads:4 layers:4 pipeline:4 dtype:bf16 params:60000", "logits", 200000,
     280000, 360000},
    {"micro-batch:2 seq-len:10 vocab:1000 hidden:20 heads:4 layers:400 pipeline:4 dtype:bf16 params:60000", "logits", 0, 0, 0},
    /* a table of the vocabulary on each end, the other 20000 divided by the stages */
    {"vocab:1000 hidden:20 pipeline:4 dtype:bf16 params:60000", "weights", 50000, 50000, 50000},
    {"micro-batch:2 seq-len:10", "logits", -1, -1, -1},
    /* serving */
    {"inference layers:3 heads:8 kv-heads:2 head-dim:16 max-model-len:100 max-num-seqs:5", "kv_cache", 38400, 38400, 192000},
    {"inference layers:3 heads:8 hidden:128 max-model-len:100", "kv_cache", 153600, 153600, 153600},
    {"inference layers:3 heads:8 hidden:128 max-model-len:100 kv-dtype:fp8 tensor-parallel:2", "kv_cache", 38400, 38400, 38400},
    {"inference layers:3 heads:8 kv-heads:2 head-dim:16 max-model-len:100 tensor-parallel:8", "kv_cache", 19200, 19200, 19200},
    {"inference layers:3 heads:8 kv-heads:2 head-dim:16 max-model-len:100 pipeline:3", "kv_cache", 12800, 12800, 12800},
    {"inference layers:3 heads:8 kv-heads:2 head-dim:16 micro-batch:4 seq-len:100", "kv_cache", 153600, 153600, 153600},
    /* 100 tokens of a gated block: 2 x (3 x 30 + 4 x 10) each; 4 sequences of 1000 logits */
    {"inference hidden:10 intermediate:30 vocab:1000 max-num-batched-tokens:100 max-num-seqs:4", "activations", 59200 * 0.8,
     155200, 155200 * 1.15},
    {"inference hidden:10 intermediate:30 vocab:1000 max-num-batched-tokens:100 max-num-seqs:1 tensor-parallel:2", "activations",
     19000 * 0.8, 38800, 38800 * 1.15},
    {"inference hidden:10 intermediate:30 vocab:100 micro-batch:2 seq-len:50 dtype:bf16", "activations", 26000 * 0.8, 26000,
     40000 * 1.15},
    {"inference hidden:10", "activations", -1, -1, -1},
    {"inference enforce-eager", "graphs", 0, 0, 0},
    {"inference micro-batch:1 seq-len:1", "graphs", NAN, NAN, NAN},
    {"inference params:1000 dtype:bf16 max-model-len:9", "gradients", NAN, NAN, NAN},
    {"inference params:1000 dtype:bf16", "kv_cache", -1, -1, -1},
    /* fixed parts */
    {"params:1000", "context", 0.3 * WO_GIB, 0.525 * WO_GIB, 0.75 * WO_GIB},
    {"params:1000", "nccl", NAN, NAN, NAN},
};

static void test_components(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof components / sizeof components[0]; i++) {
    struct sheet sheet;
    make(&sheet, components[i].options);
    const struct wo_budget_row *const row = find_row(&sheet.budget, components[i].row);
    struct wo_interval is = row ? row->bytes : (struct wo_interval){NAN, NAN, NAN};
    if (wo_view_is(wo_view_of(components[i].row), "=")) is = sheet.budget.states;
    if (wo_view_is(wo_view_of(components[i].row), "host")) is = sheet.budget.host;
    if (components[i].lo < 0) {
      if (!row || row->is_known || row->formula.len == 0) fail_msg("%s: %s is known", components[i].options, components[i].row);
    } else if (isnan(components[i].lo)) {
      if (row) fail_msg("%s: there is a row %s", components[i].options, components[i].row);
    } else {
      assert_near(components[i].options, is.lo, components[i].lo);
      assert_near(components[i].options, is.mid, components[i].mid);
      assert_near(components[i].options, is.hi, components[i].hi);
    }
    done(&sheet);
  }
}

/* ---- Layers ---- */

/* Bytes for each token of one layer, as autograd's saved tensors add up to (torch 2.11, transformers 5.17, saved_tensors_hooks),
 * less the 8 bytes of two roots of means and the narrow products of adapters. */
static void test_layers(void **state) {
  (void)state;
#define LLAMA_1B "hidden:2048 heads:32 kv-heads:8 head-dim:64 intermediate:8192 attention:sdpa "
  static const struct {
    const char *architecture;
    const char *options;
    double bytes;
  } rows[] = {
      {"llama", LLAMA_1B "dtype:bf16", 108672},
      {"llama", LLAMA_1B "dtype:fp32", 344064},
      {"llama", LLAMA_1B "dtype:bf16 attention:scores", 311296},
      {"llama", LLAMA_1B "dtype:bf16 adapters:1 lora-targets:all-linear autocast:off", 157824},
      {"llama", LLAMA_1B "dtype:bf16 adapters:1 lora-targets:all-linear autocast:off lora-dropout", 178304},
      {"llama", LLAMA_1B "dtype:bf16 adapters:1 lora-targets:qv autocast:off", 92288},
      {"llama", LLAMA_1B "dtype:bf16 adapters:1 lora-targets:all-linear autocast:on", 116976},
      {"llama", LLAMA_1B "dtype:bf16 adapters:1 lora-targets:all-linear autocast:on quantize:4bit", 162160},
      {"qwen3", "hidden:1024 heads:16 kv-heads:8 head-dim:128 intermediate:3072 attention:sdpa dtype:bf16", 71872},
      {"gpt2", "hidden:768 heads:12 intermediate:3072 attention:sdpa dtype:bf16", 44592},
      {"gpt2", "hidden:768 heads:12 intermediate:3072 attention:sdpa dtype:amp", 66096},
      {"gpt_neox", "hidden:2048 heads:16 intermediate:8192 attention:sdpa dtype:bf16", 69696},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    char options[512];
    snprintf(options, sizeof options, "%s layers:1 micro-batch:1 seq-len:1024 grad-accum:1", rows[i].options);
    make(&sheet, options);
    const struct wo_model_shape shape = {.architecture = wo_view_of(rows[i].architecture)};
    sheet.input.has_layer = true;
    sheet.input.layer = *wo_model_shape_layer(&shape);
    const double bytes = wo__budget_layer(&sheet.input).mid;
    if (fabs(bytes - rows[i].bytes) > 0.002 * rows[i].bytes) fail_msg("%s: %.0f, expected %.0f", options, bytes, rows[i].bytes);
    done(&sheet);
  }
}

/* The same of layers with experts, and with narrow keys (DeepSeek). */
static void test_expert_layers(void **state) {
  (void)state;
#define MIXTRAL "hidden:4096 heads:32 kv-heads:8 head-dim:128 intermediate:14336 attention:sdpa dtype:bf16 layers:1"
#define QWEN3 "hidden:2048 heads:32 kv-heads:4 head-dim:128 intermediate:6144 attention:sdpa dtype:bf16 layers:1"
#define DEEPSEEK "hidden:2048 heads:16 intermediate:10944 attention:sdpa dtype:bf16 layers:1"
#define ADAPTERS " lora-rank:16 lora-targets:all-linear autocast:off"
  static const struct {
    const char *architecture;
    const char *options;
    struct wo_model_experts experts;
    struct wo_model_latent latent;
    double bytes;
    double copies; /* of all experts of a layer */
    double adapters;
  } rows[] = {
      {"llama", MIXTRAL, {8, 2, 14336, 0, 0}, {0, 0, 0, 0, 0}, 348406, 0, 0},
      {"qwen3", QWEN3, {128, 8, 768, 0, 0}, {0, 0, 0, 0, 0}, 194636, 0, 0},
      {"qwen3", QWEN3 ADAPTERS, {128, 8, 768, 0, 0}, {0, 0, 0, 0, 0}, 214092, 2 * 128 * 3 * 2048 * 768.0, 20760576},
      {"deepseek", DEEPSEEK, {64, 6, 1408, 2816, 0}, {0, 512, 128, 64, 128}, 209438, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    char options[512];
    snprintf(options, sizeof options, "%s micro-batch:1 seq-len:1024 grad-accum:1", rows[i].options);
    make(&sheet, options);
    const struct wo_model_shape shape = {.architecture = wo_view_of(rows[i].architecture)};
    sheet.input.has_layer = true;
    sheet.input.layer = *wo_model_shape_layer(&shape);
    sheet.input.experts = rows[i].experts;
    sheet.input.latent = rows[i].latent;
    const double bytes = wo__budget_layer(&sheet.input).mid;
    if (fabs(bytes - rows[i].bytes) > 0.002 * rows[i].bytes) fail_msg("%s: %.0f, expected %.0f", options, bytes, rows[i].bytes);
    assert_near("copies", wo__budget_expert_copies(&sheet.input), rows[i].copies);
    assert_near("adapters", wo__budget_adapters(&sheet.input).mid, rows[i].adapters);
    done(&sheet);
  }
}

/* Experts divided over ranks: the rest of the weights is not, and states are divided over the ranks that have the same. */
static void test_expert_parallel(void **state) {
  (void)state;
  static const struct {
    const char *options;
    double weights, optimizer;
  } rows[] = {
      /* 10000 parameters, 7680 of them of experts: 4 of 3 x 16 x 20 in each of two layers */
      {"dtype:bf16 expert-parallel:4 gpus:8", 2 * (2320 + 1920), 8 * (2320 + 1920)},
      {"dtype:bf16 expert-parallel:4 gpus:8 zero:1", 2 * (2320 + 1920), 8 * (2320 / 8.0 + 1920 / 2.0)},
      {"dtype:bf16 expert-parallel:4 gpus:16 tensor-parallel:2 zero:1", 1160 * 2 + 960 * 2, 8 * (1160 / 8.0 + 960 / 2.0)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    char options[256];
    snprintf(options, sizeof options, "params:10000 layers:2 hidden:16 optimizer-dtype:fp32 optimizer:adam %s", rows[i].options);
    make(&sheet, options);
    sheet.input.experts = (struct wo_model_experts){4, 2, 20, 0, 0};
    assert_int_equal(wo_budget_make(&sheet.input, &sheet.arena, &sheet.budget), WO_OK);
    assert_near(options, find_row(&sheet.budget, "weights")->bytes.mid, rows[i].weights);
    assert_near(options, find_row(&sheet.budget, "optimizer")->bytes.mid, rows[i].optimizer);
    done(&sheet);
  }
  /* An engine's tensor and expert parallelism are of the same ranks. */
  struct sheet sheet;
  make(&sheet, "params:10000 layers:2 hidden:16 dtype:bf16 inference tensor-parallel:4 expert-parallel:4");
  sheet.input.experts = (struct wo_model_experts){4, 2, 20, 0, 0};
  assert_int_equal(wo_budget_make(&sheet.input, &sheet.arena, &sheet.budget), WO_OK);
  assert_near("engine", find_row(&sheet.budget, "weights")->bytes.mid, 2 * 2500);
  done(&sheet);
}

/* Encoders 100 (60 at once), denoiser 1000, decoder 50 in fp32; 10 MiB to denoise 512 x 512, 40 MiB to decode it. */
static void test_pipeline(void **state) {
  (void)state;
  static const struct {
    const char *options;
    enum wo_budget_moment peak;
    double in_use; /* less the 64 MiB of workspaces */
  } rows[] = {
      {"dtype:bf16", WO_BUDGET_DECODE, 2 * 100e6 + 2 * 1000e6 + 4 * 50e6 + 40 * WO_MIB},
      {"dtype:bf16 offload:model", WO_BUDGET_DENOISE, 2 * 1000e6 + 10 * WO_MIB},
      {"dtype:bf16 offload:model quantize:4bit image:1024 micro-batch:9", WO_BUDGET_DECODE, 4 * 50e6 + 36 * 40 * WO_MIB},
      {"dtype:bf16 offload:sequential", WO_BUDGET_DECODE, 40 * WO_MIB},
      {"dtype:bf16 offload:sequential image:1024 vae-tiling", WO_BUDGET_DENOISE, 40 * WO_MIB},
      {"dtype:fp16", WO_BUDGET_DECODE, 2 * 100e6 + 2 * 30e6 + 2 * 1000e6 + 4 * 50e6 + 40 * WO_MIB},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    make(&sheet, rows[i].options);
    sheet.input.image.side = 512;
    sheet.input.pipeline = (struct wo_model_pipeline){.encoders = 100e6,
                                                      .largest_encoder = 60e6,
                                                      .encoder_fp32 = 30e6,
                                                      .denoiser = 1000e6,
                                                      .decoder = 50e6,
                                                      .is_decoder_fp32 = true,
                                                      .denoise_bytes = 10 * WO_MIB,
                                                      .decode_bytes = 40 * WO_MIB};
    assert_int_equal(wo_budget_make(&sheet.input, &sheet.arena, &sheet.budget), WO_OK);
    assert_true(sheet.budget.is_complete);
    if (sheet.budget.peak != rows[i].peak)
      fail_msg("%s: the peak is %s", rows[i].options, wo_budget_moment_name(sheet.budget.peak));
    assert_near(rows[i].options, sheet.budget.in_use.mid - 64 * WO_MIB, rows[i].in_use);
    done(&sheet);
  }
}

/* A network of images: in proportion to images and area; no logits, and layers have no part in it. */
static void test_images(void **state) {
  (void)state;
  static const struct {
    const char *options;
    double activations;
  } rows[] = {
      {"params:1000 dtype:fp32 micro-batch:3", 3000},
      {"params:1000 dtype:amp micro-batch:3", 1800},
      {"params:1000 dtype:bf16 micro-batch:3 image:448", 7200},
      {"params:1000 dtype:fp32 micro-batch:1 layers:2 hidden:8 heads:2 seq-len:5", 1000},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    make(&sheet, rows[i].options);
    sheet.input.image = (struct wo_model_image){224, 1000, 600};
    assert_int_equal(wo_budget_make(&sheet.input, &sheet.arena, &sheet.budget), WO_OK);
    assert_true(sheet.budget.is_complete);
    assert_near(rows[i].options, find_row(&sheet.budget, "activations")->bytes.mid, rows[i].activations);
    assert_near(rows[i].options, find_row(&sheet.budget, "logits")->bytes.hi, 0);
    done(&sheet);
  }
}

/* An engine that sleeps in the steps is beside the states alone; one that stays is beside everything. */
static void test_rollout(void **state) {
  (void)state;
#define TRAINING                                                                                                                 \
  "params:1e9 dtype:bf16 optimizer:adamw-fused grad-accum:1 optimizer-dtype:bf16 activations:20GiB@micro_batch=1 micro-batch:1 "
  static const struct {
    const char *options;
    enum wo_budget_moment peak;
    double in_use;
  } rows[] = {
      {TRAINING, WO_BUDGET_FORWARD, 8e9 + 20 * WO_GIB},
      {TRAINING "rollout:10GiB", WO_BUDGET_FORWARD, 8e9 + 21 * WO_GIB},
      {TRAINING "rollout:10GiB rollout-stays", WO_BUDGET_FORWARD, 8e9 + 30 * WO_GIB},
      {TRAINING "rollout:40GiB", WO_BUDGET_GENERATE, 8e9 + 40 * WO_GIB},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    make(&sheet, rows[i].options);
    assert_int_equal(sheet.budget.peak, rows[i].peak);
    assert_near(rows[i].options, sheet.budget.in_use.mid, rows[i].in_use);
    done(&sheet);
  }
}

/* Narrow vectors in place of keys and values; layers with a window, one of four without; the room that is left. */
static void test_cache(void **state) {
  (void)state;
  struct sheet sheet;
  make(&sheet,
       "inference params:1000 dtype:bf16 layers:4 heads:8 kv-heads:8 head-dim:16 hidden:128 vocab:10 max-model-len:100 "
       "tensor-parallel:4 max-num-batched-tokens:1 max-num-seqs:1 enforce-eager capacity:2GiB gpu-memory-utilization:0.5");
  assert_true(sheet.budget.has_room);
  assert_near("a token", sheet.budget.token_bytes, 4 * 2 * 2 * 16 * 2);
  assert_near("room", sheet.budget.room.mid,
              WO_GIB - sheet.budget.total.mid + find_row(&sheet.budget, "kv_cache")->bytes.mid +
                  find_row(&sheet.budget, "context")->bytes.mid);
  sheet.input.window = 20;
  sheet.input.full_every = 4;
  assert_int_equal(wo_budget_make(&sheet.input, &sheet.arena, &sheet.budget), WO_OK);
  assert_near("window", find_row(&sheet.budget, "kv_cache")->bytes.mid, 256 * (100 / 4.0 + 20 * 0.75) * 2);
  assert_near("window", find_row(&sheet.budget, "kv_cache")->bytes.hi, 256 * 100 * 2);
  sheet.input.window = 0;
  sheet.input.latent = (struct wo_model_latent){0, 50, 16, 6, 16};
  assert_int_equal(wo_budget_make(&sheet.input, &sheet.arena, &sheet.budget), WO_OK);
  assert_near("latent", find_row(&sheet.budget, "kv_cache")->bytes.mid, 4 * 56 * 2 * 100);
  done(&sheet);
}

/* Trained parameters that a rank gives, as PEFT prints them for all linear layers, and for queries and values. */
static void test_adapter_counts(void **state) {
  (void)state;
  static const struct {
    const char *architecture;
    const char *options;
    double count;
  } rows[] = {
      {"qwen3", "layers:28 hidden:1024 heads:16 kv-heads:8 head-dim:128 intermediate:3072 lora-targets:all-linear", 10092544},
      {"gemma2", "layers:42 hidden:3584 heads:16 kv-heads:8 head-dim:256 intermediate:14336 lora-targets:qv", 8945664},
      {"gpt2", "layers:12 hidden:768 heads:12 intermediate:3072 lora-targets:all-linear", 2359296},
      {"phi3", "layers:32 hidden:3072 heads:32 kv-heads:32 intermediate:8192 lora-targets:all-linear", 25165824},
      {"llama", "layers:32 hidden:4096 heads:32 kv-heads:8 intermediate:14336 lora-targets:all-linear", 41943040},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    char options[256];
    snprintf(options, sizeof options, "lora-rank:16 %s", rows[i].options);
    make(&sheet, options);
    const struct wo_model_shape shape = {.architecture = wo_view_of(rows[i].architecture)};
    sheet.input.has_layer = true;
    sheet.input.layer = *wo_model_shape_layer(&shape);
    assert_near(options, wo__budget_adapters(&sheet.input).mid, rows[i].count);
    done(&sheet);
  }
}

/* ---- Published cases ---- */

/* Per-layer activations of Korthikanti et al. 2022 (arXiv 2205.05198), table 2, at the sizes of their table 3. */
static void test_korthikanti(void **state) {
  (void)state;
  static const struct {
    const char *options;
    double per_sbh;
  } rows[] = {
      /* 22B: h 6144, a 64, L 48, t 8, b 4; 5 a s / h = 106.67 */
      {"heads:64 attention:scores", 34 + 5.0 * 64 * 2048 / 6144},
      {"heads:64 attention:scores tensor-parallel:8", 10 + 24.0 / 8 + 5.0 * 64 * 2048 / 6144 / 8},
      {"heads:64 attention:scores tensor-parallel:8 sequence-parallel", (34 + 5.0 * 64 * 2048 / 6144) / 8},
      {"heads:64 tensor-parallel:8 sequence-parallel checkpointing:selective", 34.0 / 8},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    char options[256];
    snprintf(options, sizeof options, "layers:48 hidden:6144 seq-len:2048 micro-batch:4 %s", rows[i].options);
    make(&sheet, options);
    assert_near(options, find_row(&sheet.budget, "activations")->bytes.mid, 48.0 * 2048 * 4 * 6144 * rows[i].per_sbh);
    done(&sheet);
  }
}

/* The same paper, section 5: selective recomputation saves 70 % of GPT-3's activations (a 96, h 12288) and 65 % of MT-NLG's
 * (a 128, h 20480), both at s 2048. */
static void test_share_of_attention_scores(void **state) {
  (void)state;
  static const struct {
    const char *shape;
    double percent;
  } rows[] = {{"layers:96 hidden:12288 heads:96", 70}, {"layers:105 hidden:20480 heads:128", 65}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet all, kept;
    char options[256];
    snprintf(options, sizeof options, "%s seq-len:2048 micro-batch:1 attention:scores", rows[i].shape);
    make(&all, options);
    snprintf(options, sizeof options, "%s seq-len:2048 micro-batch:1 checkpointing:selective", rows[i].shape);
    make(&kept, options);
    const double share = 1 - find_row(&kept.budget, "activations")->bytes.mid / find_row(&all.budget, "activations")->bytes.mid;
    assert_int_equal((int)round(share * 100), (int)rows[i].percent);
    done(&all);
    done(&kept);
  }
}

static const struct {
  const char *source;
  const char *options;
  double states_gb; /* as printed there */
  double unit;
  double tolerance;
} published[] = {
    /* Rajbhandari et al. 2020 (arXiv 1910.02054), figure 1: 7.5 B parameters, 64 ranks, powers of 1000 */
    {"ZeRO baseline", "params:7.5B dtype:fp16 master-weights gpus:64", 120, 1e9, 0.05},
    {"ZeRO Pos", "params:7.5B dtype:fp16 master-weights gpus:64 zero:1", 31.4, 1e9, 0.05},
    {"ZeRO Pos+g", "params:7.5B dtype:fp16 master-weights gpus:64 zero:2", 16.6, 1e9, 0.05},
    {"ZeRO Pos+g+p", "params:7.5B dtype:fp16 master-weights gpus:64 zero:3", 1.9, 1e9, 0.05},
    /* DeepSpeed's stage 3 estimator as the DeepSpeed page of Transformers prints it for T0_3B (2783M parameters, 65M in the
     * largest layer) on one card: 46.91 without offload, 5.43 with the optimizer's, 0.25 with both; and for t5-small (60M,
     * 16M) 1.08. The counts are rounded to a million. The gathered layer is part of its figure. */
    {"DeepSpeed none", "params:2783M largest-layer:65M dtype:fp16 grad-dtype:fp32 master-weights zero:3", 46.91 - 0.2422, WO_GIB,
     0.02},
    {"DeepSpeed optimizer", "params:2783M largest-layer:65M dtype:fp16 grad-dtype:fp32 master-weights zero:3 offload-optimizer",
     5.43 - 0.2422, WO_GIB, 0.02},
    {"DeepSpeed both",
     "params:2783M largest-layer:65M dtype:fp16 grad-dtype:fp32 master-weights zero:3 offload-optimizer offload-params", 0,
     WO_GIB, 0.02},
    {"DeepSpeed t5-small", "params:60M largest-layer:16M dtype:fp16 grad-dtype:fp32 master-weights zero:3", 1.08 - 0.0596, WO_GIB,
     0.02},
    /* Megatron: 18 bytes for each parameter, 6 + 12 / d with the distributed optimizer (d 16) */
    {"Megatron", "params:1B dtype:bf16 grad-dtype:fp32 master-weights", 18, 1e9, 1e-9},
    {"Megatron distributed", "params:1B dtype:bf16 grad-dtype:fp32 master-weights gpus:16 zero:1", 6.75, 1e9, 1e-9},
    /* Bytes for each parameter of the usual set-ups */
    {"fp32 Adam", "params:1B dtype:fp32 optimizer:adam", 16, 1e9, 1e-9},
    {"autocast", "params:1B dtype:amp optimizer:adamw", 16, 1e9, 1e-9},
    {"bf16 Adam", "params:1B dtype:bf16 optimizer-dtype:bf16", 8, 1e9, 1e-9},
    {"SGD with momentum", "params:1B dtype:fp32 optimizer:sgd-momentum", 12, 1e9, 1e-9},
};

static void test_published_states(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
    struct sheet sheet;
    make(&sheet, published[i].options);
    const double states = sheet.budget.states.mid / published[i].unit;
    if (fabs(states - published[i].states_gb) > published[i].tolerance) {
      fail_msg("%s: %.3f, published %.3f", published[i].source, states, published[i].states_gb);
    }
    done(&sheet);
  }
}

/* DeepSpeed counts 4 bytes for each parameter of the layer that is gathered. */
static void test_gathered_layer(void **state) {
  (void)state;
  struct sheet sheet;
  make(&sheet, "params:2783M largest-layer:65M dtype:fp16 grad-dtype:fp32 master-weights gpus:2 zero:3");
  assert_near("4 Lp", find_row(&sheet.budget, "buffers")->bytes.mid, 4 * 65e6);
  done(&sheet);
}

/* ---- Jobs of the reference ---- */

/* 8,499,653,234 parameters on cards of 47.4 GiB: three number formats, and what each stage leaves on one of 8 cards. */
static void test_too_large_a_model(void **state) {
  (void)state;
  static const struct {
    const char *options;
    double gib[4]; /* weights, gradients, optimizer, states */
  } rows[] = {{"dtype:fp32", {31.66, 31.66, 63.33, 126.65}},
              {"dtype:bf16 optimizer-dtype:fp32", {15.83, 15.83, 63.33, 94.99}},
              {"dtype:bf16 optimizer-dtype:bf16", {15.83, 15.83, 31.66, 63.33}}};
  static const char *const ids[] = {"weights", "gradients", "optimizer"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    char options[256];
    snprintf(options, sizeof options, "params:8499653234 gpus:8 capacity:47.4GiB %s", rows[i].options);
    make(&sheet, options);
    for (int k = 0; k < 3; k++) {
      assert_int_equal(lround(find_row(&sheet.budget, ids[k])->bytes.mid / WO_GIB * 100), lround(rows[i].gib[k] * 100));
    }
    assert_int_equal(lround(sheet.budget.states.mid / WO_GIB * 100), lround(rows[i].gib[3] * 100));
    assert_int_equal(sheet.budget.verdict, WO_BUDGET_NOT_FIT);
    done(&sheet);
  }
  struct sheet sheet;
  make(&sheet, "params:8499653234 gpus:8 dtype:fp32");
  assert_true(sheet.budget.has_stages);
  static const double stages[] = {126.65, 71.24, 43.54, 15.83};
  for (int k = 0; k < 4; k++) assert_int_equal(lround(sheet.budget.stages[k].mid / WO_GIB * 100), lround(stages[k] * 100));
  done(&sheet);
}

/* Two frozen models, a trained bridge, measured activations, and a pass that only rank 0 does: 68.5 and 83.5 at batch 4. */
static void test_ranks_differ(void **state) {
  (void)state;
  static const char bridge[] = "params:1B dtype:bf16 optimizer-dtype:bf16 gpus:4 fsdp:no_shard frozen:a=7B:fp16 frozen:b=8B:fp16 "
                               "activations:30GiB@micro_batch=4 extra:rank0=15GiB@micro_batch=4 capacity:80GiB micro-batch:";
  for (int batch = 2; batch <= 4; batch += 2) {
    struct sheet sheet;
    char options[512];
    snprintf(options, sizeof options, "%s%d", bridge, batch);
    make(&sheet, options);
    assert_near("states", sheet.budget.states.mid, 14e9 + 16e9 + 2e9 + 2e9 + 4e9);
    assert_near("activations", find_row(&sheet.budget, "activations")->bytes.mid, 7.5 * WO_GIB * batch);
    assert_near("rank 0", sheet.budget.total.mid - sheet.budget.others.mid, 3.75 * WO_GIB * batch);
    assert_int_equal(sheet.budget.verdict, batch == 2 ? WO_BUDGET_FITS : WO_BUDGET_NOT_FIT);
    assert_int_equal((int)sheet.budget.batch_sure, 3);
    done(&sheet);
  }
}

/* 239 M adapters beside 7.6 B frozen weights: gradients and moments are those of the adapters. */
static void test_adapters_of_a_7b(void **state) {
  (void)state;
  struct sheet sheet;
  make(&sheet, "params:7854691840 trainable:239075328 dtype:fp16 stated:weights=14GB stated:gradients=2.5GB");
  assert_int_equal(lround(find_row(&sheet.budget, "gradients")->bytes.mid / WO_GIB * 100), 45);
  assert_int_equal(lround(find_row(&sheet.budget, "optimizer")->bytes.mid / WO_GIB * 10), 18);
  assert_true(wo_view_has(find_row(&sheet.budget, "weights")->stated_note, "near enough"));
  assert_true(wo_view_has(find_row(&sheet.budget, "gradients")->stated_note, "1.56 GiB more"));
  done(&sheet);
  make(&sheet, "params:512M dtype:fp32 stated:weights=7-8GB");
  assert_int_equal(lround(find_row(&sheet.budget, "weights")->bytes.mid / WO_GIB * 10), 19);
  assert_true(wo_view_has(find_row(&sheet.budget, "weights")->stated_note, "15.7 B for each of 512000000"));
  done(&sheet);
}

/* ---- Verdicts ---- */

#define LIVE "micro-batch:4 seq-len:1000 hidden:1000 layers:10 attention:flash vocab:1000 "

static void test_verdicts(void **state) {
  (void)state;
  static const struct {
    const char *options;
    enum wo_budget_verdict verdict;
  } rows[] = {{"params:1B dtype:fp32", WO_BUDGET_OPEN},
              {"params:1B dtype:fp32 capacity:80GiB", WO_BUDGET_OPEN},
              {"params:1B dtype:fp32 capacity:8GiB", WO_BUDGET_NOT_FIT},
              {LIVE "params:1B dtype:fp32 capacity:80GiB", WO_BUDGET_FITS},
              {"inference params:1B dtype:bf16 layers:3 heads:8 hidden:128 max-model-len:100 capacity:8GiB", WO_BUDGET_OPEN},
              {"inference params:1B dtype:bf16 capacity:1GiB", WO_BUDGET_NOT_FIT},
              {LIVE "params:1B dtype:bf16 capacity:11GiB", WO_BUDGET_TIGHT},
              {LIVE "params:1B dtype:bf16 capacity:9GiB", WO_BUDGET_NOT_FIT}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sheet sheet;
    make(&sheet, rows[i].options);
    if (sheet.budget.verdict != rows[i].verdict)
      fail_msg("%s: %s", rows[i].options, wo_budget_verdict_name(sheet.budget.verdict));
    done(&sheet);
  }
}

/* The largest micro-batch is one that fits, and one more is one too many. */
static void test_largest_batch(void **state) {
  (void)state;
  struct sheet sheet;
  make(&sheet, LIVE "params:1B dtype:fp32 capacity:40GiB");
  assert_true(sheet.budget.has_batches);
  const double largest = sheet.budget.batch_sure;
  done(&sheet);
  assert_true(largest > 4);
  for (int more = 0; more <= 1; more++) {
    char options[256];
    snprintf(options, sizeof options, LIVE "params:1B dtype:fp32 capacity:40GiB micro-batch:%.0f", largest + more);
    make(&sheet, options);
    assert_int_equal(sheet.budget.total.hi <= 40 * WO_GIB, !more);
    done(&sheet);
  }
  make(&sheet, LIVE "params:10B dtype:fp32 capacity:40GiB");
  assert_true(sheet.budget.has_batches);
  assert_int_equal((int)sheet.budget.batch_likely, 0);
  done(&sheet);
}

/* The largest inputs that the options take give finite, ordered numbers. */
static void test_largest_inputs(void **state) {
  (void)state;
  struct sheet sheet;
  make(&sheet, "params:1e15 gpus:1000000 micro-batch:1e9 seq-len:1e9 hidden:1e9 layers:1e6 heads:1e6 vocab:1e9 intermediate:1e9 "
               "capacity:1e15 frozen:x=1e15:fp32 extra:rank0=1e15");
  assert_true(isfinite(sheet.budget.total.hi));
  for (size_t i = 0; i < sheet.budget.row_count; i++) {
    const struct wo_interval bytes = sheet.budget.rows[i].bytes;
    assert_true(bytes.lo >= 0 && bytes.lo <= bytes.mid && bytes.mid <= bytes.hi && isfinite(bytes.hi));
  }
  assert_near("exact beyond 32 bits", find_row(&sheet.budget, "frozen")->bytes.mid, 4e15);
  done(&sheet);
}

/* ---- Memory ---- */

static void test_out_of_memory(void **state) {
  (void)state;
  for (size_t n = 1; n < 40; n++) {
    struct sheet sheet = {.input = {.values = {[WO_BUDGET_PARAMS] = 1e9, [WO_BUDGET_GPUS] = 4}}};
    wo_arena_init(&sheet.arena, 1024 * 1024);
    wo_fail_alloc_at((long)n);
    const enum wo_status status = wo_budget_make(&sheet.input, &sheet.arena, &sheet.budget);
    wo_fail_alloc_off();
    assert_true(status == WO_OK || status == WO_E_NOMEM);
    assert_true(sheet.budget.states.mid > 0);
    done(&sheet);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_components),
      cmocka_unit_test(test_layers),
      cmocka_unit_test(test_expert_layers),
      cmocka_unit_test(test_expert_parallel),
      cmocka_unit_test(test_cache),
      cmocka_unit_test(test_rollout),
      cmocka_unit_test(test_images),
      cmocka_unit_test(test_pipeline),
      cmocka_unit_test(test_adapter_counts),
      cmocka_unit_test(test_korthikanti),
      cmocka_unit_test(test_share_of_attention_scores),
      cmocka_unit_test(test_published_states),
      cmocka_unit_test(test_gathered_layer),
      cmocka_unit_test(test_too_large_a_model),
      cmocka_unit_test(test_ranks_differ),
      cmocka_unit_test(test_adapters_of_a_7b),
      cmocka_unit_test(test_verdicts),
      cmocka_unit_test(test_largest_batch),
      cmocka_unit_test(test_largest_inputs),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
