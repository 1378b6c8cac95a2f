/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the model. See model.h.
 *
 * A job can have several: an actor with a critic and a reference, frozen models with a trained bridge between them. They are
 * separated by name; only counts of models that are printed as frozen are added. */
#include "analyzer/facts/model.h"

#include <assert.h>

#include "analyzer/facts/facts_internal.h"
#include "analyzer/files/names.h"
#include "parsers/base/units.h"

/* Bytes per parameter of Adam's moments in fp32, besides weights and gradients. */
#define ADAM_FP32_BYTES 8.0

/* A weight has at most 4 bytes in every number format, but files and buffers add a little. */
#define WEIGHT_BYTES_MAX 4.5

/* A line gives the number format of the model if it counts at least this share of the parameters. */
#define DTYPE_SHARE_MIN 0.9

#define FROZEN_MAX 8
#define SHARDS_MAX 64

struct model_dim {
  const char *knob;
  size_t offset;
  const char *label;
  const char *fact;
};

static const struct model_dim dims[] = {
#define WO_MODEL_DIM_ROW(code, knob, member, label, fact) [code] = {knob, offsetof(struct wo_model_shape, member), label, fact},
    WO_MODEL_DIM_MAP(WO_MODEL_DIM_ROW)
#undef WO_MODEL_DIM_ROW
};

const char *wo_model_dim_label(enum wo_model_dim dim) {
  assert(dim < WO_MODEL_DIM_COUNT_);
  return dims[dim].label;
}

static double table_value(const struct wo_model_shape *shape, enum wo_model_dim dim) {
  double value = 0;
  memcpy(&value, (const char *)shape + dims[dim].offset, sizeof value);
  return value;
}

/* ---- Names and shapes ---- */

/* Whether a setting names a model: the trained one or another one. */
static bool is_name_key(const struct wo_facts *facts, struct wo_view key) {
  static const struct wo_view knobs[] = {{"model_name", 10}, {"other_model_name", 16}};
  for (size_t i = 0; i < sizeof knobs / sizeof knobs[0]; i++) {
    const struct wo_knob *const knob = wo_pack_knob(facts->pack, knobs[i]);
    if (knob && wo__facts_alias(knob, key)) return true;
  }
  return false;
}

/* The name or path of a model that an event gives, or an empty view. */
static struct wo_view name_of(const struct wo_facts *facts, const struct wo_event *event) {
  if (event->is_quoted) return (struct wo_view){0};
  if (event->kind == WO_KIND_MODEL) return wo_event_text(event, WO_FIELD_NAME);
  if (event->kind != WO_KIND_CONFIG || !is_name_key(facts, wo_event_text(event, WO_FIELD_KEY))) return (struct wo_view){0};
  return wo_event_text(event, WO_FIELD_VALUE);
}

/* The known models that the job names, each once; a name with and without -Instruct is one shape. */
static size_t list_known(const struct wo_facts *facts, struct wo_job_model *models, size_t cap) {
  size_t count = 0;
  for (size_t i = 0; i < facts->job->events.count && count < cap; i++) {
    const struct wo_event *const event = &facts->job->events.items[i];
    const struct wo_view name = name_of(facts, event);
    const struct wo_model_shape *const shape = name.len > 0 ? wo_model_shape_find(facts->pack, name) : NULL;
    size_t at = 0;
    while (at < count && models[at].shape != shape) at++;
    /* A job that names a pipeline may train a part of it. */
    if (!shape || at < count || shape->pipeline.denoiser > 0) continue;
    models[count] = (struct wo_job_model){.shape = shape, .evidence = event->id};
    for (int dim = 0; dim < WO_MODEL_DIM_COUNT_; dim++) {
      models[count].dims[dim] = (struct wo_model_number){table_value(shape, (enum wo_model_dim)dim), true, event->id};
    }
    count++;
  }
  return count;
}

/* Reads the printed dimensions; false if there are none. */
static bool read_printed(const struct wo_facts *facts, struct wo_job_model *ret_model) {
  bool is_any = false;
  *ret_model = (struct wo_job_model){.evidence = WO_EVENT_NONE};
  for (int dim = 0; dim < WO_MODEL_DIM_COUNT_; dim++) {
    const struct wo_setting *const setting = wo_facts_setting(facts, wo_view_of(dims[dim].knob));
    if (!setting || !setting->value.is_known || setting->value.number.mid < 1) continue;
    ret_model->dims[dim] = (struct wo_model_number){setting->value.number.mid, false, setting->event->id};
    is_any = true;
  }
  return is_any;
}

