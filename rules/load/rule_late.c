/* Built-in rules that are read when they are asked for (WO_LOAD_FOR_ONE_JOB).
 *
 * Reading all rules to their end was half of the time from start to exit. Their trees are compiled in, so that nothing has to be
 * kept but where each stands; what can be wrong in them is the lint's business, and has been. */
#include <assert.h>
#include <stdlib.h>

#include "rules/load/rule_read.h"

/* A rule whose rest is not read yet; object NULL: it has all its parts. */
struct unread {
  const struct wo_json *json;
  const struct wo_tree *object;
};

struct wo_late {
  struct wo_loader *loader;
  struct wo_json *jsons;
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

void wo__late_put_off(struct wo_late *late, enum wo_sort sort, size_t slot, const struct wo_json *json,
                      const struct wo_tree *object) {
  *unread_of(late, sort, slot) = (struct unread){.json = json, .object = object};
}

/* The error that the caller of the load had room for is gone by now. */
void wo__late_keep(struct wo_late *late, struct wo_loader *loader, struct wo_json *jsons, size_t count) {
  late->loader = loader;
  late->jsons = jsons;
  late->json_count = count;
  loader->err = NULL;
}

/* The pack is const to its users, who see the same rule before and after; the loader has written it all along. */
bool wo__late_finish(const struct wo_pack *pack, enum wo_sort sort, size_t slot) {
  if (pack->late == NULL || pack->late->loader == NULL) return true;
  struct unread *const unread = unread_of(pack->late, sort, slot);
  struct wo_loader *const loader = pack->late->loader;
  if (unread->object == NULL) return true;
  loader->json = unread->json;
  loader->status = WO_OK;
  const bool is_read = sort == WO_SORT_CAUSE ? wo__load_cause(loader, unread->object, &loader->pack->causes[slot])
                                             : wo__load_fix(loader, unread->object, &loader->pack->fixes[slot]);
  if (is_read) unread->object = NULL;
  return is_read;
}

void wo__late_done(struct wo_late *late) {
  if (late == NULL || late->loader == NULL) return;
  for (size_t i = 0; i < late->json_count; i++) wo_json_done(&late->jsons[i]);
  free(late->jsons);
  free(late->loader);
}
