/* Totals, lists that count jobs by one column, and time. See fleet.h. */
#include <assert.h>

#include "analyzer/fleet/fleet_internal.h"
#include "parsers/base/limits.h"

/* ---- Totals ---- */

static bool take_totals(void *context, const struct wo_store_value *values, size_t count) {
  assert(count >= 14);
  (void)count;
  struct wo_fleet_totals *const totals = context;
  totals->sum = wo__sum_of(values);
  totals->ok = wo__number_of(&values[4], 0);
  totals->open = wo__number_of(&values[5], 0);
  totals->unread = wo__number_of(&values[6], 0);
  totals->gpu_s = wo__number_of(&values[7], 0);
  totals->gpu_unknown = wo__number_of(&values[8], 0);
  totals->users = wo__number_of(&values[9], 0);
  totals->files = wo__number_of(&values[10], 0);
  totals->bytes = wo__number_of(&values[11], 0);
  totals->first_ns = wo__number_of(&values[12], WO_ROW_UNKNOWN);
  totals->last_ns = wo__number_of(&values[13], WO_ROW_UNKNOWN);
  return false;
}

enum wo_status wo__make_totals(struct wo__fleet_maker *maker) {
  return wo__ask(
      maker,
      "SELECT " WO__SQL_SUM ", sum(coalesce(is_failed, 0) <> 1 AND outcome = 'success'), "
      "sum(coalesce(is_failed, 0) <> 1 AND coalesce(outcome, '') IN ('', 'unknown')), sum(unread > 0), "
      "sum(gpu_s), sum(gpu_s IS NULL), count(DISTINCT nullif(user, '')), sum(files), sum(bytes), min(end_ns), max(end_ns) "
      "FROM job WHERE @where",
      NULL, take_totals, &maker->fleet->totals);
}

/* ---- Lists ---- */

struct list_row {
  const char *column, *heading, *about;
};

static const struct list_row list_rows[] = {
#define WO_FLEET_LIST(list, column_name, heading_text, about_column)                                                             \
  [WO_FLEET_BY_##list] = {.column = #column_name, .heading = heading_text, .about = about_column},
#include "analyzer/fleet/fleet_lists.def"
#undef WO_FLEET_LIST
};

const char *wo_fleet_list_column(enum wo_fleet_list_id list) {
  return list_rows[list].column;
}

const char *wo_fleet_list_heading(enum wo_fleet_list_id list) {
  return list_rows[list].heading;
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

/* The outcome of jobs that did not fail is said, too; a fix and a cause count for failed jobs only, since a note about a job that
 * went well cost nothing. */
static const char *const list_sql[] = {
    /* columns of all jobs, of which those with a failed job are listed */
    "WITH g AS (SELECT coalesce(@key, '') AS k, min(CASE WHEN is_failed = 1 THEN path END) AS example, " WO__SQL_SUM
    " FROM job WHERE @where GROUP BY k HAVING failed > 0) SELECT k, example, jobs, failed, lost, unknown, "
    "row_number() OVER (ORDER BY lost DESC, failed DESC, k) AS place, row_number() OVER (ORDER BY failed DESC, lost DESC, k) "
    "FROM g ORDER BY place",
    /* columns of failed jobs */
    "WITH g AS (SELECT coalesce(@key, '') AS k, min(path) AS example, " WO__SQL_SUM
    " FROM job WHERE is_failed = 1 AND @where GROUP BY k) SELECT k, example, jobs, failed, "
    "lost, unknown, "
    "row_number() OVER (ORDER BY lost DESC, failed DESC, k) AS place, row_number() OVER (ORDER BY failed DESC, lost DESC, k) "
    "FROM g ORDER BY place",
    /* the same without the unknown value: that no fix is known says nothing about fixes */
    "WITH g AS (SELECT @key AS k, min(path) AS example, " WO__SQL_SUM
    " FROM job WHERE is_failed = 1 AND k <> '' AND @where GROUP BY k) SELECT k, example, jobs, failed, lost, unknown, "
    "row_number() OVER (ORDER BY lost DESC, failed DESC, k) AS place, row_number() OVER (ORDER BY failed DESC, lost DESC, k) "
    "FROM g ORDER BY place",
    /* all values of all jobs */
    "WITH g AS (SELECT coalesce(@key, '') AS k, min(path) AS example, " WO__SQL_SUM
    " FROM job WHERE @where GROUP BY k) SELECT k, example, jobs, failed, lost, unknown, "
    "row_number() OVER (ORDER BY jobs DESC, k) AS place, 1 FROM g ORDER BY place"};

/* The node that failed first, else the only one of the job. */
static const char node_key[] = "nullif(node, ''), CASE WHEN instr(nodes, ',') = 0 AND instr(nodes, '[') = 0 THEN nodes END";

enum wo_status wo__make_list(struct wo__fleet_maker *maker, enum wo_fleet_list_id list) {
  struct wo_fleet_list *const made = &maker->fleet->lists[list];
  struct list_context c = {.maker = maker, .list = made, .room = 2 * maker->fleet->rows};
  c.items = wo_arena_array(maker->arena, c.room, sizeof *c.items);
  if (c.items == NULL) return wo_err_nomem(maker->err);
  made->items = c.items;
  size_t sql = list == WO_FLEET_BY_CAUSE || list == WO_FLEET_BY_NODE ? 1 : 0;
  if (list == WO_FLEET_BY_FIX) sql = 2;
  if (list == WO_FLEET_BY_OUTCOME) sql = 3;
  const char *const key = list == WO_FLEET_BY_NODE ? node_key : list_rows[list].column;
  const enum wo_status status = wo__ask(maker, list_sql[sql], key, take_entry, &c);
  if (status != WO_OK || list_rows[list].about == NULL) return status;
  return add_about(maker, &c, list_rows[list].about);
}

/* ---- Time ---- */

enum { DAYS_A_WEEK = 7, DAYS_A_MONTH = 28 };
static const int64_t day_ns = INT64_C(86400) * 1000000000;

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
      (struct wo_fleet_day){.start_ns = values[0].number * c->fleet->day_span * day_ns, .sum = wo__sum_of(&values[1])};
  return true;
}

/* Days while they fit the chart, then weeks, then four weeks. Spans without a job are left out here and drawn as a gap. */
enum wo_status wo__make_days(struct wo__fleet_maker *maker) {
  struct wo_fleet *const fleet = maker->fleet;
  const struct wo_fleet_totals *const totals = &fleet->totals;
  fleet->day_span = 1;
  int64_t days = 0;
  if (totals->first_ns != WO_ROW_UNKNOWN) days = totals->last_ns / day_ns - totals->first_ns / day_ns + 1;
  const int64_t most = (int64_t)WO_LIMIT_FLEET_DAYS;
  if (days > most) fleet->day_span = days > most * DAYS_A_WEEK ? DAYS_A_MONTH : DAYS_A_WEEK;
  while (days / fleet->day_span > most) fleet->day_span *= 2;
  struct days_context c = {.fleet = fleet, .room = (size_t)(days / fleet->day_span + 2)};
  c.days = wo_arena_array(maker->arena, c.room, sizeof *c.days);
  if (c.days == NULL) return wo_err_nomem(maker->err);
  fleet->days = c.days;
  const struct wo_view span = wo_arena_format(maker->arena, "%lld", (long long)(fleet->day_span * day_ns));
  if (span.len == 0) return wo_err_nomem(maker->err);
  return wo__ask(maker, "SELECT end_ns / @key AS span, " WO__SQL_SUM " FROM job WHERE @where GROUP BY span ORDER BY span",
                 span.ptr, take_day, &c);
}
