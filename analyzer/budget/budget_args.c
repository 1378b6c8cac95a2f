/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `whyoom budget`. See budget_args.h. */
#include "analyzer/budget/budget_args.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "parsers/base/units.h"
#include "parsers/base/view.h"

#define PARAMETERS_MAX 1e15
#define SHOWN_MAX 60

/* Number formats of weights. */
#define WEIGHT_FORMATS "fp32|bf16|fp16|amp|fp8"

/* ---- Numbers ---- */

/* Decimal multipliers: parameters are counted in thousands, not in 1024s. */
static double multiplier_of(struct wo_view suffix) {
  static const struct {
    const char *name;
    double factor;
  } rows[] = {{"", 1}, {"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"g", 1e9}, {"t", 1e12}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is_nocase(suffix, rows[i].name)) return rows[i].factor;
  }
  return 0;
}

/* "8499653234", "8,499,653,234", "8.5B", "7e9". Whole numbers from 1 to `most`. */
static bool read_count(struct wo_view text, double most, double *ret_count) {
  struct wo_view rest = text;
  struct wo_interval number;
  uint64_t grouped = 0;
  if (wo_view_find_char(text, ',', 0) != WO_NOT_FOUND) {
    if (wo_number_grouped(&rest, (uint64_t)most, &grouped) != WO_OK || rest.len > 0) return false;
    number = wo_interval_exact((double)grouped);
  } else if (wo_number_decimal(&rest, &number, NULL) != WO_OK) {
    return false;
  }
  const double count = round(number.mid * multiplier_of(rest));
  if (!(count >= 1 && count <= most)) return false;
  *ret_count = count;
  return true;
}

/* "47.4GiB"; a bare number is bytes. */
static bool read_size(struct wo_view text, double most, struct wo_interval *ret_bytes) {
  struct wo_view rest = text;
  if (wo_units_bytes(&rest, 1, ret_bytes) != WO_OK || rest.len > 0) return false;
  return ret_bytes->mid >= 1 && ret_bytes->mid <= most;
}

/* "7-8GB", with the unit at the end or at both; one size alone is an interval of one point. */
static bool read_range(struct wo_view text, struct wo_interval *ret_bytes) {
  struct wo_view rest = text;
  struct wo_view low = wo_view_cut(&rest, '-');
  struct wo_interval hi, lo;
  if (rest.len == 0) return wo_view_find_char(text, '-', 0) == WO_NOT_FOUND && read_size(text, PARAMETERS_MAX, ret_bytes);
  if (!read_size(rest, PARAMETERS_MAX, &hi)) return false;
  size_t unit = rest.len;
  while (unit > 0 && wo_is_alpha(rest.ptr[unit - 1])) unit--;
  char with_unit[SHOWN_MAX];
  const bool has_unit = low.len > 0 && wo_is_alpha(low.ptr[low.len - 1]);
  const struct wo_view suffix = has_unit ? (struct wo_view){0} : wo_view_skip(rest, unit);
  if (low.len + suffix.len >= sizeof with_unit) return false;
  snprintf(with_unit, sizeof with_unit, "%.*s%.*s", WO_SHOWN(low), WO_SHOWN(suffix));
  if (!read_size(wo_view_of(with_unit), PARAMETERS_MAX, &lo) || lo.mid > hi.mid) return false;
  *ret_bytes = (struct wo_interval){lo.mid, (lo.mid + hi.mid) / 2, hi.mid};
  return true;
}

/* ---- Values with parts ---- */

/* "micro_batch=4,seq_len=2048"; dashes do as well as underscores. */
static bool read_point(struct wo_view text, struct wo_budget_measured *measured) {
  while (text.len > 0) {
    struct wo_view value = wo_view_cut(&text, ',');
    const struct wo_view name = wo_view_cut(&value, '=');
    const bool is_batch = wo_view_is(name, "micro_batch") || wo_view_is(name, "micro-batch");
    const bool is_length = wo_view_is(name, "seq_len") || wo_view_is(name, "seq-len");
    if (!is_batch && !is_length) return false;
    if (!read_count(value, 1e9, is_batch ? &measured->micro_batch : &measured->seq_len)) return false;
  }
  return true;
}

/* "30GiB@micro_batch=4". */
static bool read_measured(struct wo_view text, struct wo_budget_measured *ret_measured) {
  struct wo_view point = text;
  const bool has_point = wo_view_find_char(text, '@', 0) != WO_NOT_FOUND;
  const struct wo_view size = wo_view_cut(&point, '@');
  *ret_measured = (struct wo_budget_measured){.micro_batch = 0};
  if (!read_range(size, &ret_measured->bytes)) return false;
  return has_point ? point.len > 0 && read_point(point, ret_measured) : true;
}

/* Readers of options, whose target is a struct wo_budget_input. */
static bool add_activations(void *target, const struct wo_option_value *value) {
  struct wo_budget_input *const input = target;
  struct wo_budget_measured measured;
  if (!read_measured(value->text, &measured)) return false;
  input->has_activations = true;
  input->activations = measured;
  return true;
}

/* Whether there is room for one more. */
static bool has_room(const struct wo_option_value *value, size_t count) {
  if (count < WO_LIMIT_BUDGET_ITEMS) return true;
  wo_err_set(value->err, WO_E_USAGE, "--%s can be given %d times at the most", value->option->name, WO_LIMIT_BUDGET_ITEMS);
  return false;
}

/* "rank0=15GiB@micro_batch=4". */
static bool add_extra(void *target, const struct wo_option_value *value) {
  struct wo_budget_input *const input = target;
  struct wo_budget_extra extra;
  struct wo_view rest = value->text;
  uint64_t rank = 0;
  if (!has_room(value, input->extra_count)) return false;
  if (!wo_view_starts(rest, "rank")) return false;
  rest = wo_view_skip(rest, 4);
  if (wo_number_u64(&rest, 1000000, &rank) != WO_OK || !wo_view_starts(rest, "=")) return false;
  if (!read_measured(wo_view_skip(rest, 1), &extra.measured)) return false;
  extra.rank = (uint32_t)rank;
  input->extras[input->extra_count++] = extra;
  return true;
}

/* Bytes of one frozen weight: a number format, or a quantised one. */
static double frozen_bytes(struct wo_view format) {
  if (wo_view_is(format, "8bit") || wo_view_is(format, "int8")) return 1;
  if (wo_view_is(format, "4bit") || wo_view_is(format, "nf4")) return 0.55;
  return wo_budget_dtype_bytes(wo_option_choice(WEIGHT_FORMATS, format) + 1);
}

/* Names are shown, so control characters are refused. */
static bool is_name(struct wo_view name) {
  for (size_t i = 0; i < name.len; i++) {
    if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f) return false;
  }
  return name.len > 0;
}

