/* SPDX-License-Identifier: Apache-2.0 */
/* Cleaning of lines and of text for reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/clean.h"

#define ROW(in, out)                                                                                                             \
  {                                                                                                                              \
    {(in), sizeof(in) - 1}, {                                                                                                    \
      (out), sizeof(out) - 1                                                                                                     \
    }                                                                                                                            \
  }

struct row {
  struct wo_view in;
  struct wo_view out;
};

static const struct row lines[] = {
    ROW("", ""),
    ROW("plain text with a\ttab", "plain text with a\ttab"),
    ROW("\x1b[31mred\x1b[0m text", "red text"),
    ROW("\x1b[1;38;5;208mcolour\x1b[m", "colour"),
    ROW("\x1b[?25l\x1b[2K\x1b[1A\x1b[36m(WorkerDict pid=1)\x1b[0m x", "(WorkerDict pid=1) x"),
    ROW("\x1b]0;title\x07text", "text"),
    ROW("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
    ROW("\x1bPq#0\x1b\\after", "after"),
    ROW("\x1b(Bcharset", "charset"),
    ROW("\x1b=\x1b>keypad", "keypad"),
    /* broken sequences cost as little text as possible */
    ROW("\x1b]0;no end of title", "0;no end of title"),
    ROW("\x1b]0;new\x1b[31m start", "0;new start"),
    ROW("end\x1b", "end"),
    ROW("end\x1b[", "end"),
    ROW("end\x1b[31", "end"),
    ROW("\x1b\x1b[31mtwice", "twice"),
    ROW("\x1b[3\xe2\x94\x82 box", "\xe2\x94\x82 box"),
    /* other control characters */
    ROW("12/99\b\b\b\b\b13/99", "12/9913/99"),
    ROW("nul\0byte", "nul byte"),
    ROW("bell\x07 del\x7f vt\x0b.", "bell del vt."),
    ROW("bytes \xff\x80\x9b stay", "bytes \xff\x80\x9b stay"),
    ROW("seven..\x01"
        "eight..\x02",
        "seven..eight.."),
    ROW("\r", ""),
};

static void test_lines(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    char buf[256];
    const struct wo_view out = wo_clean_line(lines[i].in, buf, sizeof buf);
    assert_int_equal(out.len, lines[i].out.len);
    assert_memory_equal(out.ptr, lines[i].out.ptr, out.len);
  }
}

static void test_clean_line_is_not_copied(void **state) {
  (void)state;
  char buf[4];
  const struct wo_view raw = WO_VIEW("nothing to remove, longer than the buffer");
  const struct wo_view out = wo_clean_line(raw, buf, sizeof buf);
  assert_ptr_equal(out.ptr, raw.ptr);
  assert_int_equal(out.len, raw.len);
  assert_int_equal(wo_clean_line((struct wo_view){NULL, 0}, buf, sizeof buf).len, 0);
}

static void test_line_is_cut(void **state) {
  (void)state;
  char buf[6];
  assert_true(wo_view_is(wo_clean_line(WO_VIEW("abc\x1b[0mdefghi"), buf, sizeof buf), "abcdef"));
  assert_true(wo_view_is(wo_clean_line(WO_VIEW("abcdefghi\x1b[0m"), buf, sizeof buf), "abcdef"));
  assert_int_equal(wo_clean_line(WO_VIEW("\x01"), NULL, 0).len, 0);
}

/* Each control character at each place of a word is found by the eight-at-a-time search. */
static void test_every_place(void **state) {
  (void)state;
  for (size_t at = 0; at < 20; at++) {
    for (int c = 0; c < 256; c++) {
      char raw[20];
      char buf[20];
      memset(raw, 'x', sizeof raw);
      raw[at] = (char)c;
      const struct wo_view out = wo_clean_line((struct wo_view){raw, sizeof raw}, buf, sizeof buf);
      const bool is_removed = (c < 0x20 && c != '\t' && c != 0) || c == 0x7f;
      if (c == 0x1b) continue; /* takes the byte behind it along */
      assert_int_equal(out.len, sizeof raw - (is_removed ? 1 : 0));
      assert_int_equal(out.ptr == raw, !is_removed && c != 0);
    }
  }
}

/* A line of nothing but unfinished commands takes no more than linear time. */
static void test_hostile_line(void **state) {
  (void)state;
  static char raw[65536];
  static char buf[65536];
  for (size_t i = 0; i < sizeof raw; i += 2) {
    raw[i] = '\x1b';
    raw[i + 1] = ']';
  }
  assert_int_equal(wo_clean_line((struct wo_view){raw, sizeof raw}, buf, sizeof buf).len, 0);
}

