/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over all jobs: totals, and tallies for the questions that follow. See fleet_internal.h.
 *
 * Most lists are about failed jobs, which the store has an index of. What is said about all jobs (how many a user had in all)
 * would take one sorting of them for each list; here each job is read once and added to its tally in each list. Tallies are
 * handed to the store when there are too many of them, so that memory is bounded whatever users call their models. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/fleet/fleet_internal.h"
#include "parsers/base/limits.h"

enum {
  TALLY_COUNT = WO__TALLY_LISTS + WO_FLEET_LIST_COUNT_,
  MOST_TALLIES = (int)WO_LIMIT_FLEET_TALLIES,
  SLOTS = 2 * MOST_TALLIES
};

struct pass {
  struct wo__fleet_maker *maker;
  struct wo_store_tally *tallies;
  size_t count;
  uint16_t *slots;                          /* index + 1 in tallies, by hash; 0: free */
  struct wo_store_tally *last[TALLY_COUNT]; /* of each list, since neighbours are often alike; or NULL */
  struct wo_arena texts;                    /* of the tallies */
  int64_t last_day;
  char day[24]; /* its number as a text */
  enum wo_status status;
};

/* Columns of the question; then those of the lists. */
enum { PATH, IS_FAILED, GPU_S, END_NS, UNREAD, FILES, BYTES, NODES, NODE, ARRAY_JOB, NAME, LISTS };

/* ---- Tallies ---- */

/* Sums of hostile stores stay at the largest number. */
static void add(int64_t *sum, int64_t more) {
  if (__builtin_add_overflow(*sum, more, sum)) *sum = INT64_MAX;
}

/* Hands all tallies to the store, and forgets them. */
static void flush(struct pass *p) {
  for (size_t i = 0; i < p->count && p->status == WO_OK; i++)
    p->status = wo_store_put_tally(p->maker->store, &p->tallies[i], p->maker->err);
  p->count = 0;
  memset(p->slots, 0, SLOTS * sizeof *p->slots);
  memset(p->last, 0, sizeof p->last);
  wo_arena_done(&p->texts);
  wo_arena_init(&p->texts, WO_LIMIT_FLEET_BYTES);
}

static bool is_of(const struct wo_store_tally *tally, int list, struct wo_view key, struct wo_view detail) {
  return tally->list == list && wo_view_equal(tally->key, key) && wo_view_equal(tally->detail, detail);
}

/* The slot of a tally, or the free one for it. */
static uint16_t *slot_of(struct pass *p, int list, struct wo_view key, struct wo_view detail) {
  const uint64_t hash = wo_view_hash(wo_view_hash(WO_HASH_START + (uint64_t)list, key), detail);
  size_t at = (hash ^ (hash >> 32)) % SLOTS;
  while (p->slots[at] != 0 && !is_of(&p->tallies[p->slots[at] - 1], list, key, detail)) at = (at + 1) % SLOTS;
  return &p->slots[at];
}

static struct wo_store_tally *find_tally(struct pass *p, int list, struct wo_view key, struct wo_view detail) {
  struct wo_store_tally *tally = p->last[list];
  if (tally != NULL && is_of(tally, list, key, detail)) return tally;
  uint16_t *slot = slot_of(p, list, key, detail);
  if (*slot == 0 && p->count == MOST_TALLIES) {
    flush(p);
    slot = slot_of(p, list, key, detail);
  }
  if (*slot == 0) {
    p->tallies[p->count++] =
        (struct wo_store_tally){.list = list, .key = wo_arena_copy(&p->texts, key), .detail = wo_arena_copy(&p->texts, detail)};
    *slot = (uint16_t)p->count;
  }
  tally = &p->tallies[*slot - 1];
  p->last[list] = tally;
  return tally;
}

/* A job as tallies see it. */
struct job {
  struct wo_view path;
  bool is_failed;
  const struct wo_store_value *gpu_s;
};

/* The example is the first failed job; among outcomes, any job. */
static void add_job(struct pass *p, int list, struct wo_view key, struct wo_view detail, const struct job *job) {
  struct wo_store_tally *const tally = find_tally(p, list, key, detail);
  tally->jobs++;
  if (job->is_failed) {
    tally->failed++;
    add(&tally->lost_s, wo__number_of(job->gpu_s, 0));
    tally->lost_unknown += job->gpu_s->type == WO_STORE_NULL;
  }
  const bool has_example = job->is_failed || list == WO__TALLY_LISTS + WO_FLEET_BY_OUTCOME;
  if (has_example && (tally->example.len == 0 || wo_view_compare(job->path, tally->example) < 0))
    tally->example = wo_arena_copy(&p->texts, job->path);
}

/* ---- Jobs ---- */

static struct wo_view text_of(const struct wo_store_value *value) {
  return value->type == WO_STORE_TEXT ? value->text : (struct wo_view){0};
}

