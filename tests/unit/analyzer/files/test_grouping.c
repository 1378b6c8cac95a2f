/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a folder sorted into jobs: analyzer/files/grouping.c. */
#include "analyzer/files/grouping.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"

enum { ARENA_BYTES = 4 * 1024 * 1024, PATHS_MAX = 12 };

static uint32_t count_paths(const char *const *paths) {
  uint32_t count = 0;
  while (count < PATHS_MAX && paths[count]) count++;
  return count;
}

/* Writes a grouping as "4711: a b + c | ...; d": id, array task, logs, what stands next to them, and the rest. */
static void write_grouping(const struct wo_grouping *grouping, const char *const *paths, char *out, size_t size) {
  size_t len = 0;
  out[0] = '\0';
#define ADD(...) len += (size_t)snprintf(out + len, size - len, __VA_ARGS__)
  for (uint32_t i = 0; i < grouping->group_count; i++) {
    const struct wo_group *group = &grouping->groups[i];
    ADD("%s%.*s", i > 0 ? " | " : "", (int)group->job_id.len, group->job_id.len > 0 ? group->job_id.ptr : "");
    if (group->array_task >= 0) ADD("_%d", (int)group->array_task);
    ADD(":");
    for (uint32_t k = 0; k < group->member_count; k++) ADD("%s %s", k == group->log_count ? " +" : "", paths[group->members[k]]);
  }
  for (uint32_t i = 0; i < grouping->rest_count; i++) ADD("%s%s", i == 0 ? "; " : " ", paths[grouping->rest[i]]);
#undef ADD
}

struct grouping_case {
  const char *paths[PATHS_MAX]; /* NULL ends the list */
  const char *expected;
};

static void check_cases(const struct grouping_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct wo_arena arena;
    wo_arena_init(&arena, ARENA_BYTES);
    struct wo_grouping grouping = {0};
    assert_int_equal(wo_group_paths(cases[i].paths, count_paths(cases[i].paths), &arena, &grouping), WO_OK);
    char text[1024];
    write_grouping(&grouping, cases[i].paths, text, sizeof text);
    if (strcmp(text, cases[i].expected) != 0) fail_msg("case %zu:\n  is       %s\n  expected %s", i, text, cases[i].expected);
    wo_arena_done(&arena);
  }
}

#define CHECK_CASES(cases) check_cases((cases), sizeof(cases) / sizeof *(cases))

static void test_logs_with_an_id(void **state) {
  (void)state;
  static const struct grouping_case cases[] = {
      {{"slurm-4711.out", "slurm-4712.out"}, "4711: slurm-4711.out | 4712: slurm-4712.out"},
      {{"slurm-4712.err", "slurm-4711.out", "slurm-4711.err", "slurm-4712.out"},
       "4712: slurm-4712.err slurm-4712.out | 4711: slurm-4711.out slurm-4711.err"},
      {{"slurm-4711_0.out", "slurm-4711_1.out", "slurm-4711_0.err"},
       "4711_0: slurm-4711_0.out slurm-4711_0.err | 4711_1: slurm-4711_1.out"},
      {{"out-4711.0", "out-4711.1", "err-4711.0", "slurm-4711.out"}, "4711: out-4711.0 out-4711.1 err-4711.0 slurm-4711.out"},
      {{"train-4711.out", "4711.err.gz"}, "4711: train-4711.out 4711.err.gz"},
      {{"a/slurm-4711.out", "b/slurm-4711.out"}, "4711: a/slurm-4711.out | 4711: b/slurm-4711.out"},
      {{"a-20250618.out", "b-20250618.out", "a-20250618.err"}, ": a-20250618.out a-20250618.err | : b-20250618.out"},
      {{"slurm-20250618.out"}, "20250618: slurm-20250618.out"},
      {{"slurm-1.out", "slurm-2.out", "slurm-1.err"}, "1: slurm-1.out slurm-1.err | 2: slurm-2.out"},
      {{"t-2026-11-26.log", "t-2026-11-27.log", "t-2026-11-26.err"}, ": t-2026-11-26.log t-2026-11-26.err | : t-2026-11-27.log"},
      {{"4711_0_log.out", "4711_0_log.err", "4711_1_log.err", "4712_0_log.out", "4711_submission.sh", "4712_submission.sh"},
       "4711: 4711_0_log.out 4711_0_log.err 4711_1_log.err + 4711_submission.sh | 4712: 4712_0_log.out + 4712_submission.sh"},
      {{"4711_0_0_log.out", "4711_1_0_log.out", "4711_1_1_log.out", "4710_submission.sh"},
       "4711_0: 4711_0_0_log.out | 4711_1: 4711_1_0_log.out 4711_1_1_log.out; 4710_submission.sh"},
      {{"slurm-4711.out", "events.out.tfevents.1732579200.gpu01.34567.0"},
       "4711: slurm-4711.out; events.out.tfevents.1732579200.gpu01.34567.0"},
  };
  CHECK_CASES(cases);
}

