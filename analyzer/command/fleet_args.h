/* SPDX-License-Identifier: Apache-2.0 */
/* Options that all commands over many jobs take: which jobs, how many rows, what to compare with. */
#ifndef WO_FLEET_ARGS_H
#define WO_FLEET_ARGS_H

#include "analyzer/command/commands.h"
#include "analyzer/fleet/fleet.h"
#include "analyzer/store/store.h"

/* A time on the command line: a date ("2026-11-03", "2026-11-03T10:15"), or so long ago ("7d", "12h"). */
struct wo_given_time {
  bool is_given, is_ago;
  int64_t ns;
};

struct wo_fleet_args {
  struct wo_fleet_filter filter;
  struct wo_given_time since, until;
  size_t rows;
  struct wo_view baseline, against;
  bool with_fleet;
  struct wo_view store;
  struct wo_view roots; /* that were scanned without a store, one a line: commands name them; set by the command */
};

/* The reader of a time. */
bool wo_fleet_read_time(void *target, const struct wo_option_value *value);

/* The time, given the present one. WO_ROW_UNKNOWN if none was given. */
int64_t wo_fleet_time(const struct wo_given_time *time, int64_t now_ns);

#define WO_FLEET_TEXT(option_name, placeholder, member, about)                                                                   \
  WO_OPTION(option_name, placeholder, about, WO_TO_TEXT(struct wo_fleet_args, member), .wants = "a text")

/* Rows of the tables of these commands, whose targets begin with a struct wo_fleet_args. */
#define WO_FLEET_OPTIONS                                                                                                         \
  WO_OPTION("format", "FORM", "text (default), jsonl, csv, html, markdown, or jobid:\nids of the jobs, one a line",              \
            WO_TO_READER(wo_call_read_format), .choices = "text|jsonl|csv|html|markdown|jobid"),                                 \
      WO_FLEET_TEXT("cause", "ID", filter.cause, "only jobs with this cause (`whyoom rules list`);\n* and ? stand for letters"), \
      WO_FLEET_TEXT("family", "NAME", filter.family, "only causes of this family"),                                              \
      WO_FLEET_TEXT("outcome", "NAME", filter.outcome, "only jobs that ended so (gpu_oom, host_oom, ...)"),                      \
      WO_FLEET_TEXT("user", "NAME", filter.user, "only jobs of this user"),                                                      \
      WO_FLEET_TEXT("account", "NAME", filter.account, "only jobs of this account"),                                             \
      WO_FLEET_TEXT("partition", "NAME", filter.partition, "only jobs of this partition"),                                       \
      WO_FLEET_TEXT("node", "NAME", filter.node, "only jobs that ran on this node"),                                             \
      WO_FLEET_TEXT("model", "NAME", filter.model, "only jobs with this model"),                                                 \
      WO_FLEET_TEXT("name", "NAME", filter.name, "only jobs of this name"),                                                      \
      WO_OPTION("rows", "N", "rows of each list (default 10)", .kind = WO_OPTION_NUMBER,                                         \
                .at = offsetof(struct wo_fleet_args, rows), .least = 1, .most = WO_LIMIT_FLEET_ROWS,                             \
                .wants = "a number of rows"),                                                                                    \
      WO_FLEET_TEXT("baseline", "JOB", baseline, "what differs from this good run: an id, or the path\nof its log"),             \
      WO_FLEET_TEXT("against", "JOB", against,                                                                                   \
                    "the failed run that is compared with it (default: the\nlast one of its user and name)"),                    \
      WO_OPTION("with-fleet", NULL, "JSON lines: one last object with all lists", WO_TO_FLAG(struct wo_fleet_args, with_fleet))

/* Writes the report of a store in the form that the call asks for, WO_EXIT_FAILURE_FOUND if some job of it failed. */
enum wo_exit wo_fleet_write(const struct wo_call *call, struct wo_store *store, const struct wo_fleet_args *args, int64_t now_ns);

/* The same for a store that several scans may have made: shards that are missing, stopped or came twice, which the report
 * names, are messages too, and make the result WO_EXIT_ERROR. */
enum wo_exit wo_report_store(const struct wo_call *call, struct wo_store *store, const struct wo_fleet_args *args,
                             int64_t now_ns);

#endif
