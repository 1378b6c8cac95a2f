/* SPDX-License-Identifier: Apache-2.0 */
/* The generic readers: JSON values of each type into the pack's arena.
 *
 * A reader stores its value in a struct whose type it does not know: the member's offset says where. Pointers to arrays are
 * stored with memcpy, so that no cast has to claim a type for them. */
#include "rules/load/rule_read_internal.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/base/text.h"
#include "parsers/base/nearest/nearest.h"

/* The value has another JSON type than its key asks for. Only the expected type is named; the author sees the other one. */
static bool fail_type(struct wo_loader *loader, const struct wo_tree *value, const char *expected) {
  return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_TYPE, "expected %s", expected);
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

/* One bit for each row of a table of members. */
typedef uint64_t seen_set;

/* A key close to one that an object has is taken for it, so that it is not missed as well. */
static bool fail_unknown_key(struct wo_loader *loader, const struct wo_tree *child, const struct wo_member *members, size_t count,
                             seen_set *meant) {
  struct wo_known_names known = {.nearest.want = wo_view_of(wo_tree_key(child))};
  for (size_t i = 0; i < count; i++) wo_known_offer(&known, wo_view_of(members[i].key));
  const struct wo_view best = wo_nearest_best(&known.nearest);
  if (wo_view_is(best, "let")) loader->has_lost_lets = true;
  if (best.len > 0) *meant |= UINT64_C(1) << find_member(members, count, best.ptr);
  return wo__load_fail(loader, child, WO_RULE_KEY, WO_E_UNKNOWN, "unknown key '%s'%s", wo_tree_key(child), wo_known_hint(&known));
}

/* Keys that are skipped at this depth are still checked for their names. */
static bool load_member(struct wo_loader *loader, const struct wo_tree *child, const struct wo_member *members, size_t count,
                        seen_set *seen, seen_set *meant, void *target) {
  const size_t i = find_member(members, count, wo_tree_key(child));
  if (i == WO_NOT_FOUND) return fail_unknown_key(loader, child, members, count, meant);
  if (*seen >> i & 1) return wo__load_fail(loader, child, WO_RULE_KEY, WO_E_SYNTAX, "key '%s' comes twice", wo_tree_key(child));
  *seen |= UINT64_C(1) << i;
  /* Not an error in a diagnosis, which never uses it. */
  if (members[i].is_deep && loader->depth != WO_LOAD_ALL) return true;
  if (!members[i].is_head && loader->part == WO_PART_HEAD) return true;
  return members[i].read(loader, child, &members[i], target);
}

/* Keys that come twice are found, which cJSON accepts; one of the two would be lost. */
bool wo__load_members(struct wo_loader *loader, const struct wo_tree *object, const struct wo_member *members, size_t count,
                      void *target) {
  assert(count <= 64);
  if (!wo_tree_is(object, WO_TREE_OBJECT)) return fail_type(loader, object, "an object");
  bool is_fine = true;
  seen_set seen = 0;
  seen_set meant = 0;
  for (const struct wo_tree *child = wo_tree_child(object); child != NULL; child = wo_tree_next(child)) {
    is_fine &= load_member(loader, child, members, count, &seen, &meant, target);
    if (loader->is_stopped) return false;
  }
  /* Compiled-in rules were checked for them when they were built. */
  for (size_t i = 0; i < count && loader->json->owned_root != NULL && !loader->is_stopped; i++) {
    if (!members[i].is_needed || ((seen | meant) >> i & 1)) continue;
    is_fine = wo__load_fail(loader, object, WO_RULE_VALUE, WO_E_SYNTAX, "missing key '%s'", members[i].key);
  }
  return is_fine;
}

static void *field_of(const struct wo_member *member, void *target) {
  return (char *)target + member->offset;
}

/* Reads an array into structs of its own, in the order of the file. Array and length are stored once all have been read, also
 * those of a rule with a mistake: others may ask whom it names. */
static bool load_array(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target,
                       struct wo_items items) {
  if (!wo_tree_is(value, WO_TREE_ARRAY)) return fail_type(loader, value, "an array");
  const size_t count = value->count;
  char *const array = wo_arena_array(&loader->pack->arena, count, items.size);
  if (array == NULL) return wo__load_fail_nomem(loader);
  bool is_fine = true;
  size_t i = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child)) {
    is_fine &= items.read(loader, child, member, array + i++ * items.size);
    if (loader->is_stopped) return false;
  }
  assert(i == count);
  memcpy(field_of(member, target), &array, sizeof array);
  memcpy((char *)target + member->count_offset, &count, sizeof count);
  return is_fine;
}

