/* SPDX-License-Identifier: Apache-2.0 */
/* The segment map as a picture: rows of equal size that segments are packed into, blocks in the colour of their class.
 *
 * A picture has fewer pixels than a map has blocks, so each row is drawn pixel by pixel: the kind with most of a pixel gives it
 * its colour, and blocks with little of it leave a low tick, because these blocks pin a segment. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_replay/plot/plot_svg_internal.h"
#include "parsers/base/units.h"
#include "parsers/base/vec.h"

/* Pixels of a row, of the gap below it, and of a tick. The most rows if packing wasted nothing, and the number of rows from which
 * they may become longer. Kinds of blocks: classes and pending. The most tooltips; the least width in pixels of a shape with a
 * tooltip, with an outline, with a border to its neighbour. */
enum {
  PIXELS = WO_SVG_RIGHT - WO_SVG_LEFT,
  ROW_HEIGHT = 12,
  ROW_GAP = 3,
  TICK_HEIGHT = 4,
  ROWS_FULL = 24,
  ROWS_FEW = 8,
  KIND_PENDING = WO_CLASS_COUNT_,
  KINDS,
  TIPS_MAX = 400,
  TIP_PIXELS = 8,
  EDGE_PIXELS = 3,
  PART_PIXELS = 5
};

#define FIRST_ROW_BYTES (UINT64_C(2) * 1024 * 1024)

/* A part of a segment in one row. */
struct piece {
  uint32_t segment;
  uint32_t row;
  uint64_t offset_bytes; /* in the row */
  uint64_t start;        /* address */
  uint64_t size_bytes;
};

/* A row while it is filled. */
struct row {
  uint64_t used_bytes;
  bool is_small;
};

struct packing {
  const struct wo_segment_map *map;
  uint64_t row_bytes;
  WO_VEC(struct piece) pieces;
  WO_VEC(struct row) rows;
};

/* ---- Packing ---- */

/* Pieces of a row follow each other without gaps; outlines separate them. */
static bool add_piece(struct packing *packing, uint32_t segment, size_t row, uint64_t start, uint64_t size_bytes) {
  if (!WO_VEC_RESERVE(&packing->pieces, 1, UINT32_MAX)) return false;
  packing->pieces.items[packing->pieces.count++] = (struct piece){.segment = segment,
                                                                  .row = (uint32_t)row,
                                                                  .offset_bytes = packing->rows.items[row].used_bytes,
                                                                  .start = start,
                                                                  .size_bytes = size_bytes};
  packing->rows.items[row].used_bytes += size_bytes;
  assert(packing->rows.items[row].used_bytes <= packing->row_bytes);
  return true;
}

/* The first row of its pool with enough room; else a new one. Each segment longer than a row begins a new one. */
static bool pack_segment(struct packing *packing, uint32_t index) {
  const struct wo_map_segment *const segment = &packing->map->segments.items[index];
  uint64_t start = segment->address;
  uint64_t left_bytes = segment->size_bytes;
  while (left_bytes > 0) {
    const uint64_t size_bytes = left_bytes < packing->row_bytes ? left_bytes : packing->row_bytes;
    size_t row = segment->size_bytes > packing->row_bytes ? packing->rows.count : 0;
    for (; row < packing->rows.count; row++) {
      const struct row *const known = &packing->rows.items[row];
      if (known->is_small == segment->is_small && packing->row_bytes - known->used_bytes >= size_bytes) break;
    }
    if (row == packing->rows.count) {
      if (!WO_VEC_RESERVE(&packing->rows, 1, UINT32_MAX)) return false;
      packing->rows.items[packing->rows.count++] = (struct row){.is_small = segment->is_small};
    }
    if (!add_piece(packing, index, row, start, size_bytes)) return false;
    start += size_bytes;
    left_bytes -= size_bytes;
  }
  return true;
}

