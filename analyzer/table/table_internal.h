/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the room: a writer that hands text on, and figures as people read them. */
#ifndef WO_TABLE_INTERNAL_H
#define WO_TABLE_INTERNAL_H

#include "analyzer/table/table.h"

/* One report that is being written. */
struct wo__table {
  struct wo_store *store;
  const struct wo_fleet *fleet;
  const struct wo_table_options *options;
  struct wo_text *out;
  wo_table_drain_fn drain;
  void *context;
  struct wo_table_result result;
  enum wo_status status; /* of the drain, or of memory */
  struct wo_err *err;
};

/* Hands on what is there if it is much. False when that fails, or memory is out: the report ends then. */
bool wo__table_drain(struct wo__table *table);

/* Streams the rows for which a further condition holds (NULL: none), in the order of paths. fn writes one row; rows are counted.
 * Ends with the table's own failure, too. */
typedef void (*wo__table_row_fn)(struct wo__table *table, void *context, const struct wo_row *row);
enum wo_status wo__table_each(struct wo__table *table, const char *condition, wo__table_row_fn fn, void *context);

/* As wo__table_each for the failed jobs with the most lost hours, at most `count` of them, but in the order of hours; then paths.
 */
enum wo_status wo__table_costliest(struct wo__table *table, size_t count, wo__table_row_fn fn, void *context);

/* Calls fn for each note about what the report does not have: a sentence without a full stop. */
typedef void (*wo__table_note_fn)(void *context, struct wo_view note);
void wo__table_notes(struct wo__table *table, wo__table_note_fn fn, void *context);

/* ---- Figures ---- */

/* "20 000". */
void wo__show_count(struct wo_text *out, int64_t count);

/* "20 000 jobs": the count and the word for one or more. */
void wo__show_counted(struct wo_text *out, int64_t count, const char *one, const char *many);

/* GPU-seconds as hours: "0.25", "48.2", "1 204"; "?" for WO_ROW_UNKNOWN. */
void wo__show_hours(struct wo_text *out, int64_t gpu_s);

/* Lost hours of some jobs: "48.2", "48.2+" when those of some are not known, "?" when none is. */
void wo__show_lost(struct wo_text *out, const struct wo_fleet_sum *sum);

/* "2025-03-11 04:00"; nothing when unknown. */
void wo__show_time(struct wo_text *out, int64_t ns);
void wo__show_day(struct wo_text *out, int64_t ns);

/* The id of a job: "4711", "4711_3" for a task of an array; false, and nothing is added, when it has none. */
bool wo__show_job_id(struct wo_text *out, const struct wo_row *row);

/* "micro_batch >= 16: 12 of 12 failed; else 0 of 30". */
void wo__show_split(struct wo_text *out, const struct wo_fleet_split *split);
void wo__show_condition(struct wo_text *out, const struct wo_fleet_split *split);

/* "by chance in 1 of 10 million sweeps"; for one that chance explains "too few to rule out chance". */
void wo__show_chance(struct wo_text *out, double ln_chance, const char *things);

/* "8 of 40 jobs, 0.4 expected, by chance in 1 of 10 million fleets". */
void wo__show_node(struct wo_text *out, const struct wo_fleet_node *node);

/* Settings in one line: "knob=value, knob=value". */
void wo__show_settings(struct wo_text *out, struct wo_view settings, const char *divider);

/* "file:line" of the evidence, else the job's log. */
void wo__show_place(struct wo_text *out, const struct wo_row *row);

/* The command that shows a job in full. False, and nothing is added, when it cannot be shown as one. */
bool wo__show_command(struct wo_text *out, const struct wo__table *table, const struct wo_row *row);

/* ---- JSON ---- */

/* A string that is safe in a line of JSON and inside of a script in HTML; null for an empty one. */
void wo__json_string(struct wo_text *out, struct wo_view text);
void wo__json_string_or_null(struct wo_text *out, struct wo_view text);

/* Settings of a row as an object of texts. */
void wo__json_settings(struct wo_text *out, struct wo_view settings);

/* A number, null for WO_ROW_UNKNOWN. */
void wo__json_number(struct wo_text *out, int64_t number);

/* ---- Formats ---- */
enum wo_status wo__write_text(struct wo__table *table);
enum wo_status wo__write_jsonl(struct wo__table *table);
enum wo_status wo__write_csv(struct wo__table *table);
enum wo_status wo__write_markdown(struct wo__table *table);
enum wo_status wo__write_html(struct wo__table *table);
enum wo_status wo__write_jobid(struct wo__table *table);
void wo__write_fleet_json(struct wo_text *out, const struct wo_fleet *fleet);

#endif
