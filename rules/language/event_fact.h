/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the time line: functions of the rule language over kinds of evidence, such as before(nccl_timeout, cuda_oom).
 *
 * In a tree they are facts whose name is the call without blanks: "before(nccl_timeout,cuda_oom)". */
#ifndef WO_EVENT_FACT_H
#define WO_EVENT_FACT_H

#include "parsers/base/nearest/nearest.h"
#include "rules/language/value.h"

/* rules/language/expr.h describes the functions. */
enum wo_event_fn { WO_EVENT_SEEN, WO_EVENT_BEFORE, WO_EVENT_DURING, WO_EVENT_SLOPE };

#define WO_EVENT_WORDS 2

struct wo_event_function {
  const char *name;
  enum wo_event_fn fn;
  enum wo_unit unit;
  size_t word_count;
  const char *word_is; /* "kind", for messages */
};

/* The function of that name, or NULL. */
const struct wo_event_function *wo_event_function_find(struct wo_view name);

/* Offers the names of all functions. */
void wo_event_function_offer(struct wo_nearest *nearest);

/* Offers the names of all kinds of evidence. */
void wo_event_kinds_offer(struct wo_nearest *nearest);

/* Whether the function takes this word / the closest word that it takes, or an empty view. */
bool wo_event_word_is_known(const struct wo_event_function *function, struct wo_view word);
struct wo_view wo_event_word_nearest(const struct wo_event_function *function, struct wo_view word);

/* Takes the name of such a fact apart; words that it lacks are empty. NULL when it is none. */
const struct wo_event_function *wo_event_fact_split(struct wo_view name, struct wo_view words[WO_EVENT_WORDS]);

#endif
