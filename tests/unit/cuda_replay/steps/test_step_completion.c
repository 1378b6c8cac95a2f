/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a made-up transformer, cut at a request and completed. Each step can be made at any length and batch, so what was cut
 * off is known; so are programs that accumulate, that build a model first, that catch their failure. */
#include "cuda_replay/steps/step_completion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/change/change.h"
#include "tests/support/replay/cut_steps.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/made_step.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "tests/support/replay/transform_names.h"

static const struct wo_made_shape shape = {.batch = 4, .length = 96, .hidden = 352, .heads = 5, .layers = 3, .vocabulary = 1003};

struct completed {
  struct wo_alloc_pattern cut;
  struct wo_classes classes;
  struct wo_step_completion completion;
};

static struct completed complete(struct wo_alloc_pattern cut) {
  struct completed completed = {.cut = cut};
  assert_int_equal(wo_classify(&completed.cut, NULL, &completed.classes), WO_OK);
  assert_int_equal(wo_step_completion_make(&completed.cut, &completed.classes, NULL, &completed.completion), WO_OK);
  const struct wo_step_completion *const made = &completed.completion;
  assert_int_equal(made->is_made, made->refused != WO_NO_REQUEST && made->why[0] == '\0');
  if (made->is_made) {
    assert_true(wo_alloc_pattern_is_valid(&made->high));
    assert_int_equal(made->high_classes.marks.count, made->high.instances.count);
    assert_true(made->added_count > 0 && made->added_count <= made->whole_count);
  }
  if (made->is_interval) {
    assert_true(wo_alloc_pattern_is_valid(&made->low));
    assert_int_equal(made->low.instances.count, made->high.instances.count);
    for (size_t i = 0; i < made->low.instances.count; i++)
      assert_true(made->low.instances.items[i].size_bytes <= made->high.instances.items[i].size_bytes);
  }
  return completed;
}

static void done(struct completed *completed) {
  wo_step_completion_done(&completed->completion);
  wo_classes_done(&completed->classes);
  wo_alloc_pattern_done(&completed->cut);
}

/* The first allocation at or behind a part of a step, in thousandths of it. */
static uint32_t alloc_at(const struct wo_alloc_pattern *pattern, uint32_t first, uint32_t end, unsigned part) {
  uint32_t at = first + (uint32_t)((uint64_t)(end - first) * part / 1000);
  while (pattern->requests.items[at].kind != WO_REQUEST_ALLOC) at++;
  assert_true(at < end);
  return at;
}

/* ---- Equal steps ---- */

static void equal_steps_come_out_as_they_were(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 12; variant++) {
    struct wo_made_shape made = shape;
    made.is_mixed = variant % 2 == 1;
    made.is_accumulated = variant / 2 % 2 == 1;
    made.is_in_place = variant / 4 == 1;
    made.is_shifted = variant / 4 == 2;
    struct wo_made_step step = wo_made_step_make(&made);
    struct wo_passes passes;
    struct wo_alloc_pattern truth = wo_cut_steps_make(&step.pattern, NULL, 0, 3, &passes);
    for (unsigned part = 5; part < 950; part += 45) {
      const uint32_t at = alloc_at(&truth, passes.begins[1], passes.ends[1], part);
      struct completed completed = complete(wo_cut_at(&truth, at));
      if (!completed.completion.is_made) fail_msg("variant %u, %u: %s", variant, part, completed.completion.why);
      assert_false(completed.completion.is_interval);
      assert_true(completed.completion.ratio == 1);
      assert_true(completed.completion.high.requests.count >= passes.ends[1]);
      if (!wo_cut_is_same(&truth, &completed.completion.high)) fail_msg("variant %u, %u: not the same", variant, part);
      done(&completed);
    }
    wo_alloc_pattern_done(&truth);
    wo_made_step_done(&step);
  }
}

/* As Python stacks have it: nothing of backward has one. */
static void leave_stacks_of_backward(struct wo_alloc_pattern *pattern) {
  struct wo_classes classes;
  assert_int_equal(wo_classify(pattern, NULL, &classes), WO_OK);
  for (size_t i = 0; i < pattern->instances.count; i++) {
    if (classes.marks.items[i].phase == WO_PHASE_BACKWARD) pattern->instances.items[i].stack = WO_NO_STACK;
  }
  wo_classes_done(&classes);
}

