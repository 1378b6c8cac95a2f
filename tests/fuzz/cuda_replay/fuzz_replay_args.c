/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `whyoom replay` from any bytes: one per line, "name=value". Whatever is taken must be inside its range; whatever is
 * refused must leave the arguments alone and say why. */
#include <stdint.h>
#include <string.h>

#include "cuda_replay/command/replay_args.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct wo_view rest = {(const char *)data, size};
  struct wo_replay_args args = {0};
  while (rest.len > 0) {
    struct wo_view value = wo_view_cut(&rest, '\n');
    const struct wo_view name = wo_view_cut(&value, '=');
    const struct wo_replay_args before = args;
    struct wo_err err = {0};
    if (wo_command_apply(&wo_command_replay, (struct wo_given){name, value}, &args, &err) == WO_OK) continue;
    require(memcmp(&before, &args, sizeof args) == 0);
    require(err.code == WO_E_USAGE && err.message[0] != '\0');
  }
  require(args.change.set_count <= WO_CHANGE_SETS_MAX);
  require(args.change.capacity_bytes <= UINT64_C(1) << 50);
  require(args.at_entry <= UINT32_MAX && args.device >= 0);
  struct wo_alloc_settings settings = wo_alloc_settings_default(WO_TORCH_DEFAULT);
  struct wo_err err = {0};
  if (wo_change_settings(&args.change, &settings, WO_TORCH_DEFAULT, &settings, &err) != WO_OK) require(err.message[0] != '\0');
  const enum wo_status status = wo_replay_args_check(&args, &err);
  require(status == WO_OK || err.message[0] != '\0');
  return 0;
}
