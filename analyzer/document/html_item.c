/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the page share. See page_internal.h. */
#include "analyzer/document/page_internal.h"
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
