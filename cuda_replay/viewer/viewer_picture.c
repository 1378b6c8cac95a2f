/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of the page that needs no script: memory over time by call site. See viewer_internal.h. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_replay/plot/plot.h"
#include "cuda_replay/plot/svg.h"
#include "cuda_replay/viewer/viewer_internal.h"
#include "parsers/base/units.h"

/* Pixels of the picture and of the chart in it; the most steps of a line; call sites with an area of their own. */
enum { WIDTH = 1100, HEIGHT = 330, LEFT = 64, RIGHT = 1084, TOP = 28, BOTTOM = 296, STEPS_MAX = 510, AREAS = 8 };

/* Memory over time as drawn. */
struct picture {
  const struct wo__viewer *viewer;
  struct wo_text *out;
  size_t columns[STEPS_MAX]; /* the column of each step: where most is in use */
  size_t count;
  double x[STEPS_MAX + 1];
  double y[STEPS_MAX];
  double most;
};

static double x_of(const struct picture *picture, double time) {
  const double all = picture->viewer->window.end - picture->viewer->window.first;
  return (double)LEFT + (RIGHT - LEFT) * (all > 0 ? time / all : 0);
}

static double y_of(const struct picture *picture, double bytes) {
  return (double)BOTTOM - (BOTTOM - TOP) * (bytes < picture->most ? bytes / picture->most : 1);
}

/* The middle of the step of an entry. */
static double time_of(const struct wo__viewer *viewer, uint32_t entry) {
  return entry == WO_NO_ENTRY || entry < viewer->window.first ? 0 : entry - viewer->window.first + 0.5;
}

/* Joins neighbouring columns, so that the picture has few steps. */
static void choose_steps(struct picture *picture) {
  const struct wo__viewer_columns *const columns = &picture->viewer->columns;
  const size_t joined = (columns->count + STEPS_MAX - 1) / STEPS_MAX;
  picture->count = 0;
  for (size_t i = 0; i < columns->count; i += joined) {
    size_t best = i;
    for (size_t k = i; k < i + joined && k < columns->count; k++) {
      if (columns->bytes[k] > columns->bytes[best]) best = k;
    }
    picture->x[picture->count] = x_of(picture, (double)i * columns->width);
    picture->columns[picture->count++] = best;
  }
  picture->x[picture->count] = RIGHT;
}

/* ---- Areas ---- */

/* `group` is WO__VIEWER_GROUPS for all that have no area of their own. */
static void add_area(struct picture *picture, size_t group) {
  if (group == WO__VIEWER_GROUPS) {
    wo_text_add(picture->out, "<path class=\"rest\" d=\"");
  } else {
    wo_text_add(picture->out, "<path class=\"s%zu\" d=\"", group);
  }
  wo_svg_steps(picture->out, picture->x, picture->y, picture->count);
  wo_svg_add(picture->out, "V@H@Z\"/>\n", NULL, (const double[]){BOTTOM, picture->x[0]});
}

/* Call sites with an area of their own; the last group is that of all others. */
static size_t count_areas(const struct wo__viewer *viewer) {
  const size_t sites = viewer->groupings[0].count - 1;
  return sites < AREAS ? sites : AREAS;
}

/* From the highest to the lowest, each down to the bottom. All sites beyond the first few are the topmost area. */
static void add_areas(struct picture *picture) {
  const struct wo__viewer *const viewer = picture->viewer;
  const struct wo__viewer_columns *const columns = &viewer->columns;
  for (size_t i = 0; i < picture->count; i++) picture->y[i] = y_of(picture, (double)columns->bytes[picture->columns[i]]);
  add_area(picture, WO__VIEWER_GROUPS);
  for (size_t top = count_areas(viewer); top > 0; top--) {
    for (size_t i = 0; i < picture->count; i++) {
      double sum = 0;
      for (size_t g = 0; g < top; g++) sum += (double)columns->values[picture->columns[i] * columns->groups + g];
      picture->y[i] = y_of(picture, sum);
    }
    add_area(picture, top - 1);
  }
}

static void add_reserved(struct picture *picture) {
  const struct wo__viewer_columns *const columns = &picture->viewer->columns;
  if (columns->reserved_most == 0) return;
  for (size_t i = 0; i < picture->count; i++) picture->y[i] = y_of(picture, (double)columns->reserved[picture->columns[i]]);
  wo_text_add(picture->out, "<path class=\"reserved\" d=\"");
  wo_svg_steps(picture->out, picture->x, picture->y, picture->count);
  wo_text_add(picture->out, "\"/>\n");
}

/* ---- Axes and marks ---- */

