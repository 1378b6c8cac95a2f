/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a table of `sacct`, and its cells: divided by '|' (--parsable), or in columns below a rule. Pure. */
#ifndef WO_SACCT_TABLE_H
#define WO_SACCT_TABLE_H

#include "parsers/base/number.h"
#include "parsers/base/view.h"

struct wo_sacct_row {
  struct wo_view header;
  struct wo_view rule; /* empty for piped tables */
  struct wo_view text;
};

/* The cell under the named header. A column that the user did not ask for is an empty cell, as is one that sacct left empty. */
struct wo_view wo_sacct_cell(const struct wo_sacct_row *row, const char *name);

/* The id of a row ("4711", "4711_3", "4711.batch"), or empty when the line is no row. */
struct wo_view wo_sacct_id(const struct wo_sacct_row *row);

/* Whether a line is the rule below the header of a table in columns. */
bool wo_sacct_is_rule(struct wo_view text);

/* Whether a line is the header of a table: it names the ids and the states of jobs. */
bool wo_sacct_is_header(struct wo_view line);

#endif
