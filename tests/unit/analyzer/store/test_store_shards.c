/* SPDX-License-Identifier: Apache-2.0 */
/* What the scans of merged stores leave to be wished: shards that are missing, stopped, came twice or are behind. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/text.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/store/store_jobs.h"

/* One scan: in which store (a letter), which shard, when it began, and whether it ended. */
struct run {
  char store;
  const char *roots;
  uint32_t shard, shard_count;
  int64_t start_ns;
  bool is_stopped;
};

static bool write_shards(void *context, const struct wo_store_shards *shards) {
  static const char *const states[] = {"missing", "stopped", "twice", "behind"};
  struct wo_text *const out = context;
  wo_text_add(out, "%.*s %" PRIu32, WO_SHOWN(shards->roots), shards->first);
  if (shards->last != shards->first) wo_text_add(out, "-%" PRIu32, shards->last);
  wo_text_add(out, "/%" PRIu32 " %s", shards->shard_count, states[shards->state]);
  if (shards->start_ns != WO_ROW_UNKNOWN) wo_text_add(out, " %" PRId64, shards->start_ns);
  wo_text_add(out, "; ");
  return true;
}

static void write_scan(const char *path, const struct run *run) {
  struct wo_store *const store = wo_store_must_open(path, WO_STORE_WRITE);
  struct wo_store_scan scan = {.roots = wo_view_of(run->roots),
                               .shard = run->shard,
                               .shard_count = run->shard_count,
                               .rules = WO_VIEW("r"),
                               .start_ns = run->start_ns};
  assert_int_equal(wo_store_begin_scan(store, &scan, NULL), WO_OK);
  scan.end_ns = run->start_ns + 5;
  if (!run->is_stopped) assert_int_equal(wo_store_end_scan(store, &scan, NULL), WO_OK);
  wo_store_close(store);
}

/* Runs the scans, merges their stores, and compares all complaints. */
static void check(const struct run *runs, size_t count, const char *expected) {
  char folder[400], path[500];
  assert_true(wo_files_scratch(folder, sizeof folder));
  for (size_t i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/%c.db", folder, runs[i].store);
    write_scan(path, &runs[i]);
  }
  struct wo_store *const all = wo_store_must_open(NULL, WO_STORE_PRIVATE);
  for (char store = 'z'; store >= 'a'; store--) {
    snprintf(path, sizeof path, "%s/%c.db", folder, store);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) used += runs[i].store == store;
    if (used > 0) assert_int_equal(wo_store_merge(all, path, NULL), WO_OK);
  }
  struct wo_text text = {0};
  struct wo_err err = {0};
  if (wo_store_check_shards(all, write_shards, &text, &err) != WO_OK) fail_msg("%s", err.message);
  assert_string_equal(text.ptr ? text.ptr : "", expected);
  wo_text_done(&text);
  wo_store_close(all);
  wo_files_remove_scratch(folder);
}

#define CHECK(expected, ...)                                                                                                     \
  do {                                                                                                                           \
    const struct run runs[] = {__VA_ARGS__};                                                                                     \
    check(runs, sizeof runs / sizeof runs[0], expected);                                                                         \
  } while (0)

static void test_all_there(void **state) {
  (void)state;
  CHECK("", {'a', "/r", 0, 1, 100, false});
  CHECK("", {'a', "/r", 0, 3, 100, false}, {'b', "/r", 1, 3, 200, false}, {'c', "/r", 2, 3, 300, false});
}

static void test_missing(void **state) {
  (void)state;
  CHECK("/r 0/3 missing; ", {'b', "/r", 1, 3, 200, false}, {'c', "/r", 2, 3, 300, false});
  CHECK("/r 1-2/8 missing; /r 4-7/8 missing; ", {'a', "/r", 0, 8, 100, false}, {'b', "/r", 3, 8, 200, false});
}

static void test_stopped(void **state) {
  (void)state;
  CHECK("/r 0/1 stopped 100; ", {'a', "/r", 0, 1, 100, true});
  CHECK("/r 1/2 stopped 200; ", {'a', "/r", 0, 2, 100, false}, {'b', "/r", 1, 2, 200, true});
  /* Killed, and requeued. */
  CHECK("", {'a', "/r", 0, 2, 100, false}, {'b', "/r", 1, 2, 200, true}, {'b', "/r", 1, 2, 300, false});
  /* The night before it ended. */
  CHECK("/r 1/2 stopped 500; ", {'a', "/r", 0, 2, 100, false}, {'b', "/r", 1, 2, 200, false}, {'a', "/r", 0, 2, 400, false},
        {'b', "/r", 1, 2, 500, true});
}

