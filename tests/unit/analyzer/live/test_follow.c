/* SPDX-License-Identifier: Apache-2.0 */
/* A following with a clock and a watcher of the test: analyzer/live/follow.c, follow_look.c, live_folders.c. */
#include "analyzer/live/follow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "parsers/base/units.h"
#include "tests/support/files.h"

#define OOM                                                                                                                      \
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which "    \
  "1.06 GiB is free.\n"

enum { PATH_BYTES = 400, EVENTS_MAX = 8 };

/* A watcher that tells what the test wants it to. */
struct wo_watcher {
  struct wo_watch_event events[EVENTS_MAX];
  size_t count, at;
  uint32_t watches;
  uint32_t most; /* folders that it watches */
};

/* The test: a step for each second of its clock. */
struct bench {
  char folder[PATH_BYTES / 2];
  struct wo_watcher watcher;
  int64_t now_ns;
  volatile sig_atomic_t is_over;
  void (*step)(struct bench *bench, int64_t second);
  int64_t last_second;
  size_t ended;
  char last[PATH_BYTES];
};

static enum wo_watch_result add(struct wo_watcher *watcher, const char *path, uint32_t *ret_watch) {
  (void)path;
  if (watcher->watches == watcher->most) return WO_WATCH_LIMIT;
  *ret_watch = ++watcher->watches;
  return WO_WATCHED;
}

static void drop(struct wo_watcher *watcher, uint32_t watch) {
  (void)watcher, (void)watch;
}

static bool next(struct wo_watcher *watcher, struct wo_watch_event *ret_event) {
  if (watcher->at == watcher->count) return false;
  *ret_event = watcher->events[watcher->at++];
  return true;
}

static const struct wo_watch_ops ops = {add, drop, next};

static void tell(struct bench *bench, enum wo_watch_kind kind, uint32_t watch) {
  assert_true(bench->watcher.count < EVENTS_MAX);
  bench->watcher.events[bench->watcher.count++] = (struct wo_watch_event){.kind = kind, .watch = watch};
}

static void write_log(const struct bench *bench, const char *name, const char *text) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", bench->folder, name);
  assert_true(wo_files_write(path, wo_view_of(text)));
}

/* ---- Hooks ---- */

static int64_t now(void *context) {
  return ((struct bench *)context)->now_ns;
}

static void wait_a_while(void *context, int64_t span_ns) {
  struct bench *const bench = context;
  bench->now_ns += span_ns;
  const int64_t second = bench->now_ns / WO_NS_PER_S;
  if (second > bench->last_second) bench->step(bench, second);
  bench->last_second = second;
  if (second > 1000) bench->is_over = 1;
}

static bool on_tick(void *context, int64_t now_ns) {
  (void)context, (void)now_ns;
  return false;
}

static bool on_ended(void *context, const struct wo_row *row) {
  struct bench *const bench = context;
  bench->ended++;
  snprintf(bench->last, sizeof bench->last, "%.*s", WO_SHOWN(row->path));
  return true;
}

static bool ended_with(const struct bench *bench, size_t count, const char *name) {
  return bench->ended == count && wo_view_has(wo_view_of(bench->last), name);
}

/* Follows the folder; `step` sets bench->is_over in the end. */
static struct wo_follow_account follow(struct bench *bench, struct wo_text *errors) {
  struct wo_pack *pack = NULL;
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  const char *const roots[] = {bench->folder};
  const struct wo_follow_settings settings = {.scan = {.roots = roots,
                                                       .root_count = 1,
                                                       .threads = 1,
                                                       .walk = {.since_ns = WO_WALK_ANY_TIME, .until_ns = WO_WALK_ANY_TIME},
                                                       .rules = WO_VIEW("1-1")},
                                              .settle_ns = 60 * WO_NS_PER_S,
                                              .poll_ns = 10 * WO_NS_PER_S};
  const struct wo_scan_hooks scan_hooks = {.context = bench, .now_ns = now, .is_cancelled = &bench->is_over};
  const struct wo_follow_hooks hooks = {.context = bench,
                                        .watch = &ops,
                                        .watcher = &bench->watcher,
                                        .on_ended = on_ended,
                                        .on_tick = on_tick,
                                        .wait = wait_a_while};
  struct wo_follow_account account = {0};
  bench->now_ns = WO_NS_PER_S;
  assert_int_equal(wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &pack, &err), WO_OK);
  assert_int_equal(wo_store_open(NULL, WO_STORE_PRIVATE, &store, &err), WO_OK);
  assert_int_equal(wo_follow(pack, store, &settings, &scan_hooks, &hooks, errors, &account, &err), WO_OK);
  wo_store_close(store);
  wo_pack_free(pack);
  return account;
}

