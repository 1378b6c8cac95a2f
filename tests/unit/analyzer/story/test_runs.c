/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the program in one log: where they begin, which one the diagnosis is about, what they show together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define BANNER "***** Running training *****\n"
#define OPENING(modules) "Loading " modules " modules of the project\nReading the configuration of the experiment\n"
#define HEADER(id) "SLURM_JOB_ID=" id "\n"
#define EXIT_LINE "srun: error: gpu09: task 0: Exited with exit code 1\n"
#define MEMORY EXCEPTION("") OOM_ON("0")
#define PREEMPTED(id) "slurmstepd: error: *** JOB " id " ON gpu09 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***\n"
#define REQUEUED(id) "slurmstepd-gpu09: error: *** JOB " id " ON gpu09 CANCELLED AT 2026-01-02T03:04:05 DUE TO JOB REQUEUE ***\n"
#define CANCELLED(id) "slurmstepd: error: *** JOB " id " ON gpu09 CANCELLED AT 2026-01-02T03:04:05 ***\n"
#define RESTART "[default] Worker group FAILED. 2/3 attempts left; will restart worker group\n"

struct runs_row {
  const char *name;
  const char *log;
  size_t runs; /* 0 = the log holds one */
  const char *outcome;
  uint64_t line; /* of the failure; 0 = none */
};

static const struct runs_row rows[] = {
    {"one run", BANNER MEMORY EXIT_LINE, 0, "gpu_oom", 6},
    {"the banner once more after an end", BANNER MEMORY EXIT_LINE BANNER EXCEPTION("ValueError: wrong shape"), 2, "program_error",
     12},
    {"the banner of each rank", "[rank0]: " BANNER "[rank1]: " BANNER MEMORY, 0, "gpu_oom", 7},
    {"the banner once more without an end", BANNER "step 4/9\n" BANNER MEMORY, 0, "gpu_oom", 8},
    {"an exception before the first banner", EXCEPTION("ValueError: x") BANNER MEMORY, 0, "gpu_oom", 10},
    {"another job", HEADER("4711") MEMORY HEADER("4712") EXCEPTION("ValueError: wrong shape"), 2, "program_error", 11},
    {"another job that is named at its end",
     MEMORY CANCELLED("4711") "x\n" EXCEPTION("ValueError: y") EXIT_LINE CANCELLED("4712"), 2, "program_error", 11},
    {"jobs that write at the same time", "x\n" CANCELLED("4711") CANCELLED("4712") "y\n", 0, "cancelled", 2},
    {"jobs that take turns", CANCELLED("4711") "x\ny\n" CANCELLED("4712") "x\ny\n" CANCELLED("4711"), 0, "cancelled", 1},
    {"requeued after a preemption", BANNER PREEMPTED("4711") BANNER MEMORY, 2, "gpu_oom", 8},
    {"preempted, and what follows from it", BANNER PREEMPTED("4711") EXCEPTION("SystemExit: 1"), 0, "preempted", 2},
    {"requeued, and an error of the new run without a banner", REQUEUED("4711") EXCEPTION("KeyError: 'shape'"), 2,
     "program_error", 5},
    {"requeued, and the answer of the program before the line", EXCEPTION("KeyError: 'shape'") REQUEUED("4711"), 0, "preempted",
     5},
    {"requeued, and the answer of the program behind the line", REQUEUED("4711") EXCEPTION("KeyboardInterrupt"), 0, "preempted",
     1},
    {"requeued, and a data loader's answer",
     REQUEUED("4711") EXCEPTION("RuntimeError: DataLoader worker (pid 812) is killed by signal: Terminated. "), 0, "preempted",
     1},
    {"the launcher starts the workers again", MEMORY RESTART EXCEPTION("ValueError: wrong shape"), 2, "program_error", 10},
    {"the last run goes on: the failure of the one before it", BANNER MEMORY EXIT_LINE BANNER "step 3/9\n", 2, "gpu_oom", 6},
    {"the opening once more after an end, with another number",
     OPENING("12") EXCEPTION("KeyError: 'a'") OPENING("13") EXCEPTION("ValueError: b"), 2, "program_error", 12},
    {"one line of the opening is not enough",
     OPENING("12") EXCEPTION("KeyError: 'a'") "Loading 12 modules of the project\n" EXCEPTION("ValueError: b"), 0,
     "program_error", 6},
    {"the opening the other way round",
     OPENING("12")
         EXCEPTION("KeyError: 'a'") "Reading the configuration of the experiment\nLoading 12 modules of the project\n" EXCEPTION(
             "ValueError: b"),
     0, "program_error", 6},
    {"the opening of each rank", OPENING("12") OPENING("12") EXCEPTION("KeyError: 'a'") OPENING("12") EXCEPTION("ValueError: b"),
     0, "program_error", 8},
    {"the opening once more without an end", OPENING("12") "step 4/9\n" OPENING("12") MEMORY, 0, "gpu_oom", 10},
    {"the last run finished", BANNER MEMORY EXIT_LINE BANNER "Training completed.\n", 2, "success", 0},
    {"caught, smaller batch, banner again", BANNER MEMORY "Decreasing batch size to: 4\n" BANNER "Training completed.\n", 0,
     "success", 0},
};

