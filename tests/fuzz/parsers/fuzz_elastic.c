/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the rows of torchelastic's block about the first failure. Properties: there is one block, whose rank is known or
 * unknown and nothing else, and whose numbers are whole. */
#include "tests/fuzz/scan_target.h"

static bool is_whole(double value) {
  return value == (double)(int64_t)value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct wo_event_store store;
  size_t blocks = 0;
  target_scan_behind("Root Cause (first observed failure):\n", data, size, &store);
  for (size_t i = 0; i < store.count; i++) {
    const struct wo_event *event = &store.items[i];
    if (event->kind != WO_KIND_ELASTIC) continue;
    blocks++;
    require(is_whole(wo_event_number(event, WO_FIELD_EXIT_CODE, 0)) && is_whole(wo_event_number(event, WO_FIELD_PID, 0)));
    require(wo_event_number(event, WO_FIELD_RANK, event->rank) == event->rank || wo_event_number(event, WO_FIELD_RANK, 0) < 0);
  }
  require(blocks >= 1);
  wo_event_store_done(&store);
  return 0;
}
