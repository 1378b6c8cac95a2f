/* Patterns: their keys, and where each goes. Samples go beside the pattern, because only the lint
 * wants them.
 *
 * In a diagnosis the samples stay empty. Regular expressions are not compiled here: most are never
 * needed, and the lint compiles them all. */
#include <assert.h>
#include <string.h>

#include "parsers/base/units.h"
#include "rules/language/nearest.h"
#include "rules/load/rule_read.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

/* Both targets of one pattern object, so that one table can describe it. */
struct target {
  struct wo_pattern pattern;
  struct wo_pattern_samples samples;
};

/* The kind of evidence that a match is. Names are those of event_kinds.def, which is also what
 * conditions count ("count.cuda_oom"). */
static bool read_kind(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  const char *const name = wo__load_string(loader, value);
  if (name == NULL) return false;
  const enum wo_kind kind = wo_kind_find(wo_view_of(name));
  if (kind == WO_KIND_UNKNOWN) {
    struct wo_nearest nearest = {.want = wo_view_of(name)};
    for (int i = WO_KIND_UNKNOWN + 1; i < WO_KIND_COUNT_; i++)
      wo_nearest_offer(&nearest, wo_view_of(wo_kind_name((enum wo_kind)i)));
    char hint[WO_NEAREST_BYTES];
    return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_UNKNOWN, "unknown kind '%s'%s", name,
                         wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
  }
  ((struct target *)target)->pattern.kind = kind;
  return true;
}

static bool read_mark(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  const char *const name = wo__load_string(loader, value);
  if (name == NULL) return false;
  const enum wo_mark mark = wo_mark_find(wo_view_of(name));
  if (mark == WO_MARK_COUNT_) {
    struct wo_nearest nearest = {.want = wo_view_of(name)};
    for (int i = WO_MARK_NONE + 1; i < WO_MARK_COUNT_; i++) wo_nearest_offer(&nearest, wo_view_of(wo_mark_name((enum wo_mark)i)));
    char hint[WO_NEAREST_BYTES];
    return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_UNKNOWN, "unknown mark '%s'%s", name,
                         wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
  }
  ((struct target *)target)->pattern.mark = mark;
  return true;
}

/* Which lines are looked at. All of them unless the file says otherwise, and only for all of them
 * does the prefilter do the search. */
static bool read_where(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  static const char *const names[] = {
      [WO_WHERE_LINE] = "line", [WO_WHERE_BEFORE] = "before", [WO_WHERE_TAIL] = "tail", [WO_WHERE_HEAD] = "head"};
  const char *const name = wo__load_string(loader, value);
  if (name == NULL) return false;
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    if (strcmp(name, names[i]) != 0) continue;
    ((struct target *)target)->pattern.where = (enum wo_where)i;
    return true;
  }
  return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_UNKNOWN, "unknown place '%s' (line, before, tail, head)", name);
}

/* The unit of sizes that are printed without one: bytes for ONNX Runtime and TensorRT, MiB for the
 * cells of nvidia-smi, kB for the kernel. It belongs to the pattern, as nothing in the number
 * itself tells. */
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
  return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_UNKNOWN, "unknown unit '%s' (B, kB, MiB, GiB)", name);
}

/* Fixed field values, for what a line means without saying it. They are texts here and become
 * numbers, where the field is one, at the match; a named group of the same name, which comes first
 * there, wins. */
static bool read_set(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  struct wo_pattern *const pattern = &((struct target *)target)->pattern;
  if (!wo_tree_is(value, WO_TREE_OBJECT)) return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_TYPE, "expected an object");
  const size_t count = value->count;
  struct wo_pattern_set_field *const sets = wo_arena_array(&loader->pack->arena, count, sizeof *sets);
  if (sets == NULL) return wo__load_fail_nomem(loader);
  size_t i = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child), i++) {
    sets[i].id = wo_field_find(wo_view_of(wo_tree_key(child)));
    if (sets[i].id == WO_FIELD_COUNT_) {
      return wo__load_fail(loader, child, WO_JSON_KEY, WO_E_UNKNOWN, "unknown field '%s'", wo_tree_key(child));
    }
    const char *const text = wo__load_string(loader, child);
    if (text == NULL || !wo__load_copy(loader, wo_view_of(text), &sets[i].value)) return false;
  }
  assert(i == count);
  pattern->sets = sets;
  pattern->set_count = count;
  return true;
}

