/* SPDX-License-Identifier: Apache-2.0 */
/* The card's memory as a bar, its legend, and the arithmetic below them.
 *
 *   GPU 1  39.39 GiB
 *   [###########################............-  ]
 *     # 26.11 tensors  . 11.62 idle  - 0.60 outside PyTorch  1.06 free  (GiB)
 *
 * In: struct wo_report_memory. Out: three or more lines of a page. The bar shows proportions, the legend shows numbers; the parts
 * differ in their fill characters, so that nothing is lost without colours. */
#include <assert.h>
#include <math.h>

#include "analyzer/report/report_bar.h"
#include "analyzer/report/report_text_internal.h"
#include "analyzer/report/report_words.h"
#include "analyzer/facts/sizes.h"
#include "parsers/base/units.h"

enum { INDENT = 2, LEGEND_INDENT = 4, PARTS_MAX = 8, READINGS_SHOWN = 3 };

/* How a part is drawn. Each part has another fill. */
struct look {
  const char *name;  /* as the report names the part */
  const char *label; /* as people read it */
  const char *ascii;
  const char *utf8;
  enum wo_tint tint;
};

/* In the order in which the message names them. Free memory is blank, so that a full card looks full. */
static const struct look looks[] = {
    {"allocated", "tensors", "#", "\xE2\x96\x88", WO_TINT_ERROR},
    {"reserved_unallocated", "idle", ".", "\xE2\x96\x91", WO_TINT_PLACE},
    {"non_pytorch", "outside PyTorch", "-", "\xE2\x96\x92", WO_TINT_STRONG},
    {"other_processes", "other processes", "=", "\xE2\x96\x93", WO_TINT_FIX},
    {"free", "free", " ", " ", WO_TINT_PLAIN},
    {"unaccounted", "unaccounted", "?", "?", WO_TINT_FAINT},
};

/* The look of a part; a name that is not in the list is drawn as unaccounted. */
static const struct look *look_of(struct wo_view name) {
  const size_t last = sizeof looks / sizeof *looks - 1;
  for (size_t i = 0; i < last; i++) {
    if (wo_view_is(name, looks[i].name)) return &looks[i];
  }
  return &looks[last];
}

const char *wo_report_part_label(struct wo_view name) {
  return look_of(name)->label;
}

static struct wo_view fill_of(const struct wo_page *page, const struct look *look) {
  return wo_view_of(page->style.use_utf8 ? look->utf8 : look->ascii);
}

static bool is_drawn(const struct wo_memory_part *part) {
  return isfinite(part->bytes.mid) && part->bytes.mid > 0;
}

/* The bytes of the whole bar: the sum of the parts, or the capacity if that is larger. Printed parts are rounded one by one, so
 * their sum can be a little more than the card. */
static double whole_bytes(const struct wo_report_memory *memory) {
  double sum = 0;
  for (size_t i = 0; i < memory->part_count; i++) sum += is_drawn(&memory->parts[i]) ? memory->parts[i].bytes.mid : 0;
  return sum > memory->capacity_bytes.mid ? sum : memory->capacity_bytes.mid;
}

/* Divides `cells` among the parts. Every drawn part gets at least one; the largest part takes the rounding error, because a
 * column more or less is not seen there. The rest of the whole stays blank. */
static void share_cells(const struct wo_report_memory *memory, size_t cells, size_t ret_cells[PARTS_MAX]) {
  assert(memory->part_count <= PARTS_MAX && cells > PARTS_MAX);
  const double whole = whole_bytes(memory);
  size_t used = 0;
  size_t largest = 0;
  double sum = 0;
  for (size_t i = 0; i < memory->part_count; i++) {
    const bool has_bytes = is_drawn(&memory->parts[i]);
    const double bytes = has_bytes ? memory->parts[i].bytes.mid : 0;
    const size_t share = (size_t)(bytes / whole * (double)cells);
    ret_cells[i] = has_bytes && share == 0 ? 1 : share;
    used += ret_cells[i];
    sum += bytes;
    if (ret_cells[i] > ret_cells[largest]) largest = i;
  }
  /* The cells of all parts together, to compare with the used ones. */
  const size_t wanted = (size_t)(sum / whole * (double)cells + 0.5);
  if (memory->part_count == 0) return;
  if (wanted >= used) {
    ret_cells[largest] += wanted - used;
  } else if (ret_cells[largest] > used - wanted) {
    ret_cells[largest] -= used - wanted;
  }
}

