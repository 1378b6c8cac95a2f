/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of the page, as a tree of frames: callers are shared. See viewer_internal.h. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/viewer/viewer_internal.h"

/* ---- Which stacks ---- */

/* Sums the blocks of the window up by stack. `all` has a place for each stack of the recording. */
static void sum_up(const struct wo__viewer *viewer, struct wo__viewer_stack *all) {
  const struct wo_lives *const lives = &viewer->look->lives;
  for (size_t i = 0; i < lives->blocks.count; i++) {
    const struct wo_life *const life = &lives->blocks.items[i];
    if (life->stack == WO_NO_STACK || !wo_life_is_in(life->birth, life->death, viewer->window)) continue;
    struct wo__viewer_stack *const stack = &all[life->stack];
    stack->count++;
    stack->total_bytes += life->size_bytes;
    stack->is_kept = stack->is_kept || viewer->is_kept[i];
    if (wo_life_is_at(life->birth, life->death, viewer->peak.entry)) stack->peak_bytes += life->size_bytes;
  }
}

/* Most important first: what is held at the peak, then what has blocks that can be pointed at. */
static int compare_weights(const void *left, const void *right) {
  const struct wo__viewer_stack *const a = left;
  const struct wo__viewer_stack *const b = right;
  if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
  if (a->is_kept != b->is_kept) return a->is_kept ? -1 : 1;
  if (a->total_bytes != b->total_bytes) return a->total_bytes > b->total_bytes ? -1 : 1;
  return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static bool collect(struct wo__viewer *viewer) {
  const struct wo_recording *const recording = viewer->look->lives.recording;
  struct wo__viewer_stack *const all = calloc(recording->stacks.count + 1, sizeof *all);
  if (all == NULL) return false;
  size_t count = 0;
  sum_up(viewer, all);
  for (size_t i = 0; i < recording->stacks.count; i++) {
    all[i].stack = (uint32_t)i;
    if (all[i].count > 0 && recording->stacks.items[i].count > 0) all[count++] = all[i];
  }
  viewer->stack_count = count;
  qsort(all, count, sizeof *all, compare_weights);
  if (count > WO_LIMIT_VIEWER_STACKS) count = WO_LIMIT_VIEWER_STACKS;
  const bool is_whole = WO_VEC_RESERVE(&viewer->stacks, count + 1, SIZE_MAX);
  for (size_t i = 0; i < count && is_whole; i++) viewer->stacks.items[viewer->stacks.count++] = all[i];
  free(all);
  return is_whole;
}

/* ---- The tree ---- */

/* A stack with its frames, the outermost last. */
struct path {
  const uint32_t *frames;
  uint32_t count;
  uint32_t place; /* in viewer->stacks */
};

/* From the outermost frame inwards, so that stacks with the same callers are neighbours. */
static int compare_paths(const void *left, const void *right) {
  const struct path *const a = left;
  const struct path *const b = right;
  for (uint32_t i = 1; i <= a->count && i <= b->count; i++) {
    const uint32_t x = a->frames[a->count - i], y = b->frames[b->count - i];
    if (x != y) return x < y ? -1 : 1;
  }
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static uint32_t count_shared(const struct path *a, const struct path *b) {
  uint32_t shared = 0;
  while (shared < a->count && shared < b->count && a->frames[a->count - 1 - shared] == b->frames[b->count - 1 - shared]) shared++;
  return shared;
}

/* The node of a path that is `depth` nodes below the top, going up from one that is `from` nodes below it. */
static uint32_t ancestor(const struct wo__viewer *viewer, uint32_t node, uint32_t from, uint32_t depth) {
  for (; from > depth; from--) node = viewer->nodes.items[node].parent;
  return depth == 0 ? UINT32_MAX : node;
}

/* Adds the paths in order. *ret_fits is false if they need too many nodes. False if memory is out. */
static bool add_paths(struct wo__viewer *viewer, const struct path *paths, size_t count, bool *ret_fits) {
  uint32_t last = UINT32_MAX;
  viewer->nodes.count = 0;
  for (size_t i = 0; i < count; i++) {
    const uint32_t shared = i == 0 ? 0 : count_shared(&paths[i - 1], &paths[i]);
    uint32_t node = i == 0 ? UINT32_MAX : ancestor(viewer, last, paths[i - 1].count, shared);
    *ret_fits = viewer->nodes.count + (paths[i].count - shared) <= WO_LIMIT_VIEWER_NODES;
    if (!*ret_fits) return true;
    if (!WO_VEC_RESERVE(&viewer->nodes, paths[i].count - shared + 1, SIZE_MAX)) return false;
    for (uint32_t k = shared; k < paths[i].count; k++) {
      viewer->nodes.items[viewer->nodes.count] = (struct wo__viewer_node){node, paths[i].frames[paths[i].count - 1 - k]};
      node = (uint32_t)viewer->nodes.count++;
    }
    viewer->stacks.items[paths[i].place].node = last = node;
  }
  return true;
}

/* The tree of all stacks of the page; fewer stacks, as long as there are too many nodes or names. */
bool wo__viewer_name(struct wo__viewer *viewer) {
  const struct wo_recording *const recording = viewer->look->lives.recording;
  if (!collect(viewer)) return false;
  struct path *const paths = malloc((viewer->stacks.count + 1) * sizeof *paths);
  bool is_whole = paths != NULL, fits = false;
  while (is_whole && !fits) {
    const size_t count = viewer->stacks.count;
    for (size_t i = 0; i < count; i++) {
      const struct wo_stack stack = recording->stacks.items[viewer->stacks.items[i].stack];
      paths[i] = (struct path){&recording->stack_frames.items[stack.first], stack.count, (uint32_t)i};
    }
    if (count > 0) qsort(paths, count, sizeof *paths, compare_paths);
    fits = true;
    is_whole = add_paths(viewer, paths, count, &fits);
    if (is_whole && fits) is_whole = wo__viewer_texts(viewer, &fits);
    if (!fits) viewer->stacks.count /= 2;
  }
  free(paths);
  return is_whole;
}
