/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two files. See compare.h. */
#include <assert.h>

#include "cuda_replay/compare/compare.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "cuda_replay/recording/trace_anonymous.h"

/* One file that was read. */
struct file {
  struct wo_recording *recording;
  struct wo_view path; /* as it is shown */
  struct wo_look look;
};

static const struct wo_trace *find_trace(const struct wo_recording *recording, int device) {
  for (size_t i = 0; i < recording->traces.count; i++) {
    if (device < 0 || recording->traces.items[i].device == device) return &recording->traces.items[i];
  }
  return NULL;
}

static enum wo_status read_file(const char *path, const struct wo_compare_options *options, struct file *file,
                                struct wo_err *err) {
  const enum wo_status status = wo_trace_open(path, &file->recording, err);
  if (status == WO_OK) wo_recording_learn(file->recording, options->pseudonyms);
  return status;
}

static enum wo_status look_at(const char *path, const struct wo_compare_options *options, struct file *file, struct wo_err *err) {
  wo_recording_anonymize(file->recording, options->pseudonyms);
  file->path = wo_pseudonyms_path(options->pseudonyms, wo_view_of(path), &file->recording->arena);
  const struct wo_trace *const trace = find_trace(file->recording, options->device);
  if (trace == NULL && options->device < 0) return wo_err_set(err, WO_E_USAGE, "has no entries of any device");
  if (trace == NULL) return wo_err_set(err, WO_E_USAGE, "records nothing of device %d", options->device);
  return wo_look_make(file->recording, trace, NULL, options->categories, options->part, &file->look, err);
}

static enum wo_status write_difference(const struct file files[2], const struct wo_compare_options *options, struct wo_text *out,
                                       struct wo_err *err) {
  const struct wo_compare_side sides[2] = {{&files[0].look, files[0].path}, {&files[1].look, files[1].path}};
  struct wo_compare compare;
  if (wo_compare_make(sides, options->categories, options->at, &compare) != WO_OK) return wo_err_nomem(err);
  options->write(&compare, options->style, out);
  wo_compare_done(&compare);
  return WO_OK;
}

enum wo_status wo_compare_files(const char *const paths[2], const struct wo_compare_options *options, struct wo_text *out,
                                const char **ret_failed, struct wo_err *err) {
  assert(paths[0] != NULL && paths[1] != NULL);
  struct file files[2] = {0};
  enum wo_status status = WO_OK;
  for (int i = 0; i < 2 && status == WO_OK; i++) {
    *ret_failed = paths[i];
    status = read_file(paths[i], options, &files[i], err);
  }
  for (int i = 0; i < 2 && status == WO_OK; i++) { /* names of both are known now */
    *ret_failed = paths[i];
    status = look_at(paths[i], options, &files[i], err);
  }
  if (status != WO_OK && err->code == WO_OK) err->code = status;
  if (status == WO_OK) status = write_difference(files, options, out, err);
  for (int i = 0; i < 2; i++) {
    wo_look_done(&files[i].look);
    wo_recording_free(files[i].recording);
  }
  return status;
}
