/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel prints around a kill: figures of the cgroup, the table of tasks, and the kill that is told of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_own.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char usage[] = "[ 5120.400101] memory: usage 16777216kB, limit 25165824kB, failcnt 311\n";
static const char kill[] =
    "[ 5120.400900] Memory cgroup out of memory: Killed process 7802 (loader) total-vm:20971520kB, "
    "anon-rss:8388608kB, file-rss:2048kB, shmem-rss:1048576kB, UID:2001 pgtables:17000kB oom_score_adj:0\n";
static const char header[] =
    "[ 5120.400500] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n";

#define ROW(pid, pages, name)                                                                                                    \
  "[ 5120.4006] [ " #pid " ]  2001 " #pid "  5242880  " #pages "  17408000        0             0 " name "\n"

static const char block[] =
    "[ 5120.400001] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
    "[ 5120.400101] memory: usage 16777216kB, limit 25165824kB, failcnt 311\n"
    "[ 5120.400201] Memory cgroup stats for /slurm/uid_2001/job_8866/step_batch:\n"
    "[ 5120.400202] anon 17179869184\n"
    "[ 5120.400203] file 2097152\n"
    "[ 5120.400204] kernel_stack 65536\n"
    "[ 5120.400205] shmem 1073741824\n"
    "[ 5120.400500] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
    "[ 5120.400501] [   7801]  2001  7801  5242880  1048576  8704000        0             0 python\n"
    "[ 5120.400502] [   7802]  2001  7802  5242880  2359296 17408000        0             0 loader\n"
    "[ 5120.400900] Memory cgroup out of memory: Killed process 7802 (loader) total-vm:20971520kB, anon-rss:8388608kB, "
    "file-rss:2048kB, shmem-rss:1048576kB, UID:2001 pgtables:17000kB oom_score_adj:0\n";

static const struct wo_event *find(const struct wo_event_store *store, const char *pattern) {
  for (size_t i = 0; i < store->count; i++) {
    if (wo_view_is(store->items[i].pattern_id, pattern)) return &store->items[i];
  }
  return NULL;
}

/* Scans the first text, the second `count` times, and the third. */
static void scan_parts(struct wo_pattern_set *set, const char *before, const char *between, size_t count, const char *after,
                       struct wo_event_store *store) {
  struct sample_log log = {0};
  sample_say(&log, before);
  for (size_t i = 0; i < count; i++) sample_say(&log, between);
  sample_say(&log, after);
  sample_scan(set, sample_view(&log), CHUNK_WHOLE, store);
  sample_free(&log);
}

static void test_block(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), block, &store);
  const struct wo_event *const event = sample_find(&store, WO_KIND_CGROUP_OOM, 0);
  assert_int_equal(sample_count(&store, WO_KIND_CGROUP_OOM), 1);
  assert_int_equal(sample_count(&store, WO_KIND_HOST_OOM), 0);
  sample_expect_number(event, WO_FIELD_PID, 7802);
  sample_expect_text(event, WO_FIELD_PROGRAM, "loader");
  sample_expect_number(event, WO_FIELD_TOTAL_VM_BYTES, 20 * WO_GIB);
  sample_expect_number(event, WO_FIELD_ANON_RSS_BYTES, 8 * WO_GIB);
  sample_expect_number(event, WO_FIELD_FILE_RSS_BYTES, 2 * WO_MIB);
  sample_expect_number(event, WO_FIELD_SHMEM_RSS_BYTES, WO_GIB);
  sample_expect_number(event, WO_FIELD_LIMIT_BYTES, 24 * WO_GIB);
  sample_expect_number(event, WO_FIELD_USED_BYTES, 16 * WO_GIB);
  assert_int_equal(event->span.line, 11);
  expect_stable(set_of(state), wo_view_of(block), &store);
  wo_event_store_done(&store);
}

