/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes and knobs: their keys, and where each goes.
 *
 * A fix is read into struct wo_fix by one table; "saves" and "cost" are objects of their own in the
 * file only, and their members land in the same struct. Values that depend on a job stay
 * expressions and templates until a report is made. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/exchange/torch_version.h"
#include "rules/load/rule_read_internal.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

/* ---- changes ---------------------------------------------------------------------------------------------------------- */

/* `to` is read by itself, because its unit is that of the knob. */
static const struct wo_member change_members[] = {
    {.key = "knob", .read = wo__load_text, WO_AT(wo_knob_change, knob), .is_needed = true},
    {.key = "to", .read = wo__load_skip, .is_needed = true},
    {.key = "if", .read = wo__load_expr, WO_AT(wo_knob_change, when), .unit = WO_UNIT_BOOL},
};

/* One changed knob. The new value must have the knob's unit, so that a size is never proposed for a
 * count; whether the value makes sense is left to the rule's author. */
static bool read_change(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  struct wo_knob_change *const change = target;
  const bool is_fine = wo__load_members(loader, value, change_members, COUNT_OF(change_members), change);
  const struct wo_tree *const to = wo_tree_get(value, "to");
  if (to == NULL || loader->is_stopped) return false;
  /* A knob that does not exist is the lint's business: then the unit is free. */
  const struct wo_knob *const knob = wo_pack_knob(loader->pack, change->knob);
  return wo__load_expr_of(loader, to, knob == NULL ? WO_UNIT_NONE : knob->unit, &change->to) && is_fine;
}

static const struct wo_items changes = {sizeof(struct wo_knob_change), read_change};

/* ---- fixes ------------------------------------------------------------------------------------------------------------ */

static const struct wo_member saves_members[] = {
    {.key = "lo", .read = wo__load_expr, WO_AT(wo_fix, saves_lo), .unit = WO_UNIT_BYTES},
    {.key = "hi", .read = wo__load_expr, WO_AT(wo_fix, saves_hi), .unit = WO_UNIT_BYTES},
    {.key = "of_others", .read = wo__load_bool, WO_AT(wo_fix, saves_of_others)},
    {.key = "formula", .read = wo__load_template, WO_AT(wo_fix, saves_formula)},
    {.key = "enough", .read = wo__load_expr, WO_AT(wo_fix, saves_enough), .unit = WO_UNIT_BOOL},
    {.key = "too_little", .read = wo__load_expr, WO_AT(wo_fix, saves_too_little), .unit = WO_UNIT_BOOL},
    {.key = "enough_say", .read = wo__load_template, WO_AT(wo_fix, enough_say)},
    {.key = "too_little_say", .read = wo__load_template, WO_AT(wo_fix, too_little_say)},
};

/* The bytes that the fix saves: both bounds or none. One bound alone would be printed as if the other were known. Words for a
 * verdict need its condition. */
static bool read_saves(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  const struct wo_fix *const fix = target;
  if (!wo__load_members(loader, value, saves_members, COUNT_OF(saves_members), target)) return false;
  const char *const missing = fix->saves_lo == NULL && fix->saves_hi != NULL                 ? "lo"
                              : fix->saves_lo != NULL && fix->saves_hi == NULL               ? "hi"
                              : fix->enough_say != NULL && fix->saves_enough == NULL         ? "enough"
                              : fix->too_little_say != NULL && fix->saves_too_little == NULL ? "too_little"
                                                                                             : NULL;
  if (missing == NULL) return true;
  return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_SYNTAX, "missing key '%s'", missing);
}

/* The place of a fix among others that promise as much. A whole number, because half a rank would compare nothing. */
static bool read_rank(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  const double rank = wo_tree_is(value, WO_TREE_NUMBER) ? value->as.number : 0;
  if (rank < 1 || rank > WO_COST_RANK_MAX || rank != (double)(unsigned)rank) {
    return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_RANGE, "expected a whole number from 1 to %d", WO_COST_RANK_MAX);
  }
  *(unsigned *)(void *)((char *)target + member->offset) = (unsigned)rank;
  return true;
}

