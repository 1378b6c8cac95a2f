/* SPDX-License-Identifier: Apache-2.0 */
/* The chart for terminals: each column of characters shows the highest moment of a range of requests. */
#include "cuda_replay/plot/plot.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "parsers/base/units.h"

/* Widths that are used; lines of the chart and of the segment map; the least columns at the left, for "unused" and the axis. */
enum { WIDTH_MIN = 40, WIDTH_MAX = 200, ROWS = 8, MAP_ROWS = 2, GUTTER_MIN = 8, EIGHTHS = 8 };

/* The meaning of a character; each has a glyph in both character sets, and a colour. */
enum mark {
  MARK_NONE,
  MARK_ALLOCATED,
  MARK_RESERVED,
  MARK_CAPACITY,
  MARK_OOM,
  MARK_FREE, /* of the segment map: nothing in use, less than a quarter, half, three quarters, more */
  MARK_USED_1,
  MARK_USED_2,
  MARK_USED_3,
  MARK_USED_4,
  MARK_COUNT_
};

static const struct {
  const char *utf8;
  const char *ascii;
  const char *colour;
} marks[MARK_COUNT_] = {
    [MARK_NONE] = {" ", " ", ""},
    [MARK_ALLOCATED] = {"\u2588", "#", "\x1b[34m"},
    [MARK_RESERVED] = {"\u2591", ":", "\x1b[2m"},
    [MARK_CAPACITY] = {"\u2500", "-", "\x1b[31m"},
    [MARK_OOM] = {"\u25BC", "X", "\x1b[1;31m"},
    [MARK_FREE] = {"\u00B7", ".", "\x1b[2m"},
    [MARK_USED_1] = {"\u2591", ":", "\x1b[33m"},
    [MARK_USED_2] = {"\u2592", "+", "\x1b[34m"},
    [MARK_USED_3] = {"\u2593", "*", "\x1b[34m"},
    [MARK_USED_4] = {"\u2588", "#", "\x1b[34m"},
};

/* Blocks of one to seven eighths of a line. */
static const char *const eighths[EIGHTHS] = {" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587"};

/* The chart while it is written. */
struct term {
  const struct wo_plot *plot;
  struct wo_text *out;
  struct wo_text_style style;
  size_t gutter; /* columns of the numbers at the left, with a blank and the axis */
  size_t width;  /* columns of the chart, without the gutter */
  struct wo_memory_bin columns[WIDTH_MAX];
  size_t column_count;
  struct wo_plot_axis axis;
  const char *colour; /* the active one, "" for none */
};

/* ---- Characters ---- */

/* Written only on a change, so that a coloured chart is not many times as long. */
static void use_colour(struct term *term, const char *colour) {
  if (!term->style.use_color || term->colour == colour) return;
  if (*term->colour) wo_text_add(term->out, "\x1b[0m");
  wo_text_add(term->out, "%s", colour);
  term->colour = colour;
}

/* Every mark has a glyph in both sets: the chart shows the same without UTF-8. */
static void put(struct term *term, enum mark mark) {
  use_colour(term, marks[mark].colour);
  wo_text_add(term->out, "%s", term->style.use_utf8 ? marks[mark].utf8 : marks[mark].ascii);
}

/* A character that is filled from below up to `part` (0 .. 1). */
static void put_part(struct term *term, enum mark mark, double part) {
  const int filled = (int)(part * (double)EIGHTHS + 0.5);
  if (!term->style.use_utf8 || filled >= EIGHTHS) {
    put(term, part >= 0.5 ? mark : MARK_NONE);
    return;
  }
  use_colour(term, marks[mark].colour);
  wo_text_add(term->out, "%s", eighths[filled]);
}

/* Colours end with their line; a pager may cut after any line. */
static void end_line(struct term *term) {
  use_colour(term, "");
  wo_text_add(term->out, "\n");
}

/* The number at the left of a line, then the axis. */
static void put_gutter(struct term *term, const char *label) {
  use_colour(term, "");
  const size_t columns = wo_text_columns(wo_view_of(label));
  assert(columns + 2 <= term->gutter);
  wo_text_repeat(term->out, ' ', term->gutter - 2 - columns);
  wo_text_add(term->out, "%s %s", label, term->style.use_utf8 ? "\u2502" : "|");
}

/* ---- The chart ---- */

/* If a run has fewer requests than the chart has columns, each column takes several characters. */
static const struct wo_memory_bin *column_at(const struct term *term, size_t x) {
  assert(x < term->width && term->column_count > 0);
  return &term->columns[x * term->column_count / term->width];
}

