/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the panels of the page: headings, and places in words. See plot_svg_internal.h. */
#include <stdio.h>

#include "cuda_replay/plot/plot_svg_internal.h"

/* Both numbers: the axis shows requests, other tools and --at use entries. */
char *wo__svg_place_text(const struct wo_memory_place *place, char *buf, size_t cap) {
  char request[48];
  char entry[48];
  const struct wo_plot_axis count = wo_plot_axis_count(1, 1);
  if (place->request == WO_NO_REQUEST) {
    snprintf(buf, cap, "the start");
    return buf;
  }
  wo_plot_axis_label(&count, place->request, request, sizeof request);
  if (place->entry == WO_NO_ENTRY) {
    snprintf(buf, cap, "request %s", request);
  } else {
    snprintf(buf, cap, "request %s, entry %s", request, wo_plot_axis_label(&count, place->entry, entry, sizeof entry));
  }
  return buf;
}

/* The heading names the picture, the grey text after it explains how to read it. */
void wo__svg_heading(struct wo_svg_page *page, struct wo_view heading, struct wo_view more) {
  page->y += 34;
  wo_svg_add(page->out, "<text class=\"h2\" x=\"16\" y=\"@\">", NULL, &page->y);
  wo_svg_escape(page->out, heading, WO_SVG_TITLE_CHARS);
  if (more.len > 0) {
    wo_text_add(page->out, "<tspan class=\"m\" font-weight=\"400\" dx=\"10\">");
    wo_svg_escape(page->out, more, WO_SVG_SUBTITLE_CHARS);
    wo_text_add(page->out, "</tspan>");
  }
  wo_text_add(page->out, "</text>\n");
  page->y += 12;
}
