/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of transformers, and headers of safetensors. See model_config.h. */
#include "analyzer/model/model_config.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "parsers/base/view.h"

#define NUMBER_MAX 1e9

/* A model_type of transformers: the architecture that counts its parameters, and what its configuration leaves out. Checklist: a
 * further type is one row. */
static const struct model_type {
  char name[16];
  char architecture[12];
  bool is_tied;    /* unless the file says otherwise */
  bool has_learnt; /* positions */
  int more;        /* positions than it states */
  double vocab;    /* these where it leaves them out, as files of a text within another model do */
  double heads;
  double kv_heads;
  double head_dim;
} model_types[] = {
    {"llama", "llama", false, false, 0, 0, 0, 0, 0},
    {"mistral", "llama", false, false, 0, 0, 0, 0, 0},
    {"mixtral", "llama", false, false, 0, 0, 0, 0, 0},
    {"qwen2_moe", "qwen2_moe", false, false, 0, 0, 0, 0, 0},
    {"qwen3_moe", "qwen3", false, false, 0, 0, 0, 0, 0},
    {"olmoe", "olmoe", false, false, 0, 0, 0, 0, 0},
    {"deepseek_v2", "deepseek", false, false, 0, 0, 0, 0, 0},
    {"deepseek_v3", "deepseek", false, false, 0, 0, 0, 0, 0},
    {"qwen2", "qwen2", false, false, 0, 0, 0, 0, 0},
    {"qwen3", "qwen3", false, false, 0, 0, 0, 0, 0},
    {"gemma", "gemma", true, false, 0, 256000, 16, 16, 256},
    {"gemma2", "gemma2", true, false, 0, 256000, 8, 4, 256},
    {"gemma3_text", "gemma3", true, false, 0, 262208, 8, 4, 256},
    {"gemma3", "gemma3", true, false, 0, 262208, 8, 4, 256},
    {"olmo2", "olmo2", false, false, 0, 0, 0, 0, 0},
    {"olmo3", "olmo2", false, false, 0, 0, 0, 0, 0},
    {"granite", "llama", false, false, 0, 0, 0, 0, 0},
    {"granitemoe", "llama", true, false, 0, 0, 0, 0, 0},
    {"cohere", "cohere", true, false, 0, 0, 0, 0, 0},
    {"glm4", "glm4", false, false, 0, 0, 0, 0, 0},
    {"phimoe", "phimoe", false, false, 0, 0, 0, 0, 0},
    {"gpt_oss", "gpt_oss", false, false, 0, 0, 0, 0, 0},
    {"kimi_k2", "deepseek", false, false, 0, 0, 0, 0, 0},
    {"hunyuan_v1_moe", "qwen3", true, false, 0, 0, 0, 0, 0},
    {"roberta", "roberta", true, true, 0, 0, 0, 0, 0},
    {"xlm-roberta", "roberta", true, true, 0, 0, 0, 0, 0},
    {"phi3", "phi3", false, false, 0, 0, 0, 0, 0},
    {"phi", "phi", false, false, 0, 0, 0, 0, 0},
    {"gpt2", "gpt2", true, true, 0, 0, 0, 0, 0},
    {"gpt_neox", "gpt_neox", false, false, 0, 0, 0, 0, 0},
    {"opt", "opt", true, true, 2, 0, 0, 0, 0},
    {"bert", "bert", true, true, 0, 0, 0, 0, 0},
    {"bloom", "bloom", true, false, 0, 0, 0, 0, 0},
    {"falcon", "falcon", true, false, 0, 0, 0, 0, 0},
    {"gptj", "gptj", false, false, 0, 0, 0, 0, 0},
};

static const struct model_type *find_type(struct wo_view name) {
  for (size_t i = 0; i < sizeof model_types / sizeof model_types[0]; i++) {
    if (wo_view_is(name, model_types[i].name)) return &model_types[i];
  }
  return NULL;
}

/* ---- Values ---- */

struct reader {
  const cJSON *root;
  struct wo_err *err;
  bool is_refused; /* a number that cannot be; err has it */
};

/* The number of the first of two keys that is there, or `other`. */
static double number_of(struct reader *reader, const char *key, const char *second, double other) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(reader->root, key);
  if (second && !cJSON_IsNumber(item)) item = cJSON_GetObjectItemCaseSensitive(reader->root, second);
  if (!cJSON_IsNumber(item)) return other;
  const double number = item->valuedouble;
  if (number == 0) return other; /* some write what a model has none of as 0 */
  if (number >= 1 && number <= NUMBER_MAX && number == floor(number)) return number;
  if (!reader->is_refused)
    wo_err_set(reader->err, WO_E_RANGE, "\"%s\" is %g: a whole number from 1 to 1e9 was expected", item->string, number);
  reader->is_refused = true;
  return other;
}

static void refuse(struct reader *reader, const char *why) {
  if (!reader->is_refused) wo_err_set(reader->err, WO_E_RANGE, "%s", why);
  reader->is_refused = true;
}

