/* SPDX-License-Identifier: Apache-2.0 */
/* The order of blocks against a plain array: random insertions, erasures and searches, with many equal sizes. */
#include "cuda_replay/collections/block_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/replay/block_order_valid.h"
#include "tests/support/process.h"

enum { BLOCKS = 700, ROUNDS = 60000 };

static struct wo_block_key keys[BLOCKS];
static bool is_in[BLOCKS];

static bool is_less(struct wo_block_key a, struct wo_block_key b) {
  return a.size_bytes != b.size_bytes ? a.size_bytes < b.size_bytes : a.tie < b.tie;
}

/* The block nearest to a key: at least it, above it, or below it. */
static uint32_t search(struct wo_block_key key, char how) {
  uint32_t best = WO_ORDER_NONE;
  for (uint32_t i = 0; i < BLOCKS; i++) {
    const bool is_above = is_less(key, keys[i]);
    const bool is_below = is_less(keys[i], key);
    const bool fits = how == '<' ? is_below : how == '>' ? is_above : !is_below;
    if (!is_in[i] || !fits) continue;
    if (best == WO_ORDER_NONE || (how == '<' ? is_less(keys[best], keys[i]) : is_less(keys[i], keys[best]))) best = i;
  }
  return best;
}

static void agrees_with_an_array(void **state) {
  (void)state;
  struct wo_block_order order = {0};
  uint64_t random = 42;
  memset(is_in, 0, sizeof is_in);
  for (uint32_t i = 0; i < BLOCKS; i++) keys[i] = (struct wo_block_key){i % 13 * 512, UINT64_MAX - i * 7919 % 4096 * 512 - i};
  assert_true(wo_block_order_reserve(&order, BLOCKS));
  const int rounds = wo_process_is_sanitized ? ROUNDS / 6 : ROUNDS;
  for (int round = 0; round < rounds; round++) {
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint32_t i = (uint32_t)(random >> 40) % BLOCKS;
    const struct wo_block_key key = keys[(random >> 20) % BLOCKS];
    struct wo_block_place place = {0};
    const uint32_t found = wo_block_order_at_least(&order, key, &place);
    assert_int_equal(found, search(key, '='));
    assert_int_equal(wo_block_order_above(&order, key), search(key, '>'));
    assert_int_equal(wo_block_order_below(&order, key), search(key, '<'));
    /* Fills and empties in waves. */
    const bool grows = round / 5000 % 2 == 0 ? (random >> 33) % 8 != 0 : (random >> 33) % 8 == 0;
    if (is_in[i] && !grows) {
      wo_block_order_erase(&order, keys[i]);
      is_in[i] = false;
    } else if (!is_in[i] && grows) {
      wo_block_order_insert(&order, keys[i], i);
      is_in[i] = true;
    } else if (found != WO_ORDER_NONE && !grows) {
      wo_block_order_take(&order, place);
      is_in[found] = false;
    }
    if (round % 16 == 0) assert_true(wo_block_order_is_valid(&order));
  }
  wo_block_order_done(&order);
  assert_int_equal(order.count, 0);
}

/* Rising and falling insertions keep within the room that was made, whatever is erased between. */
static void stays_within_its_room(void **state) {
  (void)state;
  for (uint64_t direction = 0; direction < 2; direction++) {
    for (uint64_t gap = 1; gap < 40; gap++) {
      struct wo_block_order order = {0};
      assert_true(wo_block_order_reserve(&order, 1000));
      for (uint64_t i = 0; i < 1000; i++) wo_block_order_insert(&order, (struct wo_block_key){direction ? 5000 - i : i, 0}, 1);
      for (uint64_t i = 0; i < 1000; i++) {
        if (i % gap != 0) wo_block_order_erase(&order, (struct wo_block_key){direction ? 5000 - i : i, 0});
      }
      assert_true(wo_block_order_is_valid(&order));
      for (uint64_t i = 0; order.count < 1000; i++) wo_block_order_insert(&order, (struct wo_block_key){2000, i}, 1);
      assert_true(wo_block_order_is_valid(&order));
      wo_block_order_done(&order);
    }
  }
}

static void an_empty_order(void **state) {
  (void)state;
  const struct wo_block_order order = {0};
  const struct wo_block_key key = {1, 1};
  assert_int_equal(wo_block_order_at_least(&order, key, NULL), WO_ORDER_NONE);
  assert_int_equal(wo_block_order_above(&order, key), WO_ORDER_NONE);
  assert_int_equal(wo_block_order_below(&order, key), WO_ORDER_NONE);
  assert_true(wo_block_order_is_valid(&order));
}

static void memory_that_is_out(void **state) {
  (void)state;
  struct wo_block_order order = {0};
  for (long n = 1; n <= 2; n++) {
    wo_fail_alloc_at(n);
    assert_false(wo_block_order_reserve(&order, 100));
    wo_fail_alloc_off();
    assert_int_equal(order.room, 0);
  }
  assert_true(wo_block_order_reserve(&order, 10));
  for (uint32_t i = 0; i < 10; i++) wo_block_order_insert(&order, (struct wo_block_key){i, i}, i);
  wo_fail_alloc_from(1);
  assert_false(wo_block_order_reserve(&order, 1000));
  assert_false(wo_block_order_reserve(&order, SIZE_MAX / 2));
  wo_fail_alloc_off();
  assert_int_equal(wo_block_order_at_least(&order, (struct wo_block_key){4, 0}, NULL), 4);
  assert_true(wo_block_order_is_valid(&order));
  wo_block_order_done(&order);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_an_array),
      cmocka_unit_test(stays_within_its_room),
      cmocka_unit_test(an_empty_order),
      cmocka_unit_test(memory_that_is_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
