/* SPDX-License-Identifier: Apache-2.0 */
/* A report over many jobs for a terminal. See table.h.
 *
 * The first screen answers: how many failed, what cost most, which nodes, who submits again. Then come the failed jobs that cost
 * most, and the commands that list the others and that show one in full. */
#include <assert.h>

#include "analyzer/table/table_sections.h"
#include "parsers/base/limits.h"
#include "parsers/base/output/shell_words.h"

enum { INDENT = 2, HANGING = 6, ROWS = 10, WIDTH_MIN = 40, HOURS_COLUMNS = 6 };

struct rows {
  struct wo_page page;
  struct wo_text scratch;
  struct wo_text command; /* that shows the first row in full */
};

static struct wo_view view_of(const struct wo_text *text) {
  return (struct wo_view){text->ptr, text->len};
}

/* ---- Sections ---- */

static void write_line(const struct wo_page *page, enum wo_tint tint, struct wo_text *line) {
  if (line->len > 0) {
    wo_page_flow(page, 0, INDENT, tint, view_of(line));
    wo_page_break(page, 0);
  }
  page->out->is_failed |= line->is_failed;
  line->len = 0;
}

static void write_section(const struct wo__table *table, const struct wo_page *page, const struct wo__section *section) {
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  struct wo__grid grid = {
      .arena = &arena, .columns = section->columns, .is_wrapped = (section->properties & WO__SECTION_WRAPPED) != 0};
  struct wo_text rest = {0};
  section->fill(&grid, table->fleet, page->style.is_verbose ? 0 : section->most_short, &rest);
  const bool is_empty = grid.first == NULL;
  if (!is_empty) wo_page_break(page, 0);
  wo__grid_page(&grid, page, INDENT);
  if (rest.len > 0 && !is_empty) {
    wo_text_repeat(page->out, ' ', INDENT);
    wo_page_flow(page, INDENT, INDENT, WO_TINT_FAINT, view_of(&rest));
    wo_page_break(page, 0);
  }
  page->out->is_failed |= rest.is_failed;
  wo_text_done(&rest);
  wo_arena_done(&arena);
}

static void write_note(void *context, struct wo_view note) {
  const struct wo_page *const page = context;
  wo_page_put(page, WO_TINT_WARNING, WO_VIEW("note:"));
  wo_text_repeat(page->out, ' ', 1);
  wo_page_flow(page, sizeof "note:", INDENT, WO_TINT_PLAIN, note);
  wo_page_break(page, 0);
}

static void write_totals(struct wo__table *table, struct wo_page *page, struct wo_text *line) {
  wo__totals_jobs(line, table->fleet);
  write_line(page, WO_TINT_STRONG, line);
  wo__totals_cost(line, table->fleet);
  write_line(page, WO_TINT_PLAIN, line);
  wo__table_notes(table, write_note, page);
}

/* ---- Rows ---- */

/* Items of a row begin at the same columns as long as they are not wider than is usual. */
static size_t put_item(struct rows *rows, size_t column, size_t width, enum wo_tint tint) {
  const struct wo_view text = view_of(&rows->scratch);
  column = wo_page_item(&rows->page, column, column == INDENT ? INDENT : HANGING, tint, text.len > 0 ? text : WO_VIEW("-"));
  const size_t columns = wo_text_columns(text);
  rows->scratch.len = 0;
  if (columns >= width || column + width - columns >= rows->page.style.width) return column;
  wo_text_repeat(rows->page.out, ' ', width - columns - (columns == 0));
  return column + width - columns - (columns == 0);
}

/* Hours to the right of their column. */
static void put_hours(struct wo_text *out, int64_t gpu_s) {
  struct wo_text hours = {0};
  wo__show_hours(&hours, gpu_s);
  if (hours.len < HOURS_COLUMNS) wo_text_repeat(out, ' ', HOURS_COLUMNS - hours.len);
  wo_text_add_view(out, view_of(&hours));
  out->is_failed |= hours.is_failed;
  wo_text_done(&hours);
}

