/* The generic readers: JSON values of each type into the pack's arena.
 *
 * A reader stores its value in a struct whose type it does not know: the member's offset says
 * where. Pointers to arrays are stored with memcpy, so that no cast has to vouch for what stands
 * there. */
#include "rules/load/rule_read.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "rules/language/nearest.h"

/* ---- errors ----------------------------------------------------------------------------------------------------------- */

/* The status is kept in the loader besides: err may be NULL, and a load must fail all the same. */
bool wo__load_fail(struct wo_loader *loader, const struct wo_tree *node, enum wo_json_part part, enum wo_status code,
                   const char *format, ...) {
  assert(code != WO_OK && loader->status == WO_OK);
  char message[sizeof loader->err->message];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  loader->status = wo_err_set(loader->err, code, "%s", message);
  wo_json_place(loader->json, node, part, 0, loader->err);
  return false;
}

bool wo__load_fail_nomem(struct wo_loader *loader) {
  loader->status = wo_err_set(loader->err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  return false;
}

/* The value has another JSON type than its key asks for. Only what was expected is named; what
 * stands there, the author sees. */
static bool fail_type(struct wo_loader *loader, const struct wo_tree *value, const char *expected) {
  return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_TYPE, "expected %s", expected);
}

/* Turns an error inside a string (an expression, a template) into one inside the file. Its column
 * becomes a place behind the string's opening quote. Memory that is out has no place. */
static bool fail_inside(struct wo_loader *loader, const struct wo_tree *value, enum wo_status code) {
  assert(code != WO_OK);
  loader->status = code;
  const uint32_t column = loader->err == NULL ? 0 : loader->err->column;
  if (code != WO_E_NOMEM) wo_json_place(loader->json, value, WO_JSON_VALUE, column, loader->err);
  return false;
}

/* ---- objects ---------------------------------------------------------------------------------------------------------- */

/* The row of a key, or WO_NOT_FOUND. Tables are short, and comparing first characters rules most
 * rows out. */
static size_t find_member(const struct wo_member *members, size_t count, const char *key) {
  for (size_t i = 0; i < count; i++) {
    if (members[i].key[0] == key[0] && strcmp(members[i].key, key) == 0) return i;
  }
  return WO_NOT_FOUND;
}

/* Names the closest key that may stand there. */
static bool fail_unknown_key(struct wo_loader *loader, const struct wo_tree *child, const struct wo_member *members,
                             size_t count) {
  struct wo_nearest nearest = {.want = wo_view_of(wo_tree_key(child))};
  for (size_t i = 0; i < count; i++) wo_nearest_offer(&nearest, wo_view_of(members[i].key));
  char hint[WO_NEAREST_BYTES];
  return wo__load_fail(loader, child, WO_JSON_KEY, WO_E_UNKNOWN, "unknown key '%s'%s", wo_tree_key(child),
                       wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}

/* One bit for each row tells keys that come twice, which cJSON lets pass and of which one would be
 * lost. Keys that are skipped at this depth are still checked for their names. */
bool wo__load_members(struct wo_loader *loader, const struct wo_tree *object, const struct wo_member *members, size_t count,
                      void *target) {
  assert(count <= 64);
  if (!wo_tree_is(object, WO_TREE_OBJECT)) return fail_type(loader, object, "an object");
  uint64_t seen = 0;
  for (const struct wo_tree *child = wo_tree_child(object); child != NULL; child = wo_tree_next(child)) {
    const size_t i = find_member(members, count, wo_tree_key(child));
    if (i == WO_NOT_FOUND) return fail_unknown_key(loader, child, members, count);
    if (seen >> i & 1) return wo__load_fail(loader, child, WO_JSON_KEY, WO_E_SYNTAX, "key '%s' comes twice", wo_tree_key(child));
    seen |= UINT64_C(1) << i;
    /* Not an error in a diagnosis, which never asks for it. */
    if (members[i].is_deep && loader->depth != WO_LOAD_ALL) continue;
    if (!members[i].is_head && loader->part == WO_PART_HEAD) continue;
    if (!members[i].read(loader, child, &members[i], target)) return false;
  }
  return true;
}

/* The struct field that a member describes. */
static void *field_of(const struct wo_member *member, void *target) {
  return (char *)target + member->offset;
}

/* Stores the length of an array beside the array. Both are written or neither. */
static void set_count(const struct wo_member *member, void *target, size_t count) {
  memcpy((char *)target + member->count_offset, &count, sizeof count);
}

/* For keys that somebody else reads: the id, the lets, and what needs another value first. */
bool wo__load_skip(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)loader, (void)value, (void)member, (void)target;
  return true;
}

