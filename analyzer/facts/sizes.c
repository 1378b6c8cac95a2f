/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a refused request. See sizes.h.
 *
 * A printed size has two decimals, and PyTorch prints what it asks the driver for: requests of 10 MiB and more are rounded up to
 * whole 2 MiB. A reading fits when its rounded size prints as the message does. */
#include "analyzer/facts/sizes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "analyzer/facts/facts_internal.h"
#include "analyzer/facts/model.h"
#include "parsers/base/units.h"

/* Below this, rounding is a large part of the size, and nearly every request matches some reading. */
#define REQUEST_MIN_BYTES (32 * WO_MIB)

#define SEGMENT_STEP (2 * WO_MIB)

/* Largest alignment of requests in allocators other than PyTorch's. */
#define ALIGNMENT_BYTES 512.0

/* A multiple of this is a rounded count: exact counts are sums of odd products. */
#define ROUND_COUNT 1e4

#define FACTORS_MAX 6
#define FORMULA_BYTES 320

/* One factor of a product. */
struct factor {
  double value;
  const char *label;
  const struct wo_job_model *table; /* the model whose table gives it; NULL: printed */
};

/* A sort of tensor. `family` is its group in facts and frames. */
struct sort {
  const char *id;
  const char *family;
  const char *meaning;
  double bytes; /* of one element */
};

struct search {
  const struct wo_facts *facts;
  struct wo_sizes *sizes;
  bool is_segment;       /* the printed size is that of a segment of PyTorch's pool */
  const char *preferred; /* the family that the frames or the phase show, or "" */
  struct factor batches[4];
  size_t batch_count;
  struct factor lengths[4];
  size_t length_count;
  double scores[WO_LIMIT_SIZE_READINGS];
};

/* ---- Products ---- */

/* The odd part of a product identifies it: factors of two are in every second setting. */
static double odd_part(double bytes) {
  if (!(bytes >= 1 && bytes < 9e15) || bytes != floor(bytes)) return 1;
  uint64_t rest = (uint64_t)bytes;
  while (rest % 2 == 0) rest /= 2;
  return (double)rest;
}

static bool fits(const struct search *search, double bytes) {
  const struct wo_interval request = search->sizes->request;
  if (!search->is_segment) return bytes <= request.hi && bytes + ALIGNMENT_BYTES > request.lo;
  const double asked = ceil(bytes / SEGMENT_STEP) * SEGMENT_STEP;
  return asked >= request.lo && asked <= request.hi;
}

static struct wo_view formula_of(const struct search *search, const struct sort *sort, const struct factor *factors,
                                 size_t count) {
  char numbers[FORMULA_BYTES];
  char labels[FORMULA_BYTES];
  size_t n = 0;
  size_t l = 0;
  for (size_t i = 0; i < count; i++) {
    n += (size_t)snprintf(numbers + n, sizeof numbers - n, "%s%.0f", i > 0 ? " x " : "", factors[i].value);
    l += (size_t)snprintf(labels + l, sizeof labels - l, "%s%s", i > 0 ? " x " : "", factors[i].label);
    if (n >= sizeof numbers || l >= sizeof labels) return (struct wo_view){0};
  }
  return wo_arena_format(search->facts->arena, "%s x %.0f B (%s)", numbers, sort->bytes, labels);
}

static void add_assumed(const struct search *search, const struct factor *factor, struct wo_size_reading *reading) {
  const struct wo_view id = factor->table->shape->id;
  reading->assumed[reading->assumed_count++] = wo_arena_format(
      search->facts->arena, "%s %.0f from the table of known shapes: %.*s", factor->label, factor->value, WO_SHOWN(id));
}

/* Readings that agree with the frames come first, then those from printed numbers alone, then those that are least likely by
 * chance. */
static double score_of(const struct search *search, const struct sort *sort, const struct wo_size_reading *reading) {
  const double frames = strcmp(sort->family, search->preferred) == 0 ? 100 : 0;
  const double printed = reading->assumed_count == 0 ? 60 : 0;
  return frames + printed + log2(odd_part(reading->bytes));
}

