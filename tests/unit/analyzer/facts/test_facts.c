/* SPDX-License-Identifier: Apache-2.0 */
/* Facts: what a job knows, by name, with unit and origin. The arithmetic of a card's memory has its own tests (test_memory.c),
 * and so have settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define SOFTMAX                                                                                                                  \
  "  File \"/opt/env/lib/python3.11/site-packages/torch/nn/functional.py\", line 2142, in softmax\n"                             \
  "    ret = input.softmax(dim)\n"

struct number_row {
  const char *name;
  const char *log;
  const char *fact;
  double number; /* NAN = unknown */
};

#define RAY_KILL                                                                                                                 \
  "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"                                    \
  "Memory on the node (IP: 10.8.0.21, ID: 5b0a) where the task (actor ID: 9e01, name=Learner.update, pid=7741, memory "          \
  "used=40.25GB) was running was 119.50GB / 125.00GB (0.956000), which exceeds the memory usage threshold of 0.95. Ray killed "  \
  "this worker (ID: c9e1)\n"
#define VLLM_NEEDS                                                                                                               \
  "ValueError: To serve at least one request with the model's max seq len (90000), (6.07 GiB KV cache is needed, which is "      \
  "larger than the available KV cache memory (6.06 GiB). Based on the available memory, the estimated maximum model length is "  \
  "89856.\n"
#define KERNEL_KILL(pid, rss)                                                                                                    \
  "Memory cgroup out of memory: Killed process " pid " (python) total-vm:31457280kB, anon-rss:" rss                              \
  "kB, file-rss:1024kB, shmem-rss:2048kB\n"

