/* SPDX-License-Identifier: Apache-2.0 */
/* One setting in one line: the styles in which a key and its value are printed, who set it, and the event that says so. */
#include <assert.h>

#include "parsers/formats/common/config_path.h"
#include "parsers/formats/settings/setting_internal.h"

/* The one key whose value can be a list, brackets included. */
#define LIST_KEY "roundup_power2_divisions"

/* How the value is attached; the fixes are written in the same style. */
struct style {
  const char *name;
  bool (*reads)(struct wo_view before, struct wo_view *after); /* advances *after to the value on success */
};

/* Dashes are part of names: flags are written --per-device-batch-size, the same key in Python with underscores. */
bool wo__setting_is_name(char c) {
  return wo_is_word(c) || c == '-';
}

/* One dash is enough after a blank, as some launchers print their arguments (-np 4); without the blank it is a minus. */
static bool ends_with_flag(struct wo_view before) {
  return wo_view_ends(before, "--") || (wo_view_ends(before, " -") && before.len > 1);
}

/* Also Python's printed dictionaries, with single quotes: {'zero_stage': 3}, and os.environ["KEY"] = "value". */
static bool reads_json(struct wo_view before, struct wo_view *after) {
  if (!(wo_view_ends(before, "\"") || wo_view_ends(before, "'")) || after->len == 0) return false;
  if (after->ptr[0] != '"' && after->ptr[0] != '\'') return false;
  struct wo_view rest = wo_view_skip(*after, 1);
  if (wo_view_starts(rest, "]")) rest = wo_view_skip(rest, 1);
  rest = wo_view_trim_start(rest);
  if (!wo_view_starts(rest, ":") && !wo_view_starts(rest, "=")) return false;
  if (wo_view_starts(rest, "==")) return false;
  *after = wo_view_trim_start(wo_view_skip(rest, 1));
  return true;
}

static bool reads_flag_equals(struct wo_view before, struct wo_view *after) {
  if (!ends_with_flag(before) || !wo_view_starts(*after, "=")) return false;
  *after = wo_view_skip(*after, 1);
  return true;
}

/* "--key value". A flag at the end of its line says nothing here: its value may be on the next one after a backslash. */
static bool reads_flag(struct wo_view before, struct wo_view *after) {
  if (!ends_with_flag(before) || after->len == 0 || !wo_is_space(after->ptr[0])) return false;
  *after = wo_view_trim_start(*after);
  return after->len > 0;
}

static bool reads_export(struct wo_view before, struct wo_view *after) {
  const struct wo_view lead = wo_view_trim(before);
  if (!wo_view_ends(lead, "export") || !wo_view_starts(*after, "=")) return false;
  *after = wo_view_skip(*after, 1);
  return true;
}

/* Blanks around the sign are those of INI files, TOML and printed dataclasses. Two signs compare and set nothing. */
static bool reads_equals(struct wo_view before, struct wo_view *after) {
  (void)before;
  const struct wo_view rest = wo_view_trim_start(*after);
  if (!wo_view_starts(rest, "=") || wo_view_starts(rest, "==")) return false;
  *after = wo_view_trim_start(wo_view_skip(rest, 1));
  return true;
}

/* "a::b" is a name of C++ or of a pytest case, no key. */
static bool reads_colon(struct wo_view before, struct wo_view *after) {
  (void)before;
  const struct wo_view rest = wo_view_trim_start(*after);
  if (!wo_view_starts(rest, ":") || wo_view_starts(rest, "::")) return false;
  *after = wo_view_trim_start(wo_view_skip(rest, 1));
  return true;
}

/* Megatron's list of arguments: "  micro_batch_size ................................ 4". DeepSpeed's list fills up to a narrow
 * column, so that after a long key few dots are left, or none. */
