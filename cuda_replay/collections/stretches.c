/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches as rooms of a tree: the room of a stretch is the gap before it. */
#include "cuda_replay/collections/stretches.h"

#include <assert.h>

static struct wo_stretch stretch_of(const struct wo_room *room) {
  return (struct wo_stretch){room->start, room->value};
}

/* The end of the last stretch that begins below `address`; 0 when there is none. */
static uint64_t end_before(const struct wo_stretches *list, uint64_t address) {
  struct wo_room room;
  return address > 0 && wo_room_tree_below(&list->gaps, address - 1, &room) ? room.value : 0;
}

static uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) & ~(step - 1);
}

static uint64_t round_down(uint64_t value, uint64_t step) {
  return value & ~(step - 1);
}

/* ---- Changing ---- */

/* Writes a stretch into the trees, with the gap before it. */
static void put(struct wo_stretches *list, struct wo_stretch stretch) {
  const uint64_t before = end_before(list, stretch.start);
  wo_room_tree_put(&list->gaps, (struct wo_room){stretch.start, stretch.start - before, stretch.end});
  if (list->stride_bytes == 0) return;
  const uint64_t strided = round_up(before, list->stride_bytes);
  const uint64_t bytes = strided < stretch.start ? stretch.start - strided : 0;
  wo_room_tree_put(&list->strided, (struct wo_room){stretch.start, bytes, stretch.end});
}

/* Measures the gap before the first stretch from `address` on. */
static void measure_gap(struct wo_stretches *list, uint64_t address) {
  struct wo_room room;
  if (wo_room_tree_above(&list->gaps, address, &room)) put(list, stretch_of(&room));
}

bool wo_stretches_add(struct wo_stretches *list, struct wo_stretch stretch) {
  assert(stretch.start < stretch.end);
  if (!wo_room_tree_reserve(&list->gaps, list->gaps.count + 1)) return false;
  if (list->stride_bytes > 0 && !wo_room_tree_reserve(&list->strided, list->strided.count + 1)) return false;
  put(list, stretch);
  measure_gap(list, stretch.end);
  return true;
}

bool wo_stretches_remove(struct wo_stretches *list, uint64_t start) {
  if (!wo_room_tree_remove(&list->gaps, start)) return false;
  wo_room_tree_remove(&list->strided, start);
  measure_gap(list, start);
  return true;
}

void wo_stretches_done(struct wo_stretches *list) {
  wo_room_tree_done(&list->gaps);
  wo_room_tree_done(&list->strided);
}

/* ---- Finding ---- */

bool wo_stretches_above(const struct wo_stretches *list, uint64_t address, struct wo_stretch *ret_stretch) {
  struct wo_room room;
  const bool is_inside = wo_room_tree_below(&list->gaps, address, &room) && room.value > address;
  if (!is_inside && !wo_room_tree_above(&list->gaps, address, &room)) return false;
  *ret_stretch = stretch_of(&room);
  return true;
}

/* The tree in which every gap that is wide enough fits the wish, if there is one for its stride. */
static const struct wo_room_tree *tree_for(const struct wo_stretches *list, const struct wo_gap_wish *wish) {
  return wish->stride_bytes == list->stride_bytes ? &list->strided : &list->gaps;
}

/* Where a gap may begin that follows the stretches below `address`. */
static uint64_t start_before(const struct wo_stretches *list, uint64_t address, const struct wo_gap_wish *wish) {
  const uint64_t end = end_before(list, address);
  return end <= wish->space_start ? wish->space_start : round_up(end, wish->stride_bytes);
}

/* A gap that is wide enough may still lie partly below the space, or hold no multiple of a stride that has no tree. */
uint64_t wo_stretches_lowest_gap(const struct wo_stretches *list, const struct wo_gap_wish *wish) {
  assert((wish->stride_bytes & (wish->stride_bytes - 1)) == 0);
  const struct wo_room_tree *const tree = tree_for(list, wish);
  struct wo_room next;
  for (uint64_t from = wish->space_start; wo_room_tree_first(tree, from, wish->size_bytes, &next); from = next.start + 1) {
    const uint64_t start = start_before(list, next.start, wish);
    if (next.start >= start && next.start - start >= wish->size_bytes) return start;
  }
  const uint64_t start = start_before(list, UINT64_MAX, wish);
  return start < wish->space_end && wish->space_end - start >= wish->size_bytes ? start : 0;
}

/* The highest place that ends at or before `end`. */
static uint64_t place_below(uint64_t end, const struct wo_gap_wish *wish) {
  return end >= wish->size_bytes ? round_down(end - wish->size_bytes, wish->stride_bytes) : 0;
}

uint64_t wo_stretches_highest_gap(const struct wo_stretches *list, const struct wo_gap_wish *wish) {
  assert((wish->stride_bytes & (wish->stride_bytes - 1)) == 0);
  const struct wo_room_tree *const tree = tree_for(list, wish);
  uint64_t end = wish->space_end;
  struct wo_room before, next;
  /* The gap that reaches `end` first, and then those before a stretch that are wide enough. */
  while (end > 0 && wo_room_tree_below(&list->gaps, end - 1, &before)) {
    const uint64_t start = place_below(end, wish);
    if (start >= before.value) return start;
    end = before.start;
    if (!wo_room_tree_last(tree, end, wish->size_bytes, &next)) return 0;
    end = next.start;
  }
  const bool has_room = end >= wish->space_start + wish->size_bytes + wish->stride_bytes;
  return has_room ? place_below(end, wish) : 0;
}
