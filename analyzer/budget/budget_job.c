/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of a job: settings and facts -> inputs, and the log's own figures beside the result. See budget_report.h. */
#include <math.h>

#include "analyzer/budget/budget_args.h"
#include "analyzer/budget/budget_report.h"
#include "analyzer/facts/model.h"
#include "parsers/base/units.h"
#include "parsers/base/clean.h"

struct taker {
  const struct wo_facts *facts;
  struct wo_arena *arena;
  struct wo_budget_report *report;
};

/* "slurm-4711.out:12", or an empty view for evidence without a place. */
struct wo_view wo__budget_place(const struct wo_facts *facts, struct wo_arena *arena, wo_event_id id) {
  const struct wo_event *const event = wo_event_get(&facts->job->events, id);
  if (!event || event->span.file >= facts->job->input_count) return (struct wo_view){0};
  char shown[512];
  const struct wo_view path = wo_clean_utf8(facts->job->inputs[event->span.file].path, shown, sizeof shown);
  return wo_arena_format(arena, "%.*s:%llu", WO_SHOWN(path), (unsigned long long)event->span.line);
}

static struct wo_view place_of(const struct taker *taker, wo_event_id id) {
  return wo__budget_place(taker->facts, taker->arena, id);
}

static void take(const struct taker *taker, enum wo_budget_key key, double value, struct wo_view origin) {
  if (!(value > 0)) return;
  taker->report->input.values[key] = value;
  taker->report->origins[key] = origin.len > 0 ? origin : WO_VIEW("the job's files");
}

/* ---- Settings ---- */

static const struct wo_setting *known_setting(const struct taker *taker, const char *knob) {
  const struct wo_setting *const setting = wo_facts_setting(taker->facts, wo_view_of(knob));
  return setting && setting->event && setting->value.is_known ? setting : NULL;
}

/* verl's "actor_rollout_ref" is the folder of all three. */
static bool names_rollout(struct wo_view key) {
  const struct wo_view name = WO_VIEW("rollout"), folder = WO_VIEW("actor_");
  for (size_t at = wo_view_find(key, name, 0); at != WO_NOT_FOUND; at = wo_view_find(key, name, at + 1)) {
    const struct wo_view before = wo_view_sub(key, 0, at);
    if (!wo_view_ends(before, folder.ptr)) return true;
  }
  return false;
}

/* The rollout engine of a trainer has settings of its own, which do not apply to training. */
static bool is_of_rollout(const struct taker *taker, const struct wo_setting *setting) {
  const bool is_serving = wo_facts_get(taker->facts, WO_VIEW("oom.is_serving")).truth == WO_TRUE;
  const bool is_engine = wo_view_is(setting->knob->id, "max_num_seqs") || wo_view_is(setting->knob->id, "max_model_len");
  return names_rollout(wo_event_text(setting->event, WO_FIELD_KEY)) || (is_engine && !is_serving);
}

/* An input that a setting gives: its number, 1 for a truth, or the choice of a word that its text may hold, the most specific
 * first. */
struct source {
  char knob[24];
  char word[24]; /* empty: a number or a truth */
  enum wo_budget_key key;
  double choice;
};