static bool reads_dots(struct wo_view before, struct wo_view *after) {
  struct wo_view rest = wo_view_trim_start(*after);
  const bool is_deepspeed = wo_view_ends(before, ":print]   ") && rest.len < after->len;
  if (!wo_view_starts(rest, "...") && !is_deepspeed) return false;
  while (wo_view_starts(rest, ".")) rest = wo_view_skip(rest, 1);
  *after = wo_view_trim_start(rest);
  return true;
}

/* In order: the first that reads wins. */
static const struct style styles[] = {
    {"json", reads_json},     {"flag-equals", reads_flag_equals}, {"flag", reads_flag},
    {"export", reads_export}, {"equals", reads_equals},           {"dots", reads_dots},
    {"colon", reads_colon},
};

/* Finds `key` as the whole last part of a name, at or after *from. */
bool wo__setting_find_place(struct wo_view line, struct wo_view key, size_t *from, struct wo_setting_place *ret_place) {
  for (size_t at = wo_view_find(line, key, *from); at != WO_NOT_FOUND; at = wo_view_find(line, key, at + 1)) {
    const size_t end = at + key.len;
    const bool is_open_after =
        end < line.len && (wo__setting_is_name(line.ptr[end]) ||
                           (line.ptr[end] == '.' && end + 1 < line.len && wo__setting_is_name(line.ptr[end + 1])));
    const bool is_inside = at > 0 && wo_is_word(line.ptr[at - 1]);
    if (is_open_after || is_inside) continue;
    size_t start = at;
    while (start > 0 && (wo__setting_is_name(line.ptr[start - 1]) || line.ptr[start - 1] == '.')) start--;
    while (start < at && (line.ptr[start] == '-' || line.ptr[start] == '.')) start++;
    /* A name that runs into the key with '-' is another word: `x-batch_size`; after leading dashes it is a flag. */
    if (start < at && line.ptr[at - 1] == '-') continue;
    ret_place->name = wo_view_sub(line, start, end);
    ret_place->before = wo_view_sub(line, 0, start);
    ret_place->after = wo_view_skip(line, end);
    *from = end;
    return true;
  }
  return false;
}

/* Where a bare value ends, from `at` on. LIST_KEY's list is part of a longer value. */
static size_t find_value_end(struct wo_view text, size_t at) {
  while (at < text.len && !wo_is_space(text.ptr[at]) && !strchr(",;)}]\"'", text.ptr[at])) {
    const bool is_list = text.ptr[at] == '[' && at > 0 && text.ptr[at - 1] == ':';
    const size_t close = is_list ? wo_view_find_char(text, ']', at) : WO_NOT_FOUND;
    at = close == WO_NOT_FOUND ? at + 1 : close + 1;
  }
  return at;
}

/* Whether the comma at `at` belongs to the value: `alloc_conf` values hold key:value,key:value, lists of cards 0,1 or names. */
static bool is_inner_comma(struct wo_view text, size_t at, struct wo_view name) {
  if (at + 1 >= text.len || text.ptr[at] != ',') return false;
  if (wo_view_ends(name, "_VISIBLE_DEVICES")) return wo_is_alnum(text.ptr[at + 1]);
  return wo_is_alpha(text.ptr[at + 1]) && wo_view_find_char(wo_view_sub(text, 0, at), ':', 0) != WO_NOT_FOUND;
}

/* The value at the start of text: a quoted string, or up to a separator. It is the content of the brackets for a list of cards,
 * "[0,1]", and the first option, which names the strategy, for FSDP's "[full_shard, auto_wrap]". */
