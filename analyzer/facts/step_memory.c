/* Collects rows of memory along the steps, and their facts. */
#include "analyzer/facts/step_memory.h"

#include "analyzer/facts/facts_internal.h"

/* A figure that exceeds the card's size by more than this factor belongs to another card or to the host. */
#define CAPACITY_SLACK 1.02

/* ---- Rows ---- */

static struct wo_step_memory read_event(const struct wo_job *job, const struct wo_event *event) {
  return (struct wo_step_memory){
      .file = event->span.file,
      .figure = wo_event_text(event, WO_FIELD_NAME),
      .rank = event->rank,
      .is_counted = wo__is_counted(job, event),
      .samples = (uint64_t)wo_event_number(event, WO_FIELD_SAMPLES, 0),
      .step_unit = wo_event_text(event, WO_FIELD_STEP_UNIT),
      .step_first = wo__exact_figure_of(event, WO_FIELD_STEP_FIRST),
      .step_last = wo__exact_figure_of(event, WO_FIELD_STEP),
      .step_peak = wo__exact_figure_of(event, WO_FIELD_STEP_PEAK),
      .first_bytes = wo__figure_of(event, WO_FIELD_FIRST_BYTES),
      .last_bytes = wo__figure_of(event, WO_FIELD_LAST_BYTES),
      .peak_bytes = wo__figure_of(event, WO_FIELD_PEAK_BYTES),
      .lowest_bytes = wo__figure_of(event, WO_FIELD_LOWEST_BYTES),
      .slope_bytes_per_step = wo__figure_of(event, WO_FIELD_SLOPE_BYTES_PER_STEP),
      .late_rise_bytes = wo__exact_figure_of(event, WO_FIELD_LATE_RISE_BYTES),
      .spread_bytes = wo__exact_figure_of(event, WO_FIELD_SPREAD_BYTES),
      .jump_bytes = wo__exact_figure_of(event, WO_FIELD_JUMP_BYTES),
      .jump_from_bytes = wo__exact_figure_of(event, WO_FIELD_JUMP_FROM_BYTES),
      .jump_step = wo__exact_figure_of(event, WO_FIELD_JUMP_STEP),
      .jump_line = (uint64_t)wo_event_number(event, WO_FIELD_JUMP_LINE, 0),
      .fall_bytes = wo__exact_figure_of(event, WO_FIELD_FALL_BYTES),
      .falls = (uint64_t)wo_event_number(event, WO_FIELD_FALL_COUNT, 0),
      .restarts = (uint64_t)wo_event_number(event, WO_FIELD_RESTART_COUNT, 0),
      .wraps = (uint64_t)wo_event_number(event, WO_FIELD_WRAP_COUNT, 0),
      .line_first = (uint64_t)wo_event_number(event, WO_FIELD_LINE_FIRST, 0),
      .line_last = event->span.line,
      .evidence = event->id,
  };
}

