/* SPDX-License-Identifier: Apache-2.0 */
/* Random patterns through everything that makes patterns of patterns: classes, exponents, steady state, transforms, pairs, steps
 * that are completed. Each
 * byte pair is a request; the properties that must hold whatever the program did stand in check_*. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda_replay/steps/step_completion.h"
#include "cuda_replay/whatif/forecast.h"
#include "cuda_replay/classes/iterations.h"
#include "cuda_replay/change/scale_from_two.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/whatif/steady.h"
#include "cuda_replay/change/transforms.h"
#include "tests/fuzz/require.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "parsers/base/vec.h"
#include "tests/support/replay/transform_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIVE_MAX = 64, REQUESTS_MAX = 1500, STACKS = 14 };

/* Frames of a stack: function and file; C++ where there is no file. */
static const struct {
  const char *function, *file;
} stack_frames[STACKS][3] = {
    {{"at::_ops::mm::call(", NULL}, {"forward", "model.py"}, {"train", "train.py"}},
    {{"at::_ops::_to_copy::call(", NULL}, {"at::_ops::linear::call(", NULL}, {"forward", "model.py"}},
    {{"at::_ops::bmm::call(", NULL}, {"attention", "model.py"}, {"train", "train.py"}},
    {{"at::_ops::_softmax::call(", NULL}, {"attention", "model.py"}, {"train", "train.py"}},
    {{"at::_ops::sum_dim_IntList::call(", NULL}, {"forward", "model.py"}, {"train", "train.py"}},
    {{"at::_ops::add_Tensor::call(", NULL}, {"forward", "model.py"}, {"train", "train.py"}},
    {{"at::_ops::ge_Tensor::call(", NULL}, {"forward", "model.py"}, {"train", "train.py"}},
    {{"at::_ops::_log_softmax::call(", NULL}, {"cross_entropy", "loss.py"}, {"train", "train.py"}},
    {{"at::_ops::mm::call(", NULL},
     {"torch::autograd::generated::MmBackward0::apply(", NULL},
     {"torch::autograd::Engine::x", NULL}},
    {{"at::_ops::_to_copy::call(", NULL}, {"torch::autograd::generated::ToCopyBackward0::apply(", NULL}, {"x", NULL}},
    {{"at::_ops::zeros_like::call(", NULL}, {"step", "torch/optim/adam.py"}, {"train", "train.py"}},
    {{"gpu_reduce_kernel", NULL}, {"at::_ops::sum::call(", NULL}, {"forward", "model.py"}},
    {{"c10d::Reducer::x", NULL}, {"all_reduce", "ddp.py"}, {"train", "train.py"}},
    {{"getCUDABlasWorkspace", NULL}, {"at::_ops::mm::call(", NULL}, {"recompute_fn", "torch/utils/checkpoint.py"}},
};

static struct wo_recording *make_recording(void) {
  struct wo_recording *recording = wo_recording_new();
  require(recording != NULL);
  for (size_t i = 0; i < STACKS; i++) {
    struct wo_stack stack = {(uint32_t)recording->stack_frames.count, 3};
    for (size_t j = 0; j < 3; j++) {
      require(WO_VEC_RESERVE(&recording->frames, 1, 1000) && WO_VEC_RESERVE(&recording->stack_frames, 1, 1000));
      const char *file = stack_frames[i][j].file;
      recording->stack_frames.items[recording->stack_frames.count++] = (uint32_t)recording->frames.count;
      recording->frames.items[recording->frames.count++] = (struct wo_frame){
          wo_view_of(stack_frames[i][j].function), wo_view_of(file == NULL ? "??" : file), file == NULL ? 0 : 7};
    }
    require(WO_VEC_RESERVE(&recording->stacks, 1, 1000));
    recording->stacks.items[recording->stacks.count++] = stack;
  }
  return recording;
}

struct maker {
  struct wo_alloc_pattern pattern;
  uint32_t live[LIVE_MAX];
  size_t live_count;
};

/* Sizes that collide: small multiples of powers of two, and some that nothing divides. */
static uint64_t size_of(unsigned byte) {
  return (byte & 0x80) != 0 ? 1 + byte : (uint64_t)(1 + byte % 5) << (6 + byte % 17);
}

