/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers out of a total at the end of a log: which ones had further to go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "parsers/scan/scan_counter.h"

struct row {
  const char *name;
  const char *lines[8]; /* from the first to the last */
  uint64_t step, total; /* total 0: finished, or no series */
};

static const struct row rows[] = {
    {"a loop that was stopped", {"[100/533] loss 2.1", "[200/533] loss 2.0", "[300/533] loss 1.9"}, 300, 533},
    {"the last print of a loop that ended: another stride goes beyond", {"[300/533]", "[400/533]", "[500/533]"}, 0, 0},
    {"counted from zero", {"item 7/10", "item 8/10", "item 9/10"}, 0, 0},
    {"a round above went further",
     {"Epoch 1 | 200/573", "Epoch 1 | 400/573", "Epoch 2 | 200/573", "Epoch 2 | 300/573"},
     300,
     573},
    {"the first print of a round tells nothing", {"Epoch 1 | 200/573", "Epoch 1 | 400/573", "Epoch 2 | 200/573"}, 0, 0},
    {"one smaller alone tells nothing", {"3/50 files", "7/50 files"}, 0, 0},
    {"of a bar what was drawn last", {"0/90", "1/90", " 2/90", " 3/90", " 5/90"}, 5, 90},
    {"beside another number", {"[10/50] right 9/10", "[20/50] right 17/20", "[30/50] right 25/30"}, 30, 50},
    {"results are none", {"Accuracy: 9612/10000", "Accuracy: 9731/10000", "Accuracy: 9812/10000"}, 0, 0},
    {"nor are dates, versions, paths and decimals",
     {"2026/01/03 v1.2/30 a/7/30", "2026/02/03 v1.3/30 a/8/30", "2026/03/04 v1.4/30 a/9/30"},
     0,
     0},
    {"below more lines nothing is looked for", {"[1/90]", "[2/90]", "[3/90]", "a", "b", "c"}, 0, 0},
    {"numbers that are too long", {"1/99999999999", "2/99999999999", "3/99999999999"}, 0, 0},
    {"nothing", {""}, 0, 0},
};

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_counter counter = {.count = 0};
    size_t count = 0;
    while (count < 8 && rows[i].lines[count]) count++;
    while (count > 0) wo__counter_look(&counter, wo_view_of(rows[i].lines[--count]));
    const struct wo_counter_series *const series = wo__counter_unfinished(&counter);
    const uint64_t step = series ? series->step : 0, total = series ? series->total : 0;
    if (step != rows[i].step || total != rows[i].total)
      fail_msg("%s: found %llu of %llu", rows[i].name, (unsigned long long)step, (unsigned long long)total);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
