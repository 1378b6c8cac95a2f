/* Alignment of sequences: small ones against all possible alignments, long ones by what they must keep. */
#include "cuda_replay/sequence_match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"

enum { LONGEST = 4000 };

static uint64_t random_next(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

/* Matches, checks that they rise and agree; returns how many there are. */
static size_t match(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count) {
  static uint32_t matches[LONGEST];
  assert_int_equal(wo_sequence_match(a, a_count, b, b_count, matches), WO_OK);
  size_t count = 0, next = 0;
  for (size_t i = 0; i < a_count; i++) {
    if (matches[i] == WO_NO_MATCH) continue;
    assert_true(matches[i] >= next && matches[i] < b_count);
    assert_true(a[i] == b[matches[i]]);
    next = matches[i] + 1;
    count++;
  }
  return count;
}

/* The longest common subsequence, by the table. */
static size_t longest_common(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count) {
  size_t rows[2][64] = {{0}};
  for (size_t i = 1; i <= a_count; i++) {
    for (size_t j = 1; j <= b_count; j++) {
      size_t up = rows[(i - 1) % 2][j], left = rows[i % 2][j - 1];
      rows[i % 2][j] = a[i - 1] == b[j - 1] ? rows[(i - 1) % 2][j - 1] + 1 : up > left ? up : left;
    }
  }
  return rows[a_count % 2][b_count];
}

static void small_ones_are_optimal(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int round = 0; round < 20000; round++) {
    uint64_t a[40], b[40];
    size_t a_count = random_next(&seed) % 40, b_count = random_next(&seed) % 40, letters = 1 + random_next(&seed) % 6;
    for (size_t i = 0; i < a_count; i++) a[i] = random_next(&seed) % letters;
    for (size_t i = 0; i < b_count; i++) b[i] = random_next(&seed) % letters;
    assert_int_equal(match(a, a_count, b, b_count), longest_common(a, a_count, b, b_count));
  }
}

static void far_apart_is_still_an_alignment(void **state) {
  (void)state;
  static uint64_t a[LONGEST], b[LONGEST];
  uint64_t seed = 9;
  /* 1500 strangers in front of the second: more than one window can bridge. */
  for (size_t i = 0; i < LONGEST; i++) {
    a[i] = i;
    b[i] = i < 1500 ? 1000000 + i : i - 1500;
  }
  match(a, LONGEST, b, LONGEST);
  for (size_t i = 0; i < LONGEST; i++) b[i] = random_next(&seed) % 3 == 0 ? 77 : a[i];
  assert_true(match(a, LONGEST, b, LONGEST) > LONGEST / 2);
  assert_int_equal(match(a, LONGEST, a, LONGEST), LONGEST);
  assert_int_equal(match(a, LONGEST, b, 0), 0);
  assert_int_equal(match(a, 0, b, LONGEST), 0);
}

static void memory_out_is_told(void **state) {
  (void)state;
  uint64_t a[1] = {1};
  uint32_t matches[1];
  wo_fail_alloc_at(1);
  assert_int_equal(wo_sequence_match(a, 1, a, 1, matches), WO_E_NOMEM);
  wo_fail_alloc_off();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_ones_are_optimal),
      cmocka_unit_test(far_apart_is_still_an_alignment),
      cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
