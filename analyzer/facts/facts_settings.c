/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the value of each knob among those of command lines, printed configurations and files.
 *
 * The key counts before the place: `batch_size` has another meaning in every script, so a specific key beats a generic one. Then
 * the origin counts (docs/decisions/0006-printed-values-count.md); among equals, the later print of the same key. Values that
 * were not chosen are kept with the reason. */
#include <assert.h>

#include "analyzer/facts/facts_internal.h"
#include "analyzer/files/names.h"
#include "parsers/base/units.h"

/* Longer names keep their end, because aliases are compared with the end. */
#define NAME_BYTES 512

/* More than any origin adds, so that the key counts first. */
#define RANK_OF_SPECIFIC 10

/* Where a value comes from; later ones count more. */
enum origin {
  ORIGIN_FILE,        /* a configuration file, or text in a script */
  ORIGIN_ECHO,        /* a configuration in a log, printed at an unknown time */
  ORIGIN_ENVIRONMENT, /* export, or a variable */
  ORIGIN_COMMAND,     /* flags and overrides */
  ORIGIN_EFFECTIVE    /* printed by the program after it had read all settings */
};

static const char *const origin_texts[] = {
    [ORIGIN_FILE] = "a file",
    [ORIGIN_ECHO] = "a printed configuration",
    [ORIGIN_ENVIRONMENT] = "an environment variable",
    [ORIGIN_COMMAND] = "a command line",
    [ORIGIN_EFFECTIVE] = "a value that the program printed after it read its arguments",
};

/* A setting that may give a knob its value. */
struct candidate {
  const struct wo_event *event;
  struct wo_view name; /* path and key */
  struct wo_value value;
  enum origin origin;
  int rank;
  bool is_late;
};

/* All settings of the job, with their full names. */
struct candidates {
  struct candidate *items;
  size_t count;
};

/* Dashes and underscores are equal: argparse turns dashes into underscores, and Megatron prints underscores for dashes. */
static bool is_same_char(char a, char b) {
  return (a == '-' ? '_' : a) == (b == '-' ? '_' : b);
}

/* The case does not matter either: scripts pass PER_DEVICE_BATCH to --per_device_batch. */
static bool is_same_letter(char a, char b) {
  return is_same_char(wo_lower(a), wo_lower(b));
}

static bool is_equal_nocase(struct wo_view a, struct wo_view b) {
  return a.len == b.len && wo_view_has_view_nocase(a, b);
}

/* Whether `name` is `tail`, or ends in it after a dot. */
static bool ends_in_by(struct wo_view name, struct wo_view tail, bool (*is_same)(char a, char b)) {
  if (tail.len == 0 || name.len < tail.len) return false;
  const size_t start = name.len - tail.len;
  for (size_t i = 0; i < tail.len; i++) {
    if (!is_same(name.ptr[start + i], tail.ptr[i])) return false;
  }
  return start == 0 || name.ptr[start - 1] == '.';
}

/* The case of letters counts, because aliases are written in one case. */
static bool ends_in(struct wo_view name, struct wo_view tail) {
  return ends_in_by(name, tail, is_same_char);
}

/* Whether two names can mean the same thing: one may have a shorter path. */
static bool is_same_setting(struct wo_view a, struct wo_view b) {
  return ends_in_by(a, b, is_same_letter) || ends_in_by(b, a, is_same_letter);
}

/* The last part of a dotted key. */
static struct wo_view last_part(struct wo_view key) {
  const size_t dot = wo_view_find_last(key, WO_VIEW("."), key.len);
  return dot == WO_NOT_FOUND ? key : wo_view_skip(key, dot + 1);
}

static size_t count_parts(struct wo_view key) {
  size_t parts = 1;
  for (size_t i = 0; i < key.len; i++) parts += key.ptr[i] == '.';
  return parts;
}

const struct wo_alias *wo__facts_alias(const struct wo_knob *knob, struct wo_view key) {
  const struct wo_alias *best = NULL;
  for (size_t i = 0; i < knob->alias_count; i++) {
    const struct wo_alias *alias = &knob->aliases[i];
    if (!ends_in(key, alias->key)) continue;
    if (best == NULL || count_parts(alias->key) > count_parts(best->key)) best = alias;
  }
  return best;
}

