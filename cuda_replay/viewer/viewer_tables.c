/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the page: what is in use at one moment, by call site, class and category, block by block and segment by segment.
 * See viewer_internal.h. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_replay/plot/svg.h"
#include "cuda_replay/viewer/viewer_internal.h"
#include "parsers/base/units.h"

/* Rows of each table; characters of a name. */
enum { ROWS_MAX = 25, NAME_CHARS = 160 };

struct writer {
  const struct wo__viewer *viewer;
  struct wo_text *out;
  uint32_t entry;    /* the moment */
  struct wo_sum all; /* of all blocks then */
  struct wo_text scratch;
};

/* Something with bytes, to be sorted. */
struct row {
  struct wo_sum sum;
  uint32_t item;
};

static int compare(const void *left, const void *right) {
  const struct row *const a = left;
  const struct row *const b = right;
  if (a->sum.bytes != b->sum.bytes) return a->sum.bytes > b->sum.bytes ? -1 : 1;
  return a->item < b->item ? -1 : a->item > b->item;
}

/* ---- Cells ---- */

/* Adds the text that was built, and empties it. */
static void put_scratch(struct writer *w) {
  wo_svg_escape(w->out, (struct wo_view){w->scratch.ptr, w->scratch.len}, NAME_CHARS);
  w->scratch.len = 0;
}

static void begin_table(struct writer *w, const char *id, const char *caption, const char *heads) {
  wo_text_add(w->out, "<div class=\"scroll\"><table id=\"%s\"><caption>%s</caption>\n<thead><tr>%s</tr></thead>\n<tbody>\n", id,
              caption, heads);
}

static void end_table(struct writer *w, size_t left_out) {
  wo_text_add(w->out, "</tbody></table></div>\n");
  if (left_out > 0) wo_text_add(w->out, "<p class=\"muted\">and %zu more</p>\n", left_out);
}

static void put_sum(struct writer *w, struct wo_sum sum) {
  const double pct = w->all.bytes > 0 ? 100.0 * (double)sum.bytes / (double)w->all.bytes : 0;
  wo_text_add(w->out, "<td class=\"n\">%s</td><td class=\"n\">%.1f %%</td><td class=\"n\">%" PRIu64 "</td>",
              WO_BYTES_TEXT(sum.bytes), pct, sum.count);
}

/* Rows of groups, most bytes first. `of_item` gives what a row is. */
static void put_groups(struct writer *w, size_t grouping, const struct row *rows, size_t count) {
  for (size_t i = 0; i < count && i < ROWS_MAX; i++) {
    wo_text_add(w->out, "<tr>");
    put_sum(w, rows[i].sum);
    wo_text_add(w->out, "<th scope=\"row\">");
    if (grouping == 0) {
      wo_site_show(w->viewer->look->lives.recording, &w->viewer->look->sites.items.items[rows[i].item], &w->scratch);
    } else {
      wo__viewer_group_name(w->viewer, grouping, rows[i].item, &w->scratch);
    }
    put_scratch(w);
    wo_text_add(w->out, "</th></tr>\n");
  }
  end_table(w, count > ROWS_MAX ? count - ROWS_MAX : 0);
}

/* ---- Groups ---- */

#define HEADS "<th scope=\"col\">in use</th><th scope=\"col\">share</th><th scope=\"col\">blocks</th>"

/* Sums the moment's blocks up by site, or by group of another grouping. */
static bool put_grouping(struct writer *w, size_t grouping) {
  static const struct {
    const char *id, *caption, *heads;
  } tables[] = {{"table-sites", "By call site", HEADS "<th scope=\"col\">call site</th>"},
                {"table-classes", "By class", HEADS "<th scope=\"col\">class</th>"},
                {"table-categories", "By category", HEADS "<th scope=\"col\">category</th>"}};
  const struct wo_look *const look = w->viewer->look;
  const size_t count = grouping == 0 ? look->sites.items.count : w->viewer->groupings[grouping].count;
  struct row *const rows = calloc(count + 1, sizeof *rows);
  if (rows == NULL) return false;
  for (size_t i = 0; i < count; i++) rows[i].item = (uint32_t)i;
  for (size_t i = 0; i < look->lives.blocks.count; i++) {
    const struct wo_life *const life = &look->lives.blocks.items[i];
    if (!wo_life_is_at(life->birth, life->death, w->entry)) continue;
    struct row *const row =
        &rows[grouping == 0 ? wo_sites_of(&look->sites, life->stack) : wo__viewer_group_of(w->viewer, grouping, life)];
    row->sum.bytes += life->size_bytes;
    row->sum.count++;
  }
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    if (rows[i].sum.count > 0) rows[used++] = rows[i];
  }
  qsort(rows, used, sizeof *rows, compare);
  begin_table(w, tables[grouping].id, tables[grouping].caption, tables[grouping].heads);
  put_groups(w, grouping, rows, used);
  free(rows);
  return true;
}

