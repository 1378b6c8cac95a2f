/* SPDX-License-Identifier: Apache-2.0 */
/* Small tables. See table_grid.h. */
#include "analyzer/table/table_grid.h"

#include <assert.h>

#include "parsers/base/output/markdown.h"

enum { GAP = 2, FIRST_LEAST = 12, LAST_LEAST = 10, WRAPPED_LEAST = 30, HANGING = 4 };

struct wo__grid_row {
  struct wo__grid_row *next;
  struct wo_view cells[WO__GRID_COLUMNS];
  size_t count;
  struct wo_view link;
};

static size_t column_count(const struct wo__grid *grid) {
  size_t count = 0;
  while (count < WO__GRID_COLUMNS && grid->columns[count].heading != NULL) count++;
  return count;
}

void wo__grid_begin_row(struct wo__grid *grid) {
  struct wo__grid_row *const row = wo_arena_alloc(grid->arena, sizeof *row);
  if (row == NULL) return;
  if (grid->last != NULL) grid->last->next = row;
  if (grid->first == NULL) grid->first = row;
  grid->last = row;
}

void wo__grid_end_cell(struct wo__grid *grid) {
  struct wo__grid_row *const row = grid->last;
  if (row != NULL && row->count < column_count(grid)) {
    row->cells[row->count++] = wo_arena_copy(grid->arena, (struct wo_view){grid->cell.ptr, grid->cell.len});
  }
  grid->cell.len = 0;
}

void wo__grid_link(struct wo__grid *grid, struct wo_view path) {
  if (grid->last != NULL) grid->last->link = path;
}

static void done(struct wo__grid *grid, struct wo_text *out) {
  out->is_failed |= grid->cell.is_failed || wo_arena_is_exhausted(grid->arena);
  wo_text_done(&grid->cell);
}

/* ---- On a page ---- */

/* The width of each column; 0: it is left out, because nothing is in it or the page is too narrow for it. */
static void measure(const struct wo__grid *grid, size_t room, size_t widths[WO__GRID_COLUMNS]) {
  const size_t count = column_count(grid);
  size_t taken = 0;
  for (size_t i = 0; i < count; i++) {
    size_t widest = 0;
    for (const struct wo__grid_row *row = grid->first; row != NULL; row = row->next) {
      const size_t columns = wo_text_columns(row->cells[i]);
      widest = columns > widest ? columns : widest;
    }
    const size_t heading = wo_text_columns(wo_view_of(grid->columns[i].heading));
    widths[i] = widest == 0 ? 0 : widest > heading ? widest : heading;
    if (i + 1 < count) taken += widths[i] > 0 ? widths[i] + GAP : 0;
  }
  for (size_t i = count - 1; i-- > 1 && taken + FIRST_LEAST > room + GAP + widths[0];) {
    taken -= widths[i] > 0 ? widths[i] + GAP : 0;
    widths[i] = 0;
  }
  if (taken > room + GAP) {
    const size_t over = taken - room - GAP;
    widths[0] = widths[0] > over + FIRST_LEAST ? widths[0] - over : FIRST_LEAST;
    taken = room + GAP;
  }
  const size_t left = room > taken ? room - taken : 0;
  if (widths[count - 1] > left) widths[count - 1] = left < LAST_LEAST ? 0 : left;
}

/* As much of a text as fits, with two dots where it is cut. */
static void put_cut(const struct wo_page *page, enum wo_tint tint, struct wo_view text, size_t width) {
  if (wo_text_columns(text) <= width) {
    wo_page_put(page, tint, text);
    return;
  }
  size_t at = 0, columns = 0;
  while (at < text.len) {
    size_t wide = 0;
    const size_t len = wo_text_char(wo_view_skip(text, at), &wide);
    if (columns + wide + 2 > width) break;
    at += len;
    columns += wide;
  }
  wo_page_put(page, tint, wo_view_sub(text, 0, at));
  wo_page_put(page, WO_TINT_FAINT, WO_VIEW(".."));
}

