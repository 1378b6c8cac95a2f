/* SPDX-License-Identifier: Apache-2.0 */
/* Loading: rule files -> pack.
 *
 * All files are parsed first, then counted, so that the pack's arrays and its index are made once in their final size. Knobs are
 * read before everything else, because conditions and changes use them, then definitions; the rest is read in the order of the
 * files.
 *
 * Reading goes on after a mistake, so that one run finds them all. Nothing is half loaded all the same: everything lives in the
 * pack's arena, and a load that fails frees it as a whole; only the lint gets a pack, in which the mistaken rules are marked.
 * Files stay parsed until the end, since they are gone through more than once and messages need their text. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "rules/load/rule_read_internal.h"

/* ---- names, for the expression parser --------------------------------------------------------------------------------- */

/* Facts, knobs and kinds: all names but the lets. Reads the pack as far as it is loaded, which
 * includes all knobs by the time any expression is parsed. */
static enum wo_unit unit_of(void *context, struct wo_view name) {
  struct wo_loader *const loader = context;
  const enum wo_unit unit = wo_fact_unit(loader->pack, name);
  if (loader->status != WO_OK && wo_view_starts(name, "config.")) {
    const struct wo_knob *const knob = wo_pack_knob(loader->pack, wo_view_skip(name, 7));
    if (knob == NULL ? loader->has_unread_file : knob->place.is_mistaken) loader->uses_mistaken = true;
  }
  return unit;
}

static size_t fact_place_of(void *context, struct wo_view name) {
  const struct wo_loader *const loader = context;
  return wo_fact_place(loader->pack, name);
}

/* The definitions of all rules, and the lets of the rule being read, and of no other: they are forgotten when the next rule
 * begins. A linear search over a handful. */
static const struct wo_expr *definition_of(void *context, struct wo_view name) {
  struct wo_loader *const loader = context;
  if (wo_view_starts(name, "def.")) {
    const struct wo_define *const define = wo_pack_define(loader->pack, wo_view_skip(name, 4));
    if (define == NULL ? loader->has_unread_file : define->expr == NULL) loader->uses_mistaken = true;
    return define == NULL ? NULL : define->expr;
  }
  const struct wo_expr *const let = wo__load_let(loader, name);
  if (let == NULL && loader->has_lost_lets && wo__load_is_name(name)) loader->uses_mistaken = true;
  return let;
}

/* For messages: all these names. Lets come first, as a slip in one's own name is the likelier. */
static void offer_names(void *context, struct wo_known_names *known) {
  struct wo_loader *const loader = context;
  for (size_t i = 0; i < loader->let_count; i++) wo_known_offer(known, loader->lets[i].name);
  wo__fact_offer(loader->pack, &loader->pack->arena, known);
}

/* ---- rule objects ----------------------------------------------------------------------------------------------------- */

static bool (*const readers[])(struct wo_loader *loader, const struct wo_tree *object, void *rule) = {
    [WO_SORT_PATTERN] = wo__load_pattern, [WO_SORT_CAUSE] = wo__load_cause,   [WO_SORT_FIX] = wo__load_fix,
    [WO_SORT_KNOB] = wo__load_knob,       [WO_SORT_PHASE] = wo__load_phase,   [WO_SORT_TERM] = wo__load_term,
    [WO_SORT_MODEL] = wo__load_model,     [WO_SORT_DEFINE] = wo__load_define, [WO_SORT_OFF] = wo__load_off,
    [WO_SORT_SIGN] = wo__load_sign,
};
_Static_assert(sizeof readers / sizeof readers[0] == WO_SORT_FACT, "one reader per sort of rule");

/* The sort of a rule object, by its first key; WO_SORT_NONE when that names none. The key must come first, so that a human reader
 * also knows the sort of the rule from its first line. */
static enum wo_sort sort_of(const struct wo_tree *object) {
  if (!wo_tree_is(object, WO_TREE_OBJECT) || wo_tree_child(object) == NULL) return WO_SORT_NONE;
  const char *const key = wo_tree_key(wo_tree_child(object));
  for (size_t i = WO_SORT_NONE + 1; i < WO_SORT_FACT; i++) {
    if (key[0] == wo__sort_rows[i].name[0] && strcmp(key, wo__sort_rows[i].name) == 0) return (enum wo_sort)i;
  }
  return WO_SORT_NONE;
}

