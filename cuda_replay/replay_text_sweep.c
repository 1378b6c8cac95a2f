/* The table of the sweep: settings best first, harmful ones marked, then the line to paste. See replay_text.h. */
#include <inttypes.h>

#include "cuda_replay/replay_text.h"
#include "parsers/base/units.h"

enum { GIB_COLUMNS = 10, IDLE_COLUMNS = 8, RESULT_COLUMNS = 14, LAST_COLUMNS = 24 };

static void add_gib(struct wo_text *out, uint64_t bytes) {
  char text[WO_SIZE_TEXT];
  wo_text_add(out, "%*s", GIB_COLUMNS, wo_units_gib_text((double)bytes, 2, text, sizeof text));
}

/* Whether it fits, and by how much; without a capacity how much less it reserves than the recorded settings. */
static void add_result(struct wo_replay_writer *w, const struct wo_sweep_row *row) {
  const struct wo_replay_case *const result = &row->result;
  char text[WO_SIZE_TEXT];
  if (result->oom_count == result->run_count && result->run_count > 0) {
    wo_text_add(w->out, "%*s", RESULT_COLUMNS, "OOM");
  } else if (result->oom_count > 0) {
    wo_text_add(w->out, "%*s", RESULT_COLUMNS, "OOM at times");
  } else if (w->report->capacity.bytes > 0) {
    wo_units_gib_text((double)wo_replay_margin(w->report, result), 2, text, sizeof text);
    wo_text_add(w->out, "%*s", RESULT_COLUMNS - 5, text);
    wo_text_add(w->out, " left");
  } else {
    wo_text_add(w->out, "%*s", RESULT_COLUMNS, "");
  }
}

static void write_row(struct wo_replay_writer *w, const struct wo_sweep_row *row) {
  static const char *const worths[] = {[WO_SWEEP_SAME] = "", [WO_SWEEP_BETTER] = "", [WO_SWEEP_HARMFUL] = "  harmful"};
  const enum wo_replay_color color = row->worth == WO_SWEEP_HARMFUL  ? WO_REPLAY_RED
                                     : row->worth == WO_SWEEP_BETTER ? WO_REPLAY_GREEN
                                                                     : WO_REPLAY_PLAIN;
  if (color != WO_REPLAY_PLAIN) wo__replay_color(w, color);
  wo_text_add(w->out, "  ");
  add_gib(w->out, row->result.reserved_hi_bytes);
  wo_text_add(w->out, "%*.1f %%", IDLE_COLUMNS - 2, wo_replay_idle_pct(&row->result));
  add_result(w, row);
  wo_text_add(w->out, "  ");
  wo_text_add_view(w->out, row->text);
  if (row->needs.len > 0) {
    wo_text_add(w->out, " with ");
    wo_text_add_view(w->out, row->needs);
  }
  wo_text_add(w->out, "%s%s", row->is_recorded ? "  (as recorded)" : "", worths[row->worth]);
  if (color != WO_REPLAY_PLAIN) wo__replay_color(w, WO_REPLAY_PLAIN);
  wo_text_add(w->out, "\n");
}

void wo__replay_text_sweep(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  if (!report->has_sweep) return;
  wo_text_add(w->out, "\n  settings, best first (GiB reserved at the peak, idle share, result; from an empty allocator)\n");
  for (size_t i = 0; i < report->sweep.count; i++) write_row(w, &report->sweep.rows[i]);
  if (report->sweep.advice.len == 0) return;
  wo_text_add(w->out, "\n");
  wo_text_add_view(&w->line, report->sweep.advice);
  wo__replay_put(w, 2, 4);
}