static void put_cell(const struct wo_page *page, enum wo_tint tint, struct wo_view text, size_t width, bool is_number) {
  const size_t columns = wo_text_columns(text);
  const size_t blanks = columns < width ? width - columns : 0;
  if (is_number) wo_text_repeat(page->out, ' ', blanks);
  put_cut(page, tint, text, width);
  if (!is_number) wo_text_repeat(page->out, ' ', blanks);
}

/* A last cell that is wrapped: at its column, or below the row where that leaves too little room. */
static void put_wrapped(const struct wo_page *page, size_t indent, size_t column, struct wo_view text) {
  const bool is_below = column + wo_text_columns(text) > page->style.width && column + WRAPPED_LEAST > page->style.width;
  if (is_below) wo_page_break(page, indent + HANGING);
  const size_t start = is_below ? indent + HANGING : column;
  wo_page_flow(page, start, start, WO_TINT_PLAIN, text);
}

static void put_row(const struct wo__grid *grid, const struct wo_page *page, size_t indent, const size_t *widths,
                    const struct wo_view *cells, bool is_heading) {
  const size_t count = column_count(grid);
  size_t column = indent;
  wo_text_repeat(page->out, ' ', indent);
  for (size_t i = 0; i < count; i++) {
    const bool is_last = i + 1 == count;
    if (is_last && grid->is_wrapped && !is_heading) put_wrapped(page, indent, column, cells[i]);
    if (widths[i] == 0 || (is_last && grid->is_wrapped && !is_heading)) continue;
    column += widths[i] + GAP;
    const enum wo_tint tint = is_heading || (is_last && i > 0) ? WO_TINT_FAINT : i == 0 ? WO_TINT_STRONG : WO_TINT_PLAIN;
    put_cell(page, tint, cells[i], widths[i], grid->columns[i].is_number);
    wo_text_repeat(page->out, ' ', GAP);
  }
  wo_page_break(page, 0);
}

void wo__grid_page(struct wo__grid *grid, const struct wo_page *page, size_t indent) {
  const size_t count = column_count(grid);
  size_t widths[WO__GRID_COLUMNS] = {0};
  struct wo_view headings[WO__GRID_COLUMNS];
  assert(count > 0);
  for (size_t i = 0; i < count; i++) headings[i] = wo_view_of(grid->columns[i].heading);
  measure(grid, page->style.width - indent, widths);
  if (grid->first != NULL) put_row(grid, page, indent, widths, headings, true);
  for (const struct wo__grid_row *row = grid->first; row != NULL; row = row->next)
    put_row(grid, page, indent, widths, row->cells, false);
  done(grid, page->out);
}

/* ---- Markdown ---- */

void wo__grid_markdown(struct wo__grid *grid, struct wo_text *out, const char *first_heading) {
  const size_t count = column_count(grid);
  wo_text_add(out, "|");
  for (size_t i = 0; i < count; i++)
    wo_text_add(out, " %s |", i == 0 && first_heading != NULL ? first_heading : grid->columns[i].heading);
  wo_text_add(out, "\n|");
  for (size_t i = 0; i < count; i++) wo_text_add(out, "%s|", grid->columns[i].is_number ? " ---: " : " --- ");
  wo_text_add(out, "\n");
  for (const struct wo__grid_row *row = grid->first; row != NULL; row = row->next) {
    wo_text_add(out, "|");
    for (size_t i = 0; i < count; i++) {
      wo_text_add(out, " ");
      wo_markdown_text(out, row->cells[i]);
      wo_text_add(out, " |");
    }
    wo_text_add(out, "\n");
  }
  done(grid, out);
}

/* ---- Whoever else lays it out ---- */

void wo__grid_each(struct wo__grid *grid, wo__grid_cell_fn fn, void *context) {
  const size_t count = column_count(grid);
  for (const struct wo__grid_row *row = grid->first; row != NULL; row = row->next) {
    for (size_t i = 0; i < count; i++) fn(context, i, i + 1 == count, row->cells[i], row->link);
  }
}
