/* SPDX-License-Identifier: Apache-2.0 */
/* What is neither a state nor an activation: buffers, temporaries, the context. See budget_maker.h; sources in docs/budget.md. */
#include <math.h>

#include "analyzer/budget/budget_layer.h"
#include "analyzer/budget/budget_maker.h"
#include "parsers/base/units.h"
#include "parsers/base/view.h"

/* CUDA context with the libraries' code, and NCCL's buffers: outside the allocator. */
#define CONTEXT_LOW (0.3 * WO_GIB)
#define CONTEXT_HIGH (0.75 * WO_GIB)
#define NCCL_LOW (32 * WO_MIB)
#define NCCL_HIGH (512 * WO_MIB)

/* DeepSpeed's defaults, in numbers: the bucket that reduces gradients; in stage 3, parameters that may be whole at once. */
#define ZERO_BUCKET 5e8
#define ZERO_LIVE 1e9

static double value(const struct wo_budget_maker *maker, enum wo_budget_key key) {
  return maker->input->values[key];
}

/* ---- Buffers ---- */

/* Parameters that are gathered at once: as stated, else an average layer, or the embedding if it is larger. */
static double unit_of(const struct wo_budget_maker *maker, bool *ret_is_assumed) {
  const double stated = value(maker, WO_BUDGET_UNIT);
  const double layers = value(maker, WO_BUDGET_LAYERS);
  const double embedding = value(maker, WO_BUDGET_VOCAB) * value(maker, WO_BUDGET_HIDDEN);
  *ret_is_assumed = stated == 0;
  if (stated > 0) return stated;
  return layers > 0 ? fmax(value(maker, WO_BUDGET_PARAMS) / layers, embedding) : 0;
}

/* Frozen weights have no gradients, and quantised ones are gathered as they are. */
static void add_gathered_frozen(struct wo_budget_maker *maker, struct wo_budget_row *row, double root_bytes, double unit) {
  const double unit_bytes = unit * wo__budget_frozen_weight(maker).mid;
  row->is_known = true;
  row->bytes = (struct wo_interval){root_bytes / 2 + unit_bytes, root_bytes + 2 * unit_bytes, root_bytes + 3 * unit_bytes};
  row->formula = wo_arena_format(maker->arena, "%s + 2 x %s", WO_BYTES_TEXT(root_bytes), WO_BYTES_TEXT(unit_bytes));
  row->assumption = WO_VIEW("the embeddings and two layers, of frozen weights");
  wo__budget_set_shares(row, 1, 1, 1, 1, 1, 0);
}

/* Full sharding of a model of transformers: the root, with the embeddings, stays whole until the backward pass is over, and one
 * layer is in use beside it; its gradient is whole before it is divided, in fp32 where it is reduced so. */
static void add_gathered_layers(struct wo_budget_maker *maker, struct wo_budget_row *row) {
  const double root = wo__budget_table(maker) * fmax(1, maker->input->embedding_tables);
  const double unit = (maker->weights_p + maker->trained_p.mid - root) / value(maker, WO_BUDGET_LAYERS);
  const double bytes = value(maker, WO_BUDGET_DTYPE) == (double)WO_BUDGET_FP32 ? 4 : 2;
  const double whole = 3 * bytes * (root + unit);
  if (maker->is_partial) {
    add_gathered_frozen(maker, row, bytes * root, unit);
    return;
  }
  row->is_known = true;
  row->bytes = wo_interval_exact(whole);
  row->formula = wo_arena_format(maker->arena, "(%.0f + %.0f) x %.0f B", root, unit, bytes);
  row->assumption = WO_VIEW("the embeddings and a layer; a second layer and gradients in the backward pass");
  row->share[WO_BUDGET_FORWARD] = row->share[WO_BUDGET_LOSS] =
      (struct wo_interval){bytes * root / whole, bytes * (root + unit) / whole, bytes * (root + 2 * unit) / whole};
  row->share[WO_BUDGET_LAYER] =
      (struct wo_interval){bytes * (root + 2 * unit) / whole, (bytes * (1.5 * root + 3 * unit) + 4 * unit) / whole,
                           (bytes * (2 * root + 4 * unit) + 4 * unit) / whole};
  row->share[WO_BUDGET_FIRST] = row->share[WO_BUDGET_LAYER];
  row->share[WO_BUDGET_GRADIENTS] =
      (struct wo_interval){2 * bytes * root / whole, 2.75 * bytes * root / whole, 3.5 * bytes * root / whole};
  row->share[WO_BUDGET_STEP] = row->share[WO_BUDGET_GENERATE] = wo_interval_exact(0);
}

