/* SPDX-License-Identifier: Apache-2.0 */
/* Signs beside the failure: frames, survived failures, XLA's program, remarks on the allocator's settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define SITE "/opt/env/lib/python3.11/site-packages/"
#define IN_CODE(code) "Traceback (most recent call last):\n  File \"/home/user/train.py\", line 88, in main\n    " code "\n"
#define DEEPER "  File \"" SITE "torch/autograd/__init__.py\", line 347, in backward\n    _engine_run_backward(\n"
#define XLA(tried, parameters, temporary, total)                                                                                 \
  "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate " tried                      \
  " bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:  " parameters           \
  "\n     preallocated temp allocation:  " temporary "\n                 total allocation:  " total "\n"
#define ADVICE                                                                                                                   \
  " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid it.\n"
#define SAYS_FULL OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "1.25 GiB", "38.12 GiB", "36.53 GiB", "1.09 GiB")
#define SURVIVED(tried)                                                                                                          \
  OOM_SAYS(tried, "0", "39.38 GiB", "1.25 GiB", "38.12 GiB", "36.53 GiB", "1.09 GiB")                                            \
  "WARNING: ran out of memory, skipping batch\nstep 50: loss 2.0\n"
/* The table of torch.cuda.memory_summary() for one card, in MiB. */
#define TABLE(card, now, peak, reserved, reserved_peak)                                                                          \
  "|                  PyTorch CUDA memory summary, device ID " card "                 |\n"                                       \
  "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"                                              \
  "| Allocated memory      |  " now " MiB |  " peak " MiB |      0 B   |      0 B   |\n"                                         \
  "| GPU reserved memory   |  " reserved " MiB |  " reserved_peak " MiB |      0 B   |      0 B   |\n"                           \
  "| Allocations           |       0    |       0    |       0    |       0    |\n"
/* TensorFlow's allocator, and the operation that asked it. */
#define POOL_REFUSES(size)                                                                                                       \
  "W tensorflow/core/common_runtime/bfc_allocator.cc:462] Allocator (GPU_0_bfc) ran out of memory trying to allocate " size "\n"
#define TENSOR_REFUSED(shape)                                                                                                    \
  "W tensorflow/core/framework/op_kernel.cc:1745] OP_REQUIRES failed at conv_ops.cc:684 : RESOURCE_EXHAUSTED: OOM when "         \
  "allocating tensor with shape[" shape                                                                                          \
  "] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
#define BARE "torch.OutOfMemoryError: Allocation on device \n"

static int load(void **state) {
  return sample_load_all(state);
}

