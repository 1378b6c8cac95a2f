/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of jobs and its work: read the files of each job, diagnose it, keep its row. See batch.h.
 *
 * A thread shares nothing with the others but the rules, which are read only. */
#include "analyzer/scan/batch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/files/names.h"
#include "analyzer/pack/job_pack.h"
#include "analyzer/report/report.h"
#include "analyzer/scan/grown.h"
#include "analyzer/scan/read_job.h"
#include "analyzer/story/story.h"
#include "parsers/base/command/message.h"

struct wo_batch *wo_batch_new(void) {
  struct wo_batch *const batch = calloc(1, sizeof *batch);
  if (batch) wo_arena_init(&batch->arena, WO_LIMIT_REPORT_BYTES);
  if (batch) wo_arena_init(&batch->grown, WO_LIMIT_REPORT_BYTES);
  return batch;
}

struct wo_batch *wo_batch_free(struct wo_batch *batch) {
  if (!batch) return NULL;
  wo_arena_done(&batch->arena);
  wo_arena_done(&batch->grown);
  wo_text_done(&batch->messages);
  free(batch->reading);
  free(batch);
  return NULL;
}

bool wo_batch_is_full(const struct wo_batch *batch) {
  return batch->job_count == WO_LIMIT_BATCH_JOBS || batch->size_bytes >= WO_LIMIT_BATCH_BYTES;
}

struct wo_store_file wo_batch_file(const struct wo_walk_file *file) {
  return (struct wo_store_file){.path = wo_view_of(file->path),
                                .device = file->device,
                                .inode = file->inode,
                                .size_bytes = file->size_bytes,
                                .mtime_ns = file->mtime_ns};
}

struct wo_store_file wo_batch_account_file(const struct wo_account_text *text) {
  return (struct wo_store_file){.path = wo_view_of(text->path),
                                .inode = wo_view_hash(WO_HASH_START, text->text) >> 1,
                                .size_bytes = (int64_t)text->text.len};
}

static void add_file(struct wo_batch *batch, struct wo_batch_job *job, size_t at, const struct wo_walk_file *file) {
  job->files[at] = wo_batch_file(file);
  job->files[at].path = wo_arena_copy(&batch->arena, job->files[at].path);
  job->paths[at] = job->files[at].path.ptr;
  batch->size_bytes += file->size_bytes;
}

static const struct wo_tar_member *const *keep_members(struct wo_batch *batch, const struct wo_walk_job *found) {
  const struct wo_tar_member **const members = wo_arena_array(&batch->arena, found->file_count, sizeof *members);
  for (size_t i = 0; members && i < found->file_count; i++) members[i] = found->files[i].member;
  return members;
}

enum wo_status wo_batch_add(struct wo_batch *batch, const struct wo_walk_job *found, struct wo_view owner,
                            struct wo_accounts *accounts) {
  struct wo_account_text texts[WO_LIMIT_BATCH_ACCOUNTS];
  struct wo_batch_job *const job = &batch->jobs[batch->job_count];
  int64_t task = -1;
  const struct wo_view id = wo_name_job(wo_view_of(found->files[0].path), &task);
  const size_t count = accounts ? wo_accounts_find(accounts, id, task, &batch->arena, texts, WO_LIMIT_BATCH_ACCOUNTS) : 0;
  *job = (struct wo_batch_job){.path_count = found->file_count,
                               .file_count = found->file_count + count,
                               .log_count = found->log_count,
                               .account_count = count,
                               .tar = found->tar,
                               .owner = owner};
  job->paths = wo_arena_array(&batch->arena, found->file_count, sizeof *job->paths);
  job->files = wo_arena_array(&batch->arena, job->file_count, sizeof *job->files);
  job->accounts = wo_arena_array(&batch->arena, count + 1, sizeof *job->accounts);
  if (found->name.len > 0) job->name = wo_arena_copy(&batch->arena, found->name);
  if (wo_arena_is_exhausted(&batch->arena)) return WO_E_NOMEM;
  for (size_t i = 0; i < found->file_count; i++) add_file(batch, job, i, &found->files[i]);
  if (found->tar) job->members = keep_members(batch, found);
  for (size_t i = 0; i < count; i++) {
    job->accounts[i] = texts[i];
    job->files[found->file_count + i] = wo_batch_account_file(&texts[i]);
  }
  if (wo_arena_is_exhausted(&batch->arena)) return WO_E_NOMEM;
  batch->job_count++;
  return WO_OK;
}

