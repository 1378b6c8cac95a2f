/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a training step that grows with the batch: activations and logits. See budget.h; sources in docs/budget.md. */
#include <math.h>

#include "analyzer/budget/budget.h"
#include "analyzer/budget/budget_layer.h"
#include "parsers/base/units.h"

/* The list of what a layer keeps may be too long by a small tensor. */
#define LAYER_LOW 0.97

static double value(const struct wo_budget_input *input, enum wo_budget_key key) {
  return input->values[key];
}

static double one_or(double number) {
  return number >= 1 ? number : 1;
}

static bool is_fp32(const struct wo_budget_input *input) {
  return value(input, WO_BUDGET_DTYPE) == (double)WO_BUDGET_FP32;
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
    const bool is_flash = value(input, WO_BUDGET_ATTENTION) == (double)WO_BUDGET_FLASH;
    bytes = times(bytes, ratio);
    if (!is_flash && ratio > 1) bytes.hi *= ratio;
    if (!is_flash && ratio < 1) bytes.lo *= ratio;
    formula = wo_arena_format(arena, "%.*s x %.0f / %.0f", WO_SHOWN(formula), length, measured->seq_len);
  }
  *ret_formula = formula;
  return bytes;
}

/* ---- Activations ---- */

static void set_known(struct wo_budget_row *row, struct wo_interval bytes, struct wo_view formula) {
  row->is_known = true;
  row->bytes = bytes;
  row->formula = formula;
}

/* Networks of images: measured with torchvision, over an allocator that is real (tests/accuracy); in proportion to the area. */
static void fill_images(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double side = value(input, WO_BUDGET_IMAGE) > 0 ? value(input, WO_BUDGET_IMAGE) : input->image.side;
  const double area = side * side / (input->image.side * input->image.side);
  const double dtype = value(input, WO_BUDGET_DTYPE), batch = value(input, WO_BUDGET_MICRO_BATCH);
  const double amp = input->image.bytes_amp, whole = input->image.bytes;
  const bool is_open = dtype == 0;
  const double each = is_open || dtype == (double)WO_BUDGET_FP32 ? whole : amp;
  if (batch == 0) {
    row->formula = WO_VIEW("needs --micro-batch");
    return;
  }
  set_known(row,
            (struct wo_interval){batch * area * (is_open ? amp : each) * 0.97, batch * area * each, batch * area * each * 1.06},
            wo_arena_format(arena, "%.0f images x %s x %.4g", batch, WO_BYTES_TEXT(each), area));
  row->assumption = wo_arena_format(arena, "measured at %.0f x %.0f, in proportion to the area%s", input->image.side,
                                    input->image.side, is_open ? "; under autocast at the low end" : "");
}

static const char *missing(const struct wo_budget_input *input) {
  if (value(input, WO_BUDGET_MICRO_BATCH) == 0) return "needs --micro-batch";
  if (value(input, WO_BUDGET_SEQ_LEN) == 0) return "needs --seq-len";
  if (value(input, WO_BUDGET_LAYERS) == 0) return "needs --layers";
  if (value(input, WO_BUDGET_HIDDEN) == 0) return "needs --hidden";
  const bool has_scores = value(input, WO_BUDGET_ATTENTION) != (double)WO_BUDGET_FLASH &&
                          value(input, WO_BUDGET_ATTENTION) != (double)WO_BUDGET_SDPA &&
                          value(input, WO_BUDGET_CHECKPOINTING) != (double)WO_BUDGET_SELECTIVE;
  return has_scores && value(input, WO_BUDGET_HEADS) == 0 ? "needs --heads, or --attention flash" : NULL;
}

static struct wo_view layer_assumption(const struct wo_budget_input *input, struct wo_arena *arena) {
  const bool has_padding =
      value(input, WO_BUDGET_MICRO_BATCH) > 1 && value(input, WO_BUDGET_ATTENTION) != (double)WO_BUDGET_FLASH;
  return wo_arena_format(
      arena, "%s%s%s%sas transformers keeps them",
      value(input, WO_BUDGET_CHECKPOINTING) == 0 ? "no checkpointing is assumed; " : "",
      value(input, WO_BUDGET_ATTENTION) == 0 ? "scores that are kept at the high end (--attention says); " : "",
      has_padding ? "padding at the high end; " : "",
      wo__budget_expert_copies(input) > 0
          ? "PEFT's adapters of experts make a copy of all experts of a layer (--lora-targets attention: none); "
          : "");
}