/* The character of line `row` (from the top) at x. Values of a line are between low and high. */
static void put_cell(struct term *term, size_t x, int row) {
  const struct wo_memory_bin *const column = column_at(term, x);
  const double line_bytes = term->axis.top / (double)ROWS;
  const double low = line_bytes * (ROWS - 1 - row);
  const double allocated = ((double)column->high_bytes[WO_MEMORY_ALLOCATED] - low) / line_bytes;
  const double reserved = ((double)column->high_bytes[WO_MEMORY_RESERVED] - low) / line_bytes;
  const double capacity = ((double)term->plot->capacity_bytes - low) / line_bytes;
  const bool is_capacity = wo_plot_shows_capacity(term->plot) && capacity > 0 && capacity <= 1;
  const bool is_first = x == 0 || column_at(term, x - 1) != column; /* of the characters that show the column */
  if (row == 0 && is_first && column->oom_count > 0) {
    put(term, MARK_OOM);
  } else if (allocated >= 1 - 0.5 / (double)EIGHTHS) {
    put(term, MARK_ALLOCATED);
  } else if (allocated >= 0.5 / (double)EIGHTHS && (term->style.use_utf8 || allocated >= 0.5)) {
    put_part(term, MARK_ALLOCATED, allocated);
  } else if (reserved >= 0.5) {
    put(term, MARK_RESERVED);
  } else {
    put(term, is_capacity ? MARK_CAPACITY : MARK_NONE);
  }
}

/* The tick whose value the upper edge of a line reaches first, as text; empty if there is none. */
static void label_row(const struct term *term, int row, char *text, size_t cap) {
  const struct wo_plot_axis *const axis = &term->axis;
  const double high = axis->top * (ROWS - row) / (double)ROWS * (1 + 1e-9);
  const double low = axis->top * (ROWS - 1 - row) / (double)ROWS * (1 + 1e-9);
  text[0] = '\0';
  for (double value = axis->step; value <= high; value += axis->step) {
    if (value <= low) continue;
    wo_plot_axis_label(axis, value, text, cap);
  }
}

/* Columns for the widest number. */
static size_t gutter_of(const struct term *term) {
  size_t gutter = GUTTER_MIN;
  char label[48];
  for (int row = 0; row < ROWS; row++) {
    label_row(term, row, label, sizeof label);
    const size_t columns = wo_text_columns(wo_view_of(label)) + 2;
    if (columns > gutter) gutter = columns;
  }
  return gutter;
}

/* From the top: the highest values first. */
static void add_rows(struct term *term) {
  char label[48];
  for (int row = 0; row < ROWS; row++) {
    label_row(term, row, label, sizeof label);
    put_gutter(term, label);
    for (size_t x = 0; x < term->width; x++) put_cell(term, x, row);
    end_line(term);
  }
}

/* The axis, and the number of requests along it. */
static void add_base(struct term *term) {
  const uint32_t count = term->plot->memory->request_count;
  const struct wo_plot_axis numbers = wo_plot_axis_count(count, 1);
  char text[64];
  char number[48];
  wo_text_repeat(term->out, ' ', term->gutter - 2);
  wo_text_add(term->out, "0%s", term->style.use_utf8 ? "\u2514" : "+");
  for (size_t x = 0; x < term->width; x++) wo_text_add(term->out, "%s", term->style.use_utf8 ? "\u2500" : "-");
  end_line(term);
  snprintf(text, sizeof text, "%s requests", wo_plot_axis_label(&numbers, count, number, sizeof number));
  const size_t len = strlen(text);
  assert(len < WIDTH_MIN);
  wo_text_repeat(term->out, ' ', term->gutter + term->width - len);
  wo_text_add(term->out, "%s", text);
  end_line(term);
}

/* One line: the lowest fragmentation of each column, in eighths or tenths. */
static void add_fragmentation(struct term *term) {
  static const char tenths[] = ".123456789#";
  put_gutter(term, "unused");
  for (size_t x = 0; x < term->width; x++) {
    const double part = column_at(term, x)->low_fragmentation;
    if (term->style.use_utf8) {
      put_part(term, MARK_RESERVED, part);
    } else {
      use_colour(term, marks[MARK_RESERVED].colour);
      wo_text_repeat(term->out, tenths[(int)(part * 10)], 1);
    }
  }
  end_line(term);
}

/* ---- Words ---- */

/* Adds a piece to a line if it fits, after two blanks: a mark (MARK_COUNT_: none) and a text. */
static void add_piece(struct term *term, size_t *used, enum mark mark, const char *text) {
  const size_t columns = wo_text_columns(wo_view_of(text)) + (mark < MARK_COUNT_ ? 2 : 0);
  const size_t gap = *used > 0 ? 2 : 0;
  if (*used + gap + columns > term->gutter + term->width) return;
  wo_text_repeat(term->out, ' ', gap);
  if (mark < MARK_COUNT_) put(term, mark);
  use_colour(term, "");
  wo_text_add(term->out, "%s%s", mark < MARK_COUNT_ ? " " : "", text);
  *used += gap + columns;
}

/* A piece of the legend that ends in a number of bytes. */
static void add_marked(struct term *term, size_t *used, enum mark mark, const char *name, uint64_t bytes) {
  char text[64];
  snprintf(text, sizeof text, "%s %s", name, WO_BYTES_TEXT(bytes));
  add_piece(term, used, mark, text);
}

