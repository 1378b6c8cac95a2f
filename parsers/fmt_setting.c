/* Settings: a key that some knob knows, and its value, in any of the styles that launchers and frameworks print.
 *
 *   a.b.key=value    key: value    "key": value    --key value    --key=value    key ........ value    export KEY=value
 * KEY=value,
 *
 * The pattern (one per alias of a knob, made by the rule loader) says that the key's text stands somewhere in the line. This
 * reader decides whether it really is a setting there: the key must be the whole last part of a dotted name, and a value must
 * follow. */
#include <assert.h>

#include "parsers/format.h"

/* How the value is attached; the fixes are written in the same style. */
struct style {
  const char *name;
  bool (*reads)(struct wo_view before, struct wo_view *after); /* advances *after to the value on success */
};

/* A key found in a line. */
struct place {
  struct wo_view name;   /* with its dotted part: a.b.key */
  struct wo_view before; /* the line up to it */
  struct wo_view after;  /* the line behind it */
};

/* Dashes are part of names: flags are written --per-device-batch-size, the same key in Python with underscores. */
static bool is_name_char(char c) {
  return wo_is_word(c) || c == '-';
}

/* One dash is enough behind a blank, as some launchers print their arguments (-np 4); without the blank it is a minus. */
static bool ends_with_flag(struct wo_view before) {
  return wo_view_ends(before, "--") || (wo_view_ends(before, " -") && before.len > 1);
}

/* Also Python's printed dictionaries, with single quotes: {'zero_stage': 3}. */
static bool reads_json(struct wo_view before, struct wo_view *after) {
  if (!(wo_view_ends(before, "\"") || wo_view_ends(before, "'")) || after->len == 0) return false;
  if (after->ptr[0] != '"' && after->ptr[0] != '\'') return false;
  const struct wo_view rest = wo_view_trim_start(wo_view_skip(*after, 1));
  if (!wo_view_starts(rest, ":") && !wo_view_starts(rest, "=")) return false;
  *after = wo_view_trim_start(wo_view_skip(rest, 1));
  return true;
}

static bool reads_flag_equals(struct wo_view before, struct wo_view *after) {
  if (!ends_with_flag(before) || !wo_view_starts(*after, "=")) return false;
  *after = wo_view_skip(*after, 1);
  return true;
}

/* "--key value". A flag at the end of its line says nothing here: its value may stand on the next one behind a backslash. */
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

/* Megatron's list of arguments: "  micro_batch_size ................................ 4". */
static bool reads_dots(struct wo_view before, struct wo_view *after) {
  (void)before;
  struct wo_view rest = wo_view_trim_start(*after);
  if (!wo_view_starts(rest, "...")) return false;
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
static bool find_place(struct wo_view line, struct wo_view key, size_t *from, struct place *ret_place) {
  for (size_t at = wo_view_find(line, key, *from); at != WO_NOT_FOUND; at = wo_view_find(line, key, at + 1)) {
    const size_t end = at + key.len;
    const bool is_open_after =
        end < line.len &&
        (is_name_char(line.ptr[end]) || (line.ptr[end] == '.' && end + 1 < line.len && is_name_char(line.ptr[end + 1])));
    const bool is_inside = at > 0 && wo_is_word(line.ptr[at - 1]);
    if (is_open_after || is_inside) continue;
    size_t start = at;
    while (start > 0 && (is_name_char(line.ptr[start - 1]) || line.ptr[start - 1] == '.')) start--;
    while (start < at && (line.ptr[start] == '-' || line.ptr[start] == '.')) start++;
    /* A name that runs into the key with '-' is another word: `x-batch_size`; behind leading dashes it is a flag. */
    if (start < at && line.ptr[at - 1] == '-') continue;
    ret_place->name = wo_view_sub(line, start, end);
    ret_place->before = wo_view_sub(line, 0, start);
    ret_place->after = wo_view_skip(line, end);
    *from = end;
    return true;
  }
  return false;
}

/* The value at the start of text: a quoted string, or up to a separator. */
static struct wo_view read_value(struct wo_view text) {
  if (text.len > 0 && (text.ptr[0] == '"' || text.ptr[0] == '\'')) {
    const size_t end = wo_view_find_char(text, text.ptr[0], 1);
    return end == WO_NOT_FOUND ? wo_view_skip(text, 1) : wo_view_sub(text, 1, end);
  }
  size_t at = 0;
  while (at < text.len && !wo_is_space(text.ptr[at]) && !strchr(",;)}]\"'", text.ptr[at])) at++;
  /* `alloc_conf` values hold commas: key:value,key:value */
  while (at + 1 < text.len && text.ptr[at] == ',' && wo_view_find_char(wo_view_sub(text, 0, at), ':', 0) != WO_NOT_FOUND &&
         wo_is_alpha(text.ptr[at + 1])) {
    at++;
    while (at < text.len && !wo_is_space(text.ptr[at]) && !strchr(",;)}]\"'", text.ptr[at])) at++;
  }
  return wo_view_sub(text, 0, at);
}

/* Placeholders of help texts and templates are no values. */
static bool is_value(struct wo_view value, struct wo_view key) {
  if (value.len == 0 || value.len > 200 || strchr("{[<$%(-", value.ptr[0])) {
    return value.len > 1 && value.ptr[0] == '-' && wo_is_digit(value.ptr[1]);
  }
  struct wo_view upper = value;
  if (upper.len != key.len) return true;
  for (size_t i = 0; i < key.len; i++) {
    if (wo_lower(upper.ptr[i]) != wo_lower(key.ptr[i])) return true;
  }
  return false;
}

/* The style is that of the text before the key as much as of what follows: `--key=value` must not be taken for `key=value`, as
 * the fix is written the way it was found. */
static bool read_setting(const struct place *place, struct wo_view *ret_value, const char **ret_style) {
  for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
    struct wo_view after = place->after;
    if (!styles[i].reads(place->before, &after)) continue;
    *ret_value = read_value(after);
    *ret_style = styles[i].name;
    return true;
  }
  return false;
}

