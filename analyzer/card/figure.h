/* SPDX-License-Identifier: Apache-2.0 */
/* Figures: numbers as a log prints them, with their rounding interval. "17.66 GiB" is ±0.005 GiB, and a difference of two such
 * figures is ±0.01. */
#ifndef WO_FIGURE_H
#define WO_FIGURE_H

#include "parsers/event/event.h"

/* A figure with its interval, or unknown. */
struct wo_figure {
  bool is_known;
  struct wo_interval value;
};

/* A number field with the interval of its printed digits; unknown without the field. */
struct wo_figure wo_figure_of(const struct wo_event *event, enum wo_field_id id);

/* The same for a size: "0.00 GiB" is at least nothing. */
struct wo_figure wo_figure_size_of(const struct wo_event *event, enum wo_field_id id);

/* Sum and difference; unknown if either operand is: half a sum would look like the whole. A difference is at least 0, because
 * figures are printed at slightly different moments and may overlap by a few MiB. */
struct wo_figure wo_figure_plus(struct wo_figure a, struct wo_figure b);
struct wo_figure wo_figure_minus(struct wo_figure a, struct wo_figure b);

/* A difference that rounding alone explains is nothing: its middle becomes 0, its bounds stay. */
struct wo_figure wo_figure_settle(struct wo_figure figure);

#endif