/* An allocation that stays, before request `at`. */
static void insert_workspace(struct wo_alloc_pattern *pattern, uint32_t at) {
  assert_true(WO_VEC_RESERVE(&pattern->requests, 1, UINT32_MAX) && WO_VEC_RESERVE(&pattern->instances, 1, UINT32_MAX));
  for (size_t i = 0; i < pattern->instances.count; i++) {
    struct wo_instance *const instance = &pattern->instances.items[i];
    if (instance->birth != WO_NO_REQUEST && instance->birth >= at) instance->birth++;
    if (instance->death != WO_NO_REQUEST && instance->death >= at) instance->death++;
  }
  const uint32_t made = (uint32_t)pattern->instances.count++;
  pattern->instances.items[made] =
      (struct wo_instance){.size_bytes = 32 << 20, .birth = at, .death = WO_NO_REQUEST, .stack = WO_NO_STACK};
  struct wo_request *const requests = pattern->requests.items;
  memmove(requests + at + 1, requests + at, (pattern->requests.count++ - at) * sizeof *requests);
  requests[at] = (struct wo_request){.kind = WO_REQUEST_ALLOC, .subject = made, .entry = WO_NO_ENTRY};
}

/* The thread of backward gets a workspace of cuBLAS in the first step: what has no stack is not known by its place alone. */
static void workspaces_of_the_first_step_move_nothing(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_passes passes;
  struct wo_alloc_pattern truth = wo_cut_steps_make(&step.pattern, NULL, 0, 3, &passes);
  leave_stacks_of_backward(&truth);
  insert_workspace(&truth, passes.begins[0] + (passes.ends[0] - passes.begins[0]) * 6 / 10);
  for (unsigned part = 650; part < 950; part += 45) {
    struct completed completed = complete(wo_cut_at(&truth, alloc_at(&truth, passes.begins[1] + 1, passes.ends[1] + 1, part)));
    if (!completed.completion.is_made) fail_msg("%u: %s", part, completed.completion.why);
    assert_true(completed.completion.ratio == 1);
    assert_false(completed.completion.is_interval);
    done(&completed);
  }
  wo_alloc_pattern_done(&truth);
  wo_made_step_done(&step);
}

/* ---- Other sizes ---- */

/* Every block of the truth lies within the interval, and so do the peaks. (No two shapes have one size here: the docs say what
 * then.) */
static void check_other(const struct wo_made_shape *from, const struct wo_made_shape *to, unsigned part) {
  struct wo_made_step step = wo_made_step_make(from), other = wo_made_step_make(to);
  struct wo_passes passes;
  struct wo_alloc_pattern truth = wo_cut_steps_make(&step.pattern, &other.pattern, 1, 3, &passes);
  struct completed completed = complete(wo_cut_at(&truth, alloc_at(&truth, passes.begins[1], passes.ends[1], part)));
  const struct wo_step_completion *const made = &completed.completion;
  assert_true(made->is_made);
  assert_int_equal(wo_cut_common(&truth, &made->high), made->high.requests.count);
  const struct wo_alloc_pattern *const low = made->is_interval ? &made->low : &made->high;
  for (size_t i = 0; i < made->high.instances.count; i++) {
    const uint64_t real = truth.instances.items[i].size_bytes, size = made->high.instances.items[i].size_bytes;
    /* A refused request is known as it was rounded, and so are those that are eight times as large. */
    if (low->instances.items[i].size_bytes > real + 8 * 511 || size < real)
      fail_msg("part %u: block %zu: %lu not within %lu .. %lu", part, i, real, low->instances.items[i].size_bytes, size);
  }
  struct wo_alloc_pattern rest = wo_cut_before(&truth, (uint32_t)made->high.requests.count);
  assert_true(wo_cut_peaks_of(&made->high).allocated_bytes >= wo_cut_peaks_of(&rest).allocated_bytes);
  wo_alloc_pattern_done(&rest);
  done(&completed);
  wo_alloc_pattern_done(&truth);
  wo_made_step_done(&step);
  wo_made_step_done(&other);
}