bool wo__load_items(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return load_array(loader, value, member, target, *(const struct wo_items *)member->how);
}

/* For keys that are read elsewhere: the id, the lets, and keys that need another value first. */
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

/* The copy ends with a NUL that its length leaves out. */
bool wo__load_copy(struct wo_loader *loader, struct wo_view text, struct wo_view *ret_copy) {
  const struct wo_view copy = wo_arena_copy(&loader->pack->arena, text);
  if (copy.ptr == NULL) return wo__load_fail_nomem(loader);
  *ret_copy = copy;
  return true;
}

/* Texts of a pack are printed, and those of somebody else's pack may hold anything: control characters and the like are replaced
 * here, once, as in texts of logs. Compiled-in texts have none. A clean string stays the tree's. */
static const char *load_shown(struct wo_loader *loader, const struct wo_tree *value) {
  const char *const string = wo__load_string(loader, value);
  if (string == NULL || loader->json->owned_root == NULL) return string;
  const size_t len = strlen(string);
  if (wo_clean_printable_until((struct wo_view){string, len}, 0) == len) return string;
  struct wo_text clean = {0};
  wo_text_add_clean(&clean, (struct wo_view){string, len});
  const struct wo_view kept =
      clean.is_failed ? (struct wo_view){0} : wo_arena_copy(&loader->pack->arena, (struct wo_view){clean.ptr, clean.len});
  wo_text_done(&clean);
  if (kept.ptr == NULL) wo__load_fail_nomem(loader);
  return kept.ptr;
}

static bool copy_string(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *text) {
  (void)member;
  const char *const string = load_shown(loader, value);
  return string != NULL && wo__load_copy(loader, wo_view_of(string), text);
}

static bool copy_exact(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *text) {
  (void)member;
  const char *const string = wo__load_string(loader, value);
  return string != NULL && wo__load_copy(loader, wo_view_of(string), text);
}

bool wo__load_text(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return copy_string(loader, value, member, field_of(member, target));
}

bool wo__load_texts(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return load_array(loader, value, member, target, (struct wo_items){sizeof(struct wo_view), copy_string});
}

bool wo__load_exacts(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return load_array(loader, value, member, target, (struct wo_items){sizeof(struct wo_view), copy_exact});
}

/* An array of strings as one text with line ends between them: how examples hold logs. One line of
 * the log is one line of the file, and diffs stay readable. Measured first, then copied; the last
 * line has no line feed, as in a log that was cut off. */
bool wo__load_lines(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  if (!wo_tree_is(value, WO_TREE_ARRAY)) return fail_type(loader, value, "an array");
  size_t total = 0;
  bool is_fine = true;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL && !loader->is_stopped; child = wo_tree_next(child)) {
    const char *const line = wo__load_string(loader, child);
    is_fine &= line != NULL;
    total += line == NULL ? 0 : strlen(line) + 1;
  }
  if (!is_fine) return false;
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

/* Words of a list that a complaint still shows whole. */
enum { WORDS_SHOWN = 8 };

/* Names the words that there are, or the closest of many. */
static bool fail_word(struct wo_loader *loader, const struct wo_tree *value, const struct wo_rule_words *words,
                      const char *text) {
  struct wo_known_names known = {.nearest.want = words->count > WORDS_SHOWN ? wo_view_of(text) : (struct wo_view){0}};
  for (size_t i = 0; i < words->count; i++) wo_known_offer(&known, wo_view_of(words->items[i].text));
  return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_UNKNOWN, "unknown %s '%s'%s", words->what, text, wo_known_hint(&known));
}

/* Enumerators are stored as the int that C makes of them. */
bool wo__load_word(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  const struct wo_rule_words *const words = member->how;
  const char *const text = wo__load_string(loader, value);
  if (text == NULL) return false;
  for (size_t i = 0; i < words->count; i++) {
    if (words->items[i].text[0] != text[0] || strcmp(words->items[i].text, text) != 0) continue;
    memcpy(field_of(member, target), &words->items[i].value, sizeof words->items[i].value);
    return true;
  }
  return fail_word(loader, value, words, text);
}

/* Compiled here only to find mistakes: an expression that does not compile would match nothing, and nobody would know. The many
 * compiled-in ones were checked when the program was built. */
