/* SPDX-License-Identifier: Apache-2.0 */
/* Steps up from a measured run. Fixed bytes: weights, gradients and optimizer states, if the parameter count is known. Least
 * bytes per token: the 16-bit input of every layer, which even full checkpointing keeps, and 16-bit logits if they were seen. */
#include "analyzer/diagnosis/ladder.h"

#include <math.h>

#include "analyzer/facts/monitors.h"
#include "parsers/base/units.h"

/* This share of the card stays free: traces miss short peaks, and allocators round. */
#define MARGIN_SHARE 0.05

/* A process holds at least this outside PyTorch: context and kernels. */
#define CONTEXT_BYTES (0.25 * WO_GIB)

#define HALF_BYTES 2.0

/* Up to this micro-batch a step up is one sample, with at most this number of steps. */
#define SMALL_BATCH 3

/* Larger settings are misread. */
#define SETTING_MAX 1e9

/* The number of a fact, or 0. */
static double number(const struct wo_diagnosis *diagnosis, const char *name) {
  const struct wo_value value = wo_diagnosis_fact(diagnosis, name);
  return value.is_known && value.number.mid > 0 ? value.number.mid : 0;
}

static bool is_true(const struct wo_diagnosis *diagnosis, const char *name) {
  return wo_diagnosis_fact(diagnosis, name).truth == WO_TRUE;
}

/* ---- Rungs ---- */

/* Accumulation is a whole number, so the global batch is kept as nearly as possible. */
static void keep_global_batch(const struct wo_ladder_base *base, struct wo_ladder_rung *rung) {
  if (base->global_batch <= 0 || base->cards <= 0) return;
  const double steps = round(base->global_batch / (rung->micro_batch * base->cards));
  rung->grad_accum = steps >= 1 ? steps : 1;
  rung->global_batch = rung->grad_accum * rung->micro_batch * base->cards;
}

static enum wo_ladder_verdict judge(const struct wo_ladder *ladder, const struct wo_ladder_rung *rung) {
  const struct wo_ladder_base *const base = &ladder->base;
  const bool has_failed =
      base->failed_micro_batch > 0 && rung->micro_batch >= base->failed_micro_batch && rung->seq_len >= base->failed_seq_len;
  if (has_failed || rung->peak_bytes.lo > base->capacity_bytes) return WO_LADDER_NO;
  return rung->peak_bytes.hi <= base->capacity_bytes - ladder->margin_bytes ? WO_LADDER_SAFE : WO_LADDER_TIGHT;
}

/* Returns whether it may fit; the first that does not is the last of its row. */
static bool add_rung(struct wo_ladder *ladder, double micro_batch, double seq_len) {
  const struct wo_ladder_base *const base = &ladder->base;
  if (ladder->rung_count == WO_LADDER_RUNGS_MAX) return false;
  if (micro_batch > SETTING_MAX || seq_len > SETTING_MAX) return false;
  struct wo_ladder_rung *const rung = &ladder->rungs[ladder->rung_count++];
  *rung = (struct wo_ladder_rung){.micro_batch = micro_batch, .seq_len = seq_len};
  rung->token_factor = micro_batch / base->run.micro_batch * (base->run.seq_len > 0 ? seq_len / base->run.seq_len : 1);
  rung->peak_bytes = wo_measured_run_predict(&base->run, micro_batch, seq_len);
  keep_global_batch(base, rung);
  rung->verdict = judge(ladder, rung);
  return rung->verdict != WO_LADDER_NO;
}

void wo_ladder_climb(const struct wo_ladder_base *base, struct wo_ladder *ladder) {
  static const double factors[] = {1.25, 1.5, 2, 4};
  static const double lengths[] = {1.5, 2};
  ladder->base = *base;
  ladder->margin_bytes = base->capacity_bytes * MARGIN_SHARE;
  ladder->rung_count = 0;
  if (ladder->base.run.fixed_bytes > base->run.peak_bytes)
    ladder->base.run.fixed_bytes = 0; /* then the count is of another model */
  if (base->run.peak_bytes > base->capacity_bytes - ladder->margin_bytes) return;
  double last = base->run.micro_batch;
  bool goes_on = true;
  for (size_t i = 0; i < sizeof factors / sizeof factors[0] && goes_on; i++) {
    /* Small batches grow by one, large ones by quarters. */
    const double next = base->run.micro_batch <= SMALL_BATCH ? last + 1 : floor(base->run.micro_batch * factors[i]);
    if (next > SMALL_BATCH + base->run.micro_batch && base->run.micro_batch <= SMALL_BATCH) break;
    last = next;
    goes_on = add_rung(ladder, next, base->run.seq_len);
  }
  goes_on = base->run.seq_len > 0;
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && goes_on; i++) {
    goes_on = add_rung(ladder, base->run.micro_batch, floor(base->run.seq_len * lengths[i]));
  }
}

/* ---- Names ---- */

