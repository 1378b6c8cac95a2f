/* The budget as one JSON object, schema whyoom.budget/1 (docs/schema/budget-1.schema.json). See budget_report.h.
 *
 * As in the report's JSON: unknown is null, never zero; keys never change their meaning. cJSON builds; what it cannot allocate
 * makes the text failed and empty. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>

#include "analyzer/budget_args.h"
#include "analyzer/budget_report.h"
#include "analyzer/report_text.h"
#include "parsers/base/clean.h"

#ifndef WHYOOM_VERSION
#define WHYOOM_VERSION "unknown"
#endif

/* Up to here %.0f is exact and JSON readers keep every digit. */
#define WHOLE_MAX 9007199254740992.0

#define TEXT_BYTES 1024

struct writer {
  const struct wo_budget_report *report;
  bool is_failed;
};

/* Takes the item over; false for NULL, so that callers need not look. */
static cJSON *put(struct writer *w, cJSON *object, const char *key, cJSON *item) {
  if (item != NULL && cJSON_AddItemToObject(object, key, item)) return item;
  cJSON_Delete(item);
  w->is_failed = true;
  return NULL;
}

static cJSON *push(struct writer *w, cJSON *array, cJSON *item) {
  if (item != NULL && cJSON_AddItemToArray(array, item)) return item;
  cJSON_Delete(item);
  w->is_failed = true;
  return NULL;
}

static cJSON *number_item(double number) {
  char digits[32];
  if (!isfinite(number)) return cJSON_CreateNull();
  if (number != floor(number) || fabs(number) > WHOLE_MAX) return cJSON_CreateNumber(number);
  snprintf(digits, sizeof digits, "%.0f", number == 0 ? 0.0 : number);
  return cJSON_CreateRaw(digits);
}

/* Bytes are whole; parts of one come from divisions. */
static void put_bytes(struct writer *w, cJSON *object, const char *key, double bytes) {
  put(w, object, key, number_item(round(bytes)));
}

static void put_text(struct writer *w, cJSON *object, const char *key, struct wo_view view) {
  char text[TEXT_BYTES];
  const struct wo_view clean = wo_clean_utf8(view, text, sizeof text - 1);
  text[clean.len] = '\0';
  put(w, object, key, view.len == 0 ? cJSON_CreateNull() : cJSON_CreateString(text));
}

static void put_interval(struct writer *w, cJSON *object, const char *key, struct wo_interval bytes) {
  cJSON *const interval = put(w, object, key, cJSON_CreateObject());
  put_bytes(w, interval, "low", bytes.lo);
  put_bytes(w, interval, "assumed", bytes.mid);
  put_bytes(w, interval, "high", bytes.hi);
}

static void put_rank(struct writer *w, cJSON *object, int32_t rank) {
  put(w, object, "rank", rank < 0 ? cJSON_CreateNull() : number_item((double)rank));
}

static void put_row(struct writer *w, cJSON *array, const struct wo_budget_row *row) {
  cJSON *const object = push(w, array, cJSON_CreateObject());
  put_text(w, object, "id", row->id);
  put_text(w, object, "label", row->label);
  put_rank(w, object, row->rank);
  put(w, object, "is_state", cJSON_CreateBool(row->is_state));
  if (row->is_known) {
    put_interval(w, object, "bytes", row->bytes);
    put_interval(w, object, "host_bytes", row->host);
  } else {
    put(w, object, "bytes", cJSON_CreateNull());
    put(w, object, "host_bytes", cJSON_CreateNull());
  }
  put_text(w, object, "formula", row->formula);
  put_text(w, object, "assumption", row->assumption);
  if (!row->is_stated) return;
  put_interval(w, object, "stated_bytes", row->stated);
  put_text(w, object, "stated_note", row->stated_note);
}

