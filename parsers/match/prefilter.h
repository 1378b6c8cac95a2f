/* SPDX-License-Identifier: Apache-2.0 */
/* Literal prefilter: finds, fast, the places where one of many literals is in a large buffer.
 *
 * It is exact: it reports every occurrence and nothing else, case-sensitively. */
#ifndef WO_PREFILTER_H
#define WO_PREFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"
#include "parsers/base/view.h"

/* Shortest literal: one aligned window of four bytes in four is looked at, so seven bytes always hold one. */
#define WO_PATTERN_LITERAL_MIN 7

/* Bytes of the number after a literal that are looked at: they count towards that length. */
#define WO_PREFILTER_NUMBER_BYTES 2

struct wo_prefilter;

/* One literal and the number that is reported for it. Equal literals with different owners are allowed. */
struct wo_prefilter_literal {
  struct wo_view text; /* at least WO_PATTERN_LITERAL_MIN bytes; "\n" at the end stands for the end of a line or of the text */
  uint32_t owner;
  bool is_before_number; /* a number must be right after it: a digit, and a digit, '.', blank or the letter of a unit (G, M,
                            K) */
};

/* Whether a literal is long enough. No number follows the end of a line: such a literal counts as one without a number. */
bool wo_prefilter_is_long_enough(const struct wo_prefilter_literal *literal);

/* An occurrence of a literal. */
struct wo_prefilter_hit {
  size_t start; /* of its first byte */
  uint32_t owner;
};

/* Bytes of a text whose windows are looked up in one go. */
enum { WO_PREFILTER_BLOCK = 2048 };

/* The state of a walk over a text (wo_prefilter_begin). Zeroed, it begins at the front of the text. */
struct wo_prefilter_cursor {
  size_t from;                            /* where literals may start */
  size_t at;                              /* of the next window that was not looked up yet */
  size_t window;                          /* of the last hit */
  uint32_t next;                          /* further literals with that window */
  size_t block;                           /* where the windows below were looked up */
  uint32_t count, passed;                 /* of those that may be windows of literals, and how many of them were given out */
  uint16_t found[WO_PREFILTER_BLOCK / 4]; /* their numbers in the block */
};

/* One window of one literal: the literal starts `offset` bytes before the window. Its first and last bytes are here too: most
 * literals that share a window do not share them, and are refused without a look at the literal. */
struct wo_prefilter_place {
  uint32_t window;
  uint32_t literal; /* its index */
  uint32_t offset;
  uint32_t next; /* index + 1 of the next place with the same window; 0 at the end */
  uint32_t len;  /* of the literal's body, which has no line feed */
  uint32_t head; /* the first and the last window of the body */
  uint32_t tail;
};

/* The places of one window; head 0 marks a free slot. */
struct wo_prefilter_slot {
  uint32_t window;
  uint32_t head;          /* index + 1 of the first place */
  uint64_t before, after; /* bytes that the literals have beside the window, as bits of their last six bits */
};

/* The tables that a filter computes from its literals. It holds no address, so that it can be made when the program is built
 * (rules/load/embed.c): choosing windows for more than a thousand literals takes as long as looking through a small log. */
struct wo_prefilter_tables {
  uint64_t made_of; /* hash of the literals, and of the machine's byte order */
  const uint32_t *bitmap;
  const struct wo_prefilter_place *places;
  const struct wo_prefilter_slot *slots; /* open addressing, linear probing */
  size_t bitmap_words;
  size_t place_count;
  size_t slot_count;
};

/* Compiles a filter; the literals' bytes must outlive it. Tables that were made before (`ready`; NULL: none) are used if they
 * were made of the same literals, and must then outlive it too. WO_E_NOMEM; WO_E_RANGE when a literal is too short. Read-only
 * afterwards: any number of threads may search with it. */
enum wo_status wo_prefilter_new(const struct wo_prefilter_literal *literals, size_t count,
                                const struct wo_prefilter_tables *ready, struct wo_prefilter **ret_filter);

/* The tables of a filter, valid as long as it is. */
struct wo_prefilter_tables wo_prefilter_tables(const struct wo_prefilter *filter);

/* Frees a filter; NULL allowed; returns NULL. */
struct wo_prefilter *wo_prefilter_free(struct wo_prefilter *filter);

/* Begins a walk in which literals may start at `from` or behind it. */
static inline void wo_prefilter_begin(struct wo_prefilter_cursor *cursor, size_t from) {
  cursor->from = cursor->at = cursor->block = from;
  cursor->next = cursor->count = cursor->passed = 0;
}

/* Goes to `from`, forward or back, in the text of a walk that was begun: what was looked up around it is not looked up again. */
void wo_prefilter_go_to(struct wo_prefilter_cursor *cursor, size_t from);

/* Finds the next occurrence after the ones that this cursor has found; every occurrence that starts at or after cursor->from is
 * found once, and those of one line before those of the next (lines end at '\n' or '\r'). False at the end. */
bool wo_prefilter_walk(const struct wo_prefilter *filter, struct wo_view text, struct wo_prefilter_cursor *cursor,
                       struct wo_prefilter_hit *ret_hit);

/* Marks in `owners` (bit owner % 64 of word owner / 64, `words` words, set to zero by the caller) the owners of all literals
 * that occur in text. Returns the number of bits newly set. */
size_t wo_prefilter_mark(const struct wo_prefilter *filter, struct wo_view text, uint64_t *owners, size_t words);

/* As wo_prefilter_mark, by comparing every literal everywhere: the reference for tests and `--no-prefilter`. */
size_t wo_prefilter_mark_slow(const struct wo_prefilter *filter, struct wo_view text, uint64_t *owners, size_t words);

#endif
