/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts of a launcher: if torchrun restarts its workers, their logs go to a new folder, "attempt_1" beside "attempt_0". Each
 * attempt is one run over all of its files. The launcher of each node counts its own attempts. */
#include <stdlib.h>

#include "analyzer/files/names.h"
#include "analyzer/story/story_internal.h"

/* Shorter names first: the order only has to bring equal names together. */
static int compare_views(struct wo_view a, struct wo_view b) {
  if (a.len != b.len) return a.len < b.len ? -1 : 1;
  return a.len > 0 ? memcmp(a.ptr, b.ptr, a.len) : 0;
}

static int compare_runs(const void *a, const void *b) {
  const struct wo_run *x = a;
  const struct wo_run *y = b;
  const int order = compare_views(x->launch_folder, y->launch_folder);
  if (order != 0) return order;
  return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

/* The run of this attempt, or -1. */
static int32_t find_run(const struct wo_story *story, const struct wo_name_attempt *name) {
  for (size_t r = 0; r < story->run_count; r++) {
    const struct wo_run *run = &story->runs[r];
    if (run->attempt == (uint32_t)name->attempt + 1 && wo_view_equal(run->launch_folder, name->folder)) return (int32_t)r;
  }
  return -1;
}

/* Makes a run for each attempt in the names of the inputs. Attempts beyond the limit of runs are left out. */
static void collect(struct wo_job *job) {
  struct wo_story *story = &job->story;
  for (size_t i = 0; i < job->input_count && story->run_count < story->run_room; i++) {
    struct wo_name_attempt name;
    if (!wo_name_attempt(job->inputs[i].path, &name) || find_run(story, &name) >= 0) continue;
    story->runs[story->run_count++] = (struct wo_run){.file = (uint32_t)i,
                                                      .first_line = 1,
                                                      .last_line = 1,
                                                      .failure = WO_EVENT_NONE,
                                                      .step_first = -1,
                                                      .step_last = -1,
                                                      .launch_folder = name.folder,
                                                      .attempt = (uint32_t)name.attempt + 1};
  }
  if (story->run_count > 1) qsort(story->runs, story->run_count, sizeof *story->runs, compare_runs);
}

/* Drops the runs of launchers that made only one attempt. The last attempt of each launcher is current. */
static void keep_several(struct wo_story *story) {
  const size_t count = story->run_count;
  story->run_count = 0;
  for (size_t from = 0; from < count;) {
    size_t to = from + 1;
    while (to < count && wo_view_equal(story->runs[to].launch_folder, story->runs[from].launch_folder)) to++;
    story->runs[to - 1].is_current = true;
    for (size_t r = from; to - from > 1 && r < to; r++) story->runs[story->run_count++] = story->runs[r];
    from = to;
  }
}

enum wo_status wo__attempts_find(struct wo_job *job, const int32_t **ret_run_of_file) {
  int32_t *run_of_file = wo_arena_array(&job->arena, job->input_count + 1, sizeof *run_of_file);
  if (!run_of_file) return WO_E_NOMEM;
  collect(job);
  keep_several(&job->story);
  for (size_t i = 0; i < job->input_count; i++) {
    struct wo_name_attempt name;
    run_of_file[i] = wo_name_attempt(job->inputs[i].path, &name) ? find_run(&job->story, &name) : -1;
  }
  *ret_run_of_file = run_of_file;
  return WO_OK;
}
