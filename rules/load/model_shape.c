/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of known models. See model_shape.h. */
#include "rules/load/model_shape.h"

#include <assert.h>
#include <math.h>

/* ---- counting --------------------------------------------------------------------------------------------------------- */

/* How a decoder's layer is built. Checklist: a further architecture is one row here, or a function of its own below. */
struct architecture {
  char name[12];
  int ffn_matrices; /* 3 with a gate */
  bool has_qkv_bias;
  bool has_out_bias;
  bool has_ffn_bias;
  bool has_head_bias;
  bool has_expert_bias;    /* of the router and of both products */
  bool has_sinks;          /* a score for each head that no token has */
  bool has_qk_norm;        /* a weight of head_dim for queries, and one for keys */
  bool is_qk_norm_wide;    /* these have the width of all heads */
  bool has_embedding_norm; /* after the embedding */
  int layer_norms;
  int norm_weights;            /* per width: 1 for RMS norms, 2 with a bias */
  struct wo_model_layer layer; /* zero: not known */
};

/* A layer of Llama's kind; phi3 and the Gemmas differ in what the arguments say. */
#define GATED_LAYER(norm_kind, norm_count, attention_reads, ffn_reads)                                                           \
  .norm = norm_kind, .norm_inputs = norm_count, .linear_inputs = 2, .projections = attention_reads,                              \
  .ffn_projections = ffn_reads, .ffn_kept = 3, .has_rotary = true
#define LLAMA_LAYER GATED_LAYER(WO_MODEL_NORM_ROOT, 2, 3, 2)

/* How GPT-2 and its kin count: biases everywhere, two norms with a bias. */
#define BIASED                                                                                                                   \
  .ffn_matrices = 2, .has_qkv_bias = true, .has_out_bias = true, .has_ffn_bias = true, .layer_norms = 2, .norm_weights = 2

