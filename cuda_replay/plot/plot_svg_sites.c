/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that requested most of the memory in use at the peak, as bars. */
#include <assert.h>
#include <stdio.h>

#include "cuda_replay/plot/plot_svg_internal.h"
#include "parsers/base/units.h"

/* The most rows; pixels of a row; the x positions of numbers, bars and names. The most characters of a name. */
enum { ROWS_MAX = 12, ROW_HEIGHT = 20, BYTES_X = 96, PCT_X = 146, BAR_X = 158, BAR_END_X = 358, NAME_X = 370, NAME_CHARS = 44 };

/* Appends "function file.py:12", cut. */
static void add_frame(struct wo_text *out, const struct wo_recording *recording, uint32_t index) {
  const struct wo_frame *const frame = &recording->frames.items[index];
  const struct wo_view file = wo_frame_file_name(frame);
  wo_svg_escape(out, wo_frame_function_name(frame), NAME_CHARS);
  if (file.len == 0 || wo_view_is(file, "??")) return;
  wo_text_add(out, "<tspan class=\"m\" dx=\"6\">");
  wo_svg_escape(out, file, NAME_CHARS);
  if (frame->line > 0) wo_text_add(out, ":%u", frame->line);
  wo_text_add(out, "</tspan>");
}

/* The requesting line, and the program's own line if that is another one. */
static void add_name(struct wo_svg_page *page, const struct wo_attribution_site *site) {
  const struct wo_recording *const recording = page->plot->pattern->recording;
  wo_text_add(page->out, "<text x=\"%d\" y=\"%.0f\">", NAME_X, page->y);
  if (site->frame == WO_NO_FRAME) {
    wo_text_add(page->out, "<tspan class=\"m\">no stack recorded</tspan>");
  } else {
    add_frame(page->out, recording, site->frame);
  }
  if (site->user != WO_NO_FRAME && site->user != site->frame) {
    wo_text_add(page->out, "<tspan class=\"m\" dx=\"10\">from</tspan><tspan dx=\"6\">");
    add_frame(page->out, recording, site->user);
    wo_text_add(page->out, "</tspan>");
  }
  wo_text_add(page->out, "</text>\n");
}

/* Bars are relative to the longest one; the number beside them is the share of the total. */
static void add_share(struct wo_svg_page *page, const struct wo_share *share, const char *classes) {
  const struct wo_attribution *const attribution = page->plot->attribution;
  const uint64_t most_bytes = attribution->sites.items[0].share.block_bytes;
  char text[32];
  wo_svg_text(page->out, BYTES_X, page->y, "r", wo_view_of(WO_BYTES_TEXT(share->block_bytes)), 20);
  snprintf(text, sizeof text, "%.1f%%", wo_share_pct(share->block_bytes, attribution->total.block_bytes));
  wo_svg_text(page->out, PCT_X, page->y, "m r", wo_view_of(text), 20);
  if (!classes) return;
  assert(share->block_bytes <= most_bytes && most_bytes > 0);
  const double width = (BAR_END_X - BAR_X) * (double)share->block_bytes / (double)most_bytes;
  wo_svg_rect(page->out, BAR_X, page->y - 10, width < 1 ? 1 : width, 12, classes);
}

/* The sum of the sites that have no row. */
static void add_rest(struct wo_svg_page *page, size_t from) {
  const struct wo_attribution *const attribution = page->plot->attribution;
  struct wo_share rest = {0};
  char text[48];
  if (from >= attribution->sites.count) return;
  for (size_t i = from; i < attribution->sites.count; i++) rest.block_bytes += attribution->sites.items[i].share.block_bytes;
  page->y += (double)ROW_HEIGHT;
  add_share(page, &rest, NULL);
  snprintf(text, sizeof text, "%zu further line%s", attribution->sites.count - from,
           attribution->sites.count - from == 1 ? "" : "s");
  wo_svg_text(page->out, NAME_X, page->y, "m", wo_view_of(text), 48);
}

/* The colour of a bar is the class with most of its bytes: it connects the rows with the areas above. */
void wo__svg_sites_panel(struct wo_svg_page *page) {
  const struct wo_attribution *const attribution = page->plot->attribution;
  char classes[8];
  if (!attribution || attribution->sites.count == 0) return;
  wo__svg_heading(page, WO_VIEW("What is in use then"), WO_VIEW("by the line of code that asked for it"));
  page->y += 4;
  const size_t count = attribution->sites.count < ROWS_MAX ? attribution->sites.count : ROWS_MAX;
  for (size_t i = 0; i < count; i++) {
    const struct wo_attribution_site *const site = &attribution->sites.items[i];
    page->y += i > 0 ? ROW_HEIGHT : 6;
    snprintf(classes, sizeof classes, "c%d", (int)site->class_);
    add_share(page, &site->share, classes);
    add_name(page, site);
  }
  add_rest(page, count);
}
