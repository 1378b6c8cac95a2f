/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes out. See output_file.h. Only system calls, no FILE: what failed is known at once, and tests make each of them fail. */
#include "parsers/base/output_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "parsers/base/descriptor.h"

/* Links that are followed one after the other; names that are tried for a temporary file; bytes of an access list. */
enum { LINKS_MAX = 16, NAMES_MAX = 1000, ACCESS_LIST_BYTES = 4096 };

static enum wo_status fail(struct wo_err *err, const char *what, int why) {
  return wo_err_set(err, WO_E_IO, "%s: %s", what, strerror(why));
}

/* ---- The place ---- */

/* The number of the descriptor that a path means, or -1: opening /dev/stdout again would begin at the start of the file that
 * standard output is appended to. */
static int descriptor_of(const char *path) {
  if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
  if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
  return wo_path_descriptor(path);
}

/* The bytes of a path up to its last slash, that one included. */
static size_t folder_length(const char *path) {
  const char *const slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

/* "folder/name" for a name in the folder of `path`. False if it does not fit. */
static bool name_beside(const char *path, const char *name, char *buf) {
  const int length = snprintf(buf, WO_OUTPUT_PATH_BYTES, "%.*s%s", name[0] == '/' ? 0 : (int)folder_length(path), path, name);
  return length > 0 && length < WO_OUTPUT_PATH_BYTES;
}

/* Replaces a link in file->path by what it leads to, until that is no link. */
static enum wo_status follow_links(struct wo_output_file *file, struct wo_err *err) {
  for (size_t i = 0; S_ISLNK(file->old.st_mode); i++) {
    char text[WO_OUTPUT_PATH_BYTES];
    if (i == LINKS_MAX) return fail(err, "cannot be written", ELOOP);
    if (file->old.st_uid != geteuid() && file->old.st_uid != 0)
      return wo_err_set(err, WO_E_KIND, "is a link that another user made: name the file that is meant");
    const ssize_t length = readlink(file->path, text, sizeof text - 1);
    if (length < 0) return fail(err, "cannot be written", errno);
    const size_t start = text[0] == '/' ? 0 : folder_length(file->path);
    if (start + (size_t)length >= sizeof file->path) return fail(err, "cannot be written", ENAMETOOLONG);
    memcpy(file->path + start, text, (size_t)length);
    file->path[start + (size_t)length] = '\0';
    if (lstat(file->path, &file->old) == 0) continue;
    return errno == ENOENT ? wo_err_set(err, WO_E_KIND, "is a link to a file that does not exist: name that file")
                           : fail(err, "cannot be written", errno);
  }
  return WO_OK;
}

/* Files are made and renamed in it. */
static enum wo_status check_folder(const char *path, struct wo_err *err) {
  char folder[WO_OUTPUT_PATH_BYTES];
  if (!name_beside(path, ".", folder)) return fail(err, "cannot be written", ENAMETOOLONG);
  if (access(folder, W_OK | X_OK) == 0) return WO_OK;
  if (errno == ENOENT) return wo_err_set(err, WO_E_IO, "cannot be written: its folder does not exist");
  return fail(err, "cannot be written: its folder", errno);
}

/* A file that is there: one that is replaced, or a stream. */
static enum wo_status check_old(struct wo_output_file *file, struct wo_err *err) {
  const mode_t mode = file->old.st_mode;
  if (S_ISDIR(mode)) return wo_err_set(err, WO_E_KIND, "is a folder: name a file in it");
  file->is_old = S_ISREG(mode);
  file->is_stream = S_ISCHR(mode) || S_ISFIFO(mode);
  if (!file->is_old && !file->is_stream) return wo_err_set(err, WO_E_KIND, "is no file that can be written");
  if (file->is_old && (mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0)
    return wo_err_set(err, WO_E_KIND, "is read-only: nothing is written");
  if (access(file->path, W_OK) != 0) return fail(err, "cannot be written", errno);
  if (file->is_stream) return WO_OK;
  if (file->old.st_nlink > 1)
    return wo_err_set(err, WO_E_KIND, "has %llu names (hard links), of which one alone would change: nothing is written",
                      (unsigned long long)file->old.st_nlink);
  return check_folder(file->path, err);
}

enum wo_status wo_output_find(const char *path, struct wo_output_file *ret_file, struct wo_err *err) {
  assert(path != NULL && ret_file != NULL);
  struct wo_output_file *const file = ret_file;
  if (strlen(path) >= sizeof file->path) return fail(err, "cannot be written", ENAMETOOLONG);
  memcpy(file->path, path, strlen(path) + 1);
  file->descriptor = descriptor_of(path);
  file->is_old = false;
  file->is_stream = file->descriptor >= 0;
  if (file->is_stream) return fstat(file->descriptor, &file->old) == 0 ? WO_OK : fail(err, "cannot be written", errno);
  if (lstat(path, &file->old) != 0) return errno == ENOENT ? check_folder(path, err) : fail(err, "cannot be written", errno);
  const enum wo_status status = follow_links(file, err);
  return status == WO_OK ? check_old(file, err) : status;
}

/* Only regular files are compared: /dev/null may be read and written. */
/* The file that a path is read from: of one in an archive, the archive. */
static bool stat_input(const char *path, struct stat *ret_info) {
  if (strcmp(path, "-") == 0) return fstat(STDIN_FILENO, ret_info) == 0;
  if (stat(path, ret_info) == 0) return true;
  const size_t len = wo_path_archive(path);
  char *const archive = len > 0 ? strndup(path, len) : NULL;
  const bool is_there = archive && stat(archive, ret_info) == 0;
  free(archive);
  return is_there;
}

bool wo_output_is(const struct wo_output_file *file, const char *path) {
  struct stat info;
  const bool is_there = stat_input(path, &info);
  return is_there && (file->is_old || file->is_stream) && S_ISREG(info.st_mode) && info.st_dev == file->old.st_dev &&
         info.st_ino == file->old.st_ino;
}

static bool stat_folder(const struct wo_output_file *file, struct stat *ret_info) {
  char path[WO_OUTPUT_PATH_BYTES];
  return name_beside(file->path, ".", path) && stat(path, ret_info) == 0;
}

bool wo_output_is_same(const struct wo_output_file *a, const struct wo_output_file *b) {
  struct stat folder_a, folder_b;
  if (a->is_stream || b->is_stream) return false;
  if (a->is_old && wo_output_is(a, b->path)) return true;
  if (strcmp(a->path + folder_length(a->path), b->path + folder_length(b->path)) != 0) return false;
  return stat_folder(a, &folder_a) && stat_folder(b, &folder_b) && folder_a.st_dev == folder_b.st_dev &&
         folder_a.st_ino == folder_b.st_ino;
}

/* ---- Writing ---- */

/* Returns 0 or the system's reason. A signal or a short write means that the rest is still to be written. */
static int write_all(int fd, struct wo_view content) {
  while (content.len > 0) {
    const ssize_t count = write(fd, content.ptr, content.len);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    content = wo_view_skip(content, (size_t)count);
  }
  return 0;
}

enum wo_status wo_output_write_fd(int fd, struct wo_view content, struct wo_err *err) {
  const int why = write_all(fd, content);
  return why == 0 || why == EPIPE ? WO_OK : fail(err, "cannot be written", why);
}

static int open_again(const char *path, int flags, mode_t mode) {
  int fd = -1;
  do {
    fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/* The kind is checked again for the descriptor, since the name may lead elsewhere by then. */
static enum wo_status write_stream(const struct wo_output_file *file, struct wo_view content, struct wo_err *err) {
  struct stat now;
  if (file->descriptor >= 0) return wo_output_write_fd(file->descriptor, content, err);
  const int fd = open_again(file->path, O_WRONLY | O_NOFOLLOW, 0);
  if (fd < 0) return fail(err, "cannot be written", errno);
  enum wo_status status = WO_OK;
  if (fstat(fd, &now) != 0 || (now.st_mode & S_IFMT) != (file->old.st_mode & S_IFMT))
    status = wo_err_set(err, WO_E_KIND, "was exchanged: nothing is written");
  if (status == WO_OK) status = wo_output_write_fd(fd, content, err);
  if (close(fd) != 0 && errno != EINTR && status == WO_OK) status = fail(err, "cannot be written", errno);
  return status;
}

/* Access lists (setfacl): without its list a file would give its group what the list's mask gives; and a new file can have a list
 * from its folder, which the old one had not. */
static enum wo_status copy_access_list(const char *from, int to, struct wo_err *err) {
  static const char name[] = "system.posix_acl_access";
  char list[ACCESS_LIST_BYTES];
  const ssize_t length = getxattr(from, name, list, sizeof list);
  if (length < 0 && errno == ERANGE) return fail(err, "its access list cannot be kept", errno);
  const bool is_fine = length >= 0 ? fsetxattr(to, name, list, (size_t)length, 0) == 0
                                   : fgetxattr(to, name, NULL, 0) < 0 || fremovexattr(to, name) == 0;
  return is_fine ? WO_OK : fail(err, "its access list cannot be kept", errno);
}

/* Gives a draft the owner, group, access list and mode of the file that it replaces. The mode comes last, since a new owner
 * clears a part of it. */
static enum wo_status keep_rights(const struct wo_output_file *file, int fd, struct wo_err *err) {
  struct stat made;
  if (fstat(fd, &made) != 0) return fail(err, "cannot be written", errno);
  const bool is_kept = made.st_uid == file->old.st_uid && made.st_gid == file->old.st_gid;
  if (!is_kept && fchown(fd, file->old.st_uid, file->old.st_gid) != 0)
    return fail(err, "its owner and group cannot be kept, so nothing is written", errno);
  const enum wo_status status = copy_access_list(file->path, fd, err);
  if (status != WO_OK) return status;
  return fchmod(fd, file->old.st_mode & 07777) == 0 ? WO_OK : fail(err, "its mode cannot be kept", errno);
}

/* File systems without fsync answer EINVAL. */
static enum wo_status sync_file(int fd, struct wo_err *err) {
  return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? WO_OK : fail(err, "cannot be written", errno);
}

/* Opens a temporary file that nobody had: O_EXCL follows no link either. */
static int open_temporary(const struct wo_output_file *file, struct wo_output_draft *draft) {
  int fd = -1;
  errno = EEXIST;
  for (int i = 0; i < NAMES_MAX && fd < 0 && errno == EEXIST; i++) {
    char name[64];
    snprintf(name, sizeof name, ".whyoom-%ld-%d", (long)getpid(), i);
    if (!name_beside(file->path, name, draft->path))
      errno = ENAMETOOLONG;
    else
      fd = open_again(draft->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, file->is_old ? 0600 : 0666);
  }
  return fd;
}

enum wo_status wo_output_open(const struct wo_output_file *file, struct wo_output_draft *ret_draft, struct wo_err *err) {
  assert(!file->is_stream);
  ret_draft->descriptor = open_temporary(file, ret_draft);
  ret_draft->is_open = ret_draft->descriptor >= 0;
  if (ret_draft->is_open) return WO_OK;
  ret_draft->path[0] = '\0';
  return fail(err, "cannot be written", errno);
}

enum wo_status wo_output_add(struct wo_output_draft *draft, struct wo_view content, struct wo_err *err) {
  const int why = write_all(draft->descriptor, content);
  if (why == 0) return WO_OK;
  wo_output_drop(draft);
  return fail(err, "cannot be written", why);
}

enum wo_status wo_output_close(const struct wo_output_file *file, struct wo_output_draft *draft, bool is_synced,
                               struct wo_err *err) {
  const int fd = draft->descriptor;
  enum wo_status status = WO_OK;
  if (file->is_old) status = keep_rights(file, fd, err);
  if (status == WO_OK && file->is_old && is_synced) status = sync_file(fd, err);
  draft->is_open = false;
  if (close(fd) != 0 && errno != EINTR && status == WO_OK) status = fail(err, "cannot be written", errno);
  if (status != WO_OK) wo_output_drop(draft);
  return status;
}

enum wo_status wo_output_draft(const struct wo_output_file *file, struct wo_view content, bool is_synced,
                               struct wo_output_draft *ret_draft, struct wo_err *err) {
  enum wo_status status = wo_output_open(file, ret_draft, err);
  if (status == WO_OK) status = wo_output_add(ret_draft, content, err);
  return status == WO_OK ? wo_output_close(file, ret_draft, is_synced, err) : status;
}

enum wo_status wo_output_commit(const struct wo_output_file *file, struct wo_output_draft *draft, struct wo_err *err) {
  const bool is_renamed = rename(draft->path, file->path) == 0;
  const int why = errno;
  if (is_renamed) draft->path[0] = '\0';
  wo_output_drop(draft);
  return is_renamed ? WO_OK : fail(err, "cannot be replaced", why);
}

bool wo_output_drop(struct wo_output_draft *draft) {
  if (draft->is_open) close(draft->descriptor);
  draft->is_open = false;
  const bool is_gone = draft->path[0] == '\0' || unlink(draft->path) == 0;
  if (is_gone) draft->path[0] = '\0';
  return is_gone;
}

enum wo_status wo_output_write(const struct wo_output_file *file, struct wo_view content, bool is_synced, struct wo_err *err) {
  struct wo_output_draft draft;
  if (file->is_stream) return write_stream(file, content, err);
  const enum wo_status status = wo_output_draft(file, content, is_synced, &draft, err);
  return status == WO_OK ? wo_output_commit(file, &draft, err) : status;
}
