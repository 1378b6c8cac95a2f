/* SPDX-License-Identifier: Apache-2.0 */
/* Merging stores: whatever their order, the result is that of one store; what is damaged is named and leaves nothing. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/files.h"
#include "tests/support/store/store_jobs.h"

enum { STORES = 3, PATH_BYTES = 500 };

struct place {
  char folder[400], paths[STORES][PATH_BYTES], all[PATH_BYTES];
};

static int set_up(void **state) {
  struct place *const place = calloc(1, sizeof *place);
  if (!place || !wo_files_scratch(place->folder, sizeof place->folder)) return -1;
  for (int i = 0; i < STORES; i++) snprintf(place->paths[i], PATH_BYTES, "%s/%d.db", place->folder, i);
  snprintf(place->all, PATH_BYTES, "%s/all.db", place->folder);
  *state = place;
  return 0;
}

static int tear_down(void **state) {
  struct place *const place = *state;
  wo_files_remove_scratch(place->folder);
  free(place);
  return 0;
}

static bool take_number(void *context, const struct wo_store_value *values, size_t count) {
  assert_int_equal(count, 1);
  *(int64_t *)context = values[0].number;
  return true;
}

static int64_t count_of(struct wo_store *store, const char *sql) {
  int64_t number = -1;
  assert_int_equal(wo_store_ask(store, sql, NULL, 0, take_number, &number, NULL), WO_OK);
  return number;
}

static void run_sql(const char *path, const char *sql) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
  sqlite3_close(db);
}

static char *dump_file(const char *path) {
  struct wo_store *const store = wo_store_must_open(path, WO_STORE_READ);
  char *const text = wo_store_dump(store);
  wo_store_close(store);
  assert_non_null(text);
  return text;
}

/* Merges some stores, by number, into a new private one, and returns its text. */
static char *merge_all(struct place *place, const char *order) {
  struct wo_store *const store = wo_store_must_open(NULL, WO_STORE_PRIVATE);
  struct wo_err err = {0};
  for (const char *at = order; *at != '\0'; at++) {
    if (wo_store_merge(store, place->paths[*at - '0'], &err) != WO_OK) fail_msg("%s: %s", err.file, err.message);
  }
  char *const text = wo_store_dump(store);
  wo_store_close(store);
  assert_non_null(text);
  return text;
}

/* Puts the same jobs as another diagnosis of them, which began at start_ns. */
static void diagnose_again(const char *path, uint32_t first, uint32_t count, int64_t start_ns, const char *title) {
  struct wo_store *const store = wo_store_must_open(path, WO_STORE_WRITE);
  struct wo_store_scan scan = {.roots = WO_VIEW("/logs"), .shard_count = 1, .rules = WO_VIEW("r2"), .start_ns = start_ns};
  struct wo_store_made made;
  assert_int_equal(wo_store_begin_scan(store, &scan, NULL), WO_OK);
  for (uint32_t i = 0; i < count; i++) {
    wo_store_make_job(&made, "/logs", first + i, 50);
    made.job.row.title = wo_view_of(title);
    made.job.file_count = 1;
    assert_int_equal(wo_store_put(store, &made.job, NULL), WO_OK);
  }
  wo_store_close(store);
}

static void test_parts_give_the_whole(void **state) {
  struct place *const place = *state;
  wo_store_fill(place->paths[0], "/logs", 0, 40, 1000);
  wo_store_fill(place->paths[1], "/logs", 40, 1, 1001);
  wo_store_fill(place->paths[2], "/logs", 41, 700, 1002);
  wo_store_fill(place->all, "/logs", 0, 741, 1003);
  char *const whole = dump_file(place->all);
  static const char *const orders[] = {"012", "210", "102", "01201"};
  for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
    char *const merged = merge_all(place, orders[i]);
    assert_string_equal(merged, whole);
    free(merged);
  }
  free(whole);
}

static void test_the_later_diagnosis_is_kept(void **state) {
  struct place *const place = *state;
  wo_store_fill(place->paths[0], "/logs", 0, 10, 3000);
  diagnose_again(place->paths[1], 5, 10, 5000, "the later one");
  diagnose_again(place->paths[2], 0, 8, 1000, "the earliest");
  static const char *const orders[] = {"012", "021", "102", "120", "201", "210"};
  char *const first = merge_all(place, orders[0]);
  for (size_t i = 1; i < sizeof orders / sizeof orders[0]; i++) {
    char *const merged = merge_all(place, orders[i]);
    assert_string_equal(merged, first);
    free(merged);
  }
  size_t later = 0;
  for (const char *at = first; (at = strstr(at, "the later one")); at++) later++;
  assert_int_equal(later, 10);
  assert_null(strstr(first, "the earliest"));
  free(first);
}

/* Scans at the same time: the result does not depend on the order either. */
static void test_scans_of_one_time_have_an_order(void **state) {
  struct place *const place = *state;
  diagnose_again(place->paths[0], 0, 4, 1000, "one");
  diagnose_again(place->paths[1], 0, 4, 1000, "two");
  char *const first = merge_all(place, "01"), *const second = merge_all(place, "10");
  assert_string_equal(first, second);
  free(first);
  free(second);
}

