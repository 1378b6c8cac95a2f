/* SPDX-License-Identifier: Apache-2.0 */
/* What the diagnosis rests on: lines of the log with the decisive words marked, reasons for and against. See page_internal.h. */
#include "analyzer/document/page_internal.h"
#include "analyzer/report/report_words.h"
#include "parsers/base/clean.h"

enum {
  QUOTE_BYTES = 4096, /* of a line; a longer one is cut around the part that decides */
  LINES_QUOTED = 40,  /* behind the reasons */
  PLACES_NAMED = 4    /* after one reason */
};

/* ---- Quotes ---- */

/* A line of a log, the part by which it was found marked. */
static void write_quote(struct wo__html *h, const struct wo_event *event) {
  const struct wo_view whole = wo_view_trim(event->text), part = wo_report_found(event);
  size_t from = 0, to = whole.len;
  if (whole.len > QUOTE_BYTES) {
    const size_t at = part.len > 0 && part.ptr >= whole.ptr ? (size_t)(part.ptr - whole.ptr) : 0;
    from = wo_utf8_front(whole, at > QUOTE_BYTES / 2 ? at - QUOTE_BYTES / 2 : 0).len;
    to = wo_utf8_front(whole, from + QUOTE_BYTES).len;
  }
  wo_text_add(h->out, "<pre class=\"quote\">%s", from > 0 ? "... " : "");
  wo__html_marked(h->out, wo_view_sub(whole, from, to), part);
  wo_text_add(h->out, "%s</pre>", to < whole.len ? " ..." : "");
}

/* "slurm-1.err:12, rank 3, gpu12, GPU 1". */
static void write_place(struct wo__html *h, const struct wo_event *event) {
  struct wo_text *const text = wo__html_start(h);
  const int32_t gpu = wo_event_index(event, WO_FIELD_GPU, -1);
  wo__html_place(text, h, event);
  if (event->rank != WO_RANK_UNKNOWN) wo_text_add(text, ", rank %d", (int)event->rank);
  if (event->host.len > 0) wo_text_add(text, ", %.*s", WO_SHOWN(event->host));
  if (gpu >= 0) wo_text_add(text, ", GPU %d", (int)gpu);
  wo__html_put_scratch(h, "<figcaption class=\"place\">", "</figcaption>");
}

static void write_line(struct wo__html *h, const struct wo_event *event) {
  wo_text_add(h->out, "<figure class=\"line\">");
  write_place(h, event);
  write_quote(h, event);
  wo_text_add(h->out, "</figure>\n");
}

/* The user's own line of code, which a traceback names. */
static void write_frame(struct wo__html *h) {
  const struct wo_event *const traceback = wo_event_get(h->events, h->story->traceback);
  const struct wo_view file = traceback == NULL ? (struct wo_view){0} : wo_event_text(traceback, WO_FIELD_FRAME_FILE);
  if (file.len == 0) return;
  struct wo_text *const text = wo__html_start(h);
  wo_text_add_clean(text, file);
  wo_text_add(text, ":%.0f", wo_event_number(traceback, WO_FIELD_FRAME_LINE, 0));
  wo__html_put_scratch(h, "<p class=\"frame\">in <code>", "</code>");
  if (h->story->phase.len > 0) wo_html_put(h->out, ", ", h->story->phase, "");
  wo_text_add(h->out, "</p>\n");
}

/* ---- Reasons ---- */

/* "batch 8 of 8 (run.sh:12, slurm.err:40)". */
static void write_argument(struct wo__html *h, const struct wo_argument *argument) {
  wo_html_put(h->out, "<li>", argument->text, "");
  struct wo_text *const text = wo__html_start(h);
  for (size_t i = 0, named = 0; i < argument->evidence_count; i++) {
    const struct wo_event *const event = wo_event_get(h->events, argument->evidence[i]);
    if (event == NULL || event == h->where) continue;
    if (named++ == PLACES_NAMED) {
      wo_text_add(text, ", ...");
      break;
    }
    if (text->len > 0) wo_text_add(text, ", ");
    wo__html_place(text, h, event);
  }
  if (text->len > 0) wo__html_put_scratch(h, " <span class=\"place\">", "</span>");
  wo_text_add(h->out, "</li>\n");
}

static void write_arguments(struct wo__html *h, const char *words, const char *mark, const struct wo_argument *arguments,
                            size_t count) {
  if (count == 0) return;
  wo_text_add(h->out, "<div><h3>%s</h3><ul class=\"reasons %s\">\n", words, mark);
  for (size_t i = 0; i < count; i++) write_argument(h, &arguments[i]);
  wo_text_add(h->out, "</ul></div>\n");
}

