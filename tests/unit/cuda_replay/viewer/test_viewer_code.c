/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of the page's data: what the script reads is what was written, and no text can leave its string. */
#include "cuda_replay/viewer/viewer_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The reader of viewer.js, over integers. */
static uint64_t read_u64(const char **at) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 5) {
    const char *const place = strchr(digits, **at);
    assert_true(place != NULL && **at != '\0' && shift < 65);
    (*at)++;
    value |= ((uint64_t)(place - digits) & 31) << shift;
    if (((place - digits) & 32) == 0) return value;
  }
}

static int64_t read_i64(const char **at) {
  const uint64_t value = read_u64(at);
  return (int64_t)(value % 2 == 0 ? value / 2 : ~(value / 2));
}

static void read_row(const char *at, uint64_t *values, size_t count) {
  uint64_t last = 0;
  for (size_t i = 0; i < count;) {
    const int64_t step = read_i64(&at);
    uint64_t equal = step == 0 ? read_u64(&at) + 1 : 1;
    last += (uint64_t)step;
    for (; equal > 0; equal--) {
      assert_true(i < count);
      values[i++] = last;
    }
  }
  assert_int_equal(*at, '\0');
}

static void numbers_come_back(void **state) {
  (void)state;
  static const uint64_t numbers[] = {0, 1, 31, 32, 33, 1023, 1024, UINT32_MAX, UINT64_C(1) << 52, INT64_MAX, UINT64_MAX};
  struct wo_text text = {0};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    wo_code_u64(&text, numbers[i]);
    wo_code_i64(&text, (int64_t)numbers[i]);
    wo_code_i64(&text, (int64_t)(0 - numbers[i]));
  }
  wo_code_i64(&text, INT64_MIN);
  const char *at = text.ptr;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    assert_true(read_u64(&at) == numbers[i]);
    assert_true(read_i64(&at) == (int64_t)numbers[i]);
    assert_true(read_i64(&at) == (int64_t)(0 - numbers[i]));
  }
  assert_true(read_i64(&at) == INT64_MIN);
  assert_int_equal(*at, '\0');
  wo_text_done(&text);
}

static void small_numbers_are_short(void **state) {
  (void)state;
  struct wo_text text = {0};
  wo_code_u64(&text, 31);
  assert_int_equal(text.len, 1);
  wo_code_i64(&text, -16);
  assert_int_equal(text.len, 2);
  wo_text_done(&text);
}

static void check_row(const uint64_t *values, size_t count, size_t most_bytes) {
  struct wo_text text = {0};
  struct wo_code_row row = {0};
  uint64_t back[64];
  assert_true(count <= 64);
  for (size_t i = 0; i < count; i++) wo_code_row_add(&text, &row, values[i]);
  wo_code_row_end(&text, &row);
  read_row(text.len > 0 ? text.ptr : "", back, count);
  for (size_t i = 0; i < count; i++) assert_true(back[i] == values[i]);
  assert_true(text.len <= most_bytes);
  wo_text_done(&text);
}

static void rows_come_back(void **state) {
  (void)state;
  check_row((const uint64_t[]){0}, 0, 0);
  check_row((const uint64_t[]){0, 0, 0, 0}, 4, 2);
  check_row((const uint64_t[]){5, 5, 5, 7, 0, 0, 1}, 7, 9);
  check_row((const uint64_t[]){UINT64_MAX, 0, 1, UINT64_MAX, UINT64_MAX}, 5, 40);
  uint64_t equal[64];
  for (size_t i = 0; i < 64; i++) equal[i] = 9;
  check_row(equal, 64, 4);
}

static void check_text(struct wo_view raw, size_t most, bool is_end, const char *expected) {
  struct wo_text text = {0};
  wo_code_text(&text, raw, most, is_end);
  assert_string_equal(text.len > 0 ? text.ptr : "", expected);
  wo_text_done(&text);
}

static void texts_stay_inside_of_their_string(void **state) {
  (void)state;
  check_text(WO_VIEW("</script><!--"), 99, false, "\\u003c/script\\u003e\\u003c!--");
  check_text(WO_VIEW("a\"b\\c'&d"), 99, false, "a\\\"b\\\\c\\u0027\\u0026d");
  check_text(WO_VIEW("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae"), 99, false, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  check_text(WO_VIEW("\n\t\x01\x7f"), 99, false, "    ");
  check_text(WO_VIEW("\xff\xc3"), 99, false, "\xef\xbf\xbd\xef\xbf\xbd");
  check_text(WO_VIEW(""), 99, false, "");
}

static void long_texts_are_cut(void **state) {
  (void)state;
  check_text(WO_VIEW("abcdef"), 6, false, "abcdef");
  check_text(WO_VIEW("abcdefg"), 6, false, "abcde\xe2\x80\xa6");
  check_text(WO_VIEW("abcdefg"), 6, true,
             "\xe2\x80\xa6"
             "cdefg");
  check_text(WO_VIEW("\xc3\xa4\xc3\xb6\xc3\xbc"), 3, true, "\xc3\xa4\xc3\xb6\xc3\xbc");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_come_back),  cmocka_unit_test(small_numbers_are_short),
      cmocka_unit_test(rows_come_back),     cmocka_unit_test(texts_stay_inside_of_their_string),
      cmocka_unit_test(long_texts_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
