/* SPDX-License-Identifier: Apache-2.0 */
/* The budget as one JSON object, schema whyoom.budget/1 (docs/schema/budget-1.schema.json). See budget_report.h.
 *
 * As in the report's JSON: unknown is null, never zero; keys never change their meaning. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>

#include "analyzer/budget/budget_args.h"
#include "analyzer/budget/budget_report.h"
#include "parsers/base/output/json_out.h"

struct writer {
  const struct wo_budget_report *report;
  struct wo_json_out json;
};

static void put_interval(struct writer *w, cJSON *object, const char *key, struct wo_interval bytes) {
  cJSON *const interval = wo_json_put(&w->json, object, key, cJSON_CreateObject());
  wo_json_put_bytes(&w->json, interval, "low", bytes.lo);
  wo_json_put_bytes(&w->json, interval, "assumed", bytes.mid);
  wo_json_put_bytes(&w->json, interval, "high", bytes.hi);
}

static void put_row(struct writer *w, cJSON *array, const struct wo_budget_row *row) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  wo_json_put_text(&w->json, object, "id", row->id);
  wo_json_put_text(&w->json, object, "label", row->label);
  wo_json_put_known(&w->json, object, "rank", row->rank);
  wo_json_put_bool(&w->json, object, "is_state", row->is_state);
  if (row->is_known) {
    put_interval(w, object, "bytes", row->bytes);
    put_interval(w, object, "host_bytes", row->host);
    wo_json_put_bytes(&w->json, object, "at_peak_bytes", row->bytes.mid * row->share[w->report->budget.peak].mid);
  } else {
    wo_json_put(&w->json, object, "at_peak_bytes", cJSON_CreateNull());
    wo_json_put(&w->json, object, "bytes", cJSON_CreateNull());
    wo_json_put(&w->json, object, "host_bytes", cJSON_CreateNull());
  }
  wo_json_put_text(&w->json, object, "formula", row->formula);
  wo_json_put_text(&w->json, object, "assumption", row->assumption);
  if (!row->is_stated) return;
  put_interval(w, object, "stated_bytes", row->stated);
  wo_json_put_text(&w->json, object, "stated_note", row->stated_note);
}

static void put_input(struct writer *w, cJSON *array, enum wo_budget_key key) {
  const double value = w->report->input.values[key];
  if (value == 0) return;
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  const struct wo_option *const option = wo_budget_key_option(key);
  wo_json_put_text(&w->json, object, "name", wo_view_of(option->name));
  if (option->choices) {
    wo_json_put_text(&w->json, object, "value", wo_budget_choice_name(key, value));
  } else {
    wo_json_put(&w->json, object, "value", option->value ? wo_json_number(value) : cJSON_CreateTrue());
  }
  wo_json_put_text(&w->json, object, "origin", w->report->origins[key]);
}

static void put_figures(struct writer *w, cJSON *root) {
  cJSON *const array = wo_json_put(&w->json, root, "measured", cJSON_CreateArray());
  for (size_t i = 0; i < w->report->figure_count; i++) {
    const struct wo_budget_figure *const figure = &w->report->figures[i];
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put_text(&w->json, object, "label", figure->label);
    wo_json_put_bytes(&w->json, object, "bytes", figure->bytes.mid);
    wo_json_put_text(&w->json, object, "origin", figure->origin);
    wo_json_put_text(&w->json, object, "note", figure->note);
  }
}

/* What an engine has left for its cache. */
static void put_room(struct writer *w, cJSON *root) {
  const struct wo_budget *const budget = &w->report->budget;
  if (!budget->has_room) {
    wo_json_put(&w->json, root, "kv_cache_room", cJSON_CreateNull());
    return;
  }
  cJSON *const object = wo_json_put(&w->json, root, "kv_cache_room", cJSON_CreateObject());
  put_interval(w, object, "bytes", budget->room);
  wo_json_put(&w->json, object, "bytes_per_token", wo_json_number(budget->token_bytes));
  wo_json_put(&w->json, object, "tokens", wo_json_number(floor(budget->room.mid / budget->token_bytes)));
}

static void put_calibration(struct writer *w, cJSON *root) {
  const struct wo_budget_calibration *const by = &w->report->calibration;
  if (by->measured_bytes == 0) {
    wo_json_put(&w->json, root, "calibration", cJSON_CreateNull());
    return;
  }
  cJSON *const object = wo_json_put(&w->json, root, "calibration", cJSON_CreateObject());
  wo_json_put_bytes(&w->json, object, "measured_bytes", by->measured_bytes);
  wo_json_put_bytes(&w->json, object, "computed_bytes", by->computed_bytes);
  wo_json_put(&w->json, object, "factor", wo_json_number(w->report->input.live_factor));
  wo_json_put_text(&w->json, object, "origin", by->origin);
}

