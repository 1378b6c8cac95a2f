/* Gathers what monitoring traces show: one row for each file and card. */
#include "analyzer/facts/monitors.h"

#include <assert.h>
#include <stdlib.h>

/* Figures of a trace are exact as far as anybody knows, so the middle of the interval is taken for all of it. */
static struct wo_report_figure figure(const struct wo_event *event, enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  if (!field) return (struct wo_report_figure){false, 0};
  return (struct wo_report_figure){true, field->number.mid};
}

/* Slopes are estimates, and keep their interval. */
static struct wo_report_slope slope(const struct wo_event *event, enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  if (!field) return (struct wo_report_slope){.is_known = false};
  return (struct wo_report_slope){true, field->number};
}

/* The scanner makes one event for each card and format when the file ends, with the sums in its fields. */
static struct wo_report_monitor read_event(const struct wo_event *event) {
  return (struct wo_report_monitor){
      .file = event->span.file,
      .gpu = (int32_t)wo_event_number(event, WO_FIELD_GPU, 0),
      .samples = (uint64_t)wo_event_number(event, WO_FIELD_SAMPLES, 0),
      .fb_peak_bytes = figure(event, WO_FIELD_FB_PEAK_BYTES),
      .fb_last_bytes = figure(event, WO_FIELD_FB_LAST_BYTES),
      .fb_slope_bytes_per_s = figure(event, WO_FIELD_FB_SLOPE_BYTES_PER_S),
      .fb_slope_bytes_per_sample = figure(event, WO_FIELD_FB_SLOPE_BYTES_PER_SAMPLE),
      .sm_mean_pct = figure(event, WO_FIELD_SM_MEAN_PCT),
      .capacity_bytes = figure(event, WO_FIELD_CAPACITY_BYTES),
      .active_samples = figure(event, WO_FIELD_ACTIVE_SAMPLES),
      .sm_active_mean_pct = figure(event, WO_FIELD_SM_ACTIVE_MEAN_PCT),
      .idle_pct = figure(event, WO_FIELD_IDLE_PCT),
      .fb_trend_per_s = slope(event, WO_FIELD_FB_TREND_BYTES_PER_S),
      .fb_trend_per_sample = slope(event, WO_FIELD_FB_TREND_BYTES_PER_SAMPLE),
      .fb_late_rise_bytes = figure(event, WO_FIELD_FB_LATE_RISE_BYTES),
      .lack = wo_event_text(event, WO_FIELD_MESSAGE),
      .evidence = event->id,
  };
}

/* The first figure that is known. */
static struct wo_report_figure either(struct wo_report_figure a, struct wo_report_figure b) {
  return a.is_known ? a : b;
}

/* Weighted by samples: a table printed once must not count as much as a trace of hours. */
static struct wo_report_figure mean(const struct wo_report_monitor *a, const struct wo_report_monitor *b) {
  if (!a->sm_mean_pct.is_known || !b->sm_mean_pct.is_known) return either(a->sm_mean_pct, b->sm_mean_pct);
  const double samples = (double)(a->samples + b->samples);
  const double sum = a->sm_mean_pct.value * (double)a->samples + b->sm_mean_pct.value * (double)b->samples;
  return (struct wo_report_figure){true, sum / samples};
}

/* What was told from the course of one trace cannot be added to that of another. */
static void take_course(struct wo_report_monitor *into, const struct wo_report_monitor *from) {
  into->active_samples = from->active_samples;
  into->sm_active_mean_pct = from->sm_active_mean_pct;
  into->idle_pct = from->idle_pct;
  into->fb_trend_per_s = from->fb_trend_per_s;
  into->fb_trend_per_sample = from->fb_trend_per_sample;
  into->fb_late_rise_bytes = from->fb_late_rise_bytes;
}

