/* Plots and pages of a report. See replay_plot.h. */
#include "cuda_replay/command/replay_plot.h"

#include <assert.h>

#include "cuda_replay/plot/plot.h"
#include "cuda_replay/viewer/viewer.h"
#include "parsers/base/command/call_output.h"

/* The subtitle names the run, since a picture is passed on without its command line. */
struct wo_plot wo_replay_plot(const struct wo_replay_report *report, struct wo_text *subtitle) {
  assert(report->has_memory);
  const struct wo_alloc_settings *const settings = report->has_whatif ? &report->settings : &report->recorded_settings;
  wo_text_add(subtitle, "torch %d.%d, settings ", report->torch / 100, report->torch % 100);
  wo_replay_settings(report, settings, subtitle);
  wo_text_add(subtitle, report->has_whatif     ? ", replayed from an empty allocator"
                        : report->has_holdings ? ", a state and no replay"
                                               : ", as recorded");
  return (struct wo_plot){.pattern = report->pattern,
                          .memory = &report->memory,
                          .attribution = &report->attribution,
                          .capacity_bytes = report->capacity.bytes,
                          .title = report->path,
                          .subtitle = {subtitle->ptr, subtitle->len}};
}

enum wo_status wo_replay_plot_file(const struct wo_call *call, const struct wo_replay_report *report, const char *path,
                                   struct wo_err *err) {
  assert(report->has_memory && path != NULL);
  struct wo_text subtitle = {0}, svg = {0};
  const struct wo_plot plot = wo_replay_plot(report, &subtitle);
  wo_plot_svg(&plot, &svg);
  const bool is_failed = subtitle.is_failed || svg.is_failed;
  const enum wo_status status =
      is_failed ? wo_err_nomem(err) : wo_call_write_output(call, path, (struct wo_view){svg.ptr, svg.len}, true, err);
  wo_text_done(&subtitle);
  wo_text_done(&svg);
  return status;
}

/* ---- The page ---- */

/* Columns of the report in the page. */
enum { PAGE_COLUMNS = 110 };

/* The page shows the recording whatever the model says, so it says what the model says of it. */
static void add_reasons(const struct wo_replay_report *report, struct wo_text *out) {
  if (report->has_check && report->check.verdict == WO_CHECK_DIVERGED) {
    const struct wo_replay_check *const check = &report->check;
    wo_text_add(out, "recorded: %s\nmodel: %s\n%s\n", check->expected, check->got, check->why);
    wo_text_add(out, "this page shows the recording, not the model\n");
  } else if (report->verdict == WO_REPLAY_REFUSED) {
    wo_text_add(out, "this page shows the entries as well as they go together\n");
  }
  if (report->has_whatif || report->has_sweep)
    wo_text_add(out, "this page shows the recording as it was; the what-if is in the report below\n");
  for (size_t i = 0; i < report->recording->notes.count; i++) {
    wo_text_add_view(out, report->recording->notes.items[i]);
    wo_text_add(out, "\n");
  }
}

static enum wo_viewer_tone tone_of(enum wo_replay_verdict verdict) {
  switch (verdict) {
  case WO_REPLAY_REPRODUCED:
  case WO_REPLAY_FITS:
    return WO_VIEWER_GOOD;
  case WO_REPLAY_NOT_FIT:
  case WO_REPLAY_DIVERGED:
  case WO_REPLAY_REFUSED:
    return WO_VIEWER_BAD;
  default:
    return WO_VIEWER_DOUBTFUL;
  }
}

static struct wo_view view_of(const struct wo_text *text) {
  return (struct wo_view){text->ptr, text->len};
}

enum wo_status wo_replay_page(const struct wo_replay_report *report, struct wo_text *out, struct wo_err *err) {
  assert(report->has_look);
  struct wo_text subtitle = {0}, verdict = {0}, reasons = {0}, text = {0};
  wo_text_add(&subtitle, "device %d, torch %d.%d%s, settings ", report->trace->device, report->torch / 100, report->torch % 100,
              report->is_torch_assumed ? " (assumed)" : "");
  wo_replay_settings(report, &report->recorded_settings, &subtitle);
  wo_replay_verdict_line(report, &verdict);
  add_reasons(report, &reasons);
  wo_replay_text(report, (struct wo_text_style){.width = PAGE_COLUMNS, .use_utf8 = true}, &text);
  const struct wo_viewer viewer = {.look = &report->look,
                                   .title = report->path,
                                   .subtitle = view_of(&subtitle),
                                   .verdict = view_of(&verdict),
                                   .reasons = view_of(&reasons),
                                   .tone = tone_of(report->verdict),
                                   .report = view_of(&text)};
  const bool is_failed = subtitle.is_failed || verdict.is_failed || reasons.is_failed || text.is_failed;
  const enum wo_status status = is_failed ? WO_E_NOMEM : wo_viewer_html(&viewer, out);
  wo_text_done(&subtitle);
  wo_text_done(&verdict);
  wo_text_done(&reasons);
  wo_text_done(&text);
  return status == WO_OK ? WO_OK : wo_err_nomem(err);
}
