/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the time line and the words that they take. */
#include "rules/language/event_fact.h"

#include <assert.h>

static const struct wo_event_function functions[] = {
    {"seen", WO_EVENT_SEEN, WO_UNIT_BOOL, 1, "kind"},
    {"before", WO_EVENT_BEFORE, WO_UNIT_BOOL, 2, "kind"},
    {"during", WO_EVENT_DURING, WO_UNIT_BOOL, 1, "phase"},
    {"slope", WO_EVENT_SLOPE, WO_UNIT_BYTES, 1, "figure"},
};

#define KNOWN_KNOB(id)
#define KNOWN_PHASE(id) id,
static const char *const phases[] = {
#define WO_KNOWN_ID(sort, id, why) KNOWN_##sort(id)
#include "rules/language/known_ids.def"
#undef WO_KNOWN_ID
};

static const char *const figures[] = {"allocated", "reserved", "reserved_unallocated", "free", "process", "tried", "trace"};

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

const struct wo_event_function *wo_event_function_find(struct wo_view name) {
  for (size_t i = 0; i < COUNT_OF(functions); i++) {
    if (wo_view_is(name, functions[i].name)) return &functions[i];
  }
  return NULL;
}

void wo_event_function_offer(struct wo_nearest *nearest) {
  for (size_t i = 0; i < COUNT_OF(functions); i++) wo_nearest_offer(nearest, wo_view_of(functions[i].name));
}

void wo_event_kinds_offer(struct wo_nearest *nearest) {
  for (int kind = WO_KIND_UNKNOWN + 1; kind < WO_KIND_COUNT_; kind++) {
    wo_nearest_offer(nearest, wo_view_of(wo_kind_name((enum wo_kind)kind)));
  }
}

static void offer_words(const struct wo_event_function *function, struct wo_nearest *nearest) {
  if (function->fn == WO_EVENT_DURING) {
    for (size_t i = 0; i < COUNT_OF(phases); i++) wo_nearest_offer(nearest, wo_view_of(phases[i]));
  } else if (function->fn == WO_EVENT_SLOPE) {
    for (size_t i = 0; i < COUNT_OF(figures); i++) wo_nearest_offer(nearest, wo_view_of(figures[i]));
  } else {
    wo_event_kinds_offer(nearest);
  }
}

bool wo_event_word_is_known(const struct wo_event_function *function, struct wo_view word) {
  struct wo_nearest nearest = {.want = word};
  offer_words(function, &nearest);
  return nearest.best.len > 0 && nearest.distance == 0;
}

struct wo_view wo_event_word_nearest(const struct wo_event_function *function, struct wo_view word) {
  struct wo_nearest nearest = {.want = word};
  offer_words(function, &nearest);
  return wo_nearest_best(&nearest);
}

const struct wo_event_function *wo_event_fact_split(struct wo_view name, struct wo_view words[WO_EVENT_WORDS]) {
  if (!wo_view_ends(name, ")")) return NULL;
  const size_t open = wo_view_find_char(name, '(', 0);
  if (open == WO_NOT_FOUND) return NULL;
  const struct wo_event_function *const function = wo_event_function_find(wo_view_sub(name, 0, open));
  if (function == NULL) return NULL;
  struct wo_view rest = wo_view_sub(name, open + 1, name.len - 1);
  for (size_t i = 0; i < WO_EVENT_WORDS; i++) words[i] = wo_view_cut(&rest, ',');
  return function;
}
