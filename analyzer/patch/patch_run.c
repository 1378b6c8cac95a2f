/* SPDX-License-Identifier: Apache-2.0 */
/* All of `whyoom verify --patch`: plan, read, change, show, and write if requested. See patch.h. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "analyzer/patch/patch.h"
#include "analyzer/patch/patch_internal.h"
#include "parsers/base/clean.h"
#include "parsers/base/command/message.h"

enum { SHOWN_BYTES = 4352, LEFT_MAX = 4 };

struct file {
  struct wo_view path;
  struct wo_text before;
  struct wo_patched made;
  char *absolute; /* path without links and dots in its folder; NULL when it could not be determined */
};

static struct wo_view view_of(const struct wo_text *text) {
  return (struct wo_view){text->ptr, text->len};
}

/* The paths of inputs are NUL-terminated copies in the job's arena. */
static bool change_file(struct file *file, const struct wo_patch_edit *edits, size_t count, struct wo_text *errors) {
  struct wo_err err = {0};
  enum wo_status status = wo__patch_read(file->path.ptr, &file->before, &err);
  if (status == WO_OK) status = wo_patch_apply(view_of(&file->before), edits, count, file->path, &file->made, &err);
  if (status != WO_OK) wo_message_error(errors, file->path, &err);
  return status == WO_OK;
}

/* The same setting with the old value elsewhere in the file may belong to another command or be the one that counts: only its
 * author knows. */
static void report_left(const struct file *file, const struct wo_patch_edit *edit, struct wo_text *errors) {
  uint64_t line = 0;
  if (edit->line == 0 || !wo_view_equal(edit->path, file->path) || wo_view_equal(edit->value, edit->to)) return;
  for (int i = 0; i < LEFT_MAX && (line = wo_patch_find_left(view_of(&file->made.after), edit, line + 1)) > 0; i++) {
    char place[SHOWN_BYTES];
    snprintf(place, sizeof place, "%.*s:%llu", WO_SHOWN(file->path), (unsigned long long)line);
    wo_message(errors, wo_view_of(place), "also sets %.*s to %.*s, and is left as it is", WO_SHOWN(edit->key),
               WO_SHOWN(edit->value));
  }
}

static size_t list_files(const struct wo_patch_edit *edits, size_t count, struct file *files) {
  size_t file_count = 0;
  for (size_t i = 0; i < count; i++) {
    size_t k = 0;
    while (k < file_count && !wo_view_equal(files[k].path, edits[i].path)) k++;
    if (k == file_count) files[file_count++] = (struct file){.path = edits[i].path};
  }
  return file_count;
}

/* ---- Names in the diff ---- */

/* "folder/file" -> the folder's path from the root, and the file's name unchanged. NULL when the folder is gone. */
static char *find_absolute(struct wo_view path) {
  char folder[PATH_MAX];
  size_t name = path.len;
  while (name > 0 && path.ptr[name - 1] != '/') name--;
  if (name >= sizeof folder) return NULL;
  snprintf(folder, sizeof folder, "%.*s.", (int)name, path.ptr);
  char *const real = realpath(folder, NULL);
  if (!real) return NULL;
  const size_t cap = strlen(real) + 1 + (path.len - name) + 1;
  char *const absolute = malloc(cap);
  const char *const slash = strcmp(real, "/") == 0 ? "" : "/";
  if (absolute) snprintf(absolute, cap, "%s%s%.*s", real, slash, (int)(path.len - name), path.ptr + name);
  free(real);
  return absolute;
}

/* The part of an absolute path below a folder; empty when it is not below it. */
static struct wo_view below(const char *absolute, const char *folder) {
  const struct wo_view path = wo_view_of(absolute);
  const size_t len = strlen(folder);
  if (strcmp(folder, "/") == 0) return wo_view_skip(path, 1);
  if (!wo_view_starts(path, folder) || path.len <= len + 1 || path.ptr[len] != '/') return (struct wo_view){0};
  return wo_view_skip(path, len + 1);
}

