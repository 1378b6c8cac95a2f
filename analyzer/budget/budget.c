/* Model states, sharding, totals. See budget.h; sources in docs/budget.md. */
#include "analyzer/budget/budget.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "parsers/base/units.h"
#include "parsers/base/view.h"

/* CUDA context with the libraries' code, and NCCL's buffers: outside the allocator. */
#define CONTEXT_LOW (0.3 * WO_GIB)
#define CONTEXT_HIGH (0.6 * WO_GIB)
#define NCCL_LOW (32 * WO_MIB)
#define NCCL_HIGH (512 * WO_MIB)

/* DeepSpeed's default buckets (elements), of 16-bit numbers: one to reduce, one to gather. */
#define ZERO_BUCKET 5e8

/* Bytes of a frozen weight: 8-bit; NF4, from constants that are quantised too to fp32 constants for each 64 weights. Where it is
 * not known how many weights stay in 16 bits, these are in the high end. */
static const struct wo_interval quantised[] = {[WO_BUDGET_8BIT] = {1, 1, 1.02}, [WO_BUDGET_4BIT] = {0.516, 0.54, 0.5625}};
static const struct wo_interval quantised_all[] = {[WO_BUDGET_8BIT] = {1, 1, 1.1}, [WO_BUDGET_4BIT] = {0.516, 0.55, 0.75}};

/* Constants of 8-bit moments: fp32 for blocks of 2048 numbers, or of 256. */
static const struct wo_interval moment8 = {1 + 4.0 / 2048, 1 + 4.0 / 256, 1 + 4.0 / 256};

/* Stated figures are rounded, and some are in powers of 1000: a difference of up to this share is no contradiction. */
#define ROUNDED 0.08

struct maker {
  const struct wo_budget_input *input;
  struct wo_arena *arena;
  struct wo_budget *budget;
  double weights_p;             /* parameters of this rank's part of the model */
  struct wo_interval trained_p; /* trained parameters, of these or beside them */
  struct wo_interval weight;    /* bytes of one */
  struct wo_interval gradient;  /* bytes of one */
  double stage;                 /* ZeRO 0 to 3 */
  double data_parallel;         /* ranks that share the states */
  bool is_partial;              /* only a part is trained */
  bool is_training;
};

static double value(const struct maker *maker, enum wo_budget_key key) {
  return maker->input->values[key];
}

static double one_or(double number) {
  return number >= 1 ? number : 1;
}

static struct wo_interval product(struct wo_interval a, struct wo_interval b) {
  return (struct wo_interval){a.lo * b.lo, a.mid * b.mid, a.hi * b.hi};
}

static struct wo_interval over(struct wo_interval a, double divisor) {
  return (struct wo_interval){a.lo / divisor, a.mid / divisor, a.hi / divisor};
}

double wo_budget_dtype_bytes(double choice) {
  static const double bytes[] = {0, 4, 2, 2, 4, 1};
  const size_t at = choice > 0 ? (size_t)choice : 0;
  return at < sizeof bytes / sizeof bytes[0] ? bytes[at] : 0;
}

const char *wo_budget_verdict_name(enum wo_budget_verdict verdict) {
  static const char *const names[] = {"open", "fits", "tight", "does_not_fit"};
  return names[verdict];
}

/* ---- Rows ---- */

/* A new row at the end, unknown as yet. The last one is reused if there is no room; the caps of the inputs exclude that. */
static struct wo_budget_row *add_row(struct maker *maker, const char *id, const char *label) {
  struct wo_budget *const budget = maker->budget;
  if (budget->row_count < WO_LIMIT_BUDGET_ROWS) budget->row_count++;
  struct wo_budget_row *const row = &budget->rows[budget->row_count - 1];
  *row = (struct wo_budget_row){.id = wo_view_of(id), .label = wo_view_of(label), .rank = -1};
  return row;
}

/* "2 B", or "4 B (2 to 4)" if the number format is not known. */
static struct wo_view per_text(const struct maker *maker, struct wo_interval per) {
  return per.lo == per.hi ? wo_arena_format(maker->arena, "%g B", per.mid)
                          : wo_arena_format(maker->arena, "%g B (%.4g to %.4g)", per.mid, per.lo, per.hi);
}

