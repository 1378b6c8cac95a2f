/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a call to the jobs that it is about.
 *
 * A word is a file, "-" for standard input, a folder (all jobs below it), or the number of a job ("4711", "4711_3") whose files
 * are looked for in the present folder; a file of such a name wins. Files are one job, whatever they are called, unless their
 * names hold the ids of two jobs, or two tasks of an array (docs/decisions/0029-files-of-one-call.md): then each log goes to the
 * job of its id, and the others join as in a scan (analyzer/files/grouping.h). No file is opened. */
#ifndef WO_INTAKE_H
#define WO_INTAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/arena.h"
#include "parsers/base/status.h"
#include "parsers/base/text.h"

struct wo_intake_job {
  char **paths; /* at least one; logs first where names decided */
  size_t count;
  struct wo_view name; /* "4711", "4711_3", or the words of its first log's name; empty for the only job of a call */
};

struct wo_intake {
  struct wo_arena arena;
  struct wo_intake_job *jobs;
  size_t job_count, job_capacity;
  bool has_more_jobs; /* than WO_LIMIT_CALL_JOBS */
  bool is_incomplete; /* a word names nothing, or belongs to no single job; a line in `errors` says which */
};

/* Fills *ret, which must be released also on failure. The words are borrowed. Lines for `errors`: which files a number stands
 * for, and what is wrong with a word. At most WO_LIMIT_CALL_JOBS jobs; the rest is left out with a line. WO_E_NOMEM. */
enum wo_status wo_intake_make(char **words, size_t count, struct wo_text *errors, struct wo_intake *ret);

void wo_intake_done(struct wo_intake *intake);

/* Whether names of logs are of several jobs for sure: they hold two ids, or two tasks of one array. Names two of the jobs in
 * *ret_first and *ret_second, which live in the arena or the paths. False also without memory: the arena is then exhausted. */
bool wo_intake_are_apart(const char *const *paths, size_t count, struct wo_arena *arena, struct wo_view *ret_first,
                         struct wo_view *ret_second);

/* Whether folders hold more than one job together, so that a table is more use than reports. Stops at the second one. */
bool wo_intake_has_many_jobs(char **folders, size_t count);

#endif
