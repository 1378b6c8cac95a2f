/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over the requests: areas by class under the line of reserved bytes, the capacity, failures; fragmentation below. */
#include <assert.h>
#include <stdio.h>

#include "cuda_replay/plot/plot_svg_internal.h"
#include "parsers/base/units.h"
#include "parsers/base/vec.h"

/* The most columns: two pixels each. Pixels of the two panels, and of a heading with room for labels above the chart. The most
 * marks of iterations. */
enum { COLUMNS_MAX = 516, CHART_HEIGHT = 300, STRIP_HEIGHT = 64, HEADING_HEIGHT = 60, MARKS_MAX = 50 };

/* Memory over time as drawn: columns, their beginnings (one more for the end), and the heights of the current line. */
struct chart {
  struct wo_svg_page *page;
  struct wo_memory_bin columns[COLUMNS_MAX];
  double x[COLUMNS_MAX + 1];
  double y[COLUMNS_MAX];
  double more_y[COLUMNS_MAX];
  size_t count;
  double top; /* pixel of the panel's upper and lower edge */
  double bottom;
  double most; /* value at the upper edge */
};

/* Requests are spaced evenly: bursts of small ones are as visible as a long wait. */
static double x_of(const struct chart *chart, double request) {
  const double all = chart->page->plot->memory->request_count;
  assert(all > 0);
  return (double)WO_SVG_LEFT + (WO_SVG_RIGHT - WO_SVG_LEFT) * request / all;
}

/* The position of a place; events before the first request are at the left edge. */
static double x_of_place(const struct chart *chart, const struct wo_memory_place *place) {
  return place->request == WO_NO_REQUEST ? (double)WO_SVG_LEFT : x_of(chart, place->request + 1.0);
}

/* Values above the axis are drawn at its upper edge, not outside the panel. */
static double y_of(const struct chart *chart, double value) {
  assert(chart->most > 0 && chart->top < chart->bottom);
  return chart->bottom - (chart->bottom - chart->top) * (value < chart->most ? value / chart->most : 1);
}

static void add_steps(struct chart *chart, const char *classes) {
  wo_text_add(chart->page->out, "<path class=\"%s\" d=\"", classes);
  wo_svg_steps(chart->page->out, chart->x, chart->y, chart->count);
  wo_text_add(chart->page->out, "\"/>\n");
}

/* Fills the area between the line and the panel's lower edge. */
static void add_area(struct chart *chart, const char *classes) {
  struct wo_text *const out = chart->page->out;
  wo_text_add(out, "<path class=\"%s\" d=\"", classes);
  wo_svg_steps(out, chart->x, chart->y, chart->count);
  wo_svg_add(out, "V@H@Z\"/>\n", NULL, (const double[]){chart->bottom, chart->x[0]});
}

/* ---- Memory ---- */

/* Faint lines over the areas, so that heights inside them can be read. */
static void add_byte_grid(struct chart *chart, const struct wo_plot_axis *axis) {
  char label[48];
  for (double value = 0; value <= axis->top * (1 + 1e-9); value += axis->step) {
    const double y = y_of(chart, value);
    wo_svg_line(chart->page->out, WO_SVG_LEFT, y, WO_SVG_RIGHT, y, "grid");
    wo_plot_axis_label(axis, value, label, sizeof label);
    wo_svg_text(chart->page->out, WO_SVG_LEFT - 6, y + 4, "s m r", wo_view_of(value == 0 ? "0" : label), 40);
  }
}

/* Areas from the highest to the lowest, each down to the bottom: no gaps between them. */
static void add_classes(struct chart *chart) {
  const enum wo_alloc_class *const order = wo_plot_class_order();
  char classes[8];
  for (int top = WO_CLASS_COUNT_ - 1; top >= 0; top--) {
    if (!wo_plot_has_class(chart->page->plot->memory, order[top])) continue;
    for (size_t i = 0; i < chart->count; i++) {
      double sum = 0;
      for (int k = 0; k <= top; k++) sum += (double)chart->columns[i].top_class_bytes[order[k]];
      chart->y[i] = y_of(chart, sum);
    }
    snprintf(classes, sizeof classes, "c%d", (int)order[top]);
    add_area(chart, classes);
  }
}

/* Whether the peak is in the left half: labels of lines are then in the right half. */
static bool is_peak_left(const struct chart *chart) {
  const struct wo_memory_place *const peak = &chart->page->plot->memory->peak[WO_MEMORY_ALLOCATED];
  return x_of_place(chart, peak) < (WO_SVG_LEFT + WO_SVG_RIGHT) / 2.0;
}