static void test_rows(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    const struct wo_event *failure = sample_failure(&sample);
    const uint64_t line = failure ? failure->span.line : 0;
    if (sample.job->story.run_count != rows[i].runs || strcmp(sample_outcome(&sample), rows[i].outcome) != 0 ||
        line != rows[i].line) {
      fail_msg("%s: %zu runs, %s, line %llu\n", rows[i].name, sample.job->story.run_count, sample_outcome(&sample),
               (unsigned long long)line);
    }
    sample_done(&sample);
  }
}

#define ATTEMPT(id, step) HEADER(id) "step " step "/1000 loss 2.5\n" MEMORY EXIT_LINE

static void test_the_same_failure_each_time(void **state) {
  struct sample_job sample;
  struct wo_text out = {0};
  sample_log(&sample, *state, ATTEMPT("4711", "149") ATTEMPT("4712", "149") ATTEMPT("4713", "149"));
  const struct wo_story *story = &sample.job->story;
  assert_int_equal(story->run_count, 3);
  assert_int_equal(story->runs[1].first_line, 9);
  assert_int_equal(story->runs[1].last_line, 16);
  assert_int_equal(story->runs[1].outcome, WO_OUTCOME_GPU_OOM);
  assert_int_equal(story->runs[1].step_last, 149);
  assert_true(wo_view_is(story->runs[1].job_id, "4712"));
  assert_true(wo_view_is(story->job_id, "4713"));
  assert_int_equal(sample_count(&sample, WO_KIND_CUDA_OOM, WO_ROLE_EARLIER), 2);
  assert_int_equal((int)sample_number(&sample, "restart.count"), 2);
  assert_int_equal(sample_fact(&sample, "restart.is_same_root").truth, WO_TRUE);
  assert_int_equal((int)sample_number(&sample, "restart.progress_steps"), 0);
  assert_int_equal((int)sample_number(&sample, "count.cuda_oom"), 1);
  wo_report_text(sample.report, (struct wo_text_style){.width = 300}, &out);
  assert_non_null(strstr(out.ptr, "3 in this log: 1 out of GPU memory at step 149"));
  assert_non_null(strstr(out.ptr, "the same failure each time, no progress: restarting does not help"));
  wo_text_done(&out);
  sample_done(&sample);
}

static void test_other_failures_and_progress(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, ATTEMPT("4711", "149") ATTEMPT("4712", "400"));
  assert_int_equal((int)sample_number(&sample, "restart.progress_steps"), 251);
  sample_done(&sample);
  sample_log(&sample, *state, ATTEMPT("4711", "149") HEADER("4712") EXCEPTION("ValueError: x"));
  assert_int_equal(sample_fact(&sample, "restart.is_same_root").truth, WO_FALSE);
  sample_done(&sample);
  sample_log(&sample, *state, MEMORY);
  assert_false(sample_fact(&sample, "restart.count").is_known);
  sample_done(&sample);
}

/* ---- Attempts of a launcher ---- */

#define WORKER(attempt, rank) "logs/none_x1/attempt_" attempt "/" rank "/stderr.log"

struct attempts_row {
  const char *name;
  struct sample_file files[4];
  size_t runs;
  const char *outcome;
  const char *path; /* of the failure; NULL without */
};

