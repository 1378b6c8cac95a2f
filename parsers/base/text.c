/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text, its columns on a terminal, and cutting it into lines. See text.h.
 *
 * In: views and formats. Out: bytes in a struct wo_text. This file knows UTF-8, but not reports. */
#include "parsers/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/base/limits.h"

/* Longest text. A report in JSON is longer than its values in memory: escapes, keys and indentation. */
#define TEXT_BYTES_MAX (4 * WO_LIMIT_REPORT_BYTES)

enum { FIRST_CAPACITY = 4096 };

/* ---- Growing ---- */

/* Makes room for `more` bytes and a final NUL. False from the first failure on: later pieces are
 * dropped too, or a text would continue after a hole. */
static bool reserve(struct wo_text *text, size_t more) {
  assert(text->len <= text->cap);
  if (text->is_failed) return false;
  if (more < text->cap - text->len) return true;
  const size_t needed = more >= TEXT_BYTES_MAX ? TEXT_BYTES_MAX : text->len + more + 1;
  size_t cap = text->cap == 0 ? FIRST_CAPACITY : text->cap;
  while (cap < needed) cap *= 2;
  char *const grown = needed >= TEXT_BYTES_MAX ? NULL : realloc(text->ptr, cap);
  if (grown == NULL) {
    text->is_failed = true;
    return false;
  }
  text->ptr = grown;
  text->cap = cap;
  return true;
}

/* A NUL is kept after the text: tests and cJSON read it as a string. */
void wo_text_add_view(struct wo_text *text, struct wo_view view) {
  assert(text != NULL && (view.ptr != NULL || view.len == 0));
  if (view.len == 0 || !reserve(text, view.len)) return;
  memcpy(text->ptr + text->len, view.ptr, view.len);
  text->len += view.len;
  text->ptr[text->len] = '\0';
}

void wo_text_repeat(struct wo_text *text, char c, size_t count) {
  assert(text != NULL);
  if (count == 0 || !reserve(text, count)) return;
  memset(text->ptr + text->len, c, count);
  text->len += count;
  text->ptr[text->len] = '\0';
}

void wo_text_add_clean(struct wo_text *text, struct wo_view raw) {
  for (size_t at = 0; at < raw.len;) {
    const size_t end = wo_clean_printable_until(raw, at);
    wo_text_add_view(text, wo_view_sub(raw, at, end));
    if (end == raw.len) break;
    size_t read = 0;
    wo_text_add_view(text, wo_clean_character(wo_view_skip(raw, end), &read));
    at = end + read;
  }
}

/* Formats into the room that there is, which nearly always suffices; else measures by that, makes room and formats again. The
 * text never holds half of what was formatted. */
__attribute__((format(printf, 2, 0))) static void add_formatted(struct wo_text *text, const char *format, va_list args) {
  const size_t room = text->is_failed ? 0 : text->cap - text->len;
  va_list again;
  va_copy(again, args);
  const int len = vsnprintf(room > 0 ? text->ptr + text->len : NULL, room, format, args);
  assert(len >= 0);
  if (len > 0 && (size_t)len >= room) {
    if (room > 0) text->ptr[text->len] = '\0';
    if (reserve(text, (size_t)len)) {
      vsnprintf(text->ptr + text->len, text->cap - text->len, format, again);
      text->len += (size_t)len;
    }
  } else if (len > 0) {
    text->len += (size_t)len;
  }
  va_end(again);
}

void wo_text_add(struct wo_text *text, const char *format, ...) {
  assert(text != NULL && format != NULL);
  if (strchr(format, '%') == NULL) {
    wo_text_add_view(text, wo_view_of(format));
    return;
  }
  va_list args;
  va_start(args, format);
  add_formatted(text, format, args);
  va_end(args);
}

void wo_text_done(struct wo_text *text) {
  if (text == NULL) return;
  free(text->ptr);
  *text = (struct wo_text){0};
}

/* ---- Columns ----
 *
 * The C library's wcwidth would need a locale, which this program never sets, and differs between systems; a report must look the
 * same wherever it is made. A small table is enough: it only places margins and carets. */

/* Closed ranges of code points, in rising order. */
struct range {
  uint32_t first;
  uint32_t last;
};

/* Characters that take no column: combining marks, joiners, direction marks, variation selectors (Unicode 15, the scripts that
 * logs are known to hold; others count one column, which only shifts a margin). */
