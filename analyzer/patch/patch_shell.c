/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of a script that stand for a setting's value. See patch_internal.h. */
#include "analyzer/patch/patch_internal.h"

#include "parsers/base/number.h"

/* Flags are written with dashes, the same names in printouts with underscores. */
static bool is_key_at(struct wo_view line, size_t at, struct wo_view key) {
  if (line.len - at < key.len) return false;
  for (size_t i = 0; i < key.len; i++) {
    const char a = line.ptr[at + i] == '-' ? '_' : line.ptr[at + i], b = key.ptr[i] == '-' ? '_' : key.ptr[i];
    if (a != b) return false;
  }
  return at == 0 || !wo_is_word(line.ptr[at - 1]);
}

/* The name in `$NAME`, `"$NAME"` or `${NAME}` at the start of text; empty for anything else, also for defaults (`${NAME:-8}`),
 * which another line or the caller's environment may override. */
static struct wo_view read_name(struct wo_view text) {
  if (wo_view_starts(text, "\"")) text = wo_view_skip(text, 1);
  if (!wo_view_starts(text, "$")) return (struct wo_view){0};
  text = wo_view_skip(text, 1);
  const bool is_braced = wo_view_starts(text, "{");
  if (is_braced) text = wo_view_skip(text, 1);
  size_t len = 0;
  while (len < text.len && wo_is_word(text.ptr[len])) len++;
  if (is_braced && (len == text.len || text.ptr[len] != '}')) return (struct wo_view){0};
  return wo_view_sub(text, 0, len);
}

/* The variable that a line gives to the key. */
static struct wo_view find_use(struct wo_view line, struct wo_view key) {
  for (size_t at = 0; at + key.len < line.len; at++) {
    if (!is_key_at(line, at, key)) continue;
    const char end = line.ptr[at + key.len];
    if (end != ' ' && end != '=' && end != '\t') continue;
    const struct wo_view name = read_name(wo_view_trim_start(wo_view_skip(line, at + key.len + 1)));
    if (name.len > 0) return name;
  }
  return (struct wo_view){0};
}

/* Whether the line assigns the variable; *ret_is_value: whether it assigns `value`, as plain text. */
static bool is_assignment(struct wo_view line, struct wo_view name, struct wo_view value, bool *ret_is_value) {
  static const char *const leads[] = {"export ", "readonly ", "declare ", "local "};
  struct wo_view text = wo_view_trim(line);
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
    if (wo_view_starts(text, leads[i])) text = wo_view_trim_start(wo_view_skip(text, strlen(leads[i])));
  }
  if (text.len <= name.len || !wo_view_equal(wo_view_sub(text, 0, name.len), name) || text.ptr[name.len] != '=') return false;
  text = wo_view_skip(text, name.len + 1);
  if (text.len > 0 && (text.ptr[0] == '"' || text.ptr[0] == '\'')) text = wo_view_skip(text, 1);
  const bool is_same = text.len >= value.len && wo_view_equal(wo_view_sub(text, 0, value.len), value);
  *ret_is_value = is_same && (text.len == value.len || strchr(" \t\"';#", text.ptr[value.len]) != NULL);
  return true;
}

/* The line that gives the variable its value; 0 unless it is the only assignment. */
static uint64_t find_assignment(struct wo_view content, struct wo_view name, struct wo_view value) {
  uint64_t found = 0;
  for (uint64_t number = 1; content.len > 0; number++) {
    bool is_value = false;
    if (!is_assignment(wo__patch_take_line(&content), name, value, &is_value)) continue;
    if (found > 0 || !is_value) return 0;
    found = number;
  }
  return found;
}

bool wo__patch_find_variable(struct wo_view content, struct wo_view key, struct wo_view value, struct wo_patch_edit *edit) {
  if (key.len == 0 || value.len == 0) return false;
  for (struct wo_view rest = content; rest.len > 0;) {
    const struct wo_view line = wo__patch_take_line(&rest);
    const struct wo_view name =
        wo_view_starts(wo_view_trim_start(line), "#") ? (struct wo_view){0} : find_use(wo_view_trim(line), key);
    const uint64_t number = name.len > 0 ? find_assignment(content, name, value) : 0;
    if (number == 0) continue;
    edit->line = number;
    edit->byte = WO_PATCH_ANYWHERE;
    edit->key = name;
    return true;
  }
  return false;
}