/* "8499653234 x 4 B / 8". */
static struct wo_view state_formula(const struct maker *maker, double parameters, struct wo_interval per, double divisor) {
  const struct wo_view text = per_text(maker, per);
  return divisor > 1 ? wo_arena_format(maker->arena, "%.0f x %.*s / %.0f", parameters, WO_SHOWN(text), divisor)
                     : wo_arena_format(maker->arena, "%.0f x %.*s", parameters, WO_SHOWN(text));
}

/* Fills a row of the model states; offloaded bytes go to the host's column. */
static void set_state(const struct maker *maker, struct wo_budget_row *row, struct wo_interval parameters, struct wo_interval per,
                      double divisor, bool is_host) {
  const struct wo_interval bytes = over(product(parameters, per), divisor);
  row->is_known = true;
  row->is_state = true;
  row->formula = state_formula(maker, parameters.mid, per, divisor);
  if (is_host) {
    row->host = bytes;
    row->assumption = WO_VIEW("on the host");
  } else {
    row->bytes = bytes;
  }
}

/* ---- Number formats ---- */

static bool is_16bit(double dtype) {
  return dtype == WO_BUDGET_BF16 || dtype == WO_BUDGET_FP16;
}

/* Without a stated format: PyTorch makes fp32 weights, and loaders of published models make 16-bit ones. */
static void read_formats(struct maker *maker) {
  const double dtype = value(maker, WO_BUDGET_DTYPE);
  const double gradient = wo_budget_dtype_bytes(value(maker, WO_BUDGET_GRAD_DTYPE));
  maker->weight = dtype > 0 ? wo_interval_exact(wo_budget_dtype_bytes(dtype)) : (struct wo_interval){2, 4, 4};
  maker->gradient = maker->weight;
  if (dtype == WO_BUDGET_FP8) maker->gradient = wo_interval_exact(2);
  if (maker->is_partial && is_16bit(dtype)) maker->gradient = (struct wo_interval){2, 2, 4};
  if (gradient > 0) maker->gradient = wo_interval_exact(gradient);
}

/* Bytes of one frozen weight. */
static struct wo_interval frozen_weight(const struct maker *maker) {
  const double format = value(maker, WO_BUDGET_QUANTIZE);
  return format > 0 ? quantised_all[(size_t)format] : maker->weight;
}

/* Of so many parameters, those of the embeddings and the output projection, which quantisers leave as they are; {0} where they
 * are not known. */
static struct wo_interval unquantised(const struct maker *maker, double count) {
  const double tables = maker->input->embedding_tables;
  const double one = value(maker, WO_BUDGET_VOCAB) * value(maker, WO_BUDGET_HIDDEN);
  const double parts = one_or(value(maker, WO_BUDGET_TENSOR)) * one_or(value(maker, WO_BUDGET_PIPELINE));
  const struct wo_interval all = tables > 0 ? wo_interval_exact(tables * one) : (struct wo_interval){one, 2 * one, 2 * one};
  return value(maker, WO_BUDGET_QUANTIZE) > 0 && all.hi < count * parts ? over(all, parts) : (struct wo_interval){0, 0, 0};
}

/* Moments in the stated format; else as the optimizer makes them: ZeRO and Megatron in fp32, PyTorch like the weights. */
static struct wo_interval moment_bytes(const struct maker *maker) {
  const double stated = wo_budget_dtype_bytes(value(maker, WO_BUDGET_OPTIMIZER_DTYPE));
  const double dtype = value(maker, WO_BUDGET_DTYPE);
  if (stated > 0) return wo_interval_exact(stated);
  if (value(maker, WO_BUDGET_MASTER) > 0 || (value(maker, WO_BUDGET_ZERO) > 1 && dtype != 0)) return wo_interval_exact(4);
  if (dtype == WO_BUDGET_FP32 || dtype == WO_BUDGET_AMP) return wo_interval_exact(4);
  if (dtype == 0 || maker->is_partial) return (struct wo_interval){2, 4, 4};
  return (struct wo_interval){2, 2, 4};
}

