/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a report in the form that the call asks for: the first screen, everything, one line, JSON, a page, Markdown. */
#ifndef WO_SHOW_H
#define WO_SHOW_H

#include "analyzer/report/report.h"
#include "parsers/base/command/command.h"

/* What the replay of a recording adds to a report before it is shown; only main.c knows both. */
struct wo_prover {
  void *context;
  /* Replaces *report (a copy) by the report with its proofs, which live in the arena, and writes its object for the key "verify"
   * of the JSON report. For a page, what the recording shows of the memory is added too. Does nothing where the job has no
   * recording, or did not run out of GPU memory. */
  void (*prove)(void *context, const struct wo_call *call, struct wo_arena *arena, struct wo_report *report);
};

/* Writes the report to call->out. `prover` may be NULL. Only failures of memory are possible:
 * out->is_failed. */
void wo_show_report(const struct wo_call *call, const struct wo_prover *prover, const struct wo_report *report);

/* The forms that it writes, for --format. */
#define WO_SHOW_FORMATS "text|json|oneline|html|markdown"

#endif
