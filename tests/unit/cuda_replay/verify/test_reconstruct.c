/* SPDX-License-Identifier: Apache-2.0 */
/* Reconstructed patterns: their figures are those of the log, and what cannot be known is refused. */
#include "cuda_replay/verify/reconstruct.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/verify/verify_trial.h"
#include "tests/support/failing_alloc.h"
#include "cuda_replay/recording/recording_valid.h"

#define MIB (1024.0 * 1024)
#define GIB (1024.0 * MIB)

/* 10 GiB of states, 6 GiB of activations, 1 GiB of holes, 2 GiB refused, 0.5 GiB free. */
static const struct wo_job_sizes usual = {.capacity_bytes = 18 * GIB,
                                          .tried_bytes = 2 * GIB,
                                          .free_bytes = 0.5 * GIB,
                                          .allocated_bytes = 16 * GIB,
                                          .unallocated_bytes = 1 * GIB,
                                          .non_pytorch_bytes = -1,
                                          .other_bytes = -1,
                                          .weights_bytes = 4 * GIB,
                                          .gradients_bytes = 2 * GIB,
                                          .optimizer_bytes = 4 * GIB,
                                          .parameters = -1,
                                          .trainable = -1,
                                          .micro_batch = 4,
                                          .seq_len = 1024,
                                          .layers = 16,
                                          .hidden = -1,
                                          .vocabulary = -1};

/* What is live at most before the request, and the request itself: the last block before backward begins. */
static void measure(const struct wo_recording *recording, uint64_t *ret_live, uint64_t *ret_request) {
  const struct wo_trace *const trace = &recording->traces.items[0];
  uint64_t live = 0;
  *ret_live = *ret_request = 0;
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action == WO_ACTION_FREE_COMPLETED) live -= entry->size_bytes;
    if (entry->action != WO_ACTION_ALLOC) continue;
    if (entry->size_bytes == 512) return;
    *ret_live = live;
    *ret_request = entry->size_bytes;
    live += entry->size_bytes;
  }
}

static void test_figures(void **state) {
  (void)state;
  struct wo_recording *recording = NULL;
  bool lacks_activations = true;
  struct wo_err err = {0};
  uint64_t live, request;
  assert_int_equal(wo_reconstruct(&usual, &recording, &lacks_activations, &err), WO_OK);
  assert_false(lacks_activations);
  assert_true(wo_recording_is_valid(recording));
  assert_int_equal(recording->format, WO_TRACE_FORMAT_RECONSTRUCTED);
  measure(recording, &live, &request);
  assert_int_equal(live, (uint64_t)(16 * GIB));
  assert_true(request >= (uint64_t)(2 * GIB) && request <= (uint64_t)(2 * GIB) + 8192);
  wo_recording_free(recording);
}

/* It fails as the job did, holds as much as was reserved, and fits where the micro-batch is halved: 3 GiB fewer activations, 1
 * GiB less wanted, and 1 GiB less for its gradient. */
static void test_replay(void **state) {
  (void)state;
  struct wo_recording *recording = NULL;
  bool lacks_activations;
  struct wo_err err = {0};
  struct wo_verify_subject subject;
  struct wo_verify_result result;
  assert_int_equal(wo_reconstruct(&usual, &recording, &lacks_activations, &err), WO_OK);
  assert_int_equal(
      wo_verify_subject_make(recording, &recording->traces.items[0], (struct wo_view){0}, &usual, 0, 0, &subject, &err), WO_OK);
  assert_int_equal(subject.capacity_bytes, (uint64_t)(17.5 * GIB));
  assert_int_equal(wo_verify_try(&subject, NULL, 3, &result, &err), WO_OK);
  assert_int_equal(result.fit, WO_VERIFY_NO);
  assert_true(result.reserved_hi_bytes >= (uint64_t)(20.9 * GIB) && result.reserved_hi_bytes <= (uint64_t)(21.2 * GIB));
  struct wo_change change = {.has_scale = true};
  change.scale.axes[WO_AXIS_MICRO_BATCH] = (struct wo_scale_axis){4, 2};
  subject.is_lower_bound = true; /* the pattern's own figure */
  assert_int_equal(wo_verify_try(&subject, &change, 3, &result, &err), WO_OK);
  assert_int_equal(result.fit, WO_VERIFY_YES);
  const double reserved = (double)result.reserved_hi_bytes / GIB;
  if (reserved < 15.9 || reserved > 16.4) fail_msg("%.3f GiB", reserved);
  wo_verify_subject_done(&subject);
  wo_recording_free(recording);
}

