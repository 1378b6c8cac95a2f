/* Rows of memory along the steps, and the facts that rules speak of. */
#include "analyzer/facts/step_memory.h"

#include <string.h>

/* A figure above the card's size by more than this is not one of this card: another card's, or the host's. */
#define CAPACITY_SLACK 1.02

/* ---- Rows ---- */

static struct wo_report_figure figure(const struct wo_event *event, enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  if (!field) return (struct wo_report_figure){false, 0};
  return (struct wo_report_figure){true, field->number.mid};
}

/* Printed figures keep their rounding, and slopes their interval. */
static struct wo_report_slope interval(const struct wo_event *event, enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  if (!field) return (struct wo_report_slope){.is_known = false};
  return (struct wo_report_slope){true, field->number};
}

static struct wo_report_steps read_event(const struct wo_job *job, const struct wo_event *event) {
  return (struct wo_report_steps){
      .file = event->span.file,
      .figure = wo_event_text(event, WO_FIELD_NAME),
      .rank = event->rank,
      .is_counted = wo_facts_is_counted(job, event),
      .samples = (uint64_t)wo_event_number(event, WO_FIELD_SAMPLES, 0),
      .step_unit = wo_event_text(event, WO_FIELD_STEP_UNIT),
      .step_first = figure(event, WO_FIELD_STEP_FIRST),
      .step_last = figure(event, WO_FIELD_STEP),
      .step_peak = figure(event, WO_FIELD_STEP_PEAK),
      .first_bytes = interval(event, WO_FIELD_FIRST_BYTES),
      .last_bytes = interval(event, WO_FIELD_LAST_BYTES),
      .peak_bytes = interval(event, WO_FIELD_PEAK_BYTES),
      .lowest_bytes = interval(event, WO_FIELD_LOWEST_BYTES),
      .slope_bytes_per_step = interval(event, WO_FIELD_SLOPE_BYTES_PER_STEP),
      .late_rise_bytes = figure(event, WO_FIELD_LATE_RISE_BYTES),
      .spread_bytes = figure(event, WO_FIELD_SPREAD_BYTES),
      .jump_bytes = figure(event, WO_FIELD_JUMP_BYTES),
      .jump_from_bytes = figure(event, WO_FIELD_JUMP_FROM_BYTES),
      .jump_step = figure(event, WO_FIELD_JUMP_STEP),
      .jump_line = (uint64_t)wo_event_number(event, WO_FIELD_JUMP_LINE, 0),
      .fall_bytes = figure(event, WO_FIELD_FALL_BYTES),
      .falls = (uint64_t)wo_event_number(event, WO_FIELD_FALL_COUNT, 0),
      .restarts = (uint64_t)wo_event_number(event, WO_FIELD_RESTART_COUNT, 0),
      .wraps = (uint64_t)wo_event_number(event, WO_FIELD_WRAP_COUNT, 0),
      .line_first = (uint64_t)wo_event_number(event, WO_FIELD_LINE_FIRST, 0),
      .line_last = event->span.line,
      .evidence = event->id,
  };
}

enum wo_status wo_step_memory_make(const struct wo_job *job, struct wo_arena *arena, const struct wo_report_steps **ret_rows,
                                   size_t *ret_count) {
  const size_t most = job->events.per_kind[WO_KIND_MEMORY_STEPS];
  *ret_count = 0;
  if (most == 0) return WO_OK;
  struct wo_report_steps *const rows = wo_arena_array(arena, most, sizeof *rows);
  if (!rows) return WO_E_NOMEM;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *const event = &job->events.items[i];
    if (event->kind != WO_KIND_MEMORY_STEPS || event->span.file >= job->input_count) continue;
    rows[(*ret_count)++] = read_event(job, event);
  }
  *ret_rows = rows;
  return WO_OK;
}

/* ---- The row that counts ---- */

/* How much a figure tells of what piles up: what is in use now, then what is not said, then the pool. Peaks only rise, and free
 * memory alone has no size. 0: nothing. */
static int worth_of(struct wo_view figure) {
  static const char *const names[] = {"peak_reserved", "peak_allocated", "reserved", "used", "allocated"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (wo_view_is(figure, names[i])) return (int)i + 1;
  }
  return 0;
}

