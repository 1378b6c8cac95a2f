/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the figures of monitoring traces: one row for each file and GPU. */
#include "analyzer/facts/monitors.h"

#include <assert.h>
#include <stdlib.h>

#include "analyzer/facts/facts_internal.h"

/* The scanner makes one event for each GPU and format at the end of a file, with the sums in its fields. */
static struct wo_card_trace read_event(const struct wo_event *event) {
  return (struct wo_card_trace){
      .file = event->span.file,
      .gpu = wo_event_index(event, WO_FIELD_GPU, 0),
      .samples = wo_event_count(event, WO_FIELD_SAMPLES),
      .fb_peak_bytes = wo_figure_of(event, WO_FIELD_FB_PEAK_BYTES),
      .fb_last_bytes = wo_figure_of(event, WO_FIELD_FB_LAST_BYTES),
      .fb_slope_bytes_per_s = wo_figure_of(event, WO_FIELD_FB_SLOPE_BYTES_PER_S),
      .fb_slope_bytes_per_sample = wo_figure_of(event, WO_FIELD_FB_SLOPE_BYTES_PER_SAMPLE),
      .sm_mean_pct = wo_figure_of(event, WO_FIELD_SM_MEAN_PCT),
      .capacity_bytes = wo_figure_of(event, WO_FIELD_CAPACITY_BYTES),
      .course.active_samples = wo_figure_of(event, WO_FIELD_ACTIVE_SAMPLES),
      .course.sm_active_mean_pct = wo_figure_of(event, WO_FIELD_SM_ACTIVE_MEAN_PCT),
      .course.idle_pct = wo_figure_of(event, WO_FIELD_IDLE_PCT),
      .course.fb_trend_per_s = wo_figure_of(event, WO_FIELD_FB_TREND_BYTES_PER_S),
      .course.fb_trend_per_sample = wo_figure_of(event, WO_FIELD_FB_TREND_BYTES_PER_SAMPLE),
      .course.fb_late_rise_bytes = wo_figure_of(event, WO_FIELD_FB_LATE_RISE_BYTES),
      .lack = wo_event_text(event, WO_FIELD_MESSAGE),
      .evidence = event->id,
  };
}

/* The first figure that is known. */
static struct wo_figure either(struct wo_figure a, struct wo_figure b) {
  return a.is_known ? a : b;
}

/* Weighted by samples: a table that was printed once counts less than a trace of hours. */
static struct wo_figure mean_of(const struct wo_card_trace *a, const struct wo_card_trace *b) {
  if (!a->sm_mean_pct.is_known || !b->sm_mean_pct.is_known) return either(a->sm_mean_pct, b->sm_mean_pct);
  const double samples = (double)(a->samples + b->samples);
  const double sum = a->sm_mean_pct.value.mid * (double)a->samples + b->sm_mean_pct.value.mid * (double)b->samples;
  const double mean = sum / samples;
  return (struct wo_figure){true, {mean, mean, mean}};
}

/* Two formats in one file are about the same GPU. Slopes cannot be added: the longer trace gives them. */
static void merge(struct wo_card_trace *into, const struct wo_card_trace *other) {
  const struct wo_card_trace old = *into;
  const struct wo_card_trace *const longer = other->samples > old.samples ? other : &old;
  const struct wo_card_trace *const shorter = longer == other ? &old : other;
  into->sm_mean_pct = mean_of(&old, other);
  into->samples = old.samples + other->samples;
  if (other->fb_peak_bytes.is_known &&
      (!old.fb_peak_bytes.is_known || other->fb_peak_bytes.value.mid > old.fb_peak_bytes.value.mid)) {
    into->fb_peak_bytes = other->fb_peak_bytes;
    into->evidence = other->evidence;
  }
  into->fb_last_bytes = either(longer->fb_last_bytes, shorter->fb_last_bytes);
  into->fb_slope_bytes_per_s = either(longer->fb_slope_bytes_per_s, shorter->fb_slope_bytes_per_s);
  into->fb_slope_bytes_per_sample = either(longer->fb_slope_bytes_per_sample, shorter->fb_slope_bytes_per_sample);
  into->course = longer->course; /* figures of its course cannot be added to those of another */
  into->capacity_bytes = either(old.capacity_bytes, other->capacity_bytes);
}

/* GPUs are few (WO_LIMIT_MONITORS for each file), so a linear search is enough. The same index in two files makes two rows,
 * because they may belong to two nodes. */
static struct wo_card_trace *find(struct wo_card_trace *rows, size_t count, const struct wo_card_trace *like) {
  for (size_t i = 0; i < count; i++) {
    if (rows[i].file == like->file && rows[i].gpu == like->gpu) return &rows[i];
  }
  return NULL;
}

/* Collects the job's monitor events; those of one GPU in one file become one row. */
static void make_monitors(struct wo_facts *facts) {
  const struct wo_job *const job = facts->job;
  const size_t most = job->events.per_kind[WO_KIND_MONITOR];
  struct wo_card_trace *const rows = most > 0 ? wo_arena_array(facts->arena, most, sizeof *rows) : NULL;
  for (size_t i = 0; rows != NULL && i < job->events.count; i++) {
    const struct wo_event *const event = &job->events.items[i];
    if (event->kind != WO_KIND_MONITOR || event->span.file >= job->input_count) continue;
    const struct wo_card_trace row = read_event(event);
    struct wo_card_trace *const same = find(rows, facts->monitor_count, &row);
    assert(same || facts->monitor_count < most);
    if (same) {
      merge(same, &row);
    } else {
      rows[facts->monitor_count++] = row;
    }
  }
  facts->monitors = rows;
}

