/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about how a job ended and what its host's memory was made of, and the causes that name endings: the first finding of logs
 * in many wordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define OOM_KILLED                                                                                                               \
  "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of the step tasks have been OOM Killed.\n"
#define SRUN_EXIT(what) "srun: error: gpu07: task 2: " what "\n"
#define STEP_CANCELLED "slurmstepd: error: *** STEP 4711.0 ON gpu07 CANCELLED AT 2025-06-11T04:18:20 ***\n"
#define XID(rest) "[88121.104417] NVRM: Xid (PCI:0000:4e:00): " rest "\n"
#define CPU_USED(hour, gb)                                                                                                       \
  "[2025-06-11 0" hour ":00:00,006] [INFO] [utils.py:789:see_memory_usage] CPU Virtual Memory:  used = " gb                      \
  " GB, percent = 82.5%\n"
#define CGROUP(anon, file, shmem)                                                                                                \
  "[80211.1] memory: usage 50331648kB, limit 50331648kB, failcnt 20117\n"                                                        \
  "[80211.1] Memory cgroup stats for /slurm/uid_1004/job_4711/step_0:\n"                                                         \
  "[80211.1] anon " anon "\n[80211.1] file " file "\n[80211.1] shmem " shmem "\n"
#define CGROUP_KILL(program, kb)                                                                                                 \
  "[80211.2] Memory cgroup out of memory: Killed process 44120 (" program ") total-vm:98112240kB, anon-rss:" kb                  \
  "kB, file-rss:0kB, shmem-rss:0kB, UID:1004 pgtables:121044kB oom_score_adj:0\n"
#define NODE_TABLE(own, other)                                                                                                   \
  "[80211.1] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"                               \
  "[80211.1] [  44120]  1004 44120  9052751  " own " 42004480        0             0 python\n"                                   \
  "[80211.1] [  51007]  2210 51007 62052751 " other " 92004480        0             0 blastn\n"
#define NODE_KILL(kb)                                                                                                            \
  "[80211.2] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,"   \
  "task=python,pid=44120,uid=1004\n"                                                                                             \
  "[80211.3] Out of memory: Killed process 44120 (python) total-vm:36211004kB, anon-rss:" kb                                     \
  "kB, file-rss:0kB, shmem-rss:0kB, UID:1004 pgtables:41044kB oom_score_adj:0\n"
#define WAITING(state, reason)                                                                                                   \
  "JobId=4711 JobName=vit\n   UserId=mara(1004) GroupId=mara(1004) MCS_label=N/A\n   JobState=" state " Reason=" reason          \
  " Dependency=(null)\n   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n   RunTime=00:00:00 TimeLimit=02:00:00\n"
#define ELASTIC(code)                                                                                                            \
  "E0203 04:05:06.000000 811 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: " code                      \
  ") local_rank: 2 (pid: 822) of binary: /opt/env/bin/python\n"

#define PIN_FAILED                                                                                                               \
  "Traceback (most recent call last):\n  File \"/opt/env/lib/python3.11/site-packages/torch/utils/data/_utils/pin_memory.py\", " \
  "line 57, in pin_memory\n    return data.pin_memory(device)\nRuntimeError: CUDA error: out of memory\n"
#define SEFF(nodes)                                                                                                              \
  "Job ID: 4711\nCluster: c1\nState: OUT_OF_MEMORY (exit code 0)\nNodes: " nodes "\nCores per node: 8\n"                         \
  "Memory Utilized: 60.00 GB\nMemory Efficiency: 93.75% of 64.00 GB (32.00 GB/node)\n"

struct text_row {
  const char *log;
  const char *fact;
  const char *text; /* NULL = unknown */
};

