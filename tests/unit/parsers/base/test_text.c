/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text, columns, and lines: analyzer/text.c and the page it is laid out on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/output/page.h"
#include "parsers/base/limits.h"
#include "tests/support/failing_alloc.h"

static struct wo_view view_of_text(const struct wo_text *text) {
  return (struct wo_view){text->ptr, text->len};
}

static void assert_view(struct wo_view view, const char *expected) {
  assert_int_equal(view.len, strlen(expected));
  if (view.len > 0) assert_memory_equal(view.ptr, expected, view.len);
}

/* ---- Growing ---- */

static void test_adds_what_it_is_given(void **state) {
  (void)state;
  struct wo_text text = {0};
  wo_text_add(&text, "%s has %d", "GPU", 1);
  wo_text_add_view(&text, WO_VIEW(", free"));
  wo_text_repeat(&text, '.', 3);
  wo_text_repeat(&text, 'x', 0);
  wo_text_add_view(&text, (struct wo_view){NULL, 0});
  assert_string_equal(text.ptr, "GPU has 1, free...");
  assert_int_equal(text.len, strlen(text.ptr));
  assert_false(text.is_failed);
  wo_text_done(&text);
  assert_null(text.ptr);
  wo_text_done(NULL);
}

static void test_keeps_nul_bytes_and_grows_over_many_sizes(void **state) {
  (void)state;
  struct wo_text text = {0};
  for (size_t i = 0; i < 3000; i++) {
    wo_text_add_view(&text, (struct wo_view){"ab\0c", 4});
    wo_text_add(&text, "%05zu", i);
  }
  assert_int_equal(text.len, 3000 * 9);
  assert_memory_equal(text.ptr + 2999 * 9, "ab\0c02999", 9);
  assert_int_equal(text.ptr[text.len], '\0');
  wo_text_done(&text);
}

static void test_out_of_memory_keeps_what_fitted(void **state) {
  (void)state;
  struct wo_text text = {0};
  wo_text_add(&text, "kept");
  wo_fail_alloc_at(1);
  wo_text_repeat(&text, 'x', 100000);
  wo_fail_alloc_off();
  assert_true(wo_fail_alloc_hit());
  assert_true(text.is_failed);
  assert_view(view_of_text(&text), "kept");
  wo_text_add(&text, "no more: a hole would read as if it were whole");
  assert_view(view_of_text(&text), "kept");
  wo_text_done(&text);
}

static void test_size_has_a_cap(void **state) {
  (void)state;
  struct wo_text text = {0};
  wo_text_add(&text, "kept");
  wo_text_repeat(&text, 'x', 4 * WO_LIMIT_REPORT_BYTES);
  assert_true(text.is_failed);
  assert_int_equal(text.len, 4);
  wo_text_done(&text);
  wo_text_repeat(&text, 'x', SIZE_MAX);
  assert_true(text.is_failed);
  assert_int_equal(text.len, 0);
  wo_text_done(&text);
}

/* ---- Columns ---- */

static void test_counts_columns(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t columns;
  } rows[] = {
      {"", 0},
      {"plain", 5},
      {"Gr\xC3\xB6\xC3\x9F"
       "e",
       5},                             /* two-byte letters */
      {"e\xCC\x81", 1},                /* combining acute */
      {"\xE5\x86\x85\xE5\xAD\x98", 4}, /* CJK */
      {"\xEA\xB0\x80", 2},             /* Hangul */
      {"\xEF\xBC\xA1", 2},             /* full-width A */
      {"\xF0\x9F\x98\x80", 2},         /* emoji */
      {"\xE2\x96\x88\xE2\x96\x91", 2}, /* block characters */
      {"a\xE2\x80\x8B"
       "b",
       2},             /* zero width space */
      {"\xFF\xFE", 2}, /* no UTF-8: a column for each byte */
      {"\xE5\x86", 2}, /* cut in the middle */
      {"\xC0\xAF", 2}, /* over-long */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(wo_text_columns(wo_view_of(rows[i].text)), rows[i].columns);
}

static void test_characters_are_never_read_past_the_end(void **state) {
  (void)state;
  for (unsigned lead = 0; lead < 256; lead++) {
    char *const one = malloc(1); /* exact, so that the sanitizer sees a byte too many */
    assert_non_null(one);
    *one = (char)lead;
    size_t columns = 9;
    assert_int_equal(wo_text_char((struct wo_view){one, 1}, &columns), 1);
    assert_true(columns <= 1);
    free(one);
  }
}

/* ---- Lines ---- */

static void test_takes_lines_at_blanks(void **state) {
  (void)state;
  struct wo_view rest = WO_VIEW("one two   three");
  assert_view(wo_text_take_line(&rest, 8), "one two");
  assert_view(wo_text_take_line(&rest, 8), "three");
  assert_int_equal(rest.len, 0);
}