static void step(struct maker *maker, unsigned code, unsigned byte) {
  struct wo_alloc_pattern *pattern = &maker->pattern;
  if (code % 8 < 5 && maker->live_count < LIVE_MAX) {
    struct wo_instance instance = {.size_bytes = size_of(byte), .stack = code / 8 % (STACKS + 1)};
    if (instance.stack == STACKS) instance.stack = WO_NO_STACK;
    if (byte == 255) {
      uint32_t refused;
      require(wo_alloc_pattern_add_refused(pattern, instance, WO_NO_ENTRY, &refused));
    } else {
      require(wo_alloc_pattern_add_alloc(pattern, instance, WO_NO_ENTRY, &maker->live[maker->live_count++]));
    }
  } else if (code % 8 == 7 && byte % 16 == 0) {
    require(wo_alloc_pattern_add_request(pattern, (struct wo_request){.kind = WO_REQUEST_EMPTY_CACHE, .entry = WO_NO_ENTRY}));
  } else if (maker->live_count > 0) {
    size_t at = byte % maker->live_count;
    uint32_t instance = maker->live[at];
    maker->live[at] = maker->live[--maker->live_count];
    bool is_deferred = code % 8 == 6 && byte % 4 == 0;
    struct wo_request request = {
        .kind = is_deferred ? WO_REQUEST_DEFER : WO_REQUEST_FREE, .subject = instance, .entry = WO_NO_ENTRY};
    require(wo_alloc_pattern_add_request(pattern, request));
    if (!is_deferred) return;
    request.kind = WO_REQUEST_COMPLETE;
    require(wo_alloc_pattern_add_request(pattern, request));
  }
}

static struct wo_alloc_pattern make_pattern(const struct wo_recording *recording, const uint8_t *data, size_t size) {
  struct maker maker = {.pattern = {.recording = recording}};
  size_t at = 1, starts = size > 0 ? data[0] % 24 : 0;
  for (; starts > 0 && at < size; starts--, at++) {
    require(
        wo_alloc_pattern_add_start(&maker.pattern, (struct wo_instance){.size_bytes = size_of(data[at]), .stack = WO_NO_STACK}));
    maker.live[maker.live_count++] = (uint32_t)maker.pattern.instances.count - 1;
  }
  for (; at + 1 < size && maker.pattern.requests.count < REQUESTS_MAX; at += 2) step(&maker, data[at], data[at + 1]);
  require(wo_alloc_pattern_is_valid(&maker.pattern));
  return maker.pattern;
}

static void check_bounds(const struct wo_alloc_pattern *pattern, const struct wo_exponents *exponents,
                         const struct wo_scale_spec *spec) {
  struct wo_alloc_pattern bounds[WO_BOUND_COUNT_];
  for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) {
    require(wo_scale_apply(pattern, exponents, spec, bound, &bounds[bound], NULL) == WO_OK);
    require(wo_alloc_pattern_is_valid(&bounds[bound]));
  }
  bool is_identity = true;
  for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++)
    is_identity = is_identity && spec->axes[id].from == spec->axes[id].to;
  for (size_t i = 0; i < pattern->instances.count; i++) {
    uint64_t low = bounds[WO_BOUND_LOW].instances.items[i].size_bytes, high = bounds[WO_BOUND_HIGH].instances.items[i].size_bytes;
    uint64_t likely = bounds[WO_BOUND_LIKELY].instances.items[i].size_bytes, size = pattern->instances.items[i].size_bytes;
    require(low <= likely && likely <= high);
    if (is_identity) require(low == size && high == size);
    const struct wo_exponent *exponent = &exponents->list.items[i];
    if (exponent->reason == WO_SCALE_REASON_CLASS || exponent->reason == WO_SCALE_REASON_WEIGHT_COPY) require(likely == size);
  }
  for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) wo_alloc_pattern_done(&bounds[bound]);
}

