/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet: what the rows of a store say about all of its jobs together (docs/fleet.md says what each list means).
 *
 * A fleet is a plain value and a pure function of the rows and the options: it does not depend on the order in which rows came
 * into the store. Texts live in the arena that it was made with. Unknown is said and never counted as 0: beside every sum of
 * hours is the number of jobs whose hours are not known. Times are nanoseconds since 1970, hours are GPU-seconds (cards x elapsed
 * time) until a writer shows them. */
#ifndef WO_FLEET_H
#define WO_FLEET_H

#include "analyzer/store/store.h"
#include "parsers/base/text.h"

/* Which jobs. Empty texts, and times that are WO_ROW_UNKNOWN, let all jobs pass. A text with `*`, `?` or `[` is a pattern of the
 * shell, any other one is compared as a whole. */
struct wo_fleet_filter {
  struct wo_view cause, family, outcome, user, account, partition, model, name;
  struct wo_view node;        /* the job ran on it */
  struct wo_view job;         /* its id (also ARRAY_TASK, or the array's alone), or the path of its row */
  int64_t since_ns, until_ns; /* ended at or after / before; a job whose end is not known does not pass */
  bool only_failed;
};

/* A filter that all jobs pass. */
struct wo_fleet_filter wo_fleet_all(void);

/* Adds the filter as a condition in SQL over the table `job`: constants are written as hexadecimal, so that no text can end one.
 */
void wo_fleet_add_where(struct wo_text *out, const struct wo_fleet_filter *filter);

struct wo_fleet_options {
  struct wo_fleet_filter filter;
  bool only_totals;        /* no lists: for formats that have rows alone */
  size_t rows;             /* of each list; 0: 10; at most WO_LIMIT_FLEET_ROWS */
  struct wo_view baseline; /* id or path of a good run; empty: none */
  struct wo_view against;  /* id or path of the failed run to compare with; empty: the last one of the same user and name */
};

/* Sums over some jobs. */
struct wo_fleet_sum {
  int64_t jobs, failed;
  int64_t lost_s;       /* GPU-seconds of the failed jobs whose hours are known */
  int64_t lost_unknown; /* failed jobs whose hours are not */
};

/* Adds sums. */
void wo_fleet_sum_add(struct wo_fleet_sum *sum, const struct wo_fleet_sum *more);

struct wo_fleet_totals {
  struct wo_fleet_sum sum;
  int64_t ok;                /* it shows a good end */
  int64_t open;              /* neither: it ends without saying how */
  int64_t unread;            /* jobs of which a file could not be read to its end */
  int64_t gpu_s;             /* GPU-seconds of all jobs that are known, failed or not */
  int64_t gpu_unknown;       /* jobs whose hours are not */
  int64_t users;             /* different ones, the unknown one left out */
  int64_t files, bytes;      /* that were read */
  int64_t first_ns, last_ns; /* ends of the first and last job; WO_ROW_UNKNOWN if no end is known */
};

/* A value of a column and the jobs that have it. */
struct wo_fleet_entry {
  struct wo_view key;     /* empty: the column is not known */
  struct wo_view about;   /* of the example; may be empty */
  struct wo_view example; /* path of the first failed job */
  struct wo_fleet_sum sum;
};

/* The values with the most lost hours and those with the most failed jobs, in the order of hours; values without a failed job are
 * in no list but OUTCOME. */
struct wo_fleet_list {
  const struct wo_fleet_entry *items;
  size_t count;
  int64_t others; /* further values */
  struct wo_fleet_sum rest;
};

enum wo_fleet_list_id {
#define WO_FLEET_LIST(list, column, heading, about, sort) WO_FLEET_BY_##list,
#include "analyzer/fleet/fleet_lists.def"
#undef WO_FLEET_LIST
  WO_FLEET_LIST_COUNT_
};

/* The column of a list, and its heading. */
const char *wo_fleet_list_column(enum wo_fleet_list_id list);
const char *wo_fleet_list_heading(enum wo_fleet_list_id list);

/* Jobs that failed alike: the same cause at the same place of the user's code with the same settings. */
struct wo_fleet_cluster {
  struct wo_view cause, place, settings, title;
  struct wo_view example; /* path of the first job */
  int64_t users;
  struct wo_fleet_sum sum;
};

/* A node on which one kind of failure is more frequent than chance allows. */
struct wo_fleet_node {
  struct wo_view node;
  struct wo_view kind;  /* family of causes: "hardware", "other-process", "communication" */
  struct wo_view words; /* for people */
  int64_t failed, jobs; /* of the kind / that ran there */
  double expected;      /* at the rate of the other nodes */
  double ln_chance;     /* natural logarithm of the chance that any node of a fleet without a bad one looks like this */
  int64_t users;        /* different users among the failed jobs */
  struct wo_view example;
};

