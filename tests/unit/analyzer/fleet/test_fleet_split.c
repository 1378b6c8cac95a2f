/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that divide a sweep: analyzer/fleet/fleet_split.c and fleet_sweeps.c. */
#include "analyzer/fleet/fleet_split.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "tests/support/fleet/fleet_rows.h"

struct made {
  struct wo_store *store;
  struct wo_arena arena;
  struct wo_fleet fleet;
};

static struct made make(struct wo_store *store) {
  struct made made = {.store = store};
  struct wo_err err;
  const struct wo_fleet_options options = {.filter = wo_fleet_all()};
  wo_arena_init(&made.arena, WO_LIMIT_FLEET_BYTES);
  if (wo_fleet_make(store, &options, &made.arena, &made.fleet, &err) != WO_OK) fail_msg("%s", err.message);
  return made;
}

static void done(struct made *made) {
  wo_arena_done(&made->arena);
  wo_store_close(made->store);
}

static struct wo_store *empty(void) {
  return wo_fleet_store((const char *const[]){NULL});
}

/* "knob relation value in/of else/of" of a split. */
static void check_split(const struct wo_fleet_split *split, const char *expected) {
  static const char *const relations[] = {">=", "<=", "=", "!="};
  char text[200];
  snprintf(text, sizeof text, "%.*s %s %.*s %lld/%lld %lld/%lld", WO_SHOWN(split->knob), relations[split->relation],
           WO_SHOWN(split->value), (long long)split->failed, (long long)split->jobs, (long long)split->other_failed,
           (long long)split->other_jobs);
  assert_string_equal(text, expected);
}

static void put_task(struct wo_store *store, int task, bool is_failed, const char *settings) {
  wo_fleet_putf(store,
                "path=s/%03d user=ann name=s array_job=5 array_task=%d is_failed=%d outcome=%s gpu_s=10 cause=c settings=%s",
                task, task, is_failed, is_failed ? "gpu_oom" : "success", settings);
}

static void test_threshold(void **state) {
  (void)state;
  struct wo_store *const store = empty();
  for (int i = 0; i < 40; i++) {
    static const int sizes[] = {16, 4, 2, 8, 32};
    char settings[80];
    snprintf(settings, sizeof settings, "lr=%d;micro_batch=%d;seed=%d", i % 3, sizes[i % 5], i);
    put_task(store, i, sizes[i % 5] >= 16, settings);
  }
  struct made made = make(store);
  assert_int_equal(made.fleet.sweep_count, 1);
  const struct wo_fleet_sweep *const sweep = &made.fleet.sweeps[0];
  assert_true(wo_view_is(sweep->array_job, "5"));
  assert_int_equal(sweep->sum.jobs, 40);
  assert_int_equal(sweep->sum.failed, 16);
  assert_int_equal(sweep->sum.lost_s, 160);
  assert_int_equal(sweep->split_count, 1);
  check_split(&sweep->splits[0], "micro_batch >= 16 16/16 0/24");
  assert_true(sweep->splits[0].ln_chance < log(1e-6));
  assert_true(wo_view_is(sweep->knobs[0].knob, "micro_batch"));
  assert_int_equal(sweep->knobs[0].value_count, 5);
  assert_true(wo_view_is(sweep->knobs[0].values[0].text, "2"));
  assert_int_equal(sweep->knobs[0].values[4].failed, 8);
  done(&made);
}

/* A low value can be the one that fails. */
static void test_threshold_from_below(void **state) {
  (void)state;
  struct wo_store *const store = empty();
  for (int i = 0; i < 24; i++)
    put_task(store, (i * 7) % 24, i % 4 == 0,
             i % 4 == 0 ? "tensor_parallel=1"
             : i % 2    ? "tensor_parallel=4"
                        : "tensor_parallel=8");
  struct made made = make(store);
  check_split(&made.fleet.sweeps[0].splits[0], "tensor_parallel <= 1 6/6 0/18");
  done(&made);
}

static void test_names_and_missing_settings(void **state) {
  (void)state;
  struct wo_store *store = empty();
  for (int i = 0; i < 24; i++) {
    static const char *const kinds[] = {"dtype=fp32", "dtype=bf16", "dtype=fp16"};
    put_task(store, (i * 7) % 24, i % 3 == 0, kinds[i % 3]);
  }
  struct made made = make(store);
  check_split(&made.fleet.sweeps[0].splits[0], "dtype = fp32 8/8 0/16");
  done(&made);
  store = empty();
  for (int i = 0; i < 24; i++) put_task(store, (i * 7) % 24, i % 3 == 0, i % 3 == 0 ? "lr=1" : "checkpointing=true;lr=1");
  made = make(store);
  check_split(&made.fleet.sweeps[0].splits[0], "checkpointing =  8/8 0/16");
  done(&made);
}

