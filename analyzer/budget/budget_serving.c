/* SPDX-License-Identifier: Apache-2.0 */
/* A program that serves: KV cache, forward passes, CUDA graphs. See budget.h; sources in docs/budget.md. */
#include <math.h>

#include "analyzer/budget/budget_layer.h"
#include "parsers/base/units.h"

/* What the log does not say: tokens of a pass and sequences at once, as vLLM sets them by its version and the card. */
#define TOKENS_LOW 2048
#define TOKENS 8192
#define TOKENS_HIGH 16384
#define SEQS 256
#define SEQS_HIGH 1024

/* Buffers of the sampler in fp32 logits: a kernel that does not sort, and one that does. */
#define SAMPLER_LOW 3.7
#define SAMPLER 9.7

/* How far the formula is off in measured starts (tests/accuracy/data/serving.json). */
#define PASS_LOW 0.8
#define PASS_HIGH 1.15
#define EXPERTS_HIGH 3

static double value(const struct wo_budget_input *input, enum wo_budget_key key) {
  return input->values[key];
}

static double one_or(double number) {
  return number >= 1 ? number : 1;
}

bool wo__budget_is_engine(const struct wo_budget_input *input) {
  return value(input, WO_BUDGET_INFERENCE) > 0 &&
         (value(input, WO_BUDGET_MICRO_BATCH) == 0 || value(input, WO_BUDGET_SEQ_LEN) == 0);
}

/* ---- KV cache ---- */

/* Numbers that a layer keeps of a token on one card: of keys and values of the heads that the card has, at least one of them; or
 * the narrow vector that both are made of, which every card has. */
static double cached_numbers(const struct wo_budget_input *input) {
  const double all_heads = value(input, WO_BUDGET_HEADS);
  const double heads = value(input, WO_BUDGET_KV_HEADS) > 0 ? value(input, WO_BUDGET_KV_HEADS) : all_heads;
  const double dim = value(input, WO_BUDGET_HEAD_DIM) > 0 ? value(input, WO_BUDGET_HEAD_DIM)
                     : all_heads > 0                      ? value(input, WO_BUDGET_HIDDEN) / all_heads
                                                          : 0;
  if (input->latent.rank > 0) return input->latent.rank + input->latent.rotary;
  return heads > 0 ? 2 * dim * fmax(1, heads / one_or(value(input, WO_BUDGET_TENSOR))) : 0;
}

static double cached_bytes(const struct wo_budget_input *input) {
  static const double formats[] = {2, 4, 2, 2, 1};
  const bool is_whole =
      value(input, WO_BUDGET_DTYPE) == (double)WO_BUDGET_FP32; /* that of the model where none is stated; else 16 bits */
  return value(input, WO_BUDGET_KV_DTYPE) == 0 && is_whole ? 4 : formats[(size_t)value(input, WO_BUDGET_KV_DTYPE)];
}

/* Tokens of a sequence that the layers keep, in the mean of those with a window and those without. */
static double cached_tokens(const struct wo_budget_input *input, double length) {
  if (input->window == 0 || input->window >= length) return length;
  const double full = input->full_every > 0 ? 1 / input->full_every : 0;
  return full * length + (1 - full) * input->window;
}

/* Of a token in all layers, without regard to windows. */
static double whole_token(const struct wo_budget_input *input) {
  return value(input, WO_BUDGET_LAYERS) / one_or(value(input, WO_BUDGET_PIPELINE)) * cached_numbers(input) * cached_bytes(input);
}

double wo__budget_cached_token(const struct wo_budget_input *input) {
  const double length = value(input, WO_BUDGET_MAX_LEN);
  return whole_token(input) * (length > 0 ? cached_tokens(input, length) / length : 1);
}

void wo__budget_cache(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const bool is_engine = wo__budget_is_engine(input);
  const double layers = value(input, WO_BUDGET_LAYERS), token = whole_token(input);
  const double length =
      value(input, WO_BUDGET_MAX_LEN) > 0 || is_engine ? value(input, WO_BUDGET_MAX_LEN) : value(input, WO_BUDGET_SEQ_LEN);
  const double most = one_or(value(input, WO_BUDGET_MAX_SEQS) > 0 || is_engine ? value(input, WO_BUDGET_MAX_SEQS)
                                                                               : value(input, WO_BUDGET_MICRO_BATCH));
  if (token == 0 || length == 0) {
    row->formula = wo_view_of(length == 0 ? "needs --max-model-len" : "needs --layers, --kv-heads and --head-dim");
    return;
  }
  const double tokens = cached_tokens(input, length), seqs = is_engine ? 1 : most;
  row->is_known = true;
  row->bytes = (struct wo_interval){token * tokens * seqs, token * tokens * seqs, token * length * most};
  row->formula =
      wo_arena_format(arena, "%g layers x %.0f x %.0f B x %.0f x %.0f", layers / one_or(value(input, WO_BUDGET_PIPELINE)),
                      cached_numbers(input), cached_bytes(input), seqs, tokens);
  if (is_engine)
    row->assumption =
        wo_arena_format(arena, "one sequence at full length, which an engine wants to start; %.0f of them at the high end%s",
                        most, tokens < length ? ", in layers with a window too" : "");
}

/* ---- Forward passes ---- */

