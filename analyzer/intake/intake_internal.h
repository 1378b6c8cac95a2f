/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the intake: paths that are collected, and the ways from a word to them. Shared by the files of this room. */
#ifndef WO_INTAKE_INTERNAL_H
#define WO_INTAKE_INTERNAL_H

#include "analyzer/files/grouping.h"
#include "analyzer/intake/intake.h"

/* ---- parts.c ---- */

struct wo__paths {
  char **items;
  size_t count, capacity;
};

/* Adds a path that lives as long as the intake. False without memory. */
bool wo__paths_add(struct wo__paths *paths, const char *path);
void wo__paths_done(struct wo__paths *paths);

/* Adds a job. False beyond WO_LIMIT_CALL_JOBS, or without memory: the arena then counts as exhausted. */
bool wo__intake_add_job(struct wo_intake *intake, struct wo_intake_job job);

/* "4711", "4711_3", or the name of its first log. Lives in the arena, or in the path. */
struct wo_view wo__intake_name(struct wo_arena *arena, const struct wo_group *group, const char *first_log);

/* ---- split.c ---- */

/* The files to jobs: one, or one for each id in their names. */
enum wo_status wo__intake_split(struct wo_intake *intake, const struct wo__paths *paths, struct wo_text *errors);

/* ---- job_number.c ---- */

/* Whether a word has the form of a job's number: "4711", "4711_3". */
bool wo__intake_is_number(struct wo_view word);

/* Adds the files of that job in the present folder, but for those that are among the paths. Says which, or that there are none:
 * the intake is then incomplete. */
enum wo_status wo__intake_find(struct wo_intake *intake, struct wo_view number, struct wo__paths *paths, struct wo_text *errors);

/* ---- below_folder.c ---- */

/* Adds the jobs of a folder; `is_flat`: not of the folders in it. */
enum wo_status wo__intake_walk(struct wo_intake *intake, const char *folder, bool is_flat, struct wo_text *errors);

#endif