/* The rule objects of a file: the root itself, or the elements of the root array. NULL for an empty
 * array, which is a file without rules. */
static const struct wo_tree *first_object(const struct wo_rule_json *json) {
  return wo_tree_is(json->root, WO_TREE_ARRAY) ? wo_tree_child(json->root) : json->root;
}

/* The object after another one. A root has siblings of no kind, and its `next` is not to be asked. */
static const struct wo_tree *next_object(const struct wo_rule_json *json, const struct wo_tree *object) {
  return wo_tree_is(json->root, WO_TREE_ARRAY) ? wo_tree_next(object) : NULL;
}

/* The counts that are needed before the pack's arrays are made. A rule that replaces another is counted like any other: the
 * arrays are then a little larger than they need be. */
struct counts {
  size_t of[WO_SORT_COUNT_];
  size_t total;
  size_t aliases; /* of knobs: each becomes a pattern */
};

/* Names the sort that may have been meant, or all. */
static void fail_sort(struct wo_loader *loader, const struct wo_tree *object) {
  const bool has_key = wo_tree_is(object, WO_TREE_OBJECT) && wo_tree_child(object) != NULL;
  struct wo_known_names known = {.nearest.want = wo_view_of(has_key ? wo_tree_key(wo_tree_child(object)) : "")};
  for (size_t i = WO_SORT_NONE + 1; i < WO_SORT_FACT; i++) wo_known_offer(&known, wo_view_of(wo__sort_rows[i].name));
  wo__load_fail(loader, object, WO_RULE_VALUE, WO_E_SYNTAX, "expected an object whose first key is the sort of a rule%s",
                wo_known_hint(&known));
}

/* Counts what a file holds, and refuses what is no rule before anything is read. */
static void count_file(struct wo_loader *loader, struct counts *counts) {
  const struct wo_rule_json *const json = loader->json;
  for (const struct wo_tree *object = first_object(json); object != NULL && !loader->is_stopped;
       object = next_object(json, object)) {
    const enum wo_sort sort = sort_of(object);
    if (sort == WO_SORT_NONE) {
      fail_sort(loader, object);
      continue;
    }
    counts->of[sort]++;
    counts->total++;
    if (sort == WO_SORT_KNOB) {
      const struct wo_tree *const aliases = wo_tree_get(object, "aliases");
      if (wo_tree_is(aliases, WO_TREE_ARRAY)) counts->aliases += aliases->count;
    }
  }
}

/* Makes all arrays in their final size, zeroed. The index has facts too, which makes wo_fact_unit fast. One look at the arena at
 * the end stands for a look after each call. */
static bool make_arrays(struct wo_loader *loader, const struct counts *counts) {
  struct wo_pack *const pack = loader->pack;
  struct wo_arena *const arena = &pack->arena;
  size_t fact_count = 0;
  wo_fact_list(&fact_count);
  pack->index = wo_pack_index_new(arena, counts->total + fact_count);
  for (int sort = WO_SORT_NONE + 1; sort < WO_SORT_FACT; sort++) {
    const size_t more = sort == WO_SORT_PATTERN ? counts->aliases : 0;
    void *const array = wo_arena_array(arena, counts->of[sort] + more, wo__sort_rows[sort].size);
    memcpy((char *)pack + wo__sort_rows[sort].array_offset, &array, sizeof array);
  }
  pack->samples = wo_arena_array(arena, counts->of[WO_SORT_PATTERN], sizeof *pack->samples);
  loader->pending = wo_arena_array(arena, counts->of[WO_SORT_DEFINE], sizeof *loader->pending);
  loader->off_pending = wo_arena_array(arena, counts->of[WO_SORT_OFF], sizeof *loader->off_pending);
  pack->duplicates = wo_arena_array(arena, counts->total, sizeof *pack->duplicates);
  if (wo_arena_is_exhausted(arena)) return wo__load_fail_nomem(loader);
  if (loader->depth == WO_LOAD_FOR_ONE_JOB) {
    pack->late = wo__late_new(arena, counts->of[WO_SORT_CAUSE], counts->of[WO_SORT_FIX]);
    if (pack->late == NULL) return wo__load_fail_nomem(loader);
  }
  wo__fact_index(pack->index);
  return true;
}

