/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the step down in the order in which PyTorch would ask: forward, loss, backward in reverse, the optimizer. */
#include "tests/support/replay/made_step.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "parsers/base/vec.h"

#define ENGINE "torch::autograd::Engine::evaluate_function(|torch::autograd::Engine::thread_main("
#define LAYER "|forward@layer.py:20|_call_impl@torch/nn/modules/module.py:1|forward@model.py:9|train@train.py:5"
#define ATTENTION "|attention@layer.py:40|forward@layer.py:21|forward@model.py:9|train@train.py:5"
#define TRAIN "|train@train.py:6"
#define LOSS "|cross_entropy@loss.py:3|train@train.py:7"
#define STEP "|step@optimizers.py:30|train@train.py:9"

/* Holds also in builds without asserts. */
static void require(bool holds) {
  if (!holds) abort();
}

/* ---- Stacks ---- */

/* One frame's text to its parts. A Python frame has '@' and a line. */
static struct wo_frame read_frame(struct wo_view text) {
  size_t at = wo_view_find_char(text, '@', 0), colon = wo_view_find_last(text, WO_VIEW(":"), text.len);
  if (at == WO_NOT_FOUND) return (struct wo_frame){text, WO_VIEW("??"), 0};
  require(colon != WO_NOT_FOUND && colon > at);
  uint32_t line = 0;
  for (size_t i = colon + 1; i < text.len; i++) line = line * 10 + (uint32_t)(text.ptr[i] - '0');
  return (struct wo_frame){wo_view_sub(text, 0, at), wo_view_sub(text, at + 1, colon), line};
}

static uint32_t add_frame(struct wo_recording *recording, struct wo_frame frame) {
  for (uint32_t i = 0; i < recording->frames.count; i++) {
    const struct wo_frame *old = &recording->frames.items[i];
    if (old->line == frame.line && wo_view_equal(old->function, frame.function) && wo_view_equal(old->file, frame.file)) return i;
  }
  bool has_room = WO_VEC_RESERVE(&recording->frames, 1, SIZE_MAX);
  require(has_room);
  recording->frames.items[recording->frames.count] = frame;
  return (uint32_t)recording->frames.count++;
}

uint32_t wo_made_stack(struct wo_recording *recording, const char *frames) {
  struct wo_view rest = wo_arena_copy(&recording->arena, wo_view_of(frames));
  struct wo_stack stack = {(uint32_t)recording->stack_frames.count, 0};
  while (rest.len > 0) {
    uint32_t frame = add_frame(recording, read_frame(wo_view_cut(&rest, '|')));
    bool has_room = WO_VEC_RESERVE(&recording->stack_frames, 1, SIZE_MAX);
    require(has_room);
    recording->stack_frames.items[recording->stack_frames.count++] = frame;
    stack.count++;
  }
  for (uint32_t i = 0; i < recording->stacks.count; i++) {
    const struct wo_stack *old = &recording->stacks.items[i];
    size_t bytes = stack.count * sizeof recording->stack_frames.items[0];
    if (old->count != stack.count ||
        memcmp(&recording->stack_frames.items[old->first], &recording->stack_frames.items[stack.first], bytes) != 0) {
      continue;
    }
    recording->stack_frames.count = stack.first;
    return i;
  }
  bool has_room = WO_VEC_RESERVE(&recording->stacks, 1, SIZE_MAX);
  require(has_room);
  recording->stacks.items[recording->stacks.count] = stack;
  return (uint32_t)recording->stacks.count++;
}

/* ---- Requests ---- */

struct maker {
  const struct wo_made_shape *shape;
  struct wo_made_step step;
  uint32_t saved[4096];      /* instances that backward needs, in the order of birth */
  bool is_weight[4096];      /* those that are casts of weights: backward makes no gradient of their shape here */
  const char *made_by[4096]; /* the frames that made them */
  size_t saved_count;
  const char *last_frames;
  uint32_t gradients[4096];
  size_t gradient_count;
};

/* Without frames of C++, or without any; without telling names. */
static uint32_t stack_of(struct maker *maker, const char *frames) {
  char unnamed[512];
  if (maker->shape->is_unnamed) {
    size_t at = 0;
    for (struct wo_view rest = wo_view_of(frames); rest.len > 0;) {
      struct wo_view frame = wo_view_cut(&rest, '|');
      bool is_named = wo_view_starts(frame, "attention@") || wo_view_starts(frame, "softmax@");
      if (is_named) frame = wo_view_skip(frame, wo_view_find_char(frame, '@', 0) - 1);
      require(at + frame.len + 2 < sizeof unnamed);
      if (at > 0) unnamed[at++] = '|';
      memcpy(&unnamed[at], frame.ptr, frame.len);
      at += frame.len;
    }
    unnamed[at] = 0;
    frames = unnamed;
  }
  char python[512] = "";
  if (maker->shape->stacks == WO_MADE_NONE) return WO_NO_STACK;
  if (maker->shape->stacks == WO_MADE_BOTH) return wo_made_stack(maker->step.recording, frames);
  size_t length = 0;
  for (struct wo_view rest = wo_view_of(frames); rest.len > 0;) {
    struct wo_view frame = wo_view_cut(&rest, '|');
    if (wo_view_find_char(frame, '@', 0) == WO_NOT_FOUND) continue;
    require(length + frame.len + 2 < sizeof python);
    if (length > 0) python[length++] = '|';
    memcpy(&python[length], frame.ptr, frame.len);
    length += frame.len;
  }
  python[length] = 0;
  return length == 0 ? WO_NO_STACK : wo_made_stack(maker->step.recording, python);
}

