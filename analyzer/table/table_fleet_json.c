/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet as one line of JSON: docs/schema/fleet-1.schema.json. See table_internal.h.
 *
 * Members are written in the order of fleet.h. Sums of hours that are not known at all are null. */
#include <math.h>

#include "analyzer/table/table_internal.h"

/* Each of these writes a comma unless the object or array has just begun. */
static void comma(struct wo_text *out) {
  const char last = out->len > 0 ? out->ptr[out->len - 1] : '{';
  if (last != '{' && last != '[' && last != ':') wo_text_add(out, ",");
}

static void key(struct wo_text *out, const char *name) {
  comma(out);
  wo_text_add(out, "\"%s\":", name);
}

static void put_number(struct wo_text *out, const char *name, int64_t number) {
  key(out, name);
  wo__json_number(out, number);
}

static void put_text(struct wo_text *out, const char *name, struct wo_view text) {
  key(out, name);
  wo__json_string_or_null(out, text);
}

static void put_chance(struct wo_text *out, double ln_chance) {
  key(out, "log10_chance");
  wo_text_add(out, "%.3f", isfinite(ln_chance) ? ln_chance / log(10.0) : -999.0);
}

static void open_list(struct wo_text *out, const char *name) {
  key(out, name);
  wo_text_add(out, "[");
}

static void open_item(struct wo_text *out) {
  comma(out);
  wo_text_add(out, "{");
}

/* "jobs", "failed", "lost_gpu_s", "lost_unknown_jobs". */
static void put_sum(struct wo_text *out, const struct wo_fleet_sum *sum) {
  put_number(out, "jobs", sum->jobs);
  put_number(out, "failed", sum->failed);
  put_number(out, "lost_gpu_s", sum->failed > 0 && sum->failed == sum->lost_unknown ? WO_ROW_UNKNOWN : sum->lost_s);
  put_number(out, "lost_unknown_jobs", sum->lost_unknown);
}

static void put_totals(struct wo_text *out, const struct wo_fleet_totals *totals) {
  key(out, "totals");
  wo_text_add(out, "{");
  put_sum(out, &totals->sum);
  put_number(out, "ok", totals->ok);
  put_number(out, "open", totals->open);
  put_number(out, "unread", totals->unread);
  put_number(out, "gpu_s", totals->sum.jobs > 0 && totals->gpu_unknown == totals->sum.jobs ? WO_ROW_UNKNOWN : totals->gpu_s);
  put_number(out, "gpu_unknown_jobs", totals->gpu_unknown);
  put_number(out, "users", totals->users);
  put_number(out, "files", totals->files);
  put_number(out, "bytes", totals->bytes);
  put_number(out, "first_ns", totals->first_ns);
  put_number(out, "last_ns", totals->last_ns);
  wo_text_add(out, "}");
}

static void put_lists(struct wo_text *out, const struct wo_fleet *fleet) {
  key(out, "by");
  wo_text_add(out, "{");
  for (enum wo_fleet_list_id id = 0; id < WO_FLEET_LIST_COUNT_; id++) {
    const struct wo_fleet_list *const list = &fleet->lists[id];
    key(out, wo_fleet_list_column(id));
    wo_text_add(out, "{");
    open_list(out, "items");
    for (size_t i = 0; i < list->count; i++) {
      open_item(out);
      put_text(out, "key", list->items[i].key);
      put_text(out, "about", list->items[i].about);
      put_text(out, "example", list->items[i].example);
      put_sum(out, &list->items[i].sum);
      wo_text_add(out, "}");
    }
    wo_text_add(out, "]");
    put_number(out, "others", list->others);
    key(out, "rest");
    wo_text_add(out, "{");
    put_sum(out, &list->rest);
    wo_text_add(out, "}}");
  }
  wo_text_add(out, "}");
}

