/* SPDX-License-Identifier: Apache-2.0 */
/* A store gives back what was put into it, knows which jobs are as they were, and answers questions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/store/store_jobs.h"

struct place {
  char folder[400], path[500];
  struct wo_store *store;
  struct wo_store_made made;
};

static int set_up(void **state) {
  struct place *const place = calloc(1, sizeof *place);
  if (!place || !wo_files_scratch(place->folder, sizeof place->folder)) return -1;
  snprintf(place->path, sizeof place->path, "%s/fleet.db", place->folder);
  place->store = wo_store_must_open(place->path, WO_STORE_WRITE);
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

static void put(struct place *place, uint32_t number) {
  struct wo_err err = {0};
  wo_store_make_job(&place->made, "/logs", number, 100);
  if (wo_store_put(place->store, &place->made.job, &err) != WO_OK) fail_msg("%s", err.message);
}

static enum wo_store_fresh compare(struct place *place, size_t count, const char *rules) {
  enum wo_store_fresh fresh = WO_STORE_NEW;
  assert_int_equal(
      wo_store_compare(place->store, place->made.job.row.path, place->made.files, count, wo_view_of(rules), &fresh, NULL), WO_OK);
  return fresh;
}

/* ---- Rows ---- */

static bool compare_row(void *context, int64_t id, const struct wo_row *row) {
  const struct wo_row *const expected = context;
  assert_true(id > 0);
  for (enum wo_column_id column = 0; column < WO_COLUMN_COUNT_; column++) {
    if (wo_columns[column].type == WO_COLUMN_TEXT) {
      assert_true(wo_view_equal(wo_row_text(row, column), wo_row_text(expected, column)));
    } else {
      assert_true(wo_row_number(row, column) == wo_row_number(expected, column));
    }
  }
  return true;
}

static void test_every_column_comes_back(void **state) {
  struct place *const place = *state;
  char texts[WO_COLUMN_COUNT_][16];
  struct wo_store_job job = {.row = wo_row_empty(), .rules = WO_VIEW("r")};
  for (enum wo_column_id column = 0; column < WO_COLUMN_COUNT_; column++) {
    snprintf(texts[column], sizeof texts[column], "text %d", (int)column);
    if (wo_columns[column].type == WO_COLUMN_TEXT) {
      wo_row_set_text(&job.row, column, wo_view_of(texts[column]));
    } else {
      wo_row_set_number(&job.row, column, column % 2 ? INT64_MAX - column : 0);
    }
  }
  assert_int_equal(wo_store_put(place->store, &job, NULL), WO_OK);
  assert_int_equal(wo_store_each(place->store, NULL, compare_row, &job.row, NULL), WO_OK);
}

static void test_unknown_comes_back_as_unknown(void **state) {
  struct place *const place = *state;
  struct wo_store_job job = {.row = wo_row_empty(), .rules = WO_VIEW("r")};
  job.row.path = WO_VIEW("a");
  assert_int_equal(wo_store_put(place->store, &job, NULL), WO_OK);
  assert_int_equal(wo_store_each(place->store, NULL, compare_row, &job.row, NULL), WO_OK);
}

struct paths {
  char text[400];
};

static bool add_path(void *context, int64_t id, const struct wo_row *row) {
  (void)id;
  struct paths *const paths = context;
  const size_t len = strlen(paths->text);
  snprintf(paths->text + len, sizeof paths->text - len, "%.*s;", WO_SHOWN(row->path));
  return true;
}

/* Names of files may hold any byte but NUL: lines, and what is no UTF-8. */
static void test_paths_are_bytes_in_the_order_of_bytes(void **state) {
  struct place *const place = *state;
  static const char *const paths[] = {"\xff\xfe", "b", "a\nb", "a\xc3", "a", "\xe4\xb8\xad", "a/b", "a b", "A"};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    struct wo_store_file file = {.path = wo_view_of(paths[i])};
    struct wo_store_job job = {.row = wo_row_empty(), .files = &file, .file_count = 1, .rules = WO_VIEW("r")};
    job.row.path = file.path;
    assert_int_equal(wo_store_put(place->store, &job, NULL), WO_OK);
    enum wo_store_fresh fresh = WO_STORE_NEW;
    assert_int_equal(wo_store_compare(place->store, file.path, &file, 1, WO_VIEW("r"), &fresh, NULL), WO_OK);
    assert_int_equal(fresh, WO_STORE_SAME);
  }
  struct paths found = {""};
  assert_int_equal(wo_store_each(place->store, NULL, add_path, &found, NULL), WO_OK);
  assert_string_equal(found.text, "A;a;a\nb;a b;a/b;a\xc3;b;\xe4\xb8\xad;\xff\xfe;");
}

