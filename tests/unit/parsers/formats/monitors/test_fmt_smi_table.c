/* SPDX-License-Identifier: Apache-2.0 */
/* The table of nvidia-smi: cells by what stands in them, cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char trace[] = "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
                            "|   0  NVIDIA L40S                    On  |   00000000:4A:00.0 Off |                    0 |\n"
                            "| 30%   27C    P8             32W /  350W |     100MiB /  46068MiB |      7%      Default |\n";

static void test_trace(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), trace, &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 1);
  const struct wo_event *event = sample_find(&store, WO_KIND_MONITOR, 0);
  assert_int_equal(event->span.line, 3);
  sample_expect_number(event, WO_FIELD_GPU, 0);
  sample_expect_number(event, WO_FIELD_CAPACITY_BYTES, 46068 * WO_MIB);
  sample_expect_number(event, WO_FIELD_FB_PEAK_BYTES, 100 * WO_MIB);
  sample_expect_number(event, WO_FIELD_SM_MEAN_PCT, 7);
  wo_event_store_done(&store);
}

/* Figures need a card before them, and count once. */
static void test_order(void **state) {
  static const char figures[] = "| 30%   27C    P8    32W /  350W |     900MiB /  46068MiB |      7%      Default |\n";
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, "| NVIDIA-SMI 550.54.15 |\n");
  sample_say(&log, figures);
  sample_say(&log, "|   5  NVIDIA L40S  On  |   0000:4A:00.0 Off |   0 |\n");
  sample_say(&log, figures);
  sample_say(&log, figures);
  sample_say(&log, "| Processes: |\n|   6  NVIDIA L40S  On  |   0000:4B:00.0 Off |   0 |\n");
  sample_say(&log, figures);
  sample_scan(set_of(state), sample_view(&log), CHUNK_RANDOM, &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 1);
  sample_expect_number(sample_find(&store, WO_KIND_MONITOR, 0), WO_FIELD_GPU, 5);
  sample_expect_number(sample_find(&store, WO_KIND_MONITOR, 0), WO_FIELD_SAMPLES, 1);
  wo_event_store_done(&store);
  sample_free(&log);
}

static void test_cut_anywhere(void **state) {
  sample_cut_monitor(set_of(state), trace, 1, 100 * WO_MIB);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trace),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_cut_anywhere),
  };
  return cmocka_run_group_tests_name("fmt_smi_table", tests, sample_setup, sample_teardown);
}