static bool flag_of(const struct reader *reader, const char *key, bool other) {
  const cJSON *const item = cJSON_GetObjectItemCaseSensitive(reader->root, key);
  return cJSON_IsBool(item) ? cJSON_IsTrue(item) != 0 : other;
}

static struct wo_view text_of(const cJSON *root, const char *key) {
  const cJSON *const item = cJSON_GetObjectItemCaseSensitive(root, key);
  return cJSON_IsString(item) ? wo_view_of(item->valuestring) : (struct wo_view){0};
}

/* ---- config.json ---- */

static void read_heads(struct reader *reader, const struct model_type *type, struct wo_model_shape *shape) {
  shape->heads = number_of(reader, "num_attention_heads", "n_head", type ? type->heads : 0);
  const double groups = type && type->kv_heads > 0 ? type->kv_heads : shape->heads;
  shape->kv_heads = number_of(reader, "num_key_value_heads", "num_kv_heads", groups);
  if (shape->kv_heads > shape->heads) refuse(reader, "\"num_key_value_heads\" is more than \"num_attention_heads\"");
  if (flag_of(reader, "multi_query", false) && !flag_of(reader, "new_decoder_architecture", false)) shape->kv_heads = 1;
  const double even = shape->heads > 0 ? floor(shape->hidden / shape->heads) : 0;
  shape->head_dim = number_of(reader, "head_dim", NULL, type && type->head_dim > 0 ? type->head_dim : even);
}

static void read_experts(struct reader *reader, struct wo_model_shape *shape) {
  struct wo_model_experts *const experts = &shape->experts;
  experts->count = number_of(reader, "num_local_experts", "num_experts", number_of(reader, "n_routed_experts", NULL, 0));
  if (experts->count < 2) {
    *experts = (struct wo_model_experts){.count = 0};
    return;
  }
  experts->per_token = number_of(reader, "num_experts_per_tok", "num_experts_per_token", number_of(reader, "moe_topk", NULL, 0));
  if (experts->per_token > experts->count) refuse(reader, "a token goes to more experts than there are");
  experts->width = number_of(reader, "moe_intermediate_size", NULL, shape->intermediate);
  experts->shared_width = number_of(reader, "shared_expert_intermediate_size", NULL,
                                    number_of(reader, "n_shared_experts", "num_shared_experts", 0) * experts->width);
  const double step = number_of(reader, "decoder_sparse_step", NULL, 1);
  const cJSON *const plain = cJSON_GetObjectItemCaseSensitive(reader->root, "mlp_only_layers");
  const double dense = shape->layers - floor(shape->layers / step) + (cJSON_IsArray(plain) ? cJSON_GetArraySize(plain) : 0);
  experts->dense_layers = number_of(reader, "first_k_dense_replace", NULL, dense);
}

static void read_latent(struct reader *reader, struct wo_model_latent *latent) {
  latent->rank = number_of(reader, "kv_lora_rank", NULL, 0);
  if (latent->rank == 0) return;
  latent->query_rank = number_of(reader, "q_lora_rank", NULL, 0);
  latent->plain = number_of(reader, "qk_nope_head_dim", NULL, 128);
  latent->rotary = number_of(reader, "qk_rope_head_dim", NULL, 64);
  latent->value = number_of(reader, "v_head_dim", NULL, 128);
}

/* A window, if some layers have one: how many tokens it sees, and which layer out of how many has none. */
static void read_window(struct reader *reader, struct wo_model_shape *shape) {
  const cJSON *layer = NULL;
  double full = 0, sliding = 0;
  if (!flag_of(reader, "use_sliding_window", true)) return;
  shape->window = number_of(reader, "sliding_window", NULL, 0);
  const bool is_every_other = wo_view_is(shape->architecture, "gemma2");
  const double pattern = wo_view_is(shape->architecture, "gemma3") ? 6 : is_every_other ? 2 : 0;
  shape->full_every = number_of(reader, "sliding_window_pattern", NULL, pattern);
  cJSON_ArrayForEach(layer, cJSON_GetObjectItemCaseSensitive(reader->root, "layer_types")) {
    if (!cJSON_IsString(layer)) continue;
    if (strcmp(layer->valuestring, "full_attention") == 0) full++;
    if (strcmp(layer->valuestring, "sliding_attention") == 0) sliding++;
  }
  if (full > 0 && sliding == 0) shape->window = 0;
  if (full > 0 && sliding > 0) shape->full_every = (full + sliding) / full;
}

/* The format of the weights in the files, and how they are quantised: as the outer object says. */
static void read_formats(const cJSON *outer, struct wo_arena *arena, struct wo_model_shape *shape) {
  const cJSON *const quantised = cJSON_GetObjectItemCaseSensitive(outer, "quantization_config");
  const struct wo_view name = text_of(outer, "torch_dtype"), newer = text_of(outer, "dtype");
  shape->dtype = wo_arena_copy(arena, newer.len > 0 ? newer : name);
  shape->quantised = wo_arena_copy(arena, cJSON_IsObject(quantised) ? text_of(quantised, "quant_method") : (struct wo_view){0});
}

