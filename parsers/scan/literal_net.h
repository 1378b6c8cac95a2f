/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a few patterns have a literal in a line: one pass over the line for all of them, with literals of any length. For the
 * lines around a failure and at the end of an input; whole inputs are searched by parsers/match/prefilter.h. */
#ifndef WO_LITERAL_NET_H
#define WO_LITERAL_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/match/pattern.h"

/* Patterns that a net can hold, in words of bits; a pattern beyond is always said to have one. */
enum { WO_NET_WORDS = 4, WO_NET_PATTERNS = WO_NET_WORDS * 64 };

struct wo_literal_net;

/* A set of patterns of the net, by their places in its list. */
struct wo_net_hits {
  uint64_t words[WO_NET_WORDS];
};

/* Patterns of the net, as a caller asks for them: in ascending order. */
struct wo_places {
  const size_t *items; /* their indices in the set */
  size_t count;
  struct wo_net_hits slots; /* those that the net holds, which are the first ones */
  size_t held;              /* how many these are */
};

/* Makes a net over the patterns items[0, count) of the set; both must outlive it. NULL without memory. */
struct wo_literal_net *wo_literal_net_new(const struct wo_pattern_set *set, const size_t *items, size_t count);

/* NULL allowed. */
void wo_literal_net_free(struct wo_literal_net *net);

/* Notes which of the places are in the net. */
void wo_literal_net_place(const struct wo_literal_net *net, struct wo_places *places);

/* The next of the places at or behind *at that is among the hits, by its index in the set, and moves *at behind it; *at is 0 at
 * first. WO_NOT_FOUND if there is none. */
size_t wo_literal_net_next(const struct wo_literal_net *net, const struct wo_net_hits *hits, const struct wo_places *places,
                           size_t *at);

/* The patterns that have a literal in the text, or have none at all. */
struct wo_net_hits wo_literal_net_find(const struct wo_literal_net *net, struct wo_view text);

/* Whether the pattern, by its index in the set, is among the hits. */
bool wo_literal_net_has(const struct wo_literal_net *net, const struct wo_net_hits *hits, size_t pattern);

#endif
