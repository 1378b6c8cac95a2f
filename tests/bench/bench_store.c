/* SPDX-License-Identifier: Apache-2.0 */
/* What a store of jobs costs.
 *
 *   bench_store put|small|fresh|each JOBS FILE      (JOBS jobs in transactions of 300; FILE "-": a private store)
 *   bench_store shards COUNT JOBS FOLDER      (writes FOLDER/0.db ... with JOBS jobs each, interleaved as shards are)
 *   bench_store merge COUNT FOLDER FILE       (merges them into FILE; "-": into a private store)
 *
 * put writes the jobs (two files and two nodes each, a third of them with evidence), small those with one file and nothing else,
 * fresh asks of each whether it is as it was, each walks over all rows. Tells processor time, time per job and the peak of
 * resident memory. Files are left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "parsers/base/number.h"
#include "tests/support/store/store_jobs.h"

enum { EVIDENCE_BYTES = 1200 };

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void tell(const char *what, double jobs, double seconds) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%-8s %9.0f jobs %7.2f s of CPU %7.2f us each, peak of resident memory %.1f MiB\n", what, jobs, seconds,
         1e6 * seconds / jobs, (double)usage.ru_maxrss / 1024);
}

static struct wo_store *open_file(const char *path) {
  return wo_store_must_open(path, strcmp(path, "-") == 0 ? WO_STORE_PRIVATE : WO_STORE_WRITE);
}

static void must(enum wo_status status, const struct wo_err *err) {
  if (status == WO_OK) return;
  fprintf(stderr, "%s: %s\n", err->file, err->message);
  exit(2);
}

/* ---- One store ---- */

/* Jobs `first`, `first` + `step`, ... of the archive. */
static void put_jobs(struct wo_store *store, uint32_t first, uint32_t step, uint32_t count, bool is_small) {
  static struct wo_store_made made;
  struct wo_err err = {0};
  for (uint32_t i = 0; i < count; i++) {
    if (i % 300 == 0) must(wo_store_begin(store, &err), &err);
    wo_store_make_job(&made, "/scratch/logs/project", first + i * step, i % 3 == 0 && !is_small ? EVIDENCE_BYTES : 0);
    if (is_small) made.job.file_count = 1;
    if (is_small) made.job.row.nodes.len = 0;
    must(wo_store_put(store, &made.job, &err), &err);
    if (i % 300 == 299 || i + 1 == count) must(wo_store_commit(store, &err), &err);
  }
}

static void ask_fresh(struct wo_store *store, uint32_t count) {
  static struct wo_store_made made;
  struct wo_err err = {0};
  uint32_t same = 0;
  must(wo_store_begin(store, &err), &err);
  for (uint32_t i = 0; i < count; i++) {
    enum wo_store_fresh fresh = WO_STORE_NEW;
    wo_store_make_job(&made, "/scratch/logs/project", i, 0);
    must(wo_store_compare(store, made.job.row.path, made.files, 2, WO_VIEW("p1-r1"), &fresh, &err), &err);
    same += fresh == WO_STORE_SAME;
  }
  must(wo_store_commit(store, &err), &err);
  printf("%" PRIu32 " are as they were\n", same);
}

static bool add_bytes(void *context, int64_t id, const struct wo_row *row) {
  (void)id;
  *(int64_t *)context += row->bytes;
  return true;
}

/* What making the jobs costs, which is part of the other figures. */
static double making(uint32_t count, size_t evidence_bytes) {
  static struct wo_store_made made;
  const double start = cpu_seconds();
  for (uint32_t i = 0; i < count; i++) wo_store_make_job(&made, "/scratch/logs/project", i, evidence_bytes);
  return cpu_seconds() - start;
}

static int run_one(const char *what, uint32_t count, const char *path) {
  struct wo_store *const store = open_file(path);
  const double made = making(count, 0);
  double start = cpu_seconds();
  struct wo_err err = {0};
  int64_t bytes = 0;
  const bool is_small = strcmp(what, "small") == 0, is_put = is_small || strcmp(what, "put") == 0;
  if (is_put || strcmp(path, "-") == 0) put_jobs(store, 0, 1, count, is_small);
  if (!is_put && strcmp(path, "-") == 0) start = cpu_seconds();
  if (strcmp(what, "fresh") == 0) ask_fresh(store, count);
  if (strcmp(what, "each") == 0) must(wo_store_each(store, NULL, add_bytes, &bytes, &err), &err);
  const double seconds = cpu_seconds() - start - (strcmp(what, "each") == 0 ? 0 : made);
  tell(what, count, seconds);
  wo_store_close(store);
  return 0;
}

/* ---- Many ---- */

static void write_shards(uint32_t count, uint32_t jobs, const char *folder) {
  char path[512];
  struct wo_err err = {0};
  for (uint32_t shard = 0; shard < count; shard++) {
    snprintf(path, sizeof path, "%s/%" PRIu32 ".db", folder, shard);
    struct wo_store *const store = open_file(path);
    struct wo_store_scan scan = {.roots = WO_VIEW("/scratch/logs"),
                                 .shard = shard,
                                 .shard_count = count,
                                 .rules = WO_VIEW("p1-r1"),
                                 .start_ns = shard + 1};
    must(wo_store_begin_scan(store, &scan, &err), &err);
    put_jobs(store, shard, count, jobs, false);
    scan.end_ns = 1000000 + shard;
    must(wo_store_end_scan(store, &scan, &err), &err);
    wo_store_close(store);
  }
}

static bool take_number(void *context, const struct wo_store_value *values, size_t count) {
  if (count > 0) *(int64_t *)context = values[0].number;
  return false;
}

static int merge(uint32_t count, const char *folder, const char *path) {
  char source[512];
  struct wo_err err = {0};
  struct wo_store *const store = open_file(path);
  for (uint32_t shard = 0; shard < count; shard++) {
    snprintf(source, sizeof source, "%s/%" PRIu32 ".db", folder, shard);
    must(wo_store_merge(store, source, &err), &err);
  }
  int64_t jobs = 0;
  must(wo_store_ask(store, "SELECT count(*) FROM job", NULL, 0, take_number, &jobs, &err), &err);
  tell("merge", (double)jobs, cpu_seconds());
  wo_store_close(store);
  return 0;
}

int main(int argc, char **argv) {
  struct wo_view number = wo_view_of(argc > 2 ? argv[2] : ""), jobs = wo_view_of(argc > 3 ? argv[3] : "");
  uint64_t count = 0, each = 0;
  if (argc < 4 || wo_number_u64(&number, UINT32_MAX, &count) != WO_OK) {
    fprintf(stderr, "usage: bench_store put|small|fresh|each|shards|merge COUNT ...\n");
    return 2;
  }
  if (strcmp(argv[1], "merge") == 0 && argc > 4) return merge((uint32_t)count, argv[3], argv[4]);
  if (strcmp(argv[1], "shards") != 0) return run_one(argv[1], (uint32_t)count, argv[3]);
  if (argc < 5 || wo_number_u64(&jobs, UINT32_MAX, &each) != WO_OK) return 2;
  write_shards((uint32_t)count, (uint32_t)each, argv[4]);
  return 0;
}
