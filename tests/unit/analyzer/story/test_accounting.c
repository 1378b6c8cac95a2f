/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting text: its states and codes, the readers at their edges, and which rows the story takes together with a log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/formats/accounting/account.h"
#include "tests/support/job/job_sample.h"

#define SCONTROL(id, state)                                                                                                      \
  "JobId=" id " JobName=x\n   JobState=" state " Reason=None Dependency=(null)\n   Requeue=0 ExitCode=1:0\n"                     \
  "   NodeList=gpu[03-04]\n   NumNodes=2 NumCPUs=8 NumTasks=4\n   TRES=cpu=8,mem=64G,node=2,gres/gpu=4\n\n"
#define SACCT(rows) "JobID|State|ExitCode|MaxRSS\n" rows
#define CANCELLED_STEP "slurmstepd: error: *** STEP 71.0 ON gpu03 CANCELLED AT 2026-01-02T03:04:05 ***\n"
#define CANCELLED_JOB "slurmstepd: error: *** JOB 71 ON gpu03 CANCELLED AT 2026-01-02T03:04:05 ***\n"
#define REQUEUED "slurmstepd: error: *** JOB 71 ON gpu03 CANCELLED AT 2026-01-02T03:04:05 DUE TO JOB REQUEUE ***\n"

/* ---- Words ---- */

static void test_states(void **state) {
  (void)state;
  static const struct {
    const char *printed;
    const char *name;
  } rows[] = {
      {"FAILED", "FAILED"},
      {"OUT_OF_ME+", "OUT_OF_MEMORY"},
      {"CANCELLED+", "CANCELLED"},
      {"CANCELLED by 1004", "CANCELLED"},
      {" TIMEOUT ", "TIMEOUT"},
      {"NODE_FAIL", "NODE_FAIL"},
      {"COMPLETI+", "COMPLETING"},
      {"COM+", ""},
      {"FAIL", ""},
      {"failed", ""},
      {"", ""},
      {"+", ""},
      {"FAILED (exit code 1)", "FAILED"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!wo_view_is(wo__account_state(wo_view_of(rows[i].printed)), rows[i].name)) fail_msg("%s", rows[i].printed);
  }
}

static void test_exits(void **state) {
  (void)state;
  static const char *const none[] = {"", "1", "1:", ":1", "1:0x", "a:b", "99999:0", "1:999", "-1:0"};
  const struct wo_account_exit exit = wo__account_read_exit(WO_VIEW(" 139:11 "));
  assert_true(exit.is_known && exit.code == 139 && exit.signal == 11);
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) assert_false(wo__account_read_exit(wo_view_of(none[i])).is_known);
}

/* ---- Log and accounting together ---- */

struct together_row {
  const char *name;
  struct sample_file files[2];
  const char *outcome;
  enum wo_kind kind;
};

static const struct together_row together_rows[] = {
    {"a failed job whose log shows memory",
     {{"slurm-71.err", OOM_ON("0")}, {"scontrol.txt", SCONTROL("71", "FAILED")}},
     "gpu_oom",
     WO_KIND_CUDA_OOM},
    {"accounting first, the log counts more",
     {{"sacct.txt", SACCT("71|FAILED|1:0|\n71.0|OUT_OF_MEMORY|0:125|9K\n")}, {"slurm-71.err", OOM_ON("0")}},
     "gpu_oom",
     WO_KIND_CUDA_OOM},
    {"a silent log at the time limit",
     {{"slurm-71.out", "step 3\n"}, {"sacct.txt", SACCT("71|TIMEOUT|0:0|\n71.batch|CANCELLED|0:15|\n")}},
     "time_limit",
     WO_KIND_TIME_LIMIT},
    {"a silent log and a killed step",
     {{"slurm-71.out", "step 3\n"}, {"sacct.txt", SACCT("71|FAILED|1:0|\n71.0|OUT_OF_MEMORY|0:125|9K\n")}},
     "host_oom",
     WO_KIND_CGROUP_OOM},
    {"an exception and a cancelled job",
     {{"sacct.txt", SACCT("71|CANCELLED by 0|0:15|\n")}, {"slurm-71.err", EXCEPTION("ValueError: x")}},
     "program_error",
     WO_KIND_TRACEBACK},
    {"an exception in a job that completed",
     {{"slurm-71.err", EXCEPTION("ValueError: x")}, {"sacct.txt", SACCT("71|COMPLETED|0:0|\n")}},
     "program_error",
     WO_KIND_TRACEBACK},
    {"completed, though the bar stopped half-way",
     {{"slurm-71.err", " 12%|#2        | 61/500 [9:58:11<71:40:02, 587.72s/it]\n"}, {"sacct.txt", SACCT("71|COMPLETED|0:0|\n")}},
     "success",
     WO_KIND_UNKNOWN},
    {"still running", {{"slurm-71.err", "step 3\n"}, {"s.txt", SCONTROL("71", "RUNNING")}}, "unknown", WO_KIND_UNKNOWN},
    {"the job that the log's lines name",
     {{"job.err", "SLURM_JOB_ID=71\nstep 3\n"}, {"sacct.txt", SACCT("71|TIMEOUT|0:0|\n72|NODE_FAIL|0:0|\n")}},
     "time_limit",
     WO_KIND_TIME_LIMIT},
    {"the task that the log's name tells",
     {{"run-710_2.out", "step 3\n"}, {"sacct.txt", SACCT("710_1|FAILED|1:0|\n710_2|COMPLETED|0:0|\n710_3|FAILED|1:0|\n")}},
     "success",
     WO_KIND_UNKNOWN},
    {"no name: the last job",
     {{"job.err", "step 3\n"}, {"sacct.txt", SACCT("71|TIMEOUT|0:0|\n72|NODE_FAIL|0:0|\n")}},
     "node_fail",
     WO_KIND_NODE_FAIL},
    {"the later start of a requeued job",
     {{"slurm-71.out", REQUEUED EXCEPTION("ValueError: x")}, {"sacct.txt", SACCT("71|REQUEUED|0:0|\n71|FAILED|1:0|\n")}},
     "program_error",
     WO_KIND_TRACEBACK},
    {"a step that srun ended",
     {{"slurm-71.out", CANCELLED_STEP}, {"sacct.txt", SACCT("71|FAILED|9:0|\n71.0|CANCELLED|0:9|\n")}},
     "other",
     WO_KIND_TASK_EXIT},
    {"a job that a user ended",
     {{"slurm-71.out", CANCELLED_JOB}, {"sacct.txt", SACCT("71|CANCELLED by 0|0:0|\n71.0|CANCELLED|0:9|\n")}},
     "cancelled",
     WO_KIND_CANCELLED},
};

