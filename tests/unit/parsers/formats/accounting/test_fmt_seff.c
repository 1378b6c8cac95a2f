/* SPDX-License-Identifier: Apache-2.0 */
/* seff and jobstats: each key, units, shares of nodes, cards, several jobs, lines between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char seff[] = "Job ID: 300419\n"
                           "Array Job ID: 300410_9\n"
                           "Cluster: tetralith\n"
                           "User/Group: mara/vit\n"
                           "State: OUT_OF_MEMORY (exit code 0)\n"
                           "Nodes: 2\n"
                           "Cores per node: 16\n"
                           "CPU Utilized: 03:12:44\n"
                           "CPU Efficiency: 28.47% of 11:17:20 core-walltime\n"
                           "Job Wall-clock time: 00:21:10\n"
                           "Memory Utilized: 61.20 GB\n"
                           "Memory Efficiency: 95.63% of 64.00 GB (32.00 GB/node)\n";

static const char jobstats[] = "================================================================================\n"
                               "                              Slurm Job Statistics\n"
                               "================================================================================\n"
                               "         Job ID: 247463\n"
                               "   User/Account: mara/vit\n"
                               "       Job Name: scan: wide\n"
                               "          State: FAILED\n"
                               "          Nodes: 2\n"
                               "      CPU Cores: 96\n"
                               "     CPU Memory: 512GB (5.3GB per CPU-core)\n"
                               "           GPUs: 8\n"
                               "  QOS/Partition: long/gpu\n"
                               "        Cluster: della\n"
                               "     Start Time: Fri Mar 4, 2022 at 1:56 AM\n"
                               "       Run Time: 1-18:41:56 (in progress)\n"
                               "     Time Limit: 4-00:00:00\n"
                               "\n"
                               "                              Overall Utilization\n"
                               "================================================================================\n"
                               "  CPU utilization  [|||||                                          10%]\n"
                               "  GPU memory usage [|||||||||||||||||||||||||||||||||              66%]\n"
                               "\n"
                               "                              Detailed Utilization\n"
                               "================================================================================\n"
                               "  CPU memory usage per node - used/allocated\n"
                               "      gpu07: 59.5GB/256.0GB (1.2GB/5.3GB per core of 48)\n"
                               "      gpu08: 4.5GB/256.0GB (0.1GB/5.3GB per core of 48)\n"
                               "  Total used/allocated: 64.0GB/512.0GB (0.7GB/5.3GB per core of 96)\n"
                               "\n"
                               "  GPU memory usage per node - maximum used/total\n"
                               "      gpu07 (GPU 0): 26.5GB/40.0GB (66.2%)\n"
                               "      gpu07 (GPU 3): 512.0MB/40.0GB (1.3%)\n"
                               "      gpu08 (GPU 1): 39.0GB/40.0GB (97.5%)\n"
                               "\n"
                               "                                     Notes\n"
                               "================================================================================\n"
                               "  * This job only used 12% of its memory.\n";

/* ---- Keys ---- */

struct row {
  const char *log;
  enum wo_field_id field;
  const char *text; /* NULL: the number counts, -1 for none */
  double number;
};

/* One line of a job. */
#define LINE(text) "Job ID: 6\n" text "\n"