/* ---- Tests ---- */

/* Only what is told is looked at: the second log is seen when its folder is told to have changed. */
static void step_watched(struct bench *bench, int64_t second) {
  if (second == 2) {
    write_log(bench, "slurm-4711.out", OOM);
    tell(bench, WO_WATCH_CHANGED, 1);
  }
  if (second == 50) assert_int_equal(bench->ended, 0);
  if (second == 80) {
    assert_true(ended_with(bench, 1, "slurm-4711.out"));
    write_log(bench, "slurm-4712.out", OOM);
  }
  if (second == 200) {
    assert_int_equal(bench->ended, 1);
    tell(bench, WO_WATCH_LOST, 0);
  }
  if (second == 300) {
    assert_true(ended_with(bench, 2, "slurm-4712.out"));
    bench->is_over = 1;
  }
}

static void test_what_is_told_is_looked_at(void **state) {
  (void)state;
  struct bench bench = {.step = step_watched, .watcher = {.most = 100}};
  struct wo_text errors = {0};
  assert_true(wo_files_scratch(bench.folder, sizeof bench.folder));
  write_log(&bench, "slurm-4000.out", OOM);
  assert_int_equal(follow(&bench, &errors).reported, 2);
  assert_true(wo_view_has((struct wo_view){errors.ptr, errors.len}, "following 1 folder\n"));
  wo_text_done(&errors);
  wo_files_remove_scratch(bench.folder);
}

/* A log that is written on and on is not read before it is quiet, and one that is silent does not end. */
static void step_unwatched(struct bench *bench, int64_t second) {
  char text[300];
  if (second < 200) {
    snprintf(text, sizeof text, "step %d/1000 loss 2.0\n%s", (int)second, OOM);
    write_log(bench, "slurm-4711.out", text);
  }
  if (second == 3) write_log(bench, "slurm-4712.out", "step 1/1000 loss 2.0\n");
  if (second == 250) assert_int_equal(bench->ended, 0);
  if (second == 300) assert_true(ended_with(bench, 1, "slurm-4711.out"));
  if (second == 900) {
    assert_int_equal(bench->ended, 1);
    bench->is_over = 1;
  }
}

static void test_folders_beyond_the_limit_are_polled(void **state) {
  (void)state;
  struct bench bench = {.step = step_unwatched};
  struct wo_text errors = {0};
  assert_true(wo_files_scratch(bench.folder, sizeof bench.folder));
  assert_int_equal(follow(&bench, &errors).problems, 0);
  assert_true(wo_view_has((struct wo_view){errors.ptr, errors.len}, "no more watches"));
  wo_text_done(&errors);
  wo_files_remove_scratch(bench.folder);
}

/* The root goes, as its watch tells, and comes back. */
static void step_root(struct bench *bench, int64_t second) {
  if (second == 2) {
    wo_files_remove_scratch(bench->folder);
    tell(bench, WO_WATCH_GONE, 1);
  }
  if (second == 20) {
    assert_int_equal(mkdir(bench->folder, 0700), 0);
    write_log(bench, "slurm-4711.out", OOM);
  }
  if (second == 120) {
    assert_true(ended_with(bench, 1, "slurm-4711.out"));
    assert_int_equal(bench->watcher.watches, 2);
    bench->is_over = 1;
  }
}

static void test_a_root_comes_back(void **state) {
  (void)state;
  struct bench bench = {.step = step_root, .watcher = {.most = 100}};
  struct wo_text errors = {0};
  assert_true(wo_files_scratch(bench.folder, sizeof bench.folder));
  follow(&bench, &errors);
  const struct wo_view said = {errors.ptr, errors.len};
  assert_true(wo_view_has(said, "is gone") && wo_view_has(said, "is back"));
  wo_text_done(&errors);
  wo_files_remove_scratch(bench.folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_told_is_looked_at),
      cmocka_unit_test(test_folders_beyond_the_limit_are_polled),
      cmocka_unit_test(test_a_root_comes_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
