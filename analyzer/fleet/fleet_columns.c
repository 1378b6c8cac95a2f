/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that count jobs by one column, and time. See fleet.h. */
#include <assert.h>

#include "analyzer/fleet/fleet_internal.h"
#include "parsers/base/limits.h"

/* ---- Lists ---- */

enum sort { EVERY, WITH_FAILED, FAILED, FAILED_KNOWN };

struct list_row {
  const char *column, *heading, *about;
  enum sort sort;
};

static const struct list_row list_rows[] = {
#define WO_FLEET_LIST(list, column_name, heading_text, about_column, list_sort)                                                  \
  [WO_FLEET_BY_##list] = {.column = #column_name, .heading = heading_text, .about = about_column, .sort = list_sort},
#include "analyzer/fleet/fleet_lists.def"
#undef WO_FLEET_LIST
};

const char *wo_fleet_list_column(enum wo_fleet_list_id list) {
  return list_rows[list].column;
}

const char *wo_fleet_list_heading(enum wo_fleet_list_id list) {
  return list_rows[list].heading;
}

bool wo__list_is_tallied(enum wo_fleet_list_id list) {
  return list_rows[list].sort == EVERY || list_rows[list].sort == WITH_FAILED;
}

struct list_context {
  struct wo__fleet_maker *maker;
  struct wo_fleet_list *list;
  struct wo_fleet_entry *items;
  size_t room;
};

/* Columns: key, example, the sums, place by hours, place by jobs. */
static bool take_entry(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 8);
  (void)count;
  struct list_context *const c = context;
  const struct wo_fleet_sum sum = wo__sum_of(&values[2]);
  const int64_t rows = (int64_t)c->maker->fleet->rows;
  const bool is_first = wo__number_of(&values[6], INT64_MAX) <= rows || wo__number_of(&values[7], INT64_MAX) <= rows;
  if (!is_first || c->list->count == c->room) {
    c->list->others++;
    wo_fleet_sum_add(&c->list->rest, &sum);
    return true;
  }
  c->items[c->list->count++] =
      (struct wo_fleet_entry){.key = wo__text_of(c->maker, &values[0]), .example = wo__text_of(c->maker, &values[1]), .sum = sum};
  return true;
}

struct about_context {
  struct wo__fleet_maker *maker;
  struct wo_view *about;
};

static bool take_about(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 1);
  (void)count;
  struct about_context *const c = context;
  *c->about = wo__text_of(c->maker, &values[0]);
  return false;
}

