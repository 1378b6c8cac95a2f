/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller readers of traces: rows that do not fit, and traces that a kill cut at any byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

/* A trace of card 0 with a peak of 900 MiB, of a process 4711 with the same, or of both. */
struct trace {
  const char *name;
  const char *text;
  bool has_card;
  bool has_process;
};

static const struct trace traces[] = {
    {"pmon",
     "# gpu        pid  type    sm    fb   command\n# Idx          #   C/G     %    MB   name\n    0       4711     C    10   "
     "300   python "
     "x\n    0       4711     C    10   900   python x\n",
     false, true},
    {"apps", "pid, process_name, used_gpu_memory [MiB]\n4711, python, 300 MiB\n4711, python, 900 MiB\n", false, true},
    {"dcgmi", "#Entity   FBUSD   FBTTL\nID\nGPU 0   300   1024\nGPU 0   900   1024\nGPU 0   500   1024\n", true, false},
    {"xml",
     "<nvidia_smi_log>\n<gpu id=\"00000000:08:00.0\">\n<fb_memory_usage>\n<total>1024 MiB</total>\n<used>900 MiB</used>\n"
     "</fb_memory_usage>\n<process_info>\n<pid>4711</pid>\n<process_name>python</process_name>\n<used_memory>900 "
     "MiB</used_memory>\n"
     "</process_info>\n</gpu>\n</nvidia_smi_log>\n",
     true, true},
    {"gpustat",
     "[0] NVIDIA A2 | 45'C,  98 % | 300 / 1024 MB | mara:python/4711(300M)\n"
     "[0] NVIDIA A2 | 45'C,  98 % | 900 / 1024 MB | mara:python/4711(900M)\n",
     true, true},
    {"gpustat-json",
     "{\n\"query_time\": \"2024-01-01T12:00:00\",\n\"gpus\": [\n {\n  \"index\": 0,\n  \"memory.used\": 900,\n"
     "  \"memory.total\": 1024,\n  \"processes\": [\n   {\n    \"command\": \"python\",\n    \"gpu_memory_usage\": 900,\n"
     "    \"pid\": 4711\n   }\n  ]\n }\n]\n}\n",
     true, true},
    {"bare", "2024/05/06 07:08:09.100, 0, 300 MiB, 1024 MiB\n2024/05/06 07:08:14.100, 0, 900 MiB, 1024 MiB\n", true, false},
    {"table",
     "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
     "|   0  NVIDIA A2                      On  |   00000000:4A:00.0 Off |                    0 |\n"
     "| N/A   27C    P8             32W /   60W |     900MiB /   1024MiB |     50%      Default |\n"
     "| Processes:                                                                              |\n"
     "|    0   N/A  N/A      4711      C   python                                   900MiB     |\n"
     "+-----------------------------------------------------------------------------------------+\n",
     true, true},
};

#define TRACES (sizeof traces / sizeof traces[0])

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

/* One card, one process, and their peaks. */
static void test_whole(void **state) {
  for (size_t i = 0; i < TRACES; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), traces[i].text, &store);
    if (sample_count(&store, WO_KIND_MONITOR) != traces[i].has_card) fail_msg("%s: cards", traces[i].name);
    if (sample_count(&store, WO_KIND_GPU_PROCESS) != traces[i].has_process) fail_msg("%s: processes", traces[i].name);
    if (traces[i].has_card) {
      const struct wo_event *const card = sample_find(&store, WO_KIND_MONITOR, 0);
      sample_expect_number(card, WO_FIELD_FB_PEAK_BYTES, 900 * WO_MIB);
      sample_expect_number(card, WO_FIELD_CAPACITY_BYTES, 1024 * WO_MIB);
    }
    if (traces[i].has_process) {
      const struct wo_event *const process = sample_find(&store, WO_KIND_GPU_PROCESS, 0);
      sample_expect_number(process, WO_FIELD_PEAK_BYTES, 900 * WO_MIB);
      sample_expect_number(process, WO_FIELD_PID, 4711);
    }
    wo_event_store_done(&store);
  }
}