static const struct source sources[] = {
    {"micro_batch", "", WO_BUDGET_MICRO_BATCH, 0},
    {"grad_accum", "", WO_BUDGET_GRAD_ACCUM, 0},
    {"seq_len", "", WO_BUDGET_SEQ_LEN, 0},
    {"image_size", "", WO_BUDGET_IMAGE, 0},
    {"lora_rank", "", WO_BUDGET_LORA_RANK, 0},
    {"tensor_parallel", "", WO_BUDGET_TENSOR, 0},
    {"pipeline_parallel", "", WO_BUDGET_PIPELINE, 0},
    {"context_parallel", "", WO_BUDGET_CONTEXT, 0},
    {"expert_parallel", "", WO_BUDGET_EXPERT, 0},
    {"sequence_parallel", "", WO_BUDGET_SEQUENCE, 0},
    {"max_num_seqs", "", WO_BUDGET_MAX_SEQS, 0},
    {"max_model_len", "", WO_BUDGET_MAX_LEN, 0},
    {"token_budget", "", WO_BUDGET_MAX_TOKENS, 0},
    {"enforce_eager", "", WO_BUDGET_EAGER, 0},
    {"param_offload", "", WO_BUDGET_OFFLOAD_PARAMS, 0},
    {"optimizer_offload", "", WO_BUDGET_OFFLOAD_OPTIMIZER, 0},
    {"fused_loss", "", WO_BUDGET_FUSED_LOSS, 0},
    {"activation_offload", "", WO_BUDGET_OFFLOAD_ACTIVATIONS, 0},
    {"checkpointing", "selective", WO_BUDGET_CHECKPOINTING, WO_BUDGET_SELECTIVE},
    {"checkpointing", "full", WO_BUDGET_CHECKPOINTING, WO_BUDGET_FULL},
    {"checkpointing", "none", WO_BUDGET_CHECKPOINTING, WO_BUDGET_NONE},
    {"optimizer", "paged_adamw_8bit", WO_BUDGET_OPTIMIZER, WO_BUDGET_PAGED_ADAM8BIT},
    {"optimizer", "lion_8bit", WO_BUDGET_OPTIMIZER, WO_BUDGET_LION8BIT},
    {"optimizer", "8bit", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAM8BIT},
    {"optimizer", "galore", WO_BUDGET_OPTIMIZER, WO_BUDGET_GALORE},
    {"optimizer", "muon", WO_BUDGET_OPTIMIZER, WO_BUDGET_MUON},
    {"optimizer", "adafactor", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAFACTOR},
    {"optimizer", "lion", WO_BUDGET_OPTIMIZER, WO_BUDGET_LION},
    {"optimizer", "adamw_torch_fused", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAMW_FUSED},
    {"optimizer", "adamw", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAMW},
    {"optimizer", "adam", WO_BUDGET_OPTIMIZER, WO_BUDGET_ADAM},
    {"optimizer", "sgd", WO_BUDGET_OPTIMIZER, WO_BUDGET_SGD},
    {"quantization", "4bit", WO_BUDGET_QUANTIZE, WO_BUDGET_4BIT},
    {"quantization", "nf4", WO_BUDGET_QUANTIZE, WO_BUDGET_4BIT},
    {"quantization", "int4", WO_BUDGET_QUANTIZE, WO_BUDGET_4BIT},
    {"quantization", "awq", WO_BUDGET_QUANTIZE, WO_BUDGET_4BIT},
    {"quantization", "8bit", WO_BUDGET_QUANTIZE, WO_BUDGET_8BIT},
    {"quantization", "int8", WO_BUDGET_QUANTIZE, WO_BUDGET_8BIT},
    {"quantization", "fp8", WO_BUDGET_QUANTIZE, WO_BUDGET_8BIT},
    {"attention", "flash", WO_BUDGET_ATTENTION, WO_BUDGET_FLASH},
    {"attention", "sdpa", WO_BUDGET_ATTENTION, WO_BUDGET_SDPA},
    {"attention", "xformers", WO_BUDGET_ATTENTION, WO_BUDGET_FLASH},
    {"attention", "eager", WO_BUDGET_ATTENTION, WO_BUDGET_SCORES},
    {"kv_cache_dtype", "fp8", WO_BUDGET_KV_DTYPE, 4},
    {"sharding", "full_shard", WO_BUDGET_FSDP, 1},
    {"sharding", "shard_grad_op", WO_BUDGET_FSDP, 2},
    {"sharding", "no_shard", WO_BUDGET_FSDP, 3},
    {"sharding", "optimizer", WO_BUDGET_ZERO, 2},
    {"sharding", "optimizer", WO_BUDGET_MEGATRON, 1},
};

static void take_settings(const struct taker *taker) {
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    const struct source *const source = &sources[i];
    const struct wo_setting *const setting = known_setting(taker, source->knob);
    if (!setting || taker->report->input.values[source->key] > 0) continue;
    double value = source->choice;
    if (source->word[0] != '\0') {
      if (!wo_view_has_nocase(setting->value.text, source->word)) continue;
    } else if (setting->value.unit == WO_UNIT_BOOL) {
      value = setting->value.truth == WO_TRUE;
    } else if (!is_of_rollout(taker, setting)) {
      value = floor(fmin(setting->value.number.mid, 1e9));
    }
    take(taker, source->key, value, place_of(taker, setting->event->id));
  }
}