/* Bytes of the fp32 copy of 16-bit weights. */
static struct wo_interval master_bytes(const struct maker *maker) {
  const double dtype = value(maker, WO_BUDGET_DTYPE);
  const bool is_small = is_16bit(dtype) || dtype == WO_BUDGET_FP8;
  if (value(maker, WO_BUDGET_MASTER) > 0) return wo_interval_exact(4);
  if (!is_small || value(maker, WO_BUDGET_OPTIMIZER_DTYPE) > 0) return wo_interval_exact(0);
  if (value(maker, WO_BUDGET_ZERO) > 1) return wo_interval_exact(4);
  return (struct wo_interval){0, 0, 4};
}

/* ---- Set-up ---- */

/* The ZeRO stage, also for FSDP's names. */
static double stage_of(const struct maker *maker) {
  static const double fsdp[] = {0, 3, 2, 0};
  const double zero = value(maker, WO_BUDGET_ZERO);
  return zero > 0 ? zero - 1 : fsdp[(size_t)value(maker, WO_BUDGET_FSDP)];
}

static void set_up(struct maker *maker) {
  const double parts = one_or(value(maker, WO_BUDGET_TENSOR)) * one_or(value(maker, WO_BUDGET_PIPELINE));
  const double params = value(maker, WO_BUDGET_PARAMS);
  const double trainable = value(maker, WO_BUDGET_TRAINABLE);
  const struct wo_interval adapters = wo__budget_adapters(maker->input);
  maker->is_training = value(maker, WO_BUDGET_INFERENCE) == 0;
  maker->is_partial = adapters.hi > 0 || (trainable > 0 && trainable < params);
  const double whole = trainable > 0 ? trainable : params;
  maker->trained_p = over(adapters.hi > 0 ? adapters : wo_interval_exact(whole), parts);
  maker->weights_p = (adapters.hi > 0 ? params : fmax(params - whole, 0)) / parts;
  maker->stage = stage_of(maker);
  maker->data_parallel = fmax(1, floor(one_or(value(maker, WO_BUDGET_GPUS)) / parts));
  read_formats(maker);
}

static double divided_from(const struct maker *maker, double stage) {
  return maker->stage >= stage ? maker->data_parallel : 1;
}

/* ---- Model states ---- */

/* Quantised weights, and beside them the embeddings: in 16 bits, or in fp32 where PEFT has made the model ready for training. */
static void set_quantised(struct maker *maker, struct wo_budget_row *row, struct wo_interval kept, double count, bool is_host) {
  const double divisor = divided_from(maker, 3);
  const struct wo_interval rest = {count - kept.hi, count - kept.mid, count - kept.lo};
  const struct wo_interval per = quantised[(size_t)value(maker, WO_BUDGET_QUANTIZE)];
  set_state(maker, row, rest, per, divisor, is_host);
  if (per.lo < per.hi) row->assumption = WO_VIEW("from constants that are quantised too to fp32 constants");
  struct wo_budget_row *const embeddings = add_row(maker, "embeddings", "embeddings and head");
  const struct wo_interval bytes = maker->is_training ? (struct wo_interval){2, 4, 4} : wo_interval_exact(2);
  set_state(maker, embeddings, kept, bytes, divisor, is_host);
  embeddings->assumption = maker->is_training
                               ? WO_VIEW("not quantised: fp32, as prepare_model_for_kbit_training makes them, or 16 bits")
                               : WO_VIEW("not quantised");
}

/* Trained weights; frozen ones of the same model have a row of their own. */
static void add_weights(struct maker *maker) {
  const bool is_host = value(maker, WO_BUDGET_OFFLOAD_PARAMS) > 0;
  struct wo_budget_row *const row = add_row(maker, "weights", maker->is_partial ? "frozen weights" : "weights");
  if (value(maker, WO_BUDGET_PARAMS) == 0) {
    row->formula = WO_VIEW("needs --params or --model");
    return;
  }
  const struct wo_interval per = maker->is_partial || !maker->is_training ? frozen_weight(maker) : maker->weight;
  const double count = maker->is_partial ? maker->weights_p : maker->weights_p + maker->trained_p.mid;
  const struct wo_interval kept = unquantised(maker, count);
  if (kept.hi > 0 && (maker->is_partial || !maker->is_training))
    set_quantised(maker, row, kept, count, is_host);
  else
    set_state(maker, row, wo_interval_exact(count), per, divided_from(maker, 3), is_host);
  if (value(maker, WO_BUDGET_DTYPE) == 0 && value(maker, WO_BUDGET_QUANTIZE) == 0) {
    row->assumption = WO_VIEW("the number format is not stated: fp32 is assumed, 16 bits is the low end");
  }
  if (!maker->is_partial) return;
  struct wo_budget_row *const trained = add_row(maker, "adapters", "trained weights");
  struct wo_interval trained_per = maker->weight;
  if (value(maker, WO_BUDGET_QUANTIZE) > 0 && value(maker, WO_BUDGET_DTYPE) == 0) trained_per = (struct wo_interval){2, 2, 4};
  if (is_16bit(value(maker, WO_BUDGET_DTYPE))) trained_per = (struct wo_interval){2, 2, 4};
  set_state(maker, trained, maker->trained_p, trained_per, divided_from(maker, 3), is_host);
  if (trained_per.hi > trained_per.mid) trained->assumption = WO_VIEW("PEFT keeps adapters in fp32 by default (high end)");
}