/* Two formats in one file tell of the same card. Slopes cannot be added: that of the longer trace stands. */
static void merge(struct wo_report_monitor *into, const struct wo_report_monitor *other) {
  const struct wo_report_monitor old = *into;
  const struct wo_report_monitor *const longer = other->samples > old.samples ? other : &old;
  const struct wo_report_monitor *const shorter = longer == other ? &old : other;
  into->sm_mean_pct = mean(&old, other);
  into->samples = old.samples + other->samples;
  if (other->fb_peak_bytes.is_known && (!old.fb_peak_bytes.is_known || other->fb_peak_bytes.value > old.fb_peak_bytes.value)) {
    into->fb_peak_bytes = other->fb_peak_bytes;
    into->evidence = other->evidence;
  }
  into->fb_last_bytes = either(longer->fb_last_bytes, shorter->fb_last_bytes);
  into->fb_slope_bytes_per_s = either(longer->fb_slope_bytes_per_s, shorter->fb_slope_bytes_per_s);
  into->fb_slope_bytes_per_sample = either(longer->fb_slope_bytes_per_sample, shorter->fb_slope_bytes_per_sample);
  take_course(into, longer);
  into->capacity_bytes = either(old.capacity_bytes, other->capacity_bytes);
}

/* Cards are few (WO_LIMIT_MONITORS for each file), so a plain search will do. The same index in two files is two rows: they may
 * be of two nodes. */
static struct wo_report_monitor *find(struct wo_report_monitor *rows, size_t count, const struct wo_report_monitor *like) {
  for (size_t i = 0; i < count; i++) {
    if (rows[i].file == like->file && rows[i].gpu == like->gpu) return &rows[i];
  }
  return NULL;
}

enum wo_status wo_monitors_make(const struct wo_job *job, struct wo_arena *arena, const struct wo_report_monitor **ret_monitors,
                                size_t *ret_count) {
  const size_t most = job->events.per_kind[WO_KIND_MONITOR];
  size_t count = 0;
  *ret_count = 0;
  if (most == 0) return WO_OK;
  struct wo_report_monitor *const rows = wo_arena_array(arena, most, sizeof *rows);
  if (!rows) return WO_E_NOMEM;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *const event = &job->events.items[i];
    if (event->kind != WO_KIND_MONITOR || event->span.file >= job->input_count) continue;
    const struct wo_report_monitor row = read_event(event);
    struct wo_report_monitor *const same = find(rows, count, &row);
    assert(same || count < most);
    if (same) {
      merge(same, &row);
    } else {
      rows[count++] = row;
    }
  }
  *ret_monitors = rows;
  *ret_count = count;
  return WO_OK;
}

/* ---- Processes ---- */

static struct wo_report_process read_process(const struct wo_event *event) {
  return (struct wo_report_process){
      .file = event->span.file,
      .gpu = (int32_t)wo_event_number(event, WO_FIELD_GPU, -1),
      .pid = (uint64_t)wo_event_number(event, WO_FIELD_PID, 0),
      .name = wo_event_text(event, WO_FIELD_NAME),
      .samples = (uint64_t)wo_event_number(event, WO_FIELD_SAMPLES, 0),
      .peak_bytes = figure(event, WO_FIELD_PEAK_BYTES),
      .evidence = event->id,
  };
}

/* The largest first; a size that is unknown counts as none. The order of finding decides between equals, so that it is always the
 * same. */
static int compare_processes(const void *a, const void *b) {
  const struct wo_report_process *const x = a;
  const struct wo_report_process *const y = b;
  if (x->file != y->file) return x->file < y->file ? -1 : 1;
  if (x->peak_bytes.value != y->peak_bytes.value) return x->peak_bytes.value > y->peak_bytes.value ? -1 : 1;
  return x->evidence < y->evidence ? -1 : x->evidence > y->evidence;
}

enum wo_status wo_processes_make(const struct wo_job *job, struct wo_arena *arena, const struct wo_report_process **ret_processes,
                                 size_t *ret_count) {
  const size_t most = job->events.per_kind[WO_KIND_GPU_PROCESS];
  size_t count = 0;
  *ret_count = 0;
  if (most == 0) return WO_OK;
  struct wo_report_process *const rows = wo_arena_array(arena, most, sizeof *rows);
  if (!rows) return WO_E_NOMEM;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *const event = &job->events.items[i];
    if (event->kind == WO_KIND_GPU_PROCESS && event->span.file < job->input_count) rows[count++] = read_process(event);
  }
  qsort(rows, count, sizeof *rows, compare_processes);
  *ret_processes = rows;
  *ret_count = count;
  return WO_OK;
}
