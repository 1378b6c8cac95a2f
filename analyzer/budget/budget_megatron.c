/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of layers whose implementation is not known: Megatron's formulas, divided over cards. See budget_layer.h; sources
 * in docs/budget.md. */
#include <math.h>

#include "analyzer/budget/budget_layer.h"

/* Numbers that a transformer layer keeps for its backward pass, for each b x s x h: inputs of both norms, of the query/key/value
 * projection and of the feed-forward block stay whole under tensor parallelism; queries, the input of the output projection,
 * keys, values and the inner activations are divided. Two dropout masks have one byte each. */
#define KEPT_WHOLE 4.0
#define KEPT_INNER 2.0
#define KEPT_INNER_GATED 3.0 /* the product in one kernel, as Megatron has it */
#define KEPT_INNER_APART 4.0 /* and in two */
#define MASK_BYTES 2.0

static double value(const struct wo_budget_input *input, enum wo_budget_key key) {
  return input->values[key];
}

static double one_or(double number) {
  return number >= 1 ? number : 1;
}

static bool is_fp32(const struct wo_budget_input *input) {
  return value(input, WO_BUDGET_DTYPE) == (double)WO_BUDGET_FP32;
}

/* ---- One layer ---- */

/* Numbers of queries, keys, values and the output, for each h; made of narrow vectors, these besides. */
static double attention_numbers(const struct wo_budget_input *input) {
  const struct wo_model_latent *const latent = &input->latent;
  const double h = value(input, WO_BUDGET_HIDDEN), heads = value(input, WO_BUDGET_HEADS);
  const double dim = value(input, WO_BUDGET_HEAD_DIM) > 0 ? value(input, WO_BUDGET_HEAD_DIM) : heads > 0 ? h / heads : 0;
  const double groups = value(input, WO_BUDGET_KV_HEADS) > 0 ? value(input, WO_BUDGET_KV_HEADS) : heads;
  if (latent->rank > 0)
    return (2 * heads * (latent->plain + latent->rotary + latent->value) + 2 * (latent->rank + latent->query_rank)) / h;
  return dim > 0 ? 2 * dim * (heads + groups) / h : 4;
}

/* Inner numbers of a layer for each h, in the mean of layers with experts and without. Experts read sorted rows, one for each
 * choice of a token; what they give is kept as well where the scores are applied to it (high end). */
static struct wo_interval inner_numbers(const struct wo_budget_input *input) {
  const struct wo_model_experts *const experts = &input->experts;
  const double h = value(input, WO_BUDGET_HIDDEN), layers = value(input, WO_BUDGET_LAYERS);
  const double ffn = value(input, WO_BUDGET_FFN) > 0 ? value(input, WO_BUDGET_FFN) / h : 4;
  const double share = layers > 0 ? wo__budget_expert_layers(input) / layers : 0;
  const double width = experts->width > 0 ? experts->width / h : ffn, shared = experts->shared_width / h;
  const double picks = one_or(experts->per_token);
  const bool is_gated = input->has_layer ? input->layer.ffn_kept == 3 : ffn != 4 || experts->count > 0;
  const double plain[] = {KEPT_INNER, is_gated ? KEPT_INNER_GATED : KEPT_INNER, is_gated ? KEPT_INNER_APART : KEPT_INNER};
  double inner[3];
  for (int i = 0; i < 3; i++) {
    const double mixed = picks * ((i == 2 ? 2 : 1) + fmax(plain[i], KEPT_INNER_GATED) * width) + plain[i] * shared;
    inner[i] = (1 - share) * plain[i] * ffn + share * mixed;
  }
  return (struct wo_interval){inner[0], inner[1], inner[2]};
}

/* Bytes of one layer for each b x s x h, without the attention scores. */
static struct wo_interval layer_factor(const struct wo_budget_input *input) {
  const double bytes = is_fp32(input) ? 4 : 2;
  const double t = one_or(value(input, WO_BUDGET_TENSOR));
  const struct wo_interval inner = inner_numbers(input);
  const double numbers[] = {inner.lo, inner.mid, inner.hi};
  double factor[3];
  for (int i = 0; i < 3; i++) {
    const double whole = bytes * KEPT_WHOLE + MASK_BYTES;
    const double divided = bytes * (attention_numbers(input) + numbers[i]);
    factor[i] = value(input, WO_BUDGET_SEQUENCE) > 0 ? (whole + divided) / t : whole + divided / t;
  }
  return (struct wo_interval){factor[0], factor[1], factor[2]};
}

/* The same for the scores: softmax, its dropout and the mask. Fused kernels keep none. If the kernel is not stated, a fused one
 * is assumed, as is usual. */
static struct wo_interval score_factor(const struct wo_budget_input *input) {
  const double attention = value(input, WO_BUDGET_ATTENTION);
  const double bytes = is_fp32(input) ? 9 : 5;
  const double factor = bytes * value(input, WO_BUDGET_HEADS) * value(input, WO_BUDGET_SEQ_LEN) / value(input, WO_BUDGET_HIDDEN) /
                        one_or(value(input, WO_BUDGET_TENSOR));
  if (value(input, WO_BUDGET_CHECKPOINTING) == (double)WO_BUDGET_SELECTIVE) return (struct wo_interval){0, 0, 0};
  /* Of a layer that is not known, PyTorch may have no fused kernel. */
  const bool is_fused = attention == (double)WO_BUDGET_SDPA && input->has_layer;
  if (attention == (double)WO_BUDGET_FLASH || is_fused) return (struct wo_interval){0, 0, 0};
  if (attention == (double)WO_BUDGET_SCORES) return (struct wo_interval){factor, factor, factor};
  return (struct wo_interval){0, 0, factor};
}