/* "mistral-7b=7.25B:fp16". */
static bool add_frozen(void *target, const struct wo_option_value *value) {
  struct wo_budget_input *const input = target;
  struct wo_budget_frozen frozen = {.parameters = 0};
  struct wo_view rest = value->text;
  frozen.name = wo_view_cut(&rest, '=');
  const struct wo_view count = wo_view_cut(&rest, ':');
  if (!has_room(value, input->frozen_count)) return false;
  if (!is_name(frozen.name) || !read_count(count, PARAMETERS_MAX, &frozen.parameters)) return false;
  frozen.bytes_per_parameter = frozen_bytes(rest);
  if (frozen.bytes_per_parameter == 0) return false;
  input->frozen[input->frozen_count++] = frozen;
  return true;
}

/* "gradients=2.5GB". */
static bool add_stated(void *target, const struct wo_option_value *value) {
  struct wo_budget_input *const input = target;
  static const char rows[][12] = {"weights", "adapters", "gradients", "optimizer", "activations",
                                  "logits",  "kv_cache", "buffers",   "context",   "frozen"};
  struct wo_budget_stated stated = {.bytes = {0, 0, 0}};
  struct wo_view rest = value->text;
  stated.row = wo_view_cut(&rest, '=');
  if (!has_room(value, input->stated_count)) return false;
  if (!read_range(rest, &stated.bytes)) return false;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!wo_view_is(stated.row, rows[i])) continue;
    input->stated[input->stated_count++] = stated;
    return true;
  }
  return false;
}

/* The command looks it up: it has the table of known shapes, and reads files. */
static bool read_model(void *target, const struct wo_option_value *value) {
  (void)target, (void)value;
  return true;
}

