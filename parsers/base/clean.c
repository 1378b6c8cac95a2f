/* SPDX-License-Identifier: Apache-2.0 */
/* Cleaning of text: removes terminal control sequences from lines, and turns any bytes into printable UTF-8.
 *
 * Most lines are clean already, so the first question is answered eight bytes at a time. No text that a program printed is lost:
 * a backspace is removed, the character before it stays; an escape sequence without an end costs its first two bytes only. */
#include "parsers/base/clean.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ESC '\x1b'
#define BEL '\x07'

/* Longest operating system command (a title, a hyperlink) that is removed. Bounds the search for the end of a broken one. */
enum { COMMAND_BYTES_MAX = 4096 };

/* ---- Looking ---- */

/* The ASCII control characters, tab included. */
static bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7f;
}

/* Whether some byte of the eight in `word` may be a control character. Tabs count; bytes above 127
 * do not. A byte below the blank borrows into its top bit when the blank is subtracted, and the
 * same trick finds a zero byte where DEL was turned into zero. A borrow can spill into the byte
 * above, hence "may". */
static bool may_hold_control(uint64_t word) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  const uint64_t tops = UINT64_C(0x8080808080808080);
  const uint64_t below_blank = (word - ones * 0x20) & ~word;
  const uint64_t not_delete = word ^ (ones * 0x7f);
  const uint64_t is_delete = (not_delete - ones) & ~not_delete;
  return ((below_blank | is_delete) & tops) != 0;
}

/* Offset of the first control character other than a tab at or after `at`, or the length. */
static size_t clean_until(struct wo_view raw, size_t at) {
  while (at < raw.len) {
    /* Whole words of clean bytes first, then byte by byte to the place inside the word that stopped it. */
    uint64_t word = 0;
    while (raw.len - at >= sizeof word) {
      memcpy(&word, raw.ptr + at, sizeof word);
      if (may_hold_control(word)) break;
      at += sizeof word;
    }
    const size_t stop = raw.len - at < sizeof word ? raw.len : at + sizeof word;
    while (at < stop && (raw.ptr[at] == '\t' || !is_control((unsigned char)raw.ptr[at]))) at++;
    if (at < stop) return at;
  }
  return raw.len;
}

/* ---- Escape sequences (ECMA-48) ---- */

/* The sequences recognised, with ESC for the byte 0x1b:
 *
 *   ESC [ 31;1 m          control sequence: parameters, intermediates, one final byte (colours, cursor, erasing)
 *   ESC ] 0;title BEL     command string, ended by BEL or ESC \ (titles, hyperlinks); also ESC P, X, ^, _
 *   ESC ( B               intermediates and one final byte (character sets)
 *   ESC =                 two bytes (keypad modes and the like) */

/* Whether the byte after ESC begins a command string. */
static bool begins_command(char c) {
  return c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_';
}

/* Offset of the first byte at or after `at` that is not in [first, last]. */
static size_t skip_range(struct wo_view raw, size_t at, char first, char last) {
  while (at < raw.len && raw.ptr[at] >= first && raw.ptr[at] <= last) at++;
  return at;
}

/* End of `ESC [ parameters intermediates final`. A sequence that breaks off ends where it does. */
static size_t control_sequence_end(struct wo_view raw, size_t at) {
  at = skip_range(raw, at, 0x30, 0x3f);
  at = skip_range(raw, at, 0x20, 0x2f);
  return at < raw.len && raw.ptr[at] >= 0x40 && raw.ptr[at] <= 0x7e ? at + 1 : at;
}

/* End of a command string that starts at `at`, ended by BEL or ESC \. Without an end it is taken as text: returns `at`. */
static size_t command_end(struct wo_view raw, size_t at) {
  const size_t stop = raw.len - at < COMMAND_BYTES_MAX ? raw.len : at + COMMAND_BYTES_MAX;
  for (size_t i = at; i < stop; i++) {
    if (raw.ptr[i] == BEL) return i + 1;
    if (raw.ptr[i] == ESC) return i + 1 < raw.len && raw.ptr[i + 1] == '\\' ? i + 2 : at;
  }
  return at;
}

/* End of the sequence whose ESC is at `at`. */
static size_t escape_end(struct wo_view raw, size_t at) {
  assert(raw.ptr[at] == ESC);
  if (at + 1 >= raw.len) return raw.len;
  const char kind = raw.ptr[at + 1];
  if (kind == '[') return control_sequence_end(raw, at + 2);
  if (begins_command(kind)) return command_end(raw, at + 2);
  const size_t final = skip_range(raw, at + 1, 0x20, 0x2f);
  return final < raw.len && raw.ptr[final] >= 0x30 && raw.ptr[final] <= 0x7e ? final + 1 : final;
}

/* ---- Lines ---- */

/* Copies as much of the part as fits after *len. `part` may be NULL when it has no length. */
static void append(char *buf, size_t cap, size_t *len, const char *part, size_t part_len) {
  const size_t fits = part_len < cap - *len ? part_len : cap - *len;
  if (fits > 0) memcpy(buf + *len, part, fits);
  *len += fits;
  assert(*len <= cap);
}

struct wo_view wo_clean_line(struct wo_view raw, char *buf, size_t cap) {
  assert(buf != NULL || cap == 0);
  size_t at = clean_until(raw, 0);
  if (at == raw.len) return raw;
  size_t len = 0;
  append(buf, cap, &len, raw.ptr, at);
  while (at < raw.len && len < cap) {
    const char c = raw.ptr[at];
    if (c == '\0') append(buf, cap, &len, " ", 1);
    at = c == ESC ? escape_end(raw, at) : at + 1;
    const size_t end = clean_until(raw, at);
    append(buf, cap, &len, raw.ptr == NULL ? NULL : raw.ptr + at, end - at);
    at = end;
  }
  return (struct wo_view){buf, len};
}

