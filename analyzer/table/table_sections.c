/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a fleet as rows. See table_sections.h. */
#include "analyzer/table/table_sections.h"

#include <assert.h>

/* ---- Totals ---- */

void wo__totals_jobs(struct wo_text *out, const struct wo_fleet *fleet) {
  const struct wo_fleet_totals *const totals = &fleet->totals;
  const int64_t other = totals->sum.jobs - totals->sum.failed - totals->ok - totals->open;
  wo__show_counted(out, totals->sum.jobs, "job", "jobs");
  if (totals->sum.jobs == 0) return;
  wo_text_add(out, ": ");
  wo__show_count(out, totals->sum.failed);
  wo_text_add(out, " failed, ");
  wo__show_count(out, totals->ok);
  wo_text_add(out, " went well");
  if (totals->open > 0) {
    wo_text_add(out, ", ");
    wo__show_count(out, totals->open);
    wo_text_add(out, totals->open == 1 ? " ends without saying how" : " end without saying how");
  }
  if (other > 0) {
    wo_text_add(out, ", ");
    wo__show_count(out, other);
    wo_text_add(out, " ended otherwise");
  }
}

void wo__totals_cost(struct wo_text *out, const struct wo_fleet *fleet) {
  const struct wo_fleet_totals *const totals = &fleet->totals;
  if (totals->sum.failed == 0) return;
  if (totals->sum.lost_unknown == totals->sum.failed) {
    wo_text_add(out, "GPU-hours lost: not known");
  } else {
    wo__show_hours(out, totals->sum.lost_s);
    wo_text_add(out, " GPU-hours lost");
    if (totals->sum.lost_unknown > 0) {
      wo_text_add(out, ", those of ");
      wo__show_counted(out, totals->sum.lost_unknown, "failed job", "failed jobs");
      wo_text_add(out, " not known");
    }
  }
  if (totals->gpu_unknown < totals->sum.jobs) {
    wo_text_add(out, "; ");
    wo__show_hours(out, totals->gpu_s);
    wo_text_add(out, " in all");
  }
}

/* ---- Cells ---- */

static void cell_text(struct wo__grid *grid, struct wo_view text, const char *otherwise) {
  if (text.len == 0) {
    wo_text_add(&grid->cell, "%s", otherwise);
  } else {
    wo_text_add_clean(&grid->cell, text);
  }
  wo__grid_end_cell(grid);
}

static void cell_count(struct wo__grid *grid, int64_t count) {
  wo__show_count(&grid->cell, count);
  wo__grid_end_cell(grid);
}

static void cell_lost(struct wo__grid *grid, const struct wo_fleet_sum *sum) {
  wo__show_lost(&grid->cell, sum);
  wo__grid_end_cell(grid);
}

/* A row of "12 more". */
static void add_rest(struct wo_text *rest, int64_t count, const struct wo_fleet_sum *sum) {
  if (count <= 0) return;
  wo_text_add(rest, "and ");
  wo__show_count(rest, count);
  wo_text_add(rest, " more");
  if (sum == NULL) return;
  wo_text_add(rest, ": ");
  wo__show_counted(rest, sum->failed, "failed job", "failed jobs");
  wo_text_add(rest, ", ");
  wo__show_lost(rest, sum);
  wo_text_add(rest, " GPU-hours");
}

/* ---- Lists by one column ---- */

static const struct wo__grid_column cause_columns[] = {
    {"causes by GPU-hours lost", false}, {"jobs", true}, {"GPU-hours", true}, {"for instance", false}, {0}};
static const struct wo__grid_column fix_columns[] = {
    {"would have saved most", false}, {"jobs", true}, {"GPU-hours", true}, {"for instance", false}, {0}};
static const struct wo__grid_column outcome_columns[] = {
    {"how jobs ended", false}, {"jobs", true}, {"GPU-hours lost", true}, {0}};
