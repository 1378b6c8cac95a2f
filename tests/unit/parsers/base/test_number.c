/* SPDX-License-Identifier: Apache-2.0 */
/* Number readers: tables of text, result and what is left. On failure nothing is read and nothing is stored. */
#include "parsers/base/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Equal up to `slack`, which allows for the last bits of a double. */
static void assert_close(double got, double want, double slack) {
  assert_true(fabs(got - want) <= slack);
}

struct u64_row {
  const char *text;
  uint64_t max;
  enum wo_status status;
  uint64_t value;
  const char *rest;
};

typedef enum wo_status (*u64_reader)(struct wo_view *in, uint64_t max, uint64_t *ret_value);

/* Runs one table; `rest` NULL stands for the whole text, which is what is left after a failure. */
static void check_rows(u64_reader reader, const struct u64_row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const uint64_t untouched = 4242;
    uint64_t value = untouched;
    struct wo_view in = wo_view_of(rows[i].text);
    assert_int_equal(reader(&in, rows[i].max, &value), rows[i].status);
    assert_true(wo_view_is(in, rows[i].status == WO_OK ? rows[i].rest : rows[i].text));
    assert_int_equal(value, rows[i].status == WO_OK ? rows[i].value : untouched);
  }
}

#define CHECK_ROWS(reader, rows) check_rows((reader), (rows), sizeof(rows) / sizeof(rows)[0])

static void u64_rows(void **state) {
  (void)state;
  static const struct u64_row rows[] = {
      {"0", 0, WO_OK, 0, ""},
      {"12ab", 100, WO_OK, 12, "ab"},
      {"007", 7, WO_OK, 7, ""},
      {"18446744073709551615", UINT64_MAX, WO_OK, UINT64_MAX, ""},
      {"18446744073709551616", UINT64_MAX, WO_E_RANGE, 0, NULL},
      {"99999999999999999999999", UINT64_MAX, WO_E_RANGE, 0, NULL},
      {"101", 100, WO_E_RANGE, 0, NULL},
      {"", 9, WO_E_SYNTAX, 0, NULL},
      {"-1", 9, WO_E_SYNTAX, 0, NULL},
      {" 1", 9, WO_E_SYNTAX, 0, NULL},
      {"a", 9, WO_E_SYNTAX, 0, NULL},
  };
  CHECK_ROWS(wo_number_u64, rows);
}

static void hex_rows(void **state) {
  (void)state;
  static const struct u64_row rows[] = {
      {"0x7f12 rest", UINT64_MAX, WO_OK, 0x7f12, " rest"},
      {"DEADbeef", UINT64_MAX, WO_OK, 0xdeadbeef, ""},
      {"0XffG", UINT64_MAX, WO_OK, 0xff, "G"},
      {"0xzz", UINT64_MAX, WO_OK, 0, "xzz"},
      {"0x", UINT64_MAX, WO_OK, 0, "x"},
      {"ffffffffffffffff", UINT64_MAX, WO_OK, UINT64_MAX, ""},
      {"0x10000000000000000", UINT64_MAX, WO_E_RANGE, 0, NULL},
      {"0x100", 255, WO_E_RANGE, 0, NULL},
      {"xyz", 255, WO_E_SYNTAX, 0, NULL},
      {"", 255, WO_E_SYNTAX, 0, NULL},
  };
  CHECK_ROWS(wo_number_hex, rows);
}

static void grouped_rows(void **state) {
  (void)state;
  static const struct u64_row rows[] = {
      {"1,234,567 bytes", UINT64_MAX, WO_OK, 1234567, " bytes"},
      {"1234567", UINT64_MAX, WO_OK, 1234567, ""},
      {"12,345", UINT64_MAX, WO_OK, 12345, ""},
      {"1234,567", UINT64_MAX, WO_OK, 1234, ",567"},
      {"1,23", UINT64_MAX, WO_OK, 1, ",23"},
      {"1,2345", UINT64_MAX, WO_OK, 1, ",2345"},
      {"1, 234", UINT64_MAX, WO_OK, 1, ", 234"},
      {"1,234,", UINT64_MAX, WO_OK, 1234, ","},
      {"18,446,744,073,709,551,615", UINT64_MAX, WO_OK, UINT64_MAX, ""},
      {"18,446,744,073,709,551,616", UINT64_MAX, WO_E_RANGE, 0, NULL},
      {"1,001", 1000, WO_E_RANGE, 0, NULL},
      {",123", 1000, WO_E_SYNTAX, 0, NULL},
  };
  CHECK_ROWS(wo_number_grouped, rows);
}

static void i64_rows(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t max;
    enum wo_status status;
    int64_t value;
  } rows[] = {{"-9", 9, WO_OK, -9},
              {"+9", 9, WO_OK, 9},
              {"9", 9, WO_OK, 9},
              {"-0", 0, WO_OK, 0},
              {"9223372036854775807", INT64_MAX, WO_OK, INT64_MAX},
              {"-9223372036854775807", INT64_MAX, WO_OK, -INT64_MAX},
              {"-9223372036854775808", INT64_MAX, WO_E_RANGE, 0},
              {"-10", 9, WO_E_RANGE, 0},
              {"-", 9, WO_E_SYNTAX, 0},
              {"--1", 9, WO_E_SYNTAX, 0},
              {"", 9, WO_E_SYNTAX, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i].text);
    int64_t value = 77;
    assert_int_equal(wo_number_i64(&in, rows[i].max, &value), rows[i].status);
    assert_int_equal(value, rows[i].status == WO_OK ? rows[i].value : 77);
    assert_int_equal(in.len, rows[i].status == WO_OK ? 0 : strlen(rows[i].text));
  }
}

