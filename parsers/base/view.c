/* SPDX-License-Identifier: Apache-2.0 */
/* Views: searching, cutting and comparing borrowed stretches of bytes.
 *
 * Everything here takes pointer plus length and looks at no byte outside it; NUL is a byte like any other. The character
 * classes are ASCII by definition and know no locale. */
#include "parsers/base/view.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* memcmp and memchr may not be given NULL even for no bytes, and an empty view may have that pointer. Every comparison goes
 * through here or has checked the length. */
static bool bytes_equal(const char *a, const char *b, size_t len) {
  return len == 0 || memcmp(a, b, len) == 0;
}

/* ASCII only: bytes of other scripts are compared as they are. */
static bool bytes_equal_nocase(const char *a, const char *b, size_t len) {
  for (size_t i = 0; i < len; i++) {
    if (wo_lower(a[i]) != wo_lower(b[i])) return false;
  }
  return true;
}

/* ---- Character classes ---- */

/* Blank, tab, line feed, vertical tab, form feed, carriage return: what isspace() means in the C
 * locale. */
bool wo_is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool wo_is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool wo_is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool wo_is_alnum(char c) {
  return wo_is_alpha(c) || wo_is_digit(c);
}

/* Each bit of the two words says it of one ASCII character: names are read character by character. */
bool wo_is_word(char c) {
  static const uint64_t words[2] = {UINT64_C(0x03ff000000000000), UINT64_C(0x07fffffe87fffffe)};
  const unsigned char byte = (unsigned char)c;
  return byte < 128 && (words[byte / 64] >> byte % 64 & 1) != 0;
}

char wo_lower(char c) {
  if (c < 'A' || c > 'Z') return c;
  return (char)(c - 'A' + 'a');
}

/* ---- Making views ---- */

/* NULL is an empty view, so that absent options and missing names need no check of their own. */
struct wo_view wo_view_of(const char *text) {
  return text == NULL ? (struct wo_view){NULL, 0} : (struct wo_view){text, strlen(text)};
}

struct wo_view wo_view_sub(struct wo_view view, size_t start, size_t end) {
  /* The end is clamped first, so that a start beyond it gives an empty view at the end. */
  const size_t last = end < view.len ? end : view.len;
  const size_t first = start < last ? start : last;
  if (view.ptr == NULL) return view; /* arithmetic on NULL is undefined, even adding nothing */
  return (struct wo_view){view.ptr + first, last - first};
}

/* Skipping more than there is gives an empty view at the end, which is what lets parsers look for
 * the next thing without asking whether there is one. */
struct wo_view wo_view_skip(struct wo_view view, size_t count) {
  return wo_view_sub(view, count, view.len);
}

struct wo_view wo_view_trim_start(struct wo_view view) {
  size_t start = 0;
  while (start < view.len && wo_is_space(view.ptr[start])) start++;
  return wo_view_skip(view, start);
}

struct wo_view wo_view_trim(struct wo_view view) {
  struct wo_view rest = wo_view_trim_start(view);
  while (rest.len > 0 && wo_is_space(rest.ptr[rest.len - 1])) rest.len--;
  return rest;
}

/* The separator itself goes to neither part. */
struct wo_view wo_view_cut(struct wo_view *rest, char separator) {
  assert(rest != NULL);
  const struct wo_view whole = *rest;
  const size_t at = wo_view_find_char(whole, separator, 0);
  const size_t end = at == WO_NOT_FOUND ? whole.len : at;
  *rest = wo_view_skip(whole, at == WO_NOT_FOUND ? end : end + 1);
  return wo_view_sub(whole, 0, end);
}

/* ---- Comparing ---- */

/* Two empty views are equal, wherever they point. */
bool wo_view_equal(struct wo_view a, struct wo_view b) {
  return a.len == b.len && bytes_equal(a.ptr, b.ptr, a.len);
}

