/* SPDX-License-Identifier: Apache-2.0 */
/* Makes patterns by appending: a new pattern is written in the order of its run. */
#include "cuda_replay/pattern/alloc_pattern_edit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/vec.h"

/* Requests and instances have 32-bit indices; the highest index means "none". */
enum { INDEX_MAX = INT32_MAX };

/* Instances and requests hold no pointers, so a copy is two blocks of bytes. */
bool wo_alloc_pattern_copy(const struct wo_alloc_pattern *pattern, struct wo_alloc_pattern *ret_pattern) {
  struct wo_alloc_pattern copy = {.recording = pattern->recording,
                                  .start_count = pattern->start_count,
                                  .hidden_pools = pattern->hidden_pools,
                                  .probe_count = pattern->probe_count};
  size_t requests = pattern->requests.count, instances = pattern->instances.count;
  if ((requests > 0 && !WO_VEC_RESERVE(&copy.requests, requests, SIZE_MAX)) ||
      (instances > 0 && !WO_VEC_RESERVE(&copy.instances, instances, SIZE_MAX))) {
    wo_alloc_pattern_done(&copy);
    return false;
  }
  if (requests > 0) memcpy(copy.requests.items, pattern->requests.items, requests * sizeof copy.requests.items[0]);
  if (instances > 0) memcpy(copy.instances.items, pattern->instances.items, instances * sizeof copy.instances.items[0]);
  copy.requests.count = requests;
  copy.instances.count = instances;
  *ret_pattern = copy;
  return true;
}

/* Instances are born in the order of their indices, so that those that stay keep their order. `to`: their new indices. */
static void drop_probes(struct wo_alloc_pattern *pattern, uint32_t *to) {
  const struct wo_alloc_pattern from = *pattern;
  pattern->requests.count = 0;
  pattern->instances.count = 0;
  for (size_t i = 0; i < from.instances.count; i++) {
    const struct wo_instance instance = from.instances.items[i];
    const bool stays = i < from.start_count || from.requests.items[instance.birth].kind != WO_REQUEST_PROBE;
    to[i] = (uint32_t)pattern->instances.count;
    if (stays) pattern->instances.items[pattern->instances.count++] = instance;
  }
  for (uint32_t r = 0; r < from.requests.count; r++) {
    struct wo_request request = from.requests.items[r];
    if (request.kind == WO_REQUEST_PROBE) continue;
    const uint32_t at = (uint32_t)pattern->requests.count;
    if (wo_request_has_instance(&request)) {
      request.subject = to[request.subject];
      struct wo_instance *const instance = &pattern->instances.items[request.subject];
      if (instance->birth == r && request.kind == WO_REQUEST_ALLOC) instance->birth = at;
      if (instance->death == r) instance->death = at;
    }
    pattern->requests.items[pattern->requests.count++] = request;
  }
  pattern->probe_count = 0;
}

bool wo_alloc_pattern_drop_probes(struct wo_alloc_pattern *pattern) {
  if (pattern->probe_count == 0) return true;
  uint32_t *const to = malloc((pattern->instances.count + 1) * sizeof *to);
  if (to) drop_probes(pattern, to);
  free(to);
  return to != NULL;
}

bool wo_alloc_pattern_add_start(struct wo_alloc_pattern *pattern, struct wo_instance instance) {
  assert(pattern->start_count == pattern->instances.count);
  if (!WO_VEC_RESERVE(&pattern->instances, 1, INDEX_MAX)) return false;
  instance.birth = instance.death = WO_NO_REQUEST;
  pattern->instances.items[pattern->instances.count++] = instance;
  pattern->start_count++;
  return true;
}

bool wo_alloc_pattern_add_alloc(struct wo_alloc_pattern *pattern, struct wo_instance instance, uint32_t entry,
                                uint32_t *ret_instance) {
  if (!WO_VEC_RESERVE(&pattern->instances, 1, INDEX_MAX) || !WO_VEC_RESERVE(&pattern->requests, 1, INDEX_MAX)) return false;
  uint32_t index = (uint32_t)pattern->instances.count++;
  instance.birth = (uint32_t)pattern->requests.count;
  instance.death = WO_NO_REQUEST;
  pattern->instances.items[index] = instance;
  pattern->requests.items[pattern->requests.count++] = (struct wo_request){
      .kind = WO_REQUEST_ALLOC, .stream = instance.stream, .pool = instance.pool, .subject = index, .entry = entry};
  *ret_instance = index;
  return true;
}

bool wo_alloc_pattern_add_request(struct wo_alloc_pattern *pattern, struct wo_request request) {
  if (!WO_VEC_RESERVE(&pattern->requests, 1, INDEX_MAX)) return false;
  uint32_t at = (uint32_t)pattern->requests.count;
  if (request.kind == WO_REQUEST_FREE || request.kind == WO_REQUEST_DEFER) {
    assert(request.subject < pattern->instances.count);
    assert(pattern->instances.items[request.subject].death == WO_NO_REQUEST);
    pattern->instances.items[request.subject].death = at;
  }
  pattern->requests.items[pattern->requests.count++] = request;
  return true;
}

bool wo_alloc_pattern_add_refused(struct wo_alloc_pattern *pattern, struct wo_instance instance, uint32_t entry,
                                  uint32_t *ret_instance) {
  if (!wo_alloc_pattern_add_alloc(pattern, instance, entry, ret_instance)) return false;
  pattern->instances.items[*ret_instance].death = pattern->instances.items[*ret_instance].birth;
  return true;
}