static void add_gradients(struct maker *maker) {
  struct wo_budget_row *const row = add_row(maker, "gradients", "gradients");
  if (value(maker, WO_BUDGET_PARAMS) == 0) {
    row->formula = WO_VIEW("needs --params");
    return;
  }
  const bool is_host = value(maker, WO_BUDGET_OFFLOAD_OPTIMIZER) > 0 && maker->stage >= 2;
  set_state(maker, row, maker->trained_p, maker->gradient, divided_from(maker, 2), is_host);
  if (maker->is_partial) row->assumption = WO_VIEW("trained weights only, and so are the moments: frozen ones have neither");
  if (is_host) row->assumption = WO_VIEW("on the host: stages 2 and 3 move them with the optimizer");
}

/* Bytes of moments that an optimizer keeps for each trained number. Adafactor keeps sums of rows and columns instead. */
static struct wo_interval moments_of(const struct maker *maker, double optimizer) {
  const struct wo_interval moment = moment_bytes(maker);
  switch ((int)optimizer) {
  case WO_BUDGET_ADAM8BIT:
    return product(wo_interval_exact(2), moment8);
  case WO_BUDGET_SGD:
  case WO_BUDGET_NO_OPTIMIZER:
    return wo_interval_exact(0);
  case WO_BUDGET_SGD_MOMENTUM:
  case WO_BUDGET_LION:
    return moment;
  case WO_BUDGET_ADAFACTOR: {
    const double hidden = value(maker, WO_BUDGET_HIDDEN);
    return hidden > 0 ? (struct wo_interval){4 / hidden, 8 / hidden, 8 / hidden} : (struct wo_interval){0, 0.002, 0.02};
  }
  default:
    return product(wo_interval_exact(2), moment);
  }
}

static struct wo_view optimizer_assumption(const struct maker *maker, double optimizer, struct wo_interval per) {
  if (optimizer == 0) return WO_VIEW("Adam is assumed");
  if (optimizer == WO_BUDGET_ADAFACTOR) return WO_VIEW("fp32 sums of rows and columns, no first moment");
  if (optimizer == WO_BUDGET_ADAM8BIT) return WO_VIEW("two 1-byte moments and an fp32 constant for each block");
  if (per.lo == per.hi || maker->is_partial) return (struct wo_view){0};
  return WO_VIEW("moments like the weights, as PyTorch makes them; in fp32 with --optimizer-dtype fp32");
}

static void add_optimizer(struct maker *maker) {
  const double optimizer = value(maker, WO_BUDGET_OPTIMIZER);
  const bool is_host = value(maker, WO_BUDGET_OFFLOAD_OPTIMIZER) > 0;
  struct wo_budget_row *const row = add_row(maker, "optimizer", "optimizer moments");
  if (value(maker, WO_BUDGET_PARAMS) == 0) {
    row->formula = WO_VIEW("needs --params");
    return;
  }
  const struct wo_interval per = moments_of(maker, optimizer);
  const struct wo_view assumption = optimizer_assumption(maker, optimizer, per);
  set_state(maker, row, maker->trained_p, per, divided_from(maker, 1), is_host);
  if (row->assumption.len == 0) row->assumption = assumption;
  const struct wo_interval master = master_bytes(maker);
  if (master.hi == 0 || optimizer == WO_BUDGET_NO_OPTIMIZER) return;
  struct wo_budget_row *const copy = add_row(maker, "master", "fp32 copy of weights");
  set_state(maker, copy, maker->trained_p, master, divided_from(maker, 1), is_host);
  if (master.mid == 0) copy->assumption = WO_VIEW("none, unless the program keeps one (--master-weights): high end");
}

