/* SPDX-License-Identifier: Apache-2.0 */
/* Reports over many jobs: a store and its fleet, written as text, JSON lines, CSV, Markdown, HTML or ids of jobs.
 *
 * Rows are streamed in the order of paths, and the text is handed on while it grows, so that memory does not depend on the number
 * of jobs. A report is a pure function of the rows, the fleet and the options. */
#ifndef WO_TABLE_H
#define WO_TABLE_H

#include "analyzer/fleet/fleet.h"
#include "parsers/base/text.h"

enum wo_table_format {
  WO_TABLE_TEXT,
  WO_TABLE_JSONL, /* an object of docs/schema/job-1.schema.json for each job */
  WO_TABLE_CSV,   /* RFC 4180; a cell that a spreadsheet would compute gets an apostrophe before it */
  WO_TABLE_MARKDOWN,
  WO_TABLE_HTML, /* one file, without a network */
  WO_TABLE_JOBID /* ids of the failed jobs, one a line: 4711, or 4711_3 for a task of an array */
};

/* "text|jsonl|csv|markdown|html|jobid", in the order of the enum. */
#define WO_TABLE_FORMATS "text|jsonl|csv|markdown|html|jobid"

/* Takes what *out holds, and empties it (len = 0). Called whenever out holds more than WO_LIMIT_DRAIN_BYTES, never at the end.
 * False: it cannot be taken, and the report ends. */
typedef bool (*wo_table_drain_fn)(void *context, struct wo_text *out);

struct wo_table_options {
  enum wo_table_format format;
  struct wo_text_style style; /* text; is_verbose: a row for every failed job */
  size_t rows;                /* of failed jobs in text and Markdown; 0: 10 */
  bool with_fleet;            /* JSON lines: one last object, docs/schema/fleet-1.schema.json */
  struct wo_view store_path;  /* of the store, for commands; empty: it is private, and a job's log is named instead */
  struct wo_view roots;       /* folders that were scanned, one a line, for the heading; may be empty */
  struct wo_view job;         /* text, JSON lines, CSV and ids: the row of the job with that path alone, if the filter lets it
                                 through; of the fleet only `where` is needed then. Empty: the whole report */
  bool has_no_head;           /* CSV: without the names of the columns */
};

/* The report did not fit a cap, or jobs could not be written; what the caller should say on standard error. */
struct wo_table_result {
  int64_t rows;     /* jobs that were written as rows */
  int64_t left_out; /* jobs that the format leaves out by a cap, or for want of an id (JOBID) */
};

/* Writes the report. The store must be the one that the fleet was made of. `ret` may be NULL. WO_E_IO when drain refuses;
 * WO_E_NOMEM; errors of the store. What was handed on before stays. */
enum wo_status wo_table_write(struct wo_store *store, const struct wo_fleet *fleet, const struct wo_table_options *options,
                              struct wo_text *out, wo_table_drain_fn drain, void *context, struct wo_table_result *ret,
                              struct wo_err *err);

#endif
