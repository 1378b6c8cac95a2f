/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting of many jobs in one file: analyzer/scan/accounts.c. */
#include "analyzer/scan/accounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/text.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"

#define PIPED                                                                                                                    \
  "JobID|User|State|ExitCode\n"                                                                                                  \
  "4710|mara|COMPLETED|0:0\n"                                                                                                    \
  "4711|ravi|OUT_OF_MEMORY|0:125\n"                                                                                              \
  "4711.batch||OUT_OF_MEMORY|0:125\n"                                                                                            \
  "4712_3|ravi|FAILED|1:0\n"                                                                                                     \
  "4712_30|ravi|TIMEOUT|0:0\n"

#define COLUMNS                                                                                                                  \
  "JobID             State ExitCode \n"                                                                                          \
  "------------ ---------- -------- \n"                                                                                          \
  "4711             FAILED      1:0 \n"                                                                                          \
  "4711.batch       FAILED      1:0 \n"                                                                                          \
  "4713          COMPLETED      0:0 \n"

#define BLOCKS                                                                                                                   \
  "JobId=4720 JobName=a\n   JobState=TIMEOUT Reason=TimeLimit\n   RunTime=01:00:00\n\n"                                          \
  "JobId=4722 ArrayJobId=4720 ArrayTaskId=7 JobName=c\n   JobState=FAILED\n\n"                                                   \
  "JobId=4711 JobName=b\n   JobState=FAILED Reason=NonZeroExitCode\n\n"

struct fixture {
  char folder[256];
  struct wo_accounts *accounts;
  struct wo_arena arena;
};

static void add(struct fixture *f, const char *name, const char *content, enum wo_status expected) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  assert_true(wo_files_write(path, wo_view_of(content)));
  struct wo_err err = {0};
  assert_int_equal(wo_accounts_add(f->accounts, path, &err), expected);
}

static struct fixture begin(void) {
  struct fixture f = {0};
  assert_true(wo_files_scratch(f.folder, sizeof f.folder));
  assert_int_equal(wo_accounts_new(&f.accounts), WO_OK);
  wo_arena_init(&f.arena, 1 << 20);
  return f;
}

static void end(struct fixture *f) {
  wo_accounts_free(f->accounts);
  wo_arena_done(&f->arena);
  wo_files_remove_scratch(f->folder);
}

/* The texts of a job: "name:line\n" and the text of each. */
static void expect(struct fixture *f, const char *id, int64_t task, const char *expected) {
  struct wo_account_text texts[4];
  struct wo_text said = {0};
  const size_t count = wo_accounts_find(f->accounts, wo_view_of(id), task, &f->arena, texts, 4);
  for (size_t i = 0; i < count; i++) {
    wo_text_add(&said, "%s:%llu\n", strrchr(texts[i].path, '/') + 1, (unsigned long long)texts[i].first_line);
    wo_text_add_view(&said, texts[i].text);
  }
  wo_text_add_view(&said, (struct wo_view){"", 1});
  assert_string_equal(said.ptr, expected);
  wo_text_done(&said);
}