/* Dashed and red: it is a limit, not a measurement. */
static void add_capacity(struct chart *chart) {
  const struct wo_plot *const plot = chart->page->plot;
  const bool is_right = is_peak_left(chart);
  char text[48];
  if (!wo_plot_shows_capacity(plot)) return;
  const double y = y_of(chart, (double)plot->capacity_bytes);
  snprintf(text, sizeof text, "capacity %s", WO_BYTES_TEXT(plot->capacity_bytes));
  wo_svg_line(chart->page->out, WO_SVG_LEFT, y, WO_SVG_RIGHT, y, "bad dash");
  wo_svg_text(chart->page->out, is_right ? WO_SVG_RIGHT - 6 : WO_SVG_LEFT + 6, y - 5, is_right ? "s halo r" : "s halo",
              wo_view_of(text), 40);
}

/* A text beside a mark, on the side where there is room. */
static void add_label_beside(struct chart *chart, double x, double y, struct wo_view text) {
  const bool is_left = x + wo_svg_text_width(text) + 12 > (double)WO_SVG_RIGHT;
  wo_svg_text(chart->page->out, is_left ? x - 8 : x + 8, y, is_left ? "b halo r" : "b halo", text, 80);
}

/* Whether a step of the optimizer begins after from_us, but not after to_us. Annotations are by rising time. */
static bool has_optimizer_step(const struct wo_recording *recording, int64_t from_us, int64_t to_us) {
  size_t low = 0;
  WO_LOWER_BOUND(low, recording->annotations.count, at, recording->annotations.items[at].time_us <= from_us);
  for (; low < recording->annotations.count && recording->annotations.items[low].time_us <= to_us; low++) {
    const struct wo_annotation *const annotation = &recording->annotations.items[low];
    if (annotation->is_start && wo_view_starts(annotation->name, "Optimizer.step")) return true;
  }
  return false;
}

/* PyTorch itself records the optimizer's steps, which end iterations. A repeated program repeats its times, so each column is
 * checked by its own times. Returns the number of marks; 0 if they would hide the chart. */
static size_t add_optimizer_steps(struct chart *chart) {
  const struct wo_recording *const recording = chart->page->plot->pattern->recording;
  double marks[MARKS_MAX];
  size_t count = 0;
  int64_t before_us = WO_NO_TIME; /* the last time before the column */
  for (size_t i = 0; i < chart->count; i++) {
    const struct wo_memory_bin *const column = &chart->columns[i];
    if (column->last_us == WO_NO_TIME) continue;
    const bool goes_on = before_us != WO_NO_TIME && before_us <= column->first_us;
    const int64_t from_us = goes_on ? before_us : column->first_us - (column->first_us > INT64_MIN);
    if (has_optimizer_step(recording, from_us, column->last_us)) {
      if (count == MARKS_MAX) return 0;
      marks[count++] = chart->x[i];
    }
    before_us = column->last_us;
  }
  for (size_t i = 0; i < count; i++) wo_svg_line(chart->page->out, marks[i], chart->top, marks[i], chart->bottom, "step");
  return count;
}

/* A flag and a line at the first failure; ticks above the columns with further ones. */
static void add_ooms(struct chart *chart) {
  const struct wo_memory_over_time *const memory = chart->page->plot->memory;
  char text[160];
  char more[48] = "";
  if (memory->oom_kept == 0) return;
  const double x = x_of_place(chart, &memory->ooms[0]);
  for (size_t i = 0; i < chart->count; i++) {
    if (chart->columns[i].oom_count == 0) continue;
    wo_svg_line(chart->page->out, chart->x[i + 1], chart->top - 5, chart->x[i + 1], chart->top, "bad");
  }
  wo_svg_line(chart->page->out, x, chart->top - 8, x, chart->bottom, "bad");
  wo_svg_add(chart->page->out, "<path class=\"badfill\" d=\"M@,@h12l-6,9z\"/>\n", NULL, (const double[]){x - 6, chart->top - 12});
  if (memory->oom_count > 1) snprintf(more, sizeof more, ", then %llu more", (unsigned long long)(memory->oom_count - 1));
  snprintf(text, sizeof text, "out of memory: %s asked for%s", WO_BYTES_TEXT(memory->oom.requested_bytes), more);
  add_label_beside(chart, x, chart->top - 8, wo_view_of(text));
}