static void test_logs_without_id(void **state) {
  (void)state;
  static const struct grouping_case cases[] = {
      {{"train.out", "eval.out", "train.err"}, ": train.out train.err | : eval.out"},
      {{"err.0", "err.1", "out.0", "out.1"}, ": err.0 err.1 out.0 out.1"},
      {{"train.rank0.err", "train.rank_1.err", "train.out"}, ": train.rank0.err train.rank_1.err train.out"},
      {{"train.log", "train.log.1", "train.log.2"}, ": train.log | : train.log.1 | : train.log.2"},
      {{"train-23_0.out", "train-23_1.out", "train-23_1.err"}, ": train-23_0.out | : train-23_1.out train-23_1.err"},
      {{"run-0.out", "run-1.out", "run-1.err"}, ": run-0.out | : run-1.out run-1.err"},
      {{"err.0", "slurm-4711.out", "err.1"}, "4711: err.0 slurm-4711.out err.1"},
      {{"err.0", "err.1", "slurm-4711.out", "slurm-4712.out"}, ": err.0 err.1 | 4711: slurm-4711.out | 4712: slurm-4712.out"},
      {{"err.0", "eval.log", "slurm-4711.out", "err.1"}, "4711: err.0 slurm-4711.out err.1 | : eval.log"},
  };
  CHECK_CASES(cases);
}

static void test_what_stands_next_to_logs(void **state) {
  (void)state;
  static const struct grouping_case cases[] = {
      {{"dmon-4712.txt", "slurm-4711.out", "slurm-4712.out", "scontrol-4711.txt"},
       "4711: slurm-4711.out + scontrol-4711.txt | 4712: slurm-4712.out + dmon-4712.txt"},
      {{"slurm-4711_0.out", "slurm-4711_1.out", "sacct-4711.txt", "scontrol-4711_1.txt"},
       "4711_0: slurm-4711_0.out + sacct-4711.txt | 4711_1: slurm-4711_1.out + sacct-4711.txt scontrol-4711_1.txt"},
      {{"slurm-4711.out", "sacct-4799.txt"}, "4711: slurm-4711.out; sacct-4799.txt"}, /* of another job */
      {{"slurm-4711.out", "dmon.txt"}, "4711: slurm-4711.out + dmon.txt"},
      {{"slurm-4711.out", "slurm-4712.out", "dmon.txt"}, "4711: slurm-4711.out | 4712: slurm-4712.out; dmon.txt"},
      {{"job.sbatch", "slurm-4711.out", "slurm-4712.out"},
       "4711: slurm-4711.out + job.sbatch | 4712: slurm-4712.out + job.sbatch"},
      {{"train.sbatch", "eval.sbatch", "train-4711.out", "eval-4712.out", "slurm-4713.out"},
       "4711: train-4711.out + train.sbatch | 4712: eval-4712.out + eval.sbatch | 4713: slurm-4713.out"},
      {{"a.sh", "b.sh", "slurm-4711.out", "slurm-4712.out"}, "4711: slurm-4711.out | 4712: slurm-4712.out; a.sh b.sh"},
      {{"a.sh", "b.sh", "slurm-4711.out"}, "4711: slurm-4711.out + a.sh b.sh"},
      {{"srun.sbatch", "srun.out", "srun.sacct.txt", "srun.sacct.json", "other.out", "other.sbatch"},
       ": srun.out + srun.sacct.txt srun.sacct.json srun.sbatch | : other.out + other.sbatch"},
      {{"conf.yaml", "slurm-4711.out", "README.md", "model.bin"}, "4711: slurm-4711.out + conf.yaml; README.md model.bin"},
      {{"a/slurm-4711.out", "b/job.sbatch"}, "4711: a/slurm-4711.out; b/job.sbatch"},
      {{"job.sbatch"}, "; job.sbatch"},
      {{NULL}, ""},
  };
  CHECK_CASES(cases);
}