#define IN_PATTERN(field) .offset = offsetof(struct target, pattern.field)
#define IN_SAMPLES(field) .offset = offsetof(struct target, samples.field)

/* "since" is a note for readers of the pack (which version prints the form first) and is read by
 * nobody. */
static const struct wo_member pattern_members[] = {
    {.key = "pattern", .read = wo__load_skip},
    {.key = "kind", .read = read_kind},
    {.key = "mark", .read = read_mark},
    {.key = "where", .read = read_where},
    {.key = "literals",
     .read = wo__load_texts,
     IN_PATTERN(literals),
     .count_offset = offsetof(struct target, pattern.literal_count)},
    {.key = "before_number", .read = wo__load_bool, IN_PATTERN(is_before_number)},
    {.key = "regex", .read = wo__load_text, IN_PATTERN(regex)},
    {.key = "unless", .read = wo__load_text, IN_PATTERN(unless)},
    {.key = "reader", .read = wo__load_text, IN_PATTERN(reader)},
    {.key = "argument", .read = wo__load_text, IN_PATTERN(argument)},
    {.key = "bare_unit", .read = read_bare_unit},
    {.key = "set", .read = read_set},
    {.key = "since", .read = wo__load_skip},
    {.key = "samples",
     .read = wo__load_texts,
     IN_SAMPLES(match),
     .count_offset = offsetof(struct target, samples.match_count),
     .is_deep = true},
    {.key = "not",
     .read = wo__load_texts,
     IN_SAMPLES(no_match),
     .count_offset = offsetof(struct target, samples.no_match_count),
     .is_deep = true},
};

/* A pattern for lines is found by its literals alone, and the prefilter takes none that is short.
 * Refused at loading and not only by the lint, since such a pattern could never match. */
static bool check_literals(struct wo_loader *loader, const struct wo_tree *object, const struct wo_pattern *pattern) {
  if (pattern->where != WO_WHERE_LINE) return true;
  const struct wo_tree *const literals = wo_tree_get(object, "literals");
  if (pattern->literal_count == 0) {
    return wo__load_fail(loader, literals == NULL ? object : literals, WO_JSON_VALUE, WO_E_SYNTAX,
                         "a pattern for lines needs literals");
  }
  for (size_t i = 0; i < pattern->literal_count; i++) {
    if (wo_pattern_is_usable_literal(pattern, pattern->literals[i])) continue;
    return wo__load_fail(loader, wo_tree_at(literals, i), WO_JSON_VALUE, WO_E_RANGE, "the literal '%s' is shorter than %d bytes",
                         pattern->literals[i].ptr, WO_PATTERN_LITERAL_MIN);
  }
  return true;
}

/* A pattern without a kind would be evidence of nothing. Both structs are filled only when all is
 * well. */
bool wo__load_pattern(struct wo_loader *loader, const struct wo_tree *object, struct wo_pattern *pattern,
                      struct wo_pattern_samples *samples) {
  assert(pattern->id.len > 0);
  struct target target = {.pattern = *pattern, .samples = *samples};
  if (!wo__load_members(loader, object, pattern_members, COUNT_OF(pattern_members), &target)) return false;
  if (target.pattern.kind == WO_KIND_UNKNOWN) {
    return wo__load_fail(loader, object, WO_JSON_VALUE, WO_E_SYNTAX, "missing key 'kind'");
  }
  if (!check_literals(loader, object, &target.pattern)) return false;
  *pattern = target.pattern;
  *samples = target.samples;
  return true;
}
