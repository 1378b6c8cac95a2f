/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: their keys, and where each goes. Samples go beside the pattern, because only the lint
 * wants them. In a diagnosis the samples stay empty. */
#include <assert.h>
#include <string.h>

#include "parsers/base/units.h"
#include "rules/load/rule_read_internal.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

/* Both targets of one pattern object, so that one table can describe it. */
struct target {
  struct wo_pattern pattern;
  struct wo_pattern_samples samples;
};

/* Names of event_kinds.def, which is also what conditions count ("count.cuda_oom"). The first row of both lists is nothing. */
static const struct wo_rule_word kind_names[] = {
#define WO_KIND(code, name, class, meaning) {name, code},
#include "parsers/event/event_kinds.def"
#undef WO_KIND
};
static const struct wo_rule_words kinds = {"kind", kind_names + 1, COUNT_OF(kind_names) - 1};

static const struct wo_rule_word mark_names[] = {
#define WO_MARK(code, name, meaning) {name, code},
#include "parsers/event/marks.def"
#undef WO_MARK
};
static const struct wo_rule_words marks = {"mark", mark_names + 1, COUNT_OF(mark_names) - 1};

/* Which lines are looked at. All of them unless the file says otherwise, and only for all of them
 * does the prefilter do the search. */
static const struct wo_rule_word place_names[] = {
    {"line", WO_WHERE_LINE}, {"before", WO_WHERE_BEFORE}, {"tail", WO_WHERE_TAIL}, {"head", WO_WHERE_HEAD}};
static const struct wo_rule_words places = {"place", place_names, COUNT_OF(place_names)};

/* The unit of sizes that are printed without one: bytes for ONNX Runtime and TensorRT, MiB for the cells of nvidia-smi, kB for
 * the kernel. It belongs to the pattern, as the number itself does not show it. */
static bool read_bare_unit(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  static const struct {
    const char *name;
    double scale;
  } units[] = {{"B", 1}, {"kB", WO_KIB}, {"MiB", WO_MIB}, {"GiB", WO_GIB}}; /* the kernel's kB are KiB */
  const char *const name = wo__load_string(loader, value);
  if (name == NULL) return false;
  for (size_t i = 0; i < COUNT_OF(units); i++) {
    if (strcmp(name, units[i].name) != 0) continue;
    ((struct target *)target)->pattern.bare_scale = units[i].scale;
    return true;
  }
  return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_UNKNOWN, "unknown unit '%s' (B, kB, MiB, GiB)", name);
}

static bool fail_field(struct wo_loader *loader, const struct wo_tree *child) {
  struct wo_known_names known = {.nearest.want = wo_view_of(wo_tree_key(child))};
  for (int id = 0; id < WO_FIELD_COUNT_; id++) wo_known_offer(&known, wo_view_of(wo_field_name((enum wo_field_id)id)));
  return wo__load_fail(loader, child, WO_RULE_KEY, WO_E_UNKNOWN, "unknown field '%s'%s", wo_tree_key(child),
                       wo_known_hint(&known));
}

/* Fixed field values, for facts that a line implies but does not print. They are texts here and become numbers, where the field
 * is one, at the match; a named group of the same name, which comes first there, wins. */
static bool read_set(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  struct wo_pattern *const pattern = &((struct target *)target)->pattern;
  if (!wo_tree_is(value, WO_TREE_OBJECT)) return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_TYPE, "expected an object");
  const size_t count = value->count;
  struct wo_pattern_set_field *const sets = wo_arena_array(&loader->pack->arena, count, sizeof *sets);
  if (sets == NULL) return wo__load_fail_nomem(loader);
  bool is_fine = true;
  size_t i = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child), i++) {
    sets[i].id = wo_field_find(wo_view_of(wo_tree_key(child)));
    if (sets[i].id == WO_FIELD_COUNT_) is_fine = fail_field(loader, child);
    const char *const text = wo__load_string(loader, child);
    is_fine &= text != NULL && wo__load_copy(loader, wo_view_of(text), &sets[i].value);
    if (loader->is_stopped) return false;
  }
  assert(i == count);
  pattern->sets = sets;
  pattern->set_count = count;
  return is_fine;
}

