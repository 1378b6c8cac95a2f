/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a sweep, and the conditions that divide it. See fleet_split.h.
 *
 * Each setting is tried by its values: numbers from a threshold on or up to it, every value alone, and "not shown". The test is
 * the one of the nodes (chance.h), and its chance is multiplied by the number of conditions that were
 * tried, and by that of the sweeps. */
#include "analyzer/fleet/fleet_split.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/fleet/chance.h"
#include "parsers/base/limits.h"
#include "parsers/base/number.h"

struct value {
  struct wo_view text;
  double number;
  int64_t failed, jobs;
};

struct wo__sweep_knob {
  struct wo__sweep_knob *next;
  struct wo_view name;
  size_t place;     /* by rank, then as settings were met */
  int64_t last_job; /* that gave a value */
  bool is_numeric;  /* all values are numbers */
  bool is_left_out; /* too many values */
  struct value *values;
  size_t count, room;
  struct wo_fleet_split best;
};

enum { RANK_TASK = 3, CLEAN_LEAST = 2 };

static const double ln_alpha = -2.995732273553991; /* ln 0.05 */

/* ---- Counting ---- */

void wo__sweep_begin_job(struct wo__sweep_knobs *sweep, bool is_failed) {
  sweep->jobs++;
  sweep->failed += is_failed;
  sweep->is_job_failed = is_failed;
  sweep->is_job_showing = false;
}

static bool read_number(struct wo_view text, double *ret) {
  struct wo_interval interval;
  if (wo_number_decimal(&text, &interval, NULL) != WO_OK || text.len > 0) return false;
  *ret = interval.mid;
  return true;
}

static struct wo__sweep_knob *find_knob(struct wo__sweep_knobs *sweep, size_t rank, struct wo_view name) {
  for (struct wo__sweep_knob *knob = sweep->knobs; knob != NULL; knob = knob->next) {
    if (wo_view_equal(knob->name, name)) return knob;
  }
  if (sweep->knob_count == WO_LIMIT_FLEET_KNOBS) {
    sweep->left_out++;
    return NULL;
  }
  struct wo__sweep_knob *const fresh = wo_arena_alloc(sweep->arena, sizeof *fresh);
  if (fresh == NULL) return NULL;
  *fresh = (struct wo__sweep_knob){.next = sweep->knobs,
                                   .name = wo_arena_copy(sweep->arena, name),
                                   .place = rank * WO_LIMIT_FLEET_KNOBS + sweep->knob_count,
                                   .is_numeric = true};
  sweep->knobs = fresh;
  sweep->knob_count++;
  return fresh;
}

static struct value *find_value(struct wo__sweep_knobs *sweep, struct wo__sweep_knob *knob, struct wo_view text) {
  for (size_t i = 0; i < knob->count; i++) {
    if (wo_view_equal(knob->values[i].text, text)) return &knob->values[i];
  }
  if (knob->count == knob->room) {
    const size_t room = knob->room == 0 ? 8 : 2 * knob->room;
    struct value *const grown = room <= WO_LIMIT_FLEET_KNOB_VALUES ? wo_arena_array(sweep->arena, room, sizeof *grown) : NULL;
    if (grown == NULL) {
      knob->is_left_out = true;
      return NULL;
    }
    if (knob->count > 0) memcpy(grown, knob->values, knob->count * sizeof *grown);
    knob->values = grown;
    knob->room = room;
  }
  struct value *const fresh = &knob->values[knob->count++];
  *fresh = (struct value){.text = wo_arena_copy(sweep->arena, text)};
  knob->is_numeric &= read_number(text, &fresh->number);
  return fresh;
}

void wo__sweep_add(struct wo__sweep_knobs *sweep, size_t rank, struct wo_view name, struct wo_view text) {
  assert(sweep->jobs > 0);
  if (rank == 0 && !sweep->is_job_showing) {
    sweep->is_job_showing = true;
    sweep->showing_jobs++;
    sweep->showing_failed += sweep->is_job_failed;
  }
  struct wo__sweep_knob *const knob = name.len > 0 ? find_knob(sweep, rank, name) : NULL;
  if (knob == NULL || knob->is_left_out || knob->last_job == sweep->jobs) return;
  knob->last_job = sweep->jobs;
  struct value *const value = find_value(sweep, knob, text);
  if (value == NULL) return;
  value->jobs++;
  value->failed += sweep->is_job_failed;
}

