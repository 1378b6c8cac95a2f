/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of an archive that is followed: which are watched, and when each is to be looked at. Times are of a clock that
 * nobody sets; INT64_MAX is never. */
#ifndef WO_LIVE_FOLDERS_H
#define WO_LIVE_FOLDERS_H

#include "analyzer/live/hash_map.h"
#include "analyzer/live/watcher.h"

struct wo_live_folder {
  char *path; /* owned; NULL: the place is free */
  uint32_t root;
  uint32_t watch;  /* WO_HASH_MAP_NONE: it is not watched, but polled */
  uint32_t look;   /* the last look that saw it */
  int64_t look_ns; /* when it is to be looked at */
  int64_t rest_ns; /* not before */
};

struct wo_live_folders {
  const struct wo_watch_ops *ops; /* NULL: nothing is watched */
  struct wo_watcher *watcher;
  struct wo_live_folder *items;
  uint32_t used, capacity, free; /* places in use at some time / allocated / the first that may be free */
  size_t count, polled;
  struct wo_hash_map by_path, by_watch;
  bool is_limited; /* the system allows no more watches */
};

/* The place of a folder, or WO_HASH_MAP_NONE. */
uint32_t wo_live_folders_find(const struct wo_live_folders *folders, struct wo_view path);

/* Adds a folder, which must be new, and watches it if that is possible: before it is listed, so that nothing is missed. Returns
 * its place; WO_HASH_MAP_NONE: there are too many, or memory is out. */
uint32_t wo_live_folders_add(struct wo_live_folders *folders, const char *path, uint32_t root);

/* Forgets a folder and all below it. */
void wo_live_folders_drop(struct wo_live_folders *folders, uint32_t at);

/* The place of a watched folder, or WO_HASH_MAP_NONE. */
uint32_t wo_live_folders_of_watch(const struct wo_live_folders *folders, uint32_t watch);

/* Wants a look at a folder at that time, or at once after its rest. */
void wo_live_folders_want(struct wo_live_folders *folders, uint32_t at, int64_t when_ns);

void wo_live_folders_done(struct wo_live_folders *folders);

#endif
