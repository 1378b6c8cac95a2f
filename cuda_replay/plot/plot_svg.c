/* SPDX-License-Identifier: Apache-2.0 */
/* The SVG document: its styles, title, key figures, legend, and the order of its panels. */
#include "cuda_replay/plot/plot.h"

#include <assert.h>
#include <stdio.h>

#include "cuda_replay/plot/plot_svg_internal.h"
#include "parsers/base/units.h"

/* ---- Styles ---- */

/* A class of shapes, its property, and its values on light and dark backgrounds. Classes of memory are c0, c1, ... by enum order.
 */
static const struct {
  char selector[12];
  char property[8];
  char light[8];
  char dark[8];
} colours[] = {
    {".bg", "fill", "#ffffff", "#0f1318"},         {"text", "fill", "#1d242c", "#e4e9ef"},
    {".m", "fill", "#5d6875", "#97a3b1"},          {".halo", "stroke", "#ffffff", "#0f1318"},
    {".grid", "stroke", "#e3e7eb", "#262d36"},     {".axis", "stroke", "#9aa4af", "#566170"},
    {".unused", "fill", "#e6e9ed", "#2a313a"},     {".reserved", "stroke", "#39424d", "#c3ccd6"},
    {".step", "stroke", "#39424d", "#c3ccd6"},     {".bad", "stroke", "#c4262e", "#ff6b6b"},
    {".badfill", "fill", "#c4262e", "#ff6b6b"},    {".frag", "fill", "#b9c2cc", "#46505c"},
    {".fragline", "stroke", "#6b7683", "#97a3b1"}, {".free", "fill", "#f0f2f4", "#1b2129"},
    {".hatch", "stroke", "#c3cad2", "#3a434f"},    {".edge", "stroke", "#9aa4af", "#566170"},
    {".pending", "fill", "#1d242c", "#e4e9ef"},
};

/* Fill of each class of memory: cool colours for lasting memory, warm ones for short-lived memory. */
static const struct {
  char light[8];
  char dark[8];
} class_colours[WO_CLASS_COUNT_] = {
    [WO_CLASS_UNKNOWN] = {"#5b8db8", "#5f97c4"},       [WO_CLASS_PARAMETER] = {"#2b5c9e", "#3f78c4"},
    [WO_CLASS_GRADIENT] = {"#8a6bbf", "#9d80d2"},      [WO_CLASS_OPTIMIZER] = {"#53a2c9", "#5fb0d6"},
    [WO_CLASS_ACTIVATION] = {"#e58a2e", "#e8943f"},    [WO_CLASS_LOGITS] = {"#cf4f3e", "#dd6152"},
    [WO_CLASS_TEMPORARY] = {"#eccb5a", "#dcbd52"},     [WO_CLASS_WORKSPACE] = {"#7d8790", "#87919b"},
    [WO_CLASS_COMMUNICATION] = {"#3d9b74", "#4bab83"}, [WO_CLASS_INPUT] = {"#b0805c", "#bd8e6b"},
};

/* One rule for each row; the same selectors inside the media query only change colours. */
static void add_colours(struct wo_text *out, bool is_dark) {
  for (size_t i = 0; i < sizeof colours / sizeof *colours; i++) {
    wo_text_add(out, "%s{%s:%s}", colours[i].selector, colours[i].property, is_dark ? colours[i].dark : colours[i].light);
  }
  for (int i = 0; i < WO_CLASS_COUNT_; i++) {
    wo_text_add(out, ".c%d{fill:%s}", i, is_dark ? class_colours[i].dark : class_colours[i].light);
  }
  wo_text_add(out, "\n");
}