static void test_a_job_that_is_put_again_is_replaced_with_all_its_parts(void **state) {
  struct place *const place = *state;
  put(place, 1);
  put(place, 2);
  int64_t before = 0, after = 0;
  assert_int_equal(wo_store_find(place->store, place->made.job.row.path, &before, NULL), WO_OK);
  char *const first = wo_store_dump(place->store);
  place->made.job.file_count = 1;
  place->made.job.evidence.len = 0;
  place->made.job.row.nodes = WO_VIEW("n1,n[2-3,7],,n1, n4");
  assert_int_equal(wo_store_put(place->store, &place->made.job, NULL), WO_OK);
  char *const second = wo_store_dump(place->store);
  assert_non_null(strstr(second, "2.out n1 \n/logs/slurm-0000002.out n4 \n/logs/slurm-0000002.out n[2-3,7] \nend"));
  assert_null(strstr(second, "0002.err"));
  assert_null(strstr(second, "gpu003"));
  put(place, 2);
  char *const third = wo_store_dump(place->store);
  assert_string_equal(first, third);
  assert_int_equal(wo_store_find(place->store, place->made.job.row.path, &after, NULL), WO_OK);
  assert_true(before == after);
  free(first);
  free(second);
  free(third);
}

/* Its evidence was diagnosed again: row and nodes are others, files and evidence are not. */
static void test_a_row_is_replaced(void **state) {
  struct place *const place = *state;
  put(place, 1);
  put(place, 2);
  char *const before = wo_store_dump(place->store);
  struct wo_row row = place->made.job.row;
  row.title = WO_VIEW("another");
  row.nodes = WO_VIEW("n1");
  assert_int_equal(wo_store_put_row(place->store, &row, WO_VIEW("p1-r2"), NULL), WO_OK);
  assert_int_equal(compare(place, 2, "p1-r2"), WO_STORE_SAME);
  char *const after = wo_store_dump(place->store);
  assert_non_null(strstr(after, "|another|"));
  assert_non_null(strstr(after, "2.out n1 \nend"));
  const char *const evidence = strstr(strstr(before, "0000002.err"), "] ");
  assert_memory_equal(evidence, strstr(strstr(after, "0000002.err"), "] "), strcspn(evidence, "\n"));
  row.path = WO_VIEW("/logs/none");
  struct wo_err err = {0};
  assert_int_equal(wo_store_put_row(place->store, &row, WO_VIEW("p1-r2"), &err), WO_E_UNKNOWN);
  put(place, 2);
  char *const again = wo_store_dump(place->store);
  assert_string_equal(before, again);
  free(before);
  free(after);
  free(again);
}

static void test_where_chooses_rows(void **state) {
  struct place *const place = *state;
  for (uint32_t i = 0; i < 4; i++) put(place, i);
  struct paths found = {""};
  assert_int_equal(wo_store_each(place->store, "is_failed = 1 OR partition IS NULL", add_path, &found, NULL), WO_OK);
  assert_string_equal(found.text, "/logs/slurm-0000000.out;/logs/slurm-0000003.out;");
}

/* ---- Comparing ---- */

