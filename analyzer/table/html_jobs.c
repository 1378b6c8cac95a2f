/* SPDX-License-Identifier: Apache-2.0 */
/* Failed jobs in the HTML page: a row for each, and behind it the page of the job. See html_internal.h.
 *
 * Both are capped, by lost hours, and the page says so. Rows come in the order of paths, as they are streamed; the script sorts
 * them by hours. */
#include <assert.h>
#include <stdlib.h>

#include "analyzer/table/html_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"
#include "parsers/base/vec.h"

/* ---- Which jobs have a page ---- */

/* Paths that hash alike would share a page, which no archive lives to see. */
static uint64_t hash_of(struct wo_view path) {
  return wo_view_hash(WO_HASH_START, path);
}

void wo__html_page_name(struct wo_text *out, struct wo_view path) {
  wo_text_add(out, "job-%016llx", (unsigned long long)hash_of(path));
}

struct pages {
  WO_VEC(uint64_t) hashes; /* in order, once all are there */
  bool is_failed;
};

static bool take_path(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 1);
  (void)count;
  struct pages *const pages = context;
  if (values[0].type != WO_STORE_TEXT) return true;
  pages->is_failed |= !WO_VEC_RESERVE(&pages->hashes, 1, WO_LIMIT_HTML_PAGES);
  if (!pages->is_failed) pages->hashes.items[pages->hashes.count++] = hash_of(values[0].text);
  return !pages->is_failed;
}

static int by_hash(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool has_page(const struct pages *pages, const struct wo_row *row) {
  const uint64_t hash = hash_of(row->path);
  return pages->hashes.count > 0 &&
         bsearch(&hash, pages->hashes.items, pages->hashes.count, sizeof *pages->hashes.items, by_hash) != NULL;
}

/* "SELECT path ..." of the costliest failed jobs, with a NUL. */
static void add_costliest(struct wo_text *sql, const struct wo__table *table, size_t count) {
  wo_text_add(sql, "SELECT path FROM job WHERE is_failed = 1 AND ");
  wo_text_add_view(sql, table->fleet->where);
  wo_text_add(sql, " ORDER BY gpu_s IS NULL, gpu_s DESC, path LIMIT %zu", count);
}

static enum wo_status read_pages(struct wo__table *table, struct pages *pages) {
  struct wo_text sql = {0};
  add_costliest(&sql, table, WO_LIMIT_HTML_PAGES);
  wo_text_add_view(&sql, (struct wo_view){"", 1});
  enum wo_status status =
      sql.is_failed ? wo_err_nomem(table->err) : wo_store_ask(table->store, sql.ptr, NULL, 0, take_path, pages, table->err);
  wo_text_done(&sql);
  if (status == WO_OK && pages->is_failed) status = wo_err_nomem(table->err);
  if (pages->hashes.count > 0) qsort(pages->hashes.items, pages->hashes.count, sizeof *pages->hashes.items, by_hash);
  return status;
}

/* Streams the costliest failed jobs, in the order of paths. */
static enum wo_status each_costliest(struct wo__table *table, size_t count, wo__table_row_fn fn, void *context) {
  struct wo_text condition = {0};
  wo_text_add(&condition, "path IN (");
  add_costliest(&condition, table, count);
  wo_text_add(&condition, ")%c", '\0');
  const enum wo_status status =
      condition.is_failed ? wo_err_nomem(table->err) : wo__table_each(table, condition.ptr, fn, context);
  wo_text_done(&condition);
  return status;
}

/* ---- Rows ---- */

static void write_name(struct wo_text *out, const struct wo_row *row) {
  struct wo_text name = {0};
  if (!wo__show_job_id(&name, row)) wo_text_add_view(&name, row->path);
  wo_html_text(out, (struct wo_view){name.ptr, name.len});
  out->is_failed |= name.is_failed;
  wo_text_done(&name);
}

static void write_cell(struct wo_text *out, struct wo_view text) {
  wo_text_add(out, "<td>");
  wo_html_text(out, text);
  wo_text_add(out, "</td>");
}

static void write_row(struct wo__table *table, void *context, const struct wo_row *row) {
  const struct pages *const pages = context;
  struct wo_text *const out = table->out;
  wo_text_add(out, "<tr><td>");
  const bool is_linked = has_page(pages, row);
  if (is_linked) {
    wo_text_add(out, "<a href=\"#");
    wo__html_page_name(out, row->path);
    wo_text_add(out, "\">");
  }
  write_name(out, row);
  wo_text_add(out, "%s</td>", is_linked ? "</a>" : "");
  write_cell(out, row->name);
  write_cell(out, row->user);
  write_cell(out, row->node.len > 0 ? row->node : row->nodes);
  write_cell(out, row->cause.len > 0 ? row->cause : row->outcome);
  write_cell(out, row->confidence);
  wo_text_add(out, "<td class=\"number\">");
  wo__show_hours(out, row->gpu_s);
  wo_text_add(out, "</td><td class=\"time\">");
  wo__show_time(out, row->end_ns);
  wo_text_add(out, "</td>");
  write_cell(out, row->title);
  wo_text_add(out, "</tr>\n");
}

static enum wo_status write_rows(struct wo__table *table, struct pages *pages) {
  static const char *const headings[] = {"job", "name", "user", "node", "cause", "sure", "GPU-hours", "ended", "diagnosis"};
  struct wo_text *const out = table->out;
  const int64_t failed = table->fleet->totals.sum.failed;
  wo_text_add(out, "<section id=\"jobs\"><h2>Failed jobs</h2>\n<p><label>Show rows with <input type=\"search\" id=\"filter\" "
                   "placeholder=\"words\" autocomplete=\"off\" spellcheck=\"false\"/></label> <span id=\"found\" role=\"status\">"
                   "</span></p>\n");
  if (failed > (int64_t)WO_LIMIT_HTML_ROWS) {
    wo_text_add(out, "<p class=\"note\">The table has the %zu failed jobs that cost most, of ", WO_LIMIT_HTML_ROWS);
    wo__show_count(out, failed);
    wo_text_add(out, "; --format csv lists all.</p>\n");
  }
  if (failed > (int64_t)WO_LIMIT_HTML_PAGES) {
    wo_text_add(out, "<p class=\"note\">The %zu jobs that cost most have a page of their own.</p>\n", WO_LIMIT_HTML_PAGES);
  }
  wo_text_add(out, "<div class=\"wide\"><table id=\"job-table\"><thead><tr>");
  for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) {
    wo_text_add(out, "<th%s><button type=\"button\">%s</button></th>", i == 6 ? " class=\"number\"" : "", headings[i]);
  }
  wo_text_add(out, "</tr></thead><tbody>\n");
  const enum wo_status status = each_costliest(table, WO_LIMIT_HTML_ROWS, write_row, pages);
  wo_text_add(out, "</tbody></table></div></section>\n</main>\n");
  return status;
}

