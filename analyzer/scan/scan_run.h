/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a scan: its state, and what its files give each other. fleet_scan.c has the whole, scan_batches.c what comes back
 * from the threads, scan_jobs.c what is found, scan_archives.c tar archives and accounting. Nobody else includes this. */
#ifndef WO_SCAN_RUN_H
#define WO_SCAN_RUN_H

#include "analyzer/scan/archives.h"
#include "analyzer/scan/batch.h"
#include "analyzer/scan/fleet_scan.h"
#include "analyzer/scan/seen.h"

/* Messages that are written; more are counted. */
#define WO__RUN_MESSAGES_MAX 20

/* Jobs in one transaction at most. */
#define WO__RUN_COMMIT_JOBS 2048

struct wo__scan_run {
  const struct wo_scan_settings *settings;
  const struct wo_scan_hooks *hooks;
  struct wo_store *store;
  struct wo_store_scan record;
  struct wo_diagnoser diagnoser;
  struct wo_pool *pool;
  size_t most_batches;
  struct wo_batch *batch;       /* being filled, or NULL */
  struct wo_accounts *accounts; /* its own, or those of `live` */
  const struct wo_scan_live *live;
  struct wo_archives *archives;
  struct wo_scan_archive *archive; /* that is being handed out; NULL: none */
  struct wo_seen seen;
  struct wo_text *errors;
  uint64_t messages;
  struct wo_scan_account account;
  struct wo_walk_counts inside; /* of archives */
  size_t uncommitted;
  int64_t begin_ns, commit_ns, shown_ns;
  enum wo_status status;
  struct wo_err *err;
};

int64_t wo__run_now(const struct wo__scan_run *scan);
bool wo__run_is_cancelled(const struct wo__scan_run *scan);

/* ---- Messages ---- */

/* Takes over lines that were written, as far as there is room for them. */
void wo__run_add_messages(struct wo__scan_run *scan, struct wo_view lines, size_t count);

/* Says what is wrong with a file. / The same, and the store keeps it: a hook of walks. */
void wo__run_report(struct wo__scan_run *scan, const char *path, const struct wo_err *err);
void wo__run_on_problem(void *context, const char *path, const struct wo_err *err);

/* ---- Batches ---- */

void wo__run_commit(struct wo__scan_run *scan);
void wo__run_show_progress(struct wo__scan_run *scan);

/* The threads start with the first batch, or archive: many scans find nothing to read. */
void wo__run_start_threads(struct wo__scan_run *scan);

/* Hands the batch that is being filled to the threads. */
void wo__run_send_batch(struct wo__scan_run *scan);

/* Takes a batch that is done, waiting for one if there is none. False: there is none, and will be none. */
bool wo__run_take_batch(struct wo__scan_run *scan);

/* Puts what a batch has brought, and frees it. After a failure it is freed alone. */
void wo__run_put_batch(struct wo__scan_run *scan, struct wo_batch *batch);

/* Batches that are under way. */
size_t wo__run_load(const struct wo__scan_run *scan);

/* ---- Jobs, archives, accounting ---- */

/* A job that is found goes into the batch, unless the store has it: a hook of walks. */
bool wo__run_on_job(void *context, const struct wo_walk_job *found, const struct wo_walk_counts *counts);

/* The hooks of the walk for jobs, but for the context. */
extern const struct wo_walk_hooks wo__run_job_hooks;

/* Waits for archives that are being read, and hands out what is in them. `stays`: for accounting. */
void wo__run_finish_archives(struct wo__scan_run *scan, const struct wo_walk_hooks *hooks, bool stays);

/* Looks for accounting. It may be anywhere in the archive, so before the first job. */
void wo__run_find_accounts(struct wo__scan_run *scan);

#endif
