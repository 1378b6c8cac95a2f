/* SPDX-License-Identifier: Apache-2.0 */
/* Files to jobs, by the ids in their names. See intake_internal.h. */
#include <string.h>
#include <sys/stat.h>

#include "analyzer/files/grouping.h"
#include "analyzer/files/names.h"
#include "analyzer/intake/intake_internal.h"
#include "parsers/base/command/message.h"

struct split {
  struct wo_intake *intake;
  const struct wo__paths *paths;
  struct wo_grouping grouping; /* of their last parts: a call may name files of one job in several folders */
  struct wo__paths *extra;     /* for each group: files that join it by an id in their names */
  struct wo_text *errors;
};

/* ---- Whether there is more than one job ---- */

/* A number with a zero before it counts files: "log.000". */
static bool has_id(const struct wo_group *group) {
  return group->job_id.len > 0 && group->job_id.ptr[0] != '0';
}

/* Whether two groups are of different jobs for sure: other ids, or other tasks of one array. */
static bool are_apart(const struct wo_group *a, const struct wo_group *b) {
  if (!has_id(a) || !has_id(b)) return false;
  if (!wo_view_equal(a->job_id, b->job_id)) return true;
  return a->array_task >= 0 && b->array_task >= 0 && a->array_task != b->array_task;
}

/* Looks for a group that is apart from the first one with an id; NULL: all is one job. */
static const struct wo_group *find_other_job(const struct wo_grouping *grouping, const struct wo_group **ret_first) {
  const struct wo_group *first = NULL;
  for (uint32_t i = 0; i < grouping->group_count; i++) {
    const struct wo_group *const group = &grouping->groups[i];
    if (!has_id(group)) continue;
    *ret_first = first;
    if (first != NULL && are_apart(first, group)) return group;
    if (first == NULL || first->array_task < 0) first = group;
  }
  return NULL;
}

/* Files of one job can lie in several folders, so the last parts of the paths decide. */
static enum wo_status group_names(const char *const *paths, size_t count, struct wo_arena *arena, struct wo_grouping *ret) {
  const char **const names = wo_arena_array(arena, count + 1, sizeof *names);
  if (names == NULL) return WO_E_NOMEM;
  for (size_t i = 0; i < count; i++) names[i] = wo_name_base(wo_view_of(paths[i])).ptr;
  return wo_group_paths(names, (uint32_t)count, arena, ret);
}

bool wo_intake_are_apart(const char *const *paths, size_t count, struct wo_arena *arena, struct wo_view *ret_first,
                         struct wo_view *ret_second) {
  struct wo_grouping grouping;
  const struct wo_group *first = NULL;
  if (group_names(paths, count, arena, &grouping) != WO_OK) return false;
  const struct wo_group *const second = find_other_job(&grouping, &first);
  if (second == NULL) return false;
  *ret_first = wo__intake_name(arena, first, paths[first->members[0]]);
  *ret_second = wo__intake_name(arena, second, paths[second->members[0]]);
  return true;
}

/* ---- The jobs ---- */

static enum wo_status add_all(struct split *split) {
  const size_t count = split->paths->count;
  struct wo_intake_job job = {.count = count};
  job.paths = wo_arena_array(&split->intake->arena, count + 1, sizeof *job.paths);
  if (job.paths == NULL) return WO_E_NOMEM;
  memcpy(job.paths, split->paths->items, count * sizeof *job.paths);
  return wo__intake_add_job(split->intake, job) ? WO_OK : WO_E_NOMEM;
}

/* Beyond the limit of jobs the rest is left out, which wo_intake_make reports. */
static enum wo_status add_group(struct split *split, uint32_t at) {
  const struct wo_group *const group = &split->grouping.groups[at];
  const struct wo__paths *const extra = &split->extra[at];
  struct wo_intake_job job = {.name = wo__intake_name(&split->intake->arena, group, split->paths->items[group->members[0]])};
  job.paths = wo_arena_array(&split->intake->arena, group->member_count + extra->count + 1, sizeof *job.paths);
  if (job.paths == NULL) return WO_E_NOMEM;
  for (uint32_t i = 0; i < group->member_count; i++) job.paths[job.count++] = split->paths->items[group->members[i]];
  for (size_t i = 0; i < extra->count; i++) job.paths[job.count++] = extra->items[i];
  wo__intake_add_job(split->intake, job);
  return WO_OK;
}

/* ---- Files of no group ---- */

/* A recording of allocations has the id of its job in its name, too. */
static enum wo_status join_by_id(struct split *split, const char *path, bool *ret_is_joined) {
  int64_t task = -1;
  const struct wo_view id = wo_name_id(wo_view_of(path), &task);
  *ret_is_joined = false;
  for (uint32_t i = 0; i < split->grouping.group_count && id.len > 0; i++) {
    const struct wo_group *const group = &split->grouping.groups[i];
    if (!wo_view_equal(group->job_id, id) || (task >= 0 && task != group->array_task)) continue;
    if (!wo__paths_add(&split->extra[i], path)) return WO_E_NOMEM;
    *ret_is_joined = true;
  }
  return WO_OK;
}

/* Standard input and an archive are jobs by themselves; all else that has no id is of a job that nobody can name. */
static enum wo_status place_rest(struct split *split, char *path) {
  struct stat info;
  bool is_joined = false;
  const bool is_stream = strcmp(path, "-") == 0 || wo_view_starts(wo_view_of(path), "/dev/");
  if (is_stream || wo_name_is_archive(wo_view_of(path))) {
    char **const own = wo_arena_array(&split->intake->arena, 2, sizeof *own);
    if (own == NULL) return WO_E_NOMEM;
    own[0] = path;
    const struct wo_view name = is_stream ? WO_VIEW("standard input") : wo_name_base(wo_view_of(path));
    wo__intake_add_job(split->intake, (struct wo_intake_job){own, 1, name});
    return WO_OK;
  }
  if (join_by_id(split, path, &is_joined) != WO_OK) return WO_E_NOMEM;
  if (is_joined) return WO_OK;
  split->intake->is_incomplete = true;
  wo_message(split->errors, wo_view_of(path),
             stat(path, &info) == 0
                 ? "was not read: its name does not say of which of these jobs it is; name it with the files of "
                   "one job"
                 : "cannot be opened: there is no such file");
  return WO_OK;
}

static enum wo_status add_groups(struct split *split) {
  enum wo_status status = WO_OK;
  for (uint32_t i = 0; i < split->grouping.rest_count && status == WO_OK; i++)
    status = place_rest(split, split->paths->items[split->grouping.rest[i]]);
  for (uint32_t i = 0; i < split->grouping.group_count && status == WO_OK; i++) status = add_group(split, i);
  return status;
}

enum wo_status wo__intake_split(struct wo_intake *intake, const struct wo__paths *paths, struct wo_text *errors) {
  struct split split = {.intake = intake, .paths = paths, .errors = errors};
  if (paths->count == 0) return WO_OK;
  const struct wo_group *first = NULL;
  enum wo_status status = group_names((const char *const *)paths->items, paths->count, &intake->arena, &split.grouping);
  if (status != WO_OK) return status;
  if (find_other_job(&split.grouping, &first) == NULL) return add_all(&split);
  split.extra = wo_arena_array(&intake->arena, split.grouping.group_count, sizeof *split.extra);
  status = split.extra != NULL ? add_groups(&split) : WO_E_NOMEM;
  for (uint32_t i = 0; split.extra != NULL && i < split.grouping.group_count; i++) wo__paths_done(&split.extra[i]);
  return status;
}
