/* SPDX-License-Identifier: Apache-2.0 */
/* The net finds what a plain search for each literal finds: on texts made of pieces of the literals, and of any bytes. */
#include "parsers/scan/literal_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct wo_view one[] = {{"Error", 5}};
static const struct wo_view two[] = {{"E0", 2}, {"^C", 2}, {"<", 1}};
static const struct wo_view three[] = {{"done", 4}, {"one", 3}, {"ONE", 3}};
static const struct wo_view four[] = {{"Error: 17", 9}, {"\xe7\x94\x9f\xe6\x88\x90", 6}, {"aaaa", 4}};

static const struct wo_pattern patterns[] = {
    {.id = {"one", 3}, .literals = one, .literal_count = 1},     {.id = {"other", 5}, .literals = one, .literal_count = 1},
    {.id = {"two", 3}, .literals = two, .literal_count = 3},     {.id = {"three", 5}, .literals = three, .literal_count = 3},
    {.id = {"none", 4}, .literals = NULL, .literal_count = 0},   {.id = {"four", 4}, .literals = four, .literal_count = 3},
};

enum { PATTERN_COUNT = sizeof patterns / sizeof patterns[0] };

static bool has_plainly(const struct wo_pattern *pattern, struct wo_view text) {
  for (size_t i = 0; i < pattern->literal_count; i++) {
    if (wo_view_find(text, pattern->literals[i], 0) != WO_NOT_FOUND) return true;
  }
  return pattern->literal_count == 0;
}

static void check(const struct wo_literal_net *net, struct wo_view text) {
  static const size_t in_net[] = {0, 2, 3, 4, 5};
  const struct wo_net_hits hits = wo_literal_net_find(net, text);
  for (size_t i = 0; i < sizeof in_net / sizeof in_net[0]; i++) {
    assert_int_equal(wo_literal_net_has(net, &hits, in_net[i]), has_plainly(&patterns[in_net[i]], text));
  }
  assert_true(wo_literal_net_has(net, &hits, 1)); /* not in the net */
}

static void test_as_a_plain_search(void **state) {
  (void)state;
  static const char *const pieces[] = {"Err", "or", ": 17", "E0", "^", "C", "<", "d", "one", "ONE", "\xe7\x94", "\x9f\xe6\x88\x90", "aaa", "a", " ", "x"};
  static const size_t items[] = {0, 2, 3, 4, 5};
  struct wo_pattern_set *set = NULL;
  assert_int_equal(wo_pattern_set_new(patterns, PATTERN_COUNT, NULL, &set), WO_OK);
  struct wo_literal_net *const net = wo_literal_net_new(set, items, sizeof items / sizeof items[0]);
  assert_non_null(net);
  srand(7);
  for (int round = 0; round < 50000; round++) {
    char text[128];
    size_t len = 0;
    const int count = rand() % 9;
    for (int i = 0; i < count; i++) {
      const char *const piece = pieces[(size_t)rand() % (sizeof pieces / sizeof pieces[0])];
      memcpy(text + len, piece, strlen(piece));
      len += strlen(piece);
    }
    check(net, (struct wo_view){text, len});
  }
  wo_literal_net_free(net);
  wo_literal_net_free(NULL);
  wo_pattern_set_free(set);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_a_plain_search)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