/* Stage 2 of FSDP: all weights stay whole from the forward pass on. */
static void add_gathered_model(struct wo_budget_maker *maker) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "gathered weights");
  const double count = maker->weights_p + maker->trained_p.mid;
  const double bytes = value(maker, WO_BUDGET_DTYPE) == (double)WO_BUDGET_FP32 ? 4 : 2;
  const double root = wo__budget_table(maker) * fmax(1, maker->input->embedding_tables);
  row->is_known = true;
  row->bytes = (struct wo_interval){count * bytes, count * bytes, count * bytes};
  row->formula = wo_arena_format(maker->arena, "%.0f x %.0f B", count, bytes);
  row->assumption = WO_VIEW("all weights from the forward pass on");
  wo__budget_set_shares(row, 1, 1, 1, fmin(1, 2.75 * root / count), fmin(1, 2.75 * root / count), 0);
}

/* Gradients are reduced in a bucket, made when the first one is ready; stage 3 makes it at once and keeps it. */
static void add_zero_bucket(struct wo_budget_maker *maker) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "ZeRO bucket");
  const double elements = fmin(ZERO_BUCKET, maker->trained_p.hi);
  const double bytes = elements * maker->gradient.mid;
  row->is_known = true;
  row->bytes = (struct wo_interval){bytes, bytes, 2 * bytes};
  row->formula = wo_arena_format(maker->arena, "%.0f x %g B", elements, maker->gradient.mid);
  row->assumption = WO_VIEW("5e8 elements by default; two when communication overlaps");
  if (maker->stage < 3) wo__budget_set_shares(row, 0, 0, 1, 1, 1, 0);
}

/* With the optimizer on the host, stages 1 and 2 keep room for the gradient of the largest weight. */
static void add_largest_gradient(struct wo_budget_maker *maker) {
  const double largest = fmin(wo__budget_table(maker), maker->trained_p.mid);
  if (value(maker, WO_BUDGET_OFFLOAD_OPTIMIZER) == 0 || maker->stage >= 3 || largest == 0) return;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "gradient on its way");
  row->is_known = true;
  row->bytes = wo_interval_exact(largest * maker->gradient.mid);
  row->formula = wo_arena_format(maker->arena, "%.0f x %g B", largest, maker->gradient.mid);
  row->assumption = WO_VIEW("room for the largest one, on its way to the host");
}

/* Stage 3 keeps up to a number of gathered parameters before it releases them. */
static void add_live_parameters(struct wo_budget_maker *maker) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "gathered weights");
  const double count = fmin(ZERO_LIVE, maker->weights_p + maker->trained_p.mid);
  const double each = maker->is_partial ? wo__budget_frozen_weight(maker).mid : maker->weight.mid;
  const double bytes = count * each;
  row->is_known = true;
  row->bytes = (struct wo_interval){0.9 * bytes, bytes, 1.1 * bytes};
  row->formula = wo_arena_format(maker->arena, "%.0f x %g B", count, each);
  row->assumption = WO_VIEW("up to 1e9 parameters (stage3_max_live_parameters)");
  wo__budget_set_shares(row, 1, 1, 1, 1, 1, 0);
}

