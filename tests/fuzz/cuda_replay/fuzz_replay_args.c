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
  struct wo_replay_option options[64];
  size_t count = 0;
  while (rest.len > 0 && count < sizeof options / sizeof options[0]) {
    struct wo_view value = wo_view_cut(&rest, '\n');
    const struct wo_view name = wo_view_cut(&value, '=');
    const struct wo_replay_args before = args;
    struct wo_err err = {0};
    options[count] = (struct wo_replay_option){name, value};
    if (wo_replay_args_apply(&args, options[count++], &err) == WO_OK) continue;
    require(memcmp(&before, &args, sizeof args) == 0);
    require(err.code == WO_E_USAGE && err.message[0] != '\0');
  }
  require(args.set_count <= WO_REPLAY_SETS_MAX);
  require(args.capacity_bytes <= UINT64_C(1) << 50);
  require(args.at_entry <= UINT32_MAX && args.device >= 0);
  struct wo_text text = {0};
  wo_replay_args_settings(&args, &text);
  require(text.len <= size + WO_REPLAY_SETS_MAX);
  wo_text_done(&text);
  struct wo_err err = {0};
  const enum wo_status status = wo_replay_args_read(options, count, &args, &err);
  require(status == WO_OK || err.message[0] != '\0');
  return 0;
}
