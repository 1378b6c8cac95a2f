/* SPDX-License-Identifier: Apache-2.0 */
/* Folders to jobs: analyzer/archive/walk.c. */
#include "analyzer/archive/walk.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "parsers/base/text.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"

enum { FOLDER_BYTES = 256 };

/* A folder of the test, and what a walk over it said: a line for each job, problem and file of accounting. */
struct walked {
  char folder[FOLDER_BYTES];
  struct wo_text said;
  struct wo_walk_counts counts;
  size_t jobs_most; /* after which the hook ends the walk; 0: no limit */
  size_t jobs;
};

static const char *below(const struct walked *walked, const char *path) {
  return path + strlen(walked->folder) + 1;
}

static bool on_job(void *context, const struct wo_walk_job *job, const struct wo_walk_counts *counts) {
  struct walked *const walked = context;
  assert_true(counts->share >= 0 && counts->share <= 1.0001);
  assert_true(job->log_count > 0 && job->log_count <= job->file_count);
  for (size_t i = 0; i < job->file_count; i++) {
    wo_text_add(&walked->said, "%s%s", i == 0 ? "" : i == job->log_count ? " + " : " ", below(walked, job->files[i].path));
    assert_true(job->files[i].inode != 0 && job->files[i].size_bytes >= 0);
  }
  wo_text_add(&walked->said, "\n");
  return ++walked->jobs != walked->jobs_most;
}

static void on_problem(void *context, const char *path, const struct wo_err *err) {
  struct walked *const walked = context;
  if (err->code == WO_E_NOMEM) return;
  wo_text_add(&walked->said, "! %s: %s\n", below(walked, path), err->message);
}

static void on_accounting(void *context, const char *path) {
  struct walked *const walked = context;
  wo_text_add(&walked->said, "= %s\n", below(walked, path));
}

