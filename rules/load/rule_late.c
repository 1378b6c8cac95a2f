/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in rules that are read when they are asked for (WO_LOAD_FOR_ONE_JOB).
 *
 * Reading all rules to their end was half of the time from start to exit. Their trees are compiled in, so only the place of each
 * has to be kept; the lint has already checked them for mistakes. */
#include <assert.h>
#include <stdlib.h>

#include "rules/load/rule_read_internal.h"

/* A rule whose rest is not read yet; object NULL: it has all its parts. */
struct unread {
  const struct wo_rule_json *json;
  const struct wo_tree *object;
};

struct wo_late {
  struct wo_loader *loader;
  struct wo_rule_json *jsons;
  size_t json_count;
  struct unread *causes; /* by place among the pack's causes */
  struct unread *fixes;
};

struct wo_late *wo__late_new(struct wo_arena *arena, size_t causes, size_t fixes) {
  struct wo_late *const late = wo_arena_array(arena, 1, sizeof *late);
  if (late == NULL) return NULL;
  late->causes = wo_arena_array(arena, causes + 1, sizeof *late->causes);
  late->fixes = wo_arena_array(arena, fixes + 1, sizeof *late->fixes);
  return late->causes == NULL || late->fixes == NULL ? NULL : late;
}

static struct unread *unread_of(struct wo_late *late, enum wo_sort sort, size_t slot) {
  assert(sort == WO_SORT_CAUSE || sort == WO_SORT_FIX);
  return sort == WO_SORT_CAUSE ? &late->causes[slot] : &late->fixes[slot];
}

void wo__late_put_off(struct wo_late *late, enum wo_sort sort, size_t slot, const struct wo_rule_json *json,
                      const struct wo_tree *object) {
  *unread_of(late, sort, slot) = (struct unread){.json = json, .object = object};
}

/* The caller's error object no longer exists. */
void wo__late_keep(struct wo_late *late, struct wo_loader *loader, struct wo_rule_json *jsons, size_t count) {
  late->loader = loader;
  late->jsons = jsons;
  late->json_count = count;
  loader->err = NULL;
  loader->notes = (struct wo_load_notes){0};
}

/* Reads the rest of a rule; NULL when memory is out. The pack is const to its users, who see the same rule before and after; the
 * loader has written it all along. */
static const void *finish(const struct wo_pack *pack, enum wo_sort sort, size_t slot) {
  void *const rule = wo__pack_rule(pack, sort, slot);
  if (pack->late == NULL || pack->late->loader == NULL) return rule;
  struct unread *const unread = unread_of(pack->late, sort, slot);
  struct wo_loader *const loader = pack->late->loader;
  if (unread->object == NULL) return rule;
  loader->json = unread->json;
  loader->status = WO_OK;
  loader->is_stopped = false;
  const bool is_read = (sort == WO_SORT_CAUSE ? wo__load_cause : wo__load_fix)(loader, unread->object, rule);
  if (is_read && loader->part == WO_PART_ALL) unread->object = NULL;
  return is_read ? rule : NULL;
}

const struct wo_cause *wo_pack_cause_head(const struct wo_pack *pack, size_t index) {
  assert(index < pack->cause_count);
  const struct wo_cause *const cause = &pack->causes[index];
  if (cause->when != NULL) return cause;
  struct wo_loader *const loader = pack->late->loader;
  loader->part = WO_PART_HEAD;
  const struct wo_cause *const read = finish(pack, WO_SORT_CAUSE, index);
  loader->part = WO_PART_ALL;
  return read;
}

const struct wo_cause *wo_pack_cause_at(const struct wo_pack *pack, size_t index) {
  assert(index < pack->cause_count);
  return finish(pack, WO_SORT_CAUSE, index);
}

const struct wo_cause *wo_pack_cause(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_CAUSE, id);
  return i == WO_NOT_FOUND ? NULL : finish(pack, WO_SORT_CAUSE, i);
}

const struct wo_fix *wo_pack_fix(const struct wo_pack *pack, struct wo_view id) {
  const size_t i = wo_pack_index_find(pack->index, WO_SORT_FIX, id);
  return i == WO_NOT_FOUND ? NULL : finish(pack, WO_SORT_FIX, i);
}

/* Everything but the pack itself, and what it was read from, is in its arena, the index included. */
struct wo_pack *wo_pack_free(struct wo_pack *pack) {
  if (pack == NULL) return NULL;
  struct wo_late *const late = pack->late;
  for (size_t i = 0; late != NULL && i < late->json_count; i++) wo_rule_json_done(&late->jsons[i]);
  if (late != NULL) free(late->jsons);
  if (late != NULL) free(late->loader);
  for (size_t i = 0; i < pack->source_count; i++) wo_rule_json_done(&pack->sources[i]);
  free(pack->sources);
  wo_arena_done(&pack->arena);
  free(pack);
  return NULL;
}
