/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of an archive are wanted, by their paths alone. Pure, and safe on any thread. */
#ifndef WO_SELECT_H
#define WO_SELECT_H

#include "analyzer/archive/walk.h"

/* Whether --exclude / --include names the path. Patterns with a slash are of paths below the root, whose part of the path is
 * `root_len` bytes long; the others are of names. */
bool wo_select_excludes(const struct wo_walk_options *options, const char *path, size_t root_len);
bool wo_select_includes(const struct wo_walk_options *options, const char *path, size_t root_len);

/* Whether a folder of that name holds copies of everything, or nothing that is a log. */
bool wo_select_passes_over(const char *name);

enum wo_selected {
  WO_SELECTED,
  WO_SELECT_LEFT_OUT,       /* by a pattern */
  WO_SELECT_IN_OTHER_FOLDER /* below a folder that is not walked */
};

/* What becomes of a file in a tar archive, whose part of the path is `archive_len` bytes long with the slash. The path is changed
 * during the call. */
enum wo_selected wo_select_member(const struct wo_walk_options *options, char *path, size_t root_len, size_t archive_len);

#endif
