/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of jobs that come back from the threads: their rows go to the store, their messages to the user. See scan_run.h. */
#include "analyzer/scan/scan_run.h"

#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"

/* A transaction is not open for longer, so that a kill costs little. */
#define COMMIT_NS (2 * WO_NS_PER_S)

#define PROGRESS_NS (WO_NS_PER_S / 10)

int64_t wo__run_now(const struct wo__scan_run *scan) {
  return scan->hooks->now_ns ? scan->hooks->now_ns(scan->hooks->context) : 0;
}

bool wo__run_is_cancelled(const struct wo__scan_run *scan) {
  return scan->hooks->is_cancelled && *scan->hooks->is_cancelled;
}

/* ---- Messages ---- */

/* Takes over lines that were written, as far as there is room for them. */
void wo__run_add_messages(struct wo__scan_run *scan, struct wo_view lines, size_t count) {
  scan->account.problems += count;
  for (; lines.len > 0; scan->messages++) {
    const struct wo_view line = wo_view_cut(&lines, '\n');
    if (scan->messages >= WO__RUN_MESSAGES_MAX) continue;
    wo_text_add_view(scan->errors, line);
    wo_text_add(scan->errors, "\n");
  }
}

void wo__run_report(struct wo__scan_run *scan, const char *path, const struct wo_err *err) {
  struct wo_text line = {0};
  wo_message_error(&line, wo_view_of(path), err);
  wo__run_add_messages(scan, (struct wo_view){line.ptr, line.len}, 1);
  wo_text_done(&line);
}

void wo__run_on_problem(void *context, const char *path, const struct wo_err *err) {
  struct wo__scan_run *const scan = context;
  wo__run_report(scan, path, err);
  if (scan->status == WO_OK)
    scan->status = wo_store_put_problem(scan->store, wo_view_of(path), wo_view_of(err->message), scan->err);
}

/* ---- The store ---- */

void wo__run_commit(struct wo__scan_run *scan) {
  if (scan->status == WO_OK) scan->status = wo_store_commit(scan->store, scan->err);
  if (scan->status == WO_OK) scan->status = wo_store_begin(scan->store, scan->err);
  scan->uncommitted = 0;
  scan->commit_ns = wo__run_now(scan);
}

static void put_row(struct wo__scan_run *scan, const struct wo_batch_job *job) {
  if (job->kept.len > 0) {
    scan->status = wo_store_put_row(scan->store, &job->row, scan->settings->rules, scan->err);
    return;
  }
  const struct wo_store_job stored = {.row = job->row,
                                      .files = job->files,
                                      .file_count = job->file_count,
                                      .evidence = job->evidence,
                                      .rules = scan->settings->rules};
  scan->status = wo_store_put(scan->store, &stored, scan->err);
}

static void put_job(struct wo__scan_run *scan, const struct wo_batch_job *job) {
  struct wo_scan_progress *const progress = &scan->account.progress;
  if (!job->is_done) {
    scan->status = wo_err_nomem(scan->err);
    return;
  }
  const bool is_wanted = !scan->live || scan->live->on_row(scan->live->context, &job->row, job->has_ended);
  if (is_wanted) put_row(scan, job);
  if (is_wanted && scan->live && scan->status == WO_OK) scan->live->on_stored(scan->live->context, &job->row);
  scan->uncommitted += is_wanted;
  if (job->kept.len > 0) {
    progress->jobs_again++;
    return;
  }
  progress->jobs_done++;
  progress->files_done += job->file_count;
  progress->bytes_done += job->row.bytes > 0 ? (uint64_t)job->row.bytes : 0;
}

/* ---- Batches ---- */

void wo__run_show_progress(struct wo__scan_run *scan) {
  const int64_t at = wo__run_now(scan);
  scan->account.progress.elapsed_ns = at - scan->begin_ns;
  if (!scan->hooks->on_progress || (scan->shown_ns != 0 && at - scan->shown_ns < PROGRESS_NS)) return;
  scan->shown_ns = at;
  scan->hooks->on_progress(scan->hooks->context, &scan->account.progress);
}

/* Readings of archives heed the time limit and the user, who need not wait for the end of one. */
static void heed_archives(struct wo__scan_run *scan) {
  const int64_t limit_ns = (int64_t)scan->settings->time_limit_s * WO_NS_PER_S;
  if (wo__run_is_cancelled(scan))
    wo_archives_stop(scan->archives, 0, 0);
  else if (scan->diagnoser.now_ns)
    wo_archives_stop(scan->archives, wo__run_now(scan), limit_ns);
}

/* Puts what a batch has brought, and frees it. */
void wo__run_put_batch(struct wo__scan_run *scan, struct wo_batch *batch) {
  if (batch->reading && scan->status == WO_OK) scan->status = wo_archives_take(scan->archives, batch, scan->err);
  for (size_t i = 0; i < batch->job_count; i++) {
    if (scan->status == WO_OK) put_job(scan, &batch->jobs[i]);
    if (batch->jobs[i].archive) wo_archives_release(scan->archives, batch->jobs[i].archive);
  }
  wo_batch_free(batch);
}

/* Takes a batch that is done, waiting for one if there is none. False: there is none, and will be none. */
bool wo__run_take_batch(struct wo__scan_run *scan) {
  struct wo_pool_item *item = NULL;
  do {
    const bool is_watched = scan->hooks->now_ns != NULL;
    item = wo_pool_take(scan->pool, is_watched ? wo__run_now(scan) + PROGRESS_NS : INT64_MAX);
    wo__run_show_progress(scan);
    if (scan->diagnoser.now_ns)
      wo_batch_heed_limit(&scan->diagnoser, wo__run_now(scan), (int64_t)scan->settings->time_limit_s * WO_NS_PER_S);
    heed_archives(scan);
    if (!item && wo_pool_threads(scan->pool) == 0 && scan->status == WO_OK)
      scan->status = wo_err_set(scan->err, WO_E_LIMIT, "no thread could begin its work");
  } while (!item && wo_pool_load(scan->pool) > 0 && scan->status == WO_OK);
  if (!item) return false;
  struct wo_batch *const batch = (struct wo_batch *)item;
  wo__run_add_messages(scan, (struct wo_view){batch->messages.ptr, batch->messages.len}, batch->message_count);
  wo__run_put_batch(scan, batch);
  if (scan->uncommitted >= WO__RUN_COMMIT_JOBS || (scan->uncommitted > 0 && wo__run_now(scan) - scan->commit_ns > COMMIT_NS))
    wo__run_commit(scan);
  return true;
}

/* The threads start with the first batch, or archive: many scans find nothing to read. */
void wo__run_start_threads(struct wo__scan_run *scan) {
  if (scan->pool || scan->status != WO_OK) return;
  scan->status = wo_pool_new(scan->settings->threads, &wo_batch_work, &scan->diagnoser, &scan->pool, scan->err);
}

void wo__run_send_batch(struct wo__scan_run *scan) {
  wo__run_start_threads(scan);
  if (!scan->batch || scan->status != WO_OK) return;
  wo_pool_put(scan->pool, &scan->batch->item);
  scan->batch = NULL;
}

size_t wo__run_load(const struct wo__scan_run *scan) {
  return scan->pool ? wo_pool_load(scan->pool) : 0;
}
