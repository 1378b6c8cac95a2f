/* SPDX-License-Identifier: Apache-2.0 */
/* The walk: lists a folder, hands out its jobs, then goes into its folders. See walk.h. */
#include "analyzer/archive/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/archive/folder.h"
#include "analyzer/archive/select.h"
#include "analyzer/archive/walk_internal.h"
#include "analyzer/files/grouping.h"
#include "analyzer/files/names.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* A folder that is being walked, below the one that leads to it. */
struct level {
  const struct level *above;
  uint64_t device, inode;
  unsigned depth;
};

/* The folder at the path, for the system. */
static const char *folder_path(const struct wo__walk *walk) {
  return walk->path.len > 0 ? walk->path.ptr : ".";
}

/* ---- Folders ---- */

static void report_kind(struct wo__walk *walk, mode_t mode) {
  struct wo_err err = {0};
  const char *const kind = S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
  wo_err_set(&err, WO_E_KIND, "is %s, not a file: it is not read", kind);
  wo__walk_report(walk, &err);
}

/* The kind of an entry behind links, if they are followed. A link that is not followed is OTHER. */
static enum wo_entry_kind look_at(struct wo__walk *walk, enum wo_entry_kind kind) {
  struct stat info;
  if (kind == WO_ENTRY_FILE || kind == WO_ENTRY_FOLDER) return kind;
  if (lstat(walk->path.ptr, &info) != 0) {
    wo__walk_report_errno(walk, "cannot be looked at");
    return WO_ENTRY_OTHER;
  }
  if (S_ISLNK(info.st_mode)) {
    if (!walk->options->follows_links) return WO_ENTRY_OTHER;
    if (stat(walk->path.ptr, &info) != 0) {
      wo__walk_report_errno(walk, "is a link that leads nowhere");
      return WO_ENTRY_OTHER;
    }
  }
  if (S_ISREG(info.st_mode)) return WO_ENTRY_FILE;
  if (S_ISDIR(info.st_mode)) return WO_ENTRY_FOLDER;
  report_kind(walk, info.st_mode);
  return WO_ENTRY_OTHER;
}

/* A tar archive is a folder, unless nobody asks for it. */
static enum wo_entry_kind kind_of(struct wo__walk *walk, const struct wo_entry *entry) {
  const enum wo_entry_kind kind = look_at(walk, entry->kind);
  const bool is_archive = kind == WO_ENTRY_FILE && walk->hooks->on_archive && wo_name_is_archive(wo_view_of(entry->name));
  return is_archive ? WO_ENTRY_ARCHIVE : kind;
}

/* Whether the patterns leave out the entry at the path. Those of --include are for files. */
static bool is_left_out(const struct wo__walk *walk, enum wo_entry_kind kind) {
  const struct wo_walk_options *const options = walk->options;
  const bool is_wanted =
      kind != WO_ENTRY_FILE || options->include_count == 0 || wo_select_includes(options, walk->path.ptr, walk->root_len);
  return !is_wanted || wo_select_excludes(options, walk->path.ptr, walk->root_len);
}

/* Sorts the entries into files, whose names are added to `listed`, and folders and archives, which stay in their place; all
 * others become OTHER. */
static void sort_entries(struct wo__walk *walk, struct wo_folder *folder, size_t folder_len, struct wo__listed *listed) {
  WO_VEC(const char *) names = {0};
  for (size_t i = 0; i < folder->count && !wo__walk_is_cancelled(walk); i++) {
    struct wo_entry *const entry = &folder->items[i];
    if (!wo__walk_enter(walk, folder_len, entry->name)) break;
    entry->kind = kind_of(walk, entry);
    const bool is_out = is_left_out(walk, entry->kind), is_folder = entry->kind == WO_ENTRY_FOLDER;
    if (is_out && (entry->kind == WO_ENTRY_FILE || entry->kind == WO_ENTRY_ARCHIVE)) walk->counts.left_out++;
    if (entry->kind == WO_ENTRY_FILE && !is_out) {
      if (!WO_VEC_RESERVE(&names, 1, SIZE_MAX)) {
        walk->status = WO_E_NOMEM;
        break;
      }
      names.items[names.count++] = entry->name;
    }
    const bool is_walked = (is_folder && !wo_select_passes_over(entry->name)) || entry->kind == WO_ENTRY_ARCHIVE;
    if (!is_walked || is_out) entry->kind = WO_ENTRY_OTHER;
  }
  *listed = (struct wo__listed){.names = names.items, .count = names.count, .capacity = names.capacity};
}

/* Whether the folder at the path is one to go into: of the same file system if that is wanted, and not above itself. */
static bool can_enter(struct wo__walk *walk, const struct level *above, struct level *ret_level) {
  struct stat info;
  struct wo_err err = {0};
  if (stat(folder_path(walk), &info) != 0) {
    wo__walk_report_errno(walk, "cannot be looked at");
    return false;
  }
  *ret_level = (struct level){above, (uint64_t)info.st_dev, (uint64_t)info.st_ino, above ? above->depth + 1 : 0};
  if (!above) walk->root_device = ret_level->device;
  if (walk->options->is_one_file_system && ret_level->device != walk->root_device) return false;
  for (const struct level *level = above; level; level = level->above) {
    if (level->device != ret_level->device || level->inode != ret_level->inode) continue;
    wo_err_set(&err, WO_E_KIND, "leads back to a folder above it: it is not walked again");
    wo__walk_report(walk, &err);
    return false;
  }
  if (ret_level->depth < WO_LIMIT_FOLDER_DEPTH) return true;
  wo_err_set(&err, WO_E_LIMIT, "is more than %u folders deep: it is left out", WO_LIMIT_FOLDER_DEPTH);
  wo__walk_report(walk, &err);
  return false;
}