static uint32_t make(struct maker *maker, uint64_t size_bytes, const char *frames) {
  uint32_t instance;
  maker->last_frames = frames;
  struct wo_instance made = {.size_bytes = size_bytes, .stack = stack_of(maker, frames)};
  bool is_made = wo_alloc_pattern_add_alloc(&maker->step.pattern, made, WO_NO_ENTRY, &instance);
  require(is_made);
  return instance;
}

static void drop(struct maker *maker, uint32_t instance) {
  bool is_made = wo_alloc_pattern_add_free(&maker->step.pattern, instance);
  require(is_made);
}

/* Keeps an instance for backward. */
static void keep(struct maker *maker, uint32_t instance) {
  require(maker->saved_count < 4096);
  maker->saved[maker->saved_count] = instance;
  maker->made_by[maker->saved_count++] = maker->last_frames;
}

static uint32_t save(struct maker *maker, uint64_t size_bytes, const char *frames) {
  keep(maker, make(maker, size_bytes, frames));
  return maker->saved[maker->saved_count - 1];
}

static uint64_t parameter_sizes(const struct wo_made_shape *shape, uint64_t sizes[10]) {
  uint64_t hidden = shape->hidden;
  for (unsigned i = 0; i < 4; i++) sizes[i] = 4 * hidden * hidden;
  sizes[4] = sizes[5] = 16 * hidden * hidden;
  sizes[6] = sizes[7] = 4 * hidden;
  return 8;
}

/* ---- Forward ---- */

static uint64_t tokens(const struct wo_made_shape *shape) {
  return shape->batch * shape->length;
}

/* A linear layer: casts under autocast, and the product. Returns the product's instance. */
static uint32_t linear(struct maker *maker, uint64_t in, uint64_t out, bool is_cast, const char *product, const char *cast) {
  uint64_t rows = tokens(maker->shape), width = maker->shape->is_mixed ? 2 : 4;
  if (maker->shape->is_mixed && is_cast) save(maker, rows * in * 2, cast);
  if (maker->shape->is_mixed) {
    save(maker, in * out * 2, cast);
    maker->is_weight[maker->saved_count - 1] = true;
  }
  return make(maker, rows * out * width, product);
}

/* max, sub, exp, sum, div over scores that are masked already. */
static void manual_softmax(struct maker *maker, uint64_t rows, uint64_t width, uint32_t masked) {
  uint64_t square = rows * maker->shape->length;
  uint32_t largest = make(maker, rows * width, "at::_ops::max_dim::call(|softmax@layer.py:50" ATTENTION);
  save(maker, rows * 8, "at::_ops::max_dim::call(|softmax@layer.py:50" ATTENTION);
  uint32_t shifted = make(maker, square * width, "at::_ops::sub_Tensor::call(|softmax@layer.py:51" ATTENTION);
  drop(maker, masked);
  drop(maker, largest);
  save(maker, square * width, "at::_ops::exp::call(|softmax@layer.py:52" ATTENTION);
  drop(maker, shifted);
  save(maker, rows * width, "at::_ops::sum_dim_IntList::call(|softmax@layer.py:53" ATTENTION);
  save(maker, square * width, "at::_ops::div_Tensor::call(|softmax@layer.py:54" ATTENTION);
}