static void test_cut_anywhere(void **state) {
  for (size_t cut = 0; cut < sizeof block; cut++) {
    struct wo_event_store store;
    sample_scan(set_of(state), (struct wo_view){block, cut}, CHUNK_WHOLE, &store);
    assert_true(sample_count(&store, WO_KIND_CGROUP_OOM) <= 1);
    for (size_t i = 0; i < store.count; i++) {
      assert_true(store.items[i].span.byte + store.items[i].span.length <= cut);
      assert_true(wo_event_number(&store.items[i], WO_FIELD_LIMIT_BYTES, 0) <= 24 * WO_GIB);
      assert_true(wo_event_number(&store.items[i], WO_FIELD_LARGEST_BYTES, 0) <= 9 * WO_GIB);
    }
    wo_event_store_done(&store);
  }
}

/* ---- The kill ---- */

/* The figures stand above the table of all tasks, and not in another block. */
static void test_reach_of_the_figures(void **state) {
  static const struct {
    size_t lines;
    double limit;
  } rows[] = {{0, 24 * WO_GIB}, {300, 24 * WO_GIB}, {4999, 24 * WO_GIB}, {5000, -1}, {9000, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    scan_parts(set_of(state), usage, "another line\n", rows[i].lines, kill, &store);
    sample_expect_number(sample_find(&store, WO_KIND_CGROUP_OOM, 0), WO_FIELD_LIMIT_BYTES, rows[i].limit);
    wo_event_store_done(&store);
  }
}

/* Of two blocks the nearer one counts; a kill of the whole node has no limit. */
static void test_which_figures(void **state) {
  struct wo_event_store store;
  scan_parts(set_of(state), usage, "memory: usage 4194304kB, limit 4194304kB, failcnt 5\n", 1, kill, &store);
  sample_expect_number(sample_find(&store, WO_KIND_CGROUP_OOM, 0), WO_FIELD_LIMIT_BYTES, 4 * WO_GIB);
  wo_event_store_done(&store);
  scan_parts(set_of(state), usage, "", 0,
             "Killed process 7802 (loader) total-vm:20971520kB, anon-rss:8388608kB, file-rss:2048kB, shmem-rss:0kB\n", &store);
  sample_expect_number(sample_find(&store, WO_KIND_HOST_OOM, 0), WO_FIELD_LIMIT_BYTES, -1);
  sample_expect_number(sample_find(&store, WO_KIND_HOST_OOM, 0), WO_FIELD_ANON_RSS_BYTES, 8 * WO_GIB);
  wo_event_store_done(&store);
}

/* Figures in one file say nothing of a kill in the next. */
static void test_files(void **state) {
  struct wo_event_store store;
  const char *const logs[] = {usage, kill};
  wo_event_store_init(&store);
  for (uint32_t file = 0; file < 2; file++) {
    struct wo_scan *scan = NULL;
    struct wo_scan_summary summary;
    const struct wo_scan_options options = {.file = file, .rank = WO_RANK_UNKNOWN};
    assert_int_equal(wo_scan_new(set_of(state), &wo_formats, &store, options, &scan), WO_OK);
    assert_int_equal(wo_scan_feed(scan, logs[file], strlen(logs[file])), WO_OK);
    assert_int_equal(wo_scan_end(scan, &summary), WO_OK);
    wo_scan_free(scan);
  }
  const struct wo_event *const event = sample_find(&store, WO_KIND_CGROUP_OOM, 0);
  assert_int_equal(event->span.file, 1);
  sample_expect_number(event, WO_FIELD_LIMIT_BYTES, -1);
  wo_event_store_done(&store);
}

/* Kernels before 5.0 tell one kill in two lines: the second is of the first's kind when it is of the same process. */
static void test_two_lines(void **state) {
  static const struct {
    const char *first;
    size_t between;
    enum wo_kind kind;
  } rows[] = {
      {"Memory cgroup out of memory: Kill process 640 (python) score 990 or sacrifice child\n", 0, WO_KIND_CGROUP_OOM},
      {"Memory cgroup out of memory: Kill process 640 (python) score 990 or sacrifice child\n", 19, WO_KIND_CGROUP_OOM},
      {"Memory cgroup out of memory: Kill process 640 (python) score 990 or sacrifice child\n", 20, WO_KIND_HOST_OOM},
      {"Memory cgroup out of memory: Kill process 641 (python) score 990 or sacrifice child\n", 0, WO_KIND_HOST_OOM},
      {"Out of memory: Kill process 640 (python) score 990 or sacrifice child\n", 0, WO_KIND_HOST_OOM},
      {"", 0, WO_KIND_HOST_OOM},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    scan_parts(set_of(state), rows[i].first, "noise\n", rows[i].between,
               "Killed process 640 (python) total-vm:4194304kB, anon-rss:3145728kB, file-rss:1024kB\n", &store);
    const struct wo_event *const event = find(&store, "kernel-killed-detail");
    if (event == NULL || event->kind != rows[i].kind) fail_msg("row %zu", i);
    sample_expect_number(event, WO_FIELD_ANON_RSS_BYTES, 3 * WO_GIB);
    sample_expect_number(event, WO_FIELD_SHMEM_RSS_BYTES, -1);
    wo_event_store_done(&store);
  }
}

/* ---- The table ---- */

static void expect_table(const struct wo_event *event, double used, double largest, double pid, double count) {
  assert_non_null(event);
  sample_expect_number(event, WO_FIELD_USED_BYTES, used);
  sample_expect_number(event, WO_FIELD_LARGEST_BYTES, largest);
  sample_expect_number(event, WO_FIELD_PID, pid);
  sample_expect_number(event, WO_FIELD_COUNT, count);
}

static void test_table(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), block, &store);
  const struct wo_event *const event = find(&store, "kernel-task-table");
  expect_table(event, 13 * WO_GIB, 9 * WO_GIB, 7802, 2);
  sample_expect_text(event, WO_FIELD_PROGRAM, "loader");
  assert_int_equal(event->span.line, 8);
  wo_event_store_done(&store);
}