bool wo__load_regex(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  struct wo_err wrong = {0};
  struct wo_err *const mistake = &loader->mistake;
  if (!copy_exact(loader, value, member, field_of(member, target))) return false;
  if (loader->json->owned_root == NULL) return true;
  const struct wo_view regex = wo_view_of(wo__load_string(loader, value));
  const enum wo_status status = wo_pattern_check_regex(regex, &wrong);
  if (status == WO_OK) return true;
  wo_err_set(mistake, status, "the regular expression does not compile: %s", wrong.message);
  wo_err_place(mistake, NULL, 0, (uint32_t)wrong.offset + 1, wrong.offset);
  return wo__load_fail_inside(loader, value);
}

/* ---- the rule language ------------------------------------------------------------------------------------------------ */

/* The parser has made the mistake, and ended there. In a text that was cleaned its column would be another one. */
static bool fail_parse(struct wo_loader *loader, const struct wo_tree *value, const char *text, bool is_template) {
  struct wo_err *const mistake = &loader->mistake;
  if (mistake->code == WO_E_NOMEM) return wo__load_fail_nomem(loader);
  if (strlen(text) != strlen(wo_tree_text(value))) mistake->column = 0;
  const uint32_t column = mistake->column > 0 ? mistake->column : (uint32_t)strlen(wo_tree_text(value));
  if (!loader->uses_mistaken) wo__load_fail_inside(loader, value);
  wo__load_fail_names(loader, value, column, is_template);
  return false;
}

/* Parses a template with the names of the rule being read. A wrong name in a sentence is found at
 * loading, not when the sentence is first said. */
static bool read_template(struct wo_loader *loader, const struct wo_tree *value, const struct wo_template **ret_template) {
  const char *const text = load_shown(loader, value);
  if (text == NULL) return false;
  loader->uses_mistaken = false;
  const enum wo_status status =
      wo_template_parse(&loader->pack->arena, wo_view_of(text), &loader->names, ret_template, &loader->mistake);
  return status == WO_OK || fail_parse(loader, value, text, true);
}

bool wo__load_template(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return read_template(loader, value, field_of(member, target));
}

/* A unit that is wrong as a whole is reported at the string; one that is wrong inside, at its place
 * in it. */
bool wo__load_expr_of(struct wo_loader *loader, const struct wo_tree *value, enum wo_unit unit, const struct wo_expr **ret_expr) {
  const char *const text = load_shown(loader, value);
  if (text == NULL) return false;
  const struct wo_expr *expr = NULL;
  loader->uses_mistaken = false;
  const enum wo_status status = wo_expr_parse(&loader->pack->arena, wo_view_of(text), &loader->names, &expr, &loader->mistake);
  if (status != WO_OK) return fail_parse(loader, value, text, false);
  if (unit != WO_UNIT_NONE && wo_expr_unit(expr) != unit) {
    return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_TYPE, "expected %s, got %s", wo_unit_name(unit),
                         wo_unit_name(wo_expr_unit(expr)));
  }
  *ret_expr = expr;
  return true;
}

bool wo__load_expr(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return wo__load_expr_of(loader, value, member->unit, field_of(member, target));
}

bool wo__load_weight(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  static const struct wo_rule_word names[] = {
#define WEIGHT_NAME(code, name, value) {name, code},
      WO_WEIGHT_MAP(WEIGHT_NAME)
#undef WEIGHT_NAME
  };
  static const struct wo_rule_words weights = {"weight", names, WO_WEIGHT_COUNT_};
  struct wo_member as_word = *member;
  as_word.how = &weights;
  return wo__load_word(loader, value, &as_word, target);
}

/* A condition without a text, or a text without its condition, is taken for a slip. The weight is last, so that clauses
 * without one leave it out. */
static const struct wo_member clause_members[] = {
    {.key = "if", .read = wo__load_expr, WO_AT(wo_clause, when), .unit = WO_UNIT_BOOL, .is_head = true, .is_needed = true},
    {.key = "say", .read = wo__load_template, WO_AT(wo_clause, say), .is_needed = true},
    {.key = "weight", .read = wo__load_weight, WO_AT(wo_clause, weight)},
};

static const struct wo_member question_members[] = {
    {.key = "between", .read = wo__load_text, WO_AT(wo_clause, between)},
    {.key = "if", .read = wo__load_expr, WO_AT(wo_clause, when), .unit = WO_UNIT_BOOL},
    {.key = "say", .read = wo__load_template, WO_AT(wo_clause, say), .is_needed = true},
};

