/* SPDX-License-Identifier: Apache-2.0 */
/* Known models, phases and terms: their keys, and where each goes. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rules/load/rule_read_internal.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

/* ---- models ----------------------------------------------------------------------------------------------------------- */

/* No model has larger sizes, and they would no longer be exact in a product. */
#define COUNT_MAX 1e13

/* A whole number above zero. */
static bool read_count(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  if (!wo_tree_is(value, WO_TREE_NUMBER)) return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_TYPE, "expected a number");
  const double count = value->as.number;
  if (!(count >= 1 && count <= COUNT_MAX) || count != floor(count)) {
    return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_RANGE, "expected a whole number above zero");
  }
  memcpy((char *)target + member->offset, &count, sizeof count);
  return true;
}

#define COUNT(name, field) .key = name, .read = read_count, WO_AT(wo_model_shape, field)

/* A vocabulary and a table of positions may be missing: there are models without. Networks of images have none of the sizes. */
static const struct wo_member model_members[] = {
    {.key = "model", .read = wo__load_skip},
    {.key = "names", .read = wo__load_texts, WO_ARRAY_AT(wo_model_shape, names, name_count)},
    {.key = "architecture", .read = wo__load_text, WO_AT(wo_model_shape, architecture)},
    {COUNT("parameters", parameters), .is_needed = true},
    {COUNT("layers", layers)},
    {COUNT("hidden", hidden)},
    {COUNT("intermediate", intermediate)},
    {COUNT("heads", heads)},
    {COUNT("kv_heads", kv_heads)},
    {COUNT("head_dim", head_dim)},
    {COUNT("vocab", vocab)},
    {COUNT("positions", positions)},
    {COUNT("tower", tower)},
    {COUNT("window", window)},
    {COUNT("full_every", full_every)},
    {COUNT("experts", experts.count)},
    {COUNT("experts_per_token", experts.per_token)},
    {COUNT("expert_intermediate", experts.width)},
    {COUNT("shared_intermediate", experts.shared_width)},
    {COUNT("dense_layers", experts.dense_layers)},
    {COUNT("q_lora_rank", latent.query_rank)},
    {COUNT("kv_lora_rank", latent.rank)},
    {COUNT("qk_nope_head_dim", latent.plain)},
    {COUNT("qk_rope_head_dim", latent.rotary)},
    {COUNT("v_head_dim", latent.value)},
    {COUNT("encoders", pipeline.encoders)},
    {COUNT("largest_encoder", pipeline.largest_encoder)},
    {COUNT("encoder_fp32", pipeline.encoder_fp32)},
    {COUNT("other", pipeline.other)},
    {COUNT("denoiser", pipeline.denoiser)},
    {COUNT("decoder", pipeline.decoder)},
    {COUNT("frames", pipeline.frames)},
    {COUNT("denoise_bytes", pipeline.denoise_bytes)},
    {COUNT("decode_bytes", pipeline.decode_bytes)},
    {.key = "decoder_fp32", .read = wo__load_bool, WO_AT(wo_model_shape, pipeline.is_decoder_fp32)},
    {COUNT("image", image.side)},
    {COUNT("image_bytes", image.bytes)},
    {COUNT("image_bytes_amp", image.bytes_amp)},
    {.key = "tied", .read = wo__load_bool, WO_AT(wo_model_shape, is_tied)},
    {.key = "source", .read = wo__load_text, WO_AT(wo_model_shape, source), .is_deep = true},
};

bool wo__load_model(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  const struct wo_model_shape *const shape = rule;
  if (!wo__load_members(loader, object, model_members, COUNT_OF(model_members), rule)) return false;
  const bool has_sizes = shape->layers > 0 && shape->hidden > 0 && shape->intermediate > 0 && shape->heads > 0 &&
                         shape->kv_heads > 0 && shape->head_dim > 0;
  return has_sizes || shape->image.bytes > 0 || shape->pipeline.denoiser > 0 ||
         wo__load_fail(loader, object, WO_RULE_VALUE, WO_E_SYNTAX,
                       "expected layers, hidden, intermediate, heads, kv_heads and head_dim, or image_bytes, or denoiser");
}

/* ---- phases and terms ------------------------------------------------------------------------------------------------- */

/* The fact that a hint sets. */
static bool read_hint_fact(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  if (!wo__load_text(loader, value, member, target)) return false;
  const struct wo_view name = ((struct wo_phase_hint *)target)->fact;
  if (wo_fact_unit(loader->pack, name) == WO_UNIT_BOOL) return true;
  return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_UNKNOWN, "'%s' is no fact that is true or false", name.ptr);
}

static const struct wo_rule_word reach_names[] = {{"name", WO_REACH_NAME},   {"work", WO_REACH_WORK}, {"pass", WO_REACH_PASS},
                                                  {"stage", WO_REACH_STAGE}, {"loop", WO_REACH_LOOP}, {"told", WO_REACH_TOLD}};
static const struct wo_rule_words reaches = {"reach", reach_names, COUNT_OF(reach_names)};

static const struct wo_member phase_members[] = {
    {.key = "phase", .read = wo__load_skip},
    {.key = "fact", .read = read_hint_fact, WO_AT(wo_phase_hint, fact)},
    {.key = "innermost", .read = wo__load_bool, WO_AT(wo_phase_hint, is_innermost)},
    {.key = "of_memory", .read = wo__load_bool, WO_AT(wo_phase_hint, is_of_memory)},
    {.key = "of_code", .read = wo__load_bool, WO_AT(wo_phase_hint, is_of_code)},
    {.key = "before_work", .read = wo__load_bool, WO_AT(wo_phase_hint, is_before_work)},
    {.key = "reach", .read = wo__load_word, WO_AT(wo_phase_hint, reach), .how = &reaches},
    {.key = "any_of", .read = wo__load_exacts, WO_ARRAY_AT(wo_phase_hint, any_of, any_of_count)},
    {.key = "none_of", .read = wo__load_exacts, WO_ARRAY_AT(wo_phase_hint, none_of, none_of_count)},
    {.key = "functions", .read = wo__load_exacts, WO_ARRAY_AT(wo_phase_hint, functions, function_count)},
    {.key = "words", .read = wo__load_exacts, WO_ARRAY_AT(wo_phase_hint, words, word_count)},
    {.key = "with_words", .read = wo__load_exacts, WO_ARRAY_AT(wo_phase_hint, with_words, with_word_count)},
    {.key = "not_words", .read = wo__load_exacts, WO_ARRAY_AT(wo_phase_hint, not_words, not_word_count)},
    {.key = "said", .read = wo__load_exacts, WO_ARRAY_AT(wo_phase_hint, said, said_count)},
    {.key = "kinds", .read = wo__load_exacts, WO_ARRAY_AT(wo_phase_hint, kinds, kind_count)},
};

/* The lint checks that it lists something. */
bool wo__load_phase(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  return wo__load_members(loader, object, phase_members, COUNT_OF(phase_members), rule);
}

/* A term's text is prose without values: its readers have no failed job at hand. Terms are never read for a diagnosis, so nothing
 * here needs to be marked as deep. */
static const struct wo_member term_members[] = {
    {.key = "term", .read = wo__load_skip},
    {.key = "title", .read = wo__load_text, WO_AT(wo_term, title)},
    {.key = "text", .read = wo__load_text, WO_AT(wo_term, text)},
    {.key = "synonyms", .read = wo__load_texts, WO_ARRAY_AT(wo_term, synonyms, synonym_count)},
};

bool wo__load_term(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  return wo__load_members(loader, object, term_members, COUNT_OF(term_members), rule);
}