/* ---- Blocks ---- */

static bool put_blocks(struct writer *w) {
  const struct wo_look *const look = w->viewer->look;
  struct row *const rows = malloc((w->all.count + 1) * sizeof *rows);
  size_t count = 0;
  if (rows == NULL) return false;
  for (size_t i = 0; i < look->lives.blocks.count; i++) {
    const struct wo_life *const life = &look->lives.blocks.items[i];
    if (wo_life_is_at(life->birth, life->death, w->entry)) rows[count++] = (struct row){{life->size_bytes, 1}, (uint32_t)i};
  }
  qsort(rows, count, sizeof *rows, compare);
  begin_table(w, "table-blocks", "Largest blocks",
              "<th scope=\"col\">size</th><th scope=\"col\">since entry</th><th scope=\"col\">class</th>"
              "<th scope=\"col\">call site</th>");
  for (size_t i = 0; i < count && i < ROWS_MAX; i++) {
    const struct wo_life *const life = &look->lives.blocks.items[rows[i].item];
    wo_text_add(w->out, "<tr><td class=\"n\">%s</td><td class=\"n\">", WO_BYTES_TEXT(life->size_bytes));
    if (life->birth == WO_NO_ENTRY) {
      wo_text_add(w->out, "the start");
    } else {
      wo_text_add(w->out, "%" PRIu32, life->birth);
    }
    wo_text_add(w->out, "</td><td>");
    wo__viewer_group_name(w->viewer, 1, wo__viewer_group_of(w->viewer, 1, life), &w->scratch);
    put_scratch(w);
    wo_text_add(w->out, "</td><th scope=\"row\">");
    wo_site_show(look->lives.recording, &look->sites.items.items[wo_sites_of(&look->sites, life->stack)], &w->scratch);
    put_scratch(w);
    wo_text_add(w->out, "</th></tr>\n");
  }
  end_table(w, count > ROWS_MAX ? count - ROWS_MAX : 0);
  free(rows);
  return true;
}

/* ---- Segments ---- */

/* A segment, or an address of a block in use. */
struct segment {
  uint64_t address, size_bytes, used_bytes, blocks;
  bool is_expandable;
};

static int compare_addresses(const void *left, const void *right) {
  const struct segment *const a = left;
  const struct segment *const b = right;
  return a->address < b->address ? -1 : a->address > b->address;
}

static int compare_free(const void *left, const void *right) {
  const struct segment *const a = left;
  const struct segment *const b = right;
  const uint64_t a_free = a->size_bytes - a->used_bytes, b_free = b->size_bytes - b->used_bytes;
  if (a_free != b_free) return a_free > b_free ? -1 : 1;
  return compare_addresses(left, right);
}

/* The segments of the moment by address; pieces of an expandable one that touch are one. Returns their number. */
static size_t collect_segments(const struct writer *w, struct segment *segments) {
  const struct wo_lives *const lives = &w->viewer->look->lives;
  size_t count = 0, joined = 0;
  for (size_t i = 0; i < lives->ranges.count; i++) {
    const struct wo_range_life *const range = &lives->ranges.items[i];
    if (wo_life_is_at(range->birth, range->death, w->entry))
      segments[count++] = (struct segment){range->address, range->size_bytes, 0, 0, range->is_expandable};
  }
  qsort(segments, count, sizeof *segments, compare_addresses);
  for (size_t i = 0; i < count; i++) {
    struct segment *const last = joined > 0 ? &segments[joined - 1] : NULL;
    const bool is_part = last != NULL && last->is_expandable && segments[i].is_expandable &&
                         last->address + last->size_bytes == segments[i].address;
    if (is_part) {
      last->size_bytes += segments[i].size_bytes;
    } else {
      segments[joined++] = segments[i];
    }
  }
  return joined;
}

