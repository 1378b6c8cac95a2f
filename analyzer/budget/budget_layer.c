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

bool wo__budget_has_layer(const struct wo_budget_input *input) {
  const double *const v = input->values;
  return input->has_layer && v[WO_BUDGET_TENSOR] <= 1 && v[WO_BUDGET_PIPELINE] <= 1 && v[WO_BUDGET_SEQUENCE] == 0 &&
         v[WO_BUDGET_HEADS] > 0 && v[WO_BUDGET_CHECKPOINTING] != WO_BUDGET_SELECTIVE;
}

double wo__budget_layer_number(const struct wo_budget_input *input) {
  return input->values[WO_BUDGET_DTYPE] == WO_BUDGET_FP32 && input->values[WO_BUDGET_AUTOCAST] != WO_BUDGET_ON ? 4 : 2;
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

size_t wo__budget_weights(const struct wo_budget_input *input, struct wo_budget_weight weights[WO_BUDGET_WEIGHTS]) {
  const struct wo_model_layer *const layer = input->has_layer ? &input->layer : NULL;
  const double h = input->values[WO_BUDGET_HIDDEN], f = ffn_width_of(input);
  const double width = head_width_of(input), keys = key_width_of(input);
  const bool is_gated = !layer || layer->ffn_kept == 3;
  size_t count = 0;
  if (layer && layer->projections == 1) {
    weights[count++] = (struct wo_budget_weight){h, width + 2 * keys, WO_BUDGET_QUERY_VALUE};
  } else {
    weights[count++] = (struct wo_budget_weight){h, width, WO_BUDGET_QUERY_VALUE};
    weights[count++] = (struct wo_budget_weight){h, keys, WO_BUDGET_ALL_ATTENTION};
    weights[count++] = (struct wo_budget_weight){h, keys, WO_BUDGET_QUERY_VALUE};
  }
  weights[count++] = (struct wo_budget_weight){width, h, WO_BUDGET_ALL_ATTENTION};
  if (is_gated && layer && layer->ffn_projections == 1) {
    weights[count++] = (struct wo_budget_weight){h, 2 * f, WO_BUDGET_ALL_LINEAR};
  } else {
    for (int i = 0; i < (is_gated ? 2 : 1); i++) weights[count++] = (struct wo_budget_weight){h, f, WO_BUDGET_ALL_LINEAR};
  }
  weights[count++] = (struct wo_budget_weight){f, h, WO_BUDGET_ALL_LINEAR};
  return count;
}

static bool is_liger(const struct way *way) {
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
  default:
    return way->residual;
  }
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
  const struct wo_model_layer *const layer = way->layer;
  const double hidden = value(way, WO_BUDGET_HIDDEN), heads = head_width(way), ffn = ffn_width(way);
  const bool is_all = way->targets == WO_BUDGET_ALL_LINEAR;
  const bool is_shared = !way->is_cast && way->residual == 4 && !way->is_drawn;
  const double number = way->is_cast ? 2 : 4, drawn = way->is_drawn ? 1 : 0;
  const double reading = way->targets == WO_BUDGET_QUERY_VALUE && layer->projections == 3 ? 2 : layer->projections;
  if (is_shared) return 4 * hidden * (is_all ? 2 : 1) + (is_all ? 4 * ffn : 0);
  double bytes = (number + drawn) * hidden * (reading + (is_all ? layer->ffn_projections : 0));
  if (is_all || way->targets == WO_BUDGET_ALL_ATTENTION)
    bytes += (way->residual == 4 && way->is_cast ? drawn : number + drawn) * heads;
  if (is_all) bytes += (number + drawn) * ffn;
  return bytes;
}

/* PyTorch has no fused kernel for fp32 with grouped heads. */
static bool is_math(const struct way *way) {
  const double number = way->is_cast ? 2 : way->inner;
  return value(way, WO_BUDGET_ATTENTION) != WO_BUDGET_FLASH && number == 4 && key_width(way) < head_width(way);
}

/* Bytes of a score that is kept: an fp32 softmax and its 16-bit copy; in models with dropout the softmax, the mask and what is
 * left. A cap keeps one more. */
static double score_bytes(const struct way *way) {
  const bool is_high = way->inner == 4 && !way->is_cast;
  if (way->layer->dropouts > 0) return is_high ? 9 : 5;
  return (is_high ? 4 : 6) + (way->layer->has_softcap ? way->inner : 0);
}

