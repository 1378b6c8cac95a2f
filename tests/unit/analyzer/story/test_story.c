/* SPDX-License-Identifier: Apache-2.0 */
/* The story of a job: the first failure, what follows from it, how the job ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define CANCELLED "slurmstepd: error: *** JOB 5153 ON gpu09 CANCELLED AT 2026-01-02T03:04:05 ***\n"
#define TIME_LIMIT "slurmstepd: error: *** JOB 5151 ON gpu09 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n"
#define PREEMPTED "slurmstepd: error: *** JOB 5151 ON gpu09 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***\n"
#define NODE_FAIL "srun: error: Node failure on gpu[09-10]\n"
#define TASK_EXIT "srun: error: gpu09: task 2: Exited with exit code 1\n"
#define WORKER_KILLED "RuntimeError: DataLoader worker (pid 40991) is killed by signal: Killed.\n"
#define RETURN_CODE_9                                                                                                            \
  "[2026-01-02 03:04:05,006] [ERROR] [launch.py:321:sigkill_handler] ['python3', 'sft.py'] exits with return code = -9\n"
#define WATCHDOG                                                                                                                 \
  "[rank0]:[E203 04:05:06 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "                     \
  "WorkNCCL(SeqNum=9021, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800211 milliseconds before timing out.\n"
#define ROOT_CAUSE(rank, code, words)                                                                                            \
  "Root Cause (first observed failure):\n[0]:\n  time      : 2026-01-02_03:04:05\n  host      : gpu09\n  rank      : " rank      \
  " (local_rank: " rank ")\n  exitcode  : " code " (pid: 9124)\n  error_file: <N/A>\n  traceback : " words                       \
  "\n============================================================\n"

/* ---- Outcomes ---- */

struct outcome_row {
  const char *name;
  const char *log;
  const char *outcome;
  enum wo_kind kind; /* of the failure; WO_KIND_UNKNOWN = none */
};

