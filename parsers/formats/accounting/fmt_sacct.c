/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of `sacct`: with --parsable and --parsable2 cells are divided by '|', otherwise they are in columns whose width the rule
 * below the header shows, and longer text is cut and marked with '+'. The user chooses the columns, so they are found by name.
 *
 *   JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
 *   ------------ ---------- ---------- ---------- ---------- ---------- --------
 *   300418            train        gpu      lab42         16 OUT_OF_ME+    0:125
 *
 * A row of the header's job comes first, the rows of its steps follow. Form: SLURM 17.02 to 25.05. */
#include <string.h>

#include "parsers/formats/accounting/account.h"
#include "parsers/formats/accounting/sacct_table.h"
#include "parsers/base/units.h"

/* The state of the open table besides its header and rule, which are in the message. */
struct table {
  bool is_piped, is_prefixed;
  size_t rule_start, rule_length; /* in the message */
};

/* A table that has run for so long is closed, to bound what a hostile log can hold open. */
#define TABLE_ROWS 200000

/* Lists that the column cut ("billing=4,cpu=8,mem=51+") end in an item that may be cut as well: it is left out. */
static struct wo_view whole_items(struct wo_view list) {
  if (!wo_view_ends(list, "+")) return list;
  const size_t comma = wo_view_find_last(list, WO_VIEW(","), list.len);
  return wo_view_sub(list, 0, comma == WO_NOT_FOUND ? 0 : comma);
}

/* Names of nodes are useless if some letters are missing. */
static struct wo_view whole_text(struct wo_view text) {
  return wo_view_ends(text, "+") ? (struct wo_view){0} : text;
}

/* MaxRSS is in the rows of steps; the unit is K unless the user asked for another. */
static void read_sizes(struct wo_event_store *store, struct wo_event *event, const struct wo_sacct_row *row, uint64_t nodes) {
  struct wo_view rss = wo_sacct_cell(row, "MaxRSS");
  struct wo_view asked = wo_sacct_cell(row, "ReqMem");
  struct wo_interval used;
  if (rss.len > 0 && wo_units_bytes(&rss, 1, &used) == WO_OK && used.mid > 0)
    wo_event_set_number(store, event, WO_FIELD_USED_BYTES, used);
  if (wo_event_field(event, WO_FIELD_STEP_ID)) return;
  const struct wo_view got = wo_sacct_cell(row, "AllocTRES");
  wo__account_set_tres(store, event, whole_items(got.len > 0 ? got : wo_sacct_cell(row, "ReqTRES")), nodes);
  /* Up to 20.11 a letter after the size says that it counts per node or per CPU; later it counts for all nodes. */
  const char tail = asked.len > 0 ? asked.ptr[asked.len - 1] : '\0';
  uint64_t cpus = 0;
  struct wo_view count = wo_sacct_cell(row, "AllocCPUS");
  if (wo_number_u64(&count, 10000000, &cpus) != WO_OK) cpus = 0;
  if (tail == '?') return; /* sacct's own word for a size that it does not know */
  if (tail == 'n' || tail == 'c') asked.len--;
  if (tail == 'n') wo__account_set_limit(store, event, asked, WO_MIB, 1);
  if (tail == 'c' && nodes > 0) wo__account_set_limit(store, event, asked, WO_MIB, (double)cpus / (double)nodes);
  if (tail != 'n' && tail != 'c' && nodes > 0) wo__account_set_limit(store, event, asked, WO_MIB, 1.0 / (double)nodes);
}

/* AllocNodes is what the job got. NNodes is the same for a job that ran, and what it asked for as long as it waits. */
static void read_row(struct wo_event_store *store, struct wo_event *event, const struct wo_sacct_row *row, struct wo_view id) {
  struct wo_view count = wo_sacct_cell(row, "AllocNodes");
  uint64_t nodes = 0;
  if (count.len == 0) count = wo_sacct_cell(row, "NNodes");
  if (wo_number_u64(&count, 1000000, &nodes) != WO_OK) nodes = 0;
  wo__account_set_job(store, event, id);
  wo__account_set_text(store, event, WO_FIELD_JOB_NAME, wo_sacct_cell(row, "JobName"));
  wo__account_set_text(store, event, WO_FIELD_NODES, whole_text(wo_sacct_cell(row, "NodeList")));
  wo__account_set_text(store, event, WO_FIELD_TASKS, wo_sacct_cell(row, "NTasks"));
  wo__account_set_text(store, event, WO_FIELD_USER, whole_text(wo_sacct_cell(row, "User")));
  wo__account_set_text(store, event, WO_FIELD_ACCOUNT, whole_text(wo_sacct_cell(row, "Account")));
  wo__account_set_text(store, event, WO_FIELD_PARTITION, whole_text(wo_sacct_cell(row, "Partition")));
  wo__account_set_time(store, event, WO_FIELD_START_S, wo_sacct_cell(row, "Start"));
  wo__account_set_time(store, event, WO_FIELD_END_S, wo_sacct_cell(row, "End"));
  wo__account_set_seconds(store, event, WO_FIELD_ELAPSED_S, wo_sacct_cell(row, "Elapsed"));
  wo__account_set_seconds(store, event, WO_FIELD_TIME_LIMIT_S, wo_sacct_cell(row, "Timelimit"));
  if (nodes > 0) wo_event_set_exact(store, event, WO_FIELD_NODE_COUNT, (double)nodes);
  read_sizes(store, event, row, nodes);
}

