/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames speak for a stack: a table of file names, and stacks as PyTorch records them. */
#include "cuda_replay/classes/user_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/replay/memory_over_time_sample.h"

static void knows_origins_by_file(void **state) {
  (void)state;
  static const struct {
    const char *file;
    enum wo_frame_origin origin;
  } rows[] = {
      {"??", WO_FRAME_NATIVE},
      {"", WO_FRAME_NATIVE},
      {"RegisterCUDA.cpp", WO_FRAME_NATIVE},
      {"/usr/local/src/conda/python-3.12.3/Python/ceval.c", WO_FRAME_NATIVE},
      {"/usr/lib/libc.so.6", WO_FRAME_NATIVE},
      {"thread48.o", WO_FRAME_NATIVE},
      {"/env/lib/python3.10/site-packages/torch/nn/modules/module.py", WO_FRAME_TORCH},
      {"C:\\Python310\\lib\\site-packages\\torch\\optim\\adam.py", WO_FRAME_TORCH},
      {"/tmp/torchinductor_me/ab/cabcd.py", WO_FRAME_TORCH},
      {"<eval_with_key>.3", WO_FRAME_TORCH},
      {"/src/pytorch/torch/_ops.py", WO_FRAME_TORCH},
      {"/env/lib/python3.10/site-packages/torchvision/models/resnet.py", WO_FRAME_LIBRARY},
      {"/env/lib/python3.10/site-packages/transformers/trainer.py", WO_FRAME_LIBRARY},
      {"/usr/lib/python3/dist-packages/apex/amp.py", WO_FRAME_LIBRARY},
      {"/usr/lib/python3.10/threading.py", WO_FRAME_PYTHON},
      {"<frozen runpy>", WO_FRAME_PYTHON},
      {"/home/me/train.py", WO_FRAME_USER},
      {"train.py", WO_FRAME_USER},
      {"/tmp/ipykernel_12/3105878423.py", WO_FRAME_USER},
      {"/home/me/mytorch/layers.py", WO_FRAME_USER},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct wo_frame frame = {WO_VIEW("f"), wo_view_of(rows[i].file), 1};
    if (wo_frame_origin(&frame) != rows[i].origin) fail_msg("%s: %d", rows[i].file, (int)wo_frame_origin(&frame));
  }
}

/* The asker and the user's line of a stack; -1 for none. */
static void assert_sites(const struct sample_frame *frames, size_t count, int asker, int user) {
  struct memory_sample sample;
  memory_sample_init(&sample);
  const uint32_t stack = memory_sample_stack(&sample, frames, count);
  uint8_t known[16] = {0};
  for (int round = 0; round < 3; round++) {
    const struct wo_stack_sites sites = wo_stack_sites(sample.recording, round == 0 ? NULL : known, stack);
    assert_int_equal(sites.asker, asker < 0 ? WO_NO_FRAME : (uint32_t)asker);
    assert_int_equal(sites.user, user < 0 ? WO_NO_FRAME : (uint32_t)user);
  }
  memory_sample_done(&sample);
}

static void picks_the_line_that_asked(void **state) {
  (void)state;
  static const struct sample_frame forward[] = {{"at::empty", "??", 0},
                                                {"linear", "/e/site-packages/torch/nn/functional.py", 3},
                                                {"forward", "/e/site-packages/transformers/llama.py", 87},
                                                {"step", "/home/me/train.py", 5},
                                                {"main", "/home/me/train.py", 9}};
  assert_sites(forward, 5, 2, 3);
  assert_sites(forward + 3, 2, 0, 0);
  assert_sites(forward, 2, 1, -1); /* only torch: better than native */
  assert_sites(forward, 1, 0, -1);
  assert_sites(forward, 0, -1, -1);
  /* The engine's threads: the node, else the outermost operator. */
  static const struct sample_frame backward[] = {
      {"torch::unwind::unwind()", "??", 0},
      {"at::_ops::empty_strided::redispatch(long)", "??", 0},
      {"at::_ops::bmm::call(at::Tensor const&)", "??", 0},
      {"torch::autograd::generated::details::bmm_backward(at::Tensor)", "", 0},
      {"torch::autograd::generated::BmmBackward0_apply_functional(long)", "Functions.cpp", 0},
      {"torch::autograd::generated::BmmBackward0::apply(long)", "??", 0},
      {"torch::autograd::Engine::thread_main(long)", "??", 0}};
  assert_sites(backward, 7, 5, -1);
  assert_sites(backward, 4, 2, -1);
  struct memory_sample sample;
  memory_sample_init(&sample);
  const struct wo_stack_sites none = wo_stack_sites(sample.recording, NULL, WO_NO_STACK);
  assert_int_equal(none.asker, WO_NO_FRAME);
  memory_sample_done(&sample);
}

static void shortens_names(void **state) {
  (void)state;
  static const struct {
    const char *function;
    const char *expected;
  } rows[] = {
      {"forward", "forward"},
      {"at::_ops::bmm::call(at::Tensor const&)", "at::_ops::bmm::call"},
      {"at::(anonymous namespace)::create_out(long)", "at::(anonymous namespace)::create_out"},
      {"torch::autograd::generated::BmmBackward0::apply(std::vector<int>&&)", "BmmBackward0::apply"},
      {"", ""},
      {"(", "("},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct wo_frame frame = {.function = wo_view_of(rows[i].function)};
    assert_true(wo_view_is(wo_frame_function_name(&frame), rows[i].expected));
  }
  const struct wo_frame unix_file = {.file = WO_VIEW("/home/me/train.py")}, other_file = {.file = WO_VIEW("C:\\me\\train.py")},
                        bare = {.file = WO_VIEW("train.py")}, none = {0};
  assert_true(wo_view_is(wo_frame_file_name(&unix_file), "train.py"));
  assert_true(wo_view_is(wo_frame_file_name(&other_file), "train.py"));
  assert_true(wo_view_is(wo_frame_file_name(&bare), "train.py"));
  assert_int_equal(wo_frame_file_name(&none).len, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knows_origins_by_file),
      cmocka_unit_test(picks_the_line_that_asked),
      cmocka_unit_test(shortens_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
