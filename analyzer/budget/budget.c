/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up, stated figures, totals, trials. See budget.h; sources in docs/budget.md. */
#include "analyzer/budget/budget.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "analyzer/budget/budget_layer.h"
#include "analyzer/budget/budget_maker.h"
#include "parsers/base/units.h"
#include "parsers/base/view.h"

/* Stated figures are rounded, and some are in powers of 1000: a difference of up to this share is no contradiction. */
#define ROUNDED 0.08

/* How far a peak that was measured at one size may be off at another. */
#define MEASURED_LOW 0.95
#define MEASURED_HIGH 1.08

static double value(const struct wo_budget_maker *maker, enum wo_budget_key key) {
  return maker->input->values[key];
}

const char *wo_budget_verdict_name(enum wo_budget_verdict verdict) {
  static const char *const names[] = {"open", "fits", "tight", "does_not_fit"};
  return names[verdict];
}
/* ---- Set-up ---- */

/* The ZeRO stage, also for FSDP's names. */
static double stage_of(const struct wo_budget_maker *maker) {
  static const double fsdp[] = {0, 3, 2, 0};
  const double zero = value(maker, WO_BUDGET_ZERO);
  return zero > 0 ? zero - 1 : fsdp[(size_t)value(maker, WO_BUDGET_FSDP)];
}

/* Of so many parameters, those of one rank. Both ends of a pipeline have a table of the vocabulary beside their layers; experts
 * are divided once more. */
static double own_part(struct wo_budget_maker *maker, double count) {
  const double tensor = wo__budget_one_or(value(maker, WO_BUDGET_TENSOR)),
               stages = wo__budget_one_or(value(maker, WO_BUDGET_PIPELINE));
  const double ranks = wo__budget_one_or(value(maker, WO_BUDGET_EXPERT));
  const double table = stages > 1 ? value(maker, WO_BUDGET_VOCAB) * value(maker, WO_BUDGET_HIDDEN) : 0;
  const double tables = (maker->input->embedding_tables == 1 ? 1 : 2) * table;
  const double experts = ranks > 1 ? wo__budget_expert_numbers(maker->input) : 0;
  const bool is_plain = tables + experts >= count;
  if (is_plain) return count / (tensor * stages);
  /* Megatron divides each expert by tensor parallelism as well; engines give the same ranks whole experts. */
  const double holders = maker->is_training ? tensor * ranks : fmax(tensor, ranks);
  maker->expert_p = experts / (stages * holders);
  return ((count - tables - experts) / stages + table) / tensor + maker->expert_p;
}

static void set_up(struct wo_budget_maker *maker) {
  const double parts = wo__budget_one_or(value(maker, WO_BUDGET_TENSOR)) * wo__budget_one_or(value(maker, WO_BUDGET_PIPELINE));
  const double params = value(maker, WO_BUDGET_PARAMS);
  const double trainable = value(maker, WO_BUDGET_TRAINABLE);
  const struct wo_interval adapters = wo__budget_adapters(maker->input);
  maker->is_training = value(maker, WO_BUDGET_INFERENCE) == 0 && !wo__budget_has_pipeline(maker->input);
  maker->is_partial = adapters.hi > 0 || (trainable > 0 && trainable < params);
  const double whole = trainable > 0 ? trainable : params;
  const bool is_whole = adapters.hi == 0 && whole == params;
  maker->trained_p = is_whole          ? wo_interval_exact(own_part(maker, whole))
                     : adapters.hi > 0 ? wo__budget_over(adapters, parts)
                                       : wo_interval_exact(whole / parts);
  maker->weights_p = adapters.hi > 0 ? own_part(maker, params) : fmax(params - whole, 0) / parts;
  maker->stage = stage_of(maker);
  maker->data_parallel = fmax(1, floor(wo__budget_one_or(value(maker, WO_BUDGET_GPUS)) / parts));
  wo__budget_read_formats(maker);
}

/* ---- The rest of the rows ---- */

