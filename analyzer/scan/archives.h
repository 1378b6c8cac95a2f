/* SPDX-License-Identifier: Apache-2.0 */
/* The tar archives of a scan, from the time when the walk meets them until their last job is done.
 *
 * An archive is read by a thread of the pool, behind its sandbox (wo_batch_reading), unless the store has the list of what is in
 * it. Then it is ready, and its jobs are handed out. If some of them must be read and only the list is there, it is read after
 * all, and handed out again. All functions are for the owner of the pool alone. */
#ifndef WO_ARCHIVES_H
#define WO_ARCHIVES_H

#include "analyzer/scan/batch.h"
#include "analyzer/scan/pool.h"
#include "analyzer/store/store.h"

/* One archive. */
struct wo_scan_archive {
  struct wo_tar *tar;
  size_t users;        /* the hand-out, and jobs under way: it lives as long as there are any */
  bool is_again;       /* it was handed out before, with its list alone */
  bool needs_bytes;    /* some of its jobs must be read, but only the list is there */
  unsigned char *took; /* for each file of the list whether the job that it is the first log of was dealt with; or NULL */
  size_t took_count;
  struct wo_batch_reading *reading; /* while a thread reads it */
  bool is_stopped;                  /* the result of that does not count */
  struct wo_scan_archive *next;     /* of those that are in the same state */
};

struct wo_archives;

struct wo_archives_settings {
  struct wo_pool *const *pool; /* started when the first archive is met */
  struct wo_store *store;
  const struct wo_walk_options *walk;
  const char *temp_folder; /* NULL: /var/tmp, or /tmp */
  size_t threads;
  bool keeps_lists; /* in the store */
};

/* WO_E_NOMEM. The settings are copied, what they point to is borrowed. */
enum wo_status wo_archives_new(const struct wo_archives_settings *settings, struct wo_archives **ret_archives);

/* Frees what is left: archives that are ready or kept. NULL allowed; returns NULL. */
struct wo_archives *wo_archives_free(struct wo_archives *archives);

/* Takes an archive that the walk has met; it becomes ready now or later. WO_E_NOMEM, or the store failed. */
enum wo_status wo_archives_meet(struct wo_archives *archives, const struct wo_walk_file *file, size_t root_len,
                                struct wo_err *err);

/* Takes a batch whose archive was read. It is ready then, unless the reading was stopped. WO_E_NOMEM, or the store failed. */
enum wo_status wo_archives_take(struct wo_archives *archives, const struct wo_batch *batch, struct wo_err *err);

/* The next one that is ready, to be handed out and then given to wo_archives_leave; NULL: none is. */
struct wo_scan_archive *wo_archives_next(struct wo_archives *archives);

/* Ends a hand-out. One that needs bytes is read. `stays`: it will be met again, and is kept if there are few. WO_E_NOMEM. */
enum wo_status wo_archives_leave(struct wo_archives *archives, struct wo_scan_archive *archive, bool stays, struct wo_err *err);

/* Ends the use of one more. */
void wo_archives_release(struct wo_archives *archives, struct wo_scan_archive *archive);

/* Archives that threads read / whether so many are open or being read that others should wait. */
size_t wo_archives_readings(const struct wo_archives *archives);
bool wo_archives_are_many(const struct wo_archives *archives);

/* Ends readings that began longer ago than the limit; 0: all of them, without a result. */
void wo_archives_stop(struct wo_archives *archives, int64_t now_ns, int64_t limit_ns);

/* Copies a file of an archive to where it stays until wo_archives_free. WO_E_IO. */
enum wo_status wo_archives_keep_file(struct wo_archives *archives, const struct wo_tar *tar, const struct wo_tar_member *member,
                                     struct wo_file_part *ret_part, struct wo_err *err);

#endif