/* Sizes and strokes are the same on both backgrounds and occur once. */
static void add_style(struct wo_text *out) {
  wo_text_add(out, "<style>\n"
                   "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\n"
                   ".h1{font-size:19px;font-weight:600}.h2{font-size:13px;font-weight:600}.s{font-size:11px}\n"
                   ".r{text-anchor:end}.mid{text-anchor:middle}\n"
                   ".halo{stroke-width:4;stroke-linejoin:round;paint-order:stroke}\n"
                   ".grid,.axis,.edge{fill:none;stroke-width:1}.grid{stroke-opacity:.7}.hatch{fill:none;stroke-width:1}\n"
                   ".step{fill:none;stroke-width:1;stroke-dasharray:1 3}"
                   ".reserved{fill:none;stroke-width:1.5}.leader{stroke-width:1}.fragline{fill:none;stroke-width:1}\n"
                   ".bad{fill:none;stroke-width:1.5}.dash{stroke-dasharray:6 4}.thin{stroke-width:1;stroke-opacity:.5}\n"
                   ".part{fill:none;stroke-width:1;stroke-opacity:.55}.tip{fill-opacity:0}.b{font-weight:600}\n");
  add_colours(out, false);
  wo_text_add(out, "@media (prefers-color-scheme:dark){\n");
  add_colours(out, true);
  wo_text_add(out, "}\n</style>\n");
}

/* ---- Head ---- */

/* Without a title a screen reader would read the file name of the document. */
static struct wo_view title_of(const struct wo_plot *plot) {
  return plot->title.len > 0 ? plot->title : WO_VIEW("GPU memory");
}

/* "peak allocated 22.55 GiB at request 2,747; ...": also the text for screen readers. */
static void add_figures(const struct wo_plot *plot, struct wo_text *out) {
  static const struct {
    enum wo_memory_series series;
    const char *name;
  } shown[] = {{WO_MEMORY_ALLOCATED, "allocated"}, {WO_MEMORY_RESERVED, "reserved"}};
  const bool is_state = plot->memory->moment == WO_MOMENT_STATE;
  char place[80];
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    const struct wo_memory_place *const peak = &plot->memory->peak[shown[i].series];
    wo_text_add(out, "%s%s%s %s", i > 0 ? "; " : "", is_state ? "" : "peak ", shown[i].name, WO_BYTES_TEXT(peak->bytes));
    if (!is_state) wo_text_add(out, " at %s", wo__svg_place_text(peak, place, sizeof place));
  }
  if (wo_plot_has_capacity(plot)) wo_text_add(out, "; capacity %s", WO_BYTES_TEXT(plot->capacity_bytes));
}

/* The first request that failed, in words; nothing if none did. */
static void add_failure(const struct wo_plot *plot, struct wo_text *out) {
  char place[80];
  if (!plot->memory->has_oom) return;
  wo_text_add(out, "out of memory at %s: %s asked for", wo__svg_place_text(&plot->memory->ooms[0], place, sizeof place),
              WO_BYTES_TEXT(plot->memory->oom.requested_bytes));
}

static void add_head_line(struct wo_svg_page *page, const char *classes, const struct wo_text *text) {
  if (text->len == 0) return;
  page->y += 20;
  wo_svg_text(page->out, 16, page->y, classes, (struct wo_view){text->ptr, text->len}, WO_SVG_SUBTITLE_CHARS);
}

/* Users open the plot because of a failure, so it has its own line. */
static void add_head(struct wo_svg_page *page, const struct wo_text *figures, const struct wo_text *failure) {
  page->y = 34;
  wo_svg_text(page->out, 16, page->y, "h1", title_of(page->plot), WO_SVG_TITLE_CHARS);
  if (page->plot->subtitle.len > 0) {
    page->y += 20;
    wo_svg_text(page->out, 16, page->y, "m", page->plot->subtitle, WO_SVG_SUBTITLE_CHARS);
  }
  add_head_line(page, "", figures);
  add_head_line(page, "b badfill", failure);
  page->y += 10;
}

/* ---- Legend ---- */

/* Places a colour sample with its text, on the next line if this one is full. The chart cannot show the highest value of each
 * class, so the legend does. */
