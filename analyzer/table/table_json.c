/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as lines of JSON. See table.h. */
#include "analyzer/table/table_internal.h"

static void write_job(struct wo__table *table, void *context, const struct wo_row *row) {
  (void)context;
  struct wo_text *const out = table->out;
  wo_text_add(out, "{\"schema\":\"whyoom.job/1\"");
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    wo_text_add(out, ",\"%s\":", wo_columns[id].name);
    if (id == WO_COLUMN_OF_settings && row->settings.len > 0) {
      wo__json_settings(out, row->settings);
    } else if (wo_columns[id].type == WO_COLUMN_TEXT) {
      wo__json_string_or_null(out, wo_row_text(row, id));
    } else {
      wo__json_number(out, wo_row_number(row, id));
    }
  }
  wo_text_add(out, "}\n");
}

enum wo_status wo__write_jsonl(struct wo__table *table) {
  const enum wo_status status = wo__table_each(table, NULL, write_job, NULL);
  if (status != WO_OK || !table->options->with_fleet) return status;
  wo__write_fleet_json(table->out, table->fleet);
  wo_text_add(table->out, "\n");
  return WO_OK;
}
