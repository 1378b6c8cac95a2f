/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the words of a call. See intake.h. */
#include "analyzer/intake/intake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/files/names.h"
#include "analyzer/intake/intake_internal.h"
#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"

/* The names of jobs that were not told apart by names. */
static enum wo_status name_jobs(struct wo_intake *intake) {
  for (size_t i = 0; i < intake->job_count && intake->job_count > 1; i++) {
    struct wo_intake_job *const job = &intake->jobs[i];
    const char *const base = wo_name_base(wo_view_of(job->paths[0])).ptr;
    struct wo_grouping grouping;
    if (job->name.len > 0) continue;
    if (wo_group_paths(&base, 1, &intake->arena, &grouping) != WO_OK) return WO_E_NOMEM;
    job->name = grouping.group_count > 0 ? wo__intake_name(&intake->arena, grouping.groups, base) : wo_view_of(base);
  }
  return WO_OK;
}

/* ---- Words ---- */

enum sort { SORT_FILE, SORT_FOLDER, SORT_NUMBER };

static enum sort sort_of(const char *word) {
  struct stat info;
  if (strcmp(word, "-") == 0) return SORT_FILE;
  if (stat(word, &info) == 0) return S_ISDIR(info.st_mode) ? SORT_FOLDER : SORT_FILE;
  return wo__intake_is_number(wo_view_of(word)) ? SORT_NUMBER : SORT_FILE;
}

/* Files and numbers to paths. */
static enum wo_status take_files(struct wo_intake *intake, char **words, size_t count, struct wo__paths *paths,
                                 bool *ret_is_mixed, struct wo_text *errors) {
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < count && status == WO_OK; i++) {
    const enum sort sort = sort_of(words[i]);
    if (sort == SORT_FILE && !wo__paths_add(paths, words[i])) status = WO_E_NOMEM;
    if (sort == SORT_NUMBER) status = wo__intake_find(intake, wo_view_of(words[i]), paths, errors);
    if (sort != SORT_FOLDER) *ret_is_mixed = true;
  }
  return status;
}

/* Beside files only the logs of the folder itself are meant: `whyoom *` names a job's other folders, too, and what tools keep
 * below them are no jobs. */
static enum wo_status take_folders(struct wo_intake *intake, char **words, size_t count, bool is_mixed, struct wo_text *errors) {
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < count && status == WO_OK; i++) {
    if (sort_of(words[i]) == SORT_FOLDER) status = wo__intake_walk(intake, words[i], is_mixed, errors);
  }
  return status;
}

enum wo_status wo_intake_make(char **words, size_t count, struct wo_text *errors, struct wo_intake *ret) {
  struct wo__paths paths = {0};
  bool is_mixed = false;
  *ret = (struct wo_intake){0};
  wo_arena_init(&ret->arena, WO_LIMIT_GROUPING_BYTES);
  enum wo_status status = take_files(ret, words, count, &paths, &is_mixed, errors);
  if (status == WO_OK) status = wo__intake_split(ret, &paths, errors);
  if (status == WO_OK) status = take_folders(ret, words, count, is_mixed, errors);
  if (status == WO_OK) status = name_jobs(ret);
  wo__paths_done(&paths);
  if (ret->job_count == 0) ret->is_incomplete = true;
  if (ret->has_more_jobs) {
    ret->is_incomplete = true;
    wo_message(errors, (struct wo_view){0}, "only the first %zu jobs are reported: `whyoom scan` reports all of them together",
               WO_LIMIT_CALL_JOBS);
  }
  return wo_arena_is_exhausted(&ret->arena) ? WO_E_NOMEM : status;
}

void wo_intake_done(struct wo_intake *intake) {
  free(intake->jobs);
  wo_arena_done(&intake->arena);
  *intake = (struct wo_intake){0};
}
