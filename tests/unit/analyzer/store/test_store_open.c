/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no store, or cannot be used as one: one clear message each, and the file stays as it is. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/store/store_jobs.h"

struct place {
  char folder[400], path[500];
};

static int set_up(void **state) {
  struct place *const place = calloc(1, sizeof *place);
  if (!place || !wo_files_scratch(place->folder, sizeof place->folder)) return -1;
  snprintf(place->path, sizeof place->path, "%s/fleet.db", place->folder);
  *state = place;
  return 0;
}

static int tear_down(void **state) {
  struct place *const place = *state;
  chmod(place->folder, 0700);
  wo_files_remove_scratch(place->folder);
  free(place);
  return 0;
}

static void run_sql(const char *path, const char *sql) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
  sqlite3_close(db);
}

/* Opens the file both ways: both must be refused with the message, and the file must hold the same bytes afterwards. */
static void check_refused(const struct place *place, enum wo_status status, const char *message) {
  size_t before_len = 0, after_len = 0;
  char *const before = wo_files_read(place->path, &before_len);
  for (enum wo_store_mode mode = WO_STORE_WRITE; mode <= WO_STORE_READ; mode++) {
    struct wo_store *store = NULL;
    struct wo_err err = {0};
    assert_int_equal(wo_store_open(place->path, mode, &store, &err), status);
    assert_null(store);
    assert_string_equal(err.message, message);
    assert_string_equal(err.file, place->path);
    char *const after = wo_files_read(place->path, &after_len);
    assert_int_equal(before_len, after_len);
    if (before) assert_memory_equal(before, after, before_len);
    free(after);
  }
  free(before);
}

/* ---- Other files ---- */

static void test_a_text(void **state) {
  const struct place *const place = *state;
  assert_true(wo_files_write(place->path, WO_VIEW("x\n")));
  check_refused(place, WO_E_KIND, "is no store of whyoom: it is not a database of SQLite");
  char text[9000];
  memset(text, 'a', sizeof text);
  assert_true(wo_files_write(place->path, (struct wo_view){text, sizeof text}));
  check_refused(place, WO_E_KIND, "is no store of whyoom: it is not a database of SQLite");
}

static void test_the_database_of_another_program(void **state) {
  const struct place *const place = *state;
  run_sql(place->path, "CREATE TABLE job (id INTEGER PRIMARY KEY, path TEXT); INSERT INTO job VALUES (1, 'a')");
  check_refused(place, WO_E_KIND, "is no store of whyoom: it is a database of another program");
}

/* In write-ahead mode closing would move its log into the file. */
static void test_the_database_of_another_program_in_use(void **state) {
  const struct place *const place = *state;
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)", NULL, NULL, NULL),
                   SQLITE_OK);
  check_refused(place, WO_E_KIND, "is no store of whyoom: it is a database of another program");
  sqlite3_close(db);
}

static void test_a_newer_schema(void **state) {
  const struct place *const place = *state;
  wo_store_fill(place->path, "/logs", 0, 3, 1);
  run_sql(place->path, "PRAGMA user_version = 2");
  check_refused(place, WO_E_KIND, "is a store of a newer version of whyoom (its tables are version 2, those of this one are 1)");
}

static void test_columns_of_a_newer_version(void **state) {
  const struct place *const place = *state;
  wo_store_fill(place->path, "/logs", 0, 3, 1);
  run_sql(place->path, "ALTER TABLE job ADD COLUMN next_year TEXT");
  check_refused(place, WO_E_KIND, "is a store of a newer version of whyoom: it has columns that this one does not know");
}

static void test_special_files(void **state) {
  struct place *const place = *state;
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_store_open(place->folder, WO_STORE_WRITE, &store, &err), WO_E_KIND);
  assert_string_equal(err.message, "is a folder, no store");
  assert_int_equal(mkfifo(place->path, 0600), 0);
  assert_int_equal(wo_store_open(place->path, WO_STORE_READ, &store, &err), WO_E_KIND);
  assert_string_equal(err.message, "is not a regular file");
  assert_int_equal(wo_store_open("/dev/null", WO_STORE_WRITE, &store, &err), WO_E_KIND);
  assert_int_equal(wo_store_open("", WO_STORE_WRITE, &store, &err), WO_E_KIND);
  assert_null(store);
}

static void test_no_file_and_no_folder(void **state) {
  struct place *const place = *state;
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_store_open(place->path, WO_STORE_READ, &store, &err), WO_E_IO);
  assert_string_equal(err.message, "cannot be opened: No such file or directory");
  assert_int_equal(access(place->path, F_OK), -1);
  snprintf(place->path, sizeof place->path, "%s/none/fleet.db", place->folder);
  assert_int_equal(wo_store_open(place->path, WO_STORE_WRITE, &store, &err), WO_E_IO);
  assert_string_equal(err.message, "cannot be opened: No such file or directory");
}