static bool is_of_card(const struct wo_report_steps *row, double capacity_bytes) {
  return row->is_counted && (capacity_bytes <= 0 || row->peak_bytes.value.lo <= CAPACITY_SLACK * capacity_bytes);
}

/* Whether a tells more than b. */
static bool is_better(const struct wo_report_steps *a, const struct wo_report_steps *b, int32_t rank) {
  const bool is_a = rank >= 0 && a->rank == rank;
  const bool is_b = rank >= 0 && b->rank == rank;
  if (is_a != is_b) return is_a;
  if (worth_of(a->figure) != worth_of(b->figure)) return worth_of(a->figure) > worth_of(b->figure);
  return a->peak_bytes.value.mid > b->peak_bytes.value.mid;
}

const struct wo_report_steps *wo_step_memory_lead(const struct wo_job *job, const struct wo_report_steps *rows, size_t count,
                                                  double capacity_bytes) {
  const struct wo_event *const failure = wo_event_get(&job->events, job->story.failure);
  const struct wo_report_steps *best = NULL;
  for (size_t i = 0; i < count; i++) {
    if (worth_of(rows[i].figure) == 0 || !is_of_card(&rows[i], capacity_bytes)) continue;
    if (best == NULL || is_better(&rows[i], best, failure ? failure->rank : WO_RANK_UNKNOWN)) best = &rows[i];
  }
  return best;
}

/* ---- Facts ---- */

static void set_number(struct wo_facts *facts, const char *name, double value, wo_event_id evidence) {
  wo_facts_set(facts, name, wo_value_exact(WO_UNIT_NUMBER, value), evidence);
}

static void set_bytes(struct wo_facts *facts, const char *name, const struct wo_report_slope *value, wo_event_id evidence) {
  if (value->is_known) wo_facts_set(facts, name, wo_value_number(WO_UNIT_BYTES, value->value), evidence);
}

static void set_figure(struct wo_facts *facts, const char *name, enum wo_unit unit, struct wo_report_figure value,
                       wo_event_id evidence) {
  if (value.is_known) wo_facts_set(facts, name, wo_value_exact(unit, value.value), evidence);
}

/* The step at which the card would be full, were all to go on as it went; unknown where nothing rises. */
static void set_full_step(struct wo_facts *facts, const struct wo_report_steps *row, double capacity_bytes) {
  const struct wo_interval slope = row->slope_bytes_per_step.value;
  const double left = capacity_bytes - row->last_bytes.value.mid;
  if (!row->slope_bytes_per_step.is_known || slope.lo <= 0 || capacity_bytes <= 0 || left < 0) return;
  if (!row->step_last.is_known || row->wraps > 0) return;
  const double step = row->step_last.value;
  const struct wo_interval full = {.lo = step + left / slope.hi, .mid = step + left / slope.mid, .hi = step + left / slope.lo};
  wo_facts_set(facts, "steps.full_step", wo_value_number(WO_UNIT_NUMBER, full), row->evidence);
}

static void set_lead(struct wo_facts *facts, const struct wo_report_steps *row) {
  const wo_event_id id = row->evidence;
  wo_facts_set(facts, "steps.figure", wo_value_text(row->figure), id);
  set_number(facts, "steps.count", (double)row->samples, id);
  set_bytes(facts, "steps.first", &row->first_bytes, id);
  set_bytes(facts, "steps.last", &row->last_bytes, id);
  set_bytes(facts, "steps.max", &row->peak_bytes, id);
  set_bytes(facts, "steps.slope", &row->slope_bytes_per_step, id);
  set_figure(facts, "steps.late_rise", WO_UNIT_BYTES, row->late_rise_bytes, id);
  set_figure(facts, "steps.spread", WO_UNIT_BYTES, row->spread_bytes, id);
  set_figure(facts, "steps.jump", WO_UNIT_BYTES, row->jump_bytes, id);
  set_figure(facts, "steps.jump_from", WO_UNIT_BYTES, row->jump_from_bytes, id);
  set_figure(facts, "steps.jump_step", WO_UNIT_NUMBER, row->jump_step, id);
  set_figure(facts, "steps.fall", WO_UNIT_BYTES, row->fall_bytes, id);
  set_number(facts, "steps.falls", (double)row->falls, id);
  set_number(facts, "steps.restarts", (double)row->restarts, id);
  if (row->rank >= 0) set_number(facts, "steps.rank", row->rank, id);
  if (row->wraps > 0) return; /* the numbers begin anew: they say no order */
  set_figure(facts, "steps.first_step", WO_UNIT_NUMBER, row->step_first, id);
  set_figure(facts, "steps.last_step", WO_UNIT_NUMBER, row->step_last, id);
}

