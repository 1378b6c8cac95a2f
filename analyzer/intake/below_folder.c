/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs below a folder that stands among the words. See intake_internal.h. */
#include <string.h>

#include "analyzer/archive/walk.h"
#include "analyzer/intake/intake_internal.h"
#include "parsers/base/command/message.h"

struct below {
  struct wo_intake *intake;
  struct wo_text *errors; /* NULL: jobs are counted only */
  size_t count;
};

static const struct wo_walk_options any_time = {.since_ns = WO_WALK_ANY_TIME, .until_ns = WO_WALK_ANY_TIME};

static bool add_job(void *context, const struct wo_walk_job *job, const struct wo_walk_counts *counts) {
  (void)counts;
  struct below *const below = context;
  struct wo_arena *const arena = &below->intake->arena;
  struct wo_intake_job one = {.count = job->file_count};
  one.paths = wo_arena_array(arena, job->file_count + 1, sizeof *one.paths);
  for (size_t i = 0; one.paths != NULL && i < job->file_count; i++)
    one.paths[i] = (char *)(uintptr_t)wo_arena_copy(arena, wo_view_of(job->files[i].path)).ptr;
  below->count++;
  return !wo_arena_is_exhausted(arena) && wo__intake_add_job(below->intake, one);
}

static void report_problem(void *context, const char *path, const struct wo_err *err) {
  const struct below *const below = context;
  below->intake->is_incomplete = true;
  wo_message_error(below->errors, wo_view_of(path), err);
}

enum wo_status wo__intake_walk(struct wo_intake *intake, const char *folder, bool is_flat, struct wo_text *errors) {
  struct wo_walk_options options = any_time;
  options.is_flat = is_flat;
  struct below below = {.intake = intake, .errors = errors};
  const struct wo_walk_hooks hooks = {.context = &below, .on_job = add_job, .on_problem = report_problem};
  struct wo_walk_counts counts = {0};
  const enum wo_status status = wo_walk(&folder, 1, &options, &hooks, NULL, &counts);
  if (status == WO_OK && below.count == 0) {
    wo_message(errors, wo_view_of(folder),
               is_flat
                   ? "is a folder without a log, by the names in it (`whyoom scan` looks below it, too)"
                   : "holds no log by the names in and below it: there is nothing to read (`whyoom scan --include '*.txt'` reads "
                     "files of other names)");
  }
  return status;
}

static bool count_job(void *context, const struct wo_walk_job *job, const struct wo_walk_counts *counts) {
  (void)job;
  (void)counts;
  size_t *const count = context;
  return ++*count < 2;
}

static void pass_over(void *context, const char *path, const struct wo_err *err) {
  (void)context;
  (void)path;
  (void)err;
}

bool wo_intake_has_many_jobs(char **folders, size_t count) {
  size_t jobs = 0;
  const struct wo_walk_hooks hooks = {.context = &jobs, .on_job = count_job, .on_problem = pass_over};
  struct wo_walk_counts counts = {0};
  return wo_walk((const char *const *)folders, count, &any_time, &hooks, NULL, &counts) != WO_OK || jobs > 1;
}