static void put_input(struct writer *w, cJSON *array, enum wo_budget_key key) {
  const double value = w->report->input.values[key];
  if (value == 0) return;
  cJSON *const object = push(w, array, cJSON_CreateObject());
  put_text(w, object, "name", wo_view_of(wo_budget_key_option(key)));
  switch (wo_budget_key_sort(key)) {
  case WO_BUDGET_FLAG:
    put(w, object, "value", cJSON_CreateTrue());
    break;
  case WO_BUDGET_CHOICE:
    put_text(w, object, "value", wo_budget_choice_name(key, value));
    break;
  case WO_BUDGET_COUNT:
  case WO_BUDGET_SIZE:
    put(w, object, "value", number_item(value));
    break;
  }
  put_text(w, object, "origin", w->report->origins[key]);
}

static void put_figures(struct writer *w, cJSON *root) {
  cJSON *const array = put(w, root, "measured", cJSON_CreateArray());
  for (size_t i = 0; i < w->report->figure_count; i++) {
    const struct wo_budget_figure *const figure = &w->report->figures[i];
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put_text(w, object, "label", figure->label);
    put_bytes(w, object, "bytes", figure->bytes.mid);
    put_text(w, object, "origin", figure->origin);
    put_text(w, object, "note", figure->note);
  }
}

static void put_verdict(struct writer *w, cJSON *root) {
  const struct wo_budget *const budget = &w->report->budget;
  const double capacity = w->report->input.values[WO_BUDGET_CAPACITY];
  put_text(w, root, "verdict", wo_view_of(wo_budget_verdict_name(budget->verdict)));
  put(w, root, "seen_bytes", budget->seen.mid > 0 ? number_item(round(budget->seen.mid)) : cJSON_CreateNull());
  put(w, root, "is_complete", cJSON_CreateBool(budget->is_complete));
  put(w, root, "capacity_bytes", capacity > 0 ? number_item(round(capacity)) : cJSON_CreateNull());
  put(w, root, "margin_bytes", capacity > 0 ? number_item(round(budget->margin)) : cJSON_CreateNull());
  put(w, root, "largest_micro_batch_sure", budget->has_batches ? number_item(budget->batch_sure) : cJSON_CreateNull());
  put(w, root, "largest_micro_batch_assumed", budget->has_batches ? number_item(budget->batch_likely) : cJSON_CreateNull());
  cJSON *const stages = put(w, root, "states_by_zero_stage", cJSON_CreateArray());
  for (int stage = 0; stage < 4 && budget->has_stages; stage++) push(w, stages, number_item(round(budget->stages[stage].mid)));
}

static void put_budget(struct writer *w, cJSON *root) {
  const struct wo_budget *const budget = &w->report->budget;
  put_text(w, root, "schema", WO_VIEW("whyoom.budget/1"));
  cJSON *const tool = put(w, root, "tool", cJSON_CreateObject());
  put_text(w, tool, "name", WO_VIEW("whyoom"));
  put_text(w, tool, "version", WO_VIEW(WHYOOM_VERSION));
  put_verdict(w, root);
  cJSON *const rows = put(w, root, "components", cJSON_CreateArray());
  for (size_t i = 0; i < budget->row_count; i++) put_row(w, rows, &budget->rows[i]);
  put_interval(w, root, "model_states_bytes", budget->states);
  put_interval(w, root, "total_bytes", budget->total);
  put_interval(w, root, "total_other_ranks_bytes", budget->others);
  put_interval(w, root, "host_bytes_per_rank", budget->host);
  put_figures(w, root);
  cJSON *const inputs = put(w, root, "inputs", cJSON_CreateArray());
  for (int key = 0; key < WO_BUDGET_KEY_COUNT_; key++) put_input(w, inputs, (enum wo_budget_key)key);
}

void wo_budget_json(const struct wo_budget_report *report, struct wo_text *out) {
  struct writer w = {.report = report};
  cJSON *const root = cJSON_CreateObject();
  if (root != NULL) put_budget(&w, root);
  char *const printed = root == NULL || w.is_failed ? NULL : cJSON_Print(root);
  if (printed == NULL) {
    out->is_failed = true;
  } else {
    wo__add_printed_json(out, printed);
  }
  cJSON_free(printed);
  cJSON_Delete(root);
}
