/* SPDX-License-Identifier: Apache-2.0 */
/* The choices that all plots share: classes, axes, height. */
#include "cuda_replay/plot/plot.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "parsers/base/units.h"

/* ---- Classes ---- */

static const enum wo_alloc_class class_order[WO_CLASS_COUNT_] = {
    WO_CLASS_PARAMETER, WO_CLASS_OPTIMIZER, WO_CLASS_GRADIENT,   WO_CLASS_WORKSPACE, WO_CLASS_COMMUNICATION,
    WO_CLASS_INPUT,     WO_CLASS_UNKNOWN,   WO_CLASS_ACTIVATION, WO_CLASS_LOGITS,    WO_CLASS_TEMPORARY,
};

static const char *const class_labels[WO_CLASS_COUNT_] = {
    [WO_CLASS_UNKNOWN] = "other",
    [WO_CLASS_PARAMETER] = "parameters",
    [WO_CLASS_GRADIENT] = "gradients",
    [WO_CLASS_OPTIMIZER] = "optimizer state",
    [WO_CLASS_ACTIVATION] = "activations",
    [WO_CLASS_LOGITS] = "logits",
    [WO_CLASS_TEMPORARY] = "temporaries",
    [WO_CLASS_WORKSPACE] = "workspaces",
    [WO_CLASS_COMMUNICATION] = "communication",
    [WO_CLASS_INPUT] = "inputs",
};

const enum wo_alloc_class *wo_plot_class_order(void) {
  return class_order;
}

const char *wo_plot_class_label(enum wo_alloc_class class_, bool is_only) {
  assert(class_ >= 0 && class_ < WO_CLASS_COUNT_);
  return is_only && class_ == WO_CLASS_UNKNOWN ? "allocated" : class_labels[class_];
}

bool wo_plot_has_class(const struct wo_memory_over_time *memory, enum wo_alloc_class class_) {
  return memory->class_peak[class_].bytes > 0;
}

/* If no class is known, plots use one colour and label it by what it is. */
bool wo_plot_has_classes(const struct wo_memory_over_time *memory) {
  for (int i = 0; i < WO_CLASS_COUNT_; i++) {
    if (i != WO_CLASS_UNKNOWN && wo_plot_has_class(memory, (enum wo_alloc_class)i)) return true;
  }
  return false;
}

/* ---- Segments ---- */

/* A segment as it is sorted. */
struct ranked {
  uint64_t size_bytes;
  uint32_t segment;
  bool is_small;
};

/* Small segments last: all of them have the same size and show little by themselves. */
static int compare_ranked(const void *left, const void *right) {
  const struct ranked *const a = left;
  const struct ranked *const b = right;
  if (a->is_small != b->is_small) return a->is_small ? 1 : -1;
  if (a->size_bytes != b->size_bytes) return a->size_bytes > b->size_bytes ? -1 : 1;
  return a->segment < b->segment ? -1 : a->segment > b->segment;
}

/* Sorted beside the map, which must stay in the order of addresses for searches. */
uint32_t *wo_plot_segment_order(const struct wo_segment_map *map) {
  const size_t count = map->segments.count;
  struct ranked *const ranked = calloc(count + 1, sizeof *ranked);
  uint32_t *const order = calloc(count + 1, sizeof *order);
  if (!ranked || !order) {
    free(ranked);
    free(order);
    return NULL;
  }
  for (size_t i = 0; i < count; i++) {
    const struct wo_map_segment *const segment = &map->segments.items[i];
    ranked[i] = (struct ranked){segment->size_bytes, (uint32_t)i, segment->is_small};
  }
  qsort(ranked, count, sizeof *ranked, compare_ranked);
  for (size_t i = 0; i < count; i++) order[i] = ranked[i].segment;
  free(ranked);
  return order;
}

void wo_plot_cover(double *cells, size_t count, double from, double to) {
  assert(from >= 0 && from <= to && to < (double)count + 0.5); /* halves: sums of doubles */
  for (size_t i = (size_t)from; i < count && (double)i < to; i++) {
    const double start = from > (double)i ? from : (double)i;
    const double end = to < (double)i + 1 ? to : (double)i + 1;
    cells[i] += end - start;
  }
}

/* ---- Axes ---- */

