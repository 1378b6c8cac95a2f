/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as tables: every value comes back, in the order of the text, wherever the table lies. */
#include "rules/files/tree.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "rules/load/rule.h"
#include "tests/support/failing_alloc.h"

/* A table of a text; *ret_size tells its bytes. */
static struct wo_tree *tree_of(const char *text, size_t *ret_size) {
  cJSON *const root = cJSON_Parse(text);
  assert_non_null(root);
  size_t nodes = 0;
  size_t text_bytes = 0;
  struct wo_tree *const tree = wo_tree_of(root, &nodes, &text_bytes);
  cJSON_Delete(root);
  *ret_size = nodes * sizeof *tree + text_bytes;
  return tree;
}

static const char sample[] = "{\"id\": \"a\", \"empty\": \"\", \"n\": -2.5, \"on\": true, \"off\": false, \"no\": null,"
                             " \"list\": [1, [], {}, \"x\", {\"deep\": [\"y\"]}], \"\": 7, \"id\": \"second\"}";

static void check_sample(const struct wo_tree *root) {
  assert_true(wo_tree_is(root, WO_TREE_OBJECT));
  assert_int_equal(root->count, 9);
  assert_null(wo_tree_key(root));
  assert_null(wo_tree_text(root));
  assert_null(wo_tree_next(root));
  const struct wo_tree *const first = wo_tree_child(root);
  assert_ptr_equal(first, root + 1);
  assert_string_equal(wo_tree_key(first), "id");
  assert_string_equal(wo_tree_text(wo_tree_get(root, "id")), "a");
  assert_string_equal(wo_tree_text(wo_tree_get(root, "empty")), "");
  assert_true(wo_tree_get(root, "n")->as.number == -2.5);
  assert_true(wo_tree_is(wo_tree_get(root, "on"), WO_TREE_TRUE) && wo_tree_is_bool(wo_tree_get(root, "off")));
  assert_true(wo_tree_is(wo_tree_get(root, "no"), WO_TREE_NULL) && !wo_tree_is_bool(wo_tree_get(root, "no")));
  assert_null(wo_tree_text(wo_tree_get(root, "n")));
  assert_true(wo_tree_get(root, "")->as.number == 7);
  assert_null(wo_tree_get(root, "li"));
  const struct wo_tree *const list = wo_tree_get(root, "list");
  assert_true(wo_tree_is(list, WO_TREE_ARRAY) && list->count == 5);
  assert_true(wo_tree_at(list, 0)->as.number == 1);
  assert_null(wo_tree_child(wo_tree_at(list, 1)));
  assert_null(wo_tree_child(wo_tree_at(list, 2)));
  assert_null(wo_tree_key(wo_tree_at(list, 3)));
  assert_string_equal(wo_tree_text(wo_tree_at(list, 3)), "x");
  assert_string_equal(wo_tree_text(wo_tree_at(wo_tree_get(wo_tree_at(list, 4), "deep"), 0)), "y");
  assert_null(wo_tree_at(list, 5));
  assert_null(wo_tree_next(wo_tree_at(list, 4)));
  const struct wo_tree *last = first;
  while (wo_tree_next(last) != NULL) last = wo_tree_next(last);
  assert_string_equal(wo_tree_text(last), "second");
}

static void holds_every_value(void **state) {
  (void)state;
  size_t size = 0;
  struct wo_tree *const tree = tree_of(sample, &size);
  check_sample(tree);
  /* No address is in it. */
  struct wo_tree *const moved = malloc(size);
  memcpy(moved, tree, size);
  memset(tree, 0xa5, size);
  free(tree);
  check_sample(moved);
  free(moved);
}

static void roots_of_any_sort(void **state) {
  (void)state;
  const char *const texts[] = {"[]", "{}", "3", "\"text\"", "null"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    size_t size = 0;
    struct wo_tree *const tree = tree_of(texts[i], &size);
    assert_null(wo_tree_child(tree));
    assert_null(wo_tree_next(tree));
    assert_null(wo_tree_get(tree, "x"));
    assert_null(wo_tree_at(tree, 0));
    free(tree);
  }
  assert_null(wo_tree_get(NULL, "x"));
  assert_null(wo_tree_at(NULL, 0));
  assert_false(wo_tree_is(NULL, WO_TREE_NULL));
}

static void memory_that_is_out(void **state) {
  (void)state;
  cJSON *const root = cJSON_Parse(sample);
  size_t nodes = 0;
  size_t text_bytes = 0;
  wo_fail_alloc_at(1);
  assert_null(wo_tree_of(root, &nodes, &text_bytes));
  wo_fail_alloc_off();
  cJSON_Delete(root);
}

/* Nodes below one, itself included, each within its parent and behind the one before. */
static size_t count_nodes(const struct wo_tree *node) {
  size_t count = 1;
  size_t members = 0;
  for (const struct wo_tree *child = wo_tree_child(node); child != NULL; child = wo_tree_next(child)) {
    assert_ptr_equal(child, node + count);
    assert_true((wo_tree_key(child) != NULL) == wo_tree_is(node, WO_TREE_OBJECT));
    count += count_nodes(child);
    members++;
  }
  assert_int_equal(members, node->count);
  return count;
}

/* What was compiled in is sound, and of the same files as the texts. */
static void compiled_in_tables(void **state) {
  (void)state;
  size_t count = 0;
  size_t full_count = 0;
  const struct wo_rule_file *const files = wo_rule_embedded(WO_LOAD_FOR_DIAGNOSIS, &count);
  const struct wo_rule_file *const full = wo_rule_embedded(WO_LOAD_ALL, &full_count);
  assert_true(count > 100 && count == full_count);
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(files[i].name, full[i].name);
    assert_true(files[i].data == NULL && full[i].tree == NULL);
    assert_true(wo_tree_is(files[i].tree, WO_TREE_ARRAY));
    assert_true(count_nodes(files[i].tree) > files[i].tree->count);
    for (const struct wo_tree *rule = wo_tree_child(files[i].tree); rule != NULL; rule = wo_tree_next(rule)) {
      assert_non_null(strstr(full[i].data, wo_tree_key(wo_tree_child(rule))));
      assert_non_null(strstr(full[i].data, wo_tree_text(wo_tree_child(rule))));
      assert_null(wo_tree_get(rule, "examples"));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(holds_every_value),
      cmocka_unit_test(roots_of_any_sort),
      cmocka_unit_test(memory_that_is_out),
      cmocka_unit_test(compiled_in_tables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