static const struct text_row text_rows[] = {
    {"all is well\n", "end.kind", NULL},
    {OOM_ON("0"), "end.kind", "cuda_oom"},
    {OOM_ON("0"), "end.text", NULL},
    {EXCEPTION("ValueError: x"), "end.kind", "traceback"},
    {SRUN_EXIT("Segmentation fault (core dumped)"), "end.signal", "SIGSEGV"},
    {SRUN_EXIT("Killed"), "end.signal", "SIGKILL"},
    {SRUN_EXIT("Exited with exit code 139"), "end.signal", "SIGSEGV"},
    {SRUN_EXIT("Exited with exit code 1"), "end.signal", NULL},
    {SRUN_EXIT("Exited with exit code 200"), "end.signal", NULL}, /* 200 - 128 is no signal that ends programs */
    {ELASTIC("-11"), "end.signal", "SIGSEGV"},
    {ELASTIC("-6"), "end.signal", "SIGABRT"},
    {"Fatal Python error: Bus error\n", "end.signal", "SIGBUS"},
    {"Fatal Python error: Segmentation fault\n", "end.signal", "SIGSEGV"},
    {"slurmstepd: error: execve(): /home/ida/run: Exec format error\n", "end.reason", "Exec format error"},
    {WAITING("CANCELLED", "Resources"), "end.state", "CANCELLED"},
    {STEP_CANCELLED, "end.state", NULL},
    {"#SBATCH --signal=B:USR1@300\n" SRUN_EXIT("Aborted"), "slurm.signal", "B:USR1@300"},
    {"#SBATCH --time=10\n" SRUN_EXIT("Aborted"), "slurm.signal", NULL},
    {WAITING("CANCELLED", "DependencyNeverSatisfied"), "end.reason", "DependencyNeverSatisfied"},
};

static void test_texts(void **state) {
  for (size_t i = 0; i < sizeof text_rows / sizeof text_rows[0]; i++)
    sample_expect_text(*state, text_rows[i].log, text_rows[i].fact, text_rows[i].text);
}

/* Each part of the words stands there once, and a long message is cut. */
static void test_words(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, EXCEPTION("ValueError: the words"));
  const struct wo_view text = sample_fact(&sample, "end.text").text;
  const size_t first = wo_view_find(text, WO_VIEW("the words"), 0);
  assert_true(first != WO_NOT_FOUND);
  assert_true(wo_view_find(text, WO_VIEW("the words"), first + 1) == WO_NOT_FOUND);
  sample_done(&sample);
  char log[8000];
  memset(log, 'x', sizeof log);
  memcpy(log, EXCEPTION("ValueError: x"), sizeof EXCEPTION("ValueError: x") - 2);
  log[sizeof log - 2] = '\n';
  log[sizeof log - 1] = '\0';
  sample_log(&sample, *state, log);
  assert_in_range(sample_fact(&sample, "end.text").text.len, 100, 1200);
  sample_done(&sample);
}

struct number_row {
  const char *log;
  const char *fact;
  double number; /* NAN = unknown */
};