static const struct row rows[] = {
    {seff, WO_FIELD_JOB, "300419", 0},
    {seff, WO_FIELD_ARRAY_JOB, "300410", 0},
    {seff, WO_FIELD_ARRAY_TASK, NULL, 9},
    {seff, WO_FIELD_STATE, "OUT_OF_MEMORY", 0},
    {seff, WO_FIELD_NODE_COUNT, NULL, 2},
    {seff, WO_FIELD_ELAPSED_S, NULL, 1270},
    {seff, WO_FIELD_LIMIT_BYTES, NULL, 32 * WO_GIB},
    {seff, WO_FIELD_GPUS, NULL, -1},
    {seff, WO_FIELD_STEP_ID, NULL, -1},
    {jobstats, WO_FIELD_JOB, "247463", 0},
    {jobstats, WO_FIELD_JOB_NAME, "scan: wide", 0},
    {jobstats, WO_FIELD_STATE, "FAILED", 0},
    {jobstats, WO_FIELD_NODE_COUNT, NULL, 2},
    {jobstats, WO_FIELD_LIMIT_BYTES, NULL, 256 * WO_GIB},
    {jobstats, WO_FIELD_GPUS, NULL, 4},
    {jobstats, WO_FIELD_ELAPSED_S, NULL, 153716},
    {jobstats, WO_FIELD_TIME_LIMIT_S, NULL, 345600},
    {jobstats, WO_FIELD_USED_BYTES, NULL, -1},
    {LINE("State: COMPLETED (exit code 0)"), WO_FIELD_STATE, "COMPLETED", 0},
    {LINE("State: CANCELLED by 1204 (exit code 0)"), WO_FIELD_STATE, "CANCELLED", 0},
    {LINE("State: BORED (exit code 0)"), WO_FIELD_STATE, NULL, -1},
    {LINE("State:"), WO_FIELD_STATE, NULL, -1},
    {LINE("Memory Utilized: 700.00 KB"), WO_FIELD_USED_BYTES, NULL, 700 * WO_KIB},
    {LINE("Memory Utilized: 1.50 MB"), WO_FIELD_USED_BYTES, NULL, 1.5 * WO_MIB},
    {LINE("Memory Utilized: 2.25 GB"), WO_FIELD_USED_BYTES, NULL, 2.25 * WO_GIB},
    {LINE("Memory Utilized: 1.00 TB (estimated maximum)"), WO_FIELD_USED_BYTES, NULL, 1024 * WO_GIB},
    {LINE("Memory Utilized: 2.25"), WO_FIELD_USED_BYTES, NULL, -1},
    {LINE("Memory Efficiency: 5.00% of 500.00 MB (500.00 MB/node)"), WO_FIELD_LIMIT_BYTES, NULL, 500 * WO_MIB},
    {LINE("Memory Efficiency: 5.00% of 8.00 GB (4.00 GB/core)"), WO_FIELD_LIMIT_BYTES, NULL, 8 * WO_GIB},
    {LINE("Memory Efficiency: 0.00% of 0.00 MB (0.00 MB/node)"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {LINE("Memory Efficiency: unknown"), WO_FIELD_LIMIT_BYTES, NULL, -1},
    {LINE("Nodes: 0"), WO_FIELD_NODE_COUNT, NULL, -1},
    {LINE("Nodes: many"), WO_FIELD_NODE_COUNT, NULL, -1},
    {LINE("GPUs: 0"), WO_FIELD_GPUS, NULL, -1},
    {LINE("Cores: 1\nJob Wall-clock time: 2-00:00:01"), WO_FIELD_ELAPSED_S, NULL, 172801},
    {LINE("Job Wall-clock time: soon"), WO_FIELD_ELAPSED_S, NULL, -1},
    {LINE("Time Limit: UNLIMITED"), WO_FIELD_TIME_LIMIT_S, NULL, -1},
    {LINE("Job Name: None"), WO_FIELD_JOB_NAME, NULL, -1},
    {"Job ID: 6\r\nMemory Utilized: 3.00 MB\r\n", WO_FIELD_USED_BYTES, NULL, 3 * WO_MIB},
    {"Job ID: 6\r\nMemory Utilized: 3.00 MB\r\n", WO_FIELD_JOB, "6", 0},
    {LINE("WARNING: Efficiency statistics may be misleading for RUNNING jobs.\nNodes: 3"), WO_FIELD_NODE_COUNT, NULL, 3},
};

/* Jobs, without the events of single nodes, which name no job. */
static size_t count_jobs(const struct wo_event_store *store) {
  size_t count = 0;
  for (size_t i = 0; i < store->count; i++)
    count += store->items[i].kind == WO_KIND_JOB_INFO && wo_event_field(&store->items[i], WO_FIELD_JOB) != NULL;
  return count;
}

static void test_keys(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), rows[i].log, &store);
    if (count_jobs(&store) != 1) fail_msg("not one job: %s", rows[i].log);
    const struct wo_event *info = sample_find(&store, WO_KIND_JOB_INFO, 0);
    if (rows[i].text != NULL) sample_expect_text(info, rows[i].field, rows[i].text);
    if (rows[i].text == NULL) sample_expect_number(info, rows[i].field, rows[i].number);
    if (rows[i].text == NULL && rows[i].number < 0) assert_null(wo_event_field(info, rows[i].field));
    wo_event_store_done(&store);
  }
}