static void test_twice(void **state) {
  (void)state;
  CHECK("/r 1/2 twice 300; ", {'a', "/r", 0, 2, 100, false}, {'b', "/r", 1, 2, 200, false}, {'c', "/r", 1, 2, 300, false});
  /* Again and again into the same stores is as it should be. */
  CHECK("", {'a', "/r", 0, 2, 100, false}, {'b', "/r", 1, 2, 200, false}, {'a', "/r", 0, 2, 300, false},
        {'b', "/r", 1, 2, 400, false});
  /* New stores for all shards, and the report keeps what it had. */
  CHECK("", {'a', "/r", 0, 2, 100, false}, {'b', "/r", 1, 2, 200, false}, {'c', "/r", 0, 2, 300, false},
        {'d', "/r", 1, 2, 400, false});
}

static void test_behind(void **state) {
  (void)state;
  /* The task of the second night did not start. */
  CHECK("/r 2/3 behind 120; ", {'a', "/r", 0, 3, 100, false}, {'b', "/r", 1, 3, 110, false}, {'c', "/r", 2, 3, 120, false},
        {'a', "/r", 0, 3, 200, false}, {'b', "/r", 1, 3, 210, false});
  CHECK("/r 0/3 behind 100; ", {'a', "/r", 0, 3, 100, false}, {'b', "/r", 1, 3, 110, false}, {'c', "/r", 2, 3, 120, false},
        {'b', "/r", 1, 3, 210, false}, {'c', "/r", 2, 3, 220, false});
  /* One shard alone was scanned again. */
  CHECK("", {'a', "/r", 0, 3, 100, false}, {'b', "/r", 1, 3, 110, false}, {'c', "/r", 2, 3, 120, false},
        {'a', "/r", 0, 3, 200, false});
}

static void test_archives_are_told_apart(void **state) {
  (void)state;
  CHECK("/r 1/2 missing; /s 0/2 missing; ", {'a', "/r", 0, 2, 100, false}, {'b', "/s", 1, 2, 200, false},
        {'c', "/t", 0, 1, 300, false});
  CHECK("/r 2/3 missing; ", {'a', "/r", 0, 3, 100, false}, {'a', "/s", 0, 1, 150, false}, {'b', "/r", 1, 3, 200, false});
}

static void test_another_division_takes_the_place(void **state) {
  (void)state;
  /* Two of three, then all of two, or one process. */
  CHECK("", {'a', "/r", 0, 3, 100, false}, {'b', "/r", 1, 3, 110, false}, {'c', "/r", 0, 2, 200, false},
        {'d', "/r", 1, 2, 210, false});
  CHECK("", {'a', "/r", 0, 3, 100, false}, {'b', "/r", 1, 3, 110, true}, {'c', "/r", 0, 1, 200, false});
  /* The later one is not whole either: both are named. */
  CHECK("/r 1/2 missing; /r 2/3 missing; ", {'a', "/r", 0, 3, 100, false}, {'b', "/r", 1, 3, 110, false},
        {'c', "/r", 0, 2, 200, false});
  /* A whole one that came before does not excuse. */
  CHECK("/r 1/2 missing; ", {'a', "/r", 0, 1, 100, false}, {'c', "/r", 0, 2, 200, false});
}

static bool stop_at_once(void *context, const struct wo_store_shards *shards) {
  (void)shards;
  ++*(int *)context;
  return false;
}

static void test_stops_when_told(void **state) {
  (void)state;
  struct wo_store *const store = wo_store_must_open(NULL, WO_STORE_PRIVATE);
  struct wo_store_scan scan = {.roots = WO_VIEW("/r"), .shard = 5, .shard_count = 9, .rules = WO_VIEW("r"), .start_ns = 7};
  assert_int_equal(wo_store_begin_scan(store, &scan, NULL), WO_OK);
  int calls = 0;
  assert_int_equal(wo_store_check_shards(store, stop_at_once, &calls, NULL), WO_OK);
  assert_int_equal(calls, 1);
  wo_store_close(store);
}

static void test_memory_that_is_out(void **state) {
  (void)state;
  struct wo_store *const store = wo_store_must_open(NULL, WO_STORE_PRIVATE);
  struct wo_store_scan scan = {.roots = WO_VIEW("/r"), .shard = 5, .shard_count = 9, .rules = WO_VIEW("r"), .start_ns = 7};
  assert_int_equal(wo_store_begin_scan(store, &scan, NULL), WO_OK);
  long n = 1;
  bool is_hit = true;
  for (; is_hit; n++) {
    struct wo_text text = {0};
    wo_fail_alloc_at(n);
    int calls = 0;
    const enum wo_status status = wo_store_check_shards(store, stop_at_once, &calls, NULL);
    wo_fail_alloc_off();
    is_hit = wo_fail_alloc_hit();
    assert_int_equal(status, is_hit ? WO_E_NOMEM : WO_OK);
    wo_text_done(&text);
  }
  assert_true(n > 3);
  wo_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_there),
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_stopped),
      cmocka_unit_test(test_twice),
      cmocka_unit_test(test_behind),
      cmocka_unit_test(test_archives_are_told_apart),
      cmocka_unit_test(test_another_division_takes_the_place),
      cmocka_unit_test(test_stops_when_told),
      cmocka_unit_test(test_memory_that_is_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