static struct wo_interval plus_times(struct wo_interval a, struct wo_interval b, double factor) {
  return (struct wo_interval){a.lo + b.lo * factor, a.mid + b.mid * factor, a.hi + b.hi * factor};
}

/* The layers of transformers, tensor by tensor; checkpointing keeps what flows between them. */
static void fill_layers(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double tokens = wo__budget_tokens(input), layers = value(input, WO_BUDGET_LAYERS);
  const bool is_again = value(input, WO_BUDGET_CHECKPOINTING) == (double)WO_BUDGET_FULL;
  struct wo_interval each = is_again ? wo__budget_layer_input(input) : wo__budget_layer(input);
  each.lo *= LAYER_LOW;
  const struct wo_interval end = wo__budget_layer_end(input);
  const double copies = is_again ? 0 : wo__budget_expert_layers(input) * wo__budget_expert_copies(input);
  const bool is_asked = value(input, WO_BUDGET_LORA_TARGETS) > 0;
  struct wo_interval bytes = times(plus_times(end, each, layers), tokens);
  bytes = wo_interval_plus(bytes, (struct wo_interval){is_asked ? copies : 0, copies, copies});
  set_known(row, bytes,
            wo_arena_format(arena, "%.0f x (%.0f layers x %.0f B + %.0f B)%s%s", tokens, layers, each.mid, end.mid,
                            copies > 0 ? " + " : "", copies > 0 ? WO_BYTES_TEXT(copies) : ""));
}

/* Saved activations on their way to the host: of one layer at the low end, of two, of three. */
static void offload(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double layers = one_or(value(input, WO_BUDGET_LAYERS));
  if (value(input, WO_BUDGET_OFFLOAD_ACTIVATIONS) == 0) return;
  row->host = row->bytes;
  row->bytes =
      (struct wo_interval){row->bytes.lo / layers, row->bytes.mid * fmin(1, 2 / layers), row->bytes.hi * fmin(1, 3 / layers)};
  row->formula = wo_arena_format(arena, "%.*s, of two layers at once on the card", WO_SHOWN(row->formula));
}

void wo__budget_activations(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  if (input->has_activations) {
    struct wo_view formula = {0};
    const struct wo_interval bytes = wo__budget_scaled(input, &input->activations, arena, &formula);
    set_known(row, bytes, formula);
    row->assumption = WO_VIEW("a measured point, in proportion to the batch; the loss is taken to be part of it");
    return;
  }
  if (wo__budget_has_image(input)) {
    fill_images(input, arena, row);
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
  } else {
    wo__budget_megatron(input, arena, row);
  }
  offload(input, arena, row);
}

void wo__budget_again(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double tokens = wo__budget_tokens(input);
  const bool is_again = value(input, WO_BUDGET_CHECKPOINTING) == (double)WO_BUDGET_FULL;
  const struct wo_interval made = wo__budget_layer_made(input);
  const struct wo_interval kept = is_again ? wo__budget_layer(input) : (struct wo_interval){0, 0, 0};
  const struct wo_interval each = {kept.lo + made.lo / 2, kept.mid + made.mid, kept.hi + 1.5 * made.hi};
  /* One copy that is read, and the product that it is made of. */
  const double copies = is_again ? wo__budget_expert_copies(input) : 0;
  const bool is_asked = value(input, WO_BUDGET_LORA_TARGETS) > 0;
  const struct wo_interval fixed = {is_asked ? copies : 0, 5 * copies / 3, 2 * copies};
  set_known(row, wo_interval_plus(times(each, tokens), fixed),
            wo_arena_format(arena, "%.0f x %.0f B%s%s", tokens, each.mid, copies > 0 ? " + " : "",
                            copies > 0 ? WO_BYTES_TEXT(fixed.mid) : ""));
  row->assumption = is_again ? WO_VIEW("a layer computed again, and the gradients of its tensors")
                             : WO_VIEW("the gradients of a layer's tensors");
}

/* ---- Logits ---- */