static void put_clusters(struct wo_text *out, const struct wo_fleet *fleet) {
  open_list(out, "clusters");
  for (size_t i = 0; i < fleet->cluster_count; i++) {
    const struct wo_fleet_cluster *const cluster = &fleet->clusters[i];
    open_item(out);
    put_text(out, "cause", cluster->cause);
    put_text(out, "place", cluster->place);
    key(out, "settings");
    wo__json_settings(out, cluster->settings);
    put_text(out, "title", cluster->title);
    put_text(out, "example", cluster->example);
    put_number(out, "users", cluster->users);
    put_sum(out, &cluster->sum);
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]");
  put_number(out, "clusters_left_out", fleet->clusters_left_out);
}

static void put_nodes(struct wo_text *out, const struct wo_fleet *fleet) {
  open_list(out, "nodes");
  for (size_t i = 0; i < fleet->node_count; i++) {
    const struct wo_fleet_node *const node = &fleet->nodes[i];
    open_item(out);
    put_text(out, "node", node->node);
    put_text(out, "kind", node->kind);
    put_number(out, "failed", node->failed);
    put_number(out, "jobs", node->jobs);
    key(out, "expected");
    wo_text_add(out, "%.3f", node->expected);
    put_chance(out, node->ln_chance);
    put_number(out, "users", node->users);
    put_text(out, "example", node->example);
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]");
  put_number(out, "nodes_seen", fleet->nodes_seen);
  put_number(out, "nodes_left_out", fleet->nodes_left_out);
  put_number(out, "unplaced", fleet->unplaced);
}

static void put_repeats(struct wo_text *out, const struct wo_fleet *fleet) {
  open_list(out, "repeats");
  for (size_t i = 0; i < fleet->repeat_count; i++) {
    const struct wo_fleet_repeat *const repeat = &fleet->repeats[i];
    open_item(out);
    put_text(out, "user", repeat->user);
    put_text(out, "name", repeat->name);
    put_text(out, "cause", repeat->cause);
    put_text(out, "title", repeat->title);
    put_text(out, "work", repeat->work);
    put_number(out, "submissions", repeat->submissions);
    put_number(out, "again_gpu_s", repeat->again_s == 0 && repeat->again_unknown > 0 ? WO_ROW_UNKNOWN : repeat->again_s);
    put_number(out, "again_unknown_jobs", repeat->again_unknown);
    put_number(out, "ok", repeat->ok);
    put_number(out, "first_ns", repeat->first_ns);
    put_number(out, "last_ns", repeat->last_ns);
    put_text(out, "example", repeat->example);
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]");
  put_number(out, "repeats_left_out", fleet->repeats_left_out);
  put_number(out, "again_gpu_s", fleet->again_s);
  put_number(out, "again_unknown_jobs", fleet->again_unknown);
}

static void put_split(struct wo_text *out, const struct wo_fleet_split *split) {
  static const char *const relations[] = {
      [WO_FLEET_AT_LEAST] = ">=", [WO_FLEET_AT_MOST] = "<=", [WO_FLEET_EQUAL] = "=", [WO_FLEET_OTHER_THAN] = "!="};
  open_item(out);
  put_text(out, "knob", split->knob);
  put_text(out, "relation", wo_view_of(relations[split->relation]));
  put_text(out, "value", split->value);
  put_number(out, "failed", split->failed);
  put_number(out, "jobs", split->jobs);
  put_number(out, "other_failed", split->other_failed);
  put_number(out, "other_jobs", split->other_jobs);
  put_chance(out, split->ln_chance);
  wo_text_add(out, "}");
}

static void put_knob(struct wo_text *out, const struct wo_fleet_knob *knob) {
  open_item(out);
  put_text(out, "knob", knob->knob);
  open_list(out, "values");
  for (size_t i = 0; i < knob->value_count; i++) {
    open_item(out);
    put_text(out, "value", knob->values[i].text);
    put_number(out, "failed", knob->values[i].failed);
    put_number(out, "jobs", knob->values[i].jobs);
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]}");
}

