/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and jobs of an intake, one after the other. See intake_internal.h. */
#include "analyzer/files/names.h"
#include "analyzer/intake/intake_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

bool wo__paths_add(struct wo__paths *paths, const char *path) {
  if (!WO_VEC_RESERVE(paths, 1, SIZE_MAX)) return false;
  paths->items[paths->count++] = (char *)(uintptr_t)path;
  return true;
}

void wo__paths_done(struct wo__paths *paths) {
  WO_VEC_DONE(paths);
}

bool wo__intake_add_job(struct wo_intake *intake, struct wo_intake_job job) {
  WO_VEC(struct wo_intake_job) jobs = {intake->jobs, intake->job_count, intake->job_capacity};
  if (!WO_VEC_RESERVE(&jobs, 1, WO_LIMIT_CALL_JOBS)) {
    *(intake->job_count < WO_LIMIT_CALL_JOBS ? &intake->arena.is_exhausted : &intake->has_more_jobs) = true;
    return false;
  }
  intake->jobs = jobs.items;
  intake->job_capacity = jobs.capacity;
  intake->jobs[intake->job_count++] = job;
  return true;
}

struct wo_view wo__intake_name(struct wo_arena *arena, const struct wo_group *group, const char *first_log) {
  if (group->job_id.len > 0 && group->array_task >= 0)
    return wo_arena_format(arena, "%.*s_%lld", WO_SHOWN(group->job_id), (long long)group->array_task);
  return group->job_id.len > 0 ? group->job_id : wo_name_base(wo_view_of(first_log));
}