/* Path and key with a dot between them, without parentheses of calls, written at the end of buf. */
static struct wo_view make_name(const struct wo_event *event, char buf[NAME_BYTES]) {
  const struct wo_view path = wo_event_text(event, WO_FIELD_PATH);
  const struct wo_view key = wo_event_text(event, WO_FIELD_KEY);
  size_t start = NAME_BYTES;
  for (size_t i = key.len; i-- > 0 && start > 0;) buf[--start] = key.ptr[i];
  if (path.len > 0 && start > 0) buf[--start] = '.';
  for (size_t i = path.len; i-- > 0 && start > 0;) {
    if (path.ptr[i] != '(' && path.ptr[i] != ')') buf[--start] = path.ptr[i];
  }
  return (struct wo_view){buf + start, NAME_BYTES - start};
}

const struct wo_alias *wo_facts_event_alias(const struct wo_knob *knob, const struct wo_event *event) {
  char buf[NAME_BYTES];
  return wo__facts_alias(knob, make_name(event, buf));
}

/* Keys of one or two words have different meanings in different scripts, unless their path makes it clear. */
static bool is_generic(struct wo_view key) {
  size_t words = 1;
  for (size_t i = 0; i < key.len; i++) {
    if (key.ptr[i] == '.') return false;
    if (key.ptr[i] == '_' || key.ptr[i] == '-') words++;
  }
  return words <= 2;
}

/* Looks a printed value up in "printed=canonical,printed=canonical"; false if it is missing. */
static bool map_value(struct wo_view map, struct wo_view value, struct wo_view *ret_canonical) {
  while (map.len > 0) {
    struct wo_view to = wo_view_cut(&map, ',');
    const struct wo_view from = wo_view_cut(&to, '=');
    if (!is_equal_nocase(from, value)) continue;
    *ret_canonical = to;
    return true;
  }
  return false;
}

/* "cpu" and "nvme" count as yes: DeepSpeed's "offload_optimizer": {"device": "cpu"} switches offloading on. */
static struct wo_value read_bool(struct wo_view text) {
  static const char *const yes[] = {"true", "1", "yes", "on", "cpu", "nvme"};
  static const char *const no[] = {"false", "0", "no", "off", "none", "null"};
  if (WO_VIEW_ANY(text, wo_view_is_nocase, yes)) return wo_value_bool(WO_TRUE);
  if (WO_VIEW_ANY(text, wo_view_is_nocase, no)) return wo_value_bool(WO_FALSE);
  return wo_value_unknown(WO_UNIT_BOOL);
}

/* Copies a number without the separators that Python and TOML allow between digits: 2_048. False when it does not fit. */
static bool copy_digits(struct wo_view text, char *buf, size_t cap, size_t *ret_len) {
  size_t len = 0;
  for (size_t i = 0; i < text.len; i++) {
    const bool is_separator =
        text.ptr[i] == '_' && i > 0 && i + 1 < text.len && wo_is_digit(text.ptr[i - 1]) && wo_is_digit(text.ptr[i + 1]);
    if (is_separator) continue;
    if (len == cap) return false;
    buf[len++] = text.ptr[i];
  }
  *ret_len = len;
  return true;
}

/* Unknown if anything follows the number: "4x" or "auto" must not be read as a size, and "8k" means 8000 or 8192. A setting is
 * exact, with any number of decimals. */
static struct wo_value read_number(struct wo_view text) {
  char buf[64];
  struct wo_interval number;
  bool is_integer = false;
  struct wo_view digits = {buf, 0};
  if (!copy_digits(text, buf, sizeof buf, &digits.len)) return wo_value_unknown(WO_UNIT_NUMBER);
  if (wo_number_decimal(&digits, &number, &is_integer) != WO_OK || digits.len > 0) return wo_value_unknown(WO_UNIT_NUMBER);
  return wo_value_exact(WO_UNIT_NUMBER, number.mid);
}

/* A value in the knob's own unit. Aliases may map printed words to canonical ones, e.g. bf16=True to the number format bf16. */
static struct wo_value read_value(const struct wo_knob *knob, const struct wo_alias *alias, struct wo_view text) {
  /* An unmapped text says nothing about this knob: `fp16=False` names no number format. */
  const bool is_mapped = alias->value_map.len > 0 && map_value(alias->value_map, text, &text);
  if (alias->value_map.len > 0 && !is_mapped && knob->unit == WO_UNIT_TEXT) return wo_value_unknown(WO_UNIT_TEXT);
  switch (knob->unit) {
  case WO_UNIT_BOOL:
    return read_bool(text);
  case WO_UNIT_NUMBER:
    return read_number(text);
  case WO_UNIT_BYTES: {
    struct wo_interval bytes;
    return wo_units_bytes(&text, 1, &bytes) == WO_OK ? wo_value_number(WO_UNIT_BYTES, bytes) : wo_value_unknown(WO_UNIT_BYTES);
  }
  default:
    return wo_value_text(text);
  }
}

