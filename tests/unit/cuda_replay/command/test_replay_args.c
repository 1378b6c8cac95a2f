/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `whyoom replay`: what each takes, and what a slip is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/command/replay_args.h"
#include "tests/support/replay/transform_names.h"

static enum wo_status apply(struct wo_replay_args *args, const char *name, const char *value, struct wo_err *err) {
  *err = (struct wo_err){0};
  return wo_command_apply(&wo_command_replay, (struct wo_given){wo_view_of(name), wo_view_of(value)}, args, err);
}

static void test_values(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *value;
    bool is_taken;
  } rows[] = {
      {"check", "", true},
      {"sweep", "", true},
      {"no-times", "", true},
      {"set", "expandable_segments:True", true},
      {"set", "roundup_power2_divisions:[256:1,>:4],max_split_size_mb:64", true},
      {"set", "expandable_segments=True", false},
      {"set", "expandable_segments", false},
      {"set", "", false},
      {"set", "  ", false},
      {"capacity", "79.1GiB", true},
      {"capacity", "24G", true},
      {"capacity", "1024", true},
      {"capacity", "0", false},
      {"capacity", "-1GiB", false},
      {"capacity", "many", false},
      {"capacity", "24GiB!", false},
      {"capacity", "", false},
      {"capacity", "9999999999 GiB", false},
      {"torch", "2.6", true},
      {"torch", "2.6.0+cu124", true},
      {"torch", "1.13", true},
      {"torch", "two", false},
      {"torch", "", false},
      {"at", "0", true},
      {"at", "4294967295", true},
      {"at", "4294967296", false},
      {"at", "-1", false},
      {"at", "1e3", false},
      {"at", "", false},
      {"device", "7", true},
      {"device", "cuda:0", false},
      {"device", "99999999999", false},
      {"on", "model", true},
      {"on", "gpu", true},
      {"on", "gpu:0", true},
      {"on", "gpu:15", true},
      {"on", "gpu:", false},
      {"on", "gpu:-1", false},
      {"on", "gpu:99999", false},
      {"on", "gpu:0x", false},
      {"on", "cuda", false},
      {"on", "", false},
      {"touch", "", true},
      {"reserve", "1.5GiB", true},
      {"reserve", "0", true},
      {"reserve", "some", false},
      {"reserve", "", false},
      {"plot", "memory.svg", true},
      {"plot", "", false},
      {"chart", "", true},
      {"pair", "other.pickle", true},
      {"pair", "", false},
      {"scale", "micro_batch=32:16,seq_len=512:1024", true},
      {"scale", "seq_len=512", false},
      {"scale", "colour=1:2", false},
      {"scale", "", false},
      {"transform", "shard=8", true},
      {"transform", "checkpoint", true},
      {"transform", "shard", false},
      {"transform", "shrink", false},
      {"transform", "", false},
      {"colour", "red", false},
      {"", "", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_replay_args args = {0};
    struct wo_err err;
    const enum wo_status status = apply(&args, rows[i].name, rows[i].value, &err);
    if ((status == WO_OK) != rows[i].is_taken) fail_msg("--%s '%s': %s", rows[i].name, rows[i].value, err.message);
    if (status == WO_OK) continue;
    assert_int_equal(status, WO_E_USAGE);
    assert_true(wo_view_has(wo_view_of(err.message), rows[i].name));
    const struct wo_replay_args none = {0};
    assert_memory_equal(&args, &none, sizeof args);
  }
}

static void test_what_is_kept(void **state) {
  (void)state;
  struct wo_replay_args args = {0};
  struct wo_err err;
  assert_int_equal(apply(&args, "capacity", "24GiB", &err), WO_OK);
  assert_true(args.change.capacity_bytes == UINT64_C(24) << 30);
  assert_int_equal(apply(&args, "torch", "2.11.0", &err), WO_OK);
  assert_int_equal(args.torch, 211);
  assert_int_equal(apply(&args, "at", "17", &err), WO_OK);
  assert_true(args.has_at && args.at_entry == 17);
  assert_int_equal(apply(&args, "device", "3", &err), WO_OK);
  assert_true(args.has_device && args.device == 3);
  assert_int_equal(apply(&args, "set", " max_split_size_mb:64 ", &err), WO_OK);
  assert_int_equal(apply(&args, "set", "expandable_segments:False,a:b", &err), WO_OK);
  assert_int_equal(apply(&args, "on", "gpu:2", &err), WO_OK);
  assert_true(args.has_gpu && args.gpu.ordinal == 2);
  assert_int_equal(apply(&args, "on", "gpu", &err), WO_OK);
  assert_true(args.has_gpu && args.gpu.ordinal == 0);
  assert_int_equal(apply(&args, "on", "model", &err), WO_OK);
  assert_false(args.has_gpu);
  assert_int_equal(apply(&args, "reserve", "0", &err), WO_OK);
  assert_true(args.gpu.has_reserve && args.gpu.reserve_bytes == 0);
  assert_int_equal(args.change.set_count, 2);
  assert_true(wo_view_is(args.change.sets[0], "max_split_size_mb:64"));
  assert_true(wo_view_is(args.change.sets[1], "expandable_segments:False,a:b"));
}