/* ---- texts ------------------------------------------------------------------------------------------------------------ */

/* The string stays the tree's: valid until the file is done with. */
const char *wo__load_string(struct wo_loader *loader, const struct wo_tree *value) {
  if (wo_tree_is(value, WO_TREE_STRING) && wo_tree_text(value) != NULL) return wo_tree_text(value);
  fail_type(loader, value, "a string");
  return NULL;
}

size_t wo__load_array_len(struct wo_loader *loader, const struct wo_tree *value) {
  if (wo_tree_is(value, WO_TREE_ARRAY)) return value->count;
  fail_type(loader, value, "an array");
  return WO_NOT_FOUND;
}

/* The copy ends with a NUL that its length leaves out. */
bool wo__load_copy(struct wo_loader *loader, struct wo_view text, struct wo_view *ret_copy) {
  const struct wo_view copy = wo_arena_copy(&loader->pack->arena, text);
  if (copy.ptr == NULL) return wo__load_fail_nomem(loader);
  *ret_copy = copy;
  return true;
}

/* A JSON string into the arena. */
static bool copy_string(struct wo_loader *loader, const struct wo_tree *value, struct wo_view *ret_text) {
  const char *const text = wo__load_string(loader, value);
  return text != NULL && wo__load_copy(loader, wo_view_of(text), ret_text);
}

bool wo__load_text(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return copy_string(loader, value, field_of(member, target));
}

/* An array of strings. Nothing is stored before all have been read. */
bool wo__load_texts(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  const size_t count = wo__load_array_len(loader, value);
  if (count == WO_NOT_FOUND) return false;
  struct wo_view *const texts = wo_arena_array(&loader->pack->arena, count, sizeof *texts);
  if (texts == NULL) return wo__load_fail_nomem(loader);
  size_t i = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child)) {
    if (!copy_string(loader, child, &texts[i++])) return false;
  }
  assert(i == count);
  const struct wo_view *const field = texts;
  memcpy(field_of(member, target), &field, sizeof field);
  set_count(member, target, count);
  return true;
}

/* An array of strings as one text with line ends between them: how examples hold logs. One line of
 * the log is one line of the file, and diffs stay readable. Measured first, then copied; the last
 * line has no line feed, as in a log that was cut off. */
bool wo__load_lines(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  if (wo__load_array_len(loader, value) == WO_NOT_FOUND) return false;
  size_t total = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child)) {
    const char *const line = wo__load_string(loader, child);
    if (line == NULL) return false;
    total += strlen(line) + 1;
  }
  char *const text = wo_arena_alloc(&loader->pack->arena, total + 1);
  if (text == NULL) return wo__load_fail_nomem(loader);
  size_t at = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child)) {
    const size_t len = strlen(wo_tree_text(child));
    memcpy(text + at, wo_tree_text(child), len);
    at += len;
    if (wo_tree_next(child) != NULL) text[at++] = '\n';
  }
  assert(at <= total);
  *(struct wo_view *)field_of(member, target) = (struct wo_view){text, at};
  return true;
}

bool wo__load_bool(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  if (!wo_tree_is_bool(value)) return fail_type(loader, value, "true or false");
  *(bool *)field_of(member, target) = wo_tree_is(value, WO_TREE_TRUE);
  return true;
}

/* ---- the rule language ------------------------------------------------------------------------------------------------ */

/* Parses a template with the names of the rule being read. A wrong name in a sentence is found at
 * loading, not when the sentence is first said. */