/* Whether a line of the log names the framework, in any case of letters. */
static bool has_framework(const struct wo_job *job, struct wo_view name) {
  wo_each_event (event, &job->events) {
    const struct wo_view framework = wo_event_text(event, WO_FIELD_NAME);
    if (event->kind == WO_KIND_FRAMEWORK && is_equal_nocase(framework, name)) return true;
  }
  return false;
}

/* If two knobs match the name, the one that matches more of its path is meant: `eval.batch_size` is no training batch. */
static size_t most_parts(const struct wo_pack *pack, struct wo_view name, size_t *ret_knobs) {
  size_t most = 0;
  *ret_knobs = 0;
  for (size_t i = 0; i < pack->knob_count; i++) {
    const struct wo_alias *alias = wo__facts_alias(&pack->knobs[i], name);
    const size_t parts = alias ? count_parts(alias->key) : 0;
    if (parts > most) *ret_knobs = 0;
    if (parts > most) most = parts;
    *ret_knobs += parts > 0 && parts == most;
  }
  return most;
}

/* Whether the path shows that a generic key is a setting of evaluation, not of training. */
static bool is_of_evaluation(const struct wo_alias *alias, struct wo_view name) {
  static const char *const words[] = {"eval", "evaluation", "val", "valid", "validation", "test", "val_dataset", "eval_dataset"};
  if (!is_generic(alias->key) || wo_view_has(alias->key, "eval") || name.len == alias->key.len) return false;
  struct wo_view path = wo_view_sub(name, 0, name.len - alias->key.len);
  while (path.len > 0) {
    if (WO_VIEW_ANY(wo_view_cut(&path, '.'), wo_view_is_nocase, words)) return true;
  }
  return false;
}

/* Whether the path names a part of the model, or a model beside it: sizes of those are not the model's. */
static bool is_in_part(struct wo_view path) {
  static const char starts[][20] = {
      "bridge", "adapter",     "projector", "connector", "vision", "audio",   "image_encoder",    "text_encoder", "teacher",
      "draft",  "speculative", "critic",    "reward",    "vae",    "indexer", "sparse_attention", "resampler",    "controlnet"};
  while (path.len > 0) {
    const struct wo_view part = wo_view_cut(&path, '.');
    if (WO_VIEW_ANY_ROW(part, wo_view_starts_nocase, starts)) return true;
  }
  return false;
}

/* Whether a size or number format belongs to a part of the model (`bridge: {hidden_size: 1536}`, `vision_config`). */
static bool is_of_part(const struct wo_knob *knob, const struct wo_alias *alias, struct wo_view name) {
  static const char *const knobs[] = {"hidden_size", "num_layers", "num_heads", "num_kv_heads", "ffn_size",
                                      "head_dim",    "vocab_size", "dtype",     "max_positions"};
  if (name.len == alias->key.len) return false;
  const struct wo_view path = wo_view_sub(name, 0, name.len - alias->key.len);
  for (size_t i = 0; i < sizeof knobs / sizeof knobs[0]; i++) {
    if (wo_view_is(knob->id, knobs[i])) return is_in_part(path);
  }
  return false;
}

/* If two knobs share a key, it belongs to the one whose framework the log names; else to the plain one. A dotted key belongs to a
 * framework. */
static bool is_of_framework(const struct wo_facts *facts, const struct wo_knob *knob, const struct wo_alias *alias,
                            struct wo_view name) {
  const bool is_dotted = wo_view_find_char(name, '.', 0) != WO_NOT_FOUND;
  const bool is_plain = alias->framework.len == 0 || wo_view_is(alias->framework, "plain");
  if (!is_plain) return is_dotted || has_framework(facts->job, alias->framework);
  for (size_t i = 0; i < facts->pack->knob_count; i++) {
    const struct wo_alias *other = wo__facts_alias(&facts->pack->knobs[i], name);
    if (&facts->pack->knobs[i] == knob || other == NULL) continue;
    if (is_dotted || has_framework(facts->job, other->framework)) return false;
  }
  return true;
}

/* Whether the name means this knob. */
static bool is_plausible(const struct wo_facts *facts, const struct wo_knob *knob, const struct wo_alias *alias,
                         struct wo_view name) {
  size_t knobs = 0;
  if (count_parts(alias->key) < most_parts(facts->pack, name, &knobs) || is_of_evaluation(alias, name) ||
      is_of_part(knob, alias, name)) {
    return false;
  }
  return knobs < 2 || is_of_framework(facts, knob, alias, name);
}