static const struct architecture architectures[] = {
    {.name = "llama", .ffn_matrices = 3, .layer_norms = 2, .norm_weights = 1, .layer = {LLAMA_LAYER}},
    {.name = "phi3", .ffn_matrices = 3, .layer_norms = 2, .norm_weights = 1, .layer = {GATED_LAYER(WO_MODEL_NORM_ROOT, 2, 1, 1)}},
    {.name = "qwen2", .ffn_matrices = 3, .has_qkv_bias = true, .layer_norms = 2, .norm_weights = 1, .layer = {LLAMA_LAYER}},
    {.name = "qwen3",
     .ffn_matrices = 3,
     .has_qk_norm = true,
     .layer_norms = 2,
     .norm_weights = 1,
     .layer = {LLAMA_LAYER, .has_qk_norm = true}},
    {.name = "qwen2_moe",
     .ffn_matrices = 3,
     .has_qkv_bias = true,
     .layer_norms = 2,
     .norm_weights = 1,
     .layer = {LLAMA_LAYER, .has_shared_gate = true}},
    {.name = "olmoe",
     .ffn_matrices = 3,
     .has_qk_norm = true,
     .is_qk_norm_wide = true,
     .layer_norms = 2,
     .norm_weights = 1,
     .layer = {LLAMA_LAYER, .has_qk_norm = true}},
    {.name = "deepseek", .ffn_matrices = 3, .layer_norms = 2, .norm_weights = 1, .layer = {LLAMA_LAYER, .is_router_fp32 = true}},
    {.name = "gemma",
     .ffn_matrices = 3,
     .layer_norms = 2,
     .norm_weights = 1,
     .layer = {GATED_LAYER(WO_MODEL_NORM_ROOT_FP32, 2, 3, 2)}},
    {.name = "gemma2",
     .ffn_matrices = 3,
     .layer_norms = 4,
     .norm_weights = 1,
     .layer = {GATED_LAYER(WO_MODEL_NORM_ROOT_FP32, 4, 3, 2), .has_softcap = true}},
    {.name = "gemma3",
     .ffn_matrices = 3,
     .has_qk_norm = true,
     .layer_norms = 4,
     .norm_weights = 1,
     .layer = {GATED_LAYER(WO_MODEL_NORM_ROOT_FP32, 4, 3, 2), .has_qk_norm = true}},
    {.name = "olmo2",
     .ffn_matrices = 3,
     .has_qk_norm = true,
     .is_qk_norm_wide = true,
     .layer_norms = 2,
     .norm_weights = 1,
     .layer = {GATED_LAYER(WO_MODEL_NORM_ROOT_FP32, 2, 3, 2), .has_qk_norm = true}},
    {.name = "glm4",
     .ffn_matrices = 3,
     .has_qkv_bias = true,
     .layer_norms = 4,
     .norm_weights = 1,
     .layer = {GATED_LAYER(WO_MODEL_NORM_ROOT, 4, 3, 1), .is_output_copied = true}},
    {.name = "cohere",
     .ffn_matrices = 3,
     .layer_norms = 1,
     .norm_weights = 1,
     .layer = {.norm = WO_MODEL_NORM_MEAN_FP32,
               .norm_inputs = 1,
               .linear_inputs = 1,
               .projections = 3,
               .ffn_projections = 2,
               .ffn_kept = 3,
               .has_rotary = true}},
    {.name = "phimoe",
     .ffn_matrices = 3,
     .has_qkv_bias = true,
     .has_out_bias = true,
     .has_head_bias = true,
     .layer_norms = 2,
     .norm_weights = 2},
    {.name = "gpt_oss",
     .ffn_matrices = 3,
     .has_qkv_bias = true,
     .has_out_bias = true,
     .has_expert_bias = true,
     .has_sinks = true,
     .layer_norms = 2,
     .norm_weights = 1},
    {.name = "gpt2",
     BIASED,
     .layer = {.norm_inputs = 2,
               .linear_inputs = 2,
               .projections = 1,
               .ffn_projections = 1,
               .ffn_kept = 4,
               .ffn_kept_fp32 = 3,
               .dropouts = 2}},
    {.name = "gpt_neox",
     BIASED,
     .layer = {.norm_inputs = 1, .linear_inputs = 2, .projections = 1, .ffn_projections = 1, .ffn_kept = 1, .has_rotary = true}},
    {.name = "opt",
     BIASED,
     .layer = {.norm_inputs = 2,
               .linear_inputs = 2,
               .projections = 3,
               .ffn_projections = 1,
               .ffn_kept = 1,
               .is_ffn_shared = true,
               .dropouts = 2}},
    {.name = "gptj", .ffn_matrices = 2, .has_ffn_bias = true, .has_head_bias = true, .layer_norms = 1, .norm_weights = 2},
    {.name = "bloom", BIASED, .has_embedding_norm = true},
    {.name = "falcon", .ffn_matrices = 2, .layer_norms = 1, .norm_weights = 2},
    {.name = "phi",
     .ffn_matrices = 2,
     .has_qkv_bias = true,
     .has_out_bias = true,
     .has_ffn_bias = true,
     .has_head_bias = true,
     .layer_norms = 1,
     .norm_weights = 2},
};

/* BERT's: norms behind each half. */
static const struct wo_model_layer bert_layer = {
    .norm_inputs = 2, .linear_inputs = 2, .projections = 3, .ffn_projections = 1, .ffn_kept = 1, .dropouts = 2};

#undef GATED_LAYER
#undef LLAMA_LAYER
#undef BIASED

/* Queries come of a narrow vector or directly, keys and values of another; both vectors have norms. */
static double latent_weights(const struct wo_model_shape *shape) {
  const struct wo_model_latent *const latent = &shape->latent;
  const double query = latent->plain + latent->rotary, rank = latent->query_rank;
  const double queries = rank > 0 ? rank * (shape->hidden + 1 + shape->heads * query) : shape->hidden * shape->heads * query;
  const double keys =
      shape->hidden * (latent->rank + latent->rotary) + latent->rank * (1 + shape->heads * (latent->plain + latent->value));
  return queries + keys + shape->heads * latent->value * shape->hidden;
}

/* Queries, keys, values and the projection out of the heads, without biases. */
static double attention_weights(const struct wo_model_shape *shape) {
  if (shape->latent.rank > 0) return latent_weights(shape);
  return 2 * shape->hidden * shape->head_dim * (shape->heads + shape->kv_heads);
}

static double feed_forward(const struct wo_model_shape *shape, const struct architecture *architecture) {
  const double biases = architecture->has_ffn_bias ? (architecture->ffn_matrices - 1) * shape->intermediate + shape->hidden : 0;
  return architecture->ffn_matrices * shape->hidden * shape->intermediate + biases;
}

