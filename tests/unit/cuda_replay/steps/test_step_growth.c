/* SPDX-License-Identifier: Apache-2.0 */
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
  bool returns; /* the program ends, and what it kept goes */
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
    {6, {0}, false, 0, true, false},
    {6, {9, 0, 0, 0, 0, 0}, false, 0, true, false}, /* what only the first step makes */
    {6, {KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB}, false, KEPT_MIB, true, false},
    {4, {0, KEPT_MIB, KEPT_MIB, KEPT_MIB}, false, KEPT_MIB, true, false},
    {3, {0, KEPT_MIB, KEPT_MIB}, false, KEPT_MIB, true, false},
    {2, {KEPT_MIB, KEPT_MIB}, false, 0, false, false}, /* too few */
    {7, {0, 0, 0, 9, 0, 0, 0}, false, 0, true, false}, /* once: an evaluation, a copy of the best model */
    {6, {0}, true, 0, true, false},                    /* data for the next step is freed there */
    {6, {0, KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB}, true, KEPT_MIB, true, false},
    {4, {KEPT_MIB, KEPT_MIB, KEPT_MIB, KEPT_MIB}, false, KEPT_MIB, true, true},
};

/* Reads the lines, and what their steps keep. */
static void expect(struct wo_text *text, uint64_t grows_mib, bool is_shown, size_t steps, size_t row) {
  struct wo_alloc_pattern pattern;
  struct wo_classes classes;
  struct wo_step_completion completion;
  struct wo_err err = {0};
  struct wo_recording *const recording = wo_layered_read(text);
  assert_int_equal(wo_alloc_pattern_make(recording, &recording->traces.items[0], &pattern, &err), WO_OK);
  assert_int_equal(wo_classify(&pattern, NULL, &classes), WO_OK);
  assert_int_equal(wo_step_completion_make(&pattern, &classes, NULL, &completion), WO_OK);
  const struct wo_step_growth *const growth = &completion.growth;
  if (growth->step_bytes != grows_mib << 20 || growth->is_shown != is_shown || growth->whole_steps != steps)
    fail_msg("row %zu: %lu bytes, %zu steps", row, growth->step_bytes, growth->whole_steps);
  wo_step_completion_done(&completion);
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&pattern);
  wo_recording_free(recording);
}

static void test_programs(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    struct wo_text text = {0};
    unsigned id = 1;
    wo_layered_begin(&text, NULL, 1, 64);
    for (unsigned step = 0; step < programs[i].steps; step++) write_step(&text, &programs[i], step, &id);
    for (unsigned step = 0; step < programs[i].steps && programs[i].returns; step++)
      wo_text_add(&text, "{\"free\": %u}\n", 1000 + step);
    expect(&text, programs[i].grows_mib, programs[i].is_shown, programs[i].steps, i);
  }
}

/* One whole step, and one that fails in its second layer: it has made again what the first one keeps, or it has not yet. */
static void test_failed_steps(void **state) {
  (void)state;
  static const struct {
    bool is_in_forward, is_behind_backward, is_again; /* what the whole step keeps; whether the failed one makes it again */
    unsigned kept_mib;
    uint64_t grows_mib;
  } rows[] = {
      {false, false, false, 0, 0}, {true, false, true, 8, 8}, {true, false, false, 8, 0}, /* a buffer that is made once */
      {false, true, false, 8, 8},  {true, false, true, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct wo_text text = {0};
    const char *const kept = "{\"alloc\": %u, \"id\": %u, \"stack\": %d}\n";
    const unsigned bytes = rows[i].kept_mib << 20;
    unsigned id = 1;
    wo_layered_begin(&text, NULL, 1, 64);
    if (rows[i].is_in_forward && bytes > 0) wo_text_add(&text, kept, bytes, 1000, WO_LAYERED_OTHER);
    wo_layered_forward(&text, &id, 2, 16);
    wo_text_add(&text, kept, 1 << 20, 2000, WO_LAYERED_BACKWARD);
    wo_text_add(&text, "{\"free\": 3}\n{\"free\": 2}\n");
    if (rows[i].is_behind_backward) wo_text_add(&text, kept, bytes, 1000, WO_LAYERED_OTHER);
    wo_text_add(&text, kept, 1 << 20, 3000, WO_LAYERED_OPTIMIZER);
    wo_text_add(&text, "{\"free\": 2000}\n");
    if (rows[i].is_again && bytes > 0) wo_text_add(&text, kept, bytes, 1001, WO_LAYERED_OTHER);
    wo_layered_forward(&text, &id, 1, 16);
    wo_text_add(&text, "{\"oom\": 16777216, \"stack\": %d}\n", WO_LAYERED_FORWARD);
    expect(&text, rows[i].grows_mib, false, 1, i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_failed_steps)};
  return cmocka_run_group_tests_name("step_growth", tests, NULL, NULL);
}
