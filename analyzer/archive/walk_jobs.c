/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were found to jobs that are handed out. See walk_internal.h. */
#include <stdlib.h>
#include <sys/stat.h>

#include "analyzer/archive/walk_internal.h"
#include "analyzer/files/grouping.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* Room for the files of one job. */
struct found {
  WO_VEC(struct wo_walk_file) files;
  WO_VEC(size_t) starts; /* of their paths in `paths` */
  struct wo_text paths;  /* one behind the other, each with its NUL */
};

/* Looks at a file once more, now that it is to be read; one of an archive is as the archive says. False if it is none any
 * more. */
static bool look_at(struct wo__walk *walk, const struct wo_tar_member *member, struct wo_walk_file *ret) {
  struct stat info;
  if (member) {
    *ret = (struct wo_walk_file){.device = walk->tar->device,
                                 .size_bytes = member->size_bytes,
                                 .mtime_ns = member->mtime_ns,
                                 .owner = member->uid,
                                 .member = member};
    return true;
  }
  if (stat(walk->path.ptr, &info) == 0) {
    *ret = wo__walk_file(&info);
    return true;
  }
  wo__walk_report_errno(walk, "cannot be looked at");
  return false;
}

static bool add_file(struct wo__walk *walk, struct found *found, const struct wo__listed *listed, uint32_t at,
                     size_t folder_len) {
  struct wo_walk_file file;
  const char *const path = wo__walk_enter(walk, folder_len, listed->names[at]);
  if (!path || !WO_VEC_RESERVE(&found->files, 1, SIZE_MAX) || !WO_VEC_RESERVE(&found->starts, 1, SIZE_MAX)) {
    walk->status = WO_E_NOMEM;
    return false;
  }
  if (!look_at(walk, listed->members ? listed->members[at] : NULL, &file)) return false;
  found->starts.items[found->starts.count++] = found->paths.len;
  found->files.items[found->files.count++] = file;
  wo_text_add_view(&found->paths, (struct wo_view){path, walk->path.len + 1});
  return true;
}

static bool is_in_time(const struct wo__walk *walk, const struct found *found, size_t log_count) {
  const struct wo_walk_options *const options = walk->options;
  int64_t newest_ns = INT64_MIN;
  for (size_t i = 0; i < log_count; i++) {
    if (found->files.items[i].mtime_ns > newest_ns) newest_ns = found->files.items[i].mtime_ns;
  }
  return (options->since_ns == WO_WALK_ANY_TIME || newest_ns >= options->since_ns) &&
         (options->until_ns == WO_WALK_ANY_TIME || newest_ns <= options->until_ns);
}

/* Whether a job of that first log is of this walk's shard. The path below the root decides, so that all walks agree wherever the
 * archive is mounted. */
static bool is_of_shard(struct wo__walk *walk, size_t folder_len, const char *name) {
  if (walk->options->shard_count <= 1) return true;
  if (!wo__walk_enter(walk, folder_len, name)) return false;
  const uint64_t hash = wo_view_hash(WO_HASH_START, wo_view_skip(wo__walk_path(walk), walk->root_len));
  return hash % walk->options->shard_count == walk->options->shard;
}

/* Hands out one job. `members` are indices into the listed names, logs first. */
static void hand_out(struct wo__walk *walk, struct found *found, const struct wo__listed *listed, size_t folder_len,
                     const struct wo_group *group) {
  size_t logs = 0;
  found->files.count = found->starts.count = found->paths.len = 0;
  if (!is_of_shard(walk, folder_len, listed->names[group->members[0]])) return;
  for (uint32_t i = 0; i < group->member_count; i++) {
    const bool is_there = add_file(walk, found, listed, group->members[i], folder_len);
    if (is_there && i < group->log_count) logs++;
  }
  if (found->paths.is_failed) walk->status = WO_E_NOMEM;
  if (logs == 0 || walk->status != WO_OK) return;
  if (!is_in_time(walk, found, logs)) {
    walk->counts.out_of_time += found->files.count;
    return;
  }
  for (size_t i = 0; i < found->files.count; i++) found->files.items[i].path = found->paths.ptr + found->starts.items[i];
  walk->counts.files += found->files.count;
  const struct wo_walk_job job = {found->files.items, found->files.count, logs, group->name, walk->tar};
  if (!walk->hooks->on_job(walk->hooks->context, &job, &walk->counts)) walk->is_over = true;
}

/* Files whose names say that they are no logs are jobs of their own where the user asks for them. */
static void hand_out_rest(struct wo__walk *walk, struct found *found, const struct wo__listed *listed, size_t folder_len,
                          const struct wo_grouping *grouping) {
  for (uint32_t i = 0; i < grouping->rest_count && !wo__walk_is_cancelled(walk); i++) {
    const char *const name = listed->names[grouping->rest[i]];
    if (walk->options->include_count == 0) {
      walk->counts.nameless++;
      continue;
    }
    const struct wo_group group = {.name = wo_view_of(name), .members = &grouping->rest[i], .member_count = 1, .log_count = 1};
    hand_out(walk, found, listed, folder_len, &group);
  }
}

static void hand_out_accounting(struct wo__walk *walk, const struct wo__listed *listed, size_t folder_len) {
  for (size_t i = 0; i < listed->count && !wo__walk_is_cancelled(walk); i++) {
    if (!wo_group_is_accounting(wo_view_of(listed->names[i]))) continue;
    const char *const path = wo__walk_enter(walk, folder_len, listed->names[i]);
    if (path && walk->tar)
      walk->hooks->on_archive_accounting(walk->hooks->context, walk->tar, listed->members[i], path);
    else if (path)
      walk->hooks->on_accounting(walk->hooks->context, path);
  }
}

void wo__walk_hand_out(struct wo__walk *walk, const struct wo__listed *listed, size_t folder_len, double share) {
  struct wo_arena arena;
  struct wo_grouping grouping;
  struct found found = {0};
  if (listed->count == 0) return;
  if (walk->hooks->on_accounting) {
    hand_out_accounting(walk, listed, folder_len);
    return;
  }
  wo_arena_init(&arena, WO_LIMIT_GROUPING_BYTES);
  walk->status = wo_group_paths(listed->names, (uint32_t)listed->count, &arena, &grouping);
  const double before = walk->counts.share;
  for (uint32_t i = 0; walk->status == WO_OK && i < grouping.group_count && !wo__walk_is_cancelled(walk); i++) {
    walk->counts.share = before + share * i / grouping.group_count;
    hand_out(walk, &found, listed, folder_len, &grouping.groups[i]);
  }
  walk->counts.share = before;
  if (walk->status == WO_OK) hand_out_rest(walk, &found, listed, folder_len, &grouping);
  wo_arena_done(&arena);
  wo_text_done(&found.paths);
  WO_VEC_DONE(&found.files);
  WO_VEC_DONE(&found.starts);
}