/* ---- one rule --------------------------------------------------------------------------------------------------------- */

/* Kebab-case; knobs and phases are names in expressions and in reports, so they have '_' and '.'
 * too. The lint is stricter; this is what keeps an id printable and searchable. */
static bool is_id(struct wo_view id) {
  for (size_t i = 0; i < id.len; i++) {
    const char c = id.ptr[i];
    if (!wo_is_word(c) && c != '-' && c != '.') return false;
  }
  return id.len > 0;
}

static bool read_id(struct wo_loader *loader, const struct wo_tree *object, struct wo_view *ret_id) {
  const char *const text = wo__load_string(loader, wo_tree_child(object));
  if (text == NULL) return false;
  return wo__load_copy(loader, wo_view_of(text), ret_id);
}

/* The slot for a rule: that of the rule which it replaces, or a new one. Several objects of one
 * phase are one list, unless the user's own replaces it.
 *
 * A rule that replaces another takes over its place, and with it its order among the causes. Two
 * files of ours with one id are a mistake in the packs, and so are two of the user's, which is noted
 * for the lint; between the user's files and ours it is the purpose. */
static size_t slot_for(struct wo_loader *loader, enum wo_sort sort, struct wo_view id, struct wo_rule_place *place) {
  struct wo_pack *const pack = loader->pack;
  const size_t found = wo_pack_index_find(pack->index, sort, id);
  if (found != WO_NOT_FOUND && (place->is_user || sort != WO_SORT_PHASE)) {
    place->is_replacing = place->is_user && !wo__pack_place(pack, sort, found)->is_user;
    if (!place->is_replacing) pack->duplicates[pack->duplicate_count++] = (struct wo_duplicate){.id = id, .place = *place};
    return found;
  }
  size_t *const count = wo__pack_count(pack, sort);
  if (found == WO_NOT_FOUND) wo_pack_index_add(pack->index, sort, id, *count);
  return (*count)++;
}

/* Whether the rest of a built-in rule is put off; takes note of the rule, or that one of the user's has taken its place. */
static bool is_put_off(struct wo_loader *loader, enum wo_sort sort, size_t slot, const struct wo_tree *object, bool is_user) {
  struct wo_late *const late = loader->pack->late;
  if (late == NULL || (sort != WO_SORT_CAUSE && sort != WO_SORT_FIX)) return false;
  wo__late_put_off(late, sort, slot, loader->json, is_user ? NULL : object);
  return !is_user;
}

/* The conditions of built-in rules rest on the unit of a setting that a folder replaces. */
static bool keeps_unit(struct wo_loader *loader, const struct wo_tree *object, enum wo_sort sort, const void *rule,
                       enum wo_unit unit) {
  if (sort != WO_SORT_KNOB || unit == WO_UNIT_NONE || ((const struct wo_knob *)rule)->unit == unit) return true;
  return wo__load_fail(loader, wo_tree_get(object, "unit"), WO_RULE_VALUE, WO_E_TYPE,
                       "the built-in setting that it replaces has the unit %s", wo_unit_name(unit));
}

/* Reads one rule into its slot. The slot is cleared first: nothing of a replaced rule is left, so a user's rule is read as it is
 * in the user's file and not merged with ours. The facts that a cause needs decide whether
 * the rest of it is wanted. */
