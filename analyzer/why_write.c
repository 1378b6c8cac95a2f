/* Writes the explanation of a verdict, for people and as JSON. */
#include <cjson/cJSON.h>

#include "analyzer/why.h"
#include "parsers/base/clean.h"

static const char *const truth_names[] = {[WO_FALSE] = "false", [WO_TRUE] = "true", [WO_UNDECIDED] = "undecided"};

/* What is undecided for rounding is told from what is undecided because a fact is unknown. */
static const char *verdict_of(const struct wo_why_step *step) {
  const struct wo_value *value = &step->step.value;
  if (value->unit != WO_UNIT_BOOL) return value->is_known ? "value" : "unknown";
  if (value->truth != WO_UNDECIDED) return truth_names[value->truth];
  return step->is_overlap ? "undecided" : "unknown";
}

/* ---- text ---- */

/* Values need an arena only to be shown, and one line's is gone with the line. */
static void add_value(struct wo_text *out, struct wo_value value) {
  struct wo_arena arena;
  wo_arena_init(&arena, (size_t)64 * 1024);
  wo_text_add_view(out, wo_value_show(&arena, value));
  wo_arena_done(&arena);
}

static void add_fact(struct wo_text *out, const struct wo_why_fact *fact, size_t indent) {
  wo_text_repeat(out, ' ', indent);
  wo_text_add(out, "%.*s = ", (int)fact->name.len, fact->name.ptr);
  add_value(out, fact->value);
  if (fact->place.len > 0) wo_text_add(out, "  [%.*s]", (int)fact->place.len, fact->place.ptr);
  wo_text_add(out, "\n");
}

