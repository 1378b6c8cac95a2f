/* SPDX-License-Identifier: Apache-2.0 */
/* A report over many jobs as Markdown, for issues and wikis. See table.h. */
#include "analyzer/table/table_sections.h"
#include "parsers/base/limits.h"
#include "parsers/base/output/markdown.h"

enum { ROWS = 10 };

static const struct wo__grid_column row_columns[] = {{"job", false},      {"user", false},  {"cause", false},
                                                     {"GPU-hours", true}, {"place", false}, {"title", false}};

static void write_heading(struct wo_text *out, const char *heading) {
  wo_text_add(out, "\n## %c%s\n\n", heading[0] >= 'a' && heading[0] <= 'z' ? heading[0] - 'a' + 'A' : heading[0], heading + 1);
}

static void write_section(struct wo__table *table, const struct wo__section *section) {
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  struct wo__grid grid = {.arena = &arena, .columns = section->columns};
  struct wo_text rest = {0};
  section->fill(&grid, table->fleet, 0, &rest);
  if (grid.first != NULL) {
    write_heading(table->out, section->heading);
    wo__grid_markdown(&grid, table->out, section->key);
    if (rest.len > 0) wo_text_add(table->out, "\n%.*s.\n", (int)rest.len, rest.ptr);
  }
  table->out->is_failed |= grid.cell.is_failed || wo_arena_is_exhausted(&arena);
  wo_text_done(&grid.cell);
  table->out->is_failed |= rest.is_failed;
  wo_text_done(&rest);
  wo_arena_done(&arena);
}

static void add_row(struct wo__table *table, void *context, const struct wo_row *row) {
  (void)table;
  struct wo__grid *const grid = context;
  wo__grid_begin_row(grid);
  wo__show_job_id(&grid->cell, row);
  wo__grid_end_cell(grid);
  wo_text_add_clean(&grid->cell, row->user);
  wo__grid_end_cell(grid);
  wo_text_add_clean(&grid->cell, row->cause.len > 0 ? row->cause : row->outcome);
  wo__grid_end_cell(grid);
  wo__show_hours(&grid->cell, row->gpu_s);
  wo__grid_end_cell(grid);
  wo__show_place(&grid->cell, row);
  wo__grid_end_cell(grid);
  wo_text_add_clean(&grid->cell, row->title);
  wo__grid_end_cell(grid);
}

static enum wo_status write_rows(struct wo__table *table) {
  const size_t most = table->options->rows == 0 ? ROWS : table->options->rows;
  const int64_t failed = table->fleet->totals.sum.failed;
  if (failed == 0) return WO_OK;
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  struct wo__grid grid = {.arena = &arena, .columns = row_columns};
  const enum wo_status status = wo__table_costliest(table, most, add_row, &grid);
  write_heading(table->out, "failed jobs that cost most");
  wo__grid_markdown(&grid, table->out, NULL);
  if (failed > (int64_t)most) {
    wo_text_add(table->out, "\nAnd ");
    wo__show_count(table->out, failed - (int64_t)most);
    wo_text_add(table->out, " more.\n");
  }
  wo_arena_done(&arena);
  return status;
}

static void write_note(void *context, struct wo_view note) {
  struct wo_text *const out = context;
  wo_text_add(out, "\nNote: ");
  wo_markdown_text(out, note);
  wo_text_add(out, ".\n");
}

enum wo_status wo__write_markdown(struct wo__table *table) {
  struct wo_text *const out = table->out;
  wo_text_add(out, "# GPU jobs\n\n");
  wo__totals_jobs(out, table->fleet);
  wo_text_add(out, ".\n");
  struct wo_text cost = {0};
  wo__totals_cost(&cost, table->fleet);
  if (cost.len > 0) wo_text_add(out, "%.*s.\n", (int)cost.len, cost.ptr);
  out->is_failed |= cost.is_failed;
  wo_text_done(&cost);
  wo__table_notes(table, write_note, out);
  for (size_t i = 0; i < WO__SECTION_COUNT; i++) write_section(table, &wo__sections[i]);
  return write_rows(table);
}
