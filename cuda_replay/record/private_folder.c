/* SPDX-License-Identifier: Apache-2.0 */
/* See private_folder.h. A group counts as others: who is in it can change at any time. The kernel shows the mask of an access
 * list as the rights of the group, so that lists count too. */
#include "cuda_replay/record/private_folder.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum wo_status fail(struct wo_err *err, const char *path) {
  return wo_err_set(err, WO_E_IO, "%s: %s", path, strerror(errno));
}

/* One folder of a path. */
static enum wo_status check_one(const char *path, struct wo_err *err) {
  struct stat found;
  if (lstat(path, &found) != 0) return fail(err, path);
  if (!S_ISDIR(found.st_mode)) return wo_err_set(err, WO_E_KIND, "%s: is no folder", path);
  if (found.st_uid != 0 && found.st_uid != geteuid())
    return wo_err_set(err, WO_E_KIND, "%s: belongs to user %lu, who could exchange code below it; choose another folder with -o",
                      path, (unsigned long)found.st_uid);
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (found.st_mode & S_ISVTX) == 0)
    return wo_err_set(err, WO_E_KIND,
                      "%s: others can write to it, and so exchange code below it; chmod go-w, or choose another folder with -o",
                      path);
  return WO_OK;
}

/* From the root down: below a folder that is safe a name cannot lead elsewhere any more. */
enum wo_status wo_private_folder_check(const char *path, struct wo_err *err) {
  assert(path != NULL && path[0] == '/');
  char part[PATH_MAX];
  const size_t length = strlen(path);
  if (length >= sizeof part) return wo_err_set(err, WO_E_IO, "%.60s...: %s", path, strerror(ENAMETOOLONG));
  enum wo_status status = check_one("/", err);
  for (size_t i = 1; i <= length && status == WO_OK; i++) {
    if (i < length && path[i] != '/') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    status = check_one(part, err);
  }
  return status;
}

enum wo_status wo_private_folder_make(const char *path, struct wo_err *err) {
  struct stat found;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return fail(err, path);
  if (lstat(path, &found) != 0) return fail(err, path);
  const bool is_ours = S_ISDIR(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_ours ? WO_OK
                 : wo_err_set(err, WO_E_KIND, "%s: is no folder that only you can write to; choose another one with -o", path);
}
