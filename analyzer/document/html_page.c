/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML page of one job: its order. See document.h. */
#include "analyzer/document/document.h"

#include <assert.h>

#include "analyzer/document/page_internal.h"

static void add_link(struct wo__html *h, bool is_there, const char *id, const char *words) {
  if (is_there) wo_text_add(h->out, "<a href=\"#%s\">%s</a>\n", id, words);
}

static void write_links(struct wo__html *h) {
  wo_text_add(h->out, "<nav aria-label=\"parts of the report\">\n");
  const struct wo_report *const report = h->report;
  const struct wo_finding *const finding = report->finding_count > 0 ? &report->findings[0] : NULL;
  const bool has_fixes =
      finding != NULL && (finding->fix_count + finding->not_proposed_count > 0 || report->first_change != NULL);
  add_link(h, h->where != NULL || wo_report_tells_failure(report), "evidence", "Evidence");
  add_link(h, wo__html_has_memory(h), "memory", "Memory over time");
  add_link(h, wo__html_has_ranks(h), "ranks", "Ranks and runs");
  add_link(h, has_fixes, "fixes", "All fixes");
  add_link(h, wo__html_has_settings(h), "settings", "Settings");
  add_link(h, wo__html_has_findings(h), "findings", "Other findings");
  add_link(h, true, "inputs", "Inputs");
  add_link(h, true, "text", "As text");
  wo_text_add(h->out, "</nav>\n");
}

static void write_title(struct wo__html *h) {
  struct wo_text *const text = wo__html_start(h);
  wo_text_add(text, "%.*s", WO_SHOWN(h->screen->verdict));
  if (h->screen->cause.len > 0) wo_text_add(text, ": %.*s", WO_SHOWN(h->screen->cause));
  wo_html_begin(h->out, (struct wo_view){text->ptr, text->len}, &wo__document_style, &wo__document_script);
}

void wo_document_html(const struct wo_report *report, const struct wo_screen *screen, struct wo_text *out) {
  assert(report != NULL && report->job != NULL && screen != NULL && out != NULL);
  struct wo__html h = {.out = out,
                       .report = report,
                       .screen = screen,
                       .story = &report->job->story,
                       .events = &report->job->events,
                       .where = wo_report_where(report)};
  write_title(&h);
  wo__html_screen(&h);
  write_links(&h);
  wo__html_evidence(&h);
  wo__html_memory(&h);
  wo__html_ranks(&h);
  wo__html_fixes(&h);
  wo__html_settings(&h);
  wo__html_findings(&h);
  wo__html_inputs(&h);
  wo__html_whole(&h);
  wo_text_add(out, "</main>\n<footer>Made by whyoom %s from the files of the job, without a network.</footer>\n", WHYOOM_VERSION);
  wo_html_end(out, &wo__document_script);
  out->is_failed = out->is_failed || h.scratch.is_failed;
  wo_text_done(&h.scratch);
}
