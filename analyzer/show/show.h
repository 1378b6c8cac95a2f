/* Shows a report in the form that the call asks for: the first screen, everything, one line, JSON. */
#ifndef WO_SHOW_H
#define WO_SHOW_H

#include "analyzer/report/report.h"
#include "parsers/base/command/command.h"

/* Writes the report to call->out. Only failures of memory are possible: out->is_failed. */
void wo_show_report(const struct wo_call *call, const struct wo_report *report);

#endif
