/* Writing a changed file: never in place, so that nobody sees half of it. See patch.h. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/patch/patch.h"
#include "analyzer/patch/patch_internal.h"

/* Scripts and configurations are small; a larger file is something else. */
enum { FILE_BYTES_MAX = 8 * 1024 * 1024 };

static enum wo_status fail(struct wo_err *err, const char *what) {
  return wo_err_set(err, WO_E_IO, "%s: %s", what, strerror(errno));
}

enum wo_status wo__patch_read(const char *path, struct wo_text *ret_text, struct wo_err *err) {
  struct stat info;
  struct wo_text text = {0};
  char buf[4 * 1024];
  size_t count;
  if (lstat(path, &info) != 0) return fail(err, "cannot be read");
  if (!S_ISREG(info.st_mode)) return wo_err_set(err, WO_E_KIND, "is not a plain file (a link is not followed)");
  FILE *const file = fopen(path, "rb");
  if (!file) return fail(err, "cannot be read");
  while ((count = fread(buf, 1, sizeof buf, file)) > 0 && text.len <= FILE_BYTES_MAX)
    wo_text_add_view(&text, (struct wo_view){buf, count});
  const bool is_broken = ferror(file) != 0;
  fclose(file);
  enum wo_status status = WO_OK;
  if (is_broken) status = wo_err_set(err, WO_E_IO, "cannot be read to its end");
  if (text.len > FILE_BYTES_MAX) status = wo_err_set(err, WO_E_LIMIT, "is larger than %d bytes", FILE_BYTES_MAX);
  if (text.is_failed) status = wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  if (status == WO_OK)
    *ret_text = text;
  else
    wo_text_done(&text);
  return status;
}

/* Writes the temporary file completely to its disk, with the old file's mode. */
static enum wo_status write_temporary(int fd, mode_t mode, struct wo_view after, struct wo_err *err) {
  for (size_t done = 0; done < after.len;) {
    const ssize_t count = write(fd, after.ptr + done, after.len - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(err, "cannot be written");
    done += (size_t)count;
  }
  if (fchmod(fd, mode & 07777) != 0 || fsync(fd) != 0) return fail(err, "cannot be written");
  return WO_OK;
}

/* Somebody may have saved the file between reading and renaming. */
static enum wo_status check_unchanged(const char *path, struct wo_view before, struct wo_err *err) {
  struct wo_text now = {0};
  enum wo_status status = wo__patch_read(path, &now, err);
  if (status == WO_OK && !wo_view_equal((struct wo_view){now.ptr, now.len}, before))
    status = wo_err_set(err, WO_E_RANGE, "was changed while it was read: nothing is written");
  wo_text_done(&now);
  return status;
}

enum wo_status wo__patch_draft(const char *path, struct wo_view content, struct wo__patch_draft *ret_draft, struct wo_err *err) {
  struct wo__patch_draft draft;
  struct stat info;
  if (lstat(path, &info) != 0) return fail(err, "cannot be written");
  if ((info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) return wo_err_set(err, WO_E_KIND, "is read-only: nothing is written");
  const int length = snprintf(draft.path, sizeof draft.path, "%s.whyoom-XXXXXX", path);
  if (length < 0 || (size_t)length >= sizeof draft.path) return wo_err_set(err, WO_E_LIMIT, "the path is too long");
  const int fd = mkstemp(draft.path);
  if (fd < 0) return fail(err, "cannot be written");
  enum wo_status status = write_temporary(fd, info.st_mode, content, err);
  if (close(fd) != 0 && status == WO_OK) status = fail(err, "cannot be written");
  if (status != WO_OK) {
    wo__patch_drop(&draft);
    return status;
  }
  *ret_draft = draft;
  return WO_OK;
}

enum wo_status wo__patch_commit(const char *path, struct wo_view before, struct wo__patch_draft *draft, struct wo_err *err) {
  if (draft->path[0] == '\0') return WO_OK;
  enum wo_status status = check_unchanged(path, before, err);
  if (status == WO_OK && rename(draft->path, path) != 0) status = fail(err, "cannot be replaced");
  if (status == WO_OK) draft->path[0] = '\0';
  wo__patch_drop(draft);
  return status;
}

void wo__patch_drop(struct wo__patch_draft *draft) {
  if (draft->path[0] != '\0') unlink(draft->path);
  draft->path[0] = '\0';
}