/* The rounded size is an interval. */
static void test_rounding(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), seff, &store);
  const struct wo_field *used = wo_event_field(sample_find(&store, WO_KIND_JOB_INFO, 0), WO_FIELD_USED_BYTES);
  assert_non_null(used);
  assert_true(used->number.lo < 61.2 * WO_GIB && used->number.hi > 61.2 * WO_GIB);
  assert_true(used->number.lo > 61.19 * WO_GIB && used->number.hi < 61.21 * WO_GIB);
  wo_event_store_done(&store);
}

static void test_cards(void **state) {
  static const struct {
    const char *host;
    double gpu;
    double used;
  } cards[] = {{"gpu07", 0, 26.5 * WO_GIB}, {"gpu07", 3, 512 * WO_MIB}, {"gpu08", 1, 39 * WO_GIB}};
  struct wo_event_store store;
  sample_scan_text(set_of(state), jobstats, &store);
  assert_int_equal(sample_count(&store, WO_KIND_MEMORY_USE), 3);
  for (size_t i = 0; i < sizeof cards / sizeof cards[0]; i++) {
    const struct wo_event *card = sample_find(&store, WO_KIND_MEMORY_USE, i);
    sample_expect_text(card, WO_FIELD_HOST, cards[i].host);
    sample_expect_number(card, WO_FIELD_GPU, cards[i].gpu);
    sample_expect_number(card, WO_FIELD_USED_BYTES, cards[i].used);
    sample_expect_number(card, WO_FIELD_CAPACITY_BYTES, 40 * WO_GIB);
  }
  wo_event_store_done(&store);
}

static void test_no_cards(void **state) {
  static const char *const lines[] = {
      LINE("      gpu07 (GPU x): 1.0GB/40.0GB (2%)"), LINE("      gpu07 (GPU 1): 1.0GB (2%)"), LINE("      gpu07 (GPU 1): -/-"),
      LINE("      gpu07 (GPU 1): 1.0GB/40.0 (2%)"),   LINE("      gpu07: 1.0GB/40.0GB (2%)"),
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), lines[i], &store);
    if (sample_count(&store, WO_KIND_MEMORY_USE) != 0) fail_msg("taken for a card: %s", lines[i]);
    wo_event_store_done(&store);
  }
}

/* ---- Endings, several jobs ---- */

static void test_endings(void **state) {
  static const struct {
    const char *log;
    enum wo_kind kind;
    double code; /* -1: not told */
  } ends[] = {
      {LINE("State: FAILED (exit code 42)"), WO_KIND_TASK_EXIT, 42},
      {LINE("State: FAILED"), WO_KIND_TASK_EXIT, -1},
      {LINE("State: FAILED (exit code ?)"), WO_KIND_TASK_EXIT, -1},
      {LINE("State: TIMEOUT (exit code 0)"), WO_KIND_TIME_LIMIT, 0},
      {LINE("State: CANCELLED by 0 (exit code 0)"), WO_KIND_CANCELLED, 0},
      {LINE("State: NODE_FAIL (exit code 1)"), WO_KIND_NODE_FAIL, 1},
      {seff, WO_KIND_CGROUP_OOM, -1},
      {jobstats, WO_KIND_TASK_EXIT, -1},
  };
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), ends[i].log, &store);
    const struct wo_event *end = sample_find(&store, ends[i].kind, 0);
    if (end == NULL) fail_msg("no %s: %s", wo_kind_name(ends[i].kind), ends[i].log);
    sample_expect_number(end, WO_FIELD_EXIT_CODE, ends[i].code);
    assert_true(wo_view_starts(wo_view_trim(end->text), "State: "));
    wo_event_store_done(&store);
  }
}