/* Whether the printed dimensions fit a known model; if not, they belong to another one. */
static bool agrees(const struct wo_job_model *printed, const struct wo_model_shape *shape) {
  for (int dim = 0; dim < WO_MODEL_DIM_COUNT_; dim++) {
    if (dim == WO_MODEL_VOCAB || printed->dims[dim].value == 0) continue;
    if (printed->dims[dim].value != table_value(shape, (enum wo_model_dim)dim)) return false;
  }
  return true;
}

size_t wo_models_list(const struct wo_facts *facts, struct wo_job_model models[WO_LIMIT_JOB_MODELS]) {
  struct wo_job_model printed;
  const bool has_printed = read_printed(facts, &printed);
  const size_t room = has_printed ? WO_LIMIT_JOB_MODELS - 1 : WO_LIMIT_JOB_MODELS;
  const size_t known = list_known(facts, models, room);
  if (!has_printed) return known;
  if (known == 1 && agrees(&printed, models[0].shape)) {
    for (int dim = 0; dim < WO_MODEL_DIM_COUNT_; dim++) {
      if (printed.dims[dim].value > 0) models[0].dims[dim] = printed.dims[dim];
    }
    return 1;
  }
  memmove(&models[1], models, known * sizeof *models);
  models[0] = printed;
  return known + 1;
}

/* With several models, a dimension that is not printed cannot be assigned to one of them. */
static void read_shape(struct wo_facts *facts) {
  struct wo_job_model models[WO_LIMIT_JOB_MODELS];
  const size_t count = wo_models_list(facts, models);
  if (count == 0) return;
  for (int dim = 0; dim < WO_MODEL_DIM_COUNT_; dim++) {
    const struct wo_model_number number = models[0].dims[dim];
    if (!dims[dim].fact || number.value == 0 || (count > 1 && number.is_assumed)) continue;
    wo__set_number(facts, dims[dim].fact, number.value, number.evidence);
  }
  const struct wo_model_shape *const shape = models[0].shape;
  if (count > 1 || !shape) return;
  wo__set_text(facts, "model.table", wo_arena_format(facts->arena, "table of known shapes: %.*s", WO_SHOWN(shape->id)),
               models[0].evidence);
  wo__set_number(facts, "model.table_parameters", shape->parameters, models[0].evidence);
}

/* The name is a setting, or the first printed name that is a path or a known model; "bridge: 412 M parameters" names a part. With
 * several known models the name stays unknown. */
static void read_name(struct wo_facts *facts) {
  const struct wo_setting *const setting = wo_facts_setting(facts, WO_VIEW("model_name"));
  struct wo_job_model known[WO_LIMIT_JOB_MODELS];
  if (setting) wo__set_text(facts, "model.name", setting->value.text, setting->event->id);
  if (setting || list_known(facts, known, WO_LIMIT_JOB_MODELS) > 1) return;
  wo_each_event (event, &facts->job->events) {
    const struct wo_view name = event->kind == WO_KIND_MODEL ? name_of(facts, event) : (struct wo_view){0};
    if (name.len == 0 || (wo_view_find_char(name, '/', 0) == WO_NOT_FOUND && !wo_model_shape_find(facts->pack, name))) continue;
    wo__set_text(facts, "model.name", name, event->id);
    return;
  }
}

/* ---- Counts ---- */

/* A printed count. */
struct count {
  struct wo_interval number;
  const struct wo_event *event; /* NULL: none */
};

/* All printed counts of models. */
struct counts {
  struct count all;       /* the largest */
  struct count trainable; /* the largest */
  struct count frozen[FROZEN_MAX];
  size_t frozen_count;
  struct count shards[SHARDS_MAX]; /* one per place in the model-parallel grid */
  size_t shard_count;
};

/* The largest count is that of the model: layers, adapters and value heads print their counts in the same words. */
static void keep_largest(struct count *kept, const struct wo_event *event, enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  if (field && field->number.mid > kept->number.mid) *kept = (struct count){field->number, event};
}

