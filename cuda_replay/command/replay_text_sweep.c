/* SPDX-License-Identifier: Apache-2.0 */
/* Results side by side: the what-if beside the recorded run, and the sweep, best first, harmful settings marked, with the line to
 * paste. See replay_text_internal.h. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/command/replay_text_internal.h"

/* The most reasons of a forecast that are shown. */
enum { REASONS_SHOWN = 5 };

enum {
  SIZE_COLUMNS = 10,
  IDLE_COLUMNS = 8,
  RESULT_COLUMNS = 14,
  LABEL_COLUMN = 2 + SIZE_COLUMNS + IDLE_COLUMNS + RESULT_COLUMNS + 2
};

/* One unit for a whole table: GiB, or MiB if all values are small. */
static bool is_small(const struct wo_replay_report *report) {
  uint64_t most = report->has_whatif ? report->whatif.reserved_hi_bytes : 0;
  for (size_t i = 0; report->has_sweep && i < report->sweep.count; i++) {
    const uint64_t bytes = report->sweep.rows[i].result.reserved_hi_bytes;
    if (bytes > most) most = bytes;
  }
  return most < (uint64_t)WO_GIB;
}

static void add_size(struct wo_replay_writer *w, uint64_t bytes, int columns) {
  wo_text_add(w->out, "%*.2f", columns, (double)bytes / (is_small(w->report) ? WO_MIB : WO_GIB));
}

/* The columns' names, in one line. */
static void write_head(struct wo_replay_writer *w, const char *what) {
  wo_text_add(w->out, "\n  %s (%s reserved at the peak, idle share of it, result)\n", what, is_small(w->report) ? "MiB" : "GiB");
}

/* Whether it fits, and by how much; the recorded run had a card of its own. */
static void add_result(struct wo_replay_writer *w, const struct wo_replay_case *result) {
  if (result->oom_count == result->run_count && result->run_count > 0) {
    wo_text_add(w->out, "%*s", RESULT_COLUMNS, "out of memory");
  } else if (result->oom_count > 0) {
    wo_text_add(w->out, "%*s", RESULT_COLUMNS, "OOM at times");
  } else if (w->report->capacity.bytes > 0 && result != &w->report->recorded) {
    add_size(w, wo_replay_margin(w->report, result), RESULT_COLUMNS - 5);
    wo_text_add(w->out, " left");
  } else {
    wo_text_add(w->out, "%*s", RESULT_COLUMNS, "");
  }
}

/* The numbers, then the label in w->line, wrapped in a column of its own. Only the numbers are coloured, so that colours do not
 * affect the wrapping. */
static void write_row(struct wo_replay_writer *w, const struct wo_replay_case *result, enum wo_tint color) {
  if (color != WO_TINT_PLAIN) wo__replay_color(w, color);
  wo_text_add(w->out, "  ");
  add_size(w, result->reserved_hi_bytes, SIZE_COLUMNS);
  wo_text_add(w->out, "%*.1f %%", IDLE_COLUMNS - 2, wo_replay_idle_pct(result));
  add_result(w, result);
  if (color != WO_TINT_PLAIN) wo__replay_color(w, WO_TINT_PLAIN);
  if (result->reserved_lo_bytes != result->reserved_hi_bytes && result->oom_count == 0) {
    wo_text_add(&w->line, " (up to %s less, by the order of addresses)",
                WO_BYTES_TEXT(result->reserved_hi_bytes - result->reserved_lo_bytes));
  }
  wo__replay_put_behind(w, LABEL_COLUMN);
}

/* ---- What if ---- */

/* Settings, then the start of the run: rows differ in one of the two. */
static void write_case(struct wo_replay_writer *w, bool has_case, const struct wo_replay_case *result, const char *from) {
  if (!has_case) return;
  wo_replay_settings(w->report, &result->settings, &w->line);
  wo_text_add(&w->line, ", %s", from);
  if (result->oom_count > 0 && result->outcome.oom_entry != WO_NO_ENTRY)
    wo_text_add(&w->line, ", at entry %" PRIu32, result->outcome.oom_entry);
  write_row(w, result, WO_TINT_PLAIN);
}

/* The ends of the uncertain sizes; one row if they are the same. */
static void write_bounds(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  const bool is_sure = !wo_replay_is_interval(report);
  for (int bound = 0; bound < WO_BOUND_COUNT_; bound++) {
    if (is_sure && bound != WO_BOUND_LIKELY) continue;
    wo_change_text(&report->change, &w->line);
    if (report->is_changed) {
      wo_text_add(&w->line, ", ");
      wo_replay_settings(report, &report->settings, &w->line);
    }
    if (!is_sure) wo_text_add(&w->line, ", %s", wo_bound_name((enum wo_bound)bound));
    write_row(w, &report->bounds[bound], WO_TINT_PLAIN);
  }
}