/* ---- Keys ---- */

static bool keep(void *target, const struct wo_option_value *value, double number) {
  ((struct wo_budget_input *)target)->values[value->option->id] = number;
  return true;
}

static bool read_flag_key(void *target, const struct wo_option_value *value) {
  return keep(target, value, 1);
}

static bool read_size_key(void *target, const struct wo_option_value *value) {
  struct wo_interval size;
  return read_size(value->text, value->option->most, &size) && keep(target, value, size.mid);
}

static bool refuse(const struct wo_option_value *value, const char *wants) {
  const struct wo_view shown = wo_view_sub(value->text, 0, SHOWN_MAX);
  wo_err_set(value->err, WO_E_USAGE, "--%s needs %s, not '%.*s'", value->option->name, wants, WO_SHOWN(shown));
  return false;
}

static bool read_choice_key(void *target, const struct wo_option_value *value) {
  char wants[128];
  const int place = wo_option_choice(value->option->choices, value->text);
  if (place >= 0) return keep(target, value, place + 1);
  snprintf(wants, sizeof wants, "one of %s", value->option->choices);
  return refuse(value, wants);
}

static bool read_count_key(void *target, const struct wo_option_value *value) {
  char wants[128];
  double number = 0;
  if (read_count(value->text, value->option->most, &number)) return keep(target, value, number);
  snprintf(wants, sizeof wants, "a whole number from 1 to %.0e%s", value->option->most,
           value->option->most >= 1e12 ? ", such as 8499653234 or 8.5B" : "");
  return refuse(value, wants);
}

/* "0.9". */
static bool read_share_key(void *target, const struct wo_option_value *value) {
  struct wo_view rest = value->text;
  struct wo_interval number;
  if (wo_number_decimal(&rest, &number, NULL) == WO_OK && rest.len == 0 && number.mid > 0 && number.mid <= 1)
    return keep(target, value, number.mid);
  return refuse(value, "a number above 0, of 1 at the most");
}

/* "0.5" of the card, or "40GiB". */
static bool read_rollout_key(void *target, const struct wo_option_value *value) {
  struct wo_view rest = value->text;
  struct wo_interval number, size;
  if (wo_number_decimal(&rest, &number, NULL) == WO_OK && rest.len == 0 && number.mid > 0 && number.mid <= 1)
    return keep(target, value, number.mid);
  if (read_size(value->text, PARAMETERS_MAX, &size) && size.mid > 1) return keep(target, value, size.mid);
  return refuse(value, "a part of the card, such as 0.5, or a size, such as 40GiB");
}

/* ---- All options ---- */

#define OTHER(reader) .kind = WO_OPTION_OTHER, .read = reader, .id = WO_BUDGET_KEY_COUNT_
#define FLAG(key) .kind = WO_OPTION_OTHER, .read = read_flag_key, .id = key
#define SIZE(key, largest) .kind = WO_OPTION_OTHER, .read = read_size_key, .id = key, .most = largest
#define COUNT(key, largest) .kind = WO_OPTION_OTHER, .read = read_count_key, .id = key, .most = largest
#define CHOICE(key, names) .kind = WO_OPTION_OTHER, .read = read_choice_key, .id = key, .choices = names

