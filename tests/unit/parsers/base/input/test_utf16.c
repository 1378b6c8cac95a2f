/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-16 becomes UTF-8, in both byte orders and however the bytes come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/input/utf16.h"

/* Reads the bytes in chunks and compares the text. */
static void expect(struct wo_view bytes, const char *want, size_t chunk) {
  struct wo_utf16 state = {0};
  char text[256];
  size_t len = 0;
  const size_t first = chunk < 4 ? 4 : chunk; /* the mark comes in one piece */
  for (size_t at = 0; at < bytes.len;) {
    const size_t part = at == 0 ? first : chunk;
    const struct wo_view piece = wo_view_sub(bytes, at, at + part < bytes.len ? at + part : bytes.len);
    char *const buf = malloc(WO_UTF16_ROOM(piece.len));
    assert_non_null(buf);
    const struct wo_view read = wo_utf16_read(&state, piece, buf);
    assert_true(read.len <= WO_UTF16_ROOM(piece.len) && len + read.len < sizeof text);
    memcpy(text + len, read.ptr, read.len);
    len += read.len;
    free(buf);
    at += piece.len;
  }
  assert_true(wo_view_is((struct wo_view){text, len}, want));
}

static void test_texts(void **state) {
  (void)state;
  for (size_t chunk = 1; chunk < 20; chunk++) {
    expect(WO_VIEW("\xff\xfe"
                   "a\0\xe4\0\xac\x20\x3d\xd8\x00\xde\n\0"),
           "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n", chunk);
    expect(WO_VIEW("\xfe\xff"
                   "\0a\0\xe4\x20\xac\xd8\x3d\xde\x00\0\n"),
           "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n", chunk);
    /* Halves of characters that stand alone. */
    expect(WO_VIEW("\xff\xfe"
                   "\x3d\xd8"
                   "a\0"
                   "\x00\xde"
                   "b\0"),
           "\xef\xbf\xbd"
           "a\xef\xbf\xbd"
           "b",
           chunk);
  }
}

static void test_others(void **state) {
  (void)state;
  expect(WO_VIEW("plain text \xc3\xa4"), "plain text \xc3\xa4", 20);
  expect(WO_VIEW("\xef\xbb\xbf"
                 "marked"),
         "\xef\xbb\xbf"
         "marked",
         20);
  expect(WO_VIEW("\xff\xfe"), "", 4);
  struct wo_utf16 utf32 = {0};
  char buf[WO_UTF16_ROOM(8)];
  assert_int_equal(wo_utf16_read(&utf32, WO_VIEW("\xff\xfe\0\0a\0\0\0"), buf).len, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