/* A job that was submitted again without a change and failed again of the same cause. */
struct wo_fleet_repeat {
  struct wo_view user, name, cause, title;
  struct wo_view work;       /* the hash that its submissions share */
  int64_t submissions;       /* that failed; an array counts once */
  int64_t again_s;           /* GPU-seconds of all but the first of them */
  int64_t again_unknown;     /* jobs among these whose hours are not known */
  int64_t ok;                /* jobs submitted alike that went well */
  int64_t first_ns, last_ns; /* ends; WO_ROW_UNKNOWN */
  struct wo_view example;    /* path of the last one */
};

/* One value of a setting in a sweep. */
struct wo_fleet_value {
  struct wo_view text; /* empty: the job does not show the setting */
  int64_t failed, jobs;
};

/* A setting that has different values in a sweep. */
struct wo_fleet_knob {
  struct wo_view knob;
  const struct wo_fleet_value *values; /* numbers in their order, others by failures */
  size_t value_count;
};

enum wo_fleet_relation { WO_FLEET_AT_LEAST, WO_FLEET_AT_MOST, WO_FLEET_EQUAL, WO_FLEET_OTHER_THAN };

/* A condition on one setting that divides a sweep. */
struct wo_fleet_split {
  struct wo_view knob, value; /* an empty value: the setting is not shown */
  enum wo_fleet_relation relation;
  int64_t failed, jobs;             /* where it holds */
  int64_t other_failed, other_jobs; /* where it does not */
  double ln_chance;                 /* that some condition on some setting of a sweep divides it so well, if no setting matters */
};

enum { WO_FLEET_SPLITS = 3, WO_FLEET_SWEEP_KNOBS = 6, WO_FLEET_SWEEP_VALUES = 16 };

/* Jobs of one array, or of one user, name and folder, of which some failed and some went well. */
struct wo_fleet_sweep {
  struct wo_view array_job, user, name, folder;  /* folder is empty for an array */
  struct wo_view example;                        /* path of the first failed job */
  struct wo_fleet_sum sum;                       /* jobs: failed or ok */
  int64_t left_out;                              /* jobs that end without saying how */
  struct wo_fleet_split splits[WO_FLEET_SPLITS]; /* best first, each of another setting */
  size_t split_count;
  struct wo_fleet_knob
      knobs[WO_FLEET_SWEEP_KNOBS]; /* those of the splits first; without names and numbers of their own for each job */
  size_t knob_count;
  size_t knobs_left_out;
};

/* How a failed run differs from the good one. */
struct wo_fleet_difference {
  struct wo_view name; /* a column, or a setting */
  bool is_setting;
  struct wo_view good, bad; /* for people; empty: not known */
};

struct wo_fleet_baseline {
  bool is_wanted, has_good, has_bad;
  struct wo_row good, bad;
  const struct wo_fleet_difference *differences;
  size_t difference_count;
};

/* Jobs that ended in a span of time. */
struct wo_fleet_day {
  int64_t start_ns;
  struct wo_fleet_sum sum;
};

/* A file or folder that could not be read and belongs to no job. */
struct wo_fleet_problem {
  struct wo_view path, message;
};

struct wo_fleet {
  struct wo_view where; /* the filter in SQL, with a NUL after it, for wo_store_each */
  size_t rows;
  struct wo_fleet_totals totals;
  struct wo_fleet_list lists[WO_FLEET_LIST_COUNT_];
  const struct wo_fleet_cluster *clusters; /* by lost hours, then by jobs */
  size_t cluster_count;
  int64_t clusters_left_out;
  const struct wo_fleet_node *nodes; /* the most improbable first */
  size_t node_count;
  int64_t nodes_seen, nodes_left_out;    /* tested / beyond WO_LIMIT_FLEET_NODES */
  int64_t unplaced;                      /* failed jobs of which no node is known */
  const struct wo_fleet_repeat *repeats; /* by the hours of the repetitions */
  size_t repeat_count;
  int64_t repeats_left_out;
  int64_t again_s, again_unknown;      /* of all repetitions */
  const struct wo_fleet_sweep *sweeps; /* by lost hours */
  size_t sweep_count;
  int64_t sweeps_left_out, sweeps_undivided; /* with a setting that divides them / without one */
  int64_t sweeps_not_compared;               /* beyond WO_LIMIT_FLEET_SWEEPS: those that cost least */
  const struct wo_fleet_day *days;
  size_t day_count;
  int64_t day_span; /* days in each of them */
  int64_t undated;  /* jobs whose end is not known */
  struct wo_fleet_baseline baseline;
  /* These do not depend on the filter. */
  const struct wo_store_shards *shards; /* with which something is wrong */
  size_t shard_count;
  int64_t shards_left_out;
  const struct wo_fleet_problem *problems; /* by path */
  size_t problem_count;
  int64_t problems_left_out;
};

/* Makes the fleet of a store. Memory: the arena (WO_LIMIT_FLEET_BYTES is enough) and that of the store. WO_E_NOMEM, or the errors
 * of the store. */
enum wo_status wo_fleet_make(struct wo_store *store, const struct wo_fleet_options *options, struct wo_arena *arena,
                             struct wo_fleet *ret_fleet, struct wo_err *err);

#endif
