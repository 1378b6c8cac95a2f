/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks and ranges are shown one by one. See viewer_internal.h.
 *
 * First all that are there near the peak, the failures and the end, in windows as wide as the limit allows: they answer the
 * questions that people have. Then those that fill most of the picture: bytes times entries. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_replay/viewer/viewer_internal.h"

/* ---- Moments ---- */

/* The moments around which all is kept, at most WO__VIEWER_WINDOWS: the peak, the first and the last failure, the end. */
static size_t find_moments(struct wo__viewer *viewer, uint32_t moments[WO__VIEWER_WINDOWS]) {
  const struct wo_window window = viewer->window;
  const struct wo_trace *const trace = viewer->look->lives.trace;
  size_t count = 0;
  uint32_t last_oom = WO_NO_ENTRY;
  for (uint32_t i = window.first; i < window.end; i++) {
    if (!wo_entry_is(&trace->entries.items[i], WO_TRAIT_REFUSAL)) continue;
    if (viewer->oom_kept < WO__VIEWER_OOMS) viewer->ooms[viewer->oom_kept++] = i;
    viewer->oom_count++;
    last_oom = i;
  }
  moments[count++] = viewer->peak.entry == WO_NO_ENTRY || viewer->peak.entry < window.first ? window.first : viewer->peak.entry;
  if (viewer->oom_kept > 0) moments[count++] = viewer->ooms[0];
  if (viewer->oom_count > 1) moments[count++] = last_oom;
  if (window.end > window.first) moments[count++] = window.end - 1;
  assert(count <= WO__VIEWER_WINDOWS);
  return count;
}

static int compare_windows(const void *left, const void *right) {
  const struct wo_window *const a = left;
  const struct wo_window *const b = right;
  return a->first < b->first ? -1 : a->first > b->first;
}

/* Windows of a radius around the moments, joined where they touch. Returns their number. */
static size_t make_windows(const struct wo__viewer *viewer, const uint32_t *moments, size_t count, uint32_t radius,
                           struct wo_window *windows) {
  const struct wo_window all = viewer->window;
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    const uint32_t room = all.end > moments[i] ? all.end - moments[i] : 0;
    windows[i].first = moments[i] - all.first < radius ? all.first : moments[i] - radius;
    windows[i].end = room <= radius ? all.end : moments[i] + radius + 1;
  }
  qsort(windows, count, sizeof *windows, compare_windows);
  for (size_t i = 0; i < count; i++) {
    if (kept > 0 && windows[i].first <= windows[kept - 1].end) {
      if (windows[i].end > windows[kept - 1].end) windows[kept - 1].end = windows[i].end;
    } else {
      windows[kept++] = windows[i];
    }
  }
  return kept;
}

static bool is_in_any(uint32_t birth, uint32_t death, const struct wo_window *windows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (wo_life_is_in(birth, death, windows[i])) return true;
  }
  return false;
}

/* ---- Blocks ---- */

/* Counts blocks as far as `most` and one more. */
static size_t count_blocks(const struct wo__viewer *viewer, const struct wo_window *windows, size_t count, size_t most) {
  const struct wo_lives *const lives = &viewer->look->lives;
  size_t found = 0;
  for (size_t i = 0; i < lives->blocks.count && found <= most; i++)
    found += is_in_any(lives->blocks.items[i].birth, lives->blocks.items[i].death, windows, count);
  return found;
}

/* The widest windows whose blocks are at most `limit`; none if even single moments have more. */
static void widen(struct wo__viewer *viewer, size_t limit) {
  uint32_t moments[WO__VIEWER_WINDOWS] = {0};
  struct wo_window windows[WO__VIEWER_WINDOWS];
  const uint32_t entries = viewer->window.end - viewer->window.first;
  const size_t count = find_moments(viewer, moments);
  for (uint32_t radius = 0;; radius = radius * 2 + 1) {
    const size_t made = make_windows(viewer, moments, count, radius, windows);
    if (count_blocks(viewer, windows, made, limit) > limit) break;
    viewer->exact_count = made;
    for (size_t i = 0; i < made; i++) viewer->exact[i] = windows[i];
    if (radius >= entries) break;
  }
}

