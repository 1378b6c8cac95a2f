/* SPDX-License-Identifier: Apache-2.0 */
/* Open jobs, by the hash of their paths. See live_jobs.h. */
#include "analyzer/live/live_jobs.h"

#include <stdlib.h>

#include "parsers/base/limits.h"
#include "parsers/base/units.h"
#include "parsers/base/vec.h"

/* The first look at what a job says comes when it was quiet for so long. Large logs wait longer, so that one that is written in
 * pieces is not read all the time. */
#define PAUSE_NS (2 * WO_NS_PER_S)
#define PAUSE_BYTES_PER_S ((int64_t)5 * 1000 * 1000)

enum stage { CLOSED, FRESH, WAITING };

struct wo_live_job {
  uint64_t path;    /* hash */
  uint64_t files;   /* hash of their inodes, sizes and times */
  uint64_t answer;  /* that was reported; 0: none */
  int64_t since_ns; /* the files are as they are */
  int64_t pause_ns; /* before the first look */
  uint64_t inode;   /* of the first log, and its size: another inode, or less, is another job of the same name */
  int64_t size_bytes;
  uint32_t folder, look;
  enum stage stage;
  bool is_replaced; /* what was known of the name is of another job */
};

void wo_live_jobs_init(struct wo_live_jobs *jobs, int64_t settle_ns) {
  *jobs = (struct wo_live_jobs){.settle_ns = settle_ns};
}

void wo_live_jobs_done(struct wo_live_jobs *jobs) {
  free(jobs->items);
  wo_hash_map_done(&jobs->by_path);
  wo_hash_map_done(&jobs->settled_logs);
  *jobs = (struct wo_live_jobs){0};
}

/* ---- Hashes ---- */

static uint64_t hash_path(struct wo_view path) {
  return wo_view_hash(WO_HASH_START, path);
}

/* Names do not count, nor does the order: logs that are renamed stay what they are. */
static uint64_t hash_files(const struct wo_walk_job *job) {
  uint64_t sum = 0;
  for (size_t i = 0; i < job->file_count; i++) {
    const struct wo_walk_file *const file = &job->files[i];
    const uint64_t numbers[] = {file->device, file->inode, (uint64_t)file->size_bytes, (uint64_t)file->mtime_ns};
    sum += wo_view_hash(WO_HASH_START, (struct wo_view){(const char *)numbers, sizeof numbers});
  }
  return sum;
}

static int64_t pause_of(const struct wo_live_jobs *jobs, const struct wo_walk_job *job) {
  int64_t bytes = 0;
  for (size_t i = 0; i < job->log_count; i++) bytes += job->files[i].size_bytes;
  const int64_t by_size = bytes / PAUSE_BYTES_PER_S * WO_NS_PER_S;
  const int64_t pause = by_size > PAUSE_NS ? by_size : PAUSE_NS;
  return pause < jobs->settle_ns ? pause : jobs->settle_ns;
}

/* What a report says of a job: another answer is worth another report. */
static uint64_t answer_of(const struct wo_row *row) {
  const int64_t numbers[] = {row->step, row->is_failed};
  uint64_t hash = wo_view_hash(WO_HASH_START, row->outcome);
  hash = wo_view_hash(wo_view_hash(hash, WO_VIEW("\n")), row->cause);
  hash = wo_view_hash(hash, (struct wo_view){(const char *)numbers, sizeof numbers});
  return hash == 0 ? 1 : hash;
}

/* ---- The table ---- */

static struct wo_live_job *find(const struct wo_live_jobs *jobs, uint64_t path) {
  const uint32_t at = wo_hash_map_get(&jobs->by_path, path);
  return at == WO_HASH_MAP_NONE ? NULL : &jobs->items[at];
}

static void forget(struct wo_live_jobs *jobs, size_t at) {
  wo_hash_map_remove(&jobs->by_path, jobs->items[at].path);
  jobs->items[at] = jobs->items[--jobs->count];
  if (at < jobs->count) wo_hash_map_set(&jobs->by_path, jobs->items[at].path, (uint32_t)at, SIZE_MAX);
}

/* What was reported long ago makes room. */
static void forget_closed(struct wo_live_jobs *jobs) {
  for (size_t i = jobs->count; i-- > 0;) {
    if (jobs->items[i].stage == CLOSED) forget(jobs, i);
  }
}

static struct wo_live_job *add(struct wo_live_jobs *jobs, uint64_t path) {
  struct {
    struct wo_live_job *items;
    size_t count, capacity;
  } grown = {jobs->items, jobs->count, jobs->capacity};
  if (jobs->count >= WO_LIMIT_LIVE_JOBS) forget_closed(jobs);
  grown.count = jobs->count;
  const bool has_room = WO_VEC_RESERVE(&grown, 1, WO_LIMIT_LIVE_JOBS);
  jobs->items = grown.items;
  jobs->capacity = grown.capacity;
  if (!has_room || !wo_hash_map_set(&jobs->by_path, path, (uint32_t)jobs->count, WO_LIMIT_LIVE_JOBS)) return NULL;
  jobs->items[jobs->count] = (struct wo_live_job){.path = path};
  return &jobs->items[jobs->count++];
}

