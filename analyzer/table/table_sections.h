/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a fleet as small tables, for text and Markdown: the same rows, laid out by the format. */
#ifndef WO_TABLE_SECTIONS_H
#define WO_TABLE_SECTIONS_H

#include "analyzer/table/table_grid.h"
#include "analyzer/table/table_internal.h"

/* Properties of a section. */
enum {
  WO__SECTION_WRAPPED = 1, /* the last column is a sentence that must not be cut */
  WO__SECTION_SMALL = 2,   /* few narrow columns: two of them fit beside each other */
  WO__SECTION_LINKED = 4,  /* each row has a job for an example */
  WO__SECTION_WORDS = 8    /* the first column has words of the table of jobs */
};

/* One section. `most` rows; 0: all that the fleet has. */
struct wo__section {
  const char *id, *heading;
  const char *key; /* heading of the first column below that of the section */
  const struct wo__grid_column *columns;
  /* Fills the grid; the text `rest` says how many rows were left out, if any. */
  void (*fill)(struct wo__grid *grid, const struct wo_fleet *fleet, size_t most, struct wo_text *rest);
  size_t most_short; /* rows of a report that is not verbose; 0: only verbose reports have the section */
  unsigned properties;
};

/* WO__SECTION_COUNT sections, in the order of a report. */
enum { WO__SECTION_COUNT = 14 };
extern const struct wo__section wo__sections[WO__SECTION_COUNT];

/* The first lines: jobs, and what they cost. Plain texts, one for each line. */
void wo__totals_jobs(struct wo_text *out, const struct wo_fleet *fleet);
void wo__totals_cost(struct wo_text *out, const struct wo_fleet *fleet);

#endif
