/* SPDX-License-Identifier: Apache-2.0 */
/* `scontrol show job`: each key, values with blanks and '=', one line and many, arrays, het jobs, parts of a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char job[] = "JobId=8812 JobName=pre train --lr=0.1\n"
                          "   UserId=mara(5101) GroupId=vit(640) MCS_label=N/A\n"
                          "   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)\n"
                          "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=3:0\n"
                          "   DerivedExitCode=9:0\n"
                          "   RunTime=1-02:03:04 TimeLimit=2-00:00:00 TimeMin=N/A\n"
                          "   NodeList=gpu[11-14]\n"
                          "   BatchHost=gpu11\n"
                          "   NumNodes=4 NumCPUs=96 NumTasks=32 CPUs/Task=3 ReqB:S:C:T=0:0:*:*\n"
                          "   ReqTRES=cpu=96,mem=480G,node=4,billing=96,gres/gpu=32\n"
                          "   AllocTRES=cpu=96,mem=480G,node=4,billing=96,gres/gpu=32,gres/gpu:a100=32\n"
                          "   Command=/home/mara/run.sbatch --set a=1 Depth=9\n"
                          "   WorkDir=/home/mara\n"
                          "\n";

/* ---- Keys ---- */

struct row {
  const char *log;
  enum wo_field_id field;
  const char *text; /* NULL: the number counts, -1 for none */
  double number;
};

/* One key of a job. */
#define KEY(pairs) "JobId=5 JobName=j\n   " pairs "\n"

