/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the explanation of a verdict, for people and as JSON. */
#include <cjson/cJSON.h>

#include "analyzer/diagnosis/why.h"
#include "parsers/base/output/json_out.h"

/* "undecided" means because of rounding; "unknown" means that a fact is unknown. */
static const char *verdict_of(const struct wo_why_step *step) {
  const struct wo_value *value = &step->step.value;
  if (value->unit != WO_UNIT_BOOL) return value->is_known ? "value" : "unknown";
  if (value->truth != WO_UNDECIDED) return wo_truth_name(value->truth);
  return step->is_overlap ? "undecided" : "unknown";
}

/* ---- text ---- */

/* Values need an arena only to be shown, so each line has its own. */
static void add_value(struct wo_text *out, struct wo_value value) {
  struct wo_arena arena;
  wo_arena_init(&arena, (size_t)64 * 1024);
  wo_text_add_view(out, wo_value_show(&arena, value));
  wo_arena_done(&arena);
}

static void add_fact(struct wo_text *out, const struct wo_why_fact *fact, size_t indent) {
  wo_text_repeat(out, ' ', indent);
  wo_text_add(out, "%.*s = ", WO_SHOWN(fact->name));
  add_value(out, fact->value);
  if (fact->place.len > 0) wo_text_add(out, "  [%.*s]", WO_SHOWN(fact->place));
  wo_text_add(out, "\n");
}

/* A single comparison is the whole clause, so only its facts are written. */
static void add_steps(struct wo_text *out, const struct wo_why_clause *clause) {
  for (size_t i = 0; i < clause->step_count; i++) {
    const struct wo_why_step *step = &clause->steps[i];
    const size_t indent = 6 + 2 * (size_t)step->step.depth;
    if (clause->step_count > 1 || !step->step.is_leaf) {
      wo_text_repeat(out, ' ', indent);
      wo_text_add(out, "%-10s %.*s%s\n", verdict_of(step), WO_SHOWN(step->step.expr.source),
                  step->step.is_definition ? ", that is" : "");
    }
    for (size_t k = 0; k < step->fact_count; k++) add_fact(out, &step->facts[k], indent + 2);
  }
}

static void add_verdict(struct wo_text *out, const struct wo_why_clause *clause) {
  if (clause->value.unit != WO_UNIT_BOOL) {
    add_value(out, clause->value);
    return;
  }
  const bool is_unknown = clause->value.truth == WO_UNDECIDED && !clause->is_overlap;
  wo_text_add(out, "%s", is_unknown ? "unknown" : wo_truth_name(clause->value.truth));
}

static void add_clause(struct wo_text *out, const struct wo_why_clause *clause) {
  wo_text_add(out, "  %s%s%.*s: ", clause->part, clause->name.len > 0 ? " " : "", WO_SHOWN(clause->name));
  add_verdict(out, clause);
  if (clause->has_weight) wo_text_add(out, "  (weight %.2f, score then %.2f)", clause->weight, clause->score);
  wo_text_add(out, "\n");
  const char *const says = clause->value.truth == WO_TRUE ? "says" : "would say";
  if (clause->say.len > 0) wo_text_add(out, "      %s \"%.*s\"\n", says, WO_SHOWN(clause->say));
  if (clause->source.len > 0) wo_text_add(out, "      %.*s\n", WO_SHOWN(clause->source));
  add_steps(out, clause);
}

void wo_why_text(const struct wo_why *why, struct wo_text *out) {
  wo_text_add(out, "%s %.*s, %s ", why->sort, WO_SHOWN(why->id), why->place.is_user ? "from" : "built in, from");
  wo_text_add_clean(out, why->place.file);
  wo_text_add(out, ":%llu\n", (unsigned long long)why->place.line);
  wo_text_add(out, "%s: %.*s\n", why->is_fired ? "it fires" : "it does not fire", WO_SHOWN(why->reason));
  if (why->has_score) wo_text_add(out, "score: %.2f, from a prior of %.2f\n", why->score, why->prior);
  wo__why_division_text(&why->division, out);
  for (size_t i = 0; i < why->clause_count; i++) {
    wo_text_add(out, "\n");
    add_clause(out, &why->clauses[i]);
  }
}

/* ---- JSON ---- */

/* A value, its bounds if it is a number, and its unit. Unknown values are null. */
static void put_value(struct wo_json_out *json, cJSON *object, struct wo_value value) {
  const bool is_number = value.unit == WO_UNIT_NUMBER || value.unit == WO_UNIT_BYTES || value.unit == WO_UNIT_DURATION;
  wo_json_put(json, object, "unit", cJSON_CreateString(wo_unit_name(value.unit)));
  if (value.unit == WO_UNIT_BOOL) {
    wo_json_put(json, object, "value",
                value.truth == WO_UNDECIDED ? cJSON_CreateNull() : cJSON_CreateBool(value.truth == WO_TRUE));
  } else if (!value.is_known) {
    wo_json_put(json, object, "value", cJSON_CreateNull());
  } else if (value.unit == WO_UNIT_TEXT) {
    wo_json_put_text(json, object, "value", value.text);
  } else {
    wo_json_put(json, object, "value", cJSON_CreateNumber(value.number.mid));
  }
  if (!is_number || !value.is_known) return;
  wo_json_put(json, object, "lo", cJSON_CreateNumber(value.number.lo));
  wo_json_put(json, object, "hi", cJSON_CreateNumber(value.number.hi));
}

