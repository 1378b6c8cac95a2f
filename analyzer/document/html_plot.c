/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of memory over time. See html_plot.h. */
#include "analyzer/document/html_plot.h"

#include <math.h>

#include "parsers/base/units.h"

/* Units of the picture, which is stretched to its place; rows of the table; lines of the grid; points that get a dot each. */
enum { WIDTH = 10000, HEIGHT = 1000, ROWS = 16, GRID_MAX = 5, DOTS_MAX = 80 };

struct frame {
  struct wo_text *out;
  const struct wo__plot *plot;
  bool is_by_place; /* points are set by their place, else by their count */
  double first, last, top;
  double step; /* between two lines of the grid, of which `top` is the last */
};

/* ---- Scales ---- */

static double place_of(const struct frame *frame, const struct wo_curve_point *point) {
  return frame->is_by_place ? point->at : point->x;
}

/* The least of 1, 2 and 5 with zeros behind it that divides the height into few parts. */
static void choose_grid(struct frame *frame) {
  const double unit = frame->top >= WO_GIB ? WO_GIB : WO_MIB;
  static const double factors[] = {1, 2, 5};
  double step = unit;
  for (size_t i = 0; frame->top > (double)GRID_MAX * step && i < 60; i++) step = unit * factors[i % 3] * pow(10, (double)(i / 3));
  frame->step = step;
  frame->top = step * ceil(frame->top / step);
}

static bool find_range(struct frame *frame) {
  frame->first = INFINITY;
  frame->last = -INFINITY;
  frame->top = frame->plot->limit_bytes;
  for (size_t i = 0; i < frame->plot->line_count; i++) {
    const struct wo__plot_line *const line = &frame->plot->lines[i];
    for (size_t k = 0; k < line->count; k++) {
      const double place = place_of(frame, &line->points[k]);
      frame->first = fmin(frame->first, place);
      frame->last = fmax(frame->last, place);
      frame->top = fmax(frame->top, line->points[k].bytes);
    }
  }
  if (!isfinite(frame->first) || !isfinite(frame->top) || !(frame->last > frame->first) || !(frame->top > 0)) return false;
  choose_grid(frame);
  return true;
}

static long x_of(const struct frame *frame, const struct wo_curve_point *point) {
  return lround((double)WIDTH * (place_of(frame, point) - frame->first) / (frame->last - frame->first));
}

static long y_of(const struct frame *frame, double bytes) {
  return lround((double)HEIGHT - (double)HEIGHT * bytes / frame->top);
}

static void add_place(struct wo_text *out, const struct frame *frame, double place) {
  static const char *const words[] = {"sample", "", "step", "request"};
  char time[48];
  if (frame->plot->axis != WO__PLOT_SECONDS) {
    wo_text_add(out, "%s %.0f", words[frame->plot->axis], place);
  } else if (place < 1e11) { /* the year 5138: later ones are no times */
    wo_units_time_text((int64_t)place * WO_NS_PER_S, time, sizeof time);
    const struct wo_view clock = wo_view_skip(wo_view_of(time), sizeof "2025-03-11T" - 1);
    wo_text_add(out, "%.*s", WO_SHOWN(clock));
  }
}

/* ---- The picture ---- */

/* A path through all points, and the area below it. */
static void write_line(const struct frame *frame, size_t index) {
  const struct wo__plot_line *const line = &frame->plot->lines[index];
  struct wo_text *const out = frame->out;
  const char *const also = index > 0 ? " second" : "";
  if (line->count < 2) return;
  for (int is_area = 1; is_area >= 0; is_area--) {
    wo_text_add(out, "<path class=\"%s%s\" d=\"", is_area ? "area" : "curve", also);
    if (is_area) wo_text_add(out, "M%ld %d", x_of(frame, &line->points[0]), HEIGHT);
    for (size_t i = 0; i < line->count; i++)
      wo_text_add(out, "%s%ld %ld", i == 0 && !is_area ? "M" : "L", x_of(frame, &line->points[i]),
                  y_of(frame, line->points[i].bytes));
    if (is_area) wo_text_add(out, "L%ld %dZ", x_of(frame, &line->points[line->count - 1]), HEIGHT);
    wo_text_add(out, "\"/>\n");
  }
}

/* Few points are seen one by one. */
static void write_dots(const struct frame *frame, size_t index) {
  const struct wo__plot_line *const line = &frame->plot->lines[index];
  if (line->count > DOTS_MAX) return;
  wo_text_add(frame->out, "<path class=\"dots%s\" d=\"", index > 0 ? " second" : "");
  for (size_t i = 0; i < line->count; i++)
    wo_text_add(frame->out, "M%ld %ldh0", x_of(frame, &line->points[i]), y_of(frame, line->points[i].bytes));
  wo_text_add(frame->out, "\"/>\n");
}

/* "x place bytes;" of each point, in the units of the picture: x for finding it, place and bytes for showing it. */
static void write_data(const struct frame *frame, const struct wo__plot_line *line) {
  struct wo_text *const out = frame->out;
  wo_html_put(out, "<g class=\"data\" data-name=\"", line->name, "\" data-points=\"");
  for (size_t i = 0; i < line->count; i++) {
    const struct wo_curve_point *const point = &line->points[i];
    wo_text_add(out, "%s%ld ", i > 0 ? ";" : "", x_of(frame, point));
    wo_text_add(out, "%.0f %.0f", place_of(frame, point), point->bytes);
  }
  wo_text_add(out, "\"></g>\n");
}

