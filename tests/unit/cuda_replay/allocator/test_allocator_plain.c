/* SPDX-License-Identifier: Apache-2.0 */
/* The model against the plain allocator: random sequences under random settings and versions, compared after each step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/process.h"
#include "tests/support/replay/allocator_steps.h"

enum { SEQUENCES = 1500, SEQUENCE_BYTES = 1600 };

static void agrees_on_random_sequences(void **state) {
  (void)state;
  static uint8_t bytes[SEQUENCE_BYTES];
  uint64_t random = UINT64_C(88172645463325252);
  size_t total = 0;
  const int sequences = wo_process_is_sanitized ? SEQUENCES / 5 : SEQUENCES;
  for (int sequence = 0; sequence < sequences; sequence++) {
    for (size_t i = 0; i < sizeof bytes; i++) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      bytes[i] = (uint8_t)(random >> 32);
    }
    size_t steps = 0;
    const char *const why = steps_run(bytes, sizeof bytes, &steps);
    if (why != NULL) fail_msg("sequence %d, step %zu: %s", sequence, steps, why);
    total += steps;
  }
  print_message("%zu steps\n", total);
  assert_true(total > (size_t)100 * (size_t)sequences);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_on_random_sequences)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