/* The bar, as wide as the page. Rounding can leave a blank column at the right. */
void wo_report_bar(const struct wo_page *page, const struct wo_report_memory *memory) {
  const size_t room = page->style.width - INDENT - 2;
  size_t cells[PARTS_MAX] = {0};
  struct wo_bar_part parts[PARTS_MAX];
  share_cells(memory, room, cells);
  for (size_t i = 0; i < memory->part_count; i++) {
    const struct look *const look = look_of(memory->parts[i].name);
    parts[i] = (struct wo_bar_part){fill_of(page, look), look->tint, cells[i]};
  }
  wo_page_bar(page, parts, memory->part_count, room);
}

/* "# 26.11 tensors  . 11.62 idle  1.06 free  (GiB)", in the order of the bar. Two decimals as PyTorch prints them, so
 * that a figure can be found in the message. */
void wo_report_legend(const struct wo_page *page, const struct wo_report_memory *memory) {
  size_t column = LEGEND_INDENT;
  wo_text_repeat(page->out, ' ', LEGEND_INDENT);
  for (size_t i = 0; i < memory->part_count; i++) {
    const struct wo_memory_part *const part = &memory->parts[i];
    if (!is_drawn(part)) continue;
    const struct look *const look = look_of(part->name);
    const struct wo_view fill = fill_of(page, look);
    char gib[32];
    char item[96];
    wo_units_gib_text(part->bytes.mid, 2, gib, sizeof gib);
    /* A blank cannot be shown as a key: the part without a key is the blank one. */
    const bool is_blank = wo_view_is(fill, " ");
    snprintf(item, sizeof item, "%s%s%s %s", is_blank ? "" : fill.ptr, is_blank ? "" : " ", gib, look->label);
    column = wo_page_item(page, column, LEGEND_INDENT, look->tint, wo_view_of(item));
  }
  wo_page_item(page, column, LEGEND_INDENT, WO_TINT_PLAIN, WO_VIEW("(GiB)"));
  wo_page_break(page, 0);
}

/* "GPU 1  39.39 GiB" */
static void put_card(const struct wo_page *page, const struct wo_report_memory *memory) {
  char size[32];
  char card[32];
  wo_text_repeat(page->out, ' ', INDENT);
  if (memory->gpu < 0) {
    snprintf(card, sizeof card, "GPU");
  } else {
    snprintf(card, sizeof card, "GPU %d", (int)memory->gpu);
  }
  size_t column = wo_page_item(page, INDENT, INDENT, WO_TINT_STRONG, wo_view_of(card));
  if (memory->capacity_bytes.mid > 0) {
    wo_units_bytes_text(memory->capacity_bytes.mid, size, sizeof size);
    column = wo_page_item(page, column, INDENT, WO_TINT_PLAIN, wo_view_of(size));
  }
  if (memory->is_contradictory) {
    const struct wo_view why = WO_VIEW("no bar is drawn: the figures cannot all be true");
    wo_page_item(page, column, INDENT, WO_TINT_PLAIN, why);
  }
  wo_page_break(page, 0);
}

/* No bar if the figures contradict each other; the arithmetic shows how they do. */
void wo__page_memory(const struct wo_page *page, const struct wo_report_memory *memory) {
  assert(page != NULL && memory != NULL && memory->part_count <= PARTS_MAX);
  put_card(page, memory);
  if (!memory->is_contradictory && whole_bytes(memory) > 0) {
    wo_report_bar(page, memory);
    wo_report_legend(page, memory);
  }
  for (size_t i = 0; i < memory->arithmetic_count; i++) {
    wo_text_repeat(page->out, ' ', INDENT);
    wo_page_flow(page, INDENT, LEGEND_INDENT, WO_TINT_PLAIN, memory->arithmetic[i]);
    wo_page_break(page, 0);
  }
}

static void put_reading(const struct wo_page *page, const struct wo_sizes *sizes, size_t index) {
  struct wo_text text = {0};
  wo_report_add_reading(&text, sizes, index);
  wo_text_repeat(page->out, ' ', INDENT);
  wo_page_flow(page, INDENT, LEGEND_INDENT, WO_TINT_PLAIN, (struct wo_view){text.ptr, text.len});
  wo_page_break(page, 0);
  page->out->is_failed = page->out->is_failed || text.is_failed;
  wo_text_done(&text);
}

void wo__page_request(const struct wo_page *page, const struct wo_sizes *sizes) {
  assert(page != NULL && sizes != NULL);
  for (size_t i = 0; i < sizes->reading_count && i < READINGS_SHOWN; i++) put_reading(page, sizes, i);
}