/* A unit of an axis. */
struct unit {
  const char *name;
  double size;
};

/* Divides [0, most] of the unit into at most `ticks` steps. smallest: the smallest step, in units. */
static struct wo_plot_axis axis_of(double most, int ticks, const struct unit *unit, double smallest) {
  static const double round_steps[] = {1, 2, 5, 10};
  assert(ticks >= 1 && ticks <= 20 && most >= 0);
  const double raw = most / unit->size / ticks;
  double power = smallest;
  size_t i = 0;
  while (power * 10 < raw) power *= 10;
  while (i < 3 && power * round_steps[i] < raw) i++;
  const double step = power * round_steps[i];
  struct wo_plot_axis axis = {.step = step * unit->size, .unit_size = unit->size, .unit = unit->name};
  for (double shown = step; axis.decimals < 3 && fabs(shown - floor(shown + 0.5)) > 1e-9; shown *= 10) axis.decimals++;
  const double halves = ceil(most / axis.step * 2 - 1e-9);
  axis.top = (halves < 1 ? 1 : halves) * axis.step / 2;
  return axis;
}

/* The largest unit of which `most` has at least one; else the first one. */
static const struct unit *unit_for(const struct unit *units, size_t count, double most) {
  size_t i = count - 1;
  while (i > 0 && most < units[i].size) i--;
  return &units[i];
}

/* Powers of 1024, as in all other output of whyoom. */
struct wo_plot_axis wo_plot_axis_bytes(double most, int ticks) {
  static const struct unit units[] = {{"KiB", WO_KIB}, {"MiB", WO_MIB}, {"GiB", WO_GIB}, {"TiB", WO_GIB * 1024}};
  return axis_of(most, ticks, unit_for(units, sizeof units / sizeof *units, most), 0.01);
}

/* Minutes and hours are used as soon as their numbers are easier to read than those of the smaller unit. */
struct wo_plot_axis wo_plot_axis_us(double most, int ticks) {
  static const struct unit units[] = {{"µs", 1}, {"ms", 1e3}, {"s", 1e6}, {"min", 6e7}, {"h", 3.6e9}};
  return axis_of(most, ticks, unit_for(units, sizeof units / sizeof *units, most / 3), 0.1);
}

/* Whole steps: there are no half requests. */
struct wo_plot_axis wo_plot_axis_count(double most, int ticks) {
  static const struct unit one = {"", 1};
  return axis_of(most, ticks, &one, 1);
}

/* Commas are used in the whole part only; all ticks of an axis have the same number of decimals, so that numbers align. */
char *wo_plot_axis_label(const struct wo_plot_axis *axis, double value, char *buf, size_t cap) {
  char digits[32];
  assert(cap >= sizeof digits + 16);
  const int len = snprintf(digits, sizeof digits, "%.*f", axis->decimals, value / axis->unit_size);
  const int whole = axis->decimals > 0 ? len - axis->decimals - 1 : len;
  size_t at = 0;
  for (int i = 0; i < len && at + 16 < cap; i++) {
    if (i > 0 && i < whole && (whole - i) % 3 == 0) buf[at++] = ',';
    buf[at++] = digits[i];
  }
  snprintf(buf + at, cap - at, "%s%s", *axis->unit ? " " : "", axis->unit);
  return buf;
}

/* ---- Height ---- */

bool wo_plot_has_capacity(const struct wo_plot *plot) {
  return plot->capacity_bytes > 0 && plot->capacity_bytes < UINT64_MAX;
}

/* A capacity of many times the peak would compress the chart into the lowest rows. */
bool wo_plot_shows_capacity(const struct wo_plot *plot) {
  const double reserved = (double)plot->memory->peak[WO_MEMORY_RESERVED].bytes;
  return wo_plot_has_capacity(plot) && (double)plot->capacity_bytes <= 2.5 * reserved;
}

/* No other series can be higher than reserved bytes. */
double wo_plot_most_bytes(const struct wo_plot *plot) {
  const double reserved = (double)plot->memory->peak[WO_MEMORY_RESERVED].bytes;
  const double capacity = wo_plot_shows_capacity(plot) ? (double)plot->capacity_bytes : 0;
  return capacity > reserved ? capacity : reserved;
}
