/* Writes a setting the way the user wrote it: same key, same style, same way to say true. */
#include "analyzer/diagnosis/diagnose.h"

#include <math.h>

/* Whole numbers beyond this are written as powers of ten. */
#define WHOLE_MAX 1e15

/* Numbers and truth values stand in JSON, and in a printed dictionary, without quotes. */
static bool is_literal(const char *value) {
  static const char *const words[] = {"true", "false", "null", "none"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (wo_view_is_nocase(wo_view_of(value), words[i])) return true;
  }
  return wo_is_digit(value[0]) || value[0] == '-';
}

/* How a key and a value are put together, by the style that the reader of settings found (parsers/formats/settings/fmt_setting.c). */
static struct wo_view join(struct wo_arena *arena, struct wo_view style, struct wo_view key, const char *value) {
  const int len = (int)key.len;
  if (wo_view_is(style, "json")) {
    return wo_arena_format(arena, is_literal(value) ? "\"%.*s\": %s" : "\"%.*s\": \"%s\"", len, key.ptr, value);
  }
  if (wo_view_is(style, "flag")) return wo_arena_format(arena, "--%.*s %s", len, key.ptr, value);
  if (wo_view_is(style, "flag-equals")) return wo_arena_format(arena, "--%.*s=%s", len, key.ptr, value);
  if (wo_view_is(style, "export")) return wo_arena_format(arena, "export %.*s=%s", len, key.ptr, value);
  if (wo_view_is(style, "colon")) return wo_arena_format(arena, "%.*s: %s", len, key.ptr, value);
  return wo_arena_format(arena, "%.*s=%s", len, key.ptr, value);
}

/* Megatron prints names with underscores and takes flags with dashes. */
static struct wo_view as_flag(struct wo_arena *arena, struct wo_view key) {
  struct wo_view copy = wo_arena_copy(arena, key);
  char *text = wo_arena_array(arena, key.len + 1, 1);
  if (!text) return copy;
  for (size_t i = 0; i < key.len; i++) text[i] = key.ptr[i] == '_' ? '-' : key.ptr[i];
  return (struct wo_view){text, key.len};
}

/* Python's True, C's 1 and YAML's true are each refused by some reader of the others; the sample is what the user wrote. */
static const char *bool_text(struct wo_view sample, bool value) {
  if (sample.len > 0 && wo_is_digit(sample.ptr[0])) return value ? "1" : "0";
  if (sample.len > 0 && (sample.ptr[0] == 'T' || sample.ptr[0] == 'F')) return value ? "True" : "False";
  return value ? "true" : "false";
}

/* Whether a printed value is a canonical name itself: who writes those gets one back. */
static bool is_canonical(struct wo_view map, struct wo_view sample) {
  while (map.len > 0) {
    struct wo_view to = wo_view_cut(&map, ',');
    const struct wo_view from = wo_view_cut(&to, '=');
    if (wo_view_equal(from, sample) && wo_view_equal(to, sample)) return true;
  }
  return false;
}

/* The canonical text behind a knob's printed form: the first printed value that maps to it, else itself. */
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

/* Whole numbers are written without exponent or point, since argparse's type=int takes no "4e3" and no "4.0". */
static void value_text(struct wo_value value, const struct wo_alias *alias, struct wo_view sample, char *buf, size_t cap) {
  if (value.unit == WO_UNIT_BOOL) {
    /* A key may say it in words of its own: `device: cpu`, or mean the opposite. */
    const bool is_mapped = alias && alias->value_map.len > 0;
    const struct wo_view word = value.truth == WO_TRUE ? WO_VIEW("true") : WO_VIEW("false");
    const struct wo_view text =
        is_mapped ? printed_value(alias, word, sample) : wo_view_of(bool_text(sample, value.truth == WO_TRUE));
    snprintf(buf, cap, "%.*s", (int)text.len, text.ptr);
  } else if (value.unit == WO_UNIT_TEXT) {
    const struct wo_view text = printed_value(alias, value.text, sample);
    snprintf(buf, cap, "%.*s", (int)text.len, text.ptr);
  } else if (fabs(value.number.mid) < WHOLE_MAX && value.number.mid == (double)(int64_t)value.number.mid) {
    snprintf(buf, cap, "%lld", (long long)value.number.mid);
  } else {
    snprintf(buf, cap, "%.4g", value.number.mid);
  }
}

/* Environment variables are written in capitals. */
static bool is_environment(struct wo_view key) {
  for (size_t i = 0; i < key.len; i++) {
    if (wo_lower(key.ptr[i]) != key.ptr[i]) continue;
    if (wo_is_alpha(key.ptr[i])) return false;
  }
  return true;
}

/* A printout that nobody edits: Megatron's dotted list, and the Namespace that argparse makes of flags. Flags that are on or off
 * take a value in some programs and none in others, so those of a Namespace stay as they are printed. */
static bool is_list_of_flags(const struct wo_event *event, struct wo_view style) {
  const struct wo_view value = wo_event_text(event, WO_FIELD_VALUE);
  if (wo_view_is(style, "dots")) return true;
  return wo_view_ends(wo_event_text(event, WO_FIELD_PATH), "Namespace()") && !wo_view_is(value, "True") &&
         !wo_view_is(value, "False");
}

/* A setting that stands nowhere is spelled by the knob's plainest alias. The keys of printed flags become the
 * flags of the launch line. */
struct wo_view wo_spell_change(const struct wo_diagnosis *diagnosis, const struct wo_knob *knob, struct wo_value to) {
  char value[256];
  const struct wo_setting *setting = wo_facts_setting(diagnosis->facts, knob->id);
  if (!setting) {
    if (knob->alias_count == 0) return (struct wo_view){0};
    const struct wo_alias *const plainest = wo_facts_default_alias(diagnosis->facts, knob);
    const struct wo_view key = plainest->key;
    value_text(to, plainest, (struct wo_view){0}, value, sizeof value);
    return join(diagnosis->arena, is_environment(key) ? WO_VIEW("export") : WO_VIEW("equals"), key, value);
  }
  const struct wo_event *event = setting->edit ? setting->edit : setting->event;
  struct wo_view key = wo_event_text(event, WO_FIELD_KEY);
  struct wo_view style = wo_event_text(event, WO_FIELD_STYLE);
  const struct wo_alias *alias = wo_facts_event_alias(knob, event);
  value_text(to, alias, wo_event_text(event, WO_FIELD_VALUE), value, sizeof value);
  if (is_list_of_flags(event, style)) {
    if (wo_view_is(style, "dots")) key = as_flag(diagnosis->arena, key);
    style = WO_VIEW("flag");
  }
  return join(diagnosis->arena, style, key, value);
}

struct wo_view wo_spell_setting(struct wo_arena *arena, const struct wo_event *event) {
  const struct wo_view text = wo_event_text(event, WO_FIELD_VALUE);
  char value[1024];
  snprintf(value, sizeof value, "%.*s", (int)text.len, text.ptr);
  return join(arena, wo_event_text(event, WO_FIELD_STYLE), wo_event_text(event, WO_FIELD_KEY), value);
}
