/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of sacct: piped and in columns, any choice and order of columns, cut cells, steps, arrays, het jobs, rows without a
 * header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char columns[] = "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
                              "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
                              "530017            train        gpu      lab42         16 OUT_OF_ME+    0:125 \n"
                              "530017.batch      batch                 lab42         16     FAILED      4:0 \n"
                              "530017.exte+     extern                 lab42         16  COMPLETED      0:0 \n"
                              "530017.0     very_long+                 lab42         16 OUT_OF_ME+    0:125 \n"
                              "530018            train        gpu      lab42         16 CANCELLED+      0:0 \n";

/* ---- Cells ---- */

struct row {
  const char *log;
  enum wo_field_id field;
  const char *text; /* NULL: the number counts, -1 for none */
  double number;
};

/* A table of one row. */
#define CELLS(titles, cells) "JobID|State|" titles "\n77|RUNNING|" cells "\n"
#define STEP(titles, cells) "JobID|State|" titles "\n77.3|RUNNING|" cells "\n"
#define ID(id) "JobID|State\n" id "|RUNNING\n"

static const struct row rows[] = {
    {CELLS("JobName", "vit base=2"), WO_FIELD_JOB_NAME, "vit base=2", 0},
    {CELLS("JobName", ""), WO_FIELD_JOB_NAME, NULL, -1},
    {CELLS("NodeList", "gpu[1-2,9]"), WO_FIELD_NODES, "gpu[1-2,9]", 0},
    {CELLS("NodeList", "None assigned"), WO_FIELD_NODES, NULL, -1},
    {CELLS("NTasks", "12"), WO_FIELD_TASKS, "12", 0},
    {CELLS("Elapsed", "00:10:09"), WO_FIELD_ELAPSED_S, NULL, 609},
    {CELLS("Elapsed", "3-00:00:07"), WO_FIELD_ELAPSED_S, NULL, 259207},
    {CELLS("Elapsed", "07"), WO_FIELD_ELAPSED_S, NULL, -1},
    {CELLS("Elapsed", "00:10:09 "), WO_FIELD_ELAPSED_S, NULL, 609},
    {CELLS("Elapsed", "00:10:09h"), WO_FIELD_ELAPSED_S, NULL, -1},
    {CELLS("Timelimit", "1-00:00:00"), WO_FIELD_TIME_LIMIT_S, NULL, 86400},
    {CELLS("Timelimit", "UNLIMITED"), WO_FIELD_TIME_LIMIT_S, NULL, -1},
    {CELLS("AllocNodes", "3"), WO_FIELD_NODE_COUNT, NULL, 3},
    {CELLS("NNodes", "5"), WO_FIELD_NODE_COUNT, NULL, 5},
    {CELLS("AllocNodes|NNodes", "|6"), WO_FIELD_NODE_COUNT, NULL, 6},
    {CELLS("AllocNodes", "0"), WO_FIELD_NODE_COUNT, NULL, -1},
    {CELLS("Partition|Account", "gpu|lab"), WO_FIELD_NODE_COUNT, NULL, -1},
    /* Memory asked for: of all nodes, per node, per CPU. */
    {CELLS("AllocNodes|ReqMem", "4|64G"), WO_FIELD_LIMIT_BYTES, NULL, 16 * WO_GIB},
    {CELLS("AllocNodes|ReqMem", "4|64Gn"), WO_FIELD_LIMIT_BYTES, NULL, 64 * WO_GIB},
    {CELLS("AllocNodes|AllocCPUS|ReqMem", "4|48|2Gc"), WO_FIELD_LIMIT_BYTES, NULL, 24 * WO_GIB},
    {CELLS("ReqMem|AllocNodes", "900M|1"), WO_FIELD_LIMIT_BYTES, NULL, 900 * WO_MIB},
    {CELLS("AllocCPUS|ReqMem", "48|2Gc"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {CELLS("ReqMem", "64G"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {CELLS("ReqMem", "64Gn"), WO_FIELD_LIMIT_BYTES, NULL, 64 * WO_GIB},
    {CELLS("AllocNodes|ReqMem", "1|0"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {CELLS("AllocNodes|ReqMem", "1|?"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {CELLS("AllocNodes|ReqMem", "1|n"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    /* Resources: what was got before what was asked for. */
    {CELLS("AllocTRES", "cpu=8,gres/gpu=6,mem=90G,node=3"), WO_FIELD_LIMIT_BYTES, NULL, 30 * WO_GIB},
    {CELLS("AllocTRES", "cpu=8,gres/gpu=6,mem=90G,node=3"), WO_FIELD_GPUS, NULL, 2},
    {CELLS("AllocTRES", "cpu=8,gres/gpu=6,mem=90G,node=3"), WO_FIELD_NODE_COUNT, NULL, 3},
    {CELLS("AllocTRES", "gres/gpu:a100=4,gres/gpu=4,node=2"), WO_FIELD_GPUS, NULL, 2},
    {CELLS("ReqTRES|AllocTRES", "mem=8G,node=1|mem=9G,node=1"), WO_FIELD_LIMIT_BYTES, NULL, 9 * WO_GIB},
    {CELLS("ReqTRES|AllocTRES", "mem=8G,node=1|"), WO_FIELD_LIMIT_BYTES, NULL, 8 * WO_GIB},
    {CELLS("AllocTRES", "billing=3"), WO_FIELD_GPUS, NULL, -1},
    /* Memory used: of steps, in K unless told. */
    {STEP("MaxRSS", "123456K"), WO_FIELD_USED_BYTES, NULL, 123456 * WO_KIB},
    {STEP("MaxRSS", "1.25G"), WO_FIELD_USED_BYTES, NULL, 1.25 * WO_GIB},
    {STEP("MaxRSS", "8192"), WO_FIELD_USED_BYTES, NULL, 8192},
    {STEP("MaxRSS", "0"), WO_FIELD_USED_BYTES, NULL, -1},
    {STEP("MaxRSS", ""), WO_FIELD_USED_BYTES, NULL, -1},
    {STEP("AllocNodes|ReqMem", "2|64G"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    /* Ids. */
    {ID("81"), WO_FIELD_JOB, "81", 0},
    {ID("81"), WO_FIELD_STEP_ID, NULL, -1},
    {ID("81.batch"), WO_FIELD_JOB, "81", 0},
    {ID("81.batch"), WO_FIELD_STEP_ID, "81.batch", 0},
    {ID("81_4"), WO_FIELD_ARRAY_TASK, NULL, 4},
    {ID("81_4"), WO_FIELD_ARRAY_JOB, "81", 0},
    {ID("81_4.0"), WO_FIELD_STEP_ID, "81_4.0", 0},
    {ID("81_4.0"), WO_FIELD_ARRAY_TASK, NULL, 4},
    {ID("81_[5-9%2]"), WO_FIELD_ARRAY_TASK, NULL, -1},
    {ID("81_[5-9%2]"), WO_FIELD_ARRAY_JOB, "81", 0},
    {ID("81+1"), WO_FIELD_JOB, "81+1", 0},
    {ID("81+1.extern"), WO_FIELD_STEP_ID, "81+1.extern", 0},
    {ID("81_100+"), WO_FIELD_ARRAY_TASK, NULL, -1},
    {"JobIDRaw|State\n92|RUNNING\n", WO_FIELD_JOB, "92", 0},
    {"JobIDRaw|JobID|State\n92|81_4|RUNNING\n", WO_FIELD_ARRAY_TASK, NULL, 4},
    /* Any order, a mark at each line's end, Windows line ends, rows that are too short. */
    {"NodeList|JobID|NTasks|State\nn5|77|1|RUNNING\n", WO_FIELD_NODES, "n5", 0},
    {"JobID|State|NodeList|\n77|RUNNING|n5|\n", WO_FIELD_NODES, "n5", 0},
    {"JobID|State|NodeList\r\n77|RUNNING|n5\r\n", WO_FIELD_NODES, "n5", 0},
    {"JobID|State|NTasks|NodeList\n77|RUNNING|2\n", WO_FIELD_NODES, NULL, -1},
    {"JobID|State|NTasks|NodeList\n77|RUNNING|2\n", WO_FIELD_TASKS, "2", 0},
    {"JobID|State|NTasks\n77|RUNNING|2|more|cells\n", WO_FIELD_TASKS, "2", 0},
    {columns, WO_FIELD_JOB, "530017", 0},
    {columns, WO_FIELD_JOB_NAME, "train", 0},
    {columns, WO_FIELD_STATE, "OUT_OF_MEMORY", 0},
    {"  NodeList JobID      State\n---------- -------- --------\n        n5 77        RUNNING\n", WO_FIELD_JOB, "77", 0},
    {"JobID     State     NTasks\r\n------- ------- ----------\r\n77      RUNNING          3\r\n", WO_FIELD_TASKS, "3", 0},
};

static void test_cells(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), rows[i].log, &store);
    const struct wo_event *info = sample_find(&store, WO_KIND_JOB_INFO, 0);
    if (info == NULL) fail_msg("no row: %s", rows[i].log);
    if (rows[i].text != NULL) sample_expect_text(info, rows[i].field, rows[i].text);
    if (rows[i].text == NULL) sample_expect_number(info, rows[i].field, rows[i].number);
    if (rows[i].text == NULL && rows[i].number < 0) assert_null(wo_event_field(info, rows[i].field));
    wo_event_store_done(&store);
  }
}

/* ---- Rows ---- */

static void test_columns(void **state) {
  static const struct {
    const char *job;
    const char *step;
    const char *name;
    const char *state;
  } lines[] = {
      {"530017", NULL, "train", "OUT_OF_MEMORY"},
      {"530017", "530017.batch", "batch", "FAILED"},
      {"530017", "530017.exte+", "extern", "COMPLETED"},
      {"530017", "530017.0", "very_long+", "OUT_OF_MEMORY"},
      {"530018", NULL, "train", "CANCELLED"},
  };
  struct wo_event_store store;
  sample_scan_text(set_of(state), columns, &store);
  assert_int_equal(sample_count(&store, WO_KIND_JOB_INFO), 5);
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    const struct wo_event *info = sample_find(&store, WO_KIND_JOB_INFO, i);
    assert_int_equal(info->span.line, i + 3);
    sample_expect_text(info, WO_FIELD_JOB, lines[i].job);
    sample_expect_text(info, WO_FIELD_STEP_ID, lines[i].step);
    sample_expect_text(info, WO_FIELD_JOB_NAME, lines[i].name);
    sample_expect_text(info, WO_FIELD_STATE, lines[i].state);
  }
  /* A failed step says no more than its job's own row; the killed one does. */
  assert_int_equal(sample_count(&store, WO_KIND_CGROUP_OOM), 2);
  assert_int_equal(sample_count(&store, WO_KIND_TASK_EXIT), 0);
  const struct wo_event *kill = sample_find(&store, WO_KIND_CGROUP_OOM, 1);
  sample_expect_text(kill, WO_FIELD_STEP_ID, "530017.0");
  assert_memory_equal(columns + kill->span.byte, "OUT_OF_ME+", kill->span.length);
  assert_int_equal(sample_count(&store, WO_KIND_CANCELLED), 1);
  wo_event_store_done(&store);
}

static void test_endings(void **state) {
  static const struct {
    const char *log;
    enum wo_kind kind; /* WO_KIND_JOB_INFO: no second event */
    double code;       /* -1: not told */
    const char *signal;
  } ends[] = {
      {"JobID|State|ExitCode\n77|FAILED|13:0\n", WO_KIND_TASK_EXIT, 13, NULL},
      {"JobID|State|ExitCode\n77|FAILED|0:6\n", WO_KIND_TASK_EXIT, 0, "6"},
      {"JobID|State\n77|FAILED\n", WO_KIND_TASK_EXIT, -1, NULL},
      {"JobID|State|ExitCode\n77|FAILED|1:0:2\n", WO_KIND_TASK_EXIT, -1, NULL},
      {"JobID|State|ExitCode|DerivedExitCode\n77|FAILED|1:0|0:125\n", WO_KIND_CGROUP_OOM, -1, NULL},
      {"JobID|State|Reason\n77|FAILED|OutOfMemory\n", WO_KIND_CGROUP_OOM, -1, NULL},
      {"JobID|State|Reason\n77|FAILED|Priority\n", WO_KIND_TASK_EXIT, -1, NULL},
      {"JobID|State|ExitCode\n77|COMPLETING|5:0\n", WO_KIND_TASK_EXIT, 5, NULL},
      {"JobID|State|ExitCode\n77|CANCELLED by 1204|0:0\n", WO_KIND_CANCELLED, 0, NULL},
      {"JobID|State|ExitCode\n77.0|CANCELLED|0:9\n", WO_KIND_JOB_INFO, -1, NULL},
      {"JobID|State|ExitCode\n77.0|FAILED|1:0\n", WO_KIND_JOB_INFO, -1, NULL},
      {"JobID|State|ExitCode\n77.0|FAILED|0:125\n", WO_KIND_CGROUP_OOM, -1, NULL},
      {"JobID|State|ExitCode\n77.0|OUT_OF_MEMORY|0:125\n", WO_KIND_CGROUP_OOM, -1, NULL},
      {"JobID|State|ExitCode\n77|COMPLETED|0:0\n", WO_KIND_JOB_INFO, -1, NULL},
  };
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), ends[i].log, &store);
    const bool is_ended = ends[i].kind != WO_KIND_JOB_INFO;
    if (store.count != (is_ended ? 2u : 1u)) fail_msg("%zu events: %s", store.count, ends[i].log);
    const struct wo_event *end = sample_find(&store, ends[i].kind, 0);
    assert_non_null(end);
    sample_expect_number(end, WO_FIELD_EXIT_CODE, ends[i].code);
    sample_expect_text(end, WO_FIELD_SIGNAL, ends[i].signal);
    sample_expect_text(end, WO_FIELD_JOB, "77");
    wo_event_store_done(&store);
  }
}

/* ---- Tables among other lines ---- */

static void test_two_tables(void **state) {
  static const char *const logs[] = {
      "JobID|State\n1|FAILED\nJobID|State\n2|TIMEOUT\n",
      "JobID|State\n1|FAILED\n\nExitCode|JobID|State\n0:0|2|TIMEOUT\n",
      "JobID|State\n1|FAILED\nstep 3: loss = 2\nJobID|State|ExitCode\n2|TIMEOUT|0:0\n",
      "JobID      State\n------- --------\n1         FAILED\nJobID      State\n------- --------\n2        TIMEOUT\n",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), logs[i], &store);
    if (sample_count(&store, WO_KIND_JOB_INFO) != 2) fail_msg("log %zu: not two rows", i);
    sample_expect_text(sample_find(&store, WO_KIND_TASK_EXIT, 0), WO_FIELD_JOB, "1");
    sample_expect_text(sample_find(&store, WO_KIND_TIME_LIMIT, 0), WO_FIELD_JOB, "2");
    wo_event_store_done(&store);
  }
}

/* A line that ends the table is read for itself. */
static void test_line_after(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "JobID|State\n1|RUNNING\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
                   "capacity of 24.00 GiB of which 1.00 GiB is free.\n2|FAILED\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_CUDA_OOM), 1);
  assert_int_equal(sample_count(&store, WO_KIND_JOB_INFO), 1);
  wo_event_store_done(&store);
}

/* Without a header only the state that no other text has is taken. */
static void test_bare_rows(void **state) {
  static const struct {
    const char *log;
    const char *job; /* NULL: no row */
    const char *step;
  } bare[] = {
      {"4711         train        gpu    lab42         16 OUT_OF_ME+    0:125 \n", "4711", NULL},
      {"4711.batch|batch||lab42|16|OUT_OF_MEMORY|0:125\n", "4711", "4711.batch"},
      {"4711_3|x|OUT_OF_MEMORY\n", "4711", NULL},
      {"   4711.0  x  OUT_OF_MEMORY\n", "4711", "4711.0"},
      {"4711|x|FAILED|1:0\n", NULL, NULL},
      {"train OUT_OF_MEMORY 0:125\n", NULL, NULL},
      {"4711 OUT_OF_MEMORY happened again\n", NULL, NULL},
  };
  for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), bare[i].log, &store);
    const struct wo_event *info = sample_find(&store, WO_KIND_JOB_INFO, 0);
    if ((info != NULL) != (bare[i].job != NULL)) fail_msg("%s", bare[i].log);
    if (info != NULL) sample_expect_text(info, WO_FIELD_JOB, bare[i].job);
    if (info != NULL) sample_expect_text(info, WO_FIELD_STEP_ID, bare[i].step);
    assert_int_equal(sample_count(&store, WO_KIND_CGROUP_OOM), bare[i].job != NULL);
    wo_event_store_done(&store);
  }
}

static void test_nothing(void **state) {
  static const char *const logs[] = {
      "JobID|JobName\n77|x\n",
      "JobID|State\nx77|FAILED\n",
      "JobID|State\n77|failed\n",
      "JobID|State\n7 7|FAILED\n",
      "JobID|State\n77\n",
      "JobID|State\n",
      "JobID      State\n77        FAILED\n",
      "JobID      State\n------- ---x----\n77        FAILED\n",
      "JobName|State\n77|FAILED\n",
      "the JobID   and its State\n------- --------\n77        FAILED\n",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), logs[i], &store);
    if (store.count != 0) fail_msg("taken for a table: %s", logs[i]);
    wo_event_store_done(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cells),      cmocka_unit_test(test_columns),    cmocka_unit_test(test_endings),
      cmocka_unit_test(test_two_tables), cmocka_unit_test(test_line_after), cmocka_unit_test(test_bare_rows),
      cmocka_unit_test(test_nothing),
  };
  return cmocka_run_group_tests_name("fmt_sacct", tests, sample_setup, sample_teardown);
}
