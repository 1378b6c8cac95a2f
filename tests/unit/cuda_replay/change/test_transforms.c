/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms on a made step: what must shrink, by how much, and what must stay. */
#include "cuda_replay/change/transforms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "tests/support/replay/transform_names.h"

static const struct wo_made_shape shape = {
    .batch = 2, .length = 64, .hidden = 128, .heads = 4, .layers = 6, .vocabulary = 100, .is_mixed = true, .is_in_place = true};

struct fixture {
  struct wo_made_step step;
  struct wo_classes classes;
};

static void fixture_make(struct fixture *fixture) {
  fixture->step = wo_made_step_make(&shape);
  assert_int_equal(wo_classify(&fixture->step.pattern, NULL, &fixture->classes), WO_OK);
}

static void fixture_done(struct fixture *fixture) {
  wo_classes_done(&fixture->classes);
  wo_made_step_done(&fixture->step);
}

static struct wo_alloc_pattern apply(const struct fixture *fixture, const char *text, enum wo_bound bound) {
  const struct wo_transform *transform;
  struct wo_transform_request request = {&fixture->step.pattern, &fixture->classes, 0, bound};
  struct wo_alloc_pattern changed;
  struct wo_err err = {0};
  assert_int_equal(wo_transform_parse(wo_view_of(text), &transform, &request.amount, &err), WO_OK);
  if (wo_transform_apply(transform, &request, &changed, &err) != WO_OK) fail_msg("%s: %s", text, err.message);
  assert_true(wo_alloc_pattern_is_valid(&changed));
  return changed;
}

/* The most bytes alive at once, and those at the start. */
static uint64_t peak_of(const struct wo_alloc_pattern *pattern, uint64_t *ret_start) {
  uint64_t alive = 0, peak;
  for (size_t i = 0; i < pattern->start_count; i++) alive += pattern->instances.items[i].size_bytes;
  *ret_start = peak = alive;
  for (size_t r = 0; r < pattern->requests.count; r++) {
    const struct wo_request *request = &pattern->requests.items[r];
    if (!wo_request_has_instance(request)) continue;
    uint64_t size = pattern->instances.items[request->subject].size_bytes;
    if (request->kind == WO_REQUEST_ALLOC) alive += size;
    if (request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER) alive -= size;
    if (alive > peak) peak = alive;
  }
  return peak;
}

static uint64_t parameter_bytes(void) {
  return shape.layers * (12 * shape.hidden * shape.hidden + 2 * shape.hidden) * 4;
}

/* The step keeps parameters, two states each, the last gradients and an embedding. */
static void states_shrink(void **state) {
  (void)state;
  struct fixture fixture;
  uint64_t before, after, parameters = parameter_bytes(), embedding = 4 * shape.vocabulary * shape.hidden;
  uint64_t largest = embedding > 16 * shape.hidden * shape.hidden ? embedding : 16 * shape.hidden * shape.hidden;
  fixture_make(&fixture);
  peak_of(&fixture.step.pattern, &before);
  assert_int_equal(before, 4 * parameters + embedding);
  struct wo_alloc_pattern changed = apply(&fixture, "offload-optimizer", WO_BOUND_LOW);
  peak_of(&changed, &after);
  assert_int_equal(after, before - 2 * parameters);
  wo_alloc_pattern_done(&changed);
  changed = apply(&fixture, "shard=4", WO_BOUND_LOW);
  peak_of(&changed, &after);
  assert_int_equal(after, before / 4 + largest);
  wo_alloc_pattern_done(&changed);
  changed = apply(&fixture, "shard-optimizer=2", WO_BOUND_LOW);
  peak_of(&changed, &after);
  assert_int_equal(after, before - parameters);
  wo_alloc_pattern_done(&changed);
  changed = apply(&fixture, "offload-parameters", WO_BOUND_LOW);
  peak_of(&changed, &after);
  assert_int_equal(after, before - parameters - embedding + largest);
  wo_alloc_pattern_done(&changed);
  fixture_done(&fixture);
}

/* 2 states of 4 bytes become 1 byte and a scale of 4 bytes for 256; norms of 128 elements stay. */
static void states_of_8_bits(void **state) {
  (void)state;
  struct fixture fixture;
  uint64_t before, after, square = shape.hidden * shape.hidden, saved = 0;
  const uint64_t elements[] = {square, square, square, square, 4 * square, 4 * square};
  fixture_make(&fixture);
  peak_of(&fixture.step.pattern, &before);
  for (size_t i = 0; i < 6; i++) saved += 2 * shape.layers * (4 * elements[i] - elements[i] - elements[i] / 256 * 4);
  struct wo_alloc_pattern changed = apply(&fixture, "8bit-optimizer", WO_BOUND_LIKELY);
  peak_of(&changed, &after);
  assert_int_equal(after, before - saved);
  wo_alloc_pattern_done(&changed);
  fixture_done(&fixture);
}

