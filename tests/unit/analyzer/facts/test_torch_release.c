/* SPDX-License-Identifier: Apache-2.0 */
/* Which release of PyTorch a job ran: what is printed, the failure's own words, and what of several counts; and what follows from
 * it for the variable that configures the allocator. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/exchange/torch_version.h"
#include "tests/support/job/job_sample.h"

#define OPEN 9999
#define FIGURES                                                                                                                  \
  " of which 0.40 GiB is free. Including non-PyTorch memory, this process has 38.98 GiB memory in use. Of the allocated memory " \
  "36.12 GiB is allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated."
#define NEW(class, capacity, advice)                                                                                             \
  class ": CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total " capacity " of 39.39 GiB" FIGURES advice "\n"
#define OLD(class, last, advice)                                                                                                 \
  class ": CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 39.39 GiB total capacity; 36.12 GiB already allocated; "       \
        "0.40 GiB free; 38.12 GiB " last ")" advice "\n"
#define LONG_NAME " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
#define SHORT_NAME " If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True"
#define SPLIT " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation."
#define OOM_2_5 NEW("torch.OutOfMemoryError", "capacity", LONG_NAME)
#define OOM_2_10 NEW("torch.OutOfMemoryError", "capacity", SHORT_NAME)

static int load(void **state) {
  return sample_load_all(state);
}

static void test_parse(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int release; /* -1: none */
  } rows[] = {{"2.6.0+cu124", 206},
              {"1.13.1", 113},
              {"2.10", 210},
              {"2.4.0a0+07cecf4168.nv24.05", 204},
              {"2", -1},
              {"", -1},
              {"v2.6", -1},
              {"2.x", -1},
              {"2.6-rc", -1},
              {"100.1", -1},
              {"2.100", -1},
              {"99.99", 9999}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint16_t release = 7;
    const bool is_read = wo_torch_version_parse(wo_view_of(rows[i].text), &release);
    if (is_read != (rows[i].release >= 0) || release != (is_read ? rows[i].release : 7))
      fail_msg("%s: %u", rows[i].text, release);
  }
}

static void test_release(void **state) {
  static const struct {
    const char *log;
    const char *torch;  /* NULL: unknown */
    double first, last; /* 0: unknown */
  } rows[] = {
      /* printed */
      {"PyTorch version: 2.6.0+cu124\n" OOM_2_5, "2.6.0+cu124", 206, 206},
      {"module load pytorch/2.4\n" OOM_2_5, "2.4", 204, 204},
      {"PyTorch version: 2.6.0\nstep 3: loss 2.0\n", "2.6.0", 206, 206},
      /* the program's own words beat what was asked for */
      {"module load pytorch/2.4.0\ntorch==2.6.0\n" OOM_2_5, "2.6.0", 206, 206},
      /* of several the nearest above the failure; below it another run may stand */
      {"PyTorch version: 2.5.1\nPyTorch version: 2.6.0\n" OOM_2_5 "PyTorch version: 2.7.0\n", "2.6.0", 206, 206},
      /* what cannot have printed this message is another environment's */
      {"PyTorch version: 2.5.1\nPyTorch version: 1.13.1\n" OOM_2_5, "2.5.1", 205, 205},
      {"PyTorch version: 2.5.1\n" OOM_2_10, NULL, 210, OPEN},
      {OOM_2_5 "PyTorch version: 2.5.1\nPyTorch version: 2.6.0\n", NULL, 204, 209},
      {"PyTorch version: 2.5.1\nPyTorch version: 2.6.0\n", NULL, 0, 0},
      /* the words alone */
      {OOM_2_5, NULL, 204, 209},
      {OOM_2_10, NULL, 210, OPEN},
      {NEW("torch.cuda.OutOfMemoryError", "capacity", LONG_NAME), NULL, 202, 205},
      {NEW("torch.cuda.OutOfMemoryError", "capacty", ""), NULL, 201, 201},
      {NEW("torch.OutOfMemoryError", "capacity", ""), NULL, 204, OPEN},
      {OLD("torch.cuda.OutOfMemoryError", "reserved in total by PyTorch", SPLIT), NULL, 113, 200},
      {OLD("RuntimeError", "reserved in total by PyTorch", SPLIT), NULL, 110, 200},
      {OLD("RuntimeError", "reserved in total by PyTorch", ""), NULL, 104, 200},
      {OLD("RuntimeError", "cached", ""), NULL, 100, 103},
      {"[W1102 09:11:43.102 AllocatorConfig.cpp:28] Warning: PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF "
       "instead\n" OOM_2_5,
       NULL, 209, 209},
      {"step 3: loss 2.0\n", NULL, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    const struct wo_value torch = sample_fact(&sample, "job.torch"), release = sample_fact(&sample, "job.torch_release");
    if (torch.is_known != (rows[i].torch != NULL) || (torch.is_known && !wo_view_is(torch.text, rows[i].torch)))
      fail_msg("%zu: %.*s", i, (int)torch.text.len, torch.is_known ? torch.text.ptr : "");
    if (release.is_known != (rows[i].first > 0)) fail_msg("%zu: release known: %d", i, release.is_known);
    if (release.is_known && (release.number.lo != rows[i].first || release.number.hi != rows[i].last))
      fail_msg("%zu: %g to %g", i, release.number.lo, release.number.hi);
    sample_done(&sample);
  }
}

/* Which name to write, and whether the one that is set counts. */
static void test_variable(void **state) {
  static const struct {
    const char *log;
    const char *name;
    enum wo_truth is_read;
  } rows[] = {
      {OOM_2_5, "PYTORCH_CUDA_ALLOC_CONF", WO_UNDECIDED},
      {OOM_2_10, "PYTORCH_ALLOC_CONF", WO_UNDECIDED},
      {"PyTorch version: 2.9.1\n" OOM_2_5, "PYTORCH_CUDA_ALLOC_CONF", WO_UNDECIDED},
      {"PyTorch version: 2.11.0\n" NEW("torch.OutOfMemoryError", "capacity", ""), "PYTORCH_ALLOC_CONF", WO_UNDECIDED},
      {NEW("torch.OutOfMemoryError", "capacity", ""), "PYTORCH_CUDA_ALLOC_CONF", WO_UNDECIDED},
      {"export PYTORCH_ALLOC_CONF=expandable_segments:True\n" OOM_2_5, "PYTORCH_CUDA_ALLOC_CONF", WO_FALSE},
      {"export PYTORCH_ALLOC_CONF=expandable_segments:True\n" OOM_2_10, "PYTORCH_ALLOC_CONF", WO_TRUE},
      {"export PYTORCH_ALLOC_CONF=expandable_segments:True\n" NEW("torch.OutOfMemoryError", "capacity", ""), "PYTORCH_ALLOC_CONF",
       WO_UNDECIDED},
      {"export PYTORCH_CUDA_ALLOC_CONF=backend:native\n" OOM_2_10, "PYTORCH_CUDA_ALLOC_CONF", WO_TRUE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    const struct wo_value name = sample_fact(&sample, "alloc.name");
    if (!name.is_known || !wo_view_is(name.text, rows[i].name)) fail_msg("%zu: %.*s", i, (int)name.text.len, name.text.ptr);
    if (sample_fact(&sample, "alloc.is_read").truth != rows[i].is_read) fail_msg("%zu: is_read", i);
    sample_done(&sample);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parse),
      cmocka_unit_test(test_release),
      cmocka_unit_test(test_variable),
  };
  return cmocka_run_group_tests_name("torch_release", tests, load, sample_unload);
}
