/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a call as words of a command line. See inputs.h. */
#include "analyzer/show/inputs.h"

#include <string.h>

#include "analyzer/archive/folder.h"
#include "parsers/base/output/shell_words.h"
#include "parsers/base/text.h"

/* From this number of words on a pattern is shorter. */
enum { WORDS_MIN = 3 };

/* The folder of a path with its slash; empty for a bare name. */
static struct wo_view folder_of(struct wo_view path) {
  const char *const slash = strrchr(path.ptr, '/');
  return slash ? wo_view_sub(path, 0, (size_t)(slash - path.ptr) + 1) : (struct wo_view){0};
}

static bool is_among(char **words, size_t count, size_t skip, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(words[i] + skip, name) == 0) return true;
  }
  return false;
}

/* Whether the folder holds exactly the words, but for what the shell's * leaves out. */
static bool is_all_of(const char *path, char **words, size_t count, size_t skip) {
  struct wo_folder folder = {0};
  size_t seen = 0;
  bool is_all = wo_folder_list(path, NULL, &folder, NULL) == WO_OK;
  for (size_t i = 0; i < folder.count && is_all; i++) {
    if (folder.items[i].name[0] == '.') continue;
    is_all = ++seen <= count && is_among(words, count, skip, folder.items[i].name);
  }
  wo_folder_done(&folder);
  return is_all && seen == count;
}

/* "*" becomes each name as it is, and one that begins with a dash is an option then. */
static bool has_dash(char **words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (words[i][0] == '-') return true;
  }
  return false;
}

/* The pattern of all files of a folder. Empty when the words are not all files of one folder. */
static struct wo_view as_pattern(char **words, size_t count, struct wo_arena *arena) {
  const struct wo_view folder = folder_of(wo_view_of(words[0]));
  if (count < WORDS_MIN || !(folder.len == 0 || wo_shell_is_plain(folder))) return (struct wo_view){0};
  for (size_t i = 1; i < count; i++) {
    if (!wo_view_equal(folder_of(wo_view_of(words[i])), folder)) return (struct wo_view){0};
  }
  const struct wo_view name = wo_arena_format(arena, "%.*s", WO_SHOWN(folder.len > 0 ? folder : WO_VIEW(".")));
  if (name.ptr == NULL || !is_all_of(name.ptr, words, count, folder.len)) return (struct wo_view){0};
  return wo_arena_format(arena, "%s%.*s*", has_dash(words, count) ? "./" : "", WO_SHOWN(folder));
}

/* A word of letters alone may be the name of a command. */
static bool is_bare(struct wo_view word) {
  for (size_t i = 0; i < word.len; i++) {
    if (!wo_is_alpha(word.ptr[i])) return false;
  }
  return true;
}

struct wo_view wo_show_inputs(char **words, size_t count, struct wo_arena *arena) {
  if (count == 0) return (struct wo_view){0};
  const struct wo_view pattern = as_pattern(words, count, arena);
  if (pattern.len > 0) return pattern;
  struct wo_text text = {0};
  bool is_whole = true;
  for (size_t i = 0; i < count && is_whole; i++) {
    const struct wo_view word = wo_view_of(words[i]);
    wo_text_add(&text, i > 0 ? " " : is_bare(word) ? "./" : "");
    is_whole = !wo_view_is(word, "-") && wo_shell_add_word(&text, wo_shell_path(arena, word));
  }
  const struct wo_view shown = is_whole ? wo_arena_copy(arena, (struct wo_view){text.ptr, text.len}) : (struct wo_view){0};
  if (text.is_failed) arena->is_exhausted = true;
  wo_text_done(&text);
  return shown;
}
