/* Looking things up in a loaded pack: rules by id, facts by name.
 *
 * Facts are a fixed list (facts.def), the rest is what was loaded. All lookups go through one
 * index; a pack that was not loaded to its end has none and finds nothing. */
#include <assert.h>
#include <stdlib.h>

#include "rules/rule_facts.h"

/* One row of facts.def. What a fact means in words is left to `explain`, which includes the list by
 * itself. */
struct fact {
  struct wo_view name;
  enum wo_unit unit;
};

/* Names are views with their length, so that indexing them measures nothing at run time. */
static const struct fact facts[] = {
#define WO_FACT(name, unit, meaning) {{(name), sizeof(name) - 1}, WO_UNIT_##unit},
#include "rules/facts.def"
#undef WO_FACT
};
enum { FACT_COUNT = sizeof facts / sizeof facts[0] };

size_t wo__fact_count(void) {
  return FACT_COUNT;
}

/* The value of an entry is its row above; the order of the list is of no account to rules. */
void wo__fact_index(struct wo_pack_index *index) {
  assert(index != NULL);
  for (size_t i = 0; i < FACT_COUNT; i++) wo_pack_index_add(index, WO_SORT_FACT, facts[i].name, i);
}

/* The three lookups differ in the sort alone. What they return lives as long as the pack. */
const struct wo_cause *wo_pack_cause(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_CAUSE, id);
  return i == WO_NOT_FOUND ? NULL : &pack->causes[i];
}

const struct wo_fix *wo_pack_fix(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_FIX, id);
  return i == WO_NOT_FOUND ? NULL : &pack->fixes[i];
}

const struct wo_knob *wo_pack_knob(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_KNOB, id);
  return i == WO_NOT_FOUND ? NULL : &pack->knobs[i];
}

/* Names with a prefix belong to knobs and kinds; all others are in facts.def. "config.micro_batch"
 * has the unit of that knob; "count.cuda_oom" is how many events of that kind there are, and so a
 * number. */
enum wo_unit wo_fact_unit(const struct wo_pack *pack, struct wo_view name) {
  static const struct wo_view config = {"config.", 7};
  static const struct wo_view count = {"count.", 6};
  if (wo_view_starts(name, config.ptr)) {
    const struct wo_knob *const knob = wo_pack_knob(pack, wo_view_skip(name, config.len));
    return knob == NULL ? WO_UNIT_NONE : knob->unit;
  }
  if (wo_view_starts(name, count.ptr)) {
    return wo_kind_find(wo_view_skip(name, count.len)) == WO_KIND_UNKNOWN ? WO_UNIT_NONE : WO_UNIT_NUMBER;
  }
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_FACT, name);
  return i == WO_NOT_FOUND ? WO_UNIT_NONE : facts[i].unit;
}

/* Everything but the pack itself stands in its arena, the index included. */
struct wo_pack *wo_pack_free(struct wo_pack *pack) {
  if (pack == NULL) return NULL;
  wo_arena_done(&pack->arena);
  free(pack);
  return NULL;
}