/* Facts that are true, false, or unknown. */
static void test_bools(void **state) {
  static const struct {
    const char *log;
    const char *fact;
    enum wo_truth truth;
  } rows[] = {
      {IN_CODE("loss.backward(retain_graph=True)") DEEPER OOM_ON("0"), "oom.is_graph_kept", WO_TRUE},
      {IN_CODE("total += loss") DEEPER OOM_ON("0"), "oom.is_graph_kept", WO_TRUE},
      {IN_CODE("total += loss.item()") DEEPER OOM_ON("0"), "oom.is_graph_kept", WO_FALSE},
      {IN_CODE("loss.backward()") DEEPER OOM_ON("0"), "oom.is_graph_kept", WO_FALSE},
      {OOM_ON("0"), "oom.is_graph_kept", WO_UNDECIDED},
      {IN_CODE("state = torch.load(path)") OOM_ON("0"), "oom.is_checkpoint_read", WO_TRUE},
      {IN_CODE("loss.backward()") OOM_ON("0"), "oom.is_checkpoint_read", WO_FALSE},
      {IN_CODE("model = DDP(model)") "  File \"" SITE
                                     "torch/nn/parallel/distributed.py\", line 812, in __init__\n    self._init()\n" OOM_ON("0"),
       "oom.is_ddp_setup", WO_TRUE},
      {IN_CODE("model(x)") "  File \"" SITE
                           "torch/nn/parallel/distributed.py\", line 1636, in forward\n    self._run()\n" OOM_ON("0"),
       "oom.is_ddp_setup", WO_FALSE},
      {"============ test session starts ============\n" OOM_ON("0"), "job.is_test_run", WO_TRUE},
      {OOM_ON("0"), "job.is_test_run", WO_UNDECIDED},
      {"import torch\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"\n", "alloc.is_set_late", WO_TRUE},
      {"os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"\nimport torch\n", "alloc.is_set_late", WO_FALSE},
      {"import torch\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n", "alloc.is_set_late", WO_UNDECIDED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) sample_expect_truth(*state, rows[i].log, rows[i].fact, rows[i].truth);
}

static void test_numbers(void **state) {
  static const struct {
    const char *log;
    const char *fact;
    double number; /* NAN = unknown */
  } rows[] = {
      {XLA("53687091200", "512.00MiB", "50.00GiB", "51.00GiB"), "xla.program", 51 * WO_GIB},
      {XLA("53687091200", "512.00MiB", "50.00GiB", "51.00GiB"), "xla.parameters", 512 * WO_MIB},
      {XLA("53687091200", "512.00MiB", "50.00GiB", "51.00GiB"), "xla.temporary", 50 * WO_GIB},
      {OOM_ON("0"), "xla.program", (double)NAN},
      {SURVIVED("2.00 GiB") SURVIVED("3.00 GiB") SURVIVED("1.00 GiB") "all is well\n", "recovered.tried", 3 * WO_GIB},
      {OOM_ON("0"), "recovered.tried", (double)NAN},
      /* A message without figures: the table below it tells of the pool, that of a card in use. */
      {BARE TABLE("0", "4096", "20480", "5120", "21504"), "oom.allocated", 20480 * WO_MIB},
      {BARE TABLE("0", "4096", "20480", "5120", "21504") TABLE("1", "0", "0", "0", "0"), "oom.allocated", 20480 * WO_MIB},
      {BARE TABLE("0", "4096", "20480", "5120", "21504"), "oom.reserved_unallocated", 1024 * WO_MIB},
      {BARE TABLE("0", "4096", "20480", "5120", "21504"), "summary.given_back", 16384 * WO_MIB},
      {BARE TABLE("0", "4096", "20480", "0", "0"), "oom.reserved_unallocated", (double)NAN},
      /* One above it is of another moment, and figures of the message itself count more. */
      {TABLE("0", "4096", "20480", "5120", "21504") BARE, "oom.allocated", (double)NAN},
      {TABLE("0", "4096", "20480", "5120", "21504") BARE, "summary.given_back", (double)NAN},
      {SAYS_FULL TABLE("0", "4096", "20480", "5120", "21504"), "oom.allocated", 36.53 * WO_GIB},
      /* The shape below the allocator's size is that of the same request. */
      {POOL_REFUSES("2.32GiB (rounded to 2488320000)") TENSOR_REFUSED("128,225,225,96"), "oom.batch", 128},
      {POOL_REFUSES("1.10GiB (rounded to 1181116006)") TENSOR_REFUSED("128,225,225,96"), "oom.batch", (double)NAN},
      /* Each card has a table of its own. */
      {SAYS_FULL TABLE("0", "4096", "20480", "5120", "21504") TABLE("3", "128", "256", "512", "512"), "summary.allocated",
       4096 * WO_MIB},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    sample_expect_number(*state, rows[i].log, rows[i].fact, rows[i].number, WO_MIB);
}

static void test_texts(void **state) {
  static const struct {
    const char *log;
    const char *fact;
    const char *text; /* NULL = unknown */
  } rows[] = {
      {IN_CODE("loss.backward(retain_graph=True)") DEEPER OOM_ON("0"), "oom.phase", "backward"}, /* signs are no phases */
      {SURVIVED("2.00 GiB"), "recovered.kind", "cuda_oom"},
      {OOM_ON("0"), "recovered.kind", NULL},
      {"export PYTORCH_ALLOC_CONF=expandable_segments:True\n" OOM_ON("0"), "alloc.variable", "PYTORCH_ALLOC_CONF"},
      {OOM_ON("0"), "alloc.variable", NULL},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB." ADVICE, "alloc.advised",
       "PYTORCH_CUDA_ALLOC_CONF"},
      {OOM_ON("0"), "alloc.advised", NULL},
      {"[W CUDAAllocatorConfig.h:31] Warning: expandable_segments not supported on this platform (function operator())\n",
       "alloc.remark", "expandable_segments not supported on this platform"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) sample_expect_text(*state, rows[i].log, rows[i].fact, rows[i].text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bools), cmocka_unit_test(test_numbers), cmocka_unit_test(test_texts)};
  return cmocka_run_group_tests_name("signs", tests, load, sample_unload);
}