/* ---- Pages ---- */

/* Columns that have a place of their own on the page. */
static bool is_shown_apart(enum wo_column_id id) {
  switch (id) {
  case WO_COLUMN_OF_is_failed:
  case WO_COLUMN_OF_title:
  case WO_COLUMN_OF_settings:
  case WO_COLUMN_OF_evidence:
  case WO_COLUMN_OF_evidence_path:
  case WO_COLUMN_OF_evidence_line:
  case WO_COLUMN_OF_fix:
  case WO_COLUMN_OF_change:
    return true;
  default:
    return false;
  }
}

static void write_value(struct wo_text *out, const struct wo_row *row, enum wo_column_id id) {
  if (wo_columns[id].type == WO_COLUMN_TEXT) {
    wo_html_text(out, wo_row_text(row, id));
    return;
  }
  const int64_t number = wo_row_number(row, id);
  char text[40];
  switch (wo_columns[id].type) {
  case WO_COLUMN_BYTES:
    wo_text_add(out, "%s", WO_BYTES_TEXT(number));
    break;
  case WO_COLUMN_TIME:
    wo__show_time(out, number);
    break;
  case WO_COLUMN_SECONDS:
    if (number > INT64_MAX / WO_NS_PER_S) break;
    wo_text_add(out, "%s", wo_units_duration_text(number * WO_NS_PER_S, text, sizeof text));
    break;
  default:
    wo_text_add(out, "%lld", (long long)number);
  }
}

/* "capacity_bytes" is "capacity": the value has its unit. */
static void write_column_name(struct wo_text *out, enum wo_column_id id) {
  struct wo_view name = wo_view_of(wo_columns[id].name);
  static const char *const units[] = {"_bytes", "_ns", "_s"};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (wo_view_ends(name, units[i])) name.len -= wo_view_of(units[i]).len;
  }
  if (id == WO_COLUMN_OF_gpu_s) name = WO_VIEW("GPU time");
  for (size_t i = 0; i < name.len; i++) wo_text_repeat(out, name.ptr[i] == '_' ? ' ' : name.ptr[i], 1);
}

