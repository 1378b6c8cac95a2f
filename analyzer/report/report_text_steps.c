/* Memory along the steps in the text report: one line, for the rank of the diagnosis. */
#include "analyzer/report/report_text_internal.h"
#include "analyzer/facts/step_memory.h"
#include "parsers/base/units.h"

/* Memory that spreads over less than this share of its highest figure is flat. */
#define FLAT_SHARE 0.02

/* A jump is one rise of at least this share of the spread. */
#define JUMP_SHARE 0.6

static void add_bytes(struct wo_text *text, double bytes) {
  char size[32];
  wo_text_add(text, "%s", wo_units_bytes_text(bytes, size, sizeof size));
}

/* "allocated memory", "peak memory"; just "memory" if the log does not name the figure. */
static const char *name_of(struct wo_view figure) {
  if (wo_view_is(figure, "allocated")) return "allocated memory";
  if (wo_view_is(figure, "reserved")) return "reserved memory";
  if (wo_view_is(figure, "peak_allocated")) return "peak memory";
  if (wo_view_is(figure, "peak_reserved")) return "peak reserved memory";
  return "memory";
}

static bool has_jump(const struct wo_step_memory *row) {
  return row->jump_bytes.is_known && row->spread_bytes.is_known &&
         row->jump_bytes.value.mid >= JUMP_SHARE * row->spread_bytes.value.mid &&
         row->jump_bytes.value.mid > 2 * FLAT_SHARE * row->peak_bytes.value.mid;
}

/* A rise that ends before the middle is the start of the job. */
static bool is_rising(const struct wo_step_memory *row) {
  const bool is_start = row->late_rise_bytes.is_known && row->late_rise_bytes.value.mid <= 0;
  return row->slope_bytes_per_step.is_known && row->slope_bytes_per_step.value.lo > 0 && !is_start;
}

/* "rising by 12.00 MiB a step (95 %: 11.90 MiB to 12.10 MiB)", "flat", "up by 9.00 GiB at step 1210 (log:2411)". */
static void add_course(struct wo_text *text, const struct wo_step_memory *row, struct wo_view path) {
  const struct wo_figure *const slope = &row->slope_bytes_per_step;
  const bool is_peak = wo_view_starts(row->figure, "peak_");
  if (row->spread_bytes.is_known && row->spread_bytes.value.mid <= FLAT_SHARE * row->peak_bytes.value.mid) {
    wo_text_add(text, ", flat");
  } else if (has_jump(row)) {
    wo_text_add(text, ", up by ");
    add_bytes(text, row->jump_bytes.value.mid);
    if (row->jump_step.is_known)
      wo_text_add(text, " at %.*s %.0f", (int)row->step_unit.len, row->step_unit.ptr, row->jump_step.value.mid);
    wo_text_add(text, " (");
    wo__add_path(text, path);
    wo_text_add(text, ":%llu)", (unsigned long long)row->jump_line);
  } else if (!is_peak && is_rising(row)) {
    wo_text_add(text, ", rising by ");
    add_bytes(text, slope->value.mid);
    wo_text_add(text, row->step_unit.len > 0 ? " a %.*s (95 %%: " : " a print%.*s (95 %%: ", (int)row->step_unit.len,
                row->step_unit.ptr);
    add_bytes(text, slope->value.lo);
    wo_text_add(text, " to ");
    add_bytes(text, slope->value.hi);
    wo_text_add(text, ")");
  } else if (!is_peak) {
    wo_text_add(text, ", no steady rise");
  }
}

/* "  steps: allocated memory 12.10 GiB at step 10, 37.90 GiB at step 1530, rising by ... (slurm-1.out:12 to 1544)". */
void wo__write_steps(struct wo__writer *w) {
  const struct wo_report *const report = w->report;
  const double capacity = report->has_memory ? report->memory.capacity_bytes.mid : 0;
  const struct wo_step_memory *const row =
      wo_step_memory_lead(report->job, report->facts.steps, report->facts.step_count, capacity);
  if (row == NULL) return;
  const struct wo_view path = report->job->inputs[row->file].path;
  const bool has_steps = row->step_first.is_known && row->step_last.is_known && row->wraps == 0;
  struct wo_text *const text = wo__writer_start(w);
  if (row->rank >= 0) wo_text_add(text, "rank %d: ", (int)row->rank);
  wo_text_add(text, "%s ", name_of(row->figure));
  add_bytes(text, row->first_bytes.value.mid);
  if (has_steps) wo_text_add(text, " at %.*s %.0f", (int)row->step_unit.len, row->step_unit.ptr, row->step_first.value.mid);
  wo_text_add(text, ", ");
  add_bytes(text, row->last_bytes.value.mid);
  if (has_steps) wo_text_add(text, " at %.0f", row->step_last.value.mid);
  if (row->peak_bytes.value.mid > row->last_bytes.value.mid && row->peak_bytes.value.mid > row->first_bytes.value.mid) {
    wo_text_add(text, ", highest ");
    add_bytes(text, row->peak_bytes.value.mid);
  }
  add_course(text, row, path);
  wo_text_add(text, ", ");
  wo__add_counted(text, row->samples, "print", "prints");
  wo_text_add(text, " (");
  wo__add_path(text, path);
  wo_text_add(text, ":%llu to %llu)", (unsigned long long)row->line_first, (unsigned long long)row->line_last);
  wo__put_labelled(w, "steps:", wo__writer_scratch(w));
}
