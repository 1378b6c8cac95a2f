/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the HTML page. See html_internal.h. */
#include "analyzer/table/html_internal.h"
#include "parsers/base/limits.h"

/* ---- A table ---- */

struct cells {
  struct wo_text *out;
  const struct wo__grid_column *columns;
  bool is_filter, has_links;
};

static void write_cell(void *context, size_t column, bool is_last, struct wo_view cell, struct wo_view link) {
  const struct cells *const c = context;
  if (column == 0) wo_text_add(c->out, "<tr>");
  wo_text_add(c->out, c->columns[column].is_number ? "<td class=\"number\">" : "<td>");
  const bool is_link = column == 0 && c->is_filter && !wo_view_starts(cell, "(");
  if (is_link) wo_text_add(c->out, "<a href=\"#jobs\" data-filter=\"\">");
  wo_html_text(c->out, cell);
  wo_text_add(c->out, is_link ? "</a></td>" : "</td>");
  if (!is_last) return;
  if (c->has_links) wo_text_add(c->out, "<td class=\"open\">");
  if (c->has_links && link.len > 0) {
    wo_text_add(c->out, "<a href=\"#");
    wo__html_page_name(c->out, link);
    wo_text_add(c->out, "\">a job</a>");
  }
  wo_text_add(c->out, c->has_links ? "</td></tr>\n" : "</tr>\n");
}

static void write_grid(struct wo__grid *grid, struct wo_text *out, const struct wo__section *section) {
  struct cells cells = {.out = out,
                        .columns = grid->columns,
                        .is_filter = (section->properties & WO__SECTION_WORDS) != 0,
                        .has_links = (section->properties & WO__SECTION_LINKED) != 0};
  wo_text_add(out, "<div class=\"wide\"><table><thead><tr>");
  for (size_t i = 0; i < WO__GRID_COLUMNS && grid->columns[i].heading != NULL; i++) {
    wo_text_add(out, "<th%s><button type=\"button\">%s</button></th>", grid->columns[i].is_number ? " class=\"number\"" : "",
                i == 0 ? section->key : grid->columns[i].heading);
  }
  if (cells.has_links) wo_text_add(out, "<td></td>");
  wo_text_add(out, "</tr></thead><tbody>\n");
  wo__grid_each(grid, write_cell, &cells);
  wo_text_add(out, "</tbody></table></div>\n");
}

/* ---- One section ---- */

static void write_heading(struct wo_text *out, const char *heading) {
  const char first = heading[0] >= 'a' && heading[0] <= 'z' ? (char)(heading[0] - 'a' + 'A') : heading[0];
  wo_text_add(out, "<h2>%c%s</h2>\n", first, heading + 1);
}

/* Writes a section, unless it is empty. With `is_link` only the link to it. */
static void write_section(struct wo__table *table, const struct wo__section *section, bool is_link) {
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  struct wo__grid grid = {.arena = &arena, .columns = section->columns};
  struct wo_text rest = {0};
  section->fill(&grid, table->fleet, 0, &rest);
  if (grid.first != NULL && is_link) {
    wo_text_add(table->out, "<a href=\"#%s\">%s</a>\n", section->id, section->heading);
  } else if (grid.first != NULL) {
    wo_text_add(table->out, "<section id=\"%s\">", section->id);
    write_heading(table->out, section->heading);
    write_grid(&grid, table->out, section);
    if (rest.len > 0) wo_text_add(table->out, "<p class=\"rest\">%.*s</p>\n", (int)rest.len, rest.ptr);
    wo_text_add(table->out, "</section>\n");
  }
  table->out->is_failed |= grid.cell.is_failed || wo_arena_is_exhausted(&arena);
  wo_text_done(&grid.cell);
  table->out->is_failed |= rest.is_failed;
  wo_text_done(&rest);
  wo_arena_done(&arena);
}

void wo__html_links(struct wo__table *table) {
  wo_text_add(table->out, "<nav aria-label=\"sections\">\n<a href=\"#jobs\">failed jobs</a>\n");
  for (size_t i = 0; i < WO__SECTION_COUNT; i++) write_section(table, &wo__sections[i], true);
  wo_text_add(table->out, "</nav>\n");
}

