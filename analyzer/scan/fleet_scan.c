/* The scan: the walk finds jobs, the threads diagnose them, and this thread alone talks to the store. See fleet_scan.h.
 *
 * Jobs that are found wait in a batch until it is full. Not more batches are under way than keep the threads busy, so that memory
 * does not grow with the archive. */
#include "analyzer/scan/fleet_scan.h"

#include <stdlib.h>

#include "analyzer/scan/archives.h"
#include "analyzer/scan/batch.h"
#include "analyzer/scan/seen.h"
#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"

enum {
  BATCHES_PER_THREAD = 3, /* one is worked on, one waits, one is on its way to the store */
  MESSAGES_MAX = 20,      /* that are written; more are counted */
  COMMIT_JOBS = 2048      /* in one transaction at most */
};

/* A transaction is not open for longer, so that a kill costs little. */
#define COMMIT_NS (2 * WO_NS_PER_S)

#define PROGRESS_NS (WO_NS_PER_S / 10)

struct scan {
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

static int64_t now(const struct scan *scan) {
  return scan->hooks->now_ns ? scan->hooks->now_ns(scan->hooks->context) : 0;
}

static bool is_cancelled(const struct scan *scan) {
  return scan->hooks->is_cancelled && *scan->hooks->is_cancelled;
}

/* ---- Messages ---- */

/* Takes over lines that were written, as far as there is room for them. */
static void add_messages(struct scan *scan, struct wo_view lines, size_t count) {
  scan->account.problems += count;
  for (; lines.len > 0; scan->messages++) {
    const struct wo_view line = wo_view_cut(&lines, '\n');
    if (scan->messages >= MESSAGES_MAX) continue;
    wo_text_add_view(scan->errors, line);
    wo_text_add(scan->errors, "\n");
  }
}

static void on_problem(void *context, const char *path, const struct wo_err *err) {
  struct scan *const scan = context;
  struct wo_text line = {0};
  wo_message_error(&line, wo_view_of(path), err);
  add_messages(scan, (struct wo_view){line.ptr, line.len}, 1);
  wo_text_done(&line);
  if (scan->status == WO_OK)
    scan->status = wo_store_put_problem(scan->store, wo_view_of(path), wo_view_of(err->message), scan->err);
}

/* ---- The store ---- */

static void commit(struct scan *scan) {
  if (scan->status == WO_OK) scan->status = wo_store_commit(scan->store, scan->err);
  if (scan->status == WO_OK) scan->status = wo_store_begin(scan->store, scan->err);
  scan->uncommitted = 0;
  scan->commit_ns = now(scan);
}

static void put_row(struct scan *scan, const struct wo_batch_job *job) {
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

static void put_job(struct scan *scan, const struct wo_batch_job *job) {
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

static void show_progress(struct scan *scan) {
  const int64_t at = now(scan);
  scan->account.progress.elapsed_ns = at - scan->begin_ns;
  if (!scan->hooks->on_progress || (scan->shown_ns != 0 && at - scan->shown_ns < PROGRESS_NS)) return;
  scan->shown_ns = at;
  scan->hooks->on_progress(scan->hooks->context, &scan->account.progress);
}

/* Readings of archives heed the time limit and the user, who need not wait for the end of one. */
static void heed_archives(struct scan *scan) {
  const int64_t limit_ns = (int64_t)scan->settings->time_limit_s * WO_NS_PER_S;
  if (is_cancelled(scan))
    wo_archives_stop(scan->archives, 0, 0);
  else if (scan->diagnoser.now_ns)
    wo_archives_stop(scan->archives, now(scan), limit_ns);
}

/* Puts what a batch has brought, and frees it. */
static void put_batch(struct scan *scan, struct wo_batch *batch) {
  if (batch->reading && scan->status == WO_OK) scan->status = wo_archives_take(scan->archives, batch, scan->err);
  for (size_t i = 0; i < batch->job_count; i++) {
    if (scan->status == WO_OK) put_job(scan, &batch->jobs[i]);
    if (batch->jobs[i].archive) wo_archives_release(scan->archives, batch->jobs[i].archive);
  }
  wo_batch_free(batch);
}

/* Takes a batch that is done, waiting for one if there is none. False: there is none, and will be none. */
static bool take_batch(struct scan *scan) {
  struct wo_pool_item *item = NULL;
  do {
    const bool is_watched = scan->hooks->now_ns != NULL;
    item = wo_pool_take(scan->pool, is_watched ? now(scan) + PROGRESS_NS : INT64_MAX);
    show_progress(scan);
    if (scan->diagnoser.now_ns)
      wo_batch_heed_limit(&scan->diagnoser, now(scan), (int64_t)scan->settings->time_limit_s * WO_NS_PER_S);
    heed_archives(scan);
    if (!item && wo_pool_threads(scan->pool) == 0 && scan->status == WO_OK)
      scan->status = wo_err_set(scan->err, WO_E_LIMIT, "no thread could begin its work");
  } while (!item && wo_pool_load(scan->pool) > 0 && scan->status == WO_OK);
  if (!item) return false;
  struct wo_batch *const batch = (struct wo_batch *)item;
  add_messages(scan, (struct wo_view){batch->messages.ptr, batch->messages.len}, batch->message_count);
  put_batch(scan, batch);
  if (scan->uncommitted >= COMMIT_JOBS || (scan->uncommitted > 0 && now(scan) - scan->commit_ns > COMMIT_NS)) commit(scan);
  return true;
}

/* The threads start with the first batch, or archive: many scans find nothing to read. */
static void start_threads(struct scan *scan) {
  if (scan->pool || scan->status != WO_OK) return;
  scan->status = wo_pool_new(scan->settings->threads, &wo_batch_work, &scan->diagnoser, &scan->pool, scan->err);
}

static void send_batch(struct scan *scan) {
  start_threads(scan);
  if (!scan->batch || scan->status != WO_OK) return;
  wo_pool_put(scan->pool, &scan->batch->item);
  scan->batch = NULL;
}

static size_t load(const struct scan *scan) {
  return scan->pool ? wo_pool_load(scan->pool) : 0;
}

/* ---- Jobs ---- */

/* The evidence that the store has of a job whose rules have changed: its files need not be read again. */
static void take_kept(struct scan *scan, struct wo_batch_job *job) {
  int64_t id = WO_ROW_UNKNOWN;
  if (wo_store_find(scan->store, job->files[0].path, &id, scan->err) != WO_OK) return;
  if (id != WO_ROW_UNKNOWN) wo_store_evidence(scan->store, id, &scan->batch->arena, &job->kept, scan->err);
}

/* Whether the last job of the batch cannot be diagnosed, since its archive is known by its list alone. */
static bool lacks_bytes(const struct scan *scan) {
  const struct wo_batch_job *const job = &scan->batch->jobs[scan->batch->job_count - 1];
  if (!scan->archive || scan->archive->tar->fd >= 0 || job->kept.len > 0) return false;
  int64_t bytes = 0;
  for (size_t i = 0; i < job->path_count; i++) bytes |= job->members[i]->size_bytes;
  return bytes != 0;
}

/* The mark of a job by its first log in the archive: it is handed out twice where the archive is. NULL: not in one, or no
 * memory. */
static unsigned char *mark_of(struct scan *scan, const struct wo_walk_job *found) {
  struct wo_scan_archive *const archive = scan->archive;
  if (!archive) return NULL;
  const size_t count = archive->tar->count, at = (size_t)(found->files[0].member - archive->tar->items);
  if (!archive->took) archive->took = calloc(count, 1);
  if (archive->took_count == 0) archive->took_count = count;
  if (!archive->took || archive->took_count != count) return NULL;
  return &archive->took[at];
}

/* Whether the store has the last job of the batch already, as the present rules see it. */
static bool is_known(struct scan *scan) {
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
static struct wo_view owner_of(const struct scan *scan, const struct wo_walk_file *file) {
  if (file->member && file->member->user[0] != '\0') return wo_view_of(file->member->user);
  return scan->hooks->owner ? scan->hooks->owner(scan->hooks->context, file->owner) : (struct wo_view){0};
}

/* Whether a job that was found is to be read now, as far as it is for others to say. */
static bool is_asked_for(struct scan *scan, const struct wo_walk_job *found, bool is_same) {
  if (!scan->live || scan->status != WO_OK) return true;
  return scan->live->on_found(scan->live->context, found, is_same);
}

static void add_same(struct scan *scan, unsigned char *mark) {
  if (mark) *mark = 1;
  scan->account.progress.jobs_found++;
  scan->account.progress.jobs_same++;
  if (scan->account.progress.jobs_same % COMMIT_JOBS == 0) show_progress(scan);
}

/* Keeps the last job of the batch, or takes it out again: the store has it, it must wait for its archive, or it is left for
 * later. */
static void settle_job(struct scan *scan, const struct wo_walk_job *found, unsigned char *mark) {
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
static void add_job(struct scan *scan, const struct wo_walk_job *found, unsigned char *mark) {
  if (!scan->batch) scan->batch = wo_batch_new();
  if (!scan->batch || wo_batch_add(scan->batch, found, owner_of(scan, &found->files[0]), scan->accounts) != WO_OK) {
    scan->status = wo_err_nomem(scan->err);
    return;
  }
  settle_job(scan, found, mark);
  if (wo_batch_is_full(scan->batch)) send_batch(scan);
}

/* A job that is found goes into the batch, unless the store has it. */
static bool on_job(void *context, const struct wo_walk_job *found, const struct wo_walk_counts *counts) {
  struct scan *const scan = context;
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
  while (scan->status == WO_OK && load(scan) >= scan->most_batches && take_batch(scan)) continue;
  return scan->status == WO_OK && !is_cancelled(scan);
}

/* ---- Archives ---- */

/* Hands out what is in the archives that were read. */
static void hand_out_archives(struct scan *scan, const struct wo_walk_hooks *hooks, bool stays) {
  while (scan->status == WO_OK && !is_cancelled(scan) && (scan->archive = wo_archives_next(scan->archives))) {
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
static void meet_archive(struct scan *scan, const struct wo_walk_file *file, size_t root_len, const struct wo_walk_hooks *hooks,
                         bool stays) {
  hand_out_archives(scan, hooks, stays);
  start_threads(scan);
  while (scan->status == WO_OK && wo_archives_are_many(scan->archives)) {
    send_batch(scan);
    if (!take_batch(scan)) break;
    hand_out_archives(scan, hooks, stays);
  }
  if (scan->status == WO_OK && !is_cancelled(scan)) scan->status = wo_archives_meet(scan->archives, file, root_len, scan->err);
}

/* Waits for those that are being read, and hands them out. */
static void finish_archives(struct scan *scan, const struct wo_walk_hooks *hooks, bool stays) {
  hand_out_archives(scan, hooks, stays);
  while (scan->status == WO_OK && wo_archives_readings(scan->archives) > 0 && take_batch(scan))
    hand_out_archives(scan, hooks, stays);
}

/* ---- The whole ---- */

static bool is_part(const struct scan *scan) {
  return scan->live && scan->live->is_part;
}

static void begin(struct scan *scan) {
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
  commit(scan);
}

static void end(struct scan *scan) {
  scan->account.was_cancelled = is_cancelled(scan);
  if (scan->messages > MESSAGES_MAX && scan->errors)
    wo_message(scan->errors, (struct wo_view){0}, "%llu more messages of this sort",
               (unsigned long long)(scan->messages - MESSAGES_MAX));
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
static void drain(struct scan *scan) {
  while (load(scan) > 0) {
    struct wo_pool_item *const item = wo_pool_take(scan->pool, INT64_MAX);
    if (!item) break;
    put_batch(scan, (struct wo_batch *)item);
  }
}

static void report_accounting(struct scan *scan, const char *path, const struct wo_err *err) {
  struct wo_text line = {0};
  wo_message_error(&line, wo_view_of(path), err);
  add_messages(scan, (struct wo_view){line.ptr, line.len}, 1);
  wo_text_done(&line);
}

static void on_accounting(void *context, const char *path) {
  struct scan *const scan = context;
  struct wo_err err = {0};
  if (scan->status == WO_OK && wo_accounts_add(scan->accounts, path, &err) != WO_OK) report_accounting(scan, path, &err);
}

static void on_archive_accounting(void *context, const struct wo_tar *tar, const struct wo_tar_member *member, const char *path) {
  struct scan *const scan = context;
  struct wo_file_part part;
  struct wo_err err = {0};
  if (member->at == WO_TAR_NOT_KEPT) {
    scan->archive->needs_bytes = true;
    return;
  }
  enum wo_status status = wo_archives_keep_file(scan->archives, tar, member, &part, &err);
  if (status == WO_OK) status = wo_accounts_add_part(scan->accounts, path, &part, &err);
  if (status != WO_OK) report_accounting(scan, path, &err);
}

static const struct wo_walk_hooks accounting_hooks, job_hooks;

static void on_archive_with_accounts(void *context, const struct wo_walk_file *file, size_t root_len,
                                     const struct wo_walk_counts *counts) {
  struct wo_walk_hooks hooks = accounting_hooks;
  (void)counts;
  hooks.context = context;
  meet_archive(context, file, root_len, &hooks, true);
}

static void on_archive_with_jobs(void *context, const struct wo_walk_file *file, size_t root_len,
                                 const struct wo_walk_counts *counts) {
  struct scan *const scan = context;
  struct wo_walk_hooks hooks = job_hooks;
  hooks.context = context;
  scan->account.progress.share = scan->inside.share = counts->share;
  meet_archive(scan, file, root_len, &hooks, false);
}

static const struct wo_walk_hooks accounting_hooks = {
    .on_accounting = on_accounting, .on_archive_accounting = on_archive_accounting, .on_archive = on_archive_with_accounts};
static const struct wo_walk_hooks job_hooks = {.on_job = on_job, .on_problem = on_problem, .on_archive = on_archive_with_jobs};

/* Accounting may be anywhere in the archive, so it is looked for before the first job. */
static void find_accounts(struct scan *scan) {
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
  finish_archives(scan, &hooks, true);
  wo_accounts_sort(scan->accounts);
  scan->inside = (struct wo_walk_counts){0};
}

static bool on_folder(void *context, const char *path, bool is_root) {
  const struct scan *const scan = context;
  return !scan->live || !scan->live->on_folder || scan->live->on_folder(scan->live->context, path, is_root);
}

/* Archives are written once, and not followed. */
static void walk_and_diagnose(struct scan *scan) {
  struct wo_walk_hooks hooks = job_hooks;
  hooks.on_folder = on_folder;
  if (scan->live) hooks.on_archive = NULL;
  const struct wo_scan_settings *const settings = scan->settings;
  struct wo_walk_counts *const counts = &scan->account.walk;
  hooks.context = scan;
  const enum wo_status status =
      wo_walk(settings->roots, settings->root_count, &settings->walk, &hooks, scan->hooks->is_cancelled, counts);
  if (status != WO_OK && scan->status == WO_OK) scan->status = wo_err_nomem(scan->err);
  finish_archives(scan, &hooks, false);
  counts->files += scan->inside.files;
  counts->left_out += scan->inside.left_out;
  counts->nameless += scan->inside.nameless;
  counts->out_of_time += scan->inside.out_of_time;
  scan->account.progress.share = 1;
  if (scan->batch && scan->batch->job_count > 0) send_batch(scan);
  scan->batch = wo_batch_free(scan->batch);
  while (scan->status == WO_OK && load(scan) > 0 && take_batch(scan)) continue;
  drain(scan);
}

static void make_archives(struct scan *scan) {
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
  struct scan scan = {.settings = settings, .live = settings->live, .hooks = hooks, .store = store, .errors = errors, .err = err};
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
  scan.begin_ns = scan.commit_ns = now(&scan);
  make_archives(&scan);
  if (scan.status == WO_OK) begin(&scan);
  if (scan.status == WO_OK) find_accounts(&scan);
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