/* In the order of the help text, where an option with a text begins a line. */
const struct wo_option wo_budget_options[WO_BUDGET_OPTION_COUNT] = {
    WO_OPTION("model", "NAME", "a known model (llama-3.1-8b), or its config.json,\nsafetensors file or folder",
              OTHER(read_model)),
    WO_OPTION("params", "N",
              "parameters: 8499653234, 8.5B; {trainable} of them,\nor {adapters} beside them; {lora-rank} guesses N",
              COUNT(WO_BUDGET_PARAMS, 1e15), .about = "parameters of the model"),
    WO_OPTION("trainable", "N", NULL, COUNT(WO_BUDGET_TRAINABLE, 1e15), .about = "the part of --params that is trained"),
    WO_OPTION("adapters", "N", NULL, COUNT(WO_BUDGET_ADAPTERS, 1e15),
              .about = "trained parameters beside --params, which are then frozen"),
    WO_OPTION("lora-rank", "R", NULL, COUNT(WO_BUDGET_LORA_RANK, 1e6), .about = "rank of the adapters"),
    WO_OPTION("lora-targets", "T", "all-linear, attention, qv; {lora-dropout}  {dora}",
              CHOICE(WO_BUDGET_LORA_TARGETS, "all-linear|attention|qv"), .about = "what has adapters"),
    WO_OPTION("lora-dropout", NULL, NULL, FLAG(WO_BUDGET_LORA_DROPOUT), .about = "adapters drop a part of their input"),
    WO_OPTION("dora", NULL, NULL, FLAG(WO_BUDGET_DORA), .about = "adapters are those of DoRA, with magnitudes"),
    WO_OPTION("frozen", "NAME=N:FORMAT", "a frozen model beside it; may be repeated", OTHER(add_frozen),
              .wants = "NAME=PARAMETERS:FORMAT, such as encoder=7.25B:fp16 (fp32, bf16, fp16, fp8, 8bit, 4bit)"),
    WO_OPTION("dtype", "F", "fp32, bf16, fp16, amp (fp32 weights, autocast), fp8", CHOICE(WO_BUDGET_DTYPE, WEIGHT_FORMATS),
              .about = "number format of the weights"),
    WO_OPTION("autocast", "on|off", "whether operators run under it; amp has it", CHOICE(WO_BUDGET_AUTOCAST, "on|off"),
              .about = "whether operators run under autocast"),
    WO_OPTION("grad-dtype", "F", "{optimizer-dtype}  {master-weights} (fp32 copy)",
              CHOICE(WO_BUDGET_GRAD_DTYPE, "fp32|bf16|fp16"), .about = "number format of the gradients"),
    WO_OPTION("optimizer-dtype", "F", NULL, CHOICE(WO_BUDGET_OPTIMIZER_DTYPE, "fp32|bf16|fp16"),
              .about = "number format of its moments"),
    WO_OPTION("master-weights", NULL, NULL, FLAG(WO_BUDGET_MASTER), .about = "an fp32 copy of 16-bit weights is kept"),
    WO_OPTION("quantize", "8bit|4bit", "format of frozen weights", CHOICE(WO_BUDGET_QUANTIZE, "8bit|4bit")),
    WO_OPTION("optimizer", "O",
              "adam, adamw, adamw-fused, adam8bit, paged-adam8bit,\nsgd, sgd-momentum, adafactor, lion, lion8bit, muon,\ngalore "
              "({galore-rank}), none",
              CHOICE(WO_BUDGET_OPTIMIZER,
                     "adam|adamw|adam8bit|sgd|sgd-momentum|adafactor|lion|none|adamw-fused|paged-adam8bit|lion8bit|muon|galore"),
              .about = "optimizer"),
    WO_OPTION("galore-rank", "R", NULL, COUNT(WO_BUDGET_GALORE_RANK, 1e6), .about = "rank of GaLore's gradients"),
    WO_OPTION("gpus", "N", "{zero}", COUNT(WO_BUDGET_GPUS, 1e6), .about = "cards of the job"),
    WO_OPTION("zero", "0|1|2|3", NULL, CHOICE(WO_BUDGET_ZERO, "0|1|2|3"), .about = "ZeRO stage"),
    WO_OPTION("fsdp", "S", "full_shard, shard_grad_op, no_shard", CHOICE(WO_BUDGET_FSDP, "full_shard|shard_grad_op|no_shard"),
              .about = "FSDP sharding"),
    WO_OPTION("tensor-parallel", "N",
              "{sequence-parallel}  {context-parallel}\n{pipeline}  {interleave}\n{expert-parallel}  "
              "{largest-layer}\n{pipeline-stage}  {megatron}",
              COUNT(WO_BUDGET_TENSOR, 1e6), .about = "cards that share each layer"),
    WO_OPTION("sequence-parallel", NULL, NULL, FLAG(WO_BUDGET_SEQUENCE), .about = "they also share the sequence"),
    WO_OPTION("pipeline", "N", NULL, COUNT(WO_BUDGET_PIPELINE, 1e6), .about = "pipeline stages"),
    WO_OPTION("interleave", "N", NULL, COUNT(WO_BUDGET_INTERLEAVE, 1e6),
              .about = "pieces of the model that a pipeline stage has"),
    WO_OPTION("pipeline-stage", "first|last", NULL, CHOICE(WO_BUDGET_PIPELINE_STAGE, "first|last"),
              .about = "the stage to look at; not stated: the one that needs more"),
    WO_OPTION("megatron", NULL, NULL, FLAG(WO_BUDGET_MEGATRON),
              .about = "Megatron's layers and optimizer; --zero 1 is its distributed optimizer"),
    WO_OPTION("context-parallel", "N", NULL, COUNT(WO_BUDGET_CONTEXT, 1e6), .about = "cards that share each sample's tokens"),
    WO_OPTION("expert-parallel", "N", NULL, COUNT(WO_BUDGET_EXPERT, 1e6), .about = "cards that share the experts"),
    WO_OPTION("largest-layer", "N", NULL, COUNT(WO_BUDGET_UNIT, 1e15),
              .about = "parameters of the largest unit gathered at once"),
    WO_OPTION("offload-optimizer", NULL, "{offload-params}: to the host", FLAG(WO_BUDGET_OFFLOAD_OPTIMIZER),
              .about = "optimizer states live on the host"),
    WO_OPTION("offload-params", NULL, NULL, FLAG(WO_BUDGET_OFFLOAD_PARAMS), .about = "weights live on the host"),
    WO_OPTION("micro-batch", "N", "{seq-len}  {grad-accum}  {image}", COUNT(WO_BUDGET_MICRO_BATCH, 1e9),
              .about = "samples of one forward pass"),
    WO_OPTION("seq-len", "N", NULL, COUNT(WO_BUDGET_SEQ_LEN, 1e9), .about = "tokens of a sample"),
    WO_OPTION("grad-accum", "N", NULL, COUNT(WO_BUDGET_GRAD_ACCUM, 1e9), .about = "forward passes of one step"),
    WO_OPTION("image", "N", NULL, COUNT(WO_BUDGET_IMAGE, 1e6), .about = "pixels of an image's side"),
    WO_OPTION("offload", "model|sequential",
              "parts of an image pipeline that is not at work\nare on the host; {vae-tiling}  {frames}",
              CHOICE(WO_BUDGET_OFFLOAD, "model|sequential"), .about = "how an image pipeline moves its parts to the host"),
    WO_OPTION("vae-tiling", NULL, NULL, FLAG(WO_BUDGET_TILING), .about = "images are decoded in tiles"),
    WO_OPTION("frames", "N", NULL, COUNT(WO_BUDGET_FRAMES, 1e6), .about = "frames of a film"),
    WO_OPTION("layers", "N", "{hidden}  {heads}  {kv-heads}  {head-dim}", COUNT(WO_BUDGET_LAYERS, 1e6), .about = "layers"),
    WO_OPTION("hidden", "N", NULL, COUNT(WO_BUDGET_HIDDEN, 1e9), .about = "width"),
    WO_OPTION("heads", "N", NULL, COUNT(WO_BUDGET_HEADS, 1e6), .about = "attention heads"),
    WO_OPTION("kv-heads", "N", NULL, COUNT(WO_BUDGET_KV_HEADS, 1e6), .about = "heads whose keys and values are kept"),
    WO_OPTION("head-dim", "N", NULL, COUNT(WO_BUDGET_HEAD_DIM, 1e6), .about = "width of a head"),
    WO_OPTION("intermediate", "N", "{vocab}", COUNT(WO_BUDGET_FFN, 1e9), .about = "width of the feed-forward block"),
    WO_OPTION("vocab", "N", NULL, COUNT(WO_BUDGET_VOCAB, 1e9), .about = "entries of the vocabulary"),
    WO_OPTION("checkpointing", "MODE", "none, selective, full; {attention}",
              CHOICE(WO_BUDGET_CHECKPOINTING, "none|selective|full"), .about = "activations computed again"),
    WO_OPTION("attention", "flash|scores|sdpa", NULL, CHOICE(WO_BUDGET_ATTENTION, "flash|scores|sdpa"),
              .about = "whether the scores are kept"),
    WO_OPTION("fused-loss", NULL, "the loss in chunks, without whole logits; {liger}", FLAG(WO_BUDGET_FUSED_LOSS),
              .about = "the loss in chunks, without whole logits"),
    WO_OPTION("activation-offload", NULL, "saved activations go to the host; {unsloth}", FLAG(WO_BUDGET_OFFLOAD_ACTIVATIONS),
              .about = "saved activations go to the host"),
    WO_OPTION("rollout", "SIZE|F", "a rollout engine beside it (0.5 of the card);\n{rollout-stays} in the steps; {critic}",
              .kind = WO_OPTION_OTHER, .read = read_rollout_key, .id = WO_BUDGET_ROLLOUT,
              .about = "memory of a rollout engine on the same card"),
    WO_OPTION("rollout-stays", NULL, NULL, FLAG(WO_BUDGET_ROLLOUT_STAYS), .about = "the engine does not sleep in the steps"),
    WO_OPTION("critic", "N", NULL, COUNT(WO_BUDGET_CRITIC, 1e15), .about = "parameters of a value model that is trained besides"),
    WO_OPTION("unsloth", NULL, NULL, FLAG(WO_BUDGET_UNSLOTH), .about = "unsloth's kernels and checkpointing, its loss in chunks"),
    WO_OPTION("liger", NULL, NULL, FLAG(WO_BUDGET_LIGER), .about = "Liger's kernels: that loss, norms and gated units"),
    WO_OPTION("loss", "plain|shifted", "whether the logits are shifted by a copy,\nas in transformers before 4.46",
              CHOICE(WO_BUDGET_LOSS_FORM, "plain|shifted"), .about = "whether the logits are shifted by a copy"),
    WO_OPTION("activations", "SIZE@micro_batch=N[,seq_len=N]", "a measured point to scale", OTHER(add_activations),
              .wants = "a size and where it was measured, such as 30GiB@micro_batch=4"),
    WO_OPTION("calibrate", "PATH", "a run that printed its peak; the rest is scaled to it", OTHER(read_model)),
    WO_OPTION("extra", "rankN=SIZE[@micro_batch=N]", "          what only that rank needs", OTHER(add_extra),
              .wants = "a rank and a size, such as rank0=15GiB@micro_batch=4", .about = "what only that rank needs"),
    WO_OPTION(
        "stated", "COMPONENT=SIZE", "a figure to compare with (weights=14GB)", OTHER(add_stated),
        .wants =
            "COMPONENT=SIZE, such as gradients=2.5GB (weights, adapters, gradients, optimizer, activations, logits, kv_cache, "
            "buffers, context, frozen)"),
    WO_OPTION("inference", NULL,
              "no training; {max-num-seqs}  {max-model-len}\n{max-num-batched-tokens}  {kv-dtype}\n{gpu-memory-utilization}  "
              "{enforce-eager}",
              FLAG(WO_BUDGET_INFERENCE), .about = "no training: weights, KV cache and forward passes"),
    WO_OPTION("max-num-batched-tokens", "N", NULL, COUNT(WO_BUDGET_MAX_TOKENS, 1e9), .about = "tokens of one pass of the engine"),
    WO_OPTION("gpu-memory-utilization", "F", NULL, .kind = WO_OPTION_OTHER, .read = read_share_key, .id = WO_BUDGET_UTILISATION,
              .about = "part of the card that the engine may use"),
    WO_OPTION("enforce-eager", NULL, NULL, FLAG(WO_BUDGET_EAGER), .about = "the engine has no CUDA graphs"),
    WO_OPTION("max-num-seqs", "N", NULL, COUNT(WO_BUDGET_MAX_SEQS, 1e9), .about = "sequences served at once"),
    WO_OPTION("max-model-len", "N", NULL, COUNT(WO_BUDGET_MAX_LEN, 1e9), .about = "tokens of the longest sequence served"),
    WO_OPTION("kv-dtype", "F", NULL, CHOICE(WO_BUDGET_KV_DTYPE, "fp32|bf16|fp16|fp8"), .about = "number format of the KV cache"),
    WO_OPTION("capacity", "SIZE", "memory of the card: 47.4GiB", SIZE(WO_BUDGET_CAPACITY, 1e15),
              .wants = "a size, such as 47.4GiB"),
};

