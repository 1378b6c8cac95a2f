/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions, and rules that are turned off.
 *
 * Definitions may use each other in any order, across files too. They are read in the order in which they need each other, which
 * is found by looking for names that start with "def." before anything is parsed: so that a circle is reported as such, with its
 * place. */
#include "rules/load/rule_read_internal.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

/* ---- definitions ------------------------------------------------------------------------------------------------------ */

/* The lint requires the meaning. */
static const struct wo_member define_members[] = {
    {.key = "define", .read = wo__load_skip},
    {.key = "means", .read = wo__load_text, WO_AT(wo_define, means)},
    {.key = "expr", .read = wo__load_expr, WO_AT(wo_define, expr), .is_needed = true},
};

bool wo__load_define(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  const struct wo_define *const define = rule;
  loader->pending[define - loader->pack->defines] = (struct wo_pending){.json = loader->json, .object = object};
  return wo__load_is_name(define->id) || wo__load_fail(loader, wo_tree_child(object), WO_RULE_VALUE, WO_E_SYNTAX,
                                                       "'%s' is no name (letters, digits and '_')", define->id.ptr);
}

static bool read_define(struct wo_loader *loader, size_t index);

/* Where the next name that starts with "def." begins, outside of quoted texts; WO_NOT_FOUND without. */
static size_t find_name(struct wo_view text, size_t from) {
  bool is_quoted = false;
  for (size_t at = 0; at < text.len; at++) {
    if (text.ptr[at] == '"') is_quoted = !is_quoted;
    const bool is_inside = at > 0 && (wo_is_word(text.ptr[at - 1]) || text.ptr[at - 1] == '.');
    if (at >= from && !is_quoted && !is_inside && wo_view_starts(wo_view_skip(text, at), "def.")) return at;
  }
  return WO_NOT_FOUND;
}

/* The place of an error inside the expression is given as one of the parser's would be. */
static bool fail_circle(struct wo_loader *loader, const struct wo_tree *expr, size_t at, struct wo_view name) {
  wo_err_set(&loader->mistake, WO_E_SYNTAX, "'def.%.*s' stands for itself in the end: a circle has no value", WO_SHOWN(name));
  wo_err_place(&loader->mistake, NULL, 0, (uint32_t)at + 1, at);
  return wo__load_fail_inside(loader, expr);
}

/* Reads the definitions that an expression uses. Names that do not exist are left to its parser. */
static bool read_needed(struct wo_loader *loader, const struct wo_tree *expr) {
  if (!wo_tree_is(expr, WO_TREE_STRING)) return true;
  const struct wo_rule_json *const json = loader->json;
  const struct wo_view text = wo_view_of(wo_tree_text(expr));
  for (size_t at = find_name(text, 0); at != WO_NOT_FOUND; at = find_name(text, at + 4)) {
    size_t end = at + 4;
    while (end < text.len && wo_is_word(text.ptr[end])) end++;
    const struct wo_view name = wo_view_sub(text, at + 4, end);
    const size_t index = wo_pack_index_find(loader->pack->index, WO_SORT_DEFINE, name);
    if (index == WO_NOT_FOUND || loader->pending[index].is_read) continue;
    if (loader->pending[index].is_being_read) return fail_circle(loader, expr, at, name);
    read_define(loader, index); /* if it is mistaken, this one is not blamed */
    loader->json = json;
    if (loader->is_stopped) return false;
  }
  return true;
}

/* As deep as definitions build on each other, which WO_LIMIT_DEFINES bounds. A mistaken one has no expression. */
static bool read_define(struct wo_loader *loader, size_t index) {
  struct wo_pending *const pending = &loader->pending[index];
  pending->is_being_read = true;
  loader->json = pending->json;
  loader->let_count = 0;
  struct wo_define *const define = &loader->pack->defines[index];
  const bool has_needed = read_needed(loader, wo_tree_get(pending->object, "expr"));
  loader->json = pending->json;
  const bool is_fine = !loader->is_stopped &&
                       wo__load_members(loader, pending->object, define_members, COUNT_OF(define_members), define) && has_needed;
  if (!is_fine) define->place.is_mistaken = true;
  if (!is_fine) define->expr = NULL;
  pending->is_being_read = false;
  pending->is_read = true;
  return is_fine;
}

