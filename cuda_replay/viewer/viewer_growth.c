/* SPDX-License-Identifier: Apache-2.0 */
/* The page of two recordings. See viewer_growth.h. */
#include "cuda_replay/viewer/viewer_growth.h"

#include <inttypes.h>
#include <stdio.h>

#include "cuda_replay/plot/svg.h"
#include "cuda_replay/viewer/viewer_assets.h"
#include "parsers/base/units.h"

/* Rows of the table of call sites; characters of a name and of a path; pixels of the longest bar. */
enum { ROWS_MAX = 200, NAME_CHARS = 160, PATH_CHARS = 200, BAR_PIXELS = 160 };

struct writer {
  const struct wo_compare *compare;
  struct wo_text *out;
  struct wo_text scratch;
  uint64_t most_bytes; /* the largest change of a table */
};

static uint64_t change_of(const struct wo_compare_row *row) {
  const uint64_t before = row->sum[0].bytes, after = row->sum[1].bytes;
  return after >= before ? after - before : before - after;
}

/* ---- Head ---- */

static void put_side(struct writer *w, int i) {
  const struct wo_compare *const compare = w->compare;
  const struct wo_moment *const moment = &compare->moment[i];
  wo_text_add(w->out, "<div><dt>%s: ", i == 0 ? "A" : "B");
  wo_svg_escape(w->out, compare->side[i].path, PATH_CHARS);
  wo_text_add(w->out, "</dt><dd>%s in %" PRIu64 " blocks, ", WO_BYTES_TEXT(moment->bytes), moment->count);
  wo_text_add(w->out, compare->at == WO_COMPARE_END ? "at the end" : "at the peak");
  if (moment->entry != WO_NO_ENTRY) wo_text_add(w->out, ", after entry %" PRIu32, moment->entry);
  wo_text_add(w->out, "</dd></div>\n");
}

static void put_head(struct writer *w) {
  const uint64_t before = w->compare->moment[0].bytes, after = w->compare->moment[1].bytes;
  wo_text_add_view(w->out, wo_view_of(wo__viewer_head));
  wo_text_add(w->out, "whyoom replay --diff</title>\n<style>\n");
  wo_text_add_view(w->out, (struct wo_view){wo__viewer_css, wo__viewer_css_bytes});
  wo_text_add(w->out,
              "</style>\n</head>\n<body>\n<header>\n<h1 id=\"title\">Two recordings</h1>\n<p id=\"verdict\">B less A: %s%s of "
              "requested bytes</p>\n</header>\n<main>\n<dl id=\"facts\">\n",
              after > before   ? "+"
              : after < before ? "-"
                               : "",
              WO_BYTES_TEXT(after >= before ? after - before : before - after));
  put_side(w, 0);
  put_side(w, 1);
  wo_text_add(w->out, "</dl>\n");
}

/* ---- Tables ---- */

static void put_row(struct writer *w, const struct wo_compare_row *row, wo_compare_name_fn name) {
  const bool is_less = row->sum[1].bytes < row->sum[0].bytes;
  const double width = w->most_bytes > 0 ? (double)BAR_PIXELS * (double)change_of(row) / (double)w->most_bytes : 0;
  wo_text_add(w->out, "<tr><td class=\"n\">%s%s</td>",
              is_less              ? "-"
              : change_of(row) > 0 ? "+"
                                   : "",
              WO_BYTES_TEXT(change_of(row)));
  wo_text_add(w->out,
              "<td class=\"n\"><svg width=\"%d\" height=\"12\" viewBox=\"0 0 %d 12\" class=\"growth\" aria-hidden=\"true\">",
              BAR_PIXELS, BAR_PIXELS);
  wo_svg_rect(w->out, 0, 0, width < 1 ? 1 : width, 12, is_less ? "s2" : "s3");
  wo_text_add(w->out, "</svg></td><td class=\"n\">%s</td><td class=\"n\">%s</td>", WO_BYTES_TEXT(row->sum[0].bytes),
              WO_BYTES_TEXT(row->sum[1].bytes));
  wo_text_add(w->out, "<td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%s</td><th scope=\"row\">",
              row->sum[0].count, row->sum[1].count,
              row->sum[0].count == 0   ? "new"
              : row->sum[1].count == 0 ? "gone"
                                       : "");
  name(w->compare, row, &w->scratch);
  wo_svg_escape(w->out, (struct wo_view){w->scratch.ptr, w->scratch.len}, NAME_CHARS);
  w->scratch.len = 0;
  wo_text_add(w->out, "</th></tr>\n");
}

/* What grew most is first and what shrank most last, so both ends of a long table are kept. */
static void put_table(struct writer *w, const char *id, const char *caption, const struct wo_compare_row *rows, size_t count,
                      wo_compare_name_fn name) {
  if (count == 0) return;
  w->most_bytes = 0;
  for (size_t i = 0; i < count; i++) {
    if (change_of(&rows[i]) > w->most_bytes) w->most_bytes = change_of(&rows[i]);
  }
  wo_text_add(
      w->out,
      "<div class=\"scroll\"><table id=\"%s\"><caption>%s</caption>\n<thead><tr><th scope=\"col\" colspan=\"2\">growth</th>"
      "<th scope=\"col\">A</th><th scope=\"col\">B</th><th scope=\"col\">blocks A</th>"
      "<th scope=\"col\">blocks B</th><th scope=\"col\">state</th><th scope=\"col\">%s</th></tr></thead>\n<tbody>\n",
      id, caption, caption);
  for (size_t i = 0; i < count; i++) {
    if (i < ROWS_MAX / 2 || i + ROWS_MAX / 2 >= count) put_row(w, &rows[i], name);
  }
  wo_text_add(w->out, "</tbody></table></div>\n");
  if (count > ROWS_MAX) wo_text_add(w->out, "<p class=\"muted\">%zu rows between them are left out</p>\n", count - ROWS_MAX);
}

void wo_viewer_growth(const struct wo_compare *compare, struct wo_text_style style, struct wo_text *out) {
  struct writer w = {.compare = compare, .out = out};
  (void)style;
  put_head(&w);
  wo_text_add(out, "<section id=\"tables\" class=\"tables\" aria-label=\"Growth\">\n");
  put_table(&w, "growth-categories", "category", compare->categories_rows.items, compare->categories_rows.count,
            wo_compare_name_category);
  put_table(&w, "growth-classes", "class", compare->classes.items, compare->classes.count, wo_compare_name_class);
  put_table(&w, "growth-sites", "call site", compare->sites.items, compare->sites.count, wo_compare_name_site);
  wo_text_add(out, "</section>\n</main>\n</body>\n</html>\n");
  out->is_failed = out->is_failed || w.scratch.is_failed;
  wo_text_done(&w.scratch);
}
