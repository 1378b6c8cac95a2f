/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the rest of PyTorch's out-of-memory messages, in three forms. Properties: sizes are not negative and their
 * intervals ordered, texts are clean, places lie inside the input, and a card has one index. */
#include "tests/fuzz/scan_target.h"

static void check_behind(const char *lead, const uint8_t *data, size_t size) {
  struct wo_event_store store;
  target_scan_behind(lead, data, size, &store);
  for (size_t i = 0; i < store.count; i++) {
    const double gpu = wo_event_number(&store.items[i], WO_FIELD_GPU, 0);
    require(gpu >= 0 && gpu == (double)(int64_t)gpu);
  }
  wo_event_store_done(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check_behind("RuntimeError: CUDA out of memory. Tried to allocate ", data, size);
  check_behind("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a\n[rank3]: ", data,
               size);
  check_behind(
      "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : ",
      data, size);
  return 0;
}
