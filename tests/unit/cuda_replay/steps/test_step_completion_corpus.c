/* SPDX-License-Identifier: Apache-2.0 */
/* Real steps, cut in the middle and completed: what comes out is held against what was cut off. A table of the cuts is printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cuda_replay/steps/step_completion.h"
#include "tests/support/replay/cut_steps.h"
#include "tests/support/recording/shared_traces.h"
#include "tests/support/process.h"

enum { CUTS = 24 };

/* Two recordings of one program at two lengths, or one. Programs without an optimizer show where a step begins by repetition
 * only, which takes two whole ones. */
struct row {
  const char *first, *other;
  unsigned whole;
  unsigned made_min;       /* cuts that must be completed, of all that end at an allocation */
  double reserved_max_pct; /* how far below the truth the high end's reserved bytes may be (fragmentation is not monotone) */
};

static const struct row rows[] = {
    {"lm-ctx256-fullstep-torch2.6.pickle", NULL, 1, CUTS, 0},
    {"lm-ctx512-fullstep-torch2.6.pickle", NULL, 1, CUTS, 0},
    {"lm-medium512-training-torch2.11.pickle", NULL, 1, CUTS, 0},
    {"lm-medium1024-training-torch2.11.pickle", NULL, 1, CUTS, 0},
    {"trainstep-torch2.1.pickle", NULL, 2, CUTS, 0},
    {"lm-ctx512-forward-mixed-torch2.6.pickle", NULL, 2, 12, 0},
    {"fromempty-torch2.6.pickle", NULL, 2, 0, 0},
    {"lm-ctx256-fullstep-torch2.6.pickle", "lm-ctx512-fullstep-torch2.6.pickle", 1, CUTS, 0.5},
    {"lm-ctx512-fullstep-torch2.6.pickle", "lm-ctx256-fullstep-torch2.6.pickle", 1, CUTS, 0.5},
    {"lm-medium512-training-torch2.11.pickle", "lm-medium1024-training-torch2.11.pickle", 1, CUTS, 0.5},
    {"lm-medium1024-training-torch2.11.pickle", "lm-medium512-training-torch2.11.pickle", 1, CUTS, 0.5},
};

struct figures {
  unsigned cuts, made, same, intervals;
  struct {
    double low_above, high_below, width; /* the worst, in percent of the truth */
  } allocated, reserved;
};

static double percent(uint64_t bytes, uint64_t truth) {
  return 100 * ((double)bytes / (double)truth - 1);
}

static void raise(double *worst, double value) {
  if (value > *worst) *worst = value;
}

/* The truth ends where the completed pattern does: behind the step stand the frees with which the next one begins. */
static void compare(const struct wo_alloc_pattern *truth, const struct wo_step_completion *completion, struct figures *figures) {
  const size_t common = wo_cut_common(truth, &completion->high);
  assert_int_equal(common, completion->high.requests.count);
  struct wo_alloc_pattern rest = wo_cut_before(truth, (uint32_t)common);
  const struct wo_cut_peaks real = wo_cut_peaks_of(&rest), high = wo_cut_peaks_of(&completion->high);
  const struct wo_cut_peaks low = completion->is_interval ? wo_cut_peaks_of(&completion->low) : high;
  wo_alloc_pattern_done(&rest);
  figures->made++;
  figures->same += wo_cut_is_same(truth, &completion->high);
  figures->intervals += completion->is_interval;
  raise(&figures->allocated.low_above, percent(low.allocated_bytes, real.allocated_bytes));
  raise(&figures->allocated.high_below, -percent(high.allocated_bytes, real.allocated_bytes));
  raise(&figures->allocated.width,
        percent(high.allocated_bytes, real.allocated_bytes) - percent(low.allocated_bytes, real.allocated_bytes));
  raise(&figures->reserved.low_above, percent(low.reserved_bytes, real.reserved_bytes));
  raise(&figures->reserved.high_below, -percent(high.reserved_bytes, real.reserved_bytes));
  raise(&figures->reserved.width,
        percent(high.reserved_bytes, real.reserved_bytes) - percent(low.reserved_bytes, real.reserved_bytes));
}

static void cut(const struct wo_alloc_pattern *truth, uint32_t at, uint32_t end, unsigned whole, struct figures *figures) {
  struct wo_alloc_pattern ended = wo_cut_at(truth, at);
  struct wo_classes classes;
  struct wo_step_completion completion;
  assert_int_equal(wo_classify(&ended, NULL, &classes), WO_OK);
  assert_int_equal(wo_step_completion_make(&ended, &classes, NULL, &completion), WO_OK);
  assert_int_equal(completion.refused, ended.requests.count - 1);
  assert_false(completion.goes_on);
  figures->cuts++;
  if (completion.is_made) {
    /* By repetition a step may be found to begin elsewhere. */
    assert_true(whole > 1 || completion.high.requests.count >= end);
    compare(truth, &completion, figures);
  } else {
    assert_true(completion.why[0] != '\0');
    printf("  at %u of %u: %s\n", at, end, completion.why);
  }
  wo_step_completion_done(&completion);
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&ended);
}

static void cut_everywhere(const struct row *row, const struct wo_alloc_pattern *truth, const struct wo_passes *passes) {
  struct figures figures = {0};
  const uint32_t first = passes->begins[row->whole], end = passes->ends[row->whole];
  for (unsigned i = 0; i < CUTS; i++) {
    uint32_t at = first + (uint32_t)((uint64_t)(end - first) * (2 * i + 1) / (2 * CUTS));
    while (at < end && truth->requests.items[at].kind != WO_REQUEST_ALLOC) at++;
    if (at < end) cut(truth, at, end, row->whole, &figures);
  }
  printf("%s%s%s: %u cuts, %u completed, %u identical, %u intervals; allocated: low end above %.4f %%, high end below %.4f %%, "
         "width %.4f %%; reserved: %.4f %%, %.4f %%, %.4f %%\n",
         row->first, row->other ? " -> " : "", row->other ? row->other : "", figures.cuts, figures.made, figures.same,
         figures.intervals, figures.allocated.low_above, figures.allocated.high_below, figures.allocated.width,
         figures.reserved.low_above, figures.reserved.high_below, figures.reserved.width);
  assert_true(figures.made >= (row->made_min < figures.cuts ? row->made_min : figures.cuts));
  if (!row->other) assert_int_equal(figures.same, figures.made);
  assert_true(figures.allocated.low_above == 0 && figures.allocated.high_below == 0);
  assert_true(figures.reserved.high_below <= row->reserved_max_pct);
}

static void completed_is_the_truth(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += wo_process_is_sanitized ? 3 : 1) {
    struct wo_shared_trace first, other;
    struct wo_passes passes;
    if (!wo_shared_trace_open(rows[i].first, &first)) skip();
    if (rows[i].other && !wo_shared_trace_open(rows[i].other, &other)) skip();
    struct wo_alloc_pattern truth =
        wo_cut_steps_make(&first.pattern, rows[i].other ? &other.pattern : NULL, rows[i].whole, rows[i].whole + 2, &passes);
    cut_everywhere(&rows[i], &truth, &passes);
    wo_alloc_pattern_done(&truth);
    wo_shared_trace_done(&first);
    if (rows[i].other) wo_shared_trace_done(&other);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(completed_is_the_truth)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
