/* SPDX-License-Identifier: Apache-2.0 */
/* Table tests: lines of a log in, evidence out, in text files that anybody can extend (tests/table/).
 *
 *   title of the case
 *   the log, any number of lines; {{1B}} stands for the byte with that hex code
 *   ---
 *   cuda_oom tried_bytes=17.66GiB gpu=0 line=1
 *   (empty line, or the end of the file)
 *
 * Lines that start with '#' between cases and among the expectations are comments. An expectation is a kind and some of the
 * fields that an event of it must have: a size with a unit or in bytes, a number, or a text (in double quotes when it holds
 * blanks), or `-` when it must not have the field; `line`, `rank` and `host` are those of the event. Expectations are found in
 * this order. Events of the classes memory and ending that no expectation names are errors, `(nothing)` forbids all failures, and
 * `!kind` forbids a kind. */
#ifndef WO_TEST_TABLE_H
#define WO_TEST_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/view.h"
#include "parsers/match/pattern.h"

/* One case. Views are borrowed from the table. */
struct wo_table_case {
  struct wo_view title;
  uint64_t line;         /* of the title */
  struct wo_view log;    /* decoded, each line with its line feed */
  struct wo_view expect; /* the lines of the expectation */
};

struct wo_table {
  struct wo_table_case *items;
  size_t count;
  size_t capacity;
  char *text;    /* the file */
  char *decoded; /* the logs */
};

/* Reads a table. On failure `complaint` says why. *ret_table is released with wo_table_done. */
bool wo_table_read(const char *path, struct wo_table *ret_table, char *complaint, size_t cap);

/* Releases a table. */
void wo_table_done(struct wo_table *table);

/* Runs a case four times (whole; byte by byte; with CRLF; without the prefilter): all must give the same evidence, and the
 * expected one. On failure `complaint` says what was wanted and what was found. */
bool wo_table_run(const struct wo_table_case *item, struct wo_pattern_set *set, char *complaint, size_t cap);

#endif