/* The same rank's other figures, each by its own name. */
static void set_others(struct wo_facts *facts, const struct wo_report_steps *rows, size_t count,
                       const struct wo_report_steps *lead) {
  static const struct {
    const char *figure, *first, *last, *max;
  } names[] = {{"allocated", "steps.allocated_first", "steps.allocated_last", "steps.allocated_max"},
               {"reserved", "steps.reserved_first", "steps.reserved_last", "steps.reserved_max"},
               {"peak_allocated", "steps.peak_first", "steps.peak_last", "steps.peak_max"}};
  for (size_t i = 0; i < count; i++) {
    if (!rows[i].is_counted || rows[i].rank != lead->rank || rows[i].file != lead->file) continue;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
      if (!wo_view_is(rows[i].figure, names[k].figure)) continue;
      set_bytes(facts, names[k].first, &rows[i].first_bytes, rows[i].evidence);
      set_bytes(facts, names[k].last, &rows[i].last_bytes, rows[i].evidence);
      set_bytes(facts, names[k].max, &rows[i].peak_bytes, rows[i].evidence);
    }
  }
}

/* The ranks among each other, by the figure of the leading row. A rank counts once, in whatever files it printed. */
static void set_ranks(struct wo_facts *facts, const struct wo_report_steps *rows, size_t count,
                      const struct wo_report_steps *lead) {
  const struct wo_report_steps *lowest = lead;
  const struct wo_report_steps *highest = lead;
  size_t ranks = 0;
  for (size_t i = 0; i < count; i++) {
    if (!rows[i].is_counted || rows[i].rank < 0 || !wo_view_equal(rows[i].figure, lead->figure)) continue;
    bool is_known = false;
    for (size_t k = 0; k < i && !is_known; k++) {
      is_known = rows[k].is_counted && rows[k].rank == rows[i].rank && wo_view_equal(rows[k].figure, lead->figure);
    }
    if (!is_known) ranks++;
    if (rows[i].peak_bytes.value.mid < lowest->peak_bytes.value.mid) lowest = &rows[i];
    if (rows[i].peak_bytes.value.mid > highest->peak_bytes.value.mid) highest = &rows[i];
  }
  if (ranks == 0) return;
  set_number(facts, "steps.rank_count", (double)ranks, lead->evidence);
  if (ranks < 2) return;
  const struct wo_interval low = lowest->peak_bytes.value;
  const struct wo_interval high = highest->peak_bytes.value;
  const struct wo_interval spread = {.lo = high.lo - low.hi, .mid = high.mid - low.mid, .hi = high.hi - low.lo};
  wo_facts_set(facts, "steps.rank_spread", wo_value_number(WO_UNIT_BYTES, spread), highest->evidence);
  set_number(facts, "steps.highest_rank", highest->rank, highest->evidence);
}

enum wo_status wo_facts_read_steps(struct wo_facts *facts) {
  const struct wo_report_steps *rows = NULL;
  size_t count = 0;
  const enum wo_status status = wo_step_memory_make(facts->job, facts->arena, &rows, &count);
  if (status != WO_OK || count == 0) return status;
  const struct wo_value capacity = wo_facts_get(facts, WO_VIEW("gpu.capacity"));
  const double capacity_bytes = capacity.is_known ? capacity.number.mid : 0;
  const struct wo_report_steps *const lead = wo_step_memory_lead(facts->job, rows, count, capacity_bytes);
  if (lead == NULL) return WO_OK;
  set_others(facts, rows, count, lead);
  set_ranks(facts, rows, count, lead);
  /* A counter of the highest so far tells nothing of what is in use: no course is told from it. */
  if (wo_view_starts(lead->figure, "peak_")) return WO_OK;
  set_lead(facts, lead);
  set_full_step(facts, lead, capacity_bytes);
  return WO_OK;
}
