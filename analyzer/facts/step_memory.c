/* SPDX-License-Identifier: Apache-2.0 */
/* Collects rows of memory along the steps, and their facts. */
#include "analyzer/facts/step_memory.h"

#include "analyzer/facts/facts_internal.h"

/* A figure that exceeds the card's size by more than this factor belongs to another card or to the host. */
#define CAPACITY_SLACK 1.02

/* ---- Rows ---- */

/* Collects the job's events of that kind, in their order. */
static void make_rows(struct wo_facts *facts) {
  const struct wo_job *const job = facts->job;
  const size_t most = job->events.per_kind[WO_KIND_MEMORY_STEPS];
  facts->steps = most > 0 ? wo_arena_array(facts->arena, most, sizeof *facts->steps) : NULL;
  if (facts->steps == NULL) return;
  wo_each_event (event, &job->events) {
    if (event->kind == WO_KIND_MEMORY_STEPS && event->span.file < job->input_count) facts->steps[facts->step_count++] = event;
  }
}

static double peak_of(const struct wo_event *row) {
  return wo_event_number(row, WO_FIELD_PEAK_BYTES, 0);
}

/* ---- The leading row ---- */

/* How well a figure shows growing memory: best what is allocated now, then unspecified use, then the pool, then peaks, which only
 * rise. 0: not at all, as free memory alone has no size. */
static int worth_of(struct wo_view figure) {
  static const char *const names[] = {"peak_reserved", "peak_allocated", "reserved", "used", "allocated"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (wo_view_is(figure, names[i])) return (int)i + 1;
  }
  return 0;
}

static bool is_of_card(const struct wo_job *job, const struct wo_event *row, double capacity_bytes) {
  if (!wo_facts_is_counted(job, row)) return false;
  return capacity_bytes <= 0 || wo_figure_of(row, WO_FIELD_PEAK_BYTES).value.lo <= CAPACITY_SLACK * capacity_bytes;
}

/* Whether row a is better than row b. */
static bool is_better(const struct wo_event *a, const struct wo_event *b, int32_t rank) {
  const int worth_a = worth_of(wo_event_text(a, WO_FIELD_NAME));
  const int worth_b = worth_of(wo_event_text(b, WO_FIELD_NAME));
  const bool is_a = rank >= 0 && a->rank == rank;
  const bool is_b = rank >= 0 && b->rank == rank;
  if (is_a != is_b) return is_a;
  return worth_a != worth_b ? worth_a > worth_b : peak_of(a) > peak_of(b);
}

const struct wo_event *wo_step_memory_lead(const struct wo_facts *facts, double capacity_bytes) {
  const struct wo_event *const failure = wo__failure_of(facts);
  const struct wo_event *best = NULL;
  for (size_t i = 0; i < facts->step_count; i++) {
    const struct wo_event *const row = facts->steps[i];
    if (worth_of(wo_event_text(row, WO_FIELD_NAME)) == 0 || !is_of_card(facts->job, row, capacity_bytes)) continue;
    if (best == NULL || is_better(row, best, failure ? failure->rank : WO_RANK_UNKNOWN)) best = row;
  }
  return best;
}

/* The step at which the card is full if the rise goes on; unknown if nothing rises. */
static void set_full_step(struct wo_facts *facts, const struct wo_event *row, double capacity_bytes) {
  const struct wo_interval slope = wo_figure_of(row, WO_FIELD_SLOPE_BYTES_PER_STEP).value;
  const double left = capacity_bytes - wo_event_number(row, WO_FIELD_LAST_BYTES, 0);
  const double step = wo_event_number(row, WO_FIELD_STEP, -1);
  if (slope.lo <= 0 || capacity_bytes <= 0 || left < 0) return;
  if (step < 0 || wo_event_number(row, WO_FIELD_WRAP_COUNT, 0) > 0) return;
  const struct wo_interval full = {.lo = step + left / slope.hi, .mid = step + left / slope.mid, .hi = step + left / slope.lo};
  wo_facts_set(facts, "steps.full_step", wo_value_number(WO_UNIT_NUMBER, full), row->id);
}