static struct wo_view read_value(struct wo_view text, struct wo_view name) {
  if (wo_view_starts(text, "[") && wo_view_ends(name, "_VISIBLE_DEVICES")) text = wo_view_skip(text, 1);
  if (wo_view_starts(text, "[") && wo_view_is(name, "fsdp")) return read_value(wo_view_trim_start(wo_view_skip(text, 1)), name);
  if (wo_view_starts(text, "[") && wo_view_ends(name, LIST_KEY)) return wo_view_sub(text, 0, wo_view_find_char(text, ']', 0) + 1);
  if (text.len > 0 && (text.ptr[0] == '"' || text.ptr[0] == '\'')) {
    const size_t end = wo_view_find_char(text, text.ptr[0], 1);
    return end == WO_NOT_FOUND ? wo_view_skip(text, 1) : wo_view_sub(text, 1, end);
  }
  size_t at = find_value_end(text, 0);
  while (is_inner_comma(text, at, name)) at = find_value_end(text, at + 1);
  return wo_view_sub(text, 0, at);
}

/* Placeholders of help texts and templates are no values. */
static bool is_value(struct wo_view value, struct wo_view key) {
  if (wo_view_starts(value, "[") && wo_view_ends(key, LIST_KEY)) return true;
  if (value.len == 0 || value.len > 200 || strchr("{[<$%(-", value.ptr[0])) {
    return value.len > 1 && value.ptr[0] == '-' && wo_is_digit(value.ptr[1]);
  }
  return value.len != key.len || !wo_view_has_view_nocase(value, key);
}

/* The text before the key decides the style as much as the text after it: `--key=value` must not be taken for `key=value`, as the
 * fix is written in the style of the setting. */
static bool read_setting(const struct wo_setting_place *place, struct wo_view *ret_value, const char **ret_style) {
  for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
    struct wo_view after = place->after;
    if (!styles[i].reads(place->before, &after)) continue;
    *ret_value = read_value(after, place->name);
    /* The end of code within a sentence: "You passed `packing=True` to". */
    if (wo_view_ends(*ret_value, "`") && wo_view_find_char(place->before, '`', 0) != WO_NOT_FOUND) ret_value->len--;
    *ret_style = styles[i].name;
    return true;
  }
  return false;
}

/* A line that says nothing but this setting, as one of many: only blanks, or the mark of a list, come before the key. */
static bool is_first_on_line(const struct wo_line *line, const struct wo_setting_place *place) {
  struct wo_view lead = wo_view_skip(place->before, line->full.len - line->text.len);
  if (place->before.len < line->full.len - line->text.len) return false;
  lead = wo_view_trim(lead);
  return lead.len == 0 || wo_view_is(lead, "-") || wo_view_is(lead, "\"") || wo_view_is(lead, "'");
}

/* "key=value,": a field of a class that prints itself over several lines. */
static bool is_field_of_repr(const struct wo_line *line, const struct wo_setting_place *place, const char *style) {
  return strcmp(style, "equals") == 0 && is_first_on_line(line, place) && wo_view_ends(wo_view_trim(line->text), ",");
}

/* Given to the program when it was started: flags, and the overrides of Hydra, "a.b=c" without blanks. */
static bool is_command(const struct wo_line *line, const struct wo_setting_place *place, const char *style) {
  if (strcmp(style, "flag") == 0 || strcmp(style, "flag-equals") == 0) return true;
  if (strcmp(style, "equals") != 0 || !wo_view_starts(place->after, "=")) return false;
  return wo_view_find_char(place->name, '.', 0) != WO_NOT_FOUND || wo_view_ends(wo_view_trim(line->text), "\\") ||
         wo_view_has(place->before, "overrides: ");
}

/* The structure to look for around the setting. */
static enum wo_config_shape find_shape(const struct wo_line *line, const struct wo_setting_place *place, const char *style) {
  const bool is_first = is_first_on_line(line, place);
  if (is_command(line, place, style) || strcmp(style, "export") == 0) return WO_CONFIG_NONE;
  if (strcmp(style, "json") == 0 || is_field_of_repr(line, place, style)) return WO_CONFIG_BRACE;
  if (is_first && strcmp(style, "colon") == 0) return WO_CONFIG_YAML;
  return is_first && line->prefix.length == 0 && strcmp(style, "equals") == 0 ? WO_CONFIG_INI : WO_CONFIG_LINE;
}