static const struct outcome_row outcome_rows[] = {
    {"nothing", "", "unknown", WO_KIND_UNKNOWN},
    {"plain text", "loading\nstarting\n", "success", WO_KIND_UNKNOWN},
    {"it says that it finished", "step 100/100\nTraining completed.\n", "success", WO_KIND_UNKNOWN},
    {"a bar that stopped half-way", " 12%|#2        | 61/500 [9:58:11<71:40:02, 587.72s/it]\n", "unknown", WO_KIND_UNKNOWN},
    {"a full bar", "100%|##########| 500/500 [9:58:11<00:00, 587.72s/it]\n", "success", WO_KIND_UNKNOWN},
    {"only consequences", "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n", "other",
     WO_KIND_SECONDARY},
    {"memory", OOM_ON("0"), "gpu_oom", WO_KIND_CUDA_OOM},
    {"host memory",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of the step tasks have been OOM Killed.\n",
     "host_oom", WO_KIND_CGROUP_OOM},
    {"time limit", TIME_LIMIT, "time_limit", WO_KIND_TIME_LIMIT},
    {"preempted", PREEMPTED, "preempted", WO_KIND_PREEMPTED},
    {"node failure", NODE_FAIL, "node_fail", WO_KIND_NODE_FAIL},
    {"cancelled", CANCELLED, "cancelled", WO_KIND_CANCELLED},
    {"an exception", EXCEPTION("ValueError: wrong shape"), "program_error", WO_KIND_TRACEBACK},
    {"a collective", WATCHDOG, "nccl", WO_KIND_NCCL_TIMEOUT},
    {"invalid memory access", "Fatal Python error: Segmentation fault\n", "segfault", WO_KIND_SEGFAULT},
    {"a bad exit code alone", TASK_EXIT, "other", WO_KIND_TASK_EXIT},
    {"a fault of the machine", "slurmstepd: error: *** JOB 5155 ON gpu09 UNCORRECTABLE MEMORY ERROR AT 2026-01-02T03:04:05 ***\n",
     "hardware", WO_KIND_HARDWARE},

    /* what follows from what */
    {"cancelled after an exception", EXCEPTION("ValueError: wrong shape") CANCELLED, "program_error", WO_KIND_TRACEBACK},
    {"cancelled, then an exception", CANCELLED EXCEPTION("ValueError: wrong shape"), "cancelled", WO_KIND_CANCELLED},
    {"cancelled because a task failed, then an exception",
     "slurmstepd: error: *** STEP 5153.0 ON gpu09 CANCELLED AT 2026-01-02T03:04:05 DUE TO TASK FAILURE ***\n" EXCEPTION(
         "ValueError: x"),
     "program_error", WO_KIND_TRACEBACK},
    {"cancelled after memory ran out", OOM_ON("0") CANCELLED, "gpu_oom", WO_KIND_CUDA_OOM},
    {"memory after a collective timed out", WATCHDOG "[rank1]: " OOM_ON("1"), "gpu_oom", WO_KIND_CUDA_OOM},
    {"memory and bad exit codes", TASK_EXIT OOM_ON("0") TASK_EXIT, "gpu_oom", WO_KIND_CUDA_OOM},
    {"an exception and a time limit", EXCEPTION("ValueError: wrong shape") TIME_LIMIT, "time_limit", WO_KIND_TIME_LIMIT},
    {"an exception and a collective",
     WATCHDOG "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/home/user/t.py\", line 3, "
              "in f\n[rank1]:     g()\n[rank1]: ValueError: wrong shape\n",
     "program_error", WO_KIND_TRACEBACK},
    {"the echo of another process",
     EXCEPTION("ValueError: wrong shape") EXCEPTION("torch.multiprocessing.spawn.ProcessExitedException: x"), "program_error",
     WO_KIND_TRACEBACK},
    {"two endings: the first counts", PREEMPTED TIME_LIMIT, "preempted", WO_KIND_PREEMPTED},

    /* kills that say nothing about memory */
    {"SIGKILL alone", RETURN_CODE_9, "host_oom", WO_KIND_HOST_OOM},
    {"SIGKILL, then cancelled", RETURN_CODE_9 CANCELLED, "cancelled", WO_KIND_CANCELLED},
    {"cancelled, then SIGKILL", CANCELLED RETURN_CODE_9, "cancelled", WO_KIND_CANCELLED},
    {"SIGKILL at the time limit", TIME_LIMIT RETURN_CODE_9, "time_limit", WO_KIND_TIME_LIMIT},
    {"SIGKILL in the launcher's account", ROOT_CAUSE("2", "-9", "Signal 9 (SIGKILL) received by PID 9124"), "host_oom",
     WO_KIND_HOST_OOM},
    {"SIGKILL in the launcher's account, cancelled", CANCELLED ROOT_CAUSE("2", "-9", "Signal 9 (SIGKILL) received by PID 9124"),
     "cancelled", WO_KIND_CANCELLED},
    {"a suspicion about shared memory, then cancelled", WORKER_KILLED CANCELLED, "cancelled", WO_KIND_CANCELLED},
    {"a suspicion about shared memory", WORKER_KILLED, "host_oom", WO_KIND_HOST_OOM},
    {"a kill that names memory, then cancelled",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of the step tasks have been OOM "
     "Killed.\n" CANCELLED,
     "host_oom", WO_KIND_CGROUP_OOM},
};

/* All rows: the program of the packs and of the test is compiled once. */
static void test_outcomes(void **state) {
  for (size_t i = 0; i < sizeof outcome_rows / sizeof outcome_rows[0]; i++) {
    const struct outcome_row *row = &outcome_rows[i];
    struct sample_job sample;
    sample_log(&sample, *state, row->log);
    const char *kind = wo_kind_name(sample_failure_kind(&sample));
    if (strcmp(sample_outcome(&sample), row->outcome) != 0 || sample_failure_kind(&sample) != row->kind)
      fail_msg("%s: %s (%s), expected %s (%s)", row->name, sample_outcome(&sample), kind, row->outcome, wo_kind_name(row->kind));
    sample_done(&sample);
  }
}

