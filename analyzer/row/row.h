/* SPDX-License-Identifier: Apache-2.0 */
/* A job's row in a table of many jobs: the figures of its report that can be counted, compared and sorted.
 *
 * Rows are plain values. Texts are valid UTF-8 without control characters, but for the line feeds that divide `settings`; they
 * are borrowed from whoever made the row. All functions are pure and safe to call from any thread. */
#ifndef WO_ROW_H
#define WO_ROW_H

#include <stdint.h>

#include "parsers/base/arena.h"

/* A number that is not known. No number of a row is negative otherwise. */
#define WO_ROW_UNKNOWN INT64_MIN

enum wo_column_type { WO_COLUMN_TEXT, WO_COLUMN_COUNT, WO_COLUMN_BYTES, WO_COLUMN_SECONDS, WO_COLUMN_TIME };

typedef struct wo_view wo_column_as_TEXT;
typedef int64_t wo_column_as_COUNT, wo_column_as_BYTES, wo_column_as_SECONDS, wo_column_as_TIME;

struct wo_row {
#define WO_COLUMN(name, type, about) wo_column_as_##type name;
#include "analyzer/row/columns.def"
#undef WO_COLUMN
};

/* The columns, in the order of the list. */
enum wo_column_id {
#define WO_COLUMN(name, type, about) WO_COLUMN_OF_##name,
#include "analyzer/row/columns.def"
#undef WO_COLUMN
  WO_COLUMN_COUNT_
};

struct wo_column {
  const char *name;
  enum wo_column_type type;
  size_t at; /* offset in struct wo_row */
  const char *about;
};

/* WO_COLUMN_COUNT_ of them. */
extern const struct wo_column wo_columns[];

/* A row in which nothing is known. */
struct wo_row wo_row_empty(void);

/* The value of a column: a text / a number. The type must be the right one. */
struct wo_view wo_row_text(const struct wo_row *row, enum wo_column_id id);
int64_t wo_row_number(const struct wo_row *row, enum wo_column_id id);
void wo_row_set_text(struct wo_row *row, enum wo_column_id id, struct wo_view text);
void wo_row_set_number(struct wo_row *row, enum wo_column_id id, int64_t number);

/* Copies the texts of a row into the arena. If memory is out, the arena is exhausted and some texts are empty. */
void wo_row_keep(struct wo_row *row, struct wo_arena *arena);

#endif