/* A height at which a label does not touch the lines of reserved bytes and of the capacity. */
static double clear_y(const struct chart *chart) {
  const struct wo_plot *const plot = chart->page->plot;
  const double reserved_y = y_of(chart, (double)plot->memory->peak[WO_MEMORY_RESERVED].bytes);
  const double capacity_y = y_of(chart, (double)plot->capacity_bytes);
  const bool is_close = wo_plot_shows_capacity(plot) && capacity_y <= reserved_y && capacity_y > reserved_y - 20;
  return (is_close ? capacity_y : reserved_y) - 6;
}

/* The highest point of the areas, with a line up to its label. */
static void add_peak(struct chart *chart) {
  const struct wo_memory_place *const peak = &chart->page->plot->memory->peak[WO_MEMORY_ALLOCATED];
  char text[64];
  if (peak->bytes == 0 || chart->page->plot->memory->has_oom) return;
  const double x = x_of_place(chart, peak);
  const double y = y_of(chart, (double)peak->bytes);
  const double label_y = clear_y(chart);
  wo_svg_line(chart->page->out, x, y, x, label_y - 8, "reserved leader");
  wo_svg_add(chart->page->out, "<circle class=\"pending\" r=\"3\" cx=\"@\" cy=\"@\"/>\n", NULL, (const double[]){x, y});
  snprintf(text, sizeof text, "peak allocated %s", WO_BYTES_TEXT(peak->bytes));
  add_label_beside(chart, x - 2, label_y, wo_view_of(text));
}

/* Drawn from back to front: reserved bytes, classes, grid, lines, labels. */
static void add_memory(struct chart *chart) {
  struct wo_svg_page *const page = chart->page;
  const struct wo_plot_axis axis = wo_plot_axis_bytes(wo_plot_most_bytes(page->plot), 7);
  page->y += (double)HEADING_HEIGHT; /* its heading is written last, when its content is known */
  chart->top = page->y;
  chart->bottom = page->y + (double)CHART_HEIGHT;
  chart->most = axis.top;
  for (size_t i = 0; i < chart->count; i++) chart->y[i] = y_of(chart, (double)chart->columns[i].high_bytes[WO_MEMORY_RESERVED]);
  add_area(chart, "unused");
  add_classes(chart);
  add_byte_grid(chart, &axis);
  for (size_t i = 0; i < chart->count; i++) chart->y[i] = y_of(chart, (double)chart->columns[i].high_bytes[WO_MEMORY_RESERVED]);
  add_steps(chart, "reserved");
  const bool has_marks = add_optimizer_steps(chart) > 0;
  add_capacity(chart);
  add_peak(chart);
  add_ooms(chart);
  page->y = chart->top - (double)HEADING_HEIGHT;
  wo__svg_heading(page, WO_VIEW("Memory over time"),
                  has_marks ? WO_VIEW("each column shows its highest moment; dotted: the optimizer's steps begin")
                            : WO_VIEW("each column shows its highest moment"));
  page->y = chart->bottom;
}

/* ---- Fragmentation ---- */

/* A band from the lowest to the highest value: in a column of thousands of requests both matter, and one line would hide one of
 * them. */
static void add_fragmentation(struct chart *chart) {
  struct wo_svg_page *const page = chart->page;
  wo__svg_heading(page, WO_VIEW("Fragmentation"),
                  WO_VIEW("part of the reserved memory that is not allocated; lowest to highest of each column"));
  chart->top = page->y;
  chart->bottom = page->y + (double)STRIP_HEIGHT;
  chart->most = 1;
  for (int pct = 0; pct <= 100; pct += 50) {
    const double y = y_of(chart, pct / 100.0);
    char text[16];
    snprintf(text, sizeof text, "%d%%", pct);
    wo_svg_line(page->out, WO_SVG_LEFT, y, WO_SVG_RIGHT, y, "grid");
    wo_svg_text(page->out, WO_SVG_LEFT - 6, y + 4, "s m r", wo_view_of(text), 8);
  }
  for (size_t i = 0; i < chart->count; i++) {
    chart->y[i] = y_of(chart, chart->columns[i].high_fragmentation);
    chart->more_y[i] = y_of(chart, chart->columns[i].low_fragmentation);
  }
  wo_text_add(page->out, "<path class=\"frag\" d=\"");
  wo_svg_steps(page->out, chart->x, chart->y, chart->count);
  wo_svg_steps_back(page->out, chart->x, chart->more_y, chart->count);
  wo_text_add(page->out, "Z\"/>\n");
  memcpy(chart->y, chart->more_y, sizeof chart->y);
  add_steps(chart, "fragline");
  page->y = chart->bottom;
}