/* "4711_3  alice  oversized-micro-batch  12.0  logs/slurm-4711.err:182", and the title below it if the report is verbose. */
static void write_row(struct wo__table *table, void *context, const struct wo_row *row) {
  struct rows *const rows = context;
  size_t column = INDENT;
  wo_text_repeat(rows->page.out, ' ', INDENT);
  wo__show_job_id(&rows->scratch, row);
  column = put_item(rows, column, 10, WO_TINT_STRONG);
  wo_text_add_clean(&rows->scratch, row->user);
  column = put_item(rows, column, 8, WO_TINT_PLAIN);
  wo_text_add_clean(&rows->scratch, row->cause.len > 0 ? row->cause : row->outcome);
  column = put_item(rows, column, 24, WO_TINT_ERROR);
  put_hours(&rows->scratch, row->gpu_s);
  column = put_item(rows, column, HOURS_COLUMNS, WO_TINT_PLAIN);
  wo__show_place(&rows->scratch, row);
  put_item(rows, column, 0, WO_TINT_PLACE);
  wo_page_break(&rows->page, 0);
  if (rows->command.len == 0) wo__show_command(&rows->command, table, row);
  if (!rows->page.style.is_verbose || row->title.len == 0) return;
  wo_text_repeat(rows->page.out, ' ', HANGING);
  wo_text_add_clean(&rows->scratch, row->title);
  wo_page_flow(&rows->page, HANGING, HANGING, WO_TINT_FAINT, view_of(&rows->scratch));
  rows->scratch.len = 0;
  wo_page_break(&rows->page, 0);
}

/* The command that lists all failed jobs. */
static void add_list_command(struct wo_text *out, const struct wo__table *table) {
  const struct wo_view store = table->options->store_path;
  const size_t start = out->len;
  wo_text_add(out, store.len > 0 ? "whyoom report --verbose --store" : "whyoom scan --verbose");
  bool is_shown = true;
  if (store.len > 0) {
    wo_text_add(out, " ");
    is_shown = wo_shell_add_word(out, store);
  }
  struct wo_view rest = store.len > 0 ? (struct wo_view){0} : table->options->roots;
  while (rest.len > 0 && is_shown) {
    wo_text_add(out, " ");
    is_shown = wo_shell_add_word(out, wo_view_cut(&rest, '\n'));
  }
  if (!is_shown) out->len = start;
}

static void write_commands(const struct wo__table *table, struct rows *rows, int64_t left) {
  if (left > 0) {
    wo_text_add(&rows->scratch, "  and ");
    wo__show_count(&rows->scratch, left);
    wo_text_add(&rows->scratch, " more: ");
    add_list_command(&rows->scratch, table);
    write_line(&rows->page, WO_TINT_FAINT, &rows->scratch);
  }
  if (rows->command.len == 0) return;
  wo_page_break(&rows->page, 0);
  wo_text_add(table->out, "one in full: ");
  if (sizeof "one in full: " - 1 + rows->command.len > rows->page.style.width) wo_page_break(&rows->page, INDENT);
  wo_page_put(&rows->page, WO_TINT_FIX, view_of(&rows->command));
  wo_page_break(&rows->page, 0);
}

static enum wo_status write_rows(struct wo__table *table, struct rows *rows) {
  const int64_t failed = table->fleet->totals.sum.failed;
  if (failed == 0) return WO_OK;
  const size_t most = table->options->rows == 0 ? ROWS : table->options->rows;
  const bool is_all = rows->page.style.is_verbose || failed <= (int64_t)most;
  wo_page_break(&rows->page, 0);
  wo_text_add(&rows->scratch,
              rows->page.style.is_verbose ? "failed jobs (GPU-hours, place)" : "failed jobs that cost most (GPU-hours, place)");
  write_line(&rows->page, WO_TINT_FAINT, &rows->scratch);
  const enum wo_status status = rows->page.style.is_verbose ? wo__table_each(table, "is_failed = 1", write_row, rows)
                                                            : wo__table_costliest(table, most, write_row, rows);
  if (status == WO_OK) write_commands(table, rows, is_all ? 0 : failed - (int64_t)most);
  return status;
}

/* The report, or the row of one job. */
static enum wo_status write_all(struct wo__table *table, struct rows *rows) {
  if (table->options->job.len > 0) return wo__table_each(table, NULL, write_row, rows);
  write_totals(table, &rows->page, &rows->scratch);
  for (size_t i = 0; i < WO__SECTION_COUNT; i++) {
    if (wo__sections[i].most_short > 0 || rows->page.style.is_verbose) write_section(table, &rows->page, &wo__sections[i]);
  }
  return wo__table_drain(table) ? write_rows(table, rows) : table->status;
}

enum wo_status wo__write_text(struct wo__table *table) {
  struct rows rows = {.page = {.out = table->out, .style = table->options->style}};
  if (rows.page.style.width < WIDTH_MIN) rows.page.style.width = WIDTH_MIN;
  enum wo_status status = write_all(table, &rows);
  if (rows.scratch.is_failed || rows.command.is_failed) status = wo_err_nomem(table->err);
  wo_text_done(&rows.scratch);
  wo_text_done(&rows.command);
  return status;
}