/* A single comparison repeats its clause, so that only its facts are told. */
static void add_steps(struct wo_text *out, const struct wo_why_clause *clause) {
  for (size_t i = 0; i < clause->step_count; i++) {
    const struct wo_why_step *step = &clause->steps[i];
    const size_t indent = 6 + 2 * (size_t)step->step.depth;
    if (clause->step_count > 1 || !step->step.is_leaf) {
      wo_text_repeat(out, ' ', indent);
      wo_text_add(out, "%-10s %.*s%s\n", verdict_of(step), (int)step->step.source.len, step->step.source.ptr,
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
  wo_text_add(out, "%s", is_unknown ? "unknown" : truth_names[clause->value.truth]);
}

static void add_clause(struct wo_text *out, const struct wo_why_clause *clause) {
  wo_text_add(out, "  %s%s%.*s: ", clause->part, clause->name.len > 0 ? " " : "", (int)clause->name.len,
              clause->name.len > 0 ? clause->name.ptr : "");
  add_verdict(out, clause);
  if (clause->has_weight) wo_text_add(out, "  (weight %.2f, score then %.2f)", clause->weight, clause->score);
  wo_text_add(out, "\n");
  const char *const says = clause->value.truth == WO_TRUE ? "says" : "would say";
  if (clause->say.len > 0) wo_text_add(out, "      %s \"%.*s\"\n", says, (int)clause->say.len, clause->say.ptr);
  if (clause->source.len > 0) wo_text_add(out, "      %.*s\n", (int)clause->source.len, clause->source.ptr);
  add_steps(out, clause);
}

void wo_why_text(const struct wo_why *why, struct wo_text *out) {
  wo_text_add(out, "%s %.*s, %s %.*s:%llu\n", why->sort, (int)why->id.len, why->id.ptr,
              why->place.is_user ? "from" : "built in, from", (int)why->place.file.len, why->place.file.ptr,
              (unsigned long long)why->place.line);
  wo_text_add(out, "%s: %.*s\n", why->is_fired ? "it fires" : "it does not fire", (int)why->reason.len,
              why->reason.ptr ? why->reason.ptr : "");
  if (why->has_score) wo_text_add(out, "score: %.2f, from a prior of %.2f\n", why->score, why->prior);
  for (size_t i = 0; i < why->clause_count; i++) {
    wo_text_add(out, "\n");
    add_clause(out, &why->clauses[i]);
  }
}

/* ---- JSON ---- */

/* Items that cannot be made are left out, and the whole is then failed: an answer with holes would pass for a whole one. */
struct writer {
  struct wo_text scratch;
  bool is_failed;
};

static cJSON *put(struct writer *w, cJSON *object, const char *key, cJSON *item) {
  if (item != NULL && cJSON_AddItemToObject(object, key, item)) return item;
  cJSON_Delete(item);
  w->is_failed = true;
  return NULL;
}

static cJSON *push(struct writer *w, cJSON *array) {
  cJSON *const item = cJSON_CreateObject();
  if (item != NULL && cJSON_AddItemToArray(array, item)) return item;
  cJSON_Delete(item);
  w->is_failed = true;
  return NULL;
}

/* An absent text is null. Rule files may hold any bytes. */
static void put_text(struct writer *w, cJSON *object, const char *key, struct wo_view view) {
  if (view.len == 0) {
    put(w, object, key, cJSON_CreateNull());
    return;
  }
  w->scratch.len = 0;
  wo_text_repeat(&w->scratch, ' ', view.len * 3 + 1);
  if (w->scratch.is_failed) {
    w->is_failed = true;
    return;
  }
  const struct wo_view clean = wo_clean_utf8(view, w->scratch.ptr, w->scratch.len - 1);
  w->scratch.ptr[clean.len] = '\0';
  put(w, object, key, cJSON_CreateString(w->scratch.ptr));
}

/* A value, its bounds where it is a number, and its unit. What is unknown is null. */
static void put_value(struct writer *w, cJSON *object, struct wo_value value) {
  const bool is_number = value.unit == WO_UNIT_NUMBER || value.unit == WO_UNIT_BYTES || value.unit == WO_UNIT_DURATION;
  put(w, object, "unit", cJSON_CreateString(wo_unit_name(value.unit)));
  if (value.unit == WO_UNIT_BOOL) {
    put(w, object, "value", value.truth == WO_UNDECIDED ? cJSON_CreateNull() : cJSON_CreateBool(value.truth == WO_TRUE));
  } else if (!value.is_known) {
    put(w, object, "value", cJSON_CreateNull());
  } else if (value.unit == WO_UNIT_TEXT) {
    put_text(w, object, "value", value.text);
  } else {
    put(w, object, "value", cJSON_CreateNumber(value.number.mid));
  }
  if (!is_number || !value.is_known) return;
  put(w, object, "lo", cJSON_CreateNumber(value.number.lo));
  put(w, object, "hi", cJSON_CreateNumber(value.number.hi));
}

static void put_step(struct writer *w, cJSON *array, const struct wo_why_step *step) {
  cJSON *const object = push(w, array);
  put(w, object, "depth", cJSON_CreateNumber(step->step.depth));
  put_text(w, object, "source", step->step.source);
  put(w, object, "verdict", cJSON_CreateString(verdict_of(step)));
  cJSON *const facts = put(w, object, "facts", cJSON_CreateArray());
  for (size_t i = 0; i < step->fact_count; i++) {
    cJSON *const fact = push(w, facts);
    put_text(w, fact, "name", step->facts[i].name);
    put_value(w, fact, step->facts[i].value);
    put_text(w, fact, "place", step->facts[i].place);
  }
}

static void put_clause(struct writer *w, cJSON *array, const struct wo_why_clause *clause) {
  cJSON *const object = push(w, array);
  put(w, object, "part", cJSON_CreateString(clause->part));
  put_text(w, object, "name", clause->name);
  put_text(w, object, "say", clause->say);
  put_text(w, object, "source", clause->source);
  put_value(w, object, clause->value);
  if (clause->has_weight) {
    put(w, object, "weight", cJSON_CreateNumber(clause->weight));
    put(w, object, "score", cJSON_CreateNumber(clause->score));
  }
  cJSON *const steps = put(w, object, "conditions", cJSON_CreateArray());
  for (size_t i = 0; i < clause->step_count; i++) put_step(w, steps, &clause->steps[i]);
}

static void put_why(struct writer *w, cJSON *root, const struct wo_why *why) {
  put(w, root, "schema", cJSON_CreateString("whyoom.why/1"));
  put(w, root, "sort", cJSON_CreateString(why->sort));
  put_text(w, root, "id", why->id);
  put_text(w, root, "file", why->place.file);
  put(w, root, "line", cJSON_CreateNumber((double)why->place.line));
  put(w, root, "built_in", cJSON_CreateBool(!why->place.is_user));
  put(w, root, "fires", cJSON_CreateBool(why->is_fired));
  put_text(w, root, "reason", why->reason);
  put(w, root, "prior", why->has_score ? cJSON_CreateNumber(why->prior) : cJSON_CreateNull());
  put(w, root, "score", why->has_score ? cJSON_CreateNumber(why->score) : cJSON_CreateNull());
  cJSON *const clauses = put(w, root, "clauses", cJSON_CreateArray());
  for (size_t i = 0; i < why->clause_count; i++) put_clause(w, clauses, &why->clauses[i]);
}

void wo_why_json(const struct wo_why *why, struct wo_text *out) {
  struct writer w = {.is_failed = false};
  cJSON *const root = cJSON_CreateObject();
  if (root == NULL) w.is_failed = true;
  if (root != NULL) put_why(&w, root, why);
  char *const text = w.is_failed ? NULL : cJSON_Print(root);
  if (text == NULL) {
    out->is_failed = true;
  } else {
    wo_text_add(out, "%s\n", text);
  }
  cJSON_free(text);
  cJSON_Delete(root);
  wo_text_done(&w.scratch);
}
