/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of a made step, and the rules one by one on small patterns. */
#include "cuda_replay/classes/classify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "tests/support/replay/made_step.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "tests/support/replay/class_rules.h"

#define ENGINE "|torch::autograd::Engine::thread_main("
#define TRAIN "|train@train.py:1"

static const struct wo_made_shape shape = {.batch = 3, .length = 100, .hidden = 96, .heads = 4, .layers = 3, .vocabulary = 1000};

static uint64_t parameter_bytes(void) {
  return shape.layers * (12 * shape.hidden * shape.hidden + 2 * shape.hidden) * 4;
}

static void classes_of_a_step(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 4; variant++) {
    struct wo_made_shape made = shape;
    made.is_mixed = (variant & 1) != 0;
    made.is_in_place = (variant & 2) != 0;
    struct wo_made_step step = wo_made_step_make(&made);
    struct wo_classes classes;
    uint64_t bytes[WO_CLASS_COUNT_] = {0}, born_gradients = 0, states = 0;
    assert_int_equal(wo_classify(&step.pattern, NULL, &classes), WO_OK);
    for (size_t i = 0; i < step.pattern.instances.count; i++) {
      const struct wo_instance *instance = &step.pattern.instances.items[i];
      bytes[instance->class_] += instance->size_bytes;
      if (classes.marks.items[i].rule == WO_CLASS_RULE_GRADIENT) born_gradients += instance->size_bytes;
      if (instance->class_ == WO_CLASS_OPTIMIZER) states += instance->size_bytes;
    }
    assert_int_equal(born_gradients, parameter_bytes());
    assert_int_equal(bytes[WO_CLASS_GRADIENT], 2 * parameter_bytes()); /* the last step's, too */
    assert_int_equal(states, 2 * parameter_bytes());
    /* Embeddings have no gradient here, so they count as what stays. */
    uint64_t casts = made.is_mixed ? shape.layers * 12 * shape.hidden * shape.hidden * 2 : 0;
    assert_int_equal(bytes[WO_CLASS_PARAMETER], parameter_bytes() + 4 * shape.vocabulary * shape.hidden + casts);
    assert_true(bytes[WO_CLASS_LOGITS] >= 2 * 4 * shape.batch * shape.length * shape.vocabulary);
    assert_true(bytes[WO_CLASS_ACTIVATION] > 0 && bytes[WO_CLASS_UNKNOWN] == 0);
    wo_classes_done(&classes);
    wo_made_step_done(&step);
  }
}

/* ---- Small patterns ---- */

struct row {
  const char *frames; /* NULL: alive at the start */
  uint64_t size_bytes;
  int dies_after; /* the row after whose birth it is freed; -1: never */
  enum wo_class_rule rule;
};