/* ---- The work ---- */

/* What a thread keeps from one job to the next. */
struct thread {
  const struct wo_diagnoser *diagnoser;
  struct wo_batch_watch *watch;
  struct wo_job_workspace *workspace; /* of all its jobs */
};

void wo_batch_heed_limit(struct wo_diagnoser *diagnoser, int64_t now_ns, int64_t limit_ns) {
  const size_t count = diagnoser->watch_count;
  for (size_t i = 0; i < count; i++) {
    const int64_t began_ns = diagnoser->watches[i].began_ns;
    if (began_ns != 0 && now_ns - began_ns > limit_ns) diagnoser->watches[i].is_time_up = 1;
  }
}

static void *start(void *context) {
  struct wo_diagnoser *const diagnoser = context;
  if (diagnoser->enter_thread && !diagnoser->enter_thread(diagnoser->context)) return NULL;
  struct thread *const thread = calloc(1, sizeof *thread);
  if (!thread || wo_job_workspace_new(diagnoser->pack, &thread->workspace) != WO_OK) {
    free(thread);
    return NULL;
  }
  thread->diagnoser = diagnoser;
  thread->watch = &diagnoser->watches[diagnoser->watch_count++];
  return thread;
}

static void stop(void *state) {
  struct thread *const thread = state;
  wo_job_workspace_free(thread->workspace);
  free(thread);
}

/* The hash of a file's first bytes, by which a file that has grown is told from another one of its name. */
static uint64_t hash_head(const char *path) {
  char head[WO_LIMIT_HEAD_HASH_BYTES];
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return 0;
  const ssize_t len = read(fd, head, sizeof head);
  close(fd);
  return len > 0 ? wo_view_hash(WO_HASH_START, (struct wo_view){head, (size_t)len}) : 0;
}

/* Files of archives have no hash: one that has grown is read as another one. */
static bool read_member(struct wo_batch *batch, const struct wo_batch_job *todo, size_t at, struct wo_job *job,
                        const struct thread *thread) {
  const struct wo_tar_member *const member = todo->members[at];
  const struct wo_file_part part = {todo->tar->fd, member->at, (uint64_t)member->size_bytes};
  return wo_read_part(job, todo->paths[at], &part, &thread->watch->is_time_up, &batch->messages);
}

/* Without a store nothing is kept for another time. */
static bool read_file(struct wo_batch *batch, struct wo_batch_job *todo, size_t at, struct wo_job *job,
                      const struct thread *thread, struct wo_grown *grown) {
  struct wo_store_file *const file = &todo->files[at];
  const volatile sig_atomic_t *const is_up = &thread->watch->is_time_up;
  if (todo->tar) return read_member(batch, todo, at, job, thread);
  if (!thread->diagnoser->keeps_evidence) return wo_read_path(job, todo->paths[at], is_up, &batch->messages);
  file->head_hash = hash_head(todo->paths[at]);
  return wo_grown_read(grown, job, at, file, todo->paths[at], is_up, &batch->messages);
}

static void read_files(struct wo_batch *batch, struct wo_batch_job *todo, struct wo_job *job, const struct thread *thread,
                       struct wo_grown *grown) {
  const struct wo_diagnoser *const diagnoser = thread->diagnoser;
  job->no_prefilter = diagnoser->no_prefilter;
  wo_job_expect(job, todo->paths, todo->path_count);
  for (size_t i = 0; i < todo->path_count; i++) {
    struct wo_store_file *const file = &todo->files[i];
    file->is_unread = !read_file(batch, todo, i, job, thread, grown);
    batch->message_count += file->is_unread;
  }
  for (size_t i = 0; i < todo->account_count; i++) {
    const struct wo_account_text *const account = &todo->accounts[i];
    wo_job_read_part(job, account->text, account->path, account->first_line);
  }
}

