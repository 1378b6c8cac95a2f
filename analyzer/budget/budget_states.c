/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, gradients, optimizer states. See budget_maker.h; sources in docs/budget.md. */
#include <math.h>

#include "analyzer/budget/budget_layer.h"
#include "analyzer/budget/budget_maker.h"
#include "parsers/base/units.h"
#include "parsers/base/view.h"

/* Bytes of a frozen weight: 8-bit; NF4, from constants that are quantised too to fp32 constants for each 64 weights. */
static const struct wo_interval quantised[] = {[WO_BUDGET_8BIT] = {1, 1, 1.02}, [WO_BUDGET_4BIT] = {0.516, 0.54, 0.5625}};

/* Constants of 8-bit moments: fp32 for blocks of 2048 numbers, or of 256. */
static const struct wo_interval moment8 = {1 + 4.0 / 2048, 1 + 4.0 / 256, 1 + 4.0 / 256};

#define GALORE_RANK 128.0

static double value(const struct wo_budget_maker *maker, enum wo_budget_key key) {
  return maker->input->values[key];
}

/* ---- Model states ---- */

/* Quantised weights, and beside them the embeddings: in 16 bits, or in fp32 where PEFT has made the model ready for training. */
static void set_quantised(struct wo_budget_maker *maker, struct wo_budget_row *row, struct wo_interval kept, double count,
                          bool is_host) {
  const double divisor = wo__budget_weights_divisor(maker);
  const struct wo_interval rest = {count - kept.hi, count - kept.mid, count - kept.lo};
  const struct wo_interval per = quantised[(size_t)value(maker, WO_BUDGET_QUANTIZE)];
  wo__budget_set_state(maker, row, rest, per, divisor, is_host);
  if (per.lo < per.hi) row->assumption = WO_VIEW("from constants that are quantised too to fp32 constants");
  struct wo_budget_row *const embeddings = wo__budget_add_row(maker, "embeddings", "embeddings and head");
  const bool is_cast = maker->is_training && value(maker, WO_BUDGET_UNSLOTH) == 0;
  const struct wo_interval bytes = is_cast ? (struct wo_interval){2, 4, 4} : wo_interval_exact(2);
  wo__budget_set_state(maker, embeddings, kept, bytes, divisor, is_host);
  embeddings->assumption = is_cast ? WO_VIEW("not quantised: fp32, as prepare_model_for_kbit_training makes them, or 16 bits")
                                   : WO_VIEW("not quantised");
}

/* Trained weights; frozen ones of the same model have a row of their own. */
void wo__budget_add_weights(struct wo_budget_maker *maker) {
  const bool is_host = value(maker, WO_BUDGET_OFFLOAD_PARAMS) > 0;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "weights", maker->is_partial ? "frozen weights" : "weights");
  if (value(maker, WO_BUDGET_PARAMS) == 0) {
    row->formula = WO_VIEW("needs --params or --model");
    return;
  }
  const struct wo_interval per = maker->is_partial || !maker->is_training ? wo__budget_frozen_weight(maker) : maker->weight;
  const double count = maker->is_partial ? maker->weights_p : maker->weights_p + maker->trained_p.mid;
  const struct wo_interval kept = wo__budget_unquantised(maker, count);
  if (kept.hi > 0 && (maker->is_partial || !maker->is_training))
    set_quantised(maker, row, kept, count, is_host);
  else
    wo__budget_set_state(maker, row, wo_interval_exact(count), per, wo__budget_weights_divisor(maker), is_host);
  if (value(maker, WO_BUDGET_DTYPE) == 0 && value(maker, WO_BUDGET_QUANTIZE) == 0) {
    row->assumption = maker->is_training ? WO_VIEW("the number format is not stated: fp32 is assumed, 16 bits is the low end")
                                         : WO_VIEW("the number format is not stated: 16 bits are assumed, fp32 is the high end");
  }
  if (!maker->is_partial) return;
  struct wo_budget_row *const trained = wo__budget_add_row(maker, "adapters", "trained weights");
  struct wo_interval trained_per = maker->weight;
  if (value(maker, WO_BUDGET_QUANTIZE) > 0 && value(maker, WO_BUDGET_DTYPE) == 0) trained_per = wo__budget_trained_bytes(maker);
  if (wo__budget_is_16bit(value(maker, WO_BUDGET_DTYPE))) trained_per = wo__budget_trained_bytes(maker);
  wo__budget_set_state(maker, trained, maker->trained_p, trained_per, wo__budget_weights_divisor(maker), is_host);
  if (trained_per.hi > trained_per.lo) trained->assumption = WO_VIEW("PEFT keeps adapters in fp32 by default");
}

/* Gradients begin with the backward pass, unless those of an earlier one are being added to, or live in buffers of the framework:
 * Megatron's and DDP's. A measured point of activations is taken to stand beside them. */
