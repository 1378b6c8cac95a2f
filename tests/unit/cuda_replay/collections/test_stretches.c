/* SPDX-License-Identifier: Apache-2.0 */
/* Taken stretches of addresses against a plain sorted array: random additions and removals, and each search as a walk over all.
 */
#include "cuda_replay/collections/stretches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"

enum { PLACES = 900, ROUNDS = 40000 };

/* Places of 64 bytes; the stretch at one begins there and may be as long as the places that follow are free. */
#define PLACE_BYTES UINT64_C(64)

static uint64_t lengths[PLACES]; /* in places; 0: none begins here */

static struct wo_stretch stretch_at(size_t place) {
  return (struct wo_stretch){(place + 1) * PLACE_BYTES, (place + 1 + lengths[place]) * PLACE_BYTES};
}

/* Whether stretches rise, and the gap before each is known. */
static bool is_valid(const struct wo_stretches *list) {
  uint64_t end = 0;
  size_t count = 0;
  struct wo_room room = {0};
  for (uint64_t from = 0; wo_room_tree_above(&list->gaps, from, &room); from = room.start + 1) {
    if (room.start < end || room.value <= room.start || room.bytes != room.start - end) return false;
    end = room.value;
    count++;
  }
  for (uint64_t from = 0; wo_room_tree_above(&list->strided, from, &room); from = room.start + 1) count--;
  return list->gaps.count == (list->stride_bytes == 0 ? count : list->strided.count) && (list->stride_bytes == 0 || count == 0);
}

static uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

/* The lowest start from which on `size` bytes are free, tried one after the other. */
static uint64_t lowest(const struct wo_gap_wish *wish) {
  uint64_t start = wish->space_start;
  for (size_t i = 0; i < PLACES; i++) {
    const struct wo_stretch stretch = stretch_at(i);
    if (lengths[i] == 0 || stretch.end <= wish->space_start) continue;
    if (stretch.start >= start + wish->size_bytes) return start;
    start = round_up(stretch.end, wish->stride_bytes);
  }
  return start + wish->size_bytes <= wish->space_end ? start : 0;
}

static uint64_t highest(const struct wo_gap_wish *wish) {
  uint64_t end = wish->space_end;
  for (size_t i = PLACES; i > 0; i--) {
    const struct wo_stretch stretch = stretch_at(i - 1);
    if (lengths[i - 1] == 0 || stretch.start >= end) continue;
    const uint64_t start = end < wish->size_bytes ? 0 : (end - wish->size_bytes) / wish->stride_bytes * wish->stride_bytes;
    if (start >= stretch.end) return start;
    end = stretch.start;
  }
  if (end < wish->space_start + wish->size_bytes + wish->stride_bytes) return 0;
  return (end - wish->size_bytes) / wish->stride_bytes * wish->stride_bytes;
}

static void check_searches(const struct wo_stretches *list, uint64_t random) {
  const uint64_t strides[] = {PLACE_BYTES, 4 * PLACE_BYTES, 16 * PLACE_BYTES};
  const struct wo_gap_wish wish = {
      .space_start = (random >> 8) % 3 * 160 * PLACE_BYTES + 16 * PLACE_BYTES,
      .space_end = (PLACES - (random >> 12) % 3 * 112 + 28) / 16 * 16 * PLACE_BYTES,
      .size_bytes = 1 + (random >> 16) % (20 * PLACE_BYTES),
      .stride_bytes = strides[(random >> 24) % 3],
  };
  assert_true(wo_stretches_lowest_gap(list, &wish) == lowest(&wish));
  assert_true(wo_stretches_highest_gap(list, &wish) == highest(&wish));
  const uint64_t address = random % (PLACES * PLACE_BYTES);
  size_t i = 0;
  while (i < PLACES && (lengths[i] == 0 || stretch_at(i).end <= address)) i++;
  struct wo_stretch found = {0};
  assert_true(wo_stretches_above(list, address, &found) == (i < PLACES));
  if (i < PLACES) assert_true(found.start == stretch_at(i).start && found.end == stretch_at(i).end);
}