/* ---- Sweeps side by side ---- */

static void write_value(struct wo_text *out, const struct wo_fleet_value *value) {
  const double share = value->jobs > 0 ? 100.0 * (double)value->failed / (double)value->jobs : 0.0;
  wo_text_add(out, "<tr><td>");
  if (value->text.len > 0) {
    wo_html_text(out, value->text);
  } else {
    wo_text_add(out, "not shown");
  }
  wo_text_add(out,
              "</td><td class=\"share\"><svg class=\"bar count\" aria-hidden=\"true\"><rect class=\"all\" width=\"100%%\" "
              "height=\"100%%\" rx=\"2\"/><rect width=\"%.1f%%\" height=\"100%%\" rx=\"2\"/></svg></td><td class=\"number\">",
              share);
  wo__show_count(out, value->failed);
  wo_text_add(out, " of ");
  wo__show_count(out, value->jobs);
  wo_text_add(out, "</td></tr>\n");
}

static void write_sweep(struct wo_text *out, const struct wo_fleet_sweep *sweep) {
  wo_text_add(out, "<details><summary>");
  wo_html_text(out, sweep->name.len > 0 ? sweep->name : sweep->folder);
  if (sweep->array_job.len > 0) {
    wo_text_add(out, " ");
    wo_html_text(out, sweep->array_job);
  }
  wo_text_add(out, " <span>");
  wo_html_text(out, sweep->user);
  wo_text_add(out, ", ");
  wo__show_count(out, sweep->sum.failed);
  wo_text_add(out, " of ");
  wo__show_counted(out, sweep->sum.jobs, "job", "jobs");
  wo_text_add(out, " failed</span></summary>\n<div class=\"knobs\">\n");
  for (size_t k = 0; k < sweep->knob_count; k++) {
    wo_text_add(out, "<table><caption>");
    wo_html_text(out, sweep->knobs[k].knob);
    wo_text_add(out, "</caption><tbody>\n");
    for (size_t v = 0; v < sweep->knobs[k].value_count; v++) write_value(out, &sweep->knobs[k].values[v]);
    wo_text_add(out, "</tbody></table>\n");
  }
  wo_text_add(out, "</div>\n");
  for (size_t s = 0; s < sweep->split_count; s++) {
    struct wo_text line = {0};
    wo__show_split(&line, &sweep->splits[s]);
    wo_text_add(&line, "; ");
    wo__show_chance(&line, sweep->splits[s].ln_chance, "such sweeps");
    wo_text_add(out, "<p class=\"rest\">");
    wo_html_text(out, (struct wo_view){line.ptr, line.len});
    wo_text_add(out, "</p>\n");
    out->is_failed |= line.is_failed;
    wo_text_done(&line);
  }
  wo_text_add(out, "</details>\n");
}

static void write_sweeps(struct wo__table *table) {
  const struct wo_fleet *const fleet = table->fleet;
  if (fleet->sweep_count == 0) return;
  wo_text_add(table->out, "<section><h2>Sweeps side by side</h2>\n");
  for (size_t i = 0; i < fleet->sweep_count; i++) write_sweep(table->out, &fleet->sweeps[i]);
  if (fleet->sweeps_undivided > 0) {
    wo_text_add(table->out, "<p class=\"rest\">no setting divides ");
    wo__show_counted(table->out, fleet->sweeps_undivided, "further sweep", "further sweeps");
    wo_text_add(table->out, "</p>\n");
  }
  wo_text_add(table->out, "</section>\n");
}

void wo__html_sections(struct wo__table *table) {
  for (size_t i = 0; i < WO__SECTION_COUNT; i++) {
    if ((wo__sections[i].properties & WO__SECTION_SMALL) == 0) write_section(table, &wo__sections[i], false);
  }
  write_sweeps(table);
  wo_text_add(table->out, "<div class=\"lists\">\n");
  for (size_t i = 0; i < WO__SECTION_COUNT; i++) {
    if ((wo__sections[i].properties & WO__SECTION_SMALL) != 0) write_section(table, &wo__sections[i], false);
  }
  wo_text_add(table->out, "</div>\n");
  wo__table_drain(table);
}