/* Advice is no setting: "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation" stands in every
 * PyTorch message since 2.2, whatever is set. Wrapping may put either half on another line. */
static bool is_advice(const struct place *place, struct wo_view value) {
  static const char *const leads[] = {"try setting", "setting",  "try",      "set",      "use",
                                      "using",       "consider", "increase", "decrease", "reduce"};
  const struct wo_view before = wo_view_trim(place->before);
  const struct wo_view after = wo_view_skip(place->after, (size_t)(value.ptr + value.len - place->after.ptr));
  if (wo_view_starts(wo_view_trim_start(after), "to avoid") || wo_view_starts(wo_view_trim_start(after), "to reduce"))
    return true;
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
    const struct wo_view lead = wo_view_of(leads[i]);
    if (before.len < lead.len) continue;
    const struct wo_view end = wo_view_skip(before, before.len - lead.len);
    const bool is_word = before.len == lead.len || !wo_is_alnum(before.ptr[before.len - lead.len - 1]);
    if (is_word && wo_view_starts_nocase(end, leads[i])) return true;
  }
  return false;
}

/* False when the store is full. A key with the same value again is dropped: echoes of a configuration come once for each rank and
 * would fill the store. */
static bool add_setting(struct wo_scan *scan, const struct wo_line *line, const struct wo_pattern *pattern,
                        const struct place *place, struct wo_view value, const char *style) {
  if (!wo_scan_is_new_setting(scan, place->name, value)) return true;
  const size_t start = place->before.len;
  const size_t length = (size_t)(value.ptr + value.len - line->full.ptr) - start;
  struct wo_event_store *store = wo_scan_store(scan);
  struct wo_event *event = wo_scan_add_event(scan, line, pattern, WO_KIND_CONFIG, start, length);
  if (!event) return false;
  event->is_quoted = false; /* a `set -x` echo of a launch line is a setting all the same */
  return wo_event_set_text(store, event, WO_FIELD_KNOB, pattern->argument) &&
         wo_event_set_text(store, event, WO_FIELD_KEY, place->name) && wo_event_set_text(store, event, WO_FIELD_VALUE, value) &&
         wo_event_set_text(store, event, WO_FIELD_STYLE, wo_view_of(style));
}

/* A comment in a script or a YAML file sets nothing. `#SBATCH` is no comment. */
static bool is_comment(struct wo_view text) {
  const struct wo_view body = wo_view_trim_start(text);
  return wo_view_starts(body, "#") && !wo_view_starts(body, "#SBATCH");
}

/* The key that the pattern looks for. A short key is looked for by longer texts that hold it ("\"mbs\": "); then it is the end of
 * the pattern's id, "setting:<knob>:<key>". */
static struct wo_view find_key(const struct wo_pattern *pattern, const struct wo_match *match) {
  const struct wo_view found = wo_match_text(match);
  struct wo_view key = pattern->id;
  wo_view_cut(&key, ':');
  wo_view_cut(&key, ':');
  return key.len > 0 && wo_view_find(found, key, 0) != WO_NOT_FOUND ? key : found;
}

/* Settings are of one line, so nothing stays open. A key may stand in a line more than once (a.key=1 b.key=2), and each place is
 * looked at. */
static enum wo_more begin_setting(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                  struct wo_open *open) {
  const struct wo_view key = find_key(open->pattern, match);
  struct place place;
  size_t from = 0;
  if (is_comment(line->text)) return WO_MORE_NO;
  for (int found = 0; found < WO_LIMIT_MATCHES_PER_LINE && find_place(line->full, key, &from, &place); found++) {
    struct wo_view value;
    const char *style = NULL;
    if (place.before.len >= line->own_end) break;
    if (!read_setting(&place, &value, &style) || !is_value(value, key) || is_advice(&place, value)) continue;
    if (!add_setting(scan, line, open->pattern, &place, value, style)) break;
  }
  return WO_MORE_NO;
}

const struct wo_format wo__format_setting = {.name = "setting", .begin = begin_setting};