static void read_rule(struct wo_loader *loader, const struct wo_tree *object, uint64_t line, bool is_user) {
  struct wo_pack *const pack = loader->pack;
  const enum wo_sort sort = sort_of(object);
  struct wo_view id = {0};
  if (!read_id(loader, object, &id)) return;
  struct wo_rule_place place = {.file = wo_view_of(loader->json->name), .line = line, .is_user = is_user};
  const size_t slot = slot_for(loader, sort, id, &place);
  void *const rule = wo__pack_rule(pack, sort, slot);
  const enum wo_unit unit = sort == WO_SORT_KNOB && place.is_replacing ? ((struct wo_knob *)rule)->unit : WO_UNIT_NONE;
  memset(rule, 0, wo__sort_rows[sort].size);
  memcpy(rule, &id, sizeof id);
  if (sort == WO_SORT_PATTERN) pack->samples[slot] = (struct wo_pattern_samples){.pattern = slot};
  *wo__pack_place(pack, sort, slot) = place;
  const bool has_id =
      is_id(id) || wo__load_fail(loader, wo_tree_child(object), WO_RULE_VALUE, WO_E_SYNTAX, "'%s' is no id", id.ptr);
  loader->let_count = 0;
  const bool is_late = is_put_off(loader, sort, slot, object, is_user);
  if (is_late && sort == WO_SORT_FIX) return;
  const enum wo_part first = loader->has_user_defines ? WO_PART_HEAD : WO_PART_NEEDS;
  if (sort == WO_SORT_DEFINE && is_user) loader->has_user_defines = true;
  loader->part = is_late ? first : WO_PART_ALL;
  const bool is_read = readers[sort](loader, object, rule) && has_id && keeps_unit(loader, object, sort, rule, unit);
  loader->part = WO_PART_ALL;
  if (!is_read) wo__pack_place(pack, sort, slot)->is_mistaken = true;
}

/* The order of reading: knobs are facts for the definitions, and definitions are names for the rules. */
enum pass { PASS_KNOBS, PASS_DEFINES, PASS_RULES, PASS_COUNT_ };

static enum pass pass_of(enum wo_sort sort) {
  if (sort == WO_SORT_KNOB) return PASS_KNOBS;
  return sort == WO_SORT_DEFINE ? PASS_DEFINES : PASS_RULES;
}

/* Reads what a file holds for one pass. Terms are for `explain` only. Trees that were
 * compiled in have no lines; the place of their rules is the file alone. */
static void read_file(struct wo_loader *loader, bool is_user, enum pass pass) {
  size_t index = 0;
  for (const struct wo_tree *object = first_object(loader->json); object != NULL; object = next_object(loader->json, object)) {
    if (!wo_tree_is(object, WO_TREE_OBJECT)) continue; /* only objects have lines */
    const uint64_t line = index < loader->json->lines.count ? loader->json->lines.items[index] : 0;
    index++;
    const enum wo_sort sort = sort_of(object);
    if (sort == WO_SORT_NONE || pass_of(sort) != pass) continue;
    if (sort == WO_SORT_TERM && loader->depth != WO_LOAD_ALL) continue;
    read_rule(loader, object, line, is_user);
    if (loader->is_stopped) return;
  }
}

/* ---- knobs as patterns ------------------------------------------------------------------------------------------------ */

/* A copy of the key with one of '-' and '_' in place of the other: argparse takes
 * "--micro-batch-size" where the configuration file says "micro_batch_size". */
static bool copy_spelling(struct wo_loader *loader, struct wo_view key, char from, char to, struct wo_view *ret_copy) {
  char *const copy = wo_arena_alloc(&loader->pack->arena, key.len + 1);
  if (copy == NULL) return wo__load_fail_nomem(loader);
  for (size_t i = 0; i < key.len; i++) copy[i] = key.ptr[i] == from ? to : key.ptr[i];
  *ret_copy = (struct wo_view){copy, key.len};
  return true;
}

/* The texts that an alias is looked for by: its literals, or its key in both spellings. A key with both characters in it gets all
 * of one and all of the other; mixtures are not known to exist. */