/* ---- Which rank was first ---- */

static void test_first_failure_among_ranks(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "[rank3]: " OOM_ON("3") "[rank1]: " OOM_ON("1") "[rank1]: " OOM_ON("1"));
  assert_int_equal(sample_failure(&sample)->rank, 3);
  assert_int_equal(sample_failure(&sample)->span.line, 1);
  assert_int_equal(sample_count(&sample, WO_KIND_CUDA_OOM, WO_ROLE_FAILURE), 1);
  assert_int_equal(sample_count(&sample, WO_KIND_CUDA_OOM, WO_ROLE_REPEAT), 2);
  assert_int_equal(sample.job->story.rank_count, 4);
  sample_done(&sample);
}

static void test_launcher_knows_the_first_rank(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "[rank1]: " OOM_ON("1") "[rank2]: " OOM_ON("2") ROOT_CAUSE("2", "1", "To enable traceback see: x"));
  assert_int_equal(sample_failure(&sample)->rank, 2);
  assert_int_equal(sample_count(&sample, WO_KIND_CUDA_OOM, WO_ROLE_REPEAT), 1);
  assert_int_equal(sample.job->story.node_count, 1);
  sample_done(&sample);
}

/* The rank that the launcher blames left no message of its own. */
static void test_launcher_names_a_silent_rank(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "[rank1]: " OOM_ON("1") ROOT_CAUSE("2", "1", "To enable traceback see: x"));
  assert_int_equal(sample_failure(&sample)->rank, 1);
  sample_done(&sample);
}

static void test_two_accounts_the_earlier_counts(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "[rank1]: " OOM_ON("1") "[rank5]: " OOM_ON("5")
                 ROOT_CAUSE("1", "1", "To enable traceback see: x") "Root Cause (first observed failure):\n[0]:\n  time      : "
                                                                    "2026-01-02_03:04:01\n  host      : gpu10\n  rank      : 5 "
                                                                    "(local_rank: 1)\n  exitcode  : 1 (pid: 77)\n");
  assert_int_equal(sample_failure(&sample)->rank, 5);
  sample_done(&sample);
}

/* ---- Files ---- */

static void test_two_files(void **state) {
  static const struct sample_file files[] = {
      {"slurm-4711_3.out", "step 3: loss 1\n" TASK_EXIT},
      {"slurm-4711_3.err", "step 41: loss 1\n" EXCEPTION("") OOM_ON("0")},
  };
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_int_equal(sample_failure(&sample)->span.file, 1);
  assert_true(wo_view_is(sample.job->story.job_id, "4711"));
  assert_int_equal(sample.job->story.array_task, 3);
  assert_int_equal(sample.job->story.step, 41);
  assert_int_equal(sample_count(&sample, WO_KIND_TASK_EXIT, WO_ROLE_CONSEQUENCE), 1);
  sample_done(&sample);
}

/* The log names the task by its own id; only the file's name tells its number. */
static void test_task_of_an_array(void **state) {
  static const struct sample_file files[] = {{"slurm-4711_3.out", OOM_ON("0") TASK_EXIT CANCELLED}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 1);
  assert_true(wo_view_is(sample.job->story.job_id, "5153"));
  assert_int_equal(sample.job->story.array_task, 3);
  sample_done(&sample);
}

/* Names of hosts and torchrun's folders give what the lines lack. */
static const struct wo_event *first_of_file(const struct wo_job *job, uint32_t file) {
  wo_each_event (event, &job->events) {
    if (event->span.file == file) return event;
  }
  fail_msg("file %u has no event", (unsigned)file);
  return NULL;
}