/* A setting in a file that people edit has the origin file, whatever it looks like. */
static enum origin find_origin(const struct wo_job *job, const struct wo_event *event) {
  const struct wo_view format = job->inputs[event->span.file].format;
  const struct wo_view origin = wo_event_text(event, WO_FIELD_ORIGIN);
  const bool is_script = wo_view_is(format, "sbatch");
  if (wo_view_is(format, "config")) return ORIGIN_FILE;
  if (wo_view_is(origin, "command")) return ORIGIN_COMMAND;
  if (wo_view_is(origin, "environment")) return ORIGIN_ENVIRONMENT;
  if (wo_view_is(origin, "effective") && !is_script) return ORIGIN_EFFECTIVE;
  return is_script ? ORIGIN_FILE : ORIGIN_ECHO;
}

/* Lines after the failure in the same file belong to the next trial of a sweep, or to the next run. */
static bool is_after_failure(const struct wo_facts *facts, const struct wo_event *event) {
  const struct wo_event *failure = wo__failure_of(facts);
  return failure && event->span.file == failure->span.file && event->span.line > failure->span.line;
}

/* Settings of one line are found in the order of the patterns; they count in their order in the line. */
static void insert_in_order(struct candidates *all, struct candidate candidate) {
  const struct wo_span span = candidate.event->span;
  size_t at = all->count++;
  for (; at > 0; at--) {
    const struct wo_span before = all->items[at - 1].event->span;
    if (before.file != span.file || before.line != span.line || before.byte <= span.byte) break;
    all->items[at] = all->items[at - 1];
  }
  all->items[at] = candidate;
}

/* All settings with their names. Values are read later, because they depend on the knob. */
static enum wo_status collect(const struct wo_facts *facts, struct candidates *ret_all) {
  const struct wo_event_store *events = &facts->job->events;
  char buf[NAME_BYTES];
  ret_all->items = wo_arena_array(facts->arena, events->per_kind[WO_KIND_CONFIG] + (size_t)1, sizeof *ret_all->items);
  if (!ret_all->items) return WO_E_NOMEM;
  wo_each_event (event, events) {
    if (event->kind != WO_KIND_CONFIG || event->is_quoted || ret_all->count >= events->per_kind[WO_KIND_CONFIG]) continue;
    const struct wo_view name = wo_arena_copy(facts->arena, make_name(event, buf));
    if (name.ptr == NULL && wo_event_text(event, WO_FIELD_KEY).len > 0) return WO_E_NOMEM;
    const struct candidate candidate = {
        .event = event, .name = name, .origin = find_origin(facts->job, event), .is_late = is_after_failure(facts, event)};
    insert_in_order(ret_all, candidate);
  }
  return WO_OK;
}

/* The candidates of one knob, with their values. An unreadable value, such as "auto", is skipped: it neither counts nor
 * contradicts. */
static size_t select_for(const struct wo_facts *facts, const struct wo_knob *knob, const struct candidates *all,
                         struct candidate *ret_items) {
  size_t count = 0;
  for (size_t i = 0; i < all->count; i++) {
    struct candidate candidate = all->items[i];
    const struct wo_alias *alias = wo__facts_alias(knob, candidate.name);
    if (alias == NULL || !is_plausible(facts, knob, alias, candidate.name)) continue;
    candidate.value = read_value(knob, alias, wo_event_text(candidate.event, WO_FIELD_VALUE));
    if (!candidate.value.is_known) continue;
    candidate.value.evidence = candidate.event->id;
    candidate.rank = (is_generic(alias->key) ? 0 : RANK_OF_SPECIFIC) + (int)candidate.origin;
    ret_items[count++] = candidate;
  }
  return count;
}

/* Whether `next`, which comes later, replaces `best`. Another key of equal rank (the critic's besides the actor's) does not: the
 * launch line names the main one first. */
static bool is_better(const struct candidate *next, const struct candidate *best) {
  if (best == NULL) return true;
  if (next->rank != best->rank) return next->rank > best->rank && !next->is_late;
  return !next->is_late && is_same_setting(next->name, best->name);
}

/* Whether a user can edit it: a file, or a launch line that the log shows. */
static bool is_editable(const struct wo_job *job, const struct candidate *candidate, bool needs_file) {
  const struct wo_view format = job->inputs[candidate->event->span.file].format;
  if (wo_view_is(format, "sbatch") || wo_view_is(format, "config")) return true;
  return !needs_file && (candidate->origin == ORIGIN_COMMAND || candidate->origin == ORIGIN_ENVIRONMENT);
}

