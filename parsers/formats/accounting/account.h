/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of accounting text (fmt_scontrol.c, fmt_sacct.c, fmt_sacct_json.c, fmt_seff.c): the states of jobs, exit
 * codes, and the evidence that they are.
 *
 * A job or step becomes one `job_info` event with its figures and the field `state`. A state that ended the job badly becomes a
 * second event of the kind that it means. Both have the field `state`, by which the analyzer distinguishes accounting from a
 * log. */
#ifndef WO_ACCOUNT_H
#define WO_ACCOUNT_H

#include "parsers/scan/format.h"

/* An exit code as SLURM prints it: "1:0" is code and signal. */
struct wo_account_exit {
  bool is_known;
  uint32_t code;
  uint32_t signal;
};

/* How a job ended, by its accounting. */
struct wo_account_end {
  struct wo_view state;  /* a name that wo__account_state returned */
  struct wo_view reason; /* empty if not printed */
  struct wo_account_exit exit;
  struct wo_account_exit derived; /* the worst of the job's steps */
  bool is_step;
};

/* An ending that waits until all that belongs to it was read. The state of a reader that keeps one begins with it; the line that
 * printed the state is the construct's message then. */
struct wo_account_kept {
  struct wo_view state; /* a name that wo__account_state returned; empty before it was read */
  uint64_t line, offset;
  size_t start, length; /* of the state in its line */
  struct wo_account_exit exit, derived;
  uint64_t nodes; /* of the job; 0 = not printed */
  char reason[256];
};

/* SLURM's full name of a state as printed: "OUT_OF_ME+", "CANCELLED by 1000", "FAILED". Empty when it is none. Static text. */
struct wo_view wo__account_state(struct wo_view printed);

/* Reads "1:0". Unknown when it is not just that. */
struct wo_account_exit wo__account_read_exit(struct wo_view text);

/* Sets job, array_job, array_task and step_id from an id of sacct: "19", "23_5", "19.batch", "1553046.ext+". */
void wo__account_set_job(struct wo_event_store *store, struct wo_event *event, struct wo_view id);

/* Sets a text unless it is empty or one of SLURM's words for nothing ("(null)", "None", "None assigned", "N/A", "Unknown"). */
void wo__account_set_text(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view text);

/* Sets seconds from a duration that fills the whole text ("1-02:00:00"). */
void wo__account_set_seconds(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view text);

/* Sets seconds since 1970 from a time as accounting prints it ("2026-11-03T10:15:00", as if it were UTC), which fills the text.
 */
void wo__account_set_time(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view text);

/* Sets the limit per node from a size for all nodes. `bare_scale` as in units.h; sizes of zero mean no limit and are left out. */
void wo__account_set_limit(struct wo_event_store *store, struct wo_event *event, struct wo_view text, double bare_scale,
                           double share);

/* Sets memory limit and cards, both per node, from "cpu=2,mem=512M,node=2,gres/gpu:a100=8". `nodes` 0 = as the text says. */
void wo__account_set_tres(struct wo_event_store *store, struct wo_event *event, struct wo_view tres, uint64_t nodes);

/* Adds the event that the ending means, if it means any, with the ids of the event `info`. */
void wo__account_add_end(struct wo_scan *scan, const struct wo_line *line, const struct wo_pattern *pattern, wo_event_id info,
                         const struct wo_account_end *end, size_t start, size_t length);

/* Keeps a state and its place (`printed` lies in line->full), and sets the field of the construct's event. */
void wo__account_keep_state(struct wo_open *open, const struct wo_line *line, struct wo_view printed);

/* Adds the ending that was kept, and forgets it. The finish of readers that keep one. */
void wo__account_flush(struct wo_open *open);

#endif
