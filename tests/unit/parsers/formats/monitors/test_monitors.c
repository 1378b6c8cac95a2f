/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in the report: one row for each file and card, the facts, and what the writers make of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/report/report.h"
#include "tests/support/job/job_sample.h"

static const char dmon[] =
    "# gpu    sm    fb\n# Idx     %    MB\n    0    10   100\n    1    80   900\n    0    30   300\n    1    80   900\n";
static const char table[] =
    "| NVIDIA-SMI 550.54.15 |\n|   1  X  On  | 0000:4A:00.0 Off |  0 |\n| N/A | 950MiB / 1000MiB | 20% |\n";

static struct wo_report *report_of(struct sample_job *sample) {
  struct wo_report *report = NULL;
  assert_int_equal(wo_report_make(sample->job, sample->job->pack, &report), WO_OK);
  return report;
}

static void test_rows(void **state) {
  const struct sample_file files[] = {{"dmon.txt", dmon}, {"other.txt", dmon}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  struct wo_report *report = report_of(&sample);
  assert_int_equal(report->facts.monitor_count, 4);
  for (size_t i = 0; i < 4; i++) {
    const struct wo_card_trace *monitor = &report->facts.monitors[i];
    assert_true(monitor->file == i / 2 && monitor->gpu == (int32_t)(i % 2) && monitor->samples == 2);
    assert_true(monitor->fb_peak_bytes.value.mid == (i % 2 ? 900 : 300) * WO_MIB && !monitor->fb_slope_bytes_per_s.is_known);
  }
  wo_report_free(report);
  sample_done(&sample);
}

/* Two formats of one file tell of the same card. */
static void test_merge(void **state) {
  char log[1024];
  snprintf(log, sizeof log, "%s%s", dmon, table);
  const struct sample_file files[] = {{"gpu.txt", log}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 1);
  struct wo_report *report = report_of(&sample);
  assert_int_equal(report->facts.monitor_count, 2);
  const struct wo_card_trace *monitor = &report->facts.monitors[1];
  assert_true(monitor->gpu == 1 && monitor->samples == 3);
  assert_true(monitor->fb_peak_bytes.value.mid == 950 * WO_MIB && monitor->capacity_bytes.value.mid == 1000 * WO_MIB);
  assert_true(monitor->fb_last_bytes.value.mid == 900 * WO_MIB);
  assert_true(monitor->sm_mean_pct.value.mid == 60);
  assert_int_equal(wo_event_get(&sample.job->events, monitor->evidence)->span.line, 9);
  wo_report_free(report);
  sample_done(&sample);
}

/* The facts are those of the fullest card; one look at a card is no trace. */
static void test_facts(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, dmon);
  assert_true(sample_number(&sample, "dmon.fb_peak") == 900 * WO_MIB);
  assert_true(sample_number(&sample, "dmon.fb_slope") == 0 && sample_number(&sample, "dmon.sm_mean") == 0.8);
  sample_done(&sample);
  sample_log(&sample, *state, table);
  assert_false(sample_fact(&sample, "dmon.fb_peak").is_known || sample_fact(&sample, "dmon.sm_mean").is_known);
  sample_done(&sample);
}

static void test_formats(void **state) {
  const struct sample_file files[] = {{"a.txt", dmon},  {"b.txt", table},  {"c.csv", "index, memory.used [MiB]\n0, 5 MiB\n"},
                                      {"d.out", table}, {"run.sh", table}, {"e.txt", "nothing\n"}};
  static const char *const formats[] = {"dmon", "smi-table", "query-csv", "log", "sbatch", "log"};
  struct sample_job sample;
  sample_read(&sample, *state, files, 6);
  for (size_t i = 0; i < 6; i++) assert_true(wo_view_is(sample.job->inputs[i].format, formats[i]));
  sample_done(&sample);
}

