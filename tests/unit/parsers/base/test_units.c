/* SPDX-License-Identifier: Apache-2.0 */
/* Units: what the tools print reads back as bytes and nanoseconds, and the other way round. */
#include "parsers/base/units.h"

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

struct size_row {
  const char *text;
  double bare_scale;
  double mid, half;
  const char *rest;
};

static const struct size_row size_rows[] = {
    {"17.66 GiB is free", 0, 17.66 * WO_GIB, 0.005 * WO_GIB, " is free"},
    {"79.35 GiB", 0, 79.35 * WO_GIB, 0.005 * WO_GIB, ""},
    {"16.00 MiB", 0, 16 * WO_MIB, 0.005 * WO_MIB, ""},
    {"384.0KiB", 0, 384 * WO_KIB, 0.05 * WO_KIB, ""},
    {"8.89 GB", 0, 8.89 * WO_GIB, 0.005 * WO_GIB, ""},
    {"64G", 0, 64 * WO_GIB, 0, ""},
    {"64g,", 0, 64 * WO_GIB, 0, ","},
    {"123456K", 0, 123456 * WO_KIB, 0, ""},
    {"0 bytes", 0, 0, 0, ""},
    {"1 byte", 0, 1, 0, ""},
    {"512 B", 0, 512, 0, ""},
    {"16.0G", 0, 16 * WO_GIB, 0.05 * WO_GIB, ""},
    {"1.50TiB", 0, 1536 * WO_GIB, 0.005 * 1024 * WO_GIB, ""},
    {"2P", 0, 2 * WO_GIB * 1024 * 1024, 0, ""},
    {"81920MiB", 0, 81920 * WO_MIB, 0, ""},
    {"16Gi", 0, 16 * WO_GIB, 0, ""},
    {"100 kb", 0, 100 * WO_KIB, 0, ""},
    {"100kB", 0, 100 * WO_KIB, 0, ""},
    {"100 KIB", 0, 100 * WO_KIB, 0, ""},
    {"20.00\\nMiB", 0, 20 * WO_MIB, 0.005 * WO_MIB, ""},
    {"20.00 \\n \\n  MiB", 0, 20 * WO_MIB, 0.005 * WO_MIB, ""},
    {"20.00\n  MiB", 0, 20 * WO_MIB, 0.005 * WO_MIB, ""},
    {"20.00 \r\n\tMiB\\n", 0, 20 * WO_MIB, 0.005 * WO_MIB, "\\n"},
    {"-2.00 MiB", 0, -2 * WO_MIB, 0.005 * WO_MIB, ""},
    {"4096", 1, 4096, 0, ""},
    {"4096 apples", WO_KIB, 4096 * WO_KIB, 0, " apples"},
    {"4096 MiB", 1, 4096 * WO_MIB, 0, ""},
    {"12.0 GB/s", 0, 12 * WO_GIB, 0.05 * WO_GIB, "/s"},
};

static void sizes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof size_rows / sizeof size_rows[0]; i++) {
    const struct size_row *const row = &size_rows[i];
    struct wo_view in = wo_view_of(row->text);
    struct wo_interval got = {0};
    assert_int_equal(wo_units_bytes(&in, row->bare_scale, &got), WO_OK);
    assert_true(got.mid == round(row->mid));
    assert_close(got.lo, row->mid - row->half, fabs(row->mid) * 1e-14);
    assert_close(got.hi, row->mid + row->half, fabs(row->mid) * 1e-14);
    assert_true(row->half > 0 || (got.lo == got.mid && got.mid == got.hi));
    assert_true(wo_view_is(in, row->rest));
  }
}

static void size_failures(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double bare_scale;
    enum wo_status status;
  } rows[] = {{"17179869184.00 GiB", 0, WO_E_RANGE},
              {"8589934592 GiB", 0, WO_E_RANGE},
              {"-8589934592 GiB", 0, WO_E_RANGE},
              {"1e30 bytes", 0, WO_E_RANGE},
              {"2 GPUs", 0, WO_E_SYNTAX},
              {"2 Gpu", 0, WO_E_SYNTAX},
              {"2", 0, WO_E_SYNTAX},
              {"2 ", 0, WO_E_SYNTAX},
              {"2 apples", 0, WO_E_SYNTAX},
              {"2x", 1, WO_E_SYNTAX},
              {"10 Gb", 0, WO_E_SYNTAX},
              {"10 b", 0, WO_E_SYNTAX},
              {"10\\MiB", 0, WO_E_SYNTAX},
              {"10 iB", 0, WO_E_SYNTAX},
              {"GiB", 0, WO_E_SYNTAX},
              {"", 1, WO_E_SYNTAX}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i].text);
    struct wo_interval got = {.mid = 5};
    assert_int_equal(wo_units_bytes(&in, rows[i].bare_scale, &got), rows[i].status);
    assert_true(wo_view_is(in, rows[i].text));
    assert_true(got.mid == 5);
  }
}