/* An empty file, as mktemp leaves it, becomes a store when it is to be written. */
static void test_an_empty_file(void **state) {
  const struct place *const place = *state;
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  assert_true(wo_files_write(place->path, (struct wo_view){"", 0}));
  assert_int_equal(wo_store_open(place->path, WO_STORE_READ, &store, &err), WO_E_KIND);
  assert_string_equal(err.message, "is no store of whyoom: it is empty");
  wo_store_fill(place->path, "/logs", 0, 3, 1);
  store = wo_store_must_open(place->path, WO_STORE_READ);
  wo_store_close(store);
}

static void test_names_that_mean_something_to_sqlite(void **state) {
  struct place *const place = *state;
  static const char *const names[] = {":memory:", "file:x?mode=memory", "a b%41#c", "\xff\xc3", "line\nbreak", "-"};
  char here[1000];
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(place->folder), 0);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    wo_store_fill(names[i], "/logs", 0, 2, 1);
    assert_int_equal(access(names[i], F_OK), 0);
    struct wo_store *const all = wo_store_must_open(NULL, WO_STORE_PRIVATE);
    assert_int_equal(wo_store_merge(all, names[i], NULL), WO_OK);
    wo_store_close(all);
  }
  assert_int_equal(chdir(here), 0);
}

/* ---- Damage ---- */

static bool ignore_row(void *context, int64_t id, const struct wo_row *row) {
  (void)context, (void)id, (void)row;
  return true;
}

/* Whatever bytes of a store are others: opening and reading it ends, with a message if it fails. */
static void test_any_damage_is_survived(void **state) {
  const struct place *const place = *state;
  wo_store_fill(place->path, "/logs", 0, 60, 1);
  size_t len = 0;
  char *const whole = wo_files_read(place->path, &len), *const damaged = malloc(len);
  assert_true(whole && damaged);
  uint32_t random = 12345;
  unsigned refused = 0;
  for (int round = 0; round < 400; round++) {
    memcpy(damaged, whole, len);
    for (int i = 0; i < 1 + round % 40; i++) {
      random = random * 1664525 + 1013904223;
      const size_t at = round % 2 ? (random >> 4) % len : (random >> 4) % 4096;
      damaged[at] = (char)(random >> 24);
    }
    assert_true(wo_files_write(place->path, (struct wo_view){damaged, round % 5 == 4 ? len - (random >> 8) % len : len}));
    struct wo_store *store = NULL;
    struct wo_err err = {0};
    enum wo_status status = wo_store_open(place->path, round % 3 ? WO_STORE_READ : WO_STORE_WRITE, &store, &err);
    if (status == WO_OK) status = wo_store_each(store, NULL, ignore_row, NULL, &err);
    if (status != WO_OK) assert_true(err.message[0] != '\0');
    refused += status != WO_OK;
    wo_store_close(store);
    struct wo_store *const all = wo_store_must_open(NULL, WO_STORE_PRIVATE);
    wo_store_merge(all, place->path, &err);
    wo_store_close(all);
  }
  assert_true(refused > 50);
  free(whole);
  free(damaged);
}

/* ---- Older versions ---- */

static bool take_number(void *context, const struct wo_store_value *values, size_t count) {
  assert_int_equal(count, 1);
  *(int64_t *)context = values[0].number;
  return true;
}

static void test_columns_are_added_and_views_renewed(void **state) {
  const struct place *const place = *state;
  if (sqlite3_libversion_number() < 3035000) skip(); /* cannot drop columns */
  wo_store_fill(place->path, "/logs", 0, 3, 1);
  struct wo_store *store = wo_store_must_open(place->path, WO_STORE_READ);
  char *const before = wo_store_dump(store);
  wo_store_close(store);
  run_sql(place->path,
          "ALTER TABLE job DROP COLUMN step_total; ALTER TABLE job DROP COLUMN model; DROP TABLE bookmark;"
          "DROP VIEW clusters; CREATE VIEW clusters AS SELECT 1; UPDATE meta SET value = '0.0' WHERE key = 'whyoom'");
  struct wo_err err = {0};
  assert_int_equal(wo_store_open(place->path, WO_STORE_READ, &store, &err), WO_E_KIND);
  assert_string_equal(err.message, "is a store of an older version of whyoom: the next scan into it brings it up to date");
  store = wo_store_must_open(place->path, WO_STORE_WRITE);
  char *const after = wo_store_dump(store);
  assert_string_equal(before, after);
  int64_t jobs = 0;
  assert_int_equal(wo_store_ask(store, "SELECT sum(jobs) FROM clusters", NULL, 0, take_number, &jobs, NULL), WO_OK);
  assert_int_equal(jobs, 1);
  assert_int_equal(wo_store_ask(store, "SELECT count(*) FROM bookmark", NULL, 0, take_number, &jobs, NULL), WO_OK);
  assert_int_equal(jobs, 0);
  wo_store_close(store);
  wo_store_close(wo_store_must_open(place->path, WO_STORE_READ));
  free(before);
  free(after);
}

