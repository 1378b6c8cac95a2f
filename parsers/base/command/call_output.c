/* SPDX-License-Identifier: Apache-2.0 */
/* See call_output.h. */
#include "parsers/base/command/call_output.h"

#include <assert.h>

/* Without a word standard input is read. */
static bool is_word(const struct wo_call *call, const struct wo_output_file *file) {
  if (call->command->first_path == WO_NO_PATHS) return false;
  if (call->word_count == 0) return wo_output_is(file, "-");
  for (size_t i = call->command->first_path; i < call->word_count; i++) {
    if (wo_output_is(file, call->words[i])) return true;
  }
  return false;
}

static bool is_value(const struct wo_call *call, const struct wo_output_file *file) {
  const struct wo_command *const command = call->command;
  for (size_t i = 0; i < call->given_count; i++) {
    const struct wo_option *const option = wo_option_find(command->options, command->option_count, call->given[i].name);
    if (option && option->path == WO_PATH_READ && call->given[i].value.len > 0 && wo_output_is(file, call->given[i].value.ptr))
      return true;
  }
  return false;
}

enum wo_status wo_call_find_output(const struct wo_call *call, const char *path, struct wo_output_file *ret_file,
                                   struct wo_err *err) {
  assert(call != NULL && path != NULL && ret_file != NULL);
  struct wo_output_file file;
  const enum wo_status status = wo_output_find(path, &file, err);
  if (status != WO_OK) return status;
  if (is_word(call, &file) || is_value(call, &file))
    return wo_err_set(err, WO_E_USAGE, "is an input of this call: it is not written over");
  *ret_file = file;
  return WO_OK;
}

enum wo_status wo_call_write_output(const struct wo_call *call, const char *path, struct wo_view content, bool is_synced,
                                    struct wo_err *err) {
  struct wo_output_file file;
  const enum wo_status status = wo_call_find_output(call, path, &file, err);
  return status == WO_OK ? wo_output_write(&file, content, is_synced, err) : status;
}
