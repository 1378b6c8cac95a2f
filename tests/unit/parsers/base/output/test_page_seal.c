/* SPDX-License-Identifier: Apache-2.0 */
/* The seal of finished texts: what it replaces, and what it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/output/page.h"
#include "tests/support/failing_alloc.h"

#define BAD "\xef\xbf\xbd"

static void check(const char *in, bool use_color, const char *out) {
  struct wo_text text = {0};
  wo_text_add(&text, "%s", in);
  wo_page_seal(&text, use_color);
  assert_string_equal(text.ptr, out);
  wo_text_done(&text);
}

static void test_seal(void **state) {
  (void)state;
  check("plain\n\tlines \xc3\xa9\n", false, "plain\n\tlines \xc3\xa9\n");
  check("a\x1b[31mb\r\x07\n\xe2\x80\xae\xff", false, "a [31mb  \n" BAD BAD);
  check("\x1b[1;31mred\x1b[0m \x1b[36mx\x1b[2my\x1b[1mz", true, "\x1b[1;31mred\x1b[0m \x1b[36mx\x1b[2my\x1b[1mz");
  check("\x1b[1;31mred\x1b[0m", false, " [1;31mred [0m");
  /* Other codes are not ours: hiding, the cursor, titles, colours that no tint has. */
  check("\x1b[8m\x1b[2J\x1b[1;8m\x1b]0;t\x07\x1b[38m\x1b[37m\x1b[3m\x1b", true, " [8m [2J [1;8m ]0;t  [38m [37m [3m ");
}

static void test_exact_texts_stay(void **state) {
  (void)state;
  struct wo_text text = {.is_exact = true};
  wo_text_add(&text, "+\x1b[2J\xff");
  wo_page_seal(&text, false);
  assert_string_equal(text.ptr, "+\x1b[2J\xff");
  wo_text_done(&text);
  wo_page_seal(&text, false);
  assert_int_equal(text.len, 0);
}

static void test_failing_allocations(void **state) {
  (void)state;
  struct wo_text text = {0};
  wo_text_add(&text, "a\x1b");
  wo_fail_alloc_at(1);
  wo_page_seal(&text, false);
  wo_fail_alloc_off();
  assert_true(text.is_failed);
  wo_text_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_seal),
      cmocka_unit_test(test_exact_texts_stay),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
