/* The walk: lists a folder, hands out its jobs, then goes into its folders. See walk.h. */
#include "analyzer/archive/walk.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/archive/folder.h"
#include "analyzer/files/grouping.h"
#include "analyzer/files/names.h"
#include "parsers/base/limits.h"
#include "parsers/base/text.h"
#include "parsers/base/vec.h"

/* A folder that is being walked, below the one that leads to it. */
struct level {
  const struct level *above;
  uint64_t device, inode;
  unsigned depth;
};

struct walk {
  const struct wo_walk_options *options;
  const struct wo_walk_hooks *hooks;
  const volatile sig_atomic_t *is_cancelled;
  struct wo_walk_counts counts;
  struct wo_text path; /* of the folder, or of the file that is looked at */
  size_t root_len;     /* of the root's part of it, its slash included */
  uint64_t root_device;
  enum wo_status status;
  bool is_over;
};

/* Folders that hold copies of everything below them, or nothing that is a log. */
static const char *const passed_over[] = {".snapshot", ".snapshots", ".zfs", ".git"};

/* ---- Paths ---- */

static struct wo_view path_view(const struct walk *walk) {
  return (struct wo_view){walk->path.ptr, walk->path.len};
}

/* Puts a name behind a folder's path, which is `folder_len` long. NULL without memory. */
static const char *enter(struct walk *walk, size_t folder_len, const char *name) {
  walk->path.len = folder_len;
  wo_text_add(&walk->path, "%s", name);
  if (walk->path.is_failed)
    walk->status = WO_E_NOMEM;
  else
    walk->path.ptr[walk->path.len] = '\0'; /* an empty name adds nothing */
  return walk->path.is_failed ? NULL : walk->path.ptr;
}

/* The folder at the path, for the system. */
static const char *folder_path(const struct walk *walk) {
  return walk->path.len > 0 ? walk->path.ptr : ".";
}

/* Makes the path end with a slash, unless it is that of the present folder. */
static void add_slash(struct walk *walk) {
  if (walk->path.len == 0 || walk->path.ptr[walk->path.len - 1] == '/') return;
  wo_text_add_view(&walk->path, WO_VIEW("/"));
  if (walk->path.is_failed) walk->status = WO_E_NOMEM;
}

static void report_problem(struct walk *walk, const struct wo_err *err) {
  if (err->code == WO_E_NOMEM) walk->status = WO_E_NOMEM;
  if (!walk->hooks->on_accounting) walk->hooks->on_problem(walk->hooks->context, walk->path.ptr, err);
}

static void report_errno(struct walk *walk, const char *what) {
  struct wo_err err = {0};
  wo_err_set(&err, WO_E_IO, "%s: %s", what, strerror(errno));
  report_problem(walk, &err);
}

/* ---- Which files ---- */

/* Patterns with a slash are of paths below the root, the others of names. Views of the command line end with a NUL. */
static bool is_any(const struct walk *walk, const struct wo_view *patterns, size_t count) {
  const char *const below = walk->path.ptr + walk->root_len;
  const char *const slash = strrchr(walk->path.ptr, '/');
  const char *const name = slash ? slash + 1 : walk->path.ptr;
  for (size_t i = 0; i < count; i++) {
    const bool is_of_path = wo_view_find_char(patterns[i], '/', 0) != WO_NOT_FOUND;
    if (fnmatch(patterns[i].ptr, is_of_path ? below : name, 0) == 0) return true;
  }
  return false;
}

static bool is_excluded(const struct walk *walk) {
  return is_any(walk, walk->options->exclude, walk->options->exclude_count);
}

static bool is_included(const struct walk *walk) {
  return is_any(walk, walk->options->include, walk->options->include_count);
}

/* ---- Jobs ---- */

/* The files of a folder that may belong to jobs. */
struct listed {
  const char **names;
  size_t count, capacity;
};

/* Room for the files of one job. */
struct found {
  WO_VEC(struct wo_walk_file) files;
  WO_VEC(size_t) starts; /* of their paths in `paths` */
  struct wo_text paths;  /* one behind the other, each with its NUL */
};

/* Looks at a file once more, now that it is to be read. False if it is none any more. */
static bool add_file(struct walk *walk, struct found *found, size_t folder_len, const char *name) {
  struct stat info;
  const char *const path = enter(walk, folder_len, name);
  if (!path || !WO_VEC_RESERVE(&found->files, 1, SIZE_MAX) || !WO_VEC_RESERVE(&found->starts, 1, SIZE_MAX)) {
    walk->status = WO_E_NOMEM;
    return false;
  }
  if (stat(path, &info) != 0) {
    report_errno(walk, "cannot be looked at");
    return false;
  }
  found->starts.items[found->starts.count++] = found->paths.len;
  found->files.items[found->files.count++] =
      (struct wo_walk_file){.device = (uint64_t)info.st_dev,
                            .inode = (uint64_t)info.st_ino,
                            .size_bytes = (int64_t)info.st_size,
                            .mtime_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec,
                            .owner = (uint32_t)info.st_uid};
  wo_text_add_view(&found->paths, (struct wo_view){path, walk->path.len + 1});
  return true;
}

