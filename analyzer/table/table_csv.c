/* SPDX-License-Identifier: Apache-2.0 */
/* A table as CSV (RFC 4180): all columns, a row for each job. See table.h. */
#include "analyzer/table/table_internal.h"

/* Spreadsheets compute a cell that begins like a formula, whatever quotes are around it; names of jobs and lines of logs come
 * from anybody. An apostrophe makes it a text. */
static bool is_formula(struct wo_view text) {
  if (text.len == 0) return false;
  const char first = text.ptr[0];
  return first == '=' || first == '+' || first == '-' || first == '@' || first == '\t' || first == '\r' || first == '|' ||
         first == '%';
}

static void add_cell(struct wo_text *out, struct wo_view text) {
  bool is_quoted = is_formula(text) || (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' '));
  for (size_t i = 0; i < text.len && !is_quoted; i++) is_quoted = text.ptr[i] == ',' || text.ptr[i] == '"' || text.ptr[i] == ';';
  if (!is_quoted) {
    wo_text_add_view(out, text);
    return;
  }
  wo_text_add(out, "\"%s", is_formula(text) ? "'" : "");
  while (text.len > 0) {
    const size_t quote = wo_view_find_char(text, '"', 0);
    wo_text_add_view(out, wo_view_sub(text, 0, quote));
    if (quote == WO_NOT_FOUND) break;
    wo_text_add(out, "\"\"");
    text = wo_view_skip(text, quote + 1);
  }
  wo_text_add(out, "\"");
}

/* Texts are cleaned first: a line feed or an escape of a terminal is none of a cell. */
static void write_row(struct wo__table *table, void *context, const struct wo_row *row) {
  struct wo_text *const cell = context;
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    if (id > 0) wo_text_add(table->out, ",");
    if (wo_columns[id].type != WO_COLUMN_TEXT) {
      const int64_t number = wo_row_number(row, id);
      if (number != WO_ROW_UNKNOWN) wo_text_add(table->out, "%lld", (long long)number);
      continue;
    }
    cell->len = 0;
    if (id == WO_COLUMN_OF_settings) {
      wo__show_settings(cell, row->settings, "; ");
    } else {
      wo_text_add_clean(cell, wo_row_text(row, id));
    }
    add_cell(table->out, (struct wo_view){cell->ptr, cell->len});
  }
  wo_text_add(table->out, "\r\n");
}

enum wo_status wo__write_csv(struct wo__table *table) {
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_ && !table->options->has_no_head; id++)
    wo_text_add(table->out, "%s%s", id > 0 ? "," : "", wo_columns[id].name);
  if (!table->options->has_no_head) wo_text_add(table->out, "\r\n");
  struct wo_text cell = {0};
  enum wo_status status = wo__table_each(table, NULL, write_row, &cell);
  if (status == WO_OK && cell.is_failed) status = wo_err_nomem(table->err);
  wo_text_done(&cell);
  return status;
}