static void forward_attention(struct maker *maker) {
  const struct wo_made_shape *shape = maker->shape;
  uint64_t width = shape->is_mixed ? 2 : 4, rows = tokens(shape) * shape->heads, square = rows * shape->length;
  if (shape->is_fused) {
    save(maker, tokens(shape) * shape->hidden * width, "at::_ops::_scaled_dot_product_flash_attention::call(" ATTENTION);
    save(maker, rows * 4, "at::_ops::_scaled_dot_product_flash_attention::call(" ATTENTION);
    return;
  }
  uint32_t scores = make(maker, square * width, "at::_ops::bmm::call(" ATTENTION);
  uint32_t scaled = make(maker, square * width, "at::_ops::div_Tensor::call(|div@layer.py:41" ATTENTION);
  drop(maker, scores);
  uint32_t mask = make(maker, shape->length * shape->length, "at::_ops::ge_Tensor::call(|mask@layer.py:42" ATTENTION);
  uint32_t masked = make(maker, square * width, "at::_ops::masked_fill_Scalar::call(|fill@layer.py:43" ATTENTION);
  drop(maker, scaled);
  drop(maker, mask);
  if (shape->is_manual) {
    manual_softmax(maker, rows, width, masked);
  } else {
    save(maker, square * width, "at::_ops::_softmax::redispatch(|at::_ops::softmax_int::call(|softmax@layer.py:44" ATTENTION);
    drop(maker, masked);
  }
  save(maker, tokens(shape) * shape->hidden * width, "at::_ops::bmm::call(|mix@layer.py:45" ATTENTION);
}

static void forward_layer(struct maker *maker) {
  const struct wo_made_shape *shape = maker->shape;
  uint64_t wide = tokens(shape) * shape->hidden * 4;
  uint32_t squares = make(maker, wide, "at::_ops::pow_Tensor_Scalar::call(|norm@layer.py:10" LAYER);
  save(maker, tokens(shape) * 4, "at::_ops::mean_dim::call(|norm@layer.py:11" LAYER);
  drop(maker, squares);
  save(maker, wide, "at::_ops::mul_Tensor::call(|norm@layer.py:12" LAYER);
  for (unsigned i = 0; i < 3; i++) {
    uint32_t made = linear(maker, shape->hidden, shape->hidden, i == 0,
                           "at::_ops::mm::call(|at::_ops::linear::call(|project@layer.py:22" LAYER,
                           "at::_ops::_to_copy::call(|at::_ops::linear::call(|project@layer.py:22" LAYER);
    keep(maker, made);
  }
  forward_attention(maker);
  uint32_t mixed = linear(maker, shape->hidden, shape->hidden, false, "at::_ops::mm::call(|out@layer.py:23" LAYER,
                          "at::_ops::_to_copy::call(|at::_ops::linear::call(|out@layer.py:23" LAYER);
  save(maker, wide, "at::_ops::add_Tensor::call(|add@layer.py:24" LAYER);
  drop(maker, mixed);
  keep(maker, linear(maker, shape->hidden, 4 * shape->hidden, true, "at::_ops::mm::call(|up@layer.py:25" LAYER,
                     "at::_ops::_to_copy::call(|at::_ops::linear::call(|up@layer.py:25" LAYER));
  save(maker, tokens(shape) * 4 * shape->hidden * (shape->is_mixed ? 2 : 4), "at::_ops::gelu::call(|act@layer.py:26" LAYER);
  uint32_t down = linear(maker, 4 * shape->hidden, shape->hidden, false, "at::_ops::mm::call(|down@layer.py:27" LAYER,
                         "at::_ops::_to_copy::call(|at::_ops::linear::call(|down@layer.py:27" LAYER);
  save(maker, wide, "at::_ops::add_Tensor::call(|add@layer.py:28" LAYER);
  drop(maker, down);
}

/* ---- Backward ---- */

/* The gradient of a parameter, through a cast under autocast; in a later run it is added to the first and freed. */
static void gradient(struct maker *maker, uint64_t size_bytes, bool is_first) {
  require(maker->gradient_count < 4096);
  uint32_t made;
  if (maker->shape->is_mixed) {
    uint32_t product = make(maker, size_bytes / 2, "at::_ops::mm::call(|torch::autograd::generated::MmBackward0::apply(|" ENGINE);
    made = make(maker, size_bytes, "at::_ops::_to_copy::call(|torch::autograd::generated::ToCopyBackward0::apply(|" ENGINE);
    drop(maker, product);
  } else {
    made = make(maker, size_bytes, "at::_ops::mm::call(|torch::autograd::generated::MmBackward0::apply(|" ENGINE);
  }
  if (is_first)
    maker->gradients[maker->gradient_count++] = made;
  else
    drop(maker, made);
}

/* The frames of the gradient of an operator: its node is named after it. */
static const char *backward_frames(const char *frames) {
  static const struct {
    const char *op;
    const char *frames;
  } nodes[] = {
#define NODE(op, node)                                                                                                           \
  {"at::_ops::" op, "at::_ops::mul_Tensor::call(|torch::autograd::generated::" node "Backward0::apply(|" ENGINE}
      NODE("_log_softmax", "LogSoftmax"),
      NODE("exp", "Exp"),
      NODE("div", "Div"),
      NODE("max", "Max"),
      NODE("sum", "Sum"),
      NODE("mul", "Mul"),
      NODE("mean", "Mean"),
      NODE("_softmax", "Softmax"),
      NODE("bmm", "Bmm"),
      NODE("mm", "Mm"),
      NODE("gelu", "Gelu"),
      NODE("add", "Add"),
      NODE("_to_copy", "ToCopy"),
      NODE("embedding", "Embedding"),
#undef NODE
  };
  for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
    if (strncmp(frames, nodes[i].op, strlen(nodes[i].op)) == 0) return nodes[i].frames;
  }
  return "at::_ops::mul_Tensor::call(|torch::autograd::generated::OtherBackward0::apply(|" ENGINE;
}

