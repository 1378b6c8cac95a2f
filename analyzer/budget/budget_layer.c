/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of transformers, tensor by tensor. See budget_layer.h; docs/budget.md has the list. */
#include "analyzer/budget/budget_layer.h"

/* One way in which a layer may run. */
struct way {
  const struct wo_budget_input *input;
  const struct wo_model_layer *layer;
  double inner;    /* bytes of a number inside: what projections make */
  double residual; /* of one that flows between layers */
  bool is_cast;    /* under autocast */
  bool is_padded;  /* the batch has padding, so that the mask is one, and grouped heads are repeated */
  bool has_scores; /* the attention keeps its scores */
  bool is_drawn;   /* adapters drop a part of their input */
  double targets;  /* of adapters; 0: no adapters, the weights themselves are trained */
};

static double value(const struct way *way, enum wo_budget_key key) {
  return way->input->values[key];
}

bool wo__budget_has_image(const struct wo_budget_input *input) {
  return input->image.bytes > 0 && input->values[WO_BUDGET_INFERENCE] == 0;
}

bool wo__budget_has_layer(const struct wo_budget_input *input) {
  const double *const v = input->values;
  const bool is_known = input->experts.count == 0 || input->experts.per_token > 0;
  return input->has_layer && is_known && !wo__budget_has_image(input) && v[WO_BUDGET_MEGATRON] == 0 && v[WO_BUDGET_TENSOR] <= 1 &&
         v[WO_BUDGET_PIPELINE] <= 1 && v[WO_BUDGET_SEQUENCE] == 0 && v[WO_BUDGET_HEADS] > 0 &&
         v[WO_BUDGET_CHECKPOINTING] != (double)WO_BUDGET_SELECTIVE;
}

double wo__budget_layer_number(const struct wo_budget_input *input) {
  return input->values[WO_BUDGET_DTYPE] == (double)WO_BUDGET_FP32 && input->values[WO_BUDGET_AUTOCAST] != (double)WO_BUDGET_ON
             ? 4
             : 2;
}

/* ---- Parts ---- */

static double head_width_of(const struct wo_budget_input *input) {
  const double dim = input->values[WO_BUDGET_HEAD_DIM], heads = input->values[WO_BUDGET_HEADS];
  return dim > 0 && heads > 0 ? dim * heads : input->values[WO_BUDGET_HIDDEN];
}

static double key_width_of(const struct wo_budget_input *input) {
  const double groups = input->values[WO_BUDGET_KV_HEADS], heads = input->values[WO_BUDGET_HEADS];
  return groups > 0 && heads > 0 ? head_width_of(input) * groups / heads : head_width_of(input);
}

static double ffn_width_of(const struct wo_budget_input *input) {
  return input->values[WO_BUDGET_FFN] > 0 ? input->values[WO_BUDGET_FFN] : 4 * input->values[WO_BUDGET_HIDDEN];
}

static double head_width(const struct way *way) {
  return head_width_of(way->input);
}

/* Width of the keys, and of the values. */
static double key_width(const struct way *way) {
  return key_width_of(way->input);
}

static double ffn_width(const struct way *way) {
  return ffn_width_of(way->input);
}

static double expert_width_of(const struct wo_budget_input *input) {
  return input->experts.width > 0 ? input->experts.width : ffn_width_of(input);
}

double wo__budget_tokens(const struct wo_budget_input *input) {
  const double parts = input->values[WO_BUDGET_CONTEXT];
  return input->values[WO_BUDGET_MICRO_BATCH] * input->values[WO_BUDGET_SEQ_LEN] / (parts > 1 ? parts : 1);
}

double wo__budget_expert_layers(const struct wo_budget_input *input) {
  const double layers = input->values[WO_BUDGET_LAYERS] - input->experts.dense_layers;
  return input->experts.count > 0 && layers > 0 ? layers : 0;
}

double wo__budget_expert_numbers(const struct wo_budget_input *input) {
  return wo__budget_expert_layers(input) * 3 * input->values[WO_BUDGET_HIDDEN] * expert_width_of(input) * input->experts.count;
}

