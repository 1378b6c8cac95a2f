/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the allocator model with sequences of requests under settings and versions that the input chooses. Checks after each
 * step that the invariants hold and that the plain allocator did the same: see allocator_steps.h. */
#include <stddef.h>
#include <stdint.h>

#include "tests/support/replay/allocator_steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t steps = 0;
  const char *const why = steps_run(data, size, &steps);
  if (why != NULL) {
    fprintf(stderr, "fuzz_allocator: step %zu: %s\n", steps, why);
    __builtin_trap();
  }
  return 0;
}