/* ---- Conditions ---- */

static int by_number(const void *a, const void *b) {
  const struct value *const x = a, *const y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return wo_view_compare(x->text, y->text);
}

static int by_failures(const void *a, const void *b) {
  const struct value *const x = a, *const y = b;
  if (x->failed != y->failed) return x->failed > y->failed ? -1 : 1;
  return wo_view_compare(x->text, y->text);
}

/* Some of the jobs that show a setting, against the others of them. */
struct trial {
  struct wo__sweep_knob *knob;
  int64_t failed, jobs; /* of all that show it */
  int64_t *tried;       /* conditions; both directions of each count */
};

/* Keeps a condition if no better one was met. `in` are the jobs for which it holds. */
static void keep(const struct trial *trial, enum wo_fleet_relation relation, struct wo_view value, struct value in) {
  const struct wo_fleet_split split = {.knob = trial->knob->name,
                                       .value = value,
                                       .relation = relation,
                                       .failed = in.failed,
                                       .jobs = in.jobs,
                                       .other_failed = trial->failed - in.failed,
                                       .other_jobs = trial->jobs - in.jobs,
                                       .ln_chance = wo_chance_ln_tail(trial->jobs, trial->failed, in.jobs, in.failed)};
  if (trial->knob->best.jobs == 0 || split.ln_chance < trial->knob->best.ln_chance) trial->knob->best = split;
}

/* Tries a condition in the direction in which more of its jobs failed. */
static void try(const struct trial *trial, enum wo_fleet_relation relation, struct wo_view value, enum wo_fleet_relation opposite,
                struct wo_view opposite_value, struct value in) {
  const struct value out = {.failed = trial->failed - in.failed, .jobs = trial->jobs - in.jobs};
  if (in.jobs == 0 || out.jobs == 0) return;
  *trial->tried += 2;
  if (in.failed * out.jobs >= out.failed * in.jobs) {
    keep(trial, relation, value, in);
  } else {
    keep(trial, opposite, opposite_value, out);
  }
}

/* Thresholds of a setting whose values are numbers, in their order. */
static void try_thresholds(const struct trial *trial) {
  const struct wo__sweep_knob *const knob = trial->knob;
  struct value above = {.failed = trial->failed, .jobs = trial->jobs};
  for (size_t i = 1; i < knob->count; i++) {
    above.failed -= knob->values[i - 1].failed;
    above.jobs -= knob->values[i - 1].jobs;
    if (knob->values[i].number == knob->values[i - 1].number) continue;
    try(trial, WO_FLEET_AT_LEAST, knob->values[i].text, WO_FLEET_AT_MOST, knob->values[i - 1].text, above);
  }
}

static void try_values(const struct trial *trial) {
  const struct wo__sweep_knob *const knob = trial->knob;
  const bool is_pair = knob->count == 2; /* to be one of two is not to be the other */
  if (knob->is_numeric && is_pair) return;
  for (size_t i = 0; i < knob->count - is_pair; i++) {
    const struct wo_view text = knob->values[i].text;
    if (is_pair) {
      try(trial, WO_FLEET_EQUAL, text, WO_FLEET_EQUAL, knob->values[1].text, knob->values[i]);
    } else {
      try(trial, WO_FLEET_EQUAL, text, WO_FLEET_OTHER_THAN, text, knob->values[i]);
    }
  }
}

/* The jobs that do not show a setting that others show, against those. A job that shows no setting at all does not count: its log
 * is silent, which says nothing about its settings. */
static void try_missing(const struct wo__sweep_knobs *sweep, const struct trial *shown) {
  const struct value missing = {.failed = sweep->showing_failed - shown->failed, .jobs = sweep->showing_jobs - shown->jobs};
  if (missing.jobs <= 0 || shown->knob->place >= WO_LIMIT_FLEET_KNOBS) return;
  const struct trial trial = {
      .knob = shown->knob, .failed = sweep->showing_failed, .jobs = sweep->showing_jobs, .tried = shown->tried};
  try(&trial, WO_FLEET_EQUAL, (struct wo_view){0}, WO_FLEET_OTHER_THAN, (struct wo_view){0}, missing);
}