static const struct wo_member cost_members[] = {
    {.key = "rank", .read = read_rank, WO_AT(wo_fix, cost_rank)},
    {.key = "speed", .read = wo__load_template, WO_AT(wo_fix, cost_speed)},
    {.key = "accuracy", .read = wo__load_template, WO_AT(wo_fix, cost_accuracy)},
    {.key = "effort", .read = wo__load_template, WO_AT(wo_fix, cost_effort)},
};

/* The three prices of a fix, and its rank among others. `target` is the fix itself, as the tables of both levels count from
 * its start. */
static bool read_cost(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  return wo__load_members(loader, value, cost_members, COUNT_OF(cost_members), target);
}

/* `when` decides whether a fix applies at all, `already` whether it is in force, `conflicts`
 * whether something is in its way: three reasons not to propose it, and three different
 * sentences in the report. */
static const struct wo_member fix_members[] = {
    {.key = "fix", .read = wo__load_skip},
    {.key = "let", .read = wo__load_skip},
    {.key = "title", .read = wo__load_template, WO_AT(wo_fix, title)},
    {.key = "for_programs", .read = wo__load_program_kinds, WO_AT(wo_fix, for_programs)},
    {.key = "stand_ins", .read = wo__load_texts, WO_ARRAY_AT(wo_fix, stand_ins, stand_in_count)},
    {.key = "when", .read = wo__load_expr, WO_AT(wo_fix, when), .unit = WO_UNIT_BOOL},
    {.key = "already", .read = wo__load_expr, WO_AT(wo_fix, already), .unit = WO_UNIT_BOOL},
    {.key = "already_say", .read = wo__load_template, WO_AT(wo_fix, already_say)},
    {.key = "conflicts", .read = wo__load_clauses, WO_ARRAY_AT(wo_fix, conflicts, conflict_count), .how = &wo__form_condition},
    {.key = "changes", .read = wo__load_items, WO_ARRAY_AT(wo_fix, changes, change_count), .how = &changes},
    {.key = "saves", .read = read_saves},
    {.key = "cost", .read = read_cost},
    {.key = "commands", .read = wo__load_clauses, WO_ARRAY_AT(wo_fix, commands, command_count), .how = &wo__form_remark},
    {.key = "notes", .read = wo__load_clauses, WO_ARRAY_AT(wo_fix, notes, note_count), .how = &wo__form_remark},
    {.key = "explain", .read = wo__load_text, WO_AT(wo_fix, explain), .is_deep = true},
    {.key = "replays_as", .read = wo__load_template, WO_AT(wo_fix, replays_as)},
};

/* Nothing is required here; the lint asks for a title and for the cost. */
bool wo__load_fix(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  const bool has_lets = wo__load_lets(loader, wo_tree_get(object, "let"));
  return !loader->is_stopped && wo__load_members(loader, object, fix_members, COUNT_OF(fix_members), rule) && has_lets;
}

/* ---- knobs ------------------------------------------------------------------------------------------------------------ */

/* Copies a text, without its end, to buf + at; returns where it ends. */
static size_t put_text(char *buf, size_t at, const char *text) {
  const size_t len = strlen(text);
  memcpy(buf + at, text, len);
  return at + len;
}

/* {"printed": "canonical"} -> "printed=canonical,...": the form that the analyzer reads.
 * Checkpointing, say, is a flag in one framework and the word "full" in another. The map is a text
 * and not a table because it is short and seldom searched. */
static bool read_value_map(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  struct wo_alias *const alias = target;
  if (!wo_tree_is(value, WO_TREE_OBJECT)) return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_TYPE, "expected an object");
  bool is_fine = true;
  size_t total = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child)) {
    const char *const text = wo__load_string(loader, child);
    const bool is_plain = text == NULL || (strpbrk(wo_tree_key(child), "=,") == NULL && strpbrk(text, "=,") == NULL);
    is_fine &= text != NULL && is_plain;
    if (!is_plain) wo__load_fail(loader, child, WO_RULE_KEY, WO_E_SYNTAX, "'=' and ',' cannot stand in values");
    if (loader->is_stopped) return false;
    total += strlen(wo_tree_key(child)) + (text == NULL ? 0 : strlen(text)) + 2;
  }
  if (!is_fine) return false;
  char *const map = wo_arena_alloc(&loader->pack->arena, total + 1);
  if (map == NULL) return wo__load_fail_nomem(loader);
  size_t at = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child)) {
    if (at > 0) map[at++] = ',';
    at = put_text(map, at, wo_tree_key(child));
    map[at++] = '=';
    at = put_text(map, at, wo_tree_text(child));
  }
  assert(at <= total);
  alias->value_map = (struct wo_view){map, at};
  return true;
}