static void share_gradients(const struct wo_budget_maker *maker, struct wo_budget_row *row) {
  const double passes = value(maker, WO_BUDGET_GRAD_ACCUM);
  const bool is_ddp = maker->data_parallel > 1 && maker->stage == 0 && value(maker, WO_BUDGET_FSDP) == 0;
  const bool is_kept = passes > 1 || is_ddp || value(maker, WO_BUDGET_TENSOR) > 1 || value(maker, WO_BUDGET_PIPELINE) > 1 ||
                       value(maker, WO_BUDGET_MEGATRON) > 0 || maker->input->has_activations;
  if (!is_kept || passes > 1) row->share[WO_BUDGET_GENERATE] = wo_interval_exact(0);
  if (is_kept || (wo__budget_is_deepspeed(maker) && maker->stage >= 3)) return;
  if (wo__budget_is_deepspeed(maker) && wo__budget_is_16bit(value(maker, WO_BUDGET_DTYPE)))
    row->share[WO_BUDGET_STEP] = wo_interval_exact(0); /* the step's fp32 ones take their place */
  const double head = maker->trained_p.mid > 0 ? fmin(1, wo__budget_table(maker) / maker->trained_p.mid) : 0;
  const double most = passes == 0 ? 1 : 0;
  row->share[WO_BUDGET_FORWARD] = row->share[WO_BUDGET_LOSS] = (struct wo_interval){0, 0, most};
  row->share[WO_BUDGET_LAYER] =
      (struct wo_interval){0, maker->is_partial ? 0 : head, most > 0 || !maker->is_partial ? fmax(head, most) : 0};
  if (wo__budget_has_image(maker->input)) row->share[WO_BUDGET_LAYER] = (struct wo_interval){0, 0.4, 1};
  /* All but those of the embedding and the first layer, some of which are there already. */
  const double layer = maker->is_partial ? 0 : 1 / fmax(1, value(maker, WO_BUDGET_LAYERS));
  row->share[WO_BUDGET_FIRST] = (struct wo_interval){fmax(0, 1 - head - layer), fmax(0, 1 - head - layer / 2), 1};
}

void wo__budget_add_gradients(struct wo_budget_maker *maker) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "gradients", "gradients");
  if (value(maker, WO_BUDGET_PARAMS) == 0) {
    row->formula = WO_VIEW("needs --params");
    return;
  }
  const bool is_host = value(maker, WO_BUDGET_OFFLOAD_OPTIMIZER) > 0 && maker->stage >= 2;
  wo__budget_set_state(maker, row, maker->trained_p, maker->gradient, wo__budget_divided(maker, 2), is_host);
  share_gradients(maker, row);
  if (maker->is_partial) row->assumption = WO_VIEW("trained weights only, and so are the moments: frozen ones have neither");
  if (is_host) row->assumption = WO_VIEW("on the host: stages 2 and 3 move them with the optimizer");
}

/* Muon keeps one moment of the matrices of layers, and Adam two of the rest. */
static struct wo_interval muon_moments(const struct wo_budget_maker *maker, struct wo_interval moment) {
  const double tables = wo__budget_tables(maker), all = maker->trained_p.mid;
  if (tables == 0 || tables >= all) return (struct wo_interval){moment.lo, moment.mid, 2 * moment.hi};
  return wo__budget_product(moment, wo_interval_exact(1 + tables / all));
}

/* GaLore: a projection of the shorter side, and both moments of the longer one. In fp32 the projection is a view, which holds the
 * square matrix that it was cut out of. */
static double galore_numbers(const struct wo_budget_input *input, struct wo_budget_weight weight) {
  const double stated = input->values[WO_BUDGET_GALORE_RANK];
  const double shorter = fmin(weight.in, weight.out), longer = fmax(weight.in, weight.out);
  const double rank = fmin(stated > 0 ? stated : GALORE_RANK, shorter);
  return (input->values[WO_BUDGET_DTYPE] == (double)WO_BUDGET_FP32 ? shorter : rank) * shorter + 2 * rank * longer;
}

static double matrix_numbers(const struct wo_budget_input *input, struct wo_budget_weight weight) {
  (void)input;
  return weight.in * weight.out * fmax(1, weight.experts);
}

static struct wo_interval galore_moments(const struct wo_budget_maker *maker, struct wo_interval moment) {
  const double all = value(maker, WO_BUDGET_PARAMS);
  const double matrices = wo__budget_sum_weights(maker->input, matrix_numbers);
  if (value(maker, WO_BUDGET_HIDDEN) == 0 || matrices == 0 || matrices > all)
    return (struct wo_interval){0, moment.mid, 2 * moment.hi};
  const double numbers = wo__budget_sum_weights(maker->input, galore_numbers) + 2 * (all - matrices);
  return wo__budget_product(moment, wo_interval_exact(numbers / all));
}

