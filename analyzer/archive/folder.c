/* SPDX-License-Identifier: Apache-2.0 */
/* Lists folders. The system gives names in any order, so they are sorted: whoever comes after sees the same order everywhere. */
#include "analyzer/archive/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

static enum wo_entry_kind kind_of(const struct dirent *entry) {
  switch (entry->d_type) {
  case DT_REG:
    return WO_ENTRY_FILE;
  case DT_DIR:
    return WO_ENTRY_FOLDER;
  case DT_LNK:
    return WO_ENTRY_LINK;
  case DT_UNKNOWN: /* file systems that do not say */
    return WO_ENTRY_UNKNOWN;
  default:
    return WO_ENTRY_OTHER;
  }
}

static bool is_self(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int compare_entries(const void *a, const void *b) {
  const struct wo_entry *left = a, *right = b;
  return strcmp(left->name, right->name);
}

static enum wo_status add(struct wo_folder *folder, const struct dirent *entry, struct wo_err *err) {
  WO_VEC(struct wo_entry) entries = {folder->items, folder->count, folder->capacity};
  if (folder->count == WO_LIMIT_FOLDER_FILES)
    return wo_err_set(err, WO_E_LIMIT, "has more than %zu entries: those beyond are left out", WO_LIMIT_FOLDER_FILES);
  const struct wo_view name = wo_arena_copy(&folder->arena, wo_view_of(entry->d_name));
  if (!WO_VEC_RESERVE(&entries, 1, WO_LIMIT_FOLDER_FILES) || !name.ptr) return wo_err_nomem(err);
  folder->items = entries.items;
  folder->capacity = entries.capacity;
  folder->items[folder->count++] = (struct wo_entry){name.ptr, kind_of(entry)};
  return WO_OK;
}

static bool is_wanted(const struct dirent *entry, bool (*wants)(struct wo_view name)) {
  if (is_self(entry->d_name)) return false;
  return !wants || entry->d_type != DT_REG || wants(wo_view_of(entry->d_name));
}

enum wo_status wo_folder_list(const char *path, bool (*wants)(struct wo_view name), struct wo_folder *folder,
                              struct wo_err *err) {
  enum wo_status status = WO_OK;
  *folder = (struct wo_folder){0};
  wo_arena_init(&folder->arena, WO_LIMIT_FOLDER_BYTES);
  DIR *const dir = opendir(path);
  if (!dir) return wo_err_set(err, WO_E_IO, "cannot be listed: %s", strerror(errno));
  while (status == WO_OK) {
    errno = 0;
    const struct dirent *const entry = readdir(dir);
    if (!entry && errno != 0) status = wo_err_set(err, WO_E_IO, "cannot be listed to its end: %s", strerror(errno));
    if (!entry) break;
    if (is_wanted(entry, wants)) status = add(folder, entry, err);
  }
  closedir(dir);
  if (folder->count > 1) qsort(folder->items, folder->count, sizeof *folder->items, compare_entries);
  return status;
}

void wo_folder_done(struct wo_folder *folder) {
  wo_arena_done(&folder->arena);
  free(folder->items);
  *folder = (struct wo_folder){0};
}

const struct wo_folder *wo_kept_folder_list(struct wo_kept_folder *kept, const char *path) {
  if (kept->path && strcmp(kept->path, path) == 0) return &kept->list;
  wo_kept_folder_done(kept);
  kept->path = strdup(path);
  if (kept->path) wo_folder_list(path, NULL, &kept->list, NULL);
  return &kept->list;
}

void wo_kept_folder_done(struct wo_kept_folder *kept) {
  if (kept->path) wo_folder_done(&kept->list);
  free(kept->path);
  *kept = (struct wo_kept_folder){0};
}