/* What an engine may take of the card: one that serves, or one that makes samples for a trainer. */
static void take_utilisation(const struct taker *taker) {
  const struct wo_setting *const setting = known_setting(taker, "gpu_memory_utilization");
  const bool is_serving = wo_facts_get(taker->facts, WO_VIEW("oom.is_serving")).truth == WO_TRUE;
  if (!setting || !(setting->value.number.mid > 0 && setting->value.number.mid <= 1)) return;
  const struct wo_view place = place_of(taker, setting->event->id);
  /* "vllm_gpu_memory_utilization" of TRL's trainers, whose engine does not sleep by default. */
  const bool is_trl = !is_serving && wo_view_starts(wo_event_text(setting->event, WO_FIELD_KEY), "vllm_");
  if (is_of_rollout(taker, setting) || is_trl) take(taker, WO_BUDGET_ROLLOUT, setting->value.number.mid, place);
  if (is_trl) take(taker, WO_BUDGET_ROLLOUT_STAYS, 1, place);
  if (is_serving) take(taker, WO_BUDGET_UTILISATION, setting->value.number.mid, place);
}

/* A stage wins over the names of FSDP. If only the launcher shows that states are divided, full sharding is assumed. */
static void take_sharding(const struct taker *taker) {
  struct wo_budget_report *const report = taker->report;
  const struct wo_setting *const stage = known_setting(taker, "zero_stage");
  const struct wo_value is_sharded = wo_facts_get(taker->facts, WO_VIEW("model.is_sharded"));
  if (stage && stage->value.number.mid >= 0 && stage->value.number.mid <= 3) {
    report->input.values[WO_BUDGET_FSDP] = 0;
    take(taker, WO_BUDGET_ZERO, floor(stage->value.number.mid) + 1, place_of(taker, stage->event->id));
  } else if (report->input.values[WO_BUDGET_ZERO] > 0) {
    report->input.values[WO_BUDGET_FSDP] = 0;
  } else if (report->input.values[WO_BUDGET_FSDP] == 0 && is_sharded.truth == WO_TRUE) {
    take(taker, WO_BUDGET_FSDP, 1, WO_VIEW("the states are divided, how is not stated: full sharding is assumed"));
    report->is_sharding_assumed = true;
  }
}

/* ---- Number format ---- */

static double dtype_choice(struct wo_view name) {
  if (wo_view_has_nocase(name, "bf16") || wo_view_has_nocase(name, "bfloat16")) return WO_BUDGET_BF16;
  if (wo_view_has_nocase(name, "fp16") || wo_view_has_nocase(name, "float16") || wo_view_has_nocase(name, "half"))
    return WO_BUDGET_FP16;
  if (wo_view_has_nocase(name, "fp32") || wo_view_has_nocase(name, "float32")) return WO_BUDGET_FP32;
  return wo_view_has_nocase(name, "fp8") ? WO_BUDGET_FP8 : 0;
}

/* The largest model that is not frozen and whose line names its format, or NULL: adapters are counted on lines of their own. */
static const struct wo_event *stated_format(const struct taker *taker) {
  const struct wo_event *largest = NULL;
  wo_each_event (event, &taker->facts->job->events) {
    if (event->kind != WO_KIND_MODEL || event->is_quoted || !wo_event_field(event, WO_FIELD_PARAMETERS)) continue;
    if (wo_view_is(wo_event_text(event, WO_FIELD_STATE), "frozen")) continue;
    if (dtype_choice(wo_event_text(event, WO_FIELD_DTYPE)) == 0) continue;
    const double parameters = wo_event_number(event, WO_FIELD_PARAMETERS, 0);
    if (!largest || parameters > wo_event_number(largest, WO_FIELD_PARAMETERS, 0)) largest = event;
  }
  return largest;
}

/* A 16-bit setting alone means autocast over fp32 weights; under DeepSpeed it means 16-bit weights. For a frozen base it shows
 * nothing. */
static void take_cast(const struct taker *taker, const struct wo_setting *setting) {
  const double *const values = taker->report->input.values;
  const double choice = dtype_choice(setting->value.text);
  const bool is_small = choice == (double)WO_BUDGET_BF16 || choice == (double)WO_BUDGET_FP16;
  const bool is_cast = is_small && values[WO_BUDGET_ZERO] <= 1;
  if (is_cast && (values[WO_BUDGET_TRAINABLE] > 0 || values[WO_BUDGET_LORA_RANK] > 0)) return;
  take(taker, WO_BUDGET_DTYPE, is_cast ? (double)WO_BUDGET_AMP : choice, place_of(taker, setting->event->id));
}

