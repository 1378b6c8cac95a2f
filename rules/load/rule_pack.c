/* Looking things up in a loaded pack: rules by id, facts by name.
 *
 * Facts are a fixed list (facts.def), the rest is what was loaded. All lookups go through one
 * index; a pack that was not loaded to its end has none and finds nothing. */
#include <assert.h>
#include <stdlib.h>

#include "rules/language/nearest.h"
#include "rules/load/rule_facts.h"
#include "rules/load/rule_read.h"

/* One row of facts.def. What a fact means in words is left to `explain`, which includes the list by
 * itself. */
struct fact {
  struct wo_view name;
  enum wo_unit unit;
};

/* Names are views with their length, so that indexing them measures nothing at run time. */
static const struct fact facts[] = {
#define WO_FACT(name, unit, meaning) {{(name), sizeof(name) - 1}, WO_UNIT_##unit},
#include "rules/language/facts.def"
#include "rules/language/rows.def"
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

/* The lookups differ in the sort alone. What they return lives as long as the pack. */
const struct wo_cause *wo_pack_cause(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_CAUSE, id);
  return i == WO_NOT_FOUND ? NULL : wo_pack_cause_at(pack, i);
}

const struct wo_cause *wo_pack_cause_at(const struct wo_pack *pack, size_t index) {
  assert(index < pack->cause_count);
  return wo__late_finish(pack, WO_SORT_CAUSE, index) ? &pack->causes[index] : NULL;
}

const struct wo_fix *wo_pack_fix(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_FIX, id);
  return i == WO_NOT_FOUND || !wo__late_finish(pack, WO_SORT_FIX, i) ? NULL : &pack->fixes[i];
}

const struct wo_knob *wo_pack_knob(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_KNOB, id);
  return i == WO_NOT_FOUND ? NULL : &pack->knobs[i];
}

const struct wo_define *wo_pack_define(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_DEFINE, id);
  return i == WO_NOT_FOUND ? NULL : &pack->defines[i];
}

size_t wo_fact_place(const struct wo_pack *pack, struct wo_view name) {
  return wo_pack_index_find(pack->index, WO_SORT_FACT, name);
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
  const size_t i = wo_fact_place(pack, name);
  return i == WO_NOT_FOUND ? WO_UNIT_NONE : facts[i].unit;
}

/* Offers the ids of what a prefix speaks of, and puts the prefix before the best. */
static struct wo_view nearest_behind(const struct wo_pack *pack, struct wo_arena *arena, struct wo_view name, size_t prefix_len) {
  struct wo_nearest nearest = {.want = wo_view_skip(name, prefix_len)};
  if (wo_view_starts(name, "config.")) {
    for (size_t i = 0; i < pack->knob_count; i++) wo_nearest_offer(&nearest, pack->knobs[i].id);
  } else if (wo_view_starts(name, "def.")) {
    for (size_t i = 0; i < pack->define_count; i++) wo_nearest_offer(&nearest, pack->defines[i].id);
  } else {
    for (int kind = WO_KIND_UNKNOWN + 1; kind < WO_KIND_COUNT_; kind++) {
      wo_nearest_offer(&nearest, wo_view_of(wo_kind_name((enum wo_kind)kind)));
    }
  }
  const struct wo_view best = wo_nearest_best(&nearest);
  if (best.len == 0) return best;
  return wo_arena_format(arena, "%.*s%.*s", (int)prefix_len, name.ptr, (int)best.len, best.ptr);
}

struct wo_view wo__fact_nearest(const struct wo_pack *pack, struct wo_arena *arena, struct wo_view name) {
  if (wo_view_starts(name, "config.")) return nearest_behind(pack, arena, name, 7);
  if (wo_view_starts(name, "count.")) return nearest_behind(pack, arena, name, 6);
  if (wo_view_starts(name, "def.")) return nearest_behind(pack, arena, name, 4);
  struct wo_nearest nearest = {.want = name};
  for (size_t i = 0; i < FACT_COUNT; i++) wo_nearest_offer(&nearest, facts[i].name);
  return wo_nearest_best(&nearest);
}

/* Everything but the pack itself stands in its arena, the index included. */
struct wo_pack *wo_pack_free(struct wo_pack *pack) {
  if (pack == NULL) return NULL;
  wo__late_done(pack->late);
  wo_arena_done(&pack->arena);
  free(pack);
  return NULL;
}