static const struct number_row number_rows[] = {
    {SRUN_EXIT("Exited with exit code 3"), "end.exit_code", 3},
    {SRUN_EXIT("Aborted"), "end.exit_code", (double)NAN},
    {XID("79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."), "end.xid", 79},
    {EXCEPTION("RuntimeError: CUDA error: an illegal memory access was encountered") XID("31, pid=44120, name=python, MMU Fault"),
     "end.xid", 31},
    {SRUN_EXIT("Exited with exit code 1") XID("45, pid=44120, name=python, Ch 00000010"), "end.xid", (double)NAN},
    {WAITING("CANCELLED", "Resources"), "job.elapsed_min", 0},
    {WAITING("CANCELLED", "Resources"), "job.time_limit_min", 120},
    {"#SBATCH --time=01:30:00\n" SRUN_EXIT("Aborted"), "job.time_limit_min", 90},
    {"step 41: loss 2\n" EXCEPTION("ValueError: x"), "job.step", 41},
    {EXCEPTION("ValueError: x"), "job.step", (double)NAN},

    {OOM_KILLED, "host.needed", (double)NAN},
    {"#SBATCH --mem=64G\n" OOM_KILLED, "host.needed", 64 * WO_GIB},
    {"#SBATCH --mem=64G\n" OOM_KILLED, "host.measured", (double)NAN},
    {"slurmstepd: error: StepId=4711.0 exceeded memory limit (3221225472 > 2147483648), being killed\n", "host.measured",
     3 * WO_GIB},
    {"slurmstepd: error: StepId=4711.0 exceeded memory limit (3221225472 > 2147483648), being killed\n", "host.needed",
     3 * WO_GIB},
    {CGROUP("1073741824", "2147483648", "536870912") CGROUP_KILL("python", "1048576"), "host.measured", 48 * WO_GIB},
    {CGROUP("1073741824", "2147483648", "536870912") CGROUP_KILL("python", "1048576"), "host.group_anon", WO_GIB},
    {CGROUP("1073741824", "2147483648", "536870912") CGROUP_KILL("python", "1048576"), "host.group_shmem", WO_GIB / 2},
    {CGROUP("1073741824", "2147483648", "536870912") CGROUP_KILL("python", "1048576"), "host.group_cache", WO_GIB * 3 / 2},
    {NODE_TABLE("262144", "524288") NODE_KILL("1048576"), "host.table_sum", 3 * WO_GIB},
    {NODE_TABLE("262144", "524288") NODE_KILL("1048576"), "host.table_largest", 2 * WO_GIB},
    {NODE_KILL("1048576"), "host.measured", WO_GIB},
    {SEFF("2"), "host.measured", 30 * WO_GIB}, /* of all nodes together */
    {SEFF("2"), "host.needed", 32 * WO_GIB},
    {"#SBATCH --mem-per-cpu=3G\n", "slurm.mem_per_cpu", 3 * WO_GIB},
    {"#SBATCH --mem-per-gpu=512\n", "slurm.mem_per_gpu", 512 * WO_MIB},
    {"#SBATCH --mem=64G\n", "slurm.mem_per_cpu", (double)NAN},
    {CPU_USED("1", "10.0") CPU_USED("2", "20.0") CPU_USED("3", "30.0") CPU_USED("4", "40.0"), "host.growth", 29.9 * WO_GIB},
    {CPU_USED("1", "10.0") CPU_USED("2", "20.0") CPU_USED("3", "30.0"), "host.growth",
     (double)NAN}, /* too few to tell it from starting */
    {CPU_USED("1", "10.0") CPU_USED("2", "40.0") CPU_USED("3", "30.0") CPU_USED("4", "40.0"), "host.growth", (double)NAN},
    {CPU_USED("1", "10.0") CPU_USED("1", "20.0") CPU_USED("1", "30.0") CPU_USED("1", "40.0"), "host.growth",
     (double)NAN}, /* it starts */
    {CPU_USED("1", "10.0") CPU_USED("2", "20.0"), "host.used_share", 0.825},
    {"all is well\n", "host.used_share", (double)NAN},
    {CPU_USED("1", "10.0") CPU_USED("2", "10.0") CPU_USED("3", "10.0") CPU_USED("4", "10.0"), "host.growth", (double)NAN},
};

static void test_numbers(void **state) {
  for (size_t i = 0; i < sizeof number_rows / sizeof number_rows[0]; i++)
    sample_expect_number(*state, number_rows[i].log, number_rows[i].fact, number_rows[i].number,
                         fabs(number_rows[i].number) * 0.001);
}

