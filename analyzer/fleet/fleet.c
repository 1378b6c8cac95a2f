/* SPDX-License-Identifier: Apache-2.0 */
/* A store to a fleet: one pass over all jobs, then a question for each list. See fleet.h. */
#include "analyzer/fleet/fleet.h"

#include "analyzer/fleet/fleet_internal.h"
#include "parsers/base/limits.h"

enum { ROWS = 10 };

static enum wo_status make_where(struct wo__fleet_maker *maker) {
  struct wo_text where = {0};
  wo_fleet_add_where(&where, &maker->options->filter);
  if (!where.is_failed) maker->fleet->where = wo_arena_copy(maker->arena, (struct wo_view){where.ptr, where.len});
  wo_text_done(&where);
  return maker->fleet->where.len > 0 ? WO_OK : wo_err_nomem(maker->err);
}

static enum wo_status make_all(struct wo__fleet_maker *maker) {
  static enum wo_status (*const stages[])(struct wo__fleet_maker *) = {make_where,     wo__make_totals,   wo__make_clusters,
                                                                       wo__make_nodes, wo__make_repeats,  wo__make_sweeps,
                                                                       wo__make_days,  wo__make_baseline, wo__make_gaps};
  const size_t count = maker->options->only_totals ? 2 : sizeof stages / sizeof *stages;
  for (size_t i = 0; i < count; i++) {
    const enum wo_status status = stages[i](maker);
    if (status != WO_OK) return status;
  }
  for (enum wo_fleet_list_id list = 0; list < WO_FLEET_LIST_COUNT_ && !maker->options->only_totals; list++) {
    const enum wo_status status = wo__make_list(maker, list);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

enum wo_status wo_fleet_make(struct wo_store *store, const struct wo_fleet_options *options, struct wo_arena *arena,
                             struct wo_fleet *ret_fleet, struct wo_err *err) {
  struct wo_fleet fleet = {0};
  struct wo__fleet_maker maker = {.store = store, .options = options, .arena = arena, .fleet = &fleet, .err = err};
  fleet.rows = options->rows == 0 ? ROWS : options->rows < WO_LIMIT_FLEET_ROWS ? options->rows : WO_LIMIT_FLEET_ROWS;
  const enum wo_status status = make_all(&maker);
  wo__groups_done(&maker.groups);
  if (status != WO_OK) return status;
  if (wo_arena_is_exhausted(arena)) return wo_err_nomem(err);
  *ret_fleet = fleet;
  return WO_OK;
}