static void bounds_are_ordered(void **state) {
  (void)state;
  static const char *const texts[] = {"empty-cache",       "8bit-optimizer",    "offload-optimizer", "offload-parameters",
                                      "shard-optimizer=8", "shard-gradients=8", "shard=8",           "accumulate=3"};
  struct fixture fixture;
  fixture_make(&fixture);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    uint64_t last = 0, start;
    for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) {
      struct wo_alloc_pattern changed = apply(&fixture, texts[i], bound);
      uint64_t peak = peak_of(&changed, &start);
      if (peak < last) fail_msg("%s: %s end is lower", texts[i], wo_bound_name(bound));
      last = peak;
      wo_alloc_pattern_done(&changed);
    }
  }
  fixture_done(&fixture);
}

/* The most bytes of activations alive at once. */
static uint64_t activations_of(const struct wo_alloc_pattern *pattern) {
  uint64_t alive = 0, peak = 0;
  for (size_t r = 0; r < pattern->requests.count; r++) {
    const struct wo_request *request = &pattern->requests.items[r];
    if (!wo_request_has_instance(request)) continue;
    const struct wo_instance *instance = &pattern->instances.items[request->subject];
    if (instance->class_ != WO_CLASS_ACTIVATION) continue;
    if (request->kind == WO_REQUEST_ALLOC)
      alive += instance->size_bytes;
    else
      alive -= instance->size_bytes;
    if (alive > peak) peak = alive;
  }
  return peak;
}

/* Six layers: with each its own segment, about a sixth of what layers save is alive, plus their outputs. */
static void checkpointing_frees_layers(void **state) {
  (void)state;
  struct fixture fixture;
  uint64_t whole, layers, halves;
  fixture_make(&fixture);
  whole = activations_of(&fixture.step.pattern);
  struct wo_alloc_pattern changed = apply(&fixture, "checkpoint", WO_BOUND_LIKELY);
  layers = activations_of(&changed);
  /* What is made again is made in the same sizes, and all of it dies. */
  size_t added = changed.instances.count - fixture.step.pattern.instances.count, freed = 0;
  for (size_t i = 0; i < changed.instances.count; i++) freed += changed.instances.items[i].death != WO_NO_REQUEST;
  for (size_t i = 0; i < fixture.step.pattern.instances.count; i++) {
    freed -= fixture.step.pattern.instances.items[i].death != WO_NO_REQUEST;
  }
  assert_true(added > shape.layers && freed == added);
  wo_alloc_pattern_done(&changed);
  changed = apply(&fixture, "checkpoint=2", WO_BOUND_LIKELY);
  halves = activations_of(&changed);
  wo_alloc_pattern_done(&changed);
  assert_true(layers < whole / 2);
  assert_true(layers < halves && halves < whole);
  fixture_done(&fixture);
}

/* ---- Checkpointing, one layer after the other ---- */

#define LAYER "|layer@m.py:1|train@train.py:1"
#define ENGINE "|torch::autograd::Engine::thread_main("

struct life {
  const char *frames;
  uint64_t size_bytes;
  int dies_after; /* the row after whose birth it is freed */
};

/* Two layers: each makes a temporary, something that is saved, and an output that nothing saves; then the loss, then backward. */
static const struct life layers[] = {
    {"at::_ops::mean::call(" LAYER, 8192, 1},
    {"at::_ops::mul_Tensor::call(" LAYER, 65536, 9},
    {"at::_ops::add_Tensor::call(" LAYER, 16384, 4},
    {"at::_ops::mean::call(" LAYER, 8192, 4},
    {"at::_ops::mul_Tensor::call(" LAYER, 65536, 8},
    {"at::_ops::add_Tensor::call(" LAYER, 16384, 6},
    {"at::_ops::exp::call(|loss@m.py:2|train@train.py:1", 24000, 7},
    {"at::_ops::exp::call(|torch::autograd::generated::ExpBackward0::apply(" ENGINE, 16384, 8},
    {"at::_ops::mul_Tensor::call(|torch::autograd::generated::MulBackward0::apply(" ENGINE, 16384, 9},
    {"at::_ops::mul_Tensor::call(|torch::autograd::generated::MulBackward0::apply(" ENGINE, 16384, 9},
};