static void test_compare(void **state) {
  struct place *const place = *state;
  wo_store_make_job(&place->made, "/logs", 7, 0);
  struct wo_store_file *const file = place->made.files;
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_NEW);
  put(place, 7);
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_SAME);
  assert_int_equal(compare(place, 2, "p1-r2"), WO_STORE_OLD_RULES);
  assert_int_equal(compare(place, 2, "p2-r1"), WO_STORE_OLD_PATTERNS);
  assert_int_equal(compare(place, 2, "p11-r1"), WO_STORE_OLD_PATTERNS);
  assert_int_equal(compare(place, 2, "p1"), WO_STORE_OLD_PATTERNS);
  assert_int_equal(compare(place, 2, ""), WO_STORE_OLD_PATTERNS);
  assert_int_equal(compare(place, 1, "p1-r1"), WO_STORE_CHANGED);
  file[0].device++;
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_SAME);
  file[1].size_bytes++;
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_APPENDED);
  file[1].mtime_ns++;
  assert_int_equal(compare(place, 2, "p1-r2"), WO_STORE_APPENDED);
  file[1].size_bytes--;
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_CHANGED);
  file[1].mtime_ns--;
  file[0].inode++;
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_CHANGED);
  file[0].inode--;
  file[0].size_bytes--;
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_CHANGED);
  file[0].size_bytes++;
  file[0].path = WO_VIEW("/logs/other");
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_CHANGED);
}

static void test_the_order_of_files_does_not_matter(void **state) {
  struct place *const place = *state;
  put(place, 7);
  const struct wo_store_file swapped[] = {place->made.files[1], place->made.files[0]};
  enum wo_store_fresh fresh = WO_STORE_NEW;
  assert_int_equal(wo_store_compare(place->store, place->made.job.row.path, swapped, 2, WO_VIEW("p1-r1"), &fresh, NULL), WO_OK);
  assert_int_equal(fresh, WO_STORE_SAME);
}

/* Its rights may be others now, which changes neither its size nor its time. */
static void test_a_file_that_was_not_read_is_tried_again(void **state) {
  struct place *const place = *state;
  wo_store_make_job(&place->made, "/logs", 7, 0);
  place->made.files[1].is_unread = true;
  assert_int_equal(wo_store_put(place->store, &place->made.job, NULL), WO_OK);
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_CHANGED);
}

static void test_a_job_without_files(void **state) {
  struct place *const place = *state;
  wo_store_make_job(&place->made, "/logs", 7, 0);
  place->made.job.file_count = 0;
  assert_int_equal(wo_store_put(place->store, &place->made.job, NULL), WO_OK);
  assert_int_equal(compare(place, 0, "p1-r1"), WO_STORE_SAME);
  assert_int_equal(compare(place, 2, "p1-r1"), WO_STORE_CHANGED);
}

/* ---- Transactions ---- */

static void test_undone_and_unfinished_transactions_leave_nothing(void **state) {
  struct place *const place = *state;
  put(place, 1);
  char *const before = wo_store_dump(place->store);
  assert_int_equal(wo_store_begin(place->store, NULL), WO_OK);
  put(place, 2);
  assert_int_equal(wo_store_put_problem(place->store, WO_VIEW("p"), WO_VIEW("m"), NULL), WO_OK);
  wo_store_rollback(place->store);
  char *const undone = wo_store_dump(place->store);
  assert_string_equal(before, undone);
  assert_int_equal(wo_store_begin(place->store, NULL), WO_OK);
  put(place, 3);
  wo_store_close(place->store);
  place->store = wo_store_must_open(place->path, WO_STORE_WRITE);
  char *const reopened = wo_store_dump(place->store);
  assert_string_equal(before, reopened);
  free(before);
  free(undone);
  free(reopened);
}

static void test_others_read_while_one_writes(void **state) {
  struct place *const place = *state;
  put(place, 1);
  assert_int_equal(wo_store_begin(place->store, NULL), WO_OK);
  put(place, 2);
  struct wo_store *const reader = wo_store_must_open(place->path, WO_STORE_READ);
  struct paths found = {""};
  assert_int_equal(wo_store_each(reader, NULL, add_path, &found, NULL), WO_OK);
  assert_string_equal(found.text, "/logs/slurm-0000001.out;");
  struct wo_err err = {0};
  assert_int_equal(wo_store_put(reader, &place->made.job, &err), WO_E_IO);
  assert_string_equal(err.message, "cannot be written: it, or its folder, is read-only");
  assert_string_equal(err.file, place->path);
  wo_store_close(reader);
  assert_int_equal(wo_store_commit(place->store, NULL), WO_OK);
}