static void set_lead(struct wo_facts *facts, const struct wo_event *row) {
  wo__set_text(facts, "steps.figure", wo_event_text(row, WO_FIELD_NAME), row->id);
  if (row->rank >= 0) wo__set_number(facts, "steps.rank", row->rank, row->id);
  wo__set_field(facts, "steps.count", row, WO_FIELD_SAMPLES);
  wo__set_field(facts, "steps.first", row, WO_FIELD_FIRST_BYTES);
  wo__set_field(facts, "steps.last", row, WO_FIELD_LAST_BYTES);
  wo__set_field(facts, "steps.max", row, WO_FIELD_PEAK_BYTES);
  wo__set_field(facts, "steps.slope", row, WO_FIELD_SLOPE_BYTES_PER_STEP);
  wo__set_field(facts, "steps.late_rise", row, WO_FIELD_LATE_RISE_BYTES);
  wo__set_field(facts, "steps.spread", row, WO_FIELD_SPREAD_BYTES);
  wo__set_field(facts, "steps.jump", row, WO_FIELD_JUMP_BYTES);
  wo__set_field(facts, "steps.jump_from", row, WO_FIELD_JUMP_FROM_BYTES);
  wo__set_field(facts, "steps.jump_step", row, WO_FIELD_JUMP_STEP);
  wo__set_field(facts, "steps.fall", row, WO_FIELD_FALL_BYTES);
  wo__set_number(facts, "steps.falls", wo_event_number(row, WO_FIELD_FALL_COUNT, 0), row->id);
  wo__set_field(facts, "steps.restarts", row, WO_FIELD_RESTART_COUNT);
  if (wo_event_number(row, WO_FIELD_WRAP_COUNT, 0) > 0) return; /* the numbers begin again, so they give no order */
  wo__set_field(facts, "steps.first_step", row, WO_FIELD_STEP_FIRST);
  wo__set_field(facts, "steps.last_step", row, WO_FIELD_STEP);
}

/* The other figures of the same rank, each under its own name. */
static void set_others(struct wo_facts *facts, const struct wo_event *lead) {
  static const struct {
    const char *figure, *first, *last, *max;
  } names[] = {{"allocated", "steps.allocated_first", "steps.allocated_last", "steps.allocated_max"},
               {"reserved", "steps.reserved_first", "steps.reserved_last", "steps.reserved_max"},
               {"peak_allocated", "steps.peak_first", "steps.peak_last", "steps.peak_max"}};
  for (size_t i = 0; i < facts->step_count; i++) {
    const struct wo_event *const row = facts->steps[i];
    if (!wo_facts_is_counted(facts->job, row) || row->rank != lead->rank || row->span.file != lead->span.file) continue;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
      if (!wo_view_is(wo_event_text(row, WO_FIELD_NAME), names[k].figure)) continue;
      wo__set_field(facts, names[k].first, row, WO_FIELD_FIRST_BYTES);
      wo__set_field(facts, names[k].last, row, WO_FIELD_LAST_BYTES);
      wo__set_field(facts, names[k].max, row, WO_FIELD_PEAK_BYTES);
    }
  }
}

/* Whether the row is comparable with the leading one: of the same figure and of a known rank. */
static bool is_comparable(const struct wo_facts *facts, const struct wo_event *row, const struct wo_event *lead) {
  return wo_facts_is_counted(facts->job, row) && row->rank >= 0 &&
         wo_view_equal(wo_event_text(row, WO_FIELD_NAME), wo_event_text(lead, WO_FIELD_NAME));
}

/* Compares the ranks by the figure of the leading row. A rank counts once, even if it printed to several files. */
static void set_ranks(struct wo_facts *facts, const struct wo_event *lead) {
  const struct wo_event *lowest = lead;
  const struct wo_event *highest = lead;
  size_t ranks = 0;
  for (size_t i = 0; i < facts->step_count; i++) {
    const struct wo_event *const row = facts->steps[i];
    if (!is_comparable(facts, row, lead)) continue;
    size_t before = 0;
    while (facts->steps[before]->rank != row->rank || !is_comparable(facts, facts->steps[before], lead)) before++;
    ranks += before == i;
    if (peak_of(row) < peak_of(lowest)) lowest = row;
    if (peak_of(row) > peak_of(highest)) highest = row;
  }
  if (ranks == 0) return;
  wo__set_number(facts, "steps.rank_count", (double)ranks, lead->id);
  if (ranks < 2) return;
  const struct wo_interval spread =
      wo_interval_minus(wo_figure_of(highest, WO_FIELD_PEAK_BYTES).value, wo_figure_of(lowest, WO_FIELD_PEAK_BYTES).value);
  wo_facts_set(facts, "steps.rank_spread", wo_value_number(WO_UNIT_BYTES, spread), highest->id);
  wo__set_number(facts, "steps.highest_rank", highest->rank, highest->id);
}

void wo__facts_steps(struct wo_facts *facts) {
  make_rows(facts);
  const struct wo_value capacity = wo__facts_value(facts, WO_VIEW("gpu.capacity"));
  const double capacity_bytes = capacity.is_known ? capacity.number.mid : 0;
  const struct wo_event *const lead = wo_step_memory_lead(facts, capacity_bytes);
  if (lead == NULL) return;
  set_others(facts, lead);
  set_ranks(facts, lead);
  /* A peak counter does not show the memory in use, so no course is derived from it. */
  if (wo_view_starts(wo_event_text(lead, WO_FIELD_NAME), "peak_")) return;
  set_lead(facts, lead);
  set_full_step(facts, lead, capacity_bytes);
}