/* The format of the weights, if one is stated; fp32 weights with a 16-bit setting mean autocast. */
static void take_dtype(const struct taker *taker) {
  const struct wo_value stated = wo_facts_get(taker->facts, WO_VIEW("model.dtype"));
  const struct wo_setting *const setting = known_setting(taker, "dtype");
  const struct wo_event *const printed = stated_format(taker);
  double choice = stated.is_known ? dtype_choice(stated.text) : 0;
  wo_event_id evidence = stated.evidence;
  if (choice == 0 && printed) {
    choice = dtype_choice(wo_event_text(printed, WO_FIELD_DTYPE));
    evidence = printed->id;
  }
  const double cast = setting ? dtype_choice(setting->value.text) : 0;
  if (choice == (double)WO_BUDGET_FP32 && (cast == (double)WO_BUDGET_BF16 || cast == (double)WO_BUDGET_FP16))
    choice = WO_BUDGET_AMP;
  take(taker, WO_BUDGET_DTYPE, choice, place_of(taker, evidence));
  if (choice == 0 && setting) take_cast(taker, setting);
}

/* ---- The model and the machine ---- */

static void take_fact(const struct taker *taker, enum wo_budget_key key, const char *fact) {
  const struct wo_value value = wo_facts_get(taker->facts, wo_view_of(fact));
  if (value.is_known) take(taker, key, round(value.number.mid), place_of(taker, value.evidence));
}

/* The layers of an encoder and as many of a decoder, where the table has both in one number. */
static double all_layers(const struct wo_model_shape *shape) {
  return wo_view_starts(shape->architecture, "t5") ? 2 * shape->layers : shape->layers;
}

/* What the table of known shapes says beside numbers. */
static void take_layer(struct wo_budget_input *input, const struct wo_model_shape *shape) {
  const struct wo_model_layer *const layer = wo_model_shape_layer(shape);
  input->embedding_tables = shape->is_tied ? 1 : 2;
  input->has_layer = layer != NULL;
  if (layer) input->layer = *layer;
  input->experts = shape->experts;
  input->latent = shape->latent;
  input->image = shape->image;
  input->pipeline = shape->pipeline;
  input->window = shape->window;
  input->full_every = shape->full_every;
}

/* No shape is taken if the job has several known models. */
static void take_shape(const struct taker *taker) {
  static const enum wo_budget_key keys[WO_MODEL_DIM_COUNT_] = {
      [WO_MODEL_LAYERS] = WO_BUDGET_LAYERS, [WO_MODEL_HIDDEN] = WO_BUDGET_HIDDEN,     [WO_MODEL_FFN] = WO_BUDGET_FFN,
      [WO_MODEL_HEADS] = WO_BUDGET_HEADS,   [WO_MODEL_KV_HEADS] = WO_BUDGET_KV_HEADS, [WO_MODEL_HEAD_DIM] = WO_BUDGET_HEAD_DIM,
      [WO_MODEL_VOCAB] = WO_BUDGET_VOCAB};
  struct wo_job_model models[WO_LIMIT_JOB_MODELS];
  const size_t count = wo_models_list(taker->facts, models);
  if (count == 0 || (count > 1 && models[0].shape)) return;
  if (models[0].shape) take_layer(&taker->report->input, models[0].shape);
  for (int dim = 0; dim < WO_MODEL_DIM_COUNT_; dim++) {
    const struct wo_model_number number = models[0].dims[dim];
    const struct wo_view table = models[0].shape ? models[0].shape->id : (struct wo_view){0};
    const bool is_twice = dim == WO_MODEL_LAYERS && models[0].shape && number.is_assumed;
    take(taker, keys[dim], is_twice ? all_layers(models[0].shape) : number.value,
         number.is_assumed ? wo_arena_format(taker->arena, "table of known shapes: %.*s", WO_SHOWN(table))
                           : place_of(taker, number.evidence));
  }
}