static const struct range narrow_ranges[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x05BF, 0x05BF}, {0x05C1, 0x05C2}, {0x05C4, 0x05C5},
    {0x0610, 0x061A}, {0x064B, 0x065F}, {0x0670, 0x0670},   {0x06D6, 0x06DC}, {0x06DF, 0x06E4}, {0x06E7, 0x06E8},
    {0x06EA, 0x06ED}, {0x0900, 0x0902}, {0x093A, 0x093A},   {0x093C, 0x093C}, {0x0941, 0x0948}, {0x094D, 0x094D},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
    {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20FF},   {0x302A, 0x302D}, {0x3099, 0x309A}, {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

/* Characters that take two columns: East Asian wide and full-width forms, emoji. */
static const struct range wide_ranges[] = {
    {0x1100, 0x115F}, {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653}, {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2E80, 0x303E},   {0x3041, 0x4DBF},
    {0x4E00, 0xA4CF}, {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

/* A linear search: almost every character is ASCII and never gets here. */
static bool in_ranges(uint32_t code, const struct range *ranges, size_t count) {
  for (size_t i = 0; i < count && ranges[i].first <= code; i++) {
    if (code <= ranges[i].last) return true;
  }
  return false;
}

/* Reads one UTF-8 character; *ret_code is 0 for a byte that starts none, which then counts as a character of its own. */
static size_t read_code(struct wo_view view, uint32_t *ret_code) {
  assert(view.len > 0);
  /* The length that the first byte promises; 0 for bytes that start no character (C0, C1 and F5 to FF never do). */
  const unsigned char lead = (unsigned char)view.ptr[0];
  const size_t len = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  *ret_code = 0;
  if (len == 0 || len > view.len) return 1;
  uint32_t code = len == 1 ? lead : lead & (0x7FU >> len);
  for (size_t i = 1; i < len; i++) {
    const unsigned char next = (unsigned char)view.ptr[i];
    if ((next & 0xC0) != 0x80) return 1;
    code = (code << 6) | (next & 0x3FU);
  }
  *ret_code = code;
  return len;
}

/* Invalid bytes have code 0 and count one column, as the replacement character that terminals show for them. */
size_t wo_text_char(struct wo_view view, size_t *ret_columns) {
  assert(ret_columns != NULL);
  uint32_t code = 0;
  const size_t len = read_code(view, &code);
  *ret_columns = 1;
  if (code < narrow_ranges[0].first) return len;
  if (in_ranges(code, narrow_ranges, sizeof narrow_ranges / sizeof *narrow_ranges)) {
    *ret_columns = 0;
  } else if (in_ranges(code, wide_ranges, sizeof wide_ranges / sizeof *wide_ranges)) {
    *ret_columns = 2;
  }
  return len;
}

/* A tab counts as one column; reports hold none, since evidence was cleaned before. */
size_t wo_text_columns(struct wo_view view) {
  size_t columns = 0;
  while (view.len > 0) {
    size_t one = 0;
    view = wo_view_skip(view, wo_text_char(view, &one));
    columns += one;
  }
  return columns;
}

/* ---- Lines ----
 *
 * Prose breaks at blanks. Text without blanks (paths, hashes, messages in scripts that write none) is cut, after a slash if that
 * leaves more than half a line, so that no line is ever wider than asked for. */

/* Where a line of at most `columns` columns can end: bytes that fit, and the last good places to
 * break within them. Zero means none, as no line can be broken before its first byte. */
struct fit {
  size_t end;   /* everything up to here fits */
  size_t blank; /* offset of a blank, 0 = none */
  size_t slash; /* offset after a slash, 0 = none */
};

/* One pass over the characters that fit, and the first one that does not: a blank there is a good place to break, too. */
static struct fit fit_line(struct wo_view text, size_t columns) {
  struct fit fit = {0};
  size_t used = 0;
  while (fit.end < text.len) {
    size_t one = 0;
    const size_t len = wo_text_char(wo_view_skip(text, fit.end), &one);
    if (text.ptr[fit.end] == ' ') fit.blank = fit.end;
    if (used + one > columns) break;
    used += one;
    fit.end += len;
    if (text.ptr[fit.end - 1] == '/') fit.slash = fit.end;
  }
  return fit;
}

/* Always takes at least one character, since two columns hold every character: so the lines come to an end. */
struct wo_view wo_text_take_line(struct wo_view *rest, size_t columns) {
  assert(rest != NULL && columns >= 2);
  const struct wo_view text = *rest;
  const struct fit fit = fit_line(text, columns);
  size_t end = fit.end;
  if (end < text.len && fit.blank > 0) {
    end = fit.blank;
  } else if (end < text.len && fit.slash > end / 2) {
    end = fit.slash;
  }
  /* Blanks at the break belong to neither line. */
  struct wo_view line = wo_view_sub(text, 0, end);
  *rest = wo_view_skip(text, end);
  if (rest->len == 0) return line;
  while (rest->len > 0 && rest->ptr[0] == ' ') *rest = wo_view_skip(*rest, 1);
  while (line.len > 0 && line.ptr[line.len - 1] == ' ') line.len--;
  return line;
}

/* Breaks at blanks only: an id or a path that is longer than the line keeps its length and can be copied. */
void wo_text_wrap(struct wo_text *out, struct wo_view text, size_t indent, size_t width) {
  size_t column = 0;
  assert(width > indent);
  while (text.len > 0) {
    const struct wo_view word = wo_view_cut(&text, ' ');
    if (word.len == 0) continue;
    const size_t columns = wo_text_columns(word);
    if (column > 0 && column + 1 + columns > width) {
      wo_text_add(out, "\n");
      column = 0;
    }
    if (column == 0) {
      wo_text_repeat(out, ' ', indent);
      column = indent;
    } else {
      wo_text_add(out, " ");
      column++;
    }
    wo_text_add_view(out, word);
    column += columns;
  }
  wo_text_add(out, "\n");
}

void wo_text_flow(struct wo_text *out, struct wo_view text, size_t indent, size_t hanging, size_t width) {
  assert(indent + 2 <= width && hanging + 2 <= width);
  for (size_t margin = indent; text.len > 0; margin = hanging) {
    wo_text_repeat(out, ' ', margin);
    wo_text_add_view(out, wo_text_take_line(&text, width - margin));
    wo_text_add(out, "\n");
  }
}

void wo_text_end_line(struct wo_text *line, size_t indent, size_t hanging, size_t width, struct wo_text *out) {
  wo_text_flow(out, (struct wo_view){line->ptr, line->len}, indent, hanging, width);
  if (line->is_failed) out->is_failed = true;
  line->len = 0;
}
