/* The part of a budget that grows with the batch: activations, logits, KV cache. See budget.h; sources in docs/budget.md. */
#include <math.h>

#include "analyzer/budget/budget.h"
#include "analyzer/budget/budget_layer.h"
#include "parsers/base/units.h"

/* Numbers that a transformer layer keeps for its backward pass, for each b x s x h: inputs of both norms, of the query/key/value
 * projection and of the feed-forward block stay whole under tensor parallelism; queries, keys, values, the input of the output
 * projection and the inner activations are divided. Two dropout masks have one byte each. */
#define KEPT_WHOLE 4.0
#define KEPT_DIVIDED 4.0
#define KEPT_INNER 2.0
#define KEPT_INNER_GATED 3.0 /* the product in one kernel, as Megatron has it */
#define KEPT_INNER_APART 4.0 /* and in two */
#define MASK_BYTES 2.0

/* The list of what a layer keeps may be too long by a small tensor. */
#define LAYER_LOW 0.97

static double value(const struct wo_budget_input *input, enum wo_budget_key key) {
  return input->values[key];
}

static double one_or(double number) {
  return number >= 1 ? number : 1;
}

static bool is_fp32(const struct wo_budget_input *input) {
  return value(input, WO_BUDGET_DTYPE) == WO_BUDGET_FP32;
}

static struct wo_interval times(struct wo_interval a, double factor) {
  return (struct wo_interval){a.lo * factor, a.mid * factor, a.hi * factor};
}

/* ---- Measured points ---- */

struct wo_interval wo__budget_scaled(const struct wo_budget_input *input, const struct wo_budget_measured *measured,
                                     struct wo_arena *arena, struct wo_view *ret_formula) {
  const double batch = value(input, WO_BUDGET_MICRO_BATCH);
  const double length = value(input, WO_BUDGET_SEQ_LEN);
  const char *const text = WO_BYTES_TEXT(measured->bytes.mid);
  struct wo_interval bytes = measured->bytes;
  struct wo_view formula = wo_arena_format(arena, "%s", text);
  if (measured->micro_batch > 0 && batch > 0) {
    bytes = times(bytes, batch / measured->micro_batch);
    formula = wo_arena_format(arena, "%s x %.0f / %.0f", text, batch, measured->micro_batch);
  }
  if (measured->seq_len > 0 && length > 0 && length != measured->seq_len) {
    const double ratio = length / measured->seq_len;
    const bool is_flash = value(input, WO_BUDGET_ATTENTION) == WO_BUDGET_FLASH;
    bytes = times(bytes, ratio);
    if (!is_flash && ratio > 1) bytes.hi *= ratio;
    if (!is_flash && ratio < 1) bytes.lo *= ratio;
    formula = wo_arena_format(arena, "%.*s x %.0f / %.0f", WO_SHOWN(formula), length, measured->seq_len);
  }
  *ret_formula = formula;
  return bytes;
}

/* ---- Activations ---- */