static void other_sizes_lie_within(void **state) {
  (void)state;
  static const uint64_t lengths[][2] = {{96, 256}, {256, 96}, {96, 97}, {128, 640}};
  static const uint64_t batches[][2] = {{4, 4}, {4, 6}, {4, 4}};
  for (unsigned variant = 0; variant < 8; variant++) {
    for (unsigned i = 0; i < 12; i++) {
      struct wo_made_shape from = shape;
      from.is_mixed = variant % 2 == 1;
      from.is_shifted = variant / 2 % 2 == 1;
      from.is_accumulated = variant / 4 == 1;
      struct wo_made_shape to = from;
      from.length = lengths[i % 4][0];
      to.length = lengths[i % 4][1];
      /* Both grow or both shrink: the docs say that nothing else is covered. */
      from.batch = to.length > from.length ? batches[i / 4][0] : batches[i / 4][1];
      to.batch = to.length > from.length ? batches[i / 4][1] : batches[i / 4][0];
      for (unsigned part = 30; part < 900; part += 145) check_other(&from, &to, part);
    }
  }
}

static void ratio_is_told(void **state) {
  (void)state;
  struct wo_made_shape to = shape;
  to.is_fused = true;
  const struct wo_made_shape from = to;
  to.length = 3 * shape.length;
  struct wo_made_step step = wo_made_step_make(&from), other = wo_made_step_make(&to);
  struct wo_passes passes;
  struct wo_alloc_pattern truth = wo_cut_steps_make(&step.pattern, &other.pattern, 1, 2, &passes);
  struct completed completed = complete(wo_cut_at(&truth, alloc_at(&truth, passes.begins[1], passes.ends[1], 300)));
  assert_true(completed.completion.is_made);
  assert_true(completed.completion.ratio > 2.99 && completed.completion.ratio < 3.01);
  done(&completed);
  wo_alloc_pattern_done(&truth);
  wo_made_step_done(&step);
  wo_made_step_done(&other);
}

/* ---- Small differences ---- */

/* Leaves out every n-th allocation of a stretch, with its free. */
static struct wo_alloc_pattern without_some(const struct wo_alloc_pattern *from, uint32_t first, uint32_t end, uint32_t every) {
  struct wo_alloc_pattern to = {.recording = from->recording};
  static uint32_t now[40000];
  for (size_t i = 0; i < from->start_count; i++) {
    assert_true(wo_alloc_pattern_add_start(&to, from->instances.items[i]));
    now[i] = (uint32_t)i;
  }
  for (uint32_t r = 0; r < from->requests.count; r++) {
    struct wo_request request = from->requests.items[r];
    const struct wo_instance *const instance = &from->instances.items[request.subject];
    const bool is_in = request.subject >= from->start_count && instance->birth >= first && instance->birth < end;
    if (is_in && request.subject % every == 0) continue;
    if (request.kind == WO_REQUEST_ALLOC) {
      assert_true(wo_alloc_pattern_add_alloc(&to, *instance, WO_NO_ENTRY, &now[request.subject]));
    } else {
      request.subject = now[request.subject];
      assert_true(wo_alloc_pattern_add_request(&to, request));
    }
  }
  return to;
}

/* The step that failed lacks a few allocations: what it does have is freed when the whole step frees it. */
static void a_few_may_be_missing(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_passes passes;
  struct wo_alloc_pattern equal = wo_cut_steps_make(&step.pattern, NULL, 0, 2, &passes);
  struct wo_alloc_pattern truth = without_some(&equal, passes.begins[1], passes.ends[1], 41);
  const uint32_t at = alloc_at(&truth, passes.begins[1], (uint32_t)truth.requests.count, 400);
  struct completed completed = complete(wo_cut_at(&truth, at));
  assert_true(completed.completion.is_made);
  const struct wo_cut_peaks real = wo_cut_peaks_of(&truth), high = wo_cut_peaks_of(&completed.completion.high);
  assert_true(high.allocated_bytes >= real.allocated_bytes);
  assert_true(high.allocated_bytes < real.allocated_bytes + real.allocated_bytes / 20);
  done(&completed);
  wo_alloc_pattern_done(&truth);
  wo_alloc_pattern_done(&equal);
  wo_made_step_done(&step);
}