/* Ranks repeat each other's lines: the same name with the same count is one model. */
static void keep_distinct(struct count *kept, size_t *count, size_t cap, const struct wo_event *event) {
  const struct wo_field *const field = wo_event_field(event, WO_FIELD_PARAMETERS);
  const struct wo_view name = wo_event_text(event, WO_FIELD_NAME);
  if (!field || *count == cap) return;
  for (size_t i = 0; i < *count; i++) {
    if (kept[i].number.mid == field->number.mid && wo_view_equal(wo_event_text(kept[i].event, WO_FIELD_NAME), name)) return;
  }
  kept[(*count)++] = (struct count){field->number, event};
}

/* Quoted lines count for shards: Megatron begins these lines with "> ", as quoted mail does. */
static void read_counts(const struct wo_facts *facts, struct counts *counts) {
  *counts = (struct counts){.frozen_count = 0};
  wo_each_event (event, &facts->job->events) {
    const struct wo_view state = wo_event_text(event, WO_FIELD_STATE);
    const bool is_shard = wo_view_is(state, "shard");
    if (event->kind != WO_KIND_MODEL || (event->is_quoted && !is_shard)) continue;
    if (is_shard) {
      keep_distinct(counts->shards, &counts->shard_count, SHARDS_MAX, event);
    } else if (wo_view_is(state, "frozen")) {
      keep_distinct(counts->frozen, &counts->frozen_count, FROZEN_MAX, event);
    } else {
      keep_largest(&counts->all, event, WO_FIELD_PARAMETERS);
      keep_largest(&counts->trainable, event, WO_FIELD_TRAINABLE_PARAMETERS);
    }
  }
}

static struct wo_interval sum_of(const struct count *counts, size_t count) {
  struct wo_interval sum = {0, 0, 0};
  for (size_t i = 0; i < count; i++) {
    sum.lo += counts[i].number.lo;
    sum.mid += counts[i].number.mid;
    sum.hi += counts[i].number.hi;
  }
  return sum;
}

/* The number of parts by the settings of the grid, which are printed with it; 0 if unknown. */
static double grid_size(const struct wo_facts *facts) {
  const struct wo_setting *const tensor = wo_facts_setting(facts, WO_VIEW("tensor_parallel"));
  const struct wo_setting *const pipeline = wo_facts_setting(facts, WO_VIEW("pipeline_parallel"));
  return tensor && pipeline && tensor->value.is_known && pipeline->value.is_known
             ? tensor->value.number.mid * pipeline->value.number.mid
             : 0;
}

/* The count of the trained model: printed as a whole, or the sum of all parts of the grid, or, besides frozen models, the
 * trainable count. */
static struct count trained_count(const struct wo_facts *facts, const struct counts *counts) {
  if (counts->all.event) return counts->all;
  if (counts->shard_count > 0 && (double)counts->shard_count == grid_size(facts)) {
    return (struct count){sum_of(counts->shards, counts->shard_count), counts->shards[0].event};
  }
  return counts->frozen_count > 0 ? counts->trainable : (struct count){{0, 0, 0}, NULL};
}

/* ---- Number format, states ---- */

/* Bytes of one weight in a number format, or 0. */
static double bytes_of_dtype(struct wo_view dtype) {
  static const struct {
    const char *name;
    double bytes;
  } rows[] = {{"bf16", 2}, {"bfloat16", 2}, {"fp16", 2}, {"float16", 2}, {"half", 2}, {"16", 2},
              {"fp32", 4}, {"float32", 4},  {"32", 4},   {"fp8", 1},     {"int8", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_has_nocase(dtype, rows[i].name)) return rows[i].bytes;
  }
  return 0;
}

/* A setting that names the type of the weights itself, of those beside the one that counts: `--bf16 True --torch_dtype bfloat16`
 * are two spellings of one knob, in any order. NULL for none. */
static const struct wo_event *find_dtype(const struct wo_facts *facts, const struct wo_setting *setting) {
  wo_each_event (event, &facts->job->events) {
    if (event->kind != WO_KIND_CONFIG || !wo_facts_is_counted(facts->job, event)) continue;
    const struct wo_alias *const alias = wo_facts_event_alias(setting->knob, event);
    const bool is_named = alias != NULL && wo_view_has(alias->key, "dtype") && !wo_view_has(alias->key, "compute");
    if (is_named && bytes_of_dtype(wo_event_text(event, WO_FIELD_VALUE)) > 0) return event;
  }
  return NULL;
}