static void put_step(struct wo_json_out *json, cJSON *array, const struct wo_why_step *step) {
  cJSON *const object = wo_json_push(json, array, cJSON_CreateObject());
  wo_json_put(json, object, "depth", cJSON_CreateNumber(step->step.depth));
  wo_json_put_text(json, object, "source", step->step.expr.source);
  wo_json_put(json, object, "verdict", cJSON_CreateString(verdict_of(step)));
  cJSON *const facts = wo_json_put(json, object, "facts", cJSON_CreateArray());
  for (size_t i = 0; i < step->fact_count; i++) {
    cJSON *const fact = wo_json_push(json, facts, cJSON_CreateObject());
    wo_json_put_text(json, fact, "name", step->facts[i].name);
    put_value(json, fact, step->facts[i].value);
    wo_json_put_text(json, fact, "place", step->facts[i].place);
  }
}

static void put_clause(struct wo_json_out *json, cJSON *array, const struct wo_why_clause *clause) {
  cJSON *const object = wo_json_push(json, array, cJSON_CreateObject());
  wo_json_put(json, object, "part", cJSON_CreateString(clause->part));
  wo_json_put_text(json, object, "name", clause->name);
  wo_json_put_text(json, object, "say", clause->say);
  wo_json_put_text(json, object, "source", clause->source);
  put_value(json, object, clause->value);
  if (clause->has_weight) {
    wo_json_put(json, object, "weight", cJSON_CreateNumber(clause->weight));
    wo_json_put(json, object, "score", cJSON_CreateNumber(clause->score));
  }
  cJSON *const steps = wo_json_put(json, object, "conditions", cJSON_CreateArray());
  for (size_t i = 0; i < clause->step_count; i++) put_step(json, steps, &clause->steps[i]);
}

static void put_truth(struct wo_json_out *json, cJSON *object, const char *key, enum wo_truth truth) {
  wo_json_put(json, object, key, truth == WO_UNDECIDED ? cJSON_CreateNull() : cJSON_CreateBool(truth == WO_TRUE));
}

/* null where the log has no figures of the card. */
static void put_division(struct wo_json_out *json, cJSON *root, const struct wo_why_division *division) {
  if (division->part_count == 0) {
    wo_json_put(json, root, "card", cJSON_CreateNull());
    return;
  }
  cJSON *const object = wo_json_put(json, root, "card", cJSON_CreateObject());
  wo_json_put(json, object, "need", division->need.is_known ? cJSON_CreateNumber(division->need.number.mid) : cJSON_CreateNull());
  wo_json_put(json, object, "allowance", cJSON_CreateNumber(division->allowance));
  wo_json_put_text(json, object, "dominant", division->dominant);
  cJSON *const parts = wo_json_put(json, object, "parts", cJSON_CreateArray());
  for (size_t i = 0; i < division->part_count; i++) {
    const struct wo_why_part *const part = &division->parts[i];
    cJSON *const row = wo_json_push(json, parts, cJSON_CreateObject());
    wo_json_put(json, row, "name", cJSON_CreateString(part->name));
    put_value(json, row, part->bytes);
    put_truth(json, row, "would_serve", part->would_serve);
    put_truth(json, row, "would_fit", part->would_fit);
  }
}

static void put_why(struct wo_json_out *json, cJSON *root, const struct wo_why *why) {
  wo_json_put(json, root, "schema", cJSON_CreateString("whyoom.why/1"));
  wo_json_put(json, root, "sort", cJSON_CreateString(why->sort));
  wo_json_put_text(json, root, "id", why->id);
  wo_json_put_text(json, root, "file", why->place.file);
  wo_json_put(json, root, "line", cJSON_CreateNumber((double)why->place.line));
  wo_json_put_bool(json, root, "built_in", !why->place.is_user);
  wo_json_put_bool(json, root, "fires", why->is_fired);
  wo_json_put_text(json, root, "reason", why->reason);
  wo_json_put(json, root, "prior", why->has_score ? cJSON_CreateNumber(why->prior) : cJSON_CreateNull());
  wo_json_put(json, root, "score", why->has_score ? cJSON_CreateNumber(why->score) : cJSON_CreateNull());
  put_division(json, root, &why->division);
  cJSON *const clauses = wo_json_put(json, root, "clauses", cJSON_CreateArray());
  for (size_t i = 0; i < why->clause_count; i++) put_clause(json, clauses, &why->clauses[i]);
}

void wo_why_json(const struct wo_why *why, struct wo_text *out) {
  struct wo_json_out json = {0};
  cJSON *const root = cJSON_CreateObject();
  if (root != NULL) put_why(&json, root, why);
  wo_json_finish(&json, root, out);
}