/* ---- Processes ---- */

/* The largest first; an unknown size counts as 0. Equal ones keep their order in the evidence, so that the result is always the
 * same. */
static int compare_processes(const void *a, const void *b) {
  const struct wo_event *const x = *(const struct wo_event *const *)a;
  const struct wo_event *const y = *(const struct wo_event *const *)b;
  const double x_peak = wo_event_number(x, WO_FIELD_PEAK_BYTES, 0);
  const double y_peak = wo_event_number(y, WO_FIELD_PEAK_BYTES, 0);
  if (x->span.file != y->span.file) return x->span.file < y->span.file ? -1 : 1;
  if (x_peak != y_peak) return x_peak > y_peak ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* Collects the processes of traces, by file, the largest first. */
static void make_processes(struct wo_facts *facts) {
  const struct wo_job *const job = facts->job;
  const size_t most = job->events.per_kind[WO_KIND_GPU_PROCESS];
  facts->processes = most > 0 ? wo_arena_array(facts->arena, most, sizeof *facts->processes) : NULL;
  if (!facts->processes) return;
  wo_each_event (event, &job->events) {
    if (event->kind == WO_KIND_GPU_PROCESS && event->span.file < job->input_count)
      facts->processes[facts->process_count++] = event;
  }
  qsort(facts->processes, facts->process_count, sizeof *facts->processes, compare_processes);
}

/* ---- Facts ---- */

/* The GPU with the highest peak. The GPU of the failure cannot be used: nvidia-smi and CUDA number GPUs differently. */
static const struct wo_card_trace *find_fullest(const struct wo_card_trace *monitors, size_t count) {
  const struct wo_card_trace *best = NULL;
  for (size_t i = 0; i < count; i++) {
    if (monitors[i].samples < 2) continue;
    if (best == NULL || monitors[i].fb_peak_bytes.value.mid > best->fb_peak_bytes.value.mid) best = &monitors[i];
  }
  return best;
}

static void set_share(struct wo_facts *facts, const char *name, struct wo_figure pct, wo_event_id evidence) {
  if (pct.is_known) wo__set_number(facts, name, pct.value.mid / 100, evidence);
}

/* The rise is from the first to the last sample: a slope per second needs times, which many traces lack, and says little without
 * the length of the trace. */
static void read_fullest(struct wo_facts *facts, const struct wo_card_trace *best) {
  wo__set_figure(facts, "dmon.fb_peak", best->fb_peak_bytes, best->evidence);
  wo__set_figure(facts, "dmon.capacity", best->capacity_bytes, best->evidence);
  wo__set_figure(facts, "dmon.fb_late_rise", best->course.fb_late_rise_bytes, best->evidence);
  set_share(facts, "dmon.sm_mean", best->sm_mean_pct, best->evidence);
  set_share(facts, "dmon.sm_active_mean", best->course.sm_active_mean_pct, best->evidence);
  set_share(facts, "dmon.idle", best->course.idle_pct, best->evidence);
  if (best->fb_peak_bytes.is_known && best->capacity_bytes.is_known) {
    const double room = best->capacity_bytes.value.mid - best->fb_peak_bytes.value.mid;
    wo__set_number(facts, "dmon.headroom", room > 0 ? room : 0, best->evidence);
  }
  if (best->fb_slope_bytes_per_sample.is_known) {
    const double rise = best->fb_slope_bytes_per_sample.value.mid * (double)(best->samples - 1);
    wo__set_number(facts, "dmon.fb_slope", rise, best->evidence);
  }
}

/* The largest number of GPUs in one file: two files may be from two nodes, or about the same GPUs. */
static size_t count_cards(const struct wo_card_trace *monitors, size_t count) {
  size_t most = 0;
  size_t cards = 0;
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && monitors[i].file != monitors[i - 1].file) cards = 0;
    if (monitors[i].samples >= 2 && ++cards > most) most = cards;
  }
  return most;
}

/* The number of GPUs, and how much their peaks differ. */
static void read_spread(struct wo_facts *facts, const struct wo_card_trace *monitors, size_t count, wo_event_id evidence) {
  double lowest = 0;
  double highest = 0;
  size_t known = 0;
  for (size_t i = 0; i < count; i++) {
    if (monitors[i].samples < 2 || !monitors[i].fb_peak_bytes.is_known) continue;
    const double peak = monitors[i].fb_peak_bytes.value.mid;
    if (known == 0 || peak < lowest) lowest = peak;
    if (known == 0 || peak > highest) highest = peak;
    known++;
  }
  wo__set_number(facts, "dmon.gpu_count", (double)count_cards(monitors, count), evidence);
  if (known > 1) wo__set_number(facts, "dmon.fb_spread", highest - lowest, evidence);
}

void wo__facts_monitors(struct wo_facts *facts) {
  make_monitors(facts);
  make_processes(facts);
  if (facts->process_count > 0)
    wo__set_number(facts, "dmon.process_count", (double)facts->process_count, facts->processes[0]->id);
  const struct wo_card_trace *const best = find_fullest(facts->monitors, facts->monitor_count);
  if (best == NULL) return;
  read_fullest(facts, best);
  read_spread(facts, facts->monitors, facts->monitor_count, best->evidence);
}
