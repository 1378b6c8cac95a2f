/* SPDX-License-Identifier: Apache-2.0 */
#include "parsers/formats/common/config_path.h"

#include <assert.h>

/* Nesting deeper than this is no configuration. */
#define LEVELS_MAX 12

/* A path that grows to the left. */
struct path {
  char *buf;
  size_t cap;
  size_t start; /* of the text in buf */
  size_t levels;
  bool is_full;  /* a name did not fit */
  int depth;     /* closing braces passed that wait for their opening one */
  size_t indent; /* YAML: parents are indented less than this */
};

static bool is_name(char c) {
  return wo_is_word(c) || c == '-' || c == '.' || c == '/';
}

size_t wo_config_indent(struct wo_view text) {
  size_t at = 0;
  while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t')) at++;
  return at;
}

/* False when the path is full. */
static bool add_name(struct path *path, struct wo_view name, const char *mark) {
  const size_t mark_len = strlen(mark);
  const bool is_first = path->start == path->cap;
  const size_t need = name.len + mark_len + (is_first ? 0 : 1);
  if (name.len == 0) return false;
  path->is_full = need > path->start || path->levels == LEVELS_MAX;
  if (path->is_full) return false;
  path->start -= need;
  memcpy(path->buf + path->start, name.ptr, name.len);
  memcpy(path->buf + path->start + name.len, mark, mark_len);
  if (!is_first) path->buf[path->start + need - 1] = '.';
  path->levels++;
  return true;
}

/* The name at the end of a text, quoted or bare; empty without one. */
static struct wo_view last_name(struct wo_view text) {
  const size_t end = text.len;
  if (end > 0 && (text.ptr[end - 1] == '"' || text.ptr[end - 1] == '\'')) {
    size_t from = end - 1;
    while (from > 0 && text.ptr[from - 1] != text.ptr[end - 1]) from--;
    return wo_view_sub(text, from, end - 1);
  }
  size_t from = end;
  while (from > 0 && is_name(text.ptr[from - 1])) from--;
  return wo_view_sub(text, from, end);
}

/* Whether a key can follow `before`: at the start of a line or of an entry. Elsewhere a word with a colon is text. */
static bool is_key_place(struct wo_view before) {
  const struct wo_view lead = wo_view_trim(before);
  return lead.len == 0 || strchr("{[(,-\"'", lead.ptr[lead.len - 1]) != NULL;
}

/* Takes the structure that the brace after `before` opens. False when it is the outermost one: a call, or a brace that nothing
 * names at the start of a line. */
static bool take_opener(struct path *path, struct wo_view before, char brace) {
  if (brace == '(') {
    add_name(path, last_name(before), "()");
    return false;
  }
  struct wo_view lead = wo_view_trim(before);
  if (lead.len == 0) return before.len > 0;
  const char sign = lead.ptr[lead.len - 1];
  if (sign != ':' && sign != '=') return strchr("{[(,", sign) != NULL;
  lead = wo_view_trim(wo_view_sub(lead, 0, lead.len - 1));
  const struct wo_view name = last_name(lead);
  if (!is_key_place(wo_view_sub(lead, 0, (size_t)(name.ptr - lead.ptr)))) return false;
  return add_name(path, name, "");
}

/* Follows the braces of a text from its end to its start. False when the outermost structure was met. */
static bool follow_braces(void *context, struct wo_view text) {
  struct path *const path = context;
  for (size_t at = text.len; at-- > 0;) {
    const char c = text.ptr[at];
    if (c == '"' || c == '\'') {
      size_t from = at;
      while (from > 0 && text.ptr[from - 1] != c) from--;
      if (from > 0) at = from - 1;
    } else if (c == '}' || c == ']' || c == ')') {
      path->depth++;
    } else if (c == '{' || c == '[' || c == '(') {
      if (path->depth > 0) {
        path->depth--;
      } else if (!take_opener(path, wo_view_sub(text, 0, at), c)) {
        return false;
      }
    }
  }
  return true;
}