/* ---- Weights ---- */

static size_t list_attention(const struct wo_budget_input *input, struct wo_budget_weight *weights) {
  const double h = input->values[WO_BUDGET_HIDDEN], width = head_width_of(input), keys = key_width_of(input);
  size_t count = 0;
  if (input->has_layer && input->layer.projections == 1) {
    weights[count++] = (struct wo_budget_weight){h, width + 2 * keys, WO_BUDGET_QUERY_VALUE, 0};
  } else {
    weights[count++] = (struct wo_budget_weight){h, width, WO_BUDGET_QUERY_VALUE, 0};
    weights[count++] = (struct wo_budget_weight){h, keys, WO_BUDGET_ALL_ATTENTION, 0};
    weights[count++] = (struct wo_budget_weight){h, keys, WO_BUDGET_QUERY_VALUE, 0};
  }
  weights[count++] = (struct wo_budget_weight){width, h, WO_BUDGET_ALL_ATTENTION, 0};
  return count;
}

/* Through narrow vectors, one for keys and values and often one for queries. */
static size_t list_latent(const struct wo_budget_input *input, struct wo_budget_weight *weights) {
  const struct wo_model_latent *const latent = &input->latent;
  const double h = input->values[WO_BUDGET_HIDDEN], heads = input->values[WO_BUDGET_HEADS];
  const double queries = heads * (latent->plain + latent->rotary), rank = latent->query_rank;
  size_t count = 0;
  if (rank > 0) weights[count++] = (struct wo_budget_weight){h, rank, WO_BUDGET_ALL_ATTENTION, 0};
  weights[count++] = (struct wo_budget_weight){rank > 0 ? rank : h, queries, WO_BUDGET_QUERY_VALUE, 0};
  weights[count++] = (struct wo_budget_weight){h, latent->rank + latent->rotary, WO_BUDGET_ALL_ATTENTION, 0};
  weights[count++] = (struct wo_budget_weight){latent->rank, heads * (latent->plain + latent->value), WO_BUDGET_ALL_ATTENTION, 0};
  weights[count++] = (struct wo_budget_weight){heads * latent->value, h, WO_BUDGET_ALL_ATTENTION, 0};
  return count;
}

/* A block of this width, which these adapters reach. */
static size_t list_ffn(const struct wo_budget_input *input, double f, double part, struct wo_budget_weight *weights) {
  const struct wo_model_layer *const layer = input->has_layer ? &input->layer : NULL;
  const double h = input->values[WO_BUDGET_HIDDEN];
  const bool is_gated = !layer || layer->ffn_kept == 3;
  size_t count = 0;
  if (f == 0) return 0;
  if (is_gated && layer && layer->ffn_projections == 1) {
    weights[count++] = (struct wo_budget_weight){h, 2 * f, part, 0};
  } else {
    for (int i = 0; i < (is_gated ? 2 : 1); i++) weights[count++] = (struct wo_budget_weight){h, f, part, 0};
  }
  weights[count++] = (struct wo_budget_weight){f, h, part, 0};
  return count;
}

size_t wo__budget_weights(const struct wo_budget_input *input, bool has_experts,
                          struct wo_budget_weight weights[WO_BUDGET_WEIGHTS]) {
  const double h = input->values[WO_BUDGET_HIDDEN], number = input->experts.count, width = expert_width_of(input);
  size_t count = input->latent.rank > 0 ? list_latent(input, weights) : list_attention(input, weights);
  count += has_experts ? list_ffn(input, input->experts.shared_width, WO_BUDGET_NO_ADAPTERS, &weights[count])
                       : list_ffn(input, ffn_width_of(input), WO_BUDGET_ALL_LINEAR, &weights[count]);
  if (!has_experts) return count;
  weights[count++] = (struct wo_budget_weight){h, number, WO_BUDGET_ALL_LINEAR, 0};
  weights[count++] = (struct wo_budget_weight){h, 2 * width, WO_BUDGET_ALL_LINEAR, number};
  weights[count++] = (struct wo_budget_weight){width, h, WO_BUDGET_ALL_LINEAR, number};
  return count;
}

