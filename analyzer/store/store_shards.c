/* SPDX-License-Identifier: Apache-2.0 */
/* Which shards of shared scans are missing, stopped, came twice or are behind. */
#include <stdlib.h>

#include "analyzer/store/store_internal.h"
#include "parsers/base/text.h"
#include "parsers/base/vec.h"

/* One row for each shard that came, by folders, number of shards and shard: when its last scan began, when its last one that
 * ended did, how many ended, and how many stores scanned it since each other shard's last scan. Without divisions of the same
 * folders after which another one, or a scan by one process, came to its end with all its shards. */
static const char came[] =
    "WITH last AS (SELECT roots, shard_count, shard, max(start_ns) AS started, max(CASE WHEN end_ns IS NOT NULL THEN start_ns "
    "END)"
    "   AS ended, sum(end_ns IS NOT NULL) AS times FROM scan WHERE shard < shard_count GROUP BY roots, shard_count, shard),"
    " division AS (SELECT roots, shard_count, min(started) AS first_started, max(started) AS last_started, min(ended) AS "
    "first_ended,"
    "   count(ended) = shard_count AS is_whole FROM last GROUP BY roots, shard_count)"
    " SELECT l.roots, l.shard_count, l.shard, l.started, l.ended, l.times,"
    "  (SELECT count(DISTINCT s.origin) FROM scan s WHERE s.roots = l.roots AND s.shard_count = l.shard_count AND s.shard = "
    "l.shard"
    "   AND s.end_ns IS NOT NULL AND s.start_ns >= d.first_started)"
    " FROM last l JOIN division d ON d.roots = l.roots AND d.shard_count = l.shard_count"
    " WHERE NOT EXISTS (SELECT 1 FROM division o WHERE o.roots = d.roots AND o.shard_count <> d.shard_count AND o.is_whole"
    "  AND o.first_ended > d.last_started) ORDER BY l.roots, l.shard_count, l.shard";

struct shard {
  uint32_t number;
  int64_t started_ns, ended_ns; /* WO_ROW_UNKNOWN: none did */
  int64_t times, stores;
};

/* The shards of one division, while rows are read. */
struct division {
  char *roots;
  size_t roots_len;
  int64_t shard_count;
  WO_VEC(struct shard) shards;
  wo_store_shards_fn fn;
  void *context;
  bool is_out_of_memory, is_over;
};

static void report(struct division *division, int64_t first, int64_t last, enum wo_store_shard_state state, int64_t start_ns) {
  if (first > last || division->is_over) return;
  const struct wo_store_shards shards = {
      .roots = {division->roots, division->roots_len},
      .first = (uint32_t)first,
      .last = (uint32_t)last,
      .shard_count = (uint32_t)division->shard_count,
      .state = state,
      .start_ns = start_ns,
  };
  division->is_over = !division->fn(division->context, &shards);
}

/* ---- Which are behind ---- */

static int compare_numbers(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* The value that more than half of the shards exceed, if they exceed any below it: the lower middle one. */
static int64_t find_middle(int64_t *values, size_t count) {
  qsort(values, count, sizeof *values, compare_numbers);
  return values[(count - 1) / 2];
}

/* A shard is behind where both its number of scans and the time of its last one are below those of most others. */
static bool find_middles(struct division *division, int64_t *ret_times, int64_t *ret_ended_ns) {
  const size_t count = division->shards.count;
  int64_t *const values = calloc(count, sizeof *values);
  if (!values) return false;
  for (size_t i = 0; i < count; i++) values[i] = division->shards.items[i].times;
  *ret_times = find_middle(values, count);
  for (size_t i = 0; i < count; i++) values[i] = division->shards.items[i].ended_ns;
  *ret_ended_ns = find_middle(values, count);
  free(values);
  return true;
}

/* ---- All shards of a division ---- */

static void judge(struct division *division, const struct shard *shard, int64_t middle_times, int64_t middle_ended_ns) {
  if (shard->ended_ns == WO_ROW_UNKNOWN || shard->started_ns > shard->ended_ns) {
    report(division, shard->number, shard->number, WO_STORE_SHARD_STOPPED, shard->started_ns);
  } else if (shard->times < middle_times && shard->ended_ns < middle_ended_ns) {
    report(division, shard->number, shard->number, WO_STORE_SHARD_BEHIND, shard->started_ns);
  }
  if (shard->stores > 1) report(division, shard->number, shard->number, WO_STORE_SHARD_TWICE, shard->started_ns);
}

static void end_division(struct division *division) {
  int64_t next = 0, middle_times = 0, middle_ended_ns = 0;
  if (division->shards.count > 0 && !find_middles(division, &middle_times, &middle_ended_ns)) division->is_out_of_memory = true;
  for (size_t i = 0; i < division->shards.count && !division->is_out_of_memory; i++) {
    const struct shard *const shard = &division->shards.items[i];
    report(division, next, (int64_t)shard->number - 1, WO_STORE_SHARD_MISSING, WO_ROW_UNKNOWN);
    judge(division, shard, middle_times, middle_ended_ns);
    next = (int64_t)shard->number + 1;
  }
  if (division->shards.count > 0) report(division, next, division->shard_count - 1, WO_STORE_SHARD_MISSING, WO_ROW_UNKNOWN);
  division->shards.count = 0;
}

static bool begin_division(struct division *division, struct wo_view roots, int64_t shard_count) {
  char *const copy = malloc(roots.len + 1);
  if (!copy) return false;
  wo_view_copy(roots, copy, roots.len + 1);
  free(division->roots);
  division->roots = copy;
  division->roots_len = roots.len;
  division->shard_count = shard_count;
  return true;
}

static bool add_row(void *context, const struct wo_store_value *values, size_t count) {
  struct division *const division = context;
  (void)count;
  const struct wo_view roots = values[0].text;
  const int64_t shard_count = values[1].number, number = values[2].number;
  if (shard_count < 1 || shard_count > UINT32_MAX || number < 0) return true; /* of a store that was changed by hand */
  const bool is_next = !division->roots || division->shard_count != shard_count ||
                       !wo_view_equal(roots, (struct wo_view){division->roots, division->roots_len});
  if (is_next) end_division(division);
  if (is_next && !begin_division(division, roots, shard_count)) division->is_out_of_memory = true;
  if (division->is_out_of_memory || division->is_over) return false;
  if (!WO_VEC_RESERVE(&division->shards, 1, (size_t)UINT32_MAX)) {
    division->is_out_of_memory = true;
    return false;
  }
  division->shards.items[division->shards.count++] = (struct shard){
      .number = (uint32_t)number,
      .started_ns = values[3].type == WO_STORE_NULL ? WO_ROW_UNKNOWN : values[3].number,
      .ended_ns = values[4].type == WO_STORE_NULL ? WO_ROW_UNKNOWN : values[4].number,
      .times = values[5].number,
      .stores = values[6].number,
  };
  return true;
}

enum wo_status wo_store_check_shards(struct wo_store *store, wo_store_shards_fn fn, void *context, struct wo_err *err) {
  struct division division = {.fn = fn, .context = context};
  enum wo_status status = wo_store_ask(store, came, NULL, 0, add_row, &division, err);
  if (status == WO_OK && !division.is_out_of_memory) end_division(&division);
  if (division.is_out_of_memory) status = wo_err_nomem(err);
  WO_VEC_DONE(&division.shards);
  free(division.roots);
  return status;
}