/* The places that are free from `place` on, at most `most`. */
static uint64_t room_at(size_t place, uint64_t most) {
  for (size_t i = 0; i < place; i++) {
    if (i + lengths[i] > place) return 0;
  }
  uint64_t room = 0;
  while (room < most && place + room < PLACES && lengths[place + room] == 0) room++;
  return room;
}

static void check_with_stride(uint64_t stride_bytes) {
  struct wo_stretches list = {.stride_bytes = stride_bytes};
  uint64_t random = 42;
  memset(lengths, 0, sizeof lengths);
  for (int round = 0; round < ROUNDS; round++) {
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const size_t place = (size_t)(random >> 40) % PLACES;
    /* Fills and empties in waves. */
    const bool grows = round / 5000 % 2 == 0 ? (random >> 33) % 8 != 0 : (random >> 33) % 8 == 0;
    const uint64_t room = lengths[place] == 0 ? room_at(place, 1 + (random >> 20) % 3) : 0;
    if (grows && room > 0) {
      lengths[place] = room;
      assert_true(wo_stretches_add(&list, stretch_at(place)));
    } else if (!grows) {
      assert_true(wo_stretches_remove(&list, stretch_at(place).start) == (lengths[place] > 0));
      lengths[place] = 0;
    }
    if (round % 8 == 0) check_searches(&list, random ^ random >> 32);
    if (round % 16 == 0) assert_true(is_valid(&list));
  }
  wo_stretches_done(&list);
  assert_int_equal(list.gaps.count, 0);
}

static void agrees_with_an_array(void **state) {
  (void)state;
  check_with_stride(0);
  check_with_stride(PLACE_BYTES);
  check_with_stride(4 * PLACE_BYTES);
}

/* The whole space, one stretch in it, one that begins before it and one that ends behind it. */
static void knows_the_ends_of_the_space(void **state) {
  (void)state;
  struct wo_stretches list = {0};
  const struct wo_gap_wish wish = {.space_start = 1024, .space_end = 4096, .size_bytes = 1024, .stride_bytes = 512};
  assert_int_equal(wo_stretches_lowest_gap(&list, &wish), 1024);
  assert_int_equal(wo_stretches_highest_gap(&list, &wish), 3072);
  assert_true(wo_stretches_add(&list, (struct wo_stretch){512, 1100}));
  assert_true(wo_stretches_add(&list, (struct wo_stretch){3900, 9000}));
  assert_int_equal(wo_stretches_lowest_gap(&list, &wish), 1536);
  assert_int_equal(wo_stretches_highest_gap(&list, &wish), 2560);
  assert_true(wo_stretches_add(&list, (struct wo_stretch){2048, 2049}));
  assert_int_equal(wo_stretches_lowest_gap(&list, &wish), 2560);
  assert_int_equal(wo_stretches_highest_gap(&list, &wish), 2560);
  assert_true(wo_stretches_add(&list, (struct wo_stretch){3000, 3001}));
  assert_int_equal(wo_stretches_lowest_gap(&list, &wish), 0);
  assert_int_equal(wo_stretches_highest_gap(&list, &wish), 0);
  assert_false(wo_stretches_remove(&list, 3001));
  wo_stretches_done(&list);
}

/* Nothing is lost when memory runs out, at whichever allocation. */
static void survives_want_of_memory(void **state) {
  (void)state;
  struct wo_stretches list = {0};
  uint64_t added = 0;
  for (size_t failures = 0; failures < 5;) {
    wo_fail_alloc_at(1);
    const bool is_added = wo_stretches_add(&list, (struct wo_stretch){1 + 2 * added, 2 + 2 * added});
    failures += wo_fail_alloc_hit();
    assert_int_equal(is_added, !wo_fail_alloc_hit());
    wo_fail_alloc_off();
    assert_true(is_valid(&list));
    if (!is_added) assert_true(wo_stretches_add(&list, (struct wo_stretch){1 + 2 * added, 2 + 2 * added}));
    added++;
  }
  struct wo_stretch last;
  assert_true(wo_stretches_above(&list, 2 * added - 1, &last));
  assert_false(wo_stretches_above(&list, 2 * added, &last));
  wo_stretches_done(&list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_an_array),
      cmocka_unit_test(knows_the_ends_of_the_space),
      cmocka_unit_test(survives_want_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
