/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives, and files of accounting, on their way through a scan. See scan_run.h. */
#include "analyzer/scan/scan_run.h"

/* Hands out what is in the archives that were read. */
static void hand_out_archives(struct wo__scan_run *scan, const struct wo_walk_hooks *hooks, bool stays) {
  while (scan->status == WO_OK && !wo__run_is_cancelled(scan) && (scan->archive = wo_archives_next(scan->archives))) {
    struct wo_scan_archive *const archive = scan->archive;
    struct wo_walk_counts again = {.share = scan->account.progress.share}, *const counts =
                                                                               archive->is_again ? &again : &scan->inside;
    const enum wo_status walked =
        wo_walk_archive(archive->tar, &scan->settings->walk, hooks, scan->hooks->is_cancelled, archive->is_again, counts);
    if (walked != WO_OK && scan->status == WO_OK) scan->status = wo_err_nomem(scan->err);
    scan->archive = NULL;
    const enum wo_status left = wo_archives_leave(scan->archives, archive, stays, scan->err);
    if (scan->status == WO_OK) scan->status = left;
  }
}

/* Not more are open than the system lets, and their temporary files have room for. */
static void meet_archive(struct wo__scan_run *scan, const struct wo_walk_file *file, size_t root_len,
                         const struct wo_walk_hooks *hooks, bool stays) {
  hand_out_archives(scan, hooks, stays);
  wo__run_start_threads(scan);
  while (scan->status == WO_OK && wo_archives_are_many(scan->archives)) {
    wo__run_send_batch(scan);
    if (!wo__run_take_batch(scan)) break;
    hand_out_archives(scan, hooks, stays);
  }
  if (scan->status == WO_OK && !wo__run_is_cancelled(scan))
    scan->status = wo_archives_meet(scan->archives, file, root_len, scan->err);
}

/* Waits for those that are being read, and hands them out. */
void wo__run_finish_archives(struct wo__scan_run *scan, const struct wo_walk_hooks *hooks, bool stays) {
  hand_out_archives(scan, hooks, stays);
  while (scan->status == WO_OK && wo_archives_readings(scan->archives) > 0 && wo__run_take_batch(scan))
    hand_out_archives(scan, hooks, stays);
}

/* ---- Accounting, and jobs ---- */

static void on_accounting(void *context, const char *path) {
  struct wo__scan_run *const scan = context;
  struct wo_err err = {0};
  if (scan->status == WO_OK && wo_accounts_add(scan->accounts, path, &err) != WO_OK) wo__run_report(scan, path, &err);
}

static void on_archive_accounting(void *context, const struct wo_tar *tar, const struct wo_tar_member *member, const char *path) {
  struct wo__scan_run *const scan = context;
  struct wo_file_part part;
  struct wo_err err = {0};
  if (member->at == WO_TAR_NOT_KEPT) {
    scan->archive->needs_bytes = true;
    return;
  }
  enum wo_status status = wo_archives_keep_file(scan->archives, tar, member, &part, &err);
  if (status == WO_OK) status = wo_accounts_add_part(scan->accounts, path, &part, &err);
  if (status != WO_OK) wo__run_report(scan, path, &err);
}

static const struct wo_walk_hooks accounting_hooks;

static void on_archive_with_accounts(void *context, const struct wo_walk_file *file, size_t root_len,
                                     const struct wo_walk_counts *counts) {
  struct wo_walk_hooks hooks = accounting_hooks;
  (void)counts;
  hooks.context = context;
  meet_archive(context, file, root_len, &hooks, true);
}

static void on_archive_with_jobs(void *context, const struct wo_walk_file *file, size_t root_len,
                                 const struct wo_walk_counts *counts) {
  struct wo__scan_run *const scan = context;
  struct wo_walk_hooks hooks = wo__run_job_hooks;
  hooks.context = context;
  scan->account.progress.share = scan->inside.share = counts->share;
  meet_archive(scan, file, root_len, &hooks, false);
}

static const struct wo_walk_hooks accounting_hooks = {
    .on_accounting = on_accounting, .on_archive_accounting = on_archive_accounting, .on_archive = on_archive_with_accounts};
const struct wo_walk_hooks wo__run_job_hooks = {
    .on_job = wo__run_on_job, .on_problem = wo__run_on_problem, .on_archive = on_archive_with_jobs};

/* Accounting may be anywhere in the archive, so it is looked for before the first job. */
void wo__run_find_accounts(struct wo__scan_run *scan) {
  struct wo_walk_hooks hooks = accounting_hooks;
  const struct wo_scan_settings *const settings = scan->settings;
  struct wo_walk_counts counts;
  if (scan->live) {
    scan->accounts = scan->live->accounts;
    return;
  }
  hooks.context = scan;
  scan->status = wo_accounts_new(&scan->accounts);
  if (scan->status == WO_OK)
    scan->status = wo_walk(settings->roots, settings->root_count, &settings->walk, &hooks, scan->hooks->is_cancelled, &counts);
  if (scan->status != WO_OK) {
    wo_err_nomem(scan->err);
    return;
  }
  wo__run_finish_archives(scan, &hooks, true);
  wo_accounts_sort(scan->accounts);
  scan->inside = (struct wo_walk_counts){0};
}