const struct wo_option *wo_budget_key_option(enum wo_budget_key key) {
  const struct wo_option *option = wo_budget_options;
  assert(key < WO_BUDGET_KEY_COUNT_);
  while (option->id != (int)key) option++;
  return option;
}

enum wo_budget_key wo_budget_key_find(struct wo_view name) {
  const struct wo_option *const option = wo_option_find(wo_budget_options, WO_BUDGET_OPTION_COUNT, name);
  return option ? (enum wo_budget_key)option->id : WO_BUDGET_KEY_COUNT_;
}

struct wo_view wo_budget_choice_name(enum wo_budget_key key, double place) {
  struct wo_view rest = wo_view_of(wo_budget_key_option(key)->choices);
  for (double at = 1; rest.len > 0; at++) {
    const struct wo_view name = wo_view_cut(&rest, '|');
    if (at == place) return name;
  }
  return WO_VIEW("?");
}

char *wo_budget_value_text(enum wo_budget_key key, double value, char *buf, size_t cap) {
  const struct wo_option *const option = wo_budget_key_option(key);
  const struct wo_view choice = wo_budget_choice_name(key, value);
  if (option->read == read_size_key || (option->read == read_rollout_key && value > 1))
    return wo_units_bytes_text(value, buf, cap);
  if (option->read == read_share_key || (option->read == read_rollout_key && value <= 1)) {
    snprintf(buf, cap, "%.4g", value);
    return buf;
  }
  if (option->choices) {
    snprintf(buf, cap, "%.*s", WO_SHOWN(choice));
  } else if (!option->value) {
    snprintf(buf, cap, "yes");
  } else {
    snprintf(buf, cap, "%.0f", value);
  }
  return buf;
}