bool wo__view_is(struct wo_view view, const char *text) {
  return wo_view_equal(view, wo_view_of(text));
}

bool wo__view_starts(struct wo_view view, const char *prefix) {
  const struct wo_view want = wo_view_of(prefix);
  return view.len >= want.len && bytes_equal(view.ptr, want.ptr, want.len);
}

bool wo_view_ends(struct wo_view view, const char *suffix) {
  const struct wo_view want = wo_view_of(suffix);
  return view.len >= want.len && wo_view_equal(wo_view_skip(view, view.len - want.len), want);
}

/* Most words differ in their first byte already. */
bool wo_view_is_nocase(struct wo_view view, const char *text) {
  if (view.len > 0 && wo_lower(view.ptr[0]) != wo_lower(text[0])) return false;
  const struct wo_view want = wo_view_of(text);
  return view.len == want.len && bytes_equal_nocase(view.ptr, want.ptr, want.len);
}

bool wo_view_starts_nocase(struct wo_view view, const char *prefix) {
  const struct wo_view want = wo_view_of(prefix);
  return view.len >= want.len && bytes_equal_nocase(view.ptr, want.ptr, want.len);
}

struct wo_view wo_view_word(struct wo_view *rest) {
  *rest = wo_view_trim_start(*rest);
  size_t len = 0;
  while (len < rest->len && !wo_is_space(rest->ptr[len])) len++;
  const struct wo_view word = wo_view_sub(*rest, 0, len);
  *rest = wo_view_skip(*rest, len);
  return word;
}

bool wo_view_has_any(struct wo_view view, const struct wo_view *needles, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (wo_view_find(view, needles[i], 0) != WO_NOT_FOUND) return true;
  }
  return false;
}

static bool is_capital(char c) {
  return wo_is_alpha(c) && wo_lower(c) != c;
}

/* Whether a word of a name ends before the letter at `at`: at a capital that follows a small letter or comes before one. */
static bool begins_word(struct wo_view name, size_t at) {
  if (!is_capital(name.ptr[at])) return false;
  return !is_capital(name.ptr[at - 1]) || (at + 1 < name.len && wo_is_alpha(name.ptr[at + 1]) && !is_capital(name.ptr[at + 1]));
}

/* Cuts the next word off a name: letters only. Empty at the end. */
static struct wo_view next_word_of(struct wo_view *rest) {
  size_t start = 0;
  while (start < rest->len && !wo_is_alpha(rest->ptr[start])) start++;
  size_t end = start < rest->len ? start + 1 : start;
  while (end < rest->len && wo_is_alpha(rest->ptr[end]) && !begins_word(*rest, end)) end++;
  const struct wo_view word = wo_view_sub(*rest, start, end);
  *rest = wo_view_skip(*rest, end);
  return word;
}

bool wo_view_has_word(struct wo_view name, const struct wo_view *words, size_t count) {
  for (struct wo_view word = next_word_of(&name); word.len > 0; word = next_word_of(&name)) {
    for (size_t i = 0; i < count; i++) {
      if (word.len == words[i].len && wo_view_has_view_nocase(word, words[i])) return true;
    }
  }
  return false;
}

void wo_view_copy(struct wo_view view, char *buf, size_t cap) {
  assert(cap > 0);
  const size_t len = view.len < cap ? view.len : cap - 1;
  if (len > 0) memcpy(buf, view.ptr, len);
  buf[len] = '\0';
}

int wo_view_compare(struct wo_view a, struct wo_view b) {
  const size_t shared = a.len < b.len ? a.len : b.len;
  const int order = shared == 0 ? 0 : memcmp(a.ptr, b.ptr, shared);
  if (order != 0) return order;
  /* One is the start of the other: the shorter sorts first. */
  return (a.len > b.len) - (a.len < b.len);
}

/* ---- Finding ---- */