/* What a layer has in place of that block: experts, and a router with one score for each. */
static double expert_block(const struct wo_model_shape *shape, const struct architecture *architecture) {
  const double shared = architecture->ffn_matrices * shape->hidden * shape->experts.shared_width;
  const double gate = architecture->layer.has_shared_gate ? shape->hidden : 0;
  const double biases = architecture->has_expert_bias ? shape->experts.count * (1 + 2 * shape->experts.width + shape->hidden) : 0;
  return wo_model_shape_expert_weights(shape) + shape->experts.count * shape->hidden + shared + gate + biases;
}

static double layer_rest(const struct wo_model_shape *shape, const struct architecture *architecture) {
  double sum = attention_weights(shape);
  if (architecture->has_qkv_bias) sum += shape->head_dim * (shape->heads + 2 * shape->kv_heads);
  if (architecture->has_out_bias) sum += shape->hidden;
  if (architecture->has_sinks) sum += shape->heads;
  if (architecture->has_qk_norm) sum += shape->head_dim * (architecture->is_qk_norm_wide ? shape->heads + shape->kv_heads : 2);
  return sum + architecture->layer_norms * architecture->norm_weights * shape->hidden;
}

static double decoder_layers(const struct wo_model_shape *shape, const struct architecture *architecture) {
  const double mixed = wo_model_shape_expert_layers(shape);
  return shape->layers * layer_rest(shape, architecture) + (shape->layers - mixed) * feed_forward(shape, architecture) +
         mixed * expert_block(shape, architecture);
}

static double decoder(const struct wo_model_shape *shape, const struct architecture *architecture) {
  const double norm = architecture->norm_weights * shape->hidden;
  double sum = shape->vocab * shape->hidden * (shape->is_tied ? 1 : 2) + shape->positions * shape->hidden;
  if (architecture->has_head_bias) sum += shape->vocab;
  if (architecture->has_embedding_norm) sum += norm;
  return sum + decoder_layers(shape, architecture) + norm;
}

/* A layer of BERT and ViT: as GPT-2's. */
static double encoder_layer(const struct wo_model_shape *shape) {
  return 4 * shape->hidden * shape->hidden + 2 * shape->hidden * shape->intermediate + shape->intermediate + 9 * shape->hidden;
}

/* Rows for the segments, the norm after the embedding, and the pooler. */
static double bert(const struct wo_model_shape *shape, int segments, bool has_pooler) {
  const double embedding = (shape->vocab + shape->positions + segments) * shape->hidden + 2 * shape->hidden;
  const double pooler = has_pooler ? shape->hidden * shape->hidden + shape->hidden : 0;
  return embedding + shape->layers * encoder_layer(shape) + pooler;
}

/* Patches of 16 x 16 in three colours, the class token, and a head of 1000 classes. */
static double vit(const struct wo_model_shape *shape) {
  const double embedding = (3 * 16 * 16 + 1 + 1 + shape->positions) * shape->hidden;
  return embedding + shape->layers * encoder_layer(shape) + 2 * shape->hidden + 1000 * (shape->hidden + 1);
}

/* Encoder and decoder of as many layers each; the decoder attends twice. Both have a table of 32 relative positions. */
static double t5(const struct wo_model_shape *shape, int ffn_matrices) {
  const double attention = attention_weights(shape);
  const double ffn = ffn_matrices * shape->hidden * shape->intermediate;
  const double layers = shape->layers * (3 * attention + 2 * ffn + 5 * shape->hidden);
  return shape->vocab * shape->hidden * (shape->is_tied ? 1 : 2) + layers + 2 * shape->hidden + 2 * 32 * shape->heads;
}

double wo_model_shape_expert_weights(const struct wo_model_shape *shape) {
  assert(shape != NULL);
  const double width = shape->experts.width > 0 ? shape->experts.width : shape->intermediate;
  return 3 * shape->hidden * width * shape->experts.count;
}

double wo_model_shape_expert_layers(const struct wo_model_shape *shape) {
  assert(shape != NULL);
  return shape->experts.count > 0 ? fmax(0, shape->layers - shape->experts.dense_layers) : 0;
}