bool wo_alloc_pattern_add_again(struct wo_alloc_pattern *pattern, const struct wo_instance *instance, uint32_t entry,
                                uint32_t *ret_instance) {
  const bool was_refused = instance->birth != WO_NO_REQUEST && instance->death == instance->birth;
  return was_refused ? wo_alloc_pattern_add_refused(pattern, *instance, entry, ret_instance)
                     : wo_alloc_pattern_add_alloc(pattern, *instance, entry, ret_instance);
}

bool wo_alloc_pattern_add_free(struct wo_alloc_pattern *pattern, uint32_t instance) {
  const struct wo_instance *dead = &pattern->instances.items[instance];
  return wo_alloc_pattern_add_request(
      pattern,
      (struct wo_request){
          .kind = WO_REQUEST_FREE, .stream = dead->stream, .pool = dead->pool, .subject = instance, .entry = WO_NO_ENTRY});
}

uint32_t wo_alloc_pattern_last_birth(const struct wo_alloc_pattern *pattern) {
  for (size_t r = pattern->requests.count; r-- > 0;) {
    if (pattern->requests.items[r].kind == WO_REQUEST_ALLOC) return (uint32_t)r;
  }
  return 0;
}

int wo_sized_instance_compare(const void *a, const void *b) {
  const struct wo_sized_instance *const left = a, *const right = b;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return (left->instance > right->instance) - (left->instance < right->instance);
}

/* A row of the table of survivors, which is sorted by size and birth. */
struct survivor {
  uint64_t size_bytes;
  uint32_t instance;
  uint32_t below; /* the next one on the stack of those already born, or NONE */
};

/* The survivors of one size: those already born, and those still to come. */
struct survivor_group {
  uint32_t next; /* the first that is not yet born (index into the table) */
  uint32_t end;
  uint32_t top; /* the last born that has no place yet, or NONE */
};

enum { NONE = INT32_MAX };

/* By size, then by birth: instances are born in the order of their indices. */
static int compare_survivors(const void *a, const void *b) {
  const struct survivor *left = a, *right = b;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return (left->instance > right->instance) - (left->instance < right->instance);
}

/* The table and, for each of its rows, the group (kept at the row where the size begins). */
struct survivors {
  struct survivor *rows;
  struct survivor_group *groups;
  size_t count;
};

/* Gathers and sorts the survivors; false when memory is out. The caller frees them in either case. */
static bool survivors_make(const struct wo_alloc_pattern *pattern, struct survivors *survivors) {
  size_t most = pattern->instances.count - pattern->start_count + 1;
  survivors->rows = malloc(most * sizeof survivors->rows[0]);
  survivors->groups = malloc(most * sizeof survivors->groups[0]);
  survivors->count = 0;
  if (survivors->rows == NULL || survivors->groups == NULL) return false;
  for (size_t i = pattern->start_count; i < pattern->instances.count; i++) {
    const struct wo_instance *instance = &pattern->instances.items[i];
    if (instance->death != WO_NO_REQUEST) continue;
    survivors->rows[survivors->count++] = (struct survivor){instance->size_bytes, (uint32_t)i, NONE};
  }
  qsort(survivors->rows, survivors->count, sizeof survivors->rows[0], compare_survivors);
  for (size_t first = 0, end; first < survivors->count; first = end) {
    for (end = first + 1; end < survivors->count && survivors->rows[end].size_bytes == survivors->rows[first].size_bytes;) end++;
    survivors->groups[first] = (struct survivor_group){(uint32_t)first, (uint32_t)end, NONE};
  }
  return true;
}

/* The group of a size; NULL when nothing of that size survives. */
static struct survivor_group *survivors_of(const struct survivors *survivors, uint64_t size_bytes) {
  size_t low = 0;
  WO_LOWER_BOUND(low, survivors->count, at, survivors->rows[at].size_bytes < size_bytes);
  return low < survivors->count && survivors->rows[low].size_bytes == size_bytes ? &survivors->groups[low] : NULL;
}

/* Takes a survivor for the place of the instance that dies at request `death`. Deaths come in order, so a survivor that is born
 * stays born. */
static uint32_t take_survivor(const struct wo_alloc_pattern *pattern, struct survivors *survivors, uint64_t size_bytes,
                              size_t death) {
  struct survivor_group *group = survivors_of(survivors, size_bytes);
  if (group == NULL) return WO_NO_SUCCESSOR;
  assert(group->next <= group->end && group->end <= survivors->count);
  while (group->next < group->end && pattern->instances.items[survivors->rows[group->next].instance].birth < death) {
    survivors->rows[group->next].below = group->top;
    group->top = group->next++;
  }
  uint32_t row = group->top;
  if (row != NONE)
    group->top = survivors->rows[row].below;
  else if (group->next < group->end)
    row = group->next++;
  return row == NONE ? WO_NO_SUCCESSOR : survivors->rows[row].instance;
}

bool wo_alloc_pattern_successors(const struct wo_alloc_pattern *pattern, uint32_t **ret_successors) {
  struct survivors survivors;
  uint32_t *successors = malloc((pattern->start_count + 1) * sizeof successors[0]);
  bool is_made = survivors_make(pattern, &survivors);
  if (is_made && successors != NULL) {
    for (size_t i = 0; i < pattern->start_count; i++) successors[i] = WO_NO_SUCCESSOR;
    for (size_t r = 0; r < pattern->requests.count; r++) {
      const struct wo_request *request = &pattern->requests.items[r];
      bool is_free = request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER;
      if (!is_free || request->subject >= pattern->start_count) continue;
      uint64_t size_bytes = pattern->instances.items[request->subject].size_bytes;
      successors[request->subject] = take_survivor(pattern, &survivors, size_bytes, r);
    }
  }
  free(survivors.rows);
  free(survivors.groups);
  if (!is_made || successors == NULL) {
    free(successors);
    return false;
  }
  *ret_successors = successors;
  return true;
}
