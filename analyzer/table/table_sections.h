/* The sections of a fleet as small tables, for text and Markdown: the same rows, laid out by the format. */
#ifndef WO_TABLE_SECTIONS_H
#define WO_TABLE_SECTIONS_H

#include "analyzer/table/table_grid.h"
#include "analyzer/table/table_internal.h"

/* One section. `most` rows; 0: all that the fleet has. */
struct wo__section {
  const char *heading;
  const struct wo__grid_column *columns;
  /* Fills the grid and returns the number of rows that were left out; the text `rest` says what they are. */
  void (*fill)(struct wo__grid *grid, const struct wo_fleet *fleet, size_t most, struct wo_text *rest);
  bool is_wrapped;   /* the last column is a sentence that must not be cut */
  size_t most_short; /* rows of a report that is not verbose; 0: only verbose reports have the section */
};

/* WO__SECTION_COUNT sections, in the order of a report. */
enum { WO__SECTION_COUNT = 13 };
extern const struct wo__section wo__sections[WO__SECTION_COUNT];

/* The first lines: jobs, and what they cost. Plain texts, one for each line. */
void wo__totals_jobs(struct wo_text *out, const struct wo_fleet *fleet);
void wo__totals_cost(struct wo_text *out, const struct wo_fleet *fleet);

#endif