/* Takes the letters and the number after them from the next part of a name: "mb1", "seq_1024". */
static bool next_setting(struct wo_view *rest, struct wo_view *ret_word, double *ret_number) {
  while (rest->len > 0 && !wo_is_alpha(rest->ptr[0])) *rest = wo_view_skip(*rest, 1);
  size_t letters = 0;
  while (letters < rest->len && wo_is_alpha(rest->ptr[letters])) letters++;
  if (letters == 0) return false;
  *ret_word = wo_view_sub(*rest, 0, letters);
  *rest = wo_view_skip(*rest, letters);
  *ret_number = 0;
  if (rest->len > 1 && (rest->ptr[0] == '_' || rest->ptr[0] == '-' || rest->ptr[0] == '=') && wo_is_digit(rest->ptr[1])) {
    *rest = wo_view_skip(*rest, 1);
  }
  for (; rest->len > 0 && wo_is_digit(rest->ptr[0]); *rest = wo_view_skip(*rest, 1)) {
    if (*ret_number <= SETTING_MAX) *ret_number = *ret_number * 10 + (rest->ptr[0] - '0');
  }
  return true;
}

bool wo_ladder_name_hint(struct wo_view path, double *ret_micro_batch, double *ret_seq_len) {
  static const char *const batches[] = {"mb", "mbs", "bs", "batch", "micro", "microbatch", "batchsize"};
  static const char *const lengths[] = {"seq", "seqlen", "len", "length", "ctx", "sl"};
  *ret_micro_batch = *ret_seq_len = 0;
  size_t start = path.len;
  while (start > 0 && path.ptr[start - 1] != '/') start--;
  struct wo_view rest = wo_view_skip(path, start);
  struct wo_view word;
  double value = 0;
  while (next_setting(&rest, &word, &value)) {
    if (value < 1 || value > SETTING_MAX) continue;
    if (WO_VIEW_ANY(word, wo_view_is_nocase, batches)) *ret_micro_batch = value;
    if (WO_VIEW_ANY(word, wo_view_is_nocase, lengths)) *ret_seq_len = value;
  }
  return *ret_micro_batch > 0 || *ret_seq_len > 0;
}

/* ---- The run that fits ---- */

/* Whether the job ran without a memory failure, so that its own settings fit. */
static bool is_fitting_run(const struct wo_diagnosis *diagnosis) {
  static const enum wo_outcome outcomes[] = {WO_OUTCOME_SUCCESS, WO_OUTCOME_UNKNOWN, WO_OUTCOME_TIME_LIMIT, WO_OUTCOME_CANCELLED,
                                             WO_OUTCOME_PREEMPTED};
  if (wo_diagnosis_fact(diagnosis, "oom.kind").is_known) return false;
  for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
    if (diagnosis->facts->job->story.outcome == outcomes[i]) return true;
  }
  return false;
}

/* The trace with the highest peak of a run that fits. If the job failed, only the name of a trace can show that it is from
 * another run. */
static const struct wo_card_trace *find_trace(const struct wo_diagnosis *diagnosis, struct wo_ladder_base *base,
                                              struct wo_ladder *ladder) {
  const struct wo_facts *const facts = diagnosis->facts;
  const struct wo_card_trace *best = NULL;
  const double own_micro = number(diagnosis, "config.micro_batch");
  const double own_seq = number(diagnosis, "config.seq_len");
  const bool is_own_fitting = is_fitting_run(diagnosis);
  for (size_t i = 0; i < facts->monitor_count; i++) {
    const struct wo_card_trace *const monitor = &facts->monitors[i];
    const struct wo_view path = facts->job->inputs[monitor->file].path;
    double micro = 0, seq = 0;
    if (!monitor->fb_peak_bytes.is_known || monitor->samples < 2) continue;
    if (best != NULL && monitor->fb_peak_bytes.value.mid <= best->fb_peak_bytes.value.mid) continue;
    const bool is_hint = wo_ladder_name_hint(path, &micro, &seq);
    if (micro <= 0) micro = own_micro;
    if (seq <= 0) seq = own_seq;
    const bool is_other = is_hint && own_micro > 0 && micro * (seq > 0 ? seq : 1) < own_micro * (own_seq > 0 ? own_seq : 1);
    if (micro < 1 || !(is_own_fitting || is_other)) continue;
    best = monitor;
    base->run.micro_batch = micro;
    base->run.seq_len = seq;
    base->failed_micro_batch = is_own_fitting ? 0 : own_micro;
    base->failed_seq_len = is_own_fitting ? 0 : own_seq;
    ladder->is_hint = is_hint;
    ladder->path = path;
  }
  return best;
}

/* PyTorch's own statistics of a job that fits; the reserved peak is nearest to the memory in use on the card. */
static bool find_statistics(const struct wo_diagnosis *diagnosis, struct wo_ladder_base *base, struct wo_ladder *ladder) {
  const struct wo_value reserved = wo_diagnosis_fact(diagnosis, "summary.reserved_peak");
  const struct wo_value peak = reserved.is_known ? reserved : wo_diagnosis_fact(diagnosis, "summary.allocated_peak");
  base->run.micro_batch = number(diagnosis, "config.micro_batch");
  base->run.seq_len = number(diagnosis, "config.seq_len");
  if (!is_fitting_run(diagnosis) || !peak.is_known || base->run.micro_batch < 1) return false;
  base->run.peak_bytes = peak.number.mid;
  ladder->evidence = peak.evidence;
  return true;
}