void wo__load_defines(struct wo_loader *loader) {
  const size_t count = loader->pack->define_count;
  if (count > WO_LIMIT_DEFINES) {
    const struct wo_pending *const surplus = &loader->pending[WO_LIMIT_DEFINES];
    loader->json = surplus->json;
    wo__load_fail(loader, surplus->object, WO_RULE_VALUE, WO_E_LIMIT, "more than %d definitions", WO_LIMIT_DEFINES);
    loader->is_stopped = true; /* all rules that use one would be blamed */
  }
  for (size_t i = 0; i < count && !loader->is_stopped; i++) {
    if (!loader->pending[i].is_read) read_define(loader, i);
  }
}

/* ---- turned off ------------------------------------------------------------------------------------------------------- */

static const struct wo_member off_members[] = {
    {.key = "off", .read = wo__load_skip},
    {.key = "why", .read = wo__load_text, WO_AT(wo_off, why), .is_needed = true},
};

/* The reason is for a reader who looks for the missing cause a year later. */
bool wo__load_off(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  struct wo_off *const off = rule;
  loader->off_pending[off - loader->pack->offs] = (struct wo_pending){.json = loader->json, .object = object};
  if (!wo__load_members(loader, object, off_members, COUNT_OF(off_members), off)) return false;
  return off->why.len > 0 || wo__load_fail(loader, object, WO_RULE_VALUE, WO_E_SYNTAX, "missing key 'why'");
}

/* Takes the pattern of an id and mistaken ones out of both arrays; false when there are none. The index keeps their names, which
 * are not used once all is read. */
static bool remove_patterns(struct wo_pack *pack, struct wo_view id) {
  size_t kept = 0;
  for (size_t i = 0; i < pack->pattern_count; i++) {
    if (wo_view_equal(pack->patterns[i].id, id) || pack->samples[i].place.is_mistaken) continue;
    pack->patterns[kept] = pack->patterns[i];
    pack->samples[kept] = pack->samples[i];
    pack->samples[kept].pattern = kept;
    kept++;
  }
  const bool is_removed = kept < pack->pattern_count;
  pack->pattern_count = kept;
  return is_removed;
}

/* Settings, phases, terms and models are looked at by other rules and cannot be missing; they can be replaced. */
static void fail_off(struct wo_loader *loader, const struct wo_pending *pending, struct wo_view id) {
  const struct wo_pack *const pack = loader->pack;
  struct wo_nearest nearest = {.want = id};
  wo__pack_offer(pack, WO_SORT_CAUSE, &nearest);
  wo__pack_offer(pack, WO_SORT_FIX, &nearest);
  wo__pack_offer(pack, WO_SORT_PATTERN, &nearest);
  char hint[WO_NEAREST_BYTES];
  loader->json = pending->json;
  wo__load_fail(loader, wo_tree_child(pending->object), WO_RULE_VALUE, WO_E_UNKNOWN,
                "no cause, fix or pattern is called '%.*s'%s", WO_SHOWN(id),
                wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}

void wo__load_apply_offs(struct wo_loader *loader) {
  struct wo_pack *const pack = loader->pack;
  if (loader->status != WO_OK) remove_patterns(pack, (struct wo_view){0});
  for (size_t i = 0; i < pack->off_count && !loader->is_stopped; i++) {
    const struct wo_off *const off = &pack->offs[i];
    const size_t cause = wo_pack_index_find(pack->index, WO_SORT_CAUSE, off->id);
    const size_t fix = wo_pack_index_find(pack->index, WO_SORT_FIX, off->id);
    if (cause != WO_NOT_FOUND) pack->causes[cause].off = off;
    if (fix != WO_NOT_FOUND) pack->fixes[fix].off = off;
    const bool is_pattern = remove_patterns(pack, off->id);
    const bool is_mistaken = wo_pack_index_find(pack->index, WO_SORT_PATTERN, off->id) != WO_NOT_FOUND;
    const bool is_any = cause != WO_NOT_FOUND || fix != WO_NOT_FOUND || is_pattern || is_mistaken;
    if (!is_any && !loader->has_unread_file) fail_off(loader, &loader->off_pending[i], off->id);
  }
}