/* The first release of PyTorch that reads a spelling, "2.10". */
static bool read_torch_since(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                             void *target) {
  (void)member;
  const char *const text = wo__load_string(loader, value);
  if (text == NULL) return false;
  if (wo_torch_version_parse(wo_view_of(text), &((struct wo_alias *)target)->torch_since)) return true;
  return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_SYNTAX, "expected a release of PyTorch such as \"2.10\"");
}

/* "literals" become patterns when all knobs are known (rule_load.c). */
static const struct wo_member alias_members[] = {
    {.key = "key", .read = wo__load_text, WO_AT(wo_alias, key)},
    {.key = "framework", .read = wo__load_text, WO_AT(wo_alias, framework)},
    {.key = "values", .read = read_value_map},
    {.key = "torch_since", .read = read_torch_since},
    {.key = "literals", .read = wo__load_exacts, WO_ARRAY_AT(wo_alias, literals, literal_count)},
};

/* One spelling of a knob: a key, or an object that says more. Either way there is something to look
 * for that the prefilter takes: short keys ("bs") are in every other line, so they need literals
 * with more around them. */
static bool read_alias(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  struct wo_alias *const alias = target;
  if (wo_tree_is(value, WO_TREE_STRING)) {
    if (!wo__load_copy(loader, wo_view_of(wo_tree_text(value)), &alias->key)) return false;
  } else if (!wo__load_members(loader, value, alias_members, COUNT_OF(alias_members), alias)) {
    return false;
  }
  if (alias->key.len == 0) return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_SYNTAX, "an alias without a key");
  if (alias->key.len < WO_PATTERN_LITERAL_MIN && alias->literal_count == 0) {
    return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_RANGE, "the key '%s' is shorter than %d bytes and needs \"literals\"",
                         alias->key.ptr, WO_PATTERN_LITERAL_MIN);
  }
  bool is_fine = true;
  for (size_t i = 0; i < alias->literal_count && !loader->is_stopped; i++) {
    if (alias->literals[i].len >= WO_PATTERN_LITERAL_MIN) continue;
    is_fine = wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_RANGE, "the literal '%s' is shorter than %d bytes",
                            alias->literals[i].ptr, WO_PATTERN_LITERAL_MIN);
  }
  return is_fine;
}

/* The first one is the default, in which a change is written when the log does not show which framework reads it. */
static const struct wo_items aliases = {sizeof(struct wo_alias), read_alias};

/* The unit of a knob's values. It types both "config.<knob>" in conditions and what a fix may set
 * the knob to. */
static bool read_unit(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  const char *const name = wo__load_string(loader, value);
  if (name == NULL) return false;
  const enum wo_unit unit = wo_unit_find(wo_view_of(name));
  if (unit == WO_UNIT_NONE)
    return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_UNKNOWN, "unknown unit '%s' (number, bytes, text, bool)", name);
  ((struct wo_knob *)target)->unit = unit;
  return true;
}

/* No lets here: knobs hold no expressions. They are read first, when no expression could be parsed. A knob without a unit could
 * not be compared, one without spellings not be found. */
static const struct wo_member knob_members[] = {
    {.key = "knob", .read = wo__load_skip},
    {.key = "unit", .read = read_unit, .is_needed = true},
    {.key = "means", .read = wo__load_text, WO_AT(wo_knob, means)},
    {.key = "aliases", .read = wo__load_items, WO_ARRAY_AT(wo_knob, aliases, alias_count), .how = &aliases, .is_needed = true},
};

bool wo__load_knob(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  const struct wo_knob *const knob = rule;
  if (!wo__load_members(loader, object, knob_members, COUNT_OF(knob_members), rule)) return false;
  return knob->alias_count > 0 || wo__load_fail(loader, object, WO_RULE_VALUE, WO_E_SYNTAX, "missing key 'aliases'");
}