#define BY_COLUMNS(heading)                                                                                                      \
  {                                                                                                                              \
    {heading, false}, {"failed", true}, {"of jobs", true}, {"GPU-hours lost", true}, {                                           \
      0                                                                                                                          \
    }                                                                                                                            \
  }
static const struct wo__grid_column user_columns[] = BY_COLUMNS("users");
static const struct wo__grid_column account_columns[] = BY_COLUMNS("accounts");
static const struct wo__grid_column partition_columns[] = BY_COLUMNS("partitions");
static const struct wo__grid_column model_columns[] = BY_COLUMNS("models");
static const struct wo__grid_column card_columns[] = BY_COLUMNS("cards");
static const struct wo__grid_column node_columns[] = {
    {"nodes where a job failed first", false}, {"failed", true}, {"GPU-hours lost", true}, {0}};

static void fill_list(struct wo__grid *grid, const struct wo_fleet *fleet, enum wo_fleet_list_id id, size_t most,
                      struct wo_text *rest) {
  const struct wo_fleet_list *const list = &fleet->lists[id];
  struct wo_fleet_sum sum = list->rest;
  const bool has_jobs = id != WO_FLEET_BY_CAUSE && id != WO_FLEET_BY_FIX && id != WO_FLEET_BY_OUTCOME && id != WO_FLEET_BY_NODE;
  for (size_t i = 0; i < list->count; i++) {
    const struct wo_fleet_entry *const entry = &list->items[i];
    if (i >= most && most > 0) {
      wo_fleet_sum_add(&sum, &entry->sum);
      continue;
    }
    wo__grid_begin_row(grid);
    wo__grid_link(grid, entry->example);
    cell_text(grid, entry->key, "(not known)");
    cell_count(grid, id == WO_FLEET_BY_OUTCOME ? entry->sum.jobs : entry->sum.failed);
    if (has_jobs) cell_count(grid, entry->sum.jobs);
    if (entry->sum.failed > 0) {
      cell_lost(grid, &entry->sum);
    } else {
      cell_text(grid, (struct wo_view){0}, "");
    }
    if (entry->about.len > 0) cell_text(grid, entry->about, "");
  }
  const size_t shown = most > 0 && most < list->count ? most : list->count;
  add_rest(rest, list->others + (int64_t)(list->count - shown), &sum);
}

#define FILL_LIST(name, list)                                                                                                    \
  static void name(struct wo__grid *grid, const struct wo_fleet *fleet, size_t most, struct wo_text *rest) {                     \
    fill_list(grid, fleet, list, most, rest);                                                                                    \
  }
FILL_LIST(fill_outcomes, WO_FLEET_BY_OUTCOME)
FILL_LIST(fill_causes, WO_FLEET_BY_CAUSE)
FILL_LIST(fill_fixes, WO_FLEET_BY_FIX)
FILL_LIST(fill_users, WO_FLEET_BY_USER)
FILL_LIST(fill_accounts, WO_FLEET_BY_ACCOUNT)
FILL_LIST(fill_partitions, WO_FLEET_BY_PARTITION)
FILL_LIST(fill_node_list, WO_FLEET_BY_NODE)
FILL_LIST(fill_models, WO_FLEET_BY_MODEL)
FILL_LIST(fill_cards, WO_FLEET_BY_CARD)

/* ---- Clusters, nodes, repeats, sweeps ---- */

static const struct wo__grid_column cluster_columns[] = {{"the same failure", false},
                                                         {"jobs", true},
                                                         {"users", true},
                                                         {"GPU-hours", true},
                                                         {"where and with which settings", false},
                                                         {0}};