static const struct number_row number_rows[] = {
    {"no failure, no failure's facts", "all is well\n", "oom.tried", (double)NAN},
    {"a failure of the program is none of memory", EXCEPTION("ValueError: x"), "oom.count", (double)NAN},
    {"messages of one kind", "[rank1]: " OOM_ON("1") "[rank0]: " OOM_ON("0") "[rank1]: " OOM_ON("1"), "oom.count", 3},
    {"different ranks", "[rank1]: " OOM_ON("1") "[rank0]: " OOM_ON("0") "[rank1]: " OOM_ON("1"), "oom.rank_count", 2},
    {"unknown ranks are not counted", OOM_ON("1") OOM_ON("0"), "oom.rank_count", (double)NAN},
    {"survived ones are not counted", OOM_ON("0") "WARNING: ran out of memory, skipping batch\n" OOM_ON("0"), "oom.count", 1},
    {"but as recovered", OOM_ON("0") "WARNING: ran out of memory, skipping batch\n" OOM_ON("0"), "job.recovered", 1},
    {"the card's index", OOM_ON("3"), "oom.gpu", 3},
    {"the failing rank", "[rank3]: " OOM_ON("3"), "oom.rank", 3},
    {"the step before", "step 41: loss 2\n" OOM_ON("0"), "oom.step", 41},
    {"the step that a buffer held back",
     "step 41: loss 2\nTraceback (most recent call last):\n  File \"/home/user/train.py\", line 88, in <module>\n    "
     "main()\n" OOM_ON("0") "step 42: loss 2\nstep 43: loss 2\n",
     "oom.step", 43},
    {"a count of something else that a buffer held back",
     "step 41: loss 2\nTraceback (most recent call last):\n  File \"/home/user/train.py\", line 88, in <module>\n    "
     "main()\n" OOM_ON("0") "epoch 42: loss 2\nepoch 43: loss 2\n",
     "oom.step", 41},
    {"a step below what may have been caught", "step 41: loss 2\n" OOM_ON("0") "step 42: loss 2\n", "oom.step", 41},
    {"no step is unknown, not zero", OOM_ON("0"), "oom.step", (double)NAN},
    {"evidence by kind", OOM_ON("0") "srun: error: gpu09: task 1: Exited with exit code 1\n", "count.task_exit", 1},
    {"none of a kind is zero", OOM_ON("0"), "count.time_limit", 0},
    {"consequences", OOM_ON("0") "srun: error: gpu09: task 1: Exited with exit code 1\n", "job.consequences", 1},
    {"ranks", "[rank7]: " OOM_ON("7"), "job.ranks", 8},
    {"tasks that srun names beside a rank", "[rank2]: " OOM_ON("2") "srun: error: gpu09: tasks 0-1,5: Terminated\n", "job.ranks",
     6},
    {"fewer tasks than ranks", "[rank7]: " OOM_ON("7") "srun: error: gpu09: task 1: Exited with exit code 1\n", "job.ranks", 8},
    {"tasks alone may start several", OOM_ON("0") "srun: error: gpu09: task 3: Terminated\n", "job.ranks", (double)NAN},

    {"kills: the largest count",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed.\n"
     "slurmstepd: error: Detected 3 oom_kill events in StepId=1.0. Some of the step tasks have been OOM Killed.\n",
     "host.kills", 3},
    {"resident memory of the largest", KERNEL_KILL("1", "1048576") KERNEL_KILL("2", "2097152") KERNEL_KILL("3", "524288"),
     "host.rss", (2097152.0 + 3072) * 1024},
    {"shared memory", KERNEL_KILL("1", "1048576"), "host.shmem", 2048.0 * 1024},
    {"a refused allocation",
     "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
     "allocate 51539607552 bytes. Error code 12 (Cannot allocate memory)\n",
     "host.tried", 51539607552.0},
    {"Ray: the node's memory in use", RAY_KILL, "host.node_used", 119.5 * WO_GIB},
    {"Ray: the node's memory", RAY_KILL, "host.node_total", 125.0 * WO_GIB},
    {"Ray: the threshold", RAY_KILL, "host.threshold", 0.95},
    {"Ray: the process that it killed", RAY_KILL, "host.victim", 40.25 * WO_GIB},
    {"vLLM: the length that fits", VLLM_NEEDS, "oom.fitting_tokens", 89856},
    {"what the job asked for", "#SBATCH --mem=64G\n", "slurm.mem_limit", 64 * WO_GIB},
    {"it is the host's limit too", "#SBATCH --mem=64G\n", "host.limit", 64 * WO_GIB},
    {"MiB without a suffix", "#SBATCH --mem=512\n", "slurm.mem_limit", 512 * WO_MIB},
    {"cards asked for", "#SBATCH --gres=gpu:a100:8\n", "slurm.gpus", 8},
    {"cards of the job", "#SBATCH --gres=gpu:8\n", "gpu.count", 8},
    {"a launcher's own number counts more", "#SBATCH --gres=gpu:8\ntorchrun --nproc_per_node=4 t.py\n", "gpu.count", 4},

    {"parameters: the largest",
     "number of parameters: 353.77M\ntrainable params: 80,740,352 || all params: 7,696,356,864 || trainable%: 1.05\n",
     "model.parameters", 7696356864.0},
    {"trainable ones", "trainable params: 80,740,352 || all params: 7,696,356,864 || trainable%: 1.05\n",
     "model.trainable_parameters", 80740352.0},
    {"bytes of a weight", "torch_dtype=bfloat16\n", "model.bytes_per_parameter", 2},
    {"of a full one", "torch_dtype=float32\n", "model.bytes_per_parameter", 4},
    {"of an unknown format", "torch_dtype=auto\n", "model.bytes_per_parameter", (double)NAN},
    {"no parameters, no states", "torch_dtype=float32\n", "model.states", (double)NAN},
};

static void test_numbers(void **state) {
  for (size_t i = 0; i < sizeof number_rows / sizeof number_rows[0]; i++)
    sample_expect_number(*state, number_rows[i].log, number_rows[i].fact, number_rows[i].number, 1);
}