static bool is_unsloth(const struct way *way) {
  return value(way, WO_BUDGET_UNSLOTH) > 0;
}

static bool is_liger(const struct way *way) {
  if (is_unsloth(way)) return true;
  return value(way, WO_BUDGET_LIGER) > 0 && way->layer->norm != WO_MODEL_NORM_PLAIN;
}

/* One norm's bytes for each number of its input. */
static double norm_bytes(const struct way *way) {
  const bool is_trained = way->targets == 0;
  if (is_liger(way)) return way->residual;
  switch (way->layer->norm) {
  case WO_MODEL_NORM_ROOT:
    return 4 + (is_trained ? way->residual : 0);
  case WO_MODEL_NORM_ROOT_FP32:
    return 4 + (is_trained ? 4 : 0);
  case WO_MODEL_NORM_MEAN_FP32:
    return 8 + (is_trained ? 4 : 0);
  default:
    return way->residual;
  }
}

/* Of all layers, those with experts. */
static double expert_share(const struct way *way) {
  const double layers = value(way, WO_BUDGET_LAYERS);
  return layers > 0 ? wo__budget_expert_layers(way->input) / layers : 0;
}

/* Whether something in the experts is trained. PEFT's "all-linear" does not reach those of every model, and their adapters are
 * most of all that there are: fewer trained weights say so. */
static bool has_trained_experts(const struct wo_budget_input *input, double targets) {
  const double stated = input->values[WO_BUDGET_ADAPTERS], rank = input->values[WO_BUDGET_LORA_RANK];
  const double pairs = input->experts.count * (3 * input->values[WO_BUDGET_HIDDEN] + 5 * expert_width_of(input));
  if (targets != (double)WO_BUDGET_ALL_LINEAR) return targets == 0;
  return stated == 0 || rank == 0 || stated > rank * wo__budget_expert_layers(input) * pairs / 2;
}

/* Inputs of the projections behind the norms, where the weights are trained. Autocast casts an fp32 one for each that reads it.
 */
static double trained_inputs(const struct way *way) {
  const struct wo_model_layer *const layer = way->layer;
  const bool is_copied = way->is_cast && way->residual > way->inner;
  const double count = is_copied ? layer->projections + layer->ffn_projections : layer->linear_inputs;
  return count * way->inner * value(way, WO_BUDGET_HIDDEN);
}

/* Inputs of adapters. PEFT casts each to the adapter's fp32, autocast back to 16 bits; an fp32 one is the norm's own output, for
 * all that read it, unless each draws what it drops. */
static double adapter_inputs(const struct way *way) {
  if (is_unsloth(way)) return 2 * way->inner * value(way, WO_BUDGET_HIDDEN); /* one for attention, one for the block */
  const struct wo_model_layer *const layer = way->layer;
  const bool is_latent = way->input->latent.rank > 0;
  const double hidden = value(way, WO_BUDGET_HIDDEN), share = expert_share(way);
  const double shared = has_trained_experts(way->input, way->targets) ? 0 : way->input->experts.shared_width;
  const double heads = is_latent ? value(way, WO_BUDGET_HEADS) * way->input->latent.value : head_width(way);
  const double ffn = (1 - share) * ffn_width(way) + share * shared;
  const double blocks = shared > 0 ? 1 : 1 - share; /* adapters of experts read nothing: they are added to the weights */
  const bool is_all = way->targets == (double)WO_BUDGET_ALL_LINEAR;
  const bool is_shared = !way->is_cast && way->residual == 4 && !way->is_drawn;
  const double number = way->is_cast ? 2 : 4, drawn = way->is_drawn ? 1 : 0;
  const double projections = is_latent ? 2 : layer->projections;
  const double reading = way->targets == (double)WO_BUDGET_QUERY_VALUE && projections > 1 ? projections - 1 : projections;
  if (is_shared) return 4 * hidden * (is_all ? 2 : 1) + (is_all ? 4 * ffn : 0);
  double bytes = (number + drawn) * hidden * (reading + (is_all ? blocks * layer->ffn_projections : 0));
  if (is_all || way->targets == (double)WO_BUDGET_ALL_ATTENTION)
    bytes += (way->residual == 4 && way->is_cast ? drawn : number + drawn) * heads;
  if (is_all) bytes += (number + drawn) * ffn;
  return bytes;
}

