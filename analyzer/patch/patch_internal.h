/* SPDX-License-Identifier: Apache-2.0 */
/* Private to patch_*.c. */
#ifndef WO_PATCH_INTERNAL_H
#define WO_PATCH_INTERNAL_H

#include "analyzer/patch/patch.h"
#include "parsers/base/status.h"
#include "parsers/base/text.h"
#include "parsers/base/view.h"

/* The next line of *rest, with its line end; the last may have none. Empty at the end. */
struct wo_view wo__patch_take_line(struct wo_view *rest);

/* Unfinished hunks, from the lines of a file in their order. {.out = text} at the start. */
struct wo__patch_hunks {
  struct wo_text *out;
  struct wo_text text, added;  /* of the open hunk; new lines that wait for the end of a block */
  struct wo_view lead[3];      /* the last equal lines before a change */
  size_t lead_count, quiet;    /* equal lines since the last change */
  uint64_t old_line, new_line; /* seen so far */
  uint64_t old_first, new_first, old_count, new_count;
  bool is_open;
};

/* Takes the next line, before and after the change: equal ones are context; an empty `old` means a new line. */
void wo__patch_hunks_line(struct wo__patch_hunks *hunks, struct wo_view old, struct wo_view now);

/* Closes the last hunk and releases its texts. */
void wo__patch_hunks_end(struct wo__patch_hunks *hunks);

/* Reads a plain file to its end; *ret_text is released with wo_text_done. WO_E_KIND for links and devices. */
enum wo_status wo__patch_read(const char *path, struct wo_text *ret_text, struct wo_err *err);

/* Whether the file still holds `before`: somebody may have saved it since it was read (WO_E_RANGE). Else as wo__patch_read. */
enum wo_status wo__patch_check_unchanged(const char *path, struct wo_view before, struct wo_err *err);

/* A file with its old and its new content. */
struct wo__patch_change {
  const char *path;
  struct wo_view before, after;
};

/* Changes all files, or none: all new contents are on their disks before the first file is replaced, and so are the old ones,
 * which come back if a later file cannot be replaced. Files that are the same file under two names, links and read-only files are
 * refused. False with a line in errors. At most WO_PATCH_EDITS_MAX files. */
bool wo__patch_write(const struct wo__patch_change *changes, size_t count, struct wo_text *errors);

/* Finds the variable that some command of a script gives to `key` (`--key $NAME`, dashes and underscores alike), and the line
 * that assigns it. True when only one line does and its value is `value`: then line, byte and key (a view of content) of *edit
 * are set. */
bool wo__patch_find_variable(struct wo_view content, struct wo_view key, struct wo_view value, struct wo_patch_edit *edit);

#endif
