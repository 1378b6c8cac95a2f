/* SPDX-License-Identifier: Apache-2.0 */
/* The page: its frame, and what a script fills. See viewer.h. */
#include "cuda_replay/viewer/viewer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/plot/svg.h"
#include "cuda_replay/viewer/viewer_assets.h"
#include "cuda_replay/viewer/viewer_internal.h"
#include "parsers/base/units.h"

/* Characters of a title, and of a line of the reasons. */
enum { TITLE_CHARS = 200, LINE_CHARS = 600 };

/* What needs a script is hidden until it runs. Everything has an id and a role, for those who test it and for those who cannot
 * see it. */
static const char controls[] =
    "<section id=\"timeline\" hidden=\"hidden\" aria-labelledby=\"timeline-title\">\n"
    "<h2 id=\"timeline-title\">Memory over time</h2>\n"
    "<div class=\"bar\" role=\"toolbar\" aria-label=\"Time line\">\n"
    "<label for=\"grouping\">by</label><select id=\"grouping\"></select>\n"
    "<button type=\"button\" id=\"zoom-in\" aria-label=\"Zoom in\">+</button>\n"
    "<button type=\"button\" id=\"zoom-out\" aria-label=\"Zoom out\">\xe2\x88\x92</button>\n"
    "<button type=\"button\" id=\"zoom-all\">all</button>\n"
    "<button type=\"button\" id=\"to-peak\">peak</button>\n"
    "<button type=\"button\" id=\"to-oom\" hidden=\"hidden\">failure</button>\n"
    "<label for=\"moment\">after entry</label><input id=\"moment\" type=\"number\" step=\"1\"/>\n"
    "<label for=\"search\">search frames</label><input id=\"search\" type=\"search\" autocomplete=\"off\" "
    "spellcheck=\"false\"/>\n"
    "</div>\n"
    "<p id=\"search-result\" role=\"status\"></p>\n"
    "<canvas id=\"time\" tabindex=\"0\" role=\"application\" aria-roledescription=\"time line\" "
    "aria-label=\"Memory in use over time\" aria-describedby=\"time-keys\"></canvas>\n"
    "<p id=\"time-keys\" class=\"muted\">Wheel or + and -: zoom. Drag or left and right: move. Comma and full stop: one entry "
    "back or on. "
    "Up and down: the next block at the chosen moment. Home and End: before the first entry and after the last one. P: the peak. "
    "F: the failure.</p>\n"
    "<ul id=\"legend\" class=\"legend\"></ul>\n"
    "</section>\n"
    "<section id=\"chosen\" hidden=\"hidden\" aria-labelledby=\"chosen-title\">\n<h2 id=\"chosen-title\">Chosen block</h2>\n"
    "<p id=\"block-summary\" aria-live=\"polite\">Point at the time line, or click a block.</p>\n"
    "<p id=\"native-line\"><label><input type=\"checkbox\" id=\"native\"/> frames of C++</label></p>\n"
    "<ol id=\"block-stack\" class=\"stack\"></ol>\n</section>\n"
    "<section id=\"segments\" hidden=\"hidden\" aria-labelledby=\"segments-title\">\n<h2 id=\"segments-title\">Segments</h2>\n"
    "<p id=\"segments-summary\" role=\"status\"></p>\n"
    "<canvas id=\"map\" tabindex=\"0\" role=\"application\" aria-roledescription=\"segment map\" "
    "aria-label=\"Segments and blocks at the chosen moment\" aria-describedby=\"map-keys\"></canvas>\n"
    "<p id=\"map-keys\" class=\"muted\">Click a block, or left and right: the next block. Up and down: the next segment.</p>\n"
    "</section>\n";

struct writer {
  const struct wo__viewer *viewer;
  struct wo_text *out;
};

static void put_view(struct writer *w, struct wo_view text, size_t max_chars) {
  wo_svg_escape(w->out, text, max_chars);
}

/* ---- Words ---- */

/* The report, line by line: a line break would be escaped. */
static void put_report(struct writer *w) {
  struct wo_view rest = w->viewer->page->report;
  while (rest.len > 0) {
    put_view(w, wo_view_cut(&rest, '\n'), SIZE_MAX);
    wo_text_add(w->out, "\n");
  }
}