/* Bytes that a measured peak has corrected: no longer an assumption, but how they scale is one. */
static void scale_live(struct wo_budget_maker *maker, struct wo_budget_row *row) {
  const double factor = maker->input->live_factor;
  if (factor == 0 || !row->is_known) return;
  const double bytes = row->bytes.mid * factor;
  row->bytes = (struct wo_interval){bytes * MEASURED_LOW, bytes, bytes * MEASURED_HIGH};
  row->assumption = wo_arena_format(maker->arena, "scaled by %.2f, so that the measured peak is met", factor);
}

static void add_live(struct wo_budget_maker *maker) {
  if (!maker->is_training && maker->input->image.bytes > 0) {
    wo__budget_add_row(maker, "activations", "activations")->formula =
        WO_VIEW("not worked out for networks of images that serve");
    return;
  }
  if (!maker->is_training) {
    wo__budget_cache(maker->input, maker->arena, wo__budget_add_row(maker, "kv_cache", "KV cache"));
    wo__budget_pass(maker->input, maker->arena, wo__budget_add_row(maker, "activations", "forward pass and sampling"));
    if (wo__budget_is_engine(maker->input)) wo__budget_graphs(maker->input, wo__budget_add_row(maker, "graphs", "CUDA graphs"));
    return;
  }
  struct wo_budget_row *const activations = wo__budget_add_row(maker, "activations", "activations");
  wo__budget_activations(maker->input, maker->arena, activations);
  const double layers = value(maker, WO_BUDGET_LAYERS);
  wo__budget_set_shares(activations, 1, 1, 1, layers > 0 && !maker->input->has_activations ? 1 / layers : 0, 0, 0);
  scale_live(maker, activations);
  if (maker->input->has_activations) return;
  struct wo_budget_row *const logits = wo__budget_add_row(maker, "logits", "logits and loss");
  wo__budget_logits(maker->input, maker->arena, logits);
  scale_live(maker, logits);
  if (!wo__budget_has_layer(maker->input)) {
    wo__budget_set_shares(logits, 1, 1, 0, 0, 0, 0);
    return;
  }
  const double number = wo__budget_layer_number(maker->input);
  wo__budget_set_shares(logits, (number == 4 ? 8 : 10) / 12.0, 1, 0, 0, 0, 0);
  if (!activations->is_known) return;
  struct wo_budget_row *const again = wo__budget_add_row(maker, "again", "backward pass of a layer");
  wo__budget_again(maker->input, maker->arena, again);
  wo__budget_set_shares(again, 0, 0, 1, 1, 0, 0);
  scale_live(maker, again);
}

/* A value model beside the policy: in the same formats, divided as the policy is. Each has its own backward pass. */
static void add_critic(struct wo_budget_maker *maker) {
  const double parts = wo__budget_one_or(value(maker, WO_BUDGET_TENSOR)) * wo__budget_one_or(value(maker, WO_BUDGET_PIPELINE));
  const double count = value(maker, WO_BUDGET_CRITIC) / parts;
  if (count == 0 || !maker->is_training) return;
  const double share = maker->trained_p.mid > 0 ? count / maker->trained_p.mid : 0;
  const bool is_host = value(maker, WO_BUDGET_OFFLOAD_PARAMS) > 0;
  const struct wo_interval weights =
      wo__budget_over(wo__budget_product(wo_interval_exact(count), maker->weight), wo__budget_weights_divisor(maker));
  struct wo_interval bytes = is_host ? wo_interval_exact(0) : weights, host = is_host ? weights : wo_interval_exact(0);
  for (size_t i = 0; i < maker->budget->row_count; i++) {
    const struct wo_budget_row *const row = &maker->budget->rows[i];
    const bool is_moment = wo_view_is(row->id, "optimizer") || wo_view_is(row->id, "master") || wo_view_is(row->id, "gradients");
    if (!is_moment || !row->is_known) continue;
    bytes = wo_interval_plus(bytes, wo__budget_product(row->bytes, wo_interval_exact(share)));
    host = wo_interval_plus(host, wo__budget_product(row->host, wo_interval_exact(share)));
  }
  struct wo_budget_row *const row = wo__budget_add_row(maker, "critic", "value model");
  row->is_known = row->is_state = true;
  row->bytes = bytes;
  row->host = host;
  row->formula = wo_arena_format(maker->arena, "%.0f parameters", count);
  row->assumption = WO_VIEW("weights, gradients and optimizer states, each parameter as those of the policy");
}

