/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of the shell over paths. See select.h. */
#include "analyzer/archive/select.h"

#include <fnmatch.h>
#include <string.h>

static const char *name_of(const char *path) {
  const char *const slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Views of the command line end with a NUL. */
static bool is_any(const struct wo_view *patterns, size_t count, const char *path, size_t root_len) {
  for (size_t i = 0; i < count; i++) {
    const bool is_of_path = wo_view_find_char(patterns[i], '/', 0) != WO_NOT_FOUND;
    if (fnmatch(patterns[i].ptr, is_of_path ? path + root_len : name_of(path), 0) == 0) return true;
  }
  return false;
}

bool wo_select_excludes(const struct wo_walk_options *options, const char *path, size_t root_len) {
  return is_any(options->exclude, options->exclude_count, path, root_len);
}

bool wo_select_includes(const struct wo_walk_options *options, const char *path, size_t root_len) {
  return is_any(options->include, options->include_count, path, root_len);
}

bool wo_select_passes_over(const char *name) {
  static const char *const names[] = {".snapshot", ".snapshots", ".zfs", ".git"};
  return WO_VIEW_ANY(wo_view_of(name), wo_view_is, names);
}

enum wo_selected wo_select_member(const struct wo_walk_options *options, char *path, size_t root_len, size_t archive_len) {
  char *folder = path + archive_len;
  for (char *slash = strchr(folder, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    const bool is_left_out = wo_select_excludes(options, path, root_len) || wo_select_passes_over(name_of(path));
    *slash = '/';
    if (is_left_out) return WO_SELECT_IN_OTHER_FOLDER;
  }
  const bool is_wanted = options->include_count == 0 || wo_select_includes(options, path, root_len);
  return is_wanted && !wo_select_excludes(options, path, root_len) ? WO_SELECTED : WO_SELECT_LEFT_OUT;
}
