/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, further findings, inputs, and the report as text. See page_internal.h. */
#include "analyzer/document/page_internal.h"
#include "analyzer/report/report_words.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"

/* Inputs that are listed; more are counted. Columns of the text. */
enum { INPUTS_MAX = 500, WHOLE_WIDTH = 100 };

/* ---- Settings ---- */

bool wo__html_has_settings(const struct wo__html *h) {
  for (size_t i = 0; i < h->report->facts.setting_count; i++) {
    if (h->report->facts.settings[i].event != NULL) return true;
  }
  return false;
}

/* "run.sh:12 --lr". */
static void add_origin(struct wo__html *h, struct wo_text *text, const struct wo_event *event) {
  wo__html_place(text, h, event);
  const struct wo_view key = wo_event_text(event, WO_FIELD_KEY);
  const bool is_flag = wo_view_starts(wo_event_text(event, WO_FIELD_STYLE), "flag") && !wo_view_starts(key, "-");
  if (key.len > 0) wo_text_add(text, " %s%.*s", is_flag ? "--" : "", WO_SHOWN(key));
}

static void write_setting(struct wo__html *h, const struct wo_setting *setting) {
  struct wo_text *const out = h->out;
  wo_html_put(out, "<tr><th scope=\"row\" data-label=\"setting\">", setting->knob->id, "</th>");
  wo_report_add_value(wo__html_start(h), &setting->value);
  wo__html_put_scratch(h, "<td data-label=\"value\"><code>", "</code></td>");
  add_origin(h, wo__html_start(h), setting->event);
  wo__html_put_scratch(h, "<td class=\"place\" data-label=\"set in\">", "</td>");
  wo_text_add(out, "<td data-label=\"instead of\"%s>", setting->other_count > 0 ? "" : " class=\"none\"");
  for (size_t i = 0; i < setting->other_count; i++) {
    const struct wo_setting_other *const other = &setting->others[i];
    struct wo_text *const text = wo__html_start(h);
    wo_report_add_value(text, &other->value);
    wo_text_add(text, " (");
    add_origin(h, text, other->event);
    wo_text_add(text, "): %.*s", WO_SHOWN(other->why_not));
    wo__html_put_scratch(h, other->is_conflict ? "<p class=\"conflict\">" : "<p>", "</p>");
  }
  wo_text_add(out, "</td></tr>\n");
}

void wo__html_settings(struct wo__html *h) {
  const struct wo_facts *const facts = &h->report->facts;
  if (!wo__html_has_settings(h)) return;
  wo_text_add(h->out, "<section id=\"settings\" aria-labelledby=\"settings-title\"><h2 id=\"settings-title\">Settings</h2>\n"
                      "<table class=\"stack\"><thead><tr><th scope=\"col\">setting</th><th scope=\"col\">value</th>"
                      "<th scope=\"col\">set in</th><th scope=\"col\">instead of</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < facts->setting_count; i++) {
    if (facts->settings[i].event != NULL) write_setting(h, &facts->settings[i]);
  }
  wo_text_add(h->out, "</tbody></table></section>\n");
}

/* ---- Other findings ---- */

/* The first finding is the page's own subject if it is a failure. */
static size_t first_other(const struct wo__html *h) {
  return wo_report_tells_failure(h->report) ? 1 : 0;
}

bool wo__html_has_findings(const struct wo__html *h) {
  return h->report->finding_count > first_other(h);
}

static void write_finding(struct wo__html *h, const struct wo_finding *finding) {
  struct wo_text *const out = h->out;
  wo_text_add(out, "<details class=\"finding\"><summary>");
  wo_html_put(out, "", finding->title, " <span>");
  wo_text_add(out, "%s%s</span></summary>\n<div class=\"body\">\n", finding->cause->is_failure ? "" : "note, ",
              wo_report_confidence_name(finding->confidence));
  wo_html_put(out, "<p class=\"summary\">", finding->summary, "</p>\n");
  wo__html_reasons(h, finding);
  for (size_t i = 0; i < finding->fix_count; i++) wo__html_fix(h, &finding->fixes[i], i + 1, false);
  wo_html_put(out, "<p class=\"rest\">whyoom explain ", finding->cause->id, "</p>\n</div></details>\n");
}