static void test_names_tell_host_and_local_rank(void **state) {
  static const struct sample_file files[] = {{"log_node04_2.err", OOM_ON("0")}, {"run/attempt_0/3/stderr.log", OOM_ON("3")}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_true(wo_view_is(first_of_file(sample.job, 0)->host, "node04"));
  assert_false(first_of_file(sample.job, 0)->is_local_rank);
  assert_int_equal(first_of_file(sample.job, 1)->rank, 3);
  assert_true(first_of_file(sample.job, 1)->is_local_rank);
  sample_done(&sample);
}

static void test_files_of_one_rank_each(void **state) {
  static const struct sample_file files[] = {
      {"rank_0.err", EXCEPTION("RuntimeError: Connection closed by peer [10.1.2.3]:48112")}, {"rank_1.err", OOM_ON("1")}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_int_equal(sample_failure(&sample)->rank, 1);
  assert_int_equal(sample.job->story.rank_count, 2);
  sample_done(&sample);
}

/* ---- Step, phase, traceback ---- */

static const char in_backward[] =
    "[rank1]: step 12/300: loss 2\n"
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]:   File \"/home/user/train.py\", line 88, in main\n"
    "[rank1]:     loss.backward()\n"
    "[rank1]:   File \"/opt/env/lib/python3.11/site-packages/torch/autograd/__init__.py\", line 347, in backward\n"
    "[rank1]:     _engine_run_backward(\n"
    "[rank1]: " OOM_ON("1");

static void test_step_phase_and_traceback(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, in_backward);
  const struct wo_story *story = &sample.job->story;
  const struct wo_event *traceback = wo_event_get(&sample.job->events, story->traceback);
  assert_int_equal(story->step, 12);
  assert_int_equal(story->step_total, 300);
  assert_true(wo_view_is(story->step_unit, "step"));
  assert_true(wo_view_is(story->phase, "backward"));
  assert_non_null(traceback);
  assert_true(wo_view_is(wo_event_text(traceback, WO_FIELD_FRAME_FILE), "/home/user/train.py"));
  assert_int_equal(wo_story_traceback_of(sample.job, sample_failure(&sample)), story->traceback);
  sample_done(&sample);
}

/* A traceback far above, or of another rank, is not the failure's. */
static void test_other_tracebacks_are_not_its_own(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/home/user/a.py\", line 1, in a\n[rank0]:     "
             "b()\n[rank0]: ValueError: x\n[rank1]: " OOM_ON("1"));
  assert_int_equal(sample.job->story.traceback, WO_EVENT_NONE);
  sample_done(&sample);
  sample_log(&sample, *state, EXCEPTION("ValueError: x") "a\nb\nc\nd\ne\nf\ng\n" OOM_ON("1"));
  assert_int_equal(sample.job->story.traceback, WO_EVENT_NONE);
  sample_done(&sample);
}

/* An exception that only frames the message of memory is no failure of its own. */
static void test_the_frame_belongs_to_the_message(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, in_backward);
  assert_int_equal(sample_count(&sample, WO_KIND_TRACEBACK, WO_ROLE_CONSEQUENCE), 0);
  assert_int_equal(sample_count(&sample, WO_KIND_TRACEBACK, WO_ROLE_FAILURE), 0);
  sample_done(&sample);
}

/* Whether the hint of the packs that sets a fact matches the frames. */
static bool shows(const struct wo_pack *pack, struct wo_view frames, const char *fact) {
  for (size_t i = 0; i < pack->phase_count; i++) {
    if (wo_view_is(pack->phases[i].fact, fact)) return wo_story_hint_shows(&pack->phases[i], frames);
  }
  fail_msg("no hint sets %s", fact);
  return false;
}

static void test_hints_show(void **state) {
  const struct wo_view frames = WO_VIEW("/home/user/train.py|main|loss = model(x);"
                                        "/opt/torch/nn/functional.py|softmax|ret = input.softmax(dim)");
  const struct wo_view far = WO_VIEW("/opt/torch/nn/functional.py|softmax|x;/a.py|b|c;/a.py|b|c;/a.py|b|c;/a.py|b|c");
  assert_true(shows(*state, frames, "oom.is_attention"));
  assert_false(shows(*state, frames, "oom.is_logits"));
  assert_false(shows(*state, far, "oom.is_attention"));
  assert_false(shows(*state, (struct wo_view){0}, "oom.is_attention"));
  assert_true(shows(*state, WO_VIEW("/a.py|main|total += loss;/a.py|b|c;/a.py|b|c;/a.py|b|c;/a.py|b|c"), "oom.is_graph_kept"));
}

