/* SPDX-License-Identifier: Apache-2.0 */
/* A measured peak corrects the computed one. See budget_report.h. */
#include <assert.h>

#include "analyzer/budget/budget_report.h"
#include "parsers/base/view.h"

/* A measured peak that is further off than this is of another program, or of other settings. */
#define FACTOR_LEAST 0.2
#define FACTOR_MOST 5.0

/* Bytes at the peak of what grows with the batch. */
static double live_at_peak(const struct wo_budget *budget) {
  static const char ids[][12] = {"activations", "logits", "again"};
  double sum = 0;
  for (size_t i = 0; i < budget->row_count; i++) {
    const struct wo_budget_row *const row = &budget->rows[i];
    for (size_t k = 0; k < sizeof ids / sizeof ids[0]; k++)
      if (wo_view_is(row->id, ids[k])) sum += row->bytes.mid * row->share[budget->peak].mid;
  }
  return sum;
}

/* The highest of the peaks that the run printed. */
static struct wo_value find_peak(const struct wo_facts *facts) {
  const struct wo_value steps = wo_facts_get(facts, WO_VIEW("steps.peak_max"));
  const struct wo_value summary = wo_facts_get(facts, WO_VIEW("summary.allocated_peak"));
  if (!steps.is_known) return summary;
  return summary.is_known && summary.number.mid > steps.number.mid ? summary : steps;
}

/* The run is one of the same program: it differs in its sizes alone. */
static void take_sizes(const struct wo_budget_input *own, struct wo_budget_input *input) {
  static const enum wo_budget_key sizes[] = {WO_BUDGET_MICRO_BATCH, WO_BUDGET_SEQ_LEN, WO_BUDGET_GRAD_ACCUM, WO_BUDGET_GPUS};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (own->values[sizes[i]] > 0) input->values[sizes[i]] = own->values[sizes[i]];
  }
}

/* Why the run is not one of the same program, or does not say its sizes; else NULL. */
static const char *find_difference(const struct wo_budget_input *own, const struct wo_budget_input *input) {
  static const enum wo_budget_key same[] = {WO_BUDGET_PARAMS, WO_BUDGET_LAYERS, WO_BUDGET_HIDDEN, WO_BUDGET_CHECKPOINTING,
                                            WO_BUDGET_QUANTIZE};
  if (own->values[WO_BUDGET_MICRO_BATCH] == 0 || own->values[WO_BUDGET_SEQ_LEN] == 0)
    return "it does not say its micro-batch and its length";
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    const double its = own->values[same[i]], asked = input->values[same[i]];
    if (its > 0 && asked > 0 && its != asked)
      return i < 3 ? "it has another model" : i == 3 ? "its checkpointing is another" : "its quantisation is another";
  }
  return NULL;
}

/* Whether the run, scaled, has the measured peak; its budget is computed anew. */
static bool is_met(struct wo_budget_report *run, struct wo_arena *arena, double factor, double measured) {
  const double before = run->budget.in_use.mid;
  run->input.live_factor = factor;
  const bool is_made = wo_budget_make(&run->input, arena, &run->budget) == WO_OK;
  const double after = run->budget.in_use.mid;
  run->budget.in_use.mid = before;
  return is_made && after > measured * 0.99 && after < measured * 1.01;
}

enum wo_status wo_budget_calibrate(const struct wo_facts *facts, struct wo_arena *arena, struct wo_budget_report *report,
                                   const char **ret_why) {
  assert(facts && arena && report && ret_why);
  const struct wo_value peak = find_peak(facts);
  *ret_why = NULL;
  if (!peak.is_known || peak.number.mid <= 0) return WO_OK;
  struct wo_budget_report *const run = wo_arena_alloc(arena, sizeof *run);
  if (!run) return WO_E_NOMEM;
  *run = (struct wo_budget_report){.figure_count = 0};
  wo_budget_from_facts(facts, arena, run);
  const struct wo_budget_input own = run->input;
  *run = *report;
  run->input.stated_count = 0;
  run->input.live_factor = 0;
  run->input.values[WO_BUDGET_CAPACITY] = 0;
  take_sizes(&own, &run->input);
  if (wo_budget_make(&run->input, arena, &run->budget) != WO_OK) return WO_E_NOMEM;
  const char *const differs = find_difference(&own, &run->input);
  const double live = live_at_peak(&run->budget);
  const double factor = live > 0 ? (peak.number.mid - (run->budget.in_use.mid - live)) / live : 0;
  if (differs) {
    *ret_why = differs;
  } else if (!run->budget.is_complete || run->input.has_activations) {
    *ret_why = "a component of that run is not known, so that nothing can be scaled by its peak";
  } else if (live == 0) {
    *ret_why = "the computed peak is in the optimizer's step, where nothing grows with the batch";
  } else if (factor < FACTOR_LEAST || factor > FACTOR_MOST) {
    *ret_why = "its peak is too far from the computed one: it has other settings than those that are known";
  } else if (!is_met(run, arena, factor, peak.number.mid)) {
    *ret_why = "scaled to its peak, another moment of the step would need more: its peak is not where the computed one is";
  } else {
    report->input.live_factor = factor;
    report->calibration =
        (struct wo_budget_calibration){peak.number.mid, run->budget.in_use.mid, wo__budget_place(facts, arena, peak.evidence)};
  }
  return WO_OK;
}