/* The place where a user can change the value: printed output cannot be edited. NULL when no such place is known. */
static const struct candidate *find_edit(const struct wo_job *job, const struct candidate *items, size_t count,
                                         const struct candidate *best) {
  const struct candidate *edit = NULL;
  for (int pass = 0; pass < 2 && edit == NULL; pass++) {
    for (size_t i = 0; i < count; i++) {
      if (!is_editable(job, &items[i], pass == 0) || !is_same_setting(items[i].name, best->name)) continue;
      if (is_better(&items[i], edit)) edit = &items[i];
    }
  }
  return edit;
}

/* Texts are equal in any case: programs print "AdamW" where the file says adamw. */
static bool is_same_value(struct wo_value a, struct wo_value b) {
  if (a.unit == WO_UNIT_BOOL) return a.truth == b.truth;
  if (a.unit != WO_UNIT_TEXT) return a.number.mid == b.number.mid;
  return is_equal_nocase(a.text, b.text);
}

/* Why a value does not count, for people. */
static struct wo_view why_not(struct wo_arena *arena, const struct candidate *other, const struct candidate *best) {
  if (other->is_late) return WO_VIEW("printed after the failure");
  if (is_same_setting(other->name, best->name)) {
    if (other->origin == best->origin) return WO_VIEW("a later value of the same key counts");
    return wo_arena_format(arena, "%s beats %s", origin_texts[best->origin], origin_texts[other->origin]);
  }
  if (ends_in(other->name, last_part(best->name))) return WO_VIEW("set for another part of the configuration");
  if (other->rank / RANK_OF_SPECIFIC < best->rank / RANK_OF_SPECIFIC) return WO_VIEW("a less specific key");
  return WO_VIEW("another key for the same thing");
}

/* Each pair of value and reason is kept once. */
static bool is_told(const struct wo_setting *slot, struct wo_value value, struct wo_view reason) {
  for (size_t i = 0; i < slot->other_count; i++) {
    if (is_same_value(slot->others[i].value, value) && wo_view_equal(slot->others[i].why_not, reason)) return true;
  }
  return false;
}

/* The reason names the place that the report shows, if its rank alone is enough. */
static enum wo_status keep_others(struct wo_arena *arena, struct wo_setting *slot, const struct candidate *items, size_t count,
                                  const struct candidate *best, const struct candidate *shown) {
  for (size_t i = 0; i < count && slot->other_count < WO_LIMIT_SETTING_OTHERS; i++) {
    if (is_same_value(items[i].value, best->value)) continue;
    if (slot->others == NULL) slot->others = wo_arena_array(arena, WO_LIMIT_SETTING_OTHERS, sizeof *slot->others);
    const struct wo_view reason = why_not(arena, &items[i], shown->rank > items[i].rank ? shown : best);
    if (slot->others == NULL || reason.ptr == NULL) return WO_E_NOMEM;
    if (is_told(slot, items[i].value, reason)) continue;
    const bool is_conflict = !items[i].is_late && items[i].origin != best->origin && is_same_setting(items[i].name, best->name);
    slot->others[slot->other_count++] = (struct wo_setting_other){
        .event = items[i].event, .value = items[i].value, .why_not = reason, .is_conflict = is_conflict};
    slot->has_conflict = slot->has_conflict || is_conflict;
  }
  return WO_OK;
}

static enum wo_status choose(const struct wo_facts *facts, struct wo_setting *slot, const struct candidate *items, size_t count) {
  const struct candidate *best = NULL;
  for (size_t i = 0; i < count; i++) {
    if (is_better(&items[i], best)) best = &items[i];
  }
  if (best == NULL) return WO_OK;
  slot->value = best->value;
  const struct candidate *edit = find_edit(facts->job, items, count, best);
  const struct candidate *shown = edit && is_same_value(edit->value, best->value) ? edit : best;
  slot->edit = edit ? edit->event : NULL;
  slot->event = shown->event;
  slot->value.evidence = shown->event->id;
  return keep_others(facts->arena, slot, items, count, best, shown);
}

void wo__facts_settings(struct wo_facts *facts) {
  const struct wo_pack *pack = facts->pack;
  struct candidates all = {0};
  facts->setting_count = pack->knob_count;
  facts->settings = wo_arena_array(facts->arena, pack->knob_count + 1, sizeof *facts->settings);
  if (!facts->settings || collect(facts, &all) != WO_OK) return;
  struct candidate *items = wo_arena_array(facts->arena, all.count + 1, sizeof *items);
  if (!items) return;
  for (size_t k = 0; k < pack->knob_count; k++) {
    facts->settings[k] = (struct wo_setting){.knob = &pack->knobs[k], .value = wo_value_unknown(pack->knobs[k].unit)};
    const size_t count = select_for(facts, &pack->knobs[k], &all, items);
    if (choose(facts, &facts->settings[k], items, count) != WO_OK) return;
  }
}