/* A step of another program is no whole step of this one. */
static void another_program_completes_nothing(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_passes passes;
  struct wo_alloc_pattern equal = wo_cut_steps_make(&step.pattern, NULL, 0, 2, &passes);
  struct wo_alloc_pattern truth = without_some(&equal, passes.begins[1], passes.ends[1], 3);
  struct completed completed =
      complete(wo_cut_at(&truth, alloc_at(&truth, passes.begins[1], (uint32_t)truth.requests.count, 400)));
  assert_false(completed.completion.is_made);
  assert_non_null(strstr(completed.completion.why, "other allocations"));
  done(&completed);
  wo_alloc_pattern_done(&truth);
  wo_alloc_pattern_done(&equal);
  wo_made_step_done(&step);
}

/* ---- What cannot be completed ---- */

static void nothing_before_completes_nothing(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  const uint32_t end = (uint32_t)step.pattern.requests.count;
  struct completed completed = complete(wo_cut_at(&step.pattern, alloc_at(&step.pattern, 0, end, 400)));
  assert_false(completed.completion.is_made);
  assert_non_null(strstr(completed.completion.why, "no whole step"));
  done(&completed);
  struct wo_alloc_pattern whole = wo_cut_before(&step.pattern, end);
  completed = complete(whole);
  assert_int_equal(completed.completion.refused, WO_NO_REQUEST);
  assert_false(completed.completion.is_made || completed.completion.goes_on);
  assert_string_equal(completed.completion.why, "");
  done(&completed);
  wo_made_step_done(&step);
}

/* ---- Programs that catch their failure ---- */

/* Ends all that the failed step left, then makes the whole step once more. */
static struct wo_alloc_pattern go_on(struct wo_alloc_pattern cut, const struct wo_alloc_pattern *truth,
                                     const struct wo_passes *passes) {
  static uint32_t now[40000];
  const size_t alive = cut.instances.count;
  for (size_t i = 0; i < alive; i++) {
    const struct wo_instance *const instance = &cut.instances.items[i];
    now[i] = (uint32_t)i;
    if (instance->birth != WO_NO_REQUEST && instance->birth >= passes->begins[1] && instance->death == WO_NO_REQUEST)
      assert_true(wo_alloc_pattern_add_free(&cut, (uint32_t)i));
  }
  for (uint32_t r = passes->begins[1]; r < passes->ends[1]; r++) {
    struct wo_request request = truth->requests.items[r];
    const struct wo_instance *const instance = &truth->instances.items[request.subject];
    if (request.kind == WO_REQUEST_ALLOC) {
      assert_true(wo_alloc_pattern_add_alloc(&cut, *instance, WO_NO_ENTRY, &now[request.subject]));
      continue;
    }
    request.subject = now[request.subject];
    if (cut.instances.items[request.subject].death == WO_NO_REQUEST) assert_true(wo_alloc_pattern_add_request(&cut, request));
  }
  assert_true(wo_alloc_pattern_is_valid(&cut));
  return cut;
}

static void a_caught_failure_is_completed_too(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_passes passes;
  struct wo_alloc_pattern truth = wo_cut_steps_make(&step.pattern, NULL, 0, 2, &passes);
  const uint32_t at = alloc_at(&truth, passes.begins[1], passes.ends[1], 350);
  struct completed completed = complete(go_on(wo_cut_at(&truth, at), &truth, &passes));
  assert_true(completed.completion.is_made && completed.completion.goes_on);
  assert_int_equal(completed.completion.refused, at);
  assert_true(wo_cut_peaks_of(&completed.completion.high).allocated_bytes == wo_cut_peaks_of(&truth).allocated_bytes);
  done(&completed);
  wo_alloc_pattern_done(&truth);
  wo_made_step_done(&step);
}

