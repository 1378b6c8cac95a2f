/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a job through the inputs into its evidence. See read_job.h. */
#include "analyzer/scan/read_job.h"

#include <string.h>
#include <unistd.h>

#include "parsers/base/command/message.h"
#include "parsers/base/input/input.h"

/* The path of a file in an archive is the archive's and its own. */
static bool add_file_path(struct wo_text *path, const char *archive, const char *name) {
  path->len = 0;
  wo_text_add(path, name ? "%s/%s" : "%s", archive, name);
  return !path->is_failed;
}

/* Reads the files of an input, most of which are a single one. What failed is a message; the job keeps what came before. */
static bool read_files(struct wo_job *job, struct wo_input *input, const char *name, struct wo_text *errors) {
  struct wo_text path = {0};
  bool is_good = true;
  bool is_there = true;
  size_t count = 0;
  while (is_there) {
    struct wo_err err = {0};
    enum wo_status status = wo_input_next_file(input, &is_there, &err);
    if (status == WO_OK && !is_there) break;
    if (status == WO_OK && !add_file_path(&path, name, wo_input_file_name(input))) status = WO_E_NOMEM;
    if (status == WO_OK) {
      count++;
      status = wo_job_read(job, input, path.ptr, &err);
    } else if (count == 0) {
      wo_job_add_unreadable(job, name, &err);
    }
    if (status == WO_OK) continue;
    is_good = false;
    is_there = status == WO_E_KIND && wo_input_file_name(input); /* a file that is no text; others may be */
    wo_message_error(errors, is_there ? wo_view_of(path.ptr) : wo_view_of(name), &err);
  }
  wo_text_done(&path);
  return is_good;
}

/* Reads an input to its end and closes it; that could not be opened is NULL, and `err` says why. */
static bool read_input(struct wo_job *job, struct wo_input *input, const char *path, const char *name, const struct wo_err *err,
                       const volatile sig_atomic_t *is_up, struct wo_text *errors) {
  if (!input) {
    wo_message_error(errors, wo_view_of(path), err);
    wo_job_add_unreadable(job, name, err);
    return false;
  }
  if (is_up) wo_input_stop_when(input, is_up);
  const bool is_good = read_files(job, input, name, errors);
  wo_input_close(input);
  return is_good;
}

bool wo_read_part(struct wo_job *job, const char *path, const struct wo_file_part *part, const volatile sig_atomic_t *is_up,
                  struct wo_text *errors) {
  struct wo_input *input = NULL;
  struct wo_err err = {0};
  wo_input_open_part(part->fd, part->at, part->len, path, &input, &err);
  return read_input(job, input, path, path, &err, is_up, errors);
}

bool wo_read_text(struct wo_job *job, struct wo_view text, const char *name, const volatile sig_atomic_t *is_up,
                  struct wo_text *errors) {
  struct wo_input *input = NULL;
  struct wo_err err = {0};
  wo_input_open_bytes(text.ptr, text.len, name, &input, &err);
  return read_input(job, input, name, name, &err, is_up, errors);
}

bool wo_read_path(struct wo_job *job, const char *path, const volatile sig_atomic_t *is_up, struct wo_text *errors) {
  const bool is_stdin = strcmp(path, "-") == 0;
  const char *const name = is_stdin ? "<stdin>" : path;
  struct wo_input *input = NULL;
  struct wo_err err = {0};
  if (is_stdin)
    wo_input_open_fd(STDIN_FILENO, name, &input, &err);
  else
    wo_input_open(path, &input, &err);
  return read_input(job, input, path, name, &err, is_up, errors);
}
