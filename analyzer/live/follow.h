/* SPDX-License-Identifier: Apache-2.0 */
/* Follows an archive: diagnoses each job as it ends, again and again, until it is told to stop.
 *
 * First the archive is scanned as it is. Then folders that change (inotify), or all of those that cannot be watched (polling),
 * are looked at: a look is a scan of these folders alone, which reads the jobs that are due (live_jobs.h). Memory is bounded by
 * limits.h; the time that looks take is at most about a twentieth of one core. */
#ifndef WO_FOLLOW_H
#define WO_FOLLOW_H

#include "analyzer/live/watcher.h"
#include "analyzer/scan/fleet_scan.h"

/* What the process around it gives it, beyond the hooks of its scans, of which the clock is needed. */
struct wo_follow_hooks {
  void *context;
  const struct wo_watch_ops *watch; /* NULL: all folders are polled */
  struct wo_watcher *watcher;
  /* A job has ended; its row is in the store. False: it cannot be told, and the following ends. */
  bool (*on_ended)(void *context, const struct wo_row *row);
  /* Called some times a second: for commands, and messages that are there. True: it is to be called soon again. */
  bool (*on_tick)(void *context, int64_t now_ns);
  void (*wait)(void *context, int64_t span_ns); /* not longer than that; a signal ends it */
};

struct wo_follow_settings {
  struct wo_scan_settings scan; /* the walk's is_live and the member `live` are set here */
  int64_t settle_ns;            /* without a change, until a failure counts */
  int64_t poll_ns;              /* between two looks at folders that are not watched */
  bool is_resumed; /* the store knows the archive: what changed since then is news. Else only what changes from now on
                      is, and what was written since scan.walk.since_ns if that is given */
};

struct wo_follow_account {
  uint64_t reported;
  uint64_t open;     /* jobs that are being written */
  uint64_t problems; /* files and folders that could not be read */
  bool is_short;     /* stopped before the archive was scanned for the first time */
};

/* Follows until *hooks->is_cancelled. Messages go to `errors`, each of them once. WO_E_IO, WO_E_LIMIT, WO_E_NOMEM as
 * wo_fleet_scan; WO_E_IO without a message: a job could not be told. */
enum wo_status wo_follow(const struct wo_pack *pack, struct wo_store *store, const struct wo_follow_settings *settings,
                         const struct wo_scan_hooks *scan_hooks, const struct wo_follow_hooks *hooks, struct wo_text *errors,
                         struct wo_follow_account *ret_account, struct wo_err *err);

#endif