/* An engine that makes samples between the steps; asleep in them, it leaves its context and graphs. */
static void add_rollout(struct wo_budget_maker *maker) {
  const double stated = value(maker, WO_BUDGET_ROLLOUT), capacity = value(maker, WO_BUDGET_CAPACITY);
  if (stated == 0 || !maker->is_training) return;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "rollout", "rollout engine");
  if (stated <= 1 && capacity == 0) {
    row->formula = WO_VIEW("needs --capacity, or a size in place of a part");
    return;
  }
  const double bytes = stated <= 1 ? stated * capacity : stated;
  row->is_known = true;
  row->bytes = wo_interval_exact(bytes);
  if (stated <= 1) row->formula = wo_arena_format(maker->arena, "%.4g x %s", stated, WO_BYTES_TEXT(capacity));
  row->assumption = WO_VIEW("all of it while samples are made");
  if (value(maker, WO_BUDGET_ROLLOUT_STAYS) > 0) return;
  row->assumption = WO_VIEW("while samples are made; 0 to 3 GiB stay when it sleeps (not asleep: --rollout-stays)");
  for (int moment = 0; moment < WO_BUDGET_GENERATE; moment++)
    row->share[moment] = (struct wo_interval){0, fmin(1, WO_GIB / bytes), fmin(1, 3 * WO_GIB / bytes)};
}

