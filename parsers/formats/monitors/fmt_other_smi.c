/* Tables of other vendors' tools that look like nvidia-smi's. They are named, once for each input, so that nobody wonders why
 * they were not read. The pattern's argument is the tool's name. */
#include <stdio.h>

#include "parsers/scan/format.h"

static enum wo_more begin_other(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                struct wo_open *open) {
  char message[160];
  const struct wo_view tool = open->pattern->argument;
  if (!wo_scan_is_setting_change(scan, WO_VIEW("table of another vendor"), tool, tool, line->offset)) return WO_MORE_NO;
  struct wo_event *const event =
      wo_scan_add_event(scan, line, open->pattern, WO_KIND_NOTE, wo_match_start(match), wo_match_text(match).len);
  if (!event) return WO_MORE_NO;
  snprintf(message, sizeof message, "output of %.*s: it is not NVIDIA's, and its figures are not read", (int)tool.len, tool.ptr);
  wo_event_set_text(wo_scan_store(scan), event, WO_FIELD_NAME, tool);
  wo_event_set_text(wo_scan_store(scan), event, WO_FIELD_MESSAGE, wo_view_of(message));
  return WO_MORE_NO;
}

const struct wo_format wo__format_other_smi = {.name = "other_smi", .begin = begin_other};
