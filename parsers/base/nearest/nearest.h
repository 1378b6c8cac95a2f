/* The closest of a list of names to one that does not exist: for messages: options, commands, rules, facts, terms. */
#ifndef WO_NEAREST_H
#define WO_NEAREST_H

#include <stddef.h>

#include "parsers/base/view.h"

/* A search: set `want`, offer all candidates, ask for the best. Candidates are borrowed. */
struct wo_nearest {
  struct wo_view want;
  struct wo_view best;
  size_t distance; /* of `best` */
};

/* Longest text that wo_nearest_hint writes. */
#define WO_NEAREST_BYTES 128

/* Offers a candidate. If several are equally close, the first stays. */
void wo_nearest_offer(struct wo_nearest *nearest, struct wo_view candidate);

/* The closest candidate, when it is close enough to be a slip of the pen; empty otherwise. */
struct wo_view wo_nearest_best(const struct wo_nearest *nearest);

/* " (did you mean 'oom.tried'?)", or an empty text for an empty view. Returns buf. */
const char *wo_nearest_hint(struct wo_view best, char *buf, size_t cap);

#endif