/* Bytes of one layer for each b x s x h, without the attention scores. */
static struct wo_interval layer_factor(const struct wo_budget_input *input) {
  const double bytes = is_fp32(input) ? 4 : 2;
  const double t = one_or(value(input, WO_BUDGET_TENSOR));
  const double ffn = value(input, WO_BUDGET_FFN) > 0 ? value(input, WO_BUDGET_FFN) / value(input, WO_BUDGET_HIDDEN) : 4;
  const bool is_gated = ffn != 4;
  const double inner[] = {KEPT_INNER, is_gated ? KEPT_INNER_GATED : KEPT_INNER, is_gated ? KEPT_INNER_APART : KEPT_INNER};
  double factor[3];
  for (int i = 0; i < 3; i++) {
    const double whole = bytes * KEPT_WHOLE + MASK_BYTES;
    const double divided = bytes * (KEPT_DIVIDED + inner[i] * ffn);
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
  if (attention == WO_BUDGET_FLASH) return (struct wo_interval){0, 0, 0};
  if (attention == WO_BUDGET_SCORES) return (struct wo_interval){factor, factor, factor};
  return (struct wo_interval){0, 0, factor};
}

/* Layers whose activations a card holds: the first pipeline stage keeps one micro-batch for each stage, so pipelining saves
 * nothing as long as a step has that many. That it has so many is assumed where accumulation is not stated, since a pipeline is
 * idle otherwise; the low end is one micro-batch. */
static struct wo_interval layers_held(const struct wo_budget_input *input) {
  const double stages = one_or(value(input, WO_BUDGET_PIPELINE)), layers = value(input, WO_BUDGET_LAYERS);
  const double passes = value(input, WO_BUDGET_GRAD_ACCUM);
  const double held = passes >= 1 ? layers * fmin(1, passes / stages) : layers;
  return (struct wo_interval){passes >= 1 ? held : layers / stages, held, held};
}

static bool is_accumulation_open(const struct wo_budget_input *input) {
  return value(input, WO_BUDGET_PIPELINE) > 1 && value(input, WO_BUDGET_GRAD_ACCUM) < 1;
}

static const char *missing(const struct wo_budget_input *input) {
  if (value(input, WO_BUDGET_MICRO_BATCH) == 0) return "needs --micro-batch";
  if (value(input, WO_BUDGET_SEQ_LEN) == 0) return "needs --seq-len";
  if (value(input, WO_BUDGET_LAYERS) == 0) return "needs --layers";
  if (value(input, WO_BUDGET_HIDDEN) == 0) return "needs --hidden";
  const bool has_scores =
      value(input, WO_BUDGET_ATTENTION) != WO_BUDGET_FLASH && value(input, WO_BUDGET_CHECKPOINTING) != WO_BUDGET_SELECTIVE;
  return has_scores && value(input, WO_BUDGET_HEADS) == 0 ? "needs --heads, or --attention flash" : NULL;
}

static struct wo_view activation_assumption(const struct wo_budget_input *input, struct wo_arena *arena) {
  const double mode = value(input, WO_BUDGET_CHECKPOINTING);
  const bool is_open = value(input, WO_BUDGET_ATTENTION) == 0 && mode != WO_BUDGET_SELECTIVE;
  const double ffn = value(input, WO_BUDGET_FFN);
  const bool is_gated = ffn > 0 && ffn != 4 * value(input, WO_BUDGET_HIDDEN);
  return wo_arena_format(arena, "%s%s%s%s%s", mode == 0 ? "no checkpointing is assumed; " : "",
                         is_accumulation_open(input)
                             ? "as many micro-batches as pipeline stages are assumed, one is the low end (--grad-accum says); "
                             : "",
                         is_open ? "from fused attention to scores that are kept (--attention says); " : "",
                         is_gated ? "a gated feed-forward block keeps three inner activations, four without fused kernels (high "
                                    "end), a plain one two (low end); "
                                  : "",
                         "dense transformer layers of the standard form");
}

static struct wo_view layer_assumption(const struct wo_budget_input *input, struct wo_arena *arena) {
  const bool has_padding = value(input, WO_BUDGET_MICRO_BATCH) > 1 && value(input, WO_BUDGET_ATTENTION) != WO_BUDGET_FLASH;
  return wo_arena_format(arena, "%s%s%sas transformers keeps them",
                         value(input, WO_BUDGET_CHECKPOINTING) == 0 ? "no checkpointing is assumed; " : "",
                         value(input, WO_BUDGET_ATTENTION) == 0 ? "scores that are kept at the high end (--attention says); "
                                                                : "",
                         has_padding ? "padding at the high end; " : "");
}

static void set_known(struct wo_budget_row *row, struct wo_interval bytes, struct wo_view formula) {
  row->is_known = true;
  row->bytes = bytes;
  row->formula = formula;
}

static struct wo_interval plus_times(struct wo_interval a, struct wo_interval b, double factor) {
  return (struct wo_interval){a.lo + b.lo * factor, a.mid + b.mid * factor, a.hi + b.hi * factor};
}

/* The layers of transformers, tensor by tensor; checkpointing keeps what flows between them. */
static void fill_layers(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double b = value(input, WO_BUDGET_MICRO_BATCH), s = value(input, WO_BUDGET_SEQ_LEN);
  const double layers = value(input, WO_BUDGET_LAYERS);
  const bool is_again = value(input, WO_BUDGET_CHECKPOINTING) == WO_BUDGET_FULL;
  struct wo_interval each = is_again ? wo__budget_layer_input(input) : wo__budget_layer(input);
  each.lo *= LAYER_LOW;
  const struct wo_interval end = wo__budget_layer_end(input);
  set_known(row, times(plus_times(end, each, layers), b * s),
            wo_arena_format(arena, "%.0f x %.0f x (%.0f layers x %.0f B + %.0f B)", b, s, layers, each.mid, end.mid));
}

static void fill_activations(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double b = value(input, WO_BUDGET_MICRO_BATCH);
  const double s = value(input, WO_BUDGET_SEQ_LEN);
  const double h = value(input, WO_BUDGET_HIDDEN);
  const struct wo_interval layers = layers_held(input);
  const double mode = value(input, WO_BUDGET_CHECKPOINTING);
  const struct wo_interval base = layer_factor(input);
  const struct wo_interval score = score_factor(input);
  const bool has_scores = mode != WO_BUDGET_SELECTIVE;
  const struct wo_interval factor = {base.lo + (has_scores ? score.lo : 0), base.mid + (has_scores ? score.mid : 0),
                                     base.hi + (has_scores ? score.hi : 0)};
  if (mode == WO_BUDGET_FULL) {
    /* Under sequence parallelism the inputs of layers are parts already. */
    const double parts = value(input, WO_BUDGET_SEQUENCE) > 0 ? one_or(value(input, WO_BUDGET_TENSOR)) : 1;
    const double input_bytes = (is_fp32(input) ? 4 : 2) * b * s * h / parts;
    /* Embeddings that were cast to fp32 beside a quantised model make what flows between layers fp32. */
    const double most = value(input, WO_BUDGET_QUANTIZE) > 0 && !is_fp32(input) ? 2 : 1;
    struct wo_interval bytes = times(factor, b * s * h);
    bytes.lo += layers.lo * input_bytes;
    bytes.mid += layers.mid * input_bytes;
    bytes.hi += layers.hi * input_bytes * most;
    set_known(row, bytes,
              wo_arena_format(arena, "%.0f x %.0f x %.0f x (%g layers x %d B%s + one layer x %.4g B)", b, s, h, layers.mid,
                              is_fp32(input) ? 4 : 2, parts > 1 ? " / tensor parallel" : "", factor.mid));
    return;
  }
  set_known(row,
            (struct wo_interval){factor.lo * layers.lo * b * s * h, factor.mid * layers.mid * b * s * h,
                                 factor.hi * layers.hi * b * s * h},
            wo_arena_format(arena, "%g layers x %.0f x %.0f x %.0f x %.4g B", layers.mid, b, s, h, factor.mid));
}

void wo__budget_activations(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  if (input->has_activations) {
    struct wo_view formula = {0};
    const struct wo_interval bytes = wo__budget_scaled(input, &input->activations, arena, &formula);
    set_known(row, bytes, formula);
    row->assumption = WO_VIEW("a measured point, in proportion to the batch; the loss is taken to be part of it");
    return;
  }
  const char *const lacks = missing(input);
  if (lacks) {
    row->formula = wo_view_of(lacks);
    return;
  }
  if (wo__budget_has_layer(input)) {
    fill_layers(input, arena, row);
    row->assumption = layer_assumption(input, arena);
    return;
  }
  fill_activations(input, arena, row);
  row->assumption = activation_assumption(input, arena);
}

void wo__budget_again(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double tokens = value(input, WO_BUDGET_MICRO_BATCH) * value(input, WO_BUDGET_SEQ_LEN);
  const bool is_again = value(input, WO_BUDGET_CHECKPOINTING) == WO_BUDGET_FULL;
  const struct wo_interval made = wo__budget_layer_made(input);
  const struct wo_interval kept = is_again ? wo__budget_layer(input) : (struct wo_interval){0, 0, 0};
  const struct wo_interval each = {kept.lo + made.lo / 2, kept.mid + made.mid, kept.hi + 1.5 * made.hi};
  set_known(row, times(each, tokens), wo_arena_format(arena, "%.0f x %.0f B", tokens, each.mid));
  row->assumption = is_again ? WO_VIEW("a layer computed again, and the gradients of its tensors")
                             : WO_VIEW("the gradients of a layer's tensors");
}

/* ---- Logits ---- */

/* Bytes of each logit in the backward pass of the loss. PyTorch's cross entropy keeps its log-softmax, the gradient of the loss
 * is dense, and that of the log-softmax stands beside both; a program that still holds the model's output holds the logits as
 * well. A loss in place (Megatron's) has none of these. */
static struct wo_interval logits_each(const struct wo_budget_input *input) {
  const bool is_high = value(input, WO_BUDGET_QUANTIZE) > 0 && value(input, WO_BUDGET_AUTOCAST) != WO_BUDGET_ON;
  const double number = is_high ? 4 : wo__budget_layer_number(input); /* a quantised model's head is fp32 */
  const double capped = wo__budget_has_layer(input) && input->layer.has_softcap ? number : 0;
  const double form = value(input, WO_BUDGET_LOSS_FORM);
  const double shifted = 20 + capped, plain = 12 + capped;
  if (form == WO_BUDGET_SHIFTED) return (struct wo_interval){16 + capped, shifted, 24 + capped};
  if (wo__budget_has_layer(input)) return (struct wo_interval){plain, plain, form == WO_BUDGET_PLAIN ? plain + number : shifted};
  return is_fp32(input) ? (struct wo_interval){8, 12, 20} : (struct wo_interval){10, 14, 18};
}

void wo__budget_logits(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double b = value(input, WO_BUDGET_MICRO_BATCH);
  const double s = value(input, WO_BUDGET_SEQ_LEN);
  const double v = value(input, WO_BUDGET_VOCAB);
  const double t = one_or(value(input, WO_BUDGET_TENSOR));
  if (b == 0 || s == 0 || v == 0) {
    row->formula = wo_view_of(b == 0 ? "needs --micro-batch" : s == 0 ? "needs --seq-len" : "needs --vocab");
    return;
  }
  const struct wo_interval per = logits_each(input);
  const double count = b * s * v / t;
  const bool is_fused = value(input, WO_BUDGET_FUSED_LOSS) > 0 || value(input, WO_BUDGET_LIGER) > 0;
  const struct wo_interval all = {is_fused ? 0 : count * per.lo, is_fused ? 0 : count * per.mid,
                                  is_fused ? count * per.hi / 8 : count * per.hi};
  set_known(row, all,
            is_fused ? WO_VIEW("computed in chunks")
                     : wo_arena_format(arena, "%.0f x %.0f x %.0f x %.0f B (%.0f to %.0f)%s", b, s, v, per.mid, per.lo, per.hi,
                                       t > 1 ? " / tensor parallel" : ""));
  row->assumption =
      is_fused ? WO_VIEW("a chunk of an eighth at the most")
      : value(input, WO_BUDGET_LOSS_FORM) == WO_BUDGET_SHIFTED
          ? WO_VIEW("4 B each for the logits, their shifted copy, its log-softmax and the gradients of both")
      : value(input, WO_BUDGET_LOSS_FORM) == WO_BUDGET_PLAIN
          ? WO_VIEW("4 B each for the log-softmax, its gradient and the gradient of the logits; the logits themselves "
                    "where the program still holds them (high end)")
      : wo__budget_has_layer(input)
          ? WO_VIEW("4 B each for the log-softmax, its gradient and the gradient of the logits; logits that are shifted by a "
                    "copy at the high end (--loss says)")
      : is_fp32(input) ? WO_VIEW("4 B each for the logits, their log-softmax and its gradient; a shifted copy and its "
                                 "gradient at the high end, a loss in place at the low end")
                       : WO_VIEW("2 B for the logits, 4 B each for their fp32 copy, its log-softmax and the gradient; "
                                 "a shifted copy's gradient at the high end, a loss in place at the low end");
}

/* ---- KV cache ---- */

void wo__budget_cache(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double layers = value(input, WO_BUDGET_LAYERS);
  const double heads = value(input, WO_BUDGET_KV_HEADS) > 0 ? value(input, WO_BUDGET_KV_HEADS) : value(input, WO_BUDGET_HEADS);
  const double hidden = value(input, WO_BUDGET_HIDDEN);
  const double all_heads = value(input, WO_BUDGET_HEADS);
  const double dim = value(input, WO_BUDGET_HEAD_DIM) > 0 ? value(input, WO_BUDGET_HEAD_DIM)
                     : all_heads > 0                      ? hidden / all_heads
                                                          : 0;
  const double length = value(input, WO_BUDGET_MAX_LEN);
  if (layers == 0 || heads == 0 || dim == 0 || length == 0) {
    row->formula = wo_view_of(length == 0 ? "needs --max-model-len" : "needs --layers, --kv-heads and --head-dim");
    return;
  }
  static const double formats[] = {2, 4, 2, 2, 1}; /* 16 bits where none is stated */
  const double bytes = formats[(size_t)value(input, WO_BUDGET_KV_DTYPE)];
  const double seqs = one_or(value(input, WO_BUDGET_MAX_SEQS));
  const double parts = one_or(value(input, WO_BUDGET_TENSOR)) * one_or(value(input, WO_BUDGET_PIPELINE));
  const double one = 2 * layers * heads * dim * bytes * length / parts;
  set_known(row, (struct wo_interval){one, one * seqs, one * seqs},
            wo_arena_format(arena, "2 x %.0f x %.0f x %.0f x %.0f B x %.0f seqs x %.0f%s", layers, heads, dim, bytes, seqs,
                            length, parts > 1 ? " / parallel" : ""));
  row->assumption = WO_VIEW("every sequence at full length; the low end holds a single one");
}