/* Bytes of each logit in the backward pass of the loss. PyTorch's cross entropy keeps its log-softmax, the gradient of the loss
 * is dense, and that of the log-softmax stands beside both; a program that still holds the model's output holds the logits as
 * well. A loss in place (Megatron's) has none of these. */
static struct wo_interval logits_each(const struct wo_budget_input *input) {
  const bool is_high = value(input, WO_BUDGET_QUANTIZE) > 0 && value(input, WO_BUDGET_AUTOCAST) != (double)WO_BUDGET_ON;
  const double number = is_high ? 4 : wo__budget_layer_number(input); /* a quantised model's head is fp32 */
  const double capped = wo__budget_has_layer(input) && input->layer.has_softcap ? number : 0;
  const double form = value(input, WO_BUDGET_LOSS_FORM);
  const double shifted = 20 + capped, plain = 12 + capped;
  if (value(input, WO_BUDGET_MEGATRON) > 0)
    return is_fp32(input) ? (struct wo_interval){8, 8, 12} : (struct wo_interval){6, 6, 10};
  if (form == (double)WO_BUDGET_SHIFTED) return (struct wo_interval){16 + capped, shifted, 24 + capped};
  if (wo__budget_has_layer(input))
    return (struct wo_interval){plain, plain, form == (double)WO_BUDGET_PLAIN ? plain + number : shifted};
  return is_fp32(input) ? (struct wo_interval){8, 12, 20} : (struct wo_interval){10, 14, 18};
}

void wo__budget_logits(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  if (wo__budget_has_image(input)) {
    set_known(row, wo_interval_exact(0), WO_VIEW("a class for each image"));
    return;
  }
  const double tokens = wo__budget_tokens(input), v = value(input, WO_BUDGET_VOCAB);
  const double t = one_or(value(input, WO_BUDGET_TENSOR));
  if (tokens == 0 || v == 0) {
    row->formula = wo_view_of(value(input, WO_BUDGET_MICRO_BATCH) == 0 ? "needs --micro-batch"
                              : tokens == 0                            ? "needs --seq-len"
                                                                       : "needs --vocab");
    return;
  }
  if (value(input, WO_BUDGET_PIPELINE) > 1 && !input->is_last_stage) {
    set_known(row, wo_interval_exact(0), WO_VIEW("on the last pipeline stage"));
    return;
  }
  const struct wo_interval per = logits_each(input);
  const double count = tokens * v / t;
  const bool is_fused = value(input, WO_BUDGET_FUSED_LOSS) > 0 || value(input, WO_BUDGET_LIGER) > 0;
  /* Some kernels make the head's gradient in fp32 beside that of the weights (TRL). */
  const bool is_whole = is_fused && wo__budget_adapters(input).hi == 0 && value(input, WO_BUDGET_TRAINABLE) == 0;
  const double head = is_whole && value(input, WO_BUDGET_LIGER) == 0 ? 4 * v / t * value(input, WO_BUDGET_HIDDEN) : 0;
  const struct wo_interval all = {is_fused ? 0 : count * per.lo, is_fused ? 0 : count * per.mid,
                                  is_fused ? count * per.hi / 8 + head : count * per.hi};
  set_known(row, all,
            is_fused ? WO_VIEW("computed in chunks")
                     : wo_arena_format(arena, "%.0f x %.0f x %.0f B (%.0f to %.0f)%s", tokens, v, per.mid, per.lo, per.hi,
                                       t > 1 ? " / tensor parallel" : ""));
  row->assumption =
      is_fused ? head > 0 ? WO_VIEW("a chunk of an eighth at the most, and the head's gradient in fp32")
                          : WO_VIEW("a chunk of an eighth at the most")
      : value(input, WO_BUDGET_MEGATRON) > 0
          ? WO_VIEW("the logits and their fp32 softmax, in which the gradient is made; a further fp32 copy with its fused kernel "
                    "(high end)")
      : value(input, WO_BUDGET_LOSS_FORM) == (double)WO_BUDGET_SHIFTED
          ? WO_VIEW("4 B each for the logits, their shifted copy, its log-softmax and the gradients of both")
      : value(input, WO_BUDGET_LOSS_FORM) == (double)WO_BUDGET_PLAIN
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