/* Full sharding: the unit in use is whole, with its gradient; prefetching gathers up to two more. */
static void add_gathered(struct wo_budget_maker *maker) {
  const bool is_deepspeed = wo__budget_is_deepspeed(maker) && value(maker, WO_BUDGET_UNIT) == 0;
  if (is_deepspeed && maker->is_training && value(maker, WO_BUDGET_PARAMS) > 0) {
    add_live_parameters(maker);
    add_zero_bucket(maker);
    return;
  }
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "gathered layer");
  bool is_assumed = false;
  if (wo__budget_has_layer(maker->input) && value(maker, WO_BUDGET_FSDP) > 0 && maker->is_training) {
    add_gathered_layers(maker, row);
    return;
  }
  const double unit = unit_of(maker, &is_assumed);
  if (unit == 0) {
    row->formula = WO_VIEW("needs --largest-layer or --layers");
    return;
  }
  const double bytes = wo__budget_is_16bit(value(maker, WO_BUDGET_DTYPE)) ? 2 : maker->weight.mid;
  const double count = maker->is_training ? 2 : 1;
  row->is_known = true;
  row->bytes = (struct wo_interval){count * unit * bytes, count * unit * bytes, (count + 2) * unit * bytes};
  row->formula = wo_arena_format(maker->arena, "%.0f x %.0f x %.0f B", count, unit, bytes);
  row->assumption =
      is_assumed ? WO_VIEW("weights and gradient of an average layer or the embedding; two more prefetched at the high end")
                 : WO_VIEW("weights and gradient of one unit; two more prefetched at the high end");
}

/* DistributedDataParallel copies gradients into buckets of the same size in all, unless gradients are views of them. */
static void add_ddp_buckets(struct wo_budget_maker *maker) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "DDP buckets");
  const struct wo_interval bytes = wo__budget_product(maker->trained_p, maker->gradient);
  row->is_known = true;
  row->bytes = (struct wo_interval){0, bytes.mid, bytes.hi};
  row->formula = wo__budget_state_formula(maker, maker->trained_p.mid, maker->gradient, 1);
  row->assumption = WO_VIEW("plain DDP, which copies the gradients; none with gradient_as_bucket_view=True");
  wo__budget_set_shares(row, 0, 0, 0, 1, 1, 1); /* before, one of the two is the gradients' row */
}

/* A quantised layer is made 16-bit for each product, forward and backward; the last one can still be there when the next is made.
 */
static void add_dequantised(struct wo_budget_maker *maker) {
  const double hidden = value(maker, WO_BUDGET_HIDDEN), inner = value(maker, WO_BUDGET_FFN);
  if (value(maker, WO_BUDGET_QUANTIZE) == 0 || !maker->is_training || hidden == 0) return;
  const double widest = fmax(inner, hidden) / wo__budget_one_or(value(maker, WO_BUDGET_TENSOR));
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "dequantised layer");
  row->is_known = true;
  row->bytes = (struct wo_interval){2 * hidden * widest, 2 * hidden * widest, 4 * hidden * widest};
  row->formula = wo_arena_format(maker->arena, "%.0f x %.0f x 2 B", hidden, widest);
  row->assumption = WO_VIEW("one 16-bit copy of the widest layer, two at the high end");
  row->share[WO_BUDGET_GENERATE] = wo_interval_exact(0);
}

/* Under autocast each fp32 weight gets a 16-bit copy in the forward pass, which the backward pass reads. */
static void add_copies(struct wo_budget_maker *maker) {
  const bool is_quantised = value(maker, WO_BUDGET_QUANTIZE) > 0 && value(maker, WO_BUDGET_AUTOCAST) != (double)WO_BUDGET_OFF;
  const bool is_amp = value(maker, WO_BUDGET_DTYPE) == (double)WO_BUDGET_AMP && value(maker, WO_BUDGET_FSDP) == 0;
  const double tables = maker->input->embedding_tables;
  const bool is_known = wo__budget_has_layer(maker->input) || wo__budget_has_image(maker->input);
  if (!is_known || !maker->is_training || !(is_amp || is_quantised)) return;
  if (value(maker, WO_BUDGET_UNSLOTH) > 0) return;
  const double embedding = wo__budget_table(maker) * (tables > 1 ? 1 : 0);
  const double count = is_quantised ? wo__budget_table(maker) : fmax(0, maker->weights_p + maker->trained_p.mid - embedding);
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", is_quantised ? "head in 16 bits" : "weights in 16 bits");
  row->is_known = true;
  row->bytes = (struct wo_interval){is_quantised && value(maker, WO_BUDGET_AUTOCAST) == 0 ? 0 : 2 * count, 2 * count, 2 * count};
  row->formula = wo_arena_format(maker->arena, "%.0f x 2 B", count);
  row->assumption = WO_VIEW("copies that autocast makes");
  const bool is_again = value(maker, WO_BUDGET_CHECKPOINTING) == (double)WO_BUDGET_FULL && !is_quantised;
  wo__budget_set_shares(row, 1, is_again ? 0 : 1, is_again || is_quantised ? 0 : 1, 0, 0, 0);
}

