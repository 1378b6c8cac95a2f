/* SPDX-License-Identifier: Apache-2.0 */
/* The texts behind --scale and --transform. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/change/scale.h"
#include "cuda_replay/change/transforms.h"
#include "tests/support/replay/transform_names.h"

static const struct {
  const char *text;
  struct wo_scale_axis batch, length;
} good[] = {
    {"micro_batch=32:16", {32, 16}, {0, 0}},
    {"seq_len=512:1024", {0, 0}, {512, 1024}},
    {"micro_batch=32:16,seq_len=512:1024", {32, 16}, {512, 1024}},
    {" seq_len = 1 : 2147483648 , batch = 7 : 7 ", {7, 7}, {1, 2147483648}},
    {"BATCH_SIZE=2:4,Sequence_Length=3:9", {2, 4}, {3, 9}},
    {"block_size=1024:2048", {0, 0}, {1024, 2048}},
};

static void reads_specifications(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    struct wo_scale_spec spec;
    struct wo_err err = {0};
    if (wo_scale_parse(wo_view_of(good[i].text), &spec, &err) != WO_OK) fail_msg("%s: %s", good[i].text, err.message);
    assert_memory_equal(&spec.axes[WO_AXIS_MICRO_BATCH], &good[i].batch, sizeof good[i].batch);
    assert_memory_equal(&spec.axes[WO_AXIS_SEQ_LEN], &good[i].length, sizeof good[i].length);
  }
}

static const struct {
  const char *text;
  enum wo_status status;
  uint32_t column;
  const char *says;
} bad[] = {
    {"", WO_E_SYNTAX, 1, "\"=\" is missing"},
    {"micro_batch", WO_E_SYNTAX, 1, "\"=\" is missing"},
    {"layers=1:2", WO_E_UNKNOWN, 1, "not micro_batch or seq_len"},
    {"seq_len=", WO_E_SYNTAX, 9, "a number is missing"},
    {"seq_len=512", WO_E_SYNTAX, 12, "\":\" is missing"},
    {"seq_len=512:", WO_E_SYNTAX, 13, "a number is missing"},
    {"seq_len=-1:2", WO_E_SYNTAX, 9, "a number is missing"},
    {"seq_len=0:2", WO_E_RANGE, 10, "a value of 0"},
    {"seq_len=2:0", WO_E_RANGE, 12, "a value of 0"},
    {"seq_len=2147483649:1", WO_E_RANGE, 9, "above 2^31"},
    {"seq_len=99999999999999999999999:1", WO_E_RANGE, 9, "above 2^31"},
    {"seq_len=1:2,", WO_E_SYNTAX, 13, "\"=\" is missing"},
    {"seq_len=1:2;batch=1:2", WO_E_SYNTAX, 12, "\",\" is missing"},
    {"seq_len=1:2,seq=1:2", WO_E_SYNTAX, 13, "twice"},
    {"seq_len=1.5:2", WO_E_SYNTAX, 10, "\":\" is missing"},
};

static void refuses_with_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct wo_scale_spec spec;
    struct wo_err err = {0};
    assert_int_equal(wo_scale_parse(wo_view_of(bad[i].text), &spec, &err), bad[i].status);
    if (strstr(err.message, bad[i].says) == NULL) fail_msg("\"%s\": %s", bad[i].text, err.message);
    if (err.column != bad[i].column) fail_msg("\"%s\": column %u", bad[i].text, (unsigned)err.column);
    /* A message helps: it shows how it is written. */
    assert_non_null(strstr(err.message, "micro_batch=32:16,seq_len=512:1024"));
  }
}

static void reads_transforms(void **state) {
  (void)state;
  const struct wo_transform *transform;
  uint32_t amount;
  struct wo_err err = {0};
  assert_int_equal(wo_transform_parse(WO_VIEW(" shard = 8 "), &transform, &amount, &err), WO_OK);
  assert_string_equal(transform->name, "shard");
  assert_int_equal(amount, 8);
  assert_int_equal(wo_transform_parse(WO_VIEW("checkpoint"), &transform, &amount, &err), WO_OK);
  assert_int_equal(amount, 0);
  assert_int_equal(wo_transform_parse(WO_VIEW("checkpoint=12"), &transform, &amount, &err), WO_OK);
  assert_int_equal(amount, 12);
}

static void refuses_transforms(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum wo_status status;
    const char *says;
  } rows[] = {
      {"shrad=8", WO_E_UNKNOWN, "shard-optimizer"},
      {"", WO_E_UNKNOWN, "empty-cache"},
      {"shard", WO_E_SYNTAX, "shard=8"},
      {"shard=1", WO_E_RANGE, "2 to 65536"},
      {"shard=99999999999", WO_E_RANGE, "2 to 65536"},
      {"shard=4x", WO_E_SYNTAX, "whole number"},
      {"empty-cache=2", WO_E_SYNTAX, "no number"},
      {"accumulate=", WO_E_SYNTAX, "whole number"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_transform *transform;
    uint32_t amount;
    struct wo_err err = {0};
    assert_int_equal(wo_transform_parse(wo_view_of(rows[i].text), &transform, &amount, &err), rows[i].status);
    if (strstr(err.message, rows[i].says) == NULL) fail_msg("\"%s\": %s", rows[i].text, err.message);
  }
}

static void names_and_texts(void **state) {
  (void)state;
  for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) assert_true(strlen(wo_bound_name(bound)) > 0);
  for (int i = 0; i < WO_SCALE_REASON_COUNT_; i++) assert_true(strlen(wo_scale_reason_text((enum wo_scale_reason)i)) > 0);
  assert_string_equal(wo_scale_axis_name(WO_AXIS_MICRO_BATCH), "micro_batch");
  assert_string_equal(wo_scale_axis_name(WO_AXIS_SEQ_LEN), "seq_len");
  for (size_t i = 0; i < WO_TRANSFORM_NAMES; i++) {
    const struct wo_transform *row = wo_transform_named(i), *found;
    uint32_t amount;
    assert_true(strlen(row->summary) > 0 && strlen(row->assumption) > 0);
    assert_true(row->amount_min <= row->amount_max);
    if (row->amount_min == 0) assert_int_equal(wo_transform_parse(wo_view_of(row->name), &found, &amount, NULL), WO_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_specifications), cmocka_unit_test(refuses_with_place), cmocka_unit_test(reads_transforms),
      cmocka_unit_test(refuses_transforms),   cmocka_unit_test(names_and_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
