/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and number formats. See budget_maker.h. */
#include <math.h>

#include "analyzer/budget/budget_layer.h"
#include "analyzer/budget/budget_maker.h"
#include "parsers/base/units.h"
#include "parsers/base/view.h"

/* Bytes of a frozen weight: 8-bit; NF4, from constants that are quantised too to fp32 constants for each 64 weights. Where it is
 * not known how many weights stay in 16 bits, these are in the high end. */
static const struct wo_interval quantised_all[] = {[WO_BUDGET_8BIT] = {1, 1, 1.1}, [WO_BUDGET_4BIT] = {0.516, 0.55, 0.75}};

static double value(const struct wo_budget_maker *maker, enum wo_budget_key key) {
  return maker->input->values[key];
}

double wo__budget_one_or(double number) {
  return number >= 1 ? number : 1;
}

double wo_budget_dtype_bytes(double choice) {
  static const double bytes[] = {0, 4, 2, 2, 4, 1};
  const size_t at = choice > 0 ? (size_t)choice : 0;
  return at < sizeof bytes / sizeof bytes[0] ? bytes[at] : 0;
}

struct wo_interval wo__budget_product(struct wo_interval a, struct wo_interval b) {
  return (struct wo_interval){a.lo * b.lo, a.mid * b.mid, a.hi * b.hi};
}

struct wo_interval wo__budget_over(struct wo_interval a, double divisor) {
  return (struct wo_interval){a.lo / divisor, a.mid / divisor, a.hi / divisor};
}

/* ---- Rows ---- */

/* A new row at the end, unknown as yet. The last one is reused if there is no room; the caps of the inputs exclude that. */
struct wo_budget_row *wo__budget_add_row(struct wo_budget_maker *maker, const char *id, const char *label) {
  struct wo_budget *const budget = maker->budget;
  if (budget->row_count < WO_LIMIT_BUDGET_ROWS) budget->row_count++;
  struct wo_budget_row *const row = &budget->rows[budget->row_count - 1];
  *row = (struct wo_budget_row){.id = wo_view_of(id), .label = wo_view_of(label), .rank = -1};
  for (int moment = 0; moment < WO_BUDGET_MOMENT_COUNT_; moment++) row->share[moment] = wo_interval_exact(1);
  return row;
}

/* The share of a row's bytes that is there at each moment of a step. */
void wo__budget_set_shares(struct wo_budget_row *row, double forward, double loss, double layer, double first, double gradients,
                           double step) {
  const double shares[WO_BUDGET_MOMENT_COUNT_] = {forward, loss, layer, first, gradients, step, 0};
  for (int moment = 0; moment < WO_BUDGET_MOMENT_COUNT_; moment++) row->share[moment] = wo_interval_exact(shares[moment]);
}

/* What only the step has. */
void wo__budget_set_only(struct wo_budget_row *row, enum wo_budget_moment moment) {
  wo__budget_set_shares(row, 0, 0, 0, 0, 0, 0);
  row->share[moment] = wo_interval_exact(1);
}

/* "2 B", or "4 B (2 to 4)" if the number format is not known. */
static struct wo_view per_text(const struct wo_budget_maker *maker, struct wo_interval per) {
  return per.lo == per.hi ? wo_arena_format(maker->arena, "%g B", per.mid)
                          : wo_arena_format(maker->arena, "%g B (%.4g to %.4g)", per.mid, per.lo, per.hi);
}

/* "8499653234 x 4 B / 8". */
struct wo_view wo__budget_state_formula(const struct wo_budget_maker *maker, double parameters, struct wo_interval per,
                                        double divisor) {
  const struct wo_view text = per_text(maker, per);
  return divisor > 1 ? wo_arena_format(maker->arena, "%.0f x %.*s / %.4g", parameters, WO_SHOWN(text), divisor)
                     : wo_arena_format(maker->arena, "%.0f x %.*s", parameters, WO_SHOWN(text));
}

/* Fills a row of the model states; offloaded bytes go to the host's column. */
void wo__budget_set_state(const struct wo_budget_maker *maker, struct wo_budget_row *row, struct wo_interval parameters,
                          struct wo_interval per, double divisor, bool is_host) {
  const struct wo_interval bytes = wo__budget_over(wo__budget_product(parameters, per), divisor);
  row->is_known = true;
  row->is_state = true;
  row->formula = wo__budget_state_formula(maker, parameters.mid, per, divisor);
  if (is_host) {
    row->host = bytes;
    row->assumption = WO_VIEW("on the host");
  } else {
    row->bytes = bytes;
  }
}

/* ---- Number formats ---- */

bool wo__budget_is_16bit(double dtype) {
  return dtype == (double)WO_BUDGET_BF16 || dtype == (double)WO_BUDGET_FP16;
}

/* Bytes of a trained weight beside frozen 16-bit ones: PEFT's adapters are fp32 by default; a part of the model is as the rest.
 */
struct wo_interval wo__budget_trained_bytes(const struct wo_budget_maker *maker) {
  return value(maker, WO_BUDGET_TRAINABLE) > 0 ? (struct wo_interval){2, 2, 4} : (struct wo_interval){2, 4, 4};
}

