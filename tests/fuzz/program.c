/* SPDX-License-Identifier: Apache-2.0 */
/* The libFuzzer program of one target, WO_FUZZ_INPUT. */
#include "tests/fuzz/targets.h"

int WO_FUZZ_INPUT(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return WO_FUZZ_INPUT(data, size);
}