/* ---- Consequences ---- */

static void test_consequences(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "[rank1]: " OOM_ON("1") WATCHDOG
             "[rank0]: RuntimeError: [pair.cc:598] Connection closed by peer [10.1.2.3]:48112\n" TASK_EXIT CANCELLED);
  assert_int_equal(sample_count(&sample, WO_KIND_NCCL_TIMEOUT, WO_ROLE_CONSEQUENCE), 1);
  assert_int_equal(sample_count(&sample, WO_KIND_SECONDARY, WO_ROLE_CONSEQUENCE), 1);
  assert_int_equal(sample_count(&sample, WO_KIND_TASK_EXIT, WO_ROLE_CONSEQUENCE), 1);
  assert_int_equal(sample_count(&sample, WO_KIND_CANCELLED, WO_ROLE_CONSEQUENCE), 1);
  assert_int_equal(sample.job->story.outcome_evidence_count, 1);
  assert_int_equal(sample.job->story.outcome_evidence[0], sample.job->story.failure);
  sample_done(&sample);
}

/* What a script listing or a help text quotes plays no part. */
static void test_quoted_text_plays_no_part(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "+ echo " OOM_ON("0") "done.\n");
  for (size_t i = 0; i < sample.job->events.count; i++) {
    if (sample.job->events.items[i].is_quoted) assert_int_equal(sample.job->story.roles[i], WO_ROLE_NONE);
  }
  sample_done(&sample);
}

/* ---- Names ---- */

static void test_nodes_are_listed_once(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "srun: error: gpu09: task 2: Exited with exit code 1\nsrun: error: gpu10: task 9: Exited with exit code 1\n"
             "srun: error: gpu09: task 3: Aborted\n");
  assert_int_equal(sample.job->story.node_count, 2);
  assert_true(wo_view_is(sample.job->story.nodes[0], "gpu09") && wo_view_is(sample.job->story.nodes[1], "gpu10"));
  assert_int_equal(sample.job->story.rank_count, -1);
  sample_done(&sample);
}

static void test_job_id_of_a_step(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of the step tasks have been OOM "
             "Killed.\n");
  assert_true(wo_view_is(sample.job->story.job_id, "4711"));
  sample_done(&sample);
}

static void test_ranks_that_the_script_starts(void **state) {
  static const struct sample_file files[] = {{"job.err", "[rank1]: " OOM_ON("1")},
                                             {"job.sbatch", "#SBATCH --nodes=2\ntorchrun --nproc_per_node=8 train.py\n"}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_int_equal(sample.job->story.rank_count, 16);
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outcomes),
      cmocka_unit_test(test_first_failure_among_ranks),
      cmocka_unit_test(test_launcher_knows_the_first_rank),
      cmocka_unit_test(test_launcher_names_a_silent_rank),
      cmocka_unit_test(test_two_accounts_the_earlier_counts),
      cmocka_unit_test(test_two_files),
      cmocka_unit_test(test_task_of_an_array),
      cmocka_unit_test(test_names_tell_host_and_local_rank),
      cmocka_unit_test(test_files_of_one_rank_each),
      cmocka_unit_test(test_step_phase_and_traceback),
      cmocka_unit_test(test_other_tracebacks_are_not_its_own),
      cmocka_unit_test(test_the_frame_belongs_to_the_message),
      cmocka_unit_test(test_hints_show),
      cmocka_unit_test(test_consequences),
      cmocka_unit_test(test_quoted_text_plays_no_part),
      cmocka_unit_test(test_nodes_are_listed_once),
      cmocka_unit_test(test_job_id_of_a_step),
      cmocka_unit_test(test_ranks_that_the_script_starts),
  };
  return cmocka_run_group_tests_name("story", tests, sample_load_all, sample_unload);
}
