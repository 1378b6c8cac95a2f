/* SPDX-License-Identifier: Apache-2.0 */
/* Comments of rule files. Shared by the loader and by the program that embeds the packs, which is
 * built before the loader.
 *
 * Packs are JSON with // and block comments, because a rule needs room for its reasons, and JSON has none. Comments are blanked
 * and not cut out: a place in what cJSON reads is then the same place in what the author wrote. Strings are stepped over, so that
 * "https://..." is no comment. Everything is inline and needs none of our other headers, since the tool that embeds the packs
 * links with none of our code. */
#ifndef WO_RULE_COMMENTS_H
#define WO_RULE_COMMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The place of the quote that ends the string which starts at `at`, or `len`. A quote counts unless an odd number of backslashes
 * is before it. memchr, because most of a rule file is strings. */
static inline size_t wo_rule_string_end(const char *text, size_t len, size_t at) {
  for (size_t from = at + 1; from < len;) {
    const char *const quote = (const char *)memchr(text + from, '"', len - from);
    if (quote == NULL) break;
    const size_t end = (size_t)(quote - text);
    size_t slash = end;
    while (slash > at + 1 && text[slash - 1] == '\\') slash--;
    if ((end - slash) % 2 == 0) return end;
    from = end + 1;
  }
  return len;
}

/* Replaces one comment that starts at `at` by blanks; returns the place after it. For a line
 * comment that is the line feed's successor: the line feed itself stays, in block comments too. */
static inline size_t wo_rule_blank_comment(char *text, size_t len, size_t at) {
  const bool is_block = text[at + 1] == '*';
  text[at] = text[at + 1] = ' ';
  for (at += 2; at < len; at++) {
    const bool is_end = is_block ? text[at] == '*' && at + 1 < len && text[at + 1] == '/' : text[at] == '\n';
    if (text[at] != '\n') text[at] = ' ';
    if (!is_end) continue;
    if (is_block) text[at + 1] = ' ';
    return at + (is_block ? 2 : 1);
  }
  return len;
}

/* Replaces both kinds of comments by blanks, in place. Line ends stay, so that every place keeps its line and column. An
 * unfinished comment reaches to the end. */
static inline void wo_rule_blank_comments(char *text, size_t len) {
  for (size_t i = 0; i < len;) {
    const bool is_comment = text[i] == '/' && i + 1 < len && (text[i + 1] == '/' || text[i + 1] == '*');
    if (is_comment) {
      i = wo_rule_blank_comment(text, len, i);
    } else {
      i = text[i] == '"' ? wo_rule_string_end(text, len, i) + 1 : i + 1;
    }
  }
}

#endif
