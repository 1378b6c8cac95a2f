/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes with everything that is known of each: what to change, what it frees, its price, its proof. See page_internal.h. */
#include "analyzer/document/page_internal.h"
#include "analyzer/report/report_words.h"
#include "parsers/base/units.h"

/* "now 32, train.sbatch:14": the present value and the place to edit. */
static void add_present(struct wo__html *h, struct wo_text *text, const struct wo_finding_change *change) {
  const struct wo_event *const where = wo_event_get(h->events, change->where);
  if (change->from.is_known) wo_text_add(text, "now ");
  if (change->from.is_known) wo_report_add_value(text, &change->from);
  if (change->from.is_known && where != NULL) wo_text_add(text, ", ");
  if (where != NULL) wo__html_place(text, h, where);
}

/* Lines to paste follow each other, and are copied one by one. */
static void write_lines(struct wo__html *h, const struct wo_finding_fix *fix) {
  struct wo_text *const out = h->out;
  if (fix->change_count + fix->command_count == 0) return;
  wo_text_add(out, "<ul class=\"changes\">\n");
  for (size_t i = 0; i < fix->change_count; i++) {
    add_present(h, wo__html_start(h), &fix->changes[i]);
    wo__html_put_scratch(h, "<li><span class=\"place\">", "</span>");
    wo_report_add_change(wo__html_start(h), &fix->changes[i]);
    wo__html_put_scratch(h, "<code>", "</code>");
    wo__html_copy(out, (struct wo_view){h->scratch.ptr, h->scratch.len});
    wo_text_add(out, "</li>\n");
  }
  for (size_t i = 0; i < fix->command_count; i++) {
    wo_html_put(out, "<li><span class=\"place\"></span><code>", fix->commands[i], "</code>");
    wo__html_copy(out, fix->commands[i]);
    wo_text_add(out, "</li>\n");
  }
  wo_text_add(out, "</ul>\n");
}

/* "model of the allocator, recorded pattern of trace.jsonl: peak 23.10 GiB reserved, 212 MiB missing". */
static void write_proof(struct wo__html *h, const struct wo_proof *proof) {
  if (proof == NULL || !proof->is_tried) return;
  struct wo_text *const text = wo__html_start(h);
  wo_text_add(text, "%s pattern", proof->pattern);
  if (proof->path.len > 0) {
    wo_text_add(text, " of ");
    wo_text_add_clean(text, proof->path);
  }
  wo_text_add(text, " on %s: peak %s reserved, ", wo_view_is(wo_view_of(proof->on), "gpu") ? "a GPU" : "a model of the allocator",
              WO_BYTES_TEXT(proof->peak_reserved_bytes));
  const double margin = proof->margin_bytes;
  wo_text_add(text, "%s %s", WO_BYTES_TEXT(margin < 0 ? -margin : margin), margin < 0 ? "missing" : "left");
  wo__html_put_scratch(h, "<div><dt>replayed</dt><dd>", "</dd></div>\n");
}

static void write_figures(struct wo__html *h, const struct wo_finding_fix *fix) {
  wo_text_add(h->out, "<dl class=\"facts\">\n");
  write_proof(h, fix->proof);
  if (fix->has_saves) {
    struct wo_text *const text = wo__html_start(h);
    wo_report_add_range(text, fix->saves_bytes);
    if (fix->saves_formula.len > 0) wo_text_add(text, ": %.*s", WO_SHOWN(fix->saves_formula));
    wo__html_put_scratch(h, "<div><dt>frees</dt><dd>", "</dd></div>\n");
  }
  wo_report_add_needs(wo__html_start(h), fix);
  if (h->scratch.len > 0) wo__html_put_scratch(h, "<div><dt>frees</dt><dd>", "</dd></div>\n");
  wo_report_add_costs(wo__html_start(h), fix);
  if (h->scratch.len > 0) wo__html_put_scratch(h, "<div><dt>price</dt><dd>", "</dd></div>\n");
  for (size_t i = 0; i < fix->note_count; i++) wo_html_put(h->out, "<div><dt>note</dt><dd>", fix->notes[i], "</dd></div>\n");
  wo_text_add(h->out, "</dl>\n");
}

void wo__html_fix(struct wo__html *h, const struct wo_finding_fix *fix, size_t number, bool has_place) {
  struct wo_text *const out = h->out;
  wo_text_add(out, "<details class=\"fix\"><summary>");
  if (fix == h->report->first_change) wo_text_add(out, "<b>first</b> ");
  if (fix != h->report->first_change) wo_text_add(out, "<b>%zu</b> ", number);
  wo_html_put(out, "", fix->title, "");
  wo_report_add_verdict(wo__html_start(h), fix);
  if (h->scratch.len > 0) wo__html_put_scratch(h, " <span>", "</span>");
  wo_text_add(out, "</summary>\n");
  if (has_place) wo_text_add(out, "<div id=\"fix-%zu\" class=\"body\">\n", number);
  if (!has_place) wo_text_add(out, "<div class=\"body\">\n");
  write_lines(h, fix);
  write_figures(h, fix);
  wo_text_add(out, "</div></details>\n");
}

static void write_not_proposed(struct wo__html *h, const struct wo_finding *finding) {
  if (finding->not_proposed_count == 0) return;
  wo_text_add(h->out, "<h3>Not proposed</h3><ul class=\"reasons\">\n");
  for (size_t i = 0; i < finding->not_proposed_count; i++) wo_html_put(h->out, "<li>", finding->not_proposed[i], "</li>\n");
  wo_text_add(h->out, "</ul>\n");
}

/* The change that a recording or a run supports has the number after the last of the fixes, as on the screen. */
void wo__html_fixes(struct wo__html *h) {
  const struct wo_finding *const finding = h->report->finding_count > 0 ? &h->report->findings[0] : NULL;
  const struct wo_finding_fix *const supported = h->report->first_change;
  if (finding == NULL || finding->fix_count + finding->not_proposed_count + (supported != NULL) == 0) return;
  wo_text_add(h->out, "<section id=\"fixes\" aria-labelledby=\"fixes-title\"><h2 id=\"fixes-title\">All fixes</h2>\n");
  if (supported != NULL) wo__html_fix(h, supported, finding->fix_count + 1, true);
  for (size_t i = 0; i < finding->fix_count; i++) wo__html_fix(h, &finding->fixes[i], i + 1, true);
  write_not_proposed(h, finding);
  if (h->report->resubmit.len > 0) {
    wo_html_put(h->out, "<h3>Resubmit with</h3><ul class=\"commands\"><li><code class=\"command\">", h->report->resubmit,
                "</code>");
    wo__html_copy(h->out, h->report->resubmit);
    wo_text_add(h->out, "</li></ul>\n");
  }
  wo__html_statements(h, WO_REPORT_PART_LADDER);
  wo_text_add(h->out, "</section>\n");
}