/* DoRA multiplies its adapter by a unit matrix for the norm of each weight, forward and where a layer is computed again. */
static void add_dora_norms(struct wo_budget_maker *maker) {
  const double bytes = wo__budget_dora_norms(maker->input);
  if (bytes == 0) return;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "norms of DoRA");
  row->is_known = true;
  row->bytes = (struct wo_interval){bytes / 2, bytes, 1.3 * bytes};
  row->formula = WO_VIEW("4 x in x in + 10 x in x out B");
  row->assumption = WO_VIEW("for one weight, the widest one that has an adapter");
  const double again = value(maker, WO_BUDGET_CHECKPOINTING) == (double)WO_BUDGET_FULL ? 1 : 0;
  wo__budget_set_shares(row, 0, 0, again, again, 0, 0);
  row->share[WO_BUDGET_FORWARD] = (struct wo_interval){0, again > 0 ? 0 : 1, 1};
}

/* The embedding's gradient is made whole; where the output projection is the same table, the sum of both stands beside it. */
static void add_table_gradient(struct wo_budget_maker *maker) {
  const double tables = maker->input->embedding_tables;
  if (!wo__budget_has_layer(maker->input) || maker->is_partial || maker->stage >= 1 || value(maker, WO_BUDGET_FSDP) > 0) return;
  const bool is_added = value(maker, WO_BUDGET_GRAD_ACCUM) > 1;
  const double count = tables == 1 ? 2 : is_added ? 1 : 0;
  if (count == 0) return;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "gradient of the embedding");
  row->is_known = true;
  row->bytes = wo__budget_product(wo_interval_exact(count * wo__budget_table(maker)), maker->gradient);
  if (value(maker, WO_BUDGET_FUSED_LOSS) > 0) row->bytes.lo /= 2; /* the head's may be made with the loss */
  row->formula = wo_arena_format(maker->arena, "%.0f x %.0f x %g B", count, wo__budget_table(maker), maker->gradient.mid);
  row->assumption = tables == 1 ? WO_VIEW("made whole and added to that of the head, the same table")
                                : WO_VIEW("made whole and added to that of earlier passes");
  wo__budget_set_only(row, WO_BUDGET_GRADIENTS);
}

/* What the caching allocator leaves unused behind a tensor: from 10 MiB on, segments are whole multiples of 2 MiB, and a rest of
 * up to 1 MiB is not split off (PyTorch, CUDACachingAllocator). */
static double unused_behind(double bytes) {
  const double rest = ceil(bytes / (2 * WO_MIB)) * 2 * WO_MIB - bytes;
  return bytes >= 10 * WO_MIB && rest <= WO_MIB ? rest : 0;
}

/* Of one copy of the weights of a layer. */
static double unused_behind_layer(const struct wo_budget_maker *maker, bool has_experts) {
  struct wo_budget_weight weights[WO_BUDGET_WEIGHTS];
  const size_t count = wo__budget_weights(maker->input, has_experts, weights);
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += unused_behind(weights[i].in * weights[i].out * fmax(1, weights[i].experts) * maker->weight.mid);
  return sum;
}

static double unused_behind_layers(const struct wo_budget_maker *maker) {
  const double mixed = wo__budget_expert_layers(maker->input);
  return (value(maker, WO_BUDGET_LAYERS) - mixed) * unused_behind_layer(maker, false) + mixed * unused_behind_layer(maker, true);
}