static void add_totals(struct wo_fleet_totals *totals, const struct wo_store_value *values, const struct job *job) {
  const struct wo_view outcome = text_of(&values[LISTS + WO_FLEET_BY_OUTCOME]);
  const bool is_known = values[GPU_S].type != WO_STORE_NULL;
  const int64_t gpu_s = wo__number_of(&values[GPU_S], 0), end_ns = wo__number_of(&values[END_NS], WO_ROW_UNKNOWN);
  totals->sum.jobs++;
  totals->sum.failed += job->is_failed;
  if (job->is_failed) add(&totals->sum.lost_s, gpu_s);
  totals->sum.lost_unknown += job->is_failed && !is_known;
  totals->ok += !job->is_failed && wo_view_is(outcome, "success");
  totals->open += !job->is_failed && (outcome.len == 0 || wo_view_is(outcome, "unknown"));
  totals->unread += wo__number_of(&values[UNREAD], 0) > 0;
  add(&totals->gpu_s, gpu_s);
  totals->gpu_unknown += !is_known;
  add(&totals->files, wo__number_of(&values[FILES], 0));
  add(&totals->bytes, wo__number_of(&values[BYTES], 0));
  if (end_ns == WO_ROW_UNKNOWN) return;
  if (totals->first_ns == WO_ROW_UNKNOWN || end_ns < totals->first_ns) totals->first_ns = end_ns;
  if (totals->last_ns == WO_ROW_UNKNOWN || end_ns > totals->last_ns) totals->last_ns = end_ns;
}

/* Days, because how many of them a span has is known at the end. */
static void add_day(struct pass *p, const struct wo_store_value *end_ns, const struct job *job) {
  if (end_ns->type == WO_STORE_NULL) {
    add_job(p, WO__TALLY_DAYS, (struct wo_view){0}, (struct wo_view){0}, job);
    return;
  }
  const int64_t day = wo__number_of(end_ns, 0) / WO__DAY_NS;
  if (day != p->last_day || p->day[0] == '\0') snprintf(p->day, sizeof p->day, "%lld", (long long)day);
  p->last_day = day;
  add_job(p, WO__TALLY_DAYS, wo_view_of(p->day), (struct wo_view){0}, job);
}

static bool take_job(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == LISTS + WO_FLEET_LIST_COUNT_);
  (void)count;
  struct pass *const p = context;
  const struct job job = {
      .path = text_of(&values[PATH]), .is_failed = wo__number_of(&values[IS_FAILED], 0) == 1, .gpu_s = &values[GPU_S]};
  add_totals(&p->maker->fleet->totals, values, &job);
  add_day(p, &values[END_NS], &job);
  add_job(p, WO__TALLY_NODES, text_of(&values[NODES]), text_of(&values[NODE]), &job);
  for (int list = 0; list < WO_FLEET_LIST_COUNT_; list++) {
    if (wo__list_is_tallied((enum wo_fleet_list_id)list))
      add_job(p, WO__TALLY_LISTS + list, text_of(&values[LISTS + list]), (struct wo_view){0}, &job);
  }
  const struct wo_view group[] = {text_of(&values[ARRAY_JOB]), text_of(&values[LISTS + WO_FLEET_BY_USER]), text_of(&values[NAME]),
                                  job.path};
  wo__groups_add(&p->maker->groups, group, job.is_failed);
  if (wo_arena_is_exhausted(&p->texts)) return false;
  if (p->texts.used_bytes > WO_LIMIT_FLEET_TALLY_BYTES) flush(p);
  return p->status == WO_OK;
}

/* ---- The pass ---- */

static enum wo_status read_jobs(struct pass *p) {
  struct wo_text sql = {0};
  wo_text_add(&sql, "SELECT path, is_failed, gpu_s, end_ns, unread, files, bytes, nodes, node, array_job, name");
  for (int list = 0; list < WO_FLEET_LIST_COUNT_; list++) {
    const bool is_tallied = wo__list_is_tallied((enum wo_fleet_list_id)list);
    wo_text_add(&sql, ", %s", is_tallied ? wo_fleet_list_column((enum wo_fleet_list_id)list) : "NULL");
  }
  wo_text_add(&sql, " FROM job WHERE @where%c", '\0');
  enum wo_status status = sql.is_failed ? wo_err_nomem(p->maker->err) : wo__ask(p->maker, sql.ptr, NULL, take_job, p);
  wo_text_done(&sql);
  if (status == WO_OK) status = p->status;
  if (status == WO_OK && wo_arena_is_exhausted(&p->texts)) status = wo_err_nomem(p->maker->err);
  if (status == WO_OK) flush(p);
  return status == WO_OK ? p->status : status;
}

static bool take_users(void *context, const struct wo_store_value *values, size_t count) {
  (void)count;
  *(int64_t *)context = wo__number_of(&values[0], 0);
  return false;
}

enum wo_status wo__make_totals(struct wo__fleet_maker *maker) {
  struct pass p = {.maker = maker, .tallies = calloc(MOST_TALLIES, sizeof *p.tallies), .slots = calloc(SLOTS, sizeof *p.slots)};
  struct wo_fleet_totals *const totals = &maker->fleet->totals;
  totals->first_ns = totals->last_ns = WO_ROW_UNKNOWN;
  wo_arena_init(&p.texts, WO_LIMIT_FLEET_BYTES);
  const bool has_memory = p.tallies && p.slots && wo__groups_init(&maker->groups);
  enum wo_status status = has_memory ? wo_store_begin_tallies(maker->store, maker->err) : wo_err_nomem(maker->err);
  if (status == WO_OK) {
    status = read_jobs(&p);
    const enum wo_status ended = wo_store_end_tallies(maker->store, status == WO_OK ? maker->err : NULL);
    if (status == WO_OK) status = ended;
  }
  wo_arena_done(&p.texts);
  free(p.tallies);
  free(p.slots);
  if (status != WO_OK) return status;
  const struct wo_view users = wo_arena_format(maker->arena, "%d", WO__TALLY_LISTS + WO_FLEET_BY_USER);
  if (users.len == 0) return wo_err_nomem(maker->err);
  return wo__ask(maker, "SELECT count(DISTINCT key) FROM temp.tally WHERE list = @key AND key <> ''", users.ptr, take_users,
                 &totals->users);
}