static void fill_clusters(struct wo__grid *grid, const struct wo_fleet *fleet, size_t most, struct wo_text *rest) {
  const size_t shown = most > 0 && most < fleet->cluster_count ? most : fleet->cluster_count;
  for (size_t i = 0; i < shown; i++) {
    const struct wo_fleet_cluster *const cluster = &fleet->clusters[i];
    wo__grid_begin_row(grid);
    wo__grid_link(grid, cluster->example);
    cell_text(grid, cluster->cause, "(not known)");
    cell_count(grid, cluster->sum.jobs);
    cell_count(grid, cluster->users);
    cell_lost(grid, &cluster->sum);
    wo_text_add_clean(&grid->cell, cluster->place);
    if (cluster->place.len > 0 && cluster->settings.len > 0) wo_text_add(&grid->cell, "; ");
    wo__show_settings(&grid->cell, cluster->settings, ", ");
    wo__grid_end_cell(grid);
  }
  add_rest(rest, fleet->clusters_left_out + (int64_t)(fleet->cluster_count - shown), NULL);
}

static const struct wo__grid_column standing_columns[] = {
    {"suspect nodes", false}, {"by", false}, {"jobs that failed of it", false}, {0}};

static void fill_nodes(struct wo__grid *grid, const struct wo_fleet *fleet, size_t most, struct wo_text *rest) {
  const size_t shown = most > 0 && most < fleet->node_count ? most : fleet->node_count;
  for (size_t i = 0; i < shown; i++) {
    const struct wo_fleet_node *const node = &fleet->nodes[i];
    wo__grid_begin_row(grid);
    wo__grid_link(grid, node->example);
    cell_text(grid, node->node, "");
    cell_text(grid, node->words, "");
    wo__show_node(&grid->cell, node);
    wo__grid_end_cell(grid);
  }
  add_rest(rest, (int64_t)(fleet->node_count - shown), NULL);
}

static const struct wo__grid_column repeat_columns[] = {
    {"submitted again unchanged", false}, {"user", false}, {"times", true}, {"GPU-hours again", true}, {"cause", false}, {0}};

static void fill_repeats(struct wo__grid *grid, const struct wo_fleet *fleet, size_t most, struct wo_text *rest) {
  const size_t shown = most > 0 && most < fleet->repeat_count ? most : fleet->repeat_count;
  for (size_t i = 0; i < shown; i++) {
    const struct wo_fleet_repeat *const repeat = &fleet->repeats[i];
    const struct wo_fleet_sum again = {.failed = repeat->again_unknown + (repeat->again_s > 0),
                                       .lost_s = repeat->again_s,
                                       .lost_unknown = repeat->again_unknown};
    wo__grid_begin_row(grid);
    wo__grid_link(grid, repeat->example);
    cell_text(grid, repeat->name, "(no name)");
    cell_text(grid, repeat->user, "");
    cell_count(grid, repeat->submissions);
    cell_lost(grid, &again);
    wo_text_add_clean(&grid->cell, repeat->cause);
    if (repeat->first_ns != WO_ROW_UNKNOWN) {
      wo_text_add(&grid->cell, ", ");
      wo__show_day(&grid->cell, repeat->first_ns);
      wo_text_add(&grid->cell, " to ");
      wo__show_day(&grid->cell, repeat->last_ns);
    }
    wo__grid_end_cell(grid);
  }
  add_rest(rest, fleet->repeats_left_out + (int64_t)(fleet->repeat_count - shown), NULL);
}

static const struct wo__grid_column sweep_columns[] = {
    {"sweeps", false}, {"user", false}, {"GPU-hours", true}, {"a setting divides those that failed from the others", false}, {0}};

