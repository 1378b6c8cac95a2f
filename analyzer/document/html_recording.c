/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording shows: memory along its requests, segments at the moment of the failure, who holds them. See page_internal.h.
 */
#include <math.h>
#include <string.h>

#include "analyzer/document/html_plot.h"
#include "analyzer/files/names.h"
#include "parsers/base/exchange/recorded_memory.h"
#include "parsers/base/units.h"

enum { WIDTH = 10000, ROWS_OPEN = 24 };

static struct wo_view file_of(const struct wo__html *h) {
  return wo_name_base(h->report->recorded->path);
}

/* "optimizer_state" is "optimizer state". */
static void add_sort(struct wo_text *out, const char *sort) {
  for (; *sort != '\0'; sort++) wo_text_repeat(out, *sort == '_' ? ' ' : *sort, 1);
}

/* ---- Memory along the requests ---- */

static void write_course(struct wo__html *h) {
  const struct wo_recorded_memory *const memory = h->report->recorded;
  double peak = 0;
  for (size_t i = 0; i < memory->point_count; i++) peak = fmax(peak, memory->reserved[i].bytes);
  struct wo_text *const text = wo__html_start(h);
  wo_text_add(text, "Replay of ");
  wo_text_add_clean(text, file_of(h));
  const bool has_limit = memory->capacity_bytes >= peak && memory->capacity_bytes < 2.5 * peak;
  const struct wo__plot plot = {.id = "plot-recorded",
                                .title = {text->ptr, text->len},
                                .axis = WO__PLOT_REQUESTS,
                                .lines = {{WO_VIEW("reserved"), memory->reserved, memory->point_count},
                                          {WO_VIEW("allocated"), memory->allocated, memory->point_count}},
                                .line_count = 2,
                                .limit_bytes = has_limit ? memory->capacity_bytes : 0,
                                .limit = "what PyTorch can have"};
  wo__html_plot(h->out, &plot);
}

/* ---- Segments ---- */

/* The class of a block is its sort, which is the program's own word. */
static void write_block(struct wo_text *out, const struct wo_recorded_segment *segment, const struct wo_recorded_block *block) {
  wo_text_add(out, "<rect class=\"sort %s\" x=\"%ld\" width=\"%ld\" height=\"1\"><title>", block->sort,
              lround((double)WIDTH * block->offset_bytes / segment->bytes),
              lround(ceil((double)WIDTH * block->bytes / segment->bytes)));
  add_sort(out, block->sort);
  wo_text_add(out, ", %s at %s</title></rect>\n", WO_BYTES_TEXT(block->bytes), WO_BYTES_TEXT(block->offset_bytes));
}

/* Rows are as long as their segments are large, but for the least that can be seen. */
static void write_segment(struct wo__html *h, const struct wo_recorded_segment *segment, double largest) {
  const struct wo_recorded_memory *const memory = h->report->recorded;
  struct wo_text *const out = h->out;
  const double share = 100 * segment->bytes / largest;
  wo_text_add(out,
              "<div class=\"segment\"><span class=\"number\">%s</span><svg width=\"%.2f%%\" viewBox=\"0 0 %d 1\" "
              "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"segment of %s%s%s",
              WO_BYTES_TEXT(segment->bytes), share < 0.4 ? 0.4 : share, WIDTH, WO_BYTES_TEXT(segment->bytes),
              segment->is_small ? ", small pool" : "", segment->is_expandable ? ", expandable" : "");
  wo_text_add(out, ", %s in use\">\n", WO_BYTES_TEXT(segment->used_bytes));
  for (size_t i = 0; i < segment->block_count; i++) write_block(out, segment, &memory->blocks[segment->first_block + i]);
  wo_text_add(out, "</svg></div>\n");
}

