/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a setting the way the user wrote it: same key, same style, same word for true. */
#include "analyzer/diagnosis/spell.h"

#include <math.h>

#include "analyzer/diagnosis/diagnose.h"
#include "parsers/base/output/shell_words.h"

/* Whole numbers beyond this are written as powers of ten. */
#define WHOLE_MAX 1e15

/* Longest value that is printed: no user writes longer ones. */
#define VALUE_BYTES 1023

/* The texts before the key, between key and value, and after the value. */
static const struct {
  const char *name; /* the name in the reader of settings (parsers/formats/settings/fmt_setting.c) */
  const char *before, *between, *behind;
} styles[] = {
    [WO_STYLE_EQUALS] = {"equals", "", "=", ""},
    [WO_STYLE_FLAG] = {"flag", "--", " ", ""},
    [WO_STYLE_FLAG_EQUALS] = {"flag-equals", "--", "=", ""},
    [WO_STYLE_EXPORT] = {"export", "export ", "=", ""},
    [WO_STYLE_COLON] = {"colon", "", ": ", ""},
    [WO_STYLE_JSON] = {"json", "\"", "\": \"", "\""},
    [WO_STYLE_SET] = {"set", "set ", "=", ""},
};

static enum wo_style style_of(const struct wo_event *event) {
  const struct wo_view name = wo_event_text(event, WO_FIELD_STYLE);
  for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
    if (wo_view_is(name, styles[i].name)) return (enum wo_style)i;
  }
  return WO_STYLE_EQUALS;
}

/* Numbers and truth values have no quotes in JSON and in printed dictionaries. */
static bool is_literal(struct wo_view value) {
  static const char *const words[] = {"true", "false", "null", "none"};
  if (WO_VIEW_ANY(value, wo_view_is_nocase, words)) return true;
  return value.len > 0 && (wo_is_digit(value.ptr[0]) || value.ptr[0] == '-');
}

/* Lines of these styles are pasted into shells: a value that a shell would take for more than a word is quoted. */
static bool is_shell_style(enum wo_style style) {
  return style != WO_STYLE_COLON && style != WO_STYLE_JSON && style != WO_STYLE_SET;
}

void wo_spelling_add(struct wo_text *out, const struct wo_spelling *spelling) {
  if (spelling->key.len == 0) return;
  const bool is_bare = spelling->style == WO_STYLE_JSON && is_literal(spelling->value);
  wo_text_add(out, "%s%.*s%s", styles[spelling->style].before, WO_SHOWN(spelling->key),
              is_bare ? "\": " : styles[spelling->style].between);
  if (is_shell_style(spelling->style) && spelling->value.len > 0)
    wo_shell_add_word(out, spelling->value);
  else
    wo_text_add_view(out, spelling->value);
  wo_text_add(out, "%s", is_bare ? "" : styles[spelling->style].behind);
}

/* Megatron prints names with underscores but reads flags with dashes. */
static struct wo_view as_flag(struct wo_arena *arena, struct wo_view key) {
  struct wo_view copy = wo_arena_copy(arena, key);
  char *text = wo_arena_array(arena, key.len + 1, 1);
  if (!text) return copy;
  for (size_t i = 0; i < key.len; i++) text[i] = key.ptr[i] == '_' ? '-' : key.ptr[i];
  return (struct wo_view){text, key.len};
}

/* Each of Python's True, C's 1 and YAML's true is refused by some reader; the sample is the present value by the user. */
static const char *bool_text(struct wo_view sample, bool value) {
  if (sample.len > 0 && wo_is_digit(sample.ptr[0])) return value ? "1" : "0";
  if (sample.len > 0 && (sample.ptr[0] == 'T' || sample.ptr[0] == 'F')) return value ? "True" : "False";
  return value ? "true" : "false";
}

/* Whether a printed value is a canonical name itself: then the new value is one too. */
static bool is_canonical(struct wo_view map, struct wo_view sample) {
  while (map.len > 0) {
    struct wo_view to = wo_view_cut(&map, ',');
    const struct wo_view from = wo_view_cut(&to, '=');
    if (wo_view_equal(from, sample) && wo_view_equal(to, sample)) return true;
  }
  return false;
}

/* The printed form of a canonical text: the first printed value that maps to it, else the text itself. */
static struct wo_view printed_value(const struct wo_alias *alias, struct wo_view canonical, struct wo_view sample) {
  struct wo_view map = alias ? alias->value_map : (struct wo_view){0};
  if (is_canonical(map, sample)) return canonical;
  while (map.len > 0) {
    struct wo_view to = wo_view_cut(&map, ',');
    const struct wo_view from = wo_view_cut(&to, '=');
    if (from.len == 0 || !wo_view_equal(to, canonical)) continue;
    if (wo_view_is_nocase(from, "true")) return wo_view_of(bool_text(sample, true));
    if (wo_view_is_nocase(from, "false")) return wo_view_of(bool_text(sample, false));
    return from;
  }
  return canonical;
}