static struct wo_alloc_pattern pattern_of_layers(struct wo_recording *recording) {
  enum { COUNT = sizeof layers / sizeof layers[0] };
  struct wo_alloc_pattern pattern = {.recording = recording};
  uint32_t instances[COUNT];
  struct wo_instance parameter = {.size_bytes = 4000, .stack = WO_NO_STACK};
  assert_true(wo_alloc_pattern_add_start(&pattern, parameter));
  for (size_t i = 0; i < COUNT; i++) {
    struct wo_instance instance = {.size_bytes = layers[i].size_bytes, .stack = wo_made_stack(recording, layers[i].frames)};
    assert_true(wo_alloc_pattern_add_alloc(&pattern, instance, WO_NO_ENTRY, &instances[i]));
    for (size_t j = 0; j <= i; j++) {
      if (layers[j].dies_after == (int)i) assert_true(wo_alloc_pattern_add_free(&pattern, instances[j]));
    }
  }
  return pattern;
}

/* Bytes of a size that are alive right after the n-th allocation of `made_bytes`. */
static uint64_t alive_at(const struct wo_alloc_pattern *pattern, uint64_t made_bytes, unsigned n, uint64_t of_bytes) {
  uint64_t alive = 0;
  for (size_t r = 0; r < pattern->requests.count; r++) {
    const struct wo_request *request = &pattern->requests.items[r];
    uint64_t size_bytes = pattern->instances.items[request->subject].size_bytes;
    bool is_made = request->kind == WO_REQUEST_ALLOC;
    if (size_bytes == of_bytes) alive = is_made ? alive + size_bytes : alive - size_bytes;
    if (is_made && size_bytes == made_bytes && n-- == 0) return alive;
  }
  fail_msg("it is not made so often");
  return 0;
}

static void checkpointing_keeps_outputs(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_alloc_pattern pattern = pattern_of_layers(recording), changed;
  struct wo_classes classes;
  const struct wo_transform *transform;
  uint32_t amount;
  assert_int_equal(wo_classify(&pattern, NULL, &classes), WO_OK);
  assert_int_equal(wo_transform_parse(wo_view_of("checkpoint"), &transform, &amount, NULL), WO_OK);
  for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) {
    struct wo_transform_request request = {.pattern = &pattern, .classes = &classes, .amount = amount, .bound = bound};
    assert_int_equal(wo_transform_apply(transform, &request, &changed, NULL), WO_OK);
    assert_true(wo_alloc_pattern_is_valid(&changed));
    /* At the loss both outputs are there, and nothing that a layer saved (at the high end one tensor of each is kept). */
    assert_int_equal(alive_at(&changed, 24000, 0, 65536), bound == WO_BOUND_HIGH ? 2 * 65536 : 0);
    assert_int_equal(alive_at(&changed, 24000, 0, 16384), 2 * 16384);
    size_t temporaries = 0;
    for (size_t i = 0; i < changed.instances.count; i++) temporaries += changed.instances.items[i].size_bytes == 8192;
    assert_int_equal(temporaries, bound == WO_BOUND_HIGH ? 2 : 4); /* what runs again makes its temporaries again */
    wo_alloc_pattern_done(&changed);
  }
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static void cache_is_emptied_around_the_step(void **state) {
  (void)state;
  struct fixture fixture;
  fixture_make(&fixture);
  struct wo_alloc_pattern changed = apply(&fixture, "empty-cache", WO_BOUND_LIKELY);
  size_t inserted = 0;
  for (size_t r = 0; r < changed.requests.count; r++) inserted += changed.requests.items[r].kind == WO_REQUEST_EMPTY_CACHE;
  assert_int_equal(inserted, 1); /* backward to step; the recording ends with the step */
  assert_int_equal(changed.requests.count, fixture.step.pattern.requests.count + 1);
  wo_alloc_pattern_done(&changed);
  fixture_done(&fixture);
}

/* Three runs: everything of forward and backward three times, but gradients live once. */
static void accumulation_repeats(void **state) {
  (void)state;
  struct fixture fixture;
  uint64_t start, once, thrice;
  fixture_make(&fixture);
  once = peak_of(&fixture.step.pattern, &start);
  struct wo_alloc_pattern changed = apply(&fixture, "accumulate=3", WO_BOUND_LIKELY);
  thrice = peak_of(&changed, &start);
  /* Gradients are alive in the later forwards. */
  assert_true(thrice > once && thrice <= once + parameter_bytes() + 16 * shape.hidden * shape.hidden);
  uint64_t alive = 0;
  for (size_t i = 0; i < changed.instances.count; i++) {
    if (changed.instances.items[i].death == WO_NO_REQUEST) alive += changed.instances.items[i].size_bytes;
  }
  for (size_t i = 0; i < fixture.step.pattern.instances.count; i++) {
    const struct wo_instance *instance = &fixture.step.pattern.instances.items[i];
    if (instance->death == WO_NO_REQUEST) alive -= instance->size_bytes;
  }
  assert_int_equal(alive, 0);
  wo_alloc_pattern_done(&changed);
  fixture_done(&fixture);
}