static void add_swatch(struct wo_svg_page *page, double *x, const char *classes, const char *name, uint64_t most_bytes) {
  char text[96];
  snprintf(text, sizeof text, "%s, up to %s", name, WO_BYTES_TEXT(most_bytes));
  const double width = 18 + wo_svg_text_width(wo_view_of(text)) + 18;
  if (*x + width > (double)WO_SVG_RIGHT && *x > 16) {
    *x = 16;
    page->y += 20;
  }
  wo_svg_rect(page->out, *x, page->y - 10, 12, 12, classes);
  wo_svg_text(page->out, *x + 18, page->y, "", wo_view_of(text), 60);
  *x += width;
}

/* From the top of the stack downwards, as the areas. */
static void add_legend(struct wo_svg_page *page) {
  const struct wo_memory_over_time *const memory = page->plot->memory;
  const bool is_only = !wo_plot_has_classes(memory);
  char classes[8];
  double x = 16;
  page->y += 18;
  for (int i = WO_CLASS_COUNT_ - 1; i >= 0; i--) {
    const enum wo_alloc_class class_ = wo_plot_class_order()[i];
    if (!wo_plot_has_class(memory, class_)) continue;
    snprintf(classes, sizeof classes, "c%d", (int)class_);
    add_swatch(page, &x, classes, wo_plot_class_label(class_, is_only), memory->class_peak[class_].bytes);
  }
  add_swatch(page, &x, "unused", "reserved, not allocated", memory->peak[WO_MEMORY_UNUSED].bytes);
}

/* ---- The document ---- */

/* Title and description come first in the document, where screen readers expect them. */
static void add_opening(const struct wo_svg_page *page, const struct wo_text *figures, const struct wo_text *failure,
                        struct wo_text *out) {
  wo_text_add(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" role=\"img\" "
              "style=\"max-width:100%%;height:auto\" "
              "aria-labelledby=\"title desc\">\n<title id=\"title\">",
              WO_SVG_WIDTH, page->y, WO_SVG_WIDTH, page->y);
  wo_svg_escape(out, title_of(page->plot), WO_SVG_TITLE_CHARS);
  wo_text_add(out, "</title>\n<desc id=\"desc\">");
  wo_text_add_view(out, (struct wo_view){figures->ptr, figures->len});
  if (failure->len > 0) wo_text_add(out, "; ");
  wo_text_add_view(out, (struct wo_view){failure->ptr, failure->len});
  wo_text_add(out, "</desc>\n");
  add_style(out);
  wo_text_add(out, "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
                   "<rect class=\"free\" width=\"6\" height=\"6\"/>"
                   "<path class=\"hatch\" d=\"M-1,1l2,-2M0,6l6,-6M5,7l2,-2\"/></pattern></defs>\n");
  wo_svg_rect(out, 0, 0, WO_SVG_WIDTH, page->y, "bg");
}

void wo_plot_svg(const struct wo_plot *plot, struct wo_text *out) {
  struct wo_text body = {0};
  struct wo_text figures = {0};
  struct wo_text failure = {0};
  struct wo_svg_page page = {.plot = plot, .out = &body};
  assert(plot->memory != NULL && plot->pattern != NULL);
  add_figures(plot, &figures);
  add_failure(plot, &failure);
  add_head(&page, &figures, &failure);
  if (plot->memory->bin_count > 0) {
    add_legend(&page);
    wo__svg_time_panels(&page);
  }
  wo__svg_map_panel(&page);
  wo__svg_sites_panel(&page);
  page.y += 20;
  /* The opening tag is written last, because the height is only known now. */
  add_opening(&page, &figures, &failure, out);
  wo_text_add_view(out, (struct wo_view){body.ptr, body.len});
  wo_text_add(out, "</svg>\n");
  out->is_failed = out->is_failed || body.is_failed || figures.is_failed || failure.is_failed;
  wo_text_done(&body);
  wo_text_done(&figures);
  wo_text_done(&failure);
}