static const struct attempts_row attempts_rows[] = {
    {"the last attempt's failure",
     {{WORKER("0", "0"), MEMORY},
      {WORKER("0", "1"), "x\n"},
      {WORKER("1", "0"), "x\n"},
      {WORKER("1", "1"), EXCEPTION("KeyError: 4")}},
     2,
     "program_error",
     WORKER("1", "1")},
    {"ten attempts are more than nine",
     {{WORKER("9", "0"), EXCEPTION("KeyError: 4")}, {WORKER("10", "0"), MEMORY}, {WORKER("2", "0"), MEMORY}},
     3,
     "gpu_oom",
     WORKER("10", "0")},
    {"the last attempt goes on", {{WORKER("0", "1"), MEMORY}, {WORKER("1", "1"), "step 3/9\n"}}, 2, "gpu_oom", WORKER("0", "1")},
    {"the last attempt left nothing", {{WORKER("0", "1"), MEMORY}, {WORKER("1", "1"), ""}}, 2, "gpu_oom", WORKER("0", "1")},
    {"the last attempt finished", {{WORKER("0", "1"), MEMORY}, {WORKER("1", "1"), "Training completed.\n"}}, 2, "success", NULL},
    {"one attempt", {{WORKER("0", "0"), MEMORY}, {WORKER("0", "1"), MEMORY}}, 0, "gpu_oom", WORKER("0", "0")},
    {"launchers of two nodes",
     {{"a/attempt_0/0/stderr.log", MEMORY}, {"b/attempt_1/0/stderr.log", "x\n"}},
     0,
     "gpu_oom",
     "a/attempt_0/0/stderr.log"},
    {"a folder of another sort",
     {{"attempt_0/stderr.log", MEMORY}, {"attempt_1/stderr.log", "x\n"}},
     0,
     "gpu_oom",
     "attempt_0/stderr.log"},
};

/* In the order of the row, and the other way round. */
static void check_attempts(const struct wo_pack *pack, const struct attempts_row *row, bool is_reversed) {
  struct sample_file files[4];
  size_t count = 0;
  while (count < 4 && row->files[count].path) count++;
  for (size_t i = 0; i < count; i++) files[i] = row->files[is_reversed ? count - 1 - i : i];
  struct sample_job sample;
  sample_read(&sample, pack, files, count);
  const struct wo_event *failure = sample_failure(&sample);
  const struct wo_view path = failure ? sample.job->inputs[failure->span.file].path : (struct wo_view){0};
  if (sample.job->story.run_count != row->runs || strcmp(sample_outcome(&sample), row->outcome) != 0 ||
      !wo_view_is(path, row->path ? row->path : "")) {
    fail_msg("%s: %zu runs, %s, %.*s\n", row->name, sample.job->story.run_count, sample_outcome(&sample), (int)path.len,
             path.ptr);
  }
  sample_done(&sample);
}

static void test_attempts(void **state) {
  for (size_t i = 0; i < sizeof attempts_rows / sizeof attempts_rows[0]; i++) {
    check_attempts(*state, &attempts_rows[i], false);
    check_attempts(*state, &attempts_rows[i], true);
  }
}

static void test_attempts_are_told(void **state) {
  const struct sample_file files[] = {{WORKER("1", "0"), "step 40/90 loss 2.5\n" MEMORY},
                                      {WORKER("0", "1"), "step 40/90 loss 2.5\n" MEMORY},
                                      {WORKER("0", "0"), "x\ny\n"}};
  struct sample_job sample;
  struct wo_text out = {0};
  sample_read(&sample, *state, files, 3);
  const struct wo_run *const runs = sample.job->story.runs;
  assert_int_equal(sample.job->story.run_count, 2);
  assert_true(!runs[0].is_current && runs[1].is_current);
  assert_int_equal(runs[0].file, 1);
  assert_int_equal(runs[0].step_first, 40);
  assert_int_equal(runs[0].last_line, sample.job->inputs[1].lines);
  assert_int_equal((int)sample_number(&sample, "restart.count"), 1);
  assert_int_equal(sample_count(&sample, WO_KIND_CUDA_OOM, WO_ROLE_EARLIER), 1);
  wo_report_text(sample.report, (struct wo_text_style){.width = 300}, &out);
  assert_non_null(strstr(out.ptr, "2 attempts of the launcher: 1 out of GPU memory at step 40"));
  assert_non_null(strstr(out.ptr, "the same failure each time, no progress"));
  wo_text_done(&out);
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attempts),
      cmocka_unit_test(test_attempts_are_told),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_the_same_failure_each_time),
      cmocka_unit_test(test_other_failures_and_progress),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