static void fill_sweeps(struct wo__grid *grid, const struct wo_fleet *fleet, size_t most, struct wo_text *rest) {
  const size_t shown = most > 0 && most < fleet->sweep_count ? most : fleet->sweep_count;
  for (size_t i = 0; i < shown; i++) {
    const struct wo_fleet_sweep *const sweep = &fleet->sweeps[i];
    wo__grid_begin_row(grid);
    wo__grid_link(grid, sweep->example);
    wo_text_add_clean(&grid->cell, sweep->name.len > 0 ? sweep->name : sweep->folder);
    if (sweep->array_job.len > 0) {
      if (grid->cell.len > 0) wo_text_add(&grid->cell, " ");
      wo_text_add_clean(&grid->cell, sweep->array_job);
    }
    wo__grid_end_cell(grid);
    cell_text(grid, sweep->user, "");
    cell_lost(grid, &sweep->sum);
    if (sweep->split_count > 0) wo__show_split(&grid->cell, &sweep->splits[0]);
    for (size_t s = 1; s < sweep->split_count; s++) {
      if (sweep->splits[s].ln_chance > sweep->splits[0].ln_chance + 1e-6) break;
      wo_text_add(&grid->cell, "; as well: ");
      wo__show_condition(&grid->cell, &sweep->splits[s]);
    }
    wo__grid_end_cell(grid);
  }
  add_rest(rest, fleet->sweeps_left_out + (int64_t)(fleet->sweep_count - shown), NULL);
}

/* ---- Baseline ---- */

static const struct wo__grid_column baseline_columns[] = {
    {"differs from the baseline", false}, {"good run", false}, {"failed run", false}, {0}};

static void fill_baseline(struct wo__grid *grid, const struct wo_fleet *fleet, size_t most, struct wo_text *rest) {
  const struct wo_fleet_baseline *const baseline = &fleet->baseline;
  const size_t shown = most > 0 && most < baseline->difference_count ? most : baseline->difference_count;
  if (!baseline->has_bad) return;
  wo__grid_begin_row(grid);
  cell_text(grid, WO_VIEW("log"), "");
  cell_text(grid, baseline->good.path, "?");
  cell_text(grid, baseline->bad.path, "?");
  for (size_t i = 0; i < shown; i++) {
    wo__grid_begin_row(grid);
    cell_text(grid, baseline->differences[i].name, "");
    cell_text(grid, baseline->differences[i].good, "?");
    cell_text(grid, baseline->differences[i].bad, "?");
  }
  add_rest(rest, (int64_t)(baseline->difference_count - shown), NULL);
}

/* ---- The list ---- */

enum {
  LINKED = WO__SECTION_LINKED,
  WORDS = WO__SECTION_LINKED | WO__SECTION_WORDS,
  WRAPPED = WO__SECTION_LINKED | WO__SECTION_WRAPPED,
  SMALL = WO__SECTION_SMALL
};

const struct wo__section wo__sections[] = {
    {"baseline", "differs from the baseline", "", baseline_columns, fill_baseline, 12, 0},
    {"causes", "causes", "cause", cause_columns, fill_causes, 5, WORDS},
    {"suspects", "suspect nodes", "node", standing_columns, fill_nodes, 3, WRAPPED | WORDS},
    {"repeats", "submitted again unchanged", "job", repeat_columns, fill_repeats, 3, WRAPPED},
    {"sweeps", "sweeps", "sweep", sweep_columns, fill_sweeps, 2, WRAPPED},
    {"fixes", "would have saved most", "fix", fix_columns, fill_fixes, 2, LINKED},
    {"clusters", "the same failure", "cause", cluster_columns, fill_clusters, 0, WORDS},
    {"outcomes", "how jobs ended", "outcome", outcome_columns, fill_outcomes, 0, SMALL},
    {"users", "users", "user", user_columns, fill_users, 0, SMALL | WO__SECTION_WORDS},
    {"accounts", "accounts", "account", account_columns, fill_accounts, 0, SMALL},
    {"partitions", "partitions", "partition", partition_columns, fill_partitions, 0, SMALL},
    {"nodes", "nodes", "failed first", node_columns, fill_node_list, 0, SMALL | WO__SECTION_WORDS},
    {"models", "models", "model", model_columns, fill_models, 0, SMALL},
    {"cards", "cards", "card", card_columns, fill_cards, 0, SMALL},
};
_Static_assert(sizeof wo__sections / sizeof *wo__sections == WO__SECTION_COUNT, "the count in the header");