static void test_bools(void **state) {
  static const struct {
    const char *log;
    const char *fact;
    enum wo_truth truth;
  } rows[] = {
      {STEP_CANCELLED, "end.is_after_task_failure", WO_FALSE},
      {SRUN_EXIT("Exited with exit code 1") STEP_CANCELLED, "end.is_after_task_failure", WO_TRUE},
      {"srun: First task exited 30s ago\n" STEP_CANCELLED, "end.is_after_task_failure", WO_TRUE},
      {STEP_CANCELLED SRUN_EXIT("Exited with exit code 1"), "end.is_after_task_failure", WO_FALSE},
      {SRUN_EXIT("Terminated") STEP_CANCELLED, "end.is_after_task_failure", WO_FALSE}, /* ended with the others */
      {"srun: First task exited 3s ago\n" SRUN_EXIT("Killed"), "end.is_after_task_failure", WO_TRUE},
      {SRUN_EXIT("Killed"), "end.is_after_task_failure", WO_FALSE},
      {SRUN_EXIT("Aborted"), "end.is_after_task_failure", WO_UNDECIDED}, /* it is the failure */
      {OOM_ON("0"), "end.is_after_task_failure", WO_UNDECIDED},
      {CGROUP_KILL("pt_data_worker", "1048576"), "host.is_worker_killed", WO_TRUE},
      {CGROUP_KILL("python", "1048576"), "host.is_worker_killed", WO_UNDECIDED},
      {"slurmstepd: error: Exceeded step memory limit at some point.\n", "host.is_limit_touched", WO_TRUE},
      {"offload_optimizer_device: nvme\n" OOM_KILLED, "host.is_offload_nvme", WO_TRUE},
      {"offload_optimizer_device: cpu\n" OOM_KILLED, "host.is_offload_nvme", WO_UNDECIDED},
      {PIN_FAILED, "host.is_pinned", WO_TRUE},
      {"RuntimeError: CUDA error: out of memory\n", "host.is_pinned", WO_UNDECIDED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) sample_expect_truth(*state, rows[i].log, rows[i].fact, rows[i].truth);
}

struct finding_row {
  const char *log;
  const char *first;
};

static const struct finding_row finding_rows[] = {
    /* signals and codes, as srun, shells, torchrun and mpirun print them */
    {SRUN_EXIT("Exited with exit code 137"), "killed-without-reason"},
    {SRUN_EXIT("Exited with exit code 143"), "killed-by-signal"},
    {SRUN_EXIT("Exited with exit code 134"), "aborted"},
    {SRUN_EXIT("Exited with exit code 2"), "exit-code-only"},
    {SRUN_EXIT("User defined signal 1"), "killed-by-signal"},
    {ELASTIC("-11"), "segmentation-fault"},
    {"mpirun noticed that process rank 3 with PID 201 on node gpu04 exited on signal 11 (Segmentation fault).\n",
     "segmentation-fault"},
    {"/var/spool/slurmd/job77/slurm_script: line 9:  4412 Bus error               (core dumped) python run.py\n", "bus-error"},
    {"application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0\n", "mpi-abort"},
    {SRUN_EXIT("Killed") "slurmstepd: error: Exceeded job memory limit at some point.\n", "host-memory-limit-touched"},

    /* the card: programs, memory, bus, firmware */
    {XID("13, pid=44120, name=python, Graphics SM Warp Exception on (GPC 1, TPC 0): Out Of Range Address"), "gpu-program-fault"},
    {XID("48, pid='<unknown>', name=<unknown>, DBE (double bit error)"), "gpu-memory-fault"},
    {XID("63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping"), "gpu-memory-fault"},
    {XID("94, pid=44120, name=python, Contained: SM (0x1). RST: No, D-RST: No"), "gpu-memory-fault"},
    {XID("79, pid=44120, name=python, GPU has fallen off the bus.")
         XID("154, GPU recovery action changed from 0x0 (None) to 0x2"),
     "gpu-off-the-bus"},
    {XID("120, pid=44120, name=python, GSP task timeout"), "gpu-firmware-fault"},
    {XID("140, pid='<unknown>', name=<unknown>, new number"), "hardware-fault"},
    {"/build/Indexing.cu:1292: indexSelectLargeIndex: block: [41,0,0], thread: [0,0,0] Assertion `srcIndex < n` "
     "failed.\n" EXCEPTION("RuntimeError: CUDA error: device-side assert triggered"),
     "device-side-assert"},
    {EXCEPTION("RuntimeError: CUDA error: an illegal memory access was encountered") SRUN_EXIT("Aborted (core dumped)"),
     "gpu-program-fault"},
    {EXCEPTION("RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."), "driver-mismatch"},
    {EXCEPTION("RuntimeError: CUDA error: invalid device ordinal"), "no-cuda-device"},
    {OOM_ON("0") XID("45, pid=44120, name=python, Ch 00000010"), "oversized-micro-batch"},

    /* the program, and what it wants from outside */
    {EXCEPTION("ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory"), "missing-python-module"},
    {EXCEPTION(
         "OSError: lab/seal is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'"),
     "missing-file"},
    {EXCEPTION("OSError: [Errno 101] Network is unreachable"), "no-network"},
    {EXCEPTION("wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])"),
     "access-refused"},
    {EXCEPTION("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"), "nan-or-infinite"},
    {EXCEPTION("ValueError: Input X contains NaN."), "python-exception"}, /* bad data, not a training that diverged */
    {EXCEPTION("KeyError: 'banana'"), "python-exception"},
    {EXCEPTION("KeyboardInterrupt"), "killed-by-signal"},

    /* the ranks */
    {EXCEPTION(
         "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See "
         "inner exception for details."),
     "rendezvous-failed"},
    {EXCEPTION(
         "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, "
         "name: EADDRINUSE, message: address already in use"),
     "port-in-use"},

    /* main memory: the first of several that hold is the one that says most */
    {OOM_KILLED, "host-memory-cgroup"},
    {"#SBATCH --cpus-per-task=8\n#SBATCH --mem-per-cpu=3G\n" OOM_KILLED, "host-memory-limit-per-cpu"},
    {CGROUP("48318382080", "2147483648", "536870912") CGROUP_KILL("python", "41943040"), "host-memory-limit-too-small"},
    {CGROUP("48318382080", "2147483648", "536870912") CGROUP_KILL("pt_data_worker", "9437184"), "host-data-workers"},
    {CGROUP("17179869184", "33822867456", "104857600") CGROUP_KILL("python", "12582912"), "host-memory-page-cache"},
    {CGROUP("17179869184", "33822867456", "32212254720") CGROUP_KILL("python", "12582912"), "host-shared-memory-counted"},
    {NODE_TABLE("262144", "52428800") NODE_KILL("1048576"), "host-other-job"},
    {NODE_TABLE("52428800", "262144") NODE_KILL("209715200"), "host-memory-kernel"},
};

/* No finding about memory stands behind an ending that has nothing to do with it. */
static void test_first_findings(void **state) {
  for (size_t i = 0; i < sizeof finding_rows / sizeof finding_rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, finding_rows[i].log);
    const struct wo_report *report = sample.report;
    const struct wo_view first = report->finding_count > 0 ? report->findings[0].cause->id : WO_VIEW("none");
    if (!wo_view_is(first, finding_rows[i].first))
      fail_msg("row %zu: %.*s, not %s", i, (int)first.len, first.ptr, finding_rows[i].first);
    const bool is_memory_free = wo_view_is(report->findings[0].cause->family, "not_memory");
    if (is_memory_free && report->finding_count != 1) fail_msg("row %zu: %zu findings", i, report->finding_count);
    sample_done(&sample);
  }
}

