/* SPDX-License-Identifier: Apache-2.0 */
/* Files in tar archives by their paths. The archive is gone through twice, since the last file of a name counts. See member.h. */
#include "parsers/base/input/member.h"

#include <stdlib.h>

#include "parsers/base/descriptor.h"
#include "parsers/base/input/archive.h"

/* Opens the archive at its file number `number`, counted from 1; 0: goes through it and gives the number of the last file with
 * the name. */
static enum wo_status go_through(const char *archive, struct wo_view name, size_t number, size_t *ret_number,
                                 struct wo_input **ret_input, struct wo_err *err) {
  struct wo_input *input = NULL;
  bool is_there = true;
  size_t at = 0;
  enum wo_status status = wo__input_open_path(archive, &input, err);
  while (status == WO_OK && (number == 0 || at < number)) {
    status = wo_input_next_file(input, &is_there, err);
    if (status != WO_OK || !is_there || !wo_input_file_name(input)) break;
    at++;
    if (number == 0 && wo_view_equal(wo_archive_name(wo_view_of(wo_input_file_name(input))), name)) *ret_number = at;
  }
  if (status == WO_OK && number > 0 && at == number)
    *ret_input = input;
  else
    wo_input_close(input);
  return status;
}

/* Damage behind the file does not matter, and before it is the reason why it is not found. */
static enum wo_status open_in(const char *archive, struct wo_view name, const char *path, struct wo_input **ret_input,
                              struct wo_err *err) {
  struct wo_input *outer = NULL;
  size_t number = 0;
  enum wo_status status = go_through(archive, name, 0, &number, NULL, err);
  if (number == 0) return status != WO_OK ? status : wo_err_set(err, WO_E_IO, "there is no such file in the archive %s", archive);
  if (err) *err = (struct wo_err){0};
  status = go_through(archive, name, number, NULL, &outer, err);
  if (status != WO_OK) return status;
  if (!outer) return wo_err_set(err, WO_E_IO, "the archive %s was changed while it was read", archive);
  status = wo__input_open_inside(outer, path, ret_input, err);
  if (status != WO_OK) wo_input_close(outer);
  return status;
}

static enum wo_status open_member(const char *path, struct wo_input **ret_input, struct wo_err *err) {
  const size_t len = wo_path_archive(path);
  char *const archive = malloc(len + 1);
  if (!archive) return wo_err_nomem(err);
  wo_view_copy((struct wo_view){path, len}, archive, len + 1);
  const struct wo_view name = wo_archive_name(wo_view_of(path + len));
  const enum wo_status status = open_in(archive, name, path, ret_input, err);
  if (status != WO_OK) wo_err_place(err, path, 0, 0, 0);
  free(archive);
  return status;
}

enum wo_status wo_input_open(const char *path, struct wo_input **ret_input, struct wo_err *err) {
  const enum wo_status status = wo__input_open_path(path, ret_input, err);
  if (status == WO_OK || wo_path_archive(path) == 0) return status;
  if (err) *err = (struct wo_err){0};
  return open_member(path, ret_input, err);
}