static void check_forecast(const struct wo_alloc_pattern *pattern, const struct wo_exponents *exponents,
                           const struct wo_scale_spec *spec) {
  struct wo_forecast forecast;
  struct wo_err err = {0};
  struct wo_steady_options options = {.settings = wo_alloc_settings_default(206), .torch = 206};
  require(wo_forecast_run(pattern, exponents, spec, &options, &forecast, &err) == WO_OK);
  uint64_t bytes = 0;
  for (int i = 0; i < WO_SCALE_REASON_COUNT_; i++) bytes += forecast.reason_bytes[i];
  const struct wo_steady *likely = &forecast.likely;
  require(likely->count >= 1 && wo_steady_last(likely)->allocated_bytes <= wo_steady_last(likely)->reserved_bytes);
  if (!likely->outcome.has_oom && pattern->requests.count > 0) require(bytes <= wo_steady_last(likely)->requested_bytes);
}

static void check_transforms(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, uint32_t amount) {
  for (size_t i = 0; i < WO_TRANSFORM_NAMES; i++) {
    const struct wo_transform *transform = wo_transform_named(i);
    for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) {
      struct wo_transform_request request = {pattern, classes, transform->amount_max == 0 ? 0 : amount, bound};
      if (request.amount < transform->amount_min) request.amount = transform->amount_min;
      struct wo_alloc_pattern changed;
      struct wo_err err = {0};
      enum wo_status status = wo_transform_apply(transform, &request, &changed, &err);
      require(status == WO_OK || status == WO_E_RANGE);
      if (status != WO_OK) continue;
      require(wo_alloc_pattern_is_valid(&changed));
      wo_alloc_pattern_done(&changed);
    }
  }
}

static void check_iterations(const struct wo_alloc_pattern *pattern) {
  struct wo_iterations iterations;
  require(wo_iterations_find(pattern, NULL, &iterations) == WO_OK);
  uint32_t at = 0;
  for (size_t i = 0; i < iterations.list.count; i++) {
    require(iterations.tail <= pattern->requests.count && iterations.list.items[i].first == at &&
            iterations.list.items[i].end > at);
    at = iterations.list.items[i].end;
  }
  require(at == pattern->requests.count);
  wo_iterations_done(&iterations);
}

static void check_pair(const struct wo_alloc_pattern *first, const struct wo_alloc_pattern *second,
                       const struct wo_exponents *inferred) {
  struct wo_exponents exponents;
  struct wo_scale_from_two pair;
  struct wo_err err = {0};
  enum wo_status status = wo_scale_from_two_infer(first, second, WO_AXIS_SEQ_LEN, inferred, &exponents, &pair, &err);
  require(status == WO_OK || status == WO_E_RANGE);
  if (status != WO_OK) return;
  require(pair.matched <= pair.count && pair.by_power[0] + pair.by_power[1] + pair.by_power[2] + pair.others <= pair.matched);
  wo_exponents_done(&exponents);
}

/* What is completed begins with what is recorded up to the refused request, and its low end is not above the high one. */
static void check_completed(const struct wo_alloc_pattern *pattern, const struct wo_step_completion *made) {
  require(wo_alloc_pattern_is_valid(&made->high) && made->high.start_count == pattern->start_count);
  require(made->high.requests.count > made->refused && made->high_classes.marks.count == made->high.instances.count);
  for (uint32_t r = 0; r < made->refused; r++)
    require(made->high.requests.items[r].kind == pattern->requests.items[r].kind &&
            made->high.requests.items[r].subject == pattern->requests.items[r].subject);
  require(made->added_count >= 1 && made->added_count <= made->whole_count && made->ratio > 0);
  if (!made->is_interval) return;
  require(wo_alloc_pattern_is_valid(&made->low) && made->low.instances.count == made->high.instances.count);
  for (size_t i = 0; i < made->low.instances.count; i++)
    require(made->low.instances.items[i].size_bytes <= made->high.instances.items[i].size_bytes);
}

static void check_continuation(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes) {
  struct wo_step_completion completion;
  require(wo_step_completion_make(pattern, classes, NULL, &completion) == WO_OK);
  if (completion.is_made) check_completed(pattern, &completion);
  const bool has_reason = completion.why[0] != '\0';
  require(has_reason == (completion.refused != WO_NO_REQUEST && !completion.is_made));
  wo_step_completion_done(&completion);
}

