/* SPDX-License-Identifier: Apache-2.0 */
/* How the lint complains. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "parsers/base/limits.h"
#include "rules/check/rule_check_internal.h"
#include "rules/files/rule_json.h"

/* ---- places ----------------------------------------------------------------------------------------------------------- */

/* The file that holds a rule; NULL where the pack keeps none. */
static const struct wo_rule_json *find_source(const struct wo_pack *pack, struct wo_view file) {
  for (size_t i = 0; i < pack->source_count; i++) {
    if (wo_view_is(file, pack->sources[i].name)) return &pack->sources[i];
  }
  return NULL;
}

/* The object of a rule: of those that begin on its line, the one with its id. NULL where none is. */
static const struct wo_tree *find_object(const struct wo_rule_json *json, const struct wo_lint_rule *rule) {
  const bool is_list = wo_tree_is(json->root, WO_TREE_ARRAY);
  const struct wo_tree *object = is_list ? wo_tree_child(json->root) : json->root;
  size_t i = 0; /* among the objects: only they have lines */
  for (; object != NULL && i < json->lines.count; object = is_list ? wo_tree_next(object) : NULL) {
    if (!wo_tree_is(object, WO_TREE_OBJECT)) continue;
    if (json->lines.items[i++] != rule->place.line) continue;
    const struct wo_tree *const id = wo_tree_child(object);
    if (id != NULL && wo_tree_is(id, WO_TREE_STRING) && wo_view_is(rule->id, wo_tree_text(id))) return object;
  }
  return NULL;
}

/* The value in an object that a complaint is about, as far as it is there. */
static const struct wo_tree *find_value(const struct wo_tree *object, const struct wo_lint_rule *rule) {
  const struct wo_tree *value = object;
  for (struct wo_view rest = wo_view_of(rule->key); rest.len > 0;) {
    char key[32];
    wo_view_copy(wo_view_cut(&rest, '.'), key, sizeof key);
    const struct wo_tree *const member = wo_tree_get(value, key);
    if (member == NULL) return value;
    value = member;
  }
  const struct wo_tree *const item = rule->item == 0 ? NULL : wo_tree_at(value, rule->item - 1);
  return item == NULL ? value : item;
}

/* Adds the place: the line where the rule starts, or where the pack keeps its file the line and column of the value. */
static void place(const struct wo_lint_rule *rule, struct wo_err *err) {
  char file[sizeof err->file];
  snprintf(file, sizeof file, "%.*s", WO_SHOWN(rule->place.file));
  wo_err_place(err, file, rule->place.line, 0, 0);
  const struct wo_rule_json *const json = find_source(rule->lint->pack, rule->place.file);
  const struct wo_tree *const object = json == NULL ? NULL : find_object(json, rule);
  if (object != NULL) wo_rule_json_place(json, find_value(object, rule), WO_RULE_VALUE, 0, err);
}

/* ---- complaints ------------------------------------------------------------------------------------------------------- */

/* Formats a complaint and hands it on at once; nothing is collected here. */
void wo__lint_complain(const struct wo_lint_rule *rule, enum wo_status code, const char *format, ...) {
  assert(code != WO_OK);
  struct wo_err err;
  char message[sizeof err.message] = "";
  int len = 0;
  if (rule->sort != WO_SORT_NONE)
    len = snprintf(message, sizeof message, "%s %.*s: ", wo__sort_rows[rule->sort].name, WO_SHOWN(rule->id));
  const size_t at = len > 0 && (size_t)len < sizeof message ? (size_t)len : 0;
  va_list args;
  va_start(args, format);
  vsnprintf(message + at, sizeof message - at, format, args);
  va_end(args);
  wo_err_set(&err, code, "%s", message);
  if (rule->lint->complaints++ < WO_LIMIT_RULE_COMPLAINTS) place(rule, &err); /* nobody sees more */
  rule->lint->fn(rule->lint->context, &err);
}

void wo__lint_link(const struct wo_lint_rule *rule, enum wo_sort sort, struct wo_view id, const char *part) {
  if (wo_pack_index_find(rule->lint->pack->index, sort, id) != WO_NOT_FOUND) return;
  struct wo_nearest nearest = {.want = id};
  wo__pack_offer(rule->lint->pack, sort, &nearest);
  char hint[WO_NEAREST_BYTES];
  wo__lint_complain(rule, WO_E_UNKNOWN, "%s '%.*s'%s", part, WO_SHOWN(id),
                    wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}

void wo__lint_word(const struct wo_lint_rule *rule, const char *what, struct wo_known_names *known) {
  wo__lint_complain(rule, WO_E_UNKNOWN, "unknown %s '%.*s'%s", what, WO_SHOWN(known->nearest.want), wo_known_hint(known));
}
