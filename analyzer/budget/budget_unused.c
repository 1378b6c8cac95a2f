/* SPDX-License-Identifier: Apache-2.0 */
/* Options that change nothing, and why. See budget_report.h. */
#include <assert.h>

#include "analyzer/budget/budget_report.h"

/* What an option needs to have an effect. */
enum need {
  SERVING,  /* an engine, or a program's own passes without training */
  TRAINING, /* a training */
  ADAPTERS, /* adapters, or frozen weights beside trained ones */
  TENSOR,
  PIPELINE,
  EXPERTS,
  IMAGES, /* a network or a pipeline of images */
  PARTS,  /* a pipeline of images */
  LAYERS, /* layers that are known one by one */
  GALORE,
  ROLLOUT,
  NEED_COUNT_
};

static const char reasons[NEED_COUNT_][48] = {
    [SERVING] = "nothing is served",
    [TRAINING] = "nothing is trained",
    [ADAPTERS] = "there are no adapters",
    [TENSOR] = "no layer is divided (--tensor-parallel)",
    [PIPELINE] = "there is one stage (--pipeline)",
    [EXPERTS] = "the model has no experts",
    [IMAGES] = "the model is none of images",
    [PARTS] = "the model is no pipeline of images",
    [LAYERS] = "layers of networks of images are not known",
    [GALORE] = "the optimizer is not galore",
    [ROLLOUT] = "there is no engine (--rollout)",
};

/* Checklist: a further option that needs another is one row. */
static const struct {
  enum wo_budget_key key;
  enum need need;
  double least; /* values below it change nothing anyway */
} rows[] = {
    {WO_BUDGET_KV_DTYPE, SERVING, 1},
    {WO_BUDGET_MAX_SEQS, SERVING, 1},
    {WO_BUDGET_MAX_LEN, SERVING, 1},
    {WO_BUDGET_MAX_TOKENS, SERVING, 1},
    {WO_BUDGET_UTILISATION, SERVING, 0},
    {WO_BUDGET_EAGER, SERVING, 1},
    {WO_BUDGET_OPTIMIZER, TRAINING, 1},
    {WO_BUDGET_GRAD_ACCUM, TRAINING, 2},
    {WO_BUDGET_CHECKPOINTING, TRAINING, 2},
    {WO_BUDGET_LIGER, TRAINING, 1},
    {WO_BUDGET_FUSED_LOSS, TRAINING, 1},
    {WO_BUDGET_UNSLOTH, TRAINING, 1},
    {WO_BUDGET_ROLLOUT, TRAINING, 0},
    {WO_BUDGET_CRITIC, TRAINING, 1},
    {WO_BUDGET_MASTER, TRAINING, 1},
    {WO_BUDGET_GRAD_DTYPE, TRAINING, 1},
    {WO_BUDGET_LORA_TARGETS, ADAPTERS, 1},
    {WO_BUDGET_LORA_DROPOUT, ADAPTERS, 1},
    {WO_BUDGET_DORA, ADAPTERS, 1},
    {WO_BUDGET_QUANTIZE, ADAPTERS, 1},
    {WO_BUDGET_SEQUENCE, TENSOR, 1},
    {WO_BUDGET_INTERLEAVE, PIPELINE, 2},
    {WO_BUDGET_PIPELINE_STAGE, PIPELINE, 1},
    {WO_BUDGET_EXPERT, EXPERTS, 2},
    {WO_BUDGET_IMAGE, IMAGES, 1},
    {WO_BUDGET_FRAMES, PARTS, 1},
    {WO_BUDGET_OFFLOAD, PARTS, 1},
    {WO_BUDGET_TILING, PARTS, 1},
    {WO_BUDGET_GALORE_RANK, GALORE, 1},
    {WO_BUDGET_ROLLOUT_STAYS, ROLLOUT, 1},
    {WO_BUDGET_CHECKPOINTING, LAYERS, 2},
    {WO_BUDGET_OFFLOAD_ACTIVATIONS, LAYERS, 1},
    {WO_BUDGET_LORA_RANK, LAYERS, 1},
};

static bool holds(const struct wo_budget_input *input, enum need need) {
  const double *const v = input->values;
  const bool has_parts = input->pipeline.denoiser > 0, is_serving = v[WO_BUDGET_INFERENCE] > 0 || has_parts;
  const bool is_adapted = v[WO_BUDGET_ADAPTERS] > 0 || v[WO_BUDGET_LORA_RANK] > 0 ||
                          (v[WO_BUDGET_TRAINABLE] > 0 && v[WO_BUDGET_TRAINABLE] < v[WO_BUDGET_PARAMS]);
  switch (need) {
  case SERVING:
    return v[WO_BUDGET_INFERENCE] > 0;
  case TRAINING:
    return !is_serving;
  case ADAPTERS:
    return is_adapted || is_serving; /* where nothing is trained, all weights are frozen */
  case TENSOR:
    return v[WO_BUDGET_TENSOR] > 1;
  case PIPELINE:
    return v[WO_BUDGET_PIPELINE] > 1;
  case EXPERTS:
    return input->experts.count > 0;
  case IMAGES:
    return input->image.side > 0;
  case PARTS:
    return has_parts;
  case LAYERS:
    return input->image.bytes == 0;
  case GALORE:
    return v[WO_BUDGET_OPTIMIZER] == (double)WO_BUDGET_GALORE;
  case ROLLOUT:
    return v[WO_BUDGET_ROLLOUT] > 0;
  case NEED_COUNT_:
    break;
  }
  return true;
}

size_t wo_budget_unused(const struct wo_budget_report *report, struct wo_budget_unused unused[WO_BUDGET_KEY_COUNT_]) {
  assert(report && unused);
  size_t count = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const double given = report->input.values[rows[i].key];
    const bool is_option = wo_view_starts(report->origins[rows[i].key], "--");
    if (!is_option || given == 0 || given < rows[i].least || holds(&report->input, rows[i].need)) continue;
    unused[count++] = (struct wo_budget_unused){rows[i].key, reasons[rows[i].need]};
  }
  return count;
}