/* Hands out the archive at the path. */
static void walk_archive(struct wo__walk *walk, size_t root_len, double share) {
  struct stat info;
  if (stat(walk->path.ptr, &info) != 0) {
    wo__walk_report_errno(walk, "cannot be looked at");
    return;
  }
  struct wo_walk_file file = wo__walk_file(&info);
  file.path = walk->path.ptr;
  walk->hooks->on_archive(walk->hooks->context, &file, root_len, &walk->counts);
  walk->counts.share += share;
}

static size_t count_folders(const struct wo_folder *folder) {
  size_t count = 0;
  for (size_t i = 0; i < folder->count; i++) count += folder->items[i].kind != WO_ENTRY_OTHER;
  return count;
}

/* Whether the walk that looks for accounting has anything to do with a file of that name. */
static bool has_accounting(struct wo_view name) {
  return wo_group_is_accounting(name) || wo_name_is_archive(name);
}

/* Walks the folder at the path. `share` of the whole walk is its part: as much for its own files as for each of its folders. */
static void walk_folder(struct wo__walk *walk, const struct level *above, double share) {
  struct level level;
  struct wo_folder folder;
  struct wo__listed listed = {0};
  struct wo_err err = {0};
  if (wo__walk_is_cancelled(walk) || !can_enter(walk, above, &level)) return;
  if (walk->hooks->on_folder && !walk->hooks->on_folder(walk->hooks->context, folder_path(walk), above == NULL)) return;
  errno = 0;
  if (wo_folder_list(folder_path(walk), walk->hooks->on_accounting ? has_accounting : NULL, &folder, &err) != WO_OK &&
      !(walk->options->is_live && errno == ENOENT))
    wo__walk_report(walk, &err);
  walk->counts.folders++;
  wo__walk_add_slash(walk);
  const size_t folder_len = walk->path.len;
  if (!above) walk->root_len = walk->options->root_len > 0 ? walk->options->root_len : folder_len;
  sort_entries(walk, &folder, folder_len, &listed);
  share /= (double)count_folders(&folder) + 1;
  if (!wo__walk_is_cancelled(walk)) wo__walk_hand_out(walk, &listed, folder_len, share);
  walk->counts.share += share;
  free(listed.names);
  for (size_t i = 0; i < folder.count && !walk->options->is_flat && !wo__walk_is_cancelled(walk); i++) {
    if (folder.items[i].kind == WO_ENTRY_OTHER || !wo__walk_enter(walk, folder_len, folder.items[i].name)) continue;
    if (folder.items[i].kind == WO_ENTRY_ARCHIVE)
      walk_archive(walk, walk->root_len, share);
    else
      walk_folder(walk, &level, share);
  }
  wo_folder_done(&folder);
}

/* ---- Roots ---- */

static bool is_archive(const struct wo__walk *walk, const char *root) {
  return walk->hooks->on_archive && wo_name_is_archive(wo_view_of(root));
}

/* Files that are named are grouped among themselves, with the paths that they have. */
static void walk_files(struct wo__walk *walk, const char *const *roots, size_t count) {
  struct wo__listed listed = {.names = calloc(count + 1, sizeof *listed.names)};
  struct stat info;
  if (!listed.names) walk->status = WO_E_NOMEM;
  for (size_t i = 0; listed.names && i < count; i++) {
    if (is_archive(walk, roots[i])) continue;
    if (stat(roots[i], &info) == 0 && S_ISREG(info.st_mode)) listed.names[listed.count++] = roots[i];
  }
  walk->path.len = walk->root_len = 0;
  if (walk->status == WO_OK) wo__walk_hand_out(walk, &listed, 0, 0);
  free(listed.names);
}

static void walk_root(struct wo__walk *walk, const char *root, double share) {
  struct stat info;
  if (!wo__walk_enter(walk, 0, root)) return;
  if (stat(root[0] != '\0' ? root : ".", &info) != 0) {
    wo__walk_report_errno(walk, "cannot be looked at");
  } else if (S_ISDIR(info.st_mode)) {
    walk_folder(walk, NULL, share);
  } else if (!S_ISREG(info.st_mode)) {
    report_kind(walk, info.st_mode);
  } else if (is_archive(walk, root)) {
    walk_archive(walk, walk->path.len + 1, share);
  }
}

enum wo_status wo_walk(const char *const *roots, size_t count, const struct wo_walk_options *options,
                       const struct wo_walk_hooks *hooks, const volatile sig_atomic_t *is_cancelled_flag,
                       struct wo_walk_counts *ret_counts) {
  struct wo__walk walk = {.options = options, .hooks = hooks, .is_cancelled = is_cancelled_flag};
  wo_text_add(&walk.path, "/"); /* so that it is a text even where it is empty */
  walk_files(&walk, roots, count);
  for (size_t i = 0; i < count && !wo__walk_is_cancelled(&walk); i++) walk_root(&walk, roots[i], 1.0 / (double)count);
  wo_text_done(&walk.path);
  *ret_counts = walk.counts;
  return walk.status;
}
