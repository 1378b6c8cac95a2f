/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that aggregates of rules read: one row for each rank that the log names, and one for each GPU of a trace. */
#include <assert.h>

#include "analyzer/facts/facts_internal.h"
#include "analyzer/facts/monitors.h"
#include "analyzer/facts/ranks.h"

struct column {
  const char *name;
  enum wo_unit unit;
};

/* Rows of both tables have all columns; columns of the other table stay unknown. */
static const struct column columns[] = {
#define WO_FACT(name, unit, meaning) {name, WO_UNIT_##unit},
#include "rules/language/rows.def"
#undef WO_FACT
};

enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

static size_t find_column(struct wo_view name) {
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    if (wo_view_is(name, columns[i].name)) return i;
  }
  return COLUMN_COUNT;
}

static void set(struct wo_value *row, const char *name, struct wo_value value, wo_event_id evidence) {
  const size_t i = find_column(wo_view_of(name));
  assert(i < COLUMN_COUNT && columns[i].unit == value.unit);
  row[i] = value;
  row[i].evidence = value.is_known ? evidence : WO_EVENT_NONE;
}

static void set_number(struct wo_value *row, const char *name, double number, wo_event_id evidence) {
  set(row, name, wo_value_exact(WO_UNIT_NUMBER, number), evidence);
}

static struct wo_value *new_rows(struct wo_facts *facts, size_t count) {
  struct wo_value *const values = wo_arena_array(facts->arena, count * COLUMN_COUNT + 1, sizeof *values);
  for (size_t i = 0; values != NULL && i < count * COLUMN_COUNT; i++)
    values[i] = wo_value_unknown(columns[i % COLUMN_COUNT].unit);
  return values;
}

/* ---- ranks ---- */

/* The last step before a failure, which the scanner looked up for it; -1 if unknown. */
static double step_before(const struct wo_job *job, const struct wo_event *failure) {
  double step = -1;
  wo_each_event (event, &job->events) {
    if (event->kind != WO_KIND_PROGRESS || event->of != failure->id || event->span.line > failure->span.line) continue;
    step = wo_event_number(event, WO_FIELD_STEP, step);
  }
  return step;
}

/* Figures of the rank's own message. */
static void read_failure(const struct wo_job *job, const struct wo_event *event, struct wo_value *row) {
  static const char *const figures[][2] = {
      {"rank.tried", "tried"},         {"rank.free", "free"},         {"rank.capacity", "capacity"},
      {"rank.allocated", "allocated"}, {"rank.reserved", "reserved"}, {"rank.reserved_unallocated", "reserved_unallocated"},
      {"rank.process", "process"},
  };
  for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
    set(row, figures[i][0], wo__facts_figure(event, wo_view_of(figures[i][1])), event->id);
  }
  const double step = step_before(job, event);
  if (step >= 0) set_number(row, "rank.step", step, event->id);
}

static void read_rank(const struct wo_job *job, const struct wo_rank *rank, struct wo_value *row) {
  const struct wo_event *event = wo_event_get(&job->events, rank->evidence);
  set_number(row, "rank.rank", rank->rank, rank->evidence);
  if (rank->gpu >= 0) set_number(row, "rank.gpu", rank->gpu, rank->evidence);
  if (rank->host.len > 0) set(row, "rank.host", wo_value_text(rank->host), rank->evidence);
  set(row, "rank.is_failed", wo_value_bool(rank->status == WO_RANK_FAILED ? WO_TRUE : WO_FALSE), rank->evidence);
  if (event && rank->status == WO_RANK_FAILED) read_failure(job, event, row);
}

/* The row of a job that labels no line: it has one process. */
static void read_single(const struct wo_job *job, const struct wo_event *failure, struct wo_value *row) {
  const double gpu = wo_event_number(failure, WO_FIELD_GPU, -1);
  if (gpu >= 0) set_number(row, "rank.gpu", gpu, failure->id);
  set(row, "rank.is_failed", wo_value_bool(WO_TRUE), failure->id);
  read_failure(job, failure, row);
}

/* Ranks that no line names get no row: it is not even known that they did not fail. */
static void read_ranks(struct wo_facts *facts) {
  const struct wo_job *job = facts->job;
  const struct wo_event *failure = wo__failure_of(facts);
  if (!failure || wo_kind_class(failure->kind) != WO_CLASS_GPU_MEMORY) return;
  struct wo_value *const values = new_rows(facts, facts->rank_count + 1);
  if (values == NULL) return;
  size_t rows = 0;
  for (size_t i = 0; i < facts->rank_count; i++) {
    if (facts->ranks[i].is_seen) read_rank(job, &facts->ranks[i], values + rows++ * COLUMN_COUNT);
  }
  const enum wo_role role = job->story.roles[failure->id];
  if (rows == 0 && (role == WO_ROLE_FAILURE || role == WO_ROLE_REPEAT)) read_single(job, failure, values + rows++ * COLUMN_COUNT);
  facts->rank_rows = (struct wo_fact_table){.values = values, .count = rows};
}

/* ---- cards ---- */

static void set_bytes(struct wo_value *row, const char *name, struct wo_figure figure, wo_event_id evidence) {
  if (figure.is_known) set(row, name, wo_value_number(WO_UNIT_BYTES, figure.value), evidence);
}

static void read_card(const struct wo_card_trace *monitor, struct wo_value *row) {
  const wo_event_id evidence = monitor->evidence;
  set_number(row, "card.gpu", monitor->gpu, evidence);
  set_bytes(row, "card.peak", monitor->fb_peak_bytes, evidence);
  set_bytes(row, "card.last", monitor->fb_last_bytes, evidence);
  set_bytes(row, "card.capacity", monitor->capacity_bytes, evidence);
  if (monitor->sm_mean_pct.is_known) set_number(row, "card.busy", monitor->sm_mean_pct.value.mid / 100, evidence);
  if (!monitor->fb_slope_bytes_per_sample.is_known) return;
  const double rise = monitor->fb_slope_bytes_per_sample.value.mid * (double)(monitor->samples - 1);
  set(row, "card.slope", wo_value_exact(WO_UNIT_BYTES, rise), evidence);
}

/* A table that was printed once is not a trace. */
static void read_cards(struct wo_facts *facts) {
  struct wo_value *const values = new_rows(facts, facts->monitor_count);
  if (values == NULL) return;
  size_t rows = 0;
  for (size_t i = 0; i < facts->monitor_count; i++) {
    if (facts->monitors[i].samples >= 2) read_card(&facts->monitors[i], values + rows++ * COLUMN_COUNT);
  }
  facts->card_rows = (struct wo_fact_table){.values = values, .count = rows};
}

void wo__facts_rows(struct wo_facts *facts) {
  read_ranks(facts);
  read_cards(facts);
}

struct wo_value wo_facts_get_row(const struct wo_facts *facts, size_t row, struct wo_view name) {
  const struct wo_fact_table *const table = wo_rows_of(name) == WO_ROWS_RANK ? &facts->rank_rows : &facts->card_rows;
  const size_t column = find_column(name);
  if (column == COLUMN_COUNT || row >= table->count) return wo_value_unknown(WO_UNIT_NONE);
  return table->values[row * COLUMN_COUNT + column];
}
