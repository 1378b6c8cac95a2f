/* SPDX-License-Identifier: Apache-2.0 */
/* The first step that a late recording does not hold, against the program that has it. */
#include "cuda_replay/whatif/first_step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cuda_replay/classes/classify.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "cuda_replay/whatif/steady.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"

#define MIB (UINT64_C(1) << 20)
#define TRAIN "|train@train.py:1"
#define BACKWARD "at::_ops::mm::call(|torch::autograd::generated::MmBackward0::apply(|torch::autograd::Engine::thread_main("

enum { LAYERS = 6 };

/* A program: parameters, and steps of which the first makes two states for each. Every layer keeps 100 MiB for backward; its
 * parameter has 24 MiB, or 30 in every second one. Gradients go before the next step, or are kept by it until backward. */
struct program {
  struct wo_recording *recording;
  struct wo_alloc_pattern pattern;
  uint32_t parameters[LAYERS], states[LAYERS][2], gradients[LAYERS];
  bool keeps_gradients;
};

static uint64_t size_of(unsigned layer) {
  return (layer % 2 == 0 ? 24 : 30) * MIB;
}

static uint32_t make(struct program *program, const char *frames, uint64_t size_bytes) {
  uint32_t instance;
  const struct wo_instance made = {.size_bytes = size_bytes, .stack = wo_made_stack(program->recording, frames)};
  assert_true(wo_alloc_pattern_add_alloc(&program->pattern, made, WO_NO_ENTRY, &instance));
  return instance;
}

static uint32_t start(struct program *program, uint64_t size_bytes) {
  const struct wo_instance made = {.size_bytes = size_bytes, .stack = WO_NO_STACK};
  assert_true(wo_alloc_pattern_add_start(&program->pattern, made));
  return (uint32_t)program->pattern.instances.count - 1;
}

static void drop(struct program *program, uint32_t instance) {
  assert_true(wo_alloc_pattern_add_free(&program->pattern, instance));
}

static void step(struct program *program, bool has_gradients, bool has_states) {
  uint32_t saved[LAYERS];
  for (unsigned i = 0; i < LAYERS && has_gradients && !program->keeps_gradients; i++) drop(program, program->gradients[i]);
  for (unsigned i = 0; i < LAYERS; i++) saved[i] = make(program, "at::_ops::mm::call(|forward@m.py:1" TRAIN, 100 * MIB);
  for (unsigned i = 0; i < LAYERS && has_gradients && program->keeps_gradients; i++) drop(program, program->gradients[i]);
  for (unsigned i = LAYERS; i-- > 0;) {
    program->gradients[i] = make(program, BACKWARD, size_of(i));
    drop(program, saved[i]);
  }
  for (unsigned i = 0; i < LAYERS && !has_states; i++) {
    for (unsigned k = 0; k < 2; k++)
      program->states[i][k] = make(program, "at::_ops::zeros_like::call(|step@optimizer.py:1" TRAIN, size_of(i));
  }
  for (unsigned i = 0; i < LAYERS; i++)
    drop(program, make(program, "at::_ops::sqrt::call(|step@optimizer.py:2" TRAIN, size_of(i)));
}

static struct program begin(bool keeps_gradients) {
  struct program program = {.recording = wo_recording_new(), .keeps_gradients = keeps_gradients};
  program.pattern.recording = program.recording;
  return program;
}

static void done(struct program *program) {
  wo_alloc_pattern_done(&program->pattern);
  wo_recording_free(program->recording);
}

static struct program whole(unsigned steps, bool keeps_gradients) {
  struct program program = begin(keeps_gradients);
  for (unsigned i = 0; i < LAYERS; i++) program.parameters[i] = make(&program, "_apply@torch/nn/modules/module.py:9", size_of(i));
  for (unsigned i = 0; i < steps; i++) step(&program, i > 0, i > 0);
  return program;
}