/* Two steps of one activation and one gradient each; the optimizer makes nothing, and frees the gradient. */
static struct wo_alloc_pattern pattern_of_still_steps(struct wo_recording *recording, struct wo_classes *ret_classes) {
  struct wo_alloc_pattern pattern = {.recording = recording};
  for (int step = 0; step < 2; step++) {
    uint32_t activation, gradient;
    const struct wo_instance first = {.size_bytes = 65536, .stack = wo_made_stack(recording, layers[1].frames)};
    const struct wo_instance second = {.size_bytes = 4000, .stack = wo_made_stack(recording, layers[8].frames)};
    assert_true(wo_alloc_pattern_add_alloc(&pattern, first, WO_NO_ENTRY, &activation));
    assert_true(wo_alloc_pattern_add_alloc(&pattern, second, WO_NO_ENTRY, &gradient));
    assert_true(wo_alloc_pattern_add_free(&pattern, activation) && wo_alloc_pattern_add_free(&pattern, gradient));
  }
  assert_int_equal(wo_classify(&pattern, NULL, ret_classes), WO_OK);
  for (size_t i = 0; i < pattern.instances.count; i++) {
    const bool is_gradient = pattern.instances.items[i].size_bytes == 4000;
    ret_classes->marks.items[i].phase = is_gradient ? WO_PHASE_BACKWARD : WO_PHASE_FORWARD;
    pattern.instances.items[i].class_ = is_gradient ? WO_CLASS_GRADIENT : WO_CLASS_ACTIVATION;
  }
  return pattern;
}

/* Each step is repeated by itself, and its gradient is alive in its second forward. */
static void steps_that_make_nothing_are_steps(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_classes classes;
  struct wo_alloc_pattern pattern = pattern_of_still_steps(recording, &classes), changed;
  const struct wo_transform *transform;
  uint32_t amount;
  assert_int_equal(wo_transform_parse(wo_view_of("accumulate=2"), &transform, &amount, NULL), WO_OK);
  struct wo_transform_request request = {.pattern = &pattern, .classes = &classes, .amount = amount, .bound = WO_BOUND_LIKELY};
  assert_int_equal(wo_transform_apply(transform, &request, &changed, NULL), WO_OK);
  assert_true(wo_alloc_pattern_is_valid(&changed));
  const uint64_t alive[] = {0, 4000, 0, 4000};
  for (unsigned i = 0; i < 4; i++) assert_int_equal(alive_at(&changed, 65536, i, 4000), alive[i]);
  wo_alloc_pattern_done(&changed);
  wo_alloc_pattern_done(&pattern);
  wo_classes_done(&classes);
  wo_recording_free(recording);
}

/* Nothing to change is told, by name of what is missing. */
static void nothing_to_change_is_told(void **state) {
  (void)state;
  struct wo_recording *recording = wo_recording_new();
  struct wo_alloc_pattern pattern = {.recording = recording};
  struct wo_classes classes;
  assert_int_equal(wo_classify(&pattern, NULL, &classes), WO_OK);
  for (size_t i = 0; i < WO_TRANSFORM_NAMES; i++) {
    const struct wo_transform *transform = wo_transform_named(i);
    struct wo_transform_request request = {&pattern, &classes, transform->amount_min, WO_BOUND_LIKELY};
    struct wo_alloc_pattern changed;
    struct wo_err err = {0};
    assert_int_equal(wo_transform_apply(transform, &request, &changed, &err), WO_E_RANGE);
    assert_true(strlen(err.message) > 20);
  }
  wo_classes_done(&classes);
  wo_recording_free(recording);
}

static void memory_out_is_told(void **state) {
  (void)state;
  struct fixture fixture;
  fixture_make(&fixture);
  for (size_t i = 0; i < WO_TRANSFORM_NAMES; i++) {
    const struct wo_transform *transform = wo_transform_named(i);
    struct wo_transform_request request = {&fixture.step.pattern, &fixture.classes, transform->amount_min, WO_BOUND_LIKELY};
    for (long n = 1;; n++) {
      struct wo_alloc_pattern changed;
      wo_fail_alloc_at(n);
      enum wo_status status = wo_transform_apply(transform, &request, &changed, NULL);
      wo_fail_alloc_off();
      if (status == WO_OK) wo_alloc_pattern_done(&changed);
      if (!wo_fail_alloc_hit()) break;
      assert_int_equal(status, WO_E_NOMEM);
    }
  }
  fixture_done(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_shrink),
      cmocka_unit_test(states_of_8_bits),
      cmocka_unit_test(bounds_are_ordered),
      cmocka_unit_test(checkpointing_frees_layers),
      cmocka_unit_test(checkpointing_keeps_outputs),
      cmocka_unit_test(accumulation_repeats),
      cmocka_unit_test(steps_that_make_nothing_are_steps),
      cmocka_unit_test(cache_is_emptied_around_the_step),
      cmocka_unit_test(nothing_to_change_is_told),
      cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
