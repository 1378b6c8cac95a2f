/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on figures that keeps their rounding. */
#include "analyzer/card/figure.h"

struct wo_figure wo_figure_of(const struct wo_event *event, enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  return field ? (struct wo_figure){true, field->number} : (struct wo_figure){.is_known = false};
}

struct wo_figure wo_figure_size_of(const struct wo_event *event, enum wo_field_id id) {
  struct wo_figure figure = wo_figure_of(event, id);
  if (figure.value.lo < 0) figure.value.lo = 0;
  return figure;
}

struct wo_figure wo_figure_plus(struct wo_figure a, struct wo_figure b) {
  if (!a.is_known || !b.is_known) return (struct wo_figure){.is_known = false};
  return (struct wo_figure){true, wo_interval_plus(a.value, b.value)};
}

struct wo_figure wo_figure_minus(struct wo_figure a, struct wo_figure b) {
  if (!a.is_known || !b.is_known) return (struct wo_figure){.is_known = false};
  struct wo_interval d = wo_interval_minus(a.value, b.value);
  if (d.lo < 0) d.lo = 0;
  if (d.mid < d.lo) d.mid = d.lo;
  if (d.hi < d.mid) d.hi = d.mid;
  return (struct wo_figure){true, d};
}

struct wo_figure wo_figure_settle(struct wo_figure figure) {
  if (figure.is_known && figure.value.lo <= 0) figure.value.mid = 0;
  return figure;
}
