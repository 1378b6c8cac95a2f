/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in HTML: parsers/base/output/html.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "parsers/base/output/html.h"
#include "tests/support/html_page.h"

static void expect(struct wo_view text, const char *expected) {
  struct wo_text out = {0};
  wo_html_put(&out, "[", text, "]");
  if (!wo_view_is((struct wo_view){out.ptr, out.len}, expected)) fail_msg("%.*s, not %s", (int)out.len, out.ptr, expected);
  wo_text_done(&out);
}

static void test_texts(void **state) {
  (void)state;
  expect(WO_VIEW("a < b"), "[a &lt; b]");
  expect(WO_VIEW("<script>alert(\"1\")</script>"), "[&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;]");
  expect(WO_VIEW("' onload='x`&amp;"), "[&#39; onload=&#39;x&#96;&amp;amp;]");
  expect(WO_VIEW("]]>"), "[]]&gt;]");
  expect(WO_VIEW("a\0b\x1b[1m\nc"), "[a b [1m c]");
  expect(WO_VIEW("\xe2\x80\xae"
                 "fdp.exe"),
         "[\xef\xbf\xbd"
         "fdp.exe]");
  expect(WO_VIEW("\xff\xc3\xa9"), "[\xef\xbf\xbd\xc3\xa9]");
  expect((struct wo_view){0}, "[]");
}

/* The hash that other checks of pages use: the example of the standard. */
static void test_hash_itself(void **state) {
  (void)state;
  char hash[64];
  wo_page_hash("abc", 3, hash);
  assert_string_equal(hash, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

/* A page is the parts in their order, and its policy allows just these. */
static void test_page(void **state) {
  (void)state;
  char hash[64];
  wo_page_hash("p { margin: 0; }\n", 17, hash);
  const struct wo_html_part part = {.text = WO_VIEW("p { margin: 0; }\n"), .hash = hash};
  struct wo_text out = {0};
  wo_html_begin(&out, WO_VIEW("</title><b>"), &part, &part);
  wo_text_add(&out, "<p>x</p>\n");
  wo_html_end(&out, &part);
  wo_text_add_view(&out, WO_VIEW("\0"));
  assert_false(out.is_failed);
  wo_page_expect_policy(out.ptr);
  wo_page_expect_needs_nothing(out.ptr);
  const struct wo_view title = wo_page_between(out.ptr, "<title>", "</title>");
  assert_true(wo_view_is(title, "&lt;/title&gt;&lt;b&gt;"));
  wo_text_done(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_hash_itself),
                                     cmocka_unit_test(test_page)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