static void test_together(void **state) {
  for (size_t i = 0; i < sizeof together_rows / sizeof together_rows[0]; i++) {
    const struct together_row *row = &together_rows[i];
    struct sample_job sample;
    sample_read(&sample, *state, row->files, 2);
    if (strcmp(sample_outcome(&sample), row->outcome) != 0 || sample_failure_kind(&sample) != row->kind)
      fail_msg("%s: %s (%s)", row->name, sample_outcome(&sample), wo_kind_name(sample_failure_kind(&sample)));
    sample_done(&sample);
  }
}

/* Where both say the same, the line of the log is the failure and the state is no consequence of it. */
static void test_the_log_is_the_evidence(void **state) {
  static const struct sample_file files[] = {{"sacct.txt", SACCT("71|CANCELLED by 0|0:0|\n")}, {"slurm-71.out", CANCELLED_JOB}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_int_equal(sample_failure(&sample)->span.file, 1);
  assert_int_equal(sample_count(&sample, WO_KIND_CANCELLED, WO_ROLE_CONSEQUENCE), 0);
  sample_done(&sample);
}

/* ---- Facts ---- */

static void test_figures_of_the_job(void **state) {
  static const struct sample_file files[] = {{"slurm-71.out", "step 3\n"}, {"scontrol.txt", SCONTROL("71", "NODE_FAIL")}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  const struct wo_story *story = &sample.job->story;
  sample_assert_near(sample_number(&sample, "slurm.mem_limit"), 32 * WO_GIB, 1, "slurm.mem_limit");
  sample_assert_near(sample_number(&sample, "host.limit"), 32 * WO_GIB, 1, "host.limit");
  sample_assert_near(sample_number(&sample, "slurm.gpus"), 2, 0, "slurm.gpus");
  sample_assert_near(sample_number(&sample, "gpu.count"), 4, 0, "gpu.count");
  sample_assert_near(sample_number(&sample, "job.ranks"), 4, 0, "job.ranks");
  assert_true(isnan(sample_number(&sample, "host.rss")));
  assert_int_equal(story->node_count, 2);
  assert_true(wo_view_is(story->nodes[0], "gpu03") && wo_view_is(story->nodes[1], "gpu04"));
  assert_true(wo_view_is(story->job_id, "71"));
  sample_done(&sample);
}

/* The most that a task of this job used; rows of other jobs count for nothing. */
static void test_sampled_memory(void **state) {
  static const struct sample_file files[] = {
      {"slurm-71.out", "step 3\n"},
      {"sacct.txt",
       SACCT("71|OUT_OF_MEMORY|0:125|\n71.batch|FAILED|1:0|1024K\n71.0|OUT_OF_MEMORY|0:125|4096K\n72.0|FAILED|1:0|9G\n")}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  sample_assert_near(sample_number(&sample, "host.rss"), 4 * WO_MIB, 1, "host.rss");
  assert_string_equal(sample_outcome(&sample), "host_oom");
  sample_done(&sample);
}

/* A launch line is no command to submit. */
static void test_launch_line_is_not_submitted(void **state) {
  static const struct sample_file files[] = {{"slurm-71.err", OOM_ON("0")},
                                             {"run.sbatch", "#SBATCH --mem=8G\npython train.py\n"}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_true(sample.report->resubmit.len == 0 || wo_view_is(sample.report->resubmit, "sbatch run.sbatch"));
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_exits),
      cmocka_unit_test(test_together),
      cmocka_unit_test(test_the_log_is_the_evidence),
      cmocka_unit_test(test_figures_of_the_job),
      cmocka_unit_test(test_sampled_memory),
      cmocka_unit_test(test_launch_line_is_not_submitted),
  };
  return cmocka_run_group_tests_name("accounting", tests, sample_load_all, sample_unload);
}