/* ---- UTF-8 ---- */

/* Lead bytes of well-formed sequences (Unicode, table 3-7): length, and what the second byte may be. The ranges of the second
 * byte rule out overlong forms, surrogates, and everything above U+10FFFF. */
struct lead {
  unsigned char first, last;
  unsigned char length;
  unsigned char second_first, second_last;
};

static const struct lead leads[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

/* Whether the bytes after the lead byte are there and are what it allows. */
static bool has_tail(const struct lead *lead, const unsigned char *bytes, size_t len) {
  if (len < lead->length || bytes[1] < lead->second_first || bytes[1] > lead->second_last) return false;
  for (size_t i = 2; i < lead->length; i++) {
    if (bytes[i] < 0x80 || bytes[i] > 0xbf) return false;
  }
  return true;
}

/* Bytes of the well-formed character at the front of `bytes` (len > 0), or 0 when there is none. */
static size_t character_length(const unsigned char *bytes, size_t len) {
  assert(len > 0);
  if (bytes[0] < 0x80) return 1;
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
    if (bytes[0] < leads[i].first || bytes[0] > leads[i].last) continue;
    return has_tail(&leads[i], bytes, len) ? leads[i].length : 0;
  }
  return 0;
}

uint32_t wo_utf8_read(struct wo_view text, size_t *ret_len) {
  unsigned char bytes[4] = {0};
  assert(text.len > 0);
  const size_t seen = text.len < sizeof bytes ? text.len : sizeof bytes;
  memcpy(bytes, text.ptr, seen);
  const size_t length = character_length(bytes, seen);
  *ret_len = length == 0 ? 1 : length;
  if (length == 0) return WO_UTF8_INVALID;
  uint32_t code = length == 1 ? bytes[0] : bytes[0] & (0x7fU >> length);
  for (size_t i = 1; i < length; i++) code = code << 6 | (bytes[i] & 0x3fU);
  return code;
}

/* ---- Shown characters ---- */

/* Characters that take no place of their own, or change the place of others: soft hyphen, combining grapheme joiner, marks of
 * direction, Hangul fillers, vowel separators, zero-width blanks and joiners, line and paragraph separators, embeddings,
 * overrides and isolates, the byte order mark, annotations, tags. A text that has them can look like another one. */
static const struct {
  uint32_t first, last;
} hidden[] = {
    {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},
    {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
};

bool wo_clean_is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

bool wo_clean_is_hidden(uint32_t code) {
  for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
    if (code >= hidden[i].first && code <= hidden[i].last) return true;
  }
  return false;
}

bool wo_clean_has_hidden(struct wo_view text) {
  for (size_t at = 0, read = 0; at < text.len; at += read) {
    const uint32_t code = wo_utf8_read(wo_view_skip(text, at), &read);
    if (code != WO_UTF8_INVALID && wo_clean_is_hidden(code)) return true;
  }
  return false;
}

struct wo_view wo_clean_character(struct wo_view rest, size_t *ret_read) {
  *ret_read = 1;
  if (rest.ptr[0] >= ' ' && rest.ptr[0] <= '~') return (struct wo_view){rest.ptr, 1}; /* most of them */
  const uint32_t code = wo_utf8_read(rest, ret_read);
  if (wo_clean_is_control(code)) return WO_VIEW(" ");
  if (code == WO_UTF8_INVALID || wo_clean_is_hidden(code)) return WO_VIEW(WO_REPLACEMENT);
  return wo_view_sub(rest, 0, *ret_read);
}

/* Eight bytes at a time: printable bytes of the last word may be behind the offset. */
size_t wo_clean_printable_until(struct wo_view raw, size_t at) {
  uint64_t word = 0;
  for (; raw.len - at >= sizeof word; at += sizeof word) {
    memcpy(&word, raw.ptr + at, sizeof word);
    if (may_hold_control(word) || (word & UINT64_C(0x8080808080808080)) != 0) break;
  }
  return at;
}

struct wo_view wo_clean_utf8(struct wo_view raw, char *buf, size_t cap) {
  assert(buf != NULL || cap == 0);
  size_t len = 0;
  size_t at = 0;
  while (at < raw.len) {
    const size_t end = wo_clean_printable_until(raw, at);
    append(buf, cap, &len, raw.ptr + at, end - at);
    at = end;
    if (at == raw.len) break;
    size_t read = 0;
    const struct wo_view shown = wo_clean_character(wo_view_skip(raw, at), &read);
    if (shown.len > cap - len) break;
    append(buf, cap, &len, shown.ptr, shown.len);
    at += read;
  }
  assert(len <= cap);
  return (struct wo_view){buf, len};
}

struct wo_view wo_utf8_front(struct wo_view text, size_t most) {
  size_t len = text.len < most ? text.len : most;
  while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) len--;
  return wo_view_sub(text, 0, len);
}

size_t wo_utf8_write(uint32_t code, char buf[4]) {
  static const unsigned marks[] = {0, 0xc0, 0xe0, 0xf0};
  const size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  assert(code < 0x110000);
  buf[0] = (char)(marks[more] | code >> (6 * more));
  for (size_t i = 1; i <= more; i++) buf[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
  return more + 1;
}