double wo_model_shape_parameters(const struct wo_model_shape *shape) {
  assert(shape != NULL);
  const struct wo_model_pipeline *const parts = &shape->pipeline;
  if (wo_view_is(shape->architecture, "pipeline")) return parts->encoders + parts->other + parts->denoiser + parts->decoder;
  if (wo_view_is(shape->architecture, "image")) return shape->image.bytes > 0 ? shape->parameters : 0;
  if (wo_view_is(shape->architecture, "bert")) return bert(shape, 2, true);
  if (wo_view_is(shape->architecture, "roberta")) return bert(shape, 1, true);
  if (wo_view_is(shape->architecture, "distilbert")) return bert(shape, 0, false);
  if (wo_view_is(shape->architecture, "vit")) return vit(shape);
  if (wo_view_is(shape->architecture, "t5")) return t5(shape, 2);
  if (wo_view_is(shape->architecture, "t5-gated")) return t5(shape, 3);
  for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++) {
    if (wo_view_is(shape->architecture, architectures[i].name)) return decoder(shape, &architectures[i]) + shape->tower;
  }
  return 0;
}

const struct wo_model_layer *wo_model_shape_layer(const struct wo_model_shape *shape) {
  assert(shape != NULL);
  if (wo_view_is(shape->architecture, "bert") || wo_view_is(shape->architecture, "roberta")) return &bert_layer;
  if (wo_view_is(shape->architecture, "distilbert")) return &bert_layer;
  for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++) {
    const struct wo_model_layer *const layer = &architectures[i].layer;
    if (wo_view_is(shape->architecture, architectures[i].name)) return layer->norm_inputs > 0 ? layer : NULL;
  }
  return NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------------ */

/* "Qwen2.5-7B" of "/data/Qwen/Qwen2.5-7B/", and of ".../models--Qwen--Qwen2.5-7B/snapshots/4f1c". */
static struct wo_view last_part(struct wo_view name) {
  static const struct wo_view cache = {"models--", 8};
  const size_t at = wo_view_find(name, cache, 0);
  if (at != WO_NOT_FOUND) {
    struct wo_view rest = wo_view_skip(name, at + cache.len);
    const struct wo_view folder = wo_view_cut(&rest, '/');
    const size_t owner = wo_view_find(folder, WO_VIEW("--"), 0);
    return owner == WO_NOT_FOUND ? folder : wo_view_skip(folder, owner + 2);
  }
  while (wo_view_ends(name, "/")) name.len--;
  const size_t slash = wo_view_find_last(name, WO_VIEW("/"), name.len);
  return slash == WO_NOT_FOUND ? name : wo_view_skip(name, slash + 1);
}

/* Words after a name that change training or storage, and not the shape. */
static bool is_harmless(struct wo_view word) {
  static const char words[][10] = {"instruct", "chat",     "base", "it",   "hf",      "pt",      "sft",     "dpo",
                                   "lora",     "gptq",     "awq",  "int4", "int8",    "4bit",    "8bit",    "bnb",
                                   "fp16",     "bf16",     "fp8",  "v0.1", "v0.2",    "v0.3",    "v1.0",    "1m",
                                   "2507",     "thinking", "gguf", "mlx",  "deduped", "preview", "unsloth", "dynamic"};
  return WO_VIEW_ANY_ROW(word, wo_view_is_nocase, words);
}

static bool is_separator(char c) {
  return c == '-' || c == '_';
}

/* Whether `printed` is `known`, or `known` and harmless words after it. */
static bool is_name_of(struct wo_view printed, struct wo_view known) {
  if (printed.len < known.len) return false;
  for (size_t i = 0; i < known.len; i++) {
    if (wo_lower(printed.ptr[i]) != wo_lower(known.ptr[i])) return false;
  }
  size_t at = known.len;
  while (at < printed.len) {
    if (!is_separator(printed.ptr[at])) return false;
    const size_t start = ++at;
    while (at < printed.len && !is_separator(printed.ptr[at])) at++;
    if (!is_harmless(wo_view_sub(printed, start, at))) return false;
  }
  return true;
}

const struct wo_model_shape *wo_model_shape_find(const struct wo_pack *pack, struct wo_view name) {
  const struct wo_view printed = last_part(name);
  const struct wo_model_shape *best = NULL;
  size_t longest = 0;
  for (size_t i = 0; i < pack->model_count; i++) {
    if (wo_view_equal(printed, pack->models[i].id)) return &pack->models[i];
    for (size_t k = 0; k < pack->models[i].name_count; k++) {
      const struct wo_view known = pack->models[i].names[k];
      if (known.len <= longest || !is_name_of(printed, known)) continue;
      longest = known.len;
      best = &pack->models[i];
    }
  }
  return best;
}