/* The reasons for the growth of the bytes in the likely peak, largest first; only the important ones. */
static void write_reasons(struct wo_replay_writer *w) {
  const struct wo_forecast *const forecast = &w->report->forecast;
  bool is_written[WO_SCALE_REASON_COUNT_] = {false};
  wo_text_add(&w->line, "the likely peak by reason:");
  for (int row = 0; row < REASONS_SHOWN; row++) {
    int best = WO_SCALE_REASON_COUNT_;
    for (int i = 0; i < WO_SCALE_REASON_COUNT_; i++) {
      if (is_written[i] || forecast->reason_bytes[i] == 0) continue;
      if (best == WO_SCALE_REASON_COUNT_ || forecast->reason_bytes[i] > forecast->reason_bytes[best]) best = i;
    }
    if (best == WO_SCALE_REASON_COUNT_) break;
    is_written[best] = true;
    wo_text_add(&w->line, "%s %s (%s)", row > 0 ? "," : "", WO_BYTES_TEXT(forecast->reason_bytes[best]),
                wo_scale_reason_text((enum wo_scale_reason)best));
  }
  if (forecast->unsure_bytes > 0) wo_text_add(&w->line, "; %s of it may grow otherwise", WO_BYTES_TEXT(forecast->unsure_bytes));
  wo__replay_put(w, 4, 6);
}

/* The assumptions about a changed program. */
static void write_assumptions(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  if (report->has_pair) {
    wo_text_add(&w->line,
                "the second recording: %zu of %zu allocations have a partner; of these %zu keep their size, %zu grow in "
                "proportion, %zu with the square, %zu otherwise",
                report->pair.matched, report->pair.count, report->pair.by_power[0], report->pair.by_power[1],
                report->pair.by_power[2], report->pair.others);
    wo__replay_put(w, 4, 6);
  } else if (report->change.has_scale) {
    wo_text_add(&w->line, "how each allocation grows is inferred from one recording");
    if (wo_replay_is_interval(report)) wo_text_add(&w->line, "; low and high are the ends of what it leaves open");
    wo_text_add(&w->line, " (--pair OTHER reads it off a second one)");
    wo__replay_put(w, 4, 6);
  }
  if (report->has_forecast) write_reasons(w);
  for (size_t i = 0; i < report->change.transform_count; i++) {
    const struct wo_transform *const transform = report->change.transforms[i].transform;
    if (!transform->assumption) continue;
    wo_text_add(&w->line, "%s: %s", transform->name, transform->assumption);
    wo__replay_put(w, 4, 6);
  }
}

/* The requests after a failed one are not in the recording: a what-if proves only the recorded part. */
static void write_end(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  if (report->capacity.oom_entry == UINT32_MAX) return;
  wo_text_add(&w->line,
              "entry %" PRIu32
              " is a request that failed when it was recorded; what the program would have asked for after it is not "
              "in the recording",
              report->capacity.oom_entry);
  wo__replay_put(w, 4, 4);
}

/* The recorded run first: the others are compared with it. */
void wo__replay_text_whatif(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  assert(w->line.len == 0);
  if (!report->has_whatif) return;
  write_head(w, "what if");
  write_case(w, report->has_recorded, &report->recorded, "as recorded");
  write_case(w, report->has_baseline, &report->baseline, "from an empty allocator");
  if (report->has_bounds) {
    write_bounds(w);
  } else {
    write_case(w, true, &report->whatif, "from an empty allocator");
  }
  write_case(w, report->has_warm, &report->warm, "from the recorded start");
  const struct wo_steady_course course = report->whatif_course;
  wo_text_add(&w->line, "from an empty allocator: what was live at the start is taken first, then ");
  if (course.has_first_step)
    wo_text_add(&w->line, "a step stands in for the first one, which makes the optimizer's states, then ");
  wo_text_add(&w->line, "the entries follow");
  if (course.passes > 1) wo_text_add(&w->line, ", %u times, until nothing more is reserved", course.passes);
  wo_text_add(&w->line, ", at %" PRIu32 " orders of addresses", report->whatif.run_count);
  wo__replay_put(w, 4, 6);
  if (report->has_bounds) write_assumptions(w);
  write_end(w);
}

/* ---- Sweep ---- */

/* The text is the parsed string, so that it can be pasted. */
static void write_setting(struct wo_replay_writer *w, const struct wo_sweep_row *row) {
  static const enum wo_tint colors[WO_SWEEP_WORTH_COUNT_] = {
      [WO_SWEEP_SAME] = WO_TINT_PLAIN, [WO_SWEEP_BETTER] = WO_TINT_GOOD, [WO_SWEEP_HARMFUL] = WO_TINT_ERROR};
  wo_text_add_view(&w->line, row->text);
  if (row->needs.len > 0) {
    wo_text_add(&w->line, " with ");
    wo_text_add_view(&w->line, row->needs);
  }
  if (row->is_recorded) wo_text_add(&w->line, "  (as recorded)");
  if (row->worth == WO_SWEEP_HARMFUL) wo_text_add(&w->line, "  harmful");
  write_row(w, &row->result, colors[row->worth]);
}

/* The answer and its line to paste are above the table that proves them. */
void wo__replay_text_sweep(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  assert(w->line.len == 0);
  if (!report->has_sweep) return;
  wo_text_add(w->out, "\n");
  wo_text_add_view(&w->line, report->sweep.advice);
  wo__replay_put(w, 2, 4);
  if (report->sweep.paste.len > 0) {
    wo_text_add(w->out, "    ");
    wo_text_add_view(w->out, report->sweep.paste);
    wo_text_add(w->out, "\n");
  }
  write_head(w, "settings, best first");
  for (size_t i = 0; i < report->sweep.count; i++) write_setting(w, &report->sweep.rows[i]);
  write_end(w);
}
