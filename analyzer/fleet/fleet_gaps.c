/* SPDX-License-Identifier: Apache-2.0 */
/* What a store does not have: shards of scans, and files that could not be read. See fleet.h. */
#include <assert.h>

#include "analyzer/fleet/fleet_internal.h"

struct gaps {
  struct wo__fleet_maker *maker;
  struct wo_store_shards *shards;
  struct wo_fleet_problem *problems;
};

static bool take_shards(void *context, const struct wo_store_shards *shards) {
  struct gaps *const c = context;
  struct wo_fleet *const fleet = c->maker->fleet;
  if (fleet->shard_count == fleet->rows) {
    fleet->shards_left_out++;
    return true;
  }
  struct wo_store_shards *const kept = &c->shards[fleet->shard_count++];
  *kept = *shards;
  kept->roots = wo_arena_copy(c->maker->arena, shards->roots);
  return true;
}

/* Columns: path, message, problems in all. */
static bool take_problem(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 3);
  (void)count;
  struct gaps *const c = context;
  struct wo_fleet *const fleet = c->maker->fleet;
  c->problems[fleet->problem_count++] =
      (struct wo_fleet_problem){.path = wo__text_of(c->maker, &values[0]), .message = wo__text_of(c->maker, &values[1])};
  fleet->problems_left_out = wo__number_of(&values[2], 0) - (int64_t)fleet->problem_count;
  return fleet->problem_count < fleet->rows;
}

enum wo_status wo__make_gaps(struct wo__fleet_maker *maker) {
  struct wo_fleet *const fleet = maker->fleet;
  struct gaps c = {.maker = maker,
                   .shards = wo_arena_array(maker->arena, fleet->rows, sizeof *c.shards),
                   .problems = wo_arena_array(maker->arena, fleet->rows, sizeof *c.problems)};
  if (c.shards == NULL || c.problems == NULL) return wo_err_nomem(maker->err);
  fleet->shards = c.shards;
  fleet->problems = c.problems;
  const enum wo_status status = wo_store_check_shards(maker->store, take_shards, &c, maker->err);
  if (status != WO_OK) return status;
  return wo__ask(maker, "SELECT path, message, count(*) OVER () FROM problem ORDER BY path", NULL, take_problem, &c);
}
