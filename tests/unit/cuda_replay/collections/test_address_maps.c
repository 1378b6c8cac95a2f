/* SPDX-License-Identifier: Apache-2.0 */
/* The ordered and the unordered address map against a plain array: random changes, and each search as a walk over all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/collections/address_table.h"
#include "tests/support/failing_alloc.h"

enum { PLACES = 700, ROUNDS = 30000, NONE = 0 };

/* The address of a place: the two lowest are 0 and 1, the highest is the last there is. */
static uint64_t address_of(size_t place) {
  if (place < 2) return place;
  return place == PLACES - 1 ? UINT64_MAX : (uint64_t)place * 512;
}

static uint32_t values[PLACES]; /* NONE: not in the map */

static uint32_t next_random(void) {
  static uint64_t state = 88172645463325252;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32);
}

/* Each search, from one place. */
static void search(const struct wo_address_map *map, size_t place) {
  struct wo_address_item item = {0};
  uint32_t value = 0;
  size_t below = place + 1, above = place;
  while (below > 0 && values[below - 1] == NONE) below--;
  while (above < PLACES && values[above] == NONE) above++;
  assert_int_equal(wo_address_map_find(map, address_of(place), &value), values[place] != NONE);
  if (values[place] != NONE) assert_int_equal(value, values[place]);
  assert_int_equal(wo_address_map_below(map, address_of(place), &item), below > 0);
  if (below > 0) assert_true(item.address == address_of(below - 1) && item.value == values[below - 1]);
  assert_int_equal(wo_address_map_above(map, address_of(place), &item), above < PLACES);
  if (above < PLACES) assert_true(item.address == address_of(above) && item.value == values[above]);
  if (values[place] != NONE) above++;
  while (above < PLACES && values[above] == NONE) above++;
  const struct wo_address_spot spot = wo_address_map_seek(map, address_of(place));
  assert_int_equal(wo_address_map_at(map, spot, &item), below > 0);
  if (below > 0) assert_true(item.address == address_of(below - 1) && item.value == values[below - 1]);
  assert_int_equal(wo_address_map_after(map, spot, &item), above < PLACES);
  if (above < PLACES) assert_true(item.address == address_of(above) && item.value == values[above]);
}

/* Adds or removes an address, which must not / must be there: at its spot, or by name. */
static void change(struct wo_address_map *map, size_t place, uint32_t value, bool is_at_spot) {
  const struct wo_address_spot spot = wo_address_map_seek(map, address_of(place));
  uint32_t removed = 0;
  if (value != NONE) {
    assert_int_equal(is_at_spot ? wo_address_map_add_at(map, spot, address_of(place), value)
                                : wo_address_map_put(map, address_of(place), value),
                     WO_OK);
  } else if (is_at_spot) {
    wo_address_map_remove_at(map, spot);
  } else {
    assert_true(wo_address_map_remove(map, address_of(place), &removed));
    assert_int_equal(removed, values[place]);
  }
  values[place] = value;
}

/* The map fills, shrinks and fills again, so that runs split and vanish. */
static void map_agrees_with_an_array(void **state) {
  (void)state;
  struct wo_address_map map = {0};
  size_t count = 0;
  for (uint32_t i = 1; i < ROUNDS; i++) {
    const size_t place = next_random() % PLACES;
    const bool adds = next_random() % 100 < (i / 5000 % 2 == 0 ? 90 : 10), is_there = values[place] != NONE;
    if (adds != is_there) {
      change(&map, place, adds ? i : NONE, next_random() % 2 == 0);
      count = adds ? count + 1 : count - 1;
    } else if (adds) {
      assert_int_equal(wo_address_map_put(&map, address_of(place), i), WO_OK);
      values[place] = i;
    } else {
      assert_false(wo_address_map_remove(&map, address_of(place), NULL));
    }
    assert_int_equal(map.count, count);
    search(&map, next_random() % PLACES);
  }
  for (size_t i = 0; i < PLACES; i++) search(&map, i);
  wo_address_map_done(&map);
  for (size_t i = 0; i < PLACES; i++) values[i] = NONE;
  search(&map, 0);
}

static void table_agrees_with_an_array(void **state) {
  (void)state;
  struct wo_address_table table = {0};
  size_t count = 0;
  assert_false(wo_address_table_find(&table, 0, NULL));
  for (uint32_t i = 1; i < ROUNDS; i++) {
    const size_t place = next_random() % PLACES, other = next_random() % PLACES;
    uint32_t value = 0;
    assert_int_equal(wo_address_table_put(&table, address_of(place), i), WO_OK);
    count += values[place] == NONE;
    values[place] = i;
    assert_int_equal(table.count, count);
    assert_int_equal(wo_address_table_find(&table, address_of(other), &value), values[other] != NONE);
    if (values[other] != NONE) assert_int_equal(value, values[other]);
    assert_false(wo_address_table_find(&table, address_of(other) + 7, NULL));
  }
  wo_address_table_done(&table);
  assert_int_equal(table.count, 0);
}

/* Whatever allocation fails, the table keeps what it had. */
static void table_survives_want_of_memory(void **state) {
  (void)state;
  for (unsigned fail_at = 1; fail_at < 8; fail_at++) {
    struct wo_address_table table = {0};
    uint32_t kept = 0, value = 0;
    wo_fail_alloc_at(fail_at);
    while (kept < 5000 && wo_address_table_put(&table, kept, kept + 1) == WO_OK) kept++;
    wo_fail_alloc_off();
    for (uint32_t i = 0; i < kept; i++) assert_true(wo_address_table_find(&table, i, &value) && value == i + 1);
    assert_false(wo_address_table_find(&table, kept, NULL));
    wo_address_table_done(&table);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(map_agrees_with_an_array),
      cmocka_unit_test(table_agrees_with_an_array),
      cmocka_unit_test(table_survives_want_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