/* Logs that show no setting at all say nothing about settings. */
static void test_silent_logs_divide_nothing(void **state) {
  (void)state;
  struct wo_store *const store = empty();
  for (int i = 0; i < 24; i++) {
    wo_fleet_putf(store, "path=s/%d user=ann name=s is_failed=%d outcome=success %s", i, i % 3 == 0,
                  i % 3 == 0 ? "settings=micro_batch=8" : "user=ann");
  }
  struct made made = make(store);
  assert_int_equal(made.fleet.sweep_count, 0);
  assert_int_equal(made.fleet.sweeps_undivided, 1);
  done(&made);
}

/* Two settings that go together are both named, the setting before the number of the task. */
static void test_settings_that_go_together(void **state) {
  (void)state;
  struct wo_store *const store = empty();
  for (int i = 0; i < 20; i++) put_task(store, i, i >= 14, i >= 14 ? "a=1;b=x" : "a=1;b=y");
  struct made made = make(store);
  assert_int_equal(made.fleet.sweeps[0].split_count, 2);
  check_split(&made.fleet.sweeps[0].splits[0], "b = x 6/6 0/14");
  check_split(&made.fleet.sweeps[0].splits[1], "array_task >= 14 6/6 0/14");
  done(&made);
}

/* Runs of one user, name and folder are a sweep, too; other folders and unknown ends are not in it. */
static void test_sweep_without_an_array(void **state) {
  (void)state;
  struct wo_store *const store = empty();
  for (int i = 0; i < 12; i++) {
    wo_fleet_putf(store, "path=runs/a/%d.out user=ann name=tune is_failed=%d outcome=%s settings=micro_batch=%d", i, i % 2,
                  i % 2 ? "gpu_oom" : "success", i % 2 ? 64 : 8);
  }
  wo_fleet_put(store, "path=runs/a/x.out user=ann name=tune is_failed=0 outcome=unknown settings=micro_batch=64");
  wo_fleet_put(store, "path=runs/b/0.out user=ann name=tune is_failed=0 outcome=success settings=micro_batch=64");
  wo_fleet_put(store, "path=runs/a/y.out user=bob name=tune is_failed=0 outcome=success settings=micro_batch=64");
  struct made made = make(store);
  assert_int_equal(made.fleet.sweep_count, 1);
  assert_true(wo_view_is(made.fleet.sweeps[0].folder, "runs/a/"));
  assert_int_equal(made.fleet.sweeps[0].sum.jobs, 12);
  assert_int_equal(made.fleet.sweeps[0].left_out, 1);
  assert_int_equal(made.fleet.sweeps[0].sum.lost_unknown, 6);
  check_split(&made.fleet.sweeps[0].splits[0], "micro_batch >= 64 6/6 0/6");
  done(&made);
}

/* Failures that no setting explains divide nothing. */
static void test_chance_is_not_a_setting(void **state) {
  (void)state;
  struct wo_store *const store = empty();
  for (int i = 0; i < 30; i++) {
    char settings[64];
    snprintf(settings, sizeof settings, "a=%d;b=%d;c=%d", i % 2, i % 3, i % 5);
    put_task(store, i, (i * i + 3 * i) % 7 == 3, settings);
  }
  struct made made = make(store);
  assert_int_equal(made.fleet.sweep_count, 0);
  assert_int_equal(made.fleet.sweeps_undivided, 1);
  done(&made);
}

/* More settings and values than are compared are counted. */
static void test_caps(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  struct wo__sweep_knobs sweep = {.arena = &arena};
  for (size_t i = 0; i < WO_LIMIT_FLEET_KNOB_VALUES + 44; i++) {
    char text[32];
    wo__sweep_begin_job(&sweep, i % 2 == 0);
    snprintf(text, sizeof text, "v%zu", i);
    wo__sweep_add(&sweep, 0, WO_VIEW("many"), wo_view_of(text));
    wo__sweep_add(&sweep, 0, WO_VIEW("few"), i % 2 == 0 ? WO_VIEW("bad") : WO_VIEW("good"));
    wo__sweep_add(&sweep, 0, WO_VIEW("few"), WO_VIEW("again")); /* a second value of a job does not count */
  }
  for (size_t i = 0; i < WO_LIMIT_FLEET_KNOBS; i++) {
    char text[32];
    snprintf(text, sizeof text, "k%zu", i);
    wo__sweep_add(&sweep, 0, wo_view_of(text), WO_VIEW("1"));
  }
  struct wo_fleet_sweep found = {0};
  wo__sweep_divide(&sweep, 1, &found);
  assert_true(found.split_count > 0);
  assert_true(wo_view_is(found.splits[0].knob, "few"));
  assert_int_equal(found.splits[0].jobs, (WO_LIMIT_FLEET_KNOB_VALUES + 44) / 2);
  assert_true(found.knobs_left_out >= 3);
  wo_arena_done(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_threshold),
      cmocka_unit_test(test_threshold_from_below),
      cmocka_unit_test(test_names_and_missing_settings),
      cmocka_unit_test(test_silent_logs_divide_nothing),
      cmocka_unit_test(test_settings_that_go_together),
      cmocka_unit_test(test_sweep_without_an_array),
      cmocka_unit_test(test_chance_is_not_a_setting),
      cmocka_unit_test(test_caps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
