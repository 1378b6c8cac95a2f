/* Shared by commands: loading rules, the error for lack of memory. */
#include "analyzer/command/commands.h"

struct wo_pack *wo_command_load(const struct wo_call *call, enum wo_load_depth depth) {
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  err.code = wo_pack_load_all(call->rules_dir.ptr, depth, &pack, &err);
  if (err.code == WO_OK) return pack;
  wo_message_error(call->errors, (struct wo_view){0}, &err);
  return NULL;
}

enum wo_exit wo_command_fail_memory(const struct wo_call *call) {
  wo_message(call->errors, (struct wo_view){0}, "out of memory");
  return WO_EXIT_ERROR;
}