/* Whether the line is a row. A row makes one event that describes the job or step, and a second one when its state is an ending:
 * other rules can use the description however the job ended. */
static bool add_row(struct wo_open *open, const struct wo_sacct_row *row) {
  const struct wo_view id = wo_sacct_id(row);
  const struct wo_view printed = wo_sacct_cell(row, "State");
  const struct wo_view state = wo__account_state(printed);
  if (id.len == 0 || state.len == 0) return false;
  struct wo_event *event = wo_open_add(open, WO_KIND_JOB_INFO, id);
  if (!event) return true;
  read_row(open->store, event, row, id);
  wo_event_set_text(open->store, event, WO_FIELD_STATE, state);
  struct wo_account_end end = {
      .state = state,
      .exit = wo__account_read_exit(wo_sacct_cell(row, "ExitCode")),
      .derived = wo__account_read_exit(wo_sacct_cell(row, "DerivedExitCode")),
      .is_step = wo_event_field(event, WO_FIELD_STEP_ID) != NULL,
  };
  /* Why a job waited stays in its row when it ran; it is no reason of its end. */
  if (wo_view_is(wo_sacct_cell(row, "Reason"), "OutOfMemory")) end.reason = WO_VIEW("OutOfMemory");
  wo__account_add_end(open->scan, open->line, open->pattern, event->id, &end, (size_t)(printed.ptr - open->line->full.ptr),
                      printed.len);
  return true;
}

/* A row without its header: its id comes first, and the pattern found its state. */
static void add_bare_row(struct wo_open *open, const struct wo_match *match) {
  const struct wo_view printed = wo_match_group(match, "state");
  struct wo_view rest = wo_view_trim(open->line->full);
  struct wo_view id = wo_view_cut(&rest, wo_view_has(rest, "|") ? '|' : ' ');
  if (printed.len == 0) return;
  const size_t start = (size_t)(printed.ptr - open->line->full.ptr);
  const struct wo_account_end end = {.state = wo__account_state(printed), .is_step = wo_view_has(id, ".")};
  struct wo_event *event = wo_open_add(open, WO_KIND_JOB_INFO, printed);
  if (!event) return;
  if (id.len > 0 && wo_is_digit(id.ptr[0])) wo__account_set_job(open->store, event, id);
  wo_event_set_text(open->store, event, WO_FIELD_STATE, end.state);
  wo__account_add_end(open->scan, open->line, open->pattern, event->id, &end, start, printed.len);
}

/* The part of the line that belongs to the table. A label of srun -l or pdsh is taken off only where the header has one too: a
 * time or a number in the first column looks like a label as well. */
static struct wo_view table_text(const struct wo_open *open) {
  struct table *const own = open->state;
  return own->is_prefixed ? open->line->text : open->line->full;
}

/* The pattern finds either a header or a bare row with its state; only the header opens a table. */
static enum wo_more begin_sacct(struct wo_open *open, const struct wo_match *match) {
  struct table *const own = open->state;
  if (wo_match_group(match, "state").len > 0) {
    add_bare_row(open, match);
    return WO_MORE_NO;
  }
  own->is_piped = wo_view_has(open->line->full, "|");
  own->is_prefixed = wo_match_start(match) > 0;
  wo_open_append(open, table_text(open));
  return WO_MORE_YES;
}

/* Bytes of the rule are where the header's columns are, so both are kept as they were printed, with a blank between. */
static void keep_rule(struct wo_open *open, struct wo_view rule) {
  struct table *const own = open->state;
  own->rule_start = open->message_len + 1;
  wo_open_append(open, rule);
  own->rule_length = open->message_len - own->rule_start;
}

/* The line that ends the table is given back unread: with `sacct ...; cat log` in one script it is the log's first line. */
static enum wo_more feed_sacct(struct wo_open *open) {
  struct table *const own = open->state;
  const struct wo_view message = wo_open_message(open);
  if (open->lines == 1 && !own->is_piped) {
    if (!wo_sacct_is_rule(table_text(open))) return WO_MORE_NO_UNREAD;
    keep_rule(open, table_text(open));
    return WO_MORE_YES;
  }
  const size_t start = own->rule_start;
  const struct wo_sacct_row row = {
      .header = own->is_piped ? message : wo_view_sub(message, 0, start - 1),
      .rule = own->is_piped ? (struct wo_view){0} : wo_view_sub(message, start, start + own->rule_length),
      .text = table_text(open),
  };
  const bool is_row = open->lines < TABLE_ROWS && add_row(open, &row);
  return is_row ? WO_MORE_YES : WO_MORE_NO_UNREAD;
}

const struct wo_format wo__format_sacct = {
    .name = "sacct", .state_bytes = sizeof(struct table), .begin = begin_sacct, .feed = feed_sacct};