static void test_more_formats(void **state) {
  const struct sample_file files[] = {
      {"a.txt", "#Entity   FBUSD\nID\nGPU 0   7\n"},
      {"b.xml", "<nvidia_smi_log>\n<gpu id=\"0:1:0.0\">\n</gpu>\n</nvidia_smi_log>\n"},
      {"c.txt", "[0] NVIDIA A2 | 45'C,  98 % | 300 / 1024 MB | mara:python/4711(300M)\n"},
      {"d.json", "\"query_time\": \"2024-01-01T12:00:00\",\n\"index\": 0,\n\"memory.used\": 7\n"},
      {"e.csv", "2024/05/06 07:08:09.100, 1 MiB, 1024 MiB\n2024/05/06 07:08:14.100, 2 MiB, 1024 MiB\n"},
      {"f.txt", "# gpu    sm    fb\n    0     5   100\n# gpu        pid  type    fb   command\n    0  7  C  10  a\n"}};
  static const char *const formats[] = {"dcgmi", "smi-xml", "gpustat", "gpustat", "query-csv", "dmon"};
  struct sample_job sample;
  sample_read(&sample, *state, files, 6);
  for (size_t i = 0; i < 6; i++) {
    if (!wo_view_is(sample.job->inputs[i].format, formats[i])) fail_msg("%s is no %s", files[i].path, formats[i]);
  }
  sample_done(&sample);
}

/* A line for each card; that the peak is a lower bound is said once. A single table in a log is told when asked for. */
static void test_text(void **state) {
  const struct sample_file files[] = {{"dmon.txt", dmon}, {"job.out", table}};
  struct sample_job sample;
  struct wo_text text = {0};
  sample_read(&sample, *state, files, 2);
  struct wo_report *report = report_of(&sample);
  wo_report_text(report, (struct wo_text_style){.width = 200}, &text);
  const struct wo_view out = {text.ptr, text.len};
  assert_true(wo_view_has(out, "GPU 0 in dmon.txt: peak 300.00 MiB, mean 20 % busy, 2 samples; a trace misses short peaks"));
  assert_true(wo_view_has(out, "GPU 1 in dmon.txt: peak 900.00 MiB, mean 80 % busy, 2 samples\n"));
  assert_false(wo_view_has(out, "in job.out: peak"));
  text.len = 0;
  wo_report_text(report, (struct wo_text_style){.width = 200, .is_verbose = true}, &text);
  assert_true(wo_view_has((struct wo_view){text.ptr, text.len}, "GPU 1 in job.out: peak 950.00 MiB of 1000.00 MiB"));
  wo_text_done(&text);
  wo_report_free(report);
  sample_done(&sample);
}

static void test_json(void **state) {
  struct sample_job sample;
  struct wo_text text = {0};
  sample_log(&sample, *state, dmon);
  struct wo_report *report = report_of(&sample);
  wo_report_json(report, &text);
  const struct wo_view out = {text.ptr, text.len};
  assert_true(wo_view_has(out, "\"fb_peak_bytes\": 943718400") && wo_view_has(out, "\"fb_slope_bytes_per_s\": null"));
  assert_true(wo_view_has(out, "\"sm_mean_pct\": 20"));
  wo_text_done(&text);
  wo_report_free(report);
  sample_done(&sample);
}

/* A rise to the end is told with its interval, and is a fact; so is the spread between cards. */
static void test_trend(void **state) {
  static char log[4096] = "# gpu    sm    fb\n";
  struct sample_job sample;
  size_t len = strlen(log);
  for (int i = 0; i < 40; i++) {
    len += (size_t)snprintf(log + len, sizeof log - len, "    0    80  %d\n    1     0  500\n", 1000 + 10 * i);
  }
  sample_log(&sample, *state, log);
  assert_true(sample_number(&sample, "dmon.fb_late_rise") == 190 * WO_MIB);
  assert_true(sample_number(&sample, "dmon.gpu_count") == 2 && sample_number(&sample, "dmon.fb_spread") == 890 * WO_MIB);
  assert_true(sample_number(&sample, "dmon.sm_active_mean") == 0.8 && sample_number(&sample, "dmon.idle") == 0);
  assert_false(sample_fact(&sample, "dmon.headroom").is_known || sample_fact(&sample, "dmon.process_count").is_known);
  struct wo_report *report = report_of(&sample);
  struct wo_text text = {0};
  wo_report_text(report, (struct wo_text_style){.width = 200, .is_verbose = true}, &text);
  const struct wo_view out = {text.ptr, text.len};
  assert_true(wo_view_has(out, "memory rose by 10.00 MiB a sample (95 %: 10.00 MiB to 10.00 MiB), 40 samples"));
  assert_true(wo_view_has(out, "mean 0 % busy, memory flat, 40 samples"));
  text.len = 0;
  wo_report_json(report, &text);
  assert_true(wo_view_has((struct wo_view){text.ptr, text.len}, "\"fb_late_rise_bytes\": 199229440"));
  wo_text_done(&text);
  wo_report_free(report);
  sample_done(&sample);
}