/* PyTorch has no fused kernel for fp32 with grouped heads. */
static bool is_math(const struct way *way) {
  const double number = way->is_cast ? 2 : way->inner;
  return value(way, WO_BUDGET_ATTENTION) != (double)WO_BUDGET_FLASH && number == 4 && key_width(way) < head_width(way);
}

/* Bytes of a score that is kept: an fp32 softmax and its 16-bit copy; in models with dropout the softmax, the mask and what is
 * left. A cap keeps one more. */
static double score_bytes(const struct way *way) {
  const bool is_high = way->inner == 4 && !way->is_cast;
  if (way->layer->dropouts > 0) return is_high ? 9 : 5;
  return (is_high ? 4 : 6) + (way->layer->has_softcap ? way->inner : 0);
}

/* The narrow vectors with their norms, and of every head a query and a key, a value with the key's part that it was made with,
 * and the output. */
static double latent_bytes(const struct way *way) {
  const struct wo_model_latent *const latent = &way->input->latent;
  const double heads = value(way, WO_BUDGET_HEADS), length = value(way, WO_BUDGET_SEQ_LEN);
  const double ranks = latent->rank + latent->query_rank;
  const double turned = 2 * (latent->plain + latent->rotary), made = latent->plain + 2 * latent->value;
  const double number = way->is_cast ? 2 : way->inner;
  const double narrow = ranks * (4 + (way->targets == 0 ? way->inner + number : way->targets <= 2 ? (way->is_cast ? 2 : 4) : 0));
  const double kept = way->has_scores ? score_bytes(way) * heads * length : 4 * heads;
  return narrow + number * heads * (turned + made) + kept;
}

/* Of all layers, those whose attention reads a mask because their window is shorter than the samples. */
static double masked_share(const struct way *way) {
  const struct wo_budget_input *const input = way->input;
  if (input->window == 0 || input->window >= value(way, WO_BUDGET_SEQ_LEN) ||
      value(way, WO_BUDGET_ATTENTION) == (double)WO_BUDGET_FLASH)
    return 0;
  return input->full_every > 0 ? 1 - 1 / input->full_every : 1;
}

/* Queries, keys, values, the output, and its statistics; without fused kernels also the scores. */
static double attention_bytes(const struct way *way) {
  const struct wo_model_layer *const layer = way->layer;
  if (way->input->latent.rank > 0) return latent_bytes(way);
  const double heads = value(way, WO_BUDGET_HEADS), length = value(way, WO_BUDGET_SEQ_LEN);
  const double width = head_width(way), keys = key_width(way);
  const double number = way->is_cast ? 2 : way->inner;
  const double scaled = way->targets > 0 ? 0 : layer->norm == WO_MODEL_NORM_ROOT_FP32 ? 4 : way->inner;
  double bytes = layer->has_qk_norm ? (4 + scaled) * (width + keys) : 0;
  if (layer->is_output_copied && way->targets == 0) bytes += number * width;
  if (way->has_scores) {
    return bytes + number * 4 * width + score_bytes(way) * heads * length;
  }
  if (is_math(way)) return bytes + 4 * 4 * width + 4 * heads * length;
  const double kept = way->is_padded ? width : keys;
  bytes += number * (2 * width + 2 * kept) + 4 * heads;
  if (layer->projections == 1 && layer->has_rotary) bytes += number * (width + keys);
  return bytes + number * length * (way->is_padded ? 1 : masked_share(way));
}

static double ffn_bytes(const struct way *way, double ffn) {
  const struct wo_model_layer *const layer = way->layer;
  /* A quantised layer gives what it was given, so that fp32 stays fp32 under autocast. */
  const double number = value(way, WO_BUDGET_QUANTIZE) > 0 && way->residual == 4 ? 4 : way->inner;
  const double high = way->is_cast && way->residual == 4 ? 4 : number;
  const double kept = is_liger(way) ? 2 : layer->ffn_kept;
  const double last = way->targets == 0 && !layer->is_ffn_shared ? way->inner : 0;
  return ffn * (number * (kept - layer->ffn_kept_fp32) + high * layer->ffn_kept_fp32 + last);
}

