/* SPDX-License-Identifier: Apache-2.0 */
/* A file that cannot be read ends the reading, because half of a user's rules would be worse than none. */
#include "rules/files/rule_dir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "parsers/base/input/input.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"
#include "parsers/base/view.h"

/* Folders within folders, and files in all: protect from a wrong folder, such as a home directory,
 * and from links that lead in a circle (stat follows them). */
enum { DIR_DEPTH_MAX = 8, DIR_FILES_MAX = 4096 };

/* An error about a file or folder as a whole, without a line. Returns its code. */
static enum wo_status fail_path(struct wo_err *err, enum wo_status code, const char *path, const char *reason) {
  wo_err_set(err, code, "%s", reason);
  wo_err_place(err, path, 0, 0, 0);
  return code;
}

/* "folder/name", to be freed; NULL when memory is out. */
static char *new_path(const char *folder, const char *name) {
  const size_t size = strlen(folder) + strlen(name) + 2;
  char *const path = malloc(size);
  if (path != NULL) snprintf(path, size, "%s/%s", folder, name);
  return path;
}

/* Reads a whole file into `buf` of WO_LIMIT_RULE_FILE_BYTES + 1: one byte more than a rule file may have, so that a file that is
 * too long differs from one that just fits. Goes through wo_input, as logs do: a compressed rule file is read, and a FIFO in the
 * folder is refused and not waited for. */
static enum wo_status read_content(const char *path, char *buf, size_t *ret_len, struct wo_err *err) {
  struct wo_input *input = NULL;
  enum wo_status status = wo_input_open(path, &input, err);
  if (status != WO_OK) return status;
  size_t len = 0;
  for (size_t got = 1; status == WO_OK && got > 0 && len <= WO_LIMIT_RULE_FILE_BYTES; len += got) {
    got = 0;
    status = wo_input_read(input, buf + len, WO_LIMIT_RULE_FILE_BYTES + 1 - len, &got, err);
  }
  wo_input_close(input);
  if (status != WO_OK) return status;
  if (len > WO_LIMIT_RULE_FILE_BYTES) return fail_path(err, WO_E_LIMIT, path, "rule file is too large");
  *ret_len = len;
  return WO_OK;
}

/* Adds one file; takes the path over on success. The buffer is made for the longest file and then
 * cut down to what was read; when cutting fails the larger one serves as well. A NUL after the text is not counted. */
static enum wo_status add_file(struct wo_rule_files *files, char *path, struct wo_err *err) {
  if (files->count >= DIR_FILES_MAX) return fail_path(err, WO_E_LIMIT, path, "too many rule files");
  if (!WO_VEC_RESERVE(files, 1, DIR_FILES_MAX)) return wo_err_nomem(err);
  char *const buf = malloc(WO_LIMIT_RULE_FILE_BYTES + 1);
  if (buf == NULL) return wo_err_nomem(err);
  size_t len = 0;
  const enum wo_status status = read_content(path, buf, &len, err);
  if (status != WO_OK) {
    free(buf);
    return status;
  }
  buf[len] = '\0';
  char *const data = realloc(buf, len + 1);
  files->items[files->count++] =
      (struct wo_rule_file){.name = path, .data = data != NULL ? data : buf, .size = len, .is_user = true};
  return WO_OK;
}

/* Hidden files are left alone: editors leave theirs behind. */
static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static enum wo_status add_folder(struct wo_rule_files *files, const char *folder, unsigned depth, struct wo_err *err);

/* Adds the folder or rule file at a path; other files are ignored. The path is freed here, unless a file was added, whose name it
 * then is: the count has grown then. */
static enum wo_status add_path(struct wo_rule_files *files, const char *folder, const char *name, unsigned depth,
                               struct wo_err *err) {
  char *const path = new_path(folder, name);
  if (path == NULL) return wo_err_nomem(err);
  struct stat about;
  enum wo_status status = WO_OK;
  const size_t count = files->count;
  if (stat(path, &about) != 0) {
    status = fail_path(err, WO_E_IO, path, "cannot be looked at");
  } else if (S_ISDIR(about.st_mode)) {
    status = add_folder(files, path, depth + 1, err);
  } else if (wo_view_ends(wo_view_of(name), ".json")) {
    status = add_file(files, path, err);
    if (files->count > count) return status; /* NOLINT(clang-analyzer-unix.Malloc): the new row owns the path */
  }
  free(path);
  return status;
}

/* Adds a folder in name order: byte-wise, because no locale is ever set. After a failure the rest of the entries is still freed,
 * but no longer read; the first error is the one that is reported. */
static enum wo_status add_folder(struct wo_rule_files *files, const char *folder, unsigned depth, struct wo_err *err) {
  if (depth > DIR_DEPTH_MAX) return fail_path(err, WO_E_LIMIT, folder, "folders nested too deep");
  struct dirent **entries = NULL;
  const int count = scandir(folder, &entries, is_visible, alphasort);
  if (count < 0) return fail_path(err, WO_E_IO, folder, errno == ENOENT ? "no such folder" : "cannot be read as a folder");
  enum wo_status status = WO_OK;
  for (int i = 0; i < count; i++) {
    if (status == WO_OK) status = add_path(files, folder, entries[i]->d_name, depth, err);
    free(entries[i]);
  }
  free(entries);
  return status;
}

enum wo_status wo_rule_dir_read(const char *dir, struct wo_rule_files *files, struct wo_err *err) {
  assert(dir != NULL && files != NULL);
  return add_folder(files, dir, 0, err);
}

/* The casts take away a const that is only there for the readers of struct wo_rule_file. */
void wo_rule_files_done(struct wo_rule_files *files) {
  for (size_t i = 0; i < files->count; i++) {
    if (!files->items[i].is_user) continue;
    free((void *)(uintptr_t)files->items[i].name);
    free((void *)(uintptr_t)files->items[i].data);
  }
  WO_VEC_DONE(files);
}
