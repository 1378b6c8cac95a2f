/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of memory over time, as inline SVG that needs no script. Private to analyzer/document/, and to tests.
 *
 * Words are HTML around the picture, so that they keep their size on a narrow page. Figures stand in an attribute, from which the
 * script shows the one under the pointer, and some of them in a table for everybody. */
#ifndef WO_HTML_PLOT_H
#define WO_HTML_PLOT_H

#include "analyzer/document/page_internal.h"
#include "parsers/base/exchange/curve.h"

enum { WO__PLOT_LINES_MAX = 3, WO__PLOT_POINTS_MAX = 2 * WO_CURVE_STRETCHES };

/* How the places of a plot are written. */
enum wo__plot_axis {
  WO__PLOT_SAMPLES, /* "sample 12" */
  WO__PLOT_SECONDS, /* since 1970: "12:00:05" */
  WO__PLOT_STEPS,   /* "step 12" */
  WO__PLOT_REQUESTS /* "request 12" */
};

struct wo__plot_line {
  struct wo_view name; /* "allocated" */
  const struct wo_curve_point *points;
  size_t count;
};

struct wo__plot {
  const char *id; /* "plot-1" */
  struct wo_view title;
  enum wo__plot_axis axis;
  struct wo__plot_line lines[WO__PLOT_LINES_MAX];
  size_t line_count;
  double limit_bytes; /* a dashed line; 0: none */
  const char *limit;  /* its name: "the card" */
};

/* Adds the plot as a figure; nothing for lines without two points. */
void wo__html_plot(struct wo_text *out, const struct wo__plot *plot);

#endif