/* Experts that work on rows sorted by expert, one for each choice of a token: what they read, gate and second half in one tensor,
 * the gate's activation, the product, and what they give; places of the rows. The router keeps a score for each expert. */
static double expert_bytes(const struct way *way) {
  const struct wo_model_experts *const experts = &way->input->experts;
  const double hidden = value(way, WO_BUDGET_HIDDEN), width = expert_width_of(way->input);
  const double row =
      way->inner * (hidden + 3 * width + (has_trained_experts(way->input, way->targets) ? hidden + width : 0)) + 48;
  const double read = way->layer->is_router_fp32 ? 4 * hidden : way->targets > 0 ? way->inner * hidden : 0;
  const double router = 4 * experts->count + (way->targets == 0 || way->targets == (double)WO_BUDGET_ALL_LINEAR ? read : 0);
  const double gate = way->layer->has_shared_gate ? way->inner * hidden : 0;
  return experts->per_token * row + router + gate + ffn_bytes(way, experts->shared_width);
}

/* DoRA keeps what each weight gave, and what its adapter did, to scale them. */
static double dora_bytes(const struct way *way) {
  struct wo_budget_weight weights[WO_BUDGET_WEIGHTS];
  const size_t count = wo__budget_weights(way->input, false, weights);
  double sum = 0;
  if (value(way, WO_BUDGET_DORA) == 0 || way->targets == 0) return 0;
  for (size_t i = 0; i < count; i++) {
    if (weights[i].part >= way->targets) sum += weights[i].out;
  }
  return sum * (way->inner + (way->is_cast ? 2 : 4));
}

double wo__budget_dora_norms(const struct wo_budget_input *input) {
  struct wo_budget_weight weights[WO_BUDGET_WEIGHTS];
  const size_t count = wo__budget_weights(input, false, weights);
  const double targets =
      input->values[WO_BUDGET_LORA_TARGETS] > 0 ? input->values[WO_BUDGET_LORA_TARGETS] : (double)WO_BUDGET_ALL_LINEAR;
  double most = 0;
  if (input->values[WO_BUDGET_DORA] == 0) return 0;
  for (size_t i = 0; i < count; i++) {
    const double bytes = 4 * weights[i].in * weights[i].in + 10 * weights[i].in * weights[i].out;
    if (weights[i].part >= targets && bytes > most) most = bytes;
  }
  return most;
}

/* The mean of a model's layers. */
static double layer_bytes(const struct way *way) {
  const double hidden = value(way, WO_BUDGET_HIDDEN), share = expert_share(way);
  const double inputs = way->targets == 0 ? trained_inputs(way) : adapter_inputs(way);
  const double ffn = (share < 1 ? (1 - share) * ffn_bytes(way, ffn_width(way)) : 0) + (share > 0 ? share * expert_bytes(way) : 0);
  return way->layer->norm_inputs * norm_bytes(way) * hidden + inputs + attention_bytes(way) + ffn +
         way->layer->dropouts * hidden + dora_bytes(way);
}

/* PEFT adds the product of its adapters to a copy of all experts of a layer, in 16 bits, and the backward pass reads that copy.
 */
double wo__budget_expert_copies(const struct wo_budget_input *input) {
  const double *const v = input->values;
  const bool is_adapted = v[WO_BUDGET_LORA_RANK] > 0 || v[WO_BUDGET_ADAPTERS] > 0;
  const double targets = v[WO_BUDGET_LORA_TARGETS] > 0 ? v[WO_BUDGET_LORA_TARGETS] : (double)WO_BUDGET_ALL_LINEAR;
  const bool reaches = has_trained_experts(input, targets);
  const double layers = wo__budget_expert_layers(input);
  return is_adapted && reaches && layers > 0 ? 2 * wo__budget_expert_numbers(input) / layers : 0;
}

