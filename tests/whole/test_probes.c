/* SPDX-License-Identifier: Apache-2.0 */
/* The lines by which a reader of logs is judged first, through the whole program: a log on standard input, the JSON report out.
 * The evidence alone is checked by tests/table/probes.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cJSON.h>

#include "tests/support/process.h"

struct probe {
  const char *name;
  const char *log;
  const char *outcome; /* job.outcome; NULL = anything that blames no memory */
  const char *kind;    /* failure.kind; NULL = not looked at */
  int exit_code;
};

static const struct probe probes[] = {
    {"SLURM oom-kill",
     "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.batch. Some of your processes may have been killed by the "
     "cgroup "
     "out-of-memory handler.\n",
     "host_oom", "cgroup_oom", 1},
    {"SLURM oom_kill",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of the step tasks have been OOM Killed.\n",
     "host_oom", "cgroup_oom", 1},
    {"kernel",
     "Memory cgroup out of memory: Killed process 4711 (python) total-vm:31457280kB, anon-rss:16777216kB, file-rss:65536kB, "
     "shmem-rss:1024kB\n",
     "host_oom", "cgroup_oom", 1},
    {"CUDA without sizes", "RuntimeError: CUDA error: out of memory\n", "gpu_oom", "cuda_oom", 1},
    {"HIP",
     "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.95 GiB. GPU 0 has a total capacity of 23.98 GiB of which "
     "1.20 GiB is "
     "free. Of the allocated memory 20.75 GiB is allocated by PyTorch, and 1.44 GiB is reserved by PyTorch but unallocated.\n",
     "gpu_oom", "hip_oom", 1},
    {"JAX", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.\n", "gpu_oom", "jax_oom", 1},
    {"TensorFlow",
     "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,1024] and type float on "
     "/job:localhost/replica:0/task:0/"
     "device:GPU:0 by allocator GPU_0_bfc\n",
     "gpu_oom", "tf_oom", 1},
    {"cuBLAS", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n", "gpu_oom",
     "cublas_oom", 1},
    {"vLLM",
     "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the "
     "engine.\n",
     "gpu_oom", "vllm_kv", 1},
    {"shared memory",
     "RuntimeError: DataLoader worker (pid 30122) is killed by signal: Bus error. It is possible that dataloader's workers are "
     "out of shared "
     "memory. Please try to raise your shared memory limit.\n",
     "host_oom", "shm_exhausted", 1},
    {"time limit", "slurmstepd: error: *** JOB 4711 ON gpu03 CANCELLED AT 2025-03-11T04:00:12 DUE TO TIME LIMIT ***\n",
     "time_limit", NULL, 1},
    {"a setting", "loss: nan_to_num enabled\n", NULL, NULL, 0},
    {"a kill without its reason", "Killed\nsrun: error: gpu03: task 0: Exited with exit code 137\n", NULL, NULL, 1},
    {"a help text",
     "  max_split_size_mb prevents the native allocator from splitting blocks larger than this size (in MB). This can reduce\n"
     "  fragmentation and may allow some borderline workloads to complete without running out of memory.\n",
     NULL, NULL, 0},
};

static const char recovered_log[] = "WARNING: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has "
                                    "a total capacity of 23.64 GiB of which 1.50 "
                                    "GiB is free.\n"
                                    "WARNING: batch skipped, continuing with the next one\n"
                                    "Traceback (most recent call last):\n"
                                    "  File \"/home/user/train.py\", line 214, in <module>\n"
                                    "    main()\n"
                                    "  File \"/home/user/train.py\", line 180, in main\n"
                                    "    state = torch.load(path)\n"
                                    "FileNotFoundError: [Errno 2] No such file or directory: '/scratch/user/last.ckpt'\n";

/* The report on a log, as JSON. */
static cJSON *report_on(const char *log, int *ret_exit_code) {
  static const char *const args[] = {"--format", "json", "-", NULL};
  struct wo_view text = wo_view_of(log);
  const struct wo_process_spec spec = {.args = args, .write_stdin = wo_process_write_view, .context = &text};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  if (result.signal != 0 || result.err_len != 0) fail_msg("signal %d, standard error: %s", result.signal, result.err);
  *ret_exit_code = result.exit_code;
  cJSON *report = cJSON_Parse(result.out);
  if (report == NULL) fail_msg("not JSON: %.400s", result.out);
  wo_process_done(&result);
  return report;
}

/* The text at report.outer.inner, or "". */
static const char *text_at(const cJSON *report, const char *outer, const char *inner) {
  const char *text =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(report, outer), inner));
  return text != NULL ? text : "";
}

/* *state is a struct probe. */
static void run_probe(void **state) {
  const struct probe *probe = *state;
  int exit_code = -1;
  cJSON *report = report_on(probe->log, &exit_code);
  const char *outcome = text_at(report, "job", "outcome");
  if (probe->outcome != NULL) {
    assert_string_equal(outcome, probe->outcome);
  } else {
    assert_string_not_equal(outcome, "gpu_oom");
    assert_string_not_equal(outcome, "host_oom");
  }
  if (probe->kind != NULL) assert_string_equal(text_at(report, "failure", "kind"), probe->kind);
  assert_int_equal(exit_code, probe->exit_code);
  cJSON_Delete(report);
}

static void test_a_survived_failure_is_not_the_cause(void **state) {
  (void)state;
  int exit_code = -1;
  cJSON *report = report_on(recovered_log, &exit_code);
  assert_string_equal(text_at(report, "job", "outcome"), "program_error");
  const cJSON *recovered = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(report, "job"), "recovered");
  assert_true(cJSON_IsArray(recovered) && cJSON_GetArraySize(recovered) == 1);
  assert_string_not_equal(text_at(report, "failure", "kind"), "cuda_oom");
  assert_int_equal(exit_code, 1);
  cJSON_Delete(report);
}

int main(void) {
  enum { COUNT = sizeof probes / sizeof probes[0] };
  struct CMUnitTest tests[COUNT + 1];
  for (size_t i = 0; i < COUNT; i++)
    tests[i] =
        (struct CMUnitTest){.name = probes[i].name, .test_func = run_probe, .initial_state = (void *)(uintptr_t)&probes[i]};
  tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(test_a_survived_failure_is_not_the_cause);
  return _cmocka_run_group_tests("probes", tests, COUNT + 1, NULL, NULL);
}
