/* Loading: rule files -> pack.
 *
 * All files are parsed first, then counted, so that the pack's arrays and its index are made once in their final size. Knobs are
 * read before everything else, because conditions and changes use them, then definitions; the rest is read in the order of the
 * files.
 *
 * Nothing is half loaded: everything lives in the pack's arena, and a load that fails frees it as a
 * whole. Files stay parsed until the end, since they are gone through more than once and messages
 * need their text. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "rules/load/rule_read_internal.h"

/* ---- names, for the expression parser --------------------------------------------------------------------------------- */

/* Facts, knobs and kinds: all names but the lets. Reads the pack as far as it is loaded, which
 * includes all knobs by the time any expression is parsed. */
static enum wo_unit unit_of(void *context, struct wo_view name) {
  const struct wo_loader *const loader = context;
  return wo_fact_unit(loader->pack, name);
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
    return define == NULL ? NULL : define->expr;
  }
  return wo__load_let(loader, name);
}

/* For messages: the closest of all these names. Lets come first, as a slip in one's own name is the likelier. */
static struct wo_view nearest_name(void *context, struct wo_view name) {
  struct wo_loader *const loader = context;
  struct wo_nearest nearest = {.want = name};
  for (size_t i = 0; i < loader->let_count; i++) wo_nearest_offer(&nearest, loader->lets[i].name);
  const struct wo_view fact = wo__fact_nearest(loader->pack, &loader->pack->arena, name);
  wo_nearest_offer(&nearest, fact);
  return wo_nearest_best(&nearest);
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

/* Counts what a file holds, and refuses what is no rule before anything is read. */
static bool count_file(struct wo_loader *loader, struct counts *counts) {
  for (const struct wo_tree *object = first_object(loader->json); object != NULL; object = next_object(loader->json, object)) {
    const enum wo_sort sort = sort_of(object);
    if (sort == WO_SORT_NONE) {
      return wo__load_fail(
          loader, object, WO_RULE_VALUE, WO_E_SYNTAX,
          "expected an object whose first key is pattern, cause, fix, knob, phase, term, model, define, sign or off");
    }
    counts->of[sort]++;
    counts->total++;
    if (sort == WO_SORT_KNOB) {
      const struct wo_tree *const aliases = wo_tree_get(object, "aliases");
      if (wo_tree_is(aliases, WO_TREE_ARRAY)) counts->aliases += aliases->count;
    }
  }
  return true;
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
  if (!is_id(wo_view_of(text)))
    return wo__load_fail(loader, wo_tree_child(object), WO_RULE_VALUE, WO_E_SYNTAX, "'%s' is no id", text);
  return wo__load_copy(loader, wo_view_of(text), ret_id);
}

/* Where the rule in a slot keeps its place; NULL of phases and terms, which keep none and count as built in. */
static struct wo_rule_place *place_of(const struct wo_pack *pack, enum wo_sort sort, size_t slot) {
  if (sort == WO_SORT_PATTERN) return &pack->samples[slot].place;
  const size_t offset = wo__sort_rows[sort].place_offset;
  return offset == WO_NOT_FOUND ? NULL : (struct wo_rule_place *)(void *)((char *)wo__pack_rule(pack, sort, slot) + offset);
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
    const struct wo_rule_place *const other = place_of(pack, sort, found);
    place->is_replacing = place->is_user && !(other != NULL && other->is_user);
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

/* Reads one rule into its slot. The slot is cleared first: nothing of a replaced rule is left, so a user's rule is read as it is
 * in the user's file and not merged with ours. The facts that a cause needs decide whether
 * the rest of it is wanted. */
static bool read_rule(struct wo_loader *loader, const struct wo_tree *object, uint64_t line, bool is_user) {
  struct wo_pack *const pack = loader->pack;
  const enum wo_sort sort = sort_of(object);
  struct wo_view id = {0};
  if (!read_id(loader, object, &id)) return false;
  struct wo_rule_place place = {.file = wo_view_of(loader->json->name), .line = line, .is_user = is_user};
  const size_t slot = slot_for(loader, sort, id, &place);
  void *const rule = wo__pack_rule(pack, sort, slot);
  memset(rule, 0, wo__sort_rows[sort].size);
  memcpy(rule, &id, sizeof id);
  if (sort == WO_SORT_PATTERN) pack->samples[slot] = (struct wo_pattern_samples){.pattern = slot};
  if (place_of(pack, sort, slot) != NULL) *place_of(pack, sort, slot) = place;
  loader->let_count = 0;
  const bool is_late = is_put_off(loader, sort, slot, object, is_user);
  if (is_late && sort == WO_SORT_FIX) return true;
  const enum wo_part first = loader->has_user_defines ? WO_PART_HEAD : WO_PART_NEEDS;
  if (sort == WO_SORT_DEFINE && is_user) loader->has_user_defines = true;
  loader->part = is_late ? first : WO_PART_ALL;
  const bool is_read = readers[sort](loader, object, rule);
  loader->part = WO_PART_ALL;
  return is_read;
}

/* The order of reading: knobs are facts for the definitions, and definitions are names for the rules. */
enum pass { PASS_KNOBS, PASS_DEFINES, PASS_RULES, PASS_COUNT_ };

static enum pass pass_of(enum wo_sort sort) {
  if (sort == WO_SORT_KNOB) return PASS_KNOBS;
  return sort == WO_SORT_DEFINE ? PASS_DEFINES : PASS_RULES;
}

/* Reads what a file holds for one pass. Terms are for `explain` only. Trees that were
 * compiled in have no lines; the place of their rules is the file alone. */
static bool read_file(struct wo_loader *loader, bool is_user, enum pass pass) {
  size_t index = 0;
  for (const struct wo_tree *object = first_object(loader->json); object != NULL;
       object = next_object(loader->json, object), index++) {
    const enum wo_sort sort = sort_of(object);
    if (pass_of(sort) != pass) continue;
    if (sort == WO_SORT_TERM && loader->depth != WO_LOAD_ALL) continue;
    const uint64_t line = index < loader->json->lines.count ? loader->json->lines.items[index] : 0;
    if (!read_rule(loader, object, line, is_user)) return false;
  }
  return true;
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
    for (size_t j = 0; j < pack->knobs[i].alias_count; j++) {
      if (!add_alias_pattern(loader, &pack->knobs[i], &pack->knobs[i].aliases[j])) return false;
    }
  }
  return true;
}

/* ---- public ----------------------------------------------------------------------------------------------------------- */

/* Parses all files. Their names are copied, because places of rules outlive the loading. Stops at
 * the first file that is wrong; those not reached stay zeroed, and releasing them does nothing. */
static bool parse_files(struct wo_loader *loader, const struct wo_rule_file *files, size_t count, struct wo_rule_json *jsons) {
  for (size_t i = 0; i < count; i++) {
    loader->status = wo_rule_json_parse(&files[i], &jsons[i], loader->err);
    if (loader->status != WO_OK) return false;
    const struct wo_view name = wo_arena_copy(&loader->pack->arena, wo_view_of(files[i].name));
    if (name.ptr == NULL) return wo__load_fail_nomem(loader);
    jsons[i].name = name.ptr;
  }
  return true;
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
static bool read_files(struct wo_loader *loader, const struct wo_rule_file *files, size_t count,
                       const struct wo_rule_json *jsons) {
  struct counts counts = {0};
  for (size_t i = 0; i < count; i++) {
    loader->json = &jsons[i];
    if (!count_file(loader, &counts)) return false;
  }
  if (!make_arrays(loader, &counts)) return false;
  for (int pass = 0; pass < PASS_COUNT_; pass++) {
    for (size_t i = 0; i < count; i++) {
      loader->json = &jsons[i];
      if (!read_file(loader, files[i].is_user, (enum pass)pass)) return false;
    }
    if (pass == PASS_DEFINES && !wo__load_defines(loader)) return false;
  }
  return wo__load_apply_offs(loader) && add_knob_patterns(loader);
}

/* The loader lives on the heap for its table of lets. One element more than there are files is
 * asked for, as calloc may give NULL for none, which would look like a failure. */
enum wo_status wo_pack_load(const struct wo_rule_file *files, size_t count, enum wo_load_depth depth, struct wo_pack **ret_pack,
                            struct wo_err *err) {
  assert((files != NULL || count == 0) && ret_pack != NULL);
  struct wo_pack *const pack = calloc(1, sizeof *pack);
  struct wo_rule_json *const jsons = calloc(count + 1, sizeof *jsons);
  struct wo_loader *const loader = calloc(1, sizeof *loader);
  bool is_loaded = pack != NULL && jsons != NULL && loader != NULL;
  enum wo_status status = is_loaded ? WO_OK : wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  if (is_loaded) {
    wo_arena_init(&pack->arena, WO_LIMIT_PACK_BYTES);
    *loader = (struct wo_loader){.pack = pack, .depth = depth, .err = err};
    loader->names = (struct wo_names){
        .nearest = nearest_name, .unit_of = unit_of, .place_of = fact_place_of, .definition = definition_of, .context = loader};
    is_loaded = parse_files(loader, files, count, jsons) && read_files(loader, files, count, jsons);
    if (is_loaded) hash_files(pack, files, count);
    status = loader->status;
    assert(is_loaded == (status == WO_OK));
  }
  if (is_loaded) *ret_pack = pack;
  if (is_loaded && pack->late != NULL) {
    wo__late_keep(pack->late, loader, jsons, count);
    return status;
  }
  for (size_t i = 0; jsons != NULL && i < count; i++) wo_rule_json_done(&jsons[i]);
  free(jsons);
  free(loader);
  if (!is_loaded) wo_pack_free(pack);
  return status;
}
