/* SPDX-License-Identifier: Apache-2.0 */
/* The card of a memory failure, divided into parts, and the question of each part: had it been free, would the request have been
 * served, and would the job then have had a future? Rules name a cause by the part that decides, not by the words of the log
 * (docs/decisions/0021-attribution-is-arithmetic.md). */
#ifndef WO_DIVISION_H
#define WO_DIVISION_H

#include "analyzer/card/card.h"
#include "rules/language/value.h"

/* WO_HOLDER(enumerator, the fact that says how much of the card it is). */
#define WO_HOLDER_MAP(X)                                                                                                         \
  X(WO_HOLDER_TENSORS, "part.tensors")                 /* in use by tensors */                                                   \
  X(WO_HOLDER_IDLE, "part.idle")                       /* reserved by the pool, in use by nothing */                             \
  X(WO_HOLDER_NON_PYTORCH, "part.non_pytorch")         /* this process outside the pool */                                       \
  X(WO_HOLDER_OTHER_PROCESSES, "part.other_processes") /* everybody else */                                                      \
  X(WO_HOLDER_FREE, "part.free")                                                                                                 \
  X(WO_HOLDER_UNKNOWN, "part.unknown") /* capacity less all that is known */

enum wo_holder {
#define WO_HOLDER_ENUM(code, name) code,
  WO_HOLDER_MAP(WO_HOLDER_ENUM)
#undef WO_HOLDER_ENUM
      WO_HOLDER_COUNT_
};

struct wo_division {
  struct wo_figure total;   /* the card, the cap, or the pool that the request went to */
  struct wo_figure request; /* the refused request */
  struct wo_figure need;    /* tensors and request together: what the job needed at the least */
  double allowance;         /* share of the need that must be left after the request, for a job that would fit */
  struct wo_figure parts[WO_HOLDER_COUNT_];
  enum wo_truth would_serve[WO_HOLDER_COUNT_]; /* with this part free, the request would have been served */
  enum wo_truth would_fit[WO_HOLDER_COUNT_];   /* and the job would have had its allowance left */
  struct wo_view dominant;                     /* the word of the part that decides, "request", or empty */
};

/* Divides the card of one message. While weights are loaded (is_loading), more is still to come than later. */
void wo_division_make(const struct wo_card *card, bool is_loading, struct wo_division *ret_division);

/* The fact of a part ("part.idle"). Static. */
const char *wo_holder_fact(enum wo_holder part);

#endif