/* Behind whatever the journal puts in front, and in the form of older kernels. */
static void test_forms_of_rows(void **state) {
  static const char *const tables[] = {
      "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n"
      "[  900]  2001   900   999999   262144     600        0             0 trainer\n",
      "Jan  2 03:04:05 node07 kernel: [ pid ]   uid  tgid total_vm      rss nr_ptes nr_pmds swapents oom_score_adj name\n"
      "Jan  2 03:04:05 node07 kernel: [  900]  2001   900   999999   262144     600   7        0             0 trainer\n",
      "[Thu Jan  2 03:04:05 2025] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
      "[Thu Jan  2 03:04:05 2025] [    900]  2001   900   999999   262144   600000        0             0 trainer\n",
      "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name\n"
      "[    900]  2001   900   999999   262144   250000    10000      2144   600000        0             0 trainer\n",
  };
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), tables[i], &store);
    const struct wo_event *const event = find(&store, "kernel-task-table");
    expect_table(event, WO_GIB, WO_GIB, 900, 1);
    sample_expect_text(event, WO_FIELD_PROGRAM, "trainer");
    wo_event_store_done(&store);
  }
}

/* A line that is no row ends the table. */
static void test_end_of_the_table(void **state) {
  static const char *const strangers[] = {
      "[ 5120.4007] oom-kill: nothing\n",
      "\n",
      "[ 5120.4007] [ x ]  2001 7  5242880  99  17408000        0             0 a\n",
      "[ 5120.4007] [ 7 ]  2001 7  5242880\n",
      "[ 5120.4007] [ 7 \n",
      "[ 5120.4007] [ 7 ]  2001 7  5242880  many  17408000        0             0 a\n",
      "[ 5120.4007] [ 7 ]  2001 7  5242880  9999999999999999  17408000        0             0 a\n",
  };
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    struct wo_event_store store;
    struct sample_log log = {0};
    sample_say(&log, header);
    sample_say(&log, ROW(31, 512, "one"));
    sample_say(&log, strangers[i]);
    sample_say(&log, ROW(32, 1024, "two"));
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    expect_table(find(&store, "kernel-task-table"), 2 * WO_MIB, 2 * WO_MIB, 31, 1);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* Of two equal tasks the later one is named; a table without rows has no figures. */
static void test_equal_and_empty(void **state) {
  struct wo_event_store store;
  scan_parts(set_of(state), header, ROW(51, 256, "first"), 1, ROW(52, 256, "second"), &store);
  expect_table(find(&store, "kernel-task-table"), 2 * WO_MIB, WO_MIB, 52, 2);
  sample_expect_text(find(&store, "kernel-task-table"), WO_FIELD_PROGRAM, "second");
  wo_event_store_done(&store);
  scan_parts(set_of(state), header, "", 0, kill, &store);
  assert_int_equal(find(&store, "kernel-task-table")->field_count, 0);
  assert_int_equal(sample_count(&store, WO_KIND_CGROUP_OOM), 1);
  wo_event_store_done(&store);
}

static void test_long_table(void **state) {
  struct wo_event_store store;
  scan_parts(set_of(state), header, ROW(61, 256, "many"), 4100, ROW(62, 512, "last"), &store);
  expect_table(find(&store, "kernel-task-table"), 4000 * WO_MIB, WO_MIB, 61, 4000);
  wo_event_store_done(&store);
}

/* ---- What the memory is made of ---- */

static void expect_stats(const struct wo_event *event, double anon, double file, double shmem) {
  assert_non_null(event);
  sample_expect_number(event, WO_FIELD_ANON_RSS_BYTES, anon);
  sample_expect_number(event, WO_FIELD_FILE_RSS_BYTES, file);
  sample_expect_number(event, WO_FIELD_SHMEM_RSS_BYTES, shmem);
}

static void test_stats(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), block, &store);
  const struct wo_event *const event = find(&store, "kernel-cgroup-stats");
  expect_stats(event, 16 * WO_GIB, 2 * WO_MIB, WO_GIB);
  sample_expect_text(event, WO_FIELD_JOB, "8866");
  wo_event_store_done(&store);
}

