/* SPDX-License-Identifier: Apache-2.0 */
/* The plot of a report: memory over time, matching its text. */
#ifndef WO_REPLAY_PLOT_H
#define WO_REPLAY_PLOT_H

#include "cuda_replay/plot/plot.h"
#include "cuda_replay/command/replay_report.h"
#include "parsers/base/command/command.h"

/* The input of all plots; has_memory must be true. Borrows from the report; `subtitle` receives settings and
 * version, and must live as long as the plot. */
struct wo_plot wo_replay_plot(const struct wo_replay_report *report, struct wo_text *subtitle);

/* Writes the SVG document to a file (NUL-terminated path), as wo_call_write_output does; WO_E_NOMEM. */
enum wo_status wo_replay_plot_file(const struct wo_call *call, const struct wo_replay_report *report, const char *path,
                                   struct wo_err *err);

#endif