/* Whether all files are below `here`; false also when that cannot be determined: *ret_is_known is then false. */
static bool are_below(struct file *files, size_t count, const char *here, bool *ret_is_known) {
  bool are_all = true;
  *ret_is_known = here != NULL;
  for (size_t i = 0; i < count && *ret_is_known; i++) {
    files[i].absolute = find_absolute(files[i].path);
    *ret_is_known = files[i].absolute != NULL;
    are_all = are_all && *ret_is_known && below(files[i].absolute, here).len > 0;
  }
  return are_all;
}

/* Files are named from the current folder if all are below it, else all from the root, so that the diff applies as a whole.
 * False when names cannot be determined. */
static bool show_files(struct file *files, size_t count, struct wo_text *out, struct wo_text *errors) {
  char *const here = realpath(".", NULL);
  bool is_known = false, is_changed = false;
  const bool is_here = are_below(files, count, here, &is_known);
  for (size_t i = 0; i < count && is_known; i++) {
    if (files[i].made.hunks.len == 0) continue;
    wo_patch_header(below(files[i].absolute, is_here ? here : "/"), out);
    wo_text_add_view(out, view_of(&files[i].made.hunks));
    is_changed = true;
  }
  free(here);
  if (!is_known) wo_message(errors, WO_VIEW("--patch"), "the folders of the files cannot be determined");
  if (is_changed && wo_clean_has_hidden(view_of(out)))
    wo_message(errors, WO_VIEW("--patch"),
               "it has characters that are not seen, or change the order of others: look at it before you apply it");
  if (is_known && is_changed && !is_here)
    wo_message(errors, WO_VIEW("--patch"), "not all files are below this folder: apply it with patch -d / -p1");
  return is_known;
}

/* ---- Writing ---- */

static bool write_files(const struct file *files, size_t count, struct wo_text *errors) {
  struct wo__patch_change changes[WO_PATCH_EDITS_MAX];
  size_t changed = 0;
  for (size_t i = 0; i < count; i++) {
    if (files[i].made.hunks.len > 0)
      changes[changed++] = (struct wo__patch_change){files[i].path.ptr, view_of(&files[i].before), view_of(&files[i].made.after)};
  }
  return wo__patch_write(changes, changed, errors);
}

/* All files are changed in memory before the first is shown or written. */
static bool run_files(struct file *files, size_t count, const struct wo_patch_edit *edits, size_t edit_count, bool is_writing,
                      struct wo_text *out, struct wo_text *errors) {
  for (size_t i = 0; i < count; i++) {
    if (!change_file(&files[i], edits, edit_count, errors)) return false;
  }
  if (!show_files(files, count, out, errors)) return false;
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < edit_count; k++) report_left(&files[i], &edits[k], errors);
  }
  return !is_writing || write_files(files, count, errors);
}

enum wo_patch_result wo_patch_run(const struct wo_report *report, const struct wo_finding_fix *fixes,
                                  const struct wo_choice *choices, size_t choice_count, bool is_writing, struct wo_text *out,
                                  struct wo_text *errors) {
  struct wo_arena arena;
  const struct wo_patch_edit *edits = NULL;
  size_t count = 0;
  assert(report && out && errors);
  const size_t errors_before = errors->len;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  struct file *const files = wo_arena_array(&arena, WO_PATCH_EDITS_MAX, sizeof *files); /* too many for the stack */
  bool is_done = files && wo_patch_plan(report, fixes, choices, choice_count, &arena, &edits, &count, errors) == WO_OK;
  const bool is_whole = errors->len == errors_before; /* the plan notes each change that it leaves out */
  const size_t file_count = is_done ? list_files(edits, count, files) : 0;
  if (!is_done) wo_message(errors, (struct wo_view){0}, "%s", wo_status_text(WO_E_NOMEM));
  is_done = is_done && run_files(files, file_count, edits, count, is_writing && is_whole, out, errors);
  for (size_t i = 0; i < file_count; i++) {
    wo_text_done(&files[i].before);
    wo_patched_done(&files[i].made);
    free(files[i].absolute);
  }
  wo_arena_done(&arena);
  if (!is_done) return WO_PATCH_FAILED;
  return is_whole ? WO_PATCH_WHOLE : WO_PATCH_PARTIAL;
}
