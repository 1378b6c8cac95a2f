/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the rest of a Python traceback. Properties: a traceback names an exception or has its message, unless the input
 * ends inside of it: then it shows its first line; texts are clean, places lie inside the input. */
#include "tests/fuzz/scan_target.h"

static void check_behind(const char *lead, const uint8_t *data, size_t size) {
  struct wo_event_store store;
  target_scan_behind(lead, data, size, &store);
  for (size_t i = 0; i < store.count; i++) {
    const struct wo_event *event = &store.items[i];
    if (event->kind != WO_KIND_TRACEBACK || !wo_view_is(event->pattern_id, "python-traceback")) continue;
    const bool says_what = wo_event_text(event, WO_FIELD_EXCEPTION).len > 0 || wo_event_text(event, WO_FIELD_MESSAGE).len > 0;
    require(says_what || event->text.len > 0);
    require(wo_event_number(event, WO_FIELD_FRAME_LINE, 0) >= 0);
  }
  wo_event_store_done(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check_behind("Traceback (most recent call last):\n  File \"run.py\", line 3, in main\n", data, size);
  check_behind("Traceback (most recent call last):\n  File \"", data, size);
  check_behind("[rank1]:   File \"a.py\", line 7, in f\n[rank1]: ", data, size);
  return 0;
}