static bool set_alias_literals(struct wo_loader *loader, const struct wo_alias *alias, struct wo_pattern *pattern) {
  if (alias->literal_count > 0) {
    pattern->literals = alias->literals;
    pattern->literal_count = alias->literal_count;
    return true;
  }
  struct wo_view *const literals = wo_arena_array(&loader->pack->arena, 3, sizeof *literals);
  if (literals == NULL) return wo__load_fail_nomem(loader);
  size_t count = 0;
  literals[count++] = alias->key;
  if (wo_view_find_char(alias->key, '_', 0) != WO_NOT_FOUND) {
    if (!copy_spelling(loader, alias->key, '_', '-', &literals[count++])) return false;
  }
  if (wo_view_find_char(alias->key, '-', 0) != WO_NOT_FOUND) {
    if (!copy_spelling(loader, alias->key, '-', '_', &literals[count++])) return false;
  }
  pattern->literals = literals;
  pattern->literal_count = count;
  return true;
}

/* The pattern of one spelling. The `setting` reader does the matching; the pattern names the knob. The id
 * ("setting:micro_batch:per_device_train_batch_size") is made up here and only seen in reports of evidence. */
static bool add_alias_pattern(struct wo_loader *loader, const struct wo_knob *knob, const struct wo_alias *alias) {
  struct wo_pack *const pack = loader->pack;
  const struct wo_view parts[] = {WO_VIEW("setting:"), knob->id, WO_VIEW(":"), alias->key};
  const struct wo_view id = wo_arena_join(&pack->arena, parts, sizeof parts / sizeof parts[0]);
  if (id.ptr == NULL) return wo__load_fail_nomem(loader);
  struct wo_pattern *const pattern = &pack->patterns[pack->pattern_count++];
  *pattern = (struct wo_pattern){
      .id = id, .kind = WO_KIND_CONFIG, .where = WO_WHERE_LINE, .reader = WO_VIEW("setting"), .argument = knob->id};
  return set_alias_literals(loader, alias, pattern);
}

/* Appends the patterns of all knobs. Two knobs may share a key: the framework decides later which
 * one is meant. They come last, after the patterns with samples, so that the lint's indices stay
 * those of the packs. */
static bool add_knob_patterns(struct wo_loader *loader) {
  struct wo_pack *const pack = loader->pack;
  pack->own_pattern_count = pack->pattern_count;
  pack->sample_count = loader->depth == WO_LOAD_ALL ? pack->own_pattern_count : 0;
  for (size_t i = 0; i < pack->knob_count; i++) {
    for (size_t j = 0; j < pack->knobs[i].alias_count && !pack->knobs[i].place.is_mistaken; j++) {
      if (!add_alias_pattern(loader, &pack->knobs[i], &pack->knobs[i].aliases[j])) return false;
    }
  }
  return true;
}

/* ---- public ----------------------------------------------------------------------------------------------------------- */

/* Parses all files. Their names are copied, because places of rules outlive the loading. One that is no JSON holds no rules;
 * files that are not reached stay zeroed, and releasing them does nothing. */
static void parse_files(struct wo_loader *loader, const struct wo_rule_file *files, size_t count, struct wo_rule_json *jsons) {
  for (size_t i = 0; i < count && !loader->is_stopped; i++) {
    const enum wo_status status = wo_rule_json_parse(&files[i], &jsons[i], &loader->mistake);
    const struct wo_view name = wo_arena_copy(&loader->pack->arena, wo_view_of(files[i].name));
    if (status == WO_E_NOMEM || name.ptr == NULL) {
      wo__load_fail_nomem(loader);
      return;
    }
    jsons[i].name = name.ptr;
    if (status == WO_OK) continue;
    loader->has_unread_file = true;
    wo__load_fail_made(loader);
  }
}

/* Compiled-in trees have no text: the hash of their files was made when the program was built. */
static void hash_files(struct wo_pack *pack, const struct wo_rule_file *files, size_t count) {
  pack->files_hash = pack->user_files_hash = WO__RULE_HASH_START;
  for (size_t i = 0; i < count; i++) {
    uint64_t *const hash = files[i].is_user ? &pack->user_files_hash : &pack->files_hash;
    if (files[i].tree != NULL) pack->is_compiled_in = true;
    if (files[i].tree == NULL) wo__hash_text(hash, (struct wo_view){files[i].data, files[i].size});
  }
}

