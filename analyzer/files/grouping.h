/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which files of a scan belong to the same job, by their names alone.
 *
 * The logs of a job are the files that SLURM names after it: "slurm-4711.out" (%j), "train_4711_3.err" (%A_%a: each task of an
 * array is a job of its own), "out-4711.0" to ".3" (one file for each rank), "4711_0_log.out" (submitit: rank 0), or, without an
 * id, files whose names differ only in the stream ("train.out", "train.err"); "err.0" alone names no job, so it joins the one job
 * of its folder that has an id. Monitor and accounting files join by the id in their names. Scripts and configurations have no
 * id: they join the jobs whose logs have their name ("train.sbatch", "train-4711.out"), or all jobs of the folder if it has only
 * one file of that sort.
 *
 * A job is always within one folder. No file is opened, and names can be wrong: the content is read later. */
#ifndef WO_GROUPING_H
#define WO_GROUPING_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/arena.h"
#include "parsers/base/status.h"

/* The files of one job. */
struct wo_group {
  struct wo_view folder;   /* with its slash; empty for the current one */
  struct wo_view job_id;   /* empty when the names have none */
  int64_t array_task;      /* or -1 */
  struct wo_view name;     /* words of the first log's name without id, rank, stream and ending, divided by '-'; or empty */
  const uint32_t *members; /* indexes into the paths: logs in the order given, then the files that join them */
  uint32_t member_count;
  uint32_t log_count; /* at least 1 */
};

struct wo_grouping {
  const struct wo_group *groups; /* in the order of their first logs */
  uint32_t group_count;
  const uint32_t *rest; /* paths of no job, in the order given */
  uint32_t rest_count;
};

/* Sorts paths into jobs. The paths are borrowed, the result lives in the arena. A path can be in several groups (one script, many
 * jobs) or in none. WO_E_NOMEM; *ret is not set then. */
enum wo_status wo_group_paths(const char *const *paths, uint32_t count, struct wo_arena *arena, struct wo_grouping *ret);

/* Whether a file can belong to a job by its name, whatever lies beside it. The others are always in wo_grouping.rest. */
bool wo_group_can_join(struct wo_view path);

/* Whether a file's name is that of a log, which can make a job by itself: no script, configuration, monitor or accounting. */
bool wo_group_is_log(struct wo_view path);

/* Whether a file's name is that of a script or a configuration, which jobs can share. */
bool wo_group_is_shared(struct wo_view path);

/* Whether a file's name says that it holds accounting, and of no single job: "sacct-2026-11.txt". */
bool wo_group_is_accounting(struct wo_view path);

/* When a file was written, by the time stamps of its lines: nanoseconds since 1970, of one clock. */
struct wo_group_span {
  uint32_t path; /* index into the paths */
  int64_t first_ns;
  int64_t last_ns; /* not less than first_ns */
};

/* A monitor's file that belongs to a job by its time. */
struct wo_group_match {
  uint32_t path;  /* of the monitor's file */
  uint32_t group; /* index into grouping->groups */
};

/* Finds the jobs of monitor and accounting files whose names have no id (grouping->rest): the job of the same folder whose logs
 * were written within the file's span, widened by a minute at both ends. A file whose span fits several jobs, such as a trace of
 * a whole day, belongs to none. `spans` holds one entry for each file whose times are known, in any order; files without one are
 * left out. Pure. Returns the number of matches; `matches` has room for grouping->rest_count. */
uint32_t wo_group_by_time(const struct wo_grouping *grouping, const char *const *paths, const struct wo_group_span *spans,
                          uint32_t span_count, struct wo_group_match *matches);

#endif
