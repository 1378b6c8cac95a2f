/* SPDX-License-Identifier: Apache-2.0 */
/* The version of PyTorch, wherever a line holds it: environment dumps, lists of packages, modules, containers, paths.
 *
 * The patterns find it (rules/packs/patterns/torch-version.json). A path that holds it is in every frame of every rank's
 * traceback, so only a version that differs from the last one of the same pattern is evidence. */
#include "parsers/scan/format.h"

static enum wo_more begin_torch_version(struct wo_open *open, const struct wo_match *match) {
  const struct wo_pattern *const pattern = open->pattern;
  const struct wo_view version = wo_match_group(match, "torch");
  const size_t start = wo_match_start(match);
  if (version.len == 0 ||
      !wo_scan_is_setting_change(open->scan, pattern->id, WO_VIEW("torch"), version, open->line->offset + start))
    return WO_MORE_NO;
  wo_open_add_filled(open, pattern->kind, match);
  return WO_MORE_NO;
}

const struct wo_format wo__format_torch_version = {.name = "torch_version", .begin = begin_torch_version};
