/* Names of a pack -> place in its arrays: one open hash table for rules of every sort and for facts.
 *
 * Private to rules/. Lives in the pack's arena; names are borrowed. Sized once, for a number of entries known before. */
#ifndef WO_PACK_INDEX_H
#define WO_PACK_INDEX_H

#include <stddef.h>

#include "parsers/base/arena.h"

enum wo_sort {
  WO_SORT_NONE,
  WO_SORT_PATTERN,
  WO_SORT_CAUSE,
  WO_SORT_FIX,
  WO_SORT_KNOB,
  WO_SORT_PHASE,
  WO_SORT_TERM,
  WO_SORT_MODEL,
  WO_SORT_DEFINE,
  WO_SORT_OFF,
  WO_SORT_FACT,
  WO_SORT_COUNT_
};

struct wo_pack_index;

/* A table with room for `entries`, or NULL when memory is out. */
struct wo_pack_index *wo_pack_index_new(struct wo_arena *arena, size_t entries);

/* Adds a name, which must not be there yet. */
void wo_pack_index_add(struct wo_pack_index *index, enum wo_sort sort, struct wo_view name, size_t value);

/* The value of a name, or WO_NOT_FOUND. NULL index: nothing is found. */
size_t wo_pack_index_find(const struct wo_pack_index *index, enum wo_sort sort, struct wo_view name);

#endif
