/* SPDX-License-Identifier: Apache-2.0 */
/* See shell_words.h. */
#include "parsers/base/output/shell_words.h"

#include <assert.h>
#include <string.h>

#include "parsers/base/clean.h"

/* Signs that no shell gives a meaning to inside a word. '~' and '=' have one at its start. */
static bool is_plain_char(char c) {
  return wo_is_alnum(c) || (c != '\0' && strchr("_@%+=:,./-", c) != NULL);
}

bool wo_shell_is_plain(struct wo_view word) {
  size_t len = 0;
  while (len < word.len && is_plain_char(word.ptr[len])) len++;
  return word.len > 0 && len == word.len && word.ptr[0] != '=';
}

/* Whether every character of the word is shown as it is. */
static bool is_shown(struct wo_view word) {
  for (size_t at = 0, len = 0; at < word.len; at += len) {
    const struct wo_view rest = wo_view_skip(word, at);
    if (wo_clean_character(rest, &len).ptr != rest.ptr) return false;
  }
  return true;
}

/* A single quote ends the quotes, stands for itself behind a backslash, and begins them again. */
bool wo_shell_add_word(struct wo_text *out, struct wo_view word) {
  assert(out != NULL);
  if (!is_shown(word)) return false;
  if (wo_shell_is_plain(word)) {
    wo_text_add_view(out, word);
    return true;
  }
  wo_text_repeat(out, '\'', 1);
  for (struct wo_view rest = word; rest.len > 0;) {
    const size_t quote = wo_view_find_char(rest, '\'', 0);
    wo_text_add_view(out, wo_view_sub(rest, 0, quote));
    if (quote == WO_NOT_FOUND) break;
    wo_text_add_view(out, WO_VIEW("'\\''"));
    rest = wo_view_skip(rest, quote + 1);
  }
  wo_text_repeat(out, '\'', 1);
  return true;
}

struct wo_view wo_shell_path(struct wo_arena *arena, struct wo_view path) {
  return wo_view_starts(path, "-") ? wo_arena_format(arena, "./%.*s", WO_SHOWN(path)) : path;
}

bool wo_shell_add_command(struct wo_text *out, const struct wo_view *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!is_shown(words[i])) return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (i > 0) wo_text_repeat(out, ' ', 1);
    wo_shell_add_word(out, words[i]);
  }
  return true;
}