/* `fp16=True` switches autocast on, which does not change the weights. A key with the type itself, or the line with the count,
 * gives their size. Returns the bytes of a weight, or 0. */
static double read_dtype(struct wo_facts *facts, const struct wo_event *count_event) {
  const struct wo_setting *const setting = wo_facts_setting(facts, WO_VIEW("dtype"));
  const bool is_named = setting && wo_view_has(wo_event_text(setting->event, WO_FIELD_KEY), "dtype");
  const struct wo_event *const other = setting && !is_named ? find_dtype(facts, setting) : NULL;
  struct wo_view dtype = {0};
  wo_event_id evidence = WO_EVENT_NONE;
  if (is_named) {
    dtype = setting->value.text;
    evidence = setting->event->id;
  } else if (other) {
    dtype = wo_event_text(other, WO_FIELD_VALUE);
    evidence = other->id;
  } else if (count_event) {
    dtype = wo_event_text(count_event, WO_FIELD_DTYPE);
    evidence = count_event->id;
  }
  const double bytes = bytes_of_dtype(dtype);
  if (bytes == 0) return 0;
  wo__set_text(facts, "model.dtype", dtype, evidence);
  wo__set_number(facts, "model.bytes_per_parameter", bytes, evidence);
  return bytes;
}

/* Weights, gradients and Adam's two moments of one unsharded replica. Gradients and moments exist for trainable parameters only.
 * The interval runs from everything in 16 bits to 32-bit moments with a 32-bit copy of the weights. */
static void read_states(struct wo_facts *facts, double parameters, double trainable, double weight_bytes, wo_event_id evidence) {
  const double frozen = (parameters - trainable) * (weight_bytes > 0 ? weight_bytes : 2.0);
  struct wo_interval per = {8, 16, 16};
  if (weight_bytes == 4) per = (struct wo_interval){16, 16, 16};
  if (weight_bytes == 2) per = (struct wo_interval){8, 4 + ADAM_FP32_BYTES, 16};
  const struct wo_interval states = {frozen + trainable * per.lo, frozen + trainable * per.mid, frozen + trainable * per.hi};
  wo_facts_set(facts, "model.states", wo_value_number(WO_UNIT_BYTES, states), evidence);
}

/* Weights of the models that are printed as frozen, if every count has a number format. */
static void read_frozen(struct wo_facts *facts, const struct counts *counts) {
  double bytes = 0;
  bool is_known = true;
  if (counts->frozen_count == 0) return;
  for (size_t i = 0; i < counts->frozen_count; i++) {
    const double per = bytes_of_dtype(wo_event_text(counts->frozen[i].event, WO_FIELD_DTYPE));
    is_known = is_known && per > 0;
    bytes += counts->frozen[i].number.mid * per;
  }
  const wo_event_id evidence = counts->frozen[0].event->id;
  const struct wo_interval sum = sum_of(counts->frozen, counts->frozen_count);
  wo__set_number(facts, "model.frozen_parameters", sum.mid, evidence);
  if (is_known) wo__set_number(facts, "model.frozen_weights", bytes, evidence);
}

/* Compares the printed size of the weights with the count: a weight has at most four bytes. Parts of a model (tensor parallel)
 * and quantised models are smaller, so only a too large size is a contradiction. */
static void read_weights(struct wo_facts *facts, const struct count *trained, const struct counts *counts) {
  struct count weights = {{0, 0, 0}, NULL};
  wo_each_event (event, &facts->job->events) {
    if (event->kind == WO_KIND_MODEL && !event->is_quoted) keep_largest(&weights, event, WO_FIELD_PARAMETER_BYTES);
  }
  if (!weights.event) return;
  wo_facts_set(facts, "model.weights", wo_value_number(WO_UNIT_BYTES, weights.number), weights.event->id);
  const bool is_one_model = trained->event && counts->frozen_count == 0;
  if (!is_one_model || weights.number.lo <= trained->number.hi * WEIGHT_BYTES_MAX) return;
  wo__set_text(facts, "model.contradiction",
               wo_arena_format(facts->arena, "weights of %s do not follow from %.0f parameters: %s in fp32, %s in 16 bits",
                               WO_BYTES_TEXT(weights.number.mid), trained->number.mid, WO_BYTES_TEXT(trained->number.mid * 4),
                               WO_BYTES_TEXT(trained->number.mid * 2)),
               weights.event->id);
}