static const struct wo_member row_members[] = {
    {.key = "label", .read = wo__load_text, WO_AT(wo_clause, label), .is_needed = true},
    {.key = "if", .read = wo__load_expr, WO_AT(wo_clause, when), .unit = WO_UNIT_BOOL},
    {.key = "say", .read = wo__load_template, WO_AT(wo_clause, say), .is_needed = true},
};

const struct wo_clause_form wo__form_condition = {clause_members, 2, WO_WEIGHT_NONE, false};
const struct wo_clause_form wo__form_argument = {clause_members, 3, WO_WEIGHT_MEDIUM, false};
const struct wo_clause_form wo__form_remark = {clause_members, 2, WO_WEIGHT_NONE, true};
const struct wo_clause_form wo__form_question = {question_members, 3, WO_WEIGHT_NONE, true};
const struct wo_clause_form wo__form_row = {row_members, 3, WO_WEIGHT_NONE, false};

static bool read_clause(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  const struct wo_clause_form *const form = member->how;
  struct wo_clause *const clause = target;
  clause->weight = form->weight;
  if (form->may_be_text && wo_tree_is(value, WO_TREE_STRING)) return read_template(loader, value, &clause->say);
  if (!wo__load_members(loader, value, form->members, form->count, clause)) return false;
  if (clause->when != NULL || clause->between.len > 0 || clause->label.len > 0) return true;
  return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_SYNTAX, "missing key 'if'");
}

bool wo__load_clauses(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  return load_array(loader, value, member, target, (struct wo_items){sizeof(struct wo_clause), read_clause});
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

static bool has_let(const struct wo_loader *loader, struct wo_view name) {
  for (size_t i = 0; i < loader->let_count; i++) {
    if (wo_view_equal(loader->lets[i].name, name)) return true;
  }
  return false;
}

/* The names alone. The lint has checked the names of built-in rules when it read them whole. */
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
    const bool uses_mistaken = loader->uses_mistaken;
    loader->let_count = i;
    if (let->expr == NULL && let->value != NULL) wo__load_expr_of(loader, let->value, WO_UNIT_NONE, &let->expr);
    loader->let_count = count;
    loader->uses_mistaken = uses_mistaken || let->expr == NULL;
    return let->expr;
  }
  return NULL;
}

/* A name whose expression is mistaken is kept without one: what uses it is not blamed. */
static bool read_let(struct wo_loader *loader, const struct wo_tree *child) {
  struct wo_let let = {.name = wo_view_of(wo_tree_key(child))};
  if (!wo__load_is_name(let.name)) {
    loader->has_lost_lets = true;
    return wo__load_fail(loader, child, WO_RULE_KEY, WO_E_SYNTAX, "'%s' is no name", wo_tree_key(child));
  }
  if (has_let(loader, let.name) || wo_fact_unit(loader->pack, let.name) != WO_UNIT_NONE)
    return wo__load_fail(loader, child, WO_RULE_KEY, WO_E_SYNTAX, "the name '%s' is taken", wo_tree_key(child));
  if (!wo__load_copy(loader, let.name, &let.name)) return false;
  const bool is_fine = wo__load_expr_of(loader, child, WO_UNIT_NONE, &let.expr);
  loader->lets[loader->let_count++] = let;
  return is_fine;
}

/* Reads the named expressions one after another, so that each sees those before it and none sees
 * itself. Circles cannot be written down that way. The name of a fact is refused, or a rule could
 * silently mean something else by it. */
bool wo__load_lets(struct wo_loader *loader, const struct wo_tree *lets) {
  loader->let_count = 0;
  loader->has_lost_lets = false;
  if (lets == NULL) return true;
  if (loader->part == WO_PART_HEAD) {
    note_lets(loader, lets);
    return true;
  }
  if (!wo_tree_is(lets, WO_TREE_OBJECT)) {
    loader->has_lost_lets = true;
    return fail_type(loader, lets, "an object");
  }
  bool is_fine = true;
  for (const struct wo_tree *child = wo_tree_child(lets); child != NULL && !loader->is_stopped; child = wo_tree_next(child)) {
    if (loader->let_count == WO_LIMIT_LETS) loader->has_lost_lets = true;
    if (loader->let_count == WO_LIMIT_LETS)
      return wo__load_fail(loader, child, WO_RULE_KEY, WO_E_LIMIT, "more than %d named expressions", WO_LIMIT_LETS);
    is_fine &= read_let(loader, child);
  }
  return is_fine;
}