static const struct row rows[] = {
    {job, WO_FIELD_JOB, "8812", 0},
    {job, WO_FIELD_JOB_NAME, "pre train --lr=0.1", 0},
    {job, WO_FIELD_STATE, "FAILED", 0},
    {job, WO_FIELD_ELAPSED_S, NULL, 93784},
    {job, WO_FIELD_TIME_LIMIT_S, NULL, 172800},
    {job, WO_FIELD_NODES, "gpu[11-14]", 0},
    {job, WO_FIELD_NODE_COUNT, NULL, 4},
    {job, WO_FIELD_TASKS, "32", 0},
    {job, WO_FIELD_GPUS, NULL, 8},
    {job, WO_FIELD_LIMIT_BYTES, NULL, 120 * WO_GIB},
    {job, WO_FIELD_PROGRAM, "/home/mara/run.sbatch --set a=1 Depth=9", 0},
    {job, WO_FIELD_ARRAY_JOB, NULL, -1},
    {job, WO_FIELD_ARRAY_TASK, NULL, -1},
    {job, WO_FIELD_STEP_ID, NULL, -1},
    /* All on one line, as with -o. */
    {"JobId=5 JobName=a b UserId=x(1) JobState=TIMEOUT Command=/a.sh -n 2 WorkDir=/w\n", WO_FIELD_JOB_NAME, "a b", 0},
    {"JobId=5 JobName=a b UserId=x(1) JobState=TIMEOUT Command=/a.sh -n 2 WorkDir=/w\n", WO_FIELD_STATE, "TIMEOUT", 0},
    {"JobId=5 JobName=a b UserId=x(1) JobState=TIMEOUT Command=/a.sh -n 2 WorkDir=/w\n", WO_FIELD_PROGRAM, "/a.sh -n 2", 0},
    /* Arrays and het jobs. */
    {"JobId=28 ArrayJobId=23 ArrayTaskId=5 JobName=s\n", WO_FIELD_ARRAY_JOB, "23", 0},
    {"JobId=28 ArrayJobId=23 ArrayTaskId=5 JobName=s\n", WO_FIELD_ARRAY_TASK, NULL, 5},
    {"JobId=28 ArrayJobId=23 ArrayTaskId=0 JobName=s\n", WO_FIELD_ARRAY_TASK, NULL, 0},
    {"JobId=28 ArrayJobId=23 ArrayTaskId=6-9%2 JobName=s\n", WO_FIELD_ARRAY_TASK, NULL, -1},
    {"JobId=28 ArrayJobId=23 ArrayTaskId=2,4 JobName=s\n", WO_FIELD_ARRAY_TASK, NULL, -1},
    {"JobId=41 HetJobId=40 HetJobOffset=1 JobName=h\n", WO_FIELD_JOB, "41", 0},
    /* Memory: per node, per CPU, of all nodes, none. */
    {KEY("NumNodes=2 NumCPUs=12 NumTasks=2\n   MinCPUsNode=1 MinMemoryNode=30G"), WO_FIELD_LIMIT_BYTES, NULL, 30 * WO_GIB},
    {KEY("NumNodes=2 NumCPUs=12 NumTasks=2\n   MinCPUsNode=1 MinMemoryCPU=1500M"), WO_FIELD_LIMIT_BYTES, NULL, 9000 * WO_MIB},
    {KEY("MinCPUsNode=1 MinMemoryCPU=1500M"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {KEY("MinCPUsNode=1 MinMemoryNode=700"), WO_FIELD_LIMIT_BYTES, NULL, 700 * WO_MIB},
    {KEY("MinCPUsNode=1 MinMemoryNode=0"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {KEY("TRES=cpu=2,mem=512M,node=2,billing=2"), WO_FIELD_LIMIT_BYTES, NULL, 256 * WO_MIB},
    {KEY("TRES=cpu=2,mem=512M,node=2,billing=2"), WO_FIELD_NODE_COUNT, NULL, 2},
    {KEY("TRES=cpu=2,mem=512M,node=2,billing=2"), WO_FIELD_GPUS, NULL, -1},
    {KEY("TRES=cpu=2,node=1,gres/gpu:h100=4"), WO_FIELD_GPUS, NULL, 4},
    {KEY("TRES=cpu=2,node=1,gres/gpu:h100=4"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {KEY("TRES=cpu=2,node=1,gres/gpumem=4"), WO_FIELD_GPUS, NULL, -1},
    {KEY("ReqTRES=cpu=1,mem=3G,node=1\n   AllocTRES=(null)"), WO_FIELD_LIMIT_BYTES, NULL, 3 * WO_GIB},
    {KEY("NumNodes=1-1 NumCPUs=1"), WO_FIELD_NODE_COUNT, NULL, 1},
    {KEY("NumNodes=0 NumCPUs=1"), WO_FIELD_NODE_COUNT, NULL, -1},
    /* Words for nothing, and values that are no numbers. */
    {KEY("RunTime=00:00:00 TimeLimit=UNLIMITED"), WO_FIELD_TIME_LIMIT_S, NULL, -1},
    {KEY("RunTime=00:00:00 TimeLimit=Partition_Limit"), WO_FIELD_ELAPSED_S, NULL, 0},
    {KEY("RunTime=INVALID TimeLimit=30"), WO_FIELD_TIME_LIMIT_S, NULL, -1},
    {KEY("NodeList=(null)"), WO_FIELD_NODES, NULL, -1},
    {KEY("Command=(null)"), WO_FIELD_PROGRAM, NULL, -1},
    {KEY("NodeList="), WO_FIELD_NODES, NULL, -1},
    {KEY("ReqNodeList=a1 ExcNodeList=a2"), WO_FIELD_NODES, NULL, -1},
    {KEY("JobState=GLOOMY Reason=None"), WO_FIELD_STATE, NULL, -1},
    /* Windows line ends, and the keys in another order. */
    {"JobId=5 JobName=j\r\n   NodeList=n7\r\n   Command=/a b\r\n\r\n", WO_FIELD_PROGRAM, "/a b", 0},
    {"JobId=5 JobName=j\r\n   NodeList=n7\r\n   Command=/a b\r\n\r\n", WO_FIELD_NODES, "n7", 0},
    {KEY("AllocTRES=mem=8G,cpu=4\n   NumNodes=1 NumCPUs=4\n   JobState=RUNNING"), WO_FIELD_STATE, "RUNNING", 0},
    /* Pieces of a job. */
    {"   JobState=PREEMPTED Reason=None Dependency=(null)\n   NodeList=n3\n", WO_FIELD_NODES, "n3", 0},
    {"   MinCPUsNode=16 MinMemoryNode=200G MinTmpDiskNode=0\n", WO_FIELD_LIMIT_BYTES, NULL, 200 * WO_GIB},
    {"   Command=/home/mara/a.sbatch x=y\n", WO_FIELD_PROGRAM, "/home/mara/a.sbatch x=y", 0},
};

static void test_keys(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), rows[i].log, &store);
    if (sample_count(&store, WO_KIND_JOB_INFO) != 1)
      fail_msg("%zu jobs: %s", sample_count(&store, WO_KIND_JOB_INFO), rows[i].log);
    const struct wo_event *info = sample_find(&store, WO_KIND_JOB_INFO, 0);
    if (rows[i].text != NULL) sample_expect_text(info, rows[i].field, rows[i].text);
    if (rows[i].text == NULL) sample_expect_number(info, rows[i].field, rows[i].number);
    if (rows[i].text == NULL && rows[i].number < 0) assert_null(wo_event_field(info, rows[i].field));
    wo_event_store_done(&store);
  }
}

/* ---- Endings ---- */

static void test_endings(void **state) {
  static const struct {
    const char *log;
    enum wo_kind kind; /* WO_KIND_JOB_INFO: no second event */
    double code;       /* -1: not told */
    const char *signal;
    const char *reason;
  } ends[] = {
      {KEY("JobState=FAILED Reason=NonZeroExitCode\n   ExitCode=3:0"), WO_KIND_TASK_EXIT, 3, NULL, "NonZeroExitCode"},
      {KEY("JobState=FAILED Reason=None\n   ExitCode=0:11"), WO_KIND_TASK_EXIT, 0, "11", NULL},
      {KEY("JobState=FAILED Reason=None\n   ExitCode=1:0\n   DerivedExitCode=0:125"), WO_KIND_CGROUP_OOM, -1, NULL, NULL},
      {KEY("JobState=FAILED Reason=OutOfMemory\n   ExitCode=1:0"), WO_KIND_CGROUP_OOM, -1, NULL, "OutOfMemory"},
      {KEY("JobState=OUT_OF_MEMORY Reason=OutOfMemory\n   ExitCode=0:125"), WO_KIND_CGROUP_OOM, -1, NULL, "OutOfMemory"},
      {KEY("JobState=TIMEOUT Reason=TimeLimit\n   ExitCode=0:1"), WO_KIND_TIME_LIMIT, 0, "1", "TimeLimit"},
      {KEY("JobState=NODE_FAIL Reason=NodeDown\n   ExitCode=0:15"), WO_KIND_NODE_FAIL, 0, "15", "NodeDown"},
      {KEY("JobState=FAILED Reason=None"), WO_KIND_TASK_EXIT, -1, NULL, NULL},
      {KEY("JobState=FAILED Reason=None\n   ExitCode=x:y"), WO_KIND_TASK_EXIT, -1, NULL, NULL},
      {KEY("JobState=COMPLETING Reason=None\n   ExitCode=7:0"), WO_KIND_TASK_EXIT, 7, NULL, NULL},
      {KEY("JobState=COMPLETING Reason=None\n   ExitCode=0:0"), WO_KIND_JOB_INFO, -1, NULL, NULL},
      {KEY("JobState=COMPLETED Reason=None\n   ExitCode=0:0"), WO_KIND_JOB_INFO, -1, NULL, NULL},
      {KEY("JobState=PENDING Reason=Resources\n   ExitCode=0:0"), WO_KIND_JOB_INFO, -1, NULL, NULL},
      {KEY("ExitCode=9:0"), WO_KIND_JOB_INFO, -1, NULL, NULL},
      {KEY("ExitCode=6:0\n   JobState=FAILED Reason=None"), WO_KIND_TASK_EXIT, 6, NULL, NULL},
  };
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), ends[i].log, &store);
    const bool is_ended = ends[i].kind != WO_KIND_JOB_INFO;
    if (store.count != (is_ended ? 2u : 1u)) fail_msg("%zu events: %s", store.count, ends[i].log);
    const struct wo_event *end = sample_find(&store, ends[i].kind, 0);
    assert_non_null(end);
    if (is_ended) sample_expect_number(end, WO_FIELD_EXIT_CODE, ends[i].code);
    sample_expect_text(end, WO_FIELD_SIGNAL, ends[i].signal);
    sample_expect_text(end, WO_FIELD_REASON, ends[i].reason);
    if (is_ended) sample_expect_text(end, WO_FIELD_JOB, "5");
    wo_event_store_done(&store);
  }
}

