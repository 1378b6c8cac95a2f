/* SPDX-License-Identifier: Apache-2.0 */
/* A good run beside a failed one of the same job. See fleet.h. */
#include <assert.h>

#include "analyzer/fleet/fleet_internal.h"
#include "parsers/base/units.h"

enum { SETTINGS_SHOWN = 64 }; /* differences of settings; more are not those of one job */

/* Columns that say how a run was set up, or what it met. */
static const enum wo_column_id compared[] = {
    WO_COLUMN_OF_gpu_model,       WO_COLUMN_OF_capacity_bytes,  WO_COLUMN_OF_gpus,       WO_COLUMN_OF_nodes,
    WO_COLUMN_OF_partition,       WO_COLUMN_OF_program,         WO_COLUMN_OF_engine,     WO_COLUMN_OF_model,
    WO_COLUMN_OF_others_bytes,    WO_COLUMN_OF_allocated_bytes, WO_COLUMN_OF_idle_bytes, WO_COLUMN_OF_host_limit_bytes,
    WO_COLUMN_OF_host_peak_bytes, WO_COLUMN_OF_step_total,      WO_COLUMN_OF_elapsed_s,
};

struct run {
  struct wo__fleet_maker *maker;
  struct wo_row *row;
  bool *has_row;
};

static bool take_run(void *context, int64_t id, const struct wo_row *row) {
  (void)id;
  struct run *const run = context;
  *run->row = *row;
  wo_row_keep(run->row, run->maker->arena);
  *run->has_row = true;
  return true;
}

/* Reads the last row, in the order of ends and then of paths, for which a condition holds. */
static enum wo_status read_last(struct wo__fleet_maker *maker, const struct wo_text *condition, struct run run) {
  struct wo_text where = {0};
  wo_text_add(&where, "path = (SELECT path FROM job WHERE ");
  wo_text_add_view(&where, (struct wo_view){condition->ptr, condition->len});
  wo_text_add(&where, " ORDER BY end_ns IS NULL, end_ns DESC, path DESC LIMIT 1)%c", '\0');
  const enum wo_status status = where.is_failed || condition->is_failed
                                    ? wo_err_nomem(maker->err)
                                    : wo_store_each(maker->store, where.ptr, take_run, &run, maker->err);
  wo_text_done(&where);
  return status;
}

/* The named good run: an id may come again over the years, so that the last one that went well counts. */
static enum wo_status read_good(struct wo__fleet_maker *maker, struct wo_fleet_baseline *baseline) {
  struct wo_text condition = {0};
  struct wo_fleet_filter filter = wo_fleet_all();
  filter.job = maker->options->baseline;
  wo_text_add(&condition, "coalesce(is_failed, 0) <> 1 AND ");
  wo_fleet_add_where(&condition, &filter);
  const enum wo_status status =
      read_last(maker, &condition, (struct run){.maker = maker, .row = &baseline->good, .has_row = &baseline->has_good});
  wo_text_done(&condition);
  return status;
}

/* The failed run: the named one, else the last one of the same user and name that the filter lets pass. */
static enum wo_status read_bad(struct wo__fleet_maker *maker, struct wo_fleet_baseline *baseline) {
  struct wo_text condition = {0};
  wo_text_add(&condition, "is_failed = 1 AND ");
  if (maker->options->against.len > 0) {
    struct wo_fleet_filter filter = wo_fleet_all();
    filter.job = maker->options->against;
    wo_fleet_add_where(&condition, &filter);
  } else {
    wo_text_add(&condition, "coalesce(user, '') = ");
    wo__add_constant(&condition, baseline->good.user);
    wo_text_add(&condition, " AND coalesce(name, '') = ");
    wo__add_constant(&condition, baseline->good.name);
    wo_text_add(&condition, " AND ");
    wo_text_add_view(&condition, maker->fleet->where);
  }
  const enum wo_status status =
      read_last(maker, &condition, (struct run){.maker = maker, .row = &baseline->bad, .has_row = &baseline->has_bad});
  wo_text_done(&condition);
  return status;
}

/* ---- Differences ---- */

static struct wo_view show(struct wo_arena *arena, const struct wo_row *row, enum wo_column_id id) {
  if (wo_columns[id].type == WO_COLUMN_TEXT) return wo_row_text(row, id);
  const int64_t number = wo_row_number(row, id);
  if (number == WO_ROW_UNKNOWN) return (struct wo_view){0};
  if (wo_columns[id].type == WO_COLUMN_BYTES) return wo_arena_format(arena, "%s", WO_BYTES_TEXT(number));
  return wo_arena_format(arena, "%lld%s", (long long)number, wo_columns[id].type == WO_COLUMN_SECONDS ? " s" : "");
}

/* The value of a setting in a column of settings; empty if it is not there. */
static struct wo_view setting_of(struct wo_view settings, struct wo_view wanted) {
  struct wo_view knob, value;
  while (wo__next_setting(&settings, &knob, &value)) {
    if (wo_view_equal(knob, wanted)) return value;
  }
  return (struct wo_view){0};
}

struct differences {
  struct wo_fleet_difference *items;
  size_t count, room;
};

static void add_difference(struct differences *d, bool is_setting, struct wo_view name, struct wo_view good, struct wo_view bad) {
  if (wo_view_equal(good, bad) || d->count == d->room) return;
  d->items[d->count++] = (struct wo_fleet_difference){.name = name, .is_setting = is_setting, .good = good, .bad = bad};
}

/* Settings first: they are what the user can change back. Those that only the good run shows come last. */
static void compare(struct wo__fleet_maker *maker, const struct wo_row *good, const struct wo_row *bad, struct differences *d) {
  struct wo_view rest = bad->settings, knob, value;
  while (wo__next_setting(&rest, &knob, &value)) add_difference(d, true, knob, setting_of(good->settings, knob), value);
  rest = good->settings;
  while (wo__next_setting(&rest, &knob, &value)) {
    if (setting_of(bad->settings, knob).len == 0) add_difference(d, true, knob, value, (struct wo_view){0});
  }
  for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
    const enum wo_column_id id = compared[i];
    add_difference(d, false, wo_view_of(wo_columns[id].name), show(maker->arena, good, id), show(maker->arena, bad, id));
  }
}

enum wo_status wo__make_baseline(struct wo__fleet_maker *maker) {
  struct wo_fleet_baseline *const baseline = &maker->fleet->baseline;
  baseline->is_wanted = maker->options->baseline.len > 0;
  baseline->good = wo_row_empty();
  baseline->bad = wo_row_empty();
  if (!baseline->is_wanted) return WO_OK;
  enum wo_status status = read_good(maker, baseline);
  if (status == WO_OK && baseline->has_good) status = read_bad(maker, baseline);
  if (status != WO_OK || !baseline->has_bad) return status;
  struct differences d = {.room = SETTINGS_SHOWN + sizeof compared / sizeof *compared};
  d.items = wo_arena_array(maker->arena, d.room, sizeof *d.items);
  if (d.items == NULL) return wo_err_nomem(maker->err);
  compare(maker, &baseline->good, &baseline->bad, &d);
  baseline->differences = d.items;
  baseline->difference_count = d.count;
  return wo_arena_is_exhausted(maker->arena) ? wo_err_nomem(maker->err) : WO_OK;
}