static void take_parameters(const struct taker *taker) {
  const bool is_printed = wo_facts_get(taker->facts, WO_VIEW("model.parameters")).is_known;
  const struct wo_value table = wo_facts_get(taker->facts, WO_VIEW("model.table_parameters"));
  const struct wo_value trained = wo_facts_get(taker->facts, WO_VIEW("model.trainable_parameters"));
  if (is_printed) {
    take_fact(taker, WO_BUDGET_PARAMS, "model.parameters");
  } else if (table.is_known) {
    take(taker, WO_BUDGET_PARAMS, table.number.mid, WO_VIEW("table of known shapes"));
  }
  const double all = taker->report->input.values[WO_BUDGET_PARAMS];
  if (!trained.is_known || all == 0) return;
  if (is_printed && trained.number.mid < all) take_fact(taker, WO_BUDGET_TRAINABLE, "model.trainable_parameters");
  if (!is_printed && trained.number.mid < all) take_fact(taker, WO_BUDGET_ADAPTERS, "model.trainable_parameters");
}

/* The number of processes that the job states, else its cards, else the ranks in the log. */
static void take_cards(const struct taker *taker) {
  const struct wo_setting *const world = known_setting(taker, "world_size");
  if (world) take(taker, WO_BUDGET_GPUS, world->value.number.mid, place_of(taker, world->event->id));
  if (!world) take_fact(taker, WO_BUDGET_GPUS, "gpu.count");
  const struct wo_setting *const setting = known_setting(taker, "n_gpus");
  if (setting && taker->report->input.values[WO_BUDGET_GPUS] == 0) {
    take(taker, WO_BUDGET_GPUS, setting->value.number.mid, place_of(taker, setting->event->id));
  }
  const struct wo_value ranks = wo_facts_get(taker->facts, WO_VIEW("job.ranks"));
  if (ranks.is_known && ranks.number.mid > taker->report->input.values[WO_BUDGET_GPUS]) {
    taker->report->are_cards_ranks_seen = true;
    take(taker, WO_BUDGET_GPUS, ranks.number.mid, place_of(taker, ranks.evidence));
  }
  take_fact(taker, WO_BUDGET_CAPACITY, "gpu.capacity");
  if (wo_facts_get(taker->facts, WO_VIEW("oom.is_serving")).truth == WO_TRUE) {
    take(taker, WO_BUDGET_INFERENCE, 1, WO_VIEW("an inference engine was running"));
  }
}

/* A frozen model of one name and size counts once, even if it is printed several times. */
static bool has_frozen(const struct wo_budget_input *input, struct wo_view name, double parameters) {
  for (size_t i = 0; i < input->frozen_count; i++) {
    if (input->frozen[i].parameters == parameters && wo_view_equal(input->frozen[i].name, name)) return true;
  }
  return false;
}

static void take_frozen(const struct taker *taker) {
  struct wo_budget_input *const input = &taker->report->input;
  const struct wo_setting *const setting = known_setting(taker, "frozen_dtype");
  for (size_t i = 0; i < taker->facts->job->events.count && input->frozen_count < WO_LIMIT_BUDGET_ITEMS; i++) {
    const struct wo_event *const event = &taker->facts->job->events.items[i];
    const double parameters = wo_event_number(event, WO_FIELD_PARAMETERS, 0);
    if (event->kind != WO_KIND_MODEL || event->is_quoted || parameters < 1) continue;
    if (!wo_view_is(wo_event_text(event, WO_FIELD_STATE), "frozen")) continue;
    const struct wo_view name = wo_event_text(event, WO_FIELD_NAME);
    double choice = dtype_choice(wo_event_text(event, WO_FIELD_DTYPE));
    if (choice == 0 && setting) choice = dtype_choice(setting->value.text);
    if (has_frozen(input, name, parameters)) continue;
    input->frozen[input->frozen_count++] =
        (struct wo_budget_frozen){wo_arena_copy(taker->arena, name.len > 0 ? name : WO_VIEW("model")), parameters,
                                  choice > 0 ? wo_budget_dtype_bytes(choice) : 2};
  }
}

void wo_budget_from_facts(const struct wo_facts *facts, struct wo_arena *arena, struct wo_budget_report *report) {
  const struct taker taker = {facts, arena, report};
  take_settings(&taker);
  take_utilisation(&taker);
  take_sharding(&taker);
  take_shape(&taker);
  take_parameters(&taker);
  take_dtype(&taker);
  take_cards(&taker);
  take_frozen(&taker);
}

