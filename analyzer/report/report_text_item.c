/* SPDX-License-Identifier: Apache-2.0 */
/* Items, small texts and labelled lines for all parts of the text report. See report_text_internal.h. */
#include <assert.h>

#include "analyzer/report/report_text_internal.h"
#include "parsers/base/clean.h"

enum {
  LABEL_WIDTH_MIN = 60, /* on a narrower page, further lines of labelled text start at a fixed indent, not after the label */
  PATH_BYTES = 1024
};

/* ---- Small texts ----
 *
 * Items are built in the writer's scratch text and then laid out, because wrapping must know an item's width before it is
 * written. There is one scratch text: an item is written before the next one is started. */

struct wo_text *wo__writer_start(struct wo__writer *w) {
  w->scratch.len = 0;
  return &w->scratch;
}

struct wo_view wo__writer_scratch(const struct wo__writer *w) {
  return (struct wo_view){w->scratch.ptr, w->scratch.len};
}

/* A count with blanks between groups of three digits ("1 204"). */
static void add_count(struct wo_text *text, uint64_t count) {
  char digits[24];
  const int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
  assert(len > 0);
  for (int i = 0; i < len; i++) {
    if (i > 0 && (len - i) % 3 == 0) wo_text_repeat(text, ' ', 1);
    wo_text_repeat(text, digits[i], 1);
  }
}

/* The plural is the caller's: "piece of evidence" has no s at its end. */
void wo__add_counted(struct wo_text *text, uint64_t count, const char *one, const char *many) {
  add_count(text, count);
  wo_text_add(text, " %s", count == 1 ? one : many);
}

void wo__add_path(struct wo_text *text, struct wo_view path) {
  char clean[PATH_BYTES];
  wo_text_add_view(text, wo_clean_utf8(path, clean, sizeof clean));
}

/* An event of a file that the job does not list is a bug of the caller; the report stays readable. */
static void add_event_path(const struct wo__writer *w, struct wo_text *text, const struct wo_event *event) {
  if (event->span.file < w->report->job->input_count) {
    wo__add_path(text, w->report->job->inputs[event->span.file].path);
  } else {
    wo_text_add(text, "?");
  }
}

void wo__add_place(const struct wo__writer *w, struct wo_text *text, const struct wo_event *event) {
  add_event_path(w, text, event);
  wo_text_add(text, ":%llu", (unsigned long long)event->span.line);
}

void wo__add_short_place(const struct wo__writer *w, struct wo_text *text, const struct wo_event *event) {
  if (w->where != NULL && w->where->span.file == event->span.file) {
    wo_text_add(text, "line %llu", (unsigned long long)event->span.line);
  } else {
    wo__add_place(w, text, event);
  }
}

/* ---- Lines ----
 *
 * Every part of the report starts at the beginning of a line and ends its last line, so that parts can be left out or moved
 * without a change of their neighbours. */

void wo__end_line(const struct wo__writer *w) {
  wo_page_break(&w->page, 0);
}

void wo__indent(const struct wo__writer *w, size_t columns) {
  wo_text_repeat(w->page.out, ' ', columns);
}

size_t wo__put_label(const struct wo__writer *w, enum wo_tint tint, const char *label, size_t padded_columns) {
  const struct wo_view view = wo_view_of(label);
  const size_t columns = view.len < padded_columns ? padded_columns : view.len;
  wo__indent(w, WO__INDENT);
  wo_page_put(&w->page, tint, view);
  wo__indent(w, columns - view.len + 1);
  return WO__INDENT + columns + 1;
}

/* Where the further lines of labelled text start. */
static size_t hang_of(const struct wo__writer *w, size_t column) {
  return w->page.style.width < LABEL_WIDTH_MIN ? WO__FURTHER : column;
}

void wo__put_labelled(const struct wo__writer *w, const char *label, struct wo_view text) {
  if (text.len == 0) return;
  if (w->say != NULL) {
    const struct wo_view name = wo_view_of(label);
    w->say(w->context, wo_view_sub(name, 0, name.len - 1), text);
    return;
  }
  const size_t column = wo__put_label(w, WO_TINT_FAINT, label, 0);
  wo_page_flow(&w->page, column, hang_of(w, column), WO_TINT_PLAIN, text);
  wo__end_line(w);
}

void wo__put_lines(const struct wo__writer *w, size_t indent, size_t hanging, struct wo_view text) {
  if (text.len == 0) return;
  if (w->say != NULL) {
    w->say(w->context, (struct wo_view){0}, text);
    return;
  }
  wo__indent(w, indent);
  wo_page_flow(&w->page, indent, hanging, WO_TINT_PLAIN, text);
  wo__end_line(w);
}

void wo__put_paragraph(const struct wo__writer *w, struct wo_view text) {
  wo__put_lines(w, WO__INDENT, WO__INDENT, text);
}