static void test_too_many_settings(void **state) {
  (void)state;
  struct wo_replay_args args = {0};
  struct wo_err err;
  for (int i = 0; i < WO_CHANGE_SETS_MAX; i++) assert_int_equal(apply(&args, "set", "a:b", &err), WO_OK);
  assert_int_equal(apply(&args, "set", "a:b", &err), WO_E_USAGE);
  assert_int_equal(args.change.set_count, WO_CHANGE_SETS_MAX);
}

/* Options that each make sense, and together do not. */
static void test_together(void **state) {
  (void)state;
  static const struct {
    const char *names[3];
    bool is_taken;
  } rows[] = {
      {{"check"}, true},
      {{"set"}, true},
      {{"set", "set"}, true},
      {{"check", "sweep"}, false},
      {{"check", "set"}, true},
      {{"sweep", "set"}, false},
      {{"at", "sweep"}, false},
      {{"at", "set"}, false},
      {{"at", "check"}, false},
      {{"at", "device"}, true},
      {{"capacity", "sweep"}, true},
      {{"on"}, true},
      {{"on", "touch"}, true},
      {{"on", "reserve"}, true},
      {{"touch"}, false},
      {{"reserve"}, false},
      {{"on", "check"}, false},
      {{"on", "sweep"}, false},
      {{"on", "at"}, false},
      {{"on", "scale"}, true},
      {{"on", "set"}, true},
      {{"diff"}, true},
      {{"diff", "where", "device"}, true},
      {{"diff", "from", "to"}, true},
      {{"diff", "check"}, false},
      {{"diff", "at"}, false},
      {{"diff", "set"}, false},
      {{"diff", "capacity"}, false},
      {{"diff", "plot"}, false},
      {{"diff", "chart"}, false},
      {{"diff", "torch"}, false},
      {{"diff", "no-times"}, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_replay_args args = {0};
    struct wo_err err = {0};
    enum wo_status status = WO_OK;
    for (size_t count = 0; count < 3 && rows[i].names[count] && status == WO_OK; count++) {
      const struct wo_view name = wo_view_of(rows[i].names[count]);
      const char *const value = wo_view_is(name, "set")         ? "a:b"
                                : wo_view_is(name, "on")        ? "gpu:1"
                                : wo_view_is(name, "scale")     ? "seq_len=1:2"
                                : wo_view_is(name, "transform") ? "empty-cache"
                                : wo_view_is(name, "diff")      ? "peak"
                                : wo_view_is(name, "where")     ? "a=b"
                                : wo_view_is(name, "torch")     ? "2.6"
                                                                : "5";
      status = apply(&args, rows[i].names[count], value, &err);
    }
    if (status == WO_OK) status = wo_replay_args_check(&args, &err);
    if ((status == WO_OK) != rows[i].is_taken) fail_msg("row %zu: %s", i, err.message);
    if (status == WO_OK) continue;
    assert_int_equal(status, WO_E_USAGE);
  }
}

/* A row of transforms.def is in the shells' completions by itself; the help text breaks its lines by hand. */
static void test_help_names_all_transforms(void **state) {
  (void)state;
  const struct wo_option *option = wo_command_replay.options;
  while (strcmp(option->name, "transform") != 0) option++;
  for (size_t i = 0; i < WO_TRANSFORM_NAMES; i++) {
    const char *const name = wo_transform_named(i)->name;
    if (!strstr(option->help, name) || !strstr(option->choices, name)) fail_msg("--transform does not name %s", name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_what_is_kept),
      cmocka_unit_test(test_together),
      cmocka_unit_test(test_too_many_settings),
      cmocka_unit_test(test_help_names_all_transforms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