/* Where a number is finer than a byte, the middle is still a whole byte inside the interval. */
static void fine_sizes_stay_ordered(void **state) {
  (void)state;
  static const char *const rows[] = {"0.4 B", "0.1 bytes", "17.6600000000001 GiB", "-0.4 B", "1e-5 KiB"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i]);
    struct wo_interval got = {0};
    assert_int_equal(wo_units_bytes(&in, 0, &got), WO_OK);
    assert_true(got.lo <= got.mid && got.mid <= got.hi && got.mid == round(got.mid));
  }
}

static void bytes_text(void **state) {
  (void)state;
  static const struct {
    double bytes;
    const char *want;
  } rows[] = {{0, "0 bytes"},
              {512, "512 bytes"},
              {1024, "1024 bytes"},
              {1025, "1.00 KiB"},
              {WO_MIB, "1024.00 KiB"},
              {20 * WO_MIB, "20.00 MiB"},
              {WO_GIB, "1024.00 MiB"},
              {17.66 * WO_GIB, "17.66 GiB"},
              {4096 * WO_GIB, "4096.00 GiB"},
              {-20 * WO_MIB, "-20.00 MiB"},
              {-1, "-1 bytes"}};
  char buf[64];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_string_equal(wo_units_bytes_text(rows[i].bytes, buf, sizeof buf), rows[i].want);
  }
  assert_string_equal(wo_units_gib_text(17.66 * WO_GIB, 2, buf, sizeof buf), "17.66");
  assert_string_equal(wo_units_gib_text(80 * WO_GIB, 0, buf, sizeof buf), "80");
}

/* Every writer cuts at the capacity and ends with NUL; with no room at all it writes nothing. */
static void writers_respect_the_capacity(void **state) {
  (void)state;
  for (size_t cap = 0; cap < 32; cap++) {
    char buf[40];
    memset(buf, 'x', sizeof buf);
    wo_units_bytes_text(17.66 * WO_GIB, buf, cap);
    wo_units_gib_text(17.66 * WO_GIB, 2, buf, cap);
    wo_units_duration_text(90061 * WO_NS_PER_S, buf, cap);
    wo_units_time_text(0, buf, cap);
    assert_int_equal(buf[cap], 'x');
    if (cap > 0) assert_true(memchr(buf, '\0', cap) != NULL);
  }
}

static void durations(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t seconds;
    const char *rest;
  } rows[] = {{"5", 300, ""},
              {"05:30", 330, ""},
              {"120:30", 7230, ""},
              {"01:02:03", 3723, ""},
              {"100:00:00", 360000, ""},
              {"1-12", 129600, ""},
              {"1-12:30", 131400, ""},
              {"2-03:04:05 left", 183845, " left"},
              {"00:00:00", 0, ""},
              {"7-", 420, "-"},
              {"01:02:", 62, ":"},
              {"01:02:03:04", 3723, ":04"},
              {"01:02-3", 62, "-3"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i].text);
    int64_t ns = -1;
    assert_int_equal(wo_units_slurm_duration(&in, &ns), WO_OK);
    assert_int_equal(ns, rows[i].seconds * WO_NS_PER_S);
    assert_true(wo_view_is(in, rows[i].rest));
  }
}

static void duration_failures(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum wo_status status;
  } rows[] = {{"", WO_E_SYNTAX},           {"UNLIMITED", WO_E_SYNTAX},  {"-5", WO_E_SYNTAX},
              {"01:60", WO_E_RANGE},       {"01:00:60", WO_E_RANGE},    {"1-24:00:00", WO_E_RANGE},
              {"1-01:60", WO_E_RANGE},     {"99999999999", WO_E_RANGE}, {"1-99999999999", WO_E_RANGE},
              {"999999999-00", WO_E_RANGE}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i].text);
    int64_t ns = 5;
    assert_int_equal(wo_units_slurm_duration(&in, &ns), rows[i].status);
    assert_true(wo_view_is(in, rows[i].text) && ns == 5);
  }
}

static void duration_text(void **state) {
  (void)state;
  char buf[64];
  assert_string_equal(wo_units_duration_text(0, buf, sizeof buf), "00:00:00");
  assert_string_equal(wo_units_duration_text(3723 * WO_NS_PER_S + 999, buf, sizeof buf), "01:02:03");
  assert_string_equal(wo_units_duration_text(183845 * WO_NS_PER_S, buf, sizeof buf), "2-03:04:05");
  assert_string_equal(wo_units_duration_text(-60 * WO_NS_PER_S, buf, sizeof buf), "-00:01:00");
  assert_string_equal(wo_units_duration_text(INT64_MIN, buf, sizeof buf), "-106751-23:47:16");
}

