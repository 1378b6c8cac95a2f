/* SPDX-License-Identifier: Apache-2.0 */
/* What file names tell: analyzer/files/names.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/files/names.h"

static void test_base(void **state) {
  (void)state;
  assert_true(wo_view_is(wo_name_base(WO_VIEW("/scratch/run/slurm-1.err")), "slurm-1.err"));
  assert_true(wo_view_is(wo_name_base(WO_VIEW("slurm-1.err")), "slurm-1.err"));
  assert_int_equal(wo_name_base(WO_VIEW("folder/")).len, 0);
  assert_int_equal(wo_name_base((struct wo_view){0}).len, 0);
}

static void test_rank(void **state) {
  (void)state;
  static const struct {
    const char *path;
    int32_t rank;
  } rows[] = {
      {"rank_3.log", 3},
      {"stderr.rank3", 3},
      {"logs/rank-12.err", 12},
      {"task_0.out", 0},
      {"rank0", 0},
      {"out-4711.0-3.txt", WO_RANK_UNKNOWN},
      {"slurm-4711.err", WO_RANK_UNKNOWN},
      {"rank_all.log", WO_RANK_UNKNOWN},
      {"rank_9999999999.log", WO_RANK_UNKNOWN},
      {"4711_0_log.out", 0}, /* submitit */
      {"run/4711_3_12_log.err", 12},
      {"4711_0_log.txt", WO_RANK_UNKNOWN},
      {"4711_9999999999_log.out", WO_RANK_UNKNOWN},
      {"rank5/stderr.log", WO_RANK_UNKNOWN}, /* only the last part of a path counts */
      {"", WO_RANK_UNKNOWN},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const int32_t rank = wo_name_rank(wo_view_of(rows[i].path), NULL, 0);
    if (rank != rows[i].rank) fail_msg("%s: rank %d, expected %d", rows[i].path, rank, rows[i].rank);
  }
}

/* The rank of the first path among all of them (NULL ends the list). */
static int32_t rank_among(const char *const *paths) {
  size_t count = 0;
  while (paths[count]) count++;
  return wo_name_rank(wo_view_of(paths[0]), paths, count);
}

static void test_rank_by_siblings(void **state) {
  (void)state;
  static const struct {
    const char *paths[10]; /* the first is asked for */
    int32_t rank;
  } rows[] = {
      {{"err.2", "err.0", "err.1", "err.3"}, 2},
      {{"run/err.1", "run/err.0", "run/out.0", "run/out.1", "slurm-4711.out"}, 1},
      {{"out-4711.2", "out-4711.0", "out-4711.1", "slurm-4711.out"}, 2},
      {{"train-4711-1.err", "train-4711-0.err", "train-4711-0.out", "train-4711-1.out"}, 1},
      {{"log_01.txt.gz", "log_00.txt.gz"}, 1},
      {{"gpu07-03.err", "gpu06-00.err", "gpu06-01.err", "gpu07-02.err"}, 3}, /* %N-%2t */
      {{"log_node04_2.err", "log_node03_0.err", "log_node03_1.err", "log_node04_3.err"}, 2},
      {{"model_v2_1.log", "model_v2_0.log"}, WO_RANK_UNKNOWN},
      {{"err.1", "err.1", "err.0"}, 1},          /* given twice */
      {{"err.2"}, WO_RANK_UNKNOWN},              /* alone it could be anything */
      {{"err.2", "err.3"}, WO_RANK_UNKNOWN},     /* nor does anything count from 2 */
      {{"err.2", "err.0"}, WO_RANK_UNKNOWN},     /* a gap */
      {{"err.1", "out.0"}, WO_RANK_UNKNOWN},     /* not the same files */
      {{"a/err.1", "b/err.0"}, WO_RANK_UNKNOWN}, /* nor the same folder */
      {{"exp1/err.1", "exp2/err.0"}, WO_RANK_UNKNOWN},
      {{"exp2/err.1", "exp2/err.0"}, 1},
      {{"slurm-4711.out", "slurm-4712.out"}, WO_RANK_UNKNOWN},     /* jobs */
      {{"slurm-4711_1.out", "slurm-4711_0.out"}, WO_RANK_UNKNOWN}, /* tasks of an array */
      {{"train-23_1.out", "train-23_0.out"}, WO_RANK_UNKNOWN},     /* also of a young cluster */
      {{"train.log.1", "train.log", "train.log.0"}, WO_RANK_UNKNOWN},
      {{"epoch_0.log", "epoch_1.log"}, WO_RANK_UNKNOWN},
      {{"epoch0.log", "epoch1.log"}, WO_RANK_UNKNOWN},
      {{"run-0.err", "run-1.err"}, WO_RANK_UNKNOWN},
      {{"rank7.log", "rank7.0", "rank7.1"}, 7}, /* a word says more */
      {{"0", "1"}, WO_RANK_UNKNOWN},
      {{".0", ".1"}, 0},
      {{"err.99999999999999999999", "err.0"}, WO_RANK_UNKNOWN},
      {{"", "err.0"}, WO_RANK_UNKNOWN},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const int32_t rank = rank_among(rows[i].paths);
    if (rank != rows[i].rank) fail_msg("%s, ...: rank %d, expected %d", rows[i].paths[0], rank, rows[i].rank);
  }
}

