/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a profiler trace. Properties: a recording is valid, the same when its bytes come in pieces, and goes through the
 * line form and back without a change; a refusal has a message and a place inside of the input; a pattern can be
 * made of every trace, as frees are paired with what is alive. */
#include "cuda_replay/recording/json/chrome_trace.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "tests/fuzz/trace_target.h"

static void check_patterns(struct wo_view bytes) {
  struct wo_recording *const recording = trace_read(wo_chrome_trace_read, bytes, SIZE_MAX);
  for (size_t i = 0; recording != NULL && i < recording->traces.count; i++) {
    struct wo_alloc_pattern pattern = {0};
    require(wo_alloc_pattern_make(recording, &recording->traces.items[i], &pattern, NULL) == WO_OK);
    wo_alloc_pattern_done(&pattern);
  }
  wo_recording_free(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  trace_check(wo_chrome_trace_read, (struct wo_view){(const char *)data, size});
  check_patterns((struct wo_view){(const char *)data, size});
  return 0;
}