/* The line to put into the batch script: the measured need and a fifth more, in whole GiB. */
static void test_raised_limits(void **state) {
  static const struct {
    const char *log;
    const char *command;
  } rows[] = {
      {"#SBATCH --mem=64G\n" OOM_KILLED, "#SBATCH --mem=77G"},
      {"slurmstepd: error: StepId=4711.0 exceeded memory limit (64424509440 > 53687091200), being killed\n", "#SBATCH --mem=72G"},
      {CGROUP("48318382080", "2147483648", "536870912") CGROUP_KILL("python", "41943040"), "#SBATCH --mem=58G"},
      {"#SBATCH --cpus-per-task=8\n#SBATCH --ntasks-per-node=1\n#SBATCH --mem-per-cpu=3G\n" OOM_KILLED,
       "#SBATCH --mem-per-cpu=4G"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    assert_true(sample.report->finding_count > 0 && sample.report->findings[0].fix_count > 0);
    const struct wo_finding_fix *fix = &sample.report->findings[0].fixes[0];
    assert_true(fix->command_count > 0);
    if (!wo_view_is(fix->commands[0], rows[i].command))
      fail_msg("row %zu: %.*s", i, (int)fix->commands[0].len, fix->commands[0].ptr);
    sample_done(&sample);
  }
}

static bool is_offered(const struct wo_report *report, const char *id) {
  for (size_t i = 0; i < report->finding_count; i++) {
    for (size_t k = 0; k < report->findings[i].fix_count; k++) {
      if (wo_view_is(report->findings[i].fixes[k].id, id)) return true;
    }
  }
  return false;
}

/* No fix of memory is offered for other endings, and none of time or of another node for memory. */
static void test_fixes(void **state) {
  static const struct {
    const char *log;
    const char *fix;
    bool is_offered;
  } rows[] = {
      {"slurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2025-06-11T04:18:20 DUE TO TIME LIMIT ***\n", "raise-time-limit",
       true},
      {"slurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2025-06-11T04:18:20 DUE TO TIME LIMIT ***\n", "raise-mem-limit",
       false},
      {"#SBATCH --mem=64G\nslurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2025-06-11T04:18:20 DUE TO PREEMPTION ***\n",
       "save-and-resume", true},
      {"#SBATCH --mem=64G\nslurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2025-06-11T04:18:20 DUE TO PREEMPTION ***\n",
       "raise-time-limit", false},
      {XID("79, pid=44120, name=python, GPU has fallen off the bus."), "avoid-node", true},
      {XID("31, pid=44120, name=python, MMU Fault"), "avoid-node", false},
      {EXCEPTION("ValueError: x"), "reduce-micro-batch", false},
      {EXCEPTION("ValueError: x"), "raise-mem-limit", false},
      {"#SBATCH --mem=64G\n" OOM_KILLED, "raise-mem-limit", true},
      {"#SBATCH --mem=64G\n" OOM_KILLED, "raise-mem-per-cpu", false},
      {OOM_KILLED, "raise-mem-limit", false}, /* nothing says how much is needed */
      {OOM_KILLED, "raise-mem-limit-unknown", true},
      {NODE_TABLE("262144", "52428800") NODE_KILL("1048576"), "own-node", true},
      {OOM_KILLED, "own-node", false},
      {CGROUP("17179869184", "33822867456", "104857600") CGROUP_KILL("python", "12582912"), "write-in-portions", true},
      {CGROUP("48318382080", "2147483648", "536870912") CGROUP_KILL("python", "41943040"), "write-in-portions", false},
      {"#SBATCH --gres=gpu:8\n#SBATCH --mem=96G\nnumber of parameters: 6738415616\n" OOM_KILLED, "load-once", true},
      {"#SBATCH --gres=gpu:8\n#SBATCH --mem=400G\nnumber of parameters: 6738415616\n" OOM_KILLED, "load-once", false},
      {PIN_FAILED, "pin-memory-off", true},
      {"pin_memory=False\n" PIN_FAILED, "pin-memory-off", false}, /* it is off already */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    if (is_offered(sample.report, rows[i].fix) != rows[i].is_offered) fail_msg("row %zu: %s", i, rows[i].fix);
    sample_done(&sample);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts), cmocka_unit_test(test_words),          cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_bools), cmocka_unit_test(test_first_findings), cmocka_unit_test(test_raised_limits),
      cmocka_unit_test(test_fixes),
  };
  return cmocka_run_group_tests_name("ending", tests, sample_load_all, sample_unload);
}
