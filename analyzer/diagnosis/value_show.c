/* SPDX-License-Identifier: Apache-2.0 */
/* Shows values with their intervals, as a rule reads them. */
#include <inttypes.h>

#include "analyzer/diagnosis/diagnose.h"
#include "parsers/base/units.h"

/* Three decimals, because the compared figures have two. */
static struct wo_view show_bytes(struct wo_arena *arena, struct wo_interval n, bool is_exact) {
  const double size = n.hi > -n.lo ? n.hi : -n.lo;
  const double unit = size >= WO_GIB ? WO_GIB : size >= WO_MIB ? WO_MIB : 1;
  const char *const name = size >= WO_GIB ? "GiB" : size >= WO_MIB ? "MiB" : "bytes";
  const int decimals = unit > 1 ? 3 : 0;
  if (is_exact) return wo_arena_format(arena, "%.*f %s", decimals, n.mid / unit, name);
  return wo_arena_format(arena, "%.*f to %.*f %s", decimals, n.lo / unit, decimals, n.hi / unit, name);
}

const char *wo_truth_name(enum wo_truth truth) {
  static const char *const names[] = {[WO_FALSE] = "false", [WO_TRUE] = "true", [WO_UNDECIDED] = "undecided"};
  return names[truth];
}

struct wo_view wo_value_show(struct wo_arena *arena, struct wo_value value) {
  if (value.unit == WO_UNIT_BOOL) return wo_view_of(wo_truth_name(value.truth));
  if (!value.is_known) return WO_VIEW("unknown");
  if (value.unit == WO_UNIT_TEXT) return wo_arena_format(arena, "\"%.*s\"", WO_SHOWN(value.text));
  const bool is_exact = value.number.lo == value.number.hi;
  if (value.unit == WO_UNIT_BYTES) return show_bytes(arena, value.number, is_exact);
  const char *const unit = value.unit == WO_UNIT_DURATION ? " ns" : "";
  if (is_exact) return wo_arena_format(arena, "%.10g%s", value.number.mid, unit);
  return wo_arena_format(arena, "%.6g to %.6g%s", value.number.lo, value.number.hi, unit);
}
