/* SPDX-License-Identifier: Apache-2.0 */
/* Monitoring traces in the text report: a line for each card, and one for the processes of each trace. */
#include <math.h>

#include "analyzer/report/report_text_internal.h"
#include "parsers/base/units.h"

enum {
  PROCESSES_NAMED = 3,
  IDLE_WORTH_PCT = 10, /* less idle time is not reported */
  BUSY_WORTH_PCT = 5,  /* below, the mean alone shows that the card was idle */
  FEW_SAMPLES = 10,    /* a shorter trace does not separate the job from the time around it */
  S_PER_H = 3600
};

/* Memory that rises or falls by less than this share of the peak is flat, however sure the slope is. */
#define FLAT_SHARE 0.02

bool wo__is_monitor_shown(const struct wo__writer *w, const struct wo_card_trace *monitor) {
  const struct wo_view format = w->report->job->inputs[monitor->file].format;
  return monitor->samples > 1 || w->page.style.is_verbose || !wo_view_is(format, "log");
}

/* "34.58 GiB of 44.40 GiB (head-room at most 9.82 GiB)". dmon does not show the card's size; the failure's message does. */
static void add_peak(const struct wo__writer *w, struct wo_text *text, const struct wo_card_trace *monitor) {
  const double whole =
      monitor->capacity_bytes.is_known ? monitor->capacity_bytes.value.mid : w->report->memory.capacity_bytes.mid;
  if (!monitor->fb_peak_bytes.is_known) {
    wo_text_add_view(text, monitor->lack.len > 0 ? monitor->lack : WO_VIEW("memory not in the trace"));
    return;
  }
  wo_text_add(text, "peak %s", WO_BYTES_TEXT(monitor->fb_peak_bytes.value.mid));
  if (whole <= 0) return;
  wo_text_add(text, " of %s", WO_BYTES_TEXT(whole));
  if (whole <= monitor->fb_peak_bytes.value.mid) return;
  wo_text_add(text, " (head-room at most %s)", WO_BYTES_TEXT(whole - monitor->fb_peak_bytes.value.mid));
}

/* "mean 22 % busy (31 % while memory was in use, idle in 40 % of the samples)". The second figure leaves out the time before and
 * after the job; it is written if it differs. */
static void add_load(struct wo_text *text, const struct wo_card_trace *monitor) {
  if (!monitor->sm_mean_pct.is_known) return;
  const double mean = monitor->sm_mean_pct.value.mid;
  const bool is_other = monitor->samples >= FEW_SAMPLES && monitor->course.sm_active_mean_pct.is_known &&
                        fabs(monitor->course.sm_active_mean_pct.value.mid - mean) >= 1;
  const bool is_idle = monitor->course.idle_pct.is_known && monitor->course.idle_pct.value.mid >= (double)IDLE_WORTH_PCT &&
                       mean >= (double)BUSY_WORTH_PCT;
  wo_text_add(text, ", mean %.0f %% busy", mean);
  if (is_other) wo_text_add(text, " (%.0f %% while memory was in use", monitor->course.sm_active_mean_pct.value.mid);
  if (is_idle) wo_text_add(text, "%sidle in %.0f %% of the samples", is_other ? ", " : " (", monitor->course.idle_pct.value.mid);
  if (is_other || is_idle) wo_text_add(text, ")");
}

/* "memory rose by 1.20 GiB an hour (0.90 to 1.50)", "memory flat", or nothing if neither is known. */
static void add_trend(struct wo_text *text, const struct wo_card_trace *monitor) {
  const bool has_time = monitor->course.fb_trend_per_s.is_known;
  const struct wo_figure *const slope = has_time ? &monitor->course.fb_trend_per_s : &monitor->course.fb_trend_per_sample;
  const struct wo_figure *const course = &monitor->course.fb_trend_per_sample;
  char lo[32], hi[32];
  if (!slope->is_known || !course->is_known || !monitor->course.active_samples.is_known) return;
  const double flat = FLAT_SHARE * monitor->fb_peak_bytes.value.mid / monitor->course.active_samples.value.mid;
  if (course->value.lo >= -flat && course->value.hi <= flat) {
    wo_text_add(text, ", memory flat");
    return;
  }
  /* A rise that ends before the middle is the start of the job. */
  const bool is_start =
      slope->value.lo > 0 && monitor->course.fb_late_rise_bytes.is_known && monitor->course.fb_late_rise_bytes.value.mid <= 0;
  if (is_start || (slope->value.lo <= 0 && slope->value.hi >= 0)) {
    wo_text_add(text, ", no steady rise of memory");
    return;
  }
  const double scale = (has_time ? S_PER_H : 1) * (slope->value.mid < 0 ? -1 : 1);
  const double near = slope->value.mid < 0 ? slope->value.hi : slope->value.lo;
  const double far = slope->value.mid < 0 ? slope->value.lo : slope->value.hi;
  wo_text_add(text, ", memory %s by %s %s (95 %%: %s to %s)", slope->value.mid < 0 ? "fell" : "rose",
              WO_BYTES_TEXT(slope->value.mid * scale), has_time ? "an hour" : "a sample",
              wo_units_bytes_text(near * scale, lo, sizeof lo), wo_units_bytes_text(far * scale, hi, sizeof hi));
}