static void take_whole_shape(const struct wo_model_shape *shape, struct wo_view origin, struct wo_arena *arena,
                             struct wo_budget_report *report) {
  const struct taker taker = {NULL, arena, report};
  take(&taker, WO_BUDGET_PARAMS, shape->parameters, origin);
  take(&taker, WO_BUDGET_LAYERS, all_layers(shape), origin);
  take(&taker, WO_BUDGET_HIDDEN, shape->hidden, origin);
  take(&taker, WO_BUDGET_FFN, shape->intermediate, origin);
  take(&taker, WO_BUDGET_HEADS, shape->heads, origin);
  take(&taker, WO_BUDGET_KV_HEADS, shape->kv_heads, origin);
  take(&taker, WO_BUDGET_HEAD_DIM, shape->head_dim, origin);
  take(&taker, WO_BUDGET_VOCAB, shape->vocab, origin);
  take_layer(&report->input, shape);
}

void wo_budget_from_shape(const struct wo_model_shape *shape, struct wo_arena *arena, struct wo_budget_report *report) {
  take_whole_shape(shape, wo_arena_format(arena, "table of known shapes: %.*s", WO_SHOWN(shape->id)), arena, report);
}

void wo_budget_from_model(const struct wo_model_shape *shape, const struct wo_model_tensors *tensors, const char *path,
                          struct wo_arena *arena, struct wo_budget_report *report) {
  const struct taker taker = {NULL, arena, report};
  const struct wo_view origin = wo_arena_copy(arena, wo_view_of(path));
  if (shape->layers > 0) take_whole_shape(shape, origin, arena, report);
  report->input.file_dtype = dtype_choice(shape->dtype);
  const bool is_8bit = wo_view_has_nocase(shape->quantised, "fp8") || wo_view_has_nocase(shape->quantised, "int8");
  report->input.file_quantize = shape->quantised.len == 0 ? 0 : is_8bit ? WO_BUDGET_8BIT : WO_BUDGET_4BIT;
  if (shape->parameters == 0 && tensors->parameters > 0) take(&taker, WO_BUDGET_PARAMS, tensors->parameters, origin);
}

/* ---- Measured figures ---- */

static void add_figure(const struct taker *taker, const char *label, struct wo_value value, struct wo_view note) {
  struct wo_budget_report *const report = taker->report;
  if (report->figure_count == WO_LIMIT_BUDGET_FIGURES) return;
  report->figures[report->figure_count++] =
      (struct wo_budget_figure){wo_view_of(label), value.number, place_of(taker, value.evidence), note};
}

/* Bytes of the rows of one id. */
static double row_bytes(const struct wo_budget *budget, const char *id) {
  double sum = 0;
  for (size_t i = 0; i < budget->row_count; i++) {
    if (budget->rows[i].is_known && wo_view_is(budget->rows[i].id, id)) sum += budget->rows[i].bytes.mid;
  }
  return sum;
}

/* Less than the states: the failed step shows whether they did not exist yet, or whether less is kept than assumed. */
static struct wo_view note_below(const struct taker *taker, const char *allocated, const char *states, double rest) {
  const struct wo_value step = wo_facts_get(taker->facts, WO_VIEW("oom.step"));
  if (step.is_known && step.number.mid >= 2)
    return wo_arena_format(taker->arena, "%s < %s of model states after %.0f steps: less is kept than assumed here", allocated,
                           states, step.number.mid);
  return wo_arena_format(taker->arena,
                         "%s < %s of model states: it failed before the optimizer states existed, with %s beside the weights",
                         allocated, states, WO_BYTES_TEXT(rest));
}

/* Bytes of the failing rank at its peak, without the states. */
static double live_bytes(const struct taker *taker) {
  const struct wo_budget *const budget = &taker->report->budget;
  const struct wo_value rank = wo_facts_get(taker->facts, WO_VIEW("oom.rank"));
  double sum = row_bytes(budget, "activations") + row_bytes(budget, "logits") + row_bytes(budget, "buffers");
  for (size_t i = 0; i < budget->row_count; i++) {
    const struct wo_budget_row *const row = &budget->rows[i];
    if (rank.is_known && row->rank >= 0 && (double)row->rank == rank.number.mid) sum += row->bytes.mid;
  }
  return sum;
}