/* Bytes times entries, as a power of two: a block of an eighth of the picture counts as one of a quarter, but the choice takes
 * one pass. */
static int area_of(const struct wo__viewer *viewer, const struct wo_life *life) {
  uint32_t birth, end;
  wo__viewer_place(viewer->window, life->birth, life->death, &birth, &end);
  const uint64_t entries = (end == 0 ? viewer->window.end - viewer->window.first + 1 : end) - birth;
  const double area = (double)life->size_bytes * (double)(entries > 0 ? entries : 1);
  int power = 0;
  frexp(area, &power);
  return power < 127 ? power : 127;
}

/* Keeps the blocks of the largest areas until the limit is reached. */
static void keep_large(struct wo__viewer *viewer, size_t limit) {
  const struct wo_lives *const lives = &viewer->look->lives;
  size_t counts[128] = {0};
  for (size_t i = 0; i < lives->blocks.count; i++) {
    const struct wo_life *const life = &lives->blocks.items[i];
    if (!viewer->is_kept[i] && wo_life_is_in(life->birth, life->death, viewer->window)) counts[area_of(viewer, life)]++;
  }
  int least = 127;
  size_t above = viewer->kept_count;
  while (least > 0 && above + counts[least] <= limit) above += counts[least--];
  size_t partly = limit > above ? limit - above : 0; /* of the power that does not fit as a whole */
  for (size_t i = 0; i < lives->blocks.count; i++) {
    const struct wo_life *const life = &lives->blocks.items[i];
    if (viewer->is_kept[i] || !wo_life_is_in(life->birth, life->death, viewer->window)) continue;
    const int area = area_of(viewer, life);
    if (area < least || (area == least && partly == 0)) continue;
    if (area == least) partly--;
    viewer->is_kept[i] = 1;
    viewer->kept_count++;
  }
}

/* Three quarters of the limit are for the windows. */
static void choose_blocks(struct wo__viewer *viewer, size_t limit) {
  const struct wo_lives *const lives = &viewer->look->lives;
  viewer->window_count = count_blocks(viewer, &viewer->window, 1, SIZE_MAX - 1);
  widen(viewer, viewer->window_count <= limit ? limit : limit / 4 * 3);
  for (size_t i = 0; i < lives->blocks.count; i++) {
    viewer->is_kept[i] =
        is_in_any(lives->blocks.items[i].birth, lives->blocks.items[i].death, viewer->exact, viewer->exact_count);
    viewer->kept_count += viewer->is_kept[i];
  }
  if (viewer->kept_count < limit) keep_large(viewer, limit);
  viewer->is_all_kept = viewer->kept_count == viewer->window_count;
}

/* ---- Ranges ---- */

/* Those of the windows, then the others in their order. */
static void choose_ranges(struct wo__viewer *viewer, size_t limit) {
  const struct wo_lives *const lives = &viewer->look->lives;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < lives->ranges.count; i++) {
      const struct wo_range_life *const range = &lives->ranges.items[i];
      if (!wo_life_is_in(range->birth, range->death, viewer->window)) continue;
      if (pass == 0) viewer->range_count++;
      const bool is_first = is_in_any(range->birth, range->death, viewer->exact, viewer->exact_count);
      if (viewer->is_range_kept[i] || viewer->range_kept == limit || (pass == 0 && !is_first)) continue;
      viewer->is_range_kept[i] = 1;
      viewer->range_kept++;
    }
  }
}

bool wo__viewer_choose(struct wo__viewer *viewer, size_t block_limit, size_t range_limit) {
  viewer->is_kept = calloc(viewer->look->lives.blocks.count + 1, 1);
  viewer->is_range_kept = calloc(viewer->look->lives.ranges.count + 1, 1);
  if (viewer->is_kept == NULL || viewer->is_range_kept == NULL) return false;
  choose_blocks(viewer, block_limit);
  choose_ranges(viewer, range_limit);
  return true;
}
