/* Leaves of stretches. Two neighbouring leaves are joined when they have become small, so that lists that shrink stay short. */
#include "cuda_replay/collections/stretches.h"

#include <assert.h>

#include "parsers/base/vec.h"

/* Most stretches of a leaf, and of two leaves that are joined. */
enum { LEAF_MAX = WO_STRETCH_LEAF_MAX, MERGE_MAX = 24 };

static struct wo_stretch_leaf *leaf_at(const struct wo_stretches *list, size_t index) {
  assert(index < list->leaves.count);
  return list->leaves.items[index];
}

static struct wo_stretch last_of(const struct wo_stretch_leaf *leaf) {
  return leaf->items[leaf->count - 1];
}

/* The widest of the gaps that lie directly before the stretches of a leaf. */
static uint64_t widest_gap(const struct wo_stretches *list, size_t index) {
  const struct wo_stretch_leaf *const leaf = leaf_at(list, index);
  uint64_t end = index == 0 ? 0 : last_of(leaf_at(list, index - 1)).end;
  uint64_t widest_bytes = 0;
  for (size_t i = 0; i < leaf->count; i++) {
    const uint64_t gap_bytes = leaf->items[i].start - end;
    widest_bytes = gap_bytes > widest_bytes ? gap_bytes : widest_bytes;
    end = leaf->items[i].end;
  }
  return widest_bytes;
}

/* Measures a changed leaf again, and the next one, whose first gap changed too. */
static void measure(struct wo_stretches *list, size_t index) {
  for (size_t i = index; i < list->leaves.count && i < index + 2; i++) leaf_at(list, i)->widest_bytes = widest_gap(list, i);
}

/* ---- Finding ---- */

/* The last leaf that begins at or below `address`; the first leaf when there is none. The list is not empty. */
static size_t find_leaf(const struct wo_stretches *list, uint64_t address) {
  size_t start = 0;
  for (size_t end = list->leaves.count; end - start > 1;) {
    const size_t middle = start + (end - start) / 2;
    if (leaf_at(list, middle)->items[0].start <= address) {
      start = middle;
    } else {
      end = middle;
    }
  }
  return start;
}

/* The number of stretches of a leaf that begin below `address`. */
static size_t count_below(const struct wo_stretch_leaf *leaf, uint64_t address) {
  size_t below = 0;
  for (size_t i = 0; i < leaf->count; i++) below += leaf->items[i].start < address;
  return below;
}

bool wo_stretches_above(const struct wo_stretches *list, uint64_t address, struct wo_stretch *ret_stretch) {
  for (size_t i = list->leaves.count == 0 ? 0 : find_leaf(list, address); i < list->leaves.count; i++) {
    const struct wo_stretch_leaf *const leaf = leaf_at(list, i);
    for (size_t k = 0; k < leaf->count; k++) {
      if (leaf->items[k].end <= address) continue;
      *ret_stretch = leaf->items[k];
      return true;
    }
  }
  return false;
}

/* ---- Changing ---- */

static void close_leaf(struct wo_stretches *list, size_t index) {
  free(leaf_at(list, index));
  struct wo_stretch_leaf **const at = &list->leaves.items[index];
  list->leaves.count--;
  memmove(at, at + 1, (list->leaves.count - index) * sizeof(struct wo_stretch_leaf *));
}

/* Adds an empty leaf; NULL when memory is out. */
static struct wo_stretch_leaf *open_leaf(struct wo_stretches *list, size_t index) {
  if (!WO_VEC_RESERVE(&list->leaves, 1, SIZE_MAX)) return NULL;
  struct wo_stretch_leaf *const leaf = calloc(1, sizeof *leaf);
  if (leaf == NULL) return NULL;
  struct wo_stretch_leaf **const at = &list->leaves.items[index];
  memmove(at + 1, at, (list->leaves.count - index) * sizeof(struct wo_stretch_leaf *));
  *at = leaf;
  list->leaves.count++;
  return leaf;
}

/* Moves the upper half of a full leaf to a new one after it. */
static bool cut(struct wo_stretches *list, size_t index) {
  struct wo_stretch_leaf *const right = open_leaf(list, index + 1);
  if (right == NULL) return false;
  struct wo_stretch_leaf *const left = leaf_at(list, index);
  right->count = LEAF_MAX / 2;
  left->count = LEAF_MAX - right->count;
  memcpy(right->items, &left->items[left->count], right->count * sizeof right->items[0]);
  measure(list, index);
  return true;
}

/* Joins a leaf with the next one when both are small. */
static void join(struct wo_stretches *list, size_t index) {
  if (index + 1 >= list->leaves.count) return;
  struct wo_stretch_leaf *const left = leaf_at(list, index);
  const struct wo_stretch_leaf *const right = leaf_at(list, index + 1);
  if (left->count + right->count > MERGE_MAX) return;
  memcpy(&left->items[left->count], right->items, right->count * sizeof right->items[0]);
  left->count += right->count;
  close_leaf(list, index + 1);
  measure(list, index);
}