static bool read_template(struct wo_loader *loader, const struct wo_tree *value, const struct wo_template **ret_template) {
  const char *const text = wo__load_string(loader, value);
  if (text == NULL) return false;
  const enum wo_status status =
      wo_template_parse(&loader->pack->arena, wo_view_of(text), &loader->names, ret_template, loader->err);
  return status == WO_OK || fail_inside(loader, value, status);
}

bool wo__load_template(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return read_template(loader, value, field_of(member, target));
}

/* A unit that is wrong as a whole is reported at the string; one that is wrong inside, at its place
 * in it. */
bool wo__load_expr_of(struct wo_loader *loader, const struct wo_tree *value, enum wo_unit unit, const struct wo_expr **ret_expr) {
  const char *const text = wo__load_string(loader, value);
  if (text == NULL) return false;
  const struct wo_expr *expr = NULL;
  const enum wo_status status = wo_expr_parse(&loader->pack->arena, wo_view_of(text), &loader->names, &expr, loader->err);
  if (status != WO_OK) return fail_inside(loader, value, status);
  if (unit != WO_UNIT_NONE && wo_expr_unit(expr) != unit) {
    return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_TYPE, "expected %s, got %s", wo_unit_name(unit),
                         wo_unit_name(wo_expr_unit(expr)));
  }
  *ret_expr = expr;
  return true;
}

bool wo__load_expr(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return wo__load_expr_of(loader, value, (enum wo_unit)member->extra, field_of(member, target));
}

/* By enumerator, from the same list that gives the values. */
static const char *const weight_names[] = {
#define WEIGHT_NAME(code, name, value) [code] = name,
    WO_WEIGHT_MAP(WEIGHT_NAME)
#undef WEIGHT_NAME
};

bool wo__load_weight(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  const char *const name = wo__load_string(loader, value);
  if (name == NULL) return false;
  for (size_t i = 0; i < WO_WEIGHT_COUNT_; i++) {
    if (strcmp(name, weight_names[i]) != 0) continue;
    *(enum wo_weight *)field_of(member, target) = (enum wo_weight)i;
    return true;
  }
  return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_UNKNOWN, "unknown weight '%s' (decisive, strong, medium, weak, none)",
                       name);
}

/* The weight stands last, so that clauses without one leave it out of their table. */
static const struct wo_member clause_members[] = {
    {.key = "if", .read = wo__load_expr, .offset = offsetof(struct wo_clause, when), .extra = WO_UNIT_BOOL, .is_head = true},
    {.key = "say", .read = wo__load_template, .offset = offsetof(struct wo_clause, say)},
    {.key = "weight", .read = wo__load_weight, .offset = offsetof(struct wo_clause, weight)},
};

static const struct wo_member question_members[] = {
    {.key = "between", .read = wo__load_text, .offset = offsetof(struct wo_clause, between)},
    {.key = "if", .read = wo__load_expr, .offset = offsetof(struct wo_clause, when), .extra = WO_UNIT_BOOL},
    {.key = "say", .read = wo__load_template, .offset = offsetof(struct wo_clause, say)},
};

/* One clause. Where a weight is allowed it is medium by default; where it is not, it is an unknown
 * key. A remark may be a bare string, which is said always; a condition without a text, or a text
 * without its condition, is taken for a slip. */
static bool read_clause(struct wo_loader *loader, const struct wo_tree *value, enum wo_clause_form form,
                        struct wo_clause *clause) {
  clause->weight = form == WO_CLAUSE_ARGUMENT ? WO_WEIGHT_MEDIUM : WO_WEIGHT_NONE;
  const bool is_question = form == WO_CLAUSE_QUESTION;
  if ((form == WO_CLAUSE_REMARK || is_question) && wo_tree_is(value, WO_TREE_STRING))
    return read_template(loader, value, &clause->say);
  const struct wo_member *const members = is_question ? question_members : clause_members;
  const size_t count = is_question || form == WO_CLAUSE_ARGUMENT ? 3 : 2;
  if (!wo__load_members(loader, value, members, count, clause)) return false;
  if (loader->part == WO_PART_HEAD) return true;
  if (clause->say == NULL) return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_SYNTAX, "missing key 'say'");
  if (clause->when == NULL && clause->between.len == 0)
    return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_SYNTAX, "missing key 'if'");
  return true;
}