static void check_rows(const struct row *rows, size_t count, enum wo_made_stacks stacks) {
  struct wo_recording *recording = wo_recording_new();
  struct wo_alloc_pattern pattern = {.recording = recording};
  uint32_t instances[32];
  for (size_t i = 0; i < count; i++) {
    struct wo_instance instance = {.size_bytes = rows[i].size_bytes, .stack = WO_NO_STACK};
    if (rows[i].frames == NULL) {
      assert_true(wo_alloc_pattern_add_start(&pattern, instance));
      instances[i] = (uint32_t)pattern.instances.count - 1;
      continue;
    }
    if (stacks != WO_MADE_NONE && rows[i].frames[0] != '\0') instance.stack = wo_made_stack(recording, rows[i].frames);
    assert_true(wo_alloc_pattern_add_alloc(&pattern, instance, WO_NO_ENTRY, &instances[i]));
    for (size_t j = 0; j < i + 1; j++) {
      if (rows[j].dies_after == (int)i) assert_true(wo_alloc_pattern_add_free(&pattern, instances[j]));
    }
  }
  struct wo_classes classes;
  assert_true(wo_alloc_pattern_is_valid(&pattern));
  assert_int_equal(wo_classify(&pattern, NULL, &classes), WO_OK);
  for (size_t i = 0; i < count; i++) {
    enum wo_class_rule rule = (enum wo_class_rule)classes.marks.items[instances[i]].rule;
    if (rule != rows[i].rule) fail_msg("row %zu: %s, not %s", i, class_rules[rule].text, class_rules[rows[i].rule].text);
  }
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static void rules_by_stack_and_life(void **state) {
  (void)state;
  static const struct row rows[] = {
      {NULL, 4000, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 4000, -1, WO_CLASS_RULE_START_STATE}, /* the second of a size with one gradient */
      {NULL, 4000, 3, WO_CLASS_RULE_START_GRADIENT},
      {"at::_ops::_to_copy::call(|get_batch@data.py:1" TRAIN, 800, 7, WO_CLASS_RULE_INPUT},
      {"at::_ops::mm::call(|forward@m.py:1" TRAIN, 5000, 8, WO_CLASS_RULE_ACTIVATION},
      {"at::_ops::add_Tensor::call(|forward@m.py:2" TRAIN, 5000, 6, WO_CLASS_RULE_FORWARD_TEMPORARY},
      {"getCurrentCUDABlasHandle|at::_ops::mm::call(|forward@m.py:1" TRAIN, 8519680, -1, WO_CLASS_RULE_WORKSPACE},
      {"c10d::Reducer::x" ENGINE, 9000, -1, WO_CLASS_RULE_COMMUNICATION},
      {"at::_ops::mm::call(|torch::autograd::generated::MmBackward0::apply(" ENGINE, 5000, 9, WO_CLASS_RULE_BACKWARD_TEMPORARY},
      {"at::_ops::mm::call(|torch::autograd::generated::MmBackward0::apply(" ENGINE, 4000, -1, WO_CLASS_RULE_GRADIENT},
      {"at::_ops::mm::call(|forward@m.py:1|recompute_fn@torch/utils/checkpoint.py:2" ENGINE, 5000, 11, WO_CLASS_RULE_RECOMPUTED},
      {"at::_ops::zeros_like::call(|step@optimizer.py:3" TRAIN, 4000, -1, WO_CLASS_RULE_OPTIMIZER_STATE},
      {"at::_ops::sqrt::call(|step@optimizer.py:4" TRAIN, 4000, 13, WO_CLASS_RULE_OPTIMIZER_TEMPORARY},
      {"at::_ops::sqrt::call(|step@optimizer.py:4" TRAIN, 4000, 13, WO_CLASS_RULE_OPTIMIZER_TEMPORARY},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* What becomes a gradient through copies belongs to the parameter; the walk ends at the product that made it. */
static void gradients_have_sources(void **state) {
  (void)state;
  static const struct row rows[] = {
      {NULL, 8000, -1, WO_CLASS_RULE_PARAMETER},
      {"at::_ops::mul_Tensor::call(|torch::autograd::generated::MulBackward0::apply(" ENGINE, 4000, 2,
       WO_CLASS_RULE_BACKWARD_TEMPORARY},
      {"at::_ops::mm::call(|torch::autograd::generated::MmBackward0::apply(" ENGINE, 4000, 3, WO_CLASS_RULE_GRADIENT_SOURCE},
      {"at::_ops::_to_copy::call(|torch::autograd::generated::ToCopyBackward0::apply(" ENGINE, 8000, 4,
       WO_CLASS_RULE_GRADIENT_SOURCE},
      {"at::_ops::new_empty_strided::call(" ENGINE, 8000, -1, WO_CLASS_RULE_GRADIENT},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* With the stacks of Python alone, backward has none, and as many elements may be an accident. */
static void gradients_without_stacks_have_sources_too(void **state) {
  (void)state;
  static const struct row rows[] = {
      {NULL, 400000, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 400000, -1, WO_CLASS_RULE_PARAMETER},
      {"forward@m.py:1" TRAIN, 800000, 7, WO_CLASS_RULE_ACTIVATION},
      {"", 800000, 5, WO_CLASS_RULE_BACKWARD_TEMPORARY}, /* of the output; the gradient of the input comes next */
      {"", 6000, 7, WO_CLASS_RULE_BACKWARD_TEMPORARY},
      {"", 400000, -1, WO_CLASS_RULE_GRADIENT},
      {"", 200000, 7, WO_CLASS_RULE_GRADIENT_SOURCE}, /* of two bytes, and cast */
      {"", 400000, -1, WO_CLASS_RULE_GRADIENT},
      {"step@optimizer.py:3" TRAIN, 400000, -1, WO_CLASS_RULE_OPTIMIZER_STATE},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_PYTHON);
}

/* Two products make the gradients of input and weight, then both are cast; scratch comes between. What another birth parts from
 * the gradient was not made into it. */
static void gradients_are_cast_behind_others(void **state) {
  (void)state;
  static const struct row rows[] = {
      {NULL, 400000, -1, WO_CLASS_RULE_PARAMETER},
      {"forward@m.py:1" TRAIN, 800000, 7, WO_CLASS_RULE_ACTIVATION},
      {"", 200000, 4, WO_CLASS_RULE_BACKWARD_TEMPORARY}, /* of the output */
      {"", 200000, 7, WO_CLASS_RULE_GRADIENT_SOURCE},    /* of the weight */
      {"", 50000, 6, WO_CLASS_RULE_BACKWARD_TEMPORARY},  /* of the input */
      {"", 300000, 5, WO_CLASS_RULE_BACKWARD_TEMPORARY}, /* scratch */
      {"", 100000, 9, WO_CLASS_RULE_BACKWARD_TEMPORARY}, /* the input's, cast */
      {"", 400000, -1, WO_CLASS_RULE_GRADIENT},          /* the weight's, cast */
      {"step@optimizer.py:3" TRAIN, 400000, -1, WO_CLASS_RULE_OPTIMIZER_STATE},
      {"step@optimizer.py:3" TRAIN, 500, 9, WO_CLASS_RULE_OPTIMIZER_TEMPORARY},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_PYTHON);
}

/* Two casts of a product of which either could be the weight: the order of the other products decides. */
static void weights_are_told_by_order(void **state) {
  (void)state;
#define CAST "at::_ops::_to_copy::call(|at::_ops::linear::call(|forward@m.py:"
  static const struct row rows[] = {
      {NULL, 8000, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 6000, -1, WO_CLASS_RULE_PARAMETER},
      {CAST "1" TRAIN, 5000, -1, WO_CLASS_RULE_ACTIVATION}, /* x, w */
      {CAST "1" TRAIN, 3000, -1, WO_CLASS_RULE_WEIGHT_COPY},
      {CAST "2" TRAIN, 4000, -1, WO_CLASS_RULE_ACTIVATION},
      {CAST "2" TRAIN, 4000, -1, WO_CLASS_RULE_WEIGHT_COPY},
      {CAST "3" TRAIN, 4000, -1, WO_CLASS_RULE_ACTIVATION},
  };
#undef CAST
  /* The last one stands alone: with one parameter of its size, and that one found, it is none. */
  struct row last[sizeof rows / sizeof rows[0]];
  memcpy(last, rows, sizeof rows);
  last[6].rule = WO_CLASS_RULE_MAYBE_WEIGHT_COPY;
  check_rows(last, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* A bias is cast before its weight, and is neither the weight nor the input of its product. */
static void a_bias_is_no_operand(void **state) {
  (void)state;
#define CAST "at::_ops::_to_copy::call(|at::_ops::linear::call(|forward@m.py:"
#define PRODUCT "at::_ops::addmm::call(|at::_ops::linear::call(|forward@m.py:"
  static const struct row rows[] = {
      {NULL, 128, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 6000, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 8000, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 8000, -1, WO_CLASS_RULE_PARAMETER},
      {CAST "1" TRAIN, 64, -1, WO_CLASS_RULE_WEIGHT_COPY}, /* the input is of two bytes already */
      {CAST "1" TRAIN, 4000, -1, WO_CLASS_RULE_WEIGHT_COPY},
      {PRODUCT "1" TRAIN, 4000, -1, WO_CLASS_RULE_ACTIVATION},
      {CAST "2" TRAIN, 64, -1, WO_CLASS_RULE_WEIGHT_COPY},
      {CAST "2" TRAIN, 4000, -1, WO_CLASS_RULE_WEIGHT_COPY},
      {CAST "2" TRAIN, 4000, -1, WO_CLASS_RULE_ACTIVATION},
      {PRODUCT "2" TRAIN, 4000, -1, WO_CLASS_RULE_ACTIVATION},
      {CAST "3" TRAIN, 3000, -1, WO_CLASS_RULE_WEIGHT_COPY}, /* another product shows that weights come first */
      {CAST "3" TRAIN, 5000, -1, WO_CLASS_RULE_ACTIVATION},
      {"at::_ops::mm::call(|at::_ops::linear::call(|forward@m.py:3" TRAIN, 5000, -1, WO_CLASS_RULE_ACTIVATION},
  };
#undef CAST
#undef PRODUCT
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* Scores are products as well, and both of their operands may be as large as a weight: layers have theirs first. */
static void operands_of_scores_are_no_weights(void **state) {
  (void)state;
#define CAST(op, line) "at::_ops::_to_copy::call(|at::_ops::" op "::call(|forward@m.py:" line TRAIN
  static const struct row rows[] = {
      {NULL, 8000, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 6000, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 2000, -1, WO_CLASS_RULE_PARAMETER},
      {CAST("linear", "1"), 3000, -1, WO_CLASS_RULE_WEIGHT_COPY}, /* w, x */
      {CAST("linear", "1"), 5000, -1, WO_CLASS_RULE_ACTIVATION},
      {CAST("matmul", "2"), 4000, -1, WO_CLASS_RULE_MAYBE_WEIGHT_COPY}, /* queries and keys */
      {CAST("matmul", "2"), 4000, -1, WO_CLASS_RULE_MAYBE_WEIGHT_COPY},
      {CAST("linear", "3"), 4000, -1, WO_CLASS_RULE_WEIGHT_COPY}, /* the input is of two bytes already */
      {CAST("bmm", "4"), 1000, -1, WO_CLASS_RULE_WEIGHT_COPY},    /* of experts: no layer has it */
  };
#undef CAST
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* Stacks of Python only: a line makes bias, weight, input and product. With sizes that are all alike order decides; a line
 * without a bias must have the sizes of a product. */
static void a_line_tells_its_weight(void **state) {
  (void)state;
#define LINE(n) "forward@linear.py:1|forward@m.py:" #n TRAIN
  static const struct row rows[] = {
      {NULL, 128, -1, WO_CLASS_RULE_PARAMETER},
      {NULL, 4096, -1, WO_CLASS_RULE_PARAMETER}, /* 32 x 32 in 4 bytes */
      {NULL, 8192, -1, WO_CLASS_RULE_PARAMETER}, /* 64 x 32 */
      {LINE(1), 64, -1, WO_CLASS_RULE_WEIGHT_COPY},
      {LINE(1), 2048, -1, WO_CLASS_RULE_WEIGHT_COPY},
      {LINE(1), 2048, -1, WO_CLASS_RULE_ACTIVATION}, /* 32 rows */
      {LINE(1), 2048, -1, WO_CLASS_RULE_ACTIVATION},
      {LINE(2), 4096, -1, WO_CLASS_RULE_WEIGHT_COPY}, /* 64 x 32; 16 rows */
      {LINE(2), 1024, -1, WO_CLASS_RULE_ACTIVATION},
      {LINE(2), 2048, -1, WO_CLASS_RULE_ACTIVATION},
      {LINE(3), 4096, -1, WO_CLASS_RULE_MAYBE_WEIGHT_COPY}, /* no product has these sizes */
      {LINE(3), 4000, -1, WO_CLASS_RULE_ACTIVATION},
      {LINE(3), 600, -1, WO_CLASS_RULE_ACTIVATION},
  };
#undef LINE
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

#define SETUP "at::_ops::_to_copy::call(|_apply@torch/nn/modules/module.py:9"
#define FORWARD "at::_ops::mul_Tensor::call(|forward@m.py:1" TRAIN
#define BACKWARD "at::_ops::mul_Tensor::call(|torch::autograd::generated::MulBackward0::apply(" ENGINE
#define STEP "at::_ops::zeros_like::call(|step@optimizer.py:3" TRAIN

/* The functions of a program return, and all that it had goes: what lasted to then was there for good. */
static void a_program_that_ends(void **state) {
  (void)state;
  static const struct row rows[] = {
      {SETUP, 4000, 5, WO_CLASS_RULE_START_SETUP},        {FORWARD, 5000, 2, WO_CLASS_RULE_ACTIVATION},
      {BACKWARD, 4000, 4, WO_CLASS_RULE_GRADIENT},        {STEP, 4000, 5, WO_CLASS_RULE_OPTIMIZER_STATE},
      {STEP, 4000, 4, WO_CLASS_RULE_OPTIMIZER_TEMPORARY}, {STEP, 4000, 5, WO_CLASS_RULE_OPTIMIZER_STATE},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* The gradients of a step are as many as parameters, however many steps there are; the rest are states. */
static void steps_share_their_parameters(void **state) {
  (void)state;
  static const struct row rows[] = {
      {NULL, 4000, -1, WO_CLASS_RULE_PARAMETER},         {NULL, 4000, -1, WO_CLASS_RULE_START_STATE},
      {NULL, 4000, -1, WO_CLASS_RULE_START_STATE},       {BACKWARD, 4000, 4, WO_CLASS_RULE_GRADIENT},
      {STEP, 500, 4, WO_CLASS_RULE_OPTIMIZER_TEMPORARY}, {FORWARD, 5000, 6, WO_CLASS_RULE_ACTIVATION},
      {BACKWARD, 4000, -1, WO_CLASS_RULE_GRADIENT},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* A step that makes nothing shows by nothing but the gradients that go behind backward. */
static void gradients_of_a_silent_step(void **state) {
  (void)state;
  static const struct row rows[] = {
      {SETUP, 4000, -1, WO_CLASS_RULE_START_SETUP},
      {FORWARD, 5000, 2, WO_CLASS_RULE_ACTIVATION},
      {BACKWARD, 4000, 4, WO_CLASS_RULE_GRADIENT},
      {BACKWARD, 4000, 3, WO_CLASS_RULE_BACKWARD_TEMPORARY}, /* goes before the last one is born */
      {BACKWARD, 700, 4, WO_CLASS_RULE_BACKWARD_TEMPORARY},
      {FORWARD, 5000, 7, WO_CLASS_RULE_ACTIVATION},
      {BACKWARD, 2000, 7, WO_CLASS_RULE_BACKWARD_TEMPORARY}, /* is cast at once */
      {BACKWARD, 4000, -1, WO_CLASS_RULE_GRADIENT},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* A recording from the middle of a run: what it begins with and frees at the end of the program was there for good, also if parts
 * of the model stay. */
static void a_late_recording_of_a_program_that_ends(void **state) {
  (void)state;
  static const struct row rows[] = {
      {NULL, 4000, 7, WO_CLASS_RULE_PARAMETER},          {NULL, 4000, 7, WO_CLASS_RULE_START_STATE},
      {NULL, 90000, -1, WO_CLASS_RULE_PARAMETER},        {BACKWARD, 4000, 4, WO_CLASS_RULE_GRADIENT},
      {STEP, 500, 4, WO_CLASS_RULE_OPTIMIZER_TEMPORARY}, {FORWARD, 5000, 6, WO_CLASS_RULE_ACTIVATION},
      {BACKWARD, 4000, 7, WO_CLASS_RULE_GRADIENT},       {STEP, 500, 7, WO_CLASS_RULE_OPTIMIZER_TEMPORARY},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* What comes behind products of different sizes, is always as large, and goes before anything else is born is a workspace; what
 * grows with the product is none. */
static void workspaces_come_behind_products(void **state) {
  (void)state;
#define LINE(n) "forward@linear.py:1|forward@m.py:" #n TRAIN
  static const struct row rows[] = {
      {NULL, 300, -1, WO_CLASS_RULE_PARAMETER},           {LINE(1), 8000, -1, WO_CLASS_RULE_ACTIVATION},
      {LINE(1), 1000, 2, WO_CLASS_RULE_WORKSPACE},        {LINE(2), 2000, -1, WO_CLASS_RULE_ACTIVATION},
      {LINE(2), 1000, 4, WO_CLASS_RULE_WORKSPACE},        {LINE(3), 8000, -1, WO_CLASS_RULE_ACTIVATION},
      {LINE(3), 700, 6, WO_CLASS_RULE_FORWARD_TEMPORARY},
  };
#undef LINE
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_PYTHON);
}

/* A model that is made on the card makes no casts, whatever the sizes say. */
static void a_model_makes_no_casts(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"__init__@torch/nn/modules/linear.py:9" TRAIN, 8000, -1, WO_CLASS_RULE_START_SETUP},
      {"__init__@torch/nn/modules/linear.py:9" TRAIN, 4000, -1, WO_CLASS_RULE_START_SETUP},
      {"forward@m.py:1" TRAIN, 5000, 4, WO_CLASS_RULE_ACTIVATION},
      {"", 8000, -1, WO_CLASS_RULE_GRADIENT},
      {"", 4000, -1, WO_CLASS_RULE_GRADIENT},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_PYTHON);
}

/* The end of a step only frees as well; without a model that goes it is no end of the program. */
static void a_step_that_ends(void **state) {
  (void)state;
  static const struct row rows[] = {
      {NULL, 4000, -1, WO_CLASS_RULE_PARAMETER},
      {FORWARD, 5000, 2, WO_CLASS_RULE_ACTIVATION},
      {BACKWARD, 4000, 3, WO_CLASS_RULE_GRADIENT},
      {STEP, 4000, 3, WO_CLASS_RULE_OPTIMIZER_TEMPORARY},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* The data of the last pass is still there when the program is recorded; that of the passes before it was freed. */
static void a_variable_of_the_last_pass(void **state) {
  (void)state;
  static const struct row rows[] = {
      {SETUP, 4000, -1, WO_CLASS_RULE_START_SETUP},         {FORWARD, 5000, 3, WO_CLASS_RULE_ACTIVATION},
      {BACKWARD, 4000, -1, WO_CLASS_RULE_GRADIENT},         {FORWARD, 5000, -1, WO_CLASS_RULE_ACTIVATION},
      {BACKWARD, 700, 5, WO_CLASS_RULE_BACKWARD_TEMPORARY}, {STEP, 4000, -1, WO_CLASS_RULE_OPTIMIZER_STATE},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

/* What a pass made that did not come to its end still belongs to that pass; what outlived a whole one stays. */
static void a_pass_that_was_cut_off(void **state) {
  (void)state;
  static const struct row rows[] = {
      {SETUP, 4000, -1, WO_CLASS_RULE_START_SETUP},  {FORWARD, 5000, -1, WO_CLASS_RULE_PERSISTENT},
      {BACKWARD, 4000, -1, WO_CLASS_RULE_GRADIENT},  {STEP, 4000, -1, WO_CLASS_RULE_OPTIMIZER_STATE},
      {FORWARD, 5000, -1, WO_CLASS_RULE_ACTIVATION}, {BACKWARD, 700, -1, WO_CLASS_RULE_BACKWARD_TEMPORARY},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_BOTH);
}

static void without_stacks_life_and_size_remain(void **state) {
  (void)state;
  static const struct row rows[] = {
      {NULL, 4000, -1, WO_CLASS_RULE_PARAMETER},      {"x", 4000, -1, WO_CLASS_RULE_SIZE_OF_PARAMETER},
      {"x", 700, -1, WO_CLASS_RULE_PERSISTENT},       {"x", 900, 4, WO_CLASS_RULE_FORWARD_TEMPORARY},
      {"x", 900, 4, WO_CLASS_RULE_FORWARD_TEMPORARY},
  };
  check_rows(rows, sizeof rows / sizeof rows[0], WO_MADE_NONE);
}

static void annotations_tell_the_step(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_trace *trace = wo_recording_trace(recording, 0);
  struct wo_alloc_pattern pattern;
  struct wo_classes classes;
  static struct wo_annotation marks[] = {{WO_VIEW("Optimizer.step#Adam.step"), 15, 0, true},
                                         {WO_VIEW("Optimizer.step#Adam.step"), 25, 0, false}};
  for (int i = 0; i < 3; i++) {
    struct wo_trace_entry entry = {.address = 4096u * (unsigned)(i + 1),
                                   .size_bytes = 512,
                                   .time_us = 10 + 10 * i,
                                   .stack = WO_NO_STACK,
                                   .action = WO_ACTION_ALLOC};
    assert_int_equal(wo_trace_add(trace, entry), WO_OK);
  }
  recording->annotations.items = marks;
  recording->annotations.count = 2;
  assert_int_equal(wo_alloc_pattern_make(recording, trace, &pattern, NULL), WO_OK);
  assert_int_equal(wo_classify(&pattern, trace, &classes), WO_OK);
  assert_int_equal(classes.marks.items[0].phase, WO_PHASE_FORWARD);
  assert_int_equal(classes.marks.items[1].rule, WO_CLASS_RULE_OPTIMIZER_STATE);
  assert_int_equal(classes.marks.items[2].phase, WO_PHASE_FORWARD);
  recording->annotations.items = NULL;
  recording->annotations.count = 0;
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static void rules_are_told(void **state) {
  (void)state;
  for (int rule = 0; rule < WO_CLASS_RULE_COUNT_; rule++) {
    assert_true(strlen(class_rules[rule].text) > 0);
    unsigned pct = class_rules[rule].confidence_pct;
    assert_true(pct >= 1 && pct <= 99);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_of_a_step),
      cmocka_unit_test(rules_by_stack_and_life),
      cmocka_unit_test(gradients_have_sources),
      cmocka_unit_test(gradients_without_stacks_have_sources_too),
      cmocka_unit_test(gradients_are_cast_behind_others),
      cmocka_unit_test(weights_are_told_by_order),
      cmocka_unit_test(a_bias_is_no_operand),
      cmocka_unit_test(operands_of_scores_are_no_weights),
      cmocka_unit_test(a_line_tells_its_weight),
      cmocka_unit_test(a_program_that_ends),
      cmocka_unit_test(steps_share_their_parameters),
      cmocka_unit_test(gradients_of_a_silent_step),
      cmocka_unit_test(a_late_recording_of_a_program_that_ends),
      cmocka_unit_test(workspaces_come_behind_products),
      cmocka_unit_test(a_model_makes_no_casts),
      cmocka_unit_test(a_step_that_ends),
      cmocka_unit_test(a_variable_of_the_last_pass),
      cmocka_unit_test(a_pass_that_was_cut_off),
      cmocka_unit_test(without_stacks_life_and_size_remain),
      cmocka_unit_test(annotations_tell_the_step),
      cmocka_unit_test(rules_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
