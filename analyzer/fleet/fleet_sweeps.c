/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps: jobs that were meant alike, of which some failed and some went well. See fleet.h. */
#include <assert.h>
#include <stdlib.h>

#include "analyzer/fleet/fleet_internal.h"
#include "analyzer/fleet/fleet_split.h"
#include "parsers/base/limits.h"

static const double ln_alpha = -2.995732273553991; /* ln 0.05 */
enum { JOBS_LEAST = 4 };                           /* fewer say nothing */

/* One sweep after the other comes in; the best are kept, by lost hours. */
struct sweeps {
  struct wo__fleet_maker *maker;
  struct wo_fleet_sweep *items;
  struct wo_arena scratch; /* of the sweep that is being read */
  struct wo__sweep_knobs knobs;
  struct wo_fleet_sweep sweep;
  int64_t count; /* of the sweeps that come */
  bool is_open;
};

/* Columns of the question, in order. */
enum {
  ARRAY_JOB,
  USER,
  NAME,
  FOLDER,
  PATH,
  IS_FAILED,
  OUTCOME,
  GPU_S,
  SETTINGS,
  GPU_MODEL,
  GPUS,
  PARTITION,
  ARRAY_TASK,
  SWEEPS,
  GROUPS,
  COLUMN_COUNT
};

static struct wo_view text_of(const struct wo_store_value *value) {
  return value->type == WO_STORE_TEXT ? value->text : (struct wo_view){0};
}

/* Conditions that chance explains come after all others. */
static bool is_before(const struct wo_fleet_sweep *a, const struct wo_fleet_sweep *b) {
  const bool a_is_sure = a->splits[0].ln_chance <= ln_alpha, b_is_sure = b->splits[0].ln_chance <= ln_alpha;
  if (a_is_sure != b_is_sure) return a_is_sure;
  if (a->sum.lost_s != b->sum.lost_s) return a->sum.lost_s > b->sum.lost_s;
  if (a->sum.failed != b->sum.failed) return a->sum.failed > b->sum.failed;
  return wo_view_compare(a->example, b->example) < 0;
}

/* Copies what a sweep says from the scratch arena into that of the fleet. */
static void keep_texts(struct wo_arena *arena, struct wo_fleet_sweep *sweep) {
  struct wo_view *const texts[] = {&sweep->array_job, &sweep->user, &sweep->name, &sweep->folder, &sweep->example};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    *texts[i] = texts[i]->len > 0 ? wo_arena_copy(arena, *texts[i]) : *texts[i];
  for (size_t i = 0; i < sweep->split_count; i++) {
    sweep->splits[i].knob = wo_arena_copy(arena, sweep->splits[i].knob);
    if (sweep->splits[i].value.len > 0) sweep->splits[i].value = wo_arena_copy(arena, sweep->splits[i].value);
  }
  for (size_t i = 0; i < sweep->knob_count; i++) {
    struct wo_fleet_knob *const knob = &sweep->knobs[i];
    struct wo_fleet_value *const values = wo_arena_array(arena, knob->value_count, sizeof *values);
    if (values == NULL) return;
    for (size_t v = 0; v < knob->value_count; v++) {
      values[v] = knob->values[v];
      if (values[v].text.len > 0) values[v].text = wo_arena_copy(arena, values[v].text);
    }
    *knob = (struct wo_fleet_knob){.knob = wo_arena_copy(arena, knob->knob), .values = values, .value_count = knob->value_count};
  }
}

/* Puts a sweep into the list at its place, where the last one gives way when the list is full. */
static void keep_sweep(struct sweeps *s) {
  struct wo_fleet *const fleet = s->maker->fleet;
  size_t at = fleet->sweep_count;
  while (at > 0 && is_before(&s->sweep, &s->items[at - 1])) at--;
  if (fleet->sweep_count == fleet->rows) fleet->sweeps_left_out++;
  if (at == fleet->rows) return;
  keep_texts(s->maker->arena, &s->sweep);
  if (fleet->sweep_count < fleet->rows) fleet->sweep_count++;
  for (size_t i = fleet->sweep_count - 1; i > at; i--) s->items[i] = s->items[i - 1];
  s->items[at] = s->sweep;
}

static void end_sweep(struct sweeps *s) {
  if (!s->is_open) return;
  s->is_open = false;
  if (s->sweep.sum.jobs >= JOBS_LEAST && s->sweep.sum.failed > 0 && s->sweep.sum.failed < s->sweep.sum.jobs) {
    wo__sweep_divide(&s->knobs, s->count, &s->sweep);
    if (s->sweep.split_count > 0) {
      keep_sweep(s);
    } else {
      s->maker->fleet->sweeps_undivided++;
    }
  }
  if (wo_arena_is_exhausted(&s->scratch)) s->maker->arena->is_exhausted = true;
  wo_arena_done(&s->scratch);
}

static void begin_sweep(struct sweeps *s, const struct wo_store_value *values) {
  wo_arena_init(&s->scratch, WO_LIMIT_FLEET_BYTES);
  s->knobs = (struct wo__sweep_knobs){.arena = &s->scratch};
  s->sweep = (struct wo_fleet_sweep){.array_job = wo_arena_copy(&s->scratch, text_of(&values[ARRAY_JOB])),
                                     .user = wo_arena_copy(&s->scratch, text_of(&values[USER])),
                                     .name = wo_arena_copy(&s->scratch, text_of(&values[NAME])),
                                     .folder = wo_arena_copy(&s->scratch, text_of(&values[FOLDER]))};
  s->count = wo__number_of(&values[SWEEPS], 1);
  s->maker->fleet->sweeps_not_compared = wo__number_of(&values[GROUPS], s->count) - s->count;
  s->is_open = true;
}

