/* The chosen fix as a change of the user's own files: a unified diff, and, when asked for, the files written anew. */
#ifndef WO_PATCH_H
#define WO_PATCH_H

#include "analyzer/report.h"
#include "parsers/base/proposal.h"
#include "parsers/base/text.h"

/* One changed setting: where it stands, as it is spelled there, and its new spelling. */
struct wo_patch_edit {
  struct wo_view path;  /* the file, as given */
  uint64_t line;        /* from 1; 0: a new line behind the last #SBATCH line */
  struct wo_view key;   /* of the present setting; empty with line 0 */
  struct wo_view value; /* the present value, as it stands in the file */
  struct wo_view to;    /* the new value; with line 0 the whole new line */
};

/* Changes one file's bytes by all edits of that path. WO_E_RANGE with the line when one does not match: the file was changed
 * since it was read, or the value stands there in another way. *ret_text is the new content (wo_text_done), also untouched when
 * no edit is of that path. WO_E_NOMEM. Line ends (LF, CRLF, none at the end) stay as they are. */
enum wo_status wo_patch_apply(struct wo_view content, const struct wo_patch_edit *edits, size_t count, struct wo_view path,
                              struct wo_text *ret_text, struct wo_err *err);

/* Adds a unified diff of two contents with three lines of context; nothing when they are equal. The edits change or insert single
 * lines, so that equal lines are found by their text. */
void wo_patch_diff(struct wo_view path, struct wo_view before, struct wo_view after, struct wo_text *out);

/* Writes a file through a temporary one beside it, which gets the old one's mode and then its name. Refuses (WO_E_RANGE) when the
 * file no longer holds `before`. WO_E_IO. */
enum wo_status wo_patch_write(const char *path, struct wo_view before, struct wo_view after, struct wo_err *err);

/* Edits of the chosen fixes. Settings that stand in no file that can be changed are told in `notes`, one line each. Lives in the
 * arena. WO_E_NOMEM. */
enum wo_status wo_patch_plan(const struct wo_report *report, const struct wo_report_fix *fixes, const struct wo_choice *choices,
                             size_t choice_count, struct wo_arena *arena, const struct wo_patch_edit **ret_edits,
                             size_t *ret_count, struct wo_text *notes);

/* All together: plan, read, change, diff to `out`, and with is_writing the files. False when something could not be done, which
 * is told in errors; then nothing was written. */
bool wo_patch_run(const struct wo_report *report, const struct wo_report_fix *fixes, const struct wo_choice *choices,
                  size_t choice_count, bool is_writing, struct wo_text *out, struct wo_text *errors);

#endif
