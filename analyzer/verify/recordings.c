/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings of a job, by name. See recordings.h. */
#include "analyzer/verify/recordings.h"

#include "analyzer/files/names.h"

/* Names of snapshots and of other recordings; compressed ones have a further ending. */
static bool is_recording_name(struct wo_view name) {
  static const char *const endings[] = {".pickle", ".pkl", ".jsonl"};
  if (wo_view_ends(name, ".gz")) name.len -= sizeof ".gz" - 1;
  return WO_VIEW_ANY(name, wo_view_ends, endings);
}

static size_t find_given(const struct wo_job *job, struct wo_view *paths, size_t most) {
  size_t count = 0;
  for (size_t i = 0; i < job->input_count && count < most; i++) {
    if (job->inputs[i].is_recording && job->inputs[i].is_path_exact) paths[count++] = job->inputs[i].file;
  }
  return count;
}

/* Files of the job among the entries of a folder, whose name ends with a slash or is empty. */
static size_t find_in(const struct wo_job *job, const struct wo_folder *listed, struct wo_view folder, struct wo_arena *arena,
                      struct wo_view *paths, size_t most) {
  size_t count = 0;
  for (size_t i = 0; i < listed->count && count < most; i++) {
    int64_t task = -1;
    const struct wo_view name = wo_view_of(listed->items[i].name);
    const enum wo_entry_kind kind = listed->items[i].kind;
    if (kind == WO_ENTRY_FOLDER || kind == WO_ENTRY_OTHER || !is_recording_name(name)) continue;
    if (!wo_view_equal(wo_name_id(name, &task), job->story.job_id) || task != job->story.array_task) continue;
    paths[count] = wo_arena_format(arena, "%.*s%.*s", WO_SHOWN(folder), WO_SHOWN(name));
    count += paths[count].ptr != NULL;
  }
  return count;
}

size_t wo_recordings_find(const struct wo_job *job, struct wo_kept_folder *kept, struct wo_arena *arena, struct wo_view *paths,
                          size_t most) {
  size_t count = find_given(job, paths, most);
  if (count > 0 || job->story.job_id.len == 0 || job->input_count == 0 || !job->inputs[0].is_path_exact) return count;
  const struct wo_view first = job->inputs[0].file;
  const struct wo_view folder = wo_view_sub(first, 0, first.len - wo_name_base(first).len);
  const struct wo_view beside = folder.len > 0 ? wo_arena_copy(arena, folder) : WO_VIEW(".");
  const struct wo_view traces = wo_arena_format(arena, "%.*swhyoom-traces/", WO_SHOWN(folder));
  if (beside.ptr == NULL || traces.ptr == NULL) return 0;
  count = find_in(job, wo_kept_folder_list(kept, beside.ptr), folder, arena, paths, most);
  struct wo_folder below = {0};
  wo_folder_list(traces.ptr, is_recording_name, &below, NULL);
  count += find_in(job, &below, traces, arena, paths + count, most - count);
  wo_folder_done(&below);
  return count;
}
