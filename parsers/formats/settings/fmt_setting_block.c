/* SPDX-License-Identifier: Apache-2.0 */
/* Settings whose key is too short to be looked for: `stage` under `zero_optimization`, `r` in `LoraConfig(...)`.
 *
 * The pattern finds the parent's name; this reader goes through what the parent holds, in braces, in the parentheses of a call,
 * or indented below it, or in the section of that name, up to its end. Only the parent's own keys are read, not those of
 * structures inside it. */
#include <assert.h>

#include "parsers/formats/common/config_path.h"
#include "parsers/formats/settings/setting_internal.h"

#define NO_INDENT (-1)

static struct wo_view child_of(const struct wo_pattern *pattern) {
  const struct wo_view key = wo__setting_key(pattern);
  return wo_view_skip(key, wo_view_find_last(key, WO_VIEW("."), key.len) + 1);
}

/* The end of the quoted text that starts at `at`, or `at` when it is not closed: an apostrophe. */
static size_t skip_quoted(struct wo_view text, size_t at) {
  const size_t end = wo_view_find_char(text, text.ptr[at], at + 1);
  return end == WO_NOT_FOUND ? at : end;
}

static bool take_child(const struct wo_open *open, size_t start, size_t end) {
  if (start >= open->line->own_end || !wo_view_equal(wo_view_sub(open->line->full, start, end), child_of(open->pattern)))
    return true;
  const struct wo_setting_place place = {.name = wo_view_sub(open->line->full, start, end),
                                         .before = wo_view_sub(open->line->full, 0, start),
                                         .after = wo_view_skip(open->line->full, end)};
  return wo__setting_take(open, &place);
}

/* Goes through line->full from `at` on, taking keys of the outermost level. */
static enum wo_more read_braces(struct wo_open *open, size_t at) {
  struct wo_setting_block *const own = open->state;
  const struct wo_view text = wo_view_sub(open->line->full, 0, open->line->own_end); /* the next piece goes on from there */
  while (at < text.len) {
    const char c = text.ptr[at];
    if (strchr("{[(", c) && c != '\0') {
      own->depth++;
    } else if (strchr("}])", c) && c != '\0') {
      if (--own->depth <= 0) return WO_MORE_NO;
    } else if (wo__setting_is_name(c)) {
      const size_t start = at;
      while (at < text.len && wo__setting_is_name(text.ptr[at])) at++;
      if (own->depth == 1 && !take_child(open, start, at)) return WO_MORE_NO;
      continue;
    } else if ((c == '"' || c == '\'') && own->depth != 1) {
      at = skip_quoted(text, at);
    }
    at++;
  }
  return WO_MORE_YES;
}

/* "parent:" with nothing after it. */
static bool opens_indented(struct wo_view after) {
  struct wo_view rest = wo_view_trim(after);
  if (!wo_view_starts(rest, ":")) return false;
  rest = wo_view_trim(wo_view_skip(rest, 1));
  return rest.len == 0 || strchr("&!#", rest.ptr[0]) != NULL;
}

/* "[parent]" */
static bool opens_section(struct wo_view lead, struct wo_view after) {
  return wo_view_is(wo_view_trim(lead), "[") && wo_view_is(wo_view_trim(after), "]");
}

/* Where the brace is that opens the parent's structure: "parent": {   parent={   parent: {   Parent(. Else WO_NOT_FOUND. */
static size_t find_opener(struct wo_view after) {
  struct wo_view rest = after;
  if (wo_view_starts(rest, "(")) return 0;
  if (wo_view_starts(rest, "\"") || wo_view_starts(rest, "'")) rest = wo_view_skip(rest, 1);
  rest = wo_view_trim_start(rest);
  if (!wo_view_starts(rest, ":") && !wo_view_starts(rest, "=")) return WO_NOT_FOUND;
  rest = wo_view_trim_start(wo_view_skip(rest, 1));
  return wo_view_starts(rest, "{") ? (size_t)(rest.ptr - after.ptr) : WO_NOT_FOUND;
}

static enum wo_more feed_block(struct wo_open *open);

/* It has a format of its own, because its lines can hold settings that are found by their own key. */
static const struct wo_format format_block = {.name = "setting_block", .feed = feed_block};

enum wo_more wo__setting_block_begin(struct wo_open *open, struct wo_view key, size_t at) {
  struct wo_setting_block *const own = open->state;
  const size_t dot = wo_view_find_last(key, WO_VIEW("."), key.len);
  assert(dot != WO_NOT_FOUND);
  open->format = &format_block;
  const struct wo_view parent = wo_view_sub(key, 0, dot);
  at = wo_view_find(open->line->full, parent, at);
  if (at == WO_NOT_FOUND || at >= open->line->own_end) return WO_MORE_NO;
  const size_t end = at + parent.len;
  if (at > 0 && wo_is_word(open->line->full.ptr[at - 1])) return WO_MORE_NO;
  const struct wo_view after = wo_view_skip(open->line->full, end);
  const size_t opener = find_opener(after);
  if (opener != WO_NOT_FOUND) return read_braces(open, end + opener);
  const size_t start = open->line->full.len - open->line->text.len;
  if (at < start) return WO_MORE_NO;
  const struct wo_view lead = wo_view_sub(open->line->full, start, at);
  const bool is_section = opens_section(lead, after);
  if (!is_section && (wo_view_trim(lead).len > 0 || !opens_indented(after))) return WO_MORE_NO;
  own->shape = is_section ? WO_IN_SECTION : WO_INDENTED;
  own->parent_indent = (int64_t)lead.len;
  own->child_indent = NO_INDENT;
  return WO_MORE_YES;
}

/* The first name on the line. */
static enum wo_more take_first(struct wo_open *open) {
  const size_t start = open->line->full.len - open->line->text.len + wo_config_indent(open->line->text);
  size_t end = start;
  while (end < open->line->full.len && wo__setting_is_name(open->line->full.ptr[end])) end++;
  return take_child(open, start, end) ? WO_MORE_YES : WO_MORE_NO;
}

/* The first line below the parent shows how far its keys are indented. */
static enum wo_more feed_indented(struct wo_open *open) {
  struct wo_setting_block *const own = open->state;
  const struct wo_view content = wo_view_trim(open->line->text);
  const int64_t indent = (int64_t)wo_config_indent(open->line->text);
  if (content.len == 0 || wo_view_starts(content, "#")) return WO_MORE_YES;
  if (indent <= own->parent_indent) return WO_MORE_NO_UNREAD;
  if (own->child_indent == NO_INDENT) own->child_indent = indent;
  return indent == own->child_indent ? take_first(open) : WO_MORE_YES;
}

static enum wo_more feed_section(struct wo_open *open) {
  return wo_view_starts(wo_view_trim(open->line->text), "[") ? WO_MORE_NO_UNREAD : take_first(open);
}

static enum wo_more feed_block(struct wo_open *open) {
  struct wo_setting_block *const own = open->state;
  if (open->lines > WO_LIMIT_BLOCK_LINES) {
    wo_scan_note_cap(open->scan, WO_CAP_BLOCK, 1);
    return WO_MORE_NO_UNREAD;
  }
  switch (own->shape) {
  case WO_INDENTED:
    return feed_indented(open);
  case WO_IN_SECTION:
    return feed_section(open);
  default:
    return read_braces(open, open->line->full.len - open->line->text.len);
  }
}
