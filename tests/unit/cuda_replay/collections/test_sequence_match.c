/* SPDX-License-Identifier: Apache-2.0 */
/* Alignment of sequences: small ones against all possible alignments, long ones by what they must keep. */
#include "cuda_replay/collections/sequence_match.h"

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

/* The least edits between the first and any beginning of the second, by the table. */
static size_t least_edits(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count) {
  size_t least = SIZE_MAX;
  for (size_t used = 0; used <= b_count; used++) {
    const size_t edits = a_count + used - 2 * longest_common(a, a_count, b, used);
    if (edits < least) least = edits;
  }
  return least;
}

static void beginnings_are_optimal(void **state) {
  (void)state;
  uint64_t seed = 11;
  for (int round = 0; round < 2000; round++) {
    uint64_t a[30], b[40];
    uint32_t matches[30];
    size_t a_count = random_next(&seed) % 30, b_count = random_next(&seed) % 40, letters = 1 + random_next(&seed) % 6;
    size_t used = SIZE_MAX, matched = 0;
    for (size_t i = 0; i < a_count; i++) a[i] = random_next(&seed) % letters;
    for (size_t i = 0; i < b_count; i++) b[i] = random_next(&seed) % letters;
    assert_int_equal(wo_sequence_match_beginning(a, a_count, b, b_count, SIZE_MAX, matches, &used), WO_OK);
    assert_true(used <= b_count);
    for (size_t i = 0; i < a_count; i++) {
      if (matches[i] == WO_NO_MATCH) continue;
      assert_true(matches[i] < used && a[i] == b[matches[i]]);
      matched++;
    }
    assert_int_equal(a_count + used - 2 * matched, least_edits(a, a_count, b, b_count));
  }
}

/* What follows does not draw an equal beginning away, however often it comes again. */
static void an_equal_beginning_is_taken_as_it_is(void **state) {
  (void)state;
  static uint64_t layers[LONGEST];
  static uint32_t matches[LONGEST];
  size_t used;
  for (size_t i = 0; i < LONGEST; i++) layers[i] = i % 7;
  assert_int_equal(wo_sequence_match_beginning(layers, 700, layers, LONGEST, 0, matches, &used), WO_OK);
  assert_int_equal(used, 700);
  for (size_t i = 0; i < 700; i++) assert_int_equal(matches[i], i);
}

/* Nothing in common: all of the first is without a match, and little time is spent on it. */
static void what_does_not_fit_is_given_up(void **state) {
  (void)state;
  static uint64_t a[LONGEST], b[LONGEST];
  static uint32_t matches[LONGEST];
  size_t used;
  for (size_t i = 0; i < LONGEST; i++) {
    a[i] = 2 * i;
    b[i] = 2 * i + 1;
  }
  assert_int_equal(wo_sequence_match_beginning(a, LONGEST, b, LONGEST, 10, matches, &used), WO_OK);
  assert_true(used < LONGEST);
  for (size_t i = 0; i < LONGEST; i++) assert_int_equal(matches[i], WO_NO_MATCH);
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
      cmocka_unit_test(beginnings_are_optimal),
      cmocka_unit_test(what_does_not_fit_is_given_up),
      cmocka_unit_test(an_equal_beginning_is_taken_as_it_is),
      cmocka_unit_test(small_ones_are_optimal),
      cmocka_unit_test(far_apart_is_still_an_alignment),
      cmocka_unit_test(memory_out_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