static void add_frozen(struct maker *maker) {
  for (size_t i = 0; i < maker->input->frozen_count; i++) {
    const struct wo_budget_frozen *const frozen = &maker->input->frozen[i];
    struct wo_budget_row *const row = add_row(maker, "frozen", "");
    const size_t slash = wo_view_find_last(frozen->name, WO_VIEW("/"), frozen->name.len);
    const struct wo_view name = slash == WO_NOT_FOUND ? frozen->name : wo_view_skip(frozen->name, slash + 1);
    row->label = wo_arena_format(maker->arena, "frozen %.*s", WO_SHOWN(name));
    set_state(maker, row, wo_interval_exact(frozen->parameters), wo_interval_exact(frozen->bytes_per_parameter), 1, false);
  }
}

/* ---- Buffers ---- */

/* Parameters that are gathered at once: as stated, else an average layer, or the embedding if it is larger. */
static double unit_of(const struct maker *maker, bool *ret_is_assumed) {
  const double stated = value(maker, WO_BUDGET_UNIT);
  const double layers = value(maker, WO_BUDGET_LAYERS);
  const double embedding = value(maker, WO_BUDGET_VOCAB) * value(maker, WO_BUDGET_HIDDEN);
  *ret_is_assumed = stated == 0;
  if (stated > 0) return stated;
  return layers > 0 ? fmax(value(maker, WO_BUDGET_PARAMS) / layers, embedding) : 0;
}

/* Full sharding: the unit in use is whole, with its gradient; prefetching gathers up to two more. */
static void add_gathered(struct maker *maker) {
  struct wo_budget_row *const row = add_row(maker, "buffers", "gathered layer");
  bool is_assumed = false;
  const double unit = unit_of(maker, &is_assumed);
  if (unit == 0) {
    row->formula = WO_VIEW("needs --largest-layer or --layers");
    return;
  }
  const double bytes = is_16bit(value(maker, WO_BUDGET_DTYPE)) ? 2 : maker->weight.mid;
  const double count = maker->is_training ? 2 : 1;
  row->is_known = true;
  row->bytes = (struct wo_interval){count * unit * bytes, count * unit * bytes, (count + 2) * unit * bytes};
  row->formula = wo_arena_format(maker->arena, "%.0f x %.0f x %.0f B", count, unit, bytes);
  row->assumption =
      is_assumed ? WO_VIEW("weights and gradient of an average layer or the embedding; two more prefetched at the high end")
                 : WO_VIEW("weights and gradient of one unit; two more prefetched at the high end");
}

/* Stages 1 and 2 reduce and gather through buckets of a fixed number of elements, which need not be allocated whole. */
static void add_zero_buckets(struct maker *maker) {
  struct wo_budget_row *const row = add_row(maker, "buffers", "ZeRO buckets");
  const double elements = fmin(ZERO_BUCKET, maker->trained_p.hi);
  row->is_known = true;
  row->bytes = (struct wo_interval){0, 2 * elements * 2, 2 * elements * 4};
  row->formula = wo_arena_format(maker->arena, "2 x %.0f x 2 B", elements);
  row->assumption = WO_VIEW("buckets of 5e8 elements by default, doubled when communication overlaps");
}

/* DistributedDataParallel copies gradients into buckets of the same size in all, unless gradients are views of them. */
static void add_ddp_buckets(struct maker *maker) {
  struct wo_budget_row *const row = add_row(maker, "buffers", "DDP buckets");
  const struct wo_interval bytes = product(maker->trained_p, maker->gradient);
  row->is_known = true;
  row->bytes = (struct wo_interval){0, bytes.mid, bytes.hi};
  row->formula = state_formula(maker, maker->trained_p.mid, maker->gradient, 1);
  row->assumption = WO_VIEW("plain DDP, which copies the gradients; none with gradient_as_bucket_view=True");
}

/* A quantised layer is made 16-bit for each product, forward and backward; the last one can still be there when the next is made.
 */
