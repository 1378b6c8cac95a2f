/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which folders change: by inotify where there is one, and not at all where there is none, so that the caller has to look
 * for itself. */
#ifndef WO_WATCHER_H
#define WO_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/view.h"

struct wo_watcher;

enum wo_watch_result {
  WO_WATCHED,
  WO_WATCH_NETWORK, /* the file system is one of a network, where others change files unseen */
  WO_WATCH_LIMIT,   /* the system allows no more */
  WO_WATCH_NONE     /* this system has none, or the folder cannot be watched */
};

enum wo_watch_kind {
  WO_WATCH_CHANGED, /* something in the folder */
  WO_WATCH_GONE,    /* the folder is deleted, moved away or unmounted: it is not watched any more */
  WO_WATCH_LOST     /* more happened than the system could keep: any folder may have changed */
};

struct wo_watch_event {
  enum wo_watch_kind kind;
  uint32_t watch;
  struct wo_view name; /* in the folder; empty: unknown. Valid until the next call */
};

/* The functions of a watcher; tests have their own. */
struct wo_watch_ops {
  /* Watches a folder: *ret_watch is its number, the same for the same folder under another name. */
  enum wo_watch_result (*add)(struct wo_watcher *watcher, const char *path, uint32_t *ret_watch);
  void (*drop)(struct wo_watcher *watcher, uint32_t watch);
  /* The next event; false: there is none now. */
  bool (*next)(struct wo_watcher *watcher, struct wo_watch_event *ret_event);
};

/* By inotify. NULL without memory. Where the system gives none, nothing is watched. */
struct wo_watcher *wo_watcher_new(void);
struct wo_watcher *wo_watcher_free(struct wo_watcher *watcher);
extern const struct wo_watch_ops wo_watch_inotify;

#endif
