/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a table of sacct. See sacct_table.h. */
#include "parsers/formats/accounting/sacct_table.h"

/* The cell of a piped row under the named header. */
static struct wo_view piped_cell(const struct wo_sacct_row *row, const char *name) {
  struct wo_view header = row->header;
  struct wo_view text = row->text;
  while (header.len > 0) {
    const struct wo_view title = wo_view_trim(wo_view_cut(&header, '|'));
    const struct wo_view cell = wo_view_cut(&text, '|');
    if (wo_view_is(title, name)) return wo_view_trim(cell);
  }
  return (struct wo_view){0};
}

/* The cell of a row in columns. The last column may run on: sacct prints it in full when it is wider than its rule. */
static struct wo_view column_cell(const struct wo_sacct_row *row, const char *name) {
  size_t at = 0;
  while (at < row->rule.len) {
    const size_t blank = wo_view_find_char(row->rule, ' ', at);
    const size_t end = blank == WO_NOT_FOUND ? row->rule.len : blank;
    if (wo_view_is(wo_view_trim(wo_view_sub(row->header, at, end)), name)) return wo_view_trim(wo_view_sub(row->text, at, end));
    at = end + 1;
  }
  return (struct wo_view){0};
}

/* A column that the user did not ask for is an empty cell, as is one that sacct left empty: neither says anything. */
struct wo_view wo_sacct_cell(const struct wo_sacct_row *row, const char *name) {
  return row->rule.len > 0 ? column_cell(row, name) : piped_cell(row, name);
}

/* The id of a row, or empty when the line is no row: ids begin with a digit and hold no blank. */
struct wo_view wo_sacct_id(const struct wo_sacct_row *row) {
  struct wo_view id = wo_sacct_cell(row, "JobID");
  if (id.len == 0) id = wo_sacct_cell(row, "JobIDRaw");
  const bool is_id = id.len > 0 && wo_is_digit(id.ptr[0]) && wo_view_find_char(id, ' ', 0) == WO_NOT_FOUND;
  return is_id ? id : (struct wo_view){0};
}

/* The rule of "------------ ----------" may be as long as the widths that --format asks for (JobName%40), with one blank between
 * columns. */
bool wo_sacct_is_rule(struct wo_view text) {
  if (!wo_view_starts(wo_view_trim(text), "--")) return false;
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] != '-' && !wo_is_space(text.ptr[i])) return false;
  }
  return true;
}

/* Words of a header are letters and digits alone. */
bool wo_sacct_is_header(struct wo_view line) {
  bool has_id = false, has_state = false;
  for (struct wo_view rest = line; rest.len > 0;) {
    while (rest.len > 0 && (rest.ptr[0] == '|' || wo_is_space(rest.ptr[0]))) rest = wo_view_skip(rest, 1);
    size_t len = 0;
    while (len < rest.len && wo_is_alnum(rest.ptr[len])) len++;
    const struct wo_view word = wo_view_sub(rest, 0, len);
    if (len == 0 && rest.len > 0) return false;
    has_id = has_id || wo_view_is(word, "JobID") || wo_view_is(word, "JobIDRaw");
    has_state = has_state || wo_view_is(word, "State");
    rest = wo_view_skip(rest, len);
  }
  return has_id && has_state;
}
