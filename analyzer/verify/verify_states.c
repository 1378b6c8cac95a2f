/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a model. See verify_states.h. The only guess: training keeps two numbers of four bytes for each trained weight
 * (Adam) if nothing else is known. */
#include "analyzer/verify/verify_states.h"

#include <assert.h>

#include "analyzer/budget/budget_report.h"

#define ADAM_BYTES 8.0

double wo_verify_number(const struct wo_report *report, const char *fact) {
  const struct wo_value value = wo_facts_get(&report->facts, wo_view_of(fact));
  return value.is_known ? value.number.mid : -1;
}

/* ---- On every card ---- */

/* If the number format is not known, the states have at least the size of 16-bit weights; this is an answer only if it is too
 * much for the card. */
static bool read_least(const struct wo_report *report, double trained, struct wo_job_sizes *sizes) {
  const struct wo_value states = wo_facts_get(&report->facts, WO_VIEW("model.states"));
  if (!states.is_known || !(states.number.lo > sizes->capacity_bytes) || sizes->capacity_bytes <= 0) return false;
  sizes->weights_bytes = sizes->parameters * 2;
  sizes->gradients_bytes = trained * 2;
  sizes->optimizer_bytes = states.number.lo - sizes->weights_bytes - sizes->gradients_bytes;
  if (sizes->optimizer_bytes < 0) sizes->optimizer_bytes = 0;
  return true;
}

static void read_whole(const struct wo_report *report, struct wo_job_sizes *sizes) {
  const double format = wo_verify_number(report, "model.bytes_per_parameter");
  const double all = wo_verify_number(report, "model.states"), stated = wo_verify_number(report, "model.weights");
  const double frozen = wo_verify_number(report, "model.frozen_weights");
  const double trained = sizes->trainable >= 0 ? sizes->trainable : sizes->parameters;
  if (stated > 0) sizes->weights_bytes = stated;
  if (sizes->parameters > 0 && format > 0) sizes->weights_bytes = sizes->parameters * format;
  if (sizes->weights_bytes < 0 && sizes->parameters > 0 && read_least(report, trained, sizes)) return;
  if (sizes->weights_bytes < 0 && sizes->parameters > 0)
    sizes->states = WO_VIEW("the log does not show the number format of the weights");
  if (sizes->weights_bytes < 0 || trained < 0) return;
  if (frozen > 0) sizes->weights_bytes += frozen;
  sizes->gradients_bytes = trained * (format > 0 ? format : 2);
  sizes->optimizer_bytes = trained * ADAM_BYTES;
  const double left = all - sizes->weights_bytes - sizes->gradients_bytes;
  if (left > 0 && left < trained * 4 * ADAM_BYTES) sizes->optimizer_bytes = left;
}

/* ---- Divided over the cards ---- */

/* Bytes on the card of all rows of these ids; -1 when one of them is not known. */
static double sum_rows(const struct wo_budget *budget, const char *const *ids) {
  double sum = 0;
  for (size_t i = 0; i < budget->row_count; i++) {
    for (size_t k = 0; ids[k]; k++) {
      if (!wo_view_is(budget->rows[i].id, ids[k])) continue;
      if (!budget->rows[i].is_known) return -1;
      sum += budget->rows[i].bytes.mid;
    }
  }
  return sum;
}

/* The fact that is missing to compute a share, or NULL. */
static const char *find_gap(const struct wo_budget_report *budget) {
  const double *const values = budget->input.values;
  if (budget->is_sharding_assumed || (values[WO_BUDGET_ZERO] == 0 && values[WO_BUDGET_FSDP] == 0))
    return "the model's states are divided over the cards, and the log does not show which states (stage of ZeRO, sharding of "
           "FSDP)";
  if (values[WO_BUDGET_GPUS] < 1 || budget->are_cards_ranks_seen)
    return "the model's states are divided over the cards, and the log does not show over how many";
  if (values[WO_BUDGET_PARAMS] < 1) return "the log does not show how large the model is";
  if (values[WO_BUDGET_DTYPE] == 0)
    return "the log does not show the number format of the weights, of which each card holds a part";
  return NULL;
}

/* "ZeRO stage 3 over 8 cards". */
static struct wo_view describe(const struct wo_budget_report *budget, struct wo_arena *arena) {
  static const char *const fsdp[] = {"", "FSDP full_shard", "FSDP shard_grad_op", "FSDP no_shard"};
  const double *const values = budget->input.values;
  if (values[WO_BUDGET_ZERO] > 0)
    return wo_arena_format(arena, "ZeRO stage %.0f over %.0f cards", values[WO_BUDGET_ZERO] - 1, values[WO_BUDGET_GPUS]);
  return wo_arena_format(arena, "%s over %.0f cards", fsdp[(size_t)values[WO_BUDGET_FSDP]], values[WO_BUDGET_GPUS]);
}

static void take_share(const struct wo_budget_report *report, struct wo_arena *arena, struct wo_job_sizes *sizes) {
  static const char *const weights[] = {"weights", "embeddings", "adapters", "frozen", NULL},
                           *const gradients[] = {"gradients", NULL}, *const states[] = {"optimizer", "master", NULL},
                           *const buffers[] = {"buffers", NULL};
  const char *const gap = find_gap(report);
  if (gap) {
    sizes->states = wo_view_of(gap);
    return;
  }
  sizes->weights_bytes = sum_rows(&report->budget, weights);
  sizes->gradients_bytes = sum_rows(&report->budget, gradients);
  sizes->optimizer_bytes = sum_rows(&report->budget, states);
  sizes->fixed_bytes = sum_rows(&report->budget, buffers);
  sizes->states = describe(report, arena);
}

/* A card's share, by the budget's own arithmetic. */
static enum wo_status read_share(const struct wo_report *report, struct wo_arena *arena, struct wo_job_sizes *sizes) {
  struct wo_budget_report *const budget = wo_arena_array(arena, 1, sizeof *budget);
  if (!budget) return WO_E_NOMEM;
  wo_budget_from_facts(&report->facts, arena, budget);
  if (wo_budget_make(&budget->input, arena, &budget->budget) != WO_OK) return WO_E_NOMEM;
  take_share(budget, arena, sizes);
  return WO_OK;
}

/* A fact shows whether the states are divided; if it is unknown, a file of DeepSpeed's that was not given decides it. */
enum wo_status wo_verify_states_read(const struct wo_report *report, struct wo_arena *arena, struct wo_job_sizes *sizes) {
  const enum wo_truth is_sharded = wo_facts_get(&report->facts, WO_VIEW("model.is_sharded")).truth;
  assert(report && arena && sizes);
  sizes->parameters = wo_verify_number(report, "model.parameters");
  if (sizes->parameters < 0) sizes->parameters = wo_verify_number(report, "model.table_parameters");
  sizes->trainable = wo_verify_number(report, "model.trainable_parameters");
  sizes->weights_bytes = sizes->gradients_bytes = sizes->optimizer_bytes = sizes->fixed_bytes = -1;
  if (is_sharded == WO_TRUE) return read_share(report, arena, sizes);
  if (is_sharded == WO_FALSE) {
    read_whole(report, sizes);
  } else {
    sizes->states = WO_VIEW("the model's states may be divided over the cards: the file of DeepSpeed's settings decides, and it "
                            "was not given");
  }
  return WO_OK;
}