/* Queries, keys, values, the output, and its statistics; without fused kernels also the scores. */
static double attention_bytes(const struct way *way) {
  const struct wo_model_layer *const layer = way->layer;
  const double heads = value(way, WO_BUDGET_HEADS), length = value(way, WO_BUDGET_SEQ_LEN);
  const double width = head_width(way), keys = key_width(way);
  const double number = way->is_cast ? 2 : way->inner;
  double bytes = layer->has_qk_norm ? (4 + (way->targets == 0 ? way->inner : 0)) * (width + keys) : 0;
  if (way->has_scores) {
    return bytes + number * 4 * width + score_bytes(way) * heads * length;
  }
  if (is_math(way)) return bytes + 4 * 4 * width + 4 * heads * length;
  const double kept = way->is_padded ? width : keys;
  bytes += number * (2 * width + 2 * kept) + 4 * heads;
  if (layer->projections == 1 && layer->has_rotary) bytes += number * (width + keys);
  return bytes + (way->is_padded ? number * length : 0);
}

static double ffn_bytes(const struct way *way) {
  const struct wo_model_layer *const layer = way->layer;
  const double ffn = ffn_width(way);
  /* A quantised layer gives what it was given, so that fp32 stays fp32 under autocast. */
  const double number = value(way, WO_BUDGET_QUANTIZE) > 0 && way->residual == 4 ? 4 : way->inner;
  const double high = way->is_cast && way->residual == 4 ? 4 : number;
  const double kept = is_liger(way) ? 2 : layer->ffn_kept;
  const double last = way->targets == 0 && !layer->is_ffn_shared ? way->inner : 0;
  return ffn * (number * (kept - layer->ffn_kept_fp32) + high * layer->ffn_kept_fp32 + last);
}

static double layer_bytes(const struct way *way) {
  const double hidden = value(way, WO_BUDGET_HIDDEN);
  const double inputs = way->targets == 0 ? trained_inputs(way) : adapter_inputs(way);
  return way->layer->norm_inputs * norm_bytes(way) * hidden + inputs + attention_bytes(way) + ffn_bytes(way) +
         way->layer->dropouts * hidden;
}

/* ---- Ways ---- */

enum { LOW, MIDDLE, HIGH };

static bool is_under_autocast(const struct wo_budget_input *input, int end) {
  const double stated = input->values[WO_BUDGET_AUTOCAST];
  const bool is_adapted = input->values[WO_BUDGET_QUANTIZE] > 0 || wo__budget_adapters(input).hi > 0;
  if (stated > 0) return stated == WO_BUDGET_ON;
  if (input->values[WO_BUDGET_DTYPE] == WO_BUDGET_AMP) return true;
  return is_adapted && input->values[WO_BUDGET_DTYPE] != WO_BUDGET_FP32 && end != HIGH;
}

/* The way at one end of the interval, or in its middle. */
static struct way way_of(const struct wo_budget_input *input, int end) {
  const double *const v = input->values;
  const double dtype = v[WO_BUDGET_DTYPE];
  struct way way = {.input = input, .layer = &input->layer};
  way.is_cast = is_under_autocast(input, end);
  const bool is_high =
      dtype == WO_BUDGET_FP32 || dtype == WO_BUDGET_AMP || v[WO_BUDGET_QUANTIZE] > 0 || (dtype == 0 && end == HIGH);
  way.residual = is_high ? 4 : 2;
  way.inner = is_high && !way.is_cast ? 4 : 2;
  way.is_padded = end == HIGH && v[WO_BUDGET_MICRO_BATCH] > 1 && v[WO_BUDGET_ATTENTION] != WO_BUDGET_FLASH;
  way.has_scores = v[WO_BUDGET_ATTENTION] == WO_BUDGET_SCORES || (v[WO_BUDGET_ATTENTION] == 0 && end == HIGH);
  if (v[WO_BUDGET_FSDP] > 0 && dtype == WO_BUDGET_AMP && v[WO_BUDGET_AUTOCAST] == 0) {
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
      value(way, WO_BUDGET_QUANTIZE) == WO_BUDGET_8BIT ? way->inner * (2 * hidden + head_width(way) + ffn_width(way)) : 0;
  return way->residual * hidden + held;
}

struct wo_interval wo__budget_layer_input(const struct wo_budget_input *input) {
  return over_ways(input, input_bytes);
}

/* Gradients of the inner activations, of both sides of a residual, and of scores where there are any, twice. */
static double made_bytes(const struct way *way) {
  const double scores = way->has_scores || is_math(way) ? 8 * value(way, WO_BUDGET_HEADS) * value(way, WO_BUDGET_SEQ_LEN) : 0;
  return way->inner * (3 * ffn_width(way) + 2 * value(way, WO_BUDGET_HIDDEN)) + scores;
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

/* Parameters of a pair of narrow matrices for each of these weights, or fewer of them. */
static double adapters_of(const struct wo_budget_input *input, double targets) {
  struct wo_budget_weight weights[WO_BUDGET_WEIGHTS];
  const size_t count = wo__budget_weights(input, weights);
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    if (weights[i].part >= targets) sum += weights[i].in + weights[i].out;
  }
  return input->values[WO_BUDGET_LORA_RANK] * input->values[WO_BUDGET_LAYERS] * sum;
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