/* Collects the job's events of that kind, in their order. */
static void make_rows(struct wo_facts *facts) {
  const struct wo_job *const job = facts->job;
  const size_t most = job->events.per_kind[WO_KIND_MEMORY_STEPS];
  struct wo_step_memory *const rows = most > 0 ? wo_arena_array(facts->arena, most, sizeof *rows) : NULL;
  for (size_t i = 0; rows != NULL && i < job->events.count; i++) {
    const struct wo_event *const event = &job->events.items[i];
    if (event->kind != WO_KIND_MEMORY_STEPS || event->span.file >= job->input_count) continue;
    rows[facts->step_count++] = read_event(job, event);
  }
  facts->steps = rows;
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

static bool is_of_card(const struct wo_step_memory *row, double capacity_bytes) {
  return row->is_counted && (capacity_bytes <= 0 || row->peak_bytes.value.lo <= CAPACITY_SLACK * capacity_bytes);
}

/* Whether row a is better than row b. */
static bool is_better(const struct wo_step_memory *a, const struct wo_step_memory *b, int32_t rank) {
  const bool is_a = rank >= 0 && a->rank == rank;
  const bool is_b = rank >= 0 && b->rank == rank;
  if (is_a != is_b) return is_a;
  if (worth_of(a->figure) != worth_of(b->figure)) return worth_of(a->figure) > worth_of(b->figure);
  return a->peak_bytes.value.mid > b->peak_bytes.value.mid;
}

const struct wo_step_memory *wo_step_memory_lead(const struct wo_job *job, const struct wo_step_memory *rows, size_t count,
                                                 double capacity_bytes) {
  const struct wo_event *const failure = wo_event_get(&job->events, job->story.failure);
  const struct wo_step_memory *best = NULL;
  for (size_t i = 0; i < count; i++) {
    if (worth_of(rows[i].figure) == 0 || !is_of_card(&rows[i], capacity_bytes)) continue;
    if (best == NULL || is_better(&rows[i], best, failure ? failure->rank : WO_RANK_UNKNOWN)) best = &rows[i];
  }
  return best;
}

/* The step at which the card is full if the rise goes on; unknown if nothing rises. */
static void set_full_step(struct wo_facts *facts, const struct wo_step_memory *row, double capacity_bytes) {
  const struct wo_interval slope = row->slope_bytes_per_step.value;
  const double left = capacity_bytes - row->last_bytes.value.mid;
  if (!row->slope_bytes_per_step.is_known || slope.lo <= 0 || capacity_bytes <= 0 || left < 0) return;
  if (!row->step_last.is_known || row->wraps > 0) return;
  const double step = row->step_last.value.mid;
  const struct wo_interval full = {.lo = step + left / slope.hi, .mid = step + left / slope.mid, .hi = step + left / slope.lo};
  wo_facts_set(facts, "steps.full_step", wo_value_number(WO_UNIT_NUMBER, full), row->evidence);
}

static void set_lead(struct wo_facts *facts, const struct wo_step_memory *row) {
  const wo_event_id id = row->evidence;
  wo_facts_set(facts, "steps.figure", wo_value_text(row->figure), id);
  wo__set_number(facts, "steps.count", (double)row->samples, id);
  wo__set_figure(facts, "steps.first", row->first_bytes, id);
  wo__set_figure(facts, "steps.last", row->last_bytes, id);
  wo__set_figure(facts, "steps.max", row->peak_bytes, id);
  wo__set_figure(facts, "steps.slope", row->slope_bytes_per_step, id);
  wo__set_figure(facts, "steps.late_rise", row->late_rise_bytes, id);
  wo__set_figure(facts, "steps.spread", row->spread_bytes, id);
  wo__set_figure(facts, "steps.jump", row->jump_bytes, id);
  wo__set_figure(facts, "steps.jump_from", row->jump_from_bytes, id);
  wo__set_figure(facts, "steps.jump_step", row->jump_step, id);
  wo__set_figure(facts, "steps.fall", row->fall_bytes, id);
  wo__set_number(facts, "steps.falls", (double)row->falls, id);
  wo__set_number(facts, "steps.restarts", (double)row->restarts, id);
  if (row->rank >= 0) wo__set_number(facts, "steps.rank", row->rank, id);
  if (row->wraps > 0) return; /* the numbers begin again, so they give no order */
  wo__set_figure(facts, "steps.first_step", row->step_first, id);
  wo__set_figure(facts, "steps.last_step", row->step_last, id);
}

/* The other figures of the same rank, each under its own name. */
static void set_others(struct wo_facts *facts, const struct wo_step_memory *rows, size_t count,
                       const struct wo_step_memory *lead) {
  static const struct {
    const char *figure, *first, *last, *max;
  } names[] = {{"allocated", "steps.allocated_first", "steps.allocated_last", "steps.allocated_max"},
               {"reserved", "steps.reserved_first", "steps.reserved_last", "steps.reserved_max"},
               {"peak_allocated", "steps.peak_first", "steps.peak_last", "steps.peak_max"}};
  for (size_t i = 0; i < count; i++) {
    if (!rows[i].is_counted || rows[i].rank != lead->rank || rows[i].file != lead->file) continue;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
      if (!wo_view_is(rows[i].figure, names[k].figure)) continue;
      wo__set_figure(facts, names[k].first, rows[i].first_bytes, rows[i].evidence);
      wo__set_figure(facts, names[k].last, rows[i].last_bytes, rows[i].evidence);
      wo__set_figure(facts, names[k].max, rows[i].peak_bytes, rows[i].evidence);
    }
  }
}

/* Compares the ranks by the figure of the leading row. A rank counts once, even if it printed to several files. */
static void set_ranks(struct wo_facts *facts, const struct wo_step_memory *rows, size_t count,
                      const struct wo_step_memory *lead) {
  const struct wo_step_memory *lowest = lead;
  const struct wo_step_memory *highest = lead;
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
  wo__set_number(facts, "steps.rank_count", (double)ranks, lead->evidence);
  if (ranks < 2) return;
  const struct wo_interval spread = wo_interval_minus(highest->peak_bytes.value, lowest->peak_bytes.value);
  wo_facts_set(facts, "steps.rank_spread", wo_value_number(WO_UNIT_BYTES, spread), highest->evidence);
  wo__set_number(facts, "steps.highest_rank", highest->rank, highest->evidence);
}

void wo__facts_steps(struct wo_facts *facts) {
  make_rows(facts);
  const struct wo_value capacity = wo__facts_value(facts, WO_VIEW("gpu.capacity"));
  const double capacity_bytes = capacity.is_known ? capacity.number.mid : 0;
  const struct wo_step_memory *const lead = wo_step_memory_lead(facts->job, facts->steps, facts->step_count, capacity_bytes);
  if (lead == NULL) return;
  set_others(facts, facts->steps, facts->step_count, lead);
  set_ranks(facts, facts->steps, facts->step_count, lead);
  /* A peak counter does not show the memory in use, so no course is derived from it. */
  if (wo_view_starts(lead->figure, "peak_")) return;
  set_lead(facts, lead);
  set_full_step(facts, lead, capacity_bytes);
}