static void try_knob(const struct wo__sweep_knobs *sweep, struct wo__sweep_knob *knob, int64_t *tried) {
  struct trial trial = {.knob = knob, .tried = tried};
  if (knob->is_left_out || knob->count == 0) return;
  for (size_t i = 0; i < knob->count; i++) {
    trial.failed += knob->values[i].failed;
    trial.jobs += knob->values[i].jobs;
  }
  qsort(knob->values, knob->count, sizeof *knob->values, knob->is_numeric ? by_number : by_failures);
  if (knob->is_numeric) try_thresholds(&trial);
  if (knob->count > 1) try_values(&trial);
  try_missing(sweep, &trial);
}

/* ---- The answer ---- */

/* Whether a condition divides so cleanly that it is worth a look, although there are too few jobs to rule out chance. The number
 * of a task divides any array whose last tasks failed. */
static bool is_clean(const struct wo__sweep_knob *knob) {
  const struct wo_fleet_split *const split = &knob->best;
  return knob->place < RANK_TASK * WO_LIMIT_FLEET_KNOBS && split->failed == split->jobs && split->other_failed == 0 &&
         split->jobs >= CLEAN_LEAST && split->other_jobs >= CLEAN_LEAST;
}

/* Better conditions first. Chances that differ by rounding only are equal. */
static int by_split(const void *a, const void *b) {
  const struct wo__sweep_knob *const x = *(struct wo__sweep_knob *const *)a, *const y = *(struct wo__sweep_knob *const *)b;
  if (fabs(x->best.ln_chance - y->best.ln_chance) > 1e-6) return x->best.ln_chance < y->best.ln_chance ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* The values of a setting side by side; jobs that do not show it come last. */
static struct wo_fleet_knob values_of(const struct wo__sweep_knobs *sweep, const struct wo__sweep_knob *knob) {
  struct wo_fleet_value *const values = wo_arena_array(sweep->arena, knob->count + 1, sizeof *values);
  if (values == NULL) return (struct wo_fleet_knob){0};
  struct wo_fleet_value missing = {.failed = sweep->failed, .jobs = sweep->jobs};
  for (size_t i = 0; i < knob->count; i++) {
    const struct value *const value = &knob->values[i];
    values[i] = (struct wo_fleet_value){.text = value->text, .failed = value->failed, .jobs = value->jobs};
    missing.failed -= value->failed;
    missing.jobs -= value->jobs;
  }
  values[knob->count] = missing;
  return (struct wo_fleet_knob){.knob = knob->name, .values = values, .value_count = knob->count + (missing.jobs > 0)};
}

void wo__sweep_divide(struct wo__sweep_knobs *sweep, int64_t sweeps, struct wo_fleet_sweep *ret) {
  struct wo__sweep_knob **const order = wo_arena_array(sweep->arena, sweep->knob_count + 1, sizeof *order);
  if (order == NULL) return;
  int64_t tried = 0;
  size_t count = 0;
  for (struct wo__sweep_knob *knob = sweep->knobs; knob != NULL; knob = knob->next) {
    try_knob(sweep, knob, &tried);
    if (knob->best.jobs > 0) order[count++] = knob;
    ret->knobs_left_out += knob->is_left_out;
  }
  ret->knobs_left_out += (size_t)sweep->left_out;
  if (count > 0) qsort(order, count, sizeof *order, by_split);
  for (size_t i = 0; i < count; i++) {
    struct wo_fleet_split split = order[i]->best;
    split.ln_chance = wo_chance_ln_any(split.ln_chance, tried * sweeps);
    if ((split.ln_chance <= ln_alpha || is_clean(order[i])) && ret->split_count < WO_FLEET_SPLITS) {
      ret->splits[ret->split_count++] = split;
    }
    if (ret->knob_count < WO_FLEET_SWEEP_KNOBS && order[i]->count < WO_FLEET_SWEEP_VALUES) {
      ret->knobs[ret->knob_count++] = values_of(sweep, order[i]);
    } else {
      ret->knobs_left_out++;
    }
  }
}