static void decimal_rows(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double lo, mid, hi;
    bool is_integer;
    const char *rest;
  } rows[] = {
      {"17.66 GiB", 17.655, 17.66, 17.665, false, " GiB"},
      {"16.00", 15.995, 16.0, 16.005, false, ""},
      {"16.0", 15.95, 16.0, 16.05, false, ""},
      {"42", 42, 42, 42, true, ""},
      {"42.", 42, 42, 42, true, "."},
      {"42. Next", 42, 42, 42, true, ". Next"},
      {"1.2.3", 1.15, 1.2, 1.25, false, ".3"},
      {"0.00", -0.005, 0, 0.005, false, ""},
      {"-3.5x", -3.55, -3.5, -3.45, false, "x"},
      {"+7", 7, 7, 7, true, ""},
      {"-0", 0, 0, 0, true, ""},
      {"1e-5", 1e-5, 1e-5, 1e-5, false, ""},
      {"1E3", 1000, 1000, 1000, false, ""},
      {"1.5e3", 1450, 1500, 1550, false, ""},
      {"2e", 2, 2, 2, true, "e"},
      {"2e+", 2, 2, 2, true, "e+"},
      {"2 e5", 2, 2, 2, true, " e5"},
      {"0e99999999999", 0, 0, 0, false, ""},
      {"5e-99999999999", 0, 0, 0, false, ""},
      {"0.1234567890123456789012345", 0.12345678901234568, 0.12345678901234568, 0.12345678901234568, false, ""},
      {"999999999999999999", 1e18, 1e18, 1e18, true, ""},
      {"1000000000000000000", 1e18, 1e18, 1e18, true, ""},
      {"4585490524328388608", 4585490524328388608.0, 4585490524328388608.0, 4585490524328388608.0, true, ""},
      {"9223372036854774784", 9223372036854774784.0, 9223372036854774784.0, 9223372036854774784.0, true, ""},
      {"00000000000000000000000000000000000000000000000001", 1, 1, 1, true, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i].text);
    struct wo_interval got = {0};
    bool is_integer = !rows[i].is_integer;
    assert_int_equal(wo_number_decimal(&in, &got, &is_integer), WO_OK);
    assert_close(got.lo, rows[i].lo, fabs(rows[i].lo) * 1e-15);
    assert_close(got.mid, rows[i].mid, fabs(rows[i].mid) * 1e-15);
    assert_close(got.hi, rows[i].hi, fabs(rows[i].hi) * 1e-15);
    assert_int_equal(is_integer, rows[i].is_integer);
    assert_true(wo_view_is(in, rows[i].rest));
  }
}

static void decimal_failures(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum wo_status status;
  } rows[] = {{"", WO_E_SYNTAX},
              {".5", WO_E_SYNTAX},
              {"-", WO_E_SYNTAX},
              {"-.5", WO_E_SYNTAX},
              {"e5", WO_E_SYNTAX},
              {"nan", WO_E_SYNTAX},
              {"inf", WO_E_SYNTAX},
              {"1000000000000000000000", WO_E_RANGE},
              {"9223372036854775808", WO_E_RANGE},
              {"-1e19", WO_E_RANGE},
              {"1e19", WO_E_RANGE},
              {"1e400", WO_E_RANGE},
              {"0.0e400", WO_E_RANGE},
              {"1e99999999999999999999", WO_E_RANGE},
              {"12345678901234567890123456789012345678901", WO_E_RANGE},
              {"0.12345678901234567890123456789012345678901", WO_E_RANGE}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i].text);
    struct wo_interval got = {.lo = 1, .mid = 2, .hi = 3};
    assert_int_equal(wo_number_decimal(&in, &got, NULL), rows[i].status);
    assert_true(wo_view_is(in, rows[i].text));
    assert_true(got.lo == 1 && got.mid == 2 && got.hi == 3);
  }
}

/* Every two-decimal number below a hundred is the nearest double, as the compiler's own division gives it. */
static void two_decimals_are_exact(void **state) {
  (void)state;
  for (int hundredths = 0; hundredths < 10000; hundredths++) {
    char text[32];
    snprintf(text, sizeof text, "%d.%02d", hundredths / 100, hundredths % 100);
    struct wo_view in = wo_view_of(text);
    struct wo_interval got = {0};
    assert_int_equal(wo_number_decimal(&in, &got, NULL), WO_OK);
    assert_true(got.mid == hundredths / 100.0);
    assert_true(got.lo < got.mid && got.mid < got.hi);
  }
}

/* A run of zeros behind the point is long but no number of digits. */
static void many_zeros(void **state) {
  (void)state;
  char text[8000];
  memset(text, '0', sizeof text);
  text[1] = '.';
  struct wo_view in = {text, 3000};
  struct wo_interval got = {.mid = 1};
  assert_int_equal(wo_number_decimal(&in, &got, NULL), WO_OK);
  assert_true(got.mid == 0.0 && in.len == 0);
  in = (struct wo_view){text, sizeof text};
  assert_int_equal(wo_number_decimal(&in, &got, NULL), WO_E_RANGE);
  assert_int_equal(in.len, sizeof text);
}

static void exact_interval(void **state) {
  (void)state;
  const struct wo_interval five = wo_interval_exact(5);
  assert_true(five.lo == 5 && five.mid == 5 && five.hi == 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(u64_rows),   cmocka_unit_test(hex_rows),       cmocka_unit_test(grouped_rows),
      cmocka_unit_test(i64_rows),   cmocka_unit_test(decimal_rows),   cmocka_unit_test(decimal_failures),
      cmocka_unit_test(many_zeros), cmocka_unit_test(exact_interval), cmocka_unit_test(two_decimals_are_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
