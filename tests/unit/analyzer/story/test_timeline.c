/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank was first: times of many forms, clocks that differ, launchers' accounts, files in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define FILES_MAX 4

#define ELASTIC(time, host, rank, local, code)                                                                                   \
  "Root Cause (first observed failure):\n[0]:\n  time      : " time "\n  host      : " host "\n  rank      : " rank              \
  " (local_rank: " local ")\n  exitcode  : " code                                                                                \
  " (pid: 9124)\n  error_file: <N/A>\n  traceback : To enable traceback see: x\n"                                                \
  "============================================================\n"
#define STEP_ENDS(host, time) "slurmstepd: error: *** STEP 5153.0 ON " host " CANCELLED AT " time " ***\n"

struct order_row {
  const char *name;
  struct sample_file files[FILES_MAX];
  const char *path; /* of the first failure */
  int32_t rank;
  bool is_uncertain;
};

static const struct order_row order_rows[] = {
    {"times of the lines themselves",
     {{"rank_0.log", "2026-03-05T20:24:36 " OOM_ON("0")}, {"rank_1.log", "2026-03-05T20:24:06.111 " OOM_ON("1")}},
     "rank_1.log",
     1,
     false},
    {"Python's logging, and a time before midnight",
     {{"rank_0.log", "2026-03-06 00:00:09,001 - ERROR - " OOM_ON("0")},
      {"rank_1.log", "2026-03-05 23:59:59,999 - ERROR - " OOM_ON("1")}},
     "rank_1.log",
     1,
     false},
    {"zones are taken into account",
     {{"rank_0.log", "2026-03-05T20:24:36Z " OOM_ON("0")}, {"rank_1.log", "2026-03-05T21:24:06+01:00 " OOM_ON("1")}},
     "rank_1.log",
     1,
     false},
    {"one with a zone and one without cannot be compared",
     {{"rank_0.log", "2026-03-05T20:24:36Z " OOM_ON("0")}, {"rank_1.log", "2026-03-05T20:14:06 " OOM_ON("1")}},
     "rank_0.log",
     0,
     true},
    {"a time without a year beside one with a year",
     {{"rank_0.log", "2026-03-05 20:24:36,5 " OOM_ON("0")}, {"rank_1.log", "E0305 20:24:06.111 4711 a/b.py:12] " OOM_ON("1")}},
     "rank_1.log",
     1,
     false},
    {"a year ends between them",
     {{"rank_0.log", "2026-01-01 00:00:36,5 " OOM_ON("0")}, {"rank_1.log", "E1231 23:59:06.111 4711 a/b.py:12] " OOM_ON("1")}},
     "rank_1.log",
     1,
     false},
    {"clocks of hosts differ by seconds",
     {{"rank_0.log", "2026-03-05T20:24:08 " OOM_ON("0")}, {"rank_1.log", "2026-03-05T20:24:06 " OOM_ON("1")}},
     "rank_0.log",
     0,
     true},
    {"one host has one clock",
     {{"rank_0.log", "2026-03-05T20:24:08.5 gpu01: " OOM_ON("0")}, {"rank_1.log", "gpu01: 2026-03-05T20:24:06.5 " OOM_ON("1")}},
     "rank_0.log",
     0,
     true},
    {"no times at all: the lower rank, and said so",
     {{"rank_2.log", OOM_ON("2")}, {"rank_1.log", OOM_ON("1")}},
     "rank_1.log",
     1,
     true},
    {"a line without a time takes the one before it, and the one behind it",
     {{"rank_0.log", "2026-03-05T20:24:36 INFO step 4\n" OOM_ON("0")},
      {"rank_1.log", "2026-03-05T20:20:00 INFO step 4\n" OOM_ON(
                         "1") "2026-03-05T20:24:08 [WARNING] Sending process 821 closing signal SIGTERM\n"}},
     "rank_1.log",
     1,
     false},
    {"a time before it alone bounds nothing from above",
     {{"rank_0.log", "2026-03-05T20:24:36 INFO step 4\n" OOM_ON("0")},
      {"rank_1.log", "2026-03-05T20:20:00 INFO step 4\n" OOM_ON("1")}},
     "rank_0.log",
     0,
     true},
    {"accounts of two nodes: the earlier, not the one that was ended",
     {{"node_a.log", "[rank1]: " OOM_ON("1") ELASTIC("2026-03-05_20:24:36", "gpu01", "1", "1", "1")},
      {"node_b.log", "[rank9]: " OOM_ON("1") ELASTIC("2026-03-05_20:24:06", "gpu02", "9", "1", "1")},
      {"node_c.log", ELASTIC("2026-03-05_20:24:01", "gpu03", "17", "1", "-15")}},
     "node_b.log",
     9,
     false},
    {"local labels are told apart by their hosts",
     {{"a.log", "[gpu01:1]:" OOM_ON("1")},
      {"b.log", "[gpu02:1]:" OOM_ON("1") ELASTIC("2026-03-05_20:24:06", "gpu02", "9", "1", "1")}},
     "b.log",
     1,
     false},
    {"clocks are set by an act of the workload manager",
     {{"a.log", "gpu01: 2026-03-05T20:24:06.5 " OOM_ON("0") STEP_ENDS("gpu01", "2026-03-05T20:24:10")},
      {"b.log", "gpu02: 2026-03-05T20:44:02.5 " OOM_ON("1") STEP_ENDS("gpu02", "2026-03-05T20:44:10")}},
     "b.log",
     WO_RANK_UNKNOWN,
     false},
};