static void write_texts(struct wo__html *h, const char *words, const struct wo_view *texts, size_t count) {
  if (count == 0) return;
  wo_text_add(h->out, "<div><h3>%s</h3><ul class=\"reasons\">\n", words);
  for (size_t i = 0; i < count; i++) wo_html_put(h->out, "<li>", texts[i], "</li>\n");
  wo_text_add(h->out, "</ul></div>\n");
}

void wo__html_reasons(struct wo__html *h, const struct wo_finding *finding) {
  wo_text_add(h->out, "<div class=\"columns\">\n");
  write_arguments(h, "For", "for", finding->for_, finding->for_count);
  write_arguments(h, "Against", "against", finding->against, finding->against_count);
  write_texts(h, "Would settle it", finding->would_tell, finding->would_tell_count);
  wo_text_add(h->out, "</div>\n");
}

/* ---- The lines behind the reasons ---- */

struct quoted {
  const struct wo_event *events[LINES_QUOTED];
  size_t count, more;
};

static void note_lines(struct wo__html *h, struct quoted *quoted, const struct wo_argument *arguments, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < arguments[i].evidence_count; k++) {
      const struct wo_event *const event = wo_event_get(h->events, arguments[i].evidence[k]);
      size_t at = 0;
      while (at < quoted->count && quoted->events[at] != event) at++;
      if (event == NULL || event == h->where || at < quoted->count) continue;
      if (quoted->count == LINES_QUOTED) {
        quoted->more++;
      } else {
        quoted->events[quoted->count++] = event;
      }
    }
  }
}

static void write_lines(struct wo__html *h, const struct wo_finding *finding) {
  struct quoted quoted = {.count = 0};
  note_lines(h, &quoted, finding->for_, finding->for_count);
  note_lines(h, &quoted, finding->against, finding->against_count);
  if (quoted.count == 0) return;
  wo_text_add(h->out, "<details class=\"lines\"><summary>The lines behind these reasons <span>%zu</span></summary>\n",
              quoted.count);
  for (size_t i = 0; i < quoted.count; i++) write_line(h, quoted.events[i]);
  if (quoted.more > 0) wo_text_add(h->out, "<p class=\"rest\">%zu more places</p>\n", quoted.more);
  wo_text_add(h->out, "</details>\n");
}

/* ---- Figures ---- */

/* How the request and the room for it come about, as the text report writes it. */
static void write_arithmetic(struct wo__html *h) {
  const struct wo_report *const report = h->report;
  const size_t readings = report->request == NULL ? 0 : report->request->reading_count;
  const bool has_shortage = report->shortage.is_known && report->shortage.bytes.hi > 0;
  if (report->memory.arithmetic_count + readings == 0 && !has_shortage) return;
  wo_text_add(h->out, "<h3>The sums</h3><ul class=\"sums\">\n");
  for (size_t i = 0; report->has_memory && i < report->memory.arithmetic_count; i++)
    wo_html_put(h->out, "<li>", report->memory.arithmetic[i], "</li>\n");
  for (size_t i = 0; i < readings; i++) {
    wo_report_add_reading(wo__html_start(h), report->request, i);
    wo__html_put_scratch(h, "<li>", "</li>\n");
  }
  if (has_shortage) {
    struct wo_text *const text = wo__html_start(h);
    wo_text_add(text, "short by ");
    wo_report_add_range(text, report->shortage.bytes);
    if (report->shortage.formula.len > 0) wo_text_add(text, ": %.*s", WO_SHOWN(report->shortage.formula));
    wo__html_put_scratch(h, "<li>", "</li>\n");
  }
  wo_text_add(h->out, "</ul>\n");
}

void wo__html_evidence(struct wo__html *h) {
  const struct wo_report *const report = h->report;
  const struct wo_finding *const finding = wo_report_tells_failure(report) ? &report->findings[0] : NULL;
  if (h->where == NULL && finding == NULL) return;
  wo_text_add(h->out, "<section id=\"evidence\" aria-labelledby=\"evidence-title\"><h2 id=\"evidence-title\">Evidence</h2>\n");
  if (h->where != NULL) write_line(h, h->where);
  write_frame(h);
  if (finding != NULL) {
    wo_html_put(h->out, "<p class=\"summary\">", finding->summary, "</p>\n");
    write_arithmetic(h);
    wo__html_reasons(h, finding);
    write_lines(h, finding);
  }
  wo_text_add(h->out, "</section>\n");
}
