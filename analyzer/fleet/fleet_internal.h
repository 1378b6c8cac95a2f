/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the room: one question to the store for each list, and small readers of answers. */
#ifndef WO_FLEET_INTERNAL_H
#define WO_FLEET_INTERNAL_H

#include "analyzer/fleet/fleet.h"
#include "parsers/base/text.h"

/* Groups of jobs that may be sweeps: those of an array and user, else of a user, name and folder. A group is a bit by its hash,
 * so that two groups may share one. */
struct wo__groups {
  uint8_t *failed, *good; /* bits of groups that have such a job */
  bool has_mixed;         /* one of them has both */
};
bool wo__groups_init(struct wo__groups *groups);
void wo__groups_done(struct wo__groups *groups);

/* A job by its array, user, name and path. */
void wo__groups_add(struct wo__groups *groups, const struct wo_view job[WO_STORE_TEST_TEXTS], bool is_failed);

/* Whether jobs of its group failed and others did not, as far as their bits say. `context` is a struct wo__groups. */
bool wo__groups_is_mixed(void *context, const struct wo_view job[WO_STORE_TEST_TEXTS]);

/* One fleet that is being made. */
struct wo__fleet_maker {
  struct wo_store *store;
  const struct wo_fleet_options *options;
  struct wo_arena *arena;
  struct wo_fleet *fleet;
  struct wo__groups groups; /* filled with the totals */
  struct wo_err *err;
};

/* Asks the store. In the statement @where stands for the filter, and @key for a column. WO_E_NOMEM when the arena is exhausted
 * after the answer, too. */
enum wo_status wo__ask(struct wo__fleet_maker *maker, const char *sql, const char *key, wo_store_answer_fn fn, void *context);
enum wo_status wo__ask_with(struct wo__fleet_maker *maker, const char *sql, const char *key, const struct wo_view *texts,
                            size_t text_count, wo_store_answer_fn fn, void *context);

/* Sums over a group of rows, as columns of an answer: jobs, failed, lost, unknown; and their value. */
#define WO__SQL_SUM                                                                                                              \
  "count(*) AS jobs, coalesce(sum(is_failed = 1), 0) AS failed, coalesce(sum(CASE WHEN is_failed = 1 THEN gpu_s END), 0) AS "    \
  "lost, "                                                                                                                       \
  "coalesce(sum(is_failed = 1 AND gpu_s IS NULL), 0) AS unknown"
struct wo_fleet_sum wo__sum_of(const struct wo_store_value *values);

/* A number of an answer, or `otherwise` for NULL; a text, in the arena. */
int64_t wo__number_of(const struct wo_store_value *value, int64_t otherwise);
struct wo_view wo__text_of(struct wo__fleet_maker *maker, const struct wo_store_value *value);

/* A text as a constant in SQL. */
void wo__add_constant(struct wo_text *out, struct wo_view text);

/* The next setting of a column `settings`, cut off *rest. False at the end. */
bool wo__next_setting(struct wo_view *rest, struct wo_view *ret_knob, struct wo_view *ret_value);

/* The part of a list of nodes, cut off *rest at a comma outside of brackets. False at the end. */
bool wo__next_node(struct wo_view *rest, struct wo_view *ret_node);

/* ---- Tallies: sums over all jobs by keys, in the table `tally` after wo__make_totals ---- */

/* Numbers of the lists in that table: of days (key: days since 1970), of nodes (key: those of a job, detail: the one that failed
 * first), and WO__TALLY_LISTS + those of enum wo_fleet_list_id that are tallied (key: the column). Empty is unknown. */
enum { WO__TALLY_DAYS, WO__TALLY_NODES, WO__TALLY_LISTS };
#define WO__DAY_NS (INT64_C(86400) * 1000000000)

/* Whether a list says something about jobs that did not fail. The others are asked of the failed jobs alone. */
bool wo__list_is_tallied(enum wo_fleet_list_id list);

/* The sums of tallies, as WO__SQL_SUM are those of jobs. */
#define WO__SQL_TALLY_SUM "sum(jobs) AS jobs, sum(failed) AS failed, sum(lost) AS lost, sum(unknown) AS unknown"

/* ---- Lists ---- */
enum wo_status wo__make_totals(struct wo__fleet_maker *maker);
enum wo_status wo__make_list(struct wo__fleet_maker *maker, enum wo_fleet_list_id list);
enum wo_status wo__make_clusters(struct wo__fleet_maker *maker);
enum wo_status wo__make_nodes(struct wo__fleet_maker *maker);
enum wo_status wo__make_repeats(struct wo__fleet_maker *maker);
enum wo_status wo__make_sweeps(struct wo__fleet_maker *maker);
enum wo_status wo__make_days(struct wo__fleet_maker *maker);
enum wo_status wo__make_baseline(struct wo__fleet_maker *maker);
enum wo_status wo__make_gaps(struct wo__fleet_maker *maker);

#endif