static void put_sweeps(struct wo_text *out, const struct wo_fleet *fleet) {
  open_list(out, "sweeps");
  for (size_t i = 0; i < fleet->sweep_count; i++) {
    const struct wo_fleet_sweep *const sweep = &fleet->sweeps[i];
    open_item(out);
    put_text(out, "array_job", sweep->array_job);
    put_text(out, "user", sweep->user);
    put_text(out, "name", sweep->name);
    put_text(out, "folder", sweep->folder);
    put_text(out, "example", sweep->example);
    put_sum(out, &sweep->sum);
    put_number(out, "left_out", sweep->left_out);
    open_list(out, "splits");
    for (size_t s = 0; s < sweep->split_count; s++) put_split(out, &sweep->splits[s]);
    wo_text_add(out, "]");
    open_list(out, "knobs");
    for (size_t k = 0; k < sweep->knob_count; k++) put_knob(out, &sweep->knobs[k]);
    wo_text_add(out, "]");
    put_number(out, "knobs_left_out", (int64_t)sweep->knobs_left_out);
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]");
  put_number(out, "sweeps_left_out", fleet->sweeps_left_out);
  put_number(out, "sweeps_undivided", fleet->sweeps_undivided);
  put_number(out, "sweeps_not_compared", fleet->sweeps_not_compared);
}

static void put_days(struct wo_text *out, const struct wo_fleet *fleet) {
  open_list(out, "days");
  for (size_t i = 0; i < fleet->day_count; i++) {
    open_item(out);
    put_number(out, "start_ns", fleet->days[i].start_ns);
    put_sum(out, &fleet->days[i].sum);
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]");
  put_number(out, "day_span", fleet->day_span);
  put_number(out, "undated", fleet->undated);
}

static void put_baseline(struct wo_text *out, const struct wo_fleet_baseline *baseline) {
  key(out, "baseline");
  if (!baseline->is_wanted) {
    wo_text_add(out, "null");
    return;
  }
  wo_text_add(out, "{");
  put_text(out, "good", baseline->good.path);
  put_text(out, "bad", baseline->bad.path);
  open_list(out, "differences");
  for (size_t i = 0; i < baseline->difference_count; i++) {
    const struct wo_fleet_difference *const difference = &baseline->differences[i];
    open_item(out);
    put_text(out, "name", difference->name);
    put_text(out, "kind", wo_view_of(difference->is_setting ? "setting" : "column"));
    put_text(out, "good", difference->good);
    put_text(out, "bad", difference->bad);
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]}");
}

static void put_gaps(struct wo_text *out, const struct wo_fleet *fleet) {
  static const char *const states[] = {[WO_STORE_SHARD_MISSING] = "missing",
                                       [WO_STORE_SHARD_STOPPED] = "stopped",
                                       [WO_STORE_SHARD_TWICE] = "twice",
                                       [WO_STORE_SHARD_BEHIND] = "behind"};
  open_list(out, "shards");
  for (size_t i = 0; i < fleet->shard_count; i++) {
    open_item(out);
    put_text(out, "roots", fleet->shards[i].roots);
    put_number(out, "first", fleet->shards[i].first);
    put_number(out, "last", fleet->shards[i].last);
    put_number(out, "shard_count", fleet->shards[i].shard_count);
    put_text(out, "state", wo_view_of(states[fleet->shards[i].state]));
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]");
  put_number(out, "shards_left_out", fleet->shards_left_out);
  open_list(out, "problems");
  for (size_t i = 0; i < fleet->problem_count; i++) {
    open_item(out);
    put_text(out, "path", fleet->problems[i].path);
    put_text(out, "message", fleet->problems[i].message);
    wo_text_add(out, "}");
  }
  wo_text_add(out, "]");
  put_number(out, "problems_left_out", fleet->problems_left_out);
}

void wo__write_fleet_json(struct wo_text *out, const struct wo_fleet *fleet) {
  wo_text_add(out, "{\"schema\":\"whyoom.fleet/1\"");
  put_totals(out, &fleet->totals);
  put_lists(out, fleet);
  put_clusters(out, fleet);
  put_nodes(out, fleet);
  put_repeats(out, fleet);
  put_sweeps(out, fleet);
  put_days(out, fleet);
  put_baseline(out, &fleet->baseline);
  put_gaps(out, fleet);
  wo_text_add(out, "}");
}
