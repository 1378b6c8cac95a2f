/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs of bytes are in a text, by their hash: most parts that are looked for are ruled out by one of theirs, long before
 * anything is compared. The table is an array of bool, all false at first, as large as the texts are long. Inline, because this
 * runs for each line and each part. */
#ifndef WO_PAIRS_H
#define WO_PAIRS_H

#include "parsers/base/view.h"

static inline size_t wo__pair_hash(const char *at, size_t size) {
  return ((unsigned char)at[0] * 61u + (unsigned char)at[1]) % size;
}

/* Enters the pairs of the text. */
static inline void wo_pairs_add(bool *pairs, size_t size, struct wo_view text) {
  for (size_t i = 0; i + 1 < text.len; i++) pairs[wo__pair_hash(text.ptr + i, size)] = true;
}

/* False only when the part cannot be in the text. */
static inline bool wo_pairs_may_hold(const bool *pairs, size_t size, struct wo_view part) {
  for (size_t i = 0; i + 1 < part.len; i++) {
    if (!pairs[wo__pair_hash(part.ptr + i, size)]) return false;
  }
  return true;
}

#endif
