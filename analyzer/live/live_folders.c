/* SPDX-License-Identifier: Apache-2.0 */
/* A table with free places. See live_folders.h. */
#include "analyzer/live/live_folders.h"

#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"

static uint64_t hash_path(struct wo_view path) {
  return wo_view_hash(WO_HASH_START, path);
}

uint32_t wo_live_folders_find(const struct wo_live_folders *folders, struct wo_view path) {
  return wo_hash_map_get(&folders->by_path, hash_path(path));
}

uint32_t wo_live_folders_of_watch(const struct wo_live_folders *folders, uint32_t watch) {
  return wo_hash_map_get(&folders->by_watch, watch);
}

/* A free place, or WO_HASH_MAP_NONE. */
static uint32_t take_place(struct wo_live_folders *folders) {
  if (folders->count >= WO_LIMIT_LIVE_FOLDERS) return WO_HASH_MAP_NONE;
  for (; folders->free < folders->used; folders->free++) {
    if (!folders->items[folders->free].path) return folders->free++;
  }
  if (folders->used == folders->capacity) {
    const uint32_t capacity = folders->capacity == 0 ? 64 : folders->capacity * 2;
    struct wo_live_folder *const items = realloc(folders->items, capacity * sizeof *items);
    if (!items) return WO_HASH_MAP_NONE;
    folders->items = items;
    folders->capacity = capacity;
  }
  folders->items[folders->used] = (struct wo_live_folder){0};
  folders->free = folders->used + 1;
  return folders->used++;
}

/* A folder that has two names is watched under the first. */
static void watch(struct wo_live_folders *folders, uint32_t at) {
  struct wo_live_folder *const folder = &folders->items[at];
  uint32_t number = WO_HASH_MAP_NONE;
  const enum wo_watch_result result = folders->ops ? folders->ops->add(folders->watcher, folder->path, &number) : WO_WATCH_NONE;
  if (result == WO_WATCH_LIMIT) folders->is_limited = true;
  const bool is_new = result == WO_WATCHED && wo_live_folders_of_watch(folders, number) == WO_HASH_MAP_NONE;
  if (is_new && wo_hash_map_set(&folders->by_watch, number, at, WO_LIMIT_LIVE_FOLDERS)) folder->watch = number;
  folders->polled += folder->watch == WO_HASH_MAP_NONE;
}

uint32_t wo_live_folders_add(struct wo_live_folders *folders, const char *path, uint32_t root) {
  const uint32_t at = take_place(folders);
  if (at == WO_HASH_MAP_NONE) return at;
  struct wo_live_folder *const folder = &folders->items[at];
  *folder = (struct wo_live_folder){.path = strdup(path), .root = root, .watch = WO_HASH_MAP_NONE, .look_ns = INT64_MAX};
  if (!folder->path || !wo_hash_map_set(&folders->by_path, hash_path(wo_view_of(path)), at, WO_LIMIT_LIVE_FOLDERS)) {
    free(folder->path);
    folder->path = NULL;
    if (at < folders->free) folders->free = at;
    return WO_HASH_MAP_NONE;
  }
  folders->count++;
  watch(folders, at);
  return at;
}

static void drop_one(struct wo_live_folders *folders, uint32_t at) {
  struct wo_live_folder *const folder = &folders->items[at];
  if (folder->watch != WO_HASH_MAP_NONE) {
    wo_hash_map_remove(&folders->by_watch, folder->watch);
    folders->ops->drop(folders->watcher, folder->watch);
  }
  folders->polled -= folder->watch == WO_HASH_MAP_NONE;
  wo_hash_map_remove(&folders->by_path, hash_path(wo_view_of(folder->path)));
  free(folder->path);
  *folder = (struct wo_live_folder){.look_ns = INT64_MAX};
  folders->count--;
  if (at < folders->free) folders->free = at;
}

void wo_live_folders_drop(struct wo_live_folders *folders, uint32_t at) {
  char *const path = strdup(folders->items[at].path);
  drop_one(folders, at);
  if (!path) return; /* those below are dropped when they are looked at */
  const size_t len = strlen(path);
  for (uint32_t i = 0; i < folders->used; i++) {
    const char *const other = folders->items[i].path;
    const bool is_below = other && strncmp(other, path, len) == 0 && (other[len] == '/' || (len > 0 && path[len - 1] == '/'));
    if (is_below) drop_one(folders, i);
  }
  free(path);
}

void wo_live_folders_want(struct wo_live_folders *folders, uint32_t at, int64_t when_ns) {
  struct wo_live_folder *const folder = &folders->items[at];
  if (when_ns < folder->rest_ns) when_ns = folder->rest_ns;
  if (when_ns < folder->look_ns) folder->look_ns = when_ns;
}

void wo_live_folders_done(struct wo_live_folders *folders) {
  for (uint32_t i = 0; i < folders->used; i++) {
    if (folders->items[i].path) drop_one(folders, i);
  }
  free(folders->items);
  wo_hash_map_done(&folders->by_path);
  wo_hash_map_done(&folders->by_watch);
  *folders = (struct wo_live_folders){0};
}
