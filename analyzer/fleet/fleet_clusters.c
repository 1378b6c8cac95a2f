/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that failed alike, and jobs that failed again. See fleet.h. */
#include <assert.h>

#include "analyzer/fleet/fleet_internal.h"

/* ---- Clusters ---- */

struct clusters {
  struct wo__fleet_maker *maker;
  struct wo_fleet_cluster *items;
};

static bool take_title(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 2);
  (void)count;
  struct clusters *const c = context;
  struct wo_fleet_cluster *const cluster = &c->items[c->maker->fleet->cluster_count];
  cluster->title = wo__text_of(c->maker, &values[0]);
  cluster->settings = wo__text_of(c->maker, &values[1]);
  return false;
}

/* Columns: cause, place, example, users, the sums, clusters in all. */
static bool take_cluster(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 9);
  (void)count;
  struct clusters *const c = context;
  struct wo_fleet *const fleet = c->maker->fleet;
  if (fleet->cluster_count == fleet->rows) return false;
  c->items[fleet->cluster_count++] = (struct wo_fleet_cluster){.cause = wo__text_of(c->maker, &values[0]),
                                                               .place = wo__text_of(c->maker, &values[1]),
                                                               .example = wo__text_of(c->maker, &values[2]),
                                                               .users = wo__number_of(&values[3], 0),
                                                               .sum = wo__sum_of(&values[4])};
  fleet->clusters_left_out = wo__number_of(&values[8], 0) - (int64_t)fleet->cluster_count;
  return true;
}

/* A title names figures of one job, so that the example's is taken. */
enum wo_status wo__make_clusters(struct wo__fleet_maker *maker) {
  struct wo_fleet *const fleet = maker->fleet;
  struct clusters c = {.maker = maker, .items = wo_arena_array(maker->arena, fleet->rows, sizeof *c.items)};
  if (c.items == NULL) return wo_err_nomem(maker->err);
  fleet->clusters = c.items;
  enum wo_status status = wo__ask(maker,
                                  "WITH g AS (SELECT coalesce(cause, '') AS c, coalesce(place, '') AS p, min(path) AS example, "
                                  "count(DISTINCT nullif(user, '')) AS users, " WO__SQL_SUM
                                  " FROM job WHERE is_failed = 1 AND @where GROUP BY c, p, coalesce(settings, '')) "
                                  "SELECT c, p, example, users, jobs, failed, lost, unknown, count(*) OVER () FROM g "
                                  "ORDER BY lost DESC, jobs DESC, example",
                                  NULL, take_cluster, &c);
  const size_t count = fleet->cluster_count;
  for (fleet->cluster_count = 0; status == WO_OK && fleet->cluster_count < count; fleet->cluster_count++) {
    status = wo__ask_with(maker, "SELECT title, settings FROM job WHERE path = ?1", NULL, &c.items[fleet->cluster_count].example,
                          1, take_title, &c);
  }
  return status;
}

/* ---- Repeats ---- */

struct repeats {
  struct wo__fleet_maker *maker;
  struct wo_fleet_repeat *items;
};

/* Columns: cause, submissions, hours again, unknown again, first, last, the last one's path; in all: repeats, hours,
 * unknown. */
static bool take_repeat(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 10);
  (void)count;
  struct repeats *const c = context;
  struct wo_fleet *const fleet = c->maker->fleet;
  if (fleet->repeat_count == fleet->rows) return false;
  c->items[fleet->repeat_count++] = (struct wo_fleet_repeat){.cause = wo__text_of(c->maker, &values[0]),
                                                             .submissions = wo__number_of(&values[1], 0),
                                                             .again_s = wo__number_of(&values[2], 0),
                                                             .again_unknown = wo__number_of(&values[3], 0),
                                                             .first_ns = wo__number_of(&values[4], WO_ROW_UNKNOWN),
                                                             .last_ns = wo__number_of(&values[5], WO_ROW_UNKNOWN),
                                                             .example = wo__text_of(c->maker, &values[6])};
  fleet->repeats_left_out = wo__number_of(&values[7], 0) - (int64_t)fleet->repeat_count;
  fleet->again_s = wo__number_of(&values[8], 0);
  fleet->again_unknown = wo__number_of(&values[9], 0);
  return true;
}

