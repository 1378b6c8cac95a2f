/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of other vendors' tools that look like nvidia-smi's. They are named once for each input, so that the user knows why they
 * were not read. The pattern's argument is the tool's name. */
#include <stdio.h>

#include "parsers/scan/format.h"

static enum wo_more begin_other(struct wo_open *open, const struct wo_match *match) {
  char message[160];
  const struct wo_view tool = open->pattern->argument;
  if (!wo_scan_is_setting_change(open->scan, WO_VIEW("table of another vendor"), tool, tool, open->line->offset))
    return WO_MORE_NO;
  struct wo_event *const event = wo_open_add(open, WO_KIND_NOTE, wo_match_text(match));
  if (!event) return WO_MORE_NO;
  snprintf(message, sizeof message, "output of %.*s: it is not NVIDIA's, and its figures are not read", (int)tool.len, tool.ptr);
  wo_event_set_text(open->store, event, WO_FIELD_NAME, tool);
  wo_event_set_text(open->store, event, WO_FIELD_MESSAGE, wo_view_of(message));
  return WO_MORE_NO;
}

const struct wo_format wo__format_other_smi = {.name = "other_smi", .begin = begin_other};
