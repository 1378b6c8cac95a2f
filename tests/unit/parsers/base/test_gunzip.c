/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 and gzip in memory: whole, cut, damaged, and with too little room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/gunzip.h"

static void test_base64(void **state) {
  static const struct {
    const char *text;
    const char *bytes;
  } rows[] = {
      {"", ""},        {"TQ==", "M"},   {"TWE=", "Ma"},       {"TWFu", "Man"},   {"TWFuTWFu", "ManMan"},
      {"Pz8/", "???"}, {"Pj4+", ">>>"}, {"TWFu TWFu", "Man"}, {"TWFu|x", "Man"}, {"T", ""},
  };
  unsigned char out[16];
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const size_t len = strlen(rows[i].bytes);
    assert_int_equal(wo_base64_decode(wo_view_of(rows[i].text), out, sizeof out), len);
    assert_memory_equal(out, rows[i].bytes, len);
  }
  assert_int_equal(wo_base64_decode(WO_VIEW("TWFuTWFu"), out, 4), 4);
}

/* "memory " forty times. */
static const unsigned char packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb,
                                       0x4d, 0xcd, 0xcd, 0x2f, 0xaa, 0x54, 0xc8, 0x1d, 0xa5, 0x50, 0x29,
                                       0x00, 0x41, 0x04, 0xee, 0x57, 0x18, 0x01, 0x00, 0x00};

static void test_gunzip(void **state) {
  char out[512];
  (void)state;
  assert_int_equal(wo_gunzip(packed, sizeof packed, out, sizeof out), 280);
  assert_memory_equal(out, "memory memory ", 14);
  assert_int_equal(wo_gunzip(packed, sizeof packed, out, 10), 10);
  assert_int_equal(wo_gunzip(packed, 0, out, sizeof out), 0);
  assert_int_equal(wo_gunzip(packed, sizeof packed, out, 0), 0);
  assert_int_equal(wo_gunzip((const unsigned char *)"no gzip at all", 14, out, sizeof out), 0);
}

/* Cut anywhere it gives the beginning, or nothing. */
static void test_cut(void **state) {
  char whole[512], out[512];
  (void)state;
  wo_gunzip(packed, sizeof packed, whole, sizeof whole);
  for (size_t len = 0; len < sizeof packed; len++) {
    const size_t got = wo_gunzip(packed, len, out, sizeof out);
    assert_true(got <= 280);
    assert_memory_equal(out, whole, got);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_base64), cmocka_unit_test(test_gunzip), cmocka_unit_test(test_cut)};
  return cmocka_run_group_tests_name("gunzip", tests, NULL, NULL);
}