static void insert(struct search *search, const struct wo_size_reading *reading, double score) {
  struct wo_sizes *const sizes = search->sizes;
  size_t at = sizes->reading_count;
  while (at > 0 && search->scores[at - 1] < score) at--;
  if (at == WO_LIMIT_SIZE_READINGS) return;
  if (sizes->reading_count < WO_LIMIT_SIZE_READINGS) sizes->reading_count++;
  for (size_t i = sizes->reading_count - 1; i > at; i--) {
    sizes->readings[i] = sizes->readings[i - 1];
    search->scores[i] = search->scores[i - 1];
  }
  sizes->readings[at] = *reading;
  search->scores[at] = score;
}

/* Equal products of different settings (4 samples per GPU, 4 samples decoded) are one reading. */
static bool is_listed(const struct wo_sizes *sizes, const struct sort *sort, double bytes) {
  for (size_t i = 0; i < sizes->reading_count; i++) {
    if (sizes->readings[i].bytes == bytes && wo_view_is(sizes->readings[i].id, sort->id)) return true;
  }
  return false;
}

/* Tries one product. Unknown factors are 0; such a product is skipped. */
static void try_product(struct search *search, const struct sort *sort, const struct factor *factors, size_t count) {
  struct wo_sizes *const sizes = search->sizes;
  assert(count > 0 && count <= FACTORS_MAX);
  double bytes = sort->bytes;
  for (size_t i = 0; i < count; i++) bytes *= factors[i].value;
  if (!(bytes >= 1)) return;
  sizes->tried_count++;
  if (strcmp(sort->family, "logits") == 0 && bytes > sizes->logits_max_bytes) sizes->logits_max_bytes = bytes;
  if (!fits(search, bytes) || is_listed(sizes, sort, bytes)) return;
  struct wo_size_reading reading = {.id = wo_view_of(sort->id), .meaning = wo_view_of(sort->meaning), .bytes = bytes};
  reading.is_specific = odd_part(bytes) > 1;
  reading.formula = formula_of(search, sort, factors, count);
  for (size_t i = 0; i < count; i++) {
    if (factors[i].table) add_assumed(search, &factors[i], &reading);
  }
  sizes->match_count++;
  insert(search, &reading, score_of(search, sort, &reading));
}

/* ---- Factors ---- */

/* The number of a setting, or 0. */
static double setting(const struct wo_facts *facts, const char *knob) {
  const struct wo_setting *const found = wo_facts_setting(facts, wo_view_of(knob));
  return found && found->value.is_known && found->value.number.mid >= 1 ? found->value.number.mid : 0;
}

static void add_factor(struct factor *factors, size_t *count, double value, const char *label) {
  for (size_t i = 0; i < *count; i++) {
    if (factors[i].value == value) return;
  }
  if (value >= 1) factors[(*count)++] = (struct factor){value, label, NULL};
}

static struct factor factor_of(const struct wo_job_model *model, enum wo_model_dim dim) {
  const struct wo_model_number number = model->dims[dim];
  return (struct factor){number.value, wo_model_dim_label(dim), number.is_assumed ? model : NULL};
}

/* How many cards share a layer in training, or 1. The setting of a trainer's rollout engine does not count. */
static double tensor_parallel(const struct wo_facts *facts) {
  const struct wo_setting *const found = wo_facts_setting(facts, WO_VIEW("tensor_parallel"));
  const bool is_other = found && wo_view_has(wo_event_text(found->event, WO_FIELD_KEY), "rollout");
  return is_other ? 1 : fmax(setting(facts, "tensor_parallel"), 1);
}

/* One GPU's part of a factor that tensor parallelism divides; 0, which is skipped, if nothing is divided. */
static struct factor part_of(struct factor whole, double parts, const char *label) {
  whole.value = parts > 1 && fmod(whole.value, parts) == 0 ? whole.value / parts : 0;
  whole.label = label;
  return whole;
}

static bool is_phase(const struct wo_facts *facts, const char *phase) {
  return wo_view_is(wo__facts_value(facts, WO_VIEW("oom.phase")).text, phase);
}