/* Capitals, as the names of the environment are written. */
static bool is_environment_name(struct wo_view name) {
  bool has_letter = false;
  for (size_t i = 0; i < name.len; i++) {
    if (wo_lower(name.ptr[i]) != name.ptr[i])
      has_letter = true;
    else if (wo_is_alpha(name.ptr[i]) || name.ptr[i] == '.')
      return false;
  }
  return has_letter && wo_view_find_char(name, '_', 0) != WO_NOT_FOUND;
}

/* Printed by the program once it had read everything: lists of arguments, objects that print themselves, announcements of
 * engines. */
static bool is_effective(const struct wo_line *line, const struct wo_setting_place *place, const char *style,
                         struct wo_view path) {
  static const char *const leads[] = {"with config: ", "args: {", "args: Namespace", "rguments: {", "rguments {"};
  if (strcmp(style, "dots") == 0 || is_field_of_repr(line, place, style)) return true;
  if (wo_view_find_char(place->name, ' ', 0) != WO_NOT_FOUND) return true; /* "Gradient Accumulation steps = 4" */
  const struct wo_view call = wo_view_sub(path, 0, wo_view_find(path, WO_VIEW("()"), 0));
  if (call.len < path.len && wo_lower(call.ptr[0]) != call.ptr[0]) return true;
  return WO_VIEW_ANY(place->before, wo_view_has, leads);
}

/* Who set it, as far as the line shows: settings of a file and echoes of a program look alike. */
static const char *find_origin(const struct wo_line *line, const struct wo_setting_place *place, const char *style,
                               struct wo_view path) {
  if (is_effective(line, place, style, path)) return "effective";
  if (is_command(line, place, style)) return "command";
  if (strcmp(style, "export") == 0) return "environment";
  return strcmp(style, "equals") == 0 && is_environment_name(place->name) ? "environment" : "";
}

/* False when the store is full. A key with the value that it had is dropped: echoes of a configuration come once for each rank
 * and would fill the store. */
static bool add_setting(const struct wo_open *open, const struct wo_setting_place *place, struct wo_view value,
                        const char *style) {
  char buf[WO_LIMIT_PATH_BYTES];
  const size_t start = place->before.len;
  const struct wo_view path = wo_config_path(open, start, find_shape(open->line, place, style), buf, sizeof buf);
  if (!wo_scan_is_setting_change(open->scan, path, place->name, value, open->line->offset + start)) return true;
  const size_t end = (size_t)(value.ptr + value.len - open->line->full.ptr);
  struct wo_event *event = wo_open_add(open, WO_KIND_CONFIG, wo_view_sub(open->line->full, start, end));
  if (!event) return false;
  event->is_quoted = false; /* a `set -x` echo of a launch line is a setting all the same */
  const struct wo_view origin = wo_view_of(find_origin(open->line, place, style, path));
  return wo_event_set_text(open->store, event, WO_FIELD_KNOB, open->pattern->argument) &&
         wo_event_set_text(open->store, event, WO_FIELD_KEY, place->name) &&
         wo_event_set_text(open->store, event, WO_FIELD_VALUE, value) &&
         wo_event_set_text(open->store, event, WO_FIELD_STYLE, wo_view_of(style)) &&
         (path.len == 0 || wo_event_set_text(open->store, event, WO_FIELD_PATH, path)) &&
         (origin.len == 0 || wo_event_set_text(open->store, event, WO_FIELD_ORIGIN, origin));
}

bool wo__setting_take(const struct wo_open *open, const struct wo_setting_place *place) {
  struct wo_view value;
  const char *style = NULL;
  if (!read_setting(place, &value, &style) || !is_value(value, place->name) || wo__setting_is_advice(place, value)) return true;
  return add_setting(open, place, value, style);
}

struct wo_view wo__setting_key(const struct wo_pattern *pattern) {
  struct wo_view key = pattern->id;
  wo_view_cut(&key, ':');
  wo_view_cut(&key, ':');
  return key;
}