/* ---- Ways ---- */

enum { LOW, MIDDLE, HIGH };

static bool is_under_autocast(const struct wo_budget_input *input, int end) {
  const double stated = input->values[WO_BUDGET_AUTOCAST];
  const bool is_adapted = input->values[WO_BUDGET_QUANTIZE] > 0 || wo__budget_adapters(input).hi > 0;
  if (stated > 0) return stated == (double)WO_BUDGET_ON;
  if (input->values[WO_BUDGET_DTYPE] == (double)WO_BUDGET_AMP) return true;
  return is_adapted && input->values[WO_BUDGET_DTYPE] != (double)WO_BUDGET_FP32 && end != HIGH;
}

/* The way at one end of the interval, or in its middle. */
static struct way way_of(const struct wo_budget_input *input, int end) {
  const double *const v = input->values;
  const double dtype = v[WO_BUDGET_DTYPE];
  struct way way = {.input = input, .layer = &input->layer};
  way.is_cast = is_under_autocast(input, end);
  const bool is_high = dtype == (double)WO_BUDGET_FP32 || dtype == (double)WO_BUDGET_AMP ||
                       (v[WO_BUDGET_UNSLOTH] == 0 && (v[WO_BUDGET_QUANTIZE] > 0 || (dtype == 0 && end == HIGH)));
  way.residual = is_high ? 4 : 2;
  way.inner = is_high && !way.is_cast ? 4 : 2;
  way.is_padded = end == HIGH && v[WO_BUDGET_MICRO_BATCH] > 1 && v[WO_BUDGET_ATTENTION] != (double)WO_BUDGET_FLASH;
  way.has_scores = v[WO_BUDGET_ATTENTION] == (double)WO_BUDGET_SCORES || (v[WO_BUDGET_ATTENTION] == 0 && end == HIGH);
  if (v[WO_BUDGET_FSDP] > 0 && dtype == (double)WO_BUDGET_AMP && v[WO_BUDGET_AUTOCAST] == 0) {
    /* FSDP's mixed precision gives the layers 16-bit weights. */
    way.residual = way.inner = 2;
    way.is_cast = false;
  }
  const bool is_adapted = wo__budget_adapters(input).hi > 0 || v[WO_BUDGET_QUANTIZE] > 0;
  way.targets = v[WO_BUDGET_LORA_TARGETS] > 0 ? v[WO_BUDGET_LORA_TARGETS]
                : !is_adapted                 ? 0
                : end == LOW                  ? WO_BUDGET_QUERY_VALUE
                                              : WO_BUDGET_ALL_LINEAR;
  way.is_drawn = way.targets > 0 && (v[WO_BUDGET_LORA_DROPOUT] > 0 || (end == HIGH && v[WO_BUDGET_LORA_TARGETS] == 0));
  return way;
}

static struct wo_interval over_ways(const struct wo_budget_input *input, double (*bytes_of)(const struct way *)) {
  double bytes[3];
  for (int end = LOW; end <= HIGH; end++) {
    const struct way way = way_of(input, end);
    bytes[end] = bytes_of(&way);
  }
  if (bytes[LOW] > bytes[MIDDLE]) bytes[LOW] = bytes[MIDDLE];
  if (bytes[HIGH] < bytes[MIDDLE]) bytes[HIGH] = bytes[MIDDLE];
  return (struct wo_interval){bytes[LOW], bytes[MIDDLE], bytes[HIGH]};
}

struct wo_interval wo__budget_layer(const struct wo_budget_input *input) {
  return over_ways(input, layer_bytes);
}

/* bitsandbytes' 8-bit product holds its input where checkpointing does not see it. */
static double input_bytes(const struct way *way) {
  const double hidden = value(way, WO_BUDGET_HIDDEN);
  const double held =
      value(way, WO_BUDGET_QUANTIZE) == (double)WO_BUDGET_8BIT ? way->inner * (2 * hidden + head_width(way) + ffn_width(way)) : 0;
  return way->residual * hidden + held;
}

struct wo_interval wo__budget_layer_input(const struct wo_budget_input *input) {
  return over_ways(input, input_bytes);
}

