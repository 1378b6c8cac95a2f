/* The chosen fix as a change of the user's own files: a unified diff, and, when asked for, the files written anew. */
#ifndef WO_PATCH_H
#define WO_PATCH_H

#include "analyzer/report/report.h"
#include "parsers/base/exchange/proposal.h"
#include "parsers/base/text.h"

/* Edits of one call, at the most. */
enum { WO_PATCH_EDITS_MAX = 64 };

/* The place of a setting is not known but for its line. */
#define WO_PATCH_ANYWHERE UINT64_MAX

/* One changed setting: where it stands, as it is spelled there, and its new spelling. */
struct wo_patch_edit {
  struct wo_view path;  /* the file, as given */
  uint64_t line;        /* from 1; 0: a new line behind the last #SBATCH line */
  uint64_t byte;        /* offset of the key in the file, which tells two of one line apart, or WO_PATCH_ANYWHERE */
  struct wo_view key;   /* of the present setting; empty with line 0 */
  struct wo_view value; /* the present value, as it stands in the file */
  struct wo_view to;    /* the new value; with line 0 the whole new line */
  bool is_command;      /* a flag or override of a command, of which the last counts: all of the same value in that command, which
                           backslashes may continue over several lines, are changed */
};

/* One file with its edits made, and what a unified diff says of them below its header. {0} when nothing was changed. */
struct wo_patched {
  struct wo_text after;
  struct wo_text hunks; /* empty: the content is what it was */
};

/* Changes one file's bytes by all edits of that path. WO_E_RANGE with the line when one does not match: the file was changed
 * since it was read, the value stands there in another way, or more than once; WO_E_KIND for a new line in what is no script of a
 * POSIX shell; WO_E_LIMIT for more than WO_PATCH_EDITS_MAX edits. *ret_patched is released with wo_patched_done; its content is
 * whole also when no edit is of that path. WO_E_NOMEM. Line ends (LF, CRLF, none at the end) stay as they are. The hunks have
 * three lines of context. */
enum wo_status wo_patch_apply(struct wo_view content, const struct wo_patch_edit *edits, size_t count, struct wo_view path,
                              struct wo_patched *ret_patched, struct wo_err *err);
void wo_patched_done(struct wo_patched *patched);

/* Adds the header of a file's hunks. The names are `path` with "a/" and "b/" before it, as `patch -p1` and `git apply` take them.
 */
void wo_patch_header(struct wo_view path, struct wo_text *out);

/* The first line, at or behind `from` (from 1), that still sets the edit's key to its old value and is no comment; 0 when none
 * does. */
uint64_t wo_patch_find_left(struct wo_view content, const struct wo_patch_edit *edit, uint64_t from);

/* Writes a file through a temporary one beside it, which gets the old one's mode and then its name. Refuses (WO_E_RANGE) when the
 * file no longer holds `before`, and (WO_E_KIND) a link and a read-only file. WO_E_IO. */
enum wo_status wo_patch_write(const char *path, struct wo_view before, struct wo_view after, struct wo_err *err);

/* Edits of the chosen fixes. Settings that stand in no file that can be changed are told in `notes`, one line each; a value that
 * a log shows and a script's variable gives is changed where that is set, for which the scripts are read. Lives in the arena.
 * WO_E_NOMEM. */
enum wo_status wo_patch_plan(const struct wo_report *report, const struct wo_finding_fix *fixes, const struct wo_choice *choices,
                             size_t choice_count, struct wo_arena *arena, const struct wo_patch_edit **ret_edits,
                             size_t *ret_count, struct wo_text *notes);

enum wo_patch_result {
  WO_PATCH_FAILED,  /* something could not be done */
  WO_PATCH_PARTIAL, /* a part of the fixes is in no file that can be changed */
  WO_PATCH_WHOLE
};

/* All together: plan, read, change, diff to `out`, and with is_writing the files. The diff names files from the current folder,
 * or, when one lies elsewhere, all from the root, which is told in `errors` with how to apply it. What is not WHOLE is told in
 * errors; when it FAILED nothing was written, but for files that precede one that could not be given its name. */
enum wo_patch_result wo_patch_run(const struct wo_report *report, const struct wo_finding_fix *fixes,
                                  const struct wo_choice *choices, size_t choice_count, bool is_writing, struct wo_text *out,
                                  struct wo_text *errors);

#endif
