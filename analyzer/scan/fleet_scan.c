/* SPDX-License-Identifier: Apache-2.0 */
/* The scan: the walk finds jobs, the threads diagnose them, and this thread alone talks to the store. See fleet_scan.h.
 *
 * Jobs that are found wait in a batch until it is full. Not more batches are under way than keep the threads busy, so that memory
 * does not grow with the archive. */
#include "analyzer/scan/fleet_scan.h"

#include <stdlib.h>

#include "analyzer/scan/scan_run.h"
#include "parsers/base/command/message.h"

/* One is worked on, one waits, one is on its way to the store. */
#define BATCHES_PER_THREAD 3

static bool is_part(const struct wo__scan_run *scan) {
  return scan->live && scan->live->is_part;
}

static void begin(struct wo__scan_run *scan) {
  const struct wo_scan_settings *const settings = scan->settings;
  struct wo_text roots = {0};
  for (size_t i = 0; i < settings->root_count; i++) wo_text_add(&roots, "%s%s", i > 0 ? "\n" : "", settings->roots[i]);
  scan->record = (struct wo_store_scan){
      .roots = {roots.ptr, roots.len},
      .shard = settings->walk.shard,
      .shard_count = settings->walk.shard_count > 0 ? settings->walk.shard_count : 1,
      .rules = settings->rules,
      .start_ns = scan->hooks->clock_ns ? scan->hooks->clock_ns(scan->hooks->context) : WO_ROW_UNKNOWN,
      .end_ns = WO_ROW_UNKNOWN,
  };
  if (roots.is_failed) scan->status = wo_err_nomem(scan->err);
  if (scan->status == WO_OK) scan->status = wo_store_begin(scan->store, scan->err);
  if (scan->status == WO_OK && !is_part(scan)) scan->status = wo_store_begin_scan(scan->store, &scan->record, scan->err);
  wo_text_done(&roots);
  wo__run_commit(scan);
}

static void end(struct wo__scan_run *scan) {
  scan->account.was_cancelled = wo__run_is_cancelled(scan);
  if (scan->messages > WO__RUN_MESSAGES_MAX && scan->errors)
    wo_message(scan->errors, (struct wo_view){0}, "%llu more messages of this sort",
               (unsigned long long)(scan->messages - WO__RUN_MESSAGES_MAX));
  scan->record.roots = (struct wo_view){0};
  scan->record.jobs = (int64_t)scan->account.progress.jobs_found;
  scan->record.files = (int64_t)scan->account.walk.files;
  scan->record.bytes = (int64_t)scan->account.progress.bytes_done;
  if (scan->hooks->clock_ns) scan->record.end_ns = scan->hooks->clock_ns(scan->hooks->context);
  if (scan->status == WO_OK && !scan->account.was_cancelled && !is_part(scan))
    scan->status = wo_store_end_scan(scan->store, &scan->record, scan->err);
  if (scan->status == WO_OK) scan->status = wo_store_commit(scan->store, scan->err);
  if (scan->status != WO_OK) wo_store_rollback(scan->store);
}

/* Batches that were not taken, after a failure, are taken without being put. */
static void drain(struct wo__scan_run *scan) {
  while (wo__run_load(scan) > 0) {
    struct wo_pool_item *const item = wo_pool_take(scan->pool, INT64_MAX);
    if (!item) break;
    wo__run_put_batch(scan, (struct wo_batch *)item);
  }
}

static bool on_folder(void *context, const char *path, bool is_root) {
  const struct wo__scan_run *const scan = context;
  return !scan->live || !scan->live->on_folder || scan->live->on_folder(scan->live->context, path, is_root);
}

/* Archives are written once, and not followed. */
static void walk_and_diagnose(struct wo__scan_run *scan) {
  struct wo_walk_hooks hooks = wo__run_job_hooks;
  hooks.on_folder = on_folder;
  if (scan->live) hooks.on_archive = NULL;
  const struct wo_scan_settings *const settings = scan->settings;
  struct wo_walk_counts *const counts = &scan->account.walk;
  hooks.context = scan;
  const enum wo_status status =
      wo_walk(settings->roots, settings->root_count, &settings->walk, &hooks, scan->hooks->is_cancelled, counts);
  if (status != WO_OK && scan->status == WO_OK) scan->status = wo_err_nomem(scan->err);
  wo__run_finish_archives(scan, &hooks, false);
  counts->files += scan->inside.files;
  counts->left_out += scan->inside.left_out;
  counts->nameless += scan->inside.nameless;
  counts->out_of_time += scan->inside.out_of_time;
  scan->account.progress.share = 1;
  if (scan->batch && scan->batch->job_count > 0) wo__run_send_batch(scan);
  scan->batch = wo_batch_free(scan->batch);
  while (scan->status == WO_OK && wo__run_load(scan) > 0 && wo__run_take_batch(scan)) continue;
  drain(scan);
}

static void make_archives(struct wo__scan_run *scan) {
  const struct wo_archives_settings settings = {.pool = &scan->pool,
                                                .store = scan->store,
                                                .walk = &scan->settings->walk,
                                                .temp_folder = scan->hooks->temp_folder,
                                                .threads = scan->settings->threads,
                                                .keeps_lists = scan->settings->keeps_evidence};
  if (wo_archives_new(&settings, &scan->archives) != WO_OK) scan->status = wo_err_nomem(scan->err);
}

enum wo_status wo_fleet_scan(const struct wo_pack *pack, struct wo_store *store, const struct wo_scan_settings *settings,
                             const struct wo_scan_hooks *hooks, struct wo_text *errors, struct wo_scan_account *ret_account,
                             struct wo_err *err) {
  struct wo__scan_run scan = {
      .settings = settings, .live = settings->live, .hooks = hooks, .store = store, .errors = errors, .err = err};
  scan.diagnoser = (struct wo_diagnoser){.pack = pack,
                                         .no_prefilter = settings->no_prefilter,
                                         .keeps_evidence = settings->keeps_evidence,
                                         .rules = settings->rules,
                                         .enter_thread = hooks->enter_thread,
                                         .context = hooks->context,
                                         .now_ns = settings->time_limit_s > 0 ? hooks->now_ns : NULL,
                                         .watches = calloc(settings->threads, sizeof *scan.diagnoser.watches)};
  if (!scan.diagnoser.watches) return wo_err_nomem(err);
  scan.most_batches = settings->threads * BATCHES_PER_THREAD;
  scan.begin_ns = scan.commit_ns = wo__run_now(&scan);
  make_archives(&scan);
  if (scan.status == WO_OK) begin(&scan);
  if (scan.status == WO_OK) wo__run_find_accounts(&scan);
  if (scan.status == WO_OK) walk_and_diagnose(&scan);
  wo_pool_free(scan.pool);
  wo_archives_free(scan.archives);
  wo_seen_done(&scan.seen);
  if (!scan.live) wo_accounts_free(scan.accounts);
  end(&scan);
  free(scan.diagnoser.watches);
  *ret_account = scan.account;
  return scan.status;
}
