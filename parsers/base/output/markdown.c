/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown. See markdown.h. */
#include "parsers/base/output/markdown.h"

#include <string.h>

#include "parsers/base/clean.h"

/* The least length of a fence. */
enum { FENCE = 3 };

#define NO_WIDTH "&#8203;"

/* ---- Words ---- */

/* Whether it has a meaning within a line. An underscore within a word has none. */
static bool is_markup(char c, char before, char after) {
  if (c == '_') return !wo_is_alnum(before) || !wo_is_alnum(after);
  return c != '\0' && strchr("\\`*[]~|", c) != NULL;
}

/* Whether it begins a mention, a number of a ticket, or a formula if a word follows. */
static bool is_reference(char c, char after) {
  if (c == '&') return wo_is_digit(after);
  return c != '\0' && strchr("@#!$%", c) != NULL && (wo_is_word(after) || (unsigned char)after >= 0x80);
}

/* Where a text has the character that would make it a heading, a quote or an item of a list ("1. ", "-", "#"); SIZE_MAX: nowhere.
 */
static size_t opening_of(struct wo_view text) {
  size_t digits = 0;
  while (digits < text.len && wo_is_digit(text.ptr[digits])) digits++;
  const struct wo_view rest = wo_view_skip(text, digits);
  const bool is_dot = rest.len > 0 && (rest.ptr[0] == '.' || rest.ptr[0] == ')') && (rest.len == 1 || wo_is_space(rest.ptr[1]));
  if (digits > 0) return is_dot ? digits : SIZE_MAX;
  return text.len > 0 && text.ptr[0] != '\0' && strchr("-+=#>:", text.ptr[0]) != NULL ? 0 : SIZE_MAX;
}

static void add_character(struct wo_text *out, struct wo_view shown, char before, struct wo_view rest) {
  const char c = shown.len == 1 ? shown.ptr[0] : '\0', after = rest.len > 0 ? rest.ptr[0] : '\0';
  if (c == '<' || c == '&') {
    wo_text_add(out, c == '<' ? "&lt;" : "&amp;");
  } else {
    if (is_markup(c, before, after)) wo_text_repeat(out, '\\', 1);
    wo_text_add_view(out, shown);
  }
  if (is_reference(c, after) || (c == ':' && wo_view_starts(rest, "//"))) wo_text_add(out, NO_WIDTH);
}

void wo_markdown_text(struct wo_text *out, struct wo_view text) {
  text = wo_view_trim(text);
  const size_t opening = opening_of(text);
  for (size_t at = 0; at < text.len;) {
    size_t read = 1;
    const struct wo_view rest = wo_view_skip(text, at), shown = wo_clean_character(rest, &read);
    if (at == opening) wo_text_repeat(out, '\\', 1);
    add_character(out, shown, at > 0 ? text.ptr[at - 1] : ' ', wo_view_skip(rest, read));
    if (wo_view_starts_nocase(rest, "www.")) wo_text_add(out, NO_WIDTH);
    at += read;
  }
}

/* ---- Code ---- */

/* The longest run of backticks. */
static size_t longest_run(struct wo_view text) {
  size_t longest = 0, run = 0;
  for (size_t i = 0; i < text.len; i++) {
    run = text.ptr[i] == '`' ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}

static void add_clean(struct wo_text *out, struct wo_view text, bool is_in_cell) {
  while (text.len > 0) {
    size_t read = 1;
    const struct wo_view shown = wo_clean_character(text, &read);
    if (is_in_cell && wo_view_is(shown, "|")) wo_text_repeat(out, '\\', 1);
    wo_text_add_view(out, shown);
    text = wo_view_skip(text, read);
  }
}

/* A blank at both ends is taken off by readers where the code begins or ends in a backtick. */
void wo_markdown_code(struct wo_text *out, struct wo_view text, bool is_in_cell) {
  text = wo_view_trim(text);
  if (text.len == 0) return;
  const size_t ticks = longest_run(text) + 1;
  const bool has_blank = text.ptr[0] == '`' || text.ptr[text.len - 1] == '`';
  wo_text_repeat(out, '`', ticks);
  wo_text_repeat(out, ' ', has_blank);
  add_clean(out, text, is_in_cell);
  wo_text_repeat(out, ' ', has_blank);
  wo_text_repeat(out, '`', ticks);
}

void wo_markdown_block(struct wo_text *out, const char *language, struct wo_view lines) {
  const size_t longest = longest_run(lines);
  const size_t ticks = longest < FENCE ? FENCE : longest + 1;
  wo_text_repeat(out, '`', ticks);
  wo_text_add(out, "%s\n", language);
  while (lines.len > 0) {
    add_clean(out, wo_view_cut(&lines, '\n'), false);
    wo_text_add(out, "\n");
  }
  wo_text_repeat(out, '`', ticks);
  wo_text_add(out, "\n");
}