/* Bytes of a pass for each token: gate, second half and product of a feed-forward block, and the vectors around it; in layers
 * with experts those of the experts that a token goes to. */
static double token_bytes(const struct wo_budget_input *input) {
  const double h = value(input, WO_BUDGET_HIDDEN), t = one_or(value(input, WO_BUDGET_TENSOR));
  const double inner = value(input, WO_BUDGET_FFN) > 0 ? value(input, WO_BUDGET_FFN) : 4 * h;
  const double width =
      input->experts.count == 0 ? inner : one_or(input->experts.per_token) * input->experts.width + input->experts.shared_width;
  const double number = value(input, WO_BUDGET_DTYPE) == (double)WO_BUDGET_FP32 ? 4 : 2;
  const bool is_gated = !input->has_layer || input->layer.ffn_kept == 3;
  return number * ((is_gated ? 3 : 2) * width / t + (t > 1 ? 5 : 4) * h);
}

static const char *missing(const struct wo_budget_input *input) {
  return value(input, WO_BUDGET_HIDDEN) == 0 ? "needs --hidden" : value(input, WO_BUDGET_VOCAB) == 0 ? "needs --vocab" : NULL;
}

/* The larger of the layers' buffers and the sampler's: the first are free again when the second are made. */
static void fill_engine(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double stated = value(input, WO_BUDGET_MAX_TOKENS), length = value(input, WO_BUDGET_MAX_LEN);
  const double tokens[] = {stated > 0 ? stated : TOKENS_LOW, stated > 0 ? stated : TOKENS,
                           stated > 0 ? stated : fmax(TOKENS_HIGH, fmin(length, 2 * TOKENS_HIGH))};
  const double most = value(input, WO_BUDGET_MAX_SEQS);
  const double seqs[] = {most > 0 ? most : SEQS, most > 0 ? most : SEQS, most > 0 ? most : SEQS_HIGH};
  static const double sampler[] = {SAMPLER_LOW, SAMPLER, SAMPLER};
  const double per = token_bytes(input), logit = 4 * value(input, WO_BUDGET_VOCAB);
  double bytes[3];
  for (int i = 0; i < 3; i++) bytes[i] = fmax(tokens[i] * per, fmin(seqs[i], tokens[i]) * logit * sampler[i]);
  const bool is_sampler = bytes[1] > tokens[1] * per;
  row->is_known = true;
  row->bytes =
      (struct wo_interval){PASS_LOW * bytes[0], bytes[1], (input->experts.count > 0 ? EXPERTS_HIGH : PASS_HIGH) * bytes[2]};
  row->formula = is_sampler ? wo_arena_format(arena, "%.0f seqs x %.0f x 4 B x %.1f", fmin(seqs[1], tokens[1]),
                                              value(input, WO_BUDGET_VOCAB), SAMPLER)
                            : wo_arena_format(arena, "%.0f tokens x %.0f B", tokens[1], per);
  row->assumption =
      wo_arena_format(arena, "%s%s%s", stated > 0 ? "" : "2048 to 16384 tokens in a pass (--max-num-batched-tokens); ",
                      most > 0 ? "" : "256 sequences, 1024 at the high end (--max-num-seqs); ",
                      is_sampler ? "the sampler sorts the logits, and does not at the low end" : "the layers' buffers");
}

/* A program's own pass: buffers of a layer, or the logits, of the last token of each sample at the low end. */
static void fill_own(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const double tokens = wo__budget_tokens(input), number = value(input, WO_BUDGET_DTYPE) == (double)WO_BUDGET_FP32 ? 4 : 2;
  const double layer = tokens * token_bytes(input), logits = tokens * value(input, WO_BUDGET_VOCAB) * number;
  row->is_known = true;
  row->bytes = (struct wo_interval){PASS_LOW * layer, fmax(layer, logits), PASS_HIGH * fmax(layer, 2 * logits)};
  row->formula = layer > logits
                     ? wo_arena_format(arena, "%.0f tokens x %.0f B", tokens, token_bytes(input))
                     : wo_arena_format(arena, "%.0f tokens x %.0f x %.0f B", tokens, value(input, WO_BUDGET_VOCAB), number);
  row->assumption =
      WO_VIEW("buffers of a layer, or logits of all tokens; of the last ones only at the low end (generate), twice at the "
              "high end");
}

void wo__budget_pass(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row) {
  const char *const lacks = missing(input);
  if (lacks)
    row->formula = wo_view_of(lacks);
  else if (wo__budget_is_engine(input))
    fill_engine(input, arena, row);
  else
    fill_own(input, arena, row);
}

void wo__budget_graphs(const struct wo_budget_input *input, struct wo_budget_row *row) {
  const bool has_others = value(input, WO_BUDGET_TENSOR) > 1;
  row->is_known = row->is_outside = true;
  if (value(input, WO_BUDGET_EAGER) > 0) {
    row->formula = WO_VIEW("none");
    return;
  }
  row->bytes = (struct wo_interval){0, 0.5 * WO_GIB, has_others ? 3 * WO_GIB : WO_GIB};
  row->assumption =
      WO_VIEW("0.06 to 0.85 GiB in most starts on one card, up to 3 and more on several; none with --enforce-eager");
}