/* ---- The axis below ---- */

/* The last number is moved inwards so that the edge does not cut it. */
static void add_request_axis(struct chart *chart) {
  struct wo_svg_page *const page = chart->page;
  const double all = page->plot->memory->request_count;
  const struct wo_plot_axis axis = wo_plot_axis_count(all, 10);
  char label[48];
  wo_svg_line(page->out, WO_SVG_LEFT, page->y, WO_SVG_RIGHT, page->y, "axis");
  wo_svg_text(page->out, 16, page->y + 18, "s m", WO_VIEW("request"), 20);
  for (double value = 0; value <= all; value += axis.step) {
    const double x = x_of(chart, value);
    wo_svg_line(page->out, x, page->y, x, page->y + 4, "axis");
    const char *const classes = value == 0 ? "s m" : x > WO_SVG_RIGHT - 16 ? "s m r" : "s m mid";
    wo_svg_text(page->out, x, page->y + 18, classes, wo_view_of(wo_plot_axis_label(&axis, value, label, sizeof label)), 32);
  }
  page->y += 18;
}

/* Whether times rise over the columns: in a repeated program they begin again, and no axis could show them. */
static bool do_times_rise(const struct chart *chart) {
  int64_t before_us = INT64_MIN;
  for (size_t i = 0; i < chart->count; i++) {
    const struct wo_memory_bin *const column = &chart->columns[i];
    if (column->last_us == WO_NO_TIME) continue;
    if (column->first_us < before_us || column->last_us < column->first_us) return false;
    before_us = column->last_us;
  }
  return true;
}

/* Time is not proportional to requests: a tick is where its time was reached. */
static void add_time_axis(struct chart *chart) {
  struct wo_svg_page *const page = chart->page;
  const struct wo_memory_over_time *const memory = page->plot->memory;
  char text[48];
  double free_x = WO_SVG_LEFT + 30;
  if (memory->first_us == WO_NO_TIME || memory->last_us <= memory->first_us || !do_times_rise(chart)) return;
  const double all_us = (double)memory->last_us - (double)memory->first_us;
  const struct wo_plot_axis axis = wo_plot_axis_us(all_us, 12);
  double next_us = axis.step;
  page->y += 18;
  wo_svg_text(page->out, 16, page->y, "s m", WO_VIEW("time"), 20);
  wo_svg_text(page->out, WO_SVG_LEFT, page->y, "s m", WO_VIEW("0"), 20);
  for (size_t i = 0; i < chart->count && next_us <= all_us; i++) {
    if (chart->columns[i].last_us == WO_NO_TIME) continue;
    const double at_us = (double)chart->columns[i].last_us - (double)memory->first_us;
    const double reached_us = at_us < all_us ? at_us : all_us;
    if (reached_us < next_us) continue;
    while (next_us + axis.step <= reached_us) next_us += axis.step; /* several in one column: the last of them */
    wo_plot_axis_label(&axis, next_us, text, sizeof text);
    const double half = wo_svg_text_width(wo_view_of(text)) / 2;
    next_us += axis.step;
    if (chart->x[i] - half < free_x || chart->x[i] + half > (double)WO_SVG_RIGHT) continue;
    wo_svg_text(page->out, chart->x[i], page->y, "s m mid", wo_view_of(text), 40);
    free_x = chart->x[i] + half + 12;
  }
}

/* ---- Together ---- */

/* There are too many columns for the stack of a small thread. */
void wo__svg_time_panels(struct wo_svg_page *page) {
  struct chart *const chart = calloc(1, sizeof *chart);
  if (!chart) {
    page->out->is_failed = true;
    return;
  }
  chart->page = page;
  chart->count = wo_memory_columns(page->plot->memory, COLUMNS_MAX, chart->columns);
  assert(chart->count > 0);
  for (size_t i = 0; i < chart->count; i++) chart->x[i] = x_of(chart, chart->columns[i].first);
  chart->x[chart->count] = x_of(chart, page->plot->memory->request_count);
  add_memory(chart);
  add_fragmentation(chart);
  add_request_axis(chart);
  add_time_axis(chart);
  free(chart);
}