bool wo_stretches_add(struct wo_stretches *list, struct wo_stretch stretch) {
  assert(stretch.start < stretch.end);
  if (list->leaves.count == 0 && open_leaf(list, 0) == NULL) return false;
  size_t index = find_leaf(list, stretch.start);
  if (leaf_at(list, index)->count == LEAF_MAX) {
    if (!cut(list, index)) return false;
    index = find_leaf(list, stretch.start);
  }
  struct wo_stretch_leaf *const leaf = leaf_at(list, index);
  const size_t below = count_below(leaf, stretch.start);
  struct wo_stretch *const at = &leaf->items[below];
  memmove(at + 1, at, (leaf->count - below) * sizeof *at);
  *at = stretch;
  leaf->count++;
  measure(list, index);
  return true;
}

bool wo_stretches_remove(struct wo_stretches *list, uint64_t start) {
  if (list->leaves.count == 0) return false;
  const size_t index = find_leaf(list, start);
  struct wo_stretch_leaf *const leaf = leaf_at(list, index);
  const size_t below = count_below(leaf, start);
  if (below == leaf->count || leaf->items[below].start != start) return false;
  struct wo_stretch *const at = &leaf->items[below];
  leaf->count--;
  memmove(at, at + 1, (leaf->count - below) * sizeof *at);
  if (leaf->count == 0) close_leaf(list, index);
  measure(list, index);
  join(list, index);
  if (index > 0) join(list, index - 1);
  return true;
}

void wo_stretches_done(struct wo_stretches *list) {
  for (size_t i = 0; i < list->leaves.count; i++) free(list->leaves.items[i]);
  WO_VEC_DONE(&list->leaves);
}

/* ---- Gaps ---- */

static uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) & ~(step - 1);
}

static uint64_t round_down(uint64_t value, uint64_t step) {
  return value & ~(step - 1);
}

/* Looks for a gap before the stretches of a leaf. *start: where a gap may begin; afterwards the same for the next leaf. */
static bool find_in_front(const struct wo_stretch_leaf *leaf, const struct wo_gap_wish *wish, uint64_t *start) {
  for (size_t i = 0; i < leaf->count; i++) {
    const struct wo_stretch stretch = leaf->items[i];
    if (stretch.end <= wish->space_start) continue;
    if (stretch.start >= *start && stretch.start - *start >= wish->size_bytes) return true;
    *start = round_up(stretch.end, wish->stride_bytes);
  }
  return false;
}

uint64_t wo_stretches_lowest_gap(const struct wo_stretches *list, const struct wo_gap_wish *wish) {
  assert((wish->stride_bytes & (wish->stride_bytes - 1)) == 0);
  uint64_t start = wish->space_start;
  for (size_t i = 0; i < list->leaves.count; i++) {
    const struct wo_stretch_leaf *const leaf = leaf_at(list, i);
    const uint64_t end = last_of(leaf).end;
    if (end <= wish->space_start) continue;
    if (leaf->widest_bytes < wish->size_bytes) {
      start = round_up(end, wish->stride_bytes);
    } else if (find_in_front(leaf, wish, &start)) {
      return start;
    }
  }
  return start < wish->space_end && wish->space_end - start >= wish->size_bytes ? start : 0;
}

/* Whether a gap that ends at or before *end fits after a stretch. If it does, *end becomes its start; otherwise *end becomes
 * where a gap before the stretch may end. */
static bool find_behind(struct wo_stretch stretch, const struct wo_gap_wish *wish, uint64_t *end) {
  if (stretch.start >= *end) return false;
  const uint64_t start = *end >= wish->size_bytes ? round_down(*end - wish->size_bytes, wish->stride_bytes) : 0;
  const bool is_found = start >= stretch.end;
  *end = is_found ? start : stretch.start;
  return is_found;
}

/* The last stretch of a leaf is always checked: the gap after it is counted with the next leaf. */
uint64_t wo_stretches_highest_gap(const struct wo_stretches *list, const struct wo_gap_wish *wish) {
  assert((wish->stride_bytes & (wish->stride_bytes - 1)) == 0);
  uint64_t end = wish->space_end;
  for (size_t i = list->leaves.count; i > 0; i--) {
    const struct wo_stretch_leaf *const leaf = leaf_at(list, i - 1);
    if (find_behind(last_of(leaf), wish, &end)) return end;
    if (leaf->widest_bytes < wish->size_bytes && last_of(leaf).start <= end) {
      end = leaf->items[0].start;
      continue;
    }
    for (size_t k = leaf->count - 1; k > 0; k--) {
      if (find_behind(leaf->items[k - 1], wish, &end)) return end;
    }
  }
  const bool has_room = end >= wish->space_start + wish->size_bytes + wish->stride_bytes;
  return has_room ? round_down(end - wish->size_bytes, wish->stride_bytes) : 0;
}
