/* SPDX-License-Identifier: Apache-2.0 */
/* A pack from inside: its rules by sort and place, and its names. Private to rules/.
 *
 * Names -> places in the pack's arrays: one open hash table for rules of every sort and for facts. It lives in the pack's arena;
 * names are borrowed. Sized once, for a number of entries known before. */
#ifndef WO_PACK_INTERNAL_H
#define WO_PACK_INTERNAL_H

#include "parsers/base/nearest/nearest.h"
#include "rules/load/rule.h"

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
  WO_SORT_SIGN,
  WO_SORT_FACT, /* no rule: facts have names in the index, but no file can bring one */
  WO_SORT_COUNT_
};

/* Where a pack keeps the rules of a sort. Every rule begins with its id. */
struct wo_sort_row {
  const char *name;    /* the first key of such a rule: "cause" */
  size_t size;         /* of a rule */
  size_t array_offset; /* in struct wo_pack, of the pointer to the first rule */
  size_t count_offset; /* in struct wo_pack */
  size_t place_offset; /* in the rule, of its struct wo_rule_place; WO_NOT_FOUND: it keeps none */
};
extern const struct wo_sort_row wo__sort_rows[WO_SORT_FACT];

/* How many rules of a sort there are / the rule at a place, which may be one that is not counted yet. */
size_t *wo__pack_count(struct wo_pack *pack, enum wo_sort sort);
void *wo__pack_rule(const struct wo_pack *pack, enum wo_sort sort, size_t at);

/* The place of that rule. */
struct wo_rule_place *wo__pack_place(const struct wo_pack *pack, enum wo_sort sort, size_t at);

/* Offers the ids of all rules of a sort. */
void wo__pack_offer(const struct wo_pack *pack, enum wo_sort sort, struct wo_nearest *nearest);

/* Offers facts, settings and counts in place of a name that does not exist, and lists those that begin as it does ("gpu."). The
 * closest one may live in `arena`. */
void wo__fact_offer(const struct wo_pack *pack, struct wo_arena *arena, struct wo_known_names *known);

/* Adds all facts of wo_fact_list to an index with room for them. */
void wo__fact_index(struct wo_pack_index *index);

/* A table with room for `entries`, or NULL when memory is out. */
struct wo_pack_index *wo_pack_index_new(struct wo_arena *arena, size_t entries);

/* Adds a name, which must not be there yet. */
void wo_pack_index_add(struct wo_pack_index *index, enum wo_sort sort, struct wo_view name, size_t value);

/* The value of a name, or WO_NOT_FOUND. NULL index: nothing is found. */
size_t wo_pack_index_find(const struct wo_pack_index *index, enum wo_sort sort, struct wo_view name);

/* Hashes of rules begin with this; each call adds a number, or a text with its length. */
#define WO__RULE_HASH_START UINT64_C(14695981039346656037)
void wo__hash_number(uint64_t *hash, uint64_t number);
void wo__hash_text(uint64_t *hash, struct wo_view text);

#endif