/* Counts, makes the arrays, and reads, pass by pass. */
static void read_files(struct wo_loader *loader, const struct wo_rule_file *files, size_t count,
                       const struct wo_rule_json *jsons) {
  struct counts counts = {0};
  for (size_t i = 0; i < count && !loader->is_stopped; i++) {
    loader->json = &jsons[i];
    count_file(loader, &counts);
  }
  if (loader->is_stopped || !make_arrays(loader, &counts)) return;
  for (int pass = 0; pass < PASS_COUNT_; pass++) {
    for (size_t i = 0; i < count && !loader->is_stopped; i++) {
      loader->json = &jsons[i];
      read_file(loader, files[i].is_user, (enum pass)pass);
    }
    if (pass == PASS_DEFINES && !loader->is_stopped) wo__load_defines(loader);
  }
  if (!loader->is_stopped) wo__load_apply_offs(loader);
  if (!loader->is_stopped) add_knob_patterns(loader);
}

/* Keeps the pack, and the files where it needs them later; else frees both. Without mistakes a load ends with WO_OK; with them
 * there may still be a pack to look at. */
static struct wo_pack *finish(struct wo_loader *loader, struct wo_rule_json *jsons, size_t count) {
  struct wo_pack *pack = loader->pack;
  const bool is_fine = loader->status == WO_OK;
  const bool is_kept = is_fine || (loader->notes.keeps_rest && !loader->is_stopped && !loader->has_unread_file);
  if (is_kept && pack->late != NULL) {
    wo__late_keep(pack->late, loader, jsons, count);
    return pack;
  }
  if (is_kept && loader->notes.keeps_rest) {
    pack->sources = jsons;
    pack->source_count = count;
    pack->mistake_count = loader->mistake_count;
  } else {
    for (size_t i = 0; i < count; i++) wo_rule_json_done(&jsons[i]);
    free(jsons);
  }
  free(loader);
  return is_kept ? pack : wo_pack_free(pack);
}

/* The loader lives on the heap for its table of lets. One element more than there are files is
 * asked for, as calloc may give NULL for none, which would look like a failure. */
static enum wo_status load(const struct wo_rule_file *files, size_t count, enum wo_load_depth depth, struct wo_load_notes notes,
                           struct wo_pack **ret_pack, struct wo_err *err) {
  assert((files != NULL || count == 0) && ret_pack != NULL);
  struct wo_pack *const pack = calloc(1, sizeof *pack);
  struct wo_rule_json *const jsons = calloc(count + 1, sizeof *jsons);
  struct wo_loader *const loader = calloc(1, sizeof *loader);
  if (pack == NULL || jsons == NULL || loader == NULL) {
    free(pack);
    free(jsons);
    free(loader);
    struct wo_err nomem;
    wo_err_nomem(&nomem);
    if (notes.fn != NULL) notes.fn(notes.context, &nomem);
    return wo_err_nomem(err);
  }
  wo_arena_init(&pack->arena, WO_LIMIT_PACK_BYTES);
  *loader = (struct wo_loader){.pack = pack, .depth = depth, .err = err, .notes = notes};
  loader->names = (struct wo_names){
      .offer = offer_names, .unit_of = unit_of, .place_of = fact_place_of, .definition = definition_of, .context = loader};
  parse_files(loader, files, count, jsons);
  if (!loader->is_stopped) read_files(loader, files, count, jsons);
  if (loader->status == WO_OK) hash_files(pack, files, count);
  const enum wo_status status = loader->status;
  struct wo_pack *const kept = finish(loader, jsons, count);
  assert(status != WO_OK || kept != NULL);
  if (kept != NULL) *ret_pack = kept;
  return status;
}

enum wo_status wo_pack_load(const struct wo_rule_file *files, size_t count, enum wo_load_depth depth, struct wo_pack **ret_pack,
                            struct wo_err *err) {
  return load(files, count, depth, (struct wo_load_notes){0}, ret_pack, err);
}

enum wo_status wo_pack_load_noting(const struct wo_rule_file *files, size_t count, enum wo_load_depth depth,
                                   struct wo_load_notes notes, struct wo_pack **ret_pack) {
  return load(files, count, depth, notes, ret_pack, NULL);
}
