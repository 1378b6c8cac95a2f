/* SPDX-License-Identifier: Apache-2.0 */
/* The table of columns, and values by column. */
#include "analyzer/row/row.h"

#include <assert.h>
#include <stddef.h>

const struct wo_column wo_columns[] = {
#define WO_COLUMN(column, kind, what)                                                                                            \
  {.name = #column, .type = WO_COLUMN_##kind, .at = offsetof(struct wo_row, column), .about = what},
#include "analyzer/row/columns.def"
#undef WO_COLUMN
};

_Static_assert(sizeof wo_columns / sizeof wo_columns[0] == WO_COLUMN_COUNT_, "one entry for each column");

static const void *place(const struct wo_row *row, enum wo_column_id id) {
  return (const char *)row + wo_columns[id].at;
}

struct wo_view wo_row_text(const struct wo_row *row, enum wo_column_id id) {
  assert(wo_columns[id].type == WO_COLUMN_TEXT);
  return *(const struct wo_view *)place(row, id);
}

int64_t wo_row_number(const struct wo_row *row, enum wo_column_id id) {
  assert(wo_columns[id].type != WO_COLUMN_TEXT);
  return *(const int64_t *)place(row, id);
}

void wo_row_set_text(struct wo_row *row, enum wo_column_id id, struct wo_view text) {
  assert(wo_columns[id].type == WO_COLUMN_TEXT);
  *(struct wo_view *)((char *)row + wo_columns[id].at) = text;
}

void wo_row_set_number(struct wo_row *row, enum wo_column_id id, int64_t number) {
  assert(wo_columns[id].type != WO_COLUMN_TEXT);
  *(int64_t *)((char *)row + wo_columns[id].at) = number;
}

struct wo_row wo_row_empty(void) {
  struct wo_row row = {0};
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    if (wo_columns[id].type != WO_COLUMN_TEXT) wo_row_set_number(&row, id, WO_ROW_UNKNOWN);
  }
  return row;
}

void wo_row_keep(struct wo_row *row, struct wo_arena *arena) {
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    if (wo_columns[id].type != WO_COLUMN_TEXT) continue;
    const struct wo_view text = wo_row_text(row, id);
    wo_row_set_text(row, id, text.len > 0 ? wo_arena_copy(arena, text) : (struct wo_view){0});
  }
}
