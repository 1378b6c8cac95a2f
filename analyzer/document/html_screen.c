/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen in HTML: the verdict with its numbers, the change to make first, further fixes, commands. */
#include "analyzer/document/page_internal.h"
#include "analyzer/report/report_words.h"

static const char *const tones[] = {[WO_SCREEN_GOOD] = "good", [WO_SCREEN_NOTE] = "note", [WO_SCREEN_FAILURE] = "bad"};

/* ---- The verdict ---- */

static void add_row(struct wo_text *out, const char *label, struct wo_view text) {
  if (text.len == 0) return;
  wo_text_add(out, "<div><dt>%s</dt>", label);
  wo_html_put(out, "<dd>", text, "</dd></div>\n");
}

static void write_rows(struct wo__html *h) {
  const struct wo_screen *const screen = h->screen;
  struct wo_text *const out = h->out;
  if (screen->row_count == 0 && screen->where.len == 0 && screen->notes.len == 0) return;
  wo_text_add(out, "<dl class=\"rows\">\n");
  for (size_t i = 0; i < screen->row_count; i++) {
    wo_html_put(out, "<div><dt>", screen->rows[i].label, "</dt>");
    wo_html_put(out, "<dd>", screen->rows[i].text, "</dd></div>\n");
  }
  if (screen->where.len > 0)
    wo_html_put(out, "<div><dt>where</dt><dd><a href=\"#evidence\">", screen->where, "</a></dd></div>\n");
  add_row(out, "inputs", screen->notes);
  wo_text_add(out, "</dl>\n");
}

static void write_verdict(struct wo__html *h) {
  const struct wo_screen *const screen = h->screen;
  struct wo_text *const out = h->out;
  wo_html_put(out, "<header><p class=\"job\">", screen->job, "</p>\n");
  wo_text_add(out, "<button type=\"button\" id=\"theme\" hidden=\"\">Light or dark</button></header>\n<main>\n");
  wo_text_add(out, "<section id=\"verdict\" class=\"%s\" aria-labelledby=\"title\">\n<h1 id=\"title\"><span class=\"kind\">",
              tones[screen->tone]);
  wo_html_put(out, "", screen->verdict, "</span>");
  if (screen->cause.len > 0) wo_html_put(out, " <span class=\"cause\">", screen->cause, "</span>");
  wo_text_add(out, "</h1>\n");
  if (screen->confidence.len > 0) wo_html_put(out, "<p class=\"sure\">", screen->confidence, "</p>\n");
  if (screen->quote.len > 0) wo_html_put(out, "<pre class=\"quote\">", screen->quote, "</pre>\n");
  if (screen->memory != NULL) wo__html_card(h, screen->memory);
  write_rows(h);
  wo_text_add(out, "</section>\n");
}

/* ---- The change to make first ---- */

/* A setting with its old and new value; or a line of code or shell, as it is. */
static void write_change(struct wo__html *h, const struct wo_screen_change *change, struct wo_view pasted) {
  struct wo_text *const out = h->out;
  wo_html_put(out, "<li><span class=\"place\">", change->place, "</span>");
  wo_html_put(out, "<code>", change->text, "");
  if (change->then.len > 0) {
    if (change->now.len > 0) wo_html_put(out, " <del>", change->now, "</del>");
    wo_text_add(out, "<span class=\"to\" role=\"img\" aria-label=\"becomes\"> \xE2\x86\x92 </span>");
    wo_html_put(out, "<ins>", change->then, "</ins>");
  }
  wo_text_add(out, "</code>");
  wo__html_copy(out, pasted);
  wo_text_add(out, "</li>\n");
}

/* The changes of the screen are those of its fix, in order: settings, then commands. */
static void write_changes(struct wo__html *h) {
  const struct wo_finding_fix *const fix = h->screen->first.fix;
  if (h->screen->change_count == 0) return;
  wo_text_add(h->out, "<ul class=\"changes\">\n");
  for (size_t i = 0; i < h->screen->change_count; i++) {
    const struct wo_screen_change *const change = &h->screen->changes[i];
    struct wo_view pasted = change->text;
    if (i < fix->change_count) {
      wo_report_add_change(wo__html_start(h), &fix->changes[i]);
      pasted = (struct wo_view){h->scratch.ptr, h->scratch.len};
    }
    write_change(h, change, pasted);
  }
  wo_text_add(h->out, "</ul>\n");
  if (h->screen->more_changes > 0)
    wo_text_add(h->out, "<p class=\"rest\">%zu more lines: <a href=\"#fix-%zu\">the whole change</a></p>\n",
                h->screen->more_changes, h->screen->first.number);
}

static void write_first(struct wo__html *h) {
  const struct wo_screen *const screen = h->screen;
  struct wo_text *const out = h->out;
  if (screen->first.number == 0) return;
  wo_text_add(out, "<section id=\"change\" aria-labelledby=\"change-title\"><h2 id=\"change-title\">Change first</h2>\n");
  wo_text_add(out, "<p class=\"what\"><a href=\"#fix-%zu\">", screen->first.number);
  wo_html_put(out, "", screen->first.title, "</a>");
  if (screen->first.price.len > 0) wo_html_put(out, " <span class=\"price\">", screen->first.price, "</span>");
  wo_text_add(out, "</p>\n");
  write_changes(h);
  if (screen->first_verdict.len > 0)
    wo_html_put(out, screen->first.is_enough ? "<p class=\"judged yes\">" : "<p class=\"judged\">", screen->first_verdict,
                "</p>\n");
  wo_text_add(out, "</section>\n");
}

