/* Programs of a few steps, each of which keeps something or nothing, written as trace lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/steps/step_completion.h"
#include "tests/support/replay/layered_program.h"

enum { KEPT_MIB = 7, STEPS_MAX = 8 };

struct program {
  unsigned steps;
  unsigned kept[STEPS_MAX]; /* MiB that each step keeps */
  bool has_queue;           /* each step makes the data of the next one */
  uint64_t grows_mib;
  bool is_shown;
};

/* A step: data, a forward pass, backward, the optimizer, what is kept. */
static void write_step(struct wo_text *text, const struct program *program, unsigned step, unsigned *id) {
  const unsigned first = *id;
  if (program->has_queue) {
    wo_text_add(text, "{\"alloc\": 4194304, \"id\": %u, \"stack\": %d}\n", 5000 + step, WO_LAYERED_OTHER);
    if (step > 0) wo_text_add(text, "{\"free\": %u}\n", 4999 + step);
  }
  wo_layered_forward(text, id, 3, 16);
  if (program->kept[step] > 0)
    wo_text_add(text, "{\"alloc\": %u, \"id\": %u, \"stack\": %d}\n", program->kept[step] << 20, 1000 + step, WO_LAYERED_FORWARD);
  for (unsigned k = 0; k < 3; k++) {
    wo_text_add(text, "{\"alloc\": 1048576, \"id\": %u, \"stack\": %d}\n", 2000 + 10 * step + k, WO_LAYERED_BACKWARD);
    wo_text_add(text, "{\"free\": %u}\n", *id - k);
  }
  wo_text_add(text, "{\"alloc\": 1048576, \"id\": %u, \"stack\": %d}\n", 3000 + step, WO_LAYERED_OPTIMIZER);
  if (step > 0) wo_text_add(text, "{\"free\": %u}\n", 3000 + step); /* the first makes a state, the others temporaries */
  for (unsigned k = 0; k < 3; k++) wo_text_add(text, "{\"free\": %u}\n", 2000 + 10 * step + k);
  assert_int_equal(*id, first + 3);
}

static const struct program programs[] = {
    {6, {0}, false, 0, true},
    {6, {9, 0, 0, 0, 0, 0}, false, 0, true}, /* what only the first step makes */
    {6, {KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB}, false, KEPT_MIB, true},
    {4, {0, KEPT_MIB, KEPT_MIB, KEPT_MIB}, false, KEPT_MIB, true},
    {3, {0, KEPT_MIB, KEPT_MIB}, false, KEPT_MIB, true},
    {2, {KEPT_MIB, KEPT_MIB}, false, 0, false}, /* too few */
    {7, {0, 0, 0, 9, 0, 0, 0}, false, 0, true}, /* once: an evaluation, a copy of the best model */
    {6, {0}, true, 0, true},                    /* data for the next step is freed there */
    {6, {0, KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB}, true, KEPT_MIB, true},
};

static void test_programs(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    struct wo_text text = {0};
    struct wo_alloc_pattern pattern;
    struct wo_classes classes;
    struct wo_step_completion completion;
    struct wo_err err = {0};
    unsigned id = 1;
    wo_layered_begin(&text, NULL, 1, 64);
    for (unsigned step = 0; step < programs[i].steps; step++) write_step(&text, &programs[i], step, &id);
    struct wo_recording *const recording = wo_layered_read(&text);
    assert_int_equal(wo_alloc_pattern_make(recording, &recording->traces.items[0], &pattern, &err), WO_OK);
    assert_int_equal(wo_classify(&pattern, NULL, &classes), WO_OK);
    assert_int_equal(wo_step_completion_make(&pattern, &classes, NULL, &completion), WO_OK);
    const struct wo_step_growth *const growth = &completion.growth;
    if (growth->step_bytes != programs[i].grows_mib << 20 || growth->is_shown != programs[i].is_shown ||
        growth->whole_steps != programs[i].steps)
      fail_msg("row %zu: %lu bytes, %zu steps", i, growth->step_bytes, growth->whole_steps);
    wo_step_completion_done(&completion);
    wo_classes_done(&classes);
    wo_alloc_pattern_done(&pattern);
    wo_recording_free(recording);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests_name("step_growth", tests, NULL, NULL);
}
