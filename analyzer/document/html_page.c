/* The HTML page of one job: its order, and what its parts share. See document.h. */
#include "analyzer/document/document.h"

#include <assert.h>

#include "analyzer/document/html_internal.h"
#include "analyzer/files/names.h"

/* ---- Small texts ---- */

struct wo_text *wo__html_start(struct wo__html *h) {
  h->scratch.len = 0;
  return &h->scratch;
}

void wo__html_put_scratch(struct wo__html *h, const char *before, const char *after) {
  wo_html_put(h->out, before, (struct wo_view){h->scratch.ptr, h->scratch.len}, after);
}

void wo__html_marked(struct wo_text *out, struct wo_view text, struct wo_view part) {
  const bool is_inside = part.len > 0 && part.ptr >= text.ptr && part.ptr + part.len <= text.ptr + text.len;
  const size_t at = is_inside ? (size_t)(part.ptr - text.ptr) : text.len;
  wo_html_text(out, wo_view_sub(text, 0, at));
  if (!is_inside) return;
  wo_html_put(out, "<mark>", part, "</mark>");
  wo_html_text(out, wo_view_skip(text, at + part.len));
}

void wo__html_place(struct wo_text *text, const struct wo__html *h, const struct wo_event *event) {
  const bool is_known = event->span.file < h->report->job->input_count;
  wo_text_add_clean(text, is_known ? wo_name_base(h->report->job->inputs[event->span.file].path) : WO_VIEW("?"));
  wo_text_add(text, ":%llu", (unsigned long long)event->span.line);
}

void wo__html_copy(struct wo_text *out, struct wo_view text) {
  wo_html_put(out, "<button type=\"button\" class=\"copy\" hidden=\"\" data-copy=\"", text, "\">copy</button>");
}

bool wo__html_has_role(const struct wo__html *h, size_t event_index, enum wo_role role) {
  return h->story->roles != NULL && h->story->roles[event_index] == role;
}

/* ---- Sentences ---- */

struct statements {
  struct wo_text *out;
  size_t count;
};

static void say(void *context, struct wo_view label, struct wo_view text) {
  struct statements *const list = context;
  if (list->count++ == 0) wo_text_add(list->out, "<dl class=\"facts\">\n");
  wo_html_put(list->out, "<div><dt>", label, "</dt>");
  wo_html_put(list->out, "<dd>", text, "</dd></div>\n");
}

void wo__html_statements(struct wo__html *h, enum wo_report_part part) {
  struct statements list = {.out = h->out};
  if (!wo_report_statements(h->report, part, say, &list)) h->out->is_failed = true;
  if (list.count > 0) wo_text_add(h->out, "</dl>\n");
}

/* ---- The page ---- */

static void add_link(struct wo__html *h, bool is_there, const char *id, const char *words) {
  if (is_there) wo_text_add(h->out, "<a href=\"#%s\">%s</a>\n", id, words);
}

static void write_links(struct wo__html *h) {
  wo_text_add(h->out, "<nav aria-label=\"parts of the report\">\n");
  add_link(h, h->where != NULL || h->report->finding_count > 0, "evidence", "Evidence");
  add_link(h, wo__html_has_memory(h), "memory", "Memory over time");
  add_link(h, wo__html_has_ranks(h), "ranks", "Ranks and runs");
  add_link(h, h->report->finding_count > 0 && h->report->findings[0].fix_count > 0, "fixes", "All fixes");
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