static int64_t newest_ns(const struct wo_batch_job *job) {
  int64_t newest = WO_ROW_UNKNOWN;
  for (size_t i = 0; i < job->log_count; i++) {
    if (job->files[i].mtime_ns > newest) newest = job->files[i].mtime_ns;
  }
  return newest;
}

/* The row with copies of its texts, since the report and the job end here. */
static bool keep_row(struct wo_batch *batch, struct wo_batch_job *todo, const struct wo_report *report) {
  const struct wo_row_hints hints = {
      .path = todo->files[0].path, .name = todo->name, .owner = todo->owner, .written_ns = newest_ns(todo)};
  struct wo_arena scratch;
  wo_arena_init(&scratch, WO_LIMIT_REPORT_BYTES);
  const enum wo_status status = wo_report_row(report, &hints, &scratch, &todo->row);
  if (status == WO_OK) wo_row_keep(&todo->row, &batch->arena);
  wo_arena_done(&scratch);
  return status == WO_OK && !wo_arena_is_exhausted(&batch->arena);
}

/* Evidence that is too large to be kept is left out: the files will be read again. */
static void keep_evidence(struct wo_batch *batch, struct wo_batch_job *todo, const struct wo_job *job,
                          const struct wo_grown *grown) {
  struct wo_text packed = {0};
  if (wo_job_pack(job, &packed) == WO_OK && !packed.is_failed)
    todo->evidence = wo_arena_copy(&batch->arena, (struct wo_view){packed.ptr, packed.len});
  wo_grown_keep(grown, todo->evidence, todo->files, &batch->arena);
  wo_text_done(&packed);
}

/* The job with its evidence: that which was kept, or that of its files. NULL if there is none. */
static struct wo_job *make_job(struct wo_batch *batch, struct wo_batch_job *todo, const struct thread *thread,
                               struct wo_grown *grown) {
  const struct wo_diagnoser *const diagnoser = thread->diagnoser;
  struct wo_job *job = NULL;
  if (todo->kept.len > 0) return wo_job_unpack(todo->kept, diagnoser->pack, &job, NULL) == WO_OK ? job : NULL;
  if (wo_job_new_in(thread->workspace, &job) != WO_OK) return NULL;
  read_files(batch, todo, job, thread, grown);
  if (diagnoser->keeps_evidence) keep_evidence(batch, todo, job, grown);
  return job;
}

static void diagnose(struct wo_batch *batch, struct wo_batch_job *todo, const struct thread *thread) {
  struct wo_report *report = NULL;
  struct wo_grown grown;
  wo_grown_begin(&grown, &todo->grown, thread->diagnoser->rules, todo->path_count);
  struct wo_job *const job = make_job(batch, todo, thread, &grown);
  if (job && wo_job_close(job) == WO_OK && wo_report_make_brief(job, thread->diagnoser->pack, &report) == WO_OK)
    todo->is_done = keep_row(batch, todo, report);
  todo->has_ended = todo->is_done && wo_story_has_ended(job);
  wo_report_free(report);
  wo_job_free(job);
  wo_grown_done(&grown);
}

static void run(void *state, struct wo_pool_item *item) {
  const struct thread *const thread = state;
  struct wo_batch *const batch = (struct wo_batch *)item;
  const struct wo_diagnoser *const diagnoser = thread->diagnoser;
  struct wo_batch_reading *const reading = batch->reading;
  if (reading) {
    if (diagnoser->now_ns) reading->began_ns = diagnoser->now_ns(diagnoser->context);
    wo_tar_read(reading->tar, reading->walk, reading->spool, &reading->is_over);
  }
  for (size_t i = 0; i < batch->job_count; i++) {
    thread->watch->is_time_up = 0;
    if (diagnoser->now_ns) thread->watch->began_ns = diagnoser->now_ns(diagnoser->context);
    diagnose(batch, &batch->jobs[i], thread);
    thread->watch->began_ns = 0;
  }
}

const struct wo_pool_work wo_batch_work = {.start = start, .run = run, .stop = stop};