static void compare_allocated(const struct taker *taker) {
  const struct wo_value value = wo_facts_get(taker->facts, WO_VIEW("oom.allocated"));
  const struct wo_budget *const budget = &taker->report->budget;
  if (!value.is_known || budget->states.mid == 0) return;
  char rest[32];
  const double weights = row_bytes(budget, "weights") + row_bytes(budget, "embeddings") + row_bytes(budget, "adapters") +
                         row_bytes(budget, "frozen");
  const double live = live_bytes(taker);
  const char *const allocated = WO_BYTES_TEXT(value.number.mid);
  const char *const states = WO_BYTES_TEXT(budget->states.mid);
  struct wo_view note;
  if (value.number.hi < weights) {
    wo_units_bytes_text(weights, rest, sizeof rest);
    note = wo_arena_format(taker->arena, "%s < %s of weights: not all of them were there when it failed", allocated, rest);
  } else if (value.number.hi < budget->states.lo) {
    note = note_below(taker, allocated, states, value.number.mid - weights);
  } else if (value.number.lo < budget->states.mid) {
    const char *const low = WO_BYTES_TEXT(budget->states.lo);
    note = wo_arena_format(
        taker->arena, "within the range of the model states, %s to %s: they were not all there, or less is kept than assumed",
        low, states);
  } else {
    char computed[32];
    const double gap = value.number.mid - budget->states.mid;
    note =
        wo_arena_format(taker->arena, "%s less %s of model states = %s of activations and the rest; computed at their peak: %s%s",
                        allocated, states, wo_units_bytes_text(gap, rest, sizeof rest),
                        wo_units_bytes_text(live, computed, sizeof computed), budget->is_complete ? "" : ", not all of it known");
  }
  add_figure(taker, "allocated by PyTorch", value, note);
}

/* `more`: bytes of the refused request, or 0. */
static void compare_total(const struct taker *taker, const char *label, const char *fact, double more) {
  const struct wo_value value = wo_facts_get(taker->facts, wo_view_of(fact));
  const struct wo_interval total = taker->report->budget.total;
  if (!value.is_known || total.mid == 0) return;
  const double difference = value.number.mid + more - total.mid;
  const char *const gap = WO_BYTES_TEXT(fabs(difference));
  const char *const with = WO_BYTES_TEXT(value.number.mid + more);
  const char *const asked = WO_BYTES_TEXT(more);
  const char *const where = difference > 0 ? "more than computed: the allocator's cache and pieces, temporaries, other tensors"
                                           : "less than computed: a peak that was not reached or not sampled, or less is kept";
  add_figure(taker, label, value,
             more > 0 ? wo_arena_format(taker->arena, "with the refused %s it would be %s, %s %s", asked, with, gap, where)
                      : wo_arena_format(taker->arena, "%s %s", gap, where));
}

/* If tensors in use and the refused request are more than the card has, the job does not fit, whatever the components say, and it
 * has memory that is in none of them. Cached memory is left out: it can be given back. */
static void overrule(const struct taker *taker) {
  struct wo_budget *const budget = &taker->report->budget;
  const struct wo_value allocated = wo_facts_get(taker->facts, WO_VIEW("oom.allocated"));
  const struct wo_value tried = wo_facts_get(taker->facts, WO_VIEW("oom.tried"));
  const double capacity = taker->report->input.values[WO_BUDGET_CAPACITY];
  if (!allocated.is_known || !tried.is_known || capacity == 0 || budget->verdict == WO_BUDGET_NOT_FIT) return;
  if (allocated.number.lo + tried.number.lo <= capacity) return;
  budget->seen = (struct wo_interval){allocated.number.lo + tried.number.lo, allocated.number.mid + tried.number.mid,
                                      allocated.number.hi + tried.number.hi};
  budget->verdict = WO_BUDGET_NOT_FIT;
  budget->margin = capacity - budget->seen.mid;
  budget->has_batches = false;
}

/* Totals are compared only if the run had all its states and its figures do not contradict each other. */
void wo_budget_compare(const struct wo_facts *facts, struct wo_arena *arena, struct wo_budget_report *report) {
  const struct taker taker = {facts, arena, report};
  const struct wo_value allocated = wo_facts_get(facts, WO_VIEW("oom.allocated"));
  if (wo_facts_get(facts, WO_VIEW("oom.contradiction")).is_known) return;
  compare_allocated(&taker);
  overrule(&taker);
  const struct wo_value tried = wo_facts_get(facts, WO_VIEW("oom.tried"));
  if (allocated.is_known && allocated.number.hi < report->budget.states.lo) return;
  compare_total(&taker, "this process on the card", "oom.process", tried.is_known ? tried.number.mid : 0);
  compare_total(&taker, "highest reserved", "summary.reserved_peak", 0);
  compare_total(&taker, "highest in a trace, of whichever run it is", "dmon.fb_peak", 0);
}
