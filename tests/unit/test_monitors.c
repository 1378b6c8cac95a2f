/* Traces in the report: one row for each file and card, the facts, and what the writers make of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/report.h"
#include "tests/unit/job_sample.h"

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
  assert_int_equal(report->monitor_count, 4);
  for (size_t i = 0; i < 4; i++) {
    const struct wo_report_monitor *monitor = &report->monitors[i];
    assert_true(monitor->file == i / 2 && monitor->gpu == (int32_t)(i % 2) && monitor->samples == 2);
    assert_true(monitor->fb_peak_bytes.value == (i % 2 ? 900 : 300) * WO_MIB && !monitor->fb_slope_bytes_per_s.is_known);
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
  assert_int_equal(report->monitor_count, 2);
  const struct wo_report_monitor *monitor = &report->monitors[1];
  assert_true(monitor->gpu == 1 && monitor->samples == 3);
  assert_true(monitor->fb_peak_bytes.value == 950 * WO_MIB && monitor->capacity_bytes.value == 1000 * WO_MIB);
  assert_true(monitor->fb_last_bytes.value == 900 * WO_MIB);
  assert_true(monitor->sm_mean_pct.value == 60);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),    cmocka_unit_test(test_merge), cmocka_unit_test(test_facts),
      cmocka_unit_test(test_formats), cmocka_unit_test(test_text),  cmocka_unit_test(test_json),
  };
  return cmocka_run_group_tests_name("monitors", tests, sample_load_all, sample_unload);
}
