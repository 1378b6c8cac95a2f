/* SPDX-License-Identifier: Apache-2.0 */
/* inotify. See watcher.h. */
#include "analyzer/live/watcher.h"

#include <stdlib.h>

#ifdef __linux__
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

struct wo_watcher {
  int fd; /* -1: the system gives none */
  size_t at, len;
  _Alignas(struct inotify_event) char buf[16 * 1024];
};

/* File systems on which other nodes write, or of which nothing is known: inotify sees what this node does alone. */
static bool is_remote(const char *path) {
  static const uint32_t kinds[] = {
      0x6969,     /* NFS */
      0xff534d42, /* CIFS */
      0xfe534d42, /* SMB 2 */
      0x517b,     /* SMB */
      0x0bd00bd0, /* Lustre */
      0x47504653, /* GPFS, Spectrum Scale */
      0x65735546, /* FUSE: sshfs, GlusterFS, ... */
      0x19830326, /* BeeGFS */
      0x00c36400, /* Ceph */
      0x5346414f, /* OpenAFS */
      0x6b414653, /* AFS of the kernel */
      0x73757245, /* Coda */
      0x01021997, /* 9P */
      0x7461636f, /* OCFS2 */
      0x01161970, /* GFS2 */
      0x20030528, /* OrangeFS */
      0xaad7aaea, /* PanFS */
      0x47585345, /* WekaFS */
  };
  struct statfs info;
  if (statfs(path, &info) != 0) return false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if ((uint32_t)info.f_type == kinds[i]) return true;
  }
  return false;
}

struct wo_watcher *wo_watcher_new(void) {
  struct wo_watcher *const watcher = calloc(1, sizeof *watcher);
  if (watcher) watcher->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  return watcher;
}

struct wo_watcher *wo_watcher_free(struct wo_watcher *watcher) {
  if (watcher && watcher->fd >= 0) close(watcher->fd);
  free(watcher);
  return NULL;
}

static enum wo_watch_result add(struct wo_watcher *watcher, const char *path, uint32_t *ret_watch) {
  if (watcher->fd < 0) return WO_WATCH_NONE;
  if (is_remote(path)) return WO_WATCH_NETWORK;
  const uint32_t mask = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                        IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK;
  const int watch = inotify_add_watch(watcher->fd, path, mask);
  if (watch < 0) return errno == ENOSPC || errno == ENOMEM ? WO_WATCH_LIMIT : WO_WATCH_NONE;
  *ret_watch = (uint32_t)watch;
  return WO_WATCHED;
}

static void drop(struct wo_watcher *watcher, uint32_t watch) {
  if (watcher->fd >= 0) inotify_rm_watch(watcher->fd, (int)watch);
}

static bool next(struct wo_watcher *watcher, struct wo_watch_event *ret_event) {
  struct inotify_event event;
  if (watcher->at >= watcher->len) {
    const ssize_t len = watcher->fd >= 0 ? read(watcher->fd, watcher->buf, sizeof watcher->buf) : -1;
    watcher->at = 0;
    watcher->len = len > 0 ? (size_t)len : 0;
    if (len <= 0) return false;
  }
  memcpy(&event, watcher->buf + watcher->at, sizeof event);
  const char *const name = watcher->buf + watcher->at + sizeof event;
  *ret_event =
      (struct wo_watch_event){.kind = event.mask & IN_Q_OVERFLOW                                               ? WO_WATCH_LOST
                                      : event.mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT) ? WO_WATCH_GONE
                                                                                                               : WO_WATCH_CHANGED,
                              .watch = (uint32_t)event.wd,
                              .name = {name, event.len > 0 ? strnlen(name, event.len) : 0}};
  watcher->at += sizeof event + event.len;
  return true;
}

#else

struct wo_watcher {
  int none;
};

struct wo_watcher *wo_watcher_new(void) {
  return calloc(1, sizeof(struct wo_watcher));
}

struct wo_watcher *wo_watcher_free(struct wo_watcher *watcher) {
  free(watcher);
  return NULL;
}

static enum wo_watch_result add(struct wo_watcher *watcher, const char *path, uint32_t *ret_watch) {
  (void)watcher, (void)path, (void)ret_watch;
  return WO_WATCH_NONE;
}

static void drop(struct wo_watcher *watcher, uint32_t watch) {
  (void)watcher, (void)watch;
}

static bool next(struct wo_watcher *watcher, struct wo_watch_event *ret_event) {
  (void)watcher, (void)ret_event;
  return false;
}

#endif

const struct wo_watch_ops wo_watch_inotify = {add, drop, next};