static void test_lines_of_a_job(void **state) {
  (void)state;
  struct fixture f = begin();
  add(&f, "a.txt", PIPED, WO_OK);
  add(&f, "b.txt", COLUMNS, WO_OK);
  add(&f, "c.txt", BLOCKS, WO_OK);
  add(&f, "d.txt", "nothing of the sort\n4711 is only a number\n", WO_OK);
  add(&f, "e.txt", "JobId=4730 JobName=x\n\nJobID|State\n4731|FAILED\n", WO_OK);
  wo_accounts_sort(f.accounts);
  expect(&f, "4730", -1, "e.txt:1\nJobId=4730 JobName=x\n"); /* the table begins below it */
  expect(&f, "4731", -1, "e.txt:3\nJobID|State\n4731|FAILED\n");
  expect(&f, "4711", -1,
         "a.txt:2\nJobID|User|State|ExitCode\n4711|ravi|OUT_OF_MEMORY|0:125\n4711.batch||OUT_OF_MEMORY|0:125\n"
         "b.txt:1\nJobID             State ExitCode \n------------ ---------- -------- \n4711             FAILED      1:0 \n"
         "4711.batch       FAILED      1:0 \n"
         "c.txt:8\nJobId=4711 JobName=b\n   JobState=FAILED Reason=NonZeroExitCode\n");
  expect(&f, "4712", 3, "a.txt:4\nJobID|User|State|ExitCode\n4712_3|ravi|FAILED|1:0\n");
  expect(&f, "4720", 7, "c.txt:5\nJobId=4722 ArrayJobId=4720 ArrayTaskId=7 JobName=c\n   JobState=FAILED\n");
  expect(&f, "4712", -1, "");
  expect(&f, "471", -1, "");
  expect(&f, "", -1, "");
  expect(&f, "4720", -1, "c.txt:1\nJobId=4720 JobName=a\n   JobState=TIMEOUT Reason=TimeLimit\n   RunTime=01:00:00\n");
  end(&f);
}

/* A file that has become shorter since gives nothing, and one that is gone neither. */
static void test_files_that_change(void **state) {
  (void)state;
  struct fixture f = begin();
  char path[400];
  add(&f, "a.txt", PIPED, WO_OK);
  add(&f, "b.txt", COLUMNS, WO_OK);
  wo_accounts_sort(f.accounts);
  snprintf(path, sizeof path, "%s/a.txt", f.folder);
  assert_true(wo_files_write(path, WO_VIEW("JobID|State\n")));
  snprintf(path, sizeof path, "%s/b.txt", f.folder);
  assert_int_equal(remove(path), 0);
  expect(&f, "4711", -1, "");
  end(&f);
}

/* Any bytes: a line without an end that is longer than the buffer, NUL bytes, headers again and again. */
static void test_odd_bytes(void **state) {
  (void)state;
  struct fixture f = begin();
  struct wo_text text = {0};
  wo_text_add(&text, "JobID|State\n4711|FAILED\nJobID|State\n4712|FAILED\n");
  wo_text_repeat(&text, '9', 600 * 1024);
  wo_text_repeat(&text, '\0', 100);
  wo_text_add(&text, "\n4713|FAILED");
  char path[400];
  snprintf(path, sizeof path, "%s/a.txt", f.folder);
  assert_true(wo_files_write(path, (struct wo_view){text.ptr, text.len}));
  wo_text_done(&text);
  assert_int_equal(wo_accounts_add(f.accounts, path, NULL), WO_OK);
  wo_accounts_sort(f.accounts);
  expect(&f, "4711", -1, "a.txt:1\nJobID|State\n4711|FAILED\n");
  expect(&f, "4712", -1, "a.txt:3\nJobID|State\n4712|FAILED\n");
  struct wo_err err = {0};
  snprintf(path, sizeof path, "%s/gone.txt", f.folder);
  assert_int_equal(wo_accounts_add(f.accounts, path, &err), WO_E_IO);
  end(&f);
}

static void test_without_memory(void **state) {
  (void)state;
  bool is_hit = true;
  for (long n = 1; is_hit; n++) {
    struct fixture f = {0};
    assert_true(wo_files_scratch(f.folder, sizeof f.folder));
    char path[400];
    snprintf(path, sizeof path, "%s/b.txt", f.folder);
    assert_true(wo_files_write(path, WO_VIEW(COLUMNS)));
    wo_fail_alloc_from(n);
    enum wo_status status = wo_accounts_new(&f.accounts);
    if (status == WO_OK) status = wo_accounts_add(f.accounts, path, NULL);
    is_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    assert_true((status == WO_OK) == !is_hit);
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines_of_a_job),
      cmocka_unit_test(test_files_that_change),
      cmocka_unit_test(test_odd_bytes),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
