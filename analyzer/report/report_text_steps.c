/* SPDX-License-Identifier: Apache-2.0 */
/* Memory along the steps in the text report: one line, for the rank of the diagnosis. */
#include "analyzer/report/report_text_internal.h"
#include "analyzer/facts/step_memory.h"
#include "parsers/base/units.h"

/* Memory that spreads over less than this share of its highest figure is flat. */
#define FLAT_SHARE 0.02

/* A jump is one rise of at least this share of the spread. */
#define JUMP_SHARE 0.6

static void add_bytes(struct wo_text *text, double bytes) {
  wo_text_add(text, "%s", WO_BYTES_TEXT(bytes));
}

/* "allocated memory", "peak memory"; just "memory" if the log does not name the figure. */
static const char *name_of(struct wo_view figure) {
  if (wo_view_is(figure, "allocated")) return "allocated memory";
  if (wo_view_is(figure, "reserved")) return "reserved memory";
  if (wo_view_is(figure, "peak_allocated")) return "peak memory";
  if (wo_view_is(figure, "peak_reserved")) return "peak reserved memory";
  return "memory";
}

static bool has_jump(const struct wo_event *row) {
  const double jump = wo_event_number(row, WO_FIELD_JUMP_BYTES, 0);
  return jump > 2 * FLAT_SHARE * wo_event_number(row, WO_FIELD_PEAK_BYTES, 0) &&
         jump >= JUMP_SHARE * wo_event_number(row, WO_FIELD_SPREAD_BYTES, 0);
}

/* A rise that ends before the middle is the start of the job. */
static bool is_rising(const struct wo_event *row) {
  const bool is_start = wo_event_number(row, WO_FIELD_LATE_RISE_BYTES, 1) <= 0;
  return wo_figure_of(row, WO_FIELD_SLOPE_BYTES_PER_STEP).value.lo > 0 && !is_start;
}

/* "rising by 12.00 MiB a step (95 %: 11.90 MiB to 12.10 MiB)", "flat", "up by 9.00 GiB at step 1210 (log:2411)". */
static void add_course(struct wo_text *text, const struct wo_event *row, struct wo_view path) {
  const struct wo_interval slope = wo_figure_of(row, WO_FIELD_SLOPE_BYTES_PER_STEP).value;
  const struct wo_view unit = wo_event_text(row, WO_FIELD_STEP_UNIT);
  const double jump_step = wo_event_number(row, WO_FIELD_JUMP_STEP, -1);
  const double flat_bytes = FLAT_SHARE * wo_event_number(row, WO_FIELD_PEAK_BYTES, 0);
  const bool is_peak = wo_view_starts(wo_event_text(row, WO_FIELD_NAME), "peak_");
  if (wo_event_field(row, WO_FIELD_SPREAD_BYTES) && wo_event_number(row, WO_FIELD_SPREAD_BYTES, 0) <= flat_bytes) {
    wo_text_add(text, ", flat");
  } else if (has_jump(row)) {
    wo_text_add(text, ", up by ");
    add_bytes(text, wo_event_number(row, WO_FIELD_JUMP_BYTES, 0));
    if (jump_step >= 0) wo_text_add(text, " at %.*s %.0f", WO_SHOWN(unit), jump_step);
    wo_text_add(text, " (");
    wo__add_path(text, path);
    wo_text_add(text, ":%.0f)", wo_event_number(row, WO_FIELD_JUMP_LINE, 0));
  } else if (!is_peak && is_rising(row)) {
    wo_text_add(text, ", rising by ");
    add_bytes(text, slope.mid);
    wo_text_add(text, unit.len > 0 ? " a %.*s (95 %%: " : " a print%.*s (95 %%: ", WO_SHOWN(unit));
    add_bytes(text, slope.lo);
    wo_text_add(text, " to ");
    add_bytes(text, slope.hi);
    wo_text_add(text, ")");
  } else if (!is_peak) {
    wo_text_add(text, ", no steady rise");
  }
}

/* "  steps: allocated memory 12.10 GiB at step 10, 37.90 GiB at step 1530, rising by ... (slurm-1.out:12 to 1544)". */
void wo__write_steps(struct wo__writer *w) {
  const struct wo_report *const report = w->report;
  const double capacity = report->has_memory ? report->memory.capacity_bytes.mid : 0;
  const struct wo_event *const row = wo_step_memory_lead(&report->facts, capacity);
  if (row == NULL) return;
  const struct wo_view path = report->job->inputs[row->span.file].path;
  const struct wo_view unit = wo_event_text(row, WO_FIELD_STEP_UNIT);
  const double first_step = wo_event_number(row, WO_FIELD_STEP_FIRST, -1), last_step = wo_event_number(row, WO_FIELD_STEP, -1);
  const double first = wo_event_number(row, WO_FIELD_FIRST_BYTES, 0), last = wo_event_number(row, WO_FIELD_LAST_BYTES, 0);
  const double peak = wo_event_number(row, WO_FIELD_PEAK_BYTES, 0);
  const bool has_steps = first_step >= 0 && last_step >= 0 && wo_event_number(row, WO_FIELD_WRAP_COUNT, 0) == 0;
  struct wo_text *const text = wo__writer_start(w);
  if (row->rank >= 0) wo_text_add(text, "rank %d: ", (int)row->rank);
  wo_text_add(text, "%s ", name_of(wo_event_text(row, WO_FIELD_NAME)));
  add_bytes(text, first);
  if (has_steps) wo_text_add(text, " at %.*s %.0f", WO_SHOWN(unit), first_step);
  wo_text_add(text, ", ");
  add_bytes(text, last);
  if (has_steps) wo_text_add(text, " at %.0f", last_step);
  if (peak > last && peak > first) {
    wo_text_add(text, ", highest ");
    add_bytes(text, peak);
  }
  add_course(text, row, path);
  wo_text_add(text, ", ");
  wo__add_counted(text, wo_event_count(row, WO_FIELD_SAMPLES), "print", "prints");
  wo_text_add(text, " (");
  wo__add_path(text, path);
  wo_text_add(text, ":%.0f to %llu)", wo_event_number(row, WO_FIELD_LINE_FIRST, 0), (unsigned long long)row->span.line);
  wo__put_labelled(w, "steps:", wo__writer_scratch(w));
}
