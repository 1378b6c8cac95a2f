/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and sentences are those of the system and the cards that the log shows; Linux and NVIDIA where it shows none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/diagnosis/localize.h"
#include "tests/support/job/job_sample.h"

#define CUDA                                                                                                                     \
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which "    \
  "1.25 GiB is free.\n"
#define HIP                                                                                                                      \
  "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which "     \
  "1.25 GiB is free.\n"
#define WINDOWS "  File \"D:\\ai\\run.py\", line 3, in <module>\n    x()\n"
#define MPS                                                                                                                      \
  "RuntimeError: MPS backend out of memory (MPS allocated: 9.84 GB, other allocations: 8.19 GB, max allowed: 18.13 GB). Tried "  \
  "to allocate 471.29 MB on private pool.\n"
#define NPU                                                                                                                      \
  "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 57.90 GiB already allocated; "  \
  "57.90 GiB current active; 1.20 GiB free; 58.00 GiB reserved in total by PyTorch)\n"

struct row {
  const char *log, *text, *expected;
};

static void check(const struct wo_pack *pack, const struct row *row,
                  struct wo_view (*localize)(const struct wo_diagnosis *diagnosis, struct wo_view text)) {
  struct sample_job sample;
  sample_log(&sample, pack, row->log);
  const struct wo_view said = localize(&sample.diagnosis, wo_view_of(row->text));
  if (!wo_view_is(said, row->expected)) fail_msg("%s became %.*s", row->text, (int)said.len, said.ptr);
  sample_done(&sample);
}

static void test_commands(void **state) {
  static const struct row rows[] = {
      {CUDA, "export A=1   # why", "export A=1   # why"},
      {CUDA, "nvidia-smi --query-compute-apps=pid --format=csv", "nvidia-smi --query-compute-apps=pid --format=csv"},
      {CUDA, "#SBATCH --exclusive", "#SBATCH --exclusive"},
      {WINDOWS CUDA, "export A=1   # why", "set A=1"},
      {WINDOWS CUDA, "#SBATCH --exclusive", ""},
      {WINDOWS CUDA, "fuser -v /dev/nvidia*", ""},
      {WINDOWS CUDA, "model = model.half()", "model = model.half()"},
      {HIP, "nvidia-smi --query-compute-apps=pid --format=csv", "rocm-smi --showpids --showmeminfo vram"},
      {HIP, "fuser -v /dev/nvidia*", ""},
      {HIP, "export A=1", "export A=1"},
      {WINDOWS HIP, "nvidia-smi -L", ""},
      {MPS, "nvidia-smi -L", ""},
      {MPS, "sbatch --exclude=NODE ...", ""},
      {MPS, "export A=1", "export A=1"},
      {NPU, "nvidia-smi -L", "npu-smi info"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check(*state, &rows[i], wo_localize_command);
}

static void test_sentences(void **state) {
  static const struct row rows[] = {
      {CUDA, "nvidia-smi on the same node", "nvidia-smi on the same node"},
      {HIP, "nvidia-smi on the same node", "rocm-smi on the same node"},
      {HIP, "a nvidia-smi dmon -s mu trace of the run: a slope is a leak", "a rocm-smi trace of the run: a slope is a leak"},
      {HIP, "nvidia-smi --query-gpu=memory.used --format=csv -l 1 beside it", "rocm-smi beside it"},
      {MPS, "nvidia-smi before the job starts", "Activity Monitor before the job starts"},
      {HIP, "the micro-batch is 4", "the micro-batch is 4"},
      {"got prompt\nPrompt executed in 3.1 seconds\n" CUDA, "the micro-batch is 4, and a micro-batch",
       "the batch is 4, and a batch"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check(*state, &rows[i], wo_localize_text);
}

/* Options of an engine that the log names are flags of its command, in its own words. */
static void test_spellings(void **state) {
  static const struct {
    const char *log, *knob, *expected;
  } rows[] = {
      {CUDA, "gpu_memory_utilization", "gpu_memory_utilization=0.5"},
      {"INFO [api_server.py:1896] vLLM API server version 0.10.2\n" CUDA, "gpu_memory_utilization",
       "--gpu-memory-utilization 0.5"},
      {"python -m sglang.launch_server --model-path m\n" CUDA, "gpu_memory_utilization", "--mem-fraction-static 0.5"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    const struct wo_knob *const knob = wo_pack_knob(*state, wo_view_of(rows[i].knob));
    const struct wo_spelling spelling = wo_spell_change(&sample.diagnosis, knob, wo_value_exact(WO_UNIT_NUMBER, 0.5));
    if (!sample_is_spelled(&spelling, rows[i].expected)) fail_msg("not %s", rows[i].expected);
    sample_done(&sample);
  }
}

static void test_variables(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, WINDOWS CUDA);
  const struct wo_knob *const knob = wo_pack_knob(*state, WO_VIEW("alloc_conf"));
  const struct wo_spelling spelling = wo_spell_change(&sample.diagnosis, knob, wo_value_text(WO_VIEW("max_split_size_mb:128")));
  assert_true(sample_is_spelled(&spelling, "set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"));
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_commands),
      cmocka_unit_test(test_sentences),
      cmocka_unit_test(test_spellings),
      cmocka_unit_test(test_variables),
  };
  return cmocka_run_group_tests_name("localize", tests, sample_load_all, sample_unload);
}