/* In drawing order: row by row. */
static int compare_pieces(const void *left, const void *right) {
  const struct piece *const a = left;
  const struct piece *const b = right;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  return a->offset_bytes < b->offset_bytes ? -1 : a->offset_bytes > b->offset_bytes;
}

/* A power of two: short enough for a readable number of rows; if possible as long as the largest segment. */
static uint64_t choose_row_bytes(const struct wo_segment_map *map, uint64_t largest_bytes) {
  uint64_t row_bytes = FIRST_ROW_BYTES;
  while (map->reserved_bytes / row_bytes >= ROWS_FULL) row_bytes *= 2;
  while (row_bytes < largest_bytes && map->reserved_bytes / (2 * row_bytes) >= ROWS_FEW) row_bytes *= 2;
  return row_bytes;
}

/* First fit over segments of decreasing size leaves little room unused at the ends of rows. */
static bool pack(struct packing *packing) {
  uint32_t *const order = wo_plot_segment_order(packing->map);
  uint64_t largest_bytes = 0;
  bool is_whole = order != NULL;
  for (size_t i = 0; i < packing->map->segments.count; i++) {
    const uint64_t size_bytes = packing->map->segments.items[i].size_bytes;
    if (size_bytes > largest_bytes) largest_bytes = size_bytes;
  }
  packing->row_bytes = choose_row_bytes(packing->map, largest_bytes);
  for (size_t i = 0; i < packing->map->segments.count && is_whole; i++) is_whole = pack_segment(packing, order[i]);
  if (is_whole) qsort(packing->pieces.items, packing->pieces.count, sizeof *packing->pieces.items, compare_pieces);
  free(order);
  return is_whole;
}

/* ---- Drawing ---- */

/* The shapes by colour, one path for each: this keeps the document small. */
struct drawing {
  struct wo_svg_page *page;
  const struct packing *packing;
  double top;
  double covered[KINDS][PIXELS]; /* of one row: the part of each pixel that blocks of a kind cover, 0 .. 1 */
  struct wo_text kinds[KINDS];
  struct wo_text ground;
  struct wo_text edges;
  struct wo_text parts;
  struct wo_text tips;
  size_t tip_count;
};

/* Rows are numbered from the top. */
static double row_y(const struct drawing *drawing, uint32_t row) {
  return drawing->top + row * (double)(ROW_HEIGHT + ROW_GAP);
}

static double pixels_of(const struct drawing *drawing, uint64_t bytes) {
  return (double)bytes * (double)PIXELS / (double)drawing->packing->row_bytes;
}

/* Relative commands need about half the bytes of four absolute points. */
static void add_box(struct wo_text *out, double x, double y, double width, double height) {
  wo_svg_add(out, "M@,@h@v@h@z", NULL, (const double[]){x, y, width, height, -width});
}

/* Opens an invisible shape; the caller writes its tooltip and closes it with close_tip. False if there are enough tooltips. */
static bool open_tip(struct drawing *drawing, double x, double y, double width) {
  if (width < (double)TIP_PIXELS || drawing->tip_count >= TIPS_MAX) return false;
  drawing->tip_count++;
  wo_text_add(&drawing->tips, "<path class=\"tip\" d=\"");
  add_box(&drawing->tips, x, y, width, ROW_HEIGHT);
  wo_text_add(&drawing->tips, "\"><title>");
  return true;
}

static void close_tip(struct drawing *drawing) {
  wo_text_add(&drawing->tips, "</title></path>\n");
}