static void test_a_private_store_is_like_a_file(void **state) {
  struct place *const place = *state;
  put(place, 3);
  char *const file = wo_store_dump(place->store);
  wo_store_close(place->store);
  place->store = wo_store_must_open(NULL, WO_STORE_PRIVATE);
  put(place, 3);
  char *const private = wo_store_dump(place->store);
  assert_string_equal(file, private);
  free(file);
  free(private);
}

/* ---- Problems, retention, questions ---- */

static void test_problems(void **state) {
  struct place *const place = *state;
  assert_int_equal(wo_store_put_problem(place->store, WO_VIEW("/logs/a"), WO_VIEW("one"), NULL), WO_OK);
  assert_int_equal(wo_store_put_problem(place->store, WO_VIEW("/logs/b"), WO_VIEW("two"), NULL), WO_OK);
  assert_int_equal(wo_store_put_problem(place->store, WO_VIEW("/logs/a"), WO_VIEW("three"), NULL), WO_OK);
  assert_int_equal(wo_store_drop_problem(place->store, WO_VIEW("/logs/b"), NULL), WO_OK);
  assert_int_equal(wo_store_drop_problem(place->store, WO_VIEW("/logs/c"), NULL), WO_OK);
  char *const text = wo_store_dump(place->store);
  assert_string_equal(text, "/logs/a three \nend\n");
  free(text);
}

static void test_forget(void **state) {
  struct place *const place = *state;
  for (uint32_t i = 3; i < 6; i++) put(place, i);
  char *const kept = wo_store_dump(place->store);
  for (uint32_t i = 0; i < 3; i++) put(place, i);
  wo_store_make_job(&place->made, "/logs", 9, 0);
  place->made.job.row.end_ns = WO_ROW_UNKNOWN;
  assert_int_equal(wo_store_put(place->store, &place->made.job, NULL), WO_OK);
  int64_t count = 0;
  assert_int_equal(wo_store_forget(place->store, INT64_C(1700000003) * 1000000000, &count, NULL), WO_OK);
  assert_true(count == 3);
  struct paths found = {""};
  assert_int_equal(wo_store_each(place->store, "end_ns IS NULL", add_path, &found, NULL), WO_OK);
  assert_string_equal(found.text, "/logs/slurm-0000009.out;");
  assert_int_equal(wo_store_forget(place->store, INT64_C(1700000003) * 1000000000, &count, NULL), WO_OK);
  assert_true(count == 0);
  free(kept);
}

/* ---- Bookmarks ---- */

static bool take_values(void *context, const struct wo_store_value *values, size_t count);

static struct wo_store_kept bookmarks(struct place *place, struct wo_arena *arena, const char *rules) {
  struct wo_store_kept kept;
  assert_int_equal(wo_store_bookmarks(place->store, place->made.job.row.path, wo_view_of(rules), arena, &kept, NULL), WO_OK);
  return kept;
}

static void put_marked(struct place *place, const char *bookmark) {
  wo_store_make_job(&place->made, "/logs", 1, 100);
  place->made.files[1].bookmark = wo_view_of(bookmark);
  place->made.files[1].is_unread = false;
  place->made.job.rules = WO_VIEW("p1-r1");
  assert_int_equal(wo_store_put(place->store, &place->made.job, NULL), WO_OK);
}

static void test_bookmarks(void **state) {
  struct place *const place = *state;
  struct wo_arena arena, small;
  wo_arena_init(&arena, 1000 * 1000);
  wo_arena_init(&small, 6000);
  put_marked(place, "mark");
  const struct wo_store_kept kept = bookmarks(place, &arena, "p1-r2");
  assert_int_equal(kept.file_count, 1);
  assert_true(wo_view_equal(kept.files[0].path, place->made.files[1].path) && wo_view_is(kept.files[0].bookmark, "mark"));
  assert_true(kept.files[0].inode == place->made.files[1].inode && kept.files[0].head_hash == place->made.files[1].head_hash);
  assert_true(wo_view_equal(kept.evidence, place->made.job.evidence));
  assert_int_equal(bookmarks(place, &small, "p1-r2").file_count, 0); /* without room */
  assert_int_equal(bookmarks(place, &arena, "p2-r1").file_count, 0); /* with other patterns */
  put_marked(place, "");
  assert_int_equal(bookmarks(place, &arena, "p1-r1").file_count, 0);
  put_marked(place, "mark");
  int64_t count = 0;
  assert_int_equal(wo_store_forget(place->store, INT64_MAX, &count, NULL), WO_OK);
  assert_true(count == 1);
  struct paths out = {"none"};
  assert_int_equal(wo_store_ask(place->store, "SELECT NULL, 1, 2.0, 'x' FROM bookmark", NULL, 0, take_values, &out, NULL), WO_OK);
  assert_string_equal(out.text, "none");
  wo_arena_done(&arena);
  wo_arena_done(&small);
}

