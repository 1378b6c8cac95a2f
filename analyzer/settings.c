/* Settings: chooses, for each knob, among the values that command lines, echoes and files give.
 *
 * Precedence: a specific key beats a generic one (`batch_size` means something else in every script); a command line or
 * environment beats a file, as it does when the program runs; among equals the later print of the same key counts. */
#include <assert.h>

#include "analyzer/facts.h"
#include "parsers/base/units.h"

/* How much a style of writing counts. */
static int style_priority(struct wo_view style) {
  static const struct {
    const char *style;
    int priority;
  } rows[] = {{"flag", 3}, {"flag-equals", 3}, {"export", 3}, {"equals", 2}, {"dots", 2}, {"json", 1}, {"colon", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is(style, rows[i].style)) return rows[i].priority;
  }
  return 0;
}

/* The last part of a dotted key. */
static struct wo_view last_part(struct wo_view key) {
  const size_t dot = wo_view_find_last(key, WO_VIEW("."), key.len);
  return dot == WO_NOT_FOUND ? key : wo_view_skip(key, dot + 1);
}

/* Dashes and underscores are one: argparse turns the first into the second, and Megatron prints the second for the first. */
static bool is_same_key(struct wo_view a, struct wo_view b) {
  if (a.len != b.len) return false;
  for (size_t i = 0; i < a.len; i++) {
    const char x = a.ptr[i] == '-' ? '_' : a.ptr[i];
    const char y = b.ptr[i] == '-' ? '_' : b.ptr[i];
    if (x != y) return false;
  }
  return true;
}

const struct wo_alias *wo_facts_alias(const struct wo_knob *knob, struct wo_view key) {
  for (size_t i = 0; i < knob->alias_count; i++) {
    const struct wo_view alias = knob->aliases[i].key;
    if (is_same_key(alias, last_part(key)) || is_same_key(alias, key)) return &knob->aliases[i];
  }
  return NULL;
}

/* Keys of one or two words mean different things in different scripts. */
static bool is_generic(struct wo_view key) {
  size_t words = 1;
  const struct wo_view part = last_part(key);
  for (size_t i = 0; i < part.len; i++) {
    if (part.ptr[i] == '_' || part.ptr[i] == '-') words++;
  }
  return words <= 2;
}

/* Looks a printed value up in "printed=canonical,printed=canonical"; false when it is not there. */
static bool map_value(struct wo_view map, struct wo_view value, struct wo_view *ret_canonical) {
  while (map.len > 0) {
    struct wo_view to = wo_view_cut(&map, ',');
    const struct wo_view from = wo_view_cut(&to, '=');
    bool is_equal = from.len == value.len;
    for (size_t i = 0; is_equal && i < from.len; i++) is_equal = wo_lower(from.ptr[i]) == wo_lower(value.ptr[i]);
    if (!is_equal) continue;
    *ret_canonical = to;
    return true;
  }
  return false;
}

/* Two of the words are places: DeepSpeed's "offload_optimizer": {"device": "cpu"} switches offloading on. */
static struct wo_value read_bool(struct wo_view text) {
  static const char *const yes[] = {"true", "1", "yes", "on", "cpu", "nvme"};
  static const char *const no[] = {"false", "0", "no", "off", "none", "null"};
  for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
    if (wo_view_is_nocase(text, yes[i])) return wo_value_bool(WO_TRUE);
  }
  for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
    if (wo_view_is_nocase(text, no[i])) return wo_value_bool(WO_FALSE);
  }
  return wo_value_unknown(WO_UNIT_BOOL);
}

/* Unknown when anything follows the number: "4x" or "auto" must not be read as a size. */
static struct wo_value read_number(struct wo_view text) {
  struct wo_interval number;
  bool is_integer = false;
  if (wo_number_decimal(&text, &number, &is_integer) != WO_OK || text.len > 0) return wo_value_unknown(WO_UNIT_NUMBER);
  /* A setting is exact, however many decimals it is written with. */
  return wo_value_exact(WO_UNIT_NUMBER, number.mid);
}

/* A value in the knob's own unit. Aliases may map printed words to canonical ones, e.g. bf16=True to the number format bf16. */
static struct wo_value read_value(const struct wo_knob *knob, const struct wo_event *event) {
  const struct wo_alias *alias = wo_facts_alias(knob, wo_event_text(event, WO_FIELD_KEY));
  struct wo_view text = wo_event_text(event, WO_FIELD_VALUE);
  /* A text that the alias does not know says nothing about this knob: `fp16=False` names no number format. */
  const bool is_mapped = alias && alias->value_map.len > 0 && map_value(alias->value_map, text, &text);
  if (alias && alias->value_map.len > 0 && !is_mapped && knob->unit == WO_UNIT_TEXT) return wo_value_unknown(WO_UNIT_TEXT);
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

/* Whether some knob other than this one has the same key as its own. */
static bool is_shared_key(const struct wo_pack *pack, const struct wo_knob *knob, struct wo_view key) {
  for (size_t i = 0; i < pack->knob_count; i++) {
    if (&pack->knobs[i] != knob && wo_facts_alias(&pack->knobs[i], key)) return true;
  }
  return false;
}

/* Whether a line of the log names the framework, in any case of letters. */
static bool has_framework(const struct wo_job *job, struct wo_view name) {
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    const struct wo_view framework = wo_event_text(event, WO_FIELD_NAME);
    if (event->kind == WO_KIND_FRAMEWORK && framework.len == name.len && wo_view_starts_nocase(framework, "")) {
      bool is_equal = true;
      for (size_t k = 0; k < name.len && is_equal; k++) is_equal = wo_lower(name.ptr[k]) == wo_lower(framework.ptr[k]);
      if (is_equal) return true;
    }
  }
  return false;
}

