/* A batch of jobs and its work: read the files of each job, diagnose it, keep its row. See batch.h.
 *
 * A thread shares nothing with the others but the rules, which are read only. */
#include "analyzer/scan/batch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/report/report.h"
#include "analyzer/scan/read_job.h"
#include "parsers/base/command/message.h"

struct wo_batch *wo_batch_new(void) {
  struct wo_batch *const batch = calloc(1, sizeof *batch);
  if (batch) wo_arena_init(&batch->arena, WO_LIMIT_REPORT_BYTES);
  return batch;
}

struct wo_batch *wo_batch_free(struct wo_batch *batch) {
  if (!batch) return NULL;
  wo_arena_done(&batch->arena);
  wo_text_done(&batch->messages);
  free(batch);
  return NULL;
}

bool wo_batch_is_full(const struct wo_batch *batch) {
  return batch->job_count == WO_LIMIT_BATCH_JOBS || batch->size_bytes >= WO_LIMIT_BATCH_BYTES;
}

enum wo_status wo_batch_add(struct wo_batch *batch, const struct wo_walk_job *found, struct wo_view owner) {
  struct wo_batch_job *const job = &batch->jobs[batch->job_count];
  *job = (struct wo_batch_job){.file_count = found->file_count, .log_count = found->log_count, .owner = owner};
  job->paths = wo_arena_array(&batch->arena, found->file_count, sizeof *job->paths);
  job->files = wo_arena_array(&batch->arena, found->file_count, sizeof *job->files);
  if (found->name.len > 0) job->name = wo_arena_copy(&batch->arena, found->name);
  for (size_t i = 0; job->paths && job->files && i < found->file_count; i++) {
    const struct wo_walk_file *const file = &found->files[i];
    const struct wo_view path = wo_arena_copy(&batch->arena, wo_view_of(file->path));
    job->paths[i] = path.ptr;
    job->files[i] = (struct wo_store_file){
        .path = path, .device = file->device, .inode = file->inode, .size_bytes = file->size_bytes, .mtime_ns = file->mtime_ns};
    batch->size_bytes += file->size_bytes;
  }
  if (wo_arena_is_exhausted(&batch->arena)) return WO_E_NOMEM;
  batch->job_count++;
  return WO_OK;
}

/* ---- The work ---- */

/* What a thread keeps from one job to the next. */
struct thread {
  const struct wo_diagnoser *diagnoser;
};

static void *start(void *context) {
  const struct wo_diagnoser *const diagnoser = context;
  if (diagnoser->enter_thread && !diagnoser->enter_thread(diagnoser->context)) return NULL;
  struct thread *const thread = calloc(1, sizeof *thread);
  if (thread) thread->diagnoser = diagnoser;
  return thread;
}

static void stop(void *state) {
  free(state);
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

static void read_files(struct wo_batch *batch, struct wo_batch_job *todo, struct wo_job *job,
                       const struct wo_diagnoser *diagnoser) {
  job->no_prefilter = diagnoser->no_prefilter;
  wo_job_expect(job, todo->paths, todo->file_count);
  for (size_t i = 0; i < todo->file_count; i++) {
    struct wo_store_file *const file = &todo->files[i];
    if (diagnoser->keeps_evidence) file->head_hash = hash_head(todo->paths[i]);
    file->is_unread = !wo_read_path(job, todo->paths[i], NULL, &batch->messages);
    batch->message_count += file->is_unread;
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

static void diagnose(struct wo_batch *batch, struct wo_batch_job *todo, const struct wo_diagnoser *diagnoser) {
  struct wo_job *job = NULL;
  struct wo_report *report = NULL;
  if (wo_job_new(diagnoser->pack, &job) != WO_OK) return;
  read_files(batch, todo, job, diagnoser);
  if (wo_job_close(job) == WO_OK && wo_report_make(job, diagnoser->pack, &report) == WO_OK)
    todo->is_done = keep_row(batch, todo, report);
  wo_report_free(report);
  wo_job_free(job);
}

static void run(void *state, struct wo_pool_item *item) {
  const struct thread *const thread = state;
  struct wo_batch *const batch = (struct wo_batch *)item;
  for (size_t i = 0; i < batch->job_count; i++) diagnose(batch, &batch->jobs[i], thread->diagnoser);
}

const struct wo_pool_work wo_batch_work = {.start = start, .run = run, .stop = stop};