/* An array of clauses of one form. The order is kept: it is that in which they are said. */
bool wo__load_clauses(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  const size_t count = wo__load_array_len(loader, value);
  if (count == WO_NOT_FOUND) return false;
  struct wo_clause *const clauses = wo_arena_array(&loader->pack->arena, count, sizeof *clauses);
  if (clauses == NULL) return wo__load_fail_nomem(loader);
  size_t i = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child)) {
    if (!read_clause(loader, child, (enum wo_clause_form)member->extra, &clauses[i++])) return false;
  }
  const struct wo_clause *const field = clauses;
  memcpy(field_of(member, target), &field, sizeof field);
  set_count(member, target, count);
  return true;
}

/* ---- lets ------------------------------------------------------------------------------------------------------------- */

/* Names without dots, so that they cannot look like facts: a reader of a condition sees at once
 * which of its names the rule itself has made. */
bool wo__load_is_name(struct wo_view name) {
  for (size_t i = 0; i < name.len; i++) {
    if (!wo_is_word(name.ptr[i])) return false;
  }
  return name.len > 0 && wo_is_alpha(name.ptr[0]);
}

/* Whether the rule has named an expression so already. */
static bool has_let(const struct wo_loader *loader, struct wo_view name) {
  for (size_t i = 0; i < loader->let_count; i++) {
    if (wo_view_equal(loader->lets[i].name, name)) return true;
  }
  return false;
}

/* The names alone. What a built-in rule may call them was checked when it was read whole, by the lint. */
static void note_lets(struct wo_loader *loader, const struct wo_tree *lets) {
  for (const struct wo_tree *child = wo_tree_child(lets); child != NULL && loader->let_count < WO_LIMIT_LETS;
       child = wo_tree_next(child)) {
    loader->lets[loader->let_count++] = (struct wo_let){.name = wo_view_of(wo_tree_key(child)), .value = child};
  }
}

/* While a let is parsed only those before it are there. */
const struct wo_expr *wo__load_let(struct wo_loader *loader, struct wo_view name) {
  for (size_t i = 0; i < loader->let_count; i++) {
    struct wo_let *const let = &loader->lets[i];
    if (!wo_view_equal(let->name, name)) continue;
    const size_t count = loader->let_count;
    loader->let_count = i;
    if (let->expr == NULL) wo__load_expr_of(loader, let->value, WO_UNIT_NONE, &let->expr);
    loader->let_count = count;
    return let->expr;
  }
  return NULL;
}

/* Reads the named expressions one after another, so that each sees those before it and none sees
 * itself. Circles cannot be written down that way. The name of a fact is refused, or a rule could
 * silently mean something else by it. */
bool wo__load_lets(struct wo_loader *loader, const struct wo_tree *lets) {
  loader->let_count = 0;
  if (lets == NULL) return true;
  if (loader->part == WO_PART_HEAD) {
    note_lets(loader, lets);
    return true;
  }
  if (!wo_tree_is(lets, WO_TREE_OBJECT)) return fail_type(loader, lets, "an object");
  for (const struct wo_tree *child = wo_tree_child(lets); child != NULL; child = wo_tree_next(child)) {
    struct wo_let let = {.name = wo_view_of(wo_tree_key(child))};
    if (loader->let_count == WO_LIMIT_LETS) {
      return wo__load_fail(loader, child, WO_JSON_KEY, WO_E_LIMIT, "more than %d named expressions", WO_LIMIT_LETS);
    }
    if (!wo__load_is_name(let.name))
      return wo__load_fail(loader, child, WO_JSON_KEY, WO_E_SYNTAX, "'%s' is no name", wo_tree_key(child));
    if (has_let(loader, let.name) || wo_fact_unit(loader->pack, let.name) != WO_UNIT_NONE) {
      return wo__load_fail(loader, child, WO_JSON_KEY, WO_E_SYNTAX, "the name '%s' is taken", wo_tree_key(child));
    }
    if (!wo__load_copy(loader, let.name, &let.name)) return false;
    if (!wo__load_expr_of(loader, child, WO_UNIT_NONE, &let.expr)) return false;
    loader->lets[loader->let_count++] = let;
  }
  return true;
}