/* The same from a later step on: its functions return at the end, and all is freed. */
static struct program late(unsigned steps, bool keeps_gradients, bool ends) {
  struct program program = begin(keeps_gradients);
  for (unsigned i = 0; i < LAYERS; i++) program.parameters[i] = start(&program, size_of(i));
  for (unsigned i = 0; i < LAYERS; i++) {
    for (unsigned k = 0; k < 2; k++) program.states[i][k] = start(&program, size_of(i));
    program.gradients[i] = start(&program, size_of(i));
  }
  for (unsigned i = 0; i < steps; i++) step(&program, true, true);
  for (unsigned i = 0; i < LAYERS && ends; i++) {
    drop(&program, program.parameters[i]);
    for (unsigned k = 0; k < 2; k++) drop(&program, program.states[i][k]);
  }
  struct wo_classes classes;
  assert_true(wo_alloc_pattern_is_valid(&program.pattern));
  assert_int_equal(wo_classify(&program.pattern, NULL, &classes), WO_OK);
  wo_classes_done(&classes);
  return program;
}

static const struct wo_steady_options *plain(void) {
  static struct wo_steady_options options = {.torch = 206};
  options.settings = wo_alloc_settings_default(206);
  return &options;
}

static uint64_t reserved_by(const struct program *program) {
  struct wo_steady steady;
  assert_int_equal(wo_steady_run(&program->pattern, plain(), &steady, NULL), WO_OK);
  return steady.outcome.peak.reserved_bytes;
}

/* States that are made first leave the gaps of the activations alone: that is what a late recording looks like without its first
 * step, and it is wrong. */
static void late_recordings_need_what_the_program_needs(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 4; variant++) {
    const bool keeps_gradients = (variant & 1) != 0, ends = (variant & 2) != 0;
    struct program truth = whole(5, keeps_gradients), cut = late(2, keeps_gradients, ends);
    const uint64_t real_bytes = reserved_by(&truth);
    assert_int_equal(reserved_by(&cut), real_bytes);
    for (size_t i = 0; i < cut.pattern.instances.count; i++) cut.pattern.instances.items[i].class_ = WO_CLASS_UNKNOWN;
    assert_true(reserved_by(&cut) < real_bytes);
    done(&truth);
    done(&cut);
  }
}

static void states_are_made_by_parameter(void **state) {
  (void)state;
  struct program cut = late(2, false, true);
  struct wo_first_step first;
  assert_int_equal(wo_first_step_find(&cut.pattern, &first), WO_OK);
  assert_int_equal(first.count, 2 * LAYERS);
  for (unsigned i = 0; i < 2 * LAYERS; i++) assert_int_equal(first.states[i], cut.states[i / 2][i % 2]);
  assert_true(first.first > 0 && first.first < first.states_at && first.states_at < first.end);
  assert_int_equal(cut.pattern.instances.items[cut.pattern.requests.items[first.states_at].subject].class_, WO_CLASS_TEMPORARY);
  wo_first_step_done(&first);
  done(&cut);
}

static void whole_programs_have_their_own(void **state) {
  (void)state;
  struct program truth = whole(3, false);
  struct wo_classes classes;
  struct wo_first_step first;
  assert_int_equal(wo_classify(&truth.pattern, NULL, &classes), WO_OK);
  assert_int_equal(wo_first_step_find(&truth.pattern, &first), WO_OK);
  assert_int_equal(first.count, 0);
  wo_first_step_done(&first);
  wo_classes_done(&classes);
  done(&truth);
}

static void memory_may_fail(void **state) {
  (void)state;
  struct program cut = late(2, false, true);
  for (long at = 1;; at++) {
    struct wo_steady steady;
    wo_fail_alloc_at(at);
    const enum wo_status status = wo_steady_run(&cut.pattern, plain(), &steady, NULL);
    wo_fail_alloc_off();
    if (!wo_fail_alloc_hit()) {
      assert_int_equal(status, WO_OK);
      break;
    }
    assert_int_equal(status, WO_E_NOMEM);
  }
  done(&cut);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(late_recordings_need_what_the_program_needs),
      cmocka_unit_test(states_are_made_by_parameter),
      cmocka_unit_test(whole_programs_have_their_own),
      cmocka_unit_test(memory_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
