/* SPDX-License-Identifier: Apache-2.0 */
/* What stacks say: a table of stacks as PyTorch writes them, and the facts that must come out. */
#include "cuda_replay/classes/stack_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"

#define BASE "c10::cuda::CUDACachingAllocator::Native::malloc|at::detail::empty_cuda(|"
#define TRAIN "|train@train.py:9"

static const struct {
  const char *frames;
  enum wo_op_kind kind;
  unsigned has, has_not;
} rows[] = {
    {BASE "at::_ops::bmm::redispatch(c10::DispatchKeySet)|at::_ops::bmm::call(" TRAIN, WO_OP_MATMUL,
     WO_STACK_MATMUL | WO_STACK_HAS_PYTHON | WO_STACK_HAS_NATIVE, WO_STACK_BACKWARD | WO_STACK_OPTIMIZER},
    {BASE "at::_ops::empty_like::call(|at::_ops::clone::call(|at::_ops::masked_fill_Scalar::call(" TRAIN, WO_OP_COPY, 0, 0},
    {BASE "at::_ops::empty_strided::call(|at::_ops::_to_copy::call(|at::_ops::linear::call(" TRAIN, WO_OP_CAST, WO_STACK_MATMUL,
     0},
    {BASE "at::_ops::_softmax::call(|at::_ops::softmax_int::call(" TRAIN, WO_OP_SOFTMAX, WO_STACK_SOFTMAX, 0},
    {BASE "at::_ops::ge_Tensor::call(" TRAIN, WO_OP_COMPARE, 0, 0},
    {BASE "at::_ops::var_mean_correction::call(" TRAIN, WO_OP_NORMALIZE, 0, 0},
    {BASE "at::_ops::max_dim::call(" TRAIN, WO_OP_REDUCE, 0, 0},
    {BASE "at::_ops::max_pool2d_with_indices::call(" TRAIN, WO_OP_JOIN, 0, 0},
    {BASE "at::_ops::convolution::call(|at::_ops::conv2d::call(" TRAIN, WO_OP_CONVOLUTION, WO_STACK_MATMUL, 0},
    {BASE "at::_ops::frobnicate_Tensor::call(" TRAIN, WO_OP_OTHER, 0, 0},
    {BASE "void at::native::gpu_reduce_kernel<float>(|at::_ops::sum_dim_IntList::call(" TRAIN, WO_OP_REDUCE, WO_STACK_SCRATCH, 0},
    {BASE "at::_ops::mul_Tensor::call(|at::native::index_put_with_sort_kernel(|at::_ops::index_put::call(" TRAIN, WO_OP_POINTWISE,
     0, WO_STACK_SCRATCH},
    {BASE "at::_ops::mul_Tensor::call(|torch::autograd::generated::ExpBackward0::apply(|torch::autograd::Engine::thread_main(",
     WO_OP_POINTWISE, WO_STACK_BACKWARD, WO_STACK_HAS_PYTHON},
    {BASE "at::_ops::nll_loss_backward::call(|torch::autograd::generated::NllLossBackward0::apply(", WO_OP_LOSS,
     WO_STACK_LOSS | WO_STACK_BACKWARD, 0},
    {BASE "at::_ops::zeros_like::call(|step@/site/torch/optim/adamw.py:80|wrapper@/site/torch/optim/optimizer.py:493" TRAIN,
     WO_OP_FACTORY, WO_STACK_OPTIMIZER, 0},
    {BASE "at::_ops::add_Tensor::call(|step@my/optimizers.py:8" TRAIN, WO_OP_POINTWISE, WO_STACK_OPTIMIZER, 0},
    {BASE "at::_ops::mul_Tensor::call(|step@my/muon.py:8|wrapper@/site/torch/optim/optimizer.py:493" TRAIN, WO_OP_POINTWISE,
     WO_STACK_OPTIMIZER, 0},
    {BASE "at::_ops::_foreach_mul_Scalar::call(|clip_grad_norm_@/site/torch/nn/utils/clip_grad.py:7" TRAIN, WO_OP_OTHER,
     WO_STACK_OPTIMIZER, 0},
    {BASE "at::_ops::mul_Tensor::call(|_unscale_grads_@/site/torch/amp/grad_scaler.py:7" TRAIN, WO_OP_POINTWISE,
     WO_STACK_OPTIMIZER, 0},
    {BASE "at::_ops::cat::call(|step@/site/deepspeed/runtime/zero/stage_1_and_2.py:7" TRAIN, WO_OP_JOIN, WO_STACK_OPTIMIZER, 0},
    {BASE "at::_ops::add_Tensor::call(|step@my/scheduler.py:8" TRAIN, WO_OP_POINTWISE, 0, WO_STACK_OPTIMIZER},
    {BASE "at::_ops::mm::call(|forward@model.py:3|closure@fit.py:4|step@torch/optim/adam.py:5" TRAIN, WO_OP_MATMUL, 0,
     WO_STACK_OPTIMIZER},
    {BASE "at::_ops::mm::call(|forward@model.py:3|recompute_fn@torch/utils/checkpoint.py:4|torch::autograd::Engine::x",
     WO_OP_MATMUL, WO_STACK_RECOMPUTE | WO_STACK_BACKWARD, 0},
    {BASE "at::_ops::mm::call(|forward@model.py:3|checkpoint@torch/utils/checkpoint.py:4" TRAIN, WO_OP_MATMUL, 0,
     WO_STACK_RECOMPUTE},
    {BASE "at::_ops::bmm::call(|scaled_dot_product_attention@m.py:1|forward@m.py:2" TRAIN, WO_OP_MATMUL, WO_STACK_ATTENTION, 0},
    {BASE "at::_ops::bmm::call(|forward@modeling_attn.py:1" TRAIN, WO_OP_MATMUL, WO_STACK_ATTENTION, 0},
    {BASE "at::_ops::bmm::call(|forward@attention-is-all/m.py:1" TRAIN, WO_OP_MATMUL, 0, WO_STACK_ATTENTION},
    {BASE "at::_ops::exp::call(|log_softmax@loss.py:1" TRAIN, WO_OP_POINTWISE, WO_STACK_LOSS, WO_STACK_ATTENTION},
    {BASE "at::_ops::mm::call(|a@m.py:1|b@m.py:2|c@m.py:3|d@m.py:4|compute_loss@t.py:5" TRAIN, WO_OP_MATMUL, 0, WO_STACK_LOSS},
    {BASE "at::_ops::bmm::call(|forward@m.py:1|compute_loss@t.py:5" TRAIN, WO_OP_MATMUL, 0, WO_STACK_LOSS},
    {BASE "at::_ops::exp::call(|softmax@m.py:1|cross_entropy_loss@t.py:5" TRAIN, WO_OP_POINTWISE, WO_STACK_LOSS,
     WO_STACK_ATTENTION},
    {BASE "at::_ops::exp::call(|focal_loss@m.py:1|forward@t.py:5" TRAIN, WO_OP_POINTWISE, WO_STACK_LOSS, 0},
    {BASE "c10d::ProcessGroupNCCL::x|all_gather@dist.py:1" TRAIN, WO_OP_NONE, WO_STACK_COMMUNICATION, 0},
    {BASE "at::cuda::getCUDABlasLtWorkspace(|at::_ops::mm::call(" TRAIN, WO_OP_MATMUL, WO_STACK_WORKSPACE, 0},
    {BASE "at::native::run_conv_plan(cudnnContext*, at::Tensor const&)|at::_ops::cudnn_convolution::call(" TRAIN,
     WO_OP_CONVOLUTION, WO_STACK_PLAN, WO_STACK_WORKSPACE},
    {BASE "at::_ops::empty::call(|dequantize_4bit@bnb/functional.py:3|forward@m.py:5" TRAIN, WO_OP_NONE, WO_STACK_DEQUANTIZE, 0},
    {BASE "at::_ops::_to_copy::call(|<lambda>@torch/x.py:2|_apply@torch/nn/modules/module.py:9|cuda@torch/nn/modules/module.py:8",
     WO_OP_CAST, WO_STACK_SETUP, 0},
    {BASE "at::_ops::empty_memory_format::call(|__init__@torch/nn/modules/linear.py:2|__init__@m.py:9" TRAIN, WO_OP_NONE,
     WO_STACK_SETUP, 0},
    /* `with torch.device("cuda")` wraps what a module makes; its call is another thing. */
    {BASE "__torch_function__@torch/utils/_device.py:104|__init__@torch/nn/modules/conv.py:172|__init__@m.py:9" TRAIN, WO_OP_NONE,
     WO_STACK_SETUP, WO_STACK_MODULE},
    {BASE "forward@m.py:2|_call_impl@torch/nn/modules/module.py:1762" TRAIN, WO_OP_NONE, WO_STACK_MODULE, WO_STACK_SETUP},
    {BASE "at::_ops::mm::call(|forward@m.py:2|__init__@app.py:9" TRAIN, WO_OP_MATMUL, 0, WO_STACK_SETUP},
    {BASE "at::_ops::empty::call(|void at::cuda::blas::gemm_and_bias<float>(|at::_ops::addmm::call(" TRAIN, WO_OP_MATMUL,
     WO_STACK_WORKSPACE | WO_STACK_BIAS, 0},
    /* An interpreter with debugging information: its own functions are none of the program's. */
    {BASE "at::_ops::bmm::call(|cfunction_call@Objects/methodobject.c:542|_PyEval_Vector@Python/ceval.c:6425|sdpa@m.py:1" TRAIN,
     WO_OP_MATMUL, WO_STACK_ATTENTION | WO_STACK_HAS_PYTHON, 0},
    {BASE "at::_ops::bmm::call(|cfunction_call@Objects/methodobject.c:542|_PyEval_Vector@Python/ceval.c:6425", WO_OP_MATMUL,
     WO_STACK_HAS_NATIVE, WO_STACK_HAS_PYTHON},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static void stacks_tell(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  uint32_t stacks[ROWS];
  for (size_t i = 0; i < ROWS; i++) stacks[i] = wo_made_stack(recording, rows[i].frames);
  struct wo_stack_facts_set set;
  assert_int_equal(wo_stack_facts_make(recording, &set), WO_OK);
  for (size_t i = 0; i < ROWS; i++) {
    struct wo_stack_facts facts = wo_stack_facts_of(&set, stacks[i]);
    bool holds = facts.kind == rows[i].kind && (facts.flags & rows[i].has) == rows[i].has && (facts.flags & rows[i].has_not) == 0;
    if (!holds) fail_msg("%s: kind %d, flags %x", rows[i].frames, facts.kind, (unsigned)facts.flags);
  }
  wo_stack_facts_done(&set);
  wo_recording_free(recording);
}

static void nodes_are_named_after_operators(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"at::_ops::exp::call(", "ExpBackward0"},
                                         {"at::_ops::_to_copy::call(", "ToCopyBackward0"},
                                         {"at::_ops::linalg_vector_norm::call(", "LinalgVectorNormBackward0"},
                                         {"at::_ops::_softmax::call(", "SoftmaxBackward0"},
                                         {"at::_ops::mul_Tensor::call(", "MulBackward0"}};
  struct wo_recording *recording = wo_recording_new();
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    char node[120];
    wo_made_stack(recording, pairs[i][0]);
    snprintf(node, sizeof node, "at::_ops::neg::call(|torch::autograd::generated::%s::apply(", pairs[i][1]);
    wo_made_stack(recording, node);
  }
  struct wo_stack_facts_set set;
  assert_int_equal(wo_stack_facts_make(recording, &set), WO_OK);
  for (uint32_t i = 0; i < set.count; i += 2) {
    assert_true(set.items[i].op != 0 && set.items[i].op == set.items[i + 1].node);
    assert_int_equal(set.items[i].node, 0);
  }
  wo_stack_facts_done(&set);
  wo_recording_free(recording);
}