/* "  trace: GPU 0 in dmon.txt: peak 34.58 GiB of 44.40 GiB, mean 22 % busy, 120 samples". The first line also says that a trace
 * misses short peaks: its peak never refutes a message. */
static void write_cards(struct wo__writer *w) {
  bool is_first = true;
  for (size_t i = 0; i < w->report->facts.monitor_count; i++) {
    const struct wo_card_trace *const monitor = &w->report->facts.monitors[i];
    if (!wo__is_monitor_shown(w, monitor)) continue;
    struct wo_text *const text = wo__writer_start(w);
    wo_text_add(text, "GPU %d in ", (int)monitor->gpu);
    wo__add_path(text, w->report->job->inputs[monitor->file].path);
    wo_text_add(text, ": ");
    add_peak(w, text, monitor);
    add_load(text, monitor);
    add_trend(text, monitor);
    wo_text_add(text, ", ");
    wo__add_counted(text, monitor->samples, "sample", "samples");
    if (is_first && monitor->fb_peak_bytes.is_known) {
      wo_text_add(text, "; a trace misses short peaks, so its peak is a lower bound");
      is_first = false;
    }
    wo__put_labelled(w, "trace:", wo__writer_scratch(w));
  }
}

/* "python (pid 4711, GPU 0) 20.00 GiB". */
static void add_process(struct wo_text *text, const struct wo_event *process) {
  const struct wo_view name = wo_event_text(process, WO_FIELD_NAME);
  const double pid = wo_event_number(process, WO_FIELD_PID, 0);
  const double gpu = wo_event_number(process, WO_FIELD_GPU, -1);
  const struct wo_field *const peak = wo_event_field(process, WO_FIELD_PEAK_BYTES);
  wo_text_add_view(text, name.len > 0 ? name : WO_VIEW("a process"));
  if (pid > 0) wo_text_add(text, " (pid %.0f", pid);
  if (gpu >= 0) wo_text_add(text, "%sGPU %.0f", pid > 0 ? ", " : " (", gpu);
  if (pid > 0 || gpu >= 0) wo_text_add(text, ")");
  if (peak != NULL) wo_text_add(text, " %s", WO_BYTES_TEXT(peak->number.mid));
}

/* "processes in pmon.txt: python (pid 4711, GPU 0) 20.00 GiB; and 3 more". The report lists the largest of a file first. */
static void write_processes(struct wo__writer *w) {
  const struct wo_report *const report = w->report;
  for (size_t i = 0; i < report->facts.process_count;) {
    const uint32_t file = report->facts.processes[i]->span.file;
    const bool is_log = wo_view_is(report->job->inputs[file].format, "log");
    struct wo_text *const text = wo__writer_start(w);
    size_t named = 0;
    wo_text_add(text, "processes in ");
    wo__add_path(text, report->job->inputs[file].path);
    wo_text_add(text, ": ");
    for (; i < report->facts.process_count && report->facts.processes[i]->span.file == file; i++, named++) {
      if (named >= PROCESSES_NAMED) continue;
      if (named > 0) wo_text_add(text, "; ");
      add_process(text, report->facts.processes[i]);
    }
    if (named > PROCESSES_NAMED) wo_text_add(text, "; and %zu more", named - PROCESSES_NAMED);
    if (!is_log || w->page.style.is_verbose) wo__put_labelled(w, "trace:", wo__writer_scratch(w));
  }
}

void wo__write_monitors(struct wo__writer *w) {
  write_cards(w);
  write_processes(w);
}
