/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as trace lines. Properties: a recording is valid, the same when its bytes come in pieces, and goes through the line
 * form and back without a change; a refusal has a message and a place inside of the input. */
#include "cuda_replay/recording/json/trace_lines.h"
#include "tests/fuzz/trace_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  trace_check(wo_trace_lines_read, (struct wo_view){(const char *)data, size});
  return 0;
}