/* What is left of a trace never shows more than the whole, and no second card. */
static void expect_less(const struct trace *trace, size_t len, const struct wo_event_store *store) {
  if (sample_count(store, WO_KIND_MONITOR) > 1) fail_msg("%s cut at %zu: more cards", trace->name, len);
  for (size_t i = 0; i < store->count; i++) {
    const struct wo_event *const event = &store->items[i];
    const bool is_more = wo_event_number(event, WO_FIELD_FB_PEAK_BYTES, 0) > 900 * WO_MIB ||
                         wo_event_number(event, WO_FIELD_PEAK_BYTES, 0) > 900 * WO_MIB ||
                         wo_event_number(event, WO_FIELD_CAPACITY_BYTES, 0) > 1024 * WO_MIB;
    if (is_more) fail_msg("%s cut at %zu: shows more than there was", trace->name, len);
  }
}

static void test_cut_anywhere(void **state) {
  for (size_t i = 0; i < TRACES; i++) {
    for (size_t len = 0; len <= strlen(traces[i].text); len++) {
      char log[1024];
      struct wo_event_store store;
      assert_true(len < sizeof log);
      memcpy(log, traces[i].text, len);
      log[len] = '\0';
      sample_scan_text(set_of(state), log, &store);
      expect_less(&traces[i], len, &store);
      wo_event_store_done(&store);
    }
  }
}

/* Output of the job between the lines, and lines of it that are cut short by the next row, change nothing. */
static void test_mixed(void **state) {
  static const char *const noise[] = {"step 12 of 400, 3.1 s", "0 1 2 3 4 5 6 7 8", "a, b, c",
                                      "{\"loss\": 2.1}",       "| x | y |",         ""};
  for (size_t i = 0; i < TRACES; i++) {
    char log[4096];
    size_t len = 0;
    size_t line = 0;
    for (const char *at = traces[i].text; *at != '\0'; at++) {
      log[len++] = *at;
      if (*at == '\n') len += (size_t)snprintf(log + len, sizeof log - len, "%s\n", noise[line++ % 6]);
    }
    log[len] = '\0';
    struct wo_event_store whole;
    struct wo_event_store store;
    sample_scan_text(set_of(state), traces[i].text, &whole);
    sample_scan_text(set_of(state), log, &store);
    if (sample_count(&store, WO_KIND_MONITOR) != traces[i].has_card) fail_msg("%s: cards", traces[i].name);
    if (sample_count(&store, WO_KIND_GPU_PROCESS) != traces[i].has_process) fail_msg("%s: processes", traces[i].name);
    for (size_t n = 0; n < 2; n++) {
      const enum wo_kind kind = n == 0 ? WO_KIND_MONITOR : WO_KIND_GPU_PROCESS;
      const struct wo_event *const a = sample_find(&whole, kind, 0);
      const struct wo_event *const b = sample_find(&store, kind, 0);
      if (a == NULL) continue;
      assert_true(wo_event_number(a, WO_FIELD_SAMPLES, -1) == wo_event_number(b, WO_FIELD_SAMPLES, -2));
      assert_true(wo_event_number(a, WO_FIELD_FB_PEAK_BYTES, -1) == wo_event_number(b, WO_FIELD_FB_PEAK_BYTES, -1));
      assert_true(wo_event_number(a, WO_FIELD_PEAK_BYTES, -1) == wo_event_number(b, WO_FIELD_PEAK_BYTES, -1));
    }
    wo_event_store_done(&store);
    wo_event_store_done(&whole);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),
      cmocka_unit_test(test_cut_anywhere),
      cmocka_unit_test(test_mixed),
  };
  return cmocka_run_group_tests_name("fmt_traces", tests, sample_setup, sample_teardown);
}