#define BAD "\xef\xbf\xbd"

static const struct row texts[] = {
    ROW("", ""),
    ROW("plain", "plain"),
    ROW("a\tb\nc\x7f"
        "d\x1b[0m",
        "a b c d [0m"),
    ROW("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
    ROW("\xff", BAD),
    ROW("\x80\xbf", BAD BAD),
    ROW("\xc0\xaf", BAD BAD),                 /* overlong */
    ROW("\xe0\x80\x80", BAD BAD BAD),         /* overlong */
    ROW("\xed\xa0\x80", BAD BAD BAD),         /* surrogate */
    ROW("\xf4\x90\x80\x80", BAD BAD BAD BAD), /* above U+10FFFF */
    ROW("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"),
    ROW("\xe2\x82", BAD BAD), /* cut at the end */
    ROW("\xe2\x82(", BAD BAD "("),
    ROW("\xc2\x85\xc2\x9b[\xc2\xa0", "  [\xc2\xa0"), /* C1 control characters */
    ROW("a\0b", "a b"),
    ROW("a\xe2\x80\xae"
        "b\xe2\x81\xa6\xe2\x81\xa9"
        "c",
        "a" BAD "b" BAD BAD "c"),                             /* override and isolates */
    ROW("\xe2\x80\xa8\xe2\x80\xa9\xd8\x9c", BAD BAD BAD),     /* separators, the Arabic mark */
    ROW("\xe2\x80\x8b\xe2\x80\x8d\xe2\x81\xa0", BAD BAD BAD), /* zero width */
    ROW("\xef\xbb\xbf\xf3\xa0\x81\x81\xc2\xad", BAD BAD BAD), /* byte order mark, tag, soft hyphen */
    ROW("\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\x9f", "\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\x9f"),
};

static void test_utf8(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char buf[64];
    const struct wo_view out = wo_clean_utf8(texts[i].in, buf, sizeof buf);
    assert_int_equal(out.len, texts[i].out.len);
    assert_memory_equal(out.ptr, texts[i].out.ptr, out.len);
  }
}

/* Every code point is read as it was written, and cleaning keeps those that are shown. */
static void test_code_points(void **state) {
  (void)state;
  for (uint32_t code = 1; code < 0x110000; code++) {
    char text[4], buf[8];
    size_t read = 0;
    if (code >= 0xd800 && code < 0xe000) continue;
    const struct wo_view view = {text, wo_utf8_write(code, text)};
    assert_true(wo_utf8_read(view, &read) == code && read == view.len);
    const struct wo_view clean = wo_clean_utf8(view, buf, sizeof buf);
    const bool is_kept = clean.len == view.len && memcmp(clean.ptr, text, view.len) == 0;
    assert_true(is_kept == !(wo_clean_is_control(code) || wo_clean_is_hidden(code)));
  }
}

static void test_utf8_is_cut_between_characters(void **state) {
  (void)state;
  char buf[8];
  assert_true(wo_view_is(wo_clean_utf8(WO_VIEW("a\xe2\x82\xac"
                                               "b"),
                                       buf, 3),
                         "a"));
  assert_true(wo_view_is(wo_clean_utf8(WO_VIEW("a\xe2\x82\xac"
                                               "b"),
                                       buf, 4),
                         "a\xe2\x82\xac"));
  assert_true(wo_view_is(wo_clean_utf8(WO_VIEW("a\xff"), buf, 3), "a"));
  assert_int_equal(wo_clean_utf8(WO_VIEW("abc"), NULL, 0).len, 0);
}

/* All controls of direction, and what takes no place, are replaced as control characters are. */
static void test_hidden(void **state) {
  (void)state;
  static const uint32_t codes[] = {0x61c,  0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c,
                                   0x202d, 0x202e, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0xfeff};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    char in[8] = "a", buf[16];
    const struct wo_view text = {in, 1 + wo_utf8_write(codes[i], in + 1)};
    assert_true(wo_clean_has_hidden(text));
    const struct wo_view out = wo_clean_utf8(text, buf, sizeof buf);
    assert_int_equal(out.len, 1 + sizeof WO_REPLACEMENT - 1);
    assert_memory_equal(out.ptr + 1, WO_REPLACEMENT, sizeof WO_REPLACEMENT - 1);
  }
  assert_false(wo_clean_has_hidden(WO_VIEW("plain \xc3\xa4 \xff")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_hidden),
      cmocka_unit_test(test_clean_line_is_not_copied),
      cmocka_unit_test(test_line_is_cut),
      cmocka_unit_test(test_every_place),
      cmocka_unit_test(test_hostile_line),
      cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_code_points),
      cmocka_unit_test(test_utf8_is_cut_between_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
