/* SPDX-License-Identifier: Apache-2.0 */
/* docs/store.md and the store agree: every column is on the page, and every query on it runs and has an answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/store/store_jobs.h"

struct page {
  struct wo_store *store;
  char *text;
};

/* A store in which each query of the page finds something. */
static void fill(struct wo_store *store) {
  static struct wo_store_made made;
  struct wo_store_scan scan = {.roots = WO_VIEW("/logs"), .shard_count = 1, .rules = WO_VIEW("r"), .start_ns = 1};
  assert_int_equal(wo_store_begin_scan(store, &scan, NULL), WO_OK);
  for (uint32_t i = 0; i < 60; i++) {
    wo_store_make_job(&made, "/logs", i, 10);
    struct wo_row *const row = &made.job.row;
    row->name = WO_VIEW("train");
    row->work = WO_VIEW("0123");
    row->end_ns = (INT64_C(1795132800) + i) * 1000000000; /* 2026-11-20 */
    if (i % 6 == 0) row->outcome = WO_VIEW("hardware");
    made.files[1].is_unread = i == 7;
    assert_int_equal(wo_store_put(store, &made.job, NULL), WO_OK);
  }
  assert_int_equal(wo_store_put_problem(store, WO_VIEW("/logs/core"), WO_VIEW("permission denied"), NULL), WO_OK);
}

static int set_up(void **state) {
  struct page *const page = calloc(1, sizeof *page);
  size_t len = 0;
  if (!page || !(page->text = wo_files_read(WO_SOURCE_DIR "/docs/store.md", &len))) return -1;
  page->store = wo_store_must_open(NULL, WO_STORE_PRIVATE);
  fill(page->store);
  *state = page;
  return 0;
}

static int tear_down(void **state) {
  struct page *const page = *state;
  wo_store_close(page->store);
  free(page->text);
  free(page);
  return 0;
}

static bool count_row(void *context, const struct wo_store_value *values, size_t count) {
  (void)values;
  assert_true(count > 0);
  ++*(size_t *)context;
  return true;
}

static void run_query(const struct page *page, const char *start, const char *end) {
  char sql[2000];
  wo_view_copy((struct wo_view){start, (size_t)(end - start)}, sql, sizeof sql);
  size_t rows = 0;
  struct wo_err err = {0};
  if (wo_store_ask(page->store, sql, NULL, 0, count_row, &rows, &err) != WO_OK) fail_msg("%s: %s", sql, err.message);
  if (rows == 0) fail_msg("nothing is found by %s", sql);
}

static void test_every_query_runs(void **state) {
  const struct page *const page = *state;
  static const char mark[] = "\n```sql\n";
  size_t count = 0;
  for (const char *at = page->text; (at = strstr(at, mark)); count++) {
    at += sizeof mark - 1;
    const char *const end = strstr(at, "\n```");
    assert_non_null(end);
    run_query(page, at, end);
  }
  assert_true(count >= 8);
}

/* A table or view and one of its columns. */
static bool check_column(void *context, const struct wo_store_value *values, size_t count) {
  const struct page *const page = context;
  char name[100];
  assert_int_equal(count, 2);
  for (size_t i = 0; i < 2; i++) {
    snprintf(name, sizeof name, "`%.*s`", WO_SHOWN(values[i].text));
    const bool is_heading = wo_view_is(values[i].text, "job");
    if (!is_heading && !strstr(page->text, name))
      fail_msg("docs/store.md does not have %s of %.*s", name, WO_SHOWN(values[0].text));
  }
  return true;
}

static void test_every_column_is_there(void **state) {
  const struct page *const page = *state;
  static const char sql[] =
      "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type IN ('table', 'view')";
  struct wo_err err = {0};
  struct page copy = *page;
  if (wo_store_ask(page->store, sql, NULL, 0, check_column, &copy, &err) != WO_OK) fail_msg("%s", err.message);
}

/* The page lists the columns of views in their order, so that it is not forgotten when a view gets one more. */
static bool join_names(void *context, const struct wo_store_value *values, size_t count) {
  char *const list = context;
  const size_t len = strlen(list);
  assert_int_equal(count, 1);
  snprintf(list + len, 1000 - len, "%s`%.*s`", len > 0 ? ", " : "", WO_SHOWN(values[0].text));
  return true;
}

static void test_lists_of_columns(void **state) {
  const struct page *const page = *state;
  static const char *const names[] = {"failed_jobs", "causes",   "clusters", "users", "nodes", "file",
                                      "job_node",    "evidence", "problem",  "scan",  "meta"};
  char flat[20000];
  size_t len = 0;
  for (const char *at = page->text; *at != '\0' && len + 1 < sizeof flat; at++) {
    if (*at == '\n' && at[1] == ' ') continue; /* the indent gives one blank of two */
    if (*at == ' ' && len > 0 && flat[len - 1] == ' ') continue;
    flat[len++] = *at;
  }
  flat[len] = '\0';
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char list[1000] = "";
    const struct wo_view name = wo_view_of(names[i]);
    assert_int_equal(wo_store_ask(page->store, "SELECT name FROM pragma_table_info(?1)", &name, 1, join_names, list, NULL),
                     WO_OK);
    if (!strstr(flat, list)) fail_msg("docs/store.md does not list %s: %s", names[i], list);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_query_runs),
      cmocka_unit_test(test_every_column_is_there),
      cmocka_unit_test(test_lists_of_columns),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
