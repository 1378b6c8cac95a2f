/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the Markdown share. See markdown_internal.h. */
#include "analyzer/document/markdown_internal.h"
#include "analyzer/files/names.h"

struct wo_text *wo__markdown_start(struct wo__markdown *m) {
  m->scratch.len = 0;
  return &m->scratch;
}

struct wo_view wo__markdown_scratch(const struct wo__markdown *m) {
  return (struct wo_view){m->scratch.ptr, m->scratch.len};
}

void wo__markdown_put(struct wo__markdown *m, const char *before, struct wo_view text, const char *after) {
  wo_text_add(m->out, "%s", before);
  wo_markdown_text(m->out, text);
  wo_text_add(m->out, "%s", after);
}

void wo__markdown_put_code(struct wo__markdown *m, const char *before, struct wo_view text, const char *after) {
  wo_text_add(m->out, "%s", before);
  wo_markdown_code(m->out, text, false);
  wo_text_add(m->out, "%s", after);
}

void wo__markdown_place(struct wo_text *text, const struct wo__markdown *m, const struct wo_event *event) {
  const bool is_known = event->span.file < m->report->job->input_count;
  wo_text_add_clean(text, is_known ? wo_name_base(m->report->job->inputs[event->span.file].path) : WO_VIEW("?"));
  wo_text_add(text, ":%llu", (unsigned long long)event->span.line);
}