/* Whole numbers are written without exponent or point, because argparse's type=int refuses "4e3" and "4.0". */
static struct wo_view value_text(struct wo_arena *arena, struct wo_value value, const struct wo_alias *alias,
                                 struct wo_view sample) {
  const double number = value.number.mid;
  if (value.unit == WO_UNIT_BOOL) {
    /* A key may have its own words, such as `device: cpu`, or mean the opposite. */
    const bool is_mapped = alias && alias->value_map.len > 0;
    const struct wo_view word = value.truth == WO_TRUE ? WO_VIEW("true") : WO_VIEW("false");
    return is_mapped ? printed_value(alias, word, sample) : wo_view_of(bool_text(sample, value.truth == WO_TRUE));
  }
  if (value.unit == WO_UNIT_TEXT) return printed_value(alias, value.text, sample);
  const bool is_whole = fabs(number) < WHOLE_MAX && number == (double)(int64_t)number;
  return is_whole ? wo_arena_format(arena, "%lld", (long long)number) : wo_arena_format(arena, "%.4g", number);
}

/* Environment variables are written in capitals. */
static bool is_environment(struct wo_view key) {
  for (size_t i = 0; i < key.len; i++) {
    if (wo_lower(key.ptr[i]) != key.ptr[i]) continue;
    if (wo_is_alpha(key.ptr[i])) return false;
  }
  return true;
}

/* Printed flags that nobody edits: Megatron's dotted list, and the Namespace that argparse makes of flags. Flags for on or off
 * take a value in some programs and none in others, so those of a Namespace stay as printed. */
static bool is_list_of_flags(const struct wo_event *event, bool has_dots) {
  const struct wo_view value = wo_event_text(event, WO_FIELD_VALUE);
  if (has_dots) return true;
  return wo_view_ends(wo_event_text(event, WO_FIELD_PATH), "Namespace()") && !wo_view_is(value, "True") &&
         !wo_view_is(value, "False");
}

/* How a setting that no input has is written: variables of the environment as the system sets them, options of an engine that the
 * log names as flags of its command, all others plainly. */
static struct wo_spelling spell_unset(const struct wo_diagnosis *diagnosis, const struct wo_knob *knob, struct wo_value to) {
  const struct wo_facts *const facts = diagnosis->facts;
  const struct wo_alias *const alias = wo_facts_default_alias(facts, knob);
  struct wo_spelling spelling = {.style = WO_STYLE_EQUALS, .key = alias->key};
  spelling.value = value_text(diagnosis->arena, to, alias, (struct wo_view){0});
  if (is_environment(alias->key)) {
    spelling.style = wo_view_is(facts->program.platform.text, "windows") ? WO_STYLE_SET : WO_STYLE_EXPORT;
  } else if (facts->program.kind == WO_PROGRAM_INFERENCE_SERVER && alias->framework.len > 0 &&
             wo_view_equal(alias->framework, facts->program.name.text)) {
    spelling.style = WO_STYLE_FLAG;
    spelling.key = as_flag(diagnosis->arena, alias->key);
  }
  return spelling;
}

/* A setting that no input has is spelled with the knob's default alias. The keys of printed flags become flags of the launch
 * line. */
struct wo_spelling wo_spell_change(const struct wo_diagnosis *diagnosis, const struct wo_knob *knob, struct wo_value to) {
  struct wo_arena *const arena = diagnosis->arena;
  const struct wo_setting *setting = wo_facts_setting(diagnosis->facts, knob->id);
  if (!setting) {
    return knob->alias_count > 0 ? spell_unset(diagnosis, knob, to) : (struct wo_spelling){0};
  }
  const struct wo_event *event = setting->edit ? setting->edit : setting->event;
  struct wo_spelling spelling = {.style = style_of(event), .key = wo_event_text(event, WO_FIELD_KEY)};
  const bool has_dots = wo_view_is(wo_event_text(event, WO_FIELD_STYLE), "dots");
  spelling.value = value_text(arena, to, wo_facts_event_alias(knob, event), wo_event_text(event, WO_FIELD_VALUE));
  if (is_list_of_flags(event, has_dots)) spelling.style = WO_STYLE_FLAG;
  if (has_dots) spelling.key = as_flag(arena, spelling.key);
  return spelling;
}

struct wo_spelling wo_spell_setting(const struct wo_event *event) {
  return (struct wo_spelling){.style = style_of(event),
                              .key = wo_event_text(event, WO_FIELD_KEY),
                              .value = wo_view_sub(wo_event_text(event, WO_FIELD_VALUE), 0, VALUE_BYTES)};
}
