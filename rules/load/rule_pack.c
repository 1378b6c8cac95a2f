/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in a loaded pack: rules by id, facts by name.
 *
 * Facts are a fixed list (facts.def), the rest is what was loaded. All lookups go through one
 * index; a pack that was not loaded to its end has none and finds nothing. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "rules/language/event_fact.h"
#include "rules/load/pack_internal.h"

/* ---- rules ------------------------------------------------------------------------------------------------------------ */

#define SORT(name, type, array, count) name, sizeof(type), offsetof(struct wo_pack, array), offsetof(struct wo_pack, count)

/* Patterns have their place beside them, among the samples. */
const struct wo_sort_row wo__sort_rows[] = {
    [WO_SORT_NONE] = {.name = ""},
    [WO_SORT_PATTERN] = {SORT("pattern", struct wo_pattern, patterns, pattern_count), WO_NOT_FOUND}, /* beside it */
    [WO_SORT_CAUSE] = {SORT("cause", struct wo_cause, causes, cause_count), offsetof(struct wo_cause, place)},
    [WO_SORT_FIX] = {SORT("fix", struct wo_fix, fixes, fix_count), offsetof(struct wo_fix, place)},
    [WO_SORT_KNOB] = {SORT("knob", struct wo_knob, knobs, knob_count), offsetof(struct wo_knob, place)},
    [WO_SORT_PHASE] = {SORT("phase", struct wo_phase_hint, phases, phase_count), offsetof(struct wo_phase_hint, place)},
    [WO_SORT_TERM] = {SORT("term", struct wo_term, terms, term_count), offsetof(struct wo_term, place)},
    [WO_SORT_MODEL] = {SORT("model", struct wo_model_shape, models, model_count), offsetof(struct wo_model_shape, place)},
    [WO_SORT_DEFINE] = {SORT("define", struct wo_define, defines, define_count), offsetof(struct wo_define, place)},
    [WO_SORT_OFF] = {SORT("off", struct wo_off, offs, off_count), offsetof(struct wo_off, place)},
    [WO_SORT_SIGN] = {SORT("sign", struct wo_sign, signs, sign_count), offsetof(struct wo_sign, place)},
};
_Static_assert(offsetof(struct wo_pattern, id) == 0 && offsetof(struct wo_cause, id) == 0 && offsetof(struct wo_fix, id) == 0 &&
                   offsetof(struct wo_knob, id) == 0 && offsetof(struct wo_phase_hint, phase) == 0 &&
                   offsetof(struct wo_term, id) == 0 && offsetof(struct wo_model_shape, id) == 0 &&
                   offsetof(struct wo_define, id) == 0 && offsetof(struct wo_off, id) == 0 && offsetof(struct wo_sign, id) == 0,
               "every rule begins with its id");

size_t *wo__pack_count(struct wo_pack *pack, enum wo_sort sort) {
  return (size_t *)(void *)((char *)pack + wo__sort_rows[sort].count_offset);
}

void *wo__pack_rule(const struct wo_pack *pack, enum wo_sort sort, size_t at) {
  char *array = NULL;
  memcpy(&array, (const char *)pack + wo__sort_rows[sort].array_offset, sizeof array);
  return array + at * wo__sort_rows[sort].size;
}

struct wo_rule_place *wo__pack_place(const struct wo_pack *pack, enum wo_sort sort, size_t at) {
  if (sort == WO_SORT_PATTERN) return &pack->samples[at].place;
  return (struct wo_rule_place *)(void *)((char *)wo__pack_rule(pack, sort, at) + wo__sort_rows[sort].place_offset);
}

void wo__pack_offer(const struct wo_pack *pack, enum wo_sort sort, struct wo_nearest *nearest) {
  size_t count = 0;
  memcpy(&count, (const char *)pack + wo__sort_rows[sort].count_offset, sizeof count);
  for (size_t i = 0; i < count; i++) wo_nearest_offer(nearest, *(const struct wo_view *)wo__pack_rule(pack, sort, i));
}

/* ---- facts ------------------------------------------------------------------------------------------------------------ */

/* Names are views with their length, so that indexing them measures nothing at run time. */
static const struct wo_fact facts[] = {
#define WO_FACT(name, unit, meaning) {{(name), sizeof(name) - 1}, WO_UNIT_##unit, #unit, meaning},
#include "rules/language/facts.def"
#include "rules/language/rows.def"
#undef WO_FACT
};
enum { FACT_COUNT = sizeof facts / sizeof facts[0] };

const struct wo_fact *wo_fact_list(size_t *ret_count) {
  *ret_count = FACT_COUNT;
  return facts;
}

const struct wo_fact *wo_fact_find(struct wo_view name) {
  for (size_t i = 0; i < FACT_COUNT; i++) {
    if (wo_view_equal(facts[i].name, name)) return &facts[i];
  }
  return NULL;
}

/* The value of an entry is its row above; the order of the list does not matter to rules. */
void wo__fact_index(struct wo_pack_index *index) {
  assert(index != NULL);
  for (size_t i = 0; i < FACT_COUNT; i++) wo_pack_index_add(index, WO_SORT_FACT, facts[i].name, i);
}

/* The lookups differ in the sort alone. Their results live as long as the pack. */
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

/* Offers the ids that may follow a prefix, and puts the prefix before the best. */
static void offer_behind(const struct wo_pack *pack, struct wo_arena *arena, struct wo_known_names *known,
                         struct wo_view prefix) {
  struct wo_nearest nearest = {.want = wo_view_skip(known->nearest.want, prefix.len)};
  if (wo_view_is(prefix, "config.")) {
    wo__pack_offer(pack, WO_SORT_KNOB, &nearest);
  } else if (wo_view_is(prefix, "def.")) {
    wo__pack_offer(pack, WO_SORT_DEFINE, &nearest);
  } else {
    wo_event_kinds_offer(&nearest);
  }
  const struct wo_view best = wo_nearest_best(&nearest);
  if (best.len > 0) wo_known_offer(known, wo_arena_format(arena, "%.*s%.*s", WO_SHOWN(prefix), WO_SHOWN(best)));
}

void wo__fact_offer(const struct wo_pack *pack, struct wo_arena *arena, struct wo_known_names *known) {
  static const struct wo_view prefixes[] = {{"config.", 7}, {"def.", 4}, {"count.", 6}};
  const struct wo_view name = known->nearest.want;
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
    if (!wo_view_starts(name, prefixes[i].ptr)) continue;
    offer_behind(pack, arena, known, prefixes[i]);
    return;
  }
  const size_t dot = wo_view_find_char(name, '.', 0);
  const struct wo_view table = dot == WO_NOT_FOUND ? (struct wo_view){0} : wo_view_sub(name, 0, dot + 1);
  for (size_t i = 0; i < FACT_COUNT; i++) {
    const bool is_listed = table.len > 0 && facts[i].name.len > table.len && memcmp(facts[i].name.ptr, table.ptr, table.len) == 0;
    if (is_listed) wo_known_offer(known, facts[i].name);
    if (!is_listed) wo_nearest_offer(&known->nearest, facts[i].name);
  }
}