/* The tasks of an array need not have one name each, so that its name is that of the first one. */
static bool is_same(const struct wo_fleet_sweep *sweep, const struct wo_store_value *values) {
  if (!wo_view_equal(sweep->array_job, text_of(&values[ARRAY_JOB])) || !wo_view_equal(sweep->user, text_of(&values[USER])))
    return false;
  if (sweep->array_job.len > 0) return true;
  return wo_view_equal(sweep->name, text_of(&values[NAME])) && wo_view_equal(sweep->folder, text_of(&values[FOLDER]));
}

/* A number as a setting. Unknown is not shown. */
static void add_number(struct sweeps *s, size_t rank, struct wo_view name, const struct wo_store_value *value) {
  if (value->type != WO_STORE_NUMBER) return;
  const struct wo_view text = wo_arena_format(&s->scratch, "%lld", (long long)value->number);
  wo__sweep_add(&s->knobs, rank, name, text);
}

static void add_settings(struct sweeps *s, const struct wo_store_value *values) {
  struct wo_view rest = text_of(&values[SETTINGS]), knob, value;
  while (wo__next_setting(&rest, &knob, &value)) wo__sweep_add(&s->knobs, 0, knob, value);
  if (text_of(&values[GPU_MODEL]).len > 0) wo__sweep_add(&s->knobs, 1, WO_VIEW("gpu_model"), text_of(&values[GPU_MODEL]));
  if (text_of(&values[PARTITION]).len > 0) wo__sweep_add(&s->knobs, 2, WO_VIEW("partition"), text_of(&values[PARTITION]));
  add_number(s, 1, WO_VIEW("gpus"), &values[GPUS]);
  add_number(s, 3, WO_VIEW("array_task"), &values[ARRAY_TASK]);
}

static bool take_member(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == COLUMN_COUNT);
  (void)count;
  struct sweeps *const s = context;
  if (s->is_open && !is_same(&s->sweep, values)) end_sweep(s);
  if (!s->is_open) begin_sweep(s, values);
  const bool is_failed = wo__number_of(&values[IS_FAILED], 0) == 1;
  if (!is_failed && !wo_view_is(text_of(&values[OUTCOME]), "success")) {
    s->sweep.left_out++;
    return true;
  }
  s->sweep.sum.jobs++;
  if (is_failed) {
    if (s->sweep.sum.failed++ == 0) s->sweep.example = wo_arena_copy(&s->scratch, text_of(&values[PATH]));
    s->sweep.sum.lost_s += wo__number_of(&values[GPU_S], 0);
    s->sweep.sum.lost_unknown += values[GPU_S].type != WO_STORE_NUMBER;
  }
  wo__sweep_begin_job(&s->knobs, is_failed);
  add_settings(s, values);
  return !wo_arena_is_exhausted(&s->scratch);
}

/* The group of a row: its array, or its name and folder. The folder of a path is what is left of it without the characters behind
 * its last slash. */
#define GROUP                                                                                                                    \
  "coalesce(array_job, '') AS a, coalesce(user, '') AS u, CASE WHEN coalesce(array_job, '') = '' THEN coalesce(name, '') ELSE "  \
  "'' "                                                                                                                          \
  "END AS n, CASE WHEN coalesce(array_job, '') = '' THEN rtrim(path, replace(path, '/', '')) ELSE '' END AS f"

/* Leaves out jobs of groups that are no sweep for sure, which are most. */
#define MIXED "passes(array_job, user, name, path)"

/* Groups in which all failed, or none did, are left to SQL, and so are those that cost least, so that the settings of most jobs
 * are not sorted. @key is the number of groups that are compared. */
static const char sql[] =
    "WITH g AS (SELECT " GROUP
    ", coalesce(sum(CASE WHEN is_failed = 1 THEN gpu_s END), 0) AS lost, sum(is_failed = 1) AS failed, "
    "min(path) AS first, count(*) OVER () AS groups FROM job WHERE " MIXED " AND @where GROUP BY a, u, n, f "
    "HAVING (a <> '' OR n <> '') AND failed > 0 AND failed < count(*) ORDER BY lost DESC, failed DESC, first LIMIT @key) "
    "SELECT a, u, name, f, path, coalesce(is_failed, 0), outcome, gpu_s, settings, gpu_model, gpus, partition, array_task, "
    "(SELECT count(*) FROM g), (SELECT max(groups) FROM g) FROM (SELECT " GROUP ", job.* FROM job WHERE " MIXED " AND @where) "
    "WHERE (a, u, n, f) IN (SELECT a, u, n, f FROM g) ORDER BY a, u, n, f, path";

enum wo_status wo__make_sweeps(struct wo__fleet_maker *maker) {
  struct wo_fleet *const fleet = maker->fleet;
  struct sweeps s = {.maker = maker, .items = wo_arena_array(maker->arena, fleet->rows, sizeof *s.items)};
  const struct wo_view most = wo_arena_format(maker->arena, "%zu", WO_LIMIT_FLEET_SWEEPS);
  if (s.items == NULL || most.len == 0) return wo_err_nomem(maker->err);
  fleet->sweeps = s.items;
  if (!maker->groups.has_mixed) return WO_OK;
  enum wo_status status = wo_store_set_test(maker->store, wo__groups_is_mixed, &maker->groups, maker->err);
  if (status == WO_OK) status = wo__ask(maker, sql, most.ptr, take_member, &s);
  wo_store_set_test(maker->store, NULL, NULL, NULL);
  if (status == WO_OK) end_sweep(&s);
  wo_arena_done(&s.scratch);
  return status == WO_OK && wo_arena_is_exhausted(maker->arena) ? wo_err_nomem(maker->err) : status;
}
