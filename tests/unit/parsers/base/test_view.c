/* SPDX-License-Identifier: Apache-2.0 */
/* Views: cutting stays inside, searching finds what a slow search finds, classes are ASCII. */
#include "parsers/base/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_view(struct wo_view view, const char *want) {
  assert_int_equal(view.len, strlen(want));
  if (view.len > 0) assert_memory_equal(view.ptr, want, view.len);
}

static const struct wo_view none = {NULL, 0};

static void of_and_literal(void **state) {
  (void)state;
  assert_view(wo_view_of("abc"), "abc");
  assert_view(wo_view_of(""), "");
  assert_view(wo_view_of(NULL), "");
  assert_int_equal(WO_VIEW("a\0b").len, 3);
}

static void sub_and_skip_are_clamped(void **state) {
  (void)state;
  static const struct {
    size_t start, end;
    const char *want;
  } rows[] = {{0, 5, "hello"}, {1, 3, "el"}, {1, 99, "ello"},        {9, 99, ""},      {3, 1, ""},
              {5, 5, ""},      {0, 0, ""},   {0, SIZE_MAX, "hello"}, {SIZE_MAX, 0, ""}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_view(wo_view_sub(wo_view_of("hello"), rows[i].start, rows[i].end), rows[i].want);
  }
  assert_view(wo_view_skip(wo_view_of("hello"), 2), "llo");
  assert_view(wo_view_skip(wo_view_of("hello"), 99), "");
  assert_view(wo_view_skip(none, 3), "");
}

