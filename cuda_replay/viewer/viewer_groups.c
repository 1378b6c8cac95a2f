/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks are drawn as one area. See viewer_internal.h. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/viewer/viewer_internal.h"

/* A call site with the most bytes that it holds at any moment. */
struct site {
  uint32_t index;
  uint64_t now, most;
};

/* Most bytes first. */
static int compare(const void *left, const void *right) {
  const struct site *const a = left;
  const struct site *const b = right;
  if (a->most != b->most) return a->most > b->most ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

/* Follows each site through the window. */
static void follow(const struct wo__viewer *viewer, struct site *sites) {
  const struct wo_lives *const lives = &viewer->look->lives;
  struct wo_lives_walk walk = wo_lives_walk_begin(lives);
  uint32_t dead, born;
  for (size_t i = 0; i < lives->start_count; i++)
    sites[wo_sites_of(&viewer->look->sites, lives->blocks.items[i].stack)].now += lives->blocks.items[i].size_bytes;
  for (size_t i = 0; i < viewer->look->sites.items.count; i++) sites[i].most = sites[i].now;
  while (walk.entry < viewer->window.end && wo_lives_walk_next(&walk, &dead, &born)) {
    struct site *const from =
        dead == WO_NO_LIFE ? NULL : &sites[wo_sites_of(&viewer->look->sites, lives->blocks.items[dead].stack)];
    struct site *const to =
        born == WO_NO_LIFE ? NULL : &sites[wo_sites_of(&viewer->look->sites, lives->blocks.items[born].stack)];
    if (from != NULL) from->now -= lives->blocks.items[dead].size_bytes;
    if (to != NULL) to->now += lives->blocks.items[born].size_bytes;
    if (to != NULL && to->now > to->most) to->most = to->now;
    if (walk.entry != viewer->window.first) continue;
    for (size_t i = 0; i < viewer->look->sites.items.count; i++) sites[i].most = sites[i].now;
  }
}

static void add_group(struct wo__viewer_grouping *grouping, uint32_t item) {
  assert(grouping->count < WO__VIEWER_GROUPS);
  if (item != WO__VIEWER_OTHERS) grouping->of_item[item] = (uint8_t)grouping->count;
  grouping->items[grouping->count++] = item;
}

/* The sites with most bytes each have a group; the rest is one. */
static bool group_sites(struct wo__viewer *viewer) {
  struct wo__viewer_grouping *const grouping = &viewer->groupings[0];
  const size_t count = viewer->look->sites.items.count;
  struct site *const sites = calloc(count, sizeof *sites);
  grouping->of_item = calloc(count, 1);
  if (sites == NULL || grouping->of_item == NULL) {
    free(sites);
    return false;
  }
  for (size_t i = 0; i < count; i++) sites[i].index = (uint32_t)i;
  follow(viewer, sites);
  qsort(sites, count, sizeof *sites, compare);
  size_t shown = 0;
  while (shown < count && shown < WO__VIEWER_SITES && sites[shown].most > 0) shown++;
  for (size_t i = 0; i < shown; i++) add_group(grouping, sites[i].index);
  for (size_t i = shown; i < count; i++) grouping->of_item[sites[i].index] = (uint8_t)shown;
  add_group(grouping, WO__VIEWER_OTHERS);
  free(sites);
  return true;
}

/* Lasting memory lies lowest, so that what comes and goes is seen above it. */
static const uint8_t class_order[] = {WO_CLASS_PARAMETER, WO_CLASS_OPTIMIZER, WO_CLASS_GRADIENT,      WO_CLASS_INPUT,
                                      WO_CLASS_UNKNOWN,   WO_CLASS_WORKSPACE, WO_CLASS_COMMUNICATION, WO_CLASS_ACTIVATION,
                                      WO_CLASS_LOGITS,    WO_CLASS_TEMPORARY};
_Static_assert(sizeof class_order == WO_CLASS_COUNT_, "each class once");

static bool group_named(struct wo__viewer *viewer) {
  struct wo__viewer_grouping *const classes = &viewer->groupings[1];
  struct wo__viewer_grouping *const categories = &viewer->groupings[2];
  classes->of_item = calloc(WO_CLASS_COUNT_, 1);
  categories->of_item = calloc(WO_LIMIT_CATEGORIES + 1, 1);
  if (classes->of_item == NULL || categories->of_item == NULL) return false;
  for (size_t i = 0; i < WO_CLASS_COUNT_; i++) add_group(classes, class_order[i]);
  for (size_t i = 1; i <= viewer->look->categories->count; i++) add_group(categories, (uint32_t)i);
  add_group(categories, 0);
  return true;
}

bool wo__viewer_group(struct wo__viewer *viewer) {
  static const char *const names[WO__VIEWER_GROUPINGS] = {"site", "class", "category"};
  _Static_assert(WO__VIEWER_SITES + 1 <= WO__VIEWER_GROUPS && WO_LIMIT_CATEGORIES + 1 <= WO__VIEWER_GROUPS, "groups fit");
  viewer->grouping_count = viewer->look->categories->count > 0 ? 3 : 2;
  if (!group_sites(viewer) || !group_named(viewer)) return false;
  size_t first = 0;
  for (size_t i = 0; i < WO__VIEWER_GROUPINGS; i++) {
    viewer->groupings[i].name = names[i];
    viewer->groupings[i].first = first;
    if (i < viewer->grouping_count) first += viewer->groupings[i].count;
  }
  viewer->columns.groups = first;
  return true;
}

void wo__viewer_group_name(const struct wo__viewer *viewer, size_t grouping, size_t group, struct wo_text *out) {
  const uint32_t item = viewer->groupings[grouping].items[group];
  if (item == WO__VIEWER_OTHERS) {
    wo_text_add(out, "other call sites");
  } else if (grouping == 0) {
    wo_site_show(viewer->look->lives.recording, &viewer->look->sites.items.items[item], out);
  } else if (grouping == 1) {
    wo_class_show((enum wo_alloc_class)item, out);
  } else {
    wo_text_add_view(out, wo_category_name(viewer->look->categories, (uint8_t)item));
  }
}