/* The evidence of the killed job tells what it used. */
static void test_used_goes_along(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), seff, &store);
  sample_expect_number(sample_find(&store, WO_KIND_CGROUP_OOM, 0), WO_FIELD_USED_BYTES, 61.2 * WO_GIB);
  sample_expect_number(sample_find(&store, WO_KIND_CGROUP_OOM, 0), WO_FIELD_ARRAY_TASK, 9);
  wo_event_store_done(&store);
}

static void test_jobs(void **state) {
  static const char *const logs[] = {
      "Job ID: 6\nState: FAILED (exit code 2)\nNodes: 2\nJob ID: 7\nState: TIMEOUT (exit code 0)\nNodes: 4\n",
      "Job ID: 6\nState: FAILED (exit code 2)\nNodes: 2\n\nJob ID: 7\nState: TIMEOUT (exit code 0)\nNodes: 4\n",
      ("step 1\nJob ID: 6\nepoch 2 of 3\nState: FAILED (exit code 2)\nloss = 4\nNodes: 2\ndone?\nJob ID: 7\nbusy\n"
       "State: TIMEOUT (exit code 0)\nNodes: 4\n"),
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), logs[i], &store);
    if (sample_count(&store, WO_KIND_JOB_INFO) != 2) fail_msg("log %zu: not two jobs", i);
    sample_expect_number(sample_find(&store, WO_KIND_JOB_INFO, 0), WO_FIELD_NODE_COUNT, 2);
    sample_expect_number(sample_find(&store, WO_KIND_JOB_INFO, 1), WO_FIELD_NODE_COUNT, 4);
    sample_expect_number(sample_find(&store, WO_KIND_TASK_EXIT, 0), WO_FIELD_EXIT_CODE, 2);
    sample_expect_text(sample_find(&store, WO_KIND_TIME_LIMIT, 0), WO_FIELD_JOB, "7");
    wo_event_store_done(&store);
  }
}

/* Many lines that say nothing end the text; what follows belongs to something else. */
static void test_end_of_the_text(void **state) {
  for (size_t strange = 7; strange <= 10; strange++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    sample_say(&log, "Job ID: 6\n");
    for (size_t i = 0; i < strange; i++) sample_say(&log, "nothing of use\n");
    sample_say(&log, "Nodes: 5\n");
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    sample_expect_number(sample_find(&store, WO_KIND_JOB_INFO, 0), WO_FIELD_NODE_COUNT, strange <= 8 ? 5 : -1);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

static void test_nothing(void **state) {
  static const char *const logs[] = {"Job ID: none\n", "submitted; Job ID: 6\nNodes: 2\n", "State: FAILED (exit code 1)\n",
                                     "Job ID: 6 is next\n"};
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), logs[i], &store);
    if (sample_count(&store, WO_KIND_JOB_INFO) != 0) fail_msg("taken for a job: %s", logs[i]);
    wo_event_store_done(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_keys),     cmocka_unit_test(test_rounding),        cmocka_unit_test(test_cards),
      cmocka_unit_test(test_no_cards), cmocka_unit_test(test_endings),         cmocka_unit_test(test_used_goes_along),
      cmocka_unit_test(test_jobs),     cmocka_unit_test(test_end_of_the_text), cmocka_unit_test(test_nothing),
  };
  return cmocka_run_group_tests_name("fmt_seff", tests, sample_setup, sample_teardown);
}