static void trim(void **state) {
  (void)state;
  static const char *const rows[][3] = {{" a b ", "a b", "a b "}, {"\t\r\n\v\fx\r\n", "x", "x\r\n"},
                                        {"   ", "", ""},          {"", "", ""},
                                        {"x", "x", "x"},          {"\xa0x", "\xa0x", "\xa0x"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_view(wo_view_trim(wo_view_of(rows[i][0])), rows[i][1]);
    assert_view(wo_view_trim_start(wo_view_of(rows[i][0])), rows[i][2]);
  }
  assert_view(wo_view_trim(none), "");
}

static void equality(void **state) {
  (void)state;
  assert_true(wo_view_equal(none, wo_view_of("")));
  assert_true(wo_view_equal(WO_VIEW("a\0b"), WO_VIEW("a\0b")));
  assert_false(wo_view_equal(WO_VIEW("a\0b"), WO_VIEW("a\0c")));
  assert_true(wo_view_is(wo_view_of("abc"), "abc"));
  assert_false(wo_view_is(wo_view_of("abc"), "ab"));
  assert_true(wo_view_is_nocase(wo_view_of("aBc"), "AbC"));
  assert_false(wo_view_is_nocase(wo_view_of("abcd"), "AbC"));
}

static void prefixes_and_suffixes(void **state) {
  (void)state;
  const struct wo_view text = wo_view_of("slurmstepd: error");
  assert_true(wo_view_starts(text, "slurm"));
  assert_true(wo_view_starts(text, ""));
  assert_false(wo_view_starts(text, "Slurm"));
  assert_true(wo_view_starts_nocase(text, "SLURM"));
  assert_false(wo_view_starts_nocase(wo_view_of("sl"), "SLURM"));
  assert_true(wo_view_ends(text, "error"));
  assert_true(wo_view_ends(text, ""));
  assert_false(wo_view_ends(wo_view_of("or"), "error"));
  assert_false(wo_view_starts(none, "a"));
  assert_true(wo_view_starts(none, ""));
  assert_true(wo_view_ends(none, ""));
}

static void find_rows(void **state) {
  (void)state;
  static const struct {
    const char *text, *needle;
    size_t from, want;
  } rows[] = {{"abcabc", "abc", 0, 0},
              {"abcabc", "abc", 1, 3},
              {"abcabc", "abc", 4, WO_NOT_FOUND},
              {"aaab", "aab", 0, 1},
              {"abc", "", 0, 0},
              {"abc", "", 3, 3},
              {"abc", "", 4, WO_NOT_FOUND},
              {"", "", 0, 0},
              {"", "a", 0, WO_NOT_FOUND},
              {"abc", "abcd", 0, WO_NOT_FOUND},
              {"abc", "c", 2, 2},
              {"abc", "c", SIZE_MAX, WO_NOT_FOUND}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(wo_view_find(wo_view_of(rows[i].text), wo_view_of(rows[i].needle), rows[i].from), rows[i].want);
  }
  assert_int_equal(wo_view_find(none, none, 0), 0);
  assert_int_equal(wo_view_find(WO_VIEW("a\0b\0c"), WO_VIEW("\0c"), 0), 3);
}

static void find_last_rows(void **state) {
  (void)state;
  static const struct {
    const char *text, *needle;
    size_t before, want;
  } rows[] = {
      {"abcabc", "abc", 6, 3}, {"abcabc", "abc", SIZE_MAX, 3}, {"abcabc", "abc", 5, 0}, {"abcabc", "abc", 2, WO_NOT_FOUND},
      {"abc", "", 3, 3},       {"abc", "x", 3, WO_NOT_FOUND},  {"", "", 0, 0},          {"", "a", 9, WO_NOT_FOUND}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(wo_view_find_last(wo_view_of(rows[i].text), wo_view_of(rows[i].needle), rows[i].before), rows[i].want);
  }
  assert_int_equal(wo_view_find_last(none, none, 5), 0);
}

/* The text of a number in base 2 with letters a and b: all short texts over two letters. */
static size_t letters_of(unsigned number, size_t len, char *buf) {
  for (size_t i = 0; i < len; i++) buf[i] = (number >> i) & 1 ? 'a' : 'b';
  return len;
}

static bool stands_at(struct wo_view text, struct wo_view needle, size_t at) {
  return wo_view_equal(wo_view_sub(text, at, at + needle.len), needle);
}

/* Both searches against the definition, for every text of seven letters and needle of up to three. */
static void find_agrees_with_the_definition(void **state) {
  (void)state;
  char text_buf[7];
  char needle_buf[3];
  for (unsigned t = 0; t < 128; t++) {
    const struct wo_view text = {text_buf, letters_of(t, 7, text_buf)};
    for (unsigned n = 0; n < 24; n++) {
      const struct wo_view needle = {needle_buf, letters_of(n, n / 8 + 1, needle_buf)};
      const size_t first = wo_view_find(text, needle, 0);
      const size_t last = wo_view_find_last(text, needle, text.len);
      for (size_t at = 0; at + needle.len <= text.len; at++) {
        if (at < first || at > last) assert_false(stands_at(text, needle, at));
      }
      assert_true((first == WO_NOT_FOUND) == (last == WO_NOT_FOUND));
      if (first != WO_NOT_FOUND) assert_true(stands_at(text, needle, first) && stands_at(text, needle, last));
    }
  }
}

static void has(void **state) {
  (void)state;
  assert_true(wo_view_has(wo_view_of("CUDA out of memory"), "out of"));
  assert_false(wo_view_has(wo_view_of("CUDA out of memory"), "Out of"));
  assert_true(wo_view_has_nocase(wo_view_of("CUDA Out Of Memory"), "out of memory"));
  assert_false(wo_view_has_nocase(wo_view_of("memor"), "memory"));
  assert_true(wo_view_has_nocase(none, ""));
  assert_false(wo_view_has_nocase(none, "a"));
}

static void find_char_and_cut(void **state) {
  (void)state;
  assert_int_equal(wo_view_find_char(wo_view_of("a=b=c"), '=', 0), 1);
  assert_int_equal(wo_view_find_char(wo_view_of("a=b=c"), '=', 2), 3);
  assert_int_equal(wo_view_find_char(wo_view_of("a=b=c"), '=', 9), WO_NOT_FOUND);
  assert_int_equal(wo_view_find_char(none, '=', 0), WO_NOT_FOUND);
  assert_int_equal(wo_view_find_char(wo_view_of("a\xff"), '\xff', 0), 1);
  struct wo_view rest = wo_view_of("a||b");
  assert_view(wo_view_cut(&rest, '|'), "a");
  assert_view(wo_view_cut(&rest, '|'), "");
  assert_view(wo_view_cut(&rest, '|'), "b");
  assert_view(rest, "");
  assert_view(wo_view_cut(&rest, '|'), "");
  rest = none;
  assert_view(wo_view_cut(&rest, '|'), "");
}

static void words_of_names(void **state) {
  (void)state;
  static const char *const with[] = {"train", "run_train.py", "trainOneEpoch", "GPUTrain", "TRAIN_2", "pre-train"};
  static const char *const without[] = {"", "constraint", "trainer", "strain", "retrain7", "t_r_a_i_n"};
  const struct wo_view words[] = {WO_VIEW("eval"), WO_VIEW("train")};
  for (size_t i = 0; i < sizeof with / sizeof with[0]; i++) assert_true(wo_view_has_word(wo_view_of(with[i]), words, 2));
  for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
    assert_false(wo_view_has_word(wo_view_of(without[i]), words, 2));
  assert_false(wo_view_has_word(WO_VIEW("train"), words, 1));
}

static void compare(void **state) {
  (void)state;
  assert_true(wo_view_compare(wo_view_of("a"), wo_view_of("b")) < 0);
  assert_true(wo_view_compare(wo_view_of("b"), wo_view_of("a")) > 0);
  assert_true(wo_view_compare(wo_view_of("a"), wo_view_of("ab")) < 0);
  assert_true(wo_view_compare(wo_view_of("ab"), wo_view_of("a")) > 0);
  assert_true(wo_view_compare(wo_view_of("\xff"), wo_view_of("a")) > 0);
  assert_int_equal(wo_view_compare(none, wo_view_of("")), 0);
}

static void classes(void **state) {
  (void)state;
  for (int i = -128; i < 128; i++) {
    const char c = (char)i;
    const bool is_ascii = i > 0;
    assert_int_equal(wo_is_space(c), is_ascii && strchr(" \t\n\v\f\r", i) != NULL);
    assert_int_equal(wo_is_digit(c), is_ascii && strchr("0123456789", i) != NULL);
    assert_int_equal(wo_is_alpha(c), is_ascii && strchr("abcdefghijklmnopqrstuvwxyz", wo_lower(c)) != NULL);
    assert_int_equal(wo_is_alnum(c), wo_is_alpha(c) || wo_is_digit(c));
    assert_int_equal(wo_is_word(c), wo_is_alnum(c) || c == '_');
    assert_int_equal(wo_lower(c), i >= 'A' && i <= 'Z' ? i + 32 : i);
  }
}

static void many_words_at_once(void **state) {
  static const char *const words[] = {"site-packages", "/bin/", "<frozen", "ab"};
  static const char *const one_letter[] = {"q", "x"};
  static const struct {
    const char *text;
    bool holds;
  } rows[] = {{"", false},
              {"/opt/env/lib/site-packages/a.py", true},
              {"/opt/env/bin/run", true},
              {"/opt/env/bin", false},
              {"frozen <importlib", false},
              {"<frozen", true},
              {"a b ab", true},
              {"site packages", false}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_pairs_of pairs = wo_view_pairs(wo_view_of(rows[i].text));
    assert_int_equal(WO_PAIRS_ANY(&pairs, words), rows[i].holds);
    assert_int_equal(WO_VIEW_ANY(pairs.text, wo_view_has, words), rows[i].holds);
    assert_int_equal(WO_PAIRS_ANY(&pairs, one_letter), WO_VIEW_ANY(pairs.text, wo_view_has, one_letter));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_words_at_once),
      cmocka_unit_test(of_and_literal),
      cmocka_unit_test(sub_and_skip_are_clamped),
      cmocka_unit_test(trim),
      cmocka_unit_test(equality),
      cmocka_unit_test(prefixes_and_suffixes),
      cmocka_unit_test(find_rows),
      cmocka_unit_test(find_last_rows),
      cmocka_unit_test(find_agrees_with_the_definition),
      cmocka_unit_test(has),
      cmocka_unit_test(find_char_and_cut),
      cmocka_unit_test(words_of_names),
      cmocka_unit_test(compare),
      cmocka_unit_test(classes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
