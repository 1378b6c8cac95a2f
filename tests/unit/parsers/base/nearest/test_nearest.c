/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are nearly right: slips of the pen are found, other words are not. */
#include "parsers/base/nearest/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const known[] = {"explain", "scan", "rules", "format", "fragmentation", "oom"};

static const struct {
  const char *want, *best; /* "": none */
} rows[] = {
    {"expain", "explain"},
    {"explian", "explain"},
    {"scn", "scan"},
    {"formt", "format"},
    {"fragmentatoin", "fragmentation"},
    {"oom", "oom"},
    {"ooms", "oom"},
    {"xy", ""},
    {"", ""},
    {"something", ""},
    {"train.log", ""},
};

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_nearest nearest = {.want = wo_view_of(rows[i].want)};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) wo_nearest_offer(&nearest, wo_view_of(known[k]));
    const struct wo_view best = wo_nearest_best(&nearest);
    if (!wo_view_is(best, rows[i].best) && !(best.len == 0 && rows[i].best[0] == '\0'))
      fail_msg("%s: %.*s, expected %s", rows[i].want, WO_SHOWN(best), rows[i].best);
  }
}

/* Names that no table of ours holds are passed over, however long. */
static void test_long_names(void **state) {
  (void)state;
  static char longest[300];
  char hint[WO_NEAREST_BYTES];
  for (size_t i = 0; i + 1 < sizeof longest; i++) longest[i] = 'a';
  struct wo_nearest nearest = {.want = WO_VIEW("a")};
  wo_nearest_offer(&nearest, wo_view_of(longest));
  assert_int_equal(wo_nearest_best(&nearest).len, 0);
  nearest = (struct wo_nearest){.want = wo_view_of(longest)};
  wo_nearest_offer(&nearest, WO_VIEW("a"));
  assert_string_equal(wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint), "");
  assert_string_equal(wo_nearest_hint(WO_VIEW("scan"), hint, sizeof hint), " (did you mean 'scan'?)");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_long_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