static void write_columns(struct wo_text *out, const struct wo_row *row) {
  wo_text_add(out, "<dl>\n");
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    const bool is_text = wo_columns[id].type == WO_COLUMN_TEXT;
    const bool is_known = is_text ? wo_row_text(row, id).len > 0 : wo_row_number(row, id) != WO_ROW_UNKNOWN;
    if (!is_known || is_shown_apart(id)) continue;
    wo_text_add(out, "<div><dt title=\"");
    wo_html_text(out, wo_view_of(wo_columns[id].about));
    wo_text_add(out, "\">");
    write_column_name(out, id);
    wo_text_add(out, "</dt><dd>");
    write_value(out, row, id);
    wo_text_add(out, "</dd></div>\n");
  }
  wo_text_add(out, "</dl>\n");
}

static void write_settings(struct wo_text *out, struct wo_view settings) {
  if (settings.len == 0) return;
  wo_text_add(out, "<h3>Settings</h3><dl>\n");
  while (settings.len > 0) {
    struct wo_view value = wo_view_cut(&settings, '\n');
    const struct wo_view knob = wo_view_cut(&value, '=');
    wo_text_add(out, "<div><dt>");
    wo_html_text(out, knob);
    wo_text_add(out, "</dt><dd>");
    wo_html_text(out, value);
    wo_text_add(out, "</dd></div>\n");
  }
  wo_text_add(out, "</dl>\n");
}

static void write_evidence(struct wo_text *out, const struct wo_row *row) {
  if (row->evidence.len == 0) return;
  struct wo_text place = {0};
  wo__show_place(&place, row);
  wo_text_add(out, "<h3>Evidence</h3><p class=\"place\">");
  wo_html_text(out, (struct wo_view){place.ptr, place.len});
  wo_text_add(out, "</p><pre>");
  wo_html_text(out, row->evidence);
  wo_text_add(out, "</pre>\n");
  out->is_failed |= place.is_failed;
  wo_text_done(&place);
}

static void write_fix(struct wo_text *out, const struct wo_row *row) {
  if (row->fix.len == 0 && row->change.len == 0) return;
  wo_text_add(out, "<h3>Change</h3><p>");
  wo_html_text(out, row->change.len > 0 ? row->change : row->fix);
  wo_text_add(out, "</p>");
  if (row->change.len > 0 && row->fix.len > 0) {
    wo_text_add(out, "<p class=\"rest\">");
    wo_html_text(out, row->fix);
    wo_text_add(out, "</p>");
  }
  wo_text_add(out, "\n");
}

static void write_command(struct wo__table *table, const struct wo_row *row) {
  struct wo_text command = {0};
  if (wo__show_command(&command, table, row)) {
    wo_text_add(table->out, "<h3>Full report</h3><pre class=\"command\">");
    wo_html_text(table->out, (struct wo_view){command.ptr, command.len});
    wo_text_add(table->out, "</pre>\n");
  }
  table->out->is_failed |= command.is_failed;
  wo_text_done(&command);
}

static void write_page(struct wo__table *table, void *context, const struct wo_row *row) {
  (void)context;
  struct wo_text *const out = table->out;
  wo_text_add(out, "<section class=\"job\" id=\"");
  wo__html_page_name(out, row->path);
  wo_text_add(out, "\" tabindex=\"-1\">\n<p><a href=\"#jobs\" class=\"back\">All jobs</a></p>\n<h2>");
  write_name(out, row);
  wo_text_add(out, " <span>");
  wo_html_text(out, row->cause.len > 0 ? row->cause : row->outcome);
  wo_text_add(out, "</span></h2>\n");
  if (row->title.len > 0) {
    wo_text_add(out, "<p class=\"title\">");
    wo_html_text(out, row->title);
    wo_text_add(out, "</p>\n");
  }
  write_evidence(out, row);
  write_fix(out, row);
  write_command(table, row);
  write_settings(out, row->settings);
  wo_text_add(out, "<h3>Job</h3>");
  write_columns(out, row);
  wo_text_add(out, "</section>\n");
}

enum wo_status wo__html_jobs(struct wo__table *table) {
  struct pages pages = {0};
  enum wo_status status = read_pages(table, &pages);
  if (status == WO_OK) status = write_rows(table, &pages);
  const int64_t rows = table->result.rows;
  if (status == WO_OK) status = each_costliest(table, WO_LIMIT_HTML_PAGES, write_page, NULL);
  table->result.rows = rows;
  table->result.left_out = table->fleet->totals.sum.failed - rows;
  WO_VEC_DONE(&pages.hashes);
  return status;
}
