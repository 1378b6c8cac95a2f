/* SPDX-License-Identifier: Apache-2.0 */
/* Plots: an SVG document and a chart for terminals, their input, and the choices that they share: order and names of classes,
 * round axes, the height of the chart. Everything is borrowed. Pure; any thread. */
#ifndef WO_PLOT_H
#define WO_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/inspect/attribution.h"
#include "cuda_replay/inspect/memory_over_time.h"
#include "parsers/base/text.h"

struct wo_plot {
  const struct wo_alloc_pattern *pattern;   /* names of stacks, classes */
  const struct wo_memory_over_time *memory; /* its map may be empty */
  const struct wo_attribution *attribution; /* of that map; NULL = not shown */
  uint64_t capacity_bytes;                  /* capacity of the allocator; 0 or UINT64_MAX = not known, no line */
  struct wo_view title;                     /* any bytes; empty = a plain one */
  struct wo_view subtitle;                  /* settings, version of torch; any bytes; may be empty */
};

/* Appends one self-contained SVG document: memory over time by class, fragmentation, the segment map at the peak, and the lines
 * that requested most. No scripts, no fonts or files from elsewhere, light and dark by the reader's setting, texts escaped and
 * cut. At most about 1 MiB however long the trace. Deterministic. If memory is out, out->is_failed is set. */
void wo_plot_svg(const struct wo_plot *plot, struct wo_text *out);

/* Appends a chart of allocated and reserved bytes over time, the segment map below: at most 16 lines of at most style.width
 * columns (40 to 200 are used), each ended by a line break. UTF-8 blocks or plain ASCII and colours by the style. Appends nothing
 * for a run without requests. If memory is out, out->is_failed is set. */
void wo_plot_term(const struct wo_plot *plot, struct wo_text_style style, struct wo_text *out);

/* The classes in their stacking order, WO_CLASS_COUNT_ of them: the longest-lived is lowest. */
const enum wo_alloc_class *wo_plot_class_order(void);

/* The label of a class in a legend ("optimizer state"). Memory of unknown class is "allocated" if is_only, else "other". */
const char *wo_plot_class_label(enum wo_alloc_class class_, bool is_only);

/* Whether any moment has bytes of that class / has bytes of a known class. */
bool wo_plot_has_class(const struct wo_memory_over_time *memory, enum wo_alloc_class class_);
bool wo_plot_has_classes(const struct wo_memory_over_time *memory);

/* The map's segments in drawing order: large pool first, then by size, largest first. count of them; the caller frees. NULL if
 * memory is out (never for an empty map: that gives one unused element). */
uint32_t *wo_plot_segment_order(const struct wo_segment_map *map);

/* Adds the part of each of `count` cells of length 1 that is between two places. */
void wo_plot_cover(double *cells, size_t count, double from, double to);

/* An axis from 0 to at least `most` in round steps: 1, 2 or 5 times a power of ten of its unit. */
struct wo_plot_axis {
  double step;      /* between two ticks; > 0 */
  double top;       /* at or above most, a multiple of half a step */
  double unit_size; /* value / unit_size is the number to print */
  const char *unit; /* "GiB", "ms"; "" for counts */
  int decimals;     /* of the numbers at ticks */
};

/* Axes of bytes / microseconds / counts with at most `ticks` steps (1 .. 20). most may be 0. */
struct wo_plot_axis wo_plot_axis_bytes(double most, int ticks);
struct wo_plot_axis wo_plot_axis_us(double most, int ticks);
struct wo_plot_axis wo_plot_axis_count(double most, int ticks);

/* Writes the number at a tick, with commas between thousands, and its unit ("20,000", "0.5 GiB"). Returns buf; cap at least 48.
 */
char *wo_plot_axis_label(const struct wo_plot_axis *axis, double value, char *buf, size_t cap);

/* Whether the capacity is known / is near enough to the peak to be in the chart. */
bool wo_plot_has_capacity(const struct wo_plot *plot);
bool wo_plot_shows_capacity(const struct wo_plot *plot);

/* The highest value in the chart: reserved bytes, and the capacity if it is shown. */
double wo_plot_most_bytes(const struct wo_plot *plot);

#endif