/* Printed configurations show "none" if weights are not quantised. */
static bool is_quantised(const struct wo_facts *facts) {
  static const char *const unused[] = {"none", "null", "false", "no", ""};
  const struct wo_setting *const format = wo_facts_setting(facts, WO_VIEW("quantization"));
  return format && !WO_VIEW_ANY(format->value.text, wo_view_is_nocase, unused);
}

/* Adapters leave most weights frozen, and quantised weights are not trained: only a printed count of trainable ones shows how
 * many are. Printed configurations show rank 0 if no adapters are used. */
static bool is_part_unknown(const struct wo_facts *facts, const struct counts *counts) {
  const struct wo_setting *const rank = wo_facts_setting(facts, WO_VIEW("lora_rank"));
  return !counts->trainable.event && (is_quantised(facts) || (rank && rank->value.number.mid >= 1));
}

/* The line that gives the number format with a count: the line of the trained count, or else of most of its parameters. Several
 * lines may print the same count, and adapters add little to the count of the base model. */
static const struct wo_event *dtype_event(const struct wo_facts *facts, const struct count *trained) {
  const struct wo_event *best = trained->event;
  if (best == NULL || wo_event_field(best, WO_FIELD_DTYPE) || is_quantised(facts)) return best;
  double most = trained->number.mid * DTYPE_SHARE_MIN;
  wo_each_event (event, &facts->job->events) {
    const bool is_frozen = wo_view_is(wo_event_text(event, WO_FIELD_STATE), "frozen");
    if (event->kind != WO_KIND_MODEL || event->is_quoted || is_frozen || !wo_event_field(event, WO_FIELD_DTYPE)) continue;
    const double number = wo_event_number(event, WO_FIELD_PARAMETERS, wo_event_number(event, WO_FIELD_TRAINABLE_PARAMETERS, 0));
    if (number <= most || number > trained->number.mid) continue;
    most = number;
    best = event;
  }
  return best;
}

/* ---- Sharding ---- */

/* A file with DeepSpeed's settings is named, but its sharding is unknown. */
static bool is_stage_unknown(const struct wo_facts *facts, const struct wo_setting *stage) {
  const struct wo_setting *const file = wo_facts_setting(facts, WO_VIEW("deepspeed_config"));
  return stage == NULL && file && wo_view_has(file->value.text, ".json");
}

/* ZeRO, FSDP or a trainer that shards by itself (verl). Without a setting nothing is sharded. */
static void read_sharding(struct wo_facts *facts) {
  static const char *const plain[] = {"none", "false", "off", "[]", "ddp", "no_shard", ""};
  const struct wo_setting *stage = wo_facts_setting(facts, WO_VIEW("zero_stage"));
  const struct wo_setting *sharding = wo_facts_setting(facts, WO_VIEW("sharding"));
  const struct wo_setting *mini_batch = wo_facts_setting(facts, WO_VIEW("mini_batch"));
  bool is_sharded = mini_batch != NULL || (stage && stage->value.is_known && stage->value.number.mid >= 1);
  if (sharding && !WO_VIEW_ANY(sharding->value.text, wo_view_is_nocase, plain)) is_sharded = true;
  if (!is_sharded && is_stage_unknown(facts, stage)) return;
  wo__set_bool(facts, "model.is_sharded", is_sharded, sharding ? sharding->event->id : stage ? stage->event->id : WO_EVENT_NONE);
}

void wo__facts_model(struct wo_facts *facts) {
  struct counts counts;
  read_sharding(facts);
  read_counts(facts, &counts);
  read_name(facts);
  read_shape(facts);
  const struct count trained = trained_count(facts, &counts);
  const struct count trainable = counts.trainable;
  const double weight_bytes = read_dtype(facts, dtype_event(facts, &trained));
  if (trainable.event) {
    wo__set_number(facts, "model.trainable_parameters", trainable.number.mid, trainable.event->id);
  }
  read_frozen(facts, &counts);
  read_weights(facts, &trained, &counts);
  if (!trained.event) return;
  const double parameters = trained.number.mid;
  const bool has_part = trainable.event && trainable.number.mid < parameters;
  wo__set_number(facts, "model.parameters", parameters, trained.event->id);
  if (is_part_unknown(facts, &counts)) return;
  read_states(facts, parameters, has_part ? trainable.number.mid : parameters, weight_bytes, trained.event->id);
}