/* The information on a block: its size, its purpose, and the line that requested it. */
static void tell_block(struct drawing *drawing, const struct wo_map_block *block) {
  const struct wo_alloc_pattern *const pattern = drawing->page->plot->pattern;
  struct wo_text *const out = &drawing->tips;
  wo_text_add(out, "%s", WO_BYTES_TEXT(block->size_bytes));
  if (block->state == WO_BLOCK_FREE) wo_text_add(out, " free");
  if (block->state == WO_BLOCK_PENDING) wo_text_add(out, " waiting for another stream");
  if (block->instance >= pattern->instances.count) return;
  const struct wo_instance *const instance = &pattern->instances.items[block->instance];
  if (instance->class_ != WO_CLASS_UNKNOWN && instance->class_ < WO_CLASS_COUNT_) {
    wo_text_add(out, " %s", wo_plot_class_label((enum wo_alloc_class)instance->class_, false));
  }
  const struct wo_stack_sites sites = wo_stack_sites(pattern->recording, NULL, instance->stack);
  if (sites.asker == WO_NO_FRAME) return;
  const struct wo_frame *const frame = &pattern->recording->frames.items[sites.asker];
  wo_text_add(out, ": ");
  wo_svg_escape(out, wo_frame_function_name(frame), 60);
  wo_text_add(out, " ");
  wo_svg_escape(out, wo_frame_file_name(frame), 60);
  wo_text_add(out, ":%u", frame->line);
}

/* Other tools name a segment by its address. */
static void tell_segment(struct drawing *drawing, const struct wo_map_segment *segment) {
  uint64_t free_bytes = 0;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const struct wo_map_block *const block = &drawing->packing->map->blocks.items[segment->first_block + i];
    if (block->state == WO_BLOCK_FREE) free_bytes += block->size_bytes;
  }
  wo_text_add(&drawing->tips, "segment 0x%llx: %s (%s pool%s), %s free, %u block%s", (unsigned long long)segment->address,
              WO_BYTES_TEXT(segment->size_bytes), segment->is_small ? "small" : "large",
              segment->is_expandable ? ", expandable" : "", WO_BYTES_TEXT(free_bytes), segment->block_count,
              segment->block_count == 1 ? "" : "s");
}

/* Draws a block, or the part of it that is inside the piece. */
static void draw_block(struct drawing *drawing, const struct piece *piece, const struct wo_map_block *block) {
  const struct wo_alloc_pattern *const pattern = drawing->page->plot->pattern;
  const uint64_t piece_end = piece->start + piece->size_bytes;
  const uint64_t block_end = block->address + block->size_bytes;
  const uint64_t start = block->address > piece->start ? block->address : piece->start;
  const uint64_t end = block_end < piece_end ? block_end : piece_end;
  const double from = pixels_of(drawing, piece->offset_bytes + (start - piece->start));
  const double to = pixels_of(drawing, piece->offset_bytes + (end - piece->start));
  const double y = row_y(drawing, piece->row);
  if (block->state != WO_BLOCK_FREE) {
    unsigned kind = block->instance < pattern->instances.count ? pattern->instances.items[block->instance].class_ : 0U;
    if (kind >= WO_CLASS_COUNT_) kind = WO_CLASS_UNKNOWN;
    if (block->state == WO_BLOCK_PENDING) kind = KIND_PENDING;
    wo_plot_cover(drawing->covered[kind], PIXELS, from, to);
  }
  if (to - from >= (double)PART_PIXELS && end < piece_end) {
    wo_svg_add(&drawing->parts, "M@,@v@", NULL, (const double[]){(double)WO_SVG_LEFT + to, y, ROW_HEIGHT});
  }
  if (open_tip(drawing, (double)WO_SVG_LEFT + from, y, to - from)) {
    tell_block(drawing, block);
    close_tip(drawing);
  }
}

/* The first block of the segment that ends above `address`; blocks are in the order of addresses. */
static size_t first_block_at(const struct wo_segment_map *map, const struct wo_map_segment *segment, uint64_t address) {
  size_t low = segment->first_block;
  WO_LOWER_BOUND(low, segment->first_block + segment->block_count, at,
                 map->blocks.items[at].address + map->blocks.items[at].size_bytes <= address);
  return low;
}

