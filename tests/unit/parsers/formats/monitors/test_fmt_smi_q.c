/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi -q: keys inside the right block, cards by their order, cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char trace[] = "==============NVSMI LOG==============\n"
                            "Timestamp                                 : Wed Aug 30 06:46:27 2023\n"
                            "GPU 00000000:08:00.0\n"
                            "    FB Memory Usage\n"
                            "        Total                             : 24564 MiB\n"
                            "        Used                              : 2545 MiB\n"
                            "    BAR1 Memory Usage\n"
                            "        Used                              : 30000 MiB\n"
                            "    Utilization\n"
                            "        Gpu                               : 2 %\n";

static void test_trace(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), trace, &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 1);
  const struct wo_event *event = sample_find(&store, WO_KIND_MONITOR, 0);
  assert_int_equal(event->span.line, 6);
  sample_expect_number(event, WO_FIELD_SAMPLES, 1);
  sample_expect_number(event, WO_FIELD_CAPACITY_BYTES, 24564 * WO_MIB);
  sample_expect_number(event, WO_FIELD_FB_PEAK_BYTES, 2545 * WO_MIB);
  sample_expect_number(event, WO_FIELD_SM_MEAN_PCT, 2);
  wo_event_store_done(&store);
}

/* Other text ends it; what stands before the first card belongs to none. */
static void test_end(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "==============NVSMI LOG==============\n    FB Memory Usage\n        Used : 9 MiB\na\nb\nc\nd\n"
                   "GPU 00000000:08:00.0\n    FB Memory Usage\n        Used : 9 MiB\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 0);
  wo_event_store_done(&store);
}

static void test_cut_anywhere(void **state) {
  sample_cut_monitor(set_of(state), trace, 1, 2545 * WO_MIB);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trace),
      cmocka_unit_test(test_end),
      cmocka_unit_test(test_cut_anywhere),
  };
  return cmocka_run_group_tests_name("fmt_smi_q", tests, sample_setup, sample_teardown);
}