static void test_odd_names(void **state) {
  (void)state;
  static const struct grouping_case cases[] = {
      {{"", "/", "...", "out", "-", "\xff.out"}, ": out | : \xff.out;  / ... -"},
      {{"slurm-4711.out", "slurm-4711.out"}, "4711: slurm-4711.out slurm-4711.out"},
      {{"out.99999999999999999999", "out.0"}, ": out.99999999999999999999 | : out.0"},
  };
  CHECK_CASES(cases);
}

static void test_memory(void **state) {
  (void)state;
  static const char *const paths[] = {"slurm-4711.out", "slurm-4711.err", "err.0", "err.1", "job.sbatch", "dmon-4711.txt"};
  for (long n = 1; n < 100; n++) {
    struct wo_arena arena;
    wo_arena_init(&arena, ARENA_BYTES);
    struct wo_grouping grouping = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_group_paths(paths, 6, &arena, &grouping);
    wo_fail_alloc_off();
    wo_arena_done(&arena);
    if (!wo_fail_alloc_hit()) {
      assert_int_equal(status, WO_OK);
      return;
    }
    assert_int_equal(status, WO_E_NOMEM);
  }
  fail_msg("never succeeds");
}

/* Sorting, not comparing all with all: an archive takes no noticeable time. */
static void test_many(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  static char names[COUNT][32];
  static const char *paths[COUNT];
  for (int i = 0; i < COUNT; i++) {
    snprintf(names[i], sizeof names[i], i % 2 == 0 ? "slurm-%d.out" : "sacct-%d.txt", 100000 + (i * 7919 % COUNT) / 2);
    paths[i] = names[i];
  }
  struct wo_arena arena;
  wo_arena_init(&arena, (size_t)64 * 1024 * 1024);
  struct wo_grouping grouping = {0};
  assert_int_equal(wo_group_paths(paths, COUNT, &arena, &grouping), WO_OK);
  assert_true(grouping.group_count > 0 && grouping.group_count <= COUNT / 2);
  wo_arena_done(&arena);
}

/* Two jobs of a folder with a monitor's files that bear no id, told apart by their times. */
static void test_by_time(void **state) {
  (void)state;
  static const char *const paths[] = {"run/slurm-4711.out", "run/slurm-4712.out", "run/dmon-a.csv", "run/dmon-b.csv",
                                      "run/dmon-day.csv",   "run/dmon-none.csv",  "run/notes.pdf",  "other/dmon.csv"};
  static const int64_t minute = INT64_C(60000000000);
  const struct wo_group_span spans[] = {
      {0, 0, 30 * minute},           {1, 60 * minute, 90 * minute},
      {2, 2 * minute, 31 * minute},  {3, 91 * minute - 1, 120 * minute},
      {4, -5 * minute, 99 * minute}, {6, 0, 30 * minute},
      {7, 0, 30 * minute},
  };
  struct wo_arena arena;
  struct wo_grouping grouping;
  struct wo_group_match matches[8];
  wo_arena_init(&arena, ARENA_BYTES);
  assert_int_equal(wo_group_paths(paths, 8, &arena, &grouping), WO_OK);
  assert_int_equal(grouping.group_count, 2);
  const uint32_t count = wo_group_by_time(&grouping, paths, spans, sizeof spans / sizeof spans[0], matches);
  assert_int_equal(count, 2);
  assert_int_equal(matches[0].path, 2);
  assert_true(wo_view_is(grouping.groups[matches[0].group].job_id, "4711"));
  assert_int_equal(matches[1].path, 3);
  assert_true(wo_view_is(grouping.groups[matches[1].group].job_id, "4712"));
  assert_int_equal(wo_group_by_time(&grouping, paths, NULL, 0, matches), 0);
  wo_arena_done(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_time),
      cmocka_unit_test(test_logs_with_an_id),
      cmocka_unit_test(test_logs_without_id),
      cmocka_unit_test(test_what_stands_next_to_logs),
      cmocka_unit_test(test_odd_names),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_many),
  };
  return cmocka_run_group_tests_name("grouping", tests, NULL, NULL);
}
