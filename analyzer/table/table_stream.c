/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that stream through a writer, and the text that it hands on. */
#include <assert.h>

#include "analyzer/table/table_internal.h"
#include "parsers/base/limits.h"

bool wo__table_drain(struct wo__table *table) {
  if (table->status != WO_OK) return false;
  if (table->out->is_failed) {
    table->status = wo_err_nomem(table->err);
  } else if (table->out->len > WO_LIMIT_DRAIN_BYTES && !table->drain(table->context, table->out)) {
    table->status = wo_err_set(table->err, WO_E_IO, "the report cannot be written");
  }
  return table->status == WO_OK;
}

/* ---- Rows ---- */

struct each {
  struct wo__table *table;
  wo__table_row_fn fn;
  void *context;
};

static bool take_row(void *context, int64_t id, const struct wo_row *row) {
  (void)id;
  const struct each *const each = context;
  each->fn(each->table, each->context, row);
  each->table->result.rows++;
  return wo__table_drain(each->table);
}

/* A condition that holds for one path, whatever bytes it has. */
static void add_path(struct wo_text *out, struct wo_view path) {
  wo_text_add(out, "path = CAST(x'");
  for (size_t i = 0; i < path.len; i++) wo_text_add(out, "%02x", (unsigned char)path.ptr[i]);
  wo_text_add(out, "' AS TEXT)");
}

enum wo_status wo__table_each(struct wo__table *table, const char *condition, wo__table_row_fn fn, void *context) {
  struct wo_text where = {0};
  wo_text_add_view(&where, table->fleet->where);
  if (condition != NULL) wo_text_add(&where, " AND %s", condition);
  if (table->options->job.len > 0) {
    wo_text_add(&where, " AND ");
    add_path(&where, table->options->job);
  }
  wo_text_add_view(&where, (struct wo_view){"", 1});
  struct each each = {.table = table, .fn = fn, .context = context};
  const enum wo_status status =
      where.is_failed ? wo_err_nomem(table->err) : wo_store_each(table->store, where.ptr, take_row, &each, table->err);
  wo_text_done(&where);
  return status != WO_OK ? status : table->status;
}

/* The paths of the costliest, one after the other in one text. */
struct paths {
  struct wo_text text;
};

static bool take_path(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 1);
  (void)count;
  struct paths *const paths = context;
  if (values[0].type != WO_STORE_TEXT) return true;
  add_path(&paths->text, values[0].text);
  wo_text_add(&paths->text, "%c", '\0');
  return true;
}

/* Unknown hours come last. */
enum wo_status wo__table_costliest(struct wo__table *table, size_t count, wo__table_row_fn fn, void *context) {
  struct wo_text sql = {0};
  struct paths paths = {0};
  wo_text_add(&sql, "SELECT path FROM job WHERE is_failed = 1 AND ");
  wo_text_add_view(&sql, table->fleet->where);
  wo_text_add(&sql, " ORDER BY gpu_s IS NULL, gpu_s DESC, path LIMIT %zu%c", count, '\0');
  enum wo_status status =
      sql.is_failed ? wo_err_nomem(table->err) : wo_store_ask(table->store, sql.ptr, NULL, 0, take_path, &paths, table->err);
  wo_text_done(&sql);
  if (status == WO_OK && paths.text.is_failed) status = wo_err_nomem(table->err);
  struct wo_view rest = {paths.text.ptr, paths.text.len};
  while (status == WO_OK && rest.len > 0) {
    const struct wo_view condition = wo_view_cut(&rest, '\0');
    status = wo__table_each(table, condition.ptr, fn, context);
  }
  wo_text_done(&paths.text);
  return status;
}
