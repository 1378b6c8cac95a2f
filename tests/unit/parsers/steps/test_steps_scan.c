/* SPDX-License-Identifier: Apache-2.0 */
/* Memory beside training steps, followed over a scan: what is kept when more is printed than is followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "tests/support/job/scan_sample.h"

enum { RANKS = WO_LIMIT_STEPS_SERIES / 4 + 9, LINES = 6 };

/* Each rank prints four figures: the first ranks that come are followed to their end, further figures are counted as dropped. */
static void test_too_many_series(void **state) {
  const struct sample_patterns *const patterns = *state;
  struct sample_log log = {0};
  struct wo_event_store store;
  for (int step = 1; step <= LINES; step++) {
    for (int rank = 0; rank < RANKS; rank++) {
      char line[200];
      snprintf(line, sizeof line,
               "[Rank %d] (after %d iterations) memory (MB) | allocated: %d.0 | max allocated: 2048.0 | reserved: 3072.0 | max "
               "reserved: 4096.0\n",
               rank, 10 * step, 1000 + step);
      sample_say(&log, line);
    }
  }
  sample_scan(patterns->set, sample_view(&log), CHUNK_RANDOM, &store);
  const size_t kept = sample_count(&store, WO_KIND_MEMORY_STEPS);
  assert_true(kept > 0 && kept <= WO_LIMIT_STEPS_SERIES);
  assert_true(store.dropped > 0);
  for (size_t i = 0; i < kept; i++) {
    const struct wo_event *const event = sample_find(&store, WO_KIND_MEMORY_STEPS, i);
    assert_in_range(event->rank, 0, RANKS - 1);
    sample_expect_number(event, WO_FIELD_SAMPLES, LINES);
  }
  wo_event_store_done(&store);
  sample_free(&log);
}

/* With as many ranks as are followed nothing is dropped. */
static void test_few_series(void **state) {
  const struct sample_patterns *const patterns = *state;
  struct wo_event_store store;
  sample_scan_text(
      patterns->set,
      "[Rank 0] (after 10 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 | reserved: 3.0 | max reserved: 4.0\n"
      "[Rank 0] (after 20 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 | reserved: 3.0 | max reserved: 4.0\n"
      "[Rank 0] (after 30 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 | reserved: 3.0 | max reserved: 4.0\n",
      &store);
  assert_int_equal(store.dropped, 0);
  assert_true(sample_count(&store, WO_KIND_MEMORY_STEPS) > 0);
  wo_event_store_done(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_too_many_series), cmocka_unit_test(test_few_series)};
  return cmocka_run_group_tests_name("steps_scan", tests, sample_setup, sample_teardown);
}
