/* SPDX-License-Identifier: Apache-2.0 */
/* The first occurrence that the prefilter finds, and the one that a plain search of all literals finds: the definition that the
 * prefilter is held against. */
#ifndef WO_TESTS_PREFILTER_REFERENCE_H
#define WO_TESTS_PREFILTER_REFERENCE_H

#include <stdbool.h>
#include <string.h>

#include "parsers/match/prefilter.h"

/* The start of the occurrence that a walk from `from` finds first, or WO_NOT_FOUND. */
static inline size_t first_hit(const struct wo_prefilter *filter, struct wo_view text, size_t from) {
  struct wo_prefilter_cursor cursor;
  wo_prefilter_begin(&cursor, from);
  struct wo_prefilter_hit hit;
  return wo_prefilter_walk(filter, text, &cursor, &hit) ? hit.start : WO_NOT_FOUND;
}

/* Whether the literal is at the front of the text. */
static inline bool reference_stands(const struct wo_prefilter_literal *literal, struct wo_view text) {
  const bool is_line_end = literal->text.ptr[literal->text.len - 1] == '\n';
  const size_t len = literal->text.len - (is_line_end ? 1 : 0);
  if (text.len < len || memcmp(text.ptr, literal->text.ptr, len) != 0) return false;
  if (is_line_end) return text.len == len || text.ptr[len] == '\n' || text.ptr[len] == '\r';
  if (!literal->is_before_number) return true;
  return text.len >= len + 2 && wo_is_digit(text.ptr[len]) && memchr("0123456789. GMK", text.ptr[len + 1], 15) != NULL;
}

/* The start of the first occurrence at or after `from`, or WO_NOT_FOUND. */
static inline size_t reference_next(const struct wo_prefilter_literal *literals, size_t count, struct wo_view text, size_t from) {
  for (size_t at = from; at < text.len; at++) {
    for (size_t i = 0; i < count; i++) {
      const bool may_stand = literals[i].text.ptr[0] == text.ptr[at];
      if (may_stand && reference_stands(&literals[i], wo_view_skip(text, at))) return at;
    }
  }
  return WO_NOT_FOUND;
}

#endif