/* ---- All layers ---- */

/* Pieces of the model whose activations a stage holds at once, each of one micro-batch: the first stage runs ahead of the last by
 * one micro-batch for each stage (1F1B); interleaved stages run ahead with all their pieces but the last as well (Megatron,
 * get_forward_backward_func's schedules). */
static double pieces_in_flight(const struct wo_budget_input *input) {
  const double p = one_or(value(input, WO_BUDGET_PIPELINE)), v = one_or(value(input, WO_BUDGET_INTERLEAVE));
  const double ahead = input->is_last_stage ? 0 : p - 1;
  return v > 1 ? (v - 1) * p + 2 * ahead + 1 : ahead + 1;
}

/* Layers whose activations a card holds. That a step has enough micro-batches to fill the pipeline is assumed where accumulation
 * is not stated, since a pipeline is idle otherwise; the low end is one micro-batch. */
static struct wo_interval layers_held(const struct wo_budget_input *input) {
  const double p = one_or(value(input, WO_BUDGET_PIPELINE)), v = one_or(value(input, WO_BUDGET_INTERLEAVE));
  const double passes = value(input, WO_BUDGET_GRAD_ACCUM), piece = value(input, WO_BUDGET_LAYERS) / (p * v);
  const double held = piece * (passes >= 1 ? fmin(pieces_in_flight(input), passes * v) : pieces_in_flight(input));
  return (struct wo_interval){passes >= 1 ? held : fmin(held, piece * v), held, held};
}

static bool is_accumulation_open(const struct wo_budget_input *input) {
  return value(input, WO_BUDGET_PIPELINE) > 1 && value(input, WO_BUDGET_GRAD_ACCUM) < 1;
}

/* Under sequence parallelism the inputs of layers are parts already. Embeddings that were cast to fp32 beside a quantised model
 * make what flows between layers fp32. */
static void fill_inputs(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_interval factor,
                        struct wo_interval layers, struct wo_budget_row *row) {
  const double t = wo__budget_tokens(input), h = value(input, WO_BUDGET_HIDDEN);
  const double parts = value(input, WO_BUDGET_SEQUENCE) > 0 ? one_or(value(input, WO_BUDGET_TENSOR)) : 1;
  const double most = value(input, WO_BUDGET_QUANTIZE) > 0 && !is_fp32(input) ? 2 : 1;
  const int number = is_fp32(input) ? 4 : 2;
  const double each = number / parts;
  row->bytes = (struct wo_interval){t * h * (layers.lo * each + factor.lo), t * h * (layers.mid * each + factor.mid),
                                    t * h * (layers.hi * each * most + factor.hi)};
  row->formula = wo_arena_format(arena, "%.0f x %.0f x (%g layers x %d B%s + one layer x %.4g B)", t, h, layers.mid, number,
                                 parts > 1 ? " / tensor parallel" : "", factor.mid);
}

static struct wo_view assumption(const struct wo_budget_input *input, struct wo_arena *arena) {
  const double mode = value(input, WO_BUDGET_CHECKPOINTING);
  const bool is_open = value(input, WO_BUDGET_ATTENTION) == 0 && mode != (double)WO_BUDGET_SELECTIVE;
  const double ffn = value(input, WO_BUDGET_FFN);
  const bool has_experts = input->experts.count > 0;
  const bool is_gated =
      !has_experts && (input->has_layer ? input->layer.ffn_kept == 3 : ffn > 0 && ffn != 4 * value(input, WO_BUDGET_HIDDEN));
  return wo_arena_format(arena, "%s%s%s%s%s", mode == 0 ? "no checkpointing is assumed; " : "",
                         is_accumulation_open(input)
                             ? "as many micro-batches as pipeline stages are assumed, one is the low end (--grad-accum says); "
                             : "",
                         is_open ? "from fused attention to scores that are kept (--attention says); " : "",
                         is_gated ? "a gated feed-forward block keeps three inner activations, four without fused kernels (high "
                                    "end), a plain one two (low end); "
                                  : "",
                         has_experts ? "tokens that go to all experts alike" : "dense transformer layers of the standard form");
}

void wo__budget_megatron(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double t = wo__budget_tokens(input), h = value(input, WO_BUDGET_HIDDEN);
  const struct wo_interval layers = layers_held(input), base = layer_factor(input), score = score_factor(input);
  const struct wo_interval factor = {base.lo + score.lo, base.mid + score.mid, base.hi + score.hi};
  row->is_known = true;
  row->assumption = assumption(input, arena);
  if (value(input, WO_BUDGET_CHECKPOINTING) == (double)WO_BUDGET_FULL) {
    fill_inputs(input, arena, factor, layers, row);
    return;
  }
  row->bytes =
      (struct wo_interval){factor.lo * layers.lo * t * h, factor.mid * layers.mid * t * h, factor.hi * layers.hi * t * h};
  row->formula = wo_arena_format(arena, "%g layers x %.0f x %.0f x %.4g B", layers.mid, t, h, factor.mid);
}