static void test_node_rank(void **state) {
  (void)state;
  static const char *const nodes[] = {"err.gpu01.0", "err.gpu01.1", "err.gpu02.0", "err.gpu02.1"};
  static const char *const tasks[] = {"err.gpu01.0", "err.gpu01.1", "err.gpu02.2", "err.gpu02.3"};
  static const char *const streams[] = {"gpu01.0.err", "gpu01.0.out", "a/gpu02.0.err", "train-0.err"};
  for (size_t i = 0; i < 4; i++) {
    assert_true(wo_name_is_node_rank(wo_view_of(nodes[i]), nodes, 4));
    assert_false(wo_name_is_node_rank(wo_view_of(tasks[i]), tasks, 4));
    assert_false(wo_name_is_node_rank(wo_view_of(streams[i]), streams, 4));
  }
  assert_false(wo_name_is_node_rank(WO_VIEW("err"), nodes, 4));
}

static void test_local_rank(void **state) {
  (void)state;
  static const struct {
    const char *path;
    int32_t rank;
  } rows[] = {
      {"logs/run_x1/attempt_0/3/stderr.log", 3},
      {"attempt_2/11/stdout.log", 11},
      {"attempt_0/x3/stderr.log", WO_RANK_UNKNOWN},
      {"attempt_0/3/train.log", WO_RANK_UNKNOWN},
      {"run/3/stderr.log", WO_RANK_UNKNOWN},
      {"3/stderr.log", WO_RANK_UNKNOWN},
      {"stderr.log", WO_RANK_UNKNOWN},
      {"attempt_0//stderr.log", WO_RANK_UNKNOWN},
      {"", WO_RANK_UNKNOWN},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const int32_t rank = wo_name_local_rank(wo_view_of(rows[i].path));
    if (rank != rows[i].rank) fail_msg("%s: rank %d, expected %d", rows[i].path, rank, rows[i].rank);
  }
}

static void test_host(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"log_node04_2.err", "node04"},
      {"run/gpu07-03.err", "gpu07"},
      {"slurm-4711-nid001234.out", "nid001234"},
      {"gpu3.log", ""},
      {"node04/train.log", ""},
      {"train-4711.err", ""},
      {"model_7b.log", ""},
      {"nodes.log", ""},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_view host = wo_name_host(wo_view_of(rows[i][0]));
    if (!wo_view_is(host, rows[i][1])) fail_msg("%s: \"%.*s\"", rows[i][0], (int)host.len, host.ptr ? host.ptr : "");
  }
}

