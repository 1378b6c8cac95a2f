/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes of rule files: how they are counted, placed and handed on. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "rules/load/rule_read_internal.h"

/* After too many mistakes the folder is no folder of rules, or one error in them all; either way nobody reads on. */
static void stop_at_limit(struct wo_loader *loader) {
  if (loader->mistake_count < WO_LIMIT_RULE_MISTAKES) return;
  loader->is_stopped = true;
  wo_err_set(&loader->mistake, WO_E_LIMIT, "%d mistakes: the rest of the rules was not read", WO_LIMIT_RULE_MISTAKES);
  if (loader->notes.fn != NULL) loader->notes.fn(loader->notes.context, &loader->mistake);
}

/* The loader also keeps the status: err may be NULL, and a load must still fail. */
bool wo__load_fail_made(struct wo_loader *loader) {
  assert(loader->mistake.code != WO_OK);
  if (loader->is_stopped) return false;
  if (loader->status == WO_OK) {
    loader->status = loader->mistake.code;
    if (loader->err != NULL) *loader->err = loader->mistake;
  }
  loader->mistake_count++;
  if (loader->notes.fn != NULL) loader->notes.fn(loader->notes.context, &loader->mistake);
  stop_at_limit(loader);
  return false;
}

bool wo__load_fail(struct wo_loader *loader, const struct wo_tree *node, enum wo_rule_part part, enum wo_status code,
                   const char *format, ...) {
  assert(code != WO_OK);
  wo_err_set(&loader->mistake, code, "%s", "");
  va_list args;
  va_start(args, format);
  vsnprintf(loader->mistake.message, sizeof loader->mistake.message, format, args);
  va_end(args);
  wo_rule_json_place(loader->json, node, part, 0, &loader->mistake);
  return wo__load_fail_made(loader);
}

/* A pack that memory was out for has holes, whatever mistakes were found before. */
bool wo__load_fail_nomem(struct wo_loader *loader) {
  if (!loader->is_stopped) loader->status = wo_err_nomem(loader->err);
  loader->is_stopped = true;
  wo_err_nomem(&loader->mistake);
  if (loader->notes.fn != NULL) loader->notes.fn(loader->notes.context, &loader->mistake);
  return false;
}

bool wo__load_fail_inside(struct wo_loader *loader, const struct wo_tree *value) {
  wo_rule_json_place(loader->json, value, WO_RULE_VALUE, loader->mistake.column, &loader->mistake);
  return wo__load_fail_made(loader);
}

/* ---- unknown names ---------------------------------------------------------------------------------------------------- */

/* A walk through the text of a value, byte by byte. */
struct text_walk {
  struct wo_view text;
  size_t at;
  bool is_quoted;
  bool is_inside; /* of an expression: between braces in a template */
};

static void step(struct text_walk *walk, bool is_template) {
  const char c = walk->text.ptr[walk->at++];
  if (c == '"' && walk->is_inside) walk->is_quoted = !walk->is_quoted;
  if (!is_template || walk->is_quoted) return;
  if (c == '{') walk->is_inside = !walk->is_inside; /* a doubled brace is a brace */
  if (c == '}') walk->is_inside = false;
}

/* The name with a dot in it that begins here; empty where none does. Other names are words of functions, or made by the rule. */
static struct wo_view name_at(const struct text_walk *walk) {
  const struct wo_view text = walk->text;
  const size_t at = walk->at;
  const bool is_behind = at > 0 && (wo_is_word(text.ptr[at - 1]) || text.ptr[at - 1] == '.');
  if (walk->is_quoted || !walk->is_inside || is_behind || !wo_is_alpha(text.ptr[at])) return (struct wo_view){0};
  size_t end = at;
  while (end < text.len && (wo_is_word(text.ptr[end]) || text.ptr[end] == '.')) end++;
  const struct wo_view name = wo_view_sub(text, at, end);
  return wo_view_find_char(name, '.', 0) == WO_NOT_FOUND ? (struct wo_view){0} : name;
}

static bool is_unknown(struct wo_loader *loader, struct wo_view name) {
  loader->uses_mistaken = false;
  const bool is_known = loader->names.definition(loader->names.context, name) != NULL ||
                        loader->names.unit_of(loader->names.context, name) != WO_UNIT_NONE;
  return !is_known && !loader->uses_mistaken;
}

/* The parser ends at the first mistake, but a slip in one name says nothing about the next. */
void wo__load_fail_names(struct wo_loader *loader, const struct wo_tree *value, uint32_t column, bool is_template) {
  struct text_walk walk = {.text = wo_view_of(wo_tree_text(value)), .is_inside = !is_template};
  for (; walk.at < walk.text.len && !loader->is_stopped; step(&walk, is_template)) {
    const struct wo_view name = walk.at < column ? (struct wo_view){0} : name_at(&walk);
    if (name.len == 0 || !is_unknown(loader, name)) continue;
    wo_names_complain(&loader->names, name, &loader->mistake);
    wo_err_place(&loader->mistake, NULL, 0, (uint32_t)walk.at + 1, walk.at);
    wo__load_fail_inside(loader, value);
  }
}
