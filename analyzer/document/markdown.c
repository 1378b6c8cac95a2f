/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen as Markdown: what a ticket needs at once. See document.h. */
#include "analyzer/document/document.h"

#include <assert.h>

#include "analyzer/document/markdown_internal.h"
#include "analyzer/report/report_bar.h"
#include "analyzer/report/report_words.h"

enum { BAR_WIDTH = 80, OTHERS_MAX = 8 };

/* ---- The verdict ---- */

/* The bar of the text report, which needs no picture. */
static void write_bar(struct wo__markdown *m) {
  const struct wo_page page = {.out = wo__markdown_start(m), .style = {.width = BAR_WIDTH}};
  if (m->screen->memory == NULL) return;
  wo_report_bar(&page, m->screen->memory);
  wo_report_legend(&page, m->screen->memory);
  struct wo_view lines = wo__markdown_scratch(m);
  if (wo_view_ends(lines, "\n")) lines.len--;
  wo_markdown_block(m->out, "text", lines);
  wo_text_add(m->out, "\n");
}

static void write_verdict(struct wo__markdown *m) {
  const struct wo_screen *const screen = m->screen;
  wo__markdown_put(m, "## ", screen->verdict, "");
  if (screen->cause.len > 0) wo__markdown_put(m, ": ", screen->cause, "");
  if (screen->confidence.len > 0) wo__markdown_put(m, " (", screen->confidence, ")");
  wo__markdown_put(m, "\n\n", screen->job, "\n\n");
  for (size_t i = 0; i < screen->row_count; i++) {
    wo__markdown_put(m, "- **", screen->rows[i].label, "**: ");
    wo__markdown_put(m, "", screen->rows[i].text, "\n");
  }
  if (screen->where.len > 0) wo__markdown_put_code(m, "- **where**: ", screen->where, "\n");
  if (screen->notes.len > 0) wo__markdown_put(m, "- **inputs**: ", screen->notes, "\n");
  if (screen->row_count + screen->where.len + screen->notes.len > 0) wo_text_add(m->out, "\n");
  write_bar(m);
  if (screen->quote.len == 0) return;
  wo_markdown_block(m->out, "text", screen->quote);
  wo_text_add(m->out, "\n");
}

/* ---- The change to make first ---- */

/* "run_lora.sh:32  --per_device_train_batch_size  2 -> 1". */
static void add_change(struct wo_text *text, const struct wo_screen_change *change) {
  if (change->place.len > 0) wo_text_add(text, "%.*s  ", WO_SHOWN(change->place));
  wo_text_add_view(text, change->text);
  if (change->then.len == 0) return;
  if (change->now.len > 0) {
    wo_text_add(text, "  %.*s -> %.*s", WO_SHOWN(change->now), WO_SHOWN(change->then));
  } else {
    wo_text_add(text, "  %.*s", WO_SHOWN(change->then));
  }
}

static void write_first(struct wo__markdown *m) {
  const struct wo_screen *const screen = m->screen;
  if (screen->first.number == 0) return;
  wo__markdown_put(m, "### Change first: ", screen->first.title, "");
  if (screen->first.price.len > 0) wo__markdown_put(m, " (", screen->first.price, ")");
  wo_text_add(m->out, "\n\n");
  struct wo_text *const text = wo__markdown_start(m);
  for (size_t i = 0; i < screen->change_count; i++) {
    if (i > 0) wo_text_add(text, "\n");
    add_change(text, &screen->changes[i]);
  }
  if (screen->more_changes > 0) wo_text_add(text, "\nand %zu more lines: see all fixes", screen->more_changes);
  if (text->len > 0) wo_markdown_block(m->out, "text", wo__markdown_scratch(m));
  if (text->len > 0) wo_text_add(m->out, "\n");
  if (screen->first_verdict.len > 0) wo__markdown_put(m, "", screen->first_verdict, "\n\n");
}

/* ---- Further fixes ---- */