/* The gradient of what was saved last, in its shape; then it is freed. Casts have no gradient of their own here. */
static void backward_one(struct maker *maker) {
  uint32_t saved = maker->saved[--maker->saved_count];
  if (maker->is_weight[maker->saved_count]) {
    maker->is_weight[maker->saved_count] = false;
    drop(maker, saved);
    return;
  }
  uint64_t size_bytes = maker->step.pattern.instances.items[saved].size_bytes;
  uint32_t made = make(maker, size_bytes, backward_frames(maker->made_by[maker->saved_count]));
  drop(maker, saved);
  drop(maker, made);
}

static void backward(struct maker *maker, bool is_first) {
  uint64_t sizes[10];
  uint64_t count = parameter_sizes(maker->shape, sizes);
  while (maker->saved_count > 0) backward_one(maker);
  for (uint64_t layer = 0; layer < maker->shape->layers; layer++) {
    for (uint64_t i = 0; i < count; i++) gradient(maker, sizes[i], is_first);
  }
}

/* ---- Whole ---- */

static uint32_t start(struct maker *maker, uint64_t size_bytes) {
  bool is_made = wo_alloc_pattern_add_start(&maker->step.pattern, (struct wo_instance){.size_bytes = size_bytes, .stack = WO_NO_STACK});
  require(is_made);
  return (uint32_t)maker->step.pattern.instances.count - 1;
}

/* Parameters, states when they stay, and the gradients of the step before. Returns the first gradient. */
static uint32_t make_start(struct maker *maker) {
  uint64_t sizes[10];
  uint64_t count = parameter_sizes(maker->shape, sizes);
  unsigned copies = maker->shape->is_in_place ? 4 : 2;
  start(maker, 4 * maker->shape->vocabulary * maker->shape->hidden);
  uint32_t first = 0;
  for (unsigned copy = 0; copy < copies; copy++) {
    if (copy + 1 == copies) first = (uint32_t)maker->step.pattern.instances.count;
    for (uint64_t layer = 0; layer < maker->shape->layers; layer++) {
      for (uint64_t i = 0; i < count; i++) start(maker, sizes[i]);
    }
  }
  return first;
}

static void optimize(struct maker *maker) {
  for (size_t i = 0; i < maker->gradient_count; i++) {
    uint64_t size_bytes = maker->step.pattern.instances.items[maker->gradients[i]].size_bytes;
    uint32_t temporary = make(maker, size_bytes, "at::_ops::sqrt::call(" STEP);
    if (!maker->shape->is_in_place) {
      make(maker, size_bytes, "at::_ops::zeros_like::call(|init@optimizers.py:31" STEP);
      make(maker, size_bytes, "at::_ops::zeros_like::call(|init@optimizers.py:32" STEP);
    }
    drop(maker, temporary);
  }
}

/* Forward, loss and backward. */
static void run_once(struct maker *maker, bool is_first) {
  const struct wo_made_shape *shape = maker->shape;
  save(maker, tokens(shape) * shape->hidden * 4, "at::_ops::embedding::call(|forward@model.py:8" TRAIN);
  for (uint64_t layer = 0; layer < shape->layers; layer++) forward_layer(maker);
  save(maker, tokens(shape) * shape->vocabulary * 4, "at::_ops::mm::call(|head@model.py:10" TRAIN);
  uint64_t positions = shape->batch * (shape->length - (shape->is_shifted ? 1 : 0));
  save(maker, positions * shape->vocabulary * 4, "at::_ops::_log_softmax::call(" LOSS);
  backward(maker, is_first);
}

struct wo_made_step wo_made_step_make(const struct wo_made_shape *shape) {
  struct maker *maker = calloc(1, sizeof *maker);
  require(maker != NULL);
  maker->shape = shape;
  maker->step.recording = wo_recording_new();
  require(maker->step.recording != NULL);
  maker->step.pattern.recording = maker->step.recording;
  uint32_t old_gradients = make_start(maker);
  for (uint32_t i = old_gradients; i < maker->step.pattern.start_count; i++) drop(maker, i);
  run_once(maker, true);
  if (shape->is_accumulated) run_once(maker, false);
  optimize(maker);
  struct wo_made_step step = maker->step;
  free(maker);
  return step;
}

void wo_made_step_done(struct wo_made_step *step) {
  wo_alloc_pattern_done(&step->pattern);
  step->recording = wo_recording_free(step->recording);
}