/* Adds each block of the moment to its segment; a recording that contradicts itself may have more in use than there is. */
static void fill_segments(const struct writer *w, struct segment *segments, size_t count) {
  const struct wo_lives *const lives = &w->viewer->look->lives;
  for (size_t i = 0; i < lives->blocks.count && count > 0; i++) {
    const struct wo_life *const life = &lives->blocks.items[i];
    if (!wo_life_is_at(life->birth, life->death, w->entry)) continue;
    size_t above = 0;
    WO_LOWER_BOUND(above, count, k, segments[k].address <= life->address);
    if (above == 0 || life->address - segments[above - 1].address >= segments[above - 1].size_bytes) continue;
    struct segment *const segment = &segments[above - 1];
    const uint64_t room = segment->size_bytes - segment->used_bytes;
    segment->used_bytes += life->size_bytes < room ? life->size_bytes : room;
    segment->blocks++;
  }
}

static bool put_segments(struct writer *w) {
  struct segment *const segments = malloc((w->viewer->look->lives.ranges.count + 1) * sizeof *segments);
  if (segments == NULL) return false;
  const size_t count = collect_segments(w, segments);
  fill_segments(w, segments, count);
  qsort(segments, count, sizeof *segments, compare_free);
  if (count > 0) {
    begin_table(w, "table-segments", "Segments with most free memory",
                "<th scope=\"col\">size</th><th scope=\"col\">requested</th><th scope=\"col\">free</th>"
                "<th scope=\"col\">blocks</th><th scope=\"col\">address</th>");
    for (size_t i = 0; i < count && i < ROWS_MAX; i++) {
      const struct segment *const segment = &segments[i];
      wo_text_add(w->out, "<tr><td class=\"n\">%s</td><td class=\"n\">%s</td>", WO_BYTES_TEXT(segment->size_bytes),
                  WO_BYTES_TEXT(segment->used_bytes));
      wo_text_add(w->out, "<td class=\"n\">%s</td><td class=\"n\">%" PRIu64 "</td><th scope=\"row\">0x%" PRIx64 "%s</th></tr>\n",
                  WO_BYTES_TEXT(segment->size_bytes - segment->used_bytes), segment->blocks, segment->address,
                  segment->is_expandable ? " (expandable)" : "");
    }
    end_table(w, count > ROWS_MAX ? count - ROWS_MAX : 0);
  }
  free(segments);
  return true;
}

/* ---- Together ---- */

/* At the first failure, else at the peak: the moment of the report. */
bool wo__viewer_tables(const struct wo__viewer *viewer, struct wo_text *out) {
  const struct wo_moment moment = viewer->oom_kept > 0 ? wo_lives_at(&viewer->look->lives, viewer->ooms[0]) : viewer->peak;
  struct writer w = {.viewer = viewer, .out = out, .entry = moment.entry, .all = {moment.bytes, moment.count}};
  wo_text_add(out, "<h2 id=\"tables-title\">In use at the %s", viewer->oom_kept > 0 ? "failure" : "peak");
  if (moment.entry != WO_NO_ENTRY) wo_text_add(out, ", after entry %" PRIu32, moment.entry);
  wo_text_add(out, "</h2>\n<p>%s in %" PRIu64 " blocks</p>\n<div class=\"tables\">\n", WO_BYTES_TEXT(moment.bytes), moment.count);
  bool is_whole = true;
  for (size_t i = viewer->grouping_count; i > 0 && is_whole; i--) is_whole = put_grouping(&w, i - 1);
  is_whole = is_whole && put_blocks(&w);
  if (is_whole && !viewer->look->lives.recording->has_only_ids) is_whole = put_segments(&w);
  wo_text_add(out, "</div>\n");
  out->is_failed = out->is_failed || w.scratch.is_failed;
  wo_text_done(&w.scratch);
  return is_whole;
}
