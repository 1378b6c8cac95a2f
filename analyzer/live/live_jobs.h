/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are being written, and when they have ended. Pure: time is an argument, of a clock that nobody sets.
 *
 * A job is due when its files stayed as they are for a while: a short while first, after which it is taken at its word if it says
 * that it has ended; then `settle_ns`, after which a failure counts. A job that shows neither stays open, however long it is
 * silent, until its files change. Times of files are only compared with each other. */
#ifndef WO_LIVE_JOBS_H
#define WO_LIVE_JOBS_H

#include "analyzer/archive/walk.h"
#include "analyzer/live/hash_map.h"
#include "analyzer/row/row.h"

struct wo_live_jobs {
  struct wo_live_job *items;
  size_t count, capacity;
  struct wo_hash_map by_path;
  struct wo_hash_map settled_logs; /* by inode, size and time: jobs that need no report, also under another name */
  int64_t settle_ns;
  uint32_t look;          /* the number of the present look */
  uint64_t open, waiting; /* jobs being written / that found no room at the last look */
};

/* What is to be done with the row of a job that was read. */
enum wo_live_verdict {
  WO_LIVE_WAIT,  /* it may go on: the row is not kept, and the job is read again */
  WO_LIVE_KEEP,  /* the row is kept; there is nothing to report */
  WO_LIVE_REPORT /* the row is kept and reported */
};

void wo_live_jobs_init(struct wo_live_jobs *jobs, int64_t settle_ns);
void wo_live_jobs_done(struct wo_live_jobs *jobs);

/* A new look at some folders begins. */
void wo_live_jobs_begin_look(struct wo_live_jobs *jobs);

/* A job that a look finds in a folder. `is_same`: the store has it as it is; `is_other_accounting`: accounting changed, so that a
 * job whose own files did not may be another one. Whether it is to be read now. */
bool wo_live_jobs_see(struct wo_live_jobs *jobs, const struct wo_walk_job *job, uint32_t folder, bool is_same,
                      bool is_other_accounting, int64_t now_ns);

/* A job that was there when the following began, or is read for another reason: it is not reported as long as it stays as it is.
 */
void wo_live_jobs_settle(struct wo_live_jobs *jobs, const struct wo_walk_job *job);

/* Judges the row of a job that was read. `has_ended`: the job says so. `known`: the row of it that was reported before, by an
 * earlier call, or NULL. */
enum wo_live_verdict wo_live_jobs_judge(struct wo_live_jobs *jobs, const struct wo_row *row, bool has_ended,
                                        const struct wo_row *known, int64_t now_ns);

/* Ends a look: open jobs of folders that were looked at (`was_seen`) and are gone are forgotten; for all other open ones fn is
 * called with the time at which they are due. */
void wo_live_jobs_end_look(struct wo_live_jobs *jobs, bool (*was_seen)(void *context, uint32_t folder),
                           void (*fn)(void *context, uint32_t folder, int64_t due_ns), void *context);

#endif