/* ---- Looks ---- */

void wo_live_jobs_begin_look(struct wo_live_jobs *jobs) {
  jobs->look++;
  jobs->waiting = 0;
}

static void open_job(const struct wo_live_jobs *jobs, struct wo_live_job *open, const struct wo_walk_job *job, uint64_t files,
                     int64_t now_ns) {
  const struct wo_walk_file *const log = &job->files[0];
  if (open->inode != 0 && (open->inode != log->inode || log->size_bytes < open->size_bytes)) {
    open->answer = 0;
    open->is_replaced = true;
  }
  open->inode = log->inode;
  open->size_bytes = log->size_bytes;
  open->files = files;
  open->since_ns = now_ns;
  open->pause_ns = pause_of(jobs, job);
  open->stage = FRESH;
}

static int64_t due_of(const struct wo_live_jobs *jobs, const struct wo_live_job *open) {
  return open->since_ns + (open->stage == FRESH ? open->pause_ns : jobs->settle_ns);
}

void wo_live_jobs_settle(struct wo_live_jobs *jobs, const struct wo_walk_job *job) {
  wo_hash_map_set(&jobs->settled_logs, hash_files(job), 0, WO_LIMIT_LIVE_LOGS);
}

bool wo_live_jobs_see(struct wo_live_jobs *jobs, const struct wo_walk_job *job, uint32_t folder, bool is_same,
                      bool is_other_accounting, int64_t now_ns) {
  const uint64_t path = hash_path(wo_view_of(job->files[0].path)), files = hash_files(job);
  struct wo_live_job *open = find(jobs, path);
  if (!open) {
    if (is_same) wo_live_jobs_settle(jobs, job);
    const bool is_renamed = wo_hash_map_get(&jobs->settled_logs, files) != WO_HASH_MAP_NONE;
    if (is_same || (is_renamed && !is_other_accounting)) return false;
    open = add(jobs, path);
    if (open) open_job(jobs, open, job, files, now_ns);
    jobs->waiting += !open;
  } else if (open->files != files || (open->stage == CLOSED && is_other_accounting && !is_same)) {
    open_job(jobs, open, job, files, now_ns);
  } else if (is_same) {
    open->stage = CLOSED;
  }
  if (!open) return false;
  open->folder = folder;
  open->look = jobs->look;
  return open->stage != CLOSED && now_ns >= due_of(jobs, open);
}

/* ---- Verdicts ---- */

static enum wo_live_verdict close_job(struct wo_live_jobs *jobs, struct wo_live_job *open, const struct wo_row *row,
                                      const struct wo_row *known) {
  const uint64_t answer = answer_of(row);
  if (open->answer == 0 && known && !open->is_replaced) open->answer = answer_of(known);
  const bool is_news = answer != open->answer;
  open->answer = answer;
  open->stage = CLOSED;
  wo_hash_map_set(&jobs->settled_logs, open->files, 0, WO_LIMIT_LIVE_LOGS);
  return is_news ? WO_LIVE_REPORT : WO_LIVE_KEEP;
}

enum wo_live_verdict wo_live_jobs_judge(struct wo_live_jobs *jobs, const struct wo_row *row, bool has_ended,
                                        const struct wo_row *known, int64_t now_ns) {
  struct wo_live_job *const open = find(jobs, hash_path(row->path));
  if (!open || open->stage == CLOSED) return WO_LIVE_KEEP;
  if (has_ended) return close_job(jobs, open, row, known);
  if (now_ns - open->since_ns < jobs->settle_ns) {
    open->stage = WAITING;
    return WO_LIVE_WAIT;
  }
  if (row->is_failed == 1) return close_job(jobs, open, row, known);
  open->stage = CLOSED; /* nothing is to be read until it changes */
  return WO_LIVE_KEEP;
}

void wo_live_jobs_end_look(struct wo_live_jobs *jobs, bool (*was_seen)(void *context, uint32_t folder),
                           void (*fn)(void *context, uint32_t folder, int64_t due_ns), void *context) {
  jobs->open = 0;
  for (size_t i = jobs->count; i-- > 0;) {
    struct wo_live_job *const open = &jobs->items[i];
    if (open->stage == CLOSED) continue;
    if (open->look != jobs->look && was_seen(context, open->folder)) {
      forget(jobs, i);
      continue;
    }
    jobs->open++;
    fn(context, open->folder, due_of(jobs, open));
  }
}