static void add_rounding(struct wo_budget_maker *maker) {
  if (!wo__budget_has_layer(maker->input) || value(maker, WO_BUDGET_QUANTIZE) > 0 || maker->data_parallel > 1) return;
  const double optimizer = value(maker, WO_BUDGET_OPTIMIZER);
  const bool is_adam = optimizer == 0 || optimizer == (double)WO_BUDGET_ADAM || optimizer == (double)WO_BUDGET_ADAMW;
  const double trained = maker->is_partial ? 0 : 1;
  const double moments = is_adam || optimizer == (double)WO_BUDGET_ADAMW_FUSED ? 2 * trained
                         : optimizer == (double)WO_BUDGET_SGD_MOMENTUM         ? trained
                                                                               : 0;
  const double step = is_adam ? trained : 0, all = 1 + moments + trained + step;
  const double one = unused_behind_layers(maker);
  const double states = (maker->weights_p + maker->trained_p.mid) * maker->weight.mid;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "rounding");
  row->is_known = true;
  row->bytes = (struct wo_interval){0, all * one, all * (one + 0.01 * states)};
  if (one > 0) row->formula = wo_arena_format(maker->arena, "%.0f x %s", all, WO_BYTES_TEXT(one));
  row->assumption = WO_VIEW("behind each large weight, a rest of up to 1 MiB that the allocator does not split off");
  const double forward = (1 + moments) / all;
  wo__budget_set_shares(row, forward, forward, forward, (1 + moments + trained) / all, (1 + moments + trained) / all, 1);
}

/* cuBLAS and cuBLASLt keep a workspace for each stream, from the allocator: 32 MiB each on Hopper cards, 8 before. */
static void add_workspace(struct wo_budget_maker *maker) {
  const bool is_megatron = value(maker, WO_BUDGET_MEGATRON) > 0;
  if (!wo__budget_has_layer(maker->input) && !wo__budget_has_image(maker->input) && !is_megatron) return;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "cuBLAS workspace");
  row->is_known = true;
  row->bytes = is_megatron ? (struct wo_interval){32 * WO_MIB, 128 * WO_MIB, 256 * WO_MIB}
                           : (struct wo_interval){8 * WO_MIB, 64 * WO_MIB, 128 * WO_MIB};
  row->assumption = is_megatron ? WO_VIEW("of PyTorch and Transformer Engine, and temporaries")
                                : WO_VIEW("two of 32 MiB on Hopper cards; 8 MiB on others");
}

void wo__budget_add_buffers(struct wo_budget_maker *maker) {
  const bool is_fsdp_off = value(maker, WO_BUDGET_FSDP) > 0;
  const bool has_params = value(maker, WO_BUDGET_PARAMS) > 0;
  if (maker->stage >= 3 && (maker->data_parallel > 1 || value(maker, WO_BUDGET_OFFLOAD_PARAMS) > 0)) {
    add_gathered(maker);
  } else if (value(maker, WO_BUDGET_FSDP) == 2 && maker->data_parallel > 1 && has_params) {
    add_gathered_model(maker);
  } else if (maker->data_parallel > 1 && maker->is_training && has_params) {
    if (wo__budget_is_deepspeed(maker)) {
      add_zero_bucket(maker);
      add_largest_gradient(maker);
    } else if (!is_fsdp_off && value(maker, WO_BUDGET_ZERO) == 0 && value(maker, WO_BUDGET_MEGATRON) == 0) {
      add_ddp_buckets(maker);
    }
  }
  add_dequantised(maker);
  if (!maker->is_training) return;
  add_copies(maker);
  add_dora_norms(maker);
  add_table_gradient(maker);
  wo__budget_add_step(maker);
  add_rounding(maker);
  add_workspace(maker);
}

void wo__budget_add_context(struct wo_budget_maker *maker) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "context", "CUDA context");
  row->is_known = row->is_outside = true;
  row->bytes = (struct wo_interval){CONTEXT_LOW, (CONTEXT_LOW + CONTEXT_HIGH) / 2, CONTEXT_HIGH};
  row->assumption = WO_VIEW("0.3 to 0.75 GiB, outside PyTorch's allocator");
  if (value(maker, WO_BUDGET_GPUS) <= 1) return;
  struct wo_budget_row *const nccl = wo__budget_add_row(maker, "nccl", "NCCL");
  nccl->is_known = nccl->is_outside = true;
  nccl->bytes = (struct wo_interval){NCCL_LOW, 128 * WO_MIB, NCCL_HIGH};
  nccl->assumption = WO_VIEW("tens to hundreds of MiB for each communicator");
}