/* The ending stands where the state does, not at the job's first line. */
static void test_place(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), job, &store);
  const struct wo_event *end = sample_find(&store, WO_KIND_TASK_EXIT, 0);
  assert_non_null(end);
  assert_int_equal(end->span.line, 3);
  assert_int_equal(end->span.length, strlen("FAILED"));
  assert_memory_equal(job + end->span.byte, "FAILED", strlen("FAILED"));
  assert_int_equal(sample_find(&store, WO_KIND_JOB_INFO, 0)->span.line, 1);
  wo_event_store_done(&store);
}

/* ---- Several jobs, and what stands between ---- */

static void test_jobs(void **state) {
  static const char *const logs[] = {
      "JobId=1 JobName=a\n   JobState=FAILED Reason=None\n   ExitCode=2:0\n\nJobId=2 JobName=b\n   JobState=TIMEOUT "
      "Reason=None\n\n",
      "JobId=1 JobName=a\n   JobState=FAILED Reason=None\n   ExitCode=2:0\nJobId=2 JobName=b\n   JobState=TIMEOUT Reason=None\n",
      "JobId=1 JobName=a UserId=x(1) JobState=FAILED ExitCode=2:0\nJobId=2 JobName=b UserId=x(1) JobState=TIMEOUT\n",
      ("\nstep 4\nJobId=1 JobName=a\n   JobState=FAILED Reason=None\n   ExitCode=2:0\nstep 5: loss = 3\nJobId=2 JobName=b\n"
       "   JobState=TIMEOUT Reason=None\nstep 6\n"),
      "JobId=1 JobName=a\n   JobState=FAILED Reason=None\n   ExitCode=2:0\n\n"
      "JobId=2 JobName=b\n   JobState=TIMEOUT Reason=None\n",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), logs[i], &store);
    if (sample_count(&store, WO_KIND_JOB_INFO) != 2) fail_msg("log %zu: not two jobs", i);
    sample_expect_text(sample_find(&store, WO_KIND_JOB_INFO, 0), WO_FIELD_JOB_NAME, "a");
    sample_expect_text(sample_find(&store, WO_KIND_JOB_INFO, 1), WO_FIELD_STATE, "TIMEOUT");
    assert_int_equal(sample_count(&store, WO_KIND_TASK_EXIT), 1);
    sample_expect_number(sample_find(&store, WO_KIND_TASK_EXIT, 0), WO_FIELD_EXIT_CODE, 2);
    sample_expect_text(sample_find(&store, WO_KIND_TIME_LIMIT, 0), WO_FIELD_JOB, "2");
    wo_event_store_done(&store);
  }
}

/* A job has an end, even when nothing says so. */
static void test_endless(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, "JobId=5 JobName=j\n");
  for (int i = 0; i < 200; i++) sample_say(&log, "   Comment=again and again\n");
  sample_say(&log, "   NodeList=late\n");
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  sample_expect_text(sample_find(&store, WO_KIND_JOB_INFO, 0), WO_FIELD_NODES, NULL);
  wo_event_store_done(&store);
  sample_free(&log);
}

static void test_nothing(void **state) {
  static const char *const logs[] = {
      "JobId=none JobName=x\n", "sbatch: JobId=4 JobName=x\n", "   Command=(null)\n", "   JobState=\n", "scontrol show job 5\n",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), logs[i], &store);
    if (sample_count(&store, WO_KIND_JOB_INFO) != 0) fail_msg("taken for a job: %s", logs[i]);
    wo_event_store_done(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_keys), cmocka_unit_test(test_endings), cmocka_unit_test(test_place),
      cmocka_unit_test(test_jobs), cmocka_unit_test(test_endless), cmocka_unit_test(test_nothing),
  };
  return cmocka_run_group_tests_name("fmt_scontrol", tests, sample_setup, sample_teardown);
}