/* What was cut short by a refusal lends nothing: its end is that of another step. */
static void a_refused_step_lends_nothing(void **state) {
  (void)state;
  struct wo_made_step step = wo_made_step_make(&shape);
  struct wo_passes passes;
  struct wo_alloc_pattern truth = wo_cut_steps_make(&step.pattern, NULL, 0, 2, &passes);
  struct wo_instance refused = {.size_bytes = 512, .stack = truth.instances.items[truth.start_count].stack};
  struct wo_alloc_pattern steps = {.recording = truth.recording};
  uint32_t added;
  for (size_t i = 0; i < truth.start_count; i++) assert_true(wo_alloc_pattern_add_start(&steps, truth.instances.items[i]));
  assert_true(wo_alloc_pattern_add_refused(&steps, refused, WO_NO_ENTRY, &added));
  static uint32_t now[40000];
  for (uint32_t i = 0; i < truth.start_count; i++) now[i] = i;
  const uint32_t at = alloc_at(&truth, passes.begins[1], passes.ends[1], 350);
  for (uint32_t r = 0; r < at; r++) {
    struct wo_request request = truth.requests.items[r];
    if (request.kind == WO_REQUEST_ALLOC) {
      assert_true(wo_alloc_pattern_add_alloc(&steps, truth.instances.items[request.subject], WO_NO_ENTRY, &now[request.subject]));
    } else {
      request.subject = now[request.subject];
      assert_true(wo_alloc_pattern_add_request(&steps, request));
    }
  }
  assert_true(wo_alloc_pattern_add_refused(&steps, truth.instances.items[truth.requests.items[at].subject], WO_NO_ENTRY, &added));
  struct completed completed = complete(steps);
  assert_false(completed.completion.is_made);
  assert_non_null(strstr(completed.completion.why, "refused"));
  done(&completed);
  wo_alloc_pattern_done(&truth);
  wo_made_step_done(&step);
}

/* ---- Passes ---- */

/* The whole step has one pass, the one that failed has got into its second. */
static void a_pass_lends_its_end(void **state) {
  (void)state;
  struct wo_made_shape twice = shape;
  twice.is_accumulated = true;
  struct wo_made_step once = wo_made_step_make(&shape), step = wo_made_step_make(&twice);
  struct wo_alloc_pattern steps = {.recording = once.pattern.recording};
  static uint32_t now[40000];
  for (uint32_t i = 0; i < once.pattern.start_count; i++) {
    assert_true(wo_alloc_pattern_add_start(&steps, once.pattern.instances.items[i]));
    now[i] = i;
  }
  const struct wo_alloc_pattern *const sources[] = {&once.pattern, &step.pattern};
  uint32_t counts[] = {(uint32_t)once.pattern.requests.count,
                       alloc_at(&step.pattern, 0, (uint32_t)step.pattern.requests.count, 600)};
  for (size_t s = 0; s < 2; s++) {
    for (uint32_t r = 0; r < counts[s]; r++) {
      struct wo_request request = sources[s]->requests.items[r];
      const struct wo_instance *const instance = &sources[s]->instances.items[request.subject];
      if (request.kind == WO_REQUEST_ALLOC) {
        assert_true(wo_alloc_pattern_add_alloc(&steps, *instance, WO_NO_ENTRY, &now[request.subject]));
      } else {
        request.subject = now[request.subject];
        if (steps.instances.items[request.subject].death == WO_NO_REQUEST)
          assert_true(wo_alloc_pattern_add_request(&steps, request));
      }
    }
  }
  const struct wo_instance refused = step.pattern.instances.items[step.pattern.requests.items[counts[1]].subject];
  uint32_t added;
  assert_true(wo_alloc_pattern_add_refused(&steps, refused, WO_NO_ENTRY, &added));
  struct completed completed = complete(steps);
  if (!completed.completion.is_made) fail_msg("%s", completed.completion.why);
  const uint64_t real = wo_cut_peaks_of(&step.pattern).allocated_bytes;
  assert_true(wo_cut_peaks_of(&completed.completion.high).allocated_bytes >= real);
  done(&completed);
  wo_made_step_done(&once);
  wo_made_step_done(&step);
}

/* ---- After it ---- */