/* Each sort once, in the order of the blocks. */
static void write_legend(struct wo__html *h) {
  const struct wo_recorded_memory *const memory = h->report->recorded;
  const char *seen[16];
  size_t count = 0;
  for (size_t i = 0; i < memory->block_count; i++) {
    size_t at = 0;
    while (at < count && strcmp(seen[at], memory->blocks[i].sort) != 0) at++;
    if (at == count && count < sizeof seen / sizeof *seen) seen[count++] = memory->blocks[i].sort;
  }
  wo_text_add(h->out, "<ul class=\"legend\">");
  for (size_t i = 0; i < count; i++) {
    wo_text_add(h->out,
                "<li><svg class=\"key\" aria-hidden=\"true\"><rect class=\"sort %s\" width=\"100%%\" height=\"100%%\"/></svg>",
                seen[i]);
    add_sort(h->out, seen[i]);
    wo_text_add(h->out, "</li>");
  }
  wo_text_add(h->out, "</ul>\n");
}

static void write_rows(struct wo__html *h) {
  const struct wo_recorded_memory *const memory = h->report->recorded;
  const double largest = memory->segments[0].bytes;
  for (size_t i = 0; i < memory->segment_count; i++) {
    if (i == 0) wo_text_add(h->out, "<div class=\"map\">\n");
    if (i == ROWS_OPEN)
      wo_text_add(h->out, "</div><details><summary>Smaller segments <span>%zu</span></summary><div class=\"map\">\n",
                  memory->segment_count - i);
    write_segment(h, &memory->segments[i], largest);
  }
  wo_text_add(h->out, memory->segment_count > ROWS_OPEN ? "</div></details>\n" : "</div>\n");
  if (memory->segments_left_out > 0) wo_text_add(h->out, "<p class=\"rest\">%zu more segments</p>\n", memory->segments_left_out);
}

static void write_map(struct wo__html *h) {
  const struct wo_recorded_memory *const memory = h->report->recorded;
  if (memory->segment_count == 0) return;
  wo_text_add(h->out, "<figure class=\"chart\" id=\"segments\"><figcaption>Segments %s</figcaption>\n",
              memory->is_state     ? "when the snapshot was taken"
              : memory->has_failed ? "when the request failed"
                                   : "at the peak");
  wo_text_add(h->out, "<p class=\"rest\">");
  if (memory->moment > 0) wo_text_add(h->out, "Request %zu of %zu: ", memory->moment, memory->requests);
  wo_text_add(h->out, "%s allocated of %s reserved, the largest free block has %s.%s</p>\n",
              WO_BYTES_TEXT(memory->allocated_bytes), WO_BYTES_TEXT(memory->reserved_bytes),
              WO_BYTES_TEXT(memory->largest_free_bytes),
              memory->is_exact || memory->is_state ? ""
              : memory->is_compared                ? " The replay differs from the recording: places are those of the model."
                                                   : " The recording has requests alone: places are those of the model.");
  write_legend(h);
  write_rows(h);
  wo_text_add(h->out, "</figure>\n");
}

/* ---- Who holds it ---- */

static void write_holders(struct wo__html *h) {
  const struct wo_recorded_memory *const memory = h->report->recorded;
  if (memory->holder_count == 0) return;
  wo_text_add(h->out,
              "<h3>In use then, by the line of code that asked for it</h3>\n<table class=\"stack\" id=\"holders\"><thead><tr>"
              "<th scope=\"col\">line</th><th scope=\"col\">sort</th><th scope=\"col\" class=\"number\">memory</th>"
              "<th scope=\"col\" class=\"number\">blocks</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < memory->holder_count; i++) {
    const struct wo_recorded_holder *const holder = &memory->holders[i];
    wo_html_put(h->out, "<tr><td data-label=\"line\"><code>", holder->name.len > 0 ? holder->name : WO_VIEW("no stack recorded"),
                "</code>");
    if (holder->user.len > 0) wo_html_put(h->out, " <span class=\"place\">from ", holder->user, "</span>");
    wo_text_add(h->out, "</td><td data-label=\"sort\">");
    add_sort(h->out, holder->sort);
    wo_text_add(h->out, "</td><td class=\"number\" data-label=\"memory\">%s</td>", WO_BYTES_TEXT(holder->bytes));
    wo_text_add(h->out, "<td class=\"number\" data-label=\"blocks\">%zu</td></tr>\n", holder->count);
  }
  wo_text_add(h->out, "</tbody></table>\n");
}

void wo__html_recording(struct wo__html *h) {
  if (h->report->recorded == NULL) return;
  if (h->report->recorded->point_count > 0) write_course(h);
  write_map(h);
  write_holders(h);
}
