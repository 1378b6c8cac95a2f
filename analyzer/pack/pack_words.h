/* SPDX-License-Identifier: Apache-2.0 */
/* A list of the distinct texts of a job, each with a number. */
#ifndef WO_PACK_WORDS_H
#define WO_PACK_WORDS_H

#include <stdint.h>

#include "parsers/base/text.h"

/* {0} when empty. The texts are borrowed. */
struct wo__words {
  struct wo_view *items;
  size_t count, capacity;
  uint32_t *places; /* by hash: number + 1, or 0 */
  size_t place_count;
  size_t bytes; /* of all texts */
  bool is_failed;
};

/* The number of a text, which is added if it is new. 0, and is_failed set, when memory is out. */
uint32_t wo__word(struct wo__words *words, struct wo_view text);

/* Releases the list. */
void wo__words_done(struct wo__words *words);

#endif
