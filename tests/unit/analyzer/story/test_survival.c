/* SPDX-License-Identifier: Apache-2.0 */
/* Failures that a program caught and survived, and exceptions that only echo another failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define SKIPPED "WARNING: ran out of memory, skipping batch\n"
#define TASK_EXIT "srun: error: gpu09: task 2: Exited with exit code 1\n"
#define TASK_ENDED "srun: error: gpu09: task 3: Terminated\n"
#define DURING "\nDuring handling of the above exception, another exception occurred:\n\n"
#define OOM_FRAME "Traceback (most recent call last):\n  File \"/home/user/train.py\", line 88, in main\n    loss.backward()\n"

struct row {
  const char *name;
  const char *log;
  const char *outcome;
  size_t recovered;
  uint64_t failure_line; /* 0 = no failure */
};

static const struct row rows[] = {
    {"nothing said", OOM_ON("0"), "gpu_oom", 0, 1},
    {"a sentence of recovery", OOM_ON("0") SKIPPED "step 4: loss 1\n", "success", 1, 0},
    {"a sentence of recovery before it", SKIPPED OOM_ON("0"), "gpu_oom", 0, 2},
    {"steps go on", "step 10: loss 2\n" OOM_ON("0") "step 11: loss 2\nstep 12: loss 2\n", "success", 1, 0},
    {"steps of tasks that srun ends as one has ended by itself",
     "step 10: loss 2\n" OOM_ON("0") "step 11: loss 2\nstep 12: loss 2\n" TASK_EXIT TASK_ENDED, "gpu_oom", 0, 2},
    {"steps go on, and one task alone ends badly later",
     "step 10: loss 2\n" OOM_ON("0") "step 11: loss 2\nstep 12: loss 2\n" TASK_EXIT, "other", 1, 5},
    {"one more step proves nothing", "step 10: loss 2\n" OOM_ON("0") "step 11: loss 2\n", "gpu_oom", 0, 2},
    {"a step of before, printed again", "step 10: loss 2\n" OOM_ON("0") "step 10: loss 2\nstep 9: loss 2\n", "gpu_oom", 0, 2},
    {"another bar starts", "step 10/100\n" OOM_ON("0") "step 40/400\n", "gpu_oom", 0, 2},
    {"another error kills it later",
     OOM_ON("0") "trying the next one\n" EXCEPTION("FileNotFoundError: [Errno 2] No such file or directory: 'x'"),
     "program_error", 1, 6},
    {"an echo kills it later", OOM_ON("0") EXCEPTION("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: x"),
     "gpu_oom", 0, 1},
    {"success at the end", OOM_ON("0") "next\nTraining completed.\n", "success", 1, 0},
    {"success, but a task ended badly", OOM_ON("0") TASK_EXIT "Training completed.\n", "gpu_oom", 0, 1},
    {"a chained exception is no survival",
     OOM_FRAME OOM_ON("0") DURING
     "Traceback (most recent call last):\n  File \"/home/user/train.py\", line 92, in main\n    save()\n"
     "ValueError: cannot save\n",
     "gpu_oom", 0, 4},
    {"the exception tells it again", OOM_FRAME OOM_ON("0") EXCEPTION("RuntimeError: worker failed: CUDA out of memory"),
     "gpu_oom", 0, 4},
    {"a sweep whose last trial dies",
     "trial 1\n" OOM_ON("0") SKIPPED "trial 2\n" OOM_ON("0") SKIPPED "trial 3\n" OOM_FRAME OOM_ON("0"), "gpu_oom", 2, 11},
    {"a sweep that dies of something else",
     "trial 1\n" OOM_ON("0") SKIPPED "trial 2\n" OOM_ON("0") SKIPPED EXCEPTION("KeyError: 'lr'"), "program_error", 2, 10},
    {"the end follows the skipped batch, and names no other reason",
     "trial 1\n" OOM_ON("0") SKIPPED EXCEPTION("Exception: \n\n-- Process 1 terminated with the following error:"), "gpu_oom", 0,
     2},
    {"the log ends inside of the traceback behind the skipped batch",
     "trial 1\n" OOM_ON("0") SKIPPED "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\n", "gpu_oom", 0,
     2},
    {"host memory, survived", "MemoryError: bad allocation\n" SKIPPED "more\n", "success", 1, 0},
};

static void test_rows(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    const struct wo_event *failure = sample_failure(&sample);
    const double recovered = sample_number(&sample, "job.recovered");
    const uint64_t line = failure ? failure->span.line : 0;
    if (strcmp(sample_outcome(&sample), rows[i].outcome) != 0 || recovered != (double)rows[i].recovered ||
        line != rows[i].failure_line)
      fail_msg("%s: %s, %.0f recovered, failure in line %llu", rows[i].name, sample_outcome(&sample), recovered,
               (unsigned long long)line);
    sample_done(&sample);
  }
}

