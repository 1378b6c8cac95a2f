/* SPDX-License-Identifier: Apache-2.0 */
/* The path of a walk, and what is said about it. See walk_internal.h. */
#include <errno.h>
#include <string.h>

#include "analyzer/archive/walk_internal.h"

struct wo_view wo__walk_path(const struct wo__walk *walk) {
  return (struct wo_view){walk->path.ptr, walk->path.len};
}

const char *wo__walk_enter(struct wo__walk *walk, size_t folder_len, const char *name) {
  walk->path.len = folder_len;
  wo_text_add(&walk->path, "%s", name);
  if (walk->path.is_failed)
    walk->status = WO_E_NOMEM;
  else
    walk->path.ptr[walk->path.len] = '\0'; /* an empty name adds nothing */
  return walk->path.is_failed ? NULL : walk->path.ptr;
}

void wo__walk_add_slash(struct wo__walk *walk) {
  if (walk->path.len == 0 || walk->path.ptr[walk->path.len - 1] == '/') return;
  wo_text_add_view(&walk->path, WO_VIEW("/"));
  if (walk->path.is_failed) walk->status = WO_E_NOMEM;
}

void wo__walk_report(struct wo__walk *walk, const struct wo_err *err) {
  if (err->code == WO_E_NOMEM) walk->status = WO_E_NOMEM;
  if (!walk->hooks->on_accounting) walk->hooks->on_problem(walk->hooks->context, walk->path.ptr, err);
}

void wo__walk_report_errno(struct wo__walk *walk, const char *what) {
  struct wo_err err = {0};
  if (walk->options->is_live && errno == ENOENT) return;
  wo_err_set(&err, WO_E_IO, "%s: %s", what, strerror(errno));
  wo__walk_report(walk, &err);
}

bool wo__walk_is_cancelled(struct wo__walk *walk) {
  if (walk->is_cancelled && *walk->is_cancelled) walk->is_over = true;
  return walk->is_over || walk->status != WO_OK;
}

struct wo_walk_file wo__walk_file(const struct stat *info) {
  return (struct wo_walk_file){.device = (uint64_t)info->st_dev,
                               .inode = (uint64_t)info->st_ino,
                               .size_bytes = (int64_t)info->st_size,
                               .mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec,
                               .owner = (uint32_t)info->st_uid};
}