/* A pattern without a kind would be evidence of nothing. "since" is a note for readers of the pack (which version prints the form
 * first); the program does not read it. */
static const struct wo_member pattern_members[] = {
    {.key = "pattern", .read = wo__load_skip},
    {.key = "kind", .read = wo__load_word, WO_AT(target, pattern.kind), .how = &kinds, .is_needed = true},
    {.key = "mark", .read = wo__load_word, WO_AT(target, pattern.mark), .how = &marks},
    {.key = "where", .read = wo__load_word, WO_AT(target, pattern.where), .how = &places},
    {.key = "literals", .read = wo__load_exacts, WO_ARRAY_AT(target, pattern.literals, pattern.literal_count)},
    {.key = "before_number", .read = wo__load_bool, WO_AT(target, pattern.is_before_number)},
    {.key = "every_match", .read = wo__load_bool, WO_AT(target, pattern.is_every_match)},
    {.key = "fallback", .read = wo__load_bool, WO_AT(target, pattern.is_fallback)},
    {.key = "regex", .read = wo__load_regex, WO_AT(target, pattern.regex)},
    {.key = "unless", .read = wo__load_regex, WO_AT(target, pattern.unless)},
    {.key = "reader", .read = wo__load_text, WO_AT(target, pattern.reader)},
    {.key = "argument", .read = wo__load_text, WO_AT(target, pattern.argument)},
    {.key = "bare_unit", .read = read_bare_unit},
    {.key = "set", .read = read_set},
    {.key = "since", .read = wo__load_skip},
    {.key = "samples", .read = wo__load_exacts, WO_ARRAY_AT(target, samples.match, samples.match_count), .is_deep = true},
    {.key = "not", .read = wo__load_exacts, WO_ARRAY_AT(target, samples.no_match, samples.no_match_count), .is_deep = true},
};

/* A pattern for lines is found by its literals alone, and the prefilter takes none that is short.
 * Refused at loading and not only by the lint, since such a pattern could never match. */
static bool check_literals(struct wo_loader *loader, const struct wo_tree *object, const struct wo_pattern *pattern) {
  if (pattern->where != WO_WHERE_LINE) return true;
  const struct wo_tree *const literals = wo_tree_get(object, "literals");
  if (pattern->literal_count == 0) {
    return wo__load_fail(loader, literals == NULL ? object : literals, WO_RULE_VALUE, WO_E_SYNTAX,
                         "a pattern for lines needs literals");
  }
  bool is_fine = true;
  for (size_t i = 0; i < pattern->literal_count && !loader->is_stopped; i++) {
    if (pattern->literals[i].ptr == NULL || wo_pattern_is_usable_literal(pattern, pattern->literals[i])) continue;
    is_fine = wo__load_fail(loader, wo_tree_at(literals, i), WO_RULE_VALUE, WO_E_RANGE,
                            "the literal '%s' is shorter than %d bytes", pattern->literals[i].ptr, WO_PATTERN_LITERAL_MIN);
  }
  return is_fine;
}

bool wo__load_pattern(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  struct wo_pattern *const pattern = rule;
  struct wo_pattern_samples *const samples = &loader->pack->samples[pattern - loader->pack->patterns];
  struct target target = {.pattern = *pattern, .samples = *samples};
  const bool is_fine = wo__load_members(loader, object, pattern_members, COUNT_OF(pattern_members), &target);
  *pattern = target.pattern;
  *samples = target.samples;
  /* A mistaken pattern may have its literals in what was not read, and what decides about their length. */
  const bool decides = wo_tree_get(object, "where") != NULL || wo_tree_get(object, "before_number") != NULL;
  if (loader->is_stopped || (!is_fine && (pattern->literal_count == 0 || decides))) return false;
  return check_literals(loader, object, pattern) && is_fine;
}