/* Blocks are drawn into the pixels of the row; the outline and the background belong to the segment. */
static void draw_piece(struct drawing *drawing, const struct piece *piece) {
  const struct wo_segment_map *const map = drawing->packing->map;
  const struct wo_map_segment *const segment = &map->segments.items[piece->segment];
  const double x = (double)WO_SVG_LEFT + pixels_of(drawing, piece->offset_bytes);
  const double y = row_y(drawing, piece->row);
  const double width = pixels_of(drawing, piece->size_bytes);
  add_box(&drawing->ground, x, y, width, ROW_HEIGHT);
  if (width >= (double)EDGE_PIXELS) add_box(&drawing->edges, x, y, width, ROW_HEIGHT);
  if (open_tip(drawing, x, y, width)) {
    tell_segment(drawing, segment);
    close_tip(drawing);
  }
  const uint32_t end = segment->first_block + segment->block_count;
  for (size_t i = first_block_at(map, segment, piece->start); i < end; i++) {
    if (map->blocks.items[i].address >= piece->start + piece->size_bytes) break;
    draw_block(drawing, piece, &map->blocks.items[i]);
  }
}

/* The content of a pixel in the row: kind + 1, negative for a tick; 0 for nothing. */
static int shown_at(const struct drawing *drawing, int pixel) {
  double sum = 0;
  int most = 0;
  assert(pixel >= 0 && pixel < PIXELS);
  for (int k = 0; k < KINDS; k++) {
    sum += drawing->covered[k][pixel];
    if (drawing->covered[k][pixel] > drawing->covered[most][pixel]) most = k;
  }
  return sum <= 0 ? 0 : sum >= 0.5 ? most + 1 : -(most + 1);
}

/* Equal neighbouring pixels become one shape; then the row is cleared. */
static void draw_row(struct drawing *drawing, uint32_t row) {
  const double y = row_y(drawing, row);
  for (int from = 0, to = 0; from < PIXELS; from = to) {
    const int shown = shown_at(drawing, from);
    for (to = from + 1; to < PIXELS && shown_at(drawing, to) == shown;) to++;
    if (shown > 0) add_box(&drawing->kinds[shown - 1], WO_SVG_LEFT + from, y, to - from, ROW_HEIGHT);
    if (shown < 0) {
      add_box(&drawing->kinds[-shown - 1], WO_SVG_LEFT + from, y + (double)ROW_HEIGHT - (double)TICK_HEIGHT, to - from,
              TICK_HEIGHT);
    }
  }
  memset(drawing->covered, 0, sizeof drawing->covered);
}

/* The pool's name is written at its first row. */
static void draw_rows(struct drawing *drawing) {
  const struct packing *const packing = drawing->packing;
  size_t piece = 0;
  for (uint32_t row = 0; row < packing->rows.count; row++) {
    for (; piece < packing->pieces.count && packing->pieces.items[piece].row == row; piece++) {
      draw_piece(drawing, &packing->pieces.items[piece]);
    }
    draw_row(drawing, row);
    const bool is_small = packing->rows.items[row].is_small;
    if (row > 0 && packing->rows.items[row - 1].is_small == is_small) continue;
    wo_svg_text(drawing->page->out, WO_SVG_LEFT - 6, row_y(drawing, row) + 10, "s m r",
                is_small ? WO_VIEW("small") : WO_VIEW("large"), 8);
  }
}

/* Writes a path of all the `text`, and releases it. */
static void add_path(struct drawing *drawing, const char *attributes, struct wo_text *text) {
  struct wo_text *const out = drawing->page->out;
  if (text->len > 0) {
    wo_text_add(out, "<path %s d=\"", attributes);
    wo_text_add_view(out, (struct wo_view){text->ptr, text->len});
    wo_text_add(out, "\"/>\n");
  }
  out->is_failed = out->is_failed || text->is_failed;
  wo_text_done(text);
}