/* Bytes of moments that an optimizer keeps for each trained number. Adafactor keeps sums of rows and columns instead. */
static struct wo_interval moments_of(const struct wo_budget_maker *maker, double optimizer) {
  const struct wo_interval moment = wo__budget_moment_bytes(maker);
  switch ((int)optimizer) {
  case WO_BUDGET_LION8BIT:
    return moment8;
  case WO_BUDGET_ADAM8BIT:
  case WO_BUDGET_PAGED_ADAM8BIT:
    return wo__budget_product(wo_interval_exact(2), moment8);
  case WO_BUDGET_SGD:
  case WO_BUDGET_NO_OPTIMIZER:
    return wo_interval_exact(0);
  case WO_BUDGET_SGD_MOMENTUM:
    return moment;
  case WO_BUDGET_LION:
    return (struct wo_interval){moment.lo, 4, 4}; /* bitsandbytes' in fp32 */
  case WO_BUDGET_MUON:
    return muon_moments(maker, moment);
  case WO_BUDGET_GALORE:
    return galore_moments(maker, moment);
  case WO_BUDGET_ADAFACTOR: {
    const double hidden = value(maker, WO_BUDGET_HIDDEN);
    return hidden > 0 ? (struct wo_interval){4 / hidden, 8 / hidden, 8 / hidden} : (struct wo_interval){0, 0.002, 0.02};
  }
  default:
    return wo__budget_product(wo_interval_exact(2), moment);
  }
}

static struct wo_view optimizer_assumption(const struct wo_budget_maker *maker, double optimizer, struct wo_interval per) {
  if (optimizer == 0) return WO_VIEW("Adam is assumed");
  if (optimizer == (double)WO_BUDGET_ADAFACTOR) return WO_VIEW("fp32 sums of rows and columns, no first moment");
  if (optimizer == (double)WO_BUDGET_PAGED_ADAM8BIT)
    return WO_VIEW("two 1-byte moments in memory that the card and the host share");
  if (optimizer == (double)WO_BUDGET_LION8BIT) return WO_VIEW("a 1-byte moment and an fp32 constant for each block");
  if (optimizer == (double)WO_BUDGET_MUON) return WO_VIEW("one moment of the matrices of layers, Adam's two of the tables");
  if (optimizer == (double)WO_BUDGET_GALORE)
    return WO_VIEW("a projection and two narrow moments of each matrix, Adam's two of the rest");
  if (optimizer == (double)WO_BUDGET_ADAM8BIT) return WO_VIEW("two 1-byte moments and an fp32 constant for each block");
  if (per.lo == per.hi || maker->is_partial) return (struct wo_view){0};
  return WO_VIEW("moments like the weights, as PyTorch makes them; in fp32 with --optimizer-dtype fp32");
}

void wo__budget_add_optimizer(struct wo_budget_maker *maker) {
  const double optimizer = value(maker, WO_BUDGET_OPTIMIZER);
  const bool is_paged = optimizer == (double)WO_BUDGET_PAGED_ADAM8BIT;
  const bool is_host = value(maker, WO_BUDGET_OFFLOAD_OPTIMIZER) > 0 || is_paged;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "optimizer", "optimizer moments");
  if (value(maker, WO_BUDGET_PARAMS) == 0) {
    row->formula = WO_VIEW("needs --params");
    return;
  }
  const struct wo_interval per = moments_of(maker, optimizer);
  const struct wo_view assumption = optimizer_assumption(maker, optimizer, per);
  wo__budget_set_state(maker, row, maker->trained_p, per, wo__budget_divided(maker, 1), is_host);
  if (row->assumption.len == 0 || is_paged) row->assumption = assumption;
  const struct wo_interval master = wo__budget_master_bytes(maker);
  if (master.hi == 0 || optimizer == (double)WO_BUDGET_NO_OPTIMIZER) return;
  struct wo_budget_row *const copy = wo__budget_add_row(maker, "master", "fp32 copy of weights");
  wo__budget_set_state(maker, copy, maker->trained_p, master, wo__budget_divided(maker, 1), is_host);
  if (master.mid == 0) copy->assumption = WO_VIEW("none, unless the program keeps one (--master-weights): high end");
}

void wo__budget_add_frozen(struct wo_budget_maker *maker) {
  for (size_t i = 0; i < maker->input->frozen_count; i++) {
    const struct wo_budget_frozen *const frozen = &maker->input->frozen[i];
    struct wo_budget_row *const row = wo__budget_add_row(maker, "frozen", "");
    const size_t slash = wo_view_find_last(frozen->name, WO_VIEW("/"), frozen->name.len);
    const struct wo_view name = slash == WO_NOT_FOUND ? frozen->name : wo_view_skip(frozen->name, slash + 1);
    row->label = wo_arena_format(maker->arena, "frozen %.*s", WO_SHOWN(name));
    wo__budget_set_state(maker, row, wo_interval_exact(frozen->parameters), wo_interval_exact(frozen->bytes_per_parameter), 1,
                         false);
  }
}
