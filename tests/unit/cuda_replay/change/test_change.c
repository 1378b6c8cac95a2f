/* SPDX-License-Identifier: Apache-2.0 */
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

static bool add_proposed(struct wo_change *change, const char *text) {
  const struct wo_proposed_change proposed = wo_proposed_change_read(wo_view_of(text));
  struct wo_err err = {0};
  return wo_change_add_proposed(change, &proposed, &err) == WO_OK;
}

/* The accumulation follows the micro-batch, and what the recorded program has already is not made again. */
static void test_accumulation(void **state) {
  (void)state;
  struct wo_change change = {0}, recorded = {0}, none = {0}, refused = {0};
  struct wo_text text = {0};
  assert_true(add_proposed(&change, "scale=micro_batch=8:4 transform=accumulate=1:2"));
  assert_int_equal(wo_change_accumulation(&change), 2);
  wo_change_set_micro_batch(&change, 1);
  assert_int_equal(change.scale.axes[WO_AXIS_MICRO_BATCH].to, 1);
  assert_int_equal(wo_change_accumulation(&change), 8);
  assert_false(wo_change_is_of_sizes(&change));
  wo_change_text(&change, &text);
  assert_true(wo_view_is((struct wo_view){text.ptr, text.len}, "micro_batch 8 -> 1, accumulate 1 -> 8"));
  wo_text_done(&text);
  assert_true(add_proposed(&recorded, "scale=micro_batch=8:4 transform=accumulate=1024:2048"));
  assert_int_equal(wo_change_accumulation(&recorded), 2048);
  assert_true(wo_change_is_of_sizes(&recorded));
  assert_true(add_proposed(&none, "scale=micro_batch=8:4"));
  wo_change_set_micro_batch(&none, 2);
  assert_int_equal(wo_change_accumulation(&none), 0);
  assert_false(add_proposed(&refused, "transform=shard=2:8"));
  assert_false(add_proposed(&refused, "transform=melt=2:8"));
  struct wo_proposed_change left_out = wo_proposed_change_read(WO_VIEW("scale=micro_batch=8:4"));
  struct wo_err err = {0};
  wo_proposed_change_leave_out(&left_out, WO_VIEW("optimizer"));
  assert_int_equal(wo_change_add_proposed(&refused, &left_out, &err), WO_E_USAGE);
  assert_string_equal(err.message, "it also changes optimizer, which no replay does");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_items), cmocka_unit_test(test_settings),
                                     cmocka_unit_test(test_accumulation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