/* Without a stated format: PyTorch makes fp32 weights, and loaders of published models make 16-bit ones. */
void wo__budget_read_formats(struct wo_budget_maker *maker) {
  const double dtype = value(maker, WO_BUDGET_DTYPE);
  const double gradient = wo_budget_dtype_bytes(value(maker, WO_BUDGET_GRAD_DTYPE));
  maker->weight = dtype > 0            ? wo_interval_exact(wo_budget_dtype_bytes(dtype))
                  : maker->is_training ? (struct wo_interval){2, 4, 4}
                                       : (struct wo_interval){2, 2, 4};
  maker->gradient = maker->weight;
  if (dtype == (double)WO_BUDGET_FP8) maker->gradient = wo_interval_exact(2);
  if (maker->is_partial && wo__budget_is_16bit(dtype)) maker->gradient = wo__budget_trained_bytes(maker);
  if (value(maker, WO_BUDGET_MEGATRON) > 0) maker->gradient = wo_interval_exact(4);
  if (gradient > 0) maker->gradient = wo_interval_exact(gradient);
}

/* Bytes of one frozen weight. */
struct wo_interval wo__budget_frozen_weight(const struct wo_budget_maker *maker) {
  const double format = value(maker, WO_BUDGET_QUANTIZE);
  return format > 0 ? quantised_all[(size_t)format] : maker->weight;
}

/* Of so many parameters, those of the embeddings and the output projection, which quantisers leave as they are; {0} where they
 * are not known. */
struct wo_interval wo__budget_unquantised(const struct wo_budget_maker *maker, double count) {
  const double tables = maker->input->embedding_tables;
  const double one = value(maker, WO_BUDGET_VOCAB) * value(maker, WO_BUDGET_HIDDEN);
  const double parts = wo__budget_one_or(value(maker, WO_BUDGET_TENSOR)) * wo__budget_one_or(value(maker, WO_BUDGET_PIPELINE));
  const struct wo_interval all = tables > 0 ? wo_interval_exact(tables * one) : (struct wo_interval){one, 2 * one, 2 * one};
  return value(maker, WO_BUDGET_QUANTIZE) > 0 && all.hi < count * parts ? wo__budget_over(all, parts)
                                                                        : (struct wo_interval){0, 0, 0};
}

/* Moments in the stated format; else as the optimizer makes them: ZeRO and Megatron in fp32, PyTorch like the weights. */
struct wo_interval wo__budget_moment_bytes(const struct wo_budget_maker *maker) {
  const double stated = wo_budget_dtype_bytes(value(maker, WO_BUDGET_OPTIMIZER_DTYPE));
  const double dtype = value(maker, WO_BUDGET_DTYPE);
  if (stated > 0) return wo_interval_exact(stated);
  const bool is_mixed = value(maker, WO_BUDGET_ZERO) > 1 || value(maker, WO_BUDGET_MEGATRON) > 0;
  if (value(maker, WO_BUDGET_MASTER) > 0 || (is_mixed && dtype != 0)) return wo_interval_exact(4);
  if (dtype == (double)WO_BUDGET_FP32 || dtype == (double)WO_BUDGET_AMP) return wo_interval_exact(4);
  if (dtype == 0 || maker->is_partial) return (struct wo_interval){2, 4, 4};
  return wo__budget_has_layer(maker->input) ? wo_interval_exact(2) : (struct wo_interval){2, 2, 4};
}

/* Bytes of the fp32 copy of 16-bit weights. */
struct wo_interval wo__budget_master_bytes(const struct wo_budget_maker *maker) {
  const double dtype = value(maker, WO_BUDGET_DTYPE);
  const bool is_small = wo__budget_is_16bit(dtype) || dtype == (double)WO_BUDGET_FP8;
  if (value(maker, WO_BUDGET_MASTER) > 0) return wo_interval_exact(4);
  if (!is_small || value(maker, WO_BUDGET_OPTIMIZER_DTYPE) > 0) return wo_interval_exact(0);
  if (value(maker, WO_BUDGET_ZERO) > 1 || value(maker, WO_BUDGET_MEGATRON) > 0) return wo_interval_exact(4);
  return wo__budget_has_layer(maker->input) ? wo_interval_exact(0) : (struct wo_interval){0, 0, 4};
}

bool wo__budget_is_deepspeed(const struct wo_budget_maker *maker) {
  return value(maker, WO_BUDGET_ZERO) > 1 && value(maker, WO_BUDGET_MEGATRON) == 0;
}

/* Parameters of one embedding table on this rank. */
double wo__budget_table(const struct wo_budget_maker *maker) {
  return value(maker, WO_BUDGET_VOCAB) * value(maker, WO_BUDGET_HIDDEN) / wo__budget_one_or(value(maker, WO_BUDGET_TENSOR));
}

double wo__budget_tables(const struct wo_budget_maker *maker) {
  return wo__budget_table(maker) * (maker->input->embedding_tables == 1 ? 1 : 2);
}

/* What is divided over all ranks; experts that only some of them have over these. */
static double over_ranks(const struct wo_budget_maker *maker) {
  const double all = maker->weights_p + maker->trained_p.mid, ranks = maker->data_parallel;
  const double same = fmax(1, floor(ranks / wo__budget_one_or(value(maker, WO_BUDGET_EXPERT))));
  if (maker->expert_p == 0 || all <= maker->expert_p) return ranks;
  return all / ((all - maker->expert_p) / ranks + maker->expert_p / same);
}

double wo__budget_divided(const struct wo_budget_maker *maker, double stage) {
  return maker->stage >= stage ? over_ranks(maker) : 1;
}

/* FSDP keeps shards of the weights between steps at its stage 2 as well. */
double wo__budget_weights_divisor(const struct wo_budget_maker *maker) {
  return value(maker, WO_BUDGET_FSDP) == 2 ? over_ranks(maker) : wo__budget_divided(maker, 3);
}
