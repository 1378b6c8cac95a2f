/* SPDX-License-Identifier: Apache-2.0 */
/* The card's memory as a bar of SVG with its legend. See page_internal.h. */
#include <math.h>

#include "analyzer/document/page_internal.h"
#include "analyzer/report/report_bar.h"
#include "parsers/base/units.h"

static bool is_drawn(const struct wo_memory_part *part) {
  return isfinite(part->bytes.mid) && part->bytes.mid > 0;
}

/* The sum of the parts, or the capacity if that is larger: printed parts are rounded one by one. */
static double whole_of(const struct wo_report_memory *memory) {
  double sum = 0;
  for (size_t i = 0; i < memory->part_count; i++) sum += is_drawn(&memory->parts[i]) ? memory->parts[i].bytes.mid : 0;
  return sum > memory->capacity_bytes.mid ? sum : memory->capacity_bytes.mid;
}

/* "21.03 GiB tensors": the number in GiB with two decimals, as the message has it. */
static void add_part(struct wo_text *out, const struct wo_memory_part *part) {
  char gib[32];
  wo_text_add(out, "%s GiB %s", wo_units_gib_text(part->bytes.mid, 2, gib, sizeof gib), wo_report_part_label(part->name));
}

/* The class of a part is its name in the report, which is the program's own. */
static void write_part(struct wo_text *out, const struct wo_memory_part *part, double start, double share) {
  wo_text_add(out, "<rect class=\"part %.*s\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>", WO_SHOWN(part->name),
              100 * start, 100 * share);
  add_part(out, part);
  wo_text_add(out, "</title></rect>\n");
}

static void write_legend(struct wo_text *out, const struct wo_report_memory *memory) {
  wo_text_add(out, "<ul class=\"legend\">\n");
  for (size_t i = 0; i < memory->part_count; i++) {
    if (!is_drawn(&memory->parts[i])) continue;
    wo_text_add(out,
                "<li><svg class=\"key\" aria-hidden=\"true\"><rect class=\"part %.*s\" width=\"100%%\" height=\"100%%\"/></svg>",
                WO_SHOWN(memory->parts[i].name));
    add_part(out, &memory->parts[i]);
    wo_text_add(out, "</li>\n");
  }
  wo_text_add(out, "</ul>\n");
}

void wo__html_card(struct wo__html *h, const struct wo_report_memory *memory) {
  struct wo_text *const out = h->out;
  const double whole = whole_of(memory);
  double start = 0;
  if (memory->is_contradictory || !(whole > 0) || !isfinite(whole)) return;
  wo_text_add(out, "<figure id=\"card\"><figcaption>GPU");
  if (memory->gpu >= 0) wo_text_add(out, " %d", (int)memory->gpu);
  if (memory->capacity_bytes.mid > 0) wo_text_add(out, ", %s", WO_BYTES_TEXT(memory->capacity_bytes.mid));
  wo_text_add(out, "</figcaption>\n<svg class=\"card\" role=\"img\" aria-label=\"The memory of the card:");
  for (size_t i = 0, named = 0; i < memory->part_count; i++) {
    if (!is_drawn(&memory->parts[i])) continue;
    wo_text_add(out, "%s ", named++ > 0 ? "," : "");
    add_part(out, &memory->parts[i]);
  }
  wo_text_add(out, "\">\n");
  for (size_t i = 0; i < memory->part_count; i++) {
    if (!is_drawn(&memory->parts[i])) continue;
    const double share = memory->parts[i].bytes.mid / whole;
    write_part(out, &memory->parts[i], start, share);
    start += share;
  }
  wo_text_add(out, "</svg>\n");
  write_legend(out, memory);
  wo_text_add(out, "</figure>\n");
}
