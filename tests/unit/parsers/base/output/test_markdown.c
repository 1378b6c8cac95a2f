/* SPDX-License-Identifier: Apache-2.0 */
/* Texts from outside in Markdown: parsers/base/output/markdown.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/output/markdown.h"

static void expect_text(const char *expected, struct wo_view text) {
  struct wo_text out = {0};
  wo_markdown_text(&out, text);
  if (!wo_view_is((struct wo_view){out.ptr, out.len}, expected)) fail_msg("%.*s, not %s", (int)out.len, out.ptr, expected);
  wo_text_done(&out);
}

static void expect_code(const char *expected, const char *text, bool is_in_cell) {
  struct wo_text out = {0};
  wo_markdown_code(&out, wo_view_of(text), is_in_cell);
  if (!wo_view_is((struct wo_view){out.ptr, out.len}, expected)) fail_msg("%.*s, not %s", (int)out.len, out.ptr, expected);
  wo_text_done(&out);
}

static void expect_block(const char *expected, struct wo_view lines) {
  struct wo_text out = {0};
  wo_markdown_block(&out, "text", lines);
  if (!wo_view_is((struct wo_view){out.ptr, out.len}, expected)) fail_msg("%.*s, not %s", (int)out.len, out.ptr, expected);
  wo_text_done(&out);
}

/* Nothing is lost, and what people write in reports stays as it is. */
static void test_words(void **state) {
  (void)state;
  expect_text("micro-batch 2 -> 1 (5 to 15 % slower)", WO_VIEW("micro-batch 2 -> 1 (5 to 15 % slower)"));
  expect_text("2.32 GiB: max_split_size_mb", WO_VIEW("2.32 GiB: max_split_size_mb"));
  expect_text("", WO_VIEW("  "));
}

static void test_markup(void **state) {
  (void)state;
  expect_text("&lt;b>&amp;lt; \\*x\\* \\_y\\_ \\`z\\` \\[a\\](b) c \\| d \\\\ \\~e\\~",
              WO_VIEW("<b>&lt; *x* _y_ `z` [a](b) c | d \\ ~e~"));
  expect_text("&lt;/details>&lt;script>", WO_VIEW("</details><script>"));
  expect_text("a b", WO_VIEW("a\nb"));
  expect_text("a \xef\xbf\xbd"
              "b \\[2J",
              WO_VIEW("a \xe2\x80\xae"
                      "b\x1b[2J"));
  expect_text("a  b", WO_VIEW("a\0 b"));
}

/* Headings, quotes, items: at the front only. */
static void test_openings(void **state) {
  (void)state;
  expect_text("\\# x # y", WO_VIEW("# x # y"));
  expect_text("\\- x - y", WO_VIEW("- x - y"));
  expect_text("\\> x", WO_VIEW("> x"));
  expect_text("1\\. x", WO_VIEW("1. x"));
  expect_text("12\\) x", WO_VIEW("12) x"));
  expect_text("1.5 x", WO_VIEW("1.5 x"));
}

/* People and tickets are not called, and no address becomes a link. */
static void test_references(void **state) {
  (void)state;
  expect_text("by @&#8203;root, a@&#8203;b.c", WO_VIEW("by @root, a@b.c"));
  expect_text("see a#&#8203;12 !&#8203;3 $&#8203;x$", WO_VIEW("see a#12 !3 $x$"));
  expect_text("http:&#8203;//x.y w&#8203;ww.x.y", WO_VIEW("http://x.y www.x.y"));
}

/* No run of backticks ends the code. */
static void test_code(void **state) {
  (void)state;
  expect_code("`a|b`", "a|b", false);
  expect_code("`a\\|b`", "a|b", true);
  expect_code("``a`b``", "a`b", false);
  expect_code("`` `a ``", "`a", false);
  expect_code("```` a```b` ````", "a```b`", false);
  expect_code("", "", false);
  expect_code("`<b>`", "<b>", false);
}

static void test_blocks(void **state) {
  (void)state;
  expect_block("```text\na\nb\n```\n", WO_VIEW("a\nb"));
  expect_block("````text\n```\n</details>\n````\n", WO_VIEW("```\n</details>"));
  expect_block("``````text\n a `````\n``````\n", WO_VIEW(" a `````"));
  expect_block("```text\na \xef\xbf\xbd[1m\n```\n", WO_VIEW("a \xe2\x80\xae[1m"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),    cmocka_unit_test(test_markup),
                                     cmocka_unit_test(test_openings), cmocka_unit_test(test_references),
                                     cmocka_unit_test(test_code),     cmocka_unit_test(test_blocks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
