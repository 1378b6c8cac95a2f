/* SPDX-License-Identifier: Apache-2.0 */
/* The rank that srun's lines leave for a memory message without one, and every case in which they leave a choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define OOM                                                                                                                      \
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which "    \
  "1.06 GiB is free. Of the allocated memory 26.11 GiB is allocated by PyTorch, and 11.62 GiB is reserved by PyTorch but "       \
  "unallocated.\n"
#define TRACED "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 9, in <module>\n    main()\n" OOM
#define ENDS(task, what) "srun: error: gpu02: task " task ": " what "\n"
#define LAUNCHER "srun torchrun --nproc_per_node=4 train.py\n"

struct row {
  const char *name;
  const char *log;
  int32_t rank;
};

static const struct row rows[] = {
    {"one task with a code, the others killed", TRACED ENDS("2", "Exited with exit code 1") ENDS("3", "Killed"), 2},
    {"task 0, the others terminated", OOM ENDS("0", "Exited with exit code 1") "srun: error: gpu[01-02]: tasks 1-3: Terminated\n",
     0},
    {"a task with a number above 0 is not alone", OOM ENDS("5", "Exited with exit code 1"), 5},
    {"a single task may have ranks of its own", OOM ENDS("0", "Exited with exit code 1"), WO_RANK_UNKNOWN},
    {"two tasks with codes", OOM ENDS("2", "Exited with exit code 1") ENDS("3", "Exited with exit code 1"), WO_RANK_UNKNOWN},
    {"a list of tasks with codes", OOM ENDS("2-3", "Exited with exit code 1") ENDS("0", "Killed"), WO_RANK_UNKNOWN},
    {"another task crashed", OOM ENDS("2", "Exited with exit code 1") ENDS("3", "Segmentation fault"), WO_RANK_UNKNOWN},
    {"two messages", OOM OOM ENDS("2", "Exited with exit code 1") ENDS("3", "Killed"), WO_RANK_UNKNOWN},
    {"nobody ended by himself", OOM ENDS("2", "Killed") ENDS("3", "Killed"), WO_RANK_UNKNOWN},
    {"no lines about tasks", OOM, WO_RANK_UNKNOWN},
    {"a launcher within the tasks", LAUNCHER OOM ENDS("1", "Exited with exit code 1") ENDS("0", "Killed"), WO_RANK_UNKNOWN},
    {"a program that spawns its ranks",
     OOM EXCEPTION("torch.multiprocessing.spawn.ProcessRaisedException: x") ENDS("2", "Exited with exit code 1")
         ENDS("3", "Killed"),
     WO_RANK_UNKNOWN},
    {"a task has a node to itself, and runs a rank on each card",
     OOM "srun: error: gpu03: task 1: Exited with exit code 1\nsrun: error: gpu[02,04-05]: tasks 0,2-3: Killed\n",
     WO_RANK_UNKNOWN},
    {"two tasks on each node",
     OOM "srun: error: gpu03: task 3: Exited with exit code 1\nsrun: error: gpu[02-03]: tasks 0-2: Killed\n", 3},
    {"the line names its rank", "[rank3]: " OOM ENDS("2", "Exited with exit code 1") ENDS("1", "Killed"), 3},
    {"host memory is not asked",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.\n" ENDS(
         "2", "Exited with exit code 1") ENDS("1", "Killed"),
     WO_RANK_UNKNOWN},
};

static void test_ranks(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    const struct wo_event *failure = sample_failure(&sample);
    assert_non_null(failure);
    if (failure->rank != rows[i].rank) fail_msg("%s: rank %d, expected %d", rows[i].name, failure->rank, rows[i].rank);
    const bool is_named = failure->rank != WO_RANK_UNKNOWN && strstr(rows[i].log, "[rank") == NULL;
    if (sample.job->story.is_rank_inferred != is_named) fail_msg("%s: whether it is said differs", rows[i].name);
    sample_done(&sample);
  }
}

/* The traceback goes with its message. */
static void test_traceback(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, rows[0].log);
  const struct wo_event *traceback = wo_event_get(&sample.job->events, sample.job->story.traceback);
  assert_non_null(traceback);
  assert_int_equal(traceback->rank, 2);
  assert_int_equal(sample.job->story.rank_count, 4);
  sample_done(&sample);
}

/* The reports say that no line names the rank. */
static void test_reports(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    struct wo_text text = {0};
    struct wo_text json = {0};
    sample_log(&sample, *state, rows[i].log);
    wo_report_text(sample.report, (struct wo_text_style){.width = 300}, &text);
    wo_report_json(sample.report, &json);
    const bool is_inferred = sample.job->story.is_rank_inferred;
    assert_true((strstr(text.ptr, "(from srun: the only task that left by itself)") != NULL) == is_inferred);
    assert_true((strstr(json.ptr, "\"rank_inferred\": true") != NULL) == is_inferred);
    wo_text_done(&text);
    wo_text_done(&json);
    sample_done(&sample);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks), cmocka_unit_test(test_traceback),
                                     cmocka_unit_test(test_reports)};
  return cmocka_run_group_tests_name("rank_infer", tests, sample_load_all, sample_unload);
}