/* The evaluation batch only counts in evaluation. */
static void read_factors(struct search *search) {
  const struct wo_facts *const facts = search->facts;
  const double prompt = setting(facts, "prompt_len");
  const double response = setting(facts, "response_len");
  add_factor(search->batches, &search->batch_count, setting(facts, "micro_batch"), "micro-batch");
  add_factor(search->batches, &search->batch_count, setting(facts, "log_prob_micro_batch"), "log-prob micro-batch");
  add_factor(search->batches, &search->batch_count, setting(facts, "decode_samples"), "decode samples");
  if (is_phase(facts, "eval"))
    add_factor(search->batches, &search->batch_count, setting(facts, "eval_batch"), "evaluation batch");
  add_factor(search->lengths, &search->length_count, setting(facts, "seq_len"), "length");
  if (prompt > 0 && response > 0) {
    add_factor(search->lengths, &search->length_count, prompt + response, "prompt and response");
  }
  add_factor(search->lengths, &search->length_count, response, "response");
}

/* ---- Sorts of tensors ---- */

static const struct sort logits[] = {{"logits-fp32", "logits", "the fp32 logits", 4},
                                     {"logits-16bit", "logits", "the 16-bit logits", 2}};
static const struct sort scores[] = {{"attention-scores-fp32", "attention", "the fp32 attention scores of one layer", 4},
                                     {"attention-scores-16bit", "attention", "the 16-bit attention scores of one layer", 2}};
static const struct sort hidden[] = {{"hidden-states-fp32", "hidden", "the fp32 hidden states of one layer", 4},
                                     {"hidden-states-16bit", "hidden", "the 16-bit hidden states of one layer", 2}};
static const struct sort ffn[] = {{"feed-forward-fp32", "hidden", "the fp32 feed-forward activation of one layer", 4},
                                  {"feed-forward-16bit", "hidden", "the 16-bit feed-forward activation of one layer", 2}};
static const struct sort table[] = {
    {"embedding-fp32", "parameters", "one fp32 embedding matrix, or its gradient or moment", 4},
    {"embedding-16bit", "parameters", "one 16-bit embedding matrix, or its gradient or moment", 2}};
static const struct sort flat[] = {{"parameters-fp32", "parameters", "one fp32 number for each parameter", 4},
                                   {"parameters-16bit", "parameters", "one 16-bit number for each parameter", 2}};
static const struct sort cache = {"kv-cache-16bit", "kv-cache", "the 16-bit KV cache", 2};

/* The loss shifts the labels by one, so programs cut the last position off before or after the projection. If both sizes print
 * alike, the uncut one is reported. */
static void try_logits(struct search *search, const struct wo_job_model *model, struct factor batch, struct factor length) {
  const struct factor whole[] = {batch, length, factor_of(model, WO_MODEL_VOCAB)};
  struct factor shifted[] = {batch, length, whole[2]};
  shifted[1].value -= 1;
  shifted[1].label = "length less one";
  const double parts = tensor_parallel(search->facts);
  const struct factor divided[] = {batch, length, part_of(whole[2], parts, "vocabulary / tensor parallel")};
  for (int i = 0; i < 2; i++) {
    const size_t before = search->sizes->match_count;
    try_product(search, &logits[i], whole, 3);
    if (search->sizes->match_count == before) try_product(search, &logits[i], shifted, 3);
    try_product(search, &logits[i], divided, 3);
  }
}

static void try_activations(struct search *search, const struct wo_job_model *model, struct factor batch, struct factor length) {
  const struct factor heads = factor_of(model, WO_MODEL_HEADS);
  const struct factor attention[] = {batch, heads, length, length};
  const struct factor divided[] = {batch, part_of(heads, tensor_parallel(search->facts), "heads / tensor parallel"), length,
                                   length};
  const struct factor states[] = {batch, length, factor_of(model, WO_MODEL_HIDDEN)};
  const struct factor inner[] = {batch, length, factor_of(model, WO_MODEL_FFN)};
  for (int i = 0; i < 2; i++) {
    try_product(search, &scores[i], attention, 4);
    try_product(search, &scores[i], divided, 4);
    try_product(search, &hidden[i], states, 3);
    try_product(search, &ffn[i], inner, 3);
  }
}

