/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of one folder, sorted by name. */
#ifndef WO_FOLDER_H
#define WO_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/arena.h"
#include "parsers/base/status.h"

enum wo_entry_kind { WO_ENTRY_UNKNOWN, WO_ENTRY_FILE, WO_ENTRY_FOLDER, WO_ENTRY_ARCHIVE, WO_ENTRY_LINK, WO_ENTRY_OTHER };

struct wo_entry {
  const char *name;
  enum wo_entry_kind kind; /* as far as the listing says it */
};

struct wo_folder {
  struct wo_arena arena; /* of the names */
  struct wo_entry *items;
  size_t count, capacity;
};

/* Lists a folder, or, with `wants`, those of its files alone whose names it accepts, and all that is no file by the listing. Its
 * own two names for itself and its parent are left out. WO_E_IO with the system's reason: what was listed until then stays.
 * WO_E_LIMIT: more names than WO_LIMIT_FOLDER_FILES; the first ones that the system gave stay. WO_E_NOMEM. In each case *folder
 * must be released. */
enum wo_status wo_folder_list(const char *path, bool (*wants)(struct wo_view name), struct wo_folder *folder, struct wo_err *err);

void wo_folder_done(struct wo_folder *folder);

/* The folder that was listed last, whole, for a call about many jobs of one folder. Begins as {0}. */
struct wo_kept_folder {
  struct wo_folder list;
  char *path;
};

/* The entries of a folder as they were when it was asked for the last time before another one. Lives until the next call with
 * another path. What could be listed; nothing without memory. */
const struct wo_folder *wo_kept_folder_list(struct wo_kept_folder *kept, const char *path);

void wo_kept_folder_done(struct wo_kept_folder *kept);

#endif