/* "not enough (replayed)": the numbers are in the other cells. */
static struct wo_view judgement_of(struct wo__markdown *m, const struct wo_finding_fix *fix) {
  static const char *const ends[] = {"enough", "may be enough", "not enough"};
  struct wo_text *const text = wo__markdown_start(m);
  wo_report_add_verdict(text, fix);
  const struct wo_view whole = wo__markdown_scratch(m);
  if (!WO_VIEW_ANY(whole, wo_view_starts, ends)) text->len = 0;
  const size_t end = wo_view_find(whole, WO_VIEW(":"), 0);
  if (end != WO_NOT_FOUND && end < text->len) text->len = end;
  if (fix->proof != NULL && fix->proof->is_tried) wo_text_add(text, " (replayed)");
  return wo__markdown_scratch(m);
}

static void write_others(struct wo__markdown *m) {
  const struct wo_screen *const screen = m->screen;
  if (screen->other_count == 0) return;
  wo_text_add(m->out, "### %s\n\n| # | change | memory | price | enough? |\n| ---: | --- | --- | --- | --- |\n",
              screen->is_first_proven ? "Other ways" : "If that is not enough");
  for (size_t i = 0; i < screen->other_count && i < OTHERS_MAX; i++) {
    const struct wo_screen_fix *const fix = &screen->others[i];
    wo_text_add(m->out, "| %zu | ", fix->number);
    wo__markdown_put(m, "", fix->title, " | ");
    const bool is_tried = fix->fix->proof != NULL && fix->fix->proof->is_tried;
    wo__markdown_put(m, is_tried || fix->frees.len == 0 ? "" : "frees ", fix->frees, " | ");
    wo__markdown_put(m, "", fix->price, " | ");
    wo__markdown_put(m, "", judgement_of(m, fix->fix), " |\n");
  }
  wo_text_add(m->out, "\n");
  if (screen->other_count > OTHERS_MAX) wo_text_add(m->out, "And %zu more: see all fixes.\n\n", screen->other_count - OTHERS_MAX);
}

static void write_fact(struct wo__markdown *m, const char *label, struct wo_view text) {
  if (text.len == 0) return;
  wo_text_add(m->out, "- **%s**: ", label);
  wo__markdown_put(m, "", text, "\n");
}

static void write_facts(struct wo__markdown *m) {
  const struct wo_screen *const screen = m->screen;
  const size_t before = m->out->len;
  write_fact(m, "also", screen->also);
  write_fact(m, "already on", screen->already);
  write_fact(m, "not it", screen->not_it);
  if (screen->tone == WO_SCREEN_FAILURE) write_fact(m, "would settle it", screen->settle);
  if (m->out->len > before) wo_text_add(m->out, "\n");
}

/* Commands in one block, each with its purpose behind it as a comment of the shell. */
static void write_next(struct wo__markdown *m) {
  struct wo_text *const text = wo__markdown_start(m);
  for (size_t i = 0; i < m->screen->next_count; i++) {
    const struct wo_screen_next *const next = &m->screen->next[i];
    if (text->len > 0) wo_text_add(text, "\n");
    if (next->command.len > 0) {
      wo_text_add(text, "%.*s  # %.*s", WO_SHOWN(next->command), WO_SHOWN(next->label));
    } else {
      wo_text_add(text, "# %.*s: %.*s", WO_SHOWN(next->label), WO_SHOWN(next->words));
    }
  }
  if (text->len == 0) return;
  wo_markdown_block(m->out, "sh", wo__markdown_scratch(m));
  wo_text_add(m->out, "\n");
}

void wo_document_markdown(const struct wo_report *report, const struct wo_screen *screen, struct wo_text *out) {
  assert(report != NULL && report->job != NULL && screen != NULL && out != NULL);
  struct wo__markdown m = {
      .out = out, .report = report, .screen = screen, .events = &report->job->events, .where = wo_report_where(report)};
  write_verdict(&m);
  write_first(&m);
  write_others(&m);
  write_facts(&m);
  write_next(&m);
  wo__markdown_details(&m);
  out->is_failed = out->is_failed || m.scratch.is_failed;
  wo_text_done(&m.scratch);
}