static void make(const struct walked *walked, const char *name, const char *content) {
  char path[FOLDER_BYTES + 300];
  snprintf(path, sizeof path, "%s/%s", walked->folder, name);
  for (char *slash = path + strlen(walked->folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  FILE *const file = fopen(path, "w");
  assert_non_null(file);
  fputs(content, file);
  assert_int_equal(fclose(file), 0);
}

static void age(const struct walked *walked, const char *name, time_t seconds) {
  char path[FOLDER_BYTES + 300];
  const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
  snprintf(path, sizeof path, "%s/%s", walked->folder, name);
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static enum wo_status walk(struct walked *walked, const struct wo_walk_options *options, bool is_for_accounting) {
  const char *const roots[] = {walked->folder};
  const struct wo_walk_hooks hooks = {
      .context = walked, .on_job = on_job, .on_problem = on_problem, .on_accounting = is_for_accounting ? on_accounting : NULL};
  walked->said.len = walked->jobs = 0;
  return wo_walk(roots, 1, options, &hooks, NULL, &walked->counts);
}

static const struct wo_walk_options everything = {.since_ns = WO_WALK_ANY_TIME, .until_ns = WO_WALK_ANY_TIME};

static void expect(struct walked *walked, const struct wo_walk_options *options, const char *said) {
  assert_int_equal(walk(walked, options, false), WO_OK);
  wo_text_add_view(&walked->said, (struct wo_view){"", 1});
  assert_string_equal(walked->said.ptr, said);
}

static struct walked begin(void) {
  struct walked walked = {0};
  assert_true(wo_files_scratch(walked.folder, sizeof walked.folder));
  return walked;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at) {
  (void)info;
  (void)kind;
  (void)at;
  return remove(path);
}

static void end(struct walked *walked) {
  wo_text_done(&walked->said);
  assert_int_equal(nftw(walked->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void test_order_is_that_of_names(void **state) {
  (void)state;
  struct walked walked = begin();
  make(&walked, "b/slurm-7.out", "x");
  make(&walked, "slurm-4712.err", "x");
  make(&walked, "slurm-4711.out", "x");
  make(&walked, "slurm-4711.err", "xy");
  make(&walked, "train.sbatch", "x");
  make(&walked, "a/z/slurm-9999.out", "x");
  make(&walked, "a/slurm-8888.out", "x");
  make(&walked, "notes.md", "x");
  make(&walked, ".snapshot/slurm-4711.out", "x");
  expect(&walked, &everything,
         "slurm-4711.err slurm-4711.out + train.sbatch\nslurm-4712.err + train.sbatch\na/slurm-8888.out\na/z/slurm-9999.out\n"
         "b/slurm-7.out\n");
  assert_int_equal(walked.counts.nameless, 1);
  assert_int_equal(walked.counts.folders, 4);
  end(&walked);
}

static void test_patterns(void **state) {
  (void)state;
  struct walked walked = begin();
  make(&walked, "run1/output.txt", "x");
  make(&walked, "run1/slurm-4711.out", "x");
  make(&walked, "run2/slurm-4712.out", "x");
  make(&walked, "old/slurm-4713.out", "x");
  struct wo_view names[] = {WO_VIEW("*.txt")}, paths[] = {WO_VIEW("run1/*"), WO_VIEW("old")};
  struct wo_walk_options options = everything;
  options.include = names;
  options.include_count = 1;
  expect(&walked, &options, "run1/output.txt\n");
  options = everything;
  options.exclude = paths;
  options.exclude_count = 2;
  expect(&walked, &options, "run2/slurm-4712.out\n");
  assert_int_equal(walked.counts.left_out, 2);
  end(&walked);
}

static void test_times(void **state) {
  (void)state;
  struct walked walked = begin();
  make(&walked, "slurm-4711.out", "x");
  make(&walked, "slurm-4711.err", "x");
  make(&walked, "slurm-4712.out", "x");
  age(&walked, "slurm-4711.out", 1000);
  age(&walked, "slurm-4711.err", 3000); /* the newest log counts */
  age(&walked, "slurm-4712.out", 2000);
  struct wo_walk_options options = everything;
  options.since_ns = INT64_C(2500) * 1000000000;
  expect(&walked, &options, "slurm-4711.err slurm-4711.out\n");
  options = everything;
  options.until_ns = INT64_C(2000) * 1000000000;
  expect(&walked, &options, "slurm-4712.out\n");
  assert_int_equal(walked.counts.out_of_time, 2);
  end(&walked);
}

static void test_links_and_kinds(void **state) {
  (void)state;
  struct walked walked = begin();
  char path[FOLDER_BYTES + 300];
  make(&walked, "real/slurm-4711.out", "x");
  snprintf(path, sizeof path, "%s/linked", walked.folder);
  assert_int_equal(symlink("real", path), 0);
  snprintf(path, sizeof path, "%s/real/up", walked.folder);
  assert_int_equal(symlink("..", path), 0);
  snprintf(path, sizeof path, "%s/real/gone-1.log", walked.folder);
  assert_int_equal(symlink("nowhere", path), 0);
  snprintf(path, sizeof path, "%s/pipe.log", walked.folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  expect(&walked, &everything, "! pipe.log: is a FIFO, not a file: it is not read\nreal/slurm-4711.out\n");
  struct wo_walk_options options = everything;
  options.follows_links = true;
  assert_int_equal(walk(&walked, &options, false), WO_OK);
  const struct wo_view said = {walked.said.ptr, walked.said.len};
  assert_true(wo_view_has(said, "linked/slurm-4711.out\n"));
  assert_true(wo_view_has(said, "real/up: leads back to a folder above it: it is not walked again\n"));
  assert_true(wo_view_has(said, "real/gone-1.log: is a link that leads nowhere"));
  end(&walked);
}

/* Each job is in one shard, with all of its files; which one follows from its path below the root. */
static void test_shards(void **state) {
  (void)state;
  struct walked walked = begin();
  char name[64];
  for (int i = 0; i < 60; i++) {
    snprintf(name, sizeof name, "u%d/slurm-%d.out", i % 4, 5000 + i);
    make(&walked, name, "x");
    snprintf(name, sizeof name, "u%d/slurm-%d.err", i % 4, 5000 + i);
    make(&walked, name, "x");
  }
  size_t jobs = 0;
  for (uint32_t shard = 0; shard < 5; shard++) {
    struct wo_walk_options options = everything;
    options.shard = shard;
    options.shard_count = 5;
    assert_int_equal(walk(&walked, &options, false), WO_OK);
    assert_true(walked.jobs > 3 && walked.jobs < 30);
    assert_int_equal(walked.counts.files, 2 * walked.jobs);
    jobs += walked.jobs;
  }
  assert_int_equal(jobs, 60);
  end(&walked);
}

static void test_accounting(void **state) {
  (void)state;
  struct walked walked = begin();
  make(&walked, "slurm-4711.out", "x");
  make(&walked, "sacct-4711.txt", "x");
  make(&walked, "acct/sacct-2026-11.txt", "x");
  make(&walked, "acct/sacct_mara.csv", "x");
  make(&walked, "acct/scontrol-20261103.txt", "x");
  make(&walked, "acct/transacct.txt", "x");
  assert_int_equal(walk(&walked, &everything, true), WO_OK);
  wo_text_add_view(&walked.said, (struct wo_view){"", 1});
  assert_string_equal(walked.said.ptr, "= acct/sacct-2026-11.txt\n= acct/sacct_mara.csv\n= acct/scontrol-20261103.txt\n");
  end(&walked);
}

static void test_ends_when_asked(void **state) {
  (void)state;
  struct walked walked = begin();
  volatile sig_atomic_t is_cancelled = 1;
  make(&walked, "a/slurm-4711.out", "x");
  make(&walked, "b/slurm-4712.out", "x");
  walked.jobs_most = 1;
  assert_int_equal(walk(&walked, &everything, false), WO_OK);
  assert_int_equal(walked.jobs, 1);
  const char *const roots[] = {walked.folder};
  const struct wo_walk_hooks hooks = {.context = &walked, .on_job = on_job, .on_problem = on_problem};
  walked.jobs = 0;
  assert_int_equal(wo_walk(roots, 1, &everything, &hooks, &is_cancelled, &walked.counts), WO_OK);
  assert_int_equal(walked.jobs, 0);
  end(&walked);
}

static void test_without_memory(void **state) {
  (void)state;
  struct walked walked = begin();
  make(&walked, "a/slurm-4711.out", "x");
  make(&walked, "a/train.sbatch", "x");
  make(&walked, "slurm-4712.err", "x");
  wo_text_repeat(&walked.said, ' ', 4096);
  bool is_hit = true;
  for (long n = 1; is_hit; n++) {
    wo_fail_alloc_from(n);
    const enum wo_status status = walk(&walked, &everything, false);
    is_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    assert_true(is_hit || status == WO_OK);
    assert_true(!is_hit || status == WO_E_NOMEM);
  }
  assert_int_equal(walked.jobs, 2);
  end(&walked);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order_is_that_of_names), cmocka_unit_test(test_patterns),       cmocka_unit_test(test_times),
      cmocka_unit_test(test_links_and_kinds),        cmocka_unit_test(test_shards),         cmocka_unit_test(test_accounting),
      cmocka_unit_test(test_ends_when_asked),        cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