/* A list whose keys say little has the words of each key's example. */
static enum wo_status add_about(struct wo__fleet_maker *maker, const struct list_context *c, const char *column) {
  for (size_t i = 0; i < c->list->count; i++) {
    struct about_context about = {.maker = maker, .about = &c->items[i].about};
    const enum wo_status status =
        wo__ask_with(maker, "SELECT @key FROM job WHERE path = ?1", column, &c->items[i].example, 1, take_about, &about);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* Groups g of jobs with the same key k are put in order: by hours, and by jobs. @key is the number of a list that is tallied, the
 * column of another one. */
#define TALLIES                                                                                                                  \
  "WITH g AS (SELECT key AS k, min(example) AS example, " WO__SQL_TALLY_SUM " FROM temp.tally WHERE list = @key GROUP BY key"
#define IN_ORDER                                                                                                                 \
  ") SELECT k, example, jobs, failed, lost, unknown, row_number() OVER (ORDER BY lost DESC, failed DESC, k) AS place, "          \
  "row_number() OVER (ORDER BY failed DESC, lost DESC, k) FROM g ORDER BY place"

static const char *const list_sql[] = {
    [EVERY] = TALLIES ") SELECT k, example, jobs, failed, lost, unknown, row_number() OVER (ORDER BY jobs DESC, k) AS place, 1 "
                      "FROM g ORDER BY place",
    [WITH_FAILED] = TALLIES " HAVING sum(failed) > 0" IN_ORDER,
    [FAILED] = "WITH g AS (SELECT coalesce(@key, '') AS k, min(path) AS example, " WO__SQL_SUM
               " FROM job WHERE is_failed = 1 AND @where GROUP BY k" IN_ORDER,
    [FAILED_KNOWN] = "WITH g AS (SELECT @key AS k, min(path) AS example, " WO__SQL_SUM
                     " FROM job WHERE is_failed = 1 AND k <> '' AND @where GROUP BY k" IN_ORDER,
};

/* The node that failed first, else the only one of the job. */
static const char node_key[] = "nullif(node, ''), CASE WHEN instr(nodes, ',') = 0 AND instr(nodes, '[') = 0 THEN nodes END";

enum wo_status wo__make_list(struct wo__fleet_maker *maker, enum wo_fleet_list_id list) {
  struct wo_fleet_list *const made = &maker->fleet->lists[list];
  struct list_context c = {.maker = maker, .list = made, .room = 2 * maker->fleet->rows};
  c.items = wo_arena_array(maker->arena, c.room, sizeof *c.items);
  if (c.items == NULL) return wo_err_nomem(maker->err);
  made->items = c.items;
  const struct wo_view number = wo_arena_format(maker->arena, "%d", WO__TALLY_LISTS + (int)list);
  if (number.len == 0) return wo_err_nomem(maker->err);
  const char *const column = list == WO_FLEET_BY_NODE ? node_key : list_rows[list].column;
  const char *const key = wo__list_is_tallied(list) ? number.ptr : column;
  const enum wo_status status = wo__ask(maker, list_sql[list_rows[list].sort], key, take_entry, &c);
  if (status != WO_OK || list_rows[list].about == NULL) return status;
  return add_about(maker, &c, list_rows[list].about);
}

/* ---- Time ---- */

_Static_assert(WO__TALLY_DAYS == 0, "the number of the list of days stands in the question");

enum { DAYS_A_WEEK = 7, DAYS_A_MONTH = 28 };

struct days_context {
  struct wo_fleet *fleet;
  struct wo_fleet_day *days;
  size_t room;
};

/* Columns: number of the span, the sums. */
static bool take_day(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 5);
  (void)count;
  struct days_context *const c = context;
  if (values[0].type != WO_STORE_NUMBER) {
    c->fleet->undated = wo__number_of(&values[1], 0);
    return true;
  }
  if (c->fleet->day_count == c->room) return false;
  c->days[c->fleet->day_count++] =
      (struct wo_fleet_day){.start_ns = values[0].number * c->fleet->day_span * WO__DAY_NS, .sum = wo__sum_of(&values[1])};
  return true;
}

/* Days while they fit the chart, then weeks, then four weeks. Spans without a job are left out here and drawn as a gap. */
enum wo_status wo__make_days(struct wo__fleet_maker *maker) {
  struct wo_fleet *const fleet = maker->fleet;
  const struct wo_fleet_totals *const totals = &fleet->totals;
  fleet->day_span = 1;
  int64_t days = 0;
  if (totals->first_ns != WO_ROW_UNKNOWN) days = totals->last_ns / WO__DAY_NS - totals->first_ns / WO__DAY_NS + 1;
  const int64_t most = (int64_t)WO_LIMIT_FLEET_DAYS;
  if (days > most) fleet->day_span = days > most * DAYS_A_WEEK ? DAYS_A_MONTH : DAYS_A_WEEK;
  while (days / fleet->day_span > most) fleet->day_span *= 2;
  struct days_context c = {.fleet = fleet, .room = (size_t)(days / fleet->day_span + 2)};
  c.days = wo_arena_array(maker->arena, c.room, sizeof *c.days);
  if (c.days == NULL) return wo_err_nomem(maker->err);
  fleet->days = c.days;
  const struct wo_view span = wo_arena_format(maker->arena, "%lld", (long long)fleet->day_span);
  if (span.len == 0) return wo_err_nomem(maker->err);
  return wo__ask(maker,
                 "SELECT CASE WHEN key <> '' THEN CAST(key AS INTEGER) / @key END AS span, " WO__SQL_TALLY_SUM
                 " FROM temp.tally WHERE list = 0 GROUP BY span ORDER BY span",
                 span.ptr, take_day, &c);
}
