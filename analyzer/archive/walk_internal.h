/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the walk: the path that it stands on, and the way of files into jobs. Shared by the files of this room. */
#ifndef WO_WALK_INTERNAL_H
#define WO_WALK_INTERNAL_H

#include <sys/stat.h>

#include "analyzer/archive/tar.h"
#include "parsers/base/text.h"

struct wo__walk {
  const struct wo_walk_options *options;
  const struct wo_walk_hooks *hooks;
  const volatile sig_atomic_t *is_cancelled;
  const struct wo_tar *tar; /* whose files are handed out; NULL: those of a folder */
  struct wo_walk_counts counts;
  struct wo_text path; /* of the folder, or of the file that is looked at */
  size_t root_len;     /* of the root's part of it, its slash included */
  uint64_t root_device;
  enum wo_status status;
  bool is_over;
};

/* The files of a folder that may belong to jobs. */
struct wo__listed {
  const char **names;                   /* behind the path of the folder, or of the archive */
  const struct wo_tar_member **members; /* the same files in an archive; NULL: they are files of the system */
  size_t count, capacity;
};

/* ---- walk_path.c ---- */

/* The path of the walk, which ends with a NUL. */
struct wo_view wo__walk_path(const struct wo__walk *walk);

/* Puts a name behind a folder's path, which is `folder_len` long. NULL without memory. */
const char *wo__walk_enter(struct wo__walk *walk, size_t folder_len, const char *name);

/* Makes the path end with a slash, unless it is that of the present folder. */
void wo__walk_add_slash(struct wo__walk *walk);

/* Hands on what is wrong with the file or folder at the path / the same with the system's reason. */
void wo__walk_report(struct wo__walk *walk, const struct wo_err *err);
void wo__walk_report_errno(struct wo__walk *walk, const char *what);

/* Whether the walk is to end. */
bool wo__walk_is_cancelled(struct wo__walk *walk);

/* What the system says of a file. */
struct wo_walk_file wo__walk_file(const struct stat *info);

/* ---- walk_jobs.c ---- */

/* Groups files and hands out their jobs. `folder_len` is the length of the path that they have in common, `share` the part of the
 * walk that they are. */
void wo__walk_hand_out(struct wo__walk *walk, const struct wo__listed *listed, size_t folder_len, double share);

#endif
