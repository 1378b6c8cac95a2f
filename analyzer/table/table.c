/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. See table.h. */
#include "analyzer/table/table.h"

#include <assert.h>

#include "analyzer/table/table_internal.h"

/* ---- Ids ---- */

static void write_id(struct wo__table *table, void *context, const struct wo_row *row) {
  (void)context;
  if (wo__show_job_id(table->out, row)) {
    wo_text_add(table->out, "\n");
  } else {
    table->result.left_out++;
  }
}

enum wo_status wo__write_jobid(struct wo__table *table) {
  return wo__table_each(table, "is_failed = 1", write_id, NULL);
}

/* ---- Formats ---- */

enum wo_status wo_table_write(struct wo_store *store, const struct wo_fleet *fleet, const struct wo_table_options *options,
                              struct wo_text *out, wo_table_drain_fn drain, void *context, struct wo_table_result *ret,
                              struct wo_err *err) {
  static enum wo_status (*const writers[])(struct wo__table *) = {
      [WO_TABLE_TEXT] = wo__write_text,         [WO_TABLE_JSONL] = wo__write_jsonl, [WO_TABLE_CSV] = wo__write_csv,
      [WO_TABLE_MARKDOWN] = wo__write_markdown, [WO_TABLE_HTML] = wo__write_html,   [WO_TABLE_JOBID] = wo__write_jobid,
  };
  assert((size_t)options->format < sizeof writers / sizeof *writers);
  struct wo__table table = {
      .store = store, .fleet = fleet, .options = options, .out = out, .drain = drain, .context = context, .err = err};
  enum wo_status status = writers[options->format](&table);
  if (status == WO_OK) status = table.status;
  if (status == WO_OK && out->is_failed) status = wo_err_nomem(err);
  if (ret != NULL) *ret = table.result;
  return status;
}
