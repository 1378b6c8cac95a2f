/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that a scan passes over: what the store knows of them, folder by folder, and when it no longer does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/store/store_jobs.h"

static const char *const folders[] = {"/logs/", "/logs/a/", "/logs/a/deep/", "/logs/b", "/logs0", "", "/"};
enum { FOLDERS = sizeof folders / sizeof *folders, JOBS = 3 };

struct place {
  char folder[256], path[300];
  struct wo_store *store;
  struct wo_store_made made;
};

static void reopen(struct place *place) {
  wo_store_close(place->store);
  place->store = wo_store_must_open(place->path, WO_STORE_WRITE);
}

/* Job `number` of a folder. */
static struct wo_store_job *make(struct place *place, const char *folder, uint32_t number) {
  struct wo_store_made *const made = &place->made;
  wo_store_make_job(made, "", number, 10);
  snprintf(made->path, sizeof made->path, "%slog-%u.out", folder, number);
  made->job.row.path = made->files[0].path = wo_view_of(made->path);
  return &made->job;
}

static bool knows(struct place *place, const char *rules) {
  bool is_known = false;
  assert_int_equal(
      wo_store_knows(place->store, place->made.job.row.path, place->made.files, 2, wo_view_of(rules), &is_known, NULL), WO_OK);
  return is_known;
}

static int set_up(void **state) {
  struct place *const place = calloc(1, sizeof *place);
  if (!place || !wo_files_scratch(place->folder, sizeof place->folder)) return -1;
  snprintf(place->path, sizeof place->path, "%s/fleet.db", place->folder);
  place->store = wo_store_must_open(place->path, WO_STORE_WRITE);
  for (uint32_t number = 1; number <= JOBS; number++) {
    for (size_t i = 0; i < FOLDERS; i++)
      assert_int_equal(wo_store_put(place->store, make(place, folders[i], number), NULL), WO_OK);
  }
  reopen(place);
  *state = place;
  return 0;
}

static int tear_down(void **state) {
  struct place *const place = *state;
  wo_store_close(place->store);
  wo_files_remove_scratch(place->folder);
  free(place);
  return 0;
}

static void test_jobs_of_all_folders_are_known(void **state) {
  struct place *const place = *state;
  for (size_t i = 0; i < FOLDERS; i++) {
    for (uint32_t number = 1; number <= JOBS; number++) {
      make(place, folders[i], number);
      assert_true(knows(place, "p1-r1"));
    }
    make(place, folders[i], JOBS + 1);
    assert_false(knows(place, "p1-r1"));
  }
}

static void test_what_differs_is_not_known(void **state) {
  struct place *const place = *state;
  make(place, "/logs/a/", 2);
  assert_false(knows(place, "p1-r2"));
  place->made.files[1].size_bytes++;
  assert_false(knows(place, "p1-r1"));
  make(place, "/logs/a/", 2);
  place->made.files[0].inode++;
  assert_false(knows(place, "p1-r1"));
  make(place, "/logs/a/", 2);
  place->made.files[0].mtime_ns--;
  assert_false(knows(place, "p1-r1"));
}

static void test_a_file_that_was_not_read_is_not_known(void **state) {
  struct place *const place = *state;
  make(place, "/logs/", 2);
  place->made.files[1].is_unread = true;
  assert_int_equal(wo_store_put(place->store, &place->made.job, NULL), WO_OK);
  reopen(place);
  place->made.files[1].is_unread = false;
  assert_false(knows(place, "p1-r1"));
}

/* Going back to the rules of before is a change, too. */
static void test_a_row_of_other_rules_is_not_known_until_it_was_compared(void **state) {
  struct place *const place = *state;
  enum wo_store_fresh fresh = WO_STORE_NEW;
  make(place, "/logs/", 2);
  assert_int_equal(wo_store_put_row(place->store, &place->made.job.row, WO_VIEW("p1-r2"), NULL), WO_OK);
  reopen(place);
  assert_false(knows(place, "p1-r1"));
  assert_false(knows(place, "p1-r2"));
  assert_int_equal(wo_store_compare(place->store, place->made.job.row.path, place->made.files, 2, WO_VIEW("p1-r2"), &fresh, NULL),
                   WO_OK);
  assert_int_equal(fresh, WO_STORE_SAME);
  reopen(place);
  assert_false(knows(place, "p1-r1"));
  assert_true(knows(place, "p1-r2"));
}

static void test_forgotten_jobs_are_not_known(void **state) {
  struct place *const place = *state;
  int64_t count = 0;
  assert_int_equal(wo_store_forget(place->store, INT64_MAX - 1, &count, NULL), WO_OK);
  reopen(place);
  for (uint32_t number = 1; number <= JOBS; number++) {
    make(place, "/logs/", number);
    if (place->made.job.row.end_ns != WO_ROW_UNKNOWN) assert_false(knows(place, "p1-r1"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_jobs_of_all_folders_are_known, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_what_differs_is_not_known, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_file_that_was_not_read_is_not_known, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_row_of_other_rules_is_not_known_until_it_was_compared, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_forgotten_jobs_are_not_known, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