static void add_dequantised(struct maker *maker) {
  const double hidden = value(maker, WO_BUDGET_HIDDEN), inner = value(maker, WO_BUDGET_FFN);
  if (value(maker, WO_BUDGET_QUANTIZE) == 0 || !maker->is_training || hidden == 0) return;
  const double widest = fmax(inner, hidden) / one_or(value(maker, WO_BUDGET_TENSOR));
  struct wo_budget_row *const row = add_row(maker, "buffers", "dequantised layer");
  row->is_known = true;
  row->bytes = (struct wo_interval){2 * hidden * widest, 2 * hidden * widest, 4 * hidden * widest};
  row->formula = wo_arena_format(maker->arena, "%.0f x %.0f x 2 B", hidden, widest);
  row->assumption = WO_VIEW("one 16-bit copy of the widest layer, two at the high end");
}

static void add_buffers(struct maker *maker) {
  const bool is_fsdp_off = value(maker, WO_BUDGET_FSDP) > 0;
  const bool has_params = value(maker, WO_BUDGET_PARAMS) > 0;
  if (maker->stage >= 3 && (maker->data_parallel > 1 || value(maker, WO_BUDGET_OFFLOAD_PARAMS) > 0)) {
    add_gathered(maker);
  } else if (maker->data_parallel > 1 && maker->is_training && has_params) {
    if (value(maker, WO_BUDGET_ZERO) > 1) {
      add_zero_buckets(maker);
    } else if (!is_fsdp_off && value(maker, WO_BUDGET_ZERO) == 0) {
      add_ddp_buckets(maker);
    }
  }
  add_dequantised(maker);
}

static void add_context(struct maker *maker) {
  struct wo_budget_row *const row = add_row(maker, "context", "CUDA context");
  row->is_known = true;
  row->bytes = (struct wo_interval){CONTEXT_LOW, (CONTEXT_LOW + CONTEXT_HIGH) / 2, CONTEXT_HIGH};
  row->assumption = WO_VIEW("0.3 to 0.6 GiB on usual cards, outside PyTorch's allocator");
  if (value(maker, WO_BUDGET_GPUS) <= 1) return;
  struct wo_budget_row *const nccl = add_row(maker, "nccl", "NCCL");
  nccl->is_known = true;
  nccl->bytes = (struct wo_interval){NCCL_LOW, 128 * WO_MIB, NCCL_HIGH};
  nccl->assumption = WO_VIEW("tens to hundreds of MiB for each communicator");
}

/* ---- The rest of the rows ---- */

static void add_live(struct maker *maker) {
  if (!maker->is_training) {
    wo__budget_cache(maker->input, maker->arena, add_row(maker, "kv_cache", "KV cache"));
    add_row(maker, "activations", "activations")->formula = WO_VIEW("not worked out for inference: they depend on the engine");
    return;
  }
  wo__budget_activations(maker->input, maker->arena, add_row(maker, "activations", "activations"));
  if (maker->input->has_activations) return;
  wo__budget_logits(maker->input, maker->arena, add_row(maker, "logits", "logits and loss"));
}

static void add_extras(struct maker *maker) {
  for (size_t i = 0; i < maker->input->extra_count; i++) {
    const struct wo_budget_extra *const extra = &maker->input->extras[i];
    struct wo_budget_row *const row = add_row(maker, "extra", "");
    row->label = wo_arena_format(maker->arena, "extra on rank %u", extra->rank);
    row->rank = (int32_t)extra->rank;
    row->is_known = true;
    row->bytes = wo__budget_scaled(maker->input, &extra->measured, maker->arena, &row->formula);
    row->assumption = WO_VIEW("as stated, in proportion to the batch");
  }
}

/* ---- Stated figures ---- */

/* Whether a stated figure is compared with a row. "weights", "optimizer", "activations" and "context" include a second row each.
 */
static bool is_meant(struct wo_view stated, struct wo_view id) {
  if (wo_view_equal(stated, id)) return true;
  if (wo_view_is(stated, "weights")) return wo_view_is(id, "embeddings");
  if (wo_view_is(stated, "optimizer")) return wo_view_is(id, "master");
  if (wo_view_is(stated, "activations")) return wo_view_is(id, "logits");
  return wo_view_is(stated, "context") && wo_view_is(id, "nccl");
}