/* In a recording of Python stacks the autograd engine's threads have none. */
static void empty_stacks_are_the_engines(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_stack_facts_set set;
  uint32_t empty = wo_made_stack(recording, ""), python = wo_made_stack(recording, "forward@m.py:1");
  assert_int_equal(wo_stack_facts_make(recording, &set), WO_OK);
  assert_true((wo_stack_facts_of(&set, empty).flags & WO_STACK_BACKWARD) != 0);
  assert_true((wo_stack_facts_of(&set, WO_NO_STACK).flags & WO_STACK_BACKWARD) != 0);
  assert_true((wo_stack_facts_of(&set, python).flags & WO_STACK_BACKWARD) == 0);
  wo_stack_facts_done(&set);
  wo_made_stack(recording, "at::_ops::mm::call(");
  assert_int_equal(wo_stack_facts_make(recording, &set), WO_OK);
  assert_int_equal(wo_stack_facts_of(&set, WO_NO_STACK).flags, 0);
  wo_stack_facts_done(&set);
  wo_recording_free(recording);
}

static void memory_out_is_told(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_stack_facts_set set;
  wo_made_stack(recording, "forward@m.py:1");
  for (long n = 1; n <= 2; n++) {
    wo_fail_alloc_at(n);
    assert_int_equal(wo_stack_facts_make(recording, &set), WO_E_NOMEM);
    wo_fail_alloc_off();
  }
  wo_recording_free(recording);
}

/* Workspaces of convolutions show by the names of their kernels only. */
static void kernels_are_hidden(void **state) {
  (void)state;
  static const struct {
    uint32_t flags;
    bool is_hidden;
  } sets[] = {
      {WO_STACK_HAS_PYTHON, false},
      {WO_STACK_HAS_PYTHON | WO_STACK_CONVOLUTION, true},
      {WO_STACK_HAS_PYTHON | WO_STACK_HAS_NATIVE | WO_STACK_CONVOLUTION, false},
      {WO_STACK_HAS_PYTHON | WO_STACK_HAS_NATIVE | WO_STACK_CONVOLUTION | WO_STACK_UNNAMED, true},
      {WO_STACK_HAS_PYTHON | WO_STACK_HAS_NATIVE | WO_STACK_UNNAMED, false},
  };
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
    const struct wo_stack_facts_set set = {.all_flags = sets[i].flags};
    assert_int_equal(wo_stack_facts_hide_kernels(&set), sets[i].is_hidden);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_are_hidden),
      cmocka_unit_test(stacks_tell),
      cmocka_unit_test(nodes_are_named_after_operators),
      cmocka_unit_test(empty_stacks_are_the_engines),
      cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