/* Lines of the reasons, each in an element of its own. */
static void put_reasons(struct writer *w) {
  struct wo_view rest = w->viewer->page->reasons;
  if (rest.len == 0) return;
  wo_text_add(w->out, "<ul id=\"reasons\">\n");
  while (rest.len > 0) {
    const struct wo_view line = wo_view_trim(wo_view_cut(&rest, '\n'));
    if (line.len == 0) continue;
    wo_text_add(w->out, "<li>");
    put_view(w, line, LINE_CHARS);
    wo_text_add(w->out, "</li>\n");
  }
  wo_text_add(w->out, "</ul>\n");
}

static void put_header(struct writer *w) {
  static const char *const tones[] = {[WO_VIEWER_GOOD] = "good", [WO_VIEWER_DOUBTFUL] = "doubtful", [WO_VIEWER_BAD] = "bad"};
  const struct wo_viewer *const page = w->viewer->page;
  wo_text_add(w->out, "<header>\n<h1 id=\"title\">");
  put_view(w, page->title, TITLE_CHARS);
  wo_text_add(w->out, "</h1>\n<p id=\"subtitle\" class=\"muted\">");
  put_view(w, page->subtitle, LINE_CHARS);
  wo_text_add(w->out, "</p>\n<p id=\"verdict\" class=\"%s\">", tones[page->tone]);
  put_view(w, page->verdict, LINE_CHARS);
  wo_text_add(w->out, "</p>\n");
  put_reasons(w);
  wo_text_add(w->out, "</header>\n");
}

static void put_facts(struct writer *w) {
  const struct wo__viewer *const viewer = w->viewer;
  const struct wo_window all = wo_lives_all(&viewer->look->lives);
  wo_text_add(w->out, "<dl id=\"facts\">\n<div><dt>entries</dt><dd>%" PRIu32 "</dd></div>\n", all.end);
  if (viewer->window.first > 0 || viewer->window.end < all.end)
    wo_text_add(w->out, "<div><dt>shown</dt><dd>%" PRIu32 " to %" PRIu32 "</dd></div>\n", viewer->window.first,
                viewer->window.end - 1);
  wo_text_add(w->out, "<div><dt>most in use</dt><dd>%s</dd></div>\n", WO_BYTES_TEXT(viewer->peak.bytes));
  if (viewer->peak.entry != WO_NO_ENTRY)
    wo_text_add(w->out, "<div><dt>after entry</dt><dd>%" PRIu32 "</dd></div>\n", viewer->peak.entry);
  if (viewer->columns.reserved_most > 0)
    wo_text_add(w->out, "<div><dt>most reserved</dt><dd>%s</dd></div>\n", WO_BYTES_TEXT(viewer->columns.reserved_most));
  wo_text_add(w->out, "<div><dt>blocks</dt><dd>%zu</dd></div>\n", viewer->window_count);
  if (viewer->oom_count > 0) wo_text_add(w->out, "<div><dt>refused requests</dt><dd>%zu</dd></div>\n", viewer->oom_count);
  wo_text_add(w->out, "</dl>\n");
}

/* What the page does not have, and what its words mean. */
static void put_left_out(struct writer *w) {
  const struct wo__viewer *const viewer = w->viewer;
  const struct wo_lives *const lives = &viewer->look->lives;
  wo_text_add(w->out,
              "<section id=\"left-out\" aria-labelledby=\"left-out-title\">\n<h2 id=\"left-out-title\">How this page was "
              "made</h2>\n<ul>\n<li>Sizes are requested bytes, read off the entries of the recording. A block that waits for "
              "other streams counts as free from the request on. Entries count from 0.</li>\n");
  if (viewer->is_all_kept) {
    wo_text_add(w->out, "<li>All %zu blocks are in the page.</li>\n", viewer->kept_count);
  } else {
    wo_text_add(w->out,
                "<li>%zu of %zu blocks are in the page one by one: all that are there near the peak, the failures and the end (",
                viewer->kept_count, viewer->window_count);
    for (size_t i = 0; i < viewer->exact_count; i++)
      wo_text_add(w->out, "%sentries %" PRIu32 " to %" PRIu32, i > 0 ? ", " : "", viewer->exact[i].first,
                  viewer->exact[i].end > 0 ? viewer->exact[i].end - 1 : 0);
    wo_text_add(w->out,
                "), and the largest elsewhere. Elsewhere, memory over time is put together in columns of %" PRIu32
                " entries, each at the moment when most was in use.</li>\n",
                viewer->columns.width);
  }
  if (viewer->range_kept < viewer->range_count)
    wo_text_add(w->out, "<li>%zu of %zu ranges of segments are in the page.</li>\n", viewer->range_kept, viewer->range_count);
  if (viewer->stacks.count < viewer->stack_count)
    wo_text_add(w->out, "<li>%zu of %zu stacks are in the page, those with most memory.</li>\n", viewer->stacks.count,
                viewer->stack_count);
  if (lives->unclear_count > 0)
    wo_text_add(w->out, "<li>%" PRIu64 " entries contradict others: they are shown as well as they can be.</li>\n",
                lives->unclear_count);
  if (viewer->look->given_up > 0)
    wo_text_add(w->out, "<li>An expression of --where gave up on %" PRIu64 " texts.</li>\n", viewer->look->given_up);
  wo_text_add(w->out, "</ul>\n</section>\n");
}

