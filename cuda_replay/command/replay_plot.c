/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of a report. See replay_plot.h. */
#include "cuda_replay/command/replay_plot.h"

#include <assert.h>

#include "cuda_replay/plot/plot.h"
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