/* A sentence many lines later speaks of something else. */
static void test_a_late_sentence_does_not_count(void **state) {
  char log[4096] = OOM_ON("0");
  size_t len = strlen(log);
  for (int i = 0; i < 61; i++) len += (size_t)snprintf(log + len, sizeof log - len, "line %d\n", i);
  snprintf(log + len, sizeof log - len, SKIPPED);
  struct sample_job sample;
  sample_log(&sample, *state, log);
  assert_string_equal(sample_outcome(&sample), "gpu_oom");
  sample_done(&sample);
}

/* What another rank prints in the same file does not tell how this one fared. */
static void test_other_ranks_prove_nothing(void **state) {
  struct sample_job sample;
  sample_log(
      &sample, *state,
      "[rank1]: " OOM_ON("1") "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/home/user/t.py\", line 3, in f\n"
                              "[rank0]:     g()\n[rank0]: ValueError: lost a peer\n");
  assert_string_equal(sample_outcome(&sample), "gpu_oom");
  sample_done(&sample);
}

/* A later file may be the log of another program. */
static void test_other_files_prove_nothing(void **state) {
  static const struct sample_file files[] = {{"a.err", OOM_ON("0")}, {"b.out", SKIPPED "Training completed.\n"}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_string_equal(sample_outcome(&sample), "gpu_oom");
  sample_done(&sample);
}

/* A loop at the top of a script that prints the exception and goes on looks like one that nothing caught. Steps below it prove
 * life once they are more than the buffers of a dead process can have held. */
static void test_more_steps_than_a_buffer_holds_prove_life(void **state) {
  static const struct {
    int steps;
    const char *outcome;
  } cases[] = {{1200, "gpu_oom"}, {240 * 1000, "success"}}; /* of 20 bytes and more */
  static char log[6 << 20];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t len =
        (size_t)snprintf(log, sizeof log,
                         "step 10: loss 2.0000\nTraceback (most recent call last):\n  File \"/home/user/train.py\", line 9, in "
                         "<module>\n    loss.backward()\n" OOM_ON("0"));
    for (int step = 11; step < 11 + cases[i].steps; step++)
      len += (size_t)snprintf(log + len, sizeof log - len, "step %d: loss 2.0000\n", step);
    struct sample_job sample;
    sample_log(&sample, *state, log);
    assert_string_equal(sample_outcome(&sample), cases[i].outcome);
    sample_done(&sample);
  }
}

static void test_survived_failures_give_no_findings(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0") SKIPPED "step 4: loss 1\n");
  assert_int_equal(sample_count(&sample, WO_KIND_CUDA_OOM, WO_ROLE_RECOVERED), 1);
  assert_int_equal(sample_number(&sample, "count.cuda_oom"), 0);
  assert_false(sample_fact(&sample, "oom.kind").is_known);
  assert_false(sample.report->has_memory);
  sample_done(&sample);
}

static void test_echoes(void **state) {
  (void)state;
  static const struct {
    const char *exception;
    const char *message;
    bool is_echo;
  } echoes[] = {
      {"torch.distributed.elastic.multiprocessing.errors.ChildFailedError", "", true},
      {"SystemExit", "1", true},
      {"subprocess.CalledProcessError", "Command died", true},
      {"RuntimeError", "[pair.cc:598] Connection closed by peer [10.1.2.3]:48112", true},
      {"RuntimeError", "NCCL communicator: ncclRemoteError: A call failed", true},
      {"ValueError", "wrong shape", false},
      {"torch.OutOfMemoryError", "CUDA out of memory", false},
      {"", "", false},
  };
  struct wo_event_store store;
  wo_event_store_init(&store);
  for (size_t i = 0; i < sizeof echoes / sizeof echoes[0]; i++) {
    struct wo_event *event = wo_event_add(&store, WO_KIND_TRACEBACK, (struct wo_span){0}, WO_VIEW("x"));
    assert_true(wo_event_set_text(&store, event, WO_FIELD_EXCEPTION, wo_view_of(echoes[i].exception)));
    assert_true(wo_event_set_text(&store, event, WO_FIELD_MESSAGE, wo_view_of(echoes[i].message)));
    if (wo_story_is_echo(event) != echoes[i].is_echo) fail_msg("%s: %s", echoes[i].exception, echoes[i].message);
  }
  wo_event_store_done(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_a_late_sentence_does_not_count),
      cmocka_unit_test(test_other_ranks_prove_nothing),
      cmocka_unit_test(test_other_files_prove_nothing),
      cmocka_unit_test(test_more_steps_than_a_buffer_holds_prove_life),
      cmocka_unit_test(test_survived_failures_give_no_findings),
      cmocka_unit_test(test_echoes),
  };
  return cmocka_run_group_tests_name("survival", tests, sample_load_all, sample_unload);
}