/* ---- Further fixes ---- */

static void add_cell(struct wo_text *out, const char *label, struct wo_view text) {
  wo_text_add(out, "<td data-label=\"%s\"%s>", label, text.len > 0 ? "" : " class=\"none\"");
  wo_html_put(out, "", text, "</td>");
}

/* "frees 1.2 to 4.7 GiB"; a replay says how much is left, or lacking. */
static void add_memory(struct wo_text *out, const struct wo_screen_fix *fix) {
  const bool is_tried = fix->fix->proof != NULL && fix->fix->proof->is_tried;
  wo_text_add(out, "<td data-label=\"memory\"%s>", fix->frees.len > 0 ? "" : " class=\"none\"");
  wo_html_put(out, is_tried || fix->frees.len == 0 ? "" : "frees ", fix->frees, "</td>");
}

/* "not enough (replayed)": the numbers are in the other cells, and the box of the fix has the rest. */
static void add_proof(struct wo__html *h, const struct wo_finding_fix *fix) {
  static const char *const ends[] = {"enough", "may be enough", "not enough"};
  struct wo_text *const text = wo__html_start(h);
  wo_report_add_verdict(text, fix);
  const struct wo_view whole = {text->ptr, text->len};
  if (!WO_VIEW_ANY(whole, wo_view_starts, ends)) text->len = 0;
  const size_t end = wo_view_find(whole, WO_VIEW(":"), 0);
  if (end != WO_NOT_FOUND && end < text->len) text->len = end;
  if (fix->proof != NULL && fix->proof->is_tried) wo_text_add(text, " (replayed)");
  add_cell(h->out, "enough?", (struct wo_view){text->ptr, text->len});
}

static void write_others(struct wo__html *h) {
  const struct wo_screen *const screen = h->screen;
  struct wo_text *const out = h->out;
  if (screen->other_count == 0) return;
  wo_text_add(out,
              "<section id=\"others\" aria-labelledby=\"others-title\"><h2 id=\"others-title\">%s</h2>\n"
              "<table class=\"stack\"><thead><tr><th scope=\"col\">#</th><th scope=\"col\">change</th>"
              "<th scope=\"col\">memory</th><th scope=\"col\">price</th><th scope=\"col\">enough?</th></tr></thead><tbody>\n",
              screen->is_first_proven ? "Other ways" : "If that is not enough");
  for (size_t i = 0; i < screen->other_count; i++) {
    const struct wo_screen_fix *const fix = &screen->others[i];
    wo_text_add(out, "<tr%s><td class=\"number\" data-label=\"#\">%zu</td><td data-label=\"change\"><a href=\"#fix-%zu\">",
                fix->is_enough ? " class=\"enough\"" : "", fix->number, fix->number);
    wo_html_put(out, "", fix->title, "</a></td>");
    add_memory(out, fix);
    add_cell(out, "price", fix->price);
    add_proof(h, fix->fix);
    wo_text_add(out, "</tr>\n");
  }
  wo_text_add(out, "</tbody></table></section>\n");
}

/* ---- The rest of the screen ---- */

static void write_facts(struct wo__html *h) {
  const struct wo_screen *const screen = h->screen;
  const bool has_settle = screen->settle.len > 0 && screen->tone == WO_SCREEN_FAILURE;
  if (screen->also.len + screen->already.len + screen->not_it.len == 0 && !has_settle) return;
  wo_text_add(h->out, "<dl class=\"facts\" id=\"also\">\n");
  add_row(h->out, "also", screen->also);
  add_row(h->out, "already on", screen->already);
  add_row(h->out, "not it", screen->not_it);
  if (has_settle) add_row(h->out, "would settle it", screen->settle);
  wo_text_add(h->out, "</dl>\n");
}

static void write_next(struct wo__html *h) {
  const struct wo_screen *const screen = h->screen;
  struct wo_text *const out = h->out;
  if (screen->next_count == 0) return;
  wo_text_add(
      out, "<section id=\"next\" aria-labelledby=\"next-title\"><h2 id=\"next-title\">Commands</h2>\n<ul class=\"commands\">\n");
  for (size_t i = 0; i < screen->next_count; i++) {
    const struct wo_screen_next *const next = &screen->next[i];
    wo_html_put(out, "<li><span>", next->label, "</span>");
    if (next->command.len > 0) {
      wo_html_put(out, "<code class=\"command\">", next->command, "</code>");
      wo__html_copy(out, next->command);
    } else {
      wo_html_put(out, "<em>", next->words, "</em>");
    }
    wo_text_add(out, "</li>\n");
  }
  wo_text_add(out, "</ul></section>\n");
}

void wo__html_screen(struct wo__html *h) {
  write_verdict(h);
  write_first(h);
  write_others(h);
  write_facts(h);
  write_next(h);
}