static void test_what_a_store_has_got_since_is_brought(void **state) {
  struct place *const place = *state;
  struct wo_store *const all = wo_store_must_open(place->all, WO_STORE_WRITE);
  struct wo_store *part = wo_store_must_open(place->paths[0], WO_STORE_WRITE);
  struct wo_store_scan scan = {.roots = WO_VIEW("/logs"), .shard_count = 1, .rules = WO_VIEW("r1"), .start_ns = 5};
  struct wo_store_made made;
  assert_int_equal(wo_store_begin_scan(part, &scan, NULL), WO_OK);
  assert_int_equal(wo_store_put_problem(part, WO_VIEW("/logs/x"), WO_VIEW("gone"), NULL), WO_OK);
  wo_store_make_job(&made, "/logs", 1, 50);
  assert_int_equal(wo_store_put(part, &made.job, NULL), WO_OK);
  assert_int_equal(wo_store_merge(all, place->paths[0], NULL), WO_OK);
  made.job.row.title = WO_VIEW("again");
  assert_int_equal(wo_store_put(part, &made.job, NULL), WO_OK);
  assert_int_equal(wo_store_drop_problem(part, WO_VIEW("/logs/x"), NULL), WO_OK);
  scan.end_ns = 9;
  scan.jobs = 1;
  assert_int_equal(wo_store_end_scan(part, &scan, NULL), WO_OK);
  char *const expected = wo_store_dump(part);
  wo_store_close(part);
  assert_int_equal(wo_store_merge(all, place->paths[0], NULL), WO_OK);
  char *const merged = wo_store_dump(all);
  assert_string_equal(merged, expected);
  assert_int_equal(count_of(all, "SELECT count(*) FROM scan"), 1);
  assert_int_equal(count_of(all, "SELECT end_ns FROM scan"), 9);
  assert_int_equal(count_of(all, "SELECT count(*) FROM job WHERE scan = (SELECT id FROM scan)"), 1);
  free(merged);
  free(expected);
  wo_store_close(all);
}

/* ---- Sources that cannot be merged ---- */

/* Merges the first store into one with content; it must fail with that message, name the file, and change nothing. */
static void check_refused(struct place *place, const char *message) {
  wo_store_fill(place->all, "/other", 0, 5, 100);
  char *const before = dump_file(place->all);
  struct wo_store *const store = wo_store_must_open(place->all, WO_STORE_WRITE);
  struct wo_err err = {0};
  assert_int_not_equal(wo_store_merge(store, place->paths[0], &err), WO_OK);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  assert_string_equal(err.file, place->paths[0]);
  wo_store_fill(place->paths[1], "/more", 0, 5, 100);
  assert_int_equal(count_of(store, "SELECT count(*) FROM job"), 5);
  char *const after = wo_store_dump(store);
  assert_string_equal(before, after);
  assert_int_equal(wo_store_merge(store, place->paths[1], &err), WO_OK);
  assert_int_equal(count_of(store, "SELECT count(*) FROM job"), 10);
  wo_store_close(store);
  free(before);
  free(after);
}

static void change_bytes(const char *path, off_t at, size_t count) {
  const int fd = open(path, O_RDWR);
  assert_true(fd >= 0);
  char junk[8192];
  memset(junk, 0x5a, sizeof junk);
  assert_true(count <= sizeof junk && pwrite(fd, junk, count, at) == (ssize_t)count);
  close(fd);
}

static void test_a_damaged_page(void **state) {
  struct place *const place = *state;
  wo_store_fill(place->paths[0], "/logs", 0, 2000, 100);
  change_bytes(place->paths[0], (off_t)200 * 4096, 8192);
  check_refused(place, "is damaged");
}

static void test_a_part_of_a_store(void **state) {
  struct place *const place = *state;
  wo_store_fill(place->paths[0], "/logs", 0, 2000, 100);
  assert_int_equal(truncate(place->paths[0], 100 * 4096), 0);
  check_refused(place, "is damaged");
}

static void test_another_version(void **state) {
  struct place *const place = *state;
  wo_store_fill(place->paths[0], "/logs", 0, 20, 100);
  run_sql(place->paths[0], "PRAGMA user_version = 7");
  check_refused(place, "newer version");
}

static void test_no_such_file(void **state) {
  check_refused(*state, "No such file");
}

static void test_text(void **state) {
  struct place *const place = *state;
  assert_true(wo_files_write(place->paths[0], WO_VIEW("step 1 loss 2.5\nstep 2 loss 2.4\n")));
  check_refused(place, "is not a database");
}

/* An index that lacks a job would hide it. */
static void test_an_index_that_lacks_jobs(void **state) {
  struct place *const place = *state;
  wo_store_fill(place->paths[0], "/logs", 0, 20, 100);
  run_sql(place->paths[0],
          "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE UNIQUE INDEX job_path ON job (path) "
          "WHERE id <> 7' WHERE name = 'job_path'; PRAGMA writable_schema = RESET; REINDEX; PRAGMA writable_schema "
          "= ON; UPDATE sqlite_master SET sql = 'CREATE UNIQUE INDEX job_path ON job (path)' WHERE name = 'job_path'");
  check_refused(place, "is damaged");
}

static void test_itself(void **state) {
  struct place *const place = *state;
  wo_store_fill(place->all, "/logs", 0, 20, 100);
  assert_int_equal(link(place->all, place->paths[0]), 0);
  struct wo_store *const store = wo_store_must_open(place->all, WO_STORE_WRITE);
  struct wo_err err = {0};
  assert_int_equal(wo_store_merge(store, place->paths[0], &err), WO_E_USAGE);
  assert_int_equal(wo_store_merge(store, place->all, &err), WO_E_USAGE);
  assert_string_equal(err.message, "cannot be merged into itself");
  assert_int_equal(wo_store_begin(store, NULL), WO_OK);
  assert_int_equal(wo_store_merge(store, place->paths[1], &err), WO_E_USAGE);
  wo_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_parts_give_the_whole, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_later_diagnosis_is_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_scans_of_one_time_have_an_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_what_a_store_has_got_since_is_brought, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_damaged_page, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_part_of_a_store, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_another_version, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_no_such_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_index_that_lacks_jobs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_itself, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