/* The part of the peak that does not depend on the batch. It is the lowest possible value, because it lowers the upper end. */
static double fixed_bytes(const struct wo_diagnosis *diagnosis, double cards, bool is_trace) {
  const struct wo_value states = wo_diagnosis_fact(diagnosis, "model.states");
  double bytes = is_trace ? CONTEXT_BYTES : 0;
  if (!states.is_known || is_true(diagnosis, "config.optimizer_offload") || is_true(diagnosis, "config.param_offload"))
    return bytes;
  const enum wo_truth sharded = wo_diagnosis_fact(diagnosis, "model.is_sharded").truth;
  const double parallel =
      fmax(number(diagnosis, "config.tensor_parallel"), 1) * fmax(number(diagnosis, "config.pipeline_parallel"), 1);
  if (sharded == WO_FALSE) return bytes + (states.number.lo + number(diagnosis, "model.frozen_weights")) / parallel;
  return cards > 0 ? bytes + states.number.lo / (cards * parallel) : bytes;
}

/* Frozen layers in front of the trained ones keep nothing; logits over the whole vocabulary count only if they were seen. */
static double least_bytes_per_token(const struct wo_diagnosis *diagnosis) {
  const bool is_split = number(diagnosis, "config.tensor_parallel") > 1 || number(diagnosis, "config.pipeline_parallel") > 1;
  const bool is_partly_frozen = number(diagnosis, "model.trainable_parameters") < number(diagnosis, "model.parameters") &&
                                number(diagnosis, "model.trainable_parameters") > 0;
  if (is_split || is_partly_frozen || is_true(diagnosis, "config.activation_offload")) return 0;
  const double layers = number(diagnosis, "model.layers") * number(diagnosis, "model.hidden_size");
  const bool has_logits = is_true(diagnosis, "size.is_logits") || is_true(diagnosis, "oom.is_logits");
  const double logits = has_logits ? number(diagnosis, "model.vocab_size") : 0;
  return HALF_BYTES * (layers + logits);
}

static double first_known(const struct wo_diagnosis *diagnosis, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (number(diagnosis, names[i]) > 0) return number(diagnosis, names[i]);
  }
  return 0;
}

static void read_job(const struct wo_diagnosis *diagnosis, struct wo_ladder_base *base, bool is_trace) {
  static const char *const cards[] = {"gpu.count", "config.n_gpus", "slurm.gpus", "job.ranks"};
  static const char *const capacities[] = {"gpu.capacity", "dmon.capacity"};
  const struct wo_value attention = wo_diagnosis_fact(diagnosis, "config.attention");
  base->cards = first_known(diagnosis, cards, sizeof cards / sizeof cards[0]);
  base->capacity_bytes = first_known(diagnosis, capacities, sizeof capacities / sizeof capacities[0]);
  base->global_batch = number(diagnosis, "config.global_batch");
  if (base->global_batch <= 0) {
    base->global_batch = number(diagnosis, "config.micro_batch") * number(diagnosis, "config.grad_accum") * base->cards;
  }
  base->run.fixed_bytes = fixed_bytes(diagnosis, base->cards, is_trace);
  base->run.least_bytes_per_token = least_bytes_per_token(diagnosis);
  base->run.is_attention_fused =
      attention.is_known && (wo_view_has(attention.text, "flash") || wo_view_is(attention.text, "sdpa"));
}

bool wo_ladder_find(const struct wo_diagnosis *diagnosis, struct wo_ladder *ret_ladder) {
  struct wo_ladder_base base = {0};
  *ret_ladder = (struct wo_ladder){.evidence = WO_EVENT_NONE};
  if (is_true(diagnosis, "oom.is_serving")) return false;
  const struct wo_card_trace *const trace = find_trace(diagnosis, &base, ret_ladder);
  if (trace != NULL) {
    base.run.peak_bytes = trace->fb_peak_bytes.value.mid;
    ret_ladder->evidence = trace->evidence;
    ret_ladder->is_trace = true;
  } else if (!find_statistics(diagnosis, &base, ret_ladder)) {
    return false;
  }
  read_job(diagnosis, &base, trace != NULL);
  if (base.run.peak_bytes <= 0 || base.capacity_bytes <= 0) return false;
  wo_ladder_climb(&base, ret_ladder);
  return ret_ladder->rung_count > 0;
}

const char *wo_ladder_verdict_name(enum wo_ladder_verdict verdict) {
  static const char *const names[] = {[WO_LADDER_SAFE] = "safe", [WO_LADDER_TIGHT] = "tight", [WO_LADDER_NO] = "no"};
  return names[verdict];
}
