/* SPDX-License-Identifier: Apache-2.0 */
/* A view: a borrowed stretch of bytes, pointer plus length. It is never NUL-terminated and may hold any byte.
 *
 * Views own nothing; the owner of the bytes keeps them alive. A view with len 0 may have any ptr, NULL included. All functions
 * are pure and safe to call from any thread. */
#ifndef WO_VIEW_H
#define WO_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wo_view {
  const char *ptr;
  size_t len;
};

/* Returned by the find functions when there is nothing to be found. */
#define WO_NOT_FOUND ((size_t)-1)

/* A view of a string literal. */
#define WO_VIEW(literal) ((struct wo_view){(literal), sizeof(literal) - 1})

/* For printf: the arguments of "%.*s", which ends at a NUL: texts that may hold one are added as views. Evaluates its argument
 * more than once. The empty string keeps NULL from printf, which may not be given it even with a precision of zero. */
#define WO_SHOWN(view) (int)(view).len, (view).ptr == NULL ? "" : (view).ptr

/* The view of a NUL-terminated string; NULL gives an empty view. */
struct wo_view wo_view_of(const char *text);

/* The part [start, end) of view, with both clamped to its length and start <= end enforced. */
struct wo_view wo_view_sub(struct wo_view view, size_t start, size_t end);

/* view without its first `count` bytes (fewer when it is shorter). */
struct wo_view wo_view_skip(struct wo_view view, size_t count);

/* view without blanks, tabs, CR, LF, VT and FF at both ends / at its start. */
struct wo_view wo_view_trim(struct wo_view view);
struct wo_view wo_view_trim_start(struct wo_view view);

/* Whether both views hold the same bytes. */
bool wo_view_equal(struct wo_view a, struct wo_view b);

/* Whether a view can begin like a text, by the first byte of both: tables of words are searched from front to back, and this
 * rules most rows out before their length is measured. */
static inline bool wo_view_may_begin(struct wo_view view, const char *text) {
  return text == NULL || text[0] == '\0' || (view.len > 0 && view.ptr[0] == text[0]);
}

/* The rest of the next two functions. */
bool wo__view_is(struct wo_view view, const char *text);
bool wo__view_starts(struct wo_view view, const char *prefix);

/* Whether view holds exactly / starts with / ends with the bytes of the NUL-terminated text. */
static inline bool wo_view_is(struct wo_view view, const char *text) {
  return wo_view_may_begin(view, text) && wo__view_is(view, text);
}
static inline bool wo_view_starts(struct wo_view view, const char *prefix) {
  return wo_view_may_begin(view, prefix) && wo__view_starts(view, prefix);
}
bool wo_view_ends(struct wo_view view, const char *suffix);

/* As wo_view_is and wo_view_starts, with ASCII letters compared without regard to case. */
bool wo_view_is_nocase(struct wo_view view, const char *text);
bool wo_view_starts_nocase(struct wo_view view, const char *prefix);

/* Offset of the first needle at or after `from`, or WO_NOT_FOUND. An empty needle is found at `from` when that is inside. */
size_t wo_view_find(struct wo_view view, struct wo_view needle, size_t from);

/* Offset of the last needle that ends at or before `before`, or WO_NOT_FOUND. */
size_t wo_view_find_last(struct wo_view view, struct wo_view needle, size_t before);

/* Whether needle (NUL-terminated, or a view) is anywhere in view; with nocase without regard to ASCII case. */
bool wo_view_has(struct wo_view view, const char *needle);
bool wo_view_has_nocase(struct wo_view view, const char *needle);
bool wo_view_has_view_nocase(struct wo_view view, struct wo_view needle);

/* Whether one of the needles is anywhere in view. */
bool wo_view_has_any(struct wo_view view, const struct wo_view *needles, size_t count);

/* Whether `holds` (wo_view_is, wo_view_has, wo_view_starts, ...) is true of one of the words, an array of texts. */
#define WO_VIEW_ANY(view, holds, words) wo_view_any((view), (holds), (words), sizeof(words) / sizeof(words)[0])

/* The function behind it. Inline, so that `holds` is called directly. */
static inline bool wo_view_any(struct wo_view view, bool (*holds)(struct wo_view, const char *), const char *const *words,
                               size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (holds(view, words[i])) return true;
  }
  return false;
}

/* The same for words in rows of one width, `static const char rows[][12]`: no word has an address that is relocated. */
#define WO_VIEW_ANY_ROW(view, holds, rows)                                                                                       \
  wo_view_any_row((view), (holds), (rows)[0], sizeof(rows)[0], sizeof(rows) / sizeof(rows)[0])

static inline bool wo_view_any_row(struct wo_view view, bool (*holds)(struct wo_view, const char *), const char *rows,
                                   size_t width, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (holds(view, rows + i * width)) return true;
  }
  return false;
}

/* Which pairs of bytes are in a text, as a set of hashes: most words that are looked for in it are refused without a search. */
struct wo_pairs_of {
  struct wo_view text;
  uint64_t set[4];
};
struct wo_pairs_of wo_view_pairs(struct wo_view text);

/* Whether one of the words is anywhere in the text; as WO_VIEW_ANY with wo_view_has. */
#define WO_PAIRS_ANY(pairs, words) wo_pairs_any((pairs), (words), sizeof(words) / sizeof(words)[0])
bool wo_pairs_any(const struct wo_pairs_of *pairs, const char *const *words, size_t count);

/* Offset of the first byte equal to c at or after `from`, or WO_NOT_FOUND. */
size_t wo_view_find_char(struct wo_view view, char c, size_t from);

/* Cuts *rest at the first `separator`: returns the part before it and leaves the part after it in *rest. Without a separator
 * the whole of *rest is returned and *rest becomes empty. */
struct wo_view wo_view_cut(struct wo_view *rest, char separator);

/* Cuts the next word off *rest: up to a blank, without the blanks before it. Empty at the end. */
struct wo_view wo_view_word(struct wo_view *rest);

/* Whether one of the words is one that a name is made of, without regard to case: "train" of "run_train.py", "trainOneEpoch" and
 * "GPUTrain", not of "constraint". */
bool wo_view_has_word(struct wo_view name, const struct wo_view *words, size_t count);

/* Copies as much of view as fits into buf (cap > 0), with a NUL after it. */
void wo_view_copy(struct wo_view view, char *buf, size_t cap);

/* Three-way byte-wise comparison for sorting: <0, 0, >0. */
int wo_view_compare(struct wo_view a, struct wo_view b);

/* ASCII classes, independent of any locale. Bytes above 127 belong to none. */
bool wo_is_space(char c);
bool wo_is_digit(char c);
bool wo_is_alpha(char c);
bool wo_is_alnum(char c);
bool wo_is_word(char c); /* letter, digit or underscore */
char wo_lower(char c);

/* FNV-1a of 64 bits over what was hashed before (WO_HASH_START at first) and the view: for tables, and to tell texts apart where
 * nobody gains from making two collide. */
#define WO_HASH_START UINT64_C(14695981039346656037)
uint64_t wo_view_hash(uint64_t hash, struct wo_view view);

/* The same for a number behind what was hashed before: a multiplication for all its bytes. */
static inline uint64_t wo_hash_number(uint64_t hash, uint64_t number) {
  hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

#endif