/* Half the micro-batch of a completed step is what a completed step of half the micro-batch is. */
static void changes_apply_behind_it(void **state) {
  (void)state;
  struct wo_made_shape half = shape;
  half.batch /= 2;
  struct wo_made_step step = wo_made_step_make(&shape), halved = wo_made_step_make(&half);
  struct wo_passes passes;
  struct wo_alloc_pattern truth = wo_cut_steps_make(&step.pattern, NULL, 0, 2, &passes);
  struct wo_alloc_pattern expected = wo_cut_steps_make(&halved.pattern, NULL, 0, 2, &passes);
  struct completed completed = complete(wo_cut_at(&truth, alloc_at(&truth, passes.begins[1], passes.ends[1], 350)));
  const struct wo_step_completion *const made = &completed.completion;
  const struct wo_change change = {.has_scale = true,
                                   .scale = {.axes = {[WO_AXIS_MICRO_BATCH] = {(uint32_t)shape.batch, (uint32_t)half.batch},
                                                      [WO_AXIS_SEQ_LEN] = {(uint32_t)shape.length, (uint32_t)shape.length}}}};
  struct wo_change_basis basis;
  struct wo_alloc_pattern changed;
  struct wo_err err = {0};
  assert_true(made->is_made);
  assert_int_equal(wo_change_prepare(&change, &made->high, &made->high_classes, NULL, &basis, &err), WO_OK);
  assert_int_equal(wo_change_apply(&change, &basis, WO_BOUND_HIGH, &changed, &err), WO_OK);
  assert_true(wo_cut_peaks_of(&changed).allocated_bytes == wo_cut_peaks_of(&expected).allocated_bytes);
  wo_alloc_pattern_done(&changed);
  wo_change_basis_done(&basis);
  for (size_t i = 0; i < WO_TRANSFORM_NAMES; i++) {
    const struct wo_transform *const transform = wo_transform_named(i);
    const struct wo_transform_request request = {&made->high, &made->high_classes, transform->amount_min, WO_BOUND_HIGH};
    if (wo_transform_apply(transform, &request, &changed, &err) != WO_OK) continue;
    assert_true(wo_alloc_pattern_is_valid(&changed));
    wo_alloc_pattern_done(&changed);
  }
  done(&completed);
  wo_alloc_pattern_done(&truth);
  wo_alloc_pattern_done(&expected);
  wo_made_step_done(&step);
  wo_made_step_done(&halved);
}

/* Each allocation in turn fails: memory is out, and nothing leaks (the sanitizer looks). */
static void failing_allocations(void **state) {
  (void)state;
  struct wo_made_shape to = shape;
  to.length = 128;
  struct wo_made_step step = wo_made_step_make(&shape), other = wo_made_step_make(&to);
  struct wo_passes passes;
  struct wo_alloc_pattern truth = wo_cut_steps_make(&step.pattern, &other.pattern, 1, 2, &passes);
  struct wo_alloc_pattern cut = wo_cut_at(&truth, alloc_at(&truth, passes.begins[1], passes.ends[1], 100));
  struct wo_classes classes;
  bool is_through = false;
  assert_int_equal(wo_classify(&cut, NULL, &classes), WO_OK);
  for (long n = 1; !is_through && n < 10000; n++) {
    struct wo_step_completion completion;
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_step_completion_make(&cut, &classes, NULL, &completion);
    wo_fail_alloc_off();
    is_through = !wo_fail_alloc_hit();
    assert_int_equal(status, is_through ? WO_OK : WO_E_NOMEM);
    if (status == WO_OK) wo_step_completion_done(&completion);
  }
  assert_true(is_through);
  wo_step_completion_done(NULL);
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&cut);
  wo_alloc_pattern_done(&truth);
  wo_made_step_done(&step);
  wo_made_step_done(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_steps_come_out_as_they_were),
      cmocka_unit_test(workspaces_of_the_first_step_move_nothing),
      cmocka_unit_test(other_sizes_lie_within),
      cmocka_unit_test(ratio_is_told),
      cmocka_unit_test(a_few_may_be_missing),
      cmocka_unit_test(another_program_completes_nothing),
      cmocka_unit_test(nothing_before_completes_nothing),
      cmocka_unit_test(a_caught_failure_is_completed_too),
      cmocka_unit_test(a_refused_step_lends_nothing),
      cmocka_unit_test(a_pass_lends_its_end),
      cmocka_unit_test(changes_apply_behind_it),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