static bool take_repeat_words(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 4);
  (void)count;
  struct repeats *const c = context;
  struct wo_fleet_repeat *const repeat = &c->items[c->maker->fleet->repeat_count];
  repeat->user = wo__text_of(c->maker, &values[0]);
  repeat->name = wo__text_of(c->maker, &values[1]);
  repeat->title = wo__text_of(c->maker, &values[2]);
  repeat->work = wo__text_of(c->maker, &values[3]);
  return false;
}

/* Columns: work, jobs that went well. */
static bool take_good(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 2);
  (void)count;
  struct repeats *const c = context;
  for (size_t i = 0; i < c->maker->fleet->repeat_count; i++) {
    if (values[0].type == WO_STORE_TEXT && wo_view_equal(c->items[i].work, values[0].text)) {
      c->items[i].ok = wo__number_of(&values[1], 0);
    }
  }
  return true;
}

/* Counts the jobs that were submitted alike and went well, whatever the filter is. */
static enum wo_status add_good(struct repeats *c) {
  struct wo_text works = {0};
  for (size_t i = 0; i < c->maker->fleet->repeat_count; i++) {
    if (i > 0) wo_text_add(&works, ", ");
    wo__add_constant(&works, c->items[i].work);
  }
  wo_text_add(&works, "%c", '\0');
  const enum wo_status status =
      works.is_failed ? wo_err_nomem(c->maker->err)
                      : wo__ask(c->maker,
                                "SELECT work, count(*) FROM job WHERE outcome = 'success' AND coalesce(is_failed, 0) <> 1 AND "
                                "work IN (@key) GROUP BY work",
                                works.ptr, take_good, c);
  wo_text_done(&works);
  return status;
}

/* The tasks of an array were submitted at one time, so that an array is one submission. The first submission of a work is the one
 * that ended first; jobs without a time come after those that have one, in the order of their paths. */
enum wo_status wo__make_repeats(struct wo__fleet_maker *maker) {
  struct wo_fleet *const fleet = maker->fleet;
  struct repeats c = {.maker = maker, .items = wo_arena_array(maker->arena, fleet->rows, sizeof *c.items)};
  if (c.items == NULL) return wo_err_nomem(maker->err);
  fleet->repeats = c.items;
  enum wo_status status = wo__ask(
      maker,
      "WITH s AS (SELECT work, cause, min(path) AS p, max(path) AS q, min(end_ns) AS t, max(end_ns) AS u, "
      "coalesce(sum(gpu_s), 0) AS lost, sum(gpu_s IS NULL) AS unknown FROM job WHERE is_failed = 1 AND work <> '' AND @where "
      "GROUP BY work, cause, CASE WHEN array_job <> '' THEN array_job ELSE path END), "
      "o AS (SELECT *, row_number() OVER (PARTITION BY work, cause ORDER BY t IS NULL, t, p) AS place, "
      "row_number() OVER (PARTITION BY work, cause ORDER BY u IS NOT NULL DESC, u DESC, q DESC) AS back FROM s), "
      "g AS (SELECT work, cause, count(*) AS n, sum(CASE WHEN place > 1 THEN lost ELSE 0 END) AS again, "
      "sum(CASE WHEN place > 1 THEN unknown ELSE 0 END) AS open, min(t) AS a, max(u) AS b, "
      "max(CASE WHEN back = 1 THEN q END) AS example FROM o GROUP BY work, cause HAVING n > 1) "
      "SELECT cause, n, again, open, a, b, example, count(*) OVER (), sum(again) OVER (), sum(open) OVER () FROM g "
      "ORDER BY again DESC, n DESC, example",
      NULL, take_repeat, &c);
  const size_t count = fleet->repeat_count;
  for (fleet->repeat_count = 0; status == WO_OK && fleet->repeat_count < count; fleet->repeat_count++) {
    status = wo__ask_with(maker, "SELECT user, name, title, work FROM job WHERE path = ?1", NULL,
                          &c.items[fleet->repeat_count].example, 1, take_repeat_words, &c);
  }
  if (status == WO_OK && count > 0) status = add_good(&c);
  return status;
}
