/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of rooms against a plain array: random changes, and each search as a walk over all. */
#include "cuda_replay/collections/room_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"

enum { PLACES = 300, ROUNDS = 20000, BYTES_MOST = 50 };

static uint64_t bytes_at[PLACES]; /* 0: no room */

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* The height of a part of the tree, or 1000 when it is not balanced or does not know its largest room. */
static uint32_t height_of(const struct wo_room_tree *tree, uint32_t at) {
  if (at == 0) return 0;
  const struct wo__room_node *const node = &tree->nodes.items[at];
  const uint32_t left = height_of(tree, node->left);
  const uint32_t right = height_of(tree, node->right);
  uint64_t most = node->room.bytes;
  if (tree->nodes.items[node->left].most_bytes > most) most = tree->nodes.items[node->left].most_bytes;
  if (tree->nodes.items[node->right].most_bytes > most) most = tree->nodes.items[node->right].most_bytes;
  const bool is_balanced = left <= right + 1 && right <= left + 1;
  return is_balanced && most == node->most_bytes ? 1 + (left > right ? left : right) : 1000;
}

static void expect(bool is_found, const struct wo_room *room, int place) {
  assert_int_equal(is_found, place >= 0 && place < PLACES);
  if (!is_found) return;
  assert_int_equal(room->start, place);
  assert_int_equal(room->bytes, bytes_at[place]);
  assert_int_equal(room->value, place + 7);
}

static void check_searches(const struct wo_room_tree *tree, int start, uint64_t bytes) {
  struct wo_room room;
  int place = start;
  while (place >= 0 && bytes_at[place] == 0) place--;
  expect(wo_room_tree_below(tree, (uint64_t)start, &room), &room, place);
  for (place = start; place < PLACES && bytes_at[place] == 0;) place++;
  expect(wo_room_tree_above(tree, (uint64_t)start, &room), &room, place);
  for (place = start; place < PLACES && bytes_at[place] < bytes;) place++;
  expect(wo_room_tree_first(tree, (uint64_t)start, bytes, &room), &room, place);
  for (place = start; place >= 0 && bytes_at[place] < bytes;) place--;
  expect(wo_room_tree_last(tree, (uint64_t)start, bytes, &room), &room, place);
}

static void test_random_changes(void **state) {
  struct wo_room_tree tree = {0};
  uint64_t random = 88172645463325252u;
  (void)state;
  assert_true(wo_room_tree_reserve(&tree, PLACES));
  for (int i = 0; i < ROUNDS; i++) {
    const int place = (int)(next_random(&random) % PLACES);
    const bool is_growing = i / 1000 % 2 == 0;
    if (next_random(&random) % 3 == 0 ? is_growing : !is_growing) {
      assert_int_equal(wo_room_tree_remove(&tree, (uint64_t)place), bytes_at[place] > 0);
      bytes_at[place] = 0;
    } else {
      bytes_at[place] = 1 + next_random(&random) % BYTES_MOST;
      wo_room_tree_put(&tree, (struct wo_room){(uint64_t)place, bytes_at[place], (uint64_t)place + 7});
    }
    check_searches(&tree, (int)(next_random(&random) % PLACES), 1 + next_random(&random) % (BYTES_MOST + 2));
    if (i % 100 == 0) assert_true(height_of(&tree, tree.root) < 14);
  }
  wo_room_tree_done(&tree);
}

/* Moves a room within the gap between its neighbours. */
static void move_one(struct wo_room_tree *tree, uint64_t *random) {
  int from = (int)(next_random(random) % PLACES), least = 0, most = PLACES - 1;
  while (from < PLACES && bytes_at[from] == 0) from++;
  if (from == PLACES) return;
  for (int i = 0; i < PLACES; i++) {
    if (bytes_at[i] > 0 && i < from) least = i + 1;
    if (bytes_at[i] > 0 && i > from && most >= i) most = i - 1;
  }
  const int to = least + (int)(next_random(random) % (uint64_t)(most - least + 1));
  bytes_at[from] = 0;
  bytes_at[to] = 1 + next_random(random) % BYTES_MOST;
  wo_room_tree_move(tree, (uint64_t)from, (struct wo_room){(uint64_t)to, bytes_at[to], (uint64_t)to + 7});
}

static void test_moves(void **state) {
  struct wo_room_tree tree = {0};
  uint64_t random = 362436069;
  (void)state;
  memset(bytes_at, 0, sizeof bytes_at);
  assert_true(wo_room_tree_reserve(&tree, PLACES));
  for (int place = 0; place < PLACES; place += 1 + (int)(next_random(&random) % 5)) {
    bytes_at[place] = 1 + next_random(&random) % BYTES_MOST;
    wo_room_tree_put(&tree, (struct wo_room){(uint64_t)place, bytes_at[place], (uint64_t)place + 7});
  }
  for (int i = 0; i < ROUNDS; i++) {
    move_one(&tree, &random);
    check_searches(&tree, (int)(next_random(&random) % PLACES), 1 + next_random(&random) % (BYTES_MOST + 2));
    if (i % 100 == 0) assert_true(height_of(&tree, tree.root) < 14);
  }
  wo_room_tree_done(&tree);
}

/* Rising starts are the worst case of a tree without balance. */
static void test_stays_low(void **state) {
  struct wo_room_tree tree = {0};
  struct wo_room room;
  (void)state;
  assert_false(wo_room_tree_above(&tree, 0, &room));
  assert_false(wo_room_tree_remove(&tree, 0));
  for (uint64_t i = 0; i < 5000; i++) {
    assert_true(wo_room_tree_reserve(&tree, tree.count + 1));
    wo_room_tree_put(&tree, (struct wo_room){i, 1, 0});
  }
  assert_true(height_of(&tree, tree.root) <= 18);
  for (uint64_t i = 0; i < 4990; i++) assert_true(wo_room_tree_remove(&tree, i));
  assert_true(height_of(&tree, tree.root) <= 5);
  wo_room_tree_done(&tree);
}

static void test_no_memory(void **state) {
  struct wo_room_tree tree = {0};
  (void)state;
  wo_fail_alloc_at(1);
  assert_false(wo_room_tree_reserve(&tree, 1));
  wo_fail_alloc_off();
  assert_int_equal(tree.count, 0);
  assert_true(wo_room_tree_reserve(&tree, 1));
  wo_room_tree_done(&tree);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_changes),
      cmocka_unit_test(test_moves),
      cmocka_unit_test(test_stays_low),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