/* What was reconstructed decides nothing within a wide interval, which is wider where no step was whole. */
static void test_interval(void **state) {
  (void)state;
  static const struct {
    double step, capacity_gib;
    enum wo_verify_fit fit;
  } rows[] = {{40, 23, WO_VERIFY_YES},    {40, 21.5, WO_VERIFY_UNSURE}, {40, 13, WO_VERIFY_UNSURE}, {40, 10, WO_VERIFY_NO},
              {-1, 23, WO_VERIFY_UNSURE}, {1, 23, WO_VERIFY_UNSURE},    {-1, 34, WO_VERIFY_YES},    {-1, 10, WO_VERIFY_NO}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct wo_recording *recording = NULL;
    bool lacks_activations;
    struct wo_err err = {0};
    struct wo_verify_subject subject;
    struct wo_verify_result result;
    struct wo_job_sizes sizes = usual;
    sizes.step = rows[i].step;
    assert_int_equal(wo_reconstruct(&sizes, &recording, &lacks_activations, &err), WO_OK);
    assert_int_equal(wo_verify_subject_make(recording, &recording->traces.items[0], (struct wo_view){0}, &sizes,
                                            (uint64_t)(rows[i].capacity_gib * GIB), 0, &subject, &err),
                     WO_OK);
    struct wo_change change = {.has_scale = true};
    change.scale.axes[WO_AXIS_MICRO_BATCH] = (struct wo_scale_axis){4, 2};
    assert_int_equal(wo_verify_try(&subject, &change, 3, &result, &err), WO_OK);
    if (result.fit != rows[i].fit)
      fail_msg("row %zu: %.2f-%.2f GiB", i, (double)result.reserved_lo_bytes / GIB, (double)result.reserved_hi_bytes / GIB);
    assert_true(result.reserved_lo_bytes < result.reserved_hi_bytes);
    assert_int_equal(result.fit == WO_VERIFY_UNSURE, result.why[0] != '\0');
    wo_verify_subject_done(&subject);
    wo_recording_free(recording);
  }
}

/* Space enough that lies idle in pieces: it fails as it was, and with expandable segments the pieces are given back. */
static void test_holes(void **state) {
  (void)state;
  struct wo_recording *recording = NULL;
  bool lacks_activations;
  struct wo_err err = {0};
  struct wo_verify_subject subject;
  struct wo_verify_result result;
  struct wo_job_sizes sizes = usual;
  sizes.unallocated_bytes = 8 * GIB;
  assert_int_equal(wo_reconstruct(&sizes, &recording, &lacks_activations, &err), WO_OK);
  assert_int_equal(
      wo_verify_subject_make(recording, &recording->traces.items[0], (struct wo_view){0}, &sizes, 0, 0, &subject, &err), WO_OK);
  assert_int_equal(wo_verify_try(&subject, NULL, 3, &result, &err), WO_OK);
  assert_int_equal(result.fit, WO_VERIFY_NO);
  struct wo_change change = {.set_count = 0};
  assert_int_equal(wo_change_add(&change, WO_VIEW("set"), WO_VIEW("expandable_segments:True"), &err), WO_OK);
  assert_int_equal(wo_verify_try(&subject, &change, 3, &result, &err), WO_OK);
  assert_int_equal(result.fit, WO_VERIFY_YES);
  wo_verify_subject_done(&subject);
  wo_recording_free(recording);
}

static void try_checkpointing(const struct wo_job_sizes *sizes, struct wo_verify_result *ret_result) {
  struct wo_recording *recording = NULL;
  bool lacks_activations;
  struct wo_err err = {0};
  struct wo_verify_subject subject;
  struct wo_change change = {.set_count = 0};
  assert_int_equal(wo_reconstruct(sizes, &recording, &lacks_activations, &err), WO_OK);
  assert_int_equal(
      wo_verify_subject_make(recording, &recording->traces.items[0], (struct wo_view){0}, sizes, 0, 0, &subject, &err), WO_OK);
  assert_int_equal(wo_change_add(&change, WO_VIEW("transform"), WO_VIEW("checkpoint"), &err), WO_OK);
  assert_int_equal(wo_verify_try(&subject, &change, 3, ret_result, &err), WO_OK);
  wo_verify_subject_done(&subject);
  wo_recording_free(recording);
}