static void times(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t seconds, ns;
    const char *rest;
  } rows[] = {{"1970-01-01T00:00:00", 0, 0, ""},
              {"2025-03-11T04:00:12 x", 1741665612, 0, " x"},
              {"2025-03-11 04:00:12", 1741665612, 0, ""},
              {"2025-03-11_04:00:12", 1741665612, 0, ""},
              {"2025-03-11T04:00:12.345", 1741665612, 345000000, ""},
              {"2025-03-11T04:00:12,345 INFO", 1741665612, 345000000, " INFO"},
              {"2025-03-11T04:00:12.1234567899", 1741665612, 123456789, ""},
              {"2025-03-11T04:00:12Z", 1741665612, 0, ""},
              {"2025-03-11T04:00:12.5Z]", 1741665612, 500000000, "]"},
              {"2025-03-11T04:00:12+01:00", 1741662012, 0, ""},
              {"2025-03-11T04:00:12-0530", 1741685412, 0, ""},
              {"2025-03-11T04:00:12.", 1741665612, 0, "."},
              {"2025-03-11T04:00:12-rank3", 1741665612, 0, "-rank3"},
              {"2025-03-11T04:00:12-05", 1741665612, 0, "-05"},
              {"2025-03-11T04:00:12Zone", 1741665612, 0, "Zone"},
              {"2024-02-29T23:59:60", 1709251200, 0, ""},
              {"1969-12-31T23:59:59", -1, 0, ""},
              {"2000-02-29 00:00:00", 951782400, 0, ""}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i].text);
    int64_t ns = 7;
    assert_int_equal(wo_units_time(&in, &ns), WO_OK);
    assert_int_equal(ns, rows[i].seconds * WO_NS_PER_S + rows[i].ns);
    assert_true(wo_view_is(in, rows[i].rest));
  }
}

static void time_failures(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum wo_status status;
  } rows[] = {{"", WO_E_SYNTAX},
              {"2025-03-11", WO_E_SYNTAX},
              {"2025-03-11T04:00", WO_E_SYNTAX},
              {"2025/03/11 04:00:12", WO_E_SYNTAX},
              {"25-03-11T04:00:12", WO_E_SYNTAX},
              {"2025-03-11x04:00:12", WO_E_SYNTAX},
              {"2025-13-11T04:00:12", WO_E_RANGE},
              {"2025-00-11T04:00:12", WO_E_RANGE},
              {"2025-02-29T04:00:12", WO_E_RANGE},
              {"1900-02-29T04:00:12", WO_E_RANGE},
              {"2025-03-00T04:00:12", WO_E_RANGE},
              {"2025-03-11T24:00:12", WO_E_RANGE},
              {"2025-03-11T04:60:12", WO_E_RANGE},
              {"2025-03-11T04:00:61", WO_E_RANGE},
              {"2025-03-11T04:00:12+25:00", WO_E_RANGE},
              {"1677-01-01T00:00:00", WO_E_RANGE},
              {"9999-01-01T00:00:00", WO_E_RANGE}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_view in = wo_view_of(rows[i].text);
    int64_t ns = 7;
    assert_int_equal(wo_units_time(&in, &ns), rows[i].status);
    assert_true(wo_view_is(in, rows[i].text) && ns == 7);
  }
}

/* One time on each day of the years that are read, printed and read back. */
static void time_round_trip(void **state) {
  (void)state;
  char buf[64];
  for (int64_t day = -106000; day < 106000; day++) {
    const int64_t ns = (day * 86400 + (day & 0xffff)) * WO_NS_PER_S;
    struct wo_view in = wo_view_of(wo_units_time_text(ns, buf, sizeof buf));
    int64_t again = 0;
    assert_int_equal(wo_units_time(&in, &again), WO_OK);
    assert_int_equal(again, ns);
  }
  assert_string_equal(wo_units_time_text(-1, buf, sizeof buf), "1969-12-31T23:59:59");
  assert_string_equal(wo_units_time_text(INT64_MAX, buf, sizeof buf), "2262-04-11T23:47:16");
  assert_string_equal(wo_units_time_text(INT64_MIN, buf, sizeof buf), "1677-09-21T00:12:43");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes),
      cmocka_unit_test(size_failures),
      cmocka_unit_test(fine_sizes_stay_ordered),
      cmocka_unit_test(bytes_text),
      cmocka_unit_test(writers_respect_the_capacity),
      cmocka_unit_test(durations),
      cmocka_unit_test(duration_failures),
      cmocka_unit_test(duration_text),
      cmocka_unit_test(times),
      cmocka_unit_test(time_failures),
      cmocka_unit_test(time_round_trip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