static bool is_in_time(const struct walk *walk, const struct found *found, size_t log_count) {
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
static bool is_of_shard(struct walk *walk, size_t folder_len, const char *name) {
  if (walk->options->shard_count <= 1) return true;
  if (!enter(walk, folder_len, name)) return false;
  const uint64_t hash = wo_view_hash(WO_HASH_START, wo_view_skip(path_view(walk), walk->root_len));
  return hash % walk->options->shard_count == walk->options->shard;
}

/* Hands out one job. `members` are indices into the listed names, logs first. */
static void hand_out(struct walk *walk, struct found *found, const struct listed *listed, size_t folder_len,
                     const struct wo_group *group) {
  size_t logs = 0;
  found->files.count = found->starts.count = found->paths.len = 0;
  if (!is_of_shard(walk, folder_len, listed->names[group->members[0]])) return;
  for (uint32_t i = 0; i < group->member_count; i++) {
    const bool is_there = add_file(walk, found, folder_len, listed->names[group->members[i]]);
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
  const struct wo_walk_job job = {found->files.items, found->files.count, logs, group->name};
  if (!walk->hooks->on_job(walk->hooks->context, &job, &walk->counts)) walk->is_over = true;
}

static bool is_cancelled(struct walk *walk) {
  if (walk->is_cancelled && *walk->is_cancelled) walk->is_over = true;
  return walk->is_over || walk->status != WO_OK;
}

/* Files whose names say that they are no logs are jobs of their own where the user asks for them. */
static void hand_out_rest(struct walk *walk, struct found *found, const struct listed *listed, size_t folder_len,
                          const struct wo_grouping *grouping) {
  for (uint32_t i = 0; i < grouping->rest_count && !is_cancelled(walk); i++) {
    const char *const name = listed->names[grouping->rest[i]];
    if (walk->options->include_count == 0) {
      walk->counts.nameless++;
      continue;
    }
    const struct wo_group group = {.name = wo_view_of(name), .members = &grouping->rest[i], .member_count = 1, .log_count = 1};
    hand_out(walk, found, listed, folder_len, &group);
  }
}

static void hand_out_accounting(struct walk *walk, const struct listed *listed, size_t folder_len) {
  for (size_t i = 0; i < listed->count && !is_cancelled(walk); i++) {
    if (!wo_group_is_accounting(wo_view_of(listed->names[i]))) continue;
    const char *const path = enter(walk, folder_len, listed->names[i]);
    if (path) walk->hooks->on_accounting(walk->hooks->context, path);
  }
}

static void hand_out_jobs(struct walk *walk, const struct listed *listed, size_t folder_len, double share) {
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
  for (uint32_t i = 0; walk->status == WO_OK && i < grouping.group_count && !is_cancelled(walk); i++) {
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

/* ---- Folders ---- */

static void report_kind(struct walk *walk, mode_t mode) {
  struct wo_err err = {0};
  const char *const kind = S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
  wo_err_set(&err, WO_E_KIND, "is %s, not a file: it is not read", kind);
  report_problem(walk, &err);
}

/* The kind of an entry behind links, if they are followed. A link that is not followed is OTHER. */
static enum wo_entry_kind look_at(struct walk *walk, enum wo_entry_kind kind) {
  struct stat info;
  if (kind == WO_ENTRY_FILE || kind == WO_ENTRY_FOLDER) return kind;
  if (lstat(walk->path.ptr, &info) != 0) {
    report_errno(walk, "cannot be looked at");
    return WO_ENTRY_OTHER;
  }
  if (S_ISLNK(info.st_mode)) {
    if (!walk->options->follows_links) return WO_ENTRY_OTHER;
    if (stat(walk->path.ptr, &info) != 0) {
      report_errno(walk, "is a link that leads nowhere");
      return WO_ENTRY_OTHER;
    }
  }
  if (S_ISREG(info.st_mode)) return WO_ENTRY_FILE;
  if (S_ISDIR(info.st_mode)) return WO_ENTRY_FOLDER;
  report_kind(walk, info.st_mode);
  return WO_ENTRY_OTHER;
}

static bool is_passed_over(const char *name) {
  return WO_VIEW_ANY(wo_view_of(name), wo_view_is, passed_over);
}

/* Sorts the entries into files, whose names are added to `listed`, and folders, which stay in their place; the names of all
 * others become NULL. */
static void sort_entries(struct walk *walk, struct wo_folder *folder, size_t folder_len, struct listed *listed) {
  WO_VEC(const char *) names = {0};
  for (size_t i = 0; i < folder->count && !is_cancelled(walk); i++) {
    struct wo_entry *const entry = &folder->items[i];
    if (!enter(walk, folder_len, entry->name)) break;
    entry->kind = look_at(walk, entry->kind);
    const bool is_file = entry->kind == WO_ENTRY_FILE;
    const bool is_left_out = is_excluded(walk) || (is_file && walk->options->include_count > 0 && !is_included(walk));
    if (is_file && is_left_out) walk->counts.left_out++;
    if (is_file && !is_left_out) {
      if (!WO_VEC_RESERVE(&names, 1, SIZE_MAX)) {
        walk->status = WO_E_NOMEM;
        break;
      }
      names.items[names.count++] = entry->name;
    }
    if (entry->kind != WO_ENTRY_FOLDER || is_left_out || is_passed_over(entry->name)) entry->kind = WO_ENTRY_OTHER;
  }
  *listed = (struct listed){names.items, names.count, names.capacity};
}

/* Whether the folder at the path is one to go into: of the same file system if that is wanted, and not above itself. */
static bool can_enter(struct walk *walk, const struct level *above, struct level *ret_level) {
  struct stat info;
  struct wo_err err = {0};
  if (stat(folder_path(walk), &info) != 0) {
    report_errno(walk, "cannot be looked at");
    return false;
  }
  *ret_level = (struct level){above, (uint64_t)info.st_dev, (uint64_t)info.st_ino, above ? above->depth + 1 : 0};
  if (!above) walk->root_device = ret_level->device;
  if (walk->options->is_one_file_system && ret_level->device != walk->root_device) return false;
  for (const struct level *level = above; level; level = level->above) {
    if (level->device != ret_level->device || level->inode != ret_level->inode) continue;
    wo_err_set(&err, WO_E_KIND, "leads back to a folder above it: it is not walked again");
    report_problem(walk, &err);
    return false;
  }
  if (ret_level->depth < WO_LIMIT_FOLDER_DEPTH) return true;
  wo_err_set(&err, WO_E_LIMIT, "is more than %u folders deep: it is left out", WO_LIMIT_FOLDER_DEPTH);
  report_problem(walk, &err);
  return false;
}

static size_t count_folders(const struct wo_folder *folder) {
  size_t count = 0;
  for (size_t i = 0; i < folder->count; i++) count += folder->items[i].kind == WO_ENTRY_FOLDER;
  return count;
}

/* Walks the folder at the path. `share` of the whole walk is its part: as much for its own files as for each of its folders. */
static void walk_folder(struct walk *walk, const struct level *above, double share) {
  struct level level;
  struct wo_folder folder;
  struct listed listed = {0};
  struct wo_err err = {0};
  if (is_cancelled(walk) || !can_enter(walk, above, &level)) return;
  if (wo_folder_list(folder_path(walk), &folder, &err) != WO_OK) report_problem(walk, &err);
  walk->counts.folders++;
  add_slash(walk);
  const size_t folder_len = walk->path.len;
  if (!above) walk->root_len = folder_len;
  sort_entries(walk, &folder, folder_len, &listed);
  share /= (double)count_folders(&folder) + 1;
  if (!is_cancelled(walk)) hand_out_jobs(walk, &listed, folder_len, share);
  walk->counts.share += share;
  free(listed.names);
  for (size_t i = 0; i < folder.count && !walk->options->is_flat && !is_cancelled(walk); i++) {
    if (folder.items[i].kind != WO_ENTRY_FOLDER || !enter(walk, folder_len, folder.items[i].name)) continue;
    walk_folder(walk, &level, share);
  }
  wo_folder_done(&folder);
}

/* ---- Roots ---- */

/* Files that are named are grouped among themselves, with the paths that they have. */
static void walk_files(struct walk *walk, const char *const *roots, size_t count) {
  struct listed listed = {.names = calloc(count + 1, sizeof *listed.names)};
  struct stat info;
  if (!listed.names) walk->status = WO_E_NOMEM;
  for (size_t i = 0; listed.names && i < count; i++) {
    if (stat(roots[i], &info) == 0 && S_ISREG(info.st_mode)) listed.names[listed.count++] = roots[i];
  }
  walk->path.len = walk->root_len = 0;
  if (walk->status == WO_OK) hand_out_jobs(walk, &listed, 0, 0);
  free(listed.names);
}

static void walk_root(struct walk *walk, const char *root, double share) {
  struct stat info;
  if (!enter(walk, 0, root)) return;
  if (stat(root[0] != '\0' ? root : ".", &info) != 0) {
    report_errno(walk, "cannot be looked at");
  } else if (S_ISDIR(info.st_mode)) {
    walk_folder(walk, NULL, share);
  } else if (!S_ISREG(info.st_mode)) {
    report_kind(walk, info.st_mode);
  }
}

enum wo_status wo_walk(const char *const *roots, size_t count, const struct wo_walk_options *options,
                       const struct wo_walk_hooks *hooks, const volatile sig_atomic_t *is_cancelled_flag,
                       struct wo_walk_counts *ret_counts) {
  struct walk walk = {.options = options, .hooks = hooks, .is_cancelled = is_cancelled_flag};
  wo_text_add(&walk.path, "/"); /* so that it is a text even where it is empty */
  walk_files(&walk, roots, count);
  for (size_t i = 0; i < count && !is_cancelled(&walk); i++) walk_root(&walk, roots[i], 1.0 / (double)count);
  wo_text_done(&walk.path);
  *ret_counts = walk.counts;
  return walk.status;
}