void wo__html_findings(struct wo__html *h) {
  if (!wo__html_has_findings(h)) return;
  wo_text_add(h->out,
              "<section id=\"findings\" aria-labelledby=\"findings-title\"><h2 id=\"findings-title\">Other findings</h2>\n");
  for (size_t i = first_other(h); i < h->report->finding_count; i++) write_finding(h, &h->report->findings[i]);
  wo_text_add(h->out, "</section>\n");
}

/* ---- Inputs ---- */

static void write_input(struct wo__html *h, const struct wo_job_input *input) {
  struct wo_text *const out = h->out;
  struct wo_text *const text = wo__html_start(h);
  wo_text_add_clean(text, input->path);
  wo__html_put_scratch(h, "<tr><th scope=\"row\" data-label=\"file\">", "</th>");
  wo_html_put(out, "<td data-label=\"form\">", input->format.len > 0 ? input->format : WO_VIEW("unknown"), "");
  wo_text_add(out, "%s</td><td class=\"number\" data-label=\"lines\">%llu</td>", input->is_compressed ? ", compressed" : "",
              (unsigned long long)input->lines);
  wo_text_add(out, "<td class=\"number\" data-label=\"size\">%s</td><td data-label=\"notes\"%s>",
              WO_BYTES_TEXT((double)input->bytes), input->note_count > 0 || input->is_unreadable ? "" : " class=\"none\"");
  for (size_t i = 0; i < input->note_count; i++) wo_html_put(out, "<p>", input->notes[i], "</p>");
  if (input->is_unreadable && input->note_count == 0) wo_text_add(out, "could not be read");
  wo_text_add(out, "</td></tr>\n");
}

void wo__html_inputs(struct wo__html *h) {
  const struct wo_job *const job = h->report->job;
  struct wo_text *const out = h->out;
  wo_text_add(out, "<section id=\"inputs\" aria-labelledby=\"inputs-title\"><h2 id=\"inputs-title\">Inputs</h2>\n"
                   "<table class=\"stack\"><thead><tr><th scope=\"col\">file</th><th scope=\"col\">form</th>"
                   "<th scope=\"col\" class=\"number\">lines</th><th scope=\"col\" class=\"number\">size</th>"
                   "<th scope=\"col\">notes</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < job->input_count && i < INPUTS_MAX; i++) write_input(h, &job->inputs[i]);
  wo_text_add(out, "</tbody></table>\n");
  const size_t more = (job->input_count > INPUTS_MAX ? job->input_count - INPUTS_MAX : 0) + job->left_out_count;
  if (more > 0) wo_text_add(out, "<p class=\"rest\">%zu more files</p>\n", more);
  if (job->events.dropped > 0)
    wo_text_add(out, "<p class=\"rest\">%llu pieces of evidence beyond the limits: counted, not kept</p>\n",
                (unsigned long long)job->events.dropped);
  wo_text_add(out, "</section>\n");
}

/* ---- The report as text ---- */

void wo__html_whole(struct wo__html *h) {
  const struct wo_text_style style = {.width = WHOLE_WIDTH, .use_utf8 = true, .is_verbose = true};
  struct wo_text text = {0};
  size_t lines = 0;
  wo_report_text(h->report, style, &text);
  for (size_t i = 0; i < text.len; i++) lines += text.ptr[i] == '\n';
  struct wo_view rest = {text.ptr, text.len < WO_LIMIT_PAGE_TEXT_BYTES ? text.len : WO_LIMIT_PAGE_TEXT_BYTES};
  wo_text_add(h->out,
              "<section id=\"text\" aria-labelledby=\"text-title\"><h2 id=\"text-title\">As text</h2>\n"
              "<details><summary>The whole report, as whyoom -v writes it <span>%zu lines</span></summary>\n<pre>",
              lines);
  while (rest.len > 0) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    wo_html_put(h->out, "", line, "\n");
  }
  wo_text_add(h->out, "%s</pre></details></section>\n",
              text.len > WO_LIMIT_PAGE_TEXT_BYTES ? "... (whyoom -v has the rest)\n" : "");
  h->out->is_failed = h->out->is_failed || text.is_failed;
  wo_text_done(&text);
}