/* ---- Together ---- */

static bool put_page(struct writer *w) {
  struct wo_text *const out = w->out;
  wo_text_add(out, "%s", wo__viewer_head);
  put_view(w, w->viewer->page->title, TITLE_CHARS);
  wo_text_add(out, " - whyoom</title>\n<style>\n");
  wo_text_add_view(out, (struct wo_view){wo__viewer_css, wo__viewer_css_bytes});
  wo_text_add(out, "</style>\n</head>\n<body>\n");
  put_header(w);
  wo_text_add(out, "<main>\n");
  put_facts(w);
  wo_text_add(out, "%s", controls);
  wo_text_add(out, "<figure id=\"picture\">\n<figcaption>Memory in use over time, by call site</figcaption>\n");
  wo__viewer_picture(w->viewer, out);
  wo_text_add(out, "</figure>\n<section id=\"tables\" aria-labelledby=\"tables-title\">\n");
  if (!wo__viewer_tables(w->viewer, out)) return false;
  wo_text_add(out, "</section>\n");
  put_left_out(w);
  /* Open, so that it is seen and printed without scripts; the script closes it except on paper. */
  wo_text_add(out, "<details id=\"report\" open=\"open\"><summary>The report</summary>\n<pre>");
  put_report(w);
  wo_text_add(out, "</pre></details>\n</main>\n<script type=\"application/json\" id=\"data\">");
  if (!wo__viewer_data(w->viewer, out)) return false;
  wo_text_add(out, "</script>\n<script>\n");
  wo_text_add_view(out, (struct wo_view){wo__viewer_js, wo__viewer_js_bytes});
  wo_text_add(out, "</script>\n</body>\n</html>\n");
  return true;
}

void wo__viewer_done(struct wo__viewer *viewer) {
  for (size_t i = 0; i < WO__VIEWER_GROUPINGS; i++) free(viewer->groupings[i].of_item);
  free(viewer->columns.at);
  free(viewer->columns.bytes);
  free(viewer->columns.reserved);
  free(viewer->columns.values);
  free(viewer->columns.before);
  free(viewer->is_kept);
  free(viewer->is_range_kept);
  free(viewer->frame_place);
  WO_VEC_DONE(&viewer->stacks);
  WO_VEC_DONE(&viewer->nodes);
  WO_VEC_DONE(&viewer->frames);
  WO_VEC_DONE(&viewer->texts);
}

enum wo_status wo_viewer_html(const struct wo_viewer *page, struct wo_text *out) {
  assert(page->look != NULL);
  struct wo__viewer viewer = {.page = page, .look = page->look, .window = page->look->window};
  struct writer w = {&viewer, out};
  viewer.peak = wo_lives_peak(&page->look->lives, viewer.window);
  const bool is_whole = wo__viewer_group(&viewer) && wo__viewer_fill_columns(&viewer, WO_LIMIT_VIEWER_COLUMNS) &&
                        wo__viewer_choose(&viewer, WO_LIMIT_VIEWER_BLOCKS, WO_LIMIT_VIEWER_RANGES) && wo__viewer_name(&viewer) &&
                        put_page(&w);
  wo__viewer_done(&viewer);
  return is_whole && !out->is_failed ? WO_OK : WO_E_NOMEM;
}
