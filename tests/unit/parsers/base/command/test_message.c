/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to standard error: one line each, with the place that is known, and without control characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/command/message.h"

static void assert_text(struct wo_text *text, const char *expected) {
  wo_text_add(text, "%c", '\0');
  assert_string_equal(text->ptr, expected);
  text->len = 0;
}

static void test_places(void **state) {
  (void)state;
  struct wo_text errors = {0};
  struct wo_err err = {0};
  wo_message(&errors, (struct wo_view){0}, "%d of %d", 1, 2);
  assert_text(&errors, "whyoom: 1 of 2\n");
  wo_message(&errors, WO_VIEW("a.log"), "cannot be read");
  assert_text(&errors, "whyoom: a.log: cannot be read\n");
  wo_err_set(&err, WO_E_SYNTAX, "odd");
  wo_message_error(&errors, WO_VIEW("a.log"), &err);
  assert_text(&errors, "whyoom: a.log: odd\n");
  wo_err_place(&err, "r.json", 12, 0, 0);
  wo_message_error(&errors, WO_VIEW("a.log"), &err);
  assert_text(&errors, "whyoom: r.json:12: odd\n");
  wo_err_place(&err, "r.json", 12, 3, 0);
  wo_message_error(&errors, (struct wo_view){0}, &err);
  assert_text(&errors, "whyoom: r.json:12:3: odd\n");
  wo_text_done(&errors);
}

/* Memory that is out has a status and no words. */
static void test_no_words(void **state) {
  (void)state;
  struct wo_text errors = {0};
  const struct wo_err err = {.code = WO_E_NOMEM};
  wo_message_error(&errors, (struct wo_view){0}, &err);
  assert_text(&errors, "whyoom: out of memory in whyoom itself\n");
  wo_text_done(&errors);
}

/* Names of files and values of options come from elsewhere. */
static void test_control_characters(void **state) {
  (void)state;
  struct wo_text errors = {0};
  wo_message(&errors, WO_VIEW("a\x1b[31m\nb"), "not '%s'", "c\rd\xff");
  assert_text(&errors, "whyoom: a [31m b: not 'c d\xef\xbf\xbd'\n");
  wo_text_done(&errors);
}

static void test_long_lines_are_cut(void **state) {
  (void)state;
  static char long_name[5000];
  struct wo_text errors = {0};
  memset(long_name, 'x', sizeof long_name - 1);
  wo_message(&errors, (struct wo_view){0}, "%s", long_name);
  assert_true(errors.len > 2000 && errors.len < 2100 && errors.ptr[errors.len - 1] == '\n');
  wo_text_done(&errors);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_no_words),
      cmocka_unit_test(test_control_characters),
      cmocka_unit_test(test_long_lines_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
