/* SPDX-License-Identifier: Apache-2.0 */
/* Status texts and error objects: every code has a text, messages are cut rather than overrun. */
#include "parsers/base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_status_has_a_text(void **state) {
  (void)state;
  for (unsigned i = 0; i < WO_STATUS_COUNT_; i++) {
    assert_true(strlen(wo_status_text((enum wo_status)i)) > 0);
    for (unsigned j = 0; j < i; j++)
      assert_string_not_equal(wo_status_text((enum wo_status)i), wo_status_text((enum wo_status)j));
  }
  assert_string_equal(wo_status_text(WO_OK), "no error");
  assert_string_equal(wo_status_text(WO_E_LIMIT), "a limit was reached");
  assert_string_equal(wo_status_text(WO_STATUS_COUNT_), "?");
}

static void set_formats_and_clears_the_place(void **state) {
  (void)state;
  struct wo_err err;
  memset(&err, 'x', sizeof err);
  assert_int_equal(wo_err_set(&err, WO_E_RANGE, "%d of %s", 7, "nine"), WO_E_RANGE);
  assert_int_equal(err.code, WO_E_RANGE);
  assert_string_equal(err.message, "7 of nine");
  assert_string_equal(err.file, "");
  assert_int_equal(err.line, 0);
  assert_int_equal(err.column, 0);
  assert_int_equal(err.offset, 0);
}

static void null_is_allowed(void **state) {
  (void)state;
  assert_int_equal(wo_err_set(NULL, WO_E_IO, "unused"), WO_E_IO);
  wo_err_place(NULL, "file", 1, 2, 3);
}

static void long_messages_are_cut(void **state) {
  (void)state;
  struct wo_err err;
  wo_err_set(&err, WO_E_IO, "%0*d", 5000, 1);
  assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void place_is_stored(void **state) {
  (void)state;
  struct wo_err err;
  wo_err_set(&err, WO_E_IO, "message");
  wo_err_place(&err, "some/file.log", 3, 4, 5);
  assert_string_equal(err.file, "some/file.log");
  assert_int_equal(err.line, 3);
  assert_int_equal(err.column, 4);
  assert_int_equal(err.offset, 5);
  assert_string_equal(err.message, "message");
  wo_err_place(&err, err.file, 6, 0, 0);
  assert_string_equal(err.file, "some/file.log");
  wo_err_place(&err, NULL, 0, 0, 0);
  assert_string_equal(err.file, "");
}

/* Around the size of the field: the last length that fits, and the first that does not. */
static void long_file_names_keep_their_end(void **state) {
  (void)state;
  struct wo_err err;
  char name[600];
  for (size_t len = sizeof err.file - 3; len < sizeof name; len++) {
    memset(name, 'd', len);
    memcpy(name + len - 4, ".log", 5);
    wo_err_place(&err, name, 0, 0, 0);
    assert_string_equal(err.file + strlen(err.file) - 4, ".log");
    if (len < sizeof err.file) assert_string_equal(err.file, name);
    if (len >= sizeof err.file) assert_int_equal(strlen(err.file), sizeof err.file - 1);
    if (len >= sizeof err.file) assert_memory_equal(err.file, "...d", 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_a_text), cmocka_unit_test(set_formats_and_clears_the_place),
      cmocka_unit_test(null_is_allowed),         cmocka_unit_test(long_messages_are_cut),
      cmocka_unit_test(place_is_stored),         cmocka_unit_test(long_file_names_keep_their_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
