/* Filling a change: items add up, what is refused leaves it alone, and its settings take the place of the recorded ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cuda_replay/change/change.h"

static enum wo_status add(struct wo_change *change, const char *name, const char *value) {
  const struct wo_change before = *change;
  struct wo_err err = {0};
  const enum wo_status status = wo_change_add(change, wo_view_of(name), wo_view_of(value), &err);
  assert_int_equal(status != WO_OK, err.message[0] != '\0');
  if (status != WO_OK) assert_memory_equal(&before, change, sizeof before);
  return status;
}

static void test_items(void **state) {
  (void)state;
  static const struct {
    const char *name, *value;
    bool is_taken;
  } rows[] = {{"set", " max_split_size_mb:64 ", true}, {"set", "max_split_size_mb", false}, {"scale", "micro_batch=8:4", true},
              {"scale", "seq_len=8:4", false}, /* once */
              {"transform", "shard=8", true},          {"transform", "melt", false},        {"capacity", "8GiB", false}};
  struct wo_change change = {0};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(add(&change, rows[i].name, rows[i].value) == WO_OK, rows[i].is_taken);
    assert_int_equal(wo_change_alters_program(&change), i >= 2);
  }
  assert_true(wo_view_is(change.sets[0], "max_split_size_mb:64"));
  assert_int_equal(change.scale.axes[WO_AXIS_MICRO_BATCH].to, 4);
  assert_string_equal(change.transforms[0].transform->name, "shard");
}

/* The recorded keys go back to their defaults, as with a new environment variable; the program's own limit stays. */
static void test_settings(void **state) {
  (void)state;
  struct wo_alloc_settings recorded = wo_alloc_settings_default(206), found;
  struct wo_change change = {0};
  struct wo_err err = {0};
  recorded.expandable_segments = true;
  recorded.memory_fraction = 0.5;
  assert_int_equal(wo_change_settings(&change, &recorded, 206, &found, &err), WO_OK);
  assert_true(found.expandable_segments && found.max_split_bytes == WO_SPLIT_UNLIMITED);
  assert_int_equal(add(&change, "set", "max_split_size_mb:64"), WO_OK);
  assert_int_equal(add(&change, "set", "garbage_collection_threshold:0.5"), WO_OK);
  assert_int_equal(wo_change_settings(&change, &recorded, 206, &found, &err), WO_OK);
  assert_true(!found.expandable_segments && found.max_split_bytes == UINT64_C(64) << 20);
  assert_true(found.garbage_collection_threshold == 0.5 && found.memory_fraction == 0.5);
  assert_int_equal(add(&change, "set", "a:b"), WO_OK);
  assert_int_equal(wo_change_settings(&change, &recorded, 206, &found, &err), WO_E_UNKNOWN);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_items), cmocka_unit_test(test_settings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