/* Keys and values of all layers, for a batch in generation or for the one sequence of an engine. */
static void try_cache(struct search *search, const struct wo_job_model *model, struct factor tokens) {
  const struct factor factors[] = {{2, "keys and values", NULL},
                                   factor_of(model, WO_MODEL_LAYERS),
                                   factor_of(model, WO_MODEL_KV_HEADS),
                                   factor_of(model, WO_MODEL_HEAD_DIM),
                                   tokens};
  try_product(search, &cache, factors, 5);
}

static void try_model(struct search *search, const struct wo_job_model *model) {
  const struct wo_facts *const facts = search->facts;
  const struct factor budget = {setting(facts, "token_budget"), "token budget", NULL};
  const struct factor longest = {setting(facts, "max_model_len"), "longest sequence", NULL};
  const struct factor one = {1, "batch", NULL};
  for (size_t b = 0; b < search->batch_count; b++) {
    for (size_t l = 0; l < search->length_count; l++) {
      const struct factor both = {search->batches[b].value * search->lengths[l].value, "tokens of the batch", NULL};
      try_logits(search, model, search->batches[b], search->lengths[l]);
      try_activations(search, model, search->batches[b], search->lengths[l]);
      try_cache(search, model, both);
    }
  }
  try_cache(search, model, longest);
  if (search->batch_count == 0 && search->length_count > 0) try_cache(search, model, search->lengths[0]);
  const struct factor packed[] = {one, budget, factor_of(model, WO_MODEL_VOCAB)};
  const struct factor matrix[] = {factor_of(model, WO_MODEL_VOCAB), factor_of(model, WO_MODEL_HIDDEN)};
  for (int i = 0; i < 2; i++) {
    try_product(search, &logits[i], packed + 1, 2);
    try_product(search, &table[i], matrix, 2);
  }
}

/* The count of a fact, or 0 when it is unknown or was printed with too few digits ("355M", "7.62B"). */
static double exact_count(const struct wo_facts *facts, const char *name) {
  const struct wo_value value = wo__facts_value(facts, wo_view_of(name));
  return value.is_known && fmod(value.number.mid, ROUND_COUNT) != 0 ? value.number.mid : 0;
}

/* One buffer for all weights, or one GPU's part of it if they are sharded: FSDP and ZeRO pad it to equal parts. */
static void try_parameters(struct search *search) {
  const struct wo_facts *const facts = search->facts;
  const double all = exact_count(facts, "model.parameters");
  const double part = exact_count(facts, "model.trainable_parameters");
  const double ranks = wo__facts_value(facts, WO_VIEW("job.ranks")).number.mid;
  const bool is_sharded = wo__facts_value(facts, WO_VIEW("model.is_sharded")).truth == WO_TRUE;
  const struct factor whole = {all, "parameters", NULL};
  const struct factor trained = {part == all ? 0 : part, "trainable parameters", NULL};
  const struct factor share = {is_sharded && ranks > 1 ? ceil(all / ranks) : 0, "parameters / ranks", NULL};
  for (int i = 0; i < 2; i++) {
    try_product(search, &flat[i], &whole, 1);
    try_product(search, &flat[i], &trained, 1);
    try_product(search, &flat[i], &share, 1);
  }
}

/* ---- Search ---- */

static const char *preferred_family(const struct wo_facts *facts) {
  if (wo__facts_value(facts, WO_VIEW("oom.is_logits")).truth == WO_TRUE) return "logits";
  if (wo__facts_value(facts, WO_VIEW("oom.is_attention")).truth == WO_TRUE) return "attention";
  if (is_phase(facts, "optimizer")) return "parameters";
  return wo__facts_value(facts, WO_VIEW("oom.is_serving")).truth == WO_TRUE ? "kv-cache" : "";
}

static bool is_pytorch(struct wo_view kind) {
  return wo_view_is(kind, "cuda_oom") || wo_view_is(kind, "hip_oom") || wo_view_is(kind, "xpu_oom") ||
         wo_view_is(kind, "npu_oom");
}

