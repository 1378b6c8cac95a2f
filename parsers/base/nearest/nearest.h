/* SPDX-License-Identifier: Apache-2.0 */
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

/* A search that can also list what there is. Zeroed but for nearest.want, which may be empty: then nothing is close. */
struct wo_known_names {
  struct wo_nearest nearest;
  char list[192]; /* "A, B, C", as far as whole names fit */
  size_t len;
};

/* Offers a candidate. If several are equally close, the first stays. */
void wo_nearest_offer(struct wo_nearest *nearest, struct wo_view candidate);

/* The closest candidate, when it is close enough to be a slip of the pen; empty otherwise. */
struct wo_view wo_nearest_best(const struct wo_nearest *nearest);

/* " (did you mean 'oom.tried'?)", or an empty text for an empty view. Returns buf. */
const char *wo_nearest_hint(struct wo_view best, char *buf, size_t cap);

/* Offers a candidate to such a search. */
void wo_known_offer(struct wo_known_names *known, struct wo_view candidate);

/* The hint on the closest name, or where none is close " (A, B, C)": all names that were offered, or the first ones and "...".
 * The text lives in *known, and nothing can be offered any more. */
const char *wo_known_hint(struct wo_known_names *known);

#endif