/* The drawn series with their highest values: the legend is the summary. */
static void add_legend(struct term *term) {
  const struct wo_plot *const plot = term->plot;
  size_t used = 0;
  add_marked(term, &used, MARK_ALLOCATED, "allocated", plot->memory->peak[WO_MEMORY_ALLOCATED].bytes);
  add_marked(term, &used, MARK_RESERVED, "reserved", plot->memory->peak[WO_MEMORY_RESERVED].bytes);
  if (plot->memory->has_oom) add_marked(term, &used, MARK_OOM, "failed:", plot->memory->oom.requested_bytes);
  if (wo_plot_has_capacity(plot)) {
    const bool is_shown = wo_plot_shows_capacity(plot);
    add_marked(term, &used, is_shown ? MARK_CAPACITY : MARK_NONE, "capacity", plot->capacity_bytes);
  }
  end_line(term);
}

/* ---- Segments ---- */

/* Adds the bytes of blocks in use to their cells. All segments are placed end to end, and cells divide them evenly. */
static void cover_cells(const struct wo_segment_map *map, const uint32_t *order, double *cells, size_t cell_count) {
  const double cell_bytes = (double)map->reserved_bytes / (double)cell_count;
  double at = 0;
  for (size_t i = 0; i < map->segments.count; i++) {
    const struct wo_map_segment *const segment = &map->segments.items[order[i]];
    for (uint32_t k = 0; k < segment->block_count; k++) {
      const struct wo_map_block *const block = &map->blocks.items[segment->first_block + k];
      const double from = at / cell_bytes;
      at += (double)block->size_bytes;
      const double to = at / cell_bytes;
      if (block->state != WO_BLOCK_FREE) wo_plot_cover(cells, cell_count, from, to);
    }
  }
}

/* Any byte in use shows: one tiny block in an empty segment keeps it. */
static enum mark mark_of(double used) {
  if (used <= 0) return MARK_FREE;
  return used < 0.25 ? MARK_USED_1 : used < 0.5 ? MARK_USED_2 : used < 0.75 ? MARK_USED_3 : MARK_USED_4;
}

/* Pieces that do not fit are omitted; the least important ones are last in the line. */
static void add_map_words(struct term *term, const struct wo_segment_map *map) {
  size_t used = 0;
  char text[96];
  const enum wo_memory_moment moment = term->plot->memory->moment;
  snprintf(text, sizeof text, "%zu segment%s %s", map->segments.count, map->segments.count == 1 ? "" : "s",
           moment == WO_MOMENT_OOM     ? "at the failure"
           : moment == WO_MOMENT_STATE ? "in the snapshot"
                                       : "at the peak");
  add_piece(term, &used, MARK_COUNT_, text);
  add_piece(term, &used, MARK_FREE, "free");
  add_piece(term, &used, MARK_USED_1, "less than a quarter used");
  add_piece(term, &used, MARK_USED_4, "full");
  end_line(term);
}

/* Segments end to end over two lines, in the order of the SVG plot. */
static void add_map(struct term *term) {
  const struct wo_segment_map *const map = &term->plot->memory->map;
  double cells[MAP_ROWS * WIDTH_MAX] = {0};
  if (map->segments.count == 0 || map->reserved_bytes == 0) return;
  uint32_t *const order = wo_plot_segment_order(map);
  if (!order) {
    term->out->is_failed = true;
    return;
  }
  cover_cells(map, order, cells, MAP_ROWS * term->width);
  free(order);
  add_map_words(term, map);
  for (size_t row = 0; row < MAP_ROWS; row++) {
    put_gutter(term, "");
    for (size_t x = 0; x < term->width; x++) put(term, mark_of(cells[row * term->width + x]));
    end_line(term);
  }
}

/* ---- Together ---- */

/* Widths outside the readable range are limited; if a terminal reports a wrong width, the chart wraps. */
void wo_plot_term(const struct wo_plot *plot, struct wo_text_style style, struct wo_text *out) {
  const size_t width = style.width < WIDTH_MIN ? WIDTH_MIN : style.width > WIDTH_MAX ? WIDTH_MAX : style.width;
  const bool has_steps = plot->memory->bin_count > 0;
  if (!has_steps && plot->memory->map.segments.count == 0) return;
  struct term *const term = calloc(1, sizeof *term);
  if (!term) {
    out->is_failed = true;
    return;
  }
  term->plot = plot;
  term->out = out;
  term->style = style;
  term->colour = "";
  term->axis = wo_plot_axis_bytes(wo_plot_most_bytes(plot), 4);
  term->gutter = gutter_of(term);
  assert(term->gutter < width);
  term->width = width - term->gutter;
  term->column_count = wo_memory_columns(plot->memory, term->width, term->columns);
  if (has_steps) {
    add_legend(term);
    add_rows(term);
    add_base(term);
    add_fragmentation(term);
  }
  add_map(term);
  free(term);
}