size_t wo_view_find_char(struct wo_view view, char c, size_t from) {
  if (from >= view.len) return WO_NOT_FOUND;
  const char *const hit = memchr(view.ptr + from, (unsigned char)c, view.len - from);
  return hit == NULL ? WO_NOT_FOUND : (size_t)(hit - view.ptr);
}

/* Jumps from one occurrence of the needle's first byte to the next, and looks at its last byte before it compares. The worst case
 * is length times needle, which is bounded because needles are literals of our own. */
size_t wo_view_find(struct wo_view view, struct wo_view needle, size_t from) {
  if (from > view.len || needle.len > view.len - from) return WO_NOT_FOUND;
  if (needle.len == 0) return from;
  const struct wo_view starts = wo_view_sub(view, 0, view.len - needle.len + 1);
  const size_t last = needle.len - 1;
  size_t at = wo_view_find_char(starts, needle.ptr[0], from);
  while (at != WO_NOT_FOUND && (view.ptr[at + last] != needle.ptr[last] || memcmp(view.ptr + at, needle.ptr, needle.len) != 0)) {
    at = wo_view_find_char(starts, needle.ptr[0], at + 1);
  }
  assert(at == WO_NOT_FOUND || at + needle.len <= view.len);
  return at;
}

/* Walks backwards; the callers look back over a bounded stretch, so this need not be fast. */
size_t wo_view_find_last(struct wo_view view, struct wo_view needle, size_t before) {
  const size_t end = before < view.len ? before : view.len;
  if (needle.len > end) return WO_NOT_FOUND;
  size_t at = end - needle.len;
  while (!bytes_equal(view.len == 0 ? NULL : view.ptr + at, needle.ptr, needle.len)) {
    if (at == 0) return WO_NOT_FOUND;
    at--;
  }
  return at;
}

/* An empty needle is in everything. */
bool wo_view_has(struct wo_view view, const char *needle) {
  return wo_view_find(view, wo_view_of(needle), 0) != WO_NOT_FOUND;
}

/* Quadratic at worst; needles are short words of our own and the texts single lines. */
bool wo_view_has_view_nocase(struct wo_view view, struct wo_view needle) {
  if (needle.len == 0) return true;
  for (size_t at = 0; needle.len <= view.len && at <= view.len - needle.len; at++) {
    if (bytes_equal_nocase(view.ptr + at, needle.ptr, needle.len)) return true;
  }
  return false;
}

bool wo_view_has_nocase(struct wo_view view, const char *needle) {
  return wo_view_has_view_nocase(view, wo_view_of(needle));
}

uint64_t wo_view_hash(uint64_t hash, struct wo_view view) {
  for (size_t i = 0; i < view.len; i++) hash = (hash ^ (unsigned char)view.ptr[i]) * UINT64_C(1099511628211);
  return hash;
}

/* ---- Many words in one text ---- */

static inline unsigned hash_pair(char a, char b) {
  return ((unsigned)(unsigned char)a * 31 + (unsigned)(unsigned char)b * 67) & 255;
}

struct wo_pairs_of wo_view_pairs(struct wo_view text) {
  struct wo_pairs_of pairs = {.text = text};
  for (size_t i = 1; i < text.len; i++) {
    const unsigned hash = hash_pair(text.ptr[i - 1], text.ptr[i]);
    pairs.set[hash / 64] |= UINT64_C(1) << hash % 64;
  }
  return pairs;
}

/* All pairs of a word are in a text that holds it. The first two pairs refuse nearly all words. */
static bool may_hold(const struct wo_pairs_of *pairs, const char *word) {
  for (size_t i = 0; i < 4 && word[i] != '\0' && word[i + 1] != '\0'; i++) {
    const unsigned hash = hash_pair(word[i], word[i + 1]);
    if ((pairs->set[hash / 64] >> hash % 64 & 1) == 0) return false;
  }
  return true;
}

bool wo_pairs_any(const struct wo_pairs_of *pairs, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (may_hold(pairs, words[i]) && wo_view_has(pairs->text, words[i])) return true;
  }
  return false;
}
