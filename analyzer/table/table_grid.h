/* SPDX-License-Identifier: Apache-2.0 */
/* A small table for a terminal or for Markdown: a few rows that are held until their columns are known. */
#ifndef WO_TABLE_GRID_H
#define WO_TABLE_GRID_H

#include "parsers/base/arena.h"
#include "parsers/base/output/page.h"

enum { WO__GRID_COLUMNS = 6 };

struct wo__grid_column {
  const char *heading; /* NULL ends the columns */
  bool is_number;      /* to the right */
};

struct wo__grid {
  struct wo_arena *arena;
  const struct wo__grid_column *columns; /* the last one is cut at the edge of the page, or wrapped */
  bool is_wrapped;
  struct wo__grid_row *first, *last;
  struct wo_text cell; /* being built */
};

/* Begins a row / ends the cell that was written to grid->cell. Without memory the grid stays as it was, and its text has failed.
 */
void wo__grid_begin_row(struct wo__grid *grid);
void wo__grid_end_cell(struct wo__grid *grid);

/* Notes the path of a job that the row is about, for formats that can lead to it. Borrowed. */
void wo__grid_link(struct wo__grid *grid, struct wo_view path);

/* Writes the rows below their headings (the first one can be replaced: NULL leaves it), and releases what the grid holds apart
 * from the arena. */
void wo__grid_page(struct wo__grid *grid, const struct wo_page *page, size_t indent);
void wo__grid_markdown(struct wo__grid *grid, struct wo_text *out, const char *first_heading);

/* Calls fn for each cell, row by row, with the link of its row. */
typedef void (*wo__grid_cell_fn)(void *context, size_t column, bool is_last, struct wo_view cell, struct wo_view link);
void wo__grid_each(struct wo__grid *grid, wo__grid_cell_fn fn, void *context);

#endif