/* On one line before 5.2; what follows it then is no part of it. */
static void test_stats_on_one_line(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "Memory cgroup stats for /slurm/uid_2001/job_8866: cache:2048KB rss:1048576KB rss_huge:0KB shmem:1024KB\n"
                   "shmem 4096\nanon 4096\n",
                   &store);
  expect_stats(find(&store, "kernel-cgroup-stats"), WO_GIB, 2 * WO_MIB, WO_MIB);
  wo_event_store_done(&store);
}

static void test_end_of_the_stats(void **state) {
  static const char *const strangers[] = {"anon\n", "anon many\n", "\n", "anon 5 pages\n",
                                          "Tasks state (memory values in pages):\n"};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    struct wo_event_store store;
    scan_parts(set_of(state), "Memory cgroup stats for /a:\nfile 8192\n", strangers[i], 1, "anon 4096\nshmem 4096\n", &store);
    expect_stats(find(&store, "kernel-cgroup-stats"), -1, 8192, -1);
    wo_event_store_done(&store);
  }
}

static void test_length_of_the_stats(void **state) {
  static const struct {
    size_t lines;
    double anon;
  } rows[] = {{40, 4096}, {59, 4096}, {60, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    scan_parts(set_of(state), "Memory cgroup stats for /a:\n", "pgfault 17\n", rows[i].lines, "anon 4096\n", &store);
    sample_expect_number(find(&store, "kernel-cgroup-stats"), WO_FIELD_ANON_RSS_BYTES, rows[i].anon);
    wo_event_store_done(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_block),
      cmocka_unit_test(test_cut_anywhere),
      cmocka_unit_test(test_reach_of_the_figures),
      cmocka_unit_test(test_which_figures),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_two_lines),
      cmocka_unit_test(test_table),
      cmocka_unit_test(test_forms_of_rows),
      cmocka_unit_test(test_end_of_the_table),
      cmocka_unit_test(test_equal_and_empty),
      cmocka_unit_test(test_long_table),
      cmocka_unit_test(test_stats),
      cmocka_unit_test(test_stats_on_one_line),
      cmocka_unit_test(test_end_of_the_stats),
      cmocka_unit_test(test_length_of_the_stats),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