static void add_grid(struct picture *picture, const struct wo_plot_axis *axis) {
  const struct wo_window window = picture->viewer->window;
  const double entries = window.end - window.first;
  const struct wo_plot_axis count = wo_plot_axis_count(entries, 10);
  char label[48];
  for (double value = 0; value <= axis->top * (1 + 1e-9); value += axis->step) {
    const double y = y_of(picture, value);
    wo_svg_line(picture->out, LEFT, y, RIGHT, y, "grid");
    wo_plot_axis_label(axis, value, label, sizeof label);
    wo_svg_text(picture->out, LEFT - 6, y + 4, "muted end", wo_view_of(value == 0 ? "0" : label), 40);
  }
  for (double value = 0; value <= entries; value += count.step) {
    const double x = x_of(picture, value);
    wo_svg_line(picture->out, x, BOTTOM, x, BOTTOM + 4, "axis");
    wo_plot_axis_label(&count, value + window.first, label, sizeof label);
    wo_svg_text(picture->out, x, BOTTOM + 18,
                x > RIGHT - 40 ? "muted end"
                : value > 0    ? "muted mid"
                               : "muted",
                wo_view_of(label), 40);
  }
  wo_svg_text(picture->out, LEFT - 6, BOTTOM + 18, "muted end", WO_VIEW("entry"), 20);
}

/* A text beside a line, on the side where there is room. */
static void add_label(struct picture *picture, double x, double y, const char *text) {
  const bool is_left = x + wo_svg_text_width(wo_view_of(text)) + 12 > (double)RIGHT;
  wo_svg_text(picture->out, is_left ? x - 7 : x + 7, y, is_left ? "strong end" : "strong", wo_view_of(text), 100);
}

static void add_marks(struct picture *picture) {
  const struct wo__viewer *const viewer = picture->viewer;
  char text[128];
  const double peak_x = x_of(picture, time_of(viewer, viewer->peak.entry));
  const double peak_y = y_of(picture, (double)viewer->peak.bytes);
  wo_svg_add(picture->out, "<circle class=\"mark\" r=\"4\" cx=\"@\" cy=\"@\"/>\n", NULL, (const double[]){peak_x, peak_y});
  snprintf(text, sizeof text, "peak %s", WO_BYTES_TEXT(viewer->peak.bytes));
  add_label(picture, peak_x, peak_y - 6, text);
  for (size_t i = 0; i < viewer->oom_kept; i++) {
    const struct wo_trace_entry *const entry = &viewer->look->lives.trace->entries.items[viewer->ooms[i]];
    const double x = x_of(picture, time_of(viewer, viewer->ooms[i]));
    wo_svg_line(picture->out, x, TOP - 6, x, BOTTOM, "bad");
    if (i > 0) continue;
    wo_svg_add(picture->out, "<path class=\"badfill\" d=\"M@,@h12l-6,9z\"/>\n", NULL, (const double[]){x - 6, TOP - 12});
    snprintf(text, sizeof text, "out of memory: %s refused", WO_BYTES_TEXT(entry->size_bytes));
    add_label(picture, x, TOP - 8, text);
  }
}

/* ---- Together ---- */

static void add_legend(struct picture *picture) {
  const struct wo__viewer *const viewer = picture->viewer;
  const size_t areas = count_areas(viewer);
  struct wo_text name = {0};
  wo_text_add(picture->out, "<ul class=\"legend\">\n");
  for (size_t g = 0; g < areas; g++) {
    name.len = 0;
    wo__viewer_group_name(viewer, 0, g, &name);
    wo_text_add(picture->out, "<li><span class=\"key b%zu\"></span>", g);
    wo_svg_escape(picture->out, (struct wo_view){name.ptr, name.len}, 120);
    wo_text_add(picture->out, "</li>\n");
  }
  if (viewer->groupings[0].count > AREAS + 1)
    wo_text_add(picture->out, "<li><span class=\"key brest\"></span>all other call sites</li>\n");
  if (viewer->columns.reserved_most > 0)
    wo_text_add(picture->out, "<li><span class=\"key line\"></span>reserved in segments</li>\n");
  wo_text_add(picture->out, "</ul>\n");
  picture->out->is_failed = picture->out->is_failed || name.is_failed;
  wo_text_done(&name);
}

/* Too many steps for the stack of a small thread. */
void wo__viewer_picture(const struct wo__viewer *viewer, struct wo_text *out) {
  struct picture *const picture = calloc(1, sizeof *picture);
  if (picture == NULL) {
    out->is_failed = true;
    return;
  }
  const uint64_t reserved = viewer->columns.reserved_most;
  const struct wo_plot_axis axis = wo_plot_axis_bytes((double)(reserved > viewer->peak.bytes ? reserved : viewer->peak.bytes), 6);
  *picture = (struct picture){.viewer = viewer, .out = out, .most = axis.top};
  choose_steps(picture);
  wo_text_add(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"picture-title\">\n"
      "<title id=\"picture-title\">Memory in use over the entries of the recording, by call site; the peak is %s</title>\n",
      WIDTH, HEIGHT, WO_BYTES_TEXT(viewer->peak.bytes));
  add_areas(picture);
  add_grid(picture, &axis);
  add_reserved(picture);
  add_marks(picture);
  wo_text_add(out, "</svg>\n");
  add_legend(picture);
  free(picture);
}
