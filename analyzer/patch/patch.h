/* SPDX-License-Identifier: Apache-2.0 */
/* The chosen fix as a change of the user's own files: a unified diff and, if requested, the changed files. */
#ifndef WO_PATCH_H
#define WO_PATCH_H

#include "analyzer/report/report.h"
#include "parsers/base/exchange/proposal.h"
#include "parsers/base/text.h"

/* The most edits of one call. */
enum { WO_PATCH_EDITS_MAX = 64 };

/* Only the line of a setting is known, not its place there. */
#define WO_PATCH_ANYWHERE UINT64_MAX

/* One changed setting: its place, its present spelling there, and its new value. */
struct wo_patch_edit {
  struct wo_view path;  /* the file, as given */
  uint64_t line;        /* from 1; 0: a new line after the last #SBATCH line */
  uint64_t byte;        /* offset of the key in the file, as a line may have it twice, or WO_PATCH_ANYWHERE */
  struct wo_view key;   /* of the present setting; empty with line 0 */
  struct wo_view value; /* the present value, as in the file */
  struct wo_view to;    /* the new value; with line 0 the whole new line */
  bool is_command;      /* a flag or override of a command, where the last one counts: all of the same value in that command,
                           which backslashes may continue over several lines, are changed */
};

/* One file with its edits made, and the hunks of their unified diff. {0} when nothing was changed. */
struct wo_patched {
  struct wo_text after;
  struct wo_text hunks; /* empty: the content is unchanged */
};

/* Makes all edits of a path in that file's bytes. WO_E_RANGE with the line when one does not match: the file was changed since it
 * was read, or the line has the value in another form or more than once; WO_E_KIND for a new line in a file that is no script of
 * a POSIX shell; WO_E_LIMIT for more than WO_PATCH_EDITS_MAX edits. *ret_patched is released with wo_patched_done; its content is
 * whole also without an edit of that path. WO_E_NOMEM. Line ends (LF, CRLF, none at the end) stay as they are. The hunks have
 * three lines of context. */
enum wo_status wo_patch_apply(struct wo_view content, const struct wo_patch_edit *edits, size_t count, struct wo_view path,
                              struct wo_patched *ret_patched, struct wo_err *err);
void wo_patched_done(struct wo_patched *patched);

/* Adds the header of a file's hunks. The names are `path` with "a/" and "b/" before it, as `patch -p1` and `git apply` take them.
 */
void wo_patch_header(struct wo_view path, struct wo_text *out);

/* The first line, from line `from` on, that still sets the edit's key to its old value and is no comment; 0 when none does. */
uint64_t wo_patch_find_left(struct wo_view content, const struct wo_patch_edit *edit, uint64_t from);

/* Edits of the chosen fixes. A setting that is in no file that can be changed gets a line in `notes`. If only a log shows a
 * value, the scripts are read for a variable that gives it, and that variable is changed. Lives in the arena. WO_E_NOMEM. */
enum wo_status wo_patch_plan(const struct wo_report *report, const struct wo_finding_fix *fixes, const struct wo_choice *choices,
                             size_t choice_count, struct wo_arena *arena, const struct wo_patch_edit **ret_edits,
                             size_t *ret_count, struct wo_text *notes);

enum wo_patch_result {
  WO_PATCH_FAILED,  /* something could not be done */
  WO_PATCH_PARTIAL, /* some changes of the fixes are in no file that can be changed */
  WO_PATCH_WHOLE
};

/* Plans, reads, changes, adds the diff to `out`, and with is_writing writes the files, if the patch is WHOLE: all of them or
 * none. The diff names files from the current folder or, when one is elsewhere, all from the root: `errors` then says how to
 * apply it. `errors` also has a line for each reason why the result is not WHOLE. Else nothing is written. */
enum wo_patch_result wo_patch_run(const struct wo_report *report, const struct wo_finding_fix *fixes,
                                  const struct wo_choice *choices, size_t choice_count, bool is_writing, struct wo_text *out,
                                  struct wo_text *errors);

#endif