static void test_job(void **state) {
  (void)state;
  static const struct {
    const char *path;
    const char *job;
    int64_t task;
  } rows[] = {
      {"slurm-4711.err", "4711", -1},
      {"/scratch/user/slurm-4711.out", "4711", -1},
      {"train_4711_3.out", "4711", 3},
      {"slurm-4711_12.err", "4711", 12},
      {"4711.log", "4711", -1},
      {"out-4711.2", "4711", -1},
      {"4711_3.stderr", "4711", 3},
      {"layout-4711.txt", "", -1}, /* no stream's name */
      {"run-v2-90210.log", "90210", -1},
      {"model_7b_90210.err", "90210", -1}, /* 7b is a word */
      {"slurm-12_3.out", "12", 3},         /* SLURM's own name for an array's task */
      {"slurm-12_3.txt", "", -1},
      {"train-12_3.out", "", -1},
      {"train12.log", "", -1},    /* runs into a word */
      {"slurm-12.out", "12", -1}, /* nor of a job of a young cluster */
      {"slurm-1.err.gz", "1", -1},
      {"slurm-1.2.out", "", -1},
      {"out-12.err", "", -1},            /* too short to be a job */
      {"slurm-12345678901.out", "", -1}, /* too long */
      {"4711.yaml", "", -1},             /* no log */
      {"train-2026-11-26.log", "", -1},  /* days */
      {"2026_11_26.log", "", -1},
      {"train_20261126.log", "", -1},
      {"train-2026-11-26-4711.log", "4711", -1},
      {"train_20261126_4711.log", "4711", -1},
      {"train_20261126_101500.log", "", -1},
      {"train-2026-11-26_1015.log", "", -1},
      {"train-2026-11-26T101500.log", "", -1},
      {"slurm-20261126.out", "20261126", -1},
      {"out-2026-13-01.log", "2026", -1}, /* no month */
      {"2026_3.out", "2026", 3},          /* a task */
      {"out-2026.0", "2026", -1},
      {"eval_step_1000.log", "", -1}, /* other counters */
      {"seed-1234-4711.log", "4711", -1},
      {"train-step-4711.out", "4711", -1}, /* a job's name */
      {"nccl.gpu01.34567.log", "", -1},
      {"nccl-4711.log", "4711", -1},
      {"4711_0_log.out", "4711", -1}, /* submitit */
      {"4711_3_0_log.err", "4711", 3},
      {"4711_0_blog.err", "4711", 0},
      {"4711_log.out", "4711", -1},
      {"4711_1_2_3_log.out", "4711", 1},
      {"99999999999_0_log.out", "", -1},
      {"", "", -1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t task = -2;
    const struct wo_view job = wo_name_job(wo_view_of(rows[i].path), &task);
    if (!wo_view_is(job, rows[i].job) || task != rows[i].task)
      fail_msg("%s: job \"%.*s\" task %lld", rows[i].path, (int)job.len, job.ptr ? job.ptr : "", (long long)task);
  }
}

/* The format of a file that holds one event of `kind`. */
static struct wo_view format_of(const char *path, enum wo_kind kind) {
  struct wo_event event = {.kind = kind};
  const struct wo_event_store store = {.items = &event, .count = 1};
  return wo_name_format(&store, 0, wo_view_of(path));
}

static void test_format(void **state) {
  (void)state;
  static const struct {
    const char *path;
    enum wo_kind kind;
    const char *format;
  } rows[] = {
      {"train.sbatch", WO_KIND_CONFIG, "sbatch"},
      {"train.slurm", WO_KIND_CONFIG, "sbatch"},
      {"run.sh", WO_KIND_CONFIG, "sbatch"},
      {"script.txt", WO_KIND_SBATCH, "sbatch"},
      {"script.txt", WO_KIND_CONFIG, "log"},
      {"slurm-4711.out", WO_KIND_SBATCH, "log"}, /* a log may echo its script */
      {"ds_config.json", WO_KIND_CONFIG, "config"},
      {"train.yaml", WO_KIND_CONFIG, "config"},
      {"train.yml", WO_KIND_CONFIG, "config"},
      {"train.toml", WO_KIND_CONFIG, "config"},
      {"scontrol-4711.txt", WO_KIND_JOB_INFO, "scontrol"},
      {"sacct-4711.txt", WO_KIND_JOB_INFO, "sacct"},
      {"train.sacct.json", WO_KIND_JOB_INFO, "sacct"},
      {"dmon-4711.txt", WO_KIND_MEMORY_USE, "dmon"},
      {"slurm-4711.err", WO_KIND_CUDA_OOM, "log"},
      {"slurm-4711.err", WO_KIND_MONITOR, "log"},
      {"dmon/slurm-4711.err", WO_KIND_CUDA_OOM, "log"},
      {"<stdin>", WO_KIND_CUDA_OOM, "log"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_view format = format_of(rows[i].path, rows[i].kind);
    if (!wo_view_is(format, rows[i].format)) fail_msg("%s: %.*s", rows[i].path, (int)format.len, format.ptr);
  }
}

static void test_format_looks_at_its_own_file(void **state) {
  (void)state;
  struct wo_event events[] = {{.kind = WO_KIND_SBATCH, .span = {.file = 1}}, {.kind = WO_KIND_CONFIG, .span = {.file = 0}}};
  const struct wo_event_store store = {.items = events, .count = 2};
  assert_true(wo_view_is(wo_name_format(&store, 0, WO_VIEW("a.txt")), "log"));
  assert_true(wo_view_is(wo_name_format(&store, 1, WO_VIEW("b.txt")), "sbatch"));
}

/* The format of a file that holds events with these marks. */
static void expect_account(const char *path, enum wo_mark first, enum wo_mark second, const char *format) {
  struct wo_event events[] = {{.kind = WO_KIND_JOB_INFO, .mark = first}, {.kind = WO_KIND_JOB_INFO, .mark = second}};
  const struct wo_event_store store = {.items = events, .count = 2};
  const struct wo_view found = wo_name_format(&store, 0, wo_view_of(path));
  if (!wo_view_is(found, format)) fail_msg("%s with %s: %.*s", path, wo_mark_name(first), (int)found.len, found.ptr);
}

static void test_format_of_accounting(void **state) {
  (void)state;
  struct wo_field command = {.id = WO_FIELD_PROGRAM, .text = WO_VIEW("/home/mara/run.sbatch")};
  struct wo_event job = {.kind = WO_KIND_JOB_INFO, .mark = WO_MARK_SACCT_JSON, .fields = &command, .field_count = 1};
  const struct wo_event_store control = {.items = &job, .count = 1};
  expect_account("job.json", WO_MARK_SACCT_JSON, WO_MARK_SACCT_JSON, "sacct");
  expect_account("job.json", WO_MARK_JOBSTATS, WO_MARK_JOBSTATS, "jobstats");
  expect_account("a.txt", WO_MARK_SCONTROL, WO_MARK_SCONTROL, "scontrol");
  expect_account("a.txt", WO_MARK_SACCT, WO_MARK_JOBSTATS, "sacct");
  expect_account("a.txt", WO_MARK_SACCT, WO_MARK_NONE, "log");
  expect_account("job.json", WO_MARK_SACCT_JSON, WO_MARK_NONE, "config");
  expect_account("slurm-4711.out", WO_MARK_SACCT, WO_MARK_SACCT, "log");
  assert_true(wo_view_is(wo_name_format(&control, 0, WO_VIEW("job.json")), "scontrol"));
}

/* Hosts put together, each with a blank behind it. */
struct hosts {
  char text[512];
  size_t left; /* hosts that are still wanted */
};

static bool take_host(void *context, struct wo_view host) {
  struct hosts *hosts = context;
  const size_t len = strlen(hosts->text);
  snprintf(hosts->text + len, sizeof hosts->text - len, "%.*s ", (int)host.len, host.ptr);
  return --hosts->left > 0;
}

static void test_host_lists(void **state) {
  (void)state;
  static const struct {
    const char *list;
    const char *hosts;
  } rows[] = {
      {"gpu07", "gpu07 "},
      {"gpu[03-06]", "gpu03 gpu04 gpu05 gpu06 "},
      {"gpu[03-04,9],login1", "gpu03 gpu04 gpu9 login1 "},
      {"a,b[1]", "a b1 "},
      {"n[008-011]", "n008 n009 n010 n011 "},
      {"n[1-100000]", "n1 n2 n3 n4 n5 n6 n7 n8 "}, /* until it says that it has enough */
      {"", ""},
      {",,", ""},
      {"n[", ""},
      {"n[5", "n5 "},
      {"n[5-2]", ""},
      {"n[a-b]", ""},
      {"n[1-]", ""},
      {"n[99999999999]", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hosts hosts = {.left = 8};
    wo_name_each_host(wo_view_of(rows[i].list), take_host, &hosts);
    if (strcmp(hosts.text, rows[i].hosts) != 0) fail_msg("%s: \"%s\"", rows[i].list, hosts.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_base),
      cmocka_unit_test(test_rank),
      cmocka_unit_test(test_rank_by_siblings),
      cmocka_unit_test(test_local_rank),
      cmocka_unit_test(test_node_rank),
      cmocka_unit_test(test_host),
      cmocka_unit_test(test_job),
      cmocka_unit_test(test_format),
      cmocka_unit_test(test_host_lists),
      cmocka_unit_test(test_format_looks_at_its_own_file),
      cmocka_unit_test(test_format_of_accounting),
  };
  return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