static void read_shape(struct reader *reader, struct wo_arena *arena, struct wo_model_shape *shape) {
  const struct wo_view name = text_of(reader->root, "model_type");
  const struct model_type *const type = find_type(name);
  shape->id = wo_arena_copy(arena, name.len > 0 ? name : WO_VIEW("model"));
  shape->architecture = type ? wo_arena_copy(arena, wo_view_of(type->architecture)) : (struct wo_view){0};
  shape->layers = number_of(reader, "num_hidden_layers", "n_layer", 0);
  shape->hidden = number_of(reader, "hidden_size", "n_embd", 0);
  if (shape->hidden == 0) shape->hidden = number_of(reader, "n_embed", NULL, 0);
  shape->intermediate = number_of(reader, "intermediate_size", "ffn_dim", 0);
  if (shape->intermediate == 0) shape->intermediate = number_of(reader, "n_inner", NULL, 4 * shape->hidden);
  read_heads(reader, type, shape);
  shape->vocab = number_of(reader, "vocab_size", NULL, type ? type->vocab : 0);
  read_experts(reader, shape);
  read_latent(reader, &shape->latent);
  if (type && type->has_learnt) shape->positions = number_of(reader, "max_position_embeddings", "n_positions", 0) + type->more;
  read_window(reader, shape);
  shape->is_tied = flag_of(reader, "tie_word_embeddings", type && type->is_tied);
}

enum wo_status wo_model_config_read(struct wo_view json, struct wo_arena *arena, struct wo_model_shape *ret_shape,
                                    struct wo_err *err) {
  assert(arena && ret_shape && err && (json.ptr || json.len == 0));
  *ret_shape = (struct wo_model_shape){.layers = 0};
  cJSON *const root = cJSON_ParseWithLength(json.len > 0 ? json.ptr : "", json.len);
  if (!cJSON_IsObject(root)) {
    cJSON_Delete(root);
    return wo_err_set(err, WO_E_SYNTAX, "a JSON object was expected, as save_pretrained writes it");
  }
  const cJSON *const inner = cJSON_GetObjectItemCaseSensitive(root, "text_config");
  struct reader reader = {.root = cJSON_IsObject(inner) ? inner : root, .err = err};
  read_shape(&reader, arena, ret_shape);
  read_formats(root, arena, ret_shape);
  if (ret_shape->dtype.len == 0) read_formats(reader.root, arena, ret_shape);
  cJSON_Delete(root);
  if (reader.is_refused) return WO_E_RANGE;
  if (ret_shape->layers == 0 || ret_shape->hidden == 0 || ret_shape->heads == 0)
    return wo_err_set(err, WO_E_UNKNOWN, "it has no \"num_hidden_layers\", \"hidden_size\" and \"num_attention_heads\"");
  /* A count without the tables of the vocabulary would be taken for the whole. */
  ret_shape->parameters = ret_shape->vocab > 0 ? wo_model_shape_parameters(ret_shape) : 0;
  return wo_arena_is_exhausted(arena) ? WO_E_NOMEM : WO_OK;
}

/* ---- safetensors ---- */

/* The numbers of a tensor, or -1 for a shape that is none. */
static double count_of(const cJSON *shape) {
  double count = 1;
  const cJSON *size = NULL;
  if (!cJSON_IsArray(shape)) return -1;
  cJSON_ArrayForEach(size, shape) {
    if (!cJSON_IsNumber(size) || size->valuedouble < 0 || size->valuedouble != floor(size->valuedouble) ||
        size->valuedouble > 1e15)
      return -1;
    count *= size->valuedouble;
  }
  return count <= 1e15 ? count : -1;
}

enum wo_status wo_model_tensors_add(struct wo_view header, struct wo_model_tensors *tensors, struct wo_err *err) {
  assert(tensors && err && (header.ptr || header.len == 0));
  cJSON *const root = cJSON_ParseWithLength(header.len > 0 ? header.ptr : "", header.len);
  const cJSON *tensor = NULL;
  struct wo_model_tensors sum = *tensors;
  if (!cJSON_IsObject(root)) {
    cJSON_Delete(root);
    return wo_err_set(err, WO_E_SYNTAX, "its header is no JSON object: it is cut off, or no safetensors file");
  }
  cJSON_ArrayForEach(tensor, root) {
    if (strcmp(tensor->string, "__metadata__") == 0) continue;
    const double count = count_of(cJSON_GetObjectItemCaseSensitive(tensor, "shape"));
    if (count < 0) {
      wo_err_set(err, WO_E_SYNTAX, "\"%.60s\" has no shape in its header", tensor->string);
      cJSON_Delete(root);
      return WO_E_SYNTAX;
    }
    sum.parameters += count;
  }
  cJSON_Delete(root);
  *tensors = sum;
  return WO_OK;
}
