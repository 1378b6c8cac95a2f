/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the files that are changed. See patch.h. */
#include <errno.h>
#include <sys/stat.h>

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

enum wo_status wo__patch_check_unchanged(const char *path, struct wo_view before, struct wo_err *err) {
  struct wo_text now = {0};
  enum wo_status status = wo__patch_read(path, &now, err);
  if (status == WO_OK && !wo_view_equal((struct wo_view){now.ptr, now.len}, before))
    status = wo_err_set(err, WO_E_RANGE, "was changed while it was read: nothing is written");
  wo_text_done(&now);
  return status;
}
