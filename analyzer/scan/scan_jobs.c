/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that a walk finds: those that the store has are passed over, the others wait in a batch. See scan_run.h. */
#include "analyzer/scan/scan_run.h"

#include <stdlib.h>

/* The evidence that the store has of a job whose rules have changed: its files need not be read again. */
static void take_kept(struct wo__scan_run *scan, struct wo_batch_job *job) {
  int64_t id = WO_ROW_UNKNOWN;
  if (wo_store_find(scan->store, job->files[0].path, &id, scan->err) != WO_OK) return;
  if (id != WO_ROW_UNKNOWN) wo_store_evidence(scan->store, id, &scan->batch->arena, &job->kept, scan->err);
}

/* Whether the last job of the batch cannot be diagnosed, since its archive is known by its list alone. */
static bool lacks_bytes(const struct wo__scan_run *scan) {
  const struct wo_batch_job *const job = &scan->batch->jobs[scan->batch->job_count - 1];
  if (!scan->archive || scan->archive->tar->fd >= 0 || job->kept.len > 0) return false;
  int64_t bytes = 0;
  for (size_t i = 0; i < job->path_count; i++) bytes |= job->members[i]->size_bytes;
  return bytes != 0;
}

/* The mark of a job by its first log in the archive: it is handed out twice where the archive is. NULL: not in one, or no
 * memory. */
static unsigned char *mark_of(struct wo__scan_run *scan, const struct wo_walk_job *found) {
  struct wo_scan_archive *const archive = scan->archive;
  if (!archive) return NULL;
  const size_t count = archive->tar->count, at = (size_t)(found->files[0].member - archive->tar->items);
  if (!archive->took) archive->took = calloc(count, 1);
  if (archive->took_count == 0) archive->took_count = count;
  if (!archive->took || archive->took_count != count) return NULL;
  return &archive->took[at];
}

/* Whether the store has the last job of the batch already, as the present rules see it. */
static bool is_known(struct wo__scan_run *scan) {
  struct wo_batch_job *const job = &scan->batch->jobs[scan->batch->job_count - 1];
  enum wo_store_fresh fresh = WO_STORE_NEW;
  if (scan->status == WO_OK)
    scan->status =
        wo_store_compare(scan->store, job->files[0].path, job->files, job->file_count, scan->settings->rules, &fresh, scan->err);
  if (scan->status == WO_OK && fresh == WO_STORE_OLD_RULES) take_kept(scan, job);
  if (scan->status == WO_OK && (fresh == WO_STORE_APPENDED || fresh == WO_STORE_CHANGED))
    scan->status =
        wo_store_bookmarks(scan->store, job->files[0].path, scan->settings->rules, &scan->batch->grown, &job->grown, scan->err);
  return fresh == WO_STORE_SAME;
}

/* Who a file belongs to: an archive has names of its own. */
static struct wo_view owner_of(const struct wo__scan_run *scan, const struct wo_walk_file *file) {
  if (file->member && file->member->user[0] != '\0') return wo_view_of(file->member->user);
  return scan->hooks->owner ? scan->hooks->owner(scan->hooks->context, file->owner) : (struct wo_view){0};
}

/* Whether a job that was found is to be read now, as far as it is for others to say. */
static bool is_asked_for(struct wo__scan_run *scan, const struct wo_walk_job *found, bool is_same) {
  if (!scan->live || scan->status != WO_OK) return true;
  return scan->live->on_found(scan->live->context, found, is_same);
}

static void add_same(struct wo__scan_run *scan, unsigned char *mark) {
  if (mark) *mark = 1;
  scan->account.progress.jobs_found++;
  scan->account.progress.jobs_same++;
  if (scan->account.progress.jobs_same % WO__RUN_COMMIT_JOBS == 0) wo__run_show_progress(scan);
}

/* Keeps the last job of the batch, or takes it out again: the store has it, it must wait for its archive, or it is left for
 * later. */
static void settle_job(struct wo__scan_run *scan, const struct wo_walk_job *found, unsigned char *mark) {
  const bool is_same = is_known(scan);
  const bool must_wait = !is_same && lacks_bytes(scan);
  const bool is_left = !is_asked_for(scan, found, is_same);
  if (is_same || must_wait || is_left) scan->batch->job_count--;
  if (is_same) {
    add_same(scan, mark);
    return;
  }
  if (must_wait) {
    scan->archive->needs_bytes = true;
    return;
  }
  scan->account.progress.jobs_found++;
  if (mark) *mark = 1;
  if (!scan->archive || is_left) return;
  scan->batch->jobs[scan->batch->job_count - 1].archive = scan->archive;
  scan->archive->users++;
}

/* Puts a job that was found into the batch, unless a comparison shows that it is the same. */
static void add_job(struct wo__scan_run *scan, const struct wo_walk_job *found, unsigned char *mark) {
  if (!scan->batch) scan->batch = wo_batch_new();
  if (!scan->batch || wo_batch_add(scan->batch, found, owner_of(scan, &found->files[0]), scan->accounts) != WO_OK) {
    scan->status = wo_err_nomem(scan->err);
    return;
  }
  settle_job(scan, found, mark);
  if (wo_batch_is_full(scan->batch)) wo__run_send_batch(scan);
}

/* A job that is found goes into the batch, unless the store has it. */
bool wo__run_on_job(void *context, const struct wo_walk_job *found, const struct wo_walk_counts *counts) {
  struct wo__scan_run *const scan = context;
  unsigned char *const mark = mark_of(scan, found);
  bool is_seen = false;
  if (mark && *mark) return true;
  scan->account.progress.share = counts->share;
  if (scan->status == WO_OK)
    scan->status = wo_seen_ask(&scan->seen, scan->store, scan->accounts, found, scan->settings->rules, &is_seen, scan->err);
  if (is_seen) {
    is_asked_for(scan, found, true);
    add_same(scan, mark);
  } else if (scan->status == WO_OK) {
    add_job(scan, found, mark);
  }
  while (scan->status == WO_OK && wo__run_load(scan) >= scan->most_batches && wo__run_take_batch(scan)) continue;
  return scan->status == WO_OK && !wo__run_is_cancelled(scan);
}