static void write_picture(const struct frame *frame) {
  const struct wo__plot *const plot = frame->plot;
  struct wo_text *const out = frame->out;
  static const char *const axes[] = {"sample", "", "step", "request"};
  wo_text_add(
      out,
      "<svg role=\"img\" aria-labelledby=\"%s-title\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" data-axis=\"%s\">\n",
      plot->id, WIDTH, HEIGHT, axes[plot->axis]);
  for (double at = frame->step; at <= frame->top; at += frame->step)
    wo_text_add(out, "<line class=\"grid\" x1=\"0\" x2=\"%d\" y1=\"%ld\" y2=\"%ld\"/>\n", WIDTH, y_of(frame, at),
                y_of(frame, at));
  for (size_t i = 0; i < plot->line_count; i++) write_line(frame, i);
  for (size_t i = 0; i < plot->line_count; i++) write_dots(frame, i);
  if (plot->limit_bytes > 0)
    wo_text_add(out, "<line class=\"limit\" x1=\"0\" x2=\"%d\" y1=\"%ld\" y2=\"%ld\"/>\n", WIDTH, y_of(frame, plot->limit_bytes),
                y_of(frame, plot->limit_bytes));
  for (size_t i = 0; i < plot->line_count; i++) write_data(frame, &plot->lines[i]);
  wo_text_add(out, "</svg>\n");
}

/* The words of the grid, from the top down. */
static void write_ticks(const struct frame *frame) {
  const bool is_small = frame->step < WO_GIB;
  wo_text_add(frame->out, "<div class=\"plot\"><div class=\"ticks\" aria-hidden=\"true\">");
  for (double at = frame->top; at > frame->step / 2; at -= frame->step)
    wo_text_add(frame->out, "<span>%.0f %s</span>", at / (is_small ? WO_MIB : WO_GIB), is_small ? "MiB" : "GiB");
  wo_text_add(frame->out, "<span>0</span></div>\n");
}

/* Which line is which, and the dashed one. */
static void write_legend(const struct frame *frame) {
  const struct wo__plot *const plot = frame->plot;
  struct wo_text *const out = frame->out;
  wo_text_add(out, "<ul class=\"legend\">");
  for (size_t i = 0; i < plot->line_count; i++) {
    wo_text_add(out, "<li><svg class=\"key\" aria-hidden=\"true\"><rect class=\"%s\" width=\"100%%\" height=\"100%%\"/></svg>",
                i == 0 ? "first" : "second");
    wo_html_put(out, "", plot->lines[i].name, "</li>");
  }
  if (plot->limit_bytes > 0)
    wo_text_add(out, "<li><span class=\"dashes\" aria-hidden=\"true\"></span>%s, %s</li>", plot->limit,
                WO_BYTES_TEXT(plot->limit_bytes));
  wo_text_add(out, "</ul>\n");
}

/* ---- The table ---- */

/* The highest point in each of some stretches of the line, so that the peak is among them. */
static void write_rows(const struct frame *frame, const struct wo__plot_line *line) {
  struct wo_text *const out = frame->out;
  const size_t rows = line->count < ROWS ? line->count : ROWS;
  for (size_t row = 0; row < rows; row++) {
    size_t best = row * line->count / rows;
    for (size_t i = best; i < (row + 1) * line->count / rows; i++) {
      if (line->points[i].bytes > line->points[best].bytes) best = i;
    }
    wo_text_add(out, "<tr><td>");
    add_place(out, frame, place_of(frame, &line->points[best]));
    wo_text_add(out, "</td><td class=\"number\">%s</td></tr>\n", WO_BYTES_TEXT(line->points[best].bytes));
  }
}

static void write_table(const struct frame *frame) {
  struct wo_text *const out = frame->out;
  wo_text_add(out, "<details class=\"values\"><summary>Values</summary><div class=\"columns\">\n");
  for (size_t i = 0; i < frame->plot->line_count; i++) {
    const struct wo__plot_line *const line = &frame->plot->lines[i];
    if (line->count == 0) continue;
    wo_html_put(out, "<table><caption>", line->name,
                line->count > ROWS ? ", the highest of each part</caption><tbody>\n" : "</caption><tbody>\n");
    write_rows(frame, line);
    wo_text_add(out, "</tbody></table>\n");
  }
  wo_text_add(out, "</div></details>\n");
}

void wo__html_plot(struct wo_text *out, const struct wo__plot *plot) {
  struct frame frame = {
      .out = out, .plot = plot, .is_by_place = plot->axis != WO__PLOT_SAMPLES && plot->axis != WO__PLOT_REQUESTS};
  if (!find_range(&frame)) return;
  wo_text_add(out, "<figure class=\"chart\" id=\"%s\"><figcaption id=\"%s-title\">", plot->id, plot->id);
  wo_html_put(out, "", plot->title, "</figcaption>\n");
  write_legend(&frame);
  write_ticks(&frame);
  write_picture(&frame);
  wo_text_add(out, "<div class=\"axis\" aria-hidden=\"true\"><span>");
  add_place(out, &frame, frame.first);
  wo_text_add(out, "</span><span>");
  add_place(out, &frame, frame.last);
  wo_text_add(out, "</span></div></div>\n<p class=\"value\" role=\"status\"></p>\n");
  write_table(&frame);
  wo_text_add(out, "</figure>\n");
}