enum wo_status wo_budget_check(const struct wo_budget_input *input, struct wo_err *err) {
  const double *const v = input->values;
  const double parts = fmax(1, v[WO_BUDGET_TENSOR]) * fmax(1, v[WO_BUDGET_PIPELINE]);
  if (v[WO_BUDGET_TRAINABLE] > v[WO_BUDGET_PARAMS] && v[WO_BUDGET_PARAMS] > 0)
    return wo_err_set(err, WO_E_USAGE, "--trainable %.0f is more than --params %.0f; trained parameters beside them: --adapters",
                      v[WO_BUDGET_TRAINABLE], v[WO_BUDGET_PARAMS]);
  if (v[WO_BUDGET_TRAINABLE] > 0 && v[WO_BUDGET_ADAPTERS] > 0)
    return wo_err_set(err, WO_E_USAGE, "--trainable is a part of --params, --adapters stand beside them: give one of the two");
  const double all = parts * fmax(1, v[WO_BUDGET_CONTEXT]);
  if (all > fmax(1, v[WO_BUDGET_GPUS]) && v[WO_BUDGET_GPUS] > 0)
    return wo_err_set(err, WO_E_USAGE, "tensor parallel x pipeline x context parallel = %.0f is more than --gpus %.0f", all,
                      v[WO_BUDGET_GPUS]);
  if (input->experts.count > 0 && v[WO_BUDGET_EXPERT] > input->experts.count)
    return wo_err_set(err, WO_E_USAGE, "--expert-parallel %.0f is more than the %.0f experts of a layer", v[WO_BUDGET_EXPERT],
                      input->experts.count);
  if (v[WO_BUDGET_LAYERS] > 0 && v[WO_BUDGET_PIPELINE] * fmax(1, v[WO_BUDGET_INTERLEAVE]) > v[WO_BUDGET_LAYERS])
    return wo_err_set(err, WO_E_USAGE, "pipeline x interleave = %.0f is more than the %.0f layers",
                      v[WO_BUDGET_PIPELINE] * fmax(1, v[WO_BUDGET_INTERLEAVE]), v[WO_BUDGET_LAYERS]);
  if (input->pipeline.denoiser > 0 &&
      (v[WO_BUDGET_LORA_RANK] > 0 || v[WO_BUDGET_ADAPTERS] > 0 || v[WO_BUDGET_TRAINABLE] > 0 || v[WO_BUDGET_OPTIMIZER] > 0))
    return wo_err_set(err, WO_E_USAGE, "the training of a pipeline of images is not computed, only its use");
  if (v[WO_BUDGET_ZERO] > 0 && v[WO_BUDGET_FSDP] > 0)
    return wo_err_set(err, WO_E_USAGE, "--zero and --fsdp both say how the states are divided: give one of the two");
  return WO_OK;
}