/* What checkpointing frees is told only where the width of the model tells what a layer keeps. */
static void test_checkpointing(void **state) {
  (void)state;
  struct wo_verify_result result;
  struct wo_job_sizes sizes = usual;
  sizes.hidden = 2048;
  try_checkpointing(&sizes, &result);
  assert_true(result.fit == WO_VERIFY_YES || result.fit == WO_VERIFY_UNSURE);
  assert_true(result.reserved_lo_bytes < result.reserved_hi_bytes && result.reserved_hi_bytes < (uint64_t)(2 * 17.5 * GIB));
  sizes.hidden = -1;
  try_checkpointing(&sizes, &result);
  assert_int_equal(result.fit, WO_VERIFY_UNTRIED);
  sizes.hidden = 3; /* no model's; sizes stay positive */
  try_checkpointing(&sizes, &result);
}

/* Buffers of sharding stay as they are when the batch shrinks. */
static void test_fixed(void **state) {
  (void)state;
  struct wo_recording *recording = NULL;
  bool lacks_activations;
  struct wo_err err = {0};
  uint64_t live, request;
  struct wo_job_sizes sizes = usual;
  sizes.fixed_bytes = 1 * GIB;
  assert_int_equal(wo_reconstruct(&sizes, &recording, &lacks_activations, &err), WO_OK);
  measure(recording, &live, &request);
  assert_int_equal(live, (uint64_t)(16 * GIB));
  wo_recording_free(recording);
  sizes.fixed_bytes = 20 * GIB; /* more than there was: not there yet */
  assert_int_equal(wo_reconstruct(&sizes, &recording, &lacks_activations, &err), WO_OK);
  measure(recording, &live, &request);
  assert_int_equal(live, (uint64_t)(16 * GIB));
  wo_recording_free(recording);
  sizes.is_other_allocator = true; /* then a snapshot of PyTorch is no help */
  assert_int_equal(wo_reconstruct(&sizes, &recording, &lacks_activations, &err), WO_E_RANGE);
  assert_true(strstr(err.message, "only PyTorch's is replayed") && !strstr(err.message, "--trace"));
  sizes.is_other_allocator = false;
  sizes.weights_bytes = -1;
  sizes.states = WO_VIEW("the states are divided");
  assert_int_equal(wo_reconstruct(&sizes, &recording, &lacks_activations, &err), WO_E_RANGE);
  assert_non_null(strstr(err.message, "the states are divided"));
}

/* Each refusal names what would help. */
static void test_refusals(void **state) {
  (void)state;
  struct wo_job_sizes rows[7];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) rows[i] = usual;
  rows[0].are_contradicting = true;
  rows[1].weights_bytes = -1;
  rows[2].allocated_bytes = -1;
  rows[3].tried_bytes = NAN;
  rows[4].weights_bytes = 17 * GIB; /* more than was allocated, less than the card */
  rows[4].gradients_bytes = rows[4].optimizer_bytes = 0;
  rows[5].phase = WO_VIEW("load");
  rows[6].weights_bytes = INFINITY;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_recording *recording = NULL;
    bool lacks_activations;
    struct wo_err err = {0};
    if (wo_reconstruct(&rows[i], &recording, &lacks_activations, &err) != WO_E_RANGE) fail_msg("row %zu is not refused", i);
    assert_non_null(strstr(err.message, "--trace"));
  }
}

/* States that exceed the card are a pattern by themselves. */
static void test_states_alone(void **state) {
  (void)state;
  struct wo_job_sizes sizes = usual;
  struct wo_recording *recording = NULL;
  bool lacks_activations = false;
  struct wo_err err = {0};
  sizes.weights_bytes = 12 * GIB;
  sizes.allocated_bytes = -1;
  sizes.phase = WO_VIEW("load");
  sizes.optimizer_bytes = 24 * GIB;
  assert_int_equal(wo_reconstruct(&sizes, &recording, &lacks_activations, &err), WO_OK);
  assert_true(lacks_activations);
  uint64_t live = 0;
  for (size_t i = 0; i < recording->traces.items[0].entries.count; i++)
    live += recording->traces.items[0].entries.items[i].size_bytes;
  assert_int_equal(live, (uint64_t)(38 * GIB));
  wo_recording_free(recording);
}

static void test_failing_allocations(void **state) {
  (void)state;
  bool is_through = false;
  for (long n = 1; !is_through; n++) {
    struct wo_recording *recording = NULL;
    bool lacks_activations;
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_reconstruct(&usual, &recording, &lacks_activations, &err);
    wo_fail_alloc_off();
    is_through = !wo_fail_alloc_hit();
    assert_int_equal(status, is_through ? WO_OK : WO_E_NOMEM);
    wo_recording_free(recording);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_figures),  cmocka_unit_test(test_replay),        cmocka_unit_test(test_interval),
      cmocka_unit_test(test_holes),    cmocka_unit_test(test_checkpointing), cmocka_unit_test(test_fixed),
      cmocka_unit_test(test_refusals), cmocka_unit_test(test_states_alone),  cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