/* Gradients of the inner activations, of both sides of a residual, and of scores where there are any, twice. */
static double made_bytes(const struct way *way) {
  const struct wo_model_experts *const experts = &way->input->experts;
  const double hidden = value(way, WO_BUDGET_HIDDEN);
  const double scores = way->has_scores || is_math(way) ? 8 * value(way, WO_BUDGET_HEADS) * value(way, WO_BUDGET_SEQ_LEN) : 0;
  const double plain = 3 * ffn_width(way);
  const double mixed = experts->per_token * (3 * expert_width_of(way->input) + hidden);
  return way->inner * ((experts->count > 0 ? mixed : plain) + 2 * hidden) + scores;
}

struct wo_interval wo__budget_layer_made(const struct wo_budget_input *input) {
  return over_ways(input, made_bytes);
}

static double end_bytes(const struct way *way) {
  return (norm_bytes(way) + (way->targets == 0 ? way->inner : 0)) * value(way, WO_BUDGET_HIDDEN);
}

struct wo_interval wo__budget_layer_end(const struct wo_budget_input *input) {
  return over_ways(input, end_bytes);
}

/* ---- Adapters ---- */

double wo__budget_sum_weights(const struct wo_budget_input *input,
                              double (*of)(const struct wo_budget_input *input, struct wo_budget_weight weight)) {
  struct wo_budget_weight weights[WO_BUDGET_WEIGHTS];
  const double mixed = wo__budget_expert_layers(input);
  double sum = 0;
  for (int has_experts = 0; has_experts < 2; has_experts++) {
    const size_t count = wo__budget_weights(input, has_experts > 0, weights);
    const double layers = has_experts > 0 ? mixed : input->values[WO_BUDGET_LAYERS] - mixed;
    for (size_t i = 0; i < count; i++) sum += layers * of(input, weights[i]);
  }
  return sum;
}

/* Parameters of a pair of narrow matrices for each of these weights, or fewer of them. */
static double adapters_of_layer(const struct wo_budget_input *input, bool has_experts, double targets) {
  struct wo_budget_weight weights[WO_BUDGET_WEIGHTS];
  const size_t count = wo__budget_weights(input, has_experts, weights);
  const double rank = input->values[WO_BUDGET_LORA_RANK];
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    /* Gate and second half of an expert are one weight, whose adapter has twice the rank. */
    const double times =
        weights[i].experts == 0 ? 1 : weights[i].experts * (weights[i].in == input->values[WO_BUDGET_HIDDEN] ? 2 : 1);
    if (weights[i].part >= targets) sum += times * (weights[i].in + weights[i].out) * rank;
    if (weights[i].part >= targets && input->values[WO_BUDGET_DORA] > 0) sum += weights[i].out;
  }
  return sum;
}

static double adapters_of(const struct wo_budget_input *input, double targets) {
  const double mixed = wo__budget_expert_layers(input);
  return (input->values[WO_BUDGET_LAYERS] - mixed) * adapters_of_layer(input, false, targets) +
         mixed * adapters_of_layer(input, true, targets);
}

/* At least query and value projections (the usual default), at most all linear layers. */
struct wo_interval wo__budget_adapters(const struct wo_budget_input *input) {
  const double *const v = input->values;
  const double stated = v[WO_BUDGET_ADAPTERS];
  if (stated > 0) return wo_interval_exact(stated);
  if (v[WO_BUDGET_LORA_RANK] == 0 || v[WO_BUDGET_HIDDEN] == 0 || v[WO_BUDGET_LAYERS] == 0 || v[WO_BUDGET_TRAINABLE] > 0)
    return (struct wo_interval){0, 0, 0};
  if (v[WO_BUDGET_LORA_TARGETS] > 0) return wo_interval_exact(adapters_of(input, v[WO_BUDGET_LORA_TARGETS]));
  const double all = adapters_of(input, WO_BUDGET_ALL_LINEAR);
  return (struct wo_interval){adapters_of(input, WO_BUDGET_QUERY_VALUE), all, all};
}