/* States are alive at the start, each once; with their step before it, the pattern still holds together. */
static void check_first_step(const struct wo_alloc_pattern *pattern) {
  struct wo_first_step first;
  struct wo_alloc_pattern steps;
  struct wo_passes passes;
  require(wo_first_step_find(pattern, &first) == WO_OK);
  if (first.count > 0) {
    uint8_t seen[256] = {0};
    require(first.first < first.end && first.states_at >= first.first && first.states_at <= first.end);
    for (size_t i = 0; i < first.count; i++) {
      require(first.states[i] < pattern->start_count);
      if (first.states[i] < sizeof seen) require(seen[first.states[i]]++ == 0);
    }
  }
  require(wo_steady_unroll(pattern, &first, 2, &steps, &passes) == WO_OK);
  require(wo_alloc_pattern_is_valid(&steps));
  wo_alloc_pattern_done(&steps);
  wo_first_step_done(&first);
}

/* The same requests twice, then their beginning with other sizes and a refused one: a step that can be completed. */
static void check_steps(const struct wo_alloc_pattern *pattern, const uint8_t *data) {
  struct wo_alloc_pattern steps;
  struct wo_passes passes;
  struct wo_classes classes;
  uint32_t at = 0;
  if (pattern->instances.count == pattern->start_count) return;
  require(wo_steady_unroll(pattern, NULL, 3, &steps, &passes) == WO_OK);
  const uint32_t last = passes.begins[2] + (uint32_t)data[1] * (passes.ends[2] - passes.begins[2]) / 256;
  struct wo_alloc_pattern cut = {.recording = pattern->recording};
  for (size_t i = 0; i < steps.start_count; i++) require(wo_alloc_pattern_add_start(&cut, steps.instances.items[i]));
  for (uint32_t r = 0; r < last; r++) {
    const struct wo_request *const request = &steps.requests.items[r];
    struct wo_instance instance = {0};
    if (request->kind != WO_REQUEST_ALLOC) {
      require(wo_alloc_pattern_add_request(&cut, *request));
      continue;
    }
    instance = steps.instances.items[request->subject];
    if (r >= passes.begins[2]) instance.size_bytes *= 1 + data[2] % 3;
    const bool was_refused = instance.death == instance.birth;
    require(was_refused ? wo_alloc_pattern_add_refused(&cut, instance, WO_NO_ENTRY, &at)
                        : wo_alloc_pattern_add_alloc(&cut, instance, WO_NO_ENTRY, &at));
  }
  require(wo_alloc_pattern_add_refused(
      &cut, pattern->instances.items[pattern->start_count + data[0] % (pattern->instances.count - pattern->start_count)],
      WO_NO_ENTRY, &at));
  require(wo_classify(&cut, NULL, &classes) == WO_OK);
  check_continuation(&cut, &classes);
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&cut);
  wo_alloc_pattern_done(&steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint32_t lengths[] = {1, 2, 3, 8, 64, 100};
  if (size < 3) return 0;
  struct wo_recording *recording = make_recording();
  struct wo_alloc_pattern pattern = make_pattern(recording, data + 3, size - 3);
  struct wo_classes classes;
  struct wo_exponents exponents;
  struct wo_scale_spec spec = {
      .axes = {{lengths[data[0] % 6], lengths[data[1] % 6]}, {lengths[data[2] % 6], lengths[data[1] / 6 % 6]}},
      .length_first = data[0] / 6,
      .length_end = data[2] / 6 % 7 * 8};
  require(wo_classify(&pattern, NULL, &classes) == WO_OK);
  require(classes.marks.count == pattern.instances.count);
  check_first_step(&pattern);
  enum wo_status status = wo_scale_infer(&pattern, &classes, &spec, &exponents, NULL);
  require(status == WO_OK || status == WO_E_RANGE);
  if (status == WO_OK) {
    struct wo_alloc_pattern scaled;
    check_bounds(&pattern, &exponents, &spec);
    check_forecast(&pattern, &exponents, &spec);
    require(wo_scale_apply(&pattern, &exponents, &spec, WO_BOUND_LIKELY, &scaled, NULL) == WO_OK);
    check_pair(&pattern, &scaled, &exponents);
    wo_alloc_pattern_done(&scaled);
    wo_exponents_done(&exponents);
  }
  check_transforms(&pattern, &classes, 1 + data[0] % 9);
  check_iterations(&pattern);
  check_continuation(&pattern, &classes);
  check_steps(&pattern, data);
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
  return 0;
}