static void test_takes_a_whole_line_that_just_fits(void **state) {
  (void)state;
  struct wo_view rest = WO_VIEW("one two");
  assert_view(wo_text_take_line(&rest, 7), "one two");
  assert_int_equal(rest.len, 0);
  rest = WO_VIEW("one two three");
  assert_view(wo_text_take_line(&rest, 7), "one two");
  assert_view(rest, "three");
}

static void test_cuts_long_words(void **state) {
  (void)state;
  struct wo_view rest = WO_VIEW("abcdefghij");
  assert_view(wo_text_take_line(&rest, 4), "abcd");
  rest = WO_VIEW("/scratch/user/log.err");
  assert_view(wo_text_take_line(&rest, 16), "/scratch/user/");
  assert_view(rest, "log.err");
  rest = WO_VIEW("\xE5\x86\x85\xE5\xAD\x98\xE5\x86\x85");
  assert_view(wo_text_take_line(&rest, 3), "\xE5\x86\x85"); /* never half a wide character */
}

static void test_lines_always_advance(void **state) {
  (void)state;
  char bytes[257];
  for (size_t i = 0; i < 256; i++) bytes[i] = (char)i;
  struct wo_view rest = {bytes, 256};
  while (rest.len > 0) {
    const size_t before = rest.len;
    const struct wo_view line = wo_text_take_line(&rest, 2);
    assert_true(wo_text_columns(line) <= 2);
    assert_true(rest.len < before);
  }
}

/* ---- Pages ---- */

static void test_flow_hangs_and_moves_words(void **state) {
  (void)state;
  struct wo_text text = {0};
  const struct wo_page page = {.out = &text, .style = {.width = 12}};
  wo_text_add(&text, "label: ");
  const size_t column = wo_page_flow(&page, 7, 2, WO_TINT_PLAIN, WO_VIEW("seven eleven x"));
  assert_string_equal(text.ptr, "label: seven\n  eleven x");
  assert_int_equal(column, 10);
  wo_text_done(&text);
}

static void test_breaks_leave_no_trailing_blanks(void **state) {
  (void)state;
  struct wo_text text = {0};
  const struct wo_page page = {.out = &text, .style = {.width = 12}};
  wo_text_add(&text, "label:    ");
  wo_page_flow(&page, 10, 2, WO_TINT_PLAIN, WO_VIEW("long-word"));
  assert_string_equal(text.ptr, "label:\n  long-word");
  wo_text_done(&text);
}

static void test_items_move_as_a_whole(void **state) {
  (void)state;
  struct wo_text text = {0};
  const struct wo_page page = {.out = &text, .style = {.width = 14}};
  size_t column = wo_page_item(&page, 0, 0, WO_TINT_PLAIN, WO_VIEW("rank 3"));
  column = wo_page_item(&page, column, 0, WO_TINT_PLAIN, WO_VIEW("gpu12"));
  column = wo_page_item(&page, column, 0, WO_TINT_PLAIN, (struct wo_view){NULL, 0});
  column = wo_page_item(&page, column, 0, WO_TINT_PLAIN, WO_VIEW("GPU 1 there"));
  assert_string_equal(text.ptr, "rank 3  gpu12\nGPU 1 there");
  assert_int_equal(column, 11);
  wo_text_done(&text);
}

static void test_tints_do_not_span_lines(void **state) {
  (void)state;
  struct wo_text text = {0};
  const struct wo_page page = {.out = &text, .style = {.width = 8, .use_color = true}};
  wo_page_flow(&page, 0, 0, WO_TINT_FIX, WO_VIEW("one two three"));
  assert_string_equal(text.ptr, "\033[32mone two\033[0m\n\033[32mthree\033[0m");
  wo_text_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_adds_what_it_is_given),
      cmocka_unit_test(test_keeps_nul_bytes_and_grows_over_many_sizes),
      cmocka_unit_test(test_out_of_memory_keeps_what_fitted),
      cmocka_unit_test(test_size_has_a_cap),
      cmocka_unit_test(test_counts_columns),
      cmocka_unit_test(test_characters_are_never_read_past_the_end),
      cmocka_unit_test(test_takes_lines_at_blanks),
      cmocka_unit_test(test_takes_a_whole_line_that_just_fits),
      cmocka_unit_test(test_cuts_long_words),
      cmocka_unit_test(test_lines_always_advance),
      cmocka_unit_test(test_flow_hangs_and_moves_words),
      cmocka_unit_test(test_breaks_leave_no_trailing_blanks),
      cmocka_unit_test(test_items_move_as_a_whole),
      cmocka_unit_test(test_tints_do_not_span_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