static void put_verdict(struct writer *w, cJSON *root) {
  const struct wo_budget *const budget = &w->report->budget;
  const double capacity = w->report->input.values[WO_BUDGET_CAPACITY];
  wo_json_put_text(&w->json, root, "verdict", wo_view_of(wo_budget_verdict_name(budget->verdict)));
  wo_json_put(&w->json, root, "seen_bytes", budget->seen.mid > 0 ? wo_json_number(round(budget->seen.mid)) : cJSON_CreateNull());
  wo_json_put_bool(&w->json, root, "is_complete", budget->is_complete);
  wo_json_put(&w->json, root, "capacity_bytes", capacity > 0 ? wo_json_number(round(capacity)) : cJSON_CreateNull());
  wo_json_put(&w->json, root, "margin_bytes", capacity > 0 ? wo_json_number(round(budget->margin)) : cJSON_CreateNull());
  wo_json_put(&w->json, root, "largest_micro_batch_sure",
              budget->has_batches ? wo_json_number(budget->batch_sure) : cJSON_CreateNull());
  wo_json_put(&w->json, root, "largest_micro_batch_assumed",
              budget->has_batches ? wo_json_number(budget->batch_likely) : cJSON_CreateNull());
  cJSON *const stages = wo_json_put(&w->json, root, "states_by_zero_stage", cJSON_CreateArray());
  for (int stage = 0; stage < 4 && budget->has_stages; stage++)
    wo_json_push(&w->json, stages, wo_json_number(round(budget->stages[stage].mid)));
}

static void put_unused(struct writer *w, cJSON *root) {
  struct wo_budget_unused unused[WO_BUDGET_KEY_COUNT_];
  const size_t count = wo_budget_unused(w->report, unused);
  cJSON *const array = wo_json_put(&w->json, root, "without_effect", cJSON_CreateArray());
  for (size_t i = 0; i < count; i++) {
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put_text(&w->json, object, "name", wo_view_of(wo_budget_key_option(unused[i].key)->name));
    wo_json_put_text(&w->json, object, "why", wo_view_of(unused[i].why));
  }
}

static void put_budget(struct writer *w, cJSON *root) {
  const struct wo_budget *const budget = &w->report->budget;
  wo_json_put_text(&w->json, root, "schema", WO_VIEW("whyoom.budget/1"));
  cJSON *const tool = wo_json_put(&w->json, root, "tool", cJSON_CreateObject());
  wo_json_put_text(&w->json, tool, "name", WO_VIEW("whyoom"));
  wo_json_put_text(&w->json, tool, "version", WO_VIEW(WHYOOM_VERSION));
  put_verdict(w, root);
  cJSON *const rows = wo_json_put(&w->json, root, "components", cJSON_CreateArray());
  for (size_t i = 0; i < budget->row_count; i++) put_row(w, rows, &budget->rows[i]);
  put_interval(w, root, "model_states_bytes", budget->states);
  wo_json_put_text(&w->json, root, "peak", wo_view_of(wo_budget_moment_name(budget->peak)));
  const bool has_stages = w->report->input.values[WO_BUDGET_PIPELINE] > 1 && w->report->input.values[WO_BUDGET_INFERENCE] == 0;
  wo_json_put(&w->json, root, "pipeline_stage",
              has_stages ? cJSON_CreateString(budget->is_last_stage ? "last" : "first") : cJSON_CreateNull());
  put_interval(w, root, "in_use_bytes", budget->in_use);
  put_interval(w, root, "total_bytes", budget->total);
  put_interval(w, root, "total_other_ranks_bytes", budget->others);
  put_interval(w, root, "host_bytes_per_rank", budget->host);
  put_room(w, root);
  put_calibration(w, root);
  put_figures(w, root);
  cJSON *const inputs = wo_json_put(&w->json, root, "inputs", cJSON_CreateArray());
  for (int key = 0; key < WO_BUDGET_KEY_COUNT_; key++) put_input(w, inputs, (enum wo_budget_key)key);
  put_unused(w, root);
}

void wo_budget_json(const struct wo_budget_report *report, struct wo_text *out) {
  struct writer w = {.report = report};
  cJSON *const root = cJSON_CreateObject();
  if (root != NULL) put_budget(&w, root);
  wo_json_finish(&w.json, root, out);
}