static void test_texts(void **state) {
  static const struct {
    const char *log;
    const char *fact;
    const char *text; /* NULL = unknown */
  } rows[] = {
      {OOM_ON("0"), "oom.kind", "cuda_oom"},
      {OOM_ON("0"), "job.outcome", "gpu_oom"},
      {"all is well\n", "job.outcome", "success"},
      {"all is well\n", "oom.kind", NULL},
      {"step 41: loss 2\n" OOM_ON("0"), "oom.step_unit", "step"},
      {"Epoch 3/40\n" OOM_ON("0"), "oom.step_unit", "epoch"},
      {EXCEPTION("ValueError: wrong shape"), "job.exception", "ValueError"},
      {EXCEPTION("ValueError: wrong shape"), "job.end_text", "ValueError: wrong shape"},
      {EXCEPTION("KeyboardInterrupt"), "job.end_text", "KeyboardInterrupt"},
      {"slurmstepd: error: *** JOB 5150 ON gpu09 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n", "job.end_text",
       "time limit"},
      {"DeepSpeed info: version=0.15.1\n", "job.framework", "deepspeed"},
      {EXCEPTION(OOM_ON("0")), "oom.user_file", "/home/user/train.py"},
      {"RuntimeError: DataLoader worker (pid 30122) is killed by signal: Bus error. It is possible that dataloader's workers are "
       "out of "
       "shared memory.\n",
       "host.signal", "Bus error"},
      {KERNEL_KILL("4711", "1048576"), "host.program", "python"},
      {RAY_KILL, "host.node", "10.8.0.21"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) sample_expect_text(*state, rows[i].log, rows[i].fact, rows[i].text);
}

static void test_bools(void **state) {
  static const struct {
    const char *log;
    const char *fact;
    enum wo_truth truth;
  } rows[] = {
      {"step 2: loss 2\n" OOM_ON("0"), "oom.first_step", WO_TRUE},
      {"step 3: loss 2\n" OOM_ON("0"), "oom.first_step", WO_FALSE},
      {"Epoch 1/40\n" OOM_ON("0"), "oom.first_step", WO_UNDECIDED}, /* an epoch has many steps */
      {OOM_ON("0"), "oom.first_step", WO_UNDECIDED},
      {"Traceback (most recent call last):\n  File \"/home/user/t.py\", line 3, in f\n    g()\n" SOFTMAX OOM_ON("0"),
       "oom.is_attention", WO_TRUE},
      {"Traceback (most recent call last):\n  File \"/home/user/t.py\", line 3, in f\n    g()\n" OOM_ON("0"), "oom.is_attention",
       WO_FALSE},
      {OOM_ON("0"), "oom.is_attention", WO_UNDECIDED}, /* no traceback: cannot tell */
      {OOM_ON("0"), "oom.is_serving", WO_FALSE},
      {"ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the "
       "engine.\n",
       "oom.is_serving", WO_TRUE},
      {"INFO 01-02 03:04:05 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='m'\n" OOM_ON("0"),
       "oom.is_serving", WO_TRUE},
      {"per_device_train_batch_size=4\nINFO 01-02 03:04:05 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: "
       "model='m'\n" OOM_ON("0"),
       "oom.is_serving", WO_FALSE}, /* an engine inside a training */
      {"zero_stage: 0\n" OOM_ON("0"), "model.is_sharded", WO_FALSE},
      {"zero_stage: 2\n" OOM_ON("0"), "model.is_sharded", WO_TRUE},
      {"ppo_mini_batch_size=64\n" OOM_ON("0"), "model.is_sharded", WO_TRUE},
      {"all is well\n", "oom.is_serving", WO_UNDECIDED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) sample_expect_truth(*state, rows[i].log, rows[i].fact, rows[i].truth);
}

/* Weights, gradients and moments: an interval that depends on what is known of the number format. */
static void test_model_states(void **state) {
  static const struct {
    const char *log;
    double lo, mid, hi; /* in bytes per 1000 parameters */
  } rows[] = {
      {"Total params: 1,000,000\n", 8000, 16000, 16000},
      {"Total params: 1,000,000\ntorch_dtype=float32\n", 16000, 16000, 16000},
      {"Total params: 1,000,000\ntorch_dtype=bfloat16\n", 8000, 12000, 16000},
      /* frozen weights have neither gradients nor moments */
      {"trainable params: 100,000 || all params: 1,000,000 || trainable%: 10\ntorch_dtype=float32\n", 5200, 5200, 5200},
      {"trainable params: 100,000 || all params: 1,000,000 || trainable%: 10\ntorch_dtype=bfloat16\n", 2600, 3000, 3400},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    const struct wo_value value = sample_fact(&sample, "model.states");
    assert_true(value.is_known && value.unit == WO_UNIT_BYTES);
    sample_assert_near(value.number.lo, rows[i].lo * 1000, 1, rows[i].log);
    sample_assert_near(value.number.mid, rows[i].mid * 1000, 1, rows[i].log);
    sample_assert_near(value.number.hi, rows[i].hi * 1000, 1, rows[i].log);
    sample_done(&sample);
  }
}

/* The words of a failure and of its repetitions in the lines that follow, without end. */
static void test_text_of_a_failure(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0") "RuntimeError: CUDA error: out of memory\n");
  const struct wo_value value = sample_fact(&sample, "oom.text");
  assert_true(value.is_known && wo_view_has(value.text, "2.00 GiB") && wo_view_has(value.text, "CUDA error"));
  sample_done(&sample);
  char log[32000];
  size_t len = 0;
  for (int i = 0; i < 12; i++) len += (size_t)snprintf(log + len, sizeof log - len, "%s", OOM_ON("0"));
  sample_log(&sample, *state, log);
  assert_true(sample_fact(&sample, "oom.text").text.len < 2000);
  sample_done(&sample);
}

static void test_names_that_do_not_exist(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  assert_false(sample_fact(&sample, "oom.nothing").is_known);
  assert_false(sample_fact(&sample, "config.nothing").is_known);
  assert_false(sample_fact(&sample, "").is_known);
  assert_int_equal(sample_fact(&sample, "oom.nothing").unit, WO_UNIT_NONE);
  assert_int_equal(sample_number(&sample, "count.nothing"), 0);
  sample_done(&sample);
}

/* Every fact of rules/language/facts.def is there, with its unit, known or not; and known ones point to evidence that exists. */
static void test_all_facts(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "[rank1]: step 3: loss 1\n[rank1]: " OOM_ON("1") "srun: error: gpu09: task 1: Exited with exit code 1\n");
  for (size_t i = 0; i < sample.facts.row_count; i++) {
    const struct wo_fact_row *row = &sample.facts.rows[i];
    assert_int_equal(wo_fact_place(*state, row->name), i);
    assert_int_equal(row->unit, wo_fact_unit(*state, row->name));
    assert_int_equal(row->value.unit, row->unit);
    if (row->value.evidence != WO_EVENT_NONE) assert_non_null(wo_event_get(&sample.job->events, row->value.evidence));
    const struct wo_value value = sample.diagnosis.source.get(sample.diagnosis.source.context, row->name);
    assert_int_equal(value.is_known, row->value.is_known);
  }
  sample_done(&sample);
}

static void test_set(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  wo_facts_set(&sample.facts, "oom.step", wo_value_exact(WO_UNIT_NUMBER, 12), sample.job->story.failure);
  assert_int_equal(sample_number(&sample, "oom.step"), 12);
  assert_int_equal(sample_fact(&sample, "oom.step").evidence, sample.job->story.failure);
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_bools),
      cmocka_unit_test(test_model_states),
      cmocka_unit_test(test_text_of_a_failure),
      cmocka_unit_test(test_names_that_do_not_exist),
      cmocka_unit_test(test_all_facts),
      cmocka_unit_test(test_set),
  };
  return cmocka_run_group_tests_name("facts", tests, sample_load_all, sample_unload);
}