/* A key that two knobs share belongs to the one whose framework is at work; without a named framework, to the plain one. */
static bool is_plausible(const struct wo_facts *facts, const struct wo_knob *knob, struct wo_view key) {
  const struct wo_alias *alias = wo_facts_alias(knob, key);
  if (!alias || !is_shared_key(facts->pack, knob, key)) return alias != NULL;
  const bool is_dotted = wo_view_find_char(key, '.', 0) != WO_NOT_FOUND;
  const bool is_plain = alias->framework.len == 0 || wo_view_is(alias->framework, "plain");
  if (is_plain) {
    for (size_t i = 0; i < facts->pack->knob_count; i++) {
      const struct wo_alias *other = wo_facts_alias(&facts->pack->knobs[i], key);
      if (&facts->pack->knobs[i] != knob && other && (is_dotted || has_framework(facts->job, other->framework))) return false;
    }
    return true;
  }
  return is_dotted || has_framework(facts->job, alias->framework);
}

/* Ten is more than any style adds: what the key is comes before where it stands. */
static int rank_setting(const struct wo_event *event) {
  return (is_generic(wo_event_text(event, WO_FIELD_KEY)) ? 0 : 10) + style_priority(wo_event_text(event, WO_FIELD_STYLE));
}

/* The same key again: a later print or file counts. Another key of equal rank (the critic's beside the actor's) does not: the
 * first one named is the one that the launch line puts first. */
static bool is_repetition(const struct wo_event *event, const struct wo_event *before) {
  return is_same_key(wo_event_text(event, WO_FIELD_KEY), wo_event_text(before, WO_FIELD_KEY));
}

/* What is printed behind the failure in the same file belongs to the next trial of a sweep, or to the next run. */
static bool is_after_failure(const struct wo_facts *facts, const struct wo_event *event) {
  const struct wo_event *failure = wo_event_get(&facts->job->events, facts->job->story.failure);
  return failure && event->span.file == failure->span.file && event->span.line > failure->span.line;
}

/* Takes the setting when it beats the one that the slot holds. Values that cannot be read never replace one that can. */
static void consider(struct wo_facts *facts, struct wo_setting *slot, const struct wo_event *event) {
  if (!is_plausible(facts, slot->knob, wo_event_text(event, WO_FIELD_KEY))) return;
  struct wo_value value = read_value(slot->knob, event);
  if (!value.is_known && !(value.unit == WO_UNIT_BOOL && value.truth != WO_UNDECIDED)) return;
  if (slot->event && rank_setting(event) < rank_setting(slot->event)) return;
  if (slot->event && rank_setting(event) == rank_setting(slot->event) && !is_repetition(event, slot->event)) return;
  if (slot->event && is_after_failure(facts, event)) return;
  value.evidence = event->id;
  slot->event = event;
  slot->value = value;
}

enum wo_status wo_facts_read_settings(struct wo_facts *facts) {
  const struct wo_pack *pack = facts->pack;
  facts->setting_count = pack->knob_count;
  facts->settings = wo_arena_array(facts->arena, pack->knob_count + 1, sizeof *facts->settings);
  if (!facts->settings) return WO_E_NOMEM;
  for (size_t k = 0; k < pack->knob_count; k++) {
    facts->settings[k] = (struct wo_setting){.knob = &pack->knobs[k], .value = wo_value_unknown(pack->knobs[k].unit)};
  }
  for (size_t i = 0; i < facts->job->events.count; i++) {
    const struct wo_event *event = &facts->job->events.items[i];
    if (event->kind != WO_KIND_CONFIG) continue;
    /* The scanner notes a key and value once, for the first knob that has the key; others may share it. */
    for (size_t k = 0; k < pack->knob_count; k++) {
      if (wo_facts_alias(&pack->knobs[k], wo_event_text(event, WO_FIELD_KEY))) consider(facts, &facts->settings[k], event);
    }
  }
  return WO_OK;
}

const struct wo_setting *wo_facts_setting(const struct wo_facts *facts, struct wo_view knob) {
  for (size_t i = 0; i < facts->setting_count; i++) {
    if (wo_view_equal(facts->settings[i].knob->id, knob)) return facts->settings[i].event ? &facts->settings[i] : NULL;
  }
  return NULL;
}