static bool take_values(void *context, const struct wo_store_value *values, size_t count) {
  struct paths *const out = context;
  assert_int_equal(count, 4);
  assert_int_equal(values[0].type, WO_STORE_NULL);
  assert_int_equal(values[1].type, WO_STORE_NUMBER);
  assert_int_equal(values[2].type, WO_STORE_REAL);
  assert_int_equal(values[3].type, WO_STORE_TEXT);
  snprintf(out->text, sizeof out->text, "%d %.1f %.*s", (int)values[1].number, values[2].real, WO_SHOWN(values[3].text));
  return false;
}

static void test_ask(void **state) {
  struct place *const place = *state;
  struct paths out = {""};
  const struct wo_view texts[] = {WO_VIEW("x'y"), WO_VIEW("z")};
  const char *const sql = "SELECT NULL, 7, 2.5, ?1 || ?2 UNION ALL SELECT 1, 2, 3, 4";
  assert_int_equal(wo_store_ask(place->store, sql, texts, 2, take_values, &out, NULL), WO_OK);
  assert_string_equal(out.text, "7 2.5 x'yz");
  struct wo_err err = {0};
  assert_int_equal(wo_store_ask(place->store, "DELETE FROM job", NULL, 0, take_values, &out, &err), WO_E_USAGE);
  assert_int_equal(wo_store_ask(place->store, "SELECT nonsense", NULL, 0, take_values, &out, &err), WO_E_IO);
  assert_non_null(strstr(err.message, "no such column: nonsense"));
}

/* ---- Archives ---- */

static struct wo_view find_archive(struct place *place, const struct wo_store_archive *archive, struct wo_arena *arena) {
  struct wo_view list = {0};
  assert_int_equal(wo_store_find_archive(place->store, archive, arena, &list, NULL), WO_OK);
  return list;
}

static void test_lists_of_archives(void **state) {
  struct place *const place = *state;
  struct wo_arena arena;
  struct wo_store_archive archive = {
      .path = WO_VIEW("/logs/\xff.tar"), .inode = UINT64_MAX, .size_bytes = 5, .mtime_ns = 70, .list = {"a\0b", 3}};
  int64_t forgotten = 0;
  wo_arena_init(&arena, 1 << 20);
  assert_int_equal(find_archive(place, &archive, &arena).len, 0);
  assert_int_equal(wo_store_put_archive(place->store, &archive, NULL), WO_OK);
  assert_true(wo_view_equal(find_archive(place, &archive, &arena), archive.list));
  archive.mtime_ns++;
  assert_int_equal(find_archive(place, &archive, &arena).len, 0);
  archive.list = WO_VIEW("other");
  assert_int_equal(wo_store_put_archive(place->store, &archive, NULL), WO_OK);
  assert_true(wo_view_equal(find_archive(place, &archive, &arena), archive.list));
  archive.inode = 1;
  assert_int_equal(find_archive(place, &archive, &arena).len, 0);
  archive.inode = UINT64_MAX;
  assert_int_equal(wo_store_forget(place->store, 1000, &forgotten, NULL), WO_OK);
  assert_int_equal(forgotten, 0);
  assert_int_equal(find_archive(place, &archive, &arena).len, 0);
  wo_arena_done(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_lists_of_archives, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_every_column_comes_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_unknown_comes_back_as_unknown, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_paths_are_bytes_in_the_order_of_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_job_that_is_put_again_is_replaced_with_all_its_parts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_row_is_replaced, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_where_chooses_rows, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_compare, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_order_of_files_does_not_matter, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_file_that_was_not_read_is_tried_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_job_without_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_undone_and_unfinished_transactions_leave_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_others_read_while_one_writes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_private_store_is_like_a_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_problems, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_forget, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bookmarks, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_ask, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