static void read_order(struct sample_job *sample, const struct wo_pack *pack, const struct order_row *row, const size_t *order,
                       size_t count) {
  struct sample_file files[FILES_MAX];
  for (size_t i = 0; i < count; i++) files[i] = row->files[order[i]];
  sample_read(sample, pack, files, count);
}

static void check_order(const struct order_row *row, const struct sample_job *sample) {
  const struct wo_event *failure = sample_failure(sample);
  assert_non_null(failure);
  const struct wo_view path = sample->job->inputs[failure->span.file].path;
  if (!wo_view_is(path, row->path) || failure->rank != row->rank || sample->job->story.is_order_uncertain != row->is_uncertain) {
    fail_msg("%s: %.*s, rank %d, %s", row->name, (int)path.len, path.ptr, (int)failure->rank,
             sample->job->story.is_order_uncertain ? "uncertain" : "certain");
  }
}

/* Heap's way through all orders. */
static void check_permutations(const struct order_row *row, const struct wo_pack *pack, size_t *order, size_t count,
                               size_t depth) {
  if (depth == 1) {
    struct sample_job sample;
    read_order(&sample, pack, row, order, count);
    check_order(row, &sample);
    sample_done(&sample);
    return;
  }
  for (size_t i = 0; i < depth; i++) {
    check_permutations(row, pack, order, count, depth - 1);
    const size_t other = depth % 2 == 0 ? i : 0;
    const size_t kept = order[other];
    order[other] = order[depth - 1];
    order[depth - 1] = kept;
  }
}

static void test_first_whatever_the_order_of_files(void **state) {
  for (size_t i = 0; i < sizeof order_rows / sizeof order_rows[0]; i++) {
    size_t order[FILES_MAX] = {0, 1, 2, 3};
    size_t count = 0;
    while (count < FILES_MAX && order_rows[i].files[count].path) count++;
    check_permutations(&order_rows[i], *state, order, count, count);
  }
}

/* Within one file the lines count, unless both bear times of their own. */
static void test_lines_of_one_file(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "[rank3]: " OOM_ON("3") "[rank1]: " OOM_ON("1"));
  assert_int_equal(sample_failure(&sample)->rank, 3);
  assert_false(sample.job->story.is_order_uncertain);
  sample_done(&sample);
  sample_log(&sample, *state, "[rank3]: 2026-03-05T20:24:36 " OOM_ON("3") "[rank1]: 2026-03-05T20:24:06 " OOM_ON("1"));
  assert_int_equal(sample_failure(&sample)->rank, 1);
  sample_done(&sample);
}

/* The report says what it does not know. */
static void test_uncertain_order_is_said(void **state) {
  static const struct sample_file files[] = {{"rank_0.log", "2026-03-05T20:24:08 " OOM_ON("0")},
                                             {"rank_1.log", "2026-03-05T20:24:06 " OOM_ON("1")}};
  struct sample_job sample;
  struct wo_text out = {0};
  sample_read(&sample, *state, files, 2);
  assert_int_equal(wo_event_get(&sample.job->events, sample.job->story.rival)->rank, 1);
  assert_true(sample.job->story.rival_gap_ns == INT64_C(2000000000));
  wo_report_text(sample.report, (struct wo_text_style){.width = 200}, &out);
  assert_non_null(strstr(out.ptr, "the first rank is not known: ranks 0 and 1 report within 2.0 s"));
  assert_non_null(strstr(out.ptr, "rank 0 of 2 failed; 1 more failed the same way"));
  wo_text_done(&out);
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_first_whatever_the_order_of_files),
      cmocka_unit_test(test_lines_of_one_file),
      cmocka_unit_test(test_uncertain_order_is_said),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
