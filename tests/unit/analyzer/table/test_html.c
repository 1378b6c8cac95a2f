/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML page as a browser takes it: analyzer/table/html_*.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/table/html_internal.h"
#include "parsers/base/limits.h"
#include "tests/support/fleet/fleet_rows.h"
#include "tests/support/html_page.h"

/* ---- The page ---- */

static bool append(void *context, struct wo_text *out) {
  wo_text_add_view(context, (struct wo_view){out->ptr, out->len});
  out->len = 0;
  return true;
}

/* The page of a store, with a NUL, to be released with free. */
static char *page_of(struct wo_store *store) {
  struct wo_arena arena;
  struct wo_fleet fleet;
  struct wo_err err;
  struct wo_text out = {0}, all = {0};
  const struct wo_fleet_options options = {.filter = wo_fleet_all(), .rows = 50};
  const struct wo_table_options table = {.format = WO_TABLE_HTML, .roots = WO_VIEW("<logs>")};
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  assert_int_equal(wo_fleet_make(store, &options, &arena, &fleet, &err), WO_OK);
  assert_int_equal(wo_table_write(store, &fleet, &table, &out, append, &all, NULL, &err), WO_OK);
  append(&all, &out);
  wo_text_add_view(&all, (struct wo_view){"", 1});
  wo_text_done(&out);
  wo_arena_done(&arena);
  assert_false(all.is_failed);
  return all.ptr;
}

static struct wo_store *store_of_everything(void) {
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  for (int i = 0; i < 30; i++) {
    wo_fleet_putf(store,
                  "path=a/%d&<\"'.out job_id=%d name=x user=u<%d> nodes=n1 node=n%d family=not_memory cause=c&%d is_failed=%d "
                  "outcome=success gpu_s=%d end_ns=%d000000000 work=w "
                  "settings=a=%d;b&=<x> fix=f change=a+<b> title=<script>alert(1)</script> evidence=</pre> place=%%s",
                  i, i, i % 3, i % 2, i % 4, i % 2, i * 100, 1700000000 + i * 40000, i % 2);
  }
  return store;
}

/* Whatever the texts of the jobs are. */
static void test_page_is_safe(void **state) {
  (void)state;
  struct wo_store *const store = store_of_everything();
  char *const page = page_of(store);
  wo_page_expect_policy(page);
  wo_page_expect_needs_nothing(page);
  wo_page_expect_well_formed(page);
  wo_page_expect_inert(page);
  free(page);
  wo_store_close(store);
}

/* Each failed job has a row, a page, and a link from the one to the other; links lead somewhere. */
static void test_links_lead_somewhere(void **state) {
  (void)state;
  struct wo_store *const store = store_of_everything();
  char *const page = page_of(store);
  size_t pages = 0;
  for (const char *at = page; (at = strstr(at, "<section class=\"job\" id=\"job-")) != NULL; at++) pages++;
  assert_int_equal(pages, 15);
  wo_page_expect_links(page, 41);
  free(page);
  wo_store_close(store);
}

/* More jobs than pages: the page says how many have one, and the rows beyond have no link. */
static void test_caps_are_said(void **state) {
  (void)state;
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  struct wo_err err;
  const size_t jobs = WO_LIMIT_HTML_ROWS + 10;
  assert_int_equal(wo_store_begin(store, &err), WO_OK);
  for (size_t i = 0; i < jobs; i++) wo_fleet_putf(store, "path=%zu is_failed=1 gpu_s=%zu", i, i);
  assert_int_equal(wo_store_commit(store, &err), WO_OK);
  char *const page = page_of(store);
  size_t pages = 0, rows = 0, links = 0;
  for (const char *at = page; (at = strstr(at, "<section class=\"job\" id=\"job-")) != NULL; at++) pages++;
  for (const char *at = strstr(page, "id=\"job-table\""); (at = strstr(at, "\n<tr><td>")) != NULL; at++) rows++;
  for (const char *at = strstr(page, "id=\"job-table\""); (at = strstr(at, "<tr><td><a href=\"#job-")) != NULL; at++) links++;
  assert_int_equal(pages, WO_LIMIT_HTML_PAGES);
  assert_int_equal(rows, WO_LIMIT_HTML_ROWS);
  assert_int_equal(links, WO_LIMIT_HTML_PAGES);
  assert_non_null(strstr(page, "The table has the 5000 failed jobs that cost most, of 5 010"));
  assert_non_null(strstr(page, "The 2000 jobs that cost most have a page of their own"));
  free(page);
  wo_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_page_is_safe),
      cmocka_unit_test(test_links_lead_somewhere),
      cmocka_unit_test(test_caps_are_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