/* "key:" with nothing after it but an anchor, a tag or a remark: what opens a mapping. */
static struct wo_view yaml_parent(struct wo_view content) {
  const size_t colon = wo_view_find_char(content, ':', 0);
  if (colon == WO_NOT_FOUND) return (struct wo_view){0};
  const struct wo_view rest = wo_view_trim(wo_view_skip(content, colon + 1));
  if (rest.len > 0 && !strchr("&!#", rest.ptr[0])) return (struct wo_view){0};
  struct wo_view name = wo_view_trim(wo_view_sub(content, 0, colon));
  if (name.len > 2 && (name.ptr[0] == '"' || name.ptr[0] == '\'')) name = wo_view_sub(name, 1, name.len - 1);
  for (size_t i = 0; i < name.len; i++) {
    if (!is_name(name.ptr[i])) return (struct wo_view){0};
  }
  return name;
}

/* Items of a list are between a key and its parent; the list itself has no name. */
static bool visit_yaml(void *context, struct wo_view text) {
  struct path *path = context;
  const size_t indent = wo_config_indent(text);
  const struct wo_view content = wo_view_trim(text);
  if (wo_view_starts(content, "#")) return true;
  if (wo_view_starts(content, "- ")) {
    if (indent < path->indent) path->indent = indent + 1;
    return path->indent > 0;
  }
  if (indent >= path->indent) return true;
  if (!add_name(path, yaml_parent(content), "")) return false;
  path->indent = indent;
  return indent > 0;
}

/* "[trainer.optim]", also TOML's "[[...]]", also with a remark after it. */
static struct wo_view section_name(struct wo_view content) {
  const size_t remark = wo_view_find_char(content, '#', 0);
  content = wo_view_trim(remark == WO_NOT_FOUND ? content : wo_view_sub(content, 0, remark));
  while (wo_view_starts(content, "[") && wo_view_ends(content, "]")) content = wo_view_sub(content, 1, content.len - 1);
  for (size_t i = 0; i < content.len; i++) {
    if (!is_name(content.ptr[i])) return (struct wo_view){0};
  }
  return content;
}

/* Between the key and its section's header there may be only keys, remarks and the lines of a list. */
static bool visit_ini(void *context, struct wo_view text) {
  const struct wo_view content = wo_view_trim(text);
  if (wo_view_starts(content, "#") || wo_view_starts(content, ";")) return true;
  if (wo_view_starts(content, "[")) {
    add_name(context, section_name(content), "");
    return false;
  }
  return wo_view_find_char(content, '=', 0) != WO_NOT_FOUND || wo_view_ends(content, ",");
}

/* The key's own line: braces before it, and how far it is indented. */
static bool follow_own_line(struct path *path, struct wo_view before, enum wo_config_shape shape) {
  if (shape == WO_CONFIG_YAML) {
    path->indent = before.len;
    return before.len > 0;
  }
  return follow_braces(path, before);
}

struct wo_view wo_config_path(const struct wo_open *open, size_t start, enum wo_config_shape shape, char *buf, size_t cap) {
  assert(open->scan && open->line && buf && start <= open->line->full.len);
  struct path path = {.buf = buf, .cap = cap, .start = cap};
  const size_t text_start = open->line->full.len - open->line->text.len;
  struct wo_view before = wo_view_sub(open->line->full, text_start < start ? text_start : start, start);
  if (before.len > 0 && strchr("\"'", before.ptr[before.len - 1])) before = wo_view_sub(before, 0, before.len - 1);
  const bool wants_look = shape != WO_CONFIG_NONE;
  const bool may_look = wants_look && wo_scan_may_look_back(open->scan, before.len);
  if (may_look && follow_own_line(&path, before, shape)) {
    if (shape == WO_CONFIG_BRACE) wo_open_each_line_before(open, follow_braces, &path);
    if (shape == WO_CONFIG_YAML) wo_open_each_line_before(open, visit_yaml, &path);
    if (shape == WO_CONFIG_INI) wo_open_each_line_before(open, visit_ini, &path);
  }
  if (path.is_full || wants_look != may_look) wo_scan_note_cap(open->scan, WO_CAP_PATH, 1);
  return (struct wo_view){buf + path.start, cap - path.start};
}
