/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files. See spool.h. */
#include "parsers/base/input/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parsers/base/limits.h"

/* The file loses its name at once. */
static void open_in(struct wo_spool *spool, const char *folder) {
  char path[WO_LIMIT_SPOOL_PATH_BYTES];
  const int len = snprintf(path, sizeof path, "%s/whyoom-XXXXXX", folder);
  const bool is_whole = len > 0 && (size_t)len < sizeof path;
  spool->fd = is_whole ? mkstemp(path) : -1;
  spool->why = is_whole ? errno : ENAMETOOLONG;
  if (spool->fd < 0) return;
  unlink(path);
  fcntl(spool->fd, F_SETFD, FD_CLOEXEC);
}

void wo_spool_open(struct wo_spool *spool, const char *folder) {
  *spool = (struct wo_spool){0};
  open_in(spool, folder ? folder : "/var/tmp");
  if (spool->fd < 0 && !folder) open_in(spool, "/tmp");
}

static enum wo_status fail(struct wo_err *err, int why) {
  return wo_err_set(err, WO_E_IO, "cannot be kept in a temporary file while it is read (TMPDIR names its folder): %s",
                    strerror(why));
}

enum wo_status wo_spool_add(struct wo_spool *spool, struct wo_view bytes, struct wo_err *err) {
  if (spool->fd < 0) return fail(err, spool->why);
  while (bytes.len > 0) {
    const ssize_t len = write(spool->fd, bytes.ptr, bytes.len);
    if (len < 0 && errno == EINTR) continue;
    if (len <= 0) return fail(err, len < 0 ? errno : ENOSPC);
    spool->len += (uint64_t)len;
    bytes = wo_view_skip(bytes, (size_t)len);
  }
  return WO_OK;
}

static enum wo_status copy(struct wo_spool *spool, int fd, uint64_t at, uint64_t len, char *buf, struct wo_err *err) {
  enum wo_status status = WO_OK;
  for (uint64_t done = 0; done < len && status == WO_OK;) {
    const uint64_t left = len - done;
    const size_t want = left < WO_LIMIT_READ_BYTES ? (size_t)left : WO_LIMIT_READ_BYTES;
    const ssize_t got = pread(fd, buf, want, (off_t)(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return wo_err_set(err, WO_E_IO, "cannot be read: %s", got < 0 ? strerror(errno) : "it became shorter");
    status = wo_spool_add(spool, (struct wo_view){buf, (size_t)got}, err);
    done += (uint64_t)got;
  }
  return status;
}

enum wo_status wo_spool_copy(struct wo_spool *spool, int fd, uint64_t at, uint64_t len, struct wo_err *err) {
  char *const buf = malloc(WO_LIMIT_READ_BYTES);
  const enum wo_status status = buf ? copy(spool, fd, at, len, buf, err) : wo_err_nomem(err);
  free(buf);
  return status;
}

void wo_spool_close(struct wo_spool *spool) {
  if (spool->fd >= 0) close(spool->fd);
  spool->fd = -1;
}
