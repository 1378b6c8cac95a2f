/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time in columns. See viewer_internal.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/viewer/viewer_internal.h"

/* A change of the reserved bytes. */
struct change {
  uint32_t entry;
  bool is_growth;
  uint64_t bytes;
};

static size_t column_of(const struct wo__viewer *viewer, uint32_t entry) {
  return (entry - viewer->window.first) / viewer->columns.width;
}

/* ---- Where most is in use ---- */

/* The state before the window stands for the first column where nothing comes after it. */
static void find_moments(struct wo__viewer *viewer) {
  struct wo__viewer_columns *const columns = &viewer->columns;
  const struct wo_lives *const lives = &viewer->look->lives;
  struct wo_lives_walk walk = wo_lives_walk_begin(lives);
  uint32_t dead, born;
  uint64_t now = 0;
  for (size_t i = 0; i < lives->start_count; i++) now += lives->blocks.items[i].size_bytes;
  columns->at[0] = WO_NO_ENTRY;
  columns->bytes[0] = now;
  while (walk.entry < viewer->window.end && wo_lives_walk_next(&walk, &dead, &born)) {
    const uint32_t entry = walk.entry - 1;
    if (dead != WO_NO_LIFE) now -= lives->blocks.items[dead].size_bytes;
    if (born != WO_NO_LIFE) now += lives->blocks.items[born].size_bytes;
    if (entry < viewer->window.first) continue;
    const size_t column = column_of(viewer, entry);
    const bool is_first = (entry - viewer->window.first) % columns->width == 0;
    if (!is_first && now <= columns->bytes[column]) continue;
    columns->at[column] = entry;
    columns->bytes[column] = now;
  }
}

/* ---- The groups then ---- */

static void add(struct wo__viewer *viewer, uint64_t *now, const struct wo_life *life, bool is_born) {
  for (size_t i = 0; i < viewer->grouping_count; i++) {
    uint64_t *const sum = &now[viewer->groupings[i].first + wo__viewer_group_of(viewer, i, life)];
    *sum += is_born ? life->size_bytes : 0 - life->size_bytes;
  }
}

static bool fill_values(struct wo__viewer *viewer) {
  struct wo__viewer_columns *const columns = &viewer->columns;
  const struct wo_lives *const lives = &viewer->look->lives;
  struct wo_lives_walk walk = wo_lives_walk_begin(lives);
  uint64_t *const now = calloc(columns->groups, sizeof *now);
  uint32_t dead, born;
  size_t next = 0;
  if (now == NULL) return false;
  for (size_t i = 0; i < lives->start_count; i++) add(viewer, now, &lives->blocks.items[i], true);
  memcpy(columns->before, now, columns->groups * sizeof *now);
  if (columns->at[0] == WO_NO_ENTRY) memcpy(&columns->values[columns->groups * next++], now, columns->groups * sizeof *now);
  while (next < columns->count && wo_lives_walk_next(&walk, &dead, &born)) {
    if (dead != WO_NO_LIFE) add(viewer, now, &lives->blocks.items[dead], false);
    if (born != WO_NO_LIFE) add(viewer, now, &lives->blocks.items[born], true);
    if (walk.entry == viewer->window.first) memcpy(columns->before, now, columns->groups * sizeof *now);
    if (walk.entry - 1 == columns->at[next])
      memcpy(&columns->values[columns->groups * next++], now, columns->groups * sizeof *now);
  }
  assert(next == columns->count);
  free(now);
  return true;
}

/* ---- Reserved bytes ---- */

static int compare_changes(const void *left, const void *right) {
  const struct change *const a = left;
  const struct change *const b = right;
  return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* Changes are by entry. The state after an entry counts, not one between two changes of it: at the first entry of a column it
 * takes the place of the state before, which is none of the column's. */
static void spread_reserved(struct wo__viewer *viewer, uint64_t now, const struct change *changes, size_t count) {
  struct wo__viewer_columns *const columns = &viewer->columns;
  size_t column = 0;
  columns->reserved[0] = columns->reserved_before = columns->reserved_most = now;
  for (size_t i = 0; i < count;) {
    const uint32_t entry = changes[i].entry;
    const size_t to = column_of(viewer, entry);
    while (column < to) columns->reserved[++column] = now;
    for (; i < count && changes[i].entry == entry; i++) now += changes[i].is_growth ? changes[i].bytes : 0 - changes[i].bytes;
    const bool is_first = (entry - viewer->window.first) % columns->width == 0;
    if (is_first || now > columns->reserved[column]) columns->reserved[column] = now;
  }
  while (column + 1 < columns->count) columns->reserved[++column] = now;
  for (size_t i = 0; i < columns->count; i++) {
    if (columns->reserved[i] > columns->reserved_most) columns->reserved_most = columns->reserved[i];
  }
}

static bool fill_reserved(struct wo__viewer *viewer) {
  const struct wo_lives *const lives = &viewer->look->lives;
  struct change *const changes = malloc((2 * lives->ranges.count + 1) * sizeof *changes);
  uint64_t now = 0;
  size_t count = 0;
  if (changes == NULL) return false;
  for (size_t i = 0; i < lives->ranges.count; i++) {
    const struct wo_range_life *const range = &lives->ranges.items[i];
    if (wo_life_is_at(range->birth, range->death, viewer->window.first == 0 ? WO_NO_ENTRY : viewer->window.first - 1)) {
      now += range->size_bytes;
    } else if (range->birth != WO_NO_ENTRY && range->birth >= viewer->window.first && range->birth < viewer->window.end) {
      changes[count++] = (struct change){range->birth, true, range->size_bytes};
    } else {
      continue;
    }
    if (range->death != WO_NO_ENTRY && range->death < viewer->window.end)
      changes[count++] = (struct change){range->death, false, range->size_bytes};
  }
  if (count > 0) qsort(changes, count, sizeof *changes, compare_changes);
  spread_reserved(viewer, now, changes, count);
  free(changes);
  return true;
}

bool wo__viewer_fill_columns(struct wo__viewer *viewer, size_t most) {
  struct wo__viewer_columns *const columns = &viewer->columns;
  const size_t entries = viewer->window.end - viewer->window.first;
  assert(most > 0);
  columns->width = (uint32_t)(entries <= most ? 1 : (entries + most - 1) / most);
  columns->count = entries == 0 ? 1 : (entries + columns->width - 1) / columns->width;
  columns->at = calloc(columns->count, sizeof *columns->at);
  columns->bytes = calloc(columns->count, sizeof *columns->bytes);
  columns->reserved = calloc(columns->count, sizeof *columns->reserved);
  columns->values = calloc(columns->count * columns->groups, sizeof *columns->values);
  columns->before = calloc(columns->groups, sizeof *columns->before);
  if (columns->at == NULL || columns->bytes == NULL || columns->reserved == NULL || columns->values == NULL ||
      columns->before == NULL)
    return false;
  find_moments(viewer);
  return fill_values(viewer) && fill_reserved(viewer);
}