/* The largest process first, and what a trace does not tell is null. */
static void test_processes(void **state) {
  const struct sample_file files[] = {
      {"pmon.txt", "# gpu        pid  type    fb   command\n    0  7  C  10  small\n    0  8  C  900  large one\n"},
      {"apps.csv", "pid, process_name, used_gpu_memory [MiB]\n9, third, [N/A]\n"}};
  struct sample_job sample;
  struct wo_text text = {0};
  sample_read(&sample, *state, files, 2);
  assert_true(wo_view_is(sample.job->inputs[0].format, "pmon") && wo_view_is(sample.job->inputs[1].format, "query-apps"));
  assert_true(sample_number(&sample, "dmon.process_count") == 3);
  struct wo_report *report = report_of(&sample);
  assert_int_equal(report->facts.process_count, 3);
  wo_report_text(report, (struct wo_text_style){.width = 200}, &text);
  struct wo_view out = {text.ptr, text.len};
  assert_true(wo_view_has(out, "processes in pmon.txt: large one (pid 8, GPU 0) 900.00 MiB; small (pid 7, GPU 0) 10.00 MiB\n"));
  assert_true(wo_view_has(out, "processes in apps.csv: third (pid 9)\n"));
  text.len = 0;
  wo_report_json(report, &text);
  out = (struct wo_view){text.ptr, text.len};
  assert_true(wo_view_has(out, "\"name\": \"large one\"") && wo_view_has(out, "\"peak_bytes\": null"));
  wo_text_done(&text);
  wo_report_free(report);
  sample_done(&sample);
}

/* What was not read is said once for each input. */
static void test_notes(void **state) {
  const struct sample_file files[] = {
      {"npu.txt", "| npu-smi 24.1.rc3                 Version: 24.1.rc3    |\n| npu-smi 24.1.rc3   |\n"},
      {"bare.csv", "2024/05/06 07:08:09.100, 0, 841 MiB, 900 MiB\n2024/05/06 07:08:09.101, 1, 841 MiB, 900 MiB\n"}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  assert_int_equal(sample.job->inputs[0].note_count, 1);
  assert_true(
      wo_view_is(sample.job->inputs[0].notes[0], "output of Ascend's npu-smi: it is not NVIDIA's, and its figures are not read"));
  assert_int_equal(sample.job->inputs[1].note_count, 1);
  assert_true(wo_view_has(sample.job->inputs[1].notes[0], "which column is the memory in use cannot be told"));
  sample_done(&sample);
}

/* PyTorch's table: the last one counts, sizes keep the interval in which they lie. */
static void test_summary(void **state) {
  static const char one[] = "|                  PyTorch CUDA memory summary, device ID 0                 |\n"
                            "|            CUDA OOMs: 1            |        cudaMalloc retries: %d         |\n"
                            "| Allocated memory      |  17920 MiB |  18944 MiB |   1251 GiB |   1233 GiB |\n"
                            "| Non-releasable memory |   4608 MiB |   5120 MiB |    900 GiB |    896 GiB |\n";
  char log[1024];
  struct sample_job sample;
  size_t len = (size_t)snprintf(log, sizeof log, one, 1);
  snprintf(log + len, sizeof log - len, one, 3);
  sample_log(&sample, *state, log);
  assert_true(sample_number(&sample, "summary.retries") == 3 && sample_number(&sample, "summary.oom_count") == 1);
  assert_true(sample_number(&sample, "summary.allocated_peak") == 18944 * WO_MIB);
  assert_true(sample_number(&sample, "summary.non_releasable") == 4608 * WO_MIB);
  assert_false(sample_fact(&sample, "summary.reserved").is_known);
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),    cmocka_unit_test(test_merge),        cmocka_unit_test(test_facts),
      cmocka_unit_test(test_formats), cmocka_unit_test(test_more_formats), cmocka_unit_test(test_text),
      cmocka_unit_test(test_json),    cmocka_unit_test(test_trend),        cmocka_unit_test(test_processes),
      cmocka_unit_test(test_notes),   cmocka_unit_test(test_summary),
  };
  return cmocka_run_group_tests_name("monitors", tests, sample_load_all, sample_unload);
}