static void find_sizes(const struct wo_facts *facts, struct wo_sizes *ret_sizes) {
  const struct wo_value tried = wo__facts_value(facts, WO_VIEW("oom.tried"));
  *ret_sizes = (struct wo_sizes){.has_request = tried.is_known && tried.number.mid >= REQUEST_MIN_BYTES};
  if (!ret_sizes->has_request) return;
  ret_sizes->request = tried.number;
  struct search search = {.facts = facts, .sizes = ret_sizes, .preferred = preferred_family(facts)};
  search.is_segment = is_pytorch(wo__facts_value(facts, WO_VIEW("oom.kind")).text);
  read_factors(&search);
  struct wo_job_model models[WO_LIMIT_JOB_MODELS];
  const size_t count = wo_models_list(facts, models);
  for (size_t i = 0; i < count; i++) try_model(&search, &models[i]);
  try_parameters(&search);
}

/* ---- Facts ---- */

/* A family of readings as two facts. */
struct size_family {
  const char *prefix; /* of the ids */
  const char *family;
  const char *truth;
  const char *text;
};

static const struct size_family families[] = {
    {"logits-", "logits", "size.is_logits", "size.logits"},
    {"attention-scores-", "attention", "size.is_attention_scores", "size.attention_scores"},
    {"kv-cache-", "kv-cache", "size.is_kv_cache", "size.kv_cache"},
    {"parameters-", "parameters", "size.is_optimizer_step", "size.optimizer_step"}};

/* "2.32 GiB = 2 x 2048 x 152064 x 4 B (...), vocabulary 152064 from the table of known shapes: ..." */
static struct wo_view equation_of(const struct wo_facts *facts, const struct wo_sizes *sizes,
                                  const struct wo_size_reading *reading) {
  struct wo_view text = wo_arena_format(facts->arena, "%s = %.*s", WO_BYTES_TEXT(sizes->request.mid), WO_SHOWN(reading->formula));
  for (size_t i = 0; i < reading->assumed_count && text.len > 0; i++) {
    text = wo_arena_format(facts->arena, "%.*s, %.*s", WO_SHOWN(text), WO_SHOWN(reading->assumed[i]));
  }
  return text;
}

/* A product of powers of two alone matches too often by chance, so it counts only if the frames agree. */
static void set_family(struct wo_facts *facts, const struct wo_sizes *sizes, size_t family, wo_event_id evidence) {
  for (size_t i = 0; i < sizes->reading_count; i++) {
    const struct wo_size_reading *const reading = &sizes->readings[i];
    const bool is_shown = strcmp(preferred_family(facts), families[family].family) == 0;
    if (!wo_view_starts(reading->id, families[family].prefix) || !(reading->is_specific || is_shown)) continue;
    wo__set_bool(facts, families[family].truth, true, evidence);
    wo_facts_set(facts, families[family].text, wo_value_text(equation_of(facts, sizes, reading)), evidence);
    return;
  }
}

void wo__facts_sizes(struct wo_facts *facts) {
  struct wo_sizes *const sizes = wo_arena_alloc(facts->arena, sizeof *sizes);
  if (!sizes) return;
  find_sizes(facts, sizes);
  facts->sizes = sizes;
  if (!sizes->has_request || sizes->tried_count == 0) return;
  const wo_event_id evidence = facts->job->story.failure;
  wo__set_number(facts, "size.readings", (double)sizes->match_count, evidence);
  wo__set_number(facts, "size.tried", (double)sizes->tried_count, evidence);
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) set_family(facts, sizes, i, evidence);
  if (sizes->logits_max_bytes > 0 && sizes->logits_max_bytes + SEGMENT_STEP < sizes->request.lo) {
    wo__set_bool(facts, "size.is_logits", false, evidence);
  }
  if (sizes->reading_count == 0) return;
  const struct wo_view equation = equation_of(facts, sizes, &sizes->readings[0]);
  const struct wo_view meaning = sizes->readings[0].meaning;
  wo__set_text(facts, "size.reading", wo_arena_format(facts->arena, "%.*s: %.*s", WO_SHOWN(meaning), WO_SHOWN(equation)),
               evidence);
}