/* "2.50 GiB is stated: 2.05 GiB more, and 11.2 B for each of 239075328 parameters". */
static void compare_stated(const struct maker *maker, struct wo_budget_row *row, struct wo_interval computed) {
  const bool is_inside = row->stated.hi >= computed.lo && row->stated.lo <= computed.hi;
  const bool is_more = row->stated.lo > computed.hi;
  const char *const stated = WO_BYTES_TEXT(row->stated.mid);
  const char *const gap = WO_BYTES_TEXT(is_more ? row->stated.lo - computed.hi : computed.lo - row->stated.hi);
  const double count =
      wo_view_is(row->id, "weights") ? (maker->is_partial ? maker->weights_p : maker->trained_p.mid) : maker->trained_p.mid;
  const bool is_near = fabs(row->stated.mid - computed.mid) <= ROUNDED * computed.mid;
  if (is_inside || is_near) {
    row->stated_note = wo_arena_format(maker->arena, "%s is stated: %s", stated, is_inside ? "agrees" : "near enough");
  } else if (row->is_state && count > 0) {
    row->stated_note = wo_arena_format(maker->arena, "%s is stated: %s %s, and %.3g B for each of %.0f parameters", stated, gap,
                                       is_more ? "more" : "less", row->stated.mid / count, count);
  } else {
    row->stated_note = wo_arena_format(maker->arena, "%s is stated: %s %s", stated, gap, is_more ? "more" : "less");
  }
}

static void add_stated(struct maker *maker) {
  for (size_t i = 0; i < maker->input->stated_count; i++) {
    const struct wo_budget_stated *const stated = &maker->input->stated[i];
    struct wo_budget_row *first = NULL;
    struct wo_interval computed = {0, 0, 0};
    for (size_t k = 0; k < maker->budget->row_count; k++) {
      struct wo_budget_row *const row = &maker->budget->rows[k];
      if (!row->is_known || !is_meant(stated->row, row->id)) continue;
      if (!first) first = row;
      computed = wo_interval_plus(computed, wo_interval_plus(row->bytes, row->host));
    }
    if (!first) continue;
    first->is_stated = true;
    first->stated = stated->bytes;
    compare_stated(maker, first, computed);
  }
}

/* ---- Totals ---- */

/* The sum of the rows that only one rank has. */
static struct wo_interval rank_extra(const struct wo_budget *budget, int32_t rank) {
  struct wo_interval sum = {0, 0, 0};
  for (size_t i = 0; i < budget->row_count; i++) {
    if (budget->rows[i].rank == rank) sum = wo_interval_plus(sum, budget->rows[i].bytes);
  }
  return sum;
}

/* Rows without a rank count on every rank; the largest sum of a rank's own rows is added to the total. */
static void add_up(struct wo_budget *budget) {
  struct wo_interval worst = {0, 0, 0};
  budget->is_complete = true;
  for (size_t i = 0; i < budget->row_count; i++) {
    const struct wo_budget_row *const row = &budget->rows[i];
    if (!row->is_known) budget->is_complete = false;
    if (row->rank >= 0) {
      const struct wo_interval sum = rank_extra(budget, row->rank);
      if (sum.mid > worst.mid) worst = sum;
      continue;
    }
    budget->others = wo_interval_plus(budget->others, row->bytes);
    budget->host = wo_interval_plus(budget->host, row->host);
    if (row->is_state) budget->states = wo_interval_plus(budget->states, row->bytes);
  }
  budget->total = wo_interval_plus(budget->others, worst);
}

static void judge(const struct wo_budget_input *input, struct wo_budget *budget) {
  const double capacity = input->values[WO_BUDGET_CAPACITY];
  budget->verdict = WO_BUDGET_OPEN;
  if (capacity == 0) return;
  budget->margin = capacity - budget->total.mid;
  if (budget->total.mid > capacity) {
    budget->verdict = WO_BUDGET_NOT_FIT;
  } else if (budget->is_complete) {
    budget->verdict = budget->total.hi <= capacity ? WO_BUDGET_FITS : WO_BUDGET_TIGHT;
  }
}

/* ---- All of it ---- */

