/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom explain ID`: the meaning of a cause, a fix, a knob, a fact or a term, from the data of the rules alone. Causes and
 * fixes are the pages of analyzer/command/rule_doc.h. */
#include "analyzer/command/commands.h"
#include "analyzer/command/rule_doc.h"
#include "parsers/base/nearest/nearest.h"
#include "parsers/base/units.h"

/* "setting micro_batch" and an empty line. */
static void add_heading(struct wo_text *out, const char *sort, struct wo_view id) {
  wo_text_add(out, "%s %.*s\n\n", sort, WO_SHOWN(id));
}

/* All spellings, each with the framework that uses it: whyoom finds a setting in a log by them. */
static void explain_knob(const struct wo_knob *knob, struct wo_text *out, size_t width) {
  add_heading(out, "setting", knob->id);
  if (knob->means.len > 0) wo_text_wrap(out, knob->means, 2, width);
  wo_text_add(out, "\nSpelled\n");
  for (size_t i = 0; i < knob->alias_count; i++) {
    const struct wo_alias *alias = &knob->aliases[i];
    wo_text_add(out, "  %.*s%s%.*s%s\n", WO_SHOWN(alias->key), alias->framework.len ? " (" : "", WO_SHOWN(alias->framework),
                alias->framework.len ? ")" : "");
  }
}

/* False when no fact has this name. The unit is written as in conditions ("BYTES"). */
static bool explain_fact(struct wo_view id, struct wo_text *out, size_t width) {
  const struct wo_fact *const fact = wo_fact_find(id);
  if (!fact) return false;
  add_heading(out, "fact", id);
  wo_text_wrap(out, wo_view_of(fact->meaning), 2, width);
  wo_text_add(out, "  unit: %s\n", fact->unit_code);
  return true;
}

/* Whether the words are the same but for case and for what is between them: "KV cache", "kv_cache". */
static bool is_same_word(struct wo_view a, struct wo_view b) {
  if (a.len != b.len) return false;
  for (size_t i = 0; i < a.len; i++) {
    const bool is_gap =
        (a.ptr[i] == ' ' || a.ptr[i] == '-' || a.ptr[i] == '_') && (b.ptr[i] == ' ' || b.ptr[i] == '-' || b.ptr[i] == '_');
    if (!is_gap && wo_lower(a.ptr[i]) != wo_lower(b.ptr[i])) return false;
  }
  return true;
}

static bool is_called(const struct wo_term *term, struct wo_view word) {
  for (size_t i = 0; i < term->synonym_count; i++) {
    if (is_same_word(term->synonyms[i], word)) return true;
  }
  return is_same_word(term->id, word);
}

/* Terms are words that reports use without an explanation ("reserved", "private pool"). False when none has this name. */
static bool explain_term(const struct wo_pack *pack, struct wo_view id, struct wo_text *out, size_t width) {
  for (size_t i = 0; i < pack->term_count; i++) {
    const struct wo_term *term = &pack->terms[i];
    if (!is_called(term, id)) continue;
    wo_text_add(out, "%.*s\n\n", WO_SHOWN(term->title));
    wo_text_wrap(out, term->text, 2, width);
    return true;
  }
  return false;
}

/* A setting by any of its spellings: "--per-device-train-batch-size". False when none has this one. */
static bool explain_spelling(const struct wo_pack *pack, struct wo_view word, struct wo_text *out, size_t width) {
  while (word.len > 0 && word.ptr[0] == '-') word = wo_view_skip(word, 1);
  for (size_t i = 0; i < pack->knob_count; i++) {
    const struct wo_knob *const knob = &pack->knobs[i];
    for (size_t k = 0; k < knob->alias_count; k++) {
      if (!is_same_word(knob->aliases[k].key, word)) continue;
      explain_knob(knob, out, width);
      return true;
    }
  }
  return false;
}

/* A row of the table of known shapes, with its source: reports name the row if they take a number from it. */
static bool explain_model(const struct wo_pack *pack, struct wo_view id, struct wo_text *out) {
  for (size_t i = 0; i < pack->model_count; i++) {
    const struct wo_model_shape *const shape = &pack->models[i];
    if (!wo_view_equal(shape->id, id)) continue;
    add_heading(out, "model", id);
    wo_text_add(out, "  parameters %.0f\n", shape->parameters);
    if (shape->layers > 0)
      wo_text_add(out,
                  "  layers %.0f\n  hidden size %.0f\n  feed-forward width %.0f\n  heads %.0f, key/value heads %.0f, head size "
                  "%.0f\n",
                  shape->layers, shape->hidden, shape->intermediate, shape->heads, shape->kv_heads, shape->head_dim);
    if (shape->experts.count > 0)
      wo_text_add(out, "  experts %.0f, %.0f of them for a token\n", shape->experts.count, shape->experts.per_token);
    if (shape->pipeline.denoiser > 0)
      wo_text_add(out, "  encoders %.0f, denoiser %.0f, decoder %.0f\n", shape->pipeline.encoders, shape->pipeline.denoiser,
                  shape->pipeline.decoder);
    if (shape->image.bytes > 0) {
      wo_text_add(out, "  an image of %.0f x %.0f in training: %s", shape->image.side, shape->image.side,
                  WO_BYTES_TEXT(shape->image.bytes));
      wo_text_add(out, ", under autocast %s\n", WO_BYTES_TEXT(shape->image.bytes_amp));
    }
    if (shape->vocab > 0) wo_text_add(out, "  vocabulary %.0f\n", shape->vocab);
    wo_text_add(out, "  source: %.*s\n", WO_SHOWN(shape->source));
    return true;
  }
  return false;
}

/* Everything that has the id: a cause and a fix may share one. False when nothing has it. */
static bool explain(const struct wo_pack *pack, struct wo_view id, struct wo_text *out, size_t width) {
  const struct wo_cause *cause = wo_pack_cause(pack, id);
  const struct wo_fix *fix = wo_pack_fix(pack, id);
  const struct wo_knob *knob = wo_pack_knob(pack, id);
  struct wo_doc doc = {.out = out, .form = WO_DOC_TEXT, .width = width};
  if (cause) wo_rule_doc_cause(&doc, pack, cause);
  if (cause && fix) wo_text_add(out, "\n");
  if (fix) wo_rule_doc_fix(&doc, pack, fix);
  wo_doc_done(&doc);
  if (knob) explain_knob(knob, out, width);
  return cause || fix || knob || explain_fact(id, out, width) || explain_term(pack, id, out, width) ||
         explain_model(pack, id, out) || explain_spelling(pack, id, out, width);
}

/* What is explained and has nearly the name; empty when nothing has. */
static struct wo_view find_near(const struct wo_pack *pack, struct wo_view id) {
  struct wo_nearest nearest = {.want = id};
  size_t fact_count = 0;
  const struct wo_fact *const facts = wo_fact_list(&fact_count);
  for (size_t i = 0; i < pack->term_count; i++) {
    wo_nearest_offer(&nearest, pack->terms[i].id);
    for (size_t k = 0; k < pack->terms[i].synonym_count; k++) wo_nearest_offer(&nearest, pack->terms[i].synonyms[k]);
  }
  wo_command_offer_rules(pack, &nearest);
  for (size_t i = 0; i < fact_count; i++) wo_nearest_offer(&nearest, facts[i].name);
  for (size_t i = 0; i < pack->model_count; i++) wo_nearest_offer(&nearest, pack->models[i].id);
  return wo_nearest_best(&nearest);
}

static void report_unknown(const struct wo_call *call, const struct wo_pack *pack, const char *word) {
  char hint[WO_NEAREST_BYTES];
  wo_message(call->errors, (struct wo_view){0}, "\"%s\" is not known%s; `whyoom explain` lists the known ids", word,
             wo_nearest_hint(find_near(pack, wo_view_of(word)), hint, sizeof hint));
}

/* Without knobs and facts: there are hundreds. */
static void list_ids(const struct wo_pack *pack, struct wo_text *out) {
  wo_text_add(out, "whyoom explain ID, where ID is one of\n\ncauses: ");
  for (size_t i = 0; i < pack->cause_count; i++) wo_text_add(out, "%.*s ", WO_SHOWN(pack->causes[i].id));
  wo_text_add(out, "\n\nfixes: ");
  for (size_t i = 0; i < pack->fix_count; i++) wo_text_add(out, "%.*s ", WO_SHOWN(pack->fixes[i].id));
  wo_text_add(out, "\n\nterms: ");
  for (size_t i = 0; i < pack->term_count; i++) wo_text_add(out, "%.*s ", WO_SHOWN(pack->terms[i].id));
  wo_text_add(out, "\n\nor a setting (`whyoom rules list`), a fact such as oom.tried or a model such as gpt2\n");
}

/* An unknown id does not keep the others from being explained. */
enum wo_exit wo_run_explain(const struct wo_call *call) {
  struct wo_pack *pack = wo_command_load(call, WO_LOAD_ALL);
  if (!pack) return WO_EXIT_ERROR;
  enum wo_exit code = WO_EXIT_FINE;
  if (call->word_count == 0) list_ids(pack, call->out);
  for (size_t i = 0; i < call->word_count; i++) {
    if (i > 0) wo_text_add(call->out, "\n");
    if (explain(pack, wo_view_of(call->words[i]), call->out, call->style.width)) continue;
    report_unknown(call, pack, call->words[i]);
    code = WO_EXIT_ERROR;
  }
  wo_pack_free(pack);
  return code;
}

const struct wo_command wo_command_explain = {
    .name = "explain",
    .is_long = true,
    .needs_more = "",
    .summary = "what is known of a cause, a fix, a setting, a fact or a term",
    .usage = "explain [ID...]",
    .first_path = WO_NO_PATHS,
    .about = "A cause: what it means, how whyoom knows, what to do, what it is mistaken for,\n"
             "an example, references. A fix: what it does, when it is offered, what it saves\n"
             "and costs. Also a setting, by any of its spellings, a fact, a term (reserved,\n"
             "allocated) or a model.\n"
             "<tried> stands for a number that a job's log gives. Without an ID: what there\n"
             "is to explain.\n",
    .ending = "exit status: 0; 2 when there is no such id\n",
    .examples = "# a cause that a report names\n"
                "whyoom explain fragmentation\n"
                "# a word of a log, and a setting by the name that you know\n"
                "whyoom explain reserved PYTORCH_CUDA_ALLOC_CONF\n"
                "# everything there is to explain\n"
                "whyoom explain\n",
};