/* Background first, then blocks, then outlines; tooltips last, since they would be covered. */
static void add_paths(struct drawing *drawing) {
  struct wo_text *const out = drawing->page->out;
  char attributes[32];
  add_path(drawing, "fill=\"url(#hatch)\"", &drawing->ground);
  for (int k = 0; k < KINDS; k++) {
    snprintf(attributes, sizeof attributes, k == KIND_PENDING ? "class=\"pending\"" : "class=\"c%d\"", k);
    add_path(drawing, attributes, &drawing->kinds[k]);
  }
  add_path(drawing, "class=\"part\"", &drawing->parts);
  add_path(drawing, "class=\"edge\"", &drawing->edges);
  wo_text_add_view(out, (struct wo_view){drawing->tips.ptr, drawing->tips.len});
  out->is_failed = out->is_failed || drawing->tips.is_failed;
  wo_text_done(&drawing->tips);
}

/* ---- The panel ---- */

/* States the moment of the map, and the size of a row. */
static void add_heading(struct wo_svg_page *page, const struct packing *packing) {
  const struct wo_memory_over_time *const memory = page->plot->memory;
  char place[80];
  char heading[128];
  char row[32];
  char more[160];
  const bool is_state = memory->moment == WO_MOMENT_STATE;
  wo__svg_place_text(&memory->moment_at, place, sizeof place);
  snprintf(heading, sizeof heading, "Segments %s %s",
           is_state                          ? "when the snapshot was taken"
           : memory->moment == WO_MOMENT_OOM ? "when memory ran out, at"
                                             : "at the peak,",
           is_state ? "" : place);
  const bool is_gib = packing->row_bytes >= UINT64_C(1) << 30; /* a power of two */
  snprintf(row, sizeof row, "%llu %s", (unsigned long long)(packing->row_bytes >> (is_gib ? 30 : 20)), is_gib ? "GiB" : "MiB");
  snprintf(more, sizeof more, "%zu segments, %s; a full row is %s; hatched is free", packing->map->segments.count,
           WO_BYTES_TEXT(packing->map->reserved_bytes), row);
  wo__svg_heading(page, wo_view_of(heading), wo_view_of(more));
}

/* "in use 23.01 GiB + slack ... = reserved". */
static void add_use(struct wo_svg_page *page) {
  const struct wo_attribution *const attribution = page->plot->attribution;
  struct wo_text text = {0};
  if (!attribution) return;
  const struct wo_segment_use *const use = &attribution->use;
  wo_text_add(&text, "%s reserved = %s in use + %s rounding and rests + %s free beside blocks in use + %s that can be released",
              WO_BYTES_TEXT(use->reserved_bytes), WO_BYTES_TEXT(use->live_bytes), WO_BYTES_TEXT(use->slack_bytes),
              WO_BYTES_TEXT(use->pinned_free_bytes), WO_BYTES_TEXT(use->releasable_bytes));
  page->y += 18;
  wo_svg_text(page->out, WO_SVG_LEFT, page->y, "", (struct wo_view){text.ptr, text.len}, 200);
  page->out->is_failed = page->out->is_failed || text.is_failed;
  wo_text_done(&text);
}

/* An allocator without memory has no map: the panel is omitted. */
void wo__svg_map_panel(struct wo_svg_page *page) {
  struct packing packing = {.map = &page->plot->memory->map};
  if (packing.map->segments.count == 0) return;
  struct drawing *const drawing = calloc(1, sizeof *drawing);
  if (drawing && pack(&packing)) {
    drawing->page = page;
    drawing->packing = &packing;
    add_heading(page, &packing);
    drawing->top = page->y;
    draw_rows(drawing);
    add_paths(drawing);
    page->y = row_y(drawing, (uint32_t)packing.rows.count) - (double)ROW_GAP;
    add_use(page);
  } else {
    page->out->is_failed = true;
  }
  WO_VEC_DONE(&packing.pieces);
  WO_VEC_DONE(&packing.rows);
  free(drawing);
}