static void add_extras(struct wo_budget_maker *maker) {
  for (size_t i = 0; i < maker->input->extra_count; i++) {
    const struct wo_budget_extra *const extra = &maker->input->extras[i];
    struct wo_budget_row *const row = wo__budget_add_row(maker, "extra", "");
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
static void compare_stated(const struct wo_budget_maker *maker, struct wo_budget_row *row, struct wo_interval computed) {
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

static void add_stated(struct wo_budget_maker *maker) {
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

const char *wo_budget_moment_name(enum wo_budget_moment moment) {
  static const char names[][12] = {"forward", "loss",     "layer",  "first_layer", "gradients",
                                   "step",    "generate", "encode", "denoise",     "decode"};
  return names[moment];
}

const char *wo_budget_moment_words(enum wo_budget_moment moment) {
  static const char words[][40] = {"at the end of the forward pass",
                                   "in the backward pass of the loss",
                                   "in the backward pass of the last layer",
                                   "in the backward pass of the first layer",
                                   "at the end of the backward pass",
                                   "in the optimizer's step",
                                   "while samples are made",
                                   "while the text is encoded",
                                   "while noise is taken away",
                                   "while images are decoded"};
  return words[moment];
}

/* The part of a row that is there at a moment. */
static struct wo_interval at_moment(const struct wo_budget_row *row, int moment) {
  return wo__budget_product(row->bytes, row->share[moment]);
}

/* The sum of the rows at a moment that every rank has, or that one rank has besides. */
static struct wo_interval sum_at(const struct wo_budget *budget, int moment, int32_t rank, bool is_outside) {
  struct wo_interval sum = {0, 0, 0};
  for (size_t i = 0; i < budget->row_count; i++) {
    const struct wo_budget_row *const row = &budget->rows[i];
    if (row->rank == rank && row->is_outside == is_outside) sum = wo_interval_plus(sum, at_moment(row, moment));
  }
  return sum;
}

/* The same without a rollout engine, whose memory is its own. */
static struct wo_interval sum_of_trainer(const struct wo_budget *budget, int moment) {
  struct wo_interval sum = {0, 0, 0};
  for (size_t i = 0; i < budget->row_count; i++) {
    const struct wo_budget_row *const row = &budget->rows[i];
    if (row->rank < 0 && !row->is_outside && !wo_view_is(row->id, "rollout")) sum = wo_interval_plus(sum, at_moment(row, moment));
  }
  return sum;
}

static struct wo_interval larger(struct wo_interval a, struct wo_interval b) {
  return (struct wo_interval){fmax(a.lo, b.lo), fmax(a.mid, b.mid), fmax(a.hi, b.hi)};
}

/* What a rank's own rows add, for the rank that has most. */
static struct wo_interval worst_extra(const struct wo_budget *budget) {
  struct wo_interval worst = {0, 0, 0};
  for (size_t i = 0; i < budget->row_count; i++) {
    if (budget->rows[i].rank < 0) continue;
    const struct wo_interval sum = sum_at(budget, WO_BUDGET_FORWARD, budget->rows[i].rank, false);
    if (sum.mid > worst.mid) worst = sum;
  }
  return worst;
}

/* What the allocator needs beside the tensors, so that each request finds its place: measured (tests/accuracy/data/room.json). On
 * a card with room it holds more. A measured point is taken to have it. */
static void add_overhead(struct wo_budget_maker *maker, double in_use) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "allocator", "allocator's overhead");
  row->is_known = row->is_outside = true;
  row->bytes = (struct wo_interval){0.005 * in_use, 0.05 * in_use, 0.25 * in_use};
  row->formula = wo_arena_format(maker->arena, "%s x 0.05", WO_BYTES_TEXT(in_use));
  row->assumption = WO_VIEW("memory in pieces that no request fits in: 0.5 to 25 % of the tensors in 131 of 134 programs");
}

/* The moment at which most is there decides; each end of the interval has its own. */
static void add_up(struct wo_budget_maker *maker) {
  struct wo_budget *const budget = maker->budget;
  budget->is_complete = true;
  struct wo_interval most = {0, 0, 0}, step = {0, 0, 0};
  const bool has_phases = wo__budget_has_pipeline(maker->input);
  const int first = has_phases ? WO_BUDGET_ENCODE : WO_BUDGET_FORWARD, last = has_phases ? WO_BUDGET_DECODE : WO_BUDGET_GENERATE;
  for (int moment = first; moment <= last; moment++) {
    const struct wo_interval sum = sum_at(budget, moment, -1, false);
    if (sum.mid > most.mid) budget->peak = (enum wo_budget_moment)moment;
    most = larger(most, sum);
    if (moment < WO_BUDGET_GENERATE) step = larger(step, sum_of_trainer(budget, moment));
  }
  if (maker->is_training && !maker->input->has_activations && step.mid > 0) add_overhead(maker, step.mid);
  for (size_t i = 0; i < budget->row_count; i++) {
    const struct wo_budget_row *const row = &budget->rows[i];
    if (!row->is_known) budget->is_complete = false;
    if (row->rank >= 0) continue;
    budget->host = wo_interval_plus(budget->host, row->host);
    if (row->is_state) budget->states = wo_interval_plus(budget->states, row->bytes);
  }
  const struct wo_interval outside = sum_at(budget, WO_BUDGET_FORWARD, -1, true);
  budget->in_use = wo_interval_plus(most, worst_extra(budget));
  budget->others = wo_interval_plus(most, outside);
  budget->total = wo_interval_plus(budget->in_use, outside);
}

/* A row that stands beside the part of the card that an engine may use: CUDA graphs and the context. */
static bool is_beside(const struct wo_budget_input *input, const struct wo_budget_row *row) {
  if (!wo__budget_is_engine(input) || input->values[WO_BUDGET_UTILISATION] == 0) return false;
  return wo_view_is(row->id, "graphs") || wo_view_is(row->id, "context");
}

/* What an engine has left for its cache. */
static void find_room(const struct wo_budget_input *input, struct wo_budget *budget) {
  struct wo_interval other = {0, 0, 0};
  if (!wo__budget_is_engine(input) || budget->limit == 0) return;
  for (size_t i = 0; i < budget->row_count; i++) {
    const struct wo_budget_row *const row = &budget->rows[i];
    if (wo_view_is(row->id, "kv_cache") || row->rank >= 0 || is_beside(input, row)) continue;
    if (!row->is_known) return;
    other = wo_interval_plus(other, row->bytes);
  }
  budget->token_bytes = wo__budget_cached_token(input);
  budget->has_room = budget->token_bytes > 0;
  budget->room = (struct wo_interval){fmax(0, budget->limit - other.hi), fmax(0, budget->limit - other.mid),
                                      fmax(0, budget->limit - other.lo)};
}

/* The total against the card; an engine's against the part of it that it may use. */
static void judge(const struct wo_budget_input *input, struct wo_budget *budget) {
  const double share = wo__budget_is_engine(input) ? input->values[WO_BUDGET_UTILISATION] : 0;
  budget->limit = input->values[WO_BUDGET_CAPACITY] * (share > 0 ? share : 1);
  budget->judged = budget->total;
  budget->verdict = WO_BUDGET_OPEN;
  for (size_t i = 0; i < budget->row_count; i++) {
    const struct wo_interval bytes = budget->rows[i].bytes;
    if (!is_beside(input, &budget->rows[i])) continue;
    budget->judged.lo -= bytes.lo, budget->judged.mid -= bytes.mid, budget->judged.hi -= bytes.hi;
  }
  if (budget->limit == 0) return;
  budget->margin = budget->limit - budget->judged.mid;
  if (budget->judged.mid > budget->limit) {
    budget->verdict = WO_BUDGET_NOT_FIT;
  } else if (budget->is_complete) {
    budget->verdict = budget->judged.hi <= budget->limit ? WO_BUDGET_FITS : WO_BUDGET_TIGHT;
  }
}

/* ---- All of it ---- */

static void make_stage(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget *budget) {
  *budget = (struct wo_budget){.is_last_stage = input->is_last_stage};
  struct wo_budget_maker maker = {.input = input, .arena = arena, .budget = budget};
  set_up(&maker);
  if (wo__budget_has_pipeline(input)) {
    wo__budget_add_pipeline(&maker);
    wo__budget_add_frozen(&maker);
    wo__budget_add_context(&maker);
    add_extras(&maker);
    add_stated(&maker);
    add_up(&maker);
    judge(input, budget);
    return;
  }
  wo__budget_add_weights(&maker);
  if (maker.is_training) {
    wo__budget_add_gradients(&maker);
    wo__budget_add_optimizer(&maker);
  }
  wo__budget_add_frozen(&maker);
  add_critic(&maker);
  add_rollout(&maker);
  add_live(&maker);
  wo__budget_add_buffers(&maker);
  wo__budget_add_context(&maker);
  add_extras(&maker);
  add_stated(&maker);
  add_up(&maker);
  judge(input, budget);
  find_room(input, budget);
}

/* Of a pipeline's two ends, the one that needs more: the first holds most activations, the last has the logits. */
static void make_once(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget *budget) {
  make_stage(input, arena, budget);
  if (input->values[WO_BUDGET_PIPELINE] <= 1 || input->values[WO_BUDGET_INFERENCE] > 0) return;
  if (input->values[WO_BUDGET_PIPELINE_STAGE] == (double)WO_BUDGET_FIRST_STAGE) return;
  struct wo_budget_input *const changed = wo_arena_alloc(arena, sizeof *changed);
  struct wo_budget *const last = wo_arena_alloc(arena, sizeof *last);
  if (!changed || !last) return;
  *changed = *input;
  changed->is_last_stage = true;
  make_stage(changed, arena, last);
  const bool is_asked = input->values[WO_BUDGET_PIPELINE_STAGE] == (double)WO_BUDGET_LAST_STAGE;
  if (is_asked || last->total.mid > budget->total.mid) *budget = *last;
}

/* A budget of each end of a pipeline, and their texts. */
enum { TRIAL_BYTES = 192 * 1024 };

/* Larger micro-batches are not looked for. */
#define BATCH_MOST 1048576.0

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

/* The largest micro-batch whose total at one end of the interval fits, or 0; -1 when memory is out. Totals grow with the batch.
 */
static double largest_batch(const struct wo_budget_input *input, struct wo_arena *arena, bool is_high) {
  const double capacity = input->values[WO_BUDGET_CAPACITY];
  double fits = 0, fails = 2 * BATCH_MOST;
  for (double batch = 1; fails - fits > 1;) {
    struct trial trial;
    if (!try_value(input, arena, WO_BUDGET_MICRO_BATCH, batch, &trial)) return -1;
    if ((is_high ? trial.total.hi : trial.total.mid) <= capacity) {
      fits = batch;
    } else {
      fails = batch;
    }
    batch = fails > BATCH_MOST ? 2 * batch : floor((fits + fails) / 2);
    if (batch > BATCH_MOST) break;
  }
  return fits;
}

static void find_batches(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget *budget) {
  if (input->values[WO_BUDGET_CAPACITY] == 0 || !budget->is_complete || input->values[WO_BUDGET_INFERENCE] > 0) return;
  if (input->values[WO_BUDGET_MICRO_BATCH] == 0) return;
  const double sure = largest_batch(input, arena, true), likely = largest_batch(input, arena, false);
  if (sure < 0 || likely < 0 || likely >= BATCH_MOST / 2) return;
  budget->has_batches = true;
  budget->batch_sure = sure;
  budget->batch_likely = likely;
}

/* The model states on a card at each stage, for jobs that replicate them: the stage is the first thing to change there. */
static void find_stages(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget *budget) {
  if (input->values[WO_BUDGET_GPUS] <= 1 || input->values[WO_BUDGET_PARAMS] == 0 || input->values[WO_BUDGET_INFERENCE] > 0)
    return;
  if (input->values[WO_BUDGET_ZERO] > 1 || input->values[WO_BUDGET_FSDP] == 1 || input->values[WO_BUDGET_FSDP] == 2) return;
  struct wo_budget_input fixed = *input;
  const bool is_small = wo__budget_is_16bit(input->values[WO_BUDGET_DTYPE]);
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

/* What one option says of others, and options that have no effect (budget_unused.c says so): weights are quantised only where
 * they are frozen, and the sequence is divided where the layers are. */
static void imply(struct wo_budget_input *input) {
  double *const v = input->values;
  const bool is_whole = v[WO_BUDGET_TRAINABLE] == 0 || v[WO_BUDGET_TRAINABLE] >= v[WO_BUDGET_PARAMS];
  const bool is_training = v[WO_BUDGET_INFERENCE] == 0 && !wo__budget_has_pipeline(input);
  if (is_whole && v[WO_BUDGET_ADAPTERS] == 0 && v[WO_BUDGET_LORA_RANK] == 0) {
    v[WO_BUDGET_LORA_TARGETS] = v[WO_BUDGET_LORA_DROPOUT] = v[WO_BUDGET_DORA] = 0;
    if (is_training) v[WO_BUDGET_QUANTIZE] = 0;
  }
  if (!is_training && v[WO_BUDGET_DTYPE] == 0) v[WO_BUDGET_DTYPE] = input->file_dtype;
  if (!is_training && v[WO_BUDGET_QUANTIZE] == 0) v[WO_BUDGET_QUANTIZE] = input->file_quantize;
  if (v[WO_BUDGET_TENSOR] <= 1) v[WO_BUDGET_SEQUENCE] = 0;
  if (v[WO_BUDGET_UNSLOTH] == 0) return;
  if (v[WO_BUDGET_CHECKPOINTING] == 0) v[WO_BUDGET_CHECKPOINTING] = WO_BUDGET_FULL;
  if (v[WO_BUDGET_CHECKPOINTING] == (double)WO_BUDGET_FULL) v[WO_BUDGET_OFFLOAD_ACTIVATIONS] = 1;
  v[WO_BUDGET_FUSED_LOSS] = 1;
}

enum wo_status wo_budget_make(const struct wo_budget_input *given, struct wo_arena *arena, struct wo_budget *ret_budget) {
  assert(given != NULL && arena != NULL && ret_budget != NULL);
  struct wo_budget_input *const copy = wo_arena_alloc(arena, sizeof *copy);
  const struct wo_budget_input *const input = copy ? copy : given;
  if (copy) {
    *copy = *given;
    imply(copy);
  }
  make_once(input, arena, ret_budget);
  find_batches(input, arena, ret_budget);
  find_stages(input, arena, ret_budget);
  return wo_arena_is_exhausted(arena) ? WO_E_NOMEM : WO_OK;
}