static void make_once(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget *budget) {
  *budget = (struct wo_budget){.row_count = 0};
  struct maker maker = {.input = input, .arena = arena, .budget = budget};
  set_up(&maker);
  add_weights(&maker);
  if (maker.is_training) {
    add_gradients(&maker);
    add_optimizer(&maker);
  }
  add_frozen(&maker);
  add_live(&maker);
  add_buffers(&maker);
  add_context(&maker);
  add_extras(&maker);
  add_stated(&maker);
  add_up(budget);
  judge(input, budget);
}

/* A budget and its texts. */
enum { TRIAL_BYTES = 96 * 1024 };

/* The figures of a trial that are compared. */
struct trial {
  struct wo_interval total, states;
};

/* Totals at another value of one key; in a scratch arena, since nobody reads the texts of a trial. False when memory is out, and
 * `arena` says so. */
static bool try_value(const struct wo_budget_input *input, struct wo_arena *arena, enum wo_budget_key key, double number,
                      struct trial *ret_trial) {
  struct wo_arena scratch;
  wo_arena_init(&scratch, TRIAL_BYTES);
  struct wo_budget_input *const changed = wo_arena_alloc(&scratch, sizeof *changed);
  struct wo_budget *const budget = wo_arena_alloc(&scratch, sizeof *budget);
  const bool is_made = changed != NULL && budget != NULL;
  if (is_made) {
    *changed = *input;
    changed->values[key] = number;
    changed->stated_count = 0;
    make_once(changed, &scratch, budget);
    *ret_trial = (struct trial){budget->total, budget->states};
  }
  if (!is_made) arena->is_exhausted = true;
  wo_arena_done(&scratch);
  return is_made;
}

/* Everything that grows with the micro-batch grows in proportion to it, so two points are enough. */
static void find_batches(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget *budget) {
  const double capacity = input->values[WO_BUDGET_CAPACITY];
  if (capacity == 0 || !budget->is_complete || input->values[WO_BUDGET_INFERENCE] > 0) return;
  if (input->values[WO_BUDGET_MICRO_BATCH] == 0) return;
  struct trial one, two;
  if (!try_value(input, arena, WO_BUDGET_MICRO_BATCH, 1, &one)) return;
  if (!try_value(input, arena, WO_BUDGET_MICRO_BATCH, 2, &two)) return;
  const double step_hi = two.total.hi - one.total.hi;
  const double step_mid = two.total.mid - one.total.mid;
  if (step_hi <= 0 || step_mid <= 0) return;
  budget->has_batches = true;
  budget->batch_sure = fmax(0, floor((capacity - one.total.hi) / step_hi + 1 + 1e-9));
  budget->batch_likely = fmax(0, floor((capacity - one.total.mid) / step_mid + 1 + 1e-9));
}

/* The model states on a card at each stage, for jobs that replicate them: the stage is the first thing to change there. */
static void find_stages(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget *budget) {
  if (input->values[WO_BUDGET_GPUS] <= 1 || input->values[WO_BUDGET_PARAMS] == 0 || input->values[WO_BUDGET_INFERENCE] > 0)
    return;
  if (input->values[WO_BUDGET_ZERO] > 1 || input->values[WO_BUDGET_FSDP] == 1 || input->values[WO_BUDGET_FSDP] == 2) return;
  struct wo_budget_input fixed = *input;
  const bool is_small = is_16bit(input->values[WO_BUDGET_DTYPE]);
  if (is_small && input->values[WO_BUDGET_OPTIMIZER_DTYPE] == 0 && input->values[WO_BUDGET_MASTER] == 0) return;
  if (input->values[WO_BUDGET_MASTER] == 0 && input->values[WO_BUDGET_OPTIMIZER_DTYPE] == 0) {
    fixed.values[WO_BUDGET_OPTIMIZER_DTYPE] = WO_BUDGET_FP32;
  }
  budget->has_stages = true;
  for (int stage = 0; stage < 4; stage++) {
    struct trial trial;
    if (!try_value(&fixed, arena, WO_BUDGET_ZERO, stage + 1, &trial)) return;
    budget->stages[stage] = trial.states;
  }
}

enum wo_status wo_budget_make(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget *ret_budget) {
  assert(input != NULL && arena != NULL && ret_budget != NULL);
  make_once(input, arena, ret_budget);
  find_batches(input, arena, ret_budget);
  find_stages(input, arena, ret_budget);
  return wo_arena_is_exhausted(arena) ? WO_E_NOMEM : WO_OK;
}
