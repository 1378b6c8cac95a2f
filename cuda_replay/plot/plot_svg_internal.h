/* SPDX-License-Identifier: Apache-2.0 */
/* The page of the SVG plot: shared by its panels (plot_svg*.c). Each panel draws below page->y and moves it down. */
#ifndef WO_PLOT_SVG_INTERNAL_H
#define WO_PLOT_SVG_INTERNAL_H

#include "cuda_replay/plot/plot.h"
#include "cuda_replay/plot/svg.h"

/* Pixels. Charts and the map are between left and right. */
enum { WO_SVG_WIDTH = 1120, WO_SVG_LEFT = 64, WO_SVG_RIGHT = 1096 };

/* Longest title and subtitle, in characters. */
enum { WO_SVG_TITLE_CHARS = 90, WO_SVG_SUBTITLE_CHARS = 150 };

struct wo_svg_page {
  const struct wo_plot *plot;
  struct wo_text *out;
  double y;
};

/* A heading, and a smaller text after it (may be empty). */
void wo__svg_heading(struct wo_svg_page *page, struct wo_view heading, struct wo_view more);

/* Memory over time, fragmentation, and the axis below both. */
void wo__svg_time_panels(struct wo_svg_page *page);

/* Segments at the moment of the peak. Draws nothing for an empty map. */
void wo__svg_map_panel(struct wo_svg_page *page);

/* The lines that requested most of the memory in use. Draws nothing without attribution. */
void wo__svg_sites_panel(struct wo_svg_page *page);

/* "request 12,345 (entry 20,001)", or "the start". Returns buf. */
char *wo__svg_place_text(const struct wo_memory_place *place, char *buf, size_t cap);

#endif
