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

/* The new content of a file, on the disk in the same folder under a temporary name. */
struct wo__patch_draft {
  char path[4096]; /* empty: there is none */
};

/* Writes a draft with the mode of the file at `path`. WO_E_KIND for a file that nobody may write; WO_E_IO, WO_E_LIMIT. */
enum wo_status wo__patch_draft(const char *path, struct wo_view content, struct wo__patch_draft *ret_draft, struct wo_err *err);

/* Renames the draft to the file, if the file still holds `before` (else WO_E_RANGE); the draft is gone in any case. Without a
 * draft it does nothing. WO_E_IO. */
enum wo_status wo__patch_commit(const char *path, struct wo_view before, struct wo__patch_draft *draft, struct wo_err *err);

/* Removes a draft; nothing without one. */
void wo__patch_drop(struct wo__patch_draft *draft);

/* Finds the variable that some command of a script gives to `key` (`--key $NAME`, dashes and underscores alike), and the line
 * that assigns it. True when only one line does and its value is `value`: then line, byte and key (a view of content) of *edit
 * are set. */
bool wo__patch_find_variable(struct wo_view content, struct wo_view key, struct wo_view value, struct wo_patch_edit *edit);

#endif