/* ---- Rights ---- */

/* Runs a check as somebody without rights: root may write anywhere. */
static void as_nobody(const struct place *place, int (*check)(const struct place *place)) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    _exit(check(place));
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) skip();
  assert_int_equal(WEXITSTATUS(status), 0);
}

static int count_row_calls(struct wo_store *store) {
  return wo_store_each(store, NULL, ignore_row, NULL, NULL) == WO_OK ? 0 : 3;
}

static int reads_all(const struct place *place) {
  struct wo_store *store = NULL, *all = NULL;
  struct wo_err err = {0};
  if (wo_store_open(place->path, WO_STORE_READ, &store, &err) != WO_OK) return 1;
  const int read = count_row_calls(store);
  wo_store_close(store);
  if (read != 0 || wo_store_open(NULL, WO_STORE_PRIVATE, &all, &err) != WO_OK) return 2;
  const enum wo_status merged = wo_store_merge(all, place->path, &err);
  wo_store_close(all);
  return merged == WO_OK ? 0 : 4;
}

static int is_refused_for_writing(const struct place *place) {
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  if (wo_store_open(place->path, WO_STORE_WRITE, &store, &err) != WO_E_IO) return 1;
  return strcmp(err.message, "cannot be written: it, or its folder, is read-only") == 0 ? 0 : 2;
}

static int is_refused_for_its_folder(const struct place *place) {
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  if (wo_store_open(place->path, WO_STORE_WRITE, &store, &err) != WO_E_IO) return 1;
  return strstr(err.message, "cannot be opened: Permission denied") ? 0 : 2;
}

static int names_its_log(const struct place *place) {
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  if (wo_store_open(place->path, WO_STORE_READ, &store, &err) != WO_E_IO) return 1;
  return strstr(err.message, "has changes in a file beside it (-wal)") ? 0 : 2;
}

static void test_a_store_in_a_folder_that_cannot_be_written(void **state) {
  const struct place *const place = *state;
  as_nobody(place, is_refused_for_its_folder);
  wo_store_fill(place->path, "/logs", 0, 30, 1);
  assert_int_equal(chmod(place->path, 0444), 0);
  assert_int_equal(chmod(place->folder, 0555), 0);
  as_nobody(place, reads_all);
  as_nobody(place, is_refused_for_writing);
}

/* A process that was killed left changes beside the file. */
static void test_a_log_that_cannot_be_read(void **state) {
  const struct place *const place = *state;
  wo_store_fill(place->path, "/logs", 0, 30, 1);
  const pid_t child = fork();
  if (child == 0) {
    struct wo_store *const store = wo_store_must_open(place->path, WO_STORE_WRITE);
    wo_store_put_problem(store, WO_VIEW("a"), WO_VIEW("b"), NULL);
    _exit(0);
  }
  assert_int_equal(waitpid(child, NULL, 0), child);
  char name[520];
  snprintf(name, sizeof name, "%s-shm", place->path);
  assert_int_equal(unlink(name), 0);
  snprintf(name, sizeof name, "%s-wal", place->path);
  assert_int_equal(chmod(name, 0444), 0);
  assert_int_equal(chmod(place->path, 0444), 0);
  assert_int_equal(chmod(place->folder, 0555), 0);
  as_nobody(place, names_its_log);
}

/* ---- Two processes, and memory ---- */

static void test_two_make_the_same_store(void **state) {
  const struct place *const place = *state;
  pid_t children[4];
  for (int i = 0; i < 4; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      char folder[16];
      snprintf(folder, sizeof folder, "/logs%d", i);
      wo_store_fill(place->path, folder, 0, 50, i);
      _exit(0);
    }
  }
  for (int i = 0; i < 4; i++) {
    int status = 0;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  struct wo_store *const store = wo_store_must_open(place->path, WO_STORE_READ);
  char *const text = wo_store_dump(store);
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, "|gpu|")); at++) count++;
  assert_int_equal(count, 200);
  free(text);
  wo_store_close(store);
}

static void test_memory_that_is_out(void **state) {
  const struct place *const place = *state;
  wo_store_fill(place->path, "/logs", 0, 3, 1);
  bool is_hit = true;
  for (long n = 1; is_hit; n++) {
    struct wo_store *store = NULL;
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_store_open(place->path, WO_STORE_WRITE, &store, &err);
    wo_fail_alloc_off();
    is_hit = wo_fail_alloc_hit();
    assert_int_equal(status, is_hit ? WO_E_NOMEM : WO_OK);
    wo_store_close(store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_text, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_database_of_another_program, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_database_of_another_program_in_use, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_newer_schema, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_columns_of_a_newer_version, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_special_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_no_file_and_no_folder, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_empty_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_names_that_mean_something_to_sqlite, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_any_damage_is_survived, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_columns_are_added_and_views_renewed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_store_in_a_folder_that_cannot_be_written, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_log_that_cannot_be_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_two_make_the_same_store, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_memory_that_is_out, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
