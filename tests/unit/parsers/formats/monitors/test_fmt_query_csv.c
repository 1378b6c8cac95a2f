/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi --query-gpu and its imitations: headers, units, cards, cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char trace[] = "timestamp, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n"
                            "2025/03/30 21:38:15.000, 100 MiB, 8192 MiB, 10 %\n"
                            "2025/03/30 21:38:25.000, 300 MiB, 8192 MiB, 30 %\n";

static void test_trace(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), trace, &store);
  assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 1);
  const struct wo_event *event = sample_find(&store, WO_KIND_MONITOR, 0);
  assert_int_equal(event->span.line, 3);
  sample_expect_number(event, WO_FIELD_SAMPLES, 2);
  sample_expect_number(event, WO_FIELD_CAPACITY_BYTES, 8192 * WO_MIB);
  sample_expect_number(event, WO_FIELD_FB_PEAK_BYTES, 300 * WO_MIB);
  sample_expect_number(event, WO_FIELD_FB_SLOPE_BYTES_PER_S, 20 * WO_MIB);
  sample_expect_number(event, WO_FIELD_SM_MEAN_PCT, 20);
  wo_event_store_done(&store);
}

/* Without any unit the size of the card tells it. */
static void test_scales(void **state) {
  static const struct {
    const char *log;
    double bytes;
  } rows[] = {
      {"memory.used, memory.total\n100, 8192\n", 100 * WO_MIB},
      {"memory.used, memory.total\n2, 24\n", 2 * WO_GIB},
      {"memory.used, memory.total\n5242880, 8589934592\n", 5242880},
      {"memory.used, memory.total\n5242880, 8388608\n", 5242880 * WO_KIB},
      {"memory_used_mb, gpu\n512, 0\n", 512 * WO_MIB},
      {"index, memory.used\n0, 100\n", 100 * WO_MIB},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), rows[i].log, &store);
    assert_int_equal(sample_count(&store, WO_KIND_MONITOR), 1);
    sample_expect_number(sample_find(&store, WO_KIND_MONITOR, 0), WO_FIELD_FB_PEAK_BYTES, rows[i].bytes);
    wo_event_store_done(&store);
  }
}

/* What looks like a header and is none, or has rows that do not fit. */
static void test_nothing(void **state) {
  static const char *const logs[] = {
      "memory.used\n100\n",
      "\"memory.used\", \"memory.total\"\n100, 8192\n",
      "--query-gpu=memory.used,memory.total\n100, 8192\n",
      "pid, memory.used [MiB]\n100, 8192\n",
      "name, memory.total [MiB]\nA, 8192\n",
      "index, memory.used [MiB]\nx, 100 MiB\n",
      "index, memory.used [MiB]\n0, 100 W\n",
      "index, memory.used [MiB]\n0\n",
      "index, memory.used [MiB] x\n0, 100\n",
      "memory.used went up, then down\n1, 2\n",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), logs[i], &store);
    if (sample_count(&store, WO_KIND_MONITOR) != 0) fail_msg("taken for a trace: %s", logs[i]);
    wo_event_store_done(&store);
  }
}

static void test_cut_anywhere(void **state) {
  sample_cut_monitor(set_of(state), trace, 2, 300 * WO_MIB);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trace),
      cmocka_unit_test(test_scales),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_cut_anywhere),
  };
  return cmocka_run_group_tests_name("fmt_query_csv", tests, sample_setup, sample_teardown);
}
